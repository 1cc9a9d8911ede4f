"""An operator that is nothing but a string: listed, documented, checked, run on both evaluators, and backends held against it.

    .venv/bin/python tools/ulpian/testdata/own_operator_test.py build/release/ulpian [unittest's arguments]
"""
import json
import os
import sys
import unittest

import numpy as np

from cli_case import F32, MISBEHAVE, Case, model, node, value

# A weighted distance to the previous row, with everything that a definition is made of: types, shapes, attributes, a requirement, a reduction, a function,
# reads outside, examples that hold and one that is refused. All of it is exact on small integers.
TEXT = """\
# Distances between neighbours.
fn gap(a, b) = abs(a - b)

op com.example.RowSteps since 2, 1 {
  doc     "How far each row of X is from the row before, by the weights W; the first row is held against zeros."
  type    T: f32, f64, i32
  in      X: T[N, C]
  in      W: T[C]
  attr    scale: int = 1
  require scale > 0  "scale is {scale}, but must be positive"
  out     Y: T[N]
  s[n < N] = sum(c < C) W[c] * gap(X[n, c], X[n - 1, c] else 0)
  Y[n] = if version >= 2 then s[n] * scale else s[n]

  example scale = 2 { X = [[1, 2], [4, 0]]  W = [10, 1]  Y = [24, 64] }
  example version = 1, scale = 2 { X = [[1, 2], [4, 0]]  W = [10, 1]  Y = [12, 32] }
  example { X = [[1, 2]]  W = [3, -1]  Y = [1] }
  example { X = [[1], [3], [2]]  W = [5]  Y = [5, 10, 5] }
  example { X = [[1, 2]]  W = [1]  error }
  example scale = 0 { X = [[1]]  W = [1]  error }
  example scale = 1 { X = [[1]]  W = [1]  Y = [1] }
}
"""
NAME = "com.example.RowSteps"
N, C = 50, 7


def steps(x, w, scale):
    before = np.vstack([np.zeros((1, x.shape[1]), x.dtype), x[:-1]])
    return (np.abs(x - before) * w).sum(axis=1) * scale


