// Calls of a backend that holds f64 as f32, or 64-bit integers as 32-bit ones (profile.h: F64AsF32, I64AsI32). Private to diff/check.
#pragma once

#include "diff/check/expectation.h"

namespace ulpian::diff {

struct Narrowing {
  bool floats = false, integers = false;
  bool computes = true;    // on narrow types; else only what comes out is held in one (a call on constants that is folded)
  bool saturates = false;  // what is out of range; else floats become infinite and integers lose their upper bits
};
// Those that the profile admits, for a call with these arguments and canonical results; none where it has no such type.
std::vector<Narrowing> narrowings(const interp::Profile& profile, const Data& arguments, const MaybeTensors& results);

Data narrowed(const Narrowing& n, const Data& arguments);
// The expectation of the call on narrowed arguments, as of the types that `results` have: what is still of a wide type is held in the narrow one.
Expectation widened(const Narrowing& n, Expectation e, const MaybeTensors& results);

}  // namespace ulpian::diff
