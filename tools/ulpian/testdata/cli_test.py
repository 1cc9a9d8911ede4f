"""The command line as its users meet it: exit statuses, files, JSON, and what it says of everything that can be wrong.

    .venv/bin/python tools/ulpian/testdata/cli_test.py build/release/ulpian [unittest's arguments]
"""
import json
import os
import random
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from cli_case import CHAIN, F32, I64, RELU, SOFTSQUARE, ULPIAN, Case, model, node, value


class Help(Case):
    def test_every_subcommand_explains_itself_with_an_example(self):
        for words in ([], ["run"], ["check"], ["spec"], ["backends"]):
            p = self.expect(0, *words, "--help")
            self.assertIn("Examples:", p.out, words)
            self.assertIn("ulpian ", p.out)
        for words in (["spec", "list"], ["spec", "show"], ["spec", "check"], ["backend"]):
            self.assertIn("--help", self.expect(0, *words, "--help").out)
        self.assertRegex(self.expect(0, "--version").out, r"^ulpian \d+\.\d+\.\d+ \(canonical edition \d+\)")

    def test_wrong_usage_is_status_2(self):
        self.expect(2)
        self.expect(2, "fly", says="fly")
        self.expect(2, "run", says="model")
        self.expect(2, "run", "m.onnx", "--no-such-option")
        self.expect(2, "run", self.save(RELU), "--answer", "maybe", says="maybe")
        self.expect(2, "run", self.save(RELU), "--threads", "0")
        self.expect(2, "check", self.save(RELU), says="--backend")
        self.expect(2, "check", self.save(RELU), "--backend", "no-such-backend", says="no-such-backend")
        self.expect(2, "check", self.save(RELU), "--backend", "ulpian", "--profile", "lax", says="standard")
        self.expect(2, "check", self.save(RELU), "--backend", "ulpian", "--shape", "x")
        self.expect(2, "check", self.save(RELU), "--backend", "ulpian", "--shape", "x=3", says="[2]")
        self.expect(2, "check", self.save(RELU), "--backend", "ulpian", "--range", "x=1")
        self.expect(2, "spec", "show", "Sofmax", says="no operator")


