// A second look at an element outside its allowed set, before it is called a violation.
#pragma once

#include <string>

#include "diff/compare/verdict.h"

namespace ulpian::diff {

// The ends of the intervals that are the set.
template <typename Visit> void each_end(const interp::AllowedTensor& set, std::int64_t position, Visit visit) {
  if (const auto it = set.pieces().find(position); it != set.pieces().end()) {
    for (const interp::Interval& p : it->second) visit(p.lower), visit(p.upper);
  } else if (!(set.flags()[static_cast<std::size_t>(position)] & interp::Empty)) {
    visit(set.lower().at(position));
    visit(set.upper().at(position));
  }
}

// To the nearest end, in ULP.
double distance_to_set(const interp::AllowedTensor& set, std::int64_t position, Bits got);

// What a second opinion makes of an element outside its set.
struct Examined {
  enum class Finding {
    Holds,    // the true value tells the answer from what is admitted
    Open,     // no true value is known
    Doubted,  // Ulpian contradicts itself: the set proves nothing here
  };
  Finding finding = Finding::Open;
  std::string fault;                          // of ours; there may be one although the violation holds
  std::string true_value;
  double got = 0, nearest = 0, farthest = 0;  // from the true value, in ULP
};

// `position`: in the set. `holds_true_value`: the sets do, as the profile admits rounding.
Examined examine(const SecondOpinion& o, const interp::AllowedTensor& set, std::int64_t position, Bits canonical, Bits got, bool holds_true_value);

}  // namespace ulpian::diff
