// All 2^32 arguments of an elementary function on f32: are its results the real function's, rounded once? (numerics.md, section 4.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spec/numbers/primitive.h"

namespace ulpian::audit {

struct Wrong {
  std::uint32_t argument = 0, got = 0, expected = 0;  // bits
};

struct Sweep {
  static constexpr std::uint32_t Block = 4096;  // arguments with consecutive bits, judged by one model
  std::uint64_t arguments = 0;
  std::uint64_t singly = 0;           // judged one by one, by MPFR
  std::uint64_t wrong = 0;
  std::vector<Wrong> examples;        // the first ones
  std::uint64_t digest = 0;           // of all results in order of the arguments' bits, whatever the number of threads
  bool complete = false;
};

// y[i] = f(x[i]) for Block arguments; called from several threads.
using Compute = std::function<void(const float* x, float* y)>;

struct SweepOptions {
  std::uint32_t first = 0, count = 0xffffffff;  // blocks [first, first + count), as far as there are so many
  std::uint32_t stride = 1;           // every so many-th of them
  unsigned threads = 0;               // 0: as many as there are processors
  std::size_t examples = 100;
  std::function<void(double share)> progress;
  std::function<bool()> stop;
};

// Who computes the function is up to the caller: `own` is the function's program (spec/functions/kernels.h), as the interpreter uses it
// where a sweep found nothing wrong. The reference is Arb's on each
// block, and MPFR's where the block's bounds leave an argument open.
Sweep sweep(Primitive function, const Compute& compute, const SweepOptions& options);
Compute own(Primitive function);

// Whether Arb has a form of it here.
bool can_sweep(Primitive function);

}  // namespace ulpian::audit
