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

}  // namespace
}  // namespace ulpian::interp
