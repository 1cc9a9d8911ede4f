"""Exact numbers for tools/ideal-check: what the bits of a type mean, and the rounding of a real number to a type. Nothing here shares code with Ulpian.

A value is a Fraction (exact), an mpmath number (taken to be known within 2^-sure, relatively) or a float that is not finite or -0.0, which stand for
themselves. Formulas are written so that they don't cancel, or lose less than what `sure` leaves of the precision."""
import math
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np

mp = mpmath.mp
PRECISIONS = (320, 1280, 12800)  # bits, one after the other where one does not tell; the last takes a number half way between two for exactly that


class Format:
    """precision p (with the leading bit), the least normal exponent, the largest finite number; infinity or what comes past that."""

    def __init__(self, name, dtype, precision, least, largest, infinite=True, code=None):
        self.name, self.dtype, self.p, self.least, self.largest, self.infinite, self.code = name, np.dtype(dtype), precision, least, Fraction(largest), infinite, code
        self.bits = np.dtype(f"u{self.dtype.itemsize}")
        self.one_zero = name.endswith("uz")
        self.numpy = name in ("f64", "f32", "f16")

    def spacing(self, x):
        """The exponent of the last place at x, a Fraction that is not 0."""
        n, d = abs(x).as_integer_ratio()
        e = n.bit_length() - d.bit_length()
        if (n << -e if e < 0 else n) < (d << e if e > 0 else d):
            e -= 1
        return max(e, self.least) - self.p + 1

    def round(self, x):
        """The Fraction to nearest, ties to even, as a float (of Python, which holds all of them); past the largest an infinity."""
        if x == 0:
            return 0.0
        q = self.spacing(x)
        n = round(x / Fraction(2) ** q)  # Python's is half to even
        if n == 0:
            return -0.0 if x < 0 else 0.0
        y = Fraction(n) * Fraction(2) ** q
        if abs(y) > self.largest:
            return (-math.inf if x < 0 else math.inf) if self.infinite else math.nan
        return float(y)


FORMATS = {f.name: f for f in (
    Format("f64", np.float64, 53, -1022, (2 - Fraction(1, 2 ** 52)) * 2 ** 1023, code=11),
    Format("f32", np.float32, 24, -126, (2 - Fraction(1, 2 ** 23)) * 2 ** 127, code=1),
    Format("f16", np.float16, 11, -14, 65504, code=10),
    Format("bf16", ml_dtypes.bfloat16, 8, -126, (2 - Fraction(1, 2 ** 7)) * 2 ** 127, code=16),
    Format("f8e4m3fn", ml_dtypes.float8_e4m3fn, 4, -6, 448, infinite=False, code=17),
    Format("f8e4m3fnuz", ml_dtypes.float8_e4m3fnuz, 4, -7, 240, infinite=False, code=18),
    Format("f8e5m2", ml_dtypes.float8_e5m2, 3, -14, 57344, code=19),
    Format("f8e5m2fnuz", ml_dtypes.float8_e5m2fnuz, 3, -15, 57344, infinite=False, code=20),
)}
INTEGERS = {"i8": 3, "u8": 2, "i16": 5, "u16": 4, "i32": 6, "u32": 12, "i64": 7, "u64": 13, "bool": 9}
CODES = {**{n: f.code for n, f in FORMATS.items()}, **INTEGERS}
NUMPY = {"bool": np.bool_, **{n: np.dtype(("int" if n[0] == "i" else "uint") + n[1:]) for n in INTEGERS if n != "bool"}, **{n: f.dtype for n, f in FORMATS.items()}}
NAMES = {np.dtype(d): n for n, d in NUMPY.items()}


def type_of(a):
    return NAMES[a.dtype]


def _exact(v):
    v = float(v)
    return Fraction(v) if math.isfinite(v) and not (v == 0 and math.copysign(1, v) < 0) else v


def exact(a):
    """An array's elements as they are: an object array of Fractions (of ints for integer types)."""
    out = np.empty(a.shape, object)
    flat = a.ravel()
    whole = a.dtype.kind in "iub"
    for k in range(flat.size):
        out.ravel()[k] = int(flat[k]) if whole else _exact(flat[k])
    return out


def fractions(a):
    """As exact, with -0 as 0; the values must be finite."""
    out = exact(a)
    for k, v in enumerate(out.ravel()):
        if isinstance(v, (float, int)):
            out.ravel()[k] = Fraction(v)
    return out


def reals(a):
    """The elements as mpmath numbers; exact at any precision that holds 53 bits."""
    out = np.empty(a.shape, object)
    for k, v in enumerate(a.ravel()):
        out.ravel()[k] = mp.mpf(float(v))
    return out


def real(x):
    """A Fraction as an mpmath number, rounded to the precision."""
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)


def f32(x):
    """The value that an ONNX attribute of type float holds."""
    return Fraction(float(np.float32(x)))


def each(f, *arrays):
    """f of each element of arrays of one shape, broadcast as NumPy does."""
    return np.asarray(np.frompyfunc(f, len(arrays), 1)(*arrays), object)


class Unsure(Exception):
    """The reference's own precision does not tell where it rounds to."""


def _fraction(x):
    sign, man, exp, _ = x._mpf_
    f = Fraction(int(man)) * Fraction(2) ** exp if exp < 0 else Fraction(int(man) << exp)
    return -f if sign else f


def rounded(value, fmt):
    """(the float that the value rounds to in the format, whether a zero's sign is known)."""
    if isinstance(value, (bool, int, np.integer)):
        value = Fraction(int(value))
    if isinstance(value, float):
        return value, True
    if isinstance(value, Fraction):
        return fmt.round(value), value != 0
    if not mp.isfinite(value):
        return (math.nan if mp.isnan(value) else math.inf if value > 0 else -math.inf), True
    if value == 0:
        return 0.0, False
    size = mp.mag(value)
    if abs(size) > 20000:
        return (-1 if value < 0 else 1) * (0.0 if size < 0 else math.inf if fmt.infinite else math.nan), True
    x = _fraction(value)
    y = fmt.round(x)
    slack = abs(x) / 2 ** (mp.prec * 5 // 8)
    if fmt.round(x - slack) != fmt.round(x + slack) and mp.prec < PRECISIONS[-1]:
        raise Unsure()
    return y, True
