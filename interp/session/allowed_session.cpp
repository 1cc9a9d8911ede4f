#include "interp/session/allowed_session.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

Diagnostic graph_error(const Graph& graph, ErrorKind kind, std::string message) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.program_place = graph.source;
  return d;
}

std::optional<std::int64_t> first_set(const AllowedTensor& t) {
  if (t.type() == ElementType::String || is_complex(t.type())) return std::nullopt;
  for (std::int64_t k = 0; k < t.size(); ++k)
    if (!t.is_exact(k)) return k;
  return std::nullopt;
}

std::int64_t bytes_of(const AllowedTensor& t) {
  return static_cast<std::int64_t>(t.lower().bytes().size()) * (t.lower().bytes().data() == t.upper().bytes().data() ? 1 : 2) + t.size();
}

}  // namespace

struct AllowedSession::State {
  std::shared_ptr<const language::Specification> specification;
  std::shared_ptr<const Graph> graph;
  Profile profile;
  std::vector<int> uses;           // per value: by nodes and outputs
  std::vector<bool> is_output;     // per value
  std::map<ValueId, Tensor> constants;
};

AllowedSession::AllowedSession(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, Profile profile)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.specification = std::move(specification);
  s.graph = std::move(graph);
  s.profile = std::move(profile);
  const Graph& g = *s.graph;
  s.uses.resize(g.values.size(), 0);
  s.is_output.resize(g.values.size(), false);
  for (const Node& n : g.nodes)
    for (ValueId v : n.inputs)
      if (v != AbsentValue) ++s.uses[static_cast<std::size_t>(v)];
  for (ValueId v : g.outputs) {
    ++s.uses[static_cast<std::size_t>(v)];
    s.is_output[static_cast<std::size_t>(v)] = true;
  }
  for (const auto& [id, tensor] : g.constants) s.constants.emplace(id, tensor);
}

AllowedSession::~AllowedSession() = default;

Result<std::vector<AllowedTensor>> AllowedSession::run(std::span<const std::optional<AllowedTensor>> inputs, const Limits& limits) {
  const State& s = *state_;
  const Graph& g = *s.graph;
  if (inputs.size() > g.inputs.size()) return graph_error(g, ErrorKind::Input, fmt::format("{} inputs are given; the model takes {}", inputs.size(), g.inputs.size()));
  std::vector<std::optional<AllowedTensor>> values(g.values.size());
  for (std::size_t k = 0; k < g.inputs.size(); ++k) {
    if (k < inputs.size() && inputs[k]) values[static_cast<std::size_t>(g.inputs[k])] = *inputs[k];
    else if (!s.constants.count(g.inputs[k]))
      return graph_error(g, ErrorKind::Input, fmt::format("input {} (\"{}\") is missing", k, g.values[static_cast<std::size_t>(g.inputs[k])].name));
  }
  std::vector<int> left = s.uses;
  std::int64_t alive = 0;
  // Constants become sets where they are read, and are dropped again.
  const auto at = [&](ValueId id) -> std::optional<AllowedTensor> {
    const auto& v = values[static_cast<std::size_t>(id)];
    if (v) return v;
    const auto constant = s.constants.find(id);
    if (constant == s.constants.end()) return std::nullopt;
    return AllowedTensor::exactly(constant->second);
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    std::vector<std::optional<AllowedTensor>> arguments(node.inputs.size());
    std::vector<std::optional<Tensor>> points(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == AbsentValue) continue;
      arguments[k] = at(node.inputs[k]);
      if (!arguments[k])
        return at_node(graph_error(g, ErrorKind::Input, fmt::format("its input \"{}\" has no value", g.values[static_cast<std::size_t>(node.inputs[k])].name)), g, node);
      points[k] = arguments[k]->lower();
    }
    language::Call call = describe_call(*s.specification, node, points);
    if (n < alternatives.size()) call.alternatives = alternatives[n];
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      if (!call.inputs[k].value) continue;
      if (const auto position = first_set(*arguments[k])) {
        Diagnostic d;
        d.kind = ErrorKind::Unsupported;
        d.message = fmt::format("shapes follow from the elements of input {}, and element {} is not certain: {}; implementations may differ in shape", k, *position,
                                arguments[k]->describe(*position));
        return at_node(std::move(d), g, node);
      }
    }
    language::ElaborationLimits elaboration;
    elaboration.deadline = limits.deadline;
    elaboration.cancelled = limits.cancelled;
    auto program = language::elaborate(*s.specification, call, elaboration);
    if (!program) return at_node(std::move(program).error(), g, node);
    // A value that only operators read may be handed on without the last rounding. (Readers that are themselves casts or quantisations
    // would not see it so; the sets are then wider than they must be.)
    bool unrounded = s.profile.elide_final_cast;
    for (ValueId id : node.outputs) unrounded = unrounded && (id == AbsentValue || !s.is_output[static_cast<std::size_t>(id)]);
    Limits rest = limits;
    rest.memory_bytes = limits.memory_bytes - alive;
    auto outputs = evaluate_allowed(*program, arguments, s.profile, rest, nullptr, unrounded);
    if (!outputs) return at_node(std::move(outputs).error(), g, node);
    arguments.clear();
    points.clear();
    for (ValueId id : node.inputs) {
      if (id == AbsentValue) continue;
      auto& v = values[static_cast<std::size_t>(id)];
      if (--left[static_cast<std::size_t>(id)] > 0 || !v) continue;
      alive -= std::min(alive, bytes_of(*v));
      v.reset();
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == AbsentValue || left[static_cast<std::size_t>(id)] == 0) continue;
      if (k >= outputs->size() || !(*outputs)[k])
        return at_node(graph_error(g, ErrorKind::Requirement, fmt::format("output {} is used, but the definition gives none here", k)), g, node);
      alive += bytes_of(*(*outputs)[k]);
      values[static_cast<std::size_t>(id)] = std::move(*(*outputs)[k]);
    }
    if (progress) progress(n);
  }
  std::vector<AllowedTensor> out;
  for (ValueId id : g.outputs) {
    auto v = at(id);
    if (!v) return graph_error(g, ErrorKind::Input, fmt::format("the output \"{}\" has no value", g.values[static_cast<std::size_t>(id)].name));
    out.push_back(std::move(*v));
  }
  return out;
}

}  // namespace ulpian::interp
