#include <algorithm>

#include <fmt/format.h>

#include "interp/allowed/deviations.h"
#include "interp/allowed/loops.h"
#include "interp/allowed/rounding.h"
#include "interp/allowed/sums.h"
#include "interp/canonical/canonical.h"

namespace ulpian::interp::allowed {

using core::None;
using core::ReduceKind;
using core::TermId;
using core::Variable;

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

bool among(std::span<const Variable> variables, Variable v) { return std::find(variables.begin(), variables.end(), v) != variables.end(); }

Axes joined(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

// --- max, min, any, all, count, prod

Reduction::Element Reduction::neutral() const {
  Element e;
  switch (kind) {
    case ReduceKind::Product: e.lo = e.hi = 1, e.ilo = e.ihi = 1; break;
    case ReduceKind::All: e.ilo = e.ihi = 1; break;
    case ReduceKind::Maximum:
    case ReduceKind::Minimum: {
      const bool most = kind == ReduceKind::Maximum;
      if (type == ElementType::R) e.lo = e.hi = most ? -Infinity : Infinity;
      else if (uses_doubles(type)) e.lo = e.hi = to_double(type, interp::neutral(kind, type));
      else if (type == ElementType::Bool) e.ilo = e.ihi = most ? 0 : 1;
      else e.ilo = e.ihi = most ? whole_of(type).ilo : whole_of(type).ihi;
      break;
    }
    default: break;
  }
  return e;
}

Reduction::Reduction(ReduceKind k, ElementType t, const Rules& r, Axes a) : kind(k), type(t), axes(std::move(a)), rules(&r) { elements.assign(index(size_of(axes)), neutral()); }

void Reduction::add_term(Element& e, const Lanes& v, std::int64_t i) const {
  const std::uint8_t f = v.flag(i);
  if (f & Excluded) return;
  const bool sure = !(f & Skippable);
  if (f & NoValue) {
    if (sure) e.no_value = true;
    return;
  }
  if (f & Anything) {
    e.anything = true;
    return;
  }
  switch (kind) {
    case ReduceKind::Count:
      e.ihi += 1;
      e.ilo += sure;
      return;
    case ReduceKind::Any:
      if (sure) e.ilo |= v.ilow(i);
      e.ihi |= v.ihigh(i);
      return;
    case ReduceKind::All:
      e.ilo &= v.ilow(i);
      if (sure) e.ihi &= v.ihigh(i);
      return;
    default: break;
  }
  if (uses_doubles(type)) {
    if (v.low(i) != v.low(i)) {
      const bool ignored = (kind == ReduceKind::Maximum || kind == ReduceKind::Minimum) && rules->profile->admits(Freedom::NanIgnored, type);
      (sure && !ignored ? e.sure_nan : e.may_be_nan) = true;
      return;
    }
    if (f & HasNan) e.may_be_nan = true;
  }
  if (kind == ReduceKind::Product) {
    if (!uses_doubles(type)) {
      if (!sure || v.ilow(i) != v.ihigh(i)) e.wide = true;
      e.ilo = static_cast<std::int64_t>(static_cast<std::uint64_t>(e.ilo) * static_cast<std::uint64_t>(v.ilow(i)));
      return;
    }
    double lo = v.low(i), hi = v.high(i);
    if (!sure) lo = std::min(lo, 1.0), hi = std::max(hi, 1.0);
    if (lo == 1 && hi == 1) return;
    if (std::fabs(lo) == Infinity || std::fabs(hi) == Infinity) e.wide = true;
    e.either_sign |= std::signbit(lo) != std::signbit(hi);
    e.terms += 1;
    const double most = std::max(std::fabs(lo), std::fabs(hi));
    if (most > 1) e.big = product_above(e.big, most);
    const double a = e.lo, b = e.hi;
    e.lo = std::min({product_below(a, lo), product_below(a, hi), product_below(b, lo), product_below(b, hi)});
    e.hi = std::max({product_above(a, lo), product_above(a, hi), product_above(b, lo), product_above(b, hi)});
    return;
  }
  const bool most = kind == ReduceKind::Maximum;
  if (uses_doubles(type)) {
    const double lo = v.low(i), hi = v.high(i);
    // What may be NaN may be passed over.
    const bool taken = sure && !((f & HasNan) && rules->profile->admits(Freedom::NanIgnored, type));
    if (most) {
      if (taken && before(e.lo, lo)) e.lo = lo;
      if (before(e.hi, hi)) e.hi = hi;
    } else {
      if (before(lo, e.lo)) e.lo = lo;
      if (taken && before(hi, e.hi)) e.hi = hi;
    }
  } else {
    const std::int64_t lo = v.ilow(i), hi = v.ihigh(i);
    if (most) {
      if (sure && before(type, e.ilo, lo)) e.ilo = lo;
      if (before(type, e.ihi, hi)) e.ihi = hi;
    } else {
      if (before(type, lo, e.ilo)) e.ilo = lo;
      if (sure && before(type, hi, e.ihi)) e.ihi = hi;
    }
  }
}

void Reduction::merge(Element& into, const Element& from) const {
  into.may_be_nan |= from.may_be_nan;
  into.sure_nan |= from.sure_nan;
  into.anything |= from.anything;
  into.no_value |= from.no_value;
  into.wide |= from.wide;
  into.either_sign |= from.either_sign;
  switch (kind) {
    case ReduceKind::Count: into.ilo += from.ilo, into.ihi += from.ihi; return;
    case ReduceKind::Any: into.ilo |= from.ilo, into.ihi |= from.ihi; return;
    case ReduceKind::All: into.ilo &= from.ilo, into.ihi &= from.ihi; return;
    case ReduceKind::Product: {
      if (!uses_doubles(type)) {
        into.ilo = static_cast<std::int64_t>(static_cast<std::uint64_t>(into.ilo) * static_cast<std::uint64_t>(from.ilo));
        return;
      }
      const std::int64_t terms = into.terms + from.terms;
      into.big = product_above(into.big, from.big);
      const double a = into.lo, b = into.hi, lo = from.lo, hi = from.hi;
      into.lo = std::min({product_below(a, lo), product_below(a, hi), product_below(b, lo), product_below(b, hi)});
      into.hi = std::max({product_above(a, lo), product_above(a, hi), product_above(b, lo), product_above(b, hi)});
      into.terms = terms;
      return;
    }
    default: break;
  }
  const bool most = kind == ReduceKind::Maximum;
  if (uses_doubles(type)) {
    if (before(into.lo, from.lo) == most) into.lo = most ? (before(into.lo, from.lo) ? from.lo : into.lo) : (before(from.lo, into.lo) ? from.lo : into.lo);
    if (before(into.hi, from.hi) == most) into.hi = most ? (before(into.hi, from.hi) ? from.hi : into.hi) : (before(from.hi, into.hi) ? from.hi : into.hi);
  } else {
    if (most ? before(type, into.ilo, from.ilo) : before(type, from.ilo, into.ilo)) into.ilo = from.ilo;
    if (most ? before(type, into.ihi, from.ihi) : before(type, from.ihi, into.ihi)) into.ihi = from.ihi;
  }
}

void Reduction::add(const Lanes& terms, const Axes& outer) {
  const std::int64_t rows = size_of(outer), inner = terms.n / std::max<std::int64_t>(1, rows);
  std::vector<Element> part(index(rows), neutral());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = r * inner; i < (r + 1) * inner; ++i) add_term(part[index(r)], terms, i);
  std::vector<std::int64_t> own(index(rows)), where(elements.size());
  for (std::int64_t r = 0; r < rows; ++r) own[index(r)] = r;
  broadcast(own.data(), outer, axes, where.data());
  for (std::size_t i = 0; i < elements.size(); ++i) merge(elements[i], part[index(where[i])]);
}

Lanes Reduction::finish() const {
  Lanes out(type, axes, !uses_doubles(type));
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const Element& e = elements[k];
    const auto i = static_cast<std::int64_t>(k);
    if (e.no_value) {
      out.set(i, {});
      out.mark(i, NoValue);
      continue;
    }
    if (e.anything) {
      set_anything(out, i);
      continue;
    }
    if (e.sure_nan) {
      set_pieces(out, i, {}, 0);
      continue;
    }
    Piece p{e.lo, e.hi, e.ilo, e.ihi};
    if (kind == ReduceKind::Product) {
      if (!uses_doubles(type)) {
        p.ilo = p.ihi = type == ElementType::Z ? e.ilo : to_int64(type, from_int64(type, e.ilo));
        if (e.wide) p = whole_of(type);
      } else if (e.wide) {
        p = whole_of(type);
        out.mark(i, HasNan);
      } else if (type != ElementType::R) {
        const FloatFormat& f = format_of(type);
        const double last = to_double(type, largest_finite(type));
        if (e.terms > 2) {
          if (!(e.big < last)) {
            set_anything(out, i);
            continue;
          }
          const double u = std::ldexp(1.0, -f.precision()), n = static_cast<double>(e.terms - 1);
          const double relative = enlarged(n * u / (1 - n * u)), tiny = n * std::ldexp(1.0, f.min_exponent() - f.precision() + 1) * e.big;
          if (!(n * u < 0.5)) {
            set_anything(out, i);
            continue;
          }
          p.lo = below(p.lo - enlarged(std::fabs(p.lo) * relative + tiny));
          p.hi = above(p.hi + enlarged(std::fabs(p.hi) * relative + tiny));
        }
        if (rules->rounds) p.lo = nearest(type, p.lo), p.hi = nearest(type, p.hi);
        else p.lo = kept_low(type, p.lo), p.hi = kept_high(type, p.hi);
        if (p.lo != p.hi && p.lo == 0) p.lo = -0.0;
        if (p.lo != p.hi && p.hi == 0) p.hi = 0.0;
        if (e.either_sign && p.lo == 0 && p.hi == 0) p.lo = -0.0, p.hi = 0.0;
        if (p.lo != p.lo || p.hi != p.hi) {
          set_anything(out, i);
          continue;
        }
      } else {
        const double u = std::ldexp(1.0, -format_of(rules->real_unit).precision()) * static_cast<double>(e.terms);
        p.lo -= enlarged(std::fabs(p.lo) * u * 2), p.hi += enlarged(std::fabs(p.hi) * u * 2);
      }
    }
    out.set(i, p);
    if (e.may_be_nan) out.mark(i, HasNan);
  }
  return out;
}

