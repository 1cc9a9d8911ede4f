#include "diff/check/check_model.h"

#include <limits>

#include <fmt/format.h>

#include "diff/check/check_test_support.h"

namespace ulpian::diff {
namespace {

constexpr ElementType F32 = ElementType::F32, I64 = ElementType::I64;
constexpr float Nan = std::numeric_limits<float>::quiet_NaN();

// r = relu(x); s = r + c; y = max(s, x); with a constant that a node gives.
GraphMaker three() {
  GraphMaker m;
  m.input("x", F32, {3}).node("Constant", {}, {"c"}, {{"value", floats({0.5f, 0.25f, 1})}});
  m.node("Relu", {"x"}, {"r"}).node("Add", {"r", "c"}, {"s"}).node("Max", {"s", "x"}, {"y"}).output("y");
  return m;
}

TEST(Check, ARightBackendConformsInPlaceAndAsAWhole) {
  const ModelCheck m = check_faulty("", three(), tensors({floats({1, -2, 3})}));
  ASSERT_EQ(m.nodes.size(), 4u);
  expect_only(m, 0, Class::Conforms);
  EXPECT_TRUE(m.transfers);
  EXPECT_EQ(m.whole.verdict, Class::Conforms);
  EXPECT_EQ(m.whole.counts.elements, 3);
  EXPECT_EQ(m.overall(), Class::Conforms);
  for (const NodeCheck& n : m.nodes) {
    EXPECT_EQ(n.exposure, Exposure::InPlace);
    EXPECT_EQ(n.verdict.counts.elements, 3);
    EXPECT_EQ(n.verdict.counts.equal, 3);
  }
  EXPECT_EQ(m.nodes[2].place, "model.onnx, node 2");
}

TEST(Check, OneUlpInAnAddIsAViolationOfThatAdd) {
  const ModelCheck m = check_faulty("add-ulp", three(), tensors({floats({1, -2, 3})}));
  expect_only(m, 2, Class::Violation);
  const Verdict& v = m.nodes[2].verdict;
  EXPECT_EQ(v.counts.outside, 1);
  EXPECT_EQ(v.counts.equal, 2);
  EXPECT_EQ(v.counts.worst_ulps, 1);
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->index, Extents{1});
  EXPECT_EQ(v.witness->got, f32(0.25f) + 1);
  EXPECT_EQ(v.witness->canonical, f32(0.25f));
  EXPECT_EQ(v.witness->true_value, "0.25");
  EXPECT_EQ(v.witness->got_from_true, 1);
  EXPECT_EQ(m.whole.verdict, Class::Violation);
  EXPECT_EQ(exit_status(m.overall()), 1);
}

TEST(Check, ADroppedTermOfALongSumIsFound) {
  // The bound for any order is (n - 1) u S = 2047 * 2^-24 * 2048 = 0.25: a missing 1 cannot hide.
  GraphMaker g;
  g.input("x", F32, {2048}).constant("axes", integers({0})).node("ReduceSum", {"x", "axes"}, {"y"}, {{"keepdims", std::int64_t{0}}}).output("y");
  const ModelCheck m = check_faulty("drop-term", g, tensors({floats(std::vector<float>(2048, 1))}));
  expect_only(m, 0, Class::Violation);
  ASSERT_TRUE(m.nodes[0].verdict.witness);
  EXPECT_EQ(m.nodes[0].verdict.witness->true_value, "2048");
  EXPECT_EQ(m.nodes[0].verdict.witness->got, f32(2047));
}

TEST(Check, ANumberForNanIsFound) {
  const ModelCheck m = check_faulty("nan-swap", three(), tensors({floats({1, Nan, 3})}));
  ASSERT_EQ(m.nodes.size(), 4u);
  EXPECT_EQ(m.nodes[3].verdict.verdict, Class::Violation) << m.nodes[3].verdict.reason;
}

TEST(Check, FlushedSubnormalsAreFound) {
  GraphMaker g;
  g.input("x", F32, {2}).constant("c", floats({0x1p-120f, 1})).node("Mul", {"x", "c"}, {"y"}).output("y");
  const ModelCheck m = check_faulty("flush", g, tensors({floats({0x1p-20f, 3})}));
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.witness->got, 0u);
  EXPECT_EQ(m.nodes[0].verdict.witness->distance, 512);  // 2^-140 is 512 least subnormals
}

