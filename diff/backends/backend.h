// A backend under test: a process that speaks the protocol of docs/backends.md. Whatever it does, a request ends with one outcome in
// bounded time, and the backend is usable again: a process that died or was ended is started anew, its programs are prepared again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diff/backends/message.h"
#include "diff/backends/outcome.h"
#include "diff/backends/registry.h"
#include "spec/core/diagnostic.h"

namespace ulpian::diff {

struct OpenOptions {
  double start_seconds = 120;    // until it has introduced itself (libraries are loaded then)
  double prepare_seconds = 300;
  double run_seconds = 120;      // for each batch of a request
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;  // resident, of the backend and what it starts; 0: no limit
  FrameLimits answers;
  std::size_t error_tail_bytes = 64 << 10;
  int threads = 1;               // 0: as it likes
  std::vector<std::pair<std::string, std::string>> environment;
};

struct Program {
  std::string format = "onnx";
  std::shared_ptr<const std::string> bytes;  // self-contained: no external data
  std::vector<Port> inputs;                  // what will be run; needed by backends with static shapes
};

// What became of a `prepare`. Without trouble the program can be run.
struct Prepared {
  ProgramId program = -1;
  std::vector<Port> inputs, outputs;  // as the backend reports them, if it does
  double seconds = 0;
  std::optional<Outcome> trouble;     // anything but outputs

  bool ok() const { return !trouble.has_value(); }
};

// Movable; one thread at a time.
class Backend {
public:
  // Starts the process and lets it introduce itself. An error: no such name or program, or no introduction (then with its error output).
  static Result<Backend> open(std::string_view name_or_command, const Registry& registry, const OpenOptions& options = {});
  static Result<Backend> open(std::vector<std::string> command, const OpenOptions& options = {});
  Backend(Backend&&) noexcept;
  Backend& operator=(Backend&&) noexcept;
  ~Backend();  // asks it to leave, then ends it and all that it started

  const Introduction& introduction() const;
  const std::vector<std::string>& command() const;

  Prepared prepare(const Program& program);
  // The inputs in the program's order, named. One outcome per batch. When the process dies or hangs on several batches, each is run
  // again alone, so that the others keep their outputs.
  std::vector<Outcome> run(ProgramId program, std::span<const Values> batches);
  Outcome run(ProgramId program, const Values& inputs);
  void release(ProgramId program);

  int restarts() const;  // processes started after the first
  // The end of what the present process, or the last one if none lives, wrote on standard error.
  std::string error_output() const;

private:
  class Impl;
  explicit Backend(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ulpian::diff
