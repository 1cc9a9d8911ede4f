// Arithmetic on one element, on bits: what IEEE 754-2019 rounds once, or what is exact. The generic implementation works for every format
// that format.h describes; host instructions are used only where they give the same bits.
//
// How an element lies in a `Bits`: format.h. A primitive that yields NaN yields the canonical NaN of its type (numerics.md, section 0).
#pragma once

#include <cstdint>
#include <span>

#include "spec/numbers/cast_mode.h"
#include "spec/numbers/element_type.h"
#include "spec/numbers/format.h"
#include "spec/numbers/primitive.h"

namespace ulpian {

// Named values of a type, as bits.
Bits canonical_nan(ElementType type);       // ensure: the type has NaN
bool has_nan(ElementType type);
bool has_infinity(ElementType type);
Bits infinity(ElementType type, bool negative);
Bits largest_finite(ElementType type);      // integers too
Bits lowest_finite(ElementType type);       // integers too
bool is_nan(ElementType type, Bits a);
bool is_infinite(ElementType type, Bits a);
bool is_zero(ElementType type, Bits a);     // of either sign
bool sign_bit(ElementType type, Bits a);

// Equal bits in the contract's sense: the same bits, or both NaN.
bool same_element(ElementType type, Bits a, Bits b);

// The exact primitives, comparisons and logic (every PrimitiveKind::Exact, Comparison, Logic on a machine type).
// `ensure`s that the primitive is defined on the type. Comparisons and logic return 0 or 1.
Bits apply(Primitive primitive, ElementType type, std::span<const Bits> arguments);
// a * b + c, rounded once (floats); a * b + c modulo 2^w (integers).
Bits fused_multiply_add(ElementType type, Bits a, Bits b, Bits c);

// Every pair of machine types (bool, integers, floats); the modes that make sense for the pair.
Bits convert(ElementType from, ElementType to, Bits a, CastMode mode);

// Between bits and the host's doubles and integers. `to_double` is exact for every float type.
double to_double(ElementType type, Bits a);
Bits from_double(ElementType type, double a, CastMode mode = CastMode::Plain);
std::int64_t to_int64(ElementType type, Bits a);   // integers and bool; sign-extended (U64 reinterpreted)
Bits from_int64(ElementType type, std::int64_t a); // wraps
bool holds(ElementType type, std::int64_t a);      // whether the integer type has this number

}  // namespace ulpian
