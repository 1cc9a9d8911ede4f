#include "interp/evaluate/dot_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ULPIAN_TARGET [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]]
#define ULPIAN_DOT_KERNELS avx512_dot_kernels
#define ULPIAN_STEP [[gnu::always_inline]] ULPIAN_TARGET static inline

namespace ulpian::interp::block {
namespace {

template <class T> struct Wide;
template <> struct Wide<float> {
  using Vector = __m512;
  static constexpr int Count = 16, Rows = 12, Many = 4;
  ULPIAN_STEP Vector zero() { return _mm512_setzero_ps(); }
  ULPIAN_STEP Vector load(const float* p) { return _mm512_loadu_ps(p); }
  ULPIAN_STEP void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  ULPIAN_STEP Vector broadcast(float x) { return _mm512_set1_ps(x); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  using Mask = __mmask16;
  ULPIAN_STEP Mask mask(const std::uint8_t* p) {
    const __m128i m = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm_test_epi8_mask(m, m);
  }
  ULPIAN_STEP Vector fused_where(Mask m, Vector a, Vector b, Vector c) { return _mm512_mask3_fmadd_ps(a, b, c, m); }
  ULPIAN_STEP Vector load_some(std::uint16_t m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
};
template <> struct Wide<double> {
  using Vector = __m512d;
  static constexpr int Count = 8, Rows = 12, Many = 4;
  ULPIAN_STEP Vector zero() { return _mm512_setzero_pd(); }
  ULPIAN_STEP Vector load(const double* p) { return _mm512_loadu_pd(p); }
  ULPIAN_STEP void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  ULPIAN_STEP Vector broadcast(double x) { return _mm512_set1_pd(x); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
  using Mask = __mmask8;
  ULPIAN_STEP Mask mask(const std::uint8_t* p) {
    const __m128i m = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return static_cast<Mask>(_mm_test_epi8_mask(m, m));
  }
  ULPIAN_STEP Vector fused_where(Mask m, Vector a, Vector b, Vector c) { return _mm512_mask3_fmadd_pd(a, b, c, m); }
  ULPIAN_STEP Vector load_some(std::uint16_t m, const double* p) { return _mm512_maskz_loadu_pd(static_cast<Mask>(m), p); }
};
template <> struct Wide<std::uint32_t> {
  using Vector = __m512i;
  static constexpr int Count = 16, Rows = 12, Many = 4;
  ULPIAN_STEP Vector zero() { return _mm512_setzero_si512(); }
  ULPIAN_STEP Vector load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
  ULPIAN_STEP void store(std::uint32_t* p, Vector v) { _mm512_storeu_si512(p, v); }
  ULPIAN_STEP Vector broadcast(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm512_add_epi32(_mm512_mullo_epi32(a, b), c); }
};
template <> struct Wide<std::uint64_t> {
  using Vector = __m512i;
  static constexpr int Count = 8, Rows = 12, Many = 4;
  ULPIAN_STEP Vector zero() { return _mm512_setzero_si512(); }
  ULPIAN_STEP Vector load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
  ULPIAN_STEP void store(std::uint64_t* p, Vector v) { _mm512_storeu_si512(p, v); }
  ULPIAN_STEP Vector broadcast(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  ULPIAN_STEP Vector fused(Vector a, Vector b, Vector c) { return _mm512_add_epi64(_mm512_mullo_epi64(a, b), c); }
};

}  // namespace
}  // namespace ulpian::interp::block

#include "interp/evaluate/dot_loops.h"
#endif
