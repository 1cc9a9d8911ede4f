// What sets look like: exact where nothing is free, unions where a choice is open.
#include <cmath>
#include <random>

#include "interp/allowed/allowed.h"
#include "interp/allowed/primitives.h"
#include "interp/allowed/rounding.h"
#include "interp/canonical/canonical.h"
#include "interp/scalar/scalar_test_support.h"
#include "spec/functions/functions.h"

namespace ulpian::interp::testing {
namespace {

AllowedTensor interval(const std::vector<std::pair<float, float>>& ends) {
  std::vector<float> lower, upper;
  for (const auto& [a, b] : ends) lower.push_back(a), upper.push_back(b);
  return AllowedTensor(floats(lower), floats(upper), std::vector<std::uint8_t>(ends.size(), 0));
}

AllowedTensor result(Maker& m, std::vector<std::optional<AllowedTensor>> inputs, const char* profile = "standard") {
  auto out = evaluate_allowed(m.program(), inputs, *profile_named(profile));
  if (!out) {
    ADD_FAILURE() << to_string(out.error());
    return AllowedTensor::exactly(Tensor());
  }
  return *(*out)[0];
}

// y[i] = primitive(x[i], ...)
AllowedTensor mapped(P p, const std::vector<AllowedTensor>& inputs, const char* profile = "standard") {
  Maker m;
  std::vector<TensorId> tensors;
  const char* names[2] = {"x", "y"};
  for (std::size_t k = 0; k < inputs.size(); ++k) tensors.push_back(m.vector(names[k], inputs[k].type()));
  const Variable i = m.fresh("i");
  std::vector<TermId> arguments;
  for (TensorId t : tensors) arguments.push_back(m.at(t, m.variable(i)));
  m.output(m.each("z", {i}, {m.extent(tensors[0])}, m.primitive(p, arguments)));
  std::vector<std::optional<AllowedTensor>> sets(inputs.begin(), inputs.end());
  return result(m, sets, profile);
}

TEST(Rounding, ToF32HappensAlsoWhereACompilerPacksStatements) {
  // Ends of an interval product that gcc 12 left unrounded.
  const AllowedTensor z = mapped(P::Multiply, {interval({{-4.5212574f, -4.521257f}}), interval({{1.8794799f, 1.8794799f}})});
  EXPECT_EQ(z.lower().at(0), bits_of_float(-4.5212574f * 1.8794799f));
  EXPECT_EQ(z.upper().at(0), bits_of_float(-4.521257f * 1.8794799f));
}

TEST(Elementwise, ArithmeticOnPointsIsExact) {
  std::mt19937 random(7101);
  std::vector<float> x, y;
  const float special[] = {0.0f, -0.0f, 1.0f, Infinity, -Infinity, NotANumber, 1e-45f, 0x1.fffffep127f, 1e-30f};
  for (float a : special)
    for (float b : special) x.push_back(a), y.push_back(b);
  for (int k = 0; k < 2000; ++k) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    y.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  const AllowedTensor a = AllowedTensor::exactly(floats(x)), b = AllowedTensor::exactly(floats(y));
  for (const P p : {P::Add, P::Subtract, P::Multiply, P::Minimum, P::Maximum, P::Less, P::GreaterEqual, P::Equal}) {
    const AllowedTensor z = mapped(p, {a, b});
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const Bits both[2] = {bits_of_float(x[static_cast<std::size_t>(i)]), bits_of_float(y[static_cast<std::size_t>(i)])};
      ASSERT_TRUE(z.is_exact(i)) << name_of(p) << " " << z.describe(i);
      ASSERT_TRUE(z.contains(i, machine_primitive(p, E::F32, both))) << name_of(p) << " " << z.describe(i);
    }
  }
}

// Intervals enclose what points inside them give, for every primitive of floats, and are no wider than the ends where it rises.
TEST(Elementwise, IntervalsEncloseTheirPoints) {
  std::mt19937 random(7102);
  for (const P p : {P::Add, P::Subtract, P::Multiply, P::Divide, P::Minimum, P::Maximum, P::Negate, P::Absolute, P::Sign, P::SquareRoot, P::Reciprocal, P::Floor, P::Ceiling, P::RoundEven,
                    P::Truncate, P::Modulo, P::Remainder, P::Power, P::Exp, P::Expm1, P::Log, P::Log1p, P::Sin, P::Cos, P::Tan, P::Asin, P::Acos, P::Atan, P::Cosh, P::Tanh, P::Acosh, P::Atanh,
                    P::Erf, P::Sigmoid, P::Softplus, P::Softsign, P::Gelu, P::GeluTanh, P::Silu, P::Mish, P::Atan2, P::Less, P::Equal, P::IsNan, P::IsInfinite}) {
    const int arity = row_of(p).arity;
    std::vector<std::pair<float, float>> ends[2];
    for (int k = 0; k < arity; ++k)
      for (int i = 0; i < 150; ++i) {
        const auto number = [&] {
          const float u = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.0f;
          switch (random() % 6) {
            case 0: return 0.0f;
            case 1: return 100 * u;
            case 2: return static_cast<float>(static_cast<int>(random() % 9) - 4);
            case 3: return i % 10 == 0 ? Infinity * (u < 0 ? -1.0f : 1.0f) : u;
            default: return 3 * u;
          }
        };
        float a = number(), b = number();
        if (random() % 4 == 0) b = a;
        if (a > b) std::swap(a, b);
        ends[k].emplace_back(a, b);
      }
    std::vector<AllowedTensor> inputs;
    for (int k = 0; k < arity; ++k) inputs.push_back(interval(ends[k]));
    for (const char* profile : {"standard", "strict"}) {
      const AllowedTensor z = mapped(p, inputs, profile);
      for (std::int64_t i = 0; i < z.size(); ++i)
        for (int s = 0; s < 6; ++s) {
          Bits x[2] = {};
          for (int k = 0; k < arity; ++k) {
            const auto [a, b] = ends[k][static_cast<std::size_t>(i)];
            float v = s == 0 ? a : s == 1 ? b : static_cast<float>(a + (static_cast<double>(b) - a) * static_cast<double>(random() % 1001) / 1000);
            if (!(v >= a && v <= b)) v = a;
            x[k] = bits_of_float(v);
          }
          const Bits r = machine_primitive(p, E::F32, std::span(x, static_cast<std::size_t>(arity)));
          ASSERT_TRUE(z.contains(i, r)) << name_of(p) << "(" << to_double(E::F32, x[0]) << ", " << to_double(E::F32, x[1]) << ") = " << fmt::format("{:#x}", r) << " outside " << z.describe(i)
                                        << " of " << inputs[0].describe(i) << (arity > 1 ? " and " + inputs[1].describe(i) : "") << " under " << profile;
        }
    }
  }
}

TEST(Functions, AreWithinTheirUlpsAndNotMuchMore) {
  std::mt19937 random(7103);
  std::vector<float> x;
  for (int k = 0; k < 300; ++k) x.push_back(static_cast<float>(static_cast<std::int32_t>(random())) / 214748364.8f);
  for (const auto& [p, ulps] : {std::pair{P::Exp, 3}, {P::Sin, 4}, {P::Tanh, 5}, {P::Erf, 16}, {P::Sigmoid, 4}}) {
    const AllowedTensor z = mapped(p, {AllowedTensor::exactly(floats(x))});
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const Bits in[1] = {from_double(E::F64, static_cast<double>(x[static_cast<std::size_t>(i)]))};
      const double real = to_double(E::F64, elementary(p, E::F64, in));
      const double ulp = allowed::ulp_of(format_of(E::F32), real);
      // So close below a power of two that f64 cannot tell: there the tolerance is that of the binade above.
      if (allowed::ulp_of(format_of(E::F32), real * (1 + 1e-13)) != ulp) continue;
      for (const double off : {-1.0, 1.0}) {
        // The outermost value inside the tolerance, and one beyond it.
        const double edge = real + off * ulps * ulp;
        const float inside = off < 0 ? std::nextafter(static_cast<float>(edge), Infinity) : std::nextafter(static_cast<float>(edge), -Infinity);
        EXPECT_TRUE(z.contains(i, bits_of_float(inside))) << name_of(p) << " " << x[static_cast<std::size_t>(i)];
        EXPECT_FALSE(z.contains(i, bits_of_float(static_cast<float>(real + off * (ulps + 2) * ulp)))) << name_of(p) << " " << x[static_cast<std::size_t>(i)];
      }
    }
  }
}

