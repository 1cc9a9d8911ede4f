#include "diff/check/draw.h"

#include <cmath>
#include <limits>
#include <set>

#include "diff/check/check_test_support.h"

namespace ulpian::diff {
namespace {

constexpr ElementType F32 = ElementType::F32;

GraphMaker taking(ElementType type, const Extents& extents) {
  GraphMaker m;
  m.input("x", type, extents).output("x");
  return m;
}
// [N, 3] and [N]
GraphMaker symbolic() {
  GraphMaker m;
  m.input("x", F32, {0, 3}).input("y", F32, {0}).output("x");
  for (GraphValue& v : m.edit().values) v.extents->front() = {std::nullopt, "N"};
  return m;
}
Tensor drawn(ElementType type, const DrawOptions& o, const Extents& extents = {4, 8}) {
  const auto t = draw_inputs(*taking(type, extents).graph(), o);
  EXPECT_TRUE(t.ok()) << (t.ok() ? "" : to_string(t.error()));
  return t.ok() ? *t->at(0).tensor() : Tensor();
}

TEST(Draw, TheSameSeedGivesTheSameBits) {
  DrawOptions o;
  o.seed = 7;
  const Tensor a = drawn(F32, o);
  EXPECT_TRUE(same_elements(a, drawn(F32, o)));
  o.seed = 8;
  EXPECT_FALSE(same_elements(a, drawn(F32, o)));
  o.seed = 7;
  o.sample = 10;  // the same kind again, other numbers
  EXPECT_FALSE(same_elements(a, drawn(F32, o)));
}

TEST(Draw, TheNumbersAreThoseOfSplitMix64) {
  // Vigna's generator, whose first number of seed 0 is published; the tensor's seed mixes seed, sample and input (all 0) through it.
  const auto next = [](std::uint64_t& s) {
    std::uint64_t z = s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  std::uint64_t s = 0;
  s = next(s);
  EXPECT_EQ(s, 0xe220a8397b1dcdafu);
  s *= 0x9e3779b97f4a7c15u;
  s = next(s);
  DrawOptions o;
  o.ranges["x"] = {0, 4294967295.0};
  const Tensor t = drawn(ElementType::U32, o, {3});
  for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(t.at(k), next(s) & 0xffffffffu);
}

TEST(Draw, EveryKindAndTypeGivesFiniteNumbers) {
  using E = ElementType;
  for (E type : {E::F32, E::F64, E::F16, E::BF16, E::F8E4M3FN, E::F8E4M3FNUZ, E::F8E5M2, E::F8E5M2FNUZ, E::F4E2M1, E::F8E8M0})
    for (int sample = 0; sample < DataKindCount; ++sample) {
      DrawOptions o;
      o.sample = sample;
      const Tensor t = drawn(type, o);
      for (std::int64_t k = 0; k < t.size(); ++k)
        ASSERT_TRUE(kind_of_sample(sample) == DataKind::Special || !(is_nan(type, t.at(k)) || is_infinite(type, t.at(k)))) << name_of(type) << " " << name_of(kind_of_sample(sample));
    }
}

TEST(Draw, KindsAreWhatTheySay) {
  const auto of = [](DataKind kind, ElementType type = F32) {
    DrawOptions o;
    o.sample = static_cast<int>(kind);
    return drawn(type, o, {4, 32});
  };
  const auto at = [](const Tensor& t, std::int64_t k) { return to_double(t.type(), t.at(k)); };
  for (std::int64_t k = 0; k < 128; ++k) {
    int e = 0;
    EXPECT_EQ(std::abs(std::frexp(at(of(DataKind::PowersOfTwo), k), &e)), 0.5);
    EXPECT_EQ(at(of(DataKind::AllEqual), k), at(of(DataKind::AllEqual), k - k % 32));
    EXPECT_GT(at(of(DataKind::Positive), k), 0);
    EXPECT_LE(std::abs(at(of(DataKind::NearlyEqual), k) - 1), 2 * 0x1p-23);
    EXPECT_TRUE(k % 32 >= 29 || at(of(DataKind::Tail), k) == 0);
    EXPECT_TRUE(k % 2 == 0 || at(of(DataKind::Ties), k) == -at(of(DataKind::Ties), k - 1));
    EXPECT_LE(std::abs(at(of(DataKind::Tiny), k)), 0x1p-125);
  }
  // Rows rise or fall, and are above or below zero; four rows have each.
  const Tensor sorted = of(DataKind::Sorted);
  std::set<std::pair<bool, bool>> ways;
  for (std::int64_t row = 0; row < 4; ++row) {
    const bool rises = at(sorted, row * 32) < at(sorted, row * 32 + 1);
    for (std::int64_t k = 1; k < 32; ++k) {
      EXPECT_EQ(at(sorted, row * 32 + k - 1) < at(sorted, row * 32 + k), rises);
      EXPECT_EQ(std::signbit(at(sorted, row * 32 + k)), std::signbit(at(sorted, row * 32)));
    }
    ways.insert({rises, at(sorted, row * 32) < 0});
  }
  EXPECT_EQ(ways.size(), 4u);
  const Tensor hot = of(DataKind::OneHot);
  for (std::int64_t row = 0; row < 4; ++row) EXPECT_EQ(at(hot, row * 32 + row), 1);
  int subnormal = 0;
  const Tensor tiny = of(DataKind::Tiny, ElementType::F16);
  for (std::int64_t k = 0; k < 128; ++k) subnormal += std::abs(at(tiny, k)) < 0x1p-14;
  EXPECT_GT(subnormal, 32);
}

TEST(Draw, KindsOfOneInputAreWhatTheySay) {
  const auto of = [](DataKind kind) {
    DrawOptions o;
    o.kinds = {kind};
    std::vector<double> out;
    const Tensor t = drawn(F32, o, {64, 32});
    for (std::int64_t k = 0; k < t.size(); ++k) out.push_back(to_double(F32, t.at(k)));
    return out;
  };
  int ties = 0;
  for (double x : of(DataKind::Halves)) {
    EXPECT_EQ(x * 32, std::floor(x * 32));
    EXPECT_NE(x, std::floor(x));
    EXPECT_LE(std::abs(x), 256);
    ties += x - std::floor(x) == 0.5;
  }
  EXPECT_GT(ties, 2048 / 8);  // one in five
  // Of the argument of exp: a subnormal result below log(2^-126), about -87.3; the least argument is log(2^-149).
  int subnormal = 0, large = 0;
  for (double x : of(DataKind::Exponents)) {
    EXPECT_TRUE(-103.28 <= x && x <= 88.73) << x;
    subnormal += x < -87.4;
    large += x > 80;
  }
  EXPECT_TRUE(subnormal > 64 && large > 32);
  // A row's mean is 2^12 of either sign, its spread about 1: in f32 the square of the mean has units of 2.
  const auto means = of(DataKind::LargeMean);
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t k = 0; k < 32; ++k) {
      EXPECT_LE(std::abs(std::abs(means[row * 32 + k]) - 4096), 6.001);
      EXPECT_EQ(std::signbit(means[row * 32 + k]), std::signbit(means[row * 32]));
    }
  // Variances on both sides of 1e-5.
  const auto small = of(DataKind::SmallSpread);
  int below = 0, above = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    double squares = 0;
    for (std::size_t k = 0; k < 32; ++k) squares += small[row * 32 + k] * small[row * 32 + k];
    (squares / 32 < 1e-5 ? below : above)++;
  }
  EXPECT_TRUE(below > 6 && above > 6) << below << " " << above;
  // A row in three has none, one in three exactly one NaN, infinity, zero, end of the range or smallest normal.
  const auto special = of(DataKind::Special);
  int nan = 0, negative_zero = 0, infinite = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    int found = 0;
    for (std::size_t k = 0; k < 32; ++k) {
      const double x = special[row * 32 + k];
      found += std::isnan(x) || x == 0 || std::abs(x) > 7 || std::abs(x) < 0x1p-100;
      nan += std::isnan(x);
      infinite += std::isinf(x);
      negative_zero += x == 0 && std::signbit(x);
    }
    if (row % 3 < 2) {
      EXPECT_LE(found, static_cast<int>(row % 3));
    }
  }
  EXPECT_TRUE(nan > 8 && infinite > 8 && negative_zero > 4);
}

