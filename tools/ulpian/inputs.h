// Values in folders: `stem`.npy or .pb, a folder `stem` with 0.npy, 1.npy, ... (or .pb) for a sequence, nothing for an optional without a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/core/datum.h"
#include "spec/core/diagnostic.h"
#include "spec/core/graph.h"

namespace ulpian::tools {

// In the order of the graph's inputs; nothing where none is given. `folder`: with input_<k>; `named`: "NAME=FILE".
Result<std::vector<Datum>> read_inputs(const Graph& graph, const std::string& folder, const std::vector<std::string>& named, std::int64_t memory_limit);

// The file or folder of `stem` in `folder`; empty if there is none.
std::string find_value(const std::string& folder, const std::string& stem);
// As the graph declares it: a .pb file says nothing of its kind.
Result<Datum> read_value(const std::string& path, const GraphValue& declared, std::int64_t memory_limit);

// A tensor as `stem`.npy, a sequence as a folder. What an earlier run left under this name is removed.
Status write_value(const std::string& folder, const std::string& stem, const Datum& value);
// The folder of a sequence's items, made and without items from before.
Result<std::string> sequence_folder(const std::string& folder, const std::string& stem);
// Removes what `write_value` may have left under this name.
Status remove_value(const std::string& folder, const std::string& stem);

Status make_folder(const std::string& folder);

}  // namespace ulpian::tools
