#include "diff/compare/bias.h"

#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace ulpian::diff {
namespace {

// x of both signs, x (1 - 2^-16) to x (1 + 2^-16) admitted, and answers off by some share of 2^-16.
template <class F> std::optional<Bias> bias(const Extents& extents, F share, bool alone = true) {
  const std::int64_t n = *element_count(extents);
  std::mt19937_64 random(3);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Tensor low(ElementType::F32, extents), high(ElementType::F32, extents), middle(ElementType::F32, extents), got(ElementType::F32, extents);
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = (1 + uniform()) * (random() % 2 ? 1 : -1);
    const auto at = [&](double s) { return from_double(ElementType::F32, x * (1 + s * 0x1p-16)); };
    low.set(i, at(x < 0 ? 1 : -1));
    high.set(i, at(x < 0 ? -1 : 1));
    middle.set(i, at(0));
    got.set(i, at(share(uniform(), x)));
  }
  return bias_of({{}, {low, high, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 0)}}, middle, got, alone);
}

TEST(Bias, OfErrorsByChanceIsNone) {
  EXPECT_FALSE(bias({20000}, [](double u, double) { return 2 * u - 1; }));
  EXPECT_FALSE(bias({20000}, [](double u, double) { return 0.02 * (2 * u - 1); }));
  EXPECT_FALSE(bias({20000}, [](double u, double) { return 0.3 * (2 * u - 1) + 0.05; })) << "a small part of the errors";
}

TEST(Bias, OfWhatIsCutIsTowardsZero) {
  const auto b = bias({5000}, [](double u, double) { return -0.5 * u; });
  ASSERT_TRUE(b);
  EXPECT_TRUE(b->toward_zero);
  EXPECT_NEAR(b->mean, -0.25, 0.02);                               // uniform from 0 to -1/2
  EXPECT_NEAR(b->root_mean_square, 0.5 / std::sqrt(3.0), 0.02);
  EXPECT_EQ(b->elements, 5000);
}

TEST(Bias, OfWhatIsRoundedDownIsDownwards) {
  const auto b = bias({5000}, [](double u, double x) { return x > 0 ? -0.5 * u : 0.5 * u; });
  ASSERT_TRUE(b);
  EXPECT_FALSE(b->toward_zero);
  EXPECT_NEAR(b->mean, -0.25, 0.02);
}

TEST(Bias, NeedsManyDifferentElements) {
  EXPECT_FALSE(bias({999}, [](double u, double) { return -0.5 * u; }));
  // One error, seen five thousand times.
  const std::int64_t n = 5000;
  Tensor low(ElementType::F32, {n}), high(ElementType::F32, {n}), got(ElementType::F32, {n});
  for (std::int64_t i = 0; i < n; ++i) low.set(i, from_double(ElementType::F32, 1)), high.set(i, from_double(ElementType::F32, 2)), got.set(i, from_double(ElementType::F32, 1.1));
  EXPECT_FALSE(bias_of({{}, {low, high, std::vector<std::uint8_t>(static_cast<std::size_t>(n), 0)}}, low, got, true));
}

// A row's elements share an error, as a softmax's share that of their sum: 40 rows of either sign are no bias, and one row tells nothing.
TEST(Bias, OfSharedErrorsIsToldFromThatOfAll) {
  std::int64_t k = 0;
  const auto rows = [&](std::int64_t width, double lean) {
    k = 0;
    return [&k, width, lean](double u, double) {
      const std::int64_t row = k++ / width;
      return lean + 0.3 * (static_cast<double>((row * 2654435761) % 1000) / 500 - 1) + 0.01 * u;
    };
  };
  EXPECT_TRUE(bias({1, 2000}, rows(2000, 0.2)));
  EXPECT_FALSE(bias({1, 2000}, rows(2000, 0.2), false));
  EXPECT_FALSE(bias({40, 100}, rows(100, 0), false));
  EXPECT_FALSE(bias({20, 100}, rows(100, 0.5), false)) << "too few rows";
  EXPECT_TRUE(bias({40, 100}, rows(100, 0.5), false));
}

}  // namespace
}  // namespace ulpian::diff
