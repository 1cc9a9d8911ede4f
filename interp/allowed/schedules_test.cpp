// Other schedules than the canonical one: any order, fused or not, wider accumulators. Their results are members, and some come close to the
// ends of the sets.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "interp/allowed/allowed.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

AllowedTensor set_of(Maker& m, const std::vector<Tensor>& inputs, const char* profile = "standard") {
  std::vector<std::optional<AllowedTensor>> sets;
  for (const Tensor& t : inputs) sets.push_back(AllowedTensor::exactly(t));
  auto out = evaluate_allowed(m.program(), sets, *profile_named(profile));
  if (!out) {
    ADD_FAILURE() << to_string(out.error());
    return AllowedTensor::exactly(Tensor());
  }
  return *(*out)[0];
}

template <class F> Tensor tensor_of(const std::vector<F>& values) {
  return Tensor::from_bytes(sizeof(F) == 4 ? E::F32 : E::F64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
}
template <class F> constexpr E type_of_host = sizeof(F) == 4 ? E::F32 : E::F64;
template <class F> Bits bits_of_host(F x) { return from_double(type_of_host<F>, static_cast<double>(x)); }

template <class F> AllowedTensor sum_set(const std::vector<F>& x) {
  Maker m;
  const TensorId t = m.vector("x", type_of_host<F>);
  const Variable k = m.fresh("k");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Sum, type_of_host<F>, k, m.extent(t), {m.at(t, m.variable(k))})));
  return set_of(m, {tensor_of(x)});
}

template <class F> AllowedTensor dot_set(const std::vector<F>& x, const std::vector<F>& y) {
  Maker m;
  const TensorId a = m.vector("a", type_of_host<F>), b = m.vector("b", type_of_host<F>);
  const Variable k = m.fresh("k");
  const TermId kv = m.variable(k);
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Dot, type_of_host<F>, k, m.extent(a), {m.at(a, kv), m.at(b, kv)})));
  return set_of(m, {tensor_of(x), tensor_of(y)});
}

// Joins two neighbours drawn at random until one is left: every binary tree over every permutation may come out.
template <class F> F any_tree(std::vector<F> terms, std::mt19937& random) {
  std::shuffle(terms.begin(), terms.end(), random);
  while (terms.size() > 1) {
    const std::size_t i = random() % (terms.size() - 1);
    volatile F s = terms[i] + terms[i + 1];
    terms[i] = s;
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return terms[0];
}

template <class F> F chain(const std::vector<F>& x, const std::vector<F>& y, std::mt19937& random, bool fused) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  F sum = 0;
  for (std::size_t i : order) {
    if (fused) {
      sum = std::fma(x[i], y[i], sum);
    } else {
      volatile F p = x[i] * y[i];
      sum = sum + p;
    }
  }
  return sum;
}

template <class F> std::vector<F> drawn(std::size_t n, std::mt19937& random, int kind) {
  std::vector<F> out(n);
  for (F& v : out) {
    const double u = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
    switch (kind % 4) {
      case 0: v = static_cast<F>(u); break;
      case 1: v = static_cast<F>(std::ldexp(u, static_cast<int>(random() % 40) - 20)); break;
      case 2: v = static_cast<F>(static_cast<int>(random() % 7) - 3); break;
      default: v = static_cast<F>(std::ldexp(u, -130 - static_cast<int>(random() % 18))); break;  // subnormal products, of f32
    }
  }
  return out;
}

template <class F> void every_schedule_is_a_member(unsigned seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 120; ++round) {
    const std::size_t n = 1 + random() % (round % 10 == 0 ? 600 : 40);
    const std::vector<F> x = drawn<F>(n, random, round), y = drawn<F>(n, random, round / 4);
    const AllowedTensor sum = sum_set(x), dot = dot_set(x, y);
    // Exact values, rounded once.
    Exact exact_sum, exact_dot;
    for (std::size_t i = 0; i < n; ++i) {
      exact_sum = exact_sum + Exact::of_double(static_cast<double>(x[i]));
      exact_dot = exact_dot + Exact::of_double(static_cast<double>(x[i])) * Exact::of_double(static_cast<double>(y[i]));
    }
    EXPECT_TRUE(sum.contains(0, *exact_sum.to_bits(type_of_host<F>))) << sum.describe(0);
    EXPECT_TRUE(dot.contains(0, *exact_dot.to_bits(type_of_host<F>))) << dot.describe(0);
    for (int k = 0; k < 6; ++k) {
      const F s = any_tree(x, random), fused = chain(x, y, random, true), unfused = chain(x, y, random, false);
      std::vector<F> products(n);
      for (std::size_t i = 0; i < n; ++i) products[i] = x[i] * y[i];
      const F tree = any_tree(products, random);
      EXPECT_TRUE(sum.contains(0, bits_of_host(s))) << s << " of " << n << " terms, outside " << sum.describe(0) << ", round " << round;
      for (F v : {fused, unfused, tree}) EXPECT_TRUE(dot.contains(0, bits_of_host(v))) << v << " of " << n << " terms, outside " << dot.describe(0) << ", round " << round;
      double wide = 0;
      for (std::size_t i = 0; i < n; ++i) wide += static_cast<double>(x[i]) * static_cast<double>(y[i]);
      if (sizeof(F) == 4) {
        EXPECT_TRUE(dot.contains(0, bits_of_host(static_cast<F>(wide)))) << "a wider accumulator";
      }
    }
  }
}

