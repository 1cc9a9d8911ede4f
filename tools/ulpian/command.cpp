#include "tools/ulpian/command.h"
#include "tools/ulpian/printable.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/core/file.h"
#include "spec/import/onnx/import_onnx.h"
#include "tools/ulpian/options.h"

namespace ulpian::tools {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

void add_common(CLI::App& command, Common& common, bool evaluates) {
  command.add_flag("--json", common.json, "Print the result as JSON on standard output");
  command.add_option("--spec", common.spec_files, "A specification file (.ulp) of your own; may be given several times")->type_name("FILE")->allow_extra_args(false)->check(not_empty());
  if (!evaluates) return;
  command.add_flag("--quiet,-q", common.quiet, "No progress");
  command.add_option("--time-limit", common.seconds, "Seconds until the evaluation is given up (status 3); 0 is no limit")->type_name("SECONDS")->check(number_between(0, 1e9));
  command.add_option("--memory-limit", common.memory_mib, "MiB that tensors may take")->type_name("MIB")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))->capture_default_str();
  command.add_option("--work-limit", common.work, "Operations that one operator call may need, known before it runs (status 3); 0 is no limit")->type_name("N")->check(number_between(0, 9e18))->capture_default_str();
  command.add_option("--threads", common.threads, "Threads; the answer never depends on their number")->type_name("N")->check(CLI::Range(1, 1024))->capture_default_str();
}

Result<std::shared_ptr<const language::Specification>> load_specification(const Common& common) {
  std::vector<language::SourceText> texts;
  for (const std::string& file : common.spec_files) {
    auto bytes = read_file(file, 4u << 20);
    if (!bytes) return std::move(bytes).error();
    texts.push_back({file, std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())});
  }
  return language::Specification::load(texts);
}

Result<std::shared_ptr<const Graph>> load_model(const std::string& file, const std::shared_ptr<const language::Specification>& specification, const Common& common) {
  OnnxImportOptions options;
  options.memory_limit = common.memory_mib << 20;
  options.is_defined = [&](std::string_view op, std::int64_t version) {
    if (specification->find(op, version)) return Definedness::Defined;
    return specification->has(op) ? Definedness::UnknownVersion : Definedness::UnknownOperator;
  };
  auto graph = import_onnx(file, options);
  if (!graph) return before_running(std::move(graph).error());
  return std::make_shared<const Graph>(std::move(*graph));
}

interp::Limits limits_of(const Common& common) {
  interp::Limits limits;
  limits.memory_bytes = common.memory_mib << 20;
  limits.threads = common.threads;
  limits.work = common.work > 0 ? static_cast<std::int64_t>(common.work) : std::numeric_limits<std::int64_t>::max();
  if (common.seconds > 0)
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(common.seconds));
  return limits;
}

Diagnostic usage(std::string message, std::string hint) {
  Diagnostic d;
  d.kind = ErrorKind::Usage;
  d.message = std::move(message);
  return d.help(std::move(hint));
}

Diagnostic before_running(Diagnostic d) {
  if (d.kind == ErrorKind::Limit) d.kind = ErrorKind::Input;
  return d;
}

int exit_status(const Diagnostic& d) {
  switch (d.kind) {
    case ErrorKind::Usage:
    case ErrorKind::Input:
    case ErrorKind::Syntax:
    case ErrorKind::Definition:
    case ErrorKind::Requirement:
    case ErrorKind::Undefined:
    case ErrorKind::Unsupported: return UsageError;
    case ErrorKind::Limit: return Undecided;
  }
  return UsageError;
}

int report(const Diagnostic& d, const Common& common) {
  if (common.json) {
    nlohmann::json j{{"status", "error"}, {"kind", name_of(d.kind)}, {"message", d.message}};
    if (!d.program_place.empty()) j["program_place"] = d.program_place;
    if (!d.place.file.empty()) j["place"] = {{"file", d.place.file}, {"line", d.place.line}, {"column", d.place.column}};
    if (!d.hint.empty()) j["help"] = d.hint;
    if (!d.notes.empty()) j["notes"] = d.notes;
    fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  Diagnostic shown = d;
  for (std::string* text : {&shown.message, &shown.program_place, &shown.place.file}) *text = one_line(*text);
  const bool colour = is_terminal(STDERR_FILENO);
  fmt::print(stderr, "{}error:{} {}\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "", printable(to_string(shown)));
  return exit_status(d);
}

int report_bug(const std::string& message, const Common& common) {
  const std::string advice = "This is a fault of Ulpian: please report it with the command and the model.";
  if (common.json)
    fmt::print("{}\n", nlohmann::json{{"status", "error"}, {"kind", "internal"}, {"message", message}, {"help", advice}}.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  fmt::print(stderr, "{}\n{}\n", printable(message), advice);
  return OwnFault;
}

Progress::Progress(const Common& common, std::string what, std::size_t total)
    : shown_(!common.quiet && is_terminal(STDERR_FILENO)), what_(std::move(what)), total_(total) {}

Progress::~Progress() { done(); }

void Progress::done() {
  if (shown_ && last_ > 0) fmt::print(stderr, "\r\033[K");
  last_ = 0;
}

void Progress::at(std::size_t done, const std::string& detail) {
  if (!shown_) return;
  const double t = now();
  if (t - last_ < 0.1 && done < total_) return;
  last_ = t;
  if (total_) fmt::print(stderr, "\r\033[K{} {}/{} {}", what_, done, total_, printable(detail));
  else fmt::print(stderr, "\r\033[K{} {} {}", what_, done, printable(detail));
  std::fflush(stderr);
}

}  // namespace ulpian::tools
