#include "diff/check/edges.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "diff/check/programs.h"
#include "interp/session/graph_host.h"

namespace ulpian::diff {
namespace {

using core::TermKind;

// Whether what an output is made of is read at the index of the element that is made, so that each element stands for itself.
bool goes_by_elements(const core::Program& p, core::TensorId input) {
  std::set<std::vector<core::Variable>> own;
  std::vector<core::TensorId> tensors;
  std::vector<core::TermId> terms;
  std::vector<bool> met(p.tensors.size()), seen(p.terms.size());
  const auto meet = [&](core::TensorId t) {
    if (t == core::None || met[t]) return;
    met[t] = true;
    tensors.push_back(t);
  };
  for (core::TensorId t : p.outputs) meet(t);
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const core::TensorNode& n = p.tensor(tensors[k]);
    if (n.kind == core::TensorKind::Input || n.kind == core::TensorKind::Literal) continue;
    if (n.kind != core::TensorKind::Comprehension) return false;
    own.insert(n.variables);
    terms.push_back(n.body);
    while (!terms.empty()) {
      const core::TermId id = terms.back();
      terms.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      const auto a = p.arguments_of(id);
      terms.insert(terms.end(), a.begin(), a.end());
      if (p.term(id).kind == TermKind::Read || p.term(id).kind == TermKind::ReadElse) meet(static_cast<core::TensorId>(p.term(id).data));
    }
  }
  for (core::TermId id = 0; id < p.terms.size(); ++id) {
    const core::Term& t = p.term(id);
    if (!seen[id] || (t.kind != TermKind::Read && t.kind != TermKind::ReadElse)) continue;
    const auto read = static_cast<core::TensorId>(t.data);
    if (read != input && p.tensor(read).kind != core::TensorKind::Comprehension) continue;
    std::vector<core::Variable> at;
    for (core::TermId a : p.arguments_of(id))
      if (p.term(a).kind == TermKind::Variable) at.push_back(static_cast<core::Variable>(p.term(a).data));
    if (t.kind == TermKind::ReadElse || at.size() != p.arguments_of(id).size() || !own.contains(at)) return false;
  }
  return met[input];
}

// What the answer is, as far as a step from one kind to the next counts.
std::int64_t kind_of_answer(ElementType t, Bits b) {
  if (!is_float(t)) return t == ElementType::Bool ? static_cast<std::int64_t>(b) : to_int64(t, b);
  if (is_nan(t, b)) return 9;
  const double x = to_double(t, b);
  const std::int64_t size = x == 0 ? 1 : std::isinf(x) ? 4 : std::abs(x) < std::ldexp(1.0, format_of(t).min_exponent()) ? 2 : 3;
  return std::signbit(x) && x != 0 ? -size : size;
}

class Search {
public:
  Search(const interp::Call& call, std::vector<std::optional<Tensor>> arguments, std::size_t argument, const interp::Limits& limits)
      : call_(call), arguments_(std::move(arguments)), argument_(argument), limits_(limits), type_(arguments_[argument]->type()) {}

