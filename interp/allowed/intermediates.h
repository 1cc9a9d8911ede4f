// Which floats of a program are intermediates: everything but what ends an output. An implementation may keep an intermediate in a wider
// format than its type, up to exactly; what ends an output is rounded to its type. Private to this folder.
#pragma once

#include <vector>

#include "interp/allowed/allowed.h"

namespace ulpian::interp::allowed {

struct Intermediates {
  std::vector<bool> rounded;  // per tensor: its elements only end outputs
  bool matter = false;        // canonical rounds some intermediate
};
// Of a term with arguments, or of a float reduction: whether canonical rounds its value.
bool rounds_in_canonical(const core::Program& program, core::TermId id);
Intermediates intermediates_of(const core::Program& program);

// Operations that move a rounding of their result to their arguments and back: those that are exact and monotone.
bool passes_rounding(Primitive primitive);

}  // namespace ulpian::interp::allowed