TEST(Draw, EdgesAreTakenAsTheyAre) {
  DrawOptions o;
  o.kinds = {DataKind::Edges};
  o.edges = {f32(88.5f), f32(-2), f32(INFINITY)};
  const Tensor t = drawn(F32, o, {2, 3});
  std::multiset<Bits> got;
  for (std::int64_t k = 0; k < 6; ++k) got.insert(t.at(k));
  for (Bits b : o.edges) EXPECT_EQ(got.count(b), 2u);
}

TEST(Draw, IntegersAndBools) {
  DrawOptions o;
  std::set<std::int64_t> seen;
  const Tensor t = drawn(ElementType::I64, o, {1000});
  for (std::int64_t k = 0; k < 1000; ++k) {
    const std::int64_t v = to_int64(ElementType::I64, t.at(k));
    EXPECT_TRUE(0 <= v && v <= 255);
    seen.insert(v);
  }
  EXPECT_GT(seen.size(), 200u);
  const Tensor small = drawn(ElementType::I4, o, {100});
  for (std::int64_t k = 0; k < 100; ++k) EXPECT_TRUE(0 <= to_int64(ElementType::I4, small.at(k)) && to_int64(ElementType::I4, small.at(k)) <= 7);
  const Tensor flags = drawn(ElementType::Bool, o, {100});
  int on = 0;
  for (std::int64_t k = 0; k < 100; ++k) on += flags.at(k) == 1;
  EXPECT_TRUE(20 < on && on < 80);
  o.ranges["x"] = {-3, 2};
  std::set<std::int64_t> all;
  const Tensor ranged = drawn(ElementType::I8, o, {200});
  for (std::int64_t k = 0; k < 200; ++k) all.insert(to_int64(ElementType::I8, ranged.at(k)));
  EXPECT_EQ(all, (std::set<std::int64_t>{-3, -2, -1, 0, 1, 2}));
  o.ranges["x"] = {1, 1};
  EXPECT_EQ(drawn(ElementType::Bool, o, {1}).at(0), 1u);
  o.ranges["x"] = {-9e18, 9e18};
  EXPECT_EQ(drawn(ElementType::I64, o, {5}).size(), 5);
}

