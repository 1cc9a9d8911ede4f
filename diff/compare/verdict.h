// The verdict: whether what an implementation answered is admissible. This is the only place that decides it, and membership in the allowed
// set is the only criterion (numerics.md, section 2); equality with the canonical answer is a shortcut to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diff/backends/outcome.h"
#include "interp/allowed/allowed.h"
#include "spec/core/diagnostic.h"

namespace ulpian::diff {

enum class Class : std::uint8_t {
  Conforms,
  Vacuous,         // conforms, but the set admits everything for all elements: counted, never a pass
  IllConditioned,  // a region whose allowed set is too wide to tell anything
  Undecided,       // a limit met while deciding
  Refused,         // the backend does not have it
  Violation,       // a value outside the allowed set, with a witness
  Lenient,         // answered where it must refuse
  Failed, Crashed, Hung, OutOfMemory,
};
std::string_view name_of(Class c);
// 0 conforms, 1 does not, 3 undecided; of several verdicts the status is 1 if any is 1, else 3 if any is 3.
int exit_status(Class c);

struct Witness {
  std::size_t output = 0;
  std::string output_name;
  std::int64_t position = 0;     // row-major
  Extents index;
  ElementType type = ElementType::F32;
  Bits got = 0;
  Bits canonical = 0;
  std::string allowed;           // as text
  double distance = 0;           // to the allowed set, in ULP of its nearest end; infinite where that has no meaning
};

struct Counts {
  std::int64_t elements = 0;
  std::int64_t equal = 0;      // equal bits with canonical
  std::int64_t allowed = 0;    // else inside the allowed set, which does not admit everything
  std::int64_t vacuous = 0;    // the set admits everything
  std::int64_t outside = 0;
  double worst_ulps = 0;       // distance to canonical, over elements where both are finite
};

struct Verdict {
  Class verdict = Class::Conforms;
  Counts counts;
  std::optional<Witness> witness;  // the worst element outside
  std::string reason;              // one line: why it is not simply conforming
  std::string evidence;            // a backend's message or error output
};

// What an implementation should have answered.
struct Expectation {
  // Kind Requirement: an implementation must refuse. Undefined: anything conforms. Limit: undecided.
  std::optional<Diagnostic> error;
  std::optional<Diagnostic> undefined;                        // found on the values: anything conforms
  std::vector<std::optional<Tensor>> canonical;               // per output; empty where it is not looked at
  // The allowed sets, asked for only where an element differs from canonical.
  std::function<Result<std::vector<std::optional<interp::AllowedTensor>>>()> allowed;
  std::vector<std::string> names;
  // Other meanings that the standard leaves open for the operator as a whole (a static `one of`): it conforms under one of them, or not.
  std::vector<std::function<Expectation()>> others;
  // Any order of the same slices along these axes, the same in all outputs.
  std::vector<std::int64_t> unordered_axes;
};

// `got` per output of the expectation; an output that the backend does not give is empty.
Verdict judge(const Expectation& expected, const std::vector<std::optional<Tensor>>& got);
// Refusals, crashes and the like included.
Verdict judge(const Expectation& expected, const Outcome& outcome);

// The distance between two finite values of a float type in ULP of the larger's binade (numerics.md, section 0); 0 for equal values.
double distance_in_ulps(ElementType type, Bits got, Bits reference);

// `output "y"[0, 3] is 1.5 (0x3fc00000); allowed is [1.25, 1.375], canonical 1.3125 (0x...): 8.1 ULP outside`
std::string to_string(const Witness& witness);
std::string show_element(ElementType type, Bits bits);

}  // namespace ulpian::diff
