// What has to hold of one core program for all extents and all data, and whether it does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spec/core/program.h"

namespace ulpian::tools {

enum class ObligationKind : std::uint8_t {
  Read,        // an index without `else` lies inside its tensor
  Write,       // so does one that a scatter writes to
  Place,       // argsort's place is one of those sorted
  Extent,      // an extent is not negative
  Recurrence,  // a recurrence reads what is defined before
};
std::string_view name_of(ObligationKind kind);

enum class Answer : std::uint8_t { Proved, Unknown, Refuted };

// Sizes and elements under which an obligation fails; the elements are what the solver chose.
struct Counterexample {
  std::map<std::string, std::int64_t> sizes;
  std::map<core::TensorId, Tensor> data;  // of integer and bool inputs
};

struct Obligation {
  ObligationKind kind = ObligationKind::Read;
  Answer answer = Answer::Proved;
  bool alternative = false;  // in an alternative other than the canonical one: only the allowed answer meets it
  bool by_form = false;      // proved without the solver: the index is a variable over just that extent
  std::string what;          // "axis 0 of x at [i + 1]"
  Place place;
  Counterexample counterexample;
};

struct ProofLimits {
  unsigned milliseconds = 2000;  // per query
  double seconds = 30;           // per program; then the rest is unknown
};

// Of what the outputs, requirements and conditions of the program use. `program` is well formed.
std::vector<Obligation> prove(const core::Program& program, const ProofLimits& limits);

}  // namespace ulpian::tools
