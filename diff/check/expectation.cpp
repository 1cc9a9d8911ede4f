#include "diff/check/expectation.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "diff/compare/real_element.h"
#include "interp/scalar/scalar.h"
#include "interp/session/allowed_session.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;
using MaybeSets = std::vector<std::optional<interp::AllowedTensor>>;

// One operator's whole scalar evaluation, and one element's true value, take at most this long.
constexpr double OpinionSeconds = 3;

MaybeSets exactly(const MaybeTensors& tensors) {
  MaybeSets out(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k]) out[k] = interp::AllowedTensor::exactly(*tensors[k]);
  return out;
}

// Every way to choose among a definition's readings but the first, a few at most.
std::vector<std::vector<std::uint8_t>> other_choices(const std::vector<std::uint8_t>& counts) {
  constexpr std::size_t Most = 16;
  std::vector<std::vector<std::uint8_t>> out;
  std::vector<std::uint8_t> choice(counts.size(), 0);
  while (out.size() < Most) {
    std::size_t k = 0;
    while (k < choice.size() && ++choice[k] >= counts[k]) choice[k++] = 0;
    if (k == choice.size()) break;
    out.push_back(choice);
  }
  return out;
}

// The scalar evaluator and the real numbers, each started when it is first needed; both within the check's time for this.
class Opinions {
public:
  Opinions(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments)
      : judging_(judging), call_(std::move(call)), arguments_(std::move(arguments)) {}

  SecondOpinion of(std::size_t output, std::int64_t position) {
    SecondOpinion out;
    if (*judging_.seconds_left <= 0 || output >= call_->program().outputs.size()) return out;
    const auto start = Clock::now();
    if (!scalar_) scalar_ = std::make_unique<Result<interp::Outputs>>(interp::evaluate_scalar(call_->program(), *arguments_, limits()));
    if (scalar_->ok() && output < (**scalar_).size() && (**scalar_)[output]) out.canonical = (**scalar_)[output]->at(position);
    RealElements reals(call_->program(), *arguments_, limits());
    if (const auto value = reals.element(output, position)) {
      out.ideal = RealElements::rounded(call_->program(), output, *value);
      if (const auto* real = std::get_if<interp::Real>(&*value)) out.real = *real;
    }
    *judging_.seconds_left -= std::chrono::duration<double>(Clock::now() - start).count();
    return out;
  }

private:
  interp::Limits limits() const { return judging_.limits(std::min(OpinionSeconds, *judging_.seconds_left)); }

  Judging judging_;
  std::shared_ptr<const interp::Call> call_;
  std::shared_ptr<const MaybeTensors> arguments_;
  std::unique_ptr<Result<interp::Outputs>> scalar_;
};

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
  e.second_opinion = [opinions = std::make_shared<Opinions>(judging, call, arguments)](std::size_t output, std::int64_t position) { return opinions->of(output, position); };
  if (alternatives.empty())
    for (auto& choice : other_choices(call->program().static_choices))
      e.others.push_back([judging, &graph, &node, arguments, choice] { return expect_reading(judging, graph, node, arguments, choice); });
  return e;
}

// Whether an element's set is so wide, against the value and against the tensor's greatest, that it could hide any fault.
std::int64_t wide_elements(const interp::AllowedTensor& set, const Tensor& canonical) {
  const ElementType t = set.type();
  const auto magnitude = [&](std::int64_t i) { return std::abs(to_double(t, canonical.at(i))); };
  double greatest = 0;
  for (std::int64_t i = 0; i < set.size(); ++i)
    if (std::isfinite(magnitude(i))) greatest = std::max(greatest, magnitude(i));
  std::int64_t wide = 0;
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const std::uint8_t flags = set.flags()[static_cast<std::size_t>(i)];
    if (flags & interp::Empty) continue;
    const double width = to_double(t, set.upper().at(i)) - to_double(t, set.lower().at(i));
    // Not <=: a width that is no number is wide.
    if ((flags & interp::Anything) || (set.lower().at(i) != set.upper().at(i) && !(width <= 0.25 * magnitude(i)) && !(width <= greatest / 64))) ++wide;
  }
  return wide;
}

bool tells_nothing(const Expectation& e) {
  const auto sets = e.allowed ? e.allowed() : Result<MaybeSets>(MaybeSets{});
  if (!sets) return false;
  std::int64_t wide = 0, total = 0;
  for (std::size_t k = 0; k < sets->size() && k < e.canonical.size(); ++k) {
    if (!(*sets)[k] || !e.canonical[k] || !is_float(e.canonical[k]->type()) || (*sets)[k]->size() != e.canonical[k]->size()) continue;
    wide += wide_elements(*(*sets)[k], *e.canonical[k]);
    total += e.canonical[k]->size();
  }
  return wide * 2 > total;
}

// Outputs that are not looked at, under any reading.
void hide(Expectation& e, const std::vector<bool>& hidden) {
  for (std::size_t k = 0; k < hidden.size() && k < e.canonical.size(); ++k)
    if (hidden[k]) e.canonical[k].reset();
  for (auto& other : e.others)
    other = [other, hidden] {
      Expectation o = other();
      hide(o, hidden);
      return o;
    };
}

