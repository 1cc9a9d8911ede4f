// Contractions: a `dot` whose output variables part into those of one factor, those of the other and those of both. Both factors are packed
// into panels by their tapes (whatever index terms they have: a convolution's padding is only another read), and a register-blocked kernel
// runs one chain of fused multiply-adds per element, in the order of the definition.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "interp/evaluate/frame.h"
#include "interp/evaluate/tape.h"

namespace ulpian::interp::block {

struct DotFactor {
  Tape tape;               // root: the factor, of the accumulator's type
  bool by_lanes = false;   // axes: positions, then lanes (or rows); otherwise lanes, then positions
  std::size_t split = 0;   // axes of the first group
  bool in_batch = false;   // depends on the batch variables
  bool invariant = false;  // the same at every index of the recurrence around
};

struct DotAxis {
  VariableId variable = 0;
  std::int64_t extent = 1;
  std::int64_t stride = 1;  // in the output
};

// A factor that is one read whose indices are linear: its elements are found without a tape.
struct DotRead {
  using Steps = std::vector<std::pair<VariableId, std::int64_t>>;
  struct Check {  // 0 <= index < extent, else the element counts as +0
    std::int64_t constant = 0;
    Steps steps;
    std::int64_t extent = 0;
  };
  BufferId buffer = 0;
  std::int64_t constant = 0;
  Steps steps;
  std::vector<Check> checks;
};

struct DotPlan {
  ElementType type = ElementType::F32;
  std::int64_t batch = 1, rows = 1, lanes = 1, positions = 1;
  std::vector<DotAxis> batch_axes, row_axes, lane_axes;
  DotFactor row, lane;
  bool masked = false;   // root 1 of the lane factor says which terms count
  // Lanes are read where they lie, without packing; `row`, `lane` have no tapes then.
  bool direct = false;
  DotRead row_read, lane_read;
  std::vector<DotAxis> position_axes;  // strides unused
};

class Runner;
struct Step;
// Fills `out`, the first element of the step's result.
void run_direct(Runner& runner, const Step& step, std::byte* out, int threads);

}  // namespace ulpian::interp::block
