// Checks on the real ONNX Runtime. Skipped, with the reason printed, where the Python environment has none.
#include <filesystem>

#include <unistd.h>

#include "diff/backends/registry.h"
#include "diff/check/check_test_support.h"
#include "diff/check/draw.h"

namespace ulpian::diff {
namespace {

class OnCheck : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    const char* given = std::getenv("ULPIAN_PYTHON");
    const std::string python = given ? given : ULPIAN_SOURCE_DIR "/.venv/bin/python";
    if (::access(python.c_str(), X_OK) != 0 || std::system(("'" + python + "' -c 'import onnxruntime, numpy' > /dev/null 2>&1").c_str()) != 0)
      GTEST_SKIP() << "no Python with onnxruntime and numpy: set ULPIAN_PYTHON or run tools/setup";
    auto registry = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {python, "ulpian"});
    ASSERT_TRUE(registry.ok());
    auto backend = Backend::open(GetParam(), *registry);
    ASSERT_TRUE(backend.ok()) << to_string(backend.error());
    backend_.emplace(std::move(backend).value());
  }
  ModelCheck check(const GraphMaker& maker, int sample = 0) {
    DrawOptions draw;
    draw.seed = 1;
    draw.sample = sample;
    auto inputs = draw_valid_inputs(shipped(), maker.graph(), draw, {});
    EXPECT_TRUE(inputs.ok());
    return check_on(*backend_, maker, *inputs);
  }
  std::optional<Backend> backend_;
};
INSTANTIATE_TEST_SUITE_P(OnnxRuntime, OnCheck, testing::Values("onnxruntime", "onnxruntime-plain"), [](const auto& info) { return info.param == std::string("onnxruntime") ? "optimised" : "plain"; });

Tensor drawn_weights(const Extents& extents, std::uint64_t seed) {
  GraphMaker m;
  m.input("w", ElementType::F32, extents).output("w");
  DrawOptions o;
  o.seed = seed;
  return *draw_inputs(*m.graph(), o)->at(0).tensor();
}

// Convolution, normalisation, a bias, an activation; then a small head: what optimisers like to fuse.
GraphMaker small_network() {
  GraphMaker m;
  m.input("x", ElementType::F32, {1, 4, 9, 9}).constant("w", drawn_weights({8, 4, 3, 3}, 3));
  m.constant("scale", floats(std::vector<float>(8, 1.25f))).constant("shift", drawn_weights({8}, 4)).constant("mean", drawn_weights({8}, 5)).constant("var", floats(std::vector<float>(8, 0.7f)));
  m.constant("fc", drawn_weights({8, 5}, 6)).constant("bias", drawn_weights({5}, 7));
  m.node("Conv", {"x", "w"}, {"c"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  m.node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"b"});
  m.node("Relu", {"b"}, {"r"}).node("GlobalAveragePool", {"r"}, {"p"}).node("Flatten", {"p"}, {"f"});
  m.node("MatMul", {"f", "fc"}, {"m"}).node("Add", {"m", "bias"}, {"a"}).node("Softmax", {"a"}, {"y"}).output("y");
  return m;
}

TEST_P(OnCheck, ASmallNetworkConforms) {
  for (int sample : {0, 3, 5}) {
    const ModelCheck m = check(small_network(), sample);
    for (const NodeCheck& n : m.nodes) EXPECT_EQ(exit_status(n.verdict.verdict), 0) << n.op << ": " << n.verdict.reason;
    EXPECT_TRUE(exit_status(m.whole.verdict) == 0 || m.whole.verdict == Class::IllConditioned) << name_of(m.whole.verdict) << ": " << m.whole.reason << "\n" << m.note;
    RecordProperty("note", m.note);
  }
}

TEST_P(OnCheck, AnIndexOutsideIsRefused) {
  GraphMaker m;
  m.input("x", ElementType::F32, {3}).constant("i", integers({1, 5})).node("Gather", {"x", "i"}, {"y"}).output("y");
  const ModelCheck c = check(m);
  EXPECT_EQ(c.nodes.at(0).verdict.verdict, Class::Conforms) << c.nodes.at(0).verdict.reason;
}

// --- graphs, sequences, optionals

