// The block evaluator's own terms: a core program's terms with extents known, comprehensions inlined, and the integer arithmetic of
// indices simplified by the ranges of their variables. Hash-consed; arguments stand before the nodes that use them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "spec/core/program.h"

namespace ulpian::interp::block {

using NodeId = std::uint32_t;
using VariableId = std::uint32_t;
using BufferId = std::uint32_t;
inline constexpr std::uint32_t None = 0xffffffffu;
inline constexpr std::uint32_t MaxVariables = 256;

// Sets of variables, as bits.
struct VariableSet {
  std::array<std::uint64_t, MaxVariables / 64> words{};
  bool has(VariableId v) const { return (words[v / 64] >> (v % 64) & 1) != 0; }
  void add(VariableId v) { words[v / 64] |= std::uint64_t{1} << (v % 64); }
  void remove(VariableId v) { words[v / 64] &= ~(std::uint64_t{1} << (v % 64)); }
  VariableSet& operator|=(const VariableSet& o) {
    for (std::size_t k = 0; k < words.size(); ++k) words[k] |= o.words[k];
    return *this;
  }
  bool empty() const {
    std::uint64_t all = 0;
    for (std::uint64_t w : words) all |= w;
    return all == 0;
  }
  bool meets(const VariableSet& o) const {
    std::uint64_t all = 0;
    for (std::size_t k = 0; k < words.size(); ++k) all |= words[k] & o.words[k];
    return all != 0;
  }
  bool operator==(const VariableSet&) const = default;
};

enum class NodeKind : std::uint8_t {
  Constant,   // `data`: bits of a machine type, the int64 of a Z, an index into the program's reals (R) or texts (string)
  Variable,   // `data`: the variable
  Linear,     // Z: constant + sum of coefficient * atom; `data`: index of the constant in `numbers`, the coefficients follow it
  Primitive,
  Cast,
  Select,
  Read,       // `data`: the buffer
  ReadElse,   // `data`: the buffer; the last argument is the value outside
  Reduce,     // arguments as core::ReduceView has them, extents first; `binders`
  Fold,       // extents, initial, body; the last binder is the accumulator
  Nth,        // extent, place, keys
  Random,     // key, position, draw
  Poison,     // the value of what must not be read; absorbed like an index outside
};

enum NodeFlag : std::uint16_t {
  // low byte: core::TermFlag
  HasBinder = 256,    // a Reduce, Fold or Nth inside
  Expensive = 512,    // worth evaluating once and storing: an elementary function, a root, a random number, arithmetic of R or of text
  ReadsMember = 1024, // reads a member of the recurrence that is being planned
  MayPoison = 2048,   // may yield poison
  Compact = 4096,     // Reduce: after the extents stands the condition under which an index tuple is a position at all
};

struct Node {
  NodeKind kind = NodeKind::Constant;
  ElementType type = ElementType::Z;
  std::uint8_t operation = 0;
  std::uint16_t flags = 0;
  std::uint16_t height = 1;            // levels of nodes in this one, at most 65535
  std::uint32_t first = 0, count = 0;  // of Nodes::arguments
  std::uint32_t binders = None;
  std::uint32_t place = 0;             // of the program's places
  std::uint64_t data = 0;
};

// The values that a Z node can take; a bound at the limits of int64 means unbounded.
struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool bounded() const { return low != std::numeric_limits<std::int64_t>::min() && high != std::numeric_limits<std::int64_t>::max(); }
};

struct LinearForm {
  struct Part {
    NodeId atom;
    std::int64_t coefficient;
  };
  std::int64_t constant = 0;
  std::vector<Part> parts;
};

struct VariableData {
  ElementType type = ElementType::Z;
  std::int64_t extent = 0;  // the greatest the variable's extent can be
};

// What terms need to know of a tensor in memory.
struct BufferShape {
  ElementType type = ElementType::F32;
  Extents extents;
  bool poison = false;  // some elements may hold poison: a mask lies beside them
  bool member = false;  // of the recurrence that is being planned
};

class Nodes {
public:
  Nodes();

  BufferId add_buffer(BufferShape shape);
  BufferShape& buffer(BufferId b) { return buffers_[b]; }
  const BufferShape& buffer(BufferId b) const { return buffers_[b]; }
  std::size_t buffer_count() const { return buffers_.size(); }

  // --- variables
  VariableId fresh(ElementType type, std::int64_t extent);
  VariableData& variable_data(VariableId v) { return variables_[v]; }
  const VariableData& variable_data(VariableId v) const { return variables_[v]; }
  bool full(std::size_t more = 1) const { return variables_.size() + more > MaxVariables; }
  std::size_t variable_count() const { return variables_.size(); }

  // --- making nodes
  NodeId integer(std::int64_t value);
  NodeId constant(ElementType type, std::uint64_t data);
  NodeId boolean(bool value) { return constant(ElementType::Bool, value ? 1 : 0); }
  NodeId variable(VariableId v);
  NodeId linear(LinearForm form);  // normalises `form`
  NodeId primitive(Primitive p, ElementType type, std::span<const NodeId> arguments, std::uint32_t place);
  NodeId cast(ElementType type, NodeId a, CastMode mode, std::uint32_t place);
  NodeId select(NodeId condition, NodeId a, NodeId b, std::uint32_t place);
  // What is certainly inside or outside is decided here: a ReadElse may come out as a Read or as its other value.
  NodeId read(BufferId buffer, std::span<const NodeId> index, std::uint32_t place);
  NodeId read_else(BufferId buffer, std::span<const NodeId> index, NodeId otherwise, std::uint16_t flags, std::uint32_t place);
  NodeId poison(ElementType type, std::uint32_t place);
  NodeId both(NodeId a, NodeId b);  // logical and
  NodeId make(Node node, std::span<const NodeId> arguments);
  std::uint32_t binder_list(std::vector<VariableId> variables);

  // Whether 0 <= index < extent: true, false, or empty if it depends.
  std::optional<bool> inside(NodeId index, std::int64_t extent) const;
  NodeId inside_term(NodeId index, std::int64_t extent, std::uint32_t place);

  // --- reading nodes
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::span<const NodeId> arguments(NodeId id) const { return {arguments_.data() + nodes_[id].first, nodes_[id].count}; }
  std::span<const VariableId> binders(NodeId id) const { return binder_lists_[nodes_[id].binders]; }
  const VariableSet& free(NodeId id) const { return free_[id]; }
  const Range& range(NodeId id) const { return ranges_[id]; }
  void set_range(NodeId id, Range r) { ranges_[id] = r; }
  std::optional<std::int64_t> integer_of(NodeId id) const;
  bool is_constant(NodeId id) const { return nodes_[id].kind == NodeKind::Constant; }
  LinearForm form_of(NodeId id) const;  // of a Z node; what is not linear is its own atom
  std::size_t size() const { return nodes_.size(); }

  // `root` with variables replaced: `replacement[v]` or None to keep.
  NodeId substitute(NodeId root, std::span<const NodeId> replacement);
  // The node again with other arguments (simplified like a new one).
  NodeId with_arguments(NodeId id, std::span<const NodeId> arguments);

private:
  NodeId integer_primitive(Primitive p, NodeId a, NodeId b, std::uint32_t place);
  NodeId divide(NodeId a, std::int64_t c, bool remainder, std::uint32_t place);
  std::optional<NodeId> compare(Primitive p, NodeId a, NodeId b);
  void combine_digits(LinearForm& form);
  NodeId substitute_walk(NodeId id, std::span<const NodeId> replacement, const VariableSet& changed, int depth);
  Range primitive_range(Primitive p, std::span<const NodeId> arguments) const;
  void grow_table();
  std::uint64_t hash_of(const Node& node, std::span<const NodeId> arguments) const;
  bool same(const Node& a, std::span<const NodeId> a_arguments, const Node& b, std::span<const NodeId> b_arguments) const;

  std::vector<Node> nodes_;
  std::vector<NodeId> arguments_;
  std::vector<VariableSet> free_;
  std::vector<Range> ranges_;
  std::vector<std::int64_t> numbers_;
  std::vector<VariableData> variables_;
  std::vector<std::vector<VariableId>> binder_lists_;
  std::vector<NodeId> table_;  // open addressing
  std::vector<NodeId> memo_;   // of substitute
  std::vector<BufferShape> buffers_;
};

}  // namespace ulpian::interp::block
