#include "interp/evaluate/nodes.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

namespace ulpian::interp::block {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t Least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t Most = std::numeric_limits<std::int64_t>::max();

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdu;
}

std::int64_t saturated(Wide x) {
  if (x > Most) return Most;
  if (x < Least) return Least;
  return static_cast<std::int64_t>(x);
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t c) {  // c > 0
  const std::int64_t q = a / c;
  return q - (a % c < 0 ? 1 : 0);
}

}  // namespace

Nodes::Nodes() {
  nodes_.reserve(256);
  arguments_.reserve(512);
  free_.reserve(256);
  ranges_.reserve(256);
  table_.assign(512, None);
}

VariableId Nodes::fresh(ElementType type, std::int64_t extent) {
  ensure(variables_.size() < MaxVariables, "too many index variables");
  variables_.push_back({type, extent});
  return static_cast<VariableId>(variables_.size() - 1);
}

std::uint32_t Nodes::binder_list(std::vector<VariableId> variables) {
  for (std::size_t k = 0; k < binder_lists_.size(); ++k)
    if (binder_lists_[k] == variables) return static_cast<std::uint32_t>(k);
  binder_lists_.push_back(std::move(variables));
  return static_cast<std::uint32_t>(binder_lists_.size() - 1);
}

std::uint64_t Nodes::hash_of(const Node& node, std::span<const NodeId> args) const {
  std::uint64_t h = mix(static_cast<std::uint64_t>(node.kind) << 32 | static_cast<std::uint64_t>(node.type) << 16 | node.operation, args.size());
  if (node.kind == NodeKind::Linear)
    for (std::size_t k = 0; k <= args.size(); ++k) h = mix(h, static_cast<std::uint64_t>(numbers_[node.data + k]));
  else h = mix(h, node.data);
  for (NodeId a : args) h = mix(h, a);
  return h ^ h >> 29;
}

bool Nodes::same(const Node& a, std::span<const NodeId> a_args, const Node& b, std::span<const NodeId> b_args) const {
  if (a.kind != b.kind || a.type != b.type || a.operation != b.operation || a.binders != b.binders || ((a.flags ^ b.flags) & 0xff) != 0 ||
      !std::ranges::equal(a_args, b_args))
    return false;
  if (a.kind != NodeKind::Linear) return a.data == b.data;
  return std::equal(&numbers_[a.data], &numbers_[a.data] + 1 + a_args.size(), &numbers_[b.data]);
}

void Nodes::grow_table() {
  table_.assign(table_.size() * 2, None);
  const std::size_t wrap = table_.size() - 1;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    std::size_t slot = hash_of(nodes_[id], arguments(id)) & wrap;
    while (table_[slot] != None) slot = (slot + 1) & wrap;
    table_[slot] = id;
  }
}

NodeId Nodes::make(Node node, std::span<const NodeId> args) {
  std::size_t slot = hash_of(node, args) & (table_.size() - 1);
  for (; table_[slot] != None; slot = (slot + 1) & (table_.size() - 1))
    if (same(nodes_[table_[slot]], arguments(table_[slot]), node, args)) return table_[slot];
  const auto id = static_cast<NodeId>(nodes_.size());
  node.first = static_cast<std::uint32_t>(arguments_.size());
  node.count = static_cast<std::uint32_t>(args.size());
  VariableSet free;
  for (NodeId a : args) {
    free |= free_[a];
    node.height = std::max(node.height, static_cast<std::uint16_t>(std::min(nodes_[a].height + 1, 65535)));
    node.flags = static_cast<std::uint16_t>(node.flags | (nodes_[a].flags & (HasBinder | Expensive | ReadsMember | MayPoison)));
  }
  if (node.kind == NodeKind::Variable) free.add(static_cast<VariableId>(node.data));
  if (node.binders != None)
    for (VariableId v : binder_lists_[node.binders]) free.remove(v);
  // `args` may be a view into arguments_ itself.
  const std::vector<NodeId> copy(args.begin(), args.end());
  arguments_.insert(arguments_.end(), copy.begin(), copy.end());
  nodes_.push_back(node);
  free_.push_back(free);
  ranges_.emplace_back();
  table_[slot] = id;
  if (nodes_.size() * 2 > table_.size()) grow_table();
  return id;
}

