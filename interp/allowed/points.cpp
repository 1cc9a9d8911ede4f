// Some elements of an output, apart from the others: one lane for each, whatever their indices.
#include <algorithm>
#include <set>
#include <utility>

#include "interp/allowed/equations.h"

namespace ulpian::interp::allowed {

using core::None;
using core::TensorId;
using core::TensorKind;
using core::TensorNode;
using core::Term;
using core::TermId;
using core::TermKind;
using core::Variable;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// So many elements of a tensor, in a row.
Stored empty_like(const TensorNode& n, std::int64_t count) {
  Stored s;
  s.extents = {count};
  s.lanes = Lanes(n.type, {}, true);
  s.lanes.n = count;
  s.lanes.lo.assign(uses_doubles(n.type) ? index(count) : 0, 0);
  s.lanes.ilo.assign(uses_doubles(n.type) ? 0 : index(count), 0);
  return s;
}

}  // namespace

// --- terms at points

void Evaluator::bind_points(std::span<const Variable> variables, std::span<const std::int64_t> extents, std::span<const std::int64_t> positions) {
  Binding& points = bindings_[points_];
  if (points.order == 0) points.order = ++open_;
  points.count = static_cast<std::int64_t>(positions.size());
  points.changed = ++clock_;
  std::vector<std::shared_ptr<Lanes>> indices;
  for (std::size_t d = 0; d < variables.size(); ++d) indices.push_back(std::make_shared<Lanes>(ElementType::Z, this->points(), true));
  // From one to the next mostly the last index changes alone.
  std::vector<std::int64_t> now(variables.size(), 0);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::int64_t carry = positions[i] - last;
    last = positions[i];
    for (std::size_t d = variables.size(); d-- > 0 && carry != 0;) {
      now[d] += carry;
      carry = 0;
      if (now[d] < extents[d]) break;
      carry = now[d] / extents[d];
      now[d] %= extents[d];
    }
    for (std::size_t d = 0; d < now.size(); ++d) indices[d]->ilo[i] = now[d];
  }
  for (std::size_t d = 0; d < variables.size(); ++d) {
    std::shared_ptr<Lanes> at = std::move(indices[d]);
    if (std::all_of(at->ilo.begin(), at->ilo.end(), [&](std::int64_t v) { return v == at->ilo[0]; })) {
      const std::int64_t same = at->ilo[0];
      at = std::make_shared<Lanes>(ElementType::Z, Axes{}, true);
      at->ilo[0] = same;
    }
    Binding& b = bindings_[variables[d]];
    b.bound = std::move(at);
    b.changed = ++clock_;
    point_extents_[variables[d]] = extents[d];
  }
}

void Evaluator::unbind_points(std::span<const Variable> variables) {
  for (Variable v : variables) {
    bindings_[v].bound = nullptr;
    bindings_[v].changed = ++clock_;
  }
  bindings_[points_] = {};
  point_extents_.clear();
  --open_;
}

// A term's lanes at the points, of those that it has in a box of its variables; null where such a box is not much smaller.
Value Evaluator::from_box(TermId id, bool rounds) {
  const Term& t = program_.term(id);
  const std::span<const Variable> free = program_.free_of(id);
  const bool worth = t.kind == TermKind::Primitive || t.kind == TermKind::Cast || t.kind == TermKind::Select || t.kind == TermKind::Choice;
  if (!worth || t.type == ElementType::Z || free.empty()) return nullptr;
  std::int64_t n = 1;
  for (Variable v : free) {
    const auto it = point_extents_.find(v);
    if (it == point_extents_.end() || it->second > bindings_[points_].count || (n *= it->second) > bindings_[points_].count / 4) return nullptr;
  }
  Value& boxed = boxed_[{id, rounds}];
  if (!boxed) {
    std::vector<Value> points;
    in_box_ = true;
    for (Variable v : free) {
      points.push_back(std::exchange(bindings_[v].bound, nullptr));
      open(v, point_extents_[v]);
      bind(v, 0, point_extents_[v]);
    }
    boxed = value(id, rounds);
    for (std::size_t k = 0; k < free.size(); ++k) {
      close(free[k]);
      bindings_[free[k]] = {};
      bindings_[free[k]].bound = std::move(points[k]);
      bindings_[free[k]].changed = ++clock_;
    }
    in_box_ = false;
  }
  if (boxed->axes.empty()) return boxed;
  std::vector<std::int64_t> positions(index(bindings_[points_].count), 0);
  std::int64_t stride = 1;
  for (std::size_t d = boxed->axes.size(); d-- > 0; stride *= boxed->axes[d].count) {
    const Lanes& at = *bindings_[boxed->axes[d].variable].bound;
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] += at.ilo[at.n == 1 ? 0 : i] * stride;
  }
  return std::make_shared<const Lanes>(gathered(*boxed, positions, points()));
}

