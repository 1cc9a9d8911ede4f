// The canonical meaning of every scalar primitive and cast, one element at a time: the slow reference that both evaluators stand on.
//
// Machine types are held as bits (spec/numbers/arithmetic.h); Z is unbounded in meaning and an int64 here, whose overflow is an error; R is
// a `Real`. Where a standard is silent the values are those of numerics.md, section 6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "interp/canonical/real.h"
#include "spec/core/program.h"
#include "spec/numbers/arithmetic.h"

namespace ulpian::interp {

// --- machine types (bool, integers, floats): comparisons and logic give 0 or 1
Bits machine_primitive(Primitive primitive, ElementType type, std::span<const Bits> arguments);

// --- Z: comparisons give 0 or 1; empty on overflow. x div 0 and x quot 0 are 0; x mod 0 and x rem 0 are x; shifts by negative counts give 0.
std::optional<std::int64_t> integer_primitive(Primitive primitive, std::span<const std::int64_t> arguments);

// --- R: comparisons, is_nan, is_inf; empty where undecided. (What yields R or Z: real.h.)
std::optional<bool> real_comparison(Primitive primitive, std::span<const Real> arguments);

// --- between the three
std::optional<std::int64_t> integer_of(ElementType type, Bits bits);       // to Z; empty beyond int64 (u64)
Real real_of(ElementType type, Bits bits);
// Z to a machine type: integers wrap (Plain), are held to the limits (Saturate, Exact); floats are rounded once.
Bits machine_of(std::int64_t value, ElementType type, CastMode mode);

// --- reductions
// What a reduction of nothing yields: 0, 1, -infinity or the lowest value, infinity or the largest (max, min), false, true.
Bits neutral(core::ReduceKind kind, ElementType type);
// Two terms into one of the same type: + for Sum, * for Product, the maximum or minimum (NaN wins, -0 < +0), or / and.
Bits combine(core::ReduceKind kind, ElementType type, Bits a, Bits b);

// Keys compare as values: -0 equals 0, NaN is greatest and equals NaN. Negative, zero or positive as a stands before b.
int compare_keys(ElementType type, Bits a, Bits b);
// Whether `a` takes the place of `b` as the greatest (least) so far: NaN beats every number, equals do not.
bool beats(core::ReduceKind arg_kind, ElementType type, Bits a, Bits b);

// Positions of one accumulator of a dot.
inline constexpr std::int64_t DotBlock = 4096;
// The left part of the left-full pairwise tree over n > 1 leaves: the largest power of two strictly below n.
std::int64_t left_part(std::int64_t n);

}  // namespace ulpian::interp
