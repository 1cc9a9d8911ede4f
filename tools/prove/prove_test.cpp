// Small definitions, right and wrong: what is proved, and the shapes that refute. Each shape was worked out by hand.
#include <gtest/gtest.h>

#include "tools/prove/proof.h"

namespace ulpian::tools {
namespace {

ProofReport proof(const std::string& body) {
  const language::SourceText text{"test.ulp", "op test.Op {\ntype T: f32\n" + body + "\n}\n"};
  auto spec = language::Specification::load(std::span(&text, 1));
  EXPECT_TRUE(spec.ok()) << (spec ? "" : to_string(spec.error()));
  auto r = prove(**spec, *(*spec)->find("test.Op", 1), ProofOptions{});
  EXPECT_TRUE(r.ok()) << (r ? "" : to_string(r.error()));
  return r ? std::move(*r) : ProofReport{};
}

void holds(const std::string& body) {
  const ProofReport r = proof(body);
  EXPECT_EQ(r.standing, Standing::Proved) << body << (r.reasons.empty() ? "" : "\n" + r.reasons.begin()->first) << (r.faults.empty() ? "" : "\n" + r.faults[0].what);
  EXPECT_GT(r.programs, 0u);
}

Fault fault(const std::string& body, const std::string& what) {
  const ProofReport r = proof(body);
  EXPECT_EQ(r.standing, Standing::Refuted) << body << (r.reasons.empty() ? "" : "\n" + r.reasons.begin()->first);
  if (r.faults.empty()) return {};
  EXPECT_TRUE(r.faults[0].what.starts_with(what)) << r.faults[0].what;
  return r.faults[0];
}

TEST(Prove, AReadOffByOneIsRefutedByTheShapeOfOneElement) {
  const Fault f = fault("in x: T[N]\nout y: T[N]\ny[i] = x[i + 1]\nexample { x = []  y = [] }", "read in range");
  EXPECT_EQ(f.place.line, 5u);
  // Every extent but 0 breaks it; the solver is asked for at most 3.
  EXPECT_TRUE(f.call == "x: [1]" || f.call == "x: [2]" || f.call == "x: [3]") << f.call;
  EXPECT_NE(f.message.find("whose extent is"), std::string::npos);
  holds("in x: T[N]\nout y: T[N]\ny[i] = if i + 1 < N then x[i + 1] else x[0]\nexample { x = []  y = [] }");
  holds("in x: T[N]\nout y: T[N]\ny[i] = x[i + 1] else 0\nexample { x = []  y = [] }");
}

TEST(Prove, ANegativeExtentIsRefutedByAShortInput) {
  const Fault f = fault("in x: T[N]\nout y: T[N - 2]\ny[i] = x[i]\nexample { x = [1, 2]  y = [] }", "extent not negative");
  EXPECT_TRUE(f.call == "x: [0]" || f.call == "x: [1]") << f.call;
  holds("in x: T[N]\nrequire N >= 2\nout y: T[N - 2]\ny[i] = x[i]\nexample { x = [1, 2]  y = [] }");
}

TEST(Prove, ARecurrenceThatReadsItselfIsRefuted) {
  const Fault f = fault("in x: T[N]\nrec (t < N) { s[t]: T = x[t] + (s[t] else 0) }\nout y: T[N]\ny[i] = s[i]\nexample { x = []  y = [] }", "recurrence well-founded");
  EXPECT_TRUE(f.call == "x: [1]" || f.call == "x: [2]" || f.call == "x: [3]") << f.call;
  holds("in x: T[N]\nrec (t < N) { s[t]: T = x[t] + (s[t - 1] else 0) }\nout y: T[N]\ny[i] = s[i]\nexample { x = []  y = [] }");
  // The same index of an equation above may be read, one below may not.
  holds("in x: T[N]\nrec (t < N) { a[t]: T = x[t]\n b[t]: T = a[t] + (b[t - 1] else 0) }\nout y: T[N]\ny[i] = b[i]\nexample { x = []  y = [] }");
  fault("in x: T[N]\nrec (t < N) { a[t]: T = b[t] + 0\n b[t]: T = x[t] }\nout y: T[N]\ny[i] = a[i]\nexample { x = []  y = [] }", "recurrence well-founded");
}

TEST(Prove, FiltersSelectsAndDomainsGuardReads) {
  holds("in x: T[N]\nout y: T[]\ny[] = sum(k < N + 3 if k >= 3) x[k - 3]\nexample { x = [1]  y = 1 }");
  fault("in x: T[N]\nout y: T[]\ny[] = sum(k < N + 3 if k >= 2) x[k - 2]\nexample { x = []  error }\nexample { x = [1] y = 1 }", "read in range");
  // A triangle: the later extent depends on the earlier index.
  holds("in x: T[N]\nout y: T[]\ny[] = sum(a < N, b < a) x[a - b]\nexample { x = [1]  y = 0 }");
}

TEST(Prove, IndicesFromDataNeedTheirRequire) {
  const std::string gather = "in x: T[N]\nin k: i64[M]\nREQUIREout y: T[M]\ny[j] = x[int(k[j])]\nexample { x = [1]  k = [0]  y = [1] }";
  auto with = [&](const std::string& require) {
    std::string s = gather;
    return s.replace(s.find("REQUIRE"), 7, require);
  };
  holds(with("require all(j < M) 0 <= int(k[j]) < N\n"));
  const Fault f = fault(with("require all(j < M) 0 <= int(k[j]) <= N\n"), "read in range");
  EXPECT_NE(f.call.find("k: ["), std::string::npos) << f.call;
  fault(with(""), "read in range");
}

TEST(Prove, HoldsAtEveryRank) {
  const ProofReport r = proof("in x: T[D...]\nout y: T[reverse(D)...]\ny[i...] = x[reverse(i)...]\nexample { x = [[1, 2]]  y = [[1], [2]] }");
  EXPECT_EQ(r.standing, Standing::Proved);
  EXPECT_EQ(r.programs, 5u) << "ranks 0 to 4";
}

TEST(Prove, AlternativesThatHaveNoValueMakeTheAllowedAnswerVacuous) {
  const Fault f = fault("in x: T[N]\nout y: T[N]\ny[i] = one of (x[i], x[i + 1])\nexample { x = []  y = [] }", "read in range");
  EXPECT_NE(f.message.find("anything"), std::string::npos) << f.message;
  holds("in x: T[N]\nout y: T[N]\ny[i] = one of (x[i], x[i + 1] else 0)\nexample { x = []  y = [] }");
}

TEST(Prove, AxesAreTriedAsFarAsTheyAreNotRefused) {
  // An axis below the rank, from both ends; a list is cut there, which needs a number.
  const ProofReport r = proof("in x: T[D...]\nin axis: i64[] static\na = axis_of(axis, D)\nout y: T[drop(D, a)...]\ny[i...] = sum(k < D[a]) x[i[:a]..., k, i[a:]...]\nexample { x = [1]  axis = 0  y = 1 }");
  EXPECT_EQ(r.standing, Standing::Proved) << (r.reasons.empty() ? "" : r.reasons.begin()->first);
  EXPECT_EQ(r.programs, 1u + 2u + 3u + 4u) << "one for each axis of each rank";
}

TEST(Prove, ScattersWriteInside) {
  const std::string start = "in x: T[N]\nin k: i64[M]\nrequire all(j < M) 0 <= int(k[j]) < N\nzero_[i < N]: T = 0\nout y: T[N]\n";
  holds(start + "y = scatter(j < M) x[0] at [int(k[j])] into zero_ by \"last\"\nexample { x = [1]  k = [0]  y = [1] }");
}

TEST(Prove, ElementsThatNobodyReadsMayBeAnything) {
  // v[0] would read x[-1]; only v[1...] is read.
  holds("in x: T[N]\nout y: T[N]\nv[i < N + 1] = x[i - 1]\ny[i] = v[i + 1]\nexample { x = [1]  y = [1] }");
  fault("in x: T[N]\nout y: T[N]\nv[i < N + 1] = x[i - 1]\ny[i] = v[i]\nexample { x = []  y = [] }", "read in range");
}

}  // namespace
}  // namespace ulpian::tools
