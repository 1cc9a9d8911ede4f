"""Samplers, quantisation, scatters, transforms."""
import functools
import math
from fractions import Fraction

import numpy as np

from case import Case, family, sizes
from cases_sums import convolution
from numbers_of_types import CODES, FORMATS, each, f32, fractions, mp, real, rounded

HALF = Fraction(1, 2)


def clamp(v, low, high):
    return min(max(v, low), high)


def cubic_weights(t, a):
    """Of the cells at -1, 0, 1, 2 for a position t after the second."""
    near = lambda s: ((a + 2) * s - (a + 3)) * s * s + 1
    far = lambda s: ((a * s - 5 * a) * s + 8 * a) * s - 4 * a
    return [far(1 + t), near(t), near(1 - t), far(2 - t)]


def source(o, scale, n, out, mode):
    if mode == "half_pixel":
        return (o + HALF) / scale - HALF
    if mode == "pytorch_half_pixel":
        return (o + HALF) / scale - HALF if out > 1 else Fraction(0)
    if mode == "align_corners":
        return Fraction(o) * (n - 1) / (out - 1) if out > 1 else Fraction(0)
    return o / scale


def resized(x, axis, scale, out, mode, kind, a=Fraction(-3, 4)):
    n = x.shape[axis]
    rows = []
    for o in range(out):
        p = source(o, scale, n, out, mode)
        if kind == "nearest":  # round_prefer_floor
            taps = [(math.ceil(p - HALF), Fraction(1))]
        elif kind == "linear":
            p = clamp(p, Fraction(0), Fraction(n - 1))
            i = min(math.floor(p), n - 1)
            taps = [(i, 1 - (p - i)), (i + 1, p - i)]
        else:
            i = math.floor(p)
            taps = list(zip(range(i - 1, i + 3), cubic_weights(p - i, a)))
        rows.append(sum(w * np.take(x, clamp(i, 0, n - 1), axis) for i, w in taps))
    return np.stack(rows, axis)


@family()
def resizes(d):
    x = d.x(1, 2, sizes(d, 5, 3), 6)
    for mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        for kind in ("nearest", "linear", "cubic"):
            outs = (sizes(d, 7, 4), 4 if mode != "asymmetric" else 11)
            def by_size(mode=mode, kind=kind, outs=outs):
                y = resized(fractions(x), 2, Fraction(outs[0], x.shape[2]), outs[0], mode, kind)
                return resized(y, 3, Fraction(outs[1], x.shape[3]), outs[1], mode, kind)
            yield Case("Resize", [x, None, None, np.array([1, 2, *outs])], by_size, {"mode": kind, "coordinate_transformation_mode": mode}, label=f"{kind} {mode}")
    scale = np.array([1, 1, 1, 1.7], np.float32)
    s = f32(1.7)
    yield Case("Resize", [x, None, scale], lambda: resized(fractions(x), 3, s, math.floor(6 * s), "half_pixel", "linear"), {"mode": "linear"}, label="scales")


