// The shipped adapters on the real ONNX Runtime. Skipped, with the reason printed, where the Python environment has none.
#include "diff/backends/shipped_test_support.h"

namespace ulpian::diff {
namespace {

struct OnnxRuntimes {
  static constexpr const char* modules = "onnxruntime, onnx, numpy";
  static constexpr const char* names[] = {"onnxruntime", "onnxruntime-plain"};
};
using OnnxRuntime = ShippedBackends<OnnxRuntimes>;

TEST_F(OnnxRuntime, IntroducesItself) {
  EXPECT_EQ(backends_[0].introduction().name, "onnxruntime");
  EXPECT_EQ(backends_[1].introduction().name, "onnxruntime-plain");
  for (const Backend& b : backends_) {
    EXPECT_FALSE(b.introduction().version.empty());
    std::string names;
    for (const auto& [name, text] : b.introduction().details) names += name + "=" + text + "\n";
    for (const char* part : {"options={\"graph_optimization\":\"", "\"threads\":1", "providers=[\"CPUExecutionProvider\"]", "cpu=["}) {
      EXPECT_NE(names.find(part), std::string::npos) << names;
    }
  }
}

TEST_F(OnnxRuntime, RunsSeveralBatchesOfSeveralExtents) {
  for (Backend& b : backends_) {
    const Prepared p = b.prepare(model("relu"));
    ASSERT_TRUE(p.ok()) << describe(*p.trouble);
    // -1, 2; then nothing; then the smallest subnormal, infinity.
    const std::vector<Values> batches{{tensor_of("x", ElementType::F32, {2}, {0xbf800000, 0x40000000})},
                                      {tensor_of("x", ElementType::F32, {0}, {})},
                                      {tensor_of("x", ElementType::F32, {2}, {0x00000001, 0x7f800000})}};
    const auto outcomes = b.run(p.program, batches);
    ASSERT_EQ(outcomes.size(), 3u);
    expect_bits(outcomes[0], 0, ElementType::F32, {2}, {0, 0x40000000});
    expect_bits(outcomes[1], 0, ElementType::F32, {0}, {});
    expect_bits(outcomes[2], 0, ElementType::F32, {2}, {0x00000001, 0x7f800000});
    EXPECT_EQ(outputs_of(outcomes[0]).values[0].name, "y");
    EXPECT_EQ(outputs_of(outcomes[0]).float_state.rounding, "nearest");
    EXPECT_EQ(outputs_of(outcomes[0]).float_state.flushes_subnormals, false);
  }
}

TEST_F(OnnxRuntime, TypesThatNumPyLacksPassAsRawBits) {
  for (Backend& b : backends_) {
    // 1, 1 + 2^-8 + 2^-20 (above the tie: up to 1 + 2^-7), -2.5.
    const Outcome bf16 = outcome_of(b, "bf16", {tensor_of("x", ElementType::F32, {3}, {0x3f800000, 0x3f808008, 0xc0200000})});
    expect_bits(bf16, 0, ElementType::BF16, {3}, {0x3f80, 0x3f81, 0xc020});
    expect_bits(outcome_of(b, "from_bf16", {tensor_of("x", ElementType::BF16, {3}, {0x3f81, 0xc020, 0x0001})}), 0, ElementType::F32, {3}, {0x3f810000, 0xc0200000, 0x00010000});
    // e4m3fn: 0x38 is 1, 0xc4 is -3, 0x01 is 2^-9.
    expect_bits(outcome_of(b, "from_f8", {tensor_of("x", ElementType::F8E4M3FN, {3}, {0x38, 0xc4, 0x01})}), 0, ElementType::F32, {3}, {0x3f800000, 0xc0400000, 0x3b000000});
    // e5m2: 1 is 0x3c, -3 is 0xc2, 2^-16 is 0x01.
    expect_bits(outcome_of(b, "to_f8", {tensor_of("x", ElementType::F32, {3}, {0x3f800000, 0xc0400000, 0x37800000})}), 0, ElementType::F8E5M2, {3}, {0x3c, 0xc2, 0x01});
    expect_bits(outcome_of(b, "to_i4", {tensor_of("x", ElementType::F32, {3}, {0x3f800000, 0xc0000000, 0x40400000})}), 0, ElementType::I4, {3}, {0x1, 0xe, 0x3});
    expect_bits(outcome_of(b, "from_i4", {tensor_of("x", ElementType::I4, {3}, {0x8, 0x7, 0xf})}), 0, ElementType::F32, {3}, {0xc1000000, 0x40e00000, 0xbf800000});
    expect_bits(outcome_of(b, "from_u4", {tensor_of("x", ElementType::U4, {2, 3}, {1, 2, 3, 4, 5, 15})}), 0, ElementType::F32, {2, 3},
                {0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x41700000});
    expect_bits(outcome_of(b, "bool", {tensor_of("x", ElementType::Bool, {}, {0})}), 0, ElementType::Bool, {}, {1});
  }
}

TEST_F(OnnxRuntime, StringsAndSequencesPass) {
  for (Backend& b : backends_) {
    const Outcome strings = outcome_of(b, "strings", {Value{"x", Tensor({2}, {"grün", ""})}});
    EXPECT_EQ(outputs_of(strings).values.at(0).tensor()->strings(), (std::vector<std::string>{"grün", ""}));
    const Outcome no_text = outcome_of(b, "strings", {Value{"x", Tensor({2}, {"\xff", ""})}});
    EXPECT_EQ(name_of(no_text), "refused") << describe(no_text);

    const Value x = tensor_of("x", ElementType::I64, {2}, {5, 6});
    const Outcome made = outcome_of(b, "make_sequence", {x});
    const auto& sequence = std::get<Sequence>(outputs_of(made).values.at(0).value);
    EXPECT_EQ(sequence.type, ElementType::I64);
    ASSERT_EQ(sequence.elements.size(), 2u);
    EXPECT_EQ(sequence.elements[1].at(1), 6u);
    const Outcome taken = outcome_of(b, "from_sequence", {Value{"x", Sequence{ElementType::I64, {*x.tensor(), Tensor::scalar(ElementType::I64, 9)}}}, tensor_of("i", ElementType::I64, {}, {1})});
    expect_bits(taken, 0, ElementType::I64, {}, {9});
  }
}

TEST_F(OnnxRuntime, ItsErrorsAreToldApart) {
  const Value x = tensor_of("x", ElementType::F32, {3}, {0, 0, 0});
  for (Backend& b : backends_) {
    for (const char* name : {"no_such_operator", "no_kernel", "future_opset"}) {
      const Outcome o = outcome_of(b, name, {x});
      ASSERT_TRUE(std::holds_alternative<Refused>(o.what)) << name << ": " << describe(o);
      EXPECT_EQ(std::get<Refused>(o.what).reason, Refusal::Unsupported) << name << ": " << describe(o);
    }
    const Outcome outcomes[] = {outcome_of(b, "wrong_shapes", {x}),
                                outcome_of(b, "gather", {x, tensor_of("i", ElementType::I64, {1}, {9})}),
                                outcome_of(b, "relu", {}),
                                outcome_of(b, "relu", {tensor_of("x", ElementType::I64, {1}, {9})}),
                                outcome_of(b, "relu", {tensor_of("x", ElementType::F32, {1, 1}, {9})}),
                                outcome_of(b, "there is no such file, and an empty program", {})};
    for (const Outcome& o : outcomes) {
      ASSERT_TRUE(std::holds_alternative<Refused>(o.what)) << describe(o);
      EXPECT_EQ(std::get<Refused>(o.what).reason, Refusal::Invalid) << describe(o);
    }
    const Outcome huge = outcome_of(b, "huge", {tensor_of("n", ElementType::I64, {1}, {std::uint64_t{1} << 45})});
    EXPECT_TRUE(std::holds_alternative<OutOfMemory>(huge.what)) << describe(huge);
    EXPECT_EQ(b.restarts(), 0);
  }
}

}  // namespace
}  // namespace ulpian::diff
