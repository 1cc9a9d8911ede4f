#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

using core::TermId;
using core::TensorId;

}  // namespace

std::optional<ElementType> Elaborator::named_type(const Application& a, Symbol name) const {
  if (const Value* v = a.scope.find(name); v && v->is(Tag::Type)) return v->type;
  // Z and R are no types of tensors; T, R, I and the like are a definition's own variables.
  for (const auto& [symbol, set] : a.sets)
    if (symbol == name) return std::nullopt;
  const auto type = element_type_named(spec_.symbols().name(name));
  return type && bits_of(*type) == 0 && *type != ElementType::String ? std::nullopt : type;
}

Elaborator::OutputState* Elaborator::output_named(Application& a, Symbol name) {
  for (OutputState& o : a.outputs)
    if (o.clause->name == name) return &o;
  return nullptr;
}

// What must hold of the program that uses the operator, where the guards around hold.
void Elaborator::demand(const Context& c, Position at, const Value& condition, std::string text) {
  const Value v = scalar(c, at, condition);
  if (v.is(Tag::Bool)) {
    if (!v.boolean) fail_requirement(c, at, std::move(text));
    return;
  }
  if (!v.is(Tag::Term) || b_.type_of(v.term) != ElementType::Bool) fail(c, at, fmt::format("{} where a condition is needed", describe_kind(v)));
  if (is_symbolic(v)) {
    for (const auto& [term, value] : path_)
      if (term == v.term) {
        if (!value) fail_requirement(c, at, std::move(text));
        return;
      }
    path_.emplace_back(under_guards(v.term), true);
    return;
  }
  need_closed(c, at, v.term);
  mark(c, at);
  b_.program().requirements.push_back({under_guards(v.term), std::move(text), b_.place()});
}

// A condition of the whole operator has no index left open.
void Elaborator::need_closed(const Context& c, Position at, TermId t) {
  if (!b_.program().free_of(t).empty()) fail(c, at, "this condition depends on an index", ErrorKind::Definition, "write all(i < n) ... or any(i < n) ...");
}

void Elaborator::clause(Application& a, const Clause& c) {
  step(a.context, c.at);
  mark(a.context, c.at);
  try {
    dispatch_clause(a, c);
  } catch (const LimitReached& x) {
    fail(a.context, c.at, fmt::format("this needs more {}", x.what), ErrorKind::Limit);
  } catch (const ExactTooLarge& x) {
    fail(a.context, c.at, x.what(), ErrorKind::Limit);
  }
}

void Elaborator::dispatch_clause(Application& a, const Clause& c) {
  const Context& x = a.context;
  switch (c.kind) {
    case ClauseKind::Doc:
    case ClauseKind::Example: return;
    case ClauseKind::Type: return type_clause(a, c);
    case ClauseKind::In: return in_clause(a, c);
    case ClauseKind::Attribute: return attribute_clause(a, c);
    case ClauseKind::Out: return out_clause(a, c);
    case ClauseKind::Require: return require_clause(a, c);
    case ClauseKind::Undefined: return undefined_clause(a, c);
    case ClauseKind::Unordered:
      if (c.when && !truth(x, c.at, eval(x, c.when))) return;
      b_.program().unordered_axes.push_back(static_integer(x, c.at, eval(x, c.value), "an axis"));
      return;
    case ClauseKind::Function: return function_clause(a, c);
    case ClauseKind::Equation: return equation(a, c);
    case ClauseKind::Let: return let(a, c);
    case ClauseKind::Recurrence: return recurrence(a, c);
    case ClauseKind::Loop: return loop(a, c);
  }
  ensure(false);
}

void Elaborator::require_clause(Application& a, const Clause& c) {
  const Context& x = a.context;
  const Value v = scalar(x, c.at, eval(x, c.value));
  if (v.is(Tag::Bool) && v.boolean) return;
  demand(x, c.at, v, c.message.empty() ? fmt::format("the requirement in line {} is violated", c.at.line) : message(x, c.message));
}

