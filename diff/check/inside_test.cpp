// Operators that hold graphs: which of the operators inside is at fault, and in which trip.
#include "diff/check/inside.h"

#include <cmath>

#include <fmt/format.h>

#include "diff/check/check_test_support.h"

namespace ulpian::diff {
namespace {

constexpr ElementType F32 = ElementType::F32, I64 = ElementType::I64;

// A body: what it reads without making it is of the graph around.
std::shared_ptr<const Graph> body(GraphMaker maker, const std::string& name, const std::vector<std::string>& captured = {}) {
  Graph& g = maker.edit();
  g.name = name;
  for (const std::string& c : captured)
    for (std::size_t k = 0; k < g.values.size(); ++k)
      if (g.values[k].name == c) g.captured.emplace_back(static_cast<ValueId>(k), c);
  return maker.graph();
}

Tensor scalar(std::int64_t n) { return integers({n}, Extents{}); }

Tensor truth(bool b) {
  Tensor t(ElementType::Bool, {});
  t.set(0, b);
  return t;
}

// y = if c then exp(2 x) + x else x
GraphMaker branches() {
  GraphMaker t, e, g;
  t.node("Add", {"x", "x"}, {"d"}).node("Exp", {"d"}, {"p"}).node("Add", {"p", "x"}, {"q"}).output("q");
  e.node("Identity", {"x"}, {"i"}).output("i");
  g.input("c", ElementType::Bool, {}).input("x", F32, {2});
  return g.node("If", {"c"}, {"y"}, {{"then_branch", body(t, "t", {"x"})}, {"else_branch", body(e, "e", {"x"})}}).output("y");
}

// For n trips: v becomes op(v, c); every trip's v is collected.
GraphMaker loop(const std::string& op, const std::vector<std::string>& inputs) {
  GraphMaker b, g;
  b.input("t", I64, {}).input("go", ElementType::Bool, {}).input("v", F32, {2});
  b.node("Identity", {"go"}, {"on"}).node(op, inputs, {"w"}).node("Neg", {"w"}, {"n"}).output("on").output("w").output("n");
  g.input("count", I64, {}).input("x", F32, {2}).input("c", F32, {2});
  const bool reads_c = inputs.size() > 1;
  return g.node("Loop", {"count", "", "x"}, {"y", "all"}, {{"body", body(b, "turn", reads_c ? std::vector<std::string>{"c"} : std::vector<std::string>{})}}).output("y").output("all");
}

TEST(Inside, TheOperatorAtFaultInABranchIsNamed) {
  const ModelCheck m = check_faulty("scale:onnx.Exp", branches(), tensors({truth(true), floats({0.5f, 1})}));
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.reason.find("in its graph \"t\", onnx.Exp \"Exp_1\" (model.onnx, node 1): "), 0u) << m.nodes[0].verdict.reason;
  ASSERT_EQ(m.nodes[0].inside.size(), 1u);
  EXPECT_EQ(m.nodes[0].inside[0].op, "onnx.Exp");
  ASSERT_TRUE(m.nodes[0].verdict.witness);
  // 1 % of e^2 off; that of the first element would be smaller.
  EXPECT_NEAR(to_double(F32, m.nodes[0].verdict.witness->got), std::exp(2.0) * 1.01, 1e-4);
  // The branch that is not taken is not run.
  EXPECT_EQ(check_faulty("scale:onnx.Exp", branches(), tensors({truth(false), floats({0.5f, 1})})).overall(), Class::Conforms);
}

TEST(Inside, TheOperatorAtFaultInALoopIsNamedWithItsTrip) {
  const ModelCheck m = check_faulty("scale:onnx.Exp", loop("Exp", {"v"}), tensors({scalar(2), floats({0.5f, -1}), floats({0, 0})}));
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.reason.find("in its graph \"turn\", trip 1, onnx.Exp \"Exp_1\""), 0u) << m.nodes[0].verdict.reason;
}

TEST(Inside, TripsGoOnWithTheBackendsOwnValuesAndLaterOnesAreLookedAtToo) {
  // 2^-120 halved six times is 2^-126, the least normal number; the seventh is subnormal, and flushed.
  const ModelCheck m = check_faulty("flush", loop("Mul", {"v", "c"}), tensors({scalar(9), floats({0x1p-120f, 1}), floats({0.5f, 0.5f})}));
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.reason.find("in its graph \"turn\", trip 7, onnx.Mul \"Mul_1\""), 0u) << m.nodes[0].verdict.reason;
  ASSERT_EQ(m.nodes[0].inside.size(), 1u);
  EXPECT_EQ(m.nodes[0].inside[0].where, "its graph \"turn\", trip 7");
}

