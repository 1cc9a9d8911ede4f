// Numbers of R: bounds of the real value, with one rounding of the type that an implementation computes in after each operation.
#include <algorithm>

#include "interp/allowed/deviations.h"
#include "interp/allowed/primitives.h"
#include "interp/allowed/rounding.h"
#include "interp/canonical/canonical.h"

namespace ulpian::interp::allowed {
namespace {

using P = Primitive;
using Arguments = std::span<const Lanes* const>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// The value may be exact, or rounded to the unit.
void round_lane(const Rules& rules, double& lo, double& hi) {
  if (lo != lo || hi != hi) return;
  lo = std::min(lo, nearest(rules.real_unit, lo));
  hi = std::max(hi, nearest(rules.real_unit, hi));
}

void exact_of(const Lanes& a, std::int64_t i, double& lo, double& hi) {
  if (uses_doubles(a.type)) {
    lo = a.low(i), hi = a.high(i);
    return;
  }
  const auto number = [&](std::int64_t x, int side) {
    const double d = a.type == ElementType::U64 ? static_cast<double>(static_cast<std::uint64_t>(x)) : static_cast<double>(x);
    if (std::fabs(d) < 0x1p53) return d;
    return side < 0 ? below(d) : above(d);
  };
  lo = number(a.ilow(i), -1), hi = number(a.ihigh(i), 1);
}

bool zero_inside(double lo, double hi) { return lo <= 0 && hi >= 0; }

// NaN if one of them is.
double least(std::initializer_list<double> values) {
  double out = Infinity;
  for (double v : values) out = v != v || out != out ? Nan : std::min(out, v);
  return out;
}
double greatest(std::initializer_list<double> values) {
  double out = -Infinity;
  for (double v : values) out = v != v || out != out ? Nan : std::max(out, v);
  return out;
}

// Bounds over the reals of one operation on intervals; false where nothing is known.
bool bounds(P p, double a, double b, double u, double v, double& lo, double& hi) {
  switch (p) {
    case P::Add: lo = sum_below(a, u), hi = sum_above(b, v); return true;
    case P::Subtract: lo = sum_below(a, -v), hi = sum_above(b, -u); return true;
    case P::Multiply:
      lo = least({product_below(a, u), product_below(a, v), product_below(b, u), product_below(b, v)});
      hi = greatest({product_above(a, u), product_above(a, v), product_above(b, u), product_above(b, v)});
      return true;
    case P::Reciprocal: u = a, v = b, a = b = 1; [[fallthrough]];
    case P::Divide:
    case P::FloorDivide:
    case P::Quotient:
      if (zero_inside(u, v)) return false;
      lo = least({quotient_below(a, u), quotient_below(a, v), quotient_below(b, u), quotient_below(b, v)});
      hi = greatest({quotient_above(a, u), quotient_above(a, v), quotient_above(b, u), quotient_above(b, v)});
      if (p == P::FloorDivide) lo = __builtin_floor(lo), hi = __builtin_floor(hi);
      if (p == P::Quotient) lo = __builtin_trunc(lo), hi = __builtin_trunc(hi);
      return true;
    case P::Minimum: lo = std::min(a, u), hi = std::min(b, v); return true;
    case P::Maximum: lo = std::max(a, u), hi = std::max(b, v); return true;
    case P::Negate: lo = -b, hi = -a; return true;
    case P::Absolute: lo = zero_inside(a, b) ? 0 : std::min(std::fabs(a), std::fabs(b)), hi = std::max(std::fabs(a), std::fabs(b)); return true;
    case P::Sign: lo = a < 0 ? -1 : a > 0, hi = b < 0 ? -1 : b > 0; return true;
    case P::SquareRoot:
      if (a < 0) return false;
      lo = __builtin_sqrt(a), hi = __builtin_sqrt(b);
      if (lo * lo != a) lo = below(lo);
      if (hi * hi != b) hi = above(hi);
      return true;
    case P::Modulo:
    case P::Remainder: {
      if (zero_inside(u, v)) return false;
      if (a == b && u == v && __builtin_trunc(a) == a && __builtin_trunc(u) == u && std::fabs(a) < 0x1p53 && std::fabs(u) < 0x1p53) {
        lo = std::fmod(a, u);  // exact
        if (p == P::Modulo && lo != 0 && (lo < 0) != (u < 0)) lo += u;
        hi = lo;
        return true;
      }
      const double most = std::max(std::fabs(u), std::fabs(v));
      if (p == P::Modulo) lo = u > 0 ? 0 : -most, hi = u > 0 ? most : 0;
      else lo = a < 0 ? -most : 0, hi = b > 0 ? most : 0;
      return true;
    }
    default: return false;
  }
}

bool rounds(P p) {
  switch (p) {
    case P::Add:
    case P::Subtract:
    case P::Multiply:
    case P::Divide:
    case P::Reciprocal:
    case P::SquareRoot:
    case P::Modulo:
    case P::Remainder: return true;
    default: return false;
  }
}

}  // namespace

Lanes real_primitive_lanes(P p, ElementType result, const Rules& rules, Arguments a) {
  if (p == P::ToReal) {
    Lanes out(ElementType::R, a[0]->axes, false);
    for (std::int64_t i = 0; i < out.n; ++i) {
      exact_of(*a[0], i, out.lo[index(i)], out.hi[index(i)]);
      if (!uses_doubles(a[0]->type)) round_lane(rules, out.lo[index(i)], out.hi[index(i)]);
    }
    return out;
  }
  if (row_of(p).kind == PrimitiveKind::Elementary) return elementary_lanes(p, rules, a);
  if (result == ElementType::Z) {  // floor and its like
    Lanes out(result, a[0]->axes, a[0]->point);
    const auto whole = [&](double x) {
      const double r = p == P::Floor ? __builtin_floor(x) : p == P::Ceiling ? __builtin_ceil(x) : p == P::Truncate ? __builtin_trunc(x) : __builtin_nearbyint(x);
      return r <= -0x1p63 ? INT64_MIN : r >= 0x1p63 ? INT64_MAX : static_cast<std::int64_t>(r);
    };
    for (std::int64_t i = 0; i < out.n; ++i) {
      if (a[0]->low(i) != a[0]->low(i)) out.set(i, {});
      else out.set(i, {0, 0, whole(a[0]->low(i)), whole(a[0]->high(i))});
      if (a[0]->flag(i) & HasNan) set_anything(out, i);
    }
    return out;
  }
  Lanes out(ElementType::R, a[0]->axes, false);
  for (std::int64_t i = 0; i < out.n; ++i) {
    double &lo = out.lo[index(i)], &hi = out.hi[index(i)];
    const double x = a[0]->low(i), y = a[0]->high(i);
    const double u = a.size() > 1 ? a[1]->low(i) : 0, v = a.size() > 1 ? a[1]->high(i) : 0;
    if (x != x || u != u) {
      lo = hi = Nan;
      continue;
    }
    const bool known = bounds(p, x, y, u, v, lo, hi);
    if (!known || lo != lo || hi != hi) {
      lo = -Infinity, hi = Infinity;
      out.mark(i, HasNan);
      continue;
    }
    // Where a finite number is too large for a double, its bound is not infinite on both sides; and every interval but that of an infinity has some.
    const auto holds_finite = [](double from, double to) { return from != to || std::fabs(from) <= std::numeric_limits<double>::max(); };
    if (holds_finite(x, y) && holds_finite(u, v)) lo = finite_low(lo), hi = -finite_low(-hi);
    if (rounds(p)) round_lane(rules, lo, hi);
  }
  return out;
}

namespace {

// No arithmetic is done: bits go through, but for the sign.
bool moves_only(P p) { return p == P::Negate || p == P::Absolute; }

}  // namespace

Lanes apply_primitive(P p, ElementType result, const Rules& rules, Arguments arguments) {
  const PrimitiveRow& row = row_of(p);
  const bool comparison = row.kind == PrimitiveKind::Comparison;
  const auto intervals = [&](Arguments a) {
    const ElementType type = a[0]->type;
    bool points = true;
    for (const Lanes* x : a) points = points && x->point;
    Lanes out;
    if (comparison) {
      out = comparison_lanes(p, a);
    } else if (row.kind == PrimitiveKind::Logic) {
      out = Lanes(ElementType::Bool, a[0]->axes, points);
      for (std::int64_t i = 0; i < out.n; ++i) {
        const std::int64_t x0 = a[0]->ilow(i), x1 = a[0]->ihigh(i), y0 = a.size() > 1 ? a[1]->ilow(i) : 0, y1 = a.size() > 1 ? a[1]->ihigh(i) : 0;
        if (p == P::Not) out.set(i, {0, 0, 1 - x1, 1 - x0});
        else if (p == P::And) out.set(i, {0, 0, x0 & y0, x1 & y1});
        else out.set(i, {0, 0, x0 | y0, x1 | y1});
      }
    } else if (type == ElementType::R || p == P::ToReal) {
      out = real_primitive_lanes(p, result, rules, a);
    } else if (is_float(type)) {
      out = row.kind == PrimitiveKind::Elementary ? elementary_lanes(p, rules, a) : float_primitive(p, result, rules, a);
      settle(out, points && out.point && row.kind != PrimitiveKind::Elementary);
    } else {
      out = integer_primitive_lanes(p, result, a);
    }
    const std::vector<std::uint8_t> flags = joint_flags(a);
    for (std::int64_t i = 0; i < out.n && !flags.empty(); ++i) {
      std::uint8_t f = flags[index(i)];
      if (!uses_doubles(result)) f &= static_cast<std::uint8_t>(~HasNan);
      if (comparison && (f & Anything)) {
        f &= static_cast<std::uint8_t>(~Anything);
        out.set(i, {0, 0, 0, 1});
      }
      out.mark(i, f);
      if (f & Anything) set_anything(out, i);
    }
    return out;
  };
  if (!rules.profile->deviates() || moves_only(p)) {
    Lanes out = piecewise(intervals, arguments);
    if (is_float(result)) continue_sums(p, rules, out, arguments);
    return moves_only(p) && rules.profile->admits(Freedom::ZeroSigns, result) ? of_either_zero(std::move(out)) : out;
  }
  Lanes operands[3];
  const Lanes* pointers[3] = {};
  ensure(arguments.size() <= 3);
  for (std::size_t k = 0; k < arguments.size(); ++k) operands[k] = as_operand(*rules.profile, *arguments[k]), pointers[k] = &operands[k];
  const Arguments read(pointers, arguments.size());
  Lanes out = piecewise(intervals, read);
  if (is_float(result)) continue_sums(p, rules, out, read);
  if ((p == P::Minimum || p == P::Maximum) && is_float(result) && rules.profile->admits(Freedom::NanIgnored, result))
    for (std::int64_t i = 0; i < out.n; ++i)
      for (int k = 0; k < 2; ++k) {
        const Lanes &nan = operands[k], &other = operands[1 - k];
        if (nan.low(i) == nan.low(i) && !(nan.flag(i) & HasNan)) continue;
        set_union(out, i, out, i, other, i);
      }
  return as_result(*rules.profile, std::move(out));
}

}  // namespace ulpian::interp::allowed
