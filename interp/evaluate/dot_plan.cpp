// Which reductions the contraction kernel takes, and its plan.
#include <algorithm>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/dot.h"
#include "interp/evaluate/dot_kernels.h"
#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {
namespace {

struct Parts {
  NodeId a = None, b = None;
  std::vector<VariableId> only_a, only_b, both;
  NodeId filter = None;
  double a_volume = 1, b_volume = 1;
};

Parts part(const Nodes& nodes, NodeId reduce, const std::vector<VariableId>& axes) {
  Parts p;
  const auto args = nodes.arguments(reduce);
  p.a = args[args.size() - 2];
  p.b = args[args.size() - 1];
  const std::size_t binders = nodes.binders(reduce).size();
  if ((nodes[reduce].flags & core::HasFilter) != 0) p.filter = args[binders];
  for (VariableId v : axes) {
    if (nodes.variable_data(v).extent == 1) continue;
    const bool in_a = nodes.free(p.a).has(v), in_b = nodes.free(p.b).has(v);
    const auto extent = static_cast<double>(nodes.variable_data(v).extent);
    if (in_a && in_b) {
      p.both.push_back(v);
    } else if (in_a) {
      p.only_a.push_back(v);
      p.a_volume *= extent;
    } else {
      p.only_b.push_back(v);
      p.b_volume *= extent;
    }
  }
  return p;
}

// The factor whose lanes the filter, and what may lie outside, goes with: 1 for a, 2 for b, 0 if for neither.
int filtered_side(const Nodes& nodes, const Parts& p) {
  const auto touches = [&](const std::vector<VariableId>& own) {
    for (VariableId v : own)
      if (nodes.free(p.filter).has(v)) return true;
    return false;
  };
  const bool a_outside = (nodes[p.a].flags & MayPoison) != 0, b_outside = (nodes[p.b].flags & MayPoison) != 0;
  if (!touches(p.only_b) && !b_outside && !p.only_a.empty()) return 1;
  if (!touches(p.only_a) && !a_outside && !p.only_b.empty()) return 2;
  return 0;
}

}  // namespace

bool Planner::prefers_dot(NodeId reduce, const Scope& axes) {
  const Node& n = nodes_[reduce];
  if (!options_.fast_dot || static_cast<core::ReduceKind>(n.operation) != core::ReduceKind::Dot) return false;
  if ((n.flags & Compact) != 0 || (n.flags & core::HasInitial) != 0) return false;
  const DotKernels table = dot_kernels(n.type, options_.instructions);
  if (table.tile == nullptr) return false;
  const bool filter = (n.flags & core::HasFilter) != 0;
  if (!filter && (n.flags & MayPoison) != 0) return false;
  if (filter && table.masked == nullptr) return false;
  double k = 1;
  for (VariableId v : nodes_.binders(reduce)) k *= static_cast<double>(nodes_.variable_data(v).extent);
  const Parts p = part(nodes_, reduce, axes);
  for (VariableId v : axes)
    if (nodes_.variable_data(v).extent == 0) return false;
  if (filter) return k <= static_cast<double>(options_.dot_block) && filtered_side(nodes_, p) != 0 && std::min(p.a_volume, p.b_volume) >= 1;
  const double most = std::max(p.a_volume, p.b_volume), least = std::min(p.a_volume, p.b_volume);
  if (k < 1 || most < 8) return false;
  if (contraction(reduce, axes).plan.direct) return true;
  // Nothing is packed for one use, where a plain loop over the positions reads as well: a depthwise convolution.
  if (least == 1 && !p.both.empty()) {
    const bool a_has_lanes = p.a_volume > p.b_volume;
    const Scope binders(nodes_.binders(reduce).begin(), nodes_.binders(reduce).end());
    return reads_along(a_has_lanes ? p.a : p.b, binders, a_has_lanes ? p.only_a : p.only_b);
  }
  return true;
}

