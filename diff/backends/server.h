// The other side of the protocol, for backends in C++: answers requests on standard input until `bye` or its end.
#pragma once

#include <span>

#include "diff/backends/message.h"

namespace ulpian::diff {

// One request at a time. An exception becomes `failed`, std::bad_alloc `failed` for want of memory.
class Handler {
public:
  virtual ~Handler() = default;
  virtual Introduction introduce(const HelloRequest& request) = 0;
  // Keeps the program under `request.program` and says so, or refuses or fails.
  virtual std::variant<PreparedAnswer, Refused, Failed> prepare(const PrepareRequest& request) = 0;
  // Asked only for programs that `prepare` accepted.
  virtual Outcome run(ProgramId program, const Values& inputs) = 0;
  virtual void release(ProgramId program) = 0;
};

// Requests come from our own harness: large ones are its business.
inline constexpr FrameLimits RequestLimits{std::uint64_t{1} << 30, std::uint64_t{1} << 40};

// Takes standard output for itself: what else the process prints goes to standard error. Returns the process's exit status: 0 after
// `bye` or the end of input, 1 after input that is not the protocol.
int serve(Handler& handler);
// The same on two descriptors, for tests and other transports; `requests`: the largest that are read.
int serve(Handler& handler, int input, int output, FrameLimits requests = RequestLimits);

}  // namespace ulpian::diff
