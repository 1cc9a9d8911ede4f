"""Mutated models through `ulpian run` and `ulpian check`: each must end with status 0, 2 or 3, in time, with one message that names the file and the cause.

The models are the five standard ones (where tools/setup has put them) and the small ones of models.py; mutations are of bytes (flips, truncations) and of
structure (dropped inputs, wrong types, extents of 2^40, negative ones, cycles, names used twice, changed attributes and constants). The seed fixes them all.
"""
import argparse
import copy
import glob
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import models

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
MOST_SECONDS = 20


def standard():
    """(name, bytes, inputs): the shapes of evidence are not needed, small ones run as well."""
    rng = np.random.default_rng(1)
    zero = np.zeros((1, 1, 128), np.float32)
    rows = [("magika-*/magika/models/standard_v3_3/model.onnx", [rng.integers(0, 257, (1, 2048)).astype(np.int32)]),
            ("silero-vad-*/silero_vad/data/silero_vad_16k_sequence.onnx", [rng.normal(0, 0.1, (4, 576)).astype(np.float32), zero, zero]),
            ("rapidocr-onnxruntime-*/rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", [rng.uniform(-1, 1, (1, 3, 48, 96)).astype(np.float32)]),
            ("rapidocr-onnxruntime-*/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", [rng.uniform(-1, 1, (1, 3, 48, 32)).astype(np.float32)]),
            ("basic-pitch-*/basic_pitch/saved_models/icassp_2022/nmp.onnx", [rng.normal(0, 0.1, (1, 43844, 1)).astype(np.float32)])]
    for pattern, inputs in rows:
        for file in glob.glob(os.path.join(ROOT, ".venv/models", pattern))[:1]:
            with open(file, "rb") as f:
                yield os.path.basename(os.path.dirname(os.path.dirname(file))) + "/" + os.path.basename(file), f.read(), inputs


# ---- mutations of structure: each takes (draw, model) and changes the model, or returns a falsy value where it has nothing to change ----------

def some_node(draw, m, has=lambda n: True):
    nodes = [n for n in m.graph.node if has(n)]
    return draw.choice(nodes) if nodes else None


def drop_input(draw, m):
    n = some_node(draw, m, lambda n: n.input)
    if not n:
        return None
    k = draw.randrange(len(n.input))
    if draw.random() < 0.5:
        del n.input[k:]
    else:
        n.input[k] = ""
    return f"{n.op_type}: input {k} dropped"


def add_inputs(draw, m):
    n = some_node(draw, m, lambda n: n.input)
    if not n:
        return None
    n.input.extend([n.input[0]] * draw.choice((1, 2, 500)))
    return f"{n.op_type}: {len(n.input)} inputs"


def unknown_input(draw, m):
    n = some_node(draw, m, lambda n: n.input)
    if not n:
        return None
    n.input[draw.randrange(len(n.input))] = draw.choice(("nobody", "\u202e\x1b[2J", "x" * 10000))
    return f"{n.op_type} reads what nobody writes"


def rewired(draw, m):
    """An input taken from elsewhere: other types and shapes, often a cycle."""
    n = some_node(draw, m, lambda n: n.input)
    names = [o for q in m.graph.node for o in q.output if o] + [t.name for t in m.graph.initializer] + [v.name for v in m.graph.input]
    if not n:
        return None
    n.input[draw.randrange(len(n.input))] = draw.choice(names)
    return f"{n.op_type} reads another value"


def cycle(draw, m):
    n = some_node(draw, m, lambda n: n.input and n.output)
    if not n:
        return None
    n.input[0] = n.output[0]
    return f"{n.op_type} reads itself"


def twice(draw, m):
    n = some_node(draw, m, lambda n: n.output)
    if not n:
        return None
    kind = draw.randrange(3)
    if kind == 0:
        m.graph.node.add().CopyFrom(n)
    elif kind == 1 and m.graph.initializer:
        m.graph.initializer.add().CopyFrom(m.graph.initializer[0])
    else:
        m.graph.input.add().CopyFrom(m.graph.input[0]) if m.graph.input else m.graph.node.add().CopyFrom(n)
    return "a name twice"