// --- loops

void Evaluator::open_loop(Loop& loop) {
  for (std::size_t k = 0; k < loop.variables.size(); ++k) {
    const Value e = value(loop.extent_terms[k]);
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < e->n; ++i)
      if (!(e->flag(i) & NoValue)) {
        if (e->flag(i) & Anything) stop(ErrorKind::Unsupported, "an extent is not certain", program_.term(loop.extent_terms[k]).place);
        most = std::max(most, e->ihigh(i));
      }
    const bool uniform = e->n == 1 && e->decided(0);
    loop.extents.push_back(most);
    loop.limits.push_back(uniform ? nullptr : e);
    loop.rectangular = loop.rectangular && uniform;
    open(loop.variables[k], most);
    bind(loop.variables[k], 0, std::max<std::int64_t>(1, most));
  }
  // The limits are terms; they are evaluated again for each block.
}

Value Evaluator::filter_of(const core::ReduceView& view, const Loop& loop) {
  Value filter = view.filter == None ? nullptr : value(view.filter);
  for (std::size_t k = 0; k < loop.variables.size(); ++k) {
    if (!loop.limits[k]) continue;
    auto v = std::make_shared<Lanes>(ElementType::Z, box(loop.variables.subspan(k, 1)), true);
    for (std::int64_t i = 0; i < v->n; ++i) v->ilo[index(i)] = bindings_[loop.variables[k]].start + i;
    Value pair[2] = {v, value(loop.extent_terms[k])};
    const Axes axes = joint_axes(pair);
    for (Value& x : pair) x = at_axes(x, axes);
    const Lanes* both[2] = {pair[0].get(), pair[1].get()};
    Value below_limit = std::make_shared<Lanes>(comparison_lanes(Primitive::Less, both));
    if (filter) {
      Value two[2] = {filter, below_limit};
      const Axes joint = joint_axes(two);
      for (Value& x : two) x = at_axes(x, joint);
      const Lanes* arguments[2] = {two[0].get(), two[1].get()};
      auto combined = std::make_shared<Lanes>(apply_primitive(Primitive::And, ElementType::Bool, rules, arguments));
      // Where the limit says no, the condition's own reads may be outside.
      for (std::int64_t i = 0; i < combined->n; ++i)
        if (two[1]->ihigh(i) == 0 && !combined->flags.empty()) combined->flags[index(i)] = 0;
      filter = combined;
    } else {
      filter = below_limit;
    }
  }
  return filter;
}

