// Every structural promise of program.h, checked without recursion: ids first, so that later checks may follow them.
#include <algorithm>

#include <fmt/format.h>

#include "spec/core/program.h"

namespace ulpian::core {
namespace {

using Broken = std::optional<std::string>;

std::string_view text_of(ElementType t) { return ulpian::name_of(t); }

bool holds_real_or_integer(ElementType t) { return t == ElementType::Z || t == ElementType::R; }
bool machine_number(ElementType t) { return is_float(t) || is_integer(t) || is_complex(t); }
bool number(ElementType t) { return machine_number(t) || holds_real_or_integer(t); }

// --- terms

class TermChecker {
public:
  explicit TermChecker(const Program& p) : p_(p) {}

  Broken check() {
    if (p_.variable_sets.empty()) return "there is no variable set 0";
    for (std::size_t k = 0; k < p_.variable_sets.size(); ++k)
      if (Broken b = check_set(p_.variable_sets[k])) return fmt::format("variable set {}: {}", k, *b);
    for (std::size_t k = 0; k < p_.binder_lists.size(); ++k)
      for (Variable v : p_.binder_lists[k])
        if (v >= p_.variables.size()) return fmt::format("binder list {}: there is no variable {}", k, v);
    for (TermId id = 0; id < p_.terms.size(); ++id)
      if (Broken b = check_term(id)) return fmt::format("term {}: {}", id, *b);
    return std::nullopt;
  }

private:
  Broken check_set(const std::vector<Variable>& set) const {
    for (std::size_t k = 0; k < set.size(); ++k) {
      if (set[k] >= p_.variables.size()) return fmt::format("there is no variable {}", set[k]);
      if (k && set[k - 1] >= set[k]) return "not sorted, or a variable twice";
    }
    return std::nullopt;
  }

  ElementType type(TermId id) const { return p_.terms[id].type; }

  Broken check_term(TermId id) {
    const Term& t = p_.terms[id];
    if (t.first > p_.arguments.size() || t.count > p_.arguments.size() - t.first) return "its arguments lie outside the program's";
    for (TermId a : p_.arguments_of(id))
      if (a >= id) return fmt::format("argument {} does not stand before it", a);
    if (t.place >= std::max<std::size_t>(1, p_.places.size())) return fmt::format("there is no place {}", t.place);
    if (t.free >= p_.variable_sets.size()) return fmt::format("there is no variable set {}", t.free);
    const bool binds = t.kind == TermKind::Reduce || t.kind == TermKind::Fold || t.kind == TermKind::Nth;
    if (binds != (t.binders != None)) return binds ? "it binds no variables" : "it has binders and its kind binds none";
    if (binds && t.binders >= p_.binder_lists.size()) return fmt::format("there is no binder list {}", t.binders);
    if (Broken b = check_flags(t)) return b;
    if (Broken b = check_kind(id, t)) return b;
    return check_free(id, t);
  }

  Broken check_flags(const Term& t) const {
    std::uint8_t may = 0;
    if (t.kind == TermKind::ReadElse) may = OptionalTerm;
    if (t.kind == TermKind::Nth) may = Descending;
    if (t.kind == TermKind::Reduce) may = HasFilter | OptionalFilter | HasInitial;
    if (t.flags & ~may) return fmt::format("flags {:#x} do not belong to its kind", t.flags);
    if ((t.flags & OptionalFilter) && !(t.flags & HasFilter)) return "an optional filter that is none";
    return std::nullopt;
  }

