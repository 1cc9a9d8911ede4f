#include "interp/allowed/intermediates.h"

#include <utility>

namespace ulpian::interp::allowed {

bool rounds_in_canonical(const core::Program& p, core::TermId id) {
  using core::TermKind;
  const core::Term& t = p.term(id);
  if (!is_float(t.type)) return false;
  if (t.kind == TermKind::Reduce) {
    const auto kind = static_cast<core::ReduceKind>(t.operation);
    return kind == core::ReduceKind::Sum || kind == core::ReduceKind::Dot || kind == core::ReduceKind::Product;
  }
  if (t.kind == TermKind::Primitive) {
    switch (static_cast<Primitive>(t.operation)) {
      case Primitive::Add:
      case Primitive::Subtract:
      case Primitive::Multiply:
      case Primitive::Divide:
      case Primitive::Reciprocal:
      case Primitive::SquareRoot:
      case Primitive::Modulo: return true;
      default: return row_of(static_cast<Primitive>(t.operation)).kind == PrimitiveKind::Elementary;
    }
  }
  if (t.kind != TermKind::Cast) return false;
  const ElementType from = p.term(p.arguments_of(id)[0]).type;
  if (from == ElementType::R) return true;
  if (is_float(from)) return format_of(from).precision() > format_of(t.type).precision();
  return from == ElementType::Z || (is_integer(from) && bits_of(from) > format_of(t.type).precision());
}

namespace {

using core::None;
using core::TensorKind;
using core::TermId;
using core::TermKind;

class Walk {
public:
  explicit Walk(const core::Program& program) : p_(program), needed_(program.tensors.size()), handed_on_(program.tensors.size()) {
    for (std::vector<bool>& s : seen_) s.resize(program.terms.size());
    for (const core::Recurrence& r : p_.recurrences)
      for (core::TensorId m : r.members) handed_on_[m] = true;  // states
    for (core::TensorId t : p_.outputs)
      if (t != None) needed_[t] = true;
  }

  Intermediates run() {
    // Readers stand behind what they read, but for the members of a recurrence.
    for (const core::Recurrence& r : p_.recurrences)
      for (core::TensorId m : r.members) tensor(m);
    for (core::TensorId t = static_cast<core::TensorId>(p_.tensors.size()); t-- > 0;)
      if (needed_[t]) tensor(t);
    for (std::size_t t = 0; t < handed_on_.size(); ++t) out_.rounded.push_back(!handed_on_[t]);
    return std::move(out_);
  }

private:
  void tensor(core::TensorId id) {
    const core::TensorNode& n = p_.tensor(id);
    const bool ends = !handed_on_[id];
    for (TermId e : n.extents) terms(e, false);
    for (TermId e : n.domain) terms(e, false);
    if (n.kind == TensorKind::Recurrence)
      for (TermId e : p_.recurrences[n.group].extents) terms(e, false);
    bool body_ends = ends && (n.kind == TensorKind::Comprehension);
    if (n.kind == TensorKind::Scatter) {
      const bool combines = n.scatter.mode == core::ScatterMode::Add || n.scatter.mode == core::ScatterMode::Multiply;
      body_ends = ends && !combines;
      if (combines && is_float(n.type) && !ends) out_.matter = true;
      read(n.scatter.base, body_ends);
      for (TermId e : n.scatter.index) terms(e, false);
      if (n.scatter.filter != None) terms(n.scatter.filter, false);
    }
    if (n.body != None) terms(n.body, body_ends);
  }

  void read(core::TensorId t, bool ends) {
    needed_[t] = true;
    if (!ends) handed_on_[t] = true;
  }

  void terms(TermId root, bool root_ends) {
    std::vector<std::pair<TermId, bool>> stack{{root, root_ends}};
    while (!stack.empty()) {
      const auto [id, ends] = stack.back();
      stack.pop_back();
      const core::Term& t = p_.term(id);
      const bool still = ends && is_float(t.type);
      if (seen_[still][id]) continue;
      seen_[still][id] = true;
      if (!still && rounds_in_canonical(p_, id)) out_.matter = true;
      if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) read(static_cast<core::TensorId>(t.data), still);
      if (t.kind == TermKind::Size && p_.sizes[t.data].defined_by != None) read(p_.sizes[t.data].defined_by, false);
      const auto a = p_.arguments_of(id);
      for (std::size_t k = 0; k < a.size(); ++k) {
        bool passes = false;
        switch (t.kind) {
          case TermKind::Primitive: passes = passes_rounding(static_cast<Primitive>(t.operation)); break;
          case TermKind::Select: passes = k > 0; break;
          case TermKind::Choice: passes = true; break;
          case TermKind::ReadElse: passes = k + 1 == a.size(); break;
          case TermKind::Cast: passes = static_cast<CastMode>(t.operation) == CastMode::Plain && p_.term(a[k]).type == t.type; break;
          default: break;
        }
        stack.emplace_back(a[k], still && passes);
      }
    }
  }

  const core::Program& p_;
  std::vector<bool> needed_, handed_on_;
  std::vector<bool> seen_[2];
  Intermediates out_;
};

}  // namespace

bool passes_rounding(Primitive p) { return p == Primitive::Negate || p == Primitive::Absolute || p == Primitive::Minimum || p == Primitive::Maximum; }

Intermediates intermediates_of(const core::Program& program) { return Walk(program).run(); }

}  // namespace ulpian::interp::allowed
