// ONNX's numbers for element types (TensorProto.DataType).
#pragma once

#include <optional>

#include "spec/core/diagnostic.h"
#include "spec/numbers/element_type.h"

namespace ulpian {

// Empty for numbers that name no type of the language.
std::optional<ElementType> element_type_of_onnx(std::int64_t code);
// `ensure`s that programs can hold the type (not Z, not R).
std::int32_t onnx_code_of(ElementType type);

// The same with the reason: 0 is no type, 99 is unknown. `owner` begins the message.
Result<ElementType> checked_element_type(std::int64_t code, const std::string& owner);

}  // namespace ulpian
