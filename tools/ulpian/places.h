// Where the program's own files are, and models as backends take them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diff/backends/registry.h"
#include "spec/core/graph.h"

namespace ulpian::tools {

// The shipped backends, then the users' files. The specifications are passed on to those that are Ulpian itself.
Result<diff::Registry> load_registry(const std::vector<std::string>& user_files, const std::vector<std::string>& spec_files);

// A file of the repository that this program was built in.
std::string own_file(const std::string& path);

// The model's bytes; one with external data is written anew with the data inside.
Result<std::shared_ptr<const std::string>> self_contained_model(const std::string& file, const Graph& graph);

}  // namespace ulpian::tools
