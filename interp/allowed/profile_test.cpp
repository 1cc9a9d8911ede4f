#include "interp/allowed/profile.h"

#include <cmath>

#include <gtest/gtest.h>

#include "interp/allowed/allowed.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp {
namespace {

using testing::Maker;

Profile read(const std::string& text) {
  auto all = read_profiles({"test.ulp", text});
  EXPECT_TRUE(all.ok()) << (all.ok() ? "" : to_string(all.error()));
  return all.ok() ? all->back() : Profile();
}
std::string wrong(const std::string& text) {
  auto all = read_profiles({"test.ulp", text});
  EXPECT_FALSE(all.ok()) << text;
  return all.ok() ? std::string() : to_string(all.error());
}

// Whether a function of f32 at x may be so many ULP (of its real value, here taken in f64) away from it.
bool admits(const Profile& profile, Primitive p, float x, double real, double ulps) {
  Maker m;
  const auto v = m.fresh("i");
  const auto input = m.vector("x", ElementType::F32);
  m.output(m.each("y", {v}, {m.extent(input)}, m.primitive(p, m.at(input, m.variable(v)))));
  const core::Program program = m.finish();
  const std::vector<std::optional<AllowedTensor>> sets = [&] {
    std::vector<std::optional<AllowedTensor>> inputs;
    inputs.emplace_back(AllowedTensor::exactly(testing::floats({x})));
    auto out = evaluate_allowed(program, inputs, profile, {});
    EXPECT_TRUE(out.ok());
    return out.ok() ? *out : std::vector<std::optional<AllowedTensor>>{};
  }();
  const double ulp = std::ldexp(1.0, std::ilogb(real) - 23);
  // The farthest number that is no farther.
  auto got = static_cast<float>(real + ulps * ulp);
  if (std::fabs(static_cast<double>(got) - real) > std::fabs(ulps) * ulp) got = std::nextafter(got, static_cast<float>(real));
  return !sets.empty() && sets[0]->contains(0, testing::bits_of_float(got));
}

TEST(Profiles, ErrorsByTheArgument) {
  const Profile p = read("profile p from strict { within 3 + 2 * argument ulp on f32: exp }");
  // exp(10): 3 + 2 * 10 ULP.
  EXPECT_TRUE(admits(p, Primitive::Exp, 10, std::exp(10.0), 22));
  EXPECT_TRUE(admits(p, Primitive::Exp, 10, std::exp(10.0), -22));
  EXPECT_FALSE(admits(p, Primitive::Exp, 10, std::exp(10.0), 26));
  EXPECT_FALSE(admits(p, Primitive::Exp, 10, std::exp(10.0), -26));
  EXPECT_TRUE(admits(p, Primitive::Exp, -10, std::exp(-10.0), 22));
  EXPECT_FALSE(admits(p, Primitive::Exp, 0.125f, std::exp(0.125), 5));
  EXPECT_FALSE(admits(p, Primitive::Log, 10, std::log(10.0), 4));
  // Nothing of 3 + 2 * 10.3f = 23.6 is cut away.
  const double x = static_cast<double>(10.3f);
  EXPECT_TRUE(admits(p, Primitive::Exp, 10.3f, std::exp(x), 23));
  EXPECT_FALSE(admits(p, Primitive::Exp, 10.3f, std::exp(x), 24.7));
}

TEST(Profiles, AbsoluteErrorsOfSomeFunctions) {
  const Profile p = read("profile p from strict { within 0.00048828125 absolute on f32: sin }");
  const double real = std::sin(1.0), ulps = 0.00048828125 * 0x1p24;  // a ULP of it is 2^-24
  EXPECT_TRUE(admits(p, Primitive::Sin, 1, real, ulps - 2));
  EXPECT_FALSE(admits(p, Primitive::Sin, 1, real, ulps + 4));
  EXPECT_TRUE(admits(p, Primitive::Sin, 1, real, -ulps + 2));
  EXPECT_FALSE(admits(p, Primitive::Cos, 1, std::cos(1.0), 10));
}

TEST(Profiles, RulesOfCloseness) {
  const Profile p = read(
      "profile p from standard { close 0 relative close 0.001 relative 0.0000001 absolute on f32, narrower close 4 ulp on f32: onnx.Tanh, onnx.Exp }");
  ASSERT_TRUE(p.has_rules());
  EXPECT_EQ(p.rule("onnx.Add", ElementType::I64)->relative, 0);
  EXPECT_EQ(p.rule("onnx.Add", ElementType::F32)->relative, 0.001);
  EXPECT_EQ(p.rule("onnx.Add", ElementType::BF16)->absolute, 0.0000001);
  EXPECT_EQ(p.rule("onnx.Tanh", ElementType::F32)->ulps, 4);
  EXPECT_EQ(p.rule("onnx.Tanh", ElementType::F32)->relative, 0);
  EXPECT_EQ(p.rule("", ElementType::F32)->relative, 0.001);
  EXPECT_FALSE(read("profile p { close 4 ulp on f32: onnx.Tanh }").rule("onnx.Add", ElementType::F32));
  EXPECT_FALSE(profile_named("standard")->has_rules());
}

TEST(Profiles, WrongOnesAreRefusedWhereTheyAreWrong) {
  EXPECT_NE(wrong("profile p { close 4 }").find("'relative', 'absolute' or 'ulp'"), std::string::npos);
  EXPECT_NE(wrong("profile p { close near }").find("how far from the canonical value"), std::string::npos);
  EXPECT_NE(wrong("profile p { close 1e400 relative }").find("from 0 to"), std::string::npos);
  EXPECT_NE(wrong("profile p { close 1 ulp on text }").find("text is no type"), std::string::npos);
  EXPECT_NE(wrong("profile p { within 3 + 2 * argument ulp on f32: pow }").find("two arguments"), std::string::npos);
  EXPECT_NE(wrong("profile p { within 0.001 absolute on f32: sqrt }").find("is a number of ulp"), std::string::npos);
  EXPECT_NE(wrong("profile p { within 3 + ulp on f32: exp }").find("each unit of the argument"), std::string::npos);
  EXPECT_NE(wrong("profile p { exactly close 1 ulp }").find("admits more"), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp
