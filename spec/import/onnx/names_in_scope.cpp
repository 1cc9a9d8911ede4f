// What a name means where it is read, and why it means nothing.
#include <fmt/format.h>

#include <algorithm>

#include "spec/import/onnx/builder.h"

namespace ulpian::onnx_file {

std::optional<ValueId> Builder::find(Scope& scope, const std::string& name) {
  if (const auto found = scope.names.find(name); found != scope.names.end()) return found->second;
  if (!scope.outer) return std::nullopt;
  const auto outer = find(*scope.outer, name);
  if (!outer) return std::nullopt;
  ValueId id = AbsentValue;  // an input that a function's caller left out, read inside a body of the function
  if (*outer != AbsentValue) {
    id = static_cast<ValueId>(scope.graph->values.size());
    const GraphValue& value = scope.outer->graph->values[static_cast<std::size_t>(*outer)];
    scope.graph->values.push_back(value);
    scope.graph->captured.emplace_back(id, value.name);
  }
  scope.names.emplace(name, id);
  return id;
}

namespace {

using Reads = std::vector<const std::string*>;

void add_reads(const proto::NodeProto& node, Reads& out);

void add_reads(const proto::GraphProto& body, Reads& out) {
  for (const auto& node : body.node()) add_reads(node, out);
  for (const auto& output : body.output()) out.push_back(&output.name());
}

// All names that a node or its bodies read; those made inside the bodies are among them, which does no harm.
void add_reads(const proto::NodeProto& node, Reads& out) {
  for (const auto& name : node.input())
    if (!name.empty()) out.push_back(&name);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_reads(attribute.g(), out);
    for (const auto& g : attribute.graphs()) add_reads(g, out);
  }
}

std::unordered_map<std::string, int> producers(const ProtoNodes& nodes) {
  std::unordered_map<std::string, int> out;
  for (int k = 0; k < nodes.size(); ++k)
    for (const auto& name : nodes[k].output())
      if (!name.empty()) out.emplace(name, k);
  return out;
}

// The nodes on a way from `start` to `goal` along what they read, both included; empty if there is none.
std::vector<int> path(const ProtoNodes& nodes, const std::unordered_map<std::string, int>& producer, int start, int goal) {
  std::vector<int> parent(static_cast<std::size_t>(nodes.size()), -1);
  std::vector<int> open{start};
  parent[static_cast<std::size_t>(start)] = start;
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (node == goal) {
      std::vector<int> out{goal};
      while (out.back() != start) out.push_back(parent[static_cast<std::size_t>(out.back())]);
      std::reverse(out.begin(), out.end());
      return out;
    }
    Reads reads;
    add_reads(nodes[node], reads);
    for (const std::string* name : reads) {
      const auto made = producer.find(*name);
      if (made == producer.end() || parent[static_cast<std::size_t>(made->second)] >= 0) continue;
      parent[static_cast<std::size_t>(made->second)] = node;
      open.push_back(made->second);
    }
  }
  return {};
}

std::string numbered(const ProtoNodes& nodes, int k) { return fmt::format("node {} {}", k, describe(nodes[k])); }

}  // namespace

Diagnostic Builder::not_found(const Scope& scope, const proto::NodeProto* reader, const std::string& name) {
  const std::string who = reader ? describe(*reader) : "the list of outputs";
  const auto make = [&](std::string what) {
    Diagnostic d = reader ? wrong_node(scope, *reader, "") : wrong_graph(*scope.graph, "");
    d.message = std::move(what);
    return d;
  };
  if (!valid_utf8(name)) return make(fmt::format("{} reads {}, a name that is not UTF-8", who, shown(name)));
  for (const Scope* s = &scope; s; s = s->outer) {
    if (!s->nodes || (s == &scope && !reader)) continue;
    const auto producer = producers(*s->nodes);
    const auto made = producer.find(name);
    if (made == producer.end()) continue;
    const auto way = path(*s->nodes, producer, made->second, s->current);
    if (way.empty())
      return make(fmt::format("{} reads {} before {} produces it", who, shown(name), numbered(*s->nodes, made->second)))
          .help("ONNX asks for nodes in topological order: sort them, each after those it reads from");
    Diagnostic d = make(fmt::format("a cycle: {} reads {}, which depends on its own outputs", who, shown(name)));
    constexpr std::size_t MostShown = 10;
    std::string text = numbered(*s->nodes, s->current);
    for (std::size_t k = 0; k < way.size() && k < MostShown; ++k) text += " reads from " + numbered(*s->nodes, way[k]);
    if (way.size() > MostShown) text += fmt::format(" and so on, {} nodes in all", way.size());
    return d.note(text);
  }
  return make(fmt::format("{} {} {}, which is no input, no initializer and no node's output", who, reader ? "reads" : "holds", shown(name)));
}

}  // namespace ulpian::onnx_file