// An element of a tensor that is not stored, at each point: its body there.
Value Evaluator::read_through(TermId id) {
  const Term& t = program_.term(id);
  const auto tensor = static_cast<TensorId>(t.data);
  const TensorNode& n = program_.tensor(tensor);
  const Through& through = read_through_.at(tensor);
  const auto a = program_.arguments_of(id);
  std::vector<Value> at;
  for (TermId x : a) at.push_back(value(x));
  // What is read outside has no value (a selection passes it over).
  const Axes axes = joint_axes(at);
  std::vector<std::uint8_t> outside;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto out = [&](std::int64_t i) { return i < 0 || i >= through.extents[d]; };
    if (at[d]->flags.empty() && std::ranges::none_of(at[d]->ilo, out)) continue;
    auto held = std::make_shared<Lanes>(*at_axes(at[d], axes));
    outside.resize(index(held->n));
    for (std::int64_t i = 0; i < held->n; ++i) {
      if (!out(held->ilo[index(i)]) && held->flag(i) == 0) continue;
      outside[index(i)] = 1;
      held->ilo[index(i)] = 0;
    }
    held->flags.clear();
    at[d] = std::move(held);
  }
  std::vector<std::pair<Binding, std::optional<std::int64_t>>> former;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const Variable v = n.variables[d];
    const auto known = point_extents_.find(v);
    former.emplace_back(bindings_[v], known == point_extents_.end() ? std::nullopt : std::optional(known->second));
    bindings_[v] = {};
    bindings_[v].bound = at[d];
    bindings_[v].changed = ++clock_;
    point_extents_[v] = through.extents[d];
  }
  Value out = value(n.body, through.rounds);
  for (std::size_t d = 0; d < at.size(); ++d) {
    const Variable v = n.variables[d];
    bindings_[v] = former[d].first;
    bindings_[v].changed = ++clock_;
    if (former[d].second) point_extents_[v] = *former[d].second;
    else point_extents_.erase(v);
  }
  if (outside.empty()) return out;
  auto marked = std::make_shared<Lanes>(*at_axes(out, axes));
  for (std::size_t i = 0; i < outside.size(); ++i)
    if (outside[i]) marked->mark(static_cast<std::int64_t>(i), NoValue);
  return marked;
}

// --- equations

// What elements of a tensor need, evaluated at points: tensors that are read at an index of their own only, so that each element is needed once, are not
// stored but read through; all else is evaluated. Whether a term walks over other elements.
bool Equations::prepare_points(TensorId id) {
  // Tensors that are read in a walk, and those that may be read through, with what is known of them.
  std::set<TensorId> stored;
  std::vector<TensorId> candidates{id};
  std::vector<TermId> other;
  bool walks = false;
  const auto plain_index = [&](TermId t, const auto& self) -> bool {
    const TermKind kind = p_.term(t).kind;
    if (p_.term(t).type != ElementType::Z || !(kind == TermKind::Constant || kind == TermKind::Variable || kind == TermKind::Size || kind == TermKind::Primitive)) return false;
    return std::ranges::all_of(p_.arguments_of(t), [&](TermId a) { return self(a, self); });
  };
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    std::vector<std::pair<TermId, bool>> stack{{p_.tensor(candidates[k]).body, false}};
    std::set<std::pair<TermId, bool>> seen;
    while (!stack.empty()) {
      const auto [t, walked] = stack.back();
      stack.pop_back();
      if (!seen.emplace(t, walked).second) continue;
      const Term& term = p_.term(t);
      const auto a = p_.arguments_of(t);
      bool inside = walked;
      if (term.kind == TermKind::Reduce && e_.quick && e_.quick->of(t)) {
        const core::ReduceView r = p_.reduce(t);
        for (TermId e : r.extents) other.push_back(e);
        if (r.initial != None) stack.emplace_back(r.initial, walked);
        continue;
      }
      if (term.kind == TermKind::Reduce || term.kind == TermKind::Fold || term.kind == TermKind::Nth) walks = inside = true;
      if (term.kind == TermKind::Size) other.push_back(t);
      if (term.kind == TermKind::Read || term.kind == TermKind::ReadElse) {
        const auto read = static_cast<TensorId>(term.data);
        const bool through = !inside && term.kind == TermKind::Read && p_.tensor(read).kind == TensorKind::Comprehension && !e_.tensors[read] && !is_opaque(p_.tensor(read).type) &&
                             std::ranges::all_of(a, [&](TermId x) { return plain_index(x, plain_index); });
        if (!through) stored.insert(read);
        else if (std::ranges::find(candidates, read) == candidates.end()) candidates.push_back(read);
      }
      for (TermId x : a) stack.emplace_back(x, inside);
    }
  }
  candidates.erase(candidates.begin());
  for (TensorId t : candidates) other.insert(other.end(), p_.tensor(t).extents.begin(), p_.tensor(t).extents.end());
  other.insert(other.end(), p_.tensor(id).extents.begin(), p_.tensor(id).extents.end());
  require_terms(std::move(other), {stored.begin(), stored.end()});
  e_.forget();
  // What had to be evaluated all the same is there.
  e_.read_through_nothing();
  for (TensorId t : candidates) {
    if (e_.tensors[t]) continue;
    Extents extents = extents_of(t);
    if (element_count(extents).value_or(0) > 0) e_.read_through_to(t, std::move(extents), intermediates_.rounded[t]);
    else require_terms({}, {t});
  }
  return walks;
}

