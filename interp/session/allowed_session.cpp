#include "interp/session/allowed_session.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "interp/session/declared.h"
#include "interp/session/graph_host.h"
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

std::int64_t bytes_of(const AllowedDatum& v) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < v.count(); ++k) out += bytes_of(v.part(k));
  return out;
}

std::string not_certain(const AllowedTensor& t, std::int64_t position) {
  return fmt::format("element {} is not certain: {}", position, t.describe(position));
}

using BodySessions = std::map<const Graph*, std::unique_ptr<AllowedSession>>;

struct AllowedWorld {
  using Tensor = AllowedTensor;
  std::shared_ptr<const language::Specification> specification;
  const Profile* profile = nullptr;
  BodySessions* bodies = nullptr;
  const BodyReadings* readings = nullptr;
  BasicCaptured<AllowedTensor> captured;

  Result<std::vector<std::optional<AllowedTensor>>> run(const core::Program& program, const std::vector<std::optional<AllowedTensor>>& values, const Limits& limits) const {
    return evaluate_allowed(program, values, *profile, limits);
  }
  Result<std::vector<AllowedDatum>> apply(const Graph& graph, std::span<const AllowedDatum> inputs, const Limits& limits) const {
    auto& session = (*bodies)[&graph];
    if (!session) {
      session = std::make_unique<AllowedSession>(specification, std::shared_ptr<const Graph>(std::shared_ptr<const Graph>(), &graph), *profile);
      session->body_readings = *readings;
      session->is_body = true;
    }
    return session->run_values(inputs, captured, limits);
  }
  Result<ulpian::Tensor> certain(const AllowedTensor& t) const {
    const auto position = first_set(t);
    if (!position) return t.lower();
    Diagnostic d;
    d.kind = ErrorKind::Unsupported;
    d.message = fmt::format("which graph runs next follows from a value whose {}; implementations may differ in what they run", not_certain(t, *position));
    return d;
  }
  std::int64_t bytes(const AllowedTensor& t) const { return bytes_of(t); }
};

}  // namespace

AllowedDatum exactly(const Datum& v) {
  if (const Tensor* t = v.tensor()) return AllowedTensor::exactly(*t);
  const Datum::Sequence* s = v.sequence();
  if (!s) return {};
  AllowedDatum::Sequence out{s->type, {}};
  for (const Tensor& t : s->items) out.items.push_back(AllowedTensor::exactly(t));
  return out;
}

struct AllowedSession::State {
  std::shared_ptr<const language::Specification> specification;
  std::shared_ptr<const Graph> graph;
  std::optional<Makers> makers;
  Profile profile;
  std::vector<std::vector<ValueId>> reads;  // per node: its inputs and what its bodies capture, as often as it reads them
  std::vector<int> uses;                    // per value: by nodes and outputs
  std::vector<bool> is_output;              // per value
  std::map<ValueId, Tensor> constants;
  std::map<std::string, ValueId> names;     // of values, where bodies capture some
  BodySessions bodies;

  struct Run {
    std::vector<AllowedDatum> values;
    std::vector<int> left;
    std::int64_t alive = 0;
    const Limits* limits = nullptr;
  };
  // Constants become sets where they are read, and are dropped again.
  AllowedDatum at(const Run& run, ValueId id) const {
    const auto& v = run.values[static_cast<std::size_t>(id)];
    if (v.is_present()) return v;
    const auto constant = constants.find(id);
    return constant == constants.end() ? AllowedDatum() : AllowedDatum(AllowedTensor::exactly(constant->second));
  }
  // `choices`: of a call of the graph that is run; else as `inside` says.
  Result<std::vector<AllowedDatum>> run_node(Run& run, std::size_t n, const std::vector<std::uint8_t>* choices, const BodyReadings& inside);
};

AllowedSession::AllowedSession(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, Profile profile)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.specification = std::move(specification);
  s.graph = std::move(graph);
  s.profile = std::move(profile);
  const Graph& g = *s.graph;
  s.makers.emplace(g);
  s.uses.resize(g.values.size(), 0);
  s.is_output.resize(g.values.size(), false);
  for (const Node& n : g.nodes) {
    s.reads.push_back(reads_with_bodies(g, n, s.names));
    for (ValueId v : s.reads.back()) ++s.uses[static_cast<std::size_t>(v)];
  }
  for (ValueId v : g.outputs) {
    ++s.uses[static_cast<std::size_t>(v)];
    s.is_output[static_cast<std::size_t>(v)] = true;
  }
  for (const auto& [id, tensor] : g.constants) s.constants.emplace(id, tensor);
}

AllowedSession::~AllowedSession() = default;

