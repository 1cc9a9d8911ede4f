// What a profile's deviations add to sets (profile.h). Private to this folder.
#pragma once

#include "interp/allowed/lanes.h"
#include "interp/allowed/profile.h"

namespace ulpian::interp::allowed {

// Floats whose subnormal numbers may be zeros of either sign. `hull`: as one interval each, for sums.
Lanes flushed(const Lanes& v, bool hull);
// Zeros of either sign.
Lanes of_either_zero(Lanes v);
// An operand, and a result, as the profile lets an implementation read and write it.
Lanes as_operand(const Profile& profile, const Lanes& v);
Lanes as_result(const Profile& profile, Lanes v);
// Factors of products that are summed, which may be rounded first: each interval with its images.
Lanes as_factor(const Profile& profile, const Lanes& v);
// In what a sum of the type may be accumulated: of several types the worst of each.
struct Accumulator {
  double unit, half_least, least_normal, largest, beyond;  // the last: what rounds to infinity
  bool narrower;  // than the sum's own type
};
Accumulator accumulator_of(const Profile& profile, ElementType type);

}  // namespace ulpian::interp::allowed
