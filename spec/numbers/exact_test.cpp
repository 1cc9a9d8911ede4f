// Exact numbers against Boost's rationals (arithmetic), MPFR and the C library (rounding, decimal text).
#include "spec/numbers/exact.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdlib>
#include <random>

#include "spec/numbers/mpfr_oracle.h"

namespace ulpian {
namespace {

using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;
using T = ElementType;

constexpr std::uint64_t Seed = 4242;

// The same number twice: from a numerator and a denominator of up to three words.
struct Both {
  Exact exact;
  Rational rational;
};
class Draw {
public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  Both integer() {
    Both r{Exact(0), 0};
    const int words = static_cast<int>(random_() % 3) + 1;
    for (int i = 0; i < words; ++i) {
      const auto word = static_cast<std::int64_t>(random_() >> (1 + random_() % 63));
      r.exact = r.exact * Exact(std::int64_t{1} << 62) + Exact(word);
      r.rational = r.rational * (Integer(1) << 62) + word;
    }
    if ((random_() & 1) != 0) r.exact = Exact(0) - r.exact, r.rational = -r.rational;
    return r;
  }
  Both number() {
    Both a = integer();
    if (random_() % 3 == 0) return a;
    const Both b = integer();
    if (b.rational == 0) return a;
    return {a.exact / b.exact, a.rational / b.rational};
  }
  std::uint64_t bits() { return random_(); }

private:
  std::mt19937_64 random_;
};

Integer floor_of(const Rational& a) {
  Integer q = numerator(a) / denominator(a);
  if (Rational(q) > a) --q;
  return q;
}

// Both must print the same reduced fraction; integers of Exact are asked for in pieces of 62 bits.
bool same(const Exact& e, const Rational& r) {
  Exact back(0);
  std::string digits = numerator(r).str();
  const bool negative = digits.front() == '-';
  for (char c : digits.substr(negative ? 1 : 0)) back = back * Exact(10) + Exact(c - '0');
  Exact below(0);
  for (char c : denominator(r).str()) below = below * Exact(10) + Exact(c - '0');
  back = back / below;
  return (negative ? Exact(0) - back : back) == e;
}

TEST(Exact, arithmetic_agrees_with_boost_rationals) {
  Draw draw(Seed);
  for (int i = 0; i < 4000; ++i) {
    const Both a = draw.number(), b = draw.number();
    ASSERT_TRUE(same(a.exact, a.rational));
    ASSERT_TRUE(same(a.exact + b.exact, a.rational + b.rational)) << a.exact.to_string() << " + " << b.exact.to_string();
    ASSERT_TRUE(same(a.exact - b.exact, a.rational - b.rational)) << a.exact.to_string() << " - " << b.exact.to_string();
    ASSERT_TRUE(same(a.exact * b.exact, a.rational * b.rational)) << a.exact.to_string() << " * " << b.exact.to_string();
    ASSERT_EQ(a.exact < b.exact, a.rational < b.rational);
    ASSERT_EQ(a.exact == b.exact, a.rational == b.rational);
    ASSERT_TRUE(same(a.exact.floor(), Rational(floor_of(a.rational))));
    ASSERT_TRUE(same(a.exact.ceiling(), Rational(-floor_of(-a.rational))));
    ASSERT_TRUE(same(a.exact.truncate(), Rational(a.rational < 0 ? Integer(-floor_of(-a.rational)) : floor_of(a.rational))));
    const Exact rounded = a.exact.round_even();
    ASSERT_TRUE(rounded.is_integer() && (rounded - a.exact).absolute() <= Exact::ratio(1, 2));
    if ((rounded - a.exact).absolute() == Exact::ratio(1, 2)) {
      ASSERT_TRUE((rounded / Exact(2)).is_integer());
    }
    ASSERT_EQ((a.exact + b.exact - b.exact).hash(), a.exact.is_zero() ? Exact(0).hash() : a.exact.hash());
    if (b.rational == 0) continue;
    ASSERT_TRUE(same(a.exact / b.exact, a.rational / b.rational)) << a.exact.to_string() << " / " << b.exact.to_string();
    const Rational quotient = a.rational / b.rational;
    ASSERT_TRUE(same(Exact::floor_divide(a.exact, b.exact), Rational(floor_of(quotient))));
    ASSERT_TRUE(same(Exact::modulo(a.exact, b.exact), a.rational - b.rational * Rational(floor_of(quotient))));
  }
}

TEST(Exact, ties_round_to_even) {
  for (int i = -9; i <= 9; i += 2) {
    const Exact rounded = Exact::ratio(i, 2).round_even();
    EXPECT_EQ(rounded.to_int64(), std::optional<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(i / 2.0)))) << i;
  }
}

