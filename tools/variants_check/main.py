"""Ways to compute that are legal, and faults, made by NumPy and judged by the allowed sets and by `ulpian check`.
Status 0: no legal answer is outside, and no fault that can be told from all legal answers is inside; 1: there are such; 2: something could not run."""
import argparse
import collections
import concurrent.futures
import os
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "ideal_check"))

import answers  # noqa: E402
import families_elements  # noqa: E402,F401  (families register themselves)
import families_layers  # noqa: E402,F401
import families_sums  # noqa: E402,F401
from bodies import by_body  # noqa: E402
from cases import FAMILIES, KINDS, new_draw  # noqa: E402
from numbers_of_types import FORMATS, NAMES  # noqa: E402
from ways import EXTENDED, Way, styles, ulp  # noqa: E402

ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))


def loaded(w, case):
    return [None if a is None else a if a.dtype.kind in "iub" else w.load(a) for a in case.inputs]


def computed(case, type_name, random, style, fault=None, exact=False, inputs=None):
    w = Way(type_name, random, style, fault, exact)
    with np.errstate(all="ignore"):
        return case.compute(w, *(loaded(w, case) if inputs is None else [None if a is None else a if a.dtype.kind in "iub" else w.load(a) for a in inputs]))


PLAIN = {"work": "wide", "order": "as they come", "tree": "one by one", "fuse": "no", "off": "nearest", "division": "nearest"}
AFTERWARDS = ("tail", "neighbour", "one weight", "transposed", "nan dropped", "off by one weight", "wrong axis")


def faulty(case, type_name, random, fault):
    """The outputs of a faulty implementation."""
    style = styles(random, 30)[random.integers(30)]
    inputs = list(case.inputs)
    if fault == "one weight":
        a = inputs[case.weight].copy()
        if a.size == 0:
            return None
        k = random.integers(a.size)
        a.ravel()[k] = (float(a.ravel()[k]) * 1.25 + 0.0 if float(a.ravel()[k]) else 1.0)
        inputs[case.weight] = a
    elif fault == "transposed":
        a = inputs[case.weight]
        inputs[case.weight] = np.ascontiguousarray(a.T).reshape(a.shape)
    elif fault == "nan dropped":
        inputs = [a if a is None or a.dtype.kind in "iub" else np.where(np.isnan(a.astype(np.float64)), np.array(0, a.dtype), a) for a in inputs]
    elif fault == "wrong axis":
        a = inputs[0]
        inputs[0] = np.ascontiguousarray(np.swapaxes(a, -1, -2)).reshape(a.shape)
    out = computed(case, type_name, random, style, fault if fault not in AFTERWARDS else None, inputs=inputs)
    if fault in ("tail", "neighbour"):
        out = [None if y is None else y.copy() for y in out]
        y = out[0]
        if y.size == 0:
            return None
        if fault == "tail":
            y.ravel()[-1] = y.ravel()[-2] if y.size > 1 and random.random() < 0.5 else 0
        else:
            out[0] = np.roll(y.reshape(-1), 1).reshape(y.shape)
    return out


class Report:
    def __init__(self):
        self.tally, self.lines = collections.Counter(), []
        self.reach = {}   # (op, label of the data's type): largest share of the radius
        self.faults = collections.Counter()
        self.seen, self.known = collections.Counter(), collections.Counter()

    def line(self, text):
        key = " ".join(text.split()[:2])
        self.seen[key] += 1
        if self.seen[key] <= 3:
            self.lines.append(text)


def shares(values, exact, sets):
    """The share of the way from the exact value to the end of its set, for elements with a finite interval; and where that is defined."""
    lower, upper = sets.lower.astype(EXTENDED), sets.upper.astype(EXTENDED)
    good = np.isfinite(lower) & np.isfinite(upper) & (sets.low < sets.high) & ~sets.anything & np.isfinite(exact)
    v = values.astype(EXTENDED)
    with np.errstate(all="ignore"):
        up = np.where((v > exact) & (upper > exact), (v - exact) / (upper - exact), 0)
        down = np.where((v < exact) & (lower < exact), (exact - v) / (exact - lower), 0)
    return np.where(good & np.isfinite(v), np.maximum(up, down), 0)


