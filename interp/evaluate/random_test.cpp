// Random core programs: the block evaluator in every configuration against the scalar one. Set ULPIAN_RANDOM_PROGRAMS for a longer run.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "interp/evaluate/both.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

struct Scope {
  Variable variable;
  std::int64_t extent;
};

class Drawer {
public:
  explicit Drawer(std::uint64_t seed) : random_(seed) {}

  Maker m;
  std::vector<std::optional<Tensor>> inputs;

  void program() {
    const int count = 1 + below(3);
    for (int k = 0; k < count; ++k) input();
    const int equations = 1 + below(4);
    for (int k = 0; k < equations; ++k) {
      fuel_ = 60;
      const TensorId t = below(8) == 0 ? recurrence() : below(10) == 0 ? scatter() : comprehension();
      if (k + 1 == equations || below(3) == 0) m.output(t);
    }
  }

private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::int64_t extent() {
    static constexpr std::int64_t Choices[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33};
    return Choices[below(14)];
  }
  E any_type() {
    static constexpr E Types[] = {E::F32, E::F32, E::F32, E::F64, E::F16, E::BF16, E::I32, E::I64, E::U8, E::I8, E::Bool};
    return Types[below(11)];
  }
  E number_type() {
    const E t = any_type();
    return t == E::Bool ? E::F32 : t;
  }

  Bits element(E type) {
    if (type == E::Bool) return static_cast<Bits>(below(2));
    if (is_float(type)) {
      if (below(12) == 0) {
        static constexpr double Special[] = {0.0, -0.0, 1e30, -1e30, 5e-41, 65504.0};
        const int k = below(8);
        if (k == 6) return canonical_nan(type);
        if (k == 7) return infinity(type, below(2) == 0);
        return from_double(type, Special[k]);
      }
      return from_double(type, (static_cast<double>(below(20001)) - 10000) / 1024.0);
    }
    return from_int64(type, below(4) == 0 ? static_cast<std::int64_t>(random_()) : below(21) - 10);
  }

  Extents shape() {
    Extents e(static_cast<std::size_t>(below(4)));
    for (auto& x : e) x = extent();
    std::int64_t n = 1;
    for (auto& x : e) {
      if (n * x > 2000) x = 2;
      n *= std::max<std::int64_t>(x, 1);
    }
    return e;
  }

  void input() {
    const E type = any_type();
    const Extents e = shape();
    std::vector<TermId> extents;
    for (std::int64_t x : e) extents.push_back(m.integer(x));
    tensors_.push_back(m.input(fmt::format("x{}", inputs.size()).c_str(), type, std::move(extents)));
    shapes_.push_back(e);
    Tensor t(type, e);
    for (std::int64_t k = 0; k < t.size(); ++k) t.set(k, element(type));
    inputs.emplace_back(std::move(t));
  }

  void remember(TensorId id, Extents e) {
    tensors_.push_back(id);
    shapes_.push_back(std::move(e));
  }

  void bind(const Extents& e, std::vector<Variable>& variables, std::vector<TermId>& extents) {
    for (std::int64_t x : e) {
      variables.push_back(m.fresh(fmt::format("i{}", variables.size())));
      extents.push_back(m.integer(x));
      scope_.push_back({variables.back(), x});
    }
  }

  TensorId comprehension() {
    const Extents e = shape();
    std::vector<Variable> variables;
    std::vector<TermId> extents;
    scope_.clear();
    bind(e, variables, extents);
    const TermId body = term(any_type(), 4);
    const TensorId id = m.each(fmt::format("t{}", tensors_.size()).c_str(), variables, extents, body);
    remember(id, e);
    return id;
  }

  TensorId scatter() {
    Extents e = shape();
    if (e.empty()) e = {5};
    std::vector<TermId> extents;
    for (std::int64_t x : e) extents.push_back(m.integer(x));
    const E type = number_type();
    scope_.clear();
    std::vector<Variable> base_variables;
    std::vector<TermId> base_extents;
    bind(e, base_variables, base_extents);
    const TensorId base = m.each("base", base_variables, base_extents, term(type, 1));
    scope_.clear();
    TensorNode n;
    n.name = "s";
    n.type = type;
    n.kind = TensorKind::Scatter;
    n.extents = extents;
    bind({extent()}, n.variables, n.domain);
    n.scatter.base = base;
    static constexpr core::ScatterMode Modes[] = {core::ScatterMode::Last, core::ScatterMode::Add, core::ScatterMode::Maximum, core::ScatterMode::Multiply};
    n.scatter.mode = Modes[below(4)];
    for (std::int64_t x : e) n.scatter.index.push_back(x == 0 ? m.integer(0) : inside(x));
    if (below(2) == 0) n.scatter.filter = term(E::Bool, 2);
    n.body = term(type, 2);
    const TensorId id = m.add(std::move(n));
    remember(id, e);
    return id;
  }

