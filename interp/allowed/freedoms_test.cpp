// What definitions leave free: answers of implementations that follow the standard in another way, worked out by hand, are members; others are not.
#include <cmath>

#include <gtest/gtest.h>

#include "interp/allowed/allowed.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

using E = ElementType;

Tensor tensor(E type, const Extents& extents, const std::vector<double>& values) {
  Tensor t(type, extents);
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), from_double(type, values[k]));
  return t;
}

AllowedTensor allowed_of(language::Call call, const std::vector<Tensor>& inputs) {
  auto specification = language::Specification::load();
  EXPECT_TRUE(specification) << to_string(specification.error());
  std::vector<std::optional<AllowedTensor>> sets;
  for (const Tensor& t : inputs) {
    language::InputDescription& d = call.inputs.emplace_back();
    d.type = t.type();
    for (const std::int64_t n : t.extents()) d.extents.push_back({n, {}});
    sets.emplace_back(AllowedTensor::exactly(t));
  }
  auto program = language::elaborate(**specification, call);
  EXPECT_TRUE(program) << to_string(program.error());
  auto allowed = evaluate_allowed(*program, sets, *profile_named("standard"), {}, nullptr);
  EXPECT_TRUE(allowed) << to_string(allowed.error());
  return *allowed->at(0);
}

// z + Wb + Rb from left to right, as the standard writes it, and z + (Wb + Rb): 2^-30 is lost in 1 + 2^-30 - 1, but not in 2^-30 + (1 - 1).
TEST(Freedoms, BiasesOfRecurrentNetworksAreAddedInEitherOrder) {
  const double z = 0x1p-30;
  language::Call call;
  call.op = "onnx.RNN", call.version = 14;
  call.attributes["activations"] = std::vector<std::string>{"Affine"};
  const std::vector<Tensor> inputs = {tensor(E::F32, {1, 1, 1}, {z}), tensor(E::F32, {1, 1, 1}, {1}), tensor(E::F32, {1, 1, 1}, {1}), tensor(E::F32, {1, 2}, {1, -1})};
  const AllowedTensor rnn = allowed_of(call, inputs);
  EXPECT_TRUE(rnn.contains(0, from_double(E::F32, z)));
  EXPECT_TRUE(rnn.contains(0, from_double(E::F32, 0)));
  EXPECT_FALSE(rnn.contains(0, from_double(E::F32, 0.001)));

  // The input gate i is z + 1 - 1; then c = i * 1, h = 1 * c: the other gates are 1 by their biases.
  call.op = "onnx.LSTM";
  call.attributes["activations"] = std::vector<std::string>{"Affine", "Affine", "Affine"};
  const std::vector<Tensor> gates = {inputs[0], tensor(E::F32, {1, 4, 1}, {1, 0, 0, 0}), tensor(E::F32, {1, 4, 1}, {0, 0, 0, 0}), tensor(E::F32, {1, 8}, {1, 1, 1, 1, -1, 0, 0, 0})};
  const AllowedTensor lstm = allowed_of(call, gates);
  EXPECT_TRUE(lstm.contains(0, from_double(E::F32, z)));
  EXPECT_TRUE(lstm.contains(0, from_double(E::F32, 0)));
  EXPECT_FALSE(lstm.contains(0, from_double(E::F32, 0.001)));
}

// (-1, 0, 1) has the variance 2/3, so its last element becomes sqrt(3/2): rounded to f16 before it is scaled, or not.
TEST(Freedoms, NormalisationsOfNarrowFloatsRoundAtEachStepOrOnce) {
  const E t = E::F16;
  // The least factor from 1024 on at which the two readings differ, by arithmetic on doubles that is exact but for the root.
  const double y = std::sqrt(1.5), rounded = to_double(t, from_double(t, y));
  double factor = 1024;
  while (from_double(t, rounded * factor) == from_double(t, y * factor)) ++factor;
  ASSERT_LT(factor, 2048);
  language::Call call;
  call.op = "onnx.LayerNormalization", call.version = 17;
  call.attributes["epsilon"] = 0.0f;
  const std::vector<Tensor> inputs = {tensor(t, {1, 3}, {-1, 0, 1}), tensor(t, {3}, {factor, factor, factor})};
  const AllowedTensor set = allowed_of(call, inputs);
  for (const double answer : {rounded * factor, y * factor}) EXPECT_TRUE(set.contains(2, from_double(t, answer))) << answer << " outside " << set.describe(2);
  EXPECT_FALSE(set.contains(2, from_double(t, y * factor + 4)));

  call.op = "onnx.GroupNormalization", call.version = 21;
  call.attributes["num_groups"] = std::int64_t{1};
  const AllowedTensor group = allowed_of(call, {tensor(t, {1, 3}, {-1, 0, 1}), inputs[1], tensor(t, {3}, {0, 0, 0})});
  for (const double answer : {rounded * factor, y * factor}) EXPECT_TRUE(group.contains(2, from_double(t, answer))) << answer << " outside " << group.describe(2);
}

