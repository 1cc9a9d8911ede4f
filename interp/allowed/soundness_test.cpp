// Canonical is a member of allowed: every operator of the specification, on its own examples and on drawn inputs.
#include <algorithm>
#include <random>

#include "interp/allowed/allowed.h"
#include "interp/allowed/example_calls_test_support.h"
#include "interp/scalar/scalar.h"

namespace ulpian::interp::testing {
namespace {

using Sets = std::vector<std::optional<AllowedTensor>>;

struct Totals {
  std::int64_t runs = 0, elements = 0, exact = 0, anything = 0;
  void print() const { fmt::print("{} runs, {} elements, {} exact, {} anything\n", runs, elements, exact, anything); }
};

Limits small_limits() {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  limits.memory_bytes = 64 << 20;
  return limits;
}

bool is_a_limit(const Diagnostic& d) { return d.kind == ErrorKind::Limit || d.kind == ErrorKind::Unsupported; }

// The first element of the answers that is not in its set, as text; empty where all are.
std::string first_outside(const Outputs& answers, const Sets& sets, Totals& totals) {
  ++totals.runs;
  for (std::size_t k = 0; k < answers.size(); ++k) {
    if (!answers[k] || answers[k]->type() == ElementType::String) continue;
    const Tensor& want = *answers[k];
    if (!sets[k]) return fmt::format("output {} has no set", k);
    const AllowedTensor& set = *sets[k];
    if (set.extents() != want.extents() || set.type() != want.type()) return fmt::format("output {} has extents {}, not {}", k, to_string(set.extents()), to_string(want.extents()));
    if (is_complex(want.type())) {
      const bool free = std::any_of(set.flags().begin(), set.flags().end(), [](std::uint8_t f) { return f != 0; });
      if (!free && !same_elements(set.lower(), want)) return fmt::format("output {} differs from its only member", k);
      continue;
    }
    for (std::int64_t i = 0; i < want.size(); ++i) {
      ++totals.elements;
      totals.exact += set.is_exact(i);
      totals.anything += (set.flags()[static_cast<std::size_t>(i)] & Anything) != 0;
      if (!set.contains(i, want.at(i))) return fmt::format("output {}, element {}: {} is outside {}", k, i, shown(want.type(), want.at(i)), set.describe(i));
    }
  }
  return {};
}

// What is not a member, as text; empty where all is well.
std::string outside(const core::Program& program, const Inputs& inputs, const Profile& profile, Totals& totals) {
  const Limits limits = small_limits();
  std::optional<Diagnostic> undefined, may_be_undefined;
  const auto canonical = evaluate_scalar(program, inputs, limits, &undefined);
  Sets sets(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) sets[k] = AllowedTensor::exactly(*inputs[k]);
  const auto allowed = evaluate_allowed(program, sets, profile, limits, &may_be_undefined);
  if (!canonical) {
    // What must be refused is refused here, too; other failures have no answer to compare.
    if (canonical.error().kind == ErrorKind::Requirement && allowed) return "an answer where a refusal is required: " + to_string(canonical.error());
    return {};
  }
  if (!allowed) return is_a_limit(allowed.error()) ? std::string() : to_string(allowed.error());
  if (undefined && !may_be_undefined) return "undefined, but not found so: " + to_string(*undefined);
  const std::string wrong = first_outside(*canonical, *allowed, totals);
  return wrong.empty() ? wrong : wrong + " under " + profile.name();
}

// Values in which errors show: small integers, ordinary numbers, huge, tiny, ties, zeros of both signs, infinities, NaN.
Bits drawn(ElementType t, std::mt19937& random, bool special) {
  const auto kind = static_cast<unsigned>(random() % (special ? 12u : 6u));
  const double unit = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
  switch (kind) {
    case 0: return from_double(t, static_cast<double>(static_cast<int>(random() % 9)) - 4);
    case 1:
    case 2: return from_double(t, unit);
    case 3:
    case 4: return from_double(t, 8 * unit);
    case 5: return from_double(t, 300 * unit);
    case 6: return from_double(t, 0.0);
    case 7: return from_double(t, -0.0);
    case 8: return has_infinity(t) ? infinity(t, random() & 1u) : from_double(t, 1.0);
    case 9: return has_nan(t) ? canonical_nan(t) : from_double(t, 1.0);
    case 10: return (random() & 1u) ? largest_finite(t) : lowest_finite(t);
    default: return 1 + random() % 3;  // least subnormals
  }
}

TEST(Soundness, CanonicalIsAllowedOnEveryExample) {
  Totals totals;
  each_example_call(true, 40, [&](const language::Example& e, const core::Program& program) {
    bool well = true;
    for (const char* profile : {"standard", "strict"}) {
      const std::string wrong = outside(program, e.inputs, *profile_named(profile), totals);
      if (!wrong.empty()) ADD_FAILURE() << e.title << ": " << wrong;
      well = well && wrong.empty();
    }
    return well;
  });
  totals.print();
}

TEST(Soundness, CanonicalIsAllowedOnDrawnInputs) {
  constexpr unsigned Seed = 20261130;
  fmt::print("seed {}\n", Seed);
  std::mt19937 random(Seed);
  Totals totals;
  each_example_call(false, 40, [&](const language::Example& e, const core::Program& program) {
    for (int round = 0; round < 3; ++round) {
      Inputs inputs = e.inputs;
      for (std::optional<Tensor>& t : inputs) {
        if (!t || !is_float(t->type())) continue;
        Tensor other(t->type(), t->extents());
        for (std::int64_t i = 0; i < other.size(); ++i) other.set(i, drawn(t->type(), random, round > 0));
        t = std::move(other);
      }
      const std::string wrong = outside(program, inputs, *profile_named(round == 1 ? "strict" : "standard"), totals);
      if (wrong.empty()) continue;
      ADD_FAILURE() << e.title << ": " << wrong << shown(inputs);
      return false;
    }
    return true;
  });
  totals.print();
}

// With every deviation a set holds what it held without any, and canonical.
TEST(Soundness, DeviationsOnlyAdd) {
  constexpr unsigned Seed = 20261202;
  std::mt19937 random(Seed);
  Totals totals;
  const std::vector<Freedom> freedoms{Freedom::Ftz, Freedom::Daz, Freedom::ZeroSigns, Freedom::NanIgnored, Freedom::Tf32Inputs, Freedom::F16Inputs, Freedom::Bf16Inputs, Freedom::F16Sums, Freedom::Bf16Sums};
  const Profile strict = *profile_named("strict"), all = strict.with(freedoms).within(100).apart(1e-6);
  each_example_call(false, 20, [&](const language::Example& e, const core::Program& program) {
    Inputs inputs = e.inputs;
    Sets sets(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k]) continue;
      if (is_float(inputs[k]->type())) {
        Tensor other(inputs[k]->type(), inputs[k]->extents());
        for (std::int64_t i = 0; i < other.size(); ++i) other.set(i, random() % 2 ? drawn(other.type(), random, true) : inputs[k]->at(i));
        inputs[k] = std::move(other);
      }
      sets[k] = AllowedTensor::exactly(*inputs[k]);
    }
    std::string wrong = outside(program, inputs, all, totals);
    const auto less = evaluate_allowed(program, sets, strict, small_limits()), more = evaluate_allowed(program, sets, all, small_limits());
    for (std::size_t k = 0; wrong.empty() && less && more && k < less->size(); ++k) {
      if (!(*less)[k] || is_complex((*less)[k]->type()) || (*less)[k]->type() == ElementType::String) continue;
      const AllowedTensor &small = *(*less)[k], &large = *(*more)[k];
      for (std::int64_t i = 0; i < small.size(); ++i) {
        const std::uint8_t flags = small.flags()[static_cast<std::size_t>(i)], beyond = large.flags()[static_cast<std::size_t>(i)];
        const bool held = (beyond & Anything) || ((flags & Empty) != 0 || (large.contains(i, small.lower().at(i)) && large.contains(i, small.upper().at(i))));
        if (!held || ((flags & HasNan) && !(beyond & (HasNan | Anything)))) wrong = fmt::format("output {}, element {}: {} does not hold {}", k, i, large.describe(i), small.describe(i));
      }
    }
    if (!wrong.empty()) ADD_FAILURE() << e.title << ": " << wrong << shown(inputs);
    return wrong.empty();
  });
  totals.print();
}

