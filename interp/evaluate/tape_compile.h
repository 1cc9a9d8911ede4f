// The compiler of tapes, shared by its two files: terms to instructions (tape_compile.cpp), registers to slots and axes joined
// (tape_registers.cpp).
#pragma once

#include "interp/evaluate/tape.h"

namespace ulpian::interp::block {

struct Compiled {
  Register value = NoRegister;
  Register poison = NoRegister;
};

class TapeCompiler {
public:
  TapeCompiler(Nodes& nodes, const TapeRequest& request, Instructions level);
  Tape run();

private:
  struct Memo {
    Compiled compiled;
    bool done = false;
  };

  Compiled visit(NodeId id, int depth);
  Compiled primitive(NodeId id, int depth);
  Compiled random(NodeId id, int depth);
  Compiled cast(NodeId id, int depth);
  Compiled select(NodeId id, int depth);
  Compiled read(NodeId id, int depth);
  Compiled reduce(NodeId id, int depth);
  Compiled fold(NodeId id, int depth);
  Compiled leaf(NodeId id);

  void partial(Instruction& i, ElementType from, ElementType to, int level, bool one);
  int level_of(const VariableSet& free) const;
  bool uniform(NodeId id) const { return !nodes_.free(id).meets(lane_variables_); }
  Register make_register(ElementType type, bool uniform);
  Register make_mask(bool uniform);
  void emit(int level, Instruction instruction);
  Register lanes(Register r);
  Register as(Register r, bool uniform) { return uniform ? r : lanes(r); }
  Register either(Register a, Register b, int level, bool uniform);
  LinearForm index_form(NodeId id) const;
  Form form(const LinearForm& linear, Register& poison, int level, int depth);
  std::uint8_t origin(std::uint32_t place);
  struct Open {
    std::vector<std::vector<Instruction>*> saved;
    std::size_t log = 0;
    int level = 0;
  };
  Open open(Loop& loop, int level, std::span<const VariableId> variables);
  void close(const Open& open);

  void assign_slots();
  void collapse_axes();
  template <class F> void uses(const Instruction& i, F&& f) const;
  void number(const std::vector<Instruction>& list, std::vector<struct Life>& lives, std::vector<std::pair<std::uint32_t, std::uint32_t>>& open,
              std::uint32_t& position) const;
  double cost_of(const std::vector<Instruction>& list) const;

  Nodes& nodes_;
  const TapeRequest& request_;
  const KernelTable& kernels_;
  Tape tape_;
  std::vector<Memo> memo_;
  std::vector<Register> lane_copy_;         // per register, its broadcast
  std::vector<int> register_level_;
  std::vector<std::vector<Instruction>*> stack_;
  std::vector<std::pair<NodeId, int>> log_;       // compiled nodes and their levels, while loops are open
  std::vector<std::pair<Register, int>> copy_log_;
  std::array<int, MaxVariables> level_{};         // of each variable; -1: not bound here
  std::array<std::uint16_t, MaxVariables> axis_{};
  std::array<std::uint16_t, MaxVariables> slot_{};
  std::array<Register, MaxVariables> accumulator_{}, accumulator_poison_{};
  VariableSet lane_variables_;
};

}  // namespace ulpian::interp::block
