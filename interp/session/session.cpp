#include "interp/session/session.h"

#include <chrono>
#include <map>

#include <fmt/format.h>

namespace ulpian::interp {
namespace {

Diagnostic input_error(const Graph& graph, std::string message, std::string hint = {}) {
  Diagnostic d;
  d.kind = ErrorKind::Input;
  d.message = std::move(message);
  d.program_place = graph.source;
  d.hint = std::move(hint);
  return d;
}

std::string show(const std::vector<Dimension>& extents) {
  std::string out = "[";
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (k) out += ", ";
    out += extents[k].extent ? std::to_string(*extents[k].extent) : extents[k].symbol.empty() ? "?" : extents[k].symbol;
  }
  return out + "]";
}

}  // namespace

struct Session::State {
  std::shared_ptr<const language::Specification> specification;
  std::shared_ptr<const Graph> graph;
  SessionOptions options;
  std::vector<std::shared_ptr<const Call>> calls;  // per node, of the last run
  std::vector<int> uses;                           // per value: by nodes and outputs
  std::map<ValueId, Tensor> constants;
};

Session::Session(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, SessionOptions options)
    : state_(std::make_unique<State>()) {
  state_->specification = std::move(specification);
  state_->graph = std::move(graph);
  state_->options = std::move(options);
  const Graph& g = *state_->graph;
  state_->calls.resize(g.nodes.size());
  state_->uses.resize(g.values.size(), 0);
  for (const Node& n : g.nodes)
    for (ValueId v : n.inputs)
      if (v != AbsentValue) ++state_->uses[static_cast<std::size_t>(v)];
  for (ValueId v : g.outputs) ++state_->uses[static_cast<std::size_t>(v)];
  for (const auto& [id, tensor] : g.constants) state_->constants.emplace(id, tensor);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Graph& Session::graph() const { return *state_->graph; }

Status Session::check_inputs(std::span<const std::optional<Tensor>> inputs) const {
  const Graph& g = *state_->graph;
  if (inputs.size() > g.inputs.size())
    return input_error(g, fmt::format("{} inputs are given; the model takes {}", inputs.size(), g.inputs.size()));
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  for (std::size_t k = 0; k < g.inputs.size(); ++k) {
    const GraphValue& v = g.values[static_cast<std::size_t>(g.inputs[k])];
    if (k >= inputs.size() || !inputs[k]) {
      if (state_->constants.count(g.inputs[k])) continue;
      return input_error(g, fmt::format("input {} (\"{}\") is missing", k, v.name), fmt::format("give it as input_{}.npy, or --input {}=FILE", k, v.name));
    }
    const Tensor& t = *inputs[k];
    if (v.is_sequence || v.is_optional) {
      Diagnostic d = input_error(g, fmt::format("input \"{}\" is a sequence or optional; those are not evaluated in this edition", v.name));
      d.kind = ErrorKind::Unsupported;
      return d;
    }
    if (v.type && *v.type != t.type())
      return input_error(g, fmt::format("input {} (\"{}\") holds {}; the model declares {}", k, v.name, name_of(t.type()), name_of(*v.type)));
    if (!v.extents) continue;
    if (v.extents->size() != t.extents().size())
      return input_error(g, fmt::format("input {} (\"{}\") has extents {}; the model declares {}", k, v.name, to_string(t.extents()), show(*v.extents)));
    for (std::size_t d = 0; d < v.extents->size(); ++d) {
      const Dimension& want = (*v.extents)[d];
      const std::int64_t has = t.extents()[d];
      if (want.extent && *want.extent != has)
        return input_error(g, fmt::format("input {} (\"{}\") has extents {}; the model declares {}", k, v.name, to_string(t.extents()), show(*v.extents)));
      if (want.extent || want.symbol.empty()) continue;
      auto [it, fresh] = symbols.try_emplace(want.symbol, has, v.name);
      if (!fresh && it->second.first != has)
        return input_error(g, fmt::format("the dimension {} is {} in input \"{}\" and {} in input \"{}\"", want.symbol, it->second.first, it->second.second, has, v.name));
    }
  }
  return success();
}

Result<std::vector<Tensor>> Session::run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, RunNotes* notes) {
  if (Status s = check_inputs(inputs); !s) return s.error();
  State& s = *state_;
  const Graph& g = *s.graph;
  std::vector<std::optional<Tensor>> values(g.values.size());
  std::vector<int> left = s.uses;
  std::int64_t alive = 0;  // bytes of values that calls made
  std::vector<std::int64_t> counted(g.values.size(), 0);
  for (const auto& [id, tensor] : s.constants) values[static_cast<std::size_t>(id)] = tensor;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) values[static_cast<std::size_t>(g.inputs[k])] = *inputs[k];
  auto release = [&](ValueId id) {
    const auto v = static_cast<std::size_t>(id);
    if (--left[v] > 0 || s.constants.count(id)) return;
    alive -= counted[v];
    values[v].reset();
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::optional<Tensor>> arguments(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) arguments[k] = values[static_cast<std::size_t>(node.inputs[k])];
    if (!s.calls[n] || !s.calls[n]->serves(arguments)) {
      const auto& readings = s.options.alternatives;
      auto call = Call::make(*s.specification, g, node, arguments, s.options.evaluator, n < readings.size() ? readings[n] : std::vector<std::uint8_t>(), s.options.block, limits);
      if (!call) return std::move(call).error();
      s.calls[n] = std::move(*call);
    }
    Limits rest = limits;
    rest.memory_bytes = limits.memory_bytes - alive;
    std::optional<Diagnostic> undefined;
    auto outputs = s.calls[n]->run(arguments, rest, &undefined);
    if (!outputs) return at_node(std::move(outputs).error(), g, node);
    if (undefined && notes) notes->undefined.push_back(at_node(std::move(*undefined), g, node));
    arguments.clear();
    for (ValueId id : node.inputs)
      if (id != AbsentValue) release(id);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == AbsentValue || left[static_cast<std::size_t>(id)] == 0) continue;
      if (k >= outputs->size() || !(*outputs)[k]) {
        Diagnostic d;
        d.kind = ErrorKind::Requirement;
        d.message = fmt::format("output {} is used, but the definition gives none here", k);
        return at_node(std::move(d), g, node);
      }
      counted[static_cast<std::size_t>(id)] = static_cast<std::int64_t>((*outputs)[k]->bytes().size());
      alive += counted[static_cast<std::size_t>(id)];
      values[static_cast<std::size_t>(id)] = std::move(*(*outputs)[k]);
    }
    if (s.options.progress) s.options.progress(n, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::vector<Tensor> out;
  for (ValueId id : g.outputs) {
    const auto& v = values[static_cast<std::size_t>(id)];
    if (!v) return input_error(g, fmt::format("the output \"{}\" has no value", g.values[static_cast<std::size_t>(id)].name));
    out.push_back(*v);
  }
  return out;
}

}  // namespace ulpian::interp