namespace {

// The terms with those that the filter leaves out, or may leave out, marked.
Lanes filtered(Lanes terms, const Lanes& filter, bool optional) {
  for (std::int64_t i = 0; i < terms.n; ++i) {
    if (filter.flag(i) & NoValue) {
      terms.mark(i, NoValue);
      continue;
    }
    if (filter.ilow(i) != 0) continue;
    if (filter.ihigh(i) != 0) {
      terms.mark(i, Skippable);
      continue;
    }
    terms.unions.erase(i);
    terms.set(i, {});
    if (!terms.flags.empty()) terms.flags[index(i)] = 0;
    terms.mark(i, optional ? Skippable : Excluded);
  }
  return terms;
}

}  // namespace

// The axes outside the reduction on which a term may depend.
Axes Evaluator::outer_axes(std::span<const TermId> terms, std::span<const Variable> inner) {
  std::vector<Variable> all;
  for (TermId t : terms) {
    if (t == None) continue;
    for (Variable v : program_.free_of(t)) {
      if (bindings_[v].bound) {
        for (const Axis& a : bindings_[v].bound->axes) all.push_back(a.variable);
      } else if (bindings_[v].count > 1) {
        const auto& e = effective(t);
        if (std::find(e.begin(), e.end(), v) != e.end()) all.push_back(v);
      }
    }
  }
  std::sort(all.begin(), all.end(), [&](Variable a, Variable b) { return bindings_[a].order < bindings_[b].order; });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [&](Variable v) { return among(inner, v); });
  return box(all);
}

