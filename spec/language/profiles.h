// Profiles: what an implementation may deviate by, as text. Their meaning is interp/allowed's.
#pragma once

#include <string>
#include <vector>

#include "spec/language/specification.h"

namespace ulpian::language {

//   profile mine from standard {
//     doc    "..."
//     admit  bf16_inputs
//     admit  ftz, daz on f32, narrower
//     within 8 ulp on f32, narrower: tanh, "/"
//     within 0.0001 absolute
//     within 3 + 2 * argument ulp on f32: exp
//     within 0.00048828125 absolute on f32: sin, cos
//     close  0.001 relative 1e-7 absolute on f32
//     close  16 ulp on f16: onnx.Tanh
//   }
struct ProfileDefinition {
  struct Name {
    std::string text;
    Place place;
  };
  struct Admitted {
    Name name;                // a freedom or a deviation
    std::vector<Name> types;  // as below
  };
  struct Bound {
    double ulps = 0.5, per_argument = 0;  // so many more for each unit of the argument's magnitude
    double absolute = 0;                  // if not 0, the clause is about this alone
    std::vector<Name> types;      // of elements; "narrower": than f32; none: all
    std::vector<Name> functions;  // primitives by name; "functions": all elementary ones
  };
  // Outputs of these types, of these operators, may be so far from the canonical value.
  struct Closeness {
    double relative = 0, absolute = 0, ulps = 0;
    std::vector<Name> types;      // none: all
    std::vector<Name> operators;  // "onnx.Tanh"; none: all
  };
  std::string name, doc;
  std::string from;              // empty: the strictest, everything correctly rounded
  Place place, from_place;
  bool exactly = false;          // the canonical value alone
  std::vector<Admitted> admitted;
  std::vector<Bound> bounds;     // later ones count
  std::vector<Closeness> rules;  // later ones count
  double function_error = 0;     // absolute, of every elementary function
};

// All profiles of a text, in its order.
Result<std::vector<ProfileDefinition>> parse_profiles(const SourceText& source);

}  // namespace ulpian::language
