"""A Way is one legal way to compute: which format an intermediate value is kept in, in which order and tree terms are summed, what is fused, how far functions,
divisions and roots are off within what the profile `standard` grants. Everything is worked out in NumPy; nothing comes from Ulpian.

Values of types up to f32 are carried as f64, those of f64 as the processor's extended numbers, so that "kept wider" is a value that is not rounded.
`fault` makes it an illegal way; the hooks that read it stand where such a fault would be made."""
import math

import ml_dtypes
import numpy as np

from numbers_of_types import FORMATS, mp

mp.prec = 128

EXTENDED = np.longdouble
ORDERS = ("as they come", "last first", "small first", "large first", "positive first", "chance")
TREES = ("one by one", "pairwise", "lanes", "blocks", "chance", "compensated")
# The OpenCL C 3.0 specification, section 7.4, full profile, by (f64, f32, narrower); activations 4, narrower ones computed in f32 and rounded once
# (docs/profiles.md).
ERRORS = {
    "/": (0.5, 2.5, 0.5), "sqrt": (0.5, 3, 0.5), "exp": (3, 3, 2), "log": (3, 3, 2), "expm1": (3, 3, 2), "log1p": (2, 2, 2), "sin": (4, 4, 2), "cos": (4, 4, 2), "tan": (5, 5, 2),
    "asin": (4, 4, 2), "acos": (4, 4, 2), "atan": (5, 5, 2), "sinh": (4, 4, 2), "cosh": (4, 4, 2), "tanh": (5, 5, 2), "asinh": (4, 4, 2), "acosh": (4, 4, 2),
    "atanh": (5, 5, 2), "erf": (16, 16, 4), "pow": (16, 16, 4), "rsqrt": (2, 2, 1),
    **{f: (4, 4, 0.5) for f in ("sigmoid", "softplus", "softsign", "gelu", "gelu_tanh", "silu", "mish", "hardswish")}}


def by_mpmath(f):
    def one(v):
        sign, v = v, mp.mpf(float(v))
        if not mp.isfinite(v):
            return math.nan if mp.isnan(v) else math.copysign(float(f(v)), v)
        y = f(v)
        if y == 0 and v == 0:
            return np.copysign(EXTENDED(0), sign)
        high = float(y)
        if high == 0:
            return np.copysign(EXTENDED(0), float(mp.sign(y)))
        return EXTENDED(high) + EXTENDED(float(y - high)) if math.isfinite(high) else EXTENDED(high)
    def g(x):
        out = np.empty(x.shape, EXTENDED)
        for k, v in enumerate(x.ravel()):
            out.ravel()[k] = one(v)
        return out
    return g


def upper_tail(x):  # erfc, which mpmath fails at far out
    return mp.ldexp(1, -20000) if x > 200 else mp.mpf(2) if x < -200 else mp.erfc(x)


def gelu(x):
    return mp.mpf(0) if x == -mp.inf else x if x == mp.inf else x / 2 * upper_tail(-x / mp.sqrt(2))


def softplus(x):
    return np.where(x > 0, np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), np.log1p(np.exp(np.minimum(x, 0))))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def times(x, y):
    """Of a limit that is 0: 0 times an infinity."""
    return np.where(np.isneginf(x), -0.0, x * y)


def mish(x):
    e = np.exp(np.minimum(x, 20))
    return times(x, np.where(x > 20, 1 - 2 * np.exp(-2 * np.maximum(x, 20)), e * (e + 2) / (e * (e + 2) + 2)))


REAL = {  # at 64 bits or more
    "exp": np.exp, "log": np.log, "expm1": np.expm1, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": by_mpmath(lambda x: mp.sign(x) if abs(x) > 200 else mp.erf(x)), "sigmoid": sigmoid, "softplus": softplus,
    "softsign": lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))), "gelu": by_mpmath(gelu), "silu": lambda x: times(x, sigmoid(x)), "mish": mish,
    "gelu_tanh": lambda x: times(x, sigmoid(2 * np.sqrt(2 / EXTENDED(math.pi)) * 1 * (x + EXTENDED(44715) / 1000000 * x ** 3))),
    "hardswish": lambda x: times(x, np.clip(x / 6 + EXTENDED(0.5), 0, 1)),
}
PI = EXTENDED(math.pi) + EXTENDED(1.2246467991473531772e-16)
REAL["gelu_tanh"] = lambda x: times(x, sigmoid(2 * np.sqrt(2 / PI) * (x + EXTENDED(44715) / 1000000 * x ** 3)))


