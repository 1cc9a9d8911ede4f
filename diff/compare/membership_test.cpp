// Canonical and ideal are members of allowed (numerics.md, section 1): every operator of the specification at its examples' calls, on the
// examples' own inputs and on drawn ones that overflow, underflow, cancel or are not finite.
#include <random>

#include "interp/allowed/allowed.h"
#include "interp/allowed/example_calls_test_support.h"
#include "interp/ideal/ideal.h"
#include "interp/scalar/scalar.h"

namespace ulpian::diff {
namespace {

using interp::testing::Inputs;
using interp::testing::shown;

struct Totals {
  std::int64_t runs = 0, elements = 0, ideals = 0, anything = 0;
};

// A real zero has no sign of its own: after a remainder, say, which signs it as its dividend is.
bool holds(const interp::AllowedTensor& set, std::int64_t i, Bits ideal) {
  if (set.contains(i, ideal)) return true;
  const ElementType t = set.type();
  return is_float(t) && format_of(t).has_negative_zero() && is_zero(t, ideal) && set.contains(i, ideal ^ format_of(t).sign_mask());
}

// Where the ideal value of an output is not known.
std::vector<std::int64_t> undecided_of(const interp::IdealAnswer& ideal, std::size_t output) {
  std::vector<std::int64_t> out;
  for (const auto& u : ideal.undecided)
    for (const auto& e : u.first)
      if (u.output == output) out.push_back(e.position);
  return out;
}

// What is not a member, as text; empty where all is well.
std::string outside(const core::Program& program, const Inputs& inputs, const interp::Profile& profile, Totals& totals) {
  interp::Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  limits.memory_bytes = 64 << 20;
  std::optional<Diagnostic> undefined, free;
  const auto canonical = interp::evaluate_scalar(program, inputs, limits, &undefined);
  if (!canonical) return {};
  std::vector<std::optional<interp::AllowedTensor>> sets;
  for (const auto& t : inputs) sets.push_back(t ? std::optional(interp::AllowedTensor::exactly(*t)) : std::nullopt);
  const auto allowed = interp::evaluate_allowed(program, sets, profile, limits, &free);
  if (!allowed) return allowed.error().kind == ErrorKind::Limit || allowed.error().kind == ErrorKind::Unsupported ? std::string() : to_string(allowed.error());
  if (undefined || free) return {};
  ++totals.runs;
  const auto ideal = interp::ideal_answer(program, inputs, *canonical, limits);
  for (std::size_t k = 0; k < canonical->size(); ++k) {
    if (!(*canonical)[k] || (*canonical)[k]->type() == ElementType::String || is_complex((*canonical)[k]->type())) continue;
    const Tensor& want = *(*canonical)[k];
    const interp::AllowedTensor& set = *(*allowed)[k];
    const auto undecided = ideal ? undecided_of(*ideal, k) : std::vector<std::int64_t>();
    const bool known = ideal.ok() && undecided.size() < interp::UndecidedElements::MostListed;
    for (std::int64_t i = 0; i < want.size(); ++i) {
      ++totals.elements;
      totals.anything += (set.flags()[static_cast<std::size_t>(i)] & interp::Anything) != 0;
      if (!set.contains(i, want.at(i))) return fmt::format("output {}, element {}: canonical {} is outside {}", k, i, shown(want.type(), want.at(i)), set.describe(i));
      if (!known || std::ranges::find(undecided, i) != undecided.end()) continue;
      const Bits value = (*ideal->outputs[k]).at(i);
      ++totals.ideals;
      if (!holds(set, i, value))
        return fmt::format("output {}, element {}: ideal {} is outside {}; canonical {}", k, i, shown(want.type(), value), set.describe(i), shown(want.type(), want.at(i)));
    }
  }
  return {};
}

enum class Kind { Ordinary, Huge, Tiny, Mixed, Count };

Bits drawn(ElementType t, Kind kind, std::mt19937& random) {
  const double unit = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
  const double most = to_double(t, largest_finite(t));
  const double root = static_cast<double>(__builtin_sqrt(most));
  switch (kind) {
    case Kind::Ordinary: return from_double(t, random() % 3 ? unit : 8 * unit);
    case Kind::Huge: return from_double(t, (random() % 2 ? most : random() % 2 ? 2 * root : root) * unit);
    case Kind::Tiny: return random() % 2 ? random() % 5 : from_double(t, unit / root);
    default: break;
  }
  switch (random() % 8) {
    case 0: return has_infinity(t) ? infinity(t, random() & 1u) : from_double(t, 1.0);
    case 1: return has_nan(t) ? canonical_nan(t) : from_double(t, 1.0);
    case 2: return (random() & 1u) ? largest_finite(t) : lowest_finite(t);
    case 3: return random() % 3;
    case 4: return from_double(t, -0.0);
    case 5: return from_double(t, 1e6 * unit);
    default: return from_double(t, unit);
  }
}

TEST(Membership, CanonicalAndIdealAreAllowed) {
  constexpr unsigned Seed = 20261202;
  fmt::print("seed {}\n", Seed);
  std::mt19937 random(Seed);
  Totals totals;
  interp::testing::each_example_call(false, 40, [&](const language::Example& e, const core::Program& program) {
    const bool floats = std::any_of(e.inputs.begin(), e.inputs.end(), [](const auto& t) { return t && is_float(t->type()); });
    // Of what looks at the bits of numbers, as the programs of functions do, no true value is known.
    const bool of_bits = std::ranges::any_of(program.terms, [](const core::Term& t) { return t.kind == core::TermKind::Cast && static_cast<CastMode>(t.operation) == CastMode::Reinterpret; });
    const Totals before = totals;
    // First the example's own inputs.
    for (int round = 0; round <= (floats ? static_cast<int>(Kind::Count) : 0); ++round) {
      Inputs inputs = e.inputs;
      for (std::optional<Tensor>& t : inputs) {
        if (round == 0 || !t || !is_float(t->type())) continue;
        Tensor other(t->type(), t->extents());
        for (std::int64_t i = 0; i < other.size(); ++i) other.set(i, drawn(t->type(), static_cast<Kind>(round - 1), random));
        t = std::move(other);
      }
      const std::string wrong = outside(program, inputs, *interp::profile_named(round % 2 ? "standard" : "strict"), totals);
      if (wrong.empty()) continue;
      ADD_FAILURE() << e.title << ", round " << round << ": " << wrong << shown(inputs);
      return false;
    }
    if (of_bits) totals = before;
    return true;
  });
  fmt::print("{} runs, {} elements, {} of a known true value, {} anything\n", totals.runs, totals.elements, totals.ideals, totals.anything);
  EXPECT_GT(totals.ideals * 10, totals.elements * 9) << "most true values are to be known";
}

}  // namespace
}  // namespace ulpian::diff
