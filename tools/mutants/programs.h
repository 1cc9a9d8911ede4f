// What a definition elaborates to, as text: for telling whether a change of it changes anything.
#pragma once

#include <string>
#include <vector>

#include "tools/symbolic/calls.h"

namespace ulpian::tools {

// All programs of a call with symbols for extents, or the kind of refusal. `canonical` leaves out what only the allowed answer knows: further
// alternatives, optional terms, undefined conditions, unordered axes.
struct ProgramText {
  bool known = false;  // false: the call needs concrete extents, and says nothing
  std::string full, canonical;
};
ProgramText text_of(const language::Specification& specification, const language::Call& call);

}  // namespace ulpian::tools
