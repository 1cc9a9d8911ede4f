#include "interp/session/call.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/evaluate/evaluate.h"
#include "interp/session/graph_host.h"
#include "interp/scalar/scalar.h"

namespace ulpian::interp {
namespace {

// Which inputs lend their elements to shapes; a variadic input takes the rest.
std::vector<bool> static_inputs(const language::Specification& specification, const Node& node) {
  std::vector<bool> out(node.inputs.size(), false);
  const language::OperatorDefinition* definition = specification.find(node.op, node.version);
  if (!definition) return out;
  std::size_t k = 0;
  for (const language::Clause& c : definition->clauses) {
    if (c.kind != language::ClauseKind::In || k >= out.size()) continue;
    if (c.variadic) break;
    out[k++] = c.is_static;
  }
  return out;
}

}  // namespace

Diagnostic at_node(Diagnostic d, const Graph& graph, const Node& node) {
  // Evaluators name the operator themselves; here the node says it.
  const std::string own = node.op + ": ";
  if (d.message.compare(0, own.size(), own) == 0) d.message.erase(0, own.size());
  d.message = fmt::format("{}: {}", describe(node), d.message);
  d.program_place = place_of(graph, node);
  return d;
}

std::vector<ValueId> reads_with_bodies(const Graph& graph, const Node& node, std::map<std::string, ValueId>& names) {
  std::vector<ValueId> out;
  for (ValueId v : node.inputs)
    if (v != AbsentValue) out.push_back(v);
  for_each_body(node, [&](const Graph& body) {
    if (!body.captured.empty() && names.empty())
      for (std::size_t k = 0; k < graph.values.size(); ++k) names.emplace(graph.values[k].name, static_cast<ValueId>(k));
    for (const auto& [id, name] : body.captured)
      if (auto it = names.find(name); it != names.end()) out.push_back(it->second);
  });
  return out;
}

bool may_be_nothing(const language::Specification& specification, const Node& node, std::size_t output) {
  const language::OperatorDefinition* definition = specification.find(node.op, node.version);
  std::size_t k = 0;
  if (definition)
    for (const language::Clause& c : definition->clauses)
      if (c.kind == language::ClauseKind::Out && (k++ == output || c.variadic)) return c.any_kind;
  return false;
}

std::vector<Datum> as_data(std::span<const std::optional<Tensor>> values) { return {values.begin(), values.end()}; }

language::Call describe_call(const language::Specification& specification, const Node& node, std::span<const Datum> inputs) {
  language::Call call;
  call.op = node.op;
  call.version = node.version;
  call.attributes = node.attributes;
  call.outputs = node.outputs.size();
  while (call.outputs > 1 && node.outputs[call.outputs - 1] == AbsentValue) --call.outputs;
  const std::vector<bool> lends = static_inputs(specification, node);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    language::InputDescription d = describe(inputs[k]);
    if (k < lends.size() && lends[k])
      if (const Tensor* t = inputs[k].tensor()) d.value = *t;
    call.inputs.push_back(std::move(d));
  }
  return call;
}

struct Call::State {
  core::Program program;
  std::optional<Plan> plan;
  std::vector<language::InputDescription> signature;
};

Call::Call() : state_(std::make_unique<State>()) {}
Call::~Call() = default;

const core::Program& Call::program() const { return state_->program; }

Result<std::shared_ptr<const Call>> Call::make(const language::Specification& specification, const Graph& graph, const Node& node,
                                               std::span<const Datum> inputs, Evaluator evaluator,
                                               const std::vector<std::uint8_t>& alternatives, const block::Options& block, const Limits& limits) {
  language::Call description = describe_call(specification, node, inputs);
  description.alternatives = alternatives;
  auto program = language::elaborate(specification, description, elaboration_limits(limits));
  if (!program) return at_node(std::move(program).error(), graph, node);
  std::shared_ptr<Call> call(new Call());
  State& s = *call->state_;
  s.program = std::move(*program);
  s.signature = std::move(description.inputs);
  if (evaluator == Evaluator::Block) {
    auto plan = Plan::make(s.program, block);
    if (!plan) return at_node(std::move(plan).error(), graph, node);
    s.plan = std::move(*plan);
  }
  return std::shared_ptr<const Call>(std::move(call));
}

namespace {

bool like(const language::InputDescription& d, const Tensor& t) {
  if (d.type != t.type() || d.extents.size() != t.extents().size()) return false;
  for (std::size_t k = 0; k < d.extents.size(); ++k)
    if (d.extents[k].extent != t.extents()[k]) return false;
  return !d.value || d.value->bytes().data() == t.bytes().data() || same_elements(*d.value, t);
}

}  // namespace

bool Call::serves(std::span<const Datum> inputs) const {
  const auto& signature = state_->signature;
  if (inputs.size() != signature.size()) return false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const language::InputDescription& d = signature[k];
    if (d.present != inputs[k].is_present()) return false;
    if (const Tensor* t = inputs[k].tensor(); t && (d.is_sequence || !like(d, *t))) return false;
    const Datum::Sequence* s = inputs[k].sequence();
    if (!s) continue;
    if (!d.is_sequence || d.type != s->type || d.items.size() != s->items.size()) return false;
    for (std::size_t j = 0; j < s->items.size(); ++j)
      if (!like(d.items[j], s->items[j])) return false;
  }
  return true;
}

Result<MaybeTensors> Call::run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined) const {
  if (state_->plan) return state_->plan->run(inputs, limits, undefined);
  return evaluate_scalar(state_->program, inputs, limits, undefined);
}

}  // namespace ulpian::interp
