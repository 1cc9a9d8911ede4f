// The arithmetic of enclosures in f64: a value and a radius.
#include <cmath>
#include <limits>

#include "interp/ideal/enclosures_maker.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::ReduceKind;
using core::TermId;
using core::Variable;
using E = ElementType;
using P = Primitive;

class Singles : public Maker {
public:
  using Maker::Maker;

private:
  bool covers(E output) const override { return is_float(output) && output != E::F64; }

  Number known(TermId id) override {
    const E type = p_.term(id).type;
    if (type == E::R && p_.is_constant(id)) {
      const Exact& x = p_.reals[p_.term(id).data];
      const double value = x.to_double();
      return {f64(value), None, Exact::of_double(value) == x ? None : f64(std::abs(value) * Ulp + Underflow), false};
    }
    const TermId same = copy(id);
    if (type == E::F64) return {same, None, None, false};
    if (type == E::R || type == E::Z || is_integer(type)) {
      const TermId value = b_.cast(E::F64, same, type == E::R ? CastMode::Exact : CastMode::Plain);
      if (is_integer(type) && bits_of(type) <= 32) return {value, None, None, is_narrow(type)};
      return {value, None, add(relative(value), type == E::R ? f64(Underflow) : None), false};
    }
    if (type != E::Bool && !is_float(type)) throw Unknown();
    return {b_.cast(E::F64, same, CastMode::Plain), None, None, true};
  }

  Number negative(const Number& x) override { return {b_.primitive(P::Negate, x.value), None, x.radius, x.narrow}; }
  Number absolute(const Number& x) override { return {magnitude(x.value), None, x.radius, x.narrow}; }
  Number extreme(P p, const Number& x, const Number& y) override {
    return {b_.primitive(p, x.value, y.value), None, x.exact() && y.exact() ? None : b_.primitive(P::Maximum, radius_of(x), radius_of(y)), x.narrow && y.narrow};
  }
  // A sum that is subnormal is exact.
  Number sum(const Number& x, const Number& y) override {
    const TermId value = add(x.value, y.value);
    return {value, None, add(add(x.radius, y.radius), relative(value)), false};
  }
  Number product(const Number& x, const Number& y) override {
    const TermId value = mul(x.value, y.value);
    if (x.narrow && y.narrow) return {value, None, None, false};
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
    return {value, None, add(radius, b_.select(zero, f64(0), f64(Underflow))), false};
  }

  // x/y of the values is q; (x + dx)/(y + dy) - q = (dx - q dy)/(y + dy).
  Number quotient(const Number& x, const Number& y) override {
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
    return {value, None, add(radius, b_.select(zero, f64(0), f64(Underflow))), false};
  }

  // |sqrt a - sqrt b| = |a - b| / (sqrt a + sqrt b).
  Number root(const Number& x) override {
    const TermId value = b_.primitive(P::SquareRoot, x.value);
    if (x.exact()) return {value, None, relative(value), false};
    const TermId known = b_.primitive(P::Greater, x.value, scaled(2, x.radius));
    return {value, None, within(known, add(add(b_.primitive(P::Divide, x.radius, value), relative(value)), f64(Underflow))), false};
  }
  Number reciprocal_root(const Number& x) override { return function(P::ReciprocalRoot, std::span(&x, 1)); }

  Number function(P p, std::span<const Number> x) override {
    const TermId value = x.size() == 2 ? b_.primitive(p, x[0].value, x[1].value) : b_.primitive(p, x[0].value);
    const TermId rounding = add(relative(value), f64(Underflow));
    if (x[0].exact() && x.back().exact()) return {value, None, rounding, false};
    return {value, None, add(rounding, x.size() == 2 ? throw Unknown() : moved(p, x[0], value)), false};
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

  // h roundings lie above a term, the tree's height and one: h u times the sum of the magnitudes.
  Number total(const Reduction& of, const Number& x) override {
    const TermId value = over(of, ReduceKind::Sum, of.initial.value, std::span(&x.value, 1));
    TermId radius = summed(of, add(scaled(tree(of), magnitude(x.value)), x.radius));
    if (!x.narrow) radius = add(radius, f64(Underflow));  // of the radius's own terms
    if (of.has_initial) radius = add(radius, add(scaled(tree(of), magnitude(of.initial.value)), of.initial.radius));
    return {value, None, radius, false};
  }

  Number dot(const Reduction& of, const Number& x, const Number& y) override {
    const bool narrow = x.narrow && y.narrow;
    if (of.alone && narrow && !of.has_initial) {
      // Their products are exact, and a tree is lower than a chain. The chain starts at +0.
      const TermId xy = mul(x.value, y.value);
      return {add(summed(of, xy), f64(0)), None, summed(of, scaled(tree(of), magnitude(xy))), false};
    }
    const TermId both[2] = {x.value, y.value};
    const TermId value = over(of, ReduceKind::Dot, of.initial.value, both);
    TermId magnitudes = None, radius = None;
    if (narrow) {
      magnitudes = by_norms(of);
      if (magnitudes == None) magnitudes = summed(of, magnitude(mul(x.value, y.value)));
    } else {
      // The factors' product, rounded, has a radius of its own, in which the fused one's error lies.
      const Number xy = product(x, y);
      magnitudes = summed(of, magnitude(xy.value));
      radius = add(summed(of, xy.radius), f64(Underflow));
    }
    if (of.has_initial) magnitudes = add(magnitudes, magnitude(of.initial.value)), radius = add(radius, of.initial.radius);
    return {value, None, add(radius, mul(chain(of, EnclosingDotBlock), magnitudes)), false};
  }

  // sum |x y| <= sqrt(sum x^2) sqrt(sum y^2), each sum once for all elements that share it: what makes a matrix product cheap. None where a
  // factor hangs on more than the tensor's index and the positions of the sum, or where nothing is shared.
  TermId by_norms(const Reduction& of) {
    if (!inside() || of.filter != None || extents_vary(of)) return None;
    TermId out = None;
    bool shared = false;
    for (TermId body : of.r.bodies) {
      const auto index = hangs_on(of.r, body);
      if (!index) return None;
      shared = shared || index->size() < inside()->variables.size();
      const TermId one = norm(of.r, *index, [&] { return number(body).value; });
      out = out == None ? one : mul(out, one);
    }
    return shared ? out : None;
  }
};

}  // namespace

std::unique_ptr<Maker> singles(const core::Program& program, const Nearnesses& near) { return std::make_unique<Singles>(program, near); }

}  // namespace ulpian::interp
