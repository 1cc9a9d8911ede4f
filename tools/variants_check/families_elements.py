"""Operators that work element by element: functions, activations, arithmetic, quantisation."""
import numpy as np

from cases import CODES, NUMPY, Case, family
from numbers_of_types import FORMATS
from ways import ERRORS, EXTENDED, REAL, ulp

FUNCTIONS = {"Exp": ("exp", "x"), "Log": ("log", "positive"), "Sqrt": ("sqrt", "positive"), "Sin": ("sin", "x"), "Cos": ("cos", "x"), "Tan": ("tan", "x"), "Atan": ("atan", "x"),
             "Asin": ("asin", "unit"), "Acos": ("acos", "unit"), "Sinh": ("sinh", "x"), "Cosh": ("cosh", "x"), "Tanh": ("tanh", "x"), "Asinh": ("asinh", "x"),
             "Acosh": ("acosh", "above 1"), "Atanh": ("atanh", "unit"), "Erf": ("erf", "x"), "Sigmoid": ("sigmoid", "x"), "Softplus": ("softplus", "x"),
             "Softsign": ("softsign", "x"), "Gelu": ("gelu", "x"), "Gelu tanh": ("gelu_tanh", "x"), "Mish": ("mish", "x"), "HardSwish": ("hardswish", "x"), "Swish": ("silu", "x")}


OVERFLOWS = ("offset", "huge", "wide", "ties")


def elementwise(name):
    """The function, in the type itself or in the wide one; then both are its rounding."""
    def compute(w, x):
        fmt = w.format if not w.exact and w.error(name, w.format) > 0.5 and w.random.random() < 0.7 else w.wide
        y = w.function(name, x, fmt, last=True)
        if w.fault == "half precision" and not w.exact:
            y = y.astype(np.float16).astype(w.carrier)
        if w.fault == "more off" and not w.exact:
            y = np.asarray(REAL[name](np.asarray(x, EXTENDED)), EXTENDED)
            y = (y + 1.75 * max(ERRORS[name][0 if w.type == "f64" else 1 if w.type == "f32" else 2], 1) * ulp(y, w.format)).astype(w.carrier)
        return [w.out(y)]
    return compute


def numbers(d, how, n):
    if how == "unit":
        return d.unit(n) if d.kind != "special" else np.clip(d.x(n), -1, 1).astype(NUMPY[d.type])
    x = d.x(n)
    if how == "positive" and d.kind != "special":
        return np.abs(x)
    if how == "above 1":
        return d.cast(1 + np.abs(x.astype(np.float64))) if d.kind != "special" else x
    return x


@family()
def functions(d):
    for label, (name, how) in FUNCTIONS.items():
        x = numbers(d, how, d.rows(1, 7, 33, 60))
        attrs = {"approximate": "tanh"} if label == "Gelu tanh" else {}
        faults = ("more off", "tail", "neighbour") + (("half precision",) if d.type in ("f64", "f32") else ())
        yield Case(label.split()[0], [x], elementwise(name), attrs, label=label, faults=faults, elementwise=True,
                   by_body=label != "Gelu" or d.type != "f64",  # the onnx package has no erf of f64
                   blunt="where exp overflows in the formula, all numbers up to infinity are admitted" if label in ("Softplus", "Mish") and d.kind in OVERFLOWS else
                   "1 + tanh or 1 + erf, which the formula multiplies by x, is off by an error of the function where it should be 0" if label.startswith("Gelu") and d.kind in OVERFLOWS else "")


