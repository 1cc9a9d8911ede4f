// Tensor equations to steps.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {

using core::TensorId;
using core::TensorKind;
using core::TermId;

Schedule Planner::run(std::span<const std::optional<Extents>> available, bool checked) {
  out_.of_tensor.assign(program_.tensors.size(), None);
  for (TensorId t = 0; t < available.size(); ++t)
    if (available[t]) {
      const core::TensorNode& n = program_.tensor(t);
      tensors_[t].state = Import::State::Stored;
      tensors_[t].buffer = nodes_.add_buffer({n.type, *available[t], n.kind != TensorKind::Input && n.kind != TensorKind::Literal, false});
      out_.of_tensor[t] = tensors_[t].buffer;
      resolvable_[t] = 1;
    }
  std::vector<TermId> conditions;
  for (const auto* list : {&program_.path, &program_.requirements, &program_.undefined})
    for (const core::Condition& c : *list) conditions.push_back(c.term);
  std::vector<TensorId> outputs;
  for (TensorId t : program_.outputs)
    if (t != core::None) outputs.push_back(t);
  reach(conditions, outputs);

  // What must be measured before the rest can be planned.
  std::vector<TensorId> measured;
  for (const core::SizeInfo& s : program_.sizes) {
    const auto k = static_cast<std::size_t>(&s - program_.sizes.data());
    if (s.defined_by == core::None || sizes_[k] || !reached_[s.defined_by]) continue;
    out_.complete = false;
    if (tensors_[s.defined_by].state != Import::State::Stored && resolvable_tensor(s.defined_by)) measured.push_back(s.defined_by);
  }
  std::ranges::sort(measured);
  measured.erase(std::unique(measured.begin(), measured.end()), measured.end());
  if (!out_.complete) {
    if (measured.empty()) stop(ErrorKind::Unsupported, "a size depends on itself", 0);
    for (TensorId t : measured) {
      const BufferId b = buffer_of(t);
      if (std::ranges::find(out_.extended, b) == out_.extended.end()) out_.extended.push_back(b);
    }
  } else {
    const auto check = [&](const std::vector<core::Condition>& list, CheckKind kind) {
      for (const core::Condition& c : list) {
        const NodeId n = import(c.term);
        if (nodes_.is_constant(n) && (nodes_[n].data != 0) != (kind == CheckKind::Undefined)) continue;
        const BufferId b = nodes_.add_buffer({ElementType::Bool, {}, false, false});
        fill(b, n, {}, {}, c.place);
        out_.checks.push_back({out_.steps.size(), b, &c, kind});
        out_.extended.push_back(b);
      }
    };
    if (!checked) {
      check(program_.path, CheckKind::Path);
      check(program_.requirements, CheckKind::Requirement);
      check(program_.undefined, CheckKind::Undefined);
    }
    out_.checked = true;
    for (TensorId t : outputs) {
      // Index variables are few: of very many outputs the rest is for the next schedule.
      if (nodes_.variable_count() > MaxVariables / 2 && tensors_[t].buffer == None && !out_.extended.empty()) {
        out_.complete = false;
        break;
      }
      import_in_order(t);
      const BufferId b = buffer_of(t);
      if (std::ranges::find(out_.extended, b) == out_.extended.end()) out_.extended.push_back(b);
    }
  }
  for (TensorId t = 0; t < tensors_.size(); ++t)
    if (tensors_[t].buffer != None) out_.of_tensor[t] = tensors_[t].buffer;
  for (BufferId b = 0; b < nodes_.buffer_count(); ++b) out_.buffers.push_back(nodes_.buffer(b));
  out_.last_use.assign(out_.buffers.size(), 0);
  for (std::size_t k = 0; k < out_.steps.size(); ++k)
    for (BufferId b : out_.steps[k].reads) out_.last_use[b] = k;
  for (BufferId b : out_.extended) out_.last_use[b] = out_.steps.size();
  return std::move(out_);
}

