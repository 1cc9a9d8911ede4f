// Graphs as ONNX files: a part that was cut out, or a whole program.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "spec/core/graph.h"

namespace ulpian {

// A model's bytes. The operator sets are those of the nodes' versions; nodes of one domain with different versions, inputs whose type is not
// declared, and more than 2 GiB are errors. The IR version is the oldest that has what the operator sets and the graph need.
Result<std::string> export_onnx(const Graph& graph);

// The same model with values of its main graph as further outputs, in this order; those that are outputs already stay where they are. Only
// `name`, `type`, `extents`, `is_sequence` and `is_optional` are looked at, and only the name must be given. Nothing else changes: the bytes are
// edited, not written anew.
Result<std::string> expose_values(std::span<const std::byte> model, std::span<const GraphValue> values, const std::string& source = "model");

}  // namespace ulpian
