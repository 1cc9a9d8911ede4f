#include "interp/allowed/deviations.h"

#include <algorithm>

#include "interp/allowed/rounding.h"

namespace ulpian::interp::allowed {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

double of_bits(std::uint32_t b) { return static_cast<double>(std::bit_cast<float>(b)); }

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

Lanes as_operand(const Profile& profile, const Lanes& v) { return profile.admits(Freedom::Daz, v.type) ? flushed(v, false) : v; }

Lanes as_result(const Profile& profile, Lanes v) {
  if (!is_float(v.type)) return v;
  if (profile.admits(Freedom::Ftz, v.type)) v = flushed(v, false);
  if (profile.admits(Freedom::ZeroSigns, v.type)) v = of_either_zero(std::move(v));
  return v;
}

Lanes as_factor(const Profile& profile, const Lanes& v) {
  Lanes out = profile.admits(Freedom::Daz, v.type) ? flushed(v, true) : v;
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
    // Roundings are monotone: the ends' images are the images' ends. An end that is kept wider has those of its neighbours.
    for (const double x : {floor_of<ElementType::F32>(out.low(i)), ceiling_of<ElementType::F32>(out.high(i)), ceiling_of<ElementType::F32>(out.low(i)), floor_of<ElementType::F32>(out.high(i))}) {
      if (!(std::fabs(x) <= std::numeric_limits<double>::max())) continue;
      const auto b = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      // Cut towards zero; to nearest, ties to even or away from zero; f32's range, so beyond the largest lies infinity.
      if (tf32) include(of_bits(b & ~0x1fffu)), include(of_bits((b + 0xfffu + (b >> 13 & 1u)) & ~0x1fffu)), include(of_bits((b + 0x1000u) & ~0x1fffu));
      if (bf16) include(of_bits(b & ~0xffffu)), include(nearest<ElementType::BF16>(x));
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

Accumulator accumulator_of(const Profile& profile, ElementType type) {
  const auto of = [&](ElementType t) {
    const FloatFormat& f = format_of(t);
    const double largest = to_double(t, largest_finite(t));
    return Accumulator{std::ldexp(1.0, -f.precision()), half_least(f), std::ldexp(1.0, f.min_exponent()), largest, largest + ulp_of(f, largest) / 2, false};
  };
  Accumulator out = of(type);
  const auto also = [&](ElementType t) {
    const Accumulator a = of(t);
    out = {std::max(out.unit, a.unit), std::max(out.half_least, a.half_least), std::max(out.least_normal, a.least_normal), std::min(out.largest, a.largest), std::min(out.beyond, a.beyond), true};
  };
  if (type == ElementType::F32 && profile.admits(Freedom::Bf16Sums)) also(ElementType::BF16);
  if (type == ElementType::F32 && profile.admits(Freedom::F16Sums)) also(ElementType::F16);
  return out;
}

}  // namespace ulpian::interp::allowed
