// Elements in the host's own types, for typed loops: storage types, and conversions that a compiler can vectorise (selects, no calls, no
// early exits). Each gives the bits that `convert` of arithmetic.h gives; host_test.cpp holds them to it.
// They assume the default floating-point environment: round half to even, subnormals kept.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "spec/numbers/cast_mode.h"
#include "spec/numbers/format.h"

namespace ulpian {

// Storage: what one element takes in an unpacked tensor. Value: the host type that holds its value and in which a kernel computes.
// Arithmetic: where + - * / and sqrt, computed in it and rounded once more to T, give the correctly rounded result of T. Its precision is
// at least 2p + 2, which makes the second rounding harmless where nothing underflows. Only bf16 underflows in f32, where f32 keeps sixteen
// places more: a product of two 8-bit significands fits in them or lies below half of the least bf16, and a quotient of such is a tie or
// differs from one by more than 2^-9 of the least bf16. (Not so a fused multiply-add.)
// i2, i4 are stored sign-extended, u2, u4 zero-extended, f4e2m1 and fp6 in the low bits.
template <ElementType T> struct HostType;
namespace detail {
template <class S, class V, class A> struct HostTypes { using Storage = S; using Value = V; using Arithmetic = A; };
}  // namespace detail
template <> struct HostType<ElementType::Bool> : detail::HostTypes<std::uint8_t, std::uint8_t, std::uint8_t> {};
template <> struct HostType<ElementType::I2> : detail::HostTypes<std::int8_t, std::int8_t, std::int8_t> {};
template <> struct HostType<ElementType::I4> : detail::HostTypes<std::int8_t, std::int8_t, std::int8_t> {};
template <> struct HostType<ElementType::I8> : detail::HostTypes<std::int8_t, std::int8_t, std::int8_t> {};
template <> struct HostType<ElementType::I16> : detail::HostTypes<std::int16_t, std::int16_t, std::int16_t> {};
template <> struct HostType<ElementType::I32> : detail::HostTypes<std::int32_t, std::int32_t, std::int32_t> {};
template <> struct HostType<ElementType::I64> : detail::HostTypes<std::int64_t, std::int64_t, std::int64_t> {};
template <> struct HostType<ElementType::U2> : detail::HostTypes<std::uint8_t, std::uint8_t, std::uint8_t> {};
template <> struct HostType<ElementType::U4> : detail::HostTypes<std::uint8_t, std::uint8_t, std::uint8_t> {};
template <> struct HostType<ElementType::U8> : detail::HostTypes<std::uint8_t, std::uint8_t, std::uint8_t> {};
template <> struct HostType<ElementType::U16> : detail::HostTypes<std::uint16_t, std::uint16_t, std::uint16_t> {};
template <> struct HostType<ElementType::U32> : detail::HostTypes<std::uint32_t, std::uint32_t, std::uint32_t> {};
template <> struct HostType<ElementType::U64> : detail::HostTypes<std::uint64_t, std::uint64_t, std::uint64_t> {};
template <> struct HostType<ElementType::F4E2M1> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F6E2M3> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F6E3M2> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F8E4M3FN> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F8E4M3FNUZ> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F8E5M2> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F8E5M2FNUZ> : detail::HostTypes<std::uint8_t, float, float> {};
template <> struct HostType<ElementType::F8E8M0> : detail::HostTypes<std::uint8_t, float, double> {};
template <> struct HostType<ElementType::F16> : detail::HostTypes<std::uint16_t, float, float> {};
template <> struct HostType<ElementType::BF16> : detail::HostTypes<std::uint16_t, float, float> {};
template <> struct HostType<ElementType::F32> : detail::HostTypes<float, float, float> {};
template <> struct HostType<ElementType::F64> : detail::HostTypes<double, double, double> {};

template <ElementType T> using Storage = typename HostType<T>::Storage;
template <ElementType T> using Value = typename HostType<T>::Value;

namespace host {

constexpr bool is_float_type(ElementType t) { return t >= ElementType::F4E2M1 && t <= ElementType::F64; }
constexpr bool is_integer_type(ElementType t) { return t >= ElementType::I2 && t <= ElementType::U64; }
constexpr bool is_signed_type(ElementType t) { return t >= ElementType::I2 && t <= ElementType::I64; }
constexpr bool is_narrow_float(ElementType t) { return is_float_type(t) && t < ElementType::F32; }
constexpr int integer_width(ElementType t) {
  const int step = static_cast<int>(t) - static_cast<int>(is_signed_type(t) ? ElementType::I2 : ElementType::U2);
  return 2 << step;
}

// What a host floating-point type looks like in bits.
template <class F> struct Layout;
template <> struct Layout<float> { using Word = std::uint32_t; static constexpr int Fraction = 23, Bias = 127; };
template <> struct Layout<double> { using Word = std::uint64_t; static constexpr int Fraction = 52, Bias = 1023; };
template <class F> using Word = typename Layout<F>::Word;

// 2^e in F, for a normal exponent.
template <class F> constexpr F power_of_two(int e) {
  return std::bit_cast<F>(static_cast<Word<F>>(static_cast<Word<F>>(e + Layout<F>::Bias) << Layout<F>::Fraction));
}
template <class F> constexpr F canonical(F x) { return x == x ? x : std::numeric_limits<F>::quiet_NaN(); }

// ---- from narrow floats --------------------------------------------------------------------------------------------------------------

// All ones if c, else zero. Selects around floating-point operations are written with masks: for fear of traps, compilers turn the `? :`
// into branches there and don't vectorise.
template <class U> constexpr U mask(bool c) { return static_cast<U>(0 - static_cast<U>(c)); }

constexpr float f16_to_f32(std::uint16_t h) {
  const std::uint32_t magnitude = h & 0x7fffu, sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t subnormal = mask<std::uint32_t>(magnitude < 0x400u);
  const std::uint32_t special = mask<std::uint32_t>(magnitude >= 0x7c00u), nan = mask<std::uint32_t>(magnitude > 0x7c00u);
  // A subnormal is m * 2^-24: write m below the leading one of 2^-14 and take that one away, exactly.
  const std::uint32_t shifted = (magnitude << 13) + (112u << 23) + (subnormal & (1u << 23)) + (special & (112u << 23));
  const float value = std::bit_cast<float>(shifted) - std::bit_cast<float>(subnormal & (113u << 23));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) | sign;
  return std::bit_cast<float>((bits & ~nan) | (0x7fc00000u & nan));
}

constexpr float bf16_to_f32(std::uint16_t h) {
  const std::uint32_t bits = static_cast<std::uint32_t>(h) << 16;
  return std::bit_cast<float>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits);
}

