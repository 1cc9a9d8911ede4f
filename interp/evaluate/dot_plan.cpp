// Which reductions the contraction kernel takes, and its plan.
#include <algorithm>

#include "interp/evaluate/dot.h"
#include "interp/evaluate/dot_kernels.h"
#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {
namespace {

struct Parts {
  NodeId a = None, b = None;
  std::vector<VariableId> only_a, only_b, both;
  double a_volume = 1, b_volume = 1;
};

Parts part(const Nodes& nodes, NodeId reduce, const std::vector<VariableId>& axes) {
  Parts p;
  const auto args = nodes.arguments(reduce);
  p.a = args[args.size() - 2];
  p.b = args[args.size() - 1];
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

}  // namespace

bool Planner::prefers_dot(NodeId reduce, const Scope& axes) {
  const Node& n = nodes_[reduce];
  if (!options_.fast_dot || static_cast<core::ReduceKind>(n.operation) != core::ReduceKind::Dot) return false;
  if ((n.flags & (Compact | MayPoison)) != 0 || (n.flags & (core::HasFilter | core::HasInitial)) != 0) return false;
  if (dot_kernels(n.type, options_.instructions).tile == nullptr) return false;
  double k = 1;
  for (VariableId v : nodes_.binders(reduce)) k *= static_cast<double>(nodes_.variable_data(v).extent);
  const Parts p = part(nodes_, reduce, axes);
  for (VariableId v : axes)
    if (nodes_.variable_data(v).extent == 0) return false;
  const double most = std::max(p.a_volume, p.b_volume), least = std::min(p.a_volume, p.b_volume);
  if (k < 1 || most < 8) return false;
  // Nothing is packed for one use, where a plain loop over the positions reads as well: a depthwise convolution.
  if (least == 1 && !p.both.empty()) {
    const bool a_has_lanes = p.a_volume > p.b_volume;
    const Scope binders(nodes_.binders(reduce).begin(), nodes_.binders(reduce).end());
    return reads_along(a_has_lanes ? p.a : p.b, binders, a_has_lanes ? p.only_a : p.only_b);
  }
  return true;
}

bool Planner::dot(BufferId out, NodeId reduce, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset) {
  const Node n = nodes_[reduce];
  Parts p = part(nodes_, reduce, axes);
  // Lanes run along the variables that are innermost in the output, unless there are only a few of them.
  VariableId last = None;
  for (VariableId v : axes)
    if (nodes_.variable_data(v).extent != 1 && std::ranges::find(p.both, v) == p.both.end()) last = v;
  const bool a_is_last = std::ranges::find(p.only_a, last) != p.only_a.end();
  const double inner = a_is_last ? p.a_volume : p.b_volume, other = a_is_last ? p.b_volume : p.a_volume;
  const bool lanes_of_a = a_is_last == (inner >= 16 || inner >= other);
  auto plan = std::make_shared<DotPlan>();
  plan->type = n.type;
  const std::vector<VariableId> binders(nodes_.binders(reduce).begin(), nodes_.binders(reduce).end());
  for (VariableId v : binders) plan->positions *= nodes_.variable_data(v).extent;
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
  pick(p.both, plan->batch_axes, plan->batch);
  pick(lanes_of_a ? p.only_b : p.only_a, plan->row_axes, plan->rows);
  pick(lanes_of_a ? p.only_a : p.only_b, plan->lane_axes, plan->lanes);
  Step step;
  step.kind = StepKind::Dot;
  step.out = out;
  step.place = n.place;
  step.offset = offset;
  const auto factor = [&](DotFactor& f, NodeId node, const std::vector<DotAxis>& own) {
    f.invariant = !varies(node);
    for (const DotAxis& a : plan->batch_axes) f.in_batch = f.in_batch || nodes_.free(node).has(a.variable);
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
  if (!factor(plan->row, lanes_of_a ? p.b : p.a, plan->row_axes) || !factor(plan->lane, lanes_of_a ? p.a : p.b, plan->lane_axes)) return false;
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
