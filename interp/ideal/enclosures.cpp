#include "interp/ideal/enclosures.h"

#include <algorithm>
#include <limits>

#include "interp/ideal/enclosures_maker.h"

namespace ulpian::interp {

using core::None;
using core::ReduceKind;
using core::TensorId;
using core::TensorKind;
using core::Term;
using core::TermId;
using core::TermKind;
using core::Variable;
using E = ElementType;
using P = Primitive;

namespace {

// A pairwise tree of f64 is at most 63 high.
constexpr double Tree = 66 * 0x1p-53;

// A value for a while.
template <typename T> class Kept {
public:
  Kept(T& place, T value) : place_(place), former_(std::exchange(place, std::move(value))) {}
  ~Kept() { place_ = std::move(former_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

private:
  T& place_;
  T former_;
};

template <typename Make> std::optional<Enclosing> tried(Make make) {
  try {
    return make();
  } catch (const Unknown&) {
  } catch (const core::LimitReached&) {
  }
  return std::nullopt;
}

std::unique_ptr<Maker> maker(Arithmetic arithmetic, const core::Program& program, const Nearnesses& near) {
  return arithmetic == Arithmetic::Pairs ? pairs(program, near) : singles(program, near);
}

}  // namespace

Arithmetic arithmetic_for(ElementType output) { return output == E::F64 ? Arithmetic::Pairs : Arithmetic::Singles; }

std::optional<Enclosing> enclosing(const core::Program& program, const Nearnesses& near, Arithmetic arithmetic) {
  return tried([&] { return maker(arithmetic, program, near)->make(); });
}

std::optional<Enclosing> enclosing_at(const core::Program& program, const Nearnesses& near, std::size_t output, std::int64_t count) {
  return tried([&] { return maker(arithmetic_for(program.tensor(program.outputs[output]).type), program, near)->make_at(output, count); });
}

std::optional<Enclosing> Maker::make() {
  Enclosing out;
  const std::vector<std::uint32_t> none(p_.outputs.size(), None);
  out.values = out.lows = out.radii = none;
  for (TensorId id : p_.inputs) b_.program().inputs.push_back(id == None ? None : tensor(id));
  for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
    if (near_.decides(p_, k) || !covers(p_.tensor(p_.outputs[k]).type)) continue;
    try {
      outputs(out, k, number_tensor(p_.outputs[k]));
    } catch (const Unknown&) {
    }
  }
  if (b_.program().outputs.empty()) return std::nullopt;
  b_.program().op = p_.op;
  out.program = b_.finish();
  return out;
}

std::optional<Enclosing> Maker::make_at(std::size_t which, std::int64_t count) {
  const core::TensorNode& n = p_.tensor(p_.outputs[which]);
  if (n.kind != TensorKind::Comprehension || !covers(n.type)) return std::nullopt;
  Enclosing out;
  const std::vector<std::uint32_t> none(p_.outputs.size(), None);
  out.values = out.lows = out.radii = none;
  for (TensorId id : p_.inputs) b_.program().inputs.push_back(id == None ? None : tensor(id));
  core::TensorNode indices;
  indices.name = "indices";
  indices.type = E::I32;
  indices.extents = {b_.integer(count), b_.integer(static_cast<std::int64_t>(n.variables.size()))};
  const TensorId places = b_.add(std::move(indices));
  b_.program().inputs.push_back(places);
  const Variable i = b_.fresh("i");
  std::vector<TermId> index;
  for (std::size_t d = 0; d < n.variables.size(); ++d) {
    const TermId at[2] = {b_.variable(i), b_.integer(static_cast<std::int64_t>(d))};
    // Held inside, as they are anyway: what is known to lie inside is read without asking.
    const TermId last = b_.primitive(P::Subtract, copy(n.extents[d]), b_.integer(1));
    index.push_back(b_.primitive(P::Maximum, b_.integer(0), b_.primitive(P::Minimum, b_.primitive(P::ToInteger, b_.read(places, at)), last)));
  }
  single_ = few_ = true;
  around_.assign(1, {i, b_.integer(count)});
  const Number x = in_place(n, index);
  const auto elements = [&](const char* name, TermId term) { return term == None ? None : comprehension(name, {b_.integer(count)}, {i}, term); };
  outputs(out, which, {elements("value", x.value), elements("low", x.low), elements("radius", x.radius)});
  b_.program().op = p_.op;
  out.program = b_.finish();
  return out;
}

std::uint32_t Maker::output(TensorId id) {
  b_.program().outputs.push_back(id);
  b_.program().output_names.push_back(b_.node(id).name);
  return static_cast<std::uint32_t>(b_.program().outputs.size() - 1);
}

void Maker::outputs(Enclosing& out, std::size_t k, const TensorNumber& t) {
  out.values[k] = output(t.value);
  if (t.low != None) out.lows[k] = output(t.low);
  if (t.radius != None) out.radii[k] = output(t.radius);
}

TermId Maker::within(TermId condition, TermId radius) { return b_.select(condition, radius, f64(std::numeric_limits<double>::infinity())); }

TermId Maker::surely_zero(const Number& n) {
  const TermId zero = is_zero(n.value);  // then the low part is one, too
  return n.exact() ? zero : b_.primitive(P::And, zero, is_zero(n.radius));
}

// --- numbers

const Maker::TensorNumber& Maker::number_tensor(TensorId id) {
  std::optional<TensorNumber>& known = numbers_[id];
  if (known) return *known;
  const core::TensorNode& n = p_.tensor(id);
  if (!is_float(n.type)) throw Unknown();
  if (near_.tensors[id] == Nearness::Same && n.kind != TensorKind::Recurrence) {
    // Once, and not where it is read, perhaps more often than it has elements.
    const TensorId same = tensor(id);
    if (n.type == E::F64) return known.emplace(TensorNumber{same, None, None});
    return known.emplace(apart([&] {
      std::vector<Variable> index;
      std::vector<TermId> at;
      for (std::size_t d = 0; d < n.extents.size(); ++d) at.push_back(b_.variable(index.emplace_back(b_.fresh("i"))));
      return TensorNumber{comprehension(n.name, copies(n.extents), index, b_.cast(E::F64, b_.read(same, at), CastMode::Plain)), None, None};
    }));
  }
  if (n.kind != TensorKind::Comprehension) throw Unknown();
  const Kept<const core::TensorNode*> body(inside_, &n);
  const Kept whole(single_, false);
  const Kept<Around> around(around_, {});
  return known.emplace(apart([&] {
    const std::vector<TermId> extents = copies(n.extents);
    const std::vector<Variable> index = fresh(n.variables);
    for (std::size_t d = 0; d < index.size(); ++d) around_.emplace_back(index[d], extents[d]);
    const Number x = number(n.body);
    const auto part = [&](TermId term) { return term == None ? None : comprehension(n.name, extents, index, term); };
    return TensorNumber{part(x.value), part(x.low), part(x.radius)};
  }));
}

// The element at these indices, where it is read.
Number Maker::in_place(const core::TensorNode& n, const std::vector<TermId>& index) {
  return apart([&] {
    for (std::size_t d = 0; d < index.size(); ++d) scope_.indices.emplace(n.variables[d], index[d]);
    return number(n.body);
  });
}

TensorId Maker::comprehension(const std::string& name, std::vector<TermId> extents, std::vector<Variable> variables, TermId body) {
  core::TensorNode n;
  n.name = name;
  n.type = E::F64;
  n.kind = TensorKind::Comprehension;
  n.extents = std::move(extents);
  n.variables = std::move(variables);
  n.body = body;
  return b_.add(std::move(n));
}

TermId Maker::stored(TermId term) {
  std::vector<Variable> index;
  std::vector<TermId> extents, at;
  const auto free = b_.program().free_of(term);
  for (const auto& [v, extent] : around_) {
    if (!std::ranges::binary_search(free, v)) continue;
    index.push_back(v);
    extents.push_back(extent);
    at.push_back(b_.variable(v));
  }
  if (index.size() != free.size()) throw Unknown();
  return b_.read(comprehension("part", std::move(extents), std::move(index), term), at);
}

Number Maker::number(TermId id) {
  if (const auto it = scope_.numbers.find(id); it != scope_.numbers.end()) return it->second;
  const Number made = computed(id);
  scope_.numbers.emplace(id, made);
  return made;
}

Number Maker::computed(TermId id) {
  const Term& t = p_.term(id);
  const auto a = p_.arguments_of(id);
  const bool same = near_.terms[id] == Nearness::Same;
  if (!is_float(t.type) && t.type != E::R) return known(id);
  // Reads go through the f64 copy of their tensor, but for a few elements. (Where an index may be outside a copy hinders: the evaluator makes it in place.)
  if (same && (few_ || t.kind != TermKind::Read)) return known(id);
  switch (t.kind) {
    case TermKind::Primitive: return primitive(t, a);
    case TermKind::Cast: return static_cast<CastMode>(t.operation) == CastMode::Reinterpret ? throw Unknown() : number(a[0]);
    case TermKind::Choice: return number(a[0]);
    case TermKind::Select: {
      const TermId condition = copy(a[0]);
      const Number x = number(a[1]), y = number(a[2]);
      Number out{b_.select(condition, x.value, y.value), None, None, x.narrow && y.narrow};
      if (x.low != None || y.low != None) out.low = b_.select(condition, low_of(x), low_of(y));
      if (!x.exact() || !y.exact()) out.radius = b_.select(condition, radius_of(x), radius_of(y));
      return out;
    }
    case TermKind::Read:
    case TermKind::ReadElse: return read(t, a);
    case TermKind::Reduce: return reduce(id);
    default: throw Unknown();
  }
}

Number Maker::read(const Term& t, std::span<const TermId> a) {
  const auto from = static_cast<TensorId>(t.data);
  if (single_ && t.kind == TermKind::Read && near_.tensors[from] != Nearness::Same && p_.tensor(from).kind == TensorKind::Comprehension)
    return in_place(p_.tensor(from), copies(a));
  const TensorNumber tensor = number_tensor(from);
  const bool otherwise = t.kind == TermKind::ReadElse;
  const std::vector<TermId> index = copies(otherwise ? a.first(a.size() - 1) : a);
  const bool narrow = near_.tensors[from] == Nearness::Same && is_narrow(t.type);
  const auto part = [&](TensorId of) { return of == None ? None : b_.read(of, index); };
  if (!otherwise) return {part(tensor.value), part(tensor.low), part(tensor.radius), narrow};
  const Number other = number(a.back());
  if ((tensor.exact() && !other.exact()) || (tensor.low == None && other.low != None)) throw Unknown();
  const auto either = [&](TensorId of, TermId outside) { return of == None ? None : b_.read_else(of, index, outside, false); };
  return {either(tensor.value, other.value), either(tensor.low, low_of(other)), either(tensor.radius, radius_of(other)), narrow && other.narrow};
}

Number Maker::primitive(const Term& t, std::span<const TermId> a) {
  const auto p = static_cast<P>(t.operation);
  if (a.size() > 2) throw Unknown();
  if (p == P::ToReal) return number(a[0]);
  const Number x[2] = {number(a[0]), a.size() > 1 ? number(a[1]) : Number()};
  switch (p) {
    case P::Negate: return negative(x[0]);
    case P::Absolute: return absolute(x[0]);
    case P::Minimum:
    case P::Maximum: return extreme(p, x[0], x[1]);
    case P::Add: return sum(x[0], x[1]);
    case P::Subtract: return sum(x[0], negative(x[1]));  // of zeros, too
    case P::Multiply: return product(x[0], x[1]);
    case P::Divide: return quotient(x[0], x[1]);
    case P::Reciprocal: return quotient({f64(1), None, None, true}, x[0]);
    case P::SquareRoot: return root(x[0]);
    case P::ReciprocalRoot: return reciprocal_root(x[0]);
    default: break;
  }
  if (row_of(p).kind != PrimitiveKind::Elementary) throw Unknown();
  return function(p, std::span(x).first(a.size()));
}

// --- reductions

Number Maker::reduce(TermId id) {
  Reduction of{id, p_.reduce(id), {}, {}, None, false, {}, single_};
  // What many terms read is not made in place.
  const Kept whole(single_, false);
  of.extents = copies(of.r.extents);
  of.own = fresh(of.r.variables);
  of.filter = copy_or_none(of.r.filter);
  of.has_initial = of.r.initial != None;
  if (of.has_initial) of.initial = number(of.r.initial);
  Number x[2];
  {
    Around inner = around_;
    if (!extents_vary(of))
      for (std::size_t k = 0; k < of.own.size(); ++k) inner.emplace_back(of.own[k], of.extents[k]);
    const Kept around(around_, std::move(inner));
    for (std::size_t k = 0; k < of.r.bodies.size() && k < 2; ++k) x[k] = number(of.r.bodies[k]);
  }
  switch (of.r.kind) {
    case ReduceKind::Maximum:
    case ReduceKind::Minimum: {
      if (!has_infinity(p_.term(id).type) || x[0].low != None || of.initial.low != None) throw Unknown();  // of nothing it is the least number of the type
      const TermId value = over(of, of.r.kind, of.initial.value, std::span(&x[0].value, 1));
      if (x[0].exact() && (!of.has_initial || of.initial.exact())) return {value, None, None, x[0].narrow && (!of.has_initial || of.initial.narrow)};
      const TermId radius = radius_of(x[0]);
      return {value, None, over(of, ReduceKind::Maximum, of.has_initial ? radius_of(of.initial) : f64(0), std::span(&radius, 1)), false};
    }
    case ReduceKind::Sum: return total(of, x[0]);
    case ReduceKind::Dot: return dot(of, x[0], x[1]);
    default: throw Unknown();
  }
}

bool Maker::extents_vary(const Reduction& of) const {
  return std::ranges::any_of(of.r.extents, [&](TermId e) { return !p_.free_of(e).empty(); });
}

double Maker::tree(const Reduction& of) const {
  std::int64_t n = 1;
  for (TermId e : of.r.extents) {
    const auto extent = p_.integer_constant(e);
    if (!extent || *extent > (std::int64_t{1} << 20) || n > (std::int64_t{1} << 40)) return Tree;
    n *= std::max<std::int64_t>(*extent, 1);
  }
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n)) + 2) * 0x1p-53;
}

TermId Maker::chain(const Reduction& of, std::int64_t block) {
  if (extents_vary(of)) return f64(static_cast<double>(block + 66) * 0x1p-53);
  TermId n = b_.integer(1);
  for (TermId extent : of.extents) {
    n = b_.primitive(P::Multiply, n, b_.primitive(P::Minimum, extent, b_.integer(block)));
    n = b_.primitive(P::Minimum, n, b_.integer(block));
  }
  return scaled(0x1p-53, add(b_.cast(E::F64, n, CastMode::Plain), f64(tree(of) * 0x1p53)));
}

std::optional<std::vector<Variable>> Maker::hangs_on(const core::ReduceView& r, TermId factor) const {
  std::vector<Variable> index;
  for (Variable v : p_.free_of(factor)) {
    if (std::ranges::find(r.variables, v) != r.variables.end()) continue;
    if (std::ranges::find(inside_->variables, v) == inside_->variables.end()) return std::nullopt;
    index.push_back(v);
  }
  return index;
}

TermId Maker::extent_inside(Variable v) const {
  return inside_->extents[static_cast<std::size_t>(std::ranges::find(inside_->variables, v) - inside_->variables.begin())];
}

}  // namespace ulpian::interp