  Broken check_kind(TermId id, const Term& t) const {
    const auto a = p_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Constant: return a.empty() ? check_constant(t) : Broken("a constant with arguments");
      case TermKind::Variable:
        if (!a.empty() || t.data >= p_.variables.size()) return "not one variable of the program";
        return p_.variables[t.data].type == t.type ? Broken() : Broken("not of its variable's type");
      case TermKind::Size:
        if (!a.empty() || t.data >= p_.sizes.size()) return "not one size symbol of the program";
        return t.type == ElementType::Z ? Broken() : Broken("a size symbol that is not of Z");
      case TermKind::Primitive: return check_primitive(t, a);
      case TermKind::Cast: return check_cast(t, a);
      case TermKind::Select:
        if (a.size() != 3) return fmt::format("a select of {} arguments", a.size());
        if (type(a[0]) != ElementType::Bool) return "the condition of a select is no bool";
        return type(a[1]) == t.type && type(a[2]) == t.type ? Broken() : Broken("the branches of a select are not of its type");
      case TermKind::Read: return check_read(t, a, a.size());
      case TermKind::ReadElse:
        if (a.empty() || type(a.back()) != t.type) return "the value outside is not of the read's type";
        return check_read(t, a, a.size() - 1);
      case TermKind::Reduce: return check_reduce(id, t);
      case TermKind::Fold: return check_fold(id, t);
      case TermKind::Nth: return check_nth(id, t);
      case TermKind::Choice:
        if (t.operation > static_cast<std::uint8_t>(ChoiceKind::WithinBody)) return "no kind of choice";
        if (a.empty()) return "a choice of nothing";
        for (TermId x : a)
          if (type(x) != t.type) return "the alternatives are not of one type";
        return std::nullopt;
      case TermKind::Unspecified: return a.empty() ? Broken() : Broken("arguments of an unspecified value");
      case TermKind::Random:
        if (t.type != ElementType::F64) return "a random number is of f64";
        if (a.size() != 3) return "a random number has a key, a position and a draw";
        return all_integers(a) ? Broken() : Broken("a key, position or draw that is not of Z");
    }
    return "no kind of term";
  }

  Broken check_constant(const Term& t) const {
    if (t.type == ElementType::Z) return std::nullopt;
    if (t.type == ElementType::R) return t.data < p_.reals.size() ? Broken() : Broken("there is no such real constant");
    if (t.type == ElementType::String) return t.data < p_.texts.size() ? Broken() : Broken("there is no such text");
    const int bits = bits_of(t.type);
    if (bits > 64) return "a constant of more than 64 bits";
    if (bits < 64 && (t.data >> bits) != 0) return fmt::format("bits {:#x} beyond the width of {}", t.data, text_of(t.type));
    return std::nullopt;
  }

  static bool defined_on(Primitive p, ElementType t) {
    const PrimitiveRow& row = row_of(p);
    if (row.kind == PrimitiveKind::Text) return t == ElementType::String;
    if (t == ElementType::String) return p == Primitive::Equal || p == Primitive::NotEqual || p == Primitive::Less || p == Primitive::LessEqual ||
                                         p == Primitive::Greater || p == Primitive::GreaterEqual || p == Primitive::ToReal;
    if (t == ElementType::Bool) return row.on_bool;
    // The reals have the divisions of the integers too.
    if (t == ElementType::R) return row.on_floats || p == Primitive::FloorDivide || p == Primitive::Quotient;
    if (t == ElementType::Z) return row.on_integers;
    if (is_complex(t)) return row.on_complex;
    return is_float(t) ? row.on_floats : row.on_integers;
  }

  Broken check_primitive(const Term& t, std::span<const TermId> a) const {
    if (t.operation >= PrimitiveCount) return "no primitive";
    const auto p = static_cast<Primitive>(t.operation);
    const PrimitiveRow& row = row_of(p);
    if (static_cast<int>(a.size()) != row.arity) return fmt::format("`{}` takes {} arguments, not {}", row.name, row.arity, a.size());
    const ElementType of = type(a[0]);
    for (std::size_t k = 0; k < a.size(); ++k)
      if (type(a[k]) != argument_type(p, of, k)) return fmt::format("`{}` of {} and {}", row.name, text_of(of), text_of(type(a[k])));
    if (!defined_on(p, of)) return fmt::format("`{}` is not defined on {}", row.name, text_of(of));
    if (t.type != result_type(p, of)) return fmt::format("`{}` of {} does not yield {}", row.name, text_of(of), text_of(t.type));
    return std::nullopt;
  }

