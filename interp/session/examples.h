// The examples of definitions, run: what `ulpian spec check` and the tests of the specification do.
#pragma once

#include <optional>
#include <string>

#include "interp/session/call.h"

namespace ulpian::interp {

// What is wrong with the example's outcome, or nothing.
std::optional<std::string> failure_of(const language::Specification& specification, const language::Example& example, Evaluator evaluator);

}  // namespace ulpian::interp
