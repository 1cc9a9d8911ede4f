#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

using core::TermId;

bool defined_on(const PrimitiveRow& row, ElementType t) {
  if (t == ElementType::Bool) return row.on_bool;
  if (t == ElementType::String)
    return row.kind == PrimitiveKind::Text || row.primitive == Primitive::Equal || row.primitive == Primitive::NotEqual || row.primitive == Primitive::Less;
  if (t == ElementType::Z || is_integer(t)) return row.on_integers;
  if (t == ElementType::R || is_float(t)) return row.on_floats;
  return row.on_complex;
}

// Integer division is spelled by its rounding.
std::string hint_for(Primitive p, ElementType t) {
  if (p == Primitive::Divide && is_integer(t)) return "on integers write div (floor) or quot (truncate)";
  return {};
}

}  // namespace

ElementType Elaborator::type_of(const Context& c, Position at, const Value& v) {
  switch (v.tag) {
    case Tag::Integer: return ElementType::Z;
    case Tag::Number: return v.number->is_integer() && !v.number->is_negative_zero() ? ElementType::Z : ElementType::R;
    case Tag::Bool: return ElementType::Bool;
    case Tag::String: return ElementType::String;
    case Tag::Term: return b_.type_of(v.term);
    case Tag::Tensor: return b_.program().tensors[v.tensor].type;
    case Tag::Absent: fail(c, at, "an absent input or attribute is used as a value", ErrorKind::Definition, "ask `present(...)` first");
    case Tag::Type:
    case Tag::List:
    case Tag::Closure:
    case Tag::Builtin:
    case Tag::Operator: fail(c, at, fmt::format("{} is no element", describe_kind(v)));
  }
  ensure(false);
}

Value Elaborator::scalar(const Context& c, Position at, const Value& v) {
  if (!v.is(Tag::Tensor)) return v;
  const core::TensorNode& t = b_.program().tensors[v.tensor];
  if (!t.extents.empty()) fail(c, at, fmt::format("the tensor {} of rank {} needs an index here", t.name, t.extents.size()));
  return read(c, at, v.tensor, {}, nullptr, false);
}

Value Elaborator::of_term(TermId t) const {
  if (auto n = b_.integer_constant(t)) return Value::of(*n);
  if (auto x = b_.boolean_constant(t)) return Value::of_bool(*x);
  return Value::of_term(t);
}

TermId Elaborator::to(const Context& c, Position at, const Value& v, ElementType type) {
  mark(c, at);
  if (v.is(Tag::Tensor)) return to(c, at, scalar(c, at, v), type);
  if (v.is(Tag::Term)) {
    const ElementType has = b_.type_of(v.term);
    if (has == type) return v.term;
    if (has == ElementType::Z && type == ElementType::R) return b_.primitive(Primitive::ToReal, v.term);
    const core::Term& t = b_.program().terms[v.term];
    if (t.kind == core::TermKind::Constant && has == ElementType::Z) return to(c, at, Value::of(static_cast<std::int64_t>(t.data)), type);
    if (t.kind == core::TermKind::Constant && has == ElementType::R) return to(c, at, number(b_.program().reals[t.data]), type);
    // A choice between static numbers takes the type of what it meets.
    if (t.kind == core::TermKind::Select && (has == ElementType::Z || has == ElementType::R) && type != ElementType::Z) {
      auto a = b_.program().arguments_of(v.term);
      const TermId condition = a[0], x = a[1], y = a[2];
      auto fixed = [&](TermId s) { return b_.program().terms[s].kind == core::TermKind::Constant || b_.program().terms[s].kind == core::TermKind::Select; };
      if (fixed(x) && fixed(y)) {
        const TermId p = to(c, at, Value::of_term(x), type);
        const TermId q = to(c, at, Value::of_term(y), type);
        return b_.select(condition, p, q);
      }
    }
    fail(c, at, fmt::format("an element of type {} where {} is needed", name_of(has), name_of(type)), ErrorKind::Definition,
         fmt::format("conversions are written: cast({}, ...)", name_of(type)));
  }
  if (v.is(Tag::Bool) && type == ElementType::Bool) return b_.boolean(v.boolean);
  if (v.is(Tag::String) && type == ElementType::String) return b_.text(*v.string);
  if (v.is_number()) {
    if (type == ElementType::Z) {
      if (v.is(Tag::Integer)) return b_.integer(v.integer);
      if (v.number->is_negative_zero()) return b_.integer(0);
      fail(c, at, fmt::format("{} is no integer of 64 bits", show(v)));
    }
    const Exact e = exact_of(v);
    if (type == ElementType::R) return b_.real(e);
    if (is_integer(type)) {
      auto bits = e.to_bits(type);
      if (!bits) fail(c, at, fmt::format("{} does not fit {}", show(v), name_of(type)));
      return b_.constant(type, *bits);
    }
    if (is_float(type)) return b_.constant(type, e.round_to(type, CastMode::Plain));
  }
  fail(c, at, fmt::format("{} where an element of type {} is needed", describe_kind(v), name_of(type)));
}

