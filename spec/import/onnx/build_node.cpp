// Nodes: their inputs, attributes, bodies, and calls of the model's own functions.
#include <fmt/format.h>

#include <algorithm>

#include "spec/import/onnx/builder.h"
#include "spec/import/onnx/type_text.h"

namespace ulpian::onnx_file {

std::string describe(const proto::NodeProto& node) {
  const std::string op = valid_utf8(node.op_type()) && node.op_type().size() <= 80 ? node.op_type() : shown(node.op_type());
  if (!node.name().empty()) return fmt::format("{} {}", op, shown(node.name()));
  for (const auto& output : node.output())
    if (!output.empty()) return fmt::format("{} producing {}", op, shown(output));
  return op;
}

std::string Builder::place(const Scope& scope) const {
  std::string where = fmt::format("{}, node {}", scope.graph->source, scope.current);
  if (!scope.function.empty()) where += fmt::format(" of function {}", scope.function);
  return where;
}

Diagnostic Builder::wrong_node(const Scope& scope, const proto::NodeProto& node, std::string_view what, ErrorKind kind) const {
  Diagnostic d;
  d.kind = kind;
  d.message = fmt::format("{}: {}", describe(node), what);
  d.program_place = place(scope);
  return d;
}

Status Builder::add_nodes(Scope& scope, ProtoNodes& nodes) {
  scope.nodes = &nodes;
  for (int k = 0; k < nodes.size(); ++k) {
    scope.current = k;
    if (auto s = add_node(scope, nodes[k]); !s) return s;
  }
  return success();
}

bool Builder::is_known(const Scope& scope, const proto::NodeProto& node, const std::string& op, std::int64_t version) {
  constexpr std::int64_t FirstVersion = 7;
  Definedness found = Definedness::Defined;
  // What an operator set to come changes, nobody knows: the newest definition must not be taken for it.
  constexpr std::int64_t NewestVersion = 28;
  const bool new_set = op.starts_with("onnx.") && version > NewestVersion;
  if (new_set) found = Definedness::UnknownVersion;
  else if (options_.is_defined) found = options_.is_defined(op, version);
  else if (op.starts_with("onnx.") && version < FirstVersion) found = Definedness::UnknownVersion;
  if (found == Definedness::Defined) return true;
  if (!unknown_seen_.emplace(op, version).second) return false;
  const bool old = op.starts_with("onnx.") && version < FirstVersion && found == Definedness::UnknownVersion;
  const std::string what = found == Definedness::UnknownOperator ? fmt::format("the operator {} (opset version {}) is not defined", op, version)
                                                                 : fmt::format("the operator {} is not defined in opset version {}", op, version);
  unknown_.push_back({fmt::format("{}: {}{}", describe(node), what, old ? fmt::format("; versions from {} on are", FirstVersion) : new_set ? fmt::format("; {} is the newest known", NewestVersion) : ""), place(scope), found});
  return false;
}

Result<std::vector<ValueId>> Builder::read_inputs(Scope& scope, const proto::NodeProto& node) {
  std::vector<ValueId> ids;
  for (const auto& name : node.input()) {
    const auto id = name.empty() ? AbsentValue : find(scope, name);
    if (!id) return not_found(scope, &node, name);
    ids.push_back(*id);
  }
  return ids;
}

namespace {

// Of an If: its branches have as many outputs as it. (What type they have shows when they run; extents may differ.)
std::optional<std::string> branches_contradict(const Node& node) {
  if (node.op != "onnx.If") return std::nullopt;
  for (const char* name : {"then_branch", "else_branch"}) {
    const auto it = node.attributes.find(name);
    const auto* branch = it == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&it->second);
    if (!branch) continue;
    const Graph& b = **branch;
    if (b.outputs.size() != node.outputs.size()) return fmt::format("{} gives {} outputs; the node has {}", name, b.outputs.size(), node.outputs.size());
  }
  return std::nullopt;
}

}  // namespace

