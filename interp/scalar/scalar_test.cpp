#include "interp/scalar/scalar.h"

#include <chrono>

#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

TEST(Terms, PrimitivesRoundOnceToTheirType) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  const TermId v = m.at(x, m.variable(i));
  m.output(m.each("y", {i}, {m.extent(x)}, m.primitive(P::Divide, m.f32(1), m.primitive(P::Add, v, m.f32(1)))));
  EXPECT_TRUE(same(m.result({floats({2, -1, 0x1p-24f})}), floats({1.0f / 3.0f, Infinity, 1.0f})));
}

TEST(Terms, CastsFollowTheContract) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  const TermId v = m.at(x, m.variable(i));
  const auto output = [&](const char* name, E type, CastMode mode) { m.output(m.each(name, {i}, {m.extent(x)}, m.cast(type, v, mode))); };
  output("plain", E::F8E4M3FN, CastMode::Plain);
  output("saturated", E::F8E4M3FN, CastMode::Saturate);
  output("i8", E::I8, CastMode::Plain);
  output("bf16", E::BF16, CastMode::Plain);
  auto out = m.run({floats({1000, -2.625f, NotANumber, 1 + 0x1p-8f})});
  ASSERT_TRUE(out.ok()) << to_string(out.error());
  EXPECT_TRUE(same(*(*out)[0], of_bits(E::F8E4M3FN, {0x7f, 0xc2, 0x7f, 0x38})));  // no infinity: NaN; -2.625 is a tie, to -2.5 whose last digit is even
  EXPECT_TRUE(same(*(*out)[1], of_bits(E::F8E4M3FN, {0x7e, 0xc2, 0x7f, 0x38})));
  EXPECT_TRUE(same(*(*out)[2], of_bits(E::I8, {127, 0xfe, 0, 1})));
  EXPECT_TRUE(same(*(*out)[3], of_bits(E::BF16, {0x447a, 0xc028, 0x7fc0, 0x3f80})));
}

TEST(Terms, ASelectEvaluatesOnlyWhatItChooses) {
  // if i >= 1 then x[i - 1] else 9
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  const TermId iv = m.variable(i), before = m.primitive(P::Subtract, iv, m.integer(1));
  const TermId choose = m.select(m.primitive(P::GreaterEqual, iv, m.integer(1)), m.at(x, before), m.f32(9));
  m.output(m.each("y", {i}, {m.extent(x)}, choose));
  EXPECT_TRUE(same(m.result({floats({1, 2, 3})}), floats({9, 1, 2})));
}

TEST(Terms, AReadOutsideIsAnErrorOfTheDefinitionOnlyWhereItReachesAnOutput) {
  Maker m;
  m.program().op = "my.Shift";
  m.at(m.add_place({"shift.ulp", 7, 3}));
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i"), j = m.fresh("j");
  // Stored: the element 0 of `t` has no value, and nobody asks for it.
  const TensorId t = m.each("t", {i}, {m.extent(x)}, m.at(x, m.primitive(P::Subtract, m.variable(i), m.integer(1))));
  const TermId jv = m.variable(j);
  const TermId guarded = m.select(m.primitive(P::Equal, jv, m.integer(0)), m.f32(5), m.at(t, jv));
  m.output(m.each("y", {j}, {m.extent(x)}, guarded));
  EXPECT_TRUE(same(m.result({floats({1, 2, 3})}), floats({5, 1, 2})));
  m.output(t);
  const Diagnostic d = m.failure({floats({1, 2, 3})});
  EXPECT_EQ(d.kind, ErrorKind::Definition);
  EXPECT_EQ(d.place.file, "shift.ulp");
  EXPECT_EQ(d.place.line, 7u);
  EXPECT_NE(d.message.find("my.Shift: \"x\" is read at index -1 of axis 0, whose extent is 3"), std::string::npos) << d.message;
}

TEST(Terms, ElseStandsOutsideATensorAndIsEvaluatedOnlyThere) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  const TermId iv = m.variable(i);
  const TermId two = m.primitive(P::Subtract, iv, m.integer(2));
  // x[i + 1] else x[i - 2]: the latter is outside where the former is inside.
  const TermId read = m.at_else(x, m.primitive(P::Add, iv, m.integer(1)), m.at(x, two));
  m.output(m.each("y", {i}, {m.extent(x)}, read));
  EXPECT_TRUE(same(m.result({floats({1, 2, 3})}), floats({2, 3, 1})));
}

