// What drawn floats look like (numerics.md, section 2: inputs decide power).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/core/tensor.h"

namespace ulpian::diff {

enum class DataKind : std::uint8_t {
  Bell,             // nearly normal
  PowersOfTwo,      // of both signs
  OneHot,           // ones on a diagonal, else mostly zeros
  Ties,             // quarters, each followed by its negative: ties and cancellation
  WideMagnitudes,   // bell-shaped over 27 binades
  Positive,         // of one sign and far apart, so that a sum's size is that of its terms: a dropped term shows
  NearlyEqual,      // 1 and some units in the last place: variances near the rounding error
  AllEqual,         // one value in each row
  Tail,             // zeros but for the last elements of each row: tails of vector loops
  Sorted,           // rows of one sign, rising or falling: the greatest stands at an end, or is below zero
  Special,          // bell-shaped with NaN, infinities, zeros of both signs and the ends of the range: none, one or many in a row
  // Of the leading input alone; the others are bell-shaped, or small positive powers of two beside Halves.
  Tiny,             // subnormals and the smallest normal numbers
  Halves,           // odd multiples of 1/2, 1/4, ... 1/32: ties of roundings, also after a division by a power of two
  SmallSpread,      // rows of small numbers, each row another binade: variances near an epsilon
  LargeMean,        // rows around a number so large that its square has no room for the spread
  Exponents,        // between the arguments at which exp underflows and overflows
  Edges,            // where the answer to one number changes its kind, found by search; else bell-shaped
};
inline constexpr int DataKindCount = static_cast<int>(DataKind::Edges) + 1;
std::string_view name_of(DataKind kind);
bool leads_alone(DataKind kind);  // is of the leading input alone

// Numbers without the standard library's distributions, which differ between implementations.
class Source {
public:
  explicit Source(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {  // SplitMix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  double bell() {                                                          // nearly normal, in [-6, 6]
    double s = -6;
    for (int k = 0; k < 12; ++k) s += unit();
    return s;
  }
  std::uint64_t below(std::uint64_t n) { return bits() % n; }  // n > 0; the bias is far below what a test could see
  int between(int low, int high) { return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1))); }
  double sign() { return bits() & 1 ? 1 : -1; }

private:
  std::uint64_t state_;
};

// `leading`: the input that the kinds of one input alone are of. `edges`: what to take for Edges.
void fill_float(Tensor& t, Source& source, DataKind kind, bool leading, const std::vector<Bits>& edges);

}  // namespace ulpian::diff
