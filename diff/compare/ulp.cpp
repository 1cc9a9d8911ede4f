#include "diff/compare/ulp.h"

#include <array>
#include <cmath>
#include <limits>

namespace ulpian::diff {
namespace {

constexpr double NoMeaning = std::numeric_limits<double>::infinity();

// floor(log2|x|) of a finite x != 0.
int binade_of(double x) {
  int e = 0;
  (void)std::frexp(x, &e);
  return e - 1;
}

int ulp_exponent_at(const FloatFormat& f, int binade) { return std::max(binade, f.min_exponent()) - f.fraction_bits; }

// An infinity as the number after the largest finite one.
Exact measured(ElementType type, Bits x) {
  if (!is_infinite(type, x)) return Exact::of(type, x);
  const Exact next = Exact::power_of_two(format_of(type).max_exponent() + 1);
  return sign_bit(type, x) ? -next : next;
}

// Of a number that is only known within bounds, the end that is farther from zero.
double nearest_double(const interp::Real& r) {
  if (const auto rounded = interp::round_to(r, ElementType::F64, CastMode::Plain)) return to_double(ElementType::F64, *rounded);
  constexpr int Bits = 128;
  const auto [low, high] = interp::bounds_of(r, Bits);
  return low.absolute() < high.absolute() ? high.to_double() : low.to_double();
}

}  // namespace

int ulp_exponent(ElementType type, Bits x) {
  const FloatFormat& f = format_of(type);
  if (is_infinite(type, x)) return ulp_exponent_at(f, f.max_exponent() + 1);
  const double v = to_double(type, x);
  return ulp_exponent_at(f, v == 0 ? f.min_exponent() : binade_of(v));
}

double distance_in_ulps(ElementType type, Bits got, Bits reference) {
  if (!is_float(type) || is_nan(type, got) || is_nan(type, reference)) return NoMeaning;
  const int exponent = ulp_exponent(type, reference);
  const bool wide = bits_of(type) == 64 || is_infinite(type, got) || is_infinite(type, reference);
  // Narrower values are far inside a double's range, so that their difference rounds but once.
  if (!wide) return std::ldexp(std::abs(to_double(type, got) - to_double(type, reference)), -exponent);
  const Exact difference = (measured(type, got) - measured(type, reference)).absolute();
  return (difference * Exact::power_of_two(-exponent)).to_double();
}

double distance_in_ulps(ElementType type, Bits got, const interp::Real& reference) {
  if (!is_float(type) || is_nan(type, got)) return NoMeaning;
  if (const Exact* e = reference.exact(); e && !e->is_finite()) {
    if (e->is_nan() || !has_infinity(type)) return NoMeaning;
    return distance_in_ulps(type, got, infinity(type, e->is_negative()));
  }
  // The binade of the real number: exactly where it is rational, else from its nearest double (an irrational number is no power of two, and
  // rounding up to one only halves a figure that people read).
  const double near = nearest_double(reference);
  const FloatFormat& f = format_of(type);
  int binade = f.max_exponent() + 1;
  if (near == 0) binade = f.min_exponent();
  else if (std::isfinite(near)) binade = std::min(binade_of(near), binade);
  if (const Exact* e = reference.exact(); e && near != 0 && std::isfinite(near) && e->absolute() < Exact::power_of_two(binade)) --binade;
  const std::array<interp::Real, 2> both{interp::Real(measured(type, got)), reference};
  const auto difference = interp::real_primitive(Primitive::Subtract, both);
  if (!difference) return NoMeaning;
  const std::array<interp::Real, 2> scaled{*difference, interp::Real(Exact::power_of_two(-ulp_exponent_at(f, binade)))};
  const auto ulps = interp::real_primitive(Primitive::Multiply, scaled);
  return ulps ? std::abs(nearest_double(*ulps)) : NoMeaning;
}

}  // namespace ulpian::diff
