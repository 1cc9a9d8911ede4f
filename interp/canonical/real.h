// The numbers of R at run time: rationals as long as they are rational, sums of cosines of rational turns (the values of a discrete Fourier
// transform, decided exactly), and otherwise an expression that encloses its value as closely as asked.
//
// What depends on a comparison, a floor or a rounding is decided by growing precision; an answer is empty where MostBits did not decide it.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "spec/numbers/exact.h"
#include "spec/numbers/primitive.h"

namespace ulpian::interp {

class Real {
public:
  static constexpr int MostBits = 4096;
  // Operations below one value; deeper expressions of irrational numbers are refused (answers are empty).
  static constexpr int MostDepth = 500;

  Real() = default;            // 0
  Real(Exact value) : exact_(std::move(value)) {}  // NOLINT: rationals are reals
  Real(std::int64_t value) : exact_(value) {}      // NOLINT

  // Null where the value is not known to be rational. Values that are not finite are always exact.
  const Exact* exact() const { return node_ ? nullptr : &exact_; }

  struct Node;
  const std::shared_ptr<const Node>& node() const { return node_; }
  explicit Real(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

private:
  Exact exact_;
  std::shared_ptr<const Node> node_;  // a finite number
};

// Primitives whose result is R again: arithmetic, elementary functions, min, max, sign, mod, div, quot, rem. Special values by IEEE 754.
// Empty: undecided (the sign of a divisor, say, or the order of min's arguments), or too deep.
std::optional<Real> real_primitive(Primitive primitive, std::span<const Real> arguments);

// a <=> b; NaN is unordered.
std::optional<std::partial_ordering> compare(const Real& a, const Real& b);

// Floor, Ceiling, RoundEven or Truncate, to an integral value (infinities and NaN stay).
std::optional<Exact> to_integral(Primitive primitive, const Real& a);

// The same as Z: what int64 cannot hold is its limit, NaN is 0 (every bound of an index lies inside).
std::optional<std::int64_t> to_integer(Primitive primitive, const Real& a);

// Rounded once, half to even; the mode says what happens out of range.
std::optional<Bits> round_to(const Real& a, ElementType type, CastMode mode);

// --- flat numbers, for computations too long to be kept as expressions

// A number of which only bounds of `bits` bits are known from then on: what they do not decide stays undecided, so that whoever computes
// with flat numbers starts again with more bits. Rationals of moderate size and sums of cosines are not touched.
Real flat(Real a, int bits);

// Bounds of a finite number, equal where it is exact. Magnitudes beyond 2^20000 are only known to be so large.
std::pair<Exact, Exact> bounds_of(const Real& a, int bits);

// A sum of products of finite numbers, whose irrational part is kept flat: as `real_primitive` would add them, but in constant space.
class FlatSum {
public:
  explicit FlatSum(int bits);
  ~FlatSum();
  FlatSum(const FlatSum&) = delete;
  FlatSum& operator=(const FlatSum&) = delete;
  // False: an infinity, NaN, a sum of cosines, or a zero times what is no rational; nothing was added.
  bool add(const Real& a);
  bool add_product(const Real& a, const Real& b);
  // Empty if nothing was added.
  std::optional<Real> result() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpian::interp
