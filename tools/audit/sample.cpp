#include "tools/audit/sample.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

#include <arb.h>

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

double second_argument(std::mt19937_64& random, double x) {
  const auto moderate = [&](double width) { return (static_cast<double>(random() >> 11) * 0x1p-52 - 1) * width; };
  switch (random() % 4) {
    case 0: return argument(random);
    case 1: return x * std::ldexp(moderate(1), static_cast<int>(random() % 60) - 30);
    case 2: return std::ldexp(std::rint(moderate(64)), -static_cast<int>(random() % 5));
    default: return moderate(std::array{2.0, 150.0, 1100.0}[random() % 3]) / std::log2(std::fabs(x));
  }
}

double of_type(ElementType type, double v) { return type == ElementType::F32 ? static_cast<double>(static_cast<float>(v)) : v; }

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (a != a && b != b); }

double nearest(Primitive p, ElementType type, double x, double second) {
  if (p == Primitive::SquareRoot) return std::sqrt(x);  // IEEE 754 rounds these
  if (p == Primitive::Reciprocal) return 1 / x;
  const real::Cut value = real::evaluate(p, x, second);
  return type == ElementType::F32 ? static_cast<double>(static_cast<float>(real::odd_double(value))) : real::nearest_double(value);
}

double ulps(double difference, double value) { return std::ldexp(difference, 52 - std::max(std::ilogb(value), -1022)); }

// |got - f(x)| in ULP; infinite where Arb cannot enclose the value.
double distance(Reference& reference, double x, double got, double expected) {
  Model m;
  if (!std::isfinite(got) || !std::isfinite(expected) || reference.enclose(x, 0, m) != Kind::Modelled) return HUGE_VAL;
  return ulps(std::fabs((m.high - got) + m.low) + m.error, m.high);
}

using Binary = void (*)(arb_ptr, arb_srcptr, arb_srcptr, slong);

Binary binary_of(Primitive p) {
  switch (p) {
    case Primitive::Power: return [](arb_ptr z, arb_srcptr x, arb_srcptr y, slong precision) { arb_pow(z, x, y, precision); };
    case Primitive::Atan2: return [](arb_ptr z, arb_srcptr y, arb_srcptr x, slong precision) { arb_atan2(z, y, x, precision); };
    case Primitive::Hypotenuse: return [](arb_ptr z, arb_srcptr x, arb_srcptr y, slong precision) { arb_hypot(z, x, y, precision); };
    default: return nullptr;
  }
}

double distance(Binary function, double x, double second, double got, double expected) {
  if (!std::isfinite(got) || !std::isfinite(expected)) return HUGE_VAL;
  arb_t a, b, z;
  arb_init(a);
  arb_init(b);
  arb_init(z);
  arb_set_d(a, x);
  arb_set_d(b, second);
  function(z, a, b, 256);
  arb_set_d(a, got);
  arb_sub(z, z, a, 256);
  arb_abs(z, z);
  // In ULP before it becomes a double: of a subnormal result no double holds half of one.
  arb_mul_2exp_si(z, z, 52 - std::max(std::ilogb(expected), -1022));
  const double away = arf_get_d(arb_midref(z), ARF_RND_UP) + mag_get_d(arb_radref(z));
  arb_clear(a);
  arb_clear(b);
  arb_clear(z);
  return away;
}

}  // namespace

bool can_sample(Primitive function) { return Reference::of(function) != nullptr || binary_of(function) != nullptr; }

double distance_of(Primitive function, double x, double got) {
  const double expected = nearest(function, ElementType::F64, x, 0);
  return same(got, expected) ? 0.5 : distance(*Reference::of(function), x, got, expected);
}

double distance_of(Primitive function, double x, double second, double got) {
  const double expected = nearest(function, ElementType::F64, x, second);
  return same(got, expected) ? 0.5 : distance(binary_of(function), x, second, got, expected);
}

ComputeSample own_sample(Primitive function, ElementType type) {
  if (row_of(function).kind != PrimitiveKind::Elementary)
    return [function](const double* x, const double*, double* y, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        const Bits a = std::bit_cast<Bits>(x[i]);
        y[i] = std::bit_cast<double>(apply(function, ElementType::F64, std::span(&a, 1)));
      }
    };
  if (type == ElementType::F32)
    return [function](const double* x, const double* second, double* y, std::size_t n) {
      std::vector<float> a(x, x + n), b(second, second + n), z(n);
      elementary_array(function, a.data(), b.data(), z.data(), n);
      std::copy(z.begin(), z.end(), y);
    };
  if (row_of(function).arity == 2) return [function](const double* x, const double* second, double* y, std::size_t n) { elementary_array(function, x, second, y, n); };
  return [function](const double* x, const double*, double* y, std::size_t n) { elementary_array(function, x, y, n); };
}

Sample sample(Primitive function, ElementType type, const ComputeSample& compute, const SampleOptions& options) {
  ensure(can_sample(function) && (type == ElementType::F64 || binary_of(function) != nullptr), "a function that the reference has, too large to be swept");
  const Binary two = binary_of(function);
  Sample result;
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
        std::array<double, Portion> x, second{}, y;
        for (std::uint64_t k; !stopped && (k = next++) < portions;) {
          std::mt19937_64 random(options.seed * UINT64_C(0x9e3779b97f4a7c15) + k);  // the same arguments whoever computes them
          const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(Portion, options.count - k * Portion));
          for (std::size_t i = 0; i < n; ++i) {
            x[i] = of_type(type, argument(random));
            if (two != nullptr) second[i] = of_type(type, second_argument(random, x[i]));
          }
          compute(x.data(), second.data(), y.data(), n);
          Sample own;
          for (std::size_t i = 0; i < n; ++i) {
            const double expected = nearest(function, type, x[i], second[i]);
            if (same(y[i], expected)) continue;
            ++own.not_nearest;
            const double away = type == ElementType::F32 ? HUGE_VAL : two != nullptr ? distance(two, x[i], second[i], y[i], expected) : distance(*reference, x[i], y[i], expected);
            own.worst = std::max(own.worst, away);
            if (away <= most_ulps(type)) continue;
            ++own.wrong;
            if (own.examples.size() < options.examples) own.examples.push_back({x[i], second[i], y[i], expected});
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
  std::sort(result.examples.begin(), result.examples.end(), [](const Sample::Example& a, const Sample::Example& b) { return a.argument < b.argument; });
  if (result.examples.size() > options.examples) result.examples.resize(options.examples);
  return result;
}

}  // namespace ulpian::audit
