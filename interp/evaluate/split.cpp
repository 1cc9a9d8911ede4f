// A tensor whose elements come from different places in different parts of it (tensors one after another, a frame around one) is filled part by
// part, each by a step of its own: no element pays for what the others are.
#include <algorithm>
#include <map>

#include "interp/evaluate/planner.h"

namespace ulpian::interp::block {
namespace {

constexpr double LeastVolume = 1024;      // of what is worth cutting
constexpr double LeastPart = 16;          // elements of a part, on average
constexpr std::size_t MostParts = 20000;
constexpr int MostInner = 6;              // cuts of a part, along one axis, for what lies inside of its term

struct Part {
  NodeId root = None;
  std::int64_t low = 0, high = 0;
};

// Where along one variable a term changes.
class Cutter {
public:
  Cutter(Nodes& nodes, VariableId v) : nodes_(nodes), v_(v), atom_(nodes.variable(v)) {}

  // Follows the `if` and `else` at the top of the term; false if that makes too many parts.
  bool follow(NodeId root, std::int64_t low, std::int64_t high, int depth, std::vector<Part>& parts) {
    while (true) {
      const Node n = nodes_[root];
      const auto args = nodes_.arguments(root);
      if ((n.kind != NodeKind::Select && n.kind != NodeKind::ReadElse) || !nodes_.free(root).has(v_) || depth > 200) break;
      std::int64_t at = high;
      std::optional<bool> taken;
      if (n.kind == NodeKind::Select) {
        first_change(args[0], low, at);
        if (at == high) taken = decided(args[0], low, high);
      } else {
        const Extents& extents = nodes_.buffer(static_cast<BufferId>(n.data)).extents;
        bool outside = false, poison = false;
        for (std::size_t k = 0; k + 1 < args.size(); ++k) {
          poison = poison || (nodes_[args[k]].flags & MayPoison) != 0;
          const auto f = line(args[k]);
          if (!f) continue;
          change(*f, low, at);
          change({f->first, f->second - extents[k]}, low, at);
          const std::int64_t x = f->first * low + f->second;
          outside = outside || x < 0 || x >= extents[k];
        }
        if (poison) break;
        if (at == high && outside) taken = false;
        else if (at == high) break;
      }
      if (at < high) {
        if (!follow(root, low, at, depth + 1, parts)) return false;
        low = at;
        continue;
      }
      if (!taken) break;
      root = *taken ? args[args.size() - 2] : args.back();
    }
    if (parts.size() >= MostParts) return false;
    if (!parts.empty() && parts.back().root == root && parts.back().high == low) parts.back().high = high;
    else parts.push_back({root, low, high});
    return true;
  }

  // The first place in (0, extent) where some index inside of the term bends; `extent` if none does.
  std::int64_t bend(NodeId root, std::int64_t extent) {
    std::int64_t at = extent;
    std::vector<NodeId> stack{root}, seen;
    while (!stack.empty() && seen.size() < 200) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (!nodes_.free(id).has(v_) || std::ranges::find(seen, id) != seen.end()) continue;
      seen.push_back(id);
      const Node n = nodes_[id];
      if (n.binders != None) continue;
      const auto args = nodes_.arguments(id);
      stack.insert(stack.end(), args.begin(), args.end());
      if (n.kind == NodeKind::Select) first_change(args[0], 0, at);
      if (n.kind != NodeKind::Primitive || n.type != ElementType::Z || args.size() != 2) continue;
      const auto p = static_cast<Primitive>(n.operation);
      const auto a = line(args[0]), b = line(args[1]);
      if (!a || !b) continue;
      if (p == Primitive::Minimum || p == Primitive::Maximum) change({a->first - b->first, a->second - b->second}, 0, at);
      if ((p == Primitive::Modulo || p == Primitive::FloorDivide) && b->first == 0 && b->second > 0 && (a->first == 1 || a->first == -1)) {
        const std::int64_t x = a->second, c = b->second, rest = ((x % c) + c) % c;
        const std::int64_t next = a->first == 1 ? c - rest : rest + 1;
        if (next > 0) at = std::min(at, next);
      }
    }
    return at;
  }

private:
  using Line = std::pair<std::int64_t, std::int64_t>;  // coefficient, constant

