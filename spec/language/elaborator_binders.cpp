#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

using core::TermId;
using core::Variable;

std::optional<core::ReduceKind> reduce_kind(std::string_view name) {
  for (int k = 0; k <= static_cast<int>(core::ReduceKind::ArgMin); ++k)
    if (core::name_of(static_cast<core::ReduceKind>(k)) == name) return static_cast<core::ReduceKind>(k);
  return std::nullopt;
}

}  // namespace

Value Elaborator::extent_value(TermId t) const { return of_term(t); }

Value Elaborator::extents_of(core::TensorId t) {
  const auto& extents = b_.program().tensors[t].extents;
  Values out(extents.size());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = extent_value(extents[k]);
  return list(out);
}

void Elaborator::need_few_axes(const Context& c, Position at, std::size_t n) const {
  if (n > MostAxes) fail(c, at, fmt::format("{} axes; at most {} are allowed", n, MostAxes), ErrorKind::Limit);
}

Elaborator::Bound Elaborator::bind_indices(const Context& c, std::span<const Binder> binders) {
  Bound out;
  out.inner = c;
  need_few_axes(c, binders.empty() ? Position{} : binders.front().at, binders.size());
  for (const Binder& binder : binders) {
    if (!binder.bound) fail(c, binder.at, fmt::format("the index {} needs a bound here", spec_.symbols().name(binder.name)));
    const Value bound = eval(out.inner, binder.bound);
    const std::string& name = spec_.symbols().name(binder.name);
    if (binder.pack) {
      if (!bound.is(Tag::List)) fail(c, binder.at, fmt::format("{}... needs a list of bounds, not {}", name, describe_kind(bound)));
      need_few_axes(c, binder.at, out.variables.size() + bound.list->size);
      Values indices;
      for (const Value& v : bound.items()) {
        const Variable x = b_.fresh(name);
        out.variables.push_back(x);
        out.extents.push_back(index_term(c, binder.at, v));
        indices.push_back(Value::of_term(b_.variable(x)));
      }
      out.inner.local = bind(out.inner.local, binder.name, list(indices));
    } else {
      const TermId extent = index_term(c, binder.at, bound);
      const Variable x = b_.fresh(name);
      out.variables.push_back(x);
      out.extents.push_back(extent);
      out.inner.local = bind(out.inner.local, binder.name, Value::of_term(b_.variable(x)));
    }
  }
  return out;
}

TermId Elaborator::condition_of(const Context& c, const Expr* e) {
  const Value v = scalar(c, e->at, eval(c, e));
  return v.is(Tag::Bool) && v.boolean ? core::None : to(c, e->at, v, ElementType::Bool);
}

Value Elaborator::eval_reduce(const Context& c, const Expr& e) {
  const auto kind = reduce_kind(spec_.symbols().name(e.symbol));
  ensure(kind.has_value());
  Reduction r{*kind, std::nullopt, ElementType::Z, {}};
  if (e.args[0]) r.accumulator = type_argument(c, e.args[0]->at, eval(c, e.args[0]));
  Bound bound = bind_indices(c, e.binders);
  if (bound.variables.empty()) {
    // A reduction over no axes has one position.
    bound.variables.push_back(b_.fresh("one"));
    bound.extents.push_back(b_.integer(1));
  }
  const TermId filter = e.args[1] ? condition_of(bound.inner, e.args[1]) : core::None;
  const bool finds = *kind == core::ReduceKind::ArgMax || *kind == core::ReduceKind::ArgMin;
  if (e.args[2] && finds) fail(c, e.args[2]->at, fmt::format("{} takes no first value", core::name_of(*kind)));
  const Value initial_value = e.args[2] ? scalar(c, e.args[2]->at, eval(c, e.args[2])) : Value();
  if (e.args[3]) reduce_body(bound.inner, e.args[3], r);
  const TermId initial = e.args[2] ? to(c, e.args[2]->at, initial_value, r.type) : core::None;
  mark(c, e.at);
  return of_term(b_.reduce(*kind, r.type, bound.variables, bound.extents, filter, e.optional, initial, r.bodies));
}

void Elaborator::reduce_body(const Context& c, const Expr* body, Reduction& r) {
  switch (r.kind) {
    case core::ReduceKind::Count: return;
    case core::ReduceKind::Any:
    case core::ReduceKind::All:
      r.type = ElementType::Bool;
      r.bodies.push_back(to(c, body->at, scalar(c, body->at, eval(c, body)), r.type));
      return;
    case core::ReduceKind::Dot: return dot_body(c, body, r);
    case core::ReduceKind::ArgMax:
    case core::ReduceKind::ArgMin: {
      const TermId t = to_term(c, body->at, eval(c, body));
      const ElementType type = b_.type_of(t);
      if (is_complex(type) || type == ElementType::String) fail(c, body->at, fmt::format("{} of elements of type {}", core::name_of(r.kind), name_of(type)));
      r.bodies.push_back(t);
      return;
    }
    case core::ReduceKind::Sum:
    case core::ReduceKind::Product:
    case core::ReduceKind::Maximum:
    case core::ReduceKind::Minimum: return sum_body(c, body, r);
  }
}

