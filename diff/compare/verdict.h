// The verdict: whether what an implementation answered is admissible. This is the only place that decides it, and membership in the allowed
// set is the only criterion (numerics.md, section 2); equality with the canonical answer is a shortcut to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diff/backends/outcome.h"
#include "diff/compare/bias.h"
#include "diff/compare/shown.h"
#include "diff/compare/ulp.h"
#include "interp/allowed/allowed.h"
#include "spec/core/datum.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"

namespace ulpian::diff {

enum class Class : std::uint8_t {
  Conforms,
  Vacuous,         // conforms, but the set admits everything for all elements: counted, never a pass
  IllConditioned,  // a region whose allowed set is too wide to tell anything
  Undecided,       // a limit met while deciding, or an operator that is not defined here
  Refused,         // the backend does not have it
  Violation,       // a value outside the allowed set, with a witness
  Lenient,         // answered where it must refuse
  Failed, Crashed, Hung, OutOfMemory,
  InternalError,   // Ulpian contradicts itself on elements that it would have called a violation, and no other holds: no verdict on the backend
};
std::string_view name_of(Class c);
// 0 conforms, 1 does not, 3 undecided; of several verdicts the status is 1 if any is 1, else 3 if any is 3.
int exit_status(Class c);
// For the worst of several: faults above open questions, those above what conforms.
int severity(Class c);

// The equation of a definition that an output is made by.
struct Clause {
  Place place;
  std::string text;
};

// What says why an element is none of the values that are admitted.
struct Grounds {
  struct Read {
    std::string input;
    Extents index;
    ElementType type = ElementType::F32;
    Bits bits = 0;
  };
  std::vector<Read> reads;       // the first elements of inputs that it hangs on
  std::int64_t read_count = 0;   // how many there are
  std::string ends_in;           // what its last step may give, in words
  // Where that is a sum or dot: terms, the sum S of their magnitudes, the accumulator's type, and the answer's distance from the true value in u S.
  std::int64_t terms = 0;
  double magnitude = 0, distance = 0;
  ElementType accumulator = ElementType::F32;
};

struct Witness {
  std::size_t output = 0;
  std::string output_name;
  std::int64_t position = 0;     // row-major
  Extents index;
  ElementType type = ElementType::F32;
  Bits got = 0;
  Bits canonical = 0;
  std::string allowed;           // as text
  std::vector<interp::Interval> set;  // the same as intervals; besides, whether NaN belongs, and where 0 does, both zeros
  bool set_nan = false, set_zeros = false;
  std::optional<Clause> clause;  // of a single operator
  std::optional<Grounds> grounds;  // of a single operator
  double distance = 0;           // to the allowed set, in ULP of its nearest end; infinite where that has no meaning
  // Of the definition over the reals, where it was found: to 17 digits or as bounds, and how far the answer and the nearest allowed value lie
  // from it. Of a region: with nothing rounded between its operators either, which is no measure of right and wrong.
  std::string true_value;
  std::string why_no_true_value;
  bool of_region = false;
  double got_from_true = 0;
  double allowed_from_true = 0;
};

struct Counts {
  std::int64_t elements = 0;
  std::int64_t equal = 0;      // equal bits with canonical
  std::int64_t allowed = 0;    // else inside the allowed set, which does not admit everything
  std::int64_t vacuous = 0;    // the set admits everything
  std::int64_t outside = 0;
  // Of a profile with a rule of closeness: by the sets outside although the rule lets them through; inside although it refuses them.
  std::int64_t let_through = 0, refused_inside = 0;
  std::int64_t random = 0;     // of the allowed: only the range of a distribution was asked
  double worst_ulps = 0;       // distance to canonical, over elements where both are numbers; an infinity counts as 2^(e_max+1)
  Shown shown;                 // what is wrong and would have been seen