TEST(Terms, IntegersOfZOverflowIntoAnErrorNotIntoAValue) {
  Maker m;
  const TensorId x = m.vector("x", E::I64);
  const Variable i = m.fresh("i");
  const TermId v = m.primitive(P::ToInteger, m.at(x, m.variable(i)));
  m.output(m.each("y", {i}, {m.extent(x)}, m.cast(E::I64, m.primitive(P::Multiply, v, v), CastMode::Plain)));
  EXPECT_TRUE(same(m.result({integers({-3, std::int64_t{3037000499}})}), integers({9, std::int64_t{9223372030926249001}})));
  const Diagnostic d = m.failure({integers({std::int64_t{3037000500}})});
  EXPECT_EQ(d.kind, ErrorKind::Definition);
  EXPECT_NE(d.message.find("64 bits"), std::string::npos);
}

TEST(Terms, FirstAlternativesAndUnspecifiedZeros) {
  Maker m;
  const TermId both[2] = {m.f32(3), m.f32(4)};
  m.output(m.scalar("a", m.choice(core::ChoiceKind::OneOf, both)));
  m.output(m.scalar("b", m.unspecified(E::F32)));
  auto out = m.run({});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)[0]->at(0), bits_of_float(3));
  EXPECT_EQ((*out)[1]->at(0), 0u);
}

TEST(Terms, SharedTermsAreEvaluatedOnce) {
  Maker m;
  TermId t = m.f32(1);
  for (int k = 0; k < 120; ++k) t = m.primitive(P::Add, t, t);
  m.output(m.scalar("y", t));
  EXPECT_TRUE(same(m.result({}), Tensor::scalar(E::F32, bits_of_float(0x1p120f))));
}

TEST(Terms, DepthIsLimitedAndChainsOfElseAreNotDeep) {
  Maker m;
  TermId t = m.f32(0);
  for (int k = 0; k < 5000; ++k) t = m.primitive(P::Exp, t);
  m.output(m.scalar("y", t));
  EXPECT_EQ(m.failure({}).kind, ErrorKind::Limit);

  // The largest frames: reductions inside reductions, each with a tree of its own.
  Maker nested;
  t = nested.f32(1);
  for (int k = 0; k < 3000; ++k) t = nested.reduce_over(ReduceKind::Sum, E::F32, nested.fresh("k"), nested.integer(1), {t});
  nested.output(nested.scalar("y", t));
  EXPECT_EQ(nested.failure({}).kind, ErrorKind::Limit);

  Maker chain;
  const TensorId x = chain.vector("x", E::F32);
  TermId e = chain.f32(42);
  for (int k = 0; k < 20000; ++k) e = chain.at_else(x, chain.integer(k + 10), e);
  chain.output(chain.scalar("y", e));
  EXPECT_TRUE(same(chain.result({floats({1})}), Tensor::scalar(E::F32, bits_of_float(42))));
}

TEST(Terms, ABoundVariableOfAnEnclosingLoopKeepsItsValue) {
  // sum(k < 3) (sum(k < 2) x[k]) * x[k], both over the same variable.
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable k = m.fresh("k");
  const TermId read = m.at(x, m.variable(k));
  const TermId inner = m.reduce_over(ReduceKind::Sum, E::F32, k, m.integer(2), {read});
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Sum, E::F32, k, m.extent(x), {m.primitive(P::Multiply, inner, read)})));
  EXPECT_TRUE(same(m.result({floats({1, 2, 5})}), Tensor::scalar(E::F32, bits_of_float(24))));
}

TEST(Reals, RoundOnceAtTheEnd) {
  // exactly(f32, real(x) / 3 * 3) is x, and exactly(f32, 1/3) is its neighbour.
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  const TermId r = m.primitive(P::ToReal, m.at(x, m.variable(i))), third = m.primitive(P::Divide, r, m.real(Exact(3)));
  m.output(m.each("y", {i}, {m.extent(x)}, m.cast(E::F32, m.primitive(P::Multiply, third, m.real(Exact(3))), CastMode::Exact)));
  m.output(m.each("z", {i}, {m.extent(x)}, m.cast(E::F32, third, CastMode::Exact)));
  auto out = m.run({floats({0.1f, 1})});
  ASSERT_TRUE(out.ok()) << to_string(out.error());
  EXPECT_TRUE(same(*(*out)[0], floats({0.1f, 1})));
  EXPECT_EQ((*out)[1]->at(1), 0x3eaaaaabu);
}