TEST(Check, AWrongTieIsFound) {
  GraphMaker g;
  g.input("x", F32, {3}).node("Round", {"x"}, {"y"}).output("y");
  const ModelCheck m = check_faulty("wrong-tie", g, tensors({floats({2.5f, 1, 4})}));
  expect_only(m, 0, Class::Violation);
  EXPECT_EQ(m.nodes[0].verdict.witness->canonical, f32(2));
}

TEST(Check, WrongTypesExtentsAndMissingOutputsAreSaid) {
  for (const char* fault : {"wrong-type", "wrong-extents"}) {
    GraphMaker g;
    g.input("x", F32, {3}).node("Relu", {"x"}, {"y"}).output("y");
    expect_only(check_faulty(fault, g, tensors({floats({1, 2, 3})})), 0, Class::Violation);
  }
  GraphMaker g;
  g.input("x", F32, {3}).node("Relu", {"x"}, {"r"}).node("Relu", {"x"}, {"y"}).output("r").output("y");
  const ModelCheck m = check_faulty("missing-output", g, tensors({floats({1, 2, 3})}));
  EXPECT_NE(exit_status(m.overall()), 0);
}

TEST(Check, AnAnswerThatIsNotTheProgramsOutputsIsAFailure) {
  for (const char* fault : {"missing-output", "no-output", "further-output", "output-twice", "nothing"}) {
    GraphMaker g;
    g.input("x", F32, {3}).node("Relu", {"x"}, {"r"}).node("Relu", {"r"}, {"y"}).output("r").output("y");
    const ModelCheck m = check_faulty(fault, g, tensors({floats({1, 2, 3})}));
    EXPECT_EQ(m.whole.verdict, Class::Failed) << fault;
    EXPECT_EQ(exit_status(m.overall()), 1) << fault;
  }
}

TEST(Check, SlicesInAnotherOrderConformWhereNoneIsAsked) {
  GraphMaker g;
  g.input("x", F32, {5}).constant("k", integers({3})).node("TopK", {"x", "k"}, {"values", "indices"}, {{"sorted", std::int64_t{0}}}).output("values").output("indices");
  const Tensors x = tensors({floats({3, 9, 1, 7, 5})});
  const ModelCheck m = check_faulty("reverse", g, x);
  expect_only(m, 0, Class::Conforms);
  EXPECT_EQ(m.whole.verdict, Class::Conforms);
  g.edit().nodes[0].attributes["sorted"] = std::int64_t{1};
  expect_only(check_faulty("reverse", g, x), 0, Class::Violation);
}

TEST(Check, AnsweringWhereItMustRefuseIsLenient) {
  GraphMaker g;
  g.input("x", F32, {3}).input("i", I64, {2}).node("Gather", {"x", "i"}, {"y"}).output("y");
  const Tensors outside = tensors({floats({1, 2, 3}), integers({0, 7})});
  const ModelCheck lenient = check_faulty("clamp", g, outside);
  expect_only(lenient, 0, Class::Lenient);
  EXPECT_EQ(exit_status(lenient.overall()), 1);
  const ModelCheck right = check_faulty("", g, outside);
  expect_only(right, 0, Class::Conforms);
  EXPECT_EQ(right.whole.verdict, Class::Conforms) << right.whole.reason;
}

