# --- functions: mpmath at more bits than are asked for, and the ends moved outwards by 2^-bits

def of_mpf(y):
    sign, man, exp, _ = y._mpf_
    if man == 0:
        return Fraction(0)
    if exp > 40000 or exp < -40000 - man.bit_length():
        return None
    return Fraction(-man if sign else man) * Fraction(2) ** exp


def enclosed(f, *args):
    """Bounds of a function of numbers that mpmath knows."""
    extra = max(min(a.numerator.bit_length(), 1200) + min(a.denominator.bit_length(), 1200) for a in args)
    with mpmath.workprec(State.bits + 64 + extra):
        y = f(*[mpmath.mpf(a.numerator) / a.denominator for a in args])
        if mpmath.isinf(y):
            return (INF, INF) if y > 0 else (-INF, -INF)
        x = of_mpf(y)
        if x is None:
            huge = Fraction(2) ** 40000
            large = mpmath.fabs(y) > 1
            low, high = (huge, INF) if large else (Fraction(0), 1 / huge)
            return (low, high) if y > 0 else (-high, -low)
    pad = abs(x) / 2 ** State.bits
    return x - pad, x + pad


def _root(x):
    n, d = x.numerator, x.denominator
    r, q = math.isqrt(n), math.isqrt(d)
    if r * r == n and q * q == d:
        return Fraction(r, q), Fraction(r, q)
    shift = max(0, 2 * State.bits - n.bit_length() + d.bit_length()) // 2 + 2
    low = math.isqrt((n << 2 * shift) // d)
    return Fraction(low, 1 << shift), Fraction(low + 1, 1 << shift)


def _power_of_two(x):
    return Fraction(2) ** x.numerator if x.denominator == 1 and abs(x) < 20000 else None


# name: (function, exact values, values at -inf and at +inf, lowest and highest argument, rising). None: NaN there.
def _table():
    m = mpmath
    whole = (-INF, INF)
    return {
        "exp": (m.exp, {0: 1}, (Fraction(0), INF), whole, 1),
        "exp2": (lambda x: m.power(2, x), {}, (Fraction(0), INF), whole, 1),
        "exp10": (lambda x: m.power(10, x), {}, (Fraction(0), INF), whole, 1),
        "expm1": (m.expm1, {0: 0}, (Fraction(-1), INF), whole, 1),
        "log": (m.log, {1: 0, 0: -INF}, (None, INF), (0, INF), 1),
        "log2": (lambda x: m.log(x) / m.log(2), {1: 0, 0: -INF}, (None, INF), (0, INF), 1),
        "log10": (m.log10, {1: 0, 0: -INF}, (None, INF), (0, INF), 1),
        "log1p": (m.log1p, {0: 0, -1: -INF}, (None, INF), (-1, INF), 1),
        "cbrt": (lambda x: m.sign(x) * m.cbrt(abs(x)), {0: 0, 1: 1, -1: -1, 8: 2, -8: -2, 27: 3, -27: -3}, whole, whole, 1),
        "rsqrt": (lambda x: 1 / m.sqrt(x), {1: 1, 0: INF}, (None, Fraction(0)), (0, INF), -1),
        "asin": (m.asin, {0: 0}, (None, None), (-1, 1), 1),
        "acos": (m.acos, {1: 0}, (None, None), (-1, 1), -1),
        "atan": (m.atan, {0: 0}, "atan", whole, 1),
        "sinh": (m.sinh, {0: 0}, whole, whole, 1),
        "tanh": (m.tanh, {0: 0}, (Fraction(-1), Fraction(1)), whole, 1),
        "asinh": (m.asinh, {0: 0}, whole, whole, 1),
        "acosh": (m.acosh, {1: 0}, (None, INF), (1, INF), 1),
        "atanh": (m.atanh, {0: 0, 1: INF, -1: -INF}, (None, None), (-1, 1), 1),
        "erf": (m.erf, {0: 0}, (Fraction(-1), Fraction(1)), whole, 1),
        "erfc": (m.erfc, {0: 1}, (Fraction(2), Fraction(0)), whole, -1),
        "sigmoid": (lambda x: 1 / (1 + m.exp(-x)), {0: Fraction(1, 2)}, (Fraction(0), Fraction(1)), whole, 1),
        "softplus": (lambda x: m.log1p(m.exp(x)) if x < 1000 else x + m.exp(-x), {}, (Fraction(0), INF), whole, 1),
        "softsign": (lambda x: x / (1 + abs(x)), {0: 0}, (Fraction(-1), Fraction(1)), whole, 1),
        "phi": (lambda x: m.erfc(-x / m.sqrt(2)) / 2, {0: Fraction(1, 2)}, (Fraction(0), Fraction(1)), whole, 1),
        "phi_tanh": (lambda x: 1 / (1 + m.exp(-2 * m.sqrt(2 / m.pi) * (x + m.mpf(44715) / 1000000 * x ** 3))), {0: Fraction(1, 2)}, (Fraction(0), Fraction(1)), whole, 1),
        "mish_share": (lambda x: m.tanh(m.log1p(m.exp(x))) if x < 1000 else m.mpf(1), {0: Fraction(3, 5)}, (Fraction(0), Fraction(1)), whole, 1),
    }


FUNCTIONS = _table()
ELEMENTARY = set(FUNCTIONS) | {"pow", "atan2", "hypot", "sin", "cos", "sin_turn", "cos_turn", "tan", "cosh", "silu", "gelu", "gelu_tanh", "mish", "hardswish"}
ODD = {"expm1", "log1p", "cbrt", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "softsign", "sin", "tan"}


def at_end(name, x):
    f, exact, limits, (low, high), _ = FUNCTIONS[name]
    if abs(x) == INF:
        if limits == "atan":
            y = enclosed(lambda z: z * mpmath.pi / 2, Fraction(1))
            return y if x > 0 else (-y[1], -y[0])
        y = limits[x > 0]
        return None if y is None else (y, y)
    if x in exact:
        y = exact[x]
        y = y if isinstance(y, float) else Fraction(y)
        return y, y
    if name == "exp2" and _power_of_two(x) is not None:
        return (_power_of_two(x),) * 2
    if name == "log2" and x > 0 and x.numerator & (x.numerator - 1) == 0 and x.denominator & (x.denominator - 1) == 0:
        return (Fraction(x.numerator.bit_length() - x.denominator.bit_length()),) * 2
    if name in ("exp10", "log10") and x.denominator == 1 and abs(x) < 4000:
        if name == "exp10":
            return (Fraction(10) ** x.numerator,) * 2
        k = len(str(x.numerator)) - 1
        if x > 0 and x == 10 ** k:
            return (Fraction(k),) * 2
    return enclosed(f, x)


def monotone(name, a):
    if a.lo is None:
        return a
    _, _, _, (low, high), rising = FUNCTIONS[name]
    nan, lo, hi = a.nan or a.lo < low or a.hi > high, max(a.lo, low), min(a.hi, high)
    if lo > hi or (abs(lo) == INF and at_end(name, lo) is None and lo == hi):
        return nothing_but_nan()
    lo, hi = (Fraction(x) if abs(x) != INF else x for x in (lo, hi))
    first, last = at_end(name, lo), at_end(name, hi)
    if first is None or last is None:
        nan = True
        first, last = first or last, last or first
    if rising < 0:
        first, last = last, first
    zero = a.zero if name in ODD else 1
    if name == "rsqrt" and a.lo == a.hi == 0:
        return Range(-INF, -INF) if a.zero == 2 else Range(INF, INF) if a.zero == 1 else Range(-INF, INF)
    return Range(first[0], last[1], nan, zero)


def periodic(name, a):
    """Sine and cosine, of radians or of turns: nowhere steeper than 7."""
    if a.lo is None or may_be_infinite(a):
        return nothing_but_nan() if a.lo is None or a.point() else Range(Fraction(-1), Fraction(1), True, 3)
    if a.point():
        x = a.lo
        if name.endswith("_turn"):
            turns = x - math.floor(x) + (Fraction(1, 4) if name == "cos_turn" else 0)
            known = {Fraction(0): 0, Fraction(1, 12): Fraction(1, 2), Fraction(1, 4): 1, Fraction(5, 12): Fraction(1, 2), Fraction(1, 2): 0,
                     Fraction(7, 12): Fraction(-1, 2), Fraction(3, 4): -1, Fraction(11, 12): Fraction(-1, 2)}
            turns -= math.floor(turns)
            if turns in known:
                return number(Fraction(known[turns]), a.zero or 1)
            return Range(*enclosed(lambda t: mpmath.sinpi(2 * t), turns), False, 3)
        if x == 0:
            return number(Fraction(0), a.zero) if name == "sin" else number(Fraction(1))
        return Range(*enclosed(getattr(mpmath, name), x), False, 3)
    middle = (a.lo + a.hi) / 2
    y = periodic(name, number(middle))
    reach = 7 * (a.hi - a.lo) / 2
    return Range(max(y.lo - reach, Fraction(-1)), min(y.hi + reach, Fraction(1)), a.nan, 3)


def tangent(a):
    if a.lo is None or may_be_infinite(a):
        return nothing_but_nan() if a.lo is None or a.point() else anything()
    if a.point() and a.lo == 0:
        return number(Fraction(0), a.zero)
    branch = lambda x: enclosed(lambda z: z / mpmath.pi + mpmath.mpf(1) / 2, x)
    (p, _), (_, q) = branch(a.lo), branch(a.hi)
    if math.floor(p) != math.floor(q):
        return maybe() and anything()
    return Range(enclosed(mpmath.tan, a.lo)[0], enclosed(mpmath.tan, a.hi)[1], a.nan, 3)


def hyperbolic_cosine(a):
    if a.lo is None:
        return a
    m = magnitude(a)
    value = lambda x: (INF, INF) if x == INF else (Fraction(1), Fraction(1)) if x == 0 else enclosed(mpmath.cosh, x)
    return Range(value(m.lo)[0], value(m.hi)[1], a.nan)


def square_root(a):
    if a.lo is None or a.hi < 0:
        return nothing_but_nan()
    lo = max(a.lo, Fraction(0))
    value = lambda x: (INF, INF) if x == INF else _root(x)
    return Range(value(lo)[0], value(a.hi)[1], a.nan or a.lo < 0, a.zero)


def power(a, b):
    """x^y with the special values of IEEE 754-2019, 9.2.1."""
    if (b.point() and b.lo == 0) or (a.point() and a.lo == 1):
        return number(Fraction(1))
    if a.lo is None or b.lo is None:
        return nothing_but_nan()
    whole = b.point() and abs(b.lo) != INF and b.lo.denominator == 1
    if a.lo < 0 and not whole:
        if a.point() and a.lo != -INF and abs(b.lo) != INF and b.point():
            return nothing_but_nan()
        return _power_apart(a, b)
    if whole and abs(b.lo) <= 64 and not has_zero(a) and not may_be_infinite(a):
        n = b.lo.numerator
        ends = [a.lo ** n, a.hi ** n]
        return trimmed(Range(min(ends), max(ends), a.nan or b.nan))
    if whole and a.point() and a.lo == 0:
        n = b.lo.numerator
        sign = 2 if n % 2 and a.zero == 2 else 1
        return number(Fraction(0), sign) if n > 0 else number(-INF if sign == 2 else INF)
    if a.lo < 0:
        if a.hi > 0:
            return anything() if not State.exact else maybe()
        p = power(negative(a), b)
        return negative(p) if b.lo.numerator % 2 else p
    ends = [_power(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(e[0] for e in ends), max(e[1] for e in ends), a.nan or b.nan)


def _power_apart(a, b):
    if not (a.point() and b.point()):
        return anything() if not State.exact else maybe()
    x, y = a.lo, b.lo
    if abs(y) == INF:
        return number(Fraction(1)) if abs(x) == 1 else number(INF) if (abs(x) > 1) == (y > 0) else number(Fraction(0))
    return number(INF) if y > 0 else number(Fraction(0))  # of -infinity


def _power(x, y):
    if abs(y) == INF or x == INF:
        if x == 1:
            return Fraction(1), Fraction(1)
        big = (x > 1) == (y > 0)
        return (INF, INF) if big else (Fraction(0), Fraction(0))
    if x == 0:
        return (INF, INF) if y < 0 else (Fraction(1), Fraction(1)) if y == 0 else (Fraction(0), Fraction(0))
    if y.denominator in (1, 2) and abs(y) <= 64:
        r = _root(x) if y.denominator == 2 else (x, x)
        ends = sorted([r[0] ** y.numerator, r[1] ** y.numerator])
        return ends[0], ends[1]
    return enclosed(mpmath.power, x, y)


def arctangent2(y, x):
    if y.lo is None or x.lo is None:
        return nothing_but_nan()
    if may_be_infinite(x) or may_be_infinite(y):
        raise Cannot("atan2 of infinities")
    if x.lo == 0 == x.hi and y.lo == 0 == y.hi:
        if x.zero == 1:
            return number(Fraction(0), y.zero)
        p = enclosed(lambda z: z * mpmath.pi, Fraction(1))
        return Range(*(p if y.zero == 1 else (-p[1], -p[0]))) if x.zero == 2 and y.zero in (1, 2) else anything()
    if x.lo <= 0 and has_zero(y) and not (y.lo == y.hi == 0 and y.zero in (1, 2) and x.hi < 0):
        return anything() if not State.exact else maybe()
    def value(v, u):
        if v == 0 and u > 0:
            return Fraction(0), Fraction(0)
        if v == 0 and y.zero == 2:
            p = enclosed(lambda z: z * mpmath.pi, Fraction(1))
            return -p[1], -p[0]
        return enclosed(mpmath.atan2, v, u)
    ends = [value(v, u) for v in (y.lo, y.hi) for u in (x.lo, x.hi)]
    return Range(min(e[0] for e in ends), max(e[1] for e in ends), x.nan or y.nan, y.zero or 1)


def function(name, *x):
    """Bounds of the real function."""
    if name == "pow":
        return power(*x)
    if name == "atan2":
        return arctangent2(*x)
    if name == "hypot":
        if any(may_be_infinite(v) for v in x):
            return number(INF) if any(v.point() and abs(v.lo) == INF for v in x) else anything()
        return square_root(plus(times(magnitude(x[0]), magnitude(x[0])), times(magnitude(x[1]), magnitude(x[1]))))
    a = x[0]
    if name in ("sin", "cos", "sin_turn", "cos_turn"):
        return periodic(name, a)
    if name == "tan":
        return tangent(a)
    if name == "cosh":
        return hyperbolic_cosine(a)
    share = {"silu": "sigmoid", "gelu": "phi", "gelu_tanh": "phi_tanh", "mish": "mish_share"}.get(name)
    if share or name == "hardswish":
        if a.lo is None:
            return a
        if a.point() and a.lo == -INF:
            return Range(Fraction(0), Fraction(0), False, 3)
        if name == "hardswish":
            s = lambda v: Fraction(v > 0) if abs(v) == INF else min(Fraction(1), max(Fraction(0), v / 6 + Fraction(1, 2)))
            g = Range(s(a.lo), s(a.hi))
        else:
            g = monotone(share, a)
        return times(a, g)
    if name in FUNCTIONS:
        return monotone(name, a)
    raise Cannot("the function " + name)