// Where the elements at the points of `axes` lie in a tensor by these variables.
std::vector<std::int64_t> Evaluator::positions_in(std::span<const Variable> variables, const Extents& extents, const Axes& axes) const {
  std::vector<std::int64_t> strides(axes.size()), of_points;
  std::int64_t first = 0, stride = 1;
  for (std::size_t k = variables.size(); k-- > 0; stride *= extents[k]) {
    const Binding& b = bindings_[variables[k]];
    if (b.bound && b.bound->n > 1) {
      of_points.resize(index(b.bound->n));
      for (std::size_t i = 0; i < of_points.size(); ++i) of_points[i] += b.bound->ilo[i] * stride;
      continue;
    }
    first += (b.bound ? b.bound->ilo[0] : b.start) * stride;
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d].variable == variables[k]) strides[d] = stride;
  }
  std::vector<std::int64_t> out(index(size_of(axes))), at(axes.size());
  for (std::int64_t& position : out) {
    position = first;
    for (std::size_t d = 0; d < axes.size(); ++d) position += axes[d].variable != points_ ? at[d] * strides[d] : of_points.empty() ? 0 : of_points[index(at[d])];
    for (std::size_t d = axes.size(); d-- > 0;) {
      if (++at[d] < axes[d].count) break;
      at[d] = 0;
    }
  }
  return out;
}

// The part of a tensor of sums that lies in the box.
void Evaluator::add_quickly(const QuickSums::Found& f, const Axes& outer, Sums& sums) const {
  Axes axes = outer;
  std::erase_if(axes, [&](const Axis& a) { return a.variable != points_ && !among(f.variables, a.variable); });
  const std::vector<std::int64_t> positions = positions_in(f.variables, f.extents, axes);
  const std::vector<std::int64_t> of_count = f.count_variables == f.variables ? positions : positions_in(f.count_variables, f.count_extents, axes);
  Sums::Known known;
  known.most = f.most;
  known.center.resize(positions.size()), known.magnitude.resize(positions.size()), known.count.resize(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    known.center[i] = f.center.data<double>()[positions[i]];
    known.count[i] = f.count.data<float>()[of_count[i]];
    known.magnitude[i] = known.count[i] == 0 ? 0 : f.magnitude.data<double>()[positions[i]];
  }
  sums.add_known(std::move(known), axes);
}

