#include "interp/evaluate/evaluate.h"

#include <algorithm>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include "interp/evaluate/dot.h"
#include "interp/evaluate/run.h"
#include "interp/scalar/scalar.h"
#include "interp/scalar/work.h"

namespace ulpian::interp {
namespace block {
namespace {

using core::TermKind;

// The sizes that the extents of inputs define; errors as the scalar evaluator words them.
struct Binding {
  const core::Program& p;
  std::vector<std::optional<std::int64_t>> sizes;

  [[noreturn]] void stop(ErrorKind kind, std::string message, std::uint32_t place) const {
    Diagnostic d;
    d.kind = kind;
    d.message = p.op.empty() ? std::move(message) : p.op + ": " + message;
    if (place < p.places.size()) d.place = p.places[place];
    throw Stop{std::move(d)};
  }

  std::optional<std::int64_t> value(core::TermId id, int depth = 0) const {
    const core::Term& t = p.term(id);
    if (t.kind == TermKind::Constant && t.type == ElementType::Z) return static_cast<std::int64_t>(t.data);
    if (t.kind == TermKind::Size) return sizes[t.data];
    if (t.kind == TermKind::Select && depth < 100) return std::nullopt;
    if (t.kind != TermKind::Primitive || t.type != ElementType::Z || depth > 100) return std::nullopt;
    std::int64_t x[2] = {};
    const auto a = p.arguments_of(id);
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto v = value(a[k], depth + 1);
      if (!v) return std::nullopt;
      x[k] = *v;
    }
    return integer_primitive(static_cast<Primitive>(t.operation), std::span(x, a.size()));
  }

  void bind(std::span<const std::optional<Tensor>> inputs) {
    if (inputs.size() != p.inputs.size()) stop(ErrorKind::Input, fmt::format("takes {} inputs, not {}", p.inputs.size(), inputs.size()), None);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (p.inputs[k] == core::None) continue;
      const core::TensorNode& n = p.tensor(p.inputs[k]);
      if (!inputs[k]) stop(ErrorKind::Input, fmt::format("input \"{}\" is missing", n.name), n.place);
      const Tensor& t = *inputs[k];
      if (t.type() != n.type) stop(ErrorKind::Input, fmt::format("input \"{}\" is of {}, not {}", n.name, name_of(t.type()), name_of(n.type)), n.place);
      if (t.extents().size() != n.extents.size())
        stop(ErrorKind::Input, fmt::format("input \"{}\" has extents {}, not {} axes", n.name, to_string(t.extents()), n.extents.size()), n.place);
      for (std::size_t d = 0; d < n.extents.size(); ++d) {
        const core::Term& e = p.term(n.extents[d]);
        if (e.kind == TermKind::Size && !sizes[e.data]) sizes[e.data] = t.extents()[d];
      }
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (p.inputs[k] == core::None) continue;
      const core::TensorNode& n = p.tensor(p.inputs[k]);
      for (std::size_t d = 0; d < n.extents.size(); ++d) {
        const auto expected = value(n.extents[d]);
        if (expected && *expected != inputs[k]->extents()[d])
          stop(ErrorKind::Input, fmt::format("input \"{}\" has extents {}; axis {} must be {}", n.name, to_string(inputs[k]->extents()), d, *expected), n.place);
      }
    }
  }
};

Schedule plan(const core::Program& p, const std::vector<std::optional<std::int64_t>>& sizes, std::span<const std::optional<Extents>> available, Options& options,
              bool checked = false) {
  try {
    return Planner(p, sizes, options).run(available, checked);
  } catch (const MembersMayPoison&) {
    options.member_poison = true;
    return Planner(p, sizes, options).run(available, checked);
  }
}

Diagnostic of_condition(const core::Program& p, const core::Condition& c, ErrorKind kind) {
  Diagnostic d;
  d.kind = kind;
  d.message = (p.op.empty() ? "" : p.op + ": ") + (c.message.empty() ? core::to_string(p, c.term) : c.message);
  if (c.place < p.places.size()) d.place = p.places[c.place];
  return d;
}

std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::Map: return "map";
    case StepKind::Rows: return "rows";
    case StepKind::Dot: return "dot";
    case StepKind::Sort: return "sort";
    case StepKind::Where: return "where";
    case StepKind::Scatter: return "scatter";
    case StepKind::Alias: return "alias";
    case StepKind::Recurrence: return "recurrence";
  }
  ensure(false);
}

