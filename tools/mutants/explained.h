// Why some changes of definitions are noticed by no example: explained.json beside this file, one reason for one or several changes.
#pragma once

#include <string>
#include <vector>

#include "tools/mutants/measure.h"

namespace ulpian::tools {

// The changes are found by the text of their line, which moves less than its number does.
struct Explanation {
  std::string definition;            // as MutationScore::name
  std::string line;                  // without the blanks around; empty: any
  std::vector<std::string> changes;  // as Mutation::change; empty: all of the line
  std::string reason;
  bool same = false;                 // whatever the inputs: the changed definition means the same, and the change does not count
};

// `source` is the file's name in messages.
Result<std::vector<Explanation>> read_explanations(const std::string& text, const std::string& source);

// Gives the survivors of all scores their reasons; those that mean the same become Fate::Same. The result: explanations of definitions in `scores` that were measured in full and in which there is
// nothing left to explain.
std::vector<Explanation> explain(std::vector<MutationScore>& scores, const std::vector<Explanation>& explanations);

}  // namespace ulpian::tools
