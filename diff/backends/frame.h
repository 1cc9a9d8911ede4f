// Frames: the eight bytes "ULPIAN/1", the header's and the payload's length (u64, little endian), a JSON header, the payload.
// docs/backends.md is the definition.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/core/diagnostic.h"

namespace ulpian::diff {

inline constexpr std::string_view FrameMagic = "ULPIAN/1";
inline constexpr std::size_t PreludeBytes = 24;
inline constexpr std::size_t BlobAlignment = 64;

struct FrameLimits {
  std::uint64_t header_bytes = std::uint64_t{16} << 20;
  std::uint64_t payload_bytes = std::uint64_t{4} << 30;
};

// A payload as it arrives: aligned to 64 bytes, not cleared, so that a length that lies costs address space only.
class Payload {
public:
  Payload() = default;
  // Empty if there is no such memory.
  static std::optional<Payload> allocate(std::uint64_t bytes);
  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

struct Frame {
  std::string header;
  Payload payload;
};

// A frame to be sent. Blobs are not copied: what they show must outlive the sending.
struct OutgoingFrame {
  std::string head;                               // prelude and header
  std::vector<std::span<const std::byte>> parts;  // blobs and the zeros between them, in order
  std::uint64_t payload_bytes = 0;
  std::vector<std::shared_ptr<const std::string>> kept;  // blobs made for the occasion

  void append(std::span<const std::byte> blob);  // and the zeros up to the next multiple of 64
  void append(std::string blob);
  void finish(std::string_view header);          // last
};

// Takes a frame in as its bytes come. `wanted` is where the next bytes go; never more than belong to this frame.
class FrameReader {
public:
  explicit FrameReader(FrameLimits limits) : limits_(limits) {}

  // Empty when the frame is complete.
  std::span<std::byte> wanted();
  // `n` bytes were written to the front of `wanted()`. An error is final.
  Status received(std::size_t n);
  bool complete() const { return stage_ == Stage::Complete; }
  bool started() const { return stage_ != Stage::Prelude || filled_ > 0; }
  Frame take() { return std::move(frame_); }

private:
  enum class Stage : std::uint8_t { Prelude, Header, Payload, Complete };
  Status check_prelude();
  Status check_header();

  FrameLimits limits_;
  Stage stage_ = Stage::Prelude;
  std::size_t filled_ = 0;
  std::array<std::byte, PreludeBytes> prelude_{};
  std::uint64_t payload_bytes_ = 0;
  Frame frame_;
};

inline Diagnostic diagnostic(ErrorKind kind, std::string message) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  return d;
}

// The text with everything that is not printable ASCII escaped, and cut: for messages that quote what a backend sent.
std::string shown(std::string_view text, std::size_t most = 60);

}  // namespace ulpian::diff
