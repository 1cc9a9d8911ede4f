// Inputs of a model from files: input_<k>.npy or input_<k>.pb in a folder, or NAME=FILE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/core/graph.h"

namespace ulpian::tools {

// In the order of the graph's inputs; empty where none is given. `named`: "NAME=FILE".
Result<std::vector<std::optional<Tensor>>> read_inputs(const Graph& graph, const std::string& folder, const std::vector<std::string>& named,
                                                       std::int64_t memory_limit);

// The file of `stem` in `folder` with one of the endings known; empty if there is none.
std::string find_tensor_file(const std::string& folder, const std::string& stem);

}  // namespace ulpian::tools
