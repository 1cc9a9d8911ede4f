// Small models for tests, made with the schema.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spec/import/onnx/import_onnx.h"
#include "spec/import/onnx/schema.h"

namespace ulpian::onnx_file {

inline std::span<const std::byte> bytes_of_text(const std::string& s) { return std::as_bytes(std::span<const char>(s.data(), s.size())); }

inline void add_set(onnx::ModelProto& m, const std::string& domain, std::int64_t version) {
  auto* set = m.add_opset_import();
  set->set_domain(domain);
  set->set_version(version);
}

inline onnx::ModelProto new_model(std::int64_t version = 17) {
  onnx::ModelProto m;
  m.set_ir_version(8);
  add_set(m, "", version);
  m.mutable_graph()->set_name("g");
  return m;
}

// An extent of 0 is unknown.
inline void set_type(onnx::ValueInfoProto& v, const std::string& name, std::vector<std::int64_t> extents, int code = 1) {
  v.set_name(name);
  auto* type = v.mutable_type()->mutable_tensor_type();
  type->set_elem_type(code);
  type->mutable_shape();
  for (const auto e : extents) {
    auto* dim = type->mutable_shape()->add_dim();
    if (e != 0) dim->set_dim_value(e);
  }
}

template <typename Nodes>
onnx::NodeProto& add_node(Nodes& graph, const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs, const std::string& name = "", const std::string& domain = "") {
  auto* node = graph.add_node();
  node->set_op_type(op);
  for (auto& i : inputs) node->add_input(i);
  for (auto& o : outputs) node->add_output(o);
  if (!name.empty()) node->set_name(name);
  if (!domain.empty()) node->set_domain(domain);
  return *node;
}

inline onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name, onnx::AttributeProto::AttributeType type) {
  auto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(type);
  return *a;
}

inline void add_floats(onnx::GraphProto& graph, const std::string& name, std::vector<std::int64_t> extents, std::vector<float> values) {
  auto* t = graph.add_initializer();
  t->set_name(name);
  t->set_data_type(1);
  for (const auto e : extents) t->add_dims(e);
  for (const float v : values) t->add_float_data(v);
}

// x -> Relu "r" -> Add "a" (with the initializer w) -> y
inline onnx::ModelProto small_model() {
  auto m = new_model();
  auto& g = *m.mutable_graph();
  set_type(*g.add_input(), "x", {2, 3});
  add_floats(g, "w", {3}, {1, 2, 3});
  add_node(g, "Relu", {"x"}, {"h"}, "r");
  add_node(g, "Add", {"h", "w"}, {"y"}, "a");
  set_type(*g.add_output(), "y", {2, 3});
  return m;
}

inline Result<Graph> import_model(const onnx::ModelProto& m, OnnxImportOptions options = {}) {
  if (options.source == "model") options.source = "model.onnx";
  const std::string bytes = m.SerializeAsString();
  return import_onnx(bytes_of_text(bytes), options);
}

inline std::string message_of(const onnx::ModelProto& m, OnnxImportOptions options = {}) {
  const auto r = import_model(m, std::move(options));
  return r ? "" : to_string(r.error());
}

}  // namespace ulpian::onnx_file
