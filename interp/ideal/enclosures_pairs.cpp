// The arithmetic of enclosures in pairs: a number is value + low, within a radius; |low| <= ulp(value)/2. What the radii rest on is proved in
// docs/bounds.md, section 9.
#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/ideal/enclosures_maker.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::ReduceKind;
using core::TensorId;
using core::Term;
using core::TermId;
using core::TermKind;
using core::Variable;
using E = ElementType;
using P = Primitive;

// A product, quotient or root of pairs is off by less of itself, unless something underflows:
constexpr double PairUlp = 0x1p-100;
// which cannot be where this is less.
constexpr double Roomy = 0x1p-960;
// As many terms may a sum have.
constexpr double MostTerms = 0x1p40;

class Pairs : public Maker {
public:
  using Maker::Maker;

private:
  struct Two {
    TermId high, low;
  };

  bool covers(E output) const override { return output == E::F64; }

  Number known(TermId id) override {
    const Term& t = p_.term(id);
    if (t.type == E::R && t.kind == TermKind::Constant) {
      const Exact& x = p_.reals[t.data];
      const double high = x.to_double();
      if (!(std::abs(high) <= std::numeric_limits<double>::max())) return {f64(high), None, None, false};
      const Exact rest = x - Exact::of_double(high);
      if (rest.is_zero()) return {f64(high), None, None, false};
      const double low = rest.to_double();
      return {f64(high), f64(low), Exact::of_double(low) == rest ? None : f64(std::abs(low) * Ulp + Underflow), false};
    }
    const TermId same = copy(id);
    if (t.type == E::R) {
      const TermId high = b_.cast(E::F64, same, CastMode::Exact), low = b_.cast(E::F64, sub(same, b_.primitive(P::ToReal, high)), CastMode::Exact);
      return {high, low, add(relative(low), f64(Underflow)), false};
    }
    if (t.type == E::F64) return {same, None, None, false};
    const TermId value = b_.cast(E::F64, same, CastMode::Plain);
    if (t.type == E::Bool || is_float(t.type) || (is_integer(t.type) && bits_of(t.type) <= 32)) return {value, None, None, is_narrow(t.type)};
    if (t.type != E::Z && !is_integer(t.type)) throw Unknown();
    return {value, None, within(b_.primitive(P::LessEqual, magnitude(value), f64(0x1p53)), f64(0)), false};
  }

  // x + y is high + low exactly; overflow leaves no finite pair.
  Two two_sum(TermId x, TermId y) {
    const TermId s = add(x, y), back = sub(s, x);
    return {s, add(sub(x, sub(s, back)), sub(y, back))};
  }
  Two halves(TermId x) {
    const TermId t = scaled(0x1p27 + 1, x), high = sub(t, sub(t, x));
    return {high, sub(x, high)};
  }
  // x y is high + low exactly, unless it underflows.
  Two two_product(TermId x, TermId y) {
    const TermId p = mul(x, y);
    const Two a = halves(x), b = x == y ? a : halves(y);
    return {p, add(add(add(sub(mul(a.high, b.high), p), mul(a.high, b.low)), mul(a.low, b.high)), mul(a.low, b.low))};
  }
  // The same number with |low| <= ulp(high)/2. A zero keeps its sign.
  Two normal(TermId high, TermId low) {
    Two out = two_sum(high, low);
    out.high = b_.select(is_zero(low), high, out.high);
    return out;
  }
  static Number pair(const Two& two, TermId radius) { return {two.high, two.low, radius, false}; }
  TermId negated(TermId x) { return x == None ? None : b_.primitive(P::Negate, x); }
  TermId at_least(TermId x, double bound) { return b_.primitive(P::GreaterEqual, magnitude(x), f64(bound)); }

  Number negative(const Number& x) override { return {negated(x.value), negated(x.low), x.radius, x.narrow}; }
  Number absolute(const Number& x) override {
    if (x.low == None) return {magnitude(x.value), None, x.radius, x.narrow};
    return {magnitude(x.value), b_.select(b_.primitive(P::Less, x.value, f64(0)), negated(x.low), x.low), x.radius, false};
  }
  Number extreme(P p, const Number& x, const Number& y) override {
    Number out{b_.primitive(p, x.value, y.value), None, x.exact() && y.exact() ? None : b_.primitive(P::Maximum, radius_of(x), radius_of(y)), x.narrow && y.narrow};
    if (x.low == None && y.low == None) return out;
    const TermId a = low_of(x), b = low_of(y);
    const TermId first = b_.primitive(p == P::Maximum ? P::Greater : P::Less, x.value, y.value);
    out.low = b_.select(b_.primitive(P::Equal, x.value, y.value), b_.primitive(p, a, b), b_.select(first, a, b));
    return out;
  }