NodeId Nodes::integer(std::int64_t value) {
  const NodeId id = make({.kind = NodeKind::Constant, .type = ElementType::Z, .data = static_cast<std::uint64_t>(value)}, {});
  ranges_[id] = {value, value};
  return id;
}

NodeId Nodes::constant(ElementType type, std::uint64_t data) {
  if (type == ElementType::Z) return integer(static_cast<std::int64_t>(data));
  return make({.kind = NodeKind::Constant, .type = type, .data = data}, {});
}

NodeId Nodes::variable(VariableId v) {
  const VariableData& d = variables_[v];
  // The only value of an extent of one: reads through it become constant.
  if (d.type == ElementType::Z && d.extent == 1) return integer(0);
  const NodeId id = make({.kind = NodeKind::Variable, .type = d.type, .data = v}, {});
  if (d.type == ElementType::Z) ranges_[id] = {0, std::max<std::int64_t>(0, d.extent - 1)};
  return id;
}

std::optional<std::int64_t> Nodes::integer_of(NodeId id) const {
  const Node& n = nodes_[id];
  if (n.kind != NodeKind::Constant || n.type != ElementType::Z) return std::nullopt;
  return static_cast<std::int64_t>(n.data);
}

LinearForm Nodes::form_of(NodeId id) const {
  const Node& n = nodes_[id];
  if (n.kind == NodeKind::Constant) return {static_cast<std::int64_t>(n.data), {}};
  if (n.kind != NodeKind::Linear) return {0, {{id, 1}}};
  LinearForm form;
  form.constant = numbers_[n.data];
  form.parts.reserve(n.count);
  for (std::uint32_t k = 0; k < n.count; ++k) form.parts.push_back({arguments_[n.first + k], numbers_[n.data + 1 + k]});
  return form;
}

