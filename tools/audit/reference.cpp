#include "tools/audit/reference.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <arb_hypgeom.h>
#include <arb_poly.h>

#include "spec/numbers/ensure.h"

namespace ulpian::audit {
namespace {

constexpr slong Precision = 160;
constexpr slong Length = Model::Terms + 2;  // a constant, the terms, the remainder's

class Ball {
public:
  Ball() { arb_init(ball_); }
  ~Ball() { arb_clear(ball_); }
  Ball(const Ball&) = delete;
  Ball& operator=(const Ball&) = delete;
  operator arb_ptr() { return ball_; }            // NOLINT: as the C functions take it
  operator arb_srcptr() const { return ball_; }   // NOLINT

private:
  arb_t ball_;
};

// A power series in t of balls.
class Series {
public:
  Series() { arb_poly_init2(poly_, Length); }
  ~Series() { arb_poly_clear(poly_); }
  Series(const Series& other) : Series() { arb_poly_set(poly_, other.poly_); }
  Series(Series&& other) noexcept : Series() { arb_poly_swap(poly_, other.poly_); }
  Series& operator=(Series other) noexcept {
    arb_poly_swap(poly_, other.poly_);
    return *this;
  }
  operator arb_poly_struct*() { return poly_; }              // NOLINT
  operator const arb_poly_struct*() const { return poly_; }  // NOLINT

