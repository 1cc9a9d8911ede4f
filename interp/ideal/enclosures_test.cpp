// Sums and products of f64 against exact sums of integers of 128 bits: found quickly, and right.
#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "interp/ideal/ideal.h"
#include "spec/core/builder.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::ReduceKind;
using core::TensorId;
using core::TermId;
using core::Variable;

__extension__ using Wide = __int128;

// An integer of at most 53 bits times 2^scale; now and then one that makes sums cancel or end in ties.
std::int64_t drawn(std::mt19937_64& random, int kind) {
  const auto x = static_cast<std::int64_t>(random() >> 11) * (random() & 1 ? 1 : -1);
  switch (kind) {
    case 0: return x;
    case 1: return x >> (random() % 53);             // all magnitudes
    case 2: return random() % 4 ? x >> 52 : x;       // small ones beside large ones
    default: return (x >> 51) << (random() % 40);    // few bits
  }
}

class Sums : public ::testing::Test {
protected:
  TensorId input(const Extents& extents, int kind, std::vector<std::int64_t>& integers) {
    core::TensorNode n;
    n.type = ElementType::F64;
    for (std::int64_t e : extents) n.extents.push_back(b.integer(e));
    const TensorId id = b.add(std::move(n));
    b.program().inputs.push_back(id);
    Tensor t(ElementType::F64, extents);
    for (std::int64_t k = 0; k < t.size(); ++k) t.writable<double>()[k] = static_cast<double>(integers.emplace_back(drawn(random, kind)));
    inputs.emplace_back(std::move(t));
    return id;
  }
  TermId read(TensorId t, std::initializer_list<Variable> index) {
    std::vector<TermId> at;
    for (Variable v : index) at.push_back(b.variable(v));
    return b.read(t, at);
  }
  // y[variables] = kind(k < n) bodies; `exact` are the values by position.
  void expect(std::vector<Variable> variables, const Extents& extents, ReduceKind kind, Variable k, std::int64_t n, std::vector<TermId> bodies, const std::vector<Wide>& exact) {
    core::TensorNode y;
    y.kind = core::TensorKind::Comprehension;
    y.type = ElementType::F64;
    y.variables = std::move(variables);
    for (std::int64_t e : extents) y.extents.push_back(b.integer(e));
    const TermId extent = b.integer(n);
    y.body = b.reduce(kind, ElementType::F64, std::span(&k, 1), std::span(&extent, 1), None, false, None, bodies);
    b.program().outputs.push_back(b.add(std::move(y)));
    b.program().output_names.emplace_back("y");
    const core::Program program = b.finish();
    auto canonical = evaluate(program, inputs);
    ASSERT_TRUE(canonical);
    const auto ideal = ideal_answer(program, inputs, std::move(*canonical));
    ASSERT_TRUE(ideal) << to_string(ideal.error());
    EXPECT_TRUE(ideal->undecided.empty());
    std::int64_t ties = 0;
    for (std::size_t p = 0; p < exact.size(); ++p) {
      // The conversion rounds once, half to even.
      const auto want = static_cast<double>(exact[p]), got = ideal->outputs[0]->data<double>()[p];
      const double other = std::nextafter(want, exact[p] > static_cast<Wide>(want) ? HUGE_VAL : -HUGE_VAL);
      ties += exact[p] != static_cast<Wide>(want) && exact[p] - static_cast<Wide>(want) == static_cast<Wide>(other) - exact[p];
      ASSERT_EQ(std::bit_cast<std::uint64_t>(want), std::bit_cast<std::uint64_t>(got)) << "element " << p << ": " << got << ", not " << want;
    }
    // Ties are settled one by one, and few others.
    EXPECT_LE(ideal->by_elements, ties + std::ssize(exact) / 50);
  }

  core::Builder b;
  std::vector<std::optional<Tensor>> inputs;
  std::mt19937_64 random{20261201};
};

class SumsOfKind : public Sums, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(All, SumsOfKind, ::testing::Range(0, 4));

TEST_P(SumsOfKind, RowsAreExact) {
  constexpr std::int64_t Rows = 64, N = 3000;
  std::vector<std::int64_t> x;
  const TensorId a = input({Rows, N}, GetParam(), x);
  std::vector<Wide> exact(Rows);
  for (std::int64_t i = 0; i < Rows; ++i)
    for (std::int64_t k = 0; k < N; ++k) exact[static_cast<std::size_t>(i)] += x[static_cast<std::size_t>(i * N + k)];
  const Variable i = b.fresh("i"), k = b.fresh("k");
  expect({i}, {Rows}, ReduceKind::Sum, k, N, {read(a, {i, k})}, exact);
}

TEST_P(SumsOfKind, MatrixProductsAreExact) {
  constexpr std::int64_t M = 40, N = 50, K = 200;
  std::vector<std::int64_t> x, y;
  const TensorId a = input({M, K}, GetParam(), x), c = input({K, N}, GetParam(), y);
  std::vector<Wide> exact(M * N);
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t j = 0; j < N; ++j)
      for (std::int64_t k = 0; k < K; ++k) exact[static_cast<std::size_t>(i * N + j)] += Wide{x[static_cast<std::size_t>(i * K + k)]} * y[static_cast<std::size_t>(k * N + j)];
  const Variable i = b.fresh("i"), j = b.fresh("j"), k = b.fresh("k");
  expect({i, j}, {M, N}, ReduceKind::Dot, k, K, {read(a, {i, k}), read(c, {k, j})}, exact);
}

// Single rows: no factor is shared, products are summed as they are.
TEST_P(SumsOfKind, DotsOfRowsAreExact) {
  constexpr std::int64_t M = 200, K = 150;
  std::vector<std::int64_t> x, y;
  const TensorId a = input({M, K}, GetParam(), x), c = input({M, K}, GetParam(), y);
  std::vector<Wide> exact(M);
  for (std::int64_t i = 0; i < M; ++i)
    for (std::int64_t k = 0; k < K; ++k) exact[static_cast<std::size_t>(i)] += Wide{x[static_cast<std::size_t>(i * K + k)]} * y[static_cast<std::size_t>(i * K + k)];
  const Variable i = b.fresh("i"), k = b.fresh("k");
  expect({i}, {M}, ReduceKind::Dot, k, K, {read(a, {i, k}), read(c, {i, k})}, exact);
}

}  // namespace
}  // namespace ulpian::interp
