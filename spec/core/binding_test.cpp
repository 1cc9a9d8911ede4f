#include "spec/core/binding.h"

#include <gtest/gtest.h>

#include "spec/core/builder.h"

namespace ulpian::core {
namespace {

using Shapes = std::vector<std::optional<InputShape>>;

// f(x: f32[N], y: f32[N + 1, M]), and an argument that is not used.
Program sample() {
  Builder b;
  const TermId n = b.size(b.fresh_size("N")), m = b.size(b.fresh_size("M"));
  const auto input = [&](const char* name, std::vector<TermId> extents) {
    TensorNode t;
    t.name = name;
    t.type = ElementType::F32;
    t.kind = TensorKind::Input;
    t.extents = std::move(extents);
    return b.add(std::move(t));
  };
  const TensorId x = input("x", {n}), y = input("y", {b.primitive(Primitive::Add, n, b.integer(1)), m});
  b.program().op = "test.F";
  b.program().inputs = {x, None, y};
  return b.finish();
}

// N + 1, of the sizes that are known.
std::optional<std::int64_t> value(const Program& p, const Sizes& sizes, TermId id) {
  const Term& t = p.term(id);
  if (t.kind == TermKind::Size) return sizes[t.data];
  if (t.kind == TermKind::Constant) return static_cast<std::int64_t>(t.data);
  std::int64_t sum = 0;
  for (TermId a : p.arguments_of(id)) sum += *value(p, sizes, a);
  return sum;
}

std::string failure(const Shapes& shapes) {
  const Program p = sample();
  Sizes sizes(p.sizes.size());
  if (const auto wrong = bind_inputs(p, shapes, sizes)) return wrong->message;
  if (const auto wrong = check_extents(p, shapes, [&](TermId e) { return value(p, sizes, e); })) return wrong->message;
  return {};
}

const InputShape Three{ElementType::F32, {3}}, FourByTwo{ElementType::F32, {4, 2}};

TEST(Binding, SizesAreTheExtentsOfInputs) {
  const Program p = sample();
  Sizes sizes(p.sizes.size());
  const Shapes shapes = {Three, std::nullopt, FourByTwo};
  EXPECT_FALSE(bind_inputs(p, shapes, sizes));
  EXPECT_EQ(sizes, (Sizes{3, 2}));
  EXPECT_FALSE(check_extents(p, shapes, [&](TermId e) { return value(p, sizes, e); }));
}

TEST(Binding, ExtentsThatDoNotFollowAreNotChecked) {
  const Program p = sample();
  EXPECT_FALSE(check_extents(p, Shapes{Three, std::nullopt, FourByTwo}, [](TermId) { return std::nullopt; }));
}

TEST(Binding, TheFirstThingThatDoesNotFitIsNamed) {
  EXPECT_EQ(failure({Three}), "test.F: takes 3 inputs, not 1");
  EXPECT_EQ(failure({Three, std::nullopt, std::nullopt}), "test.F: input \"y\" is missing");
  EXPECT_EQ(failure({Three, std::nullopt, InputShape{ElementType::I32, {4, 2}}}), "test.F: input \"y\" is of i32, not f32");
  EXPECT_EQ(failure({Three, std::nullopt, InputShape{ElementType::F32, {4}}}), "test.F: input \"y\" has extents [4], not 2 axes");
  EXPECT_EQ(failure({Three, std::nullopt, InputShape{ElementType::F32, {5, 2}}}), "test.F: input \"y\" has extents [5, 2]; axis 0 must be 4");
}

}  // namespace
}  // namespace ulpian::core