// The digits of one number, put together again: x mod c + c * (x div c) is x, and x mod L + L * ((x div L) mod K) is x mod (L * K).
void Nodes::combine_digits(LinearForm& form) {
  auto digit = [&](NodeId id, Primitive p, std::int64_t& by, NodeId& of) {
    const Node& n = nodes_[id];
    if (n.kind != NodeKind::Primitive || n.operation != static_cast<std::uint8_t>(p) || n.type != ElementType::Z) return false;
    const auto c = integer_of(arguments_[n.first + 1]);
    if (!c || *c <= 0) return false;
    by = *c;
    of = arguments_[n.first];
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < form.parts.size() && !again; ++i) {
      std::int64_t low = 0;
      NodeId x = None;
      const std::int64_t s = form.parts[i].coefficient;
      if (!digit(form.parts[i].atom, Primitive::Modulo, low, x)) continue;
      for (std::size_t j = 0; j < form.parts.size() && !again; ++j) {
        std::int64_t wanted = 0;
        if (i == j || __builtin_mul_overflow(s, low, &wanted) || form.parts[j].coefficient != wanted) continue;
        std::int64_t by = 0, high = 0;
        NodeId y = None, z = None;
        std::optional<NodeId> whole;
        if (digit(form.parts[j].atom, Primitive::FloorDivide, by, y) && by == low && y == x) {
          whole = x;
        } else if (digit(form.parts[j].atom, Primitive::Modulo, high, y) && digit(y, Primitive::FloorDivide, by, z) && by == low && z == x) {
          std::int64_t both = 0;
          if (!__builtin_mul_overflow(low, high, &both)) whole = divide(x, both, true, 0);
        }
        if (!whole) continue;
        const LinearForm inner = form_of(*whole);
        form.parts.erase(form.parts.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
        form.parts.erase(form.parts.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
        form.constant += s * inner.constant;
        for (const LinearForm::Part& p : inner.parts) {
          auto same = std::ranges::find(form.parts, p.atom, &LinearForm::Part::atom);
          if (same != form.parts.end()) same->coefficient += s * p.coefficient;
          else form.parts.push_back({p.atom, s * p.coefficient});
        }
        again = true;
      }
    }
  }
}

NodeId Nodes::linear(LinearForm form) {
  auto& parts = form.parts;
  std::ranges::sort(parts, {}, &LinearForm::Part::atom);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < parts.size();) {
    LinearForm::Part sum = parts[k++];
    while (k < parts.size() && parts[k].atom == sum.atom) sum.coefficient += parts[k++].coefficient;
    if (sum.coefficient != 0) parts[kept++] = sum;
  }
  parts.resize(kept);
  if (parts.size() >= 2) {
    combine_digits(form);
    std::erase_if(parts, [](const LinearForm::Part& p) { return p.coefficient == 0; });
    std::ranges::sort(parts, {}, &LinearForm::Part::atom);
  }
  if (parts.empty()) return integer(form.constant);
  if (parts.size() == 1 && parts[0].coefficient == 1 && form.constant == 0) return parts[0].atom;
  const std::size_t at = numbers_.size(), before = nodes_.size();
  std::vector<NodeId> atoms;
  atoms.reserve(parts.size());
  numbers_.push_back(form.constant);
  for (const auto& p : parts) {
    numbers_.push_back(p.coefficient);
    atoms.push_back(p.atom);
  }
  const NodeId id = make({.kind = NodeKind::Linear, .type = ElementType::Z, .data = at}, atoms);
  if (nodes_.size() == before) {
    numbers_.resize(at);
    return id;
  }
  Wide low = form.constant, high = form.constant;
  bool open_low = false, open_high = false;
  for (const auto& p : parts) {
    const Range& r = ranges_[p.atom];
    const auto c = static_cast<Wide>(p.coefficient);
    const std::int64_t least = c > 0 ? r.low : r.high, most = c > 0 ? r.high : r.low;
    if (least == Least || least == Most) open_low = true;
    if (most == Least || most == Most) open_high = true;
    low += c * least;
    high += c * most;
  }
  ranges_[id] = {open_low ? Least : saturated(low), open_high ? Most : saturated(high)};
  return id;
}

// a div c or a mod c for c > 0, floors. What c divides is taken out, and what then lies in [0, c) is known.
NodeId Nodes::divide(NodeId a, std::int64_t c, bool remainder, std::uint32_t place) {
  if (c == 1) return remainder ? integer(0) : a;
  const Range ra = ranges_[a];
  if (ra.low >= 0 && ra.high < c) return remainder ? a : integer(0);
  LinearForm form = form_of(a), whole, rest;
  whole.constant = floor_quotient(form.constant, c);
  rest.constant = form.constant - whole.constant * c;
  for (const auto& p : form.parts) {
    if (p.coefficient % c == 0) whole.parts.push_back({p.atom, p.coefficient / c});
    else rest.parts.push_back(p);
  }
  NodeId r = linear(rest);
  if (ranges_[r].low >= 0 && ranges_[r].high < c) return remainder ? r : linear(std::move(whole));
  // A common factor of the rest and c divides both.
  std::int64_t g = c;
  for (const auto& p : rest.parts) g = std::gcd(g, p.coefficient);
  const std::int64_t odd = rest.constant % g;
  if (g > 1) {
    for (auto& p : rest.parts) p.coefficient /= g;
    rest.constant /= g;
    const NodeId inner = divide(linear(rest), c / g, remainder, place);
    if (remainder) return linear({odd, {{inner, g}}});
    whole.parts.push_back({inner, 1});
    return linear(std::move(whole));
  }
  // Divisions of divisions.
  const Node n = nodes_[r];
  if (n.kind == NodeKind::Primitive && n.type == ElementType::Z) {
    const NodeId x = arguments_[n.first];
    const auto by = n.count == 2 ? integer_of(arguments_[n.first + 1]) : std::nullopt;
    std::int64_t both = 0;
    if (by && *by > 0) {
      if (n.operation == static_cast<std::uint8_t>(Primitive::FloorDivide) && !remainder && !__builtin_mul_overflow(*by, c, &both)) {
        whole.parts.push_back({divide(x, both, false, place), 1});
        return linear(std::move(whole));
      }
      if (n.operation == static_cast<std::uint8_t>(Primitive::Modulo) && *by % c == 0) {
        if (remainder) return divide(x, c, true, place);
        whole.parts.push_back({divide(divide(x, c, false, place), *by / c, true, place), 1});
        return linear(std::move(whole));
      }
    }
  }
  const NodeId args[2] = {r, integer(c)};
  const Primitive p = remainder ? Primitive::Modulo : Primitive::FloorDivide;
  const NodeId atom = make({.kind = NodeKind::Primitive, .type = ElementType::Z, .operation = static_cast<std::uint8_t>(p), .place = place}, args);
  const Range rr = ranges_[r];
  if (remainder) ranges_[atom] = {0, c - 1};
  else ranges_[atom] = {rr.low == Least ? Least : floor_quotient(rr.low, c), rr.high == Most ? Most : floor_quotient(rr.high, c)};
  if (remainder) return atom;
  whole.parts.push_back({atom, 1});
  return linear(std::move(whole));
}

