#include "interp/tensors/npy_strings.h"

#include <fmt/format.h>

#include <algorithm>

#include "interp/tensors/npy_header.h"
#include "spec/import/onnx/names.h"

namespace ulpian::npy {

namespace {

void append_utf8(std::uint32_t code, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Of a text that is valid UTF-8.
std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t k = 0; k < text.size();) {
    const auto first = static_cast<std::uint8_t>(text[k]);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    std::uint32_t code = length == 1 ? first : first & (0x7Fu >> length);
    for (std::size_t j = 1; j < length; ++j) code = code << 6 | (static_cast<std::uint8_t>(text[k + j]) & 0x3Fu);
    out += static_cast<char32_t>(code);
    k += length;
  }
  return out;
}

}  // namespace

std::optional<std::string> decode_string(std::span<const std::byte> item, bool ucs4, bool big_endian) {
  const std::size_t unit = ucs4 ? 4 : 1;
  std::string out;
  std::size_t end = 0;  // of what stands before the zeros at the end
  for (std::size_t k = 0; k + unit <= item.size(); k += unit) {
    std::uint32_t code = 0;
    for (std::size_t j = 0; j < unit; ++j) code |= std::to_integer<std::uint32_t>(item[k + (big_endian ? unit - 1 - j : j)]) << (8 * j);
    if (ucs4 && (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))) return std::nullopt;
    if (ucs4) append_utf8(code, out);
    else out += static_cast<char>(code);
    if (code != 0) end = out.size();
  }
  out.resize(end);
  return out;
}

Result<std::string> format_strings(const Tensor& tensor) {
  std::vector<std::u32string> all;
  std::size_t longest = 1;
  for (const std::string& s : tensor.strings()) {
    const bool valid = onnx_file::valid_utf8(s);
    if (!valid || s.ends_with('\0')) {
      Diagnostic d;
      d.kind = ErrorKind::Unsupported;
      d.message = fmt::format("string {} {}, which an .npy file cannot hold", all.size(), valid ? "ends in a zero" : "is not UTF-8");
      return d;
    }
    all.push_back(characters(s));
    longest = std::max(longest, all.back().size());
  }
  std::string out = format_header(fmt::format("<U{}", longest), tensor.extents());
  for (const std::u32string& s : all)
    for (std::size_t k = 0; k < longest; ++k) {
      const std::uint32_t code = k < s.size() ? s[k] : 0;
      for (int j = 0; j < 4; ++j) out += static_cast<char>(code >> (8 * j) & 0xFF);
    }
  return out;
}

}  // namespace ulpian::npy
