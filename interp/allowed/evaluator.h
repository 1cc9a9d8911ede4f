// Terms of a program over boxes of index variables, as sets. Private to this folder.
//
// A box gives each bound variable a range of values; a term's value has one lane per point of the variables it depends on, so that what does
// not depend on a variable is computed once. Boxes are cut so that no term has more than MostLanes lanes.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "interp/allowed/allowed.h"
#include "interp/allowed/lanes.h"
#include "interp/allowed/primitives.h"
#include "interp/allowed/quick_sums.h"
#include "interp/limits.h"

namespace ulpian::interp::allowed {

inline constexpr std::int64_t MostLanes = std::int64_t{1} << 16;
inline constexpr int MostTermDepth = 3000;

// Ends an evaluation; caught where it began.
struct Stop {
  Diagnostic diagnostic;
};

// A tensor while a program is evaluated: all elements as lanes without axes.
struct Stored {
  Extents extents;
  Lanes lanes;
  std::shared_ptr<SumParts> sums;  // those of `lanes`, to be written
};

class Evaluator {
public:
  Evaluator(const core::Program& program, const Profile& profile, const Limits& limits);

  // `rounds`: of a term that ends an output (or ends up there through selections and copies): rounded to its type. All other floats are
  // intermediates, which an implementation may keep wider than their type.
  Value value(core::TermId id, bool rounds = false);
  // The single, certain integer of a term that no variable with a range is free in.
  std::int64_t known(core::TermId id, std::string_view what);
  // Binds a variable to [start, start + count); the outermost first.
  void open(core::Variable v, std::int64_t extent);  // its whole range, for planning; binds the first value
  void bind(core::Variable v, std::int64_t start, std::int64_t count);
  void close(core::Variable v);
  // Binds variables to the indices of some elements, row-major positions of `extents`, along one axis: in place of a box, until they are unbound. What hangs on
  // few of these variables is evaluated in a box all the same, once for all elements.
  void bind_points(std::span<const core::Variable> variables, std::span<const std::int64_t> extents, std::span<const std::int64_t> positions);
  void unbind_points(std::span<const core::Variable> variables);
  // While variables are bound to points: elements of this tensor are its body's value, and not stored.
  void read_through_to(core::TensorId tensor, Extents extents, bool rounds) { read_through_[tensor] = {std::move(extents), rounds}; }
  void read_through_nothing() { read_through_.clear(); }
  Axes points() const { return box(std::span(&points_, 1)); }
  // The variables' axes at the moment, of those with a range.
  Axes box(std::span<const core::Variable> variables) const;
  // How many values of each variable to take at once, so that what `roots` need stays small.
  std::vector<std::int64_t> plan(std::span<const core::Variable> variables, std::span<const std::int64_t> extents, std::span<const core::TermId> roots);

  std::vector<std::optional<Stored>> tensors;
  std::vector<std::optional<std::int64_t>> sizes;
  std::shared_ptr<const QuickSums> quick;  // reductions of certain numbers; may be null
  Rules rules;

  void charge(std::int64_t bytes);
  void check_time();
  [[noreturn]] void stop(ErrorKind kind, std::string message, std::uint32_t place = 0) const;
  void forget() {
    std::fill(memo_.begin(), memo_.end(), Memo{});
    std::fill(rounded_memo_.begin(), rounded_memo_.end(), Memo{});
    boxed_.clear();
  }

  // Calls f(counts of this block) for every block of the variables' box; they are bound while it runs.
  template <class F> void for_each_block(std::span<const core::Variable> variables, std::span<const std::int64_t> extents, std::span<const std::int64_t> counts, F&& f);

  const core::Program& program() const { return program_; }

private:
  struct Memo {
    std::uint64_t clock = 0;
    Value value;
  };
  struct Range {
    std::int64_t lo = INT64_MIN / 4, hi = INT64_MAX / 4;
  };
  struct Binding {
    std::int64_t start = 0, count = 1;
    std::uint64_t changed = 1;
    std::int64_t extent = -1;
    std::size_t order = 0;
    Value bound;  // of an accumulator, or of an index of points
  };
  struct Loop;

  bool current(core::TermId id, std::uint64_t clock) const;
  Value compute(core::TermId id, bool rounds);
  Value from_box(core::TermId id, bool rounds);
  Value read_through(core::TermId id);
  Value constant(const core::Term& t);
  Value select(core::TermId id, bool rounds);
  Value read(core::TermId id, bool rounds);
  Value read_points(core::TermId id, std::span<const Value> index, const Axes& axes, bool rounds);
  Value read_sets(core::TermId id, std::span<const Value> index, const Axes& axes, bool rounds);
  Value merge_else(core::TermId id, const Value& inside, const std::vector<std::uint8_t>& outside, const std::vector<std::uint8_t>& inside_too, bool rounds);
  Value choice(core::TermId id, bool rounds);
  Value reduce(core::TermId id, bool rounds);
  std::vector<std::int64_t> positions_in(std::span<const core::Variable> variables, const Extents& extents, const Axes& axes) const;
  void add_quickly(const QuickSums::Found& found, const Axes& outer, class Sums& sums) const;
  Value arg_extreme(core::TermId id, const core::ReduceView& view, Loop& loop);
  Value fold(core::TermId id);
  Value nth(core::TermId id);
  Axes joint_axes(std::span<const Value> values) const;
  Axes outer_axes(std::span<const core::TermId> terms, std::span<const core::Variable> inner);
  void open_loop(Loop& loop);
  Value filter_of(const core::ReduceView& view, const Loop& loop);

  const std::vector<core::Variable>& effective(core::TermId id);
  Range range(core::TermId id);
  void sizes_of_terms(core::TermId id, std::vector<char>& seen, std::vector<core::TermId>& out, std::unordered_map<core::Variable, std::int64_t>& counts);

  const core::Program& program_;
  const Limits& limits_;
  const core::Variable points_;  // none of the program's
  std::vector<Memo> memo_, rounded_memo_;
  std::vector<Binding> bindings_;  // per variable
  std::map<core::Variable, std::int64_t> point_extents_;  // of the variables that are bound to points
  std::map<std::pair<core::TermId, bool>, Value> boxed_;
  bool in_box_ = false;
  struct Through {
    Extents extents;
    bool rounds;
  };
  std::map<core::TensorId, Through> read_through_;
  std::vector<std::optional<std::vector<core::Variable>>> effective_;
  std::uint64_t clock_ = 1;
  std::size_t open_ = 0;
  std::int64_t memory_ = 0;
  std::uint32_t steps_ = 0;
  int depth_ = 0;
};

template <class F> void Evaluator::for_each_block(std::span<const core::Variable> variables, std::span<const std::int64_t> extents, std::span<const std::int64_t> counts, F&& f) {
  const std::size_t rank = variables.size();
  for (std::int64_t e : extents)
    if (e <= 0) return;
  std::vector<std::int64_t> start(rank, 0);
  for (;;) {
    check_time();
    for (std::size_t d = 0; d < rank; ++d) bind(variables[d], start[d], std::min(counts[d], extents[d] - start[d]));
    f(std::span<const std::int64_t>(start));
    std::size_t d = rank;
    while (d > 0) {
      --d;
      start[d] += counts[d];
      if (start[d] < extents[d]) break;
      start[d] = 0;
      if (d == 0) return;
    }
    if (rank == 0) return;
  }
}

}  // namespace ulpian::interp::allowed
