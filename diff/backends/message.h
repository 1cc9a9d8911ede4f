// The protocol's messages as values, and their frames. docs/backends.md is the definition; what is not in it is an error here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "diff/backends/frame.h"
#include "diff/backends/outcome.h"
#include "spec/core/diagnostic.h"
#include "spec/core/tensor.h"

namespace ulpian::diff {

inline constexpr std::int64_t ProtocolVersion = 1;

using ProgramId = std::int64_t;
using Values = std::vector<Value>;  // of one batch: a program's inputs, or its outputs, in the program's order

// An input's type and extents as the harness will give it, or a port as a backend reports it (-1: an extent not known before a run).
struct Port {
  std::string name;
  ElementType type = ElementType::F32;
  Extents extents;
};

// ---- what the harness asks ----
struct HelloRequest {
  std::int64_t threads = 1;  // what the backend should use; 0: as it likes
  FrameLimits limits;        // of the answers
};
struct PrepareRequest {
  ProgramId program = 0;
  std::string format = "onnx";
  std::shared_ptr<const std::string> bytes;
  std::vector<Port> inputs;  // for backends that need static shapes; may be empty
};
struct RunRequest {
  ProgramId program = 0;
  std::vector<Values> batches;
};
struct ReleaseRequest {
  ProgramId program = 0;
};
struct ByeRequest {};

struct Request {
  std::int64_t id = 0;
  std::variant<HelloRequest, PrepareRequest, RunRequest, ReleaseRequest, ByeRequest> what;
};

// ---- what a backend answers ----
struct Introduction {
  std::string name;
  std::string version;
  std::vector<std::string> formats;        // "onnx", "stablehlo", "torch", "core"
  std::vector<ElementType> element_types;  // empty: not stated
  bool static_shapes = false;              // wants `inputs` in prepare, and a new prepare for other extents
  std::uint64_t largest_payload = 0;       // that it takes; 0: not stated
  std::vector<std::pair<std::string, std::string>> details;  // all else it said (options, providers, cpu, ...), values as JSON text
};
struct PreparedAnswer {
  std::vector<Port> inputs, outputs;  // may be empty: not stated
  double seconds = -1;                // negative: not stated
};
struct RunAnswer {
  std::vector<Outcome> batches;  // Outputs, Refused, Failed or OutOfMemory; `seconds` negative if not stated
};
struct DoneAnswer {};

struct Answer {
  std::int64_t id = 0;
  std::variant<Introduction, PreparedAnswer, RunAnswer, DoneAnswer, Refused, Failed, OutOfMemory> what;
};

// The frame shows the bytes of the request's or answer's tensors and program: keep it alive until the frame is sent.
OutgoingFrame encode(const Request& request);
OutgoingFrame encode(const Answer& answer);
// Every length, type and nesting is checked; errors say what was found.
Result<Request> decode_request(const Frame& frame);
Result<Answer> decode_answer(const Frame& frame);

}  // namespace ulpian::diff
