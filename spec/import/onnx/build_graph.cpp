// Graphs: their inputs, constants, outputs and declared types; the model's operator sets and functions.
#include <fmt/format.h>

#include <algorithm>

#include "spec/import/onnx/builder.h"
#include "spec/import/onnx/element_code.h"

namespace ulpian::onnx_file {

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::string qualified(const std::string& domain, const std::string& op) {
  const std::string normal = normal_domain(domain);
  return (normal.empty() ? "onnx" : normal) + "." + op;
}

Builder::Builder(proto::ModelProto& model, const OnnxImportOptions& options, ExternalData& external) : model_(model), options_(options) {
  limits_.memory_left = options.memory_limit;
  limits_.external = &external;
}

Diagnostic Builder::wrong_graph(const Graph& graph, std::string_view what, ErrorKind kind) const {
  Diagnostic d;
  d.kind = kind;
  d.message = std::string(what);
  d.program_place = graph.source;
  return d;
}

Result<Graph> Builder::build() {
  Graph graph;
  graph.source = options_.source;
  if (!model_.has_graph()) return wrong_graph(graph, "not an ONNX model: it has no graph");
  if (!model_.has_ir_version()) return wrong_graph(graph, "not an ONNX model: it states no IR version");
  if (model_.ir_version() < 3 || model_.ir_version() > proto::IR_VERSION)
    return wrong_graph(graph, fmt::format("IR version {}; versions 3 to {} are understood", model_.ir_version(), static_cast<int>(proto::IR_VERSION)), ErrorKind::Unsupported);
  if (auto s = read_operator_sets(model_.opset_import(), "the model", sets_); !s) return std::move(s).error();
  if (auto s = read_functions(); !s) return std::move(s).error();
  if (model_.graph().node_size() == 0 && model_.graph().output_size() == 0) return wrong_graph(graph, "the graph is empty: it has no nodes and no outputs");
  if (model_.graph().output_size() == 0) return wrong_graph(graph, "the graph has no outputs");

  collect_names(model_.graph());
  Scope scope;
  scope.graph = &graph;
  scope.sets = &sets_;
  if (auto s = fill_graph(scope, *model_.mutable_graph(), true); !s) return std::move(s).error();
  if (auto s = unknown_operators(); !s) return std::move(s).error();
  return graph;
}

Status Builder::read_operator_sets(const google::protobuf::RepeatedPtrField<proto::OperatorSetIdProto>& imports, const std::string& owner, OperatorSets& out) {
  Graph where;
  where.source = options_.source;
  for (const auto& set : imports) {
    if (!valid_utf8(set.domain())) return wrong_graph(where, fmt::format("{} imports {}, a domain that is not UTF-8", owner, shown(set.domain())));
    if (set.domain() == "onnx") return wrong_graph(where, fmt::format("{} imports the domain \"onnx\", which stands for ai.onnx here", owner), ErrorKind::Unsupported);
    const auto [entry, added] = out.emplace(normal_domain(set.domain()), set.version());
    if (!added && entry->second != set.version())
      return wrong_graph(where, fmt::format("{} imports the domain {} in versions {} and {}", owner, shown(set.domain()), entry->second, set.version()));
  }
  return success();
}

Status Builder::read_functions() {
  Graph where;
  where.source = options_.source;
  for (auto& f : *model_.mutable_functions()) {
    const std::string name = qualified(f.domain(), f.name());
    if (!valid_utf8(name) || f.name().empty()) return wrong_graph(where, fmt::format("a function's name is {}; it must be UTF-8 and not empty", shown(name)));
    if (!functions_.emplace(FunctionKey{normal_domain(f.domain()), f.name(), f.overload()}, &f).second)
      return wrong_graph(where, fmt::format("the function {} is defined twice", shown(name)));
    auto& sets = function_sets_[&f];
    if (auto s = read_operator_sets(f.opset_import(), fmt::format("the function {}", shown(name)), sets); !s) return s;
  }
  return success();
}

void Builder::collect_names(const proto::GraphProto& graph) {
  for (const auto& v : graph.input()) used_names_.insert(v.name());
  for (const auto& t : graph.initializer()) used_names_.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) used_names_.insert(t.values().name());
  for (const auto& node : graph.node()) {
    for (const auto& name : node.output()) used_names_.insert(name);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g());
      for (const auto& g : attribute.graphs()) collect_names(g);
    }
  }
}

std::string Builder::unique_name(const std::string& wanted) {
  if (used_names_.insert(wanted).second) return wanted;
  int& counter = name_counters_[wanted];
  while (true) {
    std::string name = fmt::format("{}_{}", wanted, ++counter);
    if (used_names_.insert(name).second) return name;
  }
}

