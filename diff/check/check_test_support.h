// Small graphs and the faulty backend, for this folder's tests.
#pragma once

#include <bit>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "diff/check/check_model.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {

using Tensors = Data;

inline Bits f32(float x) { return std::bit_cast<std::uint32_t>(x); }
inline Tensor floats(const std::vector<float>& values, std::optional<Extents> extents = {}) {
  Tensor t(ElementType::F32, extents.value_or(Extents{static_cast<std::int64_t>(values.size())}));
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), f32(values[k]));
  return t;
}
inline Tensor integers(const std::vector<std::int64_t>& values, std::optional<Extents> extents = {}) {
  Tensor t(ElementType::I64, extents.value_or(Extents{static_cast<std::int64_t>(values.size())}));
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), static_cast<Bits>(values[k]));
  return t;
}
inline Tensors tensors(std::initializer_list<Tensor> list) { return Tensors(list.begin(), list.end()); }

// Names make values; an empty name is an absent one.
class GraphMaker {
public:
  GraphMaker() { graph_.source = "model.onnx", graph_.name = "g"; }
  GraphMaker& input(const std::string& name, ElementType type, const Extents& extents) {
    const ValueId id = value(name);
    GraphValue& v = graph_.values[static_cast<std::size_t>(id)];
    v.type = type;
    v.extents.emplace();
    for (std::int64_t n : extents) v.extents->push_back({n, {}});
    graph_.inputs.push_back(id);
    return *this;
  }
  GraphMaker& constant(const std::string& name, Tensor t) {
    graph_.constants.emplace_back(value(name), std::move(t));
    return *this;
  }
  GraphMaker& node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, Attributes attributes = {}) {
    Node n;
    n.op = "onnx." + op;
    n.version = 18;
    n.name = op + "_" + std::to_string(graph_.nodes.size());
    n.position = static_cast<std::int32_t>(graph_.nodes.size());
    for (const auto& i : inputs) n.inputs.push_back(value(i));
    for (const auto& o : outputs) n.outputs.push_back(value(o));
    n.attributes = std::move(attributes);
    graph_.nodes.push_back(std::move(n));
    return *this;
  }
  GraphMaker& output(const std::string& name) {
    graph_.outputs.push_back(value(name));
    return *this;
  }
  std::shared_ptr<const Graph> graph() const { return std::make_shared<const Graph>(graph_); }
  Graph& edit() { return graph_; }

private:
  ValueId value(const std::string& name) {
    if (name.empty()) return AbsentValue;
    const auto [it, added] = ids_.emplace(name, static_cast<ValueId>(graph_.values.size()));
    if (added) graph_.values.push_back({}), graph_.values.back().name = name;
    return it->second;
  }
  Graph graph_;
  std::map<std::string, ValueId> ids_;
};

inline std::shared_ptr<const language::Specification> shipped() {
  static const auto specification = *language::Specification::load();
  return specification;
}

inline CheckOptions standard() {
  CheckOptions o;
  o.profile = interp::profile_named("standard").value();
  return o;
}

inline ModelCheck check_on(Backend& backend, const GraphMaker& maker, const Tensors& inputs, const CheckOptions& options = standard()) {
  const auto graph = maker.graph();
  auto bytes = export_onnx(*graph);
  EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : to_string(bytes.error()));
  auto out = check_model(shipped(), graph, std::make_shared<const std::string>(*bytes), backend, inputs, options);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : to_string(out.error()));
  return out.ok() ? *out : ModelCheck{};
}

inline ModelCheck check_faulty(const std::string& fault, const GraphMaker& maker, const Tensors& inputs, const CheckOptions& options = standard()) {
  OpenOptions open;
  open.run_seconds = fault.rfind("hang", 0) == 0 ? 1 : 60;
  auto backend = Backend::open({ULPIAN_FAULTY_BACKEND, fault}, open);
  EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : to_string(backend.error()));
  return backend.ok() ? check_on(*backend, maker, inputs, options) : ModelCheck{};
}

// `node` is of this class, all others conform.
inline void expect_only(const ModelCheck& m, std::size_t node, Class c) {
  ASSERT_LT(node, m.nodes.size());
  for (const NodeCheck& n : m.nodes)
    EXPECT_EQ(name_of(n.verdict.verdict), name_of(n.node == node ? c : Class::Conforms)) << n.op << " " << n.name << ": " << n.verdict.reason;
}

}  // namespace ulpian::diff
