// Calls with thousands of inputs, outputs or static elements, and calls that would take for ever.
#include <chrono>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interp/allowed/allowed.h"
#include "interp/scalar/scalar.h"
#include "interp/session/call.h"
#include "spec/numbers/slow_build_test_support.h"

namespace ulpian::interp {
namespace {

using Clock = std::chrono::steady_clock;
using Inputs = std::vector<std::optional<Tensor>>;

// "Well below" what would be noticed.
constexpr double Patience = 10 * SlowBuild;

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
  auto call = Call::make(specification(), graph, node, inputs, evaluator, {}, {}, limits);
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

// --- limits

Limits seconds(double s) {
  Limits limits;
  limits.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  limits.memory_bytes = std::int64_t{1} << 30;
  limits.work = std::numeric_limits<std::int64_t>::max();  // only the time is to hold
  return limits;
}

// What would take minutes at least ends soon after the time allowed, with an error that says so.
void ends_in_time(const Node& node, const Inputs& inputs, std::string_view note = {}) {
  constexpr double Allowed = 0.1, MostLate = Patience / 5;
  for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
    const auto start = Clock::now();
    const auto got = answer(node, inputs, evaluator, seconds(Allowed));
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    EXPECT_LT(taken, Allowed + MostLate) << node.op << " " << note;
    ASSERT_FALSE(got) << node.op << " " << note;
    EXPECT_EQ(got.error().kind, ErrorKind::Limit) << to_string(got.error());
  }
}

Tensor ones(Extents extents) {
  const auto n = static_cast<std::size_t>(*element_count(extents));
  return floats(std::move(extents), std::vector<float>(n, 1));
}

TEST(Limits, TimeHoldsInEveryKindOfLoop) {
  for (const std::int64_t size : {std::int64_t{1} << 62, (std::int64_t{1} << 62) + 1, (std::int64_t{1} << 31) + 1})
    ends_in_time(node_of("onnx.LRN", 1, 1, {{"size", size}}), {ones({1, 3, 2, 2})}, std::to_string(size));
  ends_in_time(node_of("onnx.MatMul", 2, 1), {ones({3000, 3000}), ones({3000, 3000})});
  ends_in_time(node_of("onnx.MatMul", 2, 1), {ones({1 << 20, 30}), ones({30, 200})});
  ends_in_time(node_of("onnx.Exp", 1, 1), {ones({1 << 26})}, "one after another");
}

// Loops of definitions of one's own, one of each kind: none may run on.
TEST(Limits, TimeHoldsWhileMemoryOfSetsIsCleared) {
  // 900 million elements: 14 GB of ends, within the memory allowed, of which little is touched in this time.
  const auto number = [](float x) { return floats({}, {x}); };
  const Inputs inputs{number(0), number(9e8f), number(1)};
  const auto program = language::elaborate(specification(), describe_call(specification(), Graph(), node_of("onnx.Range", 3, 1), as_data(inputs)));
  ASSERT_TRUE(program) << to_string(program.error());
  std::vector<std::optional<AllowedTensor>> sets;
  for (const auto& t : inputs) sets.emplace_back(AllowedTensor::exactly(*t));
  Limits limits;
  limits.deadline = Clock::now() + std::chrono::milliseconds(100);
  const auto start = Clock::now();
  const auto out = evaluate_allowed(*program, sets, *profile_named("standard"), limits);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
  EXPECT_NE(out.error().message.find("longer than the time allowed"), std::string::npos) << to_string(out.error());
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2 * SlowBuild);
}

TEST(Limits, TimeHoldsInLoopsOfDefinitions) {
  const std::pair<const char*, const char*> kinds[] = {
      {"a comprehension's reduction", "y[i] = sum(k < 1099511627776) x[i] * exactly(f32, k)"},
      {"a long row", "y[i] = max(k < 1099511627776) (x[i] + exactly(f32, k))"},
      {"a count", "y[i] = exactly(f32, count(k < 1099511627776 if k mod 7 == i))"},
      {"a search", "y[i] = exactly(f32, argmax(k < 1099511627776) exactly(f32, k * k mod 1013))"},
      {"a fold", "y[i] = accumulate(k < 1099511627776, s = x[i]) s * x[i]"},
      {"a dot", "y[i] = dot(k < 1099511627776) x[i] * x[k mod 2]"},
      {"dependent extents", "y[i] = sum(k < 1048576, j < k) x[i]"},
      {"a recurrence", "rec (t < 268435456) { s[t]: f32 = x[0] + (s[t - 1] else 0) }\n y[i] = s[1000]"},
      {"reals", "y[i] = exactly(f32, sum(k < 1099511627776) 1 / (real(k) + 1))"},
  };
  for (const auto& [name, equation] : kinds) {
    const language::SourceText text{"loops.ulp", fmt::format("op test.Loop {{\n in x: f32[N]\n out y: f32[N]\n {}\n}}\n", equation)};
    auto spec = language::Specification::load(std::span(&text, 1));
    ASSERT_TRUE(spec) << name << ": " << to_string(spec.error());
    Graph graph;
    for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
      const Inputs inputs{ones({2})};
      const auto start = Clock::now();
      const Limits limits = seconds(0.1);
      auto call = Call::make(**spec, graph, node_of("test.Loop", 1, 1), inputs, evaluator, {}, {}, limits);
      ASSERT_TRUE(call) << name << ": " << to_string(call.error());
      const auto got = (*call)->run(inputs, limits);
      EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), Patience / 4) << name << (evaluator == Evaluator::Block ? ", in blocks" : ", scalar");
      ASSERT_FALSE(got) << name;
      EXPECT_EQ(got.error().kind, ErrorKind::Limit) << name << ": " << to_string(got.error());
    }
  }
}

