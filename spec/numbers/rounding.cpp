#include "spec/numbers/rounding.h"

#include <algorithm>

namespace ulpian::bits {

Unpacked unpack(const FloatFormat& format, Bits code) {
  const bool negative = (code & format.sign_mask()) != 0;
  if (format.is_nan(code)) return {Kind::Nan, false, 0, 0};
  if (format.is_infinite(code)) return {Kind::Infinite, negative, 0, 0};
  const Bits magnitude = code & format.magnitude_mask();
  const Bits fraction = magnitude & ((Bits{1} << format.fraction_bits) - 1), implicit = Bits{1} << format.fraction_bits;
  const int biased = static_cast<int>(magnitude >> format.fraction_bits);
  if (!format.has_sign) return {Kind::Finite, false, biased - format.bias, 1};
  if (magnitude == 0) return {Kind::Zero, negative, 0, 0};
  if (biased == 0) return {Kind::Finite, negative, format.min_exponent() - format.fraction_bits, fraction};
  return {Kind::Finite, negative, biased - format.bias - format.fraction_bits, fraction | implicit};
}

Bits zero(const FloatFormat& format, bool negative) {
  if (!format.has_sign) return format.nan_code();
  return negative && format.has_negative_zero() ? format.sign_mask() : 0;
}

Bits overflow(const FloatFormat& format, bool negative) {
  const Bits sign = negative ? format.sign_mask() : 0;
  if (format.has_infinity) return format.infinity_code() | sign;
  return format.nan == FloatFormat::Nan::None ? format.largest_code() | sign : format.nan_code();
}

namespace {

// value / 2^shift as an integer, rounded; shift > 0.
std::uint64_t shift_right(const Real& value, int shift, Rounding rounding) {
  U128 kept = 0;
  int against_half = -1;  // the part shifted out, compared with half a unit
  bool exact = !value.sticky;
  if (shift <= 128) {
    kept = shift == 128 ? 0 : value.significand >> shift;
    const U128 half = U128{1} << (shift - 1), rest = value.significand & (half | (half - 1));
    against_half = rest < half ? -1 : rest > half || value.sticky ? 1 : 0;
    exact = exact && rest == 0;
  } else {
    exact = false;
  }
  bool up = false;
  switch (rounding) {
    case Rounding::HalfEven: up = against_half > 0 || (against_half == 0 && (kept & 1) != 0); break;
    case Rounding::Up: up = !exact; break;
    case Rounding::Down: break;
  }
  return static_cast<std::uint64_t>(kept) + (up ? 1 : 0);
}

}  // namespace

Bits round(const FloatFormat& format, const Real& value, Rounding rounding, bool saturate) {
  const Bits below_range = saturate ? 0 : format.nan_code();  // of F8E8M0: no zero, no negative numbers
  if (value.significand == 0) return format.has_sign ? zero(format, value.negative) : below_range;
  if (!format.has_sign && value.negative) return below_range;

  const Bits out_of_range = saturate ? largest(format, value.negative) : overflow(format, value.negative);
  const int exponent = value.exponent + length(value.significand) - 1;
  if (exponent > format.max_exponent() + 1) return out_of_range;

  // The unit of the last place that is kept, and the significand in it.
  const int least_unit = format.min_exponent() - format.fraction_bits;
  const int unit = format.has_sign ? std::max(exponent - format.fraction_bits, least_unit) : exponent;
  const int shift = unit - value.exponent;
  ensure(shift > 1 || !value.sticky, "too few bits to round");
  const std::uint64_t kept = shift > 0 ? shift_right(value, shift, rounding)
                                       : static_cast<std::uint64_t>(value.significand) << -shift;

  if (!format.has_sign) {
    const int power = unit + (kept == 2 ? 1 : 0) - format.min_exponent();
    if (power < 0) return below_range;
    return static_cast<Bits>(power) > format.largest_code() ? out_of_range : static_cast<Bits>(power);
  }
  // The implicit bit, and a carry out of the significand, add into the exponent field.
  const Bits code = (static_cast<Bits>(unit - least_unit) << format.fraction_bits) + kept;
  if (code > format.largest_code()) return out_of_range;
  if (code == 0) return zero(format, value.negative);
  return code | (value.negative ? format.sign_mask() : 0);
}

Integral to_integral(std::uint64_t significand, int exponent, ToIntegral rounding) {
  const int shift = -exponent;
  const std::uint64_t whole = shift < 64 ? significand >> shift : 0;
  const std::uint64_t rest = shift < 64 ? significand & ((std::uint64_t{1} << shift) - 1) : significand;
  if (rest == 0) return {whole, true};
  bool up = rounding == ToIntegral::Away;
  if (rounding == ToIntegral::HalfEven && shift <= 64) {
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    up = rest > half || (rest == half && (whole & 1) != 0);
  }
  return {whole + (up ? 1 : 0), false};
}

}  // namespace ulpian::bits
