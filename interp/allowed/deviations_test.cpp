// Deviations: implementations that flush, narrow or pass over are members where a profile admits just that, and not without it.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "interp/allowed/allowed.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

AllowedTensor under(Maker& m, const std::vector<Tensor>& inputs, std::initializer_list<Freedom> more, const char* base = "standard") {
  std::vector<std::optional<AllowedTensor>> sets;
  for (const Tensor& t : inputs) sets.push_back(AllowedTensor::exactly(t));
  const std::vector<Freedom> list(more);
  auto out = evaluate_allowed(m.program(), sets, profile_named(base)->with(list));
  if (!out) {
    ADD_FAILURE() << to_string(out.error());
    return AllowedTensor::exactly(Tensor());
  }
  return *(*out)[0];
}

AllowedTensor dot_under(const std::vector<float>& x, const std::vector<float>& y, std::initializer_list<Freedom> more) {
  Maker m;
  const TensorId a = m.vector("a", E::F32), b = m.vector("b", E::F32);
  const Variable k = m.fresh("k");
  const TermId kv = m.variable(k);
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Dot, E::F32, k, m.extent(a), {m.at(a, kv), m.at(b, kv)})));
  return under(m, {floats(x), floats(y)}, more);
}

AllowedTensor mapped_under(P p, const std::vector<float>& x, const std::vector<float>& y, std::initializer_list<Freedom> more) {
  Maker m;
  const TensorId a = m.vector("a", E::F32), b = m.vector("b", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("z", {i}, {m.extent(a)}, m.primitive(p, std::vector<TermId>{m.at(a, m.variable(i)), m.at(b, m.variable(i))})));
  return under(m, {floats(x), floats(y)}, more);
}

float in(E type, float x) { return static_cast<float>(to_double(type, from_double(type, static_cast<double>(x)))); }
// 24 - 13 = 11 bits, cut or to nearest even.
float tf32(float x, bool nearest) {
  std::uint32_t b = std::bit_cast<std::uint32_t>(x);
  if (nearest) b += 0xfff + (b >> 13 & 1);
  return std::bit_cast<float>(b & ~0x1fffu);
}
bool has(const AllowedTensor& set, float value, std::int64_t i = 0) { return set.contains(i, bits_of_float(value)); }

std::vector<float> drawn(std::size_t n, std::mt19937& random) {
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
  return out;
}

template <class Round> float chain(const std::vector<float>& x, const std::vector<float>& y, std::mt19937& random, Round sum_as) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  float sum = 0;
  for (std::size_t i : order) {
    volatile float p = sum_as(x[i] * y[i]);
    sum = sum_as(sum + p);
  }
  return sum;
}

TEST(Deviations, NarrowedFactorsAreMembersWhereAdmittedAndSeenOtherwise) {
  std::mt19937 random(11);
  int seen[4] = {};
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 1 + random() % 80;
    const auto x = drawn(n, random), y = drawn(n, random);
    const auto plain = dot_under(x, y, {});
    const auto with = [&](auto narrow) {
      std::vector<float> a(n), b(n);
      std::transform(x.begin(), x.end(), a.begin(), narrow);
      std::transform(y.begin(), y.end(), b.begin(), narrow);
      return chain(a, b, random, [](float v) { return v; });
    };
    const float results[4] = {with([](float v) { return in(E::BF16, v); }), with([](float v) { return in(E::F16, v); }), with([](float v) { return tf32(v, true); }),
                              with([](float v) { return tf32(v, false); })};
    const Freedom freedoms[4] = {Freedom::Bf16Inputs, Freedom::F16Inputs, Freedom::Tf32Inputs, Freedom::Tf32Inputs};
    for (int k = 0; k < 4; ++k) {
      const auto set = dot_under(x, y, {freedoms[k]});
      EXPECT_TRUE(has(set, results[k])) << results[k] << " of " << n << " terms, outside " << set.describe(0) << " with " << name_of(freedoms[k]);
      seen[k] += !has(plain, results[k]);
    }
  }
  for (int s : seen) EXPECT_GT(s, 50);
}

