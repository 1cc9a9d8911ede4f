#include "interp/ideal/nearness.h"

#include <algorithm>

#include "spec/numbers/format.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::TensorId;
using core::TensorKind;
using core::Term;
using core::TermId;
using core::TermKind;

Nearness least(Nearness a, Nearness b) { return std::min(a, b); }
// One rounding of what is exact.
Nearness once(Nearness arguments) { return arguments == Nearness::Same ? Nearness::Rounded : Nearness::Unknown; }
Nearness only_same(Nearness arguments) { return arguments == Nearness::Same ? Nearness::Same : Nearness::Unknown; }

bool as_number(ElementType t) { return is_float(t) || is_complex(t); }

class Walk {
public:
  explicit Walk(const core::Program& program) : p_(program), tensors_(program.tensors.size(), Nearness::Same), terms_(program.terms.size()) {
    // Downwards from the best until nothing changes: what a recurrence reads of itself holds by induction over its steps.
    for (bool again = true; again;) {
      again = false;
      std::fill(terms_.begin(), terms_.end(), std::nullopt);
      for (TensorId id = 0; id < tensors_.size(); ++id) {
        const Nearness n = least(tensors_[id], of_tensor(p_.tensor(id)));
        again = again || n != tensors_[id];
        tensors_[id] = n;
      }
    }
  }
  Nearnesses all() {
    Nearnesses out{tensors_, {}};
    for (TermId id = 0; id < terms_.size(); ++id) out.terms.push_back(of(id));
    return out;
  }

private:
  Nearness all_same(std::span<const TermId> ids) {
    Nearness out = Nearness::Same;
    for (TermId id : ids) out = least(out, of(id));
    return only_same(out);
  }
  Nearness optional_same(TermId id) { return id == None ? Nearness::Same : only_same(of(id)); }

  Nearness of_tensor(const core::TensorNode& n) {
    Nearness out = least(all_same(n.extents), all_same(n.domain));
    switch (n.kind) {
      case TensorKind::Input:
      case TensorKind::Literal: return out;
      case TensorKind::Comprehension:
      case TensorKind::Recurrence: return least(out, of(n.body));
      case TensorKind::Where:
      case TensorKind::Measured: return least(out, only_same(of(n.body)));
      case TensorKind::Scatter: {
        out = least(out, least(optional_same(n.scatter.filter), all_same(n.scatter.index)));
        const Nearness values = least(tensors_[n.scatter.base], of(n.body));
        const bool computes = n.scatter.mode == core::ScatterMode::Add || n.scatter.mode == core::ScatterMode::Multiply;
        return least(out, computes ? (as_number(n.type) ? Nearness::Unknown : only_same(values)) : values);
      }
    }
    return Nearness::Unknown;
  }

  Nearness of(TermId id) {
    if (!terms_[id]) terms_[id] = compute(id);
    return *terms_[id];
  }

  Nearness compute(TermId id) {
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Constant:
      case TermKind::Variable:  // an index; of a fold's accumulator see there
      case TermKind::Unspecified: return Nearness::Same;
      case TermKind::Size: {
        const TensorId by = p_.sizes[t.data].defined_by;
        return by == None ? Nearness::Same : only_same(tensors_[by]);
      }
      case TermKind::Random: return all_same(a);
      case TermKind::Primitive: return primitive(t, a);
      case TermKind::Cast: return cast(t, a[0]);
      case TermKind::Select: return least(only_same(of(a[0])), least(of(a[1]), of(a[2])));
      case TermKind::Read: return least(all_same(a), tensors_[t.data]);
      case TermKind::ReadElse: return least(all_same(a.first(a.size() - 1)), least(tensors_[t.data], of(a.back())));
      case TermKind::Choice: return of(a[0]);
      case TermKind::Reduce: return reduce(id);
      case TermKind::Fold: {
        // An accumulator that stays the same number from step to step; its first value must be one, too.
        const core::FoldView f = p_.fold(id);
        return least(all_same(f.extents), least(only_same(of(f.initial)), only_same(of(f.body))));
      }
      case TermKind::Nth: {
        const core::NthView n = p_.nth(id);
        return least(only_same(of(n.extent)), least(only_same(of(n.place)), all_same(n.keys)));
      }
    }
    return Nearness::Unknown;
  }

  Nearness primitive(const Term& t, std::span<const TermId> a) {
    const auto p = static_cast<Primitive>(t.operation);
    const ElementType type = p_.term(a[0]).type;
    Nearness all = Nearness::Same;
    for (TermId x : a) all = least(all, of(x));
    if (!as_number(type)) return only_same(all);  // integers, bools, texts, R
    switch (p) {
      // A rounding is monotone and the same on both sides of zero.
      case Primitive::Negate:
      case Primitive::Minimum:
      case Primitive::Maximum: return all;
      case Primitive::Absolute: return is_complex(type) ? once(all) : all;
      case Primitive::Add:
      case Primitive::Subtract: return once(all);
      case Primitive::Multiply:
      case Primitive::Divide:
      case Primitive::Reciprocal: return is_complex(type) ? Nearness::Unknown : once(all);
      case Primitive::SquareRoot:
      case Primitive::Modulo: return once(all);
      case Primitive::Sign:
      case Primitive::Remainder:  // exact
      case Primitive::NextAfter:
      case Primitive::Floor:
      case Primitive::Ceiling:
      case Primitive::RoundEven:
      case Primitive::Truncate:
      case Primitive::ToReal: return only_same(all);
      default: break;
    }
    if (row_of(p).kind == PrimitiveKind::Comparison) return only_same(all);
    // Of f64 an edition may have 0.5001 ULP.
    if (row_of(p).kind == PrimitiveKind::Elementary && type != ElementType::F64) return once(all);
    return Nearness::Unknown;
  }

  Nearness cast(const Term& t, TermId argument) {
    const ElementType from = p_.term(argument).type;
    const Nearness n = of(argument);
    if (from == t.type) return n;
    if (static_cast<CastMode>(t.operation) == CastMode::Reinterpret || !as_number(t.type)) return only_same(n);
    return holds_all(from, t.type) ? only_same(n) : once(n);
  }

  // Whether each number of one type is one of the other.
  static bool holds_all(ElementType from, ElementType to) {
    if (!is_float(to)) return false;
    if (from == ElementType::Bool) return to != ElementType::F8E8M0;
    if (is_integer(from)) return (to == ElementType::F32 || to == ElementType::F64) && bits_of(from) <= format_of(to).precision();
    return is_float(from) && (to == ElementType::F64 || (to == ElementType::F32 && from != ElementType::F64));
  }

  Nearness reduce(TermId id) {
    const core::ReduceView r = p_.reduce(id);
    Nearness out = least(all_same(r.extents), optional_same(r.filter));
    Nearness values = r.initial == None ? Nearness::Same : of(r.initial);
    for (TermId b : r.bodies) values = least(values, of(b));
    switch (r.kind) {
      case core::ReduceKind::Maximum:
      case core::ReduceKind::Minimum: return least(out, values);
      case core::ReduceKind::Sum:
      case core::ReduceKind::Dot:
      case core::ReduceKind::Product: return as_number(p_.term(id).type) ? Nearness::Unknown : least(out, only_same(values));
      default: return least(out, only_same(values));
    }
  }

  const core::Program& p_;
  std::vector<Nearness> tensors_;
  std::vector<std::optional<Nearness>> terms_;
};

}  // namespace

Nearnesses nearnesses(const core::Program& program) { return Walk(program).all(); }

}  // namespace ulpian::interp
