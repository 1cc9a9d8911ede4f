#include "diff/backends/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>

#include <fmt/format.h>

#include "diff/backends/frame.h"

extern char** environ;

namespace ulpian::diff {

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

struct Child::Keeper {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread thread;

  ~Keeper() {
    {
      const std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return done; });
  }
};

namespace {

struct Pipe {
  Descriptor read_end, write_end;
};

bool make_pipe(Pipe& pipe) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  pipe.read_end = Descriptor(fds[0]);
  pipe.write_end = Descriptor(fds[1]);
  return true;
}

void make_nonblocking(const Descriptor& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

// Fewer switches between the two processes for large tensors; a wish, not a need.
void enlarge(const Descriptor& fd) { ::fcntl(fd.get(), F_SETPIPE_SZ, 1 << 20); }

// All that the child needs between fork and exec, made before: only async-signal-safe calls are allowed there.
struct Preparation {
  std::vector<char*> arguments;
  std::vector<std::string> variables;
  std::vector<char*> environment;
  std::string program;  // with its path
  Pipe input, output, error, trouble;
  pid_t parent = 0;
};

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = ::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const auto end = rest.find(':');
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, end), name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {};
}

void build_environment(Preparation& p, const std::vector<std::pair<std::string, std::string>>& added) {
  for (char** v = environ; v && *v; ++v) {
    const std::string_view entry = *v;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& a : added) replaced = replaced || a.first == name;
    if (!replaced) p.variables.emplace_back(entry);
  }
  for (const auto& [name, value] : added) p.variables.push_back(name + "=" + value);
  for (std::string& v : p.variables) p.environment.push_back(v.data());
  p.environment.push_back(nullptr);
}

void restore_signals() {
  for (int s : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2, SIGXFSZ}) ::signal(s, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The kernel should end the backend, not us, when the machine's memory is short.
void volunteer_for_memory_shortage() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t n = ::write(fd, "1000", 4);
  ::close(fd);
}

[[noreturn]] void become(const Preparation& p) {
  ::setsid();  // own process group, and no terminal to ask questions on
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.parent) ::_exit(127);
  restore_signals();
  volunteer_for_memory_shortage();
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const bool ok = ::dup2(p.input.read_end.get(), 0) >= 0 && ::dup2(p.output.write_end.get(), 1) >= 0 && ::dup2(p.error.write_end.get(), 2) >= 0;
#ifdef SYS_close_range
  // Whatever this process opened without the close-on-exec flag is none of the backend's business (4: CLOSE_RANGE_CLOEXEC).
  ::syscall(SYS_close_range, 3U, ~0U, 4U);
#endif
  if (ok) ::execve(p.program.c_str(), p.arguments.data(), p.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(p.trouble.write_end.get(), &error, sizeof error);
  ::_exit(127);
}

Diagnostic cannot_start(const std::string& program, const char* why) {
  return diagnostic(ErrorKind::Usage, fmt::format("the backend's program \"{}\" cannot be started: {}", program, why));
}

// The child's exec error, or 0: the pipe closes when exec succeeds.
int exec_error(int fd) {
  int error = 0;
  ssize_t n = 0;
  do n = ::read(fd, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

Descriptor open_exit_watch([[maybe_unused]] pid_t pid) {
#ifdef SYS_pidfd_open
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  return Descriptor();
#endif
}

// A descriptor of 0 to 2 would collide with the child's dup2; it can occur when this process runs with closed standard streams.
bool above_standard_streams(const Preparation& p) {
  for (const Pipe* pipe : {&p.input, &p.output, &p.error, &p.trouble}) {
    if (pipe->read_end.get() < 3 || pipe->write_end.get() < 3) return false;
  }
  return true;
}

}  // namespace

Result<Child> spawn(const std::vector<std::string>& command, const std::vector<std::pair<std::string, std::string>>& environment) {
  ensure(!command.empty());
  Preparation p;
  p.program = find_program(command.front());
  if (p.program.empty()) return cannot_start(command.front(), "it is not in PATH");
  std::vector<std::string> words = command;
  for (std::string& w : words) p.arguments.push_back(w.data());
  p.arguments.push_back(nullptr);
  build_environment(p, environment);
  if (!make_pipe(p.input) || !make_pipe(p.output) || !make_pipe(p.error) || !make_pipe(p.trouble)) {
    return cannot_start(command.front(), std::strerror(errno));
  }
  if (!above_standard_streams(p)) return cannot_start(command.front(), "this process runs without standard streams");
  p.parent = ::getpid();

  Child child;
  child.keeper = std::make_shared<Child::Keeper>();
  std::promise<std::pair<pid_t, int>> started;
  child.keeper->thread = std::thread([&p, &started, keeper = child.keeper.get()] {
    const pid_t pid = ::fork();
    if (pid == 0) become(p);
    started.set_value({pid, pid < 0 ? errno : 0});
    keeper->wait();
  });
  const auto [pid, fork_error] = started.get_future().get();
  if (pid < 0) return cannot_start(command.front(), std::strerror(fork_error));
  child.pid = pid;
  p.trouble.write_end.close();
  if (const int error = exec_error(p.trouble.read_end.get())) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED);
    return cannot_start(command.front(), std::strerror(error));
  }
  child.exit_watch = open_exit_watch(pid);
  child.input = std::move(p.input.write_end);
  child.output = std::move(p.output.read_end);
  child.error = std::move(p.error.read_end);
  enlarge(child.input);
  enlarge(child.output);
  make_nonblocking(child.input);
  make_nonblocking(child.output);
  make_nonblocking(child.error);
  return child;
}

}  // namespace ulpian::diff