TermId Elaborator::to_term(const Context& c, Position at, const Value& v) {
  const Value s = scalar(c, at, v);
  if (s.is(Tag::Term)) return s.term;
  return to(c, at, s, type_of(c, at, s));
}

ElementType Elaborator::join(const Context& c, Position at, std::span<const Value> xs) {
  std::optional<ElementType> machine;
  bool has_term = false, real = false;
  for (const Value& v : xs) {
    const ElementType t = type_of(c, at, v);
    if (t == ElementType::R) real = true;
    if (v.is(Tag::Term) && b_.program().terms[v.term].kind != core::TermKind::Constant) has_term = true;
    if (t == ElementType::Z || t == ElementType::R) continue;
    if (machine && *machine != t) {
      // A static number never decides; two element types that differ are an error.
      fail(c, at, fmt::format("elements of types {} and {}", name_of(*machine), name_of(t)), ErrorKind::Definition, "conversions are written: cast(T, ...)");
    }
    machine = t;
  }
  (void)has_term;
  if (machine) return *machine;
  return real ? ElementType::R : ElementType::Z;
}

Value Elaborator::apply(const Context& c, Position at, Primitive p, std::span<const Value> arguments) {
  std::size_t length = 0;
  bool lists = false;
  for (const Value& v : arguments)
    if (v.is(Tag::List)) {
      lists = true;
      length = v.list->size;
    }
  if (lists) {
    for (const Value& v : arguments)
      if (v.is(Tag::List) && v.list->size != length) fail(c, at, fmt::format("lists of {} and {} under {}", length, v.list->size, name_of(p)));
    Values out(length);
    Values one(arguments.size());
    for (std::size_t k = 0; k < length; ++k) {
      for (std::size_t j = 0; j < arguments.size(); ++j) one[j] = arguments[j].is(Tag::List) ? arguments[j].list->items[k] : arguments[j];
      out[k] = apply(c, at, p, one);
    }
    return list(out);
  }
  Value xs[2];
  ensure(arguments.size() <= 2);
  bool all_static = true;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    xs[k] = scalar(c, at, arguments[k]);
    if (!is_scalar_static(xs[k])) all_static = false;
  }
  const std::span<const Value> ready(xs, arguments.size());
  return all_static ? apply_static(c, at, p, ready) : apply_terms(c, at, p, ready);
}

