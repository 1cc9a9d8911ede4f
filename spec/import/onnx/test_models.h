// Small models for tests, made with the schema.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spec/import/onnx/import_onnx.h"
#include "spec/import/onnx/schema.h"

namespace ulpian::onnx_file {

inline std::span<const std::byte> bytes_of_text(const std::string& s) { return std::as_bytes(std::span<const char>(s.data(), s.size())); }

template <typename Owner>
void add_set_to(Owner& owner, const std::string& domain, std::int64_t version) {
  auto* set = owner.add_opset_import();
  set->set_domain(domain);
  set->set_version(version);
}
inline void add_set(onnx::ModelProto& m, const std::string& domain, std::int64_t version) { add_set_to(m, domain, version); }

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

inline onnx::TensorProto small_tensor(int code, std::int64_t first) {
  onnx::TensorProto t;
  t.set_data_type(code);
  t.add_dims(2);
  t.add_int64_data(first);
  t.add_int64_data(first + 1);
  return t;
}

// Every kind of attribute, bodies that capture (through two levels), absent inputs and outputs, several domains and dimension kinds, all
// initializer forms; with functions if asked.
inline onnx::ModelProto rich_model(bool with_functions) {
  auto m = new_model(21);
  m.set_ir_version(10);
  add_set(m, "com.example", 3);
  auto& g = *m.mutable_graph();
  set_type(*g.add_input(), "x", {2, 0});
  g.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("N");
  set_type(*g.add_input(), "c", {}, 9);
  add_floats(g, "w", {1, 1}, {0.5f});
  auto* packed = g.add_initializer();
  packed->set_name("q");
  packed->set_data_type(22);
  packed->add_dims(3);
  packed->set_raw_data("\x7f\x08");
  auto* sparse = g.add_sparse_initializer();
  sparse->add_dims(4);
  sparse->mutable_values()->set_name("s");
  sparse->mutable_values()->set_data_type(7);
  sparse->mutable_values()->add_dims(2);
  sparse->mutable_values()->add_int64_data(5);
  sparse->mutable_values()->add_int64_data(6);
  *sparse->mutable_indices() = small_tensor(7, 1);

  auto& all = add_node(g, "MyOp", {"x", "", "w"}, {"", "h"}, "all", "com.example");
  add_attribute(all, "i", onnx::AttributeProto::INT).set_i(-3);
  add_attribute(all, "f", onnx::AttributeProto::FLOAT).set_f(0.25f);
  add_attribute(all, "s", onnx::AttributeProto::STRING).set_s("text");
  *add_attribute(all, "t", onnx::AttributeProto::TENSOR).mutable_t() = small_tensor(7, 10);
  auto& ints = add_attribute(all, "is", onnx::AttributeProto::INTS);
  ints.add_ints(1);
  ints.add_ints(-2);
  add_attribute(all, "none", onnx::AttributeProto::INTS);
  add_attribute(all, "fs", onnx::AttributeProto::FLOATS).add_floats(1.5f);
  add_attribute(all, "ss", onnx::AttributeProto::STRINGS).add_strings("a");
  *add_attribute(all, "ts", onnx::AttributeProto::TENSORS).add_tensors() = small_tensor(7, 20);

  auto& choose = add_node(g, "If", {"c"}, {"z"}, "choose");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& body = *add_attribute(choose, branch, onnx::AttributeProto::GRAPH).mutable_g();
    body.set_name(branch);
    auto& inner = add_node(body, "If", {"c"}, {std::string("r_") + branch});
    for (const char* deep : {"then_branch", "else_branch"}) {
      auto& leaf = *add_attribute(inner, deep, onnx::AttributeProto::GRAPH).mutable_g();
      leaf.set_name(deep);
      const std::string out = std::string("l_") + branch + deep;
      add_node(leaf, "Add", {"h", "w"}, {out});
      leaf.add_output()->set_name(out);
    }
    body.add_output()->set_name(std::string("r_") + branch);
  }
  set_type(*g.add_output(), "z", {2, 0});
  set_type(*g.add_value_info(), "h", {2, 0});
  if (with_functions) {
    auto& call = add_node(g, "Scale", {"z"}, {"y"}, "call", "com.example");
    add_attribute(call, "by", onnx::AttributeProto::FLOAT).set_f(2.0f);
    set_type(*g.add_output(), "y", {2, 0});
    auto& f = *m.add_functions();
    f.set_domain("com.example");
    f.set_name("Scale");
    f.add_input("a");
    f.add_output("b");
    f.add_attribute("by");
    add_set_to(f, "", 21);
    auto& constant = add_node(f, "Constant", {}, {"k"});
    add_attribute(constant, "value_float", onnx::AttributeProto::FLOAT).set_ref_attr_name("by");
    add_node(f, "Mul", {"a", "k"}, {"b"}, "m");
  }
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
