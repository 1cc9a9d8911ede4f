// The bits of the elementary functions as one compiler makes them for one machine: the arrays' kernels (spec/functions/kernels_body.h), with nothing
// else of Ulpian and no library, so that any cross compiler builds it. tools/same-functions compiles, runs and compares.
//
//   same_functions list                           its lanes, then each function and its number of arguments
//   same_functions digests SET FROM TO F...       two digests of each function's results in blocks [FROM, TO) of the set: f32, and the f64 before;
//                                                 in the second also the results on f64, of arguments with more digits than f32 has
//   same_functions blocks SET FROM TO F           the same of each block
//   same_functions results SET BLOCK F            each argument of the block, the second argument, the f32, the f64
//
// SET is `all`, every f32 in blocks as the sweep's (sweep.h), or `sample`: of each binade and sign its first and last 256 numbers, and 256 within.
// A NaN is compared as the canonical one.
#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "spec/functions/kernels_body.h"
#include "spec/numbers/host.h"
#include "tools/audit/digest.h"

namespace ulpian::audit {
namespace {

using kernels::BlockSize;
#if defined(__AVX512F__)
using Widest = kernels::Lanes<8>;
#elif defined(__AVX2__)
using Widest = kernels::Lanes<4>;
#else
using Widest = kernels::Lanes<2>;
#endif

constexpr std::uint32_t MostArguments = 4096, BinadeBits = 23, PerBinade = 3;

struct Set {
  std::string_view name;
  std::uint32_t blocks, size;  // size: arguments of a block
  std::uint32_t (*first)(std::uint32_t block);  // the bits of its first argument; the others follow

  std::uint32_t number(std::uint32_t block) const { return first(block) / size; }
};

std::uint32_t first_of_sample(std::uint32_t block) {
  const std::uint32_t binade = block / PerBinade, last = (1u << BinadeBits) / BlockSize - 1;
  const std::array<std::uint32_t, PerBinade> places{0, static_cast<std::uint32_t>(mixed(binade + 1) % (last + 1)), last};
  return (binade << BinadeBits) + places[block % PerBinade] * std::uint32_t{BlockSize};
}

constexpr std::array<Set, 2> Sets{{
    {"all", 1u << 20, MostArguments, [](std::uint32_t block) { return block * MostArguments; }},
    {"sample", 512 * PerBinade, BlockSize, first_of_sample},
}};

// The second argument for a first one: any float, or a moderate one, or one of those on which rules turn.
float second_for(std::uint32_t bits) {
  constexpr std::array<float, 16> Turning{0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, 0.5f, -0.5f, 16777216.0f, 1e-45f, -1e-45f, 3.4028234663852886e38f,
                                          std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                          std::numeric_limits<float>::quiet_NaN()};
  const std::uint64_t r = mixed(bits + UINT64_C(0x9e3779b97f4a7c15));
  const auto any = static_cast<std::uint32_t>(r >> 32);
  switch (r % 4) {
    case 0: return Turning[any % Turning.size()];
    case 1: return std::bit_cast<float>(any);
    default: return std::bit_cast<float>((any & 0x81ffffff) + 0x3e800000);  // 1/4 to 4, either sign
  }
}

class Function {
public:
  explicit Function(Primitive p) : primitive_(p) {}

  // False, with a message, where the f32 kernel gives other bits than the f64 value rounded and does not ask for the slow way.
  bool compute(std::uint32_t first, std::uint32_t count) {
    static const kernels::KernelTable table = kernels::make_table<Widest>();
    const auto index = static_cast<std::size_t>(primitive_);
    for (std::uint32_t i = 0; i < count; ++i) {
      x[i] = std::bit_cast<float>(first + i);
      second[i] = second_for(first + i);
    }
    for (std::uint32_t start = 0; start < count; start += BlockSize) {
      table.core[index](&x[start], &second[start], &value[start], BlockSize);
      const bool doubt = table.f32[index](&x[start], &second[start], &rounded_[0], &doubtful_[0], BlockSize);
      for (std::uint32_t i = start; i < start + BlockSize; ++i) {
        if (value[i] != value[i]) value[i] = std::numeric_limits<double>::quiet_NaN();
        y[i] = host::round_to<ElementType::F32>(value[i]);
        const auto a = std::bit_cast<std::uint32_t>(y[i]), b = std::bit_cast<std::uint32_t>(rounded_[i - start]);
        if (a == b || (doubt && doubtful_[i - start] != 0)) continue;
        const std::string_view name = name_of(primitive_);
        std::fprintf(stderr, "%.*s of 0x%08" PRIx32 ": the f32 kernel gives 0x%08" PRIx32 ", but the f64 value rounds to 0x%08" PRIx32 "\n",
                     static_cast<int>(name.size()), name.data(), first + i, b, a);
        return false;
      }
    }
    wide_ = {};
    if (const auto on_f64 = table.f64[index]) {
      for (std::uint32_t i = 0; i < count; ++i) {
        wide_x_[i] = x[i] * (1 + 0x1.2345p-30);
        wide_second_[i] = second[i];
      }
      for (std::uint32_t start = 0; start < count; start += BlockSize) on_f64(&wide_x_[start], &wide_second_[start], &wide_y_[start], BlockSize);
      for (std::uint32_t i = 0; i < count; ++i)
        if (wide_y_[i] != wide_y_[i]) wide_y_[i] = std::numeric_limits<double>::quiet_NaN();
      wide_ = {wide_y_.data(), count};
    }
    y_ = {y.data(), count};
    value_ = {value.data(), count};
    return true;
  }
  std::uint64_t f32_digest(std::uint32_t number) const { return digest_of<float>(number, y_); }
  std::uint64_t f64_digest(std::uint32_t number) const { return digest_of<double>(number, value_) + digest_of<double>(~number, wide_); }

