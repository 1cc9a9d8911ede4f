// Calls on strings: both evaluators, the allowed answer, and the limits.
#include <gtest/gtest.h>

#include "interp/allowed/allowed.h"
#include "interp/evaluate/evaluate.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;
using Strings = std::vector<std::string>;

Tensor strings(const Strings& values) { return Tensor({static_cast<std::int64_t>(values.size())}, values); }

// A definition given as text, applied to one vector of strings.
Result<core::Program> elaborated(const std::string& body, std::int64_t length) {
  const language::SourceText source{"test.ulp", "op test.Op { in x: string[N] " + body + " }"};
  auto specification = language::Specification::load(std::span(&source, 1));
  if (!specification) return specification.error();
  language::Call call;
  call.op = "test.Op";
  call.version = 1;
  language::InputDescription d;
  d.type = ElementType::String;
  d.extents.push_back({length, {}});
  call.inputs.push_back(std::move(d));
  return language::elaborate(**specification, call);
}

core::Program program_of(const std::string& body, std::int64_t length) {
  auto program = elaborated(body, length);
  if (!program) ADD_FAILURE() << to_string(program.error());
  return program ? std::move(*program) : core::Program();
}

Result<Strings> answer(const core::Program& p, const Inputs& inputs, const Limits& limits = {}) {
  auto out = evaluate(p, inputs, limits);
  if (!out) return out.error();
  return (*out)[0]->strings();
}

TEST(Strings, TermsAreComputedWhereBlocksAreAskedFor) {
  const auto p = program_of("out y: string[N] y[i] = upper(x[i]) ++ cast(string, length(x[i]))", 3);
  EXPECT_TRUE(runs_by_elements(p));
  EXPECT_EQ(*answer(p, {strings({"a", "\u00e9\u4e2d", "\xff"})}), (Strings{"A1", "\u00c9\u4e2d2", "\xff" "1"}));
}

TEST(Strings, PiecesOfOneTextAreReadOnce) {
  const auto p = program_of("K = measured(max(i < N from 0) piece_count(x[i], \",\", -1)) out y: string[N, K] "
                            "y[i, k] = piece(x[i], \",\", -1, k)", 2);
  std::string many;
  for (int k = 0; k < 20000; ++k) many += "ab,";
  const auto out = answer(p, {strings({many, "c"})});
  ASSERT_TRUE(out) << to_string(out.error());
  ASSERT_EQ(out->size(), 2u * 20001);
  EXPECT_EQ((*out)[19999], "ab");
  EXPECT_EQ((*out)[20000], "");
  EXPECT_EQ((*out)[20001], "c");
  EXPECT_EQ((*out)[20002], "");
}

TEST(Strings, ATextThatDoublesMeetsTheLimitOfMemory) {
  const auto p = program_of("out y: string[] y[] = accumulate(k < 60, s = x[0]) (s ++ s)", 1);
  Limits limits;
  limits.memory_bytes = std::int64_t{1} << 26;
  const auto out = answer(p, {strings({"ab"})}, limits);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
}

TEST(Strings, ManyCopiesOfALongTextMeetTheLimitOfMemory) {
  const auto p = program_of("out y: string[1000] y[i] = x[0]", 1);
  Limits limits;
  limits.memory_bytes = std::int64_t{1} << 26;
  EXPECT_TRUE(answer(p, {strings({std::string(1000, 'a')})}, limits));
  const auto out = answer(p, {strings({std::string(1000000, 'a')})}, limits);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
}

TEST(Strings, PatternsMustBeKnownAndGood) {
  for (const char* body : {"matches(x[i], \"(\")", "matches(x[i], x[i])"})
    EXPECT_FALSE(elaborated(std::string("out y: bool[N] y[i] = ") + body, 1)) << body;
}

TEST(Strings, TheAllowedAnswerHasThemAsTheyAre) {
  const auto p = program_of("out y: string[N] y[i] = x[N - 1 - i] ++ \"!\"", 2);
  const std::vector<std::optional<AllowedTensor>> inputs{AllowedTensor::exactly(strings({"a", "b"}))};
  auto sets = evaluate_allowed(p, inputs, *profile_named("standard"));
  ASSERT_TRUE(sets) << to_string(sets.error());
  EXPECT_TRUE((*sets)[0]->is_exact(0));
  EXPECT_EQ((*sets)[0]->lower().strings(), (Strings{"b!", "a!"}));
}

TEST(Strings, WhereTheStandardSaysNothingTheyAreAnything) {
  const auto p = program_of("undefined when any(i < N) x[i] == \"\" out y: string[N] y[i] = x[i]", 2);
  const std::vector<std::optional<AllowedTensor>> inputs{AllowedTensor::exactly(strings({"a", ""}))};
  std::optional<Diagnostic> undefined;
  auto sets = evaluate_allowed(p, inputs, *profile_named("standard"), {}, &undefined);
  ASSERT_TRUE(sets) << to_string(sets.error());
  EXPECT_TRUE(undefined);
  EXPECT_FALSE((*sets)[0]->is_exact(0));
  EXPECT_EQ((*sets)[0]->describe(0), "anything");
}

}  // namespace
}  // namespace ulpian::interp
