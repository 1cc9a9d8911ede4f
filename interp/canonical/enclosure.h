// Intervals with MPFR bounds, rounded outwards. Private to this folder.
#pragma once

#include <cstdint>
// After <cstdint>: MPFR then declares its functions on intmax_t.
#include <mpfr.h>

#include <utility>

#include "spec/numbers/exact.h"
#include "spec/numbers/primitive.h"

namespace ulpian::interp {

class Bound {
public:
  explicit Bound(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  Bound(const Bound& other) {
    mpfr_init2(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Bound(Bound&& other) noexcept {
    mpfr_init2(value_, MPFR_PREC_MIN);
    mpfr_swap(value_, other.value_);
  }
  Bound& operator=(Bound other) noexcept {
    mpfr_swap(value_, other.value_);
    return *this;
  }
  ~Bound() { mpfr_clear(value_); }
  operator mpfr_ptr() { return value_; }           // NOLINT: as the C functions take it
  operator mpfr_srcptr() const { return value_; }  // NOLINT

private:
  mpfr_t value_;
};

// All reals between two bounds; a bound may be infinite. Both have the same precision.
struct Enclosure {
  explicit Enclosure(mpfr_prec_t precision) : low(precision), high(precision) {}
  Bound low, high;

  mpfr_prec_t precision() const { return mpfr_get_prec(low); }
  bool positive() const { return mpfr_sgn(static_cast<mpfr_srcptr>(low)) > 0; }
  bool negative() const { return mpfr_sgn(static_cast<mpfr_srcptr>(high)) < 0; }
};

Enclosure everything(mpfr_prec_t precision);
Enclosure enclose(const Exact& value, mpfr_prec_t precision);
Enclosure cosine_of_turn(std::int64_t numerator, std::int64_t denominator, mpfr_prec_t precision);

Enclosure add(const Enclosure& a, const Enclosure& b);
Enclosure subtract(const Enclosure& a, const Enclosure& b);
Enclosure multiply(const Enclosure& a, const Enclosure& b);
Enclosure divide(const Enclosure& a, const Enclosure& b);
Enclosure negate(const Enclosure& a);
Enclosure absolute(const Enclosure& a);

// An elementary function, or the square root, of what an enclosure holds; of two for Power, Atan2 and Hypotenuse.
Enclosure function(Primitive primitive, const Enclosure& a, const Enclosure* b);

// A bound as an exact number. Magnitudes beyond 2^+-20000 are moved there: outside every format, still on the same side of everything.
Exact exact_of(mpfr_srcptr value);

}  // namespace ulpian::interp
