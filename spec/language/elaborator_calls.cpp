#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

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

Value Elaborator::eval_call(const Context& c, const Expr& e) {
  const Value callee = eval(c, e.args[0]);
  if (callee.is(Tag::Operator)) return call_operator(c, e.at, *callee.op, e);
  if (!e.named.empty()) fail(c, e.at, "only operators take named arguments");
  if (callee.is(Tag::Builtin)) {
    const auto b = static_cast<Builtin>(callee.builtin & 0xff);
    if (b == Builtin::Refuse) {
      if (e.args.size() != 2 || !e.args[1]->message) fail(c, e.at, "refuse takes one message: refuse(\"...\")");
      fail_requirement(c, e.at, message(c, *e.args[1]->message));
    }
    const Values arguments = items(c, std::span(e.args).subspan(1));
    if (b == Builtin::Primitive || ((b == Builtin::Minimum || b == Builtin::Maximum) && arguments.size() == 2)) {
      auto p = static_cast<Primitive>(callee.builtin >> 8 & 0xff);
      const std::string_view name = name_of(p);
      if (auto by_arity = primitive_named(name, static_cast<int>(arguments.size()))) p = *by_arity;
      const auto arity = static_cast<std::size_t>(row_of(p).arity);
      need(c, e.at, name, arguments, arity, arity);
      return apply(c, e.at, p, arguments);
    }
    return call_builtin(c, e.at, b, arguments, &e);
  }
  if (callee.is(Tag::Closure)) return call_closure(c, e.at, *callee.closure, items(c, std::span(e.args).subspan(1)));
  fail(c, e.at, fmt::format("{} is no function", describe_kind(callee)));
}

Value Elaborator::call_closure(const Context& c, Position at, const Closure& f, std::span<const Value> arguments) {
  if (++call_depth_ > limits_.call_depth) {
    call_depth_ = 0;
    fail(c, at, fmt::format("{} calls itself more than {} times deep", f.name, limits_.call_depth), ErrorKind::Limit);
  }
  Context inner{f.environment, f.scope, f.file};
  // A file's function sees the operator that called it only through its parameters, but other operators at its opset.
  std::size_t singles = 0;
  bool pack = false;
  for (const Parameter& p : f.parameters) p.pack ? pack = true : static_cast<bool>(++singles);
  if (arguments.size() < singles || (!pack && arguments.size() > singles))
    fail(c, at, fmt::format("{} takes {}{} argument(s); {} are given", f.name, pack ? "at least " : "", singles, arguments.size()));
  if (f.parameters.empty()) {
    // nothing to bind
  } else {
    Value all = list(arguments);
    inner.local = bind_pattern(c, at, f.parameters, true, all, f.environment);
  }
  try {
    Value out = eval(inner, f.body);
    --call_depth_;
    return out;
  } catch (ElaborationError& x) {
    --call_depth_;
    constexpr std::size_t MostNotes = 6;
    if (c.file && x.diagnostic.kind == ErrorKind::Definition && x.diagnostic.notes.size() < MostNotes)
      x.diagnostic.note(fmt::format("in the function {}, called at {}:{}", f.name, c.file->path, at.line));
    throw;
  } catch (...) {
    --call_depth_;
    throw;
  }
}

Value Elaborator::call_operator(const Context& c, Position at, const OperatorReference& op, const Expr& e) {
  const OperatorDefinition* definition = spec_.find(op.name, op.version);
  if (!definition) fail(c, at, fmt::format("no definition of {} at version {}", op.name, op.version), ErrorKind::Unsupported);
  std::map<std::string, Value> attributes;
  for (const NamedArgument& n : e.named) attributes[spec_.symbols().name(n.name)] = eval(c, n.value);
  Values arguments = items(c, std::span(e.args).subspan(1));
  for (Value& v : arguments) {
    if (v.is(Tag::Tensor) || v.is(Tag::Absent)) continue;
    // A scalar element becomes a tensor of rank 0.
    core::TensorNode node;
    node.name = "scalar";
    node.kind = core::TensorKind::Comprehension;
    node.body = to_term(c, at, v);
    node.type = b_.type_of(node.body);
    v = Value::of_tensor(b_.add(std::move(node)));
  }
  if (++call_depth_ > limits_.call_depth) fail(c, at, "operators call each other too deeply", ErrorKind::Limit);
  std::size_t results = 0;
  for (const Clause& k : definition->clauses)
    if (k.kind == ClauseKind::Out) ++results;
  const Values out = apply_operator(*definition, op.version, attributes, std::move(arguments), results);
  --call_depth_;
  return out.size() == 1 ? out[0] : list(out);
}

