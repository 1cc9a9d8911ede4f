// Clauses that make tensors: outputs, equations, `let`, `rec`.
#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {

using core::TermId;
using core::TensorId;

void Elaborator::out_clause(Application& a, const Clause& c) {
  OutputState* out = output_named(a, c.name);
  ensure(out);
  if (c.has_extents && c.each == NoSymbol) {
    out->shape = items(a.context, c.extents);
    out->has_shape = true;
    for (const Value& v : out->shape) {
      const Value n = scalar(a.context, c.at, v);
      if (n.is(Tag::Integer) && n.integer < 0)
        fail_requirement(a.context, c.at, fmt::format("the output {} would have the negative extent {}", spec_.symbols().name(c.name), n.integer));
    }
  }
  // An equation above may have defined it already.
  if (const Value* v = a.scope.find(c.name); v && !out->defined && (v->is(Tag::Tensor) || v->is(Tag::List))) set_output(a, *out, c.at, *v);
}

std::optional<ElementType> Elaborator::equation_type(Application& a, const Clause& c, const OutputState* out) {
  if (c.type != NoSymbol) {
    if (!c.extents.empty()) {  // a type function: wide(T)
      const Value argument = eval(a.context, c.extents[0]);
      if (spec_.symbols().name(c.type) != "wide") fail(a.context, c.at, fmt::format("{} is no function from types to types", spec_.symbols().name(c.type)));
      return call_type_builtin(a.context, c.at, Builtin::Wide, std::span(&argument, 1)).type;
    }
    auto t = named_type(a, c.type);
    if (!t) fail(a.context, c.at, fmt::format("{} is no element type here", spec_.symbols().name(c.type)));
    return t;
  }
  return out ? named_type(a, out->clause->type) : std::nullopt;
}

TermId Elaborator::body_term(const Context& c, Position at, const Value& value, std::optional<ElementType> type) {
  const Value v = scalar(c, at, value);
  if (!type) return to_term(c, at, v);
  if (v.is(Tag::Term) && b_.type_of(v.term) == ElementType::Z && is_integer(*type)) {
    mark(c, at);
    return b_.store(*type, v.term);
  }
  return to(c, at, v, *type);
}

// The indices of an equation whose extents are declared. Of several packs all but the last say by their bounds how many axes they take.
Elaborator::Bound Elaborator::bind_declared(const Context& c, Position at, std::string_view name, std::span<const Binder> binders, const Values& shape) {
  const auto packs = static_cast<std::size_t>(std::count_if(binders.begin(), binders.end(), [](const Binder& b) { return b.pack; }));
  const std::size_t singles = binders.size() - packs, n = shape.size();
  need_few_axes(c, at, n);
  if (singles > n || (packs == 0 && singles < n)) fail(c, at, fmt::format("{} has {} axes; the equation names {} indices", name, n, singles));
  Bound out;
  out.inner = c;
  std::size_t axis = 0, packs_left = packs, rest = n - singles;
  auto next_index = [&](const Binder& b) {
    const core::Variable x = b_.fresh(spec_.symbols().name(b.name));
    out.variables.push_back(x);
    out.extents.push_back(index_term(c, at, shape[axis++]));
    return Value::of_term(b_.variable(x));
  };
  for (const Binder& b : binders) {
    if (!b.pack) {
      const Value i = next_index(b);
      out.inner.local = bind(out.inner.local, b.name, i);
      continue;
    }
    std::size_t taken = rest;
    if (packs_left > 1) {
      const Value bounds = b.bound ? eval(out.inner, b.bound) : Value();
      if (!bounds.is(Tag::List)) fail(c, b.at, "of several packs all but the last need a list of bounds");
      taken = bounds.list->size;
      if (taken > rest) fail(c, at, fmt::format("{} has {} axes; the equation names more", name, n));
    }
    --packs_left;
    rest -= taken;
    Values indices;
    for (std::size_t j = 0; j < taken; ++j) indices.push_back(next_index(b));
    out.inner.local = bind(out.inner.local, b.name, list(indices));
  }
  return out;
}

TensorId Elaborator::comprehension(const Context& c, Position at, std::string_view name, std::span<const Binder> binders, const Values* shape,
                                   std::optional<ElementType> type, const Expr* body) {
  Bound bound = shape ? bind_declared(c, at, name, binders, *shape) : bind_indices(c, binders);
  need_rectangular(c, at, bound);
  core::TensorNode node;
  node.name = std::string(name);
  node.kind = core::TensorKind::Comprehension;
  node.body = body_term(bound.inner, body->at, eval(bound.inner, body), type);
  node.type = b_.type_of(node.body);
  node.extents = std::move(bound.extents);
  node.variables = std::move(bound.variables);
  mark(c, at);
  node.place = b_.place();
  return b_.add(std::move(node));
}

