// The fast way on arrays against the oracle, and its compilations for different machines against each other.
#include "spec/functions/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "spec/functions/functions.h"
#include "spec/functions/kernel_table.h"
#include "spec/functions/test_oracle.h"

namespace ulpian {
namespace {

using P = Primitive;
using E = ElementType;

class EveryKernel : public testing::TestWithParam<P> {};
std::string function_name(const testing::TestParamInfo<P>& info) { return std::string(name_of(info.param)); }

TEST_P(EveryKernel, rounds_f32_correctly_on_a_stratified_sample) {
  const std::vector<float> x = oracle::f32_samples(60000, 3);
  std::vector<float> y(x.size());
  elementary_array(GetParam(), x.data(), y.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = oracle::value(GetParam(), E::F32, x[i]);
    ASSERT_TRUE(oracle::same(y[i], expected)) << name_of(GetParam()) << "(" << std::hexfloat << x[i] << ") = " << y[i] << ", expected " << expected;
  }
}

TEST_P(EveryKernel, rounds_every_16_bit_float_correctly) {
  std::vector<std::uint16_t> x(65536);
  std::vector<std::uint16_t> y(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
  for (const E type : {E::F16, E::BF16}) {
    elementary_array(GetParam(), type, x.data(), nullptr, y.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = oracle::value(GetParam(), type, oracle::decode(type, i));
      ASSERT_TRUE(oracle::same(oracle::decode(type, y[i]), expected))
          << name_of(GetParam()) << " on " << name_of(type) << " of 0x" << std::hex << i << ": got 0x" << y[i] << ", expected " << expected;
    }
  }
}

TEST_P(EveryKernel, agrees_with_the_slow_way_on_every_smaller_float) {
  std::vector<std::uint8_t> x(256);
  std::vector<std::uint8_t> y(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i);
  for (const E type : {E::F8E4M3FN, E::F8E4M3FNUZ, E::F8E5M2, E::F8E5M2FNUZ, E::F8E8M0}) {
    elementary_array(GetParam(), type, x.data(), nullptr, y.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::array<Bits, 1> a{i};
      ASSERT_EQ(elementary(GetParam(), type, a), y[i]) << name_of(GetParam()) << " on " << name_of(type) << " of " << i;
    }
  }
}

// The bound that the rounding test relies on, measured on f64 against the oracle.
TEST_P(EveryKernel, keeps_its_error_bound) {
  double worst = 0;
  float where = 0;
  for (const float x : oracle::f32_samples(8000, 4)) {
    const double found = elementary_core(GetParam(), x);
    const double expected = oracle::value(GetParam(), E::F64, x);
    if (std::isnan(found) || expected == 0 || std::fabs(expected) < 0x1p-300 || std::fabs(expected) > 0x1p300) continue;
    // Beyond f32's range the arguments are held to a bound.
    if (std::fabs(expected) < 0x1p-151 || std::fabs(expected) > 0x1p129) continue;
    const double error = std::fabs((found - expected) / expected);
    if (error > worst) {
      worst = error;
      where = x;
    }
  }
  EXPECT_LE(worst, elementary_core_error(GetParam()) / 8) << worst << " at " << std::hexfloat << where;
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryKernel, testing::ValuesIn(oracle::unary_functions()), function_name);

struct Compilation {
  const char* name;
  kernels::KernelTable table;
};

std::vector<Compilation> compilations() {
  std::vector<Compilation> all{{"baseline", kernels::baseline_kernels()}};
#if defined(__x86_64__)
  if (kernels::has_avx2()) all.push_back({"avx2", kernels::avx2_kernels()});
  if (kernels::has_avx512()) all.push_back({"avx512", kernels::avx512_kernels()});
#endif
  return all;
}

void expect_equal_compilations(P p, const std::vector<double>& x, const std::vector<double>& second) {
  const std::vector<Compilation> all = compilations();
  constexpr std::size_t N = kernels::BlockSize;
  std::array<double, N> reference{}, other{};
  const auto index = static_cast<std::size_t>(p);
  if (all[0].table.f64[index] == nullptr) return;
  for (std::size_t start = 0; start + N <= x.size(); start += N) {
    all[0].table.f64[index](&x[start], &second[start], reference.data(), N);
    for (std::size_t c = 1; c < all.size(); ++c) {
      all[c].table.f64[index](&x[start], &second[start], other.data(), N);
      for (std::size_t i = 0; i < N; ++i)
        ASSERT_TRUE(oracle::same(reference[i], other[i])) << all[c].name << " " << name_of(p) << "(" << std::hexfloat << x[start + i] << ", " << second[start + i] << ")";
    }
  }
}

void expect_equal_compilations(P p, const std::vector<float>& x, const std::vector<float>& second) {
  const std::vector<Compilation> all = compilations();
  constexpr std::size_t N = kernels::BlockSize;
  std::array<double, N> reference{};
  std::array<double, N> other{};
  std::array<float, N> reference32{};
  std::array<float, N> other32{};
  std::array<std::int32_t, N> reference_doubt{};
  std::array<std::int32_t, N> doubt{};
  for (std::size_t start = 0; start + N <= x.size(); start += N) {
    const auto index = static_cast<std::size_t>(p);
    all[0].table.core[index](&x[start], &second[start], reference.data(), N);
    const bool any = all[0].table.f32[index](&x[start], &second[start], reference32.data(), reference_doubt.data(), N);
    for (std::size_t c = 1; c < all.size(); ++c) {
      all[c].table.core[index](&x[start], &second[start], other.data(), N);
      EXPECT_EQ(all[c].table.f32[index](&x[start], &second[start], other32.data(), doubt.data(), N), any);
      for (std::size_t i = 0; i < N; ++i) {
        ASSERT_TRUE(oracle::same(reference[i], other[i]))
            << all[c].name << " " << name_of(p) << "(" << x[start + i] << ", " << second[start + i] << ")";
        ASSERT_TRUE(oracle::same(reference32[i], other32[i]));
        ASSERT_EQ(reference_doubt[i] != 0, doubt[i] != 0);
      }
    }
  }
}

TEST(Compilations, for_different_machines_give_the_same_bits) {
  const std::vector<float> x = oracle::f32_samples(100000, 5);
  std::vector<float> second(x);
  std::shuffle(second.begin(), second.end(), std::mt19937_64(6));
  for (const P p : oracle::unary_functions()) expect_equal_compilations(p, x, second);
  expect_equal_compilations(P::Power, x, second);
  expect_equal_compilations(P::Atan2, x, second);
  expect_equal_compilations(P::Hypotenuse, x, second);
  const std::vector<double> wide = oracle::f64_samples(8192, 12), other(wide.rbegin(), wide.rend());
  for (const P p : oracle::unary_functions()) expect_equal_compilations(p, wide, other);
  expect_equal_compilations(P::Hypotenuse, wide, other);
}

void expect_correct_pairs(P p, const std::vector<float>& x, const std::vector<float>& second) {
  std::vector<float> z(x.size());
  elementary_array(p, x.data(), second.data(), z.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = oracle::value(p, E::F32, x[i], second[i]);
    ASSERT_TRUE(oracle::same(z[i], expected))
        << name_of(p) << "(" << std::hexfloat << x[i] << ", " << second[i] << ") = " << z[i] << ", expected " << expected;
    if (i % 16 != 0) continue;
    const std::array<Bits, 2> a{oracle::encode_f32(x[i]), oracle::encode_f32(second[i])};
    ASSERT_TRUE(oracle::same(oracle::decode(E::F32, elementary(p, E::F32, a)), expected));
    const double core = elementary_core(p, x[i], second[i]);
    const double exact = oracle::value(p, E::F64, x[i], second[i]);
    if (std::isnan(core) || exact == 0 || std::fabs(exact) < 0x1p-151 || std::fabs(exact) > 0x1p129) continue;
    ASSERT_LE(std::fabs((core - exact) / exact), elementary_core_error(p) / 8) << name_of(p) << std::hexfloat << x[i] << ", " << second[i];
  }
}

TEST(Pairs, of_anything_round_correctly) {
  const std::vector<float> x = oracle::f32_samples(100000, 7);
  std::vector<float> second(x);
  std::shuffle(second.begin(), second.end(), std::mt19937_64(8));
  expect_correct_pairs(P::Power, x, second);
  expect_correct_pairs(P::Atan2, x, second);
  expect_correct_pairs(P::Hypotenuse, x, second);
}

// Results in range: x^y with y log2 x between -150 and 128, bases near 1 with large exponents among them.
TEST(Pairs, of_pow_in_range_round_correctly) {
  std::mt19937_64 random(9);
  std::vector<float> x;
  std::vector<float> y;
  while (x.size() < 100000) {
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const double log_base = (uniform() - 0.5) * std::array{1e-6, 0.01, 2.0, 250.0}[random() % 4];
    const auto base = std::bit_cast<float>(static_cast<std::uint32_t>(0x3f800000 + static_cast<std::int64_t>(log_base * 8388608.0)));
    if (!(base > 0)) continue;
    const double target = uniform() * 278 - 150;
    auto exponent = static_cast<float>(target / (log_base == 0 ? 1 : log_base));
    if (random() % 4 == 0) exponent = std::round(exponent);
    x.push_back(random() % 8 == 0 ? -base : base);
    y.push_back(exponent);
  }
  expect_correct_pairs(P::Power, x, y);
}

TEST(Pairs, of_pow_with_small_whole_and_half_exponents_round_correctly) {
  std::vector<float> x;
  std::vector<float> y;
  for (int base = -200; base <= 4200; ++base)
    for (const float exponent : {-3.0f, -2.0f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 7.0f}) {
      x.push_back(static_cast<float>(base) * 0.25f);
      y.push_back(exponent);
    }
  expect_correct_pairs(P::Power, x, y);
}

// Triangles with whole sides: sums that are squares exactly, of 25 bits with half an ulp of f32 among them; and sides whose square is just lost.
TEST(Pairs, of_hypot_with_ties_and_lost_squares_round_correctly) {
  std::mt19937_64 random(11);
  std::vector<float> x, y;
  while (x.size() < 60000) {
    const auto m = static_cast<std::int64_t>(random() % 4000 + 1), n = static_cast<std::int64_t>(random() % 4000 + 1);
    const float scale = std::ldexp(1.0f, static_cast<int>(random() % 40) - 20);
    if (m != n && std::abs(m * m - n * n) < 1 << 24 && 2 * m * n < 1 << 24) {
      x.push_back(static_cast<float>(m * m - n * n) * scale);
      y.push_back(static_cast<float>(2 * m * n) * scale);
    }
    const auto large = static_cast<float>(random() % (1 << 24) + (1 << 24));  // sqrt(a^2 + b^2) = a + b^2 / 2a: near half an ulp for b = 2^12.5 sqrt(a / 2^24)
    x.push_back(large * scale);
    y.push_back(static_cast<float>(std::sqrt(2.0 * static_cast<double>(large))) * scale);
  }
  expect_correct_pairs(P::Hypotenuse, x, y);
}

TEST(Arrays, of_any_length_may_be_computed_in_place) {
  const std::vector<float> x = oracle::f32_samples(2000, 10);
  std::vector<float> whole(x.size());
  elementary_array(P::Gelu, x.data(), whole.data(), x.size());
  for (std::size_t n = 0; n < 600; n += 1 + n / 16) {
    std::vector<float> part(x.begin() + 700, x.begin() + 700 + static_cast<std::ptrdiff_t>(n));
    elementary_array(P::Gelu, part.data(), part.data(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(oracle::same(part[i], whole[700 + i])) << n << " " << i;
  }
}

TEST(Arrays, of_narrow_floats_are_the_same_with_and_without_a_table) {
  std::vector<std::uint16_t> x(65536);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i * 40503);
  std::vector<std::uint16_t> parts(x.size());
  std::vector<std::uint16_t> whole(x.size());
  for (const E type : {E::F16, E::BF16}) {
    for (std::size_t i = 0; i < x.size(); i += 256) elementary_array(P::Exp, type, &x[i], nullptr, &parts[i], 256);
    elementary_array(P::Exp, type, x.data(), nullptr, whole.data(), x.size());
    EXPECT_EQ(parts, whole);
  }
}

TEST(Arrays, of_doubles_and_integers_follow_the_slow_way) {
  const std::vector<double> x{0.1, -2.5, 1e300, -0.0};
  std::vector<double> y(x.size());
  elementary_array(P::Tanh, x.data(), y.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(oracle::same(y[i], oracle::value(P::Tanh, E::F64, x[i])));
  const std::array<std::int32_t, 3> base{3, -2, 2};
  const std::array<std::int32_t, 3> exponent{4, 31, -1};
  std::array<std::int32_t, 3> z{};
  elementary_array(P::Power, E::I32, base.data(), exponent.data(), z.data(), 3);
  EXPECT_EQ(z, (std::array<std::int32_t, 3>{81, INT32_MIN, 0}));
}

}  // namespace
}  // namespace ulpian