  std::vector<Bits> run() {
    const auto most = static_cast<std::int64_t>(largest_finite(type_) & format_of(type_).magnitude_mask());
    std::vector<std::int64_t> grid;
    for (std::int64_t k = -Grid; k <= Grid; ++k) grid.push_back(static_cast<std::int64_t>(static_cast<double>(most) * static_cast<double>(k) / Grid));
    grid.front() = -most, grid.back() = most;
    auto kinds = answers(grid);
    struct Step {
      std::int64_t low, high, kind_low, kind_high;
    };
    std::vector<Step> steps;
    for (std::size_t k = 1; k < kinds.size(); ++k)
      if (kinds[k] != kinds[k - 1] && grid[k] != grid[k - 1]) steps.push_back({grid[k - 1], grid[k], kinds[k - 1], kinds[k]});
    // Of many, as for integers, some from all over.
    std::vector<Step> kept;
    for (std::size_t k = 0; k < std::min(steps.size(), MostSteps); ++k) kept.push_back(steps[k * steps.size() / std::min(steps.size(), MostSteps)]);
    while (!failed_ && std::any_of(kept.begin(), kept.end(), [](const Step& s) { return s.high - s.low > 1; })) {
      std::vector<std::int64_t> middle;
      for (const Step& s : kept) middle.push_back(s.low + (s.high - s.low) / 2);
      kinds = answers(middle);
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        Step& s = kept[k];
        if (s.high - s.low <= 1) continue;
        (kinds[k] == s.kind_low ? s.low : s.high) = middle[k];
      }
    }
    std::vector<Bits> out;
    if (failed_) return out;
    const auto add = [&](std::int64_t ordinal) {
      if (std::abs(ordinal) <= most) out.push_back(bits_of(ordinal));
    };
    for (const Step& s : kept) {
      for (std::int64_t k = -2; k <= 3; ++k) add(s.low + k);
      for (int k = 2; k <= 12; ++k)
        for (int sign : {-1, 1}) {
          const double x = to_double(type_, bits_of(s.high)) * (1 + sign * std::ldexp(1.0, -k));
          if (const Bits b = from_double(type_, x, CastMode::Saturate); x != 0) out.push_back(b);
        }
    }
    return out;
  }

private:
  static constexpr std::int64_t Grid = 1024;
  static constexpr std::size_t MostSteps = 16;

  // Floats in their order: the magnitude's code with the sign.
  Bits bits_of(std::int64_t ordinal) const { return ordinal < 0 ? static_cast<Bits>(-ordinal) | format_of(type_).sign_mask() : static_cast<Bits>(ordinal); }

  // The kinds of the answers, as many at once as the call's extents take.
  std::vector<std::int64_t> answers(const std::vector<std::int64_t>& ordinals) {
    std::vector<std::int64_t> out;
    const auto size = static_cast<std::size_t>(arguments_[argument_]->size());
    for (std::size_t start = 0; start < ordinals.size() && !failed_; start += size) {
      Tensor x(type_, Extents(arguments_[argument_]->extents()));
      const std::size_t count = std::min(ordinals.size() - start, size);
      for (std::int64_t k = 0; k < x.size(); ++k) x.set(k, bits_of(ordinals[start + std::min(static_cast<std::size_t>(k), count - 1)]));
      arguments_[argument_] = x;
      const auto y = call_.run(arguments_, limits_);
      failed_ = !y || y->empty() || !y->front() || y->front()->extents() != x.extents() || y->front()->type() == ElementType::String || is_complex(y->front()->type());
      for (std::size_t k = 0; k < count && !failed_; ++k) out.push_back(kind_of_answer(y->front()->type(), y->front()->at(static_cast<std::int64_t>(k))));
    }
    if (failed_) out.assign(ordinals.size(), 0);
    return out;
  }

  const interp::Call& call_;
  std::vector<std::optional<Tensor>> arguments_;
  std::size_t argument_;
  const interp::Limits& limits_;
  ElementType type_;
  bool failed_ = false;
};

}  // namespace

std::vector<Bits> edges_of(const interp::Call& call, const Graph& graph, const std::vector<Datum>& inputs, std::size_t input, const interp::Limits& limits) {
  constexpr std::int64_t Least = 8, Most = 1 << 20;  // elements: fewer take many runs, more much time
  const Node& node = graph.nodes.front();
  const core::Program& p = call.program();
  const Data arguments = arguments_of(graph, node, inputs);
  std::optional<std::size_t> place;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] != graph.inputs[input]) continue;
    if (place) return {};
    place = k;
  }
  if (!place || arguments.size() != p.inputs.size() || p.inputs[*place] == core::None || node.outputs.size() != 1) return {};
  const Tensor* x = arguments[*place].tensor();
  if (!x || x->size() < Least || x->size() > Most || !format_of(x->type()).has_sign || !goes_by_elements(p, p.inputs[*place])) return {};
  // Another input that is drawn counts as one element for all, or each would have edges of its own.
  for (std::size_t k = 0; k < arguments.size(); ++k)
    if (const Tensor* t = arguments[k].tensor(); k != *place && t && t->size() > 1) return {};
  return Search(call, interp::flattened(std::span<const Datum>(arguments)), *place, limits).run();
}

}  // namespace ulpian::diff
