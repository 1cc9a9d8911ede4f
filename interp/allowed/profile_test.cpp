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

// Whether x * y of one type may be given as these bits.
bool product_may_be(const Profile& profile, const Tensor& x, const Tensor& y, Bits bits) {
  Maker m;
  const auto v = m.fresh("i");
  const auto a = m.vector("x", x.type()), b = m.vector("y", y.type());
  m.output(m.each("z", {v}, {m.extent(a)}, m.primitive(Primitive::Multiply, m.at(a, m.variable(v)), m.at(b, m.variable(v)))));
  const core::Program program = m.finish();
  std::vector<std::optional<AllowedTensor>> inputs;
  inputs.emplace_back(AllowedTensor::exactly(x));
  inputs.emplace_back(AllowedTensor::exactly(y));
  auto out = evaluate_allowed(program, inputs, profile, {});
  EXPECT_TRUE(out.ok());
  return out.ok() && (*out)[0]->contains(0, bits);
}

TEST(Profiles, WhatIsAdmittedOfSomeTypes) {
  // 2^-80 * 2^-60 = 2^-140, 512 times f32's least number; 2^-600 * 2^-450 = 2^-1050, 2^24 times f64's; 2^-10 * 2^-10 = 2^-20, 16 times f16's.
  const auto f32 = [](const Profile& p, Bits bits) { return product_may_be(p, testing::of_bits(ElementType::F32, {Bits{127 - 80} << 23}), testing::of_bits(ElementType::F32, {Bits{127 - 60} << 23}), bits); };
  const auto f64 = [](const Profile& p, Bits bits) { return product_may_be(p, testing::of_bits(ElementType::F64, {Bits{1023 - 600} << 52}), testing::of_bits(ElementType::F64, {Bits{1023 - 450} << 52}), bits); };
  const auto f16 = [](const Profile& p, Bits bits) { return product_may_be(p, testing::of_bits(ElementType::F16, {Bits{5} << 10}), testing::of_bits(ElementType::F16, {Bits{5} << 10}), bits); };
  const Profile one = read("profile p from strict { admit ftz on f32 }");
  EXPECT_TRUE(f32(one, 512) && f32(one, 0) && f32(one, 0x80000000));
  EXPECT_TRUE(f64(one, Bits{1} << 24) && f16(one, 16));
  EXPECT_FALSE(f64(one, 0));
  EXPECT_FALSE(f16(one, 0));
  EXPECT_TRUE(one.deviates() && one.admits_somewhere(Freedom::Ftz));
  EXPECT_FALSE(one.admits(Freedom::Ftz));
  for (const char* name : {"opencl_full", "opencl_embedded"}) {
    const Profile p = *profile_named(name);
    EXPECT_TRUE(f32(p, 512) && f32(p, 0) && f16(p, 16) && f16(p, 0) && f64(p, Bits{1} << 24)) << name;
    EXPECT_FALSE(f64(p, 0)) << name;
  }
  // What is added is of all types, what is taken away of none.
  const Freedom ftz = Freedom::Ftz;
  EXPECT_TRUE(f64(one.with(std::span(&ftz, 1)), 0));
  EXPECT_FALSE(f32(one.without(ftz), 0));
  EXPECT_FALSE(one.without(ftz).deviates());
  EXPECT_TRUE(f64(read("profile p from strict { admit ftz on f32 admit ftz }"), 0));
  EXPECT_TRUE(f16(read("profile p from strict { admit ftz on f32 } profile q from p { admit daz, ftz on narrower }"), 0));
}

