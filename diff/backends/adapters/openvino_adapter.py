"""OpenVINO on the CPU. --hints pinned: every value computed in f32, nothing quantised on the way, no streams beside each other;
default: what the library chooses for this processor (often bf16 where it has such instructions). What is in force is in the introduction."""
import argparse
import ctypes
import re

import ulpian_adapter as ua

import numpy as np
import onnx
import openvino as ov

TYPES = {"bool": "boolean", "f8e4m3fn": "f8e4m3", **{t: t for t in ("i4", "i8", "i16", "i32", "i64", "u4", "u8", "u16", "u32", "u64", "f4e2m1", "f8e5m2", "f8e8m0",
                                                                   "f16", "bf16", "f32", "f64", "string")}}
OURS = {theirs: ours for ours, theirs in TYPES.items()}
PINNED = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
          "KV_CACHE_PRECISION": "f32", "ENABLE_CPU_PINNING": "NO", "CPU_DENORMALS_OPTIMIZATION": "NO"}
TOLD = ("INFERENCE_PRECISION_HINT", "EXECUTION_MODE_HINT", "PERFORMANCE_HINT", "INFERENCE_NUM_THREADS", "NUM_STREAMS", "DYNAMIC_QUANTIZATION_GROUP_SIZE", "KV_CACHE_PRECISION",
        "CPU_DENORMALS_OPTIMIZATION")
MEMORY = re.compile(r"bad_alloc|could not (create|allocate) memory|(failed|unable|can't|cannot) to? ?allocate|out of memory", re.I)
UNSUPPORTED = re.compile(r"No conversion rule|not supported|unsupported|n't supported|not implemented|n't implemented|does not support|n't support|only support|not (yet )?available|NotImplemented"
                         r"|must be .{0,40}constant|Bad format", re.I)
INVALID = re.compile(r"Unable to read the model|shape_infer|Shape inference|While validating|Incompatible|incorrect|mismatch|out of range|out of bounds|is not valid|invalid", re.I)


def explained(error):
    """OpenVINO has one exception for everything: only its text says what it means. What says neither stays a failure."""
    text = str(error)
    if MEMORY.search(text):
        return MemoryError(text)
    if UNSUPPORTED.search(text):
        return ua.Refused("unsupported", text)
    if INVALID.search(text):
        return ua.Refused("invalid", text)
    return error


def name_of(type):
    return type.get_type_name()


def to_openvino(v, type):
    if v.array is None:
        raise ua.Refused("unsupported", f'OpenVINO takes tensors only, "{v.name}" is ' + ("absent" if v.elements is None else "a sequence"))
    if v.type not in TYPES:
        raise ua.Refused("unsupported", f"OpenVINO has no tensors of {v.type}")
    if TYPES[v.type] != name_of(type):
        raise ua.Refused("invalid", f'input "{v.name}" is {v.type}, the model asks for {OURS.get(name_of(type), name_of(type))}')
    if v.type == "string":
        if any(s.endswith(b"\0") for s in v.array.ravel()):
            raise ua.Refused("unsupported", "OpenVINO's Python interface takes no strings that end with a zero byte")
        tensor = ov.Tensor(type, ov.Shape(v.array.shape))
        if v.array.size:
            tensor.bytes_data = np.array(v.array.tolist(), np.bytes_).reshape(v.array.shape)
        return tensor
    raw = ua.pack(v.array, ua.SUB_BYTE[v.type]) if v.type in ua.SUB_BYTE else np.ascontiguousarray(v.array).reshape(-1).view(np.uint8)
    tensor = ov.Tensor(type, ov.Shape(v.array.shape))
    if tensor.byte_size != raw.size:
        raise RuntimeError(f"OpenVINO keeps {v.type} {list(v.array.shape)} in {tensor.byte_size} bytes, {raw.size} are expected")
    if raw.size:
        ctypes.memmove(tensor.data.ctypes.data, raw.ctypes.data, raw.size)
    return tensor


def from_openvino(name, tensor):
    theirs, extents = name_of(tensor.element_type), list(tensor.shape)
    if theirs not in OURS:
        raise ua.Refused("unsupported", f'output "{name}" is of OpenVINO\'s type {theirs}')
    type = OURS[theirs]
    if type == "string":
        strings = np.empty(int(np.prod(extents)), object)
        strings[:] = tensor.bytes_data.reshape(-1).tolist() if strings.size else []
        return ua.Value(name, type, strings.reshape(extents))
    raw = np.empty(tensor.byte_size, np.uint8)
    if raw.size:
        ctypes.memmove(raw.ctypes.data, tensor.data.ctypes.data, raw.size)
    if type in ua.SUB_BYTE:
        return ua.Value(name, type, ua.unpack(raw, ua.SUB_BYTE[type], extents))
    return ua.Value(name, type, raw.view(ua.RAW.get(type, np.uint8 if type == "bool" else ua.NUMPY.get(type))).reshape(extents))


