// Reads of tensors: at certain indices, and at index sets as the union over the set.
#include <algorithm>

#include <fmt/format.h>

#include "interp/allowed/evaluator.h"

namespace ulpian::interp::allowed {

using core::Term;
using core::TermId;
using core::TermKind;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

bool has_sets(const Lanes& v) {
  if (!v.point) return true;
  return std::any_of(v.flags.begin(), v.flags.end(), [](std::uint8_t f) { return (f & (Anything | NotOneInterval)) != 0; });
}

}  // namespace

Value Evaluator::read(TermId id, bool rounds) {
  const Term& t = program_.term(id);
  const auto a = program_.arguments_of(id);
  const std::size_t rank = t.kind == TermKind::ReadElse ? a.size() - 1 : a.size();
  if (!tensors[t.data] && read_through_.contains(static_cast<core::TensorId>(t.data))) return read_through(id);
  ensure(tensors[t.data].has_value(), program_.tensor(static_cast<core::TensorId>(t.data)).name);
  std::vector<Value> at;
  bool sets = false;
  for (std::size_t d = 0; d < rank; ++d) {
    at.push_back(value(a[d]));
    sets = sets || has_sets(*at.back());
  }
  const Axes axes = joint_axes(at);
  return sets ? read_sets(id, at, axes, rounds) : read_points(id, at, axes, rounds);
}

Value Evaluator::read_points(TermId id, std::span<const Value> at, const Axes& axes, bool rounds) {
  const Term& t = program_.term(id);
  const Stored& s = *tensors[t.data];
  const std::size_t n = index(size_of(axes));
  std::vector<std::int64_t> position(n, 0), spread;
  std::vector<std::uint8_t> outside, poisoned;
  std::int64_t stride = 1;
  for (std::size_t d = at.size(); d-- > 0; stride *= s.extents[d]) {
    const Lanes& v = *at[d];
    const std::int64_t extent = s.extents[d];
    const auto [least, most] = std::minmax_element(v.ilo.begin(), v.ilo.end());
    const bool inside = *least >= 0 && *most < extent && v.flags.empty();
    if (v.n == 1 && inside) {
      const std::int64_t step = v.ilo[0] * stride;
      if (step != 0)
        for (std::int64_t& p : position) p += step;
      continue;
    }
    const std::int64_t* from = v.ilo.data();
    if (v.axes != axes) {
      spread.resize(n);
      broadcast(v.ilo.data(), v.axes, axes, spread.data());
      from = spread.data();
    }
    if (inside) {
      for (std::size_t i = 0; i < n; ++i) position[i] += from[i] * stride;
      continue;
    }
    if (outside.empty()) outside.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const bool out = from[i] < 0 || from[i] >= extent;
      outside[i] = static_cast<std::uint8_t>(outside[i] | static_cast<std::uint8_t>(out));
      position[i] += out ? 0 : from[i] * stride;
    }
    if (!v.flags.empty()) {
      std::vector<std::uint8_t> flags(n);
      broadcast(v.flags.data(), v.axes, axes, flags.data());
      if (poisoned.empty()) poisoned.assign(n, 0);
      for (std::size_t i = 0; i < n; ++i) poisoned[i] = static_cast<std::uint8_t>(poisoned[i] | (flags[i] & NoValue));
    }
  }
  const bool any_outside = std::any_of(outside.begin(), outside.end(), [](std::uint8_t o) { return o != 0; });
  std::shared_ptr<Lanes> out;
  if (s.lanes.n > 0 && !any_outside) {
    out = std::make_shared<Lanes>(gathered(s.lanes, position, axes));
  } else {
    out = std::make_shared<Lanes>(s.lanes.type, axes, s.lanes.point);
    for (std::size_t i = 0; i < n; ++i) {
      const auto lane = static_cast<std::int64_t>(i);
      if (s.lanes.n > 0 && !outside[i]) {
        copy_lane(*out, lane, s.lanes, position[i]);
      } else {
        out->set(lane, {});
        out->mark(lane, NoValue);
      }
    }
    if (s.lanes.sums) {
      auto sums = std::make_shared<SumParts>(out->n);
      for (std::size_t i = 0; i < n; ++i)
        if (!outside[i]) sums->copy(i, *s.lanes.sums, index(position[i]));
      out->sums = std::move(sums);
    }
  }
  if (t.kind == TermKind::ReadElse && any_outside) {
    std::vector<std::uint8_t> none;
    for (std::size_t i = 0; i < poisoned.size(); ++i)
      if (poisoned[i]) outside[i] = 0;
    Value merged = merge_else(id, out, outside, none, rounds);
    if (poisoned.empty()) return merged;
    out = std::make_shared<Lanes>(*merged);
    if (out->axes == axes)
      for (std::size_t i = 0; i < n; ++i) out->mark(static_cast<std::int64_t>(i), poisoned[i]);
    return out;
  }
  for (std::size_t i = 0; i < poisoned.size(); ++i) out->mark(static_cast<std::int64_t>(i), poisoned[i]);
  return out;
}

