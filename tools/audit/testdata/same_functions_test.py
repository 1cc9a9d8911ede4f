"""tools/same-functions notices what it is there to notice: one bit of one result, a kernel that rounds otherwise than it should, a compiler that fails or
is missing.

    .venv/bin/python tools/audit/testdata/same_functions_test.py build/release [unittest's arguments]
"""
import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
NATIVE = platform.machine()


def returned(program, value):
    """The text of a program with what it returns, `y`, replaced."""
    return re.sub(r"  return (\w+);\n}", lambda m: f"  const D<L> y = {m[1]};\n  return {value};\n}}", program)


class SameFunctions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.folder = scratch.name
        self.addCleanup(scratch.cleanup)

    def compiler(self, text):
        path = os.path.join(self.folder, "compiler")
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def altered(self, header, source, change):
        """A compiler that takes another text for one header."""
        path = os.path.join(self.folder, header)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(source) as f:
            text = f.read()
        changed = change(text)
        self.assertNotEqual(text, changed)
        with open(path, "w") as f:
            f.write(changed)
        return self.compiler(f'exec g++ -I "{self.folder}" "$@"\n')

    def compare(self, *arguments):
        command = [os.path.join(ROOT, "tools/same-functions"), "--build", BUILD, "--only", f"{NATIVE} baseline$", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=300 * float(os.environ.get("ULPIAN_TEST_PATIENCE", "1")))

    def test_one_bit_of_one_result_is_noticed_and_named(self):
        def change(text):
            programs = re.split(r"(?=template <class L> inline)", text)
            # e (1 + 2^-24) rounds to the f32 after e's; log 2 and its neighbour in f64 round to the same f32.
            for k, p in enumerate(programs):
                if " exp_of_f32(" in p:
                    programs[k] = returned(p, "(x == all<L>(1.0) ? y * all<L>(0x1.000001p0) : y)")
                if " log_of_f32(" in p:
                    programs[k] = returned(p, "(x == all<L>(2.0) ? y + all<L>(0x1p-53) : y)")
            return "".join(programs)

        clang = self.altered("spec/functions/programs.h", os.path.join(BUILD, "spec/functions/generated/spec/functions/programs.h"), change)
        p = self.compare("--clang", clang)
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        names = f"gcc {NATIVE} baseline against clang {NATIVE} baseline"
        # e is 0x1.5bf0a8b145769p+1 in f64, between the f32 numbers 0x402df854 and 0x402df855.
        self.assertRegex(p.stdout, rf"\nexp: {names}: 1 of 1536 blocks; first at 0x3f800000 \(second argument 0x[0-9a-f]{{8}}\): f32 0x402df854 against 0x402df855\n")
        self.assertRegex(p.stdout, rf"\nlog: {names}: 1 of 1536 blocks; first at 0x40000000 \(second argument 0x[0-9a-f]{{8}}\): f64 0x3fe62e42fefa39ef against 0x3fe62e42fefa39f0\n")
        self.assertTrue(p.stdout.endswith("\nsame-functions: 2 differences\n"), p.stdout)

    def test_a_kernel_that_rounds_otherwise_is_status_2_and_named(self):
        def change(text):
            return text.replace("const F rounded = __builtin_convertvector(value != value", "const F rounded = -__builtin_convertvector(value != value")

        clang = self.altered("spec/functions/kernels_body.h", os.path.join(ROOT, "spec/functions/kernels_body.h"), change)
        p = self.compare("--clang", clang, "exp")
        self.assertEqual(p.returncode, 2, p.stdout)
        self.assertIn("exp of 0x00000000: the f32 kernel gives 0xbf800000, but the f64 value rounds to 0x3f800000", p.stderr)

    def test_a_compiler_that_fails_is_status_2_with_its_message(self):
        p = self.compare("--clang", self.compiler("echo no such luck >&2\nexit 3\n"))
        self.assertEqual(p.returncode, 2, p.stdout)
        self.assertIn("the driver does not compile: status 3", p.stderr)
        self.assertIn("no such luck", p.stderr)

    def test_a_missing_compiler_is_told_of_and_nothing_to_compare_is_status_2(self):
        p = self.compare("--clang", "no-such-compiler")
        self.assertEqual(p.returncode, 2)
        self.assertIn(f"not tried: clang {NATIVE} baseline: no no-such-compiler: tools/setup --fuzz", p.stdout)
        self.assertIn("alone is nothing to compare", p.stderr)
        for arguments in (["--gcc", "no-such-compiler", "--clang", "no-such-compiler"], ["--only", "no such configuration"], ["--build", self.folder], ["--jobs", "0"]):
            p = self.compare(*arguments)
            self.assertEqual(p.returncode, 2, p.stdout)
            self.assertIn("same-functions: ", p.stderr)

    def test_a_function_that_is_none_is_status_2(self):
        p = self.compare("exq", "--all", "--clang", "no-such-compiler")
        self.assertEqual(p.returncode, 2, p.stdout)
        self.assertIn("no function is called exq; there are pow exp ", p.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
