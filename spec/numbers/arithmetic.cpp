// The entry of the exact primitives: which implementation serves a primitive on a type.
#include "spec/numbers/arithmetic.h"

#include <string>

#include "spec/numbers/float_arithmetic.h"
#include "spec/numbers/host.h"
#include "spec/numbers/integer.h"

namespace ulpian {
namespace {

using P = Primitive;

[[noreturn]] void refuse(P primitive, ElementType type) {
  fail_bug("apply", "primitive " + std::string(name_of(primitive)) + " is not defined on bits of " + std::string(name_of(type)), __FILE__, __LINE__);
}

// ---- floats --------------------------------------------------------------------------------------------------------------------------

// Where the host's instruction, followed by one rounding to T, gives the same bits (host.h says why).
template <ElementType T> Bits host_float(P primitive, Bits a, Bits b) {
  using A = typename HostType<T>::Arithmetic;
  const A x = static_cast<A>(host::value_of<T>(host::from_bits<T>(a))), y = static_cast<A>(host::value_of<T>(host::from_bits<T>(b)));
  A result{};
  switch (primitive) {
    case P::Add: result = x + y; break;
    case P::Subtract: result = x - y; break;
    case P::Multiply: result = x * y; break;
    case P::Divide: result = x / y; break;
    case P::Reciprocal: result = A{1} / x; break;
    case P::SquareRoot:
      if constexpr (sizeof(A) == 4) result = __builtin_sqrtf(x);
      else result = __builtin_sqrt(x);
      break;
    default: refuse(primitive, T);
  }
  return host::to_bits<T>(host::round_to<T>(result));
}

Bits host_float(P primitive, ElementType type, Bits a, Bits b) {
  switch (type) {
    case ElementType::F4E2M1: return host_float<ElementType::F4E2M1>(primitive, a, b);
    case ElementType::F6E2M3: return host_float<ElementType::F6E2M3>(primitive, a, b);
    case ElementType::F6E3M2: return host_float<ElementType::F6E3M2>(primitive, a, b);
    case ElementType::F8E4M3FN: return host_float<ElementType::F8E4M3FN>(primitive, a, b);
    case ElementType::F8E4M3FNUZ: return host_float<ElementType::F8E4M3FNUZ>(primitive, a, b);
    case ElementType::F8E5M2: return host_float<ElementType::F8E5M2>(primitive, a, b);
    case ElementType::F8E5M2FNUZ: return host_float<ElementType::F8E5M2FNUZ>(primitive, a, b);
    case ElementType::F8E8M0: return host_float<ElementType::F8E8M0>(primitive, a, b);
    case ElementType::F16: return host_float<ElementType::F16>(primitive, a, b);
    case ElementType::BF16: return host_float<ElementType::BF16>(primitive, a, b);
    case ElementType::F32: return host_float<ElementType::F32>(primitive, a, b);
    case ElementType::F64: return host_float<ElementType::F64>(primitive, a, b);
    default: refuse(primitive, type);
  }
}

Bits apply_float(P primitive, ElementType type, Bits a, Bits b) {
  const FloatFormat& f = format_of(type);
  switch (primitive) {
    case P::Add:
    case P::Subtract:
    case P::Multiply:
    case P::Divide:
    case P::Reciprocal:
    case P::SquareRoot: return host_float(primitive, type, a, b);
    case P::Negate: return bits::negate(f, a);
    case P::Absolute: return bits::absolute(f, a);
    case P::Sign: return bits::sign(f, a);
    case P::Minimum: return bits::minimum(f, a, b);
    case P::Maximum: return bits::maximum(f, a, b);
    case P::Floor: return bits::integral(f, a, bits::Direction::Floor);
    case P::Ceiling: return bits::integral(f, a, bits::Direction::Ceiling);
    case P::RoundEven: return bits::integral(f, a, bits::Direction::HalfEven);
    case P::Truncate: return bits::integral(f, a, bits::Direction::Truncate);
    case P::Modulo: return bits::modulo(f, a, b);
    case P::Remainder: return bits::remainder(f, a, b);
    case P::NextAfter: return bits::next_after(f, a, b);
    case P::IsNan: return f.is_nan(a) ? 1 : 0;
    case P::IsInfinite: return f.is_infinite(a) ? 1 : 0;
    default: break;
  }
  const int order = bits::compare(f, a, b);
  switch (primitive) {
    case P::Equal: return order == 0;
    case P::NotEqual: return order != 0;
    case P::Less: return order == -1;
    case P::LessEqual: return order == -1 || order == 0;
    case P::Greater: return order == 1;
    case P::GreaterEqual: return order == 1 || order == 0;
    default: refuse(primitive, type);
  }
}

// ---- integers and bool ---------------------------------------------------------------------------------------------------------------

template <ElementType T> Bits apply_integer(P primitive, Bits a, Bits b) {
  const Storage<T> x = host::from_bits<T>(a), y = host::from_bits<T>(b);
  const auto out = [](Storage<T> r) { return host::to_bits<T>(r); };
  switch (primitive) {
    case P::Add: return out(host::add<T>(x, y));
    case P::Subtract: return out(host::subtract<T>(x, y));
    case P::Multiply: return out(host::multiply<T>(x, y));
    case P::Negate: return out(host::negate<T>(x));
    case P::Absolute: return out(host::absolute<T>(x));
    case P::Sign: return out(host::sign<T>(x));
    case P::Minimum: return out(host::minimum<T>(x, y));
    case P::Maximum: return out(host::maximum<T>(x, y));
    case P::FloorDivide: return out(host::floor_divide<T>(x, y));
    case P::Modulo: return out(host::modulo<T>(x, y));
    case P::Quotient: return out(host::quotient<T>(x, y));
    case P::Remainder: return out(host::remainder<T>(x, y));
    case P::BitAnd: return out(host::bit_and<T>(x, y));
    case P::BitOr: return out(host::bit_or<T>(x, y));
    case P::BitXor: return out(host::bit_xor<T>(x, y));
    case P::BitNot: return out(host::bit_not<T>(x));
    case P::ShiftLeft: return out(host::shift_left<T>(x, y));
    case P::ShiftRight: return out(host::shift_right<T>(x, y));
    case P::Equal: return x == y;
    case P::NotEqual: return x != y;
    case P::Less: return x < y;
    case P::LessEqual: return x <= y;
    case P::Greater: return x > y;
    case P::GreaterEqual: return x >= y;
    case P::IsNan:
    case P::IsInfinite: return 0;
    default: refuse(primitive, T);
  }
}

Bits apply_bool(P primitive, Bits a, Bits b) {
  switch (primitive) {
    case P::And:
    case P::Minimum: return a & b;
    case P::Or:
    case P::Maximum: return a | b;
    case P::Not: return a ^ 1;
    case P::Equal: return a == b;
    case P::NotEqual: return a != b;
    default: refuse(primitive, ElementType::Bool);
  }
}

}  // namespace

Bits apply(Primitive primitive, ElementType type, std::span<const Bits> arguments) {
  ensure(static_cast<int>(arguments.size()) == row_of(primitive).arity, std::string(name_of(primitive)));
  const Bits a = arguments[0], b = arguments.size() > 1 ? arguments[1] : 0;
  if (is_float(type)) return apply_float(primitive, type, a, b);
  if (type == ElementType::Bool) return apply_bool(primitive, a, b);
  if (!is_integer(type)) refuse(primitive, type);
  return with_element_type(type, [&]<ElementType T>() -> Bits {
    if constexpr (host::is_integer_type(T)) return apply_integer<T>(primitive, a, b);
    else refuse(primitive, T);
  });
}

Bits fused_multiply_add(ElementType type, Bits a, Bits b, Bits c) {
  if (type == ElementType::F32) {
    const auto value = [](Bits x) { return host::from_bits<ElementType::F32>(x); };
    return host::to_bits<ElementType::F32>(host::canonical(__builtin_fmaf(value(a), value(b), value(c))));
  }
  if (type == ElementType::F64) {
    const auto value = [](Bits x) { return host::from_bits<ElementType::F64>(x); };
    return host::to_bits<ElementType::F64>(host::canonical(__builtin_fma(value(a), value(b), value(c))));
  }
  if (is_float(type)) return bits::fused_multiply_add(format_of(type), a, b, c);
  ensure(is_integer(type), "no fused multiply-add on " + std::string(name_of(type)));
  return (a * b + c) & (~Bits{0} >> (64 - bits_of(type)));
}

}  // namespace ulpian
