#include "interp/allowed/quick_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "interp/evaluate/evaluate.h"
#include "interp/ideal/copies.h"

namespace ulpian::interp::allowed {
namespace {

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

// Fewer products are as quick one by one.
constexpr double LeastWork = 1 << 14;
constexpr std::int64_t MostTerms = std::int64_t{1} << 24;

bool is_whole(E t) { return is_integer(t) || t == E::Z || t == E::Bool; }
// Whose sums doubles suffice for.
bool is_short(E t) { return is_float(t) && bits_of(t) < 64; }

// Which terms are one certain value however an implementation computes: whole numbers of such, and floats that are moved or widened only.
class Certain {
public:
  Certain(const core::Program& p, std::vector<bool> inputs) : p_(p), inputs_(std::move(inputs)), terms_(p.terms.size()), tensors_(p.tensors.size()) {}

  bool term(TermId id) {
    if (id == None) return true;
    if (!terms_[id]) terms_[id] = compute(id);
    return *terms_[id];
  }
  bool all(std::span<const TermId> ids) {
    return std::ranges::all_of(ids, [this](TermId id) { return term(id); });
  }

private:
  bool compute(TermId id) {
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Constant: return is_whole(t.type) || is_float(t.type);
      case TermKind::Variable: return true;
      case TermKind::Size: return p_.sizes[t.data].defined_by == None || tensor(p_.sizes[t.data].defined_by);
      case TermKind::Primitive: return is_whole(t.type) && std::ranges::all_of(a, [this](TermId x) { return is_whole(p_.term(x).type) && term(x); });
      case TermKind::Cast: {
        const E from = p_.term(a[0]).type;
        if (static_cast<CastMode>(t.operation) == CastMode::Reinterpret || !term(a[0])) return false;
        return (is_whole(from) && is_whole(t.type)) || (is_short(from) && is_float(t.type) && (from == t.type || t.type == E::F32 || t.type == E::F64));
      }
      case TermKind::Select: return all(a);
      case TermKind::ReadElse:
        // A zero that may be left out is nothing to a sum, as long as it is not multiplied by what is not finite: then the sum here is not, either.
        if ((t.flags & core::OptionalTerm) && !(is_float(t.type) && p_.is_constant(a.back()) && p_.term(a.back()).data == 0)) return false;
        [[fallthrough]];
      case TermKind::Read: return (is_whole(t.type) || is_float(t.type)) && all(a) && tensor(static_cast<TensorId>(t.data));
      default: return false;
    }
  }
  bool tensor(TensorId id) {
    if (!tensors_[id]) {
      tensors_[id] = false;  // while it is asked: of itself it is not
      const core::TensorNode& n = p_.tensor(id);
      tensors_[id] = n.kind == TensorKind::Input ? inputs_[id] : n.kind == TensorKind::Literal || (n.kind == TensorKind::Comprehension && all(n.extents) && term(n.body));
    }
    return *tensors_[id];
  }

  const core::Program& p_;
  std::vector<bool> inputs_;
  std::vector<std::optional<bool>> terms_, tensors_;
};

// A program of the sums over other numbers in place of the terms.
class Maker : Copies {
public:
  Maker(const core::Program& program, const Nearnesses& near, Retyped retyped) : Copies(program, near, retyped), type_(retyped.type) {
    for (TensorId id : p_.inputs) b_.program().inputs.push_back(id == None ? None : tensor(id));
  }

  // At index 0 of the variables that are not among `variables`.
  void add(const core::TensorNode& around, TermId id, std::span<const Variable> variables) {
    const core::ReduceView r = p_.reduce(id);
    const Summands s = summands_of(p_, id);
    apart([&] {
      core::TensorNode n;
      for (Variable v : variables) {
        n.extents.push_back(copy(around.extents[static_cast<std::size_t>(std::ranges::find(around.variables, v) - around.variables.begin())]));
        n.variables.push_back(variable(v));
      }
      for (Variable v : p_.free_of(id))
        if (std::ranges::find(variables, v) == variables.end()) scope_.indices[v] = b_.integer(0);
      const std::vector<Variable> own = fresh(r.variables);
      const std::vector<TermId> own_extents = copies(r.extents);
      const TermId filter = copy_or_none(r.filter);
      n.name = "sum";
      n.type = type_;
      n.kind = TensorKind::Comprehension;
      n.body = b_.reduce(s.products ? ReduceKind::Dot : ReduceKind::Sum, type_, own, own_extents, filter, false, None, copies(s.bodies));
      b_.program().outputs.push_back(b_.add(std::move(n)));
      b_.program().output_names.emplace_back("sum");
      return true;
    });
  }

