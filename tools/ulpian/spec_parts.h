// Parts of `ulpian spec check` that are commands of their own: each works on the definitions asked for, prints and gives the exit status.
#pragma once

#include <memory>
#include <vector>

#include "tools/ulpian/command.h"

namespace ulpian::tools {

struct SpecCheckOptions {
  bool mutants = false, prove = false;
  int threads = 0;                // 0: one per processor
  double seconds = 0;             // per mutant, or per query of a proof; 0: what is usual
  std::size_t sample = 0;         // mutants of each definition; 0: all
  std::uint64_t seed = 0;
  double least = 0;               // percent that must be noticed
  std::string explained;          // a file of survivors with their reasons; empty: ours
};

using Definitions = std::vector<const language::OperatorDefinition*>;

int check_mutants(const std::shared_ptr<const language::Specification>& specification, const Definitions& definitions, const SpecCheckOptions& options, const Common& common);
int check_proofs(const std::shared_ptr<const language::Specification>& specification, const Definitions& definitions, const SpecCheckOptions& options, const Common& common);

}  // namespace ulpian::tools
