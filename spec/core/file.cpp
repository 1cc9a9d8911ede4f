#include "spec/core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ulpian {

namespace {

// A file descriptor that closes itself.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { if (fd_ >= 0) ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // False if the system reports a late failure of a write.
  bool close() { const int fd = fd_; fd_ = -1; return ::close(fd) == 0; }

private:
  int fd_;
};

Diagnostic failure(const std::string& file, std::string_view action, int error) {
  Diagnostic d;
  d.kind = ErrorKind::Input;
  d.message = fmt::format("cannot {} {}: {}", action, file, std::strerror(error));
  return d;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  constexpr std::size_t Piece = std::size_t{1} << 30;  // Linux writes less than 2 GiB at once
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), Piece));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = EIO;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

Status write_directly(const std::string& file, std::span<const std::byte> bytes) {
  Descriptor out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (out.get() < 0) return failure(file, "open", errno);
  if (!write_all(out.get(), bytes) || !out.close()) return failure(file, "write", errno);
  return success();
}

// Where a rename has to go: a symbolic link stays, and what it points to is replaced.
std::string behind_links(const std::string& file) {
  char* resolved = ::realpath(file.c_str(), nullptr);
  if (!resolved) return file;
  std::string out = resolved;
  std::free(resolved);
  return out;
}

// A file that has no name while it is written: whatever ends the process, nothing of it is left behind. -1 where the file system has none.
int open_unnamed(const std::string& folder) {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;  // the way to give it a name
  return ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

bool give_name(int fd, const char* name) { return ::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd).c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0; }

// A temporary name, which goes with the scope unless the file has got its own. Beside the target, for a rename doesn't cross file systems; not
// made of the target's, which may be as long as names can be.
struct Temporary {
  std::string folder;
  std::string name;

  template <typename Make> bool make(Make how) {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 100; ++attempt) {
      name = fmt::format("{}.ulpian.{}.{}.tmp", folder, ::getpid(), counter.fetch_add(1));
      if (how(name.c_str())) return true;
      if (errno != EEXIST) break;
    }
    name.clear();
    return false;
  }
  bool becomes(const std::string& target) {
    if (::rename(name.c_str(), target.c_str()) != 0) return false;
    name.clear();
    return true;
  }
  ~Temporary() { if (!name.empty()) ::unlink(name.c_str()); }
};

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& file, std::uint64_t limit) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would hang.
  Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.get() < 0) return failure(file, "open", errno);
  struct stat info {};
  if (::fstat(in.get(), &info) != 0) return failure(file, "read", errno);
  if (S_ISDIR(info.st_mode)) return failure(file, "read", EISDIR);
  if (!S_ISREG(info.st_mode)) {
    Diagnostic d;
    d.message = fmt::format("cannot read {}: it is not a regular file", file);
    return d;
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > limit) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = fmt::format("{} has {} bytes; at most {} are read", file, size, limit);
    return d;
  }
  std::vector<std::byte> bytes;
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = fmt::format("no memory for the {} bytes of {}", size, file);
    return d;
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(in.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(file, "read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);  // shorter if the file shrank meanwhile
  return bytes;
}

Status write_file(const std::string& file, std::span<const std::byte> bytes) {
  struct stat info {};
  const bool exists = ::stat(file.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return failure(file, "write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) return write_directly(file, bytes);
  const std::string target = exists ? behind_links(file) : file;
  Temporary temporary{target.substr(0, target.rfind('/') + 1), {}};
  const auto fill = [&](int fd) {
    if (exists) (void)::fchmod(fd, info.st_mode & 07777);
    return write_all(fd, bytes);
  };

  Descriptor unnamed(open_unnamed(temporary.folder));
  if (unnamed.get() >= 0) {
    if (!fill(unnamed.get())) return failure(file, "write", errno);
    // Not every file system that has files without names (or that says so) can give them one.
    if (temporary.make([&](const char* name) { return give_name(unnamed.get(), name); })) {
      if (!unnamed.close() || !temporary.becomes(target)) return failure(file, "write", errno);
      return success();
    }
    (void)unnamed.close();  // its blocks, before the same is written again
  }
  int fd = -1;
  if (!temporary.make([&](const char* name) { return (fd = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0; })) return failure(file, "create", errno);
  Descriptor named(fd);
  if (!fill(fd) || !named.close() || !temporary.becomes(target)) return failure(file, "write", errno);
  return success();
}

Status write_file(const std::string& file, std::string_view text) {
  return write_file(file, std::as_bytes(std::span<const char>(text.data(), text.size())));
}

}  // namespace ulpian
