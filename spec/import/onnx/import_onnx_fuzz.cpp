// Any bytes as an ONNX file: read, written, read again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "spec/import/onnx/export_onnx.h"
#include "spec/import/onnx/import_onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpian;
  const auto bytes = std::as_bytes(std::span(data, size));
  OnnxImportOptions options;
  options.memory_limit = 1 << 24;
  options.node_limit = 10'000;
  auto graph = import_onnx(bytes, options);
  if (!graph) {
    ensure(!to_string(graph.error()).empty());
    return 0;
  }
  // What one import accepts, the next one must accept as it was written.
  if (auto written = export_onnx(*graph)) {
    auto again = import_onnx(std::as_bytes(std::span<const char>(*written)), options);
    ensure(again.ok(), again ? std::string() : to_string(again.error()));
    ensure(again->nodes.size() == graph->nodes.size() && again->inputs.size() == graph->inputs.size() && again->outputs.size() == graph->outputs.size(),
           "a graph changed on its way through a file");
  }
  if (auto exposed = expose_values(bytes, graph->values)) (void)import_onnx(std::as_bytes(std::span<const char>(*exposed)), options);
  return 0;
}
