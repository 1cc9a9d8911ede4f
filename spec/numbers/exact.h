// The numbers of the static stage: exact rationals, with the infinities, NaN and a negative zero besides.
// `1e-5`, `lowest(f64)`, `D[0] / 2` are such numbers; they round once, where they meet an element type.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "spec/numbers/arithmetic.h"

namespace ulpian {

// Thrown where a result would need more than `ExactBitLimit` bits (hostile specifications square numbers in a loop): a mistake of the
// user's, which whoever evaluates their text turns into a Diagnostic.
class ExactTooLarge : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};
inline constexpr int ExactBitLimit = 1 << 20;

class Exact {
public:
  struct Big;  // opaque: a GMP rational, shared and immutable
  Exact() = default;  // 0
  Exact(std::int64_t value) : small_(value) {}  // NOLINT: integers are exact numbers
  static Exact ratio(std::int64_t numerator, std::int64_t denominator);
  static Exact infinity(bool negative);
  static Exact nan();
  static Exact negative_zero();
  // Decimal ("12", "0.5", "1e-05", "1.5e300") or hexadecimal integer ("0x1F") text, without sign; empty if it is not one, or if its
  // exponent exceeds 10000 in magnitude or it has more than 10000 digits (hostile input).
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

  // To integers; a zero keeps the sign, as in IEEE 754.
  Exact floor() const;
  Exact ceiling() const;
  Exact round_even() const;
  Exact truncate() const;
  // Finite a, b; b != 0. As on Z: a zero has no sign.
  static Exact floor_divide(const Exact& a, const Exact& b);  // floor(a / b)
  static Exact modulo(const Exact& a, const Exact& b);        // a - b * floor(a / b)
  // An integral exponent of magnitude <= 4096, else empty. Anything to the power 0 is 1.
  static std::optional<Exact> power(const Exact& base, const Exact& exponent);
  // The n-th root where it is rational, else empty; of a negative number for odd n alone. n > 0.
  std::optional<Exact> exact_root(unsigned n) const;

  // Rounded once (half to even) to a float type; to an integer type or bool only if integral and in range. Empty where the type has no
  // such value: NaN, an infinity, or what lies beyond the largest value of a type without infinity; zero and less of F8E8M0.
  std::optional<Bits> to_bits(ElementType type) const;
  // As `convert` would, from the reals: `mode` decides what happens out of range. To an integer type: Exact rounds half to even, the
  // other modes truncate; all are held to its limits.
  Bits round_to(ElementType type, CastMode mode = CastMode::Exact) const;

  std::string to_string() const;  // "3", "-0", "1/3", "inf", "nan"; decimals where they are exact and short; "3 * 2^-149"
  std::size_t hash() const;       // equal numbers of equal sign hash alike
  std::size_t bits() const;       // that numerator and denominator take: what arithmetic costs

private:
  enum class Kind : std::uint8_t { Small, NegativeZero, Big, Infinite, Nan };
  Kind kind_ = Kind::Small;
  bool negative_ = false;  // of an infinity
  std::int64_t small_ = 0;
  std::shared_ptr<const Big> big_;
};

}  // namespace ulpian