namespace detail {

// The value of a code of at most eight bits.
constexpr float decode(const FloatFormat& f, Bits code) {
  if (f.is_nan(code)) return std::numeric_limits<float>::quiet_NaN();
  const Bits magnitude = code & f.magnitude_mask();
  const bool negative = (code & f.sign_mask()) != 0;
  if (f.is_infinite(code)) return negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  const int exponent = static_cast<int>(magnitude >> f.fraction_bits);
  const Bits fraction = magnitude & ((Bits{1} << f.fraction_bits) - 1);
  const bool subnormal = exponent == 0 && f.has_sign;
  const double significand = static_cast<double>(subnormal ? fraction : fraction | (Bits{1} << f.fraction_bits));
  const int least = (subnormal ? f.min_exponent() : exponent - f.bias) - f.fraction_bits;
  const double value = significand * power_of_two<double>(least);
  return static_cast<float>(negative ? -value : value);
}

template <ElementType T> constexpr std::array<float, 256> make_table() {
  std::array<float, 256> table{};
  const Bits codes = (format_of(T).sign_mask() | format_of(T).magnitude_mask()) + 1;
  for (Bits code = 0; code < 256; ++code) table[code] = decode(format_of(T), code % codes);
  return table;
}
template <ElementType T> inline constexpr std::array<float, 256> Table = make_table<T>();

}  // namespace detail

