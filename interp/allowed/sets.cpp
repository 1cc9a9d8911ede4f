#include "interp/allowed/sets.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ulpian::interp {
namespace {

bool opaque(ElementType t) { return t == ElementType::String || is_complex(t); }

// Order of values, -0 < +0.
bool before(ElementType t, Bits a, Bits b) {
  if (t == ElementType::Bool || !is_float(t)) {
    if (t == ElementType::Bool || t == ElementType::U64) return a < b;
    return to_int64(t, a) < to_int64(t, b);
  }
  const double x = to_double(t, a), y = to_double(t, b);
  if (x != y) return x < y;
  return sign_bit(t, a) && !sign_bit(t, b);
}

bool inside(ElementType t, Bits value, Bits lower, Bits upper) { return !before(t, value, lower) && !before(t, upper, value); }

std::string show(ElementType t, Bits b) {
  if (t == ElementType::Bool) return b ? "true" : "false";
  if (t == ElementType::U64) return std::to_string(b);
  if (!is_float(t)) return std::to_string(to_int64(t, b));
  if (bits_of(t) == 64) return fmt::format("{}", to_double(t, b));
  return fmt::format("{}", static_cast<float>(to_double(t, b)));
}

std::string show(ElementType t, Bits lower, Bits upper) {
  if (lower == upper) return show(t, lower);
  return fmt::format("[{}, {}]", show(t, lower), show(t, upper));
}

// Of strings and complex numbers, which have no intervals.
std::string show(const Tensor& t, std::int64_t position) {
  const auto k = static_cast<std::size_t>(position);
  if (t.type() == ElementType::String) return fmt::format("{:?}", t.strings()[k]);
  const bool narrow = t.type() == ElementType::C64;
  const auto part = [&](std::size_t j) { return narrow ? fmt::format("{}", t.data<float>()[2 * k + j]) : fmt::format("{}", t.data<double>()[2 * k + j]); };
  return fmt::format("({}, {})", part(0), part(1));
}

}  // namespace

AllowedTensor AllowedTensor::exactly(const Tensor& values) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(values.size()), 0);
  const auto number = [&](const auto* x) { return std::all_of(x, x + values.size(), [](auto v) { return v == v; }); };
  if (values.type() == ElementType::F32 && number(values.data<float>())) return AllowedTensor(values, values, std::move(flags));
  if (is_float(values.type()) && has_nan(values.type()))
    for (std::int64_t k = 0; k < values.size(); ++k)
      if (is_nan(values.type(), values.at(k))) flags[static_cast<std::size_t>(k)] = HasNan | Empty;
  return AllowedTensor(values, values, std::move(flags));
}

AllowedTensor::AllowedTensor(Tensor lower, Tensor upper, std::vector<std::uint8_t> flags, std::map<std::int64_t, std::vector<Interval>> pieces)
    : lower_(std::move(lower)), upper_(std::move(upper)), flags_(std::move(flags)), pieces_(std::move(pieces)) {
  ensure(lower_.type() == upper_.type() && lower_.extents() == upper_.extents());
  ensure(static_cast<std::int64_t>(flags_.size()) == lower_.size());
}

bool AllowedTensor::can_be_handed_on(ElementType t) { return is_float(t) && t < ElementType::F32 && has_infinity(t); }

void AllowedTensor::set_unrounded(Unrounded ends) {
  ensure(static_cast<std::int64_t>(ends.lower.size()) == size() && ends.upper.size() == ends.lower.size());
  unrounded_ = std::make_shared<const Unrounded>(std::move(ends));
}

AllowedTensor AllowedTensor::perhaps_rounded() const {
  const ElementType t = type();
  Unrounded ends;
  for (std::int64_t i = 0; i < size(); ++i) {
    const auto neighbour = [&](Bits b, bool up) {
      const Bits pair[2] = {b, infinity(t, !up)};
      return apply(Primitive::NextAfter, t, pair);
    };
    // Halfway to the neighbours: the numbers of a narrow format and their means are doubles. What lies beyond the largest by half a step is
    // infinite when it is rounded.
    const auto end = [&](const Tensor& from, bool up) {
      const Bits b = from.at(i);
      if (is_nan(t, b)) return std::numeric_limits<double>::quiet_NaN();
      const double x = to_double(t, b), next = to_double(t, neighbour(b, up));
      if (std::isfinite(x) && std::isfinite(next)) return x + (next - x) / 2;
      if (next == x) return x;
      const Bits largest = std::isfinite(x) ? b : neighbour(b, up);
      const bool inward = x < 0;
      const double l = to_double(t, largest);
      return l - (to_double(t, neighbour(largest, inward)) - l) / 2;
    };
    ends.lower.push_back(end(lower_, false));
    ends.upper.push_back(end(upper_, true));
  }
  AllowedTensor out = *this;
  out.set_unrounded(std::move(ends));
  return out;
}

bool AllowedTensor::contains(std::int64_t position, Bits value) const {
  const std::uint8_t flags = flags_[static_cast<std::size_t>(position)];
  const ElementType t = type();
  if (flags & Anything) return true;
  ensure(!opaque(t));
  if (is_float(t) && has_nan(t) && is_nan(t, value)) return (flags & HasNan) != 0;
  if (flags & Empty) return false;
  const auto among = [&](Bits v) {
    if (flags & NotOneInterval) {
      const auto& pieces = pieces_.at(position);
      return std::any_of(pieces.begin(), pieces.end(), [&](const Interval& p) { return inside(t, v, p.lower, p.upper); });
    }
    return inside(t, v, lower_.at(position), upper_.at(position));
  };
  if (among(value)) return true;
  if (!(flags & EitherZero) || !is_float(t) || !format_of(t).has_negative_zero() || !is_zero(t, value)) return false;
  return among(value ^ format_of(t).sign_mask());
}

bool AllowedTensor::is_exact(std::int64_t position) const {
  const std::uint8_t flags = flags_[static_cast<std::size_t>(position)];
  if (flags & (Anything | NotOneInterval)) return false;
  if (flags & Empty) return (flags & HasNan) != 0;
  if (opaque(type())) return true;
  if (flags & HasNan) return false;
  const Bits lower = lower_.at(position);
  if (lower != upper_.at(position)) return false;
  return !((flags & EitherZero) && is_float(type()) && is_zero(type(), lower));
}

std::string AllowedTensor::describe(std::int64_t position) const {
  const std::uint8_t flags = flags_[static_cast<std::size_t>(position)];
  if (flags & Anything) return "anything";
  if (opaque(type())) return show(lower_, position);
  std::string out;
  if (!(flags & Empty)) {
    if (flags & NotOneInterval)
      for (const Interval& p : pieces_.at(position)) out += (out.empty() ? "" : " or ") + show(type(), p.lower, p.upper);
    else out = show(type(), lower_.at(position), upper_.at(position));
  }
  if (flags & HasNan) out += out.empty() ? "NaN" : " or NaN";
  if (flags & Hulled) out += " (a hull)";
  return out.empty() ? "nothing" : out;
}

}  // namespace ulpian::interp
