"""Operators that work element by element."""
import math
from fractions import Fraction

import numpy as np

from case import Case, family, sizes
from numbers_of_types import CODES, FORMATS, NUMPY, each, exact, f32, fractions, mp, reals, rounded

HALF = Fraction(1, 2)
INFINITY, NAN = math.inf, math.nan


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def erfc(x):
    return mp.ldexp(1, -50000) if x > 200 else mp.mpf(2) if x < -200 else mp.erfc(x)  # mpmath fails far out


def gelu(x):
    return x / 2 * erfc(-x / mp.sqrt(2))


def gelu_tanh(x):
    # 1 + tanh u = 2 sigmoid(2 u)
    return x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(44715) / 1000000 * x ** 3))


def mish(x):
    # tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1)
    if x > 2000:
        return x
    e = mp.exp(x)
    return x * (e * (e + 2)) / (e * (e + 2) + 2)


def elu(a):
    return lambda x: x if x >= 0 else a * mp.expm1(x)


def on_reals(f, domain=None):
    """A function of finite mpmath numbers; a complex result, and a value outside of the domain, is NaN."""
    def g(x):
        if domain and not domain(x):
            return NAN
        y = f(x)
        return NAN if isinstance(y, mp.mpc) else y
    return g


def on_fractions(f):
    return lambda x: f(Fraction(x))


# name: (function, attributes, which numbers are drawn)
FUNCTIONS = {
    "Exp": (mp.exp, {}, "x"), "Log": (lambda x: -INFINITY if x == 0 else mp.log(x), {}, "x"), "Sqrt": (mp.sqrt, {}, "x"),
    "Sin": (mp.sin, {}, "x"), "Cos": (mp.cos, {}, "x"), "Tan": (mp.tan, {}, "x"), "Atan": (mp.atan, {}, "x"),
    "Asin": (mp.asin, {}, "unit"), "Acos": (mp.acos, {}, "unit"), "Sinh": (mp.sinh, {}, "x"), "Cosh": (mp.cosh, {}, "x"), "Tanh": (mp.tanh, {}, "x"),
    "Asinh": (lambda x: mp.sign(x) * mp.log1p(abs(x) + x * x / (1 + mp.sqrt(1 + x * x))), {}, "x"), "Acosh": (mp.acosh, {}, "above 1"),
    "Atanh": (lambda x: math.copysign(INFINITY, x) if abs(x) == 1 else mp.log1p(2 * x / (1 - x)) / 2, {}, "unit"),
    "Erf": (lambda x: mp.sign(x) if abs(x) > 200 else mp.erf(x), {}, "x"), "Sigmoid": (sigmoid, {}, "x"), "Softplus": (softplus, {}, "x"), "Gelu": (gelu, {}, "x"), "Gelu tanh": (gelu_tanh, {"approximate": "tanh"}, "x"),
    "Mish": (mish, {}, "x"), "Elu": (elu(mp.mpf(float(f32(0.7)))), {"alpha": 0.7}, "x"),
    "Selu": (lambda x: mp.mpf(float(f32(1.05070102214813232421875))) * elu(mp.mpf(float(f32(1.67326319217681884765625))))(x), {}, "x"),
    "Celu": (lambda x: x if x > 0 else mp.mpf(float(f32(0.6))) * mp.expm1(x / mp.mpf(float(f32(0.6)))), {"alpha": 0.6}, "x"),
    "Swish": (lambda x: x * sigmoid(mp.mpf(float(f32(1.3))) * x), {"alpha": 1.3}, "x"),
}


@family()
def functions(d):
    n = sizes(d, 50, 40)
    for label, (f, attrs, numbers) in FUNCTIONS.items():
        x = getattr(d, numbers)(n) if numbers != "above 1" else d.cast(1 + np.abs(d.x(n).astype(np.float64)))
        yield Case(label.split()[0], [x], lambda x=x, f=f: each(on_reals(f), reals(x)), attrs, label=label)


@family()
def rational(d):
    a, b = f32(0.3), f32(0.55)
    table = {
        "Abs": (abs, {}), "Neg": (lambda x: -x, {}), "Sign": (lambda x: (x > 0) - (x < 0), {}), "Floor": (math.floor, {}), "Ceil": (math.ceil, {}), "Round": (round, {}),
        "Relu": (lambda x: max(x, 0), {}), "Reciprocal": (lambda x: 1 / x, {}), "Softsign": (lambda x: x / (1 + abs(x)), {}),
        "HardSigmoid": (lambda x: max(Fraction(0), min(Fraction(1), a * x + b)), {"alpha": 0.3, "beta": 0.55}),
        "HardSwish": (lambda x: x * max(Fraction(0), min(Fraction(1), x / 6 + HALF)), {}),
        "LeakyRelu": (lambda x: x if x >= 0 else a * x, {"alpha": 0.3}), "ThresholdedRelu": (lambda x: x if x > b else 0, {"alpha": 0.55}),
        "Shrink": (lambda x: x + a if x < -b else x - a if x > b else 0, {"lambd": 0.55, "bias": 0.3}),
    }
    for op, (f, attrs) in table.items():
        x = d.x(60)
        if op == "Reciprocal":
            x[x == 0] = 1
        if op == "Shrink" and d.type == "bf16":
            continue
        yield Case(op, [x], lambda x=x, f=f: each(on_fractions(f), fractions(x)), attrs)
    x, low, high = d.x(60), d.cast(-0.75), d.cast(1.125)
    yield Case("Clip", [x, low, high], lambda: each(lambda v: min(max(v, Fraction(float(low))), Fraction(float(high))), fractions(x)))


