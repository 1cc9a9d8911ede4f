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
