"""The reference evaluator of the onnx package, as it comes."""
import warnings

import ulpian_adapter as ua

import ml_dtypes
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import RuntimeContextError, RuntimeImplementationError

ONNX = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "string", 9: "bool", 10: "f16", 11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128",
        16: "bf16", 17: "f8e4m3fn", 18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz", 21: "u4", 22: "i4", 23: "f4e2m1", 24: "f8e8m0", 25: "u2", 26: "i2", 27: "f6e2m3", 28: "f6e3m2"}
# What NumPy lacks is ml_dtypes' here; each keeps an element in a byte, or two.
MORE = {"bf16": ml_dtypes.bfloat16, "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e5m2": ml_dtypes.float8_e5m2,
        "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f8e8m0": ml_dtypes.float8_e8m0fnu, "f4e2m1": ml_dtypes.float4_e2m1fn, "f6e2m3": ml_dtypes.float6_e2m3fn, "f6e3m2": ml_dtypes.float6_e3m2fn,
        "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4}
NAMES = {np.dtype(d): t for t, d in MORE.items()}


def to_numpy(v):
    if v.elements is not None:
        return [to_numpy(e) for e in v.elements]
    if v.array is None:
        return None
    if v.type == "string":
        try:
            return np.array([s.decode() for s in v.array.ravel()], object).reshape(v.array.shape)
        except UnicodeDecodeError:
            raise ua.Refused("unsupported", "the reference evaluator takes strings of UTF-8 only") from None
    return v.array.view(MORE[v.type]) if v.type in MORE else v.array


def from_numpy(name, v, declared):
    """`declared`: the output's type in the file, for a sequence of nothing."""
    if v is None:
        return ua.Value(name, None)
    if isinstance(v, list):
        inner = declared.sequence_type.elem_type if declared.HasField("sequence_type") else declared.optional_type.elem_type.sequence_type.elem_type
        elements = [from_numpy("", e, inner) for e in v]
        return ua.Value(name, elements[0].type if elements else ONNX.get(inner.tensor_type.elem_type, "f32"), elements=elements)
    array = np.asarray(v)
    if array.dtype.kind in "UST":
        array = array.astype(object)
    if array.dtype not in NAMES:
        return ua.Value.of(name, array)
    type, raw = NAMES[array.dtype], np.ascontiguousarray(array).reshape(array.shape).view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
    return ua.Value(name, type, raw & ((1 << ua.SUB_BYTE[type]) - 1) if type in ua.SUB_BYTE else raw)


def fits(v, type):
    """Whether a value is of a declared type; what the file leaves open fits. The evaluator itself does not look."""
    if type.HasField("optional_type"):
        return v.array is None and v.elements is None or fits(v, type.optional_type.elem_type)
    if type.HasField("sequence_type"):
        return v.elements is not None and all(fits(e, type.sequence_type.elem_type) for e in v.elements)
    if not type.HasField("tensor_type"):
        return not type.WhichOneof("value")
    tensor = type.tensor_type
    if v.array is None or tensor.elem_type and ONNX.get(tensor.elem_type) != v.type:
        return False
    if not tensor.HasField("shape"):
        return True
    dims = tensor.shape.dim
    return len(dims) == v.array.ndim and all(not d.HasField("dim_value") or d.dim_value in (-1, e) for d, e in zip(dims, v.array.shape))


class Reference(ua.Adapter):
    name, version, formats = "onnx-reference", onnx.__version__, ["onnx"]
    element_types = list(ONNX.values())

    def details(self):
        return {"options": {"optimized": True}, "ml_dtypes": ml_dtypes.__version__}

    def prepare(self, program, format, inputs):
        try:
            model = onnx.load_model_from_string(program)
        except Exception as e:
            raise ua.Refused("invalid", f"{type(e).__name__}: {e}") from None
        newest = onnx.defs.onnx_opset_version()
        for opset in model.opset_import:
            if opset.domain in ("", "ai.onnx") and opset.version > newest:
                raise ua.Refused("unsupported", f"opset {opset.version}; this version of onnx has those up to {newest}")
        if not model.opset_import or not model.HasField("graph"):
            raise ua.Refused("invalid", "the model has no graph, or imports no operators")
        try:
            return ReferenceEvaluator(model), model.graph
        except (NotImplementedError, RuntimeContextError, RuntimeImplementationError) as e:
            raise ua.Refused("unsupported", f"{type(e).__name__}: {e}") from None

    def run(self, prepared, inputs):
        evaluator, graph = prepared
        optional = {i.name for i in graph.initializer} | {i.name for i in graph.sparse_initializer}
        asked, given = {i.name: i.type for i in graph.input}, {v.name: v for v in inputs}
        for name in asked:
            if name not in given and name not in optional:
                raise ua.Refused("invalid", f'the model\'s input "{name}" is not given')
        for v in inputs:
            if v.name not in asked:
                raise ua.Refused("invalid", f'the model has no input "{v.name}"')
            if not fits(v, asked[v.name]):
                raise ua.Refused("invalid", f'input "{v.name}" is {v.type} {list(v.array.shape) if v.array is not None else ""}; the model says otherwise')
        try:
            outputs = evaluator.run(None, {v.name: to_numpy(v) for v in inputs})
        except (NotImplementedError, RuntimeContextError, RuntimeImplementationError) as e:
            raise ua.Refused("unsupported", f"{type(e).__name__}: {e}") from None
        return [from_numpy(o.name, v, o.type) for o, v in zip(graph.output, outputs)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    ua.serve(Reference())
