"""Compiles the elementary functions (tools/audit/same_functions.cpp and the programs that the build generated) with gcc and clang for this machine's
vector instructions, for AArch64 and for RISC-V, runs each (the foreign ones under qemu), and compares all digests with each other: of the f32 results,
and of the f64 values before their rounding. Nothing of it is stored. Status 0: all are the same; 1: some differ; 2: something could not run."""
import argparse
import concurrent.futures
import dataclasses
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
HEADER = "spec/functions/generated/spec/functions/programs.h"
RECORD = os.path.join(ROOT, "spec/functions/digests.json")
# As cmake/UlpianOptions.cmake and spec/functions/CMakeLists.txt have them.
FLAGS = ["-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno"]
GCC_FLAGS = ["-fno-tree-slp-vectorize"]
INSTRUCTIONS = {"x86_64": {"baseline": ([], []), "avx2": (["-mavx2", "-mfma"], ["avx2", "fma"]),
                           "avx512": (["-mavx512f", "-mavx512dq", "-mavx512vl"], ["avx512f", "avx512dq", "avx512vl"])}}
FOREIGN = ("aarch64", "riscv64")
WITHOUT_FMA = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"  # the fused multiply-add of glibc in software, where glibc's would take the instruction
BLOCKS = {"sample": 1536, "all": 1 << 20}
ARGUMENTS = {"sample": 1536 * 256, "all": 1 << 32}
EXAMPLES = """examples:
  tools/same-functions                                  every compiler and machine that can be had here, 393,216 arguments of each function
  tools/same-functions --only x86_64                    compilers and vector instructions of this machine, in seconds
  tools/same-functions exp tanh --only 'gcc.*aarch64|gcc.*avx2'
  tools/same-functions --all exp --only avx2            all 2^32 arguments, also against spec/functions/digests.json; minutes a function
  tools/setup --targets                                 installs the cross compilers and qemu
"""


def fail(text, status=2):
    print(f"same-functions: {text}", file=sys.stderr)
    sys.exit(status)


@dataclasses.dataclass
class Configuration:
    name: str
    compile: list  # the compiler and its flags
    run: list      # what stands before the program
    program: str = ""


def command_output(command, what, **more):
    p = subprocess.run(command, capture_output=True, text=True, errors="replace", **more)
    if p.returncode != 0:
        raise RuntimeError(f"{what}: status {p.returncode}\n{' '.join(command)}\n{p.stderr.strip()[-3000:]}")
    return p


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as f:
            found = re.search(r"^flags\s*:(.*)$", f.read(), re.M)
    except OSError:
        found = None
    return set(found[1].split()) if found else set()


def configurations(gcc, clang):
    """Those that can run here, and for each of the others its name and what it lacks."""
    found, missing = [], []
    native, have = platform.machine(), cpu_flags()
    for title, compiler, flags in (("gcc", gcc, GCC_FLAGS), ("clang", clang, [])):
        for instructions, (more, needs) in INSTRUCTIONS.get(native, {"baseline": ([], [])}).items():
            name = f"{title} {native} {instructions}"
            lacks = [n for n in needs if n not in have]
            if not shutil.which(compiler):
                missing.append((name, f"no {compiler}: {'tools/setup --fuzz' if title == 'clang' else 'tools/setup'}, or --{title} PROGRAM"))
            elif lacks:
                missing.append((name, f"this processor lacks {' '.join(lacks)}"))
            else:
                found.append(Configuration(name, [compiler, *flags, *more], []))
                if title == "gcc" and native == "x86_64" and instructions == "baseline":  # glibc is the same for clang
                    found.append(Configuration(f"{name}, no fma", [compiler, *flags, *more], ["env", WITHOUT_FMA]))
        for machine in FOREIGN:
            if machine == native:
                continue
            name = f"{title} {machine} qemu"
            # clang compiles for any machine, but the library and the linker are those of the cross gcc.
            cross = f"{machine}-linux-gnu-g++"
            lacks = [p for p, package in ((cross, f"g++-{machine}-linux-gnu"), (f"qemu-{machine}", "qemu-user")) if not shutil.which(p)]
            if lacks:
                missing.append((name, f"no {' and no '.join(lacks)}: tools/setup --targets, or apt-get install g++-{machine}-linux-gnu qemu-user"))
            elif title == "clang" and not shutil.which(clang):
                missing.append((name, f"no {clang}: tools/setup --fuzz, or --clang PROGRAM"))
            else:
                compiler_and_flags = [cross, *flags] if title == "gcc" else [clang, f"--target={machine}-linux-gnu"]
                found.append(Configuration(name, [*compiler_and_flags, "-static"], [f"qemu-{machine}"]))
    return found, missing


