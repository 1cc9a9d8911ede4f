// The least deviations that explain an answer: answers are made here, by what they are said to deviate by.
#include <cmath>
#include <random>

#include "diff/check/check_test_support.h"

namespace ulpian::diff {
namespace {

constexpr auto F32 = ElementType::F32;
using interp::Freedom;

Verdict verdict_of(const GraphMaker& g, const Tensors& inputs, const Tensor& answer, const CheckOptions& options = standard()) {
  const auto m = check_outputs(shipped(), g.graph(), inputs, tensors({answer}), options);
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : to_string(m.error()));
  return m.ok() ? m->whole : Verdict{};
}

std::vector<std::string> sets_of(const Verdict& v) {
  std::vector<std::string> out;
  if (v.deviations)
    for (const DeviationSet& s : v.deviations->least) out.push_back(to_string(s));
  return out;
}

CheckOptions admitting(std::initializer_list<Freedom> more) {
  CheckOptions o = standard();
  const std::vector<Freedom> list(more);
  o.profile = o.profile.with(list);
  return o;
}

GraphMaker product(const Extents& a, const Extents& b) {
  GraphMaker g;
  g.input("a", F32, a).input("b", F32, b).node("MatMul", {"a", "b"}, {"y"}).output("y");
  return g;
}

TEST(Deviations, OfAProductOfNarrowedFactorsComeFirst) {
  std::mt19937 random(5);
  std::vector<float> a(2 * 50), b(50 * 3), y(6);
  for (auto* v : {&a, &b})
    for (float& x : *v) x = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
  const auto bf16 = [](float x) { return to_double(ElementType::BF16, from_double(ElementType::BF16, static_cast<double>(x))); };
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      double sum = 0;
      for (int k = 0; k < 50; ++k) sum += bf16(a[static_cast<std::size_t>(i * 50 + k)]) * bf16(b[static_cast<std::size_t>(k * 3 + j)]);
      y[static_cast<std::size_t>(i * 3 + j)] = static_cast<float>(sum);
    }
  const GraphMaker g = product({2, 50}, {50, 3});
  const Tensors inputs = tensors({floats(a, Extents{2, 50}), floats(b, Extents{50, 3})});
  const Verdict v = verdict_of(g, inputs, floats(y, Extents{2, 3}));
  EXPECT_EQ(v.verdict, Class::Violation);
  ASSERT_TRUE(v.deviations && !v.deviations->least.empty());
  EXPECT_EQ(sets_of(v)[0], "bf16_inputs");
  for (const std::string& s : sets_of(v)) EXPECT_EQ(s.find('+'), std::string::npos) << s;  // all of one, as one is enough
  EXPECT_EQ(verdict_of(g, inputs, floats(y, Extents{2, 3}), admitting({Freedom::Bf16Inputs})).verdict, Class::Conforms);
  EXPECT_EQ(verdict_of(g, inputs, floats(y, Extents{2, 3}), admitting({Freedom::Ftz})).verdict, Class::Violation);
}

TEST(Deviations, AreBothNamedWhereTwoAreNeededWithAnElementForEach) {
  GraphMaker g;
  g.input("a", F32, {4}).input("b", F32, {4}).node("Mul", {"a", "b"}, {"y"}).output("y");
  const Tensors inputs = tensors({floats({1, 0x1p-130f, 0x1p-70f, 3}), floats({2, 0x1p20f, 0x1p-70f, 4})});
  // Read as zero; flushed. The first and the last are right.
  const Verdict v = verdict_of(g, inputs, floats({2, 0, 0, 12}));
  EXPECT_EQ(v.verdict, Class::Violation);
  EXPECT_EQ(sets_of(v), std::vector<std::string>{"ftz + daz"});
  ASSERT_EQ(v.deviations->least[0].needed.size(), 2u);
  EXPECT_EQ(v.deviations->least[0].needed[0], "\"y\"[2]");  // outside without ftz
  EXPECT_EQ(v.deviations->least[0].needed[1], "\"y\"[1]");
  EXPECT_EQ(verdict_of(g, inputs, floats({2, 0, 0, 12}), admitting({Freedom::Ftz, Freedom::Daz})).verdict, Class::Conforms);
  // With one of them admitted already the other is left.
  EXPECT_EQ(sets_of(verdict_of(g, inputs, floats({2, 0, 0, 12}), admitting({Freedom::Daz}))), std::vector<std::string>{"ftz"});
}

TEST(Deviations, OfAFunctionsValuesAreTheirLeastErrors) {
  GraphMaker g;
  g.input("x", F32, {2}).node("Tanh", {"x"}, {"y"}).output("y");
  const float x[2] = {1e-3f, 0.5f};
  const Tensors inputs = tensors({floats({x[0], x[1]})});
  const float y = static_cast<float>(std::tanh(static_cast<double>(x[0])) + 1e-7);
  const Verdict v = verdict_of(g, inputs, floats({y, static_cast<float>(std::tanh(0.5))}));
  EXPECT_EQ(v.verdict, Class::Violation);
  ASSERT_TRUE(v.deviations);
  ASSERT_EQ(v.deviations->least.size(), 2u);
  const double away = static_cast<double>(y) - std::tanh(static_cast<double>(x[0])), ulp = 0x1p-33;
  EXPECT_NEAR(v.deviations->least[0].function_error, away, 0.1 * away);  // standard's own 5 ULP are part of it
  EXPECT_NEAR(v.deviations->least[1].function_ulps, away / ulp, 0.1 * away / ulp);
  CheckOptions within = standard();
  within.profile = within.profile.apart(v.deviations->least[0].function_error);
  EXPECT_EQ(verdict_of(g, inputs, floats({y, static_cast<float>(std::tanh(0.5))}), within).verdict, Class::Conforms);
}

// 8000000000 modulo 2^32 is -589934592; 3 times the f32 nearest to 0.1, rounded to f32, is not what f64 gives.
TEST(Deviations, WideTypesHeldAsNarrowOnesAreNamed) {
  GraphMaker integers_too;
  integers_too.input("a", ElementType::I64, {2}).input("b", ElementType::I64, {2}).node("Add", {"a", "b"}, {"y"}).output("y");
  const Tensors large = tensors({integers({4000000000, 1}), integers({4000000000, 2})});
  EXPECT_EQ(sets_of(verdict_of(integers_too, large, integers({-589934592, 3}))), std::vector<std::string>{"i64_as_i32"});
  const Tensors one = tensors({integers({4000000000, 1}), integers({0, 2})});
  EXPECT_EQ(sets_of(verdict_of(integers_too, one, integers({INT32_MAX, 3}))), std::vector<std::string>{"i64_as_i32"}) << "held to the range";
  EXPECT_EQ(sets_of(verdict_of(integers_too, large, integers({INT32_MAX, 3}))), std::vector<std::string>{"i64_as_i32"}) << "the result alone";
  EXPECT_TRUE(sets_of(verdict_of(integers_too, large, integers({-589934592, 4}))).empty());
  EXPECT_EQ(verdict_of(integers_too, large, integers({-589934592, 3}), admitting({Freedom::I64AsI32})).verdict, Class::Conforms);
  EXPECT_EQ(verdict_of(integers_too, large, integers({8000000000, 3}), admitting({Freedom::I64AsI32})).verdict, Class::Conforms);

  GraphMaker g;
  g.input("a", ElementType::F64, {1}).input("b", ElementType::F64, {1}).node("Mul", {"a", "b"}, {"y"}).output("y");
  const auto f64 = [](double x) {
    Tensor t(ElementType::F64, {1});
    t.set(0, from_double(ElementType::F64, x));
    return t;
  };
  const double y = static_cast<double>(0.1f * 3.0f);
  EXPECT_EQ(sets_of(verdict_of(g, tensors({f64(0.1), f64(3)}), f64(y))), std::vector<std::string>{"f64_as_f32"});
  EXPECT_TRUE(sets_of(verdict_of(g, tensors({f64(0.1), f64(3)}), f64(y * (1 + 0x1p-22)))).empty());
}

// What is off by more than any approximation is not explained by one; and the witness names the equation.
TEST(Deviations, OfAFunctionHaveALimit) {
  GraphMaker g;
  g.input("x", F32, {1}).node("Sigmoid", {"x"}, {"y"}).output("y");
  const Verdict v = verdict_of(g, tensors({floats({2})}), floats({0.2f}));
  EXPECT_EQ(v.verdict, Class::Violation);
  ASSERT_TRUE(v.deviations && v.witness && v.witness->clause);
  EXPECT_TRUE(v.deviations->least.empty());
  EXPECT_EQ(v.witness->clause->place.file, "spec/onnx/Sigmoid.ulp");
  EXPECT_EQ(v.witness->clause->text.substr(0, 7), "Y[i...]");
}

