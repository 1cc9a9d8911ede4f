// By which deviations an answer that is a violation would conform: the least sets of them (numerics.md, sections 2 and 7). Private to diff/check.
#pragma once

#include <functional>

#include "diff/check/expectation.h"

namespace ulpian::diff {

// The same answer judged under another profile.
using JudgeUnder = std::function<Verdict(const Judging& judging)>;

// Fills `v.deviations` where `v` is a violation with a witness, within the judging's time for it.
void find_deviations(const Judging& judging, Verdict& v, const JudgeUnder& again);

}  // namespace ulpian::diff
