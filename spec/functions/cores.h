// The elementary functions on doubles that hold f32 values: straight-line code of + - * / sqrt, selections and integer operations.
// A NaN out for a number in means "not here": special values and arguments out of a core's reach, which the slow way settles.
// Bounds on the arguments are such that what lies beyond rounds like the bound itself, on f32 and narrower types.
#pragma once

#include "spec/functions/coefficients.h"
#include "spec/functions/lanes.h"

namespace ulpian::kernels {
namespace {

constexpr double LargestFloat = 0x1.fffffep127;

// ---- exponentials ----------------------------------------------------------------------------------------------------------------------

// e^t = scale * (1 + rest), |t| <= 708; `rest` to full relative accuracy.
template <class L> struct ExpParts { D<L> scale, rest; };

template <class L> inline ExpParts<L> exp_parts(D<L> t) {
  const D<L> shifted = t * InverseLn2 + RoundingShift;
  const D<L> n = shifted - RoundingShift;
  const D<L> r = (t - n * Ln2[0]) - n * Ln2[1];
  return {power_of_two<L>(shifted), r + r * r * polynomial<L>(r, ExpTerms)};
}

template <class L> inline D<L> exp_bounded(D<L> t) {
  const ExpParts<L> e = exp_parts<L>(t);
  return e.scale + e.scale * e.rest;
}
template <class L> inline D<L> expm1_bounded(D<L> t) {
  const ExpParts<L> e = exp_parts<L>(t);
  return e.scale * e.rest + (e.scale - 1);
}
// e^-|t|
template <class L> inline D<L> exp_of_minus(D<L> t) { return exp_bounded<L>(-at_most<L>(absolute<L>(t), 700)); }

template <class L> inline D<L> exp_core(D<L> x) { return exp_bounded<L>(at_least<L>(at_most<L>(x, 700), -700)); }

template <class L> inline D<L> exp2_of_parts(D<L> shifted, D<L> r) {
  const D<L> scale = power_of_two<L>(shifted);
  return scale + scale * (r * polynomial<L>(r, Exp2Terms));
}
template <class L> inline D<L> exp2_core(D<L> x) {
  const D<L> t = at_least<L>(at_most<L>(x, 1000), -1000);
  const D<L> shifted = t + RoundingShift;
  return exp2_of_parts<L>(shifted, t - (shifted - RoundingShift));
}
template <class L> inline D<L> expm1_core(D<L> x) {
  const D<L> y = expm1_bounded<L>(at_least<L>(at_most<L>(x, 700), -700));
  return select<L>(x == 0, x, y);
}

template <class L> inline D<L> sinh_core(D<L> x) {
  const D<L> e = expm1_bounded<L>(at_most<L>(absolute<L>(x), 700));
  return with_sign<L>(0.5 * (e + e / (e + 1)), x);
}
template <class L> inline D<L> cosh_core(D<L> x) {
  const D<L> e = exp_bounded<L>(at_most<L>(absolute<L>(x), 700));
  return 0.5 * e + 0.5 / e;
}
template <class L> inline D<L> tanh_core(D<L> x) {
  const D<L> e = expm1_bounded<L>(-2 * at_most<L>(absolute<L>(x), 40));
  return with_sign<L>(e / (2 + e), x);
}

// ---- logarithms ------------------------------------------------------------------------------------------------------------------------

// v = 2^exponent * m with sqrt(1/2) <= m < sqrt(2), for a positive normal v.
template <class L> struct Binade { D<L> exponent, m; };

template <class L> inline Binade<L> binade(D<L> v) {
  constexpr std::uint64_t HalfRoot = UINT64_C(0x3fe6a09e667f3bcd);
  constexpr std::uint64_t One = UINT64_C(1023) << 52;
  const U<L> biased = ((U<L>)v + (One - HalfRoot)) >> 52;
  const D<L> exponent = (D<L>)(biased | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
  return {exponent, (D<L>)((U<L>)v - ((biased - 1023) << 52))};
}

// log((1 + s) / (1 - s)) with s = f / (2 + f), |s| <= 3 - 2 sqrt 2: log(1 + f)
template <class L> inline D<L> log_near_one(D<L> f) {
  const D<L> s = f / (2 + f);
  const D<L> z = s * s;
  return 2 * s + s * (z * polynomial<L>(z, LogTerms));
}

template <class L> inline D<L> log_core(D<L> x) {
  const Binade<L> b = binade<L>(x);
  const D<L> y = b.exponent * Ln2[0] + (log_near_one<L>(b.m - 1) + b.exponent * Ln2[1]);
  return nan_unless<L>((x > 0) & (x <= LargestFloat), y);
}
template <class L> inline D<L> log2_core(D<L> x) {
  const Binade<L> b = binade<L>(x);
  return nan_unless<L>((x > 0) & (x <= LargestFloat), b.exponent + log_near_one<L>(b.m - 1) * InverseLn2);
}
template <class L> inline D<L> log10_core(D<L> x) {
  const Binade<L> b = binade<L>(x);
  const D<L> y = b.exponent * Log10Of2[0] + (log_near_one<L>(b.m - 1) * InverseLn10 + b.exponent * Log10Of2[1]);
  return nan_unless<L>((x > 0) & (x <= LargestFloat), y);
}

// log(1 + v) for -1 < v < 2^512. Where 1 + v is in the binade of 1, v itself serves; elsewhere the rounding of 1 + v is harmless.
template <class L> inline D<L> log1p_bounded(D<L> v) {
  const Binade<L> b = binade<L>(1 + v);
  const D<L> f = select<L>(b.exponent == 0, v, b.m - 1);
  return b.exponent * Ln2[0] + (log_near_one<L>(f) + b.exponent * Ln2[1]);
}
// log(1 + v) for 0 <= v <= 1
template <class L> inline D<L> log1p_unit(D<L> v) {
  const D<L> s = v / (2 + v);
  const D<L> z = s * s;
  return 2 * s + s * (z * polynomial<L>(z, Log1pUnitTerms));
}
template <class L> inline D<L> log1p_core(D<L> x) {
  const D<L> y = select<L>(x == 0, x, log1p_bounded<L>(x));
  return nan_unless<L>((x > -1) & (x <= LargestFloat), y);
}

template <class L> inline D<L> asinh_core(D<L> x) {
  const D<L> a = absolute<L>(x);
  const D<L> aa = a * a;
  const D<L> y = log1p_bounded<L>(a + aa / (1 + square_root<L>(aa + 1)));
  return nan_unless<L>(a <= LargestFloat, with_sign<L>(y, x));
}
template <class L> inline D<L> acosh_core(D<L> x) {
  const D<L> t = x - 1;
  const D<L> y = log1p_bounded<L>(t + square_root<L>(t * (t + 2)));
  return nan_unless<L>((x >= 1) & (x <= LargestFloat), y);
}
template <class L> inline D<L> atanh_core(D<L> x) {
  const D<L> a = absolute<L>(x);
  const D<L> y = 0.5 * log1p_bounded<L>(2 * a / (1 - a));
  return nan_unless<L>(a < 1, with_sign<L>(y, x));
}

// ---- circular functions ----------------------------------------------------------------------------------------------------------------

// sin and cos of r, |r| <= pi/4.
template <class L> inline D<L> sin_small(D<L> r) {
  const D<L> z = r * r;
  return r + r * (z * polynomial<L>(z, SinTerms));
}
template <class L> inline D<L> cos_small(D<L> r) {
  const D<L> z = r * r;
  return (1 - 0.5 * z) + z * z * polynomial<L>(z, CosTerms);
}

// x = n * pi/2 + r; the low bits of `quadrant` are those of n. The first two products are exact for |n| < 2^20, and f32 arguments there
// keep r above 2^-35, far above what the third leaves out.
constexpr double LargestReduced = 0x1p20;
template <class L> struct Reduced { D<L> r; I<L> quadrant; };

template <class L> inline Reduced<L> reduce(D<L> x) {
  const D<L> shifted = x * TwoOverPi + RoundingShift;
  const D<L> n = shifted - RoundingShift;
  return {((x - n * HalfPi[0]) - n * HalfPi[1]) - n * HalfPi[2], bits<L>(shifted)};
}

// sin(r + quadrant * pi/2)
template <class L> inline D<L> sin_in_quadrant(D<L> r, I<L> quadrant) {
  const D<L> y = select<L>((quadrant & 1) != 0, cos_small<L>(r), sin_small<L>(r));
  return (D<L>)((U<L>)y ^ ((U<L>)(quadrant & 2) << 62));
}

template <class L> inline I<L> next_quadrant(I<L> quadrant) { return (I<L>)((U<L>)quadrant + 1); }

template <class L> inline D<L> sin_core(D<L> x) {
  const Reduced<L> p = reduce<L>(x);
  const D<L> y = select<L>(x == 0, x, sin_in_quadrant<L>(p.r, p.quadrant));
  return nan_unless<L>(absolute<L>(x) <= LargestReduced, y);
}
template <class L> inline D<L> cos_core(D<L> x) {
  const Reduced<L> p = reduce<L>(x);
  return nan_unless<L>(absolute<L>(x) <= LargestReduced, sin_in_quadrant<L>(p.r, next_quadrant<L>(p.quadrant)));
}
template <class L> inline D<L> tan_core(D<L> x) {
  const Reduced<L> p = reduce<L>(x);
  const D<L> s = sin_small<L>(p.r);
  const D<L> c = cos_small<L>(p.r);
  const I<L> odd = (p.quadrant & 1) != 0;
  const D<L> y = select<L>(odd, -c, s) / select<L>(odd, s, c);
  return nan_unless<L>(absolute<L>(x) <= LargestReduced, select<L>(x == 0, x, y));
}

// Turns: every f32 of at least 2^24 is a whole number of them; infinities become NaN here.
template <class L> inline Reduced<L> reduce_turns(D<L> x) {
  const D<L> t = select<L>(absolute<L>(x) >= 0x1p24, x - x, x);
  const D<L> shifted = 4 * t + RoundingShift;
  return {(t - 0.25 * (shifted - RoundingShift)) * TwoPi, bits<L>(shifted)};
}
template <class L> inline D<L> sin_turn_core(D<L> x) {
  const Reduced<L> p = reduce_turns<L>(x);
  const D<L> y = sin_in_quadrant<L>(p.r, p.quadrant);
  return select<L>(y == 0, with_sign<L>(y, x), y);  // IEEE 754: a zero has the sign of x
}
template <class L> inline D<L> cos_turn_core(D<L> x) {
  const Reduced<L> p = reduce_turns<L>(x);
  const D<L> y = sin_in_quadrant<L>(p.r, next_quadrant<L>(p.quadrant));
  return select<L>(y == 0, absolute<L>(y), y);
}

// asin(s) for 0 <= s <= 1/2, z = s^2
template <class L> inline D<L> asin_small(D<L> s, D<L> z) { return s + s * (z * polynomial<L>(z, AsinTerms)); }

// asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2))
template <class L> struct Halved { I<L> far; D<L> angle; };
template <class L> inline Halved<L> halve(D<L> a) {
  const I<L> far = a > 0.5;
  const D<L> z = select<L>(far, (1 - a) * 0.5, a * a);
  const D<L> s = select<L>(far, square_root<L>(z), a);
  return {far, asin_small<L>(s, z)};
}
template <class L> inline D<L> asin_core(D<L> x) {
  const D<L> a = absolute<L>(x);
  const Halved<L> h = halve<L>(a);
  const D<L> y = select<L>(h.far, (HalfPiDouble[0] - 2 * h.angle) + HalfPiDouble[1], h.angle);
  return nan_unless<L>(a <= 1, with_sign<L>(y, x));
}
template <class L> inline D<L> acos_core(D<L> x) {
  const D<L> a = absolute<L>(x);
  const Halved<L> h = halve<L>(a);
  const D<L> signed_angle = with_sign<L>(h.angle, x);
  const D<L> near = (HalfPiDouble[0] - signed_angle) + HalfPiDouble[1];
  const D<L> far = select<L>(x < 0, (2 * HalfPiDouble[0] - 2 * h.angle) + 2 * HalfPiDouble[1], 2 * h.angle);
  return nan_unless<L>(a <= 1, select<L>(h.far, far, near));
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
template <class L> inline D<L> atan_core(D<L> x) { return with_sign<L>(first_quadrant<L>(absolute<L>(x), all<L>(1)), x); }

template <class L> inline D<L> atan2_core(D<L> y, D<L> x) {
  const D<L> ax = absolute<L>(x);
  const D<L> ay = absolute<L>(y);
  const D<L> angle = first_quadrant<L>(ay, ax);
  const D<L> half = select<L>(x < 0, (2 * HalfPiDouble[0] - angle) + 2 * HalfPiDouble[1], angle);
  const I<L> plain = (ax > 0) & (ay > 0) & (ax <= LargestFloat) & (ay <= LargestFloat);
  return nan_unless<L>(plain, with_sign<L>(half, y));
}

// ---- activations -----------------------------------------------------------------------------------------------------------------------

template <class L> inline D<L> erf_core(D<L> x) {
  const D<L> a = at_most<L>(absolute<L>(x), 6);
  const D<L> near = a * polynomial<L>(at_most<L>(a * a, 1), ErfTerms);
  const D<L> inverse = 1 / (a + 2);
  const D<L> far = 1 - exp_bounded<L>(-(a * a)) * (inverse * polynomial<L>((a - 2) * inverse, ErfTailTerms));
  return with_sign<L>(select<L>(a < 1, near, far), x);
}

// x * Phi(x), Phi(-a) = e^(-a^2/2) M(a)
template <class L> inline D<L> gelu_core(D<L> x) {
  const D<L> bounded = at_least<L>(x, -15);
  const D<L> a = at_most<L>(absolute<L>(bounded), 15);
  const D<L> inverse = 1 / (a + 4);
  const D<L> tail = exp_bounded<L>(-0.5 * (a * a)) * (inverse * polynomial<L>((a - 4) * inverse, GeluTerms));
  return bounded * select<L>(x < 0, tail, 1 - tail);
}

template <class L> inline D<L> sigmoid_core(D<L> x) {
  const D<L> e = exp_of_minus<L>(x);
  return select<L>(x < 0, e, all<L>(1)) / (1 + e);
}
// x * sigmoid(u), where x and u have the same sign
template <class L> inline D<L> gated(D<L> x, D<L> u) {
  const D<L> e = exp_of_minus<L>(u);
  return select<L>(x < 0, x * e, x) / (1 + e);
}
template <class L> inline D<L> silu_core(D<L> x) {
  const D<L> bounded = at_least<L>(x, -200);
  return gated<L>(bounded, bounded);
}
template <class L> inline D<L> gelu_tanh_core(D<L> x) {
  const D<L> bounded = at_least<L>(x, -15);
  return gated<L>(bounded, bounded * (GeluTanhLinear + GeluTanhCubic * (bounded * bounded)));
}
template <class L> inline D<L> softplus_core(D<L> x) { return select<L>(x > 0, x, all<L>(0)) + log1p_unit<L>(exp_of_minus<L>(x)); }

template <class L> inline D<L> softsign_core(D<L> x) { return x / (1 + absolute<L>(x)); }

// x * tanh(log(1 + w)) with w = e^x
template <class L> inline D<L> mish_core(D<L> x) {
  const D<L> bounded = at_least<L>(x, -200);
  const D<L> w = exp_bounded<L>(at_most<L>(bounded, 40));
  const D<L> n = w * (w + 2);
  return bounded * (n / (n + 2));
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
