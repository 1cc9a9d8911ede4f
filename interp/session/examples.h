// The examples of definitions, run: what `ulpian spec check` and the tests of the specification do.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "interp/limits.h"
#include "interp/session/call.h"

namespace ulpian::interp {

struct ExampleFailure {
  std::string message;
  std::optional<ErrorKind> elaboration;  // of the error that elaborating ended in, if it did
  std::optional<ErrorKind> evaluation;
};

// What is wrong with the example's outcome, or nothing. The limits hold for elaboration, too.
std::optional<ExampleFailure> outcome_of(const std::shared_ptr<const language::Specification>& specification, const language::Example& example, Evaluator evaluator,
                                         const Limits& limits);
std::optional<std::string> failure_of(const std::shared_ptr<const language::Specification>& specification, const language::Example& example, Evaluator evaluator);

}  // namespace ulpian::interp
