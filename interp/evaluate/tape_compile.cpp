#include "interp/evaluate/tape_compile.h"

#include "interp/evaluate/planner.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ulpian::interp::block {
namespace {

// Terms this deep don't come from definitions; the walk must not exhaust the stack.
constexpr int MostDepth = 10000;

RegisterInfo info_of(ElementType type, bool uniform) {
  if (type == ElementType::R) return {RegisterClass::Real, 0, uniform, 0};
  if (type == ElementType::String) return {RegisterClass::Text, 0, uniform, 0};
  return {RegisterClass::Bytes, static_cast<std::uint8_t>(type == ElementType::Z ? 8 : bytes_of(type)), uniform, 0};
}

int levels_of_tree(std::int64_t leaves) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(leaves, 1)))) + 1; }

}  // namespace

Tape compile(Nodes& nodes, const TapeRequest& request, Instructions level) { return TapeCompiler(nodes, request, level).run(); }

TapeCompiler::TapeCompiler(Nodes& nodes, const TapeRequest& request, Instructions level)
    : nodes_(nodes), request_(request), kernels_(kernels(level)) {
  memo_.resize(nodes.size());
  level_.fill(-1);
  for (const LaneAxis& a : request.axes) {
    level_[a.variable] = 1;
    axis_[a.variable] = static_cast<std::uint16_t>(tape_.extents.size());
    lane_variables_.add(a.variable);
    tape_.extents.push_back(a.extent);
  }
  // None of a box without elements, whose other extents may be beyond all counting.
  tape_.lanes = element_count(tape_.extents).value_or(std::numeric_limits<std::int64_t>::max());
  for (VariableId v : request.context) {
    level_[v] = 0;
    slot_[v] = tape_.uniform_slots++;
    tape_.context.push_back(v);
  }
  stack_ = {&tape_.setup, &tape_.body};
}

Tape TapeCompiler::run() {
  for (NodeId root : request_.roots) {
    const Compiled c = visit(root, 0);
    Root r{root, nodes_[root].type, lanes(c.value), c.poison == NoRegister ? NoRegister : lanes(c.poison)};
    tape_.roots.push_back(r);
  }
  assign_slots();
  collapse_axes();
  tape_.cost = std::max(1.0, cost_of(tape_.body));
  return std::move(tape_);
}

int TapeCompiler::level_of(const VariableSet& free) const {
  int level = 0;
  for (std::size_t w = 0; w < free.words.size(); ++w)
    for (std::uint64_t bits = free.words[w]; bits != 0; bits &= bits - 1) {
      const int l = level_[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      ensure(l >= 0, "an index variable is not bound");
      level = std::max(level, l);
    }
  return level;
}

Register TapeCompiler::make_register(ElementType type, bool uniform) {
  if (tape_.registers.size() >= NoRegister) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = "a term of this definition is too large to evaluate in blocks; the scalar evaluator has no such limit";
    throw Stop{std::move(d)};
  }
  tape_.registers.push_back(info_of(type, uniform));
  lane_copy_.push_back(NoRegister);
  register_level_.push_back(0);
  return static_cast<Register>(tape_.registers.size() - 1);
}

Register TapeCompiler::make_mask(bool uniform) { return make_register(ElementType::U8, uniform); }

void TapeCompiler::emit(int level, Instruction i) {
  if (i.dst != NoRegister) {
    i.uniform = tape_.registers[i.dst].uniform;
    register_level_[i.dst] = level;
  }
  stack_[static_cast<std::size_t>(level)]->push_back(i);
}