  // h[t, i] = f(h[t - 1, j] else first, ...), g[t, i] = f(h[t, i], g[t - 1, i] else ...)
  TensorId recurrence() {
    const std::int64_t steps = extent(), width = extent();
    const E type = below(2) == 0 ? E::F32 : E::F16;
    core::Recurrence r;
    const Variable t = m.fresh("t");
    r.variables = {t};
    r.extents = {m.integer(steps)};
    const std::uint32_t group = m.add_recurrence(r);
    std::vector<TensorId> members;
    for (int k = 0; k < 2; ++k) {
      TensorNode n;
      n.name = k == 0 ? "h" : "g";
      n.type = type;
      n.kind = TensorKind::Recurrence;
      n.group = group;
      n.variables = {t, m.fresh("i")};
      n.extents = {m.integer(steps), m.integer(width)};
      members.push_back(m.add(std::move(n)));
    }
    for (int k = 0; k < 2; ++k) {
      const Variable i = m.node(members[static_cast<std::size_t>(k)]).variables[1];
      scope_ = {{t, steps}, {i, width}};
      const TermId tv = m.variable(t), iv = m.variable(i), before = m.primitive(P::Subtract, tv, m.integer(1));
      const auto last = [&](TensorId of, TermId at) {
        const TermId index[2] = {before, at};
        return m.read_else(of, index, term(type, 1), false);
      };
      TermId value = last(members[static_cast<std::size_t>(below(2))], iv);
      if (k == 1 && below(2) == 0) {
        const TermId index[2] = {tv, iv};
        value = m.primitive(P::Add, value, m.read(members[0], index));
      }
      if (below(2) == 0) {
        const Variable j = m.fresh("j");
        scope_.push_back({j, width});
        const TermId jv = m.variable(j);
        const TermId bodies[2] = {last(members[0], jv), term(type, 1)};
        scope_.pop_back();
        const TermId e = m.integer(width);
        value = m.primitive(P::Add, value, m.reduce(ReduceKind::Dot, type, std::span(&j, 1), std::span(&e, 1), None, false, None, bodies));
      }
      value = m.primitive(below(2) == 0 ? P::Add : P::Maximum, value, term(type, 2));
      m.node(members[static_cast<std::size_t>(k)]).body = value;
      m.program().recurrences[group].members.push_back(members[static_cast<std::size_t>(k)]);
    }
    remember(members[0], {steps, width});
    remember(members[1], {steps, width});
    return members[1];
  }

  // A term of Z in [0, extent), extent > 0.
  TermId inside(std::int64_t extent) {
    if (!scope_.empty() && below(3) != 0) {
      const Scope s = scope_[static_cast<std::size_t>(below(static_cast<int>(scope_.size())))];
      const TermId v = m.variable(s.variable);
      if (s.extent <= extent && below(3) != 0) return s.extent == extent && below(3) == 0 ? m.primitive(P::Subtract, m.integer(extent - 1), v) : v;
      if (below(2) == 0) return m.primitive(P::Modulo, whole(1), m.integer(extent));
      return m.primitive(P::Minimum, m.primitive(P::FloorDivide, v, m.integer(1 + below(3))), m.integer(extent - 1));
    }
    if (below(4) == 0) return m.primitive(P::Maximum, m.integer(0), m.primitive(P::Minimum, whole(2), m.integer(extent - 1)));
    return m.integer(below(static_cast<int>(extent)));
  }

  TermId whole(int depth) {
    if (--fuel_ < 0) depth = 0;
    if (depth <= 0 || below(3) == 0) {
      if (!scope_.empty() && below(4) != 0) return m.variable(scope_[static_cast<std::size_t>(below(static_cast<int>(scope_.size())))].variable);
      return m.integer(below(9) - 2);
    }
    switch (below(9)) {
      case 0: return m.primitive(P::Add, whole(depth - 1), whole(depth - 1));
      case 1: return m.primitive(P::Subtract, whole(depth - 1), whole(depth - 1));
      case 2: return m.primitive(P::Multiply, whole(depth - 1), m.integer(1 + below(4)));
      case 3: return m.primitive(P::FloorDivide, whole(depth - 1), m.integer(1 + below(4)));
      case 4: return m.primitive(P::Modulo, whole(depth - 1), m.integer(1 + below(6)));
      case 5: return m.primitive(P::Maximum, whole(depth - 1), whole(depth - 1));
      case 6: return m.select(term(E::Bool, depth - 1), whole(depth - 1), whole(depth - 1));
      case 7: return m.primitive(P::ToInteger, term(below(2) == 0 ? E::I32 : E::U8, depth - 1));
      default: return reduce(below(2) == 0 ? ReduceKind::Count : ReduceKind::ArgMax, E::Z, depth - 1);
    }
  }

