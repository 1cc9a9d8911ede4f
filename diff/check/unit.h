// The verdict of a graph as one unit. Private to diff/check.
#pragma once

#include "diff/check/expectation.h"

namespace ulpian::diff {

// Of a single call, its own; else of all its operators together, ill-conditioned where the sets admit too much to tell anything. Where
// definitions leave a choice for a whole operator, each reading is tried: operator by operator where the values between them are outputs, else
// all combinations up to MostReadings.
Verdict judge_unit(const Judging& judging, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Data& got);

// Whether a distance could hide any fault: more than a quarter of the value, and than 1/64 of its tensor's greatest. (What is no number is.)
inline bool tells_nothing(double distance, double magnitude, double greatest) { return !(distance <= 0.25 * magnitude) && !(distance <= greatest / 64); }

// Of several operators as one unit: ill-conditioned where the sets admit too much to tell anything.
Verdict judge_as_unit(const Expectation& expected, std::span<const Datum> got);

}  // namespace ulpian::diff
