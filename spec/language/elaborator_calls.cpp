#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"
#include "spec/strings/number_text.h"

namespace ulpian::language {
namespace {

using core::TermId;

struct CastName {
  std::string_view name;
  CastMode mode;
};
constexpr CastName CastNames[] = {{"plain", CastMode::Plain}, {"wrap", CastMode::Plain}, {"saturate", CastMode::Saturate}, {"up", CastMode::Up},
                                  {"down", CastMode::Down}, {"nearest", CastMode::Nearest}, {"saturate_up", CastMode::SaturateUp},
                                  {"saturate_down", CastMode::SaturateDown}, {"saturate_nearest", CastMode::SaturateNearest}};

}  // namespace

void Elaborator::need(const Context& c, Position at, std::string_view name, std::span<const Value> arguments, std::size_t least, std::size_t most) {
  if (arguments.size() >= least && arguments.size() <= most) return;
  const std::string wanted = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  fail(c, at, fmt::format("{} takes {} argument(s); {} are given", name, wanted, arguments.size()));
}

ElementType Elaborator::type_argument(const Context& c, Position at, const Value& v) {
  if (!v.is(Tag::Type)) fail(c, at, fmt::format("{} where an element type is needed", describe_kind(v)));
  return v.type;
}

// A call of what is no function of the language's own.
Value Elaborator::call_other(const Context& c, const Expr& e, const Value& callee) {
  if (callee.is(Tag::Operator)) return call_operator(c, e.at, *callee.op, e);
  if (!e.named.empty()) fail(c, e.at, "only operators take named arguments");
  if (callee.is(Tag::Graph)) return call_graph(c, e.at, *callee.graph, items(c, std::span(e.args).subspan(1)));
  if (!callee.is(Tag::Builtin)) fail(c, e.at, fmt::format("{} is no function", describe_kind(callee)));
  const auto b = static_cast<Builtin>(callee.builtin & 0xff);
  if (b == Builtin::Refuse) {
    if (e.args.size() != 2 || !e.args[1]->message) fail(c, e.at, "refuse takes one message: refuse(\"...\")");
    fail_requirement(c, e.at, message(c, *e.args[1]->message));
  }
  const Values arguments = items(c, std::span(e.args).subspan(1));
  // min and max of two are primitives, of one a fold over a list.
  if (b == Builtin::Primitive || ((b == Builtin::Minimum || b == Builtin::Maximum) && arguments.size() == 2))
    return call_primitive(c, e.at, static_cast<Primitive>(callee.builtin >> 8 & 0xff), arguments);
  return call_builtin(c, e.at, b, arguments);
}

Value Elaborator::call_primitive(const Context& c, Position at, Primitive p, std::span<const Value> arguments) {
  const std::string_view name = name_of(p);
  if (auto by_arity = primitive_named(name, static_cast<int>(arguments.size()))) p = *by_arity;
  const auto arity = static_cast<std::size_t>(row_of(p).arity);
  need(c, at, name, arguments, arity, arity);
  return apply(c, at, p, arguments);
}

// Where the body of a function is evaluated: its parameters bound.
Elaborator::Context Elaborator::called(const Context& c, Position at, const Closure& f, std::span<const Value> arguments) {
  std::size_t singles = 0;
  for (const Parameter& p : f.parameters) singles += p.pack ? 0 : 1;
  const bool pack = singles < f.parameters.size();
  if (arguments.size() < singles || (!pack && arguments.size() > singles))
    fail(c, at, fmt::format("{} takes {}{} argument(s); {} are given", f.name, pack ? "at least " : "", singles, arguments.size()));
  // A file's function sees the operator that called it only through its parameters, but other operators at its opset.
  Context inner{f.environment, f.scope, f.file};
  if (!f.parameters.empty()) inner.local = bind_pattern(c, at, f.parameters, true, list(arguments), f.environment);
  return inner;
}

Elaborator::CallTrace::~CallTrace() {
  if (e_.trace_.size() > first_) --e_.call_depth_;
  e_.trace_.resize(first_);
}

void Elaborator::CallTrace::enter(const Context& c, Position at, const Closure& f) {
  if (e_.trace_.size() == first_ && e_.call_depth_ + 1 > e_.limits_.call_depth)
    e_.fail(c, at, fmt::format("{} calls itself more than {} times deep", f.name, e_.limits_.call_depth), ErrorKind::Limit);
  if (e_.trace_.size() == first_) ++e_.call_depth_;
  if (e_.trace_.size() >= first_ + MostNotes) e_.trace_.pop_back();
  e_.trace_.push_back({f.name, c.file, at.line});
}

void Elaborator::CallTrace::note(Diagnostic& d) const {
  if (d.kind != ErrorKind::Definition && d.kind != ErrorKind::Limit) return;
  for (std::size_t k = e_.trace_.size(); k-- > first_ && d.notes.size() < MostNotes;) {
    const TracedCall& call = e_.trace_[k];
    if (!call.file) continue;
    std::string text = fmt::format("in the function {}, called at {}:{}", call.function, call.file->path, call.line);
    if (d.notes.empty() || d.notes.back() != text) d.notes.push_back(std::move(text));
  }
}

Value Elaborator::call_operator(const Context& c, Position at, const OperatorReference& op, const Expr& e) {
  const OperatorDefinition* definition = spec_.find(op.name, op.version);
  if (!definition) fail(c, at, fmt::format("no definition of {} at version {}", op.name, op.version), ErrorKind::Unsupported);
  DepthGuard guard(operator_depth_);
  if (operator_depth_ > MostOperatorDepth) fail(c, at, fmt::format("operators call each other more than {} deep", MostOperatorDepth), ErrorKind::Limit);
  std::map<std::string, Value> attributes;
  for (const NamedArgument& n : e.named) {
    const std::string& name = spec_.symbols().name(n.name);
    const auto& clauses = definition->clauses;
    if (std::none_of(clauses.begin(), clauses.end(), [&](const Clause& k) { return k.kind == ClauseKind::Attribute && k.name == n.name; }))
      fail(c, at, fmt::format("{} has no attribute {}", op.name, name));
    attributes[name] = eval(c, n.value);
  }
  Values arguments = items(c, std::span(e.args).subspan(1));
  for (Value& v : arguments) {
    // A list of numbers or elements is no sequence; what the definition takes there, its clause says.
    if (!v.is(Tag::Absent) && !(v.is(Tag::List) && v.type != ElementType::Z)) v = Value::of_tensor(as_tensor(c, at, v));
  }
  std::size_t results = 0;
  for (const Clause& k : definition->clauses)
    if (k.kind == ClauseKind::Out) ++results;
  const Values out = apply_operator(*definition, op.version, attributes, std::move(arguments), results);
  return out.size() == 1 ? out[0] : list(out);
}

Value Elaborator::call_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  switch (b) {
    case Builtin::Present:
    case Builtin::IsSequence:
    case Builtin::IsOptional:
    case Builtin::Rank:
    case Builtin::Shape:
    case Builtin::TypeOf:
    case Builtin::Values:
    case Builtin::Extent: need(c, at, "this function", a, 1, 1); return call_tensor_builtin(c, at, b, a[0]);
    case Builtin::Len:
    case Builtin::Range:
    case Builtin::Sort:
    case Builtin::Reverse:
    case Builtin::Find:
    case Builtin::Sum:
    case Builtin::Product:
    case Builtin::Minimum:
    case Builtin::Maximum:
    case Builtin::All:
    case Builtin::Any: return call_list_builtin(c, at, b, a);
    case Builtin::Split:
    case Builtin::Chars:
    case Builtin::Replace: return call_string_builtin(c, at, b, a);
    case Builtin::BitsOf:
    case Builtin::IsFloat:
    case Builtin::IsInteger:
    case Builtin::IsSigned:
    case Builtin::IsComplex:
    case Builtin::Lowest:
    case Builtin::Highest:
    case Builtin::Wide: return call_type_builtin(c, at, b, a);
    case Builtin::Cast:
    case Builtin::Bits:
    case Builtin::Exactly:
    case Builtin::Unspecified:
    case Builtin::Random:
    case Builtin::Encoding:
    case Builtin::Measured:
    case Builtin::Integer:
    case Builtin::Real: return call_element_builtin(c, at, b, a);
    case Builtin::ResultType: return result_type(c, at, a);
    case Builtin::SequenceOf: return sequence_of(c, at, a);
    case Builtin::Host: fail(c, at, "sequences are not defined in this edition", ErrorKind::Unsupported);
    case Builtin::True:
    case Builtin::False:
    case Builtin::Infinity:
    case Builtin::NotANumber:
    case Builtin::Pi:
    case Builtin::Absent:
    case Builtin::Refuse:
    case Builtin::Primitive:
    case Builtin::Type: break;
  }
  ensure(false, "constants, types and primitives are no such functions");
}

