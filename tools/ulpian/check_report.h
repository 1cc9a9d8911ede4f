// A check as text and as JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "diff/check/check_model.h"

namespace ulpian::tools {

// All checks of one command, each with what its inputs are. Members and their meaning: docs/cli.md.
std::string json_report(const std::string& model, const std::vector<std::pair<diff::ModelCheck, std::string>>& checks, int exit_status);

// The table of operators, what does not conform, and one line that says it all. `all`: also calls on which the standard says nothing.
void print_check(const diff::ModelCheck& check, const std::string& sample, bool all);

}  // namespace ulpian::tools