TEST(Inside, AScanIsLookedIntoOnItsSlices) {
  GraphMaker b, g;
  b.input("s", F32, {}).input("x", F32, {}).node("Exp", {"x"}, {"e"}).node("Add", {"s", "e"}, {"r"}).node("Neg", {"r"}, {"n"}).output("r").output("n");
  g.input("a", F32, {}).input("xs", F32, {3}).node("Scan", {"a", "xs"}, {"y", "all"}, {{"num_scan_inputs", std::int64_t{1}}, {"body", body(b, "step")}}).output("y").output("all");
  const ModelCheck m = check_faulty("scale:onnx.Exp", g, tensors({floats({0}, Extents{}), floats({0, 1, 2})}));
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.reason.find("in its graph \"step\", trip 1, onnx.Exp \"Exp_0\""), 0u) << m.nodes[0].verdict.reason;
}

// The sum of a sequence's elements' exponentials less c, one by one.
GraphMaker each_of_a_sequence() {
  GraphMaker b, g;
  b.input("x", F32, {1}).node("Exp", {"x"}, {"e"}).node("Sub", {"e", "c"}, {"d"}).output("d");
  g.input("s", F32, {1}).input("c", F32, {1}).node("SequenceMap", {"s"}, {"y"}, {{"body", body(b, "each", {"c"})}}).output("y");
  g.edit().values[0].is_sequence = true;
  return g;
}

TEST(Inside, WhatIsTooWideAsAUnitConformsOperatorByOperator) {
  // e^10 is about 22026.4658, where f32 has steps of 2^-9: the difference keeps one or two of them, and the sets of both operators together
  // admit even its sign.
  const float near = std::nextafter(static_cast<float>(22026.465794806718), 0.0f);
  const Data inputs{Datum(Datum::Sequence{F32, {floats({10}), floats({10})}}), Datum(floats({near}))};
  const ModelCheck m = check_faulty("ulp:onnx.Exp", each_of_a_sequence(), inputs);
  expect_only(m, 0, Class::Conforms);
  EXPECT_EQ(m.nodes[0].verdict.reason, "operator by operator, in its graph \"each\"");
  // A fault that the wide sets would hide is found inside: one more unit of the difference.
  const ModelCheck bad = check_faulty("ulp:onnx.Sub", each_of_a_sequence(), inputs);
  expect_only(bad, 0, Class::Violation);
  EXPECT_EQ(bad.nodes[0].verdict.reason.find("in its graph \"each\", trip 1, onnx.Sub"), 0u) << bad.nodes[0].verdict.reason;
}

TEST(Inside, GraphsInGraphsAreLookedInto) {
  GraphMaker t, e, b, g;
  t.node("Exp", {"v"}, {"p"}).output("p");
  e.node("Neg", {"v"}, {"p"}).output("p");
  b.input("t", I64, {}).input("go", ElementType::Bool, {}).input("v", F32, {1});
  b.node("Identity", {"go"}, {"on"}).constant("one", scalar(1)).node("Less", {"t", "one"}, {"first"});
  b.node("If", {"first"}, {"w"}, {{"then_branch", body(e, "even", {"v"})}, {"else_branch", body(t, "odd", {"v"})}}).output("on").output("w");
  g.input("count", I64, {}).input("x", F32, {1}).node("Loop", {"count", "", "x"}, {"y"}, {{"body", body(b, "turn")}}).output("y");
  const ModelCheck m = check_faulty("scale:onnx.Exp", g, tensors({scalar(2), floats({-1})}));
  expect_only(m, 0, Class::Violation);
  const std::string& reason = m.nodes[0].verdict.reason;
  EXPECT_EQ(reason.find("in its graph \"turn\", trip 2, onnx.If"), 0u) << reason;
  EXPECT_NE(reason.find("in its graph \"odd\", onnx.Exp \"Exp_0\""), std::string::npos) << reason;
  ASSERT_EQ(m.nodes[0].inside.size(), 2u);
  EXPECT_EQ(m.nodes[0].inside[1].op, "onnx.Exp");
}

TEST(Inside, WhatIsNotFollowedToTheEndIsNoVerdict) {
  // The loop without its time: the unit's own verdict stays.
  CheckOptions options = standard();
  options.inside_seconds = 0;
  const ModelCheck m = check_faulty("scale:onnx.Exp", branches(), tensors({truth(true), floats({0.5f, 1})}), options);
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.reason.find("its graph"), std::string::npos) << m.nodes[0].verdict.reason;
  EXPECT_TRUE(m.nodes[0].inside.empty());
}

}  // namespace
}  // namespace ulpian::diff
