#include "spec/strings/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ulpian {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Text, LengthCountsCharactersOfUtf8) {
  EXPECT_EQ(text_length(""), 0);
  EXPECT_EQ(text_length("abc"), 3);
  EXPECT_EQ(text_length("\u00e9\u4e2d\U0001f600"), 3);
  EXPECT_EQ(text_length(std::string_view("\0a", 2)), 2);
}

// Unicode, table 3-7: what is not well formed is read byte by byte.
TEST(Text, BytesThatAreNoCharacterCountOneEach) {
  EXPECT_EQ(text_length("\xff\xfe"), 2);
  EXPECT_EQ(text_length("a\x80"), 2);
  EXPECT_EQ(text_length("\xc0\xaf"), 2);              // too long for "/"
  EXPECT_EQ(text_length("\xe0\x80\x80"), 3);          // too long for zero
  EXPECT_EQ(text_length("\xed\xa0\x80"), 3);          // a surrogate
  EXPECT_EQ(text_length("\xf4\x90\x80\x80"), 4);      // beyond U+10FFFF
  EXPECT_EQ(text_length("\xe4\xb8"), 2);              // cut off
  EXPECT_EQ(text_length("\xf4\x8f\xbf\xbf"), 1);      // U+10FFFF
}

TEST(Text, PiecesStandBetweenMarks) {
  EXPECT_EQ(text_pieces("a.b..c.", ".", -1), (Pieces{"a", "b", "", "c", ""}));
  EXPECT_EQ(text_pieces("", ".", -1), (Pieces{""}));
  EXPECT_EQ(text_pieces("aaa", "aa", -1), (Pieces{"", "a"}));
  EXPECT_EQ(text_pieces("a.b.c", ".", 1), (Pieces{"a", "b.c"}));
  EXPECT_EQ(text_pieces("a.b.c", ".", 0), (Pieces{"a.b.c"}));
}

TEST(Text, AnEmptyMarkIsWhiteSpace) {
  EXPECT_EQ(text_pieces(" a\t\n b  c ", "", -1), (Pieces{"a", "b", "c"}));
  EXPECT_EQ(text_pieces("", "", -1), Pieces{});
  EXPECT_EQ(text_pieces(" \v\f\r", "", -1), Pieces{});
  EXPECT_EQ(text_pieces("a\u00a0b\u3000c\u200bd", "", -1), (Pieces{"a", "b", "c\u200bd"}));  // U+200B is no White_Space
  EXPECT_EQ(text_pieces("  a   b c ", "", 1), (Pieces{"a", "b c "}));
  EXPECT_EQ(text_pieces("  a ", "", 0), (Pieces{"a "}));
  EXPECT_EQ(text_pieces("\xff \xc2", "", -1), (Pieces{"\xff", "\xc2"}));
}

TEST(Text, CaseChangesCharacterByCharacter) {
  EXPECT_EQ(text_lower("ABC \u00c9\u0416\u03a3 1"), "abc \u00e9\u0436\u03c3 1");
  EXPECT_EQ(text_upper("abc \u00e9\u0436\u03c2\u00ff"), "ABC \u00c9\u0416\u03a3\u0178");
  EXPECT_EQ(text_lower("\U00010400"), "\U00010428");
  EXPECT_EQ(text_upper("\xff" "a\xc3"), "\xff" "A\xc3");
  EXPECT_EQ(text_length(text_upper("\u00df")), 1);
}

TEST(Text, AnyBytesPassEveryFunction) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string s(random() % 12, '\0');
    for (char& c : s) c = static_cast<char>(random() % 3 ? random() : "\xe4\xb8\xad\xff A"[random() % 6]);
    const auto n = static_cast<std::int64_t>(s.size());
    EXPECT_LE(text_length(s), n);
    EXPECT_LE(text_length(text_upper(s)), n);
    const std::int64_t most = static_cast<std::int64_t>(random() % 4) - 1;
    for (std::string_view mark : {"", "A", "\xff"}) {
      const auto pieces = text_pieces(s, mark, most);
      EXPECT_EQ(static_cast<std::int64_t>(pieces.size()), text_piece_count(s, mark, most));
      if (mark.empty()) continue;
      std::string joined;
      for (std::size_t k = 0; k < pieces.size(); ++k) joined += (k ? std::string(mark) : "") + std::string(pieces[k]);
      EXPECT_EQ(joined, s);
    }
  }
}

}  // namespace
}  // namespace ulpian
