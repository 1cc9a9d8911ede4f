// The sets of some elements are those that the evaluation of all gives.
#include <set>

#include "interp/allowed/example_calls_test_support.h"
#include "interp/allowed/sample.h"

namespace ulpian::interp::testing {
namespace {

std::vector<std::optional<AllowedTensor>> points(const Inputs& inputs) {
  std::vector<std::optional<AllowedTensor>> out(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) out[k] = AllowedTensor::exactly(*inputs[k]);
  return out;
}

core::Program program_of(const language::Specification& specification, const std::string& op, std::vector<Extents> inputs) {
  language::Call call;
  call.op = op;
  call.version = 20;
  for (const Extents& e : inputs) {
    language::InputDescription d;
    d.type = ElementType::F32;
    for (std::int64_t n : e) d.extents.push_back({n, {}});
    call.inputs.push_back(d);
  }
  auto program = language::elaborate(specification, call);
  EXPECT_TRUE(program) << (program ? "" : to_string(program.error()));
  return program ? *program : core::Program();
}

// sin-like numbers that no two positions share.
Tensor filled(const Extents& extents) {
  Tensor t(ElementType::F32, extents);
  for (std::int64_t k = 0; k < t.size(); ++k) t.set(k, from_double(ElementType::F32, static_cast<double>((k * 7919) % 1009 - 500) / 128));
  return t;
}

TEST(Sample, HasTheSetsOfTheWholeForEveryExample) {
  const Profile profile = *profile_named("standard");
  std::int64_t samples = 0;
  each_example_call(false, 0, [&](const language::Example& e, const core::Program& program) {
    const auto inputs = points(e.inputs);
    const auto whole = evaluate_allowed(program, inputs, profile);
    const auto some = sample_allowed(program, inputs, profile, 3);
    if (!whole || !some || some->single_valued) return true;
    for (std::size_t k = 0; k < whole->size(); ++k) {
      if (!(*whole)[k] || !some->outputs[k]) continue;
      const AllowedSample& s = *some->outputs[k];
      EXPECT_EQ(static_cast<std::int64_t>(s.positions.size()), s.sets.size());
      for (std::size_t i = 0; i < s.positions.size(); ++i) {
        ++samples;
        EXPECT_EQ(s.sets.describe(static_cast<std::int64_t>(i)), (*whole)[k]->describe(s.positions[i])) << program.op << " output " << k << " element " << s.positions[i] << shown(e.inputs);
      }
    }
    return true;
  });
  EXPECT_GT(samples, 1000);
}

TEST(Sample, IsSpreadOverALargeOutputAndCostsAShareOfIt) {
  const auto specification = *language::Specification::load();
  const core::Program program = program_of(*specification, "onnx.MatMul", {{300, 40}, {40, 70}});
  const Tensor a = filled({300, 40}), b = filled({40, 70});
  const Inputs values{a, b};
  Limits limits;
  limits.work = 300 * 40 * 70 / 4;
  const auto inputs = points(values);
  EXPECT_FALSE(evaluate_allowed(program, inputs, *profile_named("strict"), limits));
  const auto some = sample_allowed(program, inputs, *profile_named("strict"), 256, limits);
  ASSERT_TRUE(some) << to_string(some.error());
  const AllowedSample& s = *some->outputs.at(0);
  EXPECT_GT(s.positions.size(), 128u);
  EXPECT_LE(s.positions.size(), 256u);
  EXPECT_EQ(std::set<std::int64_t>(s.positions.begin(), s.positions.end()).size(), s.positions.size());
  EXPECT_GT(*std::max_element(s.positions.begin(), s.positions.end()) - *std::min_element(s.positions.begin(), s.positions.end()), 300 * 70 / 2);
  for (std::size_t i = 0; i < s.positions.size(); ++i) {
    // The sum in f64 of products that f64 holds exactly; any order of f32 stays within n u S of it.
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < 40; ++k) {
      const double term = to_double(ElementType::F32, a.at(s.positions[i] / 70 * 40 + k)) * to_double(ElementType::F32, b.at(k * 70 + s.positions[i] % 70));
      sum += term, magnitude += std::abs(term);
    }
    const auto at = static_cast<std::int64_t>(i);
    const double low = to_double(ElementType::F32, s.sets.lower().at(at)), high = to_double(ElementType::F32, s.sets.upper().at(at));
    ASSERT_TRUE(low <= sum && sum <= high) << s.sets.describe(at) << " " << sum;
    ASSERT_LE(high - low, 2.1 * 40 * 0x1p-24 * magnitude);
  }
  limits.work = 1000;
  EXPECT_FALSE(sample_allowed(program, inputs, *profile_named("strict"), 256, limits));
  EXPECT_TRUE(sample_allowed(program, inputs, *profile_named("canonical"), 256, limits)->single_valued);
}

}  // namespace
}  // namespace ulpian::interp::testing
