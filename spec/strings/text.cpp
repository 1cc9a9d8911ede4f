#include "spec/strings/text.h"

namespace ulpian {
namespace {

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

// The bytes up to the next white space, or those of white space.
std::size_t run(std::string_view text, bool white) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character c = first_character(text.substr(at));
    if (is_white_space(c.code) != white) break;
    at += c.bytes;
  }
  return at;
}

template <class Visit> void each_word(std::string_view text, std::int64_t most, Visit&& visit) {
  std::int64_t found = 0;
  for (text.remove_prefix(run(text, true)); !text.empty(); text.remove_prefix(run(text, true))) {
    const std::size_t n = found++ == most ? text.size() : run(text, false);
    visit(text.substr(0, n));
    text.remove_prefix(n);
  }
}

template <class Visit> void each_piece(std::string_view text, std::string_view mark, std::int64_t most, Visit&& visit) {
  if (mark.empty()) return each_word(text, most, visit);
  for (std::int64_t cuts = 0; cuts != most; ++cuts) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) break;
    visit(text.substr(0, at));
    text.remove_prefix(at + mark.size());
  }
  visit(text);
}

}  // namespace

// Well-formed UTF-8 only (Unicode, table 3-7): no surrogates, nothing longer than it needs to be.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < n) return {};
  char32_t code = lead & (0x7fu >> n);
  for (std::size_t k = 1; k < n; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(k) & 0x3fu);
  }
  const char32_t least = n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, n};
}

std::int64_t text_length(std::string_view text) {
  std::int64_t n = 0;
  for (; !text.empty(); ++n) text.remove_prefix(first_character(text).bytes);
  return n;
}

std::vector<std::string_view> text_pieces(std::string_view text, std::string_view mark, std::int64_t most) {
  std::vector<std::string_view> out;
  each_piece(text, mark, most, [&](std::string_view piece) { out.push_back(piece); });
  return out;
}

std::int64_t text_piece_count(std::string_view text, std::string_view mark, std::int64_t most) {
  std::int64_t n = 0;
  each_piece(text, mark, most, [&](std::string_view) { ++n; });
  return n;
}

}  // namespace ulpian
