#include "diff/compare/shown.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

using interp::AllowedTensor;

constexpr double Infinity = std::numeric_limits<double>::infinity();

// An infinity as the number after the largest, as in distances in ULP.
double number(ElementType t, Bits b) {
  if (t == ElementType::Bool) return static_cast<double>(b);
  if (t == ElementType::U64) return static_cast<double>(b);
  if (!is_float(t)) return static_cast<double>(to_int64(t, b));
  const double x = to_double(t, b);
  return std::isinf(x) && bits_of(t) < 64 ? std::copysign(std::ldexp(1.0, format_of(t).max_exponent() + 1), x) : x;
}

// How far the farthest member lies from the canonical value, as a share of it.
double hidden_at(const AllowedTensor& set, std::int64_t i, Bits canonical) {
  const ElementType t = set.type();
  const std::uint8_t flags = set.flags()[static_cast<std::size_t>(i)];
  const bool no_number = is_float(t) && is_nan(t, canonical);
  if (no_number) return flags & interp::Empty ? 0 : Infinity;
  if (flags & interp::Empty) return Infinity;
  const double value = number(t, canonical);
  double farthest = 0;
  for (Bits end : {set.lower().at(i), set.upper().at(i)}) {  // of a union the hull's
    const double x = number(t, end);
    if (x != value) farthest = std::max(farthest, std::abs(x - value));
  }
  if (farthest == 0) return 0;
  return std::isinf(value) || !(farthest / std::abs(value) < Infinity) ? Infinity : farthest / std::abs(value);
}

// SplitMix64's last steps: which element of a part is looked at, so that parts of one width do not meet the same column each time.
std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Elements of the k-th of so many equal parts.
std::int64_t part_of(std::int64_t n, std::int64_t parts, std::int64_t k) { return n / parts + (k < n % parts); }

// Two digits, rounded up: an error above the figure as written shows.
std::string rounded_up(double x) {
  if (!std::isfinite(x)) return "inf";
  const double step = std::pow(10.0, std::floor(std::log10(x)) - 1);
  return fmt::format("{:.2g}", std::ceil(x / step * (1 - 1e-12)) * step);
}

}  // namespace

std::vector<std::int64_t> Shown::positions(std::int64_t n, std::int64_t most) {
  const std::int64_t parts = std::min(n, most);
  std::vector<std::int64_t> out;
  for (std::int64_t k = 0; k < parts; ++k) {
    const std::int64_t start = k * (n / parts) + std::min(k, n % parts), count = part_of(n, parts, k);
    out.push_back(start + static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(k)) % static_cast<std::uint64_t>(count)));
  }
  return out;
}

void Shown::take(const interp::AllowedSample& sets, const Tensor& canonical, std::int64_t most) {
  const std::int64_t n = canonical.size(), parts = std::min(n, most);
  if (canonical.type() == ElementType::String || is_complex(canonical.type())) return;  // never apart from canonical and judged by sets
  elements_ += n;
  std::int64_t k = 0;
  for (std::int64_t i : positions(n, most)) take(sets.sets, sets.slot(i), canonical.at(i), part_of(n, parts, k++));
}

void Shown::take(const AllowedTensor& set, std::int64_t i, Bits canonical, std::int64_t count) {
  if (set.flags()[static_cast<std::size_t>(i)] & interp::Anything) {
    vacuous_ += count;
    return;
  }
  const double hidden = hidden_at(set, i, canonical);
  if (hidden == 0) exact_ += count;
  else hidden_.emplace_back(hidden, count);
}

void Shown::add(const Shown& other) {
  elements_ += other.elements_;
  exact_ += other.exact_;
  vacuous_ += other.vacuous_;
  hidden_.insert(hidden_.end(), other.hidden_.begin(), other.hidden_.end());
}

double Shown::least() const { return std::min_element(hidden_.begin(), hidden_.end())->first; }

double Shown::median() const {
  auto sorted = hidden_;
  std::sort(sorted.begin(), sorted.end());
  std::int64_t left = elements_ - exact_ - vacuous_;
  left -= left / 2;
  for (const auto& [hidden, count] : sorted)
    if ((left -= count) <= 0) return hidden;
  ensure(false);
}

std::string in_short(const Shown& s) {
  if (s.elements() == 0) return "-";
  if (!s.has_others()) return s.exact() > 0 ? "any" : "nothing";
  return fmt::format("{} / {}", rounded_up(s.least()), rounded_up(s.median()));
}

std::string in_words(const Shown& s, std::int64_t elements) {
  if (s.elements() == 0) return {};
  std::string out = "these inputs show ";
  if (!s.has_others() && s.exact() == 0) {
    out += "nothing";
  } else if (!s.has_others()) {
    out += "any change";
  } else {
    if (s.exact() > 0) out += fmt::format("any change in {} of the elements and ", percent(s.exact(), s.elements()));
    out += fmt::format("relative errors above {} in half of the {} (at best {})", rounded_up(s.median()), s.exact() > 0 ? "others" : "elements", rounded_up(s.least()));
  }
  out += fmt::format("; vacuous: {}", percent(s.vacuous(), s.elements()));
  if (s.elements() < elements) out += fmt::format(" (as far as sets were asked for: {} of the elements)", percent(s.elements(), elements));
  return out;
}

std::string percent(std::int64_t part, std::int64_t all) {
  if (!all) return "-";
  // Not all is not 100 %.
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(all);
  if (part < all && share >= 99.95) return "<100%";
  if (part > 0 && share < 0.05) return ">0%";
  return fmt::format("{:.1f}%", share);
}

}  // namespace ulpian::diff
