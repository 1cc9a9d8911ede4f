#include "interp/session/call.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "interp/evaluate/evaluate.h"
#include "interp/session/graph_host.h"
#include "interp/session/open_terms.h"
#include "interp/scalar/scalar.h"
#include "spec/core/counted.h"

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

namespace {

// Whether a node's input may be of any kind, as its definition says.
bool takes_any_kind(const language::OperatorDefinition& definition, std::size_t input) {
  std::size_t k = 0;
  for (const language::Clause& c : definition.clauses)
    if (c.kind == language::ClauseKind::In && (k++ == input || c.variadic)) return c.any_kind && !c.variadic;
  return false;
}

// Whether a value is said to be a tensor or a sequence: by the graph, or by the definition of what makes it. What is left out is of no optional type.
bool is_plain(const language::Specification& specification, const Makers& makers, ValueId id) {
  const auto& values = makers.graph().values;
  if (id == AbsentValue) return true;
  if (static_cast<std::size_t>(id) >= values.size()) return false;
  const GraphValue& v = values[static_cast<std::size_t>(id)];
  if (v.is_optional) return false;
  if (v.type || makers.is_constant(id)) return true;
  const auto [node, output] = makers.maker(id);
  return node && specification.find(node->op, node->version) && !may_be_nothing(specification, *node, output);
}

}  // namespace

const Makers::Index& Makers::index() const {
  std::call_once(index_->once, [&] {
    const std::size_t count = graph_->values.size();
    const auto known = [&](ValueId id) { return id != AbsentValue && static_cast<std::size_t>(id) < count; };
    index_->is_constant.resize(count, false);
    index_->makers.resize(count, {nullptr, 0});
    for (const auto& [id, tensor] : graph_->constants)
      if (known(id)) index_->is_constant[static_cast<std::size_t>(id)] = true;
    for (const Node& n : graph_->nodes)
      for (std::size_t k = 0; k < n.outputs.size(); ++k)
        if (known(n.outputs[k])) index_->makers[static_cast<std::size_t>(n.outputs[k])] = {&n, k};
  });
  return *index_;
}

language::Call describe_call(const language::Specification& specification, const Makers& makers, const Node& node, std::span<const Datum> inputs) {
  language::Call call;
  call.op = node.op;
  call.version = node.version;
  call.attributes = node.attributes;
  call.outputs = node.outputs.size();
  while (call.outputs > 1 && node.outputs[call.outputs - 1] == AbsentValue) --call.outputs;
  const std::vector<bool> lends = static_inputs(specification, node);
  const language::OperatorDefinition* definition = specification.find(node.op, node.version);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    language::InputDescription d = describe(inputs[k]);
    if (k < lends.size() && lends[k])
      if (const Tensor* t = inputs[k].tensor()) d.value = *t;
    d.plain = definition && k < node.inputs.size() && takes_any_kind(*definition, k) && is_plain(specification, makers, node.inputs[k]);
    call.inputs.push_back(std::move(d));
  }
  return call;
}

namespace {

struct Made {
  core::Program program;
  std::optional<Plan> plan;

  Result<MaybeTensors> run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined = nullptr) const {
    return plan ? plan->run(inputs, limits, undefined) : evaluate_scalar(program, inputs, limits, undefined);
  }
};

// Of two tensors of one type and size.
bool same_at(const Tensor& a, const Tensor& b, std::int64_t position) {
  const auto k = static_cast<std::size_t>(position);
  if (a.type() == ElementType::String) return a.strings()[k] == b.strings()[k];
  if (!is_complex(a.type())) return same_element(a.type(), a.at(position), b.at(position));
  const auto width = static_cast<std::size_t>(bytes_of(a.type()));
  const auto one = [&](const Tensor& t) { return Tensor::from_bytes(t.type(), {}, t.bytes().subspan(k * width, width)); };
  return same_elements(one(a), one(b));
}

struct Difference {
  std::int64_t count = 0;
  std::size_t output = 0;  // of the first
  std::int64_t first = 0;
};

Difference difference(const MaybeTensors& one, const MaybeTensors& other) {
  Difference out;
  for (std::size_t k = 0; k < one.size(); ++k) {
    if (!one[k] || !other[k] || one[k]->extents() != other[k]->extents() || same_elements(*one[k], *other[k])) continue;
    for (std::int64_t j = 0; j < one[k]->size(); ++j)
      if (!same_at(*one[k], *other[k], j) && out.count++ == 0) out.output = k, out.first = j;
  }
  return out;
}

}  // namespace

