// Mutation testing of definitions: each one-token change is elaborated and run on the definition's own examples.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/mutants/mutations.h"

namespace ulpian::tools {

enum class Fate : std::uint8_t {
  Noticed,       // an example fails
  OutOfTime,     // an example did not end within the limit: noticed, too
  Same,          // no example notices it, and neither do the programs: see `programs.h`
  Contract,      // no example notices it, and the programs differ only in what is allowed besides the canonical answer
  Invalid,       // it does not parse, or elaborates for no example: no definition at all, and not counted
  Equal,         // every example holds, with the same canonical and the same allowed answers
  AllowedDiffers,  // every example holds and the canonical answers are the same, but not the allowed ones
  Within,        // every example holds, with other canonical answers within `~`, or other reasons of refusal
};
std::string_view name_of(Fate fate);

struct Mutant {
  Mutation mutation;
  Fate fate = Fate::Invalid;
  std::string line;         // the text of its line, without the blanks around
  std::string explanation;  // why no example notices it; empty: nobody has said (explained.h)
  // Within reach of the allowed answer only: of what is expected of an example, `allows`, `forbids` and `undefined` see it.
  bool of_contract() const { return mutation.contract || fate == Fate::Contract; }
  bool survives() const { return fate != Fate::Invalid && fate != Fate::Same && !noticed(); }
  bool noticed() const { return fate == Fate::Noticed || fate == Fate::OutOfTime; }
};

struct MutationScore {
  std::string name;                // "onnx.Conv since 22, 11, 1", or "functions of spec/onnx/Resize.ulp"
  std::string file;
  std::uint32_t line = 0;
  std::size_t all = 0;             // before sampling
  std::vector<Mutant> mutants;     // of the canonical answer, then of the contract
  // Of those that are definitions, that examples can tell and that do not mean the same: noticed, and all.
  std::size_t noticed() const;
  std::size_t counted() const;
  std::size_t contract_noticed() const;
  std::size_t contract_counted() const;
  double percent() const { return counted() ? 100.0 * static_cast<double>(noticed()) / static_cast<double>(counted()) : 100.0; }
};

struct MutationOptions {
  int threads = 1;
  double seconds = 10;             // per mutant
  std::size_t sample = 0;          // so many of each definition; 0: all
  std::uint64_t seed = 0;
};

// `definitions` are of `specification`, which was loaded with `user_files`. An example that fails before any change is an error.
Result<std::vector<MutationScore>> measure_mutants(const std::shared_ptr<const language::Specification>& specification, const std::vector<language::SourceText>& user_files,
                                                   const std::vector<const language::OperatorDefinition*>& definitions, const MutationOptions& options,
                                                   const std::function<void(std::size_t done, std::size_t total, const std::string& name)>& progress);

}  // namespace ulpian::tools
