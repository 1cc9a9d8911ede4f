// How fast the block evaluator is on typical operators; one thread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "interp/evaluate/evaluate.h"
#include "spec/core/builder.h"

namespace ulpian::interp {
namespace {

using core::Builder;
using core::None;
using core::ReduceKind;
using core::TensorId;
using core::TensorKind;
using core::TensorNode;
using core::TermId;
using core::Variable;
using E = ElementType;
using P = Primitive;

struct Case {
  Builder b;
  std::vector<std::optional<Tensor>> inputs;

  TensorId input(const char* name, const Extents& extents) {
    TensorNode n;
    n.name = name;
    for (std::int64_t e : extents) n.extents.push_back(b.integer(e));
    const TensorId id = b.add(std::move(n));
    b.program().inputs.push_back(id);
    Tensor t(E::F32, extents);
    auto* x = t.writable<float>();
    for (std::int64_t k = 0; k < t.size(); ++k) x[k] = static_cast<float>((k * 7919) % 1000 - 500) / 257.0f;
    inputs.emplace_back(std::move(t));
    return id;
  }
  TensorId each(const char* name, std::vector<Variable> variables, const Extents& extents, TermId body) {
    TensorNode n;
    n.name = name;
    n.type = b.type_of(body);
    n.kind = TensorKind::Comprehension;
    n.variables = std::move(variables);
    for (std::int64_t e : extents) n.extents.push_back(b.integer(e));
    n.body = body;
    return b.add(std::move(n));
  }
  TermId read(TensorId t, std::vector<TermId> index) { return b.read(t, index); }
  TermId v(Variable x) { return b.variable(x); }
  TermId reduce(ReduceKind kind, std::vector<Variable> variables, const Extents& extents, std::vector<TermId> bodies) {
    std::vector<TermId> e;
    for (std::int64_t x : extents) e.push_back(b.integer(x));
    return b.reduce(kind, E::F32, variables, e, None, false, None, bodies);
  }
  TermId f32(float x) { return b.constant(E::F32, from_double(E::F32, static_cast<double>(x))); }
  void output(TensorId t) {
    b.program().outputs.push_back(t);
    b.program().output_names.emplace_back("y");
  }
  void run(benchmark::State& state, double operations = 0) {
    const core::Program program = b.finish();
    auto plan = Plan::make(program);
    if (!plan) return state.SkipWithError(to_string(plan.error()).c_str());
    for (auto _ : state) {
      auto out = plan->run(inputs);
      if (!out) return state.SkipWithError(to_string(out.error()).c_str());
      benchmark::DoNotOptimize(out);
    }
    if (operations > 0) state.counters["GFLOPS"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  }
};

void matrix_product(benchmark::State& state) {
  Case c;
  const std::int64_t n = state.range(0);
  const TensorId a = c.input("a", {n, n}), b = c.input("b", {n, n});
  const Variable i = c.b.fresh("i"), j = c.b.fresh("j"), k = c.b.fresh("k");
  c.output(c.each("y", {i, j}, {n, n}, c.reduce(ReduceKind::Dot, {k}, {n}, {c.read(a, {c.v(i), c.v(k)}), c.read(b, {c.v(k), c.v(j)})})));
  c.run(state, 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(matrix_product)->Arg(64)->Arg(256)->Arg(512)->Arg(1024)->Unit(benchmark::kMicrosecond);

void matrix_vector(benchmark::State& state) {
  Case c;
  const std::int64_t n = 512, depth = 128;
  const TensorId a = c.input("a", {depth}), b = c.input("b", {n, depth});
  const Variable j = c.b.fresh("j"), k = c.b.fresh("k");
  c.output(c.each("y", {j}, {n}, c.reduce(ReduceKind::Dot, {k}, {depth}, {c.read(a, {c.v(k)}), c.read(b, {c.v(j), c.v(k)})})));
  c.run(state, 2.0 * static_cast<double>(n * depth));
}
BENCHMARK(matrix_vector)->Unit(benchmark::kMicrosecond);

// As the definition of Conv writes it; groups: 1, or as many as channels (depthwise).
void convolution(benchmark::State& state) {
  Case c;
  const std::int64_t channels = state.range(0), size = state.range(1), window = state.range(2), groups = state.range(3), pad = window / 2;
  const std::int64_t per_in = channels / groups, per_out = channels / groups;
  const TensorId x = c.input("x", {1, channels, size, size}), w = c.input("w", {channels, per_in, window, window});
  const Variable n = c.b.fresh("n"), m = c.b.fresh("m"), p = c.b.fresh("p"), q = c.b.fresh("q"), d = c.b.fresh("c"), i = c.b.fresh("i"), j = c.b.fresh("j");
  const auto shifted = [&](Variable a, Variable s) { return c.b.primitive(P::Add, c.b.primitive(P::Add, c.v(a), c.v(s)), c.b.integer(-pad)); };
  const TermId group = c.b.primitive(P::FloorDivide, c.v(m), c.b.integer(per_out));
  const TermId channel = c.b.primitive(P::Add, c.b.primitive(P::Multiply, group, c.b.integer(per_in)), c.v(d));
  const std::vector<TermId> index{c.v(n), channel, shifted(p, i), shifted(q, j)};
  const TermId value = c.b.read_else(x, index, c.f32(0), true);
  c.output(c.each("y", {n, m, p, q}, {1, channels, size, size},
                  c.reduce(ReduceKind::Dot, {d, i, j}, {per_in, window, window}, {value, c.read(w, {c.v(m), c.v(d), c.v(i), c.v(j)})})));
  c.run(state, 2.0 * static_cast<double>(channels * size * size * per_in * window * window));
}
BENCHMARK(convolution)->Args({64, 56, 3, 1})->Args({64, 56, 1, 1})->Args({64, 56, 3, 64})->Args({16, 24, 3, 1})->Unit(benchmark::kMicrosecond);

void softmax(benchmark::State& state) {
  Case c;
  const std::int64_t rows = 512, columns = 1000;
  const TensorId x = c.input("x", {rows, columns});
  const Variable i = c.b.fresh("i"), j = c.b.fresh("j"), k = c.b.fresh("k"), l = c.b.fresh("l");
  const TermId most = c.reduce(ReduceKind::Maximum, {k}, {columns}, {c.read(x, {c.v(i), c.v(k)})});
  const auto term = [&](Variable a) { return c.b.primitive(P::Exp, c.b.primitive(P::Subtract, c.read(x, {c.v(i), c.v(a)}), most)); };
  const TermId sum = c.reduce(ReduceKind::Sum, {l}, {columns}, {term(l)});
  c.output(c.each("y", {i, j}, {rows, columns}, c.b.primitive(P::Divide, term(j), sum)));
  c.run(state);
}
BENCHMARK(softmax)->Unit(benchmark::kMicrosecond);

void addition(benchmark::State& state) {
  Case c;
  const std::int64_t rows = 1024, columns = 1024;
  const bool broadcast = state.range(0) != 0;
  const TensorId x = c.input("x", {rows, columns}), y = broadcast ? c.input("y", {columns}) : c.input("y", {rows, columns});
  const Variable i = c.b.fresh("i"), j = c.b.fresh("j");
  const TermId other = broadcast ? c.read(y, {c.v(j)}) : c.read(y, {c.v(i), c.v(j)});
  c.output(c.each("z", {i, j}, {rows, columns}, c.b.primitive(P::Add, c.read(x, {c.v(i), c.v(j)}), other)));
  c.run(state);
}
BENCHMARK(addition)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// What the machine reads of an array that long, many times: the quickest of plain sums in as many accumulators as hide the additions' latency.
#if defined(__x86_64__)
[[gnu::target("avx2")]]
#endif
double seconds_to_read(const float* x, std::int64_t n) {
  typedef float Vector __attribute__((vector_size(32), aligned(4)));
  double best = 1e9;
  for (int turn = 0; turn < 50; ++turn) {
    const auto from = std::chrono::steady_clock::now();
    Vector sums[8] = {};
    for (std::int64_t k = 0; k + 64 <= n; k += 64)
      for (int j = 0; j < 8; ++j) sums[j] += *reinterpret_cast<const Vector*>(x + k + 8 * j);
    float total = 0;
    for (const Vector& v : sums) total += v[0] + v[7];
    benchmark::DoNotOptimize(total);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
  }
  return best;
}

// Sums of rows, or of columns, of an array that stays in a cache; `share`: of what the machine reads.
void sums(benchmark::State& state) {
  Case c;
  const std::int64_t rows = state.range(0), columns = 1024;
  const bool along = state.range(1) == 0;
  const TensorId x = c.input("x", {rows, columns});
  const Variable i = c.b.fresh("i"), k = c.b.fresh("k");
  c.output(c.each("y", {i}, {along ? rows : columns},
                  c.reduce(ReduceKind::Sum, {k}, {along ? columns : rows}, {along ? c.read(x, {c.v(i), c.v(k)}) : c.read(x, {c.v(k), c.v(i)})})));
  const core::Program program = c.b.finish();
  const auto plan = Plan::make(program);
  double sum = 1e9, read = 1e9;
  int turn = 0;
  for (auto _ : state) {
    const auto from = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(plan->run(c.inputs));
    sum = std::min(sum, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
    if (turn++ % 256 == 0) read = std::min(read, seconds_to_read(c.inputs[0]->data<float>(), rows * columns));
  }
  const double bytes = static_cast<double>(rows * columns) * sizeof(float);
  state.counters["GB/s"] = bytes / sum * 1e-9;
  state.counters["read_GB/s"] = bytes / read * 1e-9;
  state.counters["share"] = read / sum;
}
BENCHMARK(sums)->ArgsProduct({{4, 64, 1024, 4096}, {0, 1}})->Unit(benchmark::kMicrosecond);

void small_addition(benchmark::State& state) {
  Case c;
  const TensorId x = c.input("x", {16}), y = c.input("y", {16});
  const Variable i = c.b.fresh("i");
  c.output(c.each("z", {i}, {16}, c.b.primitive(P::Add, c.read(x, {c.v(i)}), c.read(y, {c.v(i)}))));
  c.run(state);
}
BENCHMARK(small_addition)->Unit(benchmark::kMicrosecond);

void small_addition_planned(benchmark::State& state) {
  Case c;
  const TensorId x = c.input("x", {16}), y = c.input("y", {16});
  const Variable i = c.b.fresh("i");
  c.output(c.each("z", {i}, {16}, c.b.primitive(P::Add, c.read(x, {c.v(i)}), c.read(y, {c.v(i)}))));
  const core::Program program = c.b.finish();
  for (auto _ : state) benchmark::DoNotOptimize(Plan::make(program));
}
BENCHMARK(small_addition_planned)->Unit(benchmark::kMicrosecond);

void layer_normalisation(benchmark::State& state) {
  Case c;
  const std::int64_t rows = 128, columns = 768;
  const TensorId x = c.input("x", {rows, columns}), g = c.input("g", {columns}), b = c.input("b", {columns});
  const Variable i = c.b.fresh("i"), j = c.b.fresh("j"), k = c.b.fresh("k"), l = c.b.fresh("l");
  const TermId n = c.f32(static_cast<float>(columns));
  const TermId mean = c.b.primitive(P::Divide, c.reduce(ReduceKind::Sum, {k}, {columns}, {c.read(x, {c.v(i), c.v(k)})}), n);
  const auto centred = [&](Variable a) { return c.b.primitive(P::Subtract, c.read(x, {c.v(i), c.v(a)}), mean); };
  const TermId square = c.b.primitive(P::Multiply, centred(l), centred(l));
  const TermId variance = c.b.primitive(P::Divide, c.reduce(ReduceKind::Sum, {l}, {columns}, {square}), n);
  const TermId scale = c.b.primitive(P::SquareRoot, c.b.primitive(P::Add, variance, c.f32(1e-5f)));
  const TermId y = c.b.primitive(P::Add, c.b.primitive(P::Multiply, c.b.primitive(P::Divide, centred(j), scale), c.read(g, {c.v(j)})), c.read(b, {c.v(j)}));
  c.output(c.each("y", {i, j}, {rows, columns}, y));
  c.run(state);
}
BENCHMARK(layer_normalisation)->Unit(benchmark::kMicrosecond);

// 100 steps, hidden size 128; time is for all steps.
void lstm(benchmark::State& state) {
  Case c;
  const std::int64_t steps = 100, hidden = 128;
  const TensorId w = c.input("w", {steps, 4 * hidden}), u = c.input("u", {4 * hidden, hidden});
  core::Recurrence r;
  const Variable t = c.b.fresh("t");
  r.variables = {t};
  r.extents = {c.b.integer(steps)};
  const std::uint32_t group = c.b.add_recurrence(r);
  const char* names[] = {"z", "c", "h"};
  TensorId members[3];
  Variable own[3];
  for (int k = 0; k < 3; ++k) {
    TensorNode n;
    n.name = names[k];
    n.kind = TensorKind::Recurrence;
    n.group = group;
    own[k] = c.b.fresh("j");
    n.variables = {t, own[k]};
    n.extents = {c.b.integer(steps), c.b.integer(k == 0 ? 4 * hidden : hidden)};
    members[k] = c.b.add(std::move(n));
    c.b.recurrence(group).members.push_back(members[k]);
  }
  const TermId before = c.b.primitive(P::Subtract, c.v(t), c.b.integer(1));
  const auto last = [&](TensorId m, TermId at) {
    const TermId index[2] = {before, at};
    return c.b.read_else(m, index, c.f32(0), false);
  };
  const Variable k = c.b.fresh("k");
  const TermId product = c.reduce(ReduceKind::Dot, {k}, {hidden}, {last(members[2], c.v(k)), c.read(u, {c.v(own[0]), c.v(k)})});
  c.b.node(members[0]).body = c.b.primitive(P::Add, c.read(w, {c.v(t), c.v(own[0])}), product);
  const auto gate = [&](int q, Variable j) { return c.read(members[0], {c.v(t), c.b.primitive(P::Add, c.v(j), c.b.integer(q * hidden))}); };
  const auto one = [&](P p, TermId a) { return c.b.primitive(p, a); };
  const Variable j1 = own[1], j2 = own[2];
  c.b.node(members[1]).body = c.b.primitive(P::Add, c.b.primitive(P::Multiply, one(P::Sigmoid, gate(2, j1)), last(members[1], c.v(j1))),
                                            c.b.primitive(P::Multiply, one(P::Sigmoid, gate(0, j1)), one(P::Tanh, gate(3, j1))));
  c.b.node(members[2]).body = c.b.primitive(P::Multiply, one(P::Sigmoid, gate(1, j2)), one(P::Tanh, c.read(members[1], {c.v(t), c.v(j2)})));
  c.output(members[2]);
  c.run(state);
}
BENCHMARK(lstm)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ulpian::interp

BENCHMARK_MAIN();
