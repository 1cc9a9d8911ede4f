"""Run by tools/bench. Sides take turns in short bursts, so that what else the machine does meets them alike, and of each side the least time
counts: what the work takes, without what other processes take. Values are not compared here; that is `ulpian check`."""
import argparse
import glob
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from standard_models import MODELS, ROOT

NUMPY = {"float32": "f32", "int32": "i32", "int64": "i64"}


class Ulpian:
    """`ulpian backend` over its protocol (docs/backends.md); a run's time is what the program itself measures, without the pipe."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "backend"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id = 0
        self.ask({"type": "hello", "protocol": {"least": 1, "most": 1}, "threads": 1, "limits": {"header_bytes": 1 << 24, "payload_bytes": 1 << 32}})

    def ask(self, header, blobs=()):
        self.id += 1
        text = json.dumps({**header, "id": self.id}).encode()
        payload = b"".join(b + bytes(-len(b) % 64) for b in blobs if b)
        self.process.stdin.write(b"ULPIAN/1" + struct.pack("<QQ", len(text), len(payload)) + text + payload)
        self.process.stdin.flush()
        _, header_bytes, payload_bytes = struct.unpack("<8sQQ", self.process.stdout.read(24))
        answer = json.loads(self.process.stdout.read(header_bytes))
        self.process.stdout.read(payload_bytes)
        if answer["type"] in ("refused", "failed"):
            raise RuntimeError(answer["message"])
        return answer

    def prepare(self, model, inputs):
        self.ask({"type": "prepare", "program": 1, "format": "onnx", "bytes": len(model), "inputs": []}, [model])
        blobs = [np.ascontiguousarray(a).tobytes() for a in inputs.values()]
        batch = [{"name": n, "type": NUMPY[str(a.dtype)], "extents": list(a.shape), "bytes": a.nbytes} for n, a in inputs.items()]

        def run():
            batch_answer = self.ask({"type": "run", "program": 1, "batches": [batch]}, blobs)["batches"][0]
            if batch_answer["type"] != "outputs":
                raise RuntimeError(batch_answer["message"])
            return batch_answer["seconds"]
        return run

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(action):
    def run():
        start = time.perf_counter()
        action()
        return time.perf_counter() - start
    return run


def onnx_runtime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return timed(lambda: session.run(None, inputs))


def reference(model, inputs):
    evaluator = ReferenceEvaluator(onnx.load_from_string(model))
    return timed(lambda: evaluator.run(None, inputs))


def least(sides, rounds, burst):
    """The least time of each side; in each round every side runs for about `burst` seconds, at least once."""
    first = {name: run() for name, run in sides.items()}
    best = dict(first)
    for k in range(rounds):
        for name in list(sides) if k % 2 == 0 else reversed(list(sides)):
            spent = 0.0
            while True:
                t = sides[name]()
                best[name] = min(best[name], t)
                spent += t
                if spent + t > burst:
                    break
    return first, best


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def seconds(t):
    return f"{t:.2f} s" if t >= 1 else f"{t * 1e3:.2f} ms" if t >= 1e-3 else f"{t * 1e6:.1f} us"


def bench_models(program, o, report):
    print(f"{'model':<12} {'ulpian':>10} {'first':>10} {'onnxruntime':>12} {'reference':>10} {'ref/ulpian':>11} {'ulpian/ort':>11}")
    faster, slower = [], []
    for entry in MODELS:
        name, has_reference = entry.name, entry.reference
        if o.only and not re.search(o.only, name):
            continue
        if not entry.file():
            sys.exit(f"bench: the model {entry.pattern} is missing; run tools/setup")
        with open(entry.file(), "rb") as f:
            model = f.read()
        inputs = entry.draw(np.random.default_rng(1))
        ours = Ulpian(program)
        try:
            sides = {"ulpian": ours.prepare(model, inputs), "onnxruntime": onnx_runtime(model, inputs)}
            if has_reference and not o.no_reference:
                sides["reference"] = reference(model, inputs)
            first, best = least(sides, o.rounds, o.burst)
        finally:
            ours.close()
        ratio = best["ulpian"] / best["onnxruntime"]
        gain = best["reference"] / best["ulpian"] if "reference" in best else None
        if has_reference:
            slower.append(ratio)
        if gain:
            faster.append(gain)
        print(f"{name:<12} {seconds(best['ulpian']):>10} {seconds(first['ulpian']):>10} {seconds(best['onnxruntime']):>12} "
              f"{seconds(best['reference']) if gain else '-':>10} {f'{gain:.1f} x' if gain else '-':>11} {ratio:>9.1f} x", flush=True)
        report["models"][name] = {"first": first["ulpian"], **best}
    if faster:
        target(report, "faster than the ReferenceEvaluator, geometric mean", mean(faster), 10, "x", at_least=True)
    if slower:
        target(report, "slower than ONNX Runtime, geometric mean (without magika)", mean(slower), 6, "x", at_least=False)


def bench_matmul(program, o, report):
    n = 512
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", [helper.make_tensor_value_info(v, TensorProto.FLOAT, [n, n]) for v in "ab"],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [n, n])])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    m.ir_version = 8
    r = np.random.default_rng(1)
    inputs = {v: r.normal(0, 1, (n, n)).astype(np.float32) for v in "ab"}
    ours = Ulpian(program)
    try:
        _, best = least({"ulpian": ours.prepare(m.SerializeToString(), inputs), "onnxruntime": onnx_runtime(m.SerializeToString(), inputs)}, 2 * o.rounds, o.burst / 2)
    finally:
        ours.close()
    work = 2 * n ** 3 / 1e9
    print(f"f32 matrix product {n}: ulpian {seconds(best['ulpian'])} ({work / best['ulpian']:.1f} GFLOP/s), onnxruntime {seconds(best['onnxruntime'])} ({work / best['onnxruntime']:.1f} GFLOP/s)")
    target(report, "of ONNX Runtime's speed, f32 matrix product 512", best["onnxruntime"] / best["ulpian"], 0.4, "x", at_least=True)


def bench_elaboration(build, report):
    program = next(iter(glob.glob(os.path.join(build, "spec/language/ulpian_language_bench"))), None)
    if not program:
        print("elaboration: ulpian_language_bench is not built")
        return
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()
    print(f"elaboration: {text.splitlines()[0]}")
    found = re.search(r"mean ([\d.]+)", text)
    if found:
        target(report, "elaboration of one operator, mean over all examples", float(found[1]), 100, "us", at_least=False)


def bench_start(program, report):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    m.ir_version = 10
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(m, os.path.join(folder, "m.onnx"))
        np.save(os.path.join(folder, "input_0.npy"), np.zeros(2, np.float32))
        best = min(timed(lambda: subprocess.run([program, "run", os.path.join(folder, "m.onnx"), "--inputs", folder], stdout=subprocess.DEVNULL, check=True))() for _ in range(20))
    target(report, "process: start, a model of one operator, end", best * 1e3, 50, "ms", at_least=False)


def target(report, what, value, limit, unit, at_least):
    met = value >= limit if at_least else value <= limit
    report["targets"].append({"what": what, "value": value, "unit": unit, "at_least" if at_least else "at_most": limit, "met": met})
    print(f"{'ok  ' if met else 'MISS'} {value:.2f} {unit} {what} (asked: {'>=' if at_least else '<='} {limit} {unit})", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="turns of each side (default 4)")
    parser.add_argument("--burst", type=float, default=1.0, help="seconds of one side's turn; at least one run (default 1)")
    parser.add_argument("--only", help="models whose names match this regular expression; nothing else is measured then")
    parser.add_argument("--no-reference", action="store_true", help="without the ReferenceEvaluator, which takes most of the time")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"), help="build folder (default build/release)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    o = parser.parse_args()
    program = os.path.join(o.build, "ulpian")
    if not os.access(program, os.X_OK):
        sys.exit(f"bench: {program} is missing; cmake --build --preset release --target ulpian")
    warnings.simplefilter("ignore")
    report = {"models": {}, "targets": []}
    bench_models(program, o, report)
    if not o.only:
        bench_matmul(program, o, report)
        bench_elaboration(o.build, report)
        bench_start(program, report)
    if o.json:
        with open(o.json, "w") as f:
            json.dump(report, f, indent=1)
            f.write("\n")
    if o.check and not all(t["met"] for t in report["targets"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