TEST(Limits, ElaborationEndsAtItsDeadline) {
  const language::SourceText text{"long.ulp", "op test.Long {\n fn f(n) = if n == 0 then 1 else f(n - 1) + f(n - 1)\n a = f(40)\n out y: f32[]\n y[] = 0\n}\n"};
  auto spec = language::Specification::load(std::span(&text, 1));
  ASSERT_TRUE(spec) << to_string(spec.error());
  language::Call call;
  call.op = "test.Long";
  call.version = 1;
  language::ElaborationLimits limits;
  limits.steps = std::numeric_limits<std::int64_t>::max() / 2;
  limits.memory_bytes = std::size_t{1} << 40;
  limits.deadline = Clock::now() + std::chrono::milliseconds(50);
  const auto start = Clock::now();
  const auto program = language::elaborate(**spec, call, limits);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), Patience / 4);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, ErrorKind::Limit);
  EXPECT_EQ(program.error().message, "elaborating test.Long took longer than the time allowed");
}

TEST(Limits, BoxesWithoutElementsAreNotWalkedThrough) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const MaybeTensors c = answers(node_of("onnx.ConstantOfShape", 1, 1), {integers({huge, huge, 0})});
  ASSERT_EQ(c.size(), 1u);
  EXPECT_EQ(c[0]->extents(), (Extents{huge, huge, 0}));
  const MaybeTensors sum = answers(node_of("onnx.ReduceSum", 1, 1), {*c[0]});
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(elements(*sum[0]), std::vector<float>{0});
}

// --- errors and work of definitions

TEST(Reads, OutsideOfATensorAreNamedWithIndexAndExtentByBothEvaluators) {
  const std::pair<const char*, const char*> kinds[] = {
      {"an element", "y[i] = x[i + 1]"},
      {"a sum", "y[i] = sum(k < 4) x[k]"},
      {"a condition", "require x[N] > 0 \"no\"\n y[i] = x[i]"},
      {"a tensor between", "t[i < N] = x[i + 1]\n y[i] = t[i] + t[N - 1]"},
      {"a recurrence", "rec (t < N) { s[t]: f32 = x[t + 1] + (s[t - 1] else 0) }\n y[i] = s[i]"},
  };
  for (const auto& [name, equation] : kinds) {
    const language::SourceText text{"reads.ulp", fmt::format("op test.Read {{\n in x: f32[N]\n out y: f32[N]\n {}\n}}\n", equation)};
    auto spec = language::Specification::load(std::span(&text, 1));
    ASSERT_TRUE(spec) << name << ": " << to_string(spec.error());
    Graph graph;
    for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
      const Inputs inputs{floats({3}, {1, 2, 3})};
      auto call = Call::make(**spec, graph, node_of("test.Read", 1, 1), inputs, evaluator);
      ASSERT_TRUE(call) << name << ": " << to_string(call.error());
      const auto got = (*call)->run(inputs, {});
      ASSERT_FALSE(got) << name;
      EXPECT_EQ(got.error().kind, ErrorKind::Definition);
      EXPECT_EQ(got.error().message, "test.Read: \"x\" is read at index 3 of axis 0, whose extent is 3") << name << (evaluator == Evaluator::Block ? ", in blocks" : ", scalar");
    }
  }
}

