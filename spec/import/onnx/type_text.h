// Types in ONNX's own notation: "tensor(float)", "seq(tensor(int64))", "optional(seq(tensor(float)))". Attributes that are types are such texts.
// Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onnx {
class TypeProto;
}

namespace ulpian::onnx_file {

// Shapes and denotations are left out: the notation has none. Empty for what is not written so (maps, opaque types, unknown elements).
std::optional<std::string> text_of_type(const ::onnx::TypeProto& type);
// False if the text is no such type.
bool type_of_text(std::string_view text, ::onnx::TypeProto& out);

}  // namespace ulpian::onnx_file
