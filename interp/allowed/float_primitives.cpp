#include <algorithm>

#include "interp/allowed/primitives.h"
#include "interp/allowed/rounding.h"
#include "interp/canonical/canonical.h"

namespace ulpian::interp::allowed {
namespace {

using P = Primitive;
using Arguments = std::span<const Lanes* const>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Whether an interval holds a zero of either sign.
bool meets_zero(const Lanes& v, std::int64_t i) { return v.low(i) <= 0 && v.high(i) >= 0; }

bool all_points(Arguments a) {
  return std::all_of(a.begin(), a.end(), [](const Lanes* x) { return x->point; });
}

// Both ends of x to T from bounds over the reals: rounded, or as an intermediate that may be kept wider (rounding.h). `finite`: so are the
// operands, and so is the real value.
template <ElementType T> double low_end(bool rounds, double bound, double in_double, bool finite) {
  if (rounds) return T == ElementType::F64 ? in_double : nearest<T>(bound);
  return kept_low<T>(finite ? finite_low(bound) : bound);
}
template <ElementType T> double high_end(bool rounds, double bound, double in_double, bool finite) { return -low_end<T>(rounds, -bound, -in_double, finite); }

bool is_finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }

// Where every lane is one number after all.
void narrow(Lanes& v) {
  if (v.point) return;
  for (std::size_t i = 0; i < v.lo.size(); ++i)
    if (std::bit_cast<std::uint64_t>(v.lo[i]) != std::bit_cast<std::uint64_t>(v.hi[i]) && (v.lo[i] == v.lo[i] || v.hi[i] == v.hi[i])) return;
  v.hi.clear();
  v.point = true;
}

// f is monotone in both arguments: rising in the first, and in the second rising or falling.
template <class F> Lanes monotone(ElementType type, Arguments a, bool falling, F f) {
  const bool point = all_points(a);
  Lanes out(type, a[0]->axes, point);
  const Lanes &x = *a[0], &y = *a[1];
  if (point) {
    for (std::size_t i = 0; i < index(out.n); ++i) out.lo[i] = f(x.lo[i], y.lo[i]);
  } else {
    for (std::int64_t i = 0; i < out.n; ++i) {
      out.lo[index(i)] = f(x.low(i), falling ? y.high(i) : y.low(i));
      out.hi[index(i)] = f(x.high(i), falling ? y.low(i) : y.high(i));
    }
  }
  return out;
}

// NaN of opposite infinities, which bounds do not show.
void mark_opposite_infinities(Lanes& out, const Lanes& x, const Lanes& y, bool subtracts) {
  if (out.point) return;
  for (std::int64_t i = 0; i < out.n; ++i) {
    const double low = subtracts ? -y.high(i) : y.low(i), high = subtracts ? -y.low(i) : y.high(i);
    if ((x.high(i) == Infinity && low == -Infinity) || (x.low(i) == -Infinity && high == Infinity)) out.mark(i, HasNan);
  }
}

template <ElementType T> Lanes added(Arguments a, bool subtracts, bool rounds) {
  const Lanes &x = *a[0], &y = *a[1];
  if (rounds && all_points(a)) return monotone(T, a, subtracts, [&](double u, double v) { return nearest<T>(subtracts ? u - v : u + v); });
  Lanes out(T, x.axes, false);
  for (std::int64_t i = 0; i < out.n; ++i) {
    const double u = x.low(i), v = subtracts ? -y.high(i) : y.low(i), s = x.high(i), t = subtracts ? -y.low(i) : y.high(i);
    out.lo[index(i)] = low_end<T>(rounds, sum_below(u, v), u + v, is_finite(u) && is_finite(v));
    out.hi[index(i)] = high_end<T>(rounds, sum_above(s, t), s + t, is_finite(s) && is_finite(t));
  }
  narrow(out);
  mark_opposite_infinities(out, x, y, subtracts);
  return out;
}

// Numbers other than zero at the ends of both intervals, and the second, [c, d], on one side of zero: of a product or quotient it is plain at which ends it is
// least and greatest.
bool ends_are_plain(double a, double b, double c, double d) {
  return (c > 0 || d < 0) && a != 0 && b != 0 && is_finite(a) && is_finite(b) && is_finite(c) && is_finite(d);
}

template <ElementType T> Lanes multiplied(Arguments a, bool rounds) {
  const Lanes &x = *a[0], &y = *a[1];
  Lanes out(T, x.axes, rounds && all_points(a));
  if (out.point) {
    for (std::size_t i = 0; i < index(out.n); ++i) out.lo[i] = nearest<T>(x.lo[i] * y.lo[i]);
    return out;
  }
  const auto low_of = [&](double u, double v) {
    double bound = product_below(u, v);
    if (bound < 0 && u * v == 0 && negative(u) == negative(v)) bound = 0;  // an underflow
    return low_end<T>(rounds, bound, u * v, is_finite(u) && is_finite(v));
  };
  const auto high_of = [&](double u, double v) { return -low_of(-u, v); };
  for (std::int64_t i = 0; i < out.n; ++i) {
    if (const double u = x.low(i), v = x.high(i), c = y.low(i), d = y.high(i); ends_are_plain(u, v, c, d)) {
      const bool up = c > 0;
      out.lo[index(i)] = up ? low_of(u, u < 0 ? d : c) : low_of(v, v < 0 ? d : c);
      out.hi[index(i)] = up ? high_of(v, v < 0 ? c : d) : high_of(u, u < 0 ? c : d);
      continue;
    }
    const double pairs[4][2] = {{x.low(i), y.low(i)}, {x.low(i), y.high(i)}, {x.high(i), y.low(i)}, {x.high(i), y.high(i)}};
    const double c[4] = {pairs[0][0] * pairs[0][1], pairs[1][0] * pairs[1][1], pairs[2][0] * pairs[2][1], pairs[3][0] * pairs[3][1]};
    double lo = low_of(pairs[0][0], pairs[0][1]), hi = high_of(pairs[0][0], pairs[0][1]);
    const bool x_infinite = x.low(i) == -Infinity || x.high(i) == Infinity, y_infinite = y.low(i) == -Infinity || y.high(i) == Infinity;
    bool nan = c[0] != c[0] || (x_infinite && meets_zero(y, i)) || (y_infinite && meets_zero(x, i));
    for (int k = 1; k < 4; ++k) {
      nan = nan || c[k] != c[k];
      const double l = low_of(pairs[k][0], pairs[k][1]), h = high_of(pairs[k][0], pairs[k][1]);
      if (before(l, lo)) lo = l;
      if (before(hi, h)) hi = h;
    }
    // A NaN at a corner (0 * infinity) stands for anything that numbers nearby give.
    const bool alone = x.low(i) != x.low(i) || y.low(i) != y.low(i) || (x.low(i) == x.high(i) && y.low(i) == y.high(i));
    if (nan) lo = alone ? Nan : -Infinity, hi = alone ? Nan : Infinity, out.mark(i, HasNan);
    out.lo[index(i)] = lo;
    out.hi[index(i)] = hi;
  }
  narrow(out);
  return out;
}

template <class F> Lanes rising(ElementType type, const Lanes& x, F f) {
  Lanes out(type, x.axes, x.point);
  for (std::size_t i = 0; i < index(out.n); ++i) out.lo[i] = f(x.lo[i]);
  if (!x.point)
    for (std::size_t i = 0; i < index(out.n); ++i) out.hi[i] = f(x.hi[i]);
  return out;
}

double smaller(double a, double b) {
  if (a != a || b != b) return Nan;
  return before(a, b) ? a : b;
}
double larger(double a, double b) {
  if (a != a || b != b) return Nan;
  return before(a, b) ? b : a;
}

// What a profile admits of a division or a square root: so many ulps of the type itself, and, of a type narrower than f32, an operation of
// f32 whose result is then rounded (cl_khr_fp16: half as a storage-only format).
struct Tolerated {
  Tolerated(P p, ElementType t, const Profile& profile)
      : ulps(profile.ulp(p, t)), wider(bits_of(t) < 32 ? profile.ulp(p, ElementType::F32) : 0.5) {}
  double ulps, wider;
  bool exact() const { return ulps <= 0.5 && wider <= 0.5; }
  // Around a value of f32's range. One that is not rounded is kept as it was found in f32, or wider.
  template <ElementType T> double end(double r, int side, bool rounds) const {
    const double found = r + side * (wider <= 0.5 ? 0 : wider * ulp_of(format_of(ElementType::F32), r) + std::fabs(r) * 0x1p-52);
    const double of_wider = rounds ? nearest<T>(found) : side < 0 ? kept_low<T>(found) : kept_high<T>(found);
    if (ulps <= 0.5) return of_wider;
    const double tolerance = ulps * ulp_of(format_of(T), r) + std::fabs(r) * 0x1p-52;
    if (!rounds) return side < 0 ? std::fmin(of_wider, kept_low<T>(r - tolerance)) : std::fmax(of_wider, kept_high<T>(r + tolerance));
    return side < 0 ? std::fmin(of_wider, ceiling_of<T>(r - tolerance)) : std::fmax(of_wider, floor_of<T>(r + tolerance));
  }
};

// Quotients within the tolerance of the real one.
template <ElementType T> Lanes divide(Arguments a, const Tolerated& tolerated, bool rounds) {
  const Lanes &x = *a[0], &y = *a[1];
  const FloatFormat& f = format_of(T);
  const double ulps = tolerated.ulps;
  const bool exact = tolerated.exact();
  Lanes out(T, x.axes, exact && rounds && all_points(a));
  // One quotient of numbers, with the tolerance on the side that is asked.
  const auto admitted = [&](double p, double q, int side) {
    const double r = p / q;
    if (exact || T == ElementType::F64) {
      const double c = nearest<T>(r);
      if (exact || !(std::fabs(c) <= std::numeric_limits<double>::max()) || p == 0) return c;
      return c + side * (ulps + 0.5) * ulp_of(f, c);
    }
    if (p == 0 || !(std::fabs(p) <= std::numeric_limits<double>::max()) || q == 0 || !(std::fabs(q) <= std::numeric_limits<double>::max())) return nearest<T>(r);
    return tolerated.end<T>(r, side, rounds);
  };
  const auto end = [&](double p, double q, int side) {
    if (rounds && (!exact || out.point)) return admitted(p, q, side);
    const bool both = is_finite(p) && is_finite(q) && q != 0;
    const double bound = side < 0 ? low_end<T>(rounds, quotient_below(p, q), p / q, both) : high_end<T>(rounds, quotient_above(p, q), p / q, both);
    if (exact) return bound;
    return side < 0 ? std::fmin(bound, admitted(p, q, side)) : std::fmax(bound, admitted(p, q, side));
  };
  for (std::int64_t i = 0; i < out.n; ++i) {
    const std::size_t k = index(i);
    if (out.point) {
      out.lo[k] = end(x.lo[k], y.lo[k], -1);
      continue;
    }
    const double p[2] = {x.low(i), x.high(i)}, q[2] = {y.low(i), y.high(i)};
    if (ends_are_plain(p[0], p[1], q[0], q[1])) {
      const bool up = q[0] > 0;
      const double u = up ? p[0] : p[1], v = up ? p[1] : p[0];
      const double under = u < 0 ? q[0] : q[1], over = v < 0 ? q[1] : q[0];
      out.lo[k] = end(u, under, -1);
      out.hi[k] = end(v, over, 1);
      if (out.lo[k] == out.lo[k] && out.hi[k] == out.hi[k]) {
        include_powers<T>(ulps, u / under, v / over, out.lo[k], out.hi[k]);
        continue;
      }
    }
    if (p[0] != p[0] || q[0] != q[0]) {
      out.lo[k] = out.hi[k] = Nan;
      continue;
    }
    const bool q_zero = meets_zero(y, i), one_zero = q[0] == 0 && std::bit_cast<std::uint64_t>(q[0]) == std::bit_cast<std::uint64_t>(q[1]);
    if (q_zero && !(one_zero && !meets_zero(x, i)) && !(one_zero && p[0] == p[1])) {
      out.lo[k] = -Infinity;
      out.hi[k] = Infinity;
      const bool both_infinite = (p[0] == -Infinity || p[1] == Infinity) && (q[0] == -Infinity || q[1] == Infinity);
      if (meets_zero(x, i) || both_infinite) out.mark(i, HasNan);
      continue;
    }
    double lo = Infinity, hi = -Infinity, least = Infinity, greatest = -Infinity;
    bool nan = false, number = false;
    for (double u : p)
      for (double v : q) {
        const double l = end(u, v, -1), h = end(u, v, 1);
        if (l != l || h != h) {
          nan = true;
          continue;
        }
        number = true;
        if (before(l, lo)) lo = l;
        if (before(hi, h)) hi = h;
        least = std::fmin(least, u / v), greatest = std::fmax(greatest, u / v);
      }
    if (number) include_powers<T>(ulps, least, greatest, lo, hi);
    if (nan) out.mark(i, HasNan);
    if (!number) lo = hi = Nan;
    else if (nan) lo = -Infinity, hi = Infinity;
    out.lo[k] = lo;
    out.hi[k] = hi;
  }
  narrow(out);
  return out;
}

template <ElementType T> Lanes square_root(const Lanes& x, const Tolerated& tolerated, bool rounds) {
  const FloatFormat& f = format_of(T);
  const double ulps = tolerated.ulps;
  const bool exact = tolerated.exact();
  Lanes out(T, x.axes, exact && rounds && x.point);
  const auto admitted = [&](double p, int side) {
    const double r = __builtin_sqrt(p);
    if (exact || p == 0 || !is_finite(r)) return nearest<T>(r);
    if (T == ElementType::F64) return r + side * (ulps + 0.5) * ulp_of(f, r);
    return tolerated.end<T>(r, side, rounds);
  };
  const auto end = [&](double p, int side) {
    const double r = __builtin_sqrt(p), rest = __builtin_fma(r, r, -p);
    if ((rounds && (!exact || out.point)) || p == 0 || !is_finite(r)) return admitted(p, side);
    // Where p is so small that `rest` may have been lost, both neighbours.
    const bool lost = std::fabs(p) < 0x1p-900;
    const double bound = side < 0 ? (rest > 0 || lost ? below(r) : r) : (rest < 0 || lost ? above(r) : r);
    const double kept = side < 0 ? low_end<T>(rounds, bound, r, false) : high_end<T>(rounds, bound, r, false);
    if (exact) return kept;
    return side < 0 ? std::fmin(kept, admitted(p, side)) : std::fmax(kept, admitted(p, side));
  };
  for (std::int64_t i = 0; i < out.n; ++i) {
    const std::size_t k = index(i);
    double p = x.low(i);
    if (out.point) {
      out.lo[k] = end(p, -1);
      continue;
    }
    if (p < 0 && x.high(i) >= 0) {
      out.mark(i, HasNan);
      p = -0.0;
    }
    out.lo[k] = end(p, -1);
    out.hi[k] = end(x.high(i), 1);
    include_powers<T>(ulps, __builtin_sqrt(p), __builtin_sqrt(x.high(i)), out.lo[k], out.hi[k]);
  }
  narrow(out);
  return out;
}

Lanes absolute(const Lanes& x) {
  Lanes out(x.type, x.axes, x.point);
  for (std::int64_t i = 0; i < out.n; ++i) {
    const double a = std::fabs(x.low(i)), b = std::fabs(x.high(i));
    if (out.point) {
      out.lo[index(i)] = a;
    } else {
      out.lo[index(i)] = a != a ? Nan : meets_zero(x, i) ? 0.0 : std::min(a, b);
      out.hi[index(i)] = std::max(a, b);
    }
  }
  return out;
}

Lanes negate(const Lanes& x) {
  Lanes out(x.type, x.axes, x.point);
  for (std::int64_t i = 0; i < out.n; ++i) {
    out.lo[index(i)] = -x.high(i);
    if (!out.point) out.hi[index(i)] = -x.low(i);
  }
  return out;
}

// Points by the canonical primitive; of intervals only what is asked for by `otherwise`.
template <class F> Lanes by_points(P p, ElementType type, Arguments a, F otherwise) {
  Lanes out(type, a[0]->axes, all_points(a));
  for (std::int64_t i = 0; i < out.n; ++i) {
    bool point = true;
    Bits bits[2] = {};
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double lo = a[k]->low(i), hi = a[k]->high(i);
      point = point && (lo != lo || std::bit_cast<std::uint64_t>(lo) == std::bit_cast<std::uint64_t>(hi));
      bits[k] = bits_of_value(type, lo);
    }
    if (!point) {
      otherwise(out, i);
      continue;
    }
    const double r = to_double(type, machine_primitive(p, type, std::span(bits, a.size())));
    out.lo[index(i)] = r;
    if (!out.point) out.hi[index(i)] = r;
  }
  return out;
}

}  // namespace

