// A check as text and as JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "diff/backends/registry.h"
#include "diff/check/check_model.h"
#include "tools/ulpian/explanations.h"

namespace ulpian::tools {

// What is known of the backend beforehand: what it says of itself (values as JSON text), and the faults registered for it.
struct BackendFacts {
  std::string name;  // as it is registered, or its command
  std::vector<std::pair<std::string, std::string>> details;
  std::vector<diff::KnownFault> known;
};

// All checks of one command, each with what its inputs are. Members and their meaning: docs/cli.md.
std::string json_report(const std::string& model, const BackendFacts& facts, const std::vector<std::pair<diff::ModelCheck, std::string>>& checks, int exit_status, const Explanations& explained = {});

// The table of operators, what does not conform, and one line that says it all. `all`: also calls on which the standard says nothing.
void print_check(const diff::ModelCheck& check, const BackendFacts& facts, const std::string& sample, bool all, const Explanations& explained = {}, bool short_of_it = false);
// One line on several samples together.
void print_all_samples(const std::vector<std::pair<diff::ModelCheck, std::string>>& checks);

}  // namespace ulpian::tools
