// The bound variables of a reduction, opened. Private to this folder.
#pragma once

#include "interp/allowed/evaluator.h"

namespace ulpian::interp::allowed {

struct Evaluator::Loop {
  std::span<const core::Variable> variables;
  std::span<const core::TermId> extent_terms;
  std::vector<std::int64_t> extents;
  std::vector<Value> limits;  // where an extent is not the same everywhere (empty elsewhere): the variable must be below it
  bool rectangular = true;
};

// The accumulators of max, min, any, all, count and prod.
struct Reduction {
  core::ReduceKind kind;
  ElementType type;
  Axes axes;
  const Rules* rules;
  struct Element {
    double lo = 0, hi = 0, big = 1;     // prod: bounds of the product, and of the product of all magnitudes above 1
    std::int64_t ilo = 0, ihi = 0;
    std::int64_t terms = 0;             // prod: factors other than 1
    bool may_be_nan = false, sure_nan = false, anything = false, no_value = false, wide = false, either_sign = false;
  };
  std::vector<Element> elements;

  Reduction(core::ReduceKind k, ElementType t, const Rules& r, Axes a);
  // Terms over [outer, inner].
  void add(const Lanes& terms, const Axes& outer);
  Lanes finish() const;

private:
  void add_term(Element& e, const Lanes& v, std::int64_t i) const;
  void merge(Element& into, const Element& from) const;
  Element neutral() const;
};

}  // namespace ulpian::interp::allowed
