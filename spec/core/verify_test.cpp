#include <functional>

#include <gtest/gtest.h>

#include "spec/core/builder.h"

namespace ulpian::core {
namespace {

using P = Primitive;

// A program with one of each kind of node that verifies; every test breaks one promise.
struct Sample {
  Program program;
  TermId read, read_else, sum, fold, nth, select, primitive, cast, random;
  TensorId x, rows, filled, h, g, w, out;
};

TensorNode node(const char* name, ElementType type, TensorKind kind, std::vector<TermId> extents, std::vector<Variable> variables, TermId body) {
  TensorNode n;
  n.name = name;
  n.type = type;
  n.kind = kind;
  n.extents = std::move(extents);
  n.variables = std::move(variables);
  n.body = body;
  return n;
}

Sample sample() {
  Builder b;
  Sample s;
  const TermId n = b.size(b.fresh_size("N")), zero = b.constant(ElementType::F32, 0), one = b.integer(1);
  s.x = b.add(node("x", ElementType::F32, TensorKind::Input, {n}, {}, None));
  b.program().inputs = {s.x};
  const Variable i = b.fresh("i"), k = b.fresh("k"), t = b.fresh("t"), a = b.fresh("acc", ElementType::F32);
  const TermId iv = b.variable(i), kv = b.variable(k), tv = b.variable(t), av = b.variable(a);
  s.read = b.read(s.x, std::span(&kv, 1));
  const TermId before = b.primitive(P::Subtract, iv, one);
  s.read_else = b.read_else(s.x, std::span(&before, 1), zero, true);
  s.sum = b.reduce(ReduceKind::Sum, ElementType::F32, std::span(&k, 1), std::span(&n, 1), b.primitive(P::Less, kv, iv), true, zero, std::span(&s.read, 1));
  s.primitive = b.primitive(P::Add, av, s.read);
  s.fold = b.fold(std::span(&k, 1), std::span(&n, 1), a, zero, s.primitive);
  s.nth = b.nth(k, n, iv, std::span(&s.read, 1), true);
  s.select = b.select(b.primitive(P::Less, s.nth, n), s.sum, s.fold);
  s.random = b.random(iv, n, one);
  s.cast = b.cast(ElementType::F16, b.primitive(P::Multiply, s.select, s.read_else), CastMode::Plain);
  s.rows = b.add(node("y", ElementType::F16, TensorKind::Comprehension, {n}, {i}, s.cast));

  const auto group = b.add_recurrence({{t}, {n}, {}});
  const TermId earlier = b.primitive(P::Subtract, tv, one);
  s.h = b.add(node("h", ElementType::F32, TensorKind::Recurrence, {n}, {t}, None));
  s.g = b.add(node("g", ElementType::F32, TensorKind::Recurrence, {n}, {t}, None));
  b.node(s.h).group = b.node(s.g).group = group;
  b.recurrence(group).members = {s.h, s.g};
  b.node(s.h).body = b.read_else(s.g, std::span(&earlier, 1), zero, false);
  b.node(s.g).body = b.read(s.h, std::span(&tv, 1));

  const Size found = b.fresh_size("W");
  s.w = b.add(node("w", ElementType::Z, TensorKind::Where, {b.size(found), one}, {i}, b.primitive(P::Less, b.read(s.h, std::span(&iv, 1)), zero)));
  b.node(s.w).domain = {n};
  b.program().sizes[found].defined_by = s.w;

  s.filled = b.add(node("z", ElementType::F32, TensorKind::Scatter, {n}, {i}, zero));
  TensorNode& z = b.node(s.filled);
  z.domain = {b.size(found)};
  z.scatter.base = s.x;
  const TermId at[2] = {iv, b.integer(0)};
  z.scatter.index = {b.read(s.w, at)};
  s.out = s.filled;
  b.program().outputs = {s.rows, s.filled, None};
  b.program().output_names = {"y", "z", "u"};
  b.program().requirements.push_back({b.primitive(P::Less, n, b.integer(100)), "N is {N}", 0});
  s.program = b.finish();
  return s;
}

TEST(Verify, AProgramWithEveryKindOfNodeHolds) { EXPECT_EQ(verify(sample().program), std::nullopt); }

// Breaks one promise and asks that the answer names it.
void broken(const std::function<void(Sample&)>& breaks, std::string_view expected) {
  Sample s = sample();
  breaks(s);
  const auto found = verify(s.program);
  ASSERT_TRUE(found.has_value()) << "not noticed: " << expected;
  EXPECT_NE(found->find(expected), std::string::npos) << *found;
}

TEST(Verify, TermsKeepTheirPromises) {
  broken([](Sample& s) { s.program.arguments[s.program.terms[s.primitive].first] = s.cast; }, "does not stand before it");
  broken([](Sample& s) { s.program.terms[s.primitive].first = 1u << 30; }, "outside the program's");
  broken([](Sample& s) { s.program.terms[s.primitive].type = ElementType::F64; }, "does not yield f64");
  broken([](Sample& s) { s.program.terms[s.primitive].operation = static_cast<std::uint8_t>(P::BitAnd); }, "`bit_and` is not defined on f32");
  broken([](Sample& s) { s.program.terms[s.primitive].operation = static_cast<std::uint8_t>(P::Exp); }, "takes 1 arguments, not 2");
  broken([](Sample& s) { s.program.terms[s.primitive].operation = 250; }, "no primitive");
  broken([](Sample& s) { s.program.terms[s.primitive].free = 0; }, "free variables");
  broken([](Sample& s) { s.program.terms[s.primitive].flags = OptionalTerm; }, "flags");
  broken([](Sample& s) { s.program.terms[s.primitive].place = 77; }, "no place 77");
  broken([](Sample& s) { s.program.terms[s.read].data = 99; }, "no tensor 99");
  broken([](Sample& s) { s.program.terms[s.read].data = s.w; }, "reads f32 of Z");
  broken([](Sample& s) { s.program.terms[s.sum].binders = None; }, "binds no variables");
  broken([](Sample& s) { s.program.terms[s.sum].operation = static_cast<std::uint8_t>(ReduceKind::Dot); }, "arguments of a dot");
  broken([](Sample& s) { s.program.terms[s.sum].operation = static_cast<std::uint8_t>(ReduceKind::Any); }, "not of bool");
  broken([](Sample& s) { s.program.terms[s.sum].flags = OptionalFilter | HasInitial; }, "optional filter that is none");
  broken([](Sample& s) { s.program.terms[s.fold].type = ElementType::F64; }, "not of one type");
  broken([](Sample& s) { s.program.terms[s.nth].count = 2; }, "at least one key");
  broken([](Sample& s) { s.program.terms[s.cast].operation = static_cast<std::uint8_t>(CastMode::Up); }, "a mode of f8e8m0 for f16");
  broken([](Sample& s) { s.program.terms[s.random].type = ElementType::R; }, "a random number is of f64");
  broken([](Sample& s) { s.program.terms[s.random].count = 2; }, "a key, a position and a draw");
  broken([](Sample& s) { s.program.variables[0].type = ElementType::F32; }, "variable");
  broken([](Sample& s) { s.program.variable_sets[1] = {5, 5}; }, "variable set 1");
}

TEST(Verify, TensorsKeepTheirPromises) {
  broken([](Sample& s) { s.program.tensors[s.rows].type = ElementType::F32; }, "the body is of f16, not f32");
  broken([](Sample& s) { s.program.tensors[s.rows].variables.clear(); }, "0 variables for 1 axes");
  broken([](Sample& s) { s.program.tensors[s.rows].variables[0] = 1; }, "which is not bound");
  broken([](Sample& s) { s.program.tensors[s.rows].body = None; }, "no such term");
  broken([](Sample& s) { std::swap(s.program.recurrences[0].members[0], s.program.recurrences[0].members[1]); }, "not in order");
  broken([](Sample& s) { s.program.recurrences[0].members.pop_back(); }, "stands between the members");
  broken([](Sample& s) { s.program.tensors[s.h].variables[0] = 0; }, "not the recurrence's");
  broken([](Sample& s) { s.program.sizes[0].defined_by = s.x; }, "defines no size");
  broken([](Sample& s) { s.program.sizes[0].defined_by = s.w; }, "does not stand before it");
  broken([](Sample& s) { s.program.tensors[s.w].domain.clear(); }, "1 variables over 0 extents");
  broken([](Sample& s) { s.program.tensors[s.filled].scatter.base = s.filled; }, "base does not stand before it");
  broken([](Sample& s) { s.program.tensors[s.filled].scatter.base = s.rows; }, "another type or rank");
  broken([](Sample& s) { s.program.tensors[s.filled].scatter.index.clear(); }, "0 indices for 1 axes");
  broken([](Sample& s) { s.program.tensors[s.filled].kind = TensorKind::Literal; }, "a literal without its elements");
  broken([](Sample& s) { s.program.inputs.clear(); }, "not listed once among the inputs");
  broken([](Sample& s) { s.program.inputs.push_back(s.rows); }, "input 1 is no input tensor");
  broken([](Sample& s) { s.program.outputs[0] = s.w; }, "which no tensor of a program holds");
  broken([](Sample& s) { s.program.output_names.pop_back(); }, "2 names for 3 outputs");
  broken([](Sample& s) { s.program.unordered_axes = {1}; }, "no axis 1");
  broken([](Sample& s) { s.program.requirements[0].term = s.read; }, "a requirement is of f32, not bool");
}

}  // namespace
}  // namespace ulpian::core