class Output(Case):
    def test_results_that_cannot_be_written_are_an_error(self):
        for arguments in (["spec", "list"], ["spec", "show", "Softmax"], ["run", self.save(RELU), "--inputs", self.inputs(np.zeros(2, np.float32))]):
            with open("/dev/full", "wb") as full:
                p = subprocess.run([ULPIAN, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(p.returncode, 2, arguments)
            self.assertIn(b"No space left", p.stderr)

    def test_names_do_not_reach_the_terminal_as_commands(self):
        evil = "a\x1b[31m\x07\r\x9b2J\u202eb"
        m = self.save(model([node("Relu", ["x"], [evil])], [value("x")], [value(evil)]))
        x = self.inputs(np.zeros(2, np.float32))
        bad = self.save(model([node("Fly", ["x"], ["y"], name=evil)], [value("x")], [value("y")]), "bad.onnx")
        for arguments in (["run", m, "--inputs", x], ["run", bad, "--inputs", x], ["check", m, "--backend", "ulpian"], ["run", self.path(evil)], [evil],
                          ["check", bad, "--backend", "ulpian"]):
            p = self.ulpian(*arguments)
            for c in "\x1b\x07\r\x9b\u202e":
                self.assertNotIn(c, p.out + p.err, arguments)


class Run(Case):
    def test_outputs_are_files_in_the_order_of_the_graph(self):
        x = np.array([[0.5, -2, 3], [0, 1, -0.0]], np.float32)
        p = self.expect(0, "run", self.save(CHAIN), "--inputs", self.inputs(x), "--out", self.path("out"), "--json")
        j = json.loads(p.out)
        self.assertEqual((j["status"], j["answer"], j["outputs"]), ("ran", "canonical", [{"name": "y", "kind": "tensor", "type": "f32", "extents": [2, 3]}]))
        y = np.load(self.path("out/output_0.npy"), allow_pickle=False)
        # exp is correctly rounded: f64's value is near enough to round it.
        np.testing.assert_array_equal(y, np.exp(np.maximum(x, 0).astype(np.float64)).astype(np.float32))
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["output_0.npy", "outputs.json"])

    def test_the_same_answer_by_name_from_protobuf_and_with_more_threads(self):
        x = np.linspace(-3, 3, 6, dtype=np.float32).reshape(2, 3)
        m = self.save(CHAIN)
        os.makedirs(self.path("pb"))
        with open(self.path("pb/input_0.pb"), "wb") as f:
            f.write(numpy_helper.from_array(x).SerializeToString())
        np.save(self.path("x.npy"), x)
        for k, arguments in enumerate((["--inputs", self.inputs(x)], ["--input", f"x={self.path('x.npy')}"], ["--inputs", self.path("pb")],
                                       ["--inputs", self.inputs(x), "--threads", "2"], ["--inputs", self.inputs(x), "--evaluator", "scalar"])):
            self.expect(0, "run", m, *arguments, "--out", self.path(f"out{k}"))
            with open(self.path("out0/output_0.npy"), "rb") as a, open(self.path(f"out{k}/output_0.npy"), "rb") as b:
                self.assertEqual(a.read(), b.read(), arguments)

    def sequences(self):
        of_tensors = helper.make_sequence_type_proto(helper.make_tensor_type_proto(F32, None))
        optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(F32, [2]))
        return self.save(model([node("SequenceInsert", ["s", "x"], ["t"]), node("OptionalHasElement", ["o"], ["has"]), node("Optional", [], ["none"], type=of_tensors)],
                               [helper.make_value_info("s", of_tensors), value("x"), helper.make_value_info("o", optional)],
                               [helper.make_value_info("t", of_tensors), value("has", TensorProto.BOOL, []), helper.make_value_info("none", helper.make_optional_type_proto(of_tensors))]))

    def test_sequences_are_folders_and_optionals_without_a_value_no_files(self):
        m, x = self.sequences(), np.array([1, 2], np.float32)
        items = [np.array([[3]], np.float32), np.array([4, 5, 6], np.float32)]
        os.makedirs(self.path("inputs/input_0"))
        for k, item in enumerate(items):
            np.save(self.path(f"inputs/input_0/{k}.npy"), item)
        np.save(self.path("inputs/input_1.npy"), x)
        p = self.expect(0, "run", m, "--inputs", self.path("inputs"), "--out", self.path("out"), "--json")
        self.assertEqual(json.loads(p.out)["outputs"],
                         [{"name": "t", "kind": "sequence", "type": "f32", "items": [{"type": "f32", "extents": e} for e in ([1, 1], [3], [2])]},
                          {"name": "has", "kind": "tensor", "type": "bool", "extents": []}, {"name": "none", "kind": "nothing"}])
        with open(self.path("out/outputs.json")) as f:
            self.assertEqual(json.load(f), {"output_0": {"kind": "sequence", "type": "f32", "length": 3}, "output_2": {"kind": "nothing"}})
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["output_0", "output_1.npy", "outputs.json"])
        for k, item in enumerate([*items, x]):
            np.testing.assert_array_equal(np.load(self.path(f"out/output_0/{k}.npy")), item)
        self.assertFalse(np.load(self.path("out/output_1.npy")))
        # A shorter one into the same folder, from protobuf files as ONNX's own tests have them.
        os.makedirs(self.path("pb"))
        for name, proto in (("input_0", numpy_helper.from_list([items[0]], "s")), ("input_1", numpy_helper.from_array(x)), ("input_2", numpy_helper.from_optional(x, "o"))):
            with open(self.path(f"pb/{name}.pb"), "wb") as f:
                f.write(proto.SerializeToString())
        self.expect(0, "run", m, "--inputs", self.path("pb"), "--out", self.path("out"), says="a sequence of 2 f32 tensors")
        self.assertEqual(sorted(os.listdir(self.path("out/output_0"))), ["0.npy", "1.npy"])
        self.assertTrue(np.load(self.path("out/output_1.npy")))
        # What an optional holds may stand for itself.
        with open(self.path("pb/input_2.pb"), "wb") as f:
            f.write(numpy_helper.from_array(x, "o").SerializeToString())
        self.expect(0, "run", m, "--inputs", self.path("pb"), "--out", self.path("plain"))
        self.assertTrue(np.load(self.path("plain/output_1.npy")))
        self.expect(0, "run", m, "--inputs", self.path("pb"), "--answer", "allowed", "--out", self.path("sets"), says="a sequence of 2 f32 tensors")
        self.assertEqual(sorted(os.listdir(self.path("sets/output_0"))), [f"{k}.{end}.npy" for k in (0, 1) for end in ("flags", "lower", "upper")])
        with open(self.path("sets/allowed.json")) as f:
            sets = json.load(f)["outputs"]
        self.assertEqual([sets[f"output_{k}"]["kind"] for k in range(3)], ["sequence", "tensor", "nothing"])
        self.expect(0, "check", m, "--inputs", self.path("pb"), "--outputs", self.path("out"), says="conforms")
        self.expect(0, "check", m, "--backend", "onnxruntime", "--shape", "s=2x3+4", "--shape", "o=none", says="s([2, 3], [4]) x[2]")

    def test_sequences_that_are_none(self):
        m, x = self.sequences(), np.array([1, 2], np.float32)
        self.expect(2, "run", m, "--inputs", self.inputs(x, x), says='declares a sequence for "s"')
        folder = self.path("data/input_0")
        os.makedirs(folder)
        np.save(self.path("data/input_1.npy"), x)
        self.expect(0, "run", m, "--inputs", self.path("data"), says="a sequence of 1 f32 tensor")
        np.save(folder + "/1.npy", x)
        self.expect(2, "run", m, "--inputs", self.path("data"), says="no 0.npy")
        np.save(folder + "/0.npy", x.astype(np.float64))
        self.expect(2, "run", m, "--inputs", self.path("data"), says="<f8")
        self.write("data/input_0/notes.txt", "")
        self.expect(2, "run", m, "--inputs", self.path("data"), says="no tensor of a sequence")
        self.write("broken.pb", "nonsense")
        self.expect(2, "run", m, "--input", f"s={self.path('broken.pb')}", "--input", f"x={self.path('data/input_1.npy')}", says="not a SequenceProto")
        self.expect(2, "run", self.save(RELU, "relu.onnx"), "--input", f"x={folder}", says="declares a tensor")

    def test_a_loop_without_end_is_status_3(self):
        body = helper.make_graph([node("Identity", ["c"], ["d"]), node("Add", ["s", "s"], ["t"])], "body",
                                 [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), value("s")], [value("d", TensorProto.BOOL, []), value("t")])
        m = self.save(model([node("Loop", ["", "go", "x"], ["y"], body=body)], [value("x")], [value("y")], initializers=[("go", np.array(True))]))
        for answer in ("canonical", "allowed"):
            self.expect(3, "run", m, "--inputs", self.inputs(np.array([1, 2], np.float32)), "--answer", answer, "--time-limit", "0.5", says="longer than the time allowed")

    def test_types_that_numpy_lacks_are_named(self):
        m = self.save(model([node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16), node("Cast", ["x"], ["z"], to=TensorProto.FLOAT8E4M3FN)],
                            [value("x")], [value("y", TensorProto.BFLOAT16), value("z", TensorProto.FLOAT8E4M3FN)], opset=19))
        self.expect(0, "run", m, "--inputs", self.inputs(np.array([1.0, -448], np.float32)), "--out", self.path("out"))
        with open(self.path("out/outputs.json")) as f:
            self.assertEqual(json.load(f), {"output_0": "bf16", "output_1": "f8e4m3fn"})
        self.assertEqual([hex(v) for v in np.load(self.path("out/output_0.npy"))], ["0x3f80", "0xc3e0"])
        self.assertEqual([hex(v) for v in np.load(self.path("out/output_1.npy"))], ["0x38", "0xfe"])

    def test_the_allowed_answer_encloses_the_canonical_one(self):
        m = self.save(model([node("Exp", ["x"], ["y"])], [value("x", F32, [4])], [value("y", F32, [4])]))
        x = np.array([0, 1, -20, np.nan], np.float32)
        self.expect(0, "run", m, "--inputs", self.inputs(x), "--out", self.path("c"))
        self.expect(0, "run", m, "--inputs", self.inputs(x), "--out", self.path("a"), "--answer", "allowed")
        y, low, high, flags = (np.load(self.path(f)) for f in ("c/output_0.npy", "a/output_0.lower.npy", "a/output_0.upper.npy", "a/output_0.flags.npy"))
        self.assertTrue(np.all((low[:3] <= y[:3]) & (y[:3] <= high[:3])))
        self.assertTrue(np.all(high[1:3] > low[1:3]), "the standard profile admits some ULP")
        self.assertEqual(list(flags & 1), [0, 0, 0, 1])
        with open(self.path("a/allowed.json")) as f:
            json.load(f)

    def test_inputs_that_do_not_fit(self):
        m = self.save(CHAIN)
        ok = np.zeros((2, 3), np.float32)
        self.expect(2, "run", m, says=("\"x\"", "missing"))
        self.expect(2, "run", m, "--inputs", self.path("nowhere"), says="nowhere")
        self.expect(2, "run", m, "--inputs", self.inputs(np.zeros((3, 2), np.float32)), says=("[3, 2]", "[2, 3]"))
        self.expect(2, "run", m, "--inputs", self.inputs(np.zeros(6, np.float32)), says="[6]")
        self.expect(2, "run", m, "--inputs", self.inputs(ok.astype(np.float64)), says=("<f8", "f32"))
        self.expect(2, "run", m, "--inputs", self.inputs(ok, ok, name="two"), says="input_1")
        self.expect(2, "run", m, "--input", f"q={self.path('x.npy')}", says="its inputs are x")
        self.expect(2, "run", m, "--input", "x", says="NAME=FILE")
        self.expect(2, "run", m, "--input", f"x={self.path('gone.npy')}", says="gone.npy")
        objects = np.array([{"a": 1}, None], dtype=object)
        np.save(self.path("pickle.npy"), objects, allow_pickle=True)
        self.expect(2, "run", self.save(RELU), "--input", f"x={self.path('pickle.npy')}", says="pickle")
        whole = open(os.path.join(self.inputs(ok), "input_0.npy"), "rb").read()
        for cut in (0, 5, 20, 100, len(whole) - 1):
            self.save(whole[:cut], "short.npy")
            self.expect(2, "run", m, "--input", f"x={self.path('short.npy')}", says="short.npy")

    def test_folders_that_cannot_be_written_get_no_partial_files(self):
        m, x = self.save(RELU), self.inputs(np.zeros(2, np.float32))
        self.write("a_file", "kept")
        self.expect(2, "run", m, "--inputs", x, "--out", self.path("a_file"), says="a_file")
        self.expect(2, "run", m, "--inputs", x, "--out", self.path("a_file/below"), says="a_file")
        self.assertEqual(open(self.path("a_file")).read(), "kept")
        # A folder where an output should be: the write fails, and the temporary file beside it goes.
        os.makedirs(self.path("out/output_0.npy"))
        self.expect(2, "run", m, "--inputs", x, "--out", self.path("out"), says="output_0.npy")
        self.assertEqual(os.listdir(self.path("out")), ["output_0.npy"])
        if os.geteuid() != 0:
            os.makedirs(self.path("closed"), mode=0o500)
            self.expect(2, "run", m, "--inputs", x, "--out", self.path("closed"))
            self.assertEqual(os.listdir(self.path("closed")), [])
        # A run that fails makes no folder.
        self.expect(2, "run", m, "--inputs", self.inputs(np.zeros(3, np.float32), name="bad"), "--out", self.path("never"))
        self.assertFalse(os.path.exists(self.path("never")))

    def test_a_limit_is_status_3(self):
        big = self.save(model([node("Expand", ["x", "s"], ["h"]), node("Exp", ["h"], ["y"])], [value("x", F32, [1]), value("s", I64, [1])], [value("y", F32, ["n"])]))
        p = self.expect(3, "run", big, "--inputs", self.inputs(np.ones(1, np.float32), np.array([1 << 24])), "--memory-limit", "8", "--json")
        self.assertEqual(json.loads(p.out)["kind"], "limit")
        self.expect(3, "run", big, "--inputs", self.inputs(np.ones(1, np.float32), np.array([1 << 40])), says=("Expand", "4398046511104"))
        slow = self.save(model([node("MatMul", ["x", "x"], ["y"])], [value("x", F64 := TensorProto.DOUBLE, [1500, 1500])], [value("y", F64, [1500, 1500])]))
        self.expect(3, "run", slow, "--inputs", self.inputs(np.ones((1500, 1500)), name="s"), "--time-limit", "0.05", says="time")

    def test_a_violated_requirement_is_status_2_and_names_the_rule(self):
        m = self.save(model([node("Gather", ["x", "i"], ["y"], name="pick")], [value("x"), value("i", I64, [1])], [value("y", F32, [1])]))
        p = self.expect(2, "run", m, "--inputs", self.inputs(np.zeros(2, np.float32), np.array([5])), "--json", says=("pick", "node 0", "Gather.ulp"))
        self.assertEqual(json.loads(p.out)["kind"], "requirement")