TEST(Draw, FloatRangesHoldTheirEnds) {
  DrawOptions o;
  o.ranges["x"] = {-1, 1};
  const Tensor t = drawn(F32, o, {1000});
  for (std::int64_t k = 0; k < 1000; ++k) EXPECT_LE(std::abs(to_double(F32, t.at(k))), 1);
}

TEST(Draw, SymbolsAgreeAcrossInputs) {
  const auto g = symbolic().graph();
  DrawOptions o;
  auto t = draw_inputs(*g, o);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->at(0).tensor()->extents(), (Extents{1, 3}));
  EXPECT_EQ(t->at(1).tensor()->extents(), (Extents{1}));
  ASSERT_TRUE(parse_shape("N=4", *g, o).ok());
  t = draw_inputs(*g, o);
  EXPECT_EQ(t->at(1).tensor()->extents(), (Extents{4}));
  DrawOptions by_input;
  ASSERT_TRUE(parse_shape("x=5x3", *g, by_input).ok());
  t = draw_inputs(*g, by_input);
  EXPECT_EQ(t->at(1).tensor()->extents(), (Extents{5}));
  ASSERT_TRUE(parse_shape("y=6", *g, by_input).ok());
  EXPECT_FALSE(draw_inputs(*g, by_input).ok());
}

TEST(Draw, WhatTheCommandLineSaysIsChecked) {
  const auto g = symbolic().graph();
  DrawOptions o;
  for (const char* wrong : {"x", "x=a", "x=-1x3", "z=3", "N=1x2", "x=99999999999999999999"}) EXPECT_FALSE(parse_shape(wrong, *g, o).ok()) << wrong;
  for (const char* wrong : {"x", "x=1", "x=1:b", "x=2:1", "z=0:1", "N=0:1"}) EXPECT_FALSE(parse_range(wrong, *g, o).ok()) << wrong;
  ASSERT_TRUE(parse_range("x=-0.5:1e-2", *g, o).ok());
  EXPECT_EQ(o.ranges["x"], (std::pair<double, double>{-0.5, 0.01}));
  ASSERT_TRUE(parse_shape("x=4x4", *g, o).ok());
  const auto t = draw_inputs(*g, o);  // the second axis is 3
  ASSERT_FALSE(t.ok());
  EXPECT_NE(t.error().message.find("[4, 4] is given; the model declares [N, 3]"), std::string::npos) << t.error().message;
}

