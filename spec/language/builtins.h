// The names that every definition sees without defining them. Private to spec/language.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "spec/numbers/element_type.h"
#include "spec/numbers/primitive.h"

namespace ulpian::language {

enum class Builtin : std::uint8_t {
  // constants
  True, False, Infinity, NotANumber, Pi, Absent,
  // of values
  Present, IsSequence, IsOptional, Rank, Shape, TypeOf, Values, Extent, Refuse,
  // of graphs and sequences
  ResultType, SequenceOf,
  // of lists
  Len, Range, Sort, Reverse, Find, Sum, Product, Minimum, Maximum, All, Any,
  // of strings
  Split, Chars, Replace,
  // of types
  BitsOf, IsFloat, IsInteger, IsSigned, IsComplex, Lowest, Highest, Wide,
  // of elements
  Cast, Bits, Exactly, Unspecified, Random, Encoding, Measured, Integer, Real,
  // a scalar primitive: BuiltinName::primitive
  Primitive,
  // an element type
  Type,
  // known words whose meaning comes with operators that are not defined yet
  Host,
};

struct BuiltinName {
  Builtin builtin;
  ulpian::Primitive primitive = ulpian::Primitive::Add;  // Primitive: the one of lowest arity
  ElementType type = ElementType::Z;                     // Type
};

// Empty where the name is not built in.
std::optional<BuiltinName> builtin_named(std::string_view name);

}  // namespace ulpian::language