AllowedTensor point(float x) { return interval({{x, x}}); }

// What the set gives holds what one point of it may give.
void encloses(P p, const std::vector<AllowedTensor>& whole, const std::vector<AllowedTensor>& point) {
  const AllowedTensor all = mapped(p, whole), one = mapped(p, point);
  EXPECT_TRUE(all.contains(0, one.lower().at(0)) && all.contains(0, one.upper().at(0))) << name_of(p) << ": " << one.describe(0) << " of a point, " << all.describe(0) << " of the interval";
}

// The tolerance doubles at a power of two: what lies above it may be answered by less than what lies below it.
TEST(Functions, AnIntervalAcrossAPowerOfTwoEnclosesTheToleranceOfItsPoints) {
  struct Case {
    P primitive;
    float at;  // the function passes a power of two next to it
  };
  for (const auto& [p, at] : {Case{P::Exp, 0.6931472f}, {P::Exp, -0.6931472f}, {P::SquareRoot, 16}, {P::Log, 0.13533528f}, {P::Log, 7.389056f}, {P::Erf, 0.47693628f}}) {
    float from = at, to = at;
    for (int k = 0; k < 3; ++k) from = std::nextafter(from, -Infinity), to = std::nextafter(to, Infinity);
    for (float x = from; x <= to; x = std::nextafter(x, Infinity)) encloses(p, {interval({{from, to}})}, {point(x)});
  }
  for (const float sign : {1.0f, -1.0f}) {
    const float from = std::nextafter(8.0f, 0.0f), to = std::nextafter(8.0f, Infinity);
    const auto signed_interval = sign > 0 ? interval({{from, to}}) : interval({{-to, -from}});
    for (const float x : {from, 8.0f, to}) encloses(P::Divide, {signed_interval, point(1)}, {point(sign * x), point(1)});
    for (const float x : {from, 8.0f, to}) encloses(P::Power, {interval({{from, to}}), point(sign)}, {point(x), point(sign)});
  }
}

// IEEE 754, clause 9.2.1: these are 1 exactly, although 1 is a power of two, below which a tolerance would reach.
TEST(Functions, PowersThatAreExactlyOneHaveNoTolerance) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float exact[][2] = {{1, 3}, {1, -0.5f}, {1, nan}, {1, Infinity}, {-1, Infinity}, {-1, -Infinity}, {5, 0}, {0.3f, -0.0f}, {nan, 0}, {Infinity, 0}};
  const Bits unity = from_double(ElementType::F32, 1);
  for (const auto& [x, y] : exact) {
    const AllowedTensor one = mapped(P::Power, {point(x), point(y)});
    EXPECT_TRUE(one.lower().at(0) == unity && one.upper().at(0) == unity) << x << " ** " << y << ": " << one.describe(0);
  }
  const AllowedTensor eight = mapped(P::Power, {point(2), point(3)});
  EXPECT_TRUE(eight.contains(0, from_double(ElementType::F32, std::nextafter(8.0f, 0.0f)))) << eight.describe(0);
}

// Found by fuzzing: a set of both zeros is no point.
TEST(Functions, BothZerosAreEnclosed) {
  const float lower = -0.0f, upper = 0.0f;
  for (const float x : {lower, upper}) {
    encloses(P::Divide, {interval({{lower, upper}}), point(2)}, {point(x), point(2)});
    for (const float y : {1.0f, 3.0f, -1.0f, 2.0f, 0.5f}) encloses(P::Power, {interval({{lower, upper}}), point(y)}, {point(x), point(y)});
    for (const float y : {1.0f, -1.0f, 0.0f}) encloses(P::Atan2, {interval({{lower, upper}}), point(y)}, {point(x), point(y)});
    for (const P p : {P::Sin, P::Tanh, P::SquareRoot, P::Reciprocal, P::Asin, P::Erf, P::Negate, P::Expm1}) encloses(p, {interval({{lower, upper}})}, {point(x)});
  }
}

TEST(Choices, OverlappingComparisonsAreOpenAndSelectsAreUnions) {
  const AllowedTensor c = mapped(P::Less, {interval({{1, 3}, {1, 2}, {3, 4}}), interval({{2, 5}, {3, 4}, {1, 2}})});
  EXPECT_EQ(c.describe(0), "[false, true]");
  EXPECT_EQ(c.describe(1), "true");
  EXPECT_EQ(c.describe(2), "false");
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  const TermId xi = m.at(x, m.variable(i));
  m.output(m.each("y", {i}, {m.extent(x)}, m.select(m.primitive(P::Less, xi, m.f32(0)), m.f32(-5), m.f32(7))));
  const AllowedTensor y = result(m, {interval({{-1, 1}, {-2, -1}})});
  EXPECT_EQ(y.describe(0), "-5 or 7");
  EXPECT_TRUE(y.flags()[0] & NotOneInterval);
  EXPECT_FALSE(y.contains(0, bits_of_float(0)));
  EXPECT_EQ(y.describe(1), "-5");
}

