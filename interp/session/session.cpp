#include "interp/session/session.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "interp/session/declared.h"
#include "interp/session/ideal_call.h"
#include "interp/session/machine_world.h"

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

bool leaves_choices(const core::Program& program) {
  return std::any_of(program.static_choices.begin(), program.static_choices.end(), [](std::uint8_t count) { return count > 1; });
}

// Of calls that count as equal the greatest numbers: a definition may ask less of one than of another.
void note_choices(BodyReadings& noted, const std::string& key, const core::Program& program) {
  if (!leaves_choices(program)) return;
  auto& counts = noted[key];
  counts.resize(std::max(counts.size(), program.static_choices.size()), 1);
  for (std::size_t k = 0; k < program.static_choices.size(); ++k) counts[k] = std::max(counts[k], program.static_choices[k]);
}

std::vector<std::uint8_t> reading_of(const BodyReadings& readings, const std::string& key) {
  const auto it = readings.find(key);
  return it == readings.end() ? std::vector<std::uint8_t>() : it->second;
}

std::int64_t bytes_of(const Datum& v) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < v.count(); ++k) out += static_cast<std::int64_t>(v.part(k).bytes().size());
  return out;
}

}  // namespace

struct Session::State {
  std::shared_ptr<const language::Specification> specification;
  std::shared_ptr<const Graph> graph;
  std::optional<Makers> makers;
  SessionOptions options;
  std::vector<std::shared_ptr<const Call>> calls;  // per node, of the last run
  std::vector<std::optional<std::vector<Datum>>> fixed;  // per node: the small results of one that reads nothing, after its first run
  std::vector<std::vector<ValueId>> reads;         // per node: its inputs and what its bodies capture, as often as it reads them
  std::vector<int> uses;                           // per value: by nodes and outputs
  std::map<ValueId, Tensor> constants;
  std::map<std::string, ValueId> names;            // of values that bodies capture
  BodySessions bodies;

  // One run.
  struct Run {
    std::vector<Datum> values;
    std::vector<int> left;
    std::vector<std::int64_t> counted;
    std::int64_t alive = 0;  // bytes of values that calls made
    const Limits* limits = nullptr;
    RunNotes* notes = nullptr;
  };
  void release(Run& run, ValueId id) const {
    const auto v = static_cast<std::size_t>(id);
    if (--run.left[v] > 0 || constants.count(id)) return;
    run.alive -= run.counted[v];
    run.values[v] = Datum();
  }
  Result<std::vector<Datum>> run_node(Run& run, std::size_t n);
  Result<std::vector<Datum>> run_hosted(Run& run, const Node& node, std::span<const Datum> arguments, const Limits& rest, std::optional<Diagnostic>* undefined);
};

