#include "interp/allowed/lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulpian::interp::allowed {
namespace {

constexpr double Nan = std::numeric_limits<double>::quiet_NaN();
constexpr double Infinity = std::numeric_limits<double>::infinity();
constexpr std::uint8_t Carried = HasNan | Anything | Hulled | Excluded | NoValue | Skippable;

}  // namespace

std::int64_t size_of(const Axes& axes) {
  std::int64_t n = 1;
  for (const Axis& a : axes) n *= a.count;
  return n;
}

Lanes::Lanes(ElementType t, Axes a, bool is_point) : type(t), axes(std::move(a)), n(size_of(axes)), point(is_point) {
  const auto count = static_cast<std::size_t>(n);
  if (uses_doubles(t)) {
    lo.resize(count);
    if (!point) hi.resize(count);
  } else {
    ilo.resize(count);
    if (!point) ihi.resize(count);
  }
}

bool Lanes::decided(std::int64_t i) const {
  if (flag(i) & (Anything | NoValue | Excluded | Skippable | NotOneInterval)) return false;
  if (!uses_doubles(type)) return ilow(i) == ihigh(i);
  const double a = low(i), b = high(i);
  if (a != a) return true;
  return !(flag(i) & HasNan) && std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void Lanes::widen() {
  if (!point) return;
  hi = lo;
  ihi = ilo;
  point = false;
}

void Lanes::set(std::int64_t i, const Piece& p) {
  const auto k = static_cast<std::size_t>(i);
  if (uses_doubles(type)) {
    lo[k] = p.lo;
    if (point && std::bit_cast<std::uint64_t>(p.lo) != std::bit_cast<std::uint64_t>(p.hi)) widen();
    if (!point) hi[k] = p.hi;
  } else {
    ilo[k] = p.ilo;
    if (point && p.ilo != p.ihi) widen();
    if (!point) ihi[k] = p.ihi;
  }
}

Piece whole_of(ElementType t) {
  if (uses_doubles(t)) {
    if (t == ElementType::R || (has_infinity(t) && format_of(t).has_sign)) return {-Infinity, Infinity, 0, 0};
    return {to_double(t, lowest_finite(t)), has_infinity(t) ? Infinity : to_double(t, largest_finite(t)), 0, 0};
  }
  if (t == ElementType::Bool) return {0, 0, 0, 1};
  if (t == ElementType::Z) return {0, 0, INT64_MIN, INT64_MAX};
  if (t == ElementType::U64) return {0, 0, 0, -1};
  return {0, 0, to_int64(t, lowest_finite(t)), to_int64(t, largest_finite(t))};
}

Pieces pieces_at(const Lanes& v, std::int64_t i) {
  if (v.flag(i) & NotOneInterval) return v.unions.at(i);
  if (uses_doubles(v.type)) {
    if (v.low(i) != v.low(i)) return {};
    return {{v.low(i), v.high(i), 0, 0}};
  }
  return {{0, 0, v.ilow(i), v.ihigh(i)}};
}

void set_pieces(Lanes& v, std::int64_t i, Pieces pieces, std::uint8_t flags) {
  const bool doubles = uses_doubles(v.type);
  const auto k = static_cast<std::size_t>(i);
  if (!v.flags.empty()) v.flags[k] = 0;
  v.unions.erase(i);
  flags &= Carried;
  if (pieces.empty()) {
    if (doubles) v.set(i, {Nan, Nan, 0, 0});
    else v.set(i, {}), flags |= NoValue;
    return v.mark(i, flags);
  }
  std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) { return doubles ? before(a.lo, b.lo) : before(v.type, a.ilo, b.ilo); });
  Pieces merged;
  for (const Piece& p : pieces) {
    if (!merged.empty()) {
      Piece& last = merged.back();
      const bool touch = doubles ? !before(last.hi, p.lo) || (last.hi == p.lo) : !before(v.type, last.ihi, p.ilo) || static_cast<std::uint64_t>(p.ilo) == static_cast<std::uint64_t>(last.ihi) + 1;
      if (touch) {
        if (before(last.hi, p.hi)) last.hi = p.hi;
        if (before(v.type, last.ihi, p.ihi)) last.ihi = p.ihi;
        continue;
      }
    }
    merged.push_back(p);
  }
  Piece hull = merged.front();
  hull.hi = merged.back().hi;
  hull.ihi = merged.back().ihi;
  if (merged.size() > MostPieces) {
    merged = {hull};
    flags |= Hulled;
  }
  v.set(i, hull);
  if (merged.size() > 1) {
    v.widen();
    v.unions[i] = std::move(merged);
    flags |= NotOneInterval;
  }
  v.mark(i, flags);
}

