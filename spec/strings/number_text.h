// Texts as numbers, and numbers as texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/numbers/exact.h"

namespace ulpian {

// The number that a text writes: an optional sign, then decimal digits with at most one point and an optional exponent ("12", "-.5", "1.e5", "1E-8"),
// or INF or NAN in any case. NaN where it writes none. (Digits beyond 5000, and exponents beyond what any element type tells apart, count only
// as far as they decide a rounding.)
Exact number_of_text(std::string_view text);

// As an element: rounded once to a float as `mode` says; cut to an integer and held to the type's limits (0 for NaN); a bool tells zero from others.
Bits element_of_text(ElementType type, std::string_view text, CastMode mode = CastMode::Plain);

// Integers in decimals. Floats with the fewest digits that read back as the same element, without an exponent: "0.1", "-3", "100000000000000000000";
// "NaN", "INF", "-INF". A bool is "1" or "0".
std::string text_of_element(ElementType type, Bits bits);

}  // namespace ulpian
