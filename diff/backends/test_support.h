// Shared by this folder's tests.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace ulpian::diff {

std::string testdata(const std::string& file);
// The Python of $ULPIAN_PYTHON or the project's .venv; empty if there is none or it lacks the module.
std::string python_with(const std::string& module);
std::vector<pid_t> children_of(pid_t parent);
bool is_zombie(pid_t pid);

}  // namespace ulpian::diff
