#include "interp/session/examples.h"

#include <cmath>

#include <fmt/format.h>

#include "interp/allowed/allowed.h"
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
  if (is_complex(got.type())) return same_elements(got, *want) ? std::nullopt : std::optional(fmt::format("the complex numbers of {} differ", e.name));
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const double tolerance = e.tolerance.empty() ? 0 : e.tolerance[static_cast<std::size_t>(k)];
    if (!within(got.type(), got.at(k), want->at(k), tolerance))
      return fmt::format("{}: element {} is {}; {}{} is expected", e.name, k, show(got.type(), got.at(k)), e.tolerance.empty() ? "" : "about ", show(got.type(), want->at(k)));
  }
  return std::nullopt;
}

struct Outcome {
  std::vector<Datum> results;
  std::optional<Diagnostic> refusal;    // of elaboration or evaluation
  bool elaborated = false;
  std::optional<Diagnostic> undefined;  // the condition under which the standard says nothing
  std::optional<std::string> broken;
};

Outcome outcome_of_call(const std::shared_ptr<const language::Specification>& specification, const language::Example& example, Evaluator evaluator, const Limits& limits) {
  Outcome out;
  SessionOptions options;
  options.evaluator = evaluator;
  BodySessions bodies;
  GraphHost<MachineWorld> host({specification, &options, &bodies, {}, nullptr}, limits);
  host.add(example.inputs);
  const bool hosted = language::holds_graphs(*example.definition);
  auto program = language::elaborate(*specification, example.call, elaboration_limits(limits), hosted ? &host : nullptr);
  out.elaborated = program.ok();
  if (!program) {
    out.refusal = std::move(program).error();
    return out;
  }
  if ((out.broken = core::verify(*program))) return out;
  auto outputs = run_program(*program, host.values(), options, limits, &out.undefined);
  if (!outputs) out.refusal = std::move(outputs).error();
  else out.results = results_of(*program, std::move(*outputs));
  return out;
}

// --- what the definition admits

// The sets of one reading: a choice for each static `one of`.
struct Reading {
  std::vector<std::optional<AllowedTensor>> results;
  std::vector<std::uint8_t> counts;
};

Result<Reading> reading_of(const language::Specification& specification, const language::Example& example, const std::vector<std::uint8_t>& choice, const Limits& limits) {
  std::vector<std::optional<AllowedTensor>> inputs;
  for (const auto& t : example.inputs) {
    if (t && (t->type() == ElementType::String || is_complex(t->type()))) {
      Diagnostic d;
      d.kind = ErrorKind::Unsupported;
      d.message = "what is admitted is not known of strings and complex numbers: leave out 'allows' and 'forbids'";
      return d;
    }
    inputs.push_back(t ? std::optional(AllowedTensor::exactly(*t)) : std::nullopt);
  }
  language::Call call = example.call;
  call.alternatives = choice;
  auto program = language::elaborate(specification, call, elaboration_limits(limits));
  if (!program) return std::move(program).error();
  auto outputs = evaluate_allowed(*program, inputs, *profile_named("standard"), limits);
  if (!outputs) return std::move(outputs).error();
  Reading out;
  out.counts = program->static_choices;
  for (auto& r : results_of(*program, std::move(*outputs))) out.results.push_back(r.tensor() ? std::optional(*r.tensor()) : std::nullopt);
  return out;
}

bool next_choice(std::vector<std::uint8_t>& choice, const std::vector<std::uint8_t>& counts) {
  choice.resize(counts.size(), 0);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (++choice[k] < counts[k]) return true;
    choice[k] = 0;
  }
  return false;
}

// The first of the stated values that the reading admits (`admits`) or does not.
std::optional<std::string> first_that(const language::Example::Expected& e, const Reading& reading, bool admits) {
  static const std::optional<AllowedTensor> none;
  const auto& set = e.output < reading.results.size() ? reading.results[e.output] : none;
  if (!set) return fmt::format("there is no tensor {}", e.name);
  const auto want = e.value(set->type());
  if (!want) return fmt::format("the values of {} do not fit {}", e.name, name_of(set->type()));
  if (want->extents() != set->extents()) return fmt::format("{} has extents {}; {} are stated", e.name, to_string(set->extents()), to_string(want->extents()));
  for (std::int64_t k = 0; k < want->size(); ++k)
    if (set->contains(k, want->at(k)) == admits)
      return fmt::format("{}: element {} {} {}: admitted is {}", e.name, k, admits ? "may be" : "may not be", show(set->type(), want->at(k)), set->describe(k));
  return std::nullopt;
}

constexpr int MostReadings = 64;

std::optional<std::string> wrong_sets(const language::Specification& specification, const language::Example& example, const Limits& limits) {
  if (example.allowed.empty() && example.forbidden.empty()) return std::nullopt;
  std::vector<std::optional<std::string>> missing(example.allowed.size());
  std::vector<std::uint8_t> choice;
  for (int n = 0; n < MostReadings; ++n) {
    auto reading = reading_of(specification, example, choice, limits);
    if (!reading) return to_string(reading.error());
    for (const auto& e : example.forbidden)
      if (auto wrong = first_that(e, *reading, true)) return wrong;
    for (std::size_t k = 0; k < missing.size(); ++k) {
      auto wrong = first_that(example.allowed[k], *reading, false);
      if (n == 0) missing[k] = std::move(wrong);
      else if (!wrong) missing[k].reset();
    }
    if (!next_choice(choice, reading->counts)) break;
  }
  for (auto& wrong : missing)
    if (wrong) return std::move(wrong);
  return std::nullopt;
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
  const Outcome got = outcome_of_call(specification, example, evaluator, limits);
  auto failure = [&](std::string message) {
    ExampleFailure f{std::move(message), {}, {}};
    if (got.refusal) (got.elaborated ? f.evaluation : f.elaboration) = got.refusal->kind;
    return f;
  };
  auto says = [&](const Diagnostic& d) -> std::optional<ExampleFailure> {
    if (d.message.find(example.reason) != std::string::npos) return std::nullopt;
    return failure(fmt::format("{}, where \"{}\" is expected", to_string(d), example.reason));
  };
  if (got.broken) return failure("the core program is malformed: " + *got.broken);
  const Diagnostic* undefined = got.undefined ? &*got.undefined : got.refusal && got.refusal->kind == ErrorKind::Undefined ? &*got.refusal : nullptr;
  if (example.expects_undefined) {
    if (!undefined) return failure(got.refusal ? to_string(*got.refusal) : "it is expected to be undefined, but there is an answer");
    if (auto other = says(*undefined); other || got.refusal) return other;
    if (auto wrong = difference(example, got.results)) return failure(std::move(*wrong));
    return std::nullopt;
  }
  if (got.refusal) return example.expects_error && got.refusal->kind == ErrorKind::Requirement ? says(*got.refusal) : failure(to_string(*got.refusal));
  if (example.expects_error) return failure(undefined ? "undefined, where a refusal is expected: " + undefined->message : "an error is expected, but there is an answer");
  if (undefined) return failure("undefined, where an answer is expected: " + undefined->message);
  if (auto wrong = difference(example, got.results)) return failure(std::move(*wrong));
  if (auto wrong = wrong_sets(*specification, example, limits)) return failure(std::move(*wrong));
  return std::nullopt;
}

std::optional<std::string> failure_of(const std::shared_ptr<const language::Specification>& specification, const language::Example& example, Evaluator evaluator) {
  auto failure = outcome_of(specification, example, evaluator, {});
  return failure ? std::optional(std::move(failure->message)) : std::nullopt;
}

}  // namespace ulpian::interp