TEST(Schedules, EveryOrderOfAnF32SumOrDotIsAMember) { every_schedule_is_a_member<float>(7001); }
TEST(Schedules, EveryOrderOfAnF64SumOrDotIsAMember) { every_schedule_is_a_member<double>(7002); }

TEST(Schedules, AbsorbedTermsReachMostOfTheRadius) {
  // 1 and then terms of half an ulp: added one by one to 1 each is absorbed. The bound (n - 1) u S is met but for S > 1.
  for (const int n : {2, 10, 100, 1000}) {
    std::vector<float> x(static_cast<std::size_t>(n), 0x1p-24f), one(static_cast<std::size_t>(n), 1.0f);
    x[0] = 1;
    float ascending = 0;
    for (float v : x) ascending += v;
    EXPECT_EQ(ascending, 1.0f);
    const double exact = 1 + (n - 1) * 0x1p-24, radius_of_sum = (n - 1) * 0x1p-24 * exact, radius_of_dot = n * 0x1p-24 * exact;
    EXPECT_GE((exact - 1) / radius_of_sum, 0.999);
    EXPECT_GE((exact - 1) / radius_of_dot, n == 2 ? 0.49 : 0.89);
    const AllowedTensor sum = sum_set(x), dot = dot_set(x, one);
    EXPECT_TRUE(sum.contains(0, bits_of_float(1.0f)));
    EXPECT_TRUE(dot.contains(0, bits_of_float(1.0f)));
    // The sets are no wider than the bounds, up to one rounding.
    EXPECT_FALSE(sum.contains(0, bits_of_float(static_cast<float>(exact - radius_of_sum * 1.001 - 0x1.8p-24))));
    EXPECT_FALSE(dot.contains(0, bits_of_float(static_cast<float>(exact + radius_of_dot * 1.001 + 0x1.8p-23))));
  }
}

// Every value that a bracketing of every order of the products gives, where each product that is added to something may be fused.
class Contractions {
public:
  Contractions(E type, std::vector<Bits> x, std::vector<Bits> y) : type_(type), x_(std::move(x)), y_(std::move(y)), known_(std::size_t{1} << x_.size()) {}

  const std::set<Bits>& all() { return of((std::size_t{1} << x_.size()) - 1); }

private:
  const std::set<Bits>& of(std::size_t leaves) {
    std::set<Bits>& out = known_[leaves];
    if (!out.empty()) return out;
    if (std::has_single_bit(leaves)) {
      const auto i = static_cast<std::size_t>(std::countr_zero(leaves));
      const Bits both[2] = {x_[i], y_[i]};
      out.insert(apply(P::Multiply, type_, both));
      return out;
    }
    for (std::size_t left = (leaves - 1) & leaves; left != 0; left = (left - 1) & leaves) {
      const std::size_t right = leaves ^ left;
      for (const Bits a : of(left)) {
        if (std::has_single_bit(right)) {
          const auto i = static_cast<std::size_t>(std::countr_zero(right));
          out.insert(fused_multiply_add(type_, x_[i], y_[i], a));
        }
        for (const Bits b : of(right)) {
          const Bits both[2] = {a, b};
          out.insert(apply(P::Add, type_, both));
        }
      }
    }
    return out;
  }

  E type_;
  std::vector<Bits> x_, y_;
  std::vector<std::set<Bits>> known_;
};