Value Elaborator::apply_static(const Context& c, Position at, Primitive p, std::span<const Value> xs) {
  const Value& x = xs[0];
  if (p == Primitive::And || p == Primitive::Or || p == Primitive::Not) {
    for (const Value& v : xs)
      if (!v.is(Tag::Bool)) fail(c, at, fmt::format("{} where a condition is needed", describe_kind(v)));
    if (p == Primitive::Not) return Value::of_bool(!x.boolean);
    return Value::of_bool(p == Primitive::And ? x.boolean && xs[1].boolean : x.boolean || xs[1].boolean);
  }
  if (xs.size() == 2 && x.tag != xs[1].tag && !(x.is_number() && xs[1].is_number())) {
    if (p == Primitive::Equal) return Value::of_bool(false);
    if (p == Primitive::NotEqual) return Value::of_bool(true);
    fail(c, at, fmt::format("{} of {} and {}", name_of(p), describe_kind(x), describe_kind(xs[1])));
  }
  if (x.is(Tag::String)) {
    if (p == Primitive::Length) return Value::of(static_cast<std::int64_t>(x.string->size()));
    if (p == Primitive::Add || p == Primitive::Concatenate) return string(*x.string + *xs[1].string);
    const int o = xs.size() == 2 ? x.string->compare(*xs[1].string) : 0;
    switch (p) {
      case Primitive::Equal: return Value::of_bool(o == 0);
      case Primitive::NotEqual: return Value::of_bool(o != 0);
      case Primitive::Less: return Value::of_bool(o < 0);
      default: fail(c, at, fmt::format("{} of strings", name_of(p)));
    }
  }
  if (x.is(Tag::Bool)) {
    switch (p) {
      case Primitive::Equal: return Value::of_bool(x.boolean == xs[1].boolean);
      case Primitive::NotEqual: return Value::of_bool(x.boolean != xs[1].boolean);
      default: fail(c, at, fmt::format("{} of conditions", name_of(p)), ErrorKind::Definition, "write `if c then 1 else 0`, or and, or, not");
    }
  }
  // Small integers, by far the commonest.
  if (xs.size() == 2 && x.is(Tag::Integer) && xs[1].is(Tag::Integer)) {
    const std::int64_t a = x.integer, b = xs[1].integer;
    std::int64_t r = 0;
    switch (p) {
      case Primitive::Add: if (!__builtin_add_overflow(a, b, &r)) return Value::of(r); break;
      case Primitive::Subtract: if (!__builtin_sub_overflow(a, b, &r)) return Value::of(r); break;
      case Primitive::Multiply: if (!__builtin_mul_overflow(a, b, &r)) return Value::of(r); break;
      case Primitive::Minimum: return Value::of(std::min(a, b));
      case Primitive::Maximum: return Value::of(std::max(a, b));
      case Primitive::Equal: return Value::of_bool(a == b);
      case Primitive::NotEqual: return Value::of_bool(a != b);
      case Primitive::Less: return Value::of_bool(a < b);
      case Primitive::LessEqual: return Value::of_bool(a <= b);
      case Primitive::Greater: return Value::of_bool(a > b);
      case Primitive::GreaterEqual: return Value::of_bool(a >= b);
      default: break;
    }
  }
  const Exact a = exact_of(x);
  if (xs.size() == 1) {
    switch (p) {
      case Primitive::Negate: return x.is(Tag::Integer) && a.is_zero() ? x : number(-a);
      case Primitive::Absolute: return number(a.absolute());
      case Primitive::Sign: return a.is_nan() || a.is_zero() ? x : Value::of(a.is_negative() ? -1 : 1);
      case Primitive::Floor: return number(a.floor());
      case Primitive::Ceiling: return number(a.ceiling());
      case Primitive::RoundEven: return number(a.round_even());
      case Primitive::Truncate: return number(a.truncate());
      case Primitive::IsNan: return Value::of_bool(a.is_nan());
      case Primitive::IsInfinite: return Value::of_bool(a.is_infinite());
      case Primitive::ToInteger:
      case Primitive::ToReal: return x;
      case Primitive::Reciprocal: return number(Exact(1) / a);
      case Primitive::SquareRoot:
        if (auto r = a.exact_square_root()) return number(*r);
        break;
      default: break;
    }
    // Irrational: an element of the reals.
    return Value::of_term(b_.primitive(p, to(c, at, x, ElementType::R)));
  }
  const Exact b = exact_of(xs[1]);
  const auto order = a <=> b;
  switch (p) {
    case Primitive::Add: return number(a + b);
    case Primitive::Subtract: return number(a - b);
    case Primitive::Multiply: return number(a * b);
    case Primitive::Divide: return number(a / b);
    case Primitive::Minimum: return a.is_nan() || order < 0 ? x : xs[1];
    case Primitive::Maximum: return a.is_nan() || order > 0 ? x : xs[1];
    case Primitive::Equal: return Value::of_bool(order == 0);
    case Primitive::NotEqual: return Value::of_bool(order != 0);
    case Primitive::Less: return Value::of_bool(order < 0);
    case Primitive::LessEqual: return Value::of_bool(order <= 0);
    case Primitive::Greater: return Value::of_bool(order > 0);
    case Primitive::GreaterEqual: return Value::of_bool(order >= 0);
    case Primitive::FloorDivide:
    case Primitive::Modulo:
    case Primitive::Quotient:
    case Primitive::Remainder: {
      if (b.is_zero() || !a.is_finite() || !b.is_finite()) fail_requirement(c, at, fmt::format("{} {} {}: division by zero", show(x), name_of(p), show(xs[1])));
      if (p == Primitive::FloorDivide) return number(Exact::floor_divide(a, b));
      if (p == Primitive::Modulo) return number(Exact::modulo(a, b));
      const Exact q = (a / b).truncate();
      return p == Primitive::Quotient ? number(q) : number(a - q * b);
    }
    case Primitive::Power:
      if (auto r = Exact::power(a, b)) return number(*r);
      fail(c, at, fmt::format("{} ** {} is not rational, or too large", show(x), show(xs[1])));
    default: break;
  }
  fail(c, at, fmt::format("{} of {} and {}", name_of(p), show(x), show(xs[1])));
}