// The value of a stored element, exact.
template <ElementType T> constexpr Value<T> value_of(Storage<T> a) {
  if constexpr (T == ElementType::F16) return f16_to_f32(a);
  else if constexpr (T == ElementType::BF16) return bf16_to_f32(a);
  else if constexpr (is_narrow_float(T)) return detail::Table<T>[a];
  else return a;
}

// ---- to floats, rounded once, half to even -------------------------------------------------------------------------------------------

namespace detail {

enum class ScaleRounding { Nearest, Up, Down };

// F8E8M0: rounded to a power of two as if exponents were unbounded, then held to the range. Nearest sends ties up, which is also what
// IEEE 754 says of half-even at a precision of one digit.
template <ScaleRounding Rounding, bool Saturate> constexpr std::uint8_t round_to_scale(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t Half = std::uint64_t{1} << 51, AllFraction = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t Add = Rounding == ScaleRounding::Nearest ? Half : Rounding == ScaleRounding::Up ? AllFraction : 0;
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffu;
  // Negative numbers lie below the range, like zero.
  const int exponent = static_cast<int>((bits >> 63) != 0 ? 0 : (magnitude + Add) >> 52) - 1023 + 127;
  const int low = Saturate ? 0 : 255, high = Saturate ? 254 : 255;
  int code = exponent < 0 ? low : exponent > 254 ? high : exponent;
  code = x == x ? code : 255;
  return static_cast<std::uint8_t>(code);
}

template <ElementType T, bool Saturate, class F> constexpr Storage<T> round_to_narrow(F x) {
  constexpr FloatFormat Format = format_of(T);
  using U = Word<F>;
  constexpr int Fraction = Layout<F>::Fraction, Shift = Fraction - Format.fraction_bits;
  constexpr U SignBit = U{1} << (sizeof(U) * 8 - 1);
  constexpr U Infinity = static_cast<U>(((U{1} << (sizeof(U) * 8 - 1 - Fraction)) - 1) << Fraction);
  const U bits = std::bit_cast<U>(x), magnitude = bits & ~SignBit;

  constexpr U Rebias = static_cast<U>(static_cast<U>(Layout<F>::Bias - Format.bias) << Format.fraction_bits);
  constexpr bool NarrowRange = Layout<F>::Bias != Format.bias;
  U word = magnitude, small = 0, is_small = 0;
  if constexpr (NarrowRange) {
    // Below the normal range: adding a number whose last place is T's least subnormal rounds there. Elsewhere zero is added.
    constexpr U Anchor = std::bit_cast<U>(power_of_two<F>(Format.min_exponent() - Format.fraction_bits + Fraction));
    is_small = mask<U>(magnitude < std::bit_cast<U>(power_of_two<F>(Format.min_exponent())));
    word = std::bit_cast<U>(std::bit_cast<F>(magnitude) + std::bit_cast<F>(Anchor & is_small));
    small = word - Anchor;
  }
  U code = ((word + ((U{1} << (Shift - 1)) - 1) + ((word >> Shift) & 1)) >> Shift) - Rebias;
  code = (small & is_small) | (code & ~is_small);
  constexpr U Largest = static_cast<U>(Format.largest_code());
  constexpr U Nan = static_cast<U>(Format.nan_code());
  constexpr bool OverflowIsNan = !Saturate && !Format.has_infinity && Format.nan != FloatFormat::Nan::None;
  constexpr U Top = !Saturate && Format.has_infinity ? static_cast<U>(Format.infinity_code()) : Largest;
  const U is_nan = mask<U>((magnitude > Infinity) | (OverflowIsNan & (code > Largest))), is_over = mask<U>(code > Top);
  code = (code & ~is_over) | (Top & is_over);
  U sign = (bits >> (sizeof(U) * 8 - 1)) << Format.magnitude_bits();
  if constexpr (!Format.has_negative_zero()) sign &= mask<U>(code != 0);
  return static_cast<Storage<T>>((Nan & is_nan) | ((code | sign) & ~is_nan));
}

template <bool Saturate, class To, class From> constexpr To round_to_wide(From x) {
  if constexpr (Saturate) {
    constexpr To Largest = std::numeric_limits<To>::max();
    const To y = static_cast<To>(x);
    const To low = y < -Largest ? -Largest : y;
    return canonical(low > Largest ? Largest : low);
  } else {
    return canonical(static_cast<To>(x));
  }
}

}  // namespace detail

