#include "diff/backends/backend.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "diff/backends/test_support.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

Program program_of(std::string bytes) { return {"onnx", std::make_shared<const std::string>(std::move(bytes)), {}}; }

Values one_input(std::int64_t extent = 3) {
  Tensor x(ElementType::F32, {extent});
  return {Value{"x", x}};
}

OpenOptions quick() {
  OpenOptions o;
  o.start_seconds = 20;
  o.prepare_seconds = 20;
  o.run_seconds = 3;
  o.answers = {std::uint64_t{4} << 20, std::uint64_t{1} << 30};
  return o;
}

Result<Backend> open_misbehaving(const std::string& how, const OpenOptions& options = quick()) {
  return Backend::open({"python3", "-S", "-E", testdata("misbehave.py"), how}, options);
}

int open_descriptors() {
  int n = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder)) ++n;
  ::closedir(folder);
  return n;
}

struct Expected {
  const char* how;
  const char* outcome;
  const char* says;  // a part of the description
};

void PrintTo(const Expected& e, std::ostream* out) { *out << e.how; }

class Misbehaving : public testing::TestWithParam<Expected> {};

TEST_P(Misbehaving, GivesOneOutcomeAndIsUsableAgain) {
  const Expected& e = GetParam();
  const int descriptors = open_descriptors();
  {
    OpenOptions options = quick();
    const std::string how = e.how;
    if (how.starts_with("hang") || how == "flood-stderr" || how == "stalled-frame" || how == "lying-payload" || how == "close-stdin") options.run_seconds = 0.5;
    if (how.starts_with("memory")) options.memory_bytes = std::uint64_t{200} << 20, options.run_seconds = 20;
    auto opened = open_misbehaving(how, options);
    ASSERT_TRUE(opened.ok()) << to_string(opened.error());
    Backend& backend = *opened;
    const Prepared bad = backend.prepare(program_of("bad"));
    ASSERT_TRUE(bad.ok()) << describe(*bad.trouble);
    const auto start = Clock::now();
    const Outcome outcome = backend.run(bad.program, one_input());
    EXPECT_EQ(name_of(outcome), e.outcome) << describe(outcome);
    EXPECT_NE(describe(outcome).find(e.says), std::string::npos) << describe(outcome);
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
    // A death is found before the next request only once it has happened.
    if (how == "answer-then-exit") std::this_thread::sleep_for(std::chrono::milliseconds(500));

    const Prepared good = backend.prepare(program_of("good"));
    ASSERT_TRUE(good.ok()) << describe(*good.trouble);
    const Outcome again = backend.run(good.program, one_input());
    ASSERT_TRUE(again.outputs()) << describe(again);
    const Tensor* y = again.outputs()->values.at(0).tensor();
    ASSERT_TRUE(y);
    EXPECT_EQ(y->at(0), 0x3f800000u);
    EXPECT_EQ(y->at(1), 0x40000000u);
  }
  EXPECT_EQ(open_descriptors(), descriptors) << "descriptors are left open";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

const Expected Cases[] = {
    {"crash", "crashed", "SIGSEGV"},
    {"exit-3", "crashed", "exited with status 3"},
    {"exit-0", "crashed", "exited with status 0"},
    {"hang", "hung", "no answer within 0.5 s"},
    {"hang-deaf", "hung", "no answer within 0.5 s"},
    {"flood-stdout", "failed", "where a frame belongs"},
    {"flood-stderr", "hung", "no answer"},
    {"loud-stderr", "outputs", "1 output"},
    {"print", "failed", "\"Hello from a library\\n\" where a frame belongs"},
    {"no-json", "failed", "not JSON: \"{this is not json\""},
    {"bad-utf8", "failed", "not JSON"},
    {"array-header", "failed", "array where an object belongs"},
    {"deep-json", "failed", "nested deeper than 32"},
    {"number-overflow", "failed", "not JSON"},
    {"no-type", "failed", "\"type\" is missing"},
    {"unknown-type", "failed", "a message of type \"shrug\""},
    {"wrong-id", "failed", "the id 12345"},
    {"wrong-answer", "failed", "another type"},
    {"wrong-batches", "failed", "outcomes for 0 batches"},
    {"truncated-header", "crashed", "in the middle of its answer"},
    {"truncated-payload", "crashed", "in the middle of its answer"},
    {"stalled-frame", "hung", "no answer"},
    {"huge-header", "failed", "header of 1152921504606846976 bytes; the most is 4194304"},
    {"huge-payload", "failed", "payload of 9223372036854775808 bytes; the most is 1073741824"},
    {"lying-payload", "hung", "no answer"},
    {"wrong-length", "failed", "f32[2] with 12 bytes"},
    {"short-payload", "failed", "a blob of 4000 bytes is declared; the payload has 64 left"},
    {"long-payload", "failed", "64 bytes of the payload belong to no value"},
    {"huge-extents", "failed", "with 8 bytes"},
    {"overflowing-extents", "failed", "too large"},
    {"negative-extent", "failed", "outside 0 to 2^62"},
    {"fraction-extent", "failed", "an integer belongs there"},
    {"no-such-type", "failed", "\"f31\", which is no element type"},
    {"type-Z", "failed", "\"Z\", which is no element type"},
    {"bool-2", "failed", "element 0 of type bool is the byte 0x02"},
    {"i4-high-bits", "failed", "element 1 of type i4 is the byte 0xff"},
    {"string-lengths", "failed", "string 0 has 4294967295 bytes"},
    {"two-answers", "failed", "bytes follow the answer"},
    {"close-stdout", "failed", "closed its standard output"},
    {"close-stdin", "hung", "no answer"},
    {"child-keeps-pipes", "crashed", "exited with status 5"},
    {"child-own-group", "crashed", "exited with status 5"},
    {"memory", "out of memory", "200 MiB allowed"},
    {"memory-in-child", "out of memory", "200 MiB allowed"},
    {"memory-error", "out of memory", "no room"},
    {"refuse", "refused", "unsupported): no such operator"},
    {"refuse-oddly", "failed", "\"mood\""},
    {"fail", "failed", "internal error"},
    {"slow", "outputs", "1 output"},
    {"drip", "outputs", "1 output"},
    {"answer-then-exit", "outputs", "1 output"},
};

std::string case_name(const testing::TestParamInfo<Expected>& info) { return std::regex_replace(std::string(info.param.how), std::regex("-"), "_"); }

INSTANTIATE_TEST_SUITE_P(Adapters, Misbehaving, testing::ValuesIn(Cases), case_name);

TEST(BackendStart, WithoutIntroductionIsAnErrorWithItsEvidence) {
  OpenOptions options = quick();
  options.start_seconds = 0.7;
  const std::pair<const char*, const char*> cases[] = {{"exit-at-once", "exited with status 0"},
                                                       {"silent", "hung during starting"},
                                                       {"print-first", "\"Welcome!\\n\" where a frame belongs"},
                                                       {"other-version", "version 2 of the protocol"}};
  for (const auto& [how, says] : cases) {
    auto opened = open_misbehaving(how, std::string(how) == "other-version" || std::string(how) == "exit-at-once" ? quick() : options);
    ASSERT_FALSE(opened.ok()) << how;
    EXPECT_NE(to_string(opened.error()).find(says), std::string::npos) << to_string(opened.error());
  }
  auto opened = open_misbehaving("exit-without-hello");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(to_string(opened.error()).find("exited with status 4"), std::string::npos) << to_string(opened.error());
  EXPECT_NE(to_string(opened.error()).find("no module named library"), std::string::npos) << to_string(opened.error());
}

TEST(BackendStart, AProgramThatCannotBeStartedIsNamed) {
  auto absent = Backend::open({"/nonexistent/adapter"}, quick());
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().kind, ErrorKind::Usage);
  EXPECT_NE(absent.error().message.find("\"/nonexistent/adapter\" cannot be started: No such file"), std::string::npos) << absent.error().message;
  auto not_in_path = Backend::open({"no-such-program-anywhere"}, quick());
  ASSERT_FALSE(not_in_path.ok());
  EXPECT_NE(not_in_path.error().message.find("not in PATH"), std::string::npos);
  auto folder = Backend::open({"/"}, quick());
  EXPECT_FALSE(folder.ok());
}

