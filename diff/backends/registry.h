// Backends by name: small JSON files, ours and users' own. docs/backends.md, "Registering a backend".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/numbers/element_type.h"

namespace ulpian::diff {

struct RegisteredBackend {
  std::string name;
  std::vector<std::string> command;
  std::string description;
  std::string file;  // that registers it
};

// A fault that others have described: shown beside the verdicts that it explains, which stay what they are.
struct KnownFault {
  std::vector<std::string> backends;   // registered names
  std::string version;                 // the beginning of the backend's version; empty: any
  std::vector<std::string> verdicts;   // "violation", "failed", ...
  std::vector<std::string> operators;  // as reports call them; empty: any
  std::vector<ElementType> types;      // of the element that the verdict shows; empty: any
  std::string reason, link;
};

// What stands for `{python}` and `{ulpian}` in commands; `{folder}` is the folder of the registering file. The word `{specs}` becomes `--spec FILE` for each
// of the specifications that are asked for.
struct CommandWords {
  std::string python = "python3";
  std::string ulpian = "ulpian";
  std::vector<std::string> specs{};
};

class Registry {
public:
  // Later files replace the names of earlier ones.
  static Result<Registry> load(const std::vector<std::string>& files, const CommandWords& words);
  const std::vector<RegisteredBackend>& backends() const { return backends_; }
  const RegisteredBackend* find(std::string_view name) const;
  const std::vector<KnownFault>& known() const { return known_; }
  // The command of a registered name, else the text itself split into words.
  Result<std::vector<std::string>> command_of(std::string_view name_or_command) const;

private:
  Status add_file(const std::string& file, const CommandWords& words);
  std::vector<RegisteredBackend> backends_;
  std::vector<KnownFault> known_;
};

// What a verdict says, as far as a known fault asks for it.
struct Finding {
  std::string_view verdict, op;
  std::optional<ElementType> type;
};
bool explains(const KnownFault& fault, std::string_view backend, std::string_view version, const Finding& finding);

// Words as a shell would split them: blanks, '...', "..." and \; nothing is expanded.
Result<std::vector<std::string>> split_command(std::string_view text);

}  // namespace ulpian::diff
