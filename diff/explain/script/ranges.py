# --- numbers: sets of extended reals with rational ends ----------------------------------------------------------------------------------
import itertools
import math
import os
import sys
import threading
import time
from fractions import Fraction

import mpmath
import numpy

INF = float("inf")


class Undecided(Exception):
    """A comparison, floor or cast that needs more bits."""


class Cannot(Exception):
    """What this script does not compute, in words."""


class Outside(Exception):
    """An index outside of its tensor."""


class State:
    exact = True     # over the reals, nothing rounded; else with every rounding and order that the profile admits
    bits = 160       # of functions and other irrational numbers
    epoch = 0        # of what is remembered
    reads = {}       # elements of inputs that were read, in order
    finite = True    # all inputs are
    world = None     # which of several each decision takes: one world after the other; None: all of them at once
    choices = []     # how many there are, of each
    decided = 0      # decisions so far


class Range:
    """Numbers in [lo, hi] (no numbers: lo is None), whether NaN is among them, and which zeros (1: +0, 2: -0) if 0 is."""
    __slots__ = ("lo", "hi", "nan", "zero", "parts", "tight", "sum", "skip")

    def __init__(self, lo, hi, nan=False, zero=0):
        self.lo, self.hi, self.nan = lo, hi, nan
        self.zero = 0 if lo is None or lo > 0 or hi < 0 else zero or 1
        self.parts = None   # of a union, its ranges
        self.tight = None   # ends that are members of the type, where they need no rounding
        self.sum = None     # of a sum: its Sum
        self.skip = False   # a term that may be left out

    def point(self):
        return self.lo is not None and self.lo == self.hi and not self.nan

    def with_zero(self, zero):
        self.zero = zero if self.lo is not None and self.lo <= 0 <= self.hi else 0
        return self


def number(x, zero=1):
    return Range(x, x, False, zero)


def nothing_but_nan():
    return Range(None, None, True)


def anything():
    return Range(-INF, INF, True, 3)


def union(a, b):
    if isinstance(a, Range) and isinstance(b, Range):
        if a.lo is None or b.lo is None:
            c = b if a.lo is None else a
            out = Range(c.lo, c.hi, True, c.zero)
            out.tight, out.parts = c.tight, c.parts
            return out
        out = Range(min(a.lo, b.lo), max(a.hi, b.hi), a.nan or b.nan, 3)
        out.with_zero((a.zero | b.zero) or 3)
        parts = (a.parts or [a]) + (b.parts or [b])
        out.parts = parts if len(parts) <= 16 else None
        out.skip = a.skip or b.skip
        return out
    if isinstance(a, (Range, str)) or isinstance(b, (Range, str)):
        raise Cannot("a union of different kinds")
    return some(values_of(a) | values_of(b))


class Some:
    """One of several integers or truth values."""
    MOST = 4096

    def __init__(self, values):
        self.values = frozenset(values)
        if len(self.values) > self.MOST:
            raise Cannot("an integer may have too many values")

    def __hash__(self):
        return hash(self.values)


def values_of(x):
    return x.values if isinstance(x, Some) else frozenset([x])


def some(values):
    values = list(values)
    return values[0] if len(set(values)) == 1 else Some(values)


def lift(f, *args):
    """f of each combination of what the arguments may be."""
    if not any(isinstance(a, Some) for a in args):
        return f(*args)
    out = None
    many = 1
    for a in args:
        many *= len(values_of(a))
    if many > Some.MOST:
        raise Cannot("too many combinations of integers")
    for each in itertools.product(*[sorted(values_of(a)) if isinstance(a, Some) else [a] for a in args]):
        try:
            x = f(*each)
        except Outside:
            continue
        out = x if out is None else union(out, x)
    if out is None:
        raise Outside()
    return out


for _name in "add radd sub rsub mul rmul floordiv rfloordiv mod rmod pow lt le gt ge eq ne neg abs".split():
    def _lifted(self, *other, _m="__" + _name + "__"):
        return lift(lambda x, *y: getattr(x, _m)(*y), self, *other)
    setattr(Some, "__" + _name + "__", _lifted)


def decide(options):
    """One of several integers or truth values that an implementation may come to."""
    if State.world is None:
        return some(options)
    if State.decided == len(State.world):
        State.world.append(0)
        State.choices.append(len(options))
    State.decided += 1
    return options[State.world[State.decided - 1]]


def maybe():
    if State.exact:
        raise Undecided()
    return decide([True, False])


def outward(x, up, bits):
    """x, or a number beyond it, of so many significant bits."""
    if not isinstance(x, Fraction) or x == 0:
        return x
    shift = x.numerator.bit_length() - x.denominator.bit_length() - bits
    scaled = x / Fraction(2) ** shift
    return Fraction(math.ceil(scaled) if up else math.floor(scaled)) * Fraction(2) ** shift


def length(x):
    return x.numerator.bit_length() + x.denominator.bit_length() if isinstance(x, Fraction) else 0


def trimmed(r):
    """No longer numbers than are needed: rational values stay exact for as long as they are short."""
    if r.lo is None:
        return r
    most = 20000 if r.lo == r.hi else 3 * State.bits
    if length(r.lo) <= most and length(r.hi) <= most:
        return r
    out = Range(outward(r.lo, False, State.bits), outward(r.hi, True, State.bits), r.nan, r.zero)
    out.sum, out.skip = r.sum, r.skip
    return out


