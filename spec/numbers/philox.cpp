#include "spec/numbers/philox.h"

namespace ulpian {
namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

PhiloxCounter philox4x32_10(PhiloxCounter c, PhiloxKey key) {
  constexpr int Rounds = 10;
  constexpr std::uint64_t Multipliers[2] = {0xd2511f53, 0xcd9e8d57};
  constexpr std::uint32_t Weyl[2] = {0x9e3779b9, 0xbb67ae85};
  for (int round = 0; round < Rounds; ++round) {
    const std::uint64_t a = Multipliers[0] * c[0], b = Multipliers[1] * c[2];
    c = {high(b) ^ c[1] ^ key[0], low(b), high(a) ^ c[3] ^ key[1], low(a)};
    key = {key[0] + Weyl[0], key[1] + Weyl[1]};
  }
  return c;
}

double random_unit(std::int64_t key, std::int64_t position, std::int64_t draw) {
  const auto k = static_cast<std::uint64_t>(key), p = static_cast<std::uint64_t>(position);
  const auto block = static_cast<std::uint64_t>(draw >> 1);
  const PhiloxCounter words = philox4x32_10({low(p), high(p), low(block), high(block)}, {low(k), high(k)});
  const std::size_t first = (draw & 1) != 0 ? 2 : 0;
  const std::uint64_t bits = std::uint64_t{words[first + 1]} << 32 | words[first];
  return static_cast<double>(bits >> 11) * 0x1p-53;  // both exact
}

}  // namespace ulpian
