#include "interp/allowed/equations.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/allowed/deviations.h"
#include "interp/allowed/loops.h"
#include "interp/allowed/rounding.h"
#include "interp/allowed/sums.h"
#include "spec/core/binding.h"

namespace ulpian::interp::allowed {

using core::None;
using core::TensorId;
using core::TensorKind;
using core::TensorNode;
using core::TermId;
using core::TermKind;
using core::Variable;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t bytes_each(const Lanes& v) { return (v.point ? 8 : 16) + (v.flags.empty() ? 0 : 1); }

}  // namespace

bool is_opaque(ElementType t) { return t == ElementType::String || is_complex(t); }

// --- inputs

void Equations::hand_on() {
  hands_on_ = true;
  for (TensorId t = 0; t < intermediates_.rounded.size(); ++t)
    if (AllowedTensor::can_be_handed_on(p_.tensor(t).type)) intermediates_.rounded[t] = false;
}

void Equations::bind(std::span<const std::optional<AllowedTensor>> inputs) {
  std::vector<std::optional<core::InputShape>> shapes;
  for (const auto& t : inputs) shapes.push_back(t ? std::optional(core::InputShape{t->type(), t->extents()}) : std::nullopt);
  if (auto wrong = core::bind_inputs(p_, shapes, e_.sizes)) throw Stop{std::move(*wrong)};
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (p_.inputs[k] == None) continue;
    if (is_opaque(p_.tensor(p_.inputs[k]).type)) {  // its extents may be all that is asked
      points_ = points_ && std::ranges::none_of(inputs[k]->flags(), [](std::uint8_t f) { return f != 0; });
      continue;
    }
    Stored s = stored_of(*inputs[k], !p_.tensor(p_.inputs[k]).rounded || e_.rules.profile->admits(Freedom::ExcessIntoCasts));
    points_ = points_ && s.lanes.point;
    e_.charge(s.lanes.n * bytes_each(s.lanes));
    e_.tensors[p_.inputs[k]] = std::move(s);
  }
  if (auto wrong = core::check_extents(p_, shapes, [&](TermId e) { return std::optional(e_.known(e, "an extent of an input")); })) throw Stop{std::move(*wrong)};
}

// --- what must be evaluated

std::vector<TermId> Equations::terms_of(TensorId id) const {
  const TensorNode& n = p_.tensor(id);
  std::vector<TermId> out(n.extents);
  out.insert(out.end(), n.domain.begin(), n.domain.end());
  if (n.body != None) out.push_back(n.body);
  if (n.kind == TensorKind::Scatter) {
    out.insert(out.end(), n.scatter.index.begin(), n.scatter.index.end());
    if (n.scatter.filter != None) out.push_back(n.scatter.filter);
  }
  return out;
}

// The tensors, and those that the terms read, after what they read themselves.
void Equations::require_terms(std::vector<TermId> terms, std::vector<TensorId> wanted) {
  std::vector<bool> seen(p_.terms.size()), needed(p_.tensors.size());
  std::vector<TensorId> tensors;
  const auto need = [&](TensorId t) {
    if (t == None || needed[t]) return;
    needed[t] = true;
    tensors.push_back(t);
  };
  for (TensorId t : wanted) need(t);
  while (!terms.empty() || !tensors.empty()) {
    if (terms.empty()) {
      const TensorId t = tensors.back();
      tensors.pop_back();
      const TensorNode& n = p_.tensor(t);
      terms = terms_of(t);
      if (n.kind == TensorKind::Scatter) need(n.scatter.base);
      if (n.kind == TensorKind::Recurrence)
        for (TensorId m : p_.recurrences[n.group].members) need(m);
      if (n.kind == TensorKind::Recurrence) {
        const auto& extents = p_.recurrences[n.group].extents;
        terms.insert(terms.end(), extents.begin(), extents.end());
      }
      continue;
    }
    const TermId id = terms.back();
    terms.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const core::Term& t = p_.term(id);
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) need(static_cast<TensorId>(t.data));
    if (t.kind == TermKind::Size) need(p_.sizes[t.data].defined_by);
    const auto a = p_.arguments_of(id);
    terms.insert(terms.end(), a.begin(), a.end());
  }
  for (TensorId t = 0; t < needed.size(); ++t)
    if (needed[t] && !e_.tensors[t]) evaluate(t);
}