TEST(BackendRun, OnlyTheBatchThatCrashesIsLost) {
  auto opened = open_misbehaving("crash-on-batch");
  ASSERT_TRUE(opened.ok());
  const Prepared p = opened->prepare(program_of("bad"));
  ASSERT_TRUE(p.ok());
  const std::vector<Values> batches{one_input(1), one_input(13), one_input(2)};
  const auto outcomes = opened->run(p.program, batches);
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_TRUE(outcomes[0].outputs()) << describe(outcomes[0]);
  ASSERT_TRUE(std::holds_alternative<Crashed>(outcomes[1].what)) << describe(outcomes[1]);
  EXPECT_EQ(std::get<Crashed>(outcomes[1].what).signal, SIGILL);
  EXPECT_TRUE(outcomes[2].outputs()) << describe(outcomes[2]);
  EXPECT_TRUE(opened->run(p.program, std::span<const Values>{}).empty());
}

TEST(BackendRun, ACrashWhilePreparingLeavesOtherProgramsUsable) {
  auto opened = open_misbehaving("crash-in-prepare");
  ASSERT_TRUE(opened.ok());
  const Prepared good = opened->prepare(program_of("good"));
  ASSERT_TRUE(good.ok());
  const Prepared bad = opened->prepare(program_of("bad"));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(describe(*bad.trouble).find("crashed during prepare: signal 6 (SIGABRT)"), std::string::npos) << describe(*bad.trouble);
  const Outcome outcome = opened->run(good.program, one_input());
  EXPECT_TRUE(outcome.outputs()) << describe(outcome);
  EXPECT_EQ(opened->restarts(), 1);
}

