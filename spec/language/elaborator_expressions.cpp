#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

using core::TermId;

// Evaluation recurses with the syntax and with calls; both are bounded so that no specification exhausts the stack: under the address sanitizer
// one level takes up to 4 KiB, and 8 MiB must do.
constexpr int MaxEvalDepth = 1500;

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

bool is_double(const Exact& e) { return e.is_nan() || Exact::of(ElementType::F64, e.round_to(ElementType::F64)) == e; }

}  // namespace

// The frames of `eval` make up most of the stack that elaboration takes: whatever needs room of its own is a function of its own.
Value Elaborator::eval(const Context& c, const Expr* expr) {
  const Expr& e = *expr;
  step(c, e.at);
  DepthGuard guard(eval_depth_);
  if (eval_depth_ > MaxEvalDepth) too_deep(c, e.at);
  switch (e.kind) {
    case ExprKind::Number: return number(e.number);
    case ExprKind::String: return Value::of_string(&e.text);
    case ExprKind::Name: return lookup(c, e);
    case ExprKind::List: return list(items(c, e.args));
    case ExprKind::ListFor: return eval_list_for(c, e);
    case ExprKind::Lambda: return eval_lambda(c, e);
    case ExprKind::If:
    case ExprKind::Let:
    case ExprKind::Call: return eval_ending(c, expr);
    case ExprKind::Unary: return eval_unary(c, e);
    case ExprKind::Binary: return eval_binary(c, e);
    case ExprKind::OperatorName: return eval_operator_name(c, e);
    case ExprKind::Slice: return eval_slice(c, e);
    case ExprKind::Index: return eval_index(c, e, nullptr, false);
    case ExprKind::OrElse: return eval_or_else(c, e);
    case ExprKind::Splice: return lone_splice(c, e);
    case ExprKind::Reduce: return eval_reduce(c, e);
    case ExprKind::Accumulate: return eval_accumulate(c, e);
    case ExprKind::Each: return eval_each(c, e);
    case ExprKind::Where: return eval_where(c, e);
    case ExprKind::ArgSort: return eval_argsort(c, e);
    case ExprKind::Scatter: return eval_scatter(c, e);
    case ExprKind::OneOf:
    case ExprKind::WithinBody: return eval_choice(c, e);
    case ExprKind::Graph: no_graph_here(c, e);
  }
  ensure(false);
}

void Elaborator::too_deep(const Context& c, Position at) const { fail(c, at, "this definition recurses too deeply", ErrorKind::Limit); }

Value Elaborator::lone_splice(const Context& c, const Expr& e) const { fail(c, e.at, "`...` is used only inside brackets"); }

void Elaborator::no_graph_here(const Context& c, const Expr& e) const {
  fail(c, e.at, "a graph is written only as an attribute in an example");
}

Value Elaborator::eval_lambda(const Context& c, const Expr& e) {
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

// `if`, `let` and calls end in an expression that stands for them. It is evaluated in their place, so that a function which ends in a call of
// itself takes steps, but no depth.
Value Elaborator::eval_ending(Context c, const Expr* e) {
  CallTrace calls(*this);
  try {
    for (;;) {
      const Expr* end = nullptr;
      if (e->kind == ExprKind::If) {
        const Value condition = scalar(c, e->at, eval(c, e->args[0]));
        if (!condition.is(Tag::Bool)) return eval_undecided_if(c, *e, condition);
        end = e->args[condition.boolean ? 1 : 2];
      } else if (e->kind == ExprKind::Let) {
        c.local = bind_pattern(c, e->at, e->parameters, e->pack_pattern, eval(c, e->args[0]), c.local);
        end = e->args[1];
      } else {
        const Value callee = eval(c, e->args[0]);
        if (!callee.is(Tag::Closure)) return call_other(c, *e, callee);
        if (!e->named.empty()) fail(c, e->at, "only operators take named arguments");
        const Context inner = called(c, e->at, *callee.closure, items(c, std::span(e->args).subspan(1)));
        calls.enter(c, e->at, *callee.closure);
        c = inner;
        end = callee.closure->body;
      }
      e = end;
      if (e->kind != ExprKind::If && e->kind != ExprKind::Let && e->kind != ExprKind::Call) return eval(c, e);
      step(c, e->at);
    }
  } catch (ElaborationError& x) {
    calls.note(x.diagnostic);
    throw;
  }
}

Value Elaborator::eval_unary(const Context& c, const Expr& e) {
  const Value x = eval(c, e.args[0]);
  // -0.0 is a negative zero, -0 is 0.
  if (e.op == Operator::Negate && e.args[0]->kind == ExprKind::Number && e.args[0]->decimal && x.is(Tag::Integer) && x.integer == 0)
    return number(Exact::negative_zero());
  return apply(c, e.at, primitive_of(e.op), std::span(&x, 1));
}

Value Elaborator::eval_operator_name(const Context& c, const Expr& e) {
  Value v;
  v.tag = Tag::Operator;
  v.op = arena_.make<OperatorReference>(std::string_view(e.text), e.version ? e.version : (c.scope ? c.scope->opset : 1));
  return v;
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
    if (out.size() + v.list->size > MostListItems) throw LimitReached{fmt::format("than {} items in one list", MostListItems)};
    spend(v.list->size / 8);
    out.insert(out.end(), v.items().begin(), v.items().end());
  }
  return out;
}

