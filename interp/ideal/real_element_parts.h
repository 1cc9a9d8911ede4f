// What the files of `RealElements` share. Private to them.
#pragma once

#include "interp/ideal/real_element.h"

namespace ulpian::interp {

inline constexpr std::size_t MostRemembered = 1'000'000;

// Floats are held as reals.
inline bool as_real(ElementType t) { return is_float(t) || t == ElementType::R; }
inline bool unsupported(ElementType t) { return t == ElementType::String || is_complex(t); }
inline const Real& real(const RealElements::Value& v) { return std::get<Real>(v); }
RealElements::Value held(ElementType type, Bits bits);

}  // namespace ulpian::interp
