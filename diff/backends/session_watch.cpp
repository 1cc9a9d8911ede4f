#include "diff/backends/session_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
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

struct Stat {
  pid_t pid = 0, parent = 0, session = 0;
  bool live = false;
};

// `pid (name) state ppid pgrp session ...`; the name may hold anything, so the fields are counted from its last parenthesis.
Stat read_stat(pid_t pid) {
  const std::string stat = read_short(fmt::format("/proc/{}/stat", pid));
  const auto end = stat.rfind(')');
  char state = 0;
  int group = 0;
  Stat out{pid, 0, 0, false};
  if (end == std::string::npos || std::sscanf(stat.c_str() + end + 1, " %c %d %d %d", &state, &out.parent, &group, &out.session) != 4) return out;
  out.live = state != 'Z' && state != 'X';
  return out;
}

// Environments are read as far as the mark may be: no longer than 1 MiB.
bool has_mark(pid_t pid, const std::string& mark) {
  const int fd = ::open(fmt::format("/proc/{}/environ", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::string text;
  char buffer[1 << 14];
  for (ssize_t n = 0; text.size() < (1u << 20) && (n = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return ('\0' + text).find('\0' + mark + '=') != std::string::npos;
}

std::vector<Stat> all_processes() {
  std::vector<Stat> out;
  DIR* folder = ::opendir("/proc");
  if (!folder) return out;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') out.push_back(read_stat(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10))));
  ::closedir(folder);
  return out;
}

}  // namespace

std::uint64_t resident_bytes_of(pid_t pid) {
  const std::string statm = read_short(fmt::format("/proc/{}/statm", pid));
  unsigned long long size = 0, resident = 0;
  if (std::sscanf(statm.c_str(), "%llu %llu", &size, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<SessionMember> members_of_session(pid_t session, const std::string& mark) {
  const std::vector<Stat> all = all_processes();
  std::set<pid_t> members;
  for (const Stat& s : all)
    if (s.session == session || s.pid == session || (!mark.empty() && s.pid != ::getpid() && has_mark(s.pid, mark))) members.insert(s.pid);
  for (bool grown = true; grown;) {
    grown = false;
    for (const Stat& s : all)
      if (members.count(s.parent)) grown = members.insert(s.pid).second || grown;
  }
  std::vector<SessionMember> out;
  for (const Stat& s : all)
    if (s.live && members.count(s.pid)) out.push_back({s.pid, resident_bytes_of(s.pid)});
  return out;
}

}  // namespace ulpian::diff
