#include "interp/scalar/scalar.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "interp/scalar/terms.h"
#include "interp/scalar/work.h"
#include "spec/core/binding.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::TensorId;
using core::TensorKind;
using core::TensorNode;
using core::TermId;
using core::TermKind;

bool is_opaque(ElementType t) { return t == ElementType::String || is_complex(t); }

// Evaluates the tensor equations of one program, those that are asked for.
class Equations {
public:
  Equations(const core::Program& program, const Limits& limits) : p_(program), terms_(program, limits) {}

  void bind(std::span<const std::optional<Tensor>> inputs);
  bool holds(const core::Condition& condition);
  std::optional<Tensor> output(std::size_t k);
  std::optional<Bits> element(std::size_t k, std::int64_t position);
  const core::Sizes& sizes() const { return terms_.sizes; }

private:
  void require_terms(std::vector<TermId> terms, std::vector<TensorId> tensors);
  std::vector<TermId> terms_of(TensorId id) const;
  void evaluate(TensorId id);
  Extents extents_of(TensorId id);
  Storage& make(TensorId id);
  void put(Storage& s, std::int64_t position, const Value& value) {
    if (s.type() == ElementType::String) terms_.charge(held_by(value));
    s.set(position, value);
  }
  std::int64_t known(TermId id, std::string_view what);
  void literal(TensorId id);
  void comprehension(TensorId id);
  void recurrence(std::uint32_t group);
  void where(TensorId id);
  void measured(TensorId id);
  void scatter(TensorId id);
  void stop(const Poison& poison, std::string note);
  std::string of_element(std::size_t k, std::int64_t position, const Extents& extents) const {
    return fmt::format("for element {} of output \"{}\" of extents {}", position, p_.output_names[k], to_string(extents));
  }

  const core::Program& p_;
  Terms terms_;
};

void Equations::stop(const Poison& poison, std::string note) {
  Diagnostic d = terms_.describe(poison);
  d.note(std::move(note));
  throw Stop{std::move(d)};
}

std::int64_t Equations::known(TermId id, std::string_view what) {
  const Value v = terms_.value(id);
  if (is_poison(v)) stop(std::get<Poison>(v), fmt::format("for {}", what));
  return integer(v);
}

// --- inputs

void Equations::bind(std::span<const std::optional<Tensor>> inputs) {
  std::vector<std::optional<core::InputShape>> shapes;
  for (const auto& t : inputs) shapes.push_back(t ? std::optional(core::InputShape{t->type(), t->extents()}) : std::nullopt);
  if (auto wrong = core::bind_inputs(p_, shapes, terms_.sizes)) throw Stop{std::move(*wrong)};
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (p_.inputs[k] != None) terms_.tensors[p_.inputs[k]].emplace(*inputs[k]);
  if (auto wrong = core::check_extents(p_, shapes, [&](TermId e) { return std::optional(known(e, "an extent of an input")); })) throw Stop{std::move(*wrong)};
}

// --- what must be evaluated

std::vector<TermId> Equations::terms_of(TensorId id) const {
  const TensorNode& n = p_.tensor(id);
  std::vector<TermId> out(n.extents);
  out.insert(out.end(), n.domain.begin(), n.domain.end());
  if (n.body != None) out.push_back(n.body);
  if (n.kind == TensorKind::Scatter) {
    out.insert(out.end(), n.scatter.index.begin(), n.scatter.index.end());
    if (n.scatter.filter != None) out.push_back(n.scatter.filter);
  }
  return out;
}

