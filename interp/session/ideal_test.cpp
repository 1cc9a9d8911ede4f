// The ideal answer of calls and graphs, on values worked out by hand in exact arithmetic (or, of functions, to 30 digits elsewhere).
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "interp/session/session.h"

namespace ulpian::interp {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;
using Bitwise = std::vector<Bits>;

// Beside the shipped operators one whose value lies exactly half way between two floats, which no precision tells.
std::shared_ptr<const language::Specification> specification() {
  static const language::SourceText own{"test.ulp", "op test.There { in x: f32[N] in c: f32[N] out y: f32[N] y[i] = exp(log(x[i] + c[i])) }"};
  static const auto loaded = language::Specification::load(std::span(&own, 1));
  EXPECT_TRUE(loaded) << to_string(loaded.error());
  return loaded.value();
}

Tensor f32(Extents extents, const std::vector<float>& values) { return Tensor::from_bytes(ElementType::F32, std::move(extents), std::as_bytes(std::span(values))); }
Tensor f32(const std::vector<float>& values) { return f32({static_cast<std::int64_t>(values.size())}, values); }
Tensor as(ElementType type, const std::vector<double>& values) {
  Tensor t(type, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), from_double(type, values[k]));
  return t;
}
Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from_bytes(ElementType::I64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
}
Bits bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float two(int e) { return std::ldexp(1.0f, e); }

struct Answered {
  Bitwise bits;
  RunNotes notes;
};

// Nodes in a chain, each reading what the one before made; `inputs` are those of the first.
Result<Answered> run(Answer answer, const std::vector<const char*>& ops, const Inputs& inputs, const Attributes& attributes, const Limits& limits = {}) {
  auto graph = std::make_shared<Graph>();
  const auto value = [&] {
    graph->values.push_back({"v" + std::to_string(graph->values.size()), {}, {}});
    return static_cast<ValueId>(graph->values.size() - 1);
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) graph->inputs.push_back(value());
  std::vector<ValueId> made = graph->inputs;
  for (const char* op : ops) {
    Node n;
    n.op = op;
    n.version = 18;
    n.inputs = made;
    if (graph->nodes.empty()) n.attributes = attributes;
    made = {value()};
    n.outputs = made;
    graph->nodes.push_back(std::move(n));
  }
  graph->outputs = made;
  SessionOptions options;
  options.answer = answer;
  Answered out;
  auto tensors = Session(specification(), graph, options).run(inputs, limits, &out.notes);
  if (!tensors) return std::move(tensors).error();
  const Tensor& t = (*tensors)[0];
  for (std::int64_t k = 0; k < t.size(); ++k) out.bits.push_back(t.at(k));
  return out;
}

Bitwise ideal(const std::vector<const char*>& ops, const Inputs& inputs, const Attributes& attributes = {}) {
  auto out = run(Answer::Ideal, ops, inputs, attributes);
  if (!out) return ADD_FAILURE() << to_string(out.error()), Bitwise();
  EXPECT_EQ(out->notes.undecided_elements, 0) << ops[0];
  return out->bits;
}
Bitwise canonical(const std::vector<const char*>& ops, const Inputs& inputs, const Attributes& attributes = {}) {
  auto out = run(Answer::Canonical, ops, inputs, attributes);
  return out ? out->bits : Bitwise();
}

const Attributes All{{"keepdims", std::int64_t{0}}};

TEST(Ideal, SumsThatCancelAreExact) {
  const Inputs x{f32({1e8f, 1, -1e8f})};
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, x, All), Bitwise{bits(1)});
  EXPECT_EQ(canonical({"onnx.ReduceSum"}, x, All), Bitwise{bits(0)});
}

