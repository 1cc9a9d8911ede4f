// A number and what it counts, as messages say it.
#pragma once

#include <concepts>
#include <string>

namespace ulpian {

// "1 element", "2 elements"
std::string counted(std::integral auto n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

}  // namespace ulpian