// An axis whose index is cut into digits (m div 8, m mod 8) becomes one axis per digit: the groups of a convolution are then a batch.
void Planner::split_axes(NodeId& reduce, Scope& axes) {
  for (int round = 0; round < 4; ++round) {
    VariableId variable = None;
    std::int64_t low = 0;
    std::vector<NodeId> stack{reduce}, seen;
    while (!stack.empty() && variable == None && seen.size() < 300) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (std::ranges::find(seen, id) != seen.end()) continue;
      seen.push_back(id);
      const Node& n = nodes_[id];
      const auto args = nodes_.arguments(id);
      stack.insert(stack.end(), args.begin(), args.end());
      const auto p = static_cast<Primitive>(n.operation);
      if (n.kind != NodeKind::Primitive || n.type != ElementType::Z || (p != Primitive::FloorDivide && p != Primitive::Modulo)) continue;
      const auto c = nodes_.integer_of(args[1]);
      if (!c || *c <= 1 || nodes_[args[0]].kind != NodeKind::Variable) continue;
      const auto v = static_cast<VariableId>(nodes_[args[0]].data);
      if (std::ranges::find(axes, v) == axes.end() || nodes_.variable_data(v).extent % *c != 0) continue;
      variable = v;
      low = *c;
    }
    if (variable == None || nodes_.full()) return;
    const VariableId quotient = nodes_.fresh(ElementType::Z, nodes_.variable_data(variable).extent / low), rest = nodes_.fresh(ElementType::Z, low);
    std::vector<NodeId> replacement(MaxVariables, None);
    const auto part = [&](VariableId v, std::int64_t coefficient) {
      LinearForm f = nodes_.form_of(nodes_.variable(v));
      f.constant *= coefficient;
      for (auto& x : f.parts) x.coefficient *= coefficient;
      return f;
    };
    LinearForm whole = part(quotient, low), ones = part(rest, 1);
    whole.constant += ones.constant;
    whole.parts.insert(whole.parts.end(), ones.parts.begin(), ones.parts.end());
    replacement[variable] = nodes_.linear(std::move(whole));
    reduce = nodes_.substitute(reduce, replacement);
    const auto at = std::ranges::find(axes, variable);
    *at = rest;
    axes.insert(at, quotient);
    if (nodes_[reduce].kind != NodeKind::Reduce) return;
  }
}

// Which variables the rows, the lanes and the batch of a contraction are, and whether it goes without packing.
Planner::Contraction Planner::contraction(NodeId reduce, const Scope& axes) const {
  const Node n = nodes_[reduce];
  const Parts p = part(nodes_, reduce, axes);
  // Lanes run along the variables that are innermost in the output, unless there are only a few of them.
  VariableId last = None;
  for (VariableId v : axes)
    if (nodes_.variable_data(v).extent != 1 && std::ranges::find(p.both, v) == p.both.end()) last = v;
  const bool a_is_last = std::ranges::find(p.only_a, last) != p.only_a.end();
  const double inner = a_is_last ? p.a_volume : p.b_volume, other = a_is_last ? p.b_volume : p.a_volume;
  bool lanes_of_a = a_is_last == (inner >= 16 || inner >= other);
  if (p.filter != None) lanes_of_a = filtered_side(nodes_, p) == 1;
  Contraction c{{}, lanes_of_a ? p.b : p.a, lanes_of_a ? p.a : p.b, p.filter};
  DotPlan& plan = c.plan;
  plan.type = n.type;
  const auto binders = nodes_.binders(reduce);
  for (VariableId v : binders) plan.positions *= nodes_.variable_data(v).extent;
  std::int64_t stride = 1;
  std::vector<DotAxis> strides(axes.size());
  for (std::size_t k = axes.size(); k-- > 0;) {
    strides[k] = {axes[k], nodes_.variable_data(axes[k]).extent, stride};
    stride *= nodes_.variable_data(axes[k]).extent;
  }
  const auto pick = [&](const Scope& chosen, std::vector<DotAxis>& to, std::int64_t& count) {
    for (const DotAxis& a : strides)
      if (std::ranges::find(chosen, a.variable) != chosen.end()) {
        to.push_back(a);
        count *= a.extent;
      }
  };
  pick(p.both, plan.batch_axes, plan.batch);
  pick(lanes_of_a ? p.only_b : p.only_a, plan.row_axes, plan.rows);
  pick(lanes_of_a ? p.only_a : p.only_b, plan.lane_axes, plan.lanes);
  if (c.filter == None) plan.direct = direct_dot(plan, c.row, c.lane, binders);
  return c;
}

