// The elementary functions of the language (numerics.md, section 4): what PrimitiveKind::Elementary computes on one element.
//
// On every float type the result is the real function of the arguments, rounded once to the type (half to even): correctly rounded, f64
// included. Special values follow IEEE 754-2019, clause 9.2; functions that the standard does not name take their limits
// (silu(-inf) is -0, softplus(inf) is inf). NaN comes out canonical. pow(x, +-0) and pow(1, y) are 1, also for NaN.
// This is the slow, obvious way (MPFR); kernels.h gives the same bits fast.
#pragma once

#include <cstdint>
#include <span>

#include "spec/numbers/arithmetic.h"

namespace ulpian {

// `ensure`s that the primitive is elementary, that the type is a float (for Power: or an integer) and that the arity is right.
Bits elementary(Primitive primitive, ElementType type, std::span<const Bits> arguments);

// base^exponent modulo 2^w. A negative exponent gives the reciprocal truncated to an integer, where base 0 gives 0:
// 1 for base 1, +-1 for base -1, 0 for every other base. 0^0 is 1.
Bits integer_power(ElementType type, Bits base, Bits exponent);

// CosTurn or SinTurn of numerator / denominator turns, rounded once to a float type. denominator > 0.
Bits elementary_of_turn(Primitive primitive, ElementType type, std::int64_t numerator, std::int64_t denominator);

}  // namespace ulpian