Truth Equations::truth(const core::Condition& condition) {
  require_terms({condition.term}, {});
  const Value v = e_.value(condition.term);
  ensure(v->n == 1);
  if (v->flag(0) & (NoValue | Anything)) return {true, true};
  return {v->ilow(0) == 0, v->ihigh(0) != 0};
}

namespace {

// An operator that admits every value on certain inputs says nothing there: that is counted, not passed. (Of uncertain inputs it is their sets
// that are wide.)
void mark_everything(Lanes& v) {
  if (!uses_doubles(v.type) || v.flags.empty()) return;
  for (std::int64_t i = 0; i < v.n; ++i)
    if ((v.flag(i) & (HasNan | NotOneInterval)) == HasNan && v.low(i) == -Infinity && v.high(i) == Infinity) v.mark(i, Anything);
}

// What was kept wider, rounded.
void round_all(Lanes& v) {
  if (!is_float(v.type) || v.type == ElementType::F64 || v.point) return;
  with_float(v.type, [&]<ElementType T>() {
    for (double& x : v.lo) x = nearest<T>(x);
    for (double& x : v.hi) x = nearest<T>(x);
    for (auto& [position, pieces] : v.unions)
      for (Piece& p : pieces) p.lo = nearest<T>(p.lo), p.hi = nearest<T>(p.hi);
  });
}

}  // namespace

AllowedTensor Equations::output(std::size_t k) {
  const TensorId id = p_.outputs[k];
  require_terms({}, {id});
  const Lanes& lanes = e_.tensors[id]->lanes;
  e_.charge(lanes.n * (bytes_each(lanes) + 2 * bytes_of(lanes.type) + 1));  // the copy, and what is made of it
  e_.check_time();
  Stored ended = *e_.tensors[id];
  round_all(ended.lanes);
  if (points_) mark_everything(ended.lanes);
  AllowedTensor out = tensor_of(ended);
  if (hands_on_ && AllowedTensor::can_be_handed_on(lanes.type) && (ended.lanes.lo != lanes.lo || ended.lanes.hi != lanes.hi))
    out.set_unrounded({lanes.lo, lanes.point ? lanes.lo : lanes.hi});
  return out;
}

AllowedTensor Equations::result_of(Stored s) const {
  round_all(s.lanes);
  if (points_) mark_everything(s.lanes);
  return tensor_of(s);
}

// --- equations

Extents Equations::extents_asked_for(TensorId id) {
  require_terms(p_.tensor(id).extents, {});
  return extents_of(id);
}

Extents Equations::extents_of(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  Extents extents;
  for (TermId e : n.extents) {
    extents.push_back(e_.known(e, fmt::format("an extent of \"{}\"", n.name)));
    if (extents.back() < 0) e_.stop(ErrorKind::Definition, fmt::format("axis {} of \"{}\" would have the extent {}", extents.size() - 1, n.name, extents.back()), n.place);
  }
  return extents;
}

void Equations::refuse_opaque(const TensorNode& n) {
  if (is_opaque(n.type)) e_.stop(ErrorKind::Unsupported, fmt::format("\"{}\": sets of {} are not available", n.name, name_of(n.type)), n.place);
}

Stored& Equations::make(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  refuse_opaque(n);
  Stored s;
  s.extents = extents_of(id);
  const auto count = element_count(s.extents);
  if (!count || *count > (std::int64_t{1} << 40)) e_.stop(ErrorKind::Limit, fmt::format("\"{}\" of extents {} is too large", n.name, to_string(s.extents)), n.place);
  e_.charge(*count * 16);
  s.lanes.type = n.type;
  s.lanes.n = *count;
  if (uses_doubles(n.type)) grow(s.lanes.lo, *count);
  else grow(s.lanes.ilo, *count);
  return e_.tensors[id].emplace(std::move(s));
}

// Clearing gigabytes takes seconds: the time is looked at between parts.
template <typename T> void Equations::grow(std::vector<T>& v, std::int64_t count) {
  constexpr std::int64_t Part = std::int64_t{1} << 24;
  v.reserve(index(count));
  for (std::int64_t done = std::min(Part, count);; done = std::min(done + Part, count)) {
    v.resize(index(done));
    if (done == count) return;
    e_.check_time();
  }
}
void Equations::widen(Lanes& v) {
  if (!v.point) return;
  if (uses_doubles(v.type)) grow(v.hi, v.n);
  else grow(v.ihi, v.n);
  v.widen();
}

