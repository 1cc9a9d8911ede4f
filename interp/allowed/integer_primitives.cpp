// Bool, machine integers and Z.
#include <algorithm>

#include "interp/allowed/primitives.h"
#include "interp/allowed/rounding.h"
#include "interp/canonical/canonical.h"

namespace ulpian::interp::allowed {
namespace {

using P = Primitive;
using Arguments = std::span<const Lanes* const>;
__extension__ typedef __int128 Wide;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

Wide value_of(ElementType t, std::int64_t x) { return t == ElementType::U64 ? static_cast<Wide>(static_cast<std::uint64_t>(x)) : static_cast<Wide>(x); }

Bits bits_of_integer(ElementType t, std::int64_t x) { return t == ElementType::Bool ? static_cast<Bits>(x) : from_int64(t, x); }
std::int64_t integer_value(ElementType t, Bits b) { return t == ElementType::Bool ? static_cast<std::int64_t>(b) : to_int64(t, b); }

// One primitive on numbers; empty where it has none (overflow of Z).
std::optional<std::int64_t> at_point(P p, ElementType type, ElementType result, std::span<const std::int64_t> x) {
  if (type == ElementType::Z) return integer_primitive(p, x);
  if (p == P::ToInteger) return integer_of(type, bits_of_integer(type, x[0]));
  Bits bits[2] = {};
  for (std::size_t k = 0; k < x.size(); ++k) bits[k] = bits_of_integer(type, x[k]);
  return integer_value(result, machine_primitive(p, type, std::span(bits, x.size())));
}

// The typed loops that indices run through.
bool fast_points(P p, ElementType type, Arguments a, Lanes& out) {
  if (type != ElementType::Z || a.size() != 2) return false;
  const std::int64_t *x = a[0]->ilo.data(), *y = a[1]->ilo.data();
  std::int64_t* r = out.ilo.data();
  bool overflow = false;
  switch (p) {
    case P::Add:
      for (std::int64_t i = 0; i < out.n; ++i) overflow |= __builtin_add_overflow(x[i], y[i], &r[i]);
      return !overflow;
    case P::Subtract:
      for (std::int64_t i = 0; i < out.n; ++i) overflow |= __builtin_sub_overflow(x[i], y[i], &r[i]);
      return !overflow;
    case P::Multiply:
      for (std::int64_t i = 0; i < out.n; ++i) overflow |= __builtin_mul_overflow(x[i], y[i], &r[i]);
      return !overflow;
    default: return false;
  }
}

// The bounds of a result; false where nothing better than every value is known.
bool bounds(P p, ElementType type, Arguments a, std::int64_t i, Wide& lo, Wide& hi) {
  const Wide x0 = value_of(type, a[0]->ilow(i)), x1 = value_of(type, a[0]->ihigh(i));
  const Wide y0 = a.size() > 1 ? value_of(type, a[1]->ilow(i)) : 0, y1 = a.size() > 1 ? value_of(type, a[1]->ihigh(i)) : 0;
  switch (p) {
    case P::Add: lo = x0 + y0, hi = x1 + y1; return true;
    case P::Subtract: lo = x0 - y1, hi = x1 - y0; return true;
    case P::Multiply: {
      const Wide c[4] = {x0 * y0, x0 * y1, x1 * y0, x1 * y1};
      lo = *std::min_element(c, c + 4);
      hi = *std::max_element(c, c + 4);
      return true;
    }
    case P::Minimum: lo = std::min(x0, y0), hi = std::min(x1, y1); return true;
    case P::Maximum: lo = std::max(x0, y0), hi = std::max(x1, y1); return true;
    case P::Negate: lo = -x1, hi = -x0; return true;
    case P::Absolute: lo = x0 <= 0 && x1 >= 0 ? 0 : std::min(x0 < 0 ? -x0 : x0, x1 < 0 ? -x1 : x1), hi = std::max(x0 < 0 ? -x0 : x0, x1 < 0 ? -x1 : x1); return true;
    case P::Sign: lo = x0 < 0 ? -1 : x0 > 0, hi = x1 < 0 ? -1 : x1 > 0; return true;
    case P::BitNot: lo = -1 - x1, hi = -1 - x0; return type == ElementType::Z || is_signed(type);
    case P::ToInteger: lo = x0, hi = x1; return true;
    case P::FloorDivide:
    case P::Quotient: {
      if (y0 <= 0 && y1 >= 0) return false;
      const auto divide = [&](Wide u, Wide v) {
        Wide q = u / v;
        if (p == P::FloorDivide && u % v != 0 && (u < 0) != (v < 0)) --q;
        return q;
      };
      const Wide c[4] = {divide(x0, y0), divide(x0, y1), divide(x1, y0), divide(x1, y1)};
      lo = *std::min_element(c, c + 4);
      hi = *std::max_element(c, c + 4);
      return true;
    }
    case P::Modulo:
      if (y0 <= 0) return false;
      lo = 0, hi = y1 - 1;
      if (x0 >= 0 && x1 < y0) lo = x0, hi = x1;
      return true;
    case P::Remainder:
      if (y0 <= 0) return false;
      lo = x0 < 0 ? 1 - y1 : 0, hi = x1 > 0 ? y1 - 1 : 0;
      if (x0 >= 0 && x1 < y0) lo = x0, hi = x1;
      return true;
    default: return false;
  }
}

void interval(P p, ElementType type, ElementType result, Arguments a, Lanes& out, std::int64_t i) {
  // Few numbers: all of them.
  std::uint64_t many = 1;
  for (const Lanes* x : a) {
    const auto width = static_cast<std::uint64_t>(x->ihigh(i)) - static_cast<std::uint64_t>(x->ilow(i));
    many = width >= MostCombinations ? MostCombinations + 1 : std::min<std::uint64_t>(MostCombinations + 1, many * (width + 1));
  }
  if (many <= MostCombinations) {
    Pieces pieces;
    std::uint8_t flags = 0;
    for (std::uint64_t j = 0; j < many; ++j) {
      std::int64_t x[2] = {};
      std::uint64_t rest = j;
      for (std::size_t k = 0; k < a.size(); ++k) {
        const std::uint64_t width = static_cast<std::uint64_t>(a[k]->ihigh(i)) - static_cast<std::uint64_t>(a[k]->ilow(i)) + 1;
        x[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(a[k]->ilow(i)) + rest % width);
        rest /= width;
      }
      const auto r = at_point(p, type, result, std::span(x, a.size()));
      if (r) pieces.push_back({0, 0, *r, *r});
      else flags |= Anything;
    }
    if (flags & Anything) return set_anything(out, i);
    return set_pieces(out, i, std::move(pieces), 0);
  }
  const Piece all = whole_of(result);
  Wide lo = 0, hi = 0;
  if (!bounds(p, type, a, i, lo, hi)) return out.set(i, all);
  if (lo < value_of(result, all.ilo) || hi > value_of(result, all.ihi)) {
    // Machine integers wrap; Z has no value there.
    if (result == ElementType::Z) return set_anything(out, i);
    return out.set(i, all);
  }
  out.set(i, {0, 0, static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi)});
}

}  // namespace

