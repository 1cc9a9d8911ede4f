// How much one call computes, known from extents before anything runs. Every evaluator asks it first: what would take days is an error at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "interp/limits.h"
#include "spec/core/binding.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"

namespace ulpian::interp {

// Primitive operations, reads and terms of reductions, each as often as the variables that it depends on have values; as much as a sum of int64
// holds. A function of R counts as 10,000. What follows from values (the extents of a `where`, those that tensors give) counts as one.
std::int64_t work_of(const core::Program& program, const core::Sizes& sizes);
// The same where only `most` elements of some tensors are evaluated, and nothing of what is left out.
std::int64_t work_of_sample(const core::Program& program, const core::Sizes& sizes, std::int64_t most, std::span<const core::TensorId> sampled, std::span<const core::TensorId> left_out);

// The error, where that is more than the limits allow.
std::optional<Diagnostic> too_much_work(const core::Program& program, std::int64_t work, const Limits& limits);

}  // namespace ulpian::interp
