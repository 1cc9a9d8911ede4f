// The block evaluator: the canonical answer of a core program, many elements per step. The bits are those of the scalar evaluator
// (interp/scalar), on every machine, with any number of threads and any vector instructions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/kernels.h"
#include "interp/limits.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"
#include "spec/core/tensor.h"

namespace ulpian::interp {

namespace block {
// None of these changes a bit but dot_block; tests vary them.
struct Options {
  Instructions instructions = best_instructions();
  std::int64_t lanes = 1024;       // at most so many at once; a power of two
  bool inline_tensors = true;
  bool fast_dot = true;            // the blocked kernel
  bool rows = true;                // reductions across lanes
  bool split = true;               // tensors filled part by part
  std::int64_t dot_block = DotBlock;  // terms that one accumulator of a dot takes: the definition's number; fewer only where bounds are wanted, not its bits
  double work_per_thread = 200000; // instructions times lanes that are worth a thread's start
  bool member_poison = false;      // members of recurrences carry masks (set by the planner where they need them)
};
}  // namespace block

// Whether the scalar evaluator runs a program also where this one is asked: one with strings, whose elements are of any size, or with complex numbers.
bool runs_by_elements(const core::Program& program);

// A program made ready for evaluation, to be run many times. The program must outlive it.
class Plan {
public:
  // The extents of inputs that the program leaves open are taken from `inputs` (as Program::inputs) when it runs; then planning is part of
  // every run. Otherwise it happens once, here.
  static Result<Plan> make(const core::Program& program, const block::Options& options = {});

  // As evaluate_scalar: the same answers and the same errors.
  Result<std::vector<std::optional<Tensor>>> run(std::span<const std::optional<Tensor>> inputs, const Limits& limits = {},
                                                 std::optional<Diagnostic>* undefined = nullptr) const;

  // For people and tests: one line per step; with details, one per instruction too.
  std::string describe(bool details = false) const;

private:
  struct State;
  std::shared_ptr<const State> state_;
};

Result<std::vector<std::optional<Tensor>>> evaluate(const core::Program& program, std::span<const std::optional<Tensor>> inputs,
                                                    const Limits& limits = {}, std::optional<Diagnostic>* undefined = nullptr,
                                                    const block::Options& options = {});

}  // namespace ulpian::interp
