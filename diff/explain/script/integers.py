# --- integers, truth values, and the types by name -----------------------------------------------------------------------------------------

class Integer:
    """Machine integers, which wrap; without a width the integers of Z."""

    def __init__(self, name, width, signed):
        self.name, self.width, self.signed = name, width, signed
        if width:
            self.lowest, self.largest = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)

    def wrapped(self, x):
        if not self.width:
            return x
        x &= (1 << self.width) - 1
        return x - (1 << self.width) if self.signed and x > self.largest else x

    def decoded(self, bits):
        return self.wrapped(int(bits))

    def held(self, x):
        return max(self.lowest, min(self.largest, x)) if self.width else x

    def of(self, x, mode=""):
        if isinstance(x, Some):
            return lift(lambda v: self.of(v, mode), x)
        if isinstance(x, (int, bool)):
            return self.wrapped(int(x)) if mode == "" else self.held(int(x))
        f = round if mode == "exact" else math.trunc
        if x.lo is None:
            if mode == "":
                raise Cannot("NaN as an integer, which may be anything")
            return 0
        if mode == "" and not State.exact and (x.nan or may_be_infinite(x) or f(x.lo) < self.lowest or f(x.hi) > self.largest):
            raise Cannot("a number beyond an integer's range, which may be anything")
        lo, hi = (self.held(self.lowest if v == -INF else self.largest if v == INF else f(v)) for v in (x.lo, x.hi))
        if State.exact and lo != hi:
            raise Undecided()
        if hi - lo >= Some.MOST:
            raise Cannot("an integer may have too many values")
        return decide(sorted(set(range(lo, hi + 1)) | ({0} if x.nan else set()))) if lo != hi or x.nan else lo

    def from_bits(self, x, other):
        bits = other.coded(x) if isinstance(other, Float) else None if isinstance(x, Some) else x
        if bits is None:
            raise Cannot("the bits of what is not one number")
        return self.wrapped(bits)

    def coded(self, x):
        return x & ((1 << self.width) - 1)

    def _do(self, f, *x):
        return lift(lambda *v: self.wrapped(f(*v)), *x)

    def add(self, a, b):
        return self._do(lambda x, y: x + y, a, b)

    def sub(self, a, b):
        return self._do(lambda x, y: x - y, a, b)

    def mul(self, a, b):
        return self._do(lambda x, y: x * y, a, b)

    def neg(self, a):
        return self._do(lambda x: -x, a)

    def abs(self, a):
        return self._do(abs, a)

    def sign(self, a):
        return self._do(lambda x: (x > 0) - (x < 0), a)

    def min(self, a, b):
        return lift(min, a, b)

    def max(self, a, b):
        return lift(max, a, b)

    def div(self, a, b):
        return self._do(lambda x, y: x // y if y else 0, a, b)

    def mod(self, a, b):
        return self._do(lambda x, y: x % y if y else x, a, b)

    def quot(self, a, b):
        return self._do(lambda x, y: (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if y else 0, a, b)

    def rem(self, a, b):
        return self._do(lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1) if y else x, a, b)

    def pow(self, a, b):
        def power(x, y):
            if y >= 0:
                return pow(x, y, 1 << self.width) if self.width else x ** y
            return x if abs(x) == 1 and y % 2 else 1 if abs(x) == 1 else 0
        return self._do(power, a, b)

    def bit_and(self, a, b):
        return self._do(lambda x, y: x & y, a, b)

    def bit_or(self, a, b):
        return self._do(lambda x, y: x | y, a, b)

    def bit_xor(self, a, b):
        return self._do(lambda x, y: x ^ y, a, b)

    def bit_not(self, a):
        return self._do(lambda x: ~x, a)

    def shl(self, a, b):
        return self._do(lambda x, y: x << y if 0 <= y < self.width else 0, a, b)

    def shr(self, a, b):
        return self._do(lambda x, y: x >> y if 0 <= y < self.width else -1 if x < 0 else 0, a, b)

    def _fold(self, terms, start, empty, f):
        out = empty if start is None else start
        for t in terms:
            if isinstance(t, Perhaps):
                out = union(out, f(out, t.value))
            elif t is not SKIP:
                out = f(out, t)
        return out

    def sum(self, terms, optional=False, start=None):
        return self._fold(terms, start, 0, self.add)

    def dot(self, terms, optional=False, start=None):
        return self.sum((t if t is SKIP else Perhaps(self.mul(*t.value)) if isinstance(t, Perhaps) else self.mul(*t) for t in terms), optional, start)

    def prod(self, terms, optional=False, start=None):
        return self._fold(terms, start, 1, self.mul)

    def greatest(self, terms, optional=False, start=None):
        return self._fold(terms, start, self.lowest if self.width else -INF, self.max)

    def smallest(self, terms, optional=False, start=None):
        return self._fold(terms, start, self.largest if self.width else INF, self.min)

    def key(self, x):
        if isinstance(x, Some):
            raise Cannot("an order of what is not certain")
        return (0, x)

    def precedes(self, a, b, sign):
        return lift(lambda x, y: x > y if sign > 0 else x < y, a, b)

    def lt(self, a, b):
        return lift(lambda x, y: x < y, a, b)

    def le(self, a, b):
        return lift(lambda x, y: x <= y, a, b)

    def gt(self, a, b):
        return lift(lambda x, y: x > y, a, b)

    def ge(self, a, b):
        return lift(lambda x, y: x >= y, a, b)

    def eq(self, a, b):
        return lift(lambda x, y: x == y, a, b)

    def ne(self, a, b):
        return lift(lambda x, y: x != y, a, b)

    def is_nan(self, a):
        return False

    def is_inf(self, a):
        return False


class Truth(Integer):
    def __init__(self):
        super().__init__("bool", 1, False)

    def wrapped(self, x):
        return bool(x)

    def of(self, x, mode=""):
        return no(equal(x, number(Fraction(0)))) if isinstance(x, Range) else lift(bool, x)


class Texts:
    """Texts are read and compared, and not more."""
    name = "string"

    def decoded(self, x):
        return x

    def eq(self, a, b):
        return a == b

    def ne(self, a, b):
        return a != b


F4E2M1 = Float("f4e2m1", 2, 1, 1, False, "none")
F6E2M3 = Float("f6e2m3", 2, 3, 1, False, "none")
F6E3M2 = Float("f6e3m2", 3, 2, 3, False, "none")
F8E4M3FN = Float("f8e4m3fn", 4, 3, 7, False, "ones")
F8E4M3FNUZ = Float("f8e4m3fnuz", 4, 3, 8, False, "minus zero")
F8E5M2 = Float("f8e5m2", 5, 2, 15, True, "ieee")
F8E5M2FNUZ = Float("f8e5m2fnuz", 5, 2, 16, False, "minus zero")
F8E8M0 = Float("f8e8m0", 8, 0, 127, False, "ones", signed=False)
F16 = Float("f16", 5, 10, 15, True, "ieee")
BF16 = Float("bf16", 8, 7, 127, True, "ieee")
F32 = Float("f32", 8, 23, 127, True, "ieee")
F64 = Float("f64", 11, 52, 1023, True, "ieee")
R = Reals()
I2, I4, I8, I16, I32, I64 = (Integer("i%d" % n, n, True) for n in (2, 4, 8, 16, 32, 64))
U2, U4, U8, U16, U32, U64 = (Integer("u%d" % n, n, False) for n in (2, 4, 8, 16, 32, 64))
Z = Integer("Z", 0, True)
BOOL = Truth()
STRING = Texts()