// Factors that bf16 holds are not changed by it: nothing more is admitted.
TEST(Deviations, NarrowedFactorsThatFitAdmitNothingMore) {
  const std::vector<float> x{1, -2, 0.5f, 3}, y{4, 0.25f, 7, -1};
  for (const Freedom f : {Freedom::Bf16Inputs, Freedom::F16Inputs, Freedom::Tf32Inputs}) EXPECT_EQ(dot_under(x, y, {f}).describe(0), dot_under(x, y, {}).describe(0)) << name_of(f);
}

TEST(Deviations, NarrowAccumulatorsAreMembersWhereAdmittedAndSeenOtherwise) {
  std::mt19937 random(12);
  int seen[2] = {}, inside_half = 0;
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 2 + random() % 60;
    const auto x = drawn(n, random), y = drawn(n, random);
    const auto plain = dot_under(x, y, {});
    const E types[2] = {E::BF16, E::F16};
    for (int k = 0; k < 2; ++k) {
      const Freedom f = k == 0 ? Freedom::Bf16Sums : Freedom::F16Sums;
      const auto set = dot_under(x, y, {f});
      for (int again = 0; again < 4; ++again) {
        const float r = chain(x, y, random, [&](float v) { return in(types[k], v); });
        EXPECT_TRUE(has(set, r)) << r << " of " << n << " terms, outside " << set.describe(0) << " with " << name_of(f);
        seen[k] += !has(plain, r);
      }
      // A sum that lost the largest of many terms is no narrow accumulator's.
      if (k == 1) {
        double all = 0, largest = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double p = static_cast<double>(x[i]) * static_cast<double>(y[i]);
          all += p;
          if (std::fabs(p) > std::fabs(largest)) largest = p;
        }
        inside_half += has(set, static_cast<float>(all - largest));
      }
    }
  }
  EXPECT_GT(seen[0], 200);
  EXPECT_GT(seen[1], 200);
  EXPECT_EQ(inside_half, 0);
}

TEST(Deviations, AnF16AccumulatorOverflowsBeyondItsLargest) {
  const std::vector<float> x{300, 300}, y{200, 200};  // 120000
  EXPECT_TRUE(has(dot_under(x, y, {Freedom::F16Sums}), std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(has(dot_under(x, y, {}), std::numeric_limits<float>::infinity()));
}

TEST(Deviations, FlushedResultsAreTheNumberOrZero) {
  const std::vector<float> x{0x1p-100f, -0x1p-100f, 0x1.5p-126f}, y{0x1.8p-40f, 0x1.8p-40f, 1};
  const auto set = mapped_under(P::Multiply, x, y, {Freedom::Ftz});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(has(set, x[static_cast<std::size_t>(i)] * 0x1.8p-40f, i));
    EXPECT_TRUE(has(set, 0.0f, i) && has(set, -0.0f, i));
    EXPECT_FALSE(has(set, 0x1p-145f, i));  // between them
  }
  EXPECT_FALSE(has(set, 0.0f, 2));  // a normal number
  EXPECT_FALSE(has(mapped_under(P::Multiply, x, y, {}), 0.0f, 0));
  EXPECT_FALSE(has(mapped_under(P::Multiply, x, y, {Freedom::Daz}), 0.0f, 0));  // its operands are normal
}

TEST(Deviations, SubnormalOperandsAreReadAsZero) {
  const std::vector<float> x{0x1p-130f, 0x1p-130f}, y{0, 0x1p-120f};
  const auto set = mapped_under(P::Add, x, y, {Freedom::Daz});
  EXPECT_TRUE(has(set, 0x1p-130f, 0) && has(set, 0, 0));
  EXPECT_TRUE(has(set, 0x1p-120f, 1) && has(set, 0x1p-120f + 0x1p-130f, 1));
  EXPECT_FALSE(has(set, 0x1p-120f + 0x1p-131f, 1));
  // Infinity times it is NaN.
  const auto product = mapped_under(P::Multiply, {0x1p-130f}, {std::numeric_limits<float>::infinity()}, {Freedom::Daz});
  EXPECT_TRUE(has(product, NotANumber) && has(product, std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(has(mapped_under(P::Multiply, {0x1p-130f}, {std::numeric_limits<float>::infinity()}, {}), NotANumber));
}

TEST(Deviations, FlushingSumsStayInsideTheirSets) {
  std::mt19937 random(13);
  const auto flush = [](float v) { return std::fabs(v) < 0x1p-126f ? 0.0f : v; };
  int seen = 0;
  for (int round = 0; round < 80; ++round) {
    const std::size_t n = 1 + random() % 40;
    auto x = drawn(n, random), y = drawn(n, random);
    for (float& v : x) v = std::ldexp(v, -60 - static_cast<int>(random() % 8));
    for (float& v : y) v = std::ldexp(v, -60 - static_cast<int>(random() % 8));
    const auto set = dot_under(x, y, {Freedom::Ftz}), plain = dot_under(x, y, {});
    const float r = chain(x, y, random, flush);
    EXPECT_TRUE(has(set, r)) << r << " of " << n << " terms, outside " << set.describe(0);
    seen += !has(plain, r);
  }
  EXPECT_GT(seen, 20);
}

TEST(Deviations, ExtremesPassOverNanWhereAdmitted) {
  const auto set = mapped_under(P::Maximum, {NotANumber, 1, NotANumber}, {2, NotANumber, NotANumber}, {Freedom::NanIgnored});
  EXPECT_TRUE(has(set, 2, 0) && has(set, NotANumber, 0) && has(set, 1, 1) && has(set, NotANumber, 2));
  EXPECT_FALSE(has(set, 3, 0));
  EXPECT_FALSE(has(mapped_under(P::Maximum, {NotANumber}, {2}, {}), 2));
  Maker m;
  const TensorId a = m.vector("a", E::F32);
  const Variable k = m.fresh("k");
  m.output(m.scalar("y", m.reduce_over(ReduceKind::Maximum, E::F32, k, m.extent(a), {m.at(a, m.variable(k))})));
  const auto reduced = under(m, {floats({1, NotANumber, 3})}, {Freedom::NanIgnored});
  EXPECT_TRUE(has(reduced, 3) && has(reduced, NotANumber));
  EXPECT_FALSE(has(reduced, 1));
}

// Extremes of integers have no NaN.
TEST(Deviations, LeaveIntegersAlone) {
  Maker m;
  const TensorId a = m.vector("a", E::I32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(a)}, m.primitive(P::Maximum, std::vector<TermId>{m.at(a, m.variable(i)), m.at(a, m.variable(i))})));
  Tensor x(E::I32, {1});
  x.set(0, 7);
  EXPECT_TRUE(under(m, {x}, {Freedom::Ftz, Freedom::Daz, Freedom::ZeroSigns, Freedom::NanIgnored, Freedom::Bf16Inputs}).is_exact(0));
}

TEST(Deviations, ZerosOfEitherSign) {
  const auto set = mapped_under(P::Multiply, {0.0f, 2}, {1, 3}, {Freedom::ZeroSigns});
  EXPECT_TRUE(has(set, 0.0f, 0) && has(set, -0.0f, 0));
  EXPECT_FALSE(has(mapped_under(P::Multiply, {0.0f}, {1}, {}), -0.0f));
  EXPECT_FALSE(has(set, -6, 1));
}

// A divisor that may be read as zero gives infinities besides, and nothing between.
TEST(Deviations, AQuotientOfAFlushedNumberIsAnInfinityOrItself) {
  const auto set = mapped_under(P::Divide, {1}, {0x1p-127f}, {Freedom::Daz});
  EXPECT_TRUE(has(set, 0x1p127f) && has(set, std::numeric_limits<float>::infinity()) && has(set, -std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(has(set, -5) || has(set, 5));
}

TEST(Deviations, OfTwoAccumulatorsTheWorstIsAdmitted) {
  const std::vector<float> x{40000, 40000}, one{1, 1};
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(has(dot_under(x, one, {Freedom::F16Sums}), inf));
  EXPECT_TRUE(has(dot_under(x, one, {Freedom::F16Sums, Freedom::Bf16Sums}), inf));
  EXPECT_FALSE(has(dot_under(x, one, {Freedom::Bf16Sums}), inf));
}

// PTX's cvt.rna.tf32 rounds ties away from zero; f32's largest rounds to infinity; bf16 keeps 7 bits of a subnormal's fraction too.
TEST(Deviations, NarrowedFactorsRoundAsUnitsDo) {
  EXPECT_TRUE(has(dot_under({1 + 0x1p-11f}, {1}, {Freedom::Tf32Inputs}), 1 + 0x1p-10f));
  EXPECT_TRUE(has(dot_under({std::numeric_limits<float>::max()}, {0.25f}, {Freedom::Tf32Inputs}), std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(has(dot_under({0x1.fp-133f}, {0x1p126f}, {Freedom::Bf16Inputs}), 0x1p-7f));
}

TEST(Deviations, SignsOfZeroAreFreeWhereTheyAreChanged) {
  Maker m;
  const TensorId a = m.vector("a", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(a)}, m.primitive(P::Negate, std::vector<TermId>{m.at(a, m.variable(i))})));
  const auto set = under(m, {floats({0.0f})}, {Freedom::ZeroSigns});
  EXPECT_TRUE(has(set, 0.0f) && has(set, -0.0f));
}

// An absolute error alone, of a profile that admits nothing else.
TEST(Profiles, AnAbsoluteErrorAloneCounts) {
  Maker m;
  const TensorId a = m.vector("a", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(a)}, m.primitive(P::Exp, std::vector<TermId>{m.at(a, m.variable(i))})));
  const auto profile = read_profiles({"mine.ulp", "profile p { within 0.001 absolute }"});
  ASSERT_TRUE(profile);
  const auto out = evaluate_allowed(m.program(), std::vector<std::optional<AllowedTensor>>{AllowedTensor::exactly(floats({0.5f}))}, (*profile)[0]);
  ASSERT_TRUE(out);
  EXPECT_TRUE(has(*(*out)[0], 1.6487212f + 0.0009f));
  EXPECT_FALSE(has(*(*out)[0], 1.6487212f + 0.0011f));
}

// What is moved, and not computed, is neither flushed nor rounded.
TEST(Deviations, CopiesStayWhatTheyAre) {
  Maker m;
  const TensorId a = m.vector("a", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(a)}, m.at(a, m.variable(i))));
  const auto set = under(m, {floats({0x1p-130f, -0.0f})}, {Freedom::Ftz, Freedom::Daz, Freedom::ZeroSigns});
  EXPECT_TRUE(set.is_exact(0) && set.is_exact(1));
}

// --- profiles as texts

Result<std::vector<Profile>> read(const std::string& text) { return read_profiles({"mine.ulp", text}); }

// tanh(log 0.9) within 2^24 ULP: log 0.9 = -0.10536, of which -0.126 is off by 0.021 <= 2^24 2^-27; tanh(-0.126) = -0.12534, of which 0.12 is off by 0.2453 <= 2^24 2^-26.
// The argument's interval holds 0, where errors in ULP are small: the greatest value does not come from an end of it.
TEST(Deviations, ErrorsBeyondTheValueReachAcrossZero) {
  Maker m;
  const TensorId a = m.vector("a", E::F32);
  const Variable i = m.fresh("i");
  const TermId log = m.primitive(P::Log, std::vector<TermId>{m.at(a, m.variable(i))});
  m.output(m.each("z", {i}, {m.extent(a)}, m.primitive(P::Tanh, std::vector<TermId>{log})));
  const std::vector<std::optional<AllowedTensor>> sets{AllowedTensor::exactly(floats({0.9F}))};
  const auto out = evaluate_allowed(m.program(), sets, profile_named("standard")->within(0x1p24));
  ASSERT_TRUE(out) << to_string(out.error());
  EXPECT_TRUE(has(*(*out)[0], 0.12F));
}

TEST(Profiles, AreReadFromTexts) {
  const auto all = read("profile chip from standard { doc \"a chip\" admit ftz, bf16_inputs within 8 ulp on f32: tanh, \"/\" }\n"
                        "profile tighter from chip { within 1 ulp: functions }");
  ASSERT_TRUE(all) << to_string(all.error());
  ASSERT_EQ(all->size(), 2u);
  const Profile &chip = (*all)[0], &tighter = (*all)[1];
  EXPECT_EQ(chip.name(), "chip");
  EXPECT_EQ(chip.doc(), "a chip");
  EXPECT_TRUE(chip.admits(Freedom::Ftz) && chip.admits(Freedom::Bf16Inputs) && chip.admits(Freedom::Bodies) && chip.deviates());
  EXPECT_FALSE(chip.admits(Freedom::Daz));
  EXPECT_EQ(chip.ulp(P::Tanh, E::F32), 8);
  EXPECT_EQ(chip.ulp(P::Divide, E::F32), 8);
  EXPECT_EQ(chip.ulp(P::Tanh, E::F64), 5);   // standard's
  EXPECT_EQ(chip.ulp(P::Exp, E::F32), 3);
  EXPECT_EQ(tighter.ulp(P::Tanh, E::F32), 1);
  EXPECT_EQ(tighter.ulp(P::Divide, E::F32), 8);  // no elementary function
  EXPECT_TRUE(tighter.admits(Freedom::Ftz));
  EXPECT_EQ(chip.within(100).ulp(P::Exp, E::F16), 100);
  EXPECT_EQ(chip.within(100).ulp(P::Divide, E::F16), 0.5);
  const std::array<Freedom, 4> more{Freedom::Daz, Freedom::Ftz, Freedom::Daz, Freedom::ZeroSigns};
  EXPECT_EQ(chip.with(more).name(), "chip + daz + zero_signs");  // what it admits already, and what is named twice, adds nothing
}

