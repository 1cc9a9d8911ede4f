#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

using core::TermId;

// Evaluation recurses with the syntax and with calls; both are bounded so that no specification exhausts the stack.
constexpr int MaxEvalDepth = 2500;

Primitive primitive_of(Operator op) {
  switch (op) {
    case Operator::Add: return Primitive::Add;
    case Operator::Subtract: return Primitive::Subtract;
    case Operator::Multiply: return Primitive::Multiply;
    case Operator::Divide: return Primitive::Divide;
    case Operator::FloorDivide: return Primitive::FloorDivide;
    case Operator::Modulo: return Primitive::Modulo;
    case Operator::Quotient: return Primitive::Quotient;
    case Operator::Remainder: return Primitive::Remainder;
    case Operator::Power: return Primitive::Power;
    case Operator::Equal: return Primitive::Equal;
    case Operator::NotEqual: return Primitive::NotEqual;
    case Operator::Less: return Primitive::Less;
    case Operator::LessEqual: return Primitive::LessEqual;
    case Operator::Greater: return Primitive::Greater;
    case Operator::GreaterEqual: return Primitive::GreaterEqual;
    case Operator::And: return Primitive::And;
    case Operator::Or: return Primitive::Or;
    case Operator::Not: return Primitive::Not;
    case Operator::Negate: return Primitive::Negate;
    case Operator::Append: break;
  }
  ensure(false, "++ is no primitive");
}

class DepthGuard {
public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }

private:
  int& depth_;
};

}  // namespace

Value Elaborator::eval(const Context& c, const Expr* expr) {
  const Expr& e = *expr;
  step(c, e.at);
  DepthGuard guard(eval_depth_);
  if (eval_depth_ > MaxEvalDepth) fail(c, e.at, "this definition recurses too deeply", ErrorKind::Limit);
  switch (e.kind) {
    case ExprKind::Number: return number(e.number);
    case ExprKind::String: return Value::of_string(&e.text);
    case ExprKind::Name: return lookup(c, e);
    case ExprKind::List: return list(items(c, e.args));
    case ExprKind::ListFor: return eval_list_for(c, e);
    case ExprKind::Lambda: {
      Closure* k = arena_.make<Closure>();
      k->name = "fn";
      k->parameters = e.parameters;
      k->body = e.args[0];
      k->environment = c.local;
      k->scope = c.scope;
      k->file = c.file;
      Value v;
      v.tag = Tag::Closure;
      v.closure = k;
      return v;
    }
    case ExprKind::If: return eval_if(c, e);
    case ExprKind::Let: {
      Context inner = c;
      inner.local = bind_pattern(c, e.at, e.parameters, e.pack_pattern, eval(c, e.args[0]), c.local);
      return eval(inner, e.args[1]);
    }
    case ExprKind::Unary: {
      const Value x = eval(c, e.args[0]);
      if (e.op == Operator::Negate && e.args[0]->kind == ExprKind::Number && e.args[0]->decimal && x.is(Tag::Integer) && x.integer == 0)
        return number(Exact::negative_zero());
      return apply(c, e.at, primitive_of(e.op), std::span(&x, 1));
    }
    case ExprKind::Binary: return eval_binary(c, e);
    case ExprKind::OperatorName: {
      Value v;
      v.tag = Tag::Operator;
      v.op = arena_.make<OperatorReference>(std::string_view(e.text), e.version ? e.version : (c.scope ? c.scope->opset : 1));
      return v;
    }
    case ExprKind::Slice: return eval_slice(c, e);
    case ExprKind::Index: return eval_index(c, e, nullptr, false);
    case ExprKind::OrElse: return eval_or_else(c, e);
    case ExprKind::Call: return eval_call(c, e);
    case ExprKind::Splice: fail(c, e.at, "`...` is used only inside brackets");
    case ExprKind::Reduce: return eval_reduce(c, e);
    case ExprKind::Accumulate: return eval_accumulate(c, e);
    case ExprKind::Each: return eval_each(c, e);
    case ExprKind::Where: return eval_where(c, e);
    case ExprKind::ArgSort: return eval_argsort(c, e);
    case ExprKind::Scatter: return eval_scatter(c, e);
    case ExprKind::OneOf:
    case ExprKind::WithinBody: return eval_choice(c, e);
  }
  ensure(false);
}

