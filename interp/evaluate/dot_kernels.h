// The inner loops of contractions, once per level of vector instructions.
#pragma once

#include <cstdint>

#include "interp/evaluate/kernels.h"

namespace ulpian::interp::block {

// c[r * c_step + j] continues (or, if `first`, starts at +0) the chain over k positions: c = fma(a[k * rows + r], b[k * b_step + j], c),
// for j < panels * lanes.
using DotTile = void (*)(int rows, int panels, std::int64_t k, const void* a, const void* b, std::int64_t b_step, void* c, std::int64_t c_step, bool first);
// The same for one panel; the term at (k, j) only counts where mask[k * b_step + j] is not 0.
using MaskedDotTile = void (*)(int rows, std::int64_t k, const void* a, const void* b, const std::uint8_t* mask, std::int64_t b_step, void* c,
                               std::int64_t c_step, bool first);

// The same for lanes that lie anywhere: position k begins at x + offsets[k]. masks[k * vectors + v], if given, says which lanes of a vector
// there are; the others count as +0 and are not read. c holds vectors * width lanes per row.
using DirectDotTile = void (*)(int rows, int vectors, std::int64_t k, const void* a, const void* x, const std::int64_t* offsets, const std::uint16_t* masks,
                               void* c, std::int64_t c_step, bool first);

struct DotKernels {
  int rows = 0;    // of a full panel of a
  int lanes = 0;   // of a panel of b
  DotTile tile = nullptr;
  MaskedDotTile masked = nullptr;
  // How many panels of b to give at once where a's panel has so many rows: enough independent chains to hide latency.
  int (*panels)(int rows) = nullptr;
  DirectDotTile direct = nullptr;
  int (*direct_vectors)(int rows) = nullptr;  // at most so many at once; vectors are of lanes / 2
};
// `tile` is null for types without one.
DotKernels dot_kernels(ElementType type, Instructions level);

DotKernels portable_dot_kernels(ElementType type);
DotKernels avx2_dot_kernels(ElementType type);
DotKernels avx512_dot_kernels(ElementType type);

}  // namespace ulpian::interp::block
