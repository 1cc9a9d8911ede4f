// The calls of the specification's examples, for tests that hold for every operator.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "spec/language/elaborate.h"

namespace ulpian::interp::testing {

using Inputs = std::vector<std::optional<Tensor>>;

// Sets exist of numbers and conditions only.
inline bool has_sets(const Inputs& inputs) {
  return std::none_of(inputs.begin(), inputs.end(), [](const auto& t) { return t && (t->type() == ElementType::String || is_complex(t->type())); });
}

// Calls visit(example, program) for every example that elaborates; stops after `most` of them answered false.
template <class Visit> void each_example_call(bool with_errors, int most, Visit visit) {
  auto specification = language::Specification::load();
  ASSERT_TRUE(specification) << to_string(specification.error());
  for (const std::string& name : (*specification)->names())
    for (const language::OperatorDefinition* d : (*specification)->definitions(name)) {
      auto examples = language::examples_of(**specification, *d);
      if (!examples) continue;
      for (const language::Example& e : *examples) {
        if (!has_sets(e.inputs) || (e.expects_error && !with_errors)) continue;
        auto program = language::elaborate(**specification, e.call);
        if (program && !visit(e, *program) && --most < 0) return;
      }
    }
}

// The first elements of each input, as bits.
inline std::string shown(const Inputs& inputs) {
  std::string out;
  for (const auto& t : inputs) {
    if (!t) continue;
    out += fmt::format("\n  {}{}:", name_of(t->type()), to_string(t->extents()));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(t->size(), 12); ++i) out += fmt::format(" {:#x}", t->at(i));
  }
  return out;
}

inline std::string shown(ElementType t, Bits b) { return is_float(t) ? fmt::format("{} ({:#x})", to_double(t, b), b) : fmt::format("{:#x}", b); }

}  // namespace ulpian::interp::testing