void describe_steps(std::string& out, const std::vector<Step>& steps, const Schedule& schedule, bool details, int indent) {
  for (const Step& s : steps) {
    out += fmt::format("{:{}}{}", "", indent, name_of(s.kind));
    if (s.out != None) out += fmt::format(" {}{} {}", name_of(schedule.buffers[s.out].type), to_string(schedule.buffers[s.out].extents), schedule.buffers[s.out].poison ? "poison " : "");
    if (s.dot && s.dot->direct) out += "without packing ";
    out += fmt::format("lanes {} of {} cost {:.1f} instructions {}+{}\n", s.tape.lanes, to_string(s.tape.extents), s.tape.cost, s.tape.setup.size(), s.tape.body.size());
    if (details) out += describe(s.tape, indent + 2);
    describe_steps(out, s.body, schedule, details, indent + 2);
  }
}

}  // namespace
}  // namespace block

struct Plan::State {
  const core::Program& program;
  mutable block::Options options;
  std::vector<std::optional<std::int64_t>> sizes;
  std::optional<block::Schedule> schedule;  // empty: the extents of inputs decide
  bool scalar = false;
  std::int64_t work = 0;  // of the schedule
};

bool runs_by_elements(const core::Program& program) {
  const auto is_wide = [](const auto& x) { return x.type == ElementType::String || is_complex(x.type); };
  return std::any_of(program.terms.begin(), program.terms.end(), is_wide) || std::any_of(program.tensors.begin(), program.tensors.end(), is_wide);
}

Result<Plan> Plan::make(const core::Program& program, const block::Options& options) {
  auto state = std::make_shared<State>(State{program, options, std::vector<std::optional<std::int64_t>>(program.sizes.size()), std::nullopt, runs_by_elements(program)});
  if (state->scalar) {
    Plan result;
    result.state_ = std::move(state);
    return result;
  }
  std::vector<std::optional<Extents>> available(program.tensors.size());
  bool known = true;
  for (core::TensorId t : program.inputs) {
    if (t == core::None) continue;
    Extents extents;
    for (core::TermId e : program.tensor(t).extents) {
      const auto v = program.integer_constant(e);
      known = known && v.has_value();
      extents.push_back(v.value_or(0));
    }
    available[t] = std::move(extents);
  }
  for (const core::SizeInfo& s : program.sizes) known = known && s.defined_by != core::None;
  Plan result;
  if (known) {
    try {
      state->work = work_of(program, state->sizes);
      state->schedule = block::plan(program, state->sizes, available, state->options);
    } catch (const block::Stop& stop) {
      // What is not available is said when it runs: inputs that must be refused are refused first.
      if (stop.diagnostic.kind != ErrorKind::Unsupported) return stop.diagnostic;
    }
  }
  result.state_ = std::move(state);
  return result;
}

