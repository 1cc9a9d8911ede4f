"""ONNX Runtime. --optimization all (its default) | none; everything else is as the library ships it, on one thread unless asked otherwise."""
import argparse
import ctypes
import warnings

import ulpian_adapter as ua

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as errors

ONNX = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11, "u32": 12, "u64": 13, "bf16": 16,
        "f8e4m3fn": 17, "f8e4m3fnuz": 18, "f8e5m2": 19, "f8e5m2fnuz": 20, "u4": 21, "i4": 22, "f4e2m1": 23, "f8e8m0": 24, "u2": 25, "i2": 26}
TYPE = {number: type for type, number in ONNX.items()}
UNSUPPORTED = ("is not a registered function/op", "No Op registered for", "not currently registered or supported", "ValidateOpsetForDomain",
               "Unsupported model IR version", "Could not find an implementation")
INVALID = ("ShapeInferenceError", "TypeInferenceError", "not acyclic", "invalid model")
MEMORY = ("Failed to allocate memory", "bad_alloc")


def explained(error):
    """ONNX Runtime's status as the protocol's outcome. FAIL and RUNTIME_EXCEPTION do not say whose fault it is: they stay failures."""
    text = str(error)
    if any(m in text for m in MEMORY):
        return MemoryError(text)
    if isinstance(error, errors.NotImplemented) or any(m in text for m in UNSUPPORTED):
        return ua.Refused("unsupported", text)
    if isinstance(error, (errors.InvalidArgument, errors.InvalidGraph, errors.InvalidProtobuf, ValueError)) or any(m in text for m in INVALID):
        return ua.Refused("invalid", text)
    return error


def to_numpy(v):
    if v.type in ua.NUMPY:
        return v.array
    if v.type != "string":
        raise ua.Refused("unsupported", f"ONNX Runtime's Python interface takes no sequence of {v.type}")
    try:
        return np.array([s.decode() for s in v.array.ravel()], object).reshape(v.array.shape)
    except UnicodeDecodeError:
        raise ua.Refused("unsupported", "ONNX Runtime's Python interface takes strings of UTF-8 only") from None


def to_ort(v):
    if v.elements is not None:
        return [to_numpy(e) for e in v.elements]
    if v.array is None:
        return None
    if v.type == "string":
        return to_numpy(v)
    if v.type not in ONNX:
        raise ua.Refused("unsupported", f"ONNX Runtime has no tensors of {v.type}")
    array = v.array
    if v.type in ua.SUB_BYTE:  # the array's extents count, and the packed elements lie at its front
        packed, array = ua.pack(array, ua.SUB_BYTE[v.type]), np.zeros_like(array, order="C")
        array.reshape(-1)[:packed.size] = packed
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, ONNX[v.type])


def from_ort(name, v):
    if isinstance(v, list):
        elements = [from_ort("", e) for e in v]
        return ua.Value(name, elements[0].type if elements else "f32", elements=elements)
    if v is None or isinstance(v, np.ndarray):
        return ua.Value(name, None) if v is None else ua.Value.of(name, v)
    if isinstance(v, dict):
        raise ua.Refused("unsupported", "an output holds maps, which are not carried")
    if v.data_type() == "tensor(string)":
        return ua.Value.of(name, v.numpy())
    type, extents = TYPE[v.element_type()], list(v.shape())
    raw = np.frombuffer(ctypes.string_at(v.data_ptr(), v.tensor_size_in_bytes()), np.uint8)
    if type in ua.SUB_BYTE:
        return ua.Value(name, type, ua.unpack(raw, ua.SUB_BYTE[type], extents))
    return ua.Value(name, type, raw.view(ua.RAW.get(type, np.uint8 if type == "bool" else ua.NUMPY.get(type))).reshape(extents))


class OnnxRuntime(ua.Adapter):
    version, formats = ort.__version__, ["onnx"]
    element_types = [*ONNX, "string"]

    def __init__(self, optimization):
        self.optimization = optimization
        self.name = "onnxruntime" if optimization == "all" else "onnxruntime-plain"

    def details(self):
        return {"options": {"graph_optimization": self.optimization, "threads": self.threads}, "providers": ["CPUExecutionProvider"]}

    def prepare(self, program, format, inputs):
        options = ort.SessionOptions()
        if self.optimization == "none":
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self.threads:
            options.intra_op_num_threads = options.inter_op_num_threads = self.threads
        options.log_severity_level = 3
        try:
            return ort.InferenceSession(program, options, providers=["CPUExecutionProvider"])
        except Exception as e:
            raise explained(e) from None

    def run(self, session, inputs):
        names = [o.name for o in session.get_outputs()]
        feed = {v.name: to_ort(v) for v in inputs}
        # Sequences, optionals and strings pass only through the interface that takes and gives NumPy arrays.
        plain = all(isinstance(v, ort.OrtValue) for v in feed.values()) and all(o.type.startswith("tensor(") for o in session.get_outputs())
        try:
            outputs = session.run_with_ort_values(names, feed) if plain else session.run(names, feed)
        except Exception as e:
            raise explained(e) from None
        return [from_ort(n, v) for n, v in zip(names, outputs)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimization", choices=["all", "none"], default="all")
    warnings.simplefilter("ignore")
    ua.serve(OnnxRuntime(parser.parse_args().optimization))
