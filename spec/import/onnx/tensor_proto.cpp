#include "spec/import/onnx/tensor_proto.h"

#include <fmt/format.h>

#include "spec/import/onnx/names.h"
#include "spec/import/onnx/schema.h"
#include "spec/import/onnx/tensor_codec.h"

namespace ulpian {

Result<NamedTensor> parse_tensor_proto(std::span<const std::byte> bytes, const std::string& source, std::int64_t memory_limit) {
  Diagnostic bad;
  bad.program_place = source;
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<::onnx::TensorProto>(&arena);
  if (bytes.size() > INT32_MAX) {
    bad.kind = ErrorKind::Limit;
    bad.message = fmt::format("{} bytes; a TensorProto has less than 2 GiB", bytes.size());
    return bad;
  }
  if (bytes.empty() || !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    bad.message = bytes.empty() ? "the file is empty; a TensorProto is expected" : "not a TensorProto: truncated or corrupt";
    return bad;
  }
  if (!onnx_file::valid_utf8(proto->name())) {
    bad.message = fmt::format("the tensor's name {} is not UTF-8", onnx_file::shown(proto->name()));
    return bad;
  }
  onnx_file::DecodeLimits limits;
  limits.memory_left = memory_limit;
  auto tensor = onnx_file::decode(*proto, "the tensor", limits);
  if (!tensor) return std::move(tensor.error().in_program(source));
  return NamedTensor{proto->name(), std::move(tensor).value()};
}

Result<std::string> format_tensor_proto(const Tensor& tensor, std::string_view name) {
  constexpr std::int64_t Most = (std::int64_t{1} << 31) - 4096;  // protobuf's limit, less what frames the elements
  if (onnx_file::encoded_size(tensor) > Most || name.size() > 2048) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = fmt::format("a tensor of {} elements {} is above protobuf's 2 GiB", to_string(tensor.extents()), name_of(tensor.type()));
    return d;
  }
  ::onnx::TensorProto proto;
  onnx_file::encode(tensor, name, proto);
  return proto.SerializeAsString();
}

}  // namespace ulpian