TEST(Limits, WorkIsKnownBeforeACallStarts) {
  const std::pair<const char*, const char*> kinds[] = {{"a sum", "y[i] = sum(k < 3000000000000) x[k]"},
                                                       {"a contraction", "y[i] = dot(k < 9000000000000) x[k] * x[i]"},
                                                       {"a recurrence", "rec (t < 9000000000000) { s[t]: f32 = x[0] + (s[t - 1] else 0) }\n y[i] = s[1000]"}};
  for (const auto& [name, equation] : kinds) {
    const language::SourceText text{"long.ulp", fmt::format("op test.Long {{\n in x: f32[N]\n out y: f32[N]\n {}\n}}\n", equation)};
    auto spec = language::Specification::load(std::span(&text, 1));
    ASSERT_TRUE(spec) << name << ": " << to_string(spec.error());
    Graph graph;
    const Inputs inputs{floats({2}, {1, 2})};
    const auto start = Clock::now();
    for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
      auto call = Call::make(**spec, graph, node_of("test.Long", 1, 1), inputs, evaluator);
      ASSERT_TRUE(call) << name << ": " << to_string(call.error());
      const auto got = (*call)->run(inputs, {});
      ASSERT_FALSE(got) << name;
      EXPECT_EQ(got.error().kind, ErrorKind::Limit) << to_string(got.error());
      EXPECT_NE(to_string(got.error()).find("--work-limit"), std::string::npos) << to_string(got.error());
    }
    auto program = language::elaborate(**spec, describe_call(**spec, Graph(), node_of("test.Long", 1, 1), as_data(inputs)));
    ASSERT_TRUE(program);
    const std::vector<std::optional<AllowedTensor>> sets{AllowedTensor::exactly(*inputs[0])};
    const auto allowed = evaluate_allowed(*program, sets, *profile_named("standard"), {});
    ASSERT_FALSE(allowed) << name;
    EXPECT_NE(to_string(allowed.error()).find("--work-limit"), std::string::npos) << to_string(allowed.error());
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), Patience / 4) << name;
  }
}

// --- integers that do not fit where they are stored

TEST(Stores, WhatDoesNotFitIsAnError) {
  const language::SourceText text{"store.ulp",
                                  "op test.Store {\n in x: i64[N]\n out y: u8[N]\n y[i] = int(x[i])\n}\n"
                                  "op test.Wrap {\n in x: i64[N]\n out y: u8[N]\n y[i] = cast(u8, int(x[i]))\n}\n"
                                  "op test.Place {\n in x: i64[N]\n out y: i8[200]\n y[i] = i - 100 + N\n}\n"
                                  "op test.Unsigned {\n in x: i64[N]\n out y: u64[N]\n y[i] = int(x[i])\n}\n"};
  auto spec = language::Specification::load(std::span(&text, 1));
  ASSERT_TRUE(spec) << to_string(spec.error());
  Graph graph;
  const auto run = [&](const char* op, const Tensor& x, Evaluator evaluator) -> Result<MaybeTensors> {
    const Inputs inputs{x};
    auto call = Call::make(**spec, graph, node_of(op, 1, 1), inputs, evaluator);
    if (!call) return std::move(call).error();
    return (*call)->run(inputs, {});
  };
  for (const Evaluator evaluator : {Evaluator::Block, Evaluator::Scalar}) {
    for (const char* op : {"test.Store", "test.Wrap"}) {
      auto fits = run(op, integers({0, 255, 7}), evaluator);
      ASSERT_TRUE(fits) << to_string(fits.error());
      EXPECT_EQ((*fits)[0]->at(1), 255u);
    }
    auto wraps = run("test.Wrap", integers({256, -1}), evaluator);
    ASSERT_TRUE(wraps) << to_string(wraps.error());
    EXPECT_EQ((*wraps)[0]->at(0), 0u);
    EXPECT_EQ((*wraps)[0]->at(1), 255u);
    for (const std::int64_t wrong : {std::int64_t{256}, std::int64_t{-1}, INT64_MAX}) {
      auto got = run("test.Store", integers({1, 2, wrong}), evaluator);
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().kind, ErrorKind::Definition);
      const std::string said = to_string(got.error());
      EXPECT_NE(said.find("element 2 of output \"y\""), std::string::npos) << said;
      EXPECT_NE(said.find(fmt::format("the integer {} does not fit into u8", wrong)), std::string::npos) << said;
      EXPECT_NE(said.find("store.ulp:4"), std::string::npos) << said;
    }
    EXPECT_TRUE(run("test.Place", integers({1, 2}), evaluator));   // -98 to 101
    auto beyond = run("test.Place", integers(std::vector<std::int64_t>(29, 0)), evaluator);
    ASSERT_FALSE(beyond);
    EXPECT_NE(to_string(beyond.error()).find("element 199 of output \"y\""), std::string::npos) << to_string(beyond.error());
    EXPECT_FALSE(run("test.Unsigned", integers({-1}), evaluator));
    EXPECT_TRUE(run("test.Unsigned", integers({INT64_MAX}), evaluator));
  }
}

}  // namespace
}  // namespace ulpian::interp
