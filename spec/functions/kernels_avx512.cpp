#if defined(__x86_64__)
#include "spec/functions/kernels_body.h"

namespace ulpian::kernels {

KernelTable avx512_kernels() { return make_table<Lanes<8>>(); }

}  // namespace ulpian::kernels
#endif
