// Model-local functions are inlined.
#include <gtest/gtest.h>

#include <algorithm>

#include "spec/import/onnx/test_models.h"

namespace ulpian::onnx_file {
namespace {

onnx::FunctionProto& add_function(onnx::ModelProto& m, const std::string& name, std::vector<std::string> inputs, std::vector<std::string> outputs, std::int64_t version = 17) {
  auto& f = *m.add_functions();
  f.set_domain("f");
  f.set_name(name);
  for (auto& i : inputs) f.add_input(i);
  for (auto& o : outputs) f.add_output(o);
  add_set_to(f, "", version);
  add_set_to(f, "f", 1);
  return f;
}

// x -> the given node -> y
onnx::ModelProto caller(const std::string& function, const std::string& name = "call") {
  auto m = new_model();
  add_set(m, "f", 1);
  set_type(*m.mutable_graph()->add_input(), "x", {2});
  add_node(*m.mutable_graph(), function, {"x"}, {"y"}, name, "f");
  set_type(*m.mutable_graph()->add_output(), "y", {2});
  return m;
}

std::string text_of(const Graph& g) {
  std::string out;
  const auto names = [&](const std::vector<ValueId>& ids) {
    std::string s;
    for (const ValueId id : ids) s += " " + (id == AbsentValue ? std::string("-") : g.values.at(static_cast<std::size_t>(id)).name);
    return s;
  };
  for (const Node& n : g.nodes) out += n.op + "@" + std::to_string(n.version) + names(n.inputs) + " ->" + names(n.outputs) + "\n";
  return out;
}

std::string inlined(const onnx::ModelProto& m) {
  auto r = import_model(m);
  return r ? text_of(*r) : to_string(r.error());
}

TEST(Functions, ACallIsReplacedByItsNodesUnderItsOwnOperatorSets) {
  auto m = caller("F");
  auto& f = add_function(m, "F", {"a"}, {"b"}, 13);
  add_node(f, "Relu", {"a"}, {"t"}, "inner");
  add_node(f, "Neg", {"t"}, {"b"});
  auto r = import_model(m);
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  EXPECT_EQ(text_of(*r), "onnx.Relu@13 x -> call/t\nonnx.Neg@13 call/t -> y\n");
  EXPECT_EQ(r->nodes[0].name, "call/inner");
  EXPECT_EQ(r->nodes[1].function, "f.F");
  EXPECT_EQ(place_of(*r, r->nodes[1]), "model.onnx, node 1 of function f.F");
  EXPECT_EQ(r->values[static_cast<std::size_t>(r->outputs[0])].type, ElementType::F32);
}

TEST(Functions, ValueNamesStayUnique) {
  auto m = caller("F", "");
  auto& g = *m.mutable_graph();
  add_node(g, "F", {"y"}, {"z"}, "", "f");
  add_node(g, "Neg", {"z"}, {"F/t"});
  set_type(*g.add_output(), "F/t", {2});
  auto& f = add_function(m, "F", {"a"}, {"b"});
  add_node(f, "Relu", {"a"}, {"t"});
  add_node(f, "Neg", {"t"}, {"b"});
  EXPECT_EQ(inlined(m), "onnx.Relu@17 x -> F/t_1\nonnx.Neg@17 F/t_1 -> y\nonnx.Relu@17 y -> F/t_2\nonnx.Neg@17 F/t_2 -> z\nonnx.Neg@17 z -> F/t\n");
}

TEST(Functions, NestedCallsPassAttributesThrough) {
  auto m = caller("Outer");
  add_attribute(*m.mutable_graph()->mutable_node(0), "alpha", onnx::AttributeProto::FLOAT).set_f(0.5f);
  auto& outer = add_function(m, "Outer", {"a"}, {"b"});
  outer.add_attribute("alpha");
  auto& call = add_node(outer, "Inner", {"a"}, {"b"}, "in", "f");
  add_attribute(call, "slope", onnx::AttributeProto::FLOAT).set_ref_attr_name("alpha");
  auto& inner = add_function(m, "Inner", {"p"}, {"q"});
  inner.add_attribute("slope");
  auto* axis = inner.add_attribute_proto();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(7);
  auto& leaky = add_node(inner, "LeakyRelu", {"p"}, {"t"});
  add_attribute(leaky, "alpha", onnx::AttributeProto::FLOAT).set_ref_attr_name("slope");
  add_attribute(leaky, "omitted", onnx::AttributeProto::FLOAT).set_ref_attr_name("never_given");
  auto& softmax = add_node(inner, "Softmax", {"t"}, {"q"});
  add_attribute(softmax, "axis", onnx::AttributeProto::INT).set_ref_attr_name("axis");
  auto r = import_model(m);
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  EXPECT_EQ(text_of(*r), "onnx.LeakyRelu@17 x -> call/in/t\nonnx.Softmax@17 call/in/t -> y\n");
  EXPECT_EQ(std::get<float>(r->nodes[0].attributes.at("alpha")), 0.5f);
  EXPECT_FALSE(r->nodes[0].attributes.contains("omitted"));
  EXPECT_EQ(std::get<std::int64_t>(r->nodes[1].attributes.at("axis")), 7);
  EXPECT_EQ(r->nodes[0].function, "f.Outer/f.Inner");
}

TEST(Functions, AbsentInputsOutputsAndPassedThroughValues) {
  auto m = caller("F");
  auto& call = *m.mutable_graph()->mutable_node(0);
  call.add_input("");
  call.add_output("");
  call.add_output("same");
  set_type(*m.mutable_graph()->add_output(), "same", {2});
  auto& f = add_function(m, "F", {"a", "o", "never"}, {"b", "unused", "a"});
  add_node(f, "Clip", {"a", "o", "never"}, {"b"});
  add_node(f, "Neg", {"a"}, {"unused"});
  EXPECT_EQ(inlined(m), "onnx.Clip@17 x - - -> y\nonnx.Neg@17 x -> call/unused\nonnx.Identity@17 x -> same\n");
}

TEST(Functions, BodiesInsideCaptureTheCallersValues) {
  auto m = caller("F");
  auto& f = add_function(m, "F", {"a"}, {"b"});
  add_node(f, "Relu", {"a"}, {"t"});
  auto& loop = add_node(f, "Loop", {"", "", "t"}, {"b"});
  auto& body = *add_attribute(loop, "body", onnx::AttributeProto::GRAPH).mutable_g();
  set_type(*body.add_input(), "i", {}, 7);
  set_type(*body.add_input(), "go", {}, 9);
  set_type(*body.add_input(), "state", {2});
  auto& constant = add_node(body, "Constant", {}, {"k"});
  *add_attribute(constant, "value", onnx::AttributeProto::TENSOR).mutable_t() = small_tensor(7, 3);
  add_node(body, "Sum", {"state", "a", "t"}, {"next"});
  body.add_output()->set_name("go");
  body.add_output()->set_name("next");
  add_node(*m.mutable_graph(), "F", {"y"}, {"z"}, "again", "f");  // a second call needs the body's tensor again
  auto r = import_model(m);
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  const auto& b = *std::get<std::shared_ptr<const Graph>>(r->nodes[1].attributes.at("body"));
  std::vector<std::string> captured;
  for (const auto& [id, name] : b.captured) captured.push_back(name);
  EXPECT_EQ(captured, (std::vector<std::string>{"x", "call/t"}));
  EXPECT_EQ(b.values[static_cast<std::size_t>(b.outputs[1])].name, "call/next");
  const auto& second = *std::get<std::shared_ptr<const Graph>>(r->nodes[3].attributes.at("body"));
  EXPECT_EQ(std::get<Tensor>(second.nodes[0].attributes.at("value")).data<std::int64_t>()[1], 4);
}

TEST(Functions, AGraphCanBeAnArgument) {
  auto m = caller("F");
  auto& g = *m.mutable_graph();
  auto& body = *add_attribute(*g.mutable_node(0), "what", onnx::AttributeProto::GRAPH).mutable_g();
  add_node(body, "Neg", {"x"}, {"n"});
  body.add_output()->set_name("n");
  auto& f = add_function(m, "F", {"a"}, {"b"});
  f.add_attribute("what");
  auto& branch = add_node(f, "If", {"a"}, {"b"});
  add_attribute(branch, "then_branch", onnx::AttributeProto::GRAPH).set_ref_attr_name("what");
  add_attribute(branch, "else_branch", onnx::AttributeProto::GRAPH).set_ref_attr_name("what");
  auto r = import_model(m);
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  EXPECT_EQ(std::get<std::shared_ptr<const Graph>>(r->nodes[0].attributes.at("else_branch"))->captured.at(0).second, "x");
}

TEST(Functions, OverloadsAreTold) {
  auto m = caller("F");
  m.mutable_graph()->mutable_node(0)->set_overload("two");
  add_node(add_function(m, "F", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  auto& two = add_function(m, "F", {"a"}, {"b"});
  two.set_overload("two");
  add_node(two, "Neg", {"a"}, {"b"});
  EXPECT_EQ(inlined(m), "onnx.Neg@17 x -> y\n");
}

TEST(Functions, RecursionIsFound) {
  auto m = caller("A");
  add_node(add_function(m, "A", {"a"}, {"b"}), "B", {"a"}, {"b"}, "", "f");
  add_node(add_function(m, "B", {"a"}, {"b"}), "A", {"a"}, {"b"}, "", "f");
  EXPECT_EQ(inlined(m).find("A producing \"b\": a function calls itself (model.onnx, node 0 of function f.A/f.B)\n  note: f.A calls f.B calls f.A\n"), 0u) << inlined(m);
}

TEST(Functions, AnExplosionOfCallsMeetsTheNodeLimit) {
  auto m = caller("F40");
  for (int k = 0; k <= 40; ++k) {
    auto& f = add_function(m, "F" + std::to_string(k), {"a"}, {"b"});
    const std::string op = k == 0 ? "Neg" : "F" + std::to_string(k - 1);
    add_node(f, op, {"a"}, {"t"}, "", k == 0 ? "" : "f");
    add_node(f, op, {"t"}, {"b"}, "", k == 0 ? "" : "f");
  }
  OnnxImportOptions options;
  options.node_limit = 20000;
  auto r = import_model(m, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().kind, ErrorKind::Limit);
  EXPECT_NE(r.error().message.find("more than 20000 nodes"), std::string::npos);
}

TEST(Functions, WrongCallsAreErrors) {
  const auto with = [](auto edit) {
    auto m = caller("F");
    auto& f = add_function(m, "F", {"a"}, {"b"});
    add_node(f, "Relu", {"a"}, {"b"});
    edit(m, f);
    return inlined(m);
  };
  EXPECT_NE(with([](auto& m, auto&) { m.mutable_graph()->mutable_node(0)->add_input("x"); }).find("it has 2 inputs and 1 outputs; the function has 1 and 1"), std::string::npos);
  EXPECT_NE(with([](auto& m, auto&) { add_attribute(*m.mutable_graph()->mutable_node(0), "k", onnx::AttributeProto::INT).set_i(1); }).find("the function has no attribute \"k\""), std::string::npos);
  EXPECT_NE(with([](auto&, auto& f) { f.set_output(0, "c"); }).find("does not make its output \"c\""), std::string::npos);
  EXPECT_NE(with([](auto&, auto& f) { f.clear_opset_import(); }).find("domain ai.onnx is not among the operator sets that the function f.F imports"), std::string::npos);
  EXPECT_NE(with([](auto&, auto& f) { f.mutable_node(0)->set_input(0, "x"); }).find("Relu producing \"b\" reads \"x\", which is no input"), std::string::npos);
  EXPECT_NE(with([](auto& m, auto& f) { *m.add_functions() = onnx::FunctionProto(f); }).find("\"f.F\" is defined twice"), std::string::npos);
  EXPECT_NE(with([](auto& m, auto&) { add_attribute(*m.mutable_graph()->mutable_node(0), "k", onnx::AttributeProto::INT).set_ref_attr_name("z"); }).find("the function has no attribute"), std::string::npos);
}

}  // namespace
}  // namespace ulpian::onnx_file
