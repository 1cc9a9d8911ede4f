#include "spec/functions/kernels_body.h"

namespace ulpian::kernels {

KernelTable baseline_kernels() { return make_table<Lanes<2>>(); }

}  // namespace ulpian::kernels