void Elaborator::dot_body(const Context& c, const Expr* body, Reduction& r) {
  if (body->kind != ExprKind::Binary || body->op != Operator::Multiply)
    fail(c, body->at, "the body of dot is a product", ErrorKind::Definition, "write dot(k < K) a * b; anything else is a sum");
  const Value factors[2] = {scalar(c, body->at, eval(c, body->args[0])), scalar(c, body->at, eval(c, body->args[1]))};
  r.type = r.accumulator ? *r.accumulator : join(c, body->at, factors);
  if (r.type == ElementType::Bool || r.type == ElementType::String) fail(c, body->at, fmt::format("dot of elements of type {}", name_of(r.type)));
  for (const Value& f : factors) {
    TermId t = f.is(Tag::Term) ? f.term : to(c, body->at, f, r.type);
    // A narrower factor widens exactly.
    const ElementType has = b_.type_of(t);
    if (has != r.type && is_float(has) && is_float(r.type) && bits_of(has) < bits_of(r.type)) t = b_.cast(r.type, t, CastMode::Plain);
    r.bodies.push_back(to(c, body->at, Value::of_term(t), r.type));
  }
}

void Elaborator::sum_body(const Context& c, const Expr* body, Reduction& r) {
  const Value v = scalar(c, body->at, eval(c, body));
  TermId t = v.is(Tag::Term) || !r.accumulator ? to_term(c, body->at, v) : to(c, body->at, v, *r.accumulator);
  const ElementType has = b_.type_of(t);
  r.type = r.accumulator ? *r.accumulator : has;
  const bool adds = r.kind == core::ReduceKind::Sum || r.kind == core::ReduceKind::Product;
  const bool not_ordered = is_complex(r.type) && !adds;
  if (r.type == ElementType::String || not_ordered || (r.type == ElementType::Bool && adds))
    fail(c, body->at, fmt::format("{} of elements of type {}", core::name_of(r.kind), name_of(r.type)));
  if (has != r.type) {
    mark(c, body->at);
    const bool exact = (has == ElementType::Z || has == ElementType::R) || (r.type == ElementType::Z || r.type == ElementType::R);
    const bool rounds = is_float(has) == is_float(r.type) && is_integer(has) == is_integer(r.type) && is_complex(has) == is_complex(r.type);
    if (exact || !rounds) t = to(c, body->at, Value::of_term(t), r.type);
    else t = b_.cast(r.type, t, CastMode::Plain);
  }
  r.bodies.push_back(t);
}

Value Elaborator::eval_accumulate(const Context& c, const Expr& e) {
  Bound bound = bind_indices(c, e.binders);
  const TermId initial = to_term(c, e.args[0]->at, eval(c, e.args[0]));
  const ElementType type = b_.type_of(initial);
  const Variable accumulator = b_.fresh(spec_.symbols().name(e.symbol), type);
  Context inner = bound.inner;
  inner.local = bind(inner.local, e.symbol, Value::of_term(b_.variable(accumulator)));
  const TermId body = to(inner, e.args[1]->at, eval(inner, e.args[1]), type);
  mark(c, e.at);
  return Value::of_term(b_.fold(bound.variables, bound.extents, accumulator, initial, body));
}

Value Elaborator::eval_argsort(const Context& c, const Expr& e) {
  Bound bound = bind_indices(c, e.binders);
  if (bound.variables.size() != 1) fail(c, e.at, "argsort orders one index");
  const TermId place = index_term(c, e.args[0]->at, eval(c, e.args[0]));
  const Value key = eval(bound.inner, e.args[1]);
  std::vector<TermId> keys;
  if (key.is(Tag::List))
    for (const Value& k : key.items()) keys.push_back(to_term(bound.inner, e.args[1]->at, k));
  else
    keys.push_back(to_term(bound.inner, e.args[1]->at, key));
  if (keys.empty()) fail(c, e.args[1]->at, "argsort needs a key");
  for (TermId k : keys)
    if (is_complex(b_.type_of(k))) fail(c, e.args[1]->at, fmt::format("elements of type {} have no order", name_of(b_.type_of(k))));
  bool descending = e.descending;
  if (descending && e.args[2]) descending = truth(c, e.args[2]->at, eval(c, e.args[2]));
  mark(c, e.at);
  return Value::of_term(b_.nth(bound.variables[0], bound.extents[0], place, keys, descending));
}

