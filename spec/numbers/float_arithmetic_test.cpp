// Floats against MPFR: every pair of the 8-bit types, every input of unary primitives up to 16 bits, boundary grids and random pairs for
// the rest. The generic code and the host's paths are both held to it.
#include "spec/numbers/float_arithmetic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "spec/numbers/mpfr_oracle.h"

namespace ulpian {
namespace {

using oracle::Format;
using oracle::Number;
using P = Primitive;

constexpr std::uint64_t Seed = 20240607;

std::string describe(const Format& f, P primitive, std::initializer_list<Bits> arguments, double expected) {
  std::string text = fmt::format("{} {}(", name_of(f.type), name_of(primitive));
  for (Bits a : arguments) text += fmt::format(" {:#x}={}", a, oracle::decode(f, a));
  return text + fmt::format(" ) must be {} ({:a}); seed {}", expected, expected, Seed);
}

Bits generic(P primitive, const FloatFormat& f, Bits a, Bits b) {
  switch (primitive) {
    case P::Add: return bits::add(f, a, b);
    case P::Subtract: return bits::subtract(f, a, b);
    case P::Multiply: return bits::multiply(f, a, b);
    case P::Divide: return bits::divide(f, a, b);
    case P::Remainder: return bits::remainder(f, a, b);
    case P::Modulo: return bits::modulo(f, a, b);
    case P::SquareRoot: return bits::square_root(f, a);
    case P::Reciprocal: return bits::divide(f, bits::one(f), a);
    default: std::abort();
  }
}

// a - b * floor(a / b), rounded once.
int mpfr_modulo(mpfr_ptr y, mpfr_ptr a, mpfr_ptr b) {
  if (mpfr_number_p(a) != 0 && mpfr_inf_p(b) != 0) {
    if (mpfr_zero_p(a) != 0) return mpfr_set_zero(y, mpfr_sgn(b)), 0;
    return mpfr_sgn(a) == mpfr_sgn(b) ? mpfr_set(y, a, MPFR_RNDN) : mpfr_set(y, b, MPFR_RNDN);
  }
  Number rest(60);  // exact: no longer than the arguments
  mpfr_fmod(rest, a, b, MPFR_RNDN);
  if (mpfr_nan_p(rest) != 0) return mpfr_set_nan(y), 0;
  if (mpfr_zero_p(rest) != 0) return mpfr_set_zero(y, mpfr_signbit(b) != 0 ? -1 : 1), 0;
  if (mpfr_sgn(rest) == mpfr_sgn(b)) return mpfr_set(y, rest, MPFR_RNDN);
  return mpfr_add(y, rest, b, MPFR_RNDN);
}

double expected(const Format& f, P primitive, mpfr_ptr a, mpfr_ptr b) {
  return oracle::rounded(f, [&](mpfr_ptr y) {
    switch (primitive) {
      case P::Add: return mpfr_add(y, a, b, MPFR_RNDN);
      case P::Subtract: return mpfr_sub(y, a, b, MPFR_RNDN);
      case P::Multiply: return mpfr_mul(y, a, b, MPFR_RNDN);
      case P::Divide: return mpfr_div(y, a, b, MPFR_RNDN);
      case P::Remainder: return mpfr_fmod(y, a, b, MPFR_RNDN);
      case P::Modulo: return mpfr_modulo(y, a, b);
      case P::SquareRoot: return mpfr_sqrt(y, a, MPFR_RNDN);
      case P::Reciprocal: return mpfr_ui_div(y, 1, a, MPFR_RNDN);
      default: std::abort();
    }
  });
}

constexpr std::array Rounded = {P::Add, P::Subtract, P::Multiply, P::Divide, P::Remainder, P::Modulo};

class Checker {
public:
  explicit Checker(ElementType type) : f_(oracle::format(type)), format_(format_of(type)) {}

  [[nodiscard]] bool pair(Bits a, Bits b) {
    const double x = oracle::decode(f_, a), y = oracle::decode(f_, b);
    oracle::set(x_, x);
    oracle::set(y_, y);
    for (P primitive : Rounded) {
      const double e = expected(f_, primitive, x_, y_);
      if (!both(primitive, a, b, e)) return false;
    }
    return order(a, b, x, y);
  }

