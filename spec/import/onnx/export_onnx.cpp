#include "spec/import/onnx/export_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "spec/import/onnx/element_code.h"
#include "spec/import/onnx/names.h"
#include "spec/import/onnx/schema.h"
#include "spec/import/onnx/tensor_codec.h"
#include "spec/import/onnx/type_text.h"
#include "spec/import/onnx/value_info.h"

namespace ulpian {

namespace onnx_file {

void write_value_info(const GraphValue& value, ::onnx::ValueInfoProto& out) {
  out.set_name(value.name);
  if (!value.type) return;
  ::onnx::TypeProto* type = out.mutable_type();
  if (value.is_optional) type = type->mutable_optional_type()->mutable_elem_type();
  if (value.is_sequence) type = type->mutable_sequence_type()->mutable_elem_type();
  auto* tensor = type->mutable_tensor_type();
  tensor->set_elem_type(onnx_code_of(*value.type));
  if (!value.extents) return;
  auto* shape = tensor->mutable_shape();
  for (const Dimension& d : *value.extents) {
    auto* dim = shape->add_dim();
    if (d.extent) dim->set_dim_value(*d.extent);
    else if (!d.symbol.empty()) dim->set_dim_param(d.symbol);
  }
}

}  // namespace onnx_file

namespace {

using onnx_file::shown;

constexpr std::int64_t MostBytes = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);  // protobuf's limit, less what frames the tensors

class Exporter {
public:
  explicit Exporter(const Graph& graph) : graph_(graph) {}

  Result<std::string> run() {
    google::protobuf::Arena arena;
    auto* model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
    if (auto s = write_graph(graph_, *model->mutable_graph(), true); !s) return std::move(s).error();
    if (sets_.empty()) sets_.emplace("", 13);  // a graph without nodes; a model must import something
    for (const auto& [domain, version] : sets_) {
      auto* set = model->add_opset_import();
      set->set_domain(domain);
      set->set_version(version);
    }
    model->set_ir_version(ir_version());
    model->set_producer_name("ulpian");
    return model->SerializeAsString();
  }

private:
  Diagnostic wrong(const Graph& graph, std::string message, ErrorKind kind = ErrorKind::Input) const {
    Diagnostic d;
    d.kind = kind;
    d.message = std::move(message);
    d.program_place = graph.source;
    return d;
  }

  // The IR version of the ONNX release that brought the operator set. Version 8 has all that a graph of older ones needs.
  std::int64_t ir_version() const {
    const auto set = sets_.find("");
    const std::int64_t version = set == sets_.end() ? 0 : set->second;
    constexpr std::pair<std::int64_t, std::int64_t> Releases[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}};
    for (const auto& [first, ir] : Releases)
      if (version >= first) return ir;
    return 8;
  }

  Status import_set(const Graph& graph, const Node& node, const std::string& domain) {
    const auto [set, added] = sets_.emplace(domain, node.version);
    if (added || set->second == node.version) return success();
    return wrong(graph, fmt::format("{} is of version {}, other nodes of its domain of {}; one ONNX model holds one version of a domain", describe(node), node.version, set->second),
                 ErrorKind::Unsupported);
  }

  Status write_tensor(const Graph& graph, const Tensor& tensor, std::string_view name, onnx::TensorProto& out) {
    bytes_ += onnx_file::encoded_size(tensor);
    if (bytes_ > MostBytes) return wrong(graph, "the constants take more than protobuf's 2 GiB", ErrorKind::Limit);
    onnx_file::encode(tensor, name, out);
    return success();
  }

  Status check_names(const Graph& graph) const {
    std::unordered_set<std::string_view> seen;
    for (const GraphValue& v : graph.values)
      if (v.name.empty() || !seen.insert(v.name).second) return wrong(graph, fmt::format("the values' names must be unique and not empty; {} is not", shown(v.name)));
    return success();
  }

  Status write_graph(const Graph& graph, onnx::GraphProto& out, bool is_main) {
    if (auto s = check_names(graph); !s) return s;
    out.set_name(graph.name.empty() ? "graph" : graph.name);
    std::vector<bool> listed(graph.values.size(), false);
    const auto value = [&](ValueId id) -> const GraphValue& { return graph.values.at(static_cast<std::size_t>(id)); };
    const auto list = [&](ValueId id, onnx::ValueInfoProto& info) {
      onnx_file::write_value_info(value(id), info);
      listed[static_cast<std::size_t>(id)] = true;
    };
    for (const ValueId id : graph.inputs) {
      if (is_main && !value(id).type) return wrong(graph, fmt::format("the type of the input {} is not known", shown(value(id).name)));
      list(id, *out.add_input());
    }
    for (const auto& [id, tensor] : graph.constants) {
      listed[static_cast<std::size_t>(id)] = true;
      if (auto s = write_tensor(graph, tensor, value(id).name, *out.add_initializer()); !s) return s;
    }
    for (const Node& node : graph.nodes)
      if (auto s = write_node(graph, node, *out.add_node()); !s) return s;
    for (const ValueId id : graph.outputs) list(id, *out.add_output());
    for (const auto& [id, name] : graph.captured) listed[static_cast<std::size_t>(id)] = true;
    for (std::size_t k = 0; k < graph.values.size(); ++k)
      if (!listed[k] && graph.values[k].type) onnx_file::write_value_info(graph.values[k], *out.add_value_info());
    return success();
  }

