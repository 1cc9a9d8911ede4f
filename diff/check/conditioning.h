// How far conforming implementations of a model may be apart on given inputs, and which operators make it so. Private to diff/check.
//
// Bounds that are composed along a whole graph say nothing after some layers (numerics.md, section 2). Two answers do: the canonical one, and one
// in which every operator gives a random member of its allowed set on what the operators before it gave. Each is what a conforming
// implementation may answer, so their distance is one that no verdict on the outputs alone may hold against anyone.
#pragma once

#include "diff/check/expectation.h"

namespace ulpian::diff {

// As of a region's sets: most floats are so far apart that it tells nothing (unit.h).
bool mostly_apart(const Datum& canonical, const Datum& other);

// Empty where a time limit was met, or an output cannot be compared.
std::optional<Conditioning> conditioning_of(const Judging& judging, const Graph& graph, const Data& inputs, double seconds);

}  // namespace ulpian::diff
