// Reductions, folds and orders over the reals.
#include <array>

#include "interp/canonical/canonical.h"
#include "interp/ideal/real_element_parts.h"

namespace ulpian::interp {

using core::None;
using core::ReduceKind;
using core::TermId;

namespace {

bool is_nan(ElementType type, const RealElements::Value& v) { return as_real(type) && real(v).exact() && real(v).exact()->is_nan(); }

}  // namespace

RealElements::Maybe RealElements::combine(ReduceKind kind, ElementType type, const Value& a, const Value& b) {
  const Primitive p = kind == ReduceKind::Sum || kind == ReduceKind::Dot ? Primitive::Add
                      : kind == ReduceKind::Product                      ? Primitive::Multiply
                      : kind == ReduceKind::Maximum                      ? Primitive::Maximum
                                                                         : Primitive::Minimum;
  if (as_real(type)) {
    const std::array<Real, 2> x{real(a), real(b)};
    return on_reals(p, type, x);
  }
  if (type == ElementType::Z) {
    const std::array<std::int64_t, 2> z{std::get<std::int64_t>(a), std::get<std::int64_t>(b)};
    const auto v = integer_primitive(p, z);
    return v ? Maybe(*v) : missing(Missing::Meaning);
  }
  const std::array<Bits, 2> x{std::get<Bits>(a), std::get<Bits>(b)};
  return Value(machine_primitive(p, type, x));
}

// In halves, so that sums of cosines stay small as long as possible.
RealElements::Maybe RealElements::tree(ReduceKind kind, ElementType type, std::vector<Value> terms) {
  while (terms.size() > 1) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < terms.size(); k += 2) {
      if (!spend()) return std::nullopt;
      if (k + 1 == terms.size()) {
        terms[kept++] = std::move(terms[k]);
        continue;
      }
      Maybe v = combine(kind, type, terms[k], terms[k + 1]);
      if (!v) return std::nullopt;
      terms[kept++] = std::move(*v);
    }
    terms.resize(kept);
  }
  return std::move(terms[0]);
}

// Visits what the filter keeps, with flattened positions (filtered ones are counted).
bool RealElements::each_kept(const core::ReduceView& r, const std::function<bool(std::int64_t)>& visit) {
  std::int64_t position = -1;
  return each(r.variables, r.extents, [&] {
    ++position;
    if (r.filter != None) {
      const auto keep = truth(r.filter);
      if (!keep) return false;
      if (!*keep) return true;
    }
    return visit(position);
  });
}

RealElements::Maybe RealElements::reduce(TermId id) {
  const core::Term& t = p_.term(id);
  const core::ReduceView r = p_.reduce(id);
  if (unsupported(t.type)) return missing(Missing::Meaning);
  switch (r.kind) {
    case ReduceKind::Count: return counted(r);
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: return extreme_place(r);
    case ReduceKind::Sum:
    case ReduceKind::Dot: return as_real(t.type) ? added(id) : combined(id);
    default: return combined(id);
  }
}

RealElements::Maybe RealElements::counted(const core::ReduceView& r) {
  std::int64_t count = 0;
  const bool whole = each_kept(r, [&](std::int64_t) { return ++count, true; });
  return whole ? Maybe(count) : std::nullopt;
}

// Sums and dots of reals: what is rational exactly, the rest within bounds; infinities, NaN and sums of cosines one by one.
RealElements::Maybe RealElements::added(TermId id) {
  const core::Term& t = p_.term(id);
  const core::ReduceView r = p_.reduce(id);
  FlatSum sum(work_->bits);
  std::vector<Value> others;
  const auto add = [&](Value v) {
    if (!sum.add(real(v))) others.push_back(std::move(v));
  };
  if (r.initial != None) {
    Maybe v = term(r.initial);
    if (!v) return std::nullopt;
    add(std::move(*v));
  }
  // The accumulators of a dot start at +0, but for the first where there is an initial value: no zero is then negative.
  bool from_zero = false;
  const bool whole = each_kept(r, [&](std::int64_t position) {
    Maybe v = term(r.bodies[0]);
    if (!v) return false;
    if (r.kind == ReduceKind::Dot) {
      from_zero = from_zero || r.initial == None || position >= DotBlock;
      const Maybe w = term(r.bodies[1]);
      if (!w) return false;
      if (sum.add_product(real(*v), real(*w))) return true;
      v = combine(ReduceKind::Product, t.type, *v, *w);
      if (!v) return false;
    }
    add(std::move(*v));
    return true;
  });
  if (!whole) return std::nullopt;
  if (auto total = sum.result()) others.emplace_back(std::move(*total));
  if (others.empty() || from_zero) others.emplace_back(Real());
  return tree(ReduceKind::Sum, t.type, std::move(others));
}

RealElements::Maybe RealElements::combined(TermId id) {
  const core::Term& t = p_.term(id);
  const core::ReduceView r = p_.reduce(id);
  std::vector<Value> terms;
  if (r.initial != None) {
    Maybe v = term(r.initial);
    if (!v) return std::nullopt;
    terms.push_back(std::move(*v));
  }
  const bool whole = each_kept(r, [&](std::int64_t) {
    Maybe v = term(r.bodies[0]);
    if (v && r.kind == ReduceKind::Dot) {
      const Maybe w = term(r.bodies[1]);
      v = w ? combine(ReduceKind::Product, t.type, *v, *w) : std::nullopt;
    }
    if (!v) return false;
    terms.push_back(std::move(*v));
    return true;
  });
  if (!whole) return std::nullopt;
  if (r.kind == ReduceKind::Any || r.kind == ReduceKind::All) {
    Bits out = r.kind == ReduceKind::All;
    for (const Value& v : terms) out = r.kind == ReduceKind::All ? out & std::get<Bits>(v) : out | std::get<Bits>(v);
    return Value(out);
  }
  if (!terms.empty()) return tree(r.kind, t.type, std::move(terms));
  const bool sum = r.kind == ReduceKind::Sum || r.kind == ReduceKind::Dot;
  if (t.type == ElementType::Z) {
    if (!sum && r.kind != ReduceKind::Product) return missing(Missing::Meaning);
    return Value(std::int64_t{sum ? 0 : 1});
  }
  if (t.type == ElementType::R) return Value(sum ? Real() : r.kind == ReduceKind::Product ? Real(1) : Real(Exact::infinity(r.kind == ReduceKind::Maximum)));
  return held(t.type, neutral(r.kind == ReduceKind::Dot ? ReduceKind::Sum : r.kind, t.type));
}

// -0 equals 0, NaN is greatest.
std::optional<int> RealElements::compare_keys(ElementType type, const Value& a, const Value& b) {
  if (type == ElementType::Z) {
    const auto x = std::get<std::int64_t>(a), y = std::get<std::int64_t>(b);
    return x < y ? -1 : x > y;
  }
  if (!as_real(type)) return interp::compare_keys(type, std::get<Bits>(a), std::get<Bits>(b));
  const bool x = is_nan(type, a), y = is_nan(type, b);
  if (x || y) return static_cast<int>(x) - static_cast<int>(y);
  const auto order = interp::compare(real(a), real(b));
  if (!order) return missing(Missing::Precision);
  return *order < 0 ? -1 : *order > 0;
}

RealElements::Maybe RealElements::extreme_place(const core::ReduceView& r) {
  const ElementType type = p_.term(r.bodies[0]).type;
  std::optional<std::pair<std::int64_t, Value>> best;
  const bool whole = each_kept(r, [&](std::int64_t position) {
    Maybe v = term(r.bodies[0]);
    if (!v) return false;
    if (best) {
      auto order = compare_keys(type, *v, best->second);
      if (!order) return false;
      // NaN beats every number either way.
      if (r.kind == ReduceKind::ArgMin && !is_nan(type, *v) && !is_nan(type, best->second)) order = -*order;
      if (*order <= 0) return true;
    }
    best.emplace(position, std::move(*v));
    return true;
  });
  return whole && best ? Maybe(best->first) : std::nullopt;
}

RealElements::Maybe RealElements::fold(TermId id) {
  const core::FoldView f = p_.fold(id);
  Maybe accumulator = term(f.initial);
  if (!accumulator) return std::nullopt;
  const Bound bound(*this, std::span(&f.accumulator, 1));
  const bool whole = each(f.variables, f.extents, [&] {
    variables_[f.accumulator] = accumulator;
    accumulator = term(f.body);
    return accumulator.has_value();
  });
  return whole ? accumulator : std::nullopt;
}

RealElements::Maybe RealElements::nth(TermId id) {
  const core::NthView n = p_.nth(id);
  const auto place = integer(n.place);
  if (!place) return std::nullopt;
  std::vector<std::vector<Value>> keys;
  const bool whole = each(std::span(&n.variable, 1), std::span(&n.extent, 1), [&] {
    std::vector<Value> key;
    for (TermId k : n.keys) {
      Maybe v = term(k);
      if (!v) return false;
      key.push_back(std::move(*v));
    }
    keys.push_back(std::move(key));
    return true;
  });
  if (!whole || *place < 0 || *place >= static_cast<std::int64_t>(keys.size())) return std::nullopt;
  // The element that has `place` others before it: by the keys, equals by position.
  for (std::size_t c = 0; c < keys.size(); ++c) {
    std::int64_t before = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (!spend()) return std::nullopt;
      int order = 0;
      for (std::size_t k = 0; k < n.keys.size() && order == 0; ++k) {
        const auto o = compare_keys(p_.term(n.keys[k]).type, keys[j][k], keys[c][k]);
        if (!o) return std::nullopt;
        order = n.descending ? -*o : *o;
      }
      before += order < 0 || (order == 0 && j < c);
    }
    if (before == *place) return Value(static_cast<std::int64_t>(c));
  }
  return std::nullopt;
}

}  // namespace ulpian::interp