Value Elaborator::apply_terms(const Context& c, Position at, Primitive p, std::span<const Value> xs) {
  mark(c, at);
  const PrimitiveRow& row = row_of(p);
  if (row.kind == PrimitiveKind::Logic) {
    TermId a = to(c, at, xs[0], ElementType::Bool);
    if (xs.size() == 1) return of_term(b_.primitive(p, a));
    return of_term(b_.primitive(p, a, to(c, at, xs[1], ElementType::Bool)));
  }
  ElementType type = join(c, at, xs);
  if (type == ElementType::String && p == Primitive::Add) p = Primitive::Concatenate;
  if (type == ElementType::Z) {
    const bool irrational = row.kind == PrimitiveKind::Elementary || p == Primitive::Divide || p == Primitive::SquareRoot || p == Primitive::Reciprocal;
    if (irrational) type = ElementType::R;
  }
  if (!defined_on(row_of(p), type))
    fail(c, at, fmt::format("{} is not defined on elements of type {}", name_of(p), name_of(type)), ErrorKind::Definition, hint_for(p, type));
  TermId ids[2];
  for (std::size_t k = 0; k < xs.size(); ++k) ids[k] = to(c, at, xs[k], type);
  const bool comparison = row.kind == PrimitiveKind::Comparison && xs.size() == 2;
  if (comparison && ids[0] == ids[1] && !is_float(type) && !is_complex(type) && type != ElementType::R)
    return Value::of_bool(p == Primitive::Equal || p == Primitive::LessEqual || p == Primitive::GreaterEqual);
  mark(c, at);
  return of_term(b_.primitive(p, std::span<const TermId>(ids, xs.size())));
}

Value Elaborator::both(const Context& c, Position at, const Value& a, const Value& b, Primitive p) {
  const Value xs[2] = {a, b};
  return apply(c, at, p, xs);
}

Value Elaborator::negation(const Context& c, Position at, const Value& a) { return apply(c, at, Primitive::Not, std::span(&a, 1)); }

Value Elaborator::equal(const Context& c, Position at, const Value& a, const Value& b) {
  if (a.is(Tag::List) || b.is(Tag::List)) {
    if (!a.is(Tag::List) || !b.is(Tag::List) || a.list->size != b.list->size) return Value::of_bool(false);
    Value all = Value::of_bool(true);
    for (std::size_t k = 0; k < a.list->size; ++k) {
      all = both(c, at, all, equal(c, at, a.list->items[k], b.list->items[k]), Primitive::And);
      if (all.is(Tag::Bool) && !all.boolean) return all;
    }
    return all;
  }
  if (a.is(Tag::Type) || b.is(Tag::Type)) return Value::of_bool(a.is(Tag::Type) && b.is(Tag::Type) && a.type == b.type);
  if (a.is(Tag::Absent) || b.is(Tag::Absent)) return Value::of_bool(a.is(Tag::Absent) && b.is(Tag::Absent));
  return both(c, at, a, b, Primitive::Equal);
}

Value Elaborator::select(const Context& c, Position at, TermId condition, const Value& a, const Value& b) {
  if (a.is(Tag::List) || b.is(Tag::List)) {
    if (!a.is(Tag::List) || !b.is(Tag::List) || a.list->size != b.list->size)
      fail(c, at, "the branches of this `if` are lists of different lengths, but its condition is known only at run time");
    Values out(a.list->size);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = select(c, at, condition, a.list->items[k], b.list->items[k]);
    return list(out);
  }
  if (a.is(Tag::Bool) && b.is(Tag::Bool)) {
    if (a.boolean == b.boolean) return a;
    return a.boolean ? of_term(condition) : negation(c, at, of_term(condition));
  }
  Value xs[2] = {scalar(c, at, a), scalar(c, at, b)};
  const ElementType type = join(c, at, xs);
  const TermId p = to(c, at, xs[0], type), q = to(c, at, xs[1], type);
  mark(c, at);
  return of_term(b_.select(condition, p, q));
}

Value Elaborator::index(const Context& c, Position at, const Value& v) {
  const Value s = scalar(c, at, v);
  if (s.is(Tag::Integer)) return s;
  if (s.is(Tag::Number) && s.number->is_negative_zero()) return Value::of(0);
  if (s.is(Tag::Term)) {
    const ElementType t = b_.type_of(s.term);
    if (t == ElementType::Z) return s;
    if (is_integer(t)) return of_term(b_.primitive(Primitive::ToInteger, s.term));
  }
  fail(c, at, fmt::format("{} is no index", describe_kind(s)), ErrorKind::Definition, "an index is an integer; of a real write floor(...)");
}