std::span<const Value> Elaborator::list_of(const Context& c, Position at, const Value& v) {
  if (!v.is(Tag::List)) fail(c, at, fmt::format("{} where a list is needed", describe_kind(v)));
  return v.items();
}

const std::string& Elaborator::string_of(const Context& c, Position at, const Value& v) {
  if (!v.is(Tag::String)) fail(c, at, fmt::format("{} where a string is needed", describe_kind(v)));
  return *v.string;
}

Value Elaborator::call_tensor_builtin(const Context& c, Position at, Builtin b, const Value& x) {
  if (b == Builtin::Present) return Value::of_bool(!x.is(Tag::Absent));
  if (b == Builtin::IsSequence) return Value::of_bool(x.is(Tag::List));
  if (b == Builtin::IsOptional) return Value::of_bool(!x.plain);
  if (b == Builtin::TypeOf) return Value::of_type(type_of(c, at, x));
  if (!x.is(Tag::Tensor)) fail(c, at, fmt::format("{} where a tensor is needed", describe_kind(x)));
  const auto& extents = b_.program().tensors[x.tensor].extents;
  if (b == Builtin::Rank) return Value::of(static_cast<std::int64_t>(extents.size()));
  if (b == Builtin::Shape) return extents_of(x.tensor);
  if (b == Builtin::Values) return values_of(c, at, x.tensor);
  ensure(b == Builtin::Extent);
  if (extents.empty()) fail(c, at, "extent(...) of a scalar");
  return extent_value(extents[0]);
}