// docs/bounds.md, section 3 and its corollary: sums of products, written as a dot or as a sum.
TEST(Schedules, EveryBracketingAndContractionOfUpToFourProductsIsAMember) {
  constexpr unsigned Seed = 7005;
  std::mt19937 random(Seed);
  std::int64_t values = 0;
  for (const E type : {E::F16, E::F32, E::BF16, E::F64})
    for (int round = 0; round < 400; ++round) {
      const std::size_t n = 1 + static_cast<std::size_t>(round) % 4;
      const bool squares = round % 5 == 0;
      std::vector<Bits> x(n), y(n);
      const FloatFormat& f = format_of(type);
      for (std::size_t i = 0; i < n; ++i) {
        const auto unit = [&] { return static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0; };
        const int kind = round / 4 % 5;
        const int down = f.min_exponent() / 2 - static_cast<int>(random() % static_cast<unsigned>(f.fraction_bits + 2));
        const double scale = kind == 0 ? 1 : kind == 1 ? std::ldexp(1.0, static_cast<int>(random() % 8)) : kind == 2 ? std::ldexp(1.0, down) : 1;
        x[i] = from_double(type, unit() * scale);
        y[i] = squares ? x[i] : from_double(type, unit() * scale);
        // Cancellation: the opposite of an earlier product, or nearly; ties: a few small integers over powers of two.
        if (kind == 3 && i % 2 == 1 && !squares) x[i] = x[i - 1] ^ f.sign_mask(), y[i] = y[i - 1] + random() % 2;
        if (kind == 4) x[i] = from_double(type, static_cast<double>(1 + random() % 5)), y[i] = squares ? x[i] : from_double(type, std::ldexp(static_cast<double>(random() % 7) - 3, -static_cast<int>(random() % 2) * f.fraction_bits));
      }
      for (const ReduceKind kind : {ReduceKind::Sum, ReduceKind::Dot}) {
        Maker m;
        const TensorId a = m.vector("a", type), b = m.vector("b", type);
        const Variable k = m.fresh("k");
        const TermId kv = m.variable(k), p = m.at(a, kv), q = squares ? p : m.at(b, kv);
        const std::vector<TermId> bodies = kind == ReduceKind::Dot ? std::vector{p, q} : std::vector{m.primitive(P::Multiply, p, q)};
        m.output(m.scalar("y", m.reduce_over(kind, type, k, m.extent(a), bodies)));
        const AllowedTensor set = set_of(m, {of_bits(type, x), of_bits(type, y)}, round % 2 ? "standard" : "strict");
        Exact exact;
        for (std::size_t i = 0; i < n; ++i) exact = exact + Exact::of_double(to_double(type, x[i])) * Exact::of_double(to_double(type, y[i]));
        EXPECT_TRUE(set.contains(0, *exact.to_bits(type))) << "seed " << Seed << ", round " << round << ": exactly, of " << n << ", outside " << set.describe(0);
        Contractions contractions(type, x, y);
        for (const Bits v : contractions.all()) {
          ++values;
          EXPECT_TRUE(set.contains(0, v)) << "seed " << Seed << ", round " << round << ": " << name_of(type) << " " << to_double(type, v) << " of " << n << " products, outside " << set.describe(0);
        }
      }
    }
  fmt::print("{} values\n", values);
}

TEST(Schedules, ABiasMayBeWhereTheAccumulationStarts) {
  // y = dot(a, b); z = y + c, in one equation and through a stored tensor.
  std::mt19937 random(7004);
  for (const bool stored : {false, true})
    for (int round = 0; round < 40; ++round) {
      const std::size_t n = 2 + random() % 60;
      const std::vector<float> x = drawn<float>(n, random, round), y = drawn<float>(n, random, round / 4);
      const float bias = round % 3 == 0 ? 1000.0f : 0.37f;
      Maker m;
      const TensorId a = m.vector("a", E::F32), b = m.vector("b", E::F32);
      const Variable k = m.fresh("k");
      const TermId kv = m.variable(k);
      TermId dot = m.reduce_over(ReduceKind::Dot, E::F32, k, m.extent(a), {m.at(a, kv), m.at(b, kv)});
      if (stored) dot = m.read(m.scalar("y", dot), {});
      m.output(m.scalar("z", m.primitive(P::Add, dot, m.f32(bias))));
      const AllowedTensor set = set_of(m, {floats(x), floats(y)});
      for (int s = 0; s < 8; ++s) {
        float first = bias;
        for (std::size_t i = 0; i < n; ++i) first = s % 2 ? std::fma(x[i], y[i], first) : first + x[i] * y[i];
        EXPECT_TRUE(set.contains(0, bits_of_float(first))) << first << " outside " << set.describe(0);
        EXPECT_TRUE(set.contains(0, bits_of_float(chain(x, y, random, s % 3 == 0) + bias)));
      }
      EXPECT_FALSE(set.contains(0, bits_of_float(bias + 100)));
    }
}

TEST(Schedules, ADroppedTermOfAOneHotDotShows) {
  std::vector<float> x(1000, 0.0f), y(1000);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 0.1f * static_cast<float>(i + 1);
  x[617] = 3.7f;
  const AllowedTensor dot = dot_set(x, y);
  EXPECT_TRUE(dot.is_exact(0));
  EXPECT_TRUE(dot.contains(0, bits_of_float(x[617] * y[617])));
  EXPECT_FALSE(dot.contains(0, bits_of_float(0.0f)));
}

