// Conversions between any two machine types, and what is said about a type's codes.
#include <bit>

#include "spec/numbers/arithmetic.h"
#include "spec/numbers/rounding.h"

namespace ulpian {
namespace {

using bits::Kind;
using bits::Real;
using bits::Rounding;
using bits::Unpacked;

Bits width_mask(ElementType type) { return ~Bits{0} >> (64 - bits_of(type)); }

bool is_machine_integer(ElementType type) { return is_integer(type) || type == ElementType::Bool; }

Rounding rounding_of(CastMode mode) {
  switch (mode) {
    case CastMode::Up:
    case CastMode::SaturateUp: return Rounding::Up;
    case CastMode::Down:
    case CastMode::SaturateDown: return Rounding::Down;
    case CastMode::Plain:
    case CastMode::Saturate:
    case CastMode::Nearest:
    case CastMode::SaturateNearest:
    case CastMode::Exact:
    case CastMode::Reinterpret: return Rounding::HalfEven;
  }
  return Rounding::HalfEven;
}

bool saturates(CastMode mode) {
  return mode == CastMode::Saturate || (mode >= CastMode::SaturateUp && mode <= CastMode::SaturateNearest);
}

bool is_for_scale(CastMode mode) { return mode >= CastMode::Up && mode <= CastMode::SaturateNearest; }

// (-1)^negative * magnitude, held to the limits of an integer type.
Bits held_to_limits(ElementType to, bool negative, std::uint64_t magnitude) {
  const Bits low = lowest_finite(to), high = largest_finite(to);
  if (!negative) return magnitude > high ? high : magnitude;
  const std::uint64_t furthest = is_signed(to) ? high + 1 : 0;
  return magnitude > furthest ? low : (0 - magnitude) & width_mask(to);
}

Bits float_to_integer(ElementType to, const Unpacked& a, CastMode mode) {
  switch (a.kind) {
    case Kind::Nan:
    case Kind::Zero: return 0;
    case Kind::Infinite: return a.negative ? lowest_finite(to) : largest_finite(to);
    case Kind::Finite: break;
  }
  if (a.exponent < 0) {
    const auto rounding = mode == CastMode::Exact ? bits::ToIntegral::HalfEven : bits::ToIntegral::Truncate;
    return held_to_limits(to, a.negative, bits::to_integral(a.significand, a.exponent, rounding).quotient);
  }
  const bool fits = a.exponent <= std::countl_zero(a.significand);
  return held_to_limits(to, a.negative, fits ? a.significand << a.exponent : ~std::uint64_t{0});
}

Bits float_to_float(ElementType to, const Unpacked& a, CastMode mode) {
  const FloatFormat& format = format_of(to);
  switch (a.kind) {
    case Kind::Nan: return format.nan_code();
    case Kind::Infinite:
      if (saturates(mode)) return format.has_sign || !a.negative ? bits::largest(format, a.negative) : 0;
      return format.has_sign || !a.negative ? bits::overflow(format, a.negative) : format.nan_code();
    case Kind::Zero:
    case Kind::Finite: break;
  }
  return bits::round(format, {a.negative, a.exponent, a.significand}, rounding_of(mode), saturates(mode));
}

Bits integer_to_any(ElementType from, ElementType to, Bits a, CastMode mode) {
  const bool negative = is_signed(from) && sign_bit(from, a);
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(to_int64(from, a)) : a;
  if (is_float(to)) return bits::round(format_of(to), {negative, 0, magnitude}, rounding_of(mode), saturates(mode));
  if (mode == CastMode::Plain) return static_cast<Bits>(to_int64(from, a)) & width_mask(to);
  return held_to_limits(to, negative, magnitude);
}

}  // namespace

Bits canonical_nan(ElementType type) {
  ensure(has_nan(type), "no NaN in " + std::string(name_of(type)));
  return format_of(type).nan_code();
}
bool has_nan(ElementType type) { return is_float(type) && format_of(type).nan != FloatFormat::Nan::None; }
bool has_infinity(ElementType type) { return is_float(type) && format_of(type).has_infinity; }

Bits infinity(ElementType type, bool negative) {
  ensure(has_infinity(type), "no infinity in " + std::string(name_of(type)));
  return bits::overflow(format_of(type), negative);
}

Bits largest_finite(ElementType type) {
  if (is_float(type)) return format_of(type).largest_code();
  ensure(is_machine_integer(type), "no largest value of " + std::string(name_of(type)));
  return is_signed(type) ? width_mask(type) >> 1 : width_mask(type);
}

Bits lowest_finite(ElementType type) {
  if (is_float(type)) return format_of(type).has_sign ? bits::largest(format_of(type), true) : 0;
  ensure(is_machine_integer(type), "no lowest value of " + std::string(name_of(type)));
  return is_signed(type) ? (width_mask(type) >> 1) + 1 : 0;
}

bool is_nan(ElementType type, Bits a) { return is_float(type) && format_of(type).is_nan(a); }
bool is_infinite(ElementType type, Bits a) { return is_float(type) && format_of(type).is_infinite(a); }
bool is_zero(ElementType type, Bits a) {
  return is_float(type) ? bits::unpack(format_of(type), a).kind == Kind::Zero : a == 0;
}
bool sign_bit(ElementType type, Bits a) {
  if (is_float(type)) return (a & format_of(type).sign_mask()) != 0;
  return is_signed(type) && (a >> (bits_of(type) - 1)) != 0;
}

bool same_element(ElementType type, Bits a, Bits b) { return a == b || (is_nan(type, a) && is_nan(type, b)); }

Bits convert(ElementType from, ElementType to, Bits a, CastMode mode) {
  ensure(!is_for_scale(mode) || to == ElementType::F8E8M0, "a mode of f8e8m0, asked of " + std::string(name_of(to)));
  ensure((is_float(from) || is_machine_integer(from)) && (is_float(to) || is_machine_integer(to)),
         std::string(name_of(from)) + " to " + std::string(name_of(to)));
  if (mode == CastMode::Reinterpret) {
    ensure(bits_of(from) == bits_of(to), "the bits of " + std::string(name_of(from)) + " as " + std::string(name_of(to)));
    return a;
  }
  if (from == to && (mode == CastMode::Plain || mode == CastMode::Exact)) return a;
  if (to == ElementType::Bool) return is_zero(from, a) ? 0 : 1;
  if (!is_float(from)) return integer_to_any(from, to, a, mode);
  const Unpacked x = bits::unpack(format_of(from), a);
  return is_float(to) ? float_to_float(to, x, mode) : float_to_integer(to, x, mode);
}

double to_double(ElementType type, Bits a) {
  // The frequent ones, which are exact on every machine; NaN is made canonical below.
  if (type == ElementType::F64 && !is_nan(type, a)) return std::bit_cast<double>(a);
  if (type == ElementType::F32)
    if (const auto x = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(a))); x == x) return x;
  return std::bit_cast<double>(convert(type, ElementType::F64, a, CastMode::Plain));
}
Bits from_double(ElementType type, double a, CastMode mode) { return convert(ElementType::F64, type, std::bit_cast<Bits>(a), mode); }

std::int64_t to_int64(ElementType type, Bits a) {
  ensure(is_machine_integer(type), std::string(name_of(type)) + " is no integer");
  const Bits sign = Bits{1} << (bits_of(type) - 1);
  return static_cast<std::int64_t>(is_signed(type) ? (a ^ sign) - sign : a);
}

bool holds(ElementType type, std::int64_t a) { return to_int64(type, from_int64(type, a)) == a && (type != ElementType::U64 || a >= 0); }

Bits from_int64(ElementType type, std::int64_t a) {
  ensure(is_machine_integer(type), std::string(name_of(type)) + " is no integer");
  return static_cast<Bits>(a) & width_mask(type);
}

}  // namespace ulpian
