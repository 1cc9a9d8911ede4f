#include "interp/allowed/evaluator.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/allowed/intermediates.h"
#include "interp/allowed/rounding.h"

namespace ulpian::interp::allowed {

using core::None;
using core::Term;
using core::TermId;
using core::TermKind;
using core::Variable;

Evaluator::Evaluator(const core::Program& program, const Profile& profile, const Limits& limits)
    : tensors(program.tensors.size()),
      sizes(program.sizes.size()),
      program_(program),
      limits_(limits),
      points_(static_cast<Variable>(program.variables.size())),
      memo_(program.terms.size()),
      rounded_memo_(program.terms.size()),
      bindings_(program.variables.size() + 1),
      effective_(program.terms.size()) {
  rules.profile = &profile;
  // Programs that hold only doubles compute coordinates in them.
  bool any_double = false, any_narrower = false;
  for (const core::TensorNode& n : program.tensors) {
    if (n.type == ElementType::F64) any_double = true;
    else if (is_float(n.type)) any_narrower = true;
  }
  rules.real_unit = any_double && !any_narrower ? ElementType::F64 : ElementType::F32;
}

// --- variables

void Evaluator::open(Variable v, std::int64_t extent) {
  bindings_[v].extent = extent;
  bindings_[v].order = ++open_;
  bind(v, 0, 1);
}

void Evaluator::close(Variable) { --open_; }

void Evaluator::bind(Variable v, std::int64_t start, std::int64_t count) {
  Binding& b = bindings_[v];
  if (b.start == start && b.count == count && b.changed > 1) return;
  b.start = start;
  b.count = count;
  b.changed = ++clock_;
}

Axes Evaluator::box(std::span<const Variable> variables) const {
  Axes out;
  for (Variable v : variables)
    if (bindings_[v].count > 1) out.push_back({v, bindings_[v].count});
  return out;
}

Axes Evaluator::joint_axes(std::span<const Value> values) const {
  Axes out;
  for (const Value& v : values)
    for (const Axis& a : v->axes)
      if (std::find(out.begin(), out.end(), a) == out.end()) out.push_back(a);
  std::sort(out.begin(), out.end(), [&](const Axis& a, const Axis& b) { return bindings_[a.variable].order < bindings_[b.variable].order; });
  return out;
}

bool Evaluator::current(TermId id, std::uint64_t clock) const {
  if (clock == 0) return false;
  for (Variable v : program_.free_of(id))
    if (bindings_[v].changed > clock) return false;
  return true;
}

// --- terms

Value Evaluator::value(TermId id, bool rounds) {
  rounds = rounds && is_float(program_.term(id).type);
  std::vector<Memo>& memo = rounds ? rounded_memo_ : memo_;
  const Memo& known = memo[id];
  if (current(id, known.clock)) return known.value;
  if (!point_extents_.empty() && !in_box_)
    if (Value v = from_box(id, rounds)) {
      memo[id] = {clock_, v};
      return v;
    }
  struct Deeper {
    int& depth;
    ~Deeper() { --depth; }
  } deeper{++depth_};
  if (depth_ > MostTermDepth) stop(ErrorKind::Limit, fmt::format("terms nest deeper than {}", MostTermDepth), program_.term(id).place);
  if ((++steps_ & 63u) == 0) check_time();
  Value v = compute(id, rounds);
  memo[id] = {clock_, v};
  return v;
}

std::int64_t Evaluator::known(TermId id, std::string_view what) {
  const Value v = value(id);
  ensure(v->n == 1);
  if (!v->decided(0)) stop(ErrorKind::Unsupported, fmt::format("{} is not certain: it depends on values that an implementation may round differently", what), program_.term(id).place);
  return v->ilow(0);
}

Value Evaluator::constant(const Term& t) {
  auto out = std::make_shared<Lanes>(t.type, Axes{}, true);
  if (t.type == ElementType::R) {
    const Exact& x = program_.reals[t.data];
    const double d = x.to_double();
    double lo = d, hi = d;
    if (x.is_finite() && Exact::of_double(d) != x) {
      lo = below(d), hi = above(d);
      lo = std::min(lo, nearest(rules.real_unit, lo));
      hi = std::max(hi, nearest(rules.real_unit, hi));
    }
    out->set(0, {lo, hi, 0, 0});
  } else if (t.type == ElementType::Z) {
    out->ilo[0] = static_cast<std::int64_t>(t.data);
  } else if (t.type == ElementType::Bool) {
    out->ilo[0] = static_cast<std::int64_t>(t.data);
  } else if (is_float(t.type)) {
    out->lo[0] = is_nan(t.type, t.data) ? Nan : to_double(t.type, t.data);
  } else if (is_integer(t.type)) {
    out->ilo[0] = to_int64(t.type, t.data);
  } else {
    stop(ErrorKind::Unsupported, fmt::format("sets of {} are not available", name_of(t.type)), t.place);
  }
  return out;
}

Value Evaluator::compute(TermId id, bool rounds) {
  const Term& t = program_.term(id);
  const auto a = program_.arguments_of(id);
  Rules mode = rules;
  mode.rounds = rounds;
  switch (t.kind) {
    case TermKind::Constant: return constant(t);
    case TermKind::Variable: {
      const Binding& b = bindings_[t.data];
      if (b.bound) return b.bound;
      const Variable v = static_cast<Variable>(t.data);
      auto out = std::make_shared<Lanes>(ElementType::Z, box(std::span(&v, 1)), true);
      for (std::int64_t i = 0; i < out->n; ++i) out->ilo[static_cast<std::size_t>(i)] = b.start + i;
      return out;
    }
    case TermKind::Size: {
      if (!sizes[t.data]) stop(ErrorKind::Input, fmt::format("the size \"{}\" does not follow from the inputs", program_.sizes[t.data].name), t.place);
      auto out = std::make_shared<Lanes>(ElementType::Z, Axes{}, true);
      out->ilo[0] = *sizes[t.data];
      return out;
    }
    case TermKind::Primitive: {
      std::vector<Value> x;
      for (TermId k : a) x.push_back(value(k, rounds && passes_rounding(static_cast<Primitive>(t.operation))));
      const Axes axes = joint_axes(x);
      const Lanes* pointers[2] = {};
      for (std::size_t k = 0; k < x.size(); ++k) {
        x[k] = at_axes(x[k], axes);
        pointers[k] = x[k].get();
      }
      auto out = std::make_shared<Lanes>(apply_primitive(static_cast<Primitive>(t.operation), t.type, mode, std::span(pointers, x.size())));
      if (a.size() == 2 && a[0] == a[1] && static_cast<Primitive>(t.operation) == Primitive::Multiply && is_float(t.type)) not_negative(*out);
      // An index that turns out to be the same everywhere (m div 64 for m < 64) depends on nothing.
      if (t.type == ElementType::Z && out->point && out->flags.empty() && out->n > 1 &&
          std::all_of(out->ilo.begin(), out->ilo.end(), [&](std::int64_t v) { return v == out->ilo[0]; })) {
        auto one = std::make_shared<Lanes>(ElementType::Z, Axes{}, true);
        one->ilo[0] = out->ilo[0];
        return one;
      }
      return out;
    }
    case TermKind::Cast: {
      const bool same = program_.term(a[0]).type == t.type && static_cast<CastMode>(t.operation) == CastMode::Plain;
      const bool stored = static_cast<CastMode>(t.operation) == CastMode::Reinterpret;  // bits are those of an element, not of what is kept wider
      const Value x = value(a[0], stored || (rounds && same));
      return same ? x : std::make_shared<Lanes>(apply_cast(t.type, static_cast<CastMode>(t.operation), mode, *x));
    }
    case TermKind::Select: return select(id, rounds);
    case TermKind::Read:
    case TermKind::ReadElse: return read(id, rounds);
    case TermKind::Reduce: return reduce(id, rounds);
    case TermKind::Fold: return fold(id);
    case TermKind::Nth: return nth(id);
    case TermKind::Choice: return choice(id, rounds);
    case TermKind::Unspecified: {
      auto out = std::make_shared<Lanes>(t.type, Axes{}, false);
      set_anything(*out, 0);
      return out;
    }
    case TermKind::Random: {
      auto out = std::make_shared<Lanes>(t.type, Axes{}, false);
      out->set(0, {0, 0x1.fffffffffffffp-1, 0, 0});
      return out;
    }
  }
  ensure(false);
}

Value Evaluator::select(TermId id, bool rounds) {
  const auto a = program_.arguments_of(id);
  const Value c = value(a[0]);
  if (c->point && c->flags.empty()) {
    const bool first = c->ilo[0] != 0;
    if (std::all_of(c->ilo.begin(), c->ilo.end(), [&](std::int64_t v) { return (v != 0) == first; })) return value(first ? a[1] : a[2], rounds);
  }
  Value v[3] = {c, value(a[1], rounds), value(a[2], rounds)};
  const Axes axes = joint_axes(v);
  for (Value& x : v) x = at_axes(x, axes);
  const Lanes &condition = *v[0], &x = *v[1], &y = *v[2];
  auto out = std::make_shared<Lanes>(x.type, axes, x.point && y.point && condition.point);
  if (out->point && condition.flags.empty() && x.flags.empty() && y.flags.empty()) {
    const bool doubles = uses_doubles(x.type);
    for (std::size_t i = 0; i < static_cast<std::size_t>(out->n); ++i) {
      const bool first = condition.ilo[i] != 0;
      if (doubles) out->lo[i] = first ? x.lo[i] : y.lo[i];
      else out->ilo[i] = first ? x.ilo[i] : y.ilo[i];
    }
    return out;
  }
  for (std::int64_t i = 0; i < out->n; ++i) {
    if (condition.flag(i) & NoValue) {
      out->set(i, {});
      out->mark(i, NoValue);
      continue;
    }
    const bool can_be_false = condition.ilow(i) == 0, can_be_true = condition.ihigh(i) != 0;
    if (can_be_true && can_be_false) set_union(*out, i, x, i, y, i);
    else copy_lane(*out, i, can_be_true ? x : y, i);
    // A term of a sum that may be absent because its condition may be.
    out->mark(i, condition.flag(i) & (Skippable | Excluded));
  }
  return out;
}

Value Evaluator::choice(TermId id, bool rounds) {
  const Term& t = program_.term(id);
  const auto a = program_.arguments_of(id);
  const bool body = static_cast<core::ChoiceKind>(t.operation) == core::ChoiceKind::WithinBody;
  if (body && !rules.profile->admits(Freedom::Bodies)) return value(a[0], rounds);
  Value all = value(a[0], rounds);
  for (std::size_t k = 1; k < a.size(); ++k) {
    Value v[2] = {all, value(a[k], rounds)};
    const Axes axes = joint_axes(v);
    for (Value& x : v) x = at_axes(x, axes);
    auto out = std::make_shared<Lanes>(t.type, axes, v[0]->point && v[1]->point);
    for (std::int64_t i = 0; i < out->n; ++i) set_union(*out, i, *v[0], i, *v[1], i);
    all = out;
  }
  return all;
}

// --- limits and errors

void Evaluator::check_time() {
  if (!limits_.stopped()) return;
  const bool cancelled = limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed);
  stop(ErrorKind::Limit, cancelled ? "evaluation was cancelled" : "evaluation took longer than the time allowed");
}

void Evaluator::charge(std::int64_t bytes) {
  if (bytes > limits_.memory_bytes - memory_)
    stop(ErrorKind::Limit, fmt::format("{} bytes are needed beside {} in use; {} are allowed", bytes, memory_, limits_.memory_bytes));
  memory_ += bytes;
}

void Evaluator::stop(ErrorKind kind, std::string message, std::uint32_t place) const {
  Diagnostic d;
  d.kind = kind;
  d.message = program_.op.empty() ? std::move(message) : program_.op + ": " + message;
  if (place < program_.places.size()) d.place = program_.places[place];
  throw Stop{std::move(d)};
}

}  // namespace ulpian::interp::allowed