  // c + t
  static Series variable(arb_srcptr c) {
    Series s;
    arb_poly_set_coeff_arb(s, 0, c);
    arb_poly_set_coeff_si(s, 1, 1);
    return s;
  }
  static Series number(double v) {
    Series s;
    Ball b;
    arb_set_d(b, v);
    arb_poly_set_coeff_arb(s, 0, b);
    return s;
  }
  void start(Ball& out) const { arb_poly_get_coeff_arb(out, poly_, 0); }

private:
  arb_poly_t poly_;
};

Series operator+(const Series& a, const Series& b) { Series s; arb_poly_add_series(s, a, b, Length, Precision); return s; }
Series operator-(const Series& a, const Series& b) { Series s; arb_poly_sub_series(s, a, b, Length, Precision); return s; }
Series operator*(const Series& a, const Series& b) { Series s; arb_poly_mullow(s, a, b, Length, Precision); return s; }
Series operator/(const Series& a, const Series& b) { Series s; arb_poly_div_series(s, a, b, Length, Precision); return s; }
Series operator+(const Series& a, double b) { return a + Series::number(b); }
Series operator*(double a, const Series& b) { return Series::number(a) * b; }
Series root(const Series& a) { Series s; arb_poly_sqrt_series(s, a, Length, Precision); return s; }

Series cube_root(const Series& a) {
  Series s;
  Ball third;
  arb_set_si(third, 1);
  arb_div_si(third, third, 3, Precision);
  arb_poly_pow_arb_series(s, a, third, Length, Precision);
  return s;
}

// A function of which the value at the start is known well, and the derivative as a series.
Series from_derivative(const std::function<void(arb_ptr, arb_srcptr)>& value, const Series& argument, const Series& slope) {
  Series derivative;  // of the argument
  arb_poly_derivative(derivative, argument, Precision);
  Series s;
  arb_poly_integral(s, slope * derivative, Precision);
  arb_poly_truncate(s, Length);
  Ball at, y;
  argument.start(at);
  value(y, at);
  arb_poly_set_coeff_arb(s, 0, y);
  return s;
}

Series exponential(const Series& a) {
  Ball at;
  a.start(at);
  Ball far;
  arb_set_si(far, -20000);
  if (arb_lt(at, far)) {  // below 2^-28000 with all derivatives: a chain of powers of the argument's
    Series s, power = Series::number(1), step = a;
    Ball zero, tiny;
    arb_poly_set_coeff_arb(step, 0, zero);
    mag_set_ui_2exp_si(arb_radref(static_cast<arb_ptr>(tiny)), 1, -28000);
    Series factor;
    arb_poly_set_coeff_arb(factor, 0, tiny);
    for (slong k = 0; k < Length; ++k) {
      s = s + factor * power;
      power = power * step;
    }
    return s;
  }
  Series s;
  arb_poly_exp_series(s, a, Length, Precision);
  return s;
}
Series logarithm_of_one_plus(const Series& a) {
  return from_derivative([](arb_ptr y, arb_srcptr x) { arb_log1p(y, x, Precision); }, a, Series::number(1) / (a + 1));
}
Series logarithm(const Series& a) {
  return from_derivative([](arb_ptr y, arb_srcptr x) { arb_log(y, x, Precision); }, a, Series::number(1) / a);
}
Series exponential_less_one(const Series& a) {
  return from_derivative([](arb_ptr y, arb_srcptr x) { arb_expm1(y, x, Precision); }, a, exponential(a));
}
Series scaled(const Series& a, const std::function<void(arb_ptr)>& constant, bool divided = false) {
  Ball c;
  constant(c);
  Series s;
  if (divided) arb_poly_scalar_div(s, a, c, Precision);
  else arb_poly_scalar_mul(s, a, c, Precision);
  return s;
}
void log_of_two(arb_ptr c) { arb_const_log2(c, Precision); }
void log_of_ten(arb_ptr c) { arb_const_log10(c, Precision); }

bool is_negative(const Series& a) {
  Ball at;
  a.start(at);
  return arb_is_negative(at);
}
bool is_positive(const Series& a) {
  Ball at;
  a.start(at);
  return arb_is_positive(at);
}
Series sigmoid(const Series& a) {
  if (!is_negative(a)) return Series::number(1) / (exponential(-1 * a) + 1);
  const Series e = exponential(a);
  return e / (e + 1);
}
// erfc, without cancellation
Series complementary_error(const Series& a) {
  Series slope = scaled(exponential(-1 * (a * a)), [](arb_ptr c) {
    arb_const_sqrt_pi(c, Precision);
    arb_mul_si(c, c, -1, Precision);
    arb_mul_2exp_si(c, c, -1);
  }, true);
  return from_derivative([](arb_ptr y, arb_srcptr x) { arb_hypgeom_erfc(y, x, Precision); }, a, slope);
}
Series error_function(const Series& a) {
  Series slope = scaled(exponential(-1 * (a * a)), [](arb_ptr c) {
    arb_const_sqrt_pi(c, Precision);
    arb_mul_2exp_si(c, c, -1);
  }, true);
  return from_derivative([](arb_ptr y, arb_srcptr x) { arb_hypgeom_erf(y, x, Precision); }, a, slope);
}
Series decimal(const char* digits) {
  Series s;
  Ball c;
  arb_set_str(c, digits, Precision);
  arb_poly_set_coeff_arb(s, 0, c);
  return s;
}
Series hyperbolic_tangent(const Series& a) {
  Ball at, two;
  a.start(at);
  arb_set_si(two, 2);
  if (arb_gt(at, two)) {
    const Series e = exponential(-2 * a);
    return (Series::number(1) - e) / (e + 1);
  }
  const Series e = exponential_less_one(2 * a);
  return e / (e + 2);
}

// What is known of a function's sign, whatever it is too small to show: that of the argument, for one.
enum class SignOf : unsigned char { Positive, Argument, Values };

enum class Period : unsigned char { None, TwoPi, One };

// A function as a series, where it is real and where it overflows.
struct Form {
  Primitive function;
  SignOf sign;
  Series (*series)(const Series&);
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();  // outside: not a number
  double overflows_above = std::numeric_limits<double>::infinity();
  bool even_or_odd = false;  // it overflows on both sides
  Period period = Period::None;
  bool signed_zeros = true;
};

Series by(void (*f)(arb_poly_t, const arb_poly_t, slong, slong), const Series& x) {
  Series s;
  f(s, x, Length, Precision);
  return s;
}

const std::array Forms{
    Form{Primitive::Exp, SignOf::Positive, exponential, -HUGE_VAL, HUGE_VAL, 1000},
    Form{Primitive::Exp2, SignOf::Positive, [](const Series& x) { return exponential(scaled(x, log_of_two)); }, -HUGE_VAL, HUGE_VAL, 1000},
    Form{Primitive::Exp10, SignOf::Positive, [](const Series& x) { return exponential(scaled(x, log_of_ten)); }, -HUGE_VAL, HUGE_VAL, 1000},
    Form{Primitive::Expm1, SignOf::Argument, exponential_less_one, -HUGE_VAL, HUGE_VAL, 1000},
    Form{Primitive::Log, SignOf::Values, logarithm, 0},
    Form{Primitive::Log2, SignOf::Values, [](const Series& x) { return scaled(logarithm(x), log_of_two, true); }, 0},
    Form{Primitive::Log10, SignOf::Values, [](const Series& x) { return scaled(logarithm(x), log_of_ten, true); }, 0},
    Form{Primitive::Log1p, SignOf::Argument, logarithm_of_one_plus, -1},
    Form{Primitive::SquareRoot, SignOf::Positive, root, 0},
    Form{Primitive::ReciprocalRoot, SignOf::Positive, [](const Series& x) { return Series::number(1) / root(x); }, 0},
    Form{Primitive::Reciprocal, SignOf::Argument, [](const Series& x) { return Series::number(1) / x; }},
    Form{Primitive::CubeRoot, SignOf::Argument, [](const Series& x) { return is_negative(x) ? -1 * cube_root(-1 * x) : cube_root(x); }},
    Form{Primitive::Sin, SignOf::Values, [](const Series& x) { return by(arb_poly_sin_series, x); }, -HUGE_VAL, HUGE_VAL, HUGE_VAL, false, Period::TwoPi},
    Form{Primitive::Cos, SignOf::Values, [](const Series& x) { return by(arb_poly_cos_series, x); }, -HUGE_VAL, HUGE_VAL, HUGE_VAL, false, Period::TwoPi},
    Form{Primitive::Tan, SignOf::Values, [](const Series& x) { return by(arb_poly_tan_series, x); }, -HUGE_VAL, HUGE_VAL, HUGE_VAL, false, Period::TwoPi},
    Form{Primitive::SinTurn, SignOf::Values, [](const Series& x) { return by(arb_poly_sin_pi_series, 2 * x); }, -HUGE_VAL, HUGE_VAL, HUGE_VAL, false, Period::One},
    Form{Primitive::CosTurn, SignOf::Values, [](const Series& x) { return by(arb_poly_cos_pi_series, 2 * x); }, -HUGE_VAL, HUGE_VAL, HUGE_VAL, false, Period::One, false},
    Form{Primitive::Asin, SignOf::Argument, [](const Series& x) { return by(arb_poly_asin_series, x); }, -1, 1},
    Form{Primitive::Acos, SignOf::Positive, [](const Series& x) { return by(arb_poly_acos_series, x); }, -1, 1},
    Form{Primitive::Atan, SignOf::Argument, [](const Series& x) { return by(arb_poly_atan_series, x); }},
    Form{Primitive::Sinh, SignOf::Argument, [](const Series& x) {
           const Series e = exponential_less_one(is_negative(x) ? -1 * x : x);
           const Series y = 0.5 * (e + e / (e + 1));
           return is_negative(x) ? -1 * y : y;
         }, -HUGE_VAL, HUGE_VAL, 1000, true},
    Form{Primitive::Cosh, SignOf::Positive, [](const Series& x) {
           const Series e = exponential(is_negative(x) ? -1 * x : x);
           return 0.5 * (e + Series::number(1) / e);
         }, -HUGE_VAL, HUGE_VAL, 1000, true},
    Form{Primitive::Tanh, SignOf::Argument, [](const Series& x) { return is_negative(x) ? -1 * hyperbolic_tangent(-1 * x) : hyperbolic_tangent(x); }},
    Form{Primitive::Asinh, SignOf::Argument, [](const Series& x) { return from_derivative([](arb_ptr y, arb_srcptr a) { arb_asinh(y, a, Precision); }, x, Series::number(1) / root(x * x + 1)); }},
    Form{Primitive::Acosh, SignOf::Values, [](const Series& x) { return from_derivative([](arb_ptr y, arb_srcptr a) { arb_acosh(y, a, Precision); }, x, Series::number(1) / root((x + 1) * (x + -1))); }, 1},
    Form{Primitive::Atanh, SignOf::Argument, [](const Series& x) { return from_derivative([](arb_ptr y, arb_srcptr a) { arb_atanh(y, a, Precision); }, x, Series::number(1) / (Series::number(1) - x * x)); }, -1, 1},
    Form{Primitive::Erf, SignOf::Argument, error_function},
    Form{Primitive::Erfc, SignOf::Positive, [](const Series& x) { return is_negative(x) ? Series::number(1) + error_function(-1 * x) : complementary_error(x); }},
    Form{Primitive::Sigmoid, SignOf::Positive, sigmoid},
    Form{Primitive::Softplus, SignOf::Positive, [](const Series& x) { return is_positive(x) ? x + logarithm_of_one_plus(exponential(-1 * x)) : logarithm_of_one_plus(exponential(x)); }},
    Form{Primitive::Softsign, SignOf::Argument, [](const Series& x) { return is_negative(x) ? x / (Series::number(1) - x) : x / (x + 1); }},
    Form{Primitive::Gelu, SignOf::Argument, [](const Series& x) {
           return 0.5 * (x * complementary_error(scaled(x, [](arb_ptr c) { arb_sqrt_ui(c, 2, Precision); arb_neg(c, c); }, true)));
         }},
    Form{Primitive::GeluTanh, SignOf::Argument, [](const Series& x) {
           const Series u = scaled(x + decimal("0.044715") * (x * x * x), [](arb_ptr c) {
             arb_const_pi(c, Precision);
             arb_mul_2exp_si(c, c, -1);
             arb_rsqrt(c, c, Precision);
             arb_mul_2exp_si(c, c, 1);
           });
           return x * sigmoid(u);
         }},
    Form{Primitive::Silu, SignOf::Argument, [](const Series& x) { return x * sigmoid(x); }},
    Form{Primitive::HardSwish, SignOf::Argument, [](const Series& x) {
           if (is_positive(x + -3)) return x;
           if (is_negative(x + 3)) return Series();
           if (is_positive(x + 3) && is_negative(x + -3)) return Series::number(1) / Series::number(6) * (x * (x + 3));
           return Series::number(1) / Series();  // across a corner: judged singly
         }},
    Form{Primitive::Mish, SignOf::Argument, [](const Series& x) {
           if (is_positive(x)) {
             const Series e = exponential(-1 * x), n = 2 * e + 1, d = n + 2 * (e * e);
             return x * (n / d);
           }
           const Series w = exponential(x), n = w * (w + 2);
           return x * (n / (n + 2));
         }},
};

Phase radians_of_power(int exponent) {
  Ball x, turn;
  constexpr slong Bits = 512;
  arb_const_pi(turn, Bits);
  arb_mul_2exp_si(turn, turn, 1);
  arb_set_si(x, 1);
  arb_mul_2exp_si(x, x, exponent + 128);
  arb_div(x, x, turn, Bits);
  fmpz_t whole;
  fmpz_init(whole);
  arb_floor(x, x, Bits);
  ensure(arb_get_unique_fmpz(whole, x) != 0, "the precision suffices");
  fmpz_fdiv_r_2exp(whole, whole, 128);
  const ulong low = fmpz_get_ui(whole);  // of the magnitude: the low 64 bits
  fmpz_fdiv_q_2exp(whole, whole, 64);
  const Phase phase = (static_cast<Phase>(fmpz_get_ui(whole)) << 64) | low;
  fmpz_clear(whole);
  return phase;
}

class ArbReference final : public Reference {
public:
  explicit ArbReference(const Form& form) : form_(form) {}

