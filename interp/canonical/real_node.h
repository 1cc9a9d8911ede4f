// What a real number is that is not known to be rational, and its enclosing. Private to this folder.
#pragma once

#include <unordered_map>

#include "interp/canonical/enclosure.h"
#include "interp/canonical/real.h"
#include "interp/canonical/turns.h"

namespace ulpian::interp {

// A finite number that is not known to be rational: a sum of cosines, a primitive of one or two reals, or one of which only bounds are kept.
struct Real::Node {
  bool is_sum = false;
  Cosines sum;
  std::optional<Enclosure> within;
  Primitive primitive = Primitive::Add;
  Real first, second;
  int depth = 1;
};

inline Enclosure outward(const Enclosure& a, mpfr_prec_t precision) {
  Enclosure out(precision);
  mpfr_set(out.low, a.low, MPFR_RNDD);
  mpfr_set(out.high, a.high, MPFR_RNDU);
  return out;
}

// Encloses a number with so many bits; what parts share, once.
class Encloser {
public:
  explicit Encloser(mpfr_prec_t precision) : precision_(precision) {}

  Enclosure operator()(const Real& a) {
    if (a.exact()) return enclose(*a.exact(), precision_);
    const Real::Node* n = a.node().get();
    if (auto found = known_.find(n); found != known_.end()) return found->second;
    Enclosure value = of(*n);
    known_.emplace(n, value);
    return value;
  }

private:
  Enclosure of(const Real::Node& n) {
    if (n.is_sum) return enclose(n.sum, precision_);
    if (n.within) return outward(*n.within, precision_);
    const Enclosure a = (*this)(n.first);
    if (n.primitive == Primitive::Negate) return negate(a);
    if (n.primitive == Primitive::Absolute) return absolute(a);
    if (row_of(n.primitive).arity == 1) return function(n.primitive, a, nullptr);
    const Enclosure b = (*this)(n.second);
    switch (n.primitive) {
      case Primitive::Add: return add(a, b);
      case Primitive::Subtract: return subtract(a, b);
      case Primitive::Multiply: return multiply(a, b);
      case Primitive::Divide: return divide(a, b);
      default: return function(n.primitive, a, &b);
    }
  }

  mpfr_prec_t precision_;
  std::unordered_map<const Real::Node*, Enclosure> known_;
};

}  // namespace ulpian::interp