@family()
def grids(d):
    h, w = 4, 5
    x = d.x(1, 2, h, w)
    grid = d.cast(d.random.uniform(-1.2, 1.2, (1, sizes(d, 4, 2), 5, 2)))
    grid[0, 0, 0] = 0
    def at(g, n, corners):
        return (g + 1) * (n - 1) / 2 if corners else ((g + 1) * n - 1) / 2
    def sampled(border, corners, cubic):
        a, g = fractions(x), fractions(grid)
        out = np.empty((1, 2) + g.shape[1:3], object)
        for r, c in np.ndindex(*g.shape[1:3]):
            px, py = at(g[0, r, c, 0], w, corners), at(g[0, r, c, 1], h, corners)
            if border:  # the text says too little of cubic ones; so the standard's reference implementation, and the definition's first alternative
                outside = Fraction(0) if corners else HALF
                px, py = (clamp(p, Fraction(0), Fraction(n - 1)) if cubic and not -outside <= p <= n - 1 + outside else p for p, n in ((px, w), (py, h)))
            if border and not cubic:
                px, py = clamp(px, Fraction(0), Fraction(w - 1)), clamp(py, Fraction(0), Fraction(h - 1))
            ix, iy = math.floor(px), math.floor(py)
            tx, ty = px - ix, py - iy
            wx = list(zip(range(ix - 1, ix + 3), cubic_weights(tx, Fraction(-3, 4)))) if cubic else [(ix, 1 - tx), (ix + 1, tx)]
            wy = list(zip(range(iy - 1, iy + 3), cubic_weights(ty, Fraction(-3, 4)))) if cubic else [(iy, 1 - ty), (iy + 1, ty)]
            total = 0 * a[0, :, 0, 0]
            for i, u in wy:
                for j, v in wx:
                    if border:
                        total = total + u * v * a[0, :, clamp(i, 0, h - 1), clamp(j, 0, w - 1)]
                    elif 0 <= i < h and 0 <= j < w:
                        total = total + u * v * a[0, :, i, j]
            out[0, :, r, c] = total
        return out
    for cubic in (False, True):
        for border in (False, True):
            for corners in (0, 1):
                yield Case("GridSample", [x, grid], lambda c=cubic, b=border, k=corners: sampled(b, k, c),
                           {"mode": "cubic" if cubic else "linear", "padding_mode": "border" if border else "zeros", "align_corners": corners})
    theta = d.x(1, 2, 3)
    def affine(corners):
        t, out = fractions(theta)[0], np.empty((1, 3, 4, 2), object)
        place = lambda k, n: Fraction(2 * k, n - 1) - 1 if corners else Fraction(2 * k + 1, n) - 1
        for r, c in np.ndindex(3, 4):
            out[0, r, c] = t[:, 0] * place(c, 4) + t[:, 1] * place(r, 3) + t[:, 2]
        return out
    for corners in (0, 1):
        yield Case("AffineGrid", [theta, np.array([1, 1, 3, 4])], lambda k=corners: affine(k), {"align_corners": corners})


def saturated(q, zero, info):
    return clamp(round(q) + zero, int(info.min), int(info.max))  # round: half to even


