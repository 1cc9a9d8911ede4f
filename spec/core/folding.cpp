// What the builder knows about primitives: the normal form of Z, exact folding of Z, R and bool. Floats are never simplified.
#include <algorithm>

#include "spec/core/builder.h"
#include "spec/core/tables.h"

namespace ulpian::core {
namespace {

std::optional<std::int64_t> divide(Primitive p, std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  std::int64_t q = a / b, r = a % b;
  switch (p) {
    case Primitive::Quotient: return q;
    case Primitive::Remainder: return r;
    case Primitive::FloorDivide: return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
    case Primitive::Modulo: return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    default: return std::nullopt;
  }
}

std::optional<bool> compare(Primitive p, std::partial_ordering o) {
  switch (p) {
    case Primitive::Equal: return o == 0;
    case Primitive::NotEqual: return o != 0;
    case Primitive::Less: return o < 0;
    case Primitive::LessEqual: return o <= 0;
    case Primitive::Greater: return o > 0;
    case Primitive::GreaterEqual: return o >= 0;
    default: return std::nullopt;
  }
}

std::optional<Exact> compute(Primitive p, const Exact& a, const Exact& b) {
  const bool dividable = a.is_finite() && b.is_finite() && !b.is_zero();
  switch (p) {
    case Primitive::Add: return a + b;
    case Primitive::Subtract: return a - b;
    case Primitive::Multiply: return a * b;
    case Primitive::Divide: return a / b;
    case Primitive::Minimum: return b.is_nan() || b < a ? b : a;
    case Primitive::Maximum: return b.is_nan() || a < b ? b : a;
    case Primitive::FloorDivide: return dividable ? std::optional(Exact::floor_divide(a, b)) : std::nullopt;
    case Primitive::Modulo: return dividable ? std::optional(Exact::modulo(a, b)) : std::nullopt;
    case Primitive::Power: return Exact::power(a, b);
    default: return std::nullopt;
  }
}

std::optional<Exact> compute(Primitive p, const Exact& a) {
  switch (p) {
    case Primitive::Negate: return -a;
    case Primitive::Absolute: return a.absolute();
    case Primitive::Floor: return a.floor();
    case Primitive::Ceiling: return a.ceiling();
    case Primitive::RoundEven: return a.round_even();
    case Primitive::Truncate: return a.truncate();
    case Primitive::SquareRoot: return a.exact_root(2);
    case Primitive::Reciprocal: return Exact(1) / a;
    default: return std::nullopt;
  }
}

bool divides(Primitive p) {
  return p == Primitive::FloorDivide || p == Primitive::Modulo || p == Primitive::Quotient || p == Primitive::Remainder;
}

}  // namespace

std::optional<TermId> Builder::fold_conversion(Primitive p, TermId a) {
  const Term& t = program_.terms[a];
  if (p == Primitive::ToInteger && t.type == ElementType::Z) return a;
  if (p == Primitive::ToReal && t.type == ElementType::R) return a;
  if (t.kind != TermKind::Constant || t.type == ElementType::String) return std::nullopt;
  if (p == Primitive::ToInteger) {
    const std::int64_t v = to_int64(t.type, t.data);
    if (t.type == ElementType::U64 && v < 0) return std::nullopt;
    return integer(v);
  }
  if (t.type == ElementType::Z) return real(Exact(static_cast<std::int64_t>(t.data)));
  return real(Exact::of(t.type, t.data));
}

std::optional<TermId> Builder::fold_real(Primitive p, std::span<const TermId> xs) {
  const Exact* value[2] = {};
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const Term& t = program_.terms[xs[k]];
    if (t.kind != TermKind::Constant) return std::nullopt;
    value[k] = &program_.reals[t.data];
  }
  if (xs.size() == 2 && row_of(p).kind == PrimitiveKind::Comparison) {
    auto c = compare(p, *value[0] <=> *value[1]);
    return c ? std::optional(boolean(*c)) : std::nullopt;
  }
  if (p == Primitive::IsNan) return boolean(value[0]->is_nan());
  if (p == Primitive::IsInfinite) return boolean(value[0]->is_infinite());
  auto folded = xs.size() == 2 ? compute(p, *value[0], *value[1]) : compute(p, *value[0]);
  if (!folded) return std::nullopt;
  if (result_type(p, ElementType::R) == ElementType::R) return real(*folded);
  auto integral = folded->to_int64();
  return integral ? std::optional(integer(*integral)) : std::nullopt;
}

std::optional<TermId> Builder::fold_logic(Primitive p, std::span<const TermId> xs) {
  const auto c = boolean_constant(xs[0]);
  if (p == Primitive::Not) {
    if (c) return boolean(!*c);
    const Term& t = program_.terms[xs[0]];
    if (t.kind == TermKind::Primitive && static_cast<Primitive>(t.operation) == Primitive::Not) return program_.arguments_of(xs[0])[0];
    return std::nullopt;
  }
  if (xs.size() < 2) return std::nullopt;
  const auto d = boolean_constant(xs[1]);
  if (p == Primitive::And || p == Primitive::Or) {
    const bool neutral = p == Primitive::And;
    if (c) return *c == neutral ? xs[1] : xs[0];
    if (d) return *d == neutral ? xs[0] : xs[1];
    if (xs[0] == xs[1]) return xs[0];
  }
  if (c && d)
    if (auto r = compare(p, static_cast<int>(*c) <=> static_cast<int>(*d))) return boolean(*r);
  return std::nullopt;
}