def names_read(graph):
    names = {o.name for o in graph.output}
    for node in graph.node:
        names.update(node.input)
        for a in node.attribute:
            for body in [a.g, *a.graphs] if a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) else []:
                names |= names_read(body)
    return names


def ports_of(names, ports):
    """Each input's place among the ports. OpenVINO drops inputs that are never read, and calls one whose value passes unchanged by its later name."""
    by_name = {n: k for k, p in enumerate(ports) for n in p.get_names() if n in names}
    if len(names) == len(ports) and all(names[k] == n for n, k in by_name.items()):
        return {n: k for k, n in enumerate(names)}
    if len(by_name) != len(ports):
        raise ua.Refused("unsupported", f"OpenVINO calls the inputs {names} {[sorted(p.get_names()) for p in ports]}: which is which cannot be told")
    return by_name


class Compiled:
    """A model on the processor, with the names that its file has."""

    def __init__(self, model, graph):
        self.request, self.weights = model.create_infer_request(), {i.name for i in graph.initializer}
        self.asked, self.outputs = [i.name for i in graph.input], [o.name for o in graph.output]
        ports, read = model.inputs, names_read(graph)
        self.inputs = {n: (k, ports[k].element_type) for n, k in ports_of([n for n in self.asked if n in read and n not in self.weights], ports).items()}
        self.has_strings = any(name_of(p.element_type) == "string" for p in [*ports, *model.outputs])
        if len(model.outputs) != len(self.outputs):
            raise ua.Refused("unsupported", f"OpenVINO gives the model {len(model.outputs)} outputs, it has {len(self.outputs)}")

    def feed(self, values):
        missing = set(self.inputs) - {v.name for v in values}
        if missing:
            raise ua.Refused("invalid", f"the model's inputs {sorted(missing)} are not given")
        fed = {}
        for v in values:
            if v.name in self.inputs:
                k, type = self.inputs[v.name]
                fed[k] = to_openvino(v, type)
            elif v.name in self.weights:
                raise ua.Refused("unsupported", f'OpenVINO takes no value for "{v.name}", to which the model gives one')
            elif v.name not in self.asked:
                raise ua.Refused("invalid", f'the model has no input "{v.name}"')
        return fed


class OpenVino(ua.Adapter):
    version, formats = ov.__version__.split("-")[0], ["onnx"]
    element_types = list(TYPES)

    def __init__(self, hints):
        self.pinned, self.core, self.kept = hints == "pinned", ov.Core(), []
        self.name = "openvino" if self.pinned else "openvino-default"

    def hints(self):
        threads = {"INFERENCE_NUM_THREADS": str(self.threads)} if self.threads else {}
        return {**PINNED, **threads} if self.pinned else threads

    def details(self):
        """What is in force, asked of a compiled model: defaults depend on the processor."""
        x = ov.opset8.parameter([1], ov.Type.f32)
        model = self.core.compile_model(ov.Model([ov.opset8.relu(x)], [x]), "CPU", self.hints())
        told = {name.lower(): plain(model.get_property(name)) for name in TOLD if name in model.get_property("SUPPORTED_PROPERTIES")}
        return {"options": {"hints": "pinned" if self.pinned else "default", **told}, "build": ov.__version__, "device": self.core.get_property("CPU", "FULL_DEVICE_NAME")}

    def prepare(self, program, format, inputs):
        try:
            graph = onnx.load_model_from_string(program).graph
        except Exception as e:
            raise ua.Refused("invalid", f"{type(e).__name__}: {e}") from None
        try:
            model = self.core.compile_model(self.core.read_model(program), "CPU", self.hints())
        except Exception as e:
            raise explained(e) from None
        compiled = Compiled(model, graph)
        if compiled.has_strings:  # OpenVINO 2026.4 frees its strings twice when such a model is released after a run: it would crash in the next request
            self.kept.append(compiled)
        return compiled

    def run(self, compiled, inputs):
        fed = compiled.feed(inputs)
        try:
            compiled.request.infer(fed)
            tensors = [compiled.request.get_output_tensor(k) for k in range(len(compiled.outputs))]
        except Exception as e:
            raise explained(e) from None
        return [from_openvino(name, t) for name, t in zip(compiled.outputs, tensors)]


def plain(value):
    """A property's value as JSON has it."""
    if isinstance(value, ov.Type):
        return name_of(value)
    return value if isinstance(value, (bool, int, float, str)) else str(value).rsplit(".", 1)[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hints", choices=["pinned", "default"], default="pinned")
    ua.serve(OpenVino(parser.parse_args().hints))