Value Evaluator::reduce(TermId id, bool rounds) {
  const core::ReduceView view = program_.reduce(id);
  const ElementType type = program_.term(id).type;
  if (is_complex(type) || type == ElementType::String) stop(ErrorKind::Unsupported, fmt::format("sets of {} are not available", name_of(type)), program_.term(id).place);
  Loop loop{view.variables, view.extents, {}, {}, true};
  open_loop(loop);
  struct Closer {
    Evaluator& e;
    std::span<const Variable> v;
    ~Closer() {
      for (Variable x : v) e.close(x);
    }
  } closer{*this, view.variables};
  if (view.kind == ReduceKind::ArgMax || view.kind == ReduceKind::ArgMin) return arg_extreme(id, view, loop);
  const bool sum = view.kind == ReduceKind::Sum, dot = view.kind == ReduceKind::Dot;
  const auto [products, bodies] = summands_of(program_, id);
  const QuickSums::Found* quickly = quick ? quick->of(id) : nullptr;
  std::vector<TermId> roots(bodies);
  roots.push_back(view.filter);
  roots.insert(roots.end(), view.extents.begin(), view.extents.end());
  const std::vector<std::int64_t> counts = quickly ? std::vector<std::int64_t>{} : plan(view.variables, loop.extents, roots);
  roots.push_back(view.initial);
  const Axes outer = outer_axes(roots, view.variables);
  Rules term_rules = rules, mode = rules;
  mode.rounds = rounds;
  term_rules.casts_outward = true;  // a wider accumulator does not round the term
  std::optional<Sums> sums;
  std::optional<Reduction> reduction;
  if (sum || dot) sums.emplace(type, mode, outer, products);
  else reduction.emplace(view.kind, type, mode, outer);
  const bool squares = products && bodies[0] == bodies[1] && view.initial == None;
  if (squares) sums->of_squares();
  const auto outside = [&](const Axes& axes) {
    Axes out = axes;
    std::erase_if(out, [&](const Axis& a) { return among(view.variables, a.variable); });
    return out;
  };
  if (view.initial != None) {
    const Value v = value(view.initial);
    if (sums) sums->add_terms(*v, v->axes);
    else reduction->add(*v, v->axes);
  }
  if (quickly) add_quickly(*quickly, outer, *sums);
  else for_each_block(view.variables, loop.extents, counts, [&](std::span<const std::int64_t>) {
    const Axes inner = box(view.variables);
    const Value filter = filter_of(view, loop);
    const auto prepared = [&](TermId body, bool with_filter) {
      Value v = body == None ? std::make_shared<const Lanes>(ElementType::Bool, Axes{}, true) : value(body);
      if (body != None && v->type != type) v = std::make_shared<const Lanes>(apply_cast(type, CastMode::Plain, term_rules, *v));
      if (rules.profile->deviates() && body != None && is_float(v->type))
        v = std::make_shared<const Lanes>(products ? as_factor(*rules.profile, *v) : rules.profile->admits(Freedom::Daz, v->type) ? flushed(*v, true) : *v);
      if (!with_filter || !filter) return v;
      const Value both[2] = {v, filter};
      const Axes axes = joint_axes(both);
      return Value(std::make_shared<const Lanes>(filtered(expanded(*v, axes), *at_axes(filter, axes), dot && view.optional_filter)));
    };
    if (products) {
      const Value a = prepared(bodies[0], true), b = prepared(bodies[1], false);
      Parts parts;
      parts.inner = inner;
      const Axes of_a = outside(a->axes), of_b = outside(b->axes);
      for (const Axis& x : of_a) (std::find(of_b.begin(), of_b.end(), x) != of_b.end() ? parts.batch : parts.rows).push_back(x);
      for (const Axis& x : of_b)
        if (std::find(of_a.begin(), of_a.end(), x) == of_a.end()) parts.columns.push_back(x);
      sums->add_products(*a, *b, parts);
      return;
    }
    const Value v = prepared(view.kind == ReduceKind::Count ? None : view.bodies[0], true);
    const Axes own = outside(v->axes);
    const Lanes terms = expanded(*v, joined(own, inner));
    if (sums) sums->add_terms(terms, own);
    else reduction->add(terms, own);
  });
  auto out = std::make_shared<Lanes>(sums ? sums->finish() : reduction->finish());
  if (squares) not_negative(*out);
  if (rules.profile->deviates()) *out = as_result(*rules.profile, std::move(*out));
  return out;
}

}  // namespace ulpian::interp::allowed