// Puts what stands behind `else` where the index is outside; `inside_too` marks lanes where it may also be inside.
Value Evaluator::merge_else(TermId id, const Value& inside, const std::vector<std::uint8_t>& outside, const std::vector<std::uint8_t>& inside_too, bool rounds) {
  const Term& t = program_.term(id);
  const bool optional = (t.flags & core::OptionalTerm) != 0;
  const Value otherwise = value(program_.arguments_of(id).back(), rounds);
  const Value both[2] = {inside, otherwise};
  const Axes axes = joint_axes(both);
  std::vector<std::uint8_t> out_spread, in_spread;
  const std::vector<std::uint8_t>*out = &outside, *in = &inside_too;
  if (inside->axes != axes) {
    out_spread.resize(index(size_of(axes)));
    broadcast(outside.data(), inside->axes, axes, out_spread.data());
    out = &out_spread;
    if (!inside_too.empty()) {
      in_spread.resize(index(size_of(axes)));
      broadcast(inside_too.data(), inside->axes, axes, in_spread.data());
      in = &in_spread;
    }
  }
  auto result = std::make_shared<Lanes>(expanded(*inside, axes));
  if (!otherwise->point) result->widen();
  const Value e = otherwise->n == 1 ? otherwise : at_axes(otherwise, axes);
  for (std::int64_t i = 0; i < result->n; ++i) {
    if (!(*out)[index(i)]) continue;
    const std::int64_t j = e->n == 1 ? 0 : i;
    if (!in->empty() && (*in)[index(i)]) {
      set_union(*result, i, *result, i, *e, j);
    } else {
      if (!result->flags.empty()) result->flags[index(i)] = 0;
      result->unions.erase(i);
      copy_lane(*result, i, *e, j);
    }
    if (optional) result->mark(i, Skippable);
  }
  return result;
}

Value Evaluator::read_sets(TermId id, std::span<const Value> at, const Axes& axes, bool rounds) {
  const Term& t = program_.term(id);
  const Stored& s = *tensors[t.data];
  std::vector<Value> spread;
  for (const Value& v : at) spread.push_back(at_axes(v, axes));
  auto out = std::make_shared<Lanes>(s.lanes.type, axes, false);
  std::vector<std::uint8_t> outside(index(out->n), 0), inside(index(out->n), 0);
  for (std::int64_t i = 0; i < out->n; ++i) {
    std::uint8_t flags = 0;
    std::vector<std::vector<std::int64_t>> choices(at.size());
    std::int64_t many = 1;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Lanes& v = *spread[d];
      flags = static_cast<std::uint8_t>(flags | (v.flag(i) & (Anything | NoValue)));
      for (const Piece& p : pieces_at(v, i)) {
        // What lies outside counts once.
        const std::int64_t from = std::max<std::int64_t>(p.ilo, -1), to = std::min(p.ihi, s.extents[d]);
        for (std::int64_t k = from; k <= to && choices[d].size() <= MostCombinations; ++k) choices[d].push_back(k);
        if (to < from) choices[d].push_back(-1);
      }
      many = std::min<std::int64_t>(MostCombinations + 1, many * static_cast<std::int64_t>(choices[d].size()));
    }
    if (flags & NoValue) {
      out->set(i, {});
      out->mark(i, NoValue);
      continue;
    }
    if ((flags & Anything) || many > static_cast<std::int64_t>(MostCombinations)) {
      set_anything(*out, i);
      continue;
    }
    Pieces pieces;
    std::uint8_t found = 0;
    for (std::int64_t c = 0; c < many; ++c) {
      std::int64_t rest = c, position = 0;
      bool out_of_range = false;
      for (std::size_t d = 0; d < at.size(); ++d) {
        const auto size = static_cast<std::int64_t>(choices[d].size());
        const std::int64_t k = choices[d][index(rest % size)];
        rest /= size;
        out_of_range = out_of_range || k < 0 || k >= s.extents[d];
        position = position * s.extents[d] + k;
      }
      if (out_of_range) {
        outside[index(i)] = 1;
        continue;
      }
      inside[index(i)] = 1;
      for (const Piece& p : pieces_at(s.lanes, position)) pieces.push_back(p);
      found |= s.lanes.flag(position);
      if (uses_doubles(out->type) && s.lanes.low(position) != s.lanes.low(position)) found |= HasNan;
    }
    if (inside[index(i)]) {
      set_pieces(*out, i, std::move(pieces), found);
      if (found & Anything) set_anything(*out, i);
    } else {
      out->set(i, {});
      out->mark(i, NoValue);
    }
  }
  const bool any = std::any_of(outside.begin(), outside.end(), [](std::uint8_t o) { return o != 0; });
  if (t.kind == TermKind::ReadElse && any) return merge_else(id, out, outside, inside, rounds);
  return out;
}

}  // namespace ulpian::interp::allowed