struct Call::State {
  Made made;
  std::vector<language::InputDescription> signature;
  Evaluator evaluator = Evaluator::Block;
  block::Options block;
  // The program with what it leaves open at two values; made when first asked for. The first is `made` where that has one of them.
  std::once_flag once;
  std::vector<core::TermId> open;
  std::unique_ptr<const Made> one, other;

  // A plan refers to its program, which stays where it is.
  std::unique_ptr<const Made> planned(core::Program program) const {
    auto out = std::make_unique<Made>(Made{std::move(program), {}});
    if (evaluator == Evaluator::Block)
      if (auto plan = Plan::make(out->program, block)) out->plan = std::move(*plan);
    return out;
  }
  std::unique_ptr<const Made> with_other(std::span<const core::TermId> changed) const {
    core::Program program = one ? one->program : made.program;
    settle_differently(program, changed);
    return planned(std::move(program));
  }
};

Call::Call() : state_(std::make_unique<State>()) {}
Call::~Call() = default;

const core::Program& Call::program() const { return state_->made.program; }

Result<std::shared_ptr<const Call>> Call::make(const language::Specification& specification, const Makers& makers, const Node& node,
                                               std::span<const Datum> inputs, Evaluator evaluator,
                                               const std::vector<std::uint8_t>& alternatives, const block::Options& block, const Limits& limits) {
  const Graph& graph = makers.graph();
  language::Call description = describe_call(specification, makers, node, inputs);
  description.alternatives = alternatives;
  auto program = language::elaborate(specification, description, elaboration_limits(limits));
  if (!program) return at_node(std::move(program).error(), graph, node);
  std::shared_ptr<Call> call(new Call());
  State& s = *call->state_;
  s.made.program = std::move(*program);
  s.signature = std::move(description.inputs);
  s.evaluator = evaluator;
  s.block = block;
  if (evaluator == Evaluator::Block) {
    auto plan = Plan::make(s.made.program, block);
    if (!plan) return at_node(std::move(plan).error(), graph, node);
    s.made.plan = std::move(*plan);
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
  return state_->made.run(inputs, limits, undefined);
}

std::optional<Diagnostic> Call::open_elements(std::span<const std::optional<Tensor>> inputs, const MaybeTensors& answer, const Limits& limits) const {
  State& s = *state_;
  const core::Program& program = s.made.program;
  std::call_once(s.once, [&] {
    s.open = open_terms(program);
    if (s.open.empty()) return;
    if (core::Program turned = program; prefer_open(turned)) s.one = s.planned(std::move(turned));
    s.other = s.with_other(s.open);
  });
  if (s.open.empty()) return std::nullopt;
  Limits rest = limits;
  const auto held = [&](const MaybeTensors& tensors) {
    for (const auto& t : tensors)
      if (t) rest.memory_bytes -= static_cast<std::int64_t>(t->bytes().size());
  };
  held(answer);
  const auto one = s.one ? s.one->run(inputs, rest) : Result<MaybeTensors>(answer);
  if (!one) return std::nullopt;
  if (s.one) held(*one);
  const auto differing = [&](const Made& made) {
    const auto other = made.run(inputs, rest);
    return other ? difference(*one, *other) : Difference{};
  };
  const Difference all = differing(*s.other);
  if (all.count == 0) return std::nullopt;
  // What the first of them hangs on: of several, that which alone makes a difference there.
  core::TermId cause = s.open.front();
  for (std::size_t k = 0; s.open.size() > 1 && k < s.open.size(); ++k) {
    const Difference alone = differing(*s.with_other(std::span(s.open).subspan(k, 1)));
    if (alone.count == 0 || alone.output != all.output || alone.first != all.first) continue;
    cause = s.open[k];
    break;
  }
  Diagnostic d;
  d.kind = ErrorKind::Undefined;
  d.message = fmt::format("{}: the standard does not say what {}{} is{}", program.op, program.output_names[all.output],
                          to_string(index_of((*one)[all.output]->extents(), all.first)), all.count == 1 ? "" : ", nor " + counted(all.count - 1, "more element"));
  if (const std::uint32_t place = program.terms[cause].place; place < program.places.size()) d.place = program.places[place];
  return d;
}

}  // namespace ulpian::interp
