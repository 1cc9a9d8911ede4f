"""What tools/ideal-check stands on: its roundings against NumPy's and ml_dtypes', and that it notices one wrong bit, of one element."""
import math
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import numpy as np

import numbers_of_types as numbers
from numbers_of_types import FORMATS, mp

HERE = os.path.dirname(os.path.abspath(__file__))
ULPIAN = ""
# Runs ulpian, then turns the last bit of the last element of the first output.
LIAR = """#!{python}
import numpy, subprocess, sys
p = subprocess.run(["{ulpian}", *sys.argv[1:]])
a = numpy.load("out/output_0.npy")
a.ravel().view(f"u{{a.dtype.itemsize}}")[-1] ^= 1
numpy.save("out/output_0.npy", a)
sys.exit(p.returncode)
"""


class Roundings(unittest.TestCase):
    def test_narrow_formats_as_ml_dtypes_has_them(self):
        random = np.random.default_rng(1)
        for name, fmt in FORMATS.items():
            if name == "f64":
                continue
            top = fmt.spacing(fmt.largest) + fmt.p
            x = np.ldexp(random.choice([-1.0, 1.0], 4000) * random.uniform(1, 2, 4000), random.integers(fmt.least - fmt.p - 2, top, 4000)).astype(np.float32)
            if fmt.dtype.itemsize < 4:  # numbers half way between two, exactly
                ties = np.arange(0, 2 ** (8 * fmt.dtype.itemsize - 1) - 1, 1 if fmt.dtype.itemsize == 1 else 7, dtype=fmt.bits)
                with np.errstate(invalid="ignore"):
                    here, there = ties.view(fmt.dtype).astype(np.float64), (ties + fmt.bits.type(1)).view(fmt.dtype).astype(np.float64)
                    x = np.concatenate([x, ((here + there) / 2)[np.isfinite(here + there)].astype(np.float32)])
            with np.errstate(over="ignore", invalid="ignore"):
                want = x.astype(fmt.dtype).astype(np.float64)
            for v, w in zip(x, want):
                got = fmt.round(Fraction(float(v)))
                self.assertTrue(got == w or math.isnan(got) and math.isnan(w), f"{name}: {v!r} to {got!r}, not {w!r}")

    def test_a_tie_needs_the_last_precision(self):
        mp.prec = numbers.PRECISIONS[0]
        f16 = FORMATS["f16"]
        with self.assertRaises(numbers.Unsure):
            numbers.rounded(mp.mpf(2049), f16)
        mp.prec = numbers.PRECISIONS[-1]
        self.assertEqual(numbers.rounded(mp.mpf(2049), f16), (2048.0, True))
        self.assertEqual(numbers.rounded(mp.mpf(2049) + mp.ldexp(1, -9000), f16), (2050.0, True))

    def test_zeros_and_infinities(self):
        f32 = FORMATS["f32"]
        mp.prec = numbers.PRECISIONS[0]
        self.assertEqual(math.copysign(1, numbers.rounded(-mp.exp(-1000), f32)[0]), -1)
        self.assertEqual(numbers.rounded(-mp.exp(mp.mpf(10) ** 30), f32)[0], -math.inf)
        self.assertEqual(f32.round(Fraction(2) ** 128 - Fraction(2) ** 103), math.inf)  # the tie beyond the largest
        self.assertEqual(f32.round(Fraction(2) ** 128 - Fraction(2) ** 103 - 1), float(f32.largest))


class Notices(unittest.TestCase):
    def check(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, "main.py"), *arguments], capture_output=True, text=True)

    def test_one_wrong_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            liar = os.path.join(folder, "liar")
            with open(liar, "w") as f:
                f.write(LIAR.format(python=sys.executable, ulpian=ULPIAN))
            os.chmod(liar, os.stat(liar).st_mode | stat.S_IXUSR)
            for t in ("f64", "f32", "f16", "bf16"):
                self.assertEqual(self.check("--ulpian", ULPIAN, "softmaxes", "--types", t, "--kinds", "normal").returncode, 0)
                p = self.check("--ulpian", liar, "softmaxes", "--types", t, "--kinds", "normal")
                self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
                self.assertIn(" 1 different", p.stdout)

    def test_what_cannot_run(self):
        self.assertEqual(self.check("--ulpian", "/bin/false", "rotary", "--types", "f32").returncode, 2)
        p = self.check("--ulpian", ULPIAN, "nothing")
        self.assertEqual(p.returncode, 2)
        self.assertIn("no family nothing", p.stderr)


if __name__ == "__main__":
    ULPIAN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
