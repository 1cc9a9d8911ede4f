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

// Sets in, sets out: whatever points are chosen inside the inputs, canonical of them is a member.
TEST(Soundness, SetsOfInputsEncloseTheAnswersOfTheirPoints) {
  auto specification = language::Specification::load();
  ASSERT_TRUE(specification) << to_string(specification.error());
  constexpr unsigned Seed = 20261201;
  fmt::print("seed {}\n", Seed);
  std::mt19937 random(Seed);
  Limits limits;
  limits.memory_bytes = 64 << 20;
  std::int64_t runs = 0, elements = 0, anything = 0, unsupported = 0;
  int failures = 0;
  for (const std::string& name : (*specification)->names())
    for (const language::OperatorDefinition* d : (*specification)->definitions(name)) {
      auto examples = language::examples_of(**specification, *d);
      if (!examples) continue;
      for (const language::Example& e : *examples) {
        if (!handles(e.inputs) || e.expects_error) continue;
        auto program = language::elaborate(**specification, e.call);
        if (!program) continue;
        limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        std::vector<std::optional<AllowedTensor>> sets(e.inputs.size());
        for (std::size_t k = 0; k < sets.size(); ++k) {
          if (!e.inputs[k]) continue;
          const Tensor& t = *e.inputs[k];
          const bool is_static = k < e.call.inputs.size() && e.call.inputs[k].value.has_value();
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
          sets[k] = AllowedTensor(std::move(lower), std::move(upper), std::move(flags));
        }
        std::optional<Diagnostic> free;
        const auto allowed = evaluate_allowed(*program, sets, *profile_named("standard"), limits, &free);
        if (!allowed && allowed.error().kind != ErrorKind::Requirement) {
          unsupported += 1;
          if (allowed.error().kind == ErrorKind::Unsupported || allowed.error().kind == ErrorKind::Limit) continue;
        }
        for (int sample = 0; sample < 3; ++sample) {
          std::vector<std::optional<Tensor>> points(sets.size());
          for (std::size_t k = 0; k < sets.size(); ++k) {
            if (!sets[k]) continue;
            Tensor t(sets[k]->type(), sets[k]->extents());
            for (std::int64_t i = 0; i < t.size(); ++i) {
              const std::uint8_t f = sets[k]->flags()[static_cast<std::size_t>(i)];
              const Bits lo = sets[k]->lower().at(i), hi = sets[k]->upper().at(i);
              const unsigned pick = static_cast<unsigned>(random() % 4u);
              if ((f & HasNan) && ((f & Empty) || pick == 3)) t.set(i, canonical_nan(t.type()));
              else if (pick == 0 || !is_float(t.type())) t.set(i, random() % 2 ? lo : hi);
              else if (pick == 1) t.set(i, hi);
              else {
                const double a = to_double(t.type(), lo), b = to_double(t.type(), hi);
                const Bits m = from_double(t.type(), a + (b - a) * static_cast<double>(random() % 1001u) / 1000);
                t.set(i, sets[k]->contains(i, m) ? m : lo);
              }
            }
            points[k] = std::move(t);
          }
          std::optional<Diagnostic> undefined;
          const auto canonical = evaluate_scalar(*program, points, limits, &undefined);
          if (!canonical) continue;
          ++runs;
          std::string wrong;
          if (!allowed) wrong = "refused: " + to_string(allowed.error());
          if (undefined && !free) wrong = "undefined, but not found so";
          for (std::size_t k = 0; allowed && k < canonical->size() && wrong.empty(); ++k) {
            if (!(*canonical)[k] || (*canonical)[k]->type() == ElementType::String) continue;
            const Tensor& want = *(*canonical)[k];
            for (std::int64_t i = 0; i < want.size() && wrong.empty(); ++i) {
              ++elements;
              anything += ((*allowed)[k]->flags()[static_cast<std::size_t>(i)] & Anything) != 0;
              if (!(*allowed)[k]->contains(i, want.at(i)))
                wrong = fmt::format("output {}, element {}: {:#x} ({}) is outside {}", k, i, want.at(i), is_float(want.type()) ? to_double(want.type(), want.at(i)) : 0, (*allowed)[k]->describe(i));
            }
          }
          if (wrong.empty()) continue;
          std::string given;
          for (std::size_t k = 0; k < sets.size(); ++k)
            for (std::int64_t i = 0; sets[k] && i < std::min<std::int64_t>(sets[k]->size(), 8); ++i) given += fmt::format("\n  {}[{}]: {} in {}", k, i, is_float(points[k]->type()) ? to_double(points[k]->type(), points[k]->at(i)) : static_cast<double>(points[k]->at(i)), sets[k]->describe(i));
          ADD_FAILURE() << e.title << ": " << wrong << given;
          if (++failures > 25) return;
          break;
        }
      }
    }
  fmt::print("{} runs, {} elements, {} anything, {} programs without sets\n", runs, elements, anything, unsupported);
}

}  // namespace
}  // namespace ulpian::interp