KEPT = {}


def real_function(name, x):
    """REAL, with the last results of the slow ones: an element's argument is the same in many ways to compute."""
    if name not in ("erf", "gelu"):
        with np.errstate(all="ignore"):
            return np.asarray(REAL[name](x), EXTENDED)
    key = name, x.shape, x.tobytes()
    if key not in KEPT:
        if len(KEPT) > 200:
            KEPT.clear()
        KEPT[key] = np.asarray(REAL[name](x), EXTENDED)
    return KEPT[key]


def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def odd(s, e):
    """The f64 s with a rest e that is not 0 becomes the neighbour on e's side with an odd last bit."""
    shape = s.shape
    bits = np.ascontiguousarray(s).view(np.int64).reshape(shape)
    move = np.isfinite(s) & np.isfinite(e) & (e != 0) & (bits & 1 == 0)
    return np.where(move, bits + np.where((e > 0) == (s > 0), 1, -1), bits).reshape(-1).view(np.float64).reshape(shape)


def fma32(a, b, c):
    """Of f32 values in f64: a product is exact there, and a sum rounded to odd is rounded to f32 as the exact one."""
    s, e = two_sum(a * b, c)
    return odd(s, e).astype(np.float32).astype(np.float64)


def split(a):
    t = a * 134217729.0
    high = t - (t - a)
    return high, a - high


def fma64(a, b, c):
    """Boldo and Melquiond's, where nothing over- or underflows; elsewhere unfused."""
    p = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    e = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    uh, ul = two_sum(c, e)
    th, tl = two_sum(p, uh)
    v, ve = two_sum(tl, ul)
    z = th + odd(v, ve)
    plain = (np.abs(p) < 1e-250) | ~np.isfinite(z) | (np.abs(a) > 1e250) | (np.abs(b) > 1e250)
    return np.where(plain, p + c, z)


def to_bf16(x, odd_first):
    if not odd_first:
        return x.astype(np.float32).astype(ml_dtypes.bfloat16)
    narrow = x.astype(np.float32)
    bits = np.ascontiguousarray(narrow).view(np.int32).reshape(narrow.shape)
    rest = x - narrow
    move = np.isfinite(narrow) & np.isfinite(rest) & (rest != 0) & (bits & 1 == 0)
    step = np.where(narrow == 0, np.where(rest > 0, 1, 1 - 2 ** 31), bits.astype(np.int64) + np.where((rest > 0) == (narrow > 0), 1, -1))
    return np.where(move, step, bits).astype(np.int32).reshape(-1).view(np.float32).reshape(narrow.shape).astype(ml_dtypes.bfloat16)


def ulp(x, fmt):
    """Of real numbers, as EXTENDED; a zero's is the least subnormal."""
    with np.errstate(all="ignore"):
        _, e = np.frexp(np.where(np.isfinite(x) & (x != 0), x, 1).astype(EXTENDED))
    e = np.where(x == 0, fmt.least, e - 1)
    return np.ldexp(np.ones(x.shape, EXTENDED), np.maximum(e, fmt.least) - fmt.p + 1)


