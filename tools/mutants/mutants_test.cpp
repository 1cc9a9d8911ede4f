// Which changes there are, and which of them examples notice, worked out by hand on small definitions.
#include <algorithm>

#include <gtest/gtest.h>

#include "tools/mutants/explained.h"

namespace ulpian::tools {
namespace {

using language::Specification;

std::vector<MutationScore> scores(const std::string& text, MutationOptions options = {}) {
  const std::vector<language::SourceText> files{{"test.ulp", text}};
  auto spec = Specification::load(files);
  EXPECT_TRUE(spec.ok()) << (spec ? "" : to_string(spec.error()));
  if (!spec) return {};
  auto definitions = (*spec)->definitions("test.Op");
  auto out = measure_mutants(*spec, files, {definitions.begin(), definitions.end()}, options, [](std::size_t, std::size_t, const std::string&) {});
  EXPECT_TRUE(out.ok()) << (out ? "" : to_string(out.error()));
  return out ? std::move(*out) : std::vector<MutationScore>();
}

std::vector<std::string> listed(const MutationScore& s, bool noticed) {
  std::vector<std::string> out;
  for (const Mutant& m : s.mutants)
    if (m.fate != Fate::Invalid && m.noticed() == noticed) out.push_back(m.mutation.change);
  return out;
}

constexpr const char* Sum = R"(op test.Op {
  doc  "x + 1"
  type T: f32
  in   x: T[N]
  attr by: int = 1
  require by > 0  "by is {by}"
  out  y: T[N]
  y[i] = x[i] + by
)";

TEST(Mutants, AreNoticedByExamplesThatTellThem) {
  // by = 1 by default; a sum, not a difference; refused at 0, and not at 1.
  auto all = scores(std::string(Sum) + "example { x = [3, 5]  y = [4, 6] }\nexample by = 0 { x = [1]  error }\n}\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(listed(all[0], false), std::vector<std::string>{});
  const std::vector<std::string> want{"'1' becomes '0'", "'1' becomes '2'", "the 'require' is dropped", "'>' becomes '<='", "'>' becomes '>='",
                                      "'0' becomes '-1'", "'0' becomes '1'", "'+' becomes '-'"};
  EXPECT_EQ(listed(all[0], true), want);
}

TEST(Mutants, SurviveWhereNoExampleLooks) {
  auto all = scores(std::string(Sum) + "example by = 2 { x = [3, 5]  y = [5, 7] }\n}\n");
  ASSERT_EQ(all.size(), 1u);
  // The default and the refusal of 0 are looked at by none; at 2 only the other direction of the comparison is refused.
  const std::vector<std::string> want{"'1' becomes '0'", "'1' becomes '2'", "the 'require' is dropped", "'>' becomes '>='", "'0' becomes '-1'", "'0' becomes '1'"};
  EXPECT_EQ(listed(all[0], false), want);
  EXPECT_EQ(all[0].counted(), 8u);
  EXPECT_EQ(all[0].noticed(), 2u);
}

TEST(Mutants, NamesAreSwappedWithinTheirKind) {
  auto all = scores(R"(op test.Op {
  type T: f32
  in   a: T[N, M]
  in   b: T[N, M]
  out  y: T[N, M]
  y[i, j] = a[i, j] - b[i, j]
  example { a = [[5, 7]]  b = [[1, 2]]  y = [[4, 5]] }
})");
  ASSERT_EQ(all.size(), 1u);
  auto changes = listed(all[0], true);
  EXPECT_EQ(std::count(changes.begin(), changes.end(), "'a' becomes 'b'"), 1);
  EXPECT_EQ(std::count(changes.begin(), changes.end(), "'b' becomes 'a'"), 1);
  EXPECT_GE(std::count(changes.begin(), changes.end(), "'j' becomes 'i'"), 2);
}

TEST(Mutants, OfTheAllowedSetAreNotCounted) {
  auto all = scores(R"(op test.Op {
  type T: f32
  in   x: T[]
  out  y: T[]
  undefined when x[] > 3  "silent"
  y[] = one of (x, x + 1)
  example { x = 1  y = 1 }
})");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].counted(), 0u);
  bool allowed = false;
  for (const Mutant& m : all[0].mutants) {
    EXPECT_TRUE(m.mutation.contract) << m.mutation.change;
    allowed |= m.fate == Fate::AllowedDiffers && m.mutation.change == "'1' becomes '2'";
  }
  EXPECT_TRUE(allowed) << "the second alternative is 3, not 2";
}

TEST(Mutants, OfTheAllowedSetAreNoticedByExamplesThatStateIt) {
  auto all = scores(R"(op test.Op {
  type T: f32
  in   x: T[]
  out  y: T[]
  undefined when x[] > 3  "silent"
  y[] = one of (x, x + 1)
  example { x = 1  y = 1  y allows 2 }
  example { x = 3  y = 3 }
  example { x = 4  undefined }
})");
  ASSERT_EQ(all.size(), 1u);
  // '>' to '<=', '>='; '3' to 2, 4; '+' to '-'; '1' to 0, 2: all of them.
  EXPECT_EQ(all[0].contract_counted(), 7u);
  EXPECT_EQ(all[0].contract_noticed(), 7u);
}