Register TapeCompiler::lanes(Register r) {
  if (r == NoRegister || !tape_.registers[r].uniform) return r;
  if (lane_copy_[r] != NoRegister) return lane_copy_[r];
  RegisterInfo info = tape_.registers[r];
  info.uniform = false;
  tape_.registers.push_back(info);
  lane_copy_.push_back(NoRegister);
  register_level_.push_back(0);
  const auto copy = static_cast<Register>(tape_.registers.size() - 1);
  lane_copy_[r] = copy;
  Instruction i{.code = Code::Broadcast, .dst = copy, .a = r};
  if (info.kind == RegisterClass::Bytes) i.kernel = kernels_.broadcast(info.width);
  const int level = register_level_[r];
  emit(level, i);
  copy_log_.emplace_back(r, level);
  return copy;
}

Register TapeCompiler::either(Register a, Register b, int level, bool uniform) {
  if (a == NoRegister || a == b) return b;
  if (b == NoRegister) return a;
  const Register d = make_mask(uniform);
  emit(level, {.code = Code::PoisonEither, .dst = d, .a = as(a, uniform), .b = as(b, uniform)});
  return d;
}

std::uint8_t TapeCompiler::origin(std::uint32_t place) {
  auto& o = tape_.origins;
  auto found = std::ranges::find(o, place);
  if (found == o.end() && o.size() < 255) {
    o.push_back(place);
    found = o.end() - 1;
  }
  return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(found - o.begin(), 254) + 1);
}

Form TapeCompiler::form(const LinearForm& linear, Register& poison, int level, int depth) {
  std::vector<FormTerm> by[4];
  bool uniform_poison = true;
  for (const auto& part : linear.parts) {
    const Node n = nodes_[part.atom];
    if (n.kind == NodeKind::Variable) {
      const auto v = static_cast<VariableId>(n.data);
      if (lane_variables_.has(v)) by[0].push_back({axis_[v], part.coefficient});
      else by[1].push_back({slot_[v], part.coefficient});
      continue;
    }
    const Compiled c = visit(part.atom, depth + 1);
    by[tape_.registers[c.value].uniform ? 2 : 3].push_back({c.value, part.coefficient});
    if (c.poison != NoRegister) {
      uniform_poison = uniform_poison && tape_.registers[c.poison].uniform && (poison == NoRegister || tape_.registers[poison].uniform);
      poison = either(poison, c.poison, level, uniform_poison);
    }
  }
  Form f;
  f.constant = linear.constant;
  f.first = static_cast<std::uint32_t>(tape_.form_terms.size());
  for (const auto& list : by) tape_.form_terms.insert(tape_.form_terms.end(), list.begin(), list.end());
  f.lanes = static_cast<std::uint16_t>(by[0].size());
  f.uniforms = static_cast<std::uint16_t>(by[1].size());
  f.scalars = static_cast<std::uint16_t>(by[2].size());
  f.vectors = static_cast<std::uint16_t>(by[3].size());
  return f;
}

// An index as a linear form, where that cannot overflow; else the node itself, which is computed with care.
LinearForm TapeCompiler::index_form(NodeId id) const {
  if (nodes_.range(id).bounded()) return nodes_.form_of(id);
  return {0, {{id, 1}}};
}

Compiled TapeCompiler::visit(NodeId id, int depth) {
  ensure(depth < MostDepth, "a term is too deep");
  if (id < memo_.size() && memo_[id].done) return memo_[id].compiled;
  if (depth > 300) {
    // Chains of `else` and `if` are long rather than deep: from their end upwards.
    std::vector<NodeId> chain;
    for (NodeId x = id; (nodes_[x].kind == NodeKind::ReadElse || nodes_[x].kind == NodeKind::Select) && !(x < memo_.size() && memo_[x].done);) {
      chain.push_back(x);
      x = nodes_.arguments(x).back();
    }
    if (chain.size() > 16)
      for (std::size_t k = chain.size(); k-- > 1;) visit(chain[k], 0);
  }
  Compiled c;
  switch (nodes_[id].kind) {
    case NodeKind::Constant:
    case NodeKind::Variable:
    case NodeKind::Linear:
    case NodeKind::Poison: c = leaf(id); break;
    case NodeKind::Primitive: c = primitive(id, depth); break;
    case NodeKind::Cast: c = cast(id, depth); break;
    case NodeKind::Select: c = select(id, depth); break;
    case NodeKind::Read:
    case NodeKind::ReadElse: c = read(id, depth); break;
    case NodeKind::Reduce: c = reduce(id, depth); break;
    case NodeKind::Fold: c = fold(id, depth); break;
    case NodeKind::Random: c = random(id, depth); break;
    case NodeKind::Nth: ensure(false, "a term that the planner should have taken out");
  }
  if (id >= memo_.size()) memo_.resize(nodes_.size());
  memo_[id] = {c, true};
  log_.emplace_back(id, level_of(nodes_.free(id)));
  return c;
}

