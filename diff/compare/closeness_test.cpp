#include "diff/compare/closeness.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ulpian::diff {
namespace {

using interp::Closeness;

Bits f32(float x) { return std::bit_cast<std::uint32_t>(x); }
double strain_of(const Closeness& rule, float got, float canonical) { return strain(rule, ElementType::F32, f32(got), f32(canonical)); }

constexpr float Nan = std::numeric_limits<float>::quiet_NaN(), Inf = std::numeric_limits<float>::infinity();

// As numpy.testing.assert_allclose: |got - desired| <= atol + rtol |desired|, for finite numbers; all figures are exact.
TEST(Closeness, OfAnAbsoluteAndARelativePart) {
  const Closeness rule{0.25, 0.5, 0};
  EXPECT_EQ(strain_of(rule, 2, 2), 0);
  EXPECT_EQ(strain_of(rule, 3, 2), 1);
  EXPECT_EQ(strain_of(rule, 1, 2), 1);
  EXPECT_EQ(strain_of(rule, 4, 2), 2);
  EXPECT_EQ(strain_of(rule, -3, -2), 1);
  EXPECT_EQ(strain_of(rule, 0.5f, 0), 1);
  EXPECT_GT(strain_of(rule, 2, 3.5f), 1);  // the canonical value is the one that counts
  EXPECT_LE(strain_of(rule, 3.25f, 2.25f), 1);
}

TEST(Closeness, OfNothingButEqualNumbers) {
  const Closeness equal{};
  EXPECT_EQ(strain_of(equal, 1, 1), 0);
  EXPECT_EQ(strain_of(equal, -0.0f, 0), 0);
  EXPECT_GT(strain_of(equal, 1, std::nextafter(1.0f, 2.0f)), 1);
  EXPECT_EQ(strain(equal, ElementType::I64, 7, 7), 0);
  EXPECT_GT(strain(equal, ElementType::I64, 7, 8), 1);
}

TEST(Closeness, NanAndInfinitiesAreCloseToThemselves) {
  const Closeness rule{1000, 1000, 1000};
  EXPECT_LE(strain_of(rule, Nan, -Nan), 1);
  EXPECT_LE(strain_of(rule, Inf, Inf), 1);
  for (const auto& [got, canonical] : {std::pair{Nan, 1.0f}, {1.0f, Nan}, {Inf, 1.0f}, {1.0f, Inf}, {-Inf, Inf}, {Nan, Inf}}) EXPECT_GT(strain_of(rule, got, canonical), 1) << got << " " << canonical;
}

TEST(Closeness, OfUlps) {
  const Closeness rule{0, 0, 2};
  const float next = std::nextafter(1.0f, 2.0f), third = std::nextafter(std::nextafter(next, 2.0f), 2.0f);
  EXPECT_EQ(strain_of(rule, next, 1), 0.5);
  EXPECT_EQ(strain_of(rule, third, 1), 1.5);
  // Whichever part admits more.
  EXPECT_LE(strain_of({0.5, 0, 2}, third, 1), 1);
}

// Differences of 64-bit integers are exact, though the numbers are no doubles.
TEST(Closeness, OfLargeIntegers) {
  const Closeness one{0, 1, 0};
  const auto bits = [](std::int64_t x) { return static_cast<Bits>(x); };
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(strain(one, ElementType::I64, bits(most), bits(most - 1)), 1);
  EXPECT_EQ(strain(one, ElementType::I64, bits(most), bits(most - 2)), 2);
  EXPECT_EQ(strain(one, ElementType::I64, bits(least), bits(most)), 0x1p64);
  EXPECT_EQ(strain(one, ElementType::U64, ~Bits{0}, ~Bits{0} - 3), 3);
}

}  // namespace
}  // namespace ulpian::diff
