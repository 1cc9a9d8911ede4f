#include "tools/prove/obligations.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "tools/prove/translate.h"

namespace ulpian::tools {
namespace {

using core::None;
using core::Term;
using core::TermId;
using core::TermKind;
using core::TensorId;
using core::TensorKind;
using core::TensorNode;
using core::Variable;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t MostElements = 10000;  // of a counterexample's tensor

class Prover {
public:
  Prover(const core::Program& program, const ProofLimits& limits)
      : p_(program), limits_(limits), translator_(context_, program), solver_(context_), end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds))) {
    z3::params params(context_);
    params.set("timeout", limits.milliseconds);
    params.set("random_seed", 0u);
    solver_.set(params);
  }

  std::vector<Obligation> run() {
    bears_.assign(p_.terms.size(), 0);
    find_needed();
    assume_inputs();
    Scope none;
    for (const core::Condition& c : p_.path) assume(translator_.truth(c.term, none));
    // Requirements are checked in order, before anything else: what they read themselves is held to those before.
    inline_all_ = true;
    for (const core::Condition& c : p_.requirements) {
      condition(c);
      assume(translator_.truth(c.term, none));
    }
    for (const core::Condition& c : p_.undefined) {
      condition(c);
      assume(!translator_.truth(c.term, none));
    }
    inline_all_ = false;
    for (TensorId t = 0; t < p_.tensors.size(); ++t)
      if (needed_[t]) tensor(t);
    return std::move(out_);
  }