void Elaborator::undefined_clause(Application& a, const Clause& c) {
  const Context& x = a.context;
  const Value v = scalar(x, c.at, eval(x, c.value));
  if (v.is(Tag::Bool) && !v.boolean) return;
  std::string why = c.message.empty() ? "the standard leaves this undefined" : message(x, c.message);
  if (v.is(Tag::Bool)) fail_requirement(x, c.at, "undefined: " + why, ErrorKind::Undefined);
  if (!v.is(Tag::Term) || b_.type_of(v.term) != ElementType::Bool) fail(x, c.at, fmt::format("{} where a condition is needed", describe_kind(v)));
  need_closed(x, c.at, v.term);
  TermId holds = v.term;
  for (const auto& [term, value] : guards_) holds = b_.primitive(Primitive::And, value ? term : b_.primitive(Primitive::Not, term), holds);
  b_.program().undefined.push_back({holds, std::move(why), b_.place()});
}

void Elaborator::function_clause(Application& a, const Clause& c) {
  Closure* k = arena_.make<Closure>();
  k->name = spec_.symbols().name(c.name);
  k->parameters = c.function->parameters;
  k->body = c.function->body;
  k->scope = &a.scope;
  k->file = a.context.file;
  Value v;
  v.tag = Tag::Closure;
  v.closure = k;
  a.scope.define(c.name, v);
}

void Elaborator::type_clause(Application& a, const Clause& c) {
  const TypeSet* chosen = &c.sets[0];
  for (std::size_t k = 1; k < c.sets.size(); ++k)
    if (a.scope.version < c.sets[k].before) chosen = &c.sets[k];
  std::vector<ElementType> all;
  for (Symbol s : chosen->names) {
    auto set = type_set(spec_.symbols().name(s));
    if (!set) fail(a.context, c.at, fmt::format("{} is no element type, nor a set of them", spec_.symbols().name(s)), ErrorKind::Definition,
                   "any numeric float int signed unsigned complex fp8, or single types such as f32");
    all.insert(all.end(), set->begin(), set->end());
  }
  a.sets.emplace_back(c.name, std::move(all));
}

void Elaborator::match_type(Application& a, const Clause& c, ElementType type) {
  const std::string& name = spec_.symbols().name(c.name);
  if (auto known = named_type(a, c.type)) {
    if (*known != type) {
      const std::string& variable = spec_.symbols().name(c.type);
      const bool fixed = element_type_named(variable).has_value();
      fail_requirement(a.context, c.at, fixed ? fmt::format("{} is {}; {} is needed", name, name_of(type), name_of(*known))
                                              : fmt::format("{} is {}; {} is {} here", name, name_of(type), variable, name_of(*known)));
    }
    return;
  }
  for (const auto& [symbol, set] : a.sets)
    if (symbol == c.type) {
      if (std::find(set.begin(), set.end(), type) == set.end()) {
        std::string all;
        for (ElementType t : set) all += (all.empty() ? "" : ", ") + std::string(name_of(t));
        fail_requirement(a.context, c.at, fmt::format("{} is {}; one of {} is needed", name, name_of(type), all));
      }
      a.scope.define(c.type, Value::of_type(type));
      return;
    }
  fail(a.context, c.at, fmt::format("the element type {} of {} is not declared", spec_.symbols().name(c.type), name), ErrorKind::Definition,
       fmt::format("declare it before: type {}: numeric", spec_.symbols().name(c.type)));
}

