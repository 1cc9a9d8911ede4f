// For tests: what MPFR says of arithmetic in a small format. It shares no code with the implementation: the formats are written down again
// from their documents, codes are decoded by ldexp, and rounding is MPFR's at the target's precision, with mpfr_subnormalize.
#pragma once

#include <gmp.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "spec/numbers/arithmetic.h"

namespace ulpian::oracle {

struct Format {
  ElementType type;
  int width, fraction, bias;
  double largest;
  bool infinity, negative_zero;
  Bits nan;        // the canonical one; 0: none
};
inline constexpr Format Formats[] = {
    {ElementType::F4E2M1, 4, 1, 1, 6, false, true, 0},
    {ElementType::F6E2M3, 6, 3, 1, 7.5, false, true, 0},
    {ElementType::F6E3M2, 6, 2, 3, 28, false, true, 0},
    {ElementType::F8E4M3FN, 8, 3, 7, 448, false, true, 0x7f},
    {ElementType::F8E4M3FNUZ, 8, 3, 8, 240, false, false, 0x80},
    {ElementType::F8E5M2, 8, 2, 15, 57344, true, true, 0x7e},
    {ElementType::F8E5M2FNUZ, 8, 2, 16, 57344, false, false, 0x80},
    {ElementType::F8E8M0, 8, 0, 127, 0x1p127, false, false, 0xff},
    {ElementType::F16, 16, 10, 15, 65504, true, true, 0x7e00},
    {ElementType::BF16, 16, 7, 127, 0x1.fep127, true, true, 0x7fc0},
    {ElementType::F32, 32, 23, 127, 0x1.fffffep127, true, true, 0x7fc00000},
    {ElementType::F64, 64, 52, 1023, std::numeric_limits<double>::max(), true, true, 0x7ff8000000000000},
};
inline const Format& format(ElementType type) {
  for (const Format& f : Formats)
    if (f.type == type) return f;
  std::abort();
}

inline double decode(const Format& f, Bits code) {
  if (f.type == ElementType::F64) return std::bit_cast<double>(code);
  if (f.type == ElementType::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  if (f.type == ElementType::F8E8M0) return code == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(code) - 127);
  if (f.nan != 0 && code == f.nan) return std::nan("");
  const Bits sign = Bits{1} << (f.width - 1), magnitude = code & (sign - 1);
  const int exponent = static_cast<int>(magnitude >> f.fraction);
  const double fraction = static_cast<double>(magnitude & ((Bits{1} << f.fraction) - 1)) / static_cast<double>(Bits{1} << f.fraction);
  double value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, exponent - f.bias);
  if (value > f.largest) value = f.infinity && fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return (code & sign) != 0 ? -value : value;
}

// A number of MPFR that frees itself.
class Number {
public:
  explicit Number(int precision = 128) { mpfr_init2(value_, precision); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }
  mpfr_ptr operator->() { return value_; }  // for macros of mpfr.h

private:
  mpfr_t value_;
};

enum class ScaleRounding { Nearest, Up, Down };

// What a code must stand for: a value and, for zero, its sign; NaN where there is nothing else.
inline double out_of_range(const Format& f, bool negative, bool saturate) {
  if (f.type == ElementType::F8E8M0) return saturate ? (negative ? 0x1p-127 : f.largest) : std::nan("");
  double value = std::nan("");
  if (saturate || f.nan == 0) value = f.largest;
  else if (f.infinity) value = std::numeric_limits<double>::infinity();
  return negative ? -value : value;
}
inline double nan_of(const Format& f) { return f.nan != 0 ? std::nan("") : f.largest; }

inline double round_to_scale(mpfr_ptr x, ScaleRounding rounding, bool saturate) {
  const Format& f = format(ElementType::F8E8M0);
  const double low = saturate ? 0x1p-127 : std::nan("");
  if (mpfr_nan_p(x)) return std::nan("");
  if (mpfr_inf_p(x)) return out_of_range(f, mpfr_signbit(x) != 0, saturate);
  if (mpfr_sgn(x) <= 0) return low;
  long exponent = mpfr_get_exp(x) - 1;  // 2^exponent <= x
  Number middle(256);
  mpfr_set_ui_2exp(middle, rounding == ScaleRounding::Nearest ? 3 : 2, exponent - 1, MPFR_RNDN);
  const int order = mpfr_cmp(x, middle);
  if (rounding == ScaleRounding::Nearest ? order >= 0 : rounding == ScaleRounding::Up && order > 0) ++exponent;
  if (exponent < -127) return low;
  return exponent > 127 ? out_of_range(f, false, saturate) : std::ldexp(1.0, static_cast<int>(exponent));
}

// Computes with `operation(result)`, an MPFR call that returns its ternary value, as if in format f.
template <class Operation> double rounded(const Format& f, Operation operation, bool saturate = false) {
  if (f.type == ElementType::F8E8M0) {
    Number wide(600);  // the exact result of + - * and of conversions; 600 bits of the others, which have no ties there
    operation(wide);
    return round_to_scale(wide, ScaleRounding::Nearest, saturate);
  }
  const mpfr_exp_t old_low = mpfr_get_emin(), old_high = mpfr_get_emax();
  Number y(f.fraction + 1);
  mpfr_set_emin(1 - f.bias - f.fraction + 1);
  mpfr_set_emax(1100);  // the top is not uniform among formats: below
  int ternary = operation(y);
  ternary = mpfr_check_range(y, ternary, MPFR_RNDN);
  mpfr_subnormalize(y, ternary, MPFR_RNDN);
  mpfr_set_emin(old_low);
  mpfr_set_emax(old_high);
  if (mpfr_nan_p(y)) return nan_of(f);
  double value = mpfr_get_d(y, MPFR_RNDN);
  if (std::abs(value) > f.largest) value = out_of_range(f, mpfr_signbit(y) != 0, saturate);
  return value == 0 && !f.negative_zero ? 0.0 : value;
}

inline void set(mpfr_ptr x, double value) { mpfr_set_d(x, value, MPFR_RNDN); }

// Does the code stand for the value? NaN must be canonical.
inline bool stands_for(const Format& f, Bits code, double value) {
  if (std::isnan(value)) return code == f.nan;
  const double got = decode(f, code);
  return got == value && std::signbit(got) == std::signbit(value) && code >> (f.width - 1) >> 1 == 0;
}

// The boundary grid of a format: zeros, ends of the subnormal and normal ranges, 1 and 2^k with their neighbours, halves and ties.
inline std::vector<Bits> grid(ElementType type) {
  const Format& f = format(type);
  std::vector<Bits> codes;
  const Bits sign = Bits{1} << (f.width - 1), one = Bits{static_cast<Bits>(f.bias)} << f.fraction, unit = Bits{1} << f.fraction;
  const auto around = [&](Bits code) {
    for (Bits d : {Bits{0}, Bits{1}, ~Bits{0}})
      if ((code + d) < sign) codes.push_back(code + d), codes.push_back((code + d) | sign);
  };
  around(0);
  around(unit);          // the least normal
  around(unit / 2);
  around(one);
  around(one + unit / 2);  // 1.5
  around(one + unit);
  around(one - unit);      // 0.5
  around(one + 2 * unit + unit / 4);  // 5, 2.5
  around(one + static_cast<Bits>(f.fraction) * unit);
  around(one + static_cast<Bits>(f.fraction + 1) * unit);
  around(one - static_cast<Bits>(f.fraction + 1) * unit);
  around(one / 2);
  around(one + one / 2);
  around(sign - unit);     // infinity's place
  around(sign - 1);
  return codes;
}

}  // namespace ulpian::oracle
