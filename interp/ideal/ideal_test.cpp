// The quick way to ideal values against the exact one, for every operator of the specification.
#include "interp/ideal/ideal.h"

#include <random>

#include "interp/allowed/example_calls_test_support.h"
#include "interp/ideal/enclosures.h"

namespace ulpian::interp {
namespace {

using testing::Inputs;
using testing::shown;

Bits drawn(ElementType t, std::mt19937& random) {
  const double unit = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
  switch (random() % 10) {
    case 0: return 0;
    case 1: return from_double(t, -0.0);
    case 2: return from_double(t, 1);
    case 3: return from_double(t, 1 + 0x1p-10);
    case 4: return from_double(t, 0x1p-60 * unit);
    case 5: return from_double(t, 4096 * unit);
    case 6: return random() % 16 ? from_double(t, 0x1p-140) : has_infinity(t) ? infinity(t, random() & 1u) : 0;
    default: return from_double(t, unit);
  }
}

TEST(Ideal, TheQuickWayFindsNothingElse) {
  constexpr unsigned Seed = 20261130;
  fmt::print("seed {}\n", Seed);
  std::mt19937 random(Seed);
  std::int64_t runs = 0, elements = 0, quick_ones = 0, covered = 0, late = 0;
  testing::each_example_call(false, 20, [&](const language::Example& e, const core::Program& program) {
    const Nearnesses near = nearnesses(program);
    bool any = false;
    for (Arithmetic arithmetic : {Arithmetic::Singles, Arithmetic::Pairs}) {
      const auto enclosed = enclosing(program, near, arithmetic);
      if (!enclosed) continue;
      any = true;
      const auto broken = core::verify(enclosed->program);
      EXPECT_FALSE(broken) << e.title << ": " << broken.value_or("");
      if (broken) return false;
    }
    if (!any) return true;
    ++covered;
    for (int round = 0; round < 4; ++round) {
      Inputs inputs = e.inputs;
      for (std::optional<Tensor>& t : inputs) {
        if (round == 0 || !t || !is_float(t->type())) continue;
        Tensor other(t->type(), t->extents());
        for (std::int64_t i = 0; i < other.size(); ++i) other.set(i, drawn(t->type(), random));
        t = std::move(other);
      }
      Limits limits;
      limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      const auto canonical = evaluate(program, inputs, limits);
      if (!canonical) continue;
      IdealOptions slow;
      slow.quick = false;
      const auto a = ideal_answer(program, inputs, *canonical, limits), b = ideal_answer(program, inputs, *canonical, limits, slow);
      if (!a || !b) {
        EXPECT_EQ((a ? b : a).error().kind, ErrorKind::Limit) << e.title;
        ++late;
        continue;
      }
      ++runs;
      elements += b->by_elements;
      quick_ones += b->by_elements - a->by_elements;
      for (std::size_t k = 0; k < a->outputs.size(); ++k) {
        if (!a->outputs[k] || same_elements(*a->outputs[k], *b->outputs[k])) continue;
        const Tensor &x = *a->outputs[k], &y = *b->outputs[k];
        for (std::int64_t i = 0; i < x.size(); ++i)
          if (!same_element(x.type(), x.at(i), y.at(i))) {
            ADD_FAILURE() << e.title << ", round " << round << ", output " << k << ", element " << i << ": quickly " << shown(x.type(), x.at(i)) << ", one by one "
                          << shown(y.type(), y.at(i)) << shown(inputs);
            return false;
          }
      }
    }
    return true;
  });
  fmt::print("{} calls covered, {} runs, {} not in time; {} elements, {} of them quickly\n", covered, runs, late, elements, quick_ones);
  EXPECT_GT(elements, 10000);
  EXPECT_GT(quick_ones * 2, elements) << "most elements are to be decided quickly";
}

}  // namespace
}  // namespace ulpian::interp
