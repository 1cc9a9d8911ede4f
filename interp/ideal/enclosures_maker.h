// How programs of enclosures are made, whatever the arithmetic: `Singles` computes in f64, `Pairs` in unevaluated sums of two f64. Private to
// the files enclosures*.cpp.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interp/ideal/copies.h"
#include "interp/ideal/enclosures.h"

namespace ulpian::interp {

class Maker : protected Copies {
public:
  Maker(const core::Program& program, const Nearnesses& near) : Copies(program, near), numbers_(program.tensors.size()) {}
  virtual ~Maker() = default;
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  std::optional<Enclosing> make();
  std::optional<Enclosing> make_at(std::size_t which, std::int64_t count);

protected:
  // Twice f64's unit roundoff bounds the error of one rounding by the rounded result, and the halves are left for the roundings of the radius.
  static constexpr double Ulp = 0x1p-52;
  // Above what underflow costs any one operation (and n < 2^52 of them in a reduction): half of the least subnormal each.
  static constexpr double Underflow = 0x1p-1022;

  struct TensorNumber {
    core::TensorId value = core::None, low = core::None, radius = core::None;
    bool exact() const { return radius == core::None; }
    bool single() const { return exact() && low == core::None; }
  };
  // A reduction whose parts have been made.
  struct Reduction {
    core::TermId id;
    core::ReduceView r;  // as the definition has it
    std::vector<core::TermId> extents;
    std::vector<core::Variable> own;
    core::TermId filter = core::None;
    bool has_initial = false;
    Number initial;
    bool alone = false;  // one element is being made in place
  };

  // --- the arithmetic
  virtual bool covers(ElementType output) const = 0;
  virtual Number known(core::TermId id) = 0;  // a value that is known as it is
  virtual Number negative(const Number& x) = 0;
  virtual Number absolute(const Number& x) = 0;
  virtual Number extreme(Primitive minimum_or_maximum, const Number& x, const Number& y) = 0;
  virtual Number sum(const Number& x, const Number& y) = 0;
  virtual Number product(const Number& x, const Number& y) = 0;
  virtual Number quotient(const Number& x, const Number& y) = 0;
  virtual Number root(const Number& x) = 0;
  virtual Number reciprocal_root(const Number& x) = 0;
  virtual Number function(Primitive p, std::span<const Number> x) = 0;
  virtual Number total(const Reduction& of, const Number& x) = 0;
  virtual Number dot(const Reduction& of, const Number& x, const Number& y) = 0;

  // --- small arithmetic on terms of f64
  core::TermId f64(double x) { return b_.constant(ElementType::F64, std::bit_cast<std::uint64_t>(x)); }
  core::TermId add(core::TermId x, core::TermId y) { return x == core::None ? y : y == core::None ? x : b_.primitive(Primitive::Add, x, y); }
  core::TermId sub(core::TermId x, core::TermId y) { return b_.primitive(Primitive::Subtract, x, y); }
  core::TermId mul(core::TermId x, core::TermId y) { return b_.primitive(Primitive::Multiply, x, y); }
  core::TermId scaled(double c, core::TermId x) { return mul(f64(c), x); }
  core::TermId magnitude(core::TermId x) { return b_.primitive(Primitive::Absolute, x); }
  core::TermId relative(core::TermId value) { return scaled(Ulp, magnitude(value)); }
  core::TermId is_zero(core::TermId x) { return b_.primitive(Primitive::Equal, x, f64(0)); }
  // As a bound that other bounds may be taken from.
  core::TermId surely(core::TermId radius) { return scaled(1 + RadiusSlack, radius); }
  core::TermId within(core::TermId condition, core::TermId radius);
  core::TermId radius_of(const Number& n) { return n.exact() ? f64(0) : n.radius; }
  core::TermId low_of(const Number& n) { return n.low == core::None ? f64(0) : n.low; }
  // Whether a number is zero for sure.
  core::TermId surely_zero(const Number& n);

  // --- numbers
  const TensorNumber& number_tensor(core::TensorId id);
  core::TensorId comprehension(const std::string& name, std::vector<core::TermId> extents, std::vector<core::Variable> variables, core::TermId body);
  Number number(core::TermId id);
  static bool is_narrow(ElementType t) { return t == ElementType::Bool || (is_float(t) && t != ElementType::F64) || (is_integer(t) && bits_of(t) <= 16); }

  // --- reductions
  core::TermId over(const Reduction& of, core::ReduceKind kind, core::TermId start, std::span<const core::TermId> bodies) {
    return b_.reduce(kind, ElementType::F64, of.own, of.extents, of.filter, false, start, bodies);
  }
  core::TermId summed(const Reduction& of, core::TermId body) { return over(of, core::ReduceKind::Sum, core::None, std::span(&body, 1)); }
  bool extents_vary(const Reduction& of) const;
  // The roundings above a term of a sum, in units of its size: the height of the tree, and two more.
  double tree(const Reduction& of) const;
  // The same of a dot whose accumulators take so many terms: those of one, and the tree of the accumulators.
  core::TermId chain(const Reduction& of, std::int64_t block);
  // The variables of the tensor being made on which a factor hangs, besides the positions of the reduction; nothing where it hangs on others.
  std::optional<std::vector<core::Variable>> hangs_on(const core::ReduceView& r, core::TermId factor) const;
  // sqrt(sum element^2) over the reduction, computed once for all elements that share it.
  template <typename Element> core::TermId norm(const core::ReduceView& r, const std::vector<core::Variable>& index, Element element) {
    const core::TensorId norms = apart([&] {
      std::vector<core::TermId> extents;
      for (core::Variable v : index) extents.push_back(copy(extent_inside(v)));
      const std::vector<core::Variable> i = fresh(index), own = fresh(r.variables);
      const core::TermId x = element(), square = mul(x, x);
      return comprehension("norm", extents, i, b_.primitive(Primitive::SquareRoot, b_.reduce(core::ReduceKind::Sum, ElementType::F64, own, copies(r.extents), core::None, false, core::None, std::span(&square, 1))));
    });
    std::vector<core::TermId> at;
    for (core::Variable v : index) at.push_back(b_.variable(variable(v)));
    return b_.read(norms, at);
  }
  core::TermId extent_inside(core::Variable v) const;
  const core::TensorNode* inside() const { return inside_; }
  // A term of the tensor being made, computed once for all that read it. Throws Unknown where it hangs on other variables than the tensor's and
  // those of reductions around it.
  core::TermId stored(core::TermId term);

private:
  std::uint32_t output(core::TensorId id);
  void outputs(Enclosing& out, std::size_t k, const TensorNumber& t);
  Number in_place(const core::TensorNode& n, const std::vector<core::TermId>& index);
  Number computed(core::TermId id);
  Number read(const core::Term& t, std::span<const core::TermId> a);
  Number primitive(const core::Term& t, std::span<const core::TermId> a);
  Number reduce(core::TermId id);

  using Around = std::vector<std::pair<core::Variable, core::TermId>>;
  const core::TensorNode* inside_ = nullptr;  // whose body is being made
  Around around_;                             // the variables bound here, and their extents
  bool few_ = false;                          // made are single elements,
  bool single_ = false;                       // and now one by its indices, not a tensor
  std::vector<std::optional<TensorNumber>> numbers_;
};

std::unique_ptr<Maker> singles(const core::Program& program, const Nearnesses& near);
std::unique_ptr<Maker> pairs(const core::Program& program, const Nearnesses& near);

}  // namespace ulpian::interp