Elaborator::Values Elaborator::items(const Context& c, std::span<const Expr* const> es) {
  Values out;
  out.reserve(es.size());
  for (const Expr* e : es) {
    if (e->kind != ExprKind::Splice) {
      out.push_back(eval(c, e));
      continue;
    }
    const Value v = eval(c, e->args[0]);
    if (!v.is(Tag::List)) fail(c, e->at, fmt::format("`...` needs a list, not {}", describe_kind(v)));
    out.insert(out.end(), v.items().begin(), v.items().end());
  }
  return out;
}

Value Elaborator::eval_if(const Context& c, const Expr& e) {
  const Value condition = scalar(c, e.at, eval(c, e.args[0]));
  if (condition.is(Tag::Bool)) return eval(c, e.args[condition.boolean ? 1 : 2]);
  if (!condition.is(Tag::Term) || b_.type_of(condition.term) != ElementType::Bool)
    fail(c, e.args[0]->at, fmt::format("{} where a condition is needed", describe_kind(condition)));
  if (is_symbolic(condition)) return eval_symbolic_if(c, e, condition.term);
  const Value a = eval(c, e.args[1]), b = eval(c, e.args[2]);
  return select(c, e.at, condition.term, a, b);
}

// A condition on size symbols. If both branches are integers, or equally long lists of them, the choice becomes an integer expression; a
// refused branch becomes a requirement; only branches that differ in structure split the elaboration (language.md, section 2).
Value Elaborator::eval_symbolic_if(const Context& c, const Expr& e, TermId condition) {
  for (const auto* known : {&path_, &guards_})
    for (const auto& [term, value] : *known)
      if (term == condition) return eval(c, e.args[value ? 1 : 2]);
  std::optional<ElaborationError> refusal[2];
  Value branch[2];
  for (int k = 0; k < 2; ++k) {
    guards_.emplace_back(condition, k == 0);
    const std::size_t mark_path = path_.size();
    try {
      branch[k] = eval(c, e.args[k + 1]);
    } catch (ElaborationError& x) {
      path_.resize(mark_path);
      if (x.diagnostic.kind != ErrorKind::Requirement) {
        guards_.pop_back();
        throw;
      }
      refusal[k] = std::move(x);
    } catch (...) {
      guards_.pop_back();
      throw;
    }
    guards_.pop_back();
  }
  if (refusal[0] && refusal[1]) throw ElaborationError(*refusal[0]);
  if (refusal[0] || refusal[1]) {
    // What must hold so that the refused branch is not taken, under the guards around.
    TermId need = refusal[0] ? b_.primitive(Primitive::Not, condition) : condition;
    for (const auto& [term, value] : guards_)
      need = b_.primitive(Primitive::Or, value ? b_.primitive(Primitive::Not, term) : term, need);
    path_.emplace_back(need, true);
    return branch[refusal[0] ? 1 : 0];
  }
  const std::function<bool(const Value&, const Value&)> alike = [&](const Value& a, const Value& b) {
    if (a.is(Tag::List) && b.is(Tag::List)) {
      if (a.list->size != b.list->size) return false;
      for (std::size_t k = 0; k < a.list->size; ++k)
        if (!alike(a.list->items[k], b.list->items[k])) return false;
      return true;
    }
    auto is_integer_value = [&](const Value& v) { return v.is(Tag::Integer) || (v.is(Tag::Term) && b_.type_of(v.term) == ElementType::Z); };
    if (is_integer_value(a) && is_integer_value(b)) return true;
    auto is_condition = [&](const Value& v) { return v.is(Tag::Bool) || (v.is(Tag::Term) && b_.type_of(v.term) == ElementType::Bool); };
    if (is_condition(a) && is_condition(b)) return true;
    // Elements of one type: the choice stays in the program.
    return a.is(Tag::Term) && b.is(Tag::Term) && b_.type_of(a.term) == b_.type_of(b.term);
  };
  if (alike(branch[0], branch[1])) return select(c, e.at, condition, branch[0], branch[1]);
  return eval(c, e.args[truth(c, e.args[0]->at, Value::of_term(condition)) ? 1 : 2]);
}

