// The adapters in Python on the libraries themselves: the small models of make_models.py and what is asked of their answers.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include <fmt/format.h>

#include "diff/backends/backend.h"
#include "diff/backends/test_support.h"

namespace ulpian::diff {

// Opens the backends of Names once for all tests. Skips, with the reason printed, where the Python environment lacks a module of them.
template <class Names>
class ShippedBackends : public testing::Test {
protected:
  static void SetUpTestSuite() {
    python_ = python_with(Names::modules);
    if (python_.empty()) return;
    folder_ = std::filesystem::temp_directory_path() / fmt::format("ulpian_models_{}", ::getpid());
    std::filesystem::create_directories(folder_);
    ASSERT_EQ(std::system(fmt::format("'{}' '{}' '{}'", python_, testdata("make_models.py"), folder_.string()).c_str()), 0);
    auto registry = Registry::load({ULPIAN_SOURCE_DIR "/diff/backends/backends.json"}, {python_, "ulpian"});
    ASSERT_TRUE(registry.ok());
    for (const char* name : Names::names) {
      auto backend = Backend::open(name, *registry);
      ASSERT_TRUE(backend.ok()) << to_string(backend.error());
      backends_.push_back(std::move(backend).value());
    }
  }
  static void TearDownTestSuite() {
    backends_.clear();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  void SetUp() override {
    if (python_.empty()) GTEST_SKIP() << "no Python with " << Names::modules << ": set ULPIAN_PYTHON or run tools/setup";
    ASSERT_EQ(backends_.size(), std::size(Names::names));
  }

  static Program model(const std::string& name) {
    std::ifstream file(folder_ / (name + ".onnx"), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return {"onnx", std::make_shared<const std::string>(text.str()), {}};
  }
  static Outcome outcome_of(Backend& backend, const std::string& name, const Values& inputs) {
    const Prepared p = backend.prepare(model(name));
    if (!p.ok()) return *p.trouble;
    Outcome out = backend.run(p.program, inputs);
    backend.release(p.program);
    return out;
  }
  static void expect_bits(const Outcome& outcome, std::size_t k, ElementType type, const Extents& extents, std::initializer_list<Bits> bits) {
    ASSERT_TRUE(outcome.outputs()) << describe(outcome);
    ASSERT_LT(k, outcome.outputs()->values.size());
    const Tensor* t = outcome.outputs()->values[k].tensor();
    ASSERT_TRUE(t);
    EXPECT_EQ(t->type(), type);
    ASSERT_EQ(t->extents(), extents);
    std::int64_t at = 0;
    for (const Bits b : bits) {
      EXPECT_EQ(t->at(at), b) << "element " << at;
      ++at;
    }
  }

  static inline std::string python_;
  static inline std::filesystem::path folder_;
  static inline std::vector<Backend> backends_;
};

inline Value tensor_of(const std::string& name, ElementType type, Extents extents, std::initializer_list<Bits> bits) {
  Tensor t(type, std::move(extents));
  std::int64_t k = 0;
  for (const Bits b : bits) t.set(k++, b);
  return {name, t};
}

inline const Outputs& outputs_of(const Outcome& o) {
  ensure(o.outputs() != nullptr, describe(o));
  return *o.outputs();
}

}  // namespace ulpian::diff
