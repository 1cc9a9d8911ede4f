#include "spec/numbers/element_type.h"

#include <array>

#include "spec/numbers/ensure.h"

namespace ulpian {
namespace {

enum class Family : std::uint8_t { Bool, Signed, Unsigned, Float, Complex, Other };

struct Row {
  ElementType type;
  std::string_view name;
  Family family;
  int bits;
};

constexpr std::array<Row, ElementTypeCount> Rows{{
    {ElementType::Bool, "bool", Family::Bool, 1},
    {ElementType::I2, "i2", Family::Signed, 2},
    {ElementType::I4, "i4", Family::Signed, 4},
    {ElementType::I8, "i8", Family::Signed, 8},
    {ElementType::I16, "i16", Family::Signed, 16},
    {ElementType::I32, "i32", Family::Signed, 32},
    {ElementType::I64, "i64", Family::Signed, 64},
    {ElementType::U2, "u2", Family::Unsigned, 2},
    {ElementType::U4, "u4", Family::Unsigned, 4},
    {ElementType::U8, "u8", Family::Unsigned, 8},
    {ElementType::U16, "u16", Family::Unsigned, 16},
    {ElementType::U32, "u32", Family::Unsigned, 32},
    {ElementType::U64, "u64", Family::Unsigned, 64},
    {ElementType::F4E2M1, "f4e2m1", Family::Float, 4},
    {ElementType::F6E2M3, "f6e2m3", Family::Float, 6},
    {ElementType::F6E3M2, "f6e3m2", Family::Float, 6},
    {ElementType::F8E4M3FN, "f8e4m3fn", Family::Float, 8},
    {ElementType::F8E4M3FNUZ, "f8e4m3fnuz", Family::Float, 8},
    {ElementType::F8E5M2, "f8e5m2", Family::Float, 8},
    {ElementType::F8E5M2FNUZ, "f8e5m2fnuz", Family::Float, 8},
    {ElementType::F8E8M0, "f8e8m0", Family::Float, 8},
    {ElementType::F16, "f16", Family::Float, 16},
    {ElementType::BF16, "bf16", Family::Float, 16},
    {ElementType::F32, "f32", Family::Float, 32},
    {ElementType::F64, "f64", Family::Float, 64},
    {ElementType::C64, "c64", Family::Complex, 64},
    {ElementType::C128, "c128", Family::Complex, 128},
    {ElementType::String, "string", Family::Other, 0},
    {ElementType::Z, "Z", Family::Other, 0},
    {ElementType::R, "R", Family::Other, 0},
}};

constexpr bool in_order() {
  for (int i = 0; i < ElementTypeCount; ++i)
    if (static_cast<int>(Rows[static_cast<std::size_t>(i)].type) != i) return false;
  return true;
}
static_assert(in_order(), "one row per element type, in the order of the enumeration");

const Row& row(ElementType type) { return Rows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view name_of(ElementType type) { return row(type).name; }

std::optional<ElementType> element_type_named(std::string_view name) {
  for (const Row& r : Rows)
    if (r.name == name) return r.type;
  return std::nullopt;
}

int bits_of(ElementType type) { return row(type).bits; }
int bytes_of(ElementType type) { return (row(type).bits + 7) / 8; }
bool is_float(ElementType type) { return row(type).family == Family::Float; }
bool is_integer(ElementType type) {
  return row(type).family == Family::Signed || row(type).family == Family::Unsigned;
}
bool is_signed(ElementType type) { return row(type).family == Family::Signed; }
bool is_complex(ElementType type) { return row(type).family == Family::Complex; }

ElementType part_of(ElementType type) {
  ensure(is_complex(type), "no parts of " + std::string(name_of(type)));
  return type == ElementType::C64 ? ElementType::F32 : ElementType::F64;
}

std::optional<ElementType> wide(ElementType type) {
  if (is_float(type)) return row(type).bits < 32 ? ElementType::F32 : type;
  if (is_integer(type) || is_complex(type)) return type;
  return std::nullopt;
}

}  // namespace ulpian
