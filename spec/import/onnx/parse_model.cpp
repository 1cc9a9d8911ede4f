#include "spec/import/onnx/parse_model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "spec/import/onnx/schema.h"

namespace ulpian::onnx_file {

Status parse_model(std::span<const std::byte> bytes, const std::string& source, int nesting_limit, ::onnx::ModelProto& model) {
  Diagnostic bad;
  bad.program_place = source;
  if (bytes.empty()) {
    bad.message = "the file is empty; an ONNX model is expected";
    return bad;
  }
  if (bytes.size() > INT32_MAX) {
    bad.kind = ErrorKind::Limit;
    bad.message = fmt::format("the model has {} bytes; protobuf admits less than 2 GiB", bytes.size());
    bad.help("store the weights as external data");
    return bad;
  }
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  // A body takes three levels of messages (node, attribute, graph); the model, tensors and types take a few more.
  stream.SetRecursionLimit(3 * nesting_limit + 20);
  if (model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return success();
  bad.message = fmt::format("not an ONNX model: the protobuf is truncated or corrupt, or bodies are nested more than {} deep", nesting_limit);
  return bad;
}

}  // namespace ulpian::onnx_file