Value Elaborator::eval_binary(const Context& c, const Expr& e) {
  const Value a = eval(c, e.args[0]);
  if (e.op == Operator::And || e.op == Operator::Or) {
    const bool stops = e.op == Operator::Or;
    if (a.is(Tag::Bool)) {
      if (a.boolean == stops) return a;
      const Value b = eval(c, e.args[1]);
      if (b.is(Tag::Bool) || (b.is(Tag::Term) && b_.type_of(b.term) == ElementType::Bool) || b.is(Tag::List)) return b;
      fail(c, e.args[1]->at, fmt::format("{} where a condition is needed", describe_kind(b)));
    }
    return both(c, e.at, a, eval(c, e.args[1]), primitive_of(e.op));
  }
  const Value b = eval(c, e.args[1]);
  if (e.op == Operator::Append) {
    if (a.is(Tag::String) && b.is(Tag::String)) return string(*a.string + *b.string);
    if (!a.is(Tag::List) || !b.is(Tag::List)) fail(c, e.at, fmt::format("++ joins lists, not {} and {}", describe_kind(a), describe_kind(b)));
    Values out(a.items().begin(), a.items().end());
    out.insert(out.end(), b.items().begin(), b.items().end());
    return list(out);
  }
  if (e.op == Operator::Equal || e.op == Operator::NotEqual) {
    auto structural = [](const Value& v) { return v.is(Tag::List) || v.is(Tag::Type) || v.is(Tag::Absent); };
    if (structural(a) || structural(b)) {
      const Value same = equal(c, e.at, a, b);
      return e.op == Operator::Equal ? same : negation(c, e.at, same);
    }
  }
  return both(c, e.at, a, b, primitive_of(e.op));
}

Value Elaborator::eval_slice(const Context& c, const Expr& e) {
  const Value v = eval(c, e.args[0]);
  if (!v.is(Tag::List) && !v.is(Tag::String)) fail(c, e.at, fmt::format("{} cannot be cut", describe_kind(v)));
  const auto n = static_cast<std::int64_t>(v.is(Tag::List) ? v.list->size : v.string->size());
  auto bound = [&](const Expr* x, std::int64_t otherwise) {
    if (!x) return otherwise;
    std::int64_t k = static_integer(c, x->at, eval(c, x), "the bound of a slice");
    if (k < 0) k += n;
    return std::clamp<std::int64_t>(k, 0, n);
  };
  const std::int64_t low = bound(e.args[1], 0), high = std::max(low, bound(e.args[2], n));
  if (v.is(Tag::String)) return string(v.string->substr(static_cast<std::size_t>(low), static_cast<std::size_t>(high - low)));
  return Value::of_list(arena_.make<ListData>(static_cast<std::size_t>(high - low), v.list->items + low));
}

Value Elaborator::eval_index(const Context& c, const Expr& e, const Value* otherwise, bool optional) {
  const Value v = eval(c, e.args[0]);
  const Values index_values = items(c, std::span(e.args).subspan(1));
  if (v.is(Tag::Tensor)) return read(c, e.at, v.tensor, index_values, otherwise, optional);
  if (v.is(Tag::Closure)) fail(c, e.at, fmt::format("{} is a function", v.closure->name), ErrorKind::Definition, fmt::format("write {}(...)", v.closure->name));
  if (v.is(Tag::Absent)) fail(c, e.at, "an absent input is read", ErrorKind::Definition, "ask `present(...)` first");
  return index_list(c, e.at, v, index_values, otherwise, optional);
}

