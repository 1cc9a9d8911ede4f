// What /proc knows of the processes that a backend consists of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ulpian::diff {

struct SessionMember {
  pid_t pid = 0;
  std::uint64_t resident_bytes = 0;
};

// Every live process of the session, and their descendants, who may have sessions of their own (zombies left out); empty where there is no
// /proc. With a mark also those that have it in the environment that they were started with: they may have lost their parents.
std::vector<SessionMember> members_of_session(pid_t session, const std::string& mark = {});
std::uint64_t resident_bytes_of(pid_t pid);  // 0 if unknown

}  // namespace ulpian::diff
