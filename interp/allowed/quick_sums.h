// Sums and inner products of certain numbers, all of a tensor at once: their real values, magnitudes and numbers of terms by the block evaluator, in
// place of terms one after the other as sets. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "interp/allowed/allowed.h"
#include "interp/limits.h"
#include "spec/core/program.h"

namespace ulpian::interp::allowed {

class QuickSums {
public:
  // By the variables of the tensor that the sum is an element of, those that it hangs on.
  struct Found {
    std::vector<core::Variable> variables;
    Extents extents;
    Tensor center;     // f64: off by no more than a sum of so many terms, or a chain of their products, in any order in f64
    Tensor magnitude;  // f64: above the sum of magnitudes
    // f32: terms that are not zero, 2^24 at most; by fewer of the variables, where the others are of factors that are nowhere zero.
    std::vector<core::Variable> count_variables;
    Extents count_extents;
    Tensor count;
    std::int64_t most = 0;  // terms of one sum
  };

  // The reductions of equations whose terms are elements of `inputs` that are certain, or constants, moved and widened. `sizes`: of the program, bound.
  QuickSums(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs, const std::vector<std::optional<std::int64_t>>& sizes, const Limits& limits);
  // Nothing where it is to be found as sets.
  const Found* of(core::TermId reduce) const {
    const std::optional<Found>& f = found_[reduce];
    return f ? &*f : nullptr;
  }

private:
  std::vector<std::optional<Found>> found_;  // by term
};

// What a reduction adds up: the two factors of products, or one body.
struct Summands {
  bool products = false;
  std::vector<core::TermId> bodies;
};
// Of a sum or dot; a sum of products is as a dot, but for the order: an implementation may fuse any of them into an addition.
Summands summands_of(const core::Program& program, core::TermId reduce);

}  // namespace ulpian::interp::allowed