Compiled TapeCompiler::leaf(NodeId id) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  if (n.kind == NodeKind::Variable && accumulator_[n.data] != NoRegister && n.type != ElementType::Z)
    return {accumulator_[n.data], accumulator_poison_[n.data]};
  const Register d = make_register(n.type, uniform(id));
  Compiled c{d, NoRegister};
  if (n.kind == NodeKind::Constant || n.kind == NodeKind::Poison) {
    tape_.operations.push_back({NodeKind::Constant, 0, n.type, n.type, n.kind == NodeKind::Poison ? 0 : n.data});
    emit(level, {.code = Code::Generic, .dst = d, .extra = static_cast<std::uint32_t>(tape_.operations.size() - 1)});
    if (n.kind == NodeKind::Poison) {
      c.poison = make_mask(true);
      emit(level, {.code = Code::PoisonMark, .dst = c.poison, .extra = origin(n.place)});
    }
    return c;
  }
  const Form f = form(nodes_.form_of(id), c.poison, level, 0);
  tape_.forms.push_back(f);
  Instruction i{.code = Code::FormValue, .dst = d, .extra = static_cast<std::uint32_t>(tape_.forms.size() - 1)};
  if (n.kind == NodeKind::Linear && !nodes_.range(id).bounded()) {
    i.c = make_mask(uniform(id));
    register_level_[i.c] = level;
    tape_.forms.back().origin = origin(n.place);
  }
  emit(level, i);
  c.poison = either(as(c.poison, uniform(id)), i.c, level, uniform(id));
  return c;
}

// Operations of Z may overflow and those of R may stay undecided: such a lane is poison.
void TapeCompiler::partial(Instruction& i, ElementType from, ElementType to, int level, bool one) {
  const auto exact = [](ElementType t) { return t == ElementType::Z || t == ElementType::R; };
  if (!exact(from) && to != ElementType::Z) return;
  if (from == ElementType::Z && to != ElementType::Z) return;
  i.c = make_mask(one);
  register_level_[i.c] = level;
}

Compiled TapeCompiler::primitive(NodeId id, int depth) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  const bool one = uniform(id);
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  ensure(!args.empty() && args.size() <= 2);
  Register r[2] = {NoRegister, NoRegister}, poison = NoRegister;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const Compiled c = visit(args[k], depth + 1);
    r[k] = as(c.value, one);
    poison = either(poison, as(c.poison, one), level, one);
  }
  const ElementType from = nodes_[args[0]].type;
  const Register d = make_register(n.type, one);
  Instruction i{.dst = d, .a = r[0], .b = r[1]};
  const auto p = static_cast<Primitive>(n.operation);
  const bool may_overflow = from == ElementType::Z && n.type == ElementType::Z && !nodes_.range(id).bounded();
  if (!may_overflow) i.kernel = p == Primitive::ToInteger ? kernels_.cast(from, ElementType::Z, CastMode::Plain) : kernels_.primitive(p, from);
  if (i.kernel == nullptr) {
    i.code = Code::Generic;
    i.extra = static_cast<std::uint32_t>(tape_.operations.size());
    partial(i, from, n.type, level, one);
    tape_.operations.push_back({NodeKind::Primitive, n.operation, from, n.type, i.c == NoRegister ? 0u : origin(n.place)});
  }
  emit(level, i);
  return {d, either(poison, i.code == Code::Generic ? i.c : NoRegister, level, one)};
}

