// The allowed answer: the sound set that any conforming implementation of a call must fall in, under a profile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/allowed/sets.h"
#include "interp/limits.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"
#include "spec/numbers/primitive.h"

namespace ulpian::interp {

// What an implementation may deviate by (numerics.md, section 7).
struct Profile {
  std::string name = "standard";
  // Error of one primitive on one element type, in units in the last place of the result; 0.5 is correctly rounded.
  double ulp(Primitive primitive, ElementType type) const;
  bool rounding = true;                  // false: the canonical value only, so that the true value need not be a member
  bool elementary_tolerance = true;      // functions and division at OpenCL's full profile; false: 1 ULP, division and sqrt correctly rounded
  bool any_order = true;                 // sums and dots in any order, fused or not
  bool bodies = true;                    // `within body`: the union with the body
  bool free_zero_sign = true;            // of sums and dots
  bool elide_final_cast = true;          // excess precision between operators
};
std::optional<Profile> profile_named(std::string_view name);  // "standard", "strict", "accurate", "canonical"
std::vector<std::string> profile_names();

// As evaluate_scalar, over sets: `inputs` as Program::inputs. Point inputs (a backend's own values) are AllowedTensor::exactly.
// `undefined`: the condition under which the standard says nothing; then every output admits anything.
// `unrounded`: an output of a type narrower than its accumulator may be handed on without the cast that ends its definition (excess
// precision); bounds then enclose the value before the cast.
Result<std::vector<std::optional<AllowedTensor>>> evaluate_allowed(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs,
                                                                   const Profile& profile, const Limits& limits = {},
                                                                   std::optional<Diagnostic>* undefined = nullptr, bool unrounded = false);

}  // namespace ulpian::interp
