// The tiles of dot_kernels.h, compiled once per level: each file that includes this defines ULPIAN_TARGET, ULPIAN_DOT_KERNELS, and the vectors
// Wide<T> with load, store, broadcast and fused. Nothing here may be visible outside its file.

namespace ulpian::interp::block {
namespace {

// R rows by N panels of two vectors each.
template <class T, int R, int N>
ULPIAN_TARGET void tile_of(std::int64_t k, const T* a, const T* b, std::int64_t b_step, T* c, std::int64_t c_step, bool first) {
  using W = Wide<T>;
  constexpr int V = 2 * N;  // vectors per row
  typename W::Vector sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[r][v] = first ? W::zero() : W::load(c + r * c_step + v * W::Count);
  for (std::int64_t p = 0; p < k; ++p) {
    typename W::Vector x[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) x[v] = W::load(b + v * W::Count);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename W::Vector y = W::broadcast(a[r]);
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[r][v] = W::fused(y, x[v], sum[r][v]);
    }
    a += R;
    b += b_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) W::store(c + r * c_step + v * W::Count, sum[r][v]);
}

template <class T, int R>
ULPIAN_TARGET void masked_tile_of(std::int64_t k, const T* a, const T* b, const std::uint8_t* mask, std::int64_t b_step, T* c, std::int64_t c_step, bool first) {
  using W = Wide<T>;
  typename W::Vector sum[R][2];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < 2; ++v) sum[r][v] = first ? W::zero() : W::load(c + r * c_step + v * W::Count);
  for (std::int64_t p = 0; p < k; ++p) {
    const typename W::Vector x0 = W::load(b), x1 = W::load(b + W::Count);
    const typename W::Mask m0 = W::mask(mask), m1 = W::mask(mask + W::Count);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename W::Vector y = W::broadcast(a[r]);
      sum[r][0] = W::fused_where(m0, y, x0, sum[r][0]);
      sum[r][1] = W::fused_where(m1, y, x1, sum[r][1]);
    }
    a += R;
    b += b_step;
    mask += b_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < 2; ++v) W::store(c + r * c_step + v * W::Count, sum[r][v]);
}

template <class T, int R>
void masked_tile_from(int rows, std::int64_t k, const T* a, const T* b, const std::uint8_t* mask, std::int64_t b_step, T* c, std::int64_t c_step, bool first) {
  if (rows == R) return masked_tile_of<T, R>(k, a, b, mask, b_step, c, c_step, first);
  if constexpr (R > 1) masked_tile_from<T, R - 1>(rows, k, a, b, mask, b_step, c, c_step, first);
}

template <class T>
void masked_tile(int rows, std::int64_t k, const void* a, const void* b, const std::uint8_t* mask, std::int64_t b_step, void* c, std::int64_t c_step, bool first) {
  masked_tile_from<T, Wide<T>::Rows>(rows, k, static_cast<const T*>(a), static_cast<const T*>(b), mask, b_step, static_cast<T*>(c), c_step, first);
}

template <class T, int N>
void tile(int rows, int panels, std::int64_t k, const void* pa, const void* pb, std::int64_t b_step, void* pc, std::int64_t c_step, bool first) {
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  T* c = static_cast<T*>(pc);
  constexpr int Most = Wide<T>::Rows;
  if (panels == 4) {
    if (rows == 1) return tile_of<T, 1, 4>(k, a, b, b_step, c, c_step, first);
    if (rows == 2) return tile_of<T, 2, Wide<T>::Many>(k, a, b, b_step, c, c_step, first);
  }
  if (panels == 2) {
    if (rows == 1) return tile_of<T, 1, 2>(k, a, b, b_step, c, c_step, first);
    if (rows == 2) return tile_of<T, 2, 2>(k, a, b, b_step, c, c_step, first);
    if (rows == 3) return tile_of<T, 3, 2>(k, a, b, b_step, c, c_step, first);
    if constexpr (Most > 6)
      if (rows == 4) return tile_of<T, 4, 2>(k, a, b, b_step, c, c_step, first);
  }
  switch (rows) {
    case 1: return tile_of<T, 1, 1>(k, a, b, b_step, c, c_step, first);
    case 2: return tile_of<T, 2, 1>(k, a, b, b_step, c, c_step, first);
    case 3: return tile_of<T, 3, 1>(k, a, b, b_step, c, c_step, first);
    case 4: return tile_of<T, 4, 1>(k, a, b, b_step, c, c_step, first);
    default: break;
  }
  if constexpr (Most >= 6) {
    if (rows == 5) return tile_of<T, 5, 1>(k, a, b, b_step, c, c_step, first);
    if (rows == 6) return tile_of<T, 6, 1>(k, a, b, b_step, c, c_step, first);
  }
  if constexpr (Most >= 12) {
    switch (rows) {
      case 7: return tile_of<T, 7, 1>(k, a, b, b_step, c, c_step, first);
      case 8: return tile_of<T, 8, 1>(k, a, b, b_step, c, c_step, first);
      case 9: return tile_of<T, 9, 1>(k, a, b, b_step, c, c_step, first);
      case 10: return tile_of<T, 10, 1>(k, a, b, b_step, c, c_step, first);
      case 11: return tile_of<T, 11, 1>(k, a, b, b_step, c, c_step, first);
      case 12: return tile_of<T, 12, 1>(k, a, b, b_step, c, c_step, first);
      default: break;
    }
  }
}

