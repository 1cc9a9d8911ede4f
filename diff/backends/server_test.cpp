// server.h through a program that uses it, with the real harness on the other side.
#include "diff/backends/server.h"

#include <gtest/gtest.h>

#include "diff/backends/backend.h"

namespace ulpian::diff {
namespace {

Result<Backend> open_echo() { return Backend::open({ULPIAN_ECHO_BACKEND}); }
Program program_of(std::string bytes) { return {"onnx", std::make_shared<const std::string>(std::move(bytes)), {Port{"x", ElementType::I4, {3}}}}; }

TEST(Server, IntroducesItselfAlthoughItPrints) {
  auto backend = open_echo();
  ASSERT_TRUE(backend.ok()) << to_string(backend.error());
  const Introduction& i = backend->introduction();
  EXPECT_EQ(i.name, "echo");
  EXPECT_EQ(i.formats, (std::vector<std::string>{"onnx", "core"}));
  EXPECT_EQ(i.element_types, (std::vector<ElementType>{ElementType::F32, ElementType::BF16}));
  ASSERT_EQ(i.details.size(), 1u);
  EXPECT_EQ(i.details[0], (std::pair<std::string, std::string>{"threads", "1"}));
  EXPECT_FALSE(i.static_shapes);
  backend->run(backend->prepare(program_of("echo")).program, Values{});
  EXPECT_EQ(backend->error_output(), "text that a library prints\n");
}

TEST(Server, AnswersWithBitsAndState) {
  auto backend = open_echo();
  ASSERT_TRUE(backend.ok());
  const Prepared p = backend->prepare(program_of("echo"));
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p.seconds, 0.25);
  ASSERT_EQ(p.inputs.size(), 1u);
  EXPECT_EQ(p.inputs[0].name, "x");
  ASSERT_EQ(p.outputs.size(), 1u);
  EXPECT_EQ(p.outputs[0].extents, (Extents{2, -1}));
  Tensor x(ElementType::I4, {3});
  x.set(1, 0xf);
  const Outcome outcome = backend->run(p.program, {Value{"x", x}, Value{"o", Absent{}}});
  ASSERT_TRUE(outcome.outputs()) << describe(outcome);
  EXPECT_EQ(outcome.seconds, 0.5);
  EXPECT_EQ(outcome.outputs()->values.at(0).tensor()->at(1), 0xfu);
  EXPECT_TRUE(std::holds_alternative<Absent>(outcome.outputs()->values.at(1).value));
  EXPECT_EQ(outcome.outputs()->float_state.flushes_subnormals, false);
  EXPECT_EQ(outcome.outputs()->float_state.rounding, "nearest");
  backend->release(p.program);
  EXPECT_EQ(backend->restarts(), 0);
}

TEST(Server, ABackendOfStaticShapesIsPreparedForEachExtents) {
  auto backend = Backend::open({ULPIAN_ECHO_BACKEND, "static"});
  ASSERT_TRUE(backend.ok());
  const Prepared p = backend->prepare(program_of("echo"));
  ASSERT_TRUE(p.ok());
  std::vector<Values> batches;
  for (const std::int64_t n : {3, 4, 4, 3}) batches.push_back({Value{"x", Tensor(ElementType::I4, {n})}});
  for (const Outcome& o : backend->run(p.program, batches)) EXPECT_TRUE(o.outputs()) << describe(o);
  EXPECT_EQ(backend->restarts(), 0);
}

TEST(Server, AnAnswerAboveTheLimitIsSaidInWords) {
  OpenOptions options;
  options.answers.payload_bytes = 1024;
  auto backend = Backend::open({ULPIAN_ECHO_BACKEND}, options);
  ASSERT_TRUE(backend.ok());
  const Prepared p = backend->prepare(program_of("echo"));
  EXPECT_TRUE(backend->run(p.program, {Value{"x", Tensor(ElementType::F32, {256})}}).outputs());
  const Outcome o = backend->run(p.program, {Value{"x", Tensor(ElementType::F32, {257})}});
  EXPECT_EQ(describe(o), "out of memory: the answer takes 1088 bytes, more than is accepted");
}

TEST(Server, ExceptionsAreOutcomes) {
  auto backend = open_echo();
  ASSERT_TRUE(backend.ok());
  EXPECT_EQ(describe(*backend->prepare(program_of("refuse")).trouble), "refused (invalid): it says refuse");
  EXPECT_EQ(describe(backend->run(backend->prepare(program_of("throw")).program, Values{})), "failed: it says throw");
  EXPECT_EQ(describe(backend->run(backend->prepare(program_of("exhaust")).program, Values{})), "out of memory: an allocation failed");
  EXPECT_EQ(backend->restarts(), 0);
}

}  // namespace
}  // namespace ulpian::diff
