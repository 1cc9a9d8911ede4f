// Loops over the cores, and the table of them for one width of vector. Included by one file per machine.
#pragma once

#include <cstring>

#include "spec/functions/cores.h"
#include "spec/functions/kernel_table.h"

namespace ulpian::kernels {
namespace {

template <Primitive P, class L> inline D<L> core([[maybe_unused]] D<L> x, [[maybe_unused]] D<L> y) {
  if constexpr (P == Primitive::Exp) return exp_core<L>(x);
  else if constexpr (P == Primitive::Exp2) return exp2_core<L>(x);
  else if constexpr (P == Primitive::Expm1) return expm1_core<L>(x);
  else if constexpr (P == Primitive::Log) return log_core<L>(x);
  else if constexpr (P == Primitive::Log2) return log2_core<L>(x);
  else if constexpr (P == Primitive::Log10) return log10_core<L>(x);
  else if constexpr (P == Primitive::Log1p) return log1p_core<L>(x);
  else if constexpr (P == Primitive::Sin) return sin_core<L>(x);
  else if constexpr (P == Primitive::Cos) return cos_core<L>(x);
  else if constexpr (P == Primitive::Tan) return tan_core<L>(x);
  else if constexpr (P == Primitive::Asin) return asin_core<L>(x);
  else if constexpr (P == Primitive::Acos) return acos_core<L>(x);
  else if constexpr (P == Primitive::Atan) return atan_core<L>(x);
  else if constexpr (P == Primitive::Sinh) return sinh_core<L>(x);
  else if constexpr (P == Primitive::Cosh) return cosh_core<L>(x);
  else if constexpr (P == Primitive::Tanh) return tanh_core<L>(x);
  else if constexpr (P == Primitive::Asinh) return asinh_core<L>(x);
  else if constexpr (P == Primitive::Acosh) return acosh_core<L>(x);
  else if constexpr (P == Primitive::Atanh) return atanh_core<L>(x);
  else if constexpr (P == Primitive::Erf) return erf_core<L>(x);
  else if constexpr (P == Primitive::Sigmoid) return sigmoid_core<L>(x);
  else if constexpr (P == Primitive::Softplus) return softplus_core<L>(x);
  else if constexpr (P == Primitive::Softsign) return softsign_core<L>(x);
  else if constexpr (P == Primitive::Gelu) return gelu_core<L>(x);
  else if constexpr (P == Primitive::GeluTanh) return gelu_tanh_core<L>(x);
  else if constexpr (P == Primitive::Silu) return silu_core<L>(x);
  else if constexpr (P == Primitive::Mish) return mish_core<L>(x);
  else if constexpr (P == Primitive::CosTurn) return cos_turn_core<L>(x);
  else if constexpr (P == Primitive::SinTurn) return sin_turn_core<L>(x);
  else if constexpr (P == Primitive::Power) return pow_core<L>(x, y);
  else {
    static_assert(P == Primitive::Atan2);
    return atan2_core<L>(x, y);
  }
}

template <class L> inline D<L> load(const float* x) {
  typename L::F f;
  std::memcpy(&f, x, sizeof f);
  return __builtin_convertvector(f, D<L>);
}

constexpr bool takes_two(Primitive p) { return p == Primitive::Power || p == Primitive::Atan2; }

template <Primitive P, class L> void core_block(const float* x, const float* second, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; i += L::Count) {
    const D<L> a = load<L>(x + i);
    D<L> b = a;
    if constexpr (takes_two(P)) b = load<L>(second + i);
    const D<L> value = core<P, L>(a, b);
    std::memcpy(y + i, &value, sizeof value);
  }
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

template <class L, Primitive... P> KernelTable table_of() {
  KernelTable table{};
  ((table.f32[static_cast<int>(P)] = float_block<P, L>), ...);
  ((table.core[static_cast<int>(P)] = core_block<P, L>), ...);
  return table;
}

template <class L> KernelTable make_table() {
  using P = Primitive;
  return table_of<L, P::Exp, P::Exp2, P::Expm1, P::Log, P::Log2, P::Log10, P::Log1p, P::Sin, P::Cos, P::Tan, P::Asin, P::Acos, P::Atan, P::Sinh,
                  P::Cosh, P::Tanh, P::Asinh, P::Acosh, P::Atanh, P::Erf, P::Sigmoid, P::Softplus, P::Softsign, P::Gelu, P::GeluTanh, P::Silu,
                  P::Mish, P::CosTurn, P::SinTurn, P::Power, P::Atan2>();
}

}  // namespace
}  // namespace ulpian::kernels