TEST(Choices, ArgmaxOfIntervalsIsTheSetOfPossiblePositionsAndReadsAreUnions) {
  Maker m;
  const TensorId x = m.vector("x", E::F32), table = m.vector("t", E::F32);
  const Variable k = m.fresh("k");
  const TermId at = m.reduce_over(ReduceKind::ArgMax, E::Z, k, m.extent(x), {m.at(x, m.variable(k))});
  m.output(m.scalar("p", m.cast(E::I64, at, CastMode::Plain)));
  m.output(m.scalar("r", m.at(table, at)));
  const AllowedTensor values = interval({{1, 3}, {0, 0.5f}, {2, 4}, {2, 2}, {3.5f, 3.5f}});
  const std::vector<std::optional<AllowedTensor>> inputs{values, AllowedTensor::exactly(floats({10, 20, 30, 40, 50}))};
  auto out = evaluate_allowed(m.program(), inputs, *profile_named("standard"));
  ASSERT_TRUE(out) << to_string(out.error());
  EXPECT_EQ((*out)[0]->describe(0), "2 or 4");  // 3.5 beats all but [2, 4]
  EXPECT_EQ((*out)[1]->describe(0), "30 or 50");
}

TEST(Choices, CastsAndFloorsOfIntervals) {
  Maker m;
  const TensorId x = m.vector("x", E::F32);
  const Variable i = m.fresh("i");
  m.output(m.each("y", {i}, {m.extent(x)}, m.cast(E::I32, m.at(x, m.variable(i)), CastMode::Plain)));
  const AllowedTensor y = result(m, {interval({{1.5f, 3.25f}, {-0.5f, 0.5f}, {2.0f, 3e9f}, {7, 7}})});
  EXPECT_EQ(y.describe(0), "[1, 3]");
  EXPECT_EQ(y.describe(1), "0");
  EXPECT_TRUE(y.flags()[2] & Anything);  // what does not fit is unspecified
  EXPECT_TRUE(y.is_exact(3));
}

TEST(Choices, AReadThatMayBeOutsideTakesBoth) {
  Maker m;
  const TensorId x = m.vector("x", E::F32), t = m.vector("t", E::F32);
  const Variable i = m.fresh("i");
  const TermId index = m.primitive(P::ToInteger, m.cast(E::I32, m.at(x, m.variable(i)), CastMode::Plain));
  m.output(m.each("y", {i}, {m.extent(x)}, m.at_else(t, index, m.f32(-1))));
  const AllowedTensor y = result(m, {interval({{1, 2}, {0, 1}}), AllowedTensor::exactly(floats({5, 6}))});
  EXPECT_EQ(y.describe(0), "-1 or 6");
  EXPECT_EQ(y.describe(1), "5 or 6");
}

TEST(Profiles, AreNamed) {
  for (const std::string& name : profile_names()) EXPECT_TRUE(profile_named(name)) << name;
  EXPECT_FALSE(profile_named("lax"));
  EXPECT_EQ(profile_named("standard")->ulp(P::Divide, E::F32), 2.5);
  EXPECT_EQ(profile_named("standard")->ulp(P::Divide, E::F64), 0.5);
  // The half-precision table of cl_khr_fp16, full profile.
  for (const P correctly_rounded : {P::Divide, P::Reciprocal, P::SquareRoot}) EXPECT_EQ(profile_named("standard")->ulp(correctly_rounded, E::F16), 0.5);
  for (const P two : {P::Exp, P::Expm1, P::Log, P::Log1p, P::Sin, P::Tan, P::Tanh, P::Asin, P::Atan2, P::Cosh, P::Asinh}) EXPECT_EQ(profile_named("standard")->ulp(two, E::F16), 2);
  for (const P four : {P::Erf, P::Power}) EXPECT_EQ(profile_named("standard")->ulp(four, E::F16), 4);
  EXPECT_EQ(profile_named("strict")->ulp(P::Divide, E::F32), 0.5);
  EXPECT_EQ(profile_named("strict")->ulp(P::Exp, E::F32), 1);
  EXPECT_FALSE(profile_named("accurate")->admits(Freedom::Bodies));
  EXPECT_EQ(profile_named("canonical")->ulp(P::Exp, E::F32), 0.5);
}

}  // namespace
}  // namespace ulpian::interp::testing
