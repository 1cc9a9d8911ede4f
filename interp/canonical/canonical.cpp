#include "interp/canonical/canonical.h"

#include <bit>
#include <string>

#include "spec/functions/functions.h"

namespace ulpian::interp {
namespace {

using P = Primitive;
using core::ReduceKind;

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

std::optional<std::int64_t> difference(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}

std::optional<std::int64_t> division(P p, std::int64_t a, std::int64_t b) {
  const bool rest = p == P::Modulo || p == P::Remainder;
  if (b == 0) return rest ? a : 0;
  if (b == -1) return rest ? std::optional<std::int64_t>(0) : difference(0, a);
  const std::int64_t q = a / b, r = a % b;
  const bool floors = (p == P::FloorDivide || p == P::Modulo) && r != 0 && (r < 0) != (b < 0);
  if (rest) return floors ? r + b : r;
  return floors ? q - 1 : q;
}

// A negative exponent gives the reciprocal truncated, where base 0 gives 0 (as integer_power of the machine types).
std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  if (base == 0) return exponent == 0 ? 1 : 0;
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  if (exponent < 0) return 0;
  std::optional<std::int64_t> value = 1;
  for (; exponent > 0 && value; --exponent) value = product(*value, base);  // overflows within 63 steps
  return value;
}

std::optional<std::int64_t> shift(P p, std::int64_t a, std::int64_t count) {
  if (p == P::ShiftRight) return count < 0 ? 0 : a >> (count > 63 ? 63 : count);
  if (count < 0 || a == 0) return 0;
  return count > 62 ? std::nullopt : product(a, std::int64_t{1} << count);
}

template <typename Order>
bool compared(P p, Order order) {
  switch (p) {
    case P::Equal: return order == 0;
    case P::NotEqual: return order != 0;
    case P::Less: return order < 0;
    case P::LessEqual: return order <= 0;
    case P::Greater: return order > 0;
    case P::GreaterEqual: return order >= 0;
    default: ensure(false, std::string(name_of(p)));
  }
}

}  // namespace

Bits machine_primitive(Primitive primitive, ElementType type, std::span<const Bits> arguments) {
  if (row_of(primitive).kind == PrimitiveKind::Elementary) return elementary(primitive, type, arguments);
  return apply(primitive, type, arguments);
}

std::optional<std::int64_t> integer_primitive(Primitive p, std::span<const std::int64_t> x) {
  switch (p) {
    case P::Add: return sum(x[0], x[1]);
    case P::Subtract: return difference(x[0], x[1]);
    case P::Multiply: return product(x[0], x[1]);
    case P::Negate: return difference(0, x[0]);
    case P::Absolute: return x[0] < 0 ? difference(0, x[0]) : x[0];
    case P::Sign: return (x[0] > 0) - (x[0] < 0);
    case P::Minimum: return std::min(x[0], x[1]);
    case P::Maximum: return std::max(x[0], x[1]);
    case P::FloorDivide:
    case P::Modulo:
    case P::Quotient:
    case P::Remainder: return division(p, x[0], x[1]);
    case P::Power: return power(x[0], x[1]);
    case P::BitAnd: return x[0] & x[1];
    case P::BitOr: return x[0] | x[1];
    case P::BitXor: return x[0] ^ x[1];
    case P::BitNot: return ~x[0];
    case P::ShiftLeft:
    case P::ShiftRight: return shift(p, x[0], x[1]);
    case P::Floor:
    case P::Ceiling:
    case P::RoundEven:
    case P::Truncate:
    case P::ToInteger: return x[0];
    case P::IsNan:
    case P::IsInfinite: return 0;
    default: return compared(p, x[0] <=> x[1]) ? 1 : 0;
  }
}

std::optional<bool> real_comparison(Primitive p, std::span<const Real> x) {
  if (p == P::IsNan) return x[0].exact() && x[0].exact()->is_nan();
  if (p == P::IsInfinite) return x[0].exact() && x[0].exact()->is_infinite();
  const auto order = compare(x[0], x[1]);
  return order ? std::optional(compared(p, *order)) : std::nullopt;
}

std::optional<std::int64_t> integer_of(ElementType type, Bits bits) {
  const std::int64_t value = to_int64(type, bits);
  return type == ElementType::U64 && value < 0 ? std::nullopt : std::optional(value);
}

Real real_of(ElementType type, Bits bits) { return Exact::of(type, bits); }

Bits machine_of(std::int64_t value, ElementType type, CastMode mode) {
  if (type == ElementType::Bool) return value != 0;
  if (is_integer(type) && mode == CastMode::Plain) return from_int64(type, value);
  return Exact(value).round_to(type, mode);
}

Bits neutral(ReduceKind kind, ElementType type) {
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Dot:
    case ReduceKind::Any: return 0;
    case ReduceKind::All: return 1;
    case ReduceKind::Product: return machine_of(1, type, CastMode::Plain);
    case ReduceKind::Maximum:
      if (type == ElementType::Bool) return 0;
      return is_float(type) && has_infinity(type) ? infinity(type, true) : lowest_finite(type);
    case ReduceKind::Minimum:
      if (type == ElementType::Bool) return 1;
      return is_float(type) && has_infinity(type) ? infinity(type, false) : largest_finite(type);
    case ReduceKind::Count:
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: return 0;
  }
  ensure(false);
}

Bits combine(ReduceKind kind, ElementType type, Bits a, Bits b) {
  const Bits both[2] = {a, b};
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Dot: return apply(P::Add, type, both);
    case ReduceKind::Product: return apply(P::Multiply, type, both);
    case ReduceKind::Maximum: return apply(P::Maximum, type, both);
    case ReduceKind::Minimum: return apply(P::Minimum, type, both);
    case ReduceKind::Any: return a | b;
    case ReduceKind::All: return a & b;
    case ReduceKind::Count:
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin: break;
  }
  ensure(false, std::string(core::name_of(kind)));
}

int compare_keys(ElementType type, Bits a, Bits b) {
  if (is_float(type)) {
    const bool x = is_nan(type, a), y = is_nan(type, b);
    if (x || y) return (x ? 1 : 0) - (y ? 1 : 0);
  }
  if (type == ElementType::Bool) return static_cast<int>(a) - static_cast<int>(b);
  const Bits forward[2] = {a, b}, backward[2] = {b, a};
  if (apply(P::Less, type, forward)) return -1;
  return apply(P::Less, type, backward) ? 1 : 0;
}

bool beats(ReduceKind arg_kind, ElementType type, Bits a, Bits b) {
  if (is_float(type)) {
    if (is_nan(type, b)) return false;
    if (is_nan(type, a)) return true;
  }
  const int order = compare_keys(type, a, b);
  return arg_kind == ReduceKind::ArgMax ? order > 0 : order < 0;
}

std::int64_t left_part(std::int64_t n) {
  ensure(n > 1);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
}

}  // namespace ulpian::interp
