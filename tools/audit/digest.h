// A number that stands for the results of many blocks of arguments: it depends on the results and on their blocks' numbers, not on who computed
// which block when. spec/functions/digests.json holds such numbers, so this is not to change.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace ulpian::audit {

constexpr std::uint64_t mixed(std::uint64_t x) {  // the finaliser of SplitMix64
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

// Of one block of results, floats or doubles; the sum over the blocks, modulo 2^64, is the digest of all.
template <class Float> std::uint64_t digest_of(std::uint32_t block, std::span<const Float> y) {
  using Word = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  std::array<std::uint64_t, 4> h{block, 1, 2, 3};
  for (std::size_t i = 0; i < y.size(); ++i) h[i % 4] = (h[i % 4] ^ std::bit_cast<Word>(y[i])) * UINT64_C(0x9e3779b97f4a7c15);
  return mixed(h[0]) + mixed(h[1] + h[0]) + mixed(h[2] ^ h[1]) + mixed(h[3] + h[2]);
}

}  // namespace ulpian::audit