// A tensor's extents are the same for all indices.
void Elaborator::need_rectangular(const Context& c, Position at, const Bound& bound) {
  for (TermId e : bound.extents) {
    if (b_.is_static(e)) continue;
    const bool varies = !b_.program().free_of(e).empty();
    fail(c, at, varies ? "an extent of this tensor depends on an index" : "an extent of this tensor depends on elements", ErrorKind::Definition,
         varies ? "only reductions may have extents that depend on an earlier index" : "an extent read from a tensor is written measured(...), or its input is `static`");
  }
}

void Elaborator::set_outputs(Application& a, OutputState& out, Position at, const Value& v) {
  const std::string& name = spec_.symbols().name(out.clause->name);
  if (!v.is(Tag::List)) fail(a.context, at, fmt::format("{} is a list of outputs, not {}", name, describe_kind(v)));
  if (out.clause->sequence || out.clause->any_kind) {
    out.values.clear();
    for (const Value& x : v.items()) set_sequence(a, out, at, x);
    out.defined = true;
    return;
  }
  for (const Value& x : v.items())
    if (!x.is(Tag::Tensor)) fail(a.context, at, fmt::format("each output of {} is a tensor, not {}", name, describe_kind(x)));
  out.values.assign(v.items().begin(), v.items().end());
  out.defined = true;
}

// An output of indices, stored in the declared type.
TensorId Elaborator::stored_as(TensorId t, ElementType type, std::string_view name) {
  core::TensorNode copy;
  copy.name = name;
  copy.kind = core::TensorKind::Comprehension;
  copy.extents = b_.program().tensors[t].extents;
  std::vector<TermId> indices;
  for (std::size_t k = 0; k < copy.extents.size(); ++k) {
    copy.variables.push_back(b_.fresh("i"));
    indices.push_back(b_.variable(copy.variables.back()));
  }
  copy.body = b_.store(type, b_.read(t, indices));
  copy.type = type;
  return b_.add(std::move(copy));
}

void Elaborator::check_extents(Application& a, const OutputState& out, Position at, TensorId t) {
  const std::string& name = spec_.symbols().name(out.clause->name);
  const Value has = extents_of(t);
  if (has.list->size != out.shape.size()) fail(a.context, at, fmt::format("{} has rank {}; {} is declared", name, has.list->size, out.shape.size()));
  for (std::size_t k = 0; k < out.shape.size(); ++k) {
    const Value same = equal(a.context, at, has.list->items[k], index(a.context, at, out.shape[k]));
    if (same.is(Tag::Bool) && !same.boolean) fail(a.context, at, fmt::format("{} has extents {}; {} are declared", name, show(has), show(list(out.shape))));
    if (is_symbolic(same)) path_.emplace_back(same.term, true);
  }
}

void Elaborator::set_output(Application& a, OutputState& out, Position at, const Value& v) {
  const Clause& c = *out.clause;
  const std::string& name = spec_.symbols().name(c.name);
  if (c.variadic || c.each != NoSymbol) return set_outputs(a, out, at, v);
  if (c.sequence || c.any_kind) {
    out.values.clear();
    return set_sequence(a, out, at, v);
  }
  if (!v.is(Tag::Tensor)) fail(a.context, at, fmt::format("the output {} is a tensor, not {}", name, describe_kind(v)));
  const ElementType has = b_.program().tensors[v.tensor].type;
  const auto want = named_type(a, c.type);
  const bool stores = want && has == ElementType::Z && is_integer(*want);
  if (want && has != *want && !stores)
    fail(a.context, at, fmt::format("{} has elements of type {}; {} is declared", name, name_of(has), name_of(*want)), ErrorKind::Definition,
         fmt::format("end the equation in cast({}, ...)", spec_.symbols().name(c.type)));
  if (has == ElementType::R || (has == ElementType::Z && !stores))
    fail(a.context, at, fmt::format("the output {} has elements of {}, which no tensor of a program holds", name, name_of(has)));
  if (out.has_shape) check_extents(a, out, at, v.tensor);
  out.defined = true;
  if (stores) {
    out.values = {Value::of_tensor(stored_as(v.tensor, *want, name))};
    return;
  }
  if (b_.node(v.tensor).kind == core::TensorKind::Comprehension) b_.node(v.tensor).name = name;
  out.values = {v};
}

// ys[q][i...] = e: one equation for every output of a variadic one.
void Elaborator::equation_per_output(Application& a, const Clause& c, OutputState* out) {
  const std::string& name = spec_.symbols().name(c.name);
  if (!out || out->clause->each == NoSymbol) fail(a.context, c.at, fmt::format("{} is no output declared with `for`", name));
  const std::int64_t n = static_integer(a.context, c.at, eval(a.context, out->clause->each_count), "the number of outputs");
  const auto type = equation_type(a, c, out);
  out->values.clear();
  for (std::int64_t q = 0; q < n; ++q) {
    step(a.context, c.at);
    Context inner = a.context;
    inner.local = bind(inner.local, out->clause->each, Value::of(q));
    const Values shape = items(inner, out->clause->extents);
    inner.local = bind(inner.local, c.each, Value::of(q));
    out->values.push_back(Value::of_tensor(comprehension(inner, c.at, fmt::format("{}{}", name, q), c.binders, &shape, type, c.value)));
  }
  out->defined = true;
  a.scope.define(c.name, list(out->values));
}

