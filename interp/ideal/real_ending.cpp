// What an element ends in, and of a sum how large it is: what tells in words why an answer is none of the values that are admitted.
#include <array>

#include "interp/ideal/real_element_parts.h"

namespace ulpian::interp {

using core::None;
using core::ReduceKind;
using core::TensorKind;
using core::TermId;
using core::TermKind;

std::optional<RealElements::Ending> RealElements::ending_of(std::size_t output, std::int64_t position, const Limits& limits) {
  work_->steps = 0;
  work_->depth = 0;
  work_->limits = limits;
  work_->missing = Missing::Nothing;
  try {
    fresh();
    const core::TensorId id = p_.outputs.at(output);
    if (id == None) return std::nullopt;
    const Extents* extents = extents_of(id);
    if (!extents) return std::nullopt;
    std::vector<std::int64_t> index(extents->size());
    for (std::size_t d = extents->size(); d-- > 0;) {
      if ((*extents)[d] <= 0) return std::nullopt;
      index[d] = position % (*extents)[d];
      position /= (*extents)[d];
    }
    return ending_in(id, index, 0);
  } catch (const ExactTooLarge&) {
    return std::nullopt;
  }
}

std::optional<RealElements::Ending> RealElements::ending_in(core::TensorId id, Index index, int depth) {
  constexpr int MostTensors = 40;
  const core::TensorNode& n = p_.tensor(id);
  if (depth > MostTensors || (n.kind != TensorKind::Comprehension && n.kind != TensorKind::Recurrence) || index.size() != n.variables.size()) return std::nullopt;
  const Bound bound(*this, n.variables);
  for (std::size_t d = 0; d < index.size(); ++d) variables_[n.variables[d]] = Value(index[d]);
  return ending_at(n.body, depth);
}

std::optional<RealElements::Ending> RealElements::ending_at(TermId id, int depth) {
  for (;;) {
    if (!spend()) return std::nullopt;
    const core::Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Cast:
        // Of a cast to an integer the cast is the end.
        if (!as_real(t.type) || !as_real(p_.term(a[0]).type)) return Ending{id, 0, {}};
        id = a[0];
        continue;
      case TermKind::Choice: id = a[0]; continue;
      case TermKind::Select: {
        const auto condition = truth(a[0]);
        if (!condition) return std::nullopt;
        id = *condition ? a[1] : a[2];
        continue;
      }
      case TermKind::Read:
      case TermKind::ReadElse: {
        const auto tensor = static_cast<core::TensorId>(t.data);
        const Extents* extents = extents_of(tensor);
        const std::size_t rank = t.kind == TermKind::Read ? a.size() : a.size() - 1;
        if (!extents || extents->size() != rank) return std::nullopt;
        std::vector<std::int64_t> index(rank);
        bool inside = true;
        for (std::size_t d = 0; d < rank; ++d) {
          const auto k = integer(a[d]);
          if (!k) return std::nullopt;
          index[d] = *k;
          inside = inside && *k >= 0 && *k < (*extents)[d];
        }
        if (!inside && t.kind == TermKind::Read) return std::nullopt;
        if (!inside) {
          id = a.back();
          continue;
        }
        if (p_.tensor(tensor).kind != TensorKind::Comprehension && p_.tensor(tensor).kind != TensorKind::Recurrence) return Ending{id, 0, {}};
        return ending_in(tensor, index, depth + 1);
      }
      case TermKind::Reduce: return sized(id);
      default: return Ending{id, 0, {}};
    }
  }
}

// Of a sum its terms and their magnitudes.
std::optional<RealElements::Ending> RealElements::sized(TermId id) {
  Ending out{id, 0, {}};
  const core::ReduceView r = p_.reduce(id);
  if (!as_real(p_.term(id).type) || (r.kind != ReduceKind::Sum && r.kind != ReduceKind::Dot)) return out;
  FlatSum sum(work_->bits);
  const auto add = [&](const Real& x, const Real& y) {
    ++out.terms;
    const auto u = on_reals(Primitive::Absolute, ElementType::R, std::span(&x, 1)), v = on_reals(Primitive::Absolute, ElementType::R, std::span(&y, 1));
    return u && v && sum.add_product(real(*u), real(*v));
  };
  if (r.initial != None) {
    const Maybe v = term(r.initial);
    if (!v || !add(real(*v), Real(1))) return std::nullopt;
  }
  const bool whole = each_kept(r, [&](std::int64_t) {
    const Maybe v = term(r.bodies[0]), w = r.kind == ReduceKind::Dot ? term(r.bodies[1]) : Maybe(Value(Real(1)));
    return v && w && add(real(*v), real(*w));
  });
  if (!whole) return out.terms = 0, out;
  if (auto total = sum.result()) out.magnitude = std::move(*total);
  return out;
}

}  // namespace ulpian::interp
