"""Holds `ulpian run --answer ideal` against an evaluation that shares nothing with it: rational numbers of Python, and mpmath at 320 bits, rounded once.
Status 0: every element has the bits that it must have, or is reported undecided; 1: some differ; 2: something could not run."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper

import cases_elements  # noqa: F401  (families register themselves)
import cases_layers  # noqa: F401
import cases_sums  # noqa: F401
import cases_sequences  # noqa: F401
import numbers_of_types as numbers
from case import FAMILIES, KINDS, Draw
from numbers_of_types import CODES, FORMATS, NAMES, NUMPY, Unsure, mp

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
EXAMPLES = """examples:
  tools/ideal-check                                every family, type and kind of data once: half a minute to a minute
  tools/ideal-check --sample 1                     one kind of data for each family and type
  tools/ideal-check --repeat 3 --seed 7            three times as much, other numbers
  tools/ideal-check softmax norms --types f16,bf16 --kinds ties
"""


def model_of(cases, folder):
    """One model of independent nodes; its inputs lie in folder/in."""
    os.makedirs(os.path.join(folder, "in"))
    nodes, values, outputs = [], [], []
    for k, case in enumerate(cases):
        names = []
        for i, a in enumerate(case.inputs):
            names.append("" if a is None else f"i{k}_{i}")
            if a is None:
                continue
            fmt = FORMATS.get(NAMES[a.dtype])
            np.save(os.path.join(folder, "in", f"input_{len(values)}.npy"), a if fmt is None or fmt.numpy else a.view(fmt.bits))
            values.append(helper.make_tensor_value_info(names[-1], CODES[NAMES[a.dtype]], a.shape))
        mine = [f"o{k}_{j}" for j in range(case.outputs)]
        nodes.append(helper.make_node(case.op, names, mine, name=f"n{k}", **case.attrs))
        outputs += [helper.make_empty_tensor_value_info(o) for o in mine]
    graph = helper.make_graph(nodes, "g", values, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", cases[0].version)]), os.path.join(folder, "model.onnx"))


class CannotRun(Exception):
    pass


def answers(ulpian, cases):
    """For each case its outputs, and per output what is undecided: (count, positions that are listed)."""
    with tempfile.TemporaryDirectory() as folder:
        model_of(cases, folder)
        p = subprocess.run([ulpian, "run", "model.onnx", "--inputs", "in", "--answer", "ideal", "--out", "out", "--json", "-q"], cwd=folder, capture_output=True, text=True)
        if p.returncode not in (0, 3):
            raise CannotRun(f"status {p.returncode}: {p.stdout.strip()[-600:]} {p.stderr.strip()[-300:]}")
        said = json.loads(p.stdout)
        open_ones = {u["output"]: u for u in said["undecided"]}
        out, k = [], 0
        for c, case in enumerate(cases):
            mine = []
            for j in range(case.outputs):
                a = np.load(os.path.join(folder, "out", f"output_{k}.npy"))
                name = said["outputs"][k]["type"]
                mine.append((a.view(NUMPY[name]) if name in FORMATS and not FORMATS[name].numpy else a, open_ones.get(f"o{c}_{j}")))
                k += 1
            out.append(mine)
        return out


def wanted(case):
    """The expected values of each output, as floats (or ints) and whether the sign of a zero is known."""
    values = case.want()
    return values if isinstance(values, list) else [values]


def rounded_all(values, kind):
    fmt = FORMATS.get(kind)
    out = []
    for v in np.asarray(values, object).ravel():
        out.append((int(v), True) if fmt is None else numbers.rounded(v, fmt))
    return out


def with_precision(case, kinds, bits):
    mp.prec = bits
    return [None if v is None else (np.asarray(v, object).shape, rounded_all(v, kind)) for v, kind in zip(wanted(case), kinds)]


def expected(case, kinds):
    for bits in numbers.PRECISIONS:
        try:
            return with_precision(case, kinds, bits)
        except Unsure:
            continue
    raise AssertionError("the last precision decides")


def same(got, want, sign_known):
    got = float(got) if not isinstance(want, int) else int(got)
    if isinstance(want, int):
        return got == want
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    return got == want and (got != 0 or not sign_known or math.copysign(1, got) == math.copysign(1, want))


def compare(case, got, tally):
    """The lines that tell what differs."""
    kinds = [NAMES[a.dtype] for a, _ in got]
    lines, want = [], expected(case, kinds)
    title = f"{case.op}{' ' + case.label if case.label else ''}"
    for j, ((a, undecided), w) in enumerate(zip(got, want)):
        if w is None:
            continue
        shape, elements = w
        if shape != a.shape:
            tally["different"] += 1
            lines.append(f"{title}, output {j}: extents {a.shape}, not {shape}")
            continue
        listed = {tuple(f["index"]) for f in undecided["first"]} if undecided else set()
        unlisted = undecided["count"] - len(undecided["first"]) if undecided else 0
        tally["elements"] += a.size
        tally["undecided"] += undecided["count"] if undecided else 0
        wrong = 0
        for index, value in zip(np.ndindex(a.shape), elements):
            if same(a[index], *value) or index in listed:
                continue
            if unlisted > 0:
                unlisted -= 1
                continue
            wrong += 1
            if wrong <= 2:
                lines.append(f"{title} {kinds[j]}, output {j}, element {list(index)}: {a[index]!r}, expected {value[0]!r}")
        tally["different"] += wrong
        if wrong > 2:
            lines.append(f"{title} {kinds[j]}, output {j}: {wrong} of {a.size} elements differ")
    return lines


def try_family(job):
    ulpian, name, type_name, kinds, seeds = job
    tally, lines = collections.Counter(), []
    make = next(f[1] for f in FAMILIES if f[0] == name)
    by_version = collections.defaultdict(list)
    for kind in kinds:
        for seed in seeds:
            for case in make(Draw(type_name, kind, seed, name)):
                case.label = " ".join(x for x in (case.label, kind, f"seed {seed}") if x)
                by_version[case.version].append(case)
    started = time.time()
    spent = 0.0
    for cases in by_version.values():
        before = time.time()
        try:
            got = answers(ulpian, cases)
        except CannotRun:  # which of them
            got = []
            for case in cases:
                try:
                    got += answers(ulpian, [case])
                except CannotRun as e:
                    got.append(None)
                    tally["failed"] += 1
                    lines.append(f"{case.op} {case.label}: {e}")
        spent += time.time() - before
        for case, outputs in zip(cases, got):
            if outputs is not None:
                before_case = time.time()
                lines += compare(case, outputs, tally)
                if time.time() - before_case > 5:
                    lines.append(f"(slow) {case.op} {case.label}: {time.time() - before_case:.1f} s")
    return name, type_name, tally, lines, spent, time.time() - started - spent


def main():
    parser = argparse.ArgumentParser(prog="tools/ideal-check", description=__doc__.split("\n")[0], epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [f[0] for f in FAMILIES]
    parser.add_argument("families", nargs="*", help=f"by default all: {', '.join(names)}")
    parser.add_argument("--ulpian", default=os.path.join(ROOT, "build/release/ulpian"))
    parser.add_argument("--types", help="f64,f32,f16,bf16,...; by default all that a family has")
    parser.add_argument("--kinds", help=f"of data: {','.join(KINDS)}; by default all that a family has")
    parser.add_argument("--sample", type=int, metavar="N", help="so many kinds of data for each family and type, others for other seeds")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    a = parser.parse_args()
    unknown = [f for f in a.families if f not in names]
    if unknown:
        parser.error(f"no family {unknown[0]}; there are {', '.join(names)}")
    for given, known in ((a.types, sorted(FORMATS)), (a.kinds, KINDS)):
        for x in (given or "").split(","):
            if x and x not in known:
                parser.error(f"{x!r} is none of {', '.join(known)}")
    if not os.access(a.ulpian, os.X_OK):
        print(f"ideal-check: {a.ulpian} is missing: cmake --preset release && ninja -C build/release ulpian", file=sys.stderr)
        return 2
    a.ulpian = os.path.abspath(a.ulpian)
    jobs = []
    for k, (name, _, types, kinds) in enumerate(FAMILIES):
        if a.families and name not in a.families:
            continue
        for t in types:
            if a.types and t not in a.types.split(","):
                continue
            use = [x for x in kinds if not a.kinds or x in a.kinds.split(",")]
            if a.sample:
                use = [use[(k + len(jobs) + a.seed + i) % len(use)] for i in range(min(a.sample, len(use)))]
            if use:
                jobs.append((a.ulpian, name, t, use, range(a.seed, a.seed + a.repeat)))
    whole, wrong = collections.Counter(), []
    with concurrent.futures.ProcessPoolExecutor(max_workers=a.jobs) as pool:
        for name, t, tally, lines, ours, reference in pool.map(try_family, jobs):
            whole.update(tally)
            wrong += lines
            more = "".join(f", {tally[x]} {x}" for x in ("undecided", "different", "failed") if tally[x])
            print(f"{name:20s} {t:9s} {tally['elements']:7d} elements{more}  ({ours:.1f} s, reference {reference:.1f} s)", flush=True)
            for line in lines[:12]:
                print(f"    {line}", flush=True)
    print(f"{whole['elements']} elements, {whole['different']} different, {whole['undecided']} undecided; {whole['failed']} cases failed")
    if whole["failed"] or whole["elements"] == 0:
        return 2
    return 1 if whole["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