TEST(Check, WhatBothRefuseConformsWithItsReason) {
  // The index 7 has no element; what comes after it has no value that anybody owes.
  GraphMaker g;
  g.input("x", F32, {3}).input("i", I64, {2}).node("Relu", {"x"}, {"r"}).node("Gather", {"r", "i"}, {"g"}).node("Relu", {"g"}, {"h"}).node("Relu", {"h"}, {"y"}).output("y");
  const ModelCheck m = check_faulty("", g, tensors({floats({1, 2, 3}), integers({0, 7})}));
  ASSERT_EQ(m.nodes.size(), 4u);
  EXPECT_FALSE(m.nodes[0].verdict.refused_by_both);
  EXPECT_EQ(m.nodes[0].verdict.counts.equal, 3);
  EXPECT_TRUE(m.nodes[1].verdict.refused_by_both);
  for (std::size_t n : {2u, 3u}) EXPECT_EQ(name_of(m.nodes[n].verdict.verdict), name_of(Class::Vacuous)) << m.nodes[n].verdict.reason;
  for (const Verdict* v : {&m.whole, &m.nodes[1].verdict}) {
    EXPECT_TRUE(v->refused_by_both);
    EXPECT_NE(v->reason.find("onnx/Gather.ulp:"), std::string::npos) << v->reason;
    EXPECT_FALSE(v->evidence.empty());
  }
  EXPECT_EQ(exit_status(m.overall()), 0);
  // An answer is lenient, and an operator that is only missing is not what was asked for.
  const ModelCheck lenient = check_faulty("clamp", g, tensors({floats({1, 2, 3}), integers({0, 7})}));
  EXPECT_EQ(name_of(lenient.overall()), name_of(Class::Lenient));
  EXPECT_NE(lenient.nodes[1].verdict.reason.find("onnx/Gather.ulp:"), std::string::npos) << lenient.nodes[1].verdict.reason;
  EXPECT_EQ(exit_status(check_faulty("refuse:onnx.Relu", g, tensors({floats({1, 2, 3}), integers({0, 7})})).overall()), 3);
}

// --- what cannot be seen in place

TEST(Check, OperatorsRunAloneWhereTheExposedModelIsRefused) {
  const ModelCheck m = check_faulty("refuse-exposed", three(), tensors({floats({1, -2, 3})}));
  expect_only(m, 0, Class::Conforms);
  for (std::size_t n = 1; n < 4; ++n) EXPECT_EQ(m.nodes[n].exposure, Exposure::Alone);
  EXPECT_FALSE(m.transfers);
  EXPECT_NE(m.exposing.find("too many outputs"), std::string::npos) << m.exposing;
  // The uncut model is one region then; every operator in it is exact.
  EXPECT_EQ(m.whole.verdict, Class::Conforms) << m.whole.reason;
}

TEST(Check, WhatNodesWithoutInputsGiveStaysConstantForOperatorsThatRunAlone) {
  GraphMaker g;
  g.input("x", ElementType::F32, {2}).node("Constant", {}, {"axes"}, {{"value", integers({0})}}).node("Unsqueeze", {"x", "axes"}, {"y"}).node("Abs", {"y"}, {"z"}).output("z");
  const ModelCheck m = check_faulty("constant-axes", g, tensors({floats({1, -2})}));
  for (const NodeCheck& n : m.nodes) EXPECT_EQ(name_of(n.verdict.verdict), "conforms") << n.op << ": " << n.verdict.reason;
  EXPECT_EQ(m.nodes[1].exposure, Exposure::Alone);
}

TEST(Check, ACrashOrHangIsThatNodesAndTheRestGoesOn) {
  const ModelCheck m = check_faulty("crash:onnx.Add", three(), tensors({floats({1, -2, 3})}));
  expect_only(m, 2, Class::Crashed);
  EXPECT_EQ(m.whole.verdict, Class::Crashed);
  EXPECT_GE(m.restarts, 2);
  const ModelCheck h = check_faulty("hang:onnx.Max", three(), tensors({floats({1, -2, 3})}));
  expect_only(h, 3, Class::Hung);
  const ModelCheck r = check_faulty("refuse:onnx.Relu", three(), tensors({floats({1, -2, 3})}));
  expect_only(r, 1, Class::Refused);
  EXPECT_EQ(exit_status(r.overall()), 3);
}

TEST(Check, TooManyValuesAtOnceComeInParts) {
  GraphMaker g;
  g.input("x", F32, {2}).constant("c", floats({1, 2}));
  std::string last = "x";
  for (int k = 0; k < 12; ++k) {
    const std::string next = "v" + std::to_string(k);
    g.node("Add", {last, "c"}, {next});
    last = next;
  }
  g.output(last);
  const ModelCheck m = check_faulty("memory-exposed:5", g, tensors({floats({1, 2})}));
  expect_only(m, 0, Class::Conforms);
  for (const NodeCheck& n : m.nodes) EXPECT_EQ(n.exposure, Exposure::InPlace) << n.node;
  EXPECT_TRUE(m.transfers);
}

