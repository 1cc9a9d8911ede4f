// Operators that draw random numbers: the same bits from both evaluators, any number of threads and any vector instructions; distributed as
// their text says (seeds are fixed, so that bounds that one seed in 10,000 misses hold for ever); and free within the distribution's range.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interp/scalar/scalar.h"
#include "interp/session/allowed_session.h"
#include "interp/session/call.h"

namespace ulpian::interp {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;
using E = ElementType;

const language::Specification& specification() {
  static const auto loaded = language::Specification::load();
  return *loaded.value();
}

std::shared_ptr<const Call> call(const char* op, const Inputs& inputs, const Attributes& attributes, const block::Options& options = {}) {
  Node n;
  n.op = op;
  n.version = 22;
  n.attributes = attributes;
  for (std::size_t k = 0; k < inputs.size(); ++k) n.inputs.push_back(static_cast<ValueId>(k));
  n.outputs.push_back(static_cast<ValueId>(inputs.size()));
  auto made = Call::make(specification(), Graph{}, n, inputs, Evaluator::Block, {}, options);
  EXPECT_TRUE(made) << to_string(made.error());
  return made ? *made : nullptr;
}

Tensor drawn(const char* op, const Inputs& inputs, const Attributes& attributes, const block::Options& options = {}, int threads = 1) {
  Limits limits;
  limits.threads = threads;
  auto out = call(op, inputs, attributes, options)->run(inputs, limits);
  EXPECT_TRUE(out) << to_string(out.error());
  return out ? *(*out)[0] : Tensor();
}

// As ONNX numbers element types.
std::int64_t code(E type) { return type == E::F64 ? 11 : type == E::BF16 ? 16 : type == E::I32 ? 6 : 1; }

Attributes sized(std::int64_t n, float seed, E type = E::F32) { return {{"shape", std::vector<std::int64_t>{n}}, {"seed", seed}, {"dtype", code(type)}}; }

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < t.size(); ++k) out.push_back(is_float(t.type()) ? to_double(t.type(), t.at(k)) : static_cast<double>(to_int64(t.type(), t.at(k))));
  return out;
}

Tensor floats(Extents extents, const std::vector<float>& values) { return Tensor::from_bytes(E::F32, std::move(extents), std::as_bytes(std::span(values))); }

// --- bits

TEST(RandomNumbers, AreTheSameFromBothEvaluators) {
  struct Case {
    const char* op;
    Inputs inputs;
    Attributes attributes;
  };
  const Tensor odds = floats({37, 3}, std::vector<float>(111, 0.3f)), logits = floats({5, 7}, std::vector<float>(35, -0.25f));
  const Case cases[] = {
      {"onnx.RandomUniform", {}, {{"shape", std::vector<std::int64_t>{3, 700}}, {"seed", 5.0f}, {"low", -1.0f}, {"high", 2.0f}}},
      {"onnx.RandomNormal", {}, {{"shape", std::vector<std::int64_t>{2, 3, 200}}, {"seed", 5.0f}, {"mean", 1.5f}, {"dtype", code(E::BF16)}}},
      {"onnx.RandomNormal", {}, sized(300, 0.5f, E::F64)},
      {"onnx.Bernoulli", {odds}, {}},
      {"onnx.Multinomial", {logits}, {{"sample_size", std::int64_t{50}}}},
  };
  for (const Case& c : cases) {
    const auto ready = call(c.op, c.inputs, c.attributes);
    const auto scalar = evaluate_scalar(ready->program(), c.inputs);
    ASSERT_TRUE(scalar) << to_string(scalar.error());
    for (const block::Instructions i : {block::Instructions::Portable, block::best_instructions()})
      for (const int threads : {1, 3}) {
        block::Options options;
        options.instructions = i;
        options.lanes = threads == 1 ? 1024 : 64;
        options.work_per_thread = 100;
        EXPECT_TRUE(same_elements(drawn(c.op, c.inputs, c.attributes, options, threads), *(*scalar)[0])) << c.op;
      }
  }
}

// --- distributions

constexpr std::int64_t Many = 100000;