void Elaborator::equation(Application& a, const Clause& c) {
  OutputState* out = output_named(a, c.name);
  if (c.each != NoSymbol) return equation_per_output(a, c, out);
  const bool declared = out && out->has_shape;
  const std::string& name = spec_.symbols().name(c.name);
  const TensorId t = comprehension(a.context, c.at, name, c.binders, declared ? &out->shape : nullptr, equation_type(a, c, out), c.value);
  a.scope.define(c.name, Value::of_tensor(t));
  if (declared) set_output(a, *out, c.at, Value::of_tensor(t));
}

void Elaborator::let(Application& a, const Clause& c) {
  const Value v = eval(a.context, c.value);
  if (!c.pack_pattern) {
    const Symbol name = c.pattern[0].name;
    if (v.is(Tag::Tensor)) {
      core::TensorNode& node = b_.node(v.tensor);
      if (node.name == "each" || node.name == "where" || node.name == "scatter") node.name = spec_.symbols().name(name);
    }
    a.scope.define(name, v);
    if (OutputState* out = output_named(a, name)) set_output(a, *out, c.at, v);
    return;
  }
  const Environment* bound = bind_pattern(a.context, c.at, c.pattern, true, v, nullptr);
  for (const Environment* e = bound; e; e = e->up) a.scope.define(e->name, e->value);
  for (const Parameter& p : c.pattern)
    if (OutputState* out = output_named(a, p.name)) set_output(a, *out, c.at, *a.scope.find(p.name));
}

// One equation of a `rec`: its tensor, whose body comes when all members are known.
Elaborator::Member Elaborator::recurrence_member(Application& a, const Clause& rec, const Clause& e, const Bound& bound, Context inner,
                                                 std::uint32_t group) {
  const std::string& name = spec_.symbols().name(e.name);
  if (e.kind != ClauseKind::Equation || e.binders.size() < rec.binders.size())
    fail(a.context, e.at, fmt::format("{} in a `rec` is indexed by its names first", name));
  const auto type = equation_type(a, e, output_named(a, e.name));
  if (!type) fail(a.context, e.at, fmt::format("the element type of {} is stated in a `rec`, since its equation uses itself", name), ErrorKind::Definition,
                  fmt::format("write {}[...]: T = ...", name));
  // The first indices are the recurrence's own, perhaps under other names.
  for (std::size_t k = 0; k < rec.binders.size(); ++k) {
    const Binder& own = e.binders[k];
    if (own.pack != rec.binders[k].pack) fail(a.context, own.at, fmt::format("{} is indexed by the recurrence's indices first", name));
    const Value* v = nullptr;
    for (const Environment* x = bound.inner.local; x && !v; x = x->up)
      if (x->name == rec.binders[k].name) v = &x->value;
    ensure(v);
    inner.local = bind(inner.local, own.name, *v);
  }
  const Bound mine = bind_indices(inner, std::span(e.binders).subspan(rec.binders.size()));
  need_rectangular(a.context, e.at, mine);
  core::TensorNode node;
  node.name = name;
  node.type = *type;
  node.kind = core::TensorKind::Recurrence;
  node.group = group;
  node.variables = bound.variables;
  node.variables.insert(node.variables.end(), mine.variables.begin(), mine.variables.end());
  node.extents = bound.extents;
  node.extents.insert(node.extents.end(), mine.extents.begin(), mine.extents.end());
  mark(a.context, e.at);
  const TensorId t = b_.add(std::move(node));
  b_.recurrence(group).members.push_back(t);
  a.scope.define(e.name, Value::of_tensor(t));
  return {t, &e, mine.inner, *type};
}

void Elaborator::recurrence(Application& a, const Clause& c) {
  const Bound bound = bind_indices(a.context, c.binders);
  need_rectangular(a.context, c.at, bound);
  core::Recurrence group;
  group.variables = bound.variables;
  group.extents = bound.extents;
  const std::uint32_t id = b_.add_recurrence(group);
  std::vector<Member> members;
  Context shared = bound.inner;
  for (const Clause& e : c.inner) {
    if (e.kind == ClauseKind::Let) shared.local = bind_pattern(shared, e.at, e.pattern, e.pack_pattern, eval(shared, e.value), shared.local);
    else members.push_back(recurrence_member(a, c, e, bound, shared, id));
  }
  if (members.empty()) fail(a.context, c.at, "this `rec` has no equation");
  for (const Member& m : members) b_.node(m.tensor).body = body_term(m.inner, m.clause->at, eval(m.inner, m.clause->value), m.type);
  for (const Member& m : members)
    if (OutputState* out = output_named(a, m.clause->name)) set_output(a, *out, m.clause->at, Value::of_tensor(m.tensor));
}

}  // namespace ulpian::language
