#include "diff/backends/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "diff/backends/session_watch.h"
#include "diff/backends/spawn.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
}

// Writing to a pipe whose reader is gone must be an error code here, whatever the program around does with the signal.
class NoBrokenPipeSignal {
public:
  NoBrokenPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec now{0, 0};
    if (!was_pending_) {
      while (::sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {}
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

// The last bytes of a stream of any length.
class Tail {
public:
  explicit Tail(std::size_t most) : most_(most) {}
  void append(std::string_view text) {
    total_ += text.size();
    kept_ += text;
    if (kept_.size() > 2 * most_) kept_.erase(0, kept_.size() - most_);
  }
  std::string text() const {
    const std::string_view last = std::string_view(kept_).substr(kept_.size() - std::min(kept_.size(), most_));
    std::string out = last.size() < total_ ? fmt::format("[{} bytes left out]\n", total_ - last.size()) : std::string();
    for (const char c : last) {
      // Terminals and reports show this: no control sequences.
      if ((c >= 0 && c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      else out += c;
    }
    return out;
  }

private:
  std::size_t most_;
  std::string kept_;
  std::uint64_t total_ = 0;
};

class FrameWriter {
public:
  explicit FrameWriter(const OutgoingFrame& frame) : frame_(frame) {}
  bool done() const { return next_ > frame_.parts.size(); }
  // False when the reader is gone.
  bool write_some(int fd) {
    while (!done()) {
      std::array<iovec, 64> list;
      std::size_t n = 0;
      for (std::size_t k = next_; k <= frame_.parts.size() && n < list.size(); ++k, ++n) {
        const std::span<const std::byte> rest = part(k).subspan(n == 0 ? offset_ : 0);
        list[n] = {const_cast<std::byte*>(rest.data()), rest.size()};
      }
      const ssize_t written = ::writev(fd, list.data(), static_cast<int>(n));
      if (written < 0) {
        if (errno == EINTR) continue;
        return errno == EAGAIN;
      }
      advance(static_cast<std::size_t>(written));
    }
    return true;
  }

private:
  std::span<const std::byte> part(std::size_t k) const { return k == 0 ? std::as_bytes(std::span(frame_.head)) : frame_.parts[k - 1]; }
  void advance(std::size_t n) {
    while (!done() && n >= part(next_).size() - offset_) {
      n -= part(next_).size() - offset_;
      ++next_;
      offset_ = 0;
    }
    offset_ += n;
  }

  const OutgoingFrame& frame_;
  std::size_t next_ = 0;  // 0 is the head
  std::size_t offset_ = 0;
};

}  // namespace

class Process::Impl {
public:
  Impl(Child child, std::string mark, const ProcessOptions& options) : child_(std::move(child)), mark_(std::move(mark)), memory_limit_(options.memory_bytes), tail_(options.error_tail_bytes) {}
  ~Impl() { end(); }

  Received exchange(const OutgoingFrame& request, const FrameLimits& limits, double seconds);
  bool usable();
  void finish(const OutgoingFrame& last_words, double seconds);
  void end();
  std::string error_output() const { return tail_.text(); }

private:
  struct Exchange {
    FrameWriter writer;
    FrameReader reader;
    Clock::time_point deadline;
    Clock::time_point closed_deadline = Clock::time_point::max();  // once standard output is closed: until when it may still exit
    std::string trouble;                                           // what is outside the protocol
    bool input_gone = false;
  };

  void wait_for_events(const Exchange& e, bool& readable, bool& writable);
  void take_output(Exchange& e);
  Received finish_frame(Exchange& e);
  Received ended_by_itself(const Exchange& e);
  bool has_exited() const;
  bool output_waits() const;
  bool drain_errors(int most_chunks);
  std::uint64_t memory_in_use();
  void abort_for_evidence();
  void kill_session() const;
  void reap();

  Child child_;
  std::string mark_;  // a variable in the environment of all that it starts
  std::uint64_t memory_limit_;
  Tail tail_;
  bool ended_ = false;
  int wait_status_ = 0;
  Clock::time_point next_memory_look_ = Clock::now();
  Clock::time_point next_session_look_ = Clock::now();
};

bool Process::Impl::has_exited() const {
  siginfo_t info{};
  // WNOWAIT: the zombie keeps its number, so that its group can be ended without hitting a stranger.
  return ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child_.pid;
}

bool Process::Impl::output_waits() const {
  pollfd look{child_.output.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) > 0;
}

// False at the end of the stream.
bool Process::Impl::drain_errors(int most_chunks) {
  std::array<char, 1 << 16> buffer;
  for (int k = 0; k < most_chunks && child_.error.open(); ++k) {
    const ssize_t n = ::read(child_.error.get(), buffer.data(), buffer.size());
    if (n > 0) {
      tail_.append({buffer.data(), static_cast<std::size_t>(n)});
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      child_.error.close();
    } else if (errno == EAGAIN) {
      break;
    }
  }
  return child_.error.open();
}

void Process::Impl::wait_for_events(const Exchange& e, bool& readable, bool& writable) {
  const bool output_open = e.closed_deadline == Clock::time_point::max();
  const bool wants_write = !e.writer.done() && !e.input_gone;
  std::array<pollfd, 4> list{{{output_open ? child_.output.get() : -1, POLLIN, 0},
                              {child_.error.open() ? child_.error.get() : -1, POLLIN, 0},
                              {wants_write ? child_.input.get() : -1, POLLOUT, 0},
                              {child_.exit_watch.get(), POLLIN, 0}}};
  const auto left = std::chrono::duration_cast<milliseconds>(std::min(e.deadline, e.closed_deadline) - Clock::now()).count() + 1;
  const int tick = !child_.exit_watch.open() ? 20 : memory_limit_ ? 50 : 1000;
  ::poll(list.data(), list.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, tick)));
  if (list[1].revents) drain_errors(1);
  readable = list[0].revents != 0;
  writable = list[2].revents != 0;
}

void Process::Impl::take_output(Exchange& e) {
  // Some rounds only: a flood must not keep the deadline and standard error from being looked at.
  for (int k = 0; k < 16 && !e.reader.complete(); ++k) {
    const std::span<std::byte> room = e.reader.wanted();
    const ssize_t n = ::read(child_.output.get(), room.data(), std::min<std::size_t>(room.size(), 8 << 20));
    if (n > 0) {
      const Status status = e.reader.received(static_cast<std::size_t>(n));
      if (!status.ok()) {
        e.trouble = status.error().message;
        return;
      }
    } else if (n == 0) {
      e.closed_deadline = std::min(e.closed_deadline, after(2));
      return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

Received Process::Impl::finish_frame(Exchange& e) {
  if (!e.writer.done()) return OutsideProtocol{"the answer came before the request was read to its end"};
  // Bytes behind the answer; those that come later are found before the next request.
  std::byte one{};
  if (::read(child_.output.get(), &one, 1) == 1) return OutsideProtocol{"bytes follow the answer on standard output; one answer belongs to each request"};
  return e.reader.take();
}

Received Process::Impl::ended_by_itself(const Exchange& e) {
  end();
  Exited out;
  out.within_frame = e.reader.started();
  if (WIFSIGNALED(wait_status_)) out.signal = WTERMSIG(wait_status_);
  else out.status = WEXITSTATUS(wait_status_);
  return out;
}

std::uint64_t Process::Impl::memory_in_use() {
  const auto now = Clock::now();
  if (now < next_memory_look_) return 0;
  next_memory_look_ = now + milliseconds(40);
  std::uint64_t bytes = resident_bytes_of(child_.pid);
  if (now >= next_session_look_) {
    next_session_look_ = now + milliseconds(400);
    std::uint64_t sum = 0;
    for (const SessionMember& m : members_of_session(child_.pid)) sum += m.resident_bytes;
    bytes = std::max(bytes, sum);
  }
  return bytes;
}

Received Process::Impl::exchange(const OutgoingFrame& request, const FrameLimits& limits, double seconds) {
  ensure(!ended_);
  const NoBrokenPipeSignal guard;
  Exchange e{FrameWriter(request), FrameReader(limits), after(seconds), Clock::time_point::max(), {}, false};
  for (;;) {
    bool readable = false, writable = false;
    wait_for_events(e, readable, writable);
    if (writable) e.input_gone = !e.writer.write_some(child_.input.get());
    if (readable) take_output(e);
    if (e.trouble.empty() && !e.reader.complete() && has_exited()) {
      // What it wrote before it ended is still in the pipe.
      bool more = true;
      while (more && e.trouble.empty() && !e.reader.complete() && e.closed_deadline == Clock::time_point::max()) {
        more = output_waits();
        if (more) take_output(e);
      }
      if (e.trouble.empty() && !e.reader.complete()) return ended_by_itself(e);
    }
    const std::uint64_t memory = memory_limit_ ? memory_in_use() : 0;
    Received result = TimedOut{};
    if (e.reader.complete()) {
      result = finish_frame(e);
    } else if (!e.trouble.empty()) {
      result = OutsideProtocol{std::move(e.trouble)};
    } else if (memory_limit_ && memory > memory_limit_) {
      result = TooMuchMemory{memory};
    } else if (Clock::now() >= e.closed_deadline) {
      result = OutsideProtocol{"it closed its standard output without an answer and stayed alive"};
    } else if (Clock::now() < e.deadline) {
      continue;
    } else {
      abort_for_evidence();
    }
    if (!std::holds_alternative<Frame>(result)) end();
    return result;
  }
}

bool Process::Impl::usable() {
  if (ended_) return false;
  drain_errors(4);
  return !has_exited() && !output_waits();
}

void Process::Impl::finish(const OutgoingFrame& last_words, double seconds) {
  const auto deadline = after(seconds);
  if (usable() && std::holds_alternative<Frame>(exchange(last_words, FrameLimits{}, seconds))) {
    child_.input.close();
    while (!has_exited() && Clock::now() < deadline) {
      pollfd watch{child_.exit_watch.get(), POLLIN, 0};
      ::poll(&watch, 1, 10);
      drain_errors(1);
    }
  }
  end();
}

// Python's fault handler, and whatever else a backend has for this signal, says where it hangs.
void Process::Impl::abort_for_evidence() {
  ::kill(child_.pid, SIGABRT);
  const auto deadline = after(0.5);
  while (!has_exited() && Clock::now() < deadline) {
    std::array<pollfd, 2> list{{{child_.exit_watch.get(), POLLIN, 0}, {child_.error.open() ? child_.error.get() : -1, POLLIN, 0}}};
    ::poll(list.data(), list.size(), 20);
    drain_errors(1);
  }
}

void Process::Impl::kill_session() const {
  ::kill(-child_.pid, SIGKILL);
  // Those that made a group or a session of their own; several rounds, since they may start others meanwhile.
  for (int round = 0; round < 5; ++round) {
    const auto members = members_of_session(child_.pid, mark_);
    for (const SessionMember& m : members) ::kill(m.pid, SIGKILL);
    if (members.empty()) return;
    ::poll(nullptr, 0, 2);
  }
}

void Process::Impl::reap() {
  for (const auto deadline = after(10);;) {
    const pid_t got = ::waitpid(child_.pid, &wait_status_, WNOHANG);
    if (got == child_.pid || (got < 0 && errno != EINTR)) return;
    if (Clock::now() >= deadline) return;  // stuck in the kernel (a device, a network file system): nothing can end it now
    pollfd watch{child_.exit_watch.get(), POLLIN, 0};
    ::poll(&watch, 1, 10);
  }
}

void Process::Impl::end() {
  if (ended_) return;
  ended_ = true;
  kill_session();
  reap();
  drain_errors(64);
  child_ = Child{};
}

Process::Process(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Process::~Process() = default;

Result<std::unique_ptr<Process>> Process::start(const ProcessOptions& options) {
  // By its name, so that a backend's own backends have both marks.
  static std::atomic<unsigned> started = 0;
  const std::string mark = fmt::format("ULPIAN_STARTED_{}_{}", ::getpid(), ++started);
  auto environment = options.environment;
  environment.emplace_back(mark, "1");
  auto child = spawn(options.command, environment);
  if (!child.ok()) return std::move(child).error();
  return std::unique_ptr<Process>(new Process(std::make_unique<Impl>(std::move(child).value(), mark, options)));
}

Received Process::exchange(const OutgoingFrame& request, const FrameLimits& limits, double seconds) { return impl_->exchange(request, limits, seconds); }
bool Process::usable() { return impl_->usable(); }
void Process::finish(const OutgoingFrame& last_words, double seconds) { impl_->finish(last_words, seconds); }
std::string Process::error_output() const { return impl_->error_output(); }

}  // namespace ulpian::diff