private:
  // --- assumptions
  void assume(const z3::expr& e) {
    facts();
    solver_.add(e);
  }
  void facts() {
    for (const z3::expr& f : translator_.take_facts()) solver_.add(f);
  }

  // Extents of inputs are sizes, and not negative.
  void assume_inputs() {
    Scope none;
    for (TensorId t : p_.inputs)
      if (t != None)
        for (TermId e : p_.tensor(t).extents) assume(translator_.integer(e, none) >= 0);
  }

  // What the outputs and conditions read, directly and through each other.
  void find_needed() {
    needed_.assign(p_.tensors.size(), false);
    std::vector<bool> seen(p_.terms.size());
    std::vector<TermId> terms;
    std::vector<TensorId> tensors;
    auto need = [&](TensorId t) {
      if (t != None && !needed_[t]) {
        needed_[t] = true;
        tensors.push_back(t);
      }
    };
    for (TensorId t : p_.outputs) need(t);
    for (const auto* list : {&p_.path, &p_.requirements, &p_.undefined})
      for (const core::Condition& c : *list) terms.push_back(c.term);
    while (!terms.empty() || !tensors.empty()) {
      if (terms.empty()) {
        const TensorNode& n = p_.tensor(tensors.back());
        tensors.pop_back();
        terms.insert(terms.end(), n.extents.begin(), n.extents.end());
        terms.insert(terms.end(), n.domain.begin(), n.domain.end());
        if (n.body != None) terms.push_back(n.body);
        if (n.scatter.filter != None) terms.push_back(n.scatter.filter);
        terms.insert(terms.end(), n.scatter.index.begin(), n.scatter.index.end());
        need(n.scatter.base);
        if (n.kind == TensorKind::Recurrence)
          for (TensorId m : p_.recurrences[n.group].members) need(m);
        continue;
      }
      const TermId id = terms.back();
      terms.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      const Term& t = p_.term(id);
      if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) need(static_cast<TensorId>(t.data));
      if (t.kind == TermKind::Size) need(p_.sizes[t.data].defined_by);
      const auto a = p_.arguments_of(id);
      terms.insert(terms.end(), a.begin(), a.end());
    }
  }

  // --- obligations
  struct Context {
    Scope scope;
    std::vector<z3::expr> conditions;                 // what holds where the term is evaluated
    std::map<Variable, TermId> ranges;                // variables that stand for themselves, below these extents
    std::uint32_t group = None;                       // within this recurrence
    std::size_t member = 0;
    std::set<TermId> seen;                            // under these conditions, or fewer
    std::set<TermId> settled;                         // what holds by form, by the ranges
  };

  void condition(const core::Condition& c) {
    Context x;
    walk(c.term, x);
  }

  // Whether a term holds anything to prove, in itself or (where equations are read through) in what it reads.
  bool bears(TermId id) {
    std::uint8_t& known = bears_[id];
    if (known) return known == 2;
    known = 1;
    const Term& t = p_.term(id);
    bool any = t.kind == TermKind::Read || t.kind == TermKind::ReadElse || t.kind == TermKind::Nth;
    for (TermId a : p_.arguments_of(id)) any = bears(a) || any;
    bears_[id] = any ? 2 : 1;
    return any;
  }

  // Whether all that it asks holds by form alone, whatever the conditions are: then once is enough, and a nest of selections that share their parts is no
  // tree of all their branches.
  bool walk(TermId id, Context& x) {
    if (!bears(id) || x.settled.contains(id)) return true;
    if (!x.seen.insert(id).second) return false;
    const bool by_form = look_at(id, x);
    if (by_form) x.settled.insert(id);
    return by_form;
  }

  bool look_at(TermId id, Context& x) {
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    bool by_form = true;
    switch (t.kind) {
      case TermKind::Select: {
        by_form = walk(a[0], x);
        const z3::expr c = translator_.truth(a[0], x.scope);
        under(c, x, [&] { by_form &= walk(a[1], x); });
        under(!c, x, [&] { by_form &= walk(a[2], x); });
        return by_form;
      }
      case TermKind::Read:
        for (TermId i : a) by_form &= walk(i, x);
        return read(id, a, x) && by_form;
      case TermKind::ReadElse: {
        for (TermId i : a.first(a.size() - 1)) walk(i, x);
        const z3::expr inside = inside_of(id, a.first(a.size() - 1), x);
        under(inside, x, [&] { body_of_read(id, a.first(a.size() - 1), x); });
        under(!inside, x, [&] { walk(a.back(), x); });
        return false;
      }
      case TermKind::Reduce: return reduce(id, x);
      case TermKind::Fold: fold(id, x); return false;
      case TermKind::Nth: nth(id, x); return false;
      case TermKind::Choice: {
        walk(a[0], x);
        const bool before = std::exchange(alternative_, true);
        for (TermId b : a.subspan(1)) walk(b, x);
        alternative_ = before;
        return false;
      }
      case TermKind::Primitive:
      case TermKind::Cast:
      case TermKind::Random:
      case TermKind::Constant:
      case TermKind::Variable:
      case TermKind::Size:
      case TermKind::Unspecified:
        for (TermId b : a) by_form &= walk(b, x);
        return by_form;
    }
    return false;
  }

  template <typename F>
  void under(const z3::expr& condition, Context& x, F f) {
    x.conditions.push_back(condition);
    auto seen = x.seen;
    f();
    x.seen = std::move(seen);
    x.conditions.pop_back();
  }

  // Variables over their extents, in order; then `f`.
  template <typename F>
  bool over(std::span<const Variable> variables, std::span<const TermId> extents, Context& x, F f) {
    bool by_form = true;  // of the extents
    const std::size_t before = x.conditions.size();
    auto seen = x.seen;
    const Scope outer = x.scope;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      by_form &= walk(extents[k], x);
      const z3::expr extent = translator_.integer(extents[k], x.scope);
      bind(variables[k], extents[k], x);
      x.conditions.push_back(translator_.within(x.scope.variables.at(variables[k]), extent));
      x.seen.clear();
    }
    f();
    x.conditions.erase(x.conditions.begin() + static_cast<std::ptrdiff_t>(before), x.conditions.end());
    x.scope = outer;
    x.seen = std::move(seen);
    return by_form;
  }
  void bind(Variable v, TermId extent, Context& x) {
    x.scope.variables.insert_or_assign(v, translator_.fresh(p_.variables[v].name));
    x.scope.known.clear();
    const auto [known, is_new] = x.ranges.try_emplace(v, extent);
    if (is_new || known->second == extent) return;
    known->second = extent;
    x.settled.clear();
  }

  z3::expr inside_of(TermId id, std::span<const TermId> index, Context& x) {
    const TensorNode& n = p_.tensor(static_cast<TensorId>(p_.term(id).data));
    z3::expr inside = context_.bool_val(true);
    Scope none;
    for (std::size_t k = 0; k < index.size(); ++k) inside = inside && translator_.within(translator_.integer(index[k], x.scope), translator_.integer(n.extents[k], none));
    return inside;
  }

  bool read(TermId id, std::span<const TermId> index, Context& x) {
    bool by_form = true;
    const Term& t = p_.term(id);
    const TensorNode& n = p_.tensor(static_cast<TensorId>(t.data));
    Scope none;
    for (std::size_t k = 0; k < index.size(); ++k) {
      Obligation o = obligation(ObligationKind::Read, t.place, fmt::format("axis {} in {}", k, text(id)));
      const Term& i = p_.term(index[k]);
      const auto range = i.kind == TermKind::Variable ? x.ranges.find(static_cast<Variable>(i.data)) : x.ranges.end();
      if (range != x.ranges.end() && range->second == n.extents[k]) {
        o.by_form = true;
        add(std::move(o));
      } else {
        by_form = false;
        prove(std::move(o), translator_.within(translator_.integer(index[k], x.scope), translator_.integer(n.extents[k], none)), x);
      }
    }
    return !body_of_read(id, index, x) && by_form;
  }

  // What an element that is read asks for itself: earlier members of its recurrence; all of its equation where that does not hold everywhere.
  // Whether there is such a thing.
  bool body_of_read(TermId id, std::span<const TermId> index, Context& x) {
    const auto tensor = static_cast<TensorId>(p_.term(id).data);
    const TensorNode& n = p_.tensor(tensor);
    if (n.kind == TensorKind::Recurrence && n.group == x.group) {
      earlier(id, index, x);
      return true;
    }
    const bool through = n.kind == TensorKind::Comprehension && (inline_all_ || partial_.count(tensor));
    if (!through || depth_ > 8) return through;
    std::vector<z3::expr> at;
    for (TermId i : index) at.push_back(translator_.integer(i, x.scope));
    Context inner;
    inner.scope = translator_.at(tensor, at);
    inner.conditions = x.conditions;
    ++depth_;
    walk(n.body, inner);
    --depth_;
    return true;
  }

  void earlier(TermId id, std::span<const TermId> index, Context& x) {
    const core::Recurrence& r = p_.recurrences[x.group];
    const auto tensor = static_cast<TensorId>(p_.term(id).data);
    const auto member = static_cast<std::size_t>(std::find(r.members.begin(), r.members.end(), tensor) - r.members.begin());
    z3::expr before = context_.bool_val(member < x.member);
    for (std::size_t k = r.variables.size(); k-- > 0;) {
      const z3::expr there = translator_.integer(index[k], x.scope), here = x.scope.variables.at(r.variables[k]);
      before = there < here || (there == here && before);
    }
    prove(obligation(ObligationKind::Recurrence, p_.term(id).place, fmt::format("{} before [{}]", text(id), p_.variables[r.variables[0]].name)), before, x);
  }

  bool reduce(TermId id, Context& x) {
    const core::ReduceView v = p_.reduce(id);
    bool by_form = v.initial == None || walk(v.initial, x);
    const bool extents = over(v.variables, v.extents, x, [&] {
      if (v.filter == None) {
        for (TermId b : v.bodies) by_form &= walk(b, x);
        return;
      }
      by_form = false;
      walk(v.filter, x);
      under(translator_.truth(v.filter, x.scope), x, [&] {
        for (TermId b : v.bodies) walk(b, x);
      });
    });
    return by_form && extents;
  }

  void fold(TermId id, Context& x) {
    const core::FoldView v = p_.fold(id);
    walk(v.initial, x);
    over(v.variables, v.extents, x, [&] {
      // What has been accumulated so far may be anything.
      const ElementType t = p_.variables[v.accumulator].type;
      if (t == ElementType::Z || is_integer(t)) x.scope.variables.insert_or_assign(v.accumulator, translator_.fresh("accumulated"));
      x.scope.known.clear();
      walk(v.body, x);
    });
  }

  void nth(TermId id, Context& x) {
    const core::NthView v = p_.nth(id);
    walk(v.extent, x);
    walk(v.place, x);
    Obligation o = obligation(ObligationKind::Place, p_.term(id).place, fmt::format("the place {}", text(v.place)));
    const Term& place = p_.term(v.place);
    const auto range = place.kind == TermKind::Variable ? x.ranges.find(static_cast<Variable>(place.data)) : x.ranges.end();
    if (range != x.ranges.end() && range->second == v.extent) {
      o.by_form = true;
      add(std::move(o));
    } else {
      prove(std::move(o), translator_.within(translator_.integer(v.place, x.scope), translator_.integer(v.extent, x.scope)), x);
    }
    over(std::span(&v.variable, 1), std::span(&v.extent, 1), x, [&] {
      for (TermId k : v.keys) walk(k, x);
    });
  }

  // --- equations
  void tensor(TensorId id) {
    const TensorNode& n = p_.tensor(id);
    if (n.kind == TensorKind::Input || n.kind == TensorKind::Literal) return;
    if (n.kind != TensorKind::Measured)
      for (TermId e : n.extents) extent(id, e);
    Context x;
    switch (n.kind) {
      case TensorKind::Comprehension: {
        const std::size_t before = out_.size();
        over(n.variables, n.extents, x, [&] { walk(n.body, x); });
        const bool output = std::find(p_.outputs.begin(), p_.outputs.end(), id) != p_.outputs.end();
        const bool all = std::all_of(out_.begin() + static_cast<std::ptrdiff_t>(before), out_.end(), [](const Obligation& o) { return o.answer == Answer::Proved; });
        // An element of it that nobody reads may be anything: its readers are asked instead.
        if (all || output) return;
        out_.resize(before);
        partial_.insert(id);
        return;
      }
      case TensorKind::Recurrence: {
        const core::Recurrence& r = p_.recurrences[n.group];
        x.group = n.group;
        x.member = static_cast<std::size_t>(std::find(r.members.begin(), r.members.end(), id) - r.members.begin());
        over(n.variables, n.extents, x, [&] { walk(n.body, x); });
        return;
      }
      case TensorKind::Where: over(n.variables, n.domain, x, [&] { walk(n.body, x); }); return;
      case TensorKind::Measured: walk(n.body, x); return;
      case TensorKind::Scatter: return scatter(id, n, x);
      case TensorKind::Input:
      case TensorKind::Literal: return;
    }
  }

  void extent(TensorId id, TermId e) {
    Context x;
    walk(e, x);
    Obligation o = obligation(ObligationKind::Extent, p_.tensor(id).place, fmt::format("{} of {}", text(e), p_.tensor(id).name.empty() ? "an equation" : p_.tensor(id).name));
    if (const auto known = p_.integer_constant(e); p_.term(e).kind == TermKind::Size || (known && *known >= 0)) {
      if (p_.term(e).kind == TermKind::Size && !extents_of_inputs(e)) return prove(std::move(o), translator_.integer(e, x.scope) >= 0, x);
      o.by_form = true;
      return add(std::move(o));
    }
    prove(std::move(o), translator_.integer(e, x.scope) >= 0, x);
  }
  bool extents_of_inputs(TermId e) const {
    for (TensorId t : p_.inputs)
      if (t != None && std::find(p_.tensor(t).extents.begin(), p_.tensor(t).extents.end(), e) != p_.tensor(t).extents.end()) return true;
    return false;
  }

  void scatter(TensorId id, const TensorNode& n, Context& x) {
    Scope none;
    over(n.variables, n.domain, x, [&] {
      auto writes = [&] {
        for (std::size_t k = 0; k < n.scatter.index.size(); ++k) {
          walk(n.scatter.index[k], x);
          prove(obligation(ObligationKind::Write, n.place, fmt::format("axis {} of {} at {}", k, n.name, text(n.scatter.index[k]))),
                translator_.within(translator_.integer(n.scatter.index[k], x.scope), translator_.integer(p_.tensor(id).extents[k], none)), x);
        }
        walk(n.body, x);
      };
      if (n.scatter.filter == None) return writes();
      walk(n.scatter.filter, x);
      under(translator_.truth(n.scatter.filter, x.scope), x, writes);
    });
  }

  // --- the solver
  std::string text(TermId id) const {
    std::string s = core::to_string(p_, id);
    std::replace(s.begin(), s.end(), '\n', ';');
    return s.size() <= 160 ? s : s.substr(0, 157) + "...";
  }
  Obligation obligation(ObligationKind kind, std::uint32_t place, std::string what) const {
    Obligation o;
    o.kind = kind;
    o.what = std::move(what);
    o.alternative = alternative_;
    if (place < p_.places.size()) o.place = p_.places[place];
    return o;
  }
  void add(Obligation o) { out_.push_back(std::move(o)); }

  void prove(Obligation o, const z3::expr& goal, const Context& x) {
    facts();
    if (Clock::now() > end_) {
      o.answer = Answer::Unknown;
      return add(std::move(o));
    }
    solver_.push();
    try {
      for (const z3::expr& c : x.conditions) solver_.add(c);
      solver_.add(!goal);
      switch (solver_.check()) {
        case z3::unsat: o.answer = Answer::Proved; break;
        case z3::unknown: o.answer = Answer::Unknown; break;
        case z3::sat:
          o.answer = Answer::Refuted;
          o.counterexample = counterexample();
          break;
      }
    } catch (const z3::exception&) {
      o.answer = Answer::Unknown;
    }
    solver_.pop();
    add(std::move(o));
  }

  // With sizes as small as they can easily be had.
  Counterexample counterexample() {
    z3::model model = solver_.get_model();
    std::vector<z3::expr> sizes;
    for (core::Size s = 0; s < p_.sizes.size(); ++s) sizes.push_back(translator_.size(s));
    for (int most : {3, 8, 100}) {
      solver_.push();
      for (const z3::expr& s : sizes) solver_.add(s <= most && s >= -most);
      const bool found = solver_.check() == z3::sat;
      if (found) model = solver_.get_model();
      solver_.pop();
      if (found) break;
    }
    auto value = [&](const z3::expr& e) -> std::int64_t {
      const z3::expr v = model.eval(e, true);
      std::int64_t n = 0;
      return v.is_numeral_i64(n) ? n : 0;
    };
    Counterexample out;
    for (core::Size s = 0; s < p_.sizes.size(); ++s) out.sizes[p_.sizes[s].name] = value(sizes[s]);
    for (TensorId t : p_.inputs)
      if (t != None && (is_integer(p_.tensor(t).type) || p_.tensor(t).type == ElementType::Bool)) data(t, model, value, out);
    return out;
  }

  template <typename V>
  void data(TensorId id, const z3::model& model, V value, Counterexample& out) {
    const TensorNode& n = p_.tensor(id);
    Scope none;
    Extents extents;
    for (TermId e : n.extents) extents.push_back(value(translator_.integer(e, none)));
    const auto count = element_count(extents);
    if (!count || *count > MostElements) return;
    Tensor t(n.type, extents);
    for (std::int64_t k = 0; k < *count; ++k) {
      std::vector<z3::expr> index(extents.size(), context_.int_val(0));
      std::int64_t rest = k;
      for (std::size_t d = extents.size(); d-- > 0;) {
        index[d] = context_.int_val(rest % extents[d]);
        rest /= extents[d];
      }
      const z3::expr e = translator_.element(id, index);
      if (n.type == ElementType::Bool) t.set(k, model.eval(e, true).is_true() ? 1 : 0);
      else if (auto bits = Exact(value(e)).to_bits(n.type)) t.set(k, *bits);
    }
    out.data[id] = std::move(t);
  }

  const core::Program& p_;
  const ProofLimits limits_;
  z3::context context_;
  Translator translator_;
  z3::solver solver_;
  Clock::time_point end_;
  std::vector<bool> needed_;
  std::vector<std::uint8_t> bears_;  // 0: not known, 1: no, 2: yes
  std::set<TensorId> partial_;       // equations that hold nowhere but where they are read
  bool inline_all_ = false, alternative_ = false;
  int depth_ = 0;
  std::vector<Obligation> out_;
};

}  // namespace

std::string_view name_of(ObligationKind kind) {
  switch (kind) {
    case ObligationKind::Read: return "read in range";
    case ObligationKind::Write: return "write in range";
    case ObligationKind::Place: return "place in range";
    case ObligationKind::Extent: return "extent not negative";
    case ObligationKind::Recurrence: return "recurrence well-founded";
  }
  ensure(false);
}

std::vector<Obligation> prove(const core::Program& program, const ProofLimits& limits) { return Prover(program, limits).run(); }

}  // namespace ulpian::tools