Result<std::vector<AllowedDatum>> AllowedSession::State::run_node(Run& run, std::size_t n, const std::vector<std::uint8_t>* choices, const BodyReadings& inside) {
  const Graph& g = *graph;
  const Node& node = g.nodes[n];
  std::vector<AllowedDatum> arguments(node.inputs.size());
  std::vector<Datum> points(node.inputs.size());
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == AbsentValue) continue;
    arguments[k] = at(run, node.inputs[k]);
    if (const AllowedTensor* t = arguments[k].tensor()) points[k] = t->lower();
    if (const auto* s = arguments[k].sequence()) {
      Datum::Sequence point{s->type, {}};
      for (const AllowedTensor& t : s->items) point.items.push_back(t.lower());
      points[k] = std::move(point);
    }
  }
  language::Call call = describe_call(*specification, *makers, node, points);
  const language::OperatorDefinition* definition = specification->find(node.op, node.version);
  const bool hosted = definition && language::holds_graphs(*definition);
  if (choices && !hosted) call.alternatives = *choices;
  else if (const auto it = inside.find(reading_key(node, std::span<const AllowedDatum>(arguments))); it != inside.end()) call.alternatives = it->second;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (!call.inputs[k].value) continue;
    if (const auto position = first_set(*arguments[k].tensor())) {
      Diagnostic d;
      d.kind = ErrorKind::Unsupported;
      d.message = fmt::format("shapes follow from the elements of input {}, and {}; implementations may differ in shape", k, not_certain(*arguments[k].tensor(), *position));
      return at_node(std::move(d), g, node);
    }
  }
  Limits rest = *run.limits;
  rest.memory_bytes = run.limits->memory_bytes - run.alive;
  auto captured = [&](const std::string& name) -> const AllowedDatum* {
    auto it = names.find(name);
    if (it == names.end()) return nullptr;
    AllowedDatum& v = run.values[static_cast<std::size_t>(it->second)];
    if (!v.is_present()) v = at(run, it->second);
    return &v;
  };
  GraphHost<AllowedWorld> host({specification, &profile, &bodies, &inside, captured}, rest);
  host.add(flattened(std::span<const AllowedDatum>(arguments)));
  auto program = language::elaborate(*specification, call, elaboration_limits(rest), hosted ? &host : nullptr);
  if (!program) return at_node(std::move(program).error(), g, node);
  // A value that only operators read may be handed on without the last rounding.
  bool unrounded = profile.admits(Freedom::ExcessPrecision);
  for (ValueId id : node.outputs) unrounded = unrounded && (id == AbsentValue || !is_output[static_cast<std::size_t>(id)]);
  auto outputs = evaluate_allowed(*program, host.values(), profile, rest, nullptr, unrounded);
  if (!outputs) return at_node(std::move(outputs).error(), g, node);
  return results_of(*program, std::move(*outputs));
}

Result<std::vector<AllowedDatum>> AllowedSession::run_values(std::span<const AllowedDatum> inputs, const BasicCaptured<AllowedTensor>& captured, const Limits& limits) {
  State& s = *state_;
  const Graph& g = *s.graph;
  if (inputs.size() > g.inputs.size()) return graph_error(g, ErrorKind::Input, fmt::format("{} inputs are given; the model takes {}", inputs.size(), g.inputs.size()));
  State::Run run;
  run.values.resize(g.values.size());
  run.left = s.uses;
  run.limits = &limits;
  for (std::size_t k = 0; k < g.inputs.size(); ++k) {
    const GraphValue& v = g.values[static_cast<std::size_t>(g.inputs[k])];
    if (k < inputs.size() && inputs[k].is_present()) run.values[static_cast<std::size_t>(g.inputs[k])] = inputs[k];
    else if (!s.constants.count(g.inputs[k]) && !v.is_optional)
      return graph_error(g, ErrorKind::Input, fmt::format("input {} (\"{}\") is missing", k, v.name));
  }
  for (const auto& [id, name] : g.captured) {
    const AllowedDatum* v = captured ? captured(name) : nullptr;
    if (!v) return graph_error(g, ErrorKind::Input, fmt::format("the value \"{}\" of the graph around is not known here", name));
    run.values[static_cast<std::size_t>(id)] = *v;
  }
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    const std::vector<std::uint8_t> first;
    auto results = s.run_node(run, n, is_body ? nullptr : n < alternatives.size() ? &alternatives[n] : &first, body_readings);
    if (!results) return std::move(results).error();
    for (ValueId id : s.reads[n]) {
      auto& v = run.values[static_cast<std::size_t>(id)];
      if (--run.left[static_cast<std::size_t>(id)] > 0 || !v.is_present()) continue;
      run.alive -= std::min(run.alive, bytes_of(v));
      v = AllowedDatum();
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == AbsentValue || run.left[static_cast<std::size_t>(id)] == 0) continue;
      if (k >= results->size() || (!(*results)[k].is_present() && !may_be_nothing(*s.specification, node, k)))
        return at_node(graph_error(g, ErrorKind::Requirement, fmt::format("output {} is used, but the definition gives none here", k)), g, node);
      if (const auto wrong = node.function.empty() ? contradiction(g.values[static_cast<std::size_t>(id)], (*results)[k]) : std::nullopt) return at_node(graph_error(g, ErrorKind::Input, *wrong), g, node);
      run.alive += bytes_of((*results)[k]);
      run.values[static_cast<std::size_t>(id)] = std::move((*results)[k]);
    }
    if (progress) progress(n);
  }
  std::vector<AllowedDatum> out;
  for (ValueId id : g.outputs) out.push_back(s.at(run, id));
  return out;
}

Result<std::vector<AllowedTensor>> AllowedSession::run(std::span<const std::optional<AllowedTensor>> inputs, const Limits& limits) {
  auto values = run_values(std::vector<AllowedDatum>(inputs.begin(), inputs.end()), {}, limits);
  if (!values) return std::move(values).error();
  const Graph& g = *state_->graph;
  std::vector<AllowedTensor> out;
  for (std::size_t k = 0; k < values->size(); ++k) {
    const std::string& name = g.values[static_cast<std::size_t>(g.outputs[k])].name;
    if (!(*values)[k].is_present()) return graph_error(g, ErrorKind::Input, fmt::format("the output \"{}\" has no value", name));
    if (!(*values)[k].tensor()) return graph_error(g, ErrorKind::Unsupported, fmt::format("the output \"{}\" is a sequence; a tensor is needed here", name));
    out.push_back(*(*values)[k].tensor());
  }
  return out;
}

}  // namespace ulpian::interp
