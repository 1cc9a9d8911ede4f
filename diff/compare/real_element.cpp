#include "diff/compare/real_element.h"

#include <array>

#include "interp/canonical/canonical.h"

namespace ulpian::diff {

using core::None;
using core::Term;
using core::TermId;
using core::TermKind;
using core::TensorKind;
using interp::Real;

namespace {

// Enough for a sum of some hundred thousand terms; beyond, the element is not decided.
constexpr std::int64_t MostSteps = 4'000'000;
constexpr std::size_t MostKept = 1'000'000;
constexpr int MostDepth = 1200;

// Floats are held as reals.
bool as_real(ElementType t) { return is_float(t) || t == ElementType::R; }
bool unsupported(ElementType t) { return t == ElementType::String || is_complex(t); }

RealElements::Value held(ElementType type, Bits bits) {
  if (is_float(type)) return interp::real_of(type, bits);
  return bits;
}

const Real& real(const RealElements::Value& v) { return std::get<Real>(v); }

}  // namespace

std::size_t RealElements::KeyHash::operator()(const Key& k) const {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (std::int64_t v : k.parts) h = (h ^ static_cast<std::uint64_t>(v)) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  return static_cast<std::size_t>(h);
}

RealElements::RealElements(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const interp::Limits& limits)
    : p_(program), inputs_(inputs), limits_(limits), variables_(program.variables.size()), sizes_(program.sizes.size()) {
  for (std::size_t k = 0; k < inputs_.size() && k < p_.inputs.size(); ++k) {
    if (p_.inputs[k] == None || !inputs_[k]) continue;
    const core::TensorNode& n = p_.tensor(p_.inputs[k]);
    for (std::size_t d = 0; d < n.extents.size() && d < inputs_[k]->extents().size(); ++d) {
      const Term& extent = p_.term(n.extents[d]);
      if (extent.kind == TermKind::Size && !sizes_[extent.data]) sizes_[extent.data] = inputs_[k]->extents()[d];
    }
  }
}

std::optional<RealElements::Value> RealElements::element(std::size_t output, std::int64_t position) {
  const core::TensorId id = p_.outputs.at(output);
  if (id == None || unsupported(p_.tensor(id).type)) return std::nullopt;
  steps_ = 0;
  depth_ = 0;
  try {
    const auto extents = extents_of(id);
    if (!extents) return std::nullopt;
    Extents index(extents->size());
    for (std::size_t d = extents->size(); d-- > 0;) {
      if ((*extents)[d] <= 0) return std::nullopt;
      index[d] = position % (*extents)[d];
      position /= (*extents)[d];
    }
    return tensor_element(id, index);
  } catch (const ExactTooLarge&) {
    return std::nullopt;
  }
}

std::optional<Bits> RealElements::rounded(const core::Program& program, std::size_t output, const Value& value) {
  const core::TensorNode& n = program.tensor(program.outputs.at(output));
  if (const Bits* b = std::get_if<Bits>(&value)) return *b;
  if (!std::holds_alternative<Real>(value) || !is_float(n.type)) return std::nullopt;
  // What lies out of range is what the cast that ends the definition makes of it.
  CastMode mode = CastMode::Plain;
  if (n.body != None && program.term(n.body).kind == TermKind::Cast) mode = static_cast<CastMode>(program.term(n.body).operation);
  return interp::round_to(std::get<Real>(value), n.type, mode);
}

bool RealElements::spend() {
  if (++steps_ > MostSteps) return false;
  return (steps_ & 1023) != 0 || !limits_.stopped();
}

std::optional<std::int64_t> RealElements::integer(TermId id) {
  const Maybe v = term(id);
  if (!v || !std::holds_alternative<std::int64_t>(*v)) return std::nullopt;
  return std::get<std::int64_t>(*v);
}

std::optional<bool> RealElements::truth(TermId id) {
  const Maybe v = term(id);
  if (!v || !std::holds_alternative<Bits>(*v)) return std::nullopt;
  return std::get<Bits>(*v) != 0;
}

// --- terms

RealElements::Maybe RealElements::term(TermId id) {
  if (!spend() || depth_ >= MostDepth) return std::nullopt;
  ++depth_;
  Maybe out;
  const Term& t = p_.term(id);
  const bool kept = t.kind == TermKind::Primitive || t.kind == TermKind::Reduce || t.kind == TermKind::Fold || t.kind == TermKind::Nth;
  Key key;
  bool closed = kept;
  if (kept) {
    key.parts.push_back(static_cast<std::int64_t>(id));
    for (core::Variable v : p_.free_of(id)) {
      const std::int64_t* index = variables_[v] ? std::get_if<std::int64_t>(&*variables_[v]) : nullptr;
      closed = closed && index != nullptr;  // not what reads an accumulator
      if (index) key.parts.push_back(*index);
    }
  }
  if (const auto it = closed ? memo_.find(key) : memo_.end(); it != memo_.end()) {
    out = it->second;
  } else {
    out = compute(id);
    if (closed && out && memo_.size() < MostKept) memo_.emplace(std::move(key), *out);
  }
  --depth_;
  return out;
}

RealElements::Maybe RealElements::compute(TermId id) {
  const Term& t = p_.term(id);
  const auto a = p_.arguments_of(id);
  switch (t.kind) {
    case TermKind::Constant: return constant(t);
    case TermKind::Variable: return variables_[t.data];
    case TermKind::Size: {
      const auto s = size(static_cast<core::Size>(t.data));
      return s ? Maybe(*s) : std::nullopt;
    }
    case TermKind::Primitive: return primitive(id);
    case TermKind::Cast: return cast(id);
    case TermKind::Select: {
      const auto condition = truth(a[0]);
      if (!condition) return std::nullopt;
      return term(*condition ? a[1] : a[2]);
    }
    case TermKind::Read: {
      bool outside = false;
      return read(id, a, outside);
    }
    case TermKind::ReadElse: {
      bool outside = false;
      Maybe v = read(id, a.first(a.size() - 1), outside);
      return outside ? term(a.back()) : v;
    }
    case TermKind::Reduce: return reduce(id);
    case TermKind::Fold: return fold(id);
    case TermKind::Nth: return nth(id);
    case TermKind::Choice: return term(a[0]);
    case TermKind::Unspecified:
      if (unsupported(t.type)) return std::nullopt;
      if (t.type == ElementType::Z) return Value(std::int64_t{0});
      return as_real(t.type) ? Value(Real()) : Value(Bits{0});
    case TermKind::Random: return std::nullopt;
  }
  ensure(false);
}

RealElements::Maybe RealElements::constant(const Term& t) const {
  if (unsupported(t.type)) return std::nullopt;
  if (t.type == ElementType::Z) return Value(static_cast<std::int64_t>(t.data));
  if (t.type == ElementType::R) return Value(Real(p_.reals[t.data]));
  return held(t.type, t.data);
}

namespace {

bool yields_truth(Primitive p) {
  const PrimitiveKind k = row_of(p).kind;
  return k == PrimitiveKind::Comparison || k == PrimitiveKind::Logic || p == Primitive::IsNan || p == Primitive::IsInfinite;
}

// On reals: floats are reals here, and `floor` and the like act on the exact value.
std::optional<RealElements::Value> on_reals(Primitive p, ElementType type, ElementType result, std::span<const Real> x) {
  if (yields_truth(p)) {
    const auto b = interp::real_comparison(p, x);
    if (!b) return std::nullopt;
    return RealElements::Value(Bits{*b});
  }
  switch (p) {
    case Primitive::ToReal: return RealElements::Value(x[0]);
    case Primitive::Floor:
    case Primitive::Ceiling:
    case Primitive::RoundEven:
    case Primitive::Truncate: {
      if (result == ElementType::Z) {
        const auto z = interp::to_integer(p, x[0]);
        return z ? std::optional<RealElements::Value>(*z) : std::nullopt;
      }
      const auto e = interp::to_integral(p, x[0]);
      return e ? std::optional<RealElements::Value>(Real(*e)) : std::nullopt;
    }
    case Primitive::NextAfter: return std::nullopt;  // a matter of the type, not of numbers
    default: break;
  }
  (void)type;
  auto r = interp::real_primitive(p, x);
  return r ? std::optional<RealElements::Value>(std::move(*r)) : std::nullopt;
}

}  // namespace

RealElements::Maybe RealElements::primitive(TermId id) {
  const Term& t = p_.term(id);
  const auto a = p_.arguments_of(id);
  const auto p = static_cast<Primitive>(t.operation);
  std::array<Value, 3> x;
  ensure(a.size() <= x.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    Maybe v = term(a[k]);
    if (!v) return std::nullopt;
    x[k] = std::move(*v);
  }
  if (row_of(p).kind == PrimitiveKind::Text) return std::nullopt;
  const ElementType type = p_.term(a[0]).type;
  if (as_real(type)) {
    std::array<Real, 3> r;
    for (std::size_t k = 0; k < a.size(); ++k) r[k] = real(x[k]);
    return on_reals(p, type, t.type, std::span(r).first(a.size()));
  }
  if (type == ElementType::Z) {
    std::array<std::int64_t, 3> z{};
    for (std::size_t k = 0; k < a.size(); ++k) z[k] = std::get<std::int64_t>(x[k]);
    if (p == Primitive::ToReal) return Value(Real(z[0]));
    const auto v = interp::integer_primitive(p, std::span(z).first(a.size()));
    if (!v) return std::nullopt;
    return t.type == ElementType::Bool ? Value(static_cast<Bits>(*v)) : Value(*v);
  }
  std::array<Bits, 3> b{};
  for (std::size_t k = 0; k < a.size(); ++k) b[k] = std::get<Bits>(x[k]);
  if (p == Primitive::ToReal) return Value(interp::real_of(type, b[0]));
  if (p == Primitive::ToInteger) {
    const auto v = interp::integer_of(type, b[0]);
    return v ? Maybe(*v) : std::nullopt;
  }
  if (row_of(p).kind == PrimitiveKind::Elementary) return std::nullopt;
  return Value(interp::machine_primitive(p, type, std::span(b).first(a.size())));
}

RealElements::Maybe RealElements::cast(TermId id) {
  const Term& t = p_.term(id);
  const TermId from = p_.arguments_of(id)[0];
  const ElementType type = p_.term(from).type;
  const auto mode = static_cast<CastMode>(t.operation);
  if (unsupported(type) || unsupported(t.type)) return std::nullopt;
  Maybe v = term(from);
  if (!v) return std::nullopt;
  if (as_real(type)) {
    if (as_real(t.type)) return v;  // nothing rounds inside
    if (t.type == ElementType::Bool) {
      const std::array<Real, 2> both{real(*v), Real()};
      const auto differs = interp::real_comparison(Primitive::NotEqual, both);
      return differs ? Maybe(Bits{*differs}) : std::nullopt;
    }
    if (t.type == ElementType::Z) return std::nullopt;
    const auto b = interp::round_to(real(*v), t.type, mode);
    return b ? Maybe(*b) : std::nullopt;
  }
  if (type == ElementType::Z) {
    const std::int64_t z = std::get<std::int64_t>(*v);
    if (as_real(t.type)) return Value(Real(z));
    return Value(interp::machine_of(z, t.type, mode));
  }
  const Bits b = std::get<Bits>(*v);
  if (as_real(t.type)) return Value(interp::real_of(type, b));
  if (t.type == ElementType::Z) {
    const auto z = interp::integer_of(type, b);
    return z ? Maybe(*z) : std::nullopt;
  }
  return Value(convert(type, t.type, b, mode));
}

// --- tensors

RealElements::Maybe RealElements::read(TermId id, std::span<const TermId> index, bool& outside) {
  const auto tensor = static_cast<core::TensorId>(p_.term(id).data);
  std::vector<std::int64_t> at(index.size());
  for (std::size_t d = 0; d < index.size(); ++d) {
    const auto k = integer(index[d]);
    if (!k) return std::nullopt;
    at[d] = *k;
  }
  const auto extents = extents_of(tensor);
  if (!extents) return std::nullopt;
  for (std::size_t d = 0; d < at.size(); ++d) outside = outside || at[d] < 0 || at[d] >= (*extents)[d];
  return outside ? std::nullopt : tensor_element(tensor, at);
}

// Variables of a tensor's own, while one of its elements is evaluated.
class RealElements::Bound {
public:
  Bound(RealElements& owner, std::span<const core::Variable> variables) : owner_(owner), variables_(variables) {
    for (core::Variable v : variables_) former_.push_back(owner_.variables_[v]);
  }
  ~Bound() {
    for (std::size_t k = 0; k < variables_.size(); ++k) owner_.variables_[variables_[k]] = std::move(former_[k]);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

private:
  RealElements& owner_;
  std::span<const core::Variable> variables_;
  std::vector<Maybe> former_;
};

RealElements::Maybe RealElements::tensor_element(core::TensorId id, std::span<const std::int64_t> index) {
  const core::TensorNode& n = p_.tensor(id);
  if (unsupported(n.type)) return std::nullopt;
  const auto stored = [&](const Tensor& t) -> Maybe {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < index.size(); ++d) position = position * t.extents()[d] + index[d];
    return held(t.type(), t.at(position));
  };
  switch (n.kind) {
    case TensorKind::Input:
      for (std::size_t k = 0; k < p_.inputs.size() && k < inputs_.size(); ++k)
        if (p_.inputs[k] == id && inputs_[k]) return stored(*inputs_[k]);
      return std::nullopt;
    case TensorKind::Literal: return stored(*n.literal);
    case TensorKind::Comprehension:
    case TensorKind::Recurrence: {
      Key key{{-1 - static_cast<std::int64_t>(id)}};
      key.parts.insert(key.parts.end(), index.begin(), index.end());
      if (const auto it = memo_.find(key); it != memo_.end()) return it->second;
      ensure(index.size() == n.variables.size());
      const Bound bound(*this, n.variables);
      for (std::size_t d = 0; d < index.size(); ++d) variables_[n.variables[d]] = Value(index[d]);
      Maybe v = term(n.body);
      if (v && memo_.size() < MostKept) memo_.emplace(std::move(key), *v);
      return v;
    }
    case TensorKind::Where: {
      const auto* all = coordinates(id);
      const std::size_t place = static_cast<std::size_t>(index[0]) * n.variables.size() + static_cast<std::size_t>(index[1]);
      return all && place < all->size() ? Maybe((*all)[place]) : std::nullopt;
    }
    case TensorKind::Measured: return term(n.body);
    case TensorKind::Scatter: return scattered(id, index);
  }
  ensure(false);
}

RealElements::Maybe RealElements::scattered(core::TensorId id, std::span<const std::int64_t> index) {
  const core::TensorNode& n = p_.tensor(id);
  Maybe value = tensor_element(n.scatter.base, index);
  if (!value) return std::nullopt;
  const bool whole = each(n.variables, n.domain, [&] {
    if (n.scatter.filter != None) {
      const auto keep = truth(n.scatter.filter);
      if (!keep) return false;
      if (!*keep) return true;
    }
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto k = integer(n.scatter.index[d]);
      if (!k) return false;
      if (*k != index[d]) return true;
    }
    Maybe v = term(n.body);
    if (!v) return false;
    switch (n.scatter.mode) {
      case core::ScatterMode::Last:
      case core::ScatterMode::Any: value = std::move(v); break;
      case core::ScatterMode::Add: value = combine(core::ReduceKind::Sum, n.type, *value, *v); break;
      case core::ScatterMode::Multiply: value = combine(core::ReduceKind::Product, n.type, *value, *v); break;
      case core::ScatterMode::Maximum: value = combine(core::ReduceKind::Maximum, n.type, *value, *v); break;
      case core::ScatterMode::Minimum: value = combine(core::ReduceKind::Minimum, n.type, *value, *v); break;
    }
    return value.has_value();
  });
  return whole ? value : std::nullopt;
}