// An `if` whose condition is an element: on size symbols, or known only at run time.
Value Elaborator::eval_undecided_if(const Context& c, const Expr& e, const Value& condition) {
  if (!condition.is(Tag::Term) || b_.type_of(condition.term) != ElementType::Bool)
    fail(c, e.args[0]->at, fmt::format("{} where a condition is needed", describe_kind(condition)));
  if (is_symbolic(condition)) return eval_symbolic_if(c, e, condition.term);
  // Which of two branches over tensors and graphs is evaluated, the host's values say.
  if (decides(condition.term)) return eval(c, e.args[decided(c, e.args[0]->at, condition.term).at(0) ? 1 : 2]);
  const Value a = eval(c, e.args[1]), b = eval(c, e.args[2]);
  return select(c, e.at, condition.term, a, b);
}

// One branch of a symbolic `if`. A refusal is handed back and leaves no trace in the program; other errors pass.
std::optional<ElaborationError> Elaborator::eval_guarded(const Context& c, const Expr* e, TermId condition, bool holds, Value& out) {
  constexpr std::size_t Cost = 200;  // of a refusal: throwing is slow
  const std::size_t paths = path_.size(), requirements = b_.program().requirements.size(), undefined = b_.program().undefined.size();
  const std::size_t guards = guards_.size(), tensors = b_.program().tensors.size();
  guards_.emplace_back(condition, holds);
  try {
    out = eval(c, e);
  } catch (ElaborationError& x) {
    guards_.resize(guards);
    if (x.diagnostic.kind != ErrorKind::Requirement) throw;
    path_.resize(paths);
    b_.program().requirements.resize(requirements);
    b_.program().undefined.resize(undefined);
    abandon_recurrences(tensors);
    spend(Cost);
    return std::move(x);
  } catch (...) {
    guards_.resize(guards);
    throw;
  }
  guards_.resize(guards);
  return std::nullopt;
}

// Equations of a `rec` that a refusal left without a body: nothing reads them, but a program has no half-made tensors.
void Elaborator::abandon_recurrences(std::size_t first_tensor) {
  for (auto t = static_cast<core::TensorId>(first_tensor); t < b_.program().tensors.size(); ++t) {
    core::TensorNode& node = b_.node(t);
    if (node.kind == core::TensorKind::Recurrence && node.body == core::None) node.body = b_.unspecified(node.type);
  }
  auto& groups = b_.program().recurrences;
  while (!groups.empty() && groups.back().members.empty()) groups.pop_back();
}

// What must hold where all the guards around hold.
TermId Elaborator::under_guards(TermId need) {
  for (const auto& [term, value] : guards_) need = b_.primitive(Primitive::Or, value ? b_.primitive(Primitive::Not, term) : term, need);
  return need;
}

// Whether a choice between two values can be an expression of the program: integers, conditions, elements of one type, or lists of such.
bool Elaborator::alike(const Value& a, const Value& b) {
  spend(1);
  if (a.is(Tag::List) && b.is(Tag::List)) {
    if (a.list->size != b.list->size) return false;
    for (std::size_t k = 0; k < a.list->size; ++k)
      if (!alike(a.list->items[k], b.list->items[k])) return false;
    return true;
  }
  auto is_of = [&](const Value& v, Tag tag, ElementType type) { return v.is(tag) || (v.is(Tag::Term) && b_.type_of(v.term) == type); };
  if (is_of(a, Tag::Integer, ElementType::Z) && is_of(b, Tag::Integer, ElementType::Z)) return true;
  if (is_of(a, Tag::Bool, ElementType::Bool) && is_of(b, Tag::Bool, ElementType::Bool)) return true;
  if (is_of(a, Tag::String, ElementType::String) && is_of(b, Tag::String, ElementType::String)) return true;
  return a.is(Tag::Term) && b.is(Tag::Term) && b_.type_of(a.term) == b_.type_of(b.term);
}

