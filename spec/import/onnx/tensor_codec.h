// TensorProto to Tensor and back. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "spec/core/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace ulpian::onnx_file {

class ExternalData;

// What decoding may use. Declared sizes are held against it before memory is set aside.
struct DecodeLimits {
  std::int64_t memory_left = 0;
  std::int64_t dense_left = std::int64_t{1} << 30;  // for sparse tensors: a few bytes in the file can ask for any amount
  ExternalData* external = nullptr;
};

// `owner` names the tensor in messages: `initializer "w"`. The payload of `proto` is released, so that a large model is held once.
Result<Tensor> decode(::onnx::TensorProto& proto, const std::string& owner, DecodeLimits& limits);
// Dense: what the sparse form leaves out is zero, or the empty string.
Result<Tensor> decode(::onnx::SparseTensorProto& proto, const std::string& owner, DecodeLimits& limits);

void encode(const Tensor& tensor, std::string_view name, ::onnx::TensorProto& out);
// Bytes that `encode` will take, about.
std::int64_t encoded_size(const Tensor& tensor);

}  // namespace ulpian::onnx_file
