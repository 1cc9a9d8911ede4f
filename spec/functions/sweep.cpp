// ulpian_functions_sweep FUNCTION [STEP [OFFSET]]: an f32 function of one argument on every STEP-th of all 2^32 inputs, the fast way against
// the slow one. Prints differences, how often the fast way asked the slow one, and the largest error of the f64 core. STEP 1 takes hours.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "spec/functions/kernel_table.h"
#include "spec/functions/kernels.h"
#include "spec/functions/real_function.h"
#include "spec/numbers/host.h"

namespace ulpian {
namespace {

struct Sweep {
  std::uint64_t inputs = 0;
  std::uint64_t differences = 0;
  std::uint64_t refused = 0;  // numbers for which the core had no answer
  double worst = 0;
  float where = 0;

  void one(Primitive function, float x, float y) {
    const real::Cut exact = real::evaluate(function, x, 0);
    const float expected = host::round_to<ElementType::F32>(real::odd_double(exact));
    ++inputs;
    if (std::bit_cast<std::uint32_t>(expected) != std::bit_cast<std::uint32_t>(y)) {
      if (++differences <= 10) fmt::print("{}({:a}) = {:a}, expected {:a}\n", name_of(function), x, y, expected);
    }
    const double truth = real::nearest_double(exact);
    if (!std::isfinite(truth) || std::fabs(truth) < 0x1p-151 || std::fabs(truth) > 0x1p129) return;
    const double core = elementary_core(function, x);
    if (std::isnan(core)) {
      ++refused;
      return;
    }
    const double error = std::fabs((core - truth) / truth);
    if (error > worst) {
      worst = error;
      where = x;
    }
  }
};

int sweep(Primitive function, std::uint64_t step, std::uint64_t offset) {
  Sweep result;
  constexpr std::size_t Block = 4096;
  float x[Block];
  float y[Block];
  for (std::uint64_t next = offset; next < (std::uint64_t{1} << 32);) {
    std::size_t n = 0;
    for (; n < Block && next < (std::uint64_t{1} << 32); next += step) x[n++] = std::bit_cast<float>(static_cast<std::uint32_t>(next));
    elementary_array(function, x, y, n);
    for (std::size_t i = 0; i < n; ++i) result.one(function, x[i], y[i]);
  }
  fmt::print("{:10} inputs {}, differences {}, numbers left to the slow way {}, largest error of the core {:.3g} at {:a} (bound {:.3g})\n",
             name_of(function), result.inputs, result.differences, result.refused, result.worst, result.where,
             elementary_core_error(function));
  return result.differences == 0 && result.worst < elementary_core_error(function) ? 0 : 1;
}

}  // namespace
}  // namespace ulpian

int main(int argc, char** argv) {
  const auto function = argc >= 2 ? ulpian::primitive_named(argv[1], 1) : std::nullopt;
  const std::uint64_t step = argc >= 3 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (!function || ulpian::row_of(*function).kind != ulpian::PrimitiveKind::Elementary || step == 0) {
    fmt::print(stderr, "usage: ulpian_functions_sweep FUNCTION [STEP [OFFSET]]\n"
                       "FUNCTION: an elementary function of one argument (exp, tanh, gelu, ...)\n");
    return 2;
  }
  return ulpian::sweep(*function, step, argc >= 4 ? std::strtoull(argv[3], nullptr, 10) : 0);
}
