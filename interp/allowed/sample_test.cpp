// The sets of some elements are those that the evaluation of all gives.
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
    if (!whole) return true;
    // Every other element, and of some outputs the last one alone.
    std::vector<std::vector<std::int64_t>> positions;
    for (std::size_t k = 0; k < whole->size(); ++k) {
      positions.emplace_back();
      const std::int64_t n = (*whole)[k] ? (*whole)[k]->size() : 0;
      for (std::int64_t i = k % 3 == 2 ? n - 1 : k % 2; i < n; i += 2)
        if (i >= 0) positions.back().push_back(i);
    }
    const auto some = allowed_at(program, inputs, profile, positions);
    EXPECT_TRUE(some) << program.op << ": " << (some ? "" : to_string(some.error())) << shown(e.inputs);
    if (!some || some->single_valued) return true;
    for (std::size_t k = 0; k < whole->size(); ++k) {
      EXPECT_EQ(some->outputs[k].has_value(), !positions[k].empty());
      if (!(*whole)[k] || !some->outputs[k]) continue;
      const AllowedSample& s = *some->outputs[k];
      EXPECT_EQ(s.positions, positions[k]);
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

// Terms of a channel alone are evaluated apart, sums of many at once: the sets are the same.
TEST(Sample, OfManyElementsHasTheSetsOfTheWhole) {
  const auto specification = *language::Specification::load();
  struct Case {
    std::string op;
    std::vector<Extents> inputs;
  };
  for (const Case& c : {Case{"onnx.BatchNormalization", {{2, 6, 16, 32}, {6}, {6}, {6}, {6}}}, Case{"onnx.Conv", {{2, 5, 24, 24}, {7, 5, 3, 3}, {7}}}, Case{"onnx.Softmax", {{40, 60}}},
                        Case{"onnx.LayerNormalization", {{40, 60}, {60}, {60}}}}) {
    const core::Program program = program_of(*specification, c.op, c.inputs);
    Inputs values;
    for (const Extents& e : c.inputs) values.emplace_back(filled(e));
    if (c.op == "onnx.BatchNormalization")
      for (std::int64_t k = 0; k < 6; ++k) values[4]->set(k, from_double(ElementType::F32, 0.5 + static_cast<double>(k)));
    const auto inputs = points(values);
    const auto whole = evaluate_allowed(program, inputs, *profile_named("standard"));
    ASSERT_TRUE(whole) << to_string(whole.error());
    std::vector<std::vector<std::int64_t>> positions(program.outputs.size());
    for (std::int64_t i = 1; i < (*whole)[0]->size(); i += 1 + i % 3) positions[0].push_back(i);
    const auto some = allowed_at(program, inputs, *profile_named("standard"), positions);
    ASSERT_TRUE(some) << to_string(some.error());
    const AllowedSample& s = *some->outputs.at(0);
    for (std::size_t i = 0; i < s.positions.size(); ++i)
      ASSERT_EQ(s.sets.describe(static_cast<std::int64_t>(i)), (*whole)[0]->describe(s.positions[i])) << c.op << " element " << s.positions[i];
  }
}

TEST(Sample, CostsAShareOfTheWhole) {
  const auto specification = *language::Specification::load();
  const core::Program program = program_of(*specification, "onnx.MatMul", {{300, 40}, {40, 70}});
  const Tensor a = filled({300, 40}), b = filled({40, 70});
  const Inputs values{a, b};
  Limits limits;
  limits.work = 300 * 40 * 70 / 4;
  const auto inputs = points(values);
  EXPECT_FALSE(evaluate_allowed(program, inputs, *profile_named("strict"), limits));
  std::vector<std::vector<std::int64_t>> positions(1);
  for (std::int64_t i = 5; i < 300 * 70; i += 97) positions[0].push_back(i);
  const auto some = allowed_at(program, inputs, *profile_named("strict"), positions, limits);
  ASSERT_TRUE(some) << to_string(some.error());
  const AllowedSample& s = *some->outputs.at(0);
  ASSERT_EQ(s.positions, positions[0]);
  EXPECT_EQ(s.slot(5 + 97), 1);
  EXPECT_FALSE(s.has(6));
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
  EXPECT_FALSE(allowed_at(program, inputs, *profile_named("strict"), positions, limits));
  EXPECT_TRUE(allowed_at(program, inputs, *profile_named("canonical"), positions, limits)->single_valued);
}

}  // namespace
}  // namespace ulpian::interp::testing
