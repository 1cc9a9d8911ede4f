// The part of a program that one tensor depends on, as a program of its own.
#pragma once

#include "spec/core/program.h"

namespace ulpian::core {

// Its only output is `tensor`, its inputs stand at the same places (None where it does not read them). Requirements and undefined conditions
// are left behind. The cost is that of the part, not of the whole.
Program extract(const Program& program, TensorId tensor);

}  // namespace ulpian::core
