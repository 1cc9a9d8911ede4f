#if defined(__x86_64__)
#if defined(__clang__)
#define ULPIAN_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")]]
#else
#define ULPIAN_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")]]
#endif
#define ULPIAN_KERNELS avx512_kernels
#define ULPIAN_HAS_FMA 1
#include "interp/evaluate/kernels_loops.h"
#endif
