#include "tools/prove/translate.h"

#include <algorithm>

#include <fmt/format.h>

namespace ulpian::tools {
namespace {

using core::ReduceKind;
using core::Term;
using core::TermId;
using core::TermKind;
using core::TensorKind;

constexpr int MostReadings = 12;

bool is_number(ElementType t) { return t == ElementType::Z || is_integer(t); }

}  // namespace

Translator::Translator(z3::context& context, const core::Program& program) : context_(context), program_(program), sizes_(program.sizes.size()) {}

std::string Translator::fmt_name(const std::string& name) { return fmt::format("{}!{}", name, names_++); }

z3::sort Translator::sort_of(ElementType type) {
  if (type == ElementType::Bool) return context_.bool_sort();
  return type == ElementType::R ? context_.real_sort() : context_.int_sort();
}

void Translator::fact(const z3::expr& e) {
  if (quantifiers_ == 0) facts_.push_back(e);
}

void Translator::limits(const z3::expr& e, ElementType type) {
  if (!is_integer(type)) return;
  const int bits = bits_of(type) - (is_signed(type) ? 1 : 0);
  const z3::expr top = context_.int_val(Exact::power_of_two(bits).to_string().c_str());
  fact(e < top && e >= (is_signed(type) ? -top : context_.int_val(0)));
}

z3::expr Translator::integer(TermId id, Scope& scope) {
  ensure(is_number(program_.term(id).type));
  return term(id, scope);
}
z3::expr Translator::truth(TermId id, Scope& scope) {
  ensure(program_.term(id).type == ElementType::Bool);
  return term(id, scope);
}
z3::expr Translator::real(TermId id, Scope& scope) {
  ensure(program_.term(id).type == ElementType::R);
  return term(id, scope);
}

z3::expr Translator::size(core::Size s) {
  if (sizes_[s]) return *sizes_[s];
  sizes_[s] = context_.int_const(fmt::format("{}#{}", program_.sizes[s].name, s).c_str());
  const core::TensorId by = program_.sizes[s].defined_by;
  if (by == core::None) return *sizes_[s];
  const core::TensorNode& n = program_.tensor(by);
  Scope none;
  const int quantifiers = std::exchange(quantifiers_, 0);  // what defines it has no free variables
  if (n.kind == TensorKind::Measured) {
    fact(*sizes_[s] == integer(n.body, none));
  } else {
    fact(*sizes_[s] >= 0);
    // At most all coordinates; said where no extent depends on a coordinate.
    z3::expr all = context_.int_val(1);
    bool plain = true;
    for (TermId e : n.domain) {
      plain = plain && program_.free_of(e).empty();
      if (plain) all = all * integer(e, none);
    }
    if (plain && n.domain.size() <= 1) fact(z3::implies(all >= 0, *sizes_[s] <= all));
  }
  quantifiers_ = quantifiers;
  return *sizes_[s];
}

z3::expr Translator::element(core::TensorId tensor, const std::vector<z3::expr>& index) {
  const core::TensorNode& n = program_.tensor(tensor);
  z3::sort_vector domain(context_);
  z3::expr_vector arguments(context_);
  for (const z3::expr& i : index) {
    domain.push_back(context_.int_sort());
    arguments.push_back(i);
  }
  const z3::expr e = context_.function(fmt::format("tensor{}", tensor).c_str(), domain, sort_of(n.type))(arguments);
  limits(e, n.type);
  return e;
}

Scope Translator::at(core::TensorId tensor, const std::vector<z3::expr>& index) {
  Scope s;
  const auto& variables = program_.tensor(tensor).variables;
  for (std::size_t k = 0; k < variables.size() && k < index.size(); ++k) s.variables.emplace(variables[k], index[k]);
  return s;
}

z3::expr Translator::term(TermId id, Scope& scope) {
  if (auto it = scope.known.find(id); it != scope.known.end()) return it->second;
  z3::expr e = compute(id, scope);
  scope.known.emplace(id, e);
  return e;
}

z3::expr Translator::compute(TermId id, Scope& scope) {
  const Term& t = program_.term(id);
  const auto a = program_.arguments_of(id);
  switch (t.kind) {
    case TermKind::Constant: return constant(t);
    case TermKind::Variable: {
      auto it = scope.variables.find(static_cast<core::Variable>(t.data));
      return it != scope.variables.end() ? it->second : unknown(id, scope);
    }
    case TermKind::Size: return size(static_cast<core::Size>(t.data));
    case TermKind::Primitive: return primitive(id, scope);
    case TermKind::Cast: {
      const ElementType from = program_.term(a[0]).type;
      // Exact where the wider type holds every value.
      const bool holds = is_integer(from) && is_integer(t.type) && bits_of(from) < bits_of(t.type) && (is_signed(t.type) || !is_signed(from));
      if (static_cast<CastMode>(t.operation) != CastMode::Reinterpret && (from == t.type || holds)) return term(a[0], scope);
      return unknown(id, scope);
    }
    case TermKind::Select:
      if (is_number(t.type) || t.type == ElementType::Bool || t.type == ElementType::R) return z3::ite(truth(a[0], scope), term(a[1], scope), term(a[2], scope));
      return unknown(id, scope);
    case TermKind::Read: return read(id, a, scope);
    case TermKind::ReadElse: {
      if (!is_number(t.type) && t.type != ElementType::Bool && t.type != ElementType::R) return unknown(id, scope);
      const core::TensorNode& n = program_.tensor(static_cast<core::TensorId>(t.data));
      z3::expr inside = context_.bool_val(true);
      Scope none;
      for (std::size_t k = 0; k + 1 < a.size(); ++k) inside = inside && within(integer(a[k], scope), integer(n.extents[k], none));
      return z3::ite(inside, read(id, a.first(a.size() - 1), scope), term(a.back(), scope));
    }
    case TermKind::Reduce: return reduce(id, scope);
    case TermKind::Nth: return nth(id, scope);
    case TermKind::Fold:
    case TermKind::Unspecified:
    case TermKind::Random: return unknown(id, scope);
    case TermKind::Choice: return unknown(id, scope);  // any of them
  }
  ensure(false);
}

// A function of the free variables, and of nothing else.
z3::expr Translator::unknown(TermId id, Scope& scope) {
  const Term& t = program_.term(id);
  z3::sort_vector domain(context_);
  z3::expr_vector arguments(context_);
  for (core::Variable v : program_.free_of(id)) {
    auto it = scope.variables.find(v);
    if (it == scope.variables.end()) continue;
    domain.push_back(it->second.get_sort());
    arguments.push_back(it->second);
  }
  const z3::expr e = context_.function(fmt::format("term{}", id).c_str(), domain, sort_of(t.type))(arguments);
  limits(e, t.type);
  return e;
}

z3::expr Translator::constant(const Term& t) {
  if (t.type == ElementType::Bool) return context_.bool_val(t.data != 0);
  if (t.type == ElementType::Z) return context_.int_val(static_cast<std::int64_t>(t.data));
  if (is_integer(t.type)) return context_.int_val(Exact::of(t.type, t.data).to_string().c_str());
  if (t.type == ElementType::R) {
    const std::string text = program_.reals[t.data].to_string();
    if (text.find_first_not_of("0123456789./-") == std::string::npos) return context_.real_val(text.c_str());
  }
  return context_.constant(fmt::format("constant{}", fmt_name("")).c_str(), sort_of(t.type));
}

z3::expr Translator::primitive(TermId id, Scope& scope) {
  const auto a = program_.arguments_of(id);
  const auto p = static_cast<Primitive>(program_.term(id).operation);
  const ElementType from = program_.term(a[0]).type;
  switch (p) {
    case Primitive::And: return truth(a[0], scope) && truth(a[1], scope);
    case Primitive::Or: return truth(a[0], scope) || truth(a[1], scope);
    case Primitive::Not: return !truth(a[0], scope);
    case Primitive::ToReal: return is_number(from) ? z3::to_real(integer(a[0], scope)) : unknown(id, scope);
    case Primitive::ToInteger: return from == ElementType::Bool ? z3::ite(truth(a[0], scope), context_.int_val(1), context_.int_val(0)) : integer(a[0], scope);
    case Primitive::Length:
    case Primitive::PieceCount: {
      const z3::expr e = unknown(id, scope);
      fact(e >= 0);
      return e;
    }
    default: break;
  }
  const bool compares = row_of(p).kind == PrimitiveKind::Comparison;
  if (from == ElementType::Bool && (p == Primitive::Equal || p == Primitive::NotEqual)) {
    const z3::expr same = truth(a[0], scope) == truth(a[1], scope);
    return p == Primitive::Equal ? same : !same;
  }
  if (from == ElementType::Z || (is_integer(from) && compares)) return on_integers(id, scope);
  if (from == ElementType::R) return on_reals(id, scope);
  return unknown(id, scope);
}

namespace {

std::optional<z3::expr> compared(Primitive p, const z3::expr& x, const z3::expr& y) {
  switch (p) {
    case Primitive::Equal: return x == y;
    case Primitive::NotEqual: return x != y;
    case Primitive::Less: return x < y;
    case Primitive::LessEqual: return x <= y;
    case Primitive::Greater: return x > y;
    case Primitive::GreaterEqual: return x >= y;
    default: return std::nullopt;
  }
}

std::optional<z3::expr> combined(Primitive p, const z3::expr& x, const z3::expr& y) {
  switch (p) {
    case Primitive::Add: return x + y;
    case Primitive::Subtract: return x - y;
    case Primitive::Multiply: return x * y;
    case Primitive::Minimum: return z3::ite(x <= y, x, y);
    case Primitive::Maximum: return z3::ite(x >= y, x, y);
    default: return std::nullopt;
  }
}

}  // namespace

// Z3's integer division leaves a remainder that is not negative; div rounds down.
z3::expr Translator::floor_divide(const z3::expr& a, const z3::expr& b) { return z3::ite(b > 0, a / b, (-a) / (-b)); }

z3::expr Translator::on_integers(TermId id, Scope& scope) {
  const auto a = program_.arguments_of(id);
  const auto p = static_cast<Primitive>(program_.term(id).operation);
  const z3::expr x = integer(a[0], scope);
  if (a.size() == 1) {
    switch (p) {
      case Primitive::Negate: return -x;
      case Primitive::Absolute: return z3::ite(x >= 0, x, -x);
      case Primitive::Sign: return z3::ite(x > 0, context_.int_val(1), z3::ite(x < 0, context_.int_val(-1), context_.int_val(0)));
      case Primitive::Floor:
      case Primitive::Ceiling:
      case Primitive::RoundEven:
      case Primitive::Truncate: return x;
      default: return unknown(id, scope);
    }
  }
  const z3::expr y = integer(a[1], scope);
  if (auto e = compared(p, x, y)) return *e;
  if (auto e = combined(p, x, y)) return *e;
  const auto divisor = program_.integer_constant(a[1]);
  switch (p) {
    case Primitive::FloorDivide: return divisor && *divisor > 0 ? x / y : floor_divide(x, y);
    case Primitive::Modulo: return divisor && *divisor > 0 ? z3::mod(x, y) : x - y * floor_divide(x, y);
    case Primitive::Quotient: return z3::ite((x >= 0) == (y > 0), floor_divide(x, y), -floor_divide(-x, y));
    case Primitive::Remainder: return x - y * z3::ite((x >= 0) == (y > 0), floor_divide(x, y), -floor_divide(-x, y));
    default: return unknown(id, scope);
  }
}

z3::expr Translator::on_reals(TermId id, Scope& scope) {
  const auto a = program_.arguments_of(id);
  const auto p = static_cast<Primitive>(program_.term(id).operation);
  const z3::expr x = real(a[0], scope);
  auto floor_of = [&](const z3::expr& e) { return z3::expr(context_, Z3_mk_real2int(context_, e)); };
  if (a.size() == 1) {
    switch (p) {
      case Primitive::Negate: return -x;
      case Primitive::Absolute: return z3::ite(x >= 0, x, -x);
      case Primitive::Floor: return floor_of(x);
      case Primitive::Ceiling: return -floor_of(-x);
      case Primitive::Truncate: return z3::ite(x >= 0, floor_of(x), -floor_of(-x));
      default: return unknown(id, scope);
    }
  }
  const z3::expr y = real(a[1], scope);
  if (auto e = compared(p, x, y)) return *e;
  if (auto e = combined(p, x, y)) return *e;
  if (p == Primitive::Divide) return x / y;
  return unknown(id, scope);
}

z3::expr Translator::read(TermId id, std::span<const TermId> terms, Scope& scope) {
  const Term& t = program_.term(id);
  const auto tensor = static_cast<core::TensorId>(t.data);
  const core::TensorNode& n = program_.tensor(tensor);
  if (!is_number(n.type) && n.type != ElementType::Bool && n.type != ElementType::R) return unknown(id, scope);
  std::vector<z3::expr> index;
  for (TermId i : terms) index.push_back(integer(i, scope));
  if (n.kind == TensorKind::Comprehension && depth_ < MostReadings) {
    Scope inner = at(tensor, index);
    ++depth_;
    z3::expr e = term(n.body, inner);
    --depth_;
    return e;
  }
  if (n.kind == TensorKind::Where) return coordinate(id, n, index);
  if (n.kind == TensorKind::Measured) {
    Scope none;
    return integer(n.body, none);
  }
  return element(tensor, index);
}

// w[r, d]: within its extent, and the condition holds at the coordinates of r.
z3::expr Translator::coordinate(TermId id, const core::TensorNode& n, const std::vector<z3::expr>& index) {
  const auto tensor = static_cast<core::TensorId>(program_.term(id).data);
  const z3::expr e = element(tensor, index);
  if (quantifiers_ > 0 || depth_ >= MostReadings) return e;
  std::vector<z3::expr> row;
  z3::expr inside = context_.bool_val(true);
  Scope s;
  for (std::size_t d = 0; d < n.variables.size(); ++d) {
    row.push_back(element(tensor, {index[0], context_.int_val(static_cast<int>(d))}));
    s.variables.emplace(n.variables[d], row.back());
  }
  ++depth_;
  for (std::size_t d = 0; d < row.size(); ++d) inside = inside && within(row[d], integer(n.domain[d], s));
  inside = inside && truth(n.body, s);
  --depth_;
  Scope none;
  fact(z3::implies(within(index[0], integer(n.extents[0], none)), inside));
  return e;
}

z3::expr Translator::quantified(const core::ReduceView& view, Scope& scope) {
  Scope inner;
  inner.variables = scope.variables;
  z3::expr_vector bound(context_);
  z3::expr domain = context_.bool_val(true);
  ++quantifiers_;
  for (std::size_t k = 0; k < view.variables.size(); ++k) {
    const z3::expr extent = integer(view.extents[k], inner);
    const z3::expr v = fresh("bound");
    bound.push_back(v);
    inner.variables.emplace(view.variables[k], v);
    inner.known.clear();
    domain = domain && within(v, extent);
  }
  if (view.filter != core::None) domain = domain && truth(view.filter, inner);
  const z3::expr body = truth(view.bodies[0], inner);
  --quantifiers_;
  const bool all = view.kind == ReduceKind::All;
  if (bound.empty()) return all ? z3::implies(domain, body) : domain && body;
  return all ? z3::forall(bound, z3::implies(domain, body)) : z3::exists(bound, domain && body);
}

z3::expr Translator::reduce(TermId id, Scope& scope) {
  const core::ReduceView view = program_.reduce(id);
  if ((view.kind == ReduceKind::All || view.kind == ReduceKind::Any) && view.initial == core::None) return quantified(view, scope);
  const z3::expr e = unknown(id, scope);
  if (view.kind != ReduceKind::Count && view.kind != ReduceKind::ArgMax && view.kind != ReduceKind::ArgMin) return e;
  // Counts and positions lie within the number of indices, where extents do not depend on each other.
  z3::expr all = context_.int_val(1), sound = context_.bool_val(true);
  for (std::size_t k = 0; k < view.variables.size(); ++k) {
    for (core::Variable v : program_.free_of(view.extents[k]))
      if (std::find(view.variables.begin(), view.variables.end(), v) != view.variables.end()) return e;
    const z3::expr extent = integer(view.extents[k], scope);
    sound = sound && (view.kind == ReduceKind::Count ? extent >= 0 : extent > 0);
    all = k == 0 ? extent : all * extent;
  }
  fact(z3::implies(sound, e >= 0 && (view.kind == ReduceKind::Count ? e <= all : e < all)));
  return e;
}

z3::expr Translator::nth(TermId id, Scope& scope) {
  const core::NthView view = program_.nth(id);
  const z3::expr e = unknown(id, scope), extent = integer(view.extent, scope);
  fact(z3::implies(extent > 0, within(e, extent)));
  return e;
}

}  // namespace ulpian::tools
