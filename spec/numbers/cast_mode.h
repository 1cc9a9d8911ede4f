// How `cast` treats what the target cannot hold (numerics.md, section 6).
#pragma once

#include <cstdint>

namespace ulpian {

enum class CastMode : std::uint8_t {
  Plain,     // float to float: infinity, or NaN where the type has none; float to integer: truncates, saturates, NaN is 0; integer to integer: wraps
  Saturate,  // to the nearest finite value / the limits; NaN stays NaN, or is 0 for integers; infinities become the largest finite value
  Up, Down, Nearest,                          // F8E8M0 only: rounding of the scale
  SaturateUp, SaturateDown, SaturateNearest,  // F8E8M0 only, clamped to its range
  Exact,     // from R: `exactly(T, e)`, rounded once, half to even (integers too, held to their limits)
  Reinterpret,  // `bits(T, e)`: the same bits, between types of one width; bool, Z and R have none
};

}  // namespace ulpian