// A condition on size symbols. If both branches are integers, or equally long lists of them, the choice becomes an integer expression; a
// refused branch becomes a requirement; only branches that differ in structure split the elaboration (docs/language.md, "Conditions on
// symbols").
Value Elaborator::eval_symbolic_if(const Context& c, const Expr& e, TermId condition) {
  for (const auto* known : {&path_, &guards_})
    for (const auto& [term, value] : *known)
      if (term == condition) return eval(c, e.args[value ? 1 : 2]);
  Value branch[2];
  auto first = eval_guarded(c, e.args[1], condition, true, branch[0]);
  auto second = eval_guarded(c, e.args[2], condition, false, branch[1]);
  if (first && second) throw ElaborationError(std::move(*first));
  if (first || second) {
    path_.emplace_back(under_guards(first ? b_.primitive(Primitive::Not, condition) : condition), true);
    return branch[first ? 1 : 0];
  }
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
  if (e.op == Operator::Append) return eval_append(c, e, a, b);
  if (e.op == Operator::Equal || e.op == Operator::NotEqual) {
    auto structural = [](const Value& v) { return v.is(Tag::List) || v.is(Tag::Type) || v.is(Tag::Absent); };
    if (structural(a) || structural(b)) {
      const Value same = equal(c, e.at, a, b);
      return e.op == Operator::Equal ? same : negation(c, e.at, same);
    }
  }
  return both(c, e.at, a, b, primitive_of(e.op));
}

Value Elaborator::eval_append(const Context& c, const Expr& e, const Value& a, const Value& b) {
  const auto is_text = [&](const Value& v) { return !v.is(Tag::List) && !v.is(Tag::Absent) && is_element(v) && type_of(c, e.at, v) == ElementType::String; };
  if (is_text(a) && is_text(b)) return both(c, e.at, a, b, Primitive::Concatenate);
  if (!a.is(Tag::List) || !b.is(Tag::List)) fail(c, e.at, fmt::format("++ joins lists, or strings, not {} and {}", describe_kind(a), describe_kind(b)));
  Values out(a.items().begin(), a.items().end());
  out.insert(out.end(), b.items().begin(), b.items().end());
  return list(out);
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
  return Value::of_list(arena_.make<ListData>(static_cast<std::size_t>(high - low), v.list->items + low, v.list->depth));
}

Value Elaborator::eval_index(const Context& c, const Expr& e, const Value* otherwise, bool optional) {
  const Value v = eval(c, e.args[0]);
  const Values index_values = items(c, std::span(e.args).subspan(1));
  if (v.is(Tag::Closure)) fail(c, e.at, fmt::format("{} is a function", v.closure->name), ErrorKind::Definition, fmt::format("write {}(...)", v.closure->name));
  if (v.is(Tag::Absent)) fail(c, e.at, "an absent input is read", ErrorKind::Definition, "ask `present(...)` first");
  return index_value(c, e.at, v, index_values, otherwise, optional);
}

Value Elaborator::index_value(const Context& c, Position at, const Value& v, std::span<const Value> indices, const Value* otherwise, bool optional) {
  if (v.is(Tag::Tensor)) return read(c, at, v.tensor, indices, otherwise, optional);
  if (v.is(Tag::List)) return index_list(c, at, v, indices, otherwise, optional);
  if (indices.empty()) return v;
  if (v.is(Tag::String) && indices.size() == 1 && indices[0].is(Tag::Integer)) return index_string(c, at, v, indices[0]);
  fail(c, at, fmt::format("{} cannot be indexed", describe_kind(v)));
}

Value Elaborator::index_string(const Context& c, Position at, const Value& v, const Value& index) {
  const auto n = static_cast<std::int64_t>(v.string->size());
  const std::int64_t k = index.integer < 0 ? index.integer + n : index.integer;
  if (k < 0 || k >= n) fail(c, at, fmt::format("index {} is outside a string of {}", index.integer, n));
  return string(v.string->substr(static_cast<std::size_t>(k), 1));
}

Value Elaborator::index_list(const Context& c, Position at, const Value& v, std::span<const Value> indices, const Value* otherwise, bool optional) {
  if (indices.empty()) fail(c, at, "a list is indexed by one number");
  const auto rest = indices.subspan(1);
  const Value i = index(c, at, indices[0]);
  if (!i.is(Tag::Integer)) return choose_item(c, at, v, i, rest, otherwise, optional);
  const auto n = static_cast<std::int64_t>(v.list->size);
  const std::int64_t k = i.integer < 0 ? i.integer + n : i.integer;
  if (k < 0 || k >= n) {
    if (otherwise) return *otherwise;
    fail(c, at, fmt::format("index {} is outside a list of {}", i.integer, n));
  }
  return rest.empty() ? v.list->items[k] : index_value(c, at, v.list->items[k], rest, otherwise, optional);
}

