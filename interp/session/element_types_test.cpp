// Elements of complex types, of fewer than eight bits, and bits read as another type: both evaluators and the allowed answer, on values
// worked out by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "interp/allowed/allowed.h"
#include "interp/evaluate/evaluate.h"
#include "interp/scalar/scalar.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

using E = ElementType;
using Inputs = std::vector<std::optional<Tensor>>;

Tensor bits_tensor(E type, const std::vector<Bits>& bits) {
  Tensor t(type, {static_cast<std::int64_t>(bits.size())});
  for (std::size_t k = 0; k < bits.size(); ++k) t.set(static_cast<std::int64_t>(k), bits[k]);
  return t;
}

Tensor complex_tensor(E type, const std::vector<std::pair<double, double>>& values) {
  Tensor t(type, {static_cast<std::int64_t>(values.size())});
  const auto width = static_cast<std::size_t>(bytes_of(part_of(type)));
  std::byte* to = t.writable_bytes().data();
  for (const auto& [re, im] : values)
    for (const double x : {re, im}) {
      const Bits b = from_double(part_of(type), x);
      std::memcpy(to, &b, width);
      to += width;
    }
  return t;
}

// A definition given as text, applied to vectors.
Result<core::Program> elaborated(const std::string& body, const std::vector<Tensor>& inputs) {
  const language::SourceText source{"test.ulp", "op test.Op { " + body + " }"};
  auto specification = language::Specification::load(std::span(&source, 1));
  if (!specification) return specification.error();
  language::Call call;
  call.op = "test.Op";
  call.version = 1;
  for (const Tensor& t : inputs) {
    language::InputDescription d;
    d.type = t.type();
    for (const std::int64_t n : t.extents()) d.extents.push_back({n, {}});
    call.inputs.push_back(std::move(d));
  }
  return language::elaborate(**specification, call);
}

