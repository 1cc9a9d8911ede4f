// The random numbers of the language: Philox4x32-10, a function from counters to bits under a key (Salmon, Moraes, Dror, Shaw: Parallel
// Random Numbers: As Easy as 1, 2, 3; SC 2011). Nothing is carried from one number to the next, so that order and threads don't matter.
#pragma once

#include <array>
#include <cstdint>

namespace ulpian {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key);

// The number `draw` of the element at `position`: a multiple of 2^-53 in [0, 1), each equally likely. The key is words 0 and 1 of the key, low
// word first; the position is words 0 and 1 of the counter, and draw div 2 words 2 and 3 (of 64 bits each, as two's complement). Of the
// block's words an even draw takes 0 and 1, an odd one 2 and 3, the lower first; the number is the upper 53 of these 64 bits.
double random_unit(std::int64_t key, std::int64_t position, std::int64_t draw);

}  // namespace ulpian
