// Elementary functions within k ULP of the real one, on intervals.
#include <algorithm>

#include "interp/allowed/primitives.h"
#include "interp/allowed/rounding.h"
#include "spec/functions/functions.h"
#include "spec/functions/kernels.h"

namespace ulpian::interp::allowed {
namespace {

using P = Primitive;
using Arguments = std::span<const Lanes* const>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
bool finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }

// The function correctly rounded, on values of the type.
std::vector<double> canonical_values(P p, ElementType t, const std::vector<double>& x, const std::vector<double>* y) {
  const std::size_t n = x.size();
  std::vector<double> out(n);
  if (t == ElementType::F64) {
    if (y) elementary_array(p, x.data(), y->data(), out.data(), n);
    else elementary_array(p, x.data(), out.data(), n);
    return out;
  }
  if (t == ElementType::F32) {
    std::vector<float> a(n), b(y ? n : 0);
    for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<float>(x[i]);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>((*y)[i]);
    if (y) elementary_array(p, a.data(), b.data(), a.data(), n);
    else elementary_array(p, a.data(), a.data(), n);
    for (std::size_t i = 0; i < n; ++i) out[i] = a[i];
    return out;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Bits bits[2] = {bits_of_value(t, x[i]), y ? bits_of_value(t, (*y)[i]) : 0};
    const Bits r = elementary(p, t, std::span(bits, y ? 2u : 1u));
    out[i] = is_nan(t, r) ? Nan : to_double(t, r);
  }
  return out;
}

// What an implementation may answer where our value is `c`: the real one is within half an ulp of it (f64: within 0.5001).
class Tolerance {
public:
  // `per_argument`: so many ulps more for each unit of the argument's magnitude.
  Tolerance(P p, ElementType t, double ulps, bool rounds, double per_argument = 0) : p_(p), t_(t), ulps_(ulps), per_argument_(per_argument), rounds_(rounds), format_(format_of(t)) {
    const double last = to_double(t, largest_finite(t));
    largest_ = last;
    if (t <= ElementType::F32) core_error_ = elementary_core_error(p);
  }

  // `real`: the function in f64, of formats up to f32 (NaN where it is not known).
  double end(double c, double x, double y, double real, int side) const {
    const double ulps = per_argument_ != 0 && finite(x) ? ulps_ + per_argument_ * std::fabs(x) : ulps_;
    if (ulps <= 0.5 || certain(c, x, y)) return c;
    if (!finite(c)) return side * c > 0 ? c : overflowed(c, x, y, ulps);
    double r = c + side * (ulps + (t_ == ElementType::F64 ? 0.5002 : 0.5)) * ulp_of(format_, c);
    if (t_ == ElementType::F64) return rounds_ ? r : side < 0 ? below(r) : above(r);
    // The function in f64, whose error is known, is a better center than its rounding.
    const double error = std::fabs(real) * core_error_;
    if (finite(real) && real != 0) r = real + side * (ulps * ulp_of(format_, std::fabs(real) + error) + 2 * error);
    if (t_ == ElementType::F32) {
      if (!rounds_) return side < 0 ? kept_low<ElementType::F32>(r) : kept_high<ElementType::F32>(r);
      return side < 0 ? ceiling_of<ElementType::F32>(r) : floor_of<ElementType::F32>(r);
    }
    if (!rounds_) return side < 0 ? kept_low(t_, r) : kept_high(t_, r);
    return with_float(t_, [&]<ElementType T>() { return side < 0 ? ceiling_of<T>(r) : floor_of<T>(r); });
  }

  // A bound of the real value at x, of which c is the nearest number.
  double bound(double c, double x, double real, int side) const {
    if (t_ > ElementType::F32 || !finite(c) || !finite(x)) return c;
    return finite(real) && real != 0 ? real + side * std::fabs(real) * core_error_ : c;
  }

  // The function in f64 at values of the type.
  std::vector<double> cores(const std::vector<double>& x, const std::vector<double>* y) const {
    std::vector<double> out(x.size(), Nan);
    if (t_ > ElementType::F32 || (ulps_ <= 0.5 && per_argument_ == 0)) return out;
    const std::vector<float> a(x.begin(), x.end()), b = y ? std::vector<float>(y->begin(), y->end()) : std::vector<float>{};
    elementary_core_array(p_, a.data(), y ? b.data() : nullptr, out.data(), out.size());
    return out;
  }

  // Where the real values of a set, or their nearest numbers, lie in [least, greatest].
  void include_powers(double least, double greatest, double& lo, double& hi, double smallest = 0) const {
    with_float(t_, [&]<ElementType T>() { allowed::include_powers<T>(ulps_, least, greatest, lo, hi, smallest); });
  }

private:
  // Values that are not approximated: NaN, of infinite arguments, exact zeros and poles (IEEE 754, clause 9.2).
  bool certain(double c, double x, double y) const {
    const bool two = row_of(p_).arity == 2;
    if (c != c || !finite(x) || (two && !finite(y))) return true;
    if (c == 0) return x == 0 || (!two && x == 1) || (p_ == P::HardSwish && x <= -3);
    if (p_ == P::Power && (y == 0 || x == 0 || x == 1)) return true;
    if (finite(c)) return false;
    return x == 0 || std::fabs(x) == 1;
  }
  // The nearer end where the canonical value overflowed.
  double overflowed(double c, double x, double y, double ulps) const {
    const double sign = c < 0 ? -1 : 1;
    if (!rounds_) return sign * largest_;  // in a wider format it does not overflow
    if (t_ != ElementType::F64 && t_ != ElementType::R) {
      const Bits bits[2] = {from_double(ElementType::F64, x), from_double(ElementType::F64, y)};
      const double real = std::fabs(to_double(ElementType::F64, elementary(p_, ElementType::F64, std::span(bits, row_of(p_).arity == 2 ? 2u : 1u))));
      if (real > 2 * largest_ * (1 + ulps * std::ldexp(1.0, 2 - format_.precision()))) return c;
    }
    return sign * (largest_ - (ulps + 0.5) * ulp_of(format_, largest_));
  }

  P p_;
  ElementType t_;
  double ulps_, per_argument_;
  bool rounds_;
  const FloatFormat& format_;
  double largest_ = 0;
  double core_error_ = 0;
};

enum class Shape { Rising, Falling, Even, Valley, Sine, Cosine, Tangent };
struct Behaviour {
  Shape shape = Shape::Rising;
  double from = -Infinity, to = Infinity;  // where the function is defined
  double bottom_from = 0, bottom_to = 0;   // Valley: where its least value lies
  double bottom = 0;                       // below that value
  double turn = 0;                         // Sine, Cosine, Tangent: half a period
};

Behaviour behaviour_of(P p) {
  Behaviour b;
  switch (p) {
    case P::Log:
    case P::Log2:
    case P::Log10: b.from = 0; break;
    case P::Log1p: b.from = -1; break;
    case P::Acosh: b.from = 1; break;
    case P::Atanh:
    case P::Asin: b.from = -1, b.to = 1; break;
    case P::Acos: b.from = -1, b.to = 1, b.shape = Shape::Falling; break;
    case P::Cosh: b.shape = Shape::Even; break;
    case P::ReciprocalRoot: b.from = 0, b.shape = Shape::Falling; break;
    case P::Erfc: b.shape = Shape::Falling; break;
    case P::HardSwish: b = {Shape::Valley, -Infinity, Infinity, -1.51, -1.49, -0.37501, 0}; break;
    case P::Gelu: b = {Shape::Valley, -Infinity, Infinity, -0.76, -0.74, -0.16998, 0}; break;
    case P::GeluTanh: b = {Shape::Valley, -Infinity, Infinity, -0.76, -0.74, -0.17005, 0}; break;
    case P::Silu: b = {Shape::Valley, -Infinity, Infinity, -1.29, -1.27, -0.27847, 0}; break;
    case P::Mish: b = {Shape::Valley, -Infinity, Infinity, -1.21, -1.18, -0.30885, 0}; break;
    case P::Sin: b.shape = Shape::Sine, b.turn = 3.141592653589793; break;
    case P::Cos: b.shape = Shape::Cosine, b.turn = 3.141592653589793; break;
    case P::Tan: b.shape = Shape::Tangent, b.turn = 3.141592653589793; break;
    case P::SinTurn: b.shape = Shape::Sine, b.turn = 0.5; break;
    case P::CosTurn: b.shape = Shape::Cosine, b.turn = 0.5; break;
    default: break;
  }
  return b;
}

// Which of the points turn * (n + shift), n even and n odd, may lie in [x, y].
void crossed(double x, double y, double turn, double shift, bool& even, bool& odd) {
  if (!(y - x < 2 * turn) || std::fabs(x) > 1e9 || std::fabs(y) > 1e9) {
    even = odd = true;
    return;
  }
  const double a = x / turn - shift, b = y / turn - shift, slack = 1e-12 * (2 + std::fabs(a) + std::fabs(b));
  for (double n = __builtin_ceil(a - slack); n <= b + slack; ++n) (std::fmod(n, 2.0) == 0 ? even : odd) = true;
}

Lanes one_argument(P p, ElementType type, double ulps, bool rounds, const Lanes& x, double per_argument = 0) {
  const Behaviour b = behaviour_of(p);
  const Tolerance tolerance(p, type, ulps, rounds, per_argument);
  std::vector<double> from = x.lo, to = x.point ? std::vector<double>{} : x.hi;
  Lanes out(type, x.axes, false);
  if (!x.point)
    for (std::int64_t i = 0; i < x.n; ++i) {
      double &u = from[index(i)], &v = to[index(i)];
      if (u < b.from && v >= b.from) u = b.from, out.mark(i, HasNan);
      if (v > b.to && u <= b.to) v = b.to, out.mark(i, HasNan);
    }
  const std::vector<double> at_from = canonical_values(p, type, from, nullptr);
  const std::vector<double> at_to = x.point ? std::vector<double>{} : canonical_values(p, type, to, nullptr);
  const std::vector<double> core_from = tolerance.cores(from, nullptr), core_to = x.point ? std::vector<double>{} : tolerance.cores(to, nullptr);
  const auto low = [&](std::size_t k, bool second) { return second ? tolerance.end(at_to[k], to[k], 0, core_to[k], -1) : tolerance.end(at_from[k], from[k], 0, core_from[k], -1); };
  const auto high = [&](std::size_t k, bool second) { return second ? tolerance.end(at_to[k], to[k], 0, core_to[k], 1) : tolerance.end(at_from[k], from[k], 0, core_from[k], 1); };
  const FloatFormat& f = format_of(type);
  const auto constant = [&](double c, int side) {
    const double r = c + side * (ulps + 1) * ulp_of(f, c);
    return with_float(type, [&]<ElementType T>() { return nearest<T>(r); });
  };
  for (std::size_t k = 0; k < index(x.n); ++k) {
    double &lo = out.lo[k], &hi = out.hi[k];
    if (x.point || std::bit_cast<std::uint64_t>(from[k]) == std::bit_cast<std::uint64_t>(to[k])) {
      lo = low(k, false);
      hi = high(k, false);
      continue;
    }
    if (from[k] != from[k] || to[k] != to[k]) {
      lo = hi = Nan;
      continue;
    }
    const double l0 = low(k, false), l1 = low(k, true), h0 = high(k, false), h1 = high(k, true);
    lo = l0 != l0 || before(l0, l1) ? l0 : l1;
    hi = h0 != h0 || before(h1, h0) ? h0 : h1;
    // A function with a zero at 1 is no nearer to 0 beside it than its argument to 1: no tolerance of a tiny value crosses zero there.
    const double smallest = (from[k] == 1 && at_from[k] == 0) || (to[k] == 1 && at_to[k] == 0) ? std::ldexp(1.0, -f.precision() - 1) : 0;
    tolerance.include_powers(std::fmin(tolerance.bound(at_from[k], from[k], core_from[k], -1), tolerance.bound(at_to[k], to[k], core_to[k], -1)),
                             std::fmax(tolerance.bound(at_from[k], from[k], core_from[k], 1), tolerance.bound(at_to[k], to[k], core_to[k], 1)), lo, hi, smallest);
    bool even = false, odd = false;
    switch (b.shape) {
      case Shape::Rising:
      case Shape::Falling: break;
      case Shape::Even:
        if (from[k] <= 0 && to[k] >= 0) lo = constant(1, -1);
        break;
      case Shape::Valley:
        if (from[k] <= b.bottom_to && to[k] >= b.bottom_from) lo = std::min(lo, constant(b.bottom, -1));
        break;
      case Shape::Sine:
      case Shape::Cosine: {
        crossed(from[k], to[k], b.turn, b.shape == Shape::Sine ? 0.5 : 0, even, odd);
        const bool nan = lo != lo || hi != hi;
        if (even || nan) hi = constant(1, 1);
        if (odd || nan) lo = constant(-1, -1);
        if (nan) out.mark(static_cast<std::int64_t>(k), HasNan);
        break;
      }
      case Shape::Tangent:
        crossed(from[k], to[k], b.turn, 0.5, even, odd);
        if (even || odd) {
          lo = -Infinity, hi = Infinity;
          out.mark(static_cast<std::int64_t>(k), Hulled);
          if (std::fabs(from[k]) == Infinity || std::fabs(to[k]) == Infinity) out.mark(static_cast<std::int64_t>(k), HasNan);
        }
        break;
    }
  }
  return out;
}

Lanes two_arguments(P p, ElementType type, double ulps, bool rounds, const Lanes& x, const Lanes& y) {
  const Tolerance tolerance(p, type, ulps, rounds);
  Lanes out(type, x.axes, false);
  std::vector<double> at[4];
  const std::vector<double>* xs[2] = {&x.lo, x.point ? &x.lo : &x.hi};
  const std::vector<double>* ys[2] = {&y.lo, y.point ? &y.lo : &y.hi};
  const bool points = x.point && y.point;
  std::vector<double> cores[4];
  for (std::size_t c = 0; c < (points ? 1u : 4u); ++c) at[c] = canonical_values(p, type, *xs[c >> 1], ys[c & 1]), cores[c] = tolerance.cores(*xs[c >> 1], ys[c & 1]);
  for (std::size_t k = 0; k < index(x.n); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const double a = x.lo[k], b = x.high(i), u = y.lo[k], v = y.high(i);
    // -0 and +0 are two: a power, an angle tells them apart.
    const auto one_value = [](double r, double s) { return std::bit_cast<std::uint64_t>(r) == std::bit_cast<std::uint64_t>(s) || r != r; };
    const bool point = one_value(a, b) && one_value(u, v);
    double lo = Infinity, hi = -Infinity, least = Infinity, greatest = -Infinity;
    bool nan = false, number = false;
    for (std::size_t c = 0; c < (point ? 1u : 4u); ++c) {
      const double l = tolerance.end(at[c][k], (*xs[c >> 1])[k], (*ys[c & 1])[k], cores[c][k], -1), h = tolerance.end(at[c][k], (*xs[c >> 1])[k], (*ys[c & 1])[k], cores[c][k], 1);
      if (l != l || h != h) {
        nan = true;
        continue;
      }
      number = true;
      if (before(l, lo)) lo = l;
      if (before(hi, h)) hi = h;
      least = std::fmin(least, at[c][k]), greatest = std::fmax(greatest, at[c][k]);
    }
    if (!number) lo = hi = Nan;
    else if (!point) tolerance.include_powers(least, greatest, lo, hi);  // at a point the ends are right, and may have no tolerance
    if (!point) {
      const Piece all = whole_of(type);
      const bool whole_exponent = u == v && std::trunc(u) == u && std::fabs(u) < 0x1p24;
      if (p == P::Power && whole_exponent && a < 0 && u >= 0) {
        if (std::fmod(u, 2.0) == 0 && u > 0 && b >= 0) lo = 0;
      } else if (p == P::Power && a < 0) {
        lo = all.lo, hi = all.hi;
        if (!whole_exponent) out.mark(i, HasNan);
      } else if (p == P::Atan2 && a <= 0 && b >= 0 && u <= 0) {
        // y may be 0 where x may be negative: across the cut.
        const double pi = nearest(type, 3.1415926535897936 * (1 + ulps * std::ldexp(1.0, 2 - format_of(type).precision())));
        lo = -pi, hi = pi;
      } else if (nan) {
        lo = all.lo, hi = all.hi;
      }
      if (nan) out.mark(i, HasNan);
    }
    out.lo[k] = lo;
    out.hi[k] = hi;
  }
  return out;
}

// Ends that are values of the type: what was kept wider may lie between two.
Lanes of_members(const Lanes& v) {
  if (v.point || v.type == ElementType::F64) return v;
  Lanes out = v;
  with_float(v.type, [&]<ElementType T>() {
    const auto step = [](double r, bool up) {
      const Bits both[2] = {bits_of_value(T, r), infinity(T, !up)};
      return to_double(T, apply(P::NextAfter, T, both));
    };
    for (double& x : out.lo)
      if (const double r = nearest<T>(x); r == r) x = r <= x ? r : has_infinity(T) ? step(r, false) : x;
    for (double& x : out.hi)
      if (const double r = nearest<T>(x); r == r) x = r >= x ? r : has_infinity(T) ? step(r, true) : x;
  });
  return out;
}

// Where a function of two rises in both: hypot in the magnitudes.
Lanes domain(P p, const Lanes& v) {
  if (p != P::Hypotenuse) return v;
  Lanes out = v;
  for (double& x : out.lo) x = std::fabs(x);
  for (std::size_t k = 0; k < out.hi.size(); ++k) {
    const double lo = v.lo[k], hi = v.hi[k];
    if (lo != lo || hi != hi) continue;
    out.lo[k] = lo <= 0 && hi >= 0 ? 0 : std::min(std::fabs(lo), std::fabs(hi));
    out.hi[k] = std::max(std::fabs(lo), std::fabs(hi));
  }
  return out;
}

}  // namespace

