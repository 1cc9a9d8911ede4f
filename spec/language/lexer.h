// Text to tokens. A line break matters only before `(` and `[` outside open brackets: such a token starts a new clause.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/language/syntax.h"

namespace ulpian::language {

enum class TokenKind : std::uint8_t { Number, String, Name, Punctuation, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // of the source; a string with its quotes
  Position at;
  bool first_on_line = false;
};

Result<std::vector<Token>> tokenize(const SourceFile& file);

// The characters that a string token means: \" \\ \n \t and \u{...}.
Result<std::string> string_value(const SourceFile& file, const Token& token);

}  // namespace ulpian::language
