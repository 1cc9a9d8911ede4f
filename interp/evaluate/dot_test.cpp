// Contractions of every shape: the blocked kernel against the scalar evaluator, in every configuration.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "interp/evaluate/both.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

class Numbers {
public:
  explicit Numbers(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  // Magnitudes far apart, so that a change of order shows.
  Tensor tensor(E type, const Extents& extents) {
    Tensor t(type, extents);
    for (std::int64_t k = 0; k < t.size(); ++k) {
      if (!is_float(type)) t.set(k, from_int64(type, static_cast<std::int64_t>(random_())));
      else t.set(k, from_double(type, static_cast<double>(below(4001) - 2000) / 64.0 * (below(6) == 0 ? 1024.0 : 1.0)));
    }
    return t;
  }

private:
  std::mt19937_64 random_;
};

void expect_same(Maker& m, const std::vector<std::optional<Tensor>>& inputs) {
  ASSERT_EQ(core::verify(m.program()), std::nullopt);
  const auto expected = evaluate_scalar(m.program(), inputs);
  ASSERT_TRUE(expected.ok()) << to_string(expected.error());
  for (const Configuration& c : configurations()) ASSERT_TRUE(agrees(m.program(), inputs, expected, c, {})) << core::to_string(m.program());
}

std::string steps_of(const Maker& m) {
  const auto plan = Plan::make(m.program());
  return plan.ok() ? plan->describe() : "";
}
bool uses_the_kernel(const Maker& m) { return steps_of(m).find("dot ") != std::string::npos; }

// y[b.., m.., n..] = dot(k..) a[b.., m.., k..] * c[b.., n.., k..], the axes of each tensor in any order.
void contraction(std::uint64_t seed, std::int64_t deepest, E type, E operands) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Numbers random(seed);
  Maker m;
  struct Axis {
    Variable variable;
    std::int64_t extent;
    char group;
  };
  std::vector<Axis> axes;
  const auto add = [&](char group, std::int64_t count, std::int64_t most) {
    for (std::int64_t k = 0; k < count; ++k) axes.push_back({m.fresh(fmt::format("{}{}", group, k)), 1 + random.below(most), group});
  };
  if (deepest > 100) {
    // One long axis: a few elements, since the scalar evaluator takes each term by itself.
    add('m', random.below(2), 9);
    add('n', random.below(2), 20);
    axes.push_back({m.fresh("k"), deepest, 'k'});
  } else {
    add('b', random.below(3), 3);
    add('m', random.below(3), 9);
    add('n', random.below(3), 20);
    add('k', 1 + random.below(2), deepest);
  }
  const auto chosen = [&](std::string_view groups) {
    std::vector<Axis> some;
    for (const Axis& a : axes)
      if (groups.find(a.group) != std::string_view::npos) some.push_back(a);
    for (std::size_t k = some.size(); k > 1; --k) std::swap(some[k - 1], some[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(k)))]);
    return some;
  };
  std::vector<std::optional<Tensor>> inputs;
  const auto factor = [&](const char* name, std::string_view groups) {
    std::vector<TermId> extents, index;
    Extents shape;
    for (const Axis& a : chosen(groups)) {
      extents.push_back(m.integer(a.extent));
      index.push_back(m.variable(a.variable));
      shape.push_back(a.extent);
    }
    const TensorId t = m.input(name, operands, extents);
    inputs.emplace_back(random.tensor(operands, shape));
    return m.read(t, index);
  };
  const TermId bodies[2] = {factor("a", "bmk"), factor("c", "bnk")};
  std::vector<Variable> ks, outs;
  std::vector<TermId> k_extents, out_extents;
  for (const Axis& a : axes)
    if (a.group == 'k') ks.push_back(a.variable), k_extents.push_back(m.integer(a.extent));
  for (const Axis& a : chosen("bmn")) outs.push_back(a.variable), out_extents.push_back(m.integer(a.extent));
  const TermId dot = m.reduce(ReduceKind::Dot, type, ks, k_extents, None, false, None, bodies);
  m.output(m.each("y", outs, out_extents, dot));
  expect_same(m, inputs);
}

TEST(Contraction, OfAnyAxesInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) contraction(seed, 12, E::F32, E::F32);
}
TEST(Contraction, OfOtherTypes) {
  for (std::uint64_t seed = 100; seed <= 110; ++seed) {
    contraction(seed, 12, E::F64, E::F64);
    contraction(seed, 12, E::F32, E::F16);
    contraction(seed, 12, E::F32, E::BF16);
    contraction(seed, 12, E::I32, E::I8);
    contraction(seed, 12, E::U64, E::U64);
    contraction(seed, 12, E::I64, E::I64);
  }
}
TEST(Contraction, StartsANewAccumulatorEvery4096Positions) {
  for (const std::int64_t k : {4096, 4097, 8193, 12289})
    for (std::uint64_t seed = 200; seed < 204; ++seed) contraction(seed + static_cast<std::uint64_t>(k), k, E::F32, E::F32);
}

