// One element's value, and what stands in its place where it has none. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "interp/canonical/real.h"
#include "spec/core/program.h"
#include "spec/numbers/arithmetic.h"

namespace ulpian::interp {

// Why an element has no value. Not an error yet: what a select, an `else` or a filter leaves out has no effect.
struct Poison {
  enum class Cause : std::uint8_t {
    OutOfRange,   // `index` of `axis` of `tensor` lies outside 0 <= index < extent
    NotComputed,  // of a recurrence: read before it was there
    Overflow,     // an integer of Z beyond 64 bits
    DoesNotFit,   // an integer of Z, `index`, that the type it is stored in does not hold
    Undecided,    // a comparison or rounding of reals that no precision allowed decides
    Empty,        // the maximum or minimum of no integers of Z; a place outside an order
    Unsupported,
  };
  Cause cause = Cause::Unsupported;
  core::TermId term = core::None;
  core::TensorId tensor = core::None;
  std::uint32_t axis = 0;
  std::int64_t index = 0;
  std::int64_t extent = 0;
};

struct Complex {
  Bits re = 0;
  Bits im = 0;
};

// bool, integers and floats as bits; Z; R; string; complex.
using Value = std::variant<Bits, std::int64_t, Real, std::string, Complex, Poison>;

inline bool is_poison(const Value& v) { return std::holds_alternative<Poison>(v); }
inline Bits bits(const Value& v) { return std::get<Bits>(v); }
inline std::int64_t integer(const Value& v) { return std::get<std::int64_t>(v); }
inline const std::string& text(const Value& v) { return std::get<std::string>(v); }
inline const Real& real(const Value& v) { return std::get<Real>(v); }

// Bytes of a text besides the value itself.
inline std::int64_t held_by(const Value& v) { return std::holds_alternative<std::string>(v) ? static_cast<std::int64_t>(text(v).size()) : 0; }

Value zero_value(ElementType type);

// The arguments hold no poison; poison that comes out is marked with `term`. Pieces and patterns of strings are for `Terms`, which keeps them.
Value apply_primitive(Primitive primitive, ElementType type, std::span<const Value> arguments, core::TermId term);
Value apply_cast(ElementType from, ElementType to, CastMode mode, const Value& value, core::TermId term);

// Reductions: what nothing yields, two terms into one, one fused multiply-add (rounded once; exact on Z and R).
Value neutral_value(core::ReduceKind kind, ElementType type, core::TermId term);
Value combine_values(core::ReduceKind kind, ElementType type, const Value& a, const Value& b, core::TermId term);
Value fused_values(ElementType type, const Value& a, const Value& b, const Value& sum, core::TermId term);

// Order of keys: -0 equals 0, NaN is greatest. Undecided reals count as equal and set `undecided`.
int compare_key_values(ElementType type, const Value& a, const Value& b, bool& undecided);
bool is_nan_value(ElementType type, const Value& v);

}  // namespace ulpian::interp