std::optional<NodeId> Nodes::compare(Primitive p, NodeId a, NodeId b) {
  if (((nodes_[a].flags | nodes_[b].flags) & MayPoison) != 0) return std::nullopt;  // the poison would be lost
  LinearForm form = form_of(a), right = form_of(b);
  if (__builtin_sub_overflow(form.constant, right.constant, &form.constant)) return std::nullopt;
  for (const auto& q : right.parts) form.parts.push_back({q.atom, -q.coefficient});
  const Range r = ranges_[linear(std::move(form))];
  if (!r.bounded()) {
    if (r.low == Least && r.high == Most) return std::nullopt;
  }
  switch (p) {
    case Primitive::Less: return r.high < 0 ? std::optional(boolean(true)) : r.low >= 0 ? std::optional(boolean(false)) : std::nullopt;
    case Primitive::LessEqual: return r.high <= 0 ? std::optional(boolean(true)) : r.low > 0 ? std::optional(boolean(false)) : std::nullopt;
    case Primitive::Greater: return r.low > 0 ? std::optional(boolean(true)) : r.high <= 0 ? std::optional(boolean(false)) : std::nullopt;
    case Primitive::GreaterEqual: return r.low >= 0 ? std::optional(boolean(true)) : r.high < 0 ? std::optional(boolean(false)) : std::nullopt;
    case Primitive::Equal:
    case Primitive::NotEqual:
      if (r.low == 0 && r.high == 0) return boolean(p == Primitive::Equal);
      if (r.low > 0 || r.high < 0) return boolean(p != Primitive::Equal);
      return std::nullopt;
    default: return std::nullopt;
  }
}