std::shared_ptr<const Graph> body_of(GraphMaker maker, const std::vector<std::string>& captured) {
  Graph& g = maker.edit();
  for (const std::string& name : captured)
    for (std::size_t k = 0; k < g.values.size(); ++k)
      if (g.values[k].name == name) g.captured.emplace_back(static_cast<ValueId>(k), name);
  return maker.graph();
}

TEST_P(OnCheck, OperatorsThatHoldGraphsAreCheckedInPlaceOnTheBackendsOwnInputs) {
  GraphMaker body;
  body.input("i", ElementType::I64, {}).input("c", ElementType::Bool, {}).input("s", ElementType::F32, {3});
  body.node("Tanh", {"s"}, {"u"}).node("Mul", {"u", "w"}, {"t"}).node("Identity", {"c"}, {"c2"}).output("c2").output("t").output("u");
  GraphMaker maker;
  maker.input("n", ElementType::I64, {}).input("x", ElementType::F32, {3}).node("Exp", {"x"}, {"w"});
  maker.node("Loop", {"n", "", "x"}, {"last", "all"}, {{"body", body_of(body, {"w"})}}).node("Relu", {"all"}, {"y"}).output("last").output("y");
  Tensor n(ElementType::I64, {});
  n.set(0, 4);
  const ModelCheck m = check_on(*backend_, maker, {n, floats({0.3f, -1.2f, 0.8f})});
  ASSERT_EQ(m.nodes.size(), 3u);
  for (const NodeCheck& c : m.nodes) {
    EXPECT_EQ(name_of(c.verdict.verdict), name_of(Class::Conforms)) << c.op << ": " << c.verdict.reason;
    EXPECT_EQ(c.exposure, Exposure::InPlace) << c.op;
  }
  EXPECT_EQ(m.nodes[1].verdict.counts.elements, 3 + 4 * 3);
  EXPECT_TRUE(m.transfers);
}

TEST_P(OnCheck, SequencesBetweenOperatorsAreSeen) {
  GraphMaker maker;
  maker.input("x", ElementType::F32, {6}).constant("two", integers({2}, Extents{})).constant("one", integers({1}, Extents{}));
  maker.node("SplitToSequence", {"x", "two"}, {"s"}).node("SequenceErase", {"s", "one"}, {"r"}).node("SequenceAt", {"r", "one"}, {"a"}).node("Exp", {"a"}, {"y"}).output("r").output("y");
  const ModelCheck m = check_on(*backend_, maker, {floats({1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(m.nodes.size(), 4u);
  for (const NodeCheck& c : m.nodes) {
    EXPECT_EQ(name_of(c.verdict.verdict), name_of(Class::Conforms)) << c.op << ": " << c.verdict.reason;
    EXPECT_EQ(c.exposure, Exposure::InPlace) << c.op;
  }
  EXPECT_EQ(m.nodes[0].verdict.counts.elements, 6);
  EXPECT_TRUE(m.transfers);
}

// It computes f16 in f32: the operators are handed values that are rounded only where they are seen.
TEST_P(OnCheck, AChainOfNarrowFloatsConformsByExcessPrecision) {
  GraphMaker maker;
  maker.input("x", ElementType::F16, {1}).input("c", ElementType::F16, {1}).node("Mul", {"x", "x"}, {"p"}).node("Sub", {"p", "c"}, {"d"}).output("d");
  Tensor x(ElementType::F16, {1}), c(ElementType::F16, {1});
  x.set(0, from_double(ElementType::F16, 1 + 0x1p-10));
  c.set(0, from_double(ElementType::F16, 1 + 0x1p-9));
  const ModelCheck m = check_on(*backend_, maker, {x, c});
  for (const NodeCheck& n : m.nodes) EXPECT_EQ(name_of(n.verdict.verdict), name_of(Class::Conforms)) << n.op << ": " << n.verdict.reason;
  EXPECT_EQ(m.whole.verdict, Class::Conforms) << m.whole.reason;
  CheckOptions strict = standard();
  strict.profile = interp::profile_named("strict").value();
  const ModelCheck s = check_on(*backend_, maker, {x, c}, strict);
  ASSERT_TRUE(s.least_deviations()) << name_of(s.overall());
  EXPECT_EQ(to_string(*s.least_deviations()), "excess_precision");
}

}  // namespace
}  // namespace ulpian::diff