  Number sum(const Number& x, const Number& y) override {
    const Two high = two_sum(x.value, y.value);
    const TermId lows = add(x.low, y.low), radius = add(x.radius, y.radius);
    if (lows == None) return pair(high, radius);
    const TermId low = add(high.low, lows);
    TermId rounding = magnitude(low);
    if (x.low != None && y.low != None) rounding = add(rounding, magnitude(lows));
    return pair(normal(high.high, low), add(radius, scaled(Ulp, rounding)));
  }

  Number product(const Number& x, const Number& y) override {
    if (x.narrow && y.narrow) return {mul(x.value, y.value), None, None, false};
    const TermId zero = b_.primitive(P::Or, surely_zero(x), surely_zero(y));
    const Two p = two_product(x.value, y.value);
    if (x.low == None && y.low == None && x.exact() && y.exact())
      return pair(p, b_.select(b_.primitive(P::Or, zero, at_least(p.high, Roomy)), f64(0), f64(Underflow)));
    const TermId cross = add(y.low == None ? None : mul(x.value, y.low), x.low == None ? None : mul(x.low, y.value));
    const Two out = cross == None ? p : normal(p.high, add(p.low, cross));
    TermId radius = add(cross == None ? None : scaled(PairUlp, magnitude(out.high)), b_.select(zero, f64(0), f64(Underflow)));
    // Of the arguments' radii, the magnitudes taken a little larger for what the values leave out.
    if (!y.exact()) radius = add(radius, mul(magnitude(x.value), surely(y.radius)));
    if (!x.exact()) radius = add(radius, mul(magnitude(y.value), surely(x.radius)));
    if (!x.exact() && !y.exact()) radius = add(radius, mul(x.radius, y.radius));
    return pair(out, radius);
  }

  Number quotient(const Number& x, const Number& y) override {
    const TermId q = b_.primitive(P::Divide, x.value, y.value), zero = surely_zero(x);
    const Two p = two_product(q, y.value);
    TermId rest = sub(sub(x.value, p.high), p.low);
    if (x.low != None) rest = add(rest, x.low);
    if (y.low != None) rest = sub(rest, mul(q, y.low));
    const Two out = normal(q, b_.select(zero, f64(0), b_.primitive(P::Divide, rest, y.value)));
    const TermId roomy = b_.primitive(P::And, at_least(x.value, Roomy), at_least(q, Roomy));
    TermId radius = b_.select(zero, f64(0), within(roomy, scaled(PairUlp, magnitude(q))));
    if (!x.exact() || !y.exact()) {
      TermId moved = x.radius;
      if (!y.exact()) moved = add(moved, mul(magnitude(q), surely(y.radius)));
      const TermId least = y.exact() ? magnitude(y.value) : sub(magnitude(y.value), surely(y.radius));
      radius = add(radius, within(b_.primitive(P::Greater, least, f64(0)), b_.primitive(P::Divide, surely(moved), least)));
    }
    return pair(out, radius);
  }

  Number root(const Number& x) override {
    const TermId s = b_.primitive(P::SquareRoot, x.value), zero = surely_zero(x);
    const Two p = two_product(s, s);
    TermId rest = sub(sub(x.value, p.high), p.low);
    if (x.low != None) rest = add(rest, x.low);
    const Two out = normal(s, b_.select(zero, f64(0), b_.primitive(P::Divide, rest, scaled(2, s))));
    TermId radius = b_.select(zero, f64(0), within(b_.primitive(P::GreaterEqual, x.value, f64(Roomy)), scaled(PairUlp, s)));
    // |sqrt a - sqrt b| <= |a - b| / sqrt b.
    if (!x.exact()) radius = add(radius, within(b_.primitive(P::Greater, x.value, scaled(2, x.radius)), b_.primitive(P::Divide, surely(x.radius), s)));
    return pair(out, radius);
  }
  Number reciprocal_root(const Number& x) override { return quotient({f64(1), None, None, true}, root(x)); }

  Number function(P, std::span<const Number>) override { throw Unknown(); }

  // --- reductions
  TermId terms(const Reduction& of) {
    if (extents_vary(of)) throw Unknown();
    TermId n = b_.integer(1);
    for (TermId e : of.extents) n = b_.primitive(P::Multiply, n, e);
    return b_.cast(E::F64, n, CastMode::Plain);
  }