def power(x, y):
    """Exact where the result is: an exponent of few bits is a root, then an integer power."""
    if x == 0:
        return mp.mpf(1) if y == 0 else mp.mpf(0) if y > 0 else INFINITY
    q = Fraction(float(y)).denominator
    if x < 0 and q != 1:
        return NAN
    if q <= 32 and abs(y) < 1000:
        root = abs(x)
        while q > 1:
            root, q, y = mp.sqrt(root), q // 2, 2 * y
        return (-1 if x < 0 and int(y) % 2 else 1) * root ** int(y)
    return (-1 if x < 0 and int(y) % 2 else 1) * mp.exp(y * mp.log(abs(x)))


@family()
def two_operands(d):
    def close(x):  # a partner that is often the same, or a neighbour
        y = x.astype(np.float64) * (1 + d.random.choice([0, 0, 1, -1, 5], x.shape) * 2.0 ** (1 - d.format.p))
        return d.cast(np.where(d.random.random(x.shape) < 0.5, y, d.x(*x.shape).astype(np.float64)))
    table = {
        "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b, "Max": max, "Min": min,
        "PRelu": lambda a, b: a if a >= 0 else a * b, "Less": lambda a, b: a < b, "LessOrEqual": lambda a, b: a <= b, "Greater": lambda a, b: a > b,
        "GreaterOrEqual": lambda a, b: a >= b, "Equal": lambda a, b: a == b, "Sum": lambda a, b: a + b, "Mean": lambda a, b: (a + b) / 2,
        "Mod": lambda a, b: a - b * math.trunc(a / b),
    }
    for op, f in table.items():
        x = d.x(60)
        y = close(x)
        if op in ("Div", "Mod"):
            y[y == 0] = 1
        yield Case(op, [x, y], lambda x=x, y=y, f=f: each(f, fractions(x), fractions(y)), {"fmod": 1} if op == "Mod" else {})
    x, y, z = d.x(60), d.x(60), d.x(60)
    terms = lambda: fractions(x) + fractions(y) + fractions(z)
    yield Case("Sum", [x, y, z], terms)
    yield Case("Mean", [x, y, z], lambda: terms() / 3)
    yield Case("Where", [x > y, x, y], lambda: np.where(x > y, exact(x), exact(y)))
    a, b = d.x(50), d.plain(50, scale=3)
    if d.kind == "ties":
        a, b = d.cast(d.random.integers(1, 16, 50)), d.cast(d.random.choice([2, 3, 0.5, 1.5, 5, -1, -2, 0.25, 7, 0], 50))
    yield Case("Pow", [a, b], lambda: each(power, reals(a), reals(b)))
    g, u = d.x(50), d.x(50)
    yield Case("SwiGLU", [g, u], lambda: each(lambda v, w: v * sigmoid(mp.mpf(float(f32(1.25))) * v) * w, reals(g), reals(u)), {"alpha": 1.25})


@family("f64 f32 f16 bf16 f8e4m3fn f8e5m2", ("normal", "wide", "tiny", "ties"))
def casts(d):
    x = d.x(60)
    for to, fmt in FORMATS.items():
        if to == d.type:
            continue
        def bounded(v, fmt=fmt):  # 8 bits: to the largest number and no further
            y, _ = rounded(v, fmt)
            if y == 0 and fmt.one_zero:
                return 0.0
            return y if fmt.dtype.itemsize > 1 or math.isfinite(y) else math.copysign(float(fmt.largest), v)
        yield Case("Cast", [x], lambda b=bounded: each(b, exact(x)), {"to": CODES[to]}, label=f"to {to}")
    for to in ("i8", "u8", "i16", "i32", "u32", "i64", "u64"):
        limits = np.iinfo(NUMPY[to])
        yield Case("Cast", [x], lambda i=limits: each(lambda v: min(max(math.trunc(v), int(i.min)), int(i.max)), fractions(x)), {"to": CODES[to]}, label=f"to {to}")
