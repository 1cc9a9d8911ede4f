// A check as text and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "diff/check/check_model.h"

namespace ulpian::tools {

// Members and their meaning: docs/cli.md.
nlohmann::json to_json(const diff::ModelCheck& check, const std::string& sample);

// The table of operators, what does not conform, and one line that says it all. `all`: also calls on which the standard says nothing.
void print_check(const diff::ModelCheck& check, const std::string& sample, bool all);

}  // namespace ulpian::tools
