// The binary floating-point formats, as data. Everything that depends on a format is computed from these rows.
#pragma once

#include <cstdint>

#include "spec/numbers/element_type.h"
#include "spec/numbers/ensure.h"

namespace ulpian {

// An element is held in the low bits of a `Bits`; the unused high bits are zero (also for negative integers). bool is 0 or 1.
using Bits = std::uint64_t;

// Values are (-1)^s * 2^(e - bias) * 1.f, subnormals included.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;   // explicit bits of the significand; precision is one more
  int bias;
  bool has_infinity;
  bool has_sign;       // false for F8E8M0, which has no zero and no subnormals either
  // Which codes are NaN: IEEE's, exponent and fraction all ones, the code that would be -0 (there is then no -0), none.
  enum class Nan : std::uint8_t { Ieee, AllOnes, NegativeZero, None } nan;

  constexpr int precision() const { return fraction_bits + 1; }
  constexpr int min_exponent() const { return has_sign ? 1 - bias : -bias; }  // of the least normal number
  constexpr int max_exponent() const;                                         // of the largest finite number
  constexpr int magnitude_bits() const { return exponent_bits + fraction_bits; }

  // Codes of magnitudes, without the sign bit.
  constexpr Bits sign_mask() const { return has_sign ? Bits{1} << magnitude_bits() : 0; }
  constexpr Bits magnitude_mask() const { return (Bits{1} << magnitude_bits()) - 1; }
  constexpr Bits infinity_code() const { return ((Bits{1} << exponent_bits) - 1) << fraction_bits; }  // has_infinity
  constexpr Bits largest_code() const {
    switch (nan) {
      case Nan::Ieee: return infinity_code() - 1;
      case Nan::AllOnes: return magnitude_mask() - 1;
      case Nan::NegativeZero:
      case Nan::None: return magnitude_mask();
    }
    return 0;
  }
  // The canonical NaN, sign bit included (0x7fc00000 and its like). Formats without NaN yield their largest value instead, as ONNX
  // casts NaN to f4e2m1 and to fp6.
  constexpr Bits nan_code() const {
    switch (nan) {
      case Nan::Ieee: return infinity_code() | (Bits{1} << (fraction_bits - 1));
      case Nan::AllOnes: return magnitude_mask();
      case Nan::NegativeZero: return sign_mask();
      case Nan::None: return largest_code();
    }
    return 0;
  }
  constexpr bool is_nan(Bits code) const {
    switch (nan) {
      case Nan::Ieee: return (code & magnitude_mask()) > infinity_code();
      case Nan::AllOnes: return (code & magnitude_mask()) == magnitude_mask();
      case Nan::NegativeZero: return code == sign_mask();
      case Nan::None: return false;
    }
    return false;
  }
  constexpr bool is_infinite(Bits code) const { return has_infinity && (code & magnitude_mask()) == infinity_code(); }
  constexpr bool has_negative_zero() const { return has_sign && nan != Nan::NegativeZero; }
};

constexpr int FloatFormat::max_exponent() const { return static_cast<int>(largest_code() >> fraction_bits) - bias; }

namespace detail {
using Nan = FloatFormat::Nan;
//                                              exp  frac  bias  infinity  sign   NaN
inline constexpr FloatFormat FloatFormats[] = {{2,   1,    1,    false,    true,  Nan::None},          // f4e2m1
                                               {2,   3,    1,    false,    true,  Nan::None},          // f6e2m3
                                               {3,   2,    3,    false,    true,  Nan::None},          // f6e3m2
                                               {4,   3,    7,    false,    true,  Nan::AllOnes},       // f8e4m3fn
                                               {4,   3,    8,    false,    true,  Nan::NegativeZero},  // f8e4m3fnuz
                                               {5,   2,    15,   true,     true,  Nan::Ieee},          // f8e5m2
                                               {5,   2,    16,   false,    true,  Nan::NegativeZero},  // f8e5m2fnuz
                                               {8,   0,    127,  false,    false, Nan::AllOnes},       // f8e8m0
                                               {5,   10,   15,   true,     true,  Nan::Ieee},          // f16
                                               {8,   7,    127,  true,     true,  Nan::Ieee},          // bf16
                                               {8,   23,   127,  true,     true,  Nan::Ieee},          // f32
                                               {11,  52,   1023, true,     true,  Nan::Ieee}};         // f64
}  // namespace detail

constexpr const FloatFormat& format_of(ElementType type) {
  ensure(type >= ElementType::F4E2M1 && type <= ElementType::F64, "not a binary float type");
  return detail::FloatFormats[static_cast<int>(type) - static_cast<int>(ElementType::F4E2M1)];
}

}  // namespace ulpian
