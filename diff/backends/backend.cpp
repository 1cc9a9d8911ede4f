#include "diff/backends/backend.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "diff/backends/process.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Thread pools of the numerical libraries are sized when they are loaded.
std::vector<std::pair<std::string, std::string>> environment_for(const OpenOptions& options) {
  std::vector<std::pair<std::string, std::string>> out{{"PYTHONDONTWRITEBYTECODE", "1"}};
  if (options.threads > 0) {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) out.emplace_back(name, std::to_string(options.threads));
  }
  out.insert(out.end(), options.environment.begin(), options.environment.end());
  return out;
}

Outcome failed(FailureCause cause, std::string message) { return {Failed{cause, std::move(message)}, 0, {}}; }

// The tensors of a batch as `prepare` names them; sequences have no extents to be known before.
std::vector<Port> ports_of(const Values& inputs) {
  std::vector<Port> out;
  for (const Value& v : inputs) {
    if (const Tensor* t = v.tensor()) out.push_back({v.name, t->type(), t->extents()});
  }
  return out;
}

bool same_ports(const std::vector<Port>& a, const std::vector<Port>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Port& p, const Port& q) { return p.name == q.name && p.type == q.type && p.extents == q.extents; });
}

bool ended_the_process(const Outcome& o) {
  const auto* f = std::get_if<Failed>(&o.what);
  const auto* m = std::get_if<OutOfMemory>(&o.what);
  return std::holds_alternative<Crashed>(o.what) || std::holds_alternative<Hung>(o.what) || (f && f->cause == FailureCause::Protocol) || (m && m->bytes);
}

}  // namespace

class Backend::Impl {
public:
  Impl(std::vector<std::string> command, const OpenOptions& options) : command_(std::move(command)), options_(options) {}
  ~Impl() {
    if (process_) process_->finish(encode(Request{next_id_, ByeRequest{}}), 2);
  }

  Result<std::monostate> first_start();
  Prepared prepare(const Program& program);
  std::vector<Outcome> run(ProgramId program, std::span<const Values> batches);
  void release(ProgramId program);
  std::string error_output() const { return process_ ? process_->error_output() : last_error_output_; }

  std::vector<std::string> command_;
  OpenOptions options_;
  Introduction introduction_;
  int starts_ = 0;

private:
  struct Held {
    Program program;
    int prepared_in = 0;  // the number of the process that has it
  };
  using Reply = std::variant<Answer, Outcome>;

  std::optional<Outcome> ensure_process();
  std::optional<Outcome> ensure_prepared(ProgramId id, Held& held);
  Prepared prepare_now(ProgramId id, Held& held);
  Reply ask(const Request& request, double seconds, const char* during);
  Outcome outcome_of(Received received, double limit, double seconds, const char* during);
  Outcome ended(Outcome outcome);
  std::vector<Outcome> run_together(ProgramId program, std::span<const Values> batches);
  std::vector<Outcome> run_static(ProgramId program, std::span<const Values> batches);
  void forget(ProgramId program, Held& held);
  std::vector<Outcome> outcomes_of(Reply reply, std::size_t batches);
  Outcome unexpected(Answer answer);

  std::unique_ptr<Process> process_;
  std::string last_error_output_;
  std::string start_error_;
  std::map<ProgramId, Held> programs_;
  ProgramId next_program_ = 1;
  std::int64_t next_id_ = 1;
};

// The process is of no use any more: keeps its last words as evidence.
Outcome Backend::Impl::ended(Outcome outcome) {
  if (process_) {
    auto process = std::move(process_);
    last_error_output_ = process->error_output();
    process.reset();
  }
  outcome.error_output = last_error_output_;
  return outcome;
}

Outcome Backend::Impl::outcome_of(Received received, double limit, double seconds, const char* during) {
  Outcome out;
  out.seconds = seconds;
  if (const auto* e = std::get_if<Exited>(&received)) out.what = Crashed{e->signal, e->status, fmt::format("{}{}", during, e->within_frame ? " (in the middle of its answer)" : "")};
  else if (std::holds_alternative<TimedOut>(received)) out.what = Hung{limit, during};
  else if (const auto* m = std::get_if<TooMuchMemory>(&received)) out.what = OutOfMemory{m->bytes, options_.memory_bytes, {}};
  else if (auto* p = std::get_if<OutsideProtocol>(&received)) out.what = Failed{FailureCause::Protocol, std::move(p->message)};
  else ensure(false, "a frame is no trouble");
  return ended(std::move(out));
}

