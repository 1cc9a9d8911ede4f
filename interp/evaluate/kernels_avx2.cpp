#if defined(__x86_64__)
#define ULPIAN_TARGET [[gnu::target("avx2,fma,f16c")]]
#define ULPIAN_KERNELS avx2_kernels
#define ULPIAN_HAS_FMA 1
#include "interp/evaluate/kernels_loops.h"
#endif