Value Elaborator::values_of(const Context& c, Position at, core::TensorId t) {
  const core::TensorNode& node = b_.program().tensors[t];
  if (node.extents.size() != 1) fail(c, at, fmt::format("values(...) lists a tensor of rank 1, not {}", node.extents.size()));
  const std::int64_t n = static_integer(c, at, extent_value(node.extents[0]), fmt::format("the extent of {}", node.name));
  if (n > static_cast<std::int64_t>(MostListItems)) fail(c, at, fmt::format("{} has {} elements; at most {} are listed", node.name, n, MostListItems), ErrorKind::Limit);
  Values out;
  for (std::int64_t k = 0; k < n; ++k) {
    const Value i = Value::of(k);
    out.push_back(read(c, at, t, std::span(&i, 1), nullptr, false));
  }
  return list(out);
}

Value Elaborator::sorted(const Context& c, Position at, std::span<const Value> xs) {
  spend(xs.size());
  Values out(xs.begin(), xs.end());
  if (!xs.empty() && std::all_of(xs.begin(), xs.end(), [](const Value& v) { return v.is(Tag::String); })) {
    std::sort(out.begin(), out.end(), [](const Value& p, const Value& q) { return *p.string < *q.string; });
    return list(out);
  }
  for (Value& v : out) v = Value::of(static_integer(c, at, v, "an item of a sorted list"));
  std::sort(out.begin(), out.end(), [](const Value& p, const Value& q) { return p.integer < q.integer; });
  return list(out);
}

Value Elaborator::call_list_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  const std::size_t arity = b == Builtin::Find ? 2 : 1;
  need(c, at, "this function", a, arity, arity);
  if (b == Builtin::Len && a[0].is(Tag::String)) return Value::of(static_cast<std::int64_t>(a[0].string->size()));
  if (b == Builtin::Range) {
    const std::int64_t n = static_integer(c, at, a[0], "the length of a list");
    if (n > static_cast<std::int64_t>(MostListItems)) fail(c, at, fmt::format("a list of {} numbers; at most {} are allowed", n, MostListItems), ErrorKind::Limit);
    Values out;
    for (std::int64_t k = 0; k < n; ++k) out.push_back(Value::of(k));
    return list(out);
  }
  const auto xs = list_of(c, at, a[0]);
  auto fold = [&](Primitive p, Value out, std::span<const Value> items) {
    for (const Value& v : items) out = both(c, at, out, v, p);
    return out;
  };
  switch (b) {
    case Builtin::Len: return Value::of(static_cast<std::int64_t>(xs.size()));
    case Builtin::Sort: return sorted(c, at, xs);
    case Builtin::Reverse: return list(Values(xs.rbegin(), xs.rend()));
    case Builtin::Find:
      for (std::size_t k = 0; k < xs.size(); ++k)
        if (truth(c, at, equal(c, at, xs[k], a[1]))) return Value::of(static_cast<std::int64_t>(k));
      return Value::of(-1);
    case Builtin::Sum: return fold(Primitive::Add, Value::of(0), xs);
    case Builtin::Product: return fold(Primitive::Multiply, Value::of(1), xs);
    case Builtin::All: return fold(Primitive::And, Value::of_bool(true), xs);
    case Builtin::Any: return fold(Primitive::Or, Value::of_bool(false), xs);
    case Builtin::Minimum:
    case Builtin::Maximum:
      if (xs.empty()) fail(c, at, "the least or greatest of an empty list");
      return fold(b == Builtin::Minimum ? Primitive::Minimum : Primitive::Maximum, xs[0], xs.subspan(1));
    default: ensure(false);
  }
}

Value Elaborator::call_string_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  const std::size_t arity = b == Builtin::Replace ? 3 : b == Builtin::Split ? 2 : 1;
  need(c, at, "this function of a string", a, arity, arity);
  const std::string& text = string_of(c, at, a[0]);
  if (b == Builtin::Chars) {
    Values out;
    for (char ch : text) out.push_back(string(std::string(1, ch)));
    return list(out);
  }
  const std::string& mark_text = string_of(c, at, a[1]);
  if (mark_text.empty()) fail(c, at, "an empty string is found everywhere: split and replace need another");
  Values parts;
  std::string joined;
  std::size_t start = 0;
  for (std::size_t k = text.find(mark_text); k != std::string::npos; k = text.find(mark_text, start)) {
    if (b == Builtin::Split) parts.push_back(string(text.substr(start, k - start)));
    else joined += text.substr(start, k - start) + string_of(c, at, a[2]);
    if (joined.size() > MostStringBytes) break;
    start = k + mark_text.size();
  }
  if (b == Builtin::Replace) return string(joined + text.substr(start));
  parts.push_back(string(text.substr(start)));
  return list(parts);
}

Value Elaborator::call_type_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  need(c, at, "this function of a type", a, 1, 1);
  const ElementType t = type_argument(c, at, a[0]);
  auto limit = [&](bool high) {
    if (t == ElementType::Bool) return Value::of_bool(high);
    if (!is_float(t) && !is_integer(t)) fail(c, at, fmt::format("{} has no least and greatest value", name_of(t)));
    return number(Exact::of(t, high ? largest_finite(t) : lowest_finite(t)));
  };
  switch (b) {
    case Builtin::BitsOf: return Value::of(bits_of(t));
    case Builtin::IsFloat: return Value::of_bool(is_float(t));
    case Builtin::IsInteger: return Value::of_bool(is_integer(t));
    case Builtin::IsSigned: return Value::of_bool(is_signed(t));
    case Builtin::IsComplex: return Value::of_bool(is_complex(t));
    case Builtin::Lowest: return limit(false);
    case Builtin::Highest: return limit(true);
    case Builtin::Wide:
      if (auto w = wide(t)) return Value::of_type(*w);
      fail(c, at, fmt::format("wide({}) does not exist: it is no number type", name_of(t)));
    default: ensure(false);
  }
}

// A static number or condition goes to the type directly: rounded once, truncated and wrapped or saturated as `cast` says.
Value Elaborator::cast_static(const Context& c, Position at, ElementType type, CastMode mode, const Value& x) {
  if (x.is(Tag::Bool)) {
    if (type == ElementType::Bool) return x;
    if (bits_of(type) == 0 || is_complex(type)) fail(c, at, fmt::format("a condition has no value of type {}", name_of(type)));
    return Value::of_term(b_.cast(type, b_.boolean(x.boolean), mode));
  }
  if (type == ElementType::String) {
    if (type_of(c, at, x) != ElementType::Z) fail(c, at, fmt::format("the number {} has no element type whose digits a string could have", show(x)));
    return string(exact_of(x).to_string());
  }
  const Exact e = exact_of(x);
  if (type == ElementType::Bool) return Value::of_term(b_.boolean(!e.is_zero()));
  if (is_float(type)) return Value::of_term(b_.constant(type, e.round_to(type, mode)));
  if (!is_integer(type) || e.to_bits(type)) return Value::of_term(to(c, at, x, type));
  const auto whole = e.truncate().to_bits(type);
  return Value::of_term(b_.constant(type, whole ? *whole : e.round_to(type, mode)));
}

