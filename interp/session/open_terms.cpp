#include "interp/session/open_terms.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "spec/numbers/arithmetic.h"
#include "spec/numbers/cast_mode.h"
#include "spec/numbers/ensure.h"

namespace ulpian::interp {
namespace {

using core::Program;
using core::Term;
using core::TermId;
using core::TermKind;

bool is_unspecified(const Term& t) { return t.kind == TermKind::Unspecified; }

bool may_be_out_of_range(const Program& p, const Term& t) {
  return t.kind == TermKind::Cast && t.operation == static_cast<std::uint8_t>(CastMode::Plain) && is_integer(t.type) && is_float(p.term(p.arguments[t.first]).type);
}

// New terms before one that is to read them, which moves behind them: arguments stand before what reads them.
class Before {
public:
  Before(Program& program, TermId at, std::size_t count) : p_(program), next_(at), end_(at + static_cast<TermId>(count)) {
    p_.terms.insert(p_.terms.begin() + at, count, Term{});
    const auto moved = [&](TermId& id) { id = id != core::None && id >= at ? id + static_cast<TermId>(count) : id; };
    std::ranges::for_each(p_.arguments, moved);
    for (core::TensorNode& n : p_.tensors) {
      for (auto* ids : {&n.extents, &n.domain, &n.scatter.index}) std::ranges::for_each(*ids, moved);
      moved(n.body);
      moved(n.scatter.filter);
    }
    for (core::Recurrence& r : p_.recurrences) std::ranges::for_each(r.extents, moved);
    for (auto* conditions : {&p_.requirements, &p_.undefined, &p_.path})
      for (core::Condition& c : *conditions) moved(c.term);
  }
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;

  TermId add(Term t) {
    p_.terms[next_] = t;
    return next_++;
  }
  TermId add(Term t, std::initializer_list<TermId> arguments) { return add(with(t, arguments)); }
  // What the term itself becomes, once all are there.
  void become(Term t, std::initializer_list<TermId> arguments) {
    ensure(next_ == end_);
    p_.terms[end_] = with(t, arguments);
  }

private:
  Term with(Term t, std::initializer_list<TermId> arguments) {
    t.first = static_cast<std::uint32_t>(p_.arguments.size());
    t.count = static_cast<std::uint32_t>(arguments.size());
    p_.arguments.insert(p_.arguments.end(), arguments);
    return t;
  }
  Program& p_;
  TermId next_, end_;
};

// A float truncates to what the type holds if it is less than 1 below the lowest or above the highest. Asked in f64, which holds all other floats;
// of the bounds it lacks only -2^63 - 1, and everything between that and -2^63. Canonical is one of the type's limits, or 0 for NaN.
void settle_cast(Program& p, TermId id) {
  const Term cast = p.terms[id];
  const TermId x = p.arguments[cast.first];
  const bool wide = p.term(x).type == ElementType::F64;
  const int bits = bits_of(cast.type) - (is_signed(cast.type) ? 1 : 0);
  const double end = std::ldexp(1, bits), lowest = is_signed(cast.type) ? -end : 0;
  const bool holds_next = lowest - 1 < lowest;
  const auto constant = [&](ElementType type, Bits value) { return Term{.kind = TermKind::Constant, .type = type, .place = cast.place, .data = value}; };
  const auto primitive = [&](Primitive operation) {
    return Term{.kind = TermKind::Primitive, .type = ElementType::Bool, .operation = static_cast<std::uint8_t>(operation), .free = cast.free, .place = cast.place};
  };
  const auto f64 = [&](double value) { return constant(ElementType::F64, from_double(ElementType::F64, value)); };
  Before before(p, id, wide ? 7 : 8);
  const TermId as_it_is = before.add(cast);
  const TermId y = wide ? x : before.add({.kind = TermKind::Cast, .type = ElementType::F64, .operation = cast.operation, .free = cast.free, .place = cast.place}, {x});
  const TermId lower = before.add(f64(holds_next ? lowest - 1 : lowest)), upper = before.add(f64(end));
  const TermId above = before.add(primitive(holds_next ? Primitive::Less : Primitive::LessEqual), {lower, y});
  const TermId below = before.add(primitive(Primitive::Less), {y, upper});
  const TermId inside = before.add(primitive(Primitive::And), {above, below});
  const TermId other = before.add(constant(cast.type, from_double(cast.type, is_signed(cast.type) ? -1 : 1)));
  before.become({.kind = TermKind::Select, .type = cast.type, .free = cast.free, .place = cast.place}, {inside, as_it_is, other});
}

}  // namespace

std::vector<TermId> open_terms(const Program& program) {
  std::vector<TermId> out;
  for (std::size_t k = 0; k < program.terms.size(); ++k)
    if (is_unspecified(program.terms[k]) || may_be_out_of_range(program, program.terms[k])) out.push_back(static_cast<TermId>(k));
  return out;
}

namespace {

void settle(Program& program, TermId open) {
  const Term t = program.terms[open];
  if (!is_unspecified(t)) return settle_cast(program, open);
  const ElementType part = is_complex(t.type) ? part_of(t.type) : t.type;
  Term value{.kind = TermKind::Constant, .type = part, .place = t.place};
  if (part == ElementType::String) {
    value.data = program.texts.size();
    program.texts.emplace_back("?");
  } else if (part == ElementType::R) {
    value.data = program.reals.size();
    program.reals.emplace_back(1);
  } else {
    value.data = has_nan(part) ? canonical_nan(part) : part == ElementType::Bool || part == ElementType::Z ? 1 : from_double(part, 1);
  }
  if (part != t.type) {
    Before before(program, open, 1);
    const TermId real_part = before.add(value);
    before.become({.kind = TermKind::Cast, .type = t.type, .operation = static_cast<std::uint8_t>(CastMode::Plain), .place = t.place}, {real_part});
    return;
  }
  program.terms[open] = value;
}

}  // namespace

void settle_differently(Program& program, std::span<const TermId> open) {
  for (std::size_t k = open.size(); k-- > 0;) settle(program, open[k]);  // from the last one on: terms behind a changed one move
}

bool prefer_open(Program& program) {
  bool any = false;
  for (const Term& t : program.terms) {
    if (t.kind != TermKind::Choice || t.operation != static_cast<std::uint8_t>(core::ChoiceKind::OneOf)) continue;
    const auto first = program.arguments.begin() + t.first, end = first + t.count;
    const auto open = std::find_if(first, end, [&](TermId a) { return is_unspecified(program.terms[a]); });
    if (open == first || open == end) continue;
    std::iter_swap(first, open);
    any = true;
  }
  return any;
}

}  // namespace ulpian::interp
