// The numbers of the static stage: exact rationals, with the infinities, NaN and a negative zero besides.
// `1e-5`, `lowest(f64)`, `D[0] / 2` are such numbers; they round once, where they meet an element type.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "spec/numbers/arithmetic.h"

namespace ulpian {

class Exact {
public:
  Exact() = default;  // 0
  Exact(std::int64_t value) : small_(value) {}  // NOLINT: integers are exact numbers
  static Exact ratio(std::int64_t numerator, std::int64_t denominator);
  static Exact infinity(bool negative);
  static Exact nan();
  static Exact negative_zero();
  // Decimal ("12", "0.5", "1e-05", "1.5e300") or hexadecimal integer ("0x1F") text, without sign; empty if it is not one, or if its
  // exponent exceeds 10000 in magnitude (hostile input).
  static std::optional<Exact> parse(std::string_view text);
  static Exact power_of_two(int exponent);
  // The value of a float, integer or bool element.
  static Exact of(ElementType type, Bits bits);
  static Exact of_double(double value);

  bool is_nan() const { return kind_ == Kind::Nan; }
  bool is_infinite() const { return kind_ == Kind::Infinite; }
  bool is_finite() const { return kind_ <= Kind::Big; }
  bool is_integer() const;                           // finite and integral; -0 is
  bool is_negative() const;                          // sign bit: -0 and -infinity are; NaN is not
  bool is_zero() const;                              // of either sign
  bool is_negative_zero() const { return kind_ == Kind::NegativeZero; }
  std::optional<std::int64_t> to_int64() const;      // if integral and in range
  double to_double() const;                          // rounded once, half to even

  // IEEE 754's rules for infinities, NaN and signed zeros; x / 0 is an infinity or NaN.
  friend Exact operator+(const Exact& a, const Exact& b);
  friend Exact operator-(const Exact& a, const Exact& b);
  friend Exact operator*(const Exact& a, const Exact& b);
  friend Exact operator/(const Exact& a, const Exact& b);
  Exact operator-() const;
  Exact absolute() const;
  // NaN is unordered; -0 equals 0.
  friend std::partial_ordering operator<=>(const Exact& a, const Exact& b);
  friend bool operator==(const Exact& a, const Exact& b);

  Exact floor() const;
  Exact ceiling() const;
  Exact round_even() const;
  Exact truncate() const;
  static Exact floor_divide(const Exact& a, const Exact& b);  // b != 0; floor(a / b)
  static Exact modulo(const Exact& a, const Exact& b);        // b != 0; a - b * floor(a / b)
  // An integral exponent of magnitude <= 4096, else empty.
  static std::optional<Exact> power(const Exact& base, const Exact& exponent);
  // The square root where it is rational, else empty.
  std::optional<Exact> exact_square_root() const;

  // Rounded once (half to even) to a float type; to an integer type only if integral and in range. Empty otherwise.
  std::optional<Bits> to_bits(ElementType type) const;
  // As `convert` would, from the reals: `mode` decides what happens out of range.
  Bits round_to(ElementType type, CastMode mode = CastMode::Exact) const;

  std::string to_string() const;  // "3", "-0", "1/3", "inf", "nan"; decimals where they are exact and short
  std::size_t hash() const;       // equal numbers of equal sign hash alike

private:
  struct Big;  // a GMP rational, shared and immutable
  enum class Kind : std::uint8_t { Small, NegativeZero, Big, Infinite, Nan };
  Kind kind_ = Kind::Small;
  bool negative_ = false;  // of an infinity
  std::int64_t small_ = 0;
  std::shared_ptr<const struct Big> big_;
};

}  // namespace ulpian
