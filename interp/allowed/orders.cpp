// What depends on the order of values: argmax, argmin, argsort; and folds, which run in their own order.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "interp/allowed/deviations.h"
#include "interp/allowed/loops.h"
#include "interp/allowed/rounding.h"

namespace ulpian::interp::allowed {

using core::None;
using core::ReduceKind;
using core::TermId;
using core::Variable;

namespace {

constexpr std::int64_t MostUndecidedOrder = 4096;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

Axes joined(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Less, equal, greater of two lanes as keys: NaN is greatest, zeros are equal. Certain or not.
struct Comparison {
  bool less = false, equal = false, greater = false;
};
Comparison compare_lanes(const Lanes& v, std::int64_t i, std::int64_t j) {
  Comparison c;
  if ((v.flag(i) | v.flag(j)) & Anything) return {true, true, true};
  if (!uses_doubles(v.type)) {
    c.less = before(v.type, v.ilow(i), v.ihigh(j));
    c.greater = before(v.type, v.ilow(j), v.ihigh(i));
    c.equal = !before(v.type, v.ihigh(i), v.ilow(j)) && !before(v.type, v.ihigh(j), v.ilow(i));
    return c;
  }
  const bool i_number = v.low(i) == v.low(i), j_number = v.low(j) == v.low(j);
  const bool i_nan = !i_number || (v.flag(i) & HasNan), j_nan = !j_number || (v.flag(j) & HasNan);
  if (i_number && j_number) {
    c.less = v.low(i) < v.high(j);
    c.greater = v.low(j) < v.high(i);
    c.equal = v.low(i) <= v.high(j) && v.low(j) <= v.high(i);
  }
  if (i_nan && j_nan) c.equal = true;
  if (i_nan && j_number) c.greater = true;
  if (j_nan && i_number) c.less = true;
  return c;
}

}  // namespace

Value Evaluator::arg_extreme(TermId, const core::ReduceView& view, Loop& loop) {
  if (!loop.rectangular && loop.variables.size() > 1) stop(ErrorKind::Unsupported, "positions in a region that is not a box are not available as sets");
  for (std::size_t k = 0; k < loop.variables.size(); ++k) bind(loop.variables[k], 0, std::max<std::int64_t>(1, loop.extents[k]));
  const bool none = std::any_of(loop.extents.begin(), loop.extents.end(), [](std::int64_t e) { return e <= 0; });
  if (none) return std::make_shared<Lanes>(ElementType::Z, Axes{}, true);
  const Axes inner = box(view.variables);
  Value body = value(view.bodies[0]);
  if (rules.profile->deviates()) body = std::make_shared<const Lanes>(as_operand(*rules.profile, *body));
  const Value filter = filter_of(view, loop);
  const Value both[2] = {body, filter ? filter : body};
  Axes outer = joint_axes(both);
  std::erase_if(outer, [&](const Axis& a) { return std::find(inner.begin(), inner.end(), a) != inner.end(); });
  const Axes all = joined(outer, inner);
  const Lanes v = expanded(*body, all);
  const Value keep = filter ? at_axes(filter, all) : nullptr;
  auto out = std::make_shared<Lanes>(ElementType::Z, outer, true);
  const std::int64_t n = size_of(inner);
  const bool most = view.kind == ReduceKind::ArgMax;
  std::vector<std::int64_t> candidates;
  for (std::int64_t row = 0; row < out->n; ++row) {
    // Candidates so far: none of them certainly beats, or equals and comes before, another.
    candidates.clear();
    bool poison = false;
    std::vector<std::int64_t> sure;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = row * n + k;
      const std::int64_t in = keep ? keep->ihigh(i) : 1, surely = keep ? keep->ilow(i) : 1;
      if (keep && (keep->flag(i) & NoValue)) poison = true;
      if (in == 0) continue;
      if (v.flag(i) & NoValue) {
        poison = poison || surely;
        continue;
      }
      // Whether a (which is there for certain, and before b) leaves b no chance; whether b leaves a none.
      const auto beats = [&](std::int64_t a, std::int64_t b, bool ties) {
        const Comparison c = compare_lanes(v, row * n + a, row * n + b);
        if (most) return !c.less && (ties || !c.equal);
        // NaN beats every number for argmin, too.
        const std::int64_t x = row * n + a, y = row * n + b;
        if (uses_doubles(v.type)) {
          const bool a_is_nan = v.low(x) != v.low(x), b_may_be_nan = v.low(y) != v.low(y) || (v.flag(y) & (HasNan | Anything));
          if (a_is_nan) return ties || !b_may_be_nan;
          if (b_may_be_nan || (v.flag(x) & HasNan)) return false;
        }
        return !c.greater && (ties || !c.equal);
      };
      bool lost = false;
      for (std::int64_t s : sure)
        if (beats(s, k, true)) {
          lost = true;
          break;
        }
      if (lost) continue;
      if (surely) {
        std::erase_if(candidates, [&](std::int64_t c) { return beats(k, c, false); });
        std::erase_if(sure, [&](std::int64_t c) { return beats(k, c, false); });
        sure.push_back(k);
      }
      candidates.push_back(k);
    }
    if (poison) {
      out->mark(row, NoValue);
      continue;
    }
    Pieces pieces;
    for (std::int64_t c : candidates) pieces.push_back({0, 0, c, c});
    if (sure.empty()) pieces.push_back({});  // perhaps none is there: 0
    set_pieces(*out, row, std::move(pieces), 0);
  }
  return out;
}

Value Evaluator::fold(TermId id) {
  const core::FoldView view = program_.fold(id);
  Value sum = value(view.initial);
  Loop loop{view.variables, view.extents, {}, {}, true};
  open_loop(loop);
  const auto finish = [&](const Value& v) {
    bindings_[view.accumulator].bound = nullptr;
    bindings_[view.accumulator].changed = ++clock_;
    for (Variable x : view.variables) close(x);
    return v;
  };
  if (!loop.rectangular) {
    finish(sum);
    stop(ErrorKind::Unsupported, "a fold over a region that is not a box is not available as sets", program_.term(id).place);
  }
  const std::vector<std::int64_t> ones(view.variables.size(), 1);
  for_each_block(view.variables, loop.extents, ones, [&](std::span<const std::int64_t>) {
    bindings_[view.accumulator].bound = sum;
    bindings_[view.accumulator].changed = ++clock_;
    sum = value(view.body);
  });
  return finish(sum);
}

// The index at each place of the order by the keys; where the order is not certain, every index that may stand there.
Value Evaluator::nth(TermId id) {
  const core::NthView view = program_.nth(id);
  const Value place = value(view.place);
  const std::int64_t n = known(view.extent, "the extent of an order");
  open(view.variable, n);
  if (n > 0) bind(view.variable, 0, n);
  std::vector<Value> keys;
  for (TermId k : view.keys) keys.push_back(value(k));
  const Axes inner = box(std::span(&view.variable, 1));
  Axes outer = joint_axes(keys);
  std::erase_if(outer, [&](const Axis& a) { return a.variable == view.variable; });
  close(view.variable);
  const Axes all = joined(outer, inner);
  std::vector<Lanes> rows;
  for (const Value& k : keys) rows.push_back(expanded(*k, all));
  const std::int64_t count = size_of(outer);
  // Per row: the order, or (where uncertain) how many surely and possibly stand before each index.
  std::vector<std::vector<std::int64_t>> order(index(count)), surely(index(count)), possibly(index(count));
  const auto relation = [&](std::int64_t row, std::int64_t i, std::int64_t j) {  // i before j: -1 surely, 1 surely not, 0 open
    for (const Lanes& k : rows) {
      const Comparison c = compare_lanes(k, row * n + i, row * n + j);
      const bool before_possible = view.descending ? c.greater : c.less, after_possible = view.descending ? c.less : c.greater;
      if (before_possible && !after_possible && !c.equal) return -1;
      if (after_possible && !before_possible && !c.equal) return 1;
      if (before_possible || after_possible) return 0;
    }
    return i < j ? -1 : 1;
  };
  for (std::int64_t row = 0; row < count; ++row) {
    check_time();
    bool certain = true;
    for (const Lanes& k : rows)
      for (std::int64_t i = row * n; i < (row + 1) * n && certain; ++i) certain = k.decided(i);
    if (certain) {
      auto& o = order[index(row)];
      o.resize(index(n));
      std::iota(o.begin(), o.end(), 0);
      // Equal keys are in the order of their indices: the relation is total.
      std::sort(o.begin(), o.end(), [&](std::int64_t a, std::int64_t b) { return a != b && relation(row, a, b) < 0; });
      continue;
    }
    if (n > MostUndecidedOrder) continue;
    surely[index(row)].assign(index(n), 0);
    possibly[index(row)].assign(index(n), 0);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        if (i == j) continue;
        const int r = relation(row, i, j);
        if (r < 0) ++surely[index(row)][index(j)];
        if (r <= 0) ++possibly[index(row)][index(j)];
      }
  }
  // By row and place.
  auto of_row = std::make_shared<Lanes>(ElementType::Z, outer, true);
  for (std::int64_t i = 0; i < of_row->n; ++i) of_row->ilo[index(i)] = i;
  Value pair[2] = {of_row, place};
  const Axes axes = joint_axes(pair);
  for (Value& x : pair) x = at_axes(x, axes);
  auto out = std::make_shared<Lanes>(ElementType::Z, axes, true);
  for (std::int64_t i = 0; i < out->n; ++i) {
    const std::size_t row = index(pair[0]->ilow(i));
    const std::int64_t s = pair[1]->ilow(i);
    if ((pair[1]->flag(i) & NoValue) || (s == pair[1]->ihigh(i) && (s < 0 || s >= n))) {
      out->mark(i, NoValue);
      continue;
    }
    if (s != pair[1]->ihigh(i) || (order[row].empty() && surely[row].empty())) {
      out->set(i, {0, 0, 0, n - 1});
      out->mark(i, Hulled);
      continue;
    }
    if (!order[row].empty()) {
      out->set(i, {0, 0, order[row][index(s)], order[row][index(s)]});
      continue;
    }
    Pieces pieces;
    for (std::int64_t j = 0; j < n; ++j)
      if (surely[row][index(j)] <= s && s <= possibly[row][index(j)]) pieces.push_back({0, 0, j, j});
    set_pieces(*out, i, std::move(pieces), 0);
  }
  return out;
}

}  // namespace ulpian::interp::allowed