template <ElementType T, bool Saturate = false, class F> constexpr Storage<T> round_to(F x) {
  static_assert(is_float_type(T) && std::is_floating_point_v<F>);
  if constexpr (T == ElementType::F8E8M0) return detail::round_to_scale<detail::ScaleRounding::Nearest, Saturate>(x);
  else if constexpr (is_narrow_float(T)) return detail::round_to_narrow<T, Saturate>(x);
  else return detail::round_to_wide<Saturate, Storage<T>>(x);
}

constexpr std::uint16_t f32_to_f16(float x) { return round_to<ElementType::F16>(x); }
constexpr std::uint16_t f32_to_bf16(float x) { return round_to<ElementType::BF16>(x); }

// ---- integers ------------------------------------------------------------------------------------------------------------------------

template <ElementType T> constexpr Storage<T> lowest_integer() {
  if constexpr (!is_signed_type(T)) return 0;
  else return static_cast<Storage<T>>(-(std::int64_t{1} << (integer_width(T) - 2)) * 2);
}
template <ElementType T> constexpr Storage<T> highest_integer() {
  return static_cast<Storage<T>>(~std::uint64_t{0} >> (64 - integer_width(T) + (is_signed_type(T) ? 1 : 0)));
}
// Keeps the low bits of the type's width; only the types narrower than a byte need it.
template <ElementType T> constexpr Storage<T> wrap(Storage<T> a) {
  constexpr int Spare = static_cast<int>(sizeof(Storage<T>)) * 8 - integer_width(T);
  if constexpr (Spare == 0) return a;
  else return static_cast<Storage<T>>(static_cast<Storage<T>>(static_cast<unsigned>(a) << Spare) >> Spare);
}

// Towards zero, held to the limits; NaN is 0.
template <ElementType T, class F> constexpr Storage<T> to_integer(F x) {
  constexpr int Digits = integer_width(T) - (is_signed_type(T) ? 1 : 0);
  constexpr F Low = is_signed_type(T) ? -power_of_two<F>(Digits) : F{0}, Beyond = power_of_two<F>(Digits);
  constexpr F Below = std::bit_cast<F>(std::bit_cast<Word<F>>(Beyond) - 1);  // the greatest F under 2^Digits
  F held = x > Low ? x : Low;
  held = held < Below ? held : Below;
  Storage<T> result = static_cast<Storage<T>>(held);
  result = x >= Beyond ? highest_integer<T>() : result;
  return x == x ? result : Storage<T>{0};
}

template <ElementType To, bool Saturate, class I> constexpr Storage<To> integer_to_integer(I a) {
  if constexpr (!Saturate) {
    return wrap<To>(static_cast<Storage<To>>(a));
  } else {
    constexpr Storage<To> Low = lowest_integer<To>(), High = highest_integer<To>();
    const bool negative = std::is_signed_v<I> && a < 0;
    const bool under = negative && (std::is_unsigned_v<Storage<To>> || static_cast<std::int64_t>(a) < static_cast<std::int64_t>(Low));
    const bool over = !negative && static_cast<std::uint64_t>(a) > static_cast<std::uint64_t>(High);
    return under ? Low : over ? High : static_cast<Storage<To>>(a);
  }
}

