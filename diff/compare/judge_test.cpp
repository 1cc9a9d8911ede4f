#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "diff/compare/verdict.h"

namespace ulpian::diff {
namespace {

using interp::AllowedTensor;
using interp::Interval;
using MaybeTensors = std::vector<std::optional<Tensor>>;

constexpr float Nan = std::numeric_limits<float>::quiet_NaN(), Inf = std::numeric_limits<float>::infinity();

Bits f32(float x) { return std::bit_cast<std::uint32_t>(x); }
Tensor floats(const std::vector<float>& values, std::optional<Extents> extents = {}) {
  Tensor t(ElementType::F32, extents.value_or(Extents{static_cast<std::int64_t>(values.size())}));
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), f32(values[k]));
  return t;
}
Tensor integers(const std::vector<std::int64_t>& values, std::optional<Extents> extents = {}) {
  Tensor t(ElementType::I64, extents.value_or(Extents{static_cast<std::int64_t>(values.size())}));
  for (std::size_t k = 0; k < values.size(); ++k) t.set(static_cast<std::int64_t>(k), static_cast<Bits>(values[k]));
  return t;
}

// [low, high] of each element.
AllowedTensor between(const std::vector<float>& low, const std::vector<float>& high, std::vector<std::uint8_t> flags = {},
                      std::map<std::int64_t, std::vector<Interval>> pieces = {}, std::optional<Extents> extents = {}) {
  if (flags.empty()) flags.resize(low.size());
  return AllowedTensor(floats(low, extents), floats(high, extents), std::move(flags), std::move(pieces));
}

Expectation expecting(Tensor canonical, std::optional<AllowedTensor> allowed = {}) {
  Expectation e;
  e.canonical.emplace_back(std::move(canonical));
  e.names = {"y"};
  if (allowed)
    e.allowed = [a = std::move(*allowed)]() -> Result<std::vector<std::optional<AllowedTensor>>> {
      std::vector<std::optional<AllowedTensor>> out;
      out.emplace_back(a);
      return out;
    };
  return e;
}
MaybeTensors answer(Tensor t) {
  MaybeTensors out;
  out.emplace_back(std::move(t));
  return out;
}
Diagnostic diagnostic(ErrorKind kind, std::string message) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  return d;
}

TEST(Judge, EqualBitsConformWithoutAskingForTheSets) {
  Expectation e = expecting(floats({1, -0.0f, Inf, Nan}));
  e.allowed = []() -> Result<std::vector<std::optional<AllowedTensor>>> { throw std::runtime_error("asked"); };
  const Verdict v = judge(e, answer(floats({1, -0.0f, Inf, Nan})));
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.equal, 4);
  EXPECT_EQ(v.counts.worst_ulps, 0);
}

TEST(Judge, AnyNanIsNan) {
  Expectation e = expecting(floats({Nan}));
  Tensor other(ElementType::F32, {1});
  other.set(0, 0xffc12345);
  EXPECT_EQ(judge(e, answer(other)).verdict, Class::Conforms);
}

TEST(Judge, InsideTheSetConformsAndIsCounted) {
  const Expectation e = expecting(floats({1, 2, 3}), between({0.9f, 2, 3}, {1.1f, 2, 3}));
  Tensor got = floats({1, 2, 3});
  got.set(0, f32(1) + 3);
  const Verdict v = judge(e, answer(got));
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.elements, 3);
  EXPECT_EQ(v.counts.equal, 2);
  EXPECT_EQ(v.counts.allowed, 1);
  EXPECT_EQ(v.counts.worst_ulps, 3);
}

TEST(Judge, OutsideIsAViolationWithTheWorstWitness) {
  const Expectation e = expecting(floats({1, 2, 3, 4}, Extents{2, 2}), between({1, 2, 2.5f, 4}, {1, 2, 3.5f, 4}, {}, {}, Extents{2, 2}));
  Tensor got = floats({1, 2, 5, 4}, Extents{2, 2});
  got.set(1, f32(2) + 1);
  const Verdict v = judge(e, answer(got));
  ASSERT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.counts.outside, 2);
  EXPECT_EQ(v.counts.equal, 2);
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->position, 2);
  EXPECT_EQ(v.witness->index, (Extents{1, 0}));
  EXPECT_EQ(v.witness->distance, 1.5 * 0x1p22);  // from 3.5, whose ulp is 2^-22
  EXPECT_EQ(v.counts.worst_ulps, 2 * 0x1p22);    // from canonical 3
  EXPECT_NE(v.reason.find("output \"y\"[1, 0] is 5 (0x40a00000); allowed is [2.5, 3.5], canonical 3 (0x40400000)"), std::string::npos) << v.reason;
  EXPECT_NE(v.reason.find("the worst of 2 elements"), std::string::npos) << v.reason;
}

