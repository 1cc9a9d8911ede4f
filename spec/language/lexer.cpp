#include "spec/language/lexer.h"

#include <array>
#include <cctype>

#include <fmt/format.h>

namespace ulpian::language {
namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Longest first.
constexpr std::array<std::string_view, 30> Punctuation{"...", "==>", "==", "!=", "<=", ">=", "++", "**", "-", "+", "*", "/", "<", ">", "=",
                                                       "(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "~", "|", "@", "?", "!"};

class Lexer {
public:
  explicit Lexer(const SourceFile& file) : file_(file), text_(file.text) {}

  Result<std::vector<Token>> run() {
    while (true) {
      skip_blank();
      if (at_ >= text_.size()) break;
      const Position here{line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)};
      Token t;
      t.at = here;
      t.first_on_line = first_;
      std::size_t end = at_;
      const char c = text_[at_];
      if (is_digit(c)) {
        t.kind = TokenKind::Number;
        end = number_end();
      } else if (c == '"') {
        t.kind = TokenKind::String;
        end = string_end();
        if (end == std::string_view::npos) return diagnose(file_, here, ErrorKind::Syntax, "this string is not closed on its line").help("add the closing \"");
      } else if (is_name_start(c)) {
        t.kind = TokenKind::Name;
        while (end < text_.size() && is_name(text_[end])) ++end;
      } else {
        t.kind = TokenKind::Punctuation;
        end = punctuation_end();
        if (end == at_) return diagnose(file_, here, ErrorKind::Syntax, unexpected());
      }
      t.text = text_.substr(at_, end - at_);
      track_brackets(t);
      tokens_.push_back(t);
      at_ = end;
      first_ = false;
    }
    tokens_.push_back({TokenKind::End, {}, {line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)}, true});
    return std::move(tokens_);
  }

private:
  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        ++line_;
        line_start_ = at_;
        if (open_.empty() || open_.back() == '{') first_ = true;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  std::size_t number_end() const {
    std::size_t e = at_;
    auto digits = [&] { while (e < text_.size() && is_digit(text_[e])) ++e; };
    if (text_[e] == '0' && e + 1 < text_.size() && (text_[e + 1] == 'x' || text_[e + 1] == 'X')) {
      e += 2;
      while (e < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[e]))) ++e;
      return e;
    }
    digits();
    if (e + 1 < text_.size() && text_[e] == '.' && is_digit(text_[e + 1])) {
      ++e;
      digits();
    }
    if (e < text_.size() && (text_[e] == 'e' || text_[e] == 'E')) {
      std::size_t x = e + 1;
      if (x < text_.size() && (text_[x] == '+' || text_[x] == '-')) ++x;
      if (x < text_.size() && is_digit(text_[x])) {
        e = x;
        digits();
      }
    }
    return e;
  }
  std::size_t string_end() const {
    for (std::size_t e = at_ + 1; e < text_.size() && text_[e] != '\n'; ++e) {
      if (text_[e] == '\\') ++e;
      else if (text_[e] == '"') return e + 1;
    }
    return std::string_view::npos;
  }
  std::size_t punctuation_end() const {
    for (std::string_view p : Punctuation)
      if (text_.substr(at_, p.size()) == p) return at_ + p.size();
    return at_;
  }
  std::string unexpected() const {
    const auto c = static_cast<unsigned char>(text_[at_]);
    return c >= 0x20 && c < 0x7f ? fmt::format("unexpected character '{}'", static_cast<char>(c)) : fmt::format("unexpected byte 0x{:02x}", c);
  }
  void track_brackets(const Token& t) {
    if (t.kind != TokenKind::Punctuation || t.text.size() != 1) return;
    const char c = t.text[0];
    if (c == '(' || c == '[' || c == '{') open_.push_back(c);
    else if ((c == ')' || c == ']' || c == '}') && !open_.empty()) open_.pop_back();
  }

  const SourceFile& file_;
  std::string_view text_;
  std::vector<Token> tokens_;
  std::string open_;
  std::size_t at_ = 0, line_start_ = 0;
  std::uint32_t line_ = 1;
  bool first_ = true;
};

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 63));
    out += static_cast<char>(0x80 | ((c >> 6) & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

}  // namespace

Result<std::vector<Token>> tokenize(const SourceFile& file) { return Lexer(file).run(); }

Result<std::string> string_value(const SourceFile& file, const Token& token) {
  std::string out;
  const std::string_view s = token.text.substr(1, token.text.size() - 2);
  for (std::size_t k = 0; k < s.size(); ++k) {
    if (s[k] != '\\') {
      out += s[k];
      continue;
    }
    const char c = s[++k];
    if (c == 'n') out += '\n';
    else if (c == 't') out += '\t';
    else if (c == '"' || c == '\\') out += c;
    else if (c == 'u' && k + 1 < s.size() && s[k + 1] == '{') {
      std::uint32_t code = 0;
      std::size_t e = k + 2;
      for (; e < s.size() && std::isxdigit(static_cast<unsigned char>(s[e])) && e < k + 9; ++e)
        code = code * 16 + static_cast<std::uint32_t>(std::stoi(std::string(1, s[e]), nullptr, 16));
      if (e >= s.size() || s[e] != '}' || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return diagnose(file, token.at, ErrorKind::Syntax, "\\u{...} needs the hexadecimal number of a Unicode character");
      append_utf8(out, code);
      k = e;
    } else {
      return diagnose(file, token.at, ErrorKind::Syntax, fmt::format("unknown escape \\{} in a string", c)).help("use \\\" \\\\ \\n \\t or \\u{...}");
    }
  }
  return out;
}

}  // namespace ulpian::language