  void add(const Counts& other);
};

// What a profile would have to admit besides, for an answer to conform.
struct DeviationSet {
  std::vector<interp::Freedom> freedoms;
  double function_ulps = 0;         // elementary functions off by so many ULP, if not 0
  double function_error = 0;        // or by so much, if not 0
  std::vector<std::string> needed;  // for each, functions last: an element that is outside without it
};
struct Deviations {
  std::vector<DeviationSet> least;  // all of the least number
  std::string note;                 // why there is none, or perhaps not all
};
// `ftz + functions within 12 ULP`
std::string to_string(const DeviationSet& set);

struct Verdict {
  Class verdict = Class::Conforms;
  Counts counts;
  std::optional<Witness> witness;  // the worst element outside
  std::string reason;              // one line: why it is not simply conforming
  // One line: where Ulpian contradicts itself on an element of this call. Beside a violation that holds without that element, or the reason
  // of an internal error.
  std::string own_fault;
  std::string evidence;            // a backend's message or error output
  // It conforms only because a value may go from one operator to the next before it is rounded to its type (excess precision).
  bool unrounded = false;
  // It conforms because the definitions ask for a refusal and the backend refused: nothing was compared.
  bool refused_by_both = false;
  // The backend refused, or failed with an error of its own, where the standard leaves open what comes out.
  bool refused_undefined = false;
  std::optional<Witness> let_through;    // of a rule of closeness: the element that is farthest outside of its set
  bool by_rule = false;                  // a violation of such a rule: no set says so
  std::optional<Bias> bias;        // of one output's errors: a warning, whatever the verdict
  std::optional<Deviations> deviations;  // of a violation, where they were looked for
};

// The least set under which all that do not conform would; nothing where one of them has none.
std::optional<DeviationSet> least_together(std::span<const Verdict* const> verdicts);

// Found again by other means for one element, where they reach that far.
struct SecondOpinion {
  std::optional<Bits> canonical;         // by the scalar evaluator
  std::optional<interp::Real> real;      // the true value of a float
  std::optional<Bits> ideal;             // the true value, rounded once; empty where that is not decided
  std::string why_missing;               // why there is no true value
  bool of_region = false;                // what several operators give when nothing rounds between them: shown, and no criterion
};

// What an implementation should have answered.
struct Expectation {
  // Kind Requirement: an implementation must refuse. Undefined: anything conforms. Others: undecided.
  std::optional<Diagnostic> error;
  std::optional<Diagnostic> undefined;                        // found on the values: anything conforms
  std::optional<Diagnostic> undefined_inside;                 // of one operator among several: the sets say what follows from it
  std::vector<bool> free_extents;                             // by tensor: what follows from that one, so may have other extents, too
  std::vector<std::optional<Tensor>> canonical;               // per output; empty where it is not looked at
  // How those tensors form the outputs, where some are sequences or nothing; empty where each is one output. `names` and all else go by tensors.
  std::vector<core::ResultInfo> results;
  std::vector<bool> unseen;                                   // by result: not looked at
  // The allowed sets, asked for only where an element differs from canonical.
  std::function<Result<std::vector<std::optional<interp::AllowedTensor>>>()> allowed;
  // Those of some elements of each output (ascending), in place of all, where they can be found apart. `cheaply`: as a sample where no element differs, an
  // error where it would cost much.
  std::function<Result<interp::AllowedSamples>(const std::vector<std::vector<std::int64_t>>& positions, bool cheaply)> some;
  std::vector<std::string> names;
  std::vector<std::optional<Clause>> clauses;                 // by tensor, where they are known
  // Where outputs of a type are judged by closeness to canonical, how close.
  std::function<std::optional<interp::Closeness>(ElementType)> closeness;
  // Other meanings that the standard leaves open for the operator as a whole (a static `one of`): it conforms under one of them, or not.
  std::vector<std::function<Expectation()>> others;
  std::string reading;         // of one of `others`, why it may be read so; empty: the standard leaves it open
  bool more_readings = false;  // than `others` has: none of them fitting, it is undecided
  bool holds_true_value = true;  // the sets do, as the profile admits rounding: where one does not, Ulpian is at fault
  bool alone = false;           // each element of an output is computed from few numbers of its own: no sum is behind several of them
  bool draws_random = false;    // random numbers: the sets hold whatever is in the range of their distribution
  bool has_unspecified = false;  // a definition says `unspecified`: floats that may be anything are what it leaves open, and no overflow
  // In each line along these axes any order, the same in all outputs.
  std::vector<std::int64_t> unordered_axes;
  // Asked for the witness alone.
  std::function<std::optional<Grounds>(std::size_t output, std::int64_t position, Bits got)> grounds;
  // Asked for some of the elements outside before they are called a violation.
  std::function<SecondOpinion(std::size_t output, std::int64_t position)> second_opinion;
};

// `got` per output of the expectation; an output that the backend does not give is empty.
Verdict judge(const Expectation& expected, const std::vector<std::optional<Tensor>>& got);
// Outputs of any kind: the kind and the length of each, then its tensors.
Verdict judge(const Expectation& expected, std::span<const Datum> got);
// Refusals, crashes and the like included.
Verdict judge(const Expectation& expected, const Outcome& outcome);

// `output "y"[0, 3] is 1.5 (0x3fc00000); allowed is [1.25, 1.375], canonical 1.3125 (0x...): 8.1 ULP outside`
std::string to_string(const Witness& witness);
std::string show_element(ElementType type, Bits bits);

}  // namespace ulpian::diff
