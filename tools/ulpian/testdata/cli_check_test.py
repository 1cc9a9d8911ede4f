"""`ulpian check` and `backends` as their users meet them, and the cases from public bug reports.

    .venv/bin/python tools/ulpian/testdata/cli_check_test.py build/release/ulpian [unittest's arguments]
"""
import importlib.util
import json
import os
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from cli_case import CASES, CHAIN, F32, I64, MISBEHAVE, RELU, ROOT, Case, model, node, value


class Check(Case):
    def backend(self, how):
        return f"{sys.executable} {MISBEHAVE} {how}"

    def test_our_own_backend_conforms(self):
        p = self.expect(0, "check", self.save(CHAIN), "--backend", "ulpian", "--seed", "3", "--json")
        j = json.loads(p.out)
        self.assertEqual(j["exit_status"], 0)
        check = j["checks"][0]
        self.assertEqual([o["op"] for o in check["operators"]], ["onnx.Relu", "onnx.Exp"])
        self.assertEqual({o["class"] for o in check["operators"]}, {"conforms"})
        self.assertTrue(check["transfers"])
        self.assertIn("conforms", self.expect(0, "check", self.save(CHAIN), "--backend", "ulpian").out)

    def test_onnx_runtime_conforms_here(self):
        for backend in ("onnxruntime", "onnxruntime-plain"):
            self.expect(0, "check", self.save(CHAIN), "--backend", backend, "--samples", "3", says="conforms")

    def test_the_reference_evaluator_conforms_here(self):
        self.expect(0, "check", self.save(CHAIN), "--backend", "onnx-reference", "--samples", "3", says=("conforms", "options: optimized true"))

    def test_openvino_conforms_here(self):
        if importlib.util.find_spec("openvino") is None:
            self.skipTest("no openvino: run tools/setup")
        # In a range where it does: beyond, its exp flushes results below 2^-126 to zero, which the profile does not admit.
        self.expect(0, "check", self.save(CHAIN), "--backend", "openvino", "--samples", "3", "--range", "x=-8:8", says=("conforms", "inference_precision_hint f32"))

    def test_a_wrong_answer_has_a_witness(self):
        # It always answers [1, 2]; Relu of [5, -5] is [5, 0].
        p = self.expect(1, "check", self.save(RELU), "--backend", self.backend("loud-stderr"), "--inputs", self.inputs(np.array([5, -5], np.float32)), "--json")
        check = json.loads(p.out)["checks"][0]
        self.assertEqual(check["verdict"], "violation")
        relu = check["operators"][0]
        self.assertEqual((relu["class"], relu["outside"]), ("violation", 2))
        self.assertIn((relu["witness"]["index"], relu["witness"]["got_bits"], relu["witness"]["canonical_bits"]),
                      [([0], 0x3f800000, 0x40a00000), ([1], 0x40000000, 0)])
        self.expect(1, "check", self.save(RELU), "--backend", self.backend("loud-stderr"), "--inputs", self.inputs(np.array([5, -5], np.float32)), says=("violation", "0x"))

    def test_profiles_are_names_or_files_and_a_violation_names_what_would_explain_it(self):
        # Halves of subnormal numbers, which somebody gave as zeros: the operand is one, and the result.
        x = self.inputs(np.array([2.0 ** -127, -(2.0 ** -130)], np.float32))
        m = self.save(model([node("Mul", ["x", "half"], ["y"])], [value("x")], [value("y")], initializers=[("half", np.array(0.5, np.float32))]))
        out = os.path.join(self.folder, "flushed")
        os.makedirs(out)
        np.save(os.path.join(out, "output_0.npy"), np.array([0, -0.0], np.float32))
        p = self.expect(1, "check", m, "--inputs", x, "--outputs", out, "--json")
        check = json.loads(p.out)["checks"][0]
        self.assertEqual([s["admit"] for s in check["model"]["deviations"]], [["ftz"], ["daz"]])
        self.assertEqual(check["deviations"]["admit"], ["ftz"])
        self.expect(1, "check", m, "--inputs", x, "--outputs", out, says=("would conform with ftz (subnormal results flushed to zero)", "conforms to standard + ftz"))
        self.expect(0, "check", m, "--inputs", x, "--outputs", out, "--admit", "zero_signs,ftz", says="conforms to standard + zero_signs + ftz")
        mine = os.path.join(self.folder, "mine.ulp")
        with open(mine, "w") as f:
            f.write('profile chip from strict { doc "ours" admit daz within 3 ulp: exp }')
        self.expect(0, "check", m, "--inputs", x, "--outputs", out, "--profile", mine, says="conforms to chip")
        self.expect(0, "profiles", mine, says=("chip", "admits daz", "3 ULP: exp"))
        self.expect(0, "run", m, "--inputs", x, "--answer", "allowed", "--profile", mine, says="0 exact, 2 sets")
        shipped = json.loads(self.expect(0, "profiles", "--json").out)["profiles"]
        self.assertEqual({p["name"] for p in shipped}, {"canonical", "accurate", "strict", "standard", "opencl_full", "opencl_embedded", "vulkan", "tosa_fp", "onnx_backend", "torch_assert_close", "webnn_wpt"})
        # Rules by operator name operators.
        defined = {os.path.splitext(f)[0] for f in os.listdir(os.path.join(ROOT, "spec/onnx"))}
        for p in shipped:
            for rule in p.get("close", []):
                self.assertLessEqual({op.removeprefix("onnx.") for op in rule.partition(": ")[2].split(", ") if op}, defined, p["name"])

    # exp(0.5) with the tolerances of others: what they let through is wrong by the definition, what they refuse may be right by it.
    def test_rules_of_others_say_what_they_let_through_and_refuse(self):
        x = self.inputs(np.array([0.5, 1, 2], np.float32))
        m = self.save(model([node("Exp", ["x"], ["y"])], [value("x", F32, [3])], [value("y", F32, [3])]))
        out = os.path.join(self.folder, "out")
        os.makedirs(out)

        def answers(*factors):
            y = np.exp(np.array([0.5, 1, 2])) * np.array(factors)
            np.save(os.path.join(out, "output_0.npy"), y.astype(np.float32))

        answers(1, 1 + 5e-4, 1)
        found = json.loads(self.expect(0, "check", m, "--inputs", x, "--outputs", out, "--profile", "onnx_backend", "--json").out)["checks"][0]["model"]
        self.assertEqual((found["let_through"], found["let_through_witness"]["index"]), (1, [1]))
        self.expect(0, "check", m, "--inputs", x, "--outputs", out, "--profile", "onnx_backend", says=("let through: output", "its rule lets 1 element through that the definitions do not admit"))
        # 1.3e-6 of 2.7 and 1e-5 besides.
        p = self.expect(1, "check", m, "--inputs", x, "--outputs", out, "--profile", "torch_assert_close", says="farther from it than 1.3e-06 relative, 1e-05 absolute")
        self.assertIn("the definition does not admit it either", p.out)
        answers(1, 1 + 2e-3, 1)
        self.expect(1, "check", m, "--inputs", x, "--outputs", out, "--profile", "onnx_backend", says="farther from it than 0.001 relative, 1e-07 absolute")
        # 2 ULP: within OpenCL's 3, and not within 1.
        mine = os.path.join(self.folder, "mine.ulp")
        with open(mine, "w") as f:
            f.write("profile near from standard { close 1 ulp on f32 }")
        answers(1, 1 + 2 * 2.0 ** -22 / np.e, 1)
        self.expect(1, "check", m, "--inputs", x, "--outputs", out, "--profile", mine, says=("farther from it than 1 ULP", "its rule refuses 1 element that the definitions admit"))
        self.expect(0, "check", m, "--inputs", x, "--outputs", out)
        with open(mine, "w") as f:
            f.write("profile near from standard { close 1 ulp: onnx.Exq }")
        self.expect(2, "check", m, "--inputs", x, "--outputs", out, "--profile", mine, says="onnx.Exq, which is no operator")

    # exp(1) as an f16 2.24 units above: the embedded profile of OpenCL allows 3, the full one 2.
    def test_opencl_embedded_allows_more_of_f16_than_the_full_profile(self):
        f16 = TensorProto.FLOAT16
        m = self.save(model([node("Exp", ["x"], ["y"])], [value("x", f16, [1])], [value("y", f16, [1])]))
        x, out = self.inputs(np.ones(1, np.float16)), os.path.join(self.folder, "out")
        os.makedirs(out)
        np.save(os.path.join(out, "output_0.npy"), np.array([2.7226562], np.float16))
        self.expect(0, "check", m, "--inputs", x, "--outputs", out, "--profile", "opencl_embedded")
        self.expect(1, "check", m, "--inputs", x, "--outputs", out, "--profile", "opencl_full")

    def test_profiles_that_are_wrong_say_where(self):
        m, x = self.save(RELU), self.inputs(np.array([5, -5], np.float32))
        mine = os.path.join(self.folder, "mine.ulp")
        for text, says in (("profile a { admit fzt }", "there is no fzt to admit"), ("profile a from b { }", "no profile is called b"), ("profile a {", "the end of the file"), ("", "expected 'profile'")):
            with self.subTest(text):
                with open(mine, "w") as f:
                    f.write(text)
                self.expect(2, "check", m, "--inputs", x, "--outputs", x, "--profile", mine, says=(says, "mine.ulp"))
        self.expect(2, "check", m, "--inputs", x, "--outputs", x, "--profile", "lax", says=("no profile is called lax", "standard"))
        self.expect(2, "check", m, "--inputs", x, "--outputs", x, "--profile", "no_such.ulp", says="no_such.ulp")
        self.expect(2, "check", m, "--inputs", x, "--outputs", x, "--admit", "fzt", says=("there is no fzt to admit", "bf16_inputs"))
        self.expect(2, "check", m, "--inputs", x, "--outputs", x, "--profile", "canonical", "--admit", "ftz", says="admits the canonical value alone")

    def test_a_known_fault_is_named_beside_the_verdict(self):
        m, x = self.save(RELU), self.inputs(np.array([5, -5], np.float32))
        known = {"backends": ["mine"], "verdicts": ["violation"], "operators": ["onnx.Relu"], "types": ["f32"], "reason": "a wrong maximum", "link": "https://example.org/1"}
        for change, named in (({}, True), ({"operators": ["onnx.Exp"]}, False), ({"types": ["i64"]}, False), ({"verdicts": ["failed"]}, False), ({"backends": ["other"]}, False),
                              ({"version": "no such"}, False)):
            with self.subTest(change):
                mine = self.write("mine.json", json.dumps({"backends": [{"name": "mine", "command": ["{python}", MISBEHAVE, "loud-stderr"]}], "known": [{**known, **change}]}))
                arguments = ("check", m, "--backends", mine, "--backend", "mine", "--inputs", x)
                self.assertEqual("perhaps known: a wrong maximum (https://example.org/1)" in self.expect(1, *arguments).out, named)
                relu = json.loads(self.expect(1, *arguments, "--json").out)["checks"][0]["operators"][0]
                self.assertEqual(relu.get("known"), {"reason": "a wrong maximum", "link": "https://example.org/1"} if named else None)

    def test_a_fault_in_a_graph_that_an_operator_holds_is_named_and_known_by_the_inner_operator(self):
        # The reference evaluator, whose exponential is 1 % off.
        adapters = os.path.join(ROOT, "diff/backends/adapters")
        wrong = self.write("wrong.py", "\n".join((
            "import runpy, sys", f"sys.path.insert(0, {adapters!r})", "from onnx.reference.ops.op_exp import Exp", "right = Exp._run",
            "Exp._run = lambda self, x: (right(self, x)[0] * x.dtype.type(1.01),)", f"runpy.run_path({adapters!r} + '/onnx_reference_adapter.py', run_name='__main__')")))
        step = helper.make_graph([node("Exp", ["r"], ["e"]), node("Add", ["e", "s"], ["w"])], "step", [value("s"), value("r")], [value("w"), value("e")])
        branch = helper.make_graph([node("Exp", ["x"], ["e"])], "t", [], [value("e")])
        other = helper.make_graph([node("Relu", ["x"], ["o"])], "o", [], [value("o")])
        scan = model([node("Scan", ["z", "x"], ["y", "all"], body=step, num_scan_inputs=1)], [value("z"), value("x", F32, [3, 2])], [value("y"), value("all", F32, [3, 2])])
        either = model([node("If", ["c"], ["y"], then_branch=branch, else_branch=other)], [value("c", TensorProto.BOOL, []), value("x")], [value("y")])
        known = {"backends": ["mine"], "verdicts": ["violation"], "operators": ["onnx.Exp"], "types": ["f32"], "reason": "1 % off", "link": "https://example.org/2"}
        for m, inputs, where in ((scan, (np.zeros(2, np.float32), np.ones((3, 2), np.float32)), 'its graph "step", trip 1'), (either, (np.array(True), np.ones(2, np.float32)), 'its graph "t"')):
            for operators, named in ((["onnx.Exp"], True), (["onnx.Add"], False)):
                with self.subTest(where=where, operators=operators):
                    mine = self.write("mine.json", json.dumps({"backends": [{"name": "mine", "command": ["{python}", wrong]}], "known": [{**known, "operators": operators}]}))
                    arguments = ("check", self.save(m), "--backends", mine, "--backend", "mine", "--inputs", self.inputs(*inputs))
                    text = self.expect(1, *arguments, says=f"in {where}, onnx.Exp").out
                    self.assertEqual("perhaps known: 1 % off (https://example.org/2)" in text, named)
                    call = json.loads(self.expect(1, *arguments, "--json").out)["checks"][0]["operators"][0]
                    self.assertEqual([(i["op"], i["where"], i["class"], "known" in i) for i in call["inside"]], [("onnx.Exp", where, "violation", named)])
                    self.assertEqual("known" in call, named)

    def test_a_report_says_what_its_inputs_would_have_shown(self):
        # The profile admits 3 ULP of exp, and exp(0) is 1: members up to 1 + 3 * 2^-23. A maximum has one value.
        m, x = self.save(CHAIN), self.inputs(np.zeros((2, 3), np.float32))
        os.makedirs(self.path("y"))
        y = np.ones((2, 3), np.float32)
        y[0, 0] += 2**-23
        np.save(self.path("y/output_0.npy"), y)
        check = json.loads(self.expect(0, "check", m, "--inputs", x, "--outputs", self.path("y"), "--json").out)["checks"][0]
        self.assertEqual(check["shown"], {"elements": 6, "any_change": 0, "vacuous": 0, "least": 3 * 2**-23, "median": 3 * 2**-23})
        self.expect(0, "check", m, "--inputs", x, "--outputs", self.path("y"), says="these inputs show relative errors above 3.6e-07 in half of the elements (at best 3.6e-07); vacuous: 0.0%")
        p = self.expect(0, "check", m, "--inputs", x, "--backend", "ulpian", says="these inputs show any change in 50.0% of the elements and relative errors above 3.6e-07 in half of the others (at best 3.6e-07); vacuous: 0.0%")
        rows = {line.split()[0]: line.split() for line in p.out.splitlines() if line.startswith("onnx.")}
        self.assertEqual(rows["onnx.Relu"][7:], ["any", "conforms"])
        self.assertEqual(rows["onnx.Exp"][7:], ["3.6e-07", "/", "3.6e-07", "conforms"])

    def test_a_model_of_one_operator_is_tried_on_the_data_that_tell_most_of_it(self):
        # The reference evaluator, whose exp overflows where a library's does that compares the argument with 88.376. Bell-shaped data do not show it.
        adapters = os.path.join(ROOT, "diff/backends/adapters")
        early = self.write("early.py", "\n".join((
            "import runpy, sys", f"sys.path.insert(0, {adapters!r})", "import numpy as np", "from onnx.reference.ops.op_exp import Exp", "right = Exp._run",
            "Exp._run = lambda self, x: (np.where(x > 88.376, x.dtype.type(np.inf), np.exp(x.astype(np.float64)).astype(x.dtype)),)",
            f"runpy.run_path({adapters!r} + '/onnx_reference_adapter.py', run_name='__main__')")))
        m = self.save(model([node("Exp", ["x"], ["y"])], [value("x", F32, [4, 30])], [value("y", F32, [4, 30])]))
        backend = f"{sys.executable} {early}"
        p = self.expect(1, "check", m, "--backend", backend, "--json")
        verdicts = {c["inputs"].split("(")[1].split(")")[0]: c["verdict"] for c in json.loads(p.out)["checks"]}
        self.assertEqual((verdicts["bell-shaped"], verdicts["edges"]), ("conforms", "violation"))
        self.expect(0, "check", m, "--backend", backend, "--samples", "1", says="conforms")
        # One line of each sample that conforms after the first, and one on all.
        p = self.expect(0, "check", m, "--backend", "ulpian", says=(f"all {len(verdicts)} samples: {len(verdicts)} conforms", "sample 1 (edges)"))
        self.assertEqual(p.out.count("same bits  "), 1)
        self.assertEqual(self.expect(0, "check", m, "--backend", "ulpian", "--all").out.count("same bits  "), len(verdicts))
        # Unasked there is no second sample where two have more than 2^23 numbers.
        large = self.save(model([node("Relu", ["x"], ["y"])], [value("x", F32, [2**22 + 1])], [value("y", F32, [2**22 + 1])]))
        self.assertEqual(len(json.loads(self.expect(0, "check", large, "--backend", "ulpian", "--json").out)["checks"]), 1)
        # Of two operators it is one sample, unless more are asked for.
        self.assertEqual(len(json.loads(self.expect(0, "check", self.save(CHAIN), "--backend", "ulpian", "--json").out)["checks"]), 1)

    # exp cut to f32 where it is to be rounded: each number is within 1 ULP, and all of them lie below.
    def test_errors_that_lean_are_told(self):
        x = np.linspace(-1, 1, 2000).astype(np.float32).reshape(40, 50)
        right = np.exp(x.astype(np.float64))
        rounded = right.astype(np.float32)
        cut = np.where(rounded > right, np.nextafter(rounded, np.float32(0)), rounded)
        m = self.save(model([node("Exp", ["x"], ["y"])], [value("x", F32, [40, 50])], [value("y", F32, [40, 50])]))
        os.makedirs(self.path("y"))
        for y, leans in ((cut, True), (rounded, False), (np.where(np.arange(2000).reshape(40, 50) % 2, cut, np.nextafter(rounded, np.float32(9))), False)):
            np.save(self.path("y/output_0.npy"), y)
            p = self.expect(0, "check", m, "--inputs", self.inputs(x), "--outputs", self.path("y"), says="conforms to standard")
            self.assertEqual("its errors lean towards zero" in p.out, leans)

    def test_outputs_made_elsewhere(self):
        m, x = self.save(CHAIN), np.array([[0.5, -2, 3], [0, 1, 2]], np.float32)
        y = np.exp(np.maximum(x, 0).astype(np.float64)).astype(np.float32)
        os.makedirs(self.path("y"))
        np.save(self.path("y/output_0.npy"), y)
        self.expect(0, "check", m, "--inputs", self.inputs(x), "--outputs", self.path("y"), says="conforms")
        y[1, 1] *= np.float32(1.001)
        np.save(self.path("y/output_0.npy"), y)
        p = self.expect(1, "check", m, "--inputs", self.inputs(x), "--outputs", self.path("y"), "--json")
        witness = json.loads(p.out)["checks"][0]["model"]["witness"]
        self.assertEqual((witness["output"], witness["index"]), ("y", [1, 1]))
        self.expect(2, "check", m, "--outputs", self.path("y"), says="--inputs")
        self.expect(2, "check", m, "--inputs", self.inputs(x), "--outputs", self.path("nowhere"), says="output_0")

    def test_undecided_outputs_are_said_to_be_so_far_from_canonical(self):
        # (exp(x) - 1) / (exp(x) - 1) of a tiny x: the difference's set holds 0, and the quotient's everything.
        m = self.save(model([node("Exp", ["x"], ["e"]), node("Sub", ["e", "one"], ["d"]), node("Div", ["d", "d"], ["q"]), node("Sub", ["q", "one"], ["y"])], [value("x")], [value("y")],
                            initializers=[("one", np.array(1, np.float32))]))
        os.makedirs(self.path("y"))
        np.save(self.path("y/output_0.npy"), np.array([2**-24, 0], np.float32))
        arguments = ("check", m, "--inputs", self.inputs(np.array([1e-7, 1e-7], np.float32)), "--outputs", self.path("y"))
        p = self.expect(3, *arguments, says="from canonical: at most")
        self.assertIn("5.96e-08 absolute; 1 of 2 elements have its bits", p.out)
        self.assertNotIn("undecided (undecided)", p.out)
        d = json.loads(self.expect(3, *arguments, "--json").out)["checks"][0]["from_canonical"]
        self.assertEqual((d["elements"], d["equal"], d["worst_absolute"]), (2, 1, 2**-24))

    def test_old_operator_sets_are_checked_as_they_run(self):
        # Exp of opset 1 has attributes of its own, and no definition; Softplus of opset 1 is today's.
        for op, opset, status in (("Exp", 6, 0), ("Exp", 1, 2), ("Softplus", 1, 0), ("Upsample", 6, 2)):
            with self.subTest((op, opset)):
                m = self.save(model([node(op, ["x"], ["y"])], [value("x")], [value("y")], opset=opset))
                x = self.inputs(np.array([0.5, -1], np.float32))
                self.expect(status, "run", m, "--inputs", x, "--out", self.path("out"))
                self.expect(status, "check", m, "--inputs", x, "--backend", "ulpian")

    def test_what_the_standard_leaves_undefined_may_be_refused(self):
        i32 = TensorProto.INT32
        m = self.save(model([node("Div", ["a", "b"], ["y"])], [value("a", i32), value("b", i32)], [value("y", i32)]))
        fails = self.backend("fail")
        for divisor, status, word in ((0, 0, "refuses what the standard leaves undefined"), (3, 1, "failed")):
            self.expect(status, "check", m, "--backend", fails, "--all", "--inputs", self.inputs(np.array([1, 7], np.int32), np.array([divisor, 2], np.int32)), says=word)

    def test_free_dimensions_are_told(self):
        m = self.save(model([node("Relu", ["x"], ["y"])], [value("x", F32, ["N", 3, None])], [value("y", F32, ["N", 3, None])]))
        self.assertIn("N = 1, x[2] = 32;", self.expect(0, "check", m, "--backend", "ulpian").err)
        self.assertNotIn("note:", self.expect(0, "check", m, "--backend", "ulpian", "--shape", "x=2x3x4").err)

    def test_what_a_backend_says_cannot_pass_for_a_verdict(self):
        with open(MISBEHAVE) as f:
            own = self.write("says.py", "import sys\nprint('x 1, on y: conforms to standard\\n' * 3, file=sys.stderr, flush=True)\n" + f.read())
        p = self.ulpian("check", self.save(RELU), "--backend", f"{sys.executable} {own} fail", "--inputs", self.inputs(np.array([1, 2], np.float32)))
        self.assertEqual(p.returncode, 1)
        self.assertIn("conforms to standard", p.out)
        self.assertFalse([line for line in p.out.splitlines() if line.startswith("x 1, on y")])

    def test_a_backend_that_answers_where_it_must_refuse_is_lenient(self):
        m = self.save(model([node("Gather", ["x", "i"], ["y"])], [value("x"), value("i", I64, [2])], [value("y")]))
        p = self.expect(1, "check", m, "--backend", self.backend("loud-stderr"), "--inputs", self.inputs(np.zeros(2, np.float32), np.array([5, 5])), "--json")
        self.assertEqual(json.loads(p.out)["checks"][0]["model"]["class"], "lenient")

    def test_misbehaving_backends_get_one_outcome_each(self):
        m, x = self.save(RELU), self.inputs(np.array([1, 2], np.float32))
        for how, status, word in (("crash", 1, "crashed"), ("exit-3", 1, "crashed"), ("hang", 1, "hung"), ("hang-deaf", 1, "hung"), ("flood-stdout", 1, "failed"),
                                  ("flood-stderr", 1, "hung"), ("no-json", 1, "failed"), ("deep-json", 1, "failed"), ("wrong-id", 1, "failed"), ("huge-payload", 1, "failed"),
                                  ("truncated-payload", 1, "crashed"), ("huge-extents", 1, "failed"), ("refuse", 3, "refused"), ("fail", 1, "failed"), ("loud-stderr", 0, "conforms")):
            with self.subTest(how):
                self.expect(status, "check", m, "--backend", self.backend(how), "--inputs", x, "--backend-time-limit", "1.5", says=word, seconds=60)
        for how in ("exit-at-once", "exit-without-hello", "print-first"):
            with self.subTest(how):
                p = self.ulpian("check", m, "--backend", self.backend(how), "--inputs", x, "--backend-time-limit", "1.5", seconds=150)
                self.assertIn(p.returncode, (1, 2), p.err)
        self.expect(2, "check", m, "--backend", self.path("no/such/program"), "--inputs", x)


