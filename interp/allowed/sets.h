// Admissible sets: what a conforming implementation may answer, per element. A finite union of closed intervals, with NaN, the sign of zero
// and "anything" apart (numerics.md, sections 1 and 2).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spec/core/tensor.h"
#include "spec/numbers/arithmetic.h"

namespace ulpian::interp {

// Flags of one element's set; the first four are the ones that `ulpian run --answer allowed` writes.
enum SetFlag : std::uint8_t {
  HasNan = 1,       // NaN is admitted
  EitherZero = 2,   // where 0 is admitted, so is 0 of the other sign; without it zeros count by their sign
  Anything = 4,     // every value is admitted, a refusal too (poison, undefined, order-dependent overflow): counted, never a pass
  NotOneInterval = 8,  // `pieces` holds the set; lower and upper are its hull
  Hulled = 16,      // the set is the hull of a smaller one, too fine to keep
  Empty = 32,       // no number is admitted (only NaN, if HasNan)
};

// A closed interval of one type's values, infinities included; -0 < +0 here.
struct Interval {
  Bits lower = 0;
  Bits upper = 0;
};

// The sets of a tensor's elements. `lower` and `upper` are of the tensor's own element type; for bool, 0 and 1.
class AllowedTensor {
public:
  AllowedTensor() = default;
  // Every element admits just its value (any NaN for a NaN, the sign of zero as it is).
  static AllowedTensor exactly(const Tensor& values);
  AllowedTensor(Tensor lower, Tensor upper, std::vector<std::uint8_t> flags, std::map<std::int64_t, std::vector<Interval>> pieces = {});

  ElementType type() const { return lower_.type(); }
  const Extents& extents() const { return lower_.extents(); }
  std::int64_t size() const { return lower_.size(); }
  const Tensor& lower() const { return lower_; }
  const Tensor& upper() const { return upper_; }
  std::span<const std::uint8_t> flags() const { return flags_; }
  // Of elements with NotOneInterval: disjoint, ascending.
  const std::map<std::int64_t, std::vector<Interval>>& pieces() const { return pieces_; }

  bool contains(std::int64_t position, Bits value) const;
  bool is_exact(std::int64_t position) const;   // one value (of a zero: one sign), no NaN besides; or NaN alone
  std::string describe(std::int64_t position) const;  // "[0.5, 0.50000006] or NaN"

  // Excess precision: what the next operator may be handed instead of the values rounded to the type. Per element an interval over the
  // reals, of which `lower` and `upper` hold the rounded numbers; null: nothing but the rounded values.
  struct Unrounded {
    std::vector<double> lower, upper;
  };
  // Floats that are often computed in f32: of f16, bf16 and f8e5m2.
  static bool can_be_handed_on(ElementType t);
  const std::shared_ptr<const Unrounded>& unrounded() const { return unrounded_; }
  void set_unrounded(Unrounded ends);
  // The same with every number that rounds to a finite one of the set (nearest, either of two at a tie).
  AllowedTensor perhaps_rounded() const;

private:
  std::shared_ptr<const Unrounded> unrounded_;
  Tensor lower_, upper_;
  std::vector<std::uint8_t> flags_;
  std::map<std::int64_t, std::vector<Interval>> pieces_;
};

}  // namespace ulpian::interp
