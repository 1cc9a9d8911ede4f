#include "diff/check/opinions.h"

#include <algorithm>
#include <chrono>

#include "diff/compare/real_element.h"
#include "interp/scalar/scalar.h"

namespace ulpian::diff {
namespace {

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

constexpr const char* NoTime = "the time for this is used up";

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
    if (!scalar_) scalar_ = std::make_unique<Result<interp::Outputs>>(interp::evaluate_scalar(call_->program(), *arguments_, spending.limits(ScalarSeconds)));
    if (scalar_->ok() && output < (**scalar_).size() && (**scalar_)[output]) out.canonical = (**scalar_)[output]->at(position);
    if (!reals_) reals_ = std::make_unique<RealElements>(call_->program(), *arguments_);
    take(out, *reals_, call_->program(), output, position, spending.limits(RealSeconds));
    return out;
  }

private:
  Judging judging_;
  std::shared_ptr<const interp::Call> call_;
  std::shared_ptr<const MaybeTensors> arguments_;
  std::unique_ptr<Result<interp::Outputs>> scalar_;
  std::unique_ptr<RealElements> reals_;  // keeps what it found for the next element
};

// The calls of a graph, each drawing its inputs' true values from those before it.
class OfGraph {
public:
  OfGraph(const Judging& judging, std::shared_ptr<const Graph> graph, MaybeTensors inputs, Readings readings)
      : judging_(judging), graph_(std::move(graph)), inputs_(std::move(inputs)), readings_(std::move(readings)), made_by_(graph_->values.size()) {}

  SecondOpinion of(std::size_t output, std::int64_t position) {
    SecondOpinion out;
    out.of_region = true;
    if (output >= graph_->outputs.size()) return out;
    out.why_missing = NoTime;
    if (*judging_.seconds_left <= 0) return out;
    const Spending spending(judging_);
    if (!scalar_) {
      interp::SessionOptions options;
      options.evaluator = interp::Evaluator::Scalar;
      options.alternatives = readings_;
      scalar_ = std::make_unique<Result<std::vector<Tensor>>>(interp::Session(judging_.specification, graph_, options).run(inputs_, spending.limits(ScalarSeconds)));
      link(spending.limits(RealSeconds));
    }
    if (scalar_->ok()) out.canonical = (**scalar_)[output].at(position);
    const Maker& maker = made_by_[static_cast<std::size_t>(graph_->outputs[output])];
    out.why_missing = "an operator of the region was not evaluated";
    if (maker.reals) take(out, *maker.reals, maker.call->program(), maker.output, position, spending.limits(RealSeconds));
    return out;
  }

private:
  struct Maker {
    RealElements* reals = nullptr;
    const interp::Call* call = nullptr;
    std::size_t output = 0;
  };
  struct Operator {
    std::shared_ptr<const interp::Call> call;
    MaybeTensors arguments;
    std::unique_ptr<RealElements> reals;
  };

  // Canonical values between the operators give extents and what shapes follow from.
  void link(const interp::Limits& limits) {
    std::vector<std::optional<Tensor>> values(graph_->values.size());
    for (const auto& [id, tensor] : graph_->constants) values[static_cast<std::size_t>(id)] = tensor;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k]) values[static_cast<std::size_t>(graph_->inputs[k])] = inputs_[k];
    const auto work = std::make_shared<RealElements::Work>();
    std::int64_t bytes = 0;
    for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
      const Node& node = graph_->nodes[n];
      auto op = std::make_unique<Operator>();
      op->arguments.resize(node.inputs.size());
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k] != AbsentValue) op->arguments[k] = values[static_cast<std::size_t>(node.inputs[k])];
      auto call = interp::Call::make(*judging_.specification, *graph_, node, op->arguments, interp::Evaluator::Block, n < readings_.size() ? readings_[n] : std::vector<std::uint8_t>());
      if (!call) return;
      op->call = *call;
      auto results = op->call->run(op->arguments, limits);
      if (!results) return;
      op->reals = std::make_unique<RealElements>(op->call->program(), op->arguments, work);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k] != AbsentValue)
          if (const Maker& m = made_by_[static_cast<std::size_t>(node.inputs[k])]; m.reals) op->reals->draw_from(k, *m.reals, m.output);
      for (std::size_t k = 0; k < node.outputs.size() && k < results->size(); ++k) {
        if (node.outputs[k] == AbsentValue || !(*results)[k]) continue;
        bytes += static_cast<std::int64_t>((*results)[k]->bytes().size());
        if (bytes > limits.memory_bytes) return;
        made_by_[static_cast<std::size_t>(node.outputs[k])] = {op->reals.get(), op->call.get(), k};
        values[static_cast<std::size_t>(node.outputs[k])] = std::move((*results)[k]);
      }
      operators_.push_back(std::move(op));
    }
  }

  Judging judging_;
  std::shared_ptr<const Graph> graph_;
  MaybeTensors inputs_;
  Readings readings_;
  std::unique_ptr<Result<std::vector<Tensor>>> scalar_;
  std::vector<Maker> made_by_;  // by value
  std::vector<std::unique_ptr<Operator>> operators_;
};

}  // namespace

OpinionOn opinions_of_call(const Judging& judging, std::shared_ptr<const interp::Call> call, std::shared_ptr<const MaybeTensors> arguments) {
  return [opinions = std::make_shared<OfCall>(judging, std::move(call), std::move(arguments))](std::size_t output, std::int64_t position) { return opinions->of(output, position); };
}

OpinionOn opinions_of_graph(const Judging& judging, std::shared_ptr<const Graph> graph, MaybeTensors inputs, Readings readings) {
  return [opinions = std::make_shared<OfGraph>(judging, std::move(graph), std::move(inputs), std::move(readings))](std::size_t output, std::int64_t position) {
    return opinions->of(output, position);
  };
}

}  // namespace ulpian::diff
