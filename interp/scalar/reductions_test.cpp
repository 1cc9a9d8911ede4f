#include <cmath>

#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

// y = kind(k < n if filter[k]) x[k]
struct Reduction {
  Maker m;
  TensorId x, keep = None;
  Variable k;
  Reduction(ReduceKind kind, E type, E result, bool filtered = false, TermId initial_bits = None, Bits initial = 0) {
    x = m.vector("x", type);
    if (filtered) keep = m.input("keep", E::Bool, {m.extent(x)});
    k = m.fresh("k");
    const TermId kv = m.variable(k);
    std::vector<TermId> bodies;
    if (kind != ReduceKind::Count) bodies.push_back(m.at(x, kv));
    const TermId first = initial_bits == None ? None : m.constant(result, initial);
    TermId y = m.reduce_over(kind, result, k, m.extent(x), bodies, filtered ? m.at(keep, kv) : None, first);
    if (result == E::Z) y = m.cast(E::I64, y, CastMode::Plain);
    m.output(m.scalar("y", y));
  }
  Tensor operator()(const std::vector<float>& values) { return m.result({floats(values)}); }
  Tensor operator()(const std::vector<float>& values, const std::vector<Bits>& filter) { return m.result({floats(values), of_bits(E::Bool, filter)}); }
};

Tensor f(float x) { return Tensor::scalar(E::F32, bits_of_float(x)); }
Tensor z(std::int64_t x) { return Tensor::scalar(E::I64, static_cast<Bits>(x)); }

// Found by search: from three terms on, left to right, right to left, halving and right-full trees all give other sums.
constexpr float a = -1393.629f, b = 598.646f, c = 911.783f, d = -0.296f, e = 3.871f, g = -44.865f, h = -3.489f, i = 18.422f, j = 381.25f;

TEST(Sum, IsTheLeftFullPairwiseTree) {
  Reduction sum(ReduceKind::Sum, E::F32, E::F32);
  EXPECT_TRUE(same(sum({}), f(0.0f)));
  EXPECT_TRUE(same(sum({a}), f(a)));
  EXPECT_TRUE(same(sum({a, b}), f(a + b)));
  EXPECT_TRUE(same(sum({a, b, c}), f((a + b) + c)));
  EXPECT_TRUE(same(sum({a, b, c, d}), f((a + b) + (c + d))));
  EXPECT_TRUE(same(sum({a, b, c, d, e}), f(((a + b) + (c + d)) + e)));
  EXPECT_TRUE(same(sum({a, b, c, d, e, g}), f(((a + b) + (c + d)) + (e + g))));
  EXPECT_TRUE(same(sum({a, b, c, d, e, g, h}), f(((a + b) + (c + d)) + ((e + g) + h))));
  EXPECT_TRUE(same(sum({a, b, c, d, e, g, h, i}), f(((a + b) + (c + d)) + ((e + g) + (h + i)))));
  EXPECT_TRUE(same(sum({a, b, c, d, e, g, h, i, j}), f((((a + b) + (c + d)) + ((e + g) + (h + i))) + j)));
  // The test would show another order.
  EXPECT_FALSE(same(sum({a, b, c, d, e, g, h}), f((a + (b + c)) + ((d + e) + (g + h)))));
  EXPECT_FALSE(same(sum({a, b, c, d, e, g, h}), f((((((a + b) + c) + d) + e) + g) + h)));
}

TEST(Sum, FilteredLeavesKeepTheirPlacesInTheTree) {
  Reduction sum(ReduceKind::Sum, E::F32, E::F32, true);
  EXPECT_TRUE(same(sum({a, b, c, d, e, g}, {1, 0, 1, 1, 0, 1}), f((a + (c + d)) + g)));
  EXPECT_TRUE(same(sum({a, b, c, d, e}, {0, 1, 1, 1, 1}), f((b + (c + d)) + e)));
  EXPECT_FALSE(same(sum({a, b, c, d, e}, {0, 1, 1, 1, 1}), f((b + c) + (d + e))));
  EXPECT_TRUE(same(sum({a, b, c, d, e, g}, {0, 0, 0, 0, 1, 1}), f(e + g)));
  EXPECT_TRUE(same(sum({a, b}, {0, 0}), f(0.0f)));
  EXPECT_TRUE(same(sum({-0.0f, NotANumber}, {1, 0}), f(-0.0f)));
}

