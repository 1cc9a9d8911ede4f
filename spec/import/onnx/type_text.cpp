#include "spec/import/onnx/type_text.h"

#include <array>
#include <utility>

#include "spec/import/onnx/element_code.h"
#include "spec/import/onnx/schema.h"

namespace ulpian::onnx_file {

namespace {

constexpr std::array<std::pair<const char*, int>, 28> Elements{{
    {"float", 1}, {"uint8", 2}, {"int8", 3}, {"uint16", 4}, {"int16", 5}, {"int32", 6}, {"int64", 7}, {"string", 8}, {"bool", 9},
    {"float16", 10}, {"double", 11}, {"uint32", 12}, {"uint64", 13}, {"complex64", 14}, {"complex128", 15}, {"bfloat16", 16},
    {"float8e4m3fn", 17}, {"float8e4m3fnuz", 18}, {"float8e5m2", 19}, {"float8e5m2fnuz", 20}, {"uint4", 21}, {"int4", 22},
    {"float4e2m1", 23}, {"float8e8m0", 24}, {"uint2", 25}, {"int2", 26}, {"float6e2m3", 27}, {"float6e3m2", 28},
}};

// What stands between `name(` and the last `)`.
std::optional<std::string_view> inside(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || text.size() < name.size() + 2 || text[name.size()] != '(' || text.back() != ')') return std::nullopt;
  return text.substr(name.size() + 1, text.size() - name.size() - 2);
}

constexpr int MostDepth = 8;

std::optional<std::string> text_of(const ::onnx::TypeProto& type, int depth) {
  if (depth > MostDepth) return std::nullopt;
  const auto wrapped = [&](const char* name, const ::onnx::TypeProto& inner) -> std::optional<std::string> {
    const auto text = text_of(inner, depth + 1);
    if (!text) return std::nullopt;
    return std::string(name) + "(" + *text + ")";
  };
  if (type.has_optional_type()) return wrapped("optional", type.optional_type().elem_type());
  if (type.has_sequence_type()) return wrapped("seq", type.sequence_type().elem_type());
  const bool sparse = type.has_sparse_tensor_type();
  if (!sparse && !type.has_tensor_type()) return std::nullopt;
  const int code = sparse ? type.sparse_tensor_type().elem_type() : type.tensor_type().elem_type();
  for (const auto& [name, number] : Elements)
    if (number == code) return std::string(sparse ? "sparse_tensor(" : "tensor(") + name + ")";
  return std::nullopt;
}

bool type_of(std::string_view text, ::onnx::TypeProto& out, int depth) {
  if (depth > MostDepth) return false;
  if (const auto inner = inside(text, "optional")) return type_of(*inner, *out.mutable_optional_type()->mutable_elem_type(), depth + 1);
  if (const auto inner = inside(text, "seq")) return type_of(*inner, *out.mutable_sequence_type()->mutable_elem_type(), depth + 1);
  const auto sparse = inside(text, "sparse_tensor");
  const auto dense = inside(text, "tensor");
  for (const auto& [name, number] : Elements) {
    if (dense && *dense == name) return out.mutable_tensor_type()->set_elem_type(number), true;
    if (sparse && *sparse == name) return out.mutable_sparse_tensor_type()->set_elem_type(number), true;
  }
  return false;
}

}  // namespace

std::optional<std::string> text_of_type(const ::onnx::TypeProto& type) { return text_of(type, 0); }

bool type_of_text(std::string_view text, ::onnx::TypeProto& out) { return type_of(text, out, 0); }

}  // namespace ulpian::onnx_file