TEST(Mutants, ThatElaborateToTheSameProgramsAreNotCounted) {
  // Where both ranks are equal, len(E) is len(D); where they are not, the call is refused either way.
  auto all = scores(R"(op test.Op {
  type T: f32
  in   x: T[D...]
  in   z: T[E...]
  require len(D) == len(E) and D == E
  attr by: int[len(D)] = ones(len(D))
  out  y: T[D...]
  y[i...] = x[i...] - z[i...] + sum(by)
  example { x = [[1, 2]]  z = [[0, 1]]  y = [[3, 3]] }
  example by = [2, 2] { x = [[1, 2]]  z = [[0, 1]]  y = [[5, 5]] }
  example by = [1] { x = [[1, 2]]  z = [[0, 1]]  error }
  example { x = [[1, 2]]  z = [0]  error }
})");
  ASSERT_EQ(all.size(), 1u);
  std::size_t same = 0;
  for (const Mutant& m : all[0].mutants) {
    if (m.fate != Fate::Same) continue;
    ++same;
    EXPECT_TRUE(m.mutation.change == "'D' becomes 'E'" || m.mutation.change == "'E' becomes 'D'") << m.mutation.change;
  }
  EXPECT_GE(same, 2u);
}

TEST(Mutants, OfAFilesFunctionsAreTriedOnAllItsExamples) {
  auto all = scores("fn twice(v) = 2 * v\n" + std::string(Sum).replace(std::string(Sum).find("x[i] + by"), 9, "twice(x[i]) + by") + "example { x = [3]  y = [7] }\n}\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].name, "functions of test.ulp");
  EXPECT_EQ(listed(all[1], true), (std::vector<std::string>{"'2' becomes '1'", "'2' becomes '3'", "'*' becomes '/'"}));
  EXPECT_EQ(listed(all[1], false), std::vector<std::string>{});
}

TEST(Mutants, AreExplainedByTheTextOfTheirLine) {
  auto all = scores(std::string(Sum) + "example by = 2 { x = [3, 5]  y = [5, 7] }\n}\n");
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].name, "test.Op since 1");
  auto read = read_explanations(R"({"explained": [
    {"definition": "test.Op since 1", "line": "attr by: int = 1", "reason": "nobody leaves it out"},
    {"definition": "test.Op since 1", "line": "require by > 0  \"by is {by}\"", "changes": ["'0' becomes '-1'", "'>' becomes '>='"], "reason": "so they say", "same": true},
    {"definition": "test.Op since 1", "line": "y[i] = x[i] + by", "reason": "noticed by now"},
    {"definition": "test.Other since 1", "line": "y[i] = x[i] + by", "reason": "not asked for"}]})", "explained.json");
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  const auto stale = explain(all, *read);
  ASSERT_EQ(stale.size(), 1u);
  EXPECT_EQ(stale[0].reason, "noticed by now");
  // Six survived of eight (see above); two of them mean the same now, two have a reason.
  EXPECT_EQ(all[0].counted(), 6u);
  EXPECT_EQ(all[0].noticed(), 2u);
  std::size_t explained = 0;
  for (const Mutant& m : all[0].mutants) explained += m.survives() && m.explanation == "nobody leaves it out";
  EXPECT_EQ(explained, 2u);
}

TEST(Mutants, ExplanationsThatAreNoneAreRefused) {
  for (const char* text : {"", "[]", "{}", R"({"explained": [{"definition": "a", "line": "b"}]})", R"({"explained": [{"definition": "a", "reason": "b"}]})",
                           R"({"explained": [{"definition": "a", "line": 1, "reason": "b"}]})"}) {
    const auto read = read_explanations(text, "mine.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(to_string(read.error()).find("mine.json"), std::string::npos);
  }
}

TEST(Mutants, ThatDoNotEndAreStopped) {
  MutationOptions options;
  options.seconds = 0.3;
  auto all = scores(R"(op test.Op {
  in   x: f32[]
  attr n: int = 1
  out  y: f32[]
  y[] = x + sum(k < 3000000000 * (n - 1)) (x + cast(f32, k))
  example { x = 1  y = 1 }
})", options);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(std::any_of(all[0].mutants.begin(), all[0].mutants.end(), [](const Mutant& m) { return m.fate == Fate::OutOfTime; }));
}

TEST(Mutants, ASampleIsTheSameForTheSameSeed) {
  MutationOptions options;
  options.sample = 3;
  options.seed = 7;
  const std::string text = std::string(Sum) + "example { x = [3, 5]  y = [4, 6] }\n}\n";
  auto a = scores(text, options), b = scores(text, options);
  ASSERT_EQ(a.size(), 1u);
  ASSERT_EQ(a[0].mutants.size(), 3u);
  EXPECT_EQ(a[0].all, 8u);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(a[0].mutants[k].mutation.offset, b[0].mutants[k].mutation.offset);
}

}  // namespace
}  // namespace ulpian::tools