TEST(Ideal, TiesGoToEven) {
  // Half way between 1 and its neighbour; between that one and the next; and 2^-60 above half way.
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, {f32({1, two(-24)})}, All), Bitwise{bits(1)});
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, {f32({1, two(-23), two(-24)})}, All), Bitwise{bits(1 + two(-22))});
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, {f32({1, two(-24), two(-60)})}, All), Bitwise{bits(1 + two(-23))});
  for (const auto& [type, values, sum] : {std::tuple{ElementType::F16, std::vector<double>{2048, 1}, 2048.0}, {ElementType::F16, {2048, 1, 0x1p-14}, 2050.0}, {ElementType::F16, {2050, 1}, 2052.0},
                                          {ElementType::BF16, {256, 1}, 256.0}, {ElementType::BF16, {256, 1, 0x1p-100}, 258.0}, {ElementType::BF16, {258, 1}, 260.0}})
    EXPECT_EQ(ideal({"onnx.ReduceSum"}, {as(type, values)}, All), Bitwise{from_double(type, sum)}) << name_of(type) << ' ' << sum;
}

TEST(Ideal, MeansAreRationals) {
  EXPECT_EQ(ideal({"onnx.ReduceMean"}, {f32({1, 1, 2})}, All), Bitwise{0x3faaaaab});            // 4/3
  EXPECT_EQ(ideal({"onnx.ReduceMean"}, {f32({0.1f, 0.2f, 0.3f})}, All), Bitwise{0x3e4ccccd});   // of the floats, by fractions
}

TEST(Ideal, ProductsNeitherAbsorbNorOverflowInside) {
  const Tensor a = f32({1, 3}, {1, 1, -1}), b = f32({3, 1}, {1, two(-30), 1});
  EXPECT_EQ(ideal({"onnx.MatMul"}, {a, b}), Bitwise{bits(two(-30))});
  EXPECT_EQ(canonical({"onnx.MatMul"}, {a, b}), Bitwise{bits(0)});
  EXPECT_EQ(ideal({"onnx.MatMul"}, {f32({1, 3}, {two(127), two(127), 1}), f32({3, 1}, {2, -2, 3})}), Bitwise{bits(3)});
  EXPECT_EQ(ideal({"onnx.MatMul"}, {f32({1, 2}, {two(127), two(126)}), f32({2, 1}, {1, 2})}), Bitwise{bits(INFINITY)});
}

TEST(Ideal, ZerosHaveTheSignsOfIeee754) {
  const float zero = -0.0f;
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, {f32({zero, zero})}, All), Bitwise{bits(zero)});
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, {f32({zero, 0})}, All), Bitwise{0});
  EXPECT_EQ(ideal({"onnx.ReduceSum"}, {f32({1, two(-30), -1, -two(-30)})}, All), Bitwise{0});
  // A dot's accumulator starts at +0, whatever becomes of it.
  EXPECT_EQ(ideal({"onnx.MatMul"}, {f32({1, 2}, {zero, zero}), f32({2, 1}, {1, 1})}), Bitwise{0});
  EXPECT_EQ(ideal({"onnx.MatMul"}, {as(ElementType::F64, {zero}), as(ElementType::F64, {1})}), Bitwise{0});
}

TEST(Ideal, TransformsHaveExactZeros) {
  const Inputs ones{f32({1, 6, 1}, {1, 1, 1, 1, 1, 1})};
  Bitwise want(12, 0);
  want[0] = bits(6);
  Bitwise got = ideal({"onnx.DFT"}, ones);
  for (Bits& b : got) b = b == bits(-0.0f) ? 0 : b;
  EXPECT_EQ(got, want);
}

TEST(Ideal, SoftmaxOfEqualsIsOneByTheirNumber) {
  EXPECT_EQ(ideal({"onnx.Softmax"}, {f32({1, 3}, {1e4f, 1e4f, 1e4f})}), (Bitwise{0x3eaaaaab, 0x3eaaaaab, 0x3eaaaaab}));
  EXPECT_EQ(ideal({"onnx.Softmax"}, {f32({1, 2}, {-7.3f, -7.3f})}), (Bitwise{bits(0.5f), bits(0.5f)}));
  // e/(1 + e) = 0.731058578630004879251159944833
  EXPECT_EQ(ideal({"onnx.Softmax"}, {f32({1, 2}, {0, 1})})[1], bits(0.731058578630004879f));
}

