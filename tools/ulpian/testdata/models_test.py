"""The five standard models (docs/models.md) through the command line: they run, with the same bits on any number of threads and near what ONNX
Runtime gives; the allowed answer encloses the canonical one; a check ends with a verdict on every operator call.

    .venv/bin/python tools/ulpian/testdata/models_test.py build/release/ulpian [unittest's arguments]
"""
import glob
import json
import os
import unittest

import numpy as np
import onnxruntime

import cli_case
from cli_case import ROOT

# Figures of real data: none of these models amplifies a rounding beyond it (evidence: at most 2e-5 of the largest magnitude, over four implementations).
NEAR = 2e-4


class Models(cli_case.Case):
    def find(self, pattern):
        files = glob.glob(os.path.join(ROOT, ".venv/models", pattern))
        if not files:
            self.skipTest(f"{pattern} is missing; run tools/setup")
        return files[0]

    def hold(self, pattern, *arrays, allowed=True, operators=61, seconds=500):
        model = self.find(pattern)
        data = self.inputs(*arrays)
        for threads in (1, 2):
            self.expect(0, "run", model, "--inputs", data, "--out", self.path(f"t{threads}"), "--threads", threads, seconds=seconds)
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        theirs = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})
        for k, their in enumerate(theirs):
            with open(self.path(f"t1/output_{k}.npy"), "rb") as a, open(self.path(f"t2/output_{k}.npy"), "rb") as b:
                self.assertEqual(a.read(), b.read(), "threads change no bit")
            ours = np.load(self.path(f"t1/output_{k}.npy"))
            self.assertEqual((ours.shape, ours.dtype), (their.shape, their.dtype))
            self.assertLessEqual(float(np.max(np.abs(ours - their))), NEAR * max(1.0, float(np.max(np.abs(their)))))
        if allowed:
            self.expect(0, "run", model, "--inputs", data, "--out", self.path("allowed"), "--answer", "allowed", seconds=seconds)
            for k in range(len(theirs)):
                ours, low, high = (np.load(self.path(f)) for f in (f"t1/output_{k}.npy", f"allowed/output_{k}.lower.npy", f"allowed/output_{k}.upper.npy"))
                self.assertTrue(np.all((low <= ours) & (ours <= high)))
        p = self.ulpian("check", model, "--backend", "onnxruntime-plain", "--inputs", data, "--json", seconds=seconds)
        self.assertIn(p.returncode, (0, 1, 3), p.err)
        check = json.loads(p.out)["checks"][0]
        self.assertEqual(check["restarts"], 0)
        self.assertGreaterEqual(len(check["operators"]), operators)
        for o in check["operators"]:
            self.assertIn(o["class"], ("conforms", "vacuous", "violation"), f"{o['place']}: {o.get('reason')}")
            if o["class"] == "violation":
                self.assertIn("witness", o, o["place"])

    def test_magika(self):
        self.hold("magika-*/magika/models/standard_v3_3/model.onnx", np.random.default_rng(1).integers(0, 257, (1, 2048)).astype(np.int32))

    def test_silero_vad(self):
        zero = np.zeros((1, 1, 128), np.float32)
        self.hold("silero-vad-*/silero_vad/data/silero_vad_16k_sequence.onnx", np.random.default_rng(1).normal(0, 0.1, (20, 576)).astype(np.float32), zero, zero)

    def test_silero_vad_branches(self):
        # All of it stands in an `If` with more inside, three deep.
        self.hold("silero-vad-*/silero_vad/data/silero_vad.onnx", np.random.default_rng(1).normal(0, 0.1, (1, 512)).astype(np.float32),
                  np.zeros((2, 1, 128), np.float32), np.array(16000), operators=5)

    def test_ppocr_direction(self):
        self.hold("rapidocr-onnxruntime-*/rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                  np.random.default_rng(1).uniform(-1, 1, (1, 3, 48, 192)).astype(np.float32))

    def test_ppocr_reading(self):
        self.hold("rapidocr-onnxruntime-*/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                  np.random.default_rng(1).uniform(-1, 1, (1, 3, 48, 64)).astype(np.float32))

    def test_basic_pitch(self):
        # Sets of the whole model take minutes; operators' sets are asked for by the check.
        self.hold("basic-pitch-*/basic_pitch/saved_models/icassp_2022/nmp.onnx", np.random.default_rng(1).normal(0, 0.1, (1, 43844, 1)).astype(np.float32), allowed=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)
