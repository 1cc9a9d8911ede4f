#include "interp/allowed/allowed.h"

namespace ulpian::interp {
namespace {

using P = Primitive;

bool is_activation(P p) {
  switch (p) {
    case P::Sigmoid:
    case P::Softplus:
    case P::Softsign:
    case P::Gelu:
    case P::GeluTanh:
    case P::Silu:
    case P::Mish:
    case P::HardSwish: return true;
    default: return false;
  }
}

// The OpenCL C 3.0 specification, section 7.4 "Relative Error as ULPs", full profile: the tables for single and for double precision
// ("ULP values for single/double precision built-in math functions"), and that for half precision of the extension cl_khr_fp16
// ("ULP Values for Half Precision Floating-Point Arithmetic Operations", full profile). Correctly rounded is 0.5.
struct Row {
  double f32, f64, f16;
};
Row opencl(P p) {
  switch (p) {
    case P::Divide:
    case P::Reciprocal: return {2.5, 0.5, 0.5};
    case P::SquareRoot: return {3, 0.5, 0.5};
    case P::Exp:
    case P::Exp2:
    case P::Exp10:
    case P::Expm1:
    case P::Log:
    case P::Log2:
    case P::Log10: return {3, 3, 2};
    case P::CubeRoot:
    case P::Log1p: return {2, 2, 2};
    case P::ReciprocalRoot: return {2, 2, 1};
    case P::Sin:
    case P::Cos:
    case P::CosTurn:
    case P::SinTurn:
    case P::Asin:
    case P::Acos:
    case P::Sinh:
    case P::Cosh:
    case P::Asinh:
    case P::Hypotenuse:
    case P::Acosh: return {4, 4, 2};
    case P::Tan:
    case P::Atan:
    case P::Tanh:
    case P::Atanh: return {5, 5, 2};
    case P::Atan2: return {6, 6, 2};
    case P::Erf:
    case P::Erfc: return {16, 16, 4};
    case P::Power: return {16, 16, 4};
    default: return {0.5, 0.5, 0.5};
  }
}

}  // namespace

double Profile::ulp(Primitive p, ElementType type) const {
  if (!rounding) return 0.5;
  const bool elementary = row_of(p).kind == PrimitiveKind::Elementary;
  if (!elementary_tolerance) return elementary ? 1 : 0.5;
  if (is_activation(p)) return 4;
  const Row row = opencl(p);
  return type == ElementType::F64 ? row.f64 : type == ElementType::F32 ? row.f32 : row.f16;
}

std::optional<Profile> profile_named(std::string_view name) {
  Profile p;
  p.name = std::string(name);
  if (name == "standard") return p;
  p.elementary_tolerance = false;
  p.elide_final_cast = false;
  if (name == "strict") return p;
  p.bodies = false;
  if (name == "accurate") return p;
  p.any_order = p.free_zero_sign = p.rounding = false;
  if (name == "canonical") return p;
  return std::nullopt;
}

std::vector<std::string> profile_names() { return {"standard", "strict", "accurate", "canonical"}; }

}  // namespace ulpian::interp