  // Beside a number so large that what it loses of x is few bits: a multiple of half an ulp of it.
  TermId upper(TermId x, TermId large) { return sub(add(x, large), large); }

  // Every term is cut at one bit; the upper parts have an exact sum in any order, and the others are small. `size` is no less than |x.value|, and 0
  // only where x is 0. The sign of a zero is that of the terms where they all are zeros without low parts.
  Number total(const Reduction& of, const Number& x, TermId size, bool positive_zero, TermId more) {
    const TermId n = terms(of);
    const TermId most = stored(over(of, ReduceKind::Maximum, f64(0), std::span(&size, 1)));
    const TermId large = stored(mul(scaled(8, n), most));
    const TermId high = upper(x.value, large);
    const TermId above = stored(summed(of, high)), below = stored(summed(of, add(sub(x.value, high), x.low)));
    const TermId nothing = is_zero(most);
    Two out = two_sum(above, below);
    if (!positive_zero && x.low == None) out.high = b_.select(nothing, below, out.high);
    // Below a cut is less than 2^-52 large, of a low part half an ulp of most.
    TermId radius = mul(n, scaled(tree(of) * 0x1.2p-52, large));
    if (x.radius != None) radius = add(radius, surely(stored(summed(of, x.radius))));
    if (more != None) radius = add(radius, b_.select(nothing, f64(0), more));
    if (!positive_zero && x.low != None) radius = within(b_.primitive(P::Not, nothing), radius);
    return started(of, pair(out, within(b_.primitive(P::LessEqual, n, f64(MostTerms)), radius)));
  }

  // With the initial value; of a zero the sign is left open.
  Number started(const Reduction& of, const Number& x) {
    if (!of.has_initial) return x;
    const Number y = sum(of.initial, x);
    return {y.value, y.low, within(b_.primitive(P::NotEqual, y.value, f64(0)), radius_of(y)), false};
  }

  Number total(const Reduction& of, const Number& x) override { return total(of, x, magnitude(x.value), false, None); }

  Number dot(const Reduction& of, const Number& x, const Number& y) override {
    if (auto sliced = dot_of_slices(of, y)) return started(of, *sliced);
    if (x.low == None && y.low == None && x.exact() && y.exact()) {
      if (x.narrow && y.narrow) {
        const TermId p = mul(x.value, y.value);
        return total(of, {p, None, None, false}, magnitude(p), true, None);
      }
      // A product may underflow to zero.
      const Two p = two_product(x.value, y.value);
      const TermId least = b_.primitive(P::Minimum, b_.primitive(P::Minimum, magnitude(x.value), magnitude(y.value)), f64(Underflow));
      return total(of, pair(p, None), b_.primitive(P::Maximum, magnitude(p.high), least), true, f64(Underflow));
    }
    const Number p = product(x, y);
    return total(of, p, add(magnitude(p.value), radius_of(p)), true, None);
  }

  // A factor of a dot that is read from a tensor, whose elements are cut in two. The cut of an element depends on the indices that are the index
  // of the tensor being made: along the others their greatest magnitude is taken.
  struct Slices {
    TermId upper, rest, most;                              // read where the factor is
    TensorId uppers = None, rests = None;
    TermId read;                                           // of the definition
  };

