#include "tools/audit/doubles.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

#include "spec/functions/kernels.h"
#include "spec/functions/real_function.h"
#include "spec/numbers/arithmetic.h"
#include "spec/numbers/ensure.h"
#include "tools/audit/reference.h"

namespace ulpian::audit {
namespace {

constexpr std::size_t Portion = 4096;

double argument(std::mt19937_64& random) {
  const std::uint64_t word = random();
  const auto with_exponent = [&](std::uint64_t biased) { return std::bit_cast<double>((word & ~(UINT64_C(0x7ff) << 52)) | biased << 52); };
  switch (random() % 3) {
    case 0: return std::bit_cast<double>(word);
    case 1: return with_exponent(1023 - 150 + random() % 280);
    default: {
      const double width = std::array{1.0, 8.0, 50.0, 750.0}[random() % 4];
      return (static_cast<double>(word >> 11) * 0x1p-52 - 1) * width;
    }
  }
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (a != a && b != b); }

double nearest(Primitive p, double x) {
  if (p == Primitive::SquareRoot) return std::sqrt(x);  // IEEE 754 rounds these
  if (p == Primitive::Reciprocal) return 1 / x;
  return real::nearest_double(real::evaluate(p, x, 0));
}

// |got - f(x)| in ULP at f(x); infinite where Arb cannot enclose the value.
double distance(Reference& reference, double x, double got, double expected) {
  Model m;
  if (!std::isfinite(got) || !std::isfinite(expected) || reference.enclose(x, 0, m) != Kind::Modelled) return HUGE_VAL;
  const int exponent = std::max(std::ilogb(m.high), -1022);
  return std::ldexp(std::fabs((m.high - got) + m.low) + m.error, 52 - exponent);
}

}  // namespace

double distance_of(Primitive function, double x, double got) {
  const double expected = nearest(function, x);
  return same(got, expected) ? 0.5 : distance(*Reference::of(function), x, got, expected);
}

ComputeDoubles own_doubles(Primitive function) {
  if (row_of(function).kind == PrimitiveKind::Elementary) return [function](const double* x, double* y, std::size_t n) { elementary_array(function, x, y, n); };
  return [function](const double* x, double* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const Bits a = std::bit_cast<Bits>(x[i]);
      y[i] = std::bit_cast<double>(apply(function, ElementType::F64, std::span(&a, 1)));
    }
  };
}

Doubles sample_doubles(Primitive function, const ComputeDoubles& compute, const DoublesOptions& options) {
  ensure(Reference::of(function) != nullptr, "a function that the reference has");
  Doubles result;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> stopped = false;
  const std::uint64_t portions = (options.count + Portion - 1) / Portion;
  const unsigned threads = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> workers;
    for (unsigned w = 0; w < threads; ++w)
      workers.emplace_back([&] {
        const auto reference = Reference::of(function);
        std::array<double, Portion> x, y;
        for (std::uint64_t k; !stopped && (k = next++) < portions;) {
          std::mt19937_64 random(options.seed * UINT64_C(0x9e3779b97f4a7c15) + k);  // the same arguments whoever computes them
          const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(Portion, options.count - k * Portion));
          for (std::size_t i = 0; i < n; ++i) x[i] = argument(random);
          compute(x.data(), y.data(), n);
          Doubles own;
          for (std::size_t i = 0; i < n; ++i) {
            const double expected = nearest(function, x[i]);
            if (same(y[i], expected)) continue;
            ++own.not_nearest;
            const double away = distance(*reference, x[i], y[i], expected);
            own.worst = std::max(own.worst, away);
            if (away <= MostUlps) continue;
            ++own.wrong;
            if (own.examples.size() < options.examples) own.examples.push_back({x[i], y[i], expected});
          }
          const std::lock_guard lock(mutex);
          result.arguments += n;
          result.not_nearest += own.not_nearest;
          result.wrong += own.wrong;
          result.worst = std::max(result.worst, own.worst);
          result.examples.insert(result.examples.end(), own.examples.begin(), own.examples.end());
          if (options.progress) options.progress(static_cast<double>(result.arguments) / static_cast<double>(options.count));
          if (options.stop && options.stop()) stopped = true;
        }
      });
  }
  result.complete = result.arguments == options.count;
  std::sort(result.examples.begin(), result.examples.end(), [](const Doubles::Example& a, const Doubles::Example& b) { return a.argument < b.argument; });
  if (result.examples.size() > options.examples) result.examples.resize(options.examples);
  return result;
}

}  // namespace ulpian::audit
