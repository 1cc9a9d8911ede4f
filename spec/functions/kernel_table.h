// What one compilation of the kernels offers, and what is promised of it. Private to this folder and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spec/numbers/primitive.h"

namespace ulpian::kernels {

// Arguments are handed over in blocks; counts are rounded up to whole vectors, so every array has BlockSize elements.
inline constexpr std::size_t BlockSize = 256;

// y[i] is the result on f32 unless doubtful[i] != 0, which says: ask the slow way. Returns whether any is.
using FloatBlock = bool (*)(const float* x, const float* second, float* y, std::int32_t* doubtful, std::size_t count);
// The f64 value: within error_bound of the function relative to it, or NaN, which says: ask the slow way.
using CoreBlock = void (*)(const float* x, const float* second, double* y, std::size_t count);

// y[i] is the result on f64, but for the payload of NaN.
using DoubleBlock = void (*)(const double* x, const double* second, double* y, std::size_t count);

struct KernelTable {
  FloatBlock f32[PrimitiveCount];  // null where the primitive is not elementary
  CoreBlock core[PrimitiveCount];
  DoubleBlock f64[PrimitiveCount];  // null also where no program for f64 is written yet
};

KernelTable baseline_kernels();
#if defined(__x86_64__)
KernelTable avx2_kernels();
KernelTable avx512_kernels();
bool has_avx2();
bool has_avx512();
#endif

// The largest relative error of a core, as the rounding test assumes it; docs/functions.md says how it is known.
constexpr double error_bound(Primitive primitive) {
  switch (primitive) {
    case Primitive::GeluTanh: return 0x1p-41;  // ample: its exponent, up to 105, is the sum of two numbers
    default: return 0x1p-44;
  }
}

}  // namespace ulpian::kernels
