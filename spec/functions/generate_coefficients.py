#!/usr/bin/env python3
"""Prints the polynomials of the programs of elementary functions, as lists of the language. Needs mpmath; run by hand when one changes.

Each polynomial interpolates its function at Chebyshev points (within a small factor of the best one), and is then rounded
to doubles. The largest relative error of the exact polynomial with the rounded coefficients is printed beside it.
"""
import sys

from mpmath import mp, mpf

mp.dps = 60


def interpolate(f, low, high, terms):
    """Monomial coefficients of the polynomial of `terms` coefficients through f at the Chebyshev points of [low, high]."""
    low, high = mpf(low), mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * terms)) for k in range(terms)]
    divided = [f(x) for x in nodes]
    for level in range(1, terms):
        for i in range(terms - 1, level - 1, -1):
            divided[i] = (divided[i] - divided[i - 1]) / (nodes[i] - nodes[i - level])
    result = [mpf(0)] * terms
    for i in range(terms - 1, -1, -1):  # result = result * (x - node) + divided
        shifted = [mpf(0)] + result[:-1]
        result = [shifted[j] - nodes[i] * result[j] for j in range(terms)]
        result[0] += divided[i]
    return result


# name: (function approximated, low, high, terms, whole function from x and the polynomial, truth, comment). The interval is never
# symmetric: a Chebyshev point at 0 would divide by it.
sqrt = mp.sqrt
K_GELU = mpf(4)
K_ERF = mpf(2)


def mills(a):  # (1 - Phi(a)) e^(a^2/2)
    return mp.erfc(a / sqrt(2)) / 2 * mp.exp(a * a / 2)


def from_q(q, k):
    return k * (1 + q) / (1 - q)


TABLE = {
    "Exp": (lambda r: (mp.expm1(r) - r) / r**2, "-0.34658", "0.34660", 11, lambda r, p: 1 + r + r**2 * p, lambda r: mp.exp(r),
            "(e^r - 1 - r) / r^2"),
    "Exp2": (lambda r: mp.expm1(r * mp.log(2)) / r, "-0.5", "0.50001", 12, lambda r, p: 1 + r * p, lambda r: mp.mpf(2)**r, "(2^r - 1) / r"),
    "Log": (lambda z: (mp.atanh(sqrt(z)) / sqrt(z) - 1) * 2 / z, "0", "0.02944", 8, lambda z, p: 2 + z * p,
            lambda z: 2 * mp.atanh(sqrt(z)) / sqrt(z), "(log((1+s)/(1-s)) / s - 2) / s^2 in s^2, for |s| <= 3 - 2 sqrt 2"),
    "Log1pUnit": (lambda z: (mp.atanh(sqrt(z)) / sqrt(z) - 1) * 2 / z, "0", "0.11112", 11, lambda z, p: 2 + z * p,
                  lambda z: 2 * mp.atanh(sqrt(z)) / sqrt(z), "the same for |s| <= 1/3"),
    "Sin": (lambda z: (mp.sin(sqrt(z)) / sqrt(z) - 1) / z, "0", "0.61686", 7, lambda z, p: 1 + z * p, lambda z: mp.sin(sqrt(z)) / sqrt(z),
            "(sin r / r - 1) / r^2 in r^2, for |r| <= pi/4"),
    "Cos": (lambda z: (mp.cos(sqrt(z)) - 1 + z / 2) / z**2, "0", "0.61686", 6, lambda z, p: 1 - z / 2 + z * z * p, lambda z: mp.cos(sqrt(z)),
            "(cos r - 1 + r^2/2) / r^4 in r^2"),
    "Asin": (lambda z: (mp.asin(sqrt(z)) / sqrt(z) - 1) / z, "0", "0.25", 14, lambda z, p: 1 + z * p, lambda z: mp.asin(sqrt(z)) / sqrt(z),
             "(asin s / s - 1) / s^2 in s^2, for |s| <= 1/2"),
    "Atan": (lambda z: (mp.atan(sqrt(z)) / sqrt(z) - 1) / z, "0", "0.17158", 13, lambda z, p: 1 + z * p, lambda z: mp.atan(sqrt(z)) / sqrt(z),
             "(atan t / t - 1) / t^2 in t^2, for |t| <= tan(pi/8)"),
    "Erf": (lambda z: mp.erf(sqrt(z)) / sqrt(z), "0", "1", 14, lambda z, p: p, lambda z: mp.erf(sqrt(z)) / sqrt(z), "erf a / a in a^2, for |a| <= 1"),
    "ErfTail": (lambda q: mp.erfc(from_q(q, K_ERF)) * mp.exp(from_q(q, K_ERF)**2) * (from_q(q, K_ERF) + K_ERF), (1 - K_ERF) / (1 + K_ERF),
                (mpf(6) - K_ERF) / (6 + K_ERF), 19, lambda q, p: p,
                lambda q: mp.erfc(from_q(q, K_ERF)) * mp.exp(from_q(q, K_ERF)**2) * (from_q(q, K_ERF) + K_ERF),
                "erfc(a) e^(a^2) (a + 2) in (a - 2) / (a + 2), for 1 <= a <= 6"),
    "Gelu": (lambda q: mills(from_q(q, K_GELU)) * (from_q(q, K_GELU) + K_GELU), mpf(-1), (mpf(15) - K_GELU) / (15 + K_GELU), 24, lambda q, p: p,
             lambda q: mills(from_q(q, K_GELU)) * (from_q(q, K_GELU) + K_GELU),
             "(1 - Phi(a)) e^(a^2/2) (a + 4) in (a - 4) / (a + 4), for 0 <= a <= 15"),
    "PowLog2": (lambda z: (mp.atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) * 2 / z**2, "0", "0.02944", 7, lambda z, p: 2 + z * 2 / 3 + z * z * p,
                lambda z: 2 * mp.atanh(sqrt(z)) / sqrt(z), "the third term on of log((1+s)/(1-s)) / s, in s^2"),
}


def main():
    for name, (f, low, high, terms, whole, truth, comment) in TABLE.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        coefficients = [mpf(float(c)) for c in interpolate(f, low, high, terms)]
        low, high = mpf(low), mpf(high)
        worst = mpf(0)
        for i in range(1, 400):
            x = low + (high - low) * i / 400
            p = mp.polyval(coefficients[::-1], x)
            worst = max(worst, abs(whole(x, p) / truth(x) - 1))
        print(f"# {comment}; e < 2^{int(mp.ceil(mp.log(worst, 2)))}")
        print(f"fn {name.lower()}_terms() = [{', '.join(repr(float(c)) for c in coefficients)}]", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
