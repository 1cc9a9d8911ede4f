// Primitives on static scalars: exact numbers, conditions and strings.
#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {
namespace {

// Small integers, by far the commonest; empty where the result is none, or is not decided here.
std::optional<Value> of_integers(Primitive p, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  switch (p) {
    case Primitive::Add: return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(Value::of(r));
    case Primitive::Subtract: return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(Value::of(r));
    case Primitive::Multiply: return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(Value::of(r));
    case Primitive::Minimum: return Value::of(std::min(a, b));
    case Primitive::Maximum: return Value::of(std::max(a, b));
    case Primitive::Equal: return Value::of_bool(a == b);
    case Primitive::NotEqual: return Value::of_bool(a != b);
    case Primitive::Less: return Value::of_bool(a < b);
    case Primitive::LessEqual: return Value::of_bool(a <= b);
    case Primitive::Greater: return Value::of_bool(a > b);
    case Primitive::GreaterEqual: return Value::of_bool(a >= b);
    default: return std::nullopt;
  }
}

}  // namespace

Value Elaborator::apply_static(const Context& c, Position at, Primitive p, std::span<const Value> xs) {
  spend(1);
  const Value& x = xs[0];
  if (row_of(p).kind == PrimitiveKind::Logic) return apply_to_conditions(c, at, p, xs);
  if (xs.size() == 2 && x.tag != xs[1].tag && !(x.is_number() && xs[1].is_number())) {
    if (p == Primitive::Equal) return Value::of_bool(false);
    if (p == Primitive::NotEqual) return Value::of_bool(true);
    fail(c, at, fmt::format("{} of {} and {}", name_of(p), describe_kind(x), describe_kind(xs[1])));
  }
  if (x.is(Tag::String)) return apply_to_strings(c, at, p, xs);
  if (x.is(Tag::Bool)) return apply_to_conditions(c, at, p, xs);
  if (xs.size() == 2 && x.is(Tag::Integer) && xs[1].is(Tag::Integer))
    if (auto r = of_integers(p, x.integer, xs[1].integer)) return *r;
  try {
    return xs.size() == 1 ? apply_to_number(c, at, p, x) : apply_to_numbers(c, at, p, x, xs[1]);
  } catch (const ExactTooLarge& e) {
    fail(c, at, e.what(), ErrorKind::Limit);
  }
}

Value Elaborator::apply_to_conditions(const Context& c, Position at, Primitive p, std::span<const Value> xs) {
  for (const Value& v : xs)
    if (!v.is(Tag::Bool)) fail(c, at, fmt::format("{} where a condition is needed", describe_kind(v)));
  const bool a = xs[0].boolean, b = xs.size() == 2 && xs[1].boolean;
  switch (p) {
    case Primitive::Not: return Value::of_bool(!a);
    case Primitive::And: return Value::of_bool(a && b);
    case Primitive::Or: return Value::of_bool(a || b);
    case Primitive::Equal: return Value::of_bool(a == b);
    case Primitive::NotEqual: return Value::of_bool(a != b);
    default: fail(c, at, fmt::format("{} of conditions", name_of(p)), ErrorKind::Definition, "write `if c then 1 else 0`, or and, or, not");
  }
}

Value Elaborator::apply_to_strings(const Context& c, Position at, Primitive p, std::span<const Value> xs) {
  const std::string& a = *xs[0].string;
  if (xs.size() == 2) {
    const std::string& b = *xs[1].string;
    const int order = a.compare(b);
    switch (p) {
      case Primitive::Add: return string(a + b);
      case Primitive::Equal: return Value::of_bool(order == 0);
      case Primitive::NotEqual: return Value::of_bool(order != 0);
      case Primitive::Less: return Value::of_bool(order < 0);
      case Primitive::LessEqual: return Value::of_bool(order <= 0);
      case Primitive::Greater: return Value::of_bool(order > 0);
      case Primitive::GreaterEqual: return Value::of_bool(order >= 0);
      default: break;
    }
  }
  fail(c, at, fmt::format("{} of strings", name_of(p)));
}

Value Elaborator::apply_to_number(const Context& c, Position at, Primitive p, const Value& x) {
  const Exact a = exact_of(x);
  switch (p) {
    case Primitive::Negate: return x.is(Tag::Integer) && a.is_zero() ? x : number(-a);  // of an integer 0 there is no negative
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
      if (auto r = a.exact_root(2)) return number(*r);
      break;
    default: break;
  }
  if (!row_of(p).on_floats) fail(c, at, fmt::format("{} of the number {}", name_of(p), show(x)), ErrorKind::Definition, "cast it to an integer type first");
  return Value::of_term(b_.primitive(p, to(c, at, x, ElementType::R)));  // irrational: an element of the reals
}

Value Elaborator::divide_static(const Context& c, Position at, Primitive p, const Value& x, const Value& y) {
  const Exact a = exact_of(x), b = exact_of(y);
  if (b.is_zero() || !a.is_finite() || !b.is_finite()) fail_requirement(c, at, fmt::format("{} {} {}: division by zero", show(x), name_of(p), show(y)));
  if (p == Primitive::FloorDivide) return number(Exact::floor_divide(a, b));
  if (p == Primitive::Modulo) return number(Exact::modulo(a, b));
  const Exact q = (a / b).truncate();
  return p == Primitive::Quotient ? number(q) : number(a - q * b);
}

Value Elaborator::apply_to_numbers(const Context& c, Position at, Primitive p, const Value& x, const Value& y) {
  const Exact a = exact_of(x), b = exact_of(y);
  const auto order = a <=> b;
  switch (p) {
    case Primitive::Add: return number(a + b);
    case Primitive::Subtract: return number(a - b);
    case Primitive::Multiply: return number(a * b);
    case Primitive::Divide: return number(a / b);
    case Primitive::Minimum: return a.is_nan() || order < 0 ? x : y;
    case Primitive::Maximum: return a.is_nan() || order > 0 ? x : y;
    case Primitive::Equal: return Value::of_bool(order == 0);
    case Primitive::NotEqual: return Value::of_bool(order != 0);
    case Primitive::Less: return Value::of_bool(order < 0);
    case Primitive::LessEqual: return Value::of_bool(order <= 0);
    case Primitive::Greater: return Value::of_bool(order > 0);
    case Primitive::GreaterEqual: return Value::of_bool(order >= 0);
    case Primitive::FloorDivide:
    case Primitive::Modulo:
    case Primitive::Quotient:
    case Primitive::Remainder: return divide_static(c, at, p, x, y);
    case Primitive::Power:
      if (auto r = Exact::power(a, b)) return number(*r);
      fail(c, at, fmt::format("{} ** {} is not rational, or too large", show(x), show(y)));
    default: break;
  }
  fail(c, at, fmt::format("{} of the numbers {} and {}", name_of(p), show(x), show(y)), ErrorKind::Definition, "cast them to an element type first");
}

}  // namespace ulpian::language