  Broken check_cast(const Term& t, std::span<const TermId> a) const {
    if (a.size() != 1) return fmt::format("a cast of {} arguments", a.size());
    if (t.operation > static_cast<std::uint8_t>(CastMode::Reinterpret)) return "no mode of cast";
    const auto mode = static_cast<CastMode>(t.operation);
    const ElementType from = type(a[0]);
    if (mode == CastMode::Reinterpret)
      return machine_number(from) && machine_number(t.type) && bits_of(from) == bits_of(t.type) ? Broken() : fmt::format("the bits of {} as {}", text_of(from), text_of(t.type));
    const bool scale_mode = mode != CastMode::Plain && mode != CastMode::Saturate && mode != CastMode::Exact;
    if (scale_mode && t.type != ElementType::F8E8M0) return fmt::format("a mode of f8e8m0 for {}", text_of(t.type));
    const ElementType other = from == ElementType::String ? t.type : from;
    if ((from == ElementType::String || t.type == ElementType::String) && from != t.type && (is_complex(other) || other == ElementType::R))
      return fmt::format("a cast of {} to {}", text_of(from), text_of(t.type));
    if (t.type == ElementType::Z && !is_integer(from) && from != ElementType::Bool && from != ElementType::Z)
      return fmt::format("a cast of {} to Z", text_of(from));
    return std::nullopt;
  }

  bool all_integers(std::span<const TermId> a) const {
    return std::all_of(a.begin(), a.end(), [&](TermId x) { return type(x) == ElementType::Z; });
  }

  Broken check_read(const Term& t, std::span<const TermId> a, std::size_t rank) const {
    if (t.data >= p_.tensors.size()) return fmt::format("there is no tensor {}", t.data);
    const TensorNode& n = p_.tensors[t.data];
    if (t.type != n.type) return fmt::format("reads {} of {}", text_of(t.type), text_of(n.type));
    if (rank != n.extents.size()) return fmt::format("{} indices of \"{}\", which has {} axes", rank, n.name, n.extents.size());
    return all_integers(a.first(rank)) ? Broken() : Broken("an index that is not of Z");
  }

  // Distinct index variables of Z with Z extents, each of which uses only the variables before it.
  Broken check_binders(std::span<const Variable> variables, std::span<const TermId> extents) const {
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (p_.variables[variables[k]].type != ElementType::Z) return "an index variable that is not of Z";
      if (std::find(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(k), variables[k]) != variables.begin() + static_cast<std::ptrdiff_t>(k))
        return "a variable bound twice";
      if (type(extents[k]) != ElementType::Z) return "an extent that is not of Z";
      if (uses(extents[k], variables.subspan(k))) return "an extent uses a variable that is bound later";
    }
    return std::nullopt;
  }

  bool uses(TermId id, std::span<const Variable> variables) const {
    const auto free = p_.free_of(id);
    return std::any_of(variables.begin(), variables.end(), [&](Variable v) { return std::binary_search(free.begin(), free.end(), v); });
  }

  Broken check_reduce(TermId id, const Term& t) const {
    if (t.operation > static_cast<std::uint8_t>(ReduceKind::ArgMin)) return "no kind of reduction";
    const auto kind = static_cast<ReduceKind>(t.operation);
    const std::size_t bodies = kind == ReduceKind::Dot ? 2 : kind == ReduceKind::Count ? 0 : 1;
    const std::size_t extra = ((t.flags & HasFilter) ? 1u : 0u) + ((t.flags & HasInitial) ? 1u : 0u);
    const std::size_t n = p_.binder_lists[t.binders].size();
    if (t.count != n + extra + bodies) return fmt::format("{} arguments of a {} over {} variables", t.count, name_of(kind), n);
    const ReduceView v = p_.reduce(id);
    if (Broken b = check_binders(v.variables, v.extents)) return b;
    if (v.filter != None && type(v.filter) != ElementType::Bool) return "a filter that is no bool";
    if (v.initial != None && type(v.initial) != t.type) return "the initial value is not of the accumulator's type";
    if (v.initial != None && uses(v.initial, v.variables)) return "the initial value uses a bound variable";
    return check_bodies(v, t.type);
  }

