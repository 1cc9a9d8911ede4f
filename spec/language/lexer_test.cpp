#include "spec/language/lexer.h"

#include <gtest/gtest.h>

namespace ulpian::language {
namespace {

std::vector<Token> tokens_of(SourceFile& file, std::string text) {
  file.path = "t.ulp";
  file.text = std::move(text);
  auto r = tokenize(file);
  EXPECT_TRUE(r.ok()) << (r ? "" : to_string(r.error()));
  return r ? *r : std::vector<Token>();
}

std::string error_of(std::string text) {
  SourceFile file;
  file.path = "t.ulp";
  file.text = std::move(text);
  auto r = tokenize(file);
  return r ? "(no error)" : to_string(r.error());
}

std::string value_of(std::string text) {
  SourceFile file;
  const auto ts = tokens_of(file, std::move(text));
  auto r = string_value(file, ts.at(0));
  return r ? *r : to_string(r.error());
}

TEST(Lexer, PositionsCountFromOneByLineAndColumn) {
  SourceFile file;
  const auto ts = tokens_of(file, "ab\n  # a comment\n\tcd ==3\n");
  ASSERT_EQ(ts.size(), 5u);
  EXPECT_EQ(ts[0].at.line, 1u);
  EXPECT_EQ(ts[0].at.column, 1u);
  EXPECT_EQ(ts[1].text, "cd");
  EXPECT_EQ(ts[1].at.line, 3u);
  EXPECT_EQ(ts[1].at.column, 2u);
  EXPECT_EQ(ts[2].text, "==");
  EXPECT_EQ(ts[2].at.column, 5u);
  EXPECT_EQ(ts[3].text, "3");
  EXPECT_EQ(ts[3].at.column, 7u);
  EXPECT_EQ(ts[4].kind, TokenKind::End);
}

TEST(Lexer, TheLongestMarkWins) {
  SourceFile file;
  std::string all;
  for (const Token& t : tokens_of(file, "a...b<=c**d++e==>f!=g")) all += std::string(t.text) + " ";
  EXPECT_EQ(all, "a ... b <= c ** d ++ e ==> f != g  ");
}

TEST(Lexer, NumbersEndWhereTheyCannotGoOn) {
  SourceFile file;
  std::string all;
  for (const Token& t : tokens_of(file, "1 2.5 3e4 5E-6 7.25e+3 0x1F 1...n 2.x 3e x4")) all += std::string(t.text) + "|";
  EXPECT_EQ(all, "1|2.5|3e4|5E-6|7.25e+3|0x1F|1|...|n|2|.|x|3|e|x4||");
}

TEST(Lexer, LineBreaksMatterOutsideOfBracketsOnly) {
  SourceFile file;
  const auto ts = tokens_of(file, "op {\n f\n (a,\n b)\n [c] }");
  std::string first;
  for (const Token& t : ts)
    if (t.first_on_line) first += std::string(t.text) + " ";
  EXPECT_EQ(first, "op f ( [  ");
}

TEST(Lexer, StringsHaveFiveEscapes) {
  EXPECT_EQ(value_of(R"("a\n\t\"\\b")"), "a\n\t\"\\b");
  EXPECT_EQ(value_of(R"("\u{41}\u{e9}\u{20ac}\u{1f600}")"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(Lexer, WrongStringsSayWhere) {
  EXPECT_EQ(error_of("a = \"bc\n\""), "this string is not closed on its line (t.ulp:1:5)\n  a = \"bc\n      ^\n  help: add the closing \"");
  EXPECT_EQ(error_of("\"a\\"), "this string is not closed on its line (t.ulp:1:1)\n  \"a\\\n  ^\n  help: add the closing \"");
  EXPECT_TRUE(value_of(R"("\q")").starts_with("unknown escape \\q in a string (t.ulp:1:1)"));
  EXPECT_TRUE(value_of(R"("\u{d800}")").starts_with("\\u{...} needs the hexadecimal number of a Unicode character (t.ulp:1:1)"));
  EXPECT_TRUE(value_of(R"("\u{110000}")").starts_with("\\u{...} needs"));
  EXPECT_TRUE(value_of(R"("\u{123456789}")").starts_with("\\u{...} needs"));
}

TEST(Lexer, OtherCharactersAreRefused) {
  EXPECT_EQ(error_of("a $ b"), "unexpected character '$' (t.ulp:1:3)\n  a $ b\n    ^");
  EXPECT_EQ(error_of(std::string("a\x01", 2)), "unexpected byte 0x01 (t.ulp:1:2)\n  a?\n   ^");
  EXPECT_EQ(error_of("\xc3\xa9 = 1"), "unexpected byte 0xc3 (t.ulp:1:1)\n  \xc3\xa9 = 1\n  ^");
}

TEST(Lexer, TheCaretStandsUnderItsCharacterAlsoInLongLinesAndBehindAccents) {
  EXPECT_EQ(error_of("\"\xc3\xa9\" $"), "unexpected character '$' (t.ulp:1:6)\n  \"\xc3\xa9\" $\n      ^");
  const std::string text = error_of(std::string(500, 'a') + " $ " + std::string(500, 'b'));
  const std::size_t line = text.find('\n') + 1, next = text.find('\n', line) + 1;
  const std::string quoted = text.substr(line, next - line - 1), caret = text.substr(next);
  EXPECT_LT(quoted.size(), 180u);
  EXPECT_EQ(quoted[caret.find('^')], '$');
  EXPECT_TRUE(text.starts_with("unexpected character '$' (t.ulp:1:502)"));
}

}  // namespace
}  // namespace ulpian::language
