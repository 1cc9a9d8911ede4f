// Conversions between every two machine types, in every mode, against MPFR and 128-bit integers: all values of sources up to 16 bits,
// grids and random values of the wider ones. `convert` and the typed host conversions are both held to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "spec/numbers/arithmetic.h"
#include "spec/numbers/host.h"
#include "spec/numbers/mpfr_oracle.h"

namespace ulpian {
namespace {

__extension__ typedef __int128 Wide;
using T = ElementType;
using M = CastMode;

constexpr std::uint64_t Seed = 977;

struct IntegerFacts {
  T type;
  int width;
  bool is_signed;
};
constexpr IntegerFacts Integers[] = {{T::I2, 2, true},   {T::I4, 4, true},   {T::I8, 8, true},   {T::I16, 16, true},
                                     {T::I32, 32, true}, {T::I64, 64, true}, {T::U2, 2, false},  {T::U4, 4, false},
                                     {T::U8, 8, false},  {T::U16, 16, false}, {T::U32, 32, false}, {T::U64, 64, false}};
const IntegerFacts* integer(T type) {
  for (const IntegerFacts& i : Integers)
    if (i.type == type) return &i;
  return nullptr;
}
constexpr T AllTypes[] = {T::Bool, T::I2,  T::I4,  T::I8,     T::I16,      T::I32,        T::I64,    T::U2,         T::U4,     T::U8,  T::U16, T::U32,
                          T::U64,  T::F4E2M1, T::F6E2M3, T::F6E3M2, T::F8E4M3FN, T::F8E4M3FNUZ, T::F8E5M2, T::F8E5M2FNUZ, T::F8E8M0, T::F16, T::BF16, T::F32, T::F64};
int width_of(T type) { return integer(type) != nullptr ? integer(type)->width : type == T::Bool ? 1 : oracle::format(type).width; }

// A source element's value: a whole number, or a double.
struct Value {
  bool whole;
  Wide integer;
  double real;
};
Value value_of(T type, Bits code) {
  if (type == T::Bool) return {true, static_cast<Wide>(code), 0};
  const IntegerFacts* facts = integer(type);
  if (facts == nullptr) return {false, 0, oracle::decode(oracle::format(type), code)};
  const bool negative = facts->is_signed && (code >> (facts->width - 1)) != 0;
  return {true, static_cast<Wide>(code) - (negative ? Wide{1} << facts->width : 0), 0};
}

Bits expected_integer(const IntegerFacts& to, const Value& v, M mode) {
  const Wide low = to.is_signed ? -(Wide{1} << (to.width - 1)) : 0, high = (Wide{1} << (to.width - (to.is_signed ? 1 : 0))) - 1;
  const Wide modulus = Wide{1} << to.width;
  Wide w = v.integer;
  if (!v.whole) {
    if (std::isnan(v.real)) return 0;
    const double cut = mode == M::Exact ? std::nearbyint(v.real) : std::trunc(v.real);
    w = cut > 1e30 ? high : cut < -1e30 ? low : static_cast<Wide>(cut);
  } else if (mode == M::Plain) {
    return static_cast<Bits>(((w % modulus) + modulus) % modulus);
  }
  w = std::clamp(w, low, high);
  return static_cast<Bits>(w < 0 ? w + modulus : w);
}

bool saturating(M mode) { return mode == M::Saturate || mode == M::SaturateUp || mode == M::SaturateDown || mode == M::SaturateNearest; }

class Expected {
public:
  void set(const Value& v) {
    value_ = v;
    if (!v.whole) {
      oracle::set(x_, v.real);
    } else {
      const Wide magnitude = v.integer < 0 ? -v.integer : v.integer;
      mpfr_set_ui(x_, static_cast<std::uint64_t>(magnitude), MPFR_RNDN);
      if (v.integer < 0) mpfr_neg(x_, x_, MPFR_RNDN);
    }
  }
  // Whether the code is what the value must become.
  bool accepts(T to, M mode, Bits code) {
    if (to == T::Bool) return code == (value_.whole ? value_.integer != 0 : value_.real != 0);
    if (const IntegerFacts* facts = integer(to)) return code == expected_integer(*facts, value_, mode);
    const oracle::Format& f = oracle::format(to);
    double e = 0;
    if (to == T::F8E8M0) {
      const auto rounding = mode == M::Up || mode == M::SaturateUp       ? oracle::ScaleRounding::Up
                            : mode == M::Down || mode == M::SaturateDown ? oracle::ScaleRounding::Down
                                                                         : oracle::ScaleRounding::Nearest;
      e = oracle::round_to_scale(x_, rounding, saturating(mode));
    } else {
      e = oracle::rounded(f, [&](mpfr_ptr y) { return mpfr_set(y, x_, MPFR_RNDN); }, saturating(mode));
    }
    return oracle::stands_for(f, code, e);
  }

private:
  Value value_{};
  oracle::Number x_{64};
};

std::vector<Bits> sources(T type) {
  std::vector<Bits> codes;
  const int width = width_of(type);
  if (width <= 16) {
    for (Bits code = 0; code < Bits{1} << width; ++code) codes.push_back(code);
    return codes;
  }
  std::mt19937_64 random(Seed);
  const Bits mask = ~Bits{0} >> (64 - width);
  const auto add = [&](Bits code) { codes.push_back(code & mask); };
  if (integer(type) != nullptr) {
    // 2^k, sums of two or three powers (ties of every format), their neighbours and negatives.
    for (int i = 0; i < width; ++i)
      for (int j = 0; j <= i; ++j) {
        const Bits base = (Bits{1} << i) | (Bits{1} << j) | (Bits{1} << (random() % 64) & ((Bits{2} << i) - 1));
        for (Bits d : {Bits{0}, Bits{1}, ~Bits{0}}) add(base + d), add(0 - base + d), add((Bits{1} << i) + (Bits{1} << j) + d);
      }
    for (int i = 0; i < 3000; ++i) add(random() >> (random() % 64));
  } else {
    const oracle::Format& f = oracle::format(type);
    for (Bits code : oracle::grid(type)) add(code);
    const auto encode = [&](double x) { return type == T::F32 ? Bits{std::bit_cast<std::uint32_t>(static_cast<float>(x))} : std::bit_cast<Bits>(x); };
    // Ends and ties of every target: 2^k * m / 16 for small m, and their neighbours.
    for (int k = -160; k <= 130; ++k)
      for (int m = 16; m < 32; ++m)
        for (Bits d : {Bits{0}, Bits{1}, ~Bits{0}}) {
          const Bits code = encode(std::ldexp(m / 16.0, k)) + d;
          add(code), add(code ^ (Bits{1} << (f.width - 1)));
        }
    for (const oracle::Format& g : oracle::Formats)
      for (int i = 0; i < 300 && g.width <= f.width; ++i) {
        // Between two neighbours of g: near the middle.
        const Bits c = random() >> (65 - g.width);
        const double a = oracle::decode(g, c), b = oracle::decode(g, c + 1), middle = a + (b - a) / 2;
        for (Bits d : {Bits{0}, Bits{1}, ~Bits{0}}) add(encode(middle) + d);
      }
    for (int i = 0; i < 3000; ++i) add(random());
  }
  return codes;
}

using Host = Bits (*)(Bits);
template <T From, T To, M Mode> Bits by_host(Bits code) { return host::to_bits<To>(host::convert<From, To, Mode>(host::from_bits<From>(code))); }

void check(T from, T to, M mode, Host by_host_code, const std::vector<Bits>& codes) {
  Expected expected;
  for (Bits code : codes) {
    expected.set(value_of(from, code));
    const Bits got = convert(from, to, code, mode);
    const bool right = from == to && mode == M::Plain ? got == code : expected.accepts(to, mode, got);
    const Bits host_bits = by_host_code != nullptr ? by_host_code(code) : got;
    ASSERT_TRUE(right && host_bits == got) << fmt::format("{} {:#x} to {} mode {} gives {:#x}, on the host {:#x}", name_of(from), code,
                                                          name_of(to), static_cast<int>(mode), got, host_bits);
  }
}

template <T From> void check_all_targets() {
  const std::vector<Bits> codes = sources(From);
  for (T to : AllTypes)
    with_element_type(to, [&]<T To>() {
      const auto one = [&]<M Mode>() { check(From, To, Mode, by_host<From, To, Mode>, codes); };
      one.template operator()<M::Plain>();
      one.template operator()<M::Saturate>();
      if constexpr (host::is_integer_type(To) && host::is_float_type(From)) check(From, To, M::Exact, nullptr, codes);
      if constexpr (To == T::F8E8M0) {
        one.template operator()<M::Up>();
        one.template operator()<M::Down>();
        one.template operator()<M::Nearest>();
        one.template operator()<M::SaturateUp>();
        one.template operator()<M::SaturateDown>();
        one.template operator()<M::SaturateNearest>();
      }
    });
}

class Convert : public testing::TestWithParam<T> {};
INSTANTIATE_TEST_SUITE_P(Numbers, Convert, testing::ValuesIn(AllTypes), [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Convert, to_every_type_in_every_mode_agrees_with_mpfr) {
  with_element_type(GetParam(), []<T From>() { check_all_targets<From>(); });
}

TEST(ConvertTable, fp8_special_values_are_those_of_the_onnx_cast_page) {
  struct Row {
    double x;
    Bits plain[4], saturated[4];
  };
  const T types[] = {T::F8E4M3FN, T::F8E4M3FNUZ, T::F8E5M2, T::F8E5M2FNUZ};
  const double inf = std::numeric_limits<double>::infinity();
  const Row rows[] = {{0.0, {0, 0, 0, 0}, {0, 0, 0, 0}},
                      {-0.0, {0x80, 0, 0x80, 0}, {0x80, 0, 0x80, 0}},
                      {std::nan(""), {0x7f, 0x80, 0x7e, 0x80}, {0x7f, 0x80, 0x7e, 0x80}},
                      {inf, {0x7f, 0x80, 0x7c, 0x80}, {0x7e, 0x7f, 0x7b, 0x7f}},
                      {-inf, {0x7f, 0x80, 0xfc, 0x80}, {0xfe, 0xff, 0xfb, 0xff}},
                      {1e6, {0x7f, 0x80, 0x7c, 0x80}, {0x7e, 0x7f, 0x7b, 0x7f}},
                      {-1e6, {0x7f, 0x80, 0xfc, 0x80}, {0xfe, 0xff, 0xfb, 0xff}}};
  for (const Row& row : rows)
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(from_double(types[i], row.x, M::Plain), row.plain[i]) << name_of(types[i]) << " " << row.x;
      EXPECT_EQ(from_double(types[i], row.x, M::Saturate), row.saturated[i]) << name_of(types[i]) << " " << row.x;
    }
  EXPECT_EQ(from_double(T::F4E2M1, std::nan("")), 0x7u);  // ONNX, "Float stored in 4 bits": NaN becomes 6
  EXPECT_EQ(from_double(T::F4E2M1, -inf), 0xfu);
  EXPECT_EQ(from_double(T::F6E2M3, -inf), 0x3fu);
  EXPECT_EQ(from_double(T::F6E3M2, std::nan("")), 0x1fu);
}

TEST(ConvertTable, named_values) {
  for (const oracle::Format& f : oracle::Formats) {
    EXPECT_EQ(to_double(f.type, largest_finite(f.type)), f.largest);
    EXPECT_EQ(to_double(f.type, lowest_finite(f.type)), f.type == T::F8E8M0 ? 0x1p-127 : -f.largest);
    EXPECT_EQ(has_infinity(f.type), f.infinity);
    EXPECT_EQ(has_nan(f.type), f.nan != 0);
    if (has_nan(f.type)) {
      EXPECT_EQ(canonical_nan(f.type), f.nan);
    }
    if (has_infinity(f.type)) {
      EXPECT_EQ(to_double(f.type, infinity(f.type, true)), -std::numeric_limits<double>::infinity());
    }
  }
  EXPECT_THROW(infinity(T::F8E4M3FN, false), Bug);
  EXPECT_THROW(canonical_nan(T::F4E2M1), Bug);
  EXPECT_EQ(lowest_finite(T::I4), 0x8u);
  EXPECT_EQ(largest_finite(T::I64), 0x7fffffffffffffffu);
  EXPECT_EQ(to_int64(T::I4, 0x8), -8);
  EXPECT_EQ(from_int64(T::I8, -1), 0xffu);
  EXPECT_TRUE(is_zero(T::F32, 0x80000000u));
  EXPECT_FALSE(is_zero(T::F8E4M3FNUZ, 0x80));
  EXPECT_TRUE(sign_bit(T::I16, 0x8000));
  EXPECT_TRUE(same_element(T::F16, 0x7e00, 0xfc01));
  EXPECT_FALSE(same_element(T::F16, 0, 0x8000));
  EXPECT_THROW(convert(T::F32, T::F16, 0, M::Up), Bug);
  EXPECT_THROW(convert(T::F32, T::String, 0, M::Plain), Bug);
}

}  // namespace
}  // namespace ulpian
