"""What the command line says where there is little to say: refusals, contradictory options, declarations that do not hold.

    .venv/bin/python tools/ulpian/testdata/cli_edges_test.py build/release/ulpian [unittest's arguments]
"""
import json
import os
import resource
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from cli_case import CHAIN, F32, I64, MISBEHAVE, RELU, SOFTSQUARE, ULPIAN, Case, model, node, value

I32 = TensorProto.INT32


class Refusals(Case):
    """Both refuse: right, with the reason; nothing was compared."""

    def test_what_both_refuse_is_said_with_its_reason(self):
        shapes = self.save(model([node("Add", ["x", "z"], ["y"], name="sum")], [value("x", I32, [2]), value("z", I32, [3])], [value("y", I32, [2])]))
        for backend in ("ulpian", "onnxruntime"):
            p = self.expect(0, "check", shapes, "--backend", backend, says=("refused by both", "extents 2 and 3 do not broadcast", "0 of 1 operator calls conform, 1 refused by both"))
            last = p.out.strip().splitlines()[-1]
            self.assertIn("extents 2 and 3 do not broadcast", last)
            self.assertNotIn("conforms to", last)
            check = json.loads(self.expect(0, "check", shapes, "--backend", backend, "--json").out)["checks"][0]
            for v in (check["model"], check["operators"][0]):
                self.assertEqual((v["class"], v["refused_by_both"], v["elements"]), ("conforms", True, 0))
                self.assertIn("extents 2 and 3 do not broadcast", v["reason"])
                self.assertNotEqual(v["evidence"], "")

    def test_an_answer_to_it_is_lenient_with_its_reason(self):
        m = self.save(model([node("Gather", ["x", "i"], ["y"])], [value("x"), value("i", I64, [2])], [value("y")]))
        x = self.inputs(np.zeros(2, np.float32), np.array([5, 5]))
        self.expect(1, "check", m, "--backend", f"{sys.executable} {MISBEHAVE} loud-stderr", "--inputs", x, says=("lenient", "must refuse", "Gather.ulp:"))
        self.expect(0, "check", m, "--backend", "ulpian", "--inputs", x, says=("refused by both", "Gather.ulp:"))
        os.makedirs(self.path("y"))
        np.save(self.path("y/output_0.npy"), np.zeros(2, np.float32))
        self.expect(1, "check", m, "--inputs", x, "--outputs", self.path("y"), says=("lenient", "must refuse", "Gather.ulp:"))


