// A function of real numbers evaluated by MPFR, and a way to hand its value on without a second rounding.
#pragma once

#include <cstdint>

#include "spec/numbers/primitive.h"

namespace ulpian::real {

// A real number cut to 64 bits. Finite nonzero values are significand * 2^exponent with the top bit of `significand` set; `inexact` says
// that the number lies strictly between this magnitude and the next one. Rounding it to any format of at most 62 bits of precision gives
// what rounding the real number would.
struct Cut {
  enum class Kind : std::uint8_t { Zero, Finite, Infinite, Nan } kind = Kind::Nan;
  bool negative = false;
  bool inexact = false;
  std::uint64_t significand = 0;
  std::int64_t exponent = 0;
};

// The elementary primitive of one or two doubles (`second` is ignored by functions of one).
Cut evaluate(Primitive primitive, double first, double second);

// CosTurn or SinTurn of numerator / denominator turns; denominator > 0.
Cut evaluate_turn(Primitive primitive, std::int64_t numerator, std::int64_t denominator);

// Rounded once to f64, half to even.
double nearest_double(const Cut& value);
// Rounded to odd: towards zero, then the last bit set if anything was cut off. A later rounding to a type of at most 51 bits whose range
// lies inside f64's is then the only one that counts.
double odd_double(const Cut& value);

}  // namespace ulpian::real
