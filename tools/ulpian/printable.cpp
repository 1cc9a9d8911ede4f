#include "tools/ulpian/printable.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace ulpian::tools {
namespace {

// The length of the well-formed UTF-8 sequence that `text` starts with, 0 if there is none; its code point.
std::size_t sequence(std::string_view text, std::uint32_t& point) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  point = length == 1 ? first : first & (0xffu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(k) & 0x3fu);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  return overlong || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : length;
}

bool is_harmless(std::uint32_t p) {
  if (p == '\n' || p == '\t') return true;
  if (p < 0x20 || (p >= 0x7f && p < 0xa0)) return false;
  const bool directs = p == 0x061c || p == 0x200e || p == 0x200f || (p >= 0x2028 && p <= 0x202e) || (p >= 0x2066 && p <= 0x2069);
  return !directs;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t k = 0; k < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = sequence(text.substr(k), point);
    const std::size_t taken = length ? length : 1;
    if (length && is_harmless(point)) out.append(text.substr(k, length));
    else
      for (std::size_t j = 0; j < taken; ++j) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[k + j]));
    k += taken;
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out = printable(text);
  for (const auto& [c, escaped] : {std::pair('\n', "\\x0a"), std::pair('\t', "\\x09")})
    for (std::size_t k = out.find(c); k != std::string::npos; k = out.find(c, k)) out.replace(k, 1, escaped);
  return out;
}

std::string indented(std::string_view text, std::string_view indent) {
  std::string out = printable(text);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  const std::string line = "\n" + std::string(indent);
  for (std::size_t k = out.find('\n'); k != std::string::npos; k = out.find('\n', k + line.size())) out.replace(k, 1, line);
  return out;
}

}  // namespace ulpian::tools
