#include <algorithm>

#include "interp/allowed/deviations.h"
#include "interp/allowed/primitives.h"
#include "interp/allowed/rounding.h"
#include "interp/canonical/canonical.h"

namespace ulpian::interp::allowed {
namespace {

using P = Primitive;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

Bits bits_of_integer(ElementType t, std::int64_t x) { return t == ElementType::Bool ? static_cast<Bits>(x) : from_int64(t, x); }
std::int64_t integer_value(ElementType t, Bits b) { return t == ElementType::Bool ? static_cast<std::int64_t>(b) : to_int64(t, b); }

// The end of a float's interval in another float type.
double end_in(ElementType to, CastMode mode, double x, int side, bool outward) {
  if (x != x) return x;
  if (mode != CastMode::Plain && mode != CastMode::Exact) {
    const Bits b = convert(ElementType::F64, to, from_double(ElementType::F64, x), mode);
    return is_nan(to, b) ? Nan : to_double(to, b);
  }
  const double r = nearest(to, x);
  if (!outward || r != r || r == x || side == 0) return r;
  // One step beyond the neighbour that rounding chose, where that lies inside.
  if (side < 0 ? r <= x : r >= x) return r;
  const Bits toward = infinity(to, side < 0), from = bits_of_value(to, r);
  const Bits both[2] = {from, toward};
  return to_double(to, apply(P::NextAfter, to, both));
}

Lanes float_to_float(const Lanes& a, ElementType to, CastMode mode, bool outward, bool rounds) {
  const bool direct = mode == CastMode::Plain || mode == CastMode::Exact;
  if (direct && !rounds && has_infinity(to))
    return with_float(to, [&]<ElementType T>() {
      Lanes out(T, a.axes, a.point && std::all_of(a.lo.begin(), a.lo.end(), [](double x) { return x != x || nearest<T>(x) == x; }));
      for (std::size_t i = 0; i < a.lo.size(); ++i) out.lo[i] = kept_low<T>(a.lo[i]);
      for (std::size_t i = 0; i < out.hi.size(); ++i) out.hi[i] = kept_high<T>(a.high(static_cast<std::int64_t>(i)));
      return out;
    });
  if (direct && !outward)
    return with_float(to, [&]<ElementType T>() {
      Lanes out(T, a.axes, a.point);
      for (std::size_t i = 0; i < a.lo.size(); ++i) out.lo[i] = nearest<T>(a.lo[i]);
      for (std::size_t i = 0; i < a.hi.size(); ++i) out.hi[i] = nearest<T>(a.hi[i]);
      return out;
    });
  Lanes out(to, a.axes, a.point && !outward);
  for (std::int64_t i = 0; i < a.n; ++i) {
    out.lo[index(i)] = end_in(to, mode, a.low(i), -1, outward);
    if (!out.point) out.hi[index(i)] = end_in(to, mode, a.high(i), 1, outward);
    // A cast without NaN in the target yields a number for it.
    if (a.low(i) == a.low(i) || has_nan(to)) continue;
    const double r = to_double(to, convert(a.type, to, canonical_nan(a.type), mode));
    out.lo[index(i)] = r;
    if (!out.point) out.hi[index(i)] = r;
  }
  return out;
}

Lanes float_to_integer(const Lanes& a, ElementType to, CastMode mode) {
  Lanes out(to, a.axes, a.point);
  const Piece all = whole_of(to);
  const double low = to == ElementType::U64 ? 0 : static_cast<double>(all.ilo);
  const double beyond = to == ElementType::U64 ? 0x1p64 : static_cast<double>(all.ihi) + (all.ihi == INT64_MAX ? 0 : 1);  // 2^63 for i64
  const auto held = [&](double x) { return integer_value(to, convert(ElementType::F64, to, from_double(ElementType::F64, x), mode)); };
  for (std::int64_t i = 0; i < a.n; ++i) {
    const double x = a.low(i), y = a.high(i);
    const bool nan = x != x || (a.flag(i) & HasNan);
    if (mode == CastMode::Plain) {
      if (nan || __builtin_trunc(x) < low || __builtin_trunc(y) >= beyond) {
        set_anything(out, i);
        continue;
      }
      out.set(i, {0, 0, held(x), held(y)});
      continue;
    }
    Pieces pieces;
    if (x == x) pieces.push_back({0, 0, held(x), held(y)});
    if (nan) pieces.push_back({0, 0, held(Nan), held(Nan)});
    set_pieces(out, i, std::move(pieces), 0);
  }
  return out;
}

Lanes to_bool(const Lanes& a) {
  Lanes zero(a.type, a.axes, true);
  const Lanes* both[2] = {&a, &zero};
  return comparison_lanes(P::NotEqual, both);
}

Lanes real_to_integer(const Lanes& a, ElementType to, CastMode mode) {
  Lanes out(to, a.axes, a.point);
  const Piece all = whole_of(to);
  const auto held = [&](double x) -> std::int64_t {
    const double r = mode == CastMode::Exact ? __builtin_nearbyint(x) : __builtin_trunc(x);
    if (to == ElementType::U64) return static_cast<std::int64_t>(r <= 0 ? 0 : r >= 0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(r));
    if (r <= static_cast<double>(all.ilo)) return all.ilo;
    return r >= static_cast<double>(all.ihi) ? all.ihi : static_cast<std::int64_t>(r);
  };
  for (std::int64_t i = 0; i < a.n; ++i) {
    if (a.low(i) != a.low(i) || (a.flag(i) & HasNan)) set_anything(out, i);
    else out.set(i, {0, 0, held(a.low(i)), held(a.high(i))});
  }
  return out;
}

// Ends of an integer as a float that may be kept wider.
double kept_integer(const Lanes& a, std::int64_t x, double rounded, int side) {
  const double d = a.type == ElementType::U64 ? static_cast<double>(static_cast<std::uint64_t>(x)) : static_cast<double>(x);
  const double exact = std::fabs(d) < 0x1p53 ? d : side < 0 ? below(d) : above(d);
  return side < 0 ? std::fmin(exact, rounded) : std::fmax(exact, rounded);
}

// From bool, integers and Z.
Lanes from_integer(const Lanes& a, ElementType to, CastMode mode, bool rounds) {
  Lanes out(to, a.axes, a.point);
  const auto convert_one = [&](std::int64_t x) {
    return a.type == ElementType::Z ? machine_of(x, to, mode) : convert(a.type, to, bits_of_integer(a.type, x), mode);
  };
  const Piece all = whole_of(to);
  for (std::int64_t i = 0; i < a.n; ++i) {
    const std::int64_t x = a.ilow(i), y = a.ihigh(i);
    const Bits low = convert_one(x);
    if (uses_doubles(to)) {
      const auto number = [&](Bits b) { return is_nan(to, b) ? Nan : to_double(to, b); };
      double from = number(low), last = x == y ? from : number(convert_one(y));
      if (!rounds && from == from && last == last) from = kept_integer(a, x, from, -1), last = kept_integer(a, y, last, 1);
      out.set(i, {from, last, 0, 0});
      continue;
    }
    if (x == y) {
      out.set(i, {0, 0, integer_value(to, low), integer_value(to, low)});
      continue;
    }
    if (to == ElementType::Bool) {
      out.set(i, {0, 0, x > 0 || y < 0, 1});
      continue;
    }
    // Plain wraps: an interval stays one only where every number of it fits.
    const bool unsigned_source = a.type == ElementType::U64, wide = to == ElementType::U64;
    const bool fits = unsigned_source ? (wide || (x >= 0 && y >= 0 && y <= all.ihi)) : wide ? x >= 0 : x >= all.ilo && y <= all.ihi;
    if (mode == CastMode::Plain && !fits) out.set(i, all);
    else out.set(i, {0, 0, integer_value(to, low), integer_value(to, convert_one(y))});
  }
  return out;
}

Lanes to_z(const Lanes& a) {
  const Lanes* one[1] = {&a};
  return integer_primitive_lanes(P::ToInteger, ElementType::Z, one);
}

// A real zero has no sign, and an implementation arrives at either.
void free_zeros(Lanes& v) {
  if (!format_of(v.type).has_negative_zero()) return;
  for (std::int64_t i = 0; i < v.n; ++i) {
    const double lo = v.low(i), hi = v.high(i);
    if (lo == 0 || hi == 0) v.set(i, {lo == 0 ? -0.0 : lo, hi == 0 ? 0.0 : hi, 0, 0});
  }
}

// The bits of one number are known; those of a NaN, or of one of several numbers, may be any.
Lanes reinterpreted(ElementType to, const Lanes& a) {
  Lanes out(to, a.axes, true);
  const bool is_wide = uses_doubles(a.type);
  const Lanes* one[1] = {&a};
  const std::vector<std::uint8_t> flags = joint_flags(one);
  for (std::int64_t i = 0; i < a.n; ++i) {
    const std::uint8_t f = flags.empty() ? std::uint8_t{0} : flags[index(i)];
    const bool single = is_wide ? std::bit_cast<std::uint64_t>(a.low(i)) == std::bit_cast<std::uint64_t>(a.high(i)) && nearest(a.type, a.low(i)) == a.low(i)
                                : a.ilow(i) == a.ihigh(i);
    if (single && !(f & (HasNan | Anything)) && a.unions.count(i) == 0) {
      const Bits b = is_wide ? bits_of_value(a.type, a.low(i)) : bits_of_integer(a.type, a.ilow(i));
      if (uses_doubles(to)) out.set(i, {is_nan(to, b) ? Nan : to_double(to, b), is_nan(to, b) ? Nan : to_double(to, b), 0, 0});
      else out.set(i, {0, 0, integer_value(to, b), integer_value(to, b)});
    } else {
      set_anything(out, i);
    }
    out.mark(i, f & static_cast<std::uint8_t>(~HasNan));
  }
  return out;
}

}  // namespace

Lanes apply_cast(ElementType to, CastMode mode, const Rules& rules, const Lanes& argument) {
  if (argument.type == to && (mode == CastMode::Plain || !is_float(to))) return argument;
  if (mode == CastMode::Reinterpret) return reinterpreted(to, argument);
  const auto intervals = [&](std::span<const Lanes* const> arguments) {
    const Lanes& a = *arguments[0];
    const ElementType from = a.type;
    Lanes out;
    bool keeps_nan = false;
    if (to == ElementType::Bool) {
      out = from == ElementType::Bool ? a : to_bool(a);
    } else if (to == ElementType::R) {
      out = real_primitive_lanes(P::ToReal, to, rules, arguments);
      keeps_nan = true;
    } else if (uses_doubles(from) && is_float(to)) {
      const bool narrower = is_float(from) && format_of(to).precision() < format_of(from).precision();
      out = float_to_float(a, to, mode, rules.casts_outward && narrower && has_infinity(to) && (mode == CastMode::Plain || mode == CastMode::Exact), rules.rounds);
      settle(out, a.point && out.point);
      if (from == ElementType::R) free_zeros(out);
      keeps_nan = true;
    } else if (from == ElementType::R) {
      out = real_to_integer(a, to, mode);
    } else if (is_float(from)) {
      out = float_to_integer(a, to, mode);
    } else if (to == ElementType::Z) {
      out = to_z(a);
    } else {
      out = from_integer(a, to, mode, rules.rounds);
      if (is_float(to)) settle(out, a.point && out.point);
    }
    std::vector<std::uint8_t> flags = joint_flags(arguments);
    for (std::int64_t i = 0; i < out.n && !flags.empty(); ++i) {
      std::uint8_t f = flags[index(i)];
      if (!keeps_nan) f &= static_cast<std::uint8_t>(~HasNan);
      if (keeps_nan && is_float(to) && !has_nan(to) && (f & HasNan)) {  // NaN becomes a number
        out.set(i, whole_of(to));
        f &= static_cast<std::uint8_t>(~HasNan);
      }
      out.mark(i, f);
      if (f & Anything) set_anything(out, i);
    }
    return out;
  };
  const Lanes operand = rules.profile->deviates() ? as_operand(*rules.profile, argument) : Lanes();
  const Lanes* one[1] = {rules.profile->deviates() ? &operand : &argument};
  Lanes out = piecewise(intervals, one);
  return rules.profile->deviates() ? as_result(*rules.profile, std::move(out)) : out;
}

}  // namespace ulpian::interp::allowed
