// Canonical is a member of allowed: every operator of the specification, on its own examples and on drawn inputs.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interp/allowed/allowed.h"
#include "interp/scalar/scalar.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

struct Totals {
  std::int64_t runs = 0, elements = 0, exact = 0, anything = 0;
};

// What is not a member, as text; empty where all is well.
std::string outside(const core::Program& program, const std::vector<std::optional<Tensor>>& inputs, const Profile& profile, Totals& totals) {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  limits.memory_bytes = 64 << 20;
  std::optional<Diagnostic> undefined;
  const auto canonical = evaluate_scalar(program, inputs, limits, &undefined);
  std::vector<std::optional<AllowedTensor>> sets(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) sets[k] = AllowedTensor::exactly(*inputs[k]);
  std::optional<Diagnostic> may_be_undefined;
  const auto allowed = evaluate_allowed(program, sets, profile, limits, &may_be_undefined);
  if (!canonical) {
    // What must be refused is refused here, too; other failures have no answer to compare.
    if (canonical.error().kind == ErrorKind::Requirement && allowed) return "an answer where a refusal is required: " + to_string(canonical.error());
    return {};
  }
  if (!allowed) return allowed.error().kind == ErrorKind::Limit || allowed.error().kind == ErrorKind::Unsupported ? std::string() : to_string(allowed.error());
  if (undefined && !may_be_undefined) return "undefined, but not found so: " + to_string(*undefined);
  ++totals.runs;
  for (std::size_t k = 0; k < canonical->size(); ++k) {
    if (!(*canonical)[k]) continue;
    const Tensor& want = *(*canonical)[k];
    if (want.type() == ElementType::String) continue;
    if (!(*allowed)[k]) return fmt::format("output {} has no set", k);
    const AllowedTensor& set = *(*allowed)[k];
    if (set.extents() != want.extents() || set.type() != want.type()) return fmt::format("output {} has extents {}, not {}", k, to_string(set.extents()), to_string(want.extents()));
    for (std::int64_t i = 0; i < want.size(); ++i) {
      ++totals.elements;
      totals.exact += set.is_exact(i);
      totals.anything += (set.flags()[static_cast<std::size_t>(i)] & Anything) != 0;
      if (!set.contains(i, want.at(i)))
        return fmt::format("output {}, element {}: {} ({:#x}) is outside {} under {}", k, i, is_float(want.type()) ? fmt::format("{}", to_double(want.type(), want.at(i))) : "", want.at(i),
                           set.describe(i), profile.name);
    }
  }
  return {};
}

bool handles(const std::vector<std::optional<Tensor>>& inputs) {
  return std::none_of(inputs.begin(), inputs.end(), [](const auto& t) { return t && (t->type() == ElementType::String || is_complex(t->type())); });
}

// Values in which errors show: small integers, ordinary numbers, huge, tiny, ties, zeros of both signs, infinities, NaN.
Bits drawn(ElementType t, std::mt19937& random, bool special) {
  if (t == ElementType::Bool) return random() & 1u;
  if (!is_float(t)) return from_int64(t, static_cast<std::int64_t>(random() % 11) - (is_signed(t) ? 5 : 0));
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
  auto specification = language::Specification::load();
  ASSERT_TRUE(specification) << to_string(specification.error());
  Totals totals;
  int failures = 0;
  for (const std::string& name : (*specification)->names())
    for (const language::OperatorDefinition* d : (*specification)->definitions(name)) {
      auto examples = language::examples_of(**specification, *d);
      if (!examples) continue;
      for (const language::Example& e : *examples) {
        if (!handles(e.inputs)) continue;
        auto program = language::elaborate(**specification, e.call);
        if (!program) continue;
        for (const char* profile : {"standard", "strict"}) {
          const std::string wrong = outside(*program, e.inputs, *profile_named(profile), totals);
          if (wrong.empty()) continue;
          ADD_FAILURE() << e.title << ": " << wrong;
          if (++failures > 40) return;
        }
      }
    }
  fmt::print("{} runs, {} elements, {} exact, {} anything\n", totals.runs, totals.elements, totals.exact, totals.anything);
}

TEST(Soundness, CanonicalIsAllowedOnDrawnInputs) {
  auto specification = language::Specification::load();
  ASSERT_TRUE(specification) << to_string(specification.error());
  constexpr unsigned Seed = 20261130;
  fmt::print("seed {}\n", Seed);
  std::mt19937 random(Seed);
  Totals totals;
  int failures = 0;
  for (const std::string& name : (*specification)->names())
    for (const language::OperatorDefinition* d : (*specification)->definitions(name)) {
      auto examples = language::examples_of(**specification, *d);
      if (!examples) continue;
      for (const language::Example& e : *examples) {
        if (!handles(e.inputs) || e.expects_error) continue;
        auto program = language::elaborate(**specification, e.call);
        if (!program) continue;
        for (int round = 0; round < 3; ++round) {
          std::vector<std::optional<Tensor>> inputs = e.inputs;
          for (std::optional<Tensor>& t : inputs) {
            if (!t || !is_float(t->type())) continue;
            Tensor other(t->type(), t->extents());
            for (std::int64_t i = 0; i < other.size(); ++i) other.set(i, drawn(t->type(), random, round > 0));
            t = std::move(other);
          }
          const std::string wrong = outside(*program, inputs, *profile_named(round == 1 ? "strict" : "standard"), totals);
          if (wrong.empty()) continue;
          std::string given;
          for (const auto& t : inputs)
            if (t) {
              given += fmt::format("\n  {}{}:", name_of(t->type()), to_string(t->extents()));
              for (std::int64_t i = 0; i < std::min<std::int64_t>(t->size(), 12); ++i) given += fmt::format(" {:#x}", t->at(i));
            }
          ADD_FAILURE() << e.title << ": " << wrong << given;
          if (++failures > 40) return;
        }
      }
    }
  fmt::print("{} runs, {} elements, {} exact, {} anything\n", totals.runs, totals.elements, totals.exact, totals.anything);
}

}  // namespace
}  // namespace ulpian::interp
