#include "interp/scalar/value.h"

#include "interp/canonical/canonical.h"
#include "spec/strings/number_text.h"
#include "spec/strings/text.h"

namespace ulpian::interp {
namespace {

using P = Primitive;
using core::ReduceKind;
using Cause = Poison::Cause;

Value poison(Cause cause, core::TermId term) { return Poison{.cause = cause, .term = term}; }

Value of(std::optional<std::int64_t> value, core::TermId term) { return value ? Value(*value) : poison(Cause::Overflow, term); }
Value of(std::optional<Real> value, core::TermId term) { return value ? Value(std::move(*value)) : poison(Cause::Undecided, term); }
Value of(std::optional<bool> value, core::TermId term) { return value ? Value(Bits{*value ? 1u : 0u}) : poison(Cause::Undecided, term); }

bool gives_bool(P p) { return row_of(p).kind == PrimitiveKind::Comparison || row_of(p).kind == PrimitiveKind::Logic; }

Value on_integers(P p, std::span<const Value> arguments, core::TermId term) {
  std::int64_t x[2] = {};
  for (std::size_t k = 0; k < arguments.size(); ++k) x[k] = integer(arguments[k]);
  if (p == P::ToReal) return Real(x[0]);
  const auto value = integer_primitive(p, std::span(x, arguments.size()));
  if (value && gives_bool(p)) return static_cast<Bits>(*value);
  return of(value, term);
}

Value on_reals(P p, std::span<const Value> arguments, core::TermId term) {
  std::vector<Real> x;
  for (const Value& v : arguments) x.push_back(real(v));
  if (p == P::ToReal) return x[0];
  if (gives_bool(p)) return of(real_comparison(p, x), term);
  if (p == P::Floor || p == P::Ceiling || p == P::RoundEven || p == P::Truncate) {
    const auto value = to_integer(p, x[0]);
    return value ? Value(*value) : poison(Cause::Undecided, term);
  }
  return of(real_primitive(p, x), term);
}

Value on_strings(P p, std::span<const Value> arguments, core::TermId term) {
  const std::string& a = std::get<std::string>(arguments[0]);
  if (p == P::ToReal) return Real(number_of_text(a));
  if (p == P::Length) return text_length(a);
  if (p == P::Lower) return text_lower(a);
  if (p == P::Upper) return text_upper(a);
  const std::string& b = std::get<std::string>(arguments[1]);
  if (p == P::Concatenate) return a + b;
  const std::int64_t order[2] = {a < b ? -1 : (a > b ? 1 : 0), 0};
  const auto value = integer_primitive(p, order);
  return value ? Value(static_cast<Bits>(*value)) : poison(Cause::Unsupported, term);
}

// Component by component; a product as four products and two sums (numerics.md, section 6).
Value on_complex(P p, ElementType type, std::span<const Value> arguments, core::TermId term) {
  const ElementType part = part_of(type);
  const auto f = [&](P q, Bits a, Bits b) {
    const Bits x[2] = {a, b};
    return apply(q, part, std::span(x, row_of(q).arity == 1 ? 1 : 2));
  };
  const Complex a = std::get<Complex>(arguments[0]);
  const Complex b = arguments.size() > 1 ? std::get<Complex>(arguments[1]) : Complex{};
  switch (p) {
    case P::Add:
    case P::Subtract: return Complex{f(p, a.re, b.re), f(p, a.im, b.im)};
    case P::Negate: return Complex{f(p, a.re, 0), f(p, a.im, 0)};
    case P::Multiply:
      return Complex{f(P::Subtract, f(p, a.re, b.re), f(p, a.im, b.im)), f(P::Add, f(p, a.re, b.im), f(p, a.im, b.re))};
    case P::Equal: return f(p, a.re, b.re) & f(p, a.im, b.im);
    case P::NotEqual: return f(p, a.re, b.re) | f(p, a.im, b.im);
    default: return poison(Cause::Unsupported, term);
  }
}

// To a complex type: a number is its real part.
Value cast_to_complex(ElementType from, ElementType to, CastMode mode, const Value& value, core::TermId term) {
  const ElementType part = part_of(to);
  if (mode == CastMode::Reinterpret) {
    if (from == to) return value;
    return Complex{bits(value) & 0xffffffffu, bits(value) >> 32};
  }
  if (is_complex(from)) {
    const Complex& c = std::get<Complex>(value);
    return Complex{convert(part_of(from), part, c.re, mode), convert(part_of(from), part, c.im, mode)};
  }
  const Value re = apply_cast(from, part, mode, value, term);
  return is_poison(re) ? re : Complex{bits(re), 0};
}

}  // namespace

Value zero_value(ElementType type) {
  if (type == ElementType::Z) return std::int64_t{0};
  if (type == ElementType::R) return Real();
  if (type == ElementType::String) return std::string();
  if (is_complex(type)) return Complex{};
  return Bits{0};
}

Value apply_primitive(P p, ElementType type, std::span<const Value> arguments, core::TermId term) {
  if (type == ElementType::Z) return on_integers(p, arguments, term);
  if (type == ElementType::R) return on_reals(p, arguments, term);
  if (type == ElementType::String) return on_strings(p, arguments, term);
  if (is_complex(type)) return on_complex(p, type, arguments, term);
  if (p == P::ToInteger) return of(integer_of(type, bits(arguments[0])), term);
  if (p == P::ToReal) return real_of(type, bits(arguments[0]));
  Bits x[2] = {};
  for (std::size_t k = 0; k < arguments.size(); ++k) x[k] = bits(arguments[k]);
  return machine_primitive(p, type, std::span(x, arguments.size()));
}

Value apply_cast(ElementType from, ElementType to, CastMode mode, const Value& value, core::TermId term) {
  if (from == to && (mode == CastMode::Plain || !is_float(to))) return value;
  if (is_complex(to)) return cast_to_complex(from, to, mode, value, term);
  if (is_complex(from)) {
    if (mode != CastMode::Reinterpret) return poison(Cause::Unsupported, term);
    return std::get<Complex>(value).re | std::get<Complex>(value).im << 32;
  }
  if (to == ElementType::String) return from == ElementType::Z ? std::to_string(integer(value)) : text_of_element(from, bits(value));
  if (from == ElementType::String) return element_of_text(to, text(value), mode);
  if (from == ElementType::Z) {
    if (to == ElementType::R) return Real(integer(value));
    if (mode == CastMode::Exact && is_integer(to) && !holds(to, integer(value)))
      return Poison{.cause = Cause::DoesNotFit, .term = term, .index = integer(value)};
    return machine_of(integer(value), to, mode);
  }
  if (from == ElementType::R) {
    if (to == ElementType::Z) return poison(Cause::Unsupported, term);
    if (to == ElementType::Bool) {
      const Real both[2] = {real(value), Real()};
      return of(real_comparison(P::NotEqual, both), term);
    }
    const auto rounded = round_to(real(value), to, mode);
    return rounded ? Value(*rounded) : poison(Cause::Undecided, term);
  }
  if (to == ElementType::Z) return of(integer_of(from, bits(value)), term);
  if (to == ElementType::R) return real_of(from, bits(value));
  return convert(from, to, bits(value), mode);
}

Value neutral_value(ReduceKind kind, ElementType type, core::TermId term) {
  const bool extreme = kind == ReduceKind::Maximum || kind == ReduceKind::Minimum;
  if (type == ElementType::Z) {
    if (extreme) return poison(Cause::Empty, term);
    return std::int64_t{kind == ReduceKind::Product ? 1 : 0};
  }
  if (type == ElementType::R) {
    if (extreme) return Real(Exact::infinity(kind == ReduceKind::Maximum));
    return Real(std::int64_t{kind == ReduceKind::Product ? 1 : 0});
  }
  if (is_complex(type)) {
    if (extreme) return poison(Cause::Unsupported, term);
    return kind == ReduceKind::Product ? Value(Complex{from_double(part_of(type), 1), 0}) : Value(Complex{});
  }
  return neutral(kind, type);
}

Value combine_values(ReduceKind kind, ElementType type, const Value& a, const Value& b, core::TermId term) {
  if (is_poison(a)) return a;
  if (is_poison(b)) return b;
  const Value both[2] = {a, b};
  if (type == ElementType::Z || type == ElementType::R || is_complex(type)) {
    const P p = kind == ReduceKind::Product ? P::Multiply : kind == ReduceKind::Maximum ? P::Maximum : kind == ReduceKind::Minimum ? P::Minimum : P::Add;
    return apply_primitive(p, type, both, term);
  }
  if (type == ElementType::String) return poison(Cause::Unsupported, term);
  return combine(kind, type, bits(a), bits(b));
}

Value fused_values(ElementType type, const Value& a, const Value& b, const Value& sum, core::TermId term) {
  if (type == ElementType::Z || type == ElementType::R) {
    const Value product = combine_values(ReduceKind::Product, type, a, b, term);
    return combine_values(ReduceKind::Sum, type, sum, product, term);
  }
  if (is_complex(type)) {
    const ElementType part = part_of(type);
    const Complex x = std::get<Complex>(a), y = std::get<Complex>(b), s = std::get<Complex>(sum);
    const Bits minus[1] = {x.im};
    const auto fma = [&](Bits p, Bits q, Bits r) { return fused_multiply_add(part, p, q, r); };
    return Complex{fma(apply(P::Negate, part, minus), y.im, fma(x.re, y.re, s.re)), fma(x.re, y.im, fma(x.im, y.re, s.im))};
  }
  return fused_multiply_add(type, bits(a), bits(b), bits(sum));
}

bool is_nan_value(ElementType type, const Value& v) {
  if (type == ElementType::R) return real(v).exact() && real(v).exact()->is_nan();
  return is_float(type) && is_nan(type, bits(v));
}

int compare_key_values(ElementType type, const Value& a, const Value& b, bool& undecided) {
  if (type == ElementType::Z) return integer(a) < integer(b) ? -1 : (integer(a) > integer(b) ? 1 : 0);
  if (type == ElementType::String) return std::get<std::string>(a).compare(std::get<std::string>(b));
  if (type != ElementType::R) return compare_keys(type, bits(a), bits(b));
  const bool x = is_nan_value(type, a), y = is_nan_value(type, b);
  if (x || y) return (x ? 1 : 0) - (y ? 1 : 0);
  const auto order = compare(real(a), real(b));
  if (!order) undecided = true;
  if (!order || *order == 0) return 0;
  return *order < 0 ? -1 : 1;
}

}  // namespace ulpian::interp
