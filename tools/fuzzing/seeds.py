"""Writes what fuzzing starts from: FOLDER/HARNESS/* and, where it helps, the dictionary FOLDER/HARNESS.dict.

    .venv/bin/python tools/fuzzing/seeds.py FOLDER

All of it is made from what the repository holds, so that none of it is kept twice.
"""
import glob
import io
import json
import os
import re
import struct
import sys

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import models

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
MOST_BYTES = 16 << 10


class Folder:
    def __init__(self, path):
        self.path = path

    def put(self, harness, name, data):
        if len(data) > MOST_BYTES:
            return
        folder = os.path.join(self.path, harness)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)

    def dictionary(self, harness, words):
        with open(os.path.join(self.path, harness + ".dict"), "w") as f:
            for word in sorted(words):
                f.write('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n')


def language(out):
    words = {"...", "++", "**", "<=", ">=", "==", "!=", "->", "~", "{", "}", "[", "]", "(", ")", "0x", "1e", "inf", "nan", "absent"}
    count = {}
    for file in sorted(glob.glob(ROOT + "/spec/onnx/*.ulp") + glob.glob(ROOT + "/spec/language/testdata/*.ulp") + glob.glob(ROOT + "/spec/prelude/*.ulp")):
        with open(file, "rb") as f:
            data = f.read()
        out.put("language_fuzz", os.path.basename(file), data)
        for word in set(re.findall(r"[a-z_]{2,}", re.sub(r'"[^"]*"|#.*', "", data.decode()))):
            count[word] = count.get(word, 0) + 1
    out.dictionary("language_fuzz", words | {w for w, n in count.items() if n >= 4})


def onnx(out):
    for name, model, _ in models.small():
        for harness in ("import_onnx_fuzz", "model_fuzz"):
            out.put(harness, name + ".onnx", model.SerializeToString())
    for file in sorted(glob.glob(ROOT + "/conformance/cases/*/model.onnx")):
        with open(file, "rb") as f:
            data = f.read()
        if len(data) < 1500:
            for harness in ("import_onnx_fuzz", "model_fuzz"):
                out.put(harness, os.path.basename(os.path.dirname(file)) + ".onnx", data)
    operators = [os.path.splitext(os.path.basename(f))[0] for f in glob.glob(ROOT + "/spec/onnx/*.ulp")]
    attributes = set()
    for file in glob.glob(ROOT + "/spec/onnx/*.ulp"):
        with open(file) as f:
            attributes |= set(re.findall(r"^\s+attr\s+(\w+)", f.read(), re.M))
    for harness in ("import_onnx_fuzz", "model_fuzz"):
        out.dictionary(harness, {*operators, *attributes})


def tensors():
    """Every element type in every encoding that ONNX has for it."""
    x = np.array([[0, 1, 2], [3, 4, 5]])
    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
        a = x.astype(dtype)
        code = helper.np_dtype_to_tensor_dtype(a.dtype)
        yield dtype + "_raw", numpy_helper.from_array(a, "x")
        values = a.view("float32" if dtype == "complex64" else "float64").ravel() if dtype.startswith("complex") else a.view("uint16").ravel() if dtype == "float16" else (a.astype("int32") if dtype == "bool" else a).ravel()
        t = TensorProto(name="x", data_type=code, dims=[2, 3])
        field = {"float32": t.float_data, "complex64": t.float_data, "float64": t.double_data, "complex128": t.double_data, "int64": t.int64_data, "uint32": t.uint64_data,
                 "uint64": t.uint64_data}.get(dtype, t.int32_data)
        field.extend(values.tolist())
        yield dtype + "_typed", t
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn):
        yield np.dtype(dtype).name, numpy_helper.from_array(x.astype(dtype), "x")
    yield "string", numpy_helper.from_array(np.array(["", "a", "β"], object), "s")
    yield "scalar", numpy_helper.from_array(np.float32(1), "x")
    yield "empty", numpy_helper.from_array(np.zeros((0, 3), np.float32), "x")
    external = TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    external.external_data.add(key="location", value="weights")
    yield "external", external