Status Builder::add_node(Scope& scope, proto::NodeProto& node) {
  if (++node_count_ > options_.node_limit) return wrong_node(scope, node, fmt::format("the model has more than {} nodes once its functions are inlined", options_.node_limit), ErrorKind::Limit);
  if (node.op_type().empty()) return wrong_node(scope, node, "the node names no operator");
  for (const std::string* name : {&node.op_type(), &node.domain(), &node.name()})
    if (!valid_utf8(*name)) return wrong_node(scope, node, fmt::format("the name {} is not UTF-8", shown(*name)));
  const std::string domain = normal_domain(node.domain());
  if (const auto function = functions_.find({domain, node.op_type(), node.overload()}); function != functions_.end())
    return add_call(scope, node, *function->second);

  const auto set = scope.sets->find(domain);
  if (set == scope.sets->end()) {
    const std::string owner = scope.function.empty() ? "the model" : "the function " + scope.function;
    return wrong_node(scope, node, fmt::format("its domain {} is not among the operator sets that {} imports", domain.empty() ? "ai.onnx" : shown(domain), owner));
  }
  Node out;
  out.name = node.name().empty() ? std::string() : scope.prefix + node.name();
  out.op = qualified(domain, node.op_type());
  out.version = set->second;
  out.position = scope.current;
  out.function = scope.function;
  auto inputs = read_inputs(scope, node);
  if (!inputs) return std::move(inputs).error();
  out.inputs = std::move(inputs).value();
  if (is_known(scope, node, out.op, out.version)) {
    auto attributes = read_attributes(scope, node);
    if (!attributes) return std::move(attributes).error();
    out.attributes = std::move(attributes).value();
  }
  for (const auto& name : node.output()) {
    auto id = name.empty() ? Result<ValueId>(AbsentValue) : define(scope, name);
    if (!id) return wrong_node(scope, node, id.error().message);
    out.outputs.push_back(*id);
  }
  if (auto wrong = branches_contradict(out)) return wrong_node(scope, node, *wrong);
  scope.graph->nodes.push_back(std::move(out));
  return success();
}

Result<Tensor> Builder::read_tensor(proto::TensorProto& tensor, const std::string& owner) {
  if (const auto known = tensors_.find(&tensor); known != tensors_.end()) return known->second;
  auto value = decode(tensor, owner, limits_);
  // Decoding releases the payload, and a function's tensor is asked for by every call.
  if (value && !active_.empty()) tensors_.emplace(&tensor, *value);
  return value;
}

Result<Attributes> Builder::read_attributes(Scope& scope, proto::NodeProto& node) {
  Attributes out;
  for (auto& attribute : *node.mutable_attribute()) {
    const std::string& name = attribute.name();
    if (name.empty() || !valid_utf8(name)) return wrong_node(scope, node, fmt::format("an attribute's name is {}; it must be UTF-8 and not empty", shown(name)));
    if (out.contains(name)) return wrong_node(scope, node, fmt::format("the attribute {} is given twice", shown(name)));
    Argument source{&attribute, &scope};
    if (!attribute.ref_attr_name().empty()) {
      if (!scope.arguments) return wrong_node(scope, node, fmt::format("the attribute {} refers to a function's attribute outside of any function", shown(name)));
      const auto given = scope.arguments->find(attribute.ref_attr_name());
      if (given == scope.arguments->end()) continue;  // the caller leaves it out, and so does the function
      source = given->second;
      if (attribute.has_type() && source.attribute->has_type() && attribute.type() != source.attribute->type())
        return wrong_node(scope, node, fmt::format("the attribute {} refers to {}, which the function's caller gives another type", shown(name), shown(attribute.ref_attr_name())));
    }
    const bool has_graphs = source.attribute->has_g() || source.attribute->graphs_size() > 0;
    if (has_graphs && (!source.scope || source.scope->graph != scope.graph))
      return wrong_node(scope, node, fmt::format("the attribute {} is a graph that comes from outside of the body it is used in, which is not supported", shown(name)), ErrorKind::Unsupported);
    auto value = read_attribute(source.scope ? *source.scope : scope, *source.attribute, fmt::format("{}: attribute {}", describe(node), shown(name)));
    if (!value) {
      if (value.error().program_place.empty()) value.error().in_program(place(scope));
      return std::move(value).error();
    }
    out.emplace(name, std::move(value).value());
  }
  return out;
}

