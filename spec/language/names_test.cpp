#include "spec/language/names.h"

#include <gtest/gtest.h>

namespace ulpian::language {
namespace {

std::string missing(const std::string& definition) {
  const std::vector<SourceText> texts{{"t.ulp", definition}};
  auto spec = Specification::load(texts);
  if (!spec.ok()) return to_string(spec.error());
  const auto d = missing_name(**spec, *(*spec)->find("a.B", 1));
  return d ? d->message : "";
}

TEST(Names, ThatNothingBindsAreTold) {
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[N] y[i] = z[i] }"), "z is not defined");
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[M] y[i] = x[i] }"), "M is not defined");
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[N] y[i] = x[j] }"), "j is not defined");
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[N] require n > 1 \"{N}\" y[i] = x[i] }"), "n is not defined");
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[N] require N > 1 \"{n}\" y[i] = x[i] }"), "n is not defined");
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[N] y[i] = onnx.Rellu(x)[i] }"), "the operator onnx.Rellu is not defined");
  EXPECT_EQ(missing("op a.B { in x: f32[N] out y: f32[N] out z: f32[N] y[i] = x[i] }"), "the output z is not defined");
}

TEST(Names, OfEveryKindAreFound) {
  EXPECT_EQ(missing("fn twice(v) = v + v op a.B { in x: f32[N, D...] attr k: int = 1 out y: f32[N] M = N + k  fn f(v) = twice(v) y[i] = if M > 1 then f(sum(j... < D...) x[i, j...]) else abs(inf) }"), "");
}

TEST(Names, OfTheShippedDefinitionsAreAllBound) {
  auto spec = Specification::load();
  ASSERT_TRUE(spec.ok());
  ASSERT_TRUE((*spec)->load_all().ok());
  std::size_t definitions = 0;
  for (const std::string& name : (*spec)->names())
    for (const OperatorDefinition* d : (*spec)->definitions(name)) {
      ++definitions;
      const auto found = missing_name(**spec, *d);
      EXPECT_FALSE(found.has_value()) << name << ": " << to_string(*found);
    }
  EXPECT_GT(definitions, 200u);
}

}  // namespace
}  // namespace ulpian::language