Value Elaborator::eval_cast(const Context& c, Position at, std::span<const Value> a) {
  need(c, at, "cast", a, 2, 3);
  const ElementType type = type_argument(c, at, a[0]);
  CastMode mode = CastMode::Plain;
  if (a.size() == 3) {
    const CastName* found = nullptr;
    if (a[2].is(Tag::String))
      for (const CastName& n : CastNames)
        if (n.name == *a[2].string) found = &n;
    if (!found) fail(c, at, fmt::format("{} is no mode of cast", describe_kind(a[2])), ErrorKind::Definition, "saturate, or for f8e8m0 up, down, nearest");
    mode = found->mode;
    const bool of_scales = mode != CastMode::Plain && mode != CastMode::Saturate;
    if (of_scales && type != ElementType::F8E8M0) fail(c, at, fmt::format("\"{}\" is a mode of casts to f8e8m0, not to {}", found->name, name_of(type)));
  }
  const Value x = scalar(c, at, a[1]);
  if (x.is_number() || x.is(Tag::Bool)) return cast_static(c, at, type, mode, x);
  const TermId t = to_term(c, at, x);
  const ElementType from = b_.type_of(t);
  if (from == type) return of_term(t);
  const ElementType other = from == ElementType::String ? type : from;
  const bool text = (from == ElementType::String || type == ElementType::String) && (bits_of(other) > 0 || other == ElementType::Z);
  if (text && type == ElementType::Z) fail(c, at, "a string is cast to an integer type, not to Z");
  if (text && !is_complex(other)) return Value::of_term(b_.cast(type, t, mode));
  if (is_complex(type) && from != ElementType::String && from != ElementType::R && mode == CastMode::Plain) return Value::of_term(b_.cast(type, t, mode));
  if (from == ElementType::String || type == ElementType::String || is_complex(from) || is_complex(type))
    fail(c, at, fmt::format("cast from {} to {} is not defined in this edition", name_of(from), name_of(type)), ErrorKind::Unsupported);
  if (type == ElementType::R) return to_real(c, at, x);
  if (type == ElementType::Z) return to_integer(c, at, x);
  if (type == ElementType::I64 && tables_.contains(t)) return Value::of_term(to(c, at, x, type));
  if (from == ElementType::R) {
    // A choice between static numbers takes its type here; any other real is rounded by `exactly`.
    if (mode == CastMode::Plain)
      if (const auto chosen = term_as(c, at, t, type)) return Value::of_term(*chosen);
    fail(c, at, "a real is rounded by exactly(T, e)");
  }
  mark(c, at);
  return of_term(b_.cast(type, t, mode));
}

Value Elaborator::reinterpreted(const Context& c, Position at, std::span<const Value> a) {
  need(c, at, "bits", a, 2, 2);
  const ElementType type = type_argument(c, at, a[0]);
  const Value x = scalar(c, at, a[1]);
  if (!x.is(Tag::Term)) fail(c, at, fmt::format("{} has no element type whose bits could be read", describe_kind(x)), ErrorKind::Definition, "bits(T, e) takes an element; cast(U, ...) makes one of a number");
  const ElementType from = b_.type_of(x.term);
  const auto has_bits = [](ElementType t) { return is_float(t) || is_integer(t) || is_complex(t); };
  if (!has_bits(from) || !has_bits(type) || bits_of(from) != bits_of(type))
    fail(c, at, fmt::format("the bits of an element of type {} are no element of type {}: they need the same number of bits", name_of(from), name_of(type)));
  mark(c, at);
  return Value::of_term(b_.cast(type, x.term, CastMode::Reinterpret));
}