// What both evaluators say, which is one thing.
Tensor answer(const std::string& body, const std::vector<Tensor>& inputs) {
  auto program = elaborated(body, inputs);
  if (!program) {
    ADD_FAILURE() << to_string(program.error());
    return Tensor(E::Bool, {0});
  }
  const Inputs given(inputs.begin(), inputs.end());
  auto block = evaluate(*program, given, {});
  auto scalar = evaluate_scalar(*program, given, {});
  if (!block || !scalar) {
    ADD_FAILURE() << to_string(block ? scalar.error() : block.error());
    return Tensor(E::Bool, {0});
  }
  const Tensor &a = *(*block)[0], &b = *(*scalar)[0];
  EXPECT_TRUE(a.type() == b.type() && a.extents() == b.extents() && std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
  return a;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.extents() == b.extents() && std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

AllowedTensor allowed_of(const std::string& body, const Tensor& input) {
  auto program = elaborated(body, {input});
  if (!program) throw std::runtime_error(to_string(program.error()));
  const std::vector<std::optional<AllowedTensor>> given{AllowedTensor::exactly(input)};
  auto sets = evaluate_allowed(*program, given, *profile_named("standard"), {});
  if (!sets) throw std::runtime_error(to_string(sets.error()));
  return std::move(*(*sets)[0]);
}

TEST(ComplexNumbers, AreMovedBitForBit) {
  for (const E type : {E::C64, E::C128}) {
    const std::string name(name_of(type));
    const Tensor x = complex_tensor(type, {{1, -2}, {-0.0, 0.5}, {3, -0.0}});
    EXPECT_TRUE(same_bytes(answer("in x: " + name + "[N] out y: " + name + "[N] y[i] = x[N - 1 - i]", {x}), complex_tensor(type, {{3, -0.0}, {-0.0, 0.5}, {1, -2}})));
    EXPECT_TRUE(same_bytes(answer("in x: " + name + "[N] out y: " + name + "[4] y[i] = x[i - 1] else 7", {x}), complex_tensor(type, {{7, 0}, {1, -2}, {-0.0, 0.5}, {3, -0.0}})));
  }
}

TEST(ComplexNumbers, AreComparedByBothParts) {
  const Tensor x = complex_tensor(E::C64, {{1, 2}, {1, 2}, {0.0, 1}, {std::numeric_limits<double>::quiet_NaN(), 0}}), y = complex_tensor(E::C64, {{1, 2}, {1, 3}, {-0.0, 1}, {std::numeric_limits<double>::quiet_NaN(), 0}});
  EXPECT_TRUE(same_bytes(answer("in x: c64[N] in y: c64[N] out z: bool[N] z[i] = x[i] == y[i]", {x, y}), bits_tensor(E::Bool, {1, 0, 1, 0})));
  EXPECT_TRUE(same_bytes(answer("in x: c64[N] in y: c64[N] out z: bool[N] z[i] = x[i] != y[i]", {x, y}), bits_tensor(E::Bool, {0, 1, 0, 1})));
}

// (1 + 2i)(3 - i) = 5 + 5i; i * i = -1; sums by components.
TEST(ComplexNumbers, HaveSumsAndProducts) {
  const Tensor x = complex_tensor(E::C128, {{1, 2}, {0, 1}}), y = complex_tensor(E::C128, {{3, -1}, {0, 1}});
  EXPECT_TRUE(same_bytes(answer("in x: c128[N] in y: c128[N] out z: c128[N] z[i] = x[i] * y[i]", {x, y}), complex_tensor(E::C128, {{5, 5}, {-1, 0}})));
  EXPECT_TRUE(same_bytes(answer("in x: c128[N] in y: c128[N] out z: c128[N] z[i] = x[i] - y[i]", {x, y}), complex_tensor(E::C128, {{-2, 3}, {0, 0}})));
  EXPECT_TRUE(same_bytes(answer("in x: c128[N] in y: c128[N] out z: c128[1] z[i] = dot(k < N) x[k] * y[k]", {x, y}), complex_tensor(E::C128, {{4, 5}})));
  EXPECT_TRUE(same_bytes(answer("in x: c128[N] in y: c128[N] out z: c128[1] z[i] = sum(k < N) (x[k] + y[k])", {x, y}), complex_tensor(E::C128, {{4, 3}})));
  EXPECT_TRUE(same_bytes(answer("in x: c128[N] in y: c128[N] out z: c128[1] z[i] = prod(k < N) x[k]", {x, y}), complex_tensor(E::C128, {{-2, 1}})));
}

TEST(ComplexNumbers, HaveNoOrder) {
  const Tensor x = complex_tensor(E::C64, {{1, 2}});
  EXPECT_FALSE(elaborated("in x: c64[N] out z: bool[N] z[i] = x[i] < x[i]", {x}));
}

TEST(ComplexNumbers, AreSinglesInTheAllowedAnswer) {
  const Tensor x = complex_tensor(E::C64, {{1, -2}, {3, 4}});
  const AllowedTensor set = allowed_of("in x: c64[N] out y: c64[N] y[i] = x[N - 1 - i]", x);
  EXPECT_TRUE(same_bytes(set.lower(), complex_tensor(E::C64, {{3, 4}, {1, -2}})));
  EXPECT_EQ(set.flags()[0], 0);
  EXPECT_EQ(set.describe(0), "(3, 4)");
}

// Their sums may be taken in any order, and a product as three multiplications or with fused steps: the canonical answer is not the only member.
TEST(ComplexNumbers, HaveNoSetsWhereOrderOrFormMatters) {
  const Tensor x = complex_tensor(E::C64, {{1e8, 0}, {1, 0}, {-1e8, 0}});
  const std::vector<std::optional<AllowedTensor>> given{AllowedTensor::exactly(x)};
  const std::string head = "in x: c64[N] ";
  for (const char* body : {"out y: c64[] y[] = sum(k < N) x[k]", "out y: c64[] y[] = prod(k < N) x[k]", "out y: c64[] y[] = dot(k < N) x[k] * x[k]", "out y: c64[N] y[i] = x[i] * x[i]",
                           "out y: c64[1] y = scatter(u < N) x[u] at [0] into each(i < 1) x[i] by \"add\""}) {
    const auto program = elaborated(head + body, {x});
    ASSERT_TRUE(program) << to_string(program.error());
    const auto sets = evaluate_allowed(*program, given, *profile_named("standard"), {});
    ASSERT_FALSE(sets) << body;
    EXPECT_EQ(sets.error().kind, ErrorKind::Unsupported) << to_string(sets.error());
    EXPECT_TRUE(evaluate_allowed(*program, given, *profile_named("canonical"), {})) << body;
  }
  EXPECT_TRUE(evaluate_allowed(*elaborated(head + "out y: c64[N] y[i] = x[i] + x[0]", {x}), given, *profile_named("standard"), {}));
}

TEST(Reinterpretation, KeepsTheBits) {
  const auto from = [](std::string_view a, std::string_view b) {
    return "in x: " + std::string(a) + "[N] out y: " + std::string(b) + "[N] y[i] = bits(" + std::string(b) + ", x[i])";
  };
  EXPECT_TRUE(same_bytes(answer(from("f32", "u32"), {bits_tensor(E::F32, {0x3f800000, 0x80000000, 0xffc12345})}), bits_tensor(E::U32, {0x3f800000, 0x80000000, 0xffc12345})));
  EXPECT_TRUE(same_bytes(answer(from("i4", "f4e2m1"), {bits_tensor(E::I4, {0, 9, 15})}), bits_tensor(E::F4E2M1, {0, 9, 15})));
  EXPECT_TRUE(same_bytes(answer(from("f6e2m3", "f6e3m2"), {bits_tensor(E::F6E2M3, {63, 1, 32})}), bits_tensor(E::F6E3M2, {63, 1, 32})));
  EXPECT_TRUE(same_bytes(answer(from("u2", "i2"), {bits_tensor(E::U2, {3, 1})}), bits_tensor(E::I2, {3, 1})));
  EXPECT_TRUE(same_bytes(answer(from("c64", "u64"), {complex_tensor(E::C64, {{1, -0.0}})}), bits_tensor(E::U64, {0x800000003f800000})));
  EXPECT_TRUE(same_bytes(answer(from("f64", "c64"), {bits_tensor(E::F64, {0xc00000003f800000})}), complex_tensor(E::C64, {{1, -2}})));
  for (const auto& [a, b] : {std::pair{"f32", "u64"}, {"bool", "u8"}, {"string", "u8"}, {"c128", "f64"}})
    EXPECT_FALSE(elaborated(from(a, b), {Tensor(*element_type_named(a), {1})})) << a << " " << b;
}

TEST(Reinterpretation, IsCertainButForNan) {
  const std::string to_integer = "in x: f32[N] out y: i32[N] y[i] = bits(i32, x[i])";
  const AllowedTensor set = allowed_of(to_integer, bits_tensor(E::F32, {0x3f800000, 0x80000000, 0x7fc00000, 1}));
  for (const auto& [at, value] : {std::pair{0, Bits{0x3f800000}}, {1, Bits{0x80000000}}, {3, Bits{1}}}) {
    EXPECT_TRUE(set.is_exact(at)) << set.describe(at);
    EXPECT_TRUE(set.contains(at, value)) << set.describe(at);
  }
  EXPECT_TRUE(set.contains(2, 0xffc00001)) << set.describe(2);
  const AllowedTensor floats = allowed_of("in x: i32[N] out y: f32[N] y[i] = bits(f32, x[i])", bits_tensor(E::I32, {0x3f800000, 0x7fc00001, 0x80000000}));
  EXPECT_TRUE(floats.is_exact(0) && floats.contains(0, 0x3f800000));
  EXPECT_TRUE(floats.contains(1, 0xffffffff));
  EXPECT_FALSE(floats.contains(1, 0x3f800000));
  EXPECT_TRUE(floats.contains(2, 0x80000000));
  EXPECT_FALSE(floats.contains(2, 0));
}

// The product is anywhere between its roundings, so its bits may be any.
TEST(Reinterpretation, OfWhatIsNoSingleValueMayBeAnything) {
  const AllowedTensor set = allowed_of("in x: f32[N] out y: i32[N] y[i] = bits(i32, exp(x[i]))", bits_tensor(E::F32, {0x3f800000}));
  EXPECT_TRUE(set.contains(0, 0x402df854));  // e
}

}  // namespace
}  // namespace ulpian::interp