  std::optional<Slices> slices(TermId factor, TermId root_of_terms) {
    TermId id = factor;
    const auto passes = [&](const Term& t) {
      return t.kind == TermKind::Choice || (t.kind == TermKind::Cast && static_cast<CastMode>(t.operation) != CastMode::Reinterpret);
    };
    while (passes(p_.term(id))) id = p_.arguments_of(id)[0];
    const Term& t = p_.term(id);
    if ((t.kind != TermKind::Read && t.kind != TermKind::ReadElse) || !is_float(t.type)) return std::nullopt;
    const auto from = static_cast<TensorId>(t.data);
    auto a = p_.arguments_of(id);
    if (t.kind == TermKind::ReadElse) {
      const Term& outside = p_.term(a.back());
      if (outside.kind != TermKind::Constant || !is_float(outside.type) || !zero_bits(outside)) return std::nullopt;
      a = a.first(a.size() - 1);
    }
    const TensorNumber whole = number_tensor(from);
    if (!whole.single()) return std::nullopt;
    const core::TensorNode& n = p_.tensor(from);
    std::vector<bool> kept;
    std::vector<TermId> at;
    for (TermId index : a) {
      const Term& i = p_.term(index);
      const auto v = static_cast<Variable>(i.data);
      kept.push_back(i.kind == TermKind::Variable && std::ranges::find(inside()->variables, v) != inside()->variables.end());
      if (kept.back()) at.push_back(b_.variable(variable(v)));
    }
    Slices out{};
    out.read = id;
    TensorId most = None;
    apart([&] {
      const std::vector<TermId> extents = copies(n.extents);
      std::vector<Variable> all, outer, inner;
      std::vector<TermId> place, outer_extents, inner_extents, outer_place;
      for (std::size_t d = 0; d < extents.size(); ++d) {
        all.push_back(b_.fresh("i"));
        place.push_back(b_.variable(all[d]));
        (kept[d] ? outer : inner).push_back(all[d]);
        (kept[d] ? outer_extents : inner_extents).push_back(extents[d]);
        if (kept[d]) outer_place.push_back(place[d]);
      }
      const TermId x = b_.read(whole.value, place);
      TermId size = magnitude(x);
      if (!inner.empty()) size = b_.reduce(ReduceKind::Maximum, E::F64, inner, inner_extents, None, false, f64(0), std::span(&size, 1));
      most = comprehension("most", outer_extents, outer, size);
      const TermId large = mul(scaled(0x1p28, root_of_terms), b_.read(most, outer_place));
      out.uppers = comprehension("upper", extents, all, upper(x, large));
      out.rests = comprehension("rest", extents, all, sub(x, b_.read(out.uppers, place)));
      return 0;
    });
    out.upper = slice(out.read, out.uppers);
    out.rest = slice(out.read, out.rests);
    out.most = b_.read(most, at);
    return out;
  }
  static bool zero_bits(const Term& constant) { return (constant.data << (64 - bits_of(constant.type) + 1)) == 0; }
  // The element of such a tensor that the factor reads, in the present scope.
  TermId slice(TermId read, TensorId from) {
    const auto a = p_.arguments_of(read);
    if (p_.term(read).kind == TermKind::Read) return b_.read(from, copies(a));
    return b_.read_else(from, copies(a.first(a.size() - 1)), f64(0), false);
  }

  // x y = x' y' + x' y" + x" y, where x = x' + x" and y = y' + y": the first sum is exact in f64, the other two are small. Three dots in f64, bounded by
  // norms: for matrix products and convolutions, whose factors are shared.
  std::optional<Number> dot_of_slices(const Reduction& of, const Number& y) {
    if (of.alone || !inside() || of.filter != None || extents_vary(of)) return std::nullopt;
    const auto index_x = hangs_on(of.r, of.r.bodies[0]), index_y = hangs_on(of.r, of.r.bodies[1]);
    if (!index_x || !index_y || std::min(index_x->size(), index_y->size()) == inside()->variables.size()) return std::nullopt;
    const TermId n = terms(of), root_of_terms = b_.primitive(P::SquareRoot, n);
    const auto a = slices(of.r.bodies[0], root_of_terms), b = slices(of.r.bodies[1], root_of_terms);
    if (!a || !b) return std::nullopt;
    const auto dotted = [&](TermId u, TermId v) {
      const TermId both[2] = {u, v};
      return over(of, ReduceKind::Dot, None, both);
    };
    const TermId main = stored(dotted(a->upper, b->upper)), rest = stored(add(dotted(a->upper, b->rest), dotted(a->rest, y.value)));
    const auto size = [&](const std::vector<Variable>& index, const auto& element) { return add(norm(of.r, index, element), f64(0x1p-510)); };
    const TermId sizes = add(mul(size(*index_x, [&] { return slice(a->read, a->uppers); }), size(*index_y, [&] { return slice(b->read, b->rests); })),
                             mul(size(*index_x, [&] { return slice(a->read, a->rests); }), size(*index_y, [&] { return number(of.r.bodies[1]).value; })));
    TermId radius = add(add(mul(chain(of, EnclosingPairsDotBlock), sizes), relative(rest)), f64(Underflow));
    const TermId nothing = b_.primitive(P::Or, is_zero(a->most), is_zero(b->most));
    const TermId fits = b_.primitive(P::And, at_least(mul(a->most, b->most), Roomy), b_.primitive(P::LessEqual, n, f64(MostTerms)));
    return pair(two_sum(main, rest), b_.select(nothing, f64(0), within(fits, radius)));
  }
};

}  // namespace

std::unique_ptr<Maker> pairs(const core::Program& program, const Nearnesses& near) { return std::make_unique<Pairs>(program, near); }

}  // namespace ulpian::interp
