#include "spec/strings/number_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <random>

namespace ulpian {
namespace {

using T = ElementType;

Bits f64(double x) { return std::bit_cast<Bits>(x); }
Bits f32(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(NumberText, DecimalsAreRoundedOnce) {
  EXPECT_EQ(element_of_text(T::F32, "3.14"), f32(3.14f));
  EXPECT_EQ(element_of_text(T::F32, "1e-5"), f32(1e-5f));
  EXPECT_EQ(element_of_text(T::F32, "1E8"), f32(1e8f));
  EXPECT_EQ(element_of_text(T::F64, "-.5"), f64(-0.5));
  EXPECT_EQ(element_of_text(T::F64, "+5."), f64(5));
  EXPECT_EQ(element_of_text(T::F64, "-0"), f64(-0.0));
  EXPECT_EQ(element_of_text(T::F32, "16777217"), f32(16777216));
  EXPECT_EQ(element_of_text(T::F32, "16777217.000000000000000000001"), f32(16777218));
  EXPECT_EQ(element_of_text(T::F32, "1e-46"), 0u);
  EXPECT_EQ(element_of_text(T::F64, "5e-324"), 1u);
}

TEST(NumberText, TheSpecialsStandInAnyCase) {
  for (const char* s : {"INF", "+inf", "Inf"}) EXPECT_TRUE(number_of_text(s).is_infinite() && !number_of_text(s).is_negative()) << s;
  EXPECT_TRUE(number_of_text("-iNf").is_infinite() && number_of_text("-iNf").is_negative());
  for (const char* s : {"nan", "NaN", "", ".", "e5", "1e", "1e+", " 1", "1 ", "0x1", "1,0", "--1", "INFINITY", "1_0", "\xff", "1e5.0"})
    EXPECT_TRUE(number_of_text(s).is_nan()) << s;
  EXPECT_TRUE(number_of_text(std::string_view("1\0", 2)).is_nan());
}

TEST(NumberText, LongTextsAreReadToTheEnd) {
  const std::string half = "1" + std::string(6000, '0');  // 1.000...0001 * 10^6000, and a tie of floats broken beyond the digits that are kept
  EXPECT_EQ(element_of_text(T::F64, half), f64(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(element_of_text(T::F32, "16777217." + std::string(8000, '0') + "1"), f32(16777218));
  EXPECT_EQ(element_of_text(T::F32, "16777217." + std::string(8000, '0')), f32(16777216));
  EXPECT_EQ(element_of_text(T::F64, "0." + std::string(9000, '0') + "1e9001"), f64(1));
  EXPECT_EQ(element_of_text(T::F64, std::string(9000, '0') + "7"), f64(7));
  EXPECT_EQ(element_of_text(T::F64, "1e999999999999999999999999"), f64(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(element_of_text(T::F64, "-1e-999999999999999999999999"), f64(-0.0));
  EXPECT_EQ(element_of_text(T::F64, "0e999999999999999999999999"), f64(0));
}

TEST(NumberText, IntegersAreCutAndHeldToTheirLimits) {
  EXPECT_EQ(element_of_text(T::I8, "127"), 127u);
  EXPECT_EQ(element_of_text(T::I8, "-129"), 0x80u);
  EXPECT_EQ(element_of_text(T::U64, "18446744073709551615"), ~Bits{0});
  EXPECT_EQ(element_of_text(T::I64, "9223372036854775808"), ~Bits{0} >> 1);
  EXPECT_EQ(element_of_text(T::I32, "2.718"), 2u);
  EXPECT_EQ(element_of_text(T::I32, "x"), 0u);
  EXPECT_EQ(element_of_text(T::Bool, "0.0"), 0u);
  EXPECT_EQ(element_of_text(T::Bool, "0.1"), 1u);
}

TEST(NumberText, ElementsAreWrittenPlain) {
  EXPECT_EQ(text_of_element(T::F32, f32(314.15926f)), "314.15927");  // the nearest f32 lies closest to this one of eight digits
  EXPECT_EQ(text_of_element(T::F32, f32(0.1f)), "0.1");
  EXPECT_EQ(text_of_element(T::F64, f64(0.1)), "0.1");
  EXPECT_EQ(text_of_element(T::F64, f64(-1e-7)), "-0.0000001");
  EXPECT_EQ(text_of_element(T::F64, f64(1e22)), "10000000000000000000000");
  EXPECT_EQ(text_of_element(T::F64, f64(123456)), "123456");
  EXPECT_EQ(text_of_element(T::F64, f64(-0.0)), "-0");
  EXPECT_EQ(text_of_element(T::F16, 0x7bff), "65500");  // 65504; no other f16 is nearer to 65500
  EXPECT_EQ(text_of_element(T::BF16, 0x3f80), "1");
  EXPECT_EQ(text_of_element(T::F8E4M3FN, 0x7e), "450");  // 448
  EXPECT_EQ(text_of_element(T::F32, f32(std::numeric_limits<float>::quiet_NaN())), "NaN");
  EXPECT_EQ(text_of_element(T::F32, f32(-std::numeric_limits<float>::infinity())), "-INF");
  EXPECT_EQ(text_of_element(T::I64, Bits{1} << 63), "-9223372036854775808");
  EXPECT_EQ(text_of_element(T::U64, ~Bits{0}), "18446744073709551615");
  EXPECT_EQ(text_of_element(T::I4, 0x8), "-8");
  EXPECT_EQ(text_of_element(T::Bool, 1), "1");
}

// The standard library's shortest texts and its reading, which are not ours.
TEST(NumberText, AgreesWithTheStandardLibrary) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 3000; ++k) {
    const double x = std::bit_cast<double>(random());
    if (x != x || x - x != 0) continue;
    char text[400];
    const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed).ptr;
    double back = 0;
    const std::string ours = text_of_element(T::F64, f64(x));
    std::from_chars(ours.data(), ours.data() + ours.size(), back);
    EXPECT_EQ(f64(back), f64(x)) << ours;
    EXPECT_EQ(element_of_text(T::F64, std::string(text, end)), f64(x));
    char scientific[40];
    const auto stop = std::to_chars(scientific, scientific + sizeof scientific, x, std::chars_format::scientific).ptr;
    EXPECT_EQ(element_of_text(T::F64, std::string(scientific, stop)), f64(x));
    EXPECT_EQ(element_of_text(T::F32, std::string(scientific, stop)), [&] {
      float f = 0;
      const auto r = std::from_chars(scientific, stop, f);
      if (r.ec == std::errc::result_out_of_range) f = (x < 0 ? -1.0f : 1.0f) * (x * x < 1 ? 0.0f : std::numeric_limits<float>::infinity());
      return f32(f);
    }()) << std::string(scientific, stop);
  }
}

// Above a power of two neighbours lie twice as far as below, so that the shortest text need not be the nearest of its length.
TEST(NumberText, NoTextWithFewerDigitsReadsBack) {
  const auto digits_of = [](std::string text) {
    std::erase(text, '.');
    const std::size_t first = text.find_first_not_of('0'), last = text.find_last_not_of('0');
    return last + 1 - first;
  };
  for (int k = -1074; k < 1024; ++k) {
    const double x = std::ldexp(1.0, k);
    char text[40];
    const auto stop = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific).ptr;
    const std::string shortest(text, std::find(text, stop, 'e')), ours = text_of_element(T::F64, f64(x));
    EXPECT_EQ(digits_of(ours), digits_of(shortest)) << ours;
    double back = 0;
    std::from_chars(ours.data(), ours.data() + ours.size(), back);
    EXPECT_EQ(back, x) << ours;
  }
}

}  // namespace
}  // namespace ulpian
