"""The five standard models (docs/models.md) with inputs of a fixed seed, for tools/bench and tools/same-bits. Needs NumPy only."""
import glob
import os
from typing import Callable, NamedTuple

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Model(NamedTuple):
    name: str
    pattern: str  # of its file below .venv/models; the folder carries the version of the wheel
    reference: bool  # whether the ONNX ReferenceEvaluator runs it
    draw: Callable  # a generator of random numbers to the inputs by name, in the order of the graph

    def file(self):
        """Its path, or None: tools/setup was not run."""
        return next(iter(sorted(glob.glob(os.path.join(ROOT, ".venv/models", self.pattern)))), None)


MODELS = [
    Model("magika", "magika-*/magika/models/standard_v3_3/model.onnx", False, lambda r: {"bytes": r.integers(0, 257, (2, 2048)).astype(np.int32)}),
    Model("silero-vad", "silero-vad-*/silero_vad/data/silero_vad_16k_sequence.onnx", True,
          lambda r: {"input": r.normal(0, 0.1, (20, 576)).astype(np.float32), "h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)}),
    Model("ppocr-cls", "rapidocr-onnxruntime-*/rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", True,
          lambda r: {"x": r.uniform(-1, 1, (1, 3, 48, 192)).astype(np.float32)}),
    Model("ppocr-rec", "rapidocr-onnxruntime-*/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", True,
          lambda r: {"x": r.uniform(-1, 1, (1, 3, 48, 320)).astype(np.float32)}),
    Model("basic-pitch", "basic-pitch-*/basic_pitch/saved_models/icassp_2022/nmp.onnx", True,
          lambda r: {"serving_default_input_2:0": r.normal(0, 0.1, (1, 43844, 1)).astype(np.float32)}),
]
