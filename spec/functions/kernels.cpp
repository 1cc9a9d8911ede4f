#include "spec/functions/kernels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "spec/functions/functions.h"
#include "spec/functions/kernel_table.h"
#include "spec/functions/real_function.h"
#include "spec/numbers/ensure.h"
#include "spec/numbers/host.h"

namespace ulpian {

namespace kernels {
#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"); }
#endif
}  // namespace kernels

namespace {

using kernels::BlockSize;
using kernels::KernelTable;

KernelTable best_kernels() {
#if defined(__x86_64__)
  if (kernels::has_avx512()) return kernels::avx512_kernels();
  if (kernels::has_avx2()) return kernels::avx2_kernels();
#endif
  return kernels::baseline_kernels();
}

const KernelTable& table() {
  static const KernelTable best = best_kernels();
  return best;
}

std::size_t index_of(Primitive primitive, int arity) {
  ensure(row_of(primitive).kind == PrimitiveKind::Elementary && row_of(primitive).arity == arity,
         std::string(name_of(primitive)) + " is not an elementary function of " + std::to_string(arity));
  return static_cast<std::size_t>(primitive);
}

float slow_f32(Primitive primitive, float x, float second) {
  return host::round_to<ElementType::F32>(real::odd_double(real::evaluate(primitive, x, second)));
}

// Arrays of a block, filled up with ones so that whole vectors can be computed.
struct Arguments {
  alignas(64) float first[BlockSize];
  alignas(64) float second[BlockSize];
};

template <class Float, class Load> void fill(Float (&block)[BlockSize], std::size_t n, Load load) {
  for (std::size_t i = 0; i < n; ++i) block[i] = load(i);
  for (std::size_t i = n; i < std::min(BlockSize, n + 8); ++i) block[i] = 1;
}

void on_floats(Primitive primitive, const float* x, const float* second, float* y, std::size_t count) {
  const kernels::FloatBlock kernel = table().f32[index_of(primitive, second == nullptr ? 1 : 2)];
  Arguments in;
  alignas(64) float out[BlockSize];
  alignas(64) std::int32_t doubtful[BlockSize];
  for (std::size_t start = 0; start < count; start += BlockSize) {
    const std::size_t n = std::min(BlockSize, count - start);
    fill(in.first, n, [&](std::size_t i) { return x[start + i]; });
    if (second != nullptr) fill(in.second, n, [&](std::size_t i) { return second[start + i]; });
    if (kernel(in.first, in.second, out, doubtful, n))
      for (std::size_t i = 0; i < n; ++i)
        if (doubtful[i] != 0) out[i] = slow_f32(primitive, in.first[i], second == nullptr ? 0 : in.second[i]);
    std::memcpy(y + start, out, n * sizeof(float));
  }
}

// Types narrower than f32 are values of f32 too, so the same cores serve; one rounding, to the type.
template <ElementType T>
void compute_narrow(Primitive primitive, const Storage<T>* x, const Storage<T>* second, Storage<T>* y, std::size_t count) {
  const kernels::CoreBlock kernel = table().core[index_of(primitive, second == nullptr ? 1 : 2)];
  const double bound = kernels::error_bound(primitive);
  Arguments in;
  alignas(64) double value[BlockSize];
  Storage<T> low[BlockSize];
  Storage<T> high[BlockSize];
  for (std::size_t start = 0; start < count; start += BlockSize) {
    const std::size_t n = std::min(BlockSize, count - start);
    fill(in.first, n, [&](std::size_t i) { return host::value_of<T>(x[start + i]); });
    if (second != nullptr) fill(in.second, n, [&](std::size_t i) { return host::value_of<T>(second[start + i]); });
    kernel(in.first, in.second, value, n);
    int open = 0;
    for (std::size_t i = 0; i < n; ++i) low[i] = host::round_to<T>(value[i] - value[i] * bound);
    for (std::size_t i = 0; i < n; ++i) high[i] = host::round_to<T>(value[i] + value[i] * bound);
    for (std::size_t i = 0; i < n; ++i) y[start + i] = host::round_to<T>(value[i]);
    for (std::size_t i = 0; i < n; ++i) open |= (low[i] != high[i]) | (value[i] != value[i]);
    if (open == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (low[i] == high[i] && value[i] == value[i]) continue;
      const double odd = real::odd_double(real::evaluate(primitive, in.first[i], second == nullptr ? 0 : in.second[i]));
      y[start + i] = host::round_to<T>(odd);
    }
  }
}

// A function of one narrow argument is its table, made when an array first makes it worth while.
template <ElementType T> struct NarrowTable {
  std::once_flag once;
  std::atomic<bool> ready = false;
  std::vector<Storage<T>> results;
};

template <ElementType T>
void on_narrow(Primitive primitive, const Storage<T>* x, const Storage<T>* second, Storage<T>* y, std::size_t count) {
  if (second != nullptr) return compute_narrow<T>(primitive, x, second, y, count);
  static std::array<NarrowTable<T>, PrimitiveCount> tables;
  constexpr std::size_t Codes = std::size_t{1} << (8 * sizeof(Storage<T>));
  NarrowTable<T>& own = tables[index_of(primitive, 1)];
  if (!own.ready.load(std::memory_order_acquire) && count < Codes / 16) {
    compute_narrow<T>(primitive, x, nullptr, y, count);
    return;
  }
  std::call_once(own.once, [&] {
    std::vector<Storage<T>> codes(Codes);
    std::iota(codes.begin(), codes.end(), Storage<T>{0});
    own.results.resize(Codes);
    compute_narrow<T>(primitive, codes.data(), nullptr, own.results.data(), Codes);
    own.ready.store(true, std::memory_order_release);
  });
  const Storage<T>* results = own.results.data();
  for (std::size_t i = 0; i < count; ++i) y[i] = results[x[i]];
}

void on_doubles(Primitive primitive, const double* x, const double* second, double* y, std::size_t count) {
  const kernels::DoubleBlock kernel = table().f64[index_of(primitive, second == nullptr ? 1 : 2)];
  if (kernel != nullptr) {
    alignas(64) double first[BlockSize], other[BlockSize], out[BlockSize];
    for (std::size_t start = 0; start < count; start += BlockSize) {
      const std::size_t n = std::min(BlockSize, count - start);
      fill(first, n, [&](std::size_t i) { return x[start + i]; });
      if (second != nullptr) fill(other, n, [&](std::size_t i) { return second[start + i]; });
      kernel(first, other, out, n);
      for (std::size_t i = 0; i < n; ++i) y[start + i] = host::round_to<ElementType::F64>(out[i]);  // the canonical NaN
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    y[i] = host::round_to<ElementType::F64>(real::nearest_double(real::evaluate(primitive, x[i], second == nullptr ? 0 : second[i])));
}

template <ElementType T>
void on_integers(Primitive primitive, const Storage<T>* x, const Storage<T>* second, Storage<T>* y, std::size_t count) {
  ensure(primitive == Primitive::Power, std::string(name_of(primitive)) + " is not defined on integers");
  for (std::size_t i = 0; i < count; ++i)
    y[i] = host::from_bits<T>(integer_power(T, host::to_bits<T>(x[i]), host::to_bits<T>(second[i])));
}

}  // namespace

void elementary_array(Primitive primitive, const float* x, float* y, std::size_t count) { on_floats(primitive, x, nullptr, y, count); }

void elementary_array(Primitive primitive, const float* x, const float* second, float* y, std::size_t count) {
  ensure(second != nullptr || count == 0, "a second argument");
  if (count != 0) on_floats(primitive, x, second, y, count);
}

void elementary_array(Primitive primitive, const double* x, double* y, std::size_t count) { on_doubles(primitive, x, nullptr, y, count); }

void elementary_array(Primitive primitive, const double* x, const double* second, double* y, std::size_t count) {
  ensure(second != nullptr || count == 0, "a second argument");
  if (count != 0) on_doubles(primitive, x, second, y, count);
}

void elementary_array(Primitive primitive, ElementType type, const void* x, const void* second, void* y, std::size_t count) {
  if (count == 0) return;
  ensure((second != nullptr) == (row_of(primitive).arity == 2), "as many arguments as the primitive takes");
  with_element_type(type, [&]<ElementType T>() {
    const auto* a = static_cast<const Storage<T>*>(x);
    const auto* b = static_cast<const Storage<T>*>(second);
    auto* out = static_cast<Storage<T>*>(y);
    if constexpr (T == ElementType::F32) on_floats(primitive, a, b, out, count);
    else if constexpr (T == ElementType::F64) on_doubles(primitive, a, b, out, count);
    else if constexpr (host::is_narrow_float(T)) on_narrow<T>(primitive, a, b, out, count);
    else if constexpr (host::is_integer_type(T)) on_integers<T>(primitive, a, b, out, count);
    else fail_bug("elementary_array", "no elementary function on this type", __FILE__, __LINE__);
  });
}

void elementary_program(Primitive primitive, const float* x, float* y, std::size_t count) {
  const kernels::CoreBlock kernel = table().core[index_of(primitive, 1)];
  Arguments in;
  alignas(64) double value[BlockSize];
  for (std::size_t start = 0; start < count; start += BlockSize) {
    const std::size_t n = std::min(BlockSize, count - start);
    fill(in.first, n, [&](std::size_t i) { return x[start + i]; });
    kernel(in.first, in.second, value, n);
    for (std::size_t i = 0; i < n; ++i) y[start + i] = host::round_to<ElementType::F32>(value[i]);
  }
}

double elementary_core(Primitive primitive, float x, float second) {
  double value = 0;
  elementary_core_array(primitive, &x, &second, &value, 1);
  return value;
}

void elementary_core_array(Primitive primitive, const float* x, const float* second, double* y, std::size_t count) {
  const bool two = row_of(primitive).arity == 2;
  ensure(!two || second != nullptr, "a second argument");
  const kernels::CoreBlock kernel = table().core[index_of(primitive, two ? 2 : 1)];
  Arguments in;
  alignas(64) double value[BlockSize];
  for (std::size_t start = 0; start < count; start += BlockSize) {
    const std::size_t n = std::min(BlockSize, count - start);
    fill(in.first, n, [&](std::size_t i) { return x[start + i]; });
    if (two) fill(in.second, n, [&](std::size_t i) { return second[start + i]; });
    kernel(in.first, in.second, value, n);
    std::copy(value, value + n, y + start);
  }
}

double elementary_core_error(Primitive primitive) { return kernels::error_bound(primitive); }

}  // namespace ulpian
