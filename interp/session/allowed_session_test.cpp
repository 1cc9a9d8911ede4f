#include <bit>

#include <gtest/gtest.h>

#include "interp/session/allowed_session.h"
#include "interp/session/session.h"

namespace ulpian::interp {
namespace {

Tensor floats(Extents extents, const std::vector<float>& values) { return Tensor::from_bytes(ElementType::F32, std::move(extents), std::as_bytes(std::span(values))); }

GraphValue named(const char* name) {
  GraphValue v;
  v.name = name;
  return v;
}

Node call(const char* op, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node n;
  n.op = op;
  n.version = 13;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  return n;
}

std::shared_ptr<const language::Specification> specification() {
  static const auto loaded = language::Specification::load();
  return loaded.value();
}

// p = a * b; s = softmax(p)
std::shared_ptr<Graph> softmax_of_product() {
  auto g = std::make_shared<Graph>();
  g->source = "test";
  g->values = {named("a"), named("b"), named("p"), named("s")};
  g->inputs = {0, 1};
  g->outputs = {3};
  g->nodes = {call("onnx.MatMul", {0, 1}, {2}), call("onnx.Softmax", {2}, {3})};
  return g;
}

TEST(AllowedSession, SetsFlowFromNodeToNodeAndHoldTheCanonicalAnswer) {
  const auto graph = softmax_of_product();
  const Tensor a = floats({2, 3}, {0.1f, 2.5f, -1.3f, 0.7f, 0.3f, -0.2f}), b = floats({3, 2}, {0.3f, -1.0f, 1.7f, 0.9f, -0.4f, 0.6f});
  const std::vector<std::optional<Tensor>> points{a, b};
  const std::vector<std::optional<AllowedTensor>> sets{AllowedTensor::exactly(a), AllowedTensor::exactly(b)};
  auto canonical = Session(specification(), graph).run(points);
  ASSERT_TRUE(canonical) << to_string(canonical.error());
  AllowedSession session(specification(), graph, *profile_named("standard"));
  std::size_t seen = 0;
  session.progress = [&](std::size_t) { ++seen; };
  auto allowed = session.run(sets);
  ASSERT_TRUE(allowed) << to_string(allowed.error());
  EXPECT_EQ(seen, 2u);
  const AllowedTensor& s = (*allowed)[0];
  for (std::int64_t k = 0; k < s.size(); ++k) {
    EXPECT_TRUE(s.contains(k, (*canonical)[0].at(k))) << s.describe(k);
    EXPECT_LT(to_double(ElementType::F32, s.upper().at(k)) - to_double(ElementType::F32, s.lower().at(k)), 1e-4);
  }
}

TEST(AllowedSession, AShapeThatIsNotCertainIsRefusedByName) {
  // Reshape of x to the extents that a comparison of sets chooses.
  auto g = std::make_shared<Graph>();
  g->source = "test";
  g->values = {named("x"), named("shape"), named("y")};
  g->inputs = {0, 1};
  g->outputs = {2};
  g->nodes = {call("onnx.Reshape", {0, 1}, {2})};
  g->nodes[0].name = "fold";
  const std::vector<std::int64_t> low{2, 3}, high{3, 3};
  const auto integers = [](const std::vector<std::int64_t>& v) { return Tensor::from_bytes(ElementType::I64, {2}, std::as_bytes(std::span(v))); };
  const std::vector<std::optional<AllowedTensor>> sets{AllowedTensor::exactly(floats({6}, {1, 2, 3, 4, 5, 6})), AllowedTensor(integers(low), integers(high), {0, 0})};
  auto out = AllowedSession(specification(), g, *profile_named("standard")).run(sets);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Unsupported);
  EXPECT_NE(to_string(out.error()).find("fold"), std::string::npos) << to_string(out.error());
}

TEST(AllowedSession, AMissingInputAndADeadlineAreErrors) {
  const auto graph = softmax_of_product();
  const std::vector<std::optional<AllowedTensor>> one{AllowedTensor::exactly(floats({1, 1}, {1}))};
  auto missing = AllowedSession(specification(), graph, *profile_named("standard")).run(one);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Input);
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const std::vector<std::optional<AllowedTensor>> both{one[0], one[0]};
  auto late = AllowedSession(specification(), graph, *profile_named("standard")).run(both, limits);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::Limit);
}

}  // namespace
}  // namespace ulpian::interp
