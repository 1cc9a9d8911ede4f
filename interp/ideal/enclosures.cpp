#include "interp/ideal/enclosures.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "interp/canonical/canonical.h"
#include "interp/ideal/copies.h"

namespace ulpian::interp {
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

// Twice f64's unit roundoff bounds the error of one rounding by the rounded result, and the halves are left for the roundings of the radius.
constexpr double Ulp = 0x1p-52;
// Above what underflow costs any one operation (and n < 2^52 of them in a reduction): half of the least subnormal each.
constexpr double Underflow = 0x1p-1022;
// A pairwise tree of f64 is at most 63 high.
constexpr double Tree = 66 * 0x1p-53;

struct TensorNumber {
  TensorId value = None, radius = None;
};

class Maker : Copies {
public:
  Maker(const core::Program& program, const Nearnesses& near) : Copies(program, near), numbers_(program.tensors.size()) {}

  std::optional<Enclosing> make() {
    Enclosing out;
    for (TensorId id : p_.inputs) b_.program().inputs.push_back(id == None ? None : tensor(id));
    for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
      out.values.push_back(None);
      out.radii.push_back(None);
      if (near_.decides(p_, k) || !is_float(p_.tensor(p_.outputs[k]).type) || p_.tensor(p_.outputs[k]).type == E::F64) continue;
      try {
        const TensorNumber& t = number_tensor(p_.outputs[k]);
        if (t.radius == None) continue;
        out.values[k] = output(t.value);
        out.radii[k] = output(t.radius);
      } catch (const Unknown&) {
      }
    }
    if (b_.program().outputs.empty()) return std::nullopt;
    b_.program().op = p_.op;
    out.program = b_.finish();
    return out;
  }

  std::optional<Enclosing> make_at(std::size_t which, std::int64_t count) {
    const core::TensorNode& n = p_.tensor(p_.outputs[which]);
    if (n.kind != TensorKind::Comprehension || !is_float(n.type) || n.type == E::F64) return std::nullopt;
    Enclosing out;
    out.values.resize(p_.outputs.size(), None);
    out.radii.resize(p_.outputs.size(), None);
    for (TensorId id : p_.inputs) b_.program().inputs.push_back(id == None ? None : tensor(id));
    core::TensorNode indices;
    indices.name = "indices";
    indices.type = E::I64;
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
    const Number x = in_place(n, index);
    if (x.exact()) return std::nullopt;
    out.values[which] = output(comprehension("value", {b_.integer(count)}, {i}, x.value));
    out.radii[which] = output(comprehension("radius", {b_.integer(count)}, {i}, x.radius));
    b_.program().op = p_.op;
    out.program = b_.finish();
    return out;
  }

private:
  std::uint32_t output(TensorId id) {
    b_.program().outputs.push_back(id);
    b_.program().output_names.push_back(b_.node(id).name);
    return static_cast<std::uint32_t>(b_.program().outputs.size() - 1);
  }

  // --- small arithmetic on terms of f64
  TermId f64(double x) { return b_.constant(E::F64, std::bit_cast<std::uint64_t>(x)); }
  TermId add(TermId x, TermId y) { return x == None ? y : y == None ? x : b_.primitive(P::Add, x, y); }
  TermId mul(TermId x, TermId y) { return b_.primitive(P::Multiply, x, y); }
  TermId scaled(double c, TermId x) { return mul(f64(c), x); }
  TermId magnitude(TermId x) { return b_.primitive(P::Absolute, x); }
  TermId relative(TermId value) { return scaled(Ulp, magnitude(value)); }
  // As a bound that other bounds may be taken from.
  TermId surely(TermId radius) { return scaled(1 + RadiusSlack, radius); }
  TermId within(TermId condition, TermId radius) { return b_.select(condition, radius, f64(std::numeric_limits<double>::infinity())); }
  TermId radius_of(const Number& n) { return n.exact() ? f64(0) : n.radius; }

  // A value for a while.
  class Kept {
  public:
    Kept(bool& flag, bool value) : flag_(flag), former_(std::exchange(flag, value)) {}
    ~Kept() { flag_ = former_; }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

  private:
    bool& flag_;
    bool former_;
  };