// The extents of an input against its pattern: a name binds when unbound, else it must be equal; a pack binds the rest.
void Elaborator::bind_extents(Application& a, const Clause& c, const Values& extents) {
  const std::string& name = spec_.symbols().name(c.name);
  const Context& x = a.context;
  std::size_t fixed = 0;
  const Expr* open = nullptr;
  std::vector<std::optional<Values>> known(c.extents.size());
  for (std::size_t k = 0; k < c.extents.size(); ++k) {
    const Expr* p = c.extents[k];
    if (p->kind != ExprKind::Splice) {
      ++fixed;
      continue;
    }
    const Expr* inner = p->args[0];
    if (inner->kind == ExprKind::Name && !a.scope.find(inner->symbol)) {
      if (open) fail(x, p->at, "only one pack of extents may be unbound");
      open = p;
      continue;
    }
    const Value v = eval(x, inner);
    if (!v.is(Tag::List)) fail(x, p->at, fmt::format("`...` needs a list, not {}", describe_kind(v)));
    known[k] = Values(v.items().begin(), v.items().end());
    fixed += known[k]->size();
  }
  if (extents.size() < fixed || (!open && extents.size() > fixed))
    fail_requirement(x, c.at, fmt::format("{} has rank {}; {}{} is needed", name, extents.size(), open ? "at least " : "", fixed));
  std::size_t at = 0;
  auto check = [&](const Value& want, const Value& got) {
    demand(x, c.at, equal(x, c.at, want, got), fmt::format("{} has extent {} on axis {}; {} is needed", name, show(got), at, show(want)));
    ++at;
  };
  for (std::size_t k = 0; k < c.extents.size(); ++k) {
    const Expr* p = c.extents[k];
    if (p == open) {
      const std::size_t n = extents.size() - fixed;
      a.scope.define(p->args[0]->symbol, list(std::span(extents).subspan(at, n)));
      at += n;
    } else if (known[k]) {
      for (const Value& v : *known[k]) check(v, extents[at]);
    } else if (p->kind == ExprKind::Name && !a.scope.find(p->symbol)) {
      a.scope.define(p->symbol, extents[at++]);
    } else {
      check(eval(x, p), extents[at]);
    }
  }
}

void Elaborator::in_clause(Application& a, const Clause& c) {
  const std::string& name = spec_.symbols().name(c.name);
  if (c.variadic) return variadic_input(a, c);
  const Value v = a.next_input < a.inputs.size() ? a.inputs[a.next_input] : Value();
  ++a.next_input;
  if (v.is(Tag::Absent)) {
    if (!c.optional) fail_requirement(a.context, c.at, fmt::format("the input {} is missing", name));
    a.scope.define(c.name, v);
    return;
  }
  if (c.sequence) return sequence_input(a, c, v);
  if (c.any_kind) {
    any_input(a, c, v);
    a.scope.define(c.name, v);
    return;
  }
  if (v.is(Tag::List)) fail_requirement(a.context, c.at, fmt::format("{} is a sequence; a tensor is needed", name));
  ensure(v.is(Tag::Tensor));
  if (b_.node(v.tensor).kind == core::TensorKind::Input && b_.node(v.tensor).name.empty()) b_.node(v.tensor).name = name;
  match_type(a, c, b_.program().tensors[v.tensor].type);
  if (c.is_static) take_extents(v.tensor);
  if (c.has_extents) {
    const Value extents = extents_of(v.tensor);
    bind_extents(a, c, Values(extents.items().begin(), extents.items().end()));
  }
  input_elements(c, v.tensor);
  a.scope.define(c.name, v);
}

// Where the elements are known, so are the extents, whatever symbols describe them.
void Elaborator::take_extents(TensorId t) {
  if (t >= known_.size() || !known_[t]) return;
  for (std::size_t k = 0; k < known_[t]->extents().size(); ++k) {
    const TermId has = b_.node(t).extents[k], known = b_.integer(known_[t]->extents()[k]);
    if (b_.integer_constant(has)) continue;
    path_.emplace_back(b_.primitive(Primitive::Equal, has, known), true);
    b_.node(t).extents[k] = known;
  }
}

// Only a `static` input lends its elements to shapes; others stay in the program even where they are known.
void Elaborator::input_elements(const Clause& c, TensorId t) {
  const core::TensorNode& node = b_.program().tensors[t];
  if (node.kind != core::TensorKind::Input) return;
  const bool known = t < known_.size() && known_[t];
  if (!c.is_static && known) known_[t].reset();
  if (!c.is_static || known || !is_integer(node.type)) return;
  if (static_symbols_.size() <= t) static_symbols_.resize(t + 1, false);
  static_symbols_[t] = true;
}

