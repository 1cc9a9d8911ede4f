// An elementary function on a sample of its arguments, where they are too many to try them all (f64; two of f32): how far are its results from the real
// function's? (numerics.md, section 4.)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spec/numbers/element_type.h"
#include "spec/numbers/primitive.h"

namespace ulpian::audit {

struct Sample {
  std::uint64_t arguments = 0;    // or pairs of them
  std::uint64_t not_nearest = 0;  // results that are another number than the nearest
  std::uint64_t wrong = 0;        // farther away than `most_ulps`, or wrong where the value is no finite number
  double worst = 0.5;             // the largest distance in ULP; 0.5 stands for "at most", where every result is the nearest number
  struct Example {
    double argument = 0, second = 0, got = 0, expected = 0;
  };
  std::vector<Example> examples;
  bool complete = false;          // not stopped before the last
};

// f32's results are to be the nearest number.
constexpr double most_ulps(ElementType type) { return type == ElementType::F64 ? 0.5001 : 0.5; }

struct SampleOptions {
  std::uint64_t count = 1000000;
  std::uint64_t seed = 1;
  unsigned threads = 0;           // 0: as many as there are processors
  std::size_t examples = 100;
  std::function<void(double share)> progress;
  std::function<bool()> stop;
};

// y[i] = f(x[i]), or f(x[i], second[i]), called from several threads. Of f32 the doubles hold numbers of that type.
using ComputeSample = std::function<void(const double* x, const double* second, double* y, std::size_t count)>;

// Functions of one argument that the reference has, and all of two.
bool can_sample(Primitive function);
// The arguments: a third of all numbers of the type alike (every exponent, both signs), a third of about f32's range, a third where values are moderate. A second
// argument is drawn so too, or near the first, or with few digits, or so that its product with the first's logarithm is moderate. MPFR says which number is the
// nearest; how far another one is, Arb.
Sample sample(Primitive function, ElementType type, const ComputeSample& compute, const SampleOptions& options);
ComputeSample own_sample(Primitive function, ElementType type);
// |got - f(x)| in ULP of f64 at f(x); 0.5 where `got` is the nearest number; infinite where one of them is no finite number.
double distance_of(Primitive function, double x, double got);
double distance_of(Primitive function, double x, double second, double got);

}  // namespace ulpian::audit
