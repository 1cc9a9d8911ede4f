// The shipped adapters on the real OpenVINO, pinned to f32 and with its own hints. Skipped, with the reason printed, where it is not installed.
#include "diff/backends/shipped_test_support.h"

namespace ulpian::diff {
namespace {

struct OpenVinos {
  static constexpr const char* modules = "openvino, onnx, numpy";
  static constexpr const char* names[] = {"openvino", "openvino-default"};
};
using OpenVino = ShippedBackends<OpenVinos>;

std::string details_of(const Backend& b) {
  std::string out;
  for (const auto& [name, text] : b.introduction().details) out += name + "=" + text + "\n";
  return out;
}

TEST_F(OpenVino, IntroducesItselfWithTheHintsInForce) {
  EXPECT_EQ(backends_[0].introduction().name, "openvino");
  EXPECT_EQ(backends_[1].introduction().name, "openvino-default");
  for (const char* part : {"\"hints\":\"pinned\"", "\"inference_precision_hint\":\"f32\"", "\"inference_num_threads\":1", "\"execution_mode_hint\":\"ACCURACY\""})
    EXPECT_NE(details_of(backends_[0]).find(part), std::string::npos) << details_of(backends_[0]);
  // f32 or bf16, as the processor has it: the test knows only that it is said.
  for (const char* part : {"\"hints\":\"default\"", "\"inference_precision_hint\":\"", "\"inference_num_threads\":1", "\"execution_mode_hint\":\"PERFORMANCE\""})
    EXPECT_NE(details_of(backends_[1]).find(part), std::string::npos) << details_of(backends_[1]);
}

TEST_F(OpenVino, RunsSeveralBatchesOfSeveralExtents) {
  for (Backend& b : backends_) {
    const Prepared p = b.prepare(model("relu"));
    ASSERT_TRUE(p.ok()) << describe(*p.trouble);
    const std::vector<Values> batches{{tensor_of("x", ElementType::F32, {2}, {0xbf800000, 0x40000000})},
                                      {tensor_of("x", ElementType::F32, {0}, {})},
                                      {tensor_of("x", ElementType::F32, {3}, {0x00000001, 0x7f800000, 0xff800000})}};
    const auto outcomes = b.run(p.program, batches);
    ASSERT_EQ(outcomes.size(), 3u);
    expect_bits(outcomes[0], 0, ElementType::F32, {2}, {0, 0x40000000});
    expect_bits(outcomes[1], 0, ElementType::F32, {0}, {});
    expect_bits(outcomes[2], 0, ElementType::F32, {3}, {0x00000001, 0x7f800000, 0});
    EXPECT_EQ(outputs_of(outcomes[0]).values[0].name, "y");
    EXPECT_EQ(outputs_of(outcomes[0]).float_state.rounding, "nearest");
    EXPECT_EQ(outputs_of(outcomes[0]).float_state.flushes_subnormals, false);
  }
}

TEST_F(OpenVino, TypesThatNumPyLacksPassAsRawBits) {
  for (Backend& b : backends_) {
    // 1, 1 + 2^-7, -2.5: numbers of bf16. How others are rounded is OpenVINO's affair (without AVX-512 it cuts them), and no matter of this test.
    const Outcome bf16 = outcome_of(b, "bf16", {tensor_of("x", ElementType::F32, {3}, {0x3f800000, 0x3f810000, 0xc0200000})});
    expect_bits(bf16, 0, ElementType::BF16, {3}, {0x3f80, 0x3f81, 0xc020});
    expect_bits(outcome_of(b, "from_bf16", {tensor_of("x", ElementType::BF16, {3}, {0x3f81, 0xc020, 0x4000})}), 0, ElementType::F32, {3}, {0x3f810000, 0xc0200000, 0x40000000});
    expect_bits(outcome_of(b, "from_f8", {tensor_of("x", ElementType::F8E4M3FN, {3}, {0x38, 0xc4, 0x01})}), 0, ElementType::F32, {3}, {0x3f800000, 0xc0400000, 0x3b000000});
    expect_bits(outcome_of(b, "to_f8", {tensor_of("x", ElementType::F32, {3}, {0x3f800000, 0xc0400000, 0x40000000})}), 0, ElementType::F8E5M2, {3}, {0x3c, 0xc2, 0x40});
    expect_bits(outcome_of(b, "to_i4", {tensor_of("x", ElementType::F32, {3}, {0x3f800000, 0xc0000000, 0x40400000})}), 0, ElementType::I4, {3}, {0x1, 0xe, 0x3});
    expect_bits(outcome_of(b, "from_i4", {tensor_of("x", ElementType::I4, {3}, {0x8, 0x7, 0xf})}), 0, ElementType::F32, {3}, {0xc1000000, 0x40e00000, 0xbf800000});
    expect_bits(outcome_of(b, "from_u4", {tensor_of("x", ElementType::U4, {2, 3}, {1, 2, 3, 4, 5, 15})}), 0, ElementType::F32, {2, 3},
                {0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x41700000});
    expect_bits(outcome_of(b, "bool", {tensor_of("x", ElementType::Bool, {}, {0})}), 0, ElementType::Bool, {}, {1});
  }
}

TEST_F(OpenVino, StringsPassAndSequencesAreRefused) {
  for (Backend& b : backends_) {
    const Outcome strings = outcome_of(b, "strings", {Value{"x", Tensor({2}, {"grün", ""})}});
    EXPECT_EQ(outputs_of(strings).values.at(0).tensor()->strings(), (std::vector<std::string>{"grün", ""}));
    const Outcome zero = outcome_of(b, "strings", {Value{"x", Tensor({2}, {std::string("a\0", 2), ""})}});
    EXPECT_EQ(name_of(zero), "refused") << describe(zero);
    const Value x = tensor_of("x", ElementType::I64, {2}, {5, 6});
    const Outcome outcomes[] = {outcome_of(b, "make_sequence", {x}),
                                outcome_of(b, "from_sequence", {Value{"x", Sequence{ElementType::I64, {*x.tensor()}}}, tensor_of("i", ElementType::I64, {}, {0})})};
    for (const Outcome& o : outcomes) {
      ASSERT_TRUE(std::holds_alternative<Refused>(o.what)) << describe(o);
      EXPECT_EQ(std::get<Refused>(o.what).reason, Refusal::Unsupported) << describe(o);
    }
  }
}

TEST_F(OpenVino, InputsThatItRenamesOrDropsFindTheirPlace) {
  for (Backend& b : backends_) {
    // Dropout passes its input on, and OpenVINO calls the input by the output's name.
    expect_bits(outcome_of(b, "renamed", {tensor_of("x", ElementType::F32, {1}, {0x3f800000}), tensor_of("z", ElementType::F32, {1}, {0x40000000})}), 0, ElementType::F32, {1}, {0x3f800000});
    expect_bits(outcome_of(b, "unread", {tensor_of("unread", ElementType::F32, {1}, {0x3f800000}), tensor_of("x", ElementType::F32, {1}, {0x40000000})}), 0, ElementType::F32, {1}, {0x40000000});
  }
}

TEST_F(OpenVino, ItsErrorsAreToldApart) {
  const Value x = tensor_of("x", ElementType::F32, {3}, {0, 0, 0});
  for (Backend& b : backends_) {
    const Outcome unknown = outcome_of(b, "no_such_operator", {x});
    ASSERT_TRUE(std::holds_alternative<Refused>(unknown.what)) << describe(unknown);
    EXPECT_EQ(std::get<Refused>(unknown.what).reason, Refusal::Unsupported) << describe(unknown);
    const Outcome outcomes[] = {outcome_of(b, "wrong_shapes", {x}),
                                outcome_of(b, "relu", {}),
                                outcome_of(b, "relu", {tensor_of("z", ElementType::F32, {1}, {9})}),
                                outcome_of(b, "relu", {tensor_of("x", ElementType::I64, {1}, {9})}),
                                outcome_of(b, "relu", {tensor_of("x", ElementType::F32, {1, 1}, {9})}),
                                outcome_of(b, "there is no such file, and an empty program", {})};
    for (const Outcome& o : outcomes) {
      ASSERT_TRUE(std::holds_alternative<Refused>(o.what)) << describe(o);
      EXPECT_EQ(std::get<Refused>(o.what).reason, Refusal::Invalid) << describe(o);
    }
    EXPECT_EQ(b.restarts(), 0);
  }
}

}  // namespace
}  // namespace ulpian::diff
