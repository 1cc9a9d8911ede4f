#include "diff/check/unit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diff/check/programs.h"
#include "diff/check/region_graph.h"
#include "interp/session/graph_host.h"

namespace ulpian::diff {
namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// Whether an element's set is so wide, against the value and against the tensor's greatest, that it could hide any fault; and of how many.
// Where the standard says nothing for an operator, elements that follow from it count for nothing.
std::pair<std::int64_t, std::int64_t> wide_elements(const interp::AllowedTensor& set, const Tensor& canonical, bool anything_counts) {
  const ElementType t = set.type();
  const auto magnitude = [&](std::int64_t i) { return std::abs(to_double(t, canonical.at(i))); };
  double greatest = 0;
  for (std::int64_t i = 0; i < set.size(); ++i)
    if (std::isfinite(magnitude(i))) greatest = std::max(greatest, magnitude(i));
  std::int64_t wide = 0, counted = 0;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const std::uint8_t flags = set.flags()[static_cast<std::size_t>(i)];
    if ((flags & interp::Anything) && !anything_counts) continue;
    ++counted;
    if (flags & interp::Empty) continue;
    const double width = to_double(t, set.upper().at(i)) - to_double(t, set.lower().at(i));
    if ((flags & interp::Anything) || (set.lower().at(i) != set.upper().at(i) && tells_nothing(width, magnitude(i), greatest))) ++wide;
  }
  return {wide, counted};
}

bool tells_nothing(const Expectation& e) {
  const auto sets = e.allowed ? e.allowed() : Result<MaybeSets>(MaybeSets{});
  if (!sets) return false;
  std::int64_t wide = 0, total = 0;
  for (std::size_t k = 0; k < sets->size() && k < e.canonical.size(); ++k) {
    if (!(*sets)[k] || !e.canonical[k] || !is_float(e.canonical[k]->type()) || (*sets)[k]->size() != e.canonical[k]->size()) continue;
    const auto [w, counted] = wide_elements(*(*sets)[k], *e.canonical[k], !e.undefined_inside);
    wide += w;
    total += counted;
  }
  return wide * 2 > total;
}

Verdict judge_call(const Judging& judging, const Graph& graph, const Data& inputs, const Data& got) {
  const Node& node = graph.nodes[0];
  Data values(graph.values.size()), answers(graph.values.size());
  for (const auto& [id, tensor] : graph.constants) values[at(id)] = tensor;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_present()) values[at(graph.inputs[k])] = inputs[k];
  for (std::size_t k = 0; k < graph.outputs.size() && k < got.size(); ++k) answers[at(graph.outputs[k])] = got[k];
  Data arguments(node.inputs.size()), outputs(node.outputs.size());
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != AbsentValue) arguments[k] = values[at(node.inputs[k])];
  Expectation e = expect_call(judging, graph, node, arguments);
  // Only what somebody reads is seen.
  std::vector<bool> hidden(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] != AbsentValue) outputs[k] = answers[at(node.outputs[k])];
    hidden[k] = !outputs[k].is_present() && std::find(graph.outputs.begin(), graph.outputs.end(), node.outputs[k]) == graph.outputs.end();
  }
  hide_outputs(e, hidden);
  return judge(e, std::span<const Datum>(outputs));
}

// All operators together, under one reading of each.
Verdict judge_together(const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Data& got, const Readings& readings) {
  return judge_as_unit(expect_graph(judging, graph, inputs, readings), got);
}

// --- readings

struct Choices {
  std::vector<std::vector<std::vector<std::uint8_t>>> others;  // by node: its readings but the first
  std::string unknown;                                         // why they are not all known
  bool too_many = false;

  bool any() const { return !unknown.empty() || std::any_of(others.begin(), others.end(), [](const auto& o) { return !o.empty(); }); }
};

// What the definitions of a graph leave open on these inputs.
Choices choices_of(const Judging& judging, const Graph& graph, const Data& inputs) {
  Choices out;
  out.others.resize(graph.nodes.size());
  const interp::Makers makers(graph);
  Data values(graph.values.size());
  for (const auto& [id, tensor] : graph.constants) values[at(id)] = tensor;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_present()) values[at(graph.inputs[k])] = inputs[k];
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    out.unknown = describe(node) + " was not evaluated";
    const auto see = [&](Data made) {
      for (std::size_t k = 0; k < node.outputs.size() && k < made.size(); ++k)
        if (node.outputs[k] != AbsentValue) values[at(node.outputs[k])] = std::move(made[k]);
    };
    if (has_body(node)) {
      // Its bodies' own choices are noted where they are met (RunNotes::choices_inside).
      auto made = run_with_bodies(judging, graph, static_cast<int>(n), values, judging.limits(judging.options->node_seconds));
      if (!made) return out;
      see(std::move(*made));
      out.unknown.clear();
      continue;
    }
    Data arguments(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) arguments[k] = values[at(node.inputs[k])];
    const auto call = interp::Call::make(*judging.specification, makers, node, arguments);
    if (!call) return out;
    auto [readings, all] = other_readings((*call)->program().static_choices);
    out.too_many = out.too_many || !all;
    out.others[n] = std::move(readings);
    std::optional<Diagnostic> undefined;
    auto results = (*call)->run(interp::flattened(std::span<const Datum>(arguments)), judging.limits(judging.options->node_seconds), &undefined);
    if (!results) return out;
    out.unknown.clear();
    see(interp::results_of((*call)->program(), std::move(*results)));
  }
  return out;
}

