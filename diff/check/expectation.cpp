#include "diff/check/expectation.h"

#include <algorithm>
#include <chrono>

#include "diff/check/opinions.h"
#include "interp/session/allowed_session.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;
using MaybeSets = std::vector<std::optional<interp::AllowedTensor>>;

MaybeSets exactly(const MaybeTensors& tensors) {
  MaybeSets out(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k]) out[k] = interp::AllowedTensor::exactly(*tensors[k]);
  return out;
}

Expectation expect_reading(const Judging& judging, const Graph& graph, const Node& node, const std::shared_ptr<const MaybeTensors>& arguments,
                           const std::vector<std::uint8_t>& alternatives) {
  Expectation e;
  for (ValueId id : node.outputs) e.names.push_back(id == AbsentValue ? std::string() : graph.values[static_cast<std::size_t>(id)].name);
  auto made = interp::Call::make(*judging.specification, graph, node, *arguments, interp::Evaluator::Block, alternatives);
  if (!made) {
    e.error = std::move(made).error();
    return e;
  }
  const std::shared_ptr<const interp::Call> call = *made;
  auto canonical = call->run(*arguments, judging.limits(judging.options->node_seconds), &e.undefined);
  if (!canonical) {
    e.error = interp::at_node(std::move(canonical).error(), graph, node);
    return e;
  }
  e.canonical = std::move(*canonical);
  e.canonical.resize(node.outputs.size());
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k] == AbsentValue) e.canonical[k].reset();
  e.unordered_axes = call->program().unordered_axes;
  e.allowed = [judging, call, arguments] {
    return interp::evaluate_allowed(call->program(), exactly(*arguments), judging.options->profile, judging.limits(judging.options->node_seconds));
  };
  e.second_opinion = opinions_of_call(judging, call, arguments);
  if (alternatives.empty()) {
    auto [choices, all] = other_readings(call->program().static_choices);
    e.more_readings = !all;
    for (auto& choice : choices)
      e.others.push_back([judging, &graph, &node, arguments, choice] { return expect_reading(judging, graph, node, arguments, choice); });
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

Expectation expect_call(const Judging& judging, const Graph& graph, const Node& node, const MaybeTensors& arguments) {
  return expect_reading(judging, graph, node, std::make_shared<const MaybeTensors>(arguments), {});
}

Expectation expect_graph(const Judging& judging, const std::shared_ptr<const Graph>& graph, const MaybeTensors& inputs, const Readings& readings) {
  Expectation e;
  for (ValueId id : graph->outputs) e.names.push_back(graph->values[static_cast<std::size_t>(id)].name);
  interp::SessionOptions options;
  options.alternatives = readings;
  interp::Session session(judging.specification, graph, options);
  interp::RunNotes notes;
  auto canonical = session.run(inputs, judging.limits(judging.options->node_seconds), &notes);
  if (!canonical) {
    e.error = std::move(canonical).error();
    return e;
  }
  // What does not follow from that operator is judged all the same.
  if (!notes.undefined.empty()) e.undefined_inside = notes.undefined.front();
  for (Tensor& t : *canonical) e.canonical.emplace_back(std::move(t));
  e.allowed = [judging, graph, inputs, readings, known = std::make_shared<std::optional<MaybeSets>>()]() -> Result<MaybeSets> {
    if (*known) return **known;
    interp::AllowedSession allowed(judging.specification, graph, judging.options->profile);
    allowed.alternatives = readings;
    auto out = allowed.run(exactly(inputs), judging.limits(judging.options->node_seconds));
    if (!out) return std::move(out).error();
    *known = MaybeSets(out->begin(), out->end());
    return **known;
  };
  e.second_opinion = opinions_of_graph(judging, graph, inputs, readings);
  return e;
}

}  // namespace ulpian::diff