TEST(Profiles, SayWhatIsWrongAndWhere) {
  const auto error = [](const std::string& text) {
    const auto r = read(text);
    return r ? std::string("none") : to_string(r.error());
  };
  EXPECT_NE(error("profile p from lax { }").find("no profile is called lax"), std::string::npos);
  EXPECT_NE(error("profile p from lax { }").find("mine.ulp:1"), std::string::npos);
  EXPECT_NE(error("profile p {\n admit fzt }").find("there is no fzt to admit (mine.ulp:2"), std::string::npos) << error("profile p {\n admit fzt }");
  EXPECT_NE(error("profile p { within 3 ulp: expp }").find("expp is no function"), std::string::npos);
  EXPECT_NE(error("profile p { within 3 ulp: \"+\" }").find("+ is no function"), std::string::npos);
  EXPECT_NE(error("profile p { within 0.25 ulp: exp }").find("expected a number of units"), std::string::npos);
  EXPECT_NE(error("profile p { within 3 ulp on i32: exp }").find("i32 is no float type"), std::string::npos);
  EXPECT_NE(error("profile p from canonical { admit ftz }").find("canonical"), std::string::npos);
  EXPECT_NE(error("profile p { exactly admit ftz }").find("exactly"), std::string::npos);
  EXPECT_NE(error("profile p {").find("the end of the file"), std::string::npos);
  EXPECT_NE(error("profile standard { admit ftz }").find("Ulpian's own"), std::string::npos);
  std::string many, wide = "profile p { within 1 ulp on f32";
  for (int k = 0; k < 1001; ++k) many += "profile p" + std::to_string(k) + " { }\n";
  EXPECT_NE(error(many).find("more than 1000 profiles"), std::string::npos);
  for (int k = 0; k < 100000; ++k) wide += ",f32";
  wide += ": functions";
  for (int k = 0; k < 40000; ++k) wide += ",functions";
  EXPECT_EQ(error(wide + " }"), "none");  // and in no time
  EXPECT_NE(error("").find("expected 'profile'"), std::string::npos);
  EXPECT_NE(error("op onnx.Add { }").find("expected 'profile'"), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp::testing