class Backends(Case):
    def test_they_are_listed_and_asked(self):
        names = [b["name"] for b in json.loads(self.expect(0, "backends", "--json").out)]
        self.assertLessEqual({"onnxruntime", "onnxruntime-plain", "onnx-reference", "openvino", "openvino-default", "ulpian"}, set(names))
        self.assertEqual(json.loads(self.expect(0, "backends", "--probe", "ulpian").out)["name"], "ulpian")
        mine = self.write("mine.json", json.dumps({"backends": [{"name": "mine", "command": ["{python}", "x.py"], "description": "of my own"}]}))
        self.assertIn("of my own", self.expect(0, "backends", "--backends", mine).out)
        self.expect(2, "backends", "--backends", self.write("bad.json", "{"), says="bad.json")
        self.expect(2, "backends", "--probe", self.path("gone"))


def read_case(folder):
    with open(os.path.join(folder, "case.json")) as f:
        return json.load(f)


class Cases(Case):
    """Every case through the command line, compared here with NumPy; which of them run is conformance/cases_test.cpp's to say."""

    def ordered(self, a):
        bits = a.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]).astype(object)
        top = 1 << (8 * a.dtype.itemsize - 1)
        return np.vectorize(lambda v: -(v - top) if v >= top else v, otypes=[object])(bits)

    def matches(self, got, want, rule):
        if got.dtype != want.dtype or got.shape != want.shape:
            return False
        if got.dtype.kind != "f":
            return bool(np.array_equal(got, want))
        if not np.array_equal(np.isnan(got), np.isnan(want)):
            return False
        keep = ~np.isnan(want)
        got, want = got[keep], want[keep]
        if got.size == 0:
            return True
        if rule["class"] == "abs":
            return bool(np.all((got == want) | (np.abs(got.astype(np.float64) - want.astype(np.float64)) <= rule["value"])))
        if rule["class"] == "ulp":
            return int(np.max(np.abs(self.ordered(got) - self.ordered(want)))) <= rule["value"]
        return bool(np.all(self.ordered(got) == self.ordered(want)) and np.array_equal(np.signbit(got), np.signbit(want)))

    def test_cases(self):
        for name in sorted(os.listdir(CASES)):
            folder = os.path.join(CASES, name)
            if not os.path.isfile(os.path.join(folder, "case.json")):
                continue
            with self.subTest(name):
                rule = read_case(folder)["tolerance"]
                p = self.ulpian("run", os.path.join(folder, "model.onnx"), "--inputs", folder, "--out", self.path(name), "--json")
                j = json.loads(p.out)
                if j.get("kind") == "unsupported":
                    self.assertEqual(p.returncode, 2)
                    continue
                if rule["class"] in ("refuse", "any"):
                    self.assertIn(p.returncode, (2,) if rule["class"] == "refuse" else (0, 2))
                    continue
                self.assertEqual(p.returncode, 0, p.err)
                for k in range(len(j["outputs"])):
                    got = np.load(os.path.join(self.path(name), f"output_{k}.npy"), allow_pickle=False)
                    files = [f"expected_{k}.npy", *(f"expected_{k}_alt{a}.npy" for a in range(1, 9))]
                    wanted = [np.load(os.path.join(folder, f)) for f in files if os.path.exists(os.path.join(folder, f))]
                    self.assertTrue(any(self.matches(got, w, rule) for w in wanted), f"{name} output {k}: {got} is none of {wanted}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
