// Elementary functions enclosed by Arb (FLINT), independently of spec/functions: near a point as a polynomial with a proven error, so that
// billions of arguments can be judged in seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "spec/numbers/primitive.h"

namespace ulpian::audit {

// f(centre + half t) = high + (low + terms[0] t + terms[1] t^2 + ...) for |t| <= 1, to within `error`; t, and the polynomial, evaluated in f64 by
// Horner's rule. The error holds Taylor's remainder (its coefficient over the whole interval, Arb), the balls' radii and every rounding.
struct Model {
  static constexpr int Terms = 7;
  double high = 0, low = 0;
  double terms[Terms] = {};
  double error = 0;
  int sign = 0;  // of the values, where it is the same throughout
};

// What a function is over an interval.
enum class Kind : unsigned char { Modelled, NotANumber, Overflows, Unknown };

__extension__ typedef unsigned __int128 Phase;

class Reference {
public:
  // Null where Arb has no form of it here.
  static std::unique_ptr<Reference> of(Primitive function);
  virtual ~Reference() = default;

  // On [centre - half, centre + half], finite numbers: Modelled fills `model`; NotANumber: outside the domain everywhere; Overflows: above every
  // f32 everywhere; Unknown: too wide, or a boundary of the domain.
  virtual Kind enclose(double centre, double half, Model& model) = 0;

  // Of a periodic function: models of Cells equal parts of a turn; cell k is centred at k / Cells turns and may be Unknown. Empty for others.
  struct Cell {
    Kind kind = Kind::Unknown;
    Model model;
  };
  static constexpr int CellBits = 13;
  virtual const std::vector<Cell>& cells() = 0;

  // 2^exponent, as an argument of a periodic function, as a fraction of a turn: whole turns left out, in units of 2^-128 turn; below the exact value by
  // less than one.
  virtual Phase phase_of_power(int exponent) = 0;
  // Of a periodic function's exact zeros: the argument's sign, or none.
  virtual bool zeros_are_signed() = 0;
};

}  // namespace ulpian::audit
