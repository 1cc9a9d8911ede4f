"""The onnx package as an independent reader and writer of what this folder writes and reads.

onnx_oracle.py write DIR   for every element type: NAME.typed.pb and NAME.raw.pb (TensorProto), NAME.bits (the elements' bits, unpacked, little endian)
onnx_oracle.py read DIR    NAME.ours.pb must hold the same elements; every *.onnx must pass onnx.checker
"""
import glob
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "bool": TensorProto.BOOL, "i2": TensorProto.INT2, "i4": TensorProto.INT4, "i8": TensorProto.INT8, "i16": TensorProto.INT16,
    "i32": TensorProto.INT32, "i64": TensorProto.INT64, "u2": TensorProto.UINT2, "u4": TensorProto.UINT4, "u8": TensorProto.UINT8,
    "u16": TensorProto.UINT16, "u32": TensorProto.UINT32, "u64": TensorProto.UINT64, "f4e2m1": TensorProto.FLOAT4E2M1,
    "f6e2m3": TensorProto.FLOAT6E2M3, "f6e3m2": TensorProto.FLOAT6E3M2,
    "f8e4m3fn": TensorProto.FLOAT8E4M3FN, "f8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ, "f8e5m2": TensorProto.FLOAT8E5M2,
    "f8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ, "f8e8m0": TensorProto.FLOAT8E8M0, "f16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "c64": TensorProto.COMPLEX64,
    "c128": TensorProto.COMPLEX128,
}
SUB_BYTE = {"i2": 2, "u2": 2, "i4": 4, "u4": 4, "f4e2m1": 4, "f6e2m3": 6, "f6e3m2": 6}
SHAPE = (3, 7)  # an odd number of elements: the last byte of packed ones is not full


def bits_of(name, array):
    raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    if name in SUB_BYTE:  # ml_dtypes keeps one element a byte; a signed one is sign-extended
        raw = raw & ((1 << SUB_BYTE[name]) - 1)
    return raw.tobytes()


def elements(name, code):
    rng = np.random.default_rng(20240613)
    values = rng.integers(-8 if name != "bool" else 0, 8 if name != "bool" else 2, SHAPE).astype(np.float64)
    if name.startswith("u"):
        values = np.abs(values)
    if name in ("i2", "u2"):
        values = values % 2
    if name.startswith("f8e8m0"):
        values = 2.0 ** values
    if name.startswith("c"):
        values = values + 1j * values.T.reshape(SHAPE)
    return values.astype(helper.tensor_dtype_to_np_dtype(code))


def write(folder):
    for name, code in TYPES.items():
        array = elements(name, code)
        # helper.make_tensor writes the typed field from values, numpy_helper writes raw_data.
        typed = helper.make_tensor(name, code, SHAPE, array)
        raw = numpy_helper.from_array(array, name)
        assert not typed.HasField("raw_data") and raw.HasField("raw_data") and raw.data_type == code, name
        for kind, tensor in (("typed", typed), ("raw", raw)):
            with open(os.path.join(folder, f"{name}.{kind}.pb"), "wb") as out:
                out.write(tensor.SerializeToString())
        with open(os.path.join(folder, f"{name}.bits"), "wb") as out:
            out.write(bits_of(name, array))


def read(folder):
    for name, code in TYPES.items():
        tensor = TensorProto.FromString(open(os.path.join(folder, f"{name}.ours.pb"), "rb").read())
        array = numpy_helper.to_array(tensor)
        assert tensor.data_type == code and tensor.name == name and array.shape == SHAPE, name
        assert bits_of(name, array) == open(os.path.join(folder, f"{name}.bits"), "rb").read(), name
    models = glob.glob(os.path.join(folder, "*.onnx"))
    assert models
    for model in models:
        onnx.checker.check_model(onnx.load(model), full_check="rich" not in model)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