TEST(Judge, TheWorstIsFoundAmongMany) {
  std::vector<float> ones(100, 1);
  Tensor got = floats(ones);
  for (std::int64_t k = 0; k < 100; ++k) got.set(k, f32(1) + static_cast<Bits>(k == 71 ? 1000 : 1 + k % 7));
  const Verdict v = judge(expecting(floats(ones), between(ones, ones)), answer(got));
  ASSERT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.counts.outside, 100);
  EXPECT_EQ(v.witness->position, 71);
  EXPECT_EQ(v.witness->distance, 1000);
}

TEST(Judge, PiecesAreAUnion) {
  const auto set = between({0}, {2}, {interp::NotOneInterval}, {{0, {{f32(0), f32(0)}, {f32(1), f32(2)}}}});
  EXPECT_EQ(judge(expecting(floats({0}), set), answer(floats({1.5f}))).verdict, Class::Conforms);
  const Verdict v = judge(expecting(floats({0}), set), answer(floats({0.75f})));
  ASSERT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.witness->distance, 0x1p21);  // to 1: 0.25 over 2^-23
}

TEST(Judge, ZerosCountByTheirSignUnlessEitherIsFree) {
  EXPECT_EQ(judge(expecting(floats({0}), between({0}, {0})), answer(floats({-0.0f}))).verdict, Class::Violation);
  EXPECT_EQ(judge(expecting(floats({0}), between({0}, {0}, {interp::EitherZero})), answer(floats({-0.0f}))).verdict, Class::Conforms);
  EXPECT_EQ(judge(expecting(floats({-0.0f}), between({-0.0f}, {0})), answer(floats({0}))).verdict, Class::Conforms);
}

TEST(Judge, NanIsAdmittedOnlyWhereItsFlagStands) {
  EXPECT_EQ(judge(expecting(floats({1}), between({0}, {2})), answer(floats({Nan}))).verdict, Class::Violation);
  EXPECT_EQ(judge(expecting(floats({1}), between({0}, {2}, {interp::HasNan})), answer(floats({Nan}))).verdict, Class::Conforms);
  const auto only_nan = between({0}, {0}, {interp::HasNan | interp::Empty});
  const Verdict v = judge(expecting(floats({Nan}), only_nan), answer(floats({0})));
  ASSERT_EQ(v.verdict, Class::Violation);
  EXPECT_TRUE(std::isinf(v.witness->distance));
  EXPECT_EQ(v.counts.worst_ulps, 0);
}

TEST(Judge, InfinityForALargeNumberIsMeasured) {
  const float largest = std::numeric_limits<float>::max();
  const Verdict v = judge(expecting(floats({largest}), between({largest}, {largest})), answer(floats({Inf})));
  ASSERT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.witness->distance, 1);
}

TEST(Judge, WhereEverythingIsAdmittedNothingPasses) {
  const std::vector<std::uint8_t> anything(2, interp::Anything);
  Verdict v = judge(expecting(floats({1, 2}), between({1, 2}, {1, 2}, anything)), answer(floats({7, Nan})));
  EXPECT_EQ(v.verdict, Class::Vacuous);
  EXPECT_EQ(v.counts.vacuous, 2);
  EXPECT_EQ(exit_status(v.verdict), 0);
  v = judge(expecting(floats({1, 2}), between({1, 2}, {1, 2}, {interp::Anything, 0})), answer(floats({7, 2})));
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.vacuous, 1);
}