TEST(Reals, FloorsAreExact) {
  // floor((i + 1/2) * 3/7 - 1/2): at i = 3 the coordinate is exactly 1.
  Maker m;
  const Variable i = m.fresh("i");
  const TermId half = m.real(Exact::ratio(1, 2));
  const TermId o = m.primitive(P::Add, m.primitive(P::ToReal, m.variable(i)), half);
  const TermId c = m.primitive(P::Subtract, m.primitive(P::Multiply, o, m.real(Exact::ratio(3, 7))), half);
  m.output(m.each("y", {i}, {m.integer(7)}, m.cast(E::I64, m.primitive(P::Floor, c), CastMode::Plain)));
  EXPECT_TRUE(same(m.result({}), integers({-1, 0, 0, 1, 1, 1, 2})));
}

// y[k] = exactly(f32, sum(n < N) real(x[n]) * cos_turn(real(k * n mod N) / N))
TEST(Reals, CosinesOfRationalTurnsCancelExactly) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable k = m.fresh("k"), n = m.fresh("n");
  const TermId size = m.extent(x);
  const TermId turn = m.primitive(P::Divide, m.primitive(P::ToReal, m.primitive(P::Modulo, m.primitive(P::Multiply, m.variable(k), m.variable(n)), size)), m.primitive(P::ToReal, size));
  const TermId product = m.primitive(P::Multiply, m.primitive(P::ToReal, m.at(x, m.variable(n))), m.primitive(P::CosTurn, turn));
  const TermId sum = m.reduce_over(ReduceKind::Sum, E::R, n, size, {product});
  m.output(m.each("y", {k}, {size}, m.cast(E::F32, sum, CastMode::Exact)));
  EXPECT_TRUE(same(m.result({floats({3, 3, 3, 3, 3})}), floats({15, 0, 0, 0, 0})));
  EXPECT_TRUE(same(m.result({floats(std::vector<float>(12, 0.1f))}), floats({12 * 0.1f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  // Of 1 at position 1: cos(2 pi k / 5) = (sqrt 5 - 1) / 4 and -(sqrt 5 + 1) / 4.
  EXPECT_TRUE(same(m.result({floats({0, 1, 0, 0, 0})}), floats({1, 0.30901699437494742f, -0.80901699437494742f, -0.80901699437494742f, 0.30901699437494742f})));
}

TensorId member(Maker& m, const char* name, E type, std::uint32_t group, std::vector<Variable> variables, std::vector<TermId> extents) {
  TensorNode n;
  n.name = name;
  n.type = type;
  n.kind = TensorKind::Recurrence;
  n.group = group;
  n.variables = std::move(variables);
  n.extents = std::move(extents);
  const TensorId id = m.add(std::move(n));
  m.recurrence(group).members.push_back(id);
  return id;
}

TEST(Recurrence, Fibonacci) {
  Maker m;
  const Variable t = m.fresh("t");
  const TermId tv = m.variable(t), n = m.integer(93);
  const auto group = m.add_recurrence({{t}, {n}, {}});
  const TensorId f = member(m, "f", E::I64, group, {t}, {n});
  const TermId one = m.constant(E::I64, 1);
  const TermId previous = m.at_else(f, m.primitive(P::Subtract, tv, m.integer(1)), one);
  m.node(f).body = m.primitive(P::Add, previous, m.at_else(f, m.primitive(P::Subtract, tv, m.integer(2)), m.constant(E::I64, 0)));
  m.output(f);
  const Tensor y = m.result({});
  EXPECT_EQ(y.at(9), 55u);
  EXPECT_EQ(y.at(91), Bits{7540113804746346429u});   // F(92), the last below 2^63
  EXPECT_EQ(y.at(92), Bits{12200160415121876738u});  // F(93), negative as an i64
}

TEST(Recurrence, MembersReadEachOtherInOrder) {
  // p[t, j] = (q[t-1, j] else 0) + x[t];  q[t, j] = p[t, j] * 2 + j
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable t = m.fresh("t"), j = m.fresh("j"), l = m.fresh("j");
  const TermId tv = m.variable(t), n = m.extent(x), two = m.integer(2);
  const auto group = m.add_recurrence({{t}, {n}, {}});
  const TensorId p = member(m, "p", E::F32, group, {t, j}, {n, two}), q = member(m, "q", E::F32, group, {t, l}, {n, two});
  const TermId before[2] = {m.primitive(P::Subtract, tv, m.integer(1)), m.variable(j)}, now[2] = {tv, m.variable(l)};
  m.node(p).body = m.primitive(P::Add, m.read_else(q, before, m.f32(0), false), m.at(x, tv));
  m.node(q).body = m.primitive(P::Add, m.primitive(P::Multiply, m.read(p, now), m.f32(2)), m.select(m.primitive(P::Equal, m.variable(l), m.integer(0)), m.f32(0), m.f32(1)));
  m.output(q);
  // p: 1 1 | 2 3+..: q0 = 2, 3; p1 = q0 + 10 = 12, 13; q1 = 24, 27
  EXPECT_TRUE(same(m.result({floats({1, 10})}), floats({2, 2}, {2, 3, 24, 27})));
}

TEST(Recurrence, ReadingAheadIsAnErrorOfTheDefinition) {
  Maker m;
  const Variable t = m.fresh("t");
  const TermId n = m.integer(3);
  const auto group = m.add_recurrence({{t}, {n}, {}});
  const TensorId f = member(m, "f", E::F32, group, {t}, {n});
  m.node(f).body = m.at_else(f, m.primitive(P::Add, m.variable(t), m.integer(1)), m.f32(0));
  m.output(f);
  const Diagnostic d = m.failure({});
  EXPECT_EQ(d.kind, ErrorKind::Definition);
  EXPECT_NE(d.message.find("before that element is defined"), std::string::npos) << d.message;
}

struct WhereProgram {
  Maker m;
  TensorId x, w;
  core::Size found;
  WhereProgram() {
    found = m.fresh_size("W");
    x = m.input("x", E::F32, {m.size(m.fresh_size("R")), m.size(m.fresh_size("C"))});
    const Variable i = m.fresh("i"), j = m.fresh("j");
    const TermId index[2] = {m.variable(i), m.variable(j)};
    TensorNode n;
    n.name = "w";
    n.type = E::Z;
    n.kind = TensorKind::Where;
    n.variables = {i, j};
    n.domain = {m.extent(x, 0), m.extent(x, 1)};
    n.extents = {m.size(found), m.integer(2)};
    n.body = m.primitive(P::NotEqual, m.read(x, index), m.f32(0));
    w = m.add(std::move(n));
    m.program().sizes[found].defined_by = w;
    const Variable r = m.fresh("r"), d = m.fresh("d");
    const TermId at[2] = {m.variable(r), m.variable(d)};
    m.output(m.each("y", {r, d}, {m.size(found), m.integer(2)}, m.cast(E::I64, m.read(w, at), CastMode::Plain)));
  }
};

TEST(Where, ListsCoordinatesRowMajorAndDefinesItsExtent) {
  WhereProgram p;
  const Tensor y = p.m.result({floats({2, 3}, {0, 1, NotANumber, -0.0f, 0, 2})});
  EXPECT_TRUE(same(y, integers({0, 1, 0, 2, 1, 2}).reshaped({3, 2})));
  EXPECT_EQ(p.m.result({floats({2, 0}, {})}).extents(), (Extents{0, 2}));
}

TEST(Measured, DefinesAnExtentFromAValue) {
  Maker m;
  const TensorId x = m.input("limit", E::I64, {});
  TensorNode n;
  n.name = "m";
  n.type = E::Z;
  n.kind = TensorKind::Measured;
  n.body = m.primitive(P::ToInteger, m.read(x, {}));
  const TensorId measured = m.add(std::move(n));
  const TermId size = m.size(m.fresh_size("M", measured));
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {size}, m.cast(E::I64, m.variable(i), CastMode::Plain)));
  EXPECT_TRUE(same(m.result({Tensor::scalar(E::I64, 3)}), integers({0, 1, 2})));
  const Diagnostic d = m.failure({Tensor::scalar(E::I64, ~Bits{0})});
  EXPECT_EQ(d.kind, ErrorKind::Definition);
  EXPECT_NE(d.message.find("extent -1"), std::string::npos) << d.message;
  EXPECT_EQ(m.failure({Tensor::scalar(E::I64, Bits{1} << 50)}, Limits{.memory_bytes = 1 << 20}).kind, ErrorKind::Limit);
}

Tensor scattered(core::ScatterMode mode, bool filtered, const std::vector<std::int64_t>& at, const std::vector<float>& updates) {
  Maker m;
  const TensorId base = m.vector("base", E::F32), index = m.vector("index", E::I64);
  const TensorId u = m.input("u", E::F32, {m.extent(index)});
  const Variable i = m.fresh("i");
  TensorNode n;
  n.name = "y";
  n.type = E::F32;
  n.kind = TensorKind::Scatter;
  n.extents = {m.extent(base)};
  n.variables = {i};
  n.domain = {m.extent(index)};
  n.body = m.at(u, m.variable(i));
  n.scatter.mode = mode;
  n.scatter.base = base;
  n.scatter.index = {m.primitive(P::ToInteger, m.at(index, m.variable(i)))};
  if (filtered) n.scatter.filter = m.primitive(P::Greater, m.variable(i), m.integer(0));
  m.output(m.add(std::move(n)));
  return m.result({floats({1e8f, 2, 3}), integers(at), floats(updates)});
}

TEST(Scatter, WritesInAscendingOrder) {
  using Mode = core::ScatterMode;
  EXPECT_TRUE(same(scattered(Mode::Last, false, {1, 1, 0}, {7, 8, 9}), floats({9, 8, 3})));
  EXPECT_TRUE(same(scattered(Mode::Any, false, {1, 1, 0}, {7, 8, 9}), floats({9, 8, 3})));
  EXPECT_TRUE(same(scattered(Mode::Add, false, {0, 0, 0}, {3, 3, -1e8f}), floats({((1e8f + 3) + 3) + -1e8f, 2, 3})));
  EXPECT_TRUE(same(scattered(Mode::Multiply, true, {1, 1, 2}, {100, 5, 7}), floats({1e8f, 10, 21})));
  EXPECT_TRUE(same(scattered(Mode::Maximum, false, {1, 2}, {5, NotANumber}), floats({1e8f, 5, NotANumber})));
  EXPECT_TRUE(same(scattered(Mode::Minimum, false, {1, 1}, {5, -5}), floats({1e8f, -5, 3})));
}

TEST(Scatter, AWriteOutsideIsAnErrorOfTheDefinition) {
  Maker m;
  const TensorId base = m.vector("base", E::F32);
  TensorNode n;
  n.name = "y";
  n.type = E::F32;
  n.kind = TensorKind::Scatter;
  n.extents = {m.extent(base)};
  n.body = m.f32(1);
  n.scatter.base = base;
  n.scatter.index = {m.integer(3)};
  m.output(m.add(std::move(n)));
  EXPECT_TRUE(same(m.result({floats({1, 2, 3, 4})}), floats({1, 2, 3, 1})));
  EXPECT_EQ(m.failure({floats({1, 2, 3})}).kind, ErrorKind::Definition);
}

TEST(Conditions, ARequirementStopsWithItsMessageAndPlace) {
  WhereProgram p;
  const auto place = p.m.add_place({"my.ulp", 12, 3});
  p.m.program().op = "my.Op";
  const Variable i = p.m.fresh("i"), j = p.m.fresh("j");
  const Variable variables[2] = {i, j};
  const TermId extents[2] = {p.m.extent(p.x, 0), p.m.extent(p.x, 1)}, index[2] = {p.m.variable(i), p.m.variable(j)};
  const TermId positive = p.m.primitive(P::GreaterEqual, p.m.read(p.x, index), p.m.f32(0));
  const TermId all = p.m.reduce(ReduceKind::All, E::Bool, variables, extents, None, false, None, std::span(&positive, 1));
  p.m.program().requirements.push_back({all, "an element is negative", place});
  EXPECT_EQ(p.m.result({floats({1, 1}, {3})}).size(), 2);
  const Diagnostic d = p.m.failure({floats({1, 2}, {3, -1})});
  EXPECT_EQ(d.kind, ErrorKind::Requirement);
  EXPECT_EQ(d.message, "my.Op: an element is negative");
  EXPECT_EQ(d.place.line, 12u);
}

TEST(Conditions, WhatIsUndefinedIsAnErrorOrAFlagAsTheCallerAsks) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.integer(2)}, m.at(x, m.variable(i))));
  m.program().undefined.push_back({m.primitive(P::Less, m.extent(x), m.integer(3)), "fewer than three", 0});
  EXPECT_EQ(m.failure({floats({1, 2})}).kind, ErrorKind::Undefined);
  std::optional<Diagnostic> undefined;
  const std::vector<std::optional<Tensor>> two{floats({1, 2})}, one{floats({1})}, three{floats({1, 2, 3})};
  auto out = evaluate_scalar(m.program(), two, {}, &undefined);
  ASSERT_TRUE(out.ok());
  ASSERT_TRUE(undefined.has_value());
  EXPECT_TRUE(same(*(*out)[0], floats({1, 2})));
  undefined.reset();
  auto none = evaluate_scalar(m.program(), one, {}, &undefined);
  ASSERT_TRUE(none.ok() && undefined);
  EXPECT_FALSE((*none)[0].has_value());
  undefined.reset();
  ASSERT_TRUE(evaluate_scalar(m.program(), three, {}, &undefined).ok());
  EXPECT_FALSE(undefined.has_value());
}

