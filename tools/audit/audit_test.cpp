// The sweep of elementary functions: our own are right on a sample, and what is wrong is found.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tools/audit/reference.h"
#include "tools/audit/sample.h"
#include "tools/audit/sweep.h"

namespace ulpian::audit {
namespace {

std::vector<Primitive> functions() {
  std::vector<Primitive> all;
  for (int k = 0; k < PrimitiveCount; ++k)
    if (can_sweep(static_cast<Primitive>(k))) all.push_back(static_cast<Primitive>(k));
  return all;
}

class EveryFunction : public testing::TestWithParam<Primitive> {};
std::string function_name(const testing::TestParamInfo<Primitive>& info) { return std::string(name_of(info.param)); }

SweepOptions every(std::uint32_t stride) {
  SweepOptions o;
  o.stride = stride;
  o.threads = 1;
  return o;
}

SampleOptions doubles(std::uint64_t count, unsigned threads) {
  SampleOptions o;
  o.count = count;
  o.threads = threads;
  return o;
}

// tools/sweep goes through all arguments; here a block in each of 512 parts of them.
TEST_P(EveryFunction, is_right_on_a_sample_of_all_arguments) {
  const Sweep s = sweep(GetParam(), own(GetParam()), every(2048));
  EXPECT_EQ(s.arguments, std::uint64_t{512} * Sweep::Block);
  EXPECT_EQ(s.wrong, 0u) << name_of(GetParam()) << " at " << std::hexfloat << (s.examples.empty() ? 0.0f : std::bit_cast<float>(s.examples[0].argument));
  // The bounds settle nearly all of them; what they leave to MPFR must stay little for a full sweep to end.
  EXPECT_LT(s.singly, s.arguments / 100) << name_of(GetParam());
}

// `ulpian audit --type f64 --count N` goes on.
TEST_P(EveryFunction, is_within_its_bound_on_a_sample_of_f64) {
  const Sample d = sample(GetParam(), ElementType::F64, own_sample(GetParam(), ElementType::F64), doubles(20000, 1));
  EXPECT_TRUE(d.complete);
  EXPECT_EQ(d.wrong, 0u) << name_of(GetParam()) << " at " << std::hexfloat << (d.examples.empty() ? 0.0 : d.examples[0].argument);
}

// One result in its last place, in the middle of a block or a turn away.
TEST_P(EveryFunction, is_wrong_where_one_result_is_off_by_one) {
  for (const float at : {0.3f, -0.3f, 1.5f, 2000.125f}) {
    Compute altered = [&](const float* x, float* y) {
      own(GetParam())(x, y);
      for (std::uint32_t i = 0; i < Sweep::Block; ++i)
        if (x[i] == at) y[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(y[i]) ^ 1);
    };
    float right = 0;
    std::vector<float> x(Sweep::Block, at), y(Sweep::Block);
    own(GetParam())(x.data(), y.data());
    right = y[0];
    SweepOptions o = every(1);
    o.first = std::bit_cast<std::uint32_t>(at) / Sweep::Block;
    o.count = 1;
    const Sweep s = sweep(GetParam(), altered, o);
    ASSERT_EQ(s.wrong, 1u) << name_of(GetParam()) << " at " << at;
    EXPECT_EQ(s.examples[0].argument, std::bit_cast<std::uint32_t>(at));
    EXPECT_EQ(s.examples[0].expected, std::bit_cast<std::uint32_t>(right));
    EXPECT_FALSE(s.complete);
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryFunction, testing::ValuesIn(functions()), function_name);

TEST(Sweep, has_one_digest_for_any_number_of_threads) {
  SweepOptions one = every(4096), three = every(4096);
  three.threads = 3;
  EXPECT_EQ(sweep(Primitive::Exp, own(Primitive::Exp), one).digest, sweep(Primitive::Exp, own(Primitive::Exp), three).digest);
  EXPECT_NE(sweep(Primitive::Exp, own(Primitive::Exp), one).digest, sweep(Primitive::Expm1, own(Primitive::Expm1), one).digest);
}

TEST(Sweep, tells_a_wrong_sign_of_zero_and_a_wrong_nan) {
  Compute altered = [](const float* x, float* y) {
    own(Primitive::Sinh)(x, y);
    for (std::uint32_t i = 0; i < Sweep::Block; ++i) {
      if (y[i] == 0) y[i] = -y[i];
      if (y[i] != y[i]) y[i] = -y[i];
    }
  };
  SweepOptions zero = every(1), nan = every(1);
  zero.count = nan.count = 1;
  nan.first = 0x7f900000u / Sweep::Block;
  EXPECT_EQ(sweep(Primitive::Sinh, altered, zero).wrong, 1u);
  EXPECT_EQ(sweep(Primitive::Sinh, altered, nan).wrong, Sweep::Block);
}

// 1 + 2^-53 (1 + 2^-16) lies 2^-17 ULP beyond the middle of 1 and its neighbour: 1 is 0.5 + 2^-17 ULP away, 1 - 2^-53 too far.
TEST(Samples, tell_how_far_a_result_is_away) {
  const double x = 0x1p-53 + 0x1p-69;  // exp(x) = 1 + x + 2^-107
  const auto always = [](double value) { return [value](const double*, const double*, double* y, std::size_t n) { std::fill(y, y + n, value); }; };
  EXPECT_EQ(distance_of(Primitive::Exp, x, 1 + 0x1p-52), 0.5);
  EXPECT_NEAR(distance_of(Primitive::Exp, x, 1), 0.5 + 0x1p-17, 0x1p-40);
  EXPECT_NEAR(distance_of(Primitive::Exp, x, 1 - 0x1p-53), 1 + 0x1p-17, 0x1p-40);
  EXPECT_EQ(sample(Primitive::Exp, ElementType::F64, always(1), doubles(100, 1)).wrong, sample(Primitive::Exp, ElementType::F64, always(1), doubles(100, 2)).wrong);
  EXPECT_GT(sample(Primitive::Exp, ElementType::F64, always(1), doubles(100, 1)).wrong, 20u);
}

class EveryFunctionOfTwo : public testing::TestWithParam<Primitive> {};

TEST_P(EveryFunctionOfTwo, is_within_its_bound_on_a_sample_of_pairs) {
  for (const ElementType type : {ElementType::F32, ElementType::F64}) {
    const Sample d = sample(GetParam(), type, own_sample(GetParam(), type), doubles(40000, 1));
    EXPECT_TRUE(d.complete);
    EXPECT_EQ(d.wrong, 0u) << name_of(GetParam()) << " at " << std::hexfloat << (d.examples.empty() ? 0.0 : d.examples[0].argument) << ", " << (d.examples.empty() ? 0.0 : d.examples[0].second);
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryFunctionOfTwo, testing::Values(Primitive::Power, Primitive::Atan2, Primitive::Hypotenuse), function_name);

// (1 + 2^-52)^2 = 1 + 2^-51 + 2^-104, (1 + 2^-27)^2 = 1 + 2^-26 + 2^-54; 3, 4, 5.
TEST(Samples, tell_how_far_a_result_of_two_arguments_is_away) {
  EXPECT_EQ(distance_of(Primitive::Power, 1 + 0x1p-52, 2, 1 + 0x1p-51), 0.5);
  EXPECT_NEAR(distance_of(Primitive::Power, 1 + 0x1p-27, 2, 1 + 0x1p-26 + 0x1p-52), 0.75, 0x1p-40);
  EXPECT_NEAR(distance_of(Primitive::Hypotenuse, 3, 4, 5 + 0x1p-49), 2, 0x1p-40);
  EXPECT_NEAR(distance_of(Primitive::Atan2, 0x1p-30, 1, 0x1p-30 + 0x1p-82), 1 + 0x1p-8 / 3, 0x1p-40);  // t - t^3/3
  // y/8 is halfway between two subnormal numbers, the angle a little less.
  EXPECT_NEAR(distance_of(Primitive::Atan2, -0x1.a44ea1c92008fp-1020, 8, -0x0.d22750e490048p-1022), 0.5, 0x1p-40);
  const Sample wrong = sample(Primitive::Power, ElementType::F32, [](const double*, const double*, double* y, std::size_t n) { std::fill(y, y + n, 1.0); }, doubles(100, 1));
  EXPECT_EQ(wrong.wrong, wrong.not_nearest);
  EXPECT_GT(wrong.wrong, 20u);
}

// 2 pi by its digits, as fractions of 2^128.
TEST(Phase, of_powers_of_two_leaves_whole_turns_out) {
  const auto sine = Reference::of(Primitive::Sin), turns = Reference::of(Primitive::SinTurn);
  EXPECT_TRUE(turns->phase_of_power(0) == 0 && turns->phase_of_power(-2) == Phase{1} << 126);
  const auto share = [&](int e) { return static_cast<double>(sine->phase_of_power(e)) * 0x1p-128; };
  EXPECT_NEAR(share(0), 1 / 6.283185307179586, 1e-15);
  EXPECT_NEAR(share(3), 8 / 6.283185307179586 - 1, 1e-15);
  EXPECT_NEAR(share(100), 0.83135169824303409839, 1e-15);  // 2^100 / (2 pi) mod 1 by mpmath with 80 digits
  EXPECT_NEAR(share(104), 0.30162717188854557422, 1e-15);
}

}  // namespace
}  // namespace ulpian::audit