// --- sets in, sets out

// Intervals around the elements of a float tensor, some with NaN; some conditions that may hold or not.
AllowedTensor widened(const Tensor& t, bool is_static, std::mt19937& random) {
  if (is_complex(t.type())) return AllowedTensor::exactly(t);
  Tensor lower(t.type(), t.extents()), upper(t.type(), t.extents());
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(t.size()), 0);
  const bool varied = (is_float(t.type()) && has_infinity(t.type())) || (t.type() == ElementType::Bool && !is_static && random() % 3 == 0);
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const Bits b = t.at(i);
    lower.set(i, b);
    upper.set(i, b);
    if (!varied || (is_float(t.type()) && (is_nan(t.type(), b) || is_infinite(t.type(), b)))) {
      if (is_float(t.type()) && is_nan(t.type(), b)) flags[static_cast<std::size_t>(i)] = HasNan | Empty;
      continue;
    }
    if (t.type() == ElementType::Bool) {
      lower.set(i, 0), upper.set(i, 1);
      continue;
    }
    const double x = to_double(t.type(), b), w = random() % 3 == 0 ? 0 : random() % 2 ? 1e-3 : 1.5;
    lower.set(i, from_double(t.type(), x - w));
    upper.set(i, from_double(t.type(), x + (random() % 4 == 0 ? 0 : w)));
    if (w > 0 && random() % 16 == 0) flags[static_cast<std::size_t>(i)] = HasNan;
  }
  return AllowedTensor(std::move(lower), std::move(upper), std::move(flags));
}