def wrong_type(draw, m):
    values = [*m.graph.input, *m.graph.output, *m.graph.value_info]
    if not values:
        return None
    v = draw.choice(values)
    v.type.tensor_type.elem_type = draw.choice((0, 1, 6, 7, 8, 9, 10, 11, 14, 16, 17, 22, 23, 99, -1))
    return f"{v.name} is of type {v.type.tensor_type.elem_type}"


def declared_extent(draw, m):
    values = [v for v in (*m.graph.input, *m.graph.output) if v.type.tensor_type.shape.dim]
    if not values:
        return None
    v = draw.choice(values)
    d = draw.choice(v.type.tensor_type.shape.dim)
    d.dim_value = draw.choice((1 << 40, 1 << 62, -1, 0, -(1 << 63), 1, 3))
    return f"{v.name} has an extent of {d.dim_value}"


def rank(draw, m):
    v = draw.choice([*m.graph.input, *m.graph.output])
    for _ in range(draw.choice((1, 8, 300))):
        v.type.tensor_type.shape.dim.add().dim_value = draw.choice((1, 2, 1 << 20))
    return f"{v.name} has rank {len(v.type.tensor_type.shape.dim)}"


def constant(draw, m):
    """A constant's extents or elements changed: shapes, axes, pads, scales among them."""
    small = [t for t in m.graph.initializer if np.prod([abs(d) for d in t.dims]) <= 16]
    tensors = small if small and draw.random() < 0.7 else list(m.graph.initializer)
    tensors += [a.t for n in m.graph.node for a in n.attribute if a.name == "value" and a.HasField("t")]
    if not tensors:
        return None
    t = draw.choice(tensors)
    kind = draw.randrange(4)
    if kind == 0 and t.dims:
        t.dims[draw.randrange(len(t.dims))] = draw.choice((1 << 40, 1 << 62, -1, 0, 2, 7))
        return f"constant {t.name}: extents {list(t.dims)[:8]}"
    if kind == 1:
        t.data_type = draw.choice((0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 14, 15, 22, 25, 1000))
        return f"constant {t.name}: type {t.data_type}"
    if kind == 2 and t.raw_data:
        t.raw_data = t.raw_data[:draw.randrange(len(t.raw_data))]
        return f"constant {t.name}: {len(t.raw_data)} bytes"
    try:
        a = np.array(numpy_helper.to_array(t))
    except Exception:
        return None
    if a.size == 0 or a.dtype.kind not in "iuf":
        return None
    special = (0, 1, 2, 5, 1 << 20, 1 << 31, 1 << 40, 1 << 62) if a.dtype.kind != "f" else (0, -0.0, 1, -1, 1e30, float("inf"), float("nan"), 1e-40)
    if a.dtype.kind == "i":
        special += (-1, -2, -7, -(1 << 40), -(1 << 63))
    with np.errstate(all="ignore"):
        a.reshape(-1)[draw.randrange(a.size)] = np.array(draw.choice(special)).astype(a.dtype)
    t.CopyFrom(numpy_helper.from_array(a, t.name))
    return f"constant {t.name}: an element changed"


def attribute(draw, m):
    n = some_node(draw, m, lambda n: n.attribute)
    if not n:
        return None
    a = draw.choice(n.attribute)
    numbers = (0, 1, -1, 2, -2, 7, 100, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))
    if a.ints:
        if draw.random() < 0.6:
            a.ints[draw.randrange(len(a.ints))] = draw.choice(numbers)
        else:
            a.ints.extend([draw.choice(numbers)] * draw.choice((1, 1, 9, 1000)))
    elif a.type == onnx.AttributeProto.INT:
        a.i = draw.choice(numbers)
    elif a.type == onnx.AttributeProto.FLOAT:
        a.f = draw.choice((0, -1, float("inf"), float("nan"), 1e38))
    elif a.type == onnx.AttributeProto.STRING:
        a.s = draw.choice((b"", b"nonsense", b"\xff\xfe", b"a" * 100000))
    else:
        a.name = draw.choice(("", "nonsense", a.name))
        a.type = draw.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 14))
    return f"{n.op_type}: attribute {a.name}"


def attribute_type(draw, m):
    n = some_node(draw, m)
    if not n:
        return None
    if n.attribute and draw.random() < 0.6:
        a = draw.choice(n.attribute)
        a.type = draw.choice((1, 2, 3, 4, 5, 6, 7, 8))
        return f"{n.op_type}: attribute {a.name} of another kind"
    n.attribute.add(name=draw.choice(("axis", "alpha", "nonsense", "to", "")), type=onnx.AttributeProto.INT, i=draw.choice((0, -9, 1 << 40)))
    return f"{n.op_type}: one more attribute"


