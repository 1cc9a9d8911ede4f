// Loops over the cores, and the table of them for one width of vector. Included by one file per machine.
#pragma once

#include <cstring>

#include "spec/functions/cores.h"
#include "spec/functions/kernel_table.h"
#include "spec/functions/programs.h"

namespace ulpian::kernels {
namespace {

template <Primitive P, class L> inline D<L> core([[maybe_unused]] D<L> x, [[maybe_unused]] D<L> y) {
  if constexpr (P == Primitive::Power) return pow_core<L>(x, y);
  else if constexpr (P == Primitive::Atan2) return atan2_core<L>(x, y);  // the first phase; its program needs no second one, and takes longer
  else return program_on_f32<P, L>(x, y);
}

template <class L> inline D<L> load(const float* x) {
  typename L::F f;
  std::memcpy(&f, x, sizeof f);
  return __builtin_convertvector(f, D<L>);
}

constexpr bool takes_two(Primitive p) { return p == Primitive::Power || p == Primitive::Atan2 || p == Primitive::Hypotenuse; }

template <Primitive P, class L> void core_block(const float* x, const float* second, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; i += L::Count) {
    const D<L> a = load<L>(x + i);
    D<L> b = a;
    if constexpr (takes_two(P)) b = load<L>(second + i);
    const D<L> value = core<P, L>(a, b);
    std::memcpy(y + i, &value, sizeof value);
  }
}

// A swept program's value rounds to the function's: nothing is doubtful. Every NaN is the canonical one.
template <Primitive P, class L> bool program_block(const float* x, const float*, float* y, std::int32_t*, std::size_t count) {
  using F = typename L::F;
  for (std::size_t i = 0; i < count; i += L::Count) {
    const D<L> value = program_on_f32<P, L>(load<L>(x + i), D<L>{});
    const F rounded = __builtin_convertvector(value != value ? all<L>(__builtin_nan("")) : value, F);
    std::memcpy(y + i, &rounded, sizeof rounded);
  }
  return false;
}

template <Primitive P, class L> bool float_block(const float* x, const float* second, float* y, std::int32_t* doubtful, std::size_t count) {
  using F = typename L::F;
  using M = typename L::M;
  constexpr double Bound = error_bound(P);
  M any{};
  for (std::size_t i = 0; i < count; i += L::Count) {
    const D<L> a = load<L>(x + i);
    D<L> b = a;
    if constexpr (takes_two(P)) b = load<L>(second + i);
    const D<L> value = core<P, L>(a, b);
    // All numbers within the error round alike, or the lane is doubtful. Infinity and NaN are: their difference is NaN.
    const D<L> error = value * Bound;
    const F rounded = __builtin_convertvector(value, F);
    const M doubt = __builtin_convertvector(value - error, F) != __builtin_convertvector(value + error, F);
    std::memcpy(y + i, &rounded, sizeof rounded);
    std::memcpy(doubtful + i, &doubt, sizeof doubt);
    any |= doubt;
  }
  std::int32_t sum = 0;
  for (int i = 0; i < L::Count; ++i) sum |= any[i];
  return sum != 0;
}

template <Primitive P, class L> constexpr FloatBlock f32_block() {
  if constexpr (has_program_on_f32(P) && is_swept(P)) return program_block<P, L>;
  else return float_block<P, L>;
}

// The bits of the result themselves.
template <Primitive P, class L> void double_block(const double* x, const double* second, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; i += L::Count) {
    D<L> a, b{};
    std::memcpy(&a, x + i, sizeof a);
    if constexpr (takes_two(P)) std::memcpy(&b, second + i, sizeof b);
    const D<L> value = program_on_f64<P, L>(a, b);
    std::memcpy(y + i, &value, sizeof value);
  }
}
template <Primitive P, class L> constexpr DoubleBlock f64_block() {
  if constexpr (has_program_on_f64(P)) return double_block<P, L>;
  else return nullptr;
}

template <class L, Primitive... P> KernelTable table_of() {
  KernelTable table{};
  ((table.f64[static_cast<int>(P)] = f64_block<P, L>()), ...);
  ((table.f32[static_cast<int>(P)] = f32_block<P, L>()), ...);
  ((table.core[static_cast<int>(P)] = core_block<P, L>), ...);
  return table;
}

template <class L> KernelTable make_table() {
  using P = Primitive;
  return table_of<L, P::Exp, P::Exp2, P::Exp10, P::Expm1, P::Log, P::Log2, P::Log10, P::Log1p, P::ReciprocalRoot, P::CubeRoot, P::Sin, P::Cos, P::Tan, P::Asin, P::Acos, P::Atan, P::Sinh,
                  P::Cosh, P::Tanh, P::Asinh, P::Acosh, P::Atanh, P::Erf, P::Erfc, P::Sigmoid, P::Softplus, P::Softsign, P::Gelu, P::GeluTanh, P::Silu,
                  P::Mish, P::HardSwish, P::CosTurn, P::SinTurn, P::Power, P::Atan2, P::Hypotenuse>();
}

}  // namespace
}  // namespace ulpian::kernels
