// What a plan consists of: steps that each fill one tensor, in order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interp/evaluate/nodes.h"
#include "interp/evaluate/tape.h"

namespace ulpian::interp::block {

struct DotPlan;  // dot.h

enum class StepKind : std::uint8_t {
  Map,         // root 0 for every lane
  Rows,        // a reduction whose leaves are lanes: rows of `columns` lanes each
  Dot,         // a contraction by the blocked kernel
  Sort,        // per row of `columns` keys, the stable order of their positions
  Where,       // coordinates at which the condition (bytes in `source`) holds
  Scatter,     // roots: the indices, then the filter if any, then the value
  Alias,       // the same elements under other extents
  Recurrence,  // `body` for every index of `variables`
};

struct Step {
  StepKind kind = StepKind::Map;
  BufferId out = None;
  BufferId source = None;
  std::uint32_t place = 0;
  Tape tape;
  std::int64_t rows = 1, columns = 1;
  // The first element written: the sum of value * stride over variables of the surroundings (a recurrence's).
  std::vector<std::pair<VariableId, std::int64_t>> offset;
  // Map of a part of the tensor: the first element beside that, and extent and step of each axis that has several; empty: all in order.
  std::int64_t start = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> spread;

  // Rows
  core::ReduceKind reduce = core::ReduceKind::Sum;
  ElementType body_type = ElementType::F32;
  bool has_filter = false, has_initial = false;
  bool compact = false;      // root `valid` says which lanes are positions at all
  // Sort
  bool descending = false;
  // Scatter
  core::ScatterMode mode = core::ScatterMode::Last;
  // Where
  std::vector<std::int64_t> domain;
  // Recurrence
  std::vector<VariableId> variables;
  std::vector<std::int64_t> extents;
  std::vector<BufferId> members;
  std::vector<Step> body;

  std::shared_ptr<DotPlan> dot;
  std::vector<BufferId> reads;
};

// A condition to look at when the steps before it have run.
enum class CheckKind : std::uint8_t { Path, Requirement, Undefined };
struct Check {
  std::size_t after = 0;  // number of steps that must have run
  BufferId value = None;  // a bool
  const core::Condition* condition = nullptr;
  CheckKind kind = CheckKind::Requirement;
};

}  // namespace ulpian::interp::block
