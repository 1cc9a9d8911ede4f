#include "diff/compare/verdict.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace ulpian::diff {

std::string_view name_of(Class c) {
  switch (c) {
    case Class::Conforms: return "conforms";
    case Class::Vacuous: return "vacuous";
    case Class::IllConditioned: return "ill-conditioned";
    case Class::Undecided: return "undecided";
    case Class::Refused: return "refused";
    case Class::Violation: return "violation";
    case Class::Lenient: return "lenient";
    case Class::Failed: return "failed";
    case Class::Crashed: return "crashed";
    case Class::Hung: return "hung";
    case Class::OutOfMemory: return "out of memory";
    case Class::InternalError: return "internal error";
  }
  ensure(false);
}

int exit_status(Class c) {
  switch (c) {
    case Class::Conforms:
    case Class::Vacuous: return 0;
    case Class::Violation:
    case Class::Lenient:
    case Class::Failed:
    case Class::Crashed:
    case Class::Hung: return 1;
    case Class::IllConditioned:
    case Class::Undecided:
    case Class::Refused:
    case Class::OutOfMemory:
    case Class::InternalError: return 3;
  }
  ensure(false);
}

int severity(Class c) {
  switch (c) {
    case Class::Conforms: return 0;
    case Class::Vacuous: return 1;
    case Class::IllConditioned: return 2;
    case Class::Refused: return 3;
    case Class::Undecided: return 4;
    case Class::OutOfMemory: return 5;
    case Class::InternalError: return 6;
    case Class::Hung: return 7;
    case Class::Failed: return 8;
    case Class::Crashed: return 9;
    case Class::Lenient: return 10;
    case Class::Violation: return 11;
  }
  ensure(false);
}

namespace {

// Three digits, or as many as it takes not to fall below x: a profile with the figure as written conforms.
std::string at_least(double x) {
  std::string out;
  for (int digits = 3; digits <= 17; ++digits)
    if (out = fmt::format("{:.{}g}", x, digits); std::strtod(out.c_str(), nullptr) >= x) break;
  return out;
}

}  // namespace

std::string to_string(const DeviationSet& set) {
  std::string out;
  for (interp::Freedom f : set.freedoms) out += fmt::format("{}{}", out.empty() ? "" : " + ", interp::name_of(f));
  if (set.function_ulps > 0) out += fmt::format("{}functions within {} ULP", out.empty() ? "" : " + ", at_least(set.function_ulps));
  if (set.function_error > 0) out += fmt::format("{}functions within {} absolute", out.empty() ? "" : " + ", at_least(set.function_error));
  return out;
}

std::optional<DeviationSet> least_together(std::span<const Verdict* const> verdicts) {
  constexpr std::uint32_t Error = std::uint32_t{1} << interp::FreedomCount, Ulps = Error << 1;
  const auto mask_of = [](const DeviationSet& s) {
    std::uint32_t mask = (s.function_ulps > 0 ? Ulps : 0) | (s.function_error > 0 ? Error : 0);
    for (interp::Freedom f : s.freedoms) mask |= std::uint32_t{1} << static_cast<int>(f);
    return mask;
  };
  std::uint32_t all = 0;
  std::size_t some = 0;
  for (const Verdict* v : verdicts) {
    if (exit_status(v->verdict) == 0) continue;
    if (!v->deviations || v->deviations->least.empty()) return std::nullopt;
    ++some;
    for (const DeviationSet& s : v->deviations->least) all |= mask_of(s);
  }
  if (some == 0) return std::nullopt;
  std::optional<std::uint32_t> best;
  // Of as many, the one whose last is preferred.
  for (std::uint32_t mask = all; mask != 0; mask = (mask - 1) & all) {
    if (best && std::popcount(mask) > std::popcount(*best)) continue;
    const bool enough = std::all_of(verdicts.begin(), verdicts.end(), [&](const Verdict* v) {
      return exit_status(v->verdict) == 0 || std::any_of(v->deviations->least.begin(), v->deviations->least.end(), [&](const DeviationSet& s) { return (mask_of(s) & ~mask) == 0; });
    });
    if (enough) best = mask;
  }
  DeviationSet out;
  for (int k = 0; k < interp::FreedomCount; ++k)
    if (*best >> k & 1) out.freedoms.push_back(static_cast<interp::Freedom>(k));
  for (const Verdict* v : verdicts) {
    if (exit_status(v->verdict) == 0) continue;
    // Of the sets that fit, the one with the smallest error.
    const DeviationSet* least = nullptr;
    for (const DeviationSet& s : v->deviations->least)
      if ((mask_of(s) & ~*best) == 0 && (!least || std::max(s.function_ulps, s.function_error) < std::max(least->function_ulps, least->function_error))) least = &s;
    out.function_ulps = std::max(out.function_ulps, least->function_ulps);
    out.function_error = std::max(out.function_error, least->function_error);
  }
  return out;
}

void Counts::add(const Counts& other) {
  elements += other.elements;
  equal += other.equal;
  allowed += other.allowed;
  vacuous += other.vacuous;
  outside += other.outside;
  let_through += other.let_through;
  refused_inside += other.refused_inside;
  random += other.random;
  worst_ulps = std::max(worst_ulps, other.worst_ulps);
  shown.add(other.shown);
}

std::string show_element(ElementType type, Bits bits) {
  if (type == ElementType::Bool) return bits ? "true" : "false";
  if (is_integer(type)) return type == ElementType::U64 ? std::to_string(bits) : std::to_string(to_int64(type, bits));
  const int digits = (bits_of(type) + 3) / 4;
  std::string value = bits_of(type) == 64 ? fmt::format("{}", to_double(type, bits)) : fmt::format("{}", static_cast<float>(to_double(type, bits)));
  return fmt::format("{} (0x{:0{}x})", value, bits, digits);
}

std::string to_string(const Witness& w) {
  std::string index = "[";
  for (std::size_t k = 0; k < w.index.size(); ++k) index += (k ? ", " : "") + std::to_string(w.index[k]);
  index += "]";
  std::string out = fmt::format("output \"{}\"{} is {}; allowed is {}, canonical {}", w.output_name, w.index.empty() ? "" : index, show_element(w.type, w.got), w.allowed,
                                show_element(w.type, w.canonical));
  if (std::isfinite(w.distance)) out += fmt::format(": {:.3g} ULP outside", w.distance);
  if (!w.why_no_true_value.empty()) out += fmt::format("; its true value was not found: {}", w.why_no_true_value);
  if (w.true_value.empty()) return out;
  out += fmt::format("; {} is {}", w.of_region ? "if nothing were rounded between the operators, the value" : "the true value", w.true_value);
  if (std::isfinite(w.got_from_true)) out += fmt::format(", {:.3g} ULP away", w.got_from_true);
  if (std::isfinite(w.allowed_from_true)) out += fmt::format(" (the nearest allowed value {:.3g})", w.allowed_from_true);
  return out;
}

}  // namespace ulpian::diff
