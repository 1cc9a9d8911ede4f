// The scalar evaluator's own tests once more, with the block evaluator beside it.
#include "interp/evaluate/both.h"

#define evaluate_scalar testing::evaluate_both
#include "interp/scalar/scalar_test.cpp"  // NOLINT: the cases are the point
