#include "interp/scalar/work.h"

#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

constexpr std::int64_t Most = std::numeric_limits<std::int64_t>::max();

std::int64_t work(Maker& m, const core::Sizes& sizes = {}) {
  EXPECT_EQ(core::verify(m.program()), std::nullopt);
  return work_of(m.program(), sizes);
}

// y = sum(x[j] for j < n)
void sum_of(Maker& m, std::int64_t n) {
  const TensorId x = m.input("x", E::F32, {m.integer(2)});
  const Variable j = m.fresh("j");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Sum, E::F32, j, m.integer(n), {m.at(x, m.variable(j))})));
}

TEST(Work, ASumsTermsAndWhatTheyRead) {
  Maker m;
  sum_of(m, 3000);
  EXPECT_EQ(work(m), 3000 + 3000 + 1);  // terms, reads, the element stored
}

TEST(Work, WhatDependsOnFewerVariablesCountsLess) {
  // A product of 20x30 by 30x40: 24,000 terms, each factor read once, 800 elements stored.
  Maker m;
  const TensorId a = m.input("a", E::F32, {m.integer(20), m.integer(30)}), b = m.input("b", E::F32, {m.integer(30), m.integer(40)});
  const Variable i = m.fresh("i"), j = m.fresh("j"), k = m.fresh("k");
  const TermId ai[] = {m.variable(i), m.variable(k)}, bi[] = {m.variable(k), m.variable(j)};
  const TermId dot = m.reduce_over(ReduceKind::Dot, E::F32, k, m.integer(30), {m.read(a, ai), m.read(b, bi)});
  m.output(m.each("y", {i, j}, {m.integer(20), m.integer(40)}, dot));
  EXPECT_EQ(work(m), 24000 + 600 + 1200 + 800);
}

TEST(Work, ExtentsOfInputsAreSizes) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(x)}, m.primitive(P::Add, m.at(x, m.variable(i)), m.f32(1))));
  EXPECT_EQ(work(m, {std::int64_t{7}}), 7 + 7 + 7);  // additions, reads, elements
}

TEST(Work, AnExtentThatDependsOnAVariableIsTakenAtItsGreatest) {
  // sum(x[j] for j < i + 1) for i < 10: at most 10 times 10 terms.
  Maker m;
  const TensorId x = m.input("x", E::F32, {m.integer(10)});
  const Variable i = m.fresh("i"), j = m.fresh("j");
  const TermId more = m.primitive(P::Add, m.variable(i), m.integer(1));
  m.output(m.each("y", {i}, {m.integer(10)}, m.reduce_over(ReduceKind::Sum, E::F32, j, more, {m.at(x, m.variable(j))})));
  EXPECT_EQ(work(m), 100 + 10 + 10 + 10);  // terms, reads, i + 1, elements
}

TEST(Work, FunctionsOfRealNumbersCountAsTheManyStepsThatTheyTake) {
  Maker m;
  const Variable i = m.fresh("i");
  const TermId cosine = m.primitive(P::CosTurn, m.primitive(P::ToReal, m.variable(i)));
  m.output(m.each("y", {i}, {m.integer(10)}, m.cast(E::F32, cosine, CastMode::Exact)));
  EXPECT_EQ(work(m), 10 * 10000 + 10 + 10 + 10);  // cosines, conversions to R and to f32, elements

  Maker f32;
  const TensorId x = f32.input("x", E::F32, {f32.integer(10)});
  const Variable j = f32.fresh("j");
  f32.output(f32.each("y", {j}, {f32.integer(10)}, f32.primitive(P::CosTurn, f32.at(x, f32.variable(j)))));
  EXPECT_EQ(work(f32), 10 + 10 + 10);  // cosines, reads, elements
}

TEST(Work, CountsWithoutOverflow) {
  Maker m;
  const TensorId x = m.input("x", E::F32, {m.integer(2)});
  const Variable j = m.fresh("j"), k = m.fresh("k");
  const TermId inner = m.reduce_over(ReduceKind::Sum, E::F32, k, m.integer(std::int64_t{1} << 40), {m.at(x, m.primitive(P::Add, m.variable(j), m.variable(k)))});
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Sum, E::F32, j, m.integer(std::int64_t{1} << 40), {inner})));
  EXPECT_EQ(work(m), Most);
}

TEST(Work, MoreThanIsAllowedIsRefusedBeforeItStarts) {
  Maker m;
  m.program().op = "my.Long";
  sum_of(m, 3'000'000'000'000);
  const Diagnostic d = m.failure({floats({1, 2})});
  EXPECT_EQ(d.kind, ErrorKind::Limit);
  EXPECT_EQ(d.message, "my.Long: these extents ask for 6e+12 operations; 5e+12 are allowed for one call");
  EXPECT_NE(d.hint.find("--work-limit"), std::string::npos);
  Limits more;
  more.work = Most;
  EXPECT_EQ(m.failure({floats({1, 2})}, more).kind, ErrorKind::Definition);  // it reads behind x
  EXPECT_FALSE(too_much_work(m.program(), Most, more));
}

TEST(Explain, OneElementIsEvaluatedAlone) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(x)}, m.at(x, m.primitive(P::Multiply, m.variable(i), m.integer(2)))));
  const std::vector<std::optional<Tensor>> inputs{floats({1, 2, 3})};
  const auto d = explain_element(m.program(), inputs, 0, 2, {});
  ASSERT_TRUE(d);
  EXPECT_EQ(d->message, "\"x\" is read at index 4 of axis 0, whose extent is 3");
  EXPECT_FALSE(explain_element(m.program(), inputs, 0, 1, {}));
  ScalarElements elements(m.program(), inputs);
  EXPECT_FALSE(elements.element(0, 2, {}));
  EXPECT_EQ(elements.element(0, 1, {}), Bits{0x40400000});  // x[2] is 3
}

}  // namespace
}  // namespace ulpian::interp::testing