TEST(BackendRun, AProcessEndedFromOutsideBetweenRequestsIsReplaced) {
  auto opened = open_misbehaving("slow");
  ASSERT_TRUE(opened.ok());
  const Prepared good = opened->prepare(program_of("good"));
  for (const pid_t child : children_of(::getpid())) {
    ::kill(child, SIGKILL);
    while (!is_zombie(child)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const Outcome outcome = opened->run(good.program, one_input());
  EXPECT_TRUE(outcome.outputs()) << describe(outcome);
}

TEST(BackendRun, StandardErrorIsKeptAsEvidence) {
  auto opened = open_misbehaving("fail");
  ASSERT_TRUE(opened.ok());
  const Prepared p = opened->prepare(program_of("bad"));
  const Outcome failed = opened->run(p.program, one_input());
  EXPECT_NE(failed.error_output.find("evidence"), std::string::npos);

  OpenOptions options = quick();
  options.run_seconds = 0.5;
  options.error_tail_bytes = 1000;
  auto flooding = open_misbehaving("flood-stderr", options);
  ASSERT_TRUE(flooding.ok());
  const Outcome hung = flooding->run(flooding->prepare(program_of("bad")).program, one_input());
  EXPECT_NE(hung.error_output.find("bytes left out]"), std::string::npos);
  EXPECT_LT(hung.error_output.size(), 1100u);
}

TEST(BackendRun, WhatTheBackendStartedIsEndedWithIt) {
  for (const char* how : {"child-own-group", "child-own-session"}) {
    auto opened = open_misbehaving(how);
    ASSERT_TRUE(opened.ok());
    const Outcome outcome = opened->run(opened->prepare(program_of("bad")).program, one_input());
    std::smatch found;
    ASSERT_TRUE(std::regex_search(outcome.error_output, found, std::regex("child ([0-9]+)"))) << how << ": " << outcome.error_output;
    const auto pid = static_cast<pid_t>(std::stol(found[1]));
    // Being killed takes it a moment.
    for (int k = 0; k < 200 && ::kill(pid, 0) == 0 && !is_zombie(pid); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(::kill(pid, 0) != 0 || is_zombie(pid)) << how << ": process " << pid << " is left";
  }
}

TEST(BackendRun, ABackendThatHangsDoesNotOutliveItsHarness) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t harness = ::fork();
  if (harness == 0) {
    auto opened = open_misbehaving("hang-deaf");
    if (!opened.ok()) ::_exit(1);
    const pid_t child = children_of(::getpid()).at(0);
    if (::write(ends[1], &child, sizeof child) != sizeof child) ::_exit(1);
    opened->run(opened->prepare(program_of("bad")).program, one_input());
    ::_exit(0);
  }
  pid_t backend = 0;
  ASSERT_EQ(::read(ends[0], &backend, sizeof backend), static_cast<ssize_t>(sizeof backend));
  ::close(ends[0]);
  ::close(ends[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(harness, SIGKILL);
  ::waitpid(harness, nullptr, 0);
  bool gone = false;
  for (int k = 0; k < 200 && !gone; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gone = ::kill(backend, 0) != 0 || is_zombie(backend);
  }
  EXPECT_TRUE(gone);
}

TEST(BackendRun, AFormatThatTheBackendDoesNotTakeIsRefused) {
  auto opened = open_misbehaving("slow");
  ASSERT_TRUE(opened.ok());
  Program p = program_of("good");
  p.format = "stablehlo";
  const Prepared prepared = opened->prepare(p);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(describe(*prepared.trouble), "refused (unsupported): the backend takes onnx, not stablehlo");
}

TEST(BackendRun, ALargeRequestPassesWhileTheBackendWritesErrors) {
  auto opened = Backend::open({ULPIAN_ECHO_BACKEND}, quick());
  ASSERT_TRUE(opened.ok()) << to_string(opened.error());
  const Prepared p = opened->prepare(program_of("echo"));
  ASSERT_TRUE(p.ok());
  Tensor x(ElementType::U8, {20'000'003});
  for (std::int64_t k = 0; k < x.size(); k += 4099) x.set(k, static_cast<Bits>(k % 251));
  const Outcome outcome = opened->run(p.program, {Value{"x", x}});
  ASSERT_TRUE(outcome.outputs()) << describe(outcome);
  EXPECT_TRUE(same_elements(*outcome.outputs()->values.at(0).tensor(), x));
}

}  // namespace
}  // namespace ulpian::diff