class Way:
    def __init__(self, type_name, random, style, fault=None, exact=False):
        self.type, self.random, self.style, self.fault, self.exact = type_name, random, style, fault, exact
        self.format = FORMATS[type_name]
        self.wide = FORMATS["f64" if type_name == "f64" else "f32"]  # what narrow types are computed in
        self.carrier = EXTENDED if exact or type_name == "f64" else np.float64
        self.spot = None

    # ---- formats -------------------------------------------------------------------------------------------------------------------------------
    def load(self, a):
        return np.asarray(a).astype(self.carrier)

    def kept_wider(self):
        return self.exact or (self.style["work"] == "wider" or (self.style["work"] == "mixed" and self.random.random() < 0.5))

    def to(self, x, dtype):
        if self.exact:
            return x
        if dtype == ml_dtypes.bfloat16:
            return to_bf16(np.asarray(x, np.float64), self.style["order"] != "as they come").astype(self.carrier)
        return np.asarray(x).astype(dtype).astype(self.carrier)

    def rounded(self, x):
        return self.to(x, self.wide.dtype)

    def do(self, f, *xs, wider=None):
        """One operation, rounded to the wide type, or not."""
        if self.kept_wider() if wider is None else wider:
            return f(*xs)
        if self.type == "f64":
            return f(*(x.astype(np.float64) for x in xs)).astype(self.carrier)
        y = self.rounded(f(*(self.rounded(x) for x in xs)))
        if self.fault == "flush":
            y = np.where(np.abs(y) < 2.0 ** self.wide.least, 0 * y, y)
        return y

    def out(self, x, type_name=None):
        """What ends a definition."""
        if self.exact:
            return x
        name = type_name or self.type
        dtype = FORMATS[name].dtype
        x = np.asarray(x)
        if self.fault == "flush":
            x = np.where(np.abs(x) < 2.0 ** FORMATS[name].least, 0 * x, x)
        if name == "bf16":
            return to_bf16(np.asarray(x, np.float64), self.style["order"] != "as they come")
        return x.astype(dtype)

    # ---- operations ----------------------------------------------------------------------------------------------------------------------------
    def add(self, a, b, **k):
        return self.do(lambda x, y: x + y, a, b, **k)

    def sub(self, a, b, **k):
        return self.do(lambda x, y: x - y, a, b, **k)

    def mul(self, a, b, **k):
        return self.do(lambda x, y: x * y, a, b, **k)

    def fused(self):
        return self.style["fuse"] == "yes" or (self.style["fuse"] == "mixed" and self.random.random() < 0.5)

    def mul_add(self, a, b, c, wider=None):
        """a * b + c, fused or not."""
        wider = self.kept_wider() if wider is None else wider
        if wider:
            return a * b + c
        if not self.fused():
            return self.add(self.mul(a, b, wider=False), c, wider=False)
        a, b, c = np.broadcast_arrays(a, b, c)
        if self.type == "f64":
            return fma64(*(x.astype(np.float64) for x in (a, b, c))).astype(self.carrier)
        y = fma32(*(self.rounded(x) for x in (a, b, c)))
        return np.where(np.abs(y) < 2.0 ** self.wide.least, 0 * y, y) if self.fault == "flush" else y

    def near(self, real, limit, fmt, wider, how=None, loose=True):
        """A value within `limit` units in the last place of the real numbers (EXTENDED), a little less so that the real ones need not be exact; but the nearest
        where it is not `loose`."""
        if self.exact:
            return real
        how = how or self.style["off"]
        if how == "mixed":
            how = ("nearest", "up", "down", "random")[self.random.integers(4)]
        unit = ulp(real, fmt)
        limit = max(limit - 2.0 ** -7, 0)
        shift = {"nearest": 0, "up": limit, "down": -limit}.get(how)
        if shift is None:
            shift = self.random.uniform(-limit, limit, real.shape)
        loose = loose & np.isfinite(real) & (real != 0) & (np.abs(real) < float(fmt.largest) / 2)
        y = np.where(loose, real + shift * unit, real)
        nearest = self.rounded(real) if fmt is self.wide else self.to(real, fmt.dtype)
        if limit < 0.5:
            return nearest
        if wider and fmt is self.wide:
            return y.astype(self.carrier)
        z = self.to(y, fmt.dtype)
        with np.errstate(all="ignore"):
            return np.where(np.abs(z - real) <= limit * unit, z, self.stepped(z, real, fmt, nearest, limit * unit))

    def stepped(self, z, real, fmt, nearest, most):
        """One number of the format closer to the real ones."""
        step = np.asarray(z, np.float64).astype(fmt.dtype)
        bits = np.ascontiguousarray(step).view(fmt.bits).reshape(step.shape).astype(np.int64)
        sign = 1 << (fmt.dtype.itemsize * 8 - 1)
        line = np.where(bits & sign, -(bits & (sign - 1)), bits) if fmt.dtype.itemsize < 8 else np.where(bits < 0, -(bits & 0x7fffffffffffffff), bits)
        line = line + np.where(z > real, -1, 1)
        back = np.abs(line).astype(fmt.bits) | np.where(line < 0, np.array(sign, np.uint64), np.array(0, np.uint64)).astype(fmt.bits)
        z = np.ascontiguousarray(back).view(fmt.dtype).reshape(step.shape).astype(self.carrier)
        return np.where(np.abs(z - real) <= most, z, nearest)

    def error(self, name, fmt):
        return ERRORS[name][0 if fmt.name == "f64" else 1 if fmt.name == "f32" else 2]

    def ends(self, last):
        """Whether what comes out is the output itself, whose error its own rounding is part of."""
        return last and self.format is self.wide and not self.exact

    def function(self, name, x, fmt=None, last=False):
        """An elementary function in the wide type, or another format. `last`: nothing but the output's rounding follows."""
        fmt = fmt or self.wide
        wider = self.kept_wider() and not self.ends(last)
        if not wider:
            x = self.to(x, fmt.dtype)
        x = np.asarray(x, EXTENDED)
        return self.near(real_function(name, x), self.error(name, fmt), fmt, wider, loose=np.isfinite(x))

    def div(self, a, b, fmt=None, last=False):
        fmt = fmt or self.wide
        wider = self.kept_wider() and not self.ends(last)
        if not wider:
            a, b = self.to(a, fmt.dtype), self.to(b, fmt.dtype)
        real = np.asarray(np.asarray(a, EXTENDED) / np.asarray(b, EXTENDED))
        limit = self.error("/", fmt)
        if limit < 1:
            return real.astype(self.carrier) if wider else self.do(lambda x, y: x / y, a, b, wider=False) if fmt is self.wide else self.to(real, fmt.dtype)
        if self.style["division"] == "reciprocal" and not self.exact:
            y = self.mul(np.broadcast_to(a, real.shape), self.do(lambda x: 1 / x, np.asarray(b), wider=False), wider=False)
            good = (np.abs(y - real) <= limit * ulp(real, fmt)) & np.isfinite(real) & (np.abs(real) < float(fmt.largest) / 2)
            return np.where(good, y, self.near(real, limit, fmt, wider, "nearest"))
        return self.near(real, limit, fmt, wider, None if self.style["division"] == "off" else "nearest")

    def sqrt(self, x, last=False):
        return self.function("sqrt", x, last=last)

    # ---- sums --------------------------------------------------------------------------------------------------------------------------------------
    def order_of(self, size):
        """An order of the last axis, from the terms."""
        n, how = size.shape[-1], self.style["order"]
        if how == "mixed":
            how = ORDERS[self.random.integers(len(ORDERS))]
        size = np.asarray(size, np.float64)
        key = {"last first": -np.arange(n) + 0 * size, "small first": np.abs(size), "large first": -np.abs(size), "positive first": -np.sign(size)}.get(how)
        if how == "chance":
            key = self.random.random(size.shape)
        return None if key is None else np.argsort(key, axis=-1, kind="stable")

    def groups(self, n):
        how = self.style["tree"]
        if how == "mixed":
            how = TREES[self.random.integers(len(TREES))]
        r = self.random
        if how == "lanes":
            lanes = int(r.choice([2, 4, 8, 16]))
            return how, [np.arange(i, n, lanes) for i in range(min(lanes, n))]
        if how == "blocks":
            size = int(r.choice([2, 3, 5, 8, 16, 32]))
            return how, [np.arange(i, min(i + size, n)) for i in range(0, n, size)]
        if how in ("pairwise", "chance"):
            return how, [np.array([i]) for i in range(n)]
        return how, [np.arange(n)]

    def joined(self, parts, how, wider):
        parts = list(parts)
        while len(parts) > 1:
            if how == "chance":
                i = int(self.random.integers(len(parts) - 1))
                parts[i:i + 2] = [self.accumulated(parts[i], parts[i + 1], wider)]
            elif how == "pairwise":
                parts = [self.accumulated(parts[i], parts[i + 1], wider) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
            else:
                parts[:2] = [self.accumulated(parts[0], parts[1], wider)]
        return parts[0]

    def accumulated(self, a, b, wider):
        y = self.add(a, b, wider=wider)
        return self.narrowed(y)

    def narrowed(self, y):
        if self.fault == "f16 sums":
            return y.astype(np.float16).astype(self.carrier)
        if self.fault == "bf16 sums":
            return y.astype(ml_dtypes.bfloat16).astype(self.carrier)
        return y

    def damaged(self, n):
        """Position and factor of a term that is dropped or counted twice."""
        if self.fault in ("drop", "double") and n:
            self.spot = n - 1 if self.spot is None else self.spot
            return min(self.spot, n - 1), 0 if self.fault == "drop" else 2
        return None, 1

    def sum(self, t):
        """Over the last axis."""
        n = t.shape[-1]
        if n == 0:
            return np.zeros(t.shape[:-1], self.carrier)
        spot, factor = self.damaged(n)
        if spot is not None:
            t = t.copy()
            t[..., spot] = t[..., spot] * factor
        if self.exact:
            return t.sum(axis=-1)
        order = self.order_of(t)
        if order is not None:
            t = np.take_along_axis(t, order, -1)
        wider = self.kept_wider()
        if not wider:
            t = self.rounded(t)
        how, groups = self.groups(n)
        if how == "compensated":
            s, c = t[..., 0], np.zeros(t.shape[:-1], self.carrier)
            for k in range(1, n):
                y = self.sub(t[..., k], np.where(np.isfinite(c), c, 0), wider=wider)
                z = self.add(s, y, wider=wider)
                c = self.sub(self.sub(z, s, wider=wider), y, wider=wider)
                s = self.narrowed(z)
            return s
        parts = []
        for g in groups:
            s = t[..., g[0]]
            for k in g[1:]:
                s = self.accumulated(s, t[..., k], wider)
            parts.append(s)
        return self.joined(parts, how, wider)

    def dot(self, a, b, start=None):
        """Of the last axes; `start` may be the first term of the accumulation."""
        a, b = np.broadcast_arrays(a, b)
        n = a.shape[-1]
        if self.fault == "bf16 inputs":
            a, b = (x.astype(np.float32).astype(ml_dtypes.bfloat16).astype(self.carrier) for x in (a, b))
        zero = np.zeros(a.shape[:-1], self.carrier)
        if n == 0:
            return zero if start is None else start + zero
        spot, factor = self.damaged(n)
        if spot is not None:
            a = a.copy()
            a[..., spot] = a[..., spot] * factor
        if self.exact:
            y = (a * b).sum(axis=-1)
            return y if start is None else y + start
        order = self.order_of(a * b)
        if order is not None:
            a, b = np.take_along_axis(a, order, -1), np.take_along_axis(b, order, -1)
        wider = self.kept_wider()
        how, groups = self.groups(n)
        parts = []
        for g in groups:
            s = start + zero if start is not None and not parts else None
            for k in g:
                s = self.mul(a[..., k], b[..., k], wider=wider) if s is None else self.mul_add(a[..., k], b[..., k], s, wider=wider)
                s = self.narrowed(s)
            parts.append(s)
        return self.joined(parts, how, wider)

    # ---- what norms share ------------------------------------------------------------------------------------------------------------------------
    def mean(self, t, last=False):
        """Over the last axis."""
        n = t.shape[-1] - (1 if self.fault == "n-1" and t.shape[-1] > 1 else 0)
        return self.over_count(self.sum(t), n, last)

    def over_count(self, s, n, last=False):
        return self.div(s, np.full(np.shape(s), n, self.carrier), last=last)

    def square_sum(self, t):
        return self.dot(t, t)

    def variance(self, t, mean):
        """Of the last axis; mean without it."""
        n = t.shape[-1] - (1 if self.fault == "variance n-1" and t.shape[-1] > 1 else 0)
        if self.fault == "one pass":
            square = self.over_count(self.square_sum(t), n)
            return np.maximum(self.sub(square, self.mul(mean, mean, wider=False), wider=False), 0)
        return self.over_count(self.square_sum(self.sub(t, mean[..., None])), n)

    def deviation(self, var, epsilon):
        """sqrt(var + epsilon)."""
        e = self.carrier(np.float32(epsilon))
        if self.fault == "epsilon outside":
            return self.add(self.sqrt(var), e)
        if self.fault == "no epsilon":
            return self.sqrt(var)
        return self.sqrt(self.add(var, e))


def styles(random, count):
    """So many styles of computing: the plain ones first, then the adversaries, then by chance."""
    base = {"work": "wide", "order": "as they come", "tree": "one by one", "fuse": "no", "off": "nearest", "division": "nearest"}
    first = [{}, {"fuse": "yes"}, {"tree": "pairwise"}, {"tree": "lanes"}, {"tree": "blocks", "fuse": "yes"}, {"work": "wider"}, {"order": "small first"}, {"order": "large first"},
             {"order": "positive first"}, {"order": "last first", "fuse": "yes"}, {"tree": "compensated"}, {"division": "reciprocal"},
             {"off": "up", "division": "off"}, {"off": "down", "division": "off"}, {"off": "mixed", "division": "off"}, {"off": "up", "division": "off", "order": "large first"},
             {"off": "down", "division": "off", "order": "large first", "fuse": "yes"}, {"work": "wider", "off": "up", "division": "off"}, {"work": "wider", "off": "down", "division": "off"}]
    out = [{**base, **f} for f in first[:count]]
    pick = lambda *a: a[random.integers(len(a))]
    while len(out) < count:
        out.append({"work": pick("wide", "wide", "wider", "mixed"), "order": pick("mixed", *ORDERS), "tree": pick("mixed", *TREES), "fuse": pick("no", "yes", "mixed"),
                    "off": pick("nearest", "up", "down", "random", "mixed"), "division": pick("nearest", "reciprocal", "off", "off")})
    return out
