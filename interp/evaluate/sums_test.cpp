// Sums along rows and across them, whose trees are evaluated several levels at once: against trees added in the test, in every configuration.
#include <random>

#include "interp/evaluate/both.h"
#include "interp/scalar/scalar_test_support.h"

namespace ulpian::interp::testing {
namespace {

// Neighbours in pairs, an odd one goes up as it is.
template <class F> F tree(std::vector<F> level) {
  while (level.size() > 1) {
    std::vector<F> above;
    for (std::size_t k = 0; k < level.size(); k += 2) above.push_back(k + 1 < level.size() ? level[k] + level[k + 1] : level[k]);
    level = above;
  }
  return level[0];
}

// Sums of `leaves` numbers each, beside each other (rows) or one below the other.
template <class F> void sums(std::int64_t count, std::int64_t leaves, bool along, bool extreme) {
  SCOPED_TRACE(fmt::format("{} sums of {}{}{}", count, leaves, along ? " along" : "", extreme ? ", infinities" : ""));
  const E type = sizeof(F) == 4 ? E::F32 : E::F64;
  std::mt19937_64 random(static_cast<std::uint64_t>(count * 10007 + leaves));
  std::normal_distribution<double> normal;
  const Extents extents = along ? Extents{count, leaves} : Extents{leaves, count};
  Tensor x(type, extents);
  const auto at = [&](std::int64_t sum, std::int64_t leaf) { return along ? sum * leaves + leaf : leaf * count + sum; };
  std::vector<std::vector<F>> numbers(static_cast<std::size_t>(count));
  for (std::int64_t s = 0; s < count; ++s)
    for (std::int64_t k = 0; k < leaves; ++k) {
      F v = static_cast<F>(std::ldexp(normal(random), static_cast<int>(random() % 40) - 20));
      if (extreme && random() % 8 == 0) v = random() % 3 == 0 ? static_cast<F>(NotANumber) : static_cast<F>(random() % 2 ? Infinity : -Infinity);
      if (random() % 4 == 0) v = static_cast<F>(-0.0);
      numbers[static_cast<std::size_t>(s)].push_back(v);
      x.writable<F>()[at(s, k)] = v;
    }
  Maker m;
  const Variable i = m.fresh("i"), k = m.fresh("k");
  const TensorId a = m.input("x", type, {m.integer(extents[0]), m.integer(extents[1])});
  const TermId index[2] = {m.variable(along ? i : k), m.variable(along ? k : i)};
  m.output(m.each("y", {i}, {m.integer(count)}, m.reduce_over(ReduceKind::Sum, type, k, m.integer(leaves), {m.read(a, index)})));
  Tensor expected(type, {count});
  for (std::int64_t s = 0; s < count; ++s) {
    F sum = tree(numbers[static_cast<std::size_t>(s)]);
    if (std::isnan(sum)) sum = std::numeric_limits<F>::quiet_NaN();
    expected.writable<F>()[s] = sum;
  }
  for (const Configuration& c : configurations()) ASSERT_TRUE(agrees(m.program(), std::vector<std::optional<Tensor>>{x}, Outputs{expected}, c, {}));
}

TEST(Sums, AreLeftFullTreesWhateverTheirLength) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 80; ++n) lengths.push_back(n);
  for (std::int64_t n : {127, 128, 129, 255, 511, 513, 520, 577, 1023, 1025, 2049, 4100, 20001}) lengths.push_back(n);
  for (std::int64_t n : lengths)
    for (const bool along : {true, false}) {
      const std::int64_t count = n > 1000 ? 3 : 1 + n % 37;
      sums<float>(count, n, along, n % 3 == 0);
      sums<double>(count, n, along, n % 3 == 1);
    }
  for (const bool along : {true, false}) sums<float>(1500, 20, along, false);
}

}  // namespace
}  // namespace ulpian::interp::testing
