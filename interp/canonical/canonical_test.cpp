#include "interp/canonical/canonical.h"

#include <gtest/gtest.h>

#include "interp/canonical/turns.h"

namespace ulpian::interp {
namespace {

using E = ElementType;
using P = Primitive;

std::optional<std::int64_t> z(P p, std::int64_t a, std::int64_t b = 0) {
  const std::int64_t x[2] = {a, b};
  return integer_primitive(p, std::span(x, static_cast<std::size_t>(row_of(p).arity)));
}

TEST(Integers, DivisionsFloorOrTruncateAndAreTotal) {
  const std::int64_t a[] = {7, -7, 7, -7, 0, 5, -5};
  const std::int64_t b[] = {2, 2, -2, -2, 3, 0, 0};
  const std::int64_t div[] = {3, -4, -4, 3, 0, 0, 0}, mod[] = {1, 1, -1, -1, 0, 5, -5}, quot[] = {3, -3, -3, 3, 0, 0, 0}, rem[] = {1, -1, 1, -1, 0, 5, -5};
  for (std::size_t k = 0; k < std::size(a); ++k) {
    EXPECT_EQ(z(P::FloorDivide, a[k], b[k]), div[k]);
    EXPECT_EQ(z(P::Modulo, a[k], b[k]), mod[k]);
    EXPECT_EQ(z(P::Quotient, a[k], b[k]), quot[k]);
    EXPECT_EQ(z(P::Remainder, a[k], b[k]), rem[k]);
  }
  EXPECT_EQ(z(P::FloorDivide, INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(z(P::Modulo, INT64_MIN, -1), 0);
}

TEST(Integers, OverflowHasNoValue) {
  EXPECT_EQ(z(P::Add, INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(z(P::Subtract, INT64_MIN, 1), std::nullopt);
  EXPECT_EQ(z(P::Multiply, std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(z(P::Multiply, -(std::int64_t{1} << 32), std::int64_t{1} << 31), INT64_MIN);
  EXPECT_EQ(z(P::Negate, INT64_MIN), std::nullopt);
  EXPECT_EQ(z(P::Absolute, INT64_MIN), std::nullopt);
  EXPECT_EQ(z(P::ShiftLeft, 1, 62), std::int64_t{1} << 62);
  EXPECT_EQ(z(P::ShiftLeft, 1, 63), std::nullopt);
  EXPECT_EQ(z(P::ShiftLeft, 0, 500), 0);
  EXPECT_EQ(z(P::ShiftRight, -5, 100), -1);
}

TEST(Integers, Powers) {
  EXPECT_EQ(z(P::Power, 3, 39), 4052555153018976267);
  EXPECT_EQ(z(P::Power, 3, 40), std::nullopt);
  EXPECT_EQ(z(P::Power, -2, 63), INT64_MIN);
  EXPECT_EQ(z(P::Power, 2, 63), std::nullopt);
  EXPECT_EQ(z(P::Power, 0, 0), 1);
  EXPECT_EQ(z(P::Power, -1, INT64_MAX), -1);
  EXPECT_EQ(z(P::Power, 5, -1), 0);
}

TEST(Conversions, BetweenZAndMachineTypes) {
  EXPECT_EQ(integer_of(E::I8, 0x80), -128);
  EXPECT_EQ(integer_of(E::U64, ~Bits{0}), std::nullopt);
  EXPECT_EQ(machine_of(300, E::U8, CastMode::Plain), 44u);
  EXPECT_EQ(machine_of(300, E::U8, CastMode::Saturate), 255u);
  EXPECT_EQ(machine_of(-1, E::I32, CastMode::Plain), 0xffffffffu);
  EXPECT_EQ(machine_of(16777217, E::F32, CastMode::Plain), 0x4b800000u);  // 2^24 + 1 to even
  EXPECT_EQ(machine_of(3, E::Bool, CastMode::Plain), 1u);
}

TEST(Reductions, NeutralValuesAndTheSplit) {
  EXPECT_EQ(neutral(core::ReduceKind::Maximum, E::F32), 0xff800000u);
  EXPECT_EQ(neutral(core::ReduceKind::Minimum, E::F8E4M3FN), 0x7eu);
  EXPECT_EQ(neutral(core::ReduceKind::Maximum, E::U8), 0u);
  EXPECT_EQ(neutral(core::ReduceKind::Minimum, E::I16), 0x7fffu);
  EXPECT_EQ(neutral(core::ReduceKind::Product, E::BF16), 0x3f80u);
  const std::int64_t left[] = {1, 2, 2, 4, 4, 4, 4, 8};
  for (std::int64_t n = 2; n <= 9; ++n) EXPECT_EQ(left_part(n), left[n - 2]);
}

TEST(Keys, CompareAsValues) {
  EXPECT_EQ(compare_keys(E::F32, 0x80000000, 0), 0);
  EXPECT_GT(compare_keys(E::F32, 0xffc00001, 0x7f800000), 0);  // NaN above infinity, whatever its sign
  EXPECT_EQ(compare_keys(E::F32, 0xffc00001, 0x7fc00000), 0);
  EXPECT_LT(compare_keys(E::I8, 0xff, 0), 0);
  EXPECT_TRUE(beats(core::ReduceKind::ArgMin, E::F32, 0x7fc00000, 0xff800000));
  EXPECT_FALSE(beats(core::ReduceKind::ArgMin, E::F32, 0xff800000, 0x7fc00000));
}

// --- reals

Real r(P p, const Real& a) {
  auto v = real_primitive(p, std::span(&a, 1));
  EXPECT_TRUE(v.has_value()) << name_of(p);
  return v.value_or(Real());
}
Real r(P p, const Real& a, const Real& b) {
  const Real x[2] = {a, b};
  auto v = real_primitive(p, x);
  EXPECT_TRUE(v.has_value()) << name_of(p);
  return v.value_or(Real());
}
Real q(std::int64_t n, std::int64_t d) { return Exact::ratio(n, d); }
Bits f64(const Real& a) { return round_to(a, E::F64, CastMode::Exact).value_or(0xdead); }
Bits of(double x) { return std::bit_cast<Bits>(x); }

TEST(Reals, StayRationalWhereTheyAre) {
  const Real third = r(P::Divide, Real(1), Real(3));
  EXPECT_EQ(*r(P::Multiply, third, Real(3)).exact(), Exact(1));
  EXPECT_EQ(*r(P::SquareRoot, q(4, 9)).exact(), Exact::ratio(2, 3));
  EXPECT_EQ(*r(P::Log2, q(1, 1024)).exact(), Exact(-10));
  EXPECT_EQ(*r(P::Log10, Real(1000)).exact(), Exact(3));
  EXPECT_EQ(*r(P::Exp2, Real(-3)).exact(), Exact::ratio(1, 8));
  EXPECT_EQ(*r(P::Power, q(2, 3), Real(-2)).exact(), Exact::ratio(9, 4));
  EXPECT_EQ(*r(P::Power, Real(49), q(1, 2)).exact(), Exact(7));
  EXPECT_EQ(*r(P::Exp, Real(0)).exact(), Exact(1));
  EXPECT_EQ(*r(P::CosTurn, q(1, 3)).exact(), Exact::ratio(-1, 2));
  EXPECT_EQ(*r(P::SinTurn, q(-7, 4)).exact(), Exact(1));
  EXPECT_EQ(*r(P::Modulo, q(-7, 2), Real(2)).exact(), Exact::ratio(1, 2));
  EXPECT_EQ(*r(P::Remainder, q(-7, 2), Real(2)).exact(), Exact::ratio(-3, 2));
  // A rest of 0: with the sign of the dividend (C's fmod), or of the divisor where the quotient is floored (Python's %).
  const auto is_negative = [](const Real& x) { return x.exact()->is_negative_zero(); };
  const Real minus_zero(Exact::negative_zero()), minus_infinity(Exact::infinity(true));
  EXPECT_TRUE(is_negative(r(P::Remainder, Real(-6), Real(3))));
  EXPECT_FALSE(is_negative(r(P::Remainder, Real(6), Real(-3))));
  EXPECT_TRUE(is_negative(r(P::Remainder, minus_zero, Real(3))));
  EXPECT_TRUE(is_negative(r(P::Remainder, minus_zero, minus_infinity)));
  EXPECT_FALSE(is_negative(r(P::Modulo, Real(-6), Real(3))));
  EXPECT_TRUE(is_negative(r(P::Modulo, Real(6), Real(-3))));
  EXPECT_FALSE(is_negative(r(P::Modulo, minus_zero, Real(3))));
  EXPECT_TRUE(is_negative(r(P::Modulo, Real(0), minus_infinity)));
}

TEST(Reals, SpecialValuesFollowIeee) {
  const Real infinity(Exact::infinity(false)), nan(Exact::nan());
  EXPECT_TRUE(r(P::Divide, Real(0), Real(0)).exact()->is_nan());
  EXPECT_TRUE(r(P::Divide, Real(-1), Real(Exact::negative_zero())).exact()->is_infinite());
  EXPECT_TRUE(r(P::Log, Real(-1)).exact()->is_nan());
  EXPECT_TRUE(r(P::Log, Real(0)).exact()->is_infinite());
  EXPECT_TRUE(r(P::SquareRoot, Real(-1)).exact()->is_nan());
  EXPECT_TRUE(r(P::Exp, Real(Exact::infinity(true))).exact()->is_zero());
  EXPECT_EQ(*r(P::Tanh, infinity).exact(), Exact(1));
  EXPECT_TRUE(r(P::Cos, infinity).exact()->is_nan());
  EXPECT_TRUE(r(P::Maximum, nan, Real(1)).exact()->is_nan());
  EXPECT_TRUE(r(P::Maximum, Real(Exact::negative_zero()), Real(0)).exact()->is_negative() == false);
  const Real root = r(P::SquareRoot, Real(2));
  EXPECT_TRUE(r(P::Add, root, infinity).exact()->is_infinite());
  EXPECT_TRUE(r(P::Multiply, root, nan).exact()->is_nan());
  EXPECT_TRUE(r(P::Multiply, root, Real(Exact::infinity(true))).exact()->is_negative());
  EXPECT_TRUE(r(P::Divide, root, Real(0)).exact()->is_infinite());
  EXPECT_EQ(f64(r(P::Atan, infinity)), of(0x1.921fb54442d18p+0));
}

// Correctly rounded f64 values, from the published expansions: sqrt 2, e, ln 2, pi/4, ...
TEST(Reals, IrrationalOnesRoundOnce) {
  EXPECT_EQ(f64(r(P::SquareRoot, Real(2))), of(0x1.6a09e667f3bcdp+0));
  EXPECT_EQ(f64(r(P::Exp, Real(1))), of(0x1.5bf0a8b145769p+1));
  EXPECT_EQ(f64(r(P::Log, Real(2))), of(0x1.62e42fefa39efp-1));
  EXPECT_EQ(f64(r(P::Atan, Real(1))), of(0x1.921fb54442d18p-1));
  EXPECT_EQ(f64(r(P::Atan2, Real(-1), Real(-1))), of(-0x1.2d97c7f3321d2p+1));
  EXPECT_EQ(f64(r(P::Sigmoid, Real(1))), of(0x1.764d4f5d5a2bdp-1));  // 0.7310585786300048792511592418...
  // Far apart magnitudes: exp(-800) is below the least double, and still above 0.
  const Real tiny = r(P::Exp, Real(-800));
  EXPECT_EQ(f64(tiny), 0u);
  EXPECT_EQ(*compare(tiny, Real(0)), std::partial_ordering::greater);
  // (1 + exp(-800)) lies above the tie 1 + 2^-53 only by that much.
  const Real above_tie = r(P::Add, Real(Exact(1) + Exact::power_of_two(-53)), tiny);
  EXPECT_EQ(f64(above_tie), of(1 + 0x1p-52));
}

TEST(Reals, ElementaryFunctionsAgreeWithTheCorrectlyRoundedOnesOfTheMachineTypes) {
  const P functions[] = {P::Exp, P::Exp2, P::Expm1, P::Log, P::Log2, P::Log10, P::Log1p, P::Sin, P::Cos, P::Tan, P::Asin, P::Acos, P::Atan, P::Sinh, P::Cosh,
                         P::Tanh, P::Asinh, P::Acosh, P::Atanh, P::Erf, P::Sigmoid, P::Softplus, P::Softsign, P::Gelu, P::GeluTanh, P::Silu, P::Mish, P::CosTurn,
                         P::SinTurn};
  for (P p : functions)
    for (float x : {0.3f, -0.7f, 1.75f, -5.5f, 0.0f, 11.0f}) {
      const Bits argument = std::bit_cast<std::uint32_t>(x);
      const Bits expected = machine_primitive(p, E::F32, std::span(&argument, 1));
      const auto got = round_to(r(p, Real(Exact::of(E::F32, argument))), E::F32, CastMode::Exact);
      ASSERT_TRUE(got.has_value()) << name_of(p) << " " << x;
      EXPECT_TRUE(same_element(E::F32, *got, expected)) << name_of(p) << " of " << x << ": " << std::hex << *got << ", not " << expected;
    }
}

TEST(Reals, FloorsAndComparisonsOfIrrationalsAreDecided) {
  const Real pi = r(P::Multiply, Real(4), r(P::Atan, Real(1)));
  EXPECT_EQ(to_integer(P::Floor, r(P::Multiply, pi, Real(1000000000000))), 3141592653589);
  EXPECT_EQ(to_integer(P::Ceiling, r(P::Negate, pi)), -3);
  EXPECT_EQ(*compare(pi, q(355, 113)), std::partial_ordering::less);
  EXPECT_EQ(*compare(pi, q(333, 106)), std::partial_ordering::greater);
  EXPECT_EQ(to_integer(P::Floor, Real(Exact::infinity(true))), INT64_MIN);
  EXPECT_EQ(to_integer(P::Floor, Real(Exact::nan())), 0);
  EXPECT_EQ(to_integer(P::RoundEven, q(5, 2)), 2);
}

TEST(Reals, WhatNoPrecisionDecidesHasNoAnswer) {
  const Real root = r(P::SquareRoot, Real(2));
  const Real square = r(P::Multiply, root, root);
  EXPECT_EQ(compare(square, Real(2)), std::nullopt);
  EXPECT_EQ(to_integer(P::Floor, square), std::nullopt);
  EXPECT_EQ(f64(square), of(2.0));  // 2 is no boundary of rounding
  Real deep = root;
  for (int k = 0; k < 2000; ++k) {
    const Real x[2] = {deep, root};
    const auto next = real_primitive(P::Add, x);
    if (!next) return;
    deep = *next;
  }
  FAIL() << "no limit on depth";
}

TEST(Turns, CosinesOfAllFractionsSumToZero) {
  for (std::int64_t n = 2; n <= 60; ++n) {
    Real sum;
    for (std::int64_t k = 0; k < n; ++k) sum = r(P::Add, sum, r(P::CosTurn, q(k, n)));
    EXPECT_EQ(*compare(sum, Real(0)), std::partial_ordering::equivalent) << n;
    EXPECT_EQ(round_to(sum, E::F32, CastMode::Exact), 0u) << n;
  }
}

TEST(Turns, KnownIdentities) {
  // cos 36 - cos 72 = 1/2; cos 36 * cos 72 = 1/4; sin^2 + cos^2 = 1; the product of cos(k pi / 7), k = 1..3, is 1/8.
  const Real c36 = r(P::CosTurn, q(1, 10)), c72 = r(P::CosTurn, q(1, 5));
  EXPECT_EQ(*compare(r(P::Subtract, c36, c72), q(1, 2)), std::partial_ordering::equivalent);
  EXPECT_EQ(to_integer(P::Floor, r(P::Multiply, Real(2), r(P::Subtract, c36, c72))), 1);
  EXPECT_EQ(*compare(r(P::Multiply, c36, c72), q(1, 4)), std::partial_ordering::equivalent);
  const Real s = r(P::SinTurn, q(2, 17)), c = r(P::CosTurn, q(2, 17));
  const Real one = r(P::Add, r(P::Multiply, s, s), r(P::Multiply, c, c));
  ASSERT_NE(one.exact(), nullptr);
  EXPECT_EQ(*one.exact(), Exact(1));
  const Real product = r(P::Multiply, r(P::CosTurn, q(1, 14)), r(P::Multiply, r(P::CosTurn, q(2, 14)), r(P::CosTurn, q(3, 14))));
  EXPECT_EQ(*compare(product, q(1, 8)), std::partial_ordering::equivalent);
  // Near is not equal.
  EXPECT_EQ(*compare(product, Real(Exact::ratio(1, 8) + Exact::power_of_two(-1000))), std::partial_ordering::less);
  // A tie of f32 rounds to even: 1 + 2^-24 plus an exact zero.
  const Real tie = r(P::Add, Real(Exact(1) + Exact::power_of_two(-24)), r(P::Subtract, r(P::Subtract, c36, c72), q(1, 2)));
  EXPECT_EQ(round_to(tie, E::F32, CastMode::Exact), 0x3f800000u);
  EXPECT_EQ(f64(r(P::CosTurn, q(1, 7))), of(0.62348980185873353));
}

}  // namespace
}  // namespace ulpian::interp
