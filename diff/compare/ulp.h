// Distances in units in the last place (numerics.md, section 0): |got - reference| / ulp(reference). An infinity counts as the number that
// would follow the largest finite one, 2^(e_max+1). A distance is rounded to a double; where it has no meaning (NaN, integers) it is infinite.
#pragma once

#include "interp/canonical/real.h"
#include "spec/numbers/arithmetic.h"

namespace ulpian::diff {

// log2 of ulp(x): max(floor(log2|x|), e_min) - p + 1; of zero, that of the least subnormal.
int ulp_exponent(ElementType type, Bits x);

double distance_in_ulps(ElementType type, Bits got, Bits reference);
// From a real number that the type need not hold.
double distance_in_ulps(ElementType type, Bits got, const interp::Real& reference);

}  // namespace ulpian::diff
