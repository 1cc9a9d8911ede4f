#include <bit>
#include <limits>

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

// --- excess precision

// x = 1 + 2^-10 of f16: x * x = 1 + 2^-9 + 2^-20, of which f16 keeps 1 + 2^-9. With that subtracted, what is left tells whether the product
// was rounded; `through` stands between the two operators.
AllowedTensor left_of_square(std::vector<Node> through, const Profile& profile) {
  const auto half = [](double x) {
    Tensor t(ElementType::F16, {1});
    t.set(0, from_double(ElementType::F16, x));
    return t;
  };
  auto g = std::make_shared<Graph>();
  g->source = "test";
  g->values = {named("x"), named("c"), named("p"), named("q"), named("r"), named("d")};
  g->inputs = {0, 1};
  g->outputs = {5};
  g->nodes = {call("onnx.Mul", {0, 0}, {2})};
  for (Node& n : through) g->nodes.push_back(std::move(n));
  g->nodes.push_back(call("onnx.Sub", {4, 1}, {5}));
  Tensor c = half(1 + 0x1p-9);
  if (!g->nodes[g->nodes.size() - 2].attributes.empty()) c = floats({1}, {1 + 0x1p-9f});
  const std::vector<std::optional<AllowedTensor>> sets{AllowedTensor::exactly(half(1 + 0x1p-10)), AllowedTensor::exactly(c)};
  auto out = AllowedSession(specification(), g, profile).run(sets);
  EXPECT_TRUE(out) << (out ? "" : to_string(out.error()));
  return out ? (*out)[0] : AllowedTensor();
}

TEST(ExcessPrecision, GoesFromOperatorToOperatorButNotIntoACast) {
  Node cast = call("onnx.Cast", {2}, {4}), later = call("onnx.Cast", {3}, {4});
  cast.attributes["to"] = later.attributes["to"] = std::int64_t{1};  // FLOAT
  const Node moved = call("onnx.Identity", {2}, {4}), kept = call("onnx.Relu", {2}, {3});
  const Profile standard = *profile_named("standard"), strict = *profile_named("strict");
  const Freedom into_casts[] = {Freedom::ExcessIntoCasts};
  struct Case {
    std::vector<Node> through;
    const Profile profile;
    bool unrounded;
  };
  for (const Case& c : {Case{{moved}, standard, true}, Case{{moved}, strict, false}, Case{{cast}, standard, false}, Case{{kept, later}, standard, false},
                        Case{{cast}, standard.with(into_casts), true}, Case{{kept, later}, standard.with(into_casts), true}, Case{{cast}, strict.with(into_casts), false}}) {
    const AllowedTensor d = left_of_square(c.through, c.profile);
    ASSERT_EQ(d.size(), 1);
    EXPECT_TRUE(d.contains(0, from_double(d.type(), 0))) << d.describe(0) << " under " << c.profile.name();
    EXPECT_EQ(d.contains(0, from_double(d.type(), 0x1p-20)), c.unrounded) << d.describe(0) << " under " << c.profile.name();
    EXPECT_FALSE(d.contains(0, from_double(d.type(), 0x1p-14))) << d.describe(0) << " under " << c.profile.name();
  }
}

// What rounds to 1 lies between 1 - 2^-12 and 1 + 2^-11; to infinity of f16, from 65520 on; to its largest, from 65488 to 65520.
TEST(ExcessPrecision, WhatWasSeenRoundedIsAnyNumberThatRoundsToIt) {
  Tensor t(ElementType::F16, {4});
  const double values[4] = {1, std::numeric_limits<double>::infinity(), 65504, -65504};
  for (int k = 0; k < 4; ++k) t.set(k, from_double(ElementType::F16, values[k]));
  const AllowedTensor wider = AllowedTensor::exactly(t).perhaps_rounded();
  const double low[4] = {1 - 0x1p-12, 65520, 65488, -65520}, high[4] = {1 + 0x1p-11, std::numeric_limits<double>::infinity(), 65520, -65488};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(wider.unrounded()->lower[k], low[k]);
    EXPECT_EQ(wider.unrounded()->upper[k], high[k]);
    EXPECT_TRUE(wider.is_exact(static_cast<std::int64_t>(k))) << "the rounded values stay what they are";
  }
}

}  // namespace
}  // namespace ulpian::interp