  Broken check_bodies(const ReduceView& v, ElementType result) const {
    const auto wrong = [&](std::string_view what) { return fmt::format("{} of {}: {}", name_of(v.kind), text_of(result), what); };
    for (TermId body : v.bodies) {
      const ElementType b = type(body);
      switch (v.kind) {
        case ReduceKind::Sum:
        case ReduceKind::Product:
        case ReduceKind::Dot:
          if (!number(b) || !number(result)) return wrong("not of numbers");
          if ((holds_real_or_integer(b) || holds_real_or_integer(result)) && b != result) return wrong("Z and R are accumulated as such");
          if (is_float(b) != is_float(result) && b != result) return wrong(fmt::format("does not take {}", text_of(b)));
          break;
        case ReduceKind::Maximum:
        case ReduceKind::Minimum:
          if (b != result || is_complex(b) || b == ElementType::String) return wrong(fmt::format("does not take {}", text_of(b)));
          break;
        case ReduceKind::Any:
        case ReduceKind::All:
          if (b != ElementType::Bool) return wrong("not of bool");
          break;
        case ReduceKind::Count: break;
        case ReduceKind::ArgMax:
        case ReduceKind::ArgMin:
          if (is_complex(b)) return wrong("complex numbers have no order");
          break;
      }
    }
    const bool position = v.kind == ReduceKind::Count || v.kind == ReduceKind::ArgMax || v.kind == ReduceKind::ArgMin;
    if (position && result != ElementType::Z) return wrong("a position or count is of Z");
    if ((v.kind == ReduceKind::Any || v.kind == ReduceKind::All) && result != ElementType::Bool) return wrong("must be bool");
    const bool has_no_initial = v.kind == ReduceKind::ArgMax || v.kind == ReduceKind::ArgMin;
    return has_no_initial && v.initial != None ? Broken(wrong("takes no initial value")) : Broken();
  }

  Broken check_fold(TermId id, const Term& t) const {
    const std::size_t bound = p_.binder_lists[t.binders].size();
    if (bound == 0 || t.count != bound + 1) return fmt::format("{} arguments of a fold over {} variables", t.count, bound);
    const FoldView v = p_.fold(id);
    if (Broken b = check_binders(v.variables, v.extents)) return b;
    if (std::find(v.variables.begin(), v.variables.end(), v.accumulator) != v.variables.end()) return "the accumulator is also an index";
    const std::vector<Variable>& all = p_.binder_lists[t.binders];
    for (TermId e : v.extents)
      if (uses(e, std::span(&v.accumulator, 1))) return "an extent uses the accumulator";
    if (uses(v.initial, all)) return "the initial value uses a bound variable";
    if (p_.variables[v.accumulator].type != t.type || type(v.initial) != t.type || type(v.body) != t.type)
      return "accumulator, initial value and body are not of one type";
    return std::nullopt;
  }

  Broken check_nth(TermId id, const Term& t) const {
    if (p_.binder_lists[t.binders].size() != 1 || t.count < 3) return "not one variable and at least one key";
    const NthView v = p_.nth(id);
    const std::span<const Variable> bound(&v.variable, 1);
    if (t.type != ElementType::Z || type(v.place) != ElementType::Z) return "an index or place that is not of Z";
    if (Broken b = check_binders(bound, std::span(&v.extent, 1))) return b;
    if (uses(v.place, bound)) return "the place uses the bound variable";
    for (TermId k : v.keys)
      if (is_complex(type(k))) return "complex keys have no order";
    return std::nullopt;
  }

  // The set that the term names is what its arguments leave free.
  Broken check_free(TermId id, const Term& t) {
    scratch_.clear();
    if (t.kind == TermKind::Variable) scratch_.push_back(static_cast<Variable>(t.data));
    for (TermId a : p_.arguments_of(id)) {
      const auto free = p_.free_of(a);
      scratch_.insert(scratch_.end(), free.begin(), free.end());
    }
    std::sort(scratch_.begin(), scratch_.end());
    scratch_.erase(std::unique(scratch_.begin(), scratch_.end()), scratch_.end());
    if (t.binders != None) {
      const std::vector<Variable>& bound = p_.binder_lists[t.binders];
      std::erase_if(scratch_, [&](Variable v) { return std::find(bound.begin(), bound.end(), v) != bound.end(); });
    }
    return scratch_ == p_.variable_sets[t.free] ? Broken() : Broken("its set of free variables is not what its arguments leave free");
  }

  const Program& p_;
  std::vector<Variable> scratch_;
};

// --- tensors

class TensorChecker {
public:
  explicit TensorChecker(const Program& p) : p_(p) { collect_uses(); }