TEST(Schedules, TheSignOfAZeroSumIsFree) {
  const AllowedTensor zero = sum_set<float>({-0.0f, -0.0f});
  EXPECT_TRUE(zero.contains(0, bits_of_float(0.0f)));
  EXPECT_TRUE(zero.contains(0, bits_of_float(-0.0f)));
  EXPECT_FALSE(zero.contains(0, bits_of_float(1e-45f)));
}

TEST(Schedules, OverflowThatDependsOnTheOrder) {
  constexpr float Large = 0x1.fffffep127f;
  // Of one sign: infinity joins the interval. Of both: nothing is excluded.
  const AllowedTensor up = sum_set<float>({Large, Large / 2, -1.0f});
  EXPECT_TRUE(up.contains(0, bits_of_float(Infinity)));
  EXPECT_FALSE(up.contains(0, bits_of_float(-Infinity)));
  EXPECT_FALSE(up.contains(0, bits_of_float(1.0f)));
  const AllowedTensor both = sum_set<float>({Large, Large, -Large, -Large});
  EXPECT_TRUE(both.flags()[0] & Anything);
  const AllowedTensor safe = sum_set<float>({Large / 2, Large / 4, 1.0f});
  EXPECT_FALSE(safe.contains(0, bits_of_float(Infinity)));
}

TEST(Schedules, NonFiniteTermsComeFirst) {
  const AllowedTensor nan = sum_set<float>({1.0f, NotANumber, Infinity});
  EXPECT_EQ(nan.describe(0), "NaN");
  const AllowedTensor opposite = sum_set<float>({Infinity, -Infinity, 1.0f});
  EXPECT_EQ(opposite.describe(0), "NaN");
  const AllowedTensor one = sum_set<float>({Infinity, -3.0f, 5.0f});
  EXPECT_EQ(one.describe(0), "inf");
  // The finite rest can reach the other infinity before it is met.
  const AllowedTensor reached = sum_set<float>({Infinity, -0x1.fffffep127f, -0x1.fffffep127f});
  EXPECT_TRUE(reached.contains(0, bits_of_float(Infinity)));
  EXPECT_TRUE(reached.contains(0, bits_of_float(NotANumber)));
  const AllowedTensor zero_times_infinity = dot_set<float>({0.0f, 1.0f}, {Infinity, 1.0f});
  EXPECT_EQ(zero_times_infinity.describe(0), "NaN");
}

TEST(Schedules, ProductsOfFewAndManyFactors) {
  std::mt19937 random(7003);
  for (int round = 0; round < 60; ++round) {
    std::vector<float> x(1 + random() % 20);
    for (float& v : x) v = 0.5f + static_cast<float>(random() % 1000) / 700.0f;
    Maker m;
    const TensorId t = m.vector("x", E::F32);
    const Variable k = m.fresh("k");
    m.output(m.scalar("y", m.reduce_over(ReduceKind::Product, E::F32, k, m.extent(t), {m.at(t, m.variable(k))})));
    const AllowedTensor set = set_of(m, {floats(x)});
    for (int s = 0; s < 10; ++s) {
      std::shuffle(x.begin(), x.end(), random);
      float p = 1;
      for (float v : x) p *= v;
      EXPECT_TRUE(set.contains(0, bits_of_float(p))) << p << " outside " << set.describe(0);
    }
    EXPECT_FALSE(set.contains(0, bits_of_float(0.0f)));
  }
}

TEST(Schedules, CollidingUpdatesOfAScatterCombineInAnyOrder) {
  for (const core::ScatterMode mode : {core::ScatterMode::Add, core::ScatterMode::Multiply}) {
    Maker m;
    const TensorId base = m.vector("base", E::F32), u = m.vector("u", E::F32);
    const Variable i = m.fresh("i");
    TensorNode n;
    n.name = "y";
    n.type = E::F32;
    n.kind = TensorKind::Scatter;
    n.extents = {m.extent(base)};
    n.variables = {i};
    n.domain = {m.extent(u)};
    n.body = m.at(u, m.variable(i));
    n.scatter.mode = mode;
    n.scatter.base = base;
    n.scatter.index = {m.integer(0)};
    m.output(m.add(std::move(n)));
    const float a = 1.1f, b = 1.3f, c = 1.7f;
    const AllowedTensor set = set_of(m, {floats({a}), floats({b, c})});
    const bool sum = mode == core::ScatterMode::Add;
    const float orders[] = {sum ? (a + b) + c : (a * b) * c, sum ? a + (b + c) : a * (b * c), sum ? (a + c) + b : (a * c) * b};
    for (float y : orders) EXPECT_TRUE(set.contains(0, bits_of_float(y))) << y << " outside " << set.describe(0);
    EXPECT_FALSE(set.contains(0, bits_of_float(orders[0] * 1.00001f)));
  }
}

}  // namespace
}  // namespace ulpian::interp::testing
