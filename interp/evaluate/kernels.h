// Typed loops over lanes. One table per level of the machine's vector instructions; every level gives the same bits.
#pragma once

#include <cstdint>

#include "spec/numbers/arithmetic.h"
#include "spec/numbers/element_type.h"
#include "spec/numbers/primitive.h"

namespace ulpian::interp::block {

// What an evaluation may use of the machine. Every level gives the same bits; tests run them all.
enum class Instructions : std::uint8_t { Portable, Avx2, Avx512 };
Instructions best_instructions();

// d[i] = f(a[i], b[i], c[i]) for i < n. `d` may be one of the operands.
using Kernel = void (*)(void* d, const void* a, const void* b, const void* c, std::int64_t n);

// d[0] = the left-full pairwise combination of a[0 .. n), n >= 1: neighbours are joined, then the results' neighbours, and so on; one left
// over moves up. `d` has room for (n + 1) / 2; it may be `a`.
using TreeKernel = void (*)(void* d, const void* a, std::int64_t n);

// d[i] = ((a[0][i] + a[1][i]) + (a[2][i] + a[3][i])) + ((a[4][i] + a[5][i]) + (a[6][i] + a[7][i])).
using EightKernel = void (*)(void* d, const void* const* a, std::int64_t n);

struct KernelTable {
  // `type` is the arguments' type. Z counts as i64 where nothing can overflow the meaning. Null where there is no typed loop.
  Kernel (*primitive)(Primitive p, ElementType type);
  Kernel (*cast)(ElementType from, ElementType to, CastMode mode);
  Kernel (*select)(int width);        // a: conditions (bytes)
  Kernel (*broadcast)(int width);     // d[i] = a[0]
  Kernel (*multiply_add)(ElementType type);  // d = fma(a, b, c), rounded once
  TreeKernel (*tree)(Primitive p, ElementType type);  // Add, Multiply, Minimum, Maximum
  EightKernel (*eight)(ElementType type);
};
const KernelTable& kernels(Instructions level);

// Random numbers (f64) of keys, positions and draws (Z).
void random_kernel(void* d, const void* key, const void* position, const void* draw, std::int64_t n);

// For one level each; see kernels_loops.h.
const KernelTable& portable_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx512_kernels();

}  // namespace ulpian::interp::block
