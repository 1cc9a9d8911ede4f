// Starting a child: its own session, pipes on its three standard streams, ended by the kernel if this process dies.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spec/core/diagnostic.h"

namespace ulpian::diff {

// A file descriptor that closes itself.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close();
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

private:
  int fd_ = -1;
};

struct Child {
  pid_t pid = 0;
  Descriptor input, output, error;  // our ends; they do not block
  Descriptor exit_watch;            // readable when the child has exited; not open where the kernel has no such thing
  // The kernel ends the child when the thread that started it ends: this thread lives as long as the child may.
  struct Keeper;
  std::shared_ptr<Keeper> keeper;
};

Result<Child> spawn(const std::vector<std::string>& command, const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace ulpian::diff
