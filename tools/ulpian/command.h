// What all subcommands share: exit statuses, the shipped or extended specification, messages, progress. Each subcommand is one file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "interp/limits.h"
#include "spec/core/diagnostic.h"
#include "spec/core/graph.h"
#include "spec/language/specification.h"

namespace CLI {
class App;
}

namespace ulpian::tools {

// Exit statuses, the same for every subcommand.
enum Exit : int {
  Success = 0,       // ran; conforms
  Nonconforming = 1,
  UsageError = 2,    // usage or input error; a `require` violated; a declared size above the limit
  Undecided = 3,     // refused, ill-conditioned only, a limit met while running
  OwnFault = 70,
};

// Options that several subcommands have.
struct Common {
  bool json = false;
  bool quiet = false;
  std::vector<std::string> spec_files;
  double seconds = 0;           // 0: no limit
  std::int64_t memory_mib = 16 << 10;
  double work = 5e12;           // 0: no limit
  int threads = 1;
};

// One file each: run.cpp, check.cpp, audit.cpp, spec.cpp, profiles.cpp, backends.cpp. Each adds itself to `app` and, if the user names it, sets `chosen`.
void add_run(CLI::App& app, Common& common, std::function<int()>& chosen);
void add_check(CLI::App& app, Common& common, std::function<int()>& chosen);
void add_audit(CLI::App& app, Common& common, std::function<int()>& chosen);
void add_backends(CLI::App& app, Common& common, std::function<int()>& chosen);
void add_spec(CLI::App& app, Common& common, std::function<int()>& chosen);
void add_profiles(CLI::App& app, Common& common, std::function<int()>& chosen);

void add_common(CLI::App& command, Common& common, bool evaluates);

Result<std::shared_ptr<const language::Specification>> load_specification(const Common& common);
Result<std::shared_ptr<const Graph>> load_model(const std::string& file, const std::shared_ptr<const language::Specification>& specification, const Common& common);
interp::Limits limits_of(const Common& common);

// Prints the message (with --json as an object on standard output) and returns the status that its kind asks for.
int report(const Diagnostic& diagnostic, const Common& common);
int exit_status(const Diagnostic& diagnostic);
// What is wrong with a command line.
Diagnostic usage(std::string message, std::string hint = {});
// Our own mistake, never the user's.
int report_bug(const std::string& message, const Common& common);
// A size that a file declares and that is above the limit is an input error; a limit met while running is not.
Diagnostic before_running(Diagnostic diagnostic);

// One line on standard error that rewrites itself; silent unless standard error is a terminal.
class Progress {
public:
  Progress(const Common& common, std::string what, std::size_t total);
  ~Progress();
  void at(std::size_t done, const std::string& detail);
  void done();  // clears the line

private:
  bool shown_ = false;
  std::string what_;
  std::size_t total_;
  double last_ = 0;
};

bool is_terminal(int descriptor);

}  // namespace ulpian::tools
