#include "spec/import/onnx/element_code.h"

#include <fmt/format.h>

#include <array>

namespace ulpian {

namespace {

struct Row {
  ElementType type;
  std::int32_t code;
};

constexpr std::array Codes = {
    Row{ElementType::F32, 1},         Row{ElementType::U8, 2},      Row{ElementType::I8, 3},          Row{ElementType::U16, 4},
    Row{ElementType::I16, 5},         Row{ElementType::I32, 6},     Row{ElementType::I64, 7},         Row{ElementType::String, 8},
    Row{ElementType::Bool, 9},        Row{ElementType::F16, 10},    Row{ElementType::F64, 11},        Row{ElementType::U32, 12},
    Row{ElementType::U64, 13},        Row{ElementType::C64, 14},    Row{ElementType::C128, 15},       Row{ElementType::BF16, 16},
    Row{ElementType::F8E4M3FN, 17},   Row{ElementType::F8E4M3FNUZ, 18}, Row{ElementType::F8E5M2, 19}, Row{ElementType::F8E5M2FNUZ, 20},
    Row{ElementType::U4, 21},         Row{ElementType::I4, 22},     Row{ElementType::F4E2M1, 23},     Row{ElementType::F8E8M0, 24},
    Row{ElementType::U2, 25},         Row{ElementType::I2, 26},     Row{ElementType::F6E2M3, 27},     Row{ElementType::F6E3M2, 28},
};

}  // namespace

std::optional<ElementType> element_type_of_onnx(std::int64_t code) {
  for (const Row& row : Codes)
    if (row.code == code) return row.type;
  return std::nullopt;
}

std::int32_t onnx_code_of(ElementType type) {
  for (const Row& row : Codes)
    if (row.type == type) return row.code;
  ensure(false, std::string(name_of(type)));
}

Result<ElementType> checked_element_type(std::int64_t code, const std::string& owner) {
  if (const auto type = element_type_of_onnx(code)) return *type;
  Diagnostic d;
  if (code == 0) d.message = owner + " has no element type";
  else d.message = fmt::format("{} has element type {}, which is none of ONNX's", owner, code);
  return d;
}

}  // namespace ulpian