bool Planner::dot(BufferId out, NodeId reduce, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset) {
  const Node n = nodes_[reduce];
  Contraction c = contraction(reduce, axes);
  auto plan = std::make_shared<DotPlan>(std::move(c.plan));
  const std::vector<VariableId> binders(nodes_.binders(reduce).begin(), nodes_.binders(reduce).end());
  Step step;
  step.kind = StepKind::Dot;
  step.out = out;
  step.place = n.place;
  step.offset = offset;
  if (plan->direct) step.reads = {plan->row_read.buffer, plan->lane_read.buffer};
  const auto factor = [&](DotFactor& f, NodeId node, const std::vector<DotAxis>& own, NodeId filter) {
    f.invariant = !varies(node) && (filter == None || !varies(filter));
    for (const DotAxis& a : plan->batch_axes)
      f.in_batch = f.in_batch || nodes_.free(node).has(a.variable) || (filter != None && nodes_.free(filter).has(a.variable));
    Scope scope, own_scope;
    for (const DotAxis& a : own) own_scope.push_back(a.variable);
    // The innermost step of the factor's reads says in which order they are best made.
    f.by_lanes = !reads_along(node, binders, own_scope);
    for (VariableId v : f.by_lanes ? binders : own_scope) scope.push_back(v);
    const std::size_t first = lane_axes(scope).size();
    for (VariableId v : f.by_lanes ? own_scope : binders) scope.push_back(v);
    Scope around = scope;
    for (const DotAxis& a : plan->batch_axes) around.push_back(a.variable);
    const NodeId root = rewrite(node, around);
    TapeRequest request;
    request.roots = {root};
    if (filter != None) request.roots.push_back(rewrite(filter, around));
    request.axes = lane_axes(scope);
    request.no_collapse_at = first;
    request.context = around_.context;
    for (const DotAxis& a : plan->batch_axes) request.context.push_back(a.variable);
    f.tape = compile(nodes_, request, options_.instructions);
    f.split = f.tape.split;
    for (const ReadPlan& r : f.tape.reads)
      if (std::ranges::find(step.reads, r.buffer) == step.reads.end()) step.reads.push_back(r.buffer);
    return f.tape.roots[0].poison == NoRegister;
  };
  if (!plan->direct) {
    if (!factor(plan->row, c.row, plan->row_axes, None)) return false;
    const bool clean = factor(plan->lane, c.lane, plan->lane_axes, c.filter);
    plan->masked = c.filter != None;
    if (!plan->masked && !clean) return false;
  }
  if (plan->masked) {
    // Which lanes of what lies outside count is known when they are packed.
    for (const Root& r : plan->lane.tape.roots)
      if (r.poison != NoRegister) nodes_.buffer(out).poison = true;
  }
  step.rows = plan->batch * plan->rows * plan->lanes;
  step.columns = plan->positions;
  step.dot = std::move(plan);
  add(std::move(step), true);
  return true;
}

// Whether the reads below step least along the innermost of `these` variables rather than of `those`.
bool Planner::reads_along(NodeId root, const Scope& these, const Scope& those) {
  const auto innermost = [&](const Scope& scope) {
    VariableId inner = None;
    for (VariableId v : scope)
      if (nodes_.variable_data(v).extent != 1) inner = v;
    return inner == None ? None : nodes_.variable(inner);
  };
  const NodeId x = innermost(these), y = innermost(those);
  if (x == None || y == None) return y == None;
  int along = 0;
  std::vector<NodeId> stack{root}, seen;
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
    std::int64_t stride = 1, by_x = 0, by_y = 0;
    for (std::size_t k = extents.size(); k-- > 0;) {
      for (const auto& part : nodes_.form_of(a[k]).parts) {
        if (part.atom == x) by_x += stride * part.coefficient;
        if (part.atom == y) by_y += stride * part.coefficient;
      }
      stride *= std::max<std::int64_t>(1, extents[k]);
    }
    if (by_x == by_y) continue;
    along += by_y == 0 || (by_x != 0 && std::abs(by_x) < std::abs(by_y)) ? 1 : -1;
  }
  return along > 0;
}

}  // namespace ulpian::interp::block