void Elaborator::variadic_input(Application& a, const Clause& c) {
  Values given, shapes;
  const std::string& name = spec_.symbols().name(c.name);
  for (; a.next_input < a.inputs.size(); ++a.next_input) {
    const Value& v = a.inputs[a.next_input];
    given.push_back(v);
    if (c.any_kind) {
      any_input(a, c, v);
      continue;
    }
    if (v.is(Tag::List)) fail_requirement(a.context, c.at, fmt::format("input {} of {} is a sequence; a tensor is needed", given.size(), name));
    if (v.is(Tag::Absent)) fail_requirement(a.context, c.at, fmt::format("input {} of {} is missing", given.size(), name));
    core::TensorNode& node = b_.node(v.tensor);
    if (node.kind == core::TensorKind::Input && node.name.empty()) node.name = fmt::format("{}{}", name, given.size() - 1);
    input_elements(c, v.tensor);
    match_type(a, c, node.type);
    const Value extents = extents_of(v.tensor);
    shapes.push_back(extents);
    if (c.has_extents && !(c.extents.size() == 1 && c.extents[0]->kind == ExprKind::Splice && !a.scope.find(c.extents[0]->args[0]->symbol))) {
      const std::size_t mark_names = a.scope.size();
      bind_extents(a, c, Values(extents.items().begin(), extents.items().end()));
      a.scope.forget(mark_names);
    }
  }
  if (given.empty() && !c.optional) fail_requirement(a.context, c.at, fmt::format("at least one input {} is needed", name));
  a.scope.define(c.name, list(given));
  if (c.has_extents && c.extents.size() == 1 && c.extents[0]->kind == ExprKind::Splice) a.scope.define(c.extents[0]->args[0]->symbol, list(shapes));
}

void Elaborator::attribute_clause(Application& a, const Clause& c) {
  const std::string& name = spec_.symbols().name(c.name);
  Value v;
  auto it = a.attributes->find(name);
  if (it != a.attributes->end()) {
    v = it->second;
  } else if (c.value) {
    v = eval(a.context, c.value);
    const bool of_text = c.attribute_kind == AttributeKind::String, of_numbers = c.attribute_kind == AttributeKind::Int || c.attribute_kind == AttributeKind::Float || c.attribute_kind == AttributeKind::Bool;
    const auto fits = [&](const Value& x) { return !(of_numbers && x.is(Tag::String)) && !(of_text && (x.is_number() || x.is(Tag::Bool))); };
    if (!fits(v) || (v.is(Tag::List) && !std::ranges::all_of(v.items(), fits)))
      fail(a.context, c.at, fmt::format("the default {} of the attribute {} is no {}", v.is(Tag::String) ? "\"" + *v.string + "\"" : show(v), name, of_text ? "string" : c.attribute_kind == AttributeKind::Bool ? "bool" : "number"), ErrorKind::Definition, {});
    // A float attribute holds an f32; its default is one, too.
    auto to_f32 = [&](const Value& x) { return x.is_number() && exact_of(x).is_finite() ? number(Exact::of(ElementType::F32, exact_of(x).round_to(ElementType::F32))) : x; };
    if (c.attribute_kind == AttributeKind::Float) {
      if (v.is(Tag::List)) {
        Values xs;
        for (const Value& x : v.items()) xs.push_back(to_f32(x));
        v = list(xs);
      } else {
        v = to_f32(v);
      }
    }
  } else if (!c.optional) {
    fail_requirement(a.context, c.at, fmt::format("the attribute {} is missing", name));
  }
  a.scope.define(c.name, v.is(Tag::Absent) ? v : checked_attribute(a, c, v));
}

// A given or default value, held to the choices and the length that the definition states.
Value Elaborator::checked_attribute(Application& a, const Clause& c, const Value& v) {
  const std::string& name = spec_.symbols().name(c.name);
  if (!c.choices.empty() && v.is(Tag::String) && std::find(c.choices.begin(), c.choices.end(), *v.string) == c.choices.end())
    fail_requirement(a.context, c.at, fmt::format("{} is \"{}\"; one of \"{}\" is needed", name, show(v), fmt::join(c.choices, "\", \"")));
  if (c.is_list && c.list_length && v.is(Tag::List)) {
    const Value n = eval(a.context, c.list_length);
    const auto has = static_cast<std::int64_t>(v.list->size);
    demand(a.context, c.at, equal(a.context, c.at, n, Value::of(has)), fmt::format("{} has {} values; {} are needed", name, has, show(n)));
  }
  auto as_bool = [](const Value& x) { return x.is(Tag::Integer) ? Value::of_bool(x.integer != 0) : x; };
  if (c.attribute_kind != AttributeKind::Bool) return v;
  if (!v.is(Tag::List)) return as_bool(v);
  Values xs;
  for (const Value& x : v.items()) xs.push_back(as_bool(x));
  return list(xs);
}

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