namespace {

// What a profile admits besides a number of ulp: an absolute error, of an implementation that approximates a function's shape and not its small values;
// and so many ulp for each unit of the argument's magnitude, of one that reduces it in the type.
Lanes apart_by(const FunctionError& error, const FloatFormat& unit, const Lanes& x, Lanes v) {
  if (error.absolute == 0 && error.per_argument == 0) return v;
  v.widen();
  for (std::size_t k = 0; k < index(v.n); ++k) {
    double &lo = v.lo[k], &hi = v.hi[k];
    double apart = error.absolute;
    // Of a single argument it is in the ends already; between two ends the function may turn.
    if (error.per_argument != 0 && (v.type == ElementType::R || x.lo[k] != x.high(static_cast<std::int64_t>(k)))) {
      const double reach = std::fmax(std::fabs(x.lo[k]), std::fabs(x.high(static_cast<std::int64_t>(k)))), size = std::fmax(finite(lo) ? std::fabs(lo) : 0, finite(hi) ? std::fabs(hi) : 0);
      if (finite(reach)) apart += error.per_argument * reach * ulp_of(unit, size);
    }
    if (v.type == ElementType::R || v.type == ElementType::F64) {
      if (finite(lo)) lo = below(lo - apart);
      if (finite(hi)) hi = above(hi + apart);
      continue;
    }
    with_float(v.type, [&]<ElementType T>() {
      if (finite(hi)) hi = hi + apart > to_double(T, largest_finite(T)) && has_infinity(T) ? Infinity : floor_of<T>(hi + apart);
      if (finite(lo)) lo = ceiling_of<T>(lo - apart);
    });
  }
  return v;
}

}  // namespace