const std::vector<std::int64_t>* RealElements::coordinates(core::TensorId id) {
  if (const auto it = coordinates_.find(id); it != coordinates_.end()) return &it->second;
  const core::TensorNode& n = p_.tensor(id);
  std::vector<std::int64_t> all;
  const bool whole = each(n.variables, n.domain, [&] {
    const auto holds = truth(n.body);
    if (holds && *holds)
      for (core::Variable v : n.variables) all.push_back(std::get<std::int64_t>(*variables_[v]));
    return holds.has_value();
  });
  if (!whole) return nullptr;
  return &coordinates_.emplace(id, std::move(all)).first->second;
}

std::optional<Extents> RealElements::extents_of(core::TensorId id) {
  Extents out;
  for (TermId e : p_.tensor(id).extents) {
    const auto n = integer(e);
    if (!n) return std::nullopt;
    out.push_back(*n);
  }
  return out;
}

std::optional<std::int64_t> RealElements::size(core::Size s) {
  if (sizes_[s]) return sizes_[s];
  const core::TensorId by = p_.sizes[s].defined_by;
  if (by == None) return std::nullopt;
  const core::TensorNode& n = p_.tensor(by);
  if (n.kind == TensorKind::Measured) sizes_[s] = integer(n.body);
  else if (n.kind == TensorKind::Where)
    if (const auto* all = coordinates(by)) sizes_[s] = n.variables.empty() ? 0 : static_cast<std::int64_t>(all->size() / n.variables.size());
  return sizes_[s];
}

