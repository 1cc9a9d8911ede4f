// The world of machine values: what a GraphHost does on the canonical or ideal answer.
#pragma once

#include "interp/session/graph_host.h"
#include "interp/session/ideal_call.h"
#include "interp/session/session.h"

namespace ulpian::interp {

// The canonical results of a program on values that stand as it takes them.
Result<MaybeTensors> run_program(const core::Program& program, std::span<const std::optional<Tensor>> values, const SessionOptions& options, const Limits& limits,
                                 std::optional<Diagnostic>* undefined);

// The sessions of bodies, by graph. The attribute that holds a graph outlives them: both belong to a node.
using BodySessions = std::map<const Graph*, std::unique_ptr<Session>>;

struct MachineWorld {
  using Tensor = ulpian::Tensor;
  std::shared_ptr<const language::Specification> specification;
  const SessionOptions* options = nullptr;
  BodySessions* bodies = nullptr;
  Captured captured;                // what the bodies read of the graph around
  RunNotes* notes = nullptr;        // or null

  Result<MaybeTensors> run(const core::Program& program, const MaybeTensors& values, const Limits& limits) const {
    return as_asked(program, values, run_program(program, values, *options, limits, nullptr), *options, limits, notes);
  }
  Result<std::vector<Datum>> apply(const Graph& graph, std::span<const Datum> inputs, const Limits& limits) const;
  Result<Tensor> certain(const Tensor& t) const { return t; }
  std::int64_t bytes(const Tensor& t) const { return static_cast<std::int64_t>(t.bytes().size()); }
};

}  // namespace ulpian::interp
