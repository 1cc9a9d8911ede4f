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
// `unrounded`: the outputs of narrow floats (AllowedTensor::can_be_handed_on) are read by other operators only, which may be handed them unrounded (excess precision):
// AllowedTensor::unrounded of the results.
Result<std::vector<std::optional<AllowedTensor>>> evaluate_allowed(const core::Program& program, std::span<const std::optional<AllowedTensor>> inputs,
                                                                   const Profile& profile, const Limits& limits = {},
                                                                   std::optional<Diagnostic>* undefined = nullptr, bool unrounded = false);

}  // namespace ulpian::interp