AllowedTensor Equations::at(std::size_t k, std::span<const std::int64_t> positions) {
  const TensorId id = source_of(p_, p_.outputs[k]);
  const TensorNode& n = p_.tensor(id);
  const auto count = static_cast<std::int64_t>(positions.size());
  refuse_opaque(n);
  Stored s = empty_like(n, count);
  e_.charge(count * 16);
  bool apart = n.kind == TensorKind::Comprehension && !e_.tensors[id] && !sorts(id);
  Extents extents;
  if (apart) {
    const bool walks = prepare_points(id);
    extents = extents_of(id);
    // Elements of a whole output share what they walk over.
    apart = !walks || count <= element_count(extents).value_or(0) / 16;
  }
  if (!apart) {
    e_.read_through_nothing();
    require_terms({}, {id});
    for (std::int64_t i = 0; i < count; ++i) copy_lane(s.lanes, i, e_.tensors[id]->lanes, positions[index(i)]);
    return result_of(std::move(s));
  }
  // Where terms walk, their lanes are as many times more.
  constexpr std::int64_t AtOnce = 4096;
  for (std::int64_t done = 0; done < count; done += AtOnce) {
    e_.check_time();
    const auto part = positions.subspan(index(done), index(std::min(AtOnce, count - done)));
    e_.bind_points(n.variables, extents, part);
    const Value v = at_axes(e_.value(n.body, intermediates_.rounded[id]), e_.points());
    if (!v->point) s.lanes.widen();
    if (v->flags.empty() && s.lanes.flags.empty()) copy_run(s.lanes, done, *v, 0, v->n);
    else
      for (std::int64_t i = 0; i < v->n; ++i) copy_lane(s.lanes, done + i, *v, i);
    e_.unbind_points(n.variables);
  }
  e_.read_through_nothing();
  return result_of(std::move(s));
}

// Whether an element needs an order of others, which is found for all at once.
bool Equations::sorts(TensorId id) const {
  std::vector<TensorId> tensors{id};
  std::set<TensorId> seen_tensors{id};
  std::set<TermId> seen;
  while (!tensors.empty()) {
    std::vector<TermId> stack{p_.tensor(tensors.back()).body};
    tensors.pop_back();
    while (!stack.empty()) {
      const TermId t = stack.back();
      stack.pop_back();
      if (t == None || !seen.insert(t).second) continue;
      if (p_.term(t).kind == TermKind::Nth) return true;
      if (p_.term(t).kind == TermKind::Read && p_.tensor(static_cast<TensorId>(p_.term(t).data)).kind == TensorKind::Comprehension &&
          seen_tensors.insert(static_cast<TensorId>(p_.term(t).data)).second)
        tensors.push_back(static_cast<TensorId>(p_.term(t).data));
      const auto a = p_.arguments_of(t);
      stack.insert(stack.end(), a.begin(), a.end());
    }
  }
  return false;
}

}  // namespace ulpian::interp::allowed
