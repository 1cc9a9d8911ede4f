#include "spec/import/onnx/names.h"

#include <fmt/format.h>

#include <cstdint>

namespace ulpian::onnx_file {

namespace {

// Bytes of the valid UTF-8 character at the start of `text`, or 0.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(k) & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = character_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string shown(std::string_view name) {
  constexpr std::size_t Most = 80;
  std::string out = "\"";
  std::size_t used = 0;
  while (used < name.size()) {
    const std::size_t n = character_length(name.substr(used));
    if (used + (n == 0 ? 1 : n) > Most) break;
    const auto first = static_cast<std::uint8_t>(name[used]);
    if (n == 0 || first < 0x20 || first == 0x7F) out += fmt::format("\\x{:02x}", first);
    else if (first == '"' || first == '\\') (out += '\\') += name[used];
    else out += name.substr(used, n);
    used += n == 0 ? 1 : n;
  }
  if (used < name.size()) out += fmt::format("...\" ({} bytes)", name.size());
  else out += '"';
  return out;
}

}  // namespace ulpian::onnx_file
