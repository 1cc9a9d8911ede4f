// Which elements of two tensors differ.
#pragma once

#include <span>
#include <vector>

#include "spec/core/tensor.h"

namespace ulpian::diff {

// Row-major positions, ascending; NaN equals NaN. Both of one type, no strings or complex numbers, and of equal extents.
std::vector<std::int64_t> differing(const Tensor& a, const Tensor& b);
// Some elements in a row.
Tensor elements_of(const Tensor& all, std::span<const std::int64_t> positions);

}  // namespace ulpian::diff
