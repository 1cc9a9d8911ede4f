// The generic arithmetic of binary floats, on bits. `arithmetic.h` is the entry; this header is for it and for the tests that hold the
// host's fast paths to this code.
#pragma once

#include "spec/numbers/format.h"

namespace ulpian::bits {

Bits add(const FloatFormat& format, Bits a, Bits b);
Bits subtract(const FloatFormat& format, Bits a, Bits b);
Bits multiply(const FloatFormat& format, Bits a, Bits b);
Bits divide(const FloatFormat& format, Bits a, Bits b);
Bits square_root(const FloatFormat& format, Bits a);
Bits fused_multiply_add(const FloatFormat& format, Bits a, Bits b, Bits c);
Bits remainder(const FloatFormat& format, Bits a, Bits b);  // a - b * trunc(a / b), exact; a zero takes the sign of a
Bits modulo(const FloatFormat& format, Bits a, Bits b);     // a - b * floor(a / b), rounded once; a zero takes the sign of b

Bits negate(const FloatFormat& format, Bits a);
Bits absolute(const FloatFormat& format, Bits a);
Bits sign(const FloatFormat& format, Bits a);  // +-1, or the zero itself
Bits one(const FloatFormat& format);

enum class Direction { Floor, Ceiling, HalfEven, Truncate };
Bits integral(const FloatFormat& format, Bits a, Direction direction);  // a zero takes the sign of a
Bits next_after(const FloatFormat& format, Bits a, Bits towards);

// -1, 0, 1, or 2 where one is NaN; -0 equals +0.
int compare(const FloatFormat& format, Bits a, Bits b);
Bits minimum(const FloatFormat& format, Bits a, Bits b);  // NaN if one is; -0 < +0
Bits maximum(const FloatFormat& format, Bits a, Bits b);

}  // namespace ulpian::bits
