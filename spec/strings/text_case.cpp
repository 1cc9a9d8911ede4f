#include <utf8proc.h>

#include "spec/strings/text.h"

namespace ulpian {
namespace {

std::string mapped(std::string_view text, utf8proc_int32_t (*map)(utf8proc_int32_t)) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.code == InvalidByte) {
      out += text[0];
    } else {
      utf8proc_uint8_t bytes[4];
      const utf8proc_ssize_t n = utf8proc_encode_char(map(static_cast<utf8proc_int32_t>(c.code)), bytes);
      out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string text_lower(std::string_view text) { return mapped(text, utf8proc_tolower); }
std::string text_upper(std::string_view text) { return mapped(text, utf8proc_toupper); }

}  // namespace ulpian
