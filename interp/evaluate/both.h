// For tests: both evaluators, the block evaluator in several configurations, and equal bits demanded.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interp/evaluate/evaluate.h"
#include "interp/scalar/scalar.h"

namespace ulpian::interp::testing {

struct Configuration {
  std::string name;
  block::Options options;
  int threads = 1;
};

// Every level of instructions this machine has, tiny and odd blocks, threads, and each shortcut switched off.
inline std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  const auto best = block::best_instructions();
  for (const auto level : {block::Instructions::Portable, block::Instructions::Avx2, block::Instructions::Avx512}) {
    if (level > best) continue;
    Configuration c;
    c.name = fmt::format("instructions {}", static_cast<int>(level));
    c.options.instructions = level;
    all.push_back(c);
  }
  Configuration tiny;
  tiny.name = "4 lanes";
  tiny.options.lanes = 4;
  all.push_back(tiny);
  Configuration plain;
  plain.name = "no shortcuts, 16 lanes, 2 threads";
  plain.options.lanes = 16;
  plain.options.inline_tensors = false;
  plain.options.fast_dot = false;
  plain.options.rows = false;
  plain.options.split = false;
  plain.threads = 2;
  plain.options.work_per_thread = 1;
  all.push_back(plain);
  Configuration threads;
  threads.name = "3 threads, 8 lanes";
  threads.options.lanes = 8;
  threads.options.work_per_thread = 1;
  threads.threads = 3;
  all.push_back(threads);
  Configuration rows;
  rows.name = "no dot kernel, 2 threads";
  rows.options.fast_dot = false;
  rows.threads = 2;
  rows.options.work_per_thread = 1;
  all.push_back(rows);
  return all;
}

// Whether the block evaluator answers as the scalar one did.
inline ::testing::AssertionResult agrees(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Result<Outputs>& expected,
                                         const Configuration& configuration, const Limits& limits) {
  Limits own = limits;
  own.threads = configuration.threads;
  const auto got = evaluate(program, inputs, own, nullptr, configuration.options);
  const auto fail = [&] { return ::testing::AssertionFailure() << configuration.name << ": "; };
  if (!expected && !got) {
    if (expected.error().kind == got.error().kind) return ::testing::AssertionSuccess();
    return fail() << "errors differ: " << to_string(expected.error()) << "\nagainst " << to_string(got.error());
  }
  if (!got) return fail() << "an error where there should be a value: " << to_string(got.error());
  if (!expected) return fail() << "no error where there should be " << to_string(expected.error());
  for (std::size_t k = 0; k < expected->size(); ++k) {
    if ((*expected)[k].has_value() != (*got)[k].has_value()) return fail() << "output " << k << " is there in one only";
    if (!(*expected)[k]) continue;
    const Tensor &a = *(*expected)[k], &b = *(*got)[k];
    if (same_elements(a, b)) continue;
    auto f = fail() << "output " << k << ": " << name_of(a.type()) << to_string(a.extents()) << " against " << name_of(b.type()) << to_string(b.extents());
    if (a.type() == b.type() && a.extents() == b.extents() && a.type() != ElementType::String)
      for (std::int64_t j = 0; j < a.size(); ++j)
        if (!same_element(a.type(), a.at(j), b.at(j))) return f << fmt::format(": element {} is {:#x}, should be {:#x}", j, b.at(j), a.at(j));
    return f;
  }
  return ::testing::AssertionSuccess();
}

// The scalar evaluator's answer, and a failure of the test for each configuration of the block evaluator that gives another.
inline Result<Outputs> evaluate_both(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits = {},
                                     std::optional<Diagnostic>* undefined = nullptr) {
  auto expected = evaluate_scalar(program, inputs, limits, undefined);
  if (undefined != nullptr) return expected;
  for (const Configuration& c : configurations()) EXPECT_TRUE(agrees(program, inputs, expected, c, limits));
  return expected;
}

}  // namespace ulpian::interp::testing
