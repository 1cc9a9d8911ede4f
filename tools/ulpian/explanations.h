// What does not conform, in folders: a model of its own with inputs and answer, by which the verdict is repeated, and a script that shows it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "diff/check/check_model.h"

namespace ulpian::tools {

struct Explained {
  std::string folder, command;  // the command repeats the verdict
  std::string script;           // empty where there is no one element to show
  std::string note;             // what the script does not compute, or why there is none
};
using Explanations = std::map<const diff::Exhibit*, Explained>;

struct ExplainOptions {
  std::string folder;                    // all folders go there
  std::string prefix;                    // of their names
  std::vector<std::string> more;         // what the command needs besides the files: --profile, --admit, --spec
};

// The first thing that cannot be written ends it, as an error; what was explained before stays in `out`. So do the folders of an earlier command.
Status write_explanations(const std::shared_ptr<const language::Specification>& specification, const diff::ModelCheck& check, const diff::CheckOptions& options,
                          const ExplainOptions& how, Explanations& out);

}  // namespace ulpian::tools