// The sum over cells of (observed - expected)^2 / expected.
double chi_square(const std::vector<std::int64_t>& observed, const std::vector<double>& probabilities, double n) {
  double sum = 0;
  for (std::size_t k = 0; k < observed.size(); ++k) sum += std::pow(static_cast<double>(observed[k]) - n * probabilities[k], 2) / (n * probabilities[k]);
  return sum;
}

// Quantiles of the distribution of chi^2 at 0.9999, by degrees of freedom.
constexpr double Bound3 = 21.11, Bound9 = 33.72, Bound99 = 161.3;

TEST(RandomNumbers, UniformOnesFollowTheirDistribution) {
  for (const auto type : {E::F32, E::F64})
    for (const float seed : {0.0f, 1.0f, 2.0f, 1e-30f}) {
      std::vector<double> x = numbers(drawn("onnx.RandomUniform", {}, sized(Many, seed, type)));
      // Neighbours are independent: pairs in a grid of 10 by 10.
      std::vector<std::int64_t> cells(100);
      for (std::size_t k = 0; k + 1 < x.size(); k += 2) ++cells[static_cast<std::size_t>(x[k] * 10) * 10 + static_cast<std::size_t>(x[k + 1] * 10)];
      const double pairs = chi_square(cells, std::vector<double>(100, 0.01), Many / 2.0);
      EXPECT_LT(pairs, Bound99) << seed;
      // Kolmogorov and Smirnov: the greatest distance between the distribution functions; beyond 2.23 / sqrt(n) once in 10,000.
      std::sort(x.begin(), x.end());
      double distance = 0;
      for (std::size_t k = 0; k < x.size(); ++k)
        distance = std::max({distance, x[k] - static_cast<double>(k) / Many, static_cast<double>(k + 1) / Many - x[k]});
      EXPECT_LT(distance * std::sqrt(static_cast<double>(Many)), 2.23) << seed;
      EXPECT_GE(x.front(), 0);
      EXPECT_LT(x.back(), 1);
      fmt::print("uniform, seed {}: D sqrt(n) = {:.3f}, chi^2 of pairs = {:.1f} (99)\n", seed, distance * std::sqrt(static_cast<double>(Many)), pairs);
    }
}

TEST(RandomNumbers, NormalOnesFollowTheirDistribution) {
  // The deciles of the standard normal distribution.
  constexpr double Deciles[] = {-1.2815515655446004, -0.8416212335729143, -0.5244005127080407, -0.2533471031357997, 0,
                                0.2533471031357997,  0.5244005127080407,  0.8416212335729143,  1.2815515655446004};
  constexpr double Thousandth = 3.090232306167813;  // exceeded so often
  for (const float seed : {0.0f, 1.0f, 7.0f}) {
    Attributes attributes = sized(Many, seed);
    attributes["mean"] = 4.0f;
    attributes["scale"] = 0.5f;
    std::vector<std::int64_t> cells(10);
    std::int64_t tails = 0;
    double sum = 0, squares = 0;
    for (const double x : numbers(drawn("onnx.RandomNormal", {}, attributes))) {
      const double z = (x - 4) * 2;
      ++cells[static_cast<std::size_t>(std::upper_bound(std::begin(Deciles), std::end(Deciles), z) - std::begin(Deciles))];
      tails += z > Thousandth || z < -Thousandth ? 1 : 0;
      sum += z;
      squares += z * z;
    }
    const double found = chi_square(cells, std::vector<double>(10, 0.1), Many);
    fmt::print("normal, seed {}: chi^2 = {:.1f} (9), mean {:.4f}, variance {:.4f}, tails {}\n", seed, found, sum / Many, squares / Many, tails);
    EXPECT_LT(found, Bound9);
    EXPECT_LT(std::abs(sum), 3.9 * std::sqrt(static_cast<double>(Many)));
    EXPECT_LT(std::abs(squares - Many), 3.9 * std::sqrt(2.0 * Many));
    EXPECT_LT(std::abs(static_cast<double>(tails) - Many * 0.002), 3.9 * std::sqrt(Many * 0.002));
  }
}

