#include "interp/session/examples.h"

#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "interp/session/machine_world.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {
namespace {

std::string show(ElementType t, Bits b) {
  if (t == ElementType::Bool) return b ? "true" : "false";
  return fmt::format("{} (0x{:x})", Exact::of(t, b).to_string(), b);
}

bool within(ElementType t, Bits got, Bits want, double tolerance) {
  if (same_element(t, got, want)) return true;
  if (tolerance <= 0 || !is_float(t) || is_nan(t, got) || is_infinite(t, got)) return false;
  const double distance = to_double(t, got) - to_double(t, want);
  return (distance < 0 ? -distance : distance) <= tolerance;
}

std::optional<std::string> compare(const language::Example::Expected& e, const Tensor& got) {
  if (e.type && *e.type != got.type()) return fmt::format("{} holds {}; {} is expected", e.name, name_of(got.type()), name_of(*e.type));
  const auto want = e.value(got.type());
  if (!want) return fmt::format("the values of {} do not fit {}", e.name, name_of(got.type()));
  if (want->size() == 0 && got.size() == 0 && want->extents() == Extents{0}) return std::nullopt;
  if (want->extents() != got.extents()) return fmt::format("{} has extents {}; {} are expected", e.name, to_string(got.extents()), to_string(want->extents()));
  if (got.type() == ElementType::String) return got.strings() == want->strings() ? std::nullopt : std::optional(fmt::format("the strings of {} differ", e.name));
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const double tolerance = e.tolerance.empty() ? 0 : e.tolerance[static_cast<std::size_t>(k)];
    if (!within(got.type(), got.at(k), want->at(k), tolerance))
      return fmt::format("{}: element {} is {}; {}{} is expected", e.name, k, show(got.type(), got.at(k)), e.tolerance.empty() ? "" : "about ", show(got.type(), want->at(k)));
  }
  return std::nullopt;
}

// The results of an example's call, or what it fails with.
std::variant<std::vector<Datum>, ExampleFailure> results_of_call(const std::shared_ptr<const language::Specification>& specification, const language::Example& example,
                                                                 Evaluator evaluator, const Limits& limits, std::optional<Diagnostic>* undefined) {
  SessionOptions options;
  options.evaluator = evaluator;
  BodySessions bodies;
  GraphHost<MachineWorld> host({specification, &options, &bodies, {}, nullptr}, limits);
  host.add(example.inputs);
  const bool hosted = language::holds_graphs(*example.definition);
  auto program = language::elaborate(*specification, example.call, elaboration_limits(limits), hosted ? &host : nullptr);
  if (!program) return ExampleFailure{to_string(program.error()), program.error().kind, {}};
  if (auto broken = core::verify(*program)) return ExampleFailure{"the core program is malformed: " + *broken, {}, {}};
  auto outputs = run_program(*program, host.values(), options, limits, undefined);
  if (!outputs) return ExampleFailure{to_string(outputs.error()), {}, outputs.error().kind};
  return results_of(*program, std::move(*outputs));
}

std::string_view kind_of(const Datum& v) { return v.tensor() ? "a tensor" : v.sequence() ? "a sequence" : "nothing"; }
std::string_view kind_of(core::ResultKind kind) {
  return kind == core::ResultKind::Tensor ? "a tensor" : kind == core::ResultKind::Sequence ? "a sequence" : "nothing";
}

std::optional<std::string> difference(const language::Example& example, const std::vector<Datum>& results) {
  for (const auto& r : example.expected_results) {
    if (r.output >= results.size()) return fmt::format("there is no output {}", r.name);
    const Datum& got = results[r.output];
    if (kind_of(got) != kind_of(r.kind)) return fmt::format("{} is {}; {} is expected", r.name, kind_of(got), kind_of(r.kind));
    if (got.sequence() && got.count() != r.count) return fmt::format("{} holds {} tensors; {} are expected", r.name, got.count(), r.count);
  }
  for (const language::Example::Expected& e : example.expected)
    if (auto wrong = compare(e, results[e.output].part(e.part))) return wrong;
  return std::nullopt;
}

}  // namespace

std::optional<ExampleFailure> outcome_of(const std::shared_ptr<const language::Specification>& specification, const language::Example& example, Evaluator evaluator,
                                         const Limits& limits) {
  std::optional<Diagnostic> undefined;
  const auto got = results_of_call(specification, example, evaluator, limits, &undefined);
  if (const auto* failure = std::get_if<ExampleFailure>(&got)) {
    const bool refused = failure->elaboration == ErrorKind::Requirement || failure->evaluation == ErrorKind::Requirement;
    return example.expects_error && refused ? std::nullopt : std::optional(*failure);
  }
  if (example.expects_error) return ExampleFailure{undefined ? "undefined, where a refusal is expected: " + undefined->message : "an error is expected, but there is an answer", {}, {}};
  if (auto wrong = difference(example, std::get<std::vector<Datum>>(got))) return ExampleFailure{std::move(*wrong), {}, {}};
  return std::nullopt;
}

std::optional<std::string> failure_of(const std::shared_ptr<const language::Specification>& specification, const language::Example& example, Evaluator evaluator) {
  auto failure = outcome_of(specification, example, evaluator, {});
  return failure ? std::optional(std::move(failure->message)) : std::nullopt;
}

}  // namespace ulpian::interp
