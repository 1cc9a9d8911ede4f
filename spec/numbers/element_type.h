// The element types of the language, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ulpian {

enum class ElementType : std::uint8_t {
  Bool,
  I2, I4, I8, I16, I32, I64,
  U2, U4, U8, U16, U32, U64,
  F4E2M1, F6E2M3, F6E3M2,
  F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0,
  F16, BF16, F32, F64,
  C64, C128,
  String,
  Z,  // unbounded integers: indices, counts, positions; never stored in a tensor of a program
  R,  // reals: coordinates, angles; never stored in a tensor of a program
};
inline constexpr int ElementTypeCount = static_cast<int>(ElementType::R) + 1;

// The language's own spelling: "bool", "i8", "f8e4m3fn", "bf16", "Z", ...
std::string_view name_of(ElementType type);
std::optional<ElementType> element_type_named(std::string_view name);

// Width of one element in bits; 1 for bool, 0 for string, Z and R. (A bool is stored in one byte.)
int bits_of(ElementType type);
// Bytes that one element takes in an unpacked tensor: 1 for everything of at most 8 bits; 0 for string, Z and R.
int bytes_of(ElementType type);

bool is_float(ElementType type);     // the binary floating-point types, fp4, fp6 and fp8 included; not R
bool is_integer(ElementType type);   // I2..U64; not Z, not bool
bool is_signed(ElementType type);    // I2..I64
bool is_complex(ElementType type);
ElementType part_of(ElementType type);  // of a complex type: that of its real and of its imaginary part

// The type in which definitions accumulate: f32 for every float narrower than f32, the type itself for f32, f64, complex and integers.
// Empty for bool, string, Z, R (numerics.md, section 3).
std::optional<ElementType> wide(ElementType type);

}  // namespace ulpian
