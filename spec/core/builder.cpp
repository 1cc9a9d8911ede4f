#include "spec/core/builder.h"

#include <algorithm>
#include <array>

#include "spec/core/tables.h"

namespace ulpian::core {

Builder::Builder(const BuilderLimits& limits) : tables_(std::make_unique<Tables>(program_, limits)) {
  program_.variable_sets.emplace_back();  // 0: no variables
  program_.places.emplace_back();         // 0: unknown
}
Builder::~Builder() = default;

std::uint32_t Builder::add_place(const Place& place) {
  const std::string key = place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  auto [it, fresh] = tables_->places.emplace(key, static_cast<std::uint32_t>(program_.places.size()));
  if (fresh) program_.places.push_back(place);
  return it->second;
}

Variable Builder::fresh(std::string_view name, ElementType type) {
  tables_->charge(sizeof(VariableInfo) + name.size());
  program_.variables.push_back({std::string(name), type});
  return static_cast<Variable>(program_.variables.size() - 1);
}

Size Builder::fresh_size(std::string_view name, TensorId defined_by) {
  program_.sizes.push_back({std::string(name), defined_by});
  return static_cast<Size>(program_.sizes.size() - 1);
}

TermId Builder::variable(Variable v) {
  Term t{.kind = TermKind::Variable, .type = program_.variables[v].type, .place = place_, .data = v};
  return tables_->intern(t, {});
}

TermId Builder::size(Size s) {
  Term t{.kind = TermKind::Size, .type = ElementType::Z, .place = place_, .data = s};
  return tables_->intern(t, {});
}

TermId Builder::integer(std::int64_t value) {
  Term t{.kind = TermKind::Constant, .type = ElementType::Z, .place = place_, .data = static_cast<std::uint64_t>(value)};
  return tables_->intern(t, {});
}

TermId Builder::real(const Exact& value) {
  auto same = [&](const Exact& r) {
    return (r == value && r.is_negative_zero() == value.is_negative_zero()) || (r.is_nan() && value.is_nan());
  };
  const std::size_t h = value.hash();
  auto [first, last] = tables_->reals.equal_range(h);
  auto it = std::find_if(first, last, [&](const auto& entry) { return same(program_.reals[entry.second]); });
  if (it == last) {
    tables_->charge(128);
    it = tables_->reals.emplace(h, static_cast<std::uint32_t>(program_.reals.size()));
    program_.reals.push_back(value);
  }
  Term t{.kind = TermKind::Constant, .type = ElementType::R, .place = place_, .data = it->second};
  return tables_->intern(t, {});
}

TermId Builder::constant(ElementType type, Bits bits) {
  ensure(bits_of(type) > 0 && bits_of(type) <= 64);
  Term t{.kind = TermKind::Constant, .type = type, .place = place_, .data = bits};
  return tables_->intern(t, {});
}

TermId Builder::text(std::string_view value) {
  auto [it, fresh] = tables_->texts.try_emplace(std::string(value), static_cast<std::uint32_t>(program_.texts.size()));
  if (fresh) {
    tables_->charge(128 + 2 * value.size());
    program_.texts.emplace_back(value);
  }
  Term t{.kind = TermKind::Constant, .type = ElementType::String, .place = place_, .data = it->second};
  return tables_->intern(t, {});
}

TermId Builder::boolean(bool value) { return constant(ElementType::Bool, value ? 1 : 0); }

std::optional<bool> Builder::boolean_constant(TermId id) const {
  const Term& t = program_.terms[id];
  if (t.kind != TermKind::Constant || t.type != ElementType::Bool) return std::nullopt;
  return t.data != 0;
}

bool Builder::is_static(TermId id) const { return tables_->facts[id].is_static; }

TermId Builder::cast(ElementType type, TermId a, CastMode mode) {
  const Term& s = program_.terms[a];
  if (s.type == type && (mode == CastMode::Plain || mode == CastMode::Reinterpret)) return a;
  if (s.kind == TermKind::Constant && bits_of(s.type) > 0 && bits_of(type) > 0 && !is_complex(s.type) && !is_complex(type))
    return constant(type, convert(s.type, type, s.data, mode));
  if (s.kind == TermKind::Constant && s.type == ElementType::Z && is_integer(type) && mode == CastMode::Plain)
    return constant(type, from_int64(type, static_cast<std::int64_t>(s.data)));
  Term t{.kind = TermKind::Cast, .type = type, .operation = static_cast<std::uint8_t>(mode), .place = place_};
  return tables_->intern(t, std::span(&a, 1));
}

// Every Z is an i64.
TermId Builder::store(ElementType type, TermId a) {
  ensure(is_integer(type) && type_of(a) == ElementType::Z);
  const auto known = integer_constant(a);
  const bool fits = type == ElementType::I64 || (known && holds(type, *known));
  return cast(type, a, fits ? CastMode::Plain : CastMode::Exact);
}

TermId Builder::select(TermId condition, TermId a, TermId b) {
  ensure(type_of(condition) == ElementType::Bool && type_of(a) == type_of(b));
  if (auto c = boolean_constant(condition)) return *c ? a : b;
  if (a == b) return a;
  Term t{.kind = TermKind::Select, .type = type_of(a), .place = place_};
  const TermId arguments[3] = {condition, a, b};
  return tables_->intern(t, arguments);
}

TermId Builder::read(TensorId tensor, std::span<const TermId> index) {
  Term t{.kind = TermKind::Read, .type = program_.tensors[tensor].type, .place = place_, .data = tensor};
  return tables_->intern(t, index);
}

TermId Builder::read_else(TensorId tensor, std::span<const TermId> index, TermId otherwise, bool optional) {
  ensure(type_of(otherwise) == program_.tensors[tensor].type);
  std::vector<TermId> arguments(index.begin(), index.end());
  arguments.push_back(otherwise);
  Term t{.kind = TermKind::ReadElse, .type = program_.tensors[tensor].type, .place = place_, .data = tensor};
  if (optional) t.flags |= OptionalTerm;
  return tables_->intern(t, arguments);
}

TermId Builder::reduce(ReduceKind kind, ElementType type, std::span<const Variable> variables, std::span<const TermId> extents, TermId filter,
                       bool optional_filter, TermId initial, std::span<const TermId> bodies) {
  ensure(variables.size() == extents.size());
  std::vector<TermId> arguments(extents.begin(), extents.end());
  Term t{.kind = TermKind::Reduce, .type = type, .operation = static_cast<std::uint8_t>(kind), .place = place_};
  if (filter != None) {
    arguments.push_back(filter);
    t.flags |= HasFilter;
    if (optional_filter) t.flags |= OptionalFilter;
  }
  if (initial != None) {
    arguments.push_back(initial);
    t.flags |= HasInitial;
  }
  arguments.insert(arguments.end(), bodies.begin(), bodies.end());
  return tables_->intern_binding(t, arguments, {variables.begin(), variables.end()});
}

TermId Builder::fold(std::span<const Variable> variables, std::span<const TermId> extents, Variable accumulator, TermId initial, TermId body) {
  std::vector<TermId> arguments(extents.begin(), extents.end());
  arguments.push_back(initial);
  arguments.push_back(body);
  std::vector<Variable> bound(variables.begin(), variables.end());
  bound.push_back(accumulator);
  Term t{.kind = TermKind::Fold, .type = program_.variables[accumulator].type, .place = place_};
  return tables_->intern_binding(t, arguments, std::move(bound));
}

TermId Builder::nth(Variable variable, TermId extent, TermId place, std::span<const TermId> keys, bool descending) {
  std::vector<TermId> arguments{extent, place};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  Term t{.kind = TermKind::Nth, .type = ElementType::Z, .flags = static_cast<std::uint8_t>(descending ? Descending : 0), .place = place_};
  return tables_->intern_binding(t, arguments, {variable});
}

TermId Builder::choice(ChoiceKind kind, std::span<const TermId> alternatives) {
  ensure(!alternatives.empty());
  if (std::all_of(alternatives.begin(), alternatives.end(), [&](TermId a) { return a == alternatives[0]; })) return alternatives[0];
  Term t{.kind = TermKind::Choice, .type = type_of(alternatives[0]), .operation = static_cast<std::uint8_t>(kind), .place = place_};
  return tables_->intern(t, alternatives);
}

TermId Builder::unspecified(ElementType type) {
  Term t{.kind = TermKind::Unspecified, .type = type, .place = place_, .data = place_};
  return tables_->intern(t, {});
}

TermId Builder::random(TermId key, TermId position, TermId draw) {
  Term t{.kind = TermKind::Random, .type = ElementType::F64, .place = place_};
  return tables_->intern(t, std::array{key, position, draw});
}

TensorId Builder::add(TensorNode node) {
  tables_->charge(sizeof(TensorNode) + node.name.size() + (node.extents.size() + node.variables.size() + node.domain.size()) * sizeof(TermId));
  if (node.place == 0) node.place = place_;
  program_.tensors.push_back(std::move(node));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

std::uint32_t Builder::add_recurrence(Recurrence recurrence) {
  program_.recurrences.push_back(std::move(recurrence));
  return static_cast<std::uint32_t>(program_.recurrences.size() - 1);
}

Program Builder::finish() { return std::move(program_); }

}  // namespace ulpian::core
