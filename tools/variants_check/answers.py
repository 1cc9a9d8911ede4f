"""The allowed sets of independent nodes, from `ulpian run --answer allowed`, and the verdict of `ulpian check` on one node's outputs."""
import json
import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import helper

from numbers_of_types import CODES, FORMATS, NAMES, NUMPY


class CannotRun(Exception):
    pass


def stored(a):
    fmt = FORMATS.get(NAMES[a.dtype])
    return a if fmt is None or fmt.numpy else np.ascontiguousarray(a).view(fmt.bits).reshape(a.shape)


def model_of(cases, folder, types=None):
    """One model of independent nodes; its inputs lie in folder/in."""
    os.makedirs(os.path.join(folder, "in"), exist_ok=True)
    nodes, values, outputs = [], [], []
    for k, case in enumerate(cases):
        names = []
        for i, a in enumerate(case.inputs):
            names.append("" if a is None else f"i{k}_{i}")
            if a is not None:
                np.save(os.path.join(folder, "in", f"input_{len(values)}.npy"), stored(a))
                values.append(helper.make_tensor_value_info(names[-1], CODES[NAMES[a.dtype]], a.shape))
        mine = [f"o{k}_{j}" for j in range(case.outputs)]
        nodes.append(helper.make_node(case.op, names, mine, name=f"n{k}", **case.attrs))
        outputs += [helper.make_tensor_value_info(o, CODES[t], None) for o, t in zip(mine, types)] if types else [helper.make_empty_tensor_value_info(o) for o in mine]
    graph = helper.make_graph(nodes, "g", values, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", cases[0].version)]), os.path.join(folder, "model.onnx"))


def on_a_line(a):
    """Integers in the order of the numbers, -0 before +0."""
    fmt = FORMATS.get(NAMES[a.dtype])
    if fmt is None:
        return a.astype(object) if a.dtype == np.uint64 else a.astype(np.int64)
    bits = np.ascontiguousarray(a).view(fmt.bits).reshape(a.shape)
    if fmt.dtype.itemsize == 8:
        signed = bits.astype(np.int64)
        return np.where(signed < 0, -(signed & 0x7fffffffffffffff) - 1, signed)
    sign = 1 << (fmt.dtype.itemsize * 8 - 1)
    signed = bits.astype(np.int64)
    return np.where(signed & sign, -(signed & (sign - 1)) - 1, signed)


class Sets:
    def __init__(self, lower, upper, flags, said):
        self.lower, self.upper = lower, upper
        self.nan, self.either, self.anything = flags & 1 != 0, flags & 2 != 0, flags & 4 != 0
        self.only_nan = np.zeros(lower.size, bool)
        self.only_nan[said["only_nan"]] = True
        self.only_nan = self.only_nan.reshape(lower.shape)
        self.pieces = {int(k): v for k, v in said["pieces"].items()}
        floats = lower.dtype.kind not in "iub"
        self.endless = np.isneginf(lower.astype(np.float64)) & np.isposinf(upper.astype(np.float64)) if floats else np.zeros(lower.shape, bool)
        self.low, self.high = on_a_line(lower), on_a_line(upper)

    def contain(self, v):
        line = on_a_line(v)
        inside = (line >= self.low) & (line <= self.high) & ~self.only_nan
        if v.dtype.kind not in "iub":
            f = v.astype(np.float64)
            zero = (f == 0) & self.either & ~self.only_nan & (self.lower.astype(np.float64) <= 0) & (self.upper.astype(np.float64) >= 0)
            isnan = np.isnan(f)
            inside = np.where(isnan, self.nan, inside | zero)
        flat = np.ascontiguousarray(inside).reshape(-1)
        for k, pieces in self.pieces.items():
            if flat[k] and not (v.dtype.kind not in "iub" and np.isnan(float(v.ravel()[k]))):
                x = line.ravel()[k]
                flat[k] = any(a <= x <= b for a, b in pieces) or bool(v.ravel()[k] == 0 and self.either.ravel()[k] and any(a <= y <= b for a, b in pieces for y in (-1, 0)))
        return flat.reshape(v.shape) | self.anything

    def shown(self, k):
        if self.anything.ravel()[k]:
            return "anything"
        text = "NaN" if self.only_nan.ravel()[k] else f"[{self.lower.ravel()[k]!r}, {self.upper.ravel()[k]!r}]" + (" or NaN" if self.nan.ravel()[k] else "")
        return text + (f" in {len(self.pieces[k])} pieces" if k in self.pieces else "")


def values_of(pieces, dtype):
    """The ends that allowed.json tells, as positions on the line."""
    end = lambda text: int(on_a_line(np.array([int(text) if NAMES[dtype] not in FORMATS else float(text)]).astype(dtype))[0])
    return [(end(p[0]), end(p[1])) for p in pieces]


def allowed(ulpian, cases, profile):
    """For each case the sets of its outputs."""
    with tempfile.TemporaryDirectory() as folder:
        model_of(cases, folder)
        p = subprocess.run([ulpian, "run", "model.onnx", "--inputs", "in", "--answer", "allowed", "--profile", profile, "--out", "out", "--json", "-q"],
                           cwd=folder, capture_output=True, text=True)
        if p.returncode:
            raise CannotRun(f"status {p.returncode}: {p.stdout.strip()[-600:]} {p.stderr.strip()[-300:]}")
        said = json.loads(p.stdout)["outputs"]
        with open(os.path.join(folder, "out", "allowed.json")) as f:
            more = json.load(f)["outputs"]
        out, k = [], 0
        for case in cases:
            mine = []
            for _ in range(case.outputs):
                dtype = NUMPY[said[k]["type"]]
                read = lambda what: np.load(os.path.join(folder, "out", f"output_{k}.{what}.npy"))
                view = lambda a: a.view(dtype) if said[k]["type"] in FORMATS and not FORMATS[said[k]["type"]].numpy else a
                info = more[f"output_{k}"]
                info["pieces"] = {key: values_of(v, dtype) for key, v in info["pieces"].items()}
                mine.append(Sets(view(read("lower")), view(read("upper")), read("flags"), info))
                k += 1
            out.append(mine)
        return out


def verdict(ulpian, case, outputs, profile, keep=None):
    """(status, verdict, reason) of `ulpian check` on one node."""
    with tempfile.TemporaryDirectory() as folder:
        folder = keep or folder
        os.makedirs(os.path.join(folder, "out"), exist_ok=True)
        model_of([case], folder, [NAMES[a.dtype] for a in outputs])
        for k, a in enumerate(outputs):
            np.save(os.path.join(folder, "out", f"output_{k}.npy"), stored(a))
        p = subprocess.run([ulpian, "check", "model.onnx", "--inputs", "in", "--outputs", "out", "--profile", profile, "--json", "-q"], cwd=folder, capture_output=True, text=True)
        try:
            said = json.loads(p.stdout)["checks"][0]
        except (ValueError, KeyError, IndexError):
            return p.returncode, "error", p.stdout[-300:] + p.stderr[-300:]
        return p.returncode, said["verdict"], said.get("model", {}).get("reason", "")