  core::Program finish() { return b_.finish(); }

private:
  E type_;
};

// A sum that is asked for.
struct Asked {
  TermId id;
  const core::TensorNode* around;
  std::vector<Variable> variables;
  bool products;
};
// Such sums over f(x) in place of each float x; empty where that is not to be had quickly.
std::vector<Tensor> sums_over(const core::Program& p, const Nearnesses& near, std::span<const Asked> asked, E type, double (*f)(double), std::span<const std::optional<Tensor>> inputs,
                              const Limits& limits) {
  const Retyped retyped{type, f};
  std::optional<core::Program> program;
  try {
    Maker maker(p, near, retyped);
    for (const Asked& a : asked) maker.add(*a.around, a.id, a.variables);
    program = maker.finish();
  } catch (const core::LimitReached&) {
    return {};
  } catch (const Unknown&) {
    return {};
  }
  if (runs_by_elements(*program)) return {};
  const auto plan = Plan::make(*program);
  if (!plan) return {};
  std::vector<std::optional<Tensor>> values;
  for (const auto& t : inputs) values.push_back(t ? std::optional(retyped.of(*t)) : std::nullopt);
  auto out = plan->run(values, limits);
  if (!out) return {};
  std::vector<Tensor> sums;
  for (auto& t : *out) sums.push_back(std::move(*t));
  return sums;
}

// Whether a term is an element of an input or literal that holds no zero.
class NowhereZero {
public:
  NowhereZero(const core::Program& p, std::span<const std::optional<Tensor>> inputs) : p_(p), inputs_(inputs), known_(p.tensors.size()) {}

  bool operator()(TermId id) {
    const Term& t = p_.term(id);
    if (t.kind == TermKind::Cast && is_float(p_.term(p_.arguments_of(id)[0]).type)) return (*this)(p_.arguments_of(id)[0]);
    if (t.kind != TermKind::Read) return false;
    const auto tensor = static_cast<TensorId>(t.data);
    if (!known_[tensor]) known_[tensor] = find(tensor);
    return *known_[tensor];
  }

private:
  bool find(TensorId id) const {
    const core::TensorNode& n = p_.tensor(id);
    if (n.kind == TensorKind::Literal) return none(*n.literal);
    for (std::size_t k = 0; k < p_.inputs.size(); ++k)
      if (p_.inputs[k] == id && inputs_[k]) return none(*inputs_[k]);
    return false;
  }
  static bool none(const Tensor& t) {
    if (t.type() == E::F32) return std::all_of(t.data<float>(), t.data<float>() + t.size(), [](float x) { return x != 0; });
    for (std::int64_t i = 0; i < t.size(); ++i)
      if (is_zero(t.type(), t.at(i))) return false;
    return true;
  }

  const core::Program& p_;
  std::span<const std::optional<Tensor>> inputs_;
  std::vector<std::optional<bool>> known_;
};

}  // namespace

Summands summands_of(const core::Program& program, TermId reduce) {
  const core::ReduceView r = program.reduce(reduce);
  Summands out{r.kind == ReduceKind::Dot, {r.bodies.begin(), r.bodies.end()}};
  const E type = program.term(reduce).type;
  if (r.kind != ReduceKind::Sum || !is_float(type)) return out;
  const Term& body = program.term(r.bodies[0]);
  if (body.kind != TermKind::Primitive || static_cast<P>(body.operation) != P::Multiply || body.type != type) return out;
  const auto factors = program.arguments_of(r.bodies[0]);
  return {true, {factors.begin(), factors.end()}};
}

