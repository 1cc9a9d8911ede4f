#include "spec/core/cut.h"

#include <gtest/gtest.h>

namespace ulpian {
namespace {

// x, w -> A -> h;  h -> B -> p, q;  p, (body reads h) -> C -> y.  w is a constant, y the output.
Graph chain() {
  Graph g;
  for (const char* name : {"x", "w", "h", "p", "q", "y"}) g.values.push_back({name, ElementType::F32, {}, false, false});
  g.inputs = {0};
  g.outputs = {5};
  g.constants.emplace_back(1, Tensor(ElementType::F32, {2}));
  auto body = std::make_shared<Graph>();
  body->values.push_back({"h", ElementType::F32, {}, false, false});
  body->captured.emplace_back(0, "h");
  body->outputs = {0};
  Node a, b, c;
  a.op = "t.A", a.inputs = {0, AbsentValue, 1}, a.outputs = {2};
  b.op = "t.B", b.inputs = {2, 2}, b.outputs = {3, 4};
  c.op = "t.C", c.inputs = {3}, c.outputs = {5}, c.attributes.emplace("body", std::shared_ptr<const Graph>(body));
  g.nodes = {a, b, c};
  return g;
}

std::vector<std::string> names(const Graph& g, const std::vector<ValueId>& ids) {
  std::vector<std::string> out;
  for (const ValueId id : ids) out.push_back(id == AbsentValue ? "-" : g.values.at(static_cast<std::size_t>(id)).name);
  return out;
}

using Names = std::vector<std::string>;
using Ids = std::vector<ValueId>;

TEST(Cut, OneNodeHasItsInputsAndAllItsOutputs) {
  const Graph g = chain();
  const Cut a = cut(g, std::vector<int>{0});
  EXPECT_EQ(names(a.graph, a.graph.inputs), (Names{"x", "w"}));
  EXPECT_EQ(names(a.graph, a.graph.outputs), (Names{"h"}));
  EXPECT_EQ(names(a.graph, a.graph.nodes.at(0).inputs), (Names{"x", "-", "w"}));
  EXPECT_EQ(a.inputs, (Ids{0, 1}));
  EXPECT_EQ(a.outputs, (Ids{2}));
  const Cut b = cut(g, std::vector<int>{1});
  EXPECT_EQ(names(b.graph, b.graph.inputs), (Names{"h"}));
  EXPECT_EQ(names(b.graph, b.graph.outputs), (Names{"p", "q"}));
}

TEST(Cut, WhatABodyCapturesIsAnInput) {
  const Cut c = cut(chain(), std::vector<int>{2});
  EXPECT_EQ(names(c.graph, c.graph.inputs), (Names{"p", "h"}));
  EXPECT_EQ(reads_of_nodes(chain())[2], (Ids{3, 2}));
}

TEST(Cut, WhatIsFrozenIsAConstantOfThePart) {
  const Graph g = chain();
  const Cut kept = cut(g, std::vector<int>{0}, {g.constants.begin(), g.constants.end()});
  EXPECT_EQ(names(kept.graph, kept.graph.inputs), (Names{"x"}));
  ASSERT_EQ(kept.graph.constants.size(), 1u);
  EXPECT_EQ(kept.graph.constants[0].second.extents(), (Extents{2}));
  const Cut frozen = cut(chain(), std::vector<int>{0}, {{0, Tensor(ElementType::F32, {7})}});
  EXPECT_EQ(names(frozen.graph, frozen.graph.inputs), (Names{"w"}));
  EXPECT_EQ(frozen.graph.constants.at(0).second.extents(), (Extents{7}));
}

TEST(Cut, APartOfManyNodesGivesWhatIsReadOutsideAndWhatNobodyReads) {
  const Cut ab = cut(chain(), std::vector<int>{1, 0});
  EXPECT_EQ(names(ab.graph, ab.graph.inputs), (Names{"x", "w"}));
  EXPECT_EQ(names(ab.graph, ab.graph.outputs), (Names{"h", "p", "q"}));  // h is read by C's body
  const Cut all = cut(chain(), std::vector<int>{0, 1, 2});
  EXPECT_EQ(names(all.graph, all.graph.outputs), (Names{"q", "y"}));
}

// Time that grows with the square of 50,000 nodes is minutes, which the test's time limit tells.
TEST(Cut, EachNodeOfALongChainIsCutInTimeThatDoesNotGrowWithTheChain) {
  Graph g;
  constexpr ValueId Nodes = 50000;
  for (ValueId k = 0; k <= Nodes; ++k) g.values.push_back({std::to_string(k), ElementType::F32, {}, false, false});
  for (ValueId k = 0; k < Nodes; ++k) {
    Node n;
    n.op = "t.A", n.inputs = {k}, n.outputs = {k + 1};
    g.nodes.push_back(n);
  }
  g.inputs = {0}, g.outputs = {Nodes};
  const auto reads = reads_of_nodes(g);
  ASSERT_EQ(reads.size(), g.nodes.size());
  for (int k = 0; k < Nodes; ++k) {
    ASSERT_EQ(reads[static_cast<std::size_t>(k)], (Ids{k}));
    ASSERT_EQ(cut(g, std::vector<int>{k}).outputs, (Ids{k + 1}));
  }
}

}  // namespace
}  // namespace ulpian
