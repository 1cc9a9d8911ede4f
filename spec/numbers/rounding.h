// The one place where a float is taken apart and where an exact result is rounded and put together again, for every format.
#pragma once

#include <bit>
#include <cstdint>

#include "spec/numbers/format.h"

namespace ulpian::bits {

__extension__ typedef unsigned __int128 U128;

inline int length(U128 a) {  // position of the leading one, plus one; 0 for 0
  const auto high = static_cast<std::uint64_t>(a >> 64), low = static_cast<std::uint64_t>(a);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
}

enum class Kind : std::uint8_t { Zero, Finite, Infinite, Nan };

// (-1)^negative * significand * 2^exponent where Finite; the significand is not normalised and not 0.
struct Unpacked {
  Kind kind;
  bool negative;
  int exponent;
  std::uint64_t significand;
};
Unpacked unpack(const FloatFormat& format, Bits code);

// A real number: (-1)^negative * (significand + t) * 2^exponent with t = 0, or 0 < t < 1 if sticky. A sticky significand has at least
// two bits more than the precision it will be rounded to. significand 0 without sticky is a zero of that sign.
struct Real {
  bool negative;
  int exponent;
  U128 significand;
  bool sticky = false;
};

enum class Rounding : std::uint8_t { HalfEven, Up, Down };  // of the magnitude: Up away from zero, Down towards it

// Rounded once, as if exponents were unbounded above, then held to the range: infinity, or NaN where there is none, or with `saturate`
// the largest finite value.
Bits round(const FloatFormat& format, const Real& value, Rounding rounding = Rounding::HalfEven, bool saturate = false);

Bits zero(const FloatFormat& format, bool negative);      // F8E8M0, which has none: NaN
Bits overflow(const FloatFormat& format, bool negative);  // infinity, or what stands for it
inline Bits largest(const FloatFormat& format, bool negative) {
  return format.largest_code() | (negative ? format.sign_mask() : 0);
}

// Rounds |significand * 2^exponent| to an integer; exponent < 0. True: the integer and whether it is exact.
struct Integral {
  std::uint64_t quotient;
  bool exact;
};
enum class ToIntegral : std::uint8_t { Truncate, Away, HalfEven };
Integral to_integral(std::uint64_t significand, int exponent, ToIntegral rounding);

}  // namespace ulpian::bits
