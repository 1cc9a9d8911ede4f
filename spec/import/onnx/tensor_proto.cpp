#include "spec/import/onnx/tensor_proto.h"

#include <fmt/format.h>

#include "spec/import/onnx/names.h"
#include "spec/import/onnx/schema.h"
#include <onnx/onnx-data.pb.h>
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

namespace {

Diagnostic bad_file(const std::string& source, std::string message, ErrorKind kind = ErrorKind::Input) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.program_place = source;
  return d;
}

template <typename Proto>
Status parse(Proto& proto, std::span<const std::byte> bytes, const std::string& source, const char* what) {
  if (bytes.size() > INT32_MAX) return bad_file(source, fmt::format("{} bytes; a {} has less than 2 GiB", bytes.size(), what), ErrorKind::Limit);
  // An empty sequence without a name and a type takes no bytes at all.
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return bad_file(source, fmt::format("not a {}: truncated or corrupt", what));
  if (!onnx_file::valid_utf8(proto.name())) return bad_file(source, fmt::format("the value's name {} is not UTF-8", onnx_file::shown(proto.name())));
  return success();
}

Result<Datum> sequence_of(::onnx::SequenceProto& proto, const std::string& source, ElementType type, onnx_file::DecodeLimits& limits) {
  const bool nested = proto.sequence_values_size() + proto.map_values_size() + proto.optional_values_size() + proto.sparse_tensor_values_size() > 0;
  if (nested) return bad_file(source, "a sequence of something else than tensors, which is not supported", ErrorKind::Unsupported);
  Datum::Sequence out{type, {}};
  for (auto& one : *proto.mutable_tensor_values()) {
    auto t = onnx_file::decode(one, fmt::format("tensor {} of the sequence", out.items.size()), limits);
    if (!t) return std::move(t.error().in_program(source));
    if (out.items.empty()) out.type = t->type();
    if (t->type() != out.type) return bad_file(source, fmt::format("tensor {} of the sequence holds {}, those before it {}", out.items.size(), name_of(t->type()), name_of(out.type)));
    out.items.push_back(std::move(*t));
  }
  return Datum(std::move(out));
}

}  // namespace

Result<NamedDatum> parse_sequence_proto(std::span<const std::byte> bytes, const std::string& source, ElementType type, std::int64_t memory_limit) {
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<::onnx::SequenceProto>(&arena);
  if (Status s = parse(*proto, bytes, source, "SequenceProto"); !s) return s.error();
  onnx_file::DecodeLimits limits;
  limits.memory_left = memory_limit;
  auto value = sequence_of(*proto, source, type, limits);
  if (!value) return std::move(value).error();
  return NamedDatum{proto->name(), std::move(*value)};
}

namespace {

// Messages of three kinds have the same field numbers. By the standard an OptionalProto's elem_type is the kind of its value, and it has no more fields.
bool is_optional_proto(const ::onnx::OptionalProto& proto, bool of_sequence) {
  using P = ::onnx::OptionalProto;
  if (!proto.unknown_fields().empty()) return false;
  const std::pair<bool, int> values[] = {{proto.has_tensor_value(), P::TENSOR}, {proto.has_sparse_tensor_value(), P::SPARSE_TENSOR}, {proto.has_sequence_value(), P::SEQUENCE},
                                         {proto.has_map_value(), P::MAP}, {proto.has_optional_value(), P::OPTIONAL}};
  int held = 0;
  for (const auto& [has, kind] : values) {
    if (has && proto.elem_type() != kind) return false;
    held += has;
  }
  // A SequenceProto of tensors says TENSOR, and has them where an optional has its tensor.
  return held <= 1 && !(of_sequence && proto.elem_type() == P::TENSOR);
}

}  // namespace

Result<NamedDatum> parse_optional_proto(std::span<const std::byte> bytes, const std::string& source, ElementType type, bool of_sequence, std::int64_t memory_limit) {
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<::onnx::OptionalProto>(&arena);
  if (Status s = parse(*proto, bytes, source, "OptionalProto"); !s || !is_optional_proto(*proto, of_sequence)) {
    if (of_sequence) {
      auto value = parse_sequence_proto(bytes, source, type, memory_limit);
      return value || s ? std::move(value) : s.error();
    }
    auto value = parse_tensor_proto(bytes, source, memory_limit);
    if (!value) return s ? std::move(value).error() : s.error();
    return NamedDatum{std::move(value->name), std::move(value->tensor)};
  }
  onnx_file::DecodeLimits limits;
  limits.memory_left = memory_limit;
  NamedDatum out{proto->name(), {}};
  if (proto->has_sparse_tensor_value() || proto->has_map_value() || proto->has_optional_value())
    return bad_file(source, "an optional value that holds neither a tensor nor a sequence of tensors, which is not supported", ErrorKind::Unsupported);
  if (proto->has_sequence_value()) {
    auto value = sequence_of(*proto->mutable_sequence_value(), source, type, limits);
    if (!value) return std::move(value).error();
    out.value = std::move(*value);
  } else if (proto->has_tensor_value()) {
    auto t = onnx_file::decode(*proto->mutable_tensor_value(), "the tensor", limits);
    if (!t) return std::move(t.error().in_program(source));
    out.value = std::move(*t);
  }
  return out;
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
