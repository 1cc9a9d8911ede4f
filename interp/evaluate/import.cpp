// Import of terms: sizes become numbers, comprehensions that cost nothing are read through. (Reductions: import_reductions.cpp.)
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "interp/canonical/canonical.h"
#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {

using core::TensorId;
using core::TensorKind;
using core::TermId;
using core::TermKind;

namespace {
constexpr int MostDepth = 5000;
}

Planner::Planner(const core::Program& program, std::vector<std::optional<std::int64_t>> sizes, const Options& options)
    : program_(program), sizes_(std::move(sizes)), options_(options) {
  tensors_.resize(program.tensors.size());
  terms_.assign(program.terms.size(), None);
  readers_.assign(program.tensors.size(), 0);
  reached_.assign(program.tensors.size(), false);
  reached_terms_.assign(program.terms.size(), false);
  variables_.assign(program.variables.size(), None);
  resolvable_.assign(program.tensors.size(), -1);
}

void Planner::stop(ErrorKind kind, std::string message, std::uint32_t place) const {
  Diagnostic d;
  d.kind = kind;
  d.message = program_.op.empty() ? std::move(message) : program_.op + ": " + message;
  if (place < program_.places.size()) d.place = program_.places[place];
  throw Stop{std::move(d)};
}

// Marks what the given terms and tensors need, and counts the readers of each tensor.
void Planner::reach(std::span<const TermId> first_terms, std::span<const TensorId> first_tensors) {
  std::vector<TermId> terms(first_terms.begin(), first_terms.end());
  std::vector<TensorId> tensors;
  const auto need = [&](TensorId t) {
    if (t == core::None || reached_[t]) return;
    reached_[t] = true;
    tensors.push_back(t);
  };
  for (TensorId t : first_tensors) need(t);
  while (!terms.empty() || !tensors.empty()) {
    if (terms.empty()) {
      const core::TensorNode& n = program_.tensor(tensors.back());
      tensors.pop_back();
      terms.insert(terms.end(), n.extents.begin(), n.extents.end());
      terms.insert(terms.end(), n.domain.begin(), n.domain.end());
      if (n.body != core::None) terms.push_back(n.body);
      if (n.kind == TensorKind::Scatter) {
        terms.insert(terms.end(), n.scatter.index.begin(), n.scatter.index.end());
        if (n.scatter.filter != core::None) terms.push_back(n.scatter.filter);
        need(n.scatter.base);
        readers_[n.scatter.base] += 2;
      }
      if (n.kind == TensorKind::Recurrence)
        for (TensorId m : program_.recurrences[n.group].members) need(m);
      continue;
    }
    const TermId id = terms.back();
    terms.pop_back();
    if (reached_terms_[id]) continue;
    reached_terms_[id] = true;
    const core::Term& t = program_.term(id);
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) {
      need(static_cast<TensorId>(t.data));
      ++readers_[t.data];
    }
    if (t.kind == TermKind::Size && !sizes_[t.data]) need(program_.sizes[t.data].defined_by);
    const auto a = program_.arguments_of(id);
    terms.insert(terms.end(), a.begin(), a.end());
  }
}

std::int64_t Planner::extent_of(TermId id, std::string_view what, std::uint32_t place) {
  const NodeId n = import(id);
  const auto value = nodes_.integer_of(n);
  if (!value) stop(ErrorKind::Unsupported, fmt::format("{} depends on values: {}", what, core::to_string(program_, id)), place);
  return *value;
}

Extents Planner::extents_of(TensorId id) {
  const core::TensorNode& n = program_.tensor(id);
  Extents extents;
  for (TermId e : n.extents) {
    extents.push_back(extent_of(e, fmt::format("an extent of \"{}\"", n.name), n.place));
    if (extents.back() < 0) stop(ErrorKind::Definition, fmt::format("axis {} of \"{}\" would have the extent {}", extents.size() - 1, n.name, extents.back()), n.place);
  }
  const auto count = element_count(extents);
  const std::int64_t each = std::max<std::int64_t>(1, n.type == ElementType::Z ? 8 : n.type == ElementType::R || n.type == ElementType::String ? 32 : bytes_of(n.type));
  if (!count || *count > (std::int64_t{1} << 46) / each)
    stop(ErrorKind::Limit, fmt::format("\"{}\" of extents {} is too large", n.name, to_string(extents)), n.place);
  return extents;
}

// Gives an index variable another meaning: terms that use it are to be imported anew.
void Planner::bind(core::Variable v, VariableId id) {
  if (variables_[v] == id) return;
  const bool used = variables_[v] != None;
  variables_[v] = id;
  if (!used) return;
  for (TermId t = 0; t < terms_.size(); ++t)
    if (terms_[t] != None && std::ranges::binary_search(program_.free_of(t), v)) terms_[t] = None;
}

// The variable for a binder: the same again where equations share a name and extent, unless it is in use around here.
VariableId Planner::variable_for(core::Variable v, std::int64_t extent, std::uint32_t place) {
  const VariableId known = variables_[v];
  if (known != None && nodes_.variable_data(known).extent == extent && std::ranges::find(scope_, known) == scope_.end() && !around_.variables.has(known)) return known;
  if (nodes_.full()) stop(ErrorKind::Limit, "the program has too many index variables", place);
  const VariableId id = nodes_.fresh(ElementType::Z, extent);
  bind(v, id);
  return id;
}

void Planner::restore(std::span<const core::Variable> variables, std::span<const VariableId> former) {
  for (std::size_t k = 0; k < variables.size(); ++k)
    if (former[k] != None) bind(variables[k], former[k]);
}

VariableId Planner::variable_of(core::Variable v) {
  ensure(variables_[v] != None, "an index variable outside of its binder");
  return variables_[v];
}

// Whether every size that the term's value needs is known.
bool Planner::resolvable(TermId root) {
  std::vector<TermId> stack{root};
  std::vector<bool> seen(program_.terms.size());
  while (!stack.empty()) {
    const TermId id = stack.back();
    stack.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const core::Term& t = program_.term(id);
    if (t.kind == TermKind::Size && !sizes_[t.data]) return false;
    if ((t.kind == TermKind::Read || t.kind == TermKind::ReadElse) && !resolvable_tensor(static_cast<TensorId>(t.data))) return false;
    const auto a = program_.arguments_of(id);
    stack.insert(stack.end(), a.begin(), a.end());
  }
  return true;
}

bool Planner::resolvable_tensor(TensorId id) {
  if (resolvable_[id] >= 0) return resolvable_[id] != 0;
  resolvable_[id] = 1;  // members of a recurrence see each other
  const core::TensorNode& n = program_.tensor(id);
  std::vector<TermId> terms(n.domain);
  // Extents of what defines a size are that size itself.
  if (n.kind != TensorKind::Where && n.kind != TensorKind::Measured) terms.insert(terms.end(), n.extents.begin(), n.extents.end());
  if (n.body != core::None) terms.push_back(n.body);
  if (n.kind == TensorKind::Scatter) {
    terms.insert(terms.end(), n.scatter.index.begin(), n.scatter.index.end());
    if (n.scatter.filter != core::None) terms.push_back(n.scatter.filter);
  }
  bool all = true;
  for (TermId t : terms) all = all && resolvable(t);
  if (n.kind == TensorKind::Scatter) all = all && resolvable_tensor(n.scatter.base);
  if (n.kind == TensorKind::Recurrence)
    for (TensorId m : program_.recurrences[n.group].members) all = all && resolvable_tensor(m);
  resolvable_[id] = all ? 1 : 0;
  return all;
}

NodeId Planner::import(TermId id) {
  if (terms_[id] != None) return terms_[id];
  if (depth_ > 300) {
    // Chains of `else` and `if` are long rather than deep: from their end upwards.
    std::vector<TermId> chain;
    for (TermId x = id; terms_[x] == None;) {
      const TermKind kind = program_.term(x).kind;
      if (kind != TermKind::ReadElse && kind != TermKind::Select) break;
      chain.push_back(x);
      x = program_.arguments_of(x).back();
    }
    if (chain.size() > 16) {
      const int depth = std::exchange(depth_, 0);
      for (std::size_t k = chain.size(); k-- > 1;) import(chain[k]);
      depth_ = depth;
    }
  }
  if (++depth_ > MostDepth) stop(ErrorKind::Limit, fmt::format("terms nest deeper than {}", MostDepth), program_.term(id).place);
  const core::Term& t = program_.term(id);
  NodeId n = None;
  switch (t.kind) {
    case TermKind::Constant:
      n = nodes_.constant(t.type, t.data);
      break;
    case TermKind::Variable: n = nodes_.variable(variable_of(static_cast<core::Variable>(t.data))); break;
    case TermKind::Size:
      if (!sizes_[t.data]) stop(ErrorKind::Input, fmt::format("the size \"{}\" does not follow from the inputs", program_.sizes[t.data].name), t.place);
      n = nodes_.integer(*sizes_[t.data]);
      break;
    case TermKind::Unspecified: n = nodes_.constant(t.type, 0); break;
    case TermKind::Choice: n = import(program_.arguments_of(id)[0]); break;
    case TermKind::Primitive: {
      std::vector<NodeId> args;
      for (TermId a : program_.arguments_of(id)) args.push_back(import(a));
      if (is_complex(t.type) || is_complex(nodes_[args[0]].type)) stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", t.place);
      n = nodes_.primitive(static_cast<Primitive>(t.operation), t.type, args, t.place);
      break;
    }
    case TermKind::Cast: {
      const core::Term& from_real = program_.term(program_.arguments_of(id)[0]);
      if (from_real.kind == TermKind::Constant && from_real.type == ElementType::R && is_float(t.type)) {
        n = nodes_.constant(t.type, program_.reals[from_real.data].round_to(t.type, static_cast<CastMode>(t.operation)));
        break;
      }
      const NodeId a = import(program_.arguments_of(id)[0]);
      const ElementType from = nodes_[a].type;
      if (from != t.type && (is_complex(t.type) || is_complex(from) || from == ElementType::String || t.type == ElementType::String))
        stop(ErrorKind::Unsupported, "this operation is not available yet for strings or complex numbers", t.place);
      n = nodes_.cast(t.type, a, static_cast<CastMode>(t.operation), t.place);
      break;
    }
    case TermKind::Select: {
      const auto a = program_.arguments_of(id);
      const NodeId c = import(a[0]);
      // What is never chosen need not be meaningful.
      if (nodes_.is_constant(c)) n = import(nodes_[c].data != 0 ? a[1] : a[2]);
      else {
        const NodeId x = import(a[1]), y = import(a[2]);
        n = nodes_.select(c, x, y, t.place);
      }
      break;
    }
    case TermKind::Read:
    case TermKind::ReadElse: n = import_read(id); break;
    case TermKind::Reduce: n = import_reduce(id); break;
    case TermKind::Fold: n = import_fold(id); break;
    case TermKind::Nth: n = import_nth(id); break;
    case TermKind::Random: {
      std::vector<NodeId> args;
      for (TermId a : program_.arguments_of(id)) args.push_back(import(a));
      n = nodes_.make({.kind = NodeKind::Random, .type = t.type, .flags = Expensive, .place = t.place}, args);
      break;
    }
  }
  --depth_;
  return terms_[id] = n;
}

// --- reading through comprehensions

double Planner::volume_of(const VariableSet& set) const {
  double v = 1;
  for (VariableId x = 0; x < MaxVariables; ++x)
    if (set.has(x)) v *= static_cast<double>(std::max<std::int64_t>(1, nodes_.variable_data(x).extent));
  return v;
}

// What evaluating the node once costs, about; stops counting when it is clearly not cheap.
double Planner::weight(NodeId root) {
  double sum = 0;
  std::vector<NodeId> stack{root};
  std::vector<NodeId> seen;
  while (!stack.empty() && sum < 100) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (std::ranges::find(seen, id) != seen.end()) continue;
    seen.push_back(id);
    const Node& n = nodes_[id];
    switch (n.kind) {
      case NodeKind::Constant:
      case NodeKind::Variable:
      case NodeKind::Linear:
      case NodeKind::Poison: break;
      case NodeKind::Primitive: {
        const auto kind = row_of(static_cast<Primitive>(n.operation)).kind;
        const ElementType of = nodes_[nodes_.arguments(id)[0]].type;
        sum += kind == PrimitiveKind::Elementary || of == ElementType::R || of == ElementType::String ? 100 : of == ElementType::Z ? 0.5 : 1;
        break;
      }
      case NodeKind::Cast: sum += n.type == ElementType::R || nodes_[nodes_.arguments(id)[0]].type == ElementType::R ? 100 : 1; break;
      case NodeKind::Select: sum += 1; break;
      case NodeKind::Read:
      case NodeKind::ReadElse: sum += 0.5; break;
      case NodeKind::Reduce:
      case NodeKind::Fold:
      case NodeKind::Nth: sum += 1000; break;
      case NodeKind::Random: sum += 100; break;
    }
    for (NodeId a : nodes_.arguments(id)) stack.push_back(a);
  }
  return sum;
}

bool Planner::inlines(TensorId id, NodeId body, double volume) {
  if (!options_.inline_tensors || (nodes_[body].flags & HasBinder) != 0) return false;
  if (around_.steps != nullptr && (nodes_[body].flags & ReadsMember) != 0) return false;
  const double w = weight(body);
  if (w <= 3) return true;
  // Each use of what is inlined walks its levels.
  constexpr std::uint16_t MostHeight = 300;
  if (nodes_[body].height > MostHeight) return false;
  double size = 1;
  for (std::int64_t e : extents_of(id)) size *= static_cast<double>(e);
  const bool output = std::ranges::find(program_.outputs, id) != program_.outputs.end();
  return readers_[id] <= 1 && !output && volume <= size;
}

// body[index] where the index is inside, else `otherwise` (None: poison).
NodeId Planner::inlined(TensorId id, std::span<const NodeId> index, NodeId otherwise, std::uint16_t flags, std::uint32_t place) {
  const core::TensorNode& n = program_.tensor(id);
  const Extents extents = extents_of(id);
  (void)flags;
  std::optional<NodeId> inside;
  for (std::size_t k = 0; k < index.size(); ++k) {
    const auto known = nodes_.inside(index[k], extents[k]);
    if (known == std::optional(true)) continue;
    const NodeId c = nodes_.inside_term(index[k], extents[k], place);
    inside = inside ? nodes_.both(*inside, c) : c;
  }
  std::vector<NodeId> replacement(MaxVariables, None);
  for (std::size_t k = 0; k < index.size(); ++k) replacement[tensors_[id].axes[k]] = index[k];
  const NodeId value = nodes_.substitute(tensors_[id].body, replacement);
  if (!inside) return value;
  return nodes_.select(*inside, value, otherwise != None ? otherwise : nodes_.poison(n.type, place), place);
}

NodeId Planner::import_read(TermId id) {
  const core::Term& t = program_.term(id);
  const auto tensor = static_cast<TensorId>(t.data);
  const auto a = program_.arguments_of(id);
  const bool with_else = t.kind == TermKind::ReadElse;
  const std::size_t rank = a.size() - (with_else ? 1 : 0);
  std::vector<NodeId> index;
  for (std::size_t k = 0; k < rank; ++k) index.push_back(import(a[k]));
  // The value outside may be refused or unsupported where nothing is outside.
  bool all_inside = with_else;
  const core::TensorNode& n = program_.tensor(tensor);
  if (with_else) {
    for (std::size_t k = 0; k < rank; ++k) {
      const auto extent = nodes_.integer_of(import(n.extents[k]));
      all_inside = all_inside && extent && nodes_.inside(index[k], *extent) == std::optional(true);
    }
  }
  const NodeId otherwise = with_else && !all_inside ? import(a.back()) : None;
  Import& source = tensors_[tensor];
  if ((source.state == Import::State::Unseen || source.state == Import::State::Imported) && n.kind == TensorKind::Comprehension) {
    if (source.state == Import::State::Unseen) import_body(tensor);
    tensors_[tensor].state = Import::State::Busy;
    double volume = 1;
    for (VariableId v : scope_) volume *= static_cast<double>(std::max<std::int64_t>(1, nodes_.variable_data(v).extent));
    if (inlines(tensor, tensors_[tensor].body, volume)) tensors_[tensor].state = Import::State::Inlined;
  }
  const auto flags = static_cast<std::uint16_t>(t.flags);
  if (tensors_[tensor].state == Import::State::Inlined) return inlined(tensor, index, otherwise, flags, t.place);
  const BufferId b = buffer_of(tensor);
  const NodeId value = !with_else || all_inside ? nodes_.read(b, index, t.place) : nodes_.read_else(b, index, otherwise, flags, t.place);
  return nodes_.buffer(b).member && around_.group != None ? computed_only(tensor, index, value, t.place) : value;
}

// A read of the recurrence that is being planned has a value only where that element is computed already.
NodeId Planner::computed_only(TensorId id, std::span<const NodeId> index, NodeId value, std::uint32_t place) {
  const core::Recurrence& r = program_.recurrences[around_.group];
  const auto position = static_cast<std::size_t>(std::ranges::find(r.members, id) - r.members.begin());
  // Lexicographically before, or the same index of a member above.
  NodeId before = nodes_.boolean(position < around_.member);
  for (std::size_t k = r.variables.size(); k-- > 0;) {
    const NodeId pair[2] = {index[k], nodes_.variable(variables_[r.variables[k]])};
    const NodeId less = nodes_.primitive(Primitive::Less, ElementType::Bool, pair, place);
    const NodeId equal = nodes_.primitive(Primitive::Equal, ElementType::Bool, pair, place);
    before = nodes_.select(less, nodes_.boolean(true), nodes_.select(equal, before, nodes_.boolean(false), place), place);
  }
  if (nodes_.is_constant(before) && nodes_[before].data != 0) return value;
  // Outside of the tensor the value is that of `else`.
  const Extents extents = nodes_.buffer(tensors_[id].buffer).extents;
  NodeId inside = nodes_.boolean(true);
  for (std::size_t k = 0; k < index.size(); ++k)
    if (nodes_.inside(index[k], extents[k]) != std::optional(true)) inside = nodes_.both(inside, nodes_.inside_term(index[k], extents[k], place));
  const NodeId known = nodes_.select(inside, before, nodes_.boolean(true), place);
  return nodes_.select(known, value, nodes_.poison(nodes_[value].type, place), place);
}

// The body of a comprehension, over variables of its own.
void Planner::import_body(TensorId id) {
  const core::TensorNode& n = program_.tensor(id);
  const Extents extents = extents_of(id);
  const Scope outer = std::move(scope_);
  scope_.clear();
  std::vector<VariableId> former;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    former.push_back(variables_[n.variables[k]]);
    scope_.push_back(variable_for(n.variables[k], extents[k], n.place));
  }
  tensors_[id].axes = scope_;
  tensors_[id].state = Import::State::Busy;
  const NodeId body = import(n.body);
  tensors_[id].body = body;
  restore(n.variables, former);
  scope_ = outer;
}

// Bodies of tensors that are certainly read, from the first on: a long chain of tensors is then no deep one.
void Planner::import_in_order(TensorId id) {
  constexpr std::size_t Small = 1000;
  if (program_.terms.size() < Small) return;
  std::vector<TensorId> all;
  std::vector<bool> seen_tensor(program_.tensors.size()), seen_term(program_.terms.size());
  std::vector<TermId> stack;
  const auto need = [&](TensorId t) {
    if (seen_tensor[t] || tensors_[t].state != Import::State::Unseen || program_.tensor(t).kind != TensorKind::Comprehension) return;
    seen_tensor[t] = true;
    all.push_back(t);
    stack.push_back(program_.tensor(t).body);
  };
  need(id);
  while (!stack.empty()) {
    const TermId x = stack.back();
    stack.pop_back();
    if (seen_term[x] || terms_[x] != None) continue;
    seen_term[x] = true;
    const core::Term& t = program_.term(x);
    auto a = program_.arguments_of(x);
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) need(static_cast<TensorId>(t.data));
    // What may not be chosen need not be meaningful.
    if (t.kind == TermKind::Select || t.kind == TermKind::Choice) a = a.first(1);
    if (t.kind == TermKind::ReadElse) a = a.first(a.size() - 1);
    stack.insert(stack.end(), a.begin(), a.end());
  }
  std::ranges::sort(all);
  for (TensorId t : all) {
    if (t == id || tensors_[t].state != Import::State::Unseen) continue;
    import_body(t);
    if (tensors_[t].state == Import::State::Busy) tensors_[t].state = Import::State::Imported;
  }
}

}  // namespace ulpian::interp::block