namespace {

using Kind = proto::AttributeProto;

// Files of the first IR versions leave the type out; it is then that of the one field present.
int kind_of(const proto::AttributeProto& a) {
  if (a.has_type() && a.type() != Kind::UNDEFINED) return a.type();
  const std::pair<bool, int> present[] = {
      {a.has_f(), Kind::FLOAT}, {a.has_i(), Kind::INT}, {a.has_s(), Kind::STRING}, {a.has_t(), Kind::TENSOR}, {a.has_g(), Kind::GRAPH},
      {a.has_sparse_tensor(), Kind::SPARSE_TENSOR}, {a.floats_size() > 0, Kind::FLOATS}, {a.ints_size() > 0, Kind::INTS},
      {a.strings_size() > 0, Kind::STRINGS}, {a.tensors_size() > 0, Kind::TENSORS}, {a.graphs_size() > 0, Kind::GRAPHS},
      {a.has_tp(), Kind::TYPE_PROTO}, {a.type_protos_size() > 0, Kind::TYPE_PROTOS}};
  int kind = Kind::UNDEFINED;
  for (const auto& [is_there, k] : present) {
    if (!is_there) continue;
    if (kind != Kind::UNDEFINED) return Kind::UNDEFINED;
    kind = k;
  }
  return kind;
}

template <typename T, typename Field>
std::vector<T> list(const Field& field) { return std::vector<T>(field.begin(), field.end()); }

Diagnostic bad_attribute(const std::string& owner, std::string_view what, ErrorKind kind = ErrorKind::Input) {
  Diagnostic d;
  d.kind = kind;
  d.message = fmt::format("{} {}", owner, what);
  return d;
}

}  // namespace

Result<Attribute> Builder::read_attribute(Scope& scope, proto::AttributeProto& a, const std::string& owner) {
  const auto lacking = [&] { return bad_attribute(owner, "lacks the value of its type"); };
  switch (kind_of(a)) {
    case Kind::FLOAT: return Attribute(a.f());
    case Kind::INT: return Attribute(static_cast<std::int64_t>(a.i()));
    case Kind::STRING: return Attribute(a.s());
    case Kind::FLOATS: return Attribute(list<float>(a.floats()));
    case Kind::INTS: return Attribute(list<std::int64_t>(a.ints()));
    case Kind::STRINGS: return Attribute(list<std::string>(a.strings()));
    case Kind::TENSOR: {
      if (!a.has_t()) return lacking();
      auto t = read_tensor(*a.mutable_t(), owner);
      if (!t) return std::move(t).error();
      return Attribute(std::move(t).value());
    }
    case Kind::SPARSE_TENSOR: {
      if (!a.has_sparse_tensor()) return lacking();
      if (!active_.empty()) return bad_attribute(owner, "is a sparse tensor inside a function, which is not supported", ErrorKind::Unsupported);
      auto t = decode(*a.mutable_sparse_tensor(), owner, limits_);
      if (!t) return std::move(t).error();
      return Attribute(std::move(t).value());
    }
    case Kind::TENSORS: {
      std::vector<Tensor> all;
      for (auto& one : *a.mutable_tensors()) {
        auto t = read_tensor(one, owner);
        if (!t) return std::move(t).error();
        all.push_back(std::move(t).value());
      }
      return Attribute(std::move(all));
    }
    case Kind::GRAPH:
      if (!a.has_g()) return lacking();
      return read_body(scope, *a.mutable_g(), a.name());
    case Kind::GRAPHS: {
      std::vector<std::shared_ptr<const Graph>> all;
      for (auto& one : *a.mutable_graphs()) {
        auto g = read_body(scope, one, fmt::format("{} {}", a.name(), all.size()));
        if (!g) return g;
        all.push_back(std::get<std::shared_ptr<const Graph>>(*g));
      }
      return Attribute(std::move(all));
    }
    case Kind::TYPE_PROTO: {
      if (!a.has_tp()) return lacking();
      auto text = text_of_type(a.tp());
      if (!text) return bad_attribute(owner, "is a type other than tensors, sequences and optionals of known elements, which is not supported", ErrorKind::Unsupported);
      return Attribute(std::move(*text));
    }
    case Kind::TYPE_PROTOS: {
      std::vector<std::string> all;
      for (const auto& type : a.type_protos()) {
        auto text = text_of_type(type);
        if (!text) return bad_attribute(owner, "has a type other than tensors, sequences and optionals of known elements, which is not supported", ErrorKind::Unsupported);
        all.push_back(std::move(*text));
      }
      return Attribute(std::move(all));
    }
    case Kind::UNDEFINED: return bad_attribute(owner, "has no type, or one that is unknown");
    default: return bad_attribute(owner, "is a sparse tensor list, which is not supported", ErrorKind::Unsupported);
  }
}

