// The slow way (elementary, on one element) against the oracle's other formulas, and special values against the standard's text.
#include "spec/functions/functions.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "spec/functions/test_oracle.h"

namespace ulpian {
namespace {

using P = Primitive;
using E = ElementType;

constexpr double Inf = std::numeric_limits<double>::infinity();
constexpr double Nan = std::numeric_limits<double>::quiet_NaN();

Bits f32(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

double on_f32(P p, double x) {
  const std::array<Bits, 1> a{f32(x)};
  return oracle::decode(E::F32, elementary(p, E::F32, a));
}
double on_f32(P p, double x, double y) {
  const std::array<Bits, 2> a{f32(x), f32(y)};
  return oracle::decode(E::F32, elementary(p, E::F32, a));
}

class EveryFunction : public testing::TestWithParam<P> {};

std::string function_name(const testing::TestParamInfo<P>& info) { return std::string(name_of(info.param)); }

// `step` leaves most inputs of the slow way out: kernels_test.cpp goes through all of them on the fast one, against the same oracle.
void check(P p, E type, Bits bits) {
  const std::array<Bits, 1> arguments{bits};
  const double x = oracle::decode(type, bits);
  const double expected = oracle::value(p, type, x);
  const Bits found = elementary(p, type, arguments);
  // On f64 the nearest number or, where the function lies next to the middle of two, the other one (numerics.md, section 4).
  if (type == E::F64 && !oracle::same(oracle::decode(type, found), expected)) {
    ASSERT_LE(oracle::ulps_away(p, x, 0, oracle::decode(type, found)), 0.5001) << name_of(p) << "(" << std::hexfloat << x << ") is not " << oracle::decode(type, found);
    return;
  }
  ASSERT_TRUE(oracle::same(oracle::decode(type, found), expected))
      << name_of(p) << " on " << name_of(type) << " of " << x << " (0x" << std::hex << bits << "): got " << oracle::decode(type, found) << " (0x"
      << found << "), expected " << expected;
}

TEST_P(EveryFunction, is_correctly_rounded_on_16_bit_floats) {
  for (const E type : {E::F16, E::BF16})
    for (Bits bits = 0; bits < 0x10000; bits += 7) check(GetParam(), type, bits);
}

TEST_P(EveryFunction, is_correctly_rounded_on_a_sample_of_f32) {
  for (const float x : oracle::f32_samples(12000, 1)) check(GetParam(), E::F32, std::bit_cast<std::uint32_t>(x));
}

TEST_P(EveryFunction, is_within_half_an_ulp_and_a_ten_thousandth_on_a_sample_of_f64) {
  for (const double x : oracle::f64_samples(8000, 2)) check(GetParam(), E::F64, std::bit_cast<std::uint64_t>(x));
}

TEST_P(EveryFunction, gives_the_canonical_nan) {
  const std::array<Bits, 1> single{0xffc12345};
  EXPECT_EQ(elementary(GetParam(), E::F32, single), 0x7fc00000u);
  const std::array<Bits, 1> half{0xfe01};
  EXPECT_EQ(elementary(GetParam(), E::F16, half), 0x7e00u);
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryFunction, testing::ValuesIn(oracle::unary_functions()), function_name);

// IEEE 754-2019, clause 9.2.1, and the limits where it is silent.
TEST(SpecialValues, are_those_of_the_standard) {
  struct Row {
    P p;
    double x, y;
  };
  const Row rows[] = {
      {P::Exp, Inf, Inf},        {P::Exp, -Inf, 0.0},         {P::Exp, -0.0, 1},           {P::Exp2, Inf, Inf},        {P::Exp2, -Inf, 0.0},
      {P::Expm1, -0.0, -0.0},    {P::Expm1, -Inf, -1},        {P::Expm1, Inf, Inf},        {P::Log, 0.0, -Inf},        {P::Log, -0.0, -Inf},
      {P::Log, 1, 0.0},          {P::Log, -1, Nan},           {P::Log, Inf, Inf},          {P::Log2, 8, 3},            {P::Log10, 1000, 3},
      {P::Log1p, -1, -Inf},      {P::Log1p, -0.0, -0.0},      {P::Log1p, -2, Nan},         {P::Sin, -0.0, -0.0},       {P::Sin, Inf, Nan},
      {P::Cos, 0, 1},            {P::Cos, -Inf, Nan},         {P::Tan, -0.0, -0.0},        {P::Tan, Inf, Nan},         {P::Asin, 2, Nan},
      {P::Asin, -0.0, -0.0},     {P::Acos, 1, 0.0},           {P::Acos, -1.5, Nan},        {P::Atan, -0.0, -0.0},      {P::Sinh, -Inf, -Inf},
      {P::Sinh, -0.0, -0.0},     {P::Cosh, -Inf, Inf},        {P::Cosh, 0, 1},             {P::Tanh, -Inf, -1},        {P::Tanh, -0.0, -0.0},
      {P::Asinh, -Inf, -Inf},    {P::Asinh, -0.0, -0.0},      {P::Acosh, 1, 0.0},          {P::Acosh, 0.5, Nan},       {P::Acosh, Inf, Inf},
      {P::Atanh, 1, Inf},        {P::Atanh, -1, -Inf},        {P::Atanh, 1.5, Nan},        {P::Atanh, -0.0, -0.0},     {P::Erf, -Inf, -1},
      {P::Erf, -0.0, -0.0},      {P::Sigmoid, -Inf, 0.0},     {P::Sigmoid, Inf, 1},        {P::Sigmoid, -0.0, 0.5},    {P::Softplus, -Inf, 0.0},
      {P::Softplus, Inf, Inf},   {P::Softsign, -Inf, -1},     {P::Softsign, -0.0, -0.0},   {P::Softsign, 1, 0.5},      {P::Gelu, -Inf, -0.0},
      {P::Gelu, Inf, Inf},       {P::Gelu, -0.0, -0.0},       {P::GeluTanh, -Inf, -0.0},   {P::GeluTanh, Inf, Inf},    {P::Silu, -Inf, -0.0},
      {P::Silu, Inf, Inf},       {P::Silu, -0.0, -0.0},       {P::Mish, -Inf, -0.0},       {P::Mish, Inf, Inf},        {P::Mish, -0.0, -0.0},
      {P::CosTurn, 0.25, 0.0},   {P::CosTurn, -0.25, 0.0},    {P::CosTurn, 0.5, -1},       {P::CosTurn, 3, 1},         {P::CosTurn, Inf, Nan},
      {P::SinTurn, 0.5, 0.0},    {P::SinTurn, -0.5, -0.0},    {P::SinTurn, 0.25, 1},       {P::SinTurn, -0.0, -0.0},   {P::SinTurn, 1e30, 0.0},
      {P::SinTurn, -Inf, Nan},   {P::Exp10, 3, 1000},         {P::Exp10, -Inf, 0.0},       {P::Exp10, Inf, Inf},       {P::Exp10, -0.0, 1},
      {P::Exp10, 10, 1e10},      {P::ReciprocalRoot, -0.0, -Inf}, {P::ReciprocalRoot, 0.0, Inf}, {P::ReciprocalRoot, Inf, 0.0}, {P::ReciprocalRoot, -1, Nan},
      {P::ReciprocalRoot, 16, 0.25}, {P::CubeRoot, -0.0, -0.0}, {P::CubeRoot, -27, -3},   {P::CubeRoot, Inf, Inf},    {P::CubeRoot, -Inf, -Inf},
      {P::Erfc, -0.0, 1},        {P::Erfc, Inf, 0.0},         {P::Erfc, -Inf, 2},          {P::HardSwish, -Inf, -0.0}, {P::HardSwish, Inf, Inf},
      {P::HardSwish, -0.0, -0.0}, {P::HardSwish, -3, -0.0},   {P::HardSwish, 3, 3},        {P::HardSwish, -1.5, -0.375},
  };
  for (const Row& r : rows)
    EXPECT_TRUE(oracle::same(on_f32(r.p, r.x), r.y)) << name_of(r.p) << "(" << r.x << ") = " << on_f32(r.p, r.x) << ", expected " << r.y;
}

TEST(SpecialValues, of_pow_and_atan2_are_those_of_the_standard) {
  struct Row {
    P p;
    double x, y, z;
  };
  const auto pi = static_cast<double>(0x1.921fb6p+1f);
  const Row rows[] = {
      {P::Power, Nan, 0, 1},          {P::Power, Nan, -0.0, 1},        {P::Power, 1, Nan, 1},           {P::Power, -1, Inf, 1},
      {P::Power, -1, -Inf, 1},        {P::Power, 0.0, -3, Inf},        {P::Power, -0.0, -3, -Inf},      {P::Power, -0.0, -2, Inf},
      {P::Power, -0.0, -Inf, Inf},    {P::Power, -0.0, 3, -0.0},       {P::Power, -0.0, 2, 0.0},        {P::Power, -0.0, 0.5, 0.0},
      {P::Power, 0.5, -Inf, Inf},     {P::Power, 2, -Inf, 0.0},        {P::Power, 0.5, Inf, 0.0},       {P::Power, 2, Inf, Inf},
      {P::Power, -Inf, -3, -0.0},     {P::Power, -Inf, -2, 0.0},       {P::Power, -Inf, 3, -Inf},       {P::Power, -Inf, 2, Inf},
      {P::Power, Inf, -1, 0.0},       {P::Power, Inf, 0.5, Inf},       {P::Power, -2, 0.5, Nan},        {P::Power, -2, 3, -8},
      {P::Power, Nan, 1, Nan},        {P::Power, 2, Nan, Nan},         {P::Power, -2, 16777217, Inf},   {P::Power, 3, 4, 81},
      {P::Power, -2, -149, -0x1p-149}, {P::Power, 2, -150, 0.0},       {P::Power, 4097, 2, 16785408},   {P::Power, 4099, 2, 16801800},
      {P::Atan2, 0.0, -1, pi},        {P::Atan2, -0.0, -1, -pi},       {P::Atan2, 0.0, -0.0, pi},       {P::Atan2, -0.0, -0.0, -pi},
      {P::Atan2, 0.0, 0.0, 0.0},      {P::Atan2, -0.0, 0.0, -0.0},     {P::Atan2, -0.0, 1, -0.0},       {P::Atan2, 1, 0, pi / 2},
      {P::Atan2, -1, -0.0, -pi / 2},  {P::Atan2, 1, Inf, 0.0},         {P::Atan2, -1, Inf, -0.0},       {P::Atan2, 1, -Inf, pi},
      {P::Atan2, Inf, 3, pi / 2},     {P::Atan2, -Inf, -Inf, -0x1.2d97c8p+1}, {P::Atan2, Inf, Inf, pi / 4}, {P::Atan2, Nan, 1, Nan},
      {P::Hypotenuse, -Inf, Nan, Inf}, {P::Hypotenuse, Nan, Inf, Inf}, {P::Hypotenuse, Nan, 1, Nan},   {P::Hypotenuse, -0.0, -0.0, 0.0},
      {P::Hypotenuse, -3, 4, 5},      {P::Hypotenuse, 0x1p-149, 0.0, 0x1p-149}, {P::Hypotenuse, 0x1p127, 0x1p127, 0x1.6a09e6p+127}, {P::Hypotenuse, 0x1.8p127, 0x1.8p127, Inf},
  };
  for (const Row& r : rows)
    EXPECT_TRUE(oracle::same(on_f32(r.p, r.x, r.y), r.z))
        << name_of(r.p) << "(" << r.x << ", " << r.y << ") = " << on_f32(r.p, r.x, r.y) << ", expected " << r.z;
}

// Worked out by hand from the codes of the formats. f8e4m3fn ends at 448 and has no infinity.
TEST(SmallTypes, round_once_and_overflow_as_a_cast_does) {
  const auto e4m3 = [](P p, Bits bits) {
    const std::array<Bits, 1> a{bits};
    return elementary(p, E::F8E4M3FN, a);
  };
  EXPECT_EQ(e4m3(P::Exp, 0x38), 0x43u);  // e^1 = 2.718 -> 2.75 = 1.375 * 2
  EXPECT_EQ(e4m3(P::Exp, 0x4d), 0x7fu);  // e^6.5: NaN
  EXPECT_EQ(e4m3(P::Exp, 0x4c), 0x7du);  // e^6 = 403.4 -> 416
  EXPECT_EQ(e4m3(P::Log, 0x00), 0x7fu);  // -inf: NaN
  EXPECT_EQ(e4m3(P::Tanh, 0x80), 0x80u);
  const std::array<Bits, 1> e5m2{0x50};  // 32: e^32 exceeds 57344
  EXPECT_EQ(elementary(P::Exp, E::F8E5M2, e5m2), 0x7cu);
}

TEST(IntegerPower, wraps_and_truncates_reciprocals) {
  EXPECT_EQ(integer_power(E::I32, 3, 4), 81u);
  EXPECT_EQ(integer_power(E::I32, 0xfffffffe, 31), 0x80000000u);  // (-2)^31
  EXPECT_EQ(integer_power(E::I8, 3, 5), 0xf3u);                   // 243 = -13 modulo 256
  EXPECT_EQ(integer_power(E::U64, 3, 41), 18026252303461234787u);                // 3^41 modulo 2^64
  EXPECT_EQ(integer_power(E::I64, 0, 0), 1u);
  EXPECT_EQ(integer_power(E::I64, 0, ~Bits{0}), 0u);              // 0^-1
  EXPECT_EQ(integer_power(E::I16, 1, 0x8000), 1u);
  EXPECT_EQ(integer_power(E::I16, 0xffff, 0xffff), 0xffffu);      // (-1)^-1
  EXPECT_EQ(integer_power(E::I16, 0xffff, 0xfffe), 1u);           // (-1)^-2
  EXPECT_EQ(integer_power(E::I32, 2, 0xffffffff), 0u);            // 2^-1
  EXPECT_EQ(integer_power(E::U8, 2, 255), 0u);                    // unsigned exponents are never negative
  EXPECT_EQ(integer_power(E::U8, 3, 255), 171u);                  // 3^255 = 3^-1 modulo 256
  const std::array<Bits, 2> arguments{5, 3};
  EXPECT_EQ(elementary(P::Power, E::I4, arguments), 13u);         // 125 modulo 16
}

// Exact values from trigonometry; 1/3 and 1/7 of a turn are no binary fractions.
TEST(Turns, of_rational_numbers_round_once) {
  const auto turn = [](P p, std::int64_t n, std::int64_t d) { return oracle::decode(E::F64, elementary_of_turn(p, E::F64, n, d)); };
  EXPECT_EQ(turn(P::CosTurn, 1, 3), -0.5);
  EXPECT_EQ(turn(P::CosTurn, 1, 6), 0.5);
  EXPECT_EQ(turn(P::SinTurn, 1, 12), 0.5);
  EXPECT_EQ(turn(P::SinTurn, -7, 12), 0.5);
  EXPECT_EQ(turn(P::SinTurn, 1, 8), 0x1.6a09e667f3bcdp-1);
  EXPECT_EQ(turn(P::CosTurn, 5, 1), 1);
  EXPECT_EQ(turn(P::CosTurn, (std::int64_t{1} << 62) + 1, std::int64_t{1} << 62), 1);
  EXPECT_TRUE(oracle::same(turn(P::SinTurn, -4, 2), -0.0));
}

}  // namespace
}  // namespace ulpian
