#include "interp/session/examples.h"

#include <cmath>

#include <fmt/format.h>

#include "interp/evaluate/evaluate.h"
#include "interp/scalar/scalar.h"
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

}  // namespace

std::optional<ExampleFailure> outcome_of(const language::Specification& specification, const language::Example& example, Evaluator evaluator, const Limits& limits) {
  language::ElaborationLimits elaboration;
  elaboration.deadline = limits.deadline;
  elaboration.cancelled = limits.cancelled;
  auto program = language::elaborate(specification, example.call, elaboration);
  std::optional<Diagnostic> undefined;
  Result<MaybeTensors> outputs = MaybeTensors{};
  if (!program) outputs = std::move(program).error();
  else if (auto broken = core::verify(*program)) return ExampleFailure{"the core program is malformed: " + *broken, {}, {}};
  else if (evaluator == Evaluator::Scalar) outputs = evaluate_scalar(*program, example.inputs, limits, &undefined);
  else outputs = evaluate(*program, example.inputs, limits, &undefined);
  if (!outputs) {
    const ErrorKind kind = outputs.error().kind;
    if (example.expects_error && kind == ErrorKind::Requirement) return std::nullopt;
    ExampleFailure failure{to_string(outputs.error()), {}, {}};
    (program ? failure.evaluation : failure.elaboration) = kind;
    return failure;
  }
  if (example.expects_error) return ExampleFailure{undefined ? "undefined, where a refusal is expected: " + undefined->message : "an error is expected, but there is an answer", {}, {}};
  for (const language::Example::Expected& e : example.expected) {
    if (e.output >= outputs->size() || !(*outputs)[e.output]) return ExampleFailure{fmt::format("there is no output {}", e.name), {}, {}};
    if (auto wrong = compare(e, *(*outputs)[e.output])) return ExampleFailure{*wrong, {}, {}};
  }
  return std::nullopt;
}

std::optional<std::string> failure_of(const language::Specification& specification, const language::Example& example, Evaluator evaluator) {
  auto failure = outcome_of(specification, example, evaluator, {});
  return failure ? std::optional(failure->message) : std::nullopt;
}

}  // namespace ulpian::interp
