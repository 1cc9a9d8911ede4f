#include "spec/language/cursor.h"

#include <algorithm>

#include <fmt/format.h>

namespace ulpian::language {

const Token& Cursor::peek(std::size_t ahead) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }

bool Cursor::at(std::string_view text, std::size_t ahead) const {
  const Token& t = peek(ahead);
  return (t.kind == TokenKind::Name || t.kind == TokenKind::Punctuation) && t.text == text;
}

bool Cursor::at_any(std::initializer_list<std::string_view> texts) const {
  for (std::string_view t : texts)
    if (at(t)) return true;
  return false;
}

const Token& Cursor::next() {
  const Token& t = peek();
  if (position_ < tokens_.size() - 1) ++position_;
  return t;
}

bool Cursor::take(std::string_view text) {
  if (!at(text)) return false;
  next();
  return true;
}

Position Cursor::expect(std::string_view text) {
  if (!at(text)) fail(fmt::format("'{}'", text));
  return next().at;
}

void Cursor::fail(const std::string& expected, std::string hint) const {
  const Token& t = peek();
  std::string found = t.kind == TokenKind::End ? std::string(end_) : fmt::format("'{}'", t.text.size() > 40 ? std::string(t.text.substr(0, 40)) + "..." : std::string(t.text));
  throw ParseError{diagnose(source_, t.at, ErrorKind::Syntax, fmt::format("expected {}, found {}", expected, found)).help(std::move(hint))};
}

std::string Cursor::string(std::string_view what) {
  if (peek().kind != TokenKind::String) fail(std::string(what));
  auto value = string_value(source_, next());
  if (!value) throw ParseError{value.error()};
  return *value;
}

Result<std::vector<Token>> tokens_of(const SourceFile& file, std::string_view what) {
  constexpr std::size_t MostBytes = 1u << 20;
  if (file.text.size() <= MostBytes) return tokenize(file);
  Diagnostic d;
  d.kind = ErrorKind::Limit;
  d.message = fmt::format("{} of {} bytes; at most {} are read", what, file.text.size(), MostBytes);
  d.place.file = file.path;
  return d;
}

}  // namespace ulpian::language