  // --- numbers
  const TensorNumber& number_tensor(TensorId id) {
    std::optional<TensorNumber>& known = numbers_[id];
    if (known) return *known;
    const core::TensorNode& n = p_.tensor(id);
    if (!is_float(n.type)) throw Unknown();
    if (near_.tensors[id] == Nearness::Same && n.kind != TensorKind::Recurrence) {
      // Once, and not where it is read, perhaps more often than it has elements.
      const TensorId same = tensor(id);
      if (n.type == E::F64) return known.emplace(TensorNumber{same, None});
      return known.emplace(apart([&] {
        std::vector<Variable> index;
        std::vector<TermId> at;
        for (std::size_t d = 0; d < n.extents.size(); ++d) at.push_back(b_.variable(index.emplace_back(b_.fresh("i"))));
        return TensorNumber{comprehension(n.name, copies(n.extents), index, b_.cast(E::F64, b_.read(same, at), CastMode::Plain)), None};
      }));
    }
    if (n.kind != TensorKind::Comprehension) throw Unknown();
    const core::TensorNode* around = std::exchange(inside_, &n);
    const Kept whole(single_, false);
    const TensorNumber made = apart([&] {
      const std::vector<TermId> extents = copies(n.extents);
      const std::vector<Variable> index = fresh(n.variables);
      const Number x = number(n.body);
      return TensorNumber{comprehension(n.name, extents, index, x.value), x.exact() ? None : comprehension(n.name, extents, index, x.radius)};
    });
    inside_ = around;
    return known.emplace(made);
  }

  // The element at these indices, where it is read.
  Number in_place(const core::TensorNode& n, const std::vector<TermId>& index) {
    return apart([&] {
      for (std::size_t d = 0; d < index.size(); ++d) scope_.indices.emplace(n.variables[d], index[d]);
      return number(n.body);
    });
  }

  TensorId comprehension(const std::string& name, std::vector<TermId> extents, std::vector<Variable> variables, TermId body) {
    core::TensorNode n;
    n.name = name;
    n.type = E::F64;
    n.kind = TensorKind::Comprehension;
    n.extents = std::move(extents);
    n.variables = std::move(variables);
    n.body = body;
    return b_.add(std::move(n));
  }

  Number number(TermId id) {
    if (const auto it = scope_.numbers.find(id); it != scope_.numbers.end()) return it->second;
    const Number made = computed(id);
    scope_.numbers.emplace(id, made);
    return made;
  }

  static bool is_narrow(E t) { return t == E::Bool || (is_float(t) && t != E::F64) || (is_integer(t) && bits_of(t) <= 16); }

  // A value that is known as it is, in f64.
  Number known(TermId id) {
    const E type = p_.term(id).type;
    const TermId same = copy(id);
    if (type == E::F64) return {same, None, false};
    if (type == E::R || type == E::Z || is_integer(type)) {
      const TermId value = b_.cast(E::F64, same, type == E::R ? CastMode::Exact : CastMode::Plain);
      if (is_integer(type) && bits_of(type) <= 32) return {value, None, is_narrow(type)};
      return {value, add(relative(value), type == E::R ? f64(Underflow) : None), false};
    }
    if (type != E::Bool && !is_float(type)) throw Unknown();
    return {b_.cast(E::F64, same, CastMode::Plain), None, true};
  }

  Number computed(TermId id) {
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
        return {b_.select(condition, x.value, y.value), x.exact() && y.exact() ? None : b_.select(condition, radius_of(x), radius_of(y)), x.narrow && y.narrow};
      }
      case TermKind::Read:
      case TermKind::ReadElse: return read(t, a);
      case TermKind::Reduce: return reduce(id);
      default: throw Unknown();
    }
  }

  Number read(const Term& t, std::span<const TermId> a) {
    const auto from = static_cast<TensorId>(t.data);
    if (single_ && t.kind == TermKind::Read && near_.tensors[from] != Nearness::Same && p_.tensor(from).kind == TensorKind::Comprehension)
      return in_place(p_.tensor(from), copies(a));
    const TensorNumber tensor = number_tensor(from);
    const bool otherwise = t.kind == TermKind::ReadElse;
    const std::vector<TermId> index = copies(otherwise ? a.first(a.size() - 1) : a);
    const bool narrow = near_.tensors[from] == Nearness::Same && is_narrow(t.type);
    if (!otherwise) return {b_.read(tensor.value, index), tensor.radius == None ? None : b_.read(tensor.radius, index), narrow};
    const Number other = number(a.back());
    Number out{b_.read_else(tensor.value, index, other.value, false), None, narrow && other.narrow};
    if (tensor.radius != None) out.radius = b_.read_else(tensor.radius, index, radius_of(other), false);
    else if (!other.exact()) throw Unknown();
    return out;
  }

  Number primitive(const Term& t, std::span<const TermId> a) {
    const auto p = static_cast<P>(t.operation);
    if (a.size() > 2) throw Unknown();
    if (p == P::ToReal) return number(a[0]);
    const Number x = number(a[0]), y = a.size() > 1 ? number(a[1]) : Number();
    const bool exact = x.exact() && (a.size() < 2 || y.exact());
    switch (p) {
      case P::Negate:
      case P::Absolute: return {b_.primitive(p, x.value), x.radius, x.narrow};
      case P::Minimum:
      case P::Maximum: return {b_.primitive(p, x.value, y.value), exact ? None : b_.primitive(P::Maximum, radius_of(x), radius_of(y)), x.narrow && y.narrow};
      case P::Add:
      case P::Subtract: {
        // A sum that is subnormal is exact.
        const TermId value = b_.primitive(p, x.value, y.value);
        return {value, add(add(x.radius, y.radius), relative(value)), false};
      }
      case P::Multiply: return product(x, y);
      case P::Divide: return quotient(x, y);
      case P::Reciprocal: return quotient({f64(1), None, true}, x);
      case P::SquareRoot: {
        // |sqrt a - sqrt b| = |a - b| / (sqrt a + sqrt b).
        const TermId value = b_.primitive(p, x.value);
        if (x.exact()) return {value, relative(value), false};
        const TermId known = b_.primitive(P::Greater, x.value, scaled(2, x.radius));
        return {value, within(known, add(add(b_.primitive(P::Divide, x.radius, value), relative(value)), f64(Underflow))), false};
      }
      default: break;
    }
    if (row_of(p).kind != PrimitiveKind::Elementary) throw Unknown();
    const TermId value = a.size() == 2 ? b_.primitive(p, x.value, y.value) : b_.primitive(p, x.value);
    const TermId rounding = add(relative(value), f64(Underflow));
    return {value, exact ? rounding : add(rounding, a.size() == 2 ? throw Unknown() : moved(p, x, value)), false};
  }

  // How far a function moves when its argument does.
  TermId moved(P p, const Number& x, TermId value) {
    switch (p) {
      case P::Tanh:
      case P::Sin:
      case P::Cos:
      case P::Atan:
      case P::Asinh:
      case P::Sigmoid:
      case P::Softplus:
      case P::Softsign: return x.radius;  // no steeper than 1
      case P::Erf:                        // 2/sqrt(pi)
      case P::Erfc:
      case P::Gelu:                       // 1.1290
      case P::Silu:                       // 1.0999
      case P::Mish: return scaled(1.25, x.radius);  // 1.0885
      case P::Exp: {
        // e^r - 1 <= r (1 + r) up to r = 1; the value itself is known up to a rounding and underflow.
        const TermId r = surely(x.radius);
        return within(b_.primitive(P::LessEqual, r, f64(1)), mul(mul(add(surely(value), f64(Underflow)), r), add(f64(1), r)));
      }
      case P::Log: {
        const TermId least = b_.primitive(P::Subtract, x.value, surely(x.radius));
        return within(b_.primitive(P::Greater, least, f64(0)), b_.primitive(P::Divide, x.radius, least));
      }
      case P::HardSwish: return scaled(1.51, x.radius);  // 3/2
      case P::ReciprocalRoot: {  // 1 / (2 x sqrt x), at the least x
        const TermId least = b_.primitive(P::Subtract, x.value, surely(x.radius));
        const TermId slope = mul(least, b_.primitive(P::SquareRoot, least));
        return within(b_.primitive(P::Greater, slope, f64(0)), b_.primitive(P::Divide, scaled(0.51, x.radius), slope));
      }
      default: throw Unknown();
    }
  }

  Number product(const Number& x, const Number& y) {
    const TermId value = mul(x.value, y.value);
    if (x.narrow && y.narrow) return {value, None, false};
    TermId radius = relative(value);
    if (!y.exact()) radius = add(radius, mul(magnitude(x.value), y.radius));
    if (!x.exact()) radius = add(radius, mul(magnitude(y.value), x.radius));
    if (!x.exact() && !y.exact()) radius = add(radius, mul(x.radius, y.radius));
    // Of an exact zero nothing underflows.
    TermId zero = b_.boolean(false);
    for (const Number* n : {&x, &y}) {
      TermId here = b_.primitive(P::Equal, n->value, f64(0));
      if (!n->exact()) here = b_.primitive(P::And, here, b_.primitive(P::Equal, n->radius, f64(0)));
      zero = b_.primitive(P::Or, zero, here);
    }
    return {value, add(radius, b_.select(zero, f64(0), f64(Underflow))), false};
  }

  // x/y of the values is q; (x + dx)/(y + dy) - q = (dx - q dy)/(y + dy).
  Number quotient(const Number& x, const Number& y) {
    const TermId value = b_.primitive(P::Divide, x.value, y.value);
    TermId radius = relative(value);
    if (!x.exact() || !y.exact()) {
      TermId moved = x.radius;
      if (!y.exact()) moved = add(moved, mul(add(magnitude(value), f64(Underflow)), y.radius));
      const TermId least = y.exact() ? magnitude(y.value) : b_.primitive(P::Subtract, magnitude(y.value), surely(y.radius));
      radius = add(radius, within(b_.primitive(P::Greater, least, f64(0)), b_.primitive(P::Divide, moved, least)));
    }
    TermId zero = b_.primitive(P::Equal, x.value, f64(0));
    if (!x.exact()) zero = b_.primitive(P::And, zero, b_.primitive(P::Equal, x.radius, f64(0)));
    return {value, add(radius, b_.select(zero, f64(0), f64(Underflow))), false};
  }

  // --- reductions
  Number reduce(TermId id) {
    const core::ReduceView r = p_.reduce(id);
    // What many terms read is not made in place.
    const bool single = single_;
    const Kept whole(single_, false);
    const std::vector<TermId> extents = copies(r.extents);
    const std::vector<Variable> own = fresh(r.variables);
    const TermId filter = copy_or_none(r.filter);
    const Number initial = r.initial == None ? Number() : number(r.initial);
    const auto over = [&](ReduceKind kind, TermId start, std::span<const TermId> bodies) { return b_.reduce(kind, E::F64, own, extents, filter, false, start, bodies); };
    const auto sum = [&](TermId body) { return over(ReduceKind::Sum, None, std::span(&body, 1)); };
    switch (r.kind) {
      case ReduceKind::Maximum:
      case ReduceKind::Minimum: {
        if (!has_infinity(p_.term(id).type)) throw Unknown();  // of nothing it is the least number of the type
        const Number x = number(r.bodies[0]);
        const TermId value = over(r.kind, initial.value, std::span(&x.value, 1));
        if (x.exact() && (r.initial == None || initial.exact())) return {value, None, x.narrow && (r.initial == None || initial.narrow)};
        const TermId radius = radius_of(x);
        return {value, over(ReduceKind::Maximum, r.initial == None ? f64(0) : radius_of(initial), std::span(&radius, 1)), false};
      }
      case ReduceKind::Sum: {
        // h roundings lie above a term, the tree's height and one: h u times the sum of the magnitudes.
        const Number x = number(r.bodies[0]);
        const TermId value = over(r.kind, initial.value, std::span(&x.value, 1));
        TermId radius = sum(add(scaled(tree(r), magnitude(x.value)), x.radius));
        if (!x.narrow) radius = add(radius, f64(Underflow));  // of the radius's own terms
        if (r.initial != None) radius = add(radius, add(scaled(tree(r), magnitude(initial.value)), initial.radius));
        return {value, radius, false};
      }
      case ReduceKind::Dot: {
        const Number x = number(r.bodies[0]), y = number(r.bodies[1]);
        if (single && x.narrow && y.narrow && r.initial == None) {
          // Their products are exact, and a tree is lower than a chain. The chain starts at +0.
          const TermId xy = mul(x.value, y.value);
          return {add(sum(xy), f64(0)), sum(scaled(tree(r), magnitude(xy))), false};
        }
        const TermId both[2] = {x.value, y.value};
        const TermId value = over(r.kind, initial.value, both);
        TermId magnitudes = None, radius = None;
        if (x.narrow && y.narrow) {
          magnitudes = by_norms(id);
          if (magnitudes == None) magnitudes = sum(magnitude(mul(x.value, y.value)));
        } else {
          // The factors' product, rounded, has a radius of its own, in which the fused one's error lies.
          const Number xy = product(x, y);
          magnitudes = sum(magnitude(xy.value));
          radius = add(sum(xy.radius), f64(Underflow));
        }
        if (r.initial != None) magnitudes = add(magnitudes, magnitude(initial.value)), radius = add(radius, initial.radius);
        return {value, add(radius, mul(chain(r, extents), magnitudes)), false};
      }
      default: throw Unknown();
    }
  }

  // Those above a term of a sum, in units of their size: the height of the tree, and two more.
  double tree(const core::ReduceView& r) const {
    std::int64_t n = 1;
    for (TermId e : r.extents) {
      const auto extent = p_.integer_constant(e);
      if (!extent || *extent > (std::int64_t{1} << 20) || n > (std::int64_t{1} << 40)) return Tree;
      n *= std::max<std::int64_t>(*extent, 1);
    }
    return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n)) + 2) * 0x1p-53;
  }

  // The roundings above a term of a dot: those of one accumulator, and the tree of the accumulators.
  TermId chain(const core::ReduceView& r, const std::vector<TermId>& extents) {
    TermId n = b_.integer(1);
    for (std::size_t k = 0; k < extents.size(); ++k) {
      if (!p_.free_of(r.extents[k]).empty()) return f64((EnclosingDotBlock + 66) * 0x1p-53);
      n = b_.primitive(P::Multiply, n, b_.primitive(P::Minimum, extents[k], b_.integer(EnclosingDotBlock)));
      n = b_.primitive(P::Minimum, n, b_.integer(EnclosingDotBlock));
    }
    return scaled(0x1p-53, add(b_.cast(E::F64, n, CastMode::Plain), f64(tree(r) * 0x1p53)));
  }

  // sum |x y| <= sqrt(sum x^2) sqrt(sum y^2), each sum once for all elements that share it: what makes a matrix product cheap. None where a
  // factor hangs on more than the tensor's index and the positions of the sum, or where nothing is shared.
  TermId by_norms(TermId id) {
    const core::ReduceView r = p_.reduce(id);
    for (TermId e : r.extents)
      if (!p_.free_of(e).empty()) return None;
    if (!inside_ || r.filter != None) return None;
    TermId out = None;
    bool shared = false;
    for (TermId body : r.bodies) {
      std::vector<Variable> index;
      std::vector<TermId> extents;
      for (Variable v : p_.free_of(body)) {
        if (std::ranges::find(r.variables, v) != r.variables.end()) continue;
        const auto at = std::ranges::find(inside_->variables, v);
        if (at == inside_->variables.end()) return None;
        index.push_back(v);
        extents.push_back(inside_->extents[static_cast<std::size_t>(at - inside_->variables.begin())]);
      }
      shared = shared || index.size() < inside_->variables.size();
      const TensorId norms = apart([&] {
        const std::vector<TermId> e = copies(extents);
        const std::vector<Variable> i = fresh(index), own = fresh(r.variables);
        const TermId x = number(body).value;
        const TermId square = mul(x, x);
        return comprehension("norm", e, i, b_.primitive(P::SquareRoot, b_.reduce(ReduceKind::Sum, E::F64, own, copies(r.extents), None, false, None, std::span(&square, 1))));
      });
      std::vector<TermId> at;
      for (Variable v : index) at.push_back(b_.variable(variable(v)));
      const TermId norm = b_.read(norms, at);
      out = out == None ? norm : mul(out, norm);
    }
    return shared ? out : None;
  }

  const core::TensorNode* inside_ = nullptr;  // whose body is being made
  bool few_ = false;                          // made are single elements,
  bool single_ = false;                       // and now one by its indices, not a tensor
  std::vector<std::optional<TensorNumber>> numbers_;
};

}  // namespace

namespace {

template <typename Make> std::optional<Enclosing> tried(Make make) {
  try {
    return make();
  } catch (const Unknown&) {
  } catch (const core::LimitReached&) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<Enclosing> enclosing(const core::Program& program, const Nearnesses& near) {
  return tried([&] { return Maker(program, near).make(); });
}

std::optional<Enclosing> enclosing_at(const core::Program& program, const Nearnesses& near, std::size_t output, std::int64_t count) {
  return tried([&] { return Maker(program, near).make_at(output, count); });
}

}  // namespace ulpian::interp