TEST(Inputs, ThatDoNotFitAreRefused) {
  Maker m;
  const core::Size n = m.fresh_size("N");
  const TensorId x = m.input("x", E::F32, {m.size(n)}), y = m.input("y", E::F32, {m.primitive(P::Add, m.size(n), m.integer(1))});
  m.output(x);
  (void)y;
  EXPECT_EQ(m.result({floats({1}), floats({1, 2})}).size(), 1);
  const auto refused = [&](std::vector<std::optional<Tensor>> in, std::string_view text) {
    const Diagnostic d = m.failure(std::move(in));
    EXPECT_EQ(d.kind, ErrorKind::Input);
    EXPECT_NE(d.message.find(text), std::string::npos) << d.message;
  };
  refused({floats({1})}, "takes 2 inputs, not 1");
  refused({floats({1}), floats({1})}, "axis 0 must be 2");
  refused({floats({1}), std::nullopt}, "\"y\" is missing");
  refused({integers({1}), floats({1, 2})}, "is of i64, not f32");
  refused({floats({1, 1}, {1}), floats({1, 2})}, "not 1 axes");
}

TEST(Inputs, TheAssumptionsOfTheElaborationAreChecked) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  m.output(x);
  m.program().path.push_back({m.primitive(P::Greater, m.extent(x), m.integer(1)), "", 0});
  EXPECT_EQ(m.failure({floats({1})}).kind, ErrorKind::Input);
  EXPECT_TRUE(m.run({floats({1, 2})}).ok());
}

TEST(Limits, MemoryAndTimeAndCancellation) {
  Maker m;
  const TermId n = m.integer(std::int64_t{1} << 40);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {n}, m.f32(0)));
  EXPECT_EQ(m.failure({}, Limits{.memory_bytes = 1 << 20}).kind, ErrorKind::Limit);

  Maker slow;
  const Variable k = slow.fresh("k");
  slow.output(slow.scalar("y", slow.cast(E::I64, slow.reduce_over(ReduceKind::Count, E::Z, k, slow.integer(std::int64_t{1} << 60), {}), CastMode::Plain)));
  Limits limits;
  limits.work = std::numeric_limits<std::int64_t>::max();  // only the time is to hold
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(slow.failure({}, limits).kind, ErrorKind::Limit);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  const std::atomic<bool> cancelled = true;
  Limits stop;
  stop.work = limits.work;
  stop.cancelled = &cancelled;
  const Diagnostic d = slow.failure({}, stop);
  EXPECT_EQ(d.kind, ErrorKind::Limit);
  EXPECT_NE(d.message.find("cancelled"), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp::testing
