// For the tests only: the functions by other formulas than the code under test, at far more bits than any result needs, and rounded by
// MPFR's own subnormal arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/numbers/element_type.h"
#include "spec/numbers/primitive.h"

namespace ulpian::oracle {

// The correctly rounded result on F64, F32, F16 or BF16, as a double (which holds it exactly). NaN for NaN.
double value(Primitive primitive, ElementType type, double first, double second = 0);

// |got - the function's value| in units of f64's last place at the value (numerics.md, section 0); infinite where `got` is no number.
double ulps_away(Primitive primitive, double first, double second, double got);

// Decoding by hand, not by the code under test.
double decode(ElementType type, std::uint64_t bits);
std::uint64_t encode_f32(float value);

// The same value, zeros told apart by sign, all NaN alike.
bool same(double a, double b);

const std::vector<Primitive>& unary_functions();

// F32 inputs: every exponent and both signs, specials, neighbours of the functions' turning points, and values drawn where the functions
// are busy. About `count` of them; the same for the same seed.
std::vector<float> f32_samples(std::size_t count, std::uint64_t seed);
std::vector<double> f64_samples(std::size_t count, std::uint64_t seed);

}  // namespace ulpian::oracle