void Equations::evaluate(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  refuse_opaque(n);
  e_.forget();
  switch (n.kind) {
    case TensorKind::Input: e_.stop(ErrorKind::Input, fmt::format("input \"{}\" is missing", n.name), n.place);
    case TensorKind::Literal: {
      Stored s = stored_of(AllowedTensor::exactly(*n.literal));
      e_.tensors[id] = std::move(s);
      return;
    }
    case TensorKind::Comprehension: return comprehension(id);
    case TensorKind::Recurrence: return recurrence(n.group);
    case TensorKind::Where: return where(id);
    case TensorKind::Measured: return measured(id);
    case TensorKind::Scatter: return scatter(id);
  }
}

void Equations::store(Stored& s, std::int64_t position, const Lanes& v, std::int64_t lane) {
  if (!s.lanes.flags.empty()) s.lanes.flags[index(position)] = 0;
  s.lanes.unions.erase(position);
  copy_lane(s.lanes, position, v, lane);
}

// The elements of one tensor for all values of its own variables; `prefix`: the indices before them.
void Equations::fill(TensorId id, std::span<const std::int64_t> prefix) {
  const TensorNode& n = p_.tensor(id);
  Stored& s = *e_.tensors[id];
  // A recurrence's own variables stand in front and are bound by it.
  const auto variables = std::span(n.variables).subspan(prefix.size());
  const auto extents = std::span(s.extents).subspan(prefix.size());
  std::int64_t base = 0;
  for (std::size_t d = 0; d < prefix.size(); ++d) base = base * s.extents[d] + prefix[d];
  for (std::int64_t e : extents) base *= e;
  for (std::size_t k = 0; k < variables.size(); ++k) e_.open(variables[k], extents[k]);
  const std::vector<std::int64_t> counts = e_.plan(variables, extents, std::span(&n.body, 1));
  e_.for_each_block(variables, extents, counts, [&](std::span<const std::int64_t> start) {
    const Axes axes = e_.box(variables);
    const Value v = at_axes(e_.value(n.body, intermediates_.rounded[id]), axes);
    if (!v->point) widen(s.lanes);
    std::vector<std::int64_t> count(start.size()), at(start.size(), 0);
    for (std::size_t d = 0; d < start.size(); ++d) count[d] = std::min(counts[d], extents[d] - start[d]);
    const std::int64_t inner = start.empty() ? 1 : count.back();
    const bool plain = v->flags.empty() && s.lanes.flags.empty();
    for (std::int64_t lane = 0; lane < v->n; lane += inner) {
      std::int64_t position = 0;
      for (std::size_t d = 0; d < start.size(); ++d) position = position * extents[d] + start[d] + at[d];
      position += base;
      if (plain) {
        copy_run(s.lanes, position, *v, lane, inner);
      } else {
        for (std::int64_t i = 0; i < inner; ++i) store(s, position + i, *v, lane + i);
      }
      if (v->sums) {
        if (!s.sums) s.lanes.sums = s.sums = std::make_shared<SumParts>(s.lanes.n);
        const auto copy = [&](const std::vector<double>& from, std::vector<double>& to) { std::copy(from.begin() + lane, from.begin() + lane + inner, to.begin() + position); };
        copy(v->sums->lo, s.sums->lo);
        copy(v->sums->hi, s.sums->hi);
        copy(v->sums->magnitude, s.sums->magnitude);
        copy(v->sums->leaves, s.sums->leaves);
      }
      for (std::size_t d = start.size(); d-- > 0;) {
        if (d + 1 == start.size()) continue;
        if (++at[d] < count[d]) break;
        at[d] = 0;
      }
    }
  });
  for (Variable v : variables) e_.close(v);
}

void Equations::comprehension(TensorId id) {
  make(id);
  fill(id, {});
}

