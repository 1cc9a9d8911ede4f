// What a call or a graph should answer on given inputs, as the judge takes it. Private to diff/check and diff/explain.
#pragma once

#include <chrono>
#include <set>

#include "diff/check/check_model.h"
#include "interp/session/allowed_session.h"
#include "interp/session/session.h"

namespace ulpian::diff {

using MaybeTensors = std::vector<std::optional<Tensor>>;
using MaybeSets = std::vector<std::optional<interp::AllowedTensor>>;

// What the expectations of one check share.
struct Judging {
  std::shared_ptr<const language::Specification> specification;
  const CheckOptions* options = nullptr;
  std::shared_ptr<double> seconds_left;  // for second opinions
  std::shared_ptr<double> deviation_seconds_left;
  std::shared_ptr<std::optional<Diagnostic>> wrong_definition;  // the first that was met: nothing is judged by it
  // Names of values that an operator of the model was perhaps handed before they were rounded to their type, though what is seen of them is
  // rounded (excess precision); null: none.
  std::shared_ptr<const std::set<std::string>> handed_on;

  Judging(std::shared_ptr<const language::Specification> spec, const CheckOptions& o)
      : specification(std::move(spec)), options(&o), seconds_left(std::make_shared<double>(o.second_opinion_seconds)),
        deviation_seconds_left(std::make_shared<double>(o.deviation_seconds)), wrong_definition(std::make_shared<std::optional<Diagnostic>>()) {}
  // What an operator may have been given where `seen` is what was seen of the value `name`.
  interp::AllowedDatum given(const std::string& name, const Datum& seen) const;
  // The same under another profile, until then at most, and without second opinions.
  Judging under(interp::Profile profile, std::chrono::steady_clock::time_point end) const;
  void note(const Diagnostic& error) const {
    if (error.kind == ErrorKind::Definition && !*wrong_definition) *wrong_definition = error;
  }
  interp::Limits limits(double seconds) const;  // from now, within the options'

private:
  std::shared_ptr<const CheckOptions> own_;  // `options`, where no one else holds them
};

// Whether a value of which this was seen may have been unrounded; `names`: of the values that operators hand on.
bool perhaps_unrounded(const std::set<std::string>& names, const std::string& name, const Datum& seen);
// As `first`, or, where that is a violation and the profile admits excess precision, judged once more with those of its
// arguments unrounded that may be; `any`: there are such. `judge` judges the same answer.
Verdict or_unrounded(const Judging& judging, const std::shared_ptr<const std::set<std::string>>& names, bool any, Verdict first,
                     const std::function<Verdict(const Judging&)>& judge);

// One call that holds no graphs; its graph must outlive the answer. `arguments` as Node::inputs.
Expectation expect_call(const Judging& judging, const interp::Makers& makers, const Node& node, const Data& arguments);

// Outputs that are not looked at, under any reading.
void hide_outputs(Expectation& e, const std::vector<bool>& hidden);
// The canonical outputs.
Data data_of(const Expectation& e);

// By node, which reading of its definition; what is missing is the first.
using Readings = std::vector<std::vector<std::uint8_t>>;
// So many are tried, of one operator or of several together.
inline constexpr std::size_t MostReadings = 64;
// Every way to choose among a definition's readings but the first; `all`: there are no more than these.
struct OtherReadings {
  std::vector<std::vector<std::uint8_t>> choices;
  bool all = true;
};
OtherReadings other_readings(const std::vector<std::uint8_t>& counts);

// A graph as one unit. `inside`: empty, the readings of calls inside bodies are further ones of the answer; else what is tried.
Expectation expect_graph(const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Readings& readings = {},
                         const interp::BodyReadings& inside = {});

}  // namespace ulpian::diff
