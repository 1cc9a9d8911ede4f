// Calls with thousands of inputs, outputs or static elements, and calls that would take for ever.
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interp/scalar/scalar.h"
#include "interp/session/call.h"

namespace ulpian::interp {
namespace {

using Clock = std::chrono::steady_clock;
using Inputs = std::vector<std::optional<Tensor>>;

// "Well below" what would be noticed; sanitizers are slow.
#if defined(__SANITIZE_ADDRESS__)
constexpr double Patience = 120;
#else
constexpr double Patience = 10;
#endif

const language::Specification& specification() {
  static const auto loaded = language::Specification::load();
  return *loaded.value();
}

Tensor floats(Extents extents, const std::vector<float>& values) { return Tensor::from_bytes(ElementType::F32, std::move(extents), std::as_bytes(std::span(values))); }
Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from_bytes(ElementType::I64, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
}
std::vector<float> elements(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.size()}; }

Node node_of(const char* op, std::size_t inputs, std::size_t outputs, Attributes attributes = {}) {
  Node n;
  n.op = op;
  n.version = 18;
  n.attributes = std::move(attributes);
  for (std::size_t k = 0; k < inputs; ++k) n.inputs.push_back(static_cast<ValueId>(k));
  for (std::size_t k = 0; k < outputs; ++k) n.outputs.push_back(static_cast<ValueId>(inputs + k));
  return n;
}

Result<MaybeTensors> answer(const Node& node, const Inputs& inputs, Evaluator evaluator, const Limits& limits = {}) {
  Graph graph;
  auto call = Call::make(specification(), graph, node, inputs, evaluator);
  if (!call) return std::move(call).error();
  return (*call)->run(inputs, limits);
}

// The same answer from both evaluators, soon.
MaybeTensors answers(const Node& node, const Inputs& inputs) {
  const auto start = Clock::now();
  auto block = answer(node, inputs, Evaluator::Block), scalar = answer(node, inputs, Evaluator::Scalar);
  const double taken = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("{}: {:.2f} s\n", node.op, taken);
  EXPECT_LT(taken, Patience) << node.op;
  EXPECT_TRUE(block) << to_string(block.error());
  EXPECT_TRUE(scalar) << to_string(scalar.error());
  if (!block || !scalar) return {};
  EXPECT_EQ(block->size(), scalar->size());
  for (std::size_t k = 0; k < block->size(); ++k) EXPECT_TRUE(same_elements(*(*block)[k], *(*scalar)[k])) << node.op << " output " << k;
  return std::move(*block);
}

// Numbers whose sum depends on the order.
std::vector<float> numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out;
  for (std::size_t k = 0; k < n; ++k)
    out.push_back(std::ldexp(static_cast<float>(static_cast<int>(random() % 2001) - 1000), static_cast<int>(random() % 24) - 12));
  return out;
}

constexpr std::size_t Many = 5000;

TEST(Many, InputsAreAddedInTheirOrder) {
  const std::vector<float> x = numbers(Many * 3, 1);
  Inputs inputs;
  std::vector<float> sum(3), most(3), least(3);
  for (std::size_t k = 0; k < Many; ++k) {
    const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(3 * k), x.begin() + static_cast<std::ptrdiff_t>(3 * k + 3));
    inputs.push_back(floats({3}, row));
    for (std::size_t j = 0; j < 3; ++j) {
      sum[j] = k == 0 ? row[j] : sum[j] + row[j];
      most[j] = k == 0 ? row[j] : std::max(most[j], row[j]);
      least[j] = k == 0 ? row[j] : std::min(least[j], row[j]);
    }
  }
  std::vector<float> mean;
  for (float s : sum) mean.push_back(s / static_cast<float>(Many));
  const std::pair<const char*, std::vector<float>> expected[] = {{"onnx.Sum", sum}, {"onnx.Mean", mean}, {"onnx.Max", most}, {"onnx.Min", least}};
  for (const auto& [op, want] : expected) {
    const MaybeTensors got = answers(node_of(op, Many, 1), inputs);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(elements(*got[0]), want) << op;
  }
}