def generated(build):
    """The folder of the generated programs, which must not be older than what they are made of."""
    header = os.path.join(build, HEADER)
    how = f"cmake --preset release && ninja -C {os.path.relpath(build)} {HEADER}"
    if not os.path.isfile(header):
        fail(f"{header} is missing: {how}")
    sources = glob.glob(os.path.join(ROOT, "spec/functions/*.ulp")) + glob.glob(os.path.join(ROOT, "spec/prelude/*s.ulp"))
    newer = [s for s in sources if os.path.getmtime(s) > os.path.getmtime(header)]
    if newer:
        fail(f"{header} is older than {os.path.relpath(newer[0], ROOT)}: {how}")
    return header[:-len("/spec/functions/programs.h")]


def make(compiler, program, include):
    """Compiles the driver. `compiler` is a configuration's, with its flags."""
    cache = [shutil.which("ccache")] if shutil.which("ccache") else []
    objects = []
    for source in ("tools/audit/same_functions.cpp", "spec/numbers/primitive.cpp"):
        objects.append(f"{program}.{os.path.basename(source)}.o")
        p = command_output([*cache, *compiler, *FLAGS, "-I", ".", "-I", include, "-c", source, "-o", objects[-1]], "the driver does not compile", cwd=ROOT)
        if p.stderr:
            print(p.stderr, file=sys.stderr)
    command_output([*compiler, *objects, "-lm", "-o", program], "the driver does not link")


def kind_of_fma(c):
    """What rounds a multiply-add once: an instruction, or a call of glibc, which the object file names."""
    with open(f"{c.program}.same_functions.cpp.o", "rb") as f:
        calls = b"\0fma\0" in f.read()
    return "instruction" if not calls else "software" if WITHOUT_FMA in c.run else "glibc"


def run(c, *arguments):
    return command_output([*c.run, c.program, *arguments], f"{c.name} does not run").stdout.splitlines()


def timed_run(*arguments):
    start = time.perf_counter()
    return run(*arguments), time.perf_counter() - start


def sum_of(outputs, names):
    """Name to its two digests, which are sums over blocks."""
    total = {n: (0, 0) for n in names}
    for line in (line for lines in outputs for line in lines):
        name, *parts = line.split()
        total[name] = tuple((t + int(x, 16)) % 2**64 for t, x in zip(total[name], parts))
    return total


def first_difference(a, b, name, which):
    """The first argument whose results differ, in words."""
    last = str(BLOCKS[which])
    blocks = [run(c, "blocks", which, "0", last, name) for c in (a, b)]
    block = next(x.split()[0] for x, y in zip(*blocks) if x != y)
    results = [[line.split() for line in run(c, "results", which, block, name)] for c in (a, b)]
    differing = [(x, y) for x, y in zip(*results) if x != y]
    x, y = differing[0]
    kind = 2 if x[2] != y[2] else 3
    return (f"{sum(p != q for p, q in zip(*blocks))} of {len(blocks[0])} blocks; first at 0x{x[0]} (second argument 0x{x[1]}): "
            f"{'f32' if kind == 2 else 'f64'} 0x{x[kind]} against 0x{y[kind]}")


def together(d):
    """One number for the digests of all functions, in order."""
    joint = [0, 0]
    for pair in d.values():
        for k in (0, 1):
            joint[k] = (joint[k] * 0x9e3779b97f4a7c15 + pair[k]) % 2**64
    return joint


def functions_of(c, wanted):
    known = {name: int(arity) for name, arity in (line.split() for line in run(c, "list")[1:])}
    for name in wanted:
        if name not in known:
            fail(f"no function is called {name}; there are {' '.join(known)}")
    return {n: arity for n, arity in known.items() if not wanted or n in wanted}