def signs(r):
    """1: numbers or zeros that count as positive, 2: as negative."""
    return (1 if r.hi > 0 or r.zero & 1 else 0) | (2 if r.lo < 0 or r.zero & 2 else 0)


def has_zero(r):
    return r.lo is not None and r.lo <= 0 <= r.hi


def may_be_infinite(r):
    return r.lo is not None and (r.lo == -INF or r.hi == INF)


def carried(out, *of):
    out.skip = any(r.skip for r in of)
    return out


def plus(a, b):
    nan = a.nan or b.nan
    if a.lo is None or b.lo is None:
        return nothing_but_nan()
    if (a.hi == INF and b.lo == -INF) or (a.lo == -INF and b.hi == INF):
        if a.point() and b.point():
            return nothing_but_nan()
        return Range(-INF, INF, True, 3)
    both_negative = bool(a.zero & 2 and b.zero & 2)
    zero = (2 if both_negative else 0) | (0 if both_negative and a.point() and b.point() and a.zero == b.zero == 2 else 1)
    return Range(a.lo + b.lo, a.hi + b.hi, nan, zero)


def _times(x, y):
    return Fraction(0) if x == 0 or y == 0 else x * y


def times(a, b):
    nan = a.nan or b.nan or (has_zero(a) and may_be_infinite(b)) or (has_zero(b) and may_be_infinite(a))
    if a.lo is None or b.lo is None:
        return carried(nothing_but_nan(), a, b)
    if nan and a.lo == a.hi and b.lo == b.hi:
        out = nothing_but_nan() if not (a.nan or b.nan) or _infinite_zero(a, b) else None
        if out is not None:
            return carried(out, a, b)
    ends = [_times(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    sa, sb = signs(a), signs(b)
    zero = (1 if (sa & 1 and sb & 1) or (sa & 2 and sb & 2) else 0) | (2 if (sa & 1 and sb & 2) or (sa & 2 and sb & 1) else 0)
    return carried(Range(min(ends), max(ends), nan, zero), a, b)


def _infinite_zero(a, b):
    return (a.lo == 0 and abs(b.lo) == INF) or (b.lo == 0 and abs(a.lo) == INF)


def _over(x, y):
    if abs(y) == INF:
        return Fraction(0) if abs(x) != INF else INF
    return x / y if isinstance(x, Fraction) else (x if y > 0 else -x)


def over(a, b):
    if a.lo is None or b.lo is None:
        return carried(nothing_but_nan(), a, b)
    nan = a.nan or b.nan or (has_zero(a) and has_zero(b)) or (may_be_infinite(a) and may_be_infinite(b))
    sa, sb = signs(a), signs(b)
    zero = (1 if (sa & 1 and sb & 1) or (sa & 2 and sb & 2) else 0) | (2 if (sa & 1 and sb & 2) or (sa & 2 and sb & 1) else 0)
    if b.lo == b.hi == 0:
        if a.lo == a.hi == 0:
            return carried(nothing_but_nan(), a, b)
        if sa != 3 and sb != 3 and not has_zero(a):
            return carried(Range(INF, INF, nan, zero) if sa == sb else Range(-INF, -INF, nan, zero), a, b)
        return carried(Range(-INF, INF, nan, 3), a, b)
    if has_zero(b):
        if State.exact:
            raise Undecided()
        return carried(Range(-INF, INF, nan, 3), a, b)
    if a.lo == a.hi and b.lo == b.hi and abs(a.lo) == INF and abs(b.lo) == INF:
        return carried(nothing_but_nan(), a, b)
    ends = [_over(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    if may_be_infinite(a) and may_be_infinite(b):
        ends += [-INF, INF]
    return carried(Range(min(ends), max(ends), nan, zero), a, b)


def negative(a):
    if a.lo is None:
        return a
    return carried(Range(-a.hi, -a.lo, a.nan, (a.zero & 1) << 1 | a.zero >> 1), a)


def magnitude(a):
    if a.lo is None:
        return a
    inside = has_zero(a)
    return carried(Range(Fraction(0) if inside else min(abs(a.lo), abs(a.hi)), max(abs(a.lo), abs(a.hi)), a.nan, 1), a)


# --- comparisons

def less(a, b):
    if a.lo is None or b.lo is None or not a.lo < b.hi:
        return False
    if a.hi < b.lo and not (a.nan or b.nan):
        return True
    return maybe()


def less_equal(a, b):
    if a.lo is None or b.lo is None or not a.lo <= b.hi:
        return False
    if a.hi <= b.lo and not (a.nan or b.nan):
        return True
    return maybe()


def equal(a, b):
    if a.lo is None or b.lo is None or a.hi < b.lo or b.hi < a.lo:
        return False
    if a.point() and b.point():
        return a.lo == b.lo
    return maybe()


def extreme(values, sign):
    """The greatest (1) or least (-1) of them; -0 is less than +0."""
    if any(v.lo is None for v in values):
        return nothing_but_nan()
    nan = any(v.nan for v in values)
    pick = max if sign > 0 else min
    lo, hi = pick(v.lo for v in values), pick(v.hi for v in values)
    zero = 0
    for v in values:
        if has_zero(v):
            zero |= v.zero
    if lo == hi == 0 and zero == 3 and all(v.zero != 3 for v in values):
        zero = 1 if sign > 0 else 2
    return Range(lo, hi, nan, zero)