// --- index tuples

template <typename Visit> bool RealElements::each(std::span<const core::Variable> variables, std::span<const TermId> extents, Visit visit) {
  const Bound bound(*this, variables);
  std::vector<std::int64_t> at(variables.size()), extent(variables.size());
  std::size_t level = 0;
  bool carry = false;
  for (;;) {
    if (!spend()) return false;
    if (carry) {
      do {
        if (level == 0) return true;
        --level;
      } while (++at[level] >= extent[level]);
      variables_[variables[level]] = Value(at[level]);
      ++level;
      carry = false;
    }
    if (level == variables.size()) {
      if (!visit()) return false;
      carry = true;
      continue;
    }
    const auto n = integer(extents[level]);
    if (!n) return false;
    extent[level] = *n;
    if (*n <= 0) {
      carry = true;
      continue;
    }
    at[level] = 0;
    variables_[variables[level]] = Value(std::int64_t{0});
    ++level;
  }
}

// --- reductions

RealElements::Maybe RealElements::combine(core::ReduceKind kind, ElementType type, const Value& a, const Value& b) {
  using core::ReduceKind;
  const Primitive p = kind == ReduceKind::Sum || kind == ReduceKind::Dot ? Primitive::Add
                      : kind == ReduceKind::Product                      ? Primitive::Multiply
                      : kind == ReduceKind::Maximum                      ? Primitive::Maximum
                                                                         : Primitive::Minimum;
  if (as_real(type)) {
    const std::array<Real, 2> x{real(a), real(b)};
    return on_reals(p, type, type, x);
  }
  if (type == ElementType::Z) {
    const std::array<std::int64_t, 2> z{std::get<std::int64_t>(a), std::get<std::int64_t>(b)};
    const auto v = interp::integer_primitive(p, z);
    return v ? Maybe(*v) : std::nullopt;
  }
  const std::array<Bits, 2> x{std::get<Bits>(a), std::get<Bits>(b)};
  return Value(interp::machine_primitive(p, type, x));
}