NodeId Nodes::integer_primitive(Primitive p, NodeId a, NodeId b, std::uint32_t place) {
  const auto ca = integer_of(a), cb = b == None ? std::nullopt : integer_of(b);
  switch (p) {
    case Primitive::Add:
    case Primitive::Subtract: {
      LinearForm form = form_of(a), right = form_of(b);
      const bool minus = p == Primitive::Subtract;
      const bool over = minus ? __builtin_sub_overflow(form.constant, right.constant, &form.constant)
                              : __builtin_add_overflow(form.constant, right.constant, &form.constant);
      if (over) break;
      for (const auto& q : right.parts) form.parts.push_back({q.atom, minus ? -q.coefficient : q.coefficient});
      return linear(std::move(form));
    }
    case Primitive::Negate:
    case Primitive::Multiply: {
      if (p == Primitive::Multiply && !ca && !cb) break;
      LinearForm form = form_of(ca && p == Primitive::Multiply ? b : a);
      const std::int64_t by = p == Primitive::Negate ? -1 : ca ? *ca : *cb;
      bool over = __builtin_mul_overflow(form.constant, by, &form.constant);
      for (auto& q : form.parts) over |= __builtin_mul_overflow(q.coefficient, by, &q.coefficient);
      if (over) break;
      return linear(std::move(form));
    }
    case Primitive::FloorDivide:
    case Primitive::Modulo:
    case Primitive::Quotient:
    case Primitive::Remainder: {
      const bool remainder = p == Primitive::Modulo || p == Primitive::Remainder;
      const bool floors = p == Primitive::FloorDivide || p == Primitive::Modulo;
      if (!cb || *cb <= 0 || (nodes_[a].flags & MayPoison) != 0) break;
      if (floors || ranges_[a].low >= 0) return divide(a, *cb, remainder, place);
      if (ca) return integer(remainder ? *ca % *cb : *ca / *cb);
      break;
    }
    case Primitive::Minimum:
    case Primitive::Maximum: {
      const bool least = p == Primitive::Minimum;
      if (const auto below = compare(Primitive::LessEqual, a, b)) return (nodes_[*below].data != 0) == least ? a : b;
      if (const auto above = compare(Primitive::GreaterEqual, a, b)) return (nodes_[*above].data != 0) == least ? b : a;
      break;
    }
    case Primitive::Absolute:
      if (ranges_[a].low >= 0) return a;
      break;
    default: break;
  }
  const NodeId args[2] = {a, b};
  const std::span<const NodeId> span(args, b == None ? 1 : 2);
  const NodeId id = make({.kind = NodeKind::Primitive, .type = ElementType::Z, .operation = static_cast<std::uint8_t>(p), .place = place}, span);
  ranges_[id] = primitive_range(p, span);
  return id;
}

Range Nodes::primitive_range(Primitive p, std::span<const NodeId> args) const {
  const Range a = ranges_[args[0]];
  const Range b = args.size() > 1 ? ranges_[args[1]] : Range{};
  switch (p) {
    case Primitive::Minimum: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Primitive::Maximum: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Primitive::Absolute: return {0, a.bounded() ? std::max(std::abs(a.low), std::abs(a.high)) : Most};
    case Primitive::Sign: return {-1, 1};
    case Primitive::Multiply: {
      if (!a.bounded() || !b.bounded()) return {};
      Wide low = 0, high = 0;
      bool first = true;
      for (std::int64_t x : {a.low, a.high})
        for (std::int64_t y : {b.low, b.high}) {
          const auto z = static_cast<Wide>(x) * y;
          low = first || z < low ? z : low;
          high = first || z > high ? z : high;
          first = false;
        }
      return {saturated(low), saturated(high)};
    }
    case Primitive::FloorDivide:
    case Primitive::Quotient:
      if (a.low >= 0 && b.low >= 1) return {0, a.high};
      return {};
    case Primitive::Modulo:
    case Primitive::Remainder:
      if (b.low >= 1 && b.high != Most) return {p == Primitive::Modulo || a.low >= 0 ? 0 : 1 - b.high, b.high - 1};
      return {};
    default: return {};
  }
}

NodeId Nodes::primitive(Primitive p, ElementType type, std::span<const NodeId> args, std::uint32_t place) {
  const ElementType of = nodes_[args[0]].type;
  if (of == ElementType::Z && type == ElementType::Z) return integer_primitive(p, args[0], args.size() > 1 ? args[1] : None, place);
  if (of == ElementType::Z && type == ElementType::Bool && args.size() == 2)
    if (const auto known = compare(p, args[0], args[1])) return *known;
  const auto truth = [&](NodeId id) -> std::optional<bool> {
    if (!is_constant(id)) return std::nullopt;
    return nodes_[id].data != 0;
  };
  // `false and poison` is poison in general, so only the neutral constants vanish.
  if (p == Primitive::And || p == Primitive::Or)
    for (std::size_t k = 0; k < 2; ++k)
      if (const auto t = truth(args[k])) {
        if (*t == (p == Primitive::And)) return args[1 - k];
        if ((nodes_[args[1 - k]].flags & MayPoison) == 0) return boolean(p == Primitive::Or);
      }
  if (p == Primitive::Not)
    if (const auto t = truth(args[0])) return boolean(!*t);
  Node node{.kind = NodeKind::Primitive, .type = type, .operation = static_cast<std::uint8_t>(p), .place = place};
  const PrimitiveKind kind = row_of(p).kind;
  if (kind == PrimitiveKind::Elementary || kind == PrimitiveKind::Text || p == Primitive::SquareRoot || of == ElementType::R || of == ElementType::String) node.flags |= Expensive;
  const NodeId id = make(node, args);
  if (p == Primitive::ToInteger) {
    const int bits = bits_of(of);
    if (of == ElementType::Bool) ranges_[id] = {0, 1};
    else if (bits < 63) {
      const std::int64_t span = std::int64_t{1} << (is_signed(of) ? bits - 1 : bits);
      ranges_[id] = {is_signed(of) ? -span : 0, span - 1};
    } else if (of == ElementType::U64) {
      ranges_[id] = {};
    }
  }
  if (p == Primitive::Length) ranges_[id] = {0, Most};
  return id;
}