namespace {

using Outputs = std::vector<std::optional<Tensor>>;

Result<Outputs> run_all(const core::Program& p, block::Options& options, const std::optional<block::Schedule>& first, std::int64_t work,
                        std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined) {
  block::Binding binding{p, std::vector<std::optional<std::int64_t>>(p.sizes.size())};
  binding.bind(inputs);
  const auto look_at = [&](std::int64_t work) {
    if (auto much = too_much_work(p, work, limits)) throw block::Stop{std::move(*much)};
  };
  if (first) look_at(work);
  block::Runner runner(p, options, limits);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (p.inputs[k] != core::None) runner.cells[p.inputs[k]].tensor = inputs[k];
  const block::Schedule* schedule = first ? &*first : nullptr;
  block::Schedule later;
  bool checked = false;
  for (;;) {
    if (schedule == nullptr) {
      std::vector<std::optional<Extents>> available(p.tensors.size());
      for (std::size_t t = 0; t < available.size(); ++t)
        if (runner.cells[t].tensor) available[t] = runner.cells[t].tensor->extents();
      look_at(work_of(p, binding.sizes));
      later = block::plan(p, binding.sizes, available, options, checked);
      schedule = &later;
    }
    runner.run(*schedule, [&](const block::Check& c, bool holds) {
      if (c.kind == block::CheckKind::Path && !holds) {
        Diagnostic d = block::of_condition(p, *c.condition, ErrorKind::Input);
        d.message = "these inputs are not those the program was elaborated for: " + d.message;
        throw block::Stop{std::move(d)};
      }
      if (c.kind == block::CheckKind::Requirement && !holds) throw block::Stop{block::of_condition(p, *c.condition, ErrorKind::Requirement)};
      if (c.kind == block::CheckKind::Undefined && holds) {
        Diagnostic d = block::of_condition(p, *c.condition, ErrorKind::Undefined);
        if (undefined == nullptr) throw block::Stop{std::move(d)};
        if (!*undefined) *undefined = std::move(d);
      }
    });
    if (schedule->complete) break;
    checked = schedule->checked;
    for (std::size_t s = 0; s < p.sizes.size(); ++s) {
      const core::TensorId t = p.sizes[s].defined_by;
      if (t == core::None || binding.sizes[s] || !runner.cells[t].tensor) continue;
      const Tensor& measured = *runner.cells[t].tensor;
      if (p.tensor(t).kind == core::TensorKind::Where) {
        binding.sizes[s] = measured.extents()[0];
      } else {
        const block::Cell& cell = runner.cells[t];
        if (cell.poison && (*cell.poison)[0] != 0) runner.stop_poison(cell, (*cell.poison)[0], "for a size");
        binding.sizes[s] = static_cast<std::int64_t>(measured.at(0));
      }
    }
    schedule = nullptr;
  }
  Outputs out;
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    if (p.outputs[k] == core::None) {
      out.emplace_back();
      continue;
    }
    const block::Cell& cell = runner.cells[p.outputs[k]];
    if (cell.poison) {
      const auto bad = std::find_if(cell.poison->begin(), cell.poison->end(), [](std::uint8_t m) { return m != 0; });
      if (bad != cell.poison->end()) runner.stop_poison(cell, *bad, fmt::format("for element {} of output \"{}\"", bad - cell.poison->begin(), k < p.output_names.size() ? p.output_names[k] : ""), k, bad - cell.poison->begin());
    }
    out.push_back(cell.tensor);
  }
  return out;
}

// The violated requirement, if there is one, of a program whose outputs cannot be evaluated.
std::optional<Diagnostic> violated_requirement(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits) {
  if (program.outputs.empty()) return std::nullopt;
  core::Program conditions = program;
  conditions.outputs.clear();
  conditions.output_names.clear();
  conditions.undefined.clear();
  const auto out = evaluate(conditions, inputs, limits);
  if (out || out.error().kind != ErrorKind::Requirement) return std::nullopt;
  return out.error();
}

// The scalar evaluator names the index and the extent, or the number. In a second or not at all: the answer is an error as it is.
std::optional<Diagnostic> explained(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const block::Stop& stop, const Limits& limits) {
  Limits short_of_time = limits;
  short_of_time.deadline = std::min(limits.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(1));
  if (stop.position >= 0) return explain_element(program, inputs, stop.output, stop.position, short_of_time);
  const auto out = evaluate_scalar(program, inputs, short_of_time);
  if (out || out.error().kind != ErrorKind::Definition) return std::nullopt;
  return out.error();
}

}  // namespace

Result<Outputs> Plan::run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined) const {
  Diagnostic failure;
  const core::Program& program = state_->program;
  if (state_->scalar) return evaluate_scalar(program, inputs, limits, undefined);
  try {
    block::Options options = state_->options;
    return run_all(program, options, state_->schedule, state_->work, inputs, limits, undefined);
  } catch (const block::Stop& stop) {
    failure = stop.diagnostic;
    if (stop.by_value && !(undefined && *undefined))
      if (auto better = explained(program, inputs, stop, limits)) failure = std::move(*better);
  } catch (const ExactTooLarge& e) {
    failure.kind = ErrorKind::Limit;
    failure.message = e.what();
  } catch (const std::bad_alloc&) {
    failure.kind = ErrorKind::Limit;
    failure.message = program.op + ": the memory of this machine does not suffice";
  }
  if (failure.kind == ErrorKind::Unsupported)
    if (auto violated = violated_requirement(program, inputs, limits)) return std::move(*violated);
  if (undefined && *undefined && failure.kind == ErrorKind::Definition) return Outputs(program.outputs.size());
  return failure;
}

std::string Plan::describe(bool details) const {
  if (state_->scalar) return "one element at a time\n";
  if (!state_->schedule) return "planned when it runs\n";
  std::string out;
  block::describe_steps(out, state_->schedule->steps, *state_->schedule, details, 0);
  return out;
}

Result<Outputs> evaluate(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits,
                         std::optional<Diagnostic>* undefined, const block::Options& options) {
  auto plan = Plan::make(program, options);
  if (!plan) return plan.error();
  return plan->run(inputs, limits, undefined);
}

}  // namespace ulpian::interp