TermId Elaborator::index_term(const Context& c, Position at, const Value& v) {
  const Value i = index(c, at, v);
  return i.is(Tag::Integer) ? b_.integer(i.integer) : i.term;
}

Value Elaborator::read(const Context& c, Position at, core::TensorId t, std::span<const Value> index_values, const Value* otherwise, bool optional) {
  mark(c, at);
  const std::size_t rank = b_.program().tensors[t].extents.size();
  if (index_values.size() != rank)
    fail(c, at, fmt::format("{} has {} axes; {} indices are given", b_.program().tensors[t].name, rank, index_values.size()));
  std::vector<TermId> ids(rank);
  bool constant = true;
  std::vector<std::int64_t> place(rank);
  for (std::size_t k = 0; k < rank; ++k) {
    const Value i = index(c, at, index_values[k]);
    if (i.is(Tag::Integer)) place[k] = i.integer;
    else constant = false;
    ids[k] = i.is(Tag::Integer) ? b_.integer(i.integer) : i.term;
  }
  if (constant && t < known_.size() && known_[t]) {
    const Tensor& value = *known_[t];
    std::int64_t flat = 0;
    bool inside = true;
    for (std::size_t k = 0; k < rank; ++k) {
      inside = inside && place[k] >= 0 && place[k] < value.extents()[k];
      flat = flat * value.extents()[k] + place[k];
    }
    if (inside) {
      if (value.type() == ElementType::String) return string(value.strings()[static_cast<std::size_t>(flat)]);
      const Bits bits = value.at(flat);
      if (value.type() == ElementType::Bool) return Value::of_bool(bits != 0);
      return number(Exact::of(value.type(), bits));
    }
    if (otherwise) return *otherwise;
    fail(c, at, fmt::format("{} has extents {}; the index is outside", b_.program().tensors[t].name, to_string(value.extents())));
  }
  if (constant && t < static_symbols_.size() && static_symbols_[t]) {
    std::string name = b_.program().tensors[t].name + "[";
    for (std::size_t k = 0; k < rank; ++k) name += (k ? ", " : "") + std::to_string(place[k]);
    name += "]";
    auto [it, fresh] = size_symbols_.try_emplace(name, 0);
    if (fresh) it->second = b_.fresh_size(name);
    return Value::of_term(b_.size(it->second));
  }
  // An integer scalar that is a constant is a static value again (a measured number).
  const core::TensorNode& node = b_.program().tensors[t];
  if (node.kind == core::TensorKind::Comprehension && node.extents.empty() && is_integer(node.type) && b_.program().is_constant(node.body) && !otherwise)
    return Value::of_term(node.body);
  if (otherwise) {
    const TermId e = to(c, at, *otherwise, node.type);
    mark(c, at);
    return Value::of_term(b_.read_else(t, ids, e, optional));
  }
  return Value::of_term(b_.read(t, ids));
}

bool Elaborator::is_symbolic(const Value& v) const { return v.is(Tag::Term) && b_.is_static(v.term); }

bool Elaborator::truth(const Context& c, Position at, const Value& v) {
  const Value s = scalar(c, at, v);
  if (s.is(Tag::Bool)) return s.boolean;
  if (s.is(Tag::Term) && b_.type_of(s.term) == ElementType::Bool && is_symbolic(s)) {
    for (const auto* known : {&path_, &guards_})
      for (const auto& [term, value] : *known)
        if (term == s.term) return value;
    if (used_decisions_ < decisions_.size()) {
      const bool decided = decisions_[used_decisions_++];
      path_.emplace_back(s.term, decided);
      return decided;
    }
    throw UndecidedCondition{s.term, core::to_string(b_.program(), s.term), c.file ? Place{c.file->path, at.line, at.column} : Place{}};
  }
  if (s.is(Tag::Term) && b_.type_of(s.term) == ElementType::Bool)
    fail(c, at, "this condition must be known when the operator is applied, but it depends on elements");
  fail(c, at, fmt::format("{} where a condition is needed", describe_kind(s)));
}

std::int64_t Elaborator::static_integer(const Context& c, Position at, const Value& v, std::string_view what) {
  const Value s = scalar(c, at, v);
  if (s.is(Tag::Integer)) return s.integer;
  if (is_symbolic(s))
    fail(c, at, fmt::format("{} must be a concrete number, not the symbolic {}", what, show(s)), ErrorKind::Unsupported);
  fail(c, at, fmt::format("{} must be an integer, not {}", what, describe_kind(s)));
}

}  // namespace ulpian::language
