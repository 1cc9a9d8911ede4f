#include "spec/numbers/host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ulpian {
namespace {

using T = ElementType;

// Written down from the formats' own documents, not from format.h.
struct Facts {
  T type;
  int fraction, bias;
  Bits largest, infinity, nan;  // codes; 0: none
  double largest_value, least_value;
};
constexpr Facts AllFacts[] = {
    {T::F4E2M1, 1, 1, 0x7, 0, 0, 6, 0.5},
    {T::F6E2M3, 3, 1, 0x1f, 0, 0, 7.5, 0.125},
    {T::F6E3M2, 2, 3, 0x1f, 0, 0, 28, 0.0625},
    {T::F8E4M3FN, 3, 7, 0x7e, 0, 0x7f, 448, 0x1p-9},
    {T::F8E4M3FNUZ, 3, 8, 0x7f, 0, 0x80, 240, 0x1p-10},
    {T::F8E5M2, 2, 15, 0x7b, 0x7c, 0x7e, 57344, 0x1p-16},
    {T::F8E5M2FNUZ, 2, 16, 0x7f, 0, 0x80, 57344, 0x1p-17},
    {T::F16, 10, 15, 0x7bff, 0x7c00, 0x7e00, 65504, 0x1p-24},
    {T::BF16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0x1.fep127, 0x1p-133},
};

double value_by_definition(const Facts& f, Bits code) {
  const Bits exponent = code >> f.fraction, fraction = code & ((Bits{1} << f.fraction) - 1);
  const double significand = static_cast<double>(fraction) / static_cast<double>(Bits{1} << f.fraction);
  return exponent == 0 ? std::ldexp(significand, 1 - f.bias) : std::ldexp(1 + significand, static_cast<int>(exponent) - f.bias);
}

template <T Type> void decodes_every_code() {
  for (const Facts& f : AllFacts) {
    if (f.type != Type) continue;
    const Bits sign = Bits{1} << (bits_of(Type) - 1);
    for (Bits code = 0; code <= f.largest; ++code) {
      const double expected = value_by_definition(f, code);
      ASSERT_EQ(host::value_of<Type>(static_cast<Storage<Type>>(code)), expected) << code;
      const bool is_nan = (code | sign) == f.nan;
      const double negative = host::value_of<Type>(static_cast<Storage<Type>>(code | sign));
      if (is_nan) ASSERT_TRUE(std::isnan(negative));
      else ASSERT_TRUE(negative == -expected && std::signbit(negative)) << code;
    }
    EXPECT_EQ(host::value_of<Type>(static_cast<Storage<Type>>(f.largest)), f.largest_value);
    EXPECT_EQ(host::value_of<Type>(Storage<Type>{1}), f.least_value);
    if (f.infinity != 0) {
      EXPECT_TRUE(std::isinf(host::value_of<Type>(static_cast<Storage<Type>>(f.infinity))));
    }
    if (f.nan == 0) continue;
    if ((f.nan & sign) == 0) {
      for (Bits code = std::max(f.largest, f.infinity) + 1; code < sign; ++code)
        ASSERT_EQ(host::to_bits<T::F32>(host::value_of<Type>(static_cast<Storage<Type>>(code))), 0x7fc00000u) << code;
    }
  }
}
TEST(Host, decodes_every_code_of_every_narrow_float) {
  decodes_every_code<T::F4E2M1>();
  decodes_every_code<T::F6E2M3>();
  decodes_every_code<T::F6E3M2>();
  decodes_every_code<T::F8E4M3FN>();
  decodes_every_code<T::F8E4M3FNUZ>();
  decodes_every_code<T::F8E5M2>();
  decodes_every_code<T::F8E5M2FNUZ>();
  decodes_every_code<T::F16>();
  decodes_every_code<T::BF16>();
}

// Around every midpoint of neighbouring values, from F, of both signs: the nearer one, the even one at the tie.
template <T Type, class F> void rounds_to_nearest(const Facts& f) {
  const Bits sign = Bits{1} << (bits_of(Type) - 1);
  const auto expect = [&](F x, Bits code) {
    ASSERT_EQ((host::round_to<Type>(x)), code) << double(x);
    ASSERT_EQ((host::round_to<Type, true>(x)), code) << double(x);
    const Bits negative = code == 0 && f.nan == sign ? 0 : code | sign;
    ASSERT_EQ((host::round_to<Type>(-x)), negative) << double(-x);
    ASSERT_EQ((host::round_to<Type, true>(-x)), negative) << double(-x);
  };
  const F infinity = std::numeric_limits<F>::infinity();
  for (Bits code = 0; code < f.largest; ++code) {
    const F a = static_cast<F>(value_by_definition(f, code)), b = static_cast<F>(value_by_definition(f, code + 1));
    const F middle = a + (b - a) / 2;
    expect(a, code);
    expect(std::nextafter(a, infinity), code);
    expect(std::nextafter(middle, F{0}), code);
    expect(middle, code + (code & 1));
    expect(std::nextafter(middle, infinity), code + 1);
    expect(std::nextafter(b, F{0}), code + 1);
  }
  // The top: half a place beyond the largest value is the first to leave the range (where the tie's even neighbour lies outside).
  const F largest = static_cast<F>(f.largest_value), step = largest - static_cast<F>(value_by_definition(f, f.largest - 1));
  const F edge = largest + step / 2;
  const Bits out = f.infinity != 0 ? f.infinity : f.nan != 0 ? f.nan : f.largest;
  expect(largest, f.largest);
  expect(std::nextafter(edge, F{0}), f.largest);
  EXPECT_EQ((host::round_to<Type>(edge)), (f.largest & 1) != 0 ? out : f.largest);
  for (F x : {std::nextafter(edge, infinity), largest * 2, std::numeric_limits<F>::max(), infinity}) {
    EXPECT_EQ((host::round_to<Type>(x)), out) << double(x);
    EXPECT_EQ((host::round_to<Type, true>(x)), f.largest) << double(x);
    EXPECT_EQ((host::round_to<Type>(-x)), out == f.nan && f.nan != 0 ? out : out | sign) << double(x);
    EXPECT_EQ((host::round_to<Type, true>(-x)), f.largest | sign) << double(x);
  }
  for (F x : {std::numeric_limits<F>::quiet_NaN(), -std::numeric_limits<F>::quiet_NaN()}) {
    EXPECT_EQ((host::round_to<Type>(x)), f.nan != 0 ? f.nan : f.largest);
    EXPECT_EQ((host::round_to<Type, true>(x)), f.nan != 0 ? f.nan : f.largest);
  }
}
template <T Type> void rounds_to_nearest_from_both() {
  for (const Facts& f : AllFacts)
    if (f.type == Type) rounds_to_nearest<Type, float>(f), rounds_to_nearest<Type, double>(f);
}
TEST(Host, rounds_to_every_narrow_float_half_to_even) {
  rounds_to_nearest_from_both<T::F4E2M1>();
  rounds_to_nearest_from_both<T::F6E2M3>();
  rounds_to_nearest_from_both<T::F6E3M2>();
  rounds_to_nearest_from_both<T::F8E4M3FN>();
  rounds_to_nearest_from_both<T::F8E4M3FNUZ>();
  rounds_to_nearest_from_both<T::F8E5M2>();
  rounds_to_nearest_from_both<T::F8E5M2FNUZ>();
  rounds_to_nearest_from_both<T::F16>();
  rounds_to_nearest_from_both<T::BF16>();
}

TEST(Host, f8e5m2_has_infinities_that_only_saturation_hides) {
  EXPECT_EQ((host::round_to<T::F8E5M2>(61440.0f)), 0x7c);  // the tie above 57344
  EXPECT_EQ((host::round_to<T::F8E5M2, true>(61440.0f)), 0x7b);
  EXPECT_EQ((host::round_to<T::F8E4M3FN>(465.0f)), 0x7f);
  EXPECT_EQ((host::round_to<T::F8E4M3FN>(464.0f)), 0x7e);  // the tie between 448 (even) and 480, which is NaN's code
}

TEST(Host, scales_round_and_clamp_as_the_mode_says) {
  using M = CastMode;
  const auto cast = []<M Mode>(double x) { return host::convert<T::F64, T::F8E8M0, Mode>(x); };
  EXPECT_EQ(host::value_of<T::F8E8M0>(0), 0x1p-127f);
  EXPECT_EQ(host::value_of<T::F8E8M0>(127), 1.0f);
  EXPECT_EQ(host::value_of<T::F8E8M0>(254), 0x1p127f);
  EXPECT_TRUE(std::isnan(host::value_of<T::F8E8M0>(255)));
  EXPECT_EQ(cast.operator()<M::Nearest>(1.5), 128);
  EXPECT_EQ(cast.operator()<M::Plain>(1.5), 128);
  EXPECT_EQ(cast.operator()<M::Nearest>(1.4999), 127);
  EXPECT_EQ(cast.operator()<M::Down>(1.9999), 127);
  EXPECT_EQ(cast.operator()<M::Up>(1.0001), 128);
  EXPECT_EQ(cast.operator()<M::Up>(1.0), 127);
  EXPECT_EQ(cast.operator()<M::Nearest>(0.0), 255);
  EXPECT_EQ(cast.operator()<M::SaturateUp>(0.0), 0);
  EXPECT_EQ(cast.operator()<M::SaturateUp>(INFINITY), 254);
  EXPECT_EQ(cast.operator()<M::Nearest>(INFINITY), 255);
  EXPECT_EQ(cast.operator()<M::Nearest>(0x1p128), 255);
  EXPECT_EQ(cast.operator()<M::Nearest>(0x1.8p127), 255);
  EXPECT_EQ(cast.operator()<M::SaturateNearest>(0x1.8p127), 254);
  EXPECT_EQ(cast.operator()<M::SaturateDown>(0x1p-300), 0);
  EXPECT_EQ(cast.operator()<M::Down>(0x1p-300), 255);
  EXPECT_EQ(cast.operator()<M::SaturateUp>(NAN), 255);
  EXPECT_EQ(cast.operator()<M::Plain>(-1.0), 255);
  EXPECT_EQ(cast.operator()<M::Saturate>(-1.0), 0);
  EXPECT_EQ((host::convert<T::U64, T::F8E8M0, M::Up>((std::uint64_t{1} << 63) + 1)), 127 + 64);
  EXPECT_EQ((host::convert<T::U64, T::F8E8M0, M::Down>(~std::uint64_t{0})), 127 + 63);
}

TEST(Host, floats_become_integers_towards_zero_held_to_the_limits) {
  EXPECT_EQ((host::convert<T::F32, T::I32>(-2147483904.0f)), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ((host::convert<T::F32, T::I32>(2147483648.0f)), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ((host::convert<T::F32, T::I32>(2147483520.0f)), 2147483520);
  EXPECT_EQ((host::convert<T::F64, T::I32>(-2147483648.9)), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ((host::convert<T::F64, T::I64>(1e19)), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((host::convert<T::F64, T::I64>(-1e19)), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((host::convert<T::F64, T::U64>(1.8e19)), 18000000000000000000u);
  EXPECT_EQ((host::convert<T::F64, T::U64>(1e20)), ~std::uint64_t{0});
  EXPECT_EQ((host::convert<T::F32, T::U8>(-0.99f)), 0);
  EXPECT_EQ((host::convert<T::F32, T::U8>(255.9f)), 255);
  EXPECT_EQ((host::convert<T::F32, T::U8>(256.0f)), 255);
  EXPECT_EQ((host::convert<T::F32, T::I4>(-8.5f)), -8);
  EXPECT_EQ((host::convert<T::F32, T::I4>(7.5f)), 7);
  EXPECT_EQ((host::convert<T::F32, T::I8>(NAN)), 0);
  EXPECT_EQ((host::convert<T::F32, T::Bool>(NAN)), 1);
  EXPECT_EQ((host::convert<T::F32, T::Bool>(-0.0f)), 0);
  EXPECT_EQ((host::convert<T::F16, T::I64>(0x7c00)), std::numeric_limits<std::int64_t>::max());
}

TEST(Host, integers_wrap_or_saturate) {
  EXPECT_EQ((host::convert<T::I16, T::I8>(200)), -56);
  EXPECT_EQ((host::convert<T::I16, T::I8, CastMode::Saturate>(200)), 127);
  EXPECT_EQ((host::convert<T::I8, T::U64>(-1)), ~std::uint64_t{0});
  EXPECT_EQ((host::convert<T::I8, T::U64, CastMode::Saturate>(-1)), 0u);
  EXPECT_EQ((host::convert<T::U64, T::I64, CastMode::Saturate>(~std::uint64_t{0})), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((host::convert<T::I8, T::I4>(9)), -7);
  EXPECT_EQ((host::convert<T::I8, T::I4, CastMode::Saturate>(9)), 7);
  EXPECT_EQ((host::convert<T::I32, T::U2>(7)), 3);
  EXPECT_EQ((host::convert<T::I32, T::I2, CastMode::Saturate>(-7)), -2);
}

TEST(Host, integers_become_floats_with_one_rounding) {
  // A tie of bf16 plus one, which a detour through double would lose.
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  EXPECT_EQ((host::convert<T::I64, T::BF16>(tie)), 0x5e80);
  EXPECT_EQ((host::convert<T::I64, T::BF16>(tie + 1)), 0x5e81);
  EXPECT_EQ((host::convert<T::I64, T::BF16>(-tie - 1)), 0xde81);
  EXPECT_EQ((host::convert<T::I64, T::F16>(65519)), 0x7bff);
  EXPECT_EQ((host::convert<T::I64, T::F16>(65520)), 0x7c00);
  EXPECT_EQ((host::convert<T::I64, T::F16, CastMode::Saturate>(std::numeric_limits<std::int64_t>::min())), 0xfbff);
  EXPECT_EQ((host::convert<T::U64, T::F32>((std::uint64_t{1} << 63) + (std::uint64_t{1} << 39) + 1)), 0x1.000002p63f);
}

}  // namespace
}  // namespace ulpian
