#include "interp/canonical/real.h"

#include <algorithm>

#include "interp/canonical/real_node.h"
#include "spec/functions/functions.h"

namespace ulpian::interp {

namespace {

using P = Primitive;

int depth_of(const Real& a) { return a.exact() ? 0 : a.node()->depth; }
const Exact& exact(const Real& a) { return *a.exact(); }
bool is_finite(const Real& a) { return !a.exact() || exact(a).is_finite(); }
bool is_nan(const Real& a) { return a.exact() && exact(a).is_nan(); }

Real of_sum(Cosines sum) {
  if (auto q = rational(sum)) return *q;
  auto node = std::make_shared<Real::Node>();
  node->is_sum = true;
  node->sum = std::move(sum);
  return Real(std::shared_ptr<const Real::Node>(std::move(node)));
}

// As a sum of cosines, if it is one.
std::optional<Cosines> sum_of(const Real& a) {
  if (a.exact()) return constant(exact(a));
  if (a.node()->is_sum) return a.node()->sum;
  return std::nullopt;
}

std::optional<Real> expression(P primitive, Real a, Real b = {}) {
  auto node = std::make_shared<Real::Node>();
  node->primitive = primitive;
  node->depth = 1 + std::max(depth_of(a), depth_of(b));
  if (node->depth > Real::MostDepth) return std::nullopt;
  node->first = std::move(a);
  node->second = std::move(b);
  return Real(std::shared_ptr<const Real::Node>(std::move(node)));
}

// The dyadic rational of fewest bits in [low, high]: where the number is one, it is this one once the interval is narrow.
Exact simplest(const Exact& low, const Exact& high) {
  if (low <= Exact(0) && Exact(0) <= high) return Exact(0);
  if (high < Exact(0)) return -simplest(-high, -low);
  if (!high.is_finite()) return low;
  // From above the magnitude of `high`, so that the first multiple of 2^k inside has the fewest bits.
  int k = 0;
  while (Exact::power_of_two(k) < high) ++k;
  for (;; --k) {
    const Exact step = Exact::power_of_two(k);
    const Exact candidate = (low / step).ceiling() * step;
    if (candidate <= high || k < -30000) return candidate;
  }
}

// Asks `decide(low, high)` with bounds of growing precision until it answers. If the number is a sum of cosines that equals the simplest
// dyadic rational inside, the bounds are that number at last.
template <typename T, typename Decide>
std::optional<T> decided(const Real& a, Decide decide) {
  if (a.exact()) return decide(exact(a), exact(a));
  for (mpfr_prec_t precision = 128; precision <= Real::MostBits; precision *= 2) {
    const Enclosure e = Encloser(precision)(a);
    const Exact low = exact_of(e.low), high = exact_of(e.high);
    if (std::optional<T> answer = decide(low, high)) return answer;
    if (!a.node()->is_sum) continue;
    const Exact candidate = simplest(low, high);
    if (is_zero(add(a.node()->sum, constant(-candidate))) == true) return decide(candidate, candidate);
  }
  return std::nullopt;
}

std::optional<int> sign(const Real& a) {
  return decided<int>(a, [](const Exact& low, const Exact& high) -> std::optional<int> {
    if (Exact(0) < low) return 1;
    if (high < Exact(0)) return -1;
    if (low.is_zero() && high.is_zero()) return 0;
    return std::nullopt;
  });
}

// --- arithmetic

std::optional<Real> negated(const Real& a) {
  if (a.exact()) return Real(-exact(a));
  if (auto s = sum_of(a)) return of_sum(scale(*s, Exact(-1)));
  return expression(P::Negate, a);
}

std::optional<Real> sum(const Real& a, const Real& b) {
  if (a.exact() && b.exact()) return Real(exact(a) + exact(b));
  if (!is_finite(a)) return a;
  if (!is_finite(b)) return b;
  const auto s = sum_of(a), t = sum_of(b);
  if (s && t) return of_sum(add(*s, *t));
  return expression(P::Add, a, b);
}

std::optional<Real> difference(const Real& a, const Real& b) {
  if (a.exact() && b.exact()) return Real(exact(a) - exact(b));
  const auto minus = negated(b);
  return minus ? sum(a, *minus) : std::nullopt;
}

std::optional<Real> product(const Real& a, const Real& b) {
  if (a.exact() && b.exact()) return Real(exact(a) * exact(b));
  const Real& known = a.exact() ? a : b;
  const Real& other = a.exact() ? b : a;
  if (known.exact() && (exact(known).is_zero() || !exact(known).is_finite())) {
    const auto s = sign(other);  // of an infinity or a zero
    if (!s) return std::nullopt;
    return Real(exact(known) * Exact(*s));
  }
  const auto s = sum_of(a), t = sum_of(b);
  if (s && t) {
    if (known.exact()) return of_sum(scale(*sum_of(other), exact(known)));
    if (auto both = multiply(*s, *t)) return of_sum(std::move(*both));
  }
  return expression(P::Multiply, a, b);
}

std::optional<Real> quotient(const Real& a, const Real& b) {
  if (a.exact() && b.exact()) return Real(exact(a) / exact(b));
  if (b.exact()) {
    if (exact(b).is_finite() && !exact(b).is_zero()) return product(a, Real(Exact(1) / exact(b)));
    const auto s = sign(a);
    return s ? std::optional<Real>(Exact(*s) / exact(b)) : std::nullopt;
  }
  const auto s = sign(b);
  if (!s) return std::nullopt;
  if (a.exact() && (*s == 0 || !exact(a).is_finite() || exact(a).is_zero())) return Real(exact(a) / Exact(*s));
  if (*s == 0) {
    const auto top = sign(a);
    return top ? std::optional<Real>(Exact(*top) / Exact(0)) : std::nullopt;
  }
  return expression(P::Divide, a, b);
}

// a - b * n, n an integral value of a / b.
std::optional<Real> rest_of(P rounding, const Real& a, const Real& b) {
  if (is_nan(a) || is_nan(b) || !is_finite(a)) return Real(Exact::nan());
  const auto s = sign(b);
  if (!s) return std::nullopt;
  if (*s == 0) return Real(Exact::nan());
  const auto t = sign(a);
  if (!t) return std::nullopt;
  // A rest of 0 has the sign of the divisor where the quotient is floored, else that of the dividend.
  const bool negative = rounding == P::Floor ? *s < 0 : *t < 0 || (a.exact() && exact(a).is_negative());
  const auto signed_zero = [&] { return Real(negative ? Exact::negative_zero() : Exact(0)); };
  if (*t == 0) return signed_zero();
  // By an infinity the quotient is a zero: the rest is a itself, or that infinity where floor makes the quotient -1.
  if (!is_finite(b)) return rounding == P::Floor && *t != *s ? b : a;
  const auto q = quotient(a, b);
  const auto n = q ? to_integral(rounding, *q) : std::nullopt;
  const auto whole = n ? product(b, Real(*n)) : std::nullopt;
  if (!whole) return std::nullopt;
  auto rest = difference(a, *whole);
  if (rest && rest->exact() && exact(*rest).is_zero()) return signed_zero();
  return rest;
}

std::optional<Real> divided(P rounding, const Real& a, const Real& b) {
  const auto q = quotient(a, b);
  const auto n = q ? to_integral(rounding, *q) : std::nullopt;
  return n ? std::optional<Real>(*n) : std::nullopt;
}

std::optional<Real> extreme(const Real& a, const Real& b, bool greatest) {
  if (is_nan(a) || is_nan(b)) return Real(Exact::nan());
  const auto order = compare(a, b);
  if (!order) return std::nullopt;
  if (*order == 0 && a.exact() && b.exact()) return exact(a).is_negative() == greatest ? b : a;  // -0 < +0
  return (*order > 0) == greatest ? a : b;
}

// --- elementary functions

// Where the function leaves the finite reals or the known rationals, on an exact argument: empty for an irrational value.
std::optional<Exact> known_value(P primitive, const Exact& x) {
  // Infinities, NaN and zeros: what f64 says is exact whenever it is no rounded finite number.
  if (!x.is_finite() || x.is_zero()) {
    const Bits argument = x.round_to(ElementType::F64);
    const Bits value = elementary(primitive, ElementType::F64, std::span(&argument, 1));
    if (is_nan(ElementType::F64, value)) return Exact::nan();
    if (is_infinite(ElementType::F64, value) || is_zero(ElementType::F64, value)) return Exact::of(ElementType::F64, value);
    const Exact v = Exact::of(ElementType::F64, value);
    if (v == Exact(1) || v == Exact(-1) || v == Exact(1) / Exact(2)) return v;  // exp(0), tanh(inf), sigmoid(0)
    return std::nullopt;                                                          // atan(inf), acos(0), softplus(0), ...
  }
  switch (primitive) {
    case P::Exp2: return Exact::power(Exact(2), x);
    case P::Exp10: return Exact::power(Exact(10), x);
    case P::CubeRoot: return x.exact_root(3);
    case P::ReciprocalRoot:
      if (const auto root = x.exact_root(2)) return Exact(1) / *root;
      return std::nullopt;
    case P::Log2:
    case P::Log10: {
      const Exact base(primitive == P::Log2 ? 2 : 10);
      // A rational logarithm is an integer; guess it from the double and check.
      if (!(Exact(0) < x)) return std::nullopt;
      const Bits argument = x.round_to(ElementType::F64);
      const Bits guess = elementary(primitive, ElementType::F64, std::span(&argument, 1));
      if (!is_infinite(ElementType::F64, guess)) {
        const Exact n = Exact::of(ElementType::F64, guess).round_even();
        const auto power = Exact::power(base, n);
        if (power && *power == x) return n;
      }
      return std::nullopt;
    }
    case P::Log:
    case P::Acos:
    case P::Acosh: return x == Exact(1) ? std::optional(Exact(0)) : std::nullopt;
    case P::Softsign: return x / (Exact(1) + x.absolute());
    case P::HardSwish:
      if (x <= Exact(-3)) return Exact::negative_zero();
      return Exact(3) <= x ? x : x * (x + Exact(3)) / Exact(6);
    default: return std::nullopt;
  }
}

// Whether x lies in the open or closed domain; what the function yields at its ends and outside.
std::optional<Real> outside_domain(P primitive, const Real& x, bool& undecided) {
  const auto against = [&](const Exact& end) {
    const auto d = difference(x, Real(end));
    const auto s = d ? sign(*d) : std::nullopt;
    if (!s) undecided = true;
    return s.value_or(0);
  };
  const auto ends = [&](const Exact& low, const Exact& at_low) -> std::optional<Real> {
    const int s = against(low);
    if (undecided || s > 0) return std::nullopt;
    return Real(s == 0 ? at_low : Exact::nan());
  };
  switch (primitive) {
    case P::Log:
    case P::Log2:
    case P::Log10: return ends(Exact(0), Exact::infinity(true));
    case P::ReciprocalRoot: return ends(Exact(0), Exact::infinity(false));
    case P::Log1p: return ends(Exact(-1), Exact::infinity(true));
    case P::Acosh: return ends(Exact(1), Exact(0));
    case P::Asin:
    case P::Acos:
    case P::Atanh: {
      const int above = against(Exact(1)), below = against(Exact(-1));
      if (undecided) return std::nullopt;
      if (above > 0 || below < 0) return Real(Exact::nan());
      if (primitive == P::Atanh && (above == 0 || below == 0)) return Real(Exact::infinity(below == 0));
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<Real> square_root(const Real& a) {
  if (a.exact()) {
    const Exact& x = exact(a);
    if (x.is_nan() || x.is_zero()) return a;
    if (x.is_negative()) return Real(Exact::nan());
    if (x.is_infinite()) return a;
    if (auto root = x.exact_root(2)) return Real(*root);
    return expression(P::SquareRoot, a);
  }
  const auto s = sign(a);
  if (!s) return std::nullopt;
  if (*s == 0) return Real(0);
  return *s < 0 ? Real(Exact::nan()) : expression(P::SquareRoot, a);
}

std::optional<Real> of_turns(P primitive, const Real& a) {
  if (!a.exact()) return expression(primitive, a);
  if (!exact(a).is_finite()) return Real(Exact::nan());
  // sin of t turns is cos of t - 1/4; a zero has the sign of its argument (sinPi of IEEE 754-2019, 9.2.1).
  if (primitive == P::SinTurn && (exact(a) + exact(a)).is_integer()) return Real(exact(a).is_negative() ? Exact::negative_zero() : Exact(0));
  const Exact turns = primitive == P::SinTurn ? exact(a) - Exact::ratio(1, 4) : exact(a);
  if (auto s = cosine_of(turns)) return of_sum(std::move(*s));
  return expression(primitive, a);
}

std::optional<Real> power(const Real& a, const Real& b) {
  if (a.exact() && b.exact()) {
    const Exact &x = exact(a), &y = exact(b);
    if (!x.is_finite() || !y.is_finite() || x.is_zero()) {
      // Only the kind of the exponent matters here, which f64 keeps but for the parity of huge odd ones.
      const Bits arguments[2] = {x.round_to(ElementType::F64), y.round_to(ElementType::F64)};
      return Real(Exact::of(ElementType::F64, elementary(P::Power, ElementType::F64, arguments)));
    }
    if (auto value = Exact::power(x, y)) return Real(*value);
    if (x == Exact(1)) return Real(1);
    if (x.is_negative()) return y.is_integer() ? std::nullopt : std::optional<Real>(Exact::nan());
    if (y == Exact::ratio(1, 2)) return square_root(a);
    return expression(P::Power, a, b);
  }
  if (b.exact() && exact(b).is_integer() && !exact(b).is_negative() && exact(b) <= Exact(64)) {
    std::optional<Real> value = Real(1);
    for (std::int64_t k = *exact(b).to_int64(); k > 0 && value; --k) value = product(*value, a);
    return value;
  }
  const auto s = sign(a);
  if (!s || *s <= 0 || !is_finite(a) || !is_finite(b)) return std::nullopt;
  return expression(P::Power, a, b);
}

std::optional<Real> arc(const Real& y, const Real& x) {
  if (y.exact() && x.exact()) {
    if (is_nan(x) || is_nan(y)) return Real(Exact::nan());
    if (exact(y).is_zero() && !exact(x).is_negative()) return y;
    if (exact(x).is_infinite() && !exact(x).is_negative() && exact(y).is_finite()) return Real(exact(y).is_negative() ? Exact::negative_zero() : Exact(0));
    if (!exact(x).is_finite() || !exact(y).is_finite() || exact(y).is_zero()) return std::nullopt;
  }
  if (!is_finite(x) || !is_finite(y)) return std::nullopt;
  return expression(P::Atan2, y, x);
}

std::optional<Real> hypotenuse(const Real& x, const Real& y) {
  for (const Real* r : {&x, &y})
    if (r->exact() && exact(*r).is_infinite()) return Real(Exact::infinity(false));
  if (is_nan(x) || is_nan(y)) return Real(Exact::nan());
  if (!x.exact() || !y.exact()) return expression(P::Hypotenuse, x, y);
  if (const auto root = (exact(x) * exact(x) + exact(y) * exact(y)).exact_root(2)) return Real(root->absolute());
  return expression(P::Hypotenuse, x, y);
}

std::optional<Real> elementary_real(P primitive, const Real& a) {
  if (primitive == P::CosTurn || primitive == P::SinTurn) return of_turns(primitive, a);
  if (a.exact())
    if (auto value = known_value(primitive, exact(a))) return Real(*value);
  bool undecided = false;
  if (is_finite(a))
    if (auto value = outside_domain(primitive, a, undecided)) return value;
  if (undecided) return std::nullopt;
  return expression(primitive, a);
}

}  // namespace

std::optional<Real> real_primitive(Primitive primitive, std::span<const Real> x) {
  switch (primitive) {
    case P::Add: return sum(x[0], x[1]);
    case P::Subtract: return difference(x[0], x[1]);
    case P::Multiply: return product(x[0], x[1]);
    case P::Divide: return quotient(x[0], x[1]);
    case P::Negate: return negated(x[0]);
    case P::Absolute:
      if (x[0].exact()) return Real(exact(x[0]).absolute());
      if (const auto s = sign(x[0])) return *s < 0 ? negated(x[0]) : x[0];
      return expression(P::Absolute, x[0]);
    case P::Sign: {
      if (x[0].exact() && (exact(x[0]).is_nan() || exact(x[0]).is_zero())) return x[0];
      const auto s = sign(x[0]);
      return s ? std::optional<Real>(std::int64_t{*s}) : std::nullopt;
    }
    case P::SquareRoot: return square_root(x[0]);
    case P::Reciprocal: return quotient(Real(1), x[0]);
    case P::Minimum: return extreme(x[0], x[1], false);
    case P::Maximum: return extreme(x[0], x[1], true);
    case P::FloorDivide: return divided(P::Floor, x[0], x[1]);
    case P::Quotient: return divided(P::Truncate, x[0], x[1]);
    case P::Modulo: return rest_of(P::Floor, x[0], x[1]);
    case P::Remainder: return rest_of(P::Truncate, x[0], x[1]);
    case P::Power: return power(x[0], x[1]);
    case P::Atan2: return arc(x[0], x[1]);
    case P::Hypotenuse: return hypotenuse(x[0], x[1]);
    default: ensure(row_of(primitive).kind == PrimitiveKind::Elementary, std::string(name_of(primitive))); return elementary_real(primitive, x[0]);
  }
}

std::optional<std::partial_ordering> compare(const Real& a, const Real& b) {
  if (a.exact() && b.exact()) return exact(a) <=> exact(b);
  if (is_nan(a) || is_nan(b)) return std::partial_ordering::unordered;
  const auto d = difference(a, b);
  const auto s = d ? sign(*d) : std::nullopt;
  if (!s) return std::nullopt;
  return *s <=> 0;
}

std::optional<Exact> to_integral(Primitive primitive, const Real& a) {
  return decided<Exact>(a, [&](const Exact& low, const Exact& high) -> std::optional<Exact> {
    const auto rounded = [&](const Exact& v) {
      switch (primitive) {
        case P::Floor: return v.floor();
        case P::Ceiling: return v.ceiling();
        case P::RoundEven: return v.round_even();
        case P::Truncate: return v.truncate();
        default: ensure(false);
      }
    };
    const Exact l = rounded(low);
    if (a.exact()) return l;
    // Bounds that far away are not those of the number (exact_of).
    if (Exact::power_of_two(19000) < low.absolute()) return std::nullopt;
    return l == rounded(high) ? std::optional(l) : std::nullopt;
  });
}

std::optional<std::int64_t> to_integer(Primitive primitive, const Real& a) {
  const auto n = to_integral(primitive, a);
  if (!n) return std::nullopt;
  if (n->is_nan()) return 0;
  if (const auto value = n->to_int64()) return value;
  return n->is_negative() ? INT64_MIN : INT64_MAX;
}

std::optional<Bits> round_to(const Real& a, ElementType type, CastMode mode) {
  return decided<Bits>(a, [&](const Exact& low, const Exact& high) -> std::optional<Bits> {
    const Bits l = low.round_to(type, mode);
    return l == high.round_to(type, mode) ? std::optional(l) : std::nullopt;
  });
}

}  // namespace ulpian::interp
