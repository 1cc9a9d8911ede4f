// Values in ONNX's own format, as .pb files hold them: TensorProto, SequenceProto, OptionalProto. Nothing in a file says which of them it is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "spec/core/datum.h"
#include "spec/core/tensor.h"

namespace ulpian {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Every encoding of TensorProto except external data. `source` is the file's name, for messages; `memory_limit` bounds the tensor's bytes.
Result<NamedTensor> parse_tensor_proto(std::span<const std::byte> bytes, const std::string& source, std::int64_t memory_limit);

// With raw_data (strings: string_data). Fails above protobuf's 2 GiB.
Result<std::string> format_tensor_proto(const Tensor& tensor, std::string_view name);

struct NamedDatum {
  std::string name;
  Datum value;
};

// `type`: of a sequence without tensors, which the file does not tell. Where an optional value is expected, what it may hold (a sequence: `of_sequence`)
// may also stand for itself: whatever cannot be an OptionalProto of that is read as one.
Result<NamedDatum> parse_sequence_proto(std::span<const std::byte> bytes, const std::string& source, ElementType type, std::int64_t memory_limit);
Result<NamedDatum> parse_optional_proto(std::span<const std::byte> bytes, const std::string& source, ElementType type, bool of_sequence, std::int64_t memory_limit);

}  // namespace ulpian
