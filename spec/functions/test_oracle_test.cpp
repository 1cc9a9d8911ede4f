#include "spec/functions/test_oracle.h"

#include <cstdint>
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace ulpian::oracle {
namespace {

using P = Primitive;

struct Real {
  explicit Real(mpfr_prec_t precision) { mpfr_init2(v, precision); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(v); }
  mpfr_t v;
};

// Rounds to `precision` bits with least normal exponent `least` (value in [1/2, 1) * 2^e) as MPFR's manual does for IEEE formats.
double rounded(mpfr_srcptr exact, mpfr_prec_t precision, mpfr_exp_t least, mpfr_exp_t greatest) {
  const mpfr_exp_t old_min = mpfr_get_emin();
  const mpfr_exp_t old_max = mpfr_get_emax();
  Real out(precision);
  int ternary = mpfr_set(out.v, exact, MPFR_RNDN);
  mpfr_set_emin(least);
  mpfr_set_emax(greatest);
  ternary = mpfr_check_range(out.v, ternary, MPFR_RNDN);
  mpfr_subnormalize(out.v, ternary, MPFR_RNDN);
  const double result = mpfr_get_d(out.v, MPFR_RNDN);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  return result;
}

double rounded_to(ElementType type, mpfr_srcptr exact) {
  switch (type) {
    case ElementType::F64: return rounded(exact, 53, -1073, 1024);
    case ElementType::F32: return rounded(exact, 24, -148, 128);
    case ElementType::BF16: return rounded(exact, 8, -132, 128);
    case ElementType::F16: return rounded(exact, 11, -23, 16);
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

// From here on an activation rounds to its limit: what is missing is below 2^-1080 (2^-200 for f32 and narrower) and no tie is near.
double far_from(P primitive, ElementType type) {
  if (primitive == P::Gelu) return type == ElementType::F64 ? 40 : 20;
  if (primitive == P::GeluTanh) return type == ElementType::F64 ? 30 : 16;
  return type == ElementType::F64 ? 800 : 200;
}

// Bits that the naive formulas of the activations need: what 1 + tanh and 1 + erf cancel, and second-order terms of tiny arguments.
mpfr_prec_t bits_for(P primitive, double x) {
  const double a = std::fabs(x);
  if (a < 0x1p-8) return a == 0 ? 200 : 200 - 2 * static_cast<mpfr_prec_t>(std::ilogb(a));
  if (primitive == P::Gelu) return 200 + static_cast<mpfr_prec_t>(0.75 * a * a);
  if (primitive == P::GeluTanh) return 200 + static_cast<mpfr_prec_t>(2.4 * (a + 0.045 * a * a * a));
  return 200 + static_cast<mpfr_prec_t>(1.5 * a);
}

double limit(P primitive, double x) {
  if (x > 0) return primitive == P::Sigmoid ? 1 : x;
  return primitive == P::Sigmoid || primitive == P::Softplus ? 0.0 : -0.0;
}

void activation(P primitive, double x_value, mpfr_ptr y, mpfr_prec_t bits) {
  Real x(bits);
  Real t(bits);
  mpfr_set_d(x.v, x_value, MPFR_RNDN);
  switch (primitive) {
    case P::Sigmoid:
    case P::Silu:
      mpfr_div_2ui(t.v, x.v, 1, MPFR_RNDN);
      mpfr_tanh(t.v, t.v, MPFR_RNDN);
      break;
    case P::Gelu:
      mpfr_set_ui(t.v, 1, MPFR_RNDN);
      mpfr_div_2ui(t.v, t.v, 1, MPFR_RNDN);
      mpfr_sqrt(t.v, t.v, MPFR_RNDN);
      mpfr_mul(t.v, t.v, x.v, MPFR_RNDN);
      mpfr_erf(t.v, t.v, MPFR_RNDN);
      break;
    case P::GeluTanh: {
      Real c(bits);
      mpfr_set_str(c.v, "0.044715", 10, MPFR_RNDN);
      mpfr_pow_ui(t.v, x.v, 3, MPFR_RNDN);
      mpfr_fma(t.v, t.v, c.v, x.v, MPFR_RNDN);
      mpfr_const_pi(c.v, MPFR_RNDN);
      mpfr_ui_div(c.v, 2, c.v, MPFR_RNDN);
      mpfr_sqrt(c.v, c.v, MPFR_RNDN);
      mpfr_mul(t.v, t.v, c.v, MPFR_RNDN);
      mpfr_tanh(t.v, t.v, MPFR_RNDN);
      break;
    }
    case P::Softplus:
    case P::Mish:
      mpfr_exp(t.v, x.v, MPFR_RNDN);
      mpfr_add_ui(t.v, t.v, 1, MPFR_RNDN);
      mpfr_log(t.v, t.v, MPFR_RNDN);
      if (primitive == P::Softplus) {
        mpfr_set(y, t.v, MPFR_RNDN);
        return;
      }
      mpfr_tanh(t.v, t.v, MPFR_RNDN);
      mpfr_mul(y, t.v, x.v, MPFR_RNDN);
      return;
    default: return;
  }
  mpfr_add_ui(t.v, t.v, 1, MPFR_RNDN);
  mpfr_div_2ui(t.v, t.v, 1, MPFR_RNDN);
  if (primitive == P::Sigmoid) mpfr_set(y, t.v, MPFR_RNDN);
  else mpfr_mul(y, t.v, x.v, MPFR_RNDN);
}

void plain(P primitive, mpfr_ptr y, mpfr_srcptr x, mpfr_srcptr second) {
  constexpr mpfr_rnd_t n = MPFR_RNDN;
  switch (primitive) {
    case P::Exp: mpfr_exp(y, x, n); return;
    case P::Exp2: mpfr_ui_pow(y, 2, x, n); return;
    case P::Exp10: mpfr_ui_pow(y, 10, x, n); return;
    case P::Expm1: mpfr_expm1(y, x, n); return;
    case P::Log: mpfr_log(y, x, n); return;
    case P::Log2: mpfr_log2(y, x, n); return;
    case P::Log10: mpfr_log10(y, x, n); return;
    case P::Log1p: mpfr_log1p(y, x, n); return;
    case P::ReciprocalRoot:
      mpfr_sqrt(y, x, n);
      mpfr_ui_div(y, 1, y, n);
      return;
    case P::CubeRoot: mpfr_rootn_ui(y, x, 3, n); return;
    case P::Hypotenuse:
      mpfr_sqr(y, x, n);
      mpfr_fma(y, second, second, y, n);
      mpfr_sqrt(y, y, n);
      if (mpfr_inf_p(x) || mpfr_inf_p(second)) mpfr_set_inf(y, 1);
      return;
    case P::Sin: mpfr_sin(y, x, n); return;
    case P::Cos: mpfr_cos(y, x, n); return;
    case P::Tan: mpfr_tan(y, x, n); return;
    case P::Asin: mpfr_asin(y, x, n); return;
    case P::Acos: mpfr_acos(y, x, n); return;
    case P::Atan: mpfr_atan(y, x, n); return;
    case P::Sinh: mpfr_sinh(y, x, n); return;
    case P::Cosh: mpfr_cosh(y, x, n); return;
    case P::Tanh: mpfr_tanh(y, x, n); return;
    case P::Asinh: mpfr_asinh(y, x, n); return;
    case P::Acosh: mpfr_acosh(y, x, n); return;
    case P::Atanh: mpfr_atanh(y, x, n); return;
    case P::Erf: mpfr_erf(y, x, n); return;
    case P::Erfc:
      mpfr_erf(y, x, n);
      mpfr_ui_sub(y, 1, y, n);
      return;
    case P::HardSwish:  // x times x/6 + 1/2 held between 0 and 1, as ONNX writes it
      if (mpfr_inf_p(x)) {
        mpfr_set_d(y, mpfr_signbit(x) ? -0.0 : HUGE_VAL, n);
        return;
      }
      mpfr_add_ui(y, x, 3, n);
      if (mpfr_sgn(y) < 0) mpfr_set_zero(y, 1);
      if (mpfr_cmp_ui(y, 6) > 0) mpfr_set_ui(y, 6, n);
      mpfr_mul(y, y, x, n);
      mpfr_div_ui(y, y, 6, n);
      return;
    case P::CosTurn:
      mpfr_mul_2ui(y, x, 1, n);
      mpfr_cospi(y, y, n);
      return;
    case P::SinTurn:
      mpfr_mul_2ui(y, x, 1, n);
      mpfr_sinpi(y, y, n);
      return;
    case P::Softsign:
      mpfr_abs(y, x, n);
      mpfr_add_ui(y, y, 1, n);
      mpfr_div(y, x, y, n);
      if (mpfr_inf_p(x)) mpfr_set_d(y, mpfr_signbit(x) ? -1 : 1, n);
      return;
    case P::Power: mpfr_pow(y, x, second, n); return;
    case P::Atan2: mpfr_atan2(y, x, second, n); return;
    default: mpfr_set_nan(y); return;
  }
}

bool is_activation(P p) {
  return p == P::Sigmoid || p == P::Silu || p == P::Gelu || p == P::GeluTanh || p == P::Softplus || p == P::Mish;
}

}  // namespace

namespace {

// `take` of the value to far more bits than the type has.
template <class Take> double with_value(Primitive primitive, ElementType type, double first, double second, Take take) {
  if (is_activation(primitive)) {
    const bool far = std::fabs(first) > far_from(primitive, type);
    const mpfr_prec_t bits = far ? 53 : bits_for(primitive, first);
    Real y(bits);
    if (far) mpfr_set_d(y.v, limit(primitive, first), MPFR_RNDN);
    else activation(primitive, first, y.v, bits);
    return take(y.v);
  }
  // Every case near a tie of these is either exact or decided within 160 bits (f64: 240); 1 + |x| of softsign needs the range of x.
  // 1 - erf cancels down to 2^-1100; squares of any exponents add up exactly.
  const bool wide = type == ElementType::F64 || primitive == P::Power;
  const bool sums = ((primitive == P::Softsign || primitive == P::HardSwish) && std::fabs(first) < 3) || (primitive == P::Erfc && first > 0 && first < 30);
  Real y(primitive == P::Hypotenuse ? 5000 : sums ? 2400 : wide ? 240 : 160);
  Real x(53);
  Real z(53);
  mpfr_set_d(x.v, first, MPFR_RNDN);
  mpfr_set_d(z.v, second, MPFR_RNDN);
  plain(primitive, y.v, x.v, z.v);
  return take(y.v);
}

}  // namespace

double value(Primitive primitive, ElementType type, double first, double second) {
  if (std::isnan(first) && primitive != P::Power && primitive != P::Hypotenuse) return first;
  return with_value(primitive, type, first, second, [&](mpfr_srcptr y) { return rounded_to(type, y); });
}

double ulps_away(Primitive primitive, double first, double second, double got) {
  return with_value(primitive, ElementType::F64, first, second, [&](mpfr_srcptr y) {
    Real error(300);
    mpfr_sub_d(error.v, y, got, MPFR_RNDN);
    const mpfr_exp_t exponent = mpfr_regular_p(y) ? std::max<mpfr_exp_t>(mpfr_get_exp(y), -1021) : -1021;
    mpfr_mul_2si(error.v, error.v, 53 - exponent, MPFR_RNDN);
    const double away = std::fabs(mpfr_get_d(error.v, MPFR_RNDA));
    return away == away ? away : std::numeric_limits<double>::infinity();
  });
}

double decode(ElementType type, std::uint64_t bits) {
  if (type == ElementType::F64) return std::bit_cast<double>(bits);
  if (type == ElementType::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == ElementType::BF16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const int sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10) & 31;
  const int fraction = static_cast<int>(bits) & 1023;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  return sign * std::ldexp(exponent == 0 ? fraction : 1024 + fraction, std::max(exponent, 1) - 25);
}

std::uint64_t encode_f32(float value) { return std::bit_cast<std::uint32_t>(value); }

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

const std::vector<Primitive>& unary_functions() {
  static const std::vector<Primitive> all{
      P::Exp,  P::Exp2, P::Exp10, P::ReciprocalRoot, P::CubeRoot, P::Erfc, P::HardSwish, P::Expm1, P::Log,   P::Log2,  P::Log10, P::Log1p,   P::Sin,      P::Cos,      P::Tan,  P::Asin,
      P::Acos, P::Atan, P::Sinh,  P::Cosh,  P::Tanh,  P::Asinh, P::Acosh,   P::Atanh,    P::Erf,      P::Sigmoid, P::Softplus,
      P::Softsign, P::Gelu, P::GeluTanh, P::Silu, P::Mish, P::CosTurn, P::SinTurn};
  return all;
}

namespace {

// Turning points: limits of ranges, where branches and saturations of the functions are, and simple numbers.
const std::vector<double>& landmarks() {
  static const std::vector<double> points{
      0, 0.125, 0.25, 0.3465735902799727, 0.41421356237309503, 0.5, 0.70710678118654757, 0.75, 0.78539816339744828, 0.9, 1, 1.25, 1.4142135623730951,
      1.5, 1.5707963267948966, 2, 2.4142135623730949, 2.5, 3, 3.1415926535897931, 3.75, 3.9192, 4, 5, 5.5, 6, 6.2831853071795862, 7, 8, 9, 9.01, 10,
      10.06, 12, 14, 14.17, 14.5, 15, 16, 16.64, 17.33, 18, 20, 22, 25, 32, 37, 38.5, 39, 40, 44, 45, 50, 64, 80, 87.3365, 88.3763, 88.7228, 89.4159,
      100, 103.97, 104, 105, 110, 120, 126, 127, 128, 149, 149.5, 150, 151, 200, 256, 300, 512, 708.4, 709.79, 710.5, 745.1, 746, 800, 1024,
      1074, 1075, 4096, 65504, 65536, 1048575, 1048576, 1048577, 2097152, 4194304, 8388607, 8388608, 16777215, 16777216, 1e9, 1e20, 1e30};
  return points;
}

template <class Float, class Word>
void add_neighbours(std::vector<Float>& out, Float center, Word reach) {
  const Word middle = std::bit_cast<Word>(center);
  for (Word d = 0; d <= 2 * reach; ++d) {
    const Word bits = middle + d >= reach ? middle + d - reach : 0;
    out.push_back(std::bit_cast<Float>(bits));
    out.push_back(-std::bit_cast<Float>(bits));
  }
}

template <class Float, class Word, int FractionBits>
std::vector<Float> samples(std::size_t count, std::uint64_t seed, int exponents, Word reach) {
  std::vector<Float> out;
  std::mt19937_64 random(seed);
  using limits = std::numeric_limits<Float>;
  for (const Float f : {limits::infinity(), limits::max(), limits::min(), limits::denorm_min(), limits::quiet_NaN()}) {
    out.push_back(f);
    out.push_back(-f);
  }
  for (const double p : landmarks()) add_neighbours<Float, Word>(out, static_cast<Float>(p), reach);
  add_neighbours<Float, Word>(out, limits::min(), reach);
  // A third uniform in bits within each exponent; of the rest, fewer bits (ties), and uniform in value near the origin.
  while (out.size() < count) {
    const auto word = static_cast<Word>(random());
    const auto exponent = static_cast<Word>(random() % static_cast<std::uint64_t>(exponents));
    const Word fraction = word & ((Word{1} << FractionBits) - 1);
    const Word sign = word & (Word{1} << (8 * sizeof(Word) - 1));
    out.push_back(std::bit_cast<Float>(sign | (exponent << FractionBits) | fraction));
    const Word few = fraction & ~((Word{1} << (FractionBits - 11)) - 1);
    const auto near = static_cast<Word>(static_cast<Word>(exponents) / 2 - 12 + random() % 22);
    out.push_back(std::bit_cast<Float>(sign | (near << FractionBits) | few));
    const double width = std::array{1.0, 4.0, 20.0, 120.0}[random() % 4];
    out.push_back(static_cast<Float>((static_cast<double>(random() >> 11) * 0x1p-52 - 1) * width));
  }
  return out;
}

}  // namespace

std::vector<float> f32_samples(std::size_t count, std::uint64_t seed) { return samples<float, std::uint32_t, 23>(count, seed, 255, 16); }
std::vector<double> f64_samples(std::size_t count, std::uint64_t seed) { return samples<double, std::uint64_t, 52>(count, seed, 2047, 2); }

}  // namespace ulpian::oracle