class Usage(Case):
    """One clear error for each, status 2, and with --json an object that holds it."""

    def wrong(self, *arguments, says):
        p = self.expect(2, *arguments, says=says)
        self.assertTrue(p.err.startswith("error: "), p.err)
        self.assertEqual(p.out, "")
        j = json.loads(self.expect(2, *arguments, "--json").out)
        self.assertEqual((j["status"], j["kind"]), ("error", "usage"))
        self.assertIn(says, j["message"])

    def test_texts_that_are_no_numbers_or_empty(self):
        m, x = self.save(RELU), self.inputs(np.zeros(2, np.float32))
        for text in ("nan", "-nan", "inf", "-1", "1s", "", "1e999"):
            self.wrong("run", m, "--inputs", x, "--time-limit", text, says="--time-limit")
            self.wrong("check", m, "--backend", "ulpian", "--backend-time-limit", text, says="--backend-time-limit")
            self.wrong("spec", "check", "Abs", "--prove", "--time-limit", text, says="--time-limit")
            self.wrong("spec", "check", "Abs", "--mutants", "--least", text, says="--least")
        for text in ("-1", "1.5", "18446744073709551616", "x", ""):
            self.wrong("check", m, "--backend", "ulpian", "--seed", text, says="--seed")
            self.wrong("spec", "check", "Abs", "--mutants", "--sample", text, says="--sample")
        self.expect(0, "check", m, "--backend", "ulpian", "--seed", "18446744073709551615")
        for option in ("--inputs", "--out", "--input"):
            self.wrong("run", m, option, "", says=option)
        for option in ("--backend", "--outputs", "--shape", "--range", "--profile", "--backends"):
            self.wrong("check", m, option, "", says=option)
        self.wrong("run", m, "--spec", "", says="--spec")
        self.wrong("run", "", says="model")
        self.wrong("run", m, "--threads", "0", says="--threads")
        self.wrong("fly", says="fly")
        self.wrong("run", m, "--input", "x=", says="x=")

    def test_options_that_contradict_each_other(self):
        m, x = self.save(RELU), self.inputs(np.zeros(2, np.float32))
        file = f"x={x}/input_0.npy"
        self.wrong("run", m, "--input", file, "--input", file, says='twice for "x"')
        for option, text in (("--shape", "x=2"), ("--range", "x=0:1")):
            self.wrong("check", m, "--backend", "ulpian", option, text, option, text, says='twice for "x"')
        for option, text in (("--shape", "x=2"), ("--range", "x=0:1"), ("--seed", "1"), ("--samples", "2")):
            self.wrong("check", m, "--backend", "ulpian", "--inputs", x, option, text, says=option)
            self.wrong("check", m, "--backend", "ulpian", "--input", file, option, text, says=option)

    def test_ranges_beyond_the_type(self):
        f = self.save(RELU)
        for text in ("1e39:1e40", "-1e39:0", "0:3.5e38"):
            self.wrong("check", f, "--backend", "ulpian", "--range", "x=" + text, says="f32 holds")
        self.expect(0, "check", f, "--backend", "ulpian", "--range", "x=-3.4e38:3.4e38")
        for type, low, high in ((TensorProto.INT8, -128, 127), (TensorProto.UINT8, 0, 255), (I64, -(1 << 63), 1 << 62), (TensorProto.BOOL, 0, 1), (TensorProto.FLOAT16, -65504, 65504)):
            m = self.save(model([node("Identity", ["x"], ["y"])], [value("x", type)], [value("y", type)]), "id.onnx")
            self.expect(0, "check", m, "--backend", "ulpian", "--range", f"x={low}:{high}")
            if type != I64:
                self.wrong("check", m, "--backend", "ulpian", "--range", f"x={low}:{high + 1}", says="holds numbers from")
            self.wrong("check", m, "--backend", "ulpian", "--range", f"x={2 * low - 2050}:{high}", says="holds numbers from")

    def test_names_with_an_equals_sign(self):
        m = self.save(model([node("Add", ["a=b", "a"], ["y"])], [value("a=b", F32, ["n"]), value("a", F32, ["n"])], [value("y", F32, ["n"])]))
        self.expect(0, "check", m, "--backend", "ulpian", "--shape", "a=b=3", "--range", "a=b=0:1", says="a=b[3]")
        np.save(self.path("b=c.npy"), np.ones(3, np.float32))
        self.expect(0, "run", m, "--input", f"a=b={self.path('b=c.npy')}", "--input", f"a={self.path('b=c.npy')}", says="f32[3] = 2 2 2")

    def test_messages_stay_on_their_lines(self):
        for arguments in (["check", self.save(RELU), "--backend", "./no\nerror: such"], ["run", self.path("no\nerror: such")], ["check", self.save(RELU), "--backend", "'no\nerror: such'"],
                          ["run", self.save(RELU), "--input", "no\nerror: such=1"], ["fly\nerror: such"]):
            p = self.expect(2, *arguments)
            self.assertEqual(p.err.count("\nerror"), 0, p.err)

    def test_a_backend_of_our_own_takes_the_specification_too(self):
        spec = self.write("my_ops.ulp", SOFTSQUARE)
        m = self.save(model([node("SoftSquare", ["x"], ["y"], domain="com.example", limit=3.0)], [value("x", F32, [3])], [value("y", F32, [3])], domains=[("com.example", 1)]))
        self.expect(0, "check", m, "--spec", spec, "--backend", "ulpian", says=("1 of 1 operator calls conform", "same bits"))
        self.expect(3, "check", m, "--backend", "ulpian")

    def test_a_file_too_large_leaves_nothing_behind(self):
        m = self.save(model([node("Relu", ["x"], ["y"])], [value("x", F32, ["n"])], [value("y", F32, ["n"])]))
        x = self.inputs(np.zeros(1 << 16, np.float32))
        p = subprocess.run([ULPIAN, "run", m, "--inputs", x, "--out", self.path("out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(p.returncode, 2, p.stderr)
        self.assertIn(b"too large", p.stderr)
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_an_extent_beyond_64_bits(self):
        m = self.save(model([node("Pad", ["x", "p"], ["y"])], [value("x")], [value("y", F32, ["n"])], initializers=[("p", np.array([1 << 62, 1 << 62]))]))
        self.expect(3, "run", m, "--inputs", self.inputs(np.zeros(2, np.float32)), says=("9223372036854775810", "beyond 64 bits"))


class Definitions(Case):
    def test_a_default_of_another_kind(self):
        m = self.save(model([node("SoftSquare", ["x"], ["y"], domain="com.example")], [value("x")], [value("y")], domains=[("com.example", 1)]))
        for default in ('"x"', '["x"]'):
            spec = self.write("wrong.ulp", SOFTSQUARE.replace("float = 10", f"float = {default}"))
            self.expect(2, "run", m, "--spec", spec, "--inputs", self.inputs(np.zeros(2, np.float32)), says=("default", "limit", "no number", "wrong.ulp:5"))

    def test_what_is_missing_is_told_without_an_example(self):
        for text, words in (("y[i] = z[i]", "z is not defined"), ("require N > 0 \"none\"", "the output y is not defined"), ("y = onnx.Rellu(x)", "the operator onnx.Rellu is not defined")):
            spec = self.write("wrong.ulp", "op com.example.Wrong {\n  in x: f32[N]\n  out y: f32[N]\n  " + text + "\n}\n")
            p = self.expect(2, "spec", "check", "--spec", spec, "com.example.Wrong")
            self.assertIn(words, p.out)
            self.assertIn("wrong.ulp:", p.out)
        spec = self.write("untried.ulp", "op com.example.Untried {\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 1\n}\n")
        self.assertIn("has no example", self.expect(3, "spec", "check", "--spec", spec, "com.example.Untried").out)
        self.assertEqual(json.loads(self.expect(3, "spec", "check", "--spec", spec, "com.example.Untried", "--json").out)["without_examples"], ["com.example.Untried"])


class Declared(Case):
    """What a model declares and does not keep: a type is an error, extents are a warning, as in other implementations."""

    def test_other_extents_are_a_warning(self):
        x = self.inputs(np.zeros((2, 3), np.float32))
        for extents, words in (([4, 3], "[2, 3]; the model declares [4, 3]"), ([6], "[2, 3]; the model declares [6]"), (["n", "n"], "the dimension n is 2 in the output"),
                               (["m", "k"], "the dimension m is 3 in the input")):
            m = self.save(model([node("Relu", ["x"], ["y"])], [value("x", F32, ["k", "m"])], [value("y", F32, extents)]))
            for answer in ("canonical", "allowed"):
                p = self.expect(0, "run", m, "--inputs", x, "--answer", answer, "--json")
                self.assertIn("warning: the ", p.err)
                self.assertIn(words, p.err)
                self.assertIn(words, " ".join(json.loads(p.out)["warnings"]))
        for extents in ([2, 3], ["k", "m"], ["a", "b"], [2, None]):
            m = self.save(model([node("Relu", ["x"], ["y"])], [value("x", F32, ["k", "m"])], [value("y", F32, extents)]))
            p = self.expect(0, "run", m, "--inputs", x, "--json")
            self.assertEqual((p.err, json.loads(p.out)["warnings"]), ("", []))

    def test_another_type_is_an_error_of_intermediate_values_too(self):
        m = model([node("Relu", ["x"], ["h"], name="first"), node("Relu", ["h"], ["y"])], [value("x")], [value("y")])
        m.graph.value_info.append(value("h", I64))
        for answer in ("canonical", "allowed"):
            self.expect(2, "run", self.save(m), "--inputs", self.inputs(np.zeros(2, np.float32)), "--answer", answer, says=('"h" holds f32; the model declares i64', "node 0"))
        m = model([node("Relu", ["x"], ["y"])], [value("x")], [value("y", I64)])
        self.expect(2, "run", self.save(m), "--inputs", self.inputs(np.zeros(2, np.float32)), says='"y" holds f32; the model declares i64')

    def branches(self, then, other, outputs=("y",)):
        body = lambda name, made: helper.make_graph([node("Cast", ["x"], [n], to=t) for n, t in made], name, [], [helper.make_tensor_value_info(n, t, None) for n, t in made])
        return self.save(model([node("If", ["c"], list(outputs), then_branch=body("t", then), else_branch=body("e", other))], [value("x"), value("c", TensorProto.BOOL, [])],
                               [value(n) for n in outputs]))

    def test_branches_that_differ(self):
        x = np.zeros(2, np.float32)
        both = [self.inputs(x, np.array(c), name=f"c{c}") for c in (True, False)]
        for c in both:
            self.expect(0, "run", self.branches([("a", F32)], [("b", F32)]), "--inputs", c)
            self.expect(2, "run", self.branches([("a", F32)], [("b", F32), ("d", F32)]), "--inputs", c, says="else_branch gives 2 outputs; the node has 1")
        self.expect(2, "run", self.branches([("a", I64)], [("b", F32)]), "--inputs", both[0], says='"y" holds i64; the model declares f32')

    def test_outputs_from_files_of_a_wrong_type_or_extents_are_violations(self):
        x = self.inputs(np.ones((2, 3), np.float32))
        m = self.save(CHAIN)
        os.makedirs(self.path("y"))
        for y, words in ((np.zeros((2, 3)), "f64"), (np.zeros((2, 3), np.int64), "i64"), (np.zeros((3, 2), np.float32), "[3, 2]"), (np.zeros(6, np.float32), "[6]")):
            np.save(self.path("y/output_0.npy"), y)
            self.expect(1, "check", m, "--inputs", x, "--outputs", self.path("y"), says=("violation", words))
        os.remove(self.path("y/output_0.npy"))
        os.makedirs(self.path("y/output_0"))
        np.save(self.path("y/output_0/0.npy"), np.zeros((2, 3), np.float32))
        self.expect(1, "check", m, "--inputs", x, "--outputs", self.path("y"), says=("violation", "a tensor is right"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
