// Graphs and parts of graphs as programs of a backend. Private to diff/check.
#pragma once

#include <functional>
#include <span>

#include "diff/check/expectation.h"

namespace ulpian::diff {

using Bytes = std::shared_ptr<const std::string>;

// Absent ones left out.
Values to_values(const Graph& graph, const std::vector<ValueId>& ids, const Data& data);

// A node as a graph of its own, and what it then takes: its inputs and what its bodies capture.
struct Part {
  std::shared_ptr<const Graph> graph;
  Data inputs;
};
Part one_node(const Graph& graph, int node, const std::function<const Datum*(ValueId)>& value);

// What a node takes of constants and of the graph's inputs.
Data arguments_of(const Graph& graph, const Node& node, const Data& inputs);

// The canonical results of a node with bodies, by its outputs, where `values` are the graph's; empty where it cannot be run.
std::optional<Data> run_with_bodies(const Judging& judging, const Graph& graph, int node, const Data& values, const interp::Limits& limits);

// What was judged, where it is to be kept: of answers that do not conform. What the graph's outputs hold is declared.
std::shared_ptr<const Exhibit> exhibited(const Judging& judging, const Verdict& verdict, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Data& outputs);

// What a value holds as its declared type; extents where `with_extents`.
void declare(GraphValue& value, const Datum& datum, bool with_extents);
bool same_value(const Datum& a, const Datum& b);

// Prepares, runs and releases.
// `outputs`: what the program gives. An answer that lacks one of them, or has others, is the backend's failure.
Outcome run_program(Backend& backend, Bytes bytes, const Values& inputs, std::span<const GraphValue> outputs);
std::vector<GraphValue> outputs_of(const Graph& graph);

// The model with further outputs.
Outcome run_exposed(Backend& backend, const std::string& model, const Graph& graph, std::span<const ValueId> wanted, const Values& inputs);

// Whether all outputs of `a` have the same bits in `b`, by name.
bool same_outputs(const Outcome& a, const Outcome& b);

// Nodes that read nothing: their values are the file's.
bool is_constant(const Node& node);
bool has_body(const Node& node);
// Names of the values that operators make and that only operators read: no outputs.
std::shared_ptr<const std::set<std::string>> handed_on(const Graph& graph);

}  // namespace ulpian::diff
