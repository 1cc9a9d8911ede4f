// A graph seen through the values that are visible in it. Private to diff/check.
#pragma once

#include <functional>
#include <map>

#include "diff/check/expectation.h"

namespace ulpian::diff {

// Nodes that are joined by values nobody sees; the nodes' numbers ascend.
struct Region {
  std::vector<int> nodes;
  std::vector<ValueId> hidden;  // made and read inside, in order
};

// Some regions as one graph: a visible value is an input wherever it is read (under a name of its own where the graph makes it, too), and an
// output where it is made.
struct RegionGraph {
  Graph graph;
  std::vector<ValueId> inputs, outputs;  // of the whole graph, in the order of the graph's own
};

class RegionView {
public:
  // `constants`: values that are known before anything runs, what nodes without inputs give among them.
  RegionView(const Graph& graph, std::map<ValueId, Tensor> constants);

  bool visible(ValueId id) const { return visible_.count(id) != 0; }
  const std::map<ValueId, Datum>& values() const { return visible_; }
  void show(ValueId id, Datum value) { visible_.insert_or_assign(id, std::move(value)); }
  void hide(ValueId id) { visible_.erase(id); }
  bool constant(ValueId id) const { return constants_.count(id) != 0; }
  // What optimisers rarely take into something else: values that depend on constants only, and what `harmless` says; then those that several
  // nodes read.
  struct Landmarks {
    std::vector<ValueId> harmless, shared;
  };
  Landmarks landmarks(const std::function<bool(ValueId)>& harmless) const;
  std::vector<Region> regions() const;
  // How many nodes the largest part has into which the region falls when a value of it is shown.
  std::size_t largest_part(const Region& region, ValueId shown) const;
  RegionGraph extract(const std::vector<const Region*>& regions, const std::vector<ValueId>& further_outputs) const;
  const std::vector<ValueId>& reads(int node) const { return reads_[static_cast<std::size_t>(node)]; }
  const Graph& graph() const { return *graph_; }

private:
  const Graph* graph_;
  std::map<ValueId, Tensor> constants_;
  std::map<ValueId, Datum> visible_;
  std::vector<std::vector<ValueId>> reads_;
  std::vector<int> maker_;   // by value, -1: none
  std::vector<int> readers_;
};

// `Conv "c", BatchNormalization "b" and 2 more`
std::string names_of(const Graph& graph, const std::vector<int>& nodes);

}  // namespace ulpian::diff