// Accumulators of fewer terms, as bounds want them (Options::dot_block): every way to evaluate a dot keeps to it.
TEST(Contraction, StartsAnewAfterAsManyPositionsAsItIsTold) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{9, 40}, {1, 40}, {3, 1}, {1, 1}}) {
    const std::int64_t n = 700, most = 64;
    Numbers random(static_cast<std::uint64_t>(rows * 100 + columns));
    for (const E type : {E::F64, E::F32}) {
      Maker m;
      const Variable i = m.fresh("i"), j = m.fresh("j"), k = m.fresh("k");
      const TensorId a = m.input("a", type, {m.integer(rows), m.integer(n)}), b = m.input("b", type, {m.integer(n), m.integer(columns)});
      const std::vector<std::optional<Tensor>> inputs{random.tensor(type, {rows, n}), random.tensor(type, {n, columns})};
      const TermId of_a[2] = {m.variable(i), m.variable(k)}, of_b[2] = {m.variable(k), m.variable(j)}, bodies[2] = {m.read(a, of_a), m.read(b, of_b)};
      const TermId extent = m.integer(n);
      const TermId dot = m.reduce(ReduceKind::Dot, type, std::span(&k, 1), std::span(&extent, 1), None, false, None, bodies);
      m.output(m.each("y", {i, j}, {m.integer(rows), m.integer(columns)}, dot));
      for (Configuration c : configurations()) {
        c.options.dot_block = most;
        const auto plan = Plan::make(m.program(), c.options);
        ASSERT_TRUE(plan.ok());
        const auto y = plan->run(inputs);
        ASSERT_TRUE(y.ok());
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t s = 0; s < columns; ++s) {
            std::vector<double> sums;
            const auto once = [&](double x) { return type == E::F32 ? static_cast<double>(static_cast<float>(x)) : x; };
            for (std::int64_t p = 0; p < n; ++p) {
              if (p % most == 0) sums.push_back(0);
              const double x = to_double(type, inputs[0]->at(r * n + p)), z = to_double(type, inputs[1]->at(p * columns + s));
              sums.back() = type == E::F32 ? static_cast<double>(std::fmaf(static_cast<float>(x), static_cast<float>(z), static_cast<float>(sums.back()))) : std::fma(x, z, sums.back());
            }
            while (sums.size() > 1) {  // left-full: neighbours in pairs, an odd one goes up as it is
              std::vector<double> above;
              for (std::size_t t = 0; t < sums.size(); t += 2) above.push_back(t + 1 < sums.size() ? once(sums[t] + sums[t + 1]) : sums[t]);
              sums = above;
            }
            ASSERT_EQ(to_double(type, (*y)[0]->at(r * columns + s)), sums[0]) << c.name << " " << r << " " << s;
          }
      }
    }
  }
}

