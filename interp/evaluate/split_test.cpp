// Tensors filled part by part: the block evaluator against the scalar one, in every configuration.
#include <random>

#include "interp/evaluate/both.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

class Numbers {
public:
  explicit Numbers(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  Tensor tensor(E type, const Extents& extents) {
    Tensor t(type, extents);
    for (std::int64_t k = 0; k < t.size(); ++k) t.set(k, is_float(type) ? from_double(type, static_cast<double>(below(100))) : from_int64(type, below(100)));
    return t;
  }

private:
  std::mt19937_64 random_;
};

std::int64_t maps_of(const Maker& m) {
  const auto plan = Plan::make(m.program());
  if (!plan.ok()) return -1;
  const std::string text = plan->describe();
  std::int64_t count = 0;
  for (std::size_t at = text.find("map "); at != std::string::npos; at = text.find("map ", at + 1)) ++count;
  return count;
}

void expect_same(Maker& m, const std::vector<std::optional<Tensor>>& inputs) {
  ASSERT_EQ(core::verify(m.program()), std::nullopt);
  const auto expected = evaluate_scalar(m.program(), inputs);
  for (const Configuration& c : configurations()) ASSERT_TRUE(agrees(m.program(), inputs, expected, c, {})) << core::to_string(m.program());
}

struct Terms {
  Maker& m;
  TermId plus(TermId a, std::int64_t b) const { return m.primitive(P::Add, a, m.integer(b)); }
  TermId minus(std::int64_t a, TermId b) const { return m.primitive(P::Subtract, m.integer(a), b); }
  TermId modulo(TermId a, std::int64_t b) const { return m.primitive(P::Modulo, a, m.integer(b)); }
};

// Tensors one after another along the middle axis: by conditions from the front or the back, or by `else`.
std::int64_t joined(std::uint64_t seed, E type) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Numbers random(seed);
  Maker m;
  const Terms t{m};
  const std::int64_t pieces = 2 + random.below(6), before = 1 + random.below(12), after = 1 + random.below(random.below(2) ? 3 : 40), way = random.below(3);
  std::vector<std::optional<Tensor>> inputs;
  std::vector<TensorId> x;
  std::vector<std::int64_t> at{0};
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::int64_t length = random.below(4) == 0 ? random.below(3) : 1 + random.below(30);
    x.push_back(m.input("x", type, {m.integer(before), m.integer(length), m.integer(after)}));
    inputs.emplace_back(random.tensor(type, {before, length, after}));
    at.push_back(at.back() + length);
  }
  const Variable i = m.fresh("i"), j = m.fresh("j"), k = m.fresh("k");
  const auto index = [&](std::size_t p) { return std::array<TermId, 3>{m.variable(i), t.plus(m.variable(j), -at[p]), m.variable(k)}; };
  TermId body = m.read(x.back(), index(x.size() - 1));
  if (way == 2) body = m.read_else(x.back(), index(x.size() - 1), m.constant(type, 0), true);
  for (std::size_t p = x.size() - 1; p-- > 0;) {
    if (way == 2) {
      body = m.read_else(x[p], index(p), body, true);
    } else if (way == 1) {
      body = m.select(m.primitive(P::Less, m.variable(j), m.integer(at[p + 1])), m.read(x[p], index(p)), body);
    } else {
      const TermId later = m.primitive(P::And, m.primitive(P::GreaterEqual, m.variable(j), m.integer(at[p + 1])), m.primitive(P::NotEqual, m.variable(j), m.integer(-1)));
      body = m.select(later, body, m.read(x[p], index(p)));
    }
  }
  // One in six has an element too many, which lies nowhere.
  const std::int64_t length = at.back() + (seed % 6 == 0 ? 1 : 0);
  m.output(m.each("y", {i, j, k}, {m.integer(before), m.integer(length), m.integer(after)}, body));
  expect_same(m, inputs);
  return maps_of(m);
}

TEST(Parts, OfTensorsOneAfterAnother) {
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) cut += joined(seed, seed % 3 == 0 ? E::U8 : seed % 3 == 1 ? E::F32 : E::F64) > 1;
  EXPECT_GE(cut, 30);
}

// A frame around a tensor: a constant, the edge again, a mirror, the tensor over again; along two axes.
std::int64_t framed(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Numbers random(seed);
  Maker m;
  const Terms t{m};
  const std::int64_t extents[2] = {2 + random.below(40), 2 + random.below(40)}, way = random.below(4);
  std::int64_t before[2], whole[2];
  for (int d = 0; d < 2; ++d) {
    before[d] = random.below(extents[d]);
    whole[d] = extents[d] + before[d] + random.below(way == 3 ? 3 * extents[d] : extents[d]);
  }
  const TensorId x = m.input("x", E::F32, {m.integer(extents[0]), m.integer(extents[1])});
  const Variable v[2] = {m.fresh("i"), m.fresh("j")};
  TermId index[2];
  for (int d = 0; d < 2; ++d) {
    const TermId k = t.plus(m.variable(v[d]), -before[d]);
    const TermId turned = t.modulo(k, 2 * extents[d] - 2);
    if (way == 0) index[d] = k;
    if (way == 1) index[d] = m.primitive(P::Minimum, m.primitive(P::Maximum, k, m.integer(0)), m.integer(extents[d] - 1));
    if (way == 2) index[d] = m.primitive(P::Minimum, turned, t.minus(2 * extents[d] - 2, turned));
    if (way == 3) index[d] = t.modulo(k, extents[d]);
  }
  const TermId body = way == 0 ? m.read_else(x, index, m.f32(7), true) : m.read(x, index);
  m.output(m.each("y", {v[0], v[1]}, {m.integer(whole[0]), m.integer(whole[1])}, body));
  expect_same(m, {random.tensor(E::F32, {extents[0], extents[1]})});
  return maps_of(m);
}

TEST(Parts, OfAFrameAroundATensor) {
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) cut += framed(seed) > 1;
  EXPECT_GE(cut, 30);
}

TEST(Parts, OfThousandsOfTensorsTakeNoMoreThanTheirElements) {
  // Each element alone would look at all that stand before it: 4e9 reads.
  Maker m;
  const Terms t{m};
  constexpr std::int64_t Pieces = 2000, Length = 1000;
  const TensorId x = m.input("x", E::F32, {m.integer(Length)});
  const Variable i = m.fresh("i");
  const auto part = [&](auto&& self, std::int64_t first, std::int64_t count) -> TermId {
    if (count == 1) return m.read(x, std::array<TermId, 1>{t.plus(m.variable(i), -first * Length)});
    const std::int64_t half = count / 2;
    return m.select(m.primitive(P::Less, m.variable(i), m.integer((first + half) * Length)), self(self, first, half), self(self, first + half, count - half));
  };
  m.output(m.each("y", {i}, {m.integer(Pieces * Length)}, part(part, 0, Pieces)));
  Numbers random(1);
  const Tensor in = random.tensor(E::F32, {Length});
  const auto out = evaluate(m.program(), std::vector<std::optional<Tensor>>{in});
  ASSERT_TRUE(out.ok()) << to_string(out.error());
  for (std::int64_t k = 0; k < Pieces * Length; ++k) ASSERT_EQ((*out)[0]->at(k), in.at(k % Length)) << k;
  EXPECT_EQ(maps_of(m), Pieces);
}

}  // namespace
}  // namespace ulpian::interp::testing
