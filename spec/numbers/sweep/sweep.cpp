// Long comparisons of spec/numbers, outside the default tests: the host's paths against the generic code over whole input spaces.
//   ulpian_numbers_sweep SWEEP [STEP]
// SWEEP: narrow (all f32 to every narrower float), unary (all f32: sqrt, reciprocal, rounding to integers, to i32),
//        pairs (all pairs of f16 and of bf16: + - * /), fma (f32 and f64, random, against the generic code).
// STEP visits every STEP-th input only (odd, default 1). Exit status 0: no difference; 1: the first difference of each kind is printed; 2: usage.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <functional>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "spec/numbers/arithmetic.h"
#include "spec/numbers/float_arithmetic.h"
#include "spec/numbers/host.h"

namespace ulpian {
namespace {

using T = ElementType;
using P = Primitive;

std::atomic<std::uint64_t> differences{0};

void differ(std::string_view what, std::initializer_list<Bits> arguments, Bits generic, Bits host) {
  if (differences.fetch_add(1) > 20) return;
  std::string text;
  for (Bits a : arguments) text += fmt::format(" {:#x}", a);
  fmt::print("{}{}: generic {:#x}, host {:#x}\n", what, text, generic, host);
}

// body(i) for every STEP-th i below 2^32, on all cores.
void for_all(std::uint64_t step, const std::function<void(std::uint32_t)>& body) {
  constexpr std::uint64_t All = std::uint64_t{1} << 32;
  const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (unsigned w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      for (std::uint64_t i = w * step; i < All; i += workers * step) body(static_cast<std::uint32_t>(i));
    });
}

template <T To> void to_narrow(std::uint32_t x) {
  const float value = std::bit_cast<float>(x);
  const auto check = [&](CastMode mode, Bits host) {
    const Bits generic = convert(T::F32, To, x, mode);
    if (generic != host) differ(fmt::format("f32 to {}, mode {}", name_of(To), static_cast<int>(mode)), {x}, generic, host);
  };
  check(CastMode::Plain, host::round_to<To>(value));
  check(CastMode::Saturate, host::round_to<To, true>(value));
}

void narrow(std::uint64_t step) {
  for_all(step, [](std::uint32_t x) {
    to_narrow<T::F4E2M1>(x);
    to_narrow<T::F6E2M3>(x);
    to_narrow<T::F6E3M2>(x);
    to_narrow<T::F8E4M3FN>(x);
    to_narrow<T::F8E4M3FNUZ>(x);
    to_narrow<T::F8E5M2>(x);
    to_narrow<T::F8E5M2FNUZ>(x);
    to_narrow<T::F8E8M0>(x);
    to_narrow<T::F16>(x);
    to_narrow<T::BF16>(x);
  });
}

Bits f32_bits(float x) { return host::to_bits<T::F32>(host::canonical(x)); }

void unary(std::uint64_t step) {
  const FloatFormat& f32 = format_of(T::F32);
  const Bits one = bits::one(f32);
  for_all(step, [&, one](std::uint32_t x) {
    const float value = std::bit_cast<float>(x);
    const auto check = [&](std::string_view what, Bits generic, Bits host) {
      if (generic != host) differ(what, {x}, generic, host);
    };
    check("sqrt", bits::square_root(f32, x), f32_bits(__builtin_sqrtf(value)));
    check("reciprocal", bits::divide(f32, one, x), f32_bits(1.0f / value));
    check("floor", bits::integral(f32, x, bits::Direction::Floor), f32_bits(std::floor(value)));
    check("ceil", bits::integral(f32, x, bits::Direction::Ceiling), f32_bits(std::ceil(value)));
    check("trunc", bits::integral(f32, x, bits::Direction::Truncate), f32_bits(std::trunc(value)));
    check("round_even", bits::integral(f32, x, bits::Direction::HalfEven), f32_bits(std::nearbyint(value)));
    check("to i32", convert(T::F32, T::I32, x, CastMode::Plain), host::to_bits<T::I32>(host::convert<T::F32, T::I32>(value)));
    check("to u64", convert(T::F32, T::U64, x, CastMode::Plain), host::to_bits<T::U64>(host::convert<T::F32, T::U64>(value)));
    check("to f64", convert(T::F32, T::F64, x, CastMode::Plain), host::to_bits<T::F64>(host::convert<T::F32, T::F64>(value)));
  });
}

void pairs(std::uint64_t step) {
  for (T type : {T::F16, T::BF16}) {
    const FloatFormat& format = format_of(type);
    for_all(step, [&](std::uint32_t x) {
      const std::array<Bits, 2> a{x >> 16, x & 0xffff};
      const auto check = [&](P primitive, Bits generic) {
        const Bits host = apply(primitive, type, a);
        if (generic != host) differ(fmt::format("{} {}", name_of(type), name_of(primitive)), {a[0], a[1]}, generic, host);
      };
      check(P::Add, bits::add(format, a[0], a[1]));
      check(P::Subtract, bits::subtract(format, a[0], a[1]));
      check(P::Multiply, bits::multiply(format, a[0], a[1]));
      check(P::Divide, bits::divide(format, a[0], a[1]));
    });
  }
}

void fma(std::uint64_t step) {
  for_all(step, [](std::uint32_t x) {
    std::minstd_rand seed(x + 1);
    std::mt19937_64 random(seed());
    for (int i = 0; i < 64; ++i)
      for (T type : {T::F32, T::F64}) {
        const FloatFormat& format = format_of(type);
        const int width = bits_of(type);
        const Bits a = random() >> (64 - width), b = random() >> (64 - width);
        // Near minus the product, so that what the product's rounding loses decides.
        const Bits c = i % 2 == 0 ? bits::negate(format, bits::multiply(format, a, b)) ^ (random() & 3) : random() >> (64 - width);
        const Bits generic = bits::fused_multiply_add(format, a, b, c), host = fused_multiply_add(type, a, b, c);
        if (generic != host) differ(fmt::format("{} fma", name_of(type)), {a, b, c}, generic, host);
      }
  });
}

}  // namespace
}  // namespace ulpian

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  std::uint64_t step = 1;
  if (argc > 2) {
    const std::string_view text = argv[2];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    if (error != std::errc() || end != text.data() + text.size() || step == 0) step = 0;
  }
  void (*sweep)(std::uint64_t) = name == "narrow" ? ulpian::narrow : name == "unary" ? ulpian::unary : name == "pairs" ? ulpian::pairs : name == "fma" ? ulpian::fma : nullptr;
  if (sweep == nullptr || step == 0 || argc > 3) {
    fmt::print(stderr, "usage: ulpian_numbers_sweep narrow|unary|pairs|fma [STEP]\n");
    return 2;
  }
  sweep(step);
  fmt::print("{}: {} differences\n", name, ulpian::differences.load());
  return ulpian::differences == 0 ? 0 : 1;
}
