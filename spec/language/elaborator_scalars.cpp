#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

using core::TermId;

bool defined_on(const PrimitiveRow& row, ElementType t) {
  if (t == ElementType::Bool) return row.on_bool;
  if (t == ElementType::String) return row.kind == PrimitiveKind::Comparison && row.arity == 2;
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
    case Tag::Operator:
    case Tag::Graph: fail(c, at, fmt::format("{} is no element", describe_kind(v)));
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

// An element at another type, where the language converts without a word; empty where it does not.
std::optional<TermId> Elaborator::term_as(const Context& c, Position at, TermId id, ElementType type) {
  const core::Term t = b_.program().terms[id];
  if (t.type == type) return id;
  if (t.type != ElementType::Z && t.type != ElementType::R) return std::nullopt;
  if (t.type == ElementType::Z && type == ElementType::R) return b_.primitive(Primitive::ToReal, id);
  if (t.kind == core::TermKind::Constant)
    return number_as(c, at, t.type == ElementType::Z ? Value::of(static_cast<std::int64_t>(t.data)) : number(b_.program().reals[t.data]), type);
  // A choice between static numbers takes the type of what it meets.
  if (is_integer(type) || is_float(type))
    if (const auto table = tables_.find(id); table != tables_.end()) return table_as(c, at, table->second, type);
  // Among them integers, which became reals to join the others.
  if (t.kind == core::TermKind::Primitive && static_cast<Primitive>(t.operation) == Primitive::ToReal && type != ElementType::Z)
    if (const TermId whole = b_.program().arguments_of(id)[0]; b_.type_of(whole) == ElementType::Z) return term_as(c, at, whole, type);
  if (t.kind != core::TermKind::Select || type == ElementType::Z) return std::nullopt;
  spend(8);  // shared choices are converted once per use
  const auto arguments = b_.program().arguments_of(id);
  const TermId condition = arguments[0], x = arguments[1], y = arguments[2];
  const auto p = term_as(c, at, x, type);
  const auto q = p ? term_as(c, at, y, type) : std::nullopt;
  return q ? std::optional(b_.select(condition, *p, *q)) : std::nullopt;
}

std::optional<TermId> Elaborator::number_as(const Context& c, Position at, const Value& v, ElementType type) {
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
  if (is_float(type)) {
    // What the type does not hold stays a number that is rounded here: the ideal answer takes it as it is. (A number beyond the range is an infinity.)
    const Bits bits = e.round_to(type, CastMode::Plain);
    const Exact rounded = Exact::of(type, bits);
    return rounded.is_finite() && e.is_finite() && !(rounded == e) ? b_.cast(type, b_.real(e), CastMode::Plain) : b_.constant(type, bits);
  }
  if (is_complex(type)) return b_.cast(type, b_.constant(part_of(type), e.round_to(part_of(type), CastMode::Plain)), CastMode::Plain);
  return std::nullopt;
}

TermId Elaborator::to(const Context& c, Position at, const Value& v, ElementType type) {
  mark(c, at);
  if (v.is(Tag::Tensor)) return to(c, at, scalar(c, at, v), type);
  if (v.is(Tag::Term)) {
    if (auto t = term_as(c, at, v.term, type)) return *t;
    const ElementType has = b_.type_of(v.term);
    fail(c, at, fmt::format("an element of type {} where {} is needed", name_of(has), name_of(type)), ErrorKind::Definition,
         has == ElementType::R ? fmt::format("a real is rounded where that is written: exactly({}, ...)", name_of(type))
                               : fmt::format("conversions are written: cast({}, ...)", name_of(type)));
  }
  if (v.is(Tag::Bool) && type == ElementType::Bool) return b_.boolean(v.boolean);
  if (v.is(Tag::String) && type == ElementType::String) return b_.text(*v.string);
  if (v.is_number())
    if (auto t = number_as(c, at, v, type)) return *t;
  fail(c, at, fmt::format("{} where an element of type {} is needed", describe_kind(v), name_of(type)));
}

TermId Elaborator::to_term(const Context& c, Position at, const Value& v) {
  const Value s = scalar(c, at, v);
  if (s.is(Tag::Term)) return s.term;
  return to(c, at, s, type_of(c, at, s));
}

ElementType Elaborator::join(const Context& c, Position at, std::span<const Value> xs) {
  std::optional<ElementType> machine;
  bool real = false;
  for (const Value& v : xs) {
    const ElementType t = type_of(c, at, v);
    if (t == ElementType::R) real = true;
    if (t == ElementType::Z || t == ElementType::R) continue;
    if (machine && *machine != t) {
      // A static number never decides; two element types that differ are an error.
      fail(c, at, fmt::format("elements of types {} and {}", name_of(*machine), name_of(t)), ErrorKind::Definition, "conversions are written: cast(T, ...)");
    }
    machine = t;
  }
  if (machine) return *machine;
  return real ? ElementType::R : ElementType::Z;
}

// Item by item; what is no list goes with every item.
Value Elaborator::apply_lists(const Context& c, Position at, Primitive p, std::span<const Value> arguments) {
  std::optional<std::size_t> length;
  for (const Value& v : arguments) {
    if (!v.is(Tag::List)) continue;
    if (length && *length != v.list->size) fail(c, at, fmt::format("lists of {} and {} under {}", *length, v.list->size, name_of(p)));
    length = v.list->size;
  }
  Values out(*length), one(arguments.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    for (std::size_t j = 0; j < arguments.size(); ++j) one[j] = arguments[j].is(Tag::List) ? arguments[j].list->items[k] : arguments[j];
    out[k] = apply(c, at, p, one);
  }
  return list(out);
}

Value Elaborator::apply(const Context& c, Position at, Primitive p, std::span<const Value> arguments) {
  if (std::any_of(arguments.begin(), arguments.end(), [](const Value& v) { return v.is(Tag::List); })) return apply_lists(c, at, p, arguments);
  if (row_of(p).kind == PrimitiveKind::Text) return apply_text(c, at, p, arguments);
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

Value Elaborator::apply_terms(const Context& c, Position at, Primitive p, std::span<const Value> xs) {
  spend(1);
  mark(c, at);
  const PrimitiveRow& row = row_of(p);
  if (row.kind == PrimitiveKind::Logic) {
    TermId a = to(c, at, xs[0], ElementType::Bool);
    if (xs.size() == 1) return of_term(b_.primitive(p, a));
    return of_term(b_.primitive(p, a, to(c, at, xs[1], ElementType::Bool)));
  }
  ElementType type = join(c, at, xs);
  if (type == ElementType::String && p == Primitive::Add) return apply_text(c, at, Primitive::Concatenate, xs);
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
  if (s.is(Tag::Number) && s.number->is_finite() && s.number->is_integer()) fail(c, at, fmt::format("{}, an index or an extent, is beyond 64 bits", describe_kind(s)), ErrorKind::Limit, {});
  fail(c, at, fmt::format("{} is no index", describe_kind(s)), ErrorKind::Definition, "an index is an integer; of a real write floor(...)");
}

TermId Elaborator::index_term(const Context& c, Position at, const Value& v) {
  const Value i = index(c, at, v);
  return i.is(Tag::Integer) ? b_.integer(i.integer) : i.term;
}

// An element of a static input whose value is known; empty where the place is outside and `otherwise` is to be taken.
std::optional<Value> Elaborator::read_known(const Context& c, Position at, core::TensorId t, std::span<const std::int64_t> place, const Value* otherwise) {
  const Tensor& value = *known_[t];
  std::int64_t flat = 0;
  for (std::size_t k = 0; k < place.size(); ++k) {
    if (place[k] < 0 || place[k] >= value.extents()[k]) {
      if (otherwise) return std::nullopt;
      fail(c, at, fmt::format("{} has extents {}; the index is outside", b_.program().tensors[t].name, to_string(value.extents())));
    }
    flat = flat * value.extents()[k] + place[k];
  }
  if (value.type() == ElementType::String) return string(value.strings()[static_cast<std::size_t>(flat)]);
  const Bits bits = value.at(flat);
  if (value.type() == ElementType::Bool) return Value::of_bool(bits != 0);
  return number(Exact::of(value.type(), bits));
}

// An element of a static input whose value is not known: a size symbol named for its place.
Value Elaborator::read_symbol(core::TensorId t, std::span<const std::int64_t> place) {
  const std::string name = fmt::format("{}[{}]", b_.program().tensors[t].name, fmt::join(place, ", "));
  auto [it, fresh] = size_symbols_.try_emplace(name, 0);
  if (fresh) it->second = b_.fresh_size(name);
  return Value::of_term(b_.size(it->second));
}

Value Elaborator::read(const Context& c, Position at, core::TensorId t, std::span<const Value> index_values, const Value* otherwise, bool optional) {
  spend(1);
  mark(c, at);
  const std::size_t rank = b_.program().tensors[t].extents.size();
  if (index_values.size() != rank)
    fail(c, at, fmt::format("{} has {} axes; {} indices are given", b_.program().tensors[t].name, rank, index_values.size()));
  std::vector<TermId> ids(rank);
  std::vector<std::int64_t> place(rank);
  bool constant = true;
  for (std::size_t k = 0; k < rank; ++k) {
    const Value i = index(c, at, index_values[k]);
    if (i.is(Tag::Integer)) place[k] = i.integer;
    else constant = false;
    ids[k] = i.is(Tag::Integer) ? b_.integer(i.integer) : i.term;
  }
  if (constant && t < known_.size() && known_[t]) {
    auto known = read_known(c, at, t, place, otherwise);
    return known ? *known : *otherwise;
  }
  if (constant && t < static_symbols_.size() && static_symbols_[t]) return read_symbol(t, place);
  // An integer scalar that is a constant is a static value again (a measured number).
  const core::TensorNode& node = b_.program().tensors[t];
  if (node.kind == core::TensorKind::Comprehension && node.extents.empty() && is_integer(node.type) && b_.program().is_constant(node.body) && !otherwise)
    return Value::of_term(node.body);
  if (!otherwise) return Value::of_term(b_.read(t, ids));
  const TermId e = to(c, at, *otherwise, node.type);
  mark(c, at);
  return Value::of_term(b_.read_else(t, ids, e, optional));
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
  if (s.is(Tag::Term) && b_.type_of(s.term) == ElementType::Bool && decides(s.term)) return decided(c, at, s.term).at(0) != 0;
  if (s.is(Tag::Term) && b_.type_of(s.term) == ElementType::Bool)
    fail(c, at, "this condition must be known when the operator is applied, but it depends on elements");
  fail(c, at, fmt::format("{} where a condition is needed", describe_kind(s)));
}

std::int64_t Elaborator::static_integer(const Context& c, Position at, const Value& v, std::string_view what) {
  const Value s = scalar(c, at, v);
  if (s.is(Tag::Integer)) return s.integer;
  if (is_symbolic(s))
    fail(c, at, fmt::format("{} must be a concrete number, not the symbolic {}", what, show(s)), ErrorKind::Unsupported);
  if (s.is(Tag::Term) && decides(s.term) && (is_integer(b_.type_of(s.term)) || b_.type_of(s.term) == ElementType::Z)) {
    const Tensor value = decided(c, at, s.term);
    if (auto n = Exact::of(value.type(), value.at(0)).to_int64()) return *n;
  }
  fail(c, at, fmt::format("{} must be an integer, not {}", what, describe_kind(s)));
}

}  // namespace ulpian::language
