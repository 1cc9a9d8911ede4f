#include "spec/numbers/exact.h"

#include <gmp.h>

#include <algorithm>
#include <bit>

#include "spec/numbers/exact_big.h"
#include "spec/numbers/rounding.h"

namespace ulpian {

using Rational = std::shared_ptr<Exact::Big>;

// ---- making ----------------------------------------------------------------------------------------------------------------------------

Rational Exact::Big::of(const Exact& a) {
  Rational r = std::make_shared<Big>();
  if (a.kind_ == Kind::Big) mpq_set(r->value, a.big_->value);
  else mpq_set_si(r->value, a.small_, 1);
  return r;
}

Exact Exact::Big::finish(const Rational& r) {
  mpz_srcptr numerator = mpq_numref(r->value), denominator = mpq_denref(r->value);
  if (mpz_cmp_ui(denominator, 1) == 0 && mpz_fits_slong_p(numerator)) return Exact(std::int64_t{mpz_get_si(numerator)});
  if (mpz_sizeinbase(numerator, 2) + mpz_sizeinbase(denominator, 2) > static_cast<std::size_t>(ExactBitLimit))
    throw ExactTooLarge("a number of more than " + std::to_string(ExactBitLimit) + " bits");
  Exact result;
  result.kind_ = Kind::Big;
  result.big_ = r;
  return result;
}

Exact Exact::ratio(std::int64_t numerator, std::int64_t denominator) { return Exact(numerator) / Exact(denominator); }

Exact Exact::infinity(bool negative) {
  Exact result;
  result.kind_ = Kind::Infinite;
  result.negative_ = negative;
  return result;
}

Exact Exact::nan() {
  Exact result;
  result.kind_ = Kind::Nan;
  return result;
}

Exact Exact::negative_zero() {
  Exact result;
  result.kind_ = Kind::NegativeZero;
  return result;
}

Exact Exact::power_of_two(int exponent) {
  if (exponent > ExactBitLimit || exponent < -ExactBitLimit) throw ExactTooLarge("2 to the power " + std::to_string(exponent));
  Rational r = Big::of(Exact(1));
  if (exponent >= 0) mpq_mul_2exp(r->value, r->value, static_cast<mp_bitcnt_t>(exponent));
  else mpq_div_2exp(r->value, r->value, static_cast<mp_bitcnt_t>(-exponent));
  return Big::finish(r);
}

Exact Exact::of(ElementType type, Bits bits) {
  if (!is_float(type)) {
    if (type != ElementType::U64 || bits <= static_cast<Bits>(INT64_MAX)) return Exact(ulpian::to_int64(type, bits));
    Rational r = std::make_shared<Big>();
    mpq_set_ui(r->value, bits, 1);
    return Big::finish(r);
  }
  const bits::Unpacked a = bits::unpack(format_of(type), bits);
  switch (a.kind) {
    case bits::Kind::Nan: return nan();
    case bits::Kind::Infinite: return infinity(a.negative);
    case bits::Kind::Zero: return a.negative ? negative_zero() : Exact();
    case bits::Kind::Finite: break;
  }
  // Lowest terms by shifting alone: most exact numbers begin here.
  const int twos = a.exponent < 0 ? std::min(std::countr_zero(a.significand), -a.exponent) : 0;
  const auto odd = static_cast<std::int64_t>(a.significand >> twos);
  const int exponent = a.exponent + twos;
  Rational r = std::make_shared<Big>();
  mpz_set_si(mpq_numref(r->value), a.negative ? -odd : odd);
  if (exponent >= 0) mpz_mul_2exp(mpq_numref(r->value), mpq_numref(r->value), static_cast<mp_bitcnt_t>(exponent));
  else mpz_mul_2exp(mpq_denref(r->value), mpq_denref(r->value), static_cast<mp_bitcnt_t>(-exponent));
  return Big::finish(r);
}

Exact Exact::of_double(double value) { return of(ElementType::F64, std::bit_cast<Bits>(value)); }

// ---- asking ----------------------------------------------------------------------------------------------------------------------------

bool Exact::is_integer() const {
  return kind_ == Kind::Small || kind_ == Kind::NegativeZero || (kind_ == Kind::Big && mpz_cmp_ui(mpq_denref(big_->value), 1) == 0);
}

bool Exact::is_negative() const {
  switch (kind_) {
    case Kind::Small: return small_ < 0;
    case Kind::NegativeZero: return true;
    case Kind::Big: return mpq_sgn(big_->value) < 0;
    case Kind::Infinite: return negative_;
    case Kind::Nan: return false;
  }
  return false;
}

bool Exact::is_zero() const { return kind_ == Kind::NegativeZero || (kind_ == Kind::Small && small_ == 0); }

std::optional<std::int64_t> Exact::to_int64() const {
  if (kind_ == Kind::Small) return small_;
  if (kind_ == Kind::NegativeZero) return 0;
  return std::nullopt;
}

std::size_t Exact::bits() const {
  return kind_ == Kind::Big ? mpz_sizeinbase(mpq_numref(big_->value), 2) + mpz_sizeinbase(mpq_denref(big_->value), 2) : 64;
}

std::size_t Exact::hash() const {
  std::size_t h = static_cast<std::size_t>(kind_) * 2 + (negative_ ? 1 : 0);
  const auto mix = [&h](std::uint64_t word) { h = (h ^ word) * 0x9e3779b97f4a7c15u + (h >> 29); };
  mix(static_cast<std::uint64_t>(small_));
  if (kind_ == Kind::Big) {
    mix(mpq_sgn(big_->value) < 0 ? 1 : 0);
    for (mpz_srcptr part : {mpq_numref(big_->value), mpq_denref(big_->value)})
      for (std::size_t i = 0; i < mpz_size(part); ++i) mix(mpz_getlimbn(part, static_cast<mp_size_t>(i)));
  }
  return h;
}

std::partial_ordering operator<=>(const Exact& a, const Exact& b) {
  using Kind = Exact::Kind;
  if (a.is_nan() || b.is_nan()) return std::partial_ordering::unordered;
  if (a.is_infinite() || b.is_infinite()) {
    const auto rank = [](const Exact& x) { return !x.is_infinite() ? 0 : x.negative_ ? -1 : 1; };
    return rank(a) <=> rank(b);
  }
  // The small_ of a negative zero is 0.
  if (a.kind_ != Kind::Big && b.kind_ != Kind::Big) return a.small_ <=> b.small_;
  if (a.kind_ == Kind::Big && b.kind_ == Kind::Big) return mpq_cmp(a.big_->value, b.big_->value) <=> 0;
  if (a.kind_ == Kind::Big) return mpq_cmp_si(a.big_->value, b.small_, 1) <=> 0;
  return 0 <=> mpq_cmp_si(b.big_->value, a.small_, 1);
}

bool operator==(const Exact& a, const Exact& b) { return (a <=> b) == 0; }

// ---- arithmetic ------------------------------------------------------------------------------------------------------------------------

namespace {
Exact signed_zero(bool negative) { return negative ? Exact::negative_zero() : Exact(); }
}  // namespace

Exact operator+(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return Exact::nan();
  if (a.is_infinite()) return b.is_infinite() && a.negative_ != b.negative_ ? Exact::nan() : a;
  if (b.is_infinite()) return b;
  if (a.is_negative_zero()) return b;
  if (b.is_negative_zero()) return a;
  std::int64_t sum = 0;
  if (a.kind_ == Exact::Kind::Small && b.kind_ == Exact::Kind::Small && !__builtin_add_overflow(a.small_, b.small_, &sum)) return Exact(sum);
  const Rational x = Exact::Big::of(a), y = Exact::Big::of(b);
  mpq_add(x->value, x->value, y->value);
  return Exact::Big::finish(x);
}

Exact operator-(const Exact& a, const Exact& b) { return a + -b; }

Exact operator*(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return Exact::nan();
  const bool negative = a.is_negative() != b.is_negative();
  if (a.is_infinite() || b.is_infinite()) return a.is_zero() || b.is_zero() ? Exact::nan() : Exact::infinity(negative);
  if (a.is_zero() || b.is_zero()) return signed_zero(negative);
  std::int64_t product = 0;
  if (a.kind_ == Exact::Kind::Small && b.kind_ == Exact::Kind::Small && !__builtin_mul_overflow(a.small_, b.small_, &product))
    return Exact(product);
  const Rational x = Exact::Big::of(a), y = Exact::Big::of(b);
  mpq_mul(x->value, x->value, y->value);
  return Exact::Big::finish(x);
}

Exact operator/(const Exact& a, const Exact& b) {
  if (a.is_nan() || b.is_nan()) return Exact::nan();
  const bool negative = a.is_negative() != b.is_negative();
  if (a.is_infinite()) return b.is_infinite() ? Exact::nan() : Exact::infinity(negative);
  if (b.is_zero()) return a.is_zero() ? Exact::nan() : Exact::infinity(negative);
  if (a.is_zero() || b.is_infinite()) return signed_zero(negative);
  if (a.kind_ == Exact::Kind::Small && b.kind_ == Exact::Kind::Small && b.small_ > 0 && a.small_ % b.small_ == 0)
    return Exact(a.small_ / b.small_);
  const Rational x = Exact::Big::of(a), y = Exact::Big::of(b);
  mpq_div(x->value, x->value, y->value);
  return Exact::Big::finish(x);
}

Exact Exact::operator-() const {
  switch (kind_) {
    case Kind::Nan: return *this;
    case Kind::Infinite: return infinity(!negative_);
    case Kind::NegativeZero: return Exact();
    case Kind::Small:
      if (small_ == 0) return negative_zero();
      if (small_ != INT64_MIN) return Exact(-small_);
      break;
    case Kind::Big: break;
  }
  const Rational r = Big::of(*this);
  mpq_neg(r->value, r->value);
  return Big::finish(r);
}

Exact Exact::absolute() const { return is_negative() ? -*this : *this; }

// ---- to integers -----------------------------------------------------------------------------------------------------------------------

Exact Exact::Big::integral(const Exact& a, void (*divide)(mpz_ptr, mpz_srcptr, mpz_srcptr)) {
  if (a.kind_ != Kind::Big || a.is_integer()) return a;
  const Rational r = std::make_shared<Big>();
  divide(mpq_numref(r->value), mpq_numref(a.big_->value), mpq_denref(a.big_->value));
  const Exact result = finish(r);
  return result.is_zero() && a.is_negative() ? negative_zero() : result;
}

Exact Exact::floor() const { return Big::integral(*this, mpz_fdiv_q); }
Exact Exact::ceiling() const { return Big::integral(*this, mpz_cdiv_q); }
Exact Exact::truncate() const { return Big::integral(*this, mpz_tdiv_q); }

Exact Exact::round_even() const {
  if (kind_ != Kind::Big || is_integer()) return *this;
  const Exact whole = absolute().floor(), rest = absolute() - whole, half = ratio(1, 2);
  const bool is_odd = !(whole / Exact(2)).is_integer();
  const Exact magnitude = rest > half || (rest == half && is_odd) ? whole + Exact(1) : whole;
  return is_negative() ? -magnitude : magnitude;
}

Exact Exact::floor_divide(const Exact& a, const Exact& b) {
  ensure(a.is_finite() && b.is_finite() && !b.is_zero(), a.to_string() + " div " + b.to_string());
  if (a.is_zero()) return Exact();
  if (a.kind_ == Kind::Small && b.kind_ == Kind::Small && b.small_ != -1) {
    const std::int64_t quotient = a.small_ / b.small_;
    return Exact((a.small_ % b.small_ != 0 && (a.small_ < 0) != (b.small_ < 0)) ? quotient - 1 : quotient);
  }
  return (a / b).floor();
}

Exact Exact::modulo(const Exact& a, const Exact& b) {
  const Exact rest = a - b * floor_divide(a, b);
  return rest.is_zero() ? Exact() : rest;
}

std::optional<Exact> Exact::power(const Exact& base, const Exact& exponent) {
  const std::optional<std::int64_t> n = exponent.to_int64();
  if (!n || *n > 4096 || *n < -4096) return std::nullopt;
  Exact result(1), square = base;
  for (std::int64_t left = std::abs(*n); left > 0; left >>= 1) {
    if ((left & 1) != 0) result = result * square;
    if (left > 1) square = square * square;
  }
  return *n < 0 ? Exact(1) / result : result;
}

std::optional<Exact> Exact::exact_root(unsigned n) const {
  if (is_nan() || is_zero()) return *this;
  if (is_negative() && n % 2 == 0) return std::nullopt;
  if (is_infinite()) return *this;
  const Rational r = Big::of(*this);
  for (mpz_ptr part : {mpq_numref(r->value), mpq_denref(r->value)})
    if (mpz_root(part, part, n) == 0) return std::nullopt;
  return Big::finish(r);
}

// ---- rounding --------------------------------------------------------------------------------------------------------------------------

namespace {

bits::Rounding rounding_of(CastMode mode) {
  if (mode == CastMode::Up || mode == CastMode::SaturateUp) return bits::Rounding::Up;
  if (mode == CastMode::Down || mode == CastMode::SaturateDown) return bits::Rounding::Down;
  return bits::Rounding::HalfEven;
}

bool saturates(CastMode mode) {
  return mode == CastMode::Saturate || (mode >= CastMode::SaturateUp && mode <= CastMode::SaturateNearest);
}

// 96 or 97 bits of |a|, and whether there are more.
bits::Real leading_bits(mpq_srcptr a) {
  mpz_t numerator, denominator, quotient, rest;
  mpz_inits(numerator, denominator, quotient, rest, nullptr);
  mpz_abs(numerator, mpq_numref(a));
  mpz_set(denominator, mpq_denref(a));
  const auto bits_of_number = [](mpz_srcptr x) { return static_cast<int>(mpz_sizeinbase(x, 2)); };
  const int lift = 97 - (bits_of_number(numerator) - bits_of_number(denominator));
  if (lift >= 0) mpz_mul_2exp(numerator, numerator, static_cast<mp_bitcnt_t>(lift));
  else mpz_mul_2exp(denominator, denominator, static_cast<mp_bitcnt_t>(-lift));
  mpz_tdiv_qr(quotient, rest, numerator, denominator);
  const bits::U128 significand = (bits::U128{mpz_getlimbn(quotient, 1)} << 64) | mpz_getlimbn(quotient, 0);
  const bits::Real real{mpq_sgn(a) < 0, -lift, significand, mpz_sgn(rest) != 0};
  mpz_clears(numerator, denominator, quotient, rest, nullptr);
  return real;
}

}  // namespace

Bits Exact::round_to(ElementType type, CastMode mode) const {
  if (type == ElementType::Bool) return is_zero() ? 0 : 1;
  if (is_float(type)) {
    if (is_finite() && !is_zero()) return bits::round(format_of(type), leading_bits(Big::of(*this)->value), rounding_of(mode), saturates(mode));
    // Through f64, which has them all: zeros, infinities, NaN.
    const FloatFormat& f64 = format_of(ElementType::F64);
    const Bits special = is_nan() ? f64.nan_code() : is_zero() ? bits::zero(f64, is_negative()) : bits::overflow(f64, is_negative());
    return convert(ElementType::F64, type, special, mode);
  }
  if (is_nan()) return 0;
  const Exact whole = mode == CastMode::Exact ? round_even() : truncate();
  const Exact low = of(type, lowest_finite(type)), high = of(type, largest_finite(type));
  if (whole <= low) return lowest_finite(type);
  if (whole >= high) return largest_finite(type);
  if (const std::optional<std::int64_t> small = whole.to_int64()) return from_int64(type, *small);
  return mpz_get_ui(mpq_numref(whole.big_->value));  // U64 beyond the signed range
}

std::optional<Bits> Exact::to_bits(ElementType type) const {
  const Bits rounded = round_to(type, CastMode::Exact);
  if (!ulpian::is_float(type)) {
    if (!is_integer() || of(type, rounded) != *this) return std::nullopt;
    return rounded;
  }
  const FloatFormat& format = format_of(type);
  if (is_nan()) return has_nan(type) ? std::optional(rounded) : std::nullopt;
  if (ulpian::is_nan(type, rounded) || (is_infinite() && !has_infinity(type))) return std::nullopt;
  // f4e2m1 answers its largest value for everything beyond it.
  if (format.nan == FloatFormat::Nan::None && absolute() >= of(type, format.largest_code()) + ratio(1, 1)) return std::nullopt;
  return rounded;
}

double Exact::to_double() const { return std::bit_cast<double>(round_to(ElementType::F64, CastMode::Exact)); }

}  // namespace ulpian