class BadModels(Case):
    def test_models_that_are_none(self):
        self.expect(2, "run", self.path("gone.onnx"), says="gone.onnx")
        self.expect(2, "run", self.folder)
        self.expect(2, "run", "/dev/zero", seconds=20)
        for data in (b"", b"\x00", b"PK\x03\x04zip", b"{}", os.urandom(2000), b"\xff" * 5000):
            self.expect(2, "run", self.save(data), says="model.onnx")

    def test_every_truncation_is_refused_or_runs(self):
        whole, x = CHAIN.SerializeToString(), self.inputs(np.zeros((2, 3), np.float32))
        for cut in range(0, len(whole), 3):
            p = self.ulpian("run", self.save(whole[:cut]), "--inputs", x, seconds=20)
            self.assertIn(p.returncode, (0, 2), cut)

    def test_flipped_bits_are_refused_or_run(self):
        seed = 20240
        print(f"seed {seed}", file=sys.stderr)
        draw = random.Random(seed)
        whole, x = CHAIN.SerializeToString(), self.inputs(np.zeros((2, 3), np.float32))
        for _ in range(120):
            data = bytearray(whole)
            for _ in range(draw.choice((1, 1, 2, 8))):
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            p = self.ulpian("run", self.save(bytes(data)), "--inputs", x, "--memory-limit", "64", "--time-limit", "5", seconds=20)
            self.assertIn(p.returncode, (0, 2, 3), data.hex())

    def test_graphs_that_are_wrong(self):
        x = self.inputs(np.zeros(2, np.float32))
        cycle = model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])], [value("x")], [value("b")])
        self.expect(2, "run", self.save(cycle), "--inputs", x, says="cycle")
        self.expect(2, "run", self.save(model([node("Relu", ["nobody"], ["y"])], [value("x")], [value("y")])), "--inputs", x, says="nobody")
        self.expect(2, "run", self.save(model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["y"])], [value("x")], [value("y")])), "--inputs", x, says="\"y\"")
        self.expect(2, "run", self.save(model([node("Fly", ["x"], ["y"])], [value("x")], [value("y")])), "--inputs", x, says=("Fly", "node 0"))
        self.expect(2, "run", self.save(model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")], opset=3)), "--inputs", x, says="3")
        self.expect(2, "run", self.save(model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")], opset=9999)), "--inputs", x, says="9999")
        self.expect(2, "run", self.save(model([node("Softmax", ["x"], ["y"], axis=7)], [value("x")], [value("y")])), "--inputs", x, says="axis")
        self.expect(2, "run", self.save(model([node("Softmax", ["x"], ["y"], axes=7)], [value("x")], [value("y")])), "--inputs", x, says="axes")

    def test_declared_extents_of_2_to_the_40(self):
        huge = model([node("Relu", ["x"], ["y"])], [value("x", F32, [1 << 40])], [value("y", F32, [1 << 40])])
        self.expect(2, "run", self.save(huge), "--inputs", self.inputs(np.zeros(2, np.float32)), says="1099511627776")
        self.expect(2, "check", self.save(huge), "--backend", "ulpian", says="memory")
        constant = model([node("Relu", ["c"], ["y"])], [], [value("y", F32, [1 << 40])])
        t = constant.graph.initializer.add()
        t.name, t.data_type = "c", F32
        t.dims.extend([1 << 40])
        self.expect(2, "run", self.save(constant))
        t.dims.extend([1 << 40, 1 << 40])
        self.expect(2, "run", self.save(constant))
        header = b"\x93NUMPY\x01\x00"
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"
        text += b" " * (118 - len(text) - 1) + b"\n"
        self.save(header + len(text).to_bytes(2, "little") + text, "huge.npy")
        self.expect(2, "run", self.save(RELU), "--input", f"x={self.path('huge.npy')}", says="huge.npy")

    def test_deep_nesting(self):
        inner = helper.make_graph([node("Relu", ["x"], ["y0"])], "g", [], [value("y0")])
        for k in range(20):  # deeper models cannot be made with Python's protobuf
            inner = helper.make_graph([node("If", ["c"], [f"y{k + 1}"], then_branch=inner, else_branch=inner)] if k < 5 else
                                      [node("If", ["c"], [f"y{k + 1}"], then_branch=inner)], "g", [], [value(f"y{k + 1}")])
        m = model([node("If", ["c"], ["y"], then_branch=inner)], [value("x"), value("c", TensorProto.BOOL, [])], [value("y")])
        self.expect(2, "run", self.save(m), seconds=30)
        # Length-delimited fields inside each other, as deep as bytes allow: graph, node, attribute, graph, ...
        deep = b""
        for k in range(3000):
            for tag in (0x32, 0x2a, 0x0a):
                n, length = len(deep), b""
                while n > 127:
                    length, n = length + bytes([n & 127 | 128]), n >> 7
                deep = bytes([tag]) + length + bytes([n]) + deep
        self.expect(2, "run", self.save(b"\x08\x0a" + deep), seconds=30)

    def test_external_data_stays_in_the_folder(self):
        os.makedirs(self.path("m"))
        self.write("secret", "x" * 64)
        for location in ("../secret", self.path("secret"), "link"):
            m = model([node("Relu", ["c"], ["y"])], [], [value("y", F32, [4])])
            t = m.graph.initializer.add()
            t.name, t.data_type, t.data_location = "c", F32, TensorProto.EXTERNAL
            t.dims.extend([4])
            e = t.external_data.add()
            e.key, e.value = "location", location
            if location == "link":
                os.symlink(self.path("secret"), self.path("m/link"))
            self.expect(2, "run", self.save(m, "m/model.onnx"))


class Spec(Case):
    def test_list_and_show(self):
        operators = json.loads(self.expect(0, "spec", "list", "--json").out)
        self.assertGreaterEqual(len(operators), 80)
        self.assertLessEqual({"name", "versions", "doc", "file"}, set(operators[0]))
        self.assertIn("onnx.Softmax", [o["name"] for o in operators])
        self.assertIn("onnx.Softmax", self.expect(0, "spec", "list").out)
        self.assertIn("op onnx.Softmax", self.expect(0, "spec", "show", "Softmax").out)
        shown = json.loads(self.expect(0, "spec", "show", "onnx.Softmax", "--opset", "12", "--json").out)
        self.assertEqual([min(d["since"]) <= 12 for d in shown], [True])
        self.expect(2, "spec", "show", "Clip", "--opset", "1", says="versions")

    def test_check_runs_examples(self):
        j = json.loads(self.expect(0, "spec", "check", "Softmax", "Clip", "--json").out)
        self.assertEqual((j["operators"], j["failed"]), (2, 0))
        self.assertGreater(j["examples"], 5)

    def test_every_example_of_every_shipped_definition_holds(self):
        j = json.loads(self.expect(0, "spec", "check", "--json").out)
        listed = json.loads(self.expect(0, "spec", "list", "--json").out)
        self.assertEqual((j["operators"], j["failed"], j["failures"]), (len(listed), 0, []))

    def test_mutants_of_a_sample_are_noticed(self):
        # Definitions whose examples were written until no change survived.
        j = json.loads(self.expect(0, "spec", "check", "--mutants", "Add", "Abs", "Clip", "--sample", "10", "--seed", "1", "--least", "90", "--json").out)
        self.assertGreaterEqual(len(j["definitions"]), 3)
        self.assertEqual(j["below"], 0)
        # In full; what survives of IsInf means the same, as tools/mutants/explained.json says.
        p = self.expect(0, "spec", "check", "--mutants", "IsInf", "Expand", "Sign", "--least", "90", says=("every definition >= 90 %", "0 survivors, 0 explained"))
        self.assertIn("IsInf since 20, 10: 7 of 7 mutants noticed (100 %); 3 more mean the same", p.out)
        weak = self.write("none.ulp", "op com.example.Weak {\n  type T: f32\n  in x: T[N]\n  out y: T[N]\n  y[i] = x[i] + 1\n}\n")
        p = self.expect(1, "spec", "check", "--mutants", "--least", "50", "--spec", weak, "Weak", "--json")
        found = json.loads(p.out)["definitions"][0]
        self.assertEqual((found["mutants"], found["noticed"]), (3, 0))
        self.assertEqual({(m["line"], m["column"], m["change"]) for m in found["unnoticed"]},
                         {(5, 15, "'+' becomes '-'"), (5, 17, "'1' becomes '0'"), (5, 17, "'1' becomes '2'")})
        why = self.write("why.json", json.dumps({"explained": [{"definition": found["name"], "line": "y[i] = x[i] + 1", "changes": ["'+' becomes '-'"], "reason": "it is weak"}]}))
        self.expect(0, "spec", "check", "--mutants", "--spec", weak, "Weak", "--explained", why,
                    says=("3 survive, 1 of them explained", "all answers are equal: it is weak", "below 90 %: com.example.Weak"))
        self.expect(2, "spec", "check", "--mutants", "Abs", "--explained", self.path("gone.json"), says="gone.json")

    def test_definitions_are_proved_for_all_extents(self):
        j = json.loads(self.expect(0, "spec", "check", "--prove", "Softmax", "Transpose", "--json").out)
        self.assertEqual({d["standing"] for d in j["definitions"]}, {"proved"})
        wrong = self.write("off.ulp", "op com.example.Off {\n  type T: f32\n  in x: T[N]\n  out y: T[N]\n  y[i] = x[i + 1]\n  example { x = []  y = [] }\n}\n")
        p = self.expect(1, "spec", "check", "--prove", "--spec", wrong, "Off", "--json")
        fault = json.loads(p.out)["definitions"][0]["faults"][0]
        self.assertEqual(fault["line"], 5)
        self.assertRegex(fault["call"], r"^x: \[[1-3]\]$")

    def test_no_shipped_definition_is_refuted(self):
        j = json.loads(self.expect(0, "spec", "check", "--prove", "--time-limit", "0.2", "--json", seconds=800).out)
        self.assertEqual(([d["name"] for d in j["definitions"] if d["standing"] == "refuted"], j["refuted"]), ([], 0))
        self.assertGreater(j["proved"], 0.9 * len(j["definitions"]))

    def test_an_operator_of_ones_own_runs_without_a_rebuild(self):
        spec = self.write("my_ops.ulp", SOFTSQUARE)
        m = self.save(model([node("SoftSquare", ["x"], ["y"], domain="com.example", limit=3.0)], [value("x", F32, [3])], [value("y", F32, [3])],
                            domains=[("com.example", 1)]))
        self.expect(0, "spec", "check", "--spec", spec, "SoftSquare")
        self.expect(0, "run", m, "--spec", spec, "--inputs", self.inputs(np.array([1, -1.5, 5], np.float32)), "--out", self.path("out"))
        np.testing.assert_array_equal(np.load(self.path("out/output_0.npy")), np.array([1, 2.25, 3], np.float32))
        self.expect(2, "run", m, "--inputs", self.inputs(np.zeros(3, np.float32)), says=("SoftSquare", "--spec"))

    def test_a_wrong_definition_is_said_with_file_line_and_cause(self):
        m = self.save(model([node("SoftSquare", ["x"], ["y"], domain="com.example")], [value("x", F32, [3])], [value("y", F32, [3])],
                            domains=[("com.example", 1)]))
        x = self.inputs(np.zeros(3, np.float32))
        body = "Y[i...] = min(X[i...] * X[i...], limit)"
        for wrong, line, word in ((body.replace("min(", "min()"), 7, ""), (body.replace("limit", "limt"), 7, "limt"), (body.replace("X[i...] *", "X[i..., 0] *"), 7, ""),
                                  (body.replace("* X[i...]", "* true"), 7, "bool"), ("", 0, "Y")):
            spec = self.write("wrong.ulp", SOFTSQUARE.replace(body, wrong))
            p = self.expect(2, "run", m, "--spec", spec, "--inputs", x, says=("wrong.ulp:", word))
            if line:
                self.assertIn(f"wrong.ulp:{line}", p.err)
        spec = self.write("wrong.ulp", SOFTSQUARE.replace("Y = [1, 4, 10]", "Y = [1, 4, 11]"))
        self.expect(2, "spec", "check", "--spec", spec, "SoftSquare", says=("wrong.ulp", "11"))
        self.expect(2, "spec", "check", "--spec", self.path("gone.ulp"), says="gone.ulp")
        self.expect(2, "run", m, "--spec", self.write("bytes.ulp", "op \x00\x01 ("), "--inputs", x, says="bytes.ulp")
        self.expect(2, "run", m, "--spec", self.write("deep.ulp", SOFTSQUARE.replace(body, "Y[i...] = " + "(" * 20000)), "--inputs", x, says="deep.ulp")

    def test_a_definition_without_end_is_stopped(self):
        spec = self.write("endless.ulp", "fn again(n) = again(n + 1)\n" + SOFTSQUARE.replace("limit)", "again(0))"))
        m = self.save(model([node("SoftSquare", ["x"], ["y"], domain="com.example")], [value("x", F32, [3])], [value("y", F32, [3])], domains=[("com.example", 1)]))
        p = self.ulpian("run", m, "--spec", spec, "--inputs", self.inputs(np.zeros(3, np.float32)), seconds=30)
        self.assertIn(p.returncode, (2, 3), p.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