BufferId Planner::buffer_of(TensorId id) {
  Import& t = tensors_[id];
  if (t.buffer == None) store(id);
  ensure(tensors_[id].buffer != None, program_.tensor(id).name);
  return tensors_[id].buffer;
}

// A tensor that a recurrence being planned needs, but that doesn't vary in it, is computed before it, as if nothing were around.
void Planner::store(TensorId id) {
  const core::TensorNode& n = program_.tensor(id);
  Surroundings outer = std::exchange(around_, {});
  const Scope scope = std::exchange(scope_, {});
  if (++depth_ > 2000) stop(ErrorKind::Limit, "tensors depend on each other too deeply", n.place);
  if (is_complex(n.type) && n.kind != TensorKind::Input && n.kind != TensorKind::Comprehension && n.kind != TensorKind::Literal)
    stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", n.place);
  switch (n.kind) {
    case TensorKind::Input: stop(ErrorKind::Input, fmt::format("input \"{}\" is missing", n.name), n.place);
    case TensorKind::Literal:
      tensors_[id].buffer = nodes_.add_buffer({n.type, n.literal->extents(), false, false});
      out_.literals.emplace_back(tensors_[id].buffer, id);
      break;
    case TensorKind::Comprehension: {
      const Extents extents = extents_of(id);
      if (tensors_[id].body == None) import_body(id);
      const NodeId body = tensors_[id].body;
      const BufferId b = nodes_.add_buffer({n.type, extents, false, false});
      fill(b, body, tensors_[id].axes, {}, n.place);
      tensors_[id].buffer = b;
      break;
    }
    case TensorKind::Recurrence: recurrence(n.group); break;
    case TensorKind::Where: where(id); break;
    case TensorKind::Measured: measured(id); break;
    case TensorKind::Scatter: scatter(id); break;
  }
  if (tensors_[id].state != Import::State::Inlined) tensors_[id].state = Import::State::Stored;
  around_ = std::move(outer);
  scope_ = scope;
  --depth_;
}

void Planner::recurrence(std::uint32_t group) {
  const core::Recurrence& r = program_.recurrences[group];
  Step step;
  step.kind = StepKind::Recurrence;
  step.place = program_.tensor(r.members[0]).place;
  around_.group = group;
  if (nodes_.full(r.variables.size())) stop(ErrorKind::Limit, "the program has too many index variables", step.place);
  for (std::size_t k = 0; k < r.variables.size(); ++k) {
    step.extents.push_back(extent_of(r.extents[k], "an extent of a recurrence", step.place));
    // A variable of its own even where the extent is one: its value comes from the loop.
    const VariableId v = nodes_.fresh(ElementType::Z, step.extents[k]);
    bind(r.variables[k], v);
    step.variables.push_back(v);
    around_.variables.add(v);
    around_.context.push_back(v);
  }
  for (TensorId m : r.members) {
    const core::TensorNode& n = program_.tensor(m);
    const Extents extents = extents_of(m);
    // Poison may come up in any member and be read by any: then all carry a mask.
    tensors_[m].buffer = nodes_.add_buffer({n.type, extents, options_.member_poison, true});
    tensors_[m].state = Import::State::Stored;
    step.members.push_back(tensors_[m].buffer);
  }
  around_.steps = &step.body;
  for (around_.member = 0; around_.member < r.members.size(); ++around_.member) {
    const TensorId m = r.members[around_.member];
    const core::TensorNode& n = program_.tensor(m);
    const BufferId b = tensors_[m].buffer;
    const Extents extents = nodes_.buffer(b).extents;
    scope_ = step.variables;
    Scope axes;
    for (std::size_t k = r.variables.size(); k < extents.size(); ++k) {
      axes.push_back(variable_for(n.variables[k], extents[k], n.place));
      scope_.push_back(axes.back());
    }
    std::vector<std::pair<VariableId, std::int64_t>> offset;
    std::int64_t stride = 1;
    for (std::size_t k = extents.size(); k-- > 0;) {
      if (k < r.variables.size()) offset.emplace_back(step.variables[k], stride);
      stride *= std::max<std::int64_t>(1, extents[k]);
    }
    const NodeId body = import(n.body);
    fill(b, body, axes, offset, n.place);
  }
  for (BufferId b : step.members)
    if (nodes_.buffer(b).poison && !options_.member_poison) throw MembersMayPoison{};
  for (BufferId b : step.members) nodes_.buffer(b).member = false;
  for (const Step& s : step.body) step.reads.insert(step.reads.end(), s.reads.begin(), s.reads.end());
  out_.steps.push_back(std::move(step));
}

