// The sets of some elements of each output: of those that differ, and of a sample that says what inputs would show.
#pragma once

#include "interp/allowed/allowed.h"

namespace ulpian::interp {

// The sets of some elements of an output.
struct AllowedSample {
  std::vector<std::int64_t> positions;  // row-major, ascending; empty: of all elements, in the output's own extents
  AllowedTensor sets;

  // Where in `sets` an element's set is; it must be among them.
  std::int64_t slot(std::int64_t position) const;
  std::int64_t position(std::int64_t slot) const { return positions.empty() ? slot : positions[static_cast<std::size_t>(slot)]; }
  bool has(std::int64_t position) const;
};
struct AllowedSamples {
  bool single_valued = false;  // nothing but the canonical answer is admitted; there are no samples then
  std::vector<std::optional<AllowedSample>> outputs;
};
// Of these elements of each output (ascending; outputs without any are left out); what they are made of is evaluated in full. An error of kind Limit
// where that is more work than `limits` allow. Otherwise as evaluate_allowed.
Result<AllowedSamples> allowed_at(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs, const Profile& profile,
                                  std::span<const std::vector<std::int64_t>> positions, const Limits& limits = {});

namespace allowed {
// The tensor that a tensor is a copy of, element by element in the same order (MatMul's result but for the axes of vectors), or itself.
core::TensorId source_of(const core::Program& program, core::TensorId id);
}  // namespace allowed

}  // namespace ulpian::interp
