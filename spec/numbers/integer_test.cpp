// Integer primitives against their definitions in 128-bit arithmetic: all pairs up to 8 bits, grids and random pairs beyond.
#include "spec/numbers/integer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "spec/numbers/arithmetic.h"

namespace ulpian {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Unsigned;
using P = Primitive;
using T = ElementType;

struct Facts {
  T type;
  int width;
  bool is_signed;
};
constexpr Facts Types[] = {{T::I2, 2, true},   {T::I4, 4, true},   {T::I8, 8, true},   {T::I16, 16, true},
                           {T::I32, 32, true}, {T::I64, 64, true}, {T::U2, 2, false},  {T::U4, 4, false},
                           {T::U8, 8, false},  {T::U16, 16, false}, {T::U32, 32, false}, {T::U64, 64, false}};

Wide value_of(const Facts& t, Bits code) {
  return static_cast<Wide>(code) - (t.is_signed && (code >> (t.width - 1)) != 0 ? Wide{1} << t.width : 0);
}

Wide floor_of_ratio(Wide a, Wide b) {
  Wide q = a / b;
  while (q * b > a && b > 0) --q;
  while (q * b < a && b < 0) --q;
  return q;
}

// The mathematical result, before it wraps.
Wide expected(const Facts& t, P primitive, Wide a, Wide b) {
  const Wide wide_mask = (Wide{1} << t.width) - 1;
  const bool is_count = b >= 0 && b < t.width;
  switch (primitive) {
    case P::Add: return a + b;
    case P::Subtract: return a - b;
    case P::Multiply: return static_cast<Wide>((static_cast<Unsigned>(a) * static_cast<Unsigned>(b)) & static_cast<Unsigned>(wide_mask));
    case P::Negate: return -a;
    case P::Absolute: return a < 0 ? -a : a;
    case P::Sign: return a < 0 ? -1 : a > 0 ? 1 : 0;
    case P::Minimum: return a < b ? a : b;
    case P::Maximum: return a < b ? b : a;
    case P::FloorDivide: return b == 0 ? 0 : floor_of_ratio(a, b);
    case P::Modulo: return b == 0 ? a : a - b * floor_of_ratio(a, b);
    case P::Quotient: return b == 0 ? 0 : a / b;
    case P::Remainder: return b == 0 ? a : a - b * (a / b);
    case P::BitAnd: return a & b;
    case P::BitOr: return a | b;
    case P::BitXor: return a ^ b;
    case P::BitNot: return -1 - a;
    case P::ShiftLeft: return is_count ? (a & wide_mask) << static_cast<int>(b) : 0;
    case P::ShiftRight: return is_count ? floor_of_ratio(a, Wide{1} << static_cast<int>(b)) : a < 0 ? -1 : 0;
    case P::Equal: return a == b;
    case P::NotEqual: return a != b;
    case P::Less: return a < b;
    case P::LessEqual: return a <= b;
    case P::Greater: return a > b;
    case P::GreaterEqual: return a >= b;
    case P::IsNan:
    case P::IsInfinite: return 0;
    default: std::abort();
  }
}

void check(const Facts& t, Bits a, Bits b) {
  const Bits mask = ~Bits{0} >> (64 - t.width);
  for (int i = 0; i < PrimitiveCount; ++i) {
    const PrimitiveRow& row = row_of(static_cast<P>(i));
    if (!row.on_integers || (row.kind != PrimitiveKind::Exact && row.kind != PrimitiveKind::Comparison)) continue;
    const std::array<Bits, 2> arguments{a, b};
    const Bits got = apply(row.primitive, t.type, std::span(arguments).first(static_cast<std::size_t>(row.arity)));
    const Bits wanted = static_cast<Bits>(expected(t, row.primitive, value_of(t, a), value_of(t, b))) & mask;
    ASSERT_EQ(got, wanted) << fmt::format("{} {}({:#x}, {:#x})", name_of(t.type), row.name, a, b);
  }
  const Bits sum = fused_multiply_add(t.type, a, b, a);
  const Bits wanted = static_cast<Bits>(expected(t, P::Multiply, value_of(t, a), value_of(t, b)) + value_of(t, a)) & mask;
  ASSERT_EQ(sum, wanted) << fmt::format("{} {:#x} * {:#x} + {:#x}", name_of(t.type), a, b, a);
}

TEST(Integer, every_primitive_agrees_with_its_definition) {
  for (const Facts& t : Types) {
    const Bits mask = ~Bits{0} >> (64 - t.width);
    if (t.width <= 8) {
      for (Bits a = 0; a <= mask; ++a)
        for (Bits b = 0; b <= mask; ++b) check(t, a, b);
      continue;
    }
    std::vector<Bits> grid;
    for (Bits base : {Bits{0}, Bits{1} << (t.width - 1), Bits{1} << (t.width / 2), Bits{static_cast<Bits>(t.width)}, Bits{10}})
      for (Bits d : {Bits{0}, Bits{1}, Bits{2}, ~Bits{0}, ~Bits{1}}) grid.push_back((base + d) & mask), grid.push_back((0 - base + d) & mask);
    for (Bits a : grid)
      for (Bits b : grid) check(t, a, b);
    std::mt19937_64 random(31);
    for (int i = 0; i < 20000; ++i) check(t, (random() >> (random() % 64)) & mask, (random() >> (random() % 64)) & mask);
  }
}

TEST(Integer, values_that_standards_leave_open) {
  const auto apply2 = [](P primitive, T type, std::int64_t a, std::int64_t b) {
    const std::array<Bits, 2> arguments{from_int64(type, a), from_int64(type, b)};
    return to_int64(type, apply(primitive, type, arguments));
  };
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(apply2(P::Quotient, T::I64, 7, 0), 0);
  EXPECT_EQ(apply2(P::FloorDivide, T::U8, 7, 0), 0);
  EXPECT_EQ(apply2(P::Modulo, T::I32, -7, 0), -7);
  EXPECT_EQ(apply2(P::Remainder, T::I32, -7, 0), -7);
  EXPECT_EQ(apply2(P::Quotient, T::I64, least, -1), least);
  EXPECT_EQ(apply2(P::FloorDivide, T::I64, least, -1), least);
  EXPECT_EQ(apply2(P::Modulo, T::I64, least, -1), 0);
  EXPECT_EQ(apply2(P::Remainder, T::I64, least, -1), 0);
  EXPECT_EQ(apply2(P::ShiftLeft, T::I32, 1, 32), 0);
  EXPECT_EQ(apply2(P::ShiftLeft, T::I32, 1, -1), 0);
  EXPECT_EQ(apply2(P::ShiftRight, T::I32, -5, 40), -1);
  EXPECT_EQ(apply2(P::ShiftRight, T::I32, -5, -1), -1);
  EXPECT_EQ(apply2(P::ShiftRight, T::U32, 5, 32), 0);
  EXPECT_EQ(apply2(P::FloorDivide, T::I8, -7, 2), -4);
  EXPECT_EQ(apply2(P::Quotient, T::I8, -7, 2), -3);
  EXPECT_EQ(apply2(P::Modulo, T::I8, -7, 3), 2);
  EXPECT_EQ(apply2(P::Remainder, T::I8, -7, 3), -1);
}

TEST(Integer, bool_has_logic_equality_and_extremes) {
  const auto apply2 = [](P primitive, Bits a, Bits b) {
    const std::array<Bits, 2> arguments{a, b};
    return apply(primitive, T::Bool, std::span(arguments).first(static_cast<std::size_t>(row_of(primitive).arity)));
  };
  for (Bits a : {0u, 1u}) {
    EXPECT_EQ(apply2(P::Not, a, 0), 1 - a);
    for (Bits b : {0u, 1u}) {
      EXPECT_EQ(apply2(P::And, a, b), a * b);
      EXPECT_EQ(apply2(P::Minimum, a, b), a * b);
      EXPECT_EQ(apply2(P::Or, a, b), a + b > 0 ? 1u : 0u);
      EXPECT_EQ(apply2(P::Maximum, a, b), a + b > 0 ? 1u : 0u);
      EXPECT_EQ(apply2(P::Equal, a, b), a == b ? 1u : 0u);
      EXPECT_EQ(apply2(P::NotEqual, a, b), a != b ? 1u : 0u);
    }
  }
  EXPECT_THROW(apply2(P::Add, 1, 1), Bug);
}

}  // namespace
}  // namespace ulpian
