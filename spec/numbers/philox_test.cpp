// Against the known-answer vectors that Random123 publishes (tests/kat_vectors, "philox4x32 10").
#include "spec/numbers/philox.h"

#include <gtest/gtest.h>

namespace ulpian {
namespace {

struct Known {
  PhiloxCounter counter;
  PhiloxKey key;
  PhiloxCounter result;
};
constexpr Known Vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

std::int64_t joined(std::uint32_t low, std::uint32_t high) { return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low); }

TEST(Philox, GivesThePublishedAnswers) {
  for (const Known& v : Vectors) EXPECT_EQ(philox4x32_10(v.counter, v.key), v.result);
}

TEST(Philox, ARandomNumberIsTheUpperBitsOfHalfABlock) {
  for (const Known& v : Vectors) {
    const std::int64_t key = joined(v.key[0], v.key[1]), position = joined(v.counter[0], v.counter[1]), block = joined(v.counter[2], v.counter[3]);
    for (int half = 0; half < 2; ++half) {
      const auto bits = static_cast<std::uint64_t>(joined(v.result[static_cast<std::size_t>(2 * half)], v.result[static_cast<std::size_t>(2 * half + 1)]));
      const double number = random_unit(key, position, block * 2 + half);
      EXPECT_EQ(static_cast<std::uint64_t>(number * 0x1p53), bits / 2048);
      EXPECT_LT(number, 1);
    }
  }
}

}  // namespace
}  // namespace ulpian
