// Programs that leave an implementation no choice. Private to this folder.
#pragma once

#include "interp/allowed/allowed.h"

namespace ulpian::interp::allowed {

// Whether on certain inputs every output is one certain value under the profile: then it is the canonical one.
bool is_single_valued(const core::Program& program, const Profile& profile, bool unrounded);

}  // namespace ulpian::interp::allowed
