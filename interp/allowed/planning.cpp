// Which variables a term really depends on, and how large blocks may be.
#include <algorithm>

#include "interp/allowed/evaluator.h"

namespace ulpian::interp::allowed {

using core::None;
using core::Term;
using core::TermId;
using core::TermKind;
using core::Variable;
using P = Primitive;

namespace {

__extension__ typedef __int128 Wide;
constexpr std::int64_t Far = INT64_MAX / 4;

std::int64_t held(Wide v) { return v > Far ? Far : v < -Far ? -Far : static_cast<std::int64_t>(v); }
std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

// Bounds of an index term over the whole ranges of its variables.
Evaluator::Range Evaluator::range(TermId id) {
  const Term& t = program_.term(id);
  const auto a = program_.arguments_of(id);
  Range r{-Far, Far};
  if (t.type != ElementType::Z) return r;
  switch (t.kind) {
    case TermKind::Constant: r.lo = r.hi = std::clamp(static_cast<std::int64_t>(t.data), -Far, Far); return r;
    case TermKind::Size:
      if (sizes[t.data]) r.lo = r.hi = std::clamp(*sizes[t.data], -Far, Far);
      return r;
    case TermKind::Variable:
      if (bindings_[t.data].extent >= 0 && !bindings_[t.data].bound) r = {0, std::max<std::int64_t>(0, bindings_[t.data].extent - 1)};
      return r;
    case TermKind::Primitive: break;
    default: return r;
  }
  if (a.size() > 2 || ++depth_ > 200) {
    if (a.size() <= 2) --depth_;
    return r;
  }
  const Range x = range(a[0]), y = a.size() > 1 ? range(a[1]) : Range{0, 0};
  --depth_;
  const auto unknown = [](const Range& v) { return v.lo <= -Far || v.hi >= Far; };
  if (unknown(x) || unknown(y)) return r;
  switch (static_cast<P>(t.operation)) {
    case P::Add: return {held(static_cast<Wide>(x.lo) + y.lo), held(static_cast<Wide>(x.hi) + y.hi)};
    case P::Subtract: return {held(static_cast<Wide>(x.lo) - y.hi), held(static_cast<Wide>(x.hi) - y.lo)};
    case P::Multiply: {
      const Wide c[4] = {static_cast<Wide>(x.lo) * y.lo, static_cast<Wide>(x.lo) * y.hi, static_cast<Wide>(x.hi) * y.lo, static_cast<Wide>(x.hi) * y.hi};
      return {held(*std::min_element(c, c + 4)), held(*std::max_element(c, c + 4))};
    }
    case P::FloorDivide:
      if (y.lo == y.hi && y.lo > 0) return {floor_divide(x.lo, y.lo), floor_divide(x.hi, y.lo)};
      return r;
    case P::Quotient:
      if (y.lo == y.hi && y.lo > 0) return {x.lo / y.lo, x.hi / y.lo};
      return r;
    case P::Modulo:
      if (y.lo == y.hi && y.lo > 0) return x.lo >= 0 && x.hi < y.lo ? x : Range{0, y.lo - 1};
      return r;
    case P::Minimum: return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
    case P::Maximum: return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
    case P::Negate: return {-x.hi, -x.lo};
    default: return r;
  }
}

const std::vector<Variable>& Evaluator::effective(TermId id) {
  if (effective_[id]) return *effective_[id];
  std::vector<TermId> stack{id};
  while (!stack.empty()) {
    const TermId t = stack.back();
    if (effective_[t]) {
      stack.pop_back();
      continue;
    }
    const Term& term = program_.term(t);
    std::span<const Variable> bound;
    if (term.binders != None) {
      bound = program_.binder_lists[term.binders];
      // Their ranges, as far as they are known now.
      std::span<const TermId> extents;
      if (term.kind == TermKind::Reduce) extents = program_.reduce(t).extents;
      if (term.kind == TermKind::Fold) extents = program_.fold(t).extents;
      for (std::size_t k = 0; k < extents.size() && k < bound.size(); ++k)
        if (bindings_[bound[k]].extent < 0) {
          const Range r = range(extents[k]);
          if (r.hi < Far) bindings_[bound[k]].extent = std::max<std::int64_t>(0, r.hi);
        }
    }
    bool ready = true;
    for (TermId a : program_.arguments_of(t))
      if (!effective_[a]) {
        ready = false;
        stack.push_back(a);
      }
    if (!ready) continue;
    std::vector<Variable> all;
    const Range r = range(t);
    if (term.kind == TermKind::Variable) all.push_back(static_cast<Variable>(term.data));
    else if (r.lo != r.hi)
      for (TermId a : program_.arguments_of(t)) all.insert(all.end(), effective_[a]->begin(), effective_[a]->end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::erase_if(all, [&](Variable v) { return std::find(bound.begin(), bound.end(), v) != bound.end(); });
    effective_[t] = std::move(all);
    stack.pop_back();
  }
  return *effective_[id];
}

// The terms whose lanes `id` needs, with a guess of how many values of inner variables are taken at once.
void Evaluator::sizes_of_terms(TermId root, std::vector<char>& seen, std::vector<TermId>& out, std::unordered_map<Variable, std::int64_t>& counts) {
  std::vector<TermId> stack{root};
  while (!stack.empty()) {
    const TermId id = stack.back();
    stack.pop_back();
    if (seen[id]) continue;
    seen[id] = 1;
    const Term& t = program_.term(id);
    if (!effective(id).empty()) out.push_back(id);
    if (t.binders != None) {
      std::int64_t room = 2048;
      const auto& bound = program_.binder_lists[t.binders];
      for (std::size_t k = bound.size(); k-- > 0;) {
        if (counts.count(bound[k])) continue;
        const std::int64_t extent = bindings_[bound[k]].extent;
        const std::int64_t count = std::clamp<std::int64_t>(extent < 0 ? 1 : extent, 1, std::max<std::int64_t>(1, room));
        counts[bound[k]] = count;
        room /= count;
      }
    }
    for (TermId a : program_.arguments_of(id)) stack.push_back(a);
  }
}

std::vector<std::int64_t> Evaluator::plan(std::span<const Variable> variables, std::span<const std::int64_t> extents, std::span<const TermId> roots) {
  std::vector<std::int64_t> counts(extents.begin(), extents.end());
  std::unordered_map<Variable, std::int64_t> taken;
  for (Variable v = 0; v < bindings_.size(); ++v)
    if (bindings_[v].count > 1) taken[v] = bindings_[v].count;
  for (std::size_t k = 0; k < variables.size(); ++k) taken[variables[k]] = counts[k] = std::max<std::int64_t>(1, counts[k]);
  std::vector<char> seen(program_.terms.size(), 0);
  std::vector<TermId> terms;
  for (TermId r : roots)
    if (r != None) sizes_of_terms(r, seen, terms, taken);
  const auto lanes = [&](const std::vector<Variable>& of) {
    std::int64_t n = 1;
    bool points = false;  // of all that are bound to such, one axis
    for (Variable v : of) {
      if (const Value& bound = bindings_[v].bound; bound && !bound->axes.empty() && bound->axes[0].variable == points_) points = true;
      const auto it = taken.find(v);
      if (it != taken.end() && __builtin_mul_overflow(n, it->second, &n)) return INT64_MAX;
    }
    if (points && __builtin_mul_overflow(n, bindings_[points_].count, &n)) return INT64_MAX;
    return n;
  };
  const auto halve = [&](const std::vector<Variable>& of) {
    for (std::size_t k = 0; k < variables.size(); ++k)
      if (taken[variables[k]] > 1 && std::find(of.begin(), of.end(), variables[k]) != of.end()) {
        taken[variables[k]] = counts[k] = (counts[k] + 1) / 2;
        return true;
      }
    return false;
  };
  const std::vector<Variable> whole(variables.begin(), variables.end());
  while (lanes(whole) > MostLanes && halve(whole)) {
  }
  for (TermId t : terms)
    while (lanes(effective(t)) > MostLanes && halve(effective(t))) {
    }
  return counts;
}

}  // namespace ulpian::interp::allowed
