// Terms to steps: what is hoisted, which form a reduction takes.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {

using core::ReduceKind;

double Planner::volume(const Scope& scope) const {
  double v = 1;
  for (VariableId x : scope) v *= static_cast<double>(nodes_.variable_data(x).extent);
  return v;
}

std::vector<LaneAxis> Planner::lane_axes(const Scope& scope) const {
  std::vector<LaneAxis> axes;
  for (VariableId v : scope)
    if (nodes_.variable_data(v).extent != 1) axes.push_back({v, nodes_.variable_data(v).extent});
  return axes;
}

Tape Planner::tape_of(std::vector<NodeId> roots, const Scope& axes, std::size_t no_collapse_at) {
  TapeRequest request;
  request.roots = std::move(roots);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (k == no_collapse_at) request.no_collapse_at = request.axes.size();
    if (nodes_.variable_data(axes[k]).extent != 1) request.axes.push_back({axes[k], nodes_.variable_data(axes[k]).extent});
  }
  request.context = around_.context;
  Tape tape = compile(nodes_, request, options_.instructions);
  tape.dot_block = options_.dot_block;
  return tape;
}

// Appends the step, to the recurrence's if it varies there; notes what it reads and what its result may hold.
void Planner::add(Step step, bool inside) {
  for (const ReadPlan& p : step.tape.reads)
    if (std::ranges::find(step.reads, p.buffer) == step.reads.end()) step.reads.push_back(p.buffer);
  if (step.source != None) step.reads.push_back(step.source);
  for (const Root& r : step.tape.roots)
    if (r.poison != NoRegister) nodes_.buffer(step.out).poison = true;
  (inside && around_.steps != nullptr ? *around_.steps : out_.steps).push_back(std::move(step));
}

bool Planner::varies(NodeId id) const {
  return around_.steps != nullptr && ((nodes_[id].flags & ReadsMember) != 0 || nodes_.free(id).meets(around_.variables));
}

// Fills a tensor with the values of `root` over `axes`, by whatever steps it takes.
void Planner::fill(BufferId out, NodeId root, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset, std::uint32_t place) {
  if (nodes_[root].kind == NodeKind::Reduce) {
    bool all = true;
    for (VariableId v : axes) all = all && (nodes_.variable_data(v).extent == 1 || nodes_.free(root).has(v));
    if (all) {
      if (static_cast<ReduceKind>(nodes_[root].operation) == ReduceKind::Dot && options_.fast_dot) {
        NodeId split = root;
        Scope parts = axes;
        split_axes(split, parts);
        if (nodes_[split].kind == NodeKind::Reduce && prefers_dot(split, parts) && dot(out, split, parts, offset)) return;
      }
      if (((nodes_[root].flags & Compact) != 0 || prefers_rows(root, axes)) && rows(out, root, axes, offset)) return;
      if ((nodes_[root].flags & Compact) != 0) stop(ErrorKind::Unsupported, "a reduction of real numbers whose extents depend on each other", nodes_[root].place);
      map(out, rewrite_arguments(root, axes), axes, offset, place);
      return;
    }
  }
  map(out, rewrite(root, axes), axes, offset, place);
}

void Planner::map(BufferId out, NodeId root, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset, std::uint32_t place) {
  if (map_parts(out, root, axes, offset, place)) return;
  Step step;
  step.kind = StepKind::Map;
  step.out = out;
  step.place = place;
  step.offset = offset;
  step.tape = tape_of({root}, axes);
  const Tape& t = step.tape;
  // One read of everything in order is the tensor itself.
  if (around_.steps == nullptr && t.reads.size() == 1 && t.setup.empty() && t.body.size() == 1 && t.body[0].code == Code::Read) {
    const ReadPlan& p = t.reads[0];
    const BufferShape& from = nodes_.buffer(p.buffer);
    const bool whole = p.checks == 0 && p.position.constant == 0 && p.position.uniforms == 0 && p.position.scalars == 0 && p.position.vectors == 0 &&
                       element_count(from.extents) == std::optional(t.lanes) && from.type == nodes_.buffer(out).type;
    const bool in_order = t.extents.empty() || (t.extents.size() == 1 && p.position.lanes == 1 && t.form_terms[p.position.first].coefficient == 1);
    if (whole && in_order) {
      step.kind = StepKind::Alias;
      step.source = p.buffer;
    }
  }
  add(std::move(step), true);
}

// --- what is evaluated on its own

NodeId Planner::rewrite_arguments(NodeId id, const Scope& scope) {
  Scope inner = scope;
  if (nodes_[id].binders != None)
    for (VariableId v : nodes_.binders(id))  // what has one value counts for nothing: nests of dot(k < 1) keep one scope
      if (nodes_.variable_data(v).extent != 1 || nodes_.variable_data(v).type != ElementType::Z) inner.push_back(v);
  const std::vector<NodeId> old(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  std::vector<NodeId> args;
  args.reserve(old.size());
  bool same = true;
  for (NodeId a : old) {
    args.push_back(rewrite(a, inner));
    same = same && args.back() == a;
  }
  return same ? id : nodes_.with_arguments(id, args);
}

// The term with everything taken out that is better evaluated once for each value of its own variables.
NodeId Planner::rewrite(NodeId id, const Scope& scope) {
  const Node n = nodes_[id];
  if ((n.flags & (HasBinder | Expensive)) == 0) return id;
  if (n.kind == NodeKind::Constant || n.kind == NodeKind::Variable) return id;
  // A term may be an argument of many: each is looked at once.
  Rewritten local;
  const bool outermost = rewritten_ == nullptr;
  if (outermost) rewritten_ = &local;
  const auto [known, is_new] = rewritten_->try_emplace({id, scope}, None);
  if (is_new) known->second = rewrite_anew(id, n, scope);
  const NodeId result = known->second;
  if (outermost) rewritten_ = nullptr;
  return result;
}

NodeId Planner::rewrite_anew(NodeId id, const Node& n, const Scope& scope) {
  if (n.kind == NodeKind::Nth) return extract_order(id);
  Scope own;
  bool fold_inside = false;
  for (VariableId v : scope) {
    if (nodes_.variable_data(v).type != ElementType::Z) fold_inside = fold_inside || nodes_.free(id).has(v);
    else if (nodes_.free(id).has(v)) own.push_back(v);
  }
  const double whole = volume(scope), part = volume(own);
  if (n.kind == NodeKind::Reduce && !fold_inside) {
    // At the outermost level a reduction may take a better form by itself.
    const bool outermost = std::ranges::none_of(scope, [&](VariableId v) { return nodes_.variable_data(v).extent < 0; }) && part >= whole;
    const bool compact = (n.flags & Compact) != 0;
    if (part < whole || compact || (outermost && part < 16777216 && (prefers_dot(id, own) || prefers_rows(id, own)))) return extract(id);
  }
  if (n.kind == NodeKind::Fold && !fold_inside && part < whole) return extract(id);
  const bool computes = n.kind == NodeKind::Primitive || n.kind == NodeKind::Cast;
  if (computes && (n.flags & Expensive) != 0 && !fold_inside && part * 4 <= whole && whole >= 64) {
    bool itself = false;
    if (n.kind == NodeKind::Primitive) {
      itself = row_of(static_cast<Primitive>(n.operation)).kind == PrimitiveKind::Elementary;
      // A square root is cheap beside a step of its own, unless it saves many.
      itself = itself || (static_cast<Primitive>(n.operation) == Primitive::SquareRoot && part * 32 <= whole && whole - part >= 2048);
    }
    itself = itself || n.type == ElementType::R || (nodes_.arguments(id).size() > 0 && nodes_[nodes_.arguments(id)[0]].type == ElementType::R);
    if (itself) return extract(id);
  }
  return rewrite_arguments(id, scope);
}

// Stores the term's values over its own variables; the term becomes a read.
NodeId Planner::extract(NodeId id) {
  const Apart apart(*this);
  const bool inside = varies(id);
  auto& known = inside ? around_.extracted : extracted_;
  for (const auto& [from, to] : known)
    if (from == id) return to;
  Scope own;
  for (VariableId v = 0; v < MaxVariables; ++v)
    if (nodes_.free(id).has(v) && !around_.variables.has(v)) own.push_back(v);
  Extents extents;
  std::vector<NodeId> index;
  for (VariableId v : own) {
    extents.push_back(nodes_.variable_data(v).extent);
    index.push_back(nodes_.variable(v));
  }
  const std::uint32_t place = nodes_[id].place;
  const auto count = element_count(extents);
  if (!count || *count > (std::int64_t{1} << 40)) stop(ErrorKind::Limit, fmt::format("an intermediate tensor of extents {} is too large", to_string(extents)), place);
  const BufferId b = nodes_.add_buffer({nodes_[id].type, extents, false, inside});
  if (inside) {
    fill(b, id, own, {}, place);
  } else {
    // Outside of the recurrence its variables do not occur.
    Surroundings outer = std::exchange(around_, {});
    fill(b, id, own, {}, place);
    around_ = std::move(outer);
  }
  const Range r = nodes_.range(id);
  const NodeId read = nodes_.read(b, index, place);
  if (nodes_[id].type == ElementType::Z) nodes_.set_range(read, r);
  (inside ? around_.extracted : extracted_).emplace_back(id, read);
  return read;
}

// nth: the order of all places at once, per row of what the keys depend on.
NodeId Planner::extract_order(NodeId id) {
  const Apart apart(*this);
  const Node n = nodes_[id];
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  const VariableId j = nodes_.binders(id)[0];
  VariableSet free = nodes_.free(args[0]);
  for (std::size_t k = 2; k < args.size(); ++k) free |= nodes_.free(args[k]);
  bool inside = false;
  for (std::size_t k = 0; k < args.size(); ++k)
    if (k != 1) inside = inside || varies(args[k]);
  Scope rows;
  for (VariableId v = 0; v < MaxVariables; ++v)
    if (free.has(v) && v != j && !around_.variables.has(v)) rows.push_back(v);
  // The same order for every place: found again by its keys.
  std::vector<NodeId> key_args{args[0]};
  key_args.insert(key_args.end(), args.begin() + 2, args.end());
  Node key{.kind = NodeKind::Nth, .type = ElementType::Z, .flags = n.flags, .binders = n.binders, .place = n.place};
  const NodeId name = nodes_.make(key, key_args);
  auto& known = inside ? around_.extracted : extracted_;
  BufferId b = None;
  for (const auto& [from, to] : known)
    if (from == name) b = static_cast<BufferId>(nodes_[to].data);
  if (b == None) {
    Extents extents;
    std::vector<NodeId> index;
    for (VariableId v : rows) {
      extents.push_back(nodes_.variable_data(v).extent);
      index.push_back(nodes_.variable(v));
    }
    extents.push_back(nodes_.variable_data(j).extent);
    index.push_back(nodes_.integer(0));
    b = nodes_.add_buffer({ElementType::Z, extents, false, inside});
    Step step;
    step.kind = StepKind::Sort;
    step.out = b;
    step.place = n.place;
    step.columns = extents.back();
    step.rows = 1;
    for (std::size_t k = 0; k + 1 < extents.size(); ++k) step.rows *= extents[k];
    step.descending = (n.flags & core::Descending) != 0;
    Surroundings outer;
    if (!inside) outer = std::exchange(around_, {});
    Scope axes = rows;
    axes.push_back(j);
    std::vector<NodeId> roots;
    for (std::size_t k = 2; k < args.size(); ++k) roots.push_back(rewrite(args[k], axes));
    if (!nodes_.integer_of(args[0])) {
      const NodeId below[2] = {nodes_.variable(j), args[0]};
      roots.push_back(rewrite(nodes_.primitive(Primitive::Less, ElementType::Bool, below, n.place), axes));
      step.compact = true;
    }
    step.tape = tape_of(roots, axes);
    add(std::move(step), inside);
    if (!inside) around_ = std::move(outer);
    (inside ? around_.extracted : extracted_).emplace_back(name, nodes_.make({.kind = NodeKind::Read, .type = ElementType::Z, .place = n.place, .data = b}, index));
  }
  std::vector<NodeId> index;
  for (VariableId v : rows) index.push_back(nodes_.variable(v));
  Scope all;
  for (VariableId v = 0; v < MaxVariables; ++v)
    if (nodes_.free(args[1]).has(v)) all.push_back(v);
  index.push_back(rewrite(args[1], all));
  const NodeId value = nodes_.read(b, index, n.place);
  nodes_.set_range(value, nodes_.range(id));
  if (nodes_.integer_of(args[0])) return value;
  // Beyond a varying extent there is nothing.
  const NodeId below[2] = {args[1], args[0]};
  const NodeId inside_rows = rewrite(nodes_.primitive(Primitive::Less, ElementType::Bool, below, n.place), all);
  return nodes_.select(inside_rows, value, nodes_.poison(ElementType::Z, n.place), n.place);
}

// --- reductions across lanes

bool Planner::prefers_rows(NodeId reduce, const Scope& axes) {
  if (!options_.rows) return false;
  const Node n = nodes_[reduce];
  const auto kind = static_cast<ReduceKind>(n.operation);
  const std::vector<NodeId> args(nodes_.arguments(reduce).begin(), nodes_.arguments(reduce).end());
  if (n.type == ElementType::R) return false;
  const auto binders = nodes_.binders(reduce);
  double leaves = 1;
  for (VariableId v : binders) leaves *= static_cast<double>(nodes_.variable_data(v).extent);
  const double outs = volume(axes);
  if (leaves < 8) return false;
  if (outs < 64) return leaves >= 2 * outs || leaves >= 64;
  VariableId inner = None, outer = None;
  for (VariableId v : binders)
    if (nodes_.variable_data(v).extent != 1) inner = v;
  for (VariableId v : axes)
    if (nodes_.variable_data(v).extent != 1) outer = v;
  if (inner == None || outer == None) return false;
  // Steps of the reads along the innermost variable of each.
  int along = 0, across = 0;
  std::vector<NodeId> stack(args.begin(), args.end()), seen;
  while (!stack.empty() && seen.size() < 200) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (std::ranges::find(seen, id) != seen.end()) continue;
    seen.push_back(id);
    const Node& m = nodes_[id];
    const auto a = nodes_.arguments(id);
    stack.insert(stack.end(), a.begin(), a.end());
    if (m.kind != NodeKind::Read && m.kind != NodeKind::ReadElse) continue;
    const Extents& extents = nodes_.buffer(static_cast<BufferId>(m.data)).extents;
    std::int64_t stride = 1, by_inner = 0, by_outer = 0;
    bool scattered = false;  // an index hangs on the outer variable, but not linearly
    for (std::size_t k = extents.size(); k-- > 0;) {
      for (const auto& p : nodes_.form_of(a[k]).parts) {
        if (p.atom == nodes_.variable(inner)) by_inner += stride * p.coefficient;
        if (p.atom == nodes_.variable(outer)) by_outer += stride * p.coefficient;
        else scattered = scattered || nodes_.free(p.atom).has(outer);
      }
      stride *= std::max<std::int64_t>(1, extents[k]);
    }
    if (by_inner == 0) continue;
    if (std::abs(by_inner) == 1) ++along;
    else if (std::abs(by_outer) <= 4 && !scattered) ++across;
  }
  if (kind == ReduceKind::Dot) return along > 0 && across == 0 && leaves >= 64;
  return along > across;
}

