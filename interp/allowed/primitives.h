// The scalar primitives and casts over sets. Private to this folder.
#pragma once

#include <span>

#include "interp/allowed/allowed.h"
#include "interp/allowed/lanes.h"

namespace ulpian::interp::allowed {

struct Rules {
  const Profile* profile = nullptr;
  // The type in which an implementation computes what is written over the reals: one rounding per operation (numerics.md, section 5).
  ElementType real_unit = ElementType::F32;
  // Of a term of a wider accumulation: a cast to a narrower float may be elided, so its bounds go outward instead of to the nearest.
  bool casts_outward = false;
  // What is computed ends an output: it is rounded to its type. Otherwise it is an intermediate, which may be kept wider.
  bool rounds = false;
};

// Arguments have equal axes, which are the result's.
Lanes apply_primitive(Primitive p, ElementType result, const Rules& rules, std::span<const Lanes* const> arguments);
Lanes apply_cast(ElementType to, CastMode mode, const Rules& rules, const Lanes& a);

// For one kind each; intervals only.
Lanes float_primitive(Primitive p, ElementType result, const Rules& rules, std::span<const Lanes* const> arguments);
Lanes integer_primitive_lanes(Primitive p, ElementType result, std::span<const Lanes* const> arguments);
Lanes real_primitive_lanes(Primitive p, ElementType result, const Rules& rules, std::span<const Lanes* const> arguments);
Lanes elementary_lanes(Primitive p, const Rules& rules, std::span<const Lanes* const> arguments);
Lanes comparison_lanes(Primitive p, std::span<const Lanes* const> arguments);

// After an addition or a scaling of a sum: the result of one accumulation over all leaves is admitted, too.
void continue_sums(Primitive p, const Rules& rules, Lanes& result, std::span<const Lanes* const> arguments);

// The flags that the result of any operation inherits from its arguments.
std::vector<std::uint8_t> joint_flags(std::span<const Lanes* const> arguments);
// The bits of a double that is a value of the type, and back.
Bits bits_of_value(ElementType t, double x);

// After bounds were computed: NaN where one end is NaN though there are numbers; both zeros where an end of an interval is a zero.
void settle(Lanes& v, bool arguments_are_points);

}  // namespace ulpian::interp::allowed