  // The term as coefficient * v + constant.
  std::optional<Line> line(NodeId id) const {
    if (nodes_[id].type != ElementType::Z || !nodes_.range(id).bounded()) return std::nullopt;
    const LinearForm f = nodes_.form_of(id);
    constexpr std::int64_t Far = std::int64_t{1} << 40;
    if (f.constant > Far || f.constant < -Far) return std::nullopt;
    if (f.parts.empty()) return Line{0, f.constant};
    if (f.parts.size() != 1 || f.parts[0].atom != atom_ || f.parts[0].coefficient > (1 << 20) || f.parts[0].coefficient < -(1 << 20)) return std::nullopt;
    return Line{f.parts[0].coefficient, f.constant};
  }
  // Lowers `at` to the first place above `low` from which the line is on the other side of 0 (below, or not).
  static void change(Line f, std::int64_t low, std::int64_t& at) {
    const auto floor = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
    std::int64_t to = low;
    if (f.first > 0) to = -floor(f.second, f.first);
    else if (f.first < 0) to = floor(f.second, -f.first) + 1;
    if (to > low) at = std::min(at, to);
  }
  std::optional<Line> difference(NodeId id) const {
    const auto args = nodes_.arguments(id);
    if (nodes_[id].kind != NodeKind::Primitive || args.size() != 2) return std::nullopt;
    const auto a = line(args[0]), b = line(args[1]);
    if (!a || !b) return std::nullopt;
    return Line{a->first - b->first, a->second - b->second};
  }
  void first_change(NodeId condition, std::int64_t low, std::int64_t& at) const {
    const Node n = nodes_[condition];
    if (n.kind != NodeKind::Primitive || n.type != ElementType::Bool) return;
    const auto p = static_cast<Primitive>(n.operation);
    if (p == Primitive::And || p == Primitive::Or || p == Primitive::Not) {
      for (NodeId a : nodes_.arguments(condition)) first_change(a, low, at);
    } else if (const auto d = difference(condition)) {
      change(*d, low, at);                        // d < 0
      change({d->first, d->second - 1}, low, at); // d <= 0
    }
  }
  std::optional<bool> decided(NodeId condition, std::int64_t low, std::int64_t high) const {
    const Node n = nodes_[condition];
    if (n.kind == NodeKind::Constant) return n.data != 0;
    if (n.kind != NodeKind::Primitive || n.type != ElementType::Bool) return std::nullopt;
    const auto p = static_cast<Primitive>(n.operation);
    const auto args = nodes_.arguments(condition);
    if (p == Primitive::Not) {
      const auto a = decided(args[0], low, high);
      return a ? std::optional(!*a) : std::nullopt;
    }
    if (p == Primitive::And || p == Primitive::Or) {
      const auto a = decided(args[0], low, high), b = decided(args[1], low, high);
      return a && b ? std::optional(p == Primitive::And ? *a && *b : *a || *b) : std::nullopt;
    }
    const auto d = difference(condition);
    if (!d) return std::nullopt;
    const std::int64_t x = d->first * low + d->second;  // no side changes up to `high`
    switch (p) {
      case Primitive::Less: return x < 0;
      case Primitive::LessEqual: return x <= 0;
      case Primitive::Greater: return x > 0;
      case Primitive::GreaterEqual: return x >= 0;
      case Primitive::Equal: return x == 0;
      case Primitive::NotEqual: return x != 0;
      default: return std::nullopt;
    }
  }

  Nodes& nodes_;
  VariableId v_;
  NodeId atom_;
};

// A box of the tensor: its term, over variables of its own, and the place of its first element.
struct Box {
  NodeId root = None;
  std::vector<VariableId> axes;
  std::int64_t start = 0;
};

// The tensor cut into boxes, axis after axis.
class Boxes {
public:
  Boxes(Nodes& nodes, NodeId root, const std::vector<VariableId>& axes) : nodes_(nodes), strides_(axes.size(), 1), all_{{root, axes, 0}}, replacement_(MaxVariables, None) {
    for (std::size_t k = axes.size(); k-- > 1;) strides_[k - 1] = strides_[k] * extent(axes[k]);
  }