void Equations::recurrence(std::uint32_t group) {
  const core::Recurrence& r = p_.recurrences[group];
  std::vector<std::int64_t> extents;
  for (TermId e : r.extents) extents.push_back(e_.known(e, "an extent of a recurrence"));
  for (TensorId m : r.members) {
    Stored& s = make(m);
    if (s.lanes.n > 0) s.lanes.flags.assign(index(s.lanes.n), NoValue);
  }
  for (std::size_t k = 0; k < r.variables.size(); ++k) e_.open(r.variables[k], extents[k]);
  const std::vector<std::int64_t> ones(r.variables.size(), 1);
  e_.for_each_block(r.variables, extents, ones, [&](std::span<const std::int64_t> at) {
    for (TensorId m : r.members) {
      e_.forget();  // what reads earlier members must be read again
      fill(m, at);
    }
  });
  for (Variable v : r.variables) e_.close(v);
  for (TensorId m : r.members) {
    Lanes& v = e_.tensors[m]->lanes;
    if (std::all_of(v.flags.begin(), v.flags.end(), [](std::uint8_t f) { return f == 0; })) v.flags.clear();
  }
}

void Equations::where(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  std::vector<std::int64_t> extents;
  for (TermId e : n.domain) extents.push_back(e_.known(e, fmt::format("an extent of \"{}\"", n.name)));
  for (std::size_t k = 0; k < n.variables.size(); ++k) e_.open(n.variables[k], extents[k]);
  // Blocks go along the first axis only, so that coordinates come out in their order.
  std::vector<std::int64_t> counts(extents);
  std::int64_t rest = 1;
  for (std::size_t k = 1; k < counts.size(); ++k) rest = std::max<std::int64_t>(1, rest * std::max<std::int64_t>(1, counts[k]));
  if (!counts.empty()) counts[0] = std::max<std::int64_t>(1, MostLanes / rest);
  std::vector<std::int64_t> rows;
  std::int64_t found = 0;  // a row over no axes has no coordinates
  e_.for_each_block(n.variables, extents, counts, [&](std::span<const std::int64_t> start) {
    const Value v = at_axes(e_.value(n.body), e_.box(n.variables));
    for (std::int64_t i = 0; i < v->n; ++i) {
      if (!v->decided(i))
        e_.stop(ErrorKind::Unsupported, fmt::format("\"{}\" has as many rows as a condition holds, and the condition is not certain: implementations may differ", n.name), n.place);
      if (v->ilow(i) == 0) continue;
      ++found;
      std::vector<std::int64_t> at(extents.size());
      std::int64_t left = i;
      for (std::size_t d = extents.size(); d-- > 0;) {
        const std::int64_t count = std::min(counts[d], extents[d] - start[d]);
        at[d] = start[d] + left % count;
        left /= count;
      }
      rows.insert(rows.end(), at.begin(), at.end());
    }
  });
  for (Variable v : n.variables) e_.close(v);
  const core::Term& size = p_.term(n.extents[0]);
  ensure(size.kind == TermKind::Size);
  e_.sizes[size.data] = found;
  e_.forget();
  Stored& s = make(id);
  for (std::size_t k = 0; k < rows.size(); ++k) s.lanes.ilo[k] = rows[k];
}

void Equations::measured(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  const std::int64_t value = e_.known(n.body, fmt::format("\"{}\"", n.name));
  for (std::size_t s = 0; s < p_.sizes.size(); ++s)
    if (p_.sizes[s].defined_by == id) e_.sizes[s] = value;
  e_.forget();
  make(id).lanes.ilo[0] = value;
}

// In any order.
Lanes Equations::sum_of(const Rules& rules, const Lanes& base, const std::vector<Lanes>& updates) const {
  const auto read = [&](const Lanes& v) { return rules.profile->admits(Freedom::Daz, v.type) ? flushed(v, true) : v; };
  Sums sums(base.type, rules, {}, false);
  sums.add_terms(read(base), {});
  for (const Lanes& u : updates) sums.add_terms(read(u), {});
  return as_result(*rules.profile, sums.finish());
}
Lanes Equations::product_of(const Rules& rules, const Lanes& base, const std::vector<Lanes>& updates) const {
  Reduction product(core::ReduceKind::Product, base.type, rules, {});
  const auto read = [&](const Lanes& v) { return rules.profile->admits(Freedom::Daz, v.type) ? flushed(v, true) : v; };
  product.add(read(base), {});
  for (const Lanes& u : updates) product.add(read(u), {});
  return as_result(*rules.profile, product.finish());
}

