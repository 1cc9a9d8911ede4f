// What examples may say, and what is said of those that do not hold. Sets are worked out by hand: one of (x, x + 1) is x and x + 1, and nothing between.
#include "interp/session/examples.h"

#include <gtest/gtest.h>

#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

// The failure of the one example, or "".
std::string failure(const std::string& example, const std::string& more = {}) {
  const language::SourceText source{"test.ulp", "op test.Op {\n  type T: f32\n  in x: T[N]\n  attr by: int = 1\n  require by > 0 \"by is {by}\"\n"
                                                "  undefined when any(i < N) x[i] > 99 \"too large\"\n  undefined when by == 7 \"by seven\"\n  out y: T[N]\n  " +
                                                    (more.empty() ? "y[i] = one of (x[i], x[i] + by)" : more) + "\n  example " + example + "\n}\n"};
  auto spec = language::Specification::load(std::span(&source, 1));
  if (!spec) return "does not parse: " + to_string(spec.error());
  auto examples = language::examples_of(**spec, *(*spec)->definitions("test.Op").front());
  if (!examples) return "is no example: " + to_string(examples.error());
  std::string out;
  for (const language::Example& e : *examples)
    for (Evaluator evaluator : {Evaluator::Scalar, Evaluator::Block}) out += failure_of(*spec, e, evaluator).value_or("");
  return out;
}
bool fails_with(const std::string& example, const std::string& text, const std::string& more = {}) {
  const std::string found = failure(example, more);
  return found.find(text) != std::string::npos ? true : (ADD_FAILURE() << "\"" << found << "\" instead of " << text, false);
}

TEST(Examples, SayWhatIsAdmittedBesidesTheCanonicalAnswer) {
  EXPECT_EQ(failure("{ x = [1, 5]  y = [1, 5]  y allows [2, 5]  y allows [1, 6]  y forbids [1.5, 7] }"), "");
  EXPECT_EQ(failure("by = 3 { x = [1]  y allows [4]  y forbids [2] }"), "");
  EXPECT_TRUE(fails_with("{ x = [1, 5]  y allows [2, 4] }", "y: element 1 may not be 4"));
  EXPECT_TRUE(fails_with("{ x = [1, 5]  y forbids [3, 6] }", "y: element 1 may be 6"));
  EXPECT_TRUE(fails_with("{ x = [1, 5]  y allows [1] }", "extents"));
}

TEST(Examples, OfOneChoiceForAllElementsAskOneReadingForAll) {
  const std::string all = "up = one of (false, true)\n  y[i] = if up then x[i] + 1 else x[i]";
  EXPECT_EQ(failure("{ x = [1, 5]  y = [1, 5]  y allows [2, 6]  y allows [1, 5]  y forbids [3, 4] }", all), "");
  EXPECT_TRUE(fails_with("{ x = [1, 5]  y allows [2, 5] }", "may not be", all));
  EXPECT_TRUE(fails_with("{ x = [1, 5]  y forbids [3, 6] }", "may be 6", all));
}

TEST(Examples, SayWhyACallIsRefused) {
  EXPECT_EQ(failure("by = -2 { x = [1]  error }"), "");
  EXPECT_EQ(failure("by = -2 { x = [1]  error \"by is -2\" }"), "");
  EXPECT_TRUE(fails_with("by = -2 { x = [1]  error \"by is -3\" }", "where \"by is -3\" is expected"));
  EXPECT_TRUE(fails_with("{ x = [1]  error \"by is\" }", "an error is expected"));
}

TEST(Examples, SayThatTheStandardSaysNothing) {
  EXPECT_EQ(failure("{ x = [1, 100]  undefined }"), "");
  EXPECT_EQ(failure("{ x = [1, 100]  undefined \"too large\"  y = [1, 100] }"), "");
  EXPECT_EQ(failure("by = 7 { x = [1]  undefined \"by seven\" }"), "");
  EXPECT_TRUE(fails_with("{ x = [1, 100]  undefined \"too small\" }", "where \"too small\" is expected"));
  EXPECT_TRUE(fails_with("{ x = [1, 100]  undefined  y = [1, 101] }", "101"));
  EXPECT_TRUE(fails_with("{ x = [1, 99]  undefined }", "there is an answer"));
  EXPECT_TRUE(fails_with("{ x = [1, 100]  y = [1, 100] }", "undefined, where an answer is expected"));
  EXPECT_TRUE(fails_with("{ x = [100]  error }", "undefined, where a refusal is expected"));
}

TEST(Examples, WordsOfExamplesAreNamesElsewhere) {
  const language::SourceText source{"test.ulp", R"(op test.Words {
  in   error: f32[N]
  in   undefined: f32[N]
  in   allows: f32[N]
  out  forbids: f32[N]
  forbids[i] = error[i] + undefined[i] + allows[i]
  example { error = [1]  undefined = [2]  allows = [3]  forbids = [6]  forbids forbids [7]  forbids allows [6] }
})"};
  auto spec = language::Specification::load(std::span(&source, 1));
  ASSERT_TRUE(spec.ok()) << to_string(spec.error());
  auto examples = language::examples_of(**spec, *(*spec)->definitions("test.Words").front());
  ASSERT_TRUE(examples.ok()) << to_string(examples.error());
  EXPECT_EQ(failure_of(*spec, examples->at(0), Evaluator::Scalar).value_or(""), "");
}

TEST(Examples, OfInputsOrStringsHaveNoSets) {
  EXPECT_TRUE(fails_with("{ x allows [1]  y = [1] }", "x is none"));
  const language::SourceText source{"test.ulp", "op test.Text {\n  in x: string[]\n  out y: string[]\n  y[] = x\n  example { x = \"a\"  y = \"a\"  y allows \"a\" }\n}\n"};
  auto spec = language::Specification::load(std::span(&source, 1));
  ASSERT_TRUE(spec.ok()) << to_string(spec.error());
  auto examples = language::examples_of(**spec, *(*spec)->definitions("test.Text").front());
  ASSERT_TRUE(examples.ok()) << to_string(examples.error());
  EXPECT_NE(failure_of(*spec, examples->at(0), Evaluator::Scalar).value_or("").find("strings"), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp
