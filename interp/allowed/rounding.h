// Roundings of doubles to the values of a type, and outward steps, without fesetround and without libm's functions. Private to this folder.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "spec/numbers/arithmetic.h"
#include "spec/numbers/format.h"
#include "spec/numbers/host.h"

namespace ulpian::interp::allowed {

inline constexpr double Infinity = std::numeric_limits<double>::infinity();
inline constexpr double Nan = std::numeric_limits<double>::quiet_NaN();

// A value of T, half to even.
template <ElementType T> inline double nearest(double x) {
  if constexpr (T == ElementType::F64) return x;
  else if constexpr (T == ElementType::F32) return static_cast<double>(static_cast<float>(x));
  else return static_cast<double>(host::value_of<T>(host::round_to<T>(x)));
}

// Calls f.template operator()<T>() for a float type.
template <class F> decltype(auto) with_float(ElementType t, F&& f) {
  using E = ElementType;
  switch (t) {
    case E::F4E2M1: return f.template operator()<E::F4E2M1>();
    case E::F6E2M3: return f.template operator()<E::F6E2M3>();
    case E::F6E3M2: return f.template operator()<E::F6E3M2>();
    case E::F8E4M3FN: return f.template operator()<E::F8E4M3FN>();
    case E::F8E4M3FNUZ: return f.template operator()<E::F8E4M3FNUZ>();
    case E::F8E5M2: return f.template operator()<E::F8E5M2>();
    case E::F8E5M2FNUZ: return f.template operator()<E::F8E5M2FNUZ>();
    case E::F8E8M0: return f.template operator()<E::F8E8M0>();
    case E::F16: return f.template operator()<E::F16>();
    case E::BF16: return f.template operator()<E::BF16>();
    case E::F32: return f.template operator()<E::F32>();
    case E::F64: return f.template operator()<E::F64>();
    default: ensure(false, "not a float type");
  }
}

inline double nearest(ElementType t, double x) {
  return with_float(t, [&]<ElementType T>() { return nearest<T>(x); });
}

// The next double towards +infinity, -infinity. NaN and the infinity ahead stay.
inline double above(double x) {
  if (x != x || x == Infinity) return x;
  if (x == 0) return std::numeric_limits<double>::denorm_min();
  const auto b = std::bit_cast<std::uint64_t>(x);
  return std::bit_cast<double>((b >> 63) ? b - 1 : b + 1);
}
inline double below(double x) { return -above(-x); }

// Of a nonnegative bound that was computed with a few roundings of doubles: certainly not less than the exact one.
inline double enlarged(double x) { return x * (1 + 0x1p-40) + std::numeric_limits<double>::denorm_min(); }

// The ends of what a float of type T may be inside a definition, where [lo, hi] encloses the real value: an implementation may round it to T or hold it
// in a wider format, up to exactly (docs/bounds.md, section 8). Past the range of T that is everything up to infinity.
template <ElementType T> inline double kept_low(double lo) {
  const double r = nearest<T>(lo);
  if (r != r) return r;
  double least = r < lo ? r : lo;
  if constexpr (host::is_narrow_float(T))
    if (const double wider = nearest<ElementType::F32>(lo); wider < least) least = wider;
  return least;
}
template <ElementType T> inline double kept_high(double hi) { return -kept_low<T>(-hi); }
inline double kept_low(ElementType t, double lo) {
  return with_float(t, [&]<ElementType T>() { return kept_low<T>(lo); });
}
inline double kept_high(ElementType t, double hi) {
  return with_float(t, [&]<ElementType T>() { return kept_high<T>(hi); });
}
// A bound from below of a finite real number is not +infinity.
inline double finite_low(double lo) { return lo == Infinity ? std::numeric_limits<double>::max() : lo; }

// Half of the least subnormal (docs/bounds.md: eta), or for f64, which has no such double, the least itself.
inline double half_least(const FloatFormat& f) {
  const double half = std::ldexp(1.0, f.min_exponent() - f.precision());
  return half > 0 ? half : std::numeric_limits<double>::denorm_min();
}

// 2^e, for the exponents that doubles have.
inline double power_of_two(int e) {
  if (e < -1022) return e < -1074 ? 0 : std::bit_cast<double>(std::uint64_t{1} << (e + 1074));
  return std::bit_cast<double>(static_cast<std::uint64_t>(std::min(e, 1024) + 1023) << 52);
}
// floor(log2|x|) of a normal double; -1023 of 0 and of a subnormal one.
inline int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023; }