// Around the number of terms at which results are stored between.
TEST(Many, SumsOfEveryNumberOfInputsAreFromTheLeft) {
  const std::vector<float> x = numbers(600, 2);
  for (std::size_t n : {1, 2, 255, 256, 257, 511, 512, 513, 600}) {
    Inputs inputs;
    float sum = x[0];
    for (std::size_t k = 0; k < n; ++k) {
      inputs.push_back(floats({}, {x[k]}));
      if (k > 0) sum += x[k];
    }
    const MaybeTensors got = answers(node_of("onnx.Sum", n, 1), inputs);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(elements(*got[0]), std::vector<float>{sum}) << n;
  }
}

TEST(Many, InputsStandOneAfterAnother) {
  for (std::size_t n : {15, 16, 17, 33, 100, 5000}) {
    Inputs inputs;
    std::vector<float> rows[2];
    float next = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const auto width = static_cast<std::int64_t>(k * 7 % 4);  // some without elements
      std::vector<float> part;
      for (auto& row : rows)
        for (std::int64_t j = 0; j < width; ++j) {
          part.push_back(next);
          row.push_back(next++);
        }
      inputs.push_back(floats({2, width}, part));
    }
    std::vector<float> want = rows[0];
    want.insert(want.end(), rows[1].begin(), rows[1].end());
    const MaybeTensors got = answers(node_of("onnx.Concat", n, 1, {{"axis", std::int64_t{1}}}), inputs);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(elements(*got[0]), want) << n;
  }
}

TEST(Many, OutputsAreCutFromOneInput) {
  std::vector<std::int64_t> lengths;
  std::int64_t total = 0;
  for (std::size_t k = 0; k < Many; ++k) {
    lengths.push_back(static_cast<std::int64_t>(k * 5 % 7));
    total += lengths.back();
  }
  std::vector<float> x;
  for (std::int64_t k = 0; k < 2 * total; ++k) x.push_back(static_cast<float>(k));
  const MaybeTensors got = answers(node_of("onnx.Split", 2, Many, {{"axis", std::int64_t{1}}}), {floats({2, total}, x), integers(lengths)});
  ASSERT_EQ(got.size(), Many);
  std::int64_t start = 0;
  for (std::size_t k = 0; k < Many; ++k) {
    std::vector<float> want;
    for (std::int64_t row = 0; row < 2; ++row)
      for (std::int64_t j = 0; j < lengths[k]; ++j) want.push_back(static_cast<float>(row * total + start + j));
    start += lengths[k];
    ASSERT_EQ(got[k]->extents(), (Extents{2, want.empty() ? 0 : lengths[k]})) << k;
    ASSERT_EQ(elements(*got[k]), want) << k;
  }
}

TEST(Many, NumbersOfAnAttribute) {
  for (std::size_t n : {16, 17, 1000, 100000}) {
    std::vector<std::int64_t> whole;
    std::vector<float> parts;
    for (std::size_t k = 0; k < n; ++k) {
      whole.push_back((k % 2 == 0 ? 1 : -1) * static_cast<std::int64_t>(k * k * k));
      parts.push_back(static_cast<float>(k) / 7);
    }
    whole[0] = INT64_MIN;
    parts[0] = -0.0f;
    parts[1] = std::numeric_limits<float>::quiet_NaN();
    parts[2] = -std::numeric_limits<float>::infinity();
    const MaybeTensors a = answers(node_of("onnx.Constant", 0, 1, {{"value_ints", whole}}), {});
    ASSERT_EQ(a.size(), 1u);
    EXPECT_TRUE(same_elements(*a[0], integers(whole)));
    const MaybeTensors b = answers(node_of("onnx.Constant", 0, 1, {{"value_floats", parts}}), {});
    ASSERT_EQ(b.size(), 1u);
    EXPECT_TRUE(same_elements(*b[0], floats({static_cast<std::int64_t>(n)}, parts)));
  }
}

}  // namespace
}  // namespace ulpian::interp
