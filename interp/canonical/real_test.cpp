#include "interp/canonical/real.h"

#include <array>

#include <gtest/gtest.h>

namespace ulpian::interp {
namespace {

Real root(std::int64_t x) {
  const std::array<Real, 1> a{Real(x)};
  return *real_primitive(Primitive::SquareRoot, a);
}

// Whether `value`, given as decimal digits, lies within bounds that are at most 2^-bits apart.
void expect_around(const Real& r, const char* value, int bits) {
  const auto [low, high] = bounds_of(r, 256);
  const Exact v = *Exact::parse(value);
  const Exact slack = Exact::power_of_two(-100);  // the digits end somewhere
  EXPECT_TRUE(low - slack <= v && v <= high + slack) << low.to_double();
  EXPECT_TRUE(high - low <= Exact::power_of_two(-bits));
}

TEST(Real, AFlatNumberIsKnownWithinItsBits) {
  const char* const root_of_two = "1.41421356237309504880168872420969807856967187537694";
  expect_around(flat(root(2), 128), root_of_two, 126);
  EXPECT_FALSE(flat(root(2), 128).exact());
  // 20 bits do not tell it from 1.4142136.
  const Real rough = flat(root(2), 20);
  EXPECT_FALSE(compare(rough, Real(*Exact::parse("1.4142136"))).has_value());
  EXPECT_EQ(compare(flat(root(2), 128), Real(*Exact::parse("1.4142136"))), std::partial_ordering::less);
  // Rationals stay what they are until they are long.
  EXPECT_EQ(*flat(Real(Exact::ratio(1, 3)), 20).exact(), Exact::ratio(1, 3));
  EXPECT_FALSE(flat(Real(Exact(1) + Exact::power_of_two(-9000)), 64).exact());
}

TEST(Real, AFlatSumIsExactOnRationalsAndEnclosesTheRest) {
  FlatSum rational(128);
  EXPECT_FALSE(rational.result());
  EXPECT_TRUE(rational.add(Real(1)));
  EXPECT_TRUE(rational.add_product(Real(Exact::power_of_two(-300)), Real(Exact::power_of_two(-300))));
  EXPECT_EQ(*rational.result()->exact(), Exact(1) + Exact::power_of_two(-600));

  // 3 - 2 * sqrt(2) + sqrt(2) * sqrt(2) = 5 - 2 sqrt(2).
  FlatSum mixed(128);
  EXPECT_TRUE(mixed.add(Real(3)));
  EXPECT_TRUE(mixed.add_product(Real(-2), root(2)));
  EXPECT_TRUE(mixed.add_product(root(2), root(2)));
  expect_around(*mixed.result(), "2.17157287525380990239662255158060384286065624924611", 120);

  // A zero's sign, infinities and NaN are not plain arithmetic.
  EXPECT_FALSE(mixed.add_product(Real(0), root(2)));
  EXPECT_FALSE(mixed.add(Real(Exact::infinity(false))));
  EXPECT_FALSE(mixed.add(Real(Exact::nan())));
}

TEST(Real, ZerosKeepTheirSignInAFlatSum) {
  FlatSum negative(128);
  EXPECT_TRUE(negative.add_product(Real(-1), Real(0)));
  EXPECT_TRUE(negative.result()->exact()->is_negative_zero());
  EXPECT_TRUE(negative.add(Real(0)));
  EXPECT_FALSE(negative.result()->exact()->is_negative());
}

}  // namespace
}  // namespace ulpian::interp
