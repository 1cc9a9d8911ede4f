// Reductions in the orders that numerics.md, section 3, defines.
#include <algorithm>
#include <functional>
#include <numeric>

#include "interp/canonical/canonical.h"
#include "interp/scalar/terms.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::ReduceKind;
using core::TermId;
using Cause = Poison::Cause;

// The left-full pairwise tree over n leaves, taken in order; a leaf or node may be missing, then its sibling stands for both. Ends where
// a leaf has no value.
std::optional<Value> tree(std::int64_t n, const std::function<std::optional<Value>()>& leaf, const std::function<Value(const Value&, const Value&)>& join) {
  if (n == 0) return std::nullopt;
  if (n == 1) return leaf();
  const std::int64_t left = left_part(n);
  std::optional<Value> a = tree(left, leaf, join);
  if (a && is_poison(*a)) return a;
  std::optional<Value> b = tree(n - left, leaf, join);
  if (a && b) return join(*a, *b);
  return a ? std::move(a) : std::move(b);
}

}  // namespace

Value Terms::reduce(TermId id) {
  const core::ReduceView view = program_.reduce(id);
  if (view.kind == ReduceKind::Dot) return dot(id, view);
  if (view.kind == ReduceKind::ArgMax || view.kind == ReduceKind::ArgMin) return arg_extreme(id, view);
  const ElementType type = program_.term(id).type;
  std::optional<Value> initial;
  if (view.initial != None) initial = value(view.initial);

  Loop loop(*this, view.variables, view.extents);
  const std::int64_t n = loop.count();
  bool started = false;
  const auto leaf = [&]() -> std::optional<Value> {
    if (!(started ? loop.next() : loop.first())) return std::nullopt;
    started = true;
    const Value keep = view.filter == None ? Value(Bits{1}) : value(view.filter);
    if (is_poison(keep)) return keep;
    if (!bits(keep)) return std::nullopt;
    if (view.kind == ReduceKind::Count) return Value(std::int64_t{1});
    const Value term = value(view.bodies[0]);
    return is_poison(term) ? term : apply_cast(program_.term(view.bodies[0]).type, type, CastMode::Plain, term, id);
  };
  const ReduceKind joins = view.kind == ReduceKind::Count ? ReduceKind::Sum : view.kind;
  const auto join = [&](const Value& a, const Value& b) {
    if (type == ElementType::R) check_time();  // exact numbers may be long
    return combine_values(joins, type, a, b, id);
  };
  std::optional<Value> all = tree(n, leaf, join);
  if (loop.poison()) return *loop.poison();
  if (all && is_poison(*all)) return *all;
  if (!all && initial && joins != ReduceKind::Sum && joins != ReduceKind::Product) return *initial;
  if (!all) all = neutral_value(joins, type, id);
  return initial ? join(*initial, *all) : *all;
}

Value Terms::arg_extreme(TermId id, const core::ReduceView& view) {
  const ElementType type = program_.term(view.bodies[0]).type;
  std::optional<Value> best;
  std::int64_t position = 0, at = 0;
  bool undecided = false;
  Loop loop(*this, view.variables, view.extents);
  for (bool more = loop.first(); more; more = loop.next(), ++position) {
    const Value keep = view.filter == None ? Value(Bits{1}) : value(view.filter);
    if (is_poison(keep)) return keep;
    if (!bits(keep)) continue;
    Value v = value(view.bodies[0]);
    if (is_poison(v)) return v;
    bool wins = !best;
    if (best && is_nan_value(type, *best)) {
      wins = false;
    } else if (best && is_nan_value(type, v)) {
      wins = true;
    } else if (best) {
      const int order = compare_key_values(type, v, *best, undecided);
      wins = view.kind == ReduceKind::ArgMax ? order > 0 : order < 0;
    }
    if (wins) best = std::move(v), at = position;
  }
  if (loop.poison()) return *loop.poison();
  if (undecided) return Poison{.cause = Cause::Undecided, .term = id};
  return at;
}

