// Outputs whose elements may stand in any order along some axes (`unordered along`): in each line along them an order of its own, the same in
// all outputs.
#pragma once

#include <optional>
#include <vector>

#include "interp/allowed/allowed.h"
#include "spec/core/tensor.h"

namespace ulpian::diff {

// The answers put into the order of the canonical ones, as far as the sets admit it; what finds no place fills the places left. Only the
// order changes: whether it conforms is for the one who compares them. Empty where extents do not agree, or there is too much to match.
// `sets` may be empty: then an element stands only where it equals the canonical one.
std::optional<std::vector<std::optional<Tensor>>> reorder(const std::vector<std::optional<Tensor>>& got, const std::vector<std::optional<Tensor>>& canonical,
                                                          const std::vector<std::optional<interp::AllowedTensor>>& sets, const std::vector<std::int64_t>& axes);

}  // namespace ulpian::diff
