// What /proc knows of the processes of one session.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace ulpian::diff {

struct SessionMember {
  pid_t pid = 0;
  std::uint64_t resident_bytes = 0;
};

// Every live process of the session (zombies left out); empty where there is no /proc.
std::vector<SessionMember> members_of_session(pid_t session);
std::uint64_t resident_bytes_of(pid_t pid);  // 0 if unknown

}  // namespace ulpian::diff
