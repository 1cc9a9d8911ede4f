#include "spec/numbers/float_arithmetic.h"

#include <algorithm>
#include <utility>

#include "spec/numbers/rounding.h"

namespace ulpian::bits {
namespace {

// 256 bits, as much as a sum of a product and a number of 53 bits needs without loss where it may cancel.
struct Wide {
  U128 high, low;
};

Wide shift_left(Wide a, int n) {
  if (n == 0) return a;
  if (n >= 128) return {n == 128 ? a.low : n < 256 ? a.low << (n - 128) : 0, 0};
  return {(a.high << n) | (a.low >> (128 - n)), a.low << n};
}
// What is shifted out leaves a mark in the last bit.
Wide shift_right_jam(Wide a, int n) {
  if (n == 0) return a;
  if (n >= 256) return {0, (a.high | a.low) != 0 ? U128{1} : 0};
  Wide kept{};
  bool lost = false;
  if (n >= 128) {
    const int m = n - 128;
    kept = {0, m == 0 ? a.high : a.high >> m};
    lost = a.low != 0 || (m != 0 && (a.high << (128 - m)) != 0);
  } else {
    kept = {a.high >> n, (a.high << (128 - n)) | (a.low >> n)};
    lost = (a.low << (128 - n)) != 0;
  }
  kept.low |= lost ? 1 : 0;
  return kept;
}
bool less(const Wide& a, const Wide& b) { return a.high != b.high ? a.high < b.high : a.low < b.low; }
Wide plus(const Wide& a, const Wide& b) {
  const U128 low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}
Wide minus(const Wide& a, const Wide& b) { return {a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low}; }

// The sum of two finite numbers other than zero, rounded once.
Bits sum(const FloatFormat& format, Real a, Real b) {
  // `a` is the one whose leading bit stands higher; it is brought to bit 254, with one place left for the carry.
  if (a.exponent + length(a.significand) < b.exponent + length(b.significand)) std::swap(a, b);
  constexpr int Top = 254;
  const int lift = Top - (length(a.significand) - 1), unit = a.exponent - lift;
  const Wide x = shift_left({0, a.significand}, lift);
  const int offset = b.exponent - unit;
  const Wide y = offset >= 0 ? shift_left({0, b.significand}, offset) : shift_right_jam({0, b.significand}, -offset);
  bool negative = a.negative;
  Wide z{};
  if (a.negative == b.negative) {
    z = plus(x, y);
  } else if (less(x, y)) {
    z = minus(y, x);
    negative = b.negative;
  } else {
    z = minus(x, y);
  }
  if (z.high == 0 && z.low == 0) return zero(format, false);
  // 128 bits and a sticky one are plenty for the rounding.
  if (z.high == 0) return round(format, {negative, unit, z.low});
  const int down = length(z.high);
  const Wide w = shift_right_jam(z, down);
  return round(format, {negative, unit + down + 1, w.low >> 1, (w.low & 1) != 0});
}

Bits nan(const FloatFormat& format) { return format.nan_code(); }

Real real(const Unpacked& a) { return {a.negative, a.exponent, a.significand}; }

// The significand with its leading bit at place `bit`.
std::pair<U128, int> normalised(const Unpacked& a, int bit) {
  const int lift = bit - (length(a.significand) - 1);
  return {U128{a.significand} << lift, a.exponent - lift};
}

}  // namespace

Bits add(const FloatFormat& format, Bits a, Bits b) {
  const Unpacked x = unpack(format, a), y = unpack(format, b);
  if (x.kind == Kind::Nan || y.kind == Kind::Nan) return nan(format);
  if (x.kind == Kind::Infinite) return y.kind == Kind::Infinite && x.negative != y.negative ? nan(format) : a;
  if (y.kind == Kind::Infinite) return b;
  if (x.kind == Kind::Zero && y.kind == Kind::Zero) return zero(format, x.negative && y.negative);
  if (x.kind == Kind::Zero) return b;
  if (y.kind == Kind::Zero) return a;
  return sum(format, real(x), real(y));
}

Bits subtract(const FloatFormat& format, Bits a, Bits b) {
  if (format.has_sign) return format.is_nan(b) ? nan(format) : add(format, a, negate(format, b));
  const Unpacked x = unpack(format, a), y = unpack(format, b);
  if (x.kind == Kind::Nan || y.kind == Kind::Nan) return nan(format);
  Real minus_y = real(y);
  minus_y.negative = true;
  return sum(format, real(x), minus_y);
}

Bits multiply(const FloatFormat& format, Bits a, Bits b) {
  const Unpacked x = unpack(format, a), y = unpack(format, b);
  if (x.kind == Kind::Nan || y.kind == Kind::Nan) return nan(format);
  const bool negative = x.negative != y.negative;
  const bool has_zero = x.kind == Kind::Zero || y.kind == Kind::Zero;
  if (x.kind == Kind::Infinite || y.kind == Kind::Infinite) return has_zero ? nan(format) : overflow(format, negative);
  if (has_zero) return zero(format, negative);
  return round(format, {negative, x.exponent + y.exponent, U128{x.significand} * y.significand});
}

Bits divide(const FloatFormat& format, Bits a, Bits b) {
  const Unpacked x = unpack(format, a), y = unpack(format, b);
  if (x.kind == Kind::Nan || y.kind == Kind::Nan) return nan(format);
  const bool negative = x.negative != y.negative;
  if (x.kind == Kind::Infinite) return y.kind == Kind::Infinite ? nan(format) : overflow(format, negative);
  if (y.kind == Kind::Infinite) return zero(format, negative);
  if (y.kind == Kind::Zero) return x.kind == Kind::Zero ? nan(format) : overflow(format, negative);
  if (x.kind == Kind::Zero) return zero(format, negative);
  // 127 bits over at most 53: a quotient of at least 74.
  const auto [dividend, exponent] = normalised(x, 126);
  const U128 divisor = y.significand, quotient = dividend / divisor;
  return round(format, {negative, exponent - y.exponent, quotient, quotient * divisor != dividend});
}

Bits square_root(const FloatFormat& format, Bits a) {
  const Unpacked x = unpack(format, a);
  if (x.kind == Kind::Nan) return nan(format);
  if (x.kind == Kind::Zero) return a;
  if (x.negative) return nan(format);
  if (x.kind == Kind::Infinite) return a;
  auto [radicand, exponent] = normalised(x, 126);
  if (exponent % 2 != 0) {
    radicand >>= 1;  // the last bits are zeros
    ++exponent;
  }
  // Bit by bit: root is the integer square root of the digits seen so far, rest what remains.
  U128 root = 0, rest = radicand;
  for (U128 bit = U128{1} << 126; bit != 0; bit >>= 2) {
    const U128 trial = root + bit;
    root >>= 1;
    if (rest >= trial) {
      rest -= trial;
      root += bit;
    }
  }
  return round(format, {false, exponent / 2, root, rest != 0});
}

Bits fused_multiply_add(const FloatFormat& format, Bits a, Bits b, Bits c) {
  const Unpacked x = unpack(format, a), y = unpack(format, b), z = unpack(format, c);
  if (x.kind == Kind::Nan || y.kind == Kind::Nan || z.kind == Kind::Nan) return nan(format);
  const bool negative = x.negative != y.negative;
  const bool has_zero = x.kind == Kind::Zero || y.kind == Kind::Zero;
  if (x.kind == Kind::Infinite || y.kind == Kind::Infinite) {
    if (has_zero || (z.kind == Kind::Infinite && z.negative != negative)) return nan(format);
    return overflow(format, negative);
  }
  if (z.kind == Kind::Infinite) return c;
  if (has_zero) return z.kind == Kind::Zero ? zero(format, negative && z.negative) : c;
  const Real product{negative, x.exponent + y.exponent, U128{x.significand} * y.significand};
  if (z.kind == Kind::Zero) return round(format, product);
  return sum(format, product, real(z));
}

Bits remainder(const FloatFormat& format, Bits a, Bits b) {
  const Unpacked x = unpack(format, a), y = unpack(format, b);
  if (x.kind == Kind::Nan || y.kind == Kind::Nan || x.kind == Kind::Infinite || y.kind == Kind::Zero) return nan(format);
  if (x.kind == Kind::Zero || y.kind == Kind::Infinite) return a;
  if (x.exponent < y.exponent) return a;  // b is normal then, and greater in magnitude
  U128 rest = x.significand % y.significand;
  for (int left = x.exponent - y.exponent; left > 0 && rest != 0;) {
    const int step = std::min(left, 64);
    rest = (rest << step) % y.significand;
    left -= step;
  }
  return round(format, {x.negative, y.exponent, rest});
}

Bits modulo(const FloatFormat& format, Bits a, Bits b) {
  const Bits rest = remainder(format, a, b);
  if (format.is_nan(rest)) return rest;
  const Unpacked r = unpack(format, rest), y = unpack(format, b);
  if (r.kind == Kind::Zero) return zero(format, y.negative);
  return r.negative == y.negative ? rest : add(format, rest, b);
}

Bits negate(const FloatFormat& format, Bits a) {
  const Unpacked x = unpack(format, a);
  if (x.kind == Kind::Nan || !format.has_sign) return nan(format);
  if (x.kind == Kind::Zero) return zero(format, !x.negative);
  return a ^ format.sign_mask();
}

Bits absolute(const FloatFormat& format, Bits a) {
  return format.is_nan(a) ? nan(format) : a & ~format.sign_mask();
}

Bits one(const FloatFormat& format) { return round(format, {false, 0, 1}); }

Bits sign(const FloatFormat& format, Bits a) {
  const Unpacked x = unpack(format, a);
  if (x.kind == Kind::Nan) return nan(format);
  return x.kind == Kind::Zero ? a : round(format, {x.negative, 0, 1});
}

Bits integral(const FloatFormat& format, Bits a, Direction direction) {
  const Unpacked x = unpack(format, a);
  if (x.kind == Kind::Nan) return nan(format);
  if (x.kind != Kind::Finite || x.exponent >= 0) return a;
  ToIntegral rounding = ToIntegral::Truncate;
  switch (direction) {
    case Direction::Floor: rounding = x.negative ? ToIntegral::Away : ToIntegral::Truncate; break;
    case Direction::Ceiling: rounding = x.negative ? ToIntegral::Truncate : ToIntegral::Away; break;
    case Direction::HalfEven: rounding = ToIntegral::HalfEven; break;
    case Direction::Truncate: break;
  }
  return round(format, {x.negative, 0, to_integral(x.significand, x.exponent, rounding).quotient});
}

Bits next_after(const FloatFormat& format, Bits a, Bits towards) {
  const int order = compare(format, a, towards);
  if (order == 2) return nan(format);
  if (order == 0) return towards;
  const Bits magnitude = a & format.magnitude_mask(), sign = a & format.sign_mask();
  if (magnitude == 0 && format.has_sign) return 1 | (order > 0 ? format.sign_mask() : 0);
  const bool outwards = (order < 0) == (sign == 0);
  const Bits next = outwards ? magnitude + 1 : magnitude - 1;
  return next == 0 && format.has_sign ? zero(format, sign != 0) : next | sign;
}

int compare(const FloatFormat& format, Bits a, Bits b) {
  if (format.is_nan(a) || format.is_nan(b)) return 2;
  // Codes of one sign are ordered as their values are.
  const auto key = [&](Bits code) {
    const auto magnitude = static_cast<std::int64_t>(code & format.magnitude_mask());
    return (code & format.sign_mask()) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t x = key(a), y = key(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

Bits minimum(const FloatFormat& format, Bits a, Bits b) {
  const int order = compare(format, a, b);
  if (order == 2) return nan(format);
  if (order == 0) return a | (b & format.sign_mask());
  return order < 0 ? a : b;
}

Bits maximum(const FloatFormat& format, Bits a, Bits b) {
  const int order = compare(format, a, b);
  if (order == 2) return nan(format);
  if (order == 0) return a & (b | ~format.sign_mask());
  return order > 0 ? a : b;
}

}  // namespace ulpian::bits
