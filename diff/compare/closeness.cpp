#include "diff/compare/closeness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "diff/compare/ulp.h"

namespace ulpian::diff {
namespace {

constexpr double Infinite = std::numeric_limits<double>::infinity();

double number(ElementType type, Bits bits) {
  if (is_float(type)) return to_double(type, bits);
  return type == ElementType::U64 ? static_cast<double>(bits) : static_cast<double>(to_int64(type, bits));
}

// Of 64-bit integers exactly, before it is rounded to a double.
double difference(ElementType type, Bits a, Bits b) {
  if (is_float(type)) return std::abs(to_double(type, a) - to_double(type, b));
  if (type == ElementType::U64) return static_cast<double>(a > b ? a - b : b - a);
  const auto x = static_cast<std::uint64_t>(to_int64(type, a)), y = static_cast<std::uint64_t>(to_int64(type, b));
  return static_cast<double>(to_int64(type, a) > to_int64(type, b) ? x - y : y - x);
}

}  // namespace

double strain(const interp::Closeness& rule, ElementType type, Bits got, Bits canonical) {
  if (same_element(type, got, canonical)) return 0;
  if (is_float(type) && (is_nan(type, got) || is_nan(type, canonical) || is_infinite(type, got) || is_infinite(type, canonical))) return Infinite;
  const double apart = difference(type, got, canonical);
  if (apart == 0) return 0;
  double least = Infinite;
  if (const double admitted = rule.absolute + rule.relative * std::abs(number(type, canonical)); admitted > 0) least = apart / admitted;
  if (rule.ulps > 0) least = std::min(least, is_float(type) ? distance_in_ulps(type, got, canonical) / rule.ulps : apart / rule.ulps);
  return least;
}

}  // namespace ulpian::diff