NodeId Nodes::cast(ElementType type, NodeId a, CastMode mode, std::uint32_t place) {
  const Node& n = nodes_[a];
  if (n.type == type && (mode == CastMode::Plain || mode == CastMode::Exact)) return a;
  const bool stores = n.type == ElementType::Z && mode == CastMode::Exact && is_integer(type);
  const bool fits = stores && ranges_[a].bounded() && holds(type, ranges_[a].low) && holds(type, ranges_[a].high);
  if (fits) mode = CastMode::Plain;
  Node node{.kind = NodeKind::Cast, .type = type, .operation = static_cast<std::uint8_t>(mode), .place = place};
  if (stores && !fits) node.flags |= MayPoison;
  if (n.type == ElementType::R || n.type == ElementType::String || type == ElementType::String) node.flags |= Expensive;
  return make(node, std::span(&a, 1));
}

NodeId Nodes::select(NodeId condition, NodeId a, NodeId b, std::uint32_t place) {
  if (is_constant(condition)) return nodes_[condition].data != 0 ? a : b;
  if (a == b && (nodes_[condition].flags & MayPoison) == 0) return a;
  const NodeId args[3] = {condition, a, b};
  const NodeId id = make({.kind = NodeKind::Select, .type = nodes_[a].type, .place = place}, args);
  if (nodes_[a].type == ElementType::Z)
    ranges_[id] = {std::min(ranges_[a].low, ranges_[b].low), std::max(ranges_[a].high, ranges_[b].high)};
  return id;
}

BufferId Nodes::add_buffer(BufferShape shape) {
  buffers_.push_back(std::move(shape));
  return static_cast<BufferId>(buffers_.size() - 1);
}

NodeId Nodes::read(BufferId buffer, std::span<const NodeId> index, std::uint32_t place) {
  const BufferShape& b = buffers_[buffer];
  ensure(index.size() == b.extents.size(), "a read with a wrong number of indices");
  Node node{.kind = NodeKind::Read, .type = b.type, .place = place, .data = buffer};
  bool safe = !b.poison;
  for (std::size_t k = 0; k < index.size(); ++k) safe = safe && inside(index[k], b.extents[k]) == std::optional(true);
  if (!safe) node.flags |= MayPoison;
  if (b.member) node.flags |= ReadsMember;
  return make(node, index);
}

NodeId Nodes::read_else(BufferId buffer, std::span<const NodeId> index, NodeId otherwise, std::uint16_t flags, std::uint32_t place) {
  const BufferShape& b = buffers_[buffer];
  ensure(index.size() == b.extents.size(), "a read with a wrong number of indices");
  bool all = true, poison = false;
  for (std::size_t k = 0; k < index.size(); ++k) {
    const auto known = inside(index[k], b.extents[k]);
    all = all && known == std::optional(true);
    poison = poison || (nodes_[index[k]].flags & MayPoison) != 0;
    if (known == std::optional(false) && !poison) return otherwise;
  }
  if (all) return read(buffer, index, place);
  Node node{.kind = NodeKind::ReadElse, .type = b.type, .flags = flags, .place = place, .data = buffer};
  if (b.poison) node.flags |= MayPoison;
  if (b.member) node.flags |= ReadsMember;
  std::vector<NodeId> args(index.begin(), index.end());
  args.push_back(otherwise);
  return make(node, args);
}

