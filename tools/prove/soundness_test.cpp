// What running shows to be broken must never be proved: definitions changed by one token, of which an example then reads out of range.
#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>

#include "interp/session/examples.h"
#include "tools/mutants/mutations.h"
#include "tools/prove/proof.h"

namespace ulpian::tools {
namespace {

using language::OperatorDefinition;
using language::Specification;

// The first example of the changed definition that ends in an error of the definition, if the change leaves it one.
std::optional<std::string> broken(const std::shared_ptr<const Specification>& changed, const std::vector<language::Example>& examples) {
  interp::Limits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (const language::Example& e : examples) {
    auto failure = interp::outcome_of(changed, e, interp::Evaluator::Scalar, limits);
    // Integers beyond 64 bits and the greatest of nothing are other errors.
    if (failure && failure->evaluation == ErrorKind::Definition && failure->message.find("whose extent is") != std::string::npos) return e.title + ": " + failure->message;
  }
  return std::nullopt;
}

// How many changes were broken; every one of them must be refuted, or not proved.
std::size_t try_changes(const std::string& name, std::size_t stride) {
  auto spec = Specification::load();
  EXPECT_TRUE(spec.ok());
  std::size_t found = 0;
  for (const OperatorDefinition* d : (*spec)->definitions(name)) {
    auto examples = language::examples_of(**spec, *d);
    EXPECT_TRUE(examples.ok());
    const auto mutations = mutations_of((*spec)->symbols(), *d);
    for (std::size_t k = 0; k < mutations.size(); k += stride) {
      const language::SourceText text{d->file->path, mutated(*d->file, mutations[k])};
      auto changed = Specification::load(std::span(&text, 1));
      if (!changed) continue;
      const auto why = broken(*changed, *examples);
      if (!why) continue;
      ++found;
      ProofOptions options;
      options.limits.milliseconds = 100;
      options.seconds = 2;
      auto proof = prove(**changed, *(*changed)->find(name, d->since.front()), options);
      if (!proof) continue;  // its own examples no longer make sense
      EXPECT_NE(proof->standing, Standing::Proved) << name << " with " << mutations[k].change << " at line " << mutations[k].at.line << ", but " << *why;
    }
  }
  return found;
}

TEST(Soundness, WhatAnExampleBreaksIsNotProved) {
  // ULPIAN_EXHAUSTIVE=1 tries every change.
  const std::size_t stride = std::getenv("ULPIAN_EXHAUSTIVE") ? 1 : 7;
  std::size_t found = 0;
  for (const char* name : {"onnx.Pad", "onnx.Conv", "onnx.Gather", "onnx.Slice", "onnx.CumSum", "onnx.DepthToSpace", "onnx.Transpose", "onnx.MatMul", "onnx.MaxPool", "onnx.Split",
                           "onnx.LSTM", "onnx.ScatterElements", "onnx.TopK", "onnx.Compress", "onnx.ReverseSequence", "onnx.Trilu", "onnx.Tile", "onnx.OneHot"})
    found += try_changes(name, stride);
  EXPECT_GE(found, 15u) << "too few changes to say anything";
}

}  // namespace
}  // namespace ulpian::tools
