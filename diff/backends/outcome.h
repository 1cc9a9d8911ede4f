// What can become of a request to a backend. Everything a backend does wrong is an outcome with evidence, never an error of the harness.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/core/datum.h"
#include "spec/core/tensor.h"

namespace ulpian::diff {

struct Sequence {
  ElementType type = ElementType::F32;
  std::vector<Tensor> elements;
};
struct Absent {};  // an optional value that holds nothing

struct Value {
  std::string name;
  std::variant<Tensor, Sequence, Absent> value;

  const Tensor* tensor() const { return std::get_if<Tensor>(&value); }
};

// What the backend left the processor's floating-point state at, as it reports it; empty members were not reported.
struct FloatState {
  std::optional<bool> flushes_subnormals;
  std::string rounding;  // "nearest", "down", "up", "zero"
};

Datum datum_of(const Value& value);
Value value_of(std::string name, const Datum& datum);

struct Outputs {
  std::vector<Value> values;
  FloatState float_state;
};

enum class Refusal : std::uint8_t {
  Unsupported,  // the backend does not have it: an operator, a version, an element type
  Invalid,      // the backend says that the program or its inputs are wrong
};
struct Refused {
  Refusal reason = Refusal::Unsupported;
  std::string message;
};

enum class FailureCause : std::uint8_t {
  Internal,  // the backend tried and reports an error of its own
  Protocol,  // its answer is not what the protocol allows
};
struct Failed {
  FailureCause cause = FailureCause::Internal;
  std::string message;
};

struct Crashed {
  int signal = 0;       // 0: it exited by itself
  int exit_status = 0;  // of an exit by itself
  std::string during;   // "starting", "prepare", "run"
};
struct Hung {
  double seconds = 0;  // the limit that it ran past
  std::string during;
};
struct OutOfMemory {
  std::uint64_t bytes = 0;  // seen when it was stopped; 0 if the backend itself reports it
  std::uint64_t limit = 0;
  std::string message;
};

struct Outcome {
  std::variant<Outputs, Refused, Failed, Crashed, Hung, OutOfMemory> what;
  double seconds = 0;        // the backend's own time if it reports it, else that of the request
  std::string error_output;  // the end of what the backend wrote on standard error; empty for outputs and refusals

  const Outputs* outputs() const { return std::get_if<Outputs>(&what); }
};

// "outputs", "refused", "failed", "crashed", "hung", "out of memory"
std::string_view name_of(const Outcome& outcome);
// One line, without the error output: `crashed during run: signal 11 (SIGSEGV)`
std::string describe(const Outcome& outcome);
std::string_view name_of(Refusal reason);
std::string signal_name(int signal);

}  // namespace ulpian::diff
