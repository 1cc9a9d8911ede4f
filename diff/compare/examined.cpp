#include "diff/compare/examined.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ulpian::diff {

double distance_to_set(const interp::AllowedTensor& set, std::int64_t position, Bits got) {
  double best = std::numeric_limits<double>::infinity();
  each_end(set, position, [&](Bits end) { best = std::min(best, distance_in_ulps(set.type(), got, end)); });
  return best;
}

namespace {

std::string show_real(const interp::Real& r) {
  if (const Exact* e = r.exact()) {
    const std::string text = e->to_string();
    if (!e->is_finite() || (text.size() <= 24 && text.find('*') == std::string::npos)) return text;
  }
  if (const auto near = interp::round_to(r, ElementType::F64, CastMode::Plain)) return fmt::format("{}", to_double(ElementType::F64, *near));
  constexpr int Bits = 128;
  const auto [low, high] = interp::bounds_of(r, Bits);
  return fmt::format("in [{}, {}]", low.to_double(), high.to_double());
}

// How far the answer and the ends of the set lie from the true value.
void measure(Examined& out, const SecondOpinion& o, const interp::AllowedTensor& set, std::int64_t i, Bits got) {
  const ElementType t = set.type();
  out.true_value = show_real(*o.real);
  out.got = distance_in_ulps(t, got, *o.real);
  out.nearest = std::numeric_limits<double>::infinity();
  each_end(set, i, [&](Bits end) {
    const double d = distance_in_ulps(t, end, *o.real);
    out.nearest = std::min(out.nearest, d);
    if (std::isfinite(d)) out.farthest = std::max(out.farthest, d);
  });
  // The true value may lie between the ends.
  if (o.ideal && set.contains(i, *o.ideal)) out.nearest = std::min(out.nearest, distance_in_ulps(t, *o.ideal, *o.real));
}

}  // namespace

Examined examine(const SecondOpinion& o, const interp::AllowedTensor& set, std::int64_t i, Bits canonical, Bits got, bool holds_true_value) {
  using Finding = Examined::Finding;
  const ElementType t = set.type();
  Examined out;
  if (o.real) measure(out, o, set, i, got);
  if (!set.contains(i, canonical)) {
    out.finding = Finding::Doubted;
    out.fault = fmt::format("the canonical value {} is not in the allowed set {}", show_element(t, canonical), set.describe(i));
  } else if (o.canonical && !same_element(t, *o.canonical, canonical)) {
    out.finding = Finding::Doubted;
    out.fault = fmt::format("the scalar evaluator gives {}, the block evaluator {}", show_element(t, *o.canonical), show_element(t, canonical));
  } else if (!holds_true_value) {
    // Only the canonical value is admitted, and the scalar evaluator has it too: the answer is another.
    out.finding = o.canonical ? Finding::Holds : Finding::Open;
  } else if (!o.ideal || o.of_region) {
    out.finding = Finding::Open;
  } else if (same_element(t, *o.ideal, got)) {
    out.finding = Finding::Doubted;
    out.fault = fmt::format("{} is the true value, correctly rounded, but the allowed set is {}", show_element(t, got), set.describe(i));
  } else if (!set.contains(i, *o.ideal)) {
    // An answer that is nearer to the truth than something admitted is wrong only if the set holds the truth.
    const bool near = o.real && out.got <= out.farthest;
    out.finding = near ? Finding::Doubted : Finding::Holds;
    out.fault = fmt::format("the true value {} is not in the allowed set {}", show_element(t, *o.ideal), set.describe(i));
    if (near) out.fault += fmt::format(", and {} is no farther from it than what is admitted", show_element(t, got));
  } else {
    out.finding = Finding::Holds;
  }
  return out;
}

}  // namespace ulpian::diff
