#include "spec/functions/functions.h"

#include <array>

#include "spec/functions/kernels.h"
#include "spec/functions/real_function.h"
#include "spec/numbers/ensure.h"
#include "spec/numbers/host.h"

namespace ulpian {
namespace {

double value_of(ElementType type, Bits bits) {
  return with_element_type(type, [bits]<ElementType T>() -> double { return static_cast<double>(host::value_of<T>(host::from_bits<T>(bits))); });
}

// The one rounding: f64 from the 64 bits of the cut, the other types from f64 rounded to odd.
Bits round_to(ElementType type, const real::Cut& value) {
  return with_element_type(type, [&value]<ElementType T>() -> Bits {
    if constexpr (T == ElementType::F64) return host::to_bits<T>(host::round_to<T>(real::nearest_double(value)));
    else if constexpr (host::is_float_type(T)) return host::to_bits<T>(host::round_to<T>(real::odd_double(value)));
    else fail_bug("round_to", "a float type", __FILE__, __LINE__);
  });
}

}  // namespace

Bits elementary(Primitive primitive, ElementType type, std::span<const Bits> arguments) {
  const PrimitiveRow& row = row_of(primitive);
  ensure(row.kind == PrimitiveKind::Elementary, std::string(row.name) + " is not an elementary function");
  ensure(arguments.size() == static_cast<std::size_t>(row.arity), "as many arguments as the primitive takes");
  if (is_integer(type)) {
    ensure(primitive == Primitive::Power, std::string(row.name) + " is not defined on integers");
    return integer_power(type, arguments[0], arguments[1]);
  }
  ensure(is_float(type), std::string(row.name) + " is not defined on " + std::string(name_of(type)));
  if (type == ElementType::F64) {  // its value is the program's
    std::array<double, 3> v{};
    for (std::size_t k = 0; k < arguments.size(); ++k) v[k] = host::from_bits<ElementType::F64>(arguments[k]);
    if (row.arity == 2) elementary_array(primitive, v.data(), v.data() + 1, v.data() + 2, 1);
    else elementary_array(primitive, v.data(), v.data() + 2, 1);
    return host::to_bits<ElementType::F64>(v[2]);
  }
  const double first = value_of(type, arguments[0]);
  const double second = row.arity == 2 ? value_of(type, arguments[1]) : 0;
  return round_to(type, real::evaluate(primitive, first, second));
}

Bits integer_power(ElementType type, Bits base, Bits exponent) {
  ensure(is_integer(type), "an integer type");
  const int width = bits_of(type);
  const Bits mask = width == 64 ? ~Bits{0} : (Bits{1} << width) - 1;
  const bool negative = is_signed(type) && ((exponent >> (width - 1)) & 1) != 0;
  if (negative) {
    if (base == 1) return 1;
    if (base == mask) return (exponent & 1) != 0 ? mask : 1;  // signed, so this is -1
    return 0;
  }
  Bits result = 1;
  for (Bits square = base, left = exponent; left != 0; left >>= 1, square *= square)
    if ((left & 1) != 0) result *= square;
  return result & mask;
}

Bits elementary_of_turn(Primitive primitive, ElementType type, std::int64_t numerator, std::int64_t denominator) {
  ensure(is_float(type), "a float type");
  return round_to(type, real::evaluate_turn(primitive, numerator, denominator));
}

}  // namespace ulpian
