// Outputs that cannot be judged operator by operator: regions of a graph as one unit. Private to diff/check.
#pragma once

#include "diff/check/check_model.h"

namespace ulpian::diff {

struct RegionQuestion {
  std::shared_ptr<const language::Specification> specification;
  std::shared_ptr<const Graph> graph;
  Backend* backend = nullptr;
  std::shared_ptr<const std::string> model;
  Values given;
  std::vector<std::optional<Tensor>> inputs;
  const Outcome* uncut = nullptr;
  const CheckOptions& options;
};

// The verdict of the uncut model's outputs when exposing values changes them: values are exposed as far as the bits stay, and what lies between
// is judged as fused regions.
void judge_by_regions(const RegionQuestion& question, const Expectation& whole, ModelCheck& out);

}  // namespace ulpian::diff
