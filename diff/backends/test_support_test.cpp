#include "diff/backends/test_support.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "diff/backends/frame.h"

namespace ulpian::diff {

std::string testdata(const std::string& file) { return std::string(ULPIAN_SOURCE_DIR "/diff/backends/testdata/") + file; }

std::string python_with(const std::string& module) {
  const char* given = std::getenv("ULPIAN_PYTHON");
  const std::string python = given ? given : ULPIAN_SOURCE_DIR "/.venv/bin/python";
  if (::access(python.c_str(), X_OK) != 0) return {};
  return std::system(fmt::format("'{}' -c 'import {}' > /dev/null 2>&1", python, module).c_str()) == 0 ? python : std::string();
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name[0] < '1' || name[0] > '9') continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const auto end = text.rfind(')');
    if (end == std::string::npos || end + 4 >= text.size()) continue;
    if (std::strtol(text.c_str() + end + 4, nullptr, 10) == parent) out.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return out;
}

bool is_zombie(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const auto end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] == 'Z';
}

}  // namespace ulpian::diff
