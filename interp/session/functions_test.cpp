// The programs of elementary functions (spec/functions/*.ulp), run as operators by both evaluators: the same numbers as from the C++ that the
// build generated of them.
#include <algorithm>
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

// What the generated code makes of it, in one type: f32's programs rounded, whether or not a sweep has shown that they round correctly.
std::vector<double> generated(Primitive p, ElementType type, const std::vector<double>& x, const std::vector<double>& second) {
  std::vector<double> y(x.size());
  const bool two = row_of(p).arity == 2;
  if (type == ElementType::F64) {
    if (two) elementary_array(p, x.data(), second.data(), y.data(), y.size());
    else elementary_array(p, x.data(), y.data(), y.size());
    return y;
  }
  if (two) {  // the first phase alone is no program
    const std::vector<float> a(x.begin(), x.end()), b(second.begin(), second.end());
    std::vector<float> z(a.size());
    elementary_array(p, a.data(), b.data(), z.data(), z.size());
    return {z.begin(), z.end()};
  }
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = static_cast<float>(elementary_core(p, static_cast<float>(x[i]), static_cast<float>(second[i])));
  return y;
}

std::optional<Tensor> tensor_of(ElementType type, const std::vector<double>& v) {
  Tensor t(type, {static_cast<std::int64_t>(v.size())});
  for (std::size_t i = 0; i < v.size(); ++i) t.set(static_cast<std::int64_t>(i), from_double(type, v[i]));
  return t;
}

TEST_P(EveryProgram, HasTheBitsOfTheGeneratedCode) {
  std::vector<double> x = arguments(), second(x);
  std::rotate(second.begin(), second.begin() + 5, second.end());
  auto primitive = primitive_named(GetParam().substr(10), 1);
  if (!primitive) primitive = primitive_named(GetParam().substr(10), 2);
  ASSERT_TRUE(primitive && row_of(*primitive).kind == PrimitiveKind::Elementary);
  const bool two = row_of(*primitive).arity == 2;
  for (const ElementType type : {ElementType::F32, ElementType::F64}) {
    if (type == ElementType::F64)
      for (double& v : x) v *= 1 + 0x1.2345p-30;  // more digits than f32 has
    std::vector<std::optional<Tensor>> inputs{tensor_of(type, x)};
    if (two) inputs.push_back(tensor_of(type, second));
    Node node;
    node.op = GetParam();
    node.version = 1;
    node.inputs = {0};
    if (two) node.inputs.push_back(1);
    node.outputs = {2};
    const std::vector<double> expected = generated(*primitive, type, x, second);
    for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
      const auto call = Call::make(specification(), Graph{}, node, inputs, evaluator);
      ASSERT_TRUE(call) << to_string(call.error());
      const auto y = (*call)->run(inputs, {});
      ASSERT_TRUE(y) << to_string(y.error());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double got = to_double(type, (*y)[0]->at(static_cast<std::int64_t>(i)));
        ASSERT_TRUE(std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(expected[i]) || (std::isnan(got) && std::isnan(expected[i])))
            << GetParam() << "(" << std::hexfloat << x[i] << ", " << second[i] << ") on " << name_of(type) << " is " << got << " by evaluator " << static_cast<int>(evaluator) << ", "
            << expected[i] << " by the generated code";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryProgram, testing::ValuesIn(functions()), [](const auto& info) { return info.param.substr(10); });

}  // namespace
}  // namespace ulpian::interp
