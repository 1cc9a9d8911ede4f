#include "spec/import/onnx/export_onnx.h"

#include <gtest/gtest.h>

#include "spec/core/cut.h"
#include "spec/import/onnx/test_models.h"

namespace ulpian::onnx_file {
namespace {

void expect_equal(const Graph& a, const Graph& b);

void expect_equal(const Tensor& a, const Tensor& b) { EXPECT_TRUE(same_elements(a, b)); }
void expect_equal(const std::shared_ptr<const Graph>& a, const std::shared_ptr<const Graph>& b) { expect_equal(*a, *b); }

template <typename T>
void expect_equal(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::vector<Tensor>> || std::is_same_v<T, std::vector<std::shared_ptr<const Graph>>>) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) expect_equal(a[k], b[k]);
  } else {
    EXPECT_EQ(a, b);
  }
}

void expect_equal_attributes(const Attribute& a, const Attribute& b, const std::string& name) {
  SCOPED_TRACE(name);
  ASSERT_EQ(a.index(), b.index());
  std::visit([&](const auto& v) { expect_equal(v, std::get<std::decay_t<decltype(v)>>(b)); }, a);
}

std::string name_in(const Graph& g, ValueId id) { return id == AbsentValue ? "" : g.values.at(static_cast<std::size_t>(id)).name; }

void expect_equal_values(const Graph& a, const std::vector<ValueId>& of_a, const Graph& b, const std::vector<ValueId>& of_b) {
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    EXPECT_EQ(name_in(a, of_a[k]), name_in(b, of_b[k]));
    if (of_a[k] == AbsentValue) continue;
    const GraphValue& v = a.values[static_cast<std::size_t>(of_a[k])];
    const GraphValue& w = b.values[static_cast<std::size_t>(of_b[k])];
    EXPECT_EQ(v.type, w.type) << v.name;
    EXPECT_EQ(v.is_sequence, w.is_sequence);
    EXPECT_EQ(v.is_optional, w.is_optional);
    ASSERT_EQ(v.extents.has_value(), w.extents.has_value()) << v.name;
    if (!v.extents) continue;
    ASSERT_EQ(v.extents->size(), w.extents->size());
    for (std::size_t j = 0; j < v.extents->size(); ++j) {
      EXPECT_EQ((*v.extents)[j].extent, (*w.extents)[j].extent);
      EXPECT_EQ((*v.extents)[j].symbol, (*w.extents)[j].symbol);
    }
  }
}

void expect_equal(const Graph& a, const Graph& b) {
  expect_equal_values(a, a.inputs, b, b.inputs);
  expect_equal_values(a, a.outputs, b, b.outputs);
  ASSERT_EQ(a.constants.size(), b.constants.size());
  for (std::size_t k = 0; k < a.constants.size(); ++k) {
    EXPECT_EQ(name_in(a, a.constants[k].first), name_in(b, b.constants[k].first));
    EXPECT_TRUE(same_elements(a.constants[k].second, b.constants[k].second));
  }
  ASSERT_EQ(a.captured.size(), b.captured.size());
  for (std::size_t k = 0; k < a.captured.size(); ++k) EXPECT_EQ(a.captured[k].second, b.captured[k].second);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t k = 0; k < a.nodes.size(); ++k) {
    const Node& n = a.nodes[k];
    const Node& m = b.nodes[k];
    EXPECT_EQ(n.op, m.op);
    EXPECT_EQ(n.version, m.version);
    EXPECT_EQ(n.name, m.name);
    expect_equal_values(a, n.inputs, b, m.inputs);
    expect_equal_values(a, n.outputs, b, m.outputs);
    ASSERT_EQ(n.attributes.size(), m.attributes.size());
    for (const auto& [name, value] : n.attributes) expect_equal_attributes(value, m.attributes.at(name), name);
  }
}

void expect_round_trip(const onnx::ModelProto& m) {
  auto first = import_model(m);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  auto bytes = export_onnx(*first);
  ASSERT_TRUE(bytes.ok()) << to_string(bytes.error());
  auto second = import_onnx(bytes_of_text(*bytes));
  ASSERT_TRUE(second.ok()) << to_string(second.error());
  expect_equal(*first, *second);
}

TEST(ExportOnnx, WhatWasImportedComesBack) {
  expect_round_trip(small_model());
  expect_round_trip(rich_model(false));
}