Result<Attribute> Builder::read_body(Scope& scope, proto::GraphProto& graph, const std::string& name) {
  auto body = std::make_shared<Graph>();
  body->source = fmt::format("{}, {}", place(scope), name.size() <= 80 ? name : shown(name));
  if (scope.depth >= options_.nesting_limit) return wrong_graph(*body, fmt::format("bodies and functions are nested more than {} deep", options_.nesting_limit), ErrorKind::Limit);
  Scope inner;
  inner.graph = body.get();
  inner.outer = &scope;
  inner.sets = scope.sets;
  inner.arguments = scope.arguments;
  inner.prefix = scope.prefix;
  inner.depth = scope.depth + 1;
  if (auto s = fill_graph(inner, graph, false); !s) return std::move(s).error();
  return Attribute(std::shared_ptr<const Graph>(std::move(body)));
}

Result<std::map<std::string, Argument>> Builder::arguments_of(Scope& scope, proto::NodeProto& node, proto::FunctionProto& function) {
  std::map<std::string, Argument> out;
  for (auto& fallback : *function.mutable_attribute_proto()) out.insert_or_assign(fallback.name(), Argument{&fallback, nullptr});
  std::set<std::string> seen;
  for (auto& attribute : *node.mutable_attribute()) {
    const std::string& name = attribute.name();
    if (!seen.insert(name).second) return wrong_node(scope, node, fmt::format("the attribute {} is given twice", shown(name)));
    const bool known = out.contains(name) || std::find(function.attribute().begin(), function.attribute().end(), name) != function.attribute().end();
    if (!known) return wrong_node(scope, node, fmt::format("the function has no attribute {}", shown(name)));
    Argument given{&attribute, &scope};
    if (!attribute.ref_attr_name().empty()) {
      const auto outer = scope.arguments ? scope.arguments->find(attribute.ref_attr_name()) : std::map<std::string, Argument>::const_iterator{};
      if (!scope.arguments) return wrong_node(scope, node, fmt::format("the attribute {} refers to a function's attribute outside of any function", shown(name)));
      if (outer == scope.arguments->end()) continue;
      given = outer->second;
    }
    out.insert_or_assign(name, given);
  }
  return out;
}

