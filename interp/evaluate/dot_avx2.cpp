#include "interp/evaluate/dot_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ULPIAN_TARGET [[gnu::target("avx2,fma")]]
#define ULPIAN_DOT_KERNELS avx2_dot_kernels
#define ULPIAN_STEP [[gnu::always_inline]] ULPIAN_TARGET static inline

namespace ulpian::interp::block {
namespace {

template <class T> struct Wide;
template <> struct Wide<float> {
  using Vector = __m256;
  static constexpr int Count = 8, Rows = 6, Many = 2;
  ULPIAN_STEP Vector zero() { return _mm256_setzero_ps(); }
  ULPIAN_STEP Vector load(const float* p) { return _mm256_loadu_ps(p); }
  ULPIAN_STEP void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  ULPIAN_STEP Vector broadcast(float x) { return _mm256_set1_ps(x); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  using Mask = __m256;
  ULPIAN_STEP Mask mask(const std::uint8_t* p) {
    const __m256i m = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(m, _mm256_setzero_si256()));
  }
  ULPIAN_STEP Vector fused_where(Mask m, Vector a, Vector b, Vector c) { return _mm256_blendv_ps(c, _mm256_fmadd_ps(a, b, c), m); }
  ULPIAN_STEP Vector load_some(std::uint16_t m, const float* p) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), mine = _mm256_and_si256(_mm256_set1_epi32(m), bits);
    return _mm256_maskload_ps(p, _mm256_cmpeq_epi32(mine, bits));
  }
};
template <> struct Wide<double> {
  using Vector = __m256d;
  static constexpr int Count = 4, Rows = 6, Many = 2;
  ULPIAN_STEP Vector zero() { return _mm256_setzero_pd(); }
  ULPIAN_STEP Vector load(const double* p) { return _mm256_loadu_pd(p); }
  ULPIAN_STEP void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  ULPIAN_STEP Vector broadcast(double x) { return _mm256_set1_pd(x); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  using Mask = __m256d;
  ULPIAN_STEP Mask mask(const std::uint8_t* p) {
    const std::uint32_t four = static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
    const __m256i m = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(static_cast<int>(four)));
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(m, _mm256_setzero_si256()));
  }
  ULPIAN_STEP Vector fused_where(Mask m, Vector a, Vector b, Vector c) { return _mm256_blendv_pd(c, _mm256_fmadd_pd(a, b, c), m); }
  ULPIAN_STEP Vector load_some(std::uint16_t m, const double* p) {
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8), mine = _mm256_and_si256(_mm256_set1_epi64x(m), bits);
    return _mm256_maskload_pd(p, _mm256_cmpeq_epi64(mine, bits));
  }
};
template <> struct Wide<std::uint32_t> {
  using Vector = __m256i;
  static constexpr int Count = 8, Rows = 6, Many = 2;
  ULPIAN_STEP Vector zero() { return _mm256_setzero_si256(); }
  ULPIAN_STEP Vector load(const std::uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Vector*>(p)); }
  ULPIAN_STEP void store(std::uint32_t* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<Vector*>(p), v); }
  ULPIAN_STEP Vector broadcast(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c); }
};
// No 64-bit product of integers here: two numbers, plainly.
template <> struct Wide<std::uint64_t> {
  struct Vector {
    std::uint64_t x, y;
  };
  static constexpr int Count = 2, Rows = 4, Many = 2;
  ULPIAN_STEP Vector zero() { return {0, 0}; }
  ULPIAN_STEP Vector load(const std::uint64_t* p) { return {p[0], p[1]}; }
  ULPIAN_STEP void store(std::uint64_t* p, Vector v) {
    p[0] = v.x;
    p[1] = v.y;
  }
  ULPIAN_STEP Vector broadcast(std::uint64_t x) { return {x, x}; }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return {a.x * b.x + c.x, a.y * b.y + c.y}; }
};

}  // namespace
}  // namespace ulpian::interp::block

#include "interp/evaluate/dot_loops.h"
#endif