Status Builder::fill_graph(Scope& scope, proto::GraphProto& graph, bool is_main) {
  if (!valid_utf8(graph.name())) return wrong_graph(*scope.graph, fmt::format("the graph's name {} is not UTF-8", shown(graph.name())));
  scope.graph->name = graph.name();
  for (const auto& v : graph.value_info()) scope.declared.insert_or_assign(v.name(), &v);
  for (const auto& v : graph.output()) scope.declared.insert_or_assign(v.name(), &v);
  if (auto s = add_inputs(scope, graph); !s) return s;
  if (auto s = add_initializers(scope, graph, is_main); !s) return s;
  if (auto s = add_nodes(scope, *graph.mutable_node()); !s) return s;
  return add_outputs(scope, graph);
}

Result<ValueId> Builder::new_value(Scope& scope, const std::string& name) {
  if (!valid_utf8(name)) return wrong_graph(*scope.graph, fmt::format("the value {} has a name that is not UTF-8", shown(name)));
  GraphValue value;
  value.name = scope.prefix.empty() ? name : unique_name(scope.prefix + name);
  const auto id = static_cast<ValueId>(scope.graph->values.size());
  scope.graph->values.push_back(std::move(value));
  if (const auto declared = scope.declared.find(name); declared != scope.declared.end())
    if (auto s = declare_type(*scope.graph, id, *declared->second, scope.graph->source); !s) return std::move(s).error();
  return id;
}

Result<ValueId> Builder::define(Scope& scope, const std::string& name) {
  if (name.empty()) return wrong_graph(*scope.graph, "a value has an empty name");
  if (scope.names.contains(name)) return wrong_graph(*scope.graph, fmt::format("the value {} is defined twice", shown(name)));
  const auto promised = scope.promised.find(name);
  auto id = promised != scope.promised.end() ? Result<ValueId>(promised->second) : new_value(scope, name);
  if (id) scope.names.emplace(name, *id);
  return id;
}

Status Builder::add_inputs(Scope& scope, proto::GraphProto& graph) {
  for (const auto& input : graph.input()) {
    auto id = define(scope, input.name());
    if (!id) return std::move(id.error().note("it is an input of the graph"));
    scope.graph->inputs.push_back(*id);
    scope.open_inputs.insert(*id);
    if (auto s = declare_type(*scope.graph, *id, input, scope.graph->source); !s) return s;
  }
  return success();
}

namespace {

bool admits(const GraphValue& declared, const Tensor& tensor) {
  if (declared.type && *declared.type != tensor.type()) return false;
  if (!declared.extents) return true;
  if (declared.extents->size() != tensor.extents().size()) return false;
  for (std::size_t k = 0; k < tensor.extents().size(); ++k)
    if (const auto& e = (*declared.extents)[k].extent; e && *e != tensor.extents()[k]) return false;
  return true;
}

}  // namespace

Status Builder::add_initializer(Scope& scope, const std::string& name, Tensor tensor) {
  Graph& graph = *scope.graph;
  const auto known = scope.names.find(name);
  const bool is_default = known != scope.names.end() && scope.open_inputs.erase(known->second) > 0;
  auto id = is_default ? Result<ValueId>(known->second) : define(scope, name);
  if (!id) return std::move(id.error().note("it is an initializer"));
  GraphValue& value = graph.values[static_cast<std::size_t>(*id)];
  if (!admits(value, tensor)) return wrong_graph(graph, fmt::format("the initializer {} has type {}{}, which is not the type declared for it", shown(name), name_of(tensor.type()), to_string(tensor.extents())));
  value.type = tensor.type();
  if (!is_default) {
    value.extents.emplace();
    for (const std::int64_t e : tensor.extents()) value.extents->push_back({e, {}});
  }
  graph.constants.emplace_back(*id, std::move(tensor));
  return success();
}

Status Builder::add_initializers(Scope& scope, proto::GraphProto& graph, bool is_main) {
  for (auto& tensor : *graph.mutable_initializer()) {
    auto value = read_tensor(tensor, fmt::format("initializer {}", shown(tensor.name())));
    if (!value) return std::move(value.error().in_program(scope.graph->source));
    if (auto s = add_initializer(scope, tensor.name(), std::move(value).value()); !s) return s;
  }
  for (auto& sparse : *graph.mutable_sparse_initializer()) {
    const std::string owner = fmt::format("sparse initializer {}", shown(sparse.values().name()));
    if (!active_.empty()) return wrong_graph(*scope.graph, owner + " stands inside a function, which is not supported", ErrorKind::Unsupported);
    auto value = decode(sparse, owner, limits_);
    if (!value) return std::move(value.error().in_program(scope.graph->source));
    if (auto s = add_initializer(scope, sparse.values().name(), std::move(value).value()); !s) return s;
  }
  // Before IR version 4 every initializer had to be listed among the inputs, which then says nothing about what a user may give.
  if (is_main && model_.ir_version() < 4) std::erase_if(scope.graph->inputs, [&](ValueId id) { return !scope.open_inputs.contains(id); });
  return success();
}

