// How near the canonical value of each term and tensor is to its real value, by the look of the program: where an output is computed without a
// rounding, or with one correct one, its canonical value is the ideal one. So it is with data movement, integers, comparisons of inputs, and
// single operations on them.
#pragma once

#include <vector>

#include "spec/core/program.h"

namespace ulpian::interp {

// The order matters: the least of several.
enum class Nearness : std::uint8_t {
  Unknown,
  Rounded,  // the real value rounded once to the term's type
  Same,     // the real value, or the same bits
};

struct Nearnesses {
  std::vector<Nearness> tensors, terms;
  // Whether the canonical value of an output is the ideal one.
  bool decides(const core::Program& program, std::size_t output) const {
    const core::TensorId id = program.outputs[output];
    return id == core::None || tensors[id] != Nearness::Unknown;
  }
};

Nearnesses nearnesses(const core::Program& program);

}  // namespace ulpian::interp
