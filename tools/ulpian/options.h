// Checks of option texts that CLI11 lets pass: what is no number, a sign where none is meant, an empty text.
#pragma once

#include <string>

namespace CLI {
class Validator;
}

namespace ulpian::tools {

// A finite number, both ends included ("nan" lies in no range, but compares as if it did).
CLI::Validator number_between(double low, double high);
// Digits alone, up to 2^64 - 1: "-1" is no seed.
CLI::Validator whole_number();
CLI::Validator not_empty();

}  // namespace ulpian::tools
