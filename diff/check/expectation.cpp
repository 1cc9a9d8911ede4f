#include "diff/check/expectation.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "diff/check/narrowed.h"
#include "diff/check/opinions.h"
#include "interp/session/graph_host.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

// By the tensors that the call's program reads.
MaybeSets given_sets(const Judging& judging, const Graph& graph, const Node& node, const Data& given) {
  std::vector<interp::AllowedDatum> sets;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const ValueId id = k < node.inputs.size() ? node.inputs[k] : AbsentValue;
    sets.push_back(judging.given(id == AbsentValue ? std::string() : graph.values[static_cast<std::size_t>(id)].name, given[k]));
  }
  return interp::flattened(std::span<const interp::AllowedDatum>(sets));
}

// Of a tensor its output's; of a sequence's tensors `y[2]`.
void name_tensors(Expectation& e, const std::vector<std::string>& outputs) {
  if (e.results.empty()) {
    e.names = outputs;
    return;
  }
  e.names.assign(e.canonical.size(), {});
  for (std::size_t k = 0; k < e.results.size() && k < outputs.size(); ++k) {
    const core::ResultInfo& r = e.results[k];
    if (r.kind == core::ResultKind::Tensor) e.names[r.first] = outputs[k];
    if (r.kind == core::ResultKind::Sequence)
      for (std::uint32_t j = 0; j < r.count; ++j) e.names[r.first + j] = fmt::format("{}[{}]", outputs[k], j);
  }
}

void take_values(Expectation& e, const Data& values) {
  for (const Datum& v : values) {
    const Datum::Sequence* s = v.sequence();
    core::ResultInfo r{v.tensor() ? core::ResultKind::Tensor : s ? core::ResultKind::Sequence : core::ResultKind::Nothing, s ? s->type : ElementType::F32,
                       static_cast<std::uint32_t>(e.canonical.size()), static_cast<std::uint32_t>(v.count())};
    e.results.push_back(r);
    for (std::size_t j = 0; j < v.count(); ++j) e.canonical.emplace_back(v.part(j));
  }
}

// Where the definition says what each output is.
std::vector<std::optional<Clause>> clauses_of(const language::Specification& specification, const core::Program& p, const Node& node) {
  std::vector<std::optional<Clause>> out(p.outputs.size());
  const language::OperatorDefinition* definition = specification.find(node.op, node.version);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (p.outputs[k] == core::None || p.tensor(p.outputs[k]).place >= p.places.size()) continue;
    const Place& place = p.places[p.tensor(p.outputs[k]).place];
    if (place.line == 0) continue;
    std::string text = definition && definition->file->path == place.file ? definition->file->line(place.line) : std::string();
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    out[k] = Clause{place, std::move(text)};
  }
  return out;
}

// Whether each element is computed from elements of its own, and from what is one for all: no sum and no parameter is behind some of them together.
bool computes_alone(const core::Program& p) {
  using core::TermKind;
  if (!p.recurrences.empty()) return false;
  for (const core::Term& t : p.terms)
    if (t.kind == TermKind::Reduce || t.kind == TermKind::Fold || t.kind == TermKind::Nth) return false;
  for (const core::TensorNode& n : p.tensors) {
    if (n.kind != core::TensorKind::Comprehension) continue;
    std::vector<core::TermId> stack{n.body};
    std::set<core::TermId> seen;
    while (!stack.empty()) {
      const core::TermId id = stack.back();
      stack.pop_back();
      if (!seen.insert(id).second) continue;
      const core::Term& t = p.term(id);
      const bool reads = t.kind == TermKind::Read || t.kind == TermKind::ReadElse;
      if (const std::size_t free = p.free_of(id).size(); reads && free != 0 && free < n.variables.size()) return false;
      const auto a = p.arguments_of(id);
      stack.insert(stack.end(), a.begin(), a.end());
    }
  }
  return true;
}

// The profile's rule of closeness for outputs of an operator, or of several together ("").
std::function<std::optional<interp::Closeness>(ElementType)> rules_of(const Judging& judging, const std::string& op) {
  if (!judging.options->profile.has_rules()) return nullptr;
  return [profile = judging.options->profile, op](ElementType type) { return profile.rule(op, type); };
}

