// Values in headers and payloads. Included by message.cpp only.
#pragma once

#include <cstdint>

#include "diff/backends/frame.h"
#include "diff/backends/json.h"
#include "diff/backends/outcome.h"

namespace ulpian::diff {

// Walks a payload blob by blob.
class BlobCursor {
public:
  explicit BlobCursor(std::span<const std::byte> payload) : rest_(payload) {}
  std::span<const std::byte> next(std::int64_t bytes);  // and over its padding; Malformed if the payload is too short
  void expect_end() const;                              // Malformed if something is left

private:
  std::span<const std::byte> rest_;
};

json encode_value(const Value& value, OutgoingFrame& frame);
Value decode_value(const json& header, BlobCursor& blobs);

ElementType stored_type_of(const json& value, const char* what);  // not Z, not R
Extents extents_of(const json& value);

}  // namespace ulpian::diff
