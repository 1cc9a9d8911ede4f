// An elementary function on a sample of f64: how far are its results from the real function's? (numerics.md, section 4.)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spec/numbers/primitive.h"

namespace ulpian::audit {

struct Doubles {
  std::uint64_t arguments = 0;
  std::uint64_t not_nearest = 0;  // results that are another number than the nearest
  std::uint64_t wrong = 0;        // farther away than `MostUlps`, or wrong where the value is no finite number
  double worst = 0.5;             // the largest distance in ULP; 0.5 stands for "at most", where every result is the nearest number
  struct Example {
    double argument = 0, got = 0, expected = 0;
  };
  std::vector<Example> examples;
  bool complete = false;          // not stopped before the last
};

inline constexpr double MostUlps = 0.5001;

struct DoublesOptions {
  std::uint64_t count = 1000000;
  std::uint64_t seed = 1;
  unsigned threads = 0;           // 0: as many as there are processors
  std::size_t examples = 100;
  std::function<void(double share)> progress;
  std::function<bool()> stop;
};

// y[i] = f(x[i]), called from several threads.
using ComputeDoubles = std::function<void(const double* x, double* y, std::size_t count)>;

// The arguments: a third of all f64 alike (every exponent, both signs), a third of f32's range, a third where values are moderate. MPFR says which number is
// the nearest; how far another one is, Arb (reference.h).
Doubles sample_doubles(Primitive function, const ComputeDoubles& compute, const DoublesOptions& options);
ComputeDoubles own_doubles(Primitive function);
// |got - f(x)| in ULP at f(x); 0.5 where `got` is the nearest number; infinite where one of them is no finite number.
double distance_of(Primitive function, double x, double got);

}  // namespace ulpian::audit
