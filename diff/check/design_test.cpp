#include "diff/check/design.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "diff/check/check_test_support.h"

namespace ulpian::diff {
namespace {

constexpr ElementType F32 = ElementType::F32;
using K = DataKind;

Design designed(const GraphMaker& maker, DrawOptions options = {}) {
  const auto graph = maker.graph();
  const auto inputs = draw_valid_inputs(shipped(), graph, options, {});
  EXPECT_TRUE(inputs.ok()) << (inputs.ok() ? "" : to_string(inputs.error()));
  return inputs.ok() ? design_inputs(shipped(), graph, options, *inputs, {}) : Design{};
}
// What a call of one input tells by its definition.
Traits traits(const std::string& op, const std::vector<Extents>& inputs, Attributes attributes = {}) {
  GraphMaker m;
  std::vector<std::string> names;
  for (const Extents& e : inputs) {
    names.push_back("x" + std::to_string(names.size()));
    m.input(names.back(), F32, e);
  }
  m.node(op, names, {"y"}, std::move(attributes)).output("y");
  const auto graph = m.graph();
  const auto drawn = draw_inputs(*graph, {});
  const auto call = interp::Call::make(*shipped(), *graph, graph->nodes[0], *drawn);
  EXPECT_TRUE(call.ok()) << (call.ok() ? "" : to_string(call.error()));
  Traits out;
  if (call.ok()) out.add((*call)->program());
  return out;
}
std::string in_letters(const Traits& t) {
  return std::string(t.sums ? "s" : "") + (t.roots ? "r" : "") + (t.functions ? "f" : "") + (t.steps ? "t" : "") + (t.choices ? "c" : "");
}
bool early(const Design& d, K kind) {
  const auto end = d.kinds.begin() + d.battery;
  return std::find(d.kinds.begin(), end, kind) != end;
}

TEST(Design, WhatADefinitionComputesIsReadFromItsProgram) {
  EXPECT_EQ(in_letters(traits("MatMul", {{3, 4}, {4, 5}})), "s");
  EXPECT_EQ(in_letters(traits("Transpose", {{3, 4}})), "");
  EXPECT_EQ(in_letters(traits("Add", {{3, 4}, {3, 4}})), "");
  EXPECT_EQ(in_letters(traits("Exp", {{3, 4}})), "f");
  EXPECT_EQ(in_letters(traits("Round", {{3, 4}})), "t");
  EXPECT_EQ(in_letters(traits("Max", {{3, 4}, {3, 4}})), "c");
  EXPECT_EQ(in_letters(traits("Sqrt", {{3, 4}})), "r");
  EXPECT_EQ(in_letters(traits("Softmax", {{3, 4}})), "sfc");
  EXPECT_EQ(in_letters(traits("ReduceL2", {{3, 4}})), "sr");
  EXPECT_EQ(in_letters(traits("LayerNormalization", {{3, 4}, {4}})), "sr");
  EXPECT_EQ(in_letters(traits("ArgMax", {{3, 4}})), "c");
}

TEST(Design, EveryKindComesOnceAndTheMostTellingFirst) {
  for (bool alone : {false, true})
    for (int bits = 0; bits < 32; ++bits) {
      const Traits t{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
      const auto kinds = kinds_for(t, alone, true);
      EXPECT_EQ(kinds.front(), K::Bell);
      EXPECT_EQ(kinds.size(), static_cast<std::size_t>(DataKindCount));
      EXPECT_EQ(std::set<K>(kinds.begin(), kinds.end()).size(), kinds.size());
    }
  GraphMaker m;
  const Design d = designed(m.input("x", F32, {4, 40}).node("LayerNormalization", {"x", "s"}, {"y"}).constant("s", floats(std::vector<float>(40, 1))).output("y"));
  for (K kind : {K::SmallSpread, K::LargeMean, K::Positive, K::Tiny, K::Special}) EXPECT_TRUE(early(d, kind)) << name_of(kind);
  EXPECT_FALSE(early(d, K::Halves));
  EXPECT_LE(d.battery, 8);
}

TEST(Design, ALongerModelHasOneSampleUnlessMoreAreAskedFor) {
  GraphMaker m;
  m.input("x", F32, {4, 40}).node("Softmax", {"x"}, {"p"}).node("Round", {"p"}, {"y"}).output("y");
  const Design d = designed(m);
  EXPECT_EQ(d.battery, 1);
  EXPECT_EQ((std::vector<K>(d.kinds.begin(), d.kinds.begin() + 4)), (std::vector<K>{K::Bell, K::Halves, K::Exponents, K::Positive}));
  EXPECT_TRUE(d.edges.empty());
}

TEST(Design, IntegersAndRangesAreDrawnOnce) {
  GraphMaker m;
  EXPECT_EQ(designed(m.input("x", ElementType::I32, {4}).node("Abs", {"x"}, {"y"}).output("y")).battery, 1);
  GraphMaker n;
  DrawOptions o;
  o.ranges["x"] = {0, 1};
  EXPECT_EQ(designed(n.input("x", F32, {4}).node("Exp", {"x"}, {"y"}).output("y"), o).battery, 1);
}

// Whether two neighbouring floats around a real number are among the edges.
void expect_around(const std::vector<Bits>& edges, double real) {
  float below = static_cast<float>(real);
  if (below > real) below = std::nextafter(below, -INFINITY);
  const std::set<Bits> all(edges.begin(), edges.end());
  EXPECT_TRUE(all.contains(f32(below))) << real;
  EXPECT_TRUE(all.contains(f32(std::nextafter(below, INFINITY)))) << real;
}

TEST(Design, EdgesOfExpAreWhereItsResultsChangeTheirKind) {
  GraphMaker m;
  const Design d = designed(m.input("x", F32, {8, 8}).node("Exp", {"x"}, {"y"}).output("y"));
  ASSERT_FALSE(d.edges.empty());
  EXPECT_EQ(d.kinds[1], K::Edges);
  // Overflow: from half an ULP above the largest. The smallest normal less half of the least subnormal; half of the least subnormal.
  expect_around(d.edges, std::log(0x1p128 - 0x1p103));
  expect_around(d.edges, std::log(0x1p-126 - 0x1p-150));
  expect_around(d.edges, -150 * std::log(2.0));
}

TEST(Design, EdgesOfAQuantisationAreItsTies) {
  GraphMaker m;
  Tensor zero(ElementType::U8, {});
  zero.set(0, 7);
  const Design d = designed(m.input("x", F32, {8, 8}).constant("s", floats({0.25f}, Extents{})).constant("z", zero).node("QuantizeLinear", {"x", "s", "z"}, {"y"}).output("y"));
  ASSERT_FALSE(d.edges.empty());
  // A step from n to n + 1 is at (n + 1/2) / 4: beside it, and the tie itself, which goes to the even one.
  int ties = 0;
  for (Bits b : d.edges) {
    const double steps = to_double(F32, b) * 4 - 0.5;
    ties += steps == std::floor(steps);
  }
  EXPECT_GE(ties, 4);
}

TEST(Design, NoEdgesWhereElementsDependOnEachOther) {
  for (const char* op : {"Softmax", "ReduceSum", "Transpose", "LogSoftmax"}) {
    GraphMaker m;
    EXPECT_TRUE(designed(m.input("x", F32, {8, 8}).node(op, {"x"}, {"y"}).output("y")).edges.empty()) << op;
  }
  GraphMaker m;
  EXPECT_TRUE(designed(m.input("x", F32, {8, 8}).input("z", F32, {8, 8}).node("Mul", {"x", "z"}, {"y"}).output("y")).edges.empty());
}

TEST(Design, TheLargestFloatLeads) {
  GraphMaker m;
  m.input("i", ElementType::I64, {100}).input("s", F32, {4}).input("x", F32, {4, 40}).input("b", F32, {4, 40}).node("Mul", {"x", "b"}, {"y"}).output("y");
  EXPECT_EQ(leading_input(*m.graph(), {}), 2);
  DrawOptions o;
  o.ranges["x"] = {0, 1};
  EXPECT_EQ(leading_input(*m.graph(), o), 3);
  o.kinds = {K::Tiny};
  const auto t = draw_inputs(*m.graph(), o);
  ASSERT_TRUE(t.ok());
  const auto largest = [&](std::size_t k) {
    double most = 0;
    const Tensor& x = *t->at(k).tensor();
    for (std::int64_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(to_double(F32, x.at(i))));
    return most;
  };
  EXPECT_LE(largest(3), 0x1p-125);
  EXPECT_GT(largest(1), 0.1);
}

}  // namespace
}  // namespace ulpian::diff