def judge(case, type_name, sets, seed, variants, report, options):
    random = np.random.default_rng(seed)
    exact = computed(case, type_name, random, PLAIN, exact=True)
    exact = [None if y is None else np.asarray(y).astype(EXTENDED) if sets[j].lower.dtype.kind not in "iub" else None for j, y in enumerate(exact)]
    title = f"{case.op} {case.label} {type_name}"
    far = [None if e is None else np.zeros(e.shape, EXTENDED) for e in exact]
    legal_seen = [[] for _ in exact]
    vary = 3 if case.fixed else variants
    ways = [(s, None) for s in styles(random, vary)]
    # For narrow types a body is a way of activations only: inside of a sum it would round to the narrow type (numerics.md, section 4).
    body = by_body(case) if case.by_body and (type_name in ("f64", "f32") or case.elementwise) else None
    if body is not None:
        ways.append(("the standard's function", body))
    reached = 0
    for style, given in ways:
        out = given if given is not None else computed(case, type_name, random, style)
        if given is not None:
            report.tally["bodies"] += 1
        for j, (y, s) in enumerate(zip(out, sets)):
            if y is None:
                continue
            y = np.asarray(y)
            if y.shape != s.lower.shape or y.dtype != s.lower.dtype:
                report.line(f"{title}: output {j} is {y.dtype}{y.shape}, not {s.lower.dtype}{s.lower.shape} ({style})")
                report.tally["failed"] += 1
                continue
            inside = s.contain(y)
            report.tally["evaluations"] += y.size
            report.tally["vacuous"] += int(s.anything.sum())
            if not inside.all():
                wrong = int((~inside).sum())
                report.tally["false alarms"] += wrong
                k = int(np.flatnonzero(~inside.ravel())[0])
                e = None if exact[j] is None else exact[j].ravel()[k]
                report.line(f"ALARM {title}: output {j}[{k}] {y.ravel()[k]!r} outside {s.shown(k)}, exact {e!r}; {wrong} of {y.size}; {style}")
                options.keep(case, out, "alarm", options)
            if exact[j] is not None and y.size:
                with np.errstate(all="ignore"):
                    d = np.abs(y.astype(EXTENDED) - exact[j])
                far[j] = np.maximum(far[j], np.where(np.isfinite(d), d, 0))
                reached = max(reached, float(shares(y, exact[j], s).max()))
            legal_seen[j].append(y)
    if not case.fixed:
        key = (case.op, type_name)
        report.reach[key] = max(report.reach.get(key, 0), reached)
        wide = any(((s.low < s.high) & ~s.anything).any() for s in sets)
        report.tally["with sets"] += wide
    if options.check and random.random() < options.check:
        out = computed(case, type_name, random, styles(random, 30)[random.integers(30)])
        status, word, reason = answers.verdict(options.ulpian, case, out, options.profile)
        report.tally["checked"] += 1
        if word not in ("conforms", "vacuous"):
            report.tally["undecided" if status == 3 else "false alarms"] += 1
            report.line(f"CHECK {title}: a legal answer is {word}: {reason}")
    for fault in case.faults:
        judge_fault(case, type_name, sets, random, fault, exact, far, legal_seen, report, options, title)


SUMS = set("Sum Mean ReduceSum ReduceMean ReduceSumSquare ReduceL1 MatMul Gemm Einsum Conv ConvTranspose AveragePool GlobalAveragePool CumSum ScatterElements Resize "
           "RotaryEmbedding NegativeLogLikelihoodLoss".split())


def aligned(case, type_name, exact, j):
    """How far off a legal way might be, all of whose errors line up: n u S of a sum; of what is made of sums n u of the largest value, more where a mean cancels."""
    given = [a for a in case.inputs if a is not None and a.dtype.kind not in "iub"]
    n = case.terms or (min(300, max(a.size for a in given)) if given else 1)
    u = 2.0 ** -(53 if type_name == "f64" else 24)
    finite = lambda a: np.abs(a[np.isfinite(a)])
    if case.op in SUMS:
        inputs = [a if a is None or a.dtype.kind in "iub" else np.abs(a) for a in case.inputs]
        return 2 * n * u * np.abs(np.asarray(computed(case, type_name, None, PLAIN, exact=True, inputs=inputs)[j], EXTENDED))
    x = given[0].astype(np.float64)
    with np.errstate(all="ignore"):
        span = (np.max(x, axis=-1) - np.min(x, axis=-1)) if x.ndim and x.shape[-1] else np.ones(1)
        cancels = np.max(finite(x), initial=0) / np.min(span[np.isfinite(span) & (span > 0)], initial=np.inf)
    return 2 * n * u * np.max(finite(exact), initial=0) * max(1, cancels)