Status Builder::add_call(Scope& scope, proto::NodeProto& node, proto::FunctionProto& function) {
  const std::string name = qualified(function.domain(), function.name());
  if (std::find(active_.begin(), active_.end(), &function) != active_.end()) {
    std::string chain;
    for (const auto* f : active_) chain += qualified(f->domain(), f->name()) + " calls ";
    return std::move(wrong_node(scope, node, "a function calls itself").note(chain + name));
  }
  if (scope.depth >= options_.nesting_limit) return wrong_node(scope, node, fmt::format("bodies and functions are nested more than {} deep", options_.nesting_limit), ErrorKind::Limit);
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
    return wrong_node(scope, node, fmt::format("it has {} inputs and {} outputs; the function has {} and {}", node.input_size(), node.output_size(), function.input_size(), function.output_size()));
  auto inputs = read_inputs(scope, node);
  if (!inputs) return std::move(inputs).error();
  auto arguments = arguments_of(scope, node, function);
  if (!arguments) return std::move(arguments).error();

  Scope inner;
  inner.graph = scope.graph;
  inner.sets = &function_sets_.at(&function);
  inner.arguments = &*arguments;
  inner.prefix = (node.name().empty() ? scope.prefix + function.name() : scope.prefix + node.name()) + "/";
  inner.function = scope.function.empty() ? name : scope.function + "/" + name;
  inner.depth = scope.depth + 1;
  for (const auto& v : function.value_info()) inner.declared.insert_or_assign(v.name(), &v);
  for (int k = 0; k < function.input_size(); ++k) {
    const ValueId id = k < node.input_size() ? (*inputs)[static_cast<std::size_t>(k)] : AbsentValue;
    if (!inner.names.emplace(function.input(k), id).second) return wrong_node(scope, node, fmt::format("the function has two inputs {}", shown(function.input(k))));
  }
  std::vector<ValueId> outputs;
  for (int k = 0; k < node.output_size(); ++k) {
    const auto promised = scope.promised.find(node.output(k));
    auto id = node.output(k).empty()               ? Result<ValueId>(AbsentValue)
              : promised != scope.promised.end() ? Result<ValueId>(promised->second)
                                                 : new_value(scope, node.output(k));
    if (!id) return wrong_node(scope, node, id.error().message);
    outputs.push_back(*id);
    if (*id != AbsentValue) inner.promised.emplace(function.output(k), *id);
  }
  active_.push_back(&function);
  auto status = add_nodes(inner, *function.mutable_node());
  if (status) status = finish_call(scope, inner, function, outputs);
  active_.pop_back();
  if (!status) return std::move(status.error().note(fmt::format("called by {} ({})", describe(node), place(scope))));
  for (int k = 0; k < node.output_size(); ++k)
    if (outputs[static_cast<std::size_t>(k)] != AbsentValue && !scope.names.emplace(node.output(k), outputs[static_cast<std::size_t>(k)]).second)
      return wrong_node(scope, node, fmt::format("the value {} is defined twice", shown(node.output(k))));
  return success();
}

// Outputs that no node of the function made: one that is also an input, or that the function lists twice, is passed on by Identity.
Status Builder::finish_call(Scope& caller, Scope& callee, proto::FunctionProto& function, const std::vector<ValueId>& outputs) {
  for (int k = 0; k < static_cast<int>(outputs.size()); ++k) {
    const ValueId wanted = outputs[static_cast<std::size_t>(k)];
    if (wanted == AbsentValue) continue;
    const auto made = callee.names.find(function.output(k));
    if (made == callee.names.end() || made->second == AbsentValue)
      return wrong_graph(*caller.graph, fmt::format("the function {} does not make its output {}", callee.function, shown(function.output(k))));
    if (made->second == wanted) continue;
    Node copy;
    copy.op = "onnx.Identity";
    const auto own = callee.sets->find("");
    const auto model = sets_.find("");
    constexpr std::int64_t SomeVersion = 13;
    copy.version = own != callee.sets->end() ? own->second : model != sets_.end() ? model->second : SomeVersion;
    copy.position = caller.current;
    copy.function = callee.function;
    copy.inputs = {made->second};
    copy.outputs = {wanted};
    caller.graph->nodes.push_back(std::move(copy));
  }
  return success();
}

}  // namespace ulpian::onnx_file
