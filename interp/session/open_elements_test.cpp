// Elements that the standard leaves open one by one: a run tells of them.
#include <gtest/gtest.h>

#include "interp/session/session.h"

namespace ulpian::interp {
namespace {

std::shared_ptr<const language::Specification> specification() {
  static const auto loaded = language::Specification::load();
  return loaded.value();
}

template <typename T>
Tensor tensor(ElementType type, Extents extents, const std::vector<T>& values) {
  return Tensor::from_bytes(type, std::move(extents), std::as_bytes(std::span(values)));
}
Tensor i32(Extents extents, const std::vector<std::int32_t>& values) { return tensor(ElementType::I32, std::move(extents), values); }
Tensor f32(Extents extents, const std::vector<float>& values) { return tensor(ElementType::F32, std::move(extents), values); }

// What a run of one call tells of, by both evaluators; empty where it tells of nothing.
std::string told(const char* op, const std::vector<std::optional<Tensor>>& inputs, Attributes attributes = {}, bool asked = true) {
  auto graph = std::make_shared<Graph>();
  Node n;
  n.op = op;
  n.version = 20;
  n.attributes = std::move(attributes);
  for (std::size_t k = 0; k <= inputs.size(); ++k) {
    graph->values.push_back({std::string(1, static_cast<char>('p' + k)), {}, {}});
    (k < inputs.size() ? n.inputs : n.outputs).push_back(static_cast<ValueId>(k));
  }
  graph->inputs = n.inputs;
  graph->outputs = n.outputs;
  graph->nodes = {n};
  std::string out;
  for (Evaluator evaluator : {Evaluator::Scalar, Evaluator::Block}) {
    SessionOptions options;
    options.evaluator = evaluator;
    RunNotes notes;
    notes.open_elements = asked;
    auto answer = Session(specification(), graph, options).run(inputs, {}, &notes);
    EXPECT_TRUE(answer) << to_string(answer.error());
    std::string here;
    for (const Diagnostic& d : notes.undefined) here += to_string(d);
    if (evaluator == Evaluator::Block) {
      EXPECT_EQ(here, out);
    }
    out = here;
  }
  return out;
}

TEST(OpenElements, AnIntegerDividedByZeroIsToldByItsIndex) {
  const Tensor a = i32({2, 2}, {1, 6, 7, -8});
  const std::string one = told("onnx.Div", {a, i32({2, 2}, {3, 3, 0, 2})});
  EXPECT_NE(one.find("the standard does not say what C[1, 0] is ("), std::string::npos) << one;
  EXPECT_NE(one.find("spec/onnx/Div.ulp"), std::string::npos) << one;
  const std::string more = told("onnx.Div", {a, i32({2}, {3, 0})});
  EXPECT_NE(more.find("what C[0, 1] is, nor 1 more elements"), std::string::npos) << more;
  EXPECT_EQ(told("onnx.Div", {a, i32({2}, {3, -1})}), "");
  EXPECT_EQ(told("onnx.Div", {f32({2}, {1, 0}), f32({}, {0})}), "");  // IEEE 754 says what these are
  EXPECT_EQ(told("onnx.Div", {a, i32({2}, {3, 0})}, {}, false), "");
}

TEST(OpenElements, SoAreTheOthersThatADefinitionLeavesOpen) {
  EXPECT_NE(told("onnx.Pow", {i32({3}, {2, 2, 2}), i32({3}, {3, -1, 0})}).find("Z[1] is ("), std::string::npos);
  EXPECT_EQ(told("onnx.Pow", {i32({3}, {2, 2, 2}), i32({3}, {3, 1, 0})}), "");
  // The value that it is given in the canonical answer makes no difference.
  for (int x : {0, 1, 5}) EXPECT_NE(told("onnx.Mod", {i32({2}, {5, x}), i32({2}, {3, 0})}).find("C[1] is ("), std::string::npos) << x;
  EXPECT_NE(told("onnx.BitShift", {tensor<std::uint8_t>(ElementType::U8, {2}, {1, 1}), tensor<std::uint8_t>(ElementType::U8, {2}, {7, 8})}, {{"direction", std::string("LEFT")}}).find("[1] is ("), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp
