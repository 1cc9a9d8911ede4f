// Import of what has variables of its own: reductions become boxes with a filter; folds, and the places of elements in order.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {

using core::TermId;

// Binds a variable to the greatest value of its extent; where the extent varies, `partial` gets (variable, extent).
std::int64_t Planner::bound_variable(core::Variable v, TermId extent, std::vector<std::pair<NodeId, NodeId>>& partial) {
  const NodeId e = import(extent);
  const Range r = nodes_.range(e);
  if (r.high == std::numeric_limits<std::int64_t>::max())
    stop(ErrorKind::Unsupported, "the extent of a reduction has no bound: " + core::to_string(program_, extent), program_.term(extent).place);
  const std::int64_t most = std::max<std::int64_t>(0, r.high);
  variable_for(v, most, program_.term(extent).place);
  if (!nodes_.integer_of(e)) partial.emplace_back(nodes_.variable(variables_[v]), e);
  return most;
}

NodeId Planner::import_reduce(TermId id) {
  const core::Term& t = program_.term(id);
  const core::ReduceView view = program_.reduce(id);
  using core::ReduceKind;
  if (is_complex(t.type) || t.type == ElementType::String) stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", t.place);
  std::vector<NodeId> args, valid_of;
  std::vector<std::pair<NodeId, NodeId>> partial;
  std::vector<VariableId> binders;
  const NodeId initial = view.initial == core::None ? None : import(view.initial);
  NodeId valid = None;
  bool later_varies = false;
  const std::size_t depth = scope_.size();
  std::vector<VariableId> former;
  for (core::Variable v : view.variables) former.push_back(variables_[v]);
  Extents domain;
  for (std::size_t k = 0; k < view.variables.size(); ++k) {
    partial.clear();
    domain.push_back(bound_variable(view.variables[k], view.extents[k], partial));
    args.push_back(nodes_.integer(domain.back()));
    binders.push_back(variables_[view.variables[k]]);
    scope_.push_back(binders.back());
    if (partial.empty()) continue;
    later_varies = later_varies || k > 0;
    const NodeId below[2] = {partial[0].first, partial[0].second};
    const NodeId c = nodes_.primitive(Primitive::Less, ElementType::Bool, below, t.place);
    valid = valid == None ? c : nodes_.select(valid, c, nodes_.boolean(false), t.place);
  }
  const NodeId filter = view.filter == core::None ? None : import(view.filter);
  std::vector<NodeId> bodies;
  const bool converts = view.kind != ReduceKind::ArgMax && view.kind != ReduceKind::ArgMin;
  for (TermId b : view.bodies) {
    const NodeId x = import(b);
    bodies.push_back(converts ? nodes_.cast(t.type, x, CastMode::Plain, t.place) : x);
    if (nodes_[x].type == ElementType::String || is_complex(nodes_[x].type) || (!converts && nodes_[x].type == ElementType::R))
      stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", t.place);
  }
  scope_.resize(depth);
  restore(view.variables, former);
  // Positions are counted in 64 bits; no machine visits so many anyway.
  const auto positions = element_count(domain);
  if (!positions || *positions > (std::int64_t{1} << 50))
    stop(ErrorKind::Limit, fmt::format("a reduction over the index space {} is too long to evaluate", to_string(domain)), t.place);
  Node node{.kind = NodeKind::Reduce, .type = t.type, .operation = t.operation, .flags = HasBinder, .place = t.place};
  NodeId keep = filter;
  if (later_varies) {
    // Positions are counted among the valid index tuples only, so the box cannot stand for them.
    node.flags |= Compact;
    args.push_back(valid);
    if (filter != None) keep = nodes_.select(valid, filter, nodes_.boolean(false), t.place);
  } else if (valid != None) {
    keep = filter == None ? valid : nodes_.select(valid, filter, nodes_.boolean(false), t.place);
  }
  if (keep != None && nodes_.is_constant(keep) && nodes_[keep].data != 0) keep = None;
  if (keep != None) {
    node.flags |= core::HasFilter;
    args.push_back(keep);
  }
  const bool dot = view.kind == ReduceKind::Dot;
  if (initial != None && dot) {
    node.flags |= core::HasInitial;
    args.push_back(initial);
  }
  args.insert(args.end(), bodies.begin(), bodies.end());
  node.binders = nodes_.binder_list(binders);
  bool empty = false;
  for (VariableId v : binders) empty = empty || nodes_.variable_data(v).extent == 0;
  NodeId r = None;
  if (empty && dot && initial != None) return initial;
  const bool extreme = view.kind == ReduceKind::Maximum || view.kind == ReduceKind::Minimum;
  if (empty && t.type == ElementType::Z) {
    if (extreme) return initial != None ? initial : nodes_.poison(t.type, t.place);
    const NodeId none = nodes_.integer(view.kind == ReduceKind::Product ? 1 : 0);
    const NodeId pair[2] = {initial, none};
    return initial == None ? none : nodes_.primitive(view.kind == ReduceKind::Product ? Primitive::Multiply : Primitive::Add, t.type, pair, t.place);
  }
  if (empty && t.type != ElementType::R) r = nodes_.constant(t.type, neutral(view.kind, t.type));
  else r = nodes_.make(node, args);
  if (!empty || t.type == ElementType::R) nodes_.set_range(r, view.kind == ReduceKind::Count || !converts ? Range{0, std::numeric_limits<std::int64_t>::max()} : Range{});
  if (!empty && (view.kind == ReduceKind::Count || !converts)) {
    double most = 1;
    for (VariableId v : binders) most *= static_cast<double>(nodes_.variable_data(v).extent);
    if (most < 9e18) nodes_.set_range(r, {0, std::max<std::int64_t>(0, static_cast<std::int64_t>(most) - (converts ? 0 : 1))});
  }
  if (initial == None || dot) return r;
  // `from c`: combined first, with one more rounding.
  const NodeId both[2] = {initial, r};
  Primitive p = Primitive::Add;
  if (view.kind == ReduceKind::Product) p = Primitive::Multiply;
  if (view.kind == ReduceKind::Maximum) p = Primitive::Maximum;
  if (view.kind == ReduceKind::Minimum) p = Primitive::Minimum;
  if (view.kind == ReduceKind::Any) p = Primitive::Or;
  if (view.kind == ReduceKind::All) p = Primitive::And;
  return nodes_.primitive(p, t.type, both, t.place);
}

NodeId Planner::import_fold(TermId id) {
  const core::Term& t = program_.term(id);
  const core::FoldView view = program_.fold(id);
  std::vector<NodeId> args;
  std::vector<std::pair<NodeId, NodeId>> partial;
  std::vector<VariableId> binders, former;
  const NodeId initial = import(view.initial);
  const std::size_t depth = scope_.size();
  for (core::Variable v : view.variables) former.push_back(variables_[v]);
  for (std::size_t k = 0; k < view.variables.size(); ++k) {
    args.push_back(nodes_.integer(bound_variable(view.variables[k], view.extents[k], partial)));
    binders.push_back(variables_[view.variables[k]]);
    scope_.push_back(binders.back());
  }
  args.push_back(initial);
  const VariableId former_accumulator = variables_[view.accumulator];
  if (nodes_.full()) stop(ErrorKind::Limit, "the program has too many index variables", t.place);
  bind(view.accumulator, nodes_.fresh(t.type, 0));
  binders.push_back(variables_[view.accumulator]);
  NodeId body = import(view.body);
  // Index tuples beyond a varying extent leave the accumulator as it is.
  for (std::size_t k = partial.size(); k-- > 0;) {
    const NodeId below[2] = {partial[k].first, partial[k].second};
    const NodeId c = nodes_.primitive(Primitive::Less, ElementType::Bool, below, t.place);
    body = nodes_.select(c, body, nodes_.variable(binders.back()), t.place);
  }
  scope_.resize(depth);
  restore(view.variables, former);
  restore(std::span(&view.accumulator, 1), std::span(&former_accumulator, 1));
  args.push_back(body);
  Node node{.kind = NodeKind::Fold, .type = t.type, .flags = HasBinder, .place = t.place};
  node.binders = nodes_.binder_list(binders);
  return nodes_.make(node, args);
}

NodeId Planner::import_nth(TermId id) {
  const core::Term& t = program_.term(id);
  const core::NthView view = program_.nth(id);
  std::vector<std::pair<NodeId, NodeId>> partial;
  const std::size_t depth = scope_.size();
  const VariableId former = variables_[view.variable];
  const NodeId place = import(view.place);
  const std::int64_t most = bound_variable(view.variable, view.extent, partial);
  const VariableId v = variables_[view.variable];
  scope_.push_back(v);
  const NodeId extent = import(view.extent);
  std::vector<NodeId> args{extent, place};
  for (TermId k : view.keys) {
    args.push_back(import(k));
    const ElementType type = nodes_[args.back()].type;
    if (is_complex(type)) stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", t.place);
  }
  scope_.resize(depth);
  restore(std::span(&view.variable, 1), std::span(&former, 1));
  Node node{.kind = NodeKind::Nth, .type = ElementType::Z, .flags = HasBinder, .place = t.place};
  node.flags = static_cast<std::uint16_t>(node.flags | t.flags | MayPoison);
  node.binders = nodes_.binder_list({v});
  const NodeId n = nodes_.make(node, args);
  nodes_.set_range(n, {0, std::max<std::int64_t>(0, most - 1)});
  return n;
}

}  // namespace ulpian::interp::block
