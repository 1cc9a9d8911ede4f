"""The arithmetic of the ways against rational numbers, and that sets which are too narrow or too wide are noticed."""
import os
import sys
import unittest
from fractions import Fraction

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "ideal_check"))

import argparse  # noqa: E402

import answers  # noqa: E402
import main  # noqa: E402
import ways  # noqa: E402
from cases import Case  # noqa: E402
from numbers_of_types import FORMATS  # noqa: E402

ULPIAN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "build/release/ulpian")
PLAIN = main.PLAIN


def numbers(random, n, scale):
    return np.ldexp(random.choice([-1, 1], n) * random.uniform(1, 2, n), random.integers(-scale, scale, n))


class Arithmetic(unittest.TestCase):
    def test_a_fused_operation_rounds_once(self):
        random = np.random.default_rng(1)
        for name, fma, scale in (("f32", ways.fma32, 20), ("f64", ways.fma64, 40)):
            fmt = FORMATS[name]
            a, b, c = (numbers(random, 4000, scale).astype(fmt.dtype).astype(np.float64) for _ in range(3))
            c[:2000] = (-a * b)[:2000].astype(fmt.dtype).astype(np.float64) * (1 + random.choice([0, 1, -1, 3], 2000) * 2.0 ** (1 - fmt.p))
            c = c.astype(fmt.dtype).astype(np.float64)
            for x, y, z, got in zip(a, b, c, fma(a, b, c)):
                self.assertEqual(got, fmt.round(Fraction(x) * Fraction(y) + Fraction(z)), (name, x, y, z))

    def test_bf16_is_rounded_once_or_through_f32(self):
        random = np.random.default_rng(2)
        x = numbers(random, 4000, 100)
        x[:1000] = x[:1000].astype(np.float32).astype(np.float64) * (1 + 2.0 ** -40)
        for v, got in zip(x, ways.to_bf16(x, True)):
            self.assertEqual(float(got), FORMATS["bf16"].round(Fraction(v)))

    def test_an_error_is_what_was_asked_for_and_no_more(self):
        random = np.random.default_rng(3)
        for name in ("f64", "f32", "f16", "bf16"):
            fmt = FORMATS[name]
            for how in ("up", "down", "random", "nearest"):
                w = ways.Way(name, random, dict(PLAIN, off=how))
                real = numbers(random, 500, 10).astype(ways.EXTENDED)
                got = w.near(real, 3, fmt, False)
                worst = 0
                for r, g in zip(real, got):
                    exact = Fraction(float(r)) + Fraction(float(r - ways.EXTENDED(float(r))))
                    unit = Fraction(2) ** fmt.spacing(exact)
                    off = (Fraction(float(g)) - exact) / unit
                    self.assertLessEqual(abs(off), 3)
                    worst = max(worst, off if how == "up" else -off if how == "down" else 3)
                self.assertGreater(worst, 2.9 if name == "f32" else 1.9)

    def test_every_order_and_tree_adds_each_term_once(self):
        random = np.random.default_rng(4)
        t = random.integers(-1000, 1000, (3, 37)).astype(np.float64)  # exact in any order
        u = random.integers(-8, 8, (3, 37)).astype(np.float64)
        for style in ways.styles(random, 200):
            w = ways.Way("f32", random, style)
            self.assertTrue((w.sum(t) == t.sum(axis=1)).all(), style)
            self.assertTrue((w.dot(t, u, start=np.array(5.0)) == (t * u).sum(axis=1) + 5).all(), style)


class Notices(unittest.TestCase):
    def options(self):
        return argparse.Namespace(ulpian=ULPIAN, profile="standard", variants=40, check=0, keep=lambda *_: None, keep_in=None, scale=1)

    def judged(self, change, faults=()):
        x = np.random.default_rng(5).standard_normal((4, 33)).astype(np.float32)
        case = Case("ReduceSum", [x, np.array([1])], lambda w, a, _: [w.out(w.sum(a))], {"keepdims": 0}, faults=faults)
        sets = answers.allowed(ULPIAN, [case], "standard")[0]
        change(sets[0])
        report = main.Report()
        main.judge(case, "f32", sets, 7, 40, report, self.options())
        return report.tally

    def test_sets_as_they_are(self):
        tally = self.judged(lambda s: None, ("drop", "double", "tail"))
        self.assertEqual((tally["false alarms"], tally["misses"]), (0, 0))

    def test_a_set_that_is_too_narrow(self):
        def narrow(s):
            s.low, s.high = s.low + (s.high - s.low) // 2, s.high - (s.high - s.low) // 2
        self.assertGreater(self.judged(narrow)["false alarms"], 0)

    def test_a_set_that_is_too_wide(self):
        def widen(s):
            s.low, s.high = s.low - 2 ** 27, s.high + 2 ** 27
        self.assertGreater(self.judged(widen, ("drop", "double"))["misses"], 0)

    def test_members_are_those_of_check(self):
        x = np.array([1.5, -2, 40000], np.float32)
        case = Case("Exp", [x[:2]], None)
        s = answers.allowed(ULPIAN, [case], "standard")[0][0]
        for steps in (-5, -4, 0, 4, 5):
            y = np.exp(x[:2].astype(np.float64)).astype(np.float32)
            y = (y.view(np.int32) + np.int32(steps)).view(np.float32)
            _, word, _ = answers.verdict(ULPIAN, case, [y], "standard")
            self.assertEqual(bool(s.contain(y).all()), word == "conforms", steps)


if __name__ == "__main__":
    unittest.main()