// ftz alone changes nothing: the product of the two is normal until one is read as zero.
TEST(Deviations, AreFoundWhereOneShowsOnlyBesideAnother) {
  GraphMaker g;
  std::vector<float> a(16, 1), b(16, 2), c(16, 3), y(16, 9);
  a[5] = 0x1p-130f, b[5] = 0x1p-126f, c[5] = 0.96f, y[5] = 0;
  g.input("a", F32, {16}).input("b", F32, {16}).input("c", F32, {16}).node("Add", {"a", "b"}, {"s"}).node("Mul", {"s", "c"}, {"y"}).output("y");
  EXPECT_EQ(sets_of(verdict_of(g, tensors({floats(a), floats(b), floats(c)}), floats(y))), std::vector<std::string>{"ftz + daz"});
}

// That all deviations together make a region's sets too wide to tell anything is no reason to look no further.
TEST(Deviations, OfARegionAreFoundAlsoWhereAllTogetherTellNothing) {
  GraphMaker g;
  std::vector<float> x0, x1, y;
  for (int k = 0; k < 64; ++k) x0.push_back(0), x1.push_back(static_cast<float>(1 + k)), y.push_back(static_cast<float>(1 + k));
  x1[9] = 0x1p-127f, y[9] = 0;
  g.input("a", F32, {64}).input("b", F32, {64}).node("Exp", {"a"}, {"e"}).node("Mul", {"e", "b"}, {"y"}).output("y");
  const auto sets = sets_of(verdict_of(g, tensors({floats(x0), floats(x1)}), floats(y)));
  EXPECT_EQ(sets, (std::vector<std::string>{"ftz", "daz"}));
}

TEST(Deviations, AreNoneWhereNothingKnownExplainsTheAnswer) {
  const Verdict v = verdict_of(product({1, 2}, {2, 1}), tensors({floats({1, 2}, Extents{1, 2}), floats({3, 4}, Extents{2, 1})}), floats({22}, Extents{1, 1}));
  EXPECT_EQ(v.verdict, Class::Violation);
  ASSERT_TRUE(v.deviations);
  EXPECT_TRUE(v.deviations->least.empty());
  EXPECT_NE(v.deviations->note.find("none of the deviations"), std::string::npos) << v.deviations->note;
}

TEST(Deviations, OfSeveralVerdictsAreTheFewestThatDoForAll) {
  const auto of = [](std::vector<DeviationSet> least) {
    Verdict v;
    v.verdict = Class::Violation;
    v.deviations = Deviations{std::move(least), {}};
    return v;
  };
  const DeviationSet ftz{{Freedom::Ftz}, 0, 0, {}}, zeros{{Freedom::ZeroSigns}, 0, 0, {}}, both{{Freedom::Ftz, Freedom::Daz}, 0, 0, {}}, near{{}, 0, 1e-7, {}}, nearer{{}, 0, 1e-8, {}}, ulps{{}, 12, 0, {}};
  const auto together = [](std::initializer_list<Verdict> all) {
    std::vector<const Verdict*> pointers;
    for (const Verdict& v : all) pointers.push_back(&v);
    const auto s = least_together(pointers);
    return s ? to_string(*s) : std::string("none");
  };
  const Verdict right;
  EXPECT_EQ(together({of({ftz, zeros}), of({zeros}), right}), "zero_signs");
  EXPECT_EQ(together({of({ftz}), of({both})}), "ftz + daz");
  EXPECT_EQ(together({of({near, ulps}), of({nearer})}), "functions within 1e-07 absolute");
  EXPECT_EQ(together({of({ulps}), of({nearer})}), "functions within 12 ULP + functions within 1e-08 absolute");
  EXPECT_EQ(together({of({ftz}), of({})}), "none");
  EXPECT_EQ(together({right}), "none");
}

// What is told is what a reader writes into a profile, so it is never rounded down.
TEST(Deviations, FiguresAreNotBelowWhatIsNeeded) {
  EXPECT_EQ(to_string(DeviationSet{{}, 0, 0.0020751953125, {}}), "functions within 0.00208 absolute");
  EXPECT_EQ(to_string(DeviationSet{{}, 0, 1.4516e-05, {}}), "functions within 1.452e-05 absolute");  // 1.45e-05 is less
  EXPECT_EQ(to_string(DeviationSet{{}, 0, 1.4514e-05, {}}), "functions within 1.4514e-05 absolute");  // 1.451e-05 is less too
  EXPECT_EQ(to_string(DeviationSet{{}, 1552, 0, {}}), "functions within 1552 ULP");                  // 1.55e+03 is less
}

}  // namespace
}  // namespace ulpian::diff
