// What elaboration computes, against values worked out by hand, and the programs it makes.
#include <fmt/format.h>

#include "spec/language/language_test_support.h"

namespace ulpian::language::testing {
namespace {

TEST(StaticNumbers, AreExact) {
  EXPECT_EQ(shown("2 ** 100"), "2^100");
  EXPECT_EQ(shown("(2 ** 100 + 1) - 2 ** 100"), "1");
  EXPECT_EQ(shown("1 / 3 + 1 / 6"), "0.5");
  EXPECT_EQ(shown("2 / 3"), "2/3");
  EXPECT_EQ(shown("0.1 + 0.2 == 0.3"), "true");
  EXPECT_EQ(shown("9223372036854775807 + 1"), "9223372036854775808");
  EXPECT_EQ(shown("1e3"), "1000");
  EXPECT_EQ(shown("0xff"), "255");
  EXPECT_EQ(shown("2 ** -2"), "0.25");
  EXPECT_EQ(shown("-0.0"), "-0");
  EXPECT_EQ(shown("-0"), "0");
  EXPECT_EQ(shown("1 / inf"), "0");
  EXPECT_EQ(shown("-inf + inf"), "nan");
  EXPECT_EQ(shown("nan == nan"), "false");
  EXPECT_EQ(shown("0.0 == -0.0"), "true");
}

TEST(StaticNumbers, DivisionsFloorOrTruncate) {
  EXPECT_EQ(shown("[-7 div 2, -7 mod 2, -7 quot 2, -7 rem 2]"), "[-4, 1, -3, -1]");
  EXPECT_EQ(shown("[7 div -2, 7 mod -2, 7 quot -2, 7 rem -2]"), "[-4, -1, -3, 1]");
  EXPECT_EQ(shown("7.5 div 2"), "3");
  EXPECT_EQ(shown("7.5 mod 2"), "1.5");
  EXPECT_EQ(shown("ceil_div(7, 2)"), "4");
  EXPECT_EQ(shown("ceil_div(-7, 2)"), "-3");
  EXPECT_EQ(shown("1 div 0"), "1 div 0: division by zero");
}

TEST(StaticNumbers, RoundToIntegersAndHaveSignsAndRoots) {
  EXPECT_EQ(shown("[floor(-2.5), ceil(-2.5), round_even(2.5), round_even(3.5), trunc(-2.5)]"), "[-3, -2, 2, 4, -2]");
  EXPECT_EQ(shown("[abs(-3), sign(-3), sign(0), sqrt(2.25), reciprocal(8), min(2, 1), max(2, 1)]"), "[3, -1, 0, 1.5, 0.125, 1, 2]");
  EXPECT_EQ(shown("is_nan(0 / 0)"), "true");
  EXPECT_EQ(shown("is_inf(1 / 0)"), "true");
}

TEST(StaticNumbers, LimitsOfTypes) {
  EXPECT_EQ(shown("[lowest(i8), highest(i8), highest(u16), bits_of(f16), wide(bf16), wide(f64)]"), "[-128, 127, 65535, 16, f32, f64]");
  EXPECT_EQ(shown("highest(f16)"), "65504");
  EXPECT_EQ(shown("[is_float(f32), is_int(f32), is_signed(u8), is_complex(c64)]"), "[true, false, false, true]");
}

TEST(Lists, FunctionsOfThePreludeAndBuiltIn) {
  EXPECT_EQ(shown("ones(3) ++ zeros(2) ++ repeat(7, 2) ++ range(3)"), "[1, 1, 1, 0, 0, 7, 7, 0, 1, 2]");
  EXPECT_EQ(shown("[len([1, 2]), sum([1, 2, 3]), prod([2, 3]), min([3, 1]), max([3, 1]), sum([]), prod([])]"), "[2, 6, 6, 1, 3, 0, 1]");
  EXPECT_EQ(shown("[all([]), any([]), all([true, false]), any([true, false])]"), "[true, false, false, true]");
  EXPECT_EQ(shown("sort([3, 1, 2]) ++ reverse([1, 2])"), "[1, 2, 3, 2, 1]");
  EXPECT_EQ(shown("sort([\"b\", \"a\"])"), "[a, b]");
  EXPECT_EQ(shown("[find([5, 6], 6), find([5, 6], 7)]"), "[1, -1]");
  EXPECT_EQ(shown("[put([1, 2, 3], 1, 9), insert([1, 2], 1, 9), drop([1, 2, 3], 0)]"), "[[1, 9, 3], [1, 9, 2], [2, 3]]");
  EXPECT_EQ(shown("distinct([1, 2, 1, 3, 2])"), "[1, 2, 3]");
  EXPECT_EQ(shown("fold(fn(a, b) = a * 10 + b, 0, [1, 2, 3])"), "123");
  EXPECT_EQ(shown("fold(fn(a, b) = a + b, 0, range(380))"), "72010");
  EXPECT_EQ(shown("axes_of([-1, 0], [4, 5, 6])"), "[0, 2]");
  EXPECT_EQ(shown("axes_of([2, -1], [4, 5, 6])"), "axes [2, -1] name an axis twice");
  EXPECT_EQ(shown("axis_of(3, [4, 5, 6])"), "axis 3 is outside [-3, 3)");
  EXPECT_EQ(shown("[row_major([1, 2], [3, 4]), unravel(6, [3, 4])]"), "[6, [1, 2]]");
  EXPECT_EQ(shown("[1, 2] + [10, 20]"), "[11, 22]");
  EXPECT_EQ(shown("10 - [1, 2]"), "[9, 8]");
  EXPECT_EQ(shown("[1, [2, 3]] == [1, [2, 3]]"), "true");
  EXPECT_EQ(shown("[1] == [1, 1]"), "false");
  EXPECT_EQ(shown("[f32 == f32, f32 == f64, absent == absent]"), "[true, false, true]");
}

TEST(Lists, BroadcastingFollowsTheRight) {
  EXPECT_EQ(shown("broadcast([3, 1], [4])"), "[3, 4]");
  EXPECT_EQ(shown("broadcast([], [2])"), "[2]");
  EXPECT_EQ(shown("broadcast([0], [1])"), "[0]");
  EXPECT_EQ(shown("broadcast([2], [3])"), "extents 2 and 3 do not broadcast");
  EXPECT_EQ(shown("[fits([3], [2, 3]), fits([2], [2, 3]), fits([1, 1, 1], [2, 3])]"), "[true, false, false]");
}

TEST(Symbols, PolynomialsHaveOneForm) {
  EXPECT_EQ(shown_with("(D[0] + 2) - 2", {symbol("n")}), "n");
  EXPECT_EQ(shown_with("D[0] * 2 - D[0] - D[0]", {symbol("n")}), "0");
  EXPECT_EQ(shown_with("(D[0] + D[1]) * (D[0] - D[1]) == D[0] * D[0] - D[1] * D[1]", {symbol("n"), symbol("m")}), "true");
  EXPECT_EQ(shown_with("(4 * D[0] + 3) div 2 == 2 * D[0] + 1", {symbol("n")}), "true");
  EXPECT_EQ(shown_with("(4 * D[0] + 3) mod 2", {symbol("n")}), "1");
  EXPECT_EQ(shown_with("min(D[0], D[0] + 1) == D[0]", {symbol("n")}), "true");
  EXPECT_EQ(shown_with("D[0] < D[0] + 1", {symbol("n")}), "true");
  EXPECT_EQ(shown_with("D[0] == D[0] + 1", {symbol("n")}), "false");
  EXPECT_EQ(shown_with("D[0] == D[1]", {symbol("n"), symbol("n")}), "true");
}

core::Program program_of(const Result<core::Program>& r) {
  EXPECT_TRUE(r.ok()) << (r ? "" : to_string(r.error()));
  if (!r) return {};
  const auto broken = core::verify(*r);
  EXPECT_FALSE(broken) << broken.value_or("");
  return *r;
}

TEST(Symbols, AChoiceBetweenIntegersStaysInTheProgram) {
  const auto p = program_of(elaborated("op test.Op { in x: f32[N]  out y: f32[if N == 1 then 7 else N + 1]  y[i] = 0 }", {input(ElementType::F32, {symbol("n")})}));
  ASSERT_EQ(p.outputs.size(), 1u);
  EXPECT_EQ(core::to_string(p, p.tensor(p.outputs[0]).extents[0]), "if n == 1 then 7 else n + 1");
  EXPECT_TRUE(p.path.empty());
}

TEST(Symbols, ARefusedBranchIsARequirement) {
  const auto p = program_of(elaborated("op test.Op { in x: f32[N]  k = if N == 1 then refuse(\"one\") else N  out y: f32[k]  y[i] = x[i] }",
                                       {input(ElementType::F32, {symbol("n")})}));
  ASSERT_EQ(p.path.size(), 1u);
  EXPECT_EQ(core::to_string(p, p.path[0].term), "not n == 1");
}

TEST(Symbols, ARequirementUnderAGuardHoldsOnlyThere) {
  const auto p = program_of(elaborated(
      "op test.Inner { in x: f32[N]  require N > 3  out y: f32[]  y[] = x[0] }\n"
      "op test.Op { in x: f32[N]  out y: f32[]  y[] = if N == 1 then test.Inner(x)[] else x[0] }",
      {input(ElementType::F32, {symbol("n")})}));
  ASSERT_EQ(p.path.size(), 1u);
  EXPECT_EQ(core::to_string(p, p.path[0].term), "not n == 1 or n > 3");
}

TEST(Symbols, BroadcastingTwoUnknownExtentsIsOneProgramUnderACondition) {
  auto spec = with("");
  ASSERT_TRUE(spec.ok());
  Call call;
  call.op = "onnx.Add";
  call.version = 14;
  call.inputs = {input(ElementType::F32, {symbol("n")}), input(ElementType::F32, {symbol("m")})};
  const auto p = program_of(elaborate(**spec, call));
  ASSERT_EQ(p.path.size(), 1u);
  // For all small n, m the condition says what NumPy does: equal, or one of them 1.
  const std::string condition = core::to_string(p, p.path[0].term);
  EXPECT_NE(condition.find("n == m"), std::string::npos) << condition;
  EXPECT_NE(condition.find("n == 1"), std::string::npos) << condition;
  EXPECT_NE(condition.find("m == 1"), std::string::npos) << condition;
}

constexpr const char* Splits = "op test.Op { in x: f32[N]  k = if N == 1 then [N] else [N, N]  out y: f32[k...]  y[i...] = 0 }";

TEST(Symbols, StructureSplits) {
  auto one = elaborated(Splits, {input(ElementType::F32, {symbol("n")})});
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(one.error().message, "whether n == 1 holds decides the structure of test.Op, and nothing says it");
  auto spec = with(Splits);
  ASSERT_TRUE(spec.ok());
  Call call;
  call.op = "test.Op";
  call.version = 1;
  call.inputs = {input(ElementType::F32, {symbol("n")})};
  auto all = elaborate_all(**spec, call);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  std::size_t ranks = 0;
  for (const core::Program& p : *all) {
    EXPECT_FALSE(core::verify(p));
    EXPECT_EQ(p.path.size(), 1u);
    ranks += p.tensor(p.outputs[0]).extents.size();
  }
  EXPECT_EQ(ranks, 3u);
}

TEST(StaticInputs, KnownElementsTakePartInShapes) {
  InputDescription shape = input(ElementType::I64, {{2, {}}});
  shape.value = Tensor(ElementType::I64, {2});
  shape.value->set(0, 3);
  shape.value->set(1, 4);
  const char* text = "op test.Op { in x: f32[N]  in k: i64[2] static  out y: f32[k[0], k[1] + 1]  y[i, j] = x[i] }";
  const auto p = program_of(elaborated(text, {input(ElementType::F32, {{3, {}}}), shape}));
  EXPECT_EQ(core::to_string(p, p.tensor(p.outputs[0]).extents[1]), "5");
  shape.value.reset();
  const auto q = program_of(elaborated(text, {input(ElementType::F32, {{3, {}}}), shape}));
  EXPECT_EQ(core::to_string(q, q.tensor(q.outputs[0]).extents[1]), "k[1] + 1");
}

TEST(Programs, SharedTermsAreOne) {
  const auto p = program_of(elaborated("op test.Op { in x: f32[N]  out y: f32[N]  y[i] = exp(x[i]) + exp(x[i]) * exp(x[i]) }", {input(ElementType::F32, {{4, {}}})}));
  std::size_t exponentials = 0;
  for (const core::Term& t : p.terms)
    if (t.kind == core::TermKind::Primitive && static_cast<Primitive>(t.operation) == Primitive::Exp) ++exponentials;
  EXPECT_EQ(exponentials, 1u);
}

TEST(Programs, FloatsAreNeverSimplified) {
  const auto p = program_of(elaborated("op test.Op { in x: f32[N]  out y: f32[N]  y[i] = (x[i] + 0) * 1 - (x[i] - x[i]) * 0 }", {input(ElementType::F32, {{4, {}}})}));
  EXPECT_EQ(core::to_string(p, p.tensor(p.outputs[0]).body), "(x[i] + 0) * 1 - (x[i] - x[i]) * 0");
}

TEST(Programs, NegativeZeroIsNotZero) {
  const auto p = program_of(elaborated("op test.Op { in x: f32[N]  out y: f32[N]  y[i] = if x[i] > 1 then 0.0 else -0.0 }", {input(ElementType::F32, {{4, {}}})}));
  std::vector<Bits> constants;
  for (const core::Term& t : p.terms)
    if (t.kind == core::TermKind::Constant && t.type == ElementType::F32) constants.push_back(t.data);
  EXPECT_NE(std::find(constants.begin(), constants.end(), 0u), constants.end());
  EXPECT_NE(std::find(constants.begin(), constants.end(), 0x80000000u), constants.end());
}

TEST(Versions, TheNewestNotAboveTheOpsetIsInForce) {
  auto spec = with("op test.Op since 5, 3 { out y: i64[]  y[] = version }\nop test.Op since 9 { out y: i64[]  y[] = version }");
  ASSERT_TRUE(spec.ok()) << to_string(spec.error());
  EXPECT_EQ((*spec)->find("test.Op", 2), nullptr);
  for (auto [opset, since] : {std::pair{3, 3}, {4, 3}, {5, 5}, {8, 5}, {9, 9}, {100, 9}}) {
    const OperatorDefinition* d = (*spec)->find("test.Op", opset);
    ASSERT_NE(d, nullptr);
    EXPECT_EQ(version_in_force(*d, opset), since);
  }
}

TEST(Versions, AUsersDefinitionComesBeforeAShippedOne) {
  auto spec = with("op onnx.Abs since 13 { in x: f32[]  out y: f32[]  y[] = 42 }");
  ASSERT_TRUE(spec.ok());
  EXPECT_TRUE((*spec)->find("onnx.Abs", 20)->file->user);
  EXPECT_FALSE((*spec)->find("onnx.Abs", 7)->file->user);
}

// Every shipped operator, on its own examples: every program keeps the rules of core programs; then with every extent a symbol.
TEST(Shipped, ProgramsAreWellFormedAlsoWithEveryExtentSymbolic) {
  auto spec = with("");
  ASSERT_TRUE(spec.ok());
  ASSERT_TRUE((*spec)->load_all().ok());
  std::size_t programs = 0, one = 0, several = 0, refused = 0, other = 0;
  std::map<std::string, int> splitting, causes;
  for (const std::string& name : (*spec)->names())
    for (const OperatorDefinition* d : (*spec)->definitions(name)) {
      if (holds_graphs(*d)) continue;  // these need a host: interp/session's tests run them
      auto examples = examples_of(**spec, *d);
      ASSERT_TRUE(examples.ok()) << to_string(examples.error());
      std::string seen;
      for (const Example& e : *examples) {
        if (e.expects_error || e.expects_undefined) continue;
        auto p = elaborate(**spec, e.call);
        ASSERT_TRUE(p.ok() || p.error().kind == ErrorKind::Undefined) << e.title << ": " << to_string(p.error());
        if (!p) continue;
        ++programs;
        const auto broken = core::verify(*p);
        ASSERT_FALSE(broken) << e.title << ": " << *broken;
        // One type per example is enough for what extents do.
        const std::string title = e.title.substr(0, e.title.find(','));
        const std::string number = e.title.substr(title.size(), 14);
        if (title + number == seen) continue;
        seen = title + number;
        Call call = e.call;
        int n = 0;
        for (InputDescription& in : call.inputs)
          for (ExtentDescription& x : in.extents) x = symbol(fmt::format("n{}", n++));
        ElaborationLimits limits;
        limits.splits = 8;
        auto all = elaborate_all(**spec, call, limits);
        if (!all) {
          const ErrorKind k = all.error().kind;
          ASSERT_TRUE(k != ErrorKind::Definition) << e.title << ": " << to_string(all.error());
          ++(k == ErrorKind::Limit ? several : k == ErrorKind::Unsupported ? refused : other);
          if (k == ErrorKind::Limit) ++splitting[name];
          if (k == ErrorKind::Unsupported) ++causes[fmt::format("{}: {}", name, all.error().message)];
          continue;
        }
        for (const core::Program& q : *all) {
          const auto wrong = core::verify(q);
          ASSERT_FALSE(wrong) << e.title << ", symbolic: " << *wrong;
        }
        ++(all->size() == 1 ? one : several);
        if (all->size() > 1) ++splitting[name];
      }
    }
  for (const auto& [cause, count] : causes) fmt::print("{:4} {}\n", count, cause);
  std::string names;
  for (const auto& [name, count] : splitting) names += fmt::format(" {} ({})", name, count);
  fmt::print("{} programs; with every extent symbolic: {} of one program, {} of several, {} that need a concrete extent, {} refused\n  several:{}\n", programs, one,
             several, refused, other, names);
  EXPECT_GT(one, 4 * several);
}

}  // namespace
}  // namespace ulpian::language::testing
