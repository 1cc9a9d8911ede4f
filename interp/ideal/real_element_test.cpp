#include "interp/ideal/real_element.h"

#include <bit>
#include <limits>

#include <gtest/gtest.h>

#include "spec/core/builder.h"

namespace ulpian::interp {
namespace {

using core::Builder;
using core::TermId;

Bits f32(float x) { return std::bit_cast<std::uint32_t>(x); }
Tensor floats(const std::vector<float>& values) {
  Tensor t(ElementType::F32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), f32(values[k]));
  return t;
}

// y[i < N] = body(b, x[i], x), over an input x of any length.
template <typename Body> core::Program program(Body body) {
  Builder b;
  const core::Size n = b.fresh_size("N");
  core::TensorNode x;
  x.name = "x";
  x.type = ElementType::F32;
  x.kind = core::TensorKind::Input;
  x.extents = {b.size(n)};
  const core::TensorId input = b.add(x);
  core::TensorNode y;
  y.name = "y";
  y.type = ElementType::F32;
  y.kind = core::TensorKind::Comprehension;
  y.extents = {b.size(n)};
  y.variables = {b.fresh("i")};
  const TermId at = b.variable(y.variables[0]);
  y.body = body(b, b.read(input, std::span(&at, 1)), input, b.size(n));
  b.program().inputs = {input};
  b.program().outputs = {b.add(y)};
  b.program().output_names = {"y"};
  return b.finish();
}

std::optional<Bits> rounded(const core::Program& p, const std::vector<float>& x, std::int64_t position = 0) {
  std::vector<std::optional<Tensor>> inputs;
  inputs.emplace_back(floats(x));
  RealElements elements(p, inputs);
  const auto v = elements.element(0, position);
  return v ? RealElements::rounded(p, 0, *v) : std::nullopt;
}

core::Program total(core::ReduceKind kind) {
  return program([kind](Builder& b, TermId, core::TensorId x, TermId n) {
    const core::Variable k = b.fresh("k");
    const TermId at = b.variable(k);
    const TermId term = b.read(x, std::span(&at, 1));
    const TermId both[2] = {term, term};
    return b.reduce(kind, ElementType::F32, std::span(&k, 1), std::span(&n, 1), core::None, false, core::None, std::span(both, kind == core::ReduceKind::Dot ? 2 : 1));
  });
}

TEST(RealElement, ASumHoldsWhatRoundingWouldLose) {
  EXPECT_EQ(rounded(total(core::ReduceKind::Sum), {0x1p24f, 1, -0x1p24f}), f32(1));
  // 1 + 2^-24 is a tie to even; another 2^-60 decides it.
  EXPECT_EQ(rounded(total(core::ReduceKind::Sum), {1, 0x1p-24f}), f32(1));
  EXPECT_EQ(rounded(total(core::ReduceKind::Sum), {1, 0x1p-24f, 0x1p-60f}), f32(1) + 1);
  // No overflow inside.
  EXPECT_EQ(rounded(total(core::ReduceKind::Sum), {0x1p127f, 0x1p127f, -0x1p127f}), f32(0x1p127f));
  EXPECT_EQ(rounded(total(core::ReduceKind::Sum), {0x1p127f, 0x1p127f}), 0x7f800000u);
}

TEST(RealElement, ADotAddsExactProducts) {
  // (1 + 2^-23)^2 - is 1 + 2^-22 + 2^-46, above the tie by its last term only once something stands at half an ulp.
  EXPECT_EQ(rounded(total(core::ReduceKind::Dot), {1 + 0x1p-23f}), f32(1) + 2);
  EXPECT_EQ(rounded(total(core::ReduceKind::Dot), {3, 4}), f32(25));
  EXPECT_EQ(rounded(total(core::ReduceKind::Maximum), {3, -4, 2}), f32(3));
}

TEST(RealElement, FunctionsAreRoundedOnceAtTheEnd) {
  const auto half_exp = program([](Builder& b, TermId x, core::TensorId, TermId) {
    return b.primitive(Primitive::Multiply, b.primitive(Primitive::Exp, x), b.constant(ElementType::F32, f32(0.5f)));
  });
  EXPECT_EQ(rounded(half_exp, {1}), f32(1.3591409142295225f));  // e / 2
  EXPECT_EQ(rounded(half_exp, {0, 1}, 1), f32(1.3591409142295225f));
  // exp(100) is beyond f32, exp(100) * 0 after a division is not looked at as an infinity: e^100 / e^100 = 1.
  const auto ratio = program([](Builder& b, TermId x, core::TensorId, TermId) {
    const TermId e = b.primitive(Primitive::Exp, x);
    return b.primitive(Primitive::Divide, b.primitive(Primitive::Multiply, e, b.constant(ElementType::F32, f32(3))), b.primitive(Primitive::Exp, x));
  });
  EXPECT_EQ(rounded(ratio, {100}).value_or(0), f32(3));
}

TEST(RealElement, SelectsAndReadsOutsideFollowTheDefinition) {
  const auto next = program([](Builder& b, TermId x, core::TensorId input, TermId) {
    const TermId zero = b.constant(ElementType::F32, f32(0));
    const TermId one = b.integer(1);
    return b.select(b.primitive(Primitive::Less, x, zero), b.read_else(input, std::span(&one, 1), b.constant(ElementType::F32, f32(7)), true), x);
  });
  EXPECT_EQ(rounded(next, {-1, 5}), f32(5));
  EXPECT_EQ(rounded(next, {-1}), f32(7));
  EXPECT_EQ(rounded(next, {2}), f32(2));
}

TEST(RealElement, TooMuchWorkIsNotDecided) {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto p = total(core::ReduceKind::Sum);
  std::vector<std::optional<Tensor>> inputs;
  inputs.emplace_back(floats(std::vector<float>(5000, 1)));
  RealElements elements(p, inputs);
  EXPECT_FALSE(elements.element(0, 0, limits).has_value());
  EXPECT_EQ(elements.why_missing(), "it takes more time than there is for this");
}

// h[t] = step(b, h[t - 1] else `first`, x[t]); y[t] = h[t].
template <typename Step> core::Program recurrence(float first, Step step) {
  Builder b;
  const core::Size n = b.fresh_size("N");
  core::TensorNode x;
  x.name = "x";
  x.type = ElementType::F32;
  x.kind = core::TensorKind::Input;
  x.extents = {b.size(n)};
  const core::TensorId input = b.add(x);
  core::TensorNode h;
  h.name = "h";
  h.type = ElementType::F32;
  h.kind = core::TensorKind::Recurrence;
  h.extents = {b.size(n)};
  h.variables = {b.fresh("t")};
  h.group = 0;
  const core::TensorId member = static_cast<core::TensorId>(b.program().tensors.size());
  const TermId t = b.variable(h.variables[0]);
  const TermId before = b.primitive(Primitive::Subtract, t, b.integer(1));
  b.program().recurrences.push_back({h.variables, {b.size(n)}, {member}});
  b.add(h);
  const TermId last = b.read_else(member, std::span(&before, 1), b.constant(ElementType::F32, f32(first)), false);
  b.program().tensors[member].body = step(b, last, b.read(input, std::span(&t, 1)));
  b.program().inputs = {input};
  b.program().outputs = {member};
  b.program().output_names = {"h"};
  return b.finish();
}

TEST(RealElement, ALongRecurrenceIsClimbedStepByStep) {
  // Each step multiplies by exp(2^-10): after 2048 steps e^2, after 4096 e^4, whatever f32 would have made of it.
  const auto growth = recurrence(1, [](Builder& b, TermId h, TermId x) { return b.primitive(Primitive::Multiply, h, b.primitive(Primitive::Exp, x)); });
  const std::vector<float> x(4096, 0x1p-10f);
  EXPECT_EQ(rounded(growth, x, 2047), f32(7.38905609893065f));
  EXPECT_EQ(rounded(growth, x, 4095), f32(54.598150033144236f));
  // Rational steps stay exact: 2^24 + 1 + 1 + ... in f32 would never move.
  const auto sum = recurrence(0x1p24f, [](Builder& b, TermId h, TermId v) { return b.primitive(Primitive::Add, h, v); });
  EXPECT_EQ(rounded(sum, std::vector<float>(3000, 1), 2999), f32(16777216.0f + 3000.0f));
}

TEST(RealElement, ASumMixesRationalAndOtherTerms) {
  // exp(1) * 1 + exp(0) * 0 + exp(2) * 2 = e + 2 e^2.
  const auto weighted = program([](Builder& b, TermId, core::TensorId x, TermId n) {
    const core::Variable k = b.fresh("k");
    const TermId at = b.variable(k);
    const TermId v = b.read(x, std::span(&at, 1));
    const TermId both[2] = {b.primitive(Primitive::Exp, v), v};
    return b.reduce(core::ReduceKind::Dot, ElementType::F32, std::span(&k, 1), std::span(&n, 1), core::None, false, core::None, both);
  });
  EXPECT_EQ(rounded(weighted, {1, 0, 2}), f32(17.496394026320345f));
  EXPECT_EQ(rounded(weighted, {1, -std::numeric_limits<float>::infinity()}), 0x7fc00000u);  // 0 * infinity
  EXPECT_EQ(rounded(weighted, {1, std::numeric_limits<float>::infinity()}), 0x7f800000u);
  EXPECT_EQ(rounded(weighted, {0}), 0u);
}

TEST(RealElement, PrecisionGrowsUntilTheRoundingIsDecided) {
  // e^x 2^300 + 1 - e^x 2^300 is 1: at 128 bits the 1 is lost.
  const auto cancelling = program([](Builder& b, TermId x, core::TensorId, TermId) {
    const TermId big = b.constant(ElementType::F32, f32(0x1p100f));
    TermId e = b.primitive(Primitive::Exp, x);
    for (int k = 0; k < 3; ++k) e = b.primitive(Primitive::Multiply, e, big);
    const TermId one = b.constant(ElementType::F32, f32(1));
    return b.primitive(Primitive::Subtract, b.primitive(Primitive::Add, e, one), e);
  });
  EXPECT_EQ(rounded(cancelling, {1}), f32(1));
}

TEST(RealElement, DefinitionsFlowIntoOneAnotherWithoutRounding) {
  // x^2 - 1 for x = 1 + 2^-12: 2^-11 + 2^-24, whose last bit f32 loses between the two.
  const auto square = program([](Builder& b, TermId x, core::TensorId, TermId) { return b.primitive(Primitive::Multiply, x, x); });
  const auto less_one = program([](Builder& b, TermId x, core::TensorId, TermId) { return b.primitive(Primitive::Subtract, x, b.constant(ElementType::F32, f32(1))); });
  std::vector<std::optional<Tensor>> x, between;
  x.emplace_back(floats({1 + 0x1p-12f}));
  between.emplace_back(floats({1 + 0x1p-11f}));
  const auto work = std::make_shared<RealElements::Work>();
  RealElements first(square, x, work), second(less_one, between, work);
  const auto alone = second.element(0, 0);
  ASSERT_TRUE(alone);
  EXPECT_EQ(RealElements::rounded(less_one, 0, *alone), f32(0x1p-11f));
  RealElements joined(less_one, between, work);
  joined.draw_from(0, first, 0);
  const auto v = joined.element(0, 0);
  ASSERT_TRUE(v);
  EXPECT_EQ(RealElements::rounded(less_one, 0, *v), f32(0x1p-11f + 0x1p-24f));
}

}  // namespace
}  // namespace ulpian::interp