TEST(Sum, AnInitialValueIsAddedInFrontOfTheTree) {
  Reduction sum(ReduceKind::Sum, E::F32, E::F32, false, 0, bits_of_float(c));
  EXPECT_TRUE(same(sum({a, b, d}), f(c + ((a + b) + d))));
  EXPECT_TRUE(same(sum({}), f(c)));
  Reduction zero(ReduceKind::Sum, E::F32, E::F32, false, 0, bits_of_float(-0.0f));
  EXPECT_TRUE(same(zero({}), f(0.0f)));     // -0 + +0
  EXPECT_TRUE(same(zero({-0.0f}), f(-0.0f)));
}

TEST(Sum, TermsRoundToTheAccumulatorAndNarrowFloatsMayAccumulateWide) {
  // 2048 + 1 is no f16, but 2048 + 1 + 1 in f32 is 2050.
  Maker m;
  const TensorId x = m.vector("x", E::F16);
  const Variable k = m.fresh("k");
  const TermId wide = m.reduce_over(ReduceKind::Sum, E::F32, k, m.extent(x), {m.at(x, m.variable(k))});
  m.output(m.scalar("y", m.cast(E::F16, wide, CastMode::Plain)));
  const Variable l = m.fresh("l");
  m.output(m.scalar("z", m.reduce_over(ReduceKind::Sum, E::F16, l, m.extent(x), {m.at(x, m.variable(l))})));
  auto out = m.run({of_bits(E::F16, {0x6800, 0x3c00, 0x3c00})});
  ASSERT_TRUE(out.ok()) << to_string(out.error());
  EXPECT_EQ((*out)[0]->at(0), 0x6801u);  // 2050
  EXPECT_EQ((*out)[1]->at(0), 0x6800u);  // (2048 + 1) + 1, each a tie to even
}

TEST(Sum, IntegersWrap) {
  Maker m;
  const TensorId x = m.vector("x", E::I8);
  const Variable k = m.fresh("k"), l = m.fresh("l");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Sum, E::I8, k, m.extent(x), {m.at(x, m.variable(k))})));
  m.output(m.scalar("z", m.reduce_over(ReduceKind::Product, E::I8, l, m.extent(x), {m.at(x, m.variable(l))})));
  auto out = m.run({of_bits(E::I8, {100, 100, 3})});
  ASSERT_TRUE(out.ok()) << to_string(out.error());
  EXPECT_EQ((*out)[0]->at(0), 0xcbu);  // 203 - 256 = -53
  EXPECT_EQ((*out)[1]->at(0), 0x30u);  // 30000 mod 256 = 48
}

TEST(Product, HasTheSameTreeAndTheUnit) {
  Reduction product(ReduceKind::Product, E::F32, E::F32);
  const float p = 1.1f, q = 1e30f, r = 1e-30f, s = 3.3f, t = 1e20f;
  EXPECT_TRUE(same(product({}), f(1.0f)));
  EXPECT_TRUE(same(product({p, q, r, s, t}), f(((p * q) * (r * s)) * t)));
}

TEST(Extremes, PropagateNanAndOrderTheZeros) {
  Reduction max(ReduceKind::Maximum, E::F32, E::F32), min(ReduceKind::Minimum, E::F32, E::F32);
  EXPECT_TRUE(same(max({-0.0f, 0.0f, -0.0f}), f(0.0f)));
  EXPECT_TRUE(same(min({0.0f, -0.0f, 0.0f}), f(-0.0f)));
  EXPECT_TRUE(same(max({1, NotANumber, 2}), f(NotANumber)));
  EXPECT_TRUE(same(min({NotANumber, 1}), f(NotANumber)));
  EXPECT_TRUE(same(max({}), f(-Infinity)));
  EXPECT_TRUE(same(min({}), f(Infinity)));
  Maker m;
  const TensorId x = m.vector("x", E::I8);
  const Variable k = m.fresh("k"), l = m.fresh("l");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Maximum, E::I8, k, m.extent(x), {m.at(x, m.variable(k))})));
  m.output(m.scalar("z", m.reduce_over(ReduceKind::Minimum, E::I8, l, m.extent(x), {m.at(x, m.variable(l))})));
  auto out = m.run({of_bits(E::I8, {})});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)[0]->at(0), 0x80u);
  EXPECT_EQ((*out)[1]->at(0), 0x7fu);
}

