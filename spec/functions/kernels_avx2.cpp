#if defined(__x86_64__)
#include "spec/functions/kernels_body.h"

namespace ulpian::kernels {

KernelTable avx2_kernels() { return make_table<Lanes<4>>(); }

}  // namespace ulpian::kernels
#endif
