"""What the command line's tests share: models, folders, and runs of `ulpian` (the first argument), each with a time limit.

None may end by a signal or with the status of a fault of Ulpian's own (70).
"""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
CASES = os.path.join(ROOT, "conformance/cases")
MISBEHAVE = os.path.join(ROOT, "diff/backends/testdata/misbehave.py")
ULPIAN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
# How many times longer a slow build (sanitizers, no optimisation) may take; cmake sets it for its tests.
PATIENCE = float(os.environ.get("ULPIAN_TEST_PATIENCE", "1"))
F32, I64 = TensorProto.FLOAT, TensorProto.INT64

SOFTSQUARE = """\
op com.example.SoftSquare since 1 {
  doc   "x * x, held below a limit."
  type  T: f16, f32, f64
  in    X: T[D...]
  attr  limit: float = 10
  out   Y: T[D...]
  Y[i...] = min(X[i...] * X[i...], limit)

  example { X = [1, 2, 5]  Y = [1, 4, 10] }
}
"""


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def value(name, type=F32, extents=(2,)):
    return helper.make_tensor_value_info(name, type, extents)


def model(nodes, inputs, outputs, opset=18, initializers=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in initializers])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in domains)])
    m.ir_version = 10
    return m


RELU = model([node("Relu", ["x"], ["y"])], [value("x")], [value("y")])
CHAIN = model([node("Relu", ["x"], ["h"]), node("Exp", ["h"], ["y"])], [value("x", F32, [2, 3])], [value("y", F32, [2, 3])])


class Case(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, m, name="model.onnx"):
        with open(self.path(name), "wb") as f:
            f.write(m if isinstance(m, bytes) else m.SerializeToString())
        return self.path(name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def inputs(self, *arrays, name="inputs"):
        os.makedirs(self.path(name), exist_ok=True)
        for k, a in enumerate(arrays):
            np.save(os.path.join(self.path(name), f"input_{k}.npy"), a)
        return self.path(name)

    def ulpian(self, *arguments, seconds=60, env=None):
        p = subprocess.run([ULPIAN, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE * seconds,
                           cwd=self.folder, env={**os.environ, **(env or {})})
        p.out, p.err = p.stdout.decode("utf-8"), p.stderr.decode("utf-8")  # both are always UTF-8
        self.assertIn(p.returncode, (0, 1, 2, 3), f"{arguments}\n{p.out[-2000:]}\n{p.err[-2000:]}")
        return p

    def expect(self, status, *arguments, says=(), **more):
        p = self.ulpian(*arguments, **more)
        self.assertEqual(p.returncode, status, f"{arguments}\n{p.out[-3000:]}\n{p.err[-3000:]}")
        if status == 2:
            self.assertRegex(p.err + p.out, "error|required|not |Run with|expected", "an error is said in words")
            self.assertLess(len(p.err), 4000, "and not at length")
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, p.err + p.out)
        return p