  alignas(64) std::array<float, MostArguments> x, second, y;
  alignas(64) std::array<double, MostArguments> value;

private:
  Primitive primitive_;
  alignas(64) std::array<float, BlockSize> rounded_;
  alignas(64) std::array<std::int32_t, BlockSize> doubtful_;
  alignas(64) std::array<double, MostArguments> wide_x_, wide_second_, wide_y_;
  std::span<const float> y_;
  std::span<const double> value_, wide_;
};

bool exists(Primitive p) { return kernels::make_table<Widest>().core[static_cast<std::size_t>(p)] != nullptr; }

std::optional<Primitive> function_named(std::string_view name) {
  for (int k = 0; k < PrimitiveCount; ++k)
    if (const auto p = static_cast<Primitive>(k); name_of(p) == name && exists(p)) return p;
  return std::nullopt;
}

void list() {
  std::printf("lanes %d\n", Widest::Count);
  for (int k = 0; k < PrimitiveCount; ++k) {
    const auto p = static_cast<Primitive>(k);
    const std::string_view name = name_of(p);
    if (exists(p)) std::printf("%.*s %d\n", static_cast<int>(name.size()), name.data(), row_of(p).arity);
  }
}

int digests(const Set& set, std::uint32_t from, std::uint32_t to, const char* name, bool of_each_block) {
  Function f(*function_named(name));
  std::uint64_t f32 = 0, f64 = 0;
  for (std::uint32_t block = from; block < to; ++block) {
    if (!f.compute(set.first(block), set.size)) return 1;
    const std::uint64_t a = f.f32_digest(set.number(block)), b = f.f64_digest(set.number(block));
    if (of_each_block) std::printf("%" PRIu32 " %016" PRIx64 " %016" PRIx64 "\n", block, a, b);
    f32 += a;
    f64 += b;
  }
  if (!of_each_block) std::printf("%s %016" PRIx64 " %016" PRIx64 "\n", name, f32, f64);
  return 0;
}

int results(const Set& set, std::uint32_t block, const char* name) {
  Function f(*function_named(name));
  if (!f.compute(set.first(block), set.size)) return 1;
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (std::uint32_t i = 0; i < set.size; ++i)
    std::printf("%08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %016" PRIx64 "\n", bits(f.x[i]), bits(f.second[i]), bits(f.y[i]), std::bit_cast<std::uint64_t>(f.value[i]));
  return 0;
}

int usage() {
  std::fputs("usage: same_functions list | digests SET FROM TO FUNCTION... | blocks SET FROM TO FUNCTION | results SET BLOCK FUNCTION\n", stderr);
  return 2;
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "list" && argc == 2) return list(), 0;
  const bool one = command == "results";
  const int names = one ? 4 : 5;
  if (argc <= names || (command != "digests" && argc != names + 1)) return usage();
  const auto set = std::find_if(Sets.begin(), Sets.end(), [&](const Set& s) { return s.name == argv[2]; });
  if (set == Sets.end()) return usage();
  for (int k = names; k < argc; ++k)
    if (!function_named(argv[k])) return std::fprintf(stderr, "no function is called %s\n", argv[k]), 2;
  const auto number = [&](int k) { return static_cast<std::uint32_t>(std::min<unsigned long long>(std::strtoull(argv[k], nullptr, 10), set->blocks)); };
  if (one) return number(3) < set->blocks ? results(*set, number(3), argv[names]) : usage();
  if (command != "digests" && command != "blocks") return usage();
  for (int k = names; k < argc; ++k)
    if (const int status = digests(*set, number(3), number(4), argv[k], command == "blocks"); status != 0) return status;
  return 0;
}

}  // namespace
}  // namespace ulpian::audit

int main(int argc, char** argv) { return ulpian::audit::run(argc, argv); }