// ulp(x) in a format (numerics.md, section 0); of 0 the least subnormal. x is finite. (No format has a least normal number below f64's.)
inline double ulp_of(const FloatFormat& f, double x) { return power_of_two(std::max(exponent_of(x), f.min_exponent()) - f.fraction_bits); }

// How far below the positive reals in [from, to] (or that round to them) values within `ulps` of them reach. ulp(x) doubles at powers of two, so one of these inside
// may reach further than `from` does; the first or the last of them does most (the last, where the error is more than the value). +infinity where there is none.
// `smallest`: no magnitude but 0 is below it.
inline double reach_below(const FloatFormat& f, double ulps, double from, double to, double smallest = 0) {
  const auto power_at = [](double x) {
    int k = 0;
    (void)std::frexp(x, &k);
    return std::ldexp(1.0, k - 1);
  };
  const double last = std::fmin(to, std::numeric_limits<double>::max());
  if (from <= 0) from = std::fmax(ulp_of(f, 0), smallest);
  if (!(from <= last)) return Infinity;
  double reached = Infinity;
  for (const double power : {power_at(from), 2 * power_at(from), power_at(last)})
    if (power >= from && power <= last) reached = std::fmin(reached, power - ulps * ulp_of(f, power));
  return reached;
}

// The least value of T that is not below x; the greatest not above. f64: x itself.
template <ElementType T> inline double ceiling_of(double x) {
  if constexpr (T == ElementType::F32) {
    if (x <= -0x1p128) return -Infinity;  // infinity counts as the value after the largest finite one
    const float r = static_cast<float>(x);
    if (static_cast<double>(r) >= x || r != r) return r;
    if (r == 0) return std::numeric_limits<float>::denorm_min();
    const auto b = std::bit_cast<std::uint32_t>(r);
    return std::bit_cast<float>((b >> 31) ? b - 1 : b + 1);
  } else if constexpr (host::is_narrow_float(T)) {
    const double r = nearest<T>(x);
    if (r != r || r >= x) return r;
    const Bits up[2] = {from_double(T, r), has_infinity(T) ? infinity(T, false) : largest_finite(T)};
    return to_double(T, apply(Primitive::NextAfter, T, up));
  } else {
    return nearest<T>(x);
  }
}
template <ElementType T> inline double floor_of(double x) { return -ceiling_of<T>(-x); }

// Makes room in [lo, hi] for values of T within `ulps` of the reals between `least` and `greatest`, beyond what their ends ask.
template <ElementType T> inline void include_powers(double ulps, double least, double greatest, double& lo, double& hi, double smallest = 0) {
  if (ulps <= 0.5) return;
  const FloatFormat& f = format_of(T);
  // In one binade ulp is the same everywhere, and the ends reach farthest.
  if ((least < 0) == (greatest < 0) && exponent_of(least) == exponent_of(greatest) && exponent_of(least) >= f.min_exponent()) return;
  if (const double low = reach_below(f, ulps, least, greatest, smallest); low < lo) lo = std::fmin(lo, ceiling_of<T>(low));
  if (const double high = -reach_below(f, ulps, -greatest, -least, smallest); high > hi) hi = std::fmax(hi, floor_of<T>(high));
}

// Bounds of a + b, a * b over the reals.
inline double sum_below(double a, double b) {
  const double s = a + b;
  if (!(std::fabs(s) <= std::numeric_limits<double>::max())) return s;
  const double t = s - a, rest = (a - (s - t)) + (b - t);
  return rest < 0 ? below(s) : s;
}
inline double sum_above(double a, double b) {
  return a + b == 0 ? a + b : -sum_below(-a, -b);  // exact, and its sign is IEEE's
}
inline double product_below(double a, double b) {
  const double p = a * b;
  if (!(std::fabs(p) <= std::numeric_limits<double>::max())) return p;
  if (a == 0 || b == 0) return p;
  if (std::fabs(p) < 0x1p-960) return below(p);
  return __builtin_fma(a, b, -p) < 0 ? below(p) : p;
}
inline double product_above(double a, double b) { return -product_below(-a, b); }
inline double quotient_below(double a, double b) {
  const double q = a / b;
  if (!(std::fabs(q) <= std::numeric_limits<double>::max()) || a == 0 || std::fabs(b) > std::numeric_limits<double>::max()) return q;
  if (std::fabs(q) < 0x1p-960 || std::fabs(a) < 0x1p-900) return below(q);
  const double rest = __builtin_fma(-q, b, a);  // a - q b, exact
  return rest != 0 && (rest < 0) != (b < 0) ? below(q) : q;
}
inline double quotient_above(double a, double b) { return -quotient_below(-a, b); }

}  // namespace ulpian::interp::allowed
