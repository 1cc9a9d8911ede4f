// ONNX files as graphs of operator calls.
//
// Domains: "" and "ai.onnx" are the same and give the prefix "onnx." (onnx.Conv); any other domain is its own prefix (com.example.MyOp).
// Model-local functions are inlined wherever they are called, and come before an operator of the same name. Initializers become constants;
// Constant nodes stay nodes. A sparse tensor becomes a dense one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "spec/core/graph.h"

namespace ulpian {

// What a specification says of an operator, "onnx.Conv", under an operator set's version.
enum class Definedness : std::uint8_t {
  Defined,          // the version in force is defined
  UnknownVersion,   // the operator is, but not that version
  UnknownOperator,
};

struct OnnxImportOptions {
  // Without it every operator counts as defined, in ai.onnx from version 7 on.
  std::function<Definedness(std::string_view op, std::int64_t version)> is_defined;
  // Of a model given as bytes: the folder of its external data (none: such data are refused), and its name in messages.
  std::string folder;
  std::string source = "model";
  std::int64_t memory_limit = std::int64_t{16} << 30;  // bytes of all constants together
  int nesting_limit = 100;                             // bodies within bodies and functions within functions, together
  std::int64_t node_limit = 1'000'000;                 // after inlining
};

Result<Graph> import_onnx(const std::string& file, const OnnxImportOptions& options = {});
Result<Graph> import_onnx(std::span<const std::byte> bytes, const OnnxImportOptions& options = {});

}  // namespace ulpian
