#include "diff/backends/session_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

// Short files of /proc, read in one go.
std::string read_short(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char buffer[1024];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
}

// `pid (name) state ppid pgrp session ...`; the name may hold anything, so the fields are counted from its last parenthesis.
bool is_live_member(const std::string& stat, pid_t session) {
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return false;
  char state = 0;
  int parent = 0, group = 0, its_session = 0;
  if (std::sscanf(stat.c_str() + end + 1, " %c %d %d %d", &state, &parent, &group, &its_session) != 4) return false;
  return its_session == session && state != 'Z' && state != 'X';
}

}  // namespace

std::uint64_t resident_bytes_of(pid_t pid) {
  const std::string statm = read_short(fmt::format("/proc/{}/statm", pid));
  unsigned long long size = 0, resident = 0;
  if (std::sscanf(statm.c_str(), "%llu %llu", &size, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<SessionMember> members_of_session(pid_t session) {
  std::vector<SessionMember> out;
  DIR* folder = ::opendir("/proc");
  if (!folder) return out;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (is_live_member(read_short(fmt::format("/proc/{}/stat", pid)), session)) out.push_back({pid, resident_bytes_of(pid)});
  }
  ::closedir(folder);
  return out;
}

}  // namespace ulpian::diff