Value Elaborator::exactly(const Context& c, Position at, std::span<const Value> a) {
  need(c, at, "exactly", a, 2, 2);
  const ElementType type = type_argument(c, at, a[0]);
  const Value x = scalar(c, at, a[1]);
  if (x.is_number()) return Value::of_term(to(c, at, x, type));
  const TermId t = to_term(c, at, x);
  const ElementType from = b_.type_of(t);
  if (from == type) return Value::of_term(t);
  if (is_float(type) && tables_.contains(t)) return Value::of_term(to(c, at, x, type));
  if (from != ElementType::R && from != ElementType::Z) fail(c, at, fmt::format("exactly rounds a real, not an element of type {}", name_of(from)));
  if (is_complex(type)) return Value::of_term(b_.cast(type, b_.cast(part_of(type), to(c, at, x, ElementType::R), CastMode::Exact), CastMode::Plain));
  if (!is_float(type) && !is_integer(type)) fail(c, at, fmt::format("a real is not rounded to {}", name_of(type)));
  return Value::of_term(b_.cast(type, to(c, at, x, ElementType::R), CastMode::Exact));
}

Value Elaborator::random(const Context& c, Position at, std::span<const Value> a) {
  need(c, at, "random", a, 2, 3);
  const TermId key = index_term(c, at, a[0]), position = index_term(c, at, a[1]);
  return Value::of_term(b_.random(key, position, a.size() > 2 ? index_term(c, at, a[2]) : b_.integer(0)));
}

// The bits of a static number as an element.
Value Elaborator::encoding(const Context& c, Position at, std::span<const Value> a) {
  constexpr int MostBits = 32;
  need(c, at, "encoding", a, 2, 2);
  const ElementType type = type_argument(c, at, a[0]);
  if ((!is_float(type) && !is_integer(type)) || bits_of(type) > MostBits) fail(c, at, fmt::format("encoding takes a type of numbers of at most {} bits, not {}", MostBits, name_of(type)));
  if (!a[1].is_number()) fail(c, at, fmt::format("encoding takes a static number, not {}", describe_kind(a[1])));
  return Value::of(static_cast<std::int64_t>(b_.program().terms[to(c, at, a[1], type)].data));
}

Value Elaborator::measured(const Context& c, Position at, const Value& x) {
  const Value n = index(c, at, x);
  if (n.is(Tag::Integer) || is_symbolic(n)) return n;
  if (!b_.program().free_of(n.term).empty()) fail(c, at, "measured(...) of an integer that depends on an index");
  core::TensorNode node;
  node.name = "measured";
  node.kind = core::TensorKind::Measured;
  node.type = ElementType::Z;
  node.body = n.term;
  const core::TensorId id = b_.add(std::move(node));
  return Value::of_term(b_.size(b_.fresh_size(fmt::format("measured{}", id), id)));
}

Value Elaborator::to_integer(const Context& c, Position at, const Value& v) {
  const Value x = scalar(c, at, v);
  if (x.is(Tag::Bool)) return Value::of(x.boolean ? 1 : 0);
  if (x.is(Tag::Term) && b_.type_of(x.term) == ElementType::Bool) return of_term(b_.select(x.term, b_.integer(1), b_.integer(0)));
  return index(c, at, x);
}

Value Elaborator::to_real(const Context& c, Position at, const Value& v) {
  const Value x = scalar(c, at, v);
  if (x.is_number()) return x;
  if (x.is(Tag::String)) return number(number_of_text(*x.string));
  const TermId t = to_term(c, at, x);
  const ElementType has = b_.type_of(t);
  if (has == ElementType::R) return x;
  if (!is_float(has) && !is_integer(has) && has != ElementType::Z && has != ElementType::String) fail(c, at, fmt::format("an element of type {} is no real", name_of(has)));
  return Value::of_term(b_.primitive(Primitive::ToReal, t));
}

Value Elaborator::call_element_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  mark(c, at);
  switch (b) {
    case Builtin::Cast: return eval_cast(c, at, a);
    case Builtin::Bits: return reinterpreted(c, at, a);
    case Builtin::Exactly: return exactly(c, at, a);
    case Builtin::Unspecified: need(c, at, "unspecified", a, 1, 1); return Value::of_term(b_.unspecified(type_argument(c, at, a[0])));
    case Builtin::Random: return random(c, at, a);
    case Builtin::Encoding: return encoding(c, at, a);
    case Builtin::Measured: need(c, at, "measured", a, 1, 1); return measured(c, at, a[0]);
    case Builtin::Integer: need(c, at, "int", a, 1, 1); return to_integer(c, at, a[0]);
    case Builtin::Real: need(c, at, "real", a, 1, 1); return to_real(c, at, a[0]);
    default: ensure(false);
  }
}

}  // namespace ulpian::language