std::optional<TermId> Builder::fold_integer(Primitive p, TermId a) {
  const auto c = integer_constant(a);
  switch (p) {
    case Primitive::Negate: return primitive(Primitive::Subtract, integer(0), a);
    case Primitive::Absolute: return c && *c != INT64_MIN ? std::optional(integer(*c < 0 ? -*c : *c)) : std::nullopt;
    case Primitive::Sign: return c ? std::optional(integer((*c > 0) - (*c < 0))) : std::nullopt;
    case Primitive::Floor:
    case Primitive::Ceiling:
    case Primitive::RoundEven:
    case Primitive::Truncate: return a;
    case Primitive::IsNan:
    case Primitive::IsInfinite: return boolean(false);
    case Primitive::ToInteger:
    case Primitive::ToReal: return fold_conversion(p, a);
    default: return std::nullopt;
  }
}

// Sums and products have a normal form: the first term of a polynomial stands for all that are equal to it.
std::optional<TermId> Builder::fold_arithmetic(Primitive p, std::span<const TermId> xs) {
  auto value = tables_->combine(p, xs[0], xs[1]);
  if (!value) return std::nullopt;
  if (auto k = value->constant()) return integer(*k);
  if (auto atom = value->single_atom()) return *atom;
  auto found = tables_->by_polynomial.find(value->terms);
  if (found != tables_->by_polynomial.end()) return found->second;
  std::size_t bytes = 256;
  for (const auto& [factors, coefficient] : value->terms) bytes += 2 * (64 + factors.size() * sizeof(TermId));
  tables_->charge(bytes);
  Term t{.kind = TermKind::Primitive, .type = ElementType::Z, .operation = static_cast<std::uint8_t>(p), .place = place_};
  const TermId id = tables_->intern(t, xs);
  tables_->by_polynomial.emplace(value->terms, id);
  tables_->polynomials.emplace(id, std::move(*value));
  return id;
}

// (d * q + r) div d is q + (r div d) where r is a constant; likewise mod. For a positive d only: the quotient is floored.
std::optional<TermId> Builder::divide_polynomial(Primitive p, TermId a, std::int64_t divisor) {
  constexpr std::size_t MostTerms = 8;
  const Polynomial whole = tables_->polynomial_of(a);
  std::int64_t rest = 0;
  for (const auto& [factors, coefficient] : whole.terms) {
    if (factors.empty()) rest = coefficient;
    else if (coefficient % divisor != 0) return std::nullopt;
  }
  if (p == Primitive::Modulo) return integer(*divide(p, rest, divisor));
  if (whole.terms.size() > MostTerms) return std::nullopt;
  TermId sum = integer(*divide(p, rest, divisor));
  for (const auto& [factors, coefficient] : whole.terms) {
    if (factors.empty()) continue;
    TermId product = integer(coefficient / divisor);
    for (TermId factor : factors) product = primitive(Primitive::Multiply, product, factor);
    sum = primitive(Primitive::Add, sum, product);
  }
  return sum;
}

std::optional<TermId> Builder::fold_division(Primitive p, TermId a, TermId b) {
  const auto d = integer_constant(b);
  if (!d) return std::nullopt;
  if (*d == 1) return p == Primitive::FloorDivide || p == Primitive::Quotient ? a : integer(0);
  if (const auto c = integer_constant(a)) {
    auto v = divide(p, *c, *d);
    return v ? std::optional(integer(*v)) : std::nullopt;
  }
  if (*d > 0 && (p == Primitive::FloorDivide || p == Primitive::Modulo)) return divide_polynomial(p, a, *d);
  return std::nullopt;
}

// Least, greatest and comparisons, where the difference is a constant.
std::optional<TermId> Builder::fold_order(Primitive p, TermId a, TermId b) {
  auto difference = tables_->combine(Primitive::Subtract, a, b);
  const auto k = difference ? difference->constant() : std::nullopt;
  if (!k) return std::nullopt;
  if (p == Primitive::Minimum || p == Primitive::Maximum) return (*k <= 0) == (p == Primitive::Minimum) ? a : b;
  return boolean(*compare(p, *k <=> 0));
}

std::optional<TermId> Builder::fold_integer(Primitive p, std::span<const TermId> xs) {
  if (xs.size() == 1) return fold_integer(p, xs[0]);
  if (p == Primitive::Add || p == Primitive::Subtract || p == Primitive::Multiply) return fold_arithmetic(p, xs);
  if (divides(p)) return fold_division(p, xs[0], xs[1]);
  if (p == Primitive::Minimum || p == Primitive::Maximum || row_of(p).kind == PrimitiveKind::Comparison) return fold_order(p, xs[0], xs[1]);
  return std::nullopt;
}

TermId Builder::primitive(Primitive p, std::span<const TermId> xs) {
  ensure(static_cast<int>(xs.size()) == row_of(p).arity);
  const ElementType type = type_of(xs[0]);
  for (std::size_t k = 0; k < xs.size(); ++k) ensure(type_of(xs[k]) == argument_type(p, type, k), "arguments of one primitive have the types it asks");
  std::optional<TermId> folded;
  if (row_of(p).kind == PrimitiveKind::Conversion) folded = fold_conversion(p, xs[0]);
  else if (type == ElementType::Z) folded = fold_integer(p, xs);
  else if (type == ElementType::R) folded = fold_real(p, xs);
  else if (type == ElementType::Bool) folded = fold_logic(p, xs);
  if (folded) return *folded;
  Term t{.kind = TermKind::Primitive, .type = result_type(p, type), .operation = static_cast<std::uint8_t>(p), .place = place_};
  return tables_->intern(t, xs);
}

}  // namespace ulpian::core