Compiled TapeCompiler::random(NodeId id, int depth) {
  const int level = level_of(nodes_.free(id));
  const bool one = uniform(id);
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  Register r[3] = {}, poison = NoRegister;
  for (std::size_t k = 0; k < 3; ++k) {
    const Compiled c = visit(args[k], depth + 1);
    r[k] = as(c.value, one);
    poison = either(poison, as(c.poison, one), level, one);
  }
  const Register d = make_register(nodes_[id].type, one);
  emit(level, {.dst = d, .a = r[0], .b = r[1], .c = r[2], .kernel = random_kernel});
  return {d, poison};
}

Compiled TapeCompiler::cast(NodeId id, int depth) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  const NodeId arg = nodes_.arguments(id)[0];
  const Compiled a = visit(arg, depth + 1);
  const ElementType from = nodes_[arg].type;
  const Register d = make_register(n.type, uniform(id));
  Instruction i{.dst = d, .a = as(a.value, uniform(id))};
  const bool stores = from == ElementType::Z && is_integer(n.type) && static_cast<CastMode>(n.operation) == CastMode::Exact;
  if (!stores) i.kernel = kernels_.cast(from, n.type, static_cast<CastMode>(n.operation));
  if (i.kernel == nullptr) {
    i.code = Code::Generic;
    i.extra = static_cast<std::uint32_t>(tape_.operations.size());
    partial(i, from, stores ? ElementType::Z : n.type, level, uniform(id));
    tape_.operations.push_back({NodeKind::Cast, n.operation, from, n.type, i.c == NoRegister ? 0u : origin(n.place | (stores ? PlaceOfStore : 0u))});
  }
  emit(level, i);
  return {d, either(as(a.poison, uniform(id)), i.code == Code::Generic ? i.c : NoRegister, level, uniform(id))};
}

Compiled TapeCompiler::select(NodeId id, int depth) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  const bool one = uniform(id);
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  Compiled c[3];
  for (std::size_t k = 0; k < 3; ++k) {
    c[k] = visit(args[k], depth + 1);
    c[k] = {as(c[k].value, one), as(c[k].poison, one)};
  }
  const Register d = make_register(n.type, one);
  Instruction i{.dst = d, .a = c[0].value, .b = c[1].value, .c = c[2].value};
  if (tape_.registers[d].kind == RegisterClass::Bytes) {
    i.kernel = kernels_.select(tape_.registers[d].width);
  } else {
    i.code = Code::Generic;
    i.extra = static_cast<std::uint32_t>(tape_.operations.size());
    tape_.operations.push_back({NodeKind::Select, 0, n.type, n.type, 0});
  }
  emit(level, i);
  Register poison = NoRegister;
  if (c[1].poison != NoRegister || c[2].poison != NoRegister) {
    poison = make_mask(one);
    emit(level, {.code = Code::PoisonSelect, .dst = poison, .a = c[0].value, .b = c[1].poison, .c = c[2].poison});
  }
  return {d, either(c[0].poison, poison, level, one)};
}

Compiled TapeCompiler::read(NodeId id, int depth) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  const bool one = uniform(id);
  const BufferShape shape = nodes_.buffer(static_cast<BufferId>(n.data));
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  const std::size_t rank = shape.extents.size();
  ReadPlan plan;
  plan.buffer = static_cast<BufferId>(n.data);
  plan.type = n.type;
  plan.uniform = one;
  plan.has_else = n.kind == NodeKind::ReadElse;
  plan.buffer_poison = shape.poison;
  Register index_poison = NoRegister;
  std::vector<IndexCheck> checks;
  LinearForm position;
  std::int64_t stride = 1;
  for (std::size_t k = rank; k-- > 0;) {
    const LinearForm index = index_form(args[k]);
    if (nodes_.inside(args[k], shape.extents[k]) != std::optional(true)) checks.push_back({form(index, index_poison, level, depth), shape.extents[k]});
    position.constant += stride * index.constant;
    for (const auto& p : index.parts) position.parts.push_back({p.atom, stride * p.coefficient});
    stride *= std::max<std::int64_t>(shape.extents[k], 1);
  }
  // Digits of one number, as a reshape writes them, become that number again.
  const NodeId whole = nodes_.linear(position);
  plan.position = form(nodes_.range(whole).bounded() ? nodes_.form_of(whole) : position, index_poison, level, depth);
  plan.first_check = static_cast<std::uint32_t>(tape_.checks.size());
  plan.checks = static_cast<std::uint32_t>(checks.size());
  tape_.checks.insert(tape_.checks.end(), checks.begin(), checks.end());
  if (!checks.empty()) plan.origin = origin(n.place);
  if (shape.poison && plan.origin == 0) plan.origin = origin(n.place);
  if (plan.has_else) {
    const Compiled e = visit(args.back(), depth + 1);
    plan.otherwise = as(e.value, one);
    plan.otherwise_poison = as(e.poison, one);
  }
  const Register d = make_register(n.type, one);
  plan.width = tape_.registers[d].width;
  const bool poison = shape.poison || plan.otherwise_poison != NoRegister || (!checks.empty() && !plan.has_else);
  if (poison) {
    plan.poison = make_mask(one);
    register_level_[plan.poison] = level;
  }
  tape_.reads.push_back(plan);
  emit(level, {.code = Code::Read, .dst = d, .extra = static_cast<std::uint32_t>(tape_.reads.size() - 1)});
  return {d, either(plan.poison, as(index_poison, one), level, one)};
}

TapeCompiler::Open TapeCompiler::open(Loop& loop, int level, std::span<const VariableId> variables) {
  Open o;
  o.level = level;
  const auto keep = static_cast<std::size_t>(level) + 1;
  o.saved.assign(stack_.begin() + static_cast<std::ptrdiff_t>(keep), stack_.end());
  stack_.resize(keep);
  stack_.push_back(&loop.body);
  o.log = log_.size();
  for (VariableId v : variables) {
    level_[v] = level + 1;
    if (nodes_.variable_data(v).type != ElementType::Z) continue;
    slot_[v] = tape_.uniform_slots++;
    loop.slots.push_back(slot_[v]);
  }
  return o;
}

void TapeCompiler::close(const Open& o) {
  // What stands in the loop's body is not computed outside of it.
  for (std::size_t k = o.log; k < log_.size(); ++k)
    if (log_[k].second > o.level) memo_[log_[k].first].done = false;
  std::erase_if(log_, [&](const auto& e) { return e.second > o.level; });
  std::erase_if(copy_log_, [&](const auto& e) {
    if (e.second <= o.level) return false;
    lane_copy_[e.first] = NoRegister;
    return true;
  });
  stack_.pop_back();
  stack_.insert(stack_.end(), o.saved.begin(), o.saved.end());
}