TEST(ExportOnnx, TheModelStatesIrVersionAndOperatorSets) {
  auto g = import_model(rich_model(false));
  ASSERT_TRUE(g.ok());
  auto bytes = export_onnx(*g);
  ASSERT_TRUE(bytes.ok());
  onnx::ModelProto m;
  ASSERT_TRUE(m.ParseFromString(*bytes));
  EXPECT_EQ(m.ir_version(), 10);  // ONNX 1.16 brought opset 21 with IR version 10
  ASSERT_EQ(m.opset_import_size(), 2);
  EXPECT_EQ(m.opset_import(0).domain(), "");
  EXPECT_EQ(m.opset_import(0).version(), 21);
  EXPECT_EQ(m.opset_import(1).domain(), "com.example");
}

TEST(ExportOnnx, WhatNoModelCanHoldIsAnError) {
  auto g = import_model(small_model());
  ASSERT_TRUE(g.ok());
  Graph mixed = *g;
  mixed.nodes[1].version = 13;
  EXPECT_NE(to_string(export_onnx(mixed).error()).find("one ONNX model holds one version of a domain"), std::string::npos);
  Graph untyped = *g;
  untyped.values[static_cast<std::size_t>(untyped.inputs[0])].type.reset();
  EXPECT_NE(to_string(export_onnx(untyped).error()).find("the type of the input \"x\" is not known"), std::string::npos);
  Graph twice = *g;
  twice.values[0].name = twice.values[1].name;
  EXPECT_NE(to_string(export_onnx(twice).error()).find("unique"), std::string::npos);
}

TEST(ExportOnnx, ACutOperatorIsAModel) {
  auto g = import_model(rich_model(false));
  ASSERT_TRUE(g.ok());
  for (int k = 0; k < static_cast<int>(g->nodes.size()); ++k) {
    Cut part = cut(*g, std::vector<int>{k});
    auto bytes = export_onnx(part.graph);
    ASSERT_TRUE(bytes.ok()) << to_string(bytes.error());
    auto back = import_onnx(bytes_of_text(*bytes));
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    expect_equal(part.graph, *back);
  }
}

TEST(ExposeValues, AddsOutputsAndChangesNothingElse) {
  // Field 999 is unknown to the schema and must survive; so must a second graph field, which adds to the first.
  std::string original = small_model().SerializeAsString() + "\xba\x3e\x03xyz";
  onnx::ModelProto more;
  more.mutable_graph()->set_doc_string("more");
  original += more.SerializeAsString();
  const GraphValue values[] = {{"y", {}, {}, false, false}, {"h", ElementType::F32, std::vector<Dimension>{{2, {}}, {{}, "N"}}, false, false}, {"w", {}, {}, false, false}};
  auto exposed = expose_values(bytes_of_text(original), values);
  ASSERT_TRUE(exposed.ok()) << to_string(exposed.error());
  onnx::ModelProto m;
  ASSERT_TRUE(m.ParseFromString(*exposed));
  ASSERT_EQ(m.graph().output_size(), 3);
  EXPECT_EQ(m.graph().output(0).name(), "y");
  EXPECT_EQ(m.graph().output(1).name(), "h");
  EXPECT_EQ(m.graph().output(1).type().tensor_type().elem_type(), 1);
  EXPECT_EQ(m.graph().output(1).type().tensor_type().shape().dim(1).dim_param(), "N");
  EXPECT_EQ(m.graph().output(2).name(), "w");
  m.mutable_graph()->mutable_output()->DeleteSubrange(1, 2);
  onnx::ModelProto before;
  ASSERT_TRUE(before.ParseFromString(original));
  EXPECT_EQ(m.SerializeAsString(), before.SerializeAsString());
  auto none = expose_values(bytes_of_text(original), {});
  EXPECT_EQ(*none, original);
}

TEST(ExposeValues, AnUnknownNameOrABrokenModelIsAnError) {
  const std::string model = small_model().SerializeAsString();
  const GraphValue unknown[] = {{"nope", {}, {}, false, false}};
  EXPECT_NE(to_string(expose_values(bytes_of_text(model), unknown).error()).find("no value \"nope\""), std::string::npos);
  for (std::size_t n = 0; n < model.size(); ++n) (void)expose_values(bytes_of_text(model).first(n), unknown);
}

}  // namespace
}  // namespace ulpian::onnx_file