// --- what exposing changes

TEST(Check, AFusedRegionIsFoundAndJudgedAsAUnit) {
  // y = relu(a * b + c), then + 1: the product is not rounded unless it is looked at.
  GraphMaker g;
  g.input("a", F32, {1}).input("b", F32, {1}).input("c", F32, {1}).constant("one", floats({1}));
  g.node("Relu", {"a"}, {"p"}).node("Mul", {"p", "b"}, {"m"}).node("Add", {"m", "c"}, {"s"}).node("Relu", {"s"}, {"r"}).node("Add", {"r", "one"}, {"y"}).output("y").output("r");
  const float x = 1 + 0x1p-12f;  // x * x = 1 + 2^-11 + 2^-24: the last bit is lost when it rounds
  const ModelCheck m = check_faulty("fuse", g, tensors({floats({x}), floats({x}), floats({-1})}));
  expect_only(m, 0, Class::Conforms);
  EXPECT_FALSE(m.transfers);
  ASSERT_EQ(m.regions.size(), 1u) << m.note;
  EXPECT_EQ(m.regions[0].nodes, (std::vector<std::size_t>{1, 2}));
  EXPECT_NE(m.regions[0].operators.find("Mul"), std::string::npos);
  // Excess precision inside an f32 operator pair is no freedom of the standard profile.
  EXPECT_EQ(exit_status(m.whole.verdict), 1) << m.whole.reason;
  EXPECT_NE(m.whole.reason.find("Mul"), std::string::npos) << m.whole.reason;
  // x * x - 1 without a rounding between is what the backend gave.
  ASSERT_TRUE(m.whole.witness);
  EXPECT_TRUE(m.whole.witness->of_region);
  EXPECT_EQ(m.whole.witness->true_value, fmt::format("{}", 0x1p-11 + 0x1p-24));
  EXPECT_EQ(m.whole.witness->got_from_true, 0);
}

// --- how far conforming implementations may be apart

// Three times the f32 nearest to 0.1: another mean than the canonical one is admitted, and x - mean is 0 or all error.
TEST(Check, AModelThatLosesAllDigitsIsCalledIllConditionedWithTheOperatorThatDoes) {
  GraphMaker g;
  g.input("x", F32, {1, 3}).constant("axis", integers({1})).constant("many", floats({0x1p40f}));
  g.node("ReduceMean", {"x", "axis"}, {"m"}).node("Sub", {"x", "m"}, {"d"}).node("Mul", {"d", "many"}, {"y"}).output("y");
  const Tensor x = floats({0.1f, 0.1f, 0.1f}, Extents{1, 3});
  // The mean one step of 2^-27 higher, which is ulp(0.1).
  const Tensor y = floats({-0x1p13f, -0x1p13f, -0x1p13f}, Extents{1, 3});
  const auto m = check_outputs(shipped(), g.graph(), tensors({x}), tensors({y}), standard());
  ASSERT_TRUE(m.ok()) << to_string(m.error());
  EXPECT_EQ(name_of(m->whole.verdict), name_of(Class::IllConditioned)) << m->whole.reason;
  ASSERT_TRUE(m->conditioning);
  EXPECT_TRUE(m->conditioning->ill);
  EXPECT_EQ(m->conditioning->output, "y");
  EXPECT_GE(m->conditioning->absolute, 0x1p13);
  ASSERT_FALSE(m->conditioning->operators.empty());
  EXPECT_EQ(m->conditioning->operators[0].node, 1u) << m->conditioning->operators[0].name;
  ASSERT_TRUE(m->from_canonical);
  EXPECT_TRUE(m->from_canonical->mostly_apart);
}

