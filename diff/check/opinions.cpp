#include "diff/check/opinions.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "diff/check/programs.h"
#include "interp/ideal/real_element.h"
#include "interp/canonical/canonical.h"
#include "interp/scalar/scalar.h"
#include "spec/numbers/format.h"
#include "interp/session/graph_host.h"

namespace ulpian::diff {
namespace {

using interp::RealElements;
using Clock = std::chrono::steady_clock;

// One operator's whole scalar evaluation, and one element's true value, take at most this long.
constexpr double ScalarSeconds = 3, RealSeconds = 20;

// What a check may still spend on second opinions.
class Spending {
public:
  explicit Spending(const Judging& judging) : judging_(judging), start_(Clock::now()) {}
  ~Spending() { *judging_.seconds_left -= seconds(); }
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;
  interp::Limits limits(double most) const { return judging_.limits(std::min(most, *judging_.seconds_left - seconds())); }

private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  const Judging& judging_;
  Clock::time_point start_;
};

constexpr double GroundsSeconds = 10;
constexpr std::size_t MostReads = 64;

constexpr const char* NoTime = "the time for this is used up";
constexpr const char* NotFollowed = "an operator before it was not evaluated over the real numbers";

void take(SecondOpinion& out, RealElements& reals, const core::Program& program, std::size_t output, std::int64_t position, const interp::Limits& limits) {
  const auto value = reals.element(output, position, limits);
  if (value) {
    out.ideal = RealElements::rounded(program, output, *value);
    if (const auto* real = std::get_if<interp::Real>(&*value)) out.real = *real;
  }
  if (out.ideal) return;
  out.why_missing = reals.why_missing();
  if (out.why_missing.empty()) out.why_missing = "the definition gives none here";
}

class OfCall {
public:
  OfCall(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments)
      : judging_(judging), call_(std::move(call)), arguments_(std::move(arguments)) {}

  SecondOpinion of(std::size_t output, std::int64_t position) {
    SecondOpinion out;
    if (output >= call_->program().outputs.size()) return out;
    out.why_missing = NoTime;
    if (*judging_.seconds_left <= 0) return out;
    const Spending spending(judging_);
    if (!scalar_) scalar_ = std::make_unique<interp::ScalarElements>(call_->program(), *arguments_);
    if (!scalar_failed_) out.canonical = scalar_->element(output, position, spending.limits(ScalarSeconds));
    scalar_failed_ = !out.canonical;  // it would take as long for the next one
    if (!reals_) reals_ = std::make_unique<RealElements>(call_->program(), *arguments_);
    take(out, *reals_, call_->program(), output, position, spending.limits(RealSeconds));
    return out;
  }

private:
  Judging judging_;
  std::shared_ptr<const interp::Call> call_;
  std::shared_ptr<const MaybeTensors> arguments_;
  std::unique_ptr<interp::ScalarElements> scalar_;
  bool scalar_failed_ = false;
  std::unique_ptr<RealElements> reals_;  // keeps what it found for the next element
};

// The calls of a graph, each drawing its inputs' true values from those before it.
class OfGraph {
public:
  OfGraph(const Judging& judging, std::shared_ptr<const Graph> graph, Data inputs, Readings readings, interp::BodyReadings inside)
      : judging_(judging), graph_(std::move(graph)), inputs_(std::move(inputs)), readings_(std::move(readings)), inside_(std::move(inside)), made_by_(graph_->values.size()) {}

  SecondOpinion of(std::size_t output, std::int64_t position) {
    SecondOpinion out;
    out.of_region = true;
    out.why_missing = NoTime;
    if (*judging_.seconds_left <= 0) return out;
    const Spending spending(judging_);
    if (!scalar_) {
      interp::SessionOptions options;
      options.evaluator = interp::Evaluator::Scalar;
      options.alternatives = readings_;
      options.body_readings = inside_;
      scalar_ = std::make_unique<Result<Data>>(interp::Session(judging_.specification, graph_, options).run_values(inputs_, {}, spending.limits(ScalarSeconds)));
      link(spending.limits(RealSeconds));
    }
    out.why_missing = NotFollowed;
    if (!scalar_->ok()) return out;
    std::size_t k = 0, part = output;
    for (; k < (**scalar_).size() && part >= (**scalar_)[k].count(); ++k) part -= (**scalar_)[k].count();
    if (k == (**scalar_).size()) return out;
    out.canonical = (**scalar_)[k].part(part).at(position);
    const Maker& maker = made_by_[static_cast<std::size_t>(graph_->outputs[k])];
    if (maker.reals) take(out, *maker.reals, maker.call->program(), maker.output + part, position, spending.limits(RealSeconds));
    return out;
  }

private:
  struct Maker {
    RealElements* reals = nullptr;
    const interp::Call* call = nullptr;
    std::size_t output = 0;  // of the program; of a sequence the first
  };
  struct Operator {
    std::shared_ptr<const interp::Call> call;
    MaybeTensors arguments;
    std::unique_ptr<RealElements> reals;
  };