Backend::Impl::Reply Backend::Impl::ask(const Request& request, double seconds, const char* during) {
  ensure(process_ != nullptr);
  const OutgoingFrame frame = encode(request);
  if (introduction_.largest_payload && frame.payload_bytes > introduction_.largest_payload) {
    const std::string found = fmt::format("the request has {} bytes; the backend takes {}", frame.payload_bytes, introduction_.largest_payload);
    return Outcome{Refused{Refusal::Unsupported, found}, 0, {}};
  }
  const auto start = Clock::now();
  Received received = process_->exchange(frame, options_.answers, seconds);
  const double took = seconds_since(start);
  auto* got = std::get_if<Frame>(&received);
  if (!got) return outcome_of(std::move(received), seconds, took, during);
  auto answer = decode_answer(*got);
  if (!answer.ok()) return ended(failed(FailureCause::Protocol, answer.error().message));
  if (answer->id != request.id) {
    return ended(failed(FailureCause::Protocol, fmt::format("an answer with the id {}; the request has the id {}", answer->id, request.id)));
  }
  return std::move(answer).value();
}

// An answer that says no, or one that does not belong to the request.
Outcome Backend::Impl::unexpected(Answer answer) {
  Outcome out;
  if (auto* refused = std::get_if<Refused>(&answer.what)) out.what = std::move(*refused);
  else if (auto* f = std::get_if<Failed>(&answer.what)) out.what = std::move(*f);
  else if (auto* memory = std::get_if<OutOfMemory>(&answer.what)) out.what = std::move(*memory);
  else return ended(failed(FailureCause::Protocol, "an answer of another type than the request asks for"));
  if (!std::holds_alternative<Refused>(out.what)) out.error_output = process_->error_output();
  return out;
}

std::optional<Outcome> Backend::Impl::ensure_process() {
  start_error_.clear();
  if (process_ && process_->usable()) return std::nullopt;
  if (process_) {
    last_error_output_ = process_->error_output();
    process_.reset();
  }
  auto started = Process::start({command_, environment_for(options_), options_.memory_bytes, options_.error_tail_bytes});
  if (!started.ok()) {
    start_error_ = started.error().message;
    return failed(FailureCause::Internal, start_error_);
  }
  process_ = std::move(started).value();
  ++starts_;
  Reply reply = ask(Request{next_id_++, HelloRequest{options_.threads, options_.answers}}, options_.start_seconds, "starting");
  if (auto* trouble = std::get_if<Outcome>(&reply)) return std::move(*trouble);
  auto& answer = std::get<Answer>(reply);
  if (auto* introduction = std::get_if<Introduction>(&answer.what)) {
    introduction_ = std::move(*introduction);
    return std::nullopt;
  }
  // Refusing to introduce itself (a library that is missing, say) is final for this process.
  return ended(unexpected(std::move(answer)));
}

Result<std::monostate> Backend::Impl::first_start() {
  const auto trouble = ensure_process();
  if (!trouble) return success();
  if (!start_error_.empty()) return diagnostic(ErrorKind::Usage, start_error_);
  Diagnostic d = diagnostic(ErrorKind::Input, fmt::format("the backend \"{}\" does not start: {}", fmt::join(command_, " "), describe(*trouble)));
  if (!trouble->error_output.empty()) d.note("its standard error ends with:\n" + trouble->error_output);
  return d;
}

Prepared Backend::Impl::prepare_now(ProgramId id, Held& held) {
  Prepared out;
  out.program = id;
  const auto start = Clock::now();
  Reply reply = ask(Request{next_id_++, PrepareRequest{id, held.program.format, held.program.bytes, held.program.inputs}}, options_.prepare_seconds, "prepare");
  out.seconds = seconds_since(start);
  if (auto* trouble = std::get_if<Outcome>(&reply)) {
    out.trouble = std::move(*trouble);
    return out;
  }
  auto& answer = std::get<Answer>(reply);
  if (auto* prepared = std::get_if<PreparedAnswer>(&answer.what)) {
    held.prepared_in = starts_;
    out.inputs = std::move(prepared->inputs);
    out.outputs = std::move(prepared->outputs);
    if (prepared->seconds >= 0) out.seconds = prepared->seconds;
  } else {
    out.trouble = unexpected(std::move(answer));
  }
  return out;
}

Prepared Backend::Impl::prepare(const Program& program) {
  ensure(program.bytes != nullptr);
  Prepared out;
  if (auto trouble = ensure_process()) {
    out.trouble = std::move(trouble);
    return out;
  }
  bool takes_format = false;
  for (const std::string& f : introduction_.formats) takes_format = takes_format || f == program.format;
  if (!takes_format) {
    const std::string takes = fmt::format("the backend takes {}, not {}", fmt::join(introduction_.formats, ", "), program.format);
    out.trouble = Outcome{Refused{Refusal::Unsupported, takes}, 0, {}};
    return out;
  }
  const ProgramId id = next_program_++;
  Held held{program, 0};
  out = prepare_now(id, held);
  if (out.ok()) programs_.emplace(id, std::move(held));
  else out.program = -1;
  return out;
}

std::optional<Outcome> Backend::Impl::ensure_prepared(ProgramId id, Held& held) {
  if (auto trouble = ensure_process()) return trouble;
  if (held.prepared_in == starts_) return std::nullopt;
  return prepare_now(id, held).trouble;
}

