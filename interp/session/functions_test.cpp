// The programs of elementary functions (spec/functions/*.ulp), run as operators by both evaluators: the same numbers as from the C++ that the
// build generated of them.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "interp/session/call.h"
#include "spec/functions/kernels.h"

namespace ulpian::interp {
namespace {

const language::Specification& specification() {
  static const auto loaded = language::Specification::load();
  return *loaded.value();
}

std::vector<std::string> functions() {
  std::vector<std::string> all;
  for (const std::string& name : specification().names())
    if (name.starts_with("functions.")) all.push_back(name);
  return all;
}

// f32 values: every exponent and both signs, with several significands, and the special ones.
std::vector<double> arguments() {
  std::vector<double> x{0.0, -0.0, 1, -1, 0.5, -0.5, HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()};
  std::uint32_t significand = 0x2545f;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int k = 0; k < 4; ++k) {
      significand = (significand * 1664525u + 1013904223u);
      x.push_back(std::bit_cast<float>(exponent << 23 | (significand >> 9) | (significand & 1) << 31));
    }
  for (int k = -400; k <= 400; ++k) x.push_back(static_cast<float>(k) * 0.0371f);
  return x;
}

class EveryProgram : public testing::TestWithParam<std::string> {};

TEST_P(EveryProgram, HasTheBitsOfTheGeneratedCode) {
  const std::vector<double> x = arguments();
  const std::vector<std::optional<Tensor>> inputs{Tensor::from_bytes(ElementType::F64, {static_cast<std::int64_t>(x.size())}, std::as_bytes(std::span(x)))};
  Node node;
  node.op = GetParam();
  node.version = 1;
  node.inputs = {0};
  node.outputs = {1};
  const auto primitive = primitive_named(GetParam().substr(10), 1);
  ASSERT_TRUE(primitive && row_of(*primitive).kind == PrimitiveKind::Elementary);
  for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
    const auto call = Call::make(specification(), Graph{}, node, inputs, evaluator);
    ASSERT_TRUE(call) << to_string(call.error());
    const auto y = (*call)->run(inputs, {});
    ASSERT_TRUE(y) << to_string(y.error());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double got = std::bit_cast<double>((*y)[0]->at(static_cast<std::int64_t>(i))), generated = elementary_core(*primitive, static_cast<float>(x[i]));
      ASSERT_TRUE(std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(generated) || (std::isnan(got) && std::isnan(generated)))
          << GetParam() << "(" << std::hexfloat << x[i] << ") is " << got << " by evaluator " << static_cast<int>(evaluator) << ", " << generated << " by the generated code";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryProgram, testing::ValuesIn(functions()), [](const auto& info) { return info.param.substr(10); });

}  // namespace
}  // namespace ulpian::interp