def against_record(c, d):
    """Of the digests over all arguments, those that are not the last full sweep's."""
    with open(RECORD) as f:
        record = json.load(f)["functions"]
    unlike = [n for n in d if n in record and f"{d[n][0]:016x}" != record[n]["digest"]]
    print(f"  in spec/functions/digests.json: {sum(n in record for n in d) - len(unlike)} of {len(d)} functions have the same digest, "
          f"{len(unlike)} another one, {sum(n not in record for n in d)} none")
    return [f"{n}: {c.name} has the f32 digest {d[n][0]:016x}, but the sweep on {record[n]['date']} {record[n]['digest']}" for n in unlike]


def compare(found, include, o, scratch):
    """Prints a line for each configuration, and returns what differs."""
    which = "all" if o.all else "sample"
    differences, reference = [], None
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        programs = {tuple(c.compile): "" for c in found}
        for k, compiler in enumerate(programs):
            programs[compiler] = os.path.join(scratch, f"driver{k}")
        list(pool.map(lambda item: make(*item, include), programs.items()))
        for c in found:
            c.program = programs[tuple(c.compile)]
        names = functions_of(found[0], o.functions)
        print(f"{len(names)} functions, {ARGUMENTS[which]} arguments of each: {' '.join(names)}")
        print(f"{'configuration':<30} {'fma':<12} {'f32 results':<16} {'f64 values':<16}  time", flush=True)
        parts = 64 if o.all else 1
        ends = [BLOCKS[which] * k // parts for k in range(parts + 1)]
        runs = [[pool.submit(timed_run, c, "digests", which, str(a), str(b), *names) for a, b in zip(ends, ends[1:])] for c in found]
        for c, futures in zip(found, runs):
            results = [f.result() for f in futures]
            d = sum_of([lines for lines, _ in results], names)
            reference = reference or (c, d)
            unlike = [n for n in names if d[n] != reference[1][n]]
            f32, f64 = together(d)
            print(f"{c.name:<30} {kind_of_fma(c):<12} {f32:016x} {f64:016x} {sum(s for _, s in results):8.1f} s{'  DIFFERS' if unlike else ''}", flush=True)
            differences += [f"{n}: {reference[0].name} against {c.name}: {first_difference(reference[0], c, n, which)}" for n in unlike]
            if o.all and not unlike:
                differences += against_record(c, d)
    return len(names), differences


def main():
    parser = argparse.ArgumentParser(prog="tools/same-functions", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help="default: all that the build has")
    parser.add_argument("--only", metavar="REGEX", help="configurations whose names match; the table shows them")
    parser.add_argument("--all", action="store_true", help="all 2^32 arguments instead of a sample: minutes a function and configuration, hours under qemu")
    parser.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build/release"), help="where the generated programs are (default build/release)")
    parser.add_argument("--gcc", metavar="PROGRAM", default="g++", help="default g++")
    parser.add_argument("--clang", metavar="PROGRAM", default="clang++-19", help="default clang++-19")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (default: as many as processors)")
    o = parser.parse_args()
    if o.jobs < 1:
        fail("--jobs needs a number from 1")
    found, missing = configurations(o.gcc, o.clang)
    chosen = [c for c in found if not o.only or re.search(o.only, c.name)]
    missing = [m for m in missing if not o.only or re.search(o.only, m[0])]
    for name, why in missing:
        print(f"not tried: {name}: {why}")
    if not chosen:
        fail(f"nothing can be tried{'' if missing else f': no configuration matches {o.only}; there are ' + ', '.join(c.name for c in found)}")
    if len(chosen) < 2 and not o.all:
        fail(f"{chosen[0].name} alone is nothing to compare")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            count, differences = compare(chosen, generated(o.build), o, scratch)
    except RuntimeError as e:
        fail(e)
    for d in differences:
        print(d)
    if differences:
        print(f"same-functions: {len(differences)} differences")
        sys.exit(1)
    print(f"same-functions: the same bits of {count} functions in {len(chosen)} configurations; {len(missing)} not tried")


if __name__ == "__main__":
    main()