// In halves, so that sums of irrational numbers stay shallow.
RealElements::Maybe RealElements::tree(core::ReduceKind kind, ElementType type, std::vector<Value> terms) {
  while (terms.size() > 1) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < terms.size(); k += 2) {
      if (!spend()) return std::nullopt;
      if (k + 1 == terms.size()) {
        terms[kept++] = std::move(terms[k]);
        continue;
      }
      Maybe v = combine(kind, type, terms[k], terms[k + 1]);
      if (!v) return std::nullopt;
      terms[kept++] = std::move(*v);
    }
    terms.resize(kept);
  }
  return std::move(terms[0]);
}

RealElements::Maybe RealElements::reduce(TermId id) {
  using core::ReduceKind;
  const Term& t = p_.term(id);
  const core::ReduceView r = p_.reduce(id);
  if (unsupported(t.type)) return std::nullopt;
  std::vector<std::pair<std::int64_t, Value>> terms;  // with flattened positions, filtered ones counted
  if (r.initial != None) {
    Maybe v = term(r.initial);
    if (!v) return std::nullopt;
    terms.emplace_back(-1, std::move(*v));
  }
  const ElementType body_type = r.bodies.empty() ? ElementType::Bool : p_.term(r.bodies[0]).type;
  std::int64_t position = -1, count = 0;
  const bool whole = each(r.variables, r.extents, [&] {
    ++position;
    if (r.filter != None) {
      const auto keep = truth(r.filter);
      if (!keep) return false;
      if (!*keep) return true;
    }
    ++count;
    if (r.kind == ReduceKind::Count) return true;
    Maybe v = term(r.bodies[0]);
    if (v && r.kind == ReduceKind::Dot) {
      const Maybe w = term(r.bodies[1]);
      v = w ? combine(ReduceKind::Product, t.type, *v, *w) : std::nullopt;
    }
    if (!v) return false;
    terms.emplace_back(position, std::move(*v));
    return true;
  });
  if (!whole) return std::nullopt;
  if (r.kind == ReduceKind::Count) return Value(count);
  if (r.kind == ReduceKind::ArgMax || r.kind == ReduceKind::ArgMin) return extreme_place(r, terms, body_type);
  std::vector<Value> values;
  for (auto& [at, v] : terms) values.push_back(std::move(v));
  if (r.kind == ReduceKind::Any || r.kind == ReduceKind::All) {
    Bits out = r.kind == ReduceKind::All;
    for (const Value& v : values) out = r.kind == ReduceKind::All ? out & std::get<Bits>(v) : out | std::get<Bits>(v);
    return Value(out);
  }
  if (!values.empty()) return tree(r.kind, t.type, std::move(values));
  if (t.type == ElementType::Z) return r.kind == ReduceKind::Sum || r.kind == ReduceKind::Dot ? Maybe(std::int64_t{0}) : r.kind == ReduceKind::Product ? Maybe(std::int64_t{1}) : std::nullopt;
  if (t.type == ElementType::R) return r.kind == ReduceKind::Sum || r.kind == ReduceKind::Dot ? Maybe(Real()) : r.kind == ReduceKind::Product ? Maybe(Real(1)) : Maybe(Real(Exact::infinity(r.kind == ReduceKind::Maximum)));
  return held(t.type, interp::neutral(r.kind == ReduceKind::Dot ? ReduceKind::Sum : r.kind, t.type));
}