  [[nodiscard]] bool single(Bits a) {
    const double x = oracle::decode(f_, a);
    oracle::set(x_, x);
    for (P primitive : {P::SquareRoot, P::Reciprocal})
      if (!both(primitive, a, 0, expected(f_, primitive, x_, x_))) return false;
    const bool nan = std::isnan(x);
    const double no_zero = f_.type == ElementType::F8E8M0 ? std::nan("") : 0.0;
    const auto integral = [&](double r) { return nan ? std::nan("") : r == 0 ? (std::isnan(no_zero) ? no_zero : std::copysign(0.0, x)) : r; };
    const auto positive = [&](double r) { return f_.negative_zero || r != 0 ? r : 0.0; };
    const double negated = f_.type == ElementType::F8E8M0 ? std::nan("") : positive(-x);
    return value(P::Floor, a, positive(integral(std::floor(x)))) && value(P::Ceiling, a, positive(integral(std::ceil(x)))) &&
           value(P::Truncate, a, positive(integral(std::trunc(x)))) && value(P::RoundEven, a, positive(integral(std::nearbyint(x)))) &&
           value(P::Absolute, a, std::abs(x)) && value(P::Negate, a, negated) &&
           value(P::Sign, a, nan || x == 0 ? x : x > 0 ? 1 : -1) && truth(P::IsNan, a, a, nan) && truth(P::IsInfinite, a, a, std::isinf(x));
  }

  [[nodiscard]] bool triple(Bits a, Bits b, Bits c) {
    oracle::set(x_, oracle::decode(f_, a));
    oracle::set(y_, oracle::decode(f_, b));
    oracle::set(z_, oracle::decode(f_, c));
    const double e = oracle::rounded(f_, [&](mpfr_ptr y) { return mpfr_fma(y, x_, y_, z_, MPFR_RNDN); });
    const Bits direct = bits::fused_multiply_add(format_, a, b, c), entry = fused_multiply_add(f_.type, a, b, c);
    EXPECT_TRUE(oracle::stands_for(f_, direct, e)) << describe(f_, P::Multiply, {a, b, c}, e) << fmt::format(" plus; got {:#x}", direct);
    EXPECT_EQ(direct, entry) << describe(f_, P::Multiply, {a, b, c}, e) << " plus, host";
    return oracle::stands_for(f_, direct, e) && direct == entry;
  }

private:
  bool both(P primitive, Bits a, Bits b, double e) {
    const Bits direct = generic(primitive, format_, a, b);
    EXPECT_TRUE(oracle::stands_for(f_, direct, e)) << describe(f_, primitive, {a, b}, e) << fmt::format("; generic code gives {:#x}", direct);
    const std::array<Bits, 2> arguments{a, b};
    const Bits entry = apply(primitive, f_.type, std::span(arguments).first(static_cast<std::size_t>(row_of(primitive).arity)));
    EXPECT_EQ(direct, entry) << describe(f_, primitive, {a, b}, e) << " (host's path)";
    return oracle::stands_for(f_, direct, e) && direct == entry;
  }
  bool value(P primitive, Bits a, double e) {
    const std::array<Bits, 1> arguments{a};
    const Bits got = apply(primitive, f_.type, arguments);
    if (std::isnan(e) && f_.nan == 0) e = f_.largest;
    if (std::isfinite(e) && std::abs(e) > f_.largest) e = oracle::out_of_range(f_, e < 0, false);  // 7.5 of f6e2m3, rounded up
    EXPECT_TRUE(oracle::stands_for(f_, got, e)) << describe(f_, primitive, {a}, e) << fmt::format("; got {:#x}", got);
    return oracle::stands_for(f_, got, e);
  }
  bool truth(P primitive, Bits a, Bits b, bool e) {
    const std::array<Bits, 2> arguments{a, b};
    const Bits got = apply(primitive, f_.type, std::span(arguments).first(static_cast<std::size_t>(row_of(primitive).arity)));
    EXPECT_EQ(got, e ? 1u : 0u) << describe(f_, primitive, {a, b}, e);
    return got == (e ? 1u : 0u);
  }
  bool order(Bits a, Bits b, double x, double y) {
    const bool nan = std::isnan(x) || std::isnan(y);
    const double least = nan ? std::nan("") : x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
    const double greatest = nan ? std::nan("") : x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
    const std::array<Bits, 2> arguments{a, b};
    const Bits low = apply(P::Minimum, f_.type, arguments), high = apply(P::Maximum, f_.type, arguments);
    EXPECT_TRUE(oracle::stands_for(f_, low, least)) << describe(f_, P::Minimum, {a, b}, least);
    EXPECT_TRUE(oracle::stands_for(f_, high, greatest)) << describe(f_, P::Maximum, {a, b}, greatest);
    return oracle::stands_for(f_, low, least) && oracle::stands_for(f_, high, greatest) && truth(P::Equal, a, b, x == y) &&
           truth(P::NotEqual, a, b, x != y) && truth(P::Less, a, b, x < y) && truth(P::LessEqual, a, b, x <= y) &&
           truth(P::Greater, a, b, x > y) && truth(P::GreaterEqual, a, b, x >= y);
  }

