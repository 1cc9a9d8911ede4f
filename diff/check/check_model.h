// A model on a backend: the uncut model, and every operator on the backend's own inputs (numerics.md, section 2).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diff/backends/backend.h"
#include "diff/compare/verdict.h"
#include "interp/session/session.h"
#include "spec/core/datum.h"

namespace ulpian::diff {

using Data = std::vector<Datum>;

struct CheckOptions {
  interp::Profile profile;
  interp::Limits limits;                 // of one evaluation of ours, and for the values held between them
  double node_seconds = 120;             // of one operator's evaluation
  double second_opinion_seconds = 60;    // of all the witnesses that are evaluated again before a violation is reported
  double deviation_seconds = 60;         // of all the violations for which deviations are looked for that would explain them
  double region_seconds = 90;            // for finding out what an optimised model computes as one unit
  double whole_seconds = 30;             // for how far the outputs are from the canonical ones, and for the reasons
  double inside_seconds = 90;            // for looking into the graphs that operators hold
  bool keep_exhibits = false;            // of what does not conform, what it was judged on
  std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress;
};

enum class Exposure : std::uint8_t {
  InPlace,  // seen in the whole model, with intermediate values as outputs
  Alone,    // run alone, on the values that came in the whole model (or ours, where the backend gave none)
};

// What was judged, as a model of its own: its inputs and what was answered, in the graph's order.
struct Exhibit {
  std::shared_ptr<const Graph> graph;
  Data inputs, outputs;
};

// An operator in a graph that another holds.
struct InnerCheck {
  std::string where;  // `its graph "body", trip 2`
  std::string op, name, place;
  Verdict verdict;
  std::shared_ptr<const Exhibit> exhibit;
};

struct NodeCheck {
  std::size_t node = 0;
  std::string op, name, place;
  Exposure exposure = Exposure::InPlace;
  Verdict verdict;
  std::vector<InnerCheck> inside;  // those that the verdict is about, where it is about operators of its graphs
  std::shared_ptr<const Exhibit> exhibit;
};

// Operators of the uncut model between which nothing can be seen without changing the bits: judged as one unit.
struct RegionCheck {
  std::vector<std::size_t> nodes;
  std::string operators;  // `Conv "c", BatchNormalization "b" and 2 more`
  Verdict verdict;
  std::shared_ptr<const Exhibit> exhibit;
};

// How far outputs are from the canonical ones, over the elements of tensors that have their type and extents.
struct FromCanonical {
  std::int64_t elements = 0, equal = 0;
  double worst_ulps = 0, worst_absolute = 0;  // infinite where one is a number or finite, and the other not
  bool mostly_apart = false;                  // of one output, most elements are nothing like the canonical ones
};

// How far two implementations may be apart of which each operator conforms: the canonical one, and one that takes random members of the sets.
struct Conditioning {
  struct Operator {
    std::size_t node = 0;
    std::string name;   // as describe() of a node
    double growth = 0;  // of the greatest distance, relative to a tensor's greatest magnitude, from inputs (no less than u) to outputs
  };
  std::string output;    // the one with the greatest relative distance
  double absolute = 0, relative = 0;
  bool ill = false;      // most of its elements are apart by as much as they are worth
  std::vector<Operator> operators;  // where the distance grows most
};

// Where the time of a check went, in seconds.
struct CheckTimes {
  double canonical = 0;   // what operators should have answered, each on what it was given
  double verdicts = 0;    // comparing, and allowed sets where something differs
  double opinions = 0;    // second opinions on what is outside: by the scalar evaluator and over the real numbers
  double deviations = 0;
  double regions = 0;     // of the uncut model, the backend's runs included
};

struct ModelCheck {
  std::string backend, backend_version;
  std::string profile;
  std::vector<NodeCheck> nodes;
  Verdict whole;            // of the uncut model's outputs
  std::shared_ptr<const Exhibit> exhibit;  // of `whole`, where it was judged by itself
  // The uncut model's outputs have the bits of the model with intermediate values exposed: the operators' verdicts are its own.
  bool transfers = false;
  std::vector<RegionCheck> regions;  // where they are not: of two operators or more, and all that do not conform
  std::string note;         // how `whole` was decided
  std::string exposing;     // what the backend did instead of answering when intermediate values were asked for
  std::optional<FromCanonical> from_canonical;  // the uncut model's outputs: no verdict, but something to go by
  std::optional<Conditioning> conditioning;     // where those are nothing like the canonical ones, or the sets too wide to tell
  int restarts = 0;
  CheckTimes times;
  Class overall() const;    // the worst; vacuous only if the whole is
  void list_verdicts(std::vector<const Verdict*>& all) const;  // those that it is about
  // By which all that does not conform would.
  std::optional<DeviationSet> least_deviations() const;
};

// `model`: the file's bytes, self-contained. `inputs` in the graph's order. Errors: what keeps the check from being made at all.
Result<ModelCheck> check_model(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                               std::shared_ptr<const std::string> model, Backend& backend, const Data& inputs,
                               const CheckOptions& options);

// Outputs made elsewhere: the whole model is one region.
Result<ModelCheck> check_outputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                                 const Data& inputs, const Data& outputs, const CheckOptions& options);

}  // namespace ulpian::diff