def operator(draw, m):
    n = some_node(draw, m)
    other = some_node(draw, m)
    if not n:
        return None
    n.op_type = draw.choice((other.op_type, "Fly", "", "Softmax", "Reshape", "Concat", "Gather", "LSTM", "Conv"))
    return f"a node became {n.op_type}"


def operator_set(draw, m):
    if not m.opset_import:
        return None
    kind = draw.randrange(3)
    if kind == 0:
        m.opset_import[0].version = draw.choice((0, -1, 1, 6, 7, 9, 13, 18, 21, 1000, 1 << 40))
    elif kind == 1:
        del m.opset_import[:]
    else:
        m.opset_import.add(domain="", version=7)
    return "another operator set"


def outputs(draw, m):
    n = some_node(draw, m, lambda n: n.output)
    if not n:
        return None
    if draw.random() < 0.5:
        n.output.extend(f"more{k}" for k in range(draw.choice((1, 3, 200))))
        return f"{n.op_type} has {len(n.output)} outputs"
    name = n.output[0]
    n.output[0] = ""
    return f"{n.op_type} does not give {name}"


def nodes(draw, m):
    if not m.graph.node:
        return None
    k = draw.randrange(len(m.graph.node))
    if draw.random() < 0.5:
        del m.graph.node[k]
        return f"node {k} is gone"
    order = list(m.graph.node)
    draw.shuffle(order)
    order = [copy.deepcopy(n) for n in order]
    del m.graph.node[:]
    m.graph.node.extend(order)
    return "the nodes in another order"


STRUCTURE = [drop_input, add_inputs, unknown_input, *[rewired] * 4, cycle, twice, wrong_type, declared_extent, rank, *[constant] * 6, *[attribute] * 6,
             attribute_type, operator, operator_set, outputs, nodes]


def mutate_bytes(draw, whole):
    data = bytearray(whole)
    kind = draw.randrange(4)
    # The structure stands mostly at a file's ends; weights lie between.
    place = lambda: draw.choice((draw.randrange(len(data)), draw.randrange(min(len(data), 4000)), len(data) - 1 - draw.randrange(min(len(data), 4000))))
    if kind == 0:
        cut = place()
        return f"cut to {cut} bytes", bytes(data[:cut])
    if kind == 1:
        n = draw.choice((1, 1, 2, 8, 100))
        for _ in range(n):
            data[place()] ^= 1 << draw.randrange(8)
        return f"{n} bits flipped", bytes(data)
    if kind == 2:
        at, n = place(), draw.choice((1, 4, 100))
        data[at:at + n] = draw.randbytes(min(n, len(data) - at))
        return f"{n} bytes overwritten at {at}", bytes(data)
    at, n = place(), draw.choice((1, 3, 1000))
    del data[at:at + n]
    return f"{n} bytes out at {at}", bytes(data)


