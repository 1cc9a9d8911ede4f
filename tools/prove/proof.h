// One definition, proved for all extents at the ranks and settings of `calls.h`; what is refuted has been run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "spec/language/specification.h"
#include "tools/symbolic/calls.h"
#include "tools/prove/obligations.h"

namespace ulpian::tools {

enum class Standing : std::uint8_t { Proved, Sampled, Refuted };
std::string_view name_of(Standing standing);

struct Fault {
  std::string what;         // "read in range: axis 0 in x[i + 1]"
  Place place;
  std::string call;         // the settings and the shape: "axis = 1; x: [2, 3]"
  std::string message;      // what running it said
};

struct ProofReport {
  std::string name, file;
  std::uint32_t line = 0;
  Standing standing = Standing::Proved;
  std::size_t calls = 0, refused = 0, programs = 0;
  std::map<ObligationKind, std::size_t> proved, by_form, unknown;
  std::map<std::string, std::size_t> reasons;  // why only sampled, and how often
  std::vector<Fault> faults;                   // one of each place and kind
};

struct ProofOptions {
  CallOptions calls;
  ProofLimits limits;
  double seconds = 120;     // per definition
};

Result<ProofReport> prove(const language::Specification& specification, const language::OperatorDefinition& definition, const ProofOptions& options);

}  // namespace ulpian::tools