TEST(Exact, small_integers_leave_and_come_back_to_64_bits) {
  const Exact least(std::numeric_limits<std::int64_t>::min()), most(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((-least).to_string(), "9223372036854775808");
  EXPECT_EQ((least * Exact(-1)).to_string(), "9223372036854775808");
  EXPECT_EQ((least / Exact(-1)).to_string(), "9223372036854775808");
  EXPECT_EQ(Exact::floor_divide(least, Exact(-1)).to_string(), "9223372036854775808");
  EXPECT_EQ((most + Exact(1) - Exact(1)).to_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((least - Exact(1) + Exact(1)).to_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((most + Exact(1)).to_int64(), std::nullopt);
  EXPECT_EQ(Exact::floor_divide(Exact(-7), Exact(2)), Exact(-4));
  EXPECT_EQ(Exact::floor_divide(Exact(7), Exact(-2)), Exact(-4));
  EXPECT_EQ(Exact::modulo(Exact(-7), Exact(2)), Exact(1));
  EXPECT_EQ(Exact::modulo(Exact(7), Exact(-2)), Exact(-1));
  EXPECT_FALSE(Exact::modulo(Exact(-4), Exact(2)).is_negative_zero());
  EXPECT_FALSE(Exact::floor_divide(Exact(0), Exact(-2)).is_negative_zero());
  EXPECT_THROW(Exact::modulo(Exact(1), Exact(0)), Bug);
}

// The host's own infinities, NaN and zeros, for every operation.
TEST(Exact, special_values_follow_ieee_754) {
  const double values[] = {0.0, -0.0, 1, -1, 2.5, -2.5, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")};
  const auto matches = [](const Exact& e, double d) {
    if (std::isnan(d)) return e.is_nan();
    return e == Exact::of_double(d) && e.is_negative() == std::signbit(d) && (d != 0 || e.is_zero());
  };
  for (double a : values) {
    const Exact x = Exact::of_double(a);
    EXPECT_TRUE(matches(-x, -a) && matches(x.absolute(), std::abs(a))) << a;
    EXPECT_TRUE(matches(x.floor(), std::floor(a)) && matches(x.ceiling(), std::ceil(a))) << a;
    EXPECT_TRUE(matches(x.truncate(), std::trunc(a)) && matches(x.round_even(), std::nearbyint(a))) << a;
    for (double b : values) {
      const Exact y = Exact::of_double(b);
      EXPECT_TRUE(matches(x + y, a + b)) << a << " + " << b;
      EXPECT_TRUE(matches(x - y, a - b)) << a << " - " << b;
      EXPECT_TRUE(matches(x * y, a * b)) << a << " * " << b;
      EXPECT_TRUE(matches(x / y, a / b) || std::abs(a) == 1) << a << " / " << b;
      EXPECT_EQ(x < y, a < b);
      EXPECT_EQ(x <= y, a <= b);
      EXPECT_EQ(x == y, a == b);
      EXPECT_EQ(x != y, a != b);
    }
  }
  EXPECT_TRUE(Exact::of_double(-0.4).round_even().is_negative_zero());
  EXPECT_TRUE(Exact::of_double(-0.5).ceiling().is_negative_zero());
}

TEST(Exact, powers_and_roots) {
  EXPECT_EQ(Exact::power(Exact(2), Exact(10)), Exact(1024));
  EXPECT_EQ(Exact::power(Exact(-3), Exact(-3)), Exact::ratio(-1, 27));
  EXPECT_EQ(Exact::power(Exact(0), Exact(0)), Exact(1));
  EXPECT_EQ(Exact::power(Exact(0), Exact(-1)), Exact::infinity(false));
  EXPECT_EQ(Exact::power(Exact::negative_zero(), Exact(-3)), Exact::infinity(true));
  EXPECT_EQ(Exact::power(Exact(2), Exact(4097)), std::nullopt);
  EXPECT_EQ(Exact::power(Exact(2), Exact::ratio(1, 2)), std::nullopt);
  EXPECT_EQ(Exact::ratio(9, 16).exact_root(2), Exact::ratio(3, 4));
  EXPECT_EQ(Exact(2).exact_root(2), std::nullopt);
  EXPECT_EQ(Exact(-4).exact_root(2), std::nullopt);
  EXPECT_EQ(Exact::ratio(-8, 27).exact_root(3), Exact::ratio(-2, 3));
  EXPECT_EQ(Exact(9).exact_root(3), std::nullopt);
  EXPECT_EQ(Exact::power_of_two(-3), Exact::ratio(1, 8));
}

TEST(Exact, every_small_code_and_many_large_ones_survive_the_way_there_and_back) {
  std::mt19937_64 random(Seed);
  for (const oracle::Format& f : oracle::Formats) {
    const int count = f.width <= 16 ? 1 << f.width : 20000;
    for (int i = 0; i < count; ++i) {
      const Bits code = f.width <= 16 ? static_cast<Bits>(i) : random() >> (64 - f.width);
      const Exact x = Exact::of(f.type, code);
      const double value = oracle::decode(f, code);
      ASSERT_TRUE(std::isnan(value) ? x.is_nan() : x == Exact::of_double(value) && x.is_negative() == std::signbit(value));
      ASSERT_EQ(x.to_bits(f.type), std::optional(std::isnan(value) ? f.nan : code)) << name_of(f.type) << " " << code;
    }
  }
  for (T type : {T::I4, T::I8, T::U8, T::I64, T::U64})
    for (int i = 0; i < 1000; ++i) {
      const Bits code = random() >> (64 - bits_of(type));
      ASSERT_EQ(Exact::of(type, code).to_bits(type), std::optional(code));
    }
}

TEST(Exact, rounding_to_every_format_agrees_with_mpfr) {
  std::mt19937_64 random(Seed + 1);
  oracle::Number x(64), y(64);
  for (const oracle::Format& f : oracle::Formats)
    for (int i = 0; i < 20000; ++i) {
      const auto n = static_cast<std::int64_t>(random() >> (random() % 64)), d = static_cast<std::int64_t>(random() >> (1 + random() % 60)) + 1;
      const int scale = static_cast<int>(random() % 64) * (f.bias > 100 ? 8 : 1) * (i % 2 == 0 ? 1 : -1) / (f.bias > 20 ? 1 : 4);
      const Exact exact = Exact::ratio(n, d) * Exact::power_of_two(scale);
      mpfr_set_si(x, n, MPFR_RNDN);
      mpfr_mul_2si(x, x, scale, MPFR_RNDN);
      mpfr_set_si(y, d, MPFR_RNDN);
      for (const bool saturate : {false, true}) {
        const double e = oracle::rounded(f, [&](mpfr_ptr z) { return mpfr_div(z, x, y, MPFR_RNDN); }, saturate);
        const Bits got = exact.round_to(f.type, saturate ? CastMode::Saturate : CastMode::Exact);
        ASSERT_TRUE(oracle::stands_for(f, got, e)) << fmt::format("{} {} / {} * 2^{}: {:#x}, must be {}", name_of(f.type), n, d, scale, got, e);
      }
      if (f.type == T::F64) {
        ASSERT_EQ(std::bit_cast<Bits>(exact.to_double()), exact.to_bits(T::F64).value());
      }
    }
}

TEST(Exact, a_tie_is_broken_by_whatever_stands_behind_it) {
  const Exact tie = Exact(1) + Exact::power_of_two(-24), trace = Exact::power_of_two(-3000);
  EXPECT_EQ(tie.to_bits(T::F32), 0x3f800000);
  EXPECT_EQ((tie + trace).to_bits(T::F32), 0x3f800001);
  EXPECT_EQ((tie - trace).to_bits(T::F32), 0x3f800000);
  EXPECT_EQ((-tie - trace).to_bits(T::F32), 0xbf800001);
  EXPECT_EQ(Exact::power_of_two(-150).to_bits(T::F32), 0);
  EXPECT_EQ((Exact::power_of_two(-150) + trace).to_bits(T::F32), 1);
  EXPECT_EQ((Exact(1) + trace).round_to(T::F8E8M0, CastMode::Up), 128);
}

TEST(Exact, out_of_range_has_no_bits) {
  EXPECT_EQ(Exact(449).to_bits(T::F8E4M3FN), 0x7e);
  EXPECT_EQ(Exact(465).to_bits(T::F8E4M3FN), std::nullopt);
  EXPECT_EQ(Exact::infinity(true).to_bits(T::F8E4M3FN), std::nullopt);
  EXPECT_EQ(Exact::nan().to_bits(T::F4E2M1), std::nullopt);
  EXPECT_EQ(Exact(7).to_bits(T::F4E2M1), std::nullopt);
  EXPECT_EQ(Exact::ratio(69, 10).to_bits(T::F4E2M1), 7);
  EXPECT_EQ(Exact(1000000).to_bits(T::F16), 0x7c00);
  EXPECT_EQ(Exact(0).to_bits(T::F8E8M0), std::nullopt);
  EXPECT_EQ(Exact(128).to_bits(T::I8), std::nullopt);
  EXPECT_EQ(Exact::ratio(1, 2).to_bits(T::I8), std::nullopt);
  EXPECT_EQ(Exact::nan().to_bits(T::I8), std::nullopt);
  EXPECT_EQ(Exact(-1).to_bits(T::I8), 0xff);
  EXPECT_EQ(Exact(-1).to_bits(T::U8), std::nullopt);
  EXPECT_EQ(Exact(2).to_bits(T::Bool), std::nullopt);
  EXPECT_EQ(Exact(1).to_bits(T::Bool), 1);
  EXPECT_EQ(Exact::ratio(5, 2).round_to(T::I32, CastMode::Exact), 2);
  EXPECT_EQ(Exact::ratio(7, 2).round_to(T::I32, CastMode::Plain), 3);
  EXPECT_EQ(Exact(300).round_to(T::U8, CastMode::Saturate), 255);
  EXPECT_EQ(Exact::infinity(true).round_to(T::I8, CastMode::Plain), 0x80);
  EXPECT_EQ(Exact::infinity(true).round_to(T::F16, CastMode::Saturate), 0xfbff);
  EXPECT_EQ(Exact::of_double(0x1.8p63).round_to(T::U64, CastMode::Exact), 0xc000000000000000u);
}

TEST(Exact, decimal_text_agrees_with_the_c_library) {
  std::mt19937_64 random(Seed + 2);
  const auto value = [](const std::string& text) { return Exact::parse(text).value(); };
  for (int i = 0; i < 20000; ++i) {
    std::string text = std::to_string(random() >> (random() % 64));
    if (i % 2 == 0) text += "." + std::to_string(random() >> (random() % 64));
    if (i % 3 != 0) text += fmt::format("e{:+}", static_cast<int>(random() % 640) - 340);
    ASSERT_EQ(value(text).to_double(), std::strtod(text.c_str(), nullptr)) << text;
    ASSERT_EQ(value(text).to_bits(T::F32), std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr))) << text;
  }
  EXPECT_EQ(value("0x1F"), Exact(31));
  EXPECT_EQ(value("1e-05"), Exact::ratio(1, 100000));
  EXPECT_EQ(value("1e10000").is_integer(), true);
  for (const char* text : {"", "-1", ".5", "1.", "1e", "1e+", "0x", "0xg", "1e10001", "1e-99999999999999999999", "1 ", "1f", "inf", "1.2.3"})
    EXPECT_FALSE(Exact::parse(text)) << text;
  EXPECT_FALSE(Exact::parse(std::string(20000, '9')));
}

TEST(Exact, prints_what_a_reader_can_use) {
  EXPECT_EQ(Exact(-3).to_string(), "-3");
  EXPECT_EQ(Exact::negative_zero().to_string(), "-0");
  EXPECT_EQ(Exact::ratio(-1, 3).to_string(), "-1/3");
  EXPECT_EQ(Exact::ratio(1, 2).to_string(), "0.5");
  EXPECT_EQ(Exact::ratio(-5, 4).to_string(), "-1.25");
  EXPECT_EQ(Exact::ratio(1, 100000).to_string(), "0.00001");
  EXPECT_EQ(Exact::parse("1e-12").value().to_string(), "1e-12");
  EXPECT_EQ(Exact::parse("1.5e300").value().to_string(), "1.5e+300");
  EXPECT_EQ(Exact::of_double(0x1p-149).to_string(), "2^-149");
  EXPECT_EQ(Exact::of_double(std::numeric_limits<double>::max()).to_string(), "9007199254740991 * 2^971");
  EXPECT_EQ(Exact::infinity(true).to_string(), "-inf");
  EXPECT_EQ(Exact::nan().to_string(), "nan");
  EXPECT_TRUE((Exact::parse("1e300").value() / Exact(7)).to_string().starts_with("about 1.42857143e+299"));
}

TEST(Exact, numbers_without_bound_are_refused) {
  Exact x(3);
  EXPECT_THROW(
      {
        for (int i = 0; i < 64; ++i) x = x * x;
      },
      ExactTooLarge);
  EXPECT_THROW(Exact::power_of_two(std::numeric_limits<int>::min()), ExactTooLarge);
}

}  // namespace
}  // namespace ulpian