Compiled TapeCompiler::reduce(NodeId id, int depth) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  const bool one = uniform(id);
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  const std::vector<VariableId> variables(nodes_.binders(id).begin(), nodes_.binders(id).end());
  auto loop = std::make_unique<Loop>();
  loop->kind = static_cast<core::ReduceKind>(n.operation);
  loop->type = n.type;
  loop->uniform = one;
  std::size_t at = variables.size();
  for (std::size_t k = 0; k < at; ++k) {
    const auto extent = nodes_.integer_of(args[k]);
    ensure(extent.has_value(), "a loop's extent must be known");
    loop->extents.push_back(*extent);
  }
  const std::int64_t leaves = element_count(loop->extents).value_or(std::numeric_limits<std::int64_t>::max());
  const NodeId filter = (n.flags & core::HasFilter) != 0 ? args[at++] : None;
  Compiled initial;
  if ((n.flags & core::HasInitial) != 0) initial = visit(args[at++], depth + 1);
  loop->initial = as(initial.value, one);
  loop->initial_poison = as(initial.poison, one);
  const std::size_t bodies = args.size() - at;

  const Open opened = open(*loop, level, variables);
  Register poison = NoRegister;
  Compiled body[2];
  for (std::size_t k = 0; k < bodies; ++k) {
    body[k] = visit(args[at + k], depth + 1);
    poison = either(poison, as(body[k].poison, one), level + 1, one);
    body[k].value = as(body[k].value, one);
  }
  if (filter != None) {
    const Compiled f = visit(filter, depth + 1);
    loop->filter = as(f.value, one);
    loop->filter_poison = as(f.poison, one);
  }
  close(opened);
  loop->value = body[0].value;
  loop->second = body[1].value;
  loop->body_poison = poison;
  loop->body_type = bodies == 0 ? ElementType::Bool : nodes_[args[at]].type;
  const Register d = make_register(n.type, one);
  loop->out = d;
  if (n.type == ElementType::R) loop->origin = origin(n.place);
  if (n.type == ElementType::R || poison != NoRegister || loop->filter_poison != NoRegister || loop->initial_poison != NoRegister) {
    loop->out_poison = make_mask(one);
    register_level_[loop->out_poison] = level;
  }
  loop->scratch = tape_.scratch_per_lane;
  tape_.scratch_per_lane += static_cast<std::size_t>(levels_of_tree(leaves) + 4) * 8;
  const Compiled result{d, loop->out_poison};
  tape_.loops.push_back(std::move(*loop));
  emit(level, {.code = Code::Loop, .dst = d, .extra = static_cast<std::uint32_t>(tape_.loops.size() - 1)});
  return result;
}

Compiled TapeCompiler::fold(NodeId id, int depth) {
  const Node n = nodes_[id];
  const int level = level_of(nodes_.free(id));
  const bool one = uniform(id);
  const std::vector<NodeId> args(nodes_.arguments(id).begin(), nodes_.arguments(id).end());
  std::vector<VariableId> variables(nodes_.binders(id).begin(), nodes_.binders(id).end());
  const VariableId accumulator = variables.back();
  auto loop = std::make_unique<Loop>();
  loop->fold = true;
  loop->type = n.type;
  loop->uniform = one;
  for (std::size_t k = 0; k + 1 < variables.size(); ++k) {
    const auto extent = nodes_.integer_of(args[k]);
    ensure(extent.has_value(), "a loop's extent must be known");
    loop->extents.push_back(*extent);
  }
  const Compiled initial = visit(args[variables.size() - 1], depth + 1);
  loop->initial = as(initial.value, one);
  loop->initial_poison = as(initial.poison, one);
  const bool may_poison = (nodes_[id].flags & (MayPoison | Expensive)) != 0;
  loop->accumulator = make_register(n.type, one);
  if (may_poison) {
    loop->accumulator_poison = make_mask(one);
    register_level_[loop->accumulator_poison] = level;
  }
  const Open opened = open(*loop, level, variables);
  if (!one) lane_variables_.add(accumulator);
  accumulator_[accumulator] = loop->accumulator;
  accumulator_poison_[accumulator] = loop->accumulator_poison;
  register_level_[loop->accumulator] = level + 1;
  const Compiled body = visit(args[variables.size()], depth + 1);
  loop->value = as(body.value, one);
  loop->body_poison = as(body.poison, one);
  ensure(may_poison || body.poison == NoRegister);
  close(opened);
  const Register d = make_register(n.type, one);
  loop->out = d;
  loop->out_poison = loop->accumulator_poison;
  const Compiled result{d, loop->out_poison};
  tape_.loops.push_back(std::move(*loop));
  emit(level, {.code = Code::Loop, .dst = d, .extra = static_cast<std::uint32_t>(tape_.loops.size() - 1)});
  return result;
}

}  // namespace ulpian::interp::block