TEST(Check, AModelThatKeepsItsDigitsIsNot) {
  GraphMaker g;
  g.input("x", F32, {3}).node("Exp", {"x"}, {"e"}).node("Add", {"e", "e"}, {"y"}).output("y");
  const auto m = check_outputs(shipped(), g.graph(), tensors({floats({0, 1, 2})}), tensors({floats({2, 5.4365635f, 14.778112f})}), standard());
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(name_of(m->whole.verdict), name_of(Class::Conforms)) << m->whole.reason;
  ASSERT_TRUE(m->from_canonical);
  EXPECT_FALSE(m->from_canonical->mostly_apart);
  EXPECT_FALSE(m->conditioning);
}

// --- where the standard says nothing

// c = the greatest of x, where NaN has no place in the order.
GraphMaker with_undefined_order() {
  GraphMaker g;
  g.input("x", F32, {3}).input("z", F32, {3}).constant("k", integers({1})).node("TopK", {"x", "k"}, {"c", "i"});
  return g;
}
const Tensors& nan_and_numbers() {
  static const Tensors values = tensors({floats({1, Nan, 3}), floats({1, 2, 3})});
  return values;
}

TEST(Check, OneVacuousOperatorLeavesTheOthersTheirVerdicts) {
  GraphMaker g = with_undefined_order();
  g.node("Add", {"z", "z"}, {"s"}).output("c").output("s");
  const ModelCheck m = check_faulty("", g, nan_and_numbers());
  expect_only(m, 0, Class::Vacuous);
  EXPECT_TRUE(m.transfers);
  EXPECT_EQ(m.whole.verdict, Class::Conforms) << m.whole.reason;
  EXPECT_EQ(m.overall(), Class::Conforms);
  // A fault elsewhere is found.
  EXPECT_EQ(check_faulty("add-ulp", g, nan_and_numbers()).nodes[1].verdict.verdict, Class::Violation);
  // And where there is nothing else, nothing is claimed.
  const ModelCheck alone = check_faulty("", with_undefined_order().output("c"), nan_and_numbers());
  EXPECT_EQ(alone.whole.verdict, Class::Vacuous);
  EXPECT_EQ(alone.overall(), Class::Vacuous);
  EXPECT_EQ(exit_status(alone.overall()), 0);
}

TEST(Check, ARegionIsVacuousOnlyWhereItFollowsFromWhatIsFree) {
  GraphMaker g = with_undefined_order();
  g.node("Add", {"c", "z"}, {"d"}).node("Add", {"z", "z"}, {"s"}).output("d").output("s");
  const auto verdict = [&](const std::vector<float>& d, const std::vector<float>& s) {
    auto m = check_outputs(shipped(), g.graph(), nan_and_numbers(), tensors({floats(d), floats(s)}), standard());
    EXPECT_TRUE(m.ok());
    return m.ok() ? m->whole : Verdict{};
  };
  Verdict v = verdict({9, -4, 0}, {2, 4, 6});
  EXPECT_EQ(v.verdict, Class::Conforms) << v.reason;
  EXPECT_EQ(v.counts.vacuous, 3);
  EXPECT_EQ(v.counts.equal, 3);
  v = verdict({9, -4, 0}, {2, 4, 7});
  EXPECT_EQ(v.verdict, Class::Violation) << v.reason;
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->output_name, "s");
}

// Whose extents may be others: what follows from the call on which the standard says nothing, and nothing else, empty or not.
TEST(Check, ExtentsAreFreeOnlyOfWhatFollowsFromWhatIsFree) {
  GraphMaker g = with_undefined_order();
  g.constant("none", floats({})).node("Add", {"c", "z"}, {"d"}).node("Add", {"z", "z"}, {"s"}).node("Add", {"none", "none"}, {"e"}).output("d").output("s").output("e");
  const auto verdict = [&](const Tensor& d, const Tensor& s, const Tensor& e) {
    auto m = check_outputs(shipped(), g.graph(), nan_and_numbers(), tensors({d, s, e}), standard());
    EXPECT_TRUE(m.ok());
    return m.ok() ? m->whole : Verdict{};
  };
  EXPECT_EQ(verdict(floats({9, -4}), floats({2, 4, 6}), floats({})).verdict, Class::Conforms);
  EXPECT_EQ(verdict(floats({9, -4, 0}), floats({2, 4}), floats({})).verdict, Class::Violation);
  EXPECT_EQ(verdict(floats({9, -4, 0}), floats({2, 4, 6}), floats({}, Extents{0, 3})).verdict, Class::Violation);
}

