// The body of a large or fractional `Exact`. Only exact*.cpp and what hands rationals to MPFR include this, so that GMP stays out of every
// other file.
#pragma once

#include <gmp.h>

#include "spec/numbers/exact.h"

namespace ulpian {

struct Exact::Big {
  mpq_t value;

  Big() { mpq_init(value); }
  ~Big() { mpq_clear(value); }
  Big(const Big&) = delete;
  Big& operator=(const Big&) = delete;

  static std::shared_ptr<Big> of(const Exact& finite);     // a copy of its own
  static Exact finish(const std::shared_ptr<Big>& value);  // small where it fits; ExactTooLarge
  // Of one of Kind::Big, else null: no copy.
  static const Big* within(const Exact& a) { return a.kind_ == Exact::Kind::Big ? a.big_.get() : nullptr; }
  static Exact integral(const Exact& a, void (*divide)(mpz_ptr, mpz_srcptr, mpz_srcptr));
};

}  // namespace ulpian