// Writes in ascending order. Where an index or the filter is not certain, an element may have been written or not.
void Equations::scatter(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  Stored& s = make(id);
  const Stored& base = *e_.tensors[n.scatter.base];
  s.lanes = base.lanes;
  using Mode = core::ScatterMode;
  const Mode mode = n.scatter.mode;
  Rules rules = e_.rules;
  rules.rounds = intermediates_.rounded[id];
  std::vector<std::int64_t> extents;
  for (TermId e : n.domain) extents.push_back(e_.known(e, fmt::format("an extent of \"{}\"", n.name)));
  for (std::size_t k = 0; k < n.variables.size(); ++k) e_.open(n.variables[k], extents[k]);
  std::vector<std::int64_t> counts(extents);
  std::int64_t rest = 1;
  for (std::size_t k = 1; k < counts.size(); ++k) rest = std::max<std::int64_t>(1, rest * std::max<std::int64_t>(1, counts[k]));
  if (!counts.empty()) counts[0] = std::max<std::int64_t>(1, MostLanes / rest);
  std::map<std::int64_t, std::vector<Lanes>> updates;  // per element, in order
  bool lost = false;
  e_.for_each_block(n.variables, extents, counts, [&](std::span<const std::int64_t>) {
    const Axes axes = e_.box(n.variables);
    const Value v = at_axes(e_.value(n.body, rules.rounds && mode != Mode::Add && mode != Mode::Multiply), axes);
    const Value keep = n.scatter.filter == None ? nullptr : at_axes(e_.value(n.scatter.filter), axes);
    std::vector<Value> at;
    for (TermId t : n.scatter.index) at.push_back(at_axes(e_.value(t), axes));
    for (std::int64_t i = 0; i < v->n; ++i) {
      if (keep && keep->ihigh(i) == 0) continue;
      bool sure = !keep || keep->ilow(i) != 0;
      std::vector<std::int64_t> positions{0};
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (at[d]->flag(i) & (Anything | NoValue)) lost = true;
        std::vector<std::int64_t> next;
        for (const Piece& p : pieces_at(*at[d], i)) {
          lost = lost || p.ilo < -(std::int64_t{1} << 40) || p.ihi > (std::int64_t{1} << 40) || p.ihi - p.ilo > static_cast<std::int64_t>(MostCombinations);
          for (std::int64_t k = std::max<std::int64_t>(0, p.ilo); k <= std::min(p.ihi, s.extents[d] - 1) && !lost; ++k)
            for (std::int64_t before : positions) next.push_back(before * s.extents[d] + k);
        }
        if (at[d]->ilow(i) != at[d]->ihigh(i)) sure = false;
        positions = std::move(next);
        if (positions.size() > MostCombinations) lost = true;
      }
      if (lost) return;
      for (std::int64_t position : positions) {
        Lanes one(s.lanes.type, {}, true);
        copy_lane(one, 0, *v, i);
        if (!sure) one.mark(0, Skippable);
        updates[position].push_back(std::move(one));
      }
    }
  });
  for (Variable v : n.variables) e_.close(v);
  if (lost) {
    for (std::int64_t i = 0; i < s.lanes.n; ++i) set_anything(s.lanes, i);
    return;
  }
  for (const auto& [position, list] : updates) {
    Lanes now(s.lanes.type, {}, true);
    copy_lane(now, 0, s.lanes, position);
    if (uses_doubles(s.lanes.type) && list.size() > 1 && (mode == Mode::Add || mode == Mode::Multiply)) {
      store(s, position, mode == Mode::Add ? sum_of(rules, now, list) : product_of(rules, now, list), 0);
      continue;
    }
    std::optional<Lanes> any;
    for (const Lanes& u : list) {
      Lanes plain = u;
      const bool sure = !(u.flag(0) & Skippable);
      if (!plain.flags.empty()) plain.flags[0] &= static_cast<std::uint8_t>(~Skippable);
      Lanes after = plain;
      if (mode != Mode::Last && mode != Mode::Any) {
        const Primitive p = mode == Mode::Add ? Primitive::Add : mode == Mode::Multiply ? Primitive::Multiply : mode == Mode::Maximum ? Primitive::Maximum : Primitive::Minimum;
        const Lanes* both[2] = {&now, &plain};
        after = apply_primitive(p, s.lanes.type, rules, both);
      }
      Lanes next(s.lanes.type, {}, true);
      if (mode == Mode::Any && any) set_union(next, 0, *any, 0, after, 0);
      else if (sure) copy_lane(next, 0, after, 0);
      else set_union(next, 0, now, 0, after, 0);
      now = next;
      any = now;
    }
    store(s, position, now, 0);
  }
}

}  // namespace ulpian::interp::allowed