class OwnOperator(Case):
    def setUp(self):
        super().setUp()
        self.spec = self.write("steps.ulp", TEXT)
        self.model = self.save(model([node("RowSteps", ["x", "w"], ["h"], domain="com.example", scale=3), node("Neg", ["h"], ["y"])],
                                     [value("x", F32, [N, C]), value("w", F32, [C])], [value("y", F32, [N])], domains=[("com.example", 2)]))
        random = np.random.default_rng(5)
        self.x, self.w = random.integers(-50, 50, (N, C)).astype(np.float32), random.integers(-9, 9, C).astype(np.float32)
        self.data = self.inputs(self.x, self.w)
        self.y = -steps(self.x, self.w, 3)

    def own(self, status, *arguments, **more):
        return self.expect(status, *arguments, "--spec", self.spec, **more)

    def test_it_is_listed_and_documented(self):
        found = {o["name"]: o for o in json.loads(self.own(0, "spec", "list", "--json").out)}
        self.assertEqual(found[NAME], {"name": NAME, "versions": "2, 1", "file": self.spec,
                                       "doc": "How far each row of X is from the row before, by the weights W; the first row is held against zeros."})
        self.assertIn("onnx.Conv", found, "beside those that are shipped")
        self.assertIn(NAME, self.own(0, "spec", "list").out)
        self.assertNotIn(NAME, self.expect(0, "spec", "list").out)
        text = TEXT[TEXT.index("op "):]
        self.assertEqual(self.own(0, "spec", "show", "RowSteps").out, f"# {self.spec}:4\n{text}")
        shown = json.loads(self.own(0, "spec", "show", NAME, "--opset", "1", "--json").out)
        self.assertEqual([(d["name"], d["since"], d["line"], d["text"]) for d in shown], [(NAME, [2, 1], 4, text)])
        self.expect(2, "spec", "show", "RowSteps", says="no operator is called RowSteps")

    def test_its_examples_are_checked(self):
        # Five examples without a type run at three of them where the values fit all; refusals once per type, too.
        j = json.loads(self.own(0, "spec", "check", "RowSteps", "--json").out)
        self.assertEqual((j["operators"], j["definitions"], j["failed"]), (1, 1, 0))
        self.assertGreaterEqual(j["examples"], 3 * 4)
        wrong = self.write("wrong.ulp", TEXT.replace("Y = [24, 64]", "Y = [24, 65]"))
        failures = json.loads(self.expect(2, "spec", "check", "RowSteps", "--spec", wrong, "--json").out)["failures"]
        self.assertEqual({f["place"] for f in failures}, {f"{wrong}:15"})
        self.assertIn("element 1 is 64", failures[0]["message"])

    def test_its_examples_notice_every_mutant(self):
        j = json.loads(self.own(0, "spec", "check", "RowSteps", "--mutants", "--least", "100", "--json").out)
        self.assertGreater(j["mutants"], 15)
        self.assertEqual(j["noticed"], j["mutants"])

    def test_both_evaluators_give_numpys_answer(self):
        for evaluator in ("scalar", "block"):
            out = self.path(evaluator)
            self.own(0, "run", self.model, "--inputs", self.data, "--evaluator", evaluator, "--out", out)
            got = np.load(os.path.join(out, "output_0.npy"))
            self.assertEqual((got.dtype, got.tobytes()), (np.float32, self.y.tobytes()), evaluator)

    def test_both_evaluators_give_the_same_bits_where_sums_round(self):
        random = np.random.default_rng(6)
        data = self.inputs(random.standard_normal((N, C)).astype(np.float32), random.standard_normal(C).astype(np.float32), name="rounds")
        for evaluator in ("scalar", "block"):
            self.own(0, "run", self.model, "--inputs", data, "--evaluator", evaluator, "--out", self.path(evaluator))
        a, b = (np.load(self.path(f"{e}/output_0.npy")) for e in ("scalar", "block"))
        self.assertEqual(a.tobytes(), b.tobytes())
        self.own(0, "run", self.model, "--inputs", data, "--answer", "allowed", "--out", self.path("sets"))
        low, high = (np.load(self.path(f"sets/output_0.{end}.npy")) for end in ("lower", "upper"))
        self.assertTrue(((low <= a) & (a <= high)).all())
        self.assertTrue((low < high).any(), "sums may be taken in another order")

    def test_a_call_that_it_does_not_admit_is_refused_in_its_words(self):
        bad = self.save(model([node("RowSteps", ["x", "w"], ["y"], domain="com.example", scale=-2)], [value("x", F32, [N, C]), value("w", F32, [C])],
                              [value("y", F32, [N])], domains=[("com.example", 2)]), "bad.onnx")
        self.own(2, "run", bad, "--inputs", self.data, says=("scale is -2, but must be positive", "steps.ulp:10"))

    def test_backends_are_held_against_it(self):
        check = json.loads(self.own(0, "check", self.model, "--backend", "ulpian", "--inputs", self.data, "--json").out)["checks"][0]
        self.assertEqual([(o["op"], o["class"]) for o in check["operators"]], [(NAME, "conforms"), ("onnx.Neg", "conforms")])
        self.own(0, "check", self.model, "--backend", "ulpian", "--samples", "3", says="conforms")

    def test_a_backend_that_answers_wrongly_is_noticed(self):
        # It answers [1, 2], whatever it is asked.
        one = self.save(model([node("RowSteps", ["x", "w"], ["y"], domain="com.example")], [value("x", F32, [2, 2]), value("w", F32, [2])], [value("y", F32, [2])],
                              domains=[("com.example", 2)]), "one.onnx")
        backend = f"{sys.executable} {MISBEHAVE} loud-stderr"
        w = np.array([1, 10], np.float32)
        for second, status, verdict in (([1, 0.25], 1, "violation"), ([-1, 0], 0, "conforms")):  # |1-0|·1 = 1; |-1-1|·1 = 2
            data = self.inputs(np.array([[1, 0], second], np.float32), w, name="small")
            check = json.loads(self.own(status, "check", one, "--backend", backend, "--inputs", data, "--json").out)["checks"][0]
            self.assertEqual((check["verdict"], check["operators"][0]["op"]), (verdict, NAME))
            if status:
                witness = check["operators"][0]["witness"]
                self.assertEqual((witness["index"], witness["got_bits"], witness["canonical_bits"]), ([1], 0x40000000, 0x40200000))  # 2, not 2.5

    def test_outputs_made_elsewhere_are_held_against_it(self):
        os.makedirs(self.path("made"))
        for change, status, says in ((0, 0, "conforms"), (1, 1, "violation")):
            y = self.y.copy()
            y[17] += change
            np.save(self.path("made/output_0.npy"), y)
            self.own(status, "check", self.model, "--inputs", self.data, "--outputs", self.path("made"), says=says)

    def test_a_shipped_operator_may_be_replaced(self):
        # Over Neg: twice as much. What is not replaced stays.
        twice = self.write("twice.ulp", "op onnx.Neg since 13 {\n  type T: f32\n  in X: T[D...]\n  out Y: T[D...]\n  Y[i...] = -2 * X[i...]\n  example { X = 3  Y = -6 }\n}\n")
        self.own(0, "run", self.model, "--spec", twice, "--inputs", self.data, "--out", self.path("twice"))
        np.testing.assert_array_equal(np.load(self.path("twice/output_0.npy")), 2 * self.y)


if __name__ == "__main__":
    unittest.main(verbosity=2)
