// The scalar evaluator: the definition itself. One element at a time, slow and obvious; every other evaluator is tested against it.
//
// It gives the canonical answer (numerics.md): each primitive rounds once, reductions run in their defined order, optional terms are
// included, of alternatives the first is taken, and what is unspecified is 0.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interp/limits.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"
#include "spec/core/tensor.h"

namespace ulpian::interp {

using Outputs = std::vector<std::optional<Tensor>>;  // as Program::outputs; empty where the definition yields none

// `inputs` as Program::inputs; what the program does not use may be left out. Errors, besides inputs that do not fit:
//   Requirement  a `require` does not hold, with its message and place
//   Undefined    an `undefined when` holds. If `undefined` is given, it is written there instead and evaluation goes on; should it then
//                fail because of what is undefined, all outputs are empty
//   Definition   the definition is wrong: an element of an output reads outside a tensor, an extent is negative, an integer overflows
//   Unsupported  random numbers, arithmetic on complex numbers
//   Limit        work, memory, time or depth
Result<Outputs> evaluate_scalar(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits = {},
                                std::optional<Diagnostic>* undefined = nullptr);

// Single elements of outputs: of a comprehension that one alone is evaluated. What they read is kept for the next one.
class ScalarElements {
public:
  // Both are kept by reference.
  ScalarElements(const core::Program& program, std::span<const std::optional<Tensor>> inputs);
  ~ScalarElements();
  ScalarElements(const ScalarElements&) = delete;
  ScalarElements& operator=(const ScalarElements&) = delete;
  // Nothing where it takes longer than the limits allow, or has no value.
  std::optional<Bits> element(std::size_t output, std::int64_t position, const Limits& limits);

private:
  struct Parts;
  const core::Program& program_;
  std::span<const std::optional<Tensor>> inputs_;
  std::unique_ptr<Parts> parts_;
};

// Why an element of an output has no value, where another evaluator found that: this evaluator's error, or nothing where it takes too long.
std::optional<Diagnostic> explain_element(const core::Program& program, std::span<const std::optional<Tensor>> inputs, std::size_t output, std::int64_t position,
                                          const Limits& limits);

}  // namespace ulpian::interp