Expectation expect_reading(const Judging& judging, const interp::Makers& makers, const Node& node, const std::shared_ptr<const Data>& given,
                           const std::vector<std::uint8_t>& alternatives) {
  const Graph& graph = makers.graph();
  Expectation e;
  std::vector<std::string> names;
  for (ValueId id : node.outputs) names.push_back(id == AbsentValue ? std::string() : graph.values[static_cast<std::size_t>(id)].name);
  auto made = interp::Call::make(*judging.specification, makers, node, *given, interp::Evaluator::Block, alternatives);
  if (!made) {
    e.names = std::move(names);
    judging.note(made.error());
    e.error = std::move(made).error();
    return e;
  }
  const std::shared_ptr<const interp::Call> call = *made;
  const auto arguments = std::make_shared<const MaybeTensors>(interp::flattened(std::span<const Datum>(*given)));
  auto canonical = call->run(*arguments, judging.limits(judging.options->node_seconds), &e.undefined);
  if (!canonical) {
    e.names = std::move(names);
    e.error = interp::at_node(std::move(canonical).error(), graph, node);
    judging.note(*e.error);
    return e;
  }
  e.canonical = std::move(*canonical);
  e.results = call->program().results;
  if (e.results.empty()) e.canonical.resize(node.outputs.size());
  else e.results.resize(std::min(e.results.size(), node.outputs.size()));
  std::vector<bool> hidden(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) hidden[k] = node.outputs[k] == AbsentValue;
  hide_outputs(e, hidden);
  name_tensors(e, names);
  e.clauses = clauses_of(*judging.specification, call->program(), node);
  e.unordered_axes = call->program().unordered_axes;
  e.has_unspecified = std::ranges::any_of(call->program().terms, [](const core::Term& t) { return t.kind == core::TermKind::Unspecified; });
  e.alone = computes_alone(call->program());
  e.draws_random = std::ranges::any_of(call->program().terms, [](const core::Term& t) { return t.kind == core::TermKind::Random; });
  e.allowed = [judging, call, &graph, &node, given] {
    return interp::evaluate_allowed(call->program(), given_sets(judging, graph, node, *given), judging.options->profile, judging.limits(judging.options->node_seconds));
  };
  e.some = [judging, call, &graph, &node, given](const std::vector<std::vector<std::int64_t>>& positions, bool cheaply) {
    constexpr std::int64_t Work = std::int64_t{1} << 19;  // some milliseconds
    interp::Limits limits = judging.limits(judging.options->node_seconds);
    if (cheaply) limits.work = std::min(limits.work, Work);
    return interp::allowed_at(call->program(), given_sets(judging, graph, node, *given), judging.options->profile, positions, limits);
  };
  e.holds_true_value = !judging.options->profile.exactly_canonical();
  e.closeness = rules_of(judging, node.op);
  e.second_opinion = opinions_of_call(judging, call, arguments);
  e.grounds = grounds_of_call(judging, call, arguments);
  if (alternatives.empty()) {
    auto [choices, all] = other_readings(call->program().static_choices);
    e.more_readings = !all;
    for (auto& choice : choices)
      e.others.push_back([judging, makers, &node, given, choice] { return expect_reading(judging, makers, node, given, choice); });
    for (const Narrowing& n : narrowings(judging.options->profile, *given, e.canonical))
      e.others.push_back([judging, makers, &node, given, n, results = e.canonical] {
        Expectation other = widened(n, expect_reading(judging, makers, node, std::make_shared<const Data>(narrowed(n, *given)), {}), results);
        other.reading = "with wide types held as narrow ones, as the profile admits";
        return other;
      });
  }
  return e;
}

}  // namespace

OtherReadings other_readings(const std::vector<std::uint8_t>& counts) {
  OtherReadings out;
  std::vector<std::uint8_t> choice(counts.size(), 0);
  for (;;) {
    std::size_t k = 0;
    while (k < choice.size() && ++choice[k] >= counts[k]) choice[k++] = 0;
    if (k == choice.size()) return out;
    out.all = out.choices.size() + 1 < MostReadings;
    if (!out.all) return out;
    out.choices.push_back(choice);
  }
}

interp::Limits Judging::limits(double seconds) const {
  interp::Limits out = options->limits;
  const auto span = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)));
  out.deadline = std::min(out.deadline, Clock::now() + span);
  return out;
}

interp::AllowedDatum Judging::given(const std::string& name, const Datum& seen) const {
  if (!handed_on || !perhaps_unrounded(*handed_on, name, seen)) return interp::exactly(seen);
  return interp::AllowedTensor::exactly(*seen.tensor()).perhaps_rounded();
}

bool perhaps_unrounded(const std::set<std::string>& names, const std::string& name, const Datum& seen) {
  return seen.tensor() && interp::AllowedTensor::can_be_handed_on(seen.tensor()->type()) && names.contains(name);
}

Verdict or_unrounded(const Judging& judging, const std::shared_ptr<const std::set<std::string>>& names, bool any, Verdict first,
                     const std::function<Verdict(const Judging&)>& judge) {
  if ((first.verdict != Class::Violation && first.counts.let_through == 0) || !any || !judging.options->profile.admits(interp::Freedom::ExcessPrecision)) return first;
  Judging wider = judging;
  wider.handed_on = names;
  Verdict v = judge(wider);
  if (exit_status(v.verdict) != 0) return first;
  // Of a rule of closeness, which does not ask how values are handed on: what it lets through is judged by what was.
  if (first.verdict != Class::Violation) return v.counts.let_through < first.counts.let_through ? v : first;
  v.unrounded = true;
  return v;
}

Judging Judging::under(interp::Profile profile, Clock::time_point end) const {
  auto changed = std::make_shared<CheckOptions>(*options);
  changed->profile = std::move(profile);
  changed->limits.deadline = std::min(changed->limits.deadline, end);
  changed->second_opinion_seconds = changed->deviation_seconds = 0;
  Judging out(specification, *changed);
  out.own_ = std::move(changed);
  out.wrong_definition = wrong_definition;
  out.handed_on = handed_on;
  return out;
}

