// Any bytes as a .pb file (TensorProto): read, written, read again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/import/onnx/tensor_proto.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpian;
  constexpr std::int64_t Memory = 1 << 24;
  auto named = parse_tensor_proto(std::as_bytes(std::span(data, size)), "fuzz.pb", Memory);
  if (!named) {
    ensure(!to_string(named.error()).empty());
    return 0;
  }
  auto written = format_tensor_proto(named->tensor, named->name);
  if (!written) return 0;
  auto again = parse_tensor_proto(std::as_bytes(std::span<const char>(*written)), "again.pb", 2 * Memory);
  ensure(again.ok(), again ? std::string() : to_string(again.error()));
  ensure(same_elements(named->tensor, again->tensor), "a tensor changed on its way through a file");
  return 0;
}