  // Canonical values between the operators give extents and what shapes follow from.
  void link(const interp::Limits& limits) {
    Data values(graph_->values.size());
    for (const auto& [id, tensor] : graph_->constants) values[static_cast<std::size_t>(id)] = tensor;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].is_present()) values[static_cast<std::size_t>(graph_->inputs[k])] = inputs_[k];
    const auto work = std::make_shared<RealElements::Work>();
    std::int64_t bytes = 0;
    const interp::Makers makers(*graph_);
    for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
      const Node& node = graph_->nodes[n];
      // What graphs inside compute is not followed over the reals.
      if (has_body(node)) return;
      auto op = std::make_unique<Operator>();
      Data arguments(node.inputs.size());
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k] != AbsentValue) arguments[k] = values[static_cast<std::size_t>(node.inputs[k])];
      op->arguments = interp::flattened(std::span<const Datum>(arguments));
      auto call = interp::Call::make(*judging_.specification, makers, node, arguments, interp::Evaluator::Block, n < readings_.size() ? readings_[n] : std::vector<std::uint8_t>());
      if (!call) return;
      op->call = *call;
      auto results = op->call->run(op->arguments, limits);
      if (!results) return;
      op->reals = std::make_unique<RealElements>(op->call->program(), op->arguments, work);
      draw(node, arguments, *op->reals);
      const auto& infos = op->call->program().results;
      Data made = interp::results_of(op->call->program(), std::move(*results));
      for (std::size_t k = 0; k < node.outputs.size() && k < made.size(); ++k) {
        if (node.outputs[k] == AbsentValue || !made[k].is_present()) continue;
        for (std::size_t j = 0; j < made[k].count(); ++j) bytes += static_cast<std::int64_t>(made[k].part(j).bytes().size());
        if (bytes > limits.memory_bytes) return;
        made_by_[static_cast<std::size_t>(node.outputs[k])] = {op->reals.get(), op->call.get(), infos.empty() ? k : infos[k].first};
        values[static_cast<std::size_t>(node.outputs[k])] = std::move(made[k]);
      }
      operators_.push_back(std::move(op));
    }
  }

  // An input that is a sequence takes a place for each of its tensors.
  void draw(const Node& node, const Data& arguments, RealElements& reals) {
    std::size_t place = 0;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::size_t parts = arguments[k].is_present() ? arguments[k].count() : 1;
      if (node.inputs[k] != AbsentValue)
        if (const Maker& m = made_by_[static_cast<std::size_t>(node.inputs[k])]; m.reals)
          for (std::size_t j = 0; j < parts; ++j) reals.draw_from(place + j, *m.reals, m.output + j);
      place += parts;
    }
  }

  Judging judging_;
  std::shared_ptr<const Graph> graph_;
  Data inputs_;
  Readings readings_;
  interp::BodyReadings inside_;
  std::unique_ptr<Result<Data>> scalar_;
  std::vector<Maker> made_by_;  // by value
  std::vector<std::unique_ptr<Operator>> operators_;
};

