// A violation as a Python script that shows it without Ulpian: it needs NumPy and mpmath only, has the definition for the one element, and
// finds again what that element is over the reals and what a profile admits for it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "diff/check/check_model.h"

namespace ulpian::diff {

struct Explanation {
  std::string script;
  std::vector<std::pair<std::string, Tensor>> files;  // what the script reads beside it, by name: inputs of more than a few elements
  std::string gaps;                                   // what it does not compute, in one line; empty where it computes all
};

// `title`: what is shown, in printable lines. `verdict` has a witness, and `exhibit` is what it was judged on.
Result<Explanation> explain(const std::shared_ptr<const language::Specification>& specification, const Exhibit& exhibit, const Verdict& verdict, const CheckOptions& options,
                            const std::vector<std::string>& title);

}  // namespace ulpian::diff
