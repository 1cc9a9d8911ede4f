#include "interp/allowed/deviations.h"

#include <algorithm>

#include "interp/allowed/rounding.h"

namespace ulpian::interp::allowed {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Cut to so many bits: towards zero, as some units do.
double cut(double x, int bits) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~((std::uint64_t{1} << (53 - bits)) - 1)); }
double cut_to_nearest(double x, int bits) {
  const auto half = std::uint64_t{1} << (52 - bits);
  const auto b = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t odd = b >> (53 - bits) & 1;
  return cut(std::bit_cast<double>(b + (half - 1) + odd), bits);
}

}  // namespace

Lanes flushed(const Lanes& v, bool hull) {
  if (!is_float(v.type)) return v;
  const double least = std::ldexp(1.0, format_of(v.type).min_exponent());
  const auto subnormal = [&](double lo, double hi) { return (lo < 0 && hi > -least) || (hi > 0 && lo < least); };
  Lanes out = v;
  for (std::int64_t i = 0; i < v.n; ++i) {
    const double lo = v.low(i), hi = v.high(i);
    if (lo != lo || !subnormal(lo, hi) || (lo <= 0 && hi >= 0 && negative(lo) && !negative(hi) && !(v.flag(i) & NotOneInterval))) continue;
    if (hull) {
      out.unions.erase(i);
      if (!out.flags.empty()) out.flags[index(i)] &= static_cast<std::uint8_t>(~NotOneInterval);
      out.set(i, {before(-0.0, lo) ? -0.0 : lo, before(hi, 0.0) ? 0.0 : hi, 0, 0});
      continue;
    }
    Pieces pieces = pieces_at(v, i);
    if (std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return subnormal(p.lo, p.hi); })) {
      pieces.push_back({-0.0, 0.0, 0, 0});
      set_pieces(out, i, std::move(pieces), v.flag(i));
    }
  }
  return out;
}

Lanes of_either_zero(Lanes v) {
  if (!is_float(v.type) || !format_of(v.type).has_negative_zero()) return v;
  for (std::int64_t i = 0; i < v.n; ++i) {
    const double lo = v.low(i), hi = v.high(i);
    if (lo != lo || lo > 0 || hi < 0) continue;
    Pieces pieces = pieces_at(v, i);
    if (std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.lo <= 0 && p.hi >= 0; })) {
      pieces.push_back({-0.0, 0.0, 0, 0});
      set_pieces(v, i, std::move(pieces), v.flag(i));
    }
  }
  return v;
}

Lanes as_operand(const Profile& profile, const Lanes& v) { return profile.admits(Freedom::Daz) ? flushed(v, false) : v; }

Lanes as_result(const Profile& profile, Lanes v) {
  if (!is_float(v.type)) return v;
  if (profile.admits(Freedom::Ftz)) v = flushed(v, false);
  if (profile.admits(Freedom::ZeroSigns)) v = of_either_zero(std::move(v));
  return v;
}

Lanes as_factor(const Profile& profile, const Lanes& v) {
  Lanes out = profile.admits(Freedom::Daz) ? flushed(v, true) : v;
  if (v.type != ElementType::F32) return out;
  const bool tf32 = profile.admits(Freedom::Tf32Inputs), bf16 = profile.admits(Freedom::Bf16Inputs), f16 = profile.admits(Freedom::F16Inputs);
  if (!tf32 && !bf16 && !f16) return out;
  for (std::int64_t i = 0; i < out.n; ++i) {
    double lo = out.low(i), hi = out.high(i);
    if (lo != lo) continue;
    const auto include = [&](double x) {
      if (before(x, lo)) lo = x;
      if (before(hi, x)) hi = x;
    };
    // Roundings are monotone: the ends' images are the images' ends.
    for (const double x : {out.low(i), out.high(i)}) {
      if (std::fabs(x) > std::numeric_limits<double>::max()) continue;
      if (tf32) include(cut(x, 11)), include(cut_to_nearest(x, 11));
      if (bf16) include(cut(x, 8)), include(nearest<ElementType::BF16>(x));
      if (f16) include(nearest<ElementType::F16>(x));
    }
    if (out.flag(i) & NotOneInterval) {
      out.unions.erase(i);
      out.flags[index(i)] &= static_cast<std::uint8_t>(~NotOneInterval);
    }
    out.set(i, {lo, hi, 0, 0});
  }
  return out;
}

ElementType accumulator_of(const Profile& profile, ElementType type) {
  if (type != ElementType::F32) return type;
  if (profile.admits(Freedom::Bf16Sums)) return ElementType::BF16;
  return profile.admits(Freedom::F16Sums) ? ElementType::F16 : type;
}

}  // namespace ulpian::interp::allowed
