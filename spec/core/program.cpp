#include "spec/core/program.h"

namespace ulpian::core {

std::string_view name_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Sum: return "sum";
    case ReduceKind::Dot: return "dot";
    case ReduceKind::Product: return "prod";
    case ReduceKind::Maximum: return "max";
    case ReduceKind::Minimum: return "min";
    case ReduceKind::Any: return "any";
    case ReduceKind::All: return "all";
    case ReduceKind::Count: return "count";
    case ReduceKind::ArgMax: return "argmax";
    case ReduceKind::ArgMin: return "argmin";
  }
  ensure(false);
}

std::string_view name_of(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::Last: return "last";
    case ScatterMode::Any: return "any";
    case ScatterMode::Add: return "add";
    case ScatterMode::Multiply: return "mul";
    case ScatterMode::Maximum: return "max";
    case ScatterMode::Minimum: return "min";
  }
  ensure(false);
}

std::optional<std::int64_t> Program::integer_constant(TermId id) const {
  const Term& t = terms[id];
  if (t.kind != TermKind::Constant || t.type != ElementType::Z) return std::nullopt;
  return static_cast<std::int64_t>(t.data);
}

ReduceView Program::reduce(TermId id) const {
  const Term& t = terms[id];
  ensure(t.kind == TermKind::Reduce);
  ReduceView v;
  v.kind = static_cast<ReduceKind>(t.operation);
  v.variables = binder_lists[t.binders];
  auto a = arguments_of(id);
  v.extents = a.first(v.variables.size());
  a = a.subspan(v.variables.size());
  if (t.flags & HasFilter) {
    v.filter = a.front();
    a = a.subspan(1);
  }
  if (t.flags & HasInitial) {
    v.initial = a.front();
    a = a.subspan(1);
  }
  v.bodies = a;
  v.optional_filter = (t.flags & OptionalFilter) != 0;
  return v;
}

FoldView Program::fold(TermId id) const {
  const Term& t = terms[id];
  ensure(t.kind == TermKind::Fold);
  std::span<const Variable> all = binder_lists[t.binders];
  auto a = arguments_of(id);
  const std::size_t n = all.size() - 1;
  return {all.first(n), all[n], a.first(n), a[n], a[n + 1]};
}

NthView Program::nth(TermId id) const {
  const Term& t = terms[id];
  ensure(t.kind == TermKind::Nth);
  auto a = arguments_of(id);
  return {binder_lists[t.binders].front(), a[0], a[1], a.subspan(2), (t.flags & Descending) != 0};
}

}  // namespace ulpian::core