Bits bits_of_value(ElementType t, double x) {
  if (t == ElementType::F32) return std::bit_cast<std::uint32_t>(x == x ? static_cast<float>(x) : std::numeric_limits<float>::quiet_NaN());
  return from_double(t, x);
}

std::vector<std::uint8_t> joint_flags(Arguments arguments) {
  std::vector<std::uint8_t> out;
  for (const Lanes* a : arguments) {
    if (a->flags.empty()) continue;
    if (out.empty()) out.assign(a->flags.size(), 0);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(out[i] | (a->flags[i] & ~NotOneInterval));
  }
  return out;
}

void settle(Lanes& v, bool arguments_are_points) {
  if (v.point || arguments_are_points) return;
  const bool zero = v.type == ElementType::R || format_of(v.type).has_negative_zero();
  for (std::int64_t i = 0; i < v.n; ++i) {
    double &lo = v.lo[index(i)], &hi = v.hi[index(i)];
    // Where overflow is NaN, both ends may be although numbers lie between them.
    const bool overflow_is_nan = v.type != ElementType::R && !has_infinity(v.type);
    if (lo != lo && hi != hi && !overflow_is_nan) continue;
    if (lo != lo || hi != hi) {
      const Piece all = whole_of(v.type);
      lo = all.lo, hi = all.hi;
      v.mark(i, HasNan);
    }
    if (std::bit_cast<std::uint64_t>(lo) == std::bit_cast<std::uint64_t>(hi)) continue;
    if (lo == 0 && zero) lo = -0.0;
    if (hi == 0) hi = 0.0;
  }
}