// R rows by V vectors, read where they lie.
template <class T, int R, int V, bool Masked>
ULPIAN_TARGET void direct_tile_of(std::int64_t k, const T* a, const T* x, const std::int64_t* offsets, const std::uint16_t* masks, T* c, std::int64_t c_step, bool first) {
  using W = Wide<T>;
  typename W::Vector sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[r][v] = first ? W::zero() : W::load(c + r * c_step + v * W::Count);
  for (std::int64_t p = 0; p < k; ++p) {
    const T* from = x + offsets[p];
    typename W::Vector lanes[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      // Loads of nothing are slow where there is no memory at all: far outside.
      if constexpr (Masked) lanes[v] = masks[v] == 0 ? W::zero() : W::load_some(masks[v], from + v * W::Count);
      else lanes[v] = W::load(from + v * W::Count);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename W::Vector y = W::broadcast(a[r]);
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[r][v] = W::fused(y, lanes[v], sum[r][v]);
    }
    a += R;
    if constexpr (Masked) masks += V;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) W::store(c + r * c_step + v * W::Count, sum[r][v]);
}

// As many vectors as leave registers for the sums.
template <class T> constexpr int most_vectors(int rows) {
  if (rows == 1) return 8;
  if (rows == 2) return 4;
  return rows <= 6 && Wide<T>::Rows > 6 ? 4 : 2;
}

template <class T, int R, int V>
void direct_tile_from(int rows, int vectors, std::int64_t k, const T* a, const T* x, const std::int64_t* offsets, const std::uint16_t* masks, T* c, std::int64_t c_step, bool first) {
  if (rows == R && vectors == V) {
    if (masks) return direct_tile_of<T, R, V, true>(k, a, x, offsets, masks, c, c_step, first);
    return direct_tile_of<T, R, V, false>(k, a, x, offsets, masks, c, c_step, first);
  }
  if (rows == R) {
    if constexpr (V > 1) direct_tile_from<T, R, V - 1>(rows, vectors, k, a, x, offsets, masks, c, c_step, first);
  } else if constexpr (R > 1) {
    direct_tile_from<T, R - 1, most_vectors<T>(R - 1)>(rows, vectors, k, a, x, offsets, masks, c, c_step, first);
  }
}

template <class T>
void direct_tile(int rows, int vectors, std::int64_t k, const void* a, const void* x, const std::int64_t* offsets, const std::uint16_t* masks, void* c, std::int64_t c_step, bool first) {
  constexpr int Most = Wide<T>::Rows;
  direct_tile_from<T, Most, most_vectors<T>(Most)>(rows, vectors, k, static_cast<const T*>(a), static_cast<const T*>(x), offsets, masks, static_cast<T*>(c), c_step, first);
}

template <class T> int panels_for(int rows) {
  if (rows == 1) return 4;
  if (rows == 2) return Wide<T>::Many;
  return rows == 3 || (rows == 4 && Wide<T>::Rows > 6) ? 2 : 1;
}

template <class T> DotKernels kernels_of() { return {Wide<T>::Rows, 2 * Wide<T>::Count, tile<T, 1>, nullptr, panels_for<T>, nullptr, nullptr}; }
template <class T> DotKernels kernels_with_masks() {
  DotKernels k = kernels_of<T>();
  k.masked = masked_tile<T>;
  k.direct = direct_tile<T>;
  k.direct_vectors = most_vectors<T>;
  return k;
}

}  // namespace

DotKernels ULPIAN_DOT_KERNELS(ElementType type) {
  if (type == ElementType::F32) return kernels_with_masks<float>();
  if (type == ElementType::F64) return kernels_with_masks<double>();
  if (type == ElementType::I32 || type == ElementType::U32) return kernels_of<std::uint32_t>();
  if (type == ElementType::I64 || type == ElementType::U64) return kernels_of<std::uint64_t>();
  return {};
}

}  // namespace ulpian::interp::block
