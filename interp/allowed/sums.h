// Sums and inner products in any order (numerics.md, section 5): center, radius, sum of magnitudes, and what is not finite apart.
// Private to this folder.
#pragma once

#include "interp/allowed/lanes.h"
#include "interp/allowed/primitives.h"

namespace ulpian::interp::allowed {

// The axes of one part of an inner product: both factors' own, those they share, and those that are summed over.
struct Parts {
  Axes batch, rows, columns, inner;
};

class Sums {
public:
  // One sum per element of the axes, of type `type` (a float, an integer, Z or R).
  Sums(ElementType type, const Rules& rules, Axes axes, bool products);

  // Adds the inner products of a and b over `parts.inner`.
  void add_products(const Lanes& a, const Lanes& b, const Parts& parts);
  // Adds terms over [outer, inner]; `outer` are axes of the sums.
  void add_terms(const Lanes& terms, const Axes& outer);
  // Adds sums that are known: their values but for what f64 errs by, bounds of their magnitudes, how many of their terms are not zero, one per point
  // of `axes`, which are axes of the sums.
  struct Known {
    std::vector<double> center, magnitude, count;
    std::int64_t most = 0;  // terms of one
  };
  void add_known(Known known, const Axes& axes);
  Lanes finish() const;
  // All terms are squares, so that nothing goes below zero.
  void of_squares() { squares_ = true; }

private:
  enum State : std::uint8_t { SureNan = 1, SurePositive = 2, SureNegative = 4, MayBeNan = 8, MayBePositive = 16, MayBeNegative = 32, Wide = 64, AnythingAtAll = 128 };
  struct Totals {  // of one part
    std::vector<double> center, low, magnitude, radius, count;
    std::vector<std::uint64_t> integers;
    std::vector<std::uint8_t> state;
    std::int64_t most = 0;  // terms of one sum
    Totals(std::size_t n, ElementType type);
  };
  void add(const Totals& part, const Axes& axes);
  void irregular(const Lanes& a, std::int64_t i, const Lanes& b, std::int64_t j, Totals& t, std::size_t at) const;
  void irregular_products(const Lanes& a, const Lanes& b, const std::vector<std::int64_t>& hard_a, const std::vector<std::int64_t>& hard_b, const Parts& parts, Totals& t) const;
  void product_intervals(const Lanes& a, const Lanes& b, const Parts& parts, Totals& t) const;
  void product_integers(const Lanes& a, const Lanes& b, const Parts& parts, Totals& t) const;
  std::shared_ptr<const SumParts> parts() const;
  void finish_plainly(Lanes& out, std::vector<std::uint8_t>& done) const;
  void finish_float(Lanes& out, std::int64_t i) const;
  void finish_integer(Lanes& out, std::int64_t i) const;

  ElementType type_;
  Rules rules_;
  Axes axes_;
  bool products_;
  bool squares_ = false;
  bool precise_;  // f64: doubles do not suffice
  Totals totals_;
};

}  // namespace ulpian::interp::allowed