// A member of each set: an end, NaN where it is one, or something between.
Tensor point_of(const AllowedTensor& set, std::mt19937& random) {
  if (is_complex(set.type())) return set.lower();
  Tensor t(set.type(), set.extents());
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const std::uint8_t f = set.flags()[static_cast<std::size_t>(i)];
    const Bits lo = set.lower().at(i), hi = set.upper().at(i);
    const unsigned pick = static_cast<unsigned>(random() % 4u);
    if ((f & HasNan) && ((f & Empty) || pick == 3)) t.set(i, canonical_nan(t.type()));
    else if (pick == 0 || !is_float(t.type())) t.set(i, random() % 2 ? lo : hi);
    else if (pick == 1) t.set(i, hi);
    else {
      const double a = to_double(t.type(), lo), b = to_double(t.type(), hi);
      const Bits m = from_double(t.type(), a + (b - a) * static_cast<double>(random() % 1001u) / 1000);
      t.set(i, set.contains(i, m) ? m : lo);
    }
  }
  return t;
}

// Whatever points are chosen inside the inputs, canonical of them is a member.
TEST(Soundness, SetsOfInputsEncloseTheAnswersOfTheirPoints) {
  constexpr unsigned Seed = 20261201;
  fmt::print("seed {}\n", Seed);
  std::mt19937 random(Seed);
  Totals totals;
  std::int64_t without_sets = 0;
  each_example_call(false, 25, [&](const language::Example& e, const core::Program& program) {
    const Limits limits = small_limits();
    Sets sets(e.inputs.size());
    for (std::size_t k = 0; k < sets.size(); ++k)
      if (e.inputs[k]) sets[k] = widened(*e.inputs[k], k < e.call.inputs.size() && e.call.inputs[k].value.has_value(), random);
    std::optional<Diagnostic> free;
    const auto allowed = evaluate_allowed(program, sets, *profile_named("standard"), limits, &free);
    if (!allowed && is_a_limit(allowed.error())) {
      ++without_sets;
      return true;
    }
    for (int sample = 0; sample < 3; ++sample) {
      Inputs points(sets.size());
      for (std::size_t k = 0; k < sets.size(); ++k)
        if (sets[k]) points[k] = point_of(*sets[k], random);
      std::optional<Diagnostic> undefined;
      const auto canonical = evaluate_scalar(program, points, limits, &undefined);
      if (!canonical) continue;
      std::string wrong;
      if (!allowed) wrong = "refused: " + to_string(allowed.error());
      else if (undefined && !free) wrong = "undefined, but not found so";
      else wrong = first_outside(*canonical, *allowed, totals);
      if (wrong.empty()) continue;
      for (std::size_t k = 0; k < sets.size(); ++k)
        for (std::int64_t i = 0; sets[k] && i < std::min<std::int64_t>(sets[k]->size(), 8); ++i)
          wrong += fmt::format("\n  {}[{}]: {} in {}", k, i, shown(points[k]->type(), points[k]->at(i)), sets[k]->describe(i));
      ADD_FAILURE() << e.title << ": " << wrong;
      return false;
    }
    return true;
  });
  totals.print();
  fmt::print("{} programs without sets\n", without_sets);
}

}  // namespace
}  // namespace ulpian::interp::testing
