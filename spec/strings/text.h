// Functions of strings: bytes, read as UTF-8. A byte that belongs to no character counts as one character and passes unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ulpian {

// The character at the front of a text that is not empty, and how many bytes it takes; InvalidByte, and 1, where the byte begins none.
inline constexpr char32_t InvalidByte = 0xffffffff;
struct Character {
  char32_t code = InvalidByte;
  std::size_t bytes = 1;
};
Character first_character(std::string_view text);

std::int64_t text_length(std::string_view text);  // in characters

// Cut at each `mark`, from the left, at most `most` times if `most` is not negative: one piece more than there were cuts. The last holds the rest.
// With an empty mark: cut at each run of white space (Unicode's White_Space), which yields no empty piece; where `most` leaves a rest, it
// begins at no white space, but ends as the text does.
std::vector<std::string_view> text_pieces(std::string_view text, std::string_view mark, std::int64_t most);

std::int64_t text_piece_count(std::string_view text, std::string_view mark, std::int64_t most);

// Character by character (Unicode's simple mappings, of no language), so that the number of characters stays.
std::string text_lower(std::string_view text);
std::string text_upper(std::string_view text);

}  // namespace ulpian