@family("f32 f16 bf16", ("normal", "wide", "tiny", "ties"))
def quantised(d):
    scale = d.plain(least=0.02)
    halves = d.cast(d.random.integers(-300, 300, 60) / 2.0 * (float(scale) if d.kind == "ties" else 0.37))
    x = halves if d.kind in ("normal", "ties") else d.x(60)
    for to, zero in (("u8", 131), ("i8", -3), ("u16", 40000), ("i16", 7)):
        z = np.array(zero, to.replace("u", "uint").replace("i8", "int8").replace("i16", "int16") if to[0] == "i" else to.replace("u", "uint"))
        yield Case("QuantizeLinear", [x, scale, z], lambda z=z: each(lambda v: saturated(v / Fraction(float(scale)), int(z), np.iinfo(z.dtype)), fractions(x)), label=to)
    for name in ("f8e4m3fn", "f8e5m2"):
        def narrow(v, fmt=FORMATS[name]):
            q = v / Fraction(float(scale))
            y, _ = rounded(q, fmt)
            return y if math.isfinite(y) else math.copysign(float(fmt.largest), q)
        yield Case("QuantizeLinear", [x, scale], lambda f=narrow: each(f, fractions(x)), {"output_dtype": CODES[name]}, label=name)
    rows = d.plain(4, least=0.02)
    y = d.cast(d.random.standard_normal((4, 7)) * 5)
    yield Case("QuantizeLinear", [y, rows, np.zeros(4, np.int8)],
               lambda: each(lambda v, s: saturated(v / s, 0, np.iinfo(np.int8)), fractions(y), fractions(rows).reshape(4, 1) + 0 * fractions(y)), {"axis": 0}, label="by row")
    i = d.integers(-128, 128, 50, type_name="i8")
    yield Case("DequantizeLinear", [i, scale, np.array(-5, np.int8)], lambda: each(lambda v: (int(v) + 5) * Fraction(float(scale)), i.astype(object)))
    j = d.integers(-2 ** 31, 2 ** 31, 50, type_name="i32")
    yield Case("DequantizeLinear", [j, scale], lambda: each(lambda v: int(v) * Fraction(float(scale)), j.astype(object)), label="i32")
    a, b = d.integers(0, 256, 3, 6, type_name="u8"), d.integers(-128, 128, 6, 4, type_name="i8")
    sa, sb, sy = d.plain(least=0.01), d.plain(least=0.01), d.cast(d.random.uniform(5, 300))
    factor = lambda: Fraction(float(sa)) * Fraction(float(sb)) / Fraction(float(sy))
    exact_product = lambda: (a.astype(object) - 128).dot(b.astype(object) - 3)
    yield Case("QLinearMatMul", [a, sa, np.array(128, np.uint8), b, sb, np.array(3, np.int8), sy, np.array(-7, np.int8)],
               lambda: each(lambda v: saturated(int(v) * factor(), -7, np.iinfo(np.int8)), exact_product()))
    if d.type != "f32":
        return
    # Ideal is the exact quotient, whatever the precision of the division that the node names (docs/numerics.md, section 6).
    near_tie, one, third = np.array([2.50048828125, 2.5, 3.49951171875], np.float32), np.array(1, np.float16), np.array(3, np.float16)
    yield Case("QuantizeLinear", [near_tie, one, np.array(0, np.uint8)], lambda: np.array([3, 2, 3]), label="divided in f16")
    yield Case("QuantizeLinear", [near_tie * 3, third, np.array(0, np.uint8)], lambda: np.array([3, 2, 3]), {"precision": CODES["f16"]}, label="divided in f16")
    yield Case("MatMulInteger", [a, b, np.array(128, np.uint8), np.array(3, np.int8)], exact_product)
    g, k = d.integers(0, 256, 1, 2, 5, 5, type_name="u8"), d.integers(0, 256, 3, 2, 3, 3, type_name="u8")
    bias = d.integers(-9000, 9000, 3, type_name="i32")
    def qconv():
        y = convolution(g.astype(object) - 120, k.astype(object) - 130, [1, 1], [1, 1], [(0, 0), (0, 0)]) + bias.astype(object).reshape(1, 3, 1, 1)
        return each(lambda v: saturated(int(v) * factor(), 100, np.iinfo(np.uint8)), y)
    yield Case("QLinearConv", [g, sa, np.array(120, np.uint8), k, sb, np.array(130, np.uint8), sy, np.array(100, np.uint8), bias], qconv)
    def dynamic():
        f = fractions(x)
        low, high = min(f.min(), Fraction(0)), max(f.max(), Fraction(0))
        s = (high - low) / 255
        z = clamp(round(-low / s), 0, 255)
        return [each(lambda v: saturated(v / s, z, np.iinfo(np.uint8)), f), np.asarray(s, object), np.asarray(z, object)]
    if np.any(x != 0):
        yield Case("DynamicQuantizeLinear", [x], dynamic, outputs=3)


@family()
def scatters(d):
    base, updates = d.x(5, 4), d.x(7, 4)
    places = d.integers(0, 5, 7, 4)
    for reduction, f in (("add", lambda a, b: a + b), ("mul", lambda a, b: a * b), ("max", max), ("min", min)):
        def scattered(f=f):
            out = fractions(base)
            u = fractions(updates)
            for r, c in np.ndindex(7, 4):
                out[places[r, c], c] = f(out[places[r, c], c], u[r, c])
            return out
        yield Case("ScatterElements", [base, places, updates], scattered, {"reduction": reduction, "axis": 0}, label=reduction)
        rows = d.integers(0, 5, 6, 1)
        def by_rows(f=f, rows=rows):
            out, u = fractions(base), fractions(updates)
            for r in range(6):
                for c in range(4):
                    out[rows[r, 0], c] = f(out[rows[r, 0], c], u[r, c])
            return out
        yield Case("ScatterND", [base, rows, updates[:6]], by_rows, {"reduction": reduction}, label=reduction)
    columns = d.x(1, 2 * 4, 9)
    def image():
        c, out = fractions(columns).reshape(1, 2, 2, 2, 3, 3), np.full((1, 2, 4, 4), Fraction(0), object)
        for i, j, r, s in np.ndindex(2, 2, 3, 3):
            out[:, :, r + i, s + j] += c[:, :, i, j, r, s]
        return out
    yield Case("Col2Im", [columns, np.array([4, 4]), np.array([2, 2])], image)
    start, delta = d.plain(), d.plain(least=0.05)
    if d.kind == "normal":
        limit = d.cast(float(start) + 20 * float(delta))
        count = max(math.ceil((Fraction(float(limit)) - Fraction(float(start))) / Fraction(float(delta))), 0)
        yield Case("Range", [start, limit, delta], lambda: np.array([Fraction(float(start)) + k * Fraction(float(delta)) for k in range(count)], object))


