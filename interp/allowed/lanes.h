// Sets of many elements at once: what the evaluation of one term yields over a box of index variables. Private to this folder.
//
// Numbers of floats and of R are held as doubles (every float type fits), all others as int64. A lane's set of numbers is [lo, hi], or the
// pieces in `unions`; a lane whose lo is NaN holds no number (only NaN). -0 < +0. Bounds of R are of real numbers; those of a float type
// are values of that type, except that a value handed on unrounded (excess precision) may lie between them.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "interp/allowed/sets.h"
#include "spec/core/program.h"

namespace ulpian::interp::allowed {

// Besides HasNan, Anything and Hulled of sets.h.
inline constexpr std::uint8_t Excluded = 2;     // a filter left this term out
inline constexpr std::uint8_t NoValue = 64;     // an index was outside, an element is not there yet
inline constexpr std::uint8_t Skippable = 128;  // a term that an implementation may leave out

inline constexpr std::size_t MostPieces = 8;
inline constexpr std::size_t MostCombinations = 256;

struct Piece {
  double lo = 0, hi = 0;
  std::int64_t ilo = 0, ihi = 0;
};
using Pieces = std::vector<Piece>;

inline bool uses_doubles(ElementType t) { return (t >= ElementType::F4E2M1 && t <= ElementType::F64) || t == ElementType::R; }

struct Axis {
  core::Variable variable;
  std::int64_t count;
  friend bool operator==(const Axis&, const Axis&) = default;
};
using Axes = std::vector<Axis>;  // outermost first; counts above 1 only
std::int64_t size_of(const Axes& axes);

inline constexpr double OfZeros = -1;
// Of lanes that are sums: the sum over the reals, the sum of magnitudes and the number of leaves, so that what is added to it may join the
// same accumulation (a bias that an implementation starts from). A lane with no leaves is no sum; one whose terms are all zero has OfZeros.
struct SumParts {
  explicit SumParts(std::int64_t n) : lo(static_cast<std::size_t>(n)), hi(lo), magnitude(lo), leaves(lo) {}
  std::vector<double> lo, hi, magnitude, leaves;
  void copy(std::size_t i, const SumParts& from, std::size_t j) { lo[i] = from.lo[j], hi[i] = from.hi[j], magnitude[i] = from.magnitude[j], leaves[i] = from.leaves[j]; }
};

struct Lanes {
  ElementType type = ElementType::Z;
  Axes axes;
  std::int64_t n = 1;
  bool point = true;                    // `hi` is `lo` and is not kept
  std::vector<double> lo, hi;
  std::vector<std::int64_t> ilo, ihi;
  std::vector<std::uint8_t> flags;      // empty: none
  std::map<std::int64_t, Pieces> unions;
  std::shared_ptr<const SumParts> sums;

  Lanes() = default;
  Lanes(ElementType t, Axes a, bool is_point);

  std::uint8_t flag(std::int64_t i) const { return flags.empty() ? std::uint8_t{0} : flags[static_cast<std::size_t>(i)]; }
  void mark(std::int64_t i, std::uint8_t f) {
    if (f == 0) return;
    if (flags.empty()) flags.assign(static_cast<std::size_t>(n), 0);
    flags[static_cast<std::size_t>(i)] |= f;
  }
  double low(std::int64_t i) const { return lo[static_cast<std::size_t>(i)]; }
  double high(std::int64_t i) const { return point ? lo[static_cast<std::size_t>(i)] : hi[static_cast<std::size_t>(i)]; }
  std::int64_t ilow(std::int64_t i) const { return ilo[static_cast<std::size_t>(i)]; }
  std::int64_t ihigh(std::int64_t i) const { return point ? ilo[static_cast<std::size_t>(i)] : ihi[static_cast<std::size_t>(i)]; }
  // One number, or NaN alone; nothing that may be absent.
  bool decided(std::int64_t i) const;
  // Keeps upper bounds of their own from now on.
  void widen();
  void set(std::int64_t i, const Piece& p);
};
using Value = std::shared_ptr<const Lanes>;

// --- order
inline bool negative(double x) { return (std::bit_cast<std::uint64_t>(x) >> 63) != 0; }
inline bool before(double a, double b) { return a < b || (a == b && negative(a) && !negative(b)); }
// U64 is kept as the int64 of the same bits.
inline bool before(ElementType t, std::int64_t a, std::int64_t b) {
  return t == ElementType::U64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
}
Piece whole_of(ElementType t);  // every number

// --- one lane's set
Pieces pieces_at(const Lanes& v, std::int64_t i);  // empty: no number
// Sorted, merged; more than MostPieces become their hull. An empty list leaves no number.
void set_pieces(Lanes& v, std::int64_t i, Pieces pieces, std::uint8_t flags);
void set_anything(Lanes& v, std::int64_t i);
// The union of two lanes, of which one may be that lane itself; flags too.
void set_union(Lanes& v, std::int64_t i, const Lanes& a, std::int64_t j, const Lanes& b, std::int64_t k);
// Of squares and sums of squares: nothing is below zero.
void not_negative(Lanes& v);
void copy_lane(Lanes& v, std::int64_t i, const Lanes& a, std::int64_t j);
// Lanes without flags, to a place where `to`, which has none either, has room for them.
void copy_run(Lanes& to, std::int64_t position, const Lanes& from, std::int64_t lane, std::int64_t count);
// Lanes of another, one for each point of `axes`.
Lanes gathered(const Lanes& v, std::span<const std::int64_t> positions, const Axes& axes);

// --- boxes
// The elements at a box that has more axes (or the same).
Lanes expanded(const Lanes& v, const Axes& axes);
// The value itself where the axes are equal.
Value at_axes(const Value& v, const Axes& axes);
template <class T> void broadcast(const T* from, const Axes& from_axes, const Axes& to_axes, T* to);
extern template void broadcast(const double*, const Axes&, const Axes&, double*);
extern template void broadcast(const std::int64_t*, const Axes&, const Axes&, std::int64_t*);
extern template void broadcast(const std::uint8_t*, const Axes&, const Axes&, std::uint8_t*);

// Applies `f`, which knows intervals only, piece by piece where a lane is a union. All arguments have the axes of the result.
using Operation = std::function<Lanes(std::span<const Lanes* const>)>;
Lanes piecewise(const Operation& f, std::span<const Lanes* const> arguments);

}  // namespace ulpian::interp::allowed
