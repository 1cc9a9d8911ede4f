// Outputs that cannot be judged operator by operator: parts of the uncut model as units. Private to diff/check.
#pragma once

#include "diff/check/programs.h"

namespace ulpian::diff {

struct RegionQuestion {
  Judging judging;
  std::shared_ptr<const Graph> graph;
  Backend* backend = nullptr;
  Bytes model;               // whose values can be exposed by name, those inside functions only if so said
  bool functions_inlined = false;
  Values given;
  Data inputs;
  const Outcome* uncut = nullptr;
  std::vector<bool> discrete;  // by value: known to hold integers or truth values
};

// The verdict of the uncut model's outputs when exposing values changes them: values are made visible as far as the bits stay, and what lies
// between visible values is judged as one unit. Fills `whole`, `regions` and `note`.
void judge_by_regions(const RegionQuestion& question, ModelCheck& out);

}  // namespace ulpian::diff