void set_anything(Lanes& v, std::int64_t i) {
  v.unions.erase(i);
  v.set(i, whole_of(v.type));
  v.mark(i, static_cast<std::uint8_t>(Anything | (uses_doubles(v.type) ? HasNan : 0)));
  v.flags[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(~NotOneInterval);
}

void set_union(Lanes& v, std::int64_t i, const Lanes& a, std::int64_t j, const Lanes& b, std::int64_t k) {
  const std::uint8_t fa = a.flag(j), fb = b.flag(k);
  if (!((fa | fb) & NotOneInterval)) {
    // Intervals that meet.
    const bool doubles = uses_doubles(v.type);
    const bool meet = doubles ? a.low(j) <= b.high(k) && b.low(k) <= a.high(j) : !before(v.type, b.ihigh(k), a.ilow(j)) && !before(v.type, a.ihigh(j), b.ilow(k));
    if (meet) {
      if (doubles) v.set(i, {before(a.low(j), b.low(k)) ? a.low(j) : b.low(k), before(a.high(j), b.high(k)) ? b.high(k) : a.high(j), 0, 0});
      else v.set(i, {0, 0, before(v.type, a.ilow(j), b.ilow(k)) ? a.ilow(j) : b.ilow(k), before(v.type, a.ihigh(j), b.ihigh(k)) ? b.ihigh(k) : a.ihigh(j)});
      if (!v.flags.empty()) v.flags[static_cast<std::size_t>(i)] = 0;
      if (!v.unions.empty()) v.unions.erase(i);
      return v.mark(i, fa | fb);
    }
  }
  Pieces pieces = pieces_at(a, j);
  for (const Piece& p : pieces_at(b, k)) pieces.push_back(p);
  // NaN alone needs its flag once there are numbers beside it.
  const bool nan = uses_doubles(v.type) && (a.low(j) != a.low(j) || b.low(k) != b.low(k));
  set_pieces(v, i, std::move(pieces), fa | fb);
  if (nan) v.mark(i, HasNan);
}

void not_negative(Lanes& v) {
  for (std::int64_t i = 0; i < v.n; ++i)
    if (v.low(i) < 0 && !(v.flag(i) & (Anything | NoValue | NotOneInterval)) && v.high(i) >= 0) v.lo[static_cast<std::size_t>(i)] = -0.0;
  if (!v.sums) return;
  auto sums = std::make_shared<SumParts>(*v.sums);
  for (double& lo : sums->lo) lo = lo < 0 ? 0 : lo;
  v.sums = std::move(sums);
}

void copy_lane(Lanes& v, std::int64_t i, const Lanes& a, std::int64_t j) {
  if (uses_doubles(v.type)) v.set(i, {a.low(j), a.high(j), 0, 0});
  else v.set(i, {0, 0, a.ilow(j), a.ihigh(j)});
  const std::uint8_t f = a.flag(j);
  if (f) v.mark(i, f);
  if (f & NotOneInterval) {
    v.widen();
    v.unions[i] = a.unions.at(j);
  }
}

void copy_run(Lanes& to, std::int64_t position, const Lanes& from, std::int64_t lane, std::int64_t count) {
  const auto copy = [&](const auto& x, auto& y) { std::copy(x.begin() + lane, x.begin() + lane + count, y.begin() + position); };
  const bool doubles = uses_doubles(to.type);
  if (doubles) copy(from.lo, to.lo);
  else copy(from.ilo, to.ilo);
  if (to.point) return;
  if (doubles) copy(from.point ? from.lo : from.hi, to.hi);
  else copy(from.point ? from.ilo : from.ihi, to.ihi);
}

Lanes gathered(const Lanes& v, std::span<const std::int64_t> positions, const Axes& axes) {
  Lanes out(v.type, axes, v.point);
  const auto gather = [&](const auto& from, auto& to) {
    for (std::size_t i = 0; i < positions.size(); ++i) to[i] = from[static_cast<std::size_t>(positions[i])];
  };
  if (uses_doubles(v.type)) gather(v.lo, out.lo);
  else gather(v.ilo, out.ilo);
  if (!v.point && uses_doubles(v.type)) gather(v.hi, out.hi);
  if (!v.point && !uses_doubles(v.type)) gather(v.ihi, out.ihi);
  if (!v.flags.empty()) {
    out.flags.resize(positions.size());
    gather(v.flags, out.flags);
    for (std::size_t i = 0; i < positions.size() && !v.unions.empty(); ++i)
      if (out.flags[i] & NotOneInterval) out.unions[static_cast<std::int64_t>(i)] = v.unions.at(positions[i]);
  }
  if (v.sums) {
    auto sums = std::make_shared<SumParts>(out.n);
    for (std::size_t i = 0; i < positions.size(); ++i) sums->copy(i, *v.sums, static_cast<std::size_t>(positions[i]));
    out.sums = std::move(sums);
  }
  return out;
}

// --- boxes

template <class T> void broadcast(const T* from, const Axes& from_axes, const Axes& to_axes, T* to) {
  const std::size_t rank = to_axes.size();
  std::vector<std::int64_t> stride(rank, 0);
  std::int64_t step = 1;
  for (std::size_t k = from_axes.size(); k-- > 0;) {
    std::size_t d = 0;
    while (d < rank && to_axes[d].variable != from_axes[k].variable) ++d;
    ensure(d < rank && to_axes[d].count == from_axes[k].count);
    stride[d] = step;
    step *= from_axes[k].count;
  }
  if (rank == 0) {
    *to = *from;
    return;
  }
  const std::int64_t inner = to_axes[rank - 1].count, inner_stride = stride[rank - 1], total = size_of(to_axes);
  std::vector<std::int64_t> at(rank, 0);
  std::int64_t base = 0;
  for (std::int64_t done = 0; done < total; done += inner) {
    const T* row = from + base;
    if (inner_stride == 0) std::fill(to + done, to + done + inner, *row);
    else if (inner_stride == 1) std::copy(row, row + inner, to + done);
    else
      for (std::int64_t i = 0; i < inner; ++i) to[done + i] = row[i * inner_stride];
    for (std::size_t d = rank - 1; d-- > 0;) {
      base += stride[d];
      if (++at[d] < to_axes[d].count) break;
      base -= stride[d] * to_axes[d].count;
      at[d] = 0;
    }
  }
}
template void broadcast(const double*, const Axes&, const Axes&, double*);
template void broadcast(const std::int64_t*, const Axes&, const Axes&, std::int64_t*);
template void broadcast(const std::uint8_t*, const Axes&, const Axes&, std::uint8_t*);

Lanes expanded(const Lanes& v, const Axes& axes) {
  Lanes out(v.type, axes, v.point);
  if (uses_doubles(v.type)) {
    broadcast(v.lo.data(), v.axes, axes, out.lo.data());
    if (!v.point) broadcast(v.hi.data(), v.axes, axes, out.hi.data());
  } else {
    broadcast(v.ilo.data(), v.axes, axes, out.ilo.data());
    if (!v.point) broadcast(v.ihi.data(), v.axes, axes, out.ihi.data());
  }
  if (!v.flags.empty()) {
    out.flags.resize(static_cast<std::size_t>(out.n));
    broadcast(v.flags.data(), v.axes, axes, out.flags.data());
  }
  if (v.sums) {
    auto sums = std::make_shared<SumParts>(out.n);
    broadcast(v.sums->lo.data(), v.axes, axes, sums->lo.data());
    broadcast(v.sums->hi.data(), v.axes, axes, sums->hi.data());
    broadcast(v.sums->magnitude.data(), v.axes, axes, sums->magnitude.data());
    broadcast(v.sums->leaves.data(), v.axes, axes, sums->leaves.data());
    out.sums = std::move(sums);
  }
  if (!v.unions.empty()) {
    std::vector<std::int64_t> own(static_cast<std::size_t>(v.n)), where(static_cast<std::size_t>(out.n));
    for (std::int64_t i = 0; i < v.n; ++i) own[static_cast<std::size_t>(i)] = i;
    broadcast(own.data(), v.axes, axes, where.data());
    for (std::int64_t i = 0; i < out.n; ++i)
      if (out.flag(i) & NotOneInterval) out.unions[i] = v.unions.at(where[static_cast<std::size_t>(i)]);
  }
  return out;
}

Value at_axes(const Value& v, const Axes& axes) {
  if (v->axes == axes) return v;
  return std::make_shared<const Lanes>(expanded(*v, axes));
}

// --- unions

namespace {

// Zeros of both signs as two pieces: a quotient of one is an infinity, not the whole line.
Pieces signs_apart(Pieces pieces) {
  for (std::size_t k = 0; k < pieces.size(); ++k)
    if (pieces[k].lo == 0 && pieces[k].hi == 0 && negative(pieces[k].lo) && !negative(pieces[k].hi)) {
      pieces[k].hi = -0.0;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(k) + 1, {0.0, 0.0, pieces[k].ilo, pieces[k].ihi});
    }
  return pieces;
}

}  // namespace

Lanes piecewise(const Operation& f, std::span<const Lanes* const> arguments) {
  Lanes out = f(arguments);
  std::vector<std::int64_t> lanes;
  for (const Lanes* a : arguments)
    for (const auto& [i, pieces] : a->unions) lanes.push_back(i);
  if (lanes.empty()) return out;
  std::sort(lanes.begin(), lanes.end());
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  for (std::int64_t i : lanes) {
    std::vector<Pieces> choices;
    std::size_t combinations = 1;
    for (const Lanes* a : arguments) {
      choices.push_back(signs_apart(pieces_at(*a, i)));
      combinations *= std::max<std::size_t>(1, choices.back().size());
    }
    if (combinations > MostCombinations) {
      out.mark(i, Hulled);
      continue;
    }
    const Axes line = combinations > 1 ? Axes{{core::None, static_cast<std::int64_t>(combinations)}} : Axes{};
    std::vector<Lanes> parts;
    std::size_t repeat = 1;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      Lanes part(arguments[k]->type, line, false);
      const std::uint8_t flags = arguments[k]->flag(i) & Carried;
      for (std::size_t j = 0; j < combinations; ++j) {
        const auto at = static_cast<std::int64_t>(j);
        if (choices[k].empty()) part.set(at, {Nan, Nan, 0, 0});
        else part.set(at, choices[k][(j / repeat) % choices[k].size()]);
        part.mark(at, flags);
      }
      repeat *= std::max<std::size_t>(1, choices[k].size());
      parts.push_back(std::move(part));
    }
    std::vector<const Lanes*> pointers;
    for (const Lanes& p : parts) pointers.push_back(&p);
    const Lanes results = f(pointers);
    Pieces all;
    std::uint8_t flags = 0;
    for (std::int64_t j = 0; j < results.n; ++j) {
      for (const Piece& p : pieces_at(results, j)) all.push_back(p);
      if (uses_doubles(results.type) && results.low(j) != results.low(j)) flags |= HasNan;
      flags |= results.flag(j);
    }
    set_pieces(out, i, std::move(all), flags);
  }
  return out;
}

}  // namespace ulpian::interp::allowed