TEST(RandomNumbers, ChoicesFollowTheirProbabilities) {
  const double p = 0.3;
  double ones = 0;
  for (const double x : numbers(drawn("onnx.Bernoulli", {floats({Many}, std::vector<float>(Many, 0.3f))}, {{"seed", 3.0f}}))) ones += x;
  EXPECT_LT(std::abs(ones - Many * p), 3.9 * std::sqrt(Many * p * (1 - p)));

  // exp of 0, ln 2, ln 3, ln 4, in f32, a hundred thousand times; shifted in the second row.
  const std::vector<float> logs{0, 0.6931472f, 1.0986123f, 1.3862944f, -50, -49.306854f, -48.901386f, -48.613705f};
  const auto classes = numbers(drawn("onnx.Multinomial", {floats({2, 4}, logs)}, {{"seed", 3.0f}, {"sample_size", Many}}));
  for (std::size_t row = 0; row < 2; ++row) {
    std::vector<std::int64_t> cells(4);
    for (std::size_t k = 0; k < static_cast<std::size_t>(Many); ++k) ++cells[static_cast<std::size_t>(classes[row * static_cast<std::size_t>(Many) + k])];
    EXPECT_LT(chi_square(cells, {0.1, 0.2, 0.3, 0.4}, Many), Bound3) << row;
  }
}

// --- what others may answer

AllowedTensor allowed(const char* op, const Inputs& inputs, const Attributes& attributes) {
  std::vector<std::optional<AllowedTensor>> sets;
  for (const auto& t : inputs) sets.push_back(AllowedTensor::exactly(*t));
  const auto ready = call(op, inputs, attributes);
  auto out = evaluate_allowed(ready->program(), sets, *profile_named("standard"));
  EXPECT_TRUE(out) << to_string(out.error());
  return out ? *(*out)[0] : AllowedTensor();
}

Bits bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(RandomNumbers, OfAnotherImplementationLieInTheRange) {
  constexpr float Infinity = std::numeric_limits<float>::infinity(), Nan = std::numeric_limits<float>::quiet_NaN(), Greatest = std::numeric_limits<float>::max();
  Attributes between = sized(3, 1);
  between["low"] = -2.0f;
  between["high"] = 6.0f;
  const AllowedTensor u = allowed("onnx.RandomUniform", {}, between);
  for (const float x : {-2.0f, -1.9999999f, 0.0f, 5.9999995f, 6.0f}) EXPECT_TRUE(u.contains(1, bits(x))) << x << u.describe(1);
  for (const float x : {-2.001f, 6.001f, Infinity, -Infinity, Nan}) EXPECT_FALSE(u.contains(1, bits(x))) << x << u.describe(1);

  const AllowedTensor n = allowed("onnx.RandomNormal", {}, sized(3, 1));
  for (const float x : {0.0f, 20.0f, -1e30f, Greatest, -Greatest}) EXPECT_TRUE(n.contains(2, bits(x))) << x << n.describe(2);
  for (const float x : {Infinity, -Infinity, Nan}) EXPECT_FALSE(n.contains(2, bits(x))) << x << n.describe(2);
  const AllowedTensor wide = allowed("onnx.RandomNormal", {}, sized(3, 1, E::F64));
  for (const double x : {std::numeric_limits<double>::max(), -std::numeric_limits<double>::max()}) EXPECT_TRUE(wide.contains(0, std::bit_cast<std::uint64_t>(x)));

  const AllowedTensor b = allowed("onnx.Bernoulli", {floats({3}, {0, 0.5f, 1})}, {{"dtype", code(E::I32)}});
  for (const std::int64_t x : {-1, 0, 1, 2}) {
    EXPECT_EQ(b.contains(0, from_int64(E::I32, x)), x == 0) << x;
    EXPECT_EQ(b.contains(1, from_int64(E::I32, x)), x == 0 || x == 1) << x;
    EXPECT_EQ(b.contains(2, from_int64(E::I32, x)), x == 1) << x;
  }
  const AllowedTensor m = allowed("onnx.Multinomial", {floats({1, 3}, {0, 1, 2})}, {{"sample_size", std::int64_t{2}}});
  for (const std::int64_t x : {-1, 0, 1, 2, 3}) EXPECT_EQ(m.contains(1, from_int64(E::I32, x)), x >= 0 && x < 3) << x << m.describe(1);
}

}  // namespace
}  // namespace ulpian::interp