  // False if that makes too many boxes or variables.
  bool cut(std::size_t axis) {
    axis_ = axis;
    fresh_.clear();
    std::vector<Box> before = std::move(all_);
    all_.clear();
    for (const Box& box : before) {
      std::vector<Part> parts;
      if (!Cutter(nodes_, box.axes[axis]).follow(box.root, 0, extent(box.axes[axis]), 0, parts)) return false;
      for (const Part& part : parts) {
        auto uncut = piece(box, part.root, part.low, part.high - part.low);
        if (!uncut || !cut_at_bends(std::move(*uncut)) || all_.size() > MostParts) return false;
      }
    }
    return true;
  }

  const std::vector<Box>& all() const { return all_; }
  std::int64_t stride(std::size_t axis) const { return strides_[axis]; }

private:
  std::int64_t extent(VariableId v) const { return nodes_.variable_data(v).extent; }

  // Adds the box, cut where indices inside of its term bend; as it is if they bend often. False if there are no variables left.
  bool cut_at_bends(Box uncut) {
    const std::size_t before = all_.size();
    Box rest = uncut;
    for (int turn = 0; turn <= MostInner; ++turn) {
      const std::int64_t length = extent(rest.axes[axis_]);
      const std::int64_t at = Cutter(nodes_, rest.axes[axis_]).bend(rest.root, length);
      if (at == length) {
        all_.push_back(std::move(rest));
        return true;
      }
      if (turn == MostInner) break;
      auto first = piece(rest, rest.root, 0, at), second = piece(rest, rest.root, at, length - at);
      if (!first || !second) return false;
      all_.push_back(std::move(*first));
      rest = std::move(*second);
    }
    all_.resize(before);
    all_.push_back(std::move(uncut));
    return true;
  }

  // The part of a box from `low` on, so many long; empty where there are no variables left.
  std::optional<Box> piece(const Box& box, NodeId term, std::int64_t low, std::int64_t length) {
    Box b{term, box.axes, box.start + low * strides_[axis_]};
    const VariableId v = box.axes[axis_];
    if (low == 0 && length == extent(v)) return b;
    const auto at = fresh_.find(length);
    if (at == fresh_.end() && nodes_.full()) return std::nullopt;
    const VariableId w = at != fresh_.end() ? at->second : fresh_.emplace(length, nodes_.fresh(ElementType::Z, length)).first->second;
    LinearForm shifted = nodes_.form_of(nodes_.variable(w));
    shifted.constant += low;
    replacement_[v] = nodes_.linear(std::move(shifted));
    b.root = nodes_.substitute(term, replacement_);
    replacement_[v] = None;
    b.axes[axis_] = w;
    return b;
  }

  Nodes& nodes_;
  std::vector<std::int64_t> strides_;
  std::vector<Box> all_;
  std::size_t axis_ = 0;
  std::map<std::int64_t, VariableId> fresh_;  // of this axis, by extent
  std::vector<NodeId> replacement_;           // by variable; all None between uses
};

}  // namespace

// Fills a tensor by parts, if its term has some; no step has been added where it has none.
bool Planner::map_parts(BufferId out, NodeId root, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset, std::uint32_t place) {
  const Node n = nodes_[root];
  const bool may = n.kind == NodeKind::Select || n.kind == NodeKind::ReadElse || n.kind == NodeKind::Read;
  const double whole = volume(axes);
  if (!options_.split || !may || whole < LeastVolume || n.type == ElementType::R || n.type == ElementType::String || is_complex(n.type)) return false;
  Boxes boxes(nodes_, root, axes);
  for (std::size_t k = 0; k < axes.size(); ++k)
    if (!boxes.cut(k)) return false;
  if (boxes.all().size() == 1 || static_cast<double>(boxes.all().size()) * LeastPart > whole) return false;
  // Marks of poison are numbered by step: one step alone can have them.
  for (const Box& b : boxes.all())
    if ((nodes_[b.root].flags & MayPoison) != 0) return false;
  for (const Box& b : boxes.all()) {
    Step step;
    step.kind = StepKind::Map;
    step.out = out;
    step.place = place;
    step.offset = offset;
    step.start = b.start;
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (const std::int64_t e = nodes_.variable_data(b.axes[k]).extent; e != 1) step.spread.emplace_back(e, boxes.stride(k));
    if (step.spread.empty()) step.spread.emplace_back(1, 1);
    step.tape = tape_of({b.root}, b.axes);
    add(std::move(step), true);
  }
  return true;
}

}  // namespace ulpian::interp::block
