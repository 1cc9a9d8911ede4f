#include "spec/strings/pattern.h"

#include <gtest/gtest.h>

namespace ulpian {
namespace {

TEST(Pattern, TheWholeTextMustFit) {
  const Pattern p("a|ab");
  ASSERT_EQ(p.error(), "");
  EXPECT_TRUE(p.matches("a"));
  EXPECT_TRUE(p.matches("ab"));
  EXPECT_FALSE(p.matches("abc"));
  EXPECT_FALSE(p.matches(""));
}

TEST(Pattern, CharactersAreThoseOfUtf8) {
  const Pattern p(".");
  EXPECT_TRUE(p.matches("\U0001f600"));
  EXPECT_FALSE(p.matches("\xff"));
  EXPECT_FALSE(p.matches("ab"));
}

TEST(Pattern, BadOnesSayWhy) {
  EXPECT_NE(Pattern("(").error(), "");
  EXPECT_NE(Pattern("(a)\\1").error(), "");       // RE2 has no back references
  EXPECT_NE(Pattern("a{1001}").error(), "");
  EXPECT_NE(Pattern("\xff").error(), "");
  EXPECT_NE(Pattern("((a{100}){100}){100}").error(), "");
  EXPECT_NE(Pattern(std::string(2000000, 'a')).error(), "");
}

// Time linear in the text: an implementation that backtracks takes 2^30 steps.
TEST(Pattern, NoTextTakesLong) {
  const Pattern p("(a*)*b");
  EXPECT_FALSE(p.matches(std::string(100000, 'a')));
}

}  // namespace
}  // namespace ulpian
