// Parts of a graph as graphs of their own: one operator, or some that belong together.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "spec/core/graph.h"

namespace ulpian {

struct Cut {
  Graph graph;
  // In the whole graph, in the order of the part's own: where its inputs come from and what its outputs are.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

// `nodes` are indices into graph.nodes, in any order. Inputs are the values that come from outside, those that bodies capture among them.
// Outputs are what is read outside, what is an output of the graph, and what nobody reads; of a single node all its outputs.
// Those of the values from outside that are in `frozen` become constants of the part instead (what is constant in a model, what a definition
// needs statically). Types that the graph doesn't declare are the caller's to fill in, in the part's `values`.
Cut cut(const Graph& graph, std::span<const int> nodes, const std::map<ValueId, Tensor>& frozen = {});

// For each node the values of `graph` that it reads: its inputs without absent ones, then what its bodies capture; each once.
std::vector<std::vector<ValueId>> reads_of_nodes(const Graph& graph);

}  // namespace ulpian
