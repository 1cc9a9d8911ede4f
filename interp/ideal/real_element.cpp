#include "interp/ideal/real_element.h"

#include <array>

#include <fmt/format.h>

#include "interp/ideal/real_element_parts.h"
#include "interp/canonical/canonical.h"
#include "spec/numbers/philox.h"

namespace ulpian::interp {

using core::None;
using core::Term;
using core::TermId;
using core::TermKind;

namespace {

constexpr int MostDepth = 1200;
constexpr std::size_t NoSlot = static_cast<std::size_t>(-1);

// Worth remembering: reductions and functions, and what several terms use.
std::vector<bool> kept_terms(const core::Program& p) {
  std::vector<std::uint8_t> uses(p.terms.size(), 0);
  for (TermId id : p.arguments) uses[id] = static_cast<std::uint8_t>(uses[id] + (uses[id] < 2));
  std::vector<bool> out(p.terms.size());
  for (std::size_t id = 0; id < out.size(); ++id) {
    const Term& t = p.terms[id];
    if (t.kind == TermKind::Reduce || t.kind == TermKind::Fold || t.kind == TermKind::Nth) out[id] = true;
    else if (t.kind == TermKind::Primitive) out[id] = uses[id] > 1 || row_of(static_cast<Primitive>(t.operation)).kind == PrimitiveKind::Elementary;
    else out[id] = uses[id] > 1 && (t.kind == TermKind::Cast || t.kind == TermKind::Select || t.kind == TermKind::Choice);
  }
  return out;
}

}  // namespace

RealElements::Value held(ElementType type, Bits bits) {
  if (is_float(type)) return real_of(type, bits);
  return bits;
}

std::size_t RealElements::KeyHash::operator()(const Key& k) const {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (std::int64_t v : k.parts) h = (h ^ static_cast<std::uint64_t>(v)) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  return static_cast<std::size_t>(h);
}

RealElements::RealElements(const core::Program& program, std::span<const std::optional<Tensor>> inputs, std::shared_ptr<Work> work)
    : p_(program), inputs_(inputs), work_(std::move(work)), sources_(program.inputs.size()), slot_(program.tensors.size(), NoSlot), kept_(kept_terms(program)),
      variables_(program.variables.size()), constants_(program.terms.size()), sizes_(program.sizes.size()), extents_(program.tensors.size()), elements_(program.tensors.size()), climbed_(program.tensors.size()) {
  for (std::size_t k = 0; k < inputs_.size() && k < p_.inputs.size(); ++k) {
    if (p_.inputs[k] == None || !inputs_[k]) continue;
    slot_[p_.inputs[k]] = k;
    const core::TensorNode& n = p_.tensor(p_.inputs[k]);
    for (std::size_t d = 0; d < n.extents.size() && d < inputs_[k]->extents().size(); ++d) {
      const Term& extent = p_.term(n.extents[d]);
      if (extent.kind == TermKind::Size && !sizes_[extent.data]) sizes_[extent.data] = inputs_[k]->extents()[d];
    }
  }
}

void RealElements::draw_from(std::size_t input, RealElements& of, std::size_t output) {
  ensure(of.work_ == work_);
  if (input < sources_.size()) sources_[input] = {&of, output};
}

// --- one question

template <typename Ask, typename Enough> auto RealElements::asked(const Limits& limits, Ask ask, Enough enough) -> decltype(ask()) {
  decltype(ask()) out;
  // What once took more bits will again.
  for (; work_->bits <= MostBits; work_->bits *= 4) {
    work_->steps = 0;
    work_->depth = 0;
    work_->limits = limits;
    work_->missing = Missing::Nothing;
    try {
      out = ask();
    } catch (const ExactTooLarge&) {
      out = missing(Missing::Precision);
    }
    if (out && enough(*out)) return out;
    if (!out && work_->missing != Missing::Precision) return out;
  }
  work_->bits = MostBits;
  work_->missing = Missing::Precision;
  return out;
}

std::optional<RealElements::Value> RealElements::element(std::size_t output, std::int64_t position, const Limits& limits) {
  return asked(limits, [&] { return output_element(output, position); },
               [&](const Value& v) { return !std::holds_alternative<Real>(v) || rounded(p_, output, v).has_value(); });
}

std::optional<Extents> RealElements::output_extents(std::size_t output, const Limits& limits) {
  const auto ask = [&]() -> std::optional<Extents> {
    fresh();
    const Extents* extents = extents_of(p_.outputs.at(output));
    return extents ? std::optional(*extents) : std::nullopt;
  };
  return asked(limits, ask, [](const Extents&) { return true; });
}

RealElements::Maybe RealElements::output_element(std::size_t output, std::int64_t position) {
  const core::TensorId id = p_.outputs.at(output);
  if (id == None || unsupported(p_.tensor(id).type)) return missing(Missing::Meaning);
  fresh();
  const Extents* extents = extents_of(id);
  if (!extents) return std::nullopt;
  Extents index(extents->size());
  for (std::size_t d = extents->size(); d-- > 0;) {
    if ((*extents)[d] <= 0) return missing(Missing::Meaning);
    index[d] = position % (*extents)[d];
    position /= (*extents)[d];
  }
  return position == 0 ? tensor_element(id, index) : missing(Missing::Meaning);
}

namespace {

// How the cast that ends a term treats what is out of range, through choices, selections and copies.
std::optional<CastMode> ending_mode(const core::Program& program, TermId id, int depth) {
  const Term& t = program.term(id);
  if (t.kind == TermKind::Cast && static_cast<CastMode>(t.operation) != CastMode::Reinterpret) return static_cast<CastMode>(t.operation);
  if (depth > 20) return std::nullopt;
  if (t.kind == TermKind::Read) {
    const TermId body = program.tensor(static_cast<core::TensorId>(t.data)).body;
    return body == None ? std::nullopt : ending_mode(program, body, depth + 1);
  }
  if (t.kind != TermKind::Choice && t.kind != TermKind::Select) return std::nullopt;
  const auto a = program.arguments_of(id);
  for (TermId branch : a.subspan(t.kind == TermKind::Select ? 1 : 0))
    if (const auto mode = ending_mode(program, branch, depth + 1)) return mode;
  return std::nullopt;
}

}  // namespace

CastMode RealElements::ending(const core::Program& program, std::size_t output) {
  const TermId body = program.tensor(program.outputs.at(output)).body;
  return body != None ? ending_mode(program, body, 0).value_or(CastMode::Plain) : CastMode::Plain;
}

std::optional<Bits> RealElements::rounded(const core::Program& program, std::size_t output, const Value& value) {
  const core::TensorNode& n = program.tensor(program.outputs.at(output));
  if (const Bits* b = std::get_if<Bits>(&value)) return *b;
  if (!std::holds_alternative<Real>(value) || !is_float(n.type)) return std::nullopt;
  return round_to(std::get<Real>(value), n.type, ending(program, output));
}

std::string RealElements::why_missing() const {
  switch (work_->missing) {
    case Missing::Nothing: return {};
    case Missing::Precision: return fmt::format("{} bits do not decide it", MostBits);
    case Missing::Steps: return fmt::format("it takes more than {} steps", MostSteps);
    case Missing::Depth: return "it is nested too deeply";
    case Missing::Time: return "it takes more time than there is for this";
    case Missing::Meaning: return "the definition uses what has no value over the reals";
  }
  ensure(false);
}

std::nullopt_t RealElements::missing(Missing why) {
  if (work_->missing == Missing::Nothing) work_->missing = why;
  return std::nullopt;
}

bool RealElements::spend() {
  if (++work_->steps > MostSteps) missing(Missing::Steps);
  else if ((work_->steps & 1023) == 0 && work_->limits.stopped()) missing(Missing::Time);
  else return true;
  return false;
}

void RealElements::fresh() {
  if (known_bits_ == work_->bits) return;
  known_bits_ = work_->bits;
  terms_.clear();
  coordinates_.clear();
  updates_.clear();
  remembered_ = 0;
  for (auto& e : elements_) e.clear();
  for (auto& c : climbed_) c.clear();
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

// Empty for what reads an accumulator.
std::optional<RealElements::Key> RealElements::key_of(TermId id) const {
  Key key;
  key.parts.reserve(1 + p_.free_of(id).size());
  key.parts.push_back(static_cast<std::int64_t>(id));
  for (core::Variable v : p_.free_of(id)) {
    const std::int64_t* index = variables_[v] ? std::get_if<std::int64_t>(&*variables_[v]) : nullptr;
    if (!index) return std::nullopt;
    key.parts.push_back(*index);
  }
  return key;
}

RealElements::Maybe RealElements::term(TermId id) {
  if (!spend()) return std::nullopt;
  if (p_.term(id).kind == TermKind::Variable) return variables_[p_.term(id).data];
  std::optional<Key> key = kept_[id] ? key_of(id) : std::nullopt;
  if (key)
    if (const auto it = terms_.find(*key); it != terms_.end()) return it->second;
  if (work_->depth >= MostDepth) return missing(Missing::Depth);
  ++work_->depth;
  Maybe out = compute(id);
  --work_->depth;
  if (key && out && remembered_ < MostRemembered) ++remembered_, terms_.emplace(std::move(*key), *out);
  return out;
}

RealElements::Maybe RealElements::compute(TermId id) {
  const Term& t = p_.term(id);
  const auto a = p_.arguments_of(id);
  switch (t.kind) {
    case TermKind::Constant: return constant(id);
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
      if (unsupported(t.type)) return missing(Missing::Meaning);
      if (t.type == ElementType::Z) return Value(std::int64_t{0});
      return as_real(t.type) ? Value(Real()) : Value(Bits{0});
    case TermKind::Random: {
      std::array<std::int64_t, 3> z{};
      for (std::size_t k = 0; k < a.size(); ++k) {
        const auto x = integer(a[k]);
        if (!x) return std::nullopt;
        z[k] = *x;
      }
      return Value(Real(Exact::of_double(random_unit(z[0], z[1], z[2]))));
    }
  }
  ensure(false);
}

RealElements::Maybe RealElements::constant(TermId id) {
  const Term& t = p_.term(id);
  if (constants_[id]) return constants_[id];
  if (unsupported(t.type)) return missing(Missing::Meaning);
  if (t.type == ElementType::Z) constants_[id] = Value(static_cast<std::int64_t>(t.data));
  else if (t.type == ElementType::R) constants_[id] = Value(Real(p_.reals[t.data]));
  else constants_[id] = held(t.type, t.data);
  return constants_[id];
}

namespace {

bool yields_truth(Primitive p) {
  const PrimitiveKind k = row_of(p).kind;
  return k == PrimitiveKind::Comparison || k == PrimitiveKind::Logic || p == Primitive::IsNan || p == Primitive::IsInfinite;
}

}  // namespace

// Floats are reals here, and `floor` and the like act on the exact value.
RealElements::Maybe RealElements::on_reals(Primitive p, ElementType result, std::span<const Real> x) {
  Maybe out;
  if (yields_truth(p)) {
    if (const auto b = real_comparison(p, x)) out = Value(Bits{*b});
    return out ? out : missing(Missing::Precision);
  }
  switch (p) {
    case Primitive::ToReal: return Value(x[0]);
    case Primitive::NextAfter: return missing(Missing::Meaning);  // a matter of the type, not of numbers
    case Primitive::Floor:
    case Primitive::Ceiling:
    case Primitive::RoundEven:
    case Primitive::Truncate:
      if (result == ElementType::Z) {
        if (const auto z = to_integer(p, x[0])) out = Value(*z);
      } else if (const auto e = to_integral(p, x[0])) {
        out = Value(Real(*e));
      }
      break;
    default:
      if (auto r = real_primitive(p, x)) out = Value(flat(std::move(*r), work_->bits));
  }
  return out ? out : missing(Missing::Precision);
}

RealElements::Maybe RealElements::primitive(TermId id) {
  const Term& t = p_.term(id);
  const auto a = p_.arguments_of(id);
  const auto p = static_cast<Primitive>(t.operation);
  if (row_of(p).kind == PrimitiveKind::Text) return missing(Missing::Meaning);
  std::array<Value, 3> x;
  ensure(a.size() <= x.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    Maybe v = term(a[k]);
    if (!v) return std::nullopt;
    x[k] = std::move(*v);
  }
  const ElementType type = p_.term(a[0]).type;
  if (as_real(type)) {
    std::array<Real, 3> r;
    for (std::size_t k = 0; k < a.size(); ++k) r[k] = real(x[k]);
    return on_reals(p, t.type, std::span(r).first(a.size()));
  }
  if (type == ElementType::Z) {
    std::array<std::int64_t, 3> z{};
    for (std::size_t k = 0; k < a.size(); ++k) z[k] = std::get<std::int64_t>(x[k]);
    if (p == Primitive::ToReal) return Value(Real(z[0]));
    const auto v = integer_primitive(p, std::span(z).first(a.size()));
    if (!v) return missing(Missing::Meaning);
    return t.type == ElementType::Bool ? Value(static_cast<Bits>(*v)) : Value(*v);
  }
  std::array<Bits, 3> b{};
  for (std::size_t k = 0; k < a.size(); ++k) b[k] = std::get<Bits>(x[k]);
  if (p == Primitive::ToReal) return Value(real_of(type, b[0]));
  if (p == Primitive::ToInteger) {
    const auto v = integer_of(type, b[0]);
    return v ? Maybe(*v) : missing(Missing::Meaning);
  }
  if (row_of(p).kind == PrimitiveKind::Elementary) return missing(Missing::Meaning);
  return Value(machine_primitive(p, type, std::span(b).first(a.size())));
}

RealElements::Maybe RealElements::cast(TermId id) {
  const Term& t = p_.term(id);
  const TermId from = p_.arguments_of(id)[0];
  const ElementType type = p_.term(from).type;
  const auto mode = static_cast<CastMode>(t.operation);
  if (unsupported(type) || unsupported(t.type) || mode == CastMode::Reinterpret) return missing(Missing::Meaning);
  Maybe v = term(from);
  if (!v) return std::nullopt;
  if (as_real(type)) return cast_real(id, real(*v));
  if (type == ElementType::Z) {
    const std::int64_t z = std::get<std::int64_t>(*v);
    if (as_real(t.type)) return Value(Real(z));
    return Value(machine_of(z, t.type, mode));
  }
  const Bits b = std::get<Bits>(*v);
  if (as_real(t.type)) return Value(real_of(type, b));
  if (t.type == ElementType::Z) {
    const auto z = integer_of(type, b);
    return z ? Maybe(*z) : missing(Missing::Meaning);
  }
  return Value(convert(type, t.type, b, mode));
}

RealElements::Maybe RealElements::cast_real(TermId id, const Real& value) {
  const Term& t = p_.term(id);
  if (as_real(t.type)) return Value(value);  // nothing rounds inside
  std::optional<Bits> b;
  if (t.type == ElementType::Bool) {
    const std::array<Real, 2> both{value, Real()};
    if (const auto differs = real_comparison(Primitive::NotEqual, both)) b = Bits{*differs};
  } else if (t.type != ElementType::Z) {
    b = round_to(value, t.type, static_cast<CastMode>(t.operation));
  } else {
    return missing(Missing::Meaning);
  }
  return b ? Maybe(*b) : missing(Missing::Precision);
}

}  // namespace ulpian::interp