// One accumulator per block of 4096 positions, a fused multiply-add per term; then the pairwise tree over the blocks.
Value Terms::dot(TermId id, const core::ReduceView& view) {
  const ElementType type = program_.term(id).type;
  const auto factor = [&](int k) {
    const TermId body = view.bodies[static_cast<std::size_t>(k)];
    const Value v = value(body);
    return is_poison(v) ? v : apply_cast(program_.term(body).type, type, CastMode::Plain, v, id);
  };
  std::vector<std::optional<Value>> blocks(1);
  if (view.initial != None) blocks[0] = value(view.initial);
  std::int64_t position = 0;
  Loop loop(*this, view.variables, view.extents);
  for (bool more = loop.first(); more; more = loop.next(), ++position) {
    if (position > 0 && position % DotBlock == 0) blocks.emplace_back();
    std::optional<Value>& sum = blocks.back();
    if (sum && is_poison(*sum)) return *sum;
    const Value keep = view.filter == None ? Value(Bits{1}) : value(view.filter);
    if (is_poison(keep)) return keep;
    if (!bits(keep)) continue;
    const Value a = factor(0), b = factor(1);
    if (is_poison(a)) return a;
    if (is_poison(b)) return b;
    sum = fused_values(type, a, b, sum ? *sum : zero_value(type), id);
  }
  if (loop.poison()) return *loop.poison();
  std::size_t block = 0;
  const auto leaf = [&] { return blocks[block++]; };
  const auto join = [&](const Value& a, const Value& b) { return combine_values(ReduceKind::Sum, type, a, b, id); };
  const auto all = tree(static_cast<std::int64_t>(blocks.size()), leaf, join);
  return all ? *all : zero_value(type);
}

Value Terms::fold(TermId id) {
  const core::FoldView view = program_.fold(id);
  Value sum = value(view.initial);
  const Value former = variables_[view.accumulator];
  {
    Loop loop(*this, view.variables, view.extents);
    for (bool more = loop.first(); more && !is_poison(sum); more = loop.next()) {
      set(view.accumulator, sum);
      sum = value(view.body);
    }
    if (loop.poison()) sum = *loop.poison();
  }
  set(view.accumulator, former);
  return sum;
}

// The order does not depend on the place, so it is kept while its keys hold.
Value Terms::nth(TermId id) {
  const core::NthView view = program_.nth(id);
  const Value place = value(view.place);
  if (is_poison(place)) return place;
  bool known = false;
  if (const auto found = orders_.find(id); found != orders_.end()) {
    known = current(view.extent, found->second.clock);
    for (TermId key : view.keys)
      for (core::Variable v : program_.free_of(key)) known = known && (v == view.variable || changed_[v] <= found->second.clock);
  }
  if (!known) {
    const Value extent = value(view.extent);
    if (is_poison(extent)) return extent;
    const auto n = static_cast<std::size_t>(std::max<std::int64_t>(0, integer(extent)));
    const std::size_t each = view.keys.size() * sizeof(Value) + sizeof(std::vector<Value>) + 2 * sizeof(std::int64_t);
    if (n > (std::size_t{1} << 40) / each) stop(ErrorKind::Limit, "an order of too many elements", program_.term(id).place);
    const auto bytes = static_cast<std::int64_t>(n * each);
    charge(bytes);
    std::vector<std::vector<Value>> keys(n);
    Loop loop(*this, std::span(&view.variable, 1), std::span(&view.extent, 1));
    std::size_t j = 0;
    for (bool more = loop.first(); more; more = loop.next(), ++j)
      for (TermId key : view.keys) {
        keys[j].push_back(value(key));
        if (is_poison(keys[j].back())) {
          release(bytes);
          return keys[j].back();
        }
      }
    Order order{clock_, std::vector<std::int64_t>(n)};
    std::iota(order.places.begin(), order.places.end(), 0);
    // Equal keys keep the order of their indices, which makes the order total and stable. Thrown: an undecided comparison is no order.
    const auto before = [&](std::int64_t a, std::int64_t b) {
      tick();
      for (std::size_t k = 0; k < view.keys.size(); ++k) {
        const ElementType type = program_.term(view.keys[k]).type;
        bool undecided = false;
        const int c = compare_key_values(type, keys[static_cast<std::size_t>(a)][k], keys[static_cast<std::size_t>(b)][k], undecided);
        if (undecided) throw Poison{.cause = Cause::Undecided, .term = id};
        if (c != 0) return view.descending ? c > 0 : c < 0;
      }
      return a < b;
    };
    release(bytes);
    try {
      std::sort(order.places.begin(), order.places.end(), before);
    } catch (const Poison& poison) {
      return poison;
    }
    orders_[id] = std::move(order);
  }
  const auto& places = orders_[id].places;
  if (integer(place) < 0 || integer(place) >= static_cast<std::int64_t>(places.size())) return Poison{.cause = Cause::Empty, .term = id, .index = integer(place)};
  return places[static_cast<std::size_t>(integer(place))];
}

}  // namespace ulpian::interp
