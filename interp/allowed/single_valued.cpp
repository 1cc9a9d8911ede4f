#include "interp/allowed/single_valued.h"

#include <vector>

#include "interp/allowed/intermediates.h"

namespace ulpian::interp::allowed {
namespace {

using core::None;
using core::ReduceKind;
using core::TensorKind;
using core::TermId;
using core::TermKind;

// Numbers whose sums and products depend on their order and form. Of complex ones there are no sets: calls with such an operation end undecided.
bool rounds(ElementType type) { return is_float(type) || is_complex(type); }

bool is_free(const core::Program& p, TermId id, const Profile& profile, bool unrounded) {
  const core::Term& t = p.term(id);
  if (t.type == ElementType::R) return true;
  if (unrounded && AllowedTensor::can_be_handed_on(t.type) && rounds_in_canonical(p, id)) return true;
  if (t.flags & (core::OptionalTerm | core::OptionalFilter) && (t.kind == TermKind::ReadElse || t.kind == TermKind::Reduce)) return true;
  switch (t.kind) {
    case TermKind::Primitive: {
      const ElementType type = p.term(p.arguments_of(id)[0]).type;
      if (profile.deviates() && is_float(type)) return true;
      if (is_complex(type)) return static_cast<Primitive>(t.operation) == Primitive::Multiply;
      const auto operation = static_cast<Primitive>(t.operation);
      const bool elementary = row_of(operation).kind == PrimitiveKind::Elementary;
      if (is_float(type) && elementary && !profile.error(operation, type).is_rounding()) return true;
      // A division or root of a narrow type may be one of f32 whose result is rounded.
      if (is_float(type) && bits_of(type) < 32 && !elementary && profile.ulp(operation, ElementType::F32) > 0.5) return true;
      return is_float(type) && profile.ulp(operation, type) > 0.5;
    }
    case TermKind::Cast: {
      const ElementType from = p.term(p.arguments_of(id)[0]).type;
      // Which of its bits a NaN has is open.
      if (static_cast<CastMode>(t.operation) == CastMode::Reinterpret) return is_float(from);
      if (profile.deviates() && (is_float(from) || is_float(t.type))) return true;
      if (is_float(from) && is_integer(t.type)) return static_cast<CastMode>(t.operation) == CastMode::Plain;
      return false;
    }
    case TermKind::Reduce: {
      const auto kind = static_cast<ReduceKind>(t.operation);
      if (profile.deviates() && is_float(t.type)) return true;
      return rounds(t.type) && (kind == ReduceKind::Sum || kind == ReduceKind::Dot || kind == ReduceKind::Product);
    }
    case TermKind::Choice:
    case TermKind::Unspecified:
    case TermKind::Random: return true;
    default: return false;
  }
}

}  // namespace

bool is_single_valued(const core::Program& p, const Profile& profile, bool unrounded) {
  if (intermediates_of(p).matter) return false;
  std::vector<bool> seen(p.terms.size()), wanted(p.tensors.size());
  std::vector<TermId> terms;
  std::vector<core::TensorId> tensors;
  const auto need = [&](core::TensorId t) {
    if (t == None || wanted[t]) return;
    wanted[t] = true;
    tensors.push_back(t);
  };
  for (core::TensorId t : p.outputs) need(t);
  while (!terms.empty() || !tensors.empty()) {
    if (terms.empty()) {
      const core::TensorNode& n = p.tensor(tensors.back());
      tensors.pop_back();
      terms.insert(terms.end(), n.extents.begin(), n.extents.end());
      terms.insert(terms.end(), n.domain.begin(), n.domain.end());
      if (n.body != None) terms.push_back(n.body);
      if (n.kind == TensorKind::Scatter) {
        if (n.scatter.mode == core::ScatterMode::Any || ((n.scatter.mode == core::ScatterMode::Add || n.scatter.mode == core::ScatterMode::Multiply) && rounds(n.type))) return false;
        const bool combines = n.scatter.mode != core::ScatterMode::Last && n.scatter.mode != core::ScatterMode::Any;
        if (combines && profile.deviates() && is_float(n.type)) return false;
        need(n.scatter.base);
        terms.insert(terms.end(), n.scatter.index.begin(), n.scatter.index.end());
        if (n.scatter.filter != None) terms.push_back(n.scatter.filter);
      }
      if (n.kind == TensorKind::Recurrence)
        for (core::TensorId m : p.recurrences[n.group].members) need(m);
      continue;
    }
    const TermId id = terms.back();
    terms.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    if (is_free(p, id, profile, unrounded)) return false;
    const core::Term& t = p.term(id);
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) need(static_cast<core::TensorId>(t.data));
    if (t.kind == TermKind::Size) need(p.sizes[t.data].defined_by);
    const auto a = p.arguments_of(id);
    terms.insert(terms.end(), a.begin(), a.end());
  }
  return true;
}

}  // namespace ulpian::interp::allowed
