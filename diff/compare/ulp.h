// Distances in units in the last place (numerics.md, section 0): |got - reference| / ulp(reference). An infinity counts as the number that
// would follow the largest finite one, 2^(e_max+1). A distance is rounded to a double; where it has no meaning (NaN, integers) it is infinite.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "interp/canonical/real.h"
#include "spec/numbers/arithmetic.h"

namespace ulpian::diff {

// log2 of ulp(x): max(floor(log2|x|), e_min) - p + 1; of zero, that of the least subnormal.
int ulp_exponent(ElementType type, Bits x);

double distance_in_ulps(ElementType type, Bits got, Bits reference);
// The same of finite numbers in f32, which most are: inline, and exact but for a distance above 2^53.
inline double distance_in_ulps(float got, float reference) {
  const int binade = static_cast<int>(std::bit_cast<std::uint32_t>(reference) >> 23 & 0xff) - 127;
  return std::abs(static_cast<double>(got) - static_cast<double>(reference)) * std::bit_cast<double>(static_cast<std::uint64_t>(23 - std::max(binade, -126) + 1023) << 52);
}
// From a real number that the type need not hold.
double distance_in_ulps(ElementType type, Bits got, const interp::Real& reference);

}  // namespace ulpian::diff
