// Terms of core programs as Z3 terms. Exact on Z, R (as far as +, -, *, / and floor go) and on conditions over them; what elements of tensors
// hold, and everything computed from them in machine arithmetic, is an unknown function of the indices: what is proved holds for all data.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include <z3++.h>

#include "spec/core/program.h"

namespace ulpian::tools {

// What bound variables stand for, in one reading of a term; remembers what has been translated.
struct Scope {
  std::unordered_map<core::Variable, z3::expr> variables;
  std::unordered_map<core::TermId, z3::expr> known;
};

class Translator {
public:
  Translator(z3::context& context, const core::Program& program);

  z3::expr integer(core::TermId id, Scope& scope);  // of Z, or of an integer element
  z3::expr truth(core::TermId id, Scope& scope);    // of a condition
  z3::expr real(core::TermId id, Scope& scope);
  z3::expr size(core::Size s);
  // Elements of an input as the unknown function of the indices that stands for them.
  z3::expr element(core::TensorId tensor, const std::vector<z3::expr>& index);
  z3::expr fresh(const std::string& name) { return context_.int_const(fmt_name(name).c_str()); }

  // True of every value of what was translated so far: types' limits, counts, coordinates. Taken out as they come up.
  std::vector<z3::expr> take_facts() { return std::exchange(facts_, {}); }
  // 0 <= x < extent, for each.
  z3::expr within(const z3::expr& x, const z3::expr& extent) { return x >= 0 && x < extent; }
  z3::context& context() { return context_; }
  const core::Program& program() const { return program_; }

  // A scope for the elements of a tensor at an index.
  Scope at(core::TensorId tensor, const std::vector<z3::expr>& index);

private:
  z3::expr term(core::TermId id, Scope& scope);
  z3::expr compute(core::TermId id, Scope& scope);
  z3::expr unknown(core::TermId id, Scope& scope);
  z3::expr constant(const core::Term& t);
  z3::expr primitive(core::TermId id, Scope& scope);
  z3::expr on_integers(core::TermId id, Scope& scope);
  z3::expr on_reals(core::TermId id, Scope& scope);
  z3::expr floor_divide(const z3::expr& a, const z3::expr& b);
  z3::expr read(core::TermId id, std::span<const core::TermId> index, Scope& scope);
  z3::expr coordinate(core::TermId id, const core::TensorNode& node, const std::vector<z3::expr>& index);
  z3::expr reduce(core::TermId id, Scope& scope);
  z3::expr quantified(const core::ReduceView& view, Scope& scope);
  z3::expr nth(core::TermId id, Scope& scope);
  z3::sort sort_of(ElementType type);
  void fact(const z3::expr& e);
  void limits(const z3::expr& e, ElementType type);
  std::string fmt_name(const std::string& name);

  z3::context& context_;
  const core::Program& program_;
  std::vector<z3::expr> facts_;
  std::vector<std::optional<z3::expr>> sizes_;
  int quantifiers_ = 0;  // inside of them nothing is known of what is bound
  int depth_ = 0;        // of readings through equations
  std::uint32_t names_ = 0;
};

}  // namespace ulpian::tools
