#define ULPIAN_TARGET
#define ULPIAN_KERNELS portable_kernels
#define ULPIAN_HAS_FMA 0
#include "interp/evaluate/kernels_loops.h"
