// Elaboration: an operator's definition, applied to attributes and to inputs of known types, becomes a core program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/core/graph.h"
#include "spec/core/program.h"
#include "spec/language/host.h"
#include "spec/language/specification.h"

namespace ulpian::language {

// An extent: a number, or a named size symbol (the same name is the same symbol).
struct ExtentDescription {
  std::int64_t extent = 0;
  std::string symbol;  // empty: `extent`
};

struct InputDescription {
  bool present = true;
  bool plain = false;  // the program says that this is a tensor or a sequence, or leaves it out: no value of an optional type
  ElementType type = ElementType::F32;
  std::vector<ExtentDescription> extents;
  // The elements, where they are known: read by `static` inputs (shapes, axes). Others ignore it.
  std::optional<Tensor> value;
  // A sequence of tensors, all of `type`: an empty one, or its items. Items are no sequences.
  bool is_sequence = false;
  std::vector<InputDescription> items;
};

struct Call {
  std::string op;                   // "onnx.Conv"
  std::int64_t version = 0;         // the opset version in force
  Attributes attributes;
  std::vector<InputDescription> inputs;
  std::size_t outputs = 1;          // how many results the program names (trailing ones may be left out)
  // Which alternative of each static `one of` to take, in the order met; 0, the canonical one, where the list ends.
  std::vector<std::uint8_t> alternatives;
};

struct ElaborationLimits {
  std::size_t memory_bytes = 128u << 20;  // of static values, and as much of the program
  std::int64_t steps = 2'000'000;         // expressions evaluated, or as much work
  std::int64_t steps_per_item = 1000;     // more, for each input, output, and element of attributes and static inputs
  int call_depth = 400;                   // of calls whose value something else is made of; those that end a function don't count
  int term_depth = 1000;                  // of one expression of the program: evaluators may recurse so deep
  int splits = 64;                        // programs that undecided conditions may split one call into
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  // set from another thread: stop soon
};

// One program; a condition on size symbols that would need several is an error (kind Unsupported) that names it.
// Errors: Requirement (a violated `require` or `refuse`), Undefined, Definition (the definition is wrong), Unsupported, Limit.
// `host` runs the graphs that the call holds; without one they are refused (Unsupported). A program that a host had a part in is for these
// values only.
Result<core::Program> elaborate(const Specification& specification, const Call& call, const ElaborationLimits& limits = {}, Host* host = nullptr);

// Whether calls of the operator hold graphs: their elaboration needs a host.
bool holds_graphs(const OperatorDefinition& definition);

// All programs that the undecided conditions lead to, each under its own path condition. Refused branches are left out.
Result<std::vector<core::Program>> elaborate_all(const Specification& specification, const Call& call, const ElaborationLimits& limits = {});

// One `example` of a definition: a call with values and what it must give.
struct Example {
  const OperatorDefinition* definition = nullptr;
  Place place;
  std::string title;                // "onnx.Conv example 2, T = f32"
  Call call;
  std::vector<std::optional<Tensor>> inputs;  // as a program takes them: sequences item by item
  bool expects_error = false;
  bool expects_undefined = false;             // that the standard says nothing of this call
  std::string reason;                         // part of the message of the refusal, or of the undefined condition; empty: any
  struct Expected {
    std::string name;
    std::size_t output = 0;            // position among the results
    std::size_t part = 0;              // of a sequence: which tensor
    std::optional<ElementType> type;   // as declared; empty where the definition computes it
    Extents extents;                   // [0] also stands for any extents without elements
    std::vector<Exact> numbers;        // conditions are 0 and 1
    std::vector<std::string> strings;  // instead of numbers
    // `~`: within one unit of the last digit written, per element (absolute); empty for `=`.
    std::vector<double> tolerance;
    // Empty where the type does not hold the literals.
    std::optional<Tensor> value(ElementType of) const;
  };
  std::vector<Expected> expected;
  // What the definition admits besides, element by element, and what it does not: of outputs that are tensors.
  std::vector<Expected> allowed, forbidden;
  // What each result is; its tensors are in `expected`.
  struct ExpectedResult {
    std::string name;
    std::size_t output = 0;
    core::ResultKind kind = core::ResultKind::Tensor;
    std::size_t count = 1;
  };
  std::vector<ExpectedResult> expected_results;
};

// The examples of one definition; one without a type runs at every type that holds its literals exactly.
Result<std::vector<Example>> examples_of(const Specification& specification, const OperatorDefinition& definition);

}  // namespace ulpian::language