@family(kinds=("normal", "wide", "tiny", "huge", "special", "ties"))
def arithmetic(d):
    n = d.rows(1, 5, 31, 60)
    x, y, z = d.x(n), d.x(n), d.x(n)
    plain = lambda f: lambda w, *a: [w.out(w.do(f, *a, wider=False))]
    faults = ("tail", "neighbour", "flush")
    for op, f in (("Add", lambda a, b: a + b), ("Sub", lambda a, b: a - b), ("Mul", lambda a, b: a * b)):
        yield Case(op, [x, y], plain(f), faults=faults, fixed=True)
    yield Case("Div", [x, y], lambda w, a, b: [w.out(w.div(a, b, last=True))], faults=faults)
    yield Case("Reciprocal", [x], lambda w, a: [w.out(w.div(np.ones_like(a), a, last=True))], faults=faults)
    largest = lambda f: lambda w, a, b: [w.out(f(a, b))]
    yield Case("Max", [x, y], largest(np.maximum), faults=faults + ("nan dropped",), fixed=True)
    yield Case("Min", [x, y], largest(np.minimum), faults=faults + ("nan dropped",), fixed=True)
    slope = d.cast(np.abs(d.random.standard_normal(n)))
    yield Case("PRelu", [x, slope], lambda w, a, s: [w.out(np.where(a < 0, w.do(lambda u, v: u * v, a, s, wider=False), a))], faults=faults, fixed=True)
    # three terms in any order
    stacked = lambda w, a: w.sum(np.stack(a, axis=-1))
    yield Case("Sum", [x, y, z], lambda w, *a: [w.out(stacked(w, a))], faults=("drop", "double", "tail"))
    yield Case("Mean", [x, y, z], lambda w, *a: [w.out(w.mean(np.stack(a, axis=-1), last=True))], faults=("drop", "n-1", "tail"))
    alpha = np.float32(0.3)
    yield Case("LeakyRelu", [x], lambda w, a: [w.out(np.where(a < 0, w.do(lambda u: u * w.carrier(alpha), a, wider=False), a))], {"alpha": 0.3}, faults=faults, fixed=True)
    # activations with parameters: the definition's form with expm1, or the text's with exp
    def exponential(w, a, scale, inner=1):
        if w.exact or w.style["fuse"] != "no":
            return w.mul(np.full_like(a, scale), w.function("expm1", w.div(a, np.full_like(a, inner)) if inner != 1 else a))
        return w.mul(np.full_like(a, scale), w.sub(w.function("exp", w.div(a, np.full_like(a, inner)) if inner != 1 else a), np.ones_like(a)))
    below = lambda a: np.minimum(a, 0)
    yield Case("Elu", [x], lambda w, a: [w.out(np.where(a < 0, exponential(w, below(a), w.carrier(np.float32(0.7))), a))], {"alpha": 0.7}, elementwise=True, faults=("tail", "neighbour"))
    yield Case("Celu", [x], lambda w, a: [w.out(np.where(a < 0, exponential(w, below(a), w.carrier(np.float32(0.6)), w.carrier(np.float32(0.6))), a))], {"alpha": 0.6}, elementwise=True, faults=("tail",))
    g, l = np.float32(1.05070102214813232421875), np.float32(1.67326319217681884765625)
    yield Case("Selu", [x], lambda w, a: [w.out(w.mul(np.full_like(a, g), np.where(a <= 0, exponential(w, below(a), w.carrier(l)), a)))], elementwise=True, faults=("tail", "neighbour"))
    def hard(w, a):
        y = w.mul_add(np.full_like(a, np.float32(0.3)), a, np.full_like(a, np.float32(0.55)))
        return [w.out(np.clip(y, 0, 1))]
    yield Case("HardSigmoid", [x], hard, {"alpha": 0.3, "beta": 0.55}, elementwise=True, faults=("tail",))
    def swish(w, a):
        v = w.mul(np.full_like(a, np.float32(1.3)), a)
        with np.errstate(all="ignore"):
            return [w.out(np.where(np.isinf(a), np.where(a > 0, a, np.nan), w.mul(a, w.function("sigmoid", v))))]
    if d.kind != "special":
        yield Case("Swish", [x], swish, {"alpha": 1.3}, label="scaled", elementwise=True, faults=("tail", "neighbour"))
    base = np.abs(x) if d.kind != "special" else x
    e = d.cast(d.random.choice([2.0, 0.5, -1.0, 1.7, 3.0, -0.3, 0.0, 1.0], n))
    def power(w, a, b):
        with np.errstate(all="ignore"):
            real = np.asarray(np.power(np.asarray(a, EXTENDED), np.asarray(b, EXTENDED)), EXTENDED)
        near = w.near(real, w.error("pow", w.format), w.format, False)
        return [w.out(np.where((a == 1) | (b == 0), 1, near))]
    if d.type != "f64" or d.kind not in ("wide", "huge", "tiny"):
        yield Case("Pow", [base, e], power, faults=("tail", "neighbour"))
    clip = lambda w, a, lo, hi: [w.out(np.clip(a, lo, hi))]
    yield Case("Clip", [x, d.cast(-0.75), d.cast(1.125)], clip, faults=("tail", "neighbour", "nan dropped"), fixed=True)
    yield Case("Relu", [x], lambda w, a: [w.out(np.maximum(a, 0))], faults=("neighbour", "nan dropped"), fixed=True)
    if d.kind == "normal":
        u = d.x(n)
        def gated(w, a, b):
            return [w.out(w.mul(w.mul(a, w.function("sigmoid", a)), b))]
        yield Case("SwiGLU", [x, u], gated, faults=("tail",))