Lanes elementary_lanes(P p, const Rules& rules, Arguments a) {
  const ElementType type = a[0]->type;
  const ElementType unit = type == ElementType::R ? rules.real_unit : type;
  const FunctionError error = rules.profile->error(p, unit);
  const double ulps = error.ulps;
  if (type != ElementType::R) {
    const Lanes x = of_members(*a[0]);
    return apart_by(error, format_of(unit), x, a.size() == 2 ? two_arguments(p, type, ulps, rules.rounds, domain(p, x), domain(p, of_members(*a[1]))) : one_argument(p, type, ulps, rules.rounds, x, error.per_argument));
  }
  // Over the reals: doubles, one ulp of f64 for their own error, and the tolerance of the type an implementation computes in.
  Lanes as_double[2];
  for (std::size_t k = 0; k < a.size(); ++k) {
    as_double[k] = *a[k];
    as_double[k].type = ElementType::F64;
  }
  Lanes out = a.size() == 2 ? two_arguments(p, ElementType::F64, 1, false, domain(p, as_double[0]), domain(p, as_double[1])) : one_argument(p, ElementType::F64, 1, false, as_double[0]);
  out.type = ElementType::R;
  const FloatFormat& f = format_of(unit);
  for (std::size_t k = 0; k < index(out.n); ++k) {
    const double lo = out.lo[k], hi = out.hi[k];
    if (finite(lo)) out.lo[k] = std::fmin(lo - (ulps + 1) * ulp_of(f, lo), reach_below(f, ulps + 1, lo, hi));
    if (finite(hi)) out.hi[k] = std::fmax(hi + (ulps + 1) * ulp_of(f, hi), -reach_below(f, ulps + 1, -hi, -lo));
  }
  return apart_by(error, f, *a[0], std::move(out));
}

}  // namespace ulpian::interp::allowed