std::vector<Outcome> Backend::Impl::outcomes_of(Reply reply, std::size_t batches) {
  if (auto* trouble = std::get_if<Outcome>(&reply)) return std::vector<Outcome>(batches, *trouble);
  auto& answer = std::get<Answer>(reply);
  auto* run = std::get_if<RunAnswer>(&answer.what);
  if (!run) return std::vector<Outcome>(batches, unexpected(std::move(answer)));
  if (run->batches.size() != batches) {
    const std::string found = fmt::format("outcomes for {} batches; the request has {}", run->batches.size(), batches);
    return std::vector<Outcome>(batches, ended(failed(FailureCause::Protocol, found)));
  }
  for (Outcome& o : run->batches) {
    if (!o.outputs() && !std::holds_alternative<Refused>(o.what)) o.error_output = process_->error_output();
  }
  return std::move(run->batches);
}

std::vector<Outcome> Backend::Impl::run_together(ProgramId id, std::span<const Values> batches) {
  const auto found = programs_.find(id);
  ensure(found != programs_.end(), "run of a program that was not prepared");
  if (auto trouble = ensure_prepared(id, found->second)) return std::vector<Outcome>(batches.size(), *trouble);
  const auto start = Clock::now();
  Request request{next_id_++, RunRequest{id, {batches.begin(), batches.end()}}};
  auto out = outcomes_of(ask(request, options_.run_seconds * static_cast<double>(batches.size()), "run"), batches.size());
  const double share = seconds_since(start) / static_cast<double>(batches.size());
  for (Outcome& o : out) {
    if (o.seconds < 0) o.seconds = share;
  }
  return out;
}

std::vector<Outcome> Backend::Impl::run(ProgramId program, std::span<const Values> batches) {
  if (batches.empty()) return {};
  if (introduction_.static_shapes) return run_static(program, batches);
  auto out = run_together(program, batches);
  if (batches.size() == 1 || !ended_the_process(out.front())) return out;
  for (std::size_t k = 0; k < batches.size(); ++k) out[k] = run_together(program, batches.subspan(k, 1)).front();
  return out;
}

// A backend of static shapes has the program prepared anew whenever a batch's extents differ from those it was prepared for.
std::vector<Outcome> Backend::Impl::run_static(ProgramId program, std::span<const Values> batches) {
  std::vector<Outcome> out;
  for (std::size_t k = 0; k < batches.size(); ++k) {
    const auto found = programs_.find(program);
    ensure(found != programs_.end(), "run of a program that was not prepared");
    Held& held = found->second;
    std::vector<Port> ports = ports_of(batches[k]);
    if (!same_ports(ports, held.program.inputs)) {
      forget(program, held);
      held.program.inputs = std::move(ports);
    }
    out.push_back(std::move(run_together(program, batches.subspan(k, 1)).front()));
  }
  return out;
}

void Backend::Impl::release(ProgramId program) {
  const auto found = programs_.find(program);
  if (found == programs_.end()) return;
  forget(program, found->second);
  programs_.erase(found);
}

void Backend::Impl::forget(ProgramId program, Held& held) {
  const bool has_it = held.prepared_in == starts_ && process_ && process_->usable();
  if (has_it) ask(Request{next_id_++, ReleaseRequest{program}}, options_.run_seconds, "release");
  held.prepared_in = 0;
}

Backend::Backend(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Backend::Backend(Backend&&) noexcept = default;
Backend& Backend::operator=(Backend&&) noexcept = default;
Backend::~Backend() = default;

Result<Backend> Backend::open(std::vector<std::string> command, const OpenOptions& options) {
  ensure(!command.empty());
  auto impl = std::make_unique<Impl>(std::move(command), options);
  if (auto status = impl->first_start(); !status.ok()) return std::move(status).error();
  return Backend(std::move(impl));
}

Result<Backend> Backend::open(std::string_view name_or_command, const Registry& registry, const OpenOptions& options) {
  auto command = registry.command_of(name_or_command);
  if (!command.ok()) return std::move(command).error();
  return open(std::move(command).value(), options);
}

const Introduction& Backend::introduction() const { return impl_->introduction_; }
const std::vector<std::string>& Backend::command() const { return impl_->command_; }
Prepared Backend::prepare(const Program& program) { return impl_->prepare(program); }
std::vector<Outcome> Backend::run(ProgramId program, std::span<const Values> batches) { return impl_->run(program, batches); }
Outcome Backend::run(ProgramId program, const Values& inputs) { return std::move(impl_->run(program, std::span(&inputs, 1)).front()); }
void Backend::release(ProgramId program) { impl_->release(program); }
int Backend::restarts() const { return impl_->starts_ - 1; }
std::string Backend::error_output() const { return impl_->error_output(); }

}  // namespace ulpian::diff
