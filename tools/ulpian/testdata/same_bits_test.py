"""tools/same-bits notices what it is there to notice: one bit of one output under one configuration, a run that fails, a model or a build that is missing.

    .venv/bin/python tools/ulpian/testdata/same_bits_test.py build/release/ulpian [unittest's arguments]
"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
ULPIAN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""

# The program, except that with two threads and portable instructions the last bit of output_1[..., 127] is turned: silero-vad's hn, little-endian f32.
ONE_BIT = """#!{python}
import os, subprocess, sys
a = sys.argv
status = subprocess.run([{ulpian!r}, *a[1:]]).returncode
if a[a.index("--threads") + 1] == "2" and a[a.index("--instructions") + 1] == "portable":
    path = os.path.join(a[a.index("--out") + 1], "output_1.npy")
    with open(path, "r+b") as f:
        f.seek(-4, os.SEEK_END)
        byte = f.read(1)[0]
        f.seek(-4, os.SEEK_END)
        f.write(bytes([byte ^ 1]))
sys.exit(status)
"""


class SameBits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.folder = scratch.name
        self.addCleanup(scratch.cleanup)

    def program(self, text):
        path = os.path.join(self.folder, "ulpian")
        with open(path, "w") as f:
            f.write(text.format(python=sys.executable, ulpian=ULPIAN))
        os.chmod(path, 0o755)

    def compare(self, *arguments):
        p = subprocess.run([os.path.join(ROOT, "tools/same-bits"), *arguments], capture_output=True, text=True, timeout=300 * float(os.environ.get("ULPIAN_TEST_PATIENCE", "1")))
        if p.returncode == 77:
            self.skipTest(p.stderr)
        return p

    def test_one_bit_of_one_output_is_noticed_and_named(self):
        self.program(ONE_BIT)
        p = self.compare(self.folder, "--only", "^silero-vad$", "--instructions", "best", "portable")
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertEqual([line.endswith("DIFFERS") for line in p.stdout.splitlines()[2:6]], [False, False, False, True], p.stdout)
        self.assertIn("output_1.npy: 1 of 128 elements; first [0, 0, 127]: 0x", p.stdout)

    def test_a_run_that_fails_is_status_2_with_its_message(self):
        self.program("#!/bin/sh\necho no such luck >&2\nexit 3\n")
        p = self.compare(self.folder, "--only", "^silero-vad$")
        self.assertEqual(p.returncode, 2, p.stdout)
        self.assertIn("ended with status 3:\nno such luck", p.stderr)

    def test_nothing_to_compare_is_status_2(self):
        for arguments in ([self.folder], ["--only", "^no such model$"], [os.path.dirname(ULPIAN), "--only", "^silero-vad$", "--threads", "1", "--instructions", "best"]):
            p = self.compare(*arguments)
            self.assertEqual(p.returncode, 2, p.stdout)
            self.assertIn("same-bits: ", p.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
