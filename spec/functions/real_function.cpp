#include "spec/functions/real_function.h"

#include <cstdint>
// After <cstdint>: MPFR then declares its functions on intmax_t.
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>

#include "spec/numbers/ensure.h"

namespace ulpian::real {
namespace {

using P = Primitive;

// MPFR keeps constants per thread; without this they outlive their thread.
struct CacheGuard {
  CacheGuard() = default;
  CacheGuard(const CacheGuard&) = delete;
  CacheGuard& operator=(const CacheGuard&) = delete;
  ~CacheGuard() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
};

class Number {
public:
  explicit Number(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  Number(mpfr_prec_t precision, double value) : Number(precision) { mpfr_set_d(value_, value, MPFR_RNDN); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(value_); }
  operator mpfr_ptr() { return value_; }         // NOLINT: as the C functions take it
  operator mpfr_srcptr() const { return value_; }  // NOLINT

private:
  mpfr_t value_;
};

constexpr int CutBits = 64;

// `value` has CutBits bits and was rounded towards zero; `inexact` if something was cut off.
Cut cut_of(mpfr_srcptr value, bool inexact) {
  Cut cut;
  cut.negative = mpfr_signbit(value) != 0;
  cut.inexact = inexact;
  if (mpfr_nan_p(value)) return Cut{};
  if (mpfr_inf_p(value)) {
    cut.kind = Cut::Kind::Infinite;
  } else if (mpfr_zero_p(value)) {
    cut.kind = inexact ? Cut::Kind::Finite : Cut::Kind::Zero;  // or MPFR's own underflow, as `tiny`
    cut.significand = std::uint64_t{1} << 63;
    cut.exponent = -1000000;
  } else {
    cut.kind = Cut::Kind::Finite;
    Number scaled(CutBits);
    mpfr_mul_2si(scaled, value, CutBits - mpfr_get_exp(value), MPFR_RNDZ);
    mpfr_abs(scaled, scaled, MPFR_RNDZ);
    cut.significand = mpfr_get_uj(scaled, MPFR_RNDZ);
    cut.exponent = mpfr_get_exp(value) - CutBits;
  }
  return cut;
}

// A double, moved towards (or away from) zero by less than any format can see.
Cut beside(double value, bool away_from_zero) {
  Cut cut;
  cut.kind = Cut::Kind::Finite;
  cut.negative = std::signbit(value);
  cut.inexact = true;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  cut.significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53)) << 11;
  cut.exponent = exponent - CutBits;
  if (!away_from_zero) {
    --cut.significand;
    if (cut.significand < (std::uint64_t{1} << 63)) {  // fell below a power of two: all ones, one binade lower
      cut.significand = ~std::uint64_t{0};
      --cut.exponent;
    }
  }
  return cut;
}

// Not zero, but far below every format.
Cut tiny(bool negative) { return Cut{Cut::Kind::Finite, negative, true, std::uint64_t{1} << 63, -1000000}; }
Cut zero(bool negative) { return Cut{Cut::Kind::Zero, negative, false, 0, 0}; }
Cut infinite(bool negative) { return Cut{Cut::Kind::Infinite, negative, false, 0, 0}; }
Cut exactly(double value) {
  Number number(CutBits, value);
  return cut_of(number, false);
}

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// rSqrt of -0 is -inf (IEEE 754-2019, 9.2.1), which MPFR has otherwise.
int reciprocal_root(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) {
  return mpfr_zero_p(x) != 0 ? mpfr_ui_div(r, 1, x, m) : mpfr_rec_sqrt(r, x, m);
}

// Functions that MPFR rounds correctly itself, with the special values of IEEE 754-2019.
Unary unary_of(Primitive primitive) {
  switch (primitive) {
    case P::Exp: return mpfr_exp;
    case P::Exp2: return mpfr_exp2;
    case P::Exp10: return mpfr_exp10;
    case P::CubeRoot: return mpfr_cbrt;
    case P::Expm1: return mpfr_expm1;
    case P::Log: return mpfr_log;
    case P::Log2: return mpfr_log2;
    case P::Log10: return mpfr_log10;
    case P::Log1p: return mpfr_log1p;
    case P::Sin: return mpfr_sin;
    case P::Cos: return mpfr_cos;
    case P::Tan: return mpfr_tan;
    case P::Asin: return mpfr_asin;
    case P::Acos: return mpfr_acos;
    case P::Atan: return mpfr_atan;
    case P::Sinh: return mpfr_sinh;
    case P::Cosh: return mpfr_cosh;
    case P::Tanh: return mpfr_tanh;
    case P::Asinh: return mpfr_asinh;
    case P::Acosh: return mpfr_acosh;
    case P::Atanh: return mpfr_atanh;
    case P::Erf: return mpfr_erf;
    case P::Erfc: return mpfr_erfc;
    case P::ReciprocalRoot: return reciprocal_root;
    case P::CosTurn: return [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) { return mpfr_cosu(r, x, 1, m); };
    case P::SinTurn: return [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t m) { return mpfr_sinu(r, x, 1, m); };
    default: return nullptr;
  }
}

// x / (1 + e^-x) and the like, at the working precision of `y`; e^-x may be tiny or huge, never out of MPFR's range.
void sigmoid(mpfr_ptr y, mpfr_srcptr x) {
  mpfr_neg(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

void softplus(mpfr_ptr y, mpfr_srcptr x) {
  mpfr_exp(y, x, MPFR_RNDN);
  mpfr_log1p(y, y, MPFR_RNDN);
}

// x/2 * erfc(-x / sqrt 2)
void gelu(mpfr_ptr y, mpfr_srcptr x) {
  Number root(mpfr_get_prec(y));
  mpfr_sqrt_ui(root, 2, MPFR_RNDN);
  mpfr_div(y, x, root, MPFR_RNDN);
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_erfc(y, y, MPFR_RNDN);
  mpfr_mul(y, y, x, MPFR_RNDN);
  mpfr_div_2ui(y, y, 1, MPFR_RNDN);
}

// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) = x * sigmoid(sqrt(8/pi) * x * (1 + 0.044715 x^2))
void gelu_tanh(mpfr_ptr y, mpfr_srcptr x) {
  const mpfr_prec_t precision = mpfr_get_prec(y);
  Number factor(precision);
  mpfr_const_pi(factor, MPFR_RNDN);
  mpfr_ui_div(factor, 8, factor, MPFR_RNDN);
  mpfr_sqrt(factor, factor, MPFR_RNDN);
  Number argument(precision);
  mpfr_sqr(argument, x, MPFR_RNDN);
  mpfr_mul_ui(argument, argument, 44715, MPFR_RNDN);
  mpfr_div_ui(argument, argument, 1000000, MPFR_RNDN);
  mpfr_add_ui(argument, argument, 1, MPFR_RNDN);
  mpfr_mul(argument, argument, x, MPFR_RNDN);
  mpfr_mul(argument, argument, factor, MPFR_RNDN);
  sigmoid(y, argument);
  mpfr_mul(y, y, x, MPFR_RNDN);
}

// x * tanh(log(1 + w)) with w = e^x: x * (w^2 + 2w) / (w^2 + 2w + 2)
void mish(mpfr_ptr y, mpfr_srcptr x) {
  Number w(mpfr_get_prec(y));
  mpfr_exp(w, x, MPFR_RNDN);
  mpfr_add_ui(y, w, 2, MPFR_RNDN);
  mpfr_mul(w, w, y, MPFR_RNDN);
  mpfr_add_ui(y, w, 2, MPFR_RNDN);
  mpfr_div(y, w, y, MPFR_RNDN);
  mpfr_mul(y, y, x, MPFR_RNDN);
}

// An activation, and the arguments outside of which its value is known to be beside a simple number.
struct Activation {
  void (*body)(mpfr_ptr, mpfr_srcptr);
  double low;   // below it the magnitude is under 2^-1075
  double high;  // above it the limit is nearer than 2^-64 relative to it
};

Activation activation_of(Primitive primitive) {
  switch (primitive) {
    case P::Sigmoid: return {sigmoid, -1000, 100};
    case P::Softplus: return {softplus, -1000, 100};
    case P::Silu: return {[](mpfr_ptr y, mpfr_srcptr x) { sigmoid(y, x); mpfr_mul(y, y, x, MPFR_RNDN); }, -1000, 100};
    case P::Mish: return {mish, -1000, 100};
    case P::Gelu: return {gelu, -50, 20};
    case P::GeluTanh: return {gelu_tanh, -50, 20};
    default: return {nullptr, 0, 0};
  }
}

Cut activation(Primitive primitive, const Activation& function, double x) {
  const bool gate = primitive != P::Sigmoid && primitive != P::Softplus;  // x times something in (0, 1)
  if (std::isnan(x)) return Cut{};
  if (std::isinf(x)) {
    if (x < 0) return zero(gate);  // the limit; from below for gates
    return primitive == P::Sigmoid ? exactly(1) : infinite(false);
  }
  if (x == 0 && gate) return zero(std::signbit(x));
  if (x == 0 && primitive == P::Sigmoid) return exactly(0.5);
  if (x < function.low) return tiny(gate);
  if (x > function.high) return primitive == P::Sigmoid ? beside(1, false) : beside(x, primitive == P::Softplus);
  if (gate && primitive != P::Mish && std::fabs(x) < 0x1p-80) {  // x/2 plus a positive second-order term
    Cut cut = beside(x, x > 0);
    --cut.exponent;
    return cut;
  }
  // What is left is irrational (numerics.md says where that is proved), so some precision tells it from every 64-bit number.
  for (mpfr_prec_t precision = 128; precision <= 16384; precision *= 2) {
    Number argument(53, x);
    Number value(precision);
    function.body(value, argument);
    // Each body has fewer than 16 roundings, amplified by at most 2^20 (an argument of exp or erfc).
    Number slack(precision);
    mpfr_div_2si(slack, value, precision - 30, MPFR_RNDA);
    Number low(CutBits);
    Number high(CutBits);
    mpfr_sub(low, value, slack, MPFR_RNDZ);
    mpfr_add(high, value, slack, MPFR_RNDZ);
    if (mpfr_equal_p(low, high)) return cut_of(low, true);
  }
  ensure(false, "an activation needs more than 16384 bits");
  return Cut{};
}

// x / (1 + |x|): the denominator is exact.
Cut softsign(double x) {
  if (std::isnan(x)) return Cut{};
  if (std::isinf(x)) return exactly(x < 0 ? -1 : 1);
  if (x == 0) return zero(std::signbit(x));
  Number argument(53, x);
  Number denominator(2200);
  mpfr_abs(denominator, argument, MPFR_RNDN);
  ensure(mpfr_add_ui(denominator, denominator, 1, MPFR_RNDN) == 0, "1 + |x| fits 2200 bits");
  Number value(CutBits);
  const int inexact = mpfr_div(value, argument, denominator, MPFR_RNDZ);
  return cut_of(value, inexact != 0);
}

// x (x + 3) / 6 between -3 and 3, where 0 and x itself take over. The numerator is exact.
Cut hard_swish(double x) {
  if (std::isnan(x)) return Cut{};
  if (x <= -3) return zero(true);
  if (x == 0) return zero(std::signbit(x));
  if (x >= 3) return std::isinf(x) ? infinite(false) : exactly(x);
  Number argument(53, x);
  Number numerator(2400);
  int inexact = mpfr_add_ui(numerator, argument, 3, MPFR_RNDN);
  inexact |= mpfr_mul(numerator, numerator, argument, MPFR_RNDN);
  ensure(inexact == 0, "x (x + 3) fits 2400 bits");
  Number value(CutBits);
  inexact = mpfr_div_ui(value, numerator, 6, MPFR_RNDZ);
  return cut_of(value, inexact != 0);
}

// The leading `bits` of the magnitude of a cut value as an integer multiple of 2^exponent, subnormals of f64 included.
struct Leading {
  std::uint64_t kept;
  std::uint64_t rest;  // what was cut off, as a fraction of 2^64; never exactly half or zero if the cut was inexact
  std::int64_t exponent;
};

Leading leading(const Cut& value) {
  std::int64_t drop = 11;  // 64 bits to 53
  if (value.exponent + drop < -1074) drop = -1074 - value.exponent;
  Leading out{0, 0, value.exponent + drop};
  const std::uint64_t sticky = value.inexact ? 1 : 0;
  if (drop < 64) {
    out.kept = value.significand >> drop;
    out.rest = (value.significand << (64 - drop)) | sticky;
  } else if (drop == 64) {
    out.rest = value.significand | sticky;
  } else {
    out.rest = 1;
  }
  return out;
}

double assemble(bool negative, std::uint64_t magnitude, std::int64_t exponent, bool to_infinity) {
  // magnitude <= 2^53. Above the largest finite double the caller says which way.
  double result = 0;
  if (exponent > 971 || (exponent == 971 && magnitude == (std::uint64_t{1} << 53)))
    result = to_infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::max();
  else if (exponent < -1021)  // ldexp is exact: the multiple was made for this exponent
    result = std::ldexp(static_cast<double>(magnitude), static_cast<int>(exponent));
  else
    result = static_cast<double>(magnitude) * std::ldexp(1.0, static_cast<int>(exponent));
  return negative ? -result : result;
}

double special_double(const Cut& value) {
  switch (value.kind) {
    case Cut::Kind::Zero: return value.negative ? -0.0 : 0.0;
    case Cut::Kind::Infinite:
      return value.negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    case Cut::Kind::Nan:
    case Cut::Kind::Finite: break;
  }
  return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
}

}  // namespace

Cut evaluate(Primitive primitive, double first, double second) {
  static thread_local CacheGuard guard;
  if (primitive == P::Softsign) return softsign(first);
  if (primitive == P::HardSwish) return hard_swish(first);
  if (const Activation function = activation_of(primitive); function.body != nullptr)
    return activation(primitive, function, first);
  Number x(53, first);
  Number value(CutBits);
  if (const Unary function = unary_of(primitive)) {
    const int inexact = function(value, x, MPFR_RNDZ);
    return cut_of(value, inexact != 0);
  }
  Number y(53, second);
  const auto function = primitive == P::Power ? mpfr_pow : primitive == P::Atan2 ? mpfr_atan2 : mpfr_hypot;
  ensure(function != mpfr_hypot || primitive == P::Hypotenuse, "an elementary function");
  const int inexact = function(value, x, y, MPFR_RNDZ);
  return cut_of(value, inexact != 0);
}

Cut evaluate_turn(Primitive primitive, std::int64_t numerator, std::int64_t denominator) {
  static thread_local CacheGuard guard;
  ensure(denominator > 0, "a positive denominator");
  ensure(primitive == P::CosTurn || primitive == P::SinTurn, "a function of turns");
  // Both are periodic, so the numerator may be reduced; sin of a whole number of turns keeps the sign as sinPi does.
  const std::int64_t reduced = numerator % denominator;
  Number value(CutBits);
  Number turns(64);
  mpfr_set_sj(turns, reduced, MPFR_RNDN);
  if (reduced == 0 && numerator < 0) mpfr_neg(turns, turns, MPFR_RNDN);
  const auto unit = static_cast<unsigned long>(denominator);
  const int inexact = primitive == P::CosTurn ? mpfr_cosu(value, turns, unit, MPFR_RNDZ) : mpfr_sinu(value, turns, unit, MPFR_RNDZ);
  return cut_of(value, inexact != 0);
}

double nearest_double(const Cut& value) {
  if (value.kind != Cut::Kind::Finite) return special_double(value);
  Leading l = leading(value);
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  if (l.rest > half || (l.rest == half && (l.kept & 1) != 0)) ++l.kept;
  return assemble(value.negative, l.kept, l.exponent, true);
}

double odd_double(const Cut& value) {
  if (value.kind != Cut::Kind::Finite) return special_double(value);
  Leading l = leading(value);
  if (l.rest != 0) l.kept |= 1;
  return assemble(value.negative, l.kept, l.exponent, false);
}

}  // namespace ulpian::real