  Kind enclose(double centre, double half, Model& model) override {
    if (centre + half < form_.least || centre - half > form_.most) return Kind::NotANumber;
    if (centre - half < form_.least || centre + half > form_.most) return Kind::Unknown;
    if (std::fabs(centre) - half > form_.overflows_above && (centre > 0 || form_.even_or_odd)) {
      model.sign = centre < 0 && form_.sign == SignOf::Argument ? -1 : 1;
      return Kind::Overflows;
    }
    Ball at, unit;
    arb_set_d(at, centre);
    arb_set_d(unit, half);
    return near(model, at, unit, centre < 0);
  }

  const std::vector<Cell>& cells() override {
    if (form_.period == Period::None || !cells_.empty()) return cells_;
    cells_.resize(std::size_t{1} << CellBits);
    Ball turn, at, unit;
    arb_set_si(turn, 1);
    if (form_.period == Period::TwoPi) {
      arb_const_pi(turn, Precision);
      arb_mul_2exp_si(turn, turn, 1);
    }
    arb_mul_2exp_si(unit, turn, -CellBits - 1);
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      arb_mul_ui(at, turn, k, Precision);
      arb_mul_2exp_si(at, at, -CellBits);
      cells_[k].kind = near(cells_[k].model, at, unit, false);
    }
    return cells_;
  }

