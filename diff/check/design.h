// Which kinds of drawn data tell most of a model, by what its definitions compute: never by an operator's name.
#pragma once

#include "diff/check/draw.h"

namespace ulpian::diff {

// What programs compute on floats.
struct Traits {
  bool sums = false;       // sums, dots, products of many terms
  bool roots = false;      // square roots: norms, variances
  bool functions = false;  // elementary functions
  bool steps = false;      // rounding to integers
  bool choices = false;    // maxima, orders, comparisons

  void add(const core::Program& program);
};

// Every kind once, the most telling first. `alone`: of a single call, whose inputs are the drawn ones; in longer models NaN and infinities
// spread over everything and tell little.
std::vector<DataKind> kinds_for(const Traits& traits, bool alone, bool edges);

// Whether the graph computes one thing, besides constants.
bool is_single_call(const Graph& graph);

struct Design {
  std::vector<DataKind> kinds;
  std::vector<Bits> edges;
  int battery = 1;  // of a single call: how many of the kinds are worth while each time
};
// `inputs`: drawn, as of the first sample. What cannot be run leaves the traits that were met before it.
Design design_inputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph, const DrawOptions& options,
                     const std::vector<Datum>& inputs, const interp::Limits& limits);

}  // namespace ulpian::diff
