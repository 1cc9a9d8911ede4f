// From a core program to steps: terms are imported (extents known, cheap comprehensions inlined), what fewer variables than its
// surroundings touch is taken out and stored, and each equation becomes one or more steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "interp/evaluate/dot.h"
#include "interp/evaluate/evaluate.h"
#include "interp/evaluate/steps.h"

namespace ulpian::interp::block {

// Thrown inside the planner and the runner; caught at their entries.
struct Stop {
  Diagnostic diagnostic;
  // Where it is a value that some element lacks, why is for the scalar evaluator to say: the element of an output, or -1.
  bool by_value = false;
  std::size_t output = 0;
  std::int64_t position = -1;
};

// Thrown while planning a recurrence without poison, when one of its members turns out to be able to hold some.
struct MembersMayPoison {};

struct Schedule {
  std::vector<Step> steps;
  std::vector<Check> checks;
  std::vector<BufferShape> buffers;
  std::vector<BufferId> of_tensor;      // per tensor of the program: its buffer, if it has one
  std::vector<BufferId> extended;       // buffers that must outlive the schedule: outputs, and what later schedules read
  std::vector<std::size_t> last_use;    // per buffer: the last step that reads it
  std::vector<std::pair<BufferId, core::TensorId>> literals;
  bool complete = true;                 // false: sizes have to be measured first, or only some outputs are made
  bool checked = false;                 // the checks are in this schedule, or in an earlier one
};

class Planner {
public:
  // `sizes`: what is known of them. `kept`: tensors computed by earlier schedules (their extents are known), as Schedule::of_tensor numbers.
  Planner(const core::Program& program, std::vector<std::optional<std::int64_t>> sizes, const Options& options);
  // `available`: per tensor, its extents if an earlier schedule has computed it. `checked`: an earlier schedule had the checks.
  Schedule run(std::span<const std::optional<Extents>> available, bool checked = false);

private:
  struct Import {
    enum class State : std::uint8_t { Unseen, Busy, Imported, Inlined, Stored } state = State::Unseen;
    NodeId body = None;
    std::vector<VariableId> axes;   // of the body
    BufferId buffer = None;
  };
  using Scope = std::vector<VariableId>;

  // --- import (import.cpp)
  void reach(std::span<const core::TermId> terms, std::span<const core::TensorId> tensors);
  bool resolvable(core::TermId id);
  bool resolvable_tensor(core::TensorId id);
  NodeId import(core::TermId id);
  NodeId import_read(core::TermId id);
  NodeId import_reduce(core::TermId id);
  NodeId import_fold(core::TermId id);
  NodeId import_nth(core::TermId id);
  std::int64_t bound_variable(core::Variable v, core::TermId extent, std::vector<std::pair<NodeId, NodeId>>& partial);
  void restore(std::span<const core::Variable> variables, std::span<const VariableId> former);
  VariableId variable_of(core::Variable v);
  void bind(core::Variable v, VariableId id);
  VariableId variable_for(core::Variable v, std::int64_t extent, std::uint32_t place);
  void import_body(core::TensorId id);
  void import_in_order(core::TensorId id);
  NodeId computed_only(core::TensorId id, std::span<const NodeId> index, NodeId value, std::uint32_t place);
  std::int64_t extent_of(core::TermId id, std::string_view what, std::uint32_t place);
  Extents extents_of(core::TensorId id);
  bool inlines(core::TensorId id, NodeId body, double volume);
  NodeId inlined(core::TensorId id, std::span<const NodeId> index, NodeId otherwise, std::uint16_t flags, std::uint32_t place);
  double volume_of(const VariableSet& set) const;
  double weight(NodeId id);

  // --- tensors (equations.cpp)
  BufferId buffer_of(core::TensorId id);
  void store(core::TensorId id);
  void recurrence(std::uint32_t group);
  void where(core::TensorId id);
  void measured(core::TensorId id);
  void scatter(core::TensorId id);

  // --- steps (schedule.cpp)
  void fill(BufferId out, NodeId root, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset, std::uint32_t place);
  void map(BufferId out, NodeId root, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset, std::uint32_t place);
  bool map_parts(BufferId out, NodeId root, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset, std::uint32_t place);
  bool rows(BufferId out, NodeId reduce, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset);
  bool dot(BufferId out, NodeId reduce, const Scope& axes, const std::vector<std::pair<VariableId, std::int64_t>>& offset);
  NodeId rewrite(NodeId id, const Scope& scope);
  NodeId rewrite_anew(NodeId id, const Node& n, const Scope& scope);
  NodeId rewrite_arguments(NodeId id, const Scope& scope);
  NodeId extract(NodeId id);
  NodeId extract_order(NodeId id);
  bool prefers_rows(NodeId reduce, const Scope& axes);
  bool prefers_dot(NodeId reduce, const Scope& axes);
  struct Contraction {
    DotPlan plan;  // without tapes
    NodeId row = None, lane = None, filter = None;
  };
  Contraction contraction(NodeId reduce, const Scope& axes) const;
  std::optional<DotRead> plain_read(NodeId id) const;
  bool direct_dot(DotPlan& plan, NodeId row, NodeId lane, std::span<const VariableId> binders) const;
  void split_axes(NodeId& reduce, Scope& axes);
  bool reads_along(NodeId root, const Scope& these, const Scope& those);
  bool varies(NodeId id) const;   // in the recurrence that is being planned
  std::vector<LaneAxis> lane_axes(const Scope& scope) const;
  void add(Step step, bool inside);
  Tape tape_of(std::vector<NodeId> roots, const Scope& axes, std::size_t no_collapse_at = 0);
  double volume(const Scope& scope) const;

  [[noreturn]] void stop(ErrorKind kind, std::string message, std::uint32_t place) const;

  const core::Program& program_;
  std::vector<std::optional<std::int64_t>> sizes_;
  const Options& options_;
  Nodes nodes_;
  Schedule out_;
  std::vector<Import> tensors_;
  std::vector<NodeId> terms_;          // imported
  std::vector<std::uint32_t> readers_; // per tensor
  std::vector<bool> reached_, reached_terms_;
  std::vector<VariableId> variables_;  // per program variable
  std::vector<std::int8_t> resolvable_;
  Scope scope_;                        // while importing
  std::vector<std::pair<NodeId, NodeId>> extracted_;  // node -> read of its tensor
  // The recurrence that is being planned, if one is.
  struct Surroundings {
    std::vector<Step>* steps = nullptr;
    VariableSet variables;
    std::vector<VariableId> context;
    std::uint32_t group = None;
    std::size_t member = 0;   // the one at work
    std::vector<std::pair<NodeId, NodeId>> extracted;
  };
  Surroundings around_;
  int depth_ = 0;
  using Rewritten = std::map<std::pair<NodeId, Scope>, NodeId>;
  Rewritten* rewritten_ = nullptr;  // by the `rewrite` at work, for one tape
  // For a tape of its own.
  class Apart {
  public:
    explicit Apart(Planner& p) : p_(p), former_(std::exchange(p.rewritten_, nullptr)) {}
    ~Apart() { p_.rewritten_ = former_; }
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

  private:
    Planner& p_;
    Rewritten* former_;
  };
};

}  // namespace ulpian::interp::block