// What the last step of an element may give.
std::string last_step(const core::Program& p, core::TermId id, const interp::Profile& profile) {
  const core::Term& t = p.term(id);
  switch (t.kind) {
    case core::TermKind::Read:
    case core::TermKind::ReadElse: return fmt::format("it is an element of \"{}\", moved: its bits stay", p.tensor(static_cast<core::TensorId>(t.data)).name);
    case core::TermKind::Reduce: return fmt::format("it ends in a reduction, {}", name_of(static_cast<core::ReduceKind>(t.operation)));
    case core::TermKind::Cast: return fmt::format("it ends in a cast to {}", name_of(t.type));
    case core::TermKind::Constant: return "it is a constant";
    case core::TermKind::Primitive: break;
    default: return {};
  }
  const auto primitive = static_cast<Primitive>(t.operation);
  if (!is_float(t.type)) return fmt::format("it ends in `{}`, which is exact", name_of(primitive));
  if (const interp::FunctionError e = profile.error(primitive, t.type); !e.is_rounding())
    return fmt::format("it ends in `{}`, which may be off by {:g}{} ULP{} under {}", name_of(primitive), e.ulps, e.per_argument != 0 ? fmt::format(" + {:g} |argument|", e.per_argument) : "",
                       e.absolute != 0 ? fmt::format(" and {:g} besides", e.absolute) : "", profile.name());
  const bool exact = primitive == Primitive::Negate || primitive == Primitive::Absolute || primitive == Primitive::Maximum || primitive == Primitive::Minimum || primitive == Primitive::Sign;
  return fmt::format("it ends in `{}`, {}", name_of(primitive), exact ? "which is exact" : "rounded correctly");
}

}  // namespace

std::function<std::optional<Grounds>(std::size_t, std::int64_t, Bits)> grounds_of_call(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments) {
  return [judging, call, arguments](std::size_t output, std::int64_t position, Bits got) -> std::optional<Grounds> {
    const core::Program& p = call->program();
    if (output >= p.outputs.size() || *judging.seconds_left <= 0) return std::nullopt;
    const Spending spending(judging);
    // With nothing known beforehand, all is read that it hangs on.
    RealElements reals(p, *arguments);
    RealElements::Reads reads;
    reals.record(&reads);
    const auto value = reals.element(output, position, spending.limits(GroundsSeconds));
    reals.record(nullptr);
    Grounds out;
    std::set<std::pair<std::size_t, std::int64_t>> seen;
    for (const auto& [slot, place] : reads) {
      if (!seen.emplace(slot, place).second || out.reads.size() >= MostReads) continue;
      const Tensor& t = *(*arguments)[slot];
      out.reads.push_back({p.tensor(p.inputs[slot]).name, index_of(t.extents(), place), t.type(), t.at(place)});
    }
    out.read_count = static_cast<std::int64_t>(seen.size());
    const auto ending = value ? reals.ending_of(output, position, spending.limits(GroundsSeconds)) : std::nullopt;
    if (!ending) return out;
    out.ends_in = last_step(p, ending->term, judging.options->profile);
    const auto* real = std::get_if<interp::Real>(&*value);
    const ElementType type = p.tensor(p.outputs[output]).type;
    if (!real || ending->terms == 0 || !is_float(type) || is_nan(type, got) || is_infinite(type, got)) return out;
    constexpr int Bits = 128;
    out.terms = ending->terms;
    out.magnitude = interp::bounds_of(ending->magnitude, Bits).second.to_double();
    const ElementType accumulator = p.term(ending->term).type;
    out.accumulator = is_float(accumulator) ? accumulator : ElementType::F64;
    const std::array<interp::Real, 2> both{interp::real_of(type, got), *real};
    const auto away = interp::real_primitive(Primitive::Subtract, both);
    if (!away || out.magnitude == 0) return out.terms = 0, out;
    const auto [low, high] = interp::bounds_of(*away, Bits);
    out.distance = std::max(std::abs(low.to_double()), std::abs(high.to_double())) / out.magnitude * std::ldexp(1.0, format_of(out.accumulator).precision());
    return out;
  };
}

OpinionOn opinions_of_call(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments) {
  return [opinions = std::make_shared<OfCall>(judging, std::move(call), std::move(arguments))](std::size_t output, std::int64_t position) { return opinions->of(output, position); };
}

OpinionOn opinions_of_graph(const Judging& judging, std::shared_ptr<const Graph> graph, Data inputs, Readings readings, interp::BodyReadings inside) {
  return [opinions = std::make_shared<OfGraph>(judging, std::move(graph), std::move(inputs), std::move(readings), std::move(inside))](std::size_t output, std::int64_t position) {
    return opinions->of(output, position);
  };
}

}  // namespace ulpian::diff