  Status write_node(const Graph& graph, const Node& node, onnx::NodeProto& out) {
    const auto dot = node.op.rfind('.');
    ensure(dot != std::string::npos, "an operator without a prefix: " + node.op);
    std::string domain = node.op.substr(0, dot);
    if (domain == "onnx") domain.clear();
    if (auto s = import_set(graph, node, domain); !s) return s;
    out.set_op_type(node.op.substr(dot + 1));
    out.set_domain(domain);
    if (!node.name.empty()) out.set_name(node.name);
    for (const ValueId id : node.inputs) out.add_input(id == AbsentValue ? std::string() : graph.values.at(static_cast<std::size_t>(id)).name);
    for (const ValueId id : node.outputs) out.add_output(id == AbsentValue ? std::string() : graph.values.at(static_cast<std::size_t>(id)).name);
    for (const auto& [name, attribute] : node.attributes) {
      // The import makes sparse tensors dense; of the operator that has them the dense one has another name.
      const bool was_sparse = node.op == "onnx.Constant" && name == "sparse_value";
      // The import writes a type as text; the operator that has one says so by the attribute's name.
      if (const auto* text = std::get_if<std::string>(&attribute); text && node.op == "onnx.Optional" && name == "type") {
        auto& out_type = *out.add_attribute();
        out_type.set_name(name);
        out_type.set_type(onnx::AttributeProto::TYPE_PROTO);
        if (!onnx_file::type_of_text(*text, *out_type.mutable_tp())) return wrong(graph, fmt::format("{}: the attribute {} is {}, which is no type", describe(node), name, shown(*text)));
        continue;
      }
      if (auto s = write_attribute(graph, was_sparse ? "value" : name, attribute, *out.add_attribute()); !s) return s;
    }
    return success();
  }

  Status write_attribute(const Graph& graph, const std::string& name, const Attribute& value, onnx::AttributeProto& out) {
    out.set_name(name);
    return std::visit([&](const auto& v) { return write_value(graph, v, out); }, value);
  }

  Status write_value(const Graph&, std::int64_t v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(v);
    return success();
  }
  Status write_value(const Graph&, float v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(v);
    return success();
  }
  Status write_value(const Graph&, const std::string& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::STRING);
    out.set_s(v);
    return success();
  }
  Status write_value(const Graph& graph, const Tensor& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::TENSOR);
    return write_tensor(graph, v, "", *out.mutable_t());
  }
  Status write_value(const Graph&, const std::shared_ptr<const Graph>& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::GRAPH);
    return write_graph(*v, *out.mutable_g(), false);
  }
  Status write_value(const Graph&, const std::vector<std::int64_t>& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::INTS);
    out.mutable_ints()->Assign(v.begin(), v.end());
    return success();
  }
  Status write_value(const Graph&, const std::vector<float>& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::FLOATS);
    out.mutable_floats()->Assign(v.begin(), v.end());
    return success();
  }
  Status write_value(const Graph&, const std::vector<std::string>& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& s : v) out.add_strings(s);
    return success();
  }
  Status write_value(const Graph& graph, const std::vector<Tensor>& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::TENSORS);
    for (const Tensor& t : v)
      if (auto s = write_tensor(graph, t, "", *out.add_tensors()); !s) return s;
    return success();
  }
  Status write_value(const Graph&, const std::vector<std::shared_ptr<const Graph>>& v, onnx::AttributeProto& out) {
    out.set_type(onnx::AttributeProto::GRAPHS);
    for (const auto& g : v)
      if (auto s = write_graph(*g, *out.add_graphs(), false); !s) return s;
    return success();
  }

  const Graph& graph_;
  std::map<std::string, std::int64_t> sets_;
  std::int64_t bytes_ = 0;
};

}  // namespace

Result<std::string> export_onnx(const Graph& graph) { return Exporter(graph).run(); }

}  // namespace ulpian
