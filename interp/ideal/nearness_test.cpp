// Where the canonical answer is the ideal one by the look of the definition; each case is decided by hand.
#include "interp/ideal/nearness.h"

#include <gtest/gtest.h>

#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

bool decided(const std::string& body) {
  const language::SourceText source{"test.ulp", "op test.Op { in x: f32[N] in h: f16[N] in b: i8[N] in d: f64[N] " + body + " }"};
  auto specification = language::Specification::load(std::span(&source, 1));
  if (!specification) return ADD_FAILURE() << to_string(specification.error()), false;
  language::Call call;
  call.op = "test.Op";
  call.version = 1;
  for (ElementType type : {ElementType::F32, ElementType::F16, ElementType::I8, ElementType::F64}) {
    language::InputDescription d;
    d.type = type;
    d.extents.push_back({5, {}});
    call.inputs.push_back(std::move(d));
  }
  auto program = language::elaborate(**specification, call);
  if (!program) return ADD_FAILURE() << body << ": " << to_string(program.error()), false;
  return nearnesses(*program).decides(*program, 0);
}

TEST(Nearness, OfMovesAndSingleOperationsDecides) {
  for (const char* body : {
           "out y: f32[N] y[i] = x[N - 1 - i]",
           "out y: f32[N] y[i] = if x[i] < 0 then -x[i] else x[0]",
           "out y: f32[N] y[i] = x[i] + x[0]",
           "out y: f32[N] y[i] = max(x[i] / x[0], -abs(x[i] * x[1]))",  // rounding is monotone and odd
           "out y: f32[N] y[i] = exp(x[i])",
           "out y: f16[N] y[i] = cast(f16, x[i])",
           "out y: f16[N] y[i] = cast(f16, cast(f32, h[i]))",
           "out y: f32[N] y[i] = cast(f32, b[i]) * x[i]",  // 24 bits hold any i8
           "out y: f32[] y[] = max(i < N) x[i]",
           "out y: i8[] y[] = sum[i8](i < N) b[i]",
           "out y: i8[N] y[i] = cast(i8, x[i])",
           "out y: bool[N] y[i] = x[i] == x[0]",
       })
    EXPECT_TRUE(decided(body)) << body;
}

TEST(Nearness, DoesNotDecideWhereSomethingRoundsBefore) {
  for (const char* body : {
           "out y: f32[N] y[i] = x[i] + x[0] + x[1]",
           "out y: f16[N] y[i] = cast(f16, cast(f32, h[i]) + x[i])",
           "out y: bool[N] y[i] = x[i] + x[0] == x[1]",
           "out y: i8[N] y[i] = cast(i8, x[i] / x[0])",
           "out y: f32[N] y[i] = if x[i] * x[0] < 1 then x[i] else x[0]",
           "out y: f32[] y[] = sum[f32](i < N) x[i]",
           "out y: f32[N] t[i < N] = x[i] * x[0] y[i] = sqrt(t[i])",
           "out y: f64[N] y[i] = exp(d[i])",             // an edition may have 0.5001 ULP
           "out y: f32[N] y[i] = sign(x[i] * x[0])",     // an underflow is a zero
           "out y: f64[N] y[i] = cast(f64, x[i] * x[0])",
       })
    EXPECT_FALSE(decided(body)) << body;
}

}  // namespace
}  // namespace ulpian::interp