def turn(k, n):
    """cos and sin of k / n turns; the exact ones exactly."""
    return turn_at(Fraction(k % n, n), mp.prec)


@functools.lru_cache(None)
def turn_at(t, precision):
    if (8 * t).denominator == 1 and t.denominator in (1, 2, 4):
        return [(1, 0), (0, 1), (-1, 0), (0, -1)][int(4 * t)]
    if (12 * t).denominator == 1 and t.denominator in (3, 6, 12):  # halves are exact, too
        c, s = mp.cospi(2 * real(t)), mp.sinpi(2 * real(t))
        known = {1: HALF, 2: -HALF, 4: -HALF, 5: HALF}.get(int(6 * t)) if (6 * t).denominator == 1 else None
        by_sine = {1: HALF, 5: HALF, 7: -HALF, 11: -HALF}.get(int(12 * t))
        return (real(known) if known is not None else c), (real(by_sine) if by_sine is not None else s)
    return mp.cospi(2 * real(t)), mp.sinpi(2 * real(t))


def transformed(v, inverse, whole):
    """v: [n, 2] Fractions to [whole, 2] reals."""
    n = len(v)
    out = np.empty((whole, 2), object)
    for i in range(whole):
        re, im = mp.mpf(0), mp.mpf(0)
        for k in range(n):
            c, s = turn(i * k, n)
            s = s if inverse else -s
            a, b = real(v[k, 0]), real(v[k, 1])
            re += a * c - b * s
            im += a * s + b * c
        out[i] = (re / n, im / n) if inverse else (re, im)
    return out


def zeros_of(v, values):
    """Sums that are 0 over the reals, which 320 bits leave a little off: far less than any other could be. Roots of unity of these few orders."""
    largest = max([abs(real(x)) for x in v.ravel()] + [mp.mpf(0)])
    return each(lambda y: mp.mpf(0) if abs(y) <= largest * mp.ldexp(1, -mp.prec + 40) else y, values)


@family(kinds=("normal", "cancel", "ties"))
def transforms(d):
    for n in (5, 8, 12) if not d.slow else (4, 6):
        x = d.x(2, n, 2)
        alone = d.x(2, n, 1)
        both = lambda a: np.concatenate([a, 0 * a], axis=2)
        def dft(a, inverse=False, one_sided=False, n=n):
            return np.stack([zeros_of(a, transformed(row, inverse, n // 2 + 1 if one_sided else n)) for row in a])
        axis = np.array(1)
        yield Case("DFT", [x, None, axis], lambda f=dft, x=x: f(fractions(x)), label=f"{n}")
        yield Case("DFT", [x, None, axis], lambda f=dft, x=x: f(fractions(x), True), {"inverse": 1}, label=f"{n} inverse")
        yield Case("DFT", [alone, None, axis], lambda f=dft, x=alone, b=both: f(b(fractions(x)), one_sided=True), {"onesided": 1}, label=f"{n} one-sided")
    if d.kind != "normal":
        return
    table = {"HannWindow": (HALF, HALF, 0), "HammingWindow": (Fraction(25, 46), Fraction(21, 46), 0), "BlackmanWindow": (Fraction(42, 100), HALF, Fraction(8, 100))}
    for op, (a, b, c) in table.items():
        for periodic in (0, 1):
            n = 11
            m = n if periodic else n - 1
            yield Case(op, [np.array(n)], lambda a=a, b=b, c=c, m=m, n=n: np.array(
                [zeros_of(np.array([1]), real(a) - real(b) * turn(k, m)[0] + real(c) * turn(2 * k, m)[0])[()] for k in range(n)], object),
                {"periodic": periodic, "output_datatype": CODES[d.type]})