// Evaluates the tensors, and those that the terms read, after what they read themselves.
void Equations::require_terms(std::vector<TermId> terms, std::vector<TensorId> tensors) {
  std::vector<bool> seen_term(p_.terms.size()), needed(p_.tensors.size());
  const auto need = [&](TensorId t) {
    if (t == None || needed[t]) return;
    needed[t] = true;
    tensors.push_back(t);
  };
  std::vector<TensorId> first = std::move(tensors);
  tensors.clear();
  for (TensorId t : first) need(t);
  while (!terms.empty() || !tensors.empty()) {
    if (terms.empty()) {
      const TensorId t = tensors.back();
      tensors.pop_back();
      const TensorNode& n = p_.tensor(t);
      terms = terms_of(t);
      if (n.kind == TensorKind::Scatter) need(n.scatter.base);
      if (n.kind == TensorKind::Recurrence)
        for (TensorId m : p_.recurrences[n.group].members) need(m);
      continue;
    }
    const TermId id = terms.back();
    terms.pop_back();
    if (seen_term[id]) continue;
    seen_term[id] = true;
    const core::Term& t = p_.term(id);
    if (t.kind == TermKind::Read || t.kind == TermKind::ReadElse) need(static_cast<TensorId>(t.data));
    if (t.kind == TermKind::Size) need(p_.sizes[t.data].defined_by);
    const auto a = p_.arguments_of(id);
    terms.insert(terms.end(), a.begin(), a.end());
  }
  for (TensorId t = 0; t < needed.size(); ++t)
    if (needed[t] && !terms_.tensors[t]) evaluate(t);
}

bool Equations::holds(const core::Condition& condition) {
  require_terms({condition.term}, {});
  const Value v = terms_.value(condition.term);
  if (is_poison(v)) stop(std::get<Poison>(v), "in the condition \"" + condition.message + "\"");
  return bits(v) != 0;
}

std::optional<Tensor> Equations::output(std::size_t k) {
  const TensorId id = p_.outputs[k];
  if (id == None) return std::nullopt;
  require_terms({}, {id});
  const Storage& s = *terms_.tensors[id];
  std::int64_t position = 0;
  if (const Poison* p = s.first_poison(position)) stop(*p, of_element(k, position, s.extents()));
  return s.tensor();
}

// Of a comprehension, one element alone; of all else, the output.
std::optional<Bits> Equations::element(std::size_t k, std::int64_t position) {
  const TensorId id = p_.outputs[k];
  if (id == None) return std::nullopt;
  const TensorNode& n = p_.tensor(id);
  if (n.kind != TensorKind::Comprehension || is_opaque(n.type)) {
    const auto all = output(k);
    return all && position < all->size() && !is_opaque(n.type) ? std::optional(all->at(position)) : std::nullopt;
  }
  require_terms(terms_of(id), {});
  const Extents extents = extents_of(id);
  std::int64_t rest = position;
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (extents[d] < 1) return std::nullopt;
    terms_.set(n.variables[d], Value(rest % extents[d]));
    rest /= extents[d];
  }
  const Value v = terms_.value(n.body);
  if (is_poison(v)) stop(std::get<Poison>(v), of_element(k, position, extents));
  Storage one(n.type, {1});
  one.set(0, v);
  return one.tensor().at(0);
}

// --- equations

Extents Equations::extents_of(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  Extents extents;
  for (TermId e : n.extents) {
    extents.push_back(known(e, fmt::format("an extent of \"{}\"", n.name)));
    if (extents.back() < 0) terms_.stop(ErrorKind::Definition, fmt::format("axis {} of \"{}\" would have the extent {}", extents.size() - 1, n.name, extents.back()), n.place);
  }
  return extents;
}

Storage& Equations::make(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  Extents extents = extents_of(id);
  const auto bytes = Storage::bytes_needed(n.type, extents);
  if (!bytes) terms_.stop(ErrorKind::Limit, fmt::format("\"{}\" of extents {} is too large", n.name, to_string(extents)), n.place);
  terms_.charge(*bytes);
  return terms_.tensors[id].emplace(n.type, std::move(extents));
}

void Equations::evaluate(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  switch (n.kind) {
    case TensorKind::Input: terms_.stop(ErrorKind::Input, fmt::format("input \"{}\" is missing", n.name), n.place);
    case TensorKind::Literal: return literal(id);
    case TensorKind::Comprehension: return comprehension(id);
    case TensorKind::Recurrence: return recurrence(n.group);
    case TensorKind::Where: return where(id);
    case TensorKind::Measured: return measured(id);
    case TensorKind::Scatter: return scatter(id);
  }
}

void Equations::literal(TensorId id) { terms_.tensors[id].emplace(*p_.tensor(id).literal); }

