// ulpian_functions_bench [FUNCTION...]: nanoseconds per element of the f32 functions of one argument, by each compilation that this machine runs, beside glibc's scalar
// function where it has one; in turns, the least time of each. The compilations' results are compared with each other in full, glibc's within 4 ULP
// (its functions are not all correctly rounded).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "spec/functions/kernel_table.h"
#include "spec/functions/kernels.h"

namespace ulpian {
namespace {

constexpr std::size_t Count = 4096;
constexpr int Rounds = 400;

float (*libm(Primitive p))(float) {
  switch (p) {
    case Primitive::Exp: return std::exp;
    case Primitive::Exp2: return std::exp2;
    case Primitive::Expm1: return std::expm1;
    case Primitive::Log: return std::log;
    case Primitive::Log2: return std::log2;
    case Primitive::Log10: return std::log10;
    case Primitive::Log1p: return std::log1p;
    case Primitive::Sin: return std::sin;
    case Primitive::Cos: return std::cos;
    case Primitive::Tan: return std::tan;
    case Primitive::Asin: return std::asin;
    case Primitive::Acos: return std::acos;
    case Primitive::Atan: return std::atan;
    case Primitive::Sinh: return std::sinh;
    case Primitive::Cosh: return std::cosh;
    case Primitive::Tanh: return std::tanh;
    case Primitive::Asinh: return std::asinh;
    case Primitive::Acosh: return std::acosh;
    case Primitive::Atanh: return std::atanh;
    case Primitive::Erf: return std::erf;
    default: return nullptr;
  }
}

// In every function's domain and busy range: (0, 1), but for acosh.
std::vector<float> arguments(Primitive p) {
  std::vector<float> x(Count);
  for (std::size_t i = 0; i < Count; ++i) x[i] = (static_cast<float>(i) + 0.37f) / Count + (p == Primitive::Acosh ? 1 : 0);
  return x;
}

struct Side {
  std::string name;
  std::function<void(const float*, float*)> run;
  std::vector<float> y = std::vector<float>(Count);
  double least = 1e9;
};

void table(kernels::KernelTable t, const char* name, Primitive p, std::vector<Side>& sides) {
  const kernels::FloatBlock f = t.f32[static_cast<std::size_t>(p)];
  sides.push_back({name, [f](const float* x, float* y) {
    alignas(64) std::int32_t doubtful[kernels::BlockSize];
    for (std::size_t i = 0; i < Count; i += kernels::BlockSize) f(x + i, x + i, y + i, doubtful, kernels::BlockSize);
  }});
}

double ulps(float a, float b) { return std::fabs(static_cast<double>(a) - b) / std::max(std::fabs(std::nextafter(b, HUGE_VALF) - b), 0x1p-149f); }

bool measure(Primitive p) {
  std::vector<Side> sides;
  sides.push_back({"arrays", [p](const float* x, float* y) { elementary_array(p, x, y, Count); }});
#if defined(__x86_64__)
  if (kernels::has_avx512()) table(kernels::avx512_kernels(), "AVX-512", p, sides);
  if (kernels::has_avx2()) table(kernels::avx2_kernels(), "AVX2", p, sides);
#endif
  if (const auto f = libm(p)) sides.push_back({"glibc", [f](const float* x, float* y) {
    for (std::size_t i = 0; i < Count; ++i) y[i] = f(x[i]);
  }});
  const std::vector<float> x = arguments(p);
  for (int round = 0; round < Rounds; ++round)
    for (Side& s : sides) {
      const auto start = std::chrono::steady_clock::now();
      s.run(x.data(), s.y.data());
      s.least = std::min(s.least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  std::string line = fmt::format("{:10}", name_of(p));
  bool agree = true;
  for (const Side& s : sides) {
    line += fmt::format("  {} {:.2f} ns ({:.2f})", s.name, s.least / Count * 1e9, s.least / sides[0].least);
    for (std::size_t i = 0; i < Count; ++i) agree = agree && (s.name == "glibc" ? ulps(s.y[i], sides[0].y[i]) <= 4 : std::bit_cast<std::uint32_t>(s.y[i]) == std::bit_cast<std::uint32_t>(sides[0].y[i]));
  }
  fmt::print("{}{}\n", line, agree ? "" : "  RESULTS DIFFER");
  return agree;
}

}  // namespace
}  // namespace ulpian

int main(int argc, char** argv) {
  bool agree = true;
  for (int k = 0; k < ulpian::PrimitiveCount; ++k) {
    const auto p = static_cast<ulpian::Primitive>(k);
    const auto& row = ulpian::row_of(p);
    if (row.kind != ulpian::PrimitiveKind::Elementary || row.arity != 1) continue;
    if (argc > 1 && std::none_of(argv + 1, argv + argc, [&](const char* name) { return row.name == name; })) continue;
    agree = ulpian::measure(p) && agree;
  }
  return agree ? 0 : 1;
}
