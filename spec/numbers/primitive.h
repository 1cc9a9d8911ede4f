// The scalar primitives of the language: one row each. What a primitive computes on bits is in `arithmetic.h` (everything that IEEE 754
// rounds once or that is exact) and in `spec/functions` (elementary functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "spec/numbers/element_type.h"

namespace ulpian {

enum class Primitive : std::uint8_t {
  // arithmetic, rounded once
  Add, Subtract, Multiply, Divide, Negate, Absolute, Sign, SquareRoot, Reciprocal,
  Minimum, Maximum,
  // to an integral value of the same type (of R: to Z)
  Floor, Ceiling, RoundEven, Truncate,
  // integer division; on floats only Remainder (exact, sign of the dividend) and Modulo (exact, sign of the divisor, then rounded once)
  FloorDivide, Modulo, Quotient, Remainder,
  Power,
  // bits of integers
  BitAnd, BitOr, BitXor, BitNot, ShiftLeft, ShiftRight,
  NextAfter,
  // comparisons and logic: the result is bool
  Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual,
  And, Or, Not, IsNan, IsInfinite,
  // elementary functions
  Exp, Exp2, Exp10, Expm1, Log, Log2, Log10, Log1p,
  ReciprocalRoot, CubeRoot, Hypotenuse,
  Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
  Erf, Erfc, Sigmoid, Softplus, Softsign, Gelu, GeluTanh, Silu, Mish, HardSwish,
  Atan2,
  CosTurn, SinTurn,  // cosine and sine of a number of turns (arguments of R are exact rationals)
  // between Z, R and the machine types
  ToInteger,  // of an integer element: to Z
  ToReal,     // of a float, integer or Z: to R
  // strings (spec/strings); `length` in characters, `matches` with a pattern known statically
  Length, Concatenate, Lower, Upper, Matches,
  PieceCount,  // (text, mark, most): into how many pieces `mark` cuts the text, at most `most` times if not negative; an empty mark: white space
  Piece,       // (text, mark, most, k): the k-th of them, or "" where there is none
};
inline constexpr int PrimitiveCount = static_cast<int>(Primitive::Piece) + 1;
inline constexpr int MostArguments = 4;  // of one primitive

enum class PrimitiveKind : std::uint8_t {
  Exact,       // IEEE 754 rounds it once, or it is exact: arithmetic.h
  Comparison,  // the result is bool
  Logic,       // bool to bool
  Elementary,  // spec/functions
  Conversion,  // between Z, R and machine types
  Text,
};

struct PrimitiveRow {
  Primitive primitive;
  std::string_view name;      // as the language writes it: "+", "exp", "bit_and", "is_nan"
  int arity;
  PrimitiveKind kind;
  bool on_integers;           // defined on I2..U64 (and Z)
  bool on_floats;             // defined on the binary floats (and R)
  bool on_complex;
  bool on_bool;
};

const PrimitiveRow& row_of(Primitive primitive);
// Of a primitive whose first argument is of type `first`: the type of argument k, and of the result. All arguments are of one type, but for the
// numbers of Piece and PieceCount, which are of Z.
ElementType argument_type(Primitive primitive, ElementType first, std::size_t k);
ElementType result_type(Primitive primitive, ElementType first);
inline std::string_view name_of(Primitive primitive) { return row_of(primitive).name; }
// By name and arity ("-" is Subtract with two arguments; the prefix minus is "neg").
std::optional<Primitive> primitive_named(std::string_view name, int arity);

}  // namespace ulpian