QuickSums::QuickSums(const core::Program& p, std::span<const std::optional<AllowedTensor>> inputs, const std::vector<std::optional<std::int64_t>>& sizes, const Limits& limits)
    : found_(p.terms.size()) {
  std::vector<bool> sums(p.terms.size());
  bool any = false;
  for (TermId id = 0; id < p.terms.size(); ++id) {
    const Term& t = p.term(id);
    if (t.kind != TermKind::Reduce || !is_short(t.type)) continue;
    const auto kind = static_cast<ReduceKind>(t.operation);
    sums[id] = kind == ReduceKind::Sum || kind == ReduceKind::Dot;
    any = any || sums[id];
  }
  if (!any) return;
  // What is not certain has some value here, which no sum that is asked for reads.
  std::vector<bool> points(p.tensors.size());
  std::vector<std::optional<Tensor>> values(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]) continue;
    const AllowedTensor& t = *inputs[k];
    values[k] = t.lower();
    if (p.inputs[k] == None) continue;
    const auto flags = t.flags();
    const bool same = t.lower().bytes().data() == t.upper().bytes().data();
    bool certain = !t.unrounded();
    for (std::size_t i = 0; i < flags.size() && certain; ++i) certain = (same && flags[i] == 0) || t.is_exact(static_cast<std::int64_t>(i));
    points[p.inputs[k]] = certain;
  }
  Certain certain(p, std::move(points));
  const auto extent = [&](TermId id) -> std::optional<std::int64_t> {
    if (const auto known = p.integer_constant(id)) return known;
    return p.term(id).kind == TermKind::Size ? sizes[p.term(id).data] : std::nullopt;
  };
  std::vector<Asked> asked, counted;
  std::vector<Found> found;
  NowhereZero nowhere_zero(p, values);
  std::vector<bool> seen(p.terms.size());
  for (const core::TensorNode& n : p.tensors) {
    if (n.kind != TensorKind::Comprehension) continue;
    std::vector<TermId> stack{n.body};
    while (!stack.empty()) {
      const TermId id = stack.back();
      stack.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      const auto a = p.arguments_of(id);
      stack.insert(stack.end(), a.begin(), a.end());
      if (!sums[id]) continue;
      const core::ReduceView r = p.reduce(id);
      const Summands s = summands_of(p, id);
      if (r.optional_filter || !certain.all(r.extents) || !certain.term(r.filter) || !certain.all(s.bodies)) continue;
      if (std::ranges::any_of(s.bodies, [&](TermId b) { return !is_short(p.term(b).type) || bits_of(p.term(b).type) > bits_of(p.term(id).type); })) continue;
      Found f;
      bool apart = true;
      double work = 1;
      std::int64_t terms = 1;
      for (TermId e : r.extents) {
        const auto known = extent(e);
        apart = apart && known && *known > 0 && terms <= MostTerms / std::max<std::int64_t>(*known, 1);
        if (apart) terms *= *known;
      }
      for (Variable v : p.free_of(id)) {
        const auto at = std::ranges::find(n.variables, v);
        const auto known = at == n.variables.end() ? std::nullopt : extent(n.extents[static_cast<std::size_t>(at - n.variables.begin())]);
        apart = apart && known;
        if (!apart) break;
        f.variables.push_back(v);
        f.extents.push_back(*known);
        work *= static_cast<double>(*known);
      }
      if (!apart || work * static_cast<double>(terms) < LeastWork || work * 20 > static_cast<double>(limits.memory_bytes) / 4) continue;
      f.most = terms;
      // Which terms are zero follows from the other factor alone.
      Asked count{id, &n, f.variables, s.products};
      std::erase_if(count.variables, [&](Variable v) {
        const auto in = [&](TermId t) { return t != None && std::ranges::find(p.free_of(t), v) != p.free_of(t).end(); };
        return !in(r.filter) && std::ranges::none_of(r.extents, in) && std::ranges::none_of(s.bodies, [&](TermId b) { return in(b) && !nowhere_zero(b); });
      });
      f.count_variables = count.variables;
      for (Variable v : f.count_variables) f.count_extents.push_back(f.extents[static_cast<std::size_t>(std::ranges::find(f.variables, v) - f.variables.begin())]);
      asked.push_back({id, &n, f.variables, s.products});
      counted.push_back(std::move(count));
      found.push_back(std::move(f));
    }
  }
  if (asked.empty()) return;
  const Nearnesses near = nearnesses(p);
  std::vector<Tensor> centers = sums_over(p, near, asked, E::F64, [](double x) { return x; }, values, limits);
  if (centers.empty()) return;
  std::vector<Tensor> magnitudes = sums_over(p, near, asked, E::F32, [](double x) { return std::fabs(x); }, values, limits);
  std::vector<Tensor> counts = sums_over(p, near, counted, E::F32, [](double x) { return x == 0 ? 0.0 : 1.0; }, values, limits);
  if (magnitudes.empty() || counts.empty()) return;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    Found& f = found[k];
    f.center = std::move(centers[k]);
    const Tensor magnitude = std::move(magnitudes[k]);
    f.count = std::move(counts[k]);
    if (f.center.extents() != f.extents || f.count.extents() != f.count_extents) continue;
    f.magnitude = Tensor(E::F64, f.extents);
    // In f32 they are off by the roundings above a term, of an accumulator and of the tree, and by half a least subnormal for each term.
    const double n = static_cast<double>(f.most), tree = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(f.most)));
    const double above = (asked[k].products ? std::min(n, static_cast<double>(DotBlock)) : 1) + tree + 1;
    const double more = 1 + above * 0x1p-23, tiny = n * 0x1p-149;
    double* to = f.magnitude.writable<double>();
    bool finite = true;
    for (std::int64_t i = 0; i < f.center.size(); ++i) {
      const float m = magnitude.data<float>()[i];
      finite = finite && std::isfinite(f.center.data<double>()[i]) && std::isfinite(m);
      to[i] = static_cast<double>(m) * more + tiny;  // of zeros alone it is not asked for
    }
    // NaN and infinities are for sets.
    if (finite) found_[asked[k].id] = std::move(f);
  }
}

}  // namespace ulpian::interp::allowed
