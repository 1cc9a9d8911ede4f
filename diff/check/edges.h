// Where the answer to a single number changes its kind: private to diff/check.
#pragma once

#include "interp/session/call.h"

namespace ulpian::diff {

// Of a call each element of whose output is made of that element of one input (and of constants): the numbers around each place where the
// answer becomes zero, subnormal, normal, infinite or NaN, or another integer. Found by search from a grid, so that narrow places are missed.
// Empty for any other call. `input`: of the graph, whose only node it is.
std::vector<Bits> edges_of(const interp::Call& call, const Graph& graph, const std::vector<Datum>& inputs, std::size_t input, const interp::Limits& limits);

}  // namespace ulpian::diff
