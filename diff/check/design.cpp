#include "diff/check/design.h"

#include <algorithm>

#include "diff/check/edges.h"
#include "diff/check/programs.h"
#include "interp/session/graph_host.h"

namespace ulpian::diff {
namespace {

using core::Term;
using core::TermKind;
using P = Primitive;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// Beside a node with graphs everything may be.
constexpr Traits Everything{true, true, true, true, true};

// The traits of all calls, each on what the ones before it yield.
Traits traits_of(const language::Specification& specification, const Graph& graph, const std::vector<Datum>& inputs, const interp::Limits& limits,
                 std::shared_ptr<const interp::Call>& last) {
  Traits out;
  const interp::Makers makers(graph);
  std::vector<Datum> values(graph.values.size());
  for (const auto& [id, tensor] : graph.constants) values[at(id)] = tensor;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].is_present()) values[at(graph.inputs[k])] = inputs[k];
  for (const Node& node : graph.nodes) {
    if (has_body(node)) return Everything;
    std::vector<Datum> arguments(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) arguments[k] = values[at(node.inputs[k])];
    auto call = interp::Call::make(specification, makers, node, arguments, interp::Evaluator::Block, {}, {}, limits);
    if (!call) return out;
    last = *call;
    out.add(last->program());
    if (&node == &graph.nodes.back()) return out;
    auto results = last->run(interp::flattened(std::span<const Datum>(arguments)), limits);
    if (!results) return out;
    auto made = interp::results_of(last->program(), std::move(*results));
    for (std::size_t k = 0; k < node.outputs.size() && k < made.size(); ++k)
      if (node.outputs[k] != AbsentValue) values[at(node.outputs[k])] = std::move(made[k]);
  }
  return out;
}

// Whether the definition leaves open what becomes of data of a kind (NaN as an integer).
bool says_nothing(const Graph& graph, DrawOptions options, const interp::Call* call, DataKind kind, interp::Limits limits) {
  constexpr std::int64_t Work = std::int64_t{1} << 26;  // a fraction of a second; beyond, the check of that sample says it
  limits.work = std::min(limits.work, Work);
  options.kinds = {kind};
  const auto inputs = draw_inputs(graph, options);
  if (!inputs || !call) return false;
  const Data arguments = arguments_of(graph, graph.nodes.back(), *inputs);
  std::optional<Diagnostic> undefined;
  const auto ran = call->run(interp::flattened(std::span<const Datum>(arguments)), limits, &undefined);
  return ran.ok() && undefined.has_value();
}

}  // namespace

void Traits::add(const core::Program& program) {
  for (const Term& t : program.terms) {
    switch (t.kind) {
      case TermKind::Reduce: {
        const auto kind = static_cast<core::ReduceKind>(t.operation);
        const bool orders = kind == core::ReduceKind::Maximum || kind == core::ReduceKind::Minimum;
        if (is_float(t.type)) (orders ? choices : sums) = true;
        if (kind == core::ReduceKind::ArgMax || kind == core::ReduceKind::ArgMin) choices = true;
        break;
      }
      case TermKind::Nth: choices = true; break;
      case TermKind::Cast: {
        const ElementType from = program.term(program.arguments[t.first]).type;
        steps = steps || (is_float(from) && is_integer(t.type));
        break;
      }
      case TermKind::Primitive: {
        const ElementType from = program.term(program.arguments[t.first]).type;
        const auto primitive = static_cast<P>(t.operation);
        // A real number made of a float, where the standard rounds it once.
        steps = steps || (primitive == P::ToReal && is_float(from));
        if (!is_float(from)) break;
        switch (primitive) {
          case P::SquareRoot:
          case P::ReciprocalRoot: roots = true; break;
          case P::Floor:
          case P::Ceiling:
          case P::RoundEven:
          case P::Truncate: steps = true; break;
          case P::Minimum:
          case P::Maximum:
          case P::Sign: choices = true; break;
          case P::Power: functions = true; break;
          default:
            choices = choices || row_of(primitive).kind == PrimitiveKind::Comparison;
            functions = functions || row_of(primitive).kind == PrimitiveKind::Elementary;
        }
        break;
      }
      default: break;
    }
  }
  for (const core::TensorNode& n : program.tensors)
    sums = sums || (n.kind == core::TensorKind::Scatter && is_float(n.type) && (n.scatter.mode == core::ScatterMode::Add || n.scatter.mode == core::ScatterMode::Multiply));
}

std::vector<DataKind> kinds_for(const Traits& t, bool alone, bool edges) {
  using K = DataKind;
  std::vector<K> out{K::Bell};
  const auto take = [&](bool wanted, std::initializer_list<K> kinds) {
    for (K k : kinds)
      if (wanted && std::find(out.begin(), out.end(), k) == out.end()) out.push_back(k);
  };
  take(edges, {K::Edges});
  take(t.steps, {K::Halves});
  take(t.functions, {K::Exponents});
  take(t.roots, {K::SmallSpread});
  take(t.roots && t.sums, {K::LargeMean});
  take(t.sums, {K::Positive});
  take(alone, {K::Tiny, K::Special});
  take(t.choices, {K::Sorted, K::Ties});
  take(true, {K::WideMagnitudes, K::PowersOfTwo, K::OneHot, K::Ties, K::NearlyEqual, K::AllEqual, K::Tail, K::Sorted, K::Positive, K::Exponents, K::SmallSpread, K::LargeMean, K::Halves, K::Tiny, K::Special});
  return out;
}

bool is_single_call(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return !is_constant(n); }) == 1;
}

Design design_inputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph, const DrawOptions& options,
                     const std::vector<Datum>& inputs, const interp::Limits& limits) {
  constexpr int MostAlone = 8;
  Design out;
  std::shared_ptr<const interp::Call> call;
  const Traits traits = traits_of(*specification, *graph, inputs, limits, call);
  const bool alone = is_single_call(*graph);
  const int leading = leading_input(*graph, options);
  if (alone && graph->nodes.size() == 1 && call && leading >= 0) out.edges = edges_of(*call, *graph, inputs, static_cast<std::size_t>(leading), limits);
  out.kinds = kinds_for(traits, alone, !out.edges.empty());
  // Beyond those that the traits ask for, the rest seldom tells more.
  if (alone && leading >= 0) out.battery = std::min(MostAlone, 3 + !out.edges.empty() + traits.steps + traits.functions + traits.roots + (traits.roots && traits.sums) + 3 * traits.sums + 2 * traits.choices);
  if (out.battery > 1 && says_nothing(*graph, options, call.get(), DataKind::Special, limits)) {
    std::erase(out.kinds, DataKind::Special);
    out.kinds.push_back(DataKind::Special);
    --out.battery;
  }
  return out;
}

}  // namespace ulpian::diff
