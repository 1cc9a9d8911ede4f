// Backends by name: small JSON files, ours and users' own. docs/backends.md, "Registering a backend".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/core/diagnostic.h"

namespace ulpian::diff {

struct RegisteredBackend {
  std::string name;
  std::vector<std::string> command;
  std::string description;
  std::string file;  // that registers it
};

// What stands for `{python}` and `{ulpian}` in commands; `{folder}` is the folder of the registering file.
struct CommandWords {
  std::string python = "python3";
  std::string ulpian = "ulpian";
};

class Registry {
public:
  // Later files replace the names of earlier ones.
  static Result<Registry> load(const std::vector<std::string>& files, const CommandWords& words);
  const std::vector<RegisteredBackend>& backends() const { return backends_; }
  const RegisteredBackend* find(std::string_view name) const;
  // The command of a registered name, else the text itself split into words.
  Result<std::vector<std::string>> command_of(std::string_view name_or_command) const;

private:
  Status add_file(const std::string& file, const CommandWords& words);
  std::vector<RegisteredBackend> backends_;
};

// Words as a shell would split them: blanks, '...', "..." and \; nothing is expanded.
Result<std::vector<std::string>> split_command(std::string_view text);

}  // namespace ulpian::diff
