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

}  // namespace
}  // namespace ulpian::diff