// An index known only at run time: a chain of selects, of many items a balanced tree or a table. The last item stands for every index outside.
Value Elaborator::choose_item(const Context& c, Position at, const Value& v, const Value& index, std::span<const Value> rest, const Value* otherwise,
                              bool optional) {
  constexpr std::size_t Few = 16;
  const std::size_t n = v.list->size;
  if (n == 0) fail(c, at, "an empty list is indexed");
  auto item = [&](std::size_t k) {
    const Value& x = v.list->items[k];
    return rest.empty() ? x : index_value(c, at, x, rest, otherwise, optional);
  };
  if (n > Few) {
    if (rest.empty())
      if (auto chosen = choose_in_table(c, at, v, index)) return *chosen;
    const Value tree = choose_between(c, at, v, 0, n, index, rest, otherwise, optional);
    const Value before = both(c, at, index, Value::of(0), Primitive::Less);
    if (before.is(Tag::Bool)) return before.boolean ? item(n - 1) : tree;
    return b_.program().terms[index.term].kind == core::TermKind::Variable ? tree : select(c, at, before.term, item(n - 1), tree);
  }
  Value out = item(n - 1);
  for (std::size_t k = n - 1; k-- > 0;) {
    const Value one = item(k), here = both(c, at, index, Value::of(static_cast<std::int64_t>(k)), Primitive::Equal);
    if (!here.is(Tag::Bool)) out = select(c, at, here.term, one, out);
    else if (here.boolean) out = one;
  }
  return out;
}

Value Elaborator::choose_between(const Context& c, Position at, const Value& v, std::size_t low, std::size_t high, const Value& index,
                                 std::span<const Value> rest, const Value* otherwise, bool optional) {
  step(c, at);
  const Value& x = v.list->items[low];
  if (high - low == 1) return rest.empty() ? x : index_value(c, at, x, rest, otherwise, optional);
  const std::size_t middle = low + (high - low) / 2;
  const Value left = both(c, at, index, Value::of(static_cast<std::int64_t>(middle)), Primitive::Less);
  if (left.is(Tag::Bool)) return choose_between(c, at, v, left.boolean ? low : middle, left.boolean ? middle : high, index, rest, otherwise, optional);
  const Value a = choose_between(c, at, v, low, middle, index, rest, otherwise, optional);
  return select(c, at, left.term, a, choose_between(c, at, v, middle, high, index, rest, otherwise, optional));
}

// Static numbers or strings as a tensor of the program that is read at the index; empty where no tensor holds them exactly.
std::optional<Value> Elaborator::choose_in_table(const Context& c, Position at, const Value& v, const Value& index) {
  bool integers = true, numbers = true, strings = true;
  for (const Value& x : v.items()) {
    integers = integers && x.is(Tag::Integer);
    numbers = numbers && x.is_number() && is_double(exact_of(x));
    strings = strings && x.is(Tag::String);
  }
  const Table table{v.list, index_term(c, at, index)};
  if (strings) return Value::of_term(table_as(c, at, table, ElementType::String));
  if (!integers && !numbers) return std::nullopt;
  const TermId read = table_as(c, at, table, integers ? ElementType::I64 : ElementType::F64);
  const TermId chosen = b_.primitive(integers ? Primitive::ToInteger : Primitive::ToReal, read);
  tables_.emplace(chosen, table);
  return Value::of_term(chosen);
}

// The table with its items converted, as static numbers are where they meet the type.
TermId Elaborator::table_as(const Context& c, Position at, const Table& table, ElementType type) {
  const auto n = static_cast<std::int64_t>(table.items->size);
  spend(table.items->size);
  core::TensorNode node;
  node.name = "table";
  node.kind = core::TensorKind::Literal;
  node.type = type;
  node.extents = {b_.integer(n)};
  TermId last = core::None;
  if (type == ElementType::String) {
    std::vector<std::string> texts;
    for (const Value& x : std::span(table.items->items, table.items->size)) texts.push_back(*x.string);
    last = b_.text(texts.back());
    node.literal = Tensor(Extents{n}, std::move(texts));
  } else {
    Tensor elements(type, Extents{n});
    for (std::int64_t k = 0; k < n; ++k) {
      const Exact e = exact_of(table.items->items[k]);
      const auto bits = is_integer(type) ? e.to_bits(type) : e.round_to(type, CastMode::Plain);
      if (!bits) fail(c, at, fmt::format("{} does not fit {}", show(table.items->items[k]), name_of(type)));
      elements.set(k, *bits);
    }
    last = b_.constant(type, elements.at(n - 1));
    node.literal = std::move(elements);
  }
  mark(c, at);
  const core::TensorId t = b_.add(std::move(node));
  return b_.read_else(t, std::span(&table.index, 1), last, false);
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
    if (out.size() > MostListItems) throw LimitReached{fmt::format("than {} items in one list", MostListItems)};
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
    if (n > static_cast<std::int64_t>(MostListItems)) fail(c, e.args[1]->at, fmt::format("a list over {} numbers; at most {} are allowed", n, MostListItems), ErrorKind::Limit);
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