// --- definitions that leave a choice

TEST(Check, ReadingsAreTriedOperatorByOperatorWhereTheirOutputsAreSeen) {
  // NaN wins, or is passed over, in all elements of one operator alike.
  GraphMaker g;
  g.input("x", F32, {2, 2}).constant("axes", integers({1})).node("ReduceMax", {"x", "axes"}, {"a"}, {{"keepdims", std::int64_t{0}}});
  g.node("ReduceMin", {"x", "axes"}, {"b"}, {{"keepdims", std::int64_t{0}}}).output("a").output("b");
  const Tensors x = tensors({floats({Nan, 3, 1, 2}, Extents{2, 2})});
  const auto verdict = [&](const std::vector<float>& a, const std::vector<float>& b) { return check_outputs(shipped(), g.graph(), x, tensors({floats(a), floats(b)}), standard())->whole; };
  EXPECT_EQ(verdict({Nan, 2}, {Nan, 1}).verdict, Class::Conforms);
  EXPECT_EQ(verdict({3, 2}, {3, 1}).verdict, Class::Conforms);
  EXPECT_EQ(verdict({Nan, 2}, {3, 1}).verdict, Class::Conforms);
  const Verdict v = verdict({3, 2}, {3, 2});
  EXPECT_EQ(v.verdict, Class::Violation) << v.reason;
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->output, 1u);
}

TEST(Check, ReadingsOfHiddenOperatorsAreTriedTogether) {
  GraphMaker g;
  g.input("x", F32, {2, 2}).constant("axes", integers({1})).node("ReduceMax", {"x", "axes"}, {"a"}, {{"keepdims", std::int64_t{0}}});
  g.node("ReduceMin", {"x", "axes"}, {"b"}, {{"keepdims", std::int64_t{0}}}).node("Sub", {"a", "b"}, {"y"}).output("y");
  const Tensors x = tensors({floats({Nan, 3, 1, 2}, Extents{2, 2})});
  const auto verdict = [&](const std::vector<float>& y) { return check_outputs(shipped(), g.graph(), x, tensors({floats(y)}), standard())->whole; };
  EXPECT_EQ(verdict({Nan, 1}).verdict, Class::Conforms);
  EXPECT_EQ(verdict({0, 1}).verdict, Class::Conforms);  // passed over in both: 3 - 3
  const Verdict v = verdict({1, 1});
  EXPECT_EQ(v.verdict, Class::Violation) << v.reason;
  EXPECT_NE(v.reason.find("the first of 4 readings"), std::string::npos) << v.reason;
}

TEST(Check, TooManyReadingsTogetherAreUndecided) {
  // Seven operators of two readings each: 128 combinations.
  GraphMaker g;
  g.input("x", F32, {2}).constant("axes", integers({0}));
  std::string last = "x";
  for (int k = 0; k < 7; ++k) {
    const std::string next = "v" + std::to_string(k);
    g.node("ReduceMax", {last, "axes"}, {next}, {{"keepdims", std::int64_t{1}}});
    last = next;
  }
  g.output(last);
  const Verdict v = check_outputs(shipped(), g.graph(), tensors({floats({Nan, 3})}), tensors({floats({4})}), standard())->whole;
  EXPECT_EQ(v.verdict, Class::Undecided) << v.reason;
  EXPECT_NE(v.reason.find("more than 64 combinations"), std::string::npos) << v.reason;
}

// --- odd graphs

TEST(Check, OutputsThatAreInputsConstantsOrTwice) {
  GraphMaker g;
  g.input("x", F32, {2}).constant("c", floats({1, 2})).node("Relu", {"x"}, {"y"}).node("Relu", {"y"}, {"z"}).output("y").output("z");
  g.edit().outputs.push_back(g.edit().inputs[0]);
  const ModelCheck m = check_faulty("", g, tensors({floats({1, 2})}));
  expect_only(m, 0, Class::Conforms);
  EXPECT_TRUE(m.transfers);
  EXPECT_EQ(m.whole.verdict, Class::Conforms);
  EXPECT_EQ(m.whole.counts.elements, 6);
}