// Whether a definition leaves a choice for a whole operator somewhere in the graph, on these inputs.
bool has_other_readings(const Judging& judging, const Graph& graph, const MaybeTensors& inputs) {
  std::vector<std::optional<Tensor>> values(graph.values.size());
  for (const auto& [id, tensor] : graph.constants) values[static_cast<std::size_t>(id)] = tensor;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) values[static_cast<std::size_t>(graph.inputs[k])] = inputs[k];
  for (const Node& n : graph.nodes) {
    MaybeTensors arguments(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (n.inputs[k] != AbsentValue) arguments[k] = values[static_cast<std::size_t>(n.inputs[k])];
    const auto call = interp::Call::make(*judging.specification, graph, n, arguments);
    if (!call || !other_choices((*call)->program().static_choices).empty()) return true;
    std::optional<Diagnostic> undefined;
    auto out = (*call)->run(arguments, judging.limits(judging.options->node_seconds), &undefined);
    if (!out) return true;
    for (std::size_t k = 0; k < n.outputs.size() && k < out->size(); ++k)
      if (n.outputs[k] != AbsentValue) values[static_cast<std::size_t>(n.outputs[k])] = std::move((*out)[k]);
  }
  return false;
}

}  // namespace

interp::Limits Judging::limits(double seconds) const {
  interp::Limits out = options->limits;
  const auto span = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)));
  out.deadline = std::min(out.deadline, Clock::now() + span);
  return out;
}

Expectation expect_call(const Judging& judging, const Graph& graph, const Node& node, const MaybeTensors& arguments) {
  return expect_reading(judging, graph, node, std::make_shared<const MaybeTensors>(arguments), {});
}

Expectation expect_graph(const Judging& judging, const std::shared_ptr<const Graph>& graph, const MaybeTensors& inputs) {
  Expectation e;
  for (ValueId id : graph->outputs) e.names.push_back(graph->values[static_cast<std::size_t>(id)].name);
  interp::Session session(judging.specification, graph, {});
  interp::RunNotes notes;
  auto canonical = session.run(inputs, judging.limits(judging.options->node_seconds), &notes);
  if (!canonical) {
    e.error = std::move(canonical).error();
    return e;
  }
  if (!notes.undefined.empty()) e.undefined = notes.undefined.front();
  for (Tensor& t : *canonical) e.canonical.emplace_back(std::move(t));
  e.allowed = [judging, graph, inputs, known = std::make_shared<std::optional<MaybeSets>>()]() -> Result<MaybeSets> {
    if (*known) return **known;
    interp::AllowedSession allowed(judging.specification, graph, judging.options->profile);
    auto out = allowed.run(exactly(inputs), judging.limits(judging.options->node_seconds));
    if (!out) return std::move(out).error();
    *known = MaybeSets(out->begin(), out->end());
    return **known;
  };
  return e;
}

Verdict judge_unit(const Judging& judging, const std::shared_ptr<const Graph>& graph, const MaybeTensors& inputs, const MaybeTensors& got) {
  if (graph->nodes.size() == 1) {
    const Node& node = graph->nodes[0];
    std::vector<std::optional<Tensor>> values(graph->values.size()), answers(graph->values.size());
    for (const auto& [id, tensor] : graph->constants) values[static_cast<std::size_t>(id)] = tensor;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k]) values[static_cast<std::size_t>(graph->inputs[k])] = inputs[k];
    for (std::size_t k = 0; k < graph->outputs.size() && k < got.size(); ++k) answers[static_cast<std::size_t>(graph->outputs[k])] = got[k];
    MaybeTensors arguments(node.inputs.size()), outputs(node.outputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) arguments[k] = values[static_cast<std::size_t>(node.inputs[k])];
    Expectation e = expect_call(judging, *graph, node, arguments);
    // Only what somebody reads is seen.
    std::vector<bool> hidden(node.outputs.size());
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] != AbsentValue) outputs[k] = answers[static_cast<std::size_t>(node.outputs[k])];
      hidden[k] = !outputs[k] && std::find(graph->outputs.begin(), graph->outputs.end(), node.outputs[k]) == graph->outputs.end();
    }
    hide(e, hidden);
    return judge(e, outputs);
  }
  const Expectation e = expect_graph(judging, graph, inputs);
  Verdict v = judge(e, got);
  if (v.verdict == Class::Conforms && v.counts.allowed > 0 && tells_nothing(e)) {
    v.verdict = Class::IllConditioned;
    v.reason = "its allowed sets admit nearly everything";
  } else if (v.verdict == Class::Violation && has_other_readings(judging, *graph, inputs)) {
    v.verdict = Class::Undecided;
    v.reason = "outside under the first reading of definitions that leave a choice; the others are not tried for several operators at once: " + v.reason;
  }
  return v;
}

}  // namespace ulpian::diff