TEST(Extremes, OfAFormatWithoutInfinityStartAtItsFiniteEnds) {
  Maker m;
  const TensorId x = m.vector("x", E::F8E4M3FN);
  const Variable k = m.fresh("k");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Maximum, E::F8E4M3FN, k, m.extent(x), {m.at(x, m.variable(k))})));
  EXPECT_EQ(m.result({of_bits(E::F8E4M3FN, {})}).at(0), 0xfeu);  // -448
}

TEST(ArgExtremes, TakeTheFirstWithEqualZerosAndNanAboveAll) {
  Reduction greatest(ReduceKind::ArgMax, E::F32, E::Z), least(ReduceKind::ArgMin, E::F32, E::Z);
  EXPECT_TRUE(same(greatest({1, 3, 3, 2}), z(1)));
  EXPECT_TRUE(same(greatest({-0.0f, 0.0f}), z(0)));
  EXPECT_TRUE(same(least({0.0f, -0.0f}), z(0)));
  EXPECT_TRUE(same(greatest({1, NotANumber, Infinity, NotANumber}), z(1)));
  EXPECT_TRUE(same(least({1, -Infinity, NotANumber, -3}), z(2)));
  EXPECT_TRUE(same(greatest({}), z(0)));
  Reduction filtered(ReduceKind::ArgMax, E::F32, E::Z, true);
  EXPECT_TRUE(same(filtered({9, 1, 2, 9}, {0, 1, 1, 0}), z(2)));  // counted before the filter
}

TEST(Logic, AnyAllAndCount) {
  Maker m;
  const TensorId x = m.vector("x", E::Bool);
  const Variable k = m.fresh("k");
  const TermId read = m.at(x, m.variable(k));
  m.output(m.scalar("any", m.reduce_over(ReduceKind::Any, E::Bool, k, m.extent(x), {read})));
  m.output(m.scalar("all", m.reduce_over(ReduceKind::All, E::Bool, k, m.extent(x), {read})));
  m.output(m.scalar("count", m.cast(E::I64, m.reduce_over(ReduceKind::Count, E::Z, k, m.extent(x), {}, read), CastMode::Plain)));
  const auto check = [&](const std::vector<Bits>& in, Bits any, Bits all, Bits count) {
    auto out = m.run({of_bits(E::Bool, in)});
    ASSERT_TRUE(out.ok());
    EXPECT_EQ((*out)[0]->at(0), any);
    EXPECT_EQ((*out)[1]->at(0), all);
    EXPECT_EQ((*out)[2]->at(0), count);
  };
  check({}, 0, 1, 0);
  check({0, 1, 1}, 1, 0, 2);
  check({1, 1}, 1, 1, 2);
  check({0, 0}, 0, 0, 0);
}

// y = dot(k < n if keep[k] from s) x[k] * w[k]
struct DotProduct {
  Maker m;
  explicit DotProduct(bool filtered = false, std::optional<float> initial = std::nullopt) {
    const TensorId x = m.vector("x", E::F32);
    const TensorId w = m.input("w", E::F32, {m.extent(x)});
    TermId keep = None;
    const Variable k = m.fresh("k");
    const TermId kv = m.variable(k);
    if (filtered) keep = m.at(m.input("keep", E::Bool, {m.extent(x)}), kv);
    m.output(m.scalar("y", m.reduce_over(ReduceKind::Dot, E::F32, k, m.extent(x), {m.at(x, kv), m.at(w, kv)}, keep, initial ? m.f32(*initial) : None)));
  }
};