// A convolution with padding, strides, dilations and groups, written as the definition of Conv writes it. 1 if it goes without packing.
int convolution(std::uint64_t seed, E type, bool wide) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Numbers random(seed);
  Maker m;
  const std::int64_t groups = 1 + random.below(3), per_in = 1 + random.below(3), per_out = 1 + random.below(4), batch = 1 + random.below(2);
  const std::int64_t channels = groups * per_in, filters = groups * per_out;
  const std::int64_t height = 3 + random.below(wide ? 2 : 7), width = 3 + random.below(wide ? 160 : 12), kh = 1 + random.below(3), kw = 1 + random.below(wide ? 5 : 3);
  const std::int64_t stride = 1 + random.below(2), step = wide ? 1 + random.below(4) : stride, dilation = 1 + random.below(2), pad = random.below(wide ? 4 : 2);
  const auto extent = [&](std::int64_t size, std::int64_t kernel, std::int64_t by) { return (size + 2 * pad - dilation * (kernel - 1) - 1) / by + 1; };
  const std::int64_t oh = extent(height, kh, stride), ow = extent(width, kw, step);
  if (height + 2 * pad < dilation * (kh - 1) + 1 || width + 2 * pad < dilation * (kw - 1) + 1) return 0;
  const TensorId x = m.input("X", type, {m.integer(batch), m.integer(channels), m.integer(height), m.integer(width)});
  const TensorId w = m.input("W", type, {m.integer(filters), m.integer(per_in), m.integer(kh), m.integer(kw)});
  std::vector<std::optional<Tensor>> inputs{random.tensor(type, {batch, channels, height, width}), random.tensor(type, {filters, per_in, kh, kw})};
  // What lies outside counts as 0, which an infinite weight shows.
  if (wide && random.below(3) == 0) inputs[1]->set(random.below(inputs[1]->size()), from_double(type, std::numeric_limits<double>::infinity()));
  const Variable n = m.fresh("n"), f = m.fresh("m"), p = m.fresh("p"), q = m.fresh("q"), c = m.fresh("c"), i = m.fresh("i"), j = m.fresh("j");
  const auto times = [&](TermId a, std::int64_t b) { return m.primitive(P::Multiply, a, m.integer(b)); };
  const auto plus = [&](TermId a, TermId b) { return m.primitive(P::Add, a, b); };
  const TermId group = m.primitive(P::FloorDivide, m.variable(f), m.integer(per_out));
  const TermId x_index[4] = {m.variable(n), plus(times(group, per_in), m.variable(c)),
                             plus(plus(times(m.variable(p), stride), times(m.variable(i), dilation)), m.integer(-pad)),
                             plus(plus(times(m.variable(q), step), times(m.variable(j), dilation)), m.integer(-pad))};
  const TermId w_index[4] = {m.variable(f), m.variable(c), m.variable(i), m.variable(j)};
  const TermId bodies[2] = {m.read_else(x, x_index, m.constant(type, 0), true), m.read(w, w_index)};
  const Variable ks[3] = {c, i, j};
  const TermId extents[3] = {m.integer(per_in), m.integer(kh), m.integer(kw)};
  const TermId dot = m.reduce(ReduceKind::Dot, type, ks, extents, None, false, None, bodies);
  m.output(m.each("y", {n, f, p, q}, {m.integer(batch), m.integer(filters), m.integer(oh), m.integer(ow)}, dot));
  expect_same(m, inputs);
  return steps_of(m).find("without packing") != std::string::npos ? 1 : 0;
}

TEST(Contraction, OfAConvolution) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) convolution(seed, E::F32, false);
}

TEST(Contraction, OfAConvolutionWithLongRows) {
  int without_packing = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) without_packing += convolution(seed, seed % 4 == 0 ? E::F64 : E::F32, true);
  EXPECT_GE(without_packing, 40);
}

// A transposed convolution: taps between the strides are filtered out, and what they would read lies outside.
void transposed(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Numbers random(seed);
  Maker m;
  const std::int64_t channels = 1 + random.below(4), filters = 1 + random.below(15), width = 2 + random.below(9), kernel = 1 + random.below(4), stride = 1 + random.below(3);
  const std::int64_t before = random.below(2), out = stride * (width - 1) + kernel;
  const TensorId x = m.input("X", E::F32, {m.integer(channels), m.integer(width)}), w = m.input("W", E::F32, {m.integer(channels), m.integer(filters), m.integer(kernel)});
  Tensor weights = random.tensor(E::F32, {channels, filters, kernel});
  if (random.below(3) == 0) weights.set(0, bits_of_float(Infinity));
  std::vector<std::optional<Tensor>> inputs{random.tensor(E::F32, {channels, width}), std::move(weights)};
  const Variable f = m.fresh("m"), o = m.fresh("o"), c = m.fresh("c"), k = m.fresh("k");
  const TermId p = m.primitive(P::Subtract, m.primitive(P::Add, m.variable(o), m.integer(before)), m.variable(k));
  const TermId meets = m.primitive(P::And, m.primitive(P::Equal, m.primitive(P::Modulo, p, m.integer(stride)), m.integer(0)),
                                   m.primitive(P::And, m.primitive(P::LessEqual, m.integer(0), p), m.primitive(P::Less, p, m.integer(width * stride))));
  const TermId x_index[2] = {m.variable(c), m.primitive(P::FloorDivide, p, m.integer(stride))}, w_index[3] = {m.variable(c), m.variable(f), m.variable(k)};
  const TermId bodies[2] = {m.read(x, x_index), m.read(w, w_index)};
  const Variable ks[2] = {c, k};
  const TermId extents[2] = {m.integer(channels), m.integer(kernel)};
  // One in five forgets the lower end: an error of the definition where that is read.
  const bool wrong = seed % 5 == 0;
  const TermId filter = wrong ? m.primitive(P::Less, p, m.integer(width * stride)) : meets;
  m.output(m.each("y", {f, o}, {m.integer(filters), m.integer(out)}, m.reduce(ReduceKind::Dot, E::F32, ks, extents, filter, true, None, bodies)));
  ASSERT_EQ(core::verify(m.program()), std::nullopt);
  const auto expected = evaluate_scalar(m.program(), inputs);
  for (const Configuration& g : configurations()) ASSERT_TRUE(agrees(m.program(), inputs, expected, g, {})) << core::to_string(m.program());
}

