#include "spec/import/onnx/import_onnx.h"

#include <new>

#include "spec/core/file.h"
#include "spec/import/onnx/builder.h"
#include "spec/import/onnx/parse_model.h"

namespace ulpian {

namespace {

constexpr std::uint64_t MostBytes = INT32_MAX;  // protobuf's own limit

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

Result<Graph> import(std::span<const std::byte> bytes, const OnnxImportOptions& options) {
  google::protobuf::Arena arena;
  auto* model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (auto s = onnx_file::parse_model(bytes, options.source, options.nesting_limit, *model); !s) return std::move(s).error();
  onnx_file::ExternalData external(options.folder);
  return onnx_file::Builder(*model, options, external).build();
}

}  // namespace

Result<Graph> import_onnx(std::span<const std::byte> bytes, const OnnxImportOptions& options) {
  try {
    return import(bytes, options);
  } catch (const std::bad_alloc&) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = "not enough memory for the model";
    d.program_place = options.source;
    return d;
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