TEST(Dot, IsAChainOfFusedMultiplyAdds) {
  DotProduct dot;
  const float p = 1 + 0x1p-12f;
  // p^2 = 1 + 2^-11 + 2^-24: the last term survives only if the product is not rounded.
  EXPECT_TRUE(same(dot.m.result({floats({-1 - 0x1p-11f, p}), floats({1, p})}), f(0x1p-24f)));
  // In ascending order: ((0 + 2^24) + 1) + 1 loses both ones.
  EXPECT_TRUE(same(dot.m.result({floats({0x1p24f, 1, 1}), floats({1, 1, 1})}), f(0x1p24f)));
  EXPECT_TRUE(same(dot.m.result({floats({1, 1, 0x1p24f}), floats({1, 1, 1})}), f(0x1p24f + 2)));
  EXPECT_TRUE(same(dot.m.result({floats({-0.0f}), floats({1})}), f(0.0f)));  // fma(-0, 1, +0)
  EXPECT_TRUE(same(dot.m.result({floats({}), floats({})}), f(0.0f)));
  EXPECT_TRUE(same(dot.m.result({floats({0}), floats({Infinity})}), f(NotANumber)));
}

TEST(Dot, StartsANewAccumulatorEvery4096Positions) {
  DotProduct dot;
  // Each 2^-24 is lost on 1 (a tie to even), but three of them in a block of their own make 1.5 ulp, which rounds to 2.
  std::vector<float> x(4096 + 3, 0x1p-24f), w(x.size(), 1.0f);
  x[0] = 1;
  EXPECT_TRUE(same(dot.m.result({floats(x), floats(w)}), f(1 + 0x1p-22f)));
  // One position fewer before the cut: all are lost in one block.
  std::vector<float> y(4096, 0x1p-24f), v(y.size(), 1.0f);
  y[0] = 1;
  EXPECT_TRUE(same(dot.m.result({floats(y), floats(v)}), f(1.0f)));
  // Three blocks: (2^24 + 1) + 1, each a tie to even; a tree from the right would give 2^24 + 2.
  std::vector<float> u(3 * 4096, 0.0f), t(u.size(), 1.0f);
  u[0] = 0x1p24f, u[4096] = 1, u[8192] = 1;
  EXPECT_TRUE(same(dot.m.result({floats(u), floats(t)}), f(0x1p24f)));
  // Four blocks: (2^24 + 1) + (1 + 1).
  u.resize(4 * 4096), t.resize(u.size(), 1.0f);
  u[3 * 4096] = 1;
  EXPECT_TRUE(same(dot.m.result({floats(u), floats(t)}), f(0x1p24f + 2)));
}

TEST(Dot, FilteredPositionsCountAndEmptyBlocksAreSkipped) {
  DotProduct dot(true);
  std::vector<float> x(2 * 4096 + 2, 1.0f), w(x.size(), 1.0f);
  std::vector<Bits> keep(x.size());
  x[0] = 0x1p24f;
  // 2^24 in the first block, nothing in the second, 1 + 1 in the third: 2^24 + 2.
  keep[0] = keep[8192] = keep[8193] = 1;
  EXPECT_TRUE(same(dot.m.result({floats(x), floats(w), of_bits(E::Bool, keep)}), f(0x1p24f + 2)));
  // -0 alone: its block is fma(-0, 1, +0) = +0, and no other +0 is added.
  std::fill(keep.begin(), keep.end(), 0);
  EXPECT_TRUE(same(dot.m.result({floats(x), floats(w), of_bits(E::Bool, keep)}), f(0.0f)));
}

TEST(Dot, AnInitialValueStartsTheFirstBlock) {
  DotProduct dot(true, 1.0f);
  std::vector<float> x(8, 0x1p-24f), w(8, 1.0f);
  EXPECT_TRUE(same(dot.m.result({floats(x), floats(w), of_bits(E::Bool, std::vector<Bits>(8, 1))}), f(1.0f)));
  EXPECT_TRUE(same(dot.m.result({floats(x), floats(w), of_bits(E::Bool, std::vector<Bits>(8, 0))}), f(1.0f)));
  EXPECT_TRUE(same(dot.m.result({floats({}), floats({}), of_bits(E::Bool, {})}), f(1.0f)));
  DotProduct negative_zero(true, -0.0f);
  EXPECT_TRUE(same(negative_zero.m.result({floats({}), floats({}), of_bits(E::Bool, {})}), f(-0.0f)));
  EXPECT_TRUE(same(negative_zero.m.result({floats({-0.0f}), floats({1}), of_bits(E::Bool, {1})}), f(-0.0f)));
}