NodeId Nodes::poison(ElementType type, std::uint32_t place) {
  return make({.kind = NodeKind::Poison, .type = type, .flags = MayPoison, .place = place}, {});
}

NodeId Nodes::both(NodeId a, NodeId b) {
  const NodeId args[2] = {a, b};
  return primitive(Primitive::And, ElementType::Bool, args, nodes_[a].place);
}

std::optional<bool> Nodes::inside(NodeId index, std::int64_t extent) const {
  const Range& r = ranges_[index];
  if (r.low >= 0 && r.high < extent) return true;
  if (r.high < 0 || r.low >= extent) return false;
  return std::nullopt;
}

NodeId Nodes::inside_term(NodeId index, std::int64_t extent, std::uint32_t place) {
  const NodeId low[2] = {integer(0), index}, high[2] = {index, integer(extent)};
  return both(primitive(Primitive::LessEqual, ElementType::Bool, low, place), primitive(Primitive::Less, ElementType::Bool, high, place));
}

NodeId Nodes::with_arguments(NodeId id, std::span<const NodeId> args) {
  const Node n = nodes_[id];
  switch (n.kind) {
    case NodeKind::Constant:
    case NodeKind::Variable:
    case NodeKind::Poison: return id;
    case NodeKind::Linear: {
      LinearForm form;
      form.constant = numbers_[n.data];
      for (std::uint32_t k = 0; k < n.count; ++k) {
        const std::int64_t c = numbers_[n.data + 1 + k];
        LinearForm inner = form_of(args[k]);
        form.constant += c * inner.constant;
        for (const auto& p : inner.parts) form.parts.push_back({p.atom, c * p.coefficient});
      }
      return linear(std::move(form));
    }
    case NodeKind::Primitive: return primitive(static_cast<Primitive>(n.operation), n.type, args, n.place);
    case NodeKind::Cast: return cast(n.type, args[0], static_cast<CastMode>(n.operation), n.place);
    case NodeKind::Select: return select(args[0], args[1], args[2], n.place);
    case NodeKind::Read: return read(static_cast<BufferId>(n.data), args, n.place);
    case NodeKind::ReadElse:
      return read_else(static_cast<BufferId>(n.data), args.first(args.size() - 1), args.back(), static_cast<std::uint16_t>(n.flags & 0xff), n.place);
    case NodeKind::Reduce:
    case NodeKind::Fold:
    case NodeKind::Nth:
    case NodeKind::Random: {
      Node node = n;
      const NodeId made = make(node, args);
      ranges_[made] = ranges_[id];
      return made;
    }
  }
  ensure(false);
}

NodeId Nodes::substitute(NodeId root, std::span<const NodeId> replacement) {
  VariableSet changed;
  for (std::size_t v = 0; v < replacement.size(); ++v)
    if (replacement[v] != None) changed.add(static_cast<VariableId>(v));
  memo_.assign(nodes_.size(), None);
  return substitute_walk(root, replacement, changed, 0);
}

NodeId Nodes::substitute_walk(NodeId id, std::span<const NodeId> replacement, const VariableSet& changed, int depth) {
  if (!free_[id].meets(changed)) return id;
  if (memo_[id] != None) return memo_[id];
  ensure(depth < 20000, "a term is too deep");
  if (nodes_[id].kind == NodeKind::Variable) return replacement[nodes_[id].data];
  const std::vector<NodeId> old(arguments(id).begin(), arguments(id).end());
  std::vector<NodeId> args;
  args.reserve(old.size());
  for (NodeId a : old) args.push_back(substitute_walk(a, replacement, changed, depth + 1));
  return memo_[id] = with_arguments(id, args);
}

}  // namespace ulpian::interp::block