TEST(Contraction, OfFilteredTermsAndWhatLiesOutside) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) transposed(seed);
}

TEST(Contraction, OfMatricesUsesTheKernelAndLargeOnesAreRightToo) {
  // 1 x k by k x n of ones and powers of two: exact by hand.
  Maker m;
  const std::int64_t rows = 37, depth = 131, columns = 301;
  const TensorId a = m.input("A", E::F32, {m.integer(rows), m.integer(depth)}), b = m.input("B", E::F32, {m.integer(depth), m.integer(columns)});
  const Variable i = m.fresh("i"), j = m.fresh("j"), k = m.fresh("k");
  const TermId ai[2] = {m.variable(i), m.variable(k)}, bi[2] = {m.variable(k), m.variable(j)};
  const TermId bodies[2] = {m.read(a, ai), m.read(b, bi)};
  const TermId extent = m.integer(depth);
  m.output(m.each("y", {i, j}, {m.integer(rows), m.integer(columns)}, m.reduce(ReduceKind::Dot, E::F32, std::span(&k, 1), std::span(&extent, 1), None, false, None, bodies)));
  EXPECT_TRUE(uses_the_kernel(m));
  std::vector<float> av(static_cast<std::size_t>(rows * depth)), bv(static_cast<std::size_t>(depth * columns));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t d = 0; d < depth; ++d) av[static_cast<std::size_t>(r * depth + d)] = static_cast<float>(r + d);
  for (std::int64_t d = 0; d < depth; ++d)
    for (std::int64_t c = 0; c < columns; ++c) bv[static_cast<std::size_t>(d * columns + c)] = static_cast<float>(c - d);
  for (const Configuration& c : configurations()) {
    Limits limits;
    limits.threads = c.threads;
    const std::vector<std::optional<Tensor>> inputs{floats({rows, depth}, av), floats({depth, columns}, bv)};
    const auto out = evaluate(m.program(), inputs, limits, nullptr, c.options);
    ASSERT_TRUE(out.ok()) << to_string(out.error());
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t q = 0; q < columns; ++q) {
        std::int64_t sum = 0;
        for (std::int64_t d = 0; d < depth; ++d) sum += (r + d) * (q - d);
        ASSERT_EQ((*out)[0]->data<float>()[r * columns + q], static_cast<float>(sum)) << c.name << " at " << r << ", " << q;
      }
  }
}

// Which lanes lie inside takes 64 MB to hold for all of them; the result is 2 MB. Of elements 1, 2, ..., n under weights of 1 each sum is known.
TEST(Contraction, OfLanesMostlyOutsideTakesLittleMemory) {
  Maker m;
  constexpr std::int64_t Length = 1000, Taps = 512, Pad = 250000, Whole = Length + 2 * Pad - Taps + 1;
  const TensorId x = m.input("X", E::F32, {m.integer(Length)}), w = m.input("W", E::F32, {m.integer(2), m.integer(Taps)});
  const Variable f = m.fresh("f"), q = m.fresh("q"), j = m.fresh("j");
  const TermId x_index[1] = {m.primitive(P::Add, m.primitive(P::Add, m.variable(q), m.variable(j)), m.integer(-Pad))}, w_index[2] = {m.variable(f), m.variable(j)};
  const TermId bodies[2] = {m.read_else(x, x_index, m.f32(0), true), m.read(w, w_index)};
  const TermId taps = m.integer(Taps);
  m.output(m.each("y", {f, q}, {m.integer(2), m.integer(Whole)}, m.reduce(ReduceKind::Dot, E::F32, std::span(&j, 1), std::span(&taps, 1), None, false, None, bodies)));
  EXPECT_NE(steps_of(m).find("without packing"), std::string::npos);
  std::vector<float> values;
  for (std::int64_t k = 1; k <= Length; ++k) values.push_back(static_cast<float>(k));
  Limits limits;
  limits.memory_bytes = std::int64_t{24} << 20;
  const auto out = evaluate(m.program(), std::vector<std::optional<Tensor>>{floats({Length}, values), floats({2, Taps}, std::vector<float>(2 * Taps, 1))}, limits);
  ASSERT_TRUE(out.ok()) << to_string(out.error());
  const auto up_to = [](std::int64_t n) { return n * (n + 1) / 2; };
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t k = 0; k < Whole; ++k) {
      const std::int64_t before = std::clamp<std::int64_t>(k - Pad, 0, Length), end = std::clamp<std::int64_t>(k + Taps - Pad, 0, Length);
      ASSERT_EQ((*out)[0]->data<float>()[row * Whole + k], static_cast<float>(up_to(end) - up_to(before))) << row << ", " << k;
    }
}

}  // namespace
}  // namespace ulpian::interp::testing
