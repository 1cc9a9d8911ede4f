// Inputs of a model, drawn from a seed: the same on every machine (numerics.md, section 2: inputs decide power).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "diff/check/data_kind.h"
#include "interp/session/session.h"
#include "spec/core/datum.h"
#include "spec/core/diagnostic.h"
#include "spec/core/graph.h"

namespace ulpian::diff {

// The kind of a sample without a design: in the order of the kinds, and then again.
DataKind kind_of_sample(int sample);

struct DrawOptions {
  std::uint64_t seed = 0;
  int sample = 0;
  std::vector<DataKind> kinds;                       // by sample, then again (design.h); empty: kind_of_sample
  std::vector<Bits> edges;                           // of the leading input, for DataKind::Edges
  std::map<std::string, Extents> shapes;             // by input
  std::map<std::string, std::vector<Extents>> items; // by input that is a sequence
  std::set<std::string> nothing;                     // inputs that are optional, and left out
  std::map<std::string, std::int64_t> symbols;       // by symbolic dimension
  std::map<std::string, std::pair<double, double>> ranges;  // by input; both ends included
  std::map<std::string, std::int64_t> integer_high;  // by input: integers without a range lie in [0, high]; else in [0, 255]
  std::int64_t memory_limit = std::int64_t{16} << 30;
};

// "x=1x3x48x320", "x=" (a scalar), "s=2x3+4x3" (a sequence), "s=none" (an empty one, or an optional without a value) or "N=4" into options;
// "x=-1:1" into ranges.
Status parse_shape(const std::string& text, const Graph& graph, DrawOptions& options);
Status parse_range(const std::string& text, const Graph& graph, DrawOptions& options);

// The dimensions of inputs that neither the model nor the options give, with what is drawn: `x[0] = 1`, or `N = 1` by symbol. Of an input
// without a constant of its own.
std::vector<std::string> chosen_dimensions(const Graph& graph, const DrawOptions& options);

DataKind kind_of(const DrawOptions& options);

// The input that has most to say, by its place: of the float tensors that are drawn and have no range the one with most elements, of equals the
// first. -1: none.
int leading_input(const Graph& graph, const DrawOptions& options);

// The inputs of the graph that have no constant of their own. A sequence has two tensors unless its shapes are given. Symbolic dimensions that nobody gives are chosen, the same everywhere.
Result<std::vector<Datum>> draw_inputs(const Graph& graph, const DrawOptions& options);

// The same, and integer inputs without a range are drawn from smaller ranges until no definition refuses them (indices inside their axes): each
// on its own, as large as it may be. Where nothing helps, the inputs as they are: a check then says what refuses them.
Result<std::vector<Datum>> draw_valid_inputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                                                             DrawOptions options, const interp::Limits& limits);

}  // namespace ulpian::diff
