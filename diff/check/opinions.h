// Second opinions on elements that are outside their sets, each means started when it is first needed. Private to diff/check.
#pragma once

#include "diff/check/expectation.h"

namespace ulpian::diff {

using OpinionOn = std::function<SecondOpinion(std::size_t output, std::int64_t position)>;

// Outputs are counted by tensors, as Expectation::canonical lists them.
// Of one call: the scalar evaluator, and the definition over the real numbers.
OpinionOn opinions_of_call(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments);

// Why an element of it is none of the values that are admitted.
std::function<std::optional<Grounds>(std::size_t, std::int64_t, Bits)> grounds_of_call(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments);

// Of a graph as one unit: every operator by the scalar evaluator, and over the real numbers with nothing rounded between them.
OpinionOn opinions_of_graph(const Judging& judging, std::shared_ptr<const Graph> graph, Data inputs, Readings readings, interp::BodyReadings inside);

}  // namespace ulpian::diff
