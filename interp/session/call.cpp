#include "interp/session/call.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/evaluate/evaluate.h"
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

language::Call describe_call(const language::Specification& specification, const Node& node, std::span<const std::optional<Tensor>> inputs) {
  language::Call call;
  call.op = node.op;
  call.version = node.version;
  call.attributes = node.attributes;
  call.outputs = node.outputs.size();
  while (call.outputs > 1 && node.outputs[call.outputs - 1] == AbsentValue) --call.outputs;
  const std::vector<bool> lends = static_inputs(specification, node);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    language::InputDescription d;
    d.present = inputs[k].has_value();
    if (inputs[k]) {
      d.type = inputs[k]->type();
      for (std::int64_t n : inputs[k]->extents()) d.extents.push_back({n, {}});
      if (k < lends.size() && lends[k]) d.value = *inputs[k];
    }
    call.inputs.push_back(std::move(d));
  }
  return call;
}

struct Call::State {
  struct Signature {
    bool present = false;
    ElementType type = ElementType::F32;
    Extents extents;
    std::optional<Tensor> value;
  };
  core::Program program;
  std::optional<Plan> plan;
  std::vector<Signature> signature;
};

Call::Call() : state_(std::make_unique<State>()) {}
Call::~Call() = default;

const core::Program& Call::program() const { return state_->program; }

Result<std::shared_ptr<const Call>> Call::make(const language::Specification& specification, const Graph& graph, const Node& node,
                                               std::span<const std::optional<Tensor>> inputs, Evaluator evaluator,
                                               const std::vector<std::uint8_t>& alternatives, const block::Options& block, const Limits& limits) {
  for (const std::optional<Tensor>& t : inputs)
    if (t && (is_complex(t->type()) || t->type() == ElementType::String)) {
      // Moving such elements needs no arithmetic, but their storage is not the evaluators' yet.
      Diagnostic d;
      d.kind = ErrorKind::Unsupported;
      d.message = fmt::format("elements of type {} are not evaluated in this edition", name_of(t->type()));
      return at_node(std::move(d), graph, node);
    }
  language::Call description = describe_call(specification, node, inputs);
  description.alternatives = alternatives;
  language::ElaborationLimits elaboration;
  elaboration.deadline = limits.deadline;
  elaboration.cancelled = limits.cancelled;
  auto program = language::elaborate(specification, description, elaboration);
  if (!program) return at_node(std::move(program).error(), graph, node);
  std::shared_ptr<Call> call(new Call());
  State& s = *call->state_;
  s.program = std::move(*program);
  for (const language::InputDescription& d : description.inputs) {
    State::Signature g;
    g.present = d.present;
    g.type = d.type;
    for (const auto& e : d.extents) g.extents.push_back(e.extent);
    g.value = d.value;
    s.signature.push_back(std::move(g));
  }
  if (evaluator == Evaluator::Block) {
    auto plan = Plan::make(s.program, block);
    if (!plan) return at_node(std::move(plan).error(), graph, node);
    s.plan = std::move(*plan);
  }
  return std::shared_ptr<const Call>(std::move(call));
}

bool Call::serves(std::span<const std::optional<Tensor>> inputs) const {
  const auto& signature = state_->signature;
  if (inputs.size() != signature.size()) return false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const State::Signature& g = signature[k];
    if (g.present != inputs[k].has_value()) return false;
    if (!g.present) continue;
    if (g.type != inputs[k]->type() || g.extents != inputs[k]->extents()) return false;
    if (g.value && !(g.value->bytes().data() == inputs[k]->bytes().data() || same_elements(*g.value, *inputs[k]))) return false;
  }
  return true;
}

Result<MaybeTensors> Call::run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined) const {
  if (state_->plan) return state_->plan->run(inputs, limits, undefined);
  return evaluate_scalar(state_->program, inputs, limits, undefined);
}

}  // namespace ulpian::interp