namespace {

// -0 equals 0, NaN is greatest; empty: undecided.
std::optional<int> compare_keys(ElementType type, const RealElements::Value& a, const RealElements::Value& b) {
  if (type == ElementType::Z) {
    const auto x = std::get<std::int64_t>(a), y = std::get<std::int64_t>(b);
    return x < y ? -1 : x > y;
  }
  if (!as_real(type)) return interp::compare_keys(type, std::get<Bits>(a), std::get<Bits>(b));
  const auto is_nan = [](const Real& r) { return r.exact() && r.exact()->is_nan(); };
  const bool x = is_nan(real(a)), y = is_nan(real(b));
  if (x || y) return static_cast<int>(x) - static_cast<int>(y);
  const auto order = interp::compare(real(a), real(b));
  if (!order) return std::nullopt;
  return *order < 0 ? -1 : *order > 0;
}

}  // namespace

RealElements::Maybe RealElements::extreme_place(const core::ReduceView& r, const std::vector<std::pair<std::int64_t, Value>>& terms, ElementType type) {
  const std::pair<std::int64_t, Value>* best = nullptr;
  for (const auto& candidate : terms) {
    if (!best) {
      best = &candidate;
      continue;
    }
    auto order = compare_keys(type, candidate.second, best->second);
    if (!order) return std::nullopt;
    // NaN beats every number either way.
    const auto is_nan = [&](const Value& v) { return as_real(type) && real(v).exact() && real(v).exact()->is_nan(); };
    if (r.kind == core::ReduceKind::ArgMin && !is_nan(candidate.second) && !is_nan(best->second)) order = -*order;
    if (*order > 0) best = &candidate;
  }
  return best ? Maybe(best->first) : std::nullopt;
}

