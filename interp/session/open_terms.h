// Where a program leaves single elements open: what a definition calls `unspecified`, and floats cast to integers that do not hold them.
#pragma once

#include <span>
#include <vector>

#include "spec/core/program.h"

namespace ulpian::interp {

std::vector<core::TermId> open_terms(const core::Program& program);  // ascending
// Gives some of them, where they are open, values unlike the canonical ones that show in what is computed from them. Terms move.
void settle_differently(core::Program& program, std::span<const core::TermId> open);
// Of `one of (a, unspecified(T))` takes the latter. Whether there was any.
bool prefer_open(core::Program& program);

}  // namespace ulpian::interp