void Equations::comprehension(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  Storage& s = make(id);
  std::int64_t position = 0;
  Loop loop(terms_, n.variables, n.extents);
  for (bool more = loop.first(); more; more = loop.next()) put(s, position++, terms_.value(n.body));
  ensure(position == s.size());
}

void Equations::recurrence(std::uint32_t group) {
  const core::Recurrence& r = p_.recurrences[group];
  // Elements before each index of the recurrence's own variables.
  std::vector<std::int64_t> position(r.members.size());
  for (TensorId m : r.members) make(m).expect_all();
  Loop outer(terms_, r.variables, r.extents);
  for (bool more = outer.first(); more; more = outer.next())
    for (std::size_t k = 0; k < r.members.size(); ++k) {
      const TensorNode& n = p_.tensor(r.members[k]);
      Loop inner(terms_, std::span(n.variables).subspan(r.variables.size()), std::span(n.extents).subspan(r.variables.size()));
      for (bool element = inner.first(); element; element = inner.next()) put(*terms_.tensors[r.members[k]], position[k]++, terms_.value(n.body));
    }
}

void Equations::where(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  std::vector<std::int64_t> rows;
  std::int64_t found = 0, charged = 0;
  Loop loop(terms_, n.variables, n.domain);
  for (bool more = loop.first(); more; more = loop.next()) {
    const Value v = terms_.value(n.body);
    if (is_poison(v)) stop(std::get<Poison>(v), fmt::format("in the condition of \"{}\"", n.name));
    if (!bits(v)) continue;
    ++found;
    rows.insert(rows.end(), loop.at().begin(), loop.at().end());
    const auto held = static_cast<std::int64_t>(rows.capacity() * sizeof(std::int64_t));
    terms_.charge(held - charged);
    charged = held;
  }
  if (loop.poison()) stop(*loop.poison(), fmt::format("for an extent of \"{}\"", n.name));
  terms_.sizes[p_.term(n.extents[0]).data] = found;
  Storage& s = make(id);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    terms_.tick();
    s.set(static_cast<std::int64_t>(k), Value(rows[k]));
  }
  terms_.release(charged);
}

void Equations::measured(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  const std::int64_t value = known(n.body, fmt::format("\"{}\"", n.name));
  for (std::size_t s = 0; s < p_.sizes.size(); ++s)
    if (p_.sizes[s].defined_by == id) terms_.sizes[s] = value;
  make(id).set(0, Value(value));
}

void Equations::scatter(TensorId id) {
  const TensorNode& n = p_.tensor(id);
  const Storage& base = *terms_.tensors[n.scatter.base];
  Storage& s = make(id);
  if (s.extents() != base.extents())
    terms_.stop(ErrorKind::Definition, fmt::format("\"{}\" of extents {} is scattered into extents {}", n.name, to_string(s.extents()), to_string(base.extents())), n.place);
  for (std::int64_t k = 0; k < s.size(); ++k) {
    terms_.tick();
    put(s, k, base.at(k));
  }
  using Mode = core::ScatterMode;
  using Kind = core::ReduceKind;
  const Mode mode = n.scatter.mode;
  Loop loop(terms_, n.variables, n.domain);
  for (bool more = loop.first(); more; more = loop.next()) {
    if (n.scatter.filter != None) {
      const Value keep = terms_.value(n.scatter.filter);
      if (is_poison(keep)) stop(std::get<Poison>(keep), fmt::format("in the filter of \"{}\"", n.name));
      if (!bits(keep)) continue;
    }
    std::int64_t position = 0;
    for (std::size_t d = 0; d < n.scatter.index.size(); ++d) {
      const std::int64_t k = known(n.scatter.index[d], fmt::format("an index of \"{}\"", n.name));
      if (k < 0 || k >= s.extents()[d])
        terms_.stop(ErrorKind::Definition, fmt::format("\"{}\" is written at index {} of axis {}, whose extent is {}", n.name, k, d, s.extents()[d]), n.place);
      position = position * s.extents()[d] + k;
    }
    const Value v = terms_.value(n.body);
    if (mode == Mode::Last || mode == Mode::Any) {
      put(s, position, v);
      continue;
    }
    const Kind kind = mode == Mode::Add ? Kind::Sum : mode == Mode::Multiply ? Kind::Product : mode == Mode::Maximum ? Kind::Maximum : Kind::Minimum;
    s.set(position, combine_values(kind, n.type, s.at(position), v, n.body));
  }
  if (loop.poison()) stop(*loop.poison(), fmt::format("for an extent of \"{}\"", n.name));
}

