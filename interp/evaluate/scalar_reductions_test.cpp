// The scalar evaluator's tests of reductions once more, with the block evaluator beside it.
#include "interp/evaluate/both.h"

#define evaluate_scalar testing::evaluate_both
#include "interp/scalar/reductions_test.cpp"  // NOLINT: the cases are the point