def files(out):
    for name, t in tensors():
        out.put("tensor_proto_fuzz", name + ".pb", t.SerializeToString())
    x = np.arange(6).reshape(2, 3)
    for dtype in ("?", "i1", "<i2", ">i4", "<i8", "u1", "<u2", "<u4", ">u8", "<f2", "<f4", ">f8", "<c8", ">c16", "<U3", ">U2", "S3"):
        for order in "CF":
            for version in ((1, 0), (2, 0), (3, 0)):
                if version != (1, 0) and (order == "F" or dtype not in ("<f4", "<U3")):
                    continue
                file = io.BytesIO()
                np.lib.format.write_array(file, np.array(x.astype(dtype), order=order), version=version)
                out.put("npy_fuzz", f"{dtype.replace('<', 'l').replace('>', 'b').replace('?', 'bool')}_{order}{version[0]}.npy", file.getvalue())
    for name, a in (("scalar", np.float64(3)), ("empty", np.zeros((2, 0, 3), np.float32)), ("rank8", np.zeros((1,) * 8, np.int8))):
        file = io.BytesIO()
        np.save(file, a)
        out.put("npy_fuzz", name + ".npy", file.getvalue())
    out.dictionary("npy_fuzz", {"'descr': ", "'fortran_order': ", "'shape': ", "True", "False", "(", ",)", "4294967296", "-1", "<f4", ">u2", "|b1", "<U1", "|S0", "|O"})


def frame(header, *blobs):
    text, payload = json.dumps(header).encode(), b"".join(b + bytes(-len(b) % 64) for b in blobs)
    return b"ULPIAN/1" + struct.pack("<QQ", len(text), len(payload)) + text + payload


def protocol(out):
    tensor, data = {"name": "x", "type": "f32", "extents": [2, 3], "bytes": 24}, np.arange(6, dtype=np.float32).tobytes()
    strings = struct.pack("<II", 1, 2) + b"abc"
    values = [tensor, {"name": "o", "absent": True}, {"name": "s", "type": "string", "extents": [2], "bytes": len(strings)},
              {"name": "q", "type": "i4", "sequence": [{"type": "i4", "extents": [2], "bytes": 2}]}]
    blobs = [data, strings, b"\x0f\x01"]
    ports = [{"name": "x", "type": "f32", "extents": [2, None]}]
    messages = {
        "hello": [{"type": "hello", "id": 1, "protocol": {"least": 1, "most": 1}, "threads": 1, "limits": {"header_bytes": 16777216, "payload_bytes": 4294967296}}],
        "prepare": [{"type": "prepare", "id": 2, "program": 1, "format": "onnx", "bytes": 5, "inputs": [{"name": "x", "type": "f32", "extents": [2, 3]}]}, b"model"],
        "run": [{"type": "run", "id": 3, "program": 1, "batches": [values]}, *blobs],
        "release": [{"type": "release", "id": 4, "program": 1}],
        "bye": [{"type": "bye", "id": 5}],
        "introduction": [{"type": "hello", "id": 1, "protocol": 1, "name": "x", "version": "1", "formats": ["onnx", "core"], "element_types": ["f32", "i64"], "shapes": "static",
                          "largest_payload": 1 << 30, "options": {"a": [1, None, True]}, "cpu": ["avx2"]}],
        "prepared": [{"type": "prepared", "id": 2, "seconds": 0.01, "inputs": ports, "outputs": ports}],
        "outputs": [{"type": "outputs", "id": 3, "batches": [
            {"type": "outputs", "values": values, "seconds": 0.001, "float_state": {"flushes_subnormals": False, "rounding": "nearest"}},
            {"type": "refused", "reason": "invalid", "message": "index"}, {"type": "failed", "cause": "memory", "message": "no"}]}, *blobs],
        "done": [{"type": "done", "id": 4}],
        "refused": [{"type": "refused", "id": 2, "reason": "unsupported", "message": "\u03b2"}],
        "failed": [{"type": "failed", "id": 2, "message": "x"}],
    }
    for name, (header, *parts) in messages.items():
        out.put("protocol_fuzz", name + ".frame", frame(header, *parts))
        # The harness's own short form: the header, a zero, the payload.
        out.put("protocol_fuzz", name + ".header", json.dumps(header).encode() + b"\0" + b"".join(b + bytes(-len(b) % 64) for b in parts))
    out.put("protocol_fuzz", "session.frame", b"".join(frame(*messages[k]) for k in ("hello", "prepare", "run", "release", "bye")))
    words = set()
    for header, *_ in messages.values():
        words |= set(re.findall(r'"\w+"', json.dumps(header)))
    out.dictionary("protocol_fuzz", words | {"ULPIAN/1", "null", "true", "-1", "1e999", "9223372036854775807", "[[", "]]", "{}"})


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    out = Folder(sys.argv[1])
    os.makedirs(out.path, exist_ok=True)
    for make in (language, onnx, files, protocol):
        make(out)


if __name__ == "__main__":
    main()