// Rounded once. Narrow targets go through double: 64-bit integers first give up low bits that no narrow format sees, leaving a mark of
// them (round to odd), so that the conversion to double is exact.
template <ElementType To, bool Saturate, class I> constexpr Storage<To> integer_to_float(I a) {
  if constexpr (To == ElementType::F32 || To == ElementType::F64) {
    return static_cast<Storage<To>>(a);
  } else if constexpr (sizeof(I) < 8) {
    return round_to<To, Saturate>(static_cast<std::conditional_t<(sizeof(I) < 4), float, double>>(a));
  } else {
    const bool negative = std::is_signed_v<I> && a < 0;
    const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
    const std::uint64_t low = magnitude & 0xfff, odd = (magnitude & ~std::uint64_t{0xfff}) | (low != 0 ? 0x1000u : 0u);
    // Signed, because the host converts signed integers in one instruction.
    const double shrunk = static_cast<double>(static_cast<std::int64_t>(odd >> 12)) * 4096.0;
    const double value = magnitude >> 53 != 0 ? shrunk : static_cast<double>(static_cast<std::int64_t>(magnitude & ((std::uint64_t{1} << 53) - 1)));
    return round_to<To, Saturate>(negative ? -value : value);
  }
}

// ---- every pair ----------------------------------------------------------------------------------------------------------------------

constexpr bool saturates(CastMode mode) {
  return mode == CastMode::Saturate || mode == CastMode::SaturateUp || mode == CastMode::SaturateDown || mode == CastMode::SaturateNearest;
}
constexpr bool rounds_up(CastMode mode) { return mode == CastMode::Up || mode == CastMode::SaturateUp; }
constexpr bool rounds_down(CastMode mode) { return mode == CastMode::Down || mode == CastMode::SaturateDown; }
constexpr bool is_for_scale(CastMode mode) { return mode >= CastMode::Up && mode <= CastMode::SaturateNearest; }

// As `convert`, on stored elements. CastMode::Exact and Reinterpret are left to arithmetic.h.
template <ElementType From, ElementType To, CastMode Mode = CastMode::Plain> constexpr Storage<To> convert(Storage<From> a) {
  static_assert(Mode != CastMode::Exact && Mode != CastMode::Reinterpret && (!is_for_scale(Mode) || To == ElementType::F8E8M0));
  constexpr bool Saturate = saturates(Mode);
  if constexpr (From == To && Mode == CastMode::Plain) {
    return a;
  } else if constexpr (To == ElementType::Bool) {
    // On codes: a zero is the code 0 or, where there is one, -0; f8e8m0 has none.
    if constexpr (From == ElementType::F8E8M0) return 1;
    else if constexpr (is_narrow_float(From) && format_of(From).has_negative_zero())
      return static_cast<Storage<To>>((a & format_of(From).magnitude_mask()) != 0);
    else return static_cast<Storage<To>>(a != 0);
  } else if constexpr (To == ElementType::F8E8M0 && (rounds_up(Mode) || rounds_down(Mode))) {
    constexpr detail::ScaleRounding Rounding = rounds_up(Mode) ? detail::ScaleRounding::Up : detail::ScaleRounding::Down;
    if constexpr (sizeof(Storage<From>) == 8 && !is_float_type(From)) {
      // Round to odd in the last of 53 bits: directed rounding then sees what a conversion to double would lose.
      const bool negative = std::is_signed_v<Storage<From>> && a < 0;
      const std::uint64_t m = negative ? 0 : static_cast<std::uint64_t>(a);
      const std::uint64_t odd = (m >> 12) | ((m & 0xfff) != 0 ? 1u : 0u);
      const double value = m >> 53 != 0 ? static_cast<double>(odd) * 4096.0 : static_cast<double>(m);
      return detail::round_to_scale<Rounding, Saturate>(negative ? -1.0 : value);
    } else {
      return detail::round_to_scale<Rounding, Saturate>(static_cast<double>(value_of<From>(a)));
    }
  } else if constexpr (is_float_type(From) && is_float_type(To)) {
    return round_to<To, Saturate>(value_of<From>(a));
  } else if constexpr (is_float_type(From)) {
    return to_integer<To>(value_of<From>(a));
  } else if constexpr (is_float_type(To)) {
    return integer_to_float<To, Saturate>(a);
  } else {
    return integer_to_integer<To, Saturate>(a);
  }
}

