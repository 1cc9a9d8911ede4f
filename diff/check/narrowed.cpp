#include "diff/check/narrowed.h"

#include <algorithm>

namespace ulpian::diff {
namespace {

ElementType narrow(const Narrowing& n, ElementType t) {
  if (n.floats && t == ElementType::F64) return ElementType::F32;
  if (n.integers && t == ElementType::I64) return ElementType::I32;
  if (n.integers && t == ElementType::U64) return ElementType::U32;
  return t;
}

Tensor as_type(const Tensor& t, ElementType to, CastMode mode) {
  if (t.type() == to) return t;
  Tensor out(to, t.extents());
  for (std::int64_t i = 0; i < t.size(); ++i) out.set(i, convert(t.type(), to, t.at(i), mode));
  return out;
}

CastMode mode_of(const Narrowing& n) { return n.saturates ? CastMode::Saturate : CastMode::Plain; }

// Held in the narrow type, in its own again.
Tensor held(const Narrowing& n, const Tensor& t, ElementType wide) { return as_type(as_type(t, narrow(n, t.type()), mode_of(n)), wide, CastMode::Plain); }

interp::AllowedTensor held(const Narrowing& n, const interp::AllowedTensor& s, ElementType wide) {
  std::map<std::int64_t, std::vector<interp::Interval>> pieces = s.pieces();
  const ElementType from = s.type(), middle = narrow(n, from);
  const auto bits = [&](Bits b) { return convert(middle, wide, from == middle ? b : convert(from, middle, b, mode_of(n)), CastMode::Plain); };
  if (from != wide || middle != from)
    for (auto& [position, list] : pieces)
      for (interp::Interval& p : list) p = {bits(p.lower), bits(p.upper)};
  std::vector<std::uint8_t> flags(s.flags().begin(), s.flags().end());
  // Whether an interval wraps is not followed up: anything.
  if (middle != from && !n.saturates)
    for (std::size_t i = 0; i < flags.size(); ++i)
      if (!s.is_exact(static_cast<std::int64_t>(i)) && is_integer(from)) flags[i] = interp::Anything, pieces.erase(static_cast<std::int64_t>(i));
  return {held(n, s.lower(), wide), held(n, s.upper(), wide), std::move(flags), std::move(pieces)};
}

}  // namespace

std::vector<Narrowing> narrowings(const interp::Profile& profile, const Data& arguments, const MaybeTensors& results) {
  Narrowing n;
  n.floats = profile.admits(interp::Freedom::F64AsF32);
  n.integers = profile.admits(interp::Freedom::I64AsI32);
  const auto concerns = [&](const Tensor& t) { return narrow(n, t.type()) != t.type(); };
  const bool any = std::ranges::any_of(arguments, [&](const Datum& d) { return d.tensor() && concerns(*d.tensor()); }) ||
                   std::ranges::any_of(results, [&](const auto& t) { return t && concerns(*t); });
  if (!any) return {};
  std::vector<Narrowing> out;
  for (const bool computes : {true, false})
    for (const bool saturates : {false, true}) {
      n.computes = computes, n.saturates = saturates;
      out.push_back(n);
    }
  return out;
}

Data narrowed(const Narrowing& n, const Data& arguments) {
  Data out = arguments;
  if (!n.computes) return out;
  for (Datum& d : out)
    if (const Tensor* t = d.tensor()) d = as_type(*t, narrow(n, t->type()), mode_of(n));
  return out;
}

Expectation widened(const Narrowing& n, Expectation e, const MaybeTensors& results) {
  e.others.clear();
  e.more_readings = false;
  e.second_opinion = nullptr;
  e.holds_true_value = false;
  e.some = nullptr;
  if (e.error) return e;
  std::vector<ElementType> types(e.canonical.size(), ElementType::F32);
  for (std::size_t k = 0; k < e.canonical.size(); ++k) {
    if (!e.canonical[k]) continue;
    types[k] = k < results.size() && results[k] ? results[k]->type() : e.canonical[k]->type();
    e.canonical[k] = held(n, *e.canonical[k], types[k]);
  }
  e.allowed = [n, allowed = e.allowed, types]() -> Result<MaybeSets> {
    auto sets = allowed();
    if (!sets) return sets;
    for (std::size_t k = 0; k < sets->size() && k < types.size(); ++k)
      if ((*sets)[k]) (*sets)[k] = held(n, *(*sets)[k], types[k]);
    return sets;
  };
  return e;
}

}  // namespace ulpian::diff
