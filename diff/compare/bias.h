// Errors that are all inside their sets, but not by chance (numerics.md, section 2; docs/checking.md, "Errors that lean").
#pragma once

#include <cstdint>
#include <optional>

#include "interp/allowed/sample.h"

namespace ulpian::diff {

// The error of an element is taken from the canonical value, whose own roundings lean nowhere, in units of half its set's width. Elements of equal bits
// with an equal canonical value count once, what admits one value or everything not at all. Of large outputs some 8192 are looked at.
struct Bias {
  // Fewer elements, or slices of an output, tell nothing.
  static constexpr std::int64_t Least = 1000, LeastSlices = 30;
  // In standard errors of the mean of so many independent ones: chance gives as much about once in 10^9 (Student's t, 29 degrees of freedom; normal).
  static constexpr double Alarm = 9, AlarmOfMany = 6.5;

  std::int64_t elements = 0;
  bool toward_zero = false;  // the mean is of errors in the direction of the magnitude
  double mean = 0;
  double root_mean_square = 0;
};

// A warning, where errors lean upwards or downwards, away from or towards zero, by more than half of their root mean square. `alone`: each element is
// computed from numbers of its own. Otherwise elements may share an error (a softmax's the sum of their row): the slices at the indices of an axis are then what is
// independent, and the errors must lean by the means of such slices along every axis; an axis of fewer than LeastSlices leaves it open.
// `sets`: of all elements that differ, and of some others, which say how many of the rest admit more than one value.
std::optional<Bias> bias_of(const interp::AllowedSample& sets, const Tensor& canonical, const Tensor& got, bool alone);

}  // namespace ulpian::diff
