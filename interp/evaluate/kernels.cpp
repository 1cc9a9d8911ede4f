#include "interp/evaluate/kernels.h"

namespace ulpian::interp::block {

Instructions best_instructions() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return Instructions::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Instructions::Avx2;
#endif
  return Instructions::Portable;
}

const KernelTable& kernels(Instructions level) {
#if defined(__x86_64__)
  if (level == Instructions::Avx512) return avx512_kernels();
  if (level == Instructions::Avx2) return avx2_kernels();
#endif
  (void)level;
  return portable_kernels();
}

}  // namespace ulpian::interp::block