TEST(Check, AbsentInputsAndOutputs) {
  GraphMaker g;
  g.input("x", F32, {3}).constant("high", floats({2}, Extents{})).node("Clip", {"x", "", "high"}, {"y"}).output("y");
  g.constant("k", integers({2})).node("TopK", {"y", "k"}, {"", "i"}).output("i");
  const ModelCheck m = check_faulty("", g, tensors({floats({1, 5, -3})}));
  expect_only(m, 0, Class::Conforms);
  EXPECT_TRUE(m.transfers);
}

TEST(Check, AnOperatorThatIsNotDefinedLeavesItsOwnNodeOpen) {
  GraphMaker g;
  g.input("x", F32, {3}).node("Relu", {"x"}, {"r"}).node("NoSuchThing", {"r"}, {"s"}).node("Relu", {"s"}, {"y"}).output("y");
  // The backend does not have it either: what comes after it was not seen.
  const ModelCheck m = check_faulty("", g, tensors({floats({1, 5, -3})}));
  ASSERT_EQ(m.nodes.size(), 3u);
  EXPECT_EQ(m.nodes[0].verdict.verdict, Class::Conforms) << m.nodes[0].verdict.reason;
  EXPECT_EQ(exit_status(m.nodes[1].verdict.verdict), 3) << m.nodes[1].verdict.reason;
  EXPECT_EQ(m.nodes[2].verdict.verdict, Class::Undecided);
  EXPECT_EQ(exit_status(m.overall()), 3);
}

TEST(Check, InputsThatDoNotFitAreAnError) {
  const auto graph = three().graph();
  auto backend = Backend::open({ULPIAN_FAULTY_BACKEND, ""}, OpenOptions{});
  ASSERT_TRUE(backend.ok());
  const auto m = check_model(shipped(), graph, std::make_shared<const std::string>(*export_onnx(*graph)), *backend, tensors({floats({1, 2})}), standard());
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().kind, ErrorKind::Input);
}

// --- outputs made elsewhere

TEST(Check, OutputsMadeElsewhereAreOneRegion) {
  const auto graph = three().graph();
  const Tensors x = tensors({floats({1, -2, 3})});
  auto m = check_outputs(shipped(), graph, x, tensors({floats({1.5f, 0.25f, 4})}), standard());
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->whole.verdict, Class::Conforms);
  m = check_outputs(shipped(), graph, x, tensors({floats({1.5f, 0.25f, 5})}), standard());
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->whole.verdict, Class::Violation);
  EXPECT_EQ(m->whole.witness->position, 2);
  EXPECT_EQ(m->whole.witness->output_name, "y");
}

// --- sequences

// s with x inserted at its end, from files: kinds, lengths and each tensor.
TEST(CheckOutputs, ComparesSequencesTensorByTensor) {
  GraphMaker g;
  g.input("s", ElementType::F32, {2}).input("x", ElementType::F32, {2}).node("SequenceInsert", {"s", "x"}, {"t"}).output("t");
  g.edit().values[0].is_sequence = true;
  const auto list = [](std::initializer_list<Tensor> items) { return Datum(Datum::Sequence{ElementType::F32, items}); };
  const Data inputs{list({floats({1, 2})}), floats({3, 4})};
  const auto verdict = [&](const Datum& answer) {
    const auto m = check_outputs(shipped(), g.graph(), inputs, {answer}, standard());
    EXPECT_TRUE(m.ok()) << to_string(m.error());
    return m->whole;
  };
  Verdict v = verdict(list({floats({1, 2}), floats({3, 4})}));
  EXPECT_EQ(name_of(v.verdict), name_of(Class::Conforms)) << v.reason;
  EXPECT_EQ(v.counts.elements, 4);
  v = verdict(list({floats({1, 2}), floats({3, 5})}));
  EXPECT_EQ(name_of(v.verdict), name_of(Class::Violation));
  EXPECT_NE(v.reason.find("\"t[1]\"[1]"), std::string::npos) << v.reason;
  v = verdict(list({floats({1, 2})}));
  EXPECT_EQ(v.reason, "the output \"t\" is a sequence of 1 f32 tensor; a sequence of 2 f32 tensors is right");
  v = verdict(floats({1, 2}));
  EXPECT_EQ(v.reason, "the output \"t\" is a tensor; a sequence of 2 f32 tensors is right");
  EXPECT_EQ(name_of(v.verdict), name_of(Class::Violation));
  v = verdict(Datum());
  EXPECT_EQ(name_of(v.verdict), name_of(Class::Violation)) << v.reason;
}

