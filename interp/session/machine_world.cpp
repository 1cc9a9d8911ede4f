#include "interp/session/machine_world.h"

#include "interp/evaluate/evaluate.h"
#include "interp/scalar/scalar.h"

namespace ulpian::interp {

Result<MaybeTensors> run_program(const core::Program& program, std::span<const std::optional<Tensor>> values, const SessionOptions& options, const Limits& limits,
                                 std::optional<Diagnostic>* undefined) {
  if (options.evaluator == Evaluator::Scalar) return evaluate_scalar(program, values, limits, undefined);
  auto plan = Plan::make(program, options.block);
  if (!plan) return std::move(plan).error();
  return plan->run(values, limits, undefined);
}

Result<std::vector<Datum>> MachineWorld::apply(const Graph& graph, std::span<const Datum> inputs, const Limits& limits) const {
  if (options->run_body) return options->run_body(graph, inputs, captured);
  std::unique_ptr<Session>& session = (*bodies)[&graph];
  if (!session) {
    SessionOptions own;  // readings and progress are those of the nodes around
    own.answer = options->answer;
    own.evaluator = options->evaluator;
    own.block = options->block;
    own.body_readings = options->body_readings;
    own.is_body = true;
    session = std::make_unique<Session>(specification, std::shared_ptr<const Graph>(std::shared_ptr<const Graph>(), &graph), std::move(own));
  }
  return session->run_values(inputs, captured, limits, notes);
}

}  // namespace ulpian::interp
