#include <gtest/gtest.h>

#include "spec/core/builder.h"

namespace ulpian::core {
namespace {

using P = Primitive;

TensorId input(Builder& b, const char* name, ElementType type, std::vector<TermId> extents) {
  TensorNode n;
  n.name = name;
  n.type = type;
  n.extents = std::move(extents);
  const TensorId id = b.add(std::move(n));
  b.program().inputs.push_back(id);
  return id;
}

TensorId comprehension(Builder& b, const char* name, std::vector<Variable> variables, std::vector<TermId> extents, TermId body) {
  TensorNode n;
  n.name = name;
  n.type = b.type_of(body);
  n.kind = TensorKind::Comprehension;
  n.variables = std::move(variables);
  n.extents = std::move(extents);
  n.body = body;
  return b.add(std::move(n));
}

TEST(Print, AProgramReadsLikeTheLanguage) {
  Builder b;
  b.program().op = "onnx.MatMul";
  const TermId m = b.size(b.fresh_size("M")), k = b.size(b.fresh_size("K")), n = b.size(b.fresh_size("N"));
  const TensorId x = input(b, "A", ElementType::F16, {m, k}), y = input(b, "B", ElementType::F16, {k, n});
  const Variable i = b.fresh("i"), j = b.fresh("j"), l = b.fresh("k");
  const TermId xi[2] = {b.variable(i), b.variable(l)}, yi[2] = {b.variable(l), b.variable(j)};
  const TermId factors[2] = {b.read(x, xi), b.read(y, yi)};
  const TermId dot = b.reduce(ReduceKind::Dot, ElementType::F32, std::span(&l, 1), std::span(&k, 1), None, false, None, factors);
  const TensorId out = comprehension(b, "Y", {i, j}, {m, n}, b.cast(ElementType::F16, dot, CastMode::Plain));
  b.program().outputs = {out};
  b.program().output_names = {"Y"};
  const Program p = b.finish();
  EXPECT_EQ(verify(p), std::nullopt);
  EXPECT_EQ(to_string(p),
            "# onnx.MatMul\n"
            "in A: f16[M, K]\n"
            "in B: f16[K, N]\n"
            "Y[i < M, j < N]: f16 = cast(f16, dot[f32](k < K) A[i, k] * B[k, j])\n"
            "out Y = Y\n");
}

TEST(Print, VariablesOfOneNameAreToldApartFromEachOtherAndFromSizesAndTensors) {
  Builder b;
  const TermId n = b.size(b.fresh_size("n"));
  const TensorId x = input(b, "x", ElementType::F32, {n});
  const Variable v = b.fresh("n"), w = b.fresh("n"), u = b.fresh("x");
  const TermId vi = b.variable(v), wi = b.variable(w), ui = b.variable(u);
  const TermId inner = b.read(x, std::span(&wi, 1));
  const TermId sum = b.reduce(ReduceKind::Sum, ElementType::F32, std::span(&w, 1), std::span(&n, 1), None, false, None, std::span(&inner, 1));
  const TermId outer = b.read(x, std::span(&ui, 1));
  const TermId top = b.reduce(ReduceKind::Maximum, ElementType::F32, std::span(&u, 1), std::span(&n, 1), b.primitive(P::Less, ui, vi), true, None, std::span(&outer, 1));
  comprehension(b, "y", {v}, {n}, b.primitive(P::Subtract, sum, top));
  const std::string text = to_string(b.program());
  EXPECT_NE(text.find("y[n_2 < n]: f32 = (sum[f32](n_3 < n) x[n_3]) - (max(x_2 < n if x_2 < n_2?) x[x_2])"), std::string::npos) << text;
}

TEST(Print, ParenthesesFollowTheGrammar) {
  Builder b;
  const TermId one = b.constant(ElementType::F32, 0x3f800000), tenth = b.constant(ElementType::F32, 0x3dcccccd), minus = b.constant(ElementType::F32, 0xc0000000);
  const TermId difference = b.primitive(P::Subtract, one, b.primitive(P::Subtract, tenth, one));
  EXPECT_EQ(to_string(b.program(), difference), "1 - (0.1 - 1)");
  EXPECT_EQ(to_string(b.program(), b.primitive(P::Multiply, difference, b.primitive(P::Negate, minus))), "(1 - (0.1 - 1)) * -(-2)");
  const TermId less = b.primitive(P::Less, one, tenth);
  const TermId both = b.primitive(P::And, less, b.primitive(P::Not, b.primitive(P::Or, less, b.primitive(P::Equal, one, minus))));
  EXPECT_EQ(to_string(b.program(), both), "1 < 0.1 and not (1 < 0.1 or 1 == -2)");
  EXPECT_EQ(to_string(b.program(), b.primitive(P::Add, b.select(less, one, tenth), one)), "(if 1 < 0.1 then 1 else 0.1) + 1");
  EXPECT_EQ(to_string(b.program(), b.primitive(P::Exp, b.primitive(P::Minimum, one, minus))), "exp(min(1, -2))");
}

TEST(Print, SharedTermsMakeTheTextLinearNotExponential) {
  Builder b;
  TermId t = b.primitive(P::Exp, b.constant(ElementType::F32, 0x3f800000));
  for (int k = 0; k < 200; ++k) t = b.primitive(P::Add, t, t);
  comprehension(b, "y", {}, {}, t);
  const std::string text = to_string(b.program());
  EXPECT_LT(text.size(), 10000u);
  EXPECT_NE(text.find("#2 = #1 + #1\n"), std::string::npos) << text;
}

TEST(Print, DeepTermsNeedNoStack) {
  Builder b;
  TermId t = b.constant(ElementType::F32, 0x3f800000);
  for (int k = 0; k < 200000; ++k) t = b.primitive(P::Exp, t);
  EXPECT_GT(to_string(b.program(), t).size(), 200000u * 5);
  EXPECT_EQ(verify(b.program()), std::nullopt);
}

}  // namespace
}  // namespace ulpian::core
