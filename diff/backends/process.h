// A child process that answers frames: started in a session of its own, watched for time and memory, ended with all that it started.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "diff/backends/frame.h"
#include "spec/core/diagnostic.h"

namespace ulpian::diff {

struct ProcessOptions {
  std::vector<std::string> command;                                // the first is sought in PATH unless it holds a slash
  std::vector<std::pair<std::string, std::string>> environment;    // added to this process's own
  std::uint64_t memory_bytes = 0;                                  // resident, of the whole session; 0: no limit
  std::size_t error_tail_bytes = 64 << 10;
};

struct Exited { int signal = 0; int status = 0; bool within_frame = false; };
struct TimedOut {};
struct TooMuchMemory { std::uint64_t bytes = 0; };
struct OutsideProtocol { std::string message; };
using Received = std::variant<Frame, Exited, TimedOut, TooMuchMemory, OutsideProtocol>;

class Process {
public:
  static Result<std::unique_ptr<Process>> start(const ProcessOptions& options);
  ~Process();  // ends it at once
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends a frame and takes one in, reading standard error meanwhile. After anything but a frame the process has been ended.
  Received exchange(const OutgoingFrame& request, const FrameLimits& limits, double seconds);
  // Bytes on standard output that nobody asked for, or an exit since the last exchange: not fit for another one.
  bool usable();
  // Sends the frame, closes standard input and lets the process exit by itself within the time; then ends it.
  void finish(const OutgoingFrame& last_words, double seconds);
  // The end of what it wrote on standard error, escaped control characters aside from newline and tab.
  std::string error_output() const;

private:
  class Impl;
  explicit Process(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ulpian::diff
