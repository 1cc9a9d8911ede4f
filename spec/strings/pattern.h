// Regular expressions in RE2's syntax, matched in time linear in the text and in bounded memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ulpian {

class Pattern {
public:
  explicit Pattern(std::string_view text);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Why it is no pattern, or is too large; empty for a good one.
  const std::string& error() const { return error_; }
  // Whether the whole text fits a good pattern. No character of a pattern fits a byte that is not UTF-8.
  bool matches(std::string_view text) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  std::string error_;
};

}  // namespace ulpian
