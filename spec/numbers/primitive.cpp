#include "spec/numbers/primitive.h"

#include <array>

namespace ulpian {
namespace {

using P = Primitive;
using K = PrimitiveKind;

constexpr std::array<PrimitiveRow, PrimitiveCount> Rows{{
    //                                          int    float  cplx   bool
    {P::Add, "+", 2, K::Exact,                  true,  true,  true,  false},
    {P::Subtract, "-", 2, K::Exact,             true,  true,  true,  false},
    {P::Multiply, "*", 2, K::Exact,             true,  true,  true,  false},
    {P::Divide, "/", 2, K::Exact,               false, true,  true,  false},
    {P::Negate, "neg", 1, K::Exact,             true,  true,  true,  false},
    {P::Absolute, "abs", 1, K::Exact,           true,  true,  true,  false},
    {P::Sign, "sign", 1, K::Exact,              true,  true,  false, false},
    {P::SquareRoot, "sqrt", 1, K::Exact,        false, true,  false, false},
    {P::Reciprocal, "reciprocal", 1, K::Exact,  false, true,  true,  false},
    {P::Minimum, "min", 2, K::Exact,            true,  true,  false, true},
    {P::Maximum, "max", 2, K::Exact,            true,  true,  false, true},
    {P::Floor, "floor", 1, K::Exact,            false, true,  false, false},
    {P::Ceiling, "ceil", 1, K::Exact,           false, true,  false, false},
    {P::RoundEven, "round_even", 1, K::Exact,   false, true,  false, false},
    {P::Truncate, "trunc", 1, K::Exact,         false, true,  false, false},
    {P::FloorDivide, "div", 2, K::Exact,        true,  false, false, false},
    {P::Modulo, "mod", 2, K::Exact,             true,  true,  false, false},
    {P::Quotient, "quot", 2, K::Exact,          true,  false, false, false},
    {P::Remainder, "rem", 2, K::Exact,          true,  true,  false, false},
    {P::Power, "pow", 2, K::Elementary,         true,  true,  false, false},
    {P::BitAnd, "bit_and", 2, K::Exact,         true,  false, false, false},
    {P::BitOr, "bit_or", 2, K::Exact,           true,  false, false, false},
    {P::BitXor, "bit_xor", 2, K::Exact,         true,  false, false, false},
    {P::BitNot, "bit_not", 1, K::Exact,         true,  false, false, false},
    {P::ShiftLeft, "shl", 2, K::Exact,          true,  false, false, false},
    {P::ShiftRight, "shr", 2, K::Exact,         true,  false, false, false},
    {P::NextAfter, "nextafter", 2, K::Exact,    false, true,  false, false},
    {P::Equal, "==", 2, K::Comparison,          true,  true,  true,  true},
    {P::NotEqual, "!=", 2, K::Comparison,       true,  true,  true,  true},
    {P::Less, "<", 2, K::Comparison,            true,  true,  false, false},
    {P::LessEqual, "<=", 2, K::Comparison,      true,  true,  false, false},
    {P::Greater, ">", 2, K::Comparison,         true,  true,  false, false},
    {P::GreaterEqual, ">=", 2, K::Comparison,   true,  true,  false, false},
    {P::And, "and", 2, K::Logic,                false, false, false, true},
    {P::Or, "or", 2, K::Logic,                  false, false, false, true},
    {P::Not, "not", 1, K::Logic,                false, false, false, true},
    {P::IsNan, "is_nan", 1, K::Comparison,      true,  true,  false, false},
    {P::IsInfinite, "is_inf", 1, K::Comparison, true,  true,  false, false},
    {P::Exp, "exp", 1, K::Elementary,           false, true,  false, false},
    {P::Exp2, "exp2", 1, K::Elementary,         false, true,  false, false},
    {P::Exp10, "exp10", 1, K::Elementary,       false, true,  false, false},
    {P::Expm1, "expm1", 1, K::Elementary,       false, true,  false, false},
    {P::Log, "log", 1, K::Elementary,           false, true,  false, false},
    {P::Log2, "log2", 1, K::Elementary,         false, true,  false, false},
    {P::Log10, "log10", 1, K::Elementary,       false, true,  false, false},
    {P::Log1p, "log1p", 1, K::Elementary,       false, true,  false, false},
    {P::ReciprocalRoot, "rsqrt", 1, K::Elementary, false, true, false, false},
    {P::CubeRoot, "cbrt", 1, K::Elementary,     false, true,  false, false},
    {P::Hypotenuse, "hypot", 2, K::Elementary,  false, true,  false, false},
    {P::Sin, "sin", 1, K::Elementary,           false, true,  false, false},
    {P::Cos, "cos", 1, K::Elementary,           false, true,  false, false},
    {P::Tan, "tan", 1, K::Elementary,           false, true,  false, false},
    {P::Asin, "asin", 1, K::Elementary,         false, true,  false, false},
    {P::Acos, "acos", 1, K::Elementary,         false, true,  false, false},
    {P::Atan, "atan", 1, K::Elementary,         false, true,  false, false},
    {P::Sinh, "sinh", 1, K::Elementary,         false, true,  false, false},
    {P::Cosh, "cosh", 1, K::Elementary,         false, true,  false, false},
    {P::Tanh, "tanh", 1, K::Elementary,         false, true,  false, false},
    {P::Asinh, "asinh", 1, K::Elementary,       false, true,  false, false},
    {P::Acosh, "acosh", 1, K::Elementary,       false, true,  false, false},
    {P::Atanh, "atanh", 1, K::Elementary,       false, true,  false, false},
    {P::Erf, "erf", 1, K::Elementary,           false, true,  false, false},
    {P::Erfc, "erfc", 1, K::Elementary,         false, true,  false, false},
    {P::Sigmoid, "sigmoid", 1, K::Elementary,   false, true,  false, false},
    {P::Softplus, "softplus", 1, K::Elementary, false, true,  false, false},
    {P::Softsign, "softsign", 1, K::Elementary, false, true,  false, false},
    {P::Gelu, "gelu", 1, K::Elementary,         false, true,  false, false},
    {P::GeluTanh, "gelu_tanh", 1, K::Elementary, false, true, false, false},
    {P::Silu, "silu", 1, K::Elementary,         false, true,  false, false},
    {P::Mish, "mish", 1, K::Elementary,         false, true,  false, false},
    {P::HardSwish, "hardswish", 1, K::Elementary, false, true, false, false},
    {P::Atan2, "atan2", 2, K::Elementary,       false, true,  false, false},
    {P::CosTurn, "cos_turn", 1, K::Elementary,  false, true,  false, false},
    {P::SinTurn, "sin_turn", 1, K::Elementary,  false, true,  false, false},
    {P::ToInteger, "int", 1, K::Conversion,     true,  false, false, false},
    {P::ToReal, "real", 1, K::Conversion,       true,  true,  false, false},
    {P::Length, "length", 1, K::Text,           false, false, false, false},
    {P::Concatenate, "++", 2, K::Text,          false, false, false, false},
    {P::Lower, "lower", 1, K::Text,             false, false, false, false},
    {P::Upper, "upper", 1, K::Text,             false, false, false, false},
    {P::Matches, "matches", 2, K::Text,         false, false, false, false},
    {P::PieceCount, "piece_count", 3, K::Text,  false, false, false, false},
    {P::Piece, "piece", 4, K::Text,             false, false, false, false},
}};

constexpr bool in_order() {
  for (int i = 0; i < PrimitiveCount; ++i)
    if (static_cast<int>(Rows[static_cast<std::size_t>(i)].primitive) != i) return false;
  return true;
}
static_assert(in_order(), "one row per primitive, in the order of the enumeration");

}  // namespace

const PrimitiveRow& row_of(Primitive primitive) { return Rows[static_cast<std::size_t>(primitive)]; }

ElementType argument_type(Primitive p, ElementType first, std::size_t k) {
  return (p == P::Piece || p == P::PieceCount) && k >= 2 ? ElementType::Z : first;
}

ElementType result_type(Primitive p, ElementType first) {
  switch (row_of(p).kind) {
    case K::Comparison:
    case K::Logic: return ElementType::Bool;
    case K::Conversion: return p == P::ToReal ? ElementType::R : ElementType::Z;
    case K::Text:
      if (p == P::Matches) return ElementType::Bool;
      return p == P::Length || p == P::PieceCount ? ElementType::Z : ElementType::String;
    case K::Exact:
    case K::Elementary: break;
  }
  const bool to_integral = p == P::Floor || p == P::Ceiling || p == P::RoundEven || p == P::Truncate;
  return first == ElementType::R && to_integral ? ElementType::Z : first;
}

std::optional<Primitive> primitive_named(std::string_view name, int arity) {
  for (const PrimitiveRow& r : Rows)
    if (r.name == name && r.arity == arity) return r.primitive;
  return std::nullopt;
}

}  // namespace ulpian