TEST(Profiles, FlushedTermsOfSumsAreOfTheSumsType) {
  // 2^-70 * 2^-50 + 127 * 2^-70 * 2^-70 = 2^-120 + 127 * 2^-140: 2^-120 where products are flushed; otherwise the error is at most 127 * 2^-24 times 2^-119, less than 2^-136.
  Maker m;
  const auto i = m.fresh("i"), j = m.fresh("j");
  const auto a = m.vector("a", ElementType::F32), b = m.vector("b", ElementType::F32);
  const auto dot = m.reduce_over(core::ReduceKind::Dot, ElementType::F32, j, m.extent(b), {m.at(a, m.variable(i)), m.at(b, m.variable(j))});
  m.output(m.each("y", {i}, {m.extent(a)}, dot));
  const core::Program program = m.finish();
  std::vector<float> b_values(128, 0x1p-70f);
  b_values[0] = 0x1p-50f;
  std::vector<std::optional<AllowedTensor>> inputs;
  inputs.emplace_back(AllowedTensor::exactly(testing::floats(std::vector<float>(256, 0x1p-70f))));
  inputs.emplace_back(AllowedTensor::exactly(testing::floats(b_values)));
  const auto may_be_flushed = [&](const std::string& admitted) {
    auto out = evaluate_allowed(program, inputs, read("profile p from strict { " + admitted + " }"), {});
    EXPECT_TRUE(out.ok());
    return out.ok() && (*out)[0]->contains(200, testing::bits_of_float(0x1p-120f));
  };
  EXPECT_FALSE(may_be_flushed(""));
  EXPECT_FALSE(may_be_flushed("admit ftz on f64, narrower"));
  EXPECT_TRUE(may_be_flushed("admit ftz"));
  EXPECT_TRUE(may_be_flushed("admit ftz on f32"));
}

TEST(Profiles, ErrorsOfOthers) {
  // Vulkan: cosh(10) within 7 + 4 * 10 ULP; acos within 0.0012 absolute, of which a ULP of acos(0.5), in [1, 2), is 2^-23; asinh as in strict.
  const Profile vulkan = *profile_named("vulkan");
  EXPECT_TRUE(admits(vulkan, Primitive::Cosh, 10, std::cosh(10.0), 46) && admits(vulkan, Primitive::Sinh, -10, std::sinh(-10.0), 46));
  EXPECT_FALSE(admits(vulkan, Primitive::Cosh, 10, std::cosh(10.0), 50));
  EXPECT_TRUE(admits(vulkan, Primitive::Acos, 0.5f, std::acos(0.5), 0.0012 * 0x1p23));
  EXPECT_FALSE(admits(vulkan, Primitive::Acos, 0.5f, std::acos(0.5), 0.0013 * 0x1p23));
  EXPECT_FALSE(admits(vulkan, Primitive::Asinh, 10, std::asinh(10.0), 4));
  // TOSA: |exp(10) - e| <= (1 + 10) 2^-23 e; of e = 22026.5, in [2^14, 2^15), that is 14.8 ULP (2^-9); twice 11 are admitted.
  const Profile tosa = *profile_named("tosa_fp");
  EXPECT_TRUE(admits(tosa, Primitive::Exp, 10, std::exp(10.0), 14.8) && admits(tosa, Primitive::Exp, 10, std::exp(10.0), -14.8));
  EXPECT_FALSE(admits(tosa, Primitive::Exp, 10, std::exp(10.0), 25));
  EXPECT_TRUE(admits(tosa, Primitive::Log, 10, std::log(10.0), 5));
  EXPECT_FALSE(admits(tosa, Primitive::Log, 10, std::log(10.0), 7));
}

TEST(Profiles, WrongOnesAreRefusedWhereTheyAreWrong) {
  EXPECT_NE(wrong("profile p { close 4 }").find("'relative', 'absolute' or 'ulp'"), std::string::npos);
  EXPECT_NE(wrong("profile p { close near }").find("how far from the canonical value"), std::string::npos);
  EXPECT_NE(wrong("profile p { close 1e400 relative }").find("from 0 to"), std::string::npos);
  EXPECT_NE(wrong("profile p { close 1 ulp on text }").find("text is no type"), std::string::npos);
  EXPECT_NE(wrong("profile p { within 3 + 2 * argument ulp on f32: pow }").find("two arguments"), std::string::npos);
  EXPECT_NE(wrong("profile p { within 0.001 absolute on f32: sqrt }").find("is a number of ulp"), std::string::npos);
  EXPECT_NE(wrong("profile p { within 3 + ulp on f32: exp }").find("each unit of the argument"), std::string::npos);
  EXPECT_NE(wrong("profile p { admit bodies on f32 }").find("bodies is admitted of all types"), std::string::npos);
  EXPECT_NE(wrong("profile p { admit ftz on i32 }").find("i32 is no float type"), std::string::npos);
  EXPECT_NE(wrong("profile p { admit ftz on }").find("an element type"), std::string::npos);
  EXPECT_NE(wrong("profile p { exactly admit ftz on f32 }").find("admits more"), std::string::npos);
  EXPECT_NE(wrong("profile p { exactly close 1 ulp }").find("admits more"), std::string::npos);
}

}  // namespace
}  // namespace ulpian::interp
