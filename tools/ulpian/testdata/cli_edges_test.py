"""What the command line says where there is little to say: refusals, contradictory options, declarations that do not hold.

    .venv/bin/python tools/ulpian/testdata/cli_edges_test.py build/release/ulpian [unittest's arguments]
"""
import json
import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_test import CHAIN, F32, I64, MISBEHAVE, RELU, SOFTSQUARE, Case, model, node, value  # noqa: E402

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
