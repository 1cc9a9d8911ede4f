// A place in a text's tokens, for recursive descent. Private to spec/language; errors inside are thrown as `ParseError` and leave as a Diagnostic.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "spec/language/lexer.h"
#include "spec/language/syntax.h"

namespace ulpian::language {

struct ParseError {
  Diagnostic diagnostic;
};

// The tokens of a text that is not too long; `what` it is, for the message.
Result<std::vector<Token>> tokens_of(const SourceFile& file, std::string_view what);

class Cursor {
public:
  Cursor(const SourceFile& file, std::vector<Token> tokens) : source_(file), tokens_(std::move(tokens)) {}

  bool at_end() const { return peek().kind == TokenKind::End; }
  void ends_at(std::string_view what) { end_ = what; }
  [[noreturn]] void fail(const std::string& expected, std::string hint = {}) const;

protected:
  const Token& peek(std::size_t ahead = 0) const;
  bool at(std::string_view text, std::size_t ahead = 0) const;
  bool at_any(std::initializer_list<std::string_view> texts) const;
  const Token& next();
  bool take(std::string_view text);
  Position expect(std::string_view text);
  std::string string(std::string_view what = "a string");

private:
  const SourceFile& source_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  std::string_view end_ = "the end of the file";  // for messages
};

}  // namespace ulpian::language
