#include "interp/canonical/enclosure.h"

#include <string>

#include "spec/numbers/ensure.h"
#include "spec/numbers/exact_big.h"

namespace ulpian::interp {
namespace {

using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// A bound may lie outside the function's domain although the number does not.
Enclosure checked(Enclosure a) {
  if (mpfr_nan_p(static_cast<mpfr_srcptr>(a.low))) mpfr_set_inf(a.low, -1);
  if (mpfr_nan_p(static_cast<mpfr_srcptr>(a.high))) mpfr_set_inf(a.high, 1);
  return a;
}

Enclosure increasing(Function f, const Enclosure& a) {
  Enclosure out(a.precision());
  f(out.low, a.low, MPFR_RNDD);
  f(out.high, a.high, MPFR_RNDU);
  return checked(std::move(out));
}

Enclosure decreasing(Function f, const Enclosure& a) {
  Enclosure out(a.precision());
  f(out.low, a.high, MPFR_RNDD);
  f(out.high, a.low, MPFR_RNDU);
  return checked(std::move(out));
}

// A function whose slope is at most 1 in magnitude: its value at one end, widened by the width.
Enclosure gentle(Function f, const Enclosure& a) {
  Bound width(a.precision());
  mpfr_sub(width, a.high, a.low, MPFR_RNDU);
  Enclosure out(a.precision());
  if (!mpfr_number_p(width)) {
    mpfr_set_si(out.low, -1, MPFR_RNDD);
    mpfr_set_si(out.high, 1, MPFR_RNDU);
    return out;
  }
  f(out.low, a.low, MPFR_RNDD);
  f(out.high, a.low, MPFR_RNDU);
  mpfr_sub(out.low, out.low, width, MPFR_RNDD);
  mpfr_add(out.high, out.high, width, MPFR_RNDU);
  return out;
}

Enclosure integer(long value, mpfr_prec_t precision) {
  Enclosure out(precision);
  mpfr_set_si(out.low, value, MPFR_RNDD);
  mpfr_set_si(out.high, value, MPFR_RNDU);
  return out;
}

Enclosure pi(mpfr_prec_t precision) {
  Enclosure out(precision);
  mpfr_const_pi(out.low, MPFR_RNDD);
  mpfr_const_pi(out.high, MPFR_RNDU);
  return out;
}

Enclosure square_root(const Enclosure& a) { return increasing(mpfr_sqrt, a); }
Enclosure exponential(const Enclosure& a) { return increasing(mpfr_exp, a); }

Enclosure sigmoid(const Enclosure& a) {
  const Enclosure one = integer(1, a.precision());
  return divide(one, add(one, exponential(negate(a))));
}

Enclosure softplus(const Enclosure& a) { return increasing(mpfr_log1p, exponential(a)); }

// x * Phi(x), with the complementary error function: no cancellation far to the left.
Enclosure gelu(const Enclosure& a) {
  const Enclosure scaled = divide(negate(a), square_root(integer(2, a.precision())));
  return divide(multiply(a, decreasing(mpfr_erfc, scaled)), integer(2, a.precision()));
}

// x * (1 + tanh(u)) / 2 is x * sigmoid(2 u), u = sqrt(2 / pi) * (x + 0.044715 x^3).
Enclosure gelu_tanh(const Enclosure& a) {
  const mpfr_prec_t p = a.precision();
  const Enclosure cubic = multiply(divide(integer(44715, p), integer(1000000, p)), multiply(a, multiply(a, a)));
  const Enclosure scale = square_root(divide(integer(8, p), pi(p)));
  return multiply(a, sigmoid(multiply(scale, add(a, cubic))));
}

Enclosure hyperbolic_cosine(const Enclosure& a) { return increasing(mpfr_cosh, absolute(a)); }

Enclosure arc_of(const Enclosure& y, const Enclosure& x) {
  const mpfr_prec_t p = x.precision();
  if (x.positive()) return increasing(mpfr_atan, divide(y, x));
  const Enclosure quarter = divide(pi(p), integer(2, p));
  if (y.positive()) return subtract(quarter, increasing(mpfr_atan, divide(x, y)));
  if (y.negative()) return subtract(negate(quarter), increasing(mpfr_atan, divide(x, y)));
  return everything(p);
}

Enclosure hypotenuse(const Enclosure& x, const Enclosure& y) {
  Enclosure out(x.precision());
  mpfr_hypot(out.low, x.low, y.low, MPFR_RNDD);
  mpfr_hypot(out.high, x.high, y.high, MPFR_RNDU);
  return out;
}

// x times (x + 3) / 6 held between 0 and 1.
Enclosure hard_swish(const Enclosure& a) {
  const mpfr_prec_t p = a.precision();
  Enclosure share = divide(add(a, integer(3, p)), integer(6, p));
  for (mpfr_ptr end : {static_cast<mpfr_ptr>(share.low), static_cast<mpfr_ptr>(share.high)}) {
    if (mpfr_sgn(end) < 0) mpfr_set_zero(end, 1);
    if (mpfr_cmp_ui(end, 1) > 0) mpfr_set_ui(end, 1, MPFR_RNDN);
  }
  return multiply(a, share);
}

Enclosure of_turn(Function f, const Enclosure& a) {
  const mpfr_prec_t p = a.precision();
  return gentle(f, multiply(a, multiply(integer(2, p), pi(p))));
}

}  // namespace

Enclosure everything(mpfr_prec_t precision) {
  Enclosure out(precision);
  mpfr_set_inf(out.low, -1);
  mpfr_set_inf(out.high, 1);
  return out;
}

Enclosure enclose(const Exact& value, mpfr_prec_t precision) {
  ensure(!value.is_nan());
  Enclosure out(precision);
  if (value.is_infinite()) {
    mpfr_set_inf(out.low, value.is_negative() ? -1 : 1);
    mpfr_set_inf(out.high, value.is_negative() ? -1 : 1);
    return out;
  }
  if (const auto small = value.to_int64()) {
    mpfr_set_sj(out.low, *small, MPFR_RNDD);
    mpfr_set_sj(out.high, *small, MPFR_RNDU);
    return out;
  }
  const auto fraction = Exact::Big::of(value);
  if (mpz_popcount(mpq_denref(fraction->value)) == 1) {  // every float; no division then
    const auto exponent = -static_cast<mpfr_exp_t>(mpz_scan1(mpq_denref(fraction->value), 0));
    mpfr_set_z_2exp(out.low, mpq_numref(fraction->value), exponent, MPFR_RNDD);
    mpfr_set_z_2exp(out.high, mpq_numref(fraction->value), exponent, MPFR_RNDU);
    return out;
  }
  mpfr_set_q(out.low, fraction->value, MPFR_RNDD);
  mpfr_set_q(out.high, fraction->value, MPFR_RNDU);
  return out;
}

Enclosure cosine_of_turn(std::int64_t numerator, std::int64_t denominator, mpfr_prec_t precision) {
  Enclosure out(precision);
  Bound n(64);
  mpfr_set_sj(n, numerator, MPFR_RNDN);
  mpfr_cosu(out.low, n, static_cast<unsigned long>(denominator), MPFR_RNDD);
  mpfr_cosu(out.high, n, static_cast<unsigned long>(denominator), MPFR_RNDU);
  return out;
}

Enclosure add(const Enclosure& a, const Enclosure& b) {
  Enclosure out(a.precision());
  mpfr_add(out.low, a.low, b.low, MPFR_RNDD);
  mpfr_add(out.high, a.high, b.high, MPFR_RNDU);
  if (mpfr_nan_p(static_cast<mpfr_srcptr>(out.low)) || mpfr_nan_p(static_cast<mpfr_srcptr>(out.high))) return everything(a.precision());
  return out;
}

Enclosure subtract(const Enclosure& a, const Enclosure& b) { return add(a, negate(b)); }

Enclosure multiply(const Enclosure& a, const Enclosure& b) {
  Enclosure out(a.precision());
  Bound low(a.precision()), high(a.precision());
  const Bound* const xs[2] = {&a.low, &a.high};
  const Bound* const ys[2] = {&b.low, &b.high};
  for (int k = 0; k < 4; ++k) {
    mpfr_mul(low, *xs[k / 2], *ys[k % 2], MPFR_RNDD);
    mpfr_mul(high, *xs[k / 2], *ys[k % 2], MPFR_RNDU);
    // 0 * infinity: the bound is infinite, the numbers are not.
    if (mpfr_nan_p(static_cast<mpfr_srcptr>(low))) mpfr_set_zero(low, 1), mpfr_set_zero(high, 1);
    if (k == 0 || mpfr_less_p(low, out.low)) mpfr_set(out.low, low, MPFR_RNDD);
    if (k == 0 || mpfr_greater_p(high, out.high)) mpfr_set(out.high, high, MPFR_RNDU);
  }
  return out;
}

Enclosure divide(const Enclosure& a, const Enclosure& b) {
  if (!b.positive() && !b.negative()) return everything(a.precision());
  Enclosure inverse(a.precision());
  mpfr_ui_div(inverse.low, 1, b.high, MPFR_RNDD);
  mpfr_ui_div(inverse.high, 1, b.low, MPFR_RNDU);
  return multiply(a, inverse);
}

Enclosure negate(const Enclosure& a) {
  Enclosure out(a.precision());
  mpfr_neg(out.low, a.high, MPFR_RNDD);
  mpfr_neg(out.high, a.low, MPFR_RNDU);
  return out;
}

Enclosure absolute(const Enclosure& a) {
  if (a.positive()) return a;
  if (a.negative()) return negate(a);
  Enclosure out(a.precision()), flipped = negate(a);
  mpfr_set_zero(out.low, 1);
  mpfr_max(out.high, a.high, flipped.high, MPFR_RNDU);
  return out;
}

Enclosure function(Primitive primitive, const Enclosure& a, const Enclosure* b) {
  const mpfr_prec_t p = a.precision();
  switch (primitive) {
    case Primitive::SquareRoot: return square_root(a);
    case Primitive::Exp: return exponential(a);
    case Primitive::Exp2: return increasing(mpfr_exp2, a);
    case Primitive::Exp10: return increasing(mpfr_exp10, a);
    case Primitive::ReciprocalRoot: return decreasing(mpfr_rec_sqrt, a);
    case Primitive::CubeRoot: return increasing(mpfr_cbrt, a);
    case Primitive::Hypotenuse: return hypotenuse(absolute(a), absolute(*b));
    case Primitive::Expm1: return increasing(mpfr_expm1, a);
    case Primitive::Log: return increasing(mpfr_log, a);
    case Primitive::Log2: return increasing(mpfr_log2, a);
    case Primitive::Log10: return increasing(mpfr_log10, a);
    case Primitive::Log1p: return increasing(mpfr_log1p, a);
    case Primitive::Sin: return gentle(mpfr_sin, a);
    case Primitive::Cos: return gentle(mpfr_cos, a);
    case Primitive::Tan: return divide(gentle(mpfr_sin, a), gentle(mpfr_cos, a));
    case Primitive::Asin: return increasing(mpfr_asin, a);
    case Primitive::Acos: return decreasing(mpfr_acos, a);
    case Primitive::Atan: return increasing(mpfr_atan, a);
    case Primitive::Sinh: return increasing(mpfr_sinh, a);
    case Primitive::Cosh: return hyperbolic_cosine(a);
    case Primitive::Tanh: return increasing(mpfr_tanh, a);
    case Primitive::Asinh: return increasing(mpfr_asinh, a);
    case Primitive::Acosh: return increasing(mpfr_acosh, a);
    case Primitive::Atanh: return increasing(mpfr_atanh, a);
    case Primitive::Erf: return increasing(mpfr_erf, a);
    case Primitive::Erfc: return decreasing(mpfr_erfc, a);
    case Primitive::Sigmoid: return sigmoid(a);
    case Primitive::Softplus: return softplus(a);
    case Primitive::Softsign: return divide(a, add(integer(1, p), absolute(a)));
    case Primitive::Gelu: return gelu(a);
    case Primitive::GeluTanh: return gelu_tanh(a);
    case Primitive::Silu: return multiply(a, sigmoid(a));
    case Primitive::HardSwish: return hard_swish(a);
    case Primitive::Mish: return multiply(a, increasing(mpfr_tanh, softplus(a)));
    case Primitive::CosTurn: return of_turn(mpfr_cos, a);
    case Primitive::SinTurn: return of_turn(mpfr_sin, a);
    case Primitive::Power: return exponential(multiply(*b, increasing(mpfr_log, a)));
    case Primitive::Atan2: return arc_of(a, *b);
    default: break;
  }
  ensure(false, std::string(name_of(primitive)));
}

Exact exact_of(mpfr_srcptr value) {
  ensure(!mpfr_nan_p(value));
  constexpr long Far = 20000;
  if (mpfr_zero_p(value)) return Exact();
  const bool negative = mpfr_sgn(value) < 0;
  if (mpfr_inf_p(value)) return Exact::infinity(negative);
  if (mpfr_get_exp(value) > Far || mpfr_get_exp(value) < -Far) {
    const Exact far = Exact::power_of_two(mpfr_get_exp(value) > 0 ? static_cast<int>(Far) : static_cast<int>(-Far));
    return negative ? -far : far;
  }
  auto fraction = Exact::Big::of(Exact(0));
  mpfr_get_q(fraction->value, value);
  return Exact::Big::finish(fraction);
}

}  // namespace ulpian::interp
