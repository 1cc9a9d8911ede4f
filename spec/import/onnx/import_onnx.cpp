#include "spec/import/onnx/import_onnx.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <new>

#include "spec/core/file.h"
#include "spec/import/onnx/builder.h"

namespace ulpian {

namespace {

constexpr std::uint64_t MostBytes = INT32_MAX;  // protobuf's own limit

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

Diagnostic bad_file(const std::string& source, std::string message, ErrorKind kind = ErrorKind::Input) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.program_place = source;
  return d;
}

bool parse(std::span<const std::byte> bytes, int nesting_limit, onnx::ModelProto& model) {
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  // A body takes three levels of messages (node, attribute, graph); the model, tensors and types take a few more.
  stream.SetRecursionLimit(3 * nesting_limit + 20);
  return model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Result<Graph> import(std::span<const std::byte> bytes, const OnnxImportOptions& options) {
  if (bytes.empty()) return bad_file(options.source, "the file is empty; an ONNX model is expected");
  if (bytes.size() > MostBytes) return bad_file(options.source, fmt::format("the model has {} bytes; protobuf admits less than 2 GiB", bytes.size()), ErrorKind::Limit).help("store the weights as external data");
  google::protobuf::Arena arena;
  auto* model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (!parse(bytes, options.nesting_limit, *model))
    return bad_file(options.source, fmt::format("not an ONNX model: the protobuf is truncated or corrupt, or bodies are nested more than {} deep", options.nesting_limit));
  onnx_file::ExternalData external(options.folder);
  return onnx_file::Builder(*model, options, external).build();
}

}  // namespace

Result<Graph> import_onnx(std::span<const std::byte> bytes, const OnnxImportOptions& options) {
  try {
    return import(bytes, options);
  } catch (const std::bad_alloc&) {
    return bad_file(options.source, "not enough memory for the model", ErrorKind::Limit);
  }
}

Result<Graph> import_onnx(const std::string& file, const OnnxImportOptions& options) {
  auto bytes = read_file(file, MostBytes);
  if (!bytes) return std::move(bytes).error();
  OnnxImportOptions own = options;
  own.source = file;
  own.folder = folder_of(file);
  return import_onnx(std::span<const std::byte>(*bytes), own);
}

}  // namespace ulpian