Expectation expect_call(const Judging& judging, const interp::Makers& makers, const Node& node, const Data& arguments) {
  return expect_reading(judging, makers, node, std::make_shared<const Data>(arguments), {});
}

void hide_outputs(Expectation& e, const std::vector<bool>& hidden) {
  e.unseen.resize(hidden.size());
  for (std::size_t k = 0; k < hidden.size(); ++k) {
    if (!hidden[k]) continue;
    e.unseen[k] = true;
    if (e.results.empty() && k < e.canonical.size()) e.canonical[k].reset();
    if (k < e.results.size())
      for (std::uint32_t j = 0; j < e.results[k].count && e.results[k].kind != core::ResultKind::Nothing; ++j) e.canonical[e.results[k].first + j].reset();
  }
  for (auto& other : e.others)
    other = [other, hidden] {
      Expectation o = other();
      hide_outputs(o, hidden);
      return o;
    };
}

Data data_of(const Expectation& e) {
  if (e.results.empty()) return interp::as_data(e.canonical);
  Data out;
  for (const core::ResultInfo& r : e.results) {
    if (r.kind == core::ResultKind::Nothing) out.emplace_back();
    else if (r.kind == core::ResultKind::Tensor) out.emplace_back(e.canonical[r.first]);
    else {
      Datum::Sequence s{r.type, {}};
      for (std::uint32_t j = 0; j < r.count; ++j)
        if (e.canonical[r.first + j]) s.items.push_back(*e.canonical[r.first + j]);
      out.emplace_back(std::move(s));
    }
  }
  return out;
}

namespace {

// The ways to choose among the readings of calls inside bodies, but the first.
void add_readings_inside(Expectation& e, const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Readings& readings,
                         const interp::BodyReadings& counts) {
  std::vector<std::uint8_t> all_counts;
  for (const auto& [key, c] : counts) all_counts.insert(all_counts.end(), c.begin(), c.end());
  auto [choices, all] = other_readings(all_counts);
  e.more_readings = !all;
  for (const auto& choice : choices) {
    interp::BodyReadings inside;
    auto next = choice.begin();
    for (const auto& [key, c] : counts) {
      const auto end = next + static_cast<std::ptrdiff_t>(c.size());
      inside[key].assign(next, end);
      next = end;
    }
    e.others.push_back([judging, graph, inputs, readings, inside] { return expect_graph(judging, graph, inputs, readings, inside); });
  }
}

}  // namespace

Expectation expect_graph(const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Readings& readings,
                         const interp::BodyReadings& inside) {
  Expectation e;
  std::vector<std::string> names;
  for (ValueId id : graph->outputs) names.push_back(graph->values[static_cast<std::size_t>(id)].name);
  interp::SessionOptions options;
  options.alternatives = readings;
  options.body_readings = inside;
  interp::Session session(judging.specification, graph, options);
  interp::RunNotes notes;
  auto canonical = session.run_values(inputs, {}, judging.limits(judging.options->node_seconds), &notes);
  if (!canonical) {
    e.names = std::move(names);
    judging.note(canonical.error());
    e.error = std::move(canonical).error();
    return e;
  }
  // What does not follow from that operator is judged all the same.
  if (!notes.undefined.empty()) e.undefined_inside = notes.undefined.front();
  if (inside.empty()) add_readings_inside(e, judging, graph, inputs, readings, notes.choices_inside);
  // Which calls there are may follow from how others are read.
  else e.more_readings = std::ranges::any_of(notes.choices_inside, [&](const auto& c) { return !inside.contains(c.first); });
  take_values(e, *canonical);
  for (std::size_t k = 0; k < canonical->size(); ++k) e.free_extents.insert(e.free_extents.end(), (*canonical)[k].count(), notes.follow[k]);
  name_tensors(e, names);
  e.allowed = [judging, graph, inputs, readings, inside, known = std::make_shared<std::optional<MaybeSets>>()]() -> Result<MaybeSets> {
    if (*known) return **known;
    interp::AllowedSession allowed(judging.specification, graph, judging.options->profile);
    allowed.alternatives = readings;
    allowed.body_readings = inside;
    std::vector<interp::AllowedDatum> points;
    for (std::size_t k = 0; k < inputs.size(); ++k) points.push_back(judging.given(graph->values[static_cast<std::size_t>(graph->inputs[k])].name, inputs[k]));
    auto out = allowed.run_values(points, {}, judging.limits(judging.options->node_seconds));
    if (!out) return std::move(out).error();
    *known = MaybeSets();
    for (const interp::AllowedDatum& v : *out)
      for (std::size_t j = 0; j < v.count(); ++j) (*known)->emplace_back(v.part(j));
    return **known;
  };
  e.holds_true_value = !judging.options->profile.exactly_canonical();
  e.closeness = rules_of(judging, graph->nodes.size() == 1 ? graph->nodes[0].op : std::string());
  e.second_opinion = opinions_of_graph(judging, graph, inputs, readings, inside);
  return e;
}

}  // namespace ulpian::diff
