// The allowed answer: the sound set that any conforming implementation of a call must fall in, under a profile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/allowed/profile.h"
#include "interp/allowed/sets.h"
#include "interp/limits.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"

namespace ulpian::interp {

// As evaluate_scalar, over sets: `inputs` as Program::inputs. Point inputs (a backend's own values) are AllowedTensor::exactly.
// `undefined`: the condition under which the standard says nothing; then every output admits anything.
// `unrounded`: an output of a type narrower than its accumulator may be handed on without the cast that ends its definition (excess
// precision); bounds then enclose the value before the cast.
Result<std::vector<std::optional<AllowedTensor>>> evaluate_allowed(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs,
                                                                   const Profile& profile, const Limits& limits = {},
                                                                   std::optional<Diagnostic>* undefined = nullptr, bool unrounded = false);

}  // namespace ulpian::interp