Value Elaborator::eval_each(const Context& c, const Expr& e) {
  Bound bound = bind_indices(c, e.binders);
  need_rectangular(c, e.at, bound);
  core::TensorNode node;
  node.name = "each";
  node.kind = core::TensorKind::Comprehension;
  node.body = to_term(bound.inner, e.args[0]->at, eval(bound.inner, e.args[0]));
  node.type = b_.type_of(node.body);
  node.extents = bound.extents;
  node.variables = bound.variables;
  mark(c, e.at);
  return Value::of_tensor(b_.add(std::move(node)));
}

Value Elaborator::eval_where(const Context& c, const Expr& e) {
  Bound bound = bind_indices(c, e.binders);
  core::TensorNode node;
  node.name = "where";
  node.kind = core::TensorKind::Where;
  node.type = ElementType::Z;
  node.body = to(bound.inner, e.args[0]->at, scalar(bound.inner, e.args[0]->at, eval(bound.inner, e.args[0])), ElementType::Bool);
  node.domain = bound.extents;
  node.variables = bound.variables;
  mark(c, e.at);
  const auto id = static_cast<core::TensorId>(b_.program().tensors.size());
  const core::Size count = b_.fresh_size(fmt::format("count{}", id), id);
  node.extents = {b_.size(count), b_.integer(static_cast<std::int64_t>(bound.variables.size()))};
  return Value::of_tensor(b_.add(std::move(node)));
}

std::optional<core::ScatterMode> Elaborator::scatter_mode(const Value& v) const {
  if (!v.is(Tag::String)) return std::nullopt;
  for (int k = 0; k <= static_cast<int>(core::ScatterMode::Minimum); ++k)
    if (core::name_of(static_cast<core::ScatterMode>(k)) == *v.string) return static_cast<core::ScatterMode>(k);
  return std::nullopt;
}

Value Elaborator::eval_scatter(const Context& c, const Expr& e) {
  Bound bound = bind_indices(c, e.binders);
  const Value base = eval(c, e.args[3]);
  if (!base.is(Tag::Tensor)) fail(c, e.args[3]->at, fmt::format("scatter writes into a tensor, not {}", describe_kind(base)));
  const ElementType type = b_.program().tensors[base.tensor].type;
  core::TensorNode node;
  node.name = "scatter";
  node.kind = core::TensorKind::Scatter;
  node.type = type;
  node.extents = b_.program().tensors[base.tensor].extents;
  node.variables = bound.variables;
  node.domain = bound.extents;
  node.scatter.base = base.tensor;
  if (e.args[0]) node.scatter.filter = condition_of(bound.inner, e.args[0]);
  node.body = to(bound.inner, e.args[1]->at, eval(bound.inner, e.args[1]), type);
  const Value where = eval(bound.inner, e.args[2]);
  if (where.is(Tag::List))
    for (const Value& v : where.items()) node.scatter.index.push_back(index_term(bound.inner, e.args[2]->at, v));
  else
    node.scatter.index.push_back(index_term(bound.inner, e.args[2]->at, where));
  if (node.scatter.index.size() != node.extents.size())
    fail(c, e.args[2]->at, fmt::format("{} indices into a tensor of rank {}", node.scatter.index.size(), node.extents.size()));
  if (e.args[4]) {
    const Value given = eval(c, e.args[4]);
    const auto mode = scatter_mode(given);
    if (!mode) fail(c, e.args[4]->at, fmt::format("{} is no way to combine writes", describe_kind(given)), ErrorKind::Definition, "last, any, add, mul, max or min");
    node.scatter.mode = *mode;
  }
  mark(c, e.at);
  return Value::of_tensor(b_.add(std::move(node)));
}

Value Elaborator::eval_choice(const Context& c, const Expr& e) {
  Values xs = items(c, e.args);
  bool all_static = true;
  for (Value& v : xs) {
    v = scalar(c, e.at, v);
    if (v.is(Tag::Term)) all_static = false;
  }
  if (all_static) {
    // Between static values the choice is one for the whole operator; canonical is the first.
    auto& made = b_.program().static_choices;
    const std::size_t chosen = made.size() < alternatives_.size() ? alternatives_[made.size()] : 0;
    made.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(xs.size(), 255)));
    return xs[std::min(chosen, xs.size() - 1)];
  }
  const ElementType type = join(c, e.at, xs);
  std::vector<TermId> terms;
  for (const Value& v : xs) terms.push_back(to(c, e.at, v, type));
  mark(c, e.at);
  return Value::of_term(b_.choice(e.kind == ExprKind::OneOf ? core::ChoiceKind::OneOf : core::ChoiceKind::WithinBody, terms));
}

}  // namespace ulpian::language
