#include "spec/import/onnx/import_onnx.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "spec/import/onnx/test_models.h"

namespace ulpian::onnx_file {
namespace {

// Every way in which a graph may be read later without a crash: indices in range, values defined before they are read.
void expect_consistent(const Graph& g) {
  std::vector<bool> defined(g.values.size(), false);
  const auto set = [&](ValueId id) {
    ASSERT_GE(id, 0);
    ASSERT_LT(static_cast<std::size_t>(id), g.values.size());
    defined[static_cast<std::size_t>(id)] = true;
  };
  for (const auto id : g.inputs) set(id);
  for (const auto& [id, tensor] : g.constants) set(id);
  for (const auto& [id, name] : g.captured) set(id);
  const auto body_check = [&](const std::shared_ptr<const Graph>& body) {
    expect_consistent(*body);
    for (const auto& [id, name] : body->captured) {
      const auto outer = std::find_if(g.values.begin(), g.values.end(), [&](const GraphValue& v) { return v.name == name; });
      ASSERT_NE(outer, g.values.end());
      EXPECT_TRUE(defined[static_cast<std::size_t>(outer - g.values.begin())]);
    }
  };
  for (const Node& n : g.nodes) {
    for (const auto id : n.inputs)
      EXPECT_TRUE(id == AbsentValue || defined.at(static_cast<std::size_t>(id)));
    for (const auto& [name, a] : n.attributes) {
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&a)) body_check(*body);
      if (const auto* bodies = std::get_if<std::vector<std::shared_ptr<const Graph>>>(&a))
        for (const auto& b : *bodies) body_check(b);
    }
    for (const auto id : n.outputs)
      if (id != AbsentValue) set(id);
  }
  for (const auto id : g.outputs) EXPECT_TRUE(defined.at(static_cast<std::size_t>(id)));
}

ValueId value_named(const Graph& g, const std::string& name) {
  for (std::size_t k = 0; k < g.values.size(); ++k)
    if (g.values[k].name == name) return static_cast<ValueId>(k);
  return AbsentValue;
}

TEST(ImportOnnx, AnOrdinaryModelKeepsItsNamesTypesAndOrder) {
  auto r = import_model(small_model());
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  const Graph& g = *r;
  expect_consistent(g);
  EXPECT_EQ(g.name, "g");
  EXPECT_EQ(g.source, "model.onnx");
  ASSERT_EQ(g.inputs.size(), 1u);
  ASSERT_EQ(g.outputs.size(), 1u);
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].op, "onnx.Relu");
  EXPECT_EQ(g.nodes[1].op, "onnx.Add");
  EXPECT_EQ(g.nodes[1].name, "a");
  EXPECT_EQ(g.nodes[1].version, 17);
  EXPECT_EQ(g.nodes[1].position, 1);
  EXPECT_EQ(g.values[static_cast<std::size_t>(g.inputs[0])].name, "x");
  EXPECT_EQ(g.values[static_cast<std::size_t>(g.inputs[0])].type, ElementType::F32);
  EXPECT_EQ((*g.values[static_cast<std::size_t>(g.inputs[0])].extents)[1].extent, 3);
  ASSERT_EQ(g.constants.size(), 1u);
  EXPECT_EQ(g.constants[0].second.data<float>()[2], 3.0f);
  EXPECT_EQ(g.nodes[1].inputs[1], g.constants[0].first);
  EXPECT_EQ(g.outputs[0], value_named(g, "y"));
}

TEST(ImportOnnx, DomainsBecomePrefixes) {
  auto m = small_model();
  m.mutable_opset_import(0)->set_domain("ai.onnx");
  add_set(m, "com.example", 2);
  add_set(m, "unused.domain", 99);
  m.mutable_graph()->mutable_node(0)->set_domain("com.example");
  m.mutable_graph()->mutable_node(1)->set_domain("");
  auto r = import_model(m);
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  EXPECT_EQ(r->nodes[0].op, "com.example.Relu");
  EXPECT_EQ(r->nodes[0].version, 2);
  EXPECT_EQ(r->nodes[1].op, "onnx.Add");
  EXPECT_EQ(r->nodes[1].version, 17);
}

TEST(ImportOnnx, DimensionsAreNumbersSymbolsOrUnknown) {
  auto m = small_model();
  auto* shape = m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  shape->add_dim()->set_dim_value(4);
  shape->add_dim()->set_dim_param("batch");
  shape->add_dim();
  shape->add_dim()->set_dim_value(-1);
  shape->add_dim()->set_dim_param("?");
  auto r = import_model(m);
  ASSERT_TRUE(r.ok());
  const auto& extents = *r->values[static_cast<std::size_t>(r->inputs[0])].extents;
  EXPECT_EQ(extents[0].extent, 4);
  EXPECT_EQ(extents[1].symbol, "batch");
  for (std::size_t k = 1; k < 5; ++k) EXPECT_FALSE(extents[k].extent);
  for (std::size_t k = 2; k < 5; ++k) EXPECT_TRUE(extents[k].symbol.empty());
}

