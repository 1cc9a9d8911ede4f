// Rules of closeness to the canonical value, as others judge by them (interp/allowed/profile.h).
#pragma once

#include "interp/allowed/profile.h"
#include "spec/numbers/arithmetic.h"

namespace ulpian::diff {

// How far an element is from the canonical one, in what the rule admits: at most 1 conforms. NaN is close to NaN, and an infinity to itself alone; a zero
// to a zero of the other sign.
double strain(const interp::Closeness& rule, ElementType type, Bits got, Bits canonical);

}  // namespace ulpian::diff