Session::Session(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, SessionOptions options)
    : state_(std::make_unique<State>()) {
  state_->specification = std::move(specification);
  state_->graph = std::move(graph);
  state_->options = std::move(options);
  const Graph& g = *state_->graph;
  state_->makers.emplace(g);
  state_->calls.resize(g.nodes.size());
  state_->fixed.resize(g.nodes.size());
  state_->uses.resize(g.values.size(), 0);
  for (const Node& n : g.nodes) {
    const auto& reads = state_->reads.emplace_back(reads_with_bodies(g, n, state_->names));
    for (ValueId v : reads) ++state_->uses[static_cast<std::size_t>(v)];
  }
  for (ValueId v : g.outputs) ++state_->uses[static_cast<std::size_t>(v)];
  for (const auto& [id, tensor] : g.constants) state_->constants.emplace(id, tensor);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Graph& Session::graph() const { return *state_->graph; }

Status Session::check_inputs(std::span<const Datum> inputs) const {
  const Graph& g = *state_->graph;
  if (inputs.size() > g.inputs.size())
    return input_error(g, fmt::format("{} inputs are given; the model takes {}", inputs.size(), g.inputs.size()));
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  for (std::size_t k = 0; k < g.inputs.size(); ++k) {
    const GraphValue& v = g.values[static_cast<std::size_t>(g.inputs[k])];
    if (k >= inputs.size() || !inputs[k].is_present()) {
      if (state_->constants.count(g.inputs[k]) || v.is_optional) continue;
      return input_error(g, fmt::format("input {} (\"{}\") is missing", k, v.name), fmt::format("give it as input_{}.npy, or --input {}=FILE", k, v.name));
    }
    if (const Datum::Sequence* s = inputs[k].sequence()) {
      if (!v.is_sequence && v.type) return input_error(g, fmt::format("input {} (\"{}\") is a sequence; the model declares a tensor", k, v.name));
      if (v.type && *v.type != s->type) return input_error(g, fmt::format("input {} (\"{}\") is a sequence of {}; the model declares {}", k, v.name, name_of(s->type), name_of(*v.type)));
      continue;
    }
    if (v.is_sequence) return input_error(g, fmt::format("input {} (\"{}\") is a tensor; the model declares a sequence", k, v.name));
    const Tensor& t = *inputs[k].tensor();
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

// The results of one node.
Result<std::vector<Datum>> Session::State::run_node(Run& run, std::size_t n) {
  if (fixed[n]) return *fixed[n];
  const Node& node = graph->nodes[n];
  std::vector<Datum> arguments(node.inputs.size());
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != AbsentValue) arguments[k] = run.values[static_cast<std::size_t>(node.inputs[k])];
  Limits rest = *run.limits;
  rest.memory_bytes = run.limits->memory_bytes - run.alive;
  std::optional<Diagnostic> undefined;
  auto noted = [&] {
    if (undefined && run.notes) run.notes->undefined.push_back(at_node(std::move(*undefined), *graph, node));
  };
  if (!calls[n] || !calls[n]->serves(arguments)) {
    const language::OperatorDefinition* definition = specification->find(node.op, node.version);
    if (definition && language::holds_graphs(*definition)) {
      auto results = run_hosted(run, node, arguments, rest, &undefined);
      if (results) noted();
      return results;
    }
    const auto& readings = options.alternatives;
    const auto reading = options.is_body ? reading_of(options.body_readings, reading_key(node, std::span<const Datum>(arguments))) : n < readings.size() ? readings[n] : std::vector<std::uint8_t>();
    auto call = Call::make(*specification, *makers, node, arguments, options.evaluator, reading, options.block, *run.limits);
    if (!call) return std::move(call).error();
    calls[n] = std::move(*call);
  }
  if (options.is_body && run.notes) note_choices(run.notes->choices_inside, reading_key(node, std::span<const Datum>(arguments)), calls[n]->program());
  auto outputs = calls[n]->run(flattened(std::span<const Datum>(arguments)), rest, &undefined);
  if (!outputs) return at_node(std::move(outputs).error(), *graph, node);
  if (!undefined && run.notes && run.notes->open_elements) undefined = calls[n]->open_elements(flattened(std::span<const Datum>(arguments)), *outputs, rest);
  noted();
  const std::int64_t undecided = run.notes ? run.notes->undecided_elements : 0;
  outputs = as_asked(calls[n]->program(), flattened(std::span<const Datum>(arguments)), std::move(outputs), options, rest, run.notes, graph.get(), &node);
  if (!outputs) return at_node(std::move(outputs).error(), *graph, node);
  const bool decided = !run.notes || run.notes->undecided_elements == undecided;
  auto results = results_of(calls[n]->program(), std::move(*outputs));
  constexpr std::int64_t Small = 1 << 16;
  std::int64_t bytes = 0;
  for (const Datum& v : results) bytes += bytes_of(v);
  if (arguments.empty() && !undefined && decided && bytes <= Small && !leaves_choices(calls[n]->program())) fixed[n] = results;
  return results;
}

Result<std::vector<Datum>> Session::State::run_hosted(Run& run, const Node& node, std::span<const Datum> arguments, const Limits& rest,
                                                      std::optional<Diagnostic>* undefined) {
  auto captured = [&](const std::string& name) -> const Datum* {
    auto it = names.find(name);
    return it == names.end() ? nullptr : &run.values[static_cast<std::size_t>(it->second)];
  };
  GraphHost<MachineWorld> host({specification, &options, &bodies, captured, run.notes}, rest);
  host.add(flattened(arguments));
  language::Call description = describe_call(*specification, *makers, node, arguments);
  const std::string key = reading_key(node, arguments);
  description.alternatives = reading_of(options.body_readings, key);
  auto program = language::elaborate(*specification, description, elaboration_limits(rest), &host);
  if (!program) return at_node(std::move(program).error(), *graph, node);
  if (run.notes) note_choices(run.notes->choices_inside, key, *program);
  auto outputs = as_asked(*program, host.values(), run_program(*program, host.values(), options, rest, undefined), options, rest, run.notes, graph.get(), &node);
  if (!outputs) return at_node(std::move(outputs).error(), *graph, node);
  return results_of(*program, std::move(*outputs));
}

Result<std::vector<Datum>> Session::run_values(std::span<const Datum> inputs, const Captured& captured, const Limits& limits, RunNotes* notes) {
  if (Status s = check_inputs(inputs); !s) return s.error();
  State& s = *state_;
  const Graph& g = *s.graph;
  State::Run run;
  run.values.resize(g.values.size());
  run.left = s.uses;
  run.counted.resize(g.values.size(), 0);
  run.limits = &limits;
  run.notes = notes;
  for (const auto& [id, tensor] : s.constants) run.values[static_cast<std::size_t>(id)] = tensor;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_present()) run.values[static_cast<std::size_t>(g.inputs[k])] = inputs[k];
  for (const auto& [id, name] : g.captured) {
    const Datum* v = captured ? captured(name) : nullptr;
    if (!v) return input_error(g, fmt::format("the value \"{}\" of the graph around is not known here", name));
    run.values[static_cast<std::size_t>(id)] = *v;
  }
  std::vector<bool> follow(notes ? g.values.size() : 0);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    const auto start = std::chrono::steady_clock::now();
    const std::size_t undefined = notes ? notes->undefined.size() : 0;
    auto results = s.run_node(run, n);
    if (!results) return std::move(results).error();
    if (notes && (notes->undefined.size() > undefined || std::any_of(s.reads[n].begin(), s.reads[n].end(), [&](ValueId id) { return follow[static_cast<std::size_t>(id)]; })))
      for (ValueId id : node.outputs)
        if (id != AbsentValue) follow[static_cast<std::size_t>(id)] = true;
    for (ValueId id : s.reads[n]) s.release(run, id);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == AbsentValue || run.left[static_cast<std::size_t>(id)] == 0) continue;
      const auto v = static_cast<std::size_t>(id);
      if (k >= results->size() || (!(*results)[k].is_present() && !g.values[v].is_optional && !may_be_nothing(*s.specification, node, k))) {
        Diagnostic d;
        d.kind = ErrorKind::Requirement;
        d.message = fmt::format("output {} is used, but the definition gives none here", k);
        return at_node(std::move(d), g, node);
      }
      // Of a function's values files do not say what they are in this call.
      if (const auto wrong = node.function.empty() ? contradiction(g.values[v], (*results)[k]) : std::nullopt) return at_node(input_error(g, *wrong), g, node);
      run.counted[v] = bytes_of((*results)[k]);
      run.alive += run.counted[v];
      run.values[v] = std::move((*results)[k]);
    }
    if (s.options.progress) s.options.progress(n, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (notes && !s.options.is_body) {
    notes->follow.clear();
    for (ValueId id : g.outputs) notes->follow.push_back(follow[static_cast<std::size_t>(id)]);
  }
  std::vector<Datum> out;
  for (ValueId id : g.outputs) {
    const Datum& v = out.emplace_back(run.values[static_cast<std::size_t>(id)]);
    if (const auto wrong = contradiction(g.values[static_cast<std::size_t>(id)], v)) return input_error(g, "the output " + *wrong);
  }
  return out;
}

Result<std::vector<Tensor>> Session::run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, RunNotes* notes) {
  auto values = run_values(as_data(inputs), {}, limits, notes);
  if (!values) return std::move(values).error();
  const Graph& g = *state_->graph;
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < values->size(); ++k) {
    const Datum& v = (*values)[k];
    const std::string& name = g.values[static_cast<std::size_t>(g.outputs[k])].name;
    if (!v.is_present()) return input_error(g, fmt::format("the output \"{}\" has no value", name));
    if (!v.tensor()) {
      Diagnostic d = input_error(g, fmt::format("the output \"{}\" is a sequence; a tensor is needed here", name));
      d.kind = ErrorKind::Unsupported;
      return d;
    }
    out.push_back(*v.tensor());
  }
  return out;
}

}  // namespace ulpian::interp
