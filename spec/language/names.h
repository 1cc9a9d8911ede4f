// What can be said of a definition without a call: that every name in it is bound somewhere, and that every output has an equation.
#pragma once

#include <optional>

#include "spec/language/specification.h"

namespace ulpian::language {

// The first name that nothing binds, operator that is not defined, or output that nothing gives; none if there is none. Where in a definition a
// name may be used is seen only when it is elaborated.
std::optional<Diagnostic> missing_name(const Specification& specification, const OperatorDefinition& definition);

}  // namespace ulpian::language
