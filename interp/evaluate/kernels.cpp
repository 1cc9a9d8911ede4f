#include "interp/evaluate/kernels.h"

#include "spec/numbers/philox.h"

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

void random_kernel(void* d, const void* key, const void* position, const void* draw, std::int64_t n) {
  auto* out = static_cast<double*>(d);
  const auto *k = static_cast<const std::int64_t*>(key), *p = static_cast<const std::int64_t*>(position), *w = static_cast<const std::int64_t*>(draw);
  for (std::int64_t i = 0; i < n; ++i) out[i] = random_unit(k[i], p[i], w[i]);
}

}  // namespace ulpian::interp::block