  Phase phase_of_power(int exponent) override {
    if (form_.period == Period::TwoPi) return radians_of_power(exponent);
    return exponent >= 0 || exponent < -128 ? 0 : Phase{1} << (128 + exponent);
  }
  bool zeros_are_signed() override { return form_.signed_zeros; }

private:
  // `unit` is half the width.
  Kind near(Model& model, arb_srcptr at, arb_srcptr unit, bool negative) {
    Ball whole, c;
    arb_add_error(static_cast<arb_ptr>(whole), unit);
    arb_add(whole, whole, at, Precision);
    const Series close = form_.series(Series::variable(at)), over = form_.series(Series::variable(whole));
    arb_poly_get_coeff_arb(c, close, 0);
    if (!arb_is_finite(c)) return Kind::Unknown;
    Ball values;
    arb_poly_get_coeff_arb(values, over, 0);
    model.sign = form_.sign == SignOf::Positive ? 1 : form_.sign == SignOf::Argument ? (negative ? -1 : 1) : arb_is_positive(values) ? 1 : arb_is_negative(values) ? -1 : 0;
    model.high = arf_get_d(arb_midref(static_cast<arb_ptr>(c)), ARF_RND_NEAR);
    if (!std::isfinite(model.high)) return Kind::Unknown;
    Ball rest;
    arb_set_d(rest, model.high);
    arb_sub(rest, c, rest, Precision);
    model.low = arf_get_d(arb_midref(static_cast<arb_ptr>(rest)), ARF_RND_NEAR);
    double uncertain = mag_get_d(arb_radref(static_cast<arb_ptr>(rest))) + std::fabs(model.low) * 0x1p-52;
    double sum = 0;
    Ball scale;
    arb_set_si(scale, 1);
    for (int k = 1; k <= Model::Terms; ++k) {
      arb_mul(scale, scale, unit, Precision);
      arb_poly_get_coeff_arb(c, close, k);
      arb_mul(c, c, scale, Precision);
      if (!arb_is_finite(c)) return Kind::Unknown;
      model.terms[k - 1] = arf_get_d(arb_midref(static_cast<arb_ptr>(c)), ARF_RND_NEAR);
      uncertain += mag_get_d(arb_radref(static_cast<arb_ptr>(c)));
      sum += std::fabs(model.terms[k - 1]);
    }
    arb_mul(scale, scale, unit, Precision);
    arb_poly_get_coeff_arb(c, over, Length - 1);
    arb_mul(c, c, scale, Precision);
    if (!arb_is_finite(c)) return Kind::Unknown;
    mag_t most;
    mag_init(most);
    arb_get_mag(most, c);
    const double remainder = mag_get_d(most);
    mag_clear(most);
    // Coefficients are rounded twice, t twice, and Horner's rule rounds twice a term; `low` is added with one rounding more.
    model.error = (uncertain + remainder + sum * (6 * Model::Terms) * 0x1p-53 + (sum + std::fabs(model.low)) * 0x1p-53) * (1 + 0x1p-20) + 0x1p-1070;
    return std::isfinite(model.error) ? Kind::Modelled : Kind::Unknown;
  }

  const Form& form_;
  std::vector<Cell> cells_;
};

}  // namespace

std::unique_ptr<Reference> Reference::of(Primitive function) {
  for (const Form& f : Forms)
    if (f.function == function) return std::make_unique<ArbReference>(f);
  return nullptr;
}

}  // namespace ulpian::audit
