#include "spec/core/cut.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace ulpian {

namespace {

// The values of a graph by name. Only captured values are looked up so; without any, nothing of the graph's size is made for a single node.
class NameIndex {
public:
  explicit NameIndex(const Graph& graph) : graph_(graph) {}
  ValueId operator()(const std::string& name) {
    if (ids_.empty())
      for (std::size_t k = 0; k < graph_.values.size(); ++k) ids_.emplace(graph_.values[k].name, static_cast<ValueId>(k));
    const auto found = ids_.find(name);
    ensure(found != ids_.end(), "a body captures a value that its graph does not have");
    return found->second;
  }

private:
  const Graph& graph_;
  std::unordered_map<std::string_view, ValueId> ids_;
};

template <typename Visit>
void for_each_body(const Node& node, Visit visit) {
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute)) visit(**body);
    if (const auto* bodies = std::get_if<std::vector<std::shared_ptr<const Graph>>>(&attribute))
      for (const auto& body : *bodies) visit(*body);
  }
}

void add_once(std::vector<ValueId>& list, ValueId id) {
  if (id != AbsentValue && std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

std::vector<ValueId> reads_of(NameIndex& names, const Node& node) {
  std::vector<ValueId> out;
  for (const ValueId id : node.inputs) add_once(out, id);
  for_each_body(node, [&](const Graph& body) {
    for (const auto& [id, name] : body.captured) add_once(out, names(name));
  });
  return out;
}

// Builds the part: values are numbered anew, in the order in which they are met.
class Cutter {
public:
  Cutter(const Graph& whole, const std::map<ValueId, Tensor>& frozen) : whole_(whole), frozen_(frozen), names_(whole) {
    out_.graph.name = whole.name;
    out_.graph.source = whole.source;
  }

  Cut run(std::vector<int> nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const int k : nodes) add_node(whole_.nodes.at(static_cast<std::size_t>(k)));
    for (const ValueId id : wanted_outputs(nodes)) {
      out_.graph.outputs.push_back(numbers_.at(id));
      out_.outputs.push_back(id);
    }
    return std::move(out_);
  }

private:
  ValueId number(ValueId id) {
    if (id == AbsentValue) return AbsentValue;
    const auto [entry, added] = numbers_.emplace(id, static_cast<ValueId>(out_.graph.values.size()));
    if (added) out_.graph.values.push_back(whole_.values.at(static_cast<std::size_t>(id)));
    return entry->second;
  }

  // A value that comes from outside of the part.
  void bring_in(ValueId id) {
    if (numbers_.contains(id)) return;
    const ValueId own = number(id);
    if (const auto frozen = frozen_.find(id); frozen != frozen_.end()) {
      out_.graph.constants.emplace_back(own, frozen->second);
    } else {
      out_.graph.inputs.push_back(own);
      out_.inputs.push_back(id);
    }
  }

  void add_node(const Node& node) {
    for (const ValueId id : reads_of(names_, node)) bring_in(id);
    Node copy = node;
    for (ValueId& id : copy.inputs) id = number(id);
    for (ValueId& id : copy.outputs) id = number(id);
    out_.graph.nodes.push_back(std::move(copy));
  }

  std::vector<ValueId> wanted_outputs(const std::vector<int>& nodes) {
    std::vector<ValueId> out;
    if (nodes.size() == 1) {
      for (const ValueId id : whole_.nodes[static_cast<std::size_t>(nodes[0])].outputs) add_once(out, id);
      return out;
    }
    std::vector<bool> inside(whole_.nodes.size(), false);
    for (const int k : nodes) inside[static_cast<std::size_t>(k)] = true;
    enum : std::uint8_t { Unread, ReadInside, ReadOutside };
    std::vector<std::uint8_t> state(whole_.values.size(), Unread);
    for (std::size_t k = 0; k < whole_.nodes.size(); ++k)
      for (const ValueId id : reads_of(names_, whole_.nodes[k])) {
        auto& s = state[static_cast<std::size_t>(id)];
        s = std::max(s, static_cast<std::uint8_t>(inside[k] ? ReadInside : ReadOutside));
      }
    for (const ValueId id : whole_.outputs) state[static_cast<std::size_t>(id)] = ReadOutside;
    for (const int k : nodes)
      for (const ValueId id : whole_.nodes[static_cast<std::size_t>(k)].outputs)
        if (id != AbsentValue && state[static_cast<std::size_t>(id)] != ReadInside) add_once(out, id);
    return out;
  }

  const Graph& whole_;
  const std::map<ValueId, Tensor>& frozen_;
  NameIndex names_;
  std::unordered_map<ValueId, ValueId> numbers_;
  Cut out_;
};

}  // namespace

std::vector<std::vector<ValueId>> reads_of_nodes(const Graph& graph) {
  NameIndex names(graph);
  std::vector<std::vector<ValueId>> out;
  out.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) out.push_back(reads_of(names, node));
  return out;
}

Cut cut(const Graph& graph, std::span<const int> nodes, const std::map<ValueId, Tensor>& frozen) {
  return Cutter(graph, frozen).run({nodes.begin(), nodes.end()});
}

}  // namespace ulpian