Status Builder::add_outputs(Scope& scope, proto::GraphProto& graph) {
  for (const auto& output : graph.output()) {
    if (output.name().empty()) return wrong_graph(*scope.graph, "an output of the graph has an empty name");
    const auto id = find(scope, output.name());
    if (!id) return not_found(scope, nullptr, output.name());
    if (*id == AbsentValue) return wrong_graph(*scope.graph, fmt::format("the output {} is an input that the function's caller leaves out", shown(output.name())));
    scope.graph->outputs.push_back(*id);
  }
  return success();
}

namespace {

// Exporters write these for an extent that they do not know; two of them need not be equal.
bool means_unknown(const std::string& symbol) { return symbol.empty() || symbol == "?" || symbol == "-1" || symbol == "None"; }

Result<std::vector<Dimension>> read_shape(const proto::TensorShapeProto& shape, const std::string& owner) {
  std::vector<Dimension> out;
  Diagnostic wrong;
  for (const auto& dim : shape.dim()) {
    Dimension d;
    if (dim.has_dim_param()) {
      if (!means_unknown(dim.dim_param())) d.symbol = dim.dim_param();
      if (!valid_utf8(d.symbol)) {
        wrong.message = fmt::format("{} has an extent {}, which is not UTF-8", owner, shown(d.symbol));
        return wrong;
      }
    } else if (dim.has_dim_value() && dim.dim_value() != -1) {  // -1: unknown, as above
      d.extent = dim.dim_value();
      if (*d.extent < 0) {
        wrong.message = fmt::format("{} has the extent {}", owner, *d.extent);
        return wrong;
      }
    }
    out.push_back(std::move(d));
  }
  return out;
}

bool too_large(const std::vector<Dimension>& extents) {
  Extents known;
  for (const Dimension& d : extents) {
    if (!d.extent) return false;
    known.push_back(*d.extent);
  }
  return !element_count(known).has_value();
}

// Within sequences and optionals: what is left is a tensor type, or a type that no value here has (maps, sparse tensors): then null.
const proto::TypeProto_Tensor* tensor_type(const proto::TypeProto& type, GraphValue& value) {
  if (type.has_optional_type()) {
    value.is_optional = true;
    const auto& inner = type.optional_type().elem_type();
    if (inner.has_sequence_type()) {
      value.is_sequence = true;
      return inner.sequence_type().elem_type().has_tensor_type() ? &inner.sequence_type().elem_type().tensor_type() : nullptr;
    }
    return inner.has_tensor_type() ? &inner.tensor_type() : nullptr;
  }
  if (type.has_sequence_type()) {
    value.is_sequence = true;
    return type.sequence_type().elem_type().has_tensor_type() ? &type.sequence_type().elem_type().tensor_type() : nullptr;
  }
  return type.has_tensor_type() ? &type.tensor_type() : nullptr;
}

}  // namespace

Status Builder::declare_type(Graph& graph, ValueId id, const proto::ValueInfoProto& info, const std::string& place) {
  if (!info.has_type() || info.type().value_case() == proto::TypeProto::VALUE_NOT_SET) return success();
  GraphValue& value = graph.values[static_cast<std::size_t>(id)];
  const std::string owner = fmt::format("the value {}", shown(info.name()));
  const proto::TypeProto_Tensor* type = tensor_type(info.type(), value);
  if (!type) {
    const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end();
    // Only an input's type is asked for: a backend, not this program, is told the type of others.
    if (!is_input) return success();
    return std::move(wrong_graph(graph, fmt::format("{} is a map, a sparse tensor or a sequence of sequences, which is not supported", owner), ErrorKind::Unsupported).in_program(place));
  }
  if (type->elem_type() != 0) {
    auto element = checked_element_type(type->elem_type(), owner);
    if (!element) return std::move(element.error().in_program(place));
    value.type = *element;
  }
  if (!type->has_shape()) return success();
  if (static_cast<std::size_t>(type->shape().dim_size()) > MostAxes)
    return wrong_graph(graph, fmt::format("{} is declared with {} axes; at most {} are allowed", owner, type->shape().dim_size(), MostAxes), ErrorKind::Limit);
  auto extents = read_shape(type->shape(), owner);
  if (!extents) return std::move(extents.error().in_program(place));
  if (too_large(*extents)) return wrong_graph(graph, fmt::format("{} is declared with more than 2^62 elements", owner), ErrorKind::Limit);
  value.extents = std::move(extents).value();
  return success();
}

Status Builder::unknown_operators() const {
  if (unknown_.empty()) return success();
  Diagnostic d;
  d.kind = ErrorKind::Unsupported;
  d.message = unknown_.front().text;
  d.program_place = unknown_.front().place;
  constexpr std::size_t MostShown = 20;
  for (std::size_t k = 1; k < unknown_.size() && k < MostShown; ++k) d.note(fmt::format("also {} ({})", unknown_[k].text, unknown_[k].place));
  if (unknown_.size() > MostShown) d.note(fmt::format("and {} more", unknown_.size() - MostShown));
  return d.help("give the definition of an operator of your own with --spec FILE");
}

}  // namespace ulpian::onnx_file