// ---- between storage and Bits --------------------------------------------------------------------------------------------------------

template <ElementType T> constexpr Bits to_bits(Storage<T> a) {
  if constexpr (T == ElementType::F32) return std::bit_cast<std::uint32_t>(a);
  else if constexpr (T == ElementType::F64) return std::bit_cast<std::uint64_t>(a);
  else if constexpr (is_integer_type(T)) return static_cast<Bits>(a) & (~Bits{0} >> (64 - integer_width(T)));
  else return a;
}
template <ElementType T> constexpr Storage<T> from_bits(Bits bits) {
  if constexpr (T == ElementType::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (T == ElementType::F64) return std::bit_cast<double>(bits);
  else if constexpr (is_integer_type(T)) return wrap<T>(static_cast<Storage<T>>(bits));
  else return static_cast<Storage<T>>(bits);
}

}  // namespace host

// Calls `f.template operator()<T>()` with the element type as a constant; bool, integers and floats.
template <class F> constexpr decltype(auto) with_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::Bool: return f.template operator()<ElementType::Bool>();
    case ElementType::I2: return f.template operator()<ElementType::I2>();
    case ElementType::I4: return f.template operator()<ElementType::I4>();
    case ElementType::I8: return f.template operator()<ElementType::I8>();
    case ElementType::I16: return f.template operator()<ElementType::I16>();
    case ElementType::I32: return f.template operator()<ElementType::I32>();
    case ElementType::I64: return f.template operator()<ElementType::I64>();
    case ElementType::U2: return f.template operator()<ElementType::U2>();
    case ElementType::U4: return f.template operator()<ElementType::U4>();
    case ElementType::U8: return f.template operator()<ElementType::U8>();
    case ElementType::U16: return f.template operator()<ElementType::U16>();
    case ElementType::U32: return f.template operator()<ElementType::U32>();
    case ElementType::U64: return f.template operator()<ElementType::U64>();
    case ElementType::F4E2M1: return f.template operator()<ElementType::F4E2M1>();
    case ElementType::F6E2M3: return f.template operator()<ElementType::F6E2M3>();
    case ElementType::F6E3M2: return f.template operator()<ElementType::F6E3M2>();
    case ElementType::F8E4M3FN: return f.template operator()<ElementType::F8E4M3FN>();
    case ElementType::F8E4M3FNUZ: return f.template operator()<ElementType::F8E4M3FNUZ>();
    case ElementType::F8E5M2: return f.template operator()<ElementType::F8E5M2>();
    case ElementType::F8E5M2FNUZ: return f.template operator()<ElementType::F8E5M2FNUZ>();
    case ElementType::F8E8M0: return f.template operator()<ElementType::F8E8M0>();
    case ElementType::F16: return f.template operator()<ElementType::F16>();
    case ElementType::BF16: return f.template operator()<ElementType::BF16>();
    case ElementType::F32: return f.template operator()<ElementType::F32>();
    case ElementType::F64: return f.template operator()<ElementType::F64>();
    case ElementType::C64:
    case ElementType::C128:
    case ElementType::String:
    case ElementType::Z:
    case ElementType::R: break;
  }
  fail_bug("with_element_type", "no host type for this element type", __FILE__, __LINE__);
}

}  // namespace ulpian