  Broken check() {
    for (std::size_t s = 0; s < p_.sizes.size(); ++s) {
      const TensorId t = p_.sizes[s].defined_by;
      if (t == None) continue;
      if (t >= p_.tensors.size()) return fmt::format("size {}: there is no tensor {}", p_.sizes[s].name, t);
      const TensorKind k = p_.tensors[t].kind;
      if (k != TensorKind::Where && k != TensorKind::Measured) return fmt::format("size {}: \"{}\" defines no size", p_.sizes[s].name, p_.tensors[t].name);
    }
    for (std::size_t g = 0; g < p_.recurrences.size(); ++g)
      if (Broken b = check_recurrence(g)) return fmt::format("recurrence {}: {}", g, *b);
    for (TensorId t = 0; t < p_.tensors.size(); ++t)
      if (Broken b = check_tensor(t)) return fmt::format("tensor {} \"{}\": {}", t, p_.tensors[t].name, *b);
    return check_ends();
  }

private:
  // What a term reads, below all its arguments: the greatest tensor and the greatest definer of a size. Terms stand after their
  // arguments, so one pass suffices; the members of a recurrence need the full set, which `reads` finds by a walk.
  void collect_uses() {
    needs_.assign(p_.terms.size(), -1);
    for (TermId id = 0; id < p_.terms.size(); ++id) {
      std::int64_t n = own_need(p_.terms[id]);
      for (TermId a : p_.arguments_of(id)) n = std::max(n, needs_[a]);
      needs_[id] = n;
    }
  }
  std::int64_t own_need(const Term& t) const {
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) {
      const TensorNode& n = p_.tensors[t.data];
      if (n.kind == TensorKind::Recurrence && n.group < p_.recurrences.size() && !p_.recurrences[n.group].members.empty())
        return p_.recurrences[n.group].members.back();
      return static_cast<std::int64_t>(t.data);
    }
    if (t.kind == TermKind::Size && p_.sizes[t.data].defined_by != None) return p_.sizes[t.data].defined_by;
    return -1;
  }

  Broken check_term_at(TermId id, std::int64_t before, std::span<const Variable> allowed, ElementType type, std::string_view what) const {
    if (id == None || id >= p_.terms.size()) return fmt::format("{}: there is no such term", what);
    if (p_.terms[id].type != type) return fmt::format("{} is of {}, not {}", what, text_of(p_.terms[id].type), text_of(type));
    if (needs_[id] >= before) return fmt::format("{} uses \"{}\", which does not stand before it", what, p_.tensors[static_cast<std::size_t>(needs_[id])].name);
    for (Variable v : p_.free_of(id))
      if (std::find(allowed.begin(), allowed.end(), v) == allowed.end()) return fmt::format("{} uses the variable {} ({}), which is not bound", what, v, p_.variables[v].name);
    return std::nullopt;
  }

  Broken check_variables(const std::vector<Variable>& variables) const {
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (variables[k] >= p_.variables.size()) return fmt::format("there is no variable {}", variables[k]);
      if (p_.variables[variables[k]].type != ElementType::Z) return "an index variable that is not of Z";
      for (std::size_t j = 0; j < k; ++j)
        if (variables[j] == variables[k]) return "a variable bound twice";
    }
    return std::nullopt;
  }

  // Extents of bound variables: a later one may use an earlier variable.
  Broken check_domain(const TensorNode& n, std::int64_t before) const {
    if (n.domain.size() != n.variables.size()) return fmt::format("{} variables over {} extents", n.variables.size(), n.domain.size());
    for (std::size_t k = 0; k < n.domain.size(); ++k)
      if (Broken b = check_term_at(n.domain[k], before, std::span(n.variables).first(k), ElementType::Z, "an extent")) return b;
    return std::nullopt;
  }

  Broken check_recurrence(std::size_t g) const {
    const Recurrence& r = p_.recurrences[g];
    if (r.members.empty()) return "it has no members";
    if (r.variables.empty() || r.extents.size() != r.variables.size()) return fmt::format("{} variables over {} extents", r.variables.size(), r.extents.size());
    if (Broken b = check_variables(r.variables)) return b;
    for (std::size_t k = 0; k < r.members.size(); ++k) {
      const TensorId m = r.members[k];
      if (m >= p_.tensors.size()) return fmt::format("there is no tensor {}", m);
      if (p_.tensors[m].kind != TensorKind::Recurrence || p_.tensors[m].group != g) return fmt::format("\"{}\" is no member of it", p_.tensors[m].name);
      if (k && r.members[k - 1] >= m) return "its members are not in order";
    }
    for (TermId e : r.extents)
      if (Broken b = check_term_at(e, r.members.front(), {}, ElementType::Z, "an extent")) return b;
    return std::nullopt;
  }

  Broken check_tensor(TensorId id) const {
    const TensorNode& n = p_.tensors[id];
    if (n.place >= std::max<std::size_t>(1, p_.places.size())) return fmt::format("there is no place {}", n.place);
    // The rows of a `where` are a size that the tensor itself defines.
    const std::int64_t before = n.kind == TensorKind::Where ? std::int64_t{id} + 1 : first_of(n, id);
    for (TermId e : n.extents)
      if (Broken b = check_term_at(e, before, {}, ElementType::Z, "an extent")) return b;
    if (Broken b = check_variables(n.variables)) return b;
    switch (n.kind) {
      case TensorKind::Input: return std::count(p_.inputs.begin(), p_.inputs.end(), id) == 1 ? Broken() : Broken("an input that is not listed once among the inputs");
      case TensorKind::Literal: return check_literal(n);
      case TensorKind::Comprehension:
        if (n.variables.size() != n.extents.size()) return fmt::format("{} variables for {} axes", n.variables.size(), n.extents.size());
        return check_term_at(n.body, id, n.variables, n.type, "the body");
      case TensorKind::Recurrence: return check_member(id, n);
      case TensorKind::Where: return check_where(id, n);
      case TensorKind::Measured:
        if (!n.extents.empty() || !n.variables.empty() || n.type != ElementType::Z) return "not a scalar of Z";
        if (!defines_a_size(id)) return "no size symbol is defined by it";
        return check_term_at(n.body, id, {}, ElementType::Z, "the body");
      case TensorKind::Scatter: return check_scatter(id, n);
    }
    return "no kind of tensor";
  }

  std::int64_t first_of(const TensorNode& n, TensorId id) const {
    if (n.kind != TensorKind::Recurrence || n.group >= p_.recurrences.size()) return id;
    return std::min<std::int64_t>(id, p_.recurrences[n.group].members.front());
  }

  bool defines_a_size(TensorId id) const {
    return std::any_of(p_.sizes.begin(), p_.sizes.end(), [&](const SizeInfo& s) { return s.defined_by == id; });
  }

  Broken check_literal(const TensorNode& n) const {
    if (!n.literal) return "a literal without its elements";
    if (n.literal->type() != n.type) return fmt::format("a literal of {} for {}", text_of(n.literal->type()), text_of(n.type));
    if (n.literal->extents().size() != n.extents.size()) return "a literal of another rank";
    for (std::size_t k = 0; k < n.extents.size(); ++k)
      if (p_.integer_constant(n.extents[k]) != n.literal->extents()[k]) return "a literal of other extents";
    return std::nullopt;
  }

  Broken check_member(TensorId id, const TensorNode& n) const {
    if (n.group >= p_.recurrences.size()) return fmt::format("there is no recurrence {}", n.group);
    const Recurrence& r = p_.recurrences[n.group];
    if (std::count(r.members.begin(), r.members.end(), id) != 1) return "it is not listed once among the members of its recurrence";
    if (n.variables.size() != n.extents.size()) return fmt::format("{} variables for {} axes", n.variables.size(), n.extents.size());
    if (n.variables.size() < r.variables.size() || !std::equal(r.variables.begin(), r.variables.end(), n.variables.begin())) return "its first variables are not the recurrence's";
    if (!std::equal(r.extents.begin(), r.extents.end(), n.extents.begin())) return "its first extents are not the recurrence's";
    if (Broken b = check_term_at(n.body, std::int64_t{r.members.back()} + 1, n.variables, n.type, "the body")) return b;
    return check_member_reads(n.body, r);
  }

  // A body may read the members and what stands before the first of them.
  Broken check_member_reads(TermId body, const Recurrence& r) const {
    std::vector<TermId> stack{body};
    std::vector<bool> seen(p_.terms.size());
    while (!stack.empty()) {
      const TermId id = stack.back();
      stack.pop_back();
      if (seen[id] || needs_[id] < r.members.front()) continue;
      seen[id] = true;
      const Term& t = p_.terms[id];
      const bool reads = t.kind == TermKind::Read || t.kind == TermKind::ReadElse;
      if (reads && t.data >= r.members.front() && std::find(r.members.begin(), r.members.end(), t.data) == r.members.end())
        return fmt::format("the body reads \"{}\", which stands between the members", p_.tensors[t.data].name);
      if (t.kind == TermKind::Size && own_need(t) >= r.members.front()) return "the body uses a size that is defined between the members";
      const auto a = p_.arguments_of(id);
      stack.insert(stack.end(), a.begin(), a.end());
    }
    return std::nullopt;
  }

  Broken check_where(TensorId id, const TensorNode& n) const {
    if (Broken b = check_domain(n, id)) return b;
    if (n.type != ElementType::Z) return "coordinates are of Z";
    if (n.extents.size() != 2 || p_.integer_constant(n.extents[1]) != static_cast<std::int64_t>(n.variables.size())) return "not one row per coordinate";
    const Term& rows = p_.terms[n.extents[0]];
    if (rows.kind != TermKind::Size || p_.sizes[rows.data].defined_by != id) return "the number of rows is no size that it defines";
    return check_term_at(n.body, id, n.variables, ElementType::Bool, "the condition");
  }

  Broken check_scatter(TensorId id, const TensorNode& n) const {
    if (Broken b = check_domain(n, id)) return b;
    const ScatterInfo& s = n.scatter;
    if (s.mode > ScatterMode::Minimum) return "no mode of scatter";
    if (s.base >= id) return "its base does not stand before it";
    const TensorNode& base = p_.tensors[s.base];
    if (base.kind == TensorKind::Recurrence && p_.recurrences[base.group].members.back() >= id) return "its base does not stand before it";
    if (base.type != n.type || base.extents.size() != n.extents.size()) return "its base has another type or rank";
    if (s.index.size() != n.extents.size()) return fmt::format("{} indices for {} axes", s.index.size(), n.extents.size());
    for (TermId i : s.index)
      if (Broken b = check_term_at(i, id, n.variables, ElementType::Z, "an index")) return b;
    if (s.filter != None)
      if (Broken b = check_term_at(s.filter, id, n.variables, ElementType::Bool, "the filter")) return b;
    return check_term_at(n.body, id, n.variables, n.type, "the body");
  }

  Broken check_conditions(const std::vector<Condition>& conditions, std::string_view what) const {
    for (const Condition& c : conditions) {
      if (Broken b = check_term_at(c.term, static_cast<std::int64_t>(p_.tensors.size()), {}, ElementType::Bool, what)) return b;
      if (c.place >= std::max<std::size_t>(1, p_.places.size())) return fmt::format("{}: there is no place {}", what, c.place);
    }
    return std::nullopt;
  }

  Broken check_ends() const {
    for (std::size_t k = 0; k < p_.inputs.size(); ++k)
      if (p_.inputs[k] != None && (p_.inputs[k] >= p_.tensors.size() || p_.tensors[p_.inputs[k]].kind != TensorKind::Input)) return fmt::format("input {} is no input tensor", k);
    if (p_.output_names.size() != p_.outputs.size()) return fmt::format("{} names for {} outputs", p_.output_names.size(), p_.outputs.size());
    for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
      if (p_.outputs[k] == None) continue;
      if (p_.outputs[k] >= p_.tensors.size()) return fmt::format("output {}: there is no tensor {}", k, p_.outputs[k]);
      const TensorNode& n = p_.tensors[p_.outputs[k]];
      if (holds_real_or_integer(n.type)) return fmt::format("output {} \"{}\" is of {}, which no tensor of a program holds", k, n.name, text_of(n.type));
      for (std::int64_t axis : p_.unordered_axes)
        if (axis < 0 || axis >= static_cast<std::int64_t>(n.extents.size())) return fmt::format("output {} \"{}\" has no axis {} to be unordered", k, n.name, axis);
    }
    if (Broken b = check_conditions(p_.requirements, "a requirement")) return b;
    if (Broken b = check_conditions(p_.undefined, "an undefined condition")) return b;
    return check_conditions(p_.path, "a path condition");
  }

  const Program& p_;
  std::vector<std::int64_t> needs_;
};

}  // namespace

std::optional<std::string> verify(const Program& program) {
  // Reads look at the tensors' types and ranks only; the terms must hold before anything follows their ids.
  if (Broken b = TermChecker(program).check()) return b;
  return TensorChecker(program).check();
}

}  // namespace ulpian::core
