// Elements that the standard leaves open one by one: a run tells of them.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "interp/session/session.h"

namespace ulpian::interp {
namespace {

std::shared_ptr<const language::Specification> specification() {
  // Two places of one type: which of them an element hangs on is told by the line.
  static const language::SourceText own{"own.ulp", "op test.Two {\n"
                                                   "  type T: any\n"
                                                   "  in   x: T[N]\n"
                                                   "  in   which: i32[N]\n"
                                                   "  out  y: T[N]\n"
                                                   "  y[i] = if which[i] == 7 then unspecified(T)\n"
                                                   "         else if which[i] == 8 then one of (x[i],\n"
                                                   "                                            unspecified(T))\n"
                                                   "         else x[i]\n"
                                                   "}\n"};
  static const auto loaded = language::Specification::load(std::span(&own, 1));
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
  EXPECT_NE(more.find("what C[0, 1] is, nor 1 more element ("), std::string::npos) << more;
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

TEST(OpenElements, TheLineIsThatOfWhatLeavesTheFirstOpen) {
  const auto which = [](std::int32_t first, std::int32_t second) { return i32({3}, {0, first, second}); };
  const Tensor x = i32({3}, {5, 0, 1});
  EXPECT_NE(told("test.Two", {x, which(7, 8)}).find("y[1] is, nor 1 more element (, node 0; own.ulp:6)"), std::string::npos) << told("test.Two", {x, which(7, 8)});
  EXPECT_NE(told("test.Two", {x, which(8, 7)}).find("y[1] is, nor 1 more element (, node 0; own.ulp:8)"), std::string::npos) << told("test.Two", {x, which(8, 7)});
  EXPECT_NE(told("test.Two", {x, which(0, 7)}).find("y[2] is (, node 0; own.ulp:6)"), std::string::npos);
  EXPECT_NE(told("test.Two", {x, which(0, 8)}).find("y[2] is (, node 0; own.ulp:8)"), std::string::npos);
  EXPECT_EQ(told("test.Two", {x, which(0, 0)}), "");
}

TEST(OpenElements, TextsAndComplexNumbersAreToldOf) {
  const Tensor texts({3}, std::vector<std::string>{"a", "", "?"});
  const Tensor c64 = tensor<float>(ElementType::C64, {3}, {1, 0, 0, 0, 2, 3}), c128 = tensor<double>(ElementType::C128, {3}, {1, 0, 0, 0, 2, 3});
  for (const Tensor& x : {texts, c64, c128}) {
    const std::string here = told("test.Two", {x, i32({3}, {0, 7, 8})});
    EXPECT_NE(here.find("y[1] is, nor 1 more element (, node 0; own.ulp:6)"), std::string::npos) << name_of(x.type()) << ": " << here;
    EXPECT_EQ(told("test.Two", {x, i32({3}, {0, 1, 2})}), "") << name_of(x.type());
  }
}

// The text of onnx.Cast: from floating point to "fixed point: undefined if OOR". What is in range follows from exact numbers.
TEST(OpenElements, SoIsAFloatThatAnIntegerTypeDoesNotHold) {
  const auto to = [](ElementType type, const Tensor& x) {
    const std::map<ElementType, std::int64_t> numbers{{ElementType::I32, 6}, {ElementType::U8, 2}, {ElementType::I64, 7}, {ElementType::U64, 13}};
    return told("onnx.Cast", {x}, {{"to", numbers.at(type)}});
  };
  const auto f64 = [](const std::vector<double>& x) { return tensor(ElementType::F64, {static_cast<std::int64_t>(x.size())}, x); };
  const auto one_at = [](const std::string& told, int index) { return told.find("output[" + std::to_string(index) + "] is (") != std::string::npos && told.find("spec/onnx/Cast.ulp") != std::string::npos; };
  EXPECT_EQ(to(ElementType::I32, f32({4}, {2147483520.0f, -2147483648.0f, 1.5f, -0.0f})), "");
  EXPECT_EQ(to(ElementType::I32, f64({2147483647.9, -2147483648.9})), "");
  EXPECT_EQ(to(ElementType::U8, f32({2}, {255.9f, -0.9f})), "");
  EXPECT_EQ(to(ElementType::I64, f64({-0x1p63, 0x1.fffffffffffffp62})), "");
  EXPECT_EQ(to(ElementType::U64, f64({-0.9, 0x1.fffffffffffffp63})), "");
  for (const double x : {2147483648.0, -2147483649.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) EXPECT_TRUE(one_at(to(ElementType::I32, f64({1, x})), 1)) << x << ": " << to(ElementType::I32, f64({1, x}));
  for (const float x : {2147483648.0f, -2147483904.0f}) EXPECT_TRUE(one_at(to(ElementType::I32, f32({2}, {x, 0})), 0)) << x;
  for (const float x : {256.0f, -1.0f}) EXPECT_TRUE(one_at(to(ElementType::U8, f32({2}, {x, 0})), 0)) << x;
  for (const double x : {0x1p63, -0x1.0000000000001p63}) EXPECT_TRUE(one_at(to(ElementType::I64, f64({x})), 0)) << x;
  for (const double x : {0x1p64, -1.0}) EXPECT_TRUE(one_at(to(ElementType::U64, f64({x})), 0)) << x;
  EXPECT_NE(to(ElementType::I32, f64({1e10, 1, 1e10})).find("what output[0] is, nor 1 more element ("), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp
