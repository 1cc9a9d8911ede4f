#include "interp/allowed/sums.h"

#include <algorithm>

#include "interp/allowed/deviations.h"
#include "interp/allowed/products.h"
#include "interp/allowed/rounding.h"

namespace ulpian::interp::allowed {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
bool finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }

Axes joined(const Axes& a, const Axes& b) {
  Axes out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// The numbers of one factor, made fit for plain arithmetic: what is not a finite interval is 0 here and listed in `hard`.
struct Factor {
  std::vector<double> middle, radius, magnitude;
  bool point = true;
  bool zeros = false;
  std::vector<std::int64_t> hard;
  std::vector<std::int64_t> may_be_nan, wide;  // lanes whose effect is the same on every sum that they enter
};

// `plain`: on the other side no term is filtered or may be absent.
Factor factor_of(const Lanes& v, bool plain) {
  Factor f;
  const std::size_t n = index(v.n);
  f.middle.resize(n);
  f.magnitude.resize(n);
  f.point = v.point;
  if (!f.point) f.radius.assign(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const double lo = v.lo[k], hi = v.high(i);
    const std::uint8_t flags = v.flags.empty() ? std::uint8_t{0} : v.flags[k];
    bool hard = (flags & (HasNan | Anything | NoValue)) || !finite(lo) || !finite(hi) || ((flags & Skippable) && (lo != 0 || hi != 0));
    if (hard && plain && lo == lo && !(flags & (Anything | NoValue | Excluded | Skippable))) {
      if (flags & HasNan) f.may_be_nan.push_back(i);
      hard = !finite(lo) || !finite(hi);
      if (hard && lo != hi) {
        f.wide.push_back(i);
        f.middle[k] = f.magnitude[k] = 0;
        f.zeros = true;
        continue;
      }
    }
    if (hard || (flags & Excluded)) {
      if (hard) f.hard.push_back(i);
      f.middle[k] = f.magnitude[k] = 0;
      f.zeros = true;
      continue;
    }
    if (lo == hi) {
      f.middle[k] = lo;
      f.magnitude[k] = std::fabs(lo);
      f.zeros = f.zeros || lo == 0;
      continue;
    }
    const double m = lo + (hi - lo) / 2;
    f.middle[k] = finite(m) ? m : 0;
    f.radius[k] = enlarged(std::max(above(hi - f.middle[k]), above(f.middle[k] - lo)));
    f.magnitude[k] = std::max(std::fabs(lo), std::fabs(hi));
  }
  return f;
}

}  // namespace

Sums::Totals::Totals(std::size_t n, ElementType type) : state(n, 0) {
  if (uses_doubles(type)) {
    center.resize(n), low.resize(n), magnitude.resize(n), radius.resize(n), count.resize(n);
  } else {
    center.resize(n), radius.resize(n), integers.resize(n);
  }
}

Sums::Sums(ElementType type, const Rules& rules, Axes axes, bool products)
    : type_(type),
      rules_(rules),
      axes_(std::move(axes)),
      products_(products),
      precise_(type == ElementType::F64),
      totals_(index(size_of(axes_)), type) {}

void Sums::add(const Totals& part, const Axes& axes) {
  const bool same = axes == axes_;
  const auto each = [&](const std::vector<double>& from, std::vector<double>& to) {
    std::vector<double> spread;
    if (!same) {
      spread.resize(to.size());
      broadcast(from.data(), axes, axes_, spread.data());
    }
    const std::vector<double>& source = same ? from : spread;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += source[i];
  };
  std::vector<double> high, low;
  if (precise_) {
    high.resize(totals_.center.size());
    low.resize(totals_.center.size());
    broadcast(part.center.data(), axes, axes_, high.data());
    broadcast(part.low.data(), axes, axes_, low.data());
    for (std::size_t i = 0; i < high.size(); ++i) {
      add_precisely(high[i], totals_.center[i], totals_.low[i]);
      add_precisely(low[i], totals_.center[i], totals_.low[i]);
    }
  } else {
    each(part.center, totals_.center);
  }
  each(part.radius, totals_.radius);
  if (uses_doubles(type_)) {
    each(part.magnitude, totals_.magnitude);
    each(part.count, totals_.count);
  } else {
    std::vector<std::int64_t> from(part.integers.size()), to(totals_.integers.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int64_t>(part.integers[i]);
    broadcast(from.data(), axes, axes_, to.data());
    for (std::size_t i = 0; i < to.size(); ++i) totals_.integers[i] += static_cast<std::uint64_t>(to[i]);
  }
  std::vector<std::uint8_t> state(totals_.state.size());
  broadcast(part.state.data(), axes, axes_, state.data());
  for (std::size_t i = 0; i < state.size(); ++i) totals_.state[i] |= state[i];
  totals_.most += part.most;
}

// One product (of a term: b is 1) that is not plainly finite, or may be absent.
void Sums::irregular(const Lanes& a, std::int64_t i, const Lanes& b, std::int64_t j, Totals& t, std::size_t at) const {
  const std::uint8_t flags = a.flag(i) | b.flag(j);
  std::uint8_t& state = t.state[at];
  if (flags & Excluded) return;
  if ((state & Wide) && !(flags & (Anything | NoValue))) return;  // says everything already
  if ((flags & NoValue) && (flags & Skippable)) return;           // left out, or never read
  if (flags & (Anything | NoValue)) {
    state |= AnythingAtAll;
    return;
  }
  const bool skip = (flags & Skippable) != 0;
  const double x0 = a.low(i), x1 = a.high(i), y0 = b.low(j), y1 = b.high(j);
  if (x0 != x0 || y0 != y0) {
    state |= skip ? MayBeNan : SureNan;
    return;
  }
  if (flags & HasNan) state |= MayBeNan;
  if (!finite(x0) || !finite(x1) || !finite(y0) || !finite(y1)) {
    if (x0 != x1 || y0 != y1) {
      state |= Wide;
      return;
    }
    const double p = x0 * y0;
    if (p != p) state |= skip ? MayBeNan : SureNan;
    else if (p > 0) state |= skip ? MayBePositive : SurePositive;
    else state |= skip ? MayBeNegative : SureNegative;
    return;
  }
  double lo = std::min({product_below(x0, y0), product_below(x0, y1), product_below(x1, y0), product_below(x1, y1)});
  double hi = std::max({product_above(x0, y0), product_above(x0, y1), product_above(x1, y0), product_above(x1, y1)});
  if (skip) lo = std::min(lo, 0.0), hi = std::max(hi, 0.0);
  const double m = lo == hi ? lo : lo + (hi - lo) / 2;
  if (precise_) add_precisely(m, t.center[at], t.low[at]);
  else t.center[at] += m;
  if (lo != hi) t.radius[at] += enlarged(std::max(above(hi - m), above(m - lo)));
  t.magnitude[at] += std::max(std::fabs(lo), std::fabs(hi));
  if (lo != 0 || hi != 0) t.count[at] += 1;
}

void Sums::irregular_products(const Lanes& a, const Lanes& b, const std::vector<std::int64_t>& hard_a, const std::vector<std::int64_t>& hard_b, const Parts& parts,
                              Totals& t) const {
  const std::int64_t rows = size_of(parts.rows), columns = size_of(parts.columns), inner = size_of(parts.inner);
  std::vector<bool> done(hard_b.empty() ? 0 : index(a.n));
  for (std::int64_t i : hard_a) {
    if (!done.empty()) done[index(i)] = true;
    const std::int64_t k = i % inner, r = i / inner % rows, batch = i / inner / rows;
    const std::uint8_t* state = t.state.data() + (batch * rows + r) * columns;
    const bool plain = (a.flag(i) & (Anything | NoValue)) == 0 && b.flags.empty();
    for (std::int64_t c = 0; c < columns; ++c) {
      if (plain && (state[c] & Wide)) continue;
      irregular(a, i, b, (batch * inner + k) * columns + c, t, index((batch * rows + r) * columns + c));
    }
  }
  for (std::int64_t j : hard_b) {
    const std::int64_t c = j % columns, k = j / columns % inner, batch = j / columns / inner;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t i = (batch * rows + r) * inner + k;
      if (!done[index(i)]) irregular(a, i, b, j, t, index((batch * rows + r) * columns + c));
    }
  }
}

void Sums::product_intervals(const Lanes& a, const Lanes& b, const Parts& parts, Totals& t) const {
  const ProductShape shape{size_of(parts.batch), size_of(parts.rows), size_of(parts.inner), size_of(parts.columns)};
  const auto filtered = [](const Lanes& v) {
    return std::any_of(v.flags.begin(), v.flags.end(), [](std::uint8_t f) { return (f & (Excluded | Skippable)) != 0; });
  };
  Factor x = factor_of(a, !filtered(b)), y = factor_of(b, !filtered(a));
  if (precise_) add_products_precisely(shape, x.middle.data(), y.middle.data(), t.center.data(), t.low.data());
  else allowed::add_products(shape, x.middle.data(), y.middle.data(), t.center.data());
  allowed::add_products(shape, x.magnitude.data(), y.magnitude.data(), t.magnitude.data());
  // |xy - m n| <= |m| s + r (|n| + s) for x within r of m, y within s of n; |n| + s is enlarged to twice its part only where needed.
  if (!y.point) {
    std::vector<double> m(x.middle.size());
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = std::fabs(x.middle[i]);
    allowed::add_products(shape, m.data(), y.radius.data(), t.radius.data());
  }
  if (!x.point) {
    if (y.point) {
      allowed::add_products(shape, x.radius.data(), y.magnitude.data(), t.radius.data());
    } else {
      std::vector<double> n(y.middle.size());
      for (std::size_t i = 0; i < n.size(); ++i) n[i] = enlarged(std::fabs(y.middle[i]) + y.radius[i]);
      allowed::add_products(shape, x.radius.data(), n.data(), t.radius.data());
    }
  }
  // Our own products may underflow where an end is no value of the type.
  if (!x.point || !y.point)
    for (double& r : t.radius) r += 4 * static_cast<double>(shape.inner) * std::numeric_limits<double>::denorm_min();
  if (x.zeros || y.zeros) {
    for (double& v : x.magnitude) v = v != 0;
    for (double& v : y.magnitude) v = v != 0;
    allowed::add_products(shape, x.magnitude.data(), y.magnitude.data(), t.count.data());
  } else {
    for (double& v : t.count) v += static_cast<double>(shape.inner);
  }
  const auto mark = [&](const std::vector<std::int64_t>& lanes, bool of_a, State state) {
    std::vector<std::uint8_t> lines(index(shape.batch * (of_a ? shape.rows : shape.columns)), 0);
    for (std::int64_t i : lanes) lines[index(of_a ? i / shape.inner : i / shape.columns / shape.inner * shape.columns + i % shape.columns)] = 1;
    for (std::int64_t p = 0; p < shape.batch; ++p)
      for (std::int64_t r = 0; r < shape.rows; ++r)
        for (std::int64_t c = 0; c < shape.columns; ++c)
          if (lines[index(of_a ? p * shape.rows + r : p * shape.columns + c)]) t.state[index((p * shape.rows + r) * shape.columns + c)] |= state;
  };
  if (!x.wide.empty()) mark(x.wide, true, Wide);
  if (!y.wide.empty()) mark(y.wide, false, Wide);
  if (!x.may_be_nan.empty()) mark(x.may_be_nan, true, MayBeNan);
  if (!y.may_be_nan.empty()) mark(y.may_be_nan, false, MayBeNan);
  if (!x.hard.empty() || !y.hard.empty()) irregular_products(a, b, x.hard, y.hard, parts, t);
}

void Sums::product_integers(const Lanes& a, const Lanes& b, const Parts& parts, Totals& t) const {
  const ProductShape shape{size_of(parts.batch), size_of(parts.rows), size_of(parts.inner), size_of(parts.columns)};
  const auto bits = [](const Lanes& v) {
    std::vector<std::uint64_t> out(index(v.n));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (v.flags.empty() ? 0 : v.flags[i] & Excluded) ? 0 : static_cast<std::uint64_t>(v.ilo[i]);
    return out;
  };
  const std::vector<std::uint64_t> x = bits(a), y = bits(b);
  allowed::add_products(shape, x.data(), y.data(), t.integers.data());
  const bool plain = a.point && b.point;
  const bool flagged = !a.flags.empty() || !b.flags.empty();
  if (plain && !flagged) return;
  // Slow, and rare: products that are not points.
  for (std::int64_t p = 0; p < shape.batch; ++p)
    for (std::int64_t r = 0; r < shape.rows; ++r)
      for (std::int64_t k = 0; k < shape.inner; ++k)
        for (std::int64_t c = 0; c < shape.columns; ++c) {
          const std::int64_t i = (p * shape.rows + r) * shape.inner + k, j = (p * shape.inner + k) * shape.columns + c;
          const std::size_t at = index((p * shape.rows + r) * shape.columns + c);
          const std::uint8_t f = a.flag(i) | b.flag(j);
          if (f & Excluded) continue;
          if (f & (Anything | NoValue)) t.state[at] |= AnythingAtAll;
          else if ((f & Skippable) || a.ilow(i) != a.ihigh(i) || b.ilow(j) != b.ihigh(j)) t.state[at] |= Wide;
        }
}

void Sums::add_products(const Lanes& a, const Lanes& b, const Parts& parts) {
  const Axes axes = joined(joined(parts.batch, parts.rows), parts.columns);
  const Lanes x = expanded(a, joined(joined(parts.batch, parts.rows), parts.inner));
  const Lanes y = expanded(b, joined(joined(parts.batch, parts.inner), parts.columns));
  Totals t(index(size_of(axes)), type_);
  t.most = size_of(parts.inner);
  if (uses_doubles(type_)) product_intervals(x, y, parts, t);
  else product_integers(x, y, parts, t);
  add(t, axes);
}

void Sums::add_terms(const Lanes& terms, const Axes& outer) {
  const std::int64_t rows = size_of(outer), inner = terms.n / std::max<std::int64_t>(1, rows);
  Totals t(index(rows), type_);
  t.most = inner;
  if (!uses_doubles(type_)) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = r * inner; i < (r + 1) * inner; ++i) {
        const std::uint8_t f = terms.flag(i);
        if (f & Excluded) continue;
        t.integers[index(r)] += static_cast<std::uint64_t>(terms.ilow(i));
        if (f & (Anything | NoValue)) t.state[index(r)] |= AnythingAtAll;
        if ((f & Skippable) || terms.ilow(i) != terms.ihigh(i)) t.state[index(r)] |= Wide;
      }
    return add(t, outer);
  }
  const Factor f = factor_of(terms, false);
  for (std::int64_t r = 0; r < rows; ++r) {
    double center = 0, low = 0, magnitude = 0, radius = 0, count = 0;
    for (std::size_t i = index(r * inner); i < index((r + 1) * inner); ++i) {
      if (precise_) add_precisely(f.middle[i], center, low);
      else center += f.middle[i];
      magnitude += f.magnitude[i];
      count += f.magnitude[i] != 0;
      if (!f.point) radius += f.radius[i];
    }
    t.center[index(r)] = center;
    t.low[index(r)] = low;
    t.magnitude[index(r)] = magnitude;
    t.radius[index(r)] = radius;
    t.count[index(r)] = count;
  }
  if (!f.hard.empty()) {
    Lanes one(terms.type, {}, true);
    one.lo[0] = 1;
    for (std::int64_t i : f.hard) irregular(terms, i, one, 0, t, index(i / inner));
  }
  add(t, outer);
}

void Sums::add_known(Known known, const Axes& axes) {
  Totals t(known.center.size(), type_);
  t.center = std::move(known.center);
  t.magnitude = std::move(known.magnitude);
  t.count = std::move(known.count);
  t.most = known.most;
  add(t, axes);
}

Lanes Sums::finish() const {
  Lanes out(type_, axes_, !uses_doubles(type_));
  if (is_float(type_)) out.sums = parts();
  std::vector<std::uint8_t> done(index(out.n));
  if (type_ == ElementType::F32) finish_plainly(out, done);
  for (std::int64_t i = 0; i < out.n; ++i) {
    if (done[index(i)]) continue;
    if (totals_.state[index(i)] & AnythingAtAll) set_anything(out, i);
    else if (uses_doubles(type_)) finish_float(out, i);
    else finish_integer(out, i);
  }
  return out;
}

std::shared_ptr<const SumParts> Sums::parts() const {
  auto sums = std::make_shared<SumParts>(size_of(axes_));
  const double own = (precise_ ? 0x1p-98 : 0x1p-52) * static_cast<double>(totals_.most + 4);
  for (std::size_t k = 0; k < totals_.state.size(); ++k) {
    const double magnitude = enlarged(totals_.magnitude[k] * (1 + static_cast<double>(totals_.most) * 0x1p-51));
    const double radius = enlarged(totals_.radius[k] * (1 + static_cast<double>(totals_.most) * 0x1p-51) + own * magnitude + std::fabs(totals_.low[k]));
    if (totals_.state[k] != 0 || !finite(totals_.center[k]) || !finite(radius) || !finite(magnitude)) continue;
    sums->lo[k] = below(totals_.center[k] - radius);
    sums->hi[k] = above(totals_.center[k] + radius);
    sums->magnitude[k] = magnitude;
    sums->leaves[k] = totals_.count[k] > 0 ? totals_.count[k] : OfZeros;
  }
  return sums;
}

namespace {

// As continue_sums does it, of f32's sums to which a finite number is added and that cannot leave the range: most of them. Which were done.
std::vector<std::uint8_t> continue_plainly(Primitive p, const Rules& rules, Lanes& out, std::span<const Lanes* const> a, const Accumulator& accumulator, SumParts& sums) {
  std::vector<std::uint8_t> done;
  if (out.type != ElementType::F32 || p == Primitive::Multiply || rules.profile->deviates() || accumulator.narrower || out.point) return done;
  const bool second = a[1]->sums != nullptr;
  const Lanes &x = *a[second ? 1 : 0], &y = *a[second ? 0 : 1];
  if (y.sums || !y.point || !x.flags.empty() || !y.flags.empty() || !out.flags.empty()) return done;
  done.resize(static_cast<std::size_t>(out.n));
  const SumParts& of = *x.sums;
  const double sign_x = second && p == Primitive::Subtract ? -1 : 1, sign_y = !second && p == Primitive::Subtract ? -1 : 1, u = accumulator.unit, tiny = 2 * accumulator.half_least;
  for (std::size_t k = 0; k < done.size(); ++k) {
    const double term = sign_y * y.lo[k], leaves = of.leaves[k], other = term != 0 ? 1 : 0, count = leaves + other;
    const double low = sum_below(sign_x > 0 ? of.lo[k] : -of.hi[k], term), high = sum_above(sign_x > 0 ? of.hi[k] : -of.lo[k], term), size = enlarged(of.magnitude[k] + std::fabs(term));
    const double radius = enlarged((count - 1) * u * size * (1 + (count + 1) * u) + count * tiny);
    if (!(leaves > 0) || !(count > 1) || !((size + radius) * (1 + count * u) < accumulator.largest)) continue;
    const double least = below(low - radius), most = above(high + radius);
    double from = rules.rounds ? nearest<ElementType::F32>(least) : kept_low<ElementType::F32>(least), to = rules.rounds ? nearest<ElementType::F32>(most) : kept_high<ElementType::F32>(most);
    if (before(out.lo[k], from)) from = out.lo[k];
    if (before(to, out.hi[k])) to = out.hi[k];
    if (from <= 0 && to >= 0) {
      if (from == 0) from = -0.0;
      if (to == 0) to = 0.0;
    }
    sums.lo[k] = low, sums.hi[k] = high, sums.magnitude[k] = size, sums.leaves[k] = count;
    out.lo[k] = from, out.hi[k] = to;
    done[k] = 1;
  }
  return done;
}

}  // namespace

void continue_sums(Primitive p, const Rules& rules, Lanes& out, std::span<const Lanes* const> a) {
  const bool adds = p == Primitive::Add || p == Primitive::Subtract, scales = p == Primitive::Multiply;
  if (!(adds || scales) || !(a[0]->sums || a[1]->sums) || (scales && a[0]->sums && a[1]->sums)) return;
  auto sums = std::make_shared<SumParts>(out.n);
  // In a narrower accumulator the last operation is rounded, too.
  const Accumulator accumulator = accumulator_of(*rules.profile, out.type);
  const bool narrower = accumulator.narrower;
  const FloatFormat& f = format_of(out.type);
  const double u = accumulator.unit, flush = rules.profile->admits(Freedom::Ftz, out.type) ? 2 * accumulator.least_normal : 0;
  const double last = accumulator.largest, largest = to_double(out.type, largest_finite(out.type));
  // A number that may be flushed is a union; its sum goes on all the same. So does a sum that may have overflowed: joined with more it may not.
  const std::vector<std::uint8_t> done = continue_plainly(p, rules, out, a, accumulator, *sums);
  const std::uint8_t open = HasNan | Anything | NoValue, apart = rules.profile->deviates() ? open : static_cast<std::uint8_t>(open | NotOneInterval);
  for (std::int64_t i = 0; i < out.n; ++i) {
    const std::size_t k = index(i);
    if (!done.empty() && done[k]) continue;
    double lo[2], hi[2], magnitude[2], leaves[2];
    bool any = false, plain = true;
    for (int s = 0; s < 2; ++s) {
      const Lanes& x = *a[index(s)];
      const bool sum = x.sums && x.sums->leaves[k] != 0;
      const bool in_range = sum ? adds || (x.sums->lo[k] >= -largest && x.sums->hi[k] <= largest) : finite(x.low(i)) && finite(x.high(i));
      plain = plain && in_range && !(x.flag(i) & (sum ? open : apart));
      if (sum) {
        lo[s] = x.sums->lo[k], hi[s] = x.sums->hi[k], magnitude[s] = x.sums->magnitude[k], leaves[s] = std::fmax(x.sums->leaves[k], 0);
        any = true;
      } else {
        lo[s] = x.low(i), hi[s] = x.high(i), magnitude[s] = std::max(std::fabs(lo[s]), std::fabs(hi[s])), leaves[s] = magnitude[s] != 0 ? 1 : 0;
      }
    }
    if (!any || !plain || (out.flag(i) & open)) continue;
    double low = 0, high = 0, size = 0, count = 0;
    if (adds) {
      const bool minus = p == Primitive::Subtract;
      low = sum_below(lo[0], minus ? -hi[1] : lo[1]), high = sum_above(hi[0], minus ? -lo[1] : hi[1]);
      size = enlarged(magnitude[0] + magnitude[1]);
      count = leaves[0] + leaves[1];
    } else {
      low = std::min({product_below(lo[0], lo[1]), product_below(lo[0], hi[1]), product_below(hi[0], lo[1]), product_below(hi[0], hi[1])});
      high = std::max({product_above(lo[0], lo[1]), product_above(lo[0], hi[1]), product_above(hi[0], lo[1]), product_above(hi[0], hi[1])});
      size = enlarged(magnitude[0] * magnitude[1]);
      count = leaves[a[0]->sums ? 0 : 1] > 0 ? std::max(leaves[0], leaves[1]) + 1 : 0;
    }
    sums->lo[k] = low, sums->hi[k] = high, sums->magnitude[k] = size, sums->leaves[k] = count > 0 ? count : OfZeros;
    if (count <= 1) continue;  // nothing but zeros was added
    // All of one sign and past the range: as the operands are, whatever the order.
    if ((low > largest || high < -largest) && size <= std::fmax(std::fabs(low), std::fabs(high)) * (1 + 0x1p-20)) continue;
    // Before the last rounding, which is done to the ends, n - 1 errors (docs/bounds.md, section 3).
    const double errors = narrower ? count + 1 : count - 1;
    const double radius = enlarged(errors * u * size * (1 + (count + 1) * u) + count * (2 * accumulator.half_least + flush));
    double from = below(low - radius), to = above(high + radius);
    if (rules.rounds) from = nearest(out.type, from), to = nearest(out.type, to);
    else from = kept_low(out.type, from), to = kept_high(out.type, to);
    bool positive = false, negative = false;
    if (!((size + radius) * (1 + count * u) < last)) {
      // Order-dependent overflow, as in `finish_float`.
      const double beyond = accumulator.beyond, enlargement = 1 + count * u;
      positive = !(((size + high) / 2 + radius) * enlargement < beyond), negative = !(((size - low) / 2 + radius) * enlargement < beyond);
      if ((positive && negative) || (!has_infinity(out.type) && (positive || negative))) {
        set_anything(out, i);
        continue;
      }
    }
    if (from != from || to != to) {
      set_anything(out, i);
      continue;
    }
    const bool one = !(out.flag(i) & NotOneInterval) && !positive && !negative;
    if (one) {
      if (before(out.low(i), from)) from = out.low(i);
      if (before(to, out.high(i))) to = out.high(i);
    }
    if (from <= 0 && to >= 0 && f.has_negative_zero()) {
      if (from == 0) from = -0.0;
      if (to == 0) to = 0.0;
    }
    if (one) {
      out.set(i, {from, to, 0, 0});
      continue;
    }
    Pieces pieces = pieces_at(out, i);
    pieces.push_back({from, to, 0, 0});
    if (positive) pieces.push_back({Infinity, Infinity, 0, 0});
    if (negative) pieces.push_back({-Infinity, -Infinity, 0, 0});
    set_pieces(out, i, std::move(pieces), out.flag(i));
  }
  out.sums = std::move(sums);
}

void Sums::finish_integer(Lanes& out, std::int64_t i) const {
  const auto sum = static_cast<std::int64_t>(totals_.integers[index(i)]);
  if (totals_.state[index(i)] & Wide) {
    out.set(i, whole_of(type_));
    if (type_ == ElementType::Z) set_anything(out, i);
    return;
  }
  const std::int64_t wrapped = type_ == ElementType::Z ? sum : to_int64(type_, from_int64(type_, sum));
  out.set(i, {0, 0, wrapped, wrapped});
}

// As finish_float does it, of f32's sums of several finite terms that cannot leave the range: most of them.
void Sums::finish_plainly(Lanes& out, std::vector<std::uint8_t>& done) const {
  const Accumulator accumulator = accumulator_of(*rules_.profile, type_);
  if (accumulator.narrower || rules_.profile->admits(Freedom::Ftz, type_)) return;
  const double u = accumulator.unit, last = accumulator.largest, most = static_cast<double>(totals_.most), more = 1 + most * 0x1p-51;
  const double half = products_ ? 2 * accumulator.half_least : 0;
  const bool signs = rules_.profile->admits(Freedom::SumZeroSigns, type_), rounds = rules_.rounds;
  for (std::size_t k = 0; k < done.size(); ++k) {
    const double c = totals_.center[k], n = totals_.count[k], magnitude = enlarged(totals_.magnitude[k] * more);
    const double radius = enlarged(totals_.radius[k] * more + ((most + 4) * 0x1p-52 * magnitude + (n - 1) * u * magnitude) + n * half);
    const double slack = radius + std::fabs(c) * 0x1p-52;
    double lo = c - slack, hi = c + slack;
    if (totals_.state[k] != 0 || !(n > 1) || !((magnitude + radius) * (1 + n * u) < last)) continue;
    lo = rounds ? nearest<ElementType::F32>(lo) : kept_low<ElementType::F32>(lo);
    hi = rounds ? nearest<ElementType::F32>(hi) : kept_high<ElementType::F32>(hi);
    if (signs && lo <= 0 && hi >= 0) {
      if (lo == 0) lo = -0.0;
      if (hi == 0) hi = 0.0;
    }
    out.lo[k] = lo;
    out.hi[k] = hi;
    done[k] = 1;
  }
}

void Sums::finish_float(Lanes& out, std::int64_t i) const {
  const std::size_t k = index(i);
  const std::uint8_t state = totals_.state[k];
  if ((state & SureNan) || ((state & SurePositive) && (state & SureNegative))) return set_pieces(out, i, {}, 0);
  const bool real = type_ == ElementType::R;
  const ElementType unit = real ? rules_.real_unit : type_;
  const Accumulator accumulator = accumulator_of(*rules_.profile, unit);
  const bool narrower = accumulator.narrower;
  const FloatFormat& f = format_of(unit);
  const double u = accumulator.unit, n = totals_.count[k];
  const double c = totals_.center[k], low = totals_.low[k];
  const double own = precise_ ? 0x1p-98 : 0x1p-52;  // the error of our own arithmetic per term
  const double magnitude = enlarged(totals_.magnitude[k] * (1 + static_cast<double>(totals_.most) * 0x1p-51));
  double radius = totals_.radius[k] * (1 + static_cast<double>(totals_.most) * 0x1p-51);
  // (n - 1) u S about the exact sum, before the last rounding, which is done to the ends: of a sum in any bracketing, and of products in any
  // bracketing with any of them fused (docs/bounds.md, theorem 1 and corollary of theorem 2). So `sum` of products is bounded as `dot` is.
  // A narrower accumulator rounds the last addition as well, and its roundings compound: n u S (1 + n u).
  const double leaves = narrower ? n * (1 + n * u) : n - 1;
  const bool single = n <= (narrower ? 0 : 1);
  if (!single) {
    radius += static_cast<double>(totals_.most + 4) * own * magnitude + leaves * u * magnitude;
    if (products_ || narrower) radius += 2 * n * accumulator.half_least;
    if (rules_.profile->admits(Freedom::Ftz, unit)) radius += 2 * n * accumulator.least_normal;
  }
  if (radius > 0) radius = enlarged(radius);
  double lo = 0, hi = 0;
  if (radius == 0 && single) {
    lo = hi = c;
    if (precise_ && !rules_.rounds) {
      // Of a tiny product `low` is lost.
      const bool lost = products_ && n > 0 && std::fabs(c) < 0x1p-960;
      lo = low < 0 || lost ? below(c) : c, hi = low > 0 || lost ? above(c) : c;
    }
  } else if (precise_) {
    lo = c + (low - radius * (1 + 0x1p-50));
    hi = c + (low + radius * (1 + 0x1p-50));
    lo = lo == c ? lo : below(lo), hi = hi == c ? hi : above(hi);
  } else {
    const double slack = radius + std::fabs(c) * 0x1p-52;
    lo = c - slack, hi = c + slack;
  }
  if (state & Wide) lo = -Infinity, hi = Infinity;
  std::uint8_t flags = (state & (MayBeNan | Wide)) != 0 ? std::uint8_t{HasNan} : std::uint8_t{0};
  bool positive = (state & MayBePositive) != 0, negative = (state & MayBeNegative) != 0;
  if (!real) {
    if (rules_.rounds) lo = nearest(type_, lo), hi = nearest(type_, hi);
    else lo = kept_low(type_, lo), hi = kept_high(type_, hi);
    // Order-dependent overflow: a number near the sum, or an infinity; no number between them.
    const double last = accumulator.largest, beyond = accumulator.beyond;
    const double enlargement = single ? 1 : 1 + n * u;
    if (!((magnitude + radius) * enlargement < last) && !single) {
      const bool over = !(((magnitude + c) / 2 + radius) * enlargement < beyond), under = !squares_ && !(((magnitude - c) / 2 + radius) * enlargement < beyond);
      if (over && under) return set_anything(out, i);
      if (!has_infinity(type_) && (over || under)) return set_anything(out, i);
      positive = positive || over, negative = negative || under;
    }
  }
  if (lo != lo || hi != hi) return set_anything(out, i);
  if (state & (SurePositive | SureNegative)) {
    const bool up = (state & SurePositive) != 0;
    const bool other = up ? lo == -Infinity || negative : hi == Infinity || positive;
    if (other) flags |= HasNan;
    const double inf = up ? Infinity : -Infinity;
    return set_pieces(out, i, {{inf, inf, 0, 0}}, flags);
  }
  if (rules_.profile->admits(Freedom::SumZeroSigns, unit) && lo <= 0 && hi >= 0 && (real || f.has_negative_zero())) {
    if (lo == 0) lo = -0.0;
    if (hi == 0) hi = 0.0;
  }
  Pieces pieces{{lo, hi, 0, 0}};
  if (positive) pieces.push_back({Infinity, Infinity, 0, 0});
  if (negative) pieces.push_back({-Infinity, -Infinity, 0, 0});
  if ((positive || hi == Infinity) && (negative || lo == -Infinity)) flags |= HasNan;
  if (pieces.size() == 1 && flags == 0) {
    out.lo[k] = lo;
    out.hi[k] = hi;
    return;
  }
  set_pieces(out, i, std::move(pieces), flags);
}

}  // namespace ulpian::interp::allowed
