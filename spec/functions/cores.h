// The functions of two arguments, on doubles that hold f32 values: straight-line code of + - * / sqrt, selections and integer operations.
// A NaN out for a number in means "not here": special values and arguments out of a core's reach, which the slow way settles.
// Bounds on the arguments are such that what lies beyond rounds like the bound itself, on f32 and narrower types.
#pragma once

#include "spec/functions/coefficients.h"
#include "spec/functions/lanes.h"

namespace ulpian::kernels {
namespace {

constexpr double LargestFloat = 0x1.fffffep127;

template <class L> inline D<L> exp2_of_parts(D<L> shifted, D<L> r) {
  const D<L> scale = power_of_two<L>(shifted);
  return scale + scale * (r * polynomial<L>(r, Exp2Terms));
}

// v = 2^exponent * m with sqrt(1/2) <= m < sqrt(2), for a positive normal v.
template <class L> struct Binade { D<L> exponent, m; };

template <class L> inline Binade<L> binade(D<L> v) {
  constexpr std::uint64_t HalfRoot = UINT64_C(0x3fe6a09e667f3bcd);
  constexpr std::uint64_t One = UINT64_C(1023) << 52;
  const U<L> biased = ((U<L>)v + (One - HalfRoot)) >> 52;
  const D<L> exponent = (D<L>)(biased | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
  return {exponent, (D<L>)((U<L>)v - ((biased - 1023) << 52))};
}

// The angle of (x, y) in the first quadrant, not both 0: atan(y/x), 1/4 turn minus atan(x/y), or 1/8 turn plus atan((y-x)/(y+x)).
template <class L> inline D<L> first_quadrant(D<L> y, D<L> x) {
  constexpr double TanEighth = 0x1.a827999fcef32p-2;
  const I<L> steep = y * TanEighth > x;
  const I<L> middle = y > x * TanEighth;
  const D<L> numerator = select<L>(steep, -x, select<L>(middle, y - x, y));
  const D<L> denominator = select<L>(steep, y, select<L>(middle, y + x, x));
  const D<L> base = select<L>(steep, all<L>(1), select<L>(middle, all<L>(0.5), all<L>(0)));
  const D<L> t = numerator / denominator;
  const D<L> z = t * t;
  return base * HalfPiDouble[0] + (t + (t * (z * polynomial<L>(z, AtanTerms)) + base * HalfPiDouble[1]));
}

template <class L> inline D<L> atan2_core(D<L> y, D<L> x) {
  const D<L> ax = absolute<L>(x);
  const D<L> ay = absolute<L>(y);
  const D<L> angle = first_quadrant<L>(ay, ax);
  const D<L> half = select<L>(x < 0, (2 * HalfPiDouble[0] - angle) + 2 * HalfPiDouble[1], angle);
  const I<L> plain = (ax > 0) & (ay > 0) & (ax <= LargestFloat) & (ay <= LargestFloat);
  return nan_unless<L>(plain, with_sign<L>(half, y));
}

// ---- power -----------------------------------------------------------------------------------------------------------------------------

// The leading 26 bits, so that products with f32 values and with each other are exact.
template <class L> inline D<L> leading_bits(D<L> x) { return from_bits<L>(bits<L>(x) & ~((INT64_C(1) << 27) - 1)); }

// log2 of a positive f32 as high + low, to about 2^-59; `high` has 26 bits.
template <class L> struct Pair { D<L> high, low; };
template <class L> inline Pair<L> log2_pair(D<L> a) {
  const Binade<L> b = binade<L>(a);
  const D<L> f = b.m - 1;
  const D<L> denominator = b.m + 1;
  const D<L> inverse = 1 / denominator;
  const D<L> s = f * inverse;
  const D<L> s_high = leading_bits<L>(s);
  const D<L> s_low = (f - s_high * denominator) * inverse;  // the product and the difference are exact
  const D<L> z = s * s;
  const D<L> rest = s * (z * (0x1.5555555555555p-1 + z * polynomial<L>(z, PowLog2Terms)));
  const D<L> high = TwoOverLn2[0] * s_high;  // exact
  const D<L> low = (TwoOverLn2[1] * s_high + (TwoOverLn2[0] + TwoOverLn2[1]) * s_low) + rest * InverseLn2;
  const D<L> sum_high = leading_bits<L>(b.exponent + (high + low));
  return {sum_high, ((b.exponent - sum_high) + high) + low};
}

template <class L> inline D<L> pow_core(D<L> x, D<L> y) {
  const D<L> a = absolute<L>(x);
  const Pair<L> log = log2_pair<L>(a);
  const D<L> high = y * log.high;  // exact: 24 and 26 bits
  const D<L> low = y * log.low;
  const D<L> total = high + low;
  const D<L> bounded = at_least<L>(at_most<L>(total, 1000), -1000);
  const D<L> shifted = bounded + RoundingShift;
  const D<L> n = shifted - RoundingShift;
  const D<L> r = select<L>(bounded == total, (high - n) + low, all<L>(0));
  const I<L> zero = (a == 0) & (y > 0);
  const D<L> magnitude = select<L>(zero, a, exp2_of_parts<L>(shifted, r));
  const D<L> ay = absolute<L>(y);
  const D<L> y_shifted = at_most<L>(ay, 0x1p24) + RoundingShift;
  const I<L> whole = (ay >= 0x1p24) | (y_shifted - RoundingShift == ay);
  const I<L> negative = (bits<L>(x) < 0) & whole & ((bits<L>(y_shifted) & 1) != 0);
  const D<L> result = select<L>(negative, -magnitude, magnitude);
  const I<L> plain = ((x > 0) | zero | ((x < 0) & whole)) & (a <= LargestFloat) & (ay <= LargestFloat);
  return nan_unless<L>(plain, result);
}

}  // namespace
}  // namespace ulpian::kernels