def judge_fault(case, type_name, sets, random, fault, exact, far, legal_seen, report, options, title):
    out = faulty(case, type_name, random, fault)
    if out is None:
        return
    shown, missed, blunt = False, None, None
    caught = False
    for j, (y, s) in enumerate(zip(out, sets)):
        if y is None or y.size == 0:
            continue
        inside = s.contain(y)
        report.tally["evaluations"] += y.size
        caught |= bool((~inside).any())
        if exact[j] is None:  # integers: every legal way gives one of those seen
            seen = np.stack(legal_seen[j])
            really = np.all(np.abs(seen.astype(np.int64) - y.astype(np.int64)) > 1, axis=0)
        else:
            with np.errstate(all="ignore"):
                d = np.abs(y.astype(EXTENDED) - exact[j])
                unit = ulp(exact[j], FORMATS[NAMES[y.dtype]])
                really = np.isfinite(d) & (d > 16 * np.maximum(far[j], 2 * unit)) & (d > aligned(case, type_name, exact[j], j))
            classes = np.stack([np.isnan(z.astype(np.float64)) for z in legal_seen[j]])
            really |= classes.all(axis=0) & ~np.isnan(y.astype(np.float64))
        shown |= bool(really.any())
        hidden = really & inside & ~s.anything & ~s.endless
        if hidden.any():
            k = int(np.flatnonzero(hidden.ravel())[0])
            e = None if exact[j] is None else exact[j].ravel()[k]
            reach = None if exact[j] is None else far[j].ravel()[k]
            blunt = f"{title}: {fault}: output {j}[{k}] {y.ravel()[k]!r} within {s.shown(k)}, exact {e!r}, legal ones are within {reach!r}"
    if shown:
        report.faults[(fault, "shown")] += 1
        report.faults[(fault, "caught")] += caught
        if not caught:
            vacuous = blunt is None
            report.tally["vacuous faults" if vacuous else "known" if case.blunt else "misses"] += 1
            if case.blunt and not vacuous:
                report.known[f"{case.op}: {case.blunt}"] += 1
            elif not vacuous:
                report.line(f"MISS {blunt or title + ': ' + fault}")
                options.keep(case, out, "miss", options)
        elif options.check and random.random() < options.check / 4:
            status, word, reason = answers.verdict(options.ulpian, case, out, options.profile)
            report.tally["checked"] += 1
            if word != "violation":
                report.tally["misses"] += 1
                report.line(f"CHECK {title}: {fault} is {word}: {reason}")
    elif caught:
        report.faults[(fault, "finer")] += 1


def keep(case, out, what, options):
    if options.keep_in and options.kept[0] < 40:
        options.kept[0] += 1
        folder = os.path.join(options.keep_in, f"{what}_{case.op}_{os.getpid()}_{options.kept[0]}")
        os.makedirs(folder, exist_ok=True)
        answers.verdict(options.ulpian, case, [np.asarray(y) for y in out], options.profile, folder)


def try_family(job):
    options, name, type_name, kinds, seeds = job
    options.keep, options.kept = keep, [0]
    report, started = Report(), time.time()
    make = next(f[1] for f in FAMILIES if f[0] == name)
    for kind in kinds:
        for seed in seeds:
            versions = collections.defaultdict(list)
            for case in make(new_draw(type_name, kind, seed, name, options.scale)):
                case.label = " ".join(x for x in (case.label, kind, f"seed {seed}") if x)
                versions[case.version].append(case)
            for cases in versions.values():
                try:
                    sets = answers.allowed(options.ulpian, cases, options.profile)
                except answers.CannotRun:  # which of them
                    sets = []
                    for case in cases:
                        try:
                            sets += answers.allowed(options.ulpian, [case], options.profile)
                        except answers.CannotRun as e:
                            sets.append(None)
                            report.tally["failed"] += 1
                            report.line(f"{case.op} {case.label} {type_name}: {e}")
                for k, (case, s) in enumerate(zip(cases, sets)):
                    if s is not None:
                        try:
                            label = case.label
                            judge(case, type_name, s, [seed, k], options.variants, report, options)
                            case.label = label
                        except Exception as e:
                            if options.debug:
                                raise
                            report.tally["failed"] += 1
                            report.line(f"{case.op} {case.label} {type_name}: {type(e).__name__}: {e}")
    report.seconds = time.time() - started
    return name, type_name, report