// Every combination but the first; empty where there are too many.
std::vector<Readings> combinations(const Choices& choices) {
  std::size_t count = choices.too_many ? MostReadings + 1 : 1;
  for (const auto& o : choices.others)
    if (count <= MostReadings) count *= 1 + o.size();
  if (count > MostReadings) return {};
  std::vector<Readings> out;
  for (std::size_t which = 1; which < count; ++which) {
    Readings r(choices.others.size());
    std::size_t rest = which;
    for (std::size_t n = 0; n < r.size(); ++n) {
      const std::size_t of = 1 + choices.others[n].size();
      if (rest % of) r[n] = choices.others[n][rest % of - 1];
      rest /= of;
    }
    out.push_back(std::move(r));
  }
  return out;
}

Verdict try_combinations(const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Data& got, const Choices& choices, Verdict first) {
  const auto undecided = [&](const std::string& why) {
    first.verdict = Class::Undecided;
    first.reason = fmt::format("outside under the first reading of definitions that leave a choice, and {}: {}", why, first.reason);
    return first;
  };
  if (!choices.unknown.empty()) return undecided("the others are not all known (" + choices.unknown + ")");
  const std::vector<Readings> all = combinations(choices);
  if (all.empty()) return undecided(fmt::format("all readings together have more than {} combinations, which are not tried", MostReadings));
  std::string open;
  for (const Readings& r : all) {
    if (judging.options->limits.stopped()) return undecided("the time limit was met before all were tried");
    Verdict v = judge_together(judging, graph, inputs, got, r);
    if (exit_status(v.verdict) == 0) {
      if (v.reason.empty()) v.reason = "under other readings that the standard leaves open";
      return v;
    }
    // That the sets are too wide to tell is no violation under this reading.
    if (v.verdict == Class::IllConditioned && open.empty()) open = "under another its sets admit nearly everything";
  }
  if (!open.empty()) return undecided(open);
  first.reason += fmt::format(" (under the first of {} readings that definitions leave open; under the others it does not conform either)", all.size() + 1);
  return first;
}

// --- operator by operator

// The unit cut at its outputs: what an operator makes visible, the next one is judged on. Empty where that cuts nothing, or where outputs are
// not simply what operators make.
std::optional<RegionView> cut_at_outputs(const Graph& graph, const Data& inputs, const Data& got) {
  std::map<ValueId, Tensor> constants;
  for (const auto& [id, tensor] : graph.constants) constants.emplace(id, tensor);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_present()) constants.erase(graph.inputs[k]);
  RegionView view(graph, std::move(constants));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_present()) view.show(graph.inputs[k], inputs[k]);
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    const ValueId id = graph.outputs[k];
    if (k >= got.size() || !got[k].is_present() || view.visible(id) || view.constant(id)) return std::nullopt;
    view.show(id, got[k]);
  }
  return view;
}

std::optional<Verdict> judge_parts(const Judging& judging, const Graph& graph, const Data& inputs, const Data& got) {
  const auto view = cut_at_outputs(graph, inputs, got);
  if (!view) return std::nullopt;
  const std::vector<Region> parts = view->regions();
  if (parts.size() < 2) return std::nullopt;
  Verdict worst;
  Counts counts;
  for (const Region& part : parts) {
    RegionGraph cut = view->extract({&part}, {});
    Data part_inputs, part_got;
    for (ValueId id : cut.inputs) part_inputs.emplace_back(view->values().at(id));
    for (ValueId id : cut.outputs) part_got.emplace_back(view->values().at(id));
    if (part_got.empty()) continue;
    Verdict v = judge_unit(judging, std::make_shared<const Graph>(std::move(cut.graph)), part_inputs, part_got);
    counts.add(v.counts);
    if (severity(v.verdict) <= severity(worst.verdict)) continue;
    worst = std::move(v);
    if (worst.witness)
      for (std::size_t k = 0; k < graph.outputs.size(); ++k)
        if (graph.values[at(graph.outputs[k])].name == worst.witness->output_name) worst.witness->output = k;
    worst.reason = fmt::format("by {}: {}", names_of(graph, part.nodes), worst.reason);
  }
  worst.counts = counts;
  if (worst.verdict == Class::Vacuous && counts.vacuous < counts.elements) worst.verdict = Class::Conforms;
  if (exit_status(worst.verdict) == 0) worst.reason = "operator by operator, under readings that the standard leaves open";
  return worst;
}

}  // namespace

Verdict judge_as_unit(const Expectation& e, std::span<const Datum> got) {
  Verdict v = judge(e, got);
  if (v.verdict == Class::Conforms && v.counts.allowed > 0 && tells_nothing(e)) {
    v.verdict = Class::IllConditioned;
    v.reason = "its allowed sets admit nearly everything";
  }
  return v;
}

Verdict judge_unit(const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Data& got) {
  if (graph->nodes.size() == 1 && !has_body(graph->nodes[0])) return judge_call(judging, *graph, inputs, got);
  Verdict v = judge_together(judging, graph, inputs, got, {});
  const bool open = v.verdict == Class::Violation || v.verdict == Class::Lenient || v.verdict == Class::InternalError;
  if (!open) return v;
  const Choices choices = choices_of(judging, *graph, inputs);
  if (!choices.any()) return v;
  if (auto parts = judge_parts(judging, *graph, inputs, got)) return std::move(*parts);
  return try_combinations(judging, graph, inputs, got, choices, std::move(v));
}

}  // namespace ulpian::diff