TEST(Judge, TypeExtentsAndPresenceComeFirst) {
  const Expectation e = expecting(floats({1, 2}));
  Verdict v = judge(e, answer(integers({1, 2})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_NE(v.reason.find("holds i64; f32 is right"), std::string::npos) << v.reason;
  v = judge(e, answer(floats({1, 2}, Extents{2, 1})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_NE(v.reason.find("extents [2, 1]; [2] are right"), std::string::npos) << v.reason;
  EXPECT_EQ(judge(e, MaybeTensors{}).verdict, Class::Failed);
  EXPECT_EQ(judge(e, MaybeTensors(1)).verdict, Class::Failed);
  Expectation unseen;
  unseen.canonical.resize(1);
  EXPECT_EQ(judge(unseen, MaybeTensors{}).verdict, Class::Conforms);
}

TEST(Judge, IntegersAndBoolsAreExact) {
  Tensor low = integers({3}), high = integers({5});
  EXPECT_EQ(judge(expecting(integers({4}), AllowedTensor(low, high, {0})), answer(integers({5}))).verdict, Class::Conforms);
  const Verdict v = judge(expecting(integers({4}), AllowedTensor(low, high, {0})), answer(integers({-1})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_NE(v.reason.find("is -1; allowed is [3, 5], canonical 4"), std::string::npos) << v.reason;
}

TEST(Judge, TextIsEqualOrWrong) {
  const Tensor a({2}, std::vector<std::string>{"x", "y"}), b({2}, std::vector<std::string>{"x", "z"});
  EXPECT_EQ(judge(expecting(a), answer(a)).verdict, Class::Conforms);
  EXPECT_EQ(judge(expecting(a), answer(b)).verdict, Class::Violation);
}

TEST(Judge, EmptyOutputsConform) {
  const Verdict v = judge(expecting(floats({}, Extents{0, 3})), answer(floats({}, Extents{0, 3})));
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.elements, 0);
}

TEST(Judge, WithoutASetADifferenceIsUndecided) {
  EXPECT_EQ(judge(expecting(floats({1})), answer(floats({2}))).verdict, Class::Undecided);
  Expectation e = expecting(floats({1}));
  e.allowed = []() -> Result<std::vector<std::optional<AllowedTensor>>> { return diagnostic(ErrorKind::Limit, "out of time"); };
  const Verdict v = judge(e, answer(floats({2})));
  EXPECT_EQ(v.verdict, Class::Undecided);
  EXPECT_NE(v.reason.find("out of time"), std::string::npos);
  EXPECT_EQ(exit_status(v.verdict), 3);
}

Outcome outcome(decltype(Outcome::what) what) {
  Outcome o;
  o.what = std::move(what);
  o.error_output = "stderr";
  return o;
}
Outcome gives(Tensor t) {
  Outputs o;
  o.values.push_back({"y", std::move(t)});
  return outcome(std::move(o));
}

TEST(Judge, RefusingIsRightWhereTheDefinitionRefuses) {
  Expectation e;
  e.error = diagnostic(ErrorKind::Requirement, "X has 6 channels");
  EXPECT_EQ(judge(e, outcome(Refused{Refusal::Invalid, "no"})).verdict, Class::Conforms);
  EXPECT_EQ(judge(e, outcome(Failed{FailureCause::Internal, "no"})).verdict, Class::Conforms);
  EXPECT_EQ(judge(e, outcome(Failed{FailureCause::Protocol, "nonsense"})).verdict, Class::Failed);
  EXPECT_EQ(judge(e, outcome(Crashed{11, 0, "run"})).verdict, Class::Crashed);
  const Verdict v = judge(e, gives(floats({1})));
  EXPECT_EQ(v.verdict, Class::Lenient);
  EXPECT_EQ(exit_status(v.verdict), 1);
  EXPECT_NE(v.reason.find("X has 6 channels"), std::string::npos);
}

TEST(Judge, WhereTheStandardSaysNothingAnythingConformsButACrash) {
  for (const bool on_values : {false, true}) {
    Expectation e = expecting(floats({1}));
    (on_values ? e.undefined : e.error) = diagnostic(ErrorKind::Undefined, "the order of NaN");
    EXPECT_EQ(judge(e, gives(integers({1}))).verdict, Class::Vacuous);
    EXPECT_EQ(judge(e, outcome(Refused{Refusal::Invalid, "no"})).verdict, Class::Vacuous);
    EXPECT_EQ(judge(e, outcome(Crashed{11, 0, "run"})).verdict, Class::Crashed);
    EXPECT_EQ(judge(e, outcome(Hung{1, "run"})).verdict, Class::Hung);
  }
}

TEST(Judge, AnElementThatTheStandardLeavesUndefinedMayBeRefused) {
  const auto one_of_two = [](std::uint8_t flag) {
    Expectation e = expecting(integers({1, 0}));
    e.allowed = [flag]() -> Result<std::vector<std::optional<AllowedTensor>>> {
      std::vector<std::optional<AllowedTensor>> out;
      out.emplace_back(AllowedTensor(integers({1, 0}), integers({1, 0}), {0, flag}));
      return out;
    };
    return e;
  };
  for (const Outcome& o : {outcome(Failed{FailureCause::Internal, "Integer division by zero"}), outcome(Refused{Refusal::Invalid, "no"})}) {
    const Verdict v = judge(one_of_two(interp::Anything), o);
    EXPECT_EQ(name_of(v.verdict), name_of(Class::Vacuous));
    EXPECT_TRUE(v.refused_undefined);
    EXPECT_EQ(v.reason, "refuses what the standard leaves undefined: \"y\"[1] may be anything");
    EXPECT_NE(exit_status(judge(one_of_two(0), o).verdict), 0);
  }
  EXPECT_EQ(judge(one_of_two(interp::Anything), outcome(Failed{FailureCause::Protocol, "nonsense"})).verdict, Class::Failed);
  EXPECT_EQ(judge(one_of_two(interp::Anything), outcome(Crashed{8, 0, "run"})).verdict, Class::Crashed);
  // A float may be anything where sums overflow in some order: no reason to refuse.
  Expectation e = expecting(floats({1}), between({1}, {1}, {interp::Anything}));
  EXPECT_EQ(judge(e, outcome(Failed{FailureCause::Internal, "no"})).verdict, Class::Failed);
  e.has_unspecified = true;
  EXPECT_EQ(judge(e, outcome(Failed{FailureCause::Internal, "no"})).verdict, Class::Vacuous);
}

TEST(Judge, WhatABackendDoesInsteadOfAnswering) {
  const Expectation e = expecting(floats({1}));
  EXPECT_EQ(judge(e, outcome(Refused{Refusal::Unsupported, "no such operator"})).verdict, Class::Refused);
  EXPECT_EQ(judge(e, outcome(Failed{FailureCause::Internal, "oh"})).verdict, Class::Failed);
  EXPECT_EQ(judge(e, outcome(Hung{1, "run"})).verdict, Class::Hung);
  EXPECT_EQ(judge(e, outcome(OutOfMemory{1, 1, "no room"})).verdict, Class::OutOfMemory);
  const Verdict v = judge(e, outcome(Crashed{11, 0, "run"}));
  EXPECT_EQ(v.verdict, Class::Crashed);
  EXPECT_EQ(v.evidence, "stderr");
  EXPECT_EQ(exit_status(Class::Refused), 3);
  EXPECT_EQ(exit_status(Class::OutOfMemory), 3);
  EXPECT_EQ(exit_status(Class::Hung), 1);
}

TEST(Judge, AnOperatorThatIsNotDefinedHereIsUndecided) {
  Expectation e;
  e.error = diagnostic(ErrorKind::Unsupported, "If is not defined");
  const Verdict v = judge(e, gives(floats({1})));
  EXPECT_EQ(v.verdict, Class::Undecided);
  EXPECT_NE(v.reason.find("not defined here"), std::string::npos);
}

TEST(Judge, AnotherReadingOfTheStandardIsTriedAsAWhole) {
  // NaN is passed over everywhere, or nowhere; not here so and there otherwise.
  Expectation e = expecting(floats({Nan, Nan}), between({0, 0}, {0, 0}, {interp::HasNan | interp::Empty, interp::HasNan | interp::Empty}));
  e.others.push_back([] { return expecting(floats({1, 2}), between({1, 2}, {1, 2})); });
  EXPECT_EQ(judge(e, answer(floats({Nan, Nan}))).verdict, Class::Conforms);
  EXPECT_EQ(judge(e, answer(floats({1, 2}))).verdict, Class::Conforms);
  const Verdict v = judge(e, answer(floats({Nan, 2})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.counts.outside, 1);
}

TEST(Judge, AReadingThatRefusesExcusesARefusal) {
  Expectation e = expecting(floats({1}));
  e.others.push_back([] {
    Expectation o;
    o.error = diagnostic(ErrorKind::Requirement, "no");
    return o;
  });
  EXPECT_EQ(judge(e, outcome(Refused{Refusal::Invalid, "no"})).verdict, Class::Conforms);
  // And one that cannot be evaluated excuses nothing.
  Expectation f = expecting(floats({1}), between({1}, {1}));
  f.others.push_back([] {
    Expectation o;
    o.error = diagnostic(ErrorKind::Limit, "time");
    return o;
  });
  EXPECT_EQ(judge(f, answer(floats({2}))).verdict, Class::Violation);
}

// --- any order

Expectation top_two() {
  Expectation e;
  e.canonical.emplace_back(floats({9, 7, 5, 4}, Extents{2, 2}));
  e.canonical.emplace_back(integers({3, 0, 1, 2}, Extents{2, 2}));
  e.names = {"values", "indices"};
  e.unordered_axes = {1};
  e.allowed = []() -> Result<std::vector<std::optional<AllowedTensor>>> {
    std::vector<std::optional<AllowedTensor>> out;
    out.emplace_back(AllowedTensor::exactly(floats({9, 7, 5, 4}, Extents{2, 2})));
    out.emplace_back(AllowedTensor::exactly(integers({3, 0, 1, 2}, Extents{2, 2})));
    return out;
  };
  return e;
}
MaybeTensors two(Tensor a, Tensor b) {
  MaybeTensors out;
  out.emplace_back(std::move(a));
  out.emplace_back(std::move(b));
  return out;
}

TEST(Judge, EachLineMayHaveAnOrderOfItsOwn) {
  EXPECT_EQ(judge(top_two(), two(floats({7, 9, 5, 4}, Extents{2, 2}), integers({0, 3, 1, 2}, Extents{2, 2}))).verdict, Class::Conforms);
  EXPECT_EQ(judge(top_two(), two(floats({7, 9, 4, 5}, Extents{2, 2}), integers({0, 3, 2, 1}, Extents{2, 2}))).verdict, Class::Conforms);
}

TEST(Judge, TheOrderIsTheSameInAllOutputs) {
  const Verdict v = judge(top_two(), two(floats({7, 9, 5, 4}, Extents{2, 2}), integers({3, 0, 1, 2}, Extents{2, 2})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(judge(top_two(), two(floats({9, 9, 5, 4}, Extents{2, 2}), integers({3, 3, 1, 2}, Extents{2, 2}))).verdict, Class::Violation);
  // Lines do not mix.
  EXPECT_EQ(judge(top_two(), two(floats({5, 7, 9, 4}, Extents{2, 2}), integers({1, 0, 3, 2}, Extents{2, 2}))).verdict, Class::Violation);
}

TEST(Judge, OrdersAreFoundAmongOverlappingSets) {
  // Places admit [0, 1], [0, 2], [0, 3]; of the answers 3, 2, 1 each fits some, in one way only.
  Expectation e = expecting(floats({0.5f, 0.6f, 0.7f}), between({0, 0, 0}, {1, 2, 3}));
  e.unordered_axes = {0};
  EXPECT_EQ(judge(e, answer(floats({3, 2, 1}))).verdict, Class::Conforms);
  EXPECT_EQ(judge(e, answer(floats({2, 3, 1}))).verdict, Class::Conforms);
  EXPECT_EQ(judge(e, answer(floats({3, 3, 1}))).verdict, Class::Violation);
  // An exact match that stands in the way moves on: 0.5 fits everywhere, 1 only where it does not stand.
  Expectation f = expecting(floats({0.5f, 0.25f}), between({0, 0.25f}, {1, 0.5f}));
  f.unordered_axes = {0};
  EXPECT_EQ(judge(f, answer(floats({0.5f, 1}))).verdict, Class::Conforms);
}

TEST(Judge, AnOrderThatIsTooMuchToFindIsNoViolation) {
  // Place k admits [k, k + 1]. The answers 1, 2, ... take the places before their own, until 0 comes and all have to move.
  constexpr int N = 3000;
  std::vector<float> canonical, low, high, got;
  for (int k = 0; k < N; ++k) canonical.push_back(static_cast<float>(k) + 0.5f), low.push_back(static_cast<float>(k)), high.push_back(static_cast<float>(k + 1));
  for (int k = 1; k < N; ++k) got.push_back(static_cast<float>(k));
  got.push_back(0);
  Expectation e = expecting(floats(canonical), between(low, high));
  e.unordered_axes = {0};
  EXPECT_EQ(judge(e, answer(floats(got))).verdict, Class::Undecided);
}

TEST(Judge, LinesOfNanAreMatchedToo) {
  Expectation e = expecting(floats({Nan, 1, -1}));
  e.unordered_axes = {0};
  e.allowed = []() -> Result<std::vector<std::optional<AllowedTensor>>> {
    std::vector<std::optional<AllowedTensor>> out;
    out.emplace_back(AllowedTensor::exactly(floats({Nan, 1, -1})));
    return out;
  };
  Tensor got = floats({-1, 1, 0});
  got.set(2, 0xffc00001);
  EXPECT_EQ(judge(e, answer(got)).verdict, Class::Conforms);
}

// --- second opinions

TEST(Judge, AWitnessShowsTheTrueValue) {
  Expectation e = expecting(floats({1}), between({1}, {1}));
  e.second_opinion = [](std::size_t, std::int64_t) {
    SecondOpinion o;
    o.real = interp::Real(Exact(1) + Exact::power_of_two(-26));
    o.ideal = f32(1);
    o.canonical = f32(1);
    return o;
  };
  Tensor got = floats({1});
  got.set(0, f32(1) + 1);
  const Verdict v = judge(e, answer(got));
  ASSERT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.witness->got_from_true, 0.875);
  EXPECT_EQ(v.witness->allowed_from_true, 0.125);
  EXPECT_NE(v.reason.find("the true value is 1.0000000149011612, 0.875 ULP away (the nearest allowed value 0.125)"), std::string::npos) << v.reason;
}

TEST(Judge, AContradictionIsOursAndNoViolation) {
  Tensor got = floats({1});
  got.set(0, f32(1) + 1);
  const auto with = [&](SecondOpinion o, float low = 1) {
    Expectation e = expecting(floats({1}), between({low}, {low}));
    e.second_opinion = [o](std::size_t, std::int64_t) { return o; };
    return judge(e, answer(got));
  };
  SecondOpinion o;
  // The true value is what the backend gave.
  o.ideal = f32(1) + 1;
  o.real = interp::Real(Exact(1) + Exact::power_of_two(-23));
  Verdict v = with(o);
  EXPECT_EQ(v.verdict, Class::InternalError);
  EXPECT_EQ(exit_status(v.verdict), 3);
  EXPECT_NE(v.reason.find("please report"), std::string::npos) << v.reason;
  // The scalar evaluator disagrees with the canonical value.
  o = {};
  o.canonical = f32(1) + 1;
  EXPECT_EQ(with(o).verdict, Class::InternalError);
  // Canonical itself is outside.
  EXPECT_EQ(with({}, 2).verdict, Class::InternalError);
  // The truth lies outside the set, on the far side of the answer: the answer is no worse than what is admitted.
  o = {};
  o.real = interp::Real(Exact(1) + Exact::power_of_two(-22));
  o.ideal = f32(1) + 2;
  EXPECT_EQ(with(o).verdict, Class::InternalError);
  // The truth lies outside the set, but the answer is farther from it than all that is admitted: wrong all the same.
  o.real = interp::Real(Exact(1) - Exact::power_of_two(-24));
  o.ideal = f32(1) - 1;
  v = with(o);
  EXPECT_EQ(v.verdict, Class::Violation);
  // The set is too narrow all the same, which is said beside it.
  EXPECT_NE(v.own_fault.find("the true value 0.99999994 (0x3f7fffff) is not in the allowed set"), std::string::npos) << v.own_fault;
}

// `count` elements of canonical value 1 and set {1}; the true value of the first `doubted` is what the backend gave there, that of the others 1.
Expectation doubtful(std::size_t count, std::size_t doubted, const std::vector<Bits>& got) {
  const std::vector<float> ones(count, 1);
  Expectation e = expecting(floats(ones), between(ones, ones));
  e.second_opinion = [doubted, got](std::size_t, std::int64_t position) {
    const auto i = static_cast<std::size_t>(position);
    SecondOpinion o;
    o.canonical = f32(1);
    o.ideal = i < doubted ? got[i] : f32(1);
    o.real = interp::Real(Exact::of(ElementType::F32, *o.ideal));
    return o;
  };
  return e;
}

TEST(Judge, AContradictionOnOneElementTakesNothingFromAViolationOnAnother) {
  const std::vector<Bits> got{f32(9), f32(2), f32(3), f32(1)};
  Tensor answers = floats({9, 2, 3, 1});
  const Verdict v = judge(doubtful(4, 1, got), answer(answers));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(exit_status(v.verdict), 1);
  ASSERT_TRUE(v.witness);
  EXPECT_EQ(v.witness->position, 2);  // the worst of those that hold
  EXPECT_EQ(v.counts.outside, 3);
  EXPECT_NE(v.own_fault.find("please report"), std::string::npos) << v.own_fault;
  EXPECT_NE(v.own_fault.find("9 (0x41100000) is the true value"), std::string::npos) << v.own_fault;
  EXPECT_NE(v.own_fault.find("1 of the 3 elements"), std::string::npos) << v.own_fault;
  EXPECT_EQ(v.reason.find("contradicts"), std::string::npos) << v.reason;
}

TEST(Judge, AViolationIsFoundBehindManyContradictions) {
  std::vector<float> values(40, 9);
  values[37] = 2;
  std::vector<Bits> got;
  for (float x : values) got.push_back(f32(x));
  const Verdict v = judge(doubtful(40, 37, got), answer(floats(values)));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.witness->position, 37);
  // And nothing but contradictions stays one.
  EXPECT_EQ(judge(doubtful(40, 40, got), answer(floats(values))).verdict, Class::InternalError);
}

TEST(Judge, WithoutATrueValueTheWitnessSaysWhy) {
  Expectation e = expecting(floats({1}), between({1}, {1}));
  e.second_opinion = [](std::size_t, std::int64_t) {
    SecondOpinion o;
    o.why_missing = "it takes more than 5 steps";
    return o;
  };
  const Verdict v = judge(e, answer(floats({2})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_NE(v.reason.find("its true value was not found: it takes more than 5 steps"), std::string::npos) << v.reason;
}

TEST(Judge, WhatARegionGivesWithoutRoundingIsShownAndDecidesNothing) {
  Expectation e = expecting(floats({1}), between({1}, {1}));
  e.second_opinion = [](std::size_t, std::int64_t) {
    SecondOpinion o;
    o.canonical = f32(1);
    o.ideal = f32(1) + 1;
    o.real = interp::Real(Exact(1) + Exact::power_of_two(-23));
    o.of_region = true;
    return o;
  };
  Tensor got = floats({1});
  got.set(0, f32(1) + 1);
  const Verdict v = judge(e, answer(got));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_NE(v.reason.find("if nothing were rounded between the operators, the value is 1.0000001192092896, 0 ULP away (the nearest allowed value 1)"), std::string::npos) << v.reason;
}

TEST(Judge, MoreReadingsThanAreTriedLeaveItOpen) {
  Expectation e = expecting(floats({1}), between({1}, {1}));
  e.others.push_back([] { return expecting(floats({2}), between({2}, {2})); });
  EXPECT_EQ(judge(e, answer(floats({3}))).verdict, Class::Violation);
  e.more_readings = true;
  EXPECT_EQ(judge(e, answer(floats({3}))).verdict, Class::Undecided);
  EXPECT_EQ(judge(e, answer(floats({2}))).verdict, Class::Conforms);
}

TEST(Judge, WhereOneOfSeveralOperatorsIsFreeElementsAreJudgedOneByOne) {
  Expectation e = expecting(floats({1, 2, 3}), between({1, 2, 3}, {1, 2, 3}, {interp::Anything, interp::Anything, 0}));
  e.undefined_inside = diagnostic(ErrorKind::Undefined, "min above max");
  Verdict v = judge(e, answer(floats({1, 7, 3})));
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.vacuous, 2);  // although one agrees
  EXPECT_EQ(v.counts.equal, 1);
  v = judge(e, answer(floats({1, 2, 4})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(v.witness->position, 2);
  EXPECT_EQ(judge(e, outcome(Refused{Refusal::Invalid, "no"})).verdict, Class::Vacuous);
  Expectation all = expecting(floats({1}), between({1}, {1}, {interp::Anything}));
  all.undefined_inside = e.undefined_inside;
  v = judge(all, answer(floats({1})));
  EXPECT_EQ(v.verdict, Class::Vacuous);
  EXPECT_NE(v.reason.find("min above max"), std::string::npos) << v.reason;
  // What follows from that operator may have other extents, too, with or without elements; nothing else may, whatever its elements may be.
  EXPECT_EQ(judge(all, answer(floats({1, 2}))).verdict, Class::Violation);
  all.free_extents = {true};
  EXPECT_EQ(judge(all, answer(floats({1, 2}))).verdict, Class::Vacuous);
  Expectation none = expecting(floats({}), between({}, {}));
  EXPECT_EQ(judge(none, answer(Tensor(ElementType::F32, {0, 3}))).verdict, Class::Violation);
  none.undefined_inside = e.undefined_inside;
  EXPECT_EQ(judge(none, answer(Tensor(ElementType::F32, {0, 3}))).verdict, Class::Violation);
  none.free_extents = {true};
  EXPECT_EQ(judge(none, answer(Tensor(ElementType::F32, {0, 3}))).verdict, Class::Vacuous);
  EXPECT_EQ(judge(e, answer(floats({1, 2, 3, 4}))).verdict, Class::Violation);
}

// A rule of closeness decides; the sets say what it lets through, and what it refuses although it is admitted.
TEST(Judge, ByARuleOfCloseness) {
  //                         equal  close, inside  close, outside  far, inside  far, outside
  const Tensor canonical = floats({1, 1, 1, 1, 1});
  const AllowedTensor sets = between({1, 0.95f, 1, 0.5f, 1}, {1, 1.05f, 1, 1.5f, 1});
  Expectation e = expecting(canonical, sets);
  e.closeness = [](ElementType type) { return type == ElementType::F32 ? std::optional(interp::Closeness{0.0625, 0.0625, 0}) : std::nullopt; };
  Verdict v = judge(e, answer(floats({1, 1.03125f, 1.125f, 1.25f, 1.375f})));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_TRUE(v.by_rule);
  EXPECT_EQ(v.counts.equal, 1);
  EXPECT_EQ(v.counts.allowed, 2);
  EXPECT_EQ(v.counts.outside, 2);
  EXPECT_EQ(v.counts.let_through, 1);
  EXPECT_EQ(v.counts.refused_inside, 1);
  ASSERT_TRUE(v.let_through);
  EXPECT_EQ(v.let_through->index, Extents{2});
  EXPECT_NE(v.reason.find("[4]"), std::string::npos) << v.reason;
  v = judge(e, answer(floats({1, 1.03125f, 1.125f, 1, 1})));
  EXPECT_EQ(v.verdict, Class::Conforms);
  EXPECT_EQ(v.counts.let_through, 1);
  // Without sets the rule decides all the same, and of a type of which it says nothing the sets do.
  e.allowed = [] { return Result<std::vector<std::optional<AllowedTensor>>>(diagnostic(ErrorKind::Limit, "no time")); };
  EXPECT_EQ(judge(e, answer(floats({1, 1.03125f, 1, 1, 1}))).verdict, Class::Conforms);
  EXPECT_EQ(judge(e, answer(floats({1, 1.25f, 1, 1, 1}))).verdict, Class::Violation);
  e.closeness = [](ElementType) { return std::optional<interp::Closeness>(); };
  EXPECT_EQ(judge(e, answer(floats({1, 1.03125f, 1, 1, 1}))).verdict, Class::Undecided);
}

}  // namespace
}  // namespace ulpian::diff