Value Elaborator::call_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a, const Expr* e) {
  (void)e;
  switch (b) {
    case Builtin::Present:
    case Builtin::Len:
    case Builtin::Rank:
    case Builtin::Shape:
    case Builtin::TypeOf:
    case Builtin::Values:
    case Builtin::Extent:
    case Builtin::Range:
    case Builtin::Sort:
    case Builtin::Reverse:
    case Builtin::Find:
    case Builtin::Sum:
    case Builtin::Product:
    case Builtin::Minimum:
    case Builtin::Maximum:
    case Builtin::All:
    case Builtin::Any:
    case Builtin::Split:
    case Builtin::Chars:
    case Builtin::Replace: return call_value_builtin(c, at, b, a);
    case Builtin::BitsOf:
    case Builtin::IsFloat:
    case Builtin::IsInteger:
    case Builtin::IsSigned:
    case Builtin::IsComplex:
    case Builtin::Lowest:
    case Builtin::Highest:
    case Builtin::Wide: return call_type_builtin(c, at, b, a);
    case Builtin::Cast:
    case Builtin::Exactly:
    case Builtin::Unspecified:
    case Builtin::Random:
    case Builtin::Measured:
    case Builtin::Integer:
    case Builtin::Real: return call_element_builtin(c, at, b, a);
    case Builtin::Host:
    case Builtin::Piece:
    case Builtin::PieceCount: fail(c, at, "sequences and pieces of strings are not defined in this edition", ErrorKind::Unsupported);
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
  fail(c, at, "this is no function");
}

Value Elaborator::call_value_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  auto list_of = [&](const Value& v) {
    if (!v.is(Tag::List)) fail(c, at, fmt::format("{} where a list is needed", describe_kind(v)));
    return v.items();
  };
  auto tensor_of = [&](const Value& v) {
    if (!v.is(Tag::Tensor)) fail(c, at, fmt::format("{} where a tensor is needed", describe_kind(v)));
    return v.tensor;
  };
  auto string_of = [&](const Value& v) -> const std::string& {
    if (!v.is(Tag::String)) fail(c, at, fmt::format("{} where a string is needed", describe_kind(v)));
    return *v.string;
  };
  auto fold = [&](Primitive p, Value out) {
    for (const Value& v : list_of(a[0])) out = both(c, at, out, v, p);
    return out;
  };
  const bool two = b == Builtin::Find || b == Builtin::Split;
  need(c, at, "this function", a, b == Builtin::Replace ? 3 : two ? 2 : 1, b == Builtin::Replace ? 3 : two ? 2 : 1);
  switch (b) {
    case Builtin::Present: return Value::of_bool(!a[0].is(Tag::Absent));
    case Builtin::Len:
      if (a[0].is(Tag::String)) return Value::of(static_cast<std::int64_t>(a[0].string->size()));
      return Value::of(static_cast<std::int64_t>(list_of(a[0]).size()));
    case Builtin::Rank: return Value::of(static_cast<std::int64_t>(b_.program().tensors[tensor_of(a[0])].extents.size()));
    case Builtin::Shape: return extents_of(tensor_of(a[0]));
    case Builtin::TypeOf: return Value::of_type(type_of(c, at, a[0]));
    case Builtin::Values: {
      const core::TensorId t = tensor_of(a[0]);
      const auto& extents = b_.program().tensors[t].extents;
      if (extents.size() != 1) fail(c, at, fmt::format("values(...) lists a tensor of rank 1, not {}", extents.size()));
      const std::int64_t n = static_integer(c, at, extent_value(extents[0]), fmt::format("the extent of {}", b_.program().tensors[t].name));
      Values out;
      for (std::int64_t k = 0; k < n; ++k) {
        const Value i = Value::of(k);
        out.push_back(read(c, at, t, std::span(&i, 1), nullptr, false));
      }
      return list(out);
    }
    case Builtin::Extent: {
      const auto& extents = b_.program().tensors[tensor_of(a[0])].extents;
      if (extents.empty()) fail(c, at, "extent(...) of a scalar");
      return extent_value(extents[0]);
    }
    case Builtin::Range: {
      const std::int64_t n = static_integer(c, at, a[0], "the length of a list");
      Values out;
      for (std::int64_t k = 0; k < n; ++k) {
        step(c, at);
        out.push_back(Value::of(k));
      }
      return list(out);
    }
    case Builtin::Sort: {
      const auto xs = list_of(a[0]);
      if (!xs.empty() && std::all_of(xs.begin(), xs.end(), [](const Value& v) { return v.is(Tag::String); })) {
        Values out(xs.begin(), xs.end());
        std::sort(out.begin(), out.end(), [](const Value& p, const Value& q) { return *p.string < *q.string; });
        return list(out);
      }
      std::vector<std::int64_t> ns;
      for (const Value& v : xs) ns.push_back(static_integer(c, at, v, "an item of a sorted list"));
      std::sort(ns.begin(), ns.end());
      Values out;
      for (std::int64_t n : ns) out.push_back(Value::of(n));
      return list(out);
    }
    case Builtin::Reverse: {
      const auto xs = list_of(a[0]);
      return list(Values(xs.rbegin(), xs.rend()));
    }
    case Builtin::Find: {
      const auto xs = list_of(a[0]);
      for (std::size_t k = 0; k < xs.size(); ++k)
        if (truth(c, at, equal(c, at, xs[k], a[1]))) return Value::of(static_cast<std::int64_t>(k));
      return Value::of(-1);
    }
    case Builtin::Sum: return fold(Primitive::Add, Value::of(0));
    case Builtin::Product: return fold(Primitive::Multiply, Value::of(1));
    case Builtin::All: return fold(Primitive::And, Value::of_bool(true));
    case Builtin::Any: return fold(Primitive::Or, Value::of_bool(false));
    case Builtin::Minimum:
    case Builtin::Maximum: {
      const auto xs = list_of(a[0]);
      if (xs.empty()) fail(c, at, "the least or greatest of an empty list");
      Value out = xs[0];
      for (const Value& v : xs.subspan(1)) out = both(c, at, out, v, b == Builtin::Minimum ? Primitive::Minimum : Primitive::Maximum);
      return out;
    }
    case Builtin::Split: {
      const std::string &text = string_of(a[0]), &mark_text = string_of(a[1]);
      if (mark_text.empty()) fail(c, at, "split by an empty string");
      Values out;
      std::size_t start = 0;
      for (std::size_t k = text.find(mark_text); k != std::string::npos; k = text.find(mark_text, start)) {
        out.push_back(string(text.substr(start, k - start)));
        start = k + mark_text.size();
      }
      out.push_back(string(text.substr(start)));
      return list(out);
    }
    case Builtin::Chars: {
      Values out;
      for (char ch : string_of(a[0])) out.push_back(string(std::string(1, ch)));
      return list(out);
    }
    case Builtin::Replace: {
      std::string text = string_of(a[0]);
      const std::string &from = string_of(a[1]), &with = string_of(a[2]);
      if (from.empty()) fail(c, at, "replace of an empty string");
      for (std::size_t k = text.find(from); k != std::string::npos; k = text.find(from, k + with.size())) text.replace(k, from.size(), with);
      return string(std::move(text));
    }
    default: break;
  }
  ensure(false);
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
    default: break;
  }
  ensure(false);
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
  }
  const Value x = scalar(c, at, a[1]);
  if (x.is_number()) {
    // A static number goes to the type directly: rounded once, truncated and wrapped or saturated as `cast` says.
    if (is_integer(type) && !exact_of(x).to_bits(type)) {
      const Exact whole = exact_of(x).truncate();
      auto fits = whole.to_bits(type);
      return Value::of_term(b_.constant(type, fits ? *fits : exact_of(x).round_to(type, mode)));
    }
    if (type == ElementType::Bool) return Value::of_term(b_.boolean(!exact_of(x).is_zero()));
    if (is_float(type)) return Value::of_term(b_.constant(type, exact_of(x).round_to(type, mode)));
    return Value::of_term(to(c, at, x, type));
  }
  if (x.is(Tag::Bool)) {
    if (type == ElementType::Bool) return x;
    const TermId t = b_.boolean(x.boolean);
    if (bits_of(type) == 0 || is_complex(type)) fail(c, at, fmt::format("a condition has no value of type {}", name_of(type)));
    return Value::of_term(b_.cast(type, t, mode));
  }
  const TermId t = to_term(c, at, x);
  const ElementType from = b_.type_of(t);
  if (from == ElementType::String || type == ElementType::String || is_complex(from) || is_complex(type))
    if (from != type) fail(c, at, fmt::format("cast from {} to {} is not defined in this edition", name_of(from), name_of(type)), ErrorKind::Unsupported);
  if (from == ElementType::R && type != ElementType::R) {
    // A choice between static numbers takes its type here; any other real is rounded by `exactly`.
    if (mode == CastMode::Plain && b_.program().terms[t].kind == core::TermKind::Select) return Value::of_term(to(c, at, x, type));
    fail(c, at, "a real is rounded by exactly(T, e)");
  }
  if (type == ElementType::Z) return index(c, at, Value::of_term(t));
  mark(c, at);
  return of_term(b_.cast(type, t, mode));
}