// A Loop of one trip whose body holds a choice for the whole operator: whether ReduceMax passes NaN over.
GraphMaker max_in_a_loop() {
  GraphMaker body;
  body.input("i", ElementType::I64, {}).input("c", ElementType::Bool, {}).input("m", ElementType::F32, {});
  body.node("ReduceMax", {"x"}, {"m2"}, {{"keepdims", std::int64_t{0}}}).node("Identity", {"c"}, {"c2"}).output("c2").output("m2");
  for (std::size_t k = 0; k < body.edit().values.size(); ++k)
    if (body.edit().values[k].name == "x") body.edit().captured.emplace_back(static_cast<ValueId>(k), "x");
  GraphMaker g;
  g.input("n", ElementType::I64, {}).input("x", ElementType::F32, {3}).input("m", ElementType::F32, {}).node("Loop", {"n", "", "m"}, {"y"}, {{"body", body.graph()}}).output("y");
  return g;
}

TEST(CheckOutputs, ChoicesInsideGraphsAreTried) {
  Tensor n(ElementType::I64, {});
  n.set(0, 1);
  const Data inputs{n, floats({1, Nan, 3}), floats({0}, Extents{})};
  Tensor doubles(ElementType::F64, {});
  const std::pair<Tensor, Class> cases[] = {
      {floats({Nan}, Extents{}), Class::Conforms}, {floats({3}, Extents{}), Class::Conforms}, {floats({1}, Extents{}), Class::Violation},
      {floats({Nan, Nan}), Class::Violation},      {doubles, Class::Violation},
  };
  for (const auto& [answer, wanted] : cases) {
    const auto m = check_outputs(shipped(), max_in_a_loop().graph(), inputs, {answer}, standard());
    ASSERT_TRUE(m.ok()) << to_string(m.error());
    EXPECT_EQ(name_of(m->whole.verdict), name_of(wanted)) << m->whole.reason;
  }
}

// Only the canonical value is admitted: that the true value is another (exp is not rounded correctly everywhere) is no fault of ours.
TEST(CheckOutputs, UnderTheCanonicalProfileTheTrueValueNeedNotBeAMember) {
  GraphMaker g;
  g.input("x", ElementType::F32, {4}).node("Softmax", {"x"}, {"y"}).output("y");
  CheckOptions options;
  options.profile = interp::profile_named("canonical").value();
  const Tensor x = floats({0.1f, 0.7f, -1.3f, 2.9f});
  interp::Session session(shipped(), g.graph(), {});
  const auto canonical = session.run(std::vector<std::optional<Tensor>>{x});
  ASSERT_TRUE(canonical.ok());
  EXPECT_EQ(check_outputs(shipped(), g.graph(), tensors({x}), tensors({(*canonical)[0]}), options)->whole.verdict, Class::Conforms);
  for (int step : {-1, 1}) {  // one of them is nearer to the true value for some element
    Tensor other(ElementType::F32, {4});
    for (std::int64_t k = 0; k < other.size(); ++k) other.set(k, (*canonical)[0].at(k) + static_cast<Bits>(step));
    const Verdict v = check_outputs(shipped(), g.graph(), tensors({x}), tensors({other}), options)->whole;
    EXPECT_EQ(name_of(v.verdict), name_of(Class::Violation)) << v.reason;
    EXPECT_EQ(v.own_fault, "");
    EXPECT_EQ(v.counts.outside, 4);
  }
}

}  // namespace
}  // namespace ulpian::diff
