#include "interp/tensors/tensor_file.h"

#include <fmt/format.h>

#include "interp/tensors/npy.h"
#include "spec/core/file.h"
#include "spec/import/onnx/tensor_proto.h"

namespace ulpian {

namespace {

Diagnostic unknown_ending(const std::string& file) {
  Diagnostic d;
  d.message = fmt::format("{}: the file's ending says nothing of its format; .npy or .pb is expected", file);
  return d;
}

}  // namespace

Result<Tensor> read_tensor(const std::string& file, std::optional<ElementType> type, std::int64_t memory_limit) {
  if (file.ends_with(".npy")) return read_npy(file, {type, memory_limit});
  if (!file.ends_with(".pb")) return unknown_ending(file);
  auto bytes = read_file(file, INT32_MAX);
  if (!bytes) return std::move(bytes).error();
  auto named = parse_tensor_proto(*bytes, file, memory_limit);
  if (!named) return std::move(named).error();
  if (type && *type != named->tensor.type()) {
    Diagnostic d;
    d.message = fmt::format("the file holds {}; {} is asked for", name_of(named->tensor.type()), name_of(*type));
    d.in_program(file);
    return d;
  }
  return std::move(named->tensor);
}

Status write_tensor(const std::string& file, const Tensor& tensor, const std::string& name) {
  if (file.ends_with(".npy")) return write_npy(file, tensor);
  if (!file.ends_with(".pb")) return unknown_ending(file);
  auto bytes = format_tensor_proto(tensor, name);
  if (!bytes) return std::move(bytes.error().in_program(file));
  return write_file(file, std::string_view(*bytes));
}

}  // namespace ulpian
