#include "diff/compare/ulp.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ulpian::diff {
namespace {

constexpr ElementType F32 = ElementType::F32, F64 = ElementType::F64, F16 = ElementType::F16, BF16 = ElementType::BF16;

Bits f32(float x) { return std::bit_cast<std::uint32_t>(x); }
Bits f64(double x) { return std::bit_cast<std::uint64_t>(x); }

TEST(Ulp, OneStepInsideABinadeIsOneUlp) {
  EXPECT_EQ(distance_in_ulps(F32, 0x3fc00001, 0x3fc00000), 1.0);
  EXPECT_EQ(distance_in_ulps(F64, f64(1.5) + 3, f64(1.5)), 3.0);
  EXPECT_EQ(distance_in_ulps(F16, 0x3c01, 0x3c00), 1.0);    // 1 + 2^-10 from 1
  EXPECT_EQ(distance_in_ulps(BF16, 0x3f81, 0x3f80), 1.0);   // 1 + 2^-7 from 1
  EXPECT_EQ(distance_in_ulps(ElementType::F8E4M3FN, 0x39, 0x38), 1.0);
  EXPECT_EQ(distance_in_ulps(ElementType::F8E8M0, 0x80, 0x7f), 1.0);  // 2 from 1: the precision is one bit, so ulp(1) is 1
}

TEST(Ulp, TheReferenceDecidesAtTheEdgeOfABinade) {
  // Below 1 the numbers lie half as dense as above: 1 - 2^-24 is half an ulp(1) from 1, and 1 is one ulp(1 - 2^-24) from it.
  EXPECT_EQ(distance_in_ulps(F32, 0x3f7fffff, 0x3f800000), 0.5);
  EXPECT_EQ(distance_in_ulps(F32, 0x3f800000, 0x3f7fffff), 1.0);
  EXPECT_EQ(distance_in_ulps(F32, 0x3f800001, 0x3f7fffff), 3.0);
  EXPECT_EQ(distance_in_ulps(F64, f64(2.0) - 1, f64(2.0)), 0.5);
  EXPECT_EQ(distance_in_ulps(F32, 0xbf7fffff, 0xbf800000), 0.5);
}

TEST(Ulp, SubnormalsAndZeroCountLeastSubnormals) {
  EXPECT_EQ(distance_in_ulps(F32, 3, 1), 2.0);
  EXPECT_EQ(distance_in_ulps(F32, 1, 0), 1.0);
  EXPECT_EQ(distance_in_ulps(F32, 0x80000001, 0x00000001), 2.0);
  EXPECT_EQ(distance_in_ulps(F32, 0x80000000, 0x00000000), 0.0);
  EXPECT_EQ(distance_in_ulps(F32, 0x00800000, 0x007fffff), 1.0);  // the least normal number from the greatest subnormal one
  EXPECT_EQ(distance_in_ulps(F32, 0, f32(0x1p-126f)), 8388608.0);  // 2^-126 over 2^-149
  EXPECT_EQ(distance_in_ulps(F64, 1, 0), 1.0);
  EXPECT_EQ(distance_in_ulps(F16, 0x0001, 0x8001), 2.0);
}

TEST(Ulp, AnInfinityIsTheNumberAfterTheLargest) {
  EXPECT_EQ(distance_in_ulps(F32, 0x7f800000, 0x7f7fffff), 1.0);
  EXPECT_EQ(distance_in_ulps(F32, 0x7f7fffff, 0x7f800000), 0.5);  // ulp(2^128) is twice that below
  EXPECT_EQ(distance_in_ulps(F64, f64(std::numeric_limits<double>::infinity()), f64(std::numeric_limits<double>::max())), 1.0);
  EXPECT_EQ(distance_in_ulps(F32, 0xff800000, 0x7f800000), 0x1p24);  // 2 * 2^128 over 2^105
  EXPECT_EQ(distance_in_ulps(F64, f64(-std::numeric_limits<double>::max()), f64(std::numeric_limits<double>::max())), 0x1p54 - 2);
  EXPECT_EQ(distance_in_ulps(F32, 0x7f800000, 0x7f800000), 0.0);
}

TEST(Ulp, WithoutNumbersThereIsNoDistance) {
  EXPECT_TRUE(std::isinf(distance_in_ulps(F32, 0x7fc00000, 0)));
  EXPECT_TRUE(std::isinf(distance_in_ulps(F32, 0, 0x7fc00000)));
  EXPECT_TRUE(std::isinf(distance_in_ulps(ElementType::I32, 1, 2)));
}

TEST(Ulp, FromARealNumber) {
  using interp::Real;
  // 1 + 2^-25 lies a quarter of an ulp above 1, 1 - 2^-26 an eighth of ulp(1) below, which is a quarter of its own ulp.
  EXPECT_EQ(distance_in_ulps(F32, f32(1), Real(Exact(1) + Exact::power_of_two(-25))), 0.25);
  EXPECT_EQ(distance_in_ulps(F32, f32(1), Real(Exact(1) - Exact::power_of_two(-26))), 0.25);
  // Its nearest double is 1, but it lies below 1: ulp is 2^-24.
  EXPECT_EQ(distance_in_ulps(F32, f32(1) - 1, Real(Exact(1) - Exact::power_of_two(-80))), 1.0 - 0x1p-56);
  EXPECT_EQ(distance_in_ulps(F32, 1, Real(Exact::power_of_two(-150))), 0.5);
  EXPECT_EQ(distance_in_ulps(F32, 0x7f800000, Real(Exact::power_of_two(128))), 0.0);
  EXPECT_EQ(distance_in_ulps(F32, f32(1), Real(Exact::infinity(false))), distance_in_ulps(F32, f32(1), 0x7f800000));
  // A third is 0x3eaaaaab - 2^-25/3... : f32(1/3) = 11184811 * 2^-25, so the error is 1/3 * 2^-25 = a third of its ulp.
  EXPECT_NEAR(distance_in_ulps(F32, 0x3eaaaaab, Real(Exact::ratio(1, 3))), 1.0 / 3, 1e-15);
  const Real two(2);
  const auto root = interp::real_primitive(Primitive::SquareRoot, std::span(&two, 1));
  ASSERT_TRUE(root.has_value());
  // sqrt(2) = 1.41421356237309504880...; f32 has 11863283 * 2^-23 = 1.41421353816986083984...
  EXPECT_NEAR(distance_in_ulps(F32, 0x3fb504f3, *root), (1.41421356237309504880 - 1.41421353816986083984) * 0x1p23, 1e-8);
}

}  // namespace
}  // namespace ulpian::diff
