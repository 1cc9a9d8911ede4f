// Graphs and parts of graphs as programs of a backend. Private to diff/check.
#pragma once

#include <span>

#include "diff/check/expectation.h"

namespace ulpian::diff {

using Bytes = std::shared_ptr<const std::string>;

Values to_values(const Graph& graph, const std::vector<ValueId>& ids, const MaybeTensors& tensors);

// Prepares, runs and releases.
Outcome run_program(Backend& backend, Bytes bytes, const Values& inputs);

// The model with further outputs.
Outcome run_exposed(Backend& backend, const std::string& model, const Graph& graph, std::span<const ValueId> wanted, const Values& inputs);

// Whether all outputs of `a` are tensors and have the same bits in `b`, by name.
bool same_outputs(const Outcome& a, const Outcome& b);

// Nodes that read nothing: their values are the file's.
bool is_constant(const Node& node);
bool has_body(const Node& node);

}  // namespace ulpian::diff
