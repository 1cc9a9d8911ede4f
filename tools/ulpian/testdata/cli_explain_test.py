"""`ulpian check --explain`: a violation as files that repeat it and a script that shows it without Ulpian.

    .venv/bin/python tools/ulpian/testdata/cli_explain_test.py build/release/ulpian [unittest's arguments]
"""
import json
import os
import shlex
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from cli_case import F32, ROOT, ULPIAN, Case, model, node, value

U8, F16 = TensorProto.UINT8, TensorProto.FLOAT16
SCRIPT = ("ranges", "functions", "floats", "integers", "terms", "report")


def bits(x):
    x = np.asarray(x)
    return int(x.reshape(-1).view(f"u{x.itemsize}")[0])


def one_up(x, steps=1):
    """The float so many steps away from zero."""
    return (np.asarray(x).view(f"u{np.asarray(x).itemsize}") + np.uint8(steps)).astype(f"u{np.asarray(x).itemsize}").view(np.asarray(x).dtype)


class Explain(Case):
    def show(self, script, *answer):
        p = subprocess.run([sys.executable, "-I", script, *answer], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=300, cwd="/")
        self.assertIn(p.returncode, (0, 1), p.stderr.decode()[-3000:])
        return p.returncode, p.stdout.decode()

    def explained(self, m, inputs, outputs, *more):
        folder = self.path("why")
        out = self.path("answer")
        os.makedirs(out, exist_ok=True)
        for k, a in enumerate(outputs):
            np.save(os.path.join(out, f"output_{k}.npy"), a)
        p = self.expect(1, "check", self.save(m), "--inputs", self.inputs(*inputs), "--outputs", out, "--explain", folder, "--json", *more)
        return json.loads(p.out)["checks"][0]["model"]

    # `right` is what the standard's arithmetic gives, worked out by the caller; `wrong` is what somebody answered instead.
    def shows(self, m, inputs, right, wrong, says=(), more=()):
        found = self.explained(m, inputs, [wrong], *more)
        self.assertEqual(found["class"], "violation")
        status, text = self.show(found["explanation"]["script"])
        self.assertEqual(status, 0, text)
        for s in says:
            self.assertIn(s, text)
        index = tuple(found["witness"]["index"])
        status, text = self.show(found["explanation"]["script"], hex(bits(right[index])))
        self.assertEqual(status, 1, text)
        self.assertIn("nothing is shown", text)
        # The command in the report comes to the same verdict, on the files alone.
        words = shlex.split(found["explanation"]["command"])
        self.assertEqual(words[0], "ulpian")
        again = self.ulpian(*words[1:], "--json")
        self.assertEqual(json.loads(again.out)["checks"][0]["model"]["witness"]["got_bits"], found["witness"]["got_bits"])
        return found, text

    def test_a_sum_beyond_what_any_order_gives(self):
        # Powers of two: every order gives 15 exactly; the answer lacks the term 1.
        a, b = np.array([[1, 2, 4, 8]], np.float32), np.ones((4, 1), np.float32)
        m = model([node("MatMul", ["a", "b"], ["y"])], [value("a", F32, [1, 4]), value("b", F32, [4, 1])], [value("y", F32, [1, 1])])
        found, text = self.shows(m, (a, b), np.array([[15]], np.float32), np.array([[14]], np.float32), ("real value   15", "a sum of 4 terms: S = 15", "A[0, 3] = 8 (0x41000000)"))
        g = found["witness"]["grounds"]
        self.assertEqual((g["elements_read"], g["sum"]["terms"], g["sum"]["magnitude"], g["sum"]["accumulator"]), (8, 4, 15, "f32"))
        self.assertAlmostEqual(g["sum"]["distance_in_u_s"], 2 ** 24 / 15)
        self.assertIn({"input": "A", "index": [0, 3], "type": "f32", "bits": 0x41000000, "value": "8 (0x41000000)"}, g["inputs"])

    def test_softmax_without_the_shift(self):
        x = np.array([[100, 101]], np.float32)
        right = np.array([[1 / (1 + np.e), np.e / (1 + np.e)]], np.float32)
        m = model([node("Softmax", ["x"], ["y"])], [value("x", F32, [1, 2])], [value("y", F32, [1, 2])])
        self.shows(m, (x,), right, np.array([[np.nan, right[0, 1]]], np.float32))
        self.shows(m, (x,), right, np.array([[right[0, 0], 0.7311]], np.float32))

    def test_an_integer_that_does_not_wrap(self):
        m = model([node("Add", ["a", "b"], ["y"])], [value("a", U8), value("b", U8)], [value("y", U8)])
        self.shows(m, (np.array([200, 1], np.uint8), np.array([100, 1], np.uint8)), np.array([44, 2], np.uint8), np.array([255, 2], np.uint8), ("real value   44",))

    def test_one_unit_in_the_last_place_of_an_addition(self):
        # 1 + 2^-24 is a tie, which goes to the even 1; away from zero it would be 1 + 2^-23.
        a, b = np.array([1, 1], np.float32), np.array([2.0 ** -24, 0], np.float32)
        m = model([node("Add", ["a", "b"], ["y"])], [value("a"), value("b")], [value("y")])
        self.shows(m, (a, b), np.ones(2, np.float32), np.array([1 + 2.0 ** -23, 1], np.float32), ("distance     0.5 ULP",))
        f16 = np.array([1, 1], np.float16), np.array([2.0 ** -11, 0], np.float16)
        m = model([node("Add", ["a", "b"], ["y"])], [value("a", F16), value("b", F16)], [value("y", F16)])
        self.shows(m, f16, np.ones(2, np.float16), one_up(np.ones(2, np.float16)))

    def test_padding_counted_in_an_average(self):
        x = np.array([[[3, 5]]], np.float32)
        m = model([node("AveragePool", ["x"], ["y"], kernel_shape=[2], pads=[1, 0])], [value("x", F32, [1, 1, 2])], [value("y", F32, [1, 1, 2])])
        self.shows(m, (x,), np.array([[[3, 4]]], np.float32), np.array([[[1.5, 4]]], np.float32), ("real value   3",))

    def test_a_bias_left_out_of_a_convolution(self):
        x, w, b = np.array([[[1, 2, 3]]], np.float32), np.array([[[1, 1]]], np.float32), np.array([0.5], np.float32)
        m = model([node("Conv", ["x", "w", "b"], ["y"])], [value("x", F32, [1, 1, 3]), value("w", F32, [1, 1, 2]), value("b", F32, [1])], [value("y", F32, [1, 1, 2])])
        self.shows(m, (x, w, b), np.array([[[3.5, 5.5]]], np.float32), np.array([[[3.5, 5]]], np.float32))

    def test_ties_of_a_quantisation_go_to_even(self):
        # 2.5 and 3.5 of a scale of 1, which no error of a division moves off the tie where it is exact in the script's own bounds: so away from it.
        x = np.array([2.25, 3.75], np.float32)
        m = model([node("QuantizeLinear", ["x", "s", "z"], ["y"])], [value("x"), value("s", F32, []), value("z", U8, [])], [value("y", U8)])
        self.shows(m, (x, np.array(1, np.float32), np.array(10, np.uint8)), np.array([12, 14], np.uint8), np.array([13, 14], np.uint8))
        self.shows(m, (np.array([2.5, 3.75], np.float32), np.array(1, np.float32), np.array(10, np.uint8)), np.array([12, 14], np.uint8), np.array([14, 14], np.uint8))

    def test_a_recurrence(self):
        x = np.arange(1, 101, dtype=np.float32)
        m = model([node("CumSum", ["x", "a"], ["y"])], [value("x", F32, [100]), value("a", TensorProto.INT64, [])], [value("y", F32, [100])])
        right = np.cumsum(x)
        wrong = right.copy()
        wrong[99] -= 1
        self.shows(m, (x, np.array(0)), right, wrong, ("real value   5050",))

    def test_a_floor_that_may_fall_either_way(self):
        # The corner at (1, 1) of four pixels: on the edge of two cells, either of which gives 3.
        x, grid = np.array([[[[0, 1], [2, 3]]]], np.float32), np.ones((1, 1, 1, 2), np.float32)
        m = model([node("GridSample", ["x", "g"], ["y"], align_corners=1)], [value("x", F32, [1, 1, 2, 2]), value("g", F32, [1, 1, 1, 2])], [value("y", F32, [1, 1, 1, 1])], opset=16)
        self.shows(m, (x, grid), np.full((1, 1, 1, 1), 3, np.float32), np.full((1, 1, 1, 1), 2.5, np.float32), ("real value   3",))

    def test_a_profile_goes_into_the_script_and_the_command(self):
        x = np.array([1, 2], np.float32)
        right = np.exp(x.astype(np.float64)).astype(np.float32)
        m = model([node("Exp", ["x"], ["y"])], [value("x")], [value("y")])
        # Two units off is within OpenCL's 3 ULP of `standard`, and beyond the 1 ULP of `accurate`.
        found, _ = self.shows(m, (x,), right, one_up(right, 2), more=("--profile", "accurate"))
        self.assertIn("--profile accurate", found["explanation"]["command"])
        with open(found["explanation"]["script"]) as f:
            self.assertIn('("exp", "f32"): 1}', f.read())

    def test_several_operators_as_one(self):
        # exp(1) + 1, of which somebody gave exp(1).
        m = model([node("Exp", ["x"], ["h"]), node("Add", ["h", "x"], ["y"])], [value("x", F32, [1])], [value("y", F32, [1])])
        self.shows(m, (np.ones(1, np.float32),), np.array([np.e + 1], np.float32), np.array([np.e], np.float32), ("real value   3.7182818284590452",))

    def test_what_cannot_be_one_element_or_one_number_is_told(self):
        m = model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")])
        found = self.explained(m, (np.ones(2, np.float32),), [np.ones(3, np.float32)])
        self.assertNotIn("script", found["explanation"])
        self.assertIn("not that of one element", found["explanation"]["note"])
        m = model([node("RandomUniformLike", ["x"], ["y"], seed=1.0)], [value("x")], [value("y")])
        found = self.explained(m, (np.ones(2, np.float32),), [np.array([0.5, 2], np.float32)])
        self.assertIn("random numbers", found["explanation"]["note"])
        self.assertEqual(self.show(found["explanation"]["script"])[0], 1)

    def test_a_graph_that_an_operator_holds_is_not_translated(self):
        branch = helper.make_graph([node("Neg", ["x"], ["e"])], "t", [], [value("e")])
        m = model([node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [value("c", TensorProto.BOOL, []), value("x")], [value("y")])
        found = self.explained(m, (np.array(True), np.ones(2, np.float32)), [np.array([-1, 1], np.float32)])
        self.assertIn("graphs that operators hold", found["explanation"]["note"])
        status, text = self.show(found["explanation"]["script"])
        self.assertEqual(status, 1)
        self.assertIn("not translated: graphs that operators hold", text)

    def test_of_a_backend_each_call_that_does_not_conform_has_a_folder(self):
        adapters = os.path.join(ROOT, "diff/backends/adapters")
        wrong = self.write("wrong.py", "\n".join((
            "import runpy, sys", f"sys.path.insert(0, {adapters!r})", "from onnx.reference.ops.op_exp import Exp", "right = Exp._run",
            "Exp._run = lambda self, x: (right(self, x)[0] * x.dtype.type(1.01),)", f"runpy.run_path({adapters!r} + '/onnx_reference_adapter.py', run_name='__main__')")))
        m = model([node("Exp", ["x"], ["h"]), node("Relu", ["h"], ["r"]), node("Exp", ["r"], ["y"], name="second")], [value("x")], [value("y")])
        why = self.path("it's why")
        p = self.expect(1, "check", self.save(m), "--backend", f"{sys.executable} {wrong}", "--inputs", self.inputs(np.array([0, 1], np.float32)), "--explain", why,
                        says=("not allowed: it ends in `exp`, which may be off by 3 ULP under standard", "repeated by: ulpian check ", "shown by: python3 "))
        self.assertEqual(sorted(os.listdir(why)), ["node_0_Exp", "node_2_Exp"])
        for folder in os.listdir(why):
            self.assertEqual(self.show(os.path.join(why, folder, "show.py"))[0], 0)
        self.expect(1, "check", *shlex.split(p.out.split("repeated by: ulpian check ")[1].split("\n")[0]), says="violation")

    def test_a_folder_that_cannot_be_written_is_told_once_and_no_verdict_is_lost(self):
        m, x = self.save(model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")])), self.inputs(np.array([1, -1], np.float32))
        answer = self.path("answer")
        os.makedirs(answer)
        np.save(os.path.join(answer, "output_0.npy"), np.array([1, -1], np.float32))
        arguments = ("check", m, "--inputs", x, "--outputs", answer)
        self.expect(2, *arguments, "--explain", os.path.join(m, "below"), says="cannot be made")
        os.makedirs(self.path("why"))
        self.write("why/model", "somebody's")
        p = self.expect(1, *arguments, "--explain", self.path("why"), says=("violation", "does not conform"))
        self.assertEqual(p.err.count("error: --explain: "), 1)
        j = json.loads(self.expect(1, *arguments, "--explain", self.path("why"), "--json").out)
        self.assertEqual(j["checks"][0]["verdict"], "violation")
        # A disk that fills up.
        p = subprocess.run(["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", ULPIAN, *arguments, "--explain", self.path("full")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertIn(b"does not conform", p.stdout)
        self.assertEqual(p.stderr.count(b"error: --explain: "), 1)


class Words(unittest.TestCase):
    """The script's own words, held to NumPy and to mpmath at other precisions."""

    @classmethod
    def setUpClass(cls):
        text = ""
        for part in SCRIPT:
            with open(os.path.join(ROOT, f"diff/explain/script/{part}.py")) as f:
                text += f.read() + "\n\n"
        cls.words = {"__name__": "words", "ULPS": {}, "FUNCTION_ERROR": 0, "BODIES": True, "NOT_BOUNDED": "", "UNORDERED": ()}
        exec(compile(text, "words", "exec"), cls.words)

    def test_codes_and_roundings_are_numpys(self):
        rng = np.random.default_rng(1)
        Fraction = self.words["Fraction"]
        for name, kind in (("F16", np.float16), ("F32", np.float32), ("F64", np.float64)):
            T, unsigned = self.words[name], f"u{np.dtype(kind).itemsize}"
            for b in rng.integers(0, 2 ** T.width, 500, dtype=np.uint64):
                v = np.array([b]).astype(unsigned).view(kind)[0]
                r = T.decoded(int(b))
                if np.isnan(v):
                    self.assertIsNone(r.lo)
                    continue
                self.assertEqual(r.lo, float(v))
                self.assertEqual(T.coded(r), int(b))
            for x in rng.standard_normal(500) * 10.0 ** rng.integers(-50, 45, 500):
                with np.errstate(over="ignore", under="ignore"):
                    self.assertEqual(float(T.near(Fraction(x))), float(kind(x)))
                self.assertLessEqual(T.down(Fraction(x)), x)
                self.assertGreaterEqual(T.up(Fraction(x)), x)

    def test_functions_hold_what_mpmath_finds_with_many_bits(self):
        import mpmath as m
        rng = np.random.default_rng(2)
        Fraction, number, Range, function = (self.words[k] for k in ("Fraction", "number", "Range", "function"))
        of_mpf = self.words["of_mpf"]
        half = m.mpf(1) / 2
        functions = {"exp": m.exp, "exp2": lambda x: 2 ** x, "expm1": m.expm1, "log": m.log, "log2": lambda x: m.log(x, 2), "log1p": m.log1p, "tanh": m.tanh, "erf": m.erf, "erfc": m.erfc,
                     "sigmoid": lambda x: 1 / (1 + m.exp(-x)), "softplus": lambda x: m.log(1 + m.exp(x)), "softsign": lambda x: x / (1 + abs(x)), "gelu": lambda x: x * (1 + m.erf(x / m.sqrt(2))) / 2,
                     "gelu_tanh": lambda x: x / 2 * (1 + m.tanh(m.sqrt(2 / m.pi) * (x + m.mpf(44715) / 10 ** 6 * x ** 3))), "silu": lambda x: x / (1 + m.exp(-x)),
                     "mish": lambda x: x * m.tanh(m.log(1 + m.exp(x))), "hardswish": lambda x: x * max(0, min(1, x / 6 + half)), "sin": m.sin, "cos": m.cos, "tan": m.tan, "sinh": m.sinh, "cosh": m.cosh,
                     "asinh": m.asinh, "atan": m.atan, "cbrt": lambda x: m.sign(x) * m.cbrt(abs(x)), "rsqrt": lambda x: 1 / m.sqrt(x), "cos_turn": lambda x: m.cos(2 * m.pi * x), "sin_turn": lambda x: m.sin(2 * m.pi * x)}
        for name, f in functions.items():
            for x in (rng.standard_normal(12) * 10.0 ** rng.integers(-6, 2, 12)).astype(np.float32):
                x = abs(float(x)) if name in ("log", "log2", "log1p", "rsqrt") else float(x)
                with m.workprec(3000):
                    y = of_mpf(f(m.mpf(x)))
                slack = abs(y) / 2 ** 2800  # of mpmath's roundings
                point, wide = function(name, number(Fraction(x))), Range(Fraction(x), Fraction(x) + abs(Fraction(x)) / 2 ** 30)
                with self.subTest(function=name, x=x):
                    self.assertLessEqual(point.lo, y + slack)
                    self.assertGreaterEqual(point.hi, y - slack)
                    self.assertLessEqual(point.hi - point.lo, abs(y) / 2 ** 100)
                    around = function(name, wide)
                    self.assertLessEqual(around.lo, y + slack)
                    self.assertGreaterEqual(around.hi, y - slack)


if __name__ == "__main__":
    unittest.main()
