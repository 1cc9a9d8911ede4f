// Definitions written in tests, elaborated and evaluated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "spec/language/elaborate.h"

namespace ulpian::language::testing {

using Spec = std::shared_ptr<const Specification>;

// The shipped specification and `text` as a user's file "test.ulp".
inline Result<Spec> with(const std::string& text) {
  const SourceText source{"test.ulp", text};
  return Specification::load(std::span(&source, 1));
}

inline InputDescription input(ElementType type, std::vector<ExtentDescription> extents) {
  InputDescription d;
  d.type = type;
  d.extents = std::move(extents);
  return d;
}
inline ExtentDescription symbol(std::string name) { return {0, std::move(name)}; }

// Elaborates test.Op of `text` at its newest version.
inline Result<core::Program> elaborated(const std::string& text, std::vector<InputDescription> inputs = {}, Attributes attributes = {}) {
  auto spec = with(text);
  if (!spec) return spec.error();
  Call call;
  call.op = "test.Op";
  call.version = 1;
  call.inputs = std::move(inputs);
  call.attributes = std::move(attributes);
  return elaborate(**spec, call);
}

// The text that a static expression shows as: the message of a requirement that fails.
inline std::string shown(const std::string& expression, const std::string& before = {}) {
  auto r = elaborated("op test.Op {\n" + before + "\nvalue = " + expression + "\nrequire false \"{value}\"\nout y: f32[]\ny[] = 0\n}\n");
  if (r) return "(no error)";
  return r.error().kind == ErrorKind::Requirement ? r.error().message : to_string(r.error());
}

// The same with an input x of the given extents: symbols are letters.
inline std::string shown_with(const std::string& expression, std::vector<ExtentDescription> extents, const std::string& pattern = "D...") {
  auto r = elaborated("op test.Op {\ntype T: any\nin x: T[" + pattern + "]\nvalue = " + expression + "\nrequire false \"{value}\"\nout y: f32[]\ny[] = 0\n}\n",
                      {input(ElementType::F32, std::move(extents))});
  if (r) return "(no error)";
  return r.error().kind == ErrorKind::Requirement ? r.error().message : to_string(r.error());
}

}  // namespace ulpian::language::testing