  TermId reduce(ReduceKind kind, E type, int depth) {
    std::vector<Variable> variables;
    std::vector<TermId> extents;
    const std::size_t keep = scope_.size();
    const int count = 1 + below(2);
    for (int k = 0; k < count; ++k) {
      std::int64_t e = count == 1 && below(6) == 0 ? 40 + below(60) : extent();
      if (keep > 3 || count > 1) e = std::min<std::int64_t>(e, 5);
      // Sometimes triangular.
      TermId et = m.integer(e);
      if (below(6) == 0 && !scope_.empty()) {
        const Scope s = scope_[static_cast<std::size_t>(below(static_cast<int>(scope_.size())))];
        if (s.extent > 0 && s.extent < 40) {
          et = m.primitive(P::Add, m.variable(s.variable), m.integer(below(3) - 1));
          e = s.extent + 1;
        }
      }
      variables.push_back(m.fresh(fmt::format("k{}", k)));
      extents.push_back(et);
      scope_.push_back({variables.back(), e});
    }
    TermId filter = None, initial = None;
    if (below(3) == 0) filter = term(E::Bool, std::min(depth, 2));
    std::vector<TermId> bodies;
    if (kind == ReduceKind::Dot) {
      const E narrow = type == E::F32 && below(3) == 0 ? E::F16 : type;
      bodies = {term(narrow, std::min(depth, 2)), term(narrow, std::min(depth, 2))};
    } else if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin) {
      bodies = {term(number_type(), std::min(depth, 2))};
    } else if (kind != ReduceKind::Count) {
      bodies = {term(type, std::min(depth, 2))};
    }
    scope_.resize(keep);
    const bool has_initial = kind != ReduceKind::Count && kind != ReduceKind::ArgMax && kind != ReduceKind::ArgMin && below(5) == 0;
    if (has_initial) initial = term(type, 1);
    return m.reduce(kind, type, variables, extents, filter, false, initial, bodies);
  }

  TermId read(E type, int depth) {
    std::vector<std::size_t> fitting;
    for (std::size_t k = 0; k < tensors_.size(); ++k)
      if (m.node(tensors_[k]).type == type) fitting.push_back(k);
    if (fitting.empty()) return m.constant(type, element(type));
    const std::size_t k = fitting[static_cast<std::size_t>(below(static_cast<int>(fitting.size())))];
    const Extents e = shapes_[k];
    const bool empty = std::ranges::count(e, 0) != 0;
    const bool wild = below(3) == 0 || empty;
    std::vector<TermId> index;
    for (std::int64_t x : e) index.push_back(wild && below(2) == 0 ? whole(std::min(depth, 2)) : x == 0 ? whole(1) : inside(x));
    if (!wild) return m.read(tensors_[k], index);
    if (below(4) != 0) return m.read_else(tensors_[k], index, term(type, depth - 1), false);
    // Guarded by hand; now and then not at all.
    TermId c = m.boolean(true);
    for (std::size_t d = 0; d < e.size(); ++d) {
      const TermId low = m.primitive(P::LessEqual, m.integer(0), index[d]), high = m.primitive(P::Less, index[d], m.integer(e[d]));
      c = m.primitive(P::And, c, m.primitive(P::And, low, high));
    }
    if (below(30) == 0) return m.read(tensors_[k], index);
    return m.select(c, m.read(tensors_[k], index), term(type, depth - 1));
  }

  TermId term(E type, int depth) {
    if (--fuel_ < 0) return m.constant(type, element(type));
    if (depth <= 0) return below(4) == 0 ? m.constant(type, element(type)) : read(type, 0);
    if (below(5) == 0) return read(type, depth);
    if (below(12) == 0) return m.select(term(E::Bool, depth - 1), term(type, depth - 1), term(type, depth - 1));
    if (type == E::Bool) {
      switch (below(6)) {
        case 0: return m.primitive(P::And, term(E::Bool, depth - 1), term(E::Bool, depth - 1));
        case 1: return m.primitive(P::Not, term(E::Bool, depth - 1));
        case 2: return reduce(below(2) == 0 ? ReduceKind::Any : ReduceKind::All, E::Bool, depth - 1);
        case 3: return m.primitive(P::Less, whole(2), whole(2));
        default: {
          static constexpr P Comparisons[] = {P::Equal, P::NotEqual, P::Less, P::GreaterEqual};
          const E of = number_type();
          return m.primitive(Comparisons[below(4)], term(of, depth - 1), term(of, depth - 1));
        }
      }
    }
    if (below(4) == 0) {
      static constexpr ReduceKind Kinds[] = {ReduceKind::Sum, ReduceKind::Sum, ReduceKind::Dot, ReduceKind::Dot, ReduceKind::Product, ReduceKind::Maximum, ReduceKind::Minimum};
      return reduce(Kinds[below(7)], type, depth - 1);
    }
    if (below(10) == 0) return fold(type, depth - 1);
    if (below(6) == 0) {
      const E from = any_type();
      return m.cast(type, term(from, depth - 1), below(2) == 0 ? CastMode::Plain : CastMode::Saturate);
    }
    if (below(10) == 0 && !is_float(type)) return m.cast(type, whole(2), CastMode::Plain);
    if (below(16) == 0 && is_float(type)) {
      const TermId r = m.primitive(P::Divide, m.primitive(P::ToReal, whole(1)), m.real(Exact(3)));
      return m.cast(type, r, CastMode::Exact);
    }
    if (below(20) == 0 && is_float(type)) return m.cast(type, m.random(whole(1), whole(2), whole(1)), CastMode::Plain);
    static constexpr P OnAll[] = {P::Add, P::Subtract, P::Multiply, P::Minimum, P::Maximum, P::Negate, P::Absolute};
    static constexpr P OnFloats[] = {P::Divide, P::SquareRoot, P::Reciprocal, P::Floor, P::Ceiling, P::RoundEven, P::Truncate, P::Exp, P::Tanh};
    static constexpr P OnIntegers[] = {P::FloorDivide, P::Modulo, P::Quotient, P::Remainder, P::BitAnd, P::BitXor, P::BitNot, P::ShiftLeft};
    P p = OnAll[below(7)];
    if (below(3) == 0) p = is_float(type) ? OnFloats[below(9)] : OnIntegers[below(8)];
    if (row_of(p).arity == 1) return m.primitive(p, term(type, depth - 1));
    return m.primitive(p, term(type, depth - 1), term(type, depth - 1));
  }

  TermId fold(E type, int depth) {
    const Variable k = m.fresh("k"), acc = m.fresh("acc", type);
    const std::int64_t e = extent();
    const TermId initial = term(type, 1);
    scope_.push_back({k, e});
    const TermId step = term(type, std::min(depth, 2));
    scope_.pop_back();
    const TermId extent_term = m.integer(e);
    const TermId body = m.primitive(below(2) == 0 ? P::Subtract : P::Maximum, m.variable(acc), step);
    return m.fold(std::span(&k, 1), std::span(&extent_term, 1), acc, initial, body);
  }

  std::mt19937_64 random_;
  int fuel_ = 60;
  std::vector<TensorId> tensors_;
  std::vector<Extents> shapes_;
  std::vector<Scope> scope_;
};

TEST(RandomPrograms, GiveTheBitsOfTheScalarEvaluator) {
  const char* wanted = std::getenv("ULPIAN_RANDOM_PROGRAMS");
  const char* first = std::getenv("ULPIAN_RANDOM_FIRST");
  const std::uint64_t from = first ? std::strtoull(first, nullptr, 10) : 1;
  const std::uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 1500;
  int errors = 0, given_up = 0;
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Drawer d(seed);
    d.program();
    ASSERT_EQ(core::verify(d.m.program()), std::nullopt) << core::to_string(d.m.program());
    Limits limits;
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    const auto expected = evaluate_scalar(d.m.program(), d.inputs, limits);
    if (!expected && expected.error().kind == ErrorKind::Limit) {
      ++given_up;
      continue;
    }
    errors += expected ? 0 : 1;
    for (const Configuration& c : configurations()) {
      const auto result = agrees(d.m.program(), d.inputs, expected, c, {});
      ASSERT_TRUE(result) << core::to_string(d.m.program()) << Plan::make(d.m.program(), c.options)->describe(std::getenv("ULPIAN_RANDOM_DETAILS") != nullptr);
    }
  }
  fmt::print("seeds {} to {}: {} end in an error, {} are given up for time or size\n", from, from + count - 1, errors, given_up);
  EXPECT_LE(static_cast<std::uint64_t>(given_up), count / 4) << "too much of the test did not run";
}

}  // namespace
}  // namespace ulpian::interp::testing