RealElements::Maybe RealElements::fold(TermId id) {
  const core::FoldView f = p_.fold(id);
  Maybe accumulator = term(f.initial);
  if (!accumulator) return std::nullopt;
  const Bound bound(*this, std::span(&f.accumulator, 1));
  const bool whole = each(f.variables, f.extents, [&] {
    variables_[f.accumulator] = accumulator;
    accumulator = term(f.body);
    return accumulator.has_value();
  });
  return whole ? accumulator : std::nullopt;
}

RealElements::Maybe RealElements::nth(TermId id) {
  const core::NthView n = p_.nth(id);
  const auto place = integer(n.place);
  if (!place) return std::nullopt;
  std::vector<std::vector<Value>> keys;
  const bool whole = each(std::span(&n.variable, 1), std::span(&n.extent, 1), [&] {
    std::vector<Value> key;
    for (TermId k : n.keys) {
      Maybe v = term(k);
      if (!v) return false;
      key.push_back(std::move(*v));
    }
    keys.push_back(std::move(key));
    return true;
  });
  if (!whole || *place < 0 || *place >= static_cast<std::int64_t>(keys.size())) return std::nullopt;
  // The element that has `place` others before it: by the keys, equals by position.
  for (std::size_t c = 0; c < keys.size(); ++c) {
    std::int64_t before = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (!spend()) return std::nullopt;
      int order = 0;
      for (std::size_t k = 0; k < n.keys.size() && order == 0; ++k) {
        const auto o = compare_keys(p_.term(n.keys[k]).type, keys[j][k], keys[c][k]);
        if (!o) return std::nullopt;
        order = n.descending ? -*o : *o;
      }
      before += order < 0 || (order == 0 && j < c);
    }
    if (before == *place) return Value(static_cast<std::int64_t>(c));
  }
  return std::nullopt;
}

}  // namespace ulpian::diff