TEST(Draw, HugeExtentsAreRefusedBeforeMemoryIsTaken) {
  DrawOptions o;
  o.shapes["x"] = {std::int64_t{1} << 40, 3};
  EXPECT_FALSE(draw_inputs(*symbolic().graph(), o).ok());
  o.shapes["x"] = {std::int64_t{1} << 62, std::int64_t{1} << 62};
  EXPECT_FALSE(draw_inputs(*taking(F32, {0, 0}).graph(), o).ok());
}

TEST(Draw, IntegersAreMadeValidEachOnItsOwn) {
  GraphMaker m;
  m.input("x", F32, {5, 4}).input("i", ElementType::I64, {3}).input("free", ElementType::I64, {64}).node("Gather", {"x", "i"}, {"y"}).output("y").node("Abs", {"free"}, {"z"}).output("z");
  const auto t = draw_valid_inputs(shipped(), m.graph(), {}, {});
  ASSERT_TRUE(t.ok());
  for (std::int64_t k = 0; k < 3; ++k) EXPECT_LT(to_int64(ElementType::I64, t->at(1).tensor()->at(k)), 5);
  std::int64_t most = 0;
  for (std::int64_t k = 0; k < 64; ++k) most = std::max(most, to_int64(ElementType::I64, t->at(2).tensor()->at(k)));
  EXPECT_GT(most, 31);  // what nothing constrains stays wide
}

TEST(Draw, AnInputWithAConstantOfItsOwnIsLeftOut) {
  GraphMaker m = taking(F32, {2});
  m.constant("x", floats({1, 2}));
  auto t = draw_inputs(*m.graph(), {});
  ASSERT_TRUE(t.ok());
  EXPECT_FALSE(t->at(0).is_present());
  DrawOptions o;
  o.ranges["x"] = {0, 1};
  t = draw_inputs(*m.graph(), o);
  EXPECT_TRUE(t->at(0).is_present());
}

TEST(Draw, SequencesHaveTheShapesThatAreGiven) {
  GraphMaker maker = taking(F32, {2, 3});
  GraphValue& v = maker.edit().values[0];
  v.is_sequence = true;
  DrawOptions o;
  auto t = draw_inputs(*maker.graph(), o);
  ASSERT_TRUE(t.ok()) << to_string(t.error());
  ASSERT_EQ(t->at(0).count(), 2u);
  EXPECT_EQ(t->at(0).part(1).extents(), (Extents{2, 3}));
  EXPECT_FALSE(same_elements(t->at(0).part(0), t->at(0).part(1)));
  ASSERT_TRUE(parse_shape(v.name + "=4x5++7", *maker.graph(), o).ok());
  t = draw_inputs(*maker.graph(), o);
  ASSERT_TRUE(t.ok()) << to_string(t.error());
  ASSERT_EQ(t->at(0).count(), 3u);
  EXPECT_EQ(t->at(0).part(0).extents(), (Extents{4, 5}));
  EXPECT_EQ(t->at(0).part(1).extents(), (Extents{}));
  EXPECT_EQ(t->at(0).part(2).extents(), (Extents{7}));
  EXPECT_FALSE(parse_shape(v.name + "=none", *maker.graph(), o).ok()) << "given twice";
  o = {};
  ASSERT_TRUE(parse_shape(v.name + "=none", *maker.graph(), o).ok());
  t = draw_inputs(*maker.graph(), o);
  ASSERT_TRUE(t.ok() && t->at(0).sequence());
  EXPECT_EQ(t->at(0).count(), 0u);
  EXPECT_FALSE(parse_shape("x=none", *taking(F32, {2}).graph(), o).ok());
  EXPECT_FALSE(parse_shape("x=1+2", *taking(F32, {2}).graph(), o).ok());
}

}  // namespace
}  // namespace ulpian::diff