TEST(Dot, OfNarrowOperandsAccumulatesInTheNamedType) {
  Maker m;
  const TensorId x = m.vector("x", E::U8);
  const TensorId w = m.input("w", E::I8, {m.extent(x)});
  const Variable k = m.fresh("k");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Dot, E::I32, k, m.extent(x), {m.at(x, m.variable(k)), m.at(w, m.variable(k))})));
  // 255 * -128 + 200 * 127 = -32640 + 25400
  EXPECT_EQ(to_int64(E::I32, m.result({of_bits(E::U8, {255, 200}), of_bits(E::I8, {0x80, 127})}).at(0)), -7240);
}

TEST(Reduction, ALaterExtentMayUseAnEarlierVariable) {
  // sum(k < 4, l < k + 1) x[l]: positions of the flattened tree are those of the triangle.
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable k = m.fresh("k"), l = m.fresh("l");
  const Variable variables[2] = {k, l};
  const TermId extents[2] = {m.extent(x), m.primitive(P::Add, m.variable(k), m.integer(1))};
  const TermId body = m.at(x, m.variable(l));
  m.output(m.scalar("y", m.reduce(ReduceKind::Sum, E::F32, variables, extents, None, false, None, std::span(&body, 1))));
  // a | a b | a b c -> ((a + a) + (b + a)) + (b + c)
  EXPECT_TRUE(same(m.result({floats({a, b, c})}), f(((a + a) + (b + a)) + (b + c))));
}

TEST(Fold, RunsInOrderWithAnyBody) {
  // acc = acc * 10 + x[k]
  Maker m;
  const TensorId x = m.vector("x", E::I64);
  const Variable k = m.fresh("k"), acc = m.fresh("acc", E::I64);
  const TermId ten = m.constant(E::I64, 10), n = m.extent(x);
  const TermId body = m.primitive(P::Add, m.primitive(P::Multiply, m.variable(acc), ten), m.at(x, m.variable(k)));
  m.output(m.scalar("y", m.fold(std::span(&k, 1), std::span(&n, 1), acc, m.constant(E::I64, 7), body)));
  EXPECT_TRUE(same(m.result({integers({1, 2, 3})}), z(7123)));
  EXPECT_TRUE(same(m.result({integers({})}), z(7)));
}

Tensor order_of(bool descending, const Tensor& keys) {
  Maker m;
  const TensorId x = m.vector("x", keys.type());
  const Variable s = m.fresh("s"), at = m.fresh("j");
  const TermId key = m.at(x, m.variable(at));
  m.output(m.each("y", {s}, {m.extent(x)}, m.cast(E::I64, m.nth(at, m.extent(x), m.variable(s), std::span(&key, 1), descending), CastMode::Plain)));
  return m.result({keys});
}

TEST(Order, IsStableByValueWithNanGreatest) {
  const Tensor keys = floats({2, NotANumber, -0.0f, 2, 0.0f, -Infinity, NotANumber});
  EXPECT_TRUE(same(order_of(false, keys), integers({5, 2, 4, 0, 3, 1, 6})));
  EXPECT_TRUE(same(order_of(true, keys), integers({1, 6, 0, 3, 2, 4, 5})));
  EXPECT_TRUE(same(order_of(false, of_bits(E::U64, {~Bits{0}, 1, 2})), integers({1, 2, 0})));
  EXPECT_TRUE(same(order_of(false, Tensor({3}, {"b", "a", "ab"})), integers({1, 2, 0})));
}

TEST(Order, OfSeveralKeysIsLexicographic) {
  Maker m;
  const TensorId x = m.vector("x", E::I64);
  const TensorId y = m.input("y", E::I64, {m.extent(x)});
  const Variable s = m.fresh("s"), at = m.fresh("j");
  const TermId keys[2] = {m.at(x, m.variable(at)), m.at(y, m.variable(at))};
  m.output(m.each("z", {s}, {m.extent(x)}, m.cast(E::I64, m.nth(at, m.extent(x), m.variable(s), keys, false), CastMode::Plain)));
  EXPECT_TRUE(same(m.result({integers({1, 0, 1, 0}), integers({5, 9, 4, 9})}), integers({1, 3, 2, 0})));
}

}  // namespace
}  // namespace ulpian::interp::testing