bool Planner::rows(BufferId out, NodeId reduce, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset) {
  const Node n = nodes_[reduce];
  if (n.type == ElementType::R) return false;
  Step step;
  step.kind = StepKind::Rows;
  step.out = out;
  step.place = n.place;
  step.offset = offset;
  step.reduce = static_cast<ReduceKind>(n.operation);
  Scope all = axes;
  const std::vector<VariableId> binders(nodes_.binders(reduce).begin(), nodes_.binders(reduce).end());
  for (VariableId v : binders) {
    all.push_back(v);
    step.columns *= nodes_.variable_data(v).extent;
  }
  for (VariableId v : axes) step.rows *= nodes_.variable_data(v).extent;
  const std::vector<NodeId> args(nodes_.arguments(reduce).begin() + static_cast<std::ptrdiff_t>(binders.size()), nodes_.arguments(reduce).end());
  // Roots: valid if compact, filter, initial, bodies.
  std::vector<NodeId> roots;
  for (NodeId a : args) roots.push_back(rewrite(a, all));
  step.compact = (n.flags & Compact) != 0;
  step.has_filter = (n.flags & core::HasFilter) != 0;
  step.has_initial = (n.flags & core::HasInitial) != 0;
  if (roots.empty()) roots.push_back(nodes_.boolean(true));
  step.body_type = nodes_[roots.back()].type;
  step.tape = tape_of(roots, all);
  add(std::move(step), true);
  return true;
}

}  // namespace ulpian::interp::block