// A stash type of f32 overflows at 1e300; an implementation that computes in f64 throughout finds the mean 0, the variance 1e600, and 1.
TEST(Freedoms, AStashTypeThatOverflowsMayBeKeptWider) {
  language::Call call;
  call.op = "onnx.LayerNormalization", call.version = 17;
  call.attributes["epsilon"] = 0.0f;
  const Tensor one = tensor(E::F64, {2}, {1, 1});
  const AllowedTensor huge = allowed_of(call, {tensor(E::F64, {1, 2}, {1e300, -1e300}), one});
  for (const double answer : {1.0, std::nan("")}) EXPECT_TRUE(huge.contains(0, from_double(E::F64, answer))) << huge.describe(0);
  EXPECT_TRUE(huge.flags()[0] & Anything) << "what admits everything is counted";

  // Nor need 2^-40 be lost; where it is, the variance is 0.
  const AllowedTensor near = allowed_of(call, {tensor(E::F64, {1, 2}, {1, 1 + 0x1p-40}), one});
  for (const double answer : {1.0, std::nan("")}) EXPECT_TRUE(near.contains(1, from_double(E::F64, answer))) << near.describe(1);
}

// Of (1e30, -1e30) the squares overflow f32, and x / inf is 0; kept wider, the variance is 1e60, and x / 1e30 is 1.
TEST(Freedoms, SquaresThatOverflowMayBeKeptWider) {
  language::Call call;
  call.op = "onnx.GroupNormalization", call.version = 21;
  call.attributes["num_groups"] = std::int64_t{1};
  const AllowedTensor set = allowed_of(call, {tensor(E::F32, {1, 2}, {1e30, -1e30}), tensor(E::F32, {2}, {1, 1}), tensor(E::F32, {2}, {0, 0})});
  for (const double answer : {0.0, 1.0}) EXPECT_TRUE(set.contains(0, from_double(E::F32, answer))) << answer << " outside " << set.describe(0);
  for (const double answer : {-0.5, 1.5}) EXPECT_FALSE(set.contains(0, from_double(E::F32, answer))) << answer << " inside " << set.describe(0);
}

// 3 x - 1 for x = 1/3 rounded to f32: 2^-25 exactly or fused (f32(1/3) is (1 + 2^-25) / 3), 0 where the product is rounded first.
TEST(Freedoms, ProductsAndSumsMayBeFused) {
  language::Call call;
  call.op = "onnx.HardSigmoid", call.version = 22;
  call.attributes["alpha"] = 3.0f, call.attributes["beta"] = -1.0f;
  const double third = static_cast<double>(1.0f / 3.0f);
  ASSERT_EQ(3 * third - 1, 0x1p-25);
  const AllowedTensor set = allowed_of(call, {tensor(E::F32, {1}, {third})});
  for (const double answer : {0.0, 0x1p-25}) EXPECT_TRUE(set.contains(0, from_double(E::F32, answer))) << answer << " outside " << set.describe(0);
  for (const double answer : {-0x1p-25, 0x1p-23}) EXPECT_FALSE(set.contains(0, from_double(E::F32, answer))) << answer << " inside " << set.describe(0);
}