Diagnostic of_condition(const core::Program& p, const core::Condition& c, ErrorKind kind) {
  Diagnostic d;
  d.kind = kind;
  d.message = (p.op.empty() ? "" : p.op + ": ") + (c.message.empty() ? core::to_string(p, c.term) : c.message);
  if (c.place < p.places.size()) d.place = p.places[c.place];
  return d;
}

Result<Outputs> run(Equations& equations, const core::Program& p, std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined) {
  equations.bind(inputs);
  if (auto much = too_much_work(p, work_of(p, equations.sizes()), limits)) return std::move(*much);
  for (const core::Condition& c : p.path)
    if (!equations.holds(c)) {
      Diagnostic d = of_condition(p, c, ErrorKind::Input);
      d.message = "these inputs are not those the program was elaborated for: " + d.message;
      return d;
    }
  for (const core::Condition& c : p.requirements)
    if (!equations.holds(c)) return of_condition(p, c, ErrorKind::Requirement);
  for (const core::Condition& c : p.undefined)
    if (equations.holds(c)) {
      Diagnostic d = of_condition(p, c, ErrorKind::Undefined);
      if (!undefined) return d;
      *undefined = std::move(d);
      break;
    }
  Outputs out;
  for (std::size_t k = 0; k < p.outputs.size(); ++k) out.push_back(equations.output(k));
  return out;
}

}  // namespace

Result<Outputs> evaluate_scalar(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const Limits& limits,
                                std::optional<Diagnostic>* undefined) {
  if (const auto broken = core::verify(program)) ensure(false, "core program: " + *broken);
  Diagnostic failure;
  try {
    Equations equations(program, limits);
    return run(equations, program, inputs, limits, undefined);
  } catch (const Stop& stop) {
    failure = stop.diagnostic;
  } catch (const ExactTooLarge& e) {
    failure.kind = ErrorKind::Limit;
    failure.message = e.what();
  } catch (const std::bad_alloc&) {
    failure.kind = ErrorKind::Limit;
    failure.message = program.op + ": the memory of this machine does not suffice";
  }
  if (undefined && *undefined && failure.kind == ErrorKind::Definition) return Outputs(program.outputs.size());
  return failure;
}

struct ScalarElements::Parts {
  explicit Parts(const core::Program& program) : equations(program, limits) {}
  Limits limits;
  Equations equations;
};

ScalarElements::ScalarElements(const core::Program& program, std::span<const std::optional<Tensor>> inputs) : program_(program), inputs_(inputs) {}
ScalarElements::~ScalarElements() = default;

std::optional<Bits> ScalarElements::element(std::size_t output, std::int64_t position, const Limits& limits) {
  try {
    if (!parts_) {
      auto parts = std::make_unique<Parts>(program_);
      parts->limits = limits;
      parts->equations.bind(inputs_);
      parts_ = std::move(parts);
    }
    parts_->limits = limits;
    return parts_->equations.element(output, position);
  } catch (const Stop&) {
  } catch (const ExactTooLarge&) {
  } catch (const std::bad_alloc&) {
  }
  parts_.reset();  // what was being evaluated is there in part
  return std::nullopt;
}

std::optional<Diagnostic> explain_element(const core::Program& program, std::span<const std::optional<Tensor>> inputs, std::size_t output, std::int64_t position,
                                          const Limits& limits) {
  try {
    Equations equations(program, limits);
    equations.bind(inputs);
    equations.element(output, position);
  } catch (const Stop& stop) {
    if (stop.diagnostic.kind == ErrorKind::Definition) return stop.diagnostic;
  } catch (const ExactTooLarge&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

}  // namespace ulpian::interp
