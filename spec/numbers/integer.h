// Integer primitives on stored elements, for typed loops and for arithmetic.h: everything wraps, and what standards leave open has the
// values of numerics.md, section 6: x / 0 is 0, x mod 0 is x, MIN / -1 wraps, MIN mod -1 is 0, shifts by the width or more, or by negative
// counts, leave 0 (the sign, for an arithmetic right shift).
#pragma once

#include "spec/numbers/host.h"

namespace ulpian::host {

// Computed in 64 bits without a sign, where nothing is undefined.
template <ElementType T> constexpr std::uint64_t raw(Storage<T> a) { return static_cast<std::uint64_t>(a); }
template <ElementType T> constexpr Storage<T> wrapped(std::uint64_t a) { return wrap<T>(static_cast<Storage<T>>(a)); }

template <ElementType T> constexpr Storage<T> add(Storage<T> a, Storage<T> b) { return wrapped<T>(raw<T>(a) + raw<T>(b)); }
template <ElementType T> constexpr Storage<T> subtract(Storage<T> a, Storage<T> b) { return wrapped<T>(raw<T>(a) - raw<T>(b)); }
template <ElementType T> constexpr Storage<T> multiply(Storage<T> a, Storage<T> b) { return wrapped<T>(raw<T>(a) * raw<T>(b)); }
template <ElementType T> constexpr Storage<T> negate(Storage<T> a) { return wrapped<T>(0 - raw<T>(a)); }
template <ElementType T> constexpr Storage<T> absolute(Storage<T> a) { return a < 0 ? negate<T>(a) : a; }
template <ElementType T> constexpr Storage<T> sign(Storage<T> a) { return static_cast<Storage<T>>((a > 0) - (a < 0)); }
template <ElementType T> constexpr Storage<T> minimum(Storage<T> a, Storage<T> b) { return b < a ? b : a; }
template <ElementType T> constexpr Storage<T> maximum(Storage<T> a, Storage<T> b) { return a < b ? b : a; }

// Towards zero.
template <ElementType T> constexpr Storage<T> quotient(Storage<T> a, Storage<T> b) {
  if (b == 0) return 0;
  if constexpr (is_signed_type(T))
    if (b == -1) return negate<T>(a);
  return static_cast<Storage<T>>(a / b);
}
// The sign of a.
template <ElementType T> constexpr Storage<T> remainder(Storage<T> a, Storage<T> b) {
  if (b == 0) return a;
  if constexpr (is_signed_type(T))
    if (b == -1) return 0;
  return static_cast<Storage<T>>(a % b);
}
// Towards minus infinity.
template <ElementType T> constexpr Storage<T> floor_divide(Storage<T> a, Storage<T> b) {
  const Storage<T> towards_zero = quotient<T>(a, b);
  const bool below = b != 0 && (a < 0) != (b < 0) && remainder<T>(a, b) != 0;
  return static_cast<Storage<T>>(towards_zero - (below ? 1 : 0));
}
// The sign of b.
template <ElementType T> constexpr Storage<T> modulo(Storage<T> a, Storage<T> b) {
  const Storage<T> rest = remainder<T>(a, b);
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? static_cast<Storage<T>>(rest + b) : rest;
}

template <ElementType T> constexpr bool is_count(Storage<T> b) { return raw<T>(b) < static_cast<std::uint64_t>(integer_width(T)); }
template <ElementType T> constexpr Storage<T> shift_left(Storage<T> a, Storage<T> b) {
  return wrapped<T>(is_count<T>(b) ? raw<T>(a) << (raw<T>(b) & 63) : 0);
}
// Arithmetic on signed types.
template <ElementType T> constexpr Storage<T> shift_right(Storage<T> a, Storage<T> b) {
  const Storage<T> rest = a < 0 ? static_cast<Storage<T>>(-1) : Storage<T>{0};
  return is_count<T>(b) ? static_cast<Storage<T>>(a >> (raw<T>(b) & 63)) : rest;
}
template <ElementType T> constexpr Storage<T> bit_and(Storage<T> a, Storage<T> b) { return static_cast<Storage<T>>(a & b); }
template <ElementType T> constexpr Storage<T> bit_or(Storage<T> a, Storage<T> b) { return static_cast<Storage<T>>(a | b); }
template <ElementType T> constexpr Storage<T> bit_xor(Storage<T> a, Storage<T> b) { return static_cast<Storage<T>>(a ^ b); }
template <ElementType T> constexpr Storage<T> bit_not(Storage<T> a) { return wrapped<T>(~raw<T>(a)); }

}  // namespace ulpian::host
