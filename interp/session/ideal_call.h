// The ideal answer of one call within a session (SessionOptions::answer).
#pragma once

#include <span>

#include "interp/session/session.h"

namespace ulpian::interp {

// The outputs of a run of `program`: the canonical ones as they are, or the ideal ones in their place; what these leave undecided goes to `notes`
// (or nowhere). `node` may be null: a program that only a call's elaboration ran.
Result<MaybeTensors> as_asked(const core::Program& program, std::span<const std::optional<Tensor>> values, Result<MaybeTensors> canonical, const SessionOptions& options,
                              const Limits& limits, RunNotes* notes, const Graph* graph = nullptr, const Node* node = nullptr);

}  // namespace ulpian::interp
