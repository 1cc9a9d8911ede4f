// Profiles: what an implementation may deviate by, as text. Their meaning is interp/allowed's.
#pragma once

#include <string>
#include <vector>

#include "spec/language/specification.h"

namespace ulpian::language {

//   profile mine from standard {
//     doc    "..."
//     admit  ftz, bf16_inputs
//     within 8 ulp on f32, narrower: tanh, "/"
//     within 0.0001 absolute
//   }
struct ProfileDefinition {
  struct Name {
    std::string text;
    Place place;
  };
  struct Bound {
    double ulps = 0.5;
    std::vector<Name> types;      // of elements; "narrower": than f32; none: all
    std::vector<Name> functions;  // primitives by name; "functions": all elementary ones
  };
  std::string name, doc;
  std::string from;              // empty: the strictest, everything correctly rounded
  Place place, from_place;
  bool exactly = false;          // the canonical value alone
  std::vector<Name> admitted;    // freedoms and deviations
  std::vector<Bound> bounds;     // later ones count
  double function_error = 0;     // absolute, of every elementary function
};

// All profiles of a text, in its order.
Result<std::vector<ProfileDefinition>> parse_profiles(const SourceText& source);

}  // namespace ulpian::language