def mutants(draw, count):
    """(title, bytes, inputs), shared out evenly: half standard models, half small ones."""
    large = [(n, whole, None, inputs) for n, whole, inputs in standard()]
    small = [(n, m.SerializeToString(), m, inputs) for n, m, inputs in models.small()]
    parsed = {}
    for k in range(count):
        pool = large if large and k % 2 == 0 else small
        name, whole, _, inputs = pool[(k // 2) % len(pool)]
        if draw.random() < 0.25:
            how, data = mutate_bytes(draw, whole)
        else:
            if name not in parsed:
                parsed[name] = onnx.load_from_string(whole)
            m = onnx.ModelProto()
            m.CopyFrom(parsed[name])
            done = []
            while not done:
                done = [d for d in (draw.choice(STRUCTURE)(draw, m) for _ in range(draw.choice((1, 1, 1, 2)))) if d]
            how, data = "; ".join(done), m.SerializeToString()
        yield f"{k} {name}: {how[:150]}", data, inputs


# ---- one run ------------------------------------------------------------------------------------------------------------------------------

def fault_of(arguments, file, status, seconds, out, err):
    """What is wrong with the way a run ended, or nothing."""
    if status not in (0, 2, 3):
        return f"exit status {status}: {err[-300:]}"
    if seconds > MOST_SECONDS:
        return f"{seconds:.1f} s"
    if status == 0:
        return None
    if "check" in arguments and "error:" not in err:
        return None if out.strip() else "no word of the verdict"
    errors = [line for line in err.splitlines() if line.startswith("error:")]
    if len(errors) != 1:
        return f"{len(errors)} messages: {err[:500]}"
    if len(err) > 8000:
        return f"a message of {len(err)} bytes"
    if os.path.basename(file) not in err and "input_" not in err:
        return f"the message does not name the file: {err[:400]}"
    if len(errors[0]) < 30:
        return f"no cause is named: {err[:300]}"
    return None


def bounded():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(ulpian, k, title, data, inputs, folder):
    file = os.path.join(folder, f"mutant{k}.onnx")
    with open(file, "wb") as f:
        f.write(data)
    given = os.path.join(folder, f"inputs{k}")
    os.makedirs(given)
    for n, a in enumerate(inputs):
        np.save(os.path.join(given, f"input_{n}.npy"), a)
    out = os.path.join(folder, f"out{k}")
    # A check of a standard model takes its time by right; mutants of small ones show the same paths.
    kinds = [["run", file, "--inputs", given, "--out", out, "--time-limit", "15"], ["run", file, "--inputs", given, "--out", out, "--answer", "allowed", "--time-limit", "10"],
             ["check", file, "--backend", "ulpian", "--inputs", given, "--time-limit", "10"]]
    arguments = kinds[0] if k % 2 == 0 or k % 3 == 0 else kinds[1 + k // 2 % 2]
    start = time.monotonic()
    try:
        p = subprocess.Popen([ulpian, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=bounded)
        out_text, err = p.communicate(timeout=6 * MOST_SECONDS)
        status = p.returncode
    except subprocess.TimeoutExpired:
        p.kill()
        out_text, err = p.communicate()
        status = "none: killed"
    seconds = time.monotonic() - start
    fault = fault_of(arguments, file, status, seconds, out_text.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
    if not fault and status != 0 and os.path.exists(out) and os.listdir(out):
        fault = "files were left behind: " + ", ".join(os.listdir(out)[:5])
    return title, status, seconds, fault, arguments[0] + (" allowed" if "allowed" in arguments else ""), err.decode("utf-8", "replace"), file


def main():
    parser = argparse.ArgumentParser(prog="tools/hostile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ulpian", default=os.path.join(ROOT, "build/release/ulpian"), help="the program (build/release/ulpian)")
    parser.add_argument("--count", type=int, default=300, help="mutants (300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="only this mutant, and keep it in the current folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="one line each")
    o = parser.parse_args()
    if not os.access(o.ulpian, os.X_OK):
        sys.exit(f"hostile: {o.ulpian} is missing; build it with tools/test or cmake --build --preset release")
    draw = random.Random(o.seed)
    statuses, faults, slowest = {}, [], (0, "")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(o.jobs) as pool:
        waiting = []

        def finish(job):
            nonlocal slowest
            title, status, seconds, fault, how, err, file = job.result()
            statuses[status] = statuses.get(status, 0) + 1
            slowest = max(slowest, (seconds, title))
            if fault:
                faults.append(title)
                print(f"FAULT {title} ({how}, {seconds:.1f} s): {fault}", flush=True)
            elif o.verbose:
                first = err.splitlines()[0].replace(folder + "/", "")[:230] if err else ""
                print(f"{status} {seconds:4.1f} s {how}: {title}\n    {first}", flush=True)

        for k, (title, data, inputs) in enumerate(mutants(draw, o.count)):
            if o.only is not None and k != o.only:
                continue
            if o.only is not None:
                with open(f"mutant{k}.onnx", "wb") as f:
                    f.write(data)
            waiting.append(pool.submit(run, o.ulpian, k, title, data, inputs, folder))
            if len(waiting) > 2 * o.jobs:
                finish(waiting.pop(0))
        for job in waiting:
            finish(job)
    print(f"seed {o.seed}: {sum(statuses.values())} mutants; " + ", ".join(f"status {s}: {n}" for s, n in sorted(statuses.items(), key=str)) +
          f"; the slowest took {slowest[0]:.1f} s ({slowest[1]}); {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