def quantised(w, q, zero, to):
    """Half to even, then the zero point, then saturated; q are real numbers."""
    info = np.iinfo(to)
    if w.fault == "half away":
        q = np.trunc(q + np.copysign(0.5, q))
    elif w.fault == "truncated":
        q = np.trunc(q)
    else:
        q = np.rint(q)
    y = np.clip(q, -2.0 ** 40, 2.0 ** 40).astype(np.int64) + int(zero)
    if w.fault == "wraps":
        return y.astype(to)
    return np.clip(y, info.min, info.max).astype(to)


@family("f32 f16 bf16", ("normal", "wide", "tiny", "ties", "huge"))
def quantisation(d):
    scale = d.plain(least=0.02)
    n = d.rows(1, 7, 60)
    x = d.cast(d.random.integers(-300, 300, n) / 2.0 * (2.0 ** -3 if d.kind == "ties" else 0.37))
    if d.kind == "ties":
        scale = d.cast(2.0 ** -3)
    elif d.kind != "normal":
        x = d.x(n)
    faults = ("half away", "truncated", "wraps", "tail")
    for to, zero in ((np.uint8, 131), (np.int8, -3), (np.uint16, 40000), (np.int16, 7)):
        def compute(w, a, s, z, to=to, zero=zero):
            return [quantised(w, w.div(a, np.full_like(a, s)), zero, to)]
        yield Case("QuantizeLinear", [x, scale, np.array(zero, to)], compute, label=np.dtype(to).name, faults=faults)
    i = d.integers(-128, 128, n, type_name="i8")
    yield Case("DequantizeLinear", [i, scale, np.array(-5, np.int8)], lambda w, a, s, z: [w.out(w.do(lambda u, v: u * v, a.astype(np.int64).astype(w.carrier) + 5, np.full(a.shape, s, w.carrier), wider=False))], faults=("tail",), fixed=True)
    m, k, c = d.rng((3, 6, 4), (1, 1, 1), (2, 33, 5))
    m *= d.scale
    a, b = d.integers(0, 256, m, k, type_name="u8"), d.integers(-128, 128, k, c, type_name="i8")
    sa, sb, sy = d.plain(least=0.01), d.plain(least=0.01), d.cast(d.random.uniform(5, 300))
    za, zb, zy = np.array(128, np.uint8), np.array(3, np.int8), np.array(-7, np.int8)
    def whole(w, a, b):
        p, q = a.astype(np.int64) - 128, b.astype(np.int64) - 3
        if w.fault == "zero point" and not w.exact:
            q = q + 3
        if w.fault == "drop":
            p[:, -1] = 0
        return p @ q
    def multiplied(w, a, sa, za, b, sb, zb, sy, zy):
        y = whole(w, a, b).astype(w.carrier)
        order = 0 if w.exact else int(w.random.integers(3))
        full = lambda v: np.full_like(y, v)
        if order == 0:
            q = w.div(w.mul(y, w.mul(full(sa), full(sb))), full(sy))
        elif order == 1:
            q = w.mul(y, w.div(w.mul(full(sa), full(sb)), full(sy)))
        else:
            q = w.div(w.mul(w.mul(y, full(sa)), full(sb)), full(sy))
        return [quantised(w, q, -7, np.int8)]
    yield Case("QLinearMatMul", [a, sa, za, b, sb, zb, sy, zy], multiplied, faults=("half away", "wraps", "zero point", "drop"))
    if d.type == "f32":
        yield Case("MatMulInteger", [a, b, za, zb], lambda w, a, b, *z: [whole(w, a, b).astype(np.int32)], faults=("zero point", "drop"), fixed=True)
        if d.kind in ("normal", "wide") and n > 1:
            def dynamic(w, a):
                low, high = np.minimum(a.min(), 0), np.maximum(a.max(), 0)
                s = w.div(w.sub(np.asarray(high), np.asarray(low)), np.asarray(w.carrier(255)))
                s = np.asarray(w.rounded(s))  # an output, that the others read
                z = np.clip(np.rint(w.div(-np.asarray(low), s)), 0, 255)
                return [quantised(w, w.div(a, np.full_like(a, s)), z, np.uint8), w.out(s), z.astype(np.uint8)]
            yield Case("DynamicQuantizeLinear", [x], dynamic, outputs=3, faults=("half away", "truncated"))


assert all(name in REAL for name, _ in FUNCTIONS.values()) and CODES and FORMATS
