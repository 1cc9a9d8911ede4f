// Sums of cosines of rational numbers of turns with rational coefficients: closed under +, - and *, and decidable. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interp/canonical/enclosure.h"
#include "spec/numbers/exact.h"

namespace ulpian::interp {

// A number of turns in [0, 1/4), in lowest terms.
struct Turn {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  friend bool operator==(const Turn&, const Turn&) = default;
  friend bool operator<(const Turn& a, const Turn& b) {  // denominators are small: no overflow
    return a.numerator * b.denominator < b.numerator * a.denominator;
  }
};

struct Cosine {
  Turn turn;
  Exact coefficient;
};

// Sum of coefficient * cos(turn), sorted by turn, no turn twice, no coefficient zero. Turn 0 is the rational part.
using Cosines = std::vector<Cosine>;

// cos of t turns; empty where the denominator is too large.
std::optional<Cosines> cosine_of(const Exact& turns);
Cosines constant(const Exact& value);                        // finite
Cosines add(const Cosines& a, const Cosines& b);
std::optional<Cosines> multiply(const Cosines& a, const Cosines& b);  // empty where it grows too large
Cosines scale(const Cosines& a, const Exact& factor);        // finite
std::optional<Exact> rational(const Cosines& a);             // where only the rational part is left
Enclosure enclose(const Cosines& a, mpfr_prec_t precision);
// Whether the sum is zero; empty where the common denominator is too large.
std::optional<bool> is_zero(const Cosines& a);

}  // namespace ulpian::interp
