#include "diff/backends/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ulpian::diff {
namespace {

std::string temporary_file(const std::string& name, const std::string& text) {
  const std::string file = (std::filesystem::temp_directory_path() / ("ulpian_" + std::to_string(::getpid()) + "_" + name)).string();
  std::ofstream(file) << text;
  return file;
}

TEST(Registry, TheShippedListNamesTheShippedAdapters) {
  const auto registry = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {"/py", "/ulpian"});
  ASSERT_TRUE(registry.ok()) << to_string(registry.error());
  for (const char* name : {"onnxruntime", "onnxruntime-plain", "onnx-reference", "openvino", "openvino-default", "ulpian"}) ASSERT_TRUE(registry->find(name)) << name;
  const auto& plain = registry->find("onnxruntime-plain")->command;
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_EQ(plain[0], "/py");
  EXPECT_TRUE(std::filesystem::exists(plain[1])) << plain[1];
  EXPECT_EQ(plain[2] + plain[3], "--optimizationnone");
  EXPECT_EQ(registry->find("ulpian")->command.front(), "/ulpian");
}

TEST(Registry, ALaterFileReplacesNamesAndAddsItsOwn) {
  const std::string file = temporary_file("more.json", R"({"backends": [{"name": "ulpian", "command": ["other"]}, {"name": "mine", "command": ["{python}", "{folder}/m.py"]}]})");
  const auto registry = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json", file}, {"py", "u"});
  ASSERT_TRUE(registry.ok()) << to_string(registry.error());
  EXPECT_EQ(registry->find("ulpian")->command, std::vector<std::string>{"other"});
  EXPECT_EQ(registry->find("mine")->command, (std::vector<std::string>{"py", std::filesystem::path(file).parent_path().string() + "/m.py"}));
  EXPECT_EQ(registry->backends().size(), 7u);
  std::filesystem::remove(file);
}

TEST(Registry, SpecificationsArePassedOnToUlpianItself) {
  const auto with = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {"py", "u", {"/a b.ulp", "/c.ulp"}});
  ASSERT_TRUE(with.ok()) << to_string(with.error());
  EXPECT_EQ(with->find("ulpian")->command, (std::vector<std::string>{"u", "backend", "--spec", "/a b.ulp", "--spec", "/c.ulp"}));
  const auto without = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {"py", "u"});
  ASSERT_TRUE(without.ok()) << to_string(without.error());
  EXPECT_EQ(without->find("ulpian")->command, (std::vector<std::string>{"u", "backend"}));
}

TEST(Registry, BadFilesAreNamedWithTheirFault) {
  const std::pair<const char*, const char*> cases[] = {{"{", "not JSON"},
                                                       {"[]", "an object belongs"},
                                                       {"{}", "\"backends\" is missing"},
                                                       {R"({"backends": [{"name": "x"}]})", "\"command\" is missing"},
                                                       {R"({"backends": [{"name": "x", "command": []}]})", "empty command"},
                                                       {R"({"backends": [{"name": "", "command": ["a"]}]})", "empty name"},
                                                       {R"({"backends": [{"name": "x", "command": "a b"}]})", "an array belongs"},
                                                       {R"({"backends": [], "known": [{"backends": ["x"], "reason": "r", "link": "l"}]})", "\"verdicts\" is missing"},
                                                       {R"({"backends": [], "known": [{"backends": ["x"], "verdicts": ["failed"], "reason": "r"}]})", "\"link\" is missing"},
                                                       {R"({"backends": [], "known": [{"backends": ["x"], "verdicts": ["failed"], "types": ["f33"], "reason": "r", "link": "l"}]})", "f33"}};
  for (const auto& [text, says] : cases) {
    const std::string file = temporary_file("bad.json", text);
    const auto registry = Registry::load({file}, {});
    ASSERT_FALSE(registry.ok()) << text;
    EXPECT_NE(to_string(registry.error()).find(says), std::string::npos) << to_string(registry.error());
    EXPECT_NE(to_string(registry.error()).find(file), std::string::npos);
    std::filesystem::remove(file);
  }
  EXPECT_FALSE(Registry::load({"/nonexistent.json"}, {}).ok());
}

TEST(Registry, AKnownFaultExplainsWhatItNamesAndNothingElse) {
  const KnownFault fault{{"a", "b"}, "2.1", {"violation", "failed"}, {"onnx.Relu"}, {ElementType::F32}, "reason", "link"};
  EXPECT_TRUE(explains(fault, "b", "2.1.7", {"failed", "onnx.Relu", ElementType::F32}));
  EXPECT_FALSE(explains(fault, "c", "2.1.7", {"failed", "onnx.Relu", ElementType::F32}));
  EXPECT_FALSE(explains(fault, "b", "2.2", {"failed", "onnx.Relu", ElementType::F32}));
  EXPECT_FALSE(explains(fault, "b", "2.1", {"crashed", "onnx.Relu", ElementType::F32}));
  EXPECT_FALSE(explains(fault, "b", "2.1", {"failed", "onnx.Exp", ElementType::F32}));
  EXPECT_FALSE(explains(fault, "b", "2.1", {"failed", "onnx.Relu", ElementType::F16}));
  EXPECT_FALSE(explains(fault, "b", "2.1", {"failed", "onnx.Relu", {}}));
  EXPECT_TRUE(explains({{"a"}, "", {"failed"}, {}, {}, "", ""}, "a", "", {"failed", "onnx.Relu", {}}));
}

TEST(Registry, EveryShippedKnownFaultIsOfAShippedBackendAndHasALink) {
  const auto registry = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {});
  ASSERT_TRUE(registry.ok());
  EXPECT_FALSE(registry->known().empty());
  for (const KnownFault& k : registry->known()) {
    for (const std::string& name : k.backends) EXPECT_TRUE(registry->find(name)) << name;
    EXPECT_EQ(k.link.rfind("https://", 0), 0u) << k.reason;
  }
}

TEST(Registry, WhatIsNoNameIsACommand) {
  const auto registry = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {"py", "u"});
  ASSERT_TRUE(registry.ok());
  EXPECT_EQ(*registry->command_of("python3 'my adapter.py' --x=\"a b\" c\\ d"), (std::vector<std::string>{"python3", "my adapter.py", "--x=a b", "c d"}));
  EXPECT_EQ(*registry->command_of("./mine"), std::vector<std::string>{"./mine"});
  const auto unknown = registry->command_of("onxruntime");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(to_string(unknown.error()),
            "no backend is named \"onxruntime\"\n  help: the names are: onnxruntime, onnxruntime-plain, onnx-reference, openvino, openvino-default, ulpian; or give a command, such as "
            "'python3 my_adapter.py' or ./my_adapter");
  for (const char* bad : {"", "   ", "python3 'open", "''"}) EXPECT_FALSE(registry->command_of(bad).ok()) << bad;
}

}  // namespace
}  // namespace ulpian::diff
