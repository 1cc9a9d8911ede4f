#include "diff/backends/frame.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

constexpr std::array<std::byte, BlobAlignment> Zeros{};

void put_u64(std::string& out, std::uint64_t v) {
  for (int k = 0; k < 8; ++k) out += static_cast<char>((v >> (8 * k)) & 0xff);
}

std::uint64_t get_u64(const std::byte* p) {
  std::uint64_t v = 0;
  for (int k = 0; k < 8; ++k) v |= static_cast<std::uint64_t>(p[k]) << (8 * k);
  return v;
}

Diagnostic wrong(std::string message) { return diagnostic(ErrorKind::Input, std::move(message)); }

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string out = "\"";
  for (std::size_t k = 0; k < text.size() && k < most; ++k) {
    const char c = text[k];
    if (c == '\n') out += "\\n";
    else if (c == '"' || c == '\\') (out += '\\') += c;
    else if (c < 0x20 || c > 0x7e) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + (text.size() > most ? "\"..." : "\"");
}

void Payload::Free::operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{BlobAlignment}); }

std::optional<Payload> Payload::allocate(std::uint64_t bytes) {
  Payload p;
  if (bytes == 0) return p;
  void* memory = ::operator new[](bytes, std::align_val_t{BlobAlignment}, std::nothrow);
  if (!memory) return std::nullopt;
  p.data_.reset(static_cast<std::byte*>(memory));
  p.size_ = bytes;
  return p;
}

void OutgoingFrame::append(std::span<const std::byte> blob) {
  if (blob.empty()) return;
  parts.push_back(blob);
  const std::size_t over = blob.size() % BlobAlignment;
  const std::size_t padding = over ? BlobAlignment - over : 0;
  if (padding) parts.push_back(std::span(Zeros).first(padding));
  payload_bytes += blob.size() + padding;
}

void OutgoingFrame::append(std::string blob) {
  kept.push_back(std::make_shared<const std::string>(std::move(blob)));
  append(std::as_bytes(std::span(*kept.back())));
}

void OutgoingFrame::finish(std::string_view header) {
  head.assign(FrameMagic);
  put_u64(head, header.size());
  put_u64(head, payload_bytes);
  head += header;
}

std::span<std::byte> FrameReader::wanted() {
  switch (stage_) {
    case Stage::Prelude: return std::span(prelude_).subspan(filled_);
    case Stage::Header: return std::as_writable_bytes(std::span(frame_.header)).subspan(filled_);
    case Stage::Payload: return frame_.payload.bytes().subspan(filled_);
    case Stage::Complete: return {};
  }
  ensure(false);
}

Status FrameReader::received(std::size_t n) {
  ensure(n <= wanted().size());
  filled_ += n;
  if (stage_ == Stage::Prelude) {
    // What is no frame is known from its first bytes; a backend that prints and then waits should not count as hung.
    const std::size_t known = std::min(filled_, FrameMagic.size());
    if (std::memcmp(prelude_.data(), FrameMagic.data(), known) != 0) {
      return wrong(fmt::format("{} where a frame belongs (frames begin with \"{}\"); standard output is the protocol's, a library that prints needs a "
                               "private copy of it",
                               shown({reinterpret_cast<const char*>(prelude_.data()), filled_}), FrameMagic));
    }
    if (filled_ < PreludeBytes) return success();
    return check_prelude();
  }
  if (!wanted().empty()) return success();
  if (stage_ == Stage::Header) return check_header();
  if (stage_ == Stage::Payload) stage_ = Stage::Complete;
  return success();
}

Status FrameReader::check_prelude() {
  const std::uint64_t header_bytes = get_u64(prelude_.data() + 8);
  payload_bytes_ = get_u64(prelude_.data() + 16);
  if (header_bytes == 0) return wrong("a frame without a header");
  if (header_bytes > limits_.header_bytes) {
    return wrong(fmt::format("a frame declares a header of {} bytes; the most is {}", header_bytes, limits_.header_bytes));
  }
  if (payload_bytes_ > limits_.payload_bytes) {
    return wrong(fmt::format("a frame declares a payload of {} bytes; the most is {}", payload_bytes_, limits_.payload_bytes));
  }
  if (payload_bytes_ % BlobAlignment != 0) return wrong(fmt::format("a payload of {} bytes; each blob is padded to a multiple of 64", payload_bytes_));
  frame_.header.resize(header_bytes);
  stage_ = Stage::Header;
  filled_ = 0;
  return success();
}

Status FrameReader::check_header() {
  auto payload = Payload::allocate(payload_bytes_);
  if (!payload) {
    return diagnostic(ErrorKind::Limit, fmt::format("no memory for a payload of {} bytes", payload_bytes_));
  }
  frame_.payload = std::move(*payload);
  filled_ = 0;
  stage_ = payload_bytes_ == 0 ? Stage::Complete : Stage::Payload;
  return success();
}

}  // namespace ulpian::diff