// A single operation leaves no choice: it is the output, and rounded.
TEST(Freedoms, WhatEndsAnOutputIsRounded) {
  language::Call call;
  call.op = "onnx.Mul", call.version = 14;
  for (const E type : {E::F16, E::BF16, E::F32, E::F64}) {
    const double x = to_double(type, from_double(type, 1.1));
    const AllowedTensor set = allowed_of(call, {tensor(type, {1}, {x}), tensor(type, {1}, {x})});
    EXPECT_TRUE(set.is_exact(0)) << set.describe(0);
    EXPECT_TRUE(set.contains(0, from_double(type, x * x)));
  }
}

// "saturate((x / y_scale) + y_zero_point)": -0 + 0 is 0. Without a zero point nothing is added.
TEST(Freedoms, AZeroPointOfZeroMayTurnNegativeZeroPositive) {
  // With their numbers in an ONNX file.
  for (const auto& [type, number] : {std::pair{E::F4E2M1, std::int64_t{23}}, {E::F8E4M3FN, 17}, {E::F8E5M2, 19}}) {
    language::Call call;
    call.op = "onnx.QuantizeLinear", call.version = 25;
    const std::vector<Tensor> inputs = {tensor(E::F32, {4}, {-1e-9, -0.0, 1, 1e-9}), tensor(E::F32, {}, {1}), tensor(type, {}, {0})};
    const AllowedTensor set = allowed_of(call, inputs);
    const Bits zero = from_double(type, 0.0), negative_zero = from_double(type, -0.0), one = from_double(type, 1);
    for (const std::int64_t i : {0, 1}) EXPECT_TRUE(set.contains(i, zero) && set.contains(i, negative_zero)) << set.describe(i);
    for (const std::int64_t i : {0, 1}) EXPECT_FALSE(set.contains(i, one));
    EXPECT_TRUE(set.contains(2, one) && set.is_exact(2)) << set.describe(2);
    EXPECT_TRUE(set.contains(3, zero) && !set.contains(3, negative_zero)) << set.describe(3);
    call.attributes["output_dtype"] = number;
    const AllowedTensor bare = allowed_of(call, {inputs[0], inputs[1]});
    EXPECT_TRUE(bare.contains(0, negative_zero) && !bare.contains(0, zero)) << bare.describe(0);
  }
}

// "Which of two updates stays is not said": any of them, and nothing else.
TEST(Freedoms, AnyOfCollidingUpdatesMayStay) {
  const Tensor data = tensor(E::F32, {3}, {10, 20, 30}), updates = tensor(E::F32, {3}, {1, 5, 3});
  for (const auto& [op, version] : {std::pair{"onnx.ScatterElements", 18}, {"onnx.ScatterElements", 11}, {"onnx.Scatter", 9}, {"onnx.ScatterND", 18}}) {
    Tensor indices(E::I64, std::string(op) == "onnx.ScatterND" ? Extents{3, 1} : Extents{3});
    for (std::int64_t i = 0; i < 3; ++i) indices.set(i, 1);
    language::Call call;
    call.op = op, call.version = version;
    const AllowedTensor set = allowed_of(call, {data, indices, updates});
    for (const double stays : {1.0, 5.0, 3.0}) EXPECT_TRUE(set.contains(1, from_double(E::F32, stays))) << op << ": " << set.describe(1);
    for (const double never : {2.0, 4.0, 20.0}) EXPECT_FALSE(set.contains(1, from_double(E::F32, never))) << op << ": " << set.describe(1);
    EXPECT_TRUE(set.is_exact(0) && set.is_exact(2));
  }
}

// Of texts and complex numbers there are no sets; where only their extents are asked, none are needed.
TEST(Freedoms, WhereOnlyExtentsAreReadAnyElementsDo) {
  language::Call call;
  call.op = "onnx.RandomUniformLike", call.version = 22;
  call.attributes["dtype"] = std::int64_t{1};
  for (const E type : {E::String, E::C64, E::C128}) {
    const AllowedTensor y = allowed_of(call, {Tensor(type, {2, 3})});
    EXPECT_EQ(y.extents(), (Extents{2, 3}));
    EXPECT_TRUE(y.contains(5, from_double(E::F32, 0.25)));
    EXPECT_FALSE(y.contains(5, from_double(E::F32, 1.5)));
  }
}

}  // namespace
}  // namespace ulpian::interp