TEST(ImportOnnx, TypesOfSequencesAndOptionalsAreKept) {
  auto m = small_model();
  auto& g = *m.mutable_graph();
  auto* sequence = g.add_input();
  sequence->set_name("s");
  sequence->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(7);
  auto* optional = g.add_input();
  optional->set_name("o");
  optional->mutable_type()->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(11);
  auto r = import_model(m);
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  const GraphValue& s = r->values[static_cast<std::size_t>(r->inputs[1])];
  EXPECT_TRUE(s.is_sequence && !s.is_optional && s.type == ElementType::I64 && !s.extents);
  const GraphValue& o = r->values[static_cast<std::size_t>(r->inputs[2])];
  EXPECT_TRUE(o.is_optional && !o.is_sequence && o.type == ElementType::F64);
}

TEST(ImportOnnx, AnInitializerGivesAnInputItsDefault) {
  auto m = small_model();
  set_type(*m.mutable_graph()->add_input(), "w", {3});
  auto r = import_model(m);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->inputs.size(), 2u);
  EXPECT_EQ(r->constants.at(0).first, r->inputs[1]);
  // Before IR version 4 the listing was mandatory and says nothing.
  m.set_ir_version(3);
  r = import_model(m);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->inputs.size(), 1u);
  EXPECT_EQ(r->constants.size(), 1u);
}

TEST(ImportOnnx, AbsentInputsAndOutputsAndSparseInitializers) {
  auto r = import_model(rich_model(false));
  ASSERT_TRUE(r.ok()) << to_string(r.error());
  expect_consistent(*r);
  const Node& all = r->nodes[0];
  EXPECT_EQ(all.inputs[1], AbsentValue);
  EXPECT_EQ(all.outputs[0], AbsentValue);
  EXPECT_EQ(r->values[static_cast<std::size_t>(all.outputs[1])].type, ElementType::F32);
  const Tensor& q = r->constants.at(1).second;
  EXPECT_EQ(q.type(), ElementType::I4);  // 0x7f 0x08: 15, 7, 8 (that is -1, 7, -8)
  EXPECT_EQ(q.at(0), 15u);
  EXPECT_EQ(q.at(1), 7u);
  EXPECT_EQ(q.at(2), 8u);
  const Tensor& s = r->constants.at(2).second;
  const std::int64_t dense[] = {0, 5, 6, 0};
  for (int k = 0; k < 4; ++k) EXPECT_EQ(s.data<std::int64_t>()[k], dense[k]);
  EXPECT_EQ(std::get<std::string>(all.attributes.at("s")), "text");
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(all.attributes.at("is")), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(std::get<Tensor>(all.attributes.at("t")).data<std::int64_t>()[1], 11);
}

TEST(ImportOnnx, BodiesCaptureLevelByLevel) {
  auto r = import_model(rich_model(false));
  ASSERT_TRUE(r.ok());
  const auto& body = std::get<std::shared_ptr<const Graph>>(r->nodes[1].attributes.at("then_branch"));
  std::vector<std::string> captured;
  for (const auto& [id, name] : body->captured) captured.push_back(name);
  EXPECT_EQ(captured, (std::vector<std::string>{"c", "h", "w"}));
  const auto& leaf = std::get<std::shared_ptr<const Graph>>(body->nodes[0].attributes.at("else_branch"));
  EXPECT_EQ(leaf->captured.size(), 2u);
  EXPECT_EQ(place_of(*leaf, leaf->nodes[0]), "model.onnx, node 1, then_branch, node 0, else_branch, node 0");
  EXPECT_EQ(leaf->values[static_cast<std::size_t>(leaf->captured[0].first)].type, ElementType::F32);
}

TEST(ImportOnnx, OlderOperatorSetsNeedEveryDefinition) {
  auto m = small_model();
  m.mutable_opset_import(0)->set_version(6);
  EXPECT_EQ(message_of(m), "Relu \"r\": the operator onnx.Relu is not defined in opset version 6; versions from 7 on are (model.onnx, node 0)\n"
                           "  note: also Add \"a\": the operator onnx.Add is not defined in opset version 6; versions from 7 on are (model.onnx, node 1)\n"
                           "  help: give the definition of an operator of your own with --spec FILE");
  OnnxImportOptions options;
  options.is_defined = [](std::string_view op, std::int64_t v) { return op == "onnx.Relu" && v == 6 ? Definedness::Defined : Definedness::UnknownOperator; };
  EXPECT_EQ(message_of(m, options).find("Add \"a\": the operator onnx.Add (opset version 6) is not defined (model.onnx, node 1)"), 0u);
  options.is_defined = [](std::string_view, std::int64_t) { return Definedness::Defined; };
  EXPECT_EQ(message_of(m, options), "");
}

TEST(ImportOnnx, EveryModelOfAFolderImports) {
  const char* folder = std::getenv("ULPIAN_ONNX_MODELS");
  if (!folder) GTEST_SKIP() << "ULPIAN_ONNX_MODELS names no folder of models";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    OnnxImportOptions options;
    options.is_defined = [](std::string_view, std::int64_t) { return Definedness::Defined; };
    auto r = import_onnx(entry.path().string(), options);
    ASSERT_TRUE(r.ok()) << to_string(r.error());
    expect_consistent(*r);
  }
}

}  // namespace
}  // namespace ulpian::onnx_file