def table(reach):
    ops = sorted({op for op, _ in reach})
    types = [t for t in ("f64", "f32", "f16", "bf16") if any(x == t for _, x in reach)]
    print("largest share of the allowed radius that a legal way attained")
    print(f"{'operator':30s}" + "".join(f"{t:>8s}" for t in types))
    for op in ops:
        print(f"{op:30s}" + "".join(f"{reach[op, t]:8.2f}" if (op, t) in reach else f"{'':>8s}" for t in types))


def main():
    parser = argparse.ArgumentParser(prog="tools/variants-check", description=__doc__.split("\n")[0])
    names = [f[0] for f in FAMILIES]
    parser.add_argument("families", nargs="*", help=f"by default all: {', '.join(names)}")
    parser.add_argument("--ulpian", default=os.path.join(ROOT, "build/release/ulpian"))
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--types", help="f64,f32,f16,bf16; by default all that a family has")
    parser.add_argument("--kinds", help=f"of data: {','.join(KINDS)}")
    parser.add_argument("--quick", action="store_true", help="one kind of data for each family and type, few ways")
    parser.add_argument("--variants", type=int, default=40, help="ways to compute each case")
    parser.add_argument("--scale", type=int, default=12, help="times as many elements in a case")
    parser.add_argument("--check", type=float, default=0.05, help="share of the cases that `ulpian check` judges as well")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--lines", type=int, default=8, help="lines shown of each family")
    parser.add_argument("--keep-in", help="a folder for the models, inputs and outputs of what is reported")
    parser.add_argument("--debug", action="store_true")
    a = parser.parse_args()
    unknown = [f for f in a.families if f not in names]
    if unknown:
        parser.error(f"no family {unknown[0]}; there are {', '.join(names)}")
    if not os.access(a.ulpian, os.X_OK):
        print(f"variants-check: {a.ulpian} is missing: cmake --preset release && ninja -C build/release ulpian", file=sys.stderr)
        return 2
    a.ulpian = os.path.abspath(a.ulpian)
    if a.quick:
        a.variants, a.scale = min(a.variants, 24), 1
    jobs = []
    for k, (name, _, types, kinds) in enumerate(FAMILIES):
        for t in types:
            use = [x for x in kinds if not a.kinds or x in a.kinds.split(",")]
            if a.quick:
                use = use and [use[(k + len(jobs) + a.seed) % len(use)]]
            if use and (not a.families or name in a.families) and (not a.types or t in a.types.split(",")):
                jobs.append((a, name, t, use, range(a.seed, a.seed + a.repeat)))
    whole, reach, faults, known = collections.Counter(), {}, collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(max_workers=a.jobs) as pool:
        for name, t, report in pool.map(try_family, jobs):
            whole.update(report.tally)
            faults.update(report.faults)
            known.update(report.known)
            for key, share in report.reach.items():
                reach[key] = max(reach.get(key, 0), share)
            said = ", ".join(f"{report.tally[x]} {x}" for x in ("false alarms", "misses", "undecided", "failed") if report.tally[x])
            print(f"{name:16s} {t:5s} {report.tally['evaluations']:9d} evaluations ({report.seconds:.1f} s) {said}", flush=True)
            for line in report.lines[:a.lines]:
                print(f"    {line}", flush=True)
    table(reach)
    print("faults: " + ", ".join(f"{f}: {faults[f, 'caught']} of {faults[f, 'shown']}" + (f" + {faults[f, 'finer']} finer" if faults[f, "finer"] else "") for f in sorted({x for x, _ in faults})))
    for reason, count in sorted(known.items()):
        print(f"not noticed, as is known: {count} faults of {reason}")
    print(f"{whole['evaluations']} evaluations, {whole['vacuous']} of them on elements that admit anything; {whole['false alarms']} false alarms, {whole['misses']} misses, "
          f"{whole['vacuous faults']} faults where all is vacuous; ulpian check on {whole['checked']}, undecided {whole['undecided']}; {whole['failed']} cases failed")
    if whole["failed"] or whole["evaluations"] == 0:
        return 2
    return 1 if whole["false alarms"] or whole["misses"] else 0


if __name__ == "__main__":
    sys.exit(main())
