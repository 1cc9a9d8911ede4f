// Any bytes as an .npy file: read as what it says and as types that NumPy lacks, written, read again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "interp/tensors/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpian;
  constexpr std::int64_t Memory = 1 << 24;
  const std::optional<ElementType> types[] = {std::nullopt, ElementType::BF16, ElementType::I4, ElementType::F8E4M3FN, ElementType::String};
  for (const auto type : types) {
    auto tensor = parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy", {type, Memory});
    if (!tensor) {
      ensure(!to_string(tensor.error()).empty());
      continue;
    }
    auto written = format_npy(*tensor);
    if (!written) continue;  // strings that NumPy's cannot hold
    auto again = parse_npy(std::as_bytes(std::span<const char>(*written)), "again.npy", {tensor->type(), 64 * Memory});
    ensure(again.ok(), again ? std::string() : to_string(again.error()));
    ensure(same_elements(*tensor, *again), "a tensor changed on its way through a file");
  }
  return 0;
}
