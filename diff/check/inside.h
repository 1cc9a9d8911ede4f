// The graphs that an operator holds, run as models of their own. Private to diff/check.
#pragma once

#include <chrono>
#include <functional>

#include "diff/check/programs.h"

namespace ulpian::diff {

// What the backend does with a body as a model: its outputs (empty if it gave none), and every operator's verdict.
struct BodyCheck {
  ModelCheck check;
  Data outputs;
};

struct InsideQuestion {
  const Judging& judging;
  const Part& part;  // the node as a graph of its own
  Backend* backend = nullptr;
  std::chrono::steady_clock::time_point end;
  std::function<bool(const std::string& name)> is_constant;  // of values that bodies read of the graph around
  std::function<Result<BodyCheck>(const std::shared_ptr<const Graph>& body, Bytes bytes, const Data& inputs)> check;
};

// The node's definition is followed, and whenever it runs a graph the backend runs it, on what it gave the trip before. Where that gives the
// bits of `got` (by the part's outputs), what ran inside is what is looked at, and its operators tell more than the node's sets, which widen from
// one to the next: `out` then has their verdict. The first trips are judged operator by operator, the later ones where they are not canonical.
void look_inside(const InsideQuestion& question, const Data& got, NodeCheck& out);

// Outputs in the order of the graph's.
Data in_order(const Graph& graph, const Values& values);

}  // namespace ulpian::diff