Value Elaborator::index_list(const Context& c, Position at, const Value& v, std::span<const Value> index_values, const Value* otherwise, bool optional) {
  if (v.is(Tag::Tensor)) return read(c, at, v.tensor, index_values, otherwise, optional);
  if (index_values.empty() && !v.is(Tag::List)) return v;
  if (v.is(Tag::String) && index_values.size() == 1 && index_values[0].is(Tag::Integer)) {
    std::int64_t k = index_values[0].integer;
    const auto n = static_cast<std::int64_t>(v.string->size());
    if (k < 0) k += n;
    if (k < 0 || k >= n) fail(c, at, fmt::format("index {} is outside a string of {}", index_values[0].integer, n));
    return string(v.string->substr(static_cast<std::size_t>(k), 1));
  }
  if (!v.is(Tag::List)) fail(c, at, fmt::format("{} cannot be indexed", describe_kind(v)));
  if (index_values.empty()) fail(c, at, "a list is indexed by one number");
  const Value i = scalar(c, at, index_values[0]);
  const auto rest = index_values.subspan(1);
  const auto n = static_cast<std::int64_t>(v.list->size);
  if (i.is(Tag::Integer)) {
    const std::int64_t k = i.integer < 0 ? i.integer + n : i.integer;
    if (k < 0 || k >= n) {
      if (otherwise) return *otherwise;
      fail(c, at, fmt::format("index {} is outside a list of {}", i.integer, n));
    }
    if (rest.empty()) return v.list->items[k];
    return index_list(c, at, v.list->items[k], rest, otherwise, optional);
  }
  const Value index_value = index(c, at, i);
  if (index_value.is(Tag::Integer)) {
    Values again{index_value};
    again.insert(again.end(), rest.begin(), rest.end());
    return index_list(c, at, v, again, otherwise, optional);
  }
  if (n == 0) fail(c, at, "an empty list is indexed");
  // Known only at run time: a chain of selects. The last item stands for every other index.
  Value out = rest.empty() ? v.list->items[n - 1] : index_list(c, at, v.list->items[n - 1], rest, otherwise, optional);
  for (std::int64_t k = n - 2; k >= 0; --k) {
    const Value item = rest.empty() ? v.list->items[k] : index_list(c, at, v.list->items[k], rest, otherwise, optional);
    const Value here = both(c, at, index_value, Value::of(k), Primitive::Equal);
    if (here.is(Tag::Bool)) {
      if (here.boolean) out = item;
    } else {
      out = select(c, at, here.term, item, out);
    }
  }
  return out;
}

Value Elaborator::eval_or_else(const Context& c, const Expr& e) {
  const Value otherwise = eval(c, e.args[1]);
  ensure(e.args[0]->kind == ExprKind::Index);
  return eval_index(c, *e.args[0], &otherwise, e.optional);
}

Value Elaborator::eval_list_for(const Context& c, const Expr& e) {
  const Value source = eval(c, e.args[1]);
  Values out;
  auto visit = [&](const Value& v) {
    Context inner = c;
    inner.local = bind(c.local, e.symbol, v);
    if (e.args[2] && !truth(inner, e.args[2]->at, eval(inner, e.args[2]))) return;
    if (e.args[0]->kind == ExprKind::Splice) {
      const Value part = eval(inner, e.args[0]->args[0]);
      if (!part.is(Tag::List)) fail(inner, e.args[0]->at, "`...` needs a list");
      out.insert(out.end(), part.items().begin(), part.items().end());
    } else {
      out.push_back(eval(inner, e.args[0]));
    }
  };
  if (e.counts) {
    const std::int64_t n = static_integer(c, e.args[1]->at, source, "the length of a list");
    for (std::int64_t k = 0; k < n; ++k) visit(Value::of(k));
  } else if (source.is(Tag::String)) {
    for (char ch : *source.string) visit(string(std::string(1, ch)));
  } else if (source.is(Tag::List)) {
    for (const Value& v : source.items()) visit(v);
  } else {
    fail(c, e.args[1]->at, fmt::format("{} is no list", describe_kind(source)));
  }
  return list(out);
}

}  // namespace ulpian::language
