#include "diff/compare/shown.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "diff/compare/verdict.h"

namespace ulpian::diff {
namespace {

using interp::AllowedTensor;

Tensor floats(const std::vector<float>& values) {
  Tensor t(ElementType::F32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), std::bit_cast<std::uint32_t>(values[k]));
  return t;
}
Shown of(const std::vector<float>& low, const std::vector<float>& high, const std::vector<float>& canonical, std::vector<std::uint8_t> flags = {}) {
  flags.resize(low.size());
  Shown s;
  s.take({{}, AllowedTensor(floats(low), floats(high), flags)}, floats(canonical));
  return s;
}

constexpr float Inf = std::numeric_limits<float>::infinity(), Nan = std::numeric_limits<float>::quiet_NaN(), Most = std::numeric_limits<float>::max();

TEST(Shown, TheFarthestMemberIsWhatMayStayHidden) {
  // Members up to 2^-22 above 1 and 2^-24 below it; of 8 up to 1/16 of it.
  const Shown s = of({1 - 0x1p-24f, 7.5f}, {1 + 0x1p-22f, 8}, {1, 8});
  EXPECT_EQ(s.least(), 0x1p-22);
  EXPECT_EQ(s.median(), 0x1p-22);  // half of two is one
  EXPECT_EQ(s.exact(), 0);
  EXPECT_EQ(of({7.5f, -9}, {8, -8}, {8, -8}).least(), 0.0625);
  EXPECT_EQ(of({7.5f, -9}, {8, -8}, {8, -8}).median(), 0.0625);
  EXPECT_EQ(of({7, -9, 8}, {8, -8, 8.25f}, {8, -8, 8}).median(), 0.125);
}

TEST(Shown, OneAdmittedNumberShowsAnyChangeAndAllNothing) {
  const Shown s = of({1, 0, 5, Nan}, {1, 0, 6, Nan}, {1, 0, 5, Nan}, {0, interp::EitherZero, interp::Anything, interp::HasNan | interp::Empty});
  EXPECT_EQ(s.elements(), 4);
  EXPECT_EQ(s.exact(), 3);
  EXPECT_EQ(s.vacuous(), 1);
  EXPECT_FALSE(s.has_others());
  EXPECT_EQ(in_short(s), "any");
  EXPECT_EQ(in_words(s, 4), "these inputs show any change; vacuous: 25.0%");
  EXPECT_EQ(in_short(of({5}, {6}, {5}, {interp::Anything})), "nothing");
  EXPECT_EQ(in_words(of({5}, {6}, {5}, {interp::Anything}), 1), "these inputs show nothing; vacuous: 100.0%");
  EXPECT_EQ(in_short({}), "-");
  EXPECT_EQ(in_words({}, 7), "");
}

TEST(Shown, AroundZeroNoRelativeErrorIsSureToShow) {
  const Shown s = of({-1e-3f, 1}, {1e-3f, 1.25f}, {0, 1});
  EXPECT_EQ(s.least(), 0.25);
  EXPECT_EQ(of({-1e-3f}, {1e-3f}, {0}).least(), std::numeric_limits<double>::infinity());
  // NaN and numbers beside each other.
  EXPECT_EQ(of({1}, {1}, {Nan}, {interp::HasNan}).least(), std::numeric_limits<double>::infinity());
}

TEST(Shown, AnInfinityCountsAsTheNumberAfterTheLargest) {
  // 2^128 is 2^104 above the largest, 2^128 - 2^104.
  EXPECT_EQ(of({Most}, {Inf}, {Most}).least(), 0x1p104 / (0x1p128 - 0x1p104));
  EXPECT_EQ(of({Most}, {Inf}, {Inf}).least(), 0x1p-24);
}

TEST(Shown, FiguresAreRoundedUpToTwoDigits) {
  // 2^-22 is 2.384e-07, 2^-3 is 0.125.
  const Shown s = of({1, 8}, {1 + 0x1p-22f, 9}, {1, 8});
  EXPECT_EQ(in_short(s), "2.4e-07 / 2.4e-07");
  EXPECT_EQ(in_short(of({8}, {9}, {8})), "0.13 / 0.13");
  EXPECT_EQ(in_short(of({4}, {5}, {4})), "0.25 / 0.25");
  EXPECT_EQ(in_words(s, 2), "these inputs show relative errors above 2.4e-07 in half of the elements (at best 2.4e-07); vacuous: 0.0%");
  EXPECT_EQ(in_words(s, 4), "these inputs show relative errors above 2.4e-07 in half of the elements (at best 2.4e-07); vacuous: 0.0% (as far as sets were asked for: 50.0% of the elements)");
}

TEST(Shown, OfManyElementsPartsStandForAll) {
  // 30 % exact, then 0.5 of the value, then 0.25 in the last tenth: each to within one part, 10 elements.
  const std::size_t n = 10 * Shown::MostSampled;
  std::vector<float> low(n, 1), high(n, 1.5f), canonical(n, 1);
  for (std::size_t i = 0; i < 3 * n / 10; ++i) high[i] = 1;
  for (std::size_t i = 9 * n / 10; i < n; ++i) high[i] = 1.25f;
  Shown s = of(low, high, canonical);
  EXPECT_EQ(s.elements(), static_cast<std::int64_t>(n));
  EXPECT_NEAR(static_cast<double>(s.exact()), 0.3 * static_cast<double>(n), 10);
  EXPECT_EQ(s.least(), 0.25);
  EXPECT_EQ(s.median(), 0.5);
  // Together with as many of 0.25: more than half of the others.
  s.add(of(low, std::vector<float>(n, 1.25f), canonical));
  EXPECT_EQ(s.elements(), static_cast<std::int64_t>(2 * n));
  EXPECT_EQ(s.median(), 0.25);
}

TEST(Shown, LooksAtOneElementOfEachPart) {
  for (const std::int64_t n : {1, 255, 256, 257, 1000, 100003}) {
    const std::vector<std::int64_t> at = Shown::positions(n, 256);
    ASSERT_EQ(static_cast<std::int64_t>(at.size()), std::min<std::int64_t>(n, 256));
    // One in each of equal parts, whose sizes differ by one at most: neighbours are less than two parts apart, and the ends are in the first and the last.
    const std::int64_t most = (n + std::min<std::int64_t>(n, 256) - 1) / std::min<std::int64_t>(n, 256);
    for (std::size_t k = 1; k < at.size(); ++k) EXPECT_TRUE(at[k - 1] < at[k] && at[k] - at[k - 1] < 2 * most) << n << " " << k;
    EXPECT_TRUE(at.front() < most && n - at.back() <= most);
    EXPECT_TRUE(at.front() >= 0 && at.back() < n);
  }
}

TEST(Shown, IntegersAreExactOrGoByTheirValue) {
  Tensor low(ElementType::U8, {2}), high(ElementType::U8, {2});
  low.set(0, 100), high.set(0, 101), low.set(1, 7), high.set(1, 7);
  Shown s;
  s.take({{}, AllowedTensor(low, high, {0, 0})}, low);
  EXPECT_EQ(s.exact(), 1);
  EXPECT_EQ(s.least(), 0.01);
}

TEST(Shown, AVerdictHasItWithAndWithoutADifference) {
  Expectation e;
  e.canonical.emplace_back(floats({1, 1}));
  int asked = 0, sampled = 0;
  e.allowed = []() -> Result<std::vector<std::optional<AllowedTensor>>> { throw std::runtime_error("all sets were asked for"); };
  e.some = [&](const std::vector<std::vector<std::int64_t>>& positions, bool cheaply) -> Result<interp::AllowedSamples> {
    ++(cheaply ? sampled : asked);
    EXPECT_EQ(positions, (std::vector<std::vector<std::int64_t>>{{0, 1}}));
    interp::AllowedSamples s;
    s.outputs.emplace_back(interp::AllowedSample{{0, 1}, AllowedTensor(floats({1, 1}), floats({cheaply ? 1.25f : 1.5f, 1}), {0, 0})});
    return s;
  };
  Verdict v = judge(e, std::vector<std::optional<Tensor>>{floats({1.5f, 1})});
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.shown.least(), 0.5);
  EXPECT_EQ(v.counts.shown.exact(), 1);
  EXPECT_EQ(sampled, 0);
  v = judge(e, std::vector<std::optional<Tensor>>{floats({1, 1})});
  EXPECT_EQ(v.counts.shown.least(), 0.25);
  EXPECT_EQ(v.counts.shown.elements(), 2);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace ulpian::diff