Value Elaborator::call_element_builtin(const Context& c, Position at, Builtin b, std::span<const Value> a) {
  mark(c, at);
  switch (b) {
    case Builtin::Cast: return eval_cast(c, at, a);
    case Builtin::Exactly: {
      need(c, at, "exactly", a, 2, 2);
      const ElementType type = type_argument(c, at, a[0]);
      const Value x = scalar(c, at, a[1]);
      if (x.is_number()) return Value::of_term(to(c, at, x, type));
      const TermId t = to_term(c, at, x);
      const ElementType from = b_.type_of(t);
      if (from == type) return Value::of_term(t);
      if (from != ElementType::R && from != ElementType::Z) fail(c, at, fmt::format("exactly rounds a real, not an element of type {}", name_of(from)));
      return Value::of_term(b_.cast(type, to(c, at, x, ElementType::R), CastMode::Exact));
    }
    case Builtin::Unspecified: need(c, at, "unspecified", a, 1, 1); return Value::of_term(b_.unspecified(type_argument(c, at, a[0])));
    case Builtin::Random: {
      need(c, at, "random", a, 1, 64);
      if (!a[0].is(Tag::String) || (*a[0].string != "uniform" && *a[0].string != "normal")) fail(c, at, "random takes \"uniform\" or \"normal\" first");
      std::vector<TermId> counter;
      for (const Value& v : a.subspan(1)) counter.push_back(index_term(c, at, v));
      return Value::of_term(b_.random(*a[0].string == "uniform" ? core::RandomKind::Uniform : core::RandomKind::Normal, counter));
    }
    case Builtin::Measured: {
      need(c, at, "measured", a, 1, 1);
      const Value n = index(c, at, a[0]);
      if (n.is(Tag::Integer) || is_symbolic(n)) return n;
      core::TensorNode node;
      node.name = "measured";
      node.kind = core::TensorKind::Measured;
      node.type = ElementType::Z;
      node.body = n.term;
      const core::TensorId id = b_.add(std::move(node));
      return Value::of_term(b_.size(b_.fresh_size(fmt::format("measured{}", id), id)));
    }
    case Builtin::Integer: {
      need(c, at, "int", a, 1, 1);
      const Value x = scalar(c, at, a[0]);
      if (x.is(Tag::Bool)) return Value::of(x.boolean ? 1 : 0);
      if (x.is(Tag::Term) && b_.type_of(x.term) == ElementType::Bool) return of_term(b_.select(x.term, b_.integer(1), b_.integer(0)));
      return index(c, at, x);
    }
    case Builtin::Real: {
      need(c, at, "real", a, 1, 1);
      const Value x = scalar(c, at, a[0]);
      if (x.is_number()) return x;
      const TermId t = to_term(c, at, x);
      if (b_.type_of(t) == ElementType::R) return x;
      if (!is_float(b_.type_of(t)) && !is_integer(b_.type_of(t)) && b_.type_of(t) != ElementType::Z)
        fail(c, at, fmt::format("an element of type {} is no real", name_of(b_.type_of(t))));
      return Value::of_term(b_.primitive(Primitive::ToReal, t));
    }
    default: break;
  }
  ensure(false);
}

}  // namespace ulpian::language
