// Clauses of definitions: conditions, functions, types, inputs and attributes. (Outputs and equations: elaborator_outputs.cpp.)
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
  const bool given = a.next_input < a.inputs.size();
  Value v = given ? a.inputs[a.next_input] : Value();
  v.plain = v.plain || !given;
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
  if (c.is_rounded) b_.node(v.tensor).rounded = true;
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
    if (c.is_rounded) node.rounded = true;
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

}  // namespace ulpian::language