void Planner::where(TensorId id) {
  const core::TensorNode& n = program_.tensor(id);
  Step step;
  step.kind = StepKind::Where;
  step.place = n.place;
  for (std::size_t k = 0; k < n.variables.size(); ++k) {
    step.domain.push_back(std::max<std::int64_t>(0, extent_of(n.domain[k], fmt::format("an extent of \"{}\"", n.name), n.place)));
    scope_.push_back(variable_for(n.variables[k], step.domain[k], n.place));
  }
  const NodeId body = import(n.body);
  step.source = nodes_.add_buffer({ElementType::Bool, step.domain, false, false});
  fill(step.source, body, scope_, {}, n.place);
  // The extent is only known when the step has run.
  tensors_[id].buffer = nodes_.add_buffer({n.type, {0, static_cast<std::int64_t>(n.variables.size())}, false, false});
  step.out = tensors_[id].buffer;
  step.reads = {step.source};
  out_.steps.push_back(std::move(step));
}

void Planner::measured(TensorId id) {
  const core::TensorNode& n = program_.tensor(id);
  const NodeId body = import(n.body);
  tensors_[id].buffer = nodes_.add_buffer({ElementType::Z, {}, false, false});
  fill(tensors_[id].buffer, body, {}, {}, n.place);
}

void Planner::scatter(TensorId id) {
  const core::TensorNode& n = program_.tensor(id);
  const Extents extents = extents_of(id);
  Step step;
  step.kind = StepKind::Scatter;
  step.place = n.place;
  step.mode = n.scatter.mode;
  step.source = buffer_of(n.scatter.base);
  if (nodes_.buffer(step.source).extents != extents)
    stop(ErrorKind::Definition, fmt::format("\"{}\" of extents {} is scattered into extents {}", n.name, to_string(extents), to_string(nodes_.buffer(step.source).extents)), n.place);
  NodeId keep = None;
  std::vector<std::pair<NodeId, NodeId>> partial;
  for (std::size_t k = 0; k < n.variables.size(); ++k) {
    bound_variable(n.variables[k], n.domain[k], partial);
    scope_.push_back(variables_[n.variables[k]]);
  }
  for (const auto& [v, e] : partial) {
    const NodeId below[2] = {v, e};
    const NodeId c = nodes_.primitive(Primitive::Less, ElementType::Bool, below, n.place);
    keep = keep == None ? c : nodes_.select(keep, c, nodes_.boolean(false), n.place);
  }
  std::vector<NodeId> roots;
  for (TermId i : n.scatter.index) roots.push_back(import(i));
  if (n.scatter.filter != core::None) {
    const NodeId f = import(n.scatter.filter);
    keep = keep == None ? f : nodes_.select(keep, f, nodes_.boolean(false), n.place);
  }
  step.has_filter = keep != None;
  if (keep != None) roots.push_back(keep);
  roots.push_back(import(n.body));
  for (NodeId& r : roots) r = rewrite(r, scope_);
  step.tape = tape_of(roots, scope_);
  tensors_[id].buffer = nodes_.add_buffer({n.type, extents, nodes_.buffer(step.source).poison || step.tape.roots.back().poison != NoRegister, false});
  step.out = tensors_[id].buffer;
  add(std::move(step), false);
}

}  // namespace ulpian::interp::block
