// The sets of some elements of each output: what inputs would show, where those of all are not needed for a verdict.
#pragma once

#include "interp/allowed/allowed.h"

namespace ulpian::interp {

// The sets of some elements of an output, by their row-major positions.
struct AllowedSample {
  std::vector<std::int64_t> positions;
  AllowedTensor sets;
};
struct AllowedSamples {
  bool single_valued = false;  // nothing but the canonical answer is admitted; there are no samples then
  std::vector<std::optional<AllowedSample>> outputs;
};
// Of about `most` elements of each output, spread over it; what they are made of is evaluated in full. An error of kind Limit where that is more
// work than `limits` allow.
Result<AllowedSamples> sample_allowed(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs, const Profile& profile, std::int64_t most,
                                      const Limits& limits = {});

namespace allowed {
// The tensor that a tensor is a copy of, element by element in the same order (MatMul's result but for the axes of vectors), or itself.
core::TensorId source_of(const core::Program& program, core::TensorId id);
}  // namespace allowed

}  // namespace ulpian::interp
