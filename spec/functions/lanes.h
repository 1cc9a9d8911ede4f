// N doubles at a time, by the vector extension that gcc and clang share. Every operation here is IEEE 754's on each lane alone, so a
// result does not depend on N. Included only by the kernels, whose files are compiled for one machine each: all of it has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ulpian::kernels {
namespace {

template <int N> struct Lanes;  // the vector types are not dependent: gcc ignores the attribute on dependent ones in places
template <> struct Lanes<2> {
  static constexpr int Count = 2;
  typedef double D __attribute__((vector_size(16)));
  typedef std::int64_t I __attribute__((vector_size(16)));
  typedef std::uint64_t U __attribute__((vector_size(16)));
  typedef float F __attribute__((vector_size(8)));
  typedef std::int32_t M __attribute__((vector_size(8)));
};
#if defined(__AVX2__)
template <> struct Lanes<4> {
  static constexpr int Count = 4;
  typedef double D __attribute__((vector_size(32)));
  typedef std::int64_t I __attribute__((vector_size(32)));
  typedef std::uint64_t U __attribute__((vector_size(32)));
  typedef float F __attribute__((vector_size(16)));
  typedef std::int32_t M __attribute__((vector_size(16)));
};
#endif
#if defined(__AVX512F__)
template <> struct Lanes<8> {
  static constexpr int Count = 8;
  typedef double D __attribute__((vector_size(64)));
  typedef std::int64_t I __attribute__((vector_size(64)));
  typedef std::uint64_t U __attribute__((vector_size(64)));
  typedef float F __attribute__((vector_size(32)));
  typedef std::int32_t M __attribute__((vector_size(32)));
};
#endif

template <class L> using D = typename L::D;
template <class L> using I = typename L::I;
template <class L> using U = typename L::U;

template <class L> inline D<L> all(double x) { return D<L>{} + x; }
template <class L> inline I<L> bits(D<L> x) { return (I<L>)x; }
template <class L> inline D<L> from_bits(I<L> x) { return (D<L>)x; }
template <class L> inline D<L> select(I<L> condition, D<L> yes, D<L> no) { return condition ? yes : no; }
template <class L> inline D<L> absolute(D<L> x) { return from_bits<L>(bits<L>(x) & INT64_MAX); }
// The magnitude of x with the sign of s.
template <class L> inline D<L> with_sign(D<L> x, D<L> s) { return from_bits<L>((bits<L>(x) & INT64_MAX) | (bits<L>(s) & INT64_MIN)); }
// NaN stays NaN in both.
template <class L> inline D<L> at_most(D<L> x, double limit) { return select<L>(x > limit, all<L>(limit), x); }
template <class L> inline D<L> at_least(D<L> x, double limit) { return select<L>(x < limit, all<L>(limit), x); }
template <class L> inline D<L> nan_unless(I<L> condition, D<L> x) { return select<L>(condition, x, all<L>(__builtin_nan(""))); }

template <class L> inline D<L> square_root(D<L> x) {
#if defined(__x86_64__)
  if constexpr (L::Count == 2) return _mm_sqrt_pd(x);
#if defined(__AVX2__)
  if constexpr (L::Count == 4) return _mm256_sqrt_pd(x);
#endif
#if defined(__AVX512F__)
  if constexpr (L::Count == 8) return _mm512_sqrt_pd(x);
#endif
#else
  for (int i = 0; i < L::Count; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

// a * b + c, rounded once: the instruction, which AArch64 and RISC-V have for one lane. Where there is none, glibc's fma: the same bits, slowly.
template <class L> inline D<L> fused(D<L> a, D<L> b, D<L> c) {
#if defined(__AVX512F__)
  if constexpr (L::Count == 8) return _mm512_fmadd_pd(a, b, c);
#endif
#if defined(__FMA__)
  if constexpr (L::Count == 4) return _mm256_fmadd_pd(a, b, c);
#endif
  for (int i = 0; i < L::Count; ++i) a[i] = __builtin_fma(a[i], b[i], c[i]);
  return a;
}

// Adding it rounds |x| < 2^51 to an integer (half to even), which then stands in the low bits.
constexpr double RoundingShift = 0x1.8p52;

// 2^n, where `shifted` is n + RoundingShift and -1022 <= n <= 1023.
template <class L> inline D<L> power_of_two(D<L> shifted) {
  return (D<L>)(((U<L>)shifted << 52) + (UINT64_C(1023) << 52));  // unsigned: a NaN may wrap
}

// Even and odd terms apart: half the length of the chain of operations.
template <class L, int Terms> inline D<L> polynomial(D<L> x, const double (&c)[Terms]) {
  const D<L> xx = x * x;
  constexpr int LastEven = (Terms - 1) & ~1;
  constexpr int LastOdd = (Terms - 2) | 1;
  D<L> even = all<L>(c[LastEven]);
  for (int i = LastEven - 2; i >= 0; i -= 2) even = even * xx + c[i];
  D<L> odd = all<L>(c[LastOdd]);
  for (int i = LastOdd - 2; i >= 1; i -= 2) odd = odd * xx + c[i];
  return even + odd * x;
}

}  // namespace
}  // namespace ulpian::kernels
