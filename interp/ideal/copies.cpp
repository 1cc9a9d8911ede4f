#include "interp/ideal/copies.h"

namespace ulpian::interp {

using core::None;
using core::TensorId;
using core::TensorKind;
using core::Term;
using core::TermId;
using core::TermKind;
using core::Variable;
using E = ElementType;

Tensor Retyped::of(const Tensor& t) const {
  if (!is_float(t.type())) return t;
  ensure(type == E::F32 || type == E::F64);
  Tensor out(type, t.extents());
  float* single = type == E::F32 ? out.writable<float>() : nullptr;
  double* wide = type == E::F64 ? out.writable<double>() : nullptr;
  const float* from = t.type() == E::F32 ? t.data<float>() : nullptr;
  for (std::int64_t i = 0; i < t.size(); ++i) {
    const double x = value(from ? static_cast<double>(from[i]) : to_double(t.type(), t.at(i)));
    if (wide) wide[i] = x;
    else single[i] = static_cast<float>(x);
  }
  return out;
}

Variable Copies::variable(Variable v) {
  auto it = scope_.variables.find(v);
  if (it == scope_.variables.end()) it = scope_.variables.emplace(v, b_.fresh(p_.variables[v].name, p_.variables[v].type)).first;
  return it->second;
}

std::vector<Variable> Copies::fresh(std::span<const Variable> all) {
  std::vector<Variable> out;
  for (Variable v : all) out.push_back(variable(v));
  return out;
}

std::vector<TermId> Copies::copies(std::span<const TermId> all) {
  std::vector<TermId> out;
  for (TermId id : all) out.push_back(copy(id));
  return out;
}

core::Size Copies::size(core::Size s) {
  if (const auto it = sizes_.find(s); it != sizes_.end()) return it->second;
  const core::Size made = b_.fresh_size(p_.sizes[s].name);
  sizes_.emplace(s, made);
  if (const TensorId by = p_.sizes[s].defined_by; by != None) {
    try {
      // Whose extents name the size.
      const TensorId t = tensor(by);
      b_.program().sizes[made].defined_by = t;
    } catch (const Unknown&) {
      sizes_.erase(s);
      throw;
    }
  }
  return made;
}

TermId Copies::copy(TermId id) {
  if (near_.terms[id] != Nearness::Same) throw Unknown();
  if (const auto it = scope_.copies.find(id); it != scope_.copies.end()) return it->second;
  const TermId made = copied(id);
  scope_.copies.emplace(id, made);
  return made;
}

TermId Copies::copied(TermId id) {
  const Term& t = p_.term(id);
  const auto a = p_.arguments_of(id);
  switch (t.kind) {
    case TermKind::Constant:
      if (t.type == E::Z) return b_.integer(static_cast<std::int64_t>(t.data));
      if (t.type == E::R) return b_.real(p_.reals[t.data]);
      if (retyped_ && is_float(t.type)) return b_.constant(retyped_->type, from_double(retyped_->type, retyped_->value(to_double(t.type, t.data))));
      return t.type == E::String ? b_.text(p_.texts[t.data]) : b_.constant(t.type, t.data);
    case TermKind::Variable: {
      const auto it = scope_.indices.find(static_cast<Variable>(t.data));
      return it != scope_.indices.end() ? it->second : b_.variable(variable(static_cast<Variable>(t.data)));
    }
    case TermKind::Size: return b_.size(size(static_cast<core::Size>(t.data)));
    case TermKind::Primitive: return b_.primitive(static_cast<Primitive>(t.operation), copies(a));
    case TermKind::Cast:
      if (retyped_ && is_float(t.type)) {
        if (!is_float(p_.term(a[0]).type)) throw Unknown();
        return copy(a[0]);
      }
      return b_.cast(t.type, copy(a[0]), static_cast<CastMode>(t.operation));
    case TermKind::Select: {
      const TermId condition = copy(a[0]), yes = copy(a[1]);
      return b_.select(condition, yes, copy(a[2]));
    }
    case TermKind::Read: {
      const TensorId from = tensor(static_cast<TensorId>(t.data));
      return b_.read(from, copies(a));
    }
    case TermKind::ReadElse: {
      const TensorId from = tensor(static_cast<TensorId>(t.data));
      const std::vector<TermId> all = copies(a);
      return b_.read_else(from, std::span(all).first(all.size() - 1), all.back(), false);
    }
    case TermKind::Choice: return copy(a[0]);
    case TermKind::Unspecified: return b_.unspecified(t.type);
    case TermKind::Random: {
      const std::vector<TermId> all = copies(a);
      return b_.random(all[0], all[1], all[2]);
    }
    case TermKind::Reduce: {
      const core::ReduceView r = p_.reduce(id);
      const std::vector<Variable> own = fresh(r.variables);
      const std::vector<TermId> extents = copies(r.extents), bodies = copies(r.bodies);
      const TermId filter = copy_or_none(r.filter);
      return b_.reduce(r.kind, t.type, own, extents, filter, false, copy_or_none(r.initial), bodies);
    }
    case TermKind::Fold: {
      const core::FoldView f = p_.fold(id);
      const std::vector<Variable> own = fresh(f.variables);
      const std::vector<TermId> extents = copies(f.extents);
      const TermId initial = copy(f.initial);
      return b_.fold(own, extents, variable(f.accumulator), initial, copy(f.body));
    }
    case TermKind::Nth: {
      const core::NthView n = p_.nth(id);
      const TermId extent = copy(n.extent), place = copy(n.place);
      return b_.nth(variable(n.variable), extent, place, copies(n.keys), n.descending);
    }
  }
  throw Unknown();
}

TensorId Copies::tensor(TensorId id) {
  if (tensors_[id] != None) return tensors_[id];
  const core::TensorNode& n = p_.tensor(id);
  // A recurrence of numbers known as they are is rare.
  if (near_.tensors[id] != Nearness::Same || n.kind == TensorKind::Recurrence) throw Unknown();
  tensors_[id] = apart([&] {
    core::TensorNode made = n;
    made.place = 0;
    if (retyped_ && is_float(n.type)) {
      made.type = retyped_->type;
      if (n.literal) made.literal = retyped_->of(*n.literal);
    }
    made.extents = copies(n.extents);
    made.variables = fresh(n.variables);
    made.domain = copies(n.domain);
    made.body = copy_or_none(n.body);
    if (n.kind == TensorKind::Scatter) {
      made.scatter.base = tensor(n.scatter.base);
      made.scatter.filter = copy_or_none(n.scatter.filter);
      made.scatter.index = copies(n.scatter.index);
    }
    return b_.add(std::move(made));
  });
  return tensors_[id];
}

}  // namespace ulpian::interp
