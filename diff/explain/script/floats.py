# --- element types: what an operation yields, over the reals or with what the profile admits ---------------------------------------------

class Sum:
    """Of a value that ends in a sum: how many terms, the sum of their magnitudes, and bounds of the real sum."""

    def __init__(self, kind, n, magnitude, lo, hi, rounded_products):
        self.kind, self.n, self.magnitude, self.lo, self.hi, self.rounded_products = kind, n, magnitude, lo, hi, rounded_products


class Float:
    def __init__(self, name, exponent_bits, fraction_bits, bias, infinite, nan, signed=True):
        self.name, self.fraction_bits, self.bias, self.infinite, self.nan_kind, self.signed = name, fraction_bits, bias, infinite, nan, signed
        self.width = (1 if signed else 0) + exponent_bits + fraction_bits
        self.p = fraction_bits + 1
        self.e_min = 1 - bias if signed else -bias
        self.magnitude_mask = (1 << (exponent_bits + fraction_bits)) - 1
        self.infinity_code = ((1 << exponent_bits) - 1) << fraction_bits
        self.largest_code = {"ieee": self.infinity_code - 1, "ones": self.magnitude_mask - 1}.get(nan, self.magnitude_mask)
        self.largest = self.decoded(self.largest_code).lo
        self.unit = Fraction(1, 2 ** self.p)                            # unit roundoff
        self.least = Fraction(2) ** (self.e_min - fraction_bits)        # subnormal

    # --- codes
    def decoded(self, bits):
        code, minus = bits & self.magnitude_mask, self.signed and bits > self.magnitude_mask
        if self.nan_kind == "ieee" and code > self.infinity_code or self.nan_kind == "ones" and code == self.magnitude_mask or self.nan_kind == "minus zero" and minus and code == 0:
            return nothing_but_nan()
        if self.infinite and code == self.infinity_code:
            return number(-INF if minus else INF)
        exponent, fraction = code >> self.fraction_bits, code & ((1 << self.fraction_bits) - 1)
        if self.signed and exponent == 0:
            x = fraction * Fraction(2) ** (1 - self.bias - self.fraction_bits)
        else:
            x = ((1 << self.fraction_bits) + fraction) * Fraction(2) ** (exponent - self.bias - self.fraction_bits)
        return number(-x if minus else x, 2 if minus else 1)

    def all_finite(self, codes):
        if self.nan_kind == "minus zero":
            return not (codes == self.magnitude_mask + 1).any()
        top = {"ieee": self.infinity_code, "ones": self.magnitude_mask}.get(self.nan_kind, self.magnitude_mask + 1)
        return not ((codes & self.magnitude_mask) >= top).any()

    def coded(self, r):
        """Bits of one number that the type has; None where there is no such one number."""
        if not r.point():
            return None
        minus, x = r.lo < 0 or (r.lo == 0 and r.zero == 2), abs(r.lo)
        if x == INF:
            code = self.infinity_code
        elif x == 0:
            code = 0
        else:
            code = int(x / self.ulp(x))
            code += ((self.exponent(x) - self.e_min) << self.fraction_bits) if code >> self.fraction_bits else 0
        return code | (minus << (self.width - 1))

    # --- rounding
    def exponent(self, x):
        n, d = abs(x.numerator), x.denominator
        e = n.bit_length() - d.bit_length()
        if (n << -e if e < 0 else n) < (d << e if e > 0 else d):
            e -= 1
        return max(e, self.e_min)

    def ulp(self, x):
        """The unit in the last place of a real number; above the largest finite one it goes on, and an infinity counts as the number after it."""
        if x == 0:
            return self.least
        if abs(x) == INF:
            x = self.beyond()
        return Fraction(2) ** (min(self.exponent(x), self.exponent(self.beyond())) - self.fraction_bits)

    def beyond(self):
        return Fraction(2) ** (self.exponent(self.largest) + 1)

    def overflowed(self, minus):
        if self.infinite:
            return -INF if minus else INF
        return -self.largest if minus else self.largest

    def _to(self, x, f):
        if x == 0 or not isinstance(x, Fraction):
            return x
        step = Fraction(2) ** (self.exponent(x) - self.fraction_bits)
        return Fraction(f(x / step)) * step

    def near(self, x):
        y = self._to(x, round)
        return y if y is None or abs(y) <= self.largest or abs(y) == INF and self.infinite else self.overflowed(y < 0)

    def up(self, x):
        y = self._to(x, math.ceil)
        return self.overflowed(False) if y > self.largest else max(y, -self.largest) if abs(y) != INF else y

    def down(self, x):
        y = self._to(x, math.floor)
        return self.overflowed(True) if y < -self.largest else min(y, self.largest) if abs(y) != INF else y

    def done(self, r, name=None):
        """What an operation with this real result may yield: rounded to the type or to f32, or kept as it is."""
        if State.exact or r.lo is None:
            return trimmed(r)
        lo, hi, tight = r.lo, r.hi, None
        k = Fraction(ULPS.get((name, self.name), 0.5))
        error = Fraction(FUNCTION_ERROR) if name in ELEMENTARY else 0
        if k > Fraction(1, 2) or error:
            lo = lo if abs(lo) == INF else lo - k * self.ulp(lo) - error
            hi = hi if abs(hi) == INF else hi + k * self.ulp(hi) + error
            tight = min(self.up(lo), self.near(r.lo)), max(self.down(hi), self.near(r.hi))
        low, high = [self.near(lo)], [self.near(hi)]
        if self.p < 24:
            low, high = low + [F32.near(lo)], high + [F32.near(hi)]
        out = trimmed(Range(min([lo] + low), max([hi] + high), r.nan, r.zero | (2 if lo < 0 else 0) | (1 if hi > 0 else 0)))
        if not self.infinite and max(abs(out.lo), abs(out.hi)) > self.largest:
            out.nan = True
        out.tight, out.skip = tight, r.skip
        return out

    def members(self, r):
        """The numbers of the type that a value may end as: intervals, and whether NaN is one."""
        out = []
        for p in r.parts or [r]:
            if p.lo is None:
                continue
            lo, hi = p.tight or (self.near(p.lo), self.near(p.hi))
            if lo <= hi:
                zero = (p.zero or 0) | (1 if p.hi > 0 else 0) | (2 if p.lo < 0 else 0)
                out.append((lo, hi, zero))
        return out, r.nan or r.lo is None

    # --- constants, and casts to the type
    def value(self, x):
        if x != x:
            return nothing_but_nan()
        return number(x if abs(x) == INF else Fraction(x), 2 if math.copysign(1, x) < 0 else 1)

    def of(self, x, mode=""):
        if isinstance(x, Some):
            return lift(lambda v: self.of(v, mode), x)
        if isinstance(x, (int, bool)):
            return self.done(number(Fraction(int(x))))
        if State.exact:
            return x
        if mode.startswith("saturate") and x.lo is not None:
            held = lambda v: max(-self.largest, min(self.largest, v))
            x = Range(Fraction(held(x.lo)), Fraction(held(x.hi)), x.nan, x.zero)
        if mode not in ("", "saturate", "exact"):
            raise Cannot("a cast that rounds " + mode)
        if x.nan and self.nan_kind == "none":
            raise Cannot("NaN as a type without it")
        out = self.done(x)
        out.sum = x.sum
        out.tight = out.tight or None
        return out

    def from_bits(self, x, other):
        """The bits of a number of another type."""
        bits = other.coded(x) if isinstance(other, Float) else None if isinstance(x, Some) else x & ((1 << other.width) - 1)
        if bits is None:
            raise Cannot("the bits of what is not one number")
        return self.decoded(bits)

    # --- arithmetic
    def add(self, a, b):
        return self._sum(a, b) if (a.sum or b.sum) else self.done(plus(a, b))

    def sub(self, a, b):
        return self._sum(a, negative(b), b.sum) if (a.sum or b.sum) else self.done(plus(a, negative(b)))

    def _sum(self, a, b, negated=None):
        """What is added to a sum may join it."""
        s, t = a.sum, b.sum
        if negated:
            t = Sum(negated.kind, negated.n, negated.magnitude, -negated.hi, -negated.lo, negated.rounded_products)
        exact = plus(a, b)
        if any(v.lo is None or may_be_infinite(v) or v.nan for v in (a, b)) or any(x and x.kind is not self for x in (s, t)):
            return self.done(exact)
        s, t = [x or Sum(self, 1, max(abs(v.lo), abs(v.hi)), v.lo, v.hi, 0) for x, v in ((s, a), (t, b))]
        return self._summed(Sum(self, s.n + t.n, s.magnitude + t.magnitude, s.lo + t.lo, s.hi + t.hi, s.rounded_products + t.rounded_products), exact)

    def _summed(self, s, exact):
        if State.exact:
            out = trimmed(exact)
        else:
            bound, u = s.magnitude * (1 + s.n * self.unit), self.unit
            if bound >= self.largest + self.ulp(self.largest) / 2:
                return anything()
            tiny = s.rounded_products * self.least / 2
            reach = max(s.n - 1, 1 if s.rounded_products and s.n > 1 else 0) * u * (s.magnitude + tiny) + tiny
            out = self.done(Range(s.lo - reach, s.hi + reach, False, 3))
        out.sum = s
        return out

    def mul(self, a, b):
        return self.done(times(a, b))

    def over(self, a, b):
        return self.done(over(a, b), "/")

    def reciprocal(self, a):
        return self.done(over(number(Fraction(1)), a), "reciprocal")

    def sqrt(self, a):
        return self.done(square_root(a), "sqrt")

    def neg(self, a):
        return negative(a)

    def abs(self, a):
        return magnitude(a)

    def sign(self, a):
        if a.lo is None:
            return a
        s = lambda x: Fraction((x > 0) - (x < 0))
        return Range(s(a.lo), s(a.hi), a.nan, a.zero)

    def min(self, a, b):
        return extreme([a, b], -1)

    def max(self, a, b):
        return extreme([a, b], 1)

    def _whole(self, a, f):
        if a.lo is None:
            return a
        lo, hi = (x if abs(x) == INF else Fraction(f(x)) for x in (a.lo, a.hi))
        if State.exact and lo != hi:
            raise Undecided()
        if State.world is not None and lo != hi and hi - lo <= 8:
            k = decide([lo + k for k in range(int(hi - lo) + 1)])
            return Range(k, k, a.nan, 3)
        out = Range(lo, hi, a.nan, 3 if a.lo < 0 < a.hi else 2 if a.lo < 0 or a.zero == 2 else a.zero or 1)
        if lo != hi and hi - lo <= 8:
            out.parts = [Range(lo + k, lo + k, a.nan, 3) for k in range(int(hi - lo) + 1)]
        return out

    def floor(self, a):
        return self._whole(a, math.floor)

    def ceil(self, a):
        return self._whole(a, math.ceil)

    def round_even(self, a):
        return self._whole(a, round)

    def trunc(self, a):
        return self._whole(a, math.trunc)

    def _remainder(self, a, b, f, of_divisor):
        if a.lo is None or b.lo is None or (b.lo == b.hi == 0) or a.point() and abs(a.lo) == INF:
            return nothing_but_nan()
        if has_zero(b) or may_be_infinite(a):
            return anything() if not State.exact else maybe()
        if may_be_infinite(b):
            if not (a.point() and b.point()):
                return anything() if not State.exact else maybe()
            same = a.lo == 0 or (a.lo > 0) == (b.lo > 0)
            return Range(a.lo, a.hi, False, a.zero) if same or not of_divisor else b
        q = [Fraction(f(x / y)) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        if min(q) == max(q):
            r = plus(a, negative(times(b, number(q[0]))))
            if r.lo == r.hi == 0:
                r.zero = ((1 if b.lo > 0 else 2) if of_divisor else a.zero or (1 if a.lo > 0 else 2))
            return self.done(r)
        if State.exact:
            raise Undecided()
        most = max(abs(b.lo), abs(b.hi))
        lo, hi = (b.lo < 0, b.hi > 0) if of_divisor else (a.lo < 0, a.hi > 0)
        return Range(-most if lo else Fraction(0), most if hi else Fraction(0), a.nan or b.nan, 3)

    def rem(self, a, b):
        return self._remainder(a, b, math.trunc, False)

    def mod(self, a, b):
        return self._remainder(a, b, math.floor, True)

    # --- reductions
    def sum(self, terms, products=False, optional=False, start=None):
        lo = hi = S = Fraction(0)
        n = tiny = 0
        nan = sure_nan = False
        infinite = {1: 0, -1: 0}  # 1: perhaps, 2: surely
        signs_of_zeros = 0
        if optional and not State.finite:
            raise Cannot("terms that may be left out or not, with infinities or NaN")
        first = [] if start is None else [(start, number(Fraction(1))) if products else start]
        for t in itertools.chain(first, terms):
            perhaps = isinstance(t, Perhaps)
            t = t.value if perhaps else t
            if t is SKIP:
                continue
            q = times(*t) if products else t
            perhaps = perhaps or q.skip
            n += 1
            if q.lo is None or q.nan:
                nan, sure_nan = True, sure_nan or (q.lo is None and not perhaps)
                if q.lo is None:
                    continue
            for sign, end, other in ((1, q.hi, q.lo), (-1, q.lo, q.hi)):
                if abs(end) == INF and (end > 0) == (sign > 0):
                    infinite[sign] = max(infinite[sign], 2 if other == end and not perhaps else 1)
            if may_be_infinite(q):
                continue
            signs_of_zeros |= (q.zero if q.lo == q.hi == 0 else 1)
            if perhaps:
                q = Range(min(q.lo, Fraction(0)), max(q.hi, Fraction(0)))
            lo, hi, S = lo + q.lo, hi + q.hi, S + max(abs(q.lo), abs(q.hi))
            if not State.exact and isinstance(self, Float) and (q.lo != q.hi or (q.lo / self.least).denominator != 1):
                tiny += 1
            if length(lo) > 3000 or length(hi) > 3000:
                if lo != hi or length(lo) > 60000:
                    lo, hi = outward(lo, False, 2 * State.bits), outward(hi, True, 2 * State.bits)
        if sure_nan or (infinite[1] == 2 and infinite[-1] == 2):
            return nothing_but_nan()
        if infinite[1] or infinite[-1]:
            both = infinite[1] and infinite[-1]
            if max(infinite.values()) == 2:
                return Range(*([INF] * 2 if infinite[1] == 2 else [-INF] * 2), nan or bool(both) or not State.exact and self._overflows(S, n))
            return Range(-INF, INF, True, 3)
        zero = 2 if n and signs_of_zeros == 2 and lo == hi == 0 and not products else 1
        if n <= 1 and not products:
            out = self.done(Range(lo, hi, nan, zero if State.exact else 3))
            out.sum = Sum(self, n, S, lo, hi, tiny)
            return out
        out = self._summed(Sum(self, n, S, lo, hi, tiny), Range(lo, hi, nan, zero))
        if nan and out.lo is not None:
            out.nan = True
        return out

    def _overflows(self, S, n):
        return S * (1 + n * self.unit) >= self.largest

    def dot(self, terms, optional=False, start=None):
        return self.sum(terms, True, optional, start)

    def prod(self, terms, optional=False, start=None):
        out, n = number(Fraction(1)) if start is None else start, 0 if start is None else 1
        for t in terms:
            if isinstance(t, Perhaps):
                raise Cannot("a product whose factors are not certain")
            if t is not SKIP:
                out, n = trimmed(times(out, t)), n + 1
        if State.exact or n <= 1 or out.lo is None:
            return self.done(out)
        top, low = self.largest, Fraction(2) ** self.e_min
        if may_be_infinite(out) or max(abs(out.lo), abs(out.hi)) * 2 > top or min(abs(out.lo), abs(out.hi)) < 2 * low:
            return Range(-INF, INF, True, 3)
        g = (1 + self.unit) ** (n - 1) - 1
        return self.done(Range(out.lo - abs(out.lo) * g, out.hi + abs(out.hi) * g))

    def _extreme(self, terms, sign, start):
        values = [] if start is None else [start]
        sure = start is not None
        for t in terms:
            if isinstance(t, Perhaps):
                raise Cannot("a maximum over what is not certain")
            if t is not SKIP:
                values.append(t)
        if values:
            return extreme(values, sign)
        return number(-INF if sign > 0 else INF) if self.infinite else number(-self.largest if sign > 0 else self.largest)

    def greatest(self, terms, optional=False, start=None):
        return self._extreme(terms, 1, start)

    def smallest(self, terms, optional=False, start=None):
        return self._extreme(terms, -1, start)

    def key(self, x):
        """For orders: NaN is greatest, -0 equals 0."""
        if x.lo is None:
            return (1, 0)
        if not x.point():
            raise Undecided() if State.exact else Cannot("an order of what is not certain")
        return (0, x.lo)

    def precedes(self, a, b, sign):
        """Whether a is greater (1) or less (-1) than b; NaN beats every number."""
        if a.lo is None or b.lo is None:
            return b.lo is not None
        return less(b, a) if sign > 0 else less(a, b)

    # --- comparisons
    def lt(self, a, b):
        return less(a, b)

    def le(self, a, b):
        return less_equal(a, b)

    def gt(self, a, b):
        return less(b, a)

    def ge(self, a, b):
        return less_equal(b, a)

    def eq(self, a, b):
        return equal(a, b)

    def ne(self, a, b):
        return no(equal(a, b))

    def is_nan(self, a):
        return True if a.lo is None else maybe() if a.nan else False

    def is_inf(self, a):
        if a.lo is None or not may_be_infinite(a):
            return False
        return True if a.point() else maybe()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *x: self.done(function(name, *x), name)


class Reals(Float):
    """The numbers of R: an implementation computes with them in floating point, and rounds to f32 at the coarsest."""

    def __init__(self):
        super().__init__("f32", 8, 23, 127, True, "ieee")

    def number(self, text):
        """"3", "1/3", "0.1", "3 * 2^-149"."""
        if text in ("inf", "-inf"):
            return number(INF if text == "inf" else -INF)
        if text == "nan":
            return nothing_but_nan()
        digits, _, power = text.partition(" * 2^")
        return self.done(number(Fraction(digits) * Fraction(2) ** int(power or 0), 2 if text == "-0" else 1))

    def of(self, x, mode=""):
        if isinstance(x, Some):
            return lift(self.of, x)
        return self.done(number(Fraction(int(x)))) if isinstance(x, (int, bool)) else x

    def done(self, r, name=None):
        if State.exact or r.lo is None:
            return trimmed(r)
        out = super().done(r, name)
        out.tight = None
        return out

    def add(self, a, b):
        return self.done(plus(a, b))

    def sub(self, a, b):
        return self.done(plus(a, negative(b)))

    def _ints(self, a, f):
        if a.lo is None or a.nan or may_be_infinite(a):
            raise Cannot("an integer that is not certain")
        lo, hi = f(a.lo), f(a.hi)
        if State.exact and lo != hi:
            raise Undecided()
        if hi - lo >= Some.MOST:
            raise Cannot("an integer may have too many values")
        return lo if lo == hi else decide(list(range(lo, hi + 1)))

    def floor(self, a):
        return self._ints(a, math.floor)

    def ceil(self, a):
        return self._ints(a, math.ceil)

    def round_even(self, a):
        return self._ints(a, round)

    def trunc(self, a):
        return self._ints(a, math.trunc)
