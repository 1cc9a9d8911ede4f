// Values of terms in an environment of index variables. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "interp/limits.h"
#include "interp/scalar/storage.h"
#include "interp/scalar/value.h"
#include "spec/core/diagnostic.h"
#include "spec/core/program.h"
#include "spec/strings/pattern.h"

namespace ulpian::interp {

// Ends an evaluation; caught where it began.
struct Stop {
  Diagnostic diagnostic;
};

// Terms whose evaluation nests deeper are refused (Limit); chains of selects and `else` do not nest.
inline constexpr int MostTermDepth = 1000;

class Terms {
public:
  Terms(const core::Program& program, const Limits& limits);

  Value value(core::TermId id);
  void set(core::Variable variable, Value value);

  // The tensors and sizes that terms read; filled by the one who evaluates the equations.
  std::vector<std::optional<Storage>> tensors;
  std::vector<std::optional<std::int64_t>> sizes;

  // Throws Stop when the memory, the time or the caller says so.
  void charge(std::int64_t bytes);
  void release(std::int64_t bytes) { memory_ -= bytes; }
  void check_time();
  // Once per turn of every loop whose length the data decides.
  void tick() {
    if ((++steps_ & 1023u) == 0) check_time();
  }

  // What is wrong with an element, as an error of the definition (or a limit).
  Diagnostic describe(const Poison& poison) const;
  [[noreturn]] void stop(ErrorKind kind, std::string message, std::uint32_t place = 0) const;

private:
  friend class Loop;
  struct Memo {
    std::uint64_t clock = 0;
    Value value;
  };
  // Of the pieces of one text, those asked for last: one after the other they take no more than one reading of it.
  struct Pieces {
    std::string text, mark;
    std::int64_t most = 0, charged = 0;
    std::vector<std::string_view> pieces;  // of `text`
  };
  struct Order {
    std::uint64_t clock = 0;
    std::vector<std::int64_t> places;
  };

  bool current(core::TermId id, std::uint64_t clock) const;
  Value compute(core::TermId id);
  Value constant(const core::Term& term) const;
  // An element, or where the index is outside: `outside` is set and the value says where.
  Value read(core::TermId id, std::span<const core::TermId> index, bool& outside);
  Value primitive(core::TermId id);
  Value random(core::TermId id);
  Value piece(core::TermId id, std::span<const Value> x);
  bool matches(const std::string& text, const std::string& pattern);
  Value reduce(core::TermId id);
  Value arg_extreme(core::TermId id, const core::ReduceView& view);
  Value dot(core::TermId id, const core::ReduceView& view);
  Value fold(core::TermId id);
  Value nth(core::TermId id);

  const core::Program& program_;
  const Limits& limits_;
  std::vector<Value> variables_;
  std::vector<std::uint64_t> changed_;  // per variable: the clock when it was set
  std::vector<Memo> memo_;              // per term
  std::unordered_map<core::TermId, Order> orders_;
  std::unordered_map<core::TermId, Pieces> pieces_;
  std::unordered_map<std::string, Pattern> patterns_;
  std::uint64_t clock_ = 1;
  std::int64_t memory_ = 0;
  std::uint32_t steps_ = 0;
  int depth_ = 0;
};

// All index tuples of bound variables, in lexicographic order; a later extent may use an earlier variable. Puts the variables' former
// values back at the end.
class Loop {
public:
  Loop(Terms& terms, std::span<const core::Variable> variables, std::span<const core::TermId> extents);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // To the first, or the next, tuple; false behind the last, or where an extent has no value (`poison`).
  bool first();
  bool next();
  const std::optional<Poison>& poison() const { return poison_; }
  std::span<const std::int64_t> at() const { return at_; }
  // How many tuples there are. Leaves the variables at no tuple.
  std::int64_t count();

private:
  bool settle(std::size_t level, bool carry);
  bool surely_empty();

  Terms& terms_;
  std::span<const core::Variable> variables_;
  std::span<const core::TermId> extents_;
  std::vector<Value> former_;
  std::vector<std::int64_t> at_, extent_;
  std::optional<Poison> poison_;
};

}  // namespace ulpian::interp