TEST(Ideal, RootsAreExactWhereTheyAreRational) {
  EXPECT_EQ(ideal({"onnx.ReduceL2"}, {f32({3, 4})}, All), Bitwise{bits(5)});
  EXPECT_EQ(ideal({"onnx.ReduceL2"}, {f32({1, 1})}, All), Bitwise{0x3fb504f3});  // 1.4142135623730950488
}

TEST(Ideal, QuantisationIsThatOfTheRealQuotient) {
  const Tensor scale = f32({}, {0.1f}), zero(ElementType::U8, {});
  // 3.4999998882..., 4.5000001118..., by fractions; the quotients of f32 are the ties.
  EXPECT_EQ(ideal({"onnx.QuantizeLinear"}, {f32({0.35f, 0.45000002f}), scale, zero}), (Bitwise{3, 5}));
  EXPECT_EQ(canonical({"onnx.QuantizeLinear"}, {f32({0.35f, 0.45000002f}), scale, zero}), (Bitwise{4, 4}));
  EXPECT_EQ(ideal({"onnx.QuantizeLinear"}, {f32({0.5f, 1.5f, 2.5f, 1000, -1}), f32({}, {1}), zero}), (Bitwise{0, 2, 2, 255, 0}));
}

TEST(Ideal, WhatFollowsReadsTheRoundedOutputs) {
  // Sums 1 and 0.5, in which f32 loses the 1.
  const Tensor x = f32({2, 3}, {1e8f, 1, -1e8f, 0.5f, 0, 0});
  const Inputs inputs{x, integers({1})};
  EXPECT_EQ(ideal({"onnx.ReduceSum", "onnx.ArgMax"}, inputs), Bitwise{0});
  EXPECT_EQ(canonical({"onnx.ReduceSum", "onnx.ArgMax"}, inputs), Bitwise{1});
}

TEST(Ideal, WhatIsMovedKeepsItsBits) {
  Tensor x(ElementType::F32, {2});
  x.set(0, bits(-0.0f));
  x.set(1, 0x00000001);
  EXPECT_EQ(ideal({"onnx.Identity", "onnx.Neg"}, {x}), (Bitwise{0, 0x80000001}));
}

TEST(Ideal, WhatNoPrecisionDecidesIsToldOf) {
  // 3/2, then 1 + 2^-24, half way between two floats.
  auto out = run(Answer::Ideal, {"test.There"}, {f32({1, 1}), f32({0.5f, two(-24)})}, {});
  ASSERT_TRUE(out) << to_string(out.error());
  EXPECT_EQ(out->bits[0], bits(1.5f));
  EXPECT_EQ(out->notes.undecided_elements, 1);
  ASSERT_EQ(out->notes.undecided.size(), 1u);
  const RunNotes::Undecided& u = out->notes.undecided[0];
  EXPECT_EQ(u.output, "v2");
  ASSERT_EQ(u.elements.first.size(), 1u);
  EXPECT_EQ(u.elements.first[0].position, 1);
  EXPECT_EQ(u.elements.first[0].reason, "2048 bits do not decide it");
}

TEST(Ideal, LimitsEndIt) {
  const Tensor x = as(ElementType::F64, std::vector<double>(5000, 0.1));
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now();
  auto late = run(Answer::Ideal, {"onnx.Softmax"}, {x}, {}, limits);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::Limit) << to_string(late.error());
  limits = {};
  limits.work = 1'000'000;  // of the canonical answer some ten thousand
  auto much = run(Answer::Ideal, {"onnx.Softmax"}, {x}, {}, limits);
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().kind, ErrorKind::Limit) << to_string(much.error());
  EXPECT_NE(to_string(much.error()).find("over the reals"), std::string::npos) << to_string(much.error());
}

}  // namespace
}  // namespace ulpian::interp
