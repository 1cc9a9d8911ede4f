// The elementary functions on arrays: the bits of `elementary` (functions.h), fast.
//
// f32 and narrower: an f64 evaluation of known error; where that error leaves the rounding open, and for special values, the slow way.
// The code is compiled for SSE2, AVX2 and AVX-512 and chosen once at run time; all give the same bits, as they execute the same IEEE
// operations on every lane. y may be x. Safe to call from several threads.
#pragma once

#include <cstddef>

#include "spec/numbers/element_type.h"
#include "spec/numbers/primitive.h"

namespace ulpian {

void elementary_array(Primitive primitive, const float* x, float* y, std::size_t count);
void elementary_array(Primitive primitive, const float* x, const float* second, float* y, std::size_t count);

// f64: correctly rounded, by the slow way alone.
void elementary_array(Primitive primitive, const double* x, double* y, std::size_t count);
void elementary_array(Primitive primitive, const double* x, const double* second, double* y, std::size_t count);

// Elements as they are stored (host.h: Storage<T>); every float type, and integers for Power. `second` only for functions of two.
void elementary_array(Primitive primitive, ElementType type, const void* x, const void* second, void* y, std::size_t count);

// A program's value rounded to f32, whether or not it is known to round correctly everywhere: what a sweep judges. Functions of one argument.
void elementary_program(Primitive primitive, const float* x, float* y, std::size_t count);

// The f64 evaluation itself, for an argument that is an f32 value: off by at most elementary_core_error relative to the function, or NaN
// where it has no answer (special values, results that are not finite).
double elementary_core(Primitive primitive, float x, float second = 0);
void elementary_core_array(Primitive primitive, const float* x, const float* second, double* y, std::size_t count);  // `second` of functions of two
double elementary_core_error(Primitive primitive);

}  // namespace ulpian
