// Inputs of a model, drawn from a seed: deterministic on every machine (numerics.md, section 2: inputs decide power).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/core/graph.h"

namespace ulpian::diff {

struct DrawOptions {
  std::uint64_t seed = 0;
  // The sample's number decides the kind of data: 0 bell-shaped, 1 powers of two of both signs, 2 mostly zeros and one-hot rows,
  // 3 many ties and cancelling pairs, 4 wide magnitudes; then again.
  int sample = 0;
  std::map<std::string, Extents> shapes;             // by input
  std::map<std::string, std::int64_t> symbols;       // by symbolic dimension
  std::map<std::string, std::pair<double, double>> ranges;  // by input; both ends included
  std::int64_t integer_high = 255;                   // integer inputs without a range lie in [0, integer_high]
  std::int64_t memory_limit = std::int64_t{16} << 30;
};

// "x=1x3x48x320" or "N=4" into options; "x=-1:1" into ranges.
Status parse_shape(const std::string& text, const Graph& graph, DrawOptions& options);
Status parse_range(const std::string& text, const Graph& graph, DrawOptions& options);

// The inputs of the graph that have no constant of their own. Symbolic dimensions that nobody gives are chosen, the same everywhere.
Result<std::vector<std::optional<Tensor>>> draw_inputs(const Graph& graph, const DrawOptions& options);

}  // namespace ulpian::diff
