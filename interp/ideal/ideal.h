// The ideal answer of a call: the definition over the extended reals on the given input bits, each element of an output rounded once to its
// type (numerics.md, section 1). What is not decided has the canonical value and is told of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/evaluate/evaluate.h"
#include "interp/limits.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"
#include "spec/core/tensor.h"

namespace ulpian::interp {

// Elements of one output whose ideal value is not decided.
struct UndecidedElements {
  struct Element {
    std::int64_t position = 0;  // row-major
    std::string reason;         // `2048 bits do not decide it`
  };
  static constexpr std::size_t MostListed = 16;
  std::size_t output = 0;  // of the program
  std::int64_t count = 0;
  std::vector<Element> first;  // at most MostListed of them
};

struct IdealAnswer {
  std::vector<std::optional<Tensor>> outputs;
  std::vector<UndecidedElements> undecided;  // by output; those that have some
  std::int64_t by_elements = 0;              // how many elements were asked for one by one
};

struct IdealOptions {
  bool quick = true;  // false: one by one, without enclosures.h. The answer is the same
  block::Options block;
};

// `inputs` as Program::inputs, `canonical` the program's canonical answer to them. An error where a limit is met: of steps, of which an operation
// over the reals counts as a hundred of Limits::work.
Result<IdealAnswer> ideal_answer(const core::Program& program, std::span<const std::optional<Tensor>> inputs, std::vector<std::optional<Tensor>> canonical,
                                 const Limits& limits = {}, const IdealOptions& options = {});

}  // namespace ulpian::interp