Lanes float_primitive(P p, ElementType result, const Rules& rules, Arguments a) {
  const ElementType type = a[0]->type;
  const Lanes& x = *a[0];
  switch (p) {
    case P::Add: return with_float(type, [&]<ElementType T>() { return added<T>(a, false, rules.rounds); });
    case P::Subtract: return with_float(type, [&]<ElementType T>() { return added<T>(a, true, rules.rounds); });
    case P::Multiply: return with_float(type, [&]<ElementType T>() { return multiplied<T>(a, rules.rounds); });
    case P::Divide: return with_float(type, [&]<ElementType T>() { return divide<T>(a, Tolerated(p, T, *rules.profile), rules.rounds); });
    case P::Reciprocal: {
      Lanes one(type, x.axes, true);
      std::fill(one.lo.begin(), one.lo.end(), 1.0);
      const Lanes* both[2] = {&one, &x};
      return with_float(type, [&]<ElementType T>() { return divide<T>(both, Tolerated(p, T, *rules.profile), rules.rounds); });
    }
    case P::SquareRoot: return with_float(type, [&]<ElementType T>() { return square_root<T>(x, Tolerated(p, T, *rules.profile), rules.rounds); });
    case P::Minimum: return monotone(type, a, false, smaller);
    case P::Maximum: return monotone(type, a, false, larger);
    case P::Negate: return negate(x);
    case P::Absolute: return absolute(x);
    case P::Floor: return rising(type, x, [](double v) { return __builtin_floor(v); });
    case P::Ceiling: return rising(type, x, [](double v) { return __builtin_ceil(v); });
    case P::Truncate: return rising(type, x, [](double v) { return __builtin_trunc(v); });
    case P::RoundEven: return rising(type, x, [](double v) { return __builtin_nearbyint(v); });
    case P::Sign: return by_points(p, type, a, [&](Lanes& out, std::int64_t i) {
      const auto sign = [](double v) { return v < 0 ? -1.0 : v > 0 ? 1.0 : 0.0; };
      out.lo[index(i)] = sign(x.low(i));
      out.hi[index(i)] = sign(x.high(i));
    });
    case P::Modulo:
    case P::Remainder: return by_points(p, type, a, [&](Lanes& out, std::int64_t i) {
      // No larger than the divisor, nor (of Remainder) than the dividend.
      const double y = std::max(std::fabs(a[1]->low(i)), std::fabs(a[1]->high(i))), z = std::max(std::fabs(x.low(i)), std::fabs(x.high(i)));
      const bool none = y != y || z != z;
      const double most = none ? Nan : p == P::Remainder ? std::min(y, z) : y;
      out.lo[index(i)] = -most;
      out.hi[index(i)] = most;
      if (!none && (meets_zero(*a[1], i) || z == Infinity)) out.mark(i, HasNan);
    });
    case P::NextAfter: return by_points(p, type, a, [&](Lanes& out, std::int64_t i) { set_anything(out, i); });
    default: break;
  }
  (void)result;
  ensure(false, std::string(name_of(p)));
}

}  // namespace ulpian::interp::allowed