  const Format& f_;
  const FloatFormat& format_;
  Number x_{53}, y_{53}, z_{53};
};

constexpr ElementType Small[] = {ElementType::F4E2M1,  ElementType::F6E2M3, ElementType::F6E3M2, ElementType::F8E4M3FN,   ElementType::F8E4M3FNUZ,
                                 ElementType::F8E5M2,  ElementType::F8E5M2FNUZ, ElementType::F8E8M0};
constexpr ElementType Large[] = {ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64};

class SmallFloat : public testing::TestWithParam<ElementType> {};
class LargeFloat : public testing::TestWithParam<ElementType> {};
const auto Name = [](const auto& info) { return std::string(name_of(info.param)); };
INSTANTIATE_TEST_SUITE_P(Numbers, SmallFloat, testing::ValuesIn(Small), Name);
INSTANTIATE_TEST_SUITE_P(Numbers, LargeFloat, testing::ValuesIn(Large), Name);

TEST_P(SmallFloat, every_pair_agrees_with_mpfr) {
  Checker check(GetParam());
  const Bits codes = Bits{1} << bits_of(GetParam());
  for (Bits a = 0; a < codes; ++a) {
    ASSERT_TRUE(check.single(a));
    for (Bits b = 0; b < codes; ++b) ASSERT_TRUE(check.pair(a, b));
  }
}

TEST_P(SmallFloat, fused_multiply_add_agrees_with_mpfr) {
  Checker check(GetParam());
  std::mt19937_64 random(Seed);
  const Bits mask = (Bits{1} << bits_of(GetParam())) - 1;
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(check.triple(random() & mask, random() & mask, random() & mask));
}

TEST_P(LargeFloat, boundary_grid_agrees_with_mpfr) {
  Checker check(GetParam());
  const std::vector<Bits> grid = oracle::grid(GetParam());
  for (Bits a : grid) {
    ASSERT_TRUE(check.single(a));
    for (Bits b : grid) ASSERT_TRUE(check.pair(a, b));
  }
}

TEST_P(LargeFloat, fused_multiply_add_agrees_with_mpfr_on_the_grid) {
  Checker check(GetParam());
  const std::vector<Bits> grid = oracle::grid(GetParam());
  for (std::size_t i = 0; i < grid.size(); ++i)
    for (std::size_t j = i % 2; j < grid.size(); j += 2)
      for (std::size_t k = j % 3; k < grid.size(); k += 3) ASSERT_TRUE(check.triple(grid[i], grid[j], grid[k]));
}

// Random codes, and pairs whose exponents are near each other, so that alignment, cancellation and ties occur.
class Draw {
public:
  Draw(ElementType type, std::uint64_t seed) : f_(oracle::format(type)), random_(seed) {}
  Bits any() { return random_() >> (64 - f_.width); }
  Bits near(Bits a) {
    const Bits r = random_();
    const Bits sign = (r & 1) << (f_.width - 1), below = (Bits{1} << (f_.width - 1)) - 1;
    const auto shift = static_cast<Bits>(static_cast<std::int64_t>((r >> 1) % 61) - 30) << f_.fraction;
    Bits fraction = random_() & ((Bits{1} << f_.fraction) - 1);
    if ((r >> 8 & 3) == 0) fraction &= ~Bits{0} << (random_() % 64);  // trailing zeros make ties
    return sign | (((a & ~((Bits{1} << f_.fraction) - 1)) + shift + fraction) & below);
  }

private:
  const Format& f_;
  std::mt19937_64 random_;
};

TEST_P(LargeFloat, random_pairs_agree_with_mpfr) {
  Checker check(GetParam());
  Draw draw(GetParam(), Seed);
  for (int i = 0; i < 400000; ++i) {
    const Bits a = draw.any(), b = i % 4 == 0 ? draw.any() : draw.near(a);
    ASSERT_TRUE(check.pair(a, b));
  }
}

TEST_P(LargeFloat, random_fused_multiply_adds_agree_with_mpfr) {
  Checker check(GetParam());
  Draw draw(GetParam(), Seed + 1);
  const Bits one = Bits{static_cast<Bits>(oracle::format(GetParam()).bias)} << oracle::format(GetParam()).fraction;
  for (int i = 0; i < 500000; ++i) {
    const Bits a = i % 4 == 0 ? draw.any() : draw.near(one), b = draw.near(i % 4 == 0 ? draw.any() : one);
    // Often the addend is near minus the product.
    const Bits product = bits::multiply(format_of(GetParam()), a, b);
    ASSERT_TRUE(check.triple(a, b, i % 3 == 0 ? draw.near(product) : i % 3 == 1 ? bits::negate(format_of(GetParam()), product) : draw.any()));
  }
}

TEST_P(LargeFloat, unary_primitives_agree_with_mpfr) {
  Checker check(GetParam());
  Draw draw(GetParam(), Seed + 2);
  const Bits one = Bits{static_cast<Bits>(oracle::format(GetParam()).bias)} << oracle::format(GetParam()).fraction;
  if (bits_of(GetParam()) == 16)
    for (Bits a = 0; a < 65536; ++a) ASSERT_TRUE(check.single(a));
  else
    for (int i = 0; i < 500000; ++i) ASSERT_TRUE(check.single(i % 2 == 0 ? draw.any() : draw.near(one)));
}

// bf16 has the exponents of f32, in which the host computes it: every product and quotient of significands whose result is subnormal.
TEST(Float, bf16_below_its_normal_range_is_rounded_once) {
  const FloatFormat& f = format_of(ElementType::BF16);
  for (Bits x = 0; x < 128; ++x)
    for (Bits y = 0; y < 128; ++y)
      for (Bits exponent = 1; exponent <= 16; ++exponent) {
        // Products from 2^-137 and quotients from 2^-135 up to beyond the least normal number, 2^-126.
        const std::array<Bits, 2> factors{(Bits{70} << 7) | x, ((exponent + 46) << 7) | y};
        const std::array<Bits, 2> ratio{(exponent << 7) | x, (Bits{135} << 7) | y};
        ASSERT_EQ(apply(P::Multiply, ElementType::BF16, factors), bits::multiply(f, factors[0], factors[1])) << factors[0] << " " << factors[1];
        ASSERT_EQ(apply(P::Divide, ElementType::BF16, ratio), bits::divide(f, ratio[0], ratio[1])) << ratio[0] << " " << ratio[1];
      }
}

// nextafter by its definition: nothing lies between, and it lies towards the target.
TEST(Float, next_after_takes_one_step) {
  for (const Format& f : oracle::Formats) {
    if (f.width > 16) continue;
    std::mt19937_64 random(Seed);
    const Bits codes = Bits{1} << f.width;
    for (Bits a = 0; a < codes; a += f.width == 8 ? 1 : 7) {
      const Bits b = random() % codes;
      const std::array<Bits, 2> arguments{a, b};
      const Bits got = apply(P::NextAfter, f.type, arguments);
      const double x = oracle::decode(f, a), y = oracle::decode(f, b), z = oracle::decode(f, got);
      if (std::isnan(x) || std::isnan(y)) {
        ASSERT_EQ(got, f.nan);
      } else if (x == y) {
        ASSERT_EQ(got, b);
      } else {
        ASSERT_TRUE(x < y ? x < z && z <= y : y <= z && z < x) << describe(f, P::NextAfter, {a, b}, z);
        if (std::isinf(z)) {
          ASSERT_EQ(std::abs(x), f.largest);
        } else if (std::isinf(x)) {
          ASSERT_EQ(std::abs(z), f.largest);
        } else {
          const double middle = x + (z - x) / 2;  // rounds to one of the two: no value between
          const double nearest = oracle::rounded(f, [&](mpfr_ptr r) { return mpfr_set_d(r, middle, MPFR_RNDN); });
          ASSERT_TRUE(nearest == x || nearest == z) << describe(f, P::NextAfter, {a, b}, z);
        }
      }
    }
  }
  for (int i = 0; i < 1000; ++i) {
    std::mt19937_64 random(Seed + static_cast<std::uint64_t>(i));
    const std::array<Bits, 2> arguments{random(), random()};
    const double e = std::nextafter(std::bit_cast<double>(arguments[0]), std::bit_cast<double>(arguments[1]));
    ASSERT_TRUE(oracle::stands_for(oracle::format(ElementType::F64), apply(P::NextAfter, ElementType::F64, arguments), e));
  }
}

TEST(Float, a_primitive_that_is_not_defined_is_our_bug) {
  const std::array<Bits, 2> arguments{0, 0};
  EXPECT_THROW(apply(P::BitAnd, ElementType::F32, arguments), Bug);
  EXPECT_THROW(apply(P::Divide, ElementType::I32, arguments), Bug);
  EXPECT_THROW(apply(P::Exp, ElementType::F32, std::span(arguments).first(1)), Bug);
  EXPECT_THROW(apply(P::Add, ElementType::F32, std::span(arguments).first(1)), Bug);
  EXPECT_THROW(apply(P::Add, ElementType::String, arguments), Bug);
}

}  // namespace
}  // namespace ulpian
