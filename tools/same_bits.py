"""Runs the standard models with each build, number of threads and set of vector instructions, and compares the bits of all outputs with each other:
nothing is stored, so a change of the canonical answer needs no change here. Status 0: all are the same; 1: some differ; 2: something could not run;
77: a model is missing."""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

from standard_models import MODELS, ROOT

BUILDS = os.path.join(ROOT, "build")
MACHINE_FLAGS = ("avx2", "fma", "avx512f", "avx512dq", "avx512vl")


MISSING_MODEL = 77  # ctest counts it as skipped


def fail(text, status=2):
    print(f"same-bits: {text}", file=sys.stderr)
    sys.exit(status)


def programs(given):
    folders = given or sorted(os.path.join(BUILDS, d) for d in (os.listdir(BUILDS) if os.path.isdir(BUILDS) else []))
    found = [(os.path.relpath(d, BUILDS) if os.path.abspath(d).startswith(BUILDS + os.sep) else d, os.path.join(d, "ulpian")) for d in folders]
    missing = [p for _, p in found if not os.access(p, os.X_OK)]
    if given and missing:
        fail(f"{missing[0]} is missing; cmake --preset PRESET && ninja -C build/PRESET ulpian")
    found = [(name, p) for name, p in found if p not in missing]
    if not found:
        fail("no folder below build/ has the program ulpian; cmake --preset release && ninja -C build/release ulpian")
    return found


def machine():
    """Which vector instructions there are: without AVX-512, `best` is `avx2`, and the table shows one thing twice."""
    try:
        with open("/proc/cpuinfo") as f:
            flags = re.search(r"^flags\s*:(.*)$", f.read(), re.M)
    except OSError:
        flags = None
    return "instructions of this processor: " + (" ".join(f for f in MACHINE_FLAGS if f in flags[1].split()) or "none of AVX2 and AVX-512" if flags else "unknown")


def outputs(folder):
    """Name to bytes of all files of a run: arrays in NumPy's format, and outputs.json where types need it."""
    result = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            result[name] = f.read()
    return result


def digest(files):
    h = hashlib.sha256()
    for name, data in files.items():
        h.update(f"{name} {len(data)}\n".encode() + data)
    return h.hexdigest()


def difference(first, other, folders):
    """The first place where two runs differ, in words."""
    if first.keys() != other.keys():
        return f"files {' '.join(first)} against {' '.join(other)}"
    name = next(n for n in first if first[n] != other[n])
    if not name.endswith(".npy"):
        return f"{name} differs"
    a, b = (np.load(os.path.join(f, name)) for f in folders)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{name}: {a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
    bits = [np.ascontiguousarray(x).reshape(-1).view(np.dtype(f"u{x.dtype.itemsize}")) for x in (a, b)]
    unlike = np.flatnonzero(bits[0] != bits[1])
    k = int(unlike[0])
    at = [int(i) for i in np.unravel_index(k, a.shape)]
    width = 2 * a.dtype.itemsize
    return (f"{name}: {len(unlike)} of {a.size} elements; first {at}: 0x{int(bits[0][k]):0{width}x} ({a.reshape(-1)[k]!s}) against "
            f"0x{int(bits[1][k]):0{width}x} ({b.reshape(-1)[k]!s})")


class Comparison:
    def __init__(self, scratch, models, options):
        self.scratch, self.models, self.options = scratch, models, options
        self.first = {}  # model to (words for the configuration, outputs, folder) of its first run
        self.differences = []
        for m in models:
            folder = os.path.join(scratch, m.name)
            os.makedirs(folder)
            for k, a in enumerate(m.draw(np.random.default_rng(options.seed)).values()):
                np.save(os.path.join(folder, f"input_{k}.npy"), a)

    def run(self, model, program, flags, words):
        with tempfile.TemporaryDirectory(dir=self.scratch) as out:
            command = [program, "run", model.file(), "--inputs", os.path.join(self.scratch, model.name), "--out", out, "--quiet", *flags]
            p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
            if p.returncode != 0:
                fail(f"{words}: {model.name} ended with status {p.returncode}:\n{p.stderr.strip()}")
            files = outputs(out)
            if not any(name.endswith(".npy") for name in files):
                fail(f"{words}: {model.name} wrote no output")
            if model.name not in self.first:
                keep = os.path.join(self.scratch, f"{model.name}.first")
                os.rename(out, keep)
                os.makedirs(out)
                self.first[model.name] = (words, files, keep)
            else:
                first_words, first, keep = self.first[model.name]
                if files != first:
                    where = difference(first, files, (keep, out))
                    self.differences.append(f"{model.name}: {first_words} against {words}\n  {where}")
            return digest(files)

    def configuration(self, build, program, threads, instructions):
        words = f"{build}, threads {threads}, {instructions}"
        flags = ["--threads", str(threads), "--instructions", instructions, "--answer", self.options.answer]
        before, start = len(self.differences), time.perf_counter()
        joint = hashlib.sha256("".join(self.run(m, program, flags, words) for m in self.models).encode()).hexdigest()[:16]
        spent = time.perf_counter() - start
        print(f"{build:<12} {threads:>7} {instructions:<12} {joint} {spent:8.1f} s{'' if len(self.differences) == before else '  DIFFERS'}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tools/same-bits", description=__doc__)
    parser.add_argument("builds", nargs="*", metavar="BUILD", help="build folders (default: all below build/ that have the program ulpian)")
    parser.add_argument("--only", metavar="REGEX", help="models whose names match")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default 1 2")
    parser.add_argument("--instructions", nargs="+", default=["best", "avx2", "portable"], choices=["best", "avx2", "portable"], help="default all")
    parser.add_argument("--answer", default="canonical", choices=["canonical", "allowed"], help="allowed: ends and flags of the sets, which takes minutes on the larger models")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (default 1)")
    o = parser.parse_args()
    models = [m for m in MODELS if not o.only or re.search(o.only, m.name)]
    if not models:
        fail(f"no model matches {o.only}; there are {', '.join(m.name for m in MODELS)}")
    missing = [m.pattern for m in models if not m.file()]
    if missing:
        fail(f"the model {missing[0]} is missing; run tools/setup", MISSING_MODEL)
    found = programs(o.builds)
    configurations = [(build, program, t, i) for build, program in found for t in o.threads for i in o.instructions]
    if len(configurations) < 2:
        fail("one configuration alone is nothing to compare")
    print(f"models: {' '.join(m.name for m in models)}; {o.answer} answer; seed {o.seed}; {machine()}")
    print(f"{'build':<12} {'threads':>7} {'instructions':<12} outputs, SHA-256")
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(scratch, models, o)
        for c in configurations:
            comparison.configuration(*c)
    for d in comparison.differences:
        print(d)
    if comparison.differences:
        print(f"same-bits: {len(comparison.differences)} of {len(configurations) * len(models)} runs differ from the first of their model")
        sys.exit(1)
    print(f"same-bits: the same bits in {len(configurations)} configurations of {len(models)} models")


if __name__ == "__main__":
    main()