Lanes integer_primitive_lanes(P p, ElementType result, Arguments a) {
  const ElementType type = a[0]->type;
  const bool point = std::all_of(a.begin(), a.end(), [](const Lanes* x) { return x->point; });
  Lanes out(result, a[0]->axes, point);
  if (point && fast_points(p, type, a, out)) return out;
  for (std::int64_t i = 0; i < out.n; ++i) {
    bool exact = true;
    std::int64_t x[2] = {};
    for (std::size_t k = 0; k < a.size(); ++k) {
      x[k] = a[k]->ilow(i);
      exact = exact && a[k]->ilow(i) == a[k]->ihigh(i);
    }
    if (!exact) {
      interval(p, type, result, a, out, i);
      continue;
    }
    const auto r = at_point(p, type, result, std::span(x, a.size()));
    out.ilo[index(i)] = r.value_or(0);
    if (!out.point) out.ihi[index(i)] = r.value_or(0);
    if (!r) out.mark(i, NoValue);
  }
  return out;
}

// Of any type; the result is bool.
Lanes comparison_lanes(P p, Arguments a) {
  const ElementType type = a[0]->type;
  const bool doubles = uses_doubles(type);
  Lanes out(ElementType::Bool, a[0]->axes, true);
  const auto answer = [&](std::int64_t i, bool can_be_false, bool can_be_true) {
    out.set(i, {0, 0, can_be_false ? 0 : 1, can_be_true ? 1 : 0});
  };
  // Of x against y: whether less, equal, greater and unordered can be.
  for (std::int64_t i = 0; i < out.n; ++i) {
    if (p == P::IsNan || p == P::IsInfinite) {
      const Lanes& x = *a[0];
      if (!doubles) {
        answer(i, true, false);
        continue;
      }
      const bool numbers = x.low(i) == x.low(i), nan = !numbers || (x.flag(i) & HasNan);
      if (p == P::IsNan) {
        answer(i, numbers, nan);
        continue;
      }
      const bool infinite = numbers && (x.low(i) == -Infinity || x.high(i) == Infinity);
      const bool only = infinite && x.low(i) == x.high(i) && !(x.flag(i) & HasNan);
      answer(i, !only, infinite);
      continue;
    }
    const Lanes &x = *a[0], &y = *a[1];
    bool less = false, equal = false, greater = false, unordered = false;
    if (doubles) {
      const double x0 = x.low(i), x1 = x.high(i), y0 = y.low(i), y1 = y.high(i);
      less = x0 < y1;
      greater = x1 > y0;
      equal = x0 <= y1 && y0 <= x1;
      unordered = ((x.flag(i) | y.flag(i)) & HasNan) || x0 != x0 || y0 != y0;
    } else {
      const std::int64_t x0 = x.ilow(i), x1 = x.ihigh(i), y0 = y.ilow(i), y1 = y.ihigh(i);
      less = before(type, x0, y1);
      greater = before(type, y0, x1);
      equal = !before(type, y1, x0) && !before(type, x1, y0);
    }
    switch (p) {
      case P::Equal: answer(i, less || greater || unordered, equal); break;
      case P::NotEqual: answer(i, equal, less || greater || unordered); break;
      case P::Less: answer(i, equal || greater || unordered, less); break;
      case P::LessEqual: answer(i, greater || unordered, less || equal); break;
      case P::Greater: answer(i, equal || less || unordered, greater); break;
      case P::GreaterEqual: answer(i, less || unordered, greater || equal); break;
      default: ensure(false, std::string(name_of(p)));
    }
  }
  return out;
}

}  // namespace ulpian::interp::allowed
