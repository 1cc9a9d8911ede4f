"""The backend protocol (docs/backends.md) for adapters in Python. An adapter is a class and one call:

    import ulpian_adapter as ua          # before the library under test: it takes standard output for itself

    class Mine(ua.Adapter):
        name, version, formats = "mine", "1.0", ["onnx"]
        def prepare(self, program, format, inputs): return compile_it(program)
        def run(self, prepared, inputs): return [ua.Value.of(name, array) for name, array in prepared(inputs)]

    ua.serve(Mine())

`raise ua.Refused("unsupported", "...")` or `ua.Refused("invalid", "...")` says no; any other exception is `failed`.
"""
import faulthandler
import json
import os
import struct
import sys
import time
import traceback

# Libraries print on standard output: it becomes a second standard error, and the protocol keeps a private copy.
_OUT = os.fdopen(os.dup(1), "wb", buffering=0)
os.dup2(2, 1)
faulthandler.enable()  # a crash or a hang leaves the Python stack as evidence

import numpy as np  # noqa: E402

PROTOCOL = 1
MAGIC = b"ULPIAN/1"
ALIGNMENT = 64
# What NumPy calls an element type; the others travel as raw bits: u8 for those of at most 8 bits, u16 for bf16.
NUMPY = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
         "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
RAW = {"bf16": np.uint16, **{t: np.uint8 for t in ("i2", "i4", "u2", "u4", "f4e2m1", "f6e2m3", "f6e3m2", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0")}}
SUB_BYTE = {"i2": 2, "u2": 2, "i4": 4, "u4": 4, "f4e2m1": 4}


class Refused(Exception):
    """reason: "unsupported" (I do not have this) or "invalid" (the program or its inputs are wrong)."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


class Value:
    """A tensor: `array` of NumPy's type or of raw bits (one byte per element below 8 bits), strings as an array of bytes objects.
    A sequence has `elements` (a list of values) instead, an absent optional neither."""

    def __init__(self, name, type, array=None, elements=None):
        self.name, self.type, self.array, self.elements = name, type, array, elements

    @staticmethod
    def of(name, array):
        if array.dtype == object:
            return Value(name, "string", np.array([s if isinstance(s, bytes) else s.encode() for s in array.ravel()], object).reshape(array.shape))
        for type, dtype in NUMPY.items():
            if array.dtype == dtype:
                return Value(name, type, array)
        raise TypeError(f"no element type for NumPy's {array.dtype}")


class Adapter:
    name, version, formats, shapes = "unnamed", "", ["onnx"], "dynamic"
    element_types = []
    threads = 1
    largest_answer = 1 << 32

    def details(self):
        """What else a report should know: options, providers, versions of what is below."""
        return {}

    def prepare(self, program, format, inputs):
        raise NotImplementedError

    def run(self, prepared, inputs):
        raise NotImplementedError


def pack(array, bits):
    """One element per byte to `bits` bits per element, the first in the low bits, as ONNX packs them."""
    per = 8 // bits
    flat = np.zeros(-(-array.size // per) * per, np.uint8)
    flat[:array.size] = array.ravel()
    shifts = np.arange(per, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(flat.reshape(-1, per) << shifts, axis=1).astype(np.uint8)


def unpack(packed, bits, extents):
    per = 8 // bits
    flat = (packed.reshape(-1, 1) >> (np.arange(per, dtype=np.uint8) * bits)) & ((1 << bits) - 1)
    return flat.astype(np.uint8).ravel()[:int(np.prod(extents))].reshape(extents)


def cpu_features():
    try:
        with open("/proc/cpuinfo") as f:
            flags = next((line for line in f if line.startswith(("flags", "Features"))), ":").split(":", 1)[1].split()
    except OSError:
        return []
    return [f for f in flags if f in ("fma", "f16c") or f.startswith(("sse4", "avx", "amx", "asimd", "sve"))]


def float_state():
    """Measured, not asked for: what arithmetic does now in this thread."""
    tiny, small, one, bit = np.float32(1e-40), np.float32(2e-38), np.float64(1), np.float64(2.0 ** -54)
    with np.errstate(all="ignore"):
        flushes = bool(tiny * np.float32(4) == 0 or small * np.float32(0.25) == 0)
        up, down = one + bit != one, -one - bit != -one
        nearest = one + bit * np.float64(3) != one and not up and not down
    return {"flushes_subnormals": flushes, "rounding": "nearest" if nearest else "up" if up else "down" if down else "zero"}


def _read(n):
    """n bytes at an address that is a multiple of 64; None at the end of input."""
    whole = np.empty(n + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    view, done = memoryview(whole)[start:start + n], 0
    while done < n:
        got = os.readv(0, [view[done:]])
        if got == 0:
            return None
        done += got
    return whole[start:start + n]


class _Blobs:
    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def take(self, n):
        blob = self.payload[self.at:self.at + n]
        self.at += -(-n // ALIGNMENT) * ALIGNMENT
        return blob


def _value_in(h, blobs):
    name = h.get("name", "")
    if h.get("absent"):
        return Value(name, None)
    if "sequence" in h:
        return Value(name, h["type"], elements=[_value_in(e, blobs) for e in h["sequence"]])
    blob, extents = blobs.take(h["bytes"]), h["extents"]
    if h["type"] == "string":
        count = int(np.prod(extents))
        ends, text = np.cumsum(blob[:4 * count].view("<u4").astype(np.int64)), blob[4 * count:].tobytes()
        array = np.empty(count, object)
        array[:] = [text[a:b] for a, b in zip([0, *ends], ends)]
    else:
        array = blob.view(NUMPY.get(h["type"]) or RAW[h["type"]])
    return Value(name, h["type"], array.reshape(extents))


def _value_out(v, blobs):
    if v.elements is not None:
        return {"name": v.name, "type": v.type, "sequence": [_value_out(e, blobs) for e in v.elements]}
    if v.array is None:
        return {"name": v.name, "absent": True}
    if v.type == "string":
        blob = b"".join(struct.pack("<I", len(s)) for s in v.array.ravel()) + b"".join(v.array.ravel())
    else:
        blob = np.ascontiguousarray(v.array).tobytes()
    blobs += [blob, bytes(-len(blob) % ALIGNMENT)]
    return {"name": v.name, "type": v.type, "extents": list(v.array.shape), "bytes": len(blob)}


def _send(header, blobs=()):
    text, payload = json.dumps(header).encode(), b"".join(blobs)
    rest = memoryview(MAGIC + struct.pack("<QQ", len(text), len(payload)) + text + payload)
    while rest:
        rest = rest[_OUT.write(rest):]


def _attempt(action):
    """What `action` answers, or its exception as an answer."""
    try:
        return action()
    except Refused as e:
        return {"type": "refused", "reason": e.reason, "message": str(e)}
    except MemoryError as e:
        return {"type": "failed", "cause": "memory", "message": str(e) or "MemoryError"}
    except Exception as e:
        traceback.print_exc()
        return {"type": "failed", "message": f"{type(e).__name__}: {e}"}


def _batch(adapter, prepared, headers, given, blobs):
    inputs, start = [_value_in(h, given) for h in headers], time.perf_counter()

    def go():
        outputs = adapter.run(prepared, inputs)
        seconds = time.perf_counter() - start
        return {"type": "outputs", "values": [_value_out(v, blobs) for v in outputs], "seconds": seconds, "float_state": float_state()}
    return _attempt(go)


def _answer(adapter, programs, header, payload):
    kind, given, blobs = header["type"], _Blobs(payload), []
    if kind == "hello":
        if not header["protocol"]["least"] <= PROTOCOL <= header["protocol"]["most"]:
            return {"type": "failed", "message": f"this adapter speaks version {PROTOCOL} of the protocol"}, []
        adapter.threads = header.get("threads", 1)
        adapter.largest_answer = header.get("limits", {}).get("payload_bytes", adapter.largest_answer)
        return {"type": "hello", "protocol": PROTOCOL, "name": adapter.name, "version": adapter.version, "formats": adapter.formats,
                "element_types": adapter.element_types, "shapes": adapter.shapes, "python": sys.version.split()[0], "numpy": np.__version__,
                "cpu": cpu_features(), **adapter.details()}, []
    if kind == "prepare":
        def go():
            start = time.perf_counter()
            programs[header["program"]] = adapter.prepare(given.take(header["bytes"]).tobytes(), header["format"], header.get("inputs", []))
            return {"type": "prepared", "seconds": time.perf_counter() - start}
        return _attempt(go), []
    if kind == "run":
        if header["program"] not in programs:
            return {"type": "failed", "message": f"program {header['program']} was not prepared"}, []
        prepared = programs[header["program"]]
        batches, total = [_batch(adapter, prepared, b, given, blobs) for b in header["batches"]], sum(map(len, blobs))
        if total > adapter.largest_answer:
            return {"type": "failed", "cause": "memory", "message": f"the outputs take {total} bytes, {adapter.largest_answer} are accepted"}, []
        return {"type": "outputs", "batches": batches}, blobs
    if kind == "release":
        programs.pop(header["program"], None)
    elif kind != "bye":
        return {"type": "failed", "message": f"no such request: {kind}"}, []
    return {"type": "done"}, []


def serve(adapter):
    programs = {}
    while (prelude := _read(24)) is not None:
        magic, header_bytes, payload_bytes = struct.unpack("<8sQQ", prelude.tobytes())
        if magic != MAGIC:
            sys.exit("this is an adapter for Ulpian's backend protocol (docs/backends.md); its input is not that")
        text, payload = _read(header_bytes), _read(payload_bytes)
        if text is None or payload is None:
            break
        header = json.loads(text.tobytes())
        answer, blobs = _answer(adapter, programs, header, payload)
        _send({**answer, "id": header["id"]}, blobs)
        if header["type"] == "bye":
            break
    os._exit(0)  # no exit handlers: libraries crash in theirs after the work is done
