// For machines without fused multiply-add: f32 through f64, the sum rounded to odd, so that rounding it once more to f32 is the only rounding
// that shows; f64 by the C library's exact one.
#include <bit>
#include <cstdint>

#include "interp/evaluate/dot_kernels.h"

#define ULPIAN_TARGET
#define ULPIAN_DOT_KERNELS portable_dot_kernels

namespace ulpian::interp::block {
namespace {

inline float fused_once(float a, float b, float c) {
  const double p = static_cast<double>(a) * static_cast<double>(b), z = static_cast<double>(c);
  const double s = p + z, bb = s - p;
  const double rest = (p - (s - bb)) + (z - bb);
  const auto bits = std::bit_cast<std::uint64_t>(s);
  const bool inexact = (rest > 0) | (rest < 0), even = (bits & 1) == 0, away = (rest > 0) == (s > 0);
  const std::uint64_t step = (inexact & even) ? (away ? std::uint64_t{1} : ~std::uint64_t{0}) : std::uint64_t{0};
  return static_cast<float>(std::bit_cast<double>(bits + step));
}
inline double fused_once(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline std::uint32_t fused_once(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a * b + c; }
inline std::uint64_t fused_once(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return a * b + c; }

template <class T> struct Wide {
  static constexpr int Count = 4, Rows = 4, Many = 2;
  struct Vector {
    T x[Count];
  };
  static Vector zero() { return {}; }
  static Vector load(const T* p) { return {{p[0], p[1], p[2], p[3]}}; }
  static void store(T* p, Vector v) {
    for (int k = 0; k < Count; ++k) p[k] = v.x[k];
  }
  static Vector broadcast(T x) { return {{x, x, x, x}}; }
  using Mask = const std::uint8_t*;
  static Mask mask(const std::uint8_t* p) { return p; }
  static Vector fused_where(Mask m, Vector a, Vector b, Vector c) {
    for (int k = 0; k < Count; ++k)
      if (m[k] != 0) c.x[k] = fused_once(a.x[k], b.x[k], c.x[k]);
    return c;
  }
  static Vector load_some(std::uint16_t m, const T* p) {
    Vector v{};
    for (int k = 0; k < Count; ++k)
      if ((m >> k & 1) != 0) v.x[k] = p[k];
    return v;
  }
  static Vector fused(Vector a, Vector b, Vector c) {
    for (int k = 0; k < Count; ++k) c.x[k] = fused_once(a.x[k], b.x[k], c.x[k]);
    return c;
  }
};

}  // namespace
}  // namespace ulpian::interp::block

#include "interp/evaluate/dot_loops.h"

namespace ulpian::interp::block {

DotKernels dot_kernels(ElementType type, Instructions level) {
#if defined(__x86_64__)
  if (level == Instructions::Avx512) return avx512_dot_kernels(type);
  if (level == Instructions::Avx2) return avx2_dot_kernels(type);
#endif
  (void)level;
  return portable_dot_kernels(type);
}

}  // namespace ulpian::interp::block
