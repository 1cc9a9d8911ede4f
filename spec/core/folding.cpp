// What the builder knows about primitives: the normal form of Z, exact folding of Z, R and bool. Floats are never simplified.
#include <algorithm>

#include "spec/core/builder.h"
#include "spec/core/tables.h"

namespace ulpian::core {
namespace {

ElementType result_type(Primitive p, ElementType argument) {
  const PrimitiveRow& row = row_of(p);
  switch (row.kind) {
    case PrimitiveKind::Comparison:
    case PrimitiveKind::Logic: return ElementType::Bool;
    case PrimitiveKind::Conversion: return p == Primitive::ToReal ? ElementType::R : ElementType::Z;
    case PrimitiveKind::Text: return p == Primitive::Length ? ElementType::Z : ElementType::String;
    case PrimitiveKind::Exact:
    case PrimitiveKind::Elementary: break;
  }
  const bool to_integral = p == Primitive::Floor || p == Primitive::Ceiling || p == Primitive::RoundEven || p == Primitive::Truncate;
  return argument == ElementType::R && to_integral ? ElementType::Z : argument;
}

std::optional<std::int64_t> fold_division(Primitive p, std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  std::int64_t q = a / b, r = a % b;
  switch (p) {
    case Primitive::Quotient: return q;
    case Primitive::Remainder: return r;
    case Primitive::FloorDivide: return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
    case Primitive::Modulo: return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    default: return std::nullopt;
  }
}

std::optional<bool> compare(Primitive p, std::partial_ordering o) {
  switch (p) {
    case Primitive::Equal: return o == 0;
    case Primitive::NotEqual: return o != 0;
    case Primitive::Less: return o < 0;
    case Primitive::LessEqual: return o <= 0;
    case Primitive::Greater: return o > 0;
    case Primitive::GreaterEqual: return o >= 0;
    default: return std::nullopt;
  }
}

std::optional<Exact> fold_real(Primitive p, const Exact& a, const Exact& b) {
  switch (p) {
    case Primitive::Add: return a + b;
    case Primitive::Subtract: return a - b;
    case Primitive::Multiply: return a * b;
    case Primitive::Divide: return a / b;
    case Primitive::Minimum: return b < a ? b : a;
    case Primitive::Maximum: return a < b ? b : a;
    case Primitive::FloorDivide: if (!b.is_zero()) return Exact::floor_divide(a, b); return std::nullopt;
    case Primitive::Modulo: if (!b.is_zero()) return Exact::modulo(a, b); return std::nullopt;
    case Primitive::Power: return Exact::power(a, b);
    default: return std::nullopt;
  }
}

std::optional<Exact> fold_real(Primitive p, const Exact& a) {
  switch (p) {
    case Primitive::Negate: return -a;
    case Primitive::Absolute: return a.absolute();
    case Primitive::Floor: return a.floor();
    case Primitive::Ceiling: return a.ceiling();
    case Primitive::RoundEven: return a.round_even();
    case Primitive::Truncate: return a.truncate();
    case Primitive::SquareRoot: return a.exact_square_root();
    case Primitive::Reciprocal: return Exact(1) / a;
    default: return std::nullopt;
  }
}

// Folding that needs the builder's tables.
struct Folder {
  Builder& b;
  std::optional<TermId> operator()(Primitive p, std::span<const TermId> xs, ElementType type) {
    if (type == ElementType::R) return real(p, xs);
    if (type == ElementType::Bool) return logic(p, xs);
    if (p == Primitive::ToInteger || p == Primitive::ToReal) return conversion(p, xs[0]);
    return std::nullopt;
  }
  std::optional<TermId> conversion(Primitive p, TermId a) {
    const Term& t = b.program().terms[a];
    if (p == Primitive::ToInteger && t.type == ElementType::Z) return a;
    if (t.kind != TermKind::Constant) return std::nullopt;
    if (p == Primitive::ToInteger) {
      const std::int64_t v = to_int64(t.type, t.data);
      if (t.type == ElementType::U64 && v < 0) return std::nullopt;
      return b.integer(v);
    }
    if (t.type == ElementType::Z) return b.real(Exact(static_cast<std::int64_t>(t.data)));
    return b.real(Exact::of(t.type, t.data));
  }
  std::optional<TermId> real(Primitive p, std::span<const TermId> xs) {
    if (p == Primitive::ToReal) return xs[0];
    const Exact* value[2] = {};
    for (std::size_t k = 0; k < xs.size(); ++k) {
      const Term& t = b.program().terms[xs[k]];
      if (t.kind != TermKind::Constant) return std::nullopt;
      value[k] = &b.program().reals[t.data];
    }
    if (xs.size() == 2 && row_of(p).kind == PrimitiveKind::Comparison) {
      auto c = compare(p, *value[0] <=> *value[1]);
      return c ? std::optional(b.boolean(*c)) : std::nullopt;
    }
    if (p == Primitive::IsNan) return b.boolean(value[0]->is_nan());
    if (p == Primitive::IsInfinite) return b.boolean(value[0]->is_infinite());
    auto folded = xs.size() == 2 ? fold_real(p, *value[0], *value[1]) : fold_real(p, *value[0]);
    if (!folded) return std::nullopt;
    if (result_type(p, ElementType::R) == ElementType::R) return b.real(*folded);
    auto integral = folded->to_int64();
    return integral ? std::optional(b.integer(*integral)) : std::nullopt;
  }
  std::optional<TermId> logic(Primitive p, std::span<const TermId> xs) {
    auto c = b.boolean_constant(xs[0]);
    if (p == Primitive::Not) {
      if (c) return b.boolean(!*c);
      const Term& t = b.program().terms[xs[0]];
      if (t.kind == TermKind::Primitive && static_cast<Primitive>(t.operation) == Primitive::Not) return b.program().arguments_of(xs[0])[0];
      return std::nullopt;
    }
    if (xs.size() < 2) return std::nullopt;
    auto d = b.boolean_constant(xs[1]);
    if (p == Primitive::And || p == Primitive::Or) {
      const bool neutral = p == Primitive::And;
      if (c) return *c == neutral ? xs[1] : xs[0];
      if (d) return *d == neutral ? xs[0] : xs[1];
      if (xs[0] == xs[1]) return xs[0];
    }
    if (c && d) {
      auto r = compare(p, static_cast<int>(*c) <=> static_cast<int>(*d));
      if (r) return b.boolean(*r);
    }
    return std::nullopt;
  }
};

}  // namespace

TermId Builder::primitive(Primitive p, std::span<const TermId> xs) {
  ensure(static_cast<int>(xs.size()) == row_of(p).arity);
  const ElementType type = type_of(xs[0]);
  for (TermId x : xs) ensure(type_of(x) == type, "arguments of one primitive have one type");
  if (type == ElementType::Z) {
    std::optional<TermId> folded;
    const auto c = integer_constant(xs[0]);
    if (xs.size() == 1) {
      if (p == Primitive::Negate) return primitive(Primitive::Subtract, integer(0), xs[0]);
      if (p == Primitive::Absolute && c && *c != INT64_MIN) return integer(*c < 0 ? -*c : *c);
      if (p == Primitive::Sign && c) return integer((*c > 0) - (*c < 0));
      if (p == Primitive::Floor || p == Primitive::Ceiling || p == Primitive::RoundEven || p == Primitive::Truncate) return xs[0];
      if (p == Primitive::IsNan || p == Primitive::IsInfinite) return boolean(false);
      folded = Folder{*this}.conversion(p, xs[0]);
      if (p != Primitive::ToInteger && p != Primitive::ToReal) folded.reset();
      if (folded) return *folded;
    } else {
      const auto d = integer_constant(xs[1]);
      switch (p) {
        case Primitive::Add:
        case Primitive::Subtract:
        case Primitive::Multiply: {
          auto sum = tables_->combine(p, xs[0], xs[1]);
          if (!sum) break;
          if (auto k = sum->constant()) return integer(*k);
          if (auto atom = sum->single_atom()) return *atom;
          auto found = tables_->by_polynomial.find(sum->terms);
          if (found != tables_->by_polynomial.end()) return found->second;
          Term t{.kind = TermKind::Primitive, .type = type, .operation = static_cast<std::uint8_t>(p), .place = place_};
          const TermId id = tables_->intern(t, xs);
          tables_->by_polynomial.emplace(sum->terms, id);
          tables_->polynomials.emplace(id, std::move(*sum));
          return id;
        }
        case Primitive::FloorDivide:
        case Primitive::Modulo:
        case Primitive::Quotient:
        case Primitive::Remainder: {
          if (d && *d == 1) return p == Primitive::FloorDivide || p == Primitive::Quotient ? xs[0] : integer(0);
          if (c && d) {
            if (auto v = fold_division(p, *c, *d)) return integer(*v);
          } else if (d && *d > 0 && (p == Primitive::FloorDivide || p == Primitive::Modulo)) {
            // (d * q + r) div d is q + (r div d) where r is a constant; likewise mod.
            const Polynomial whole = tables_->polynomial_of(xs[0]);
            bool divisible = true;
            std::int64_t rest = 0;
            for (const auto& [m, k] : whole.terms) {
              if (m.empty()) rest = k;
              else if (k % *d != 0) divisible = false;
            }
            if (divisible && p == Primitive::Modulo) return integer(*fold_division(p, rest, *d));
            if (divisible && whole.terms.size() <= 8) {
              TermId sum = integer(*fold_division(p, rest, *d));
              for (const auto& [m, k] : whole.terms) {
                if (m.empty()) continue;
                TermId product = integer(k / *d);
                for (TermId atom : m) product = primitive(Primitive::Multiply, product, atom);
                sum = primitive(Primitive::Add, sum, product);
              }
              return sum;
            }
          }
          break;
        }
        case Primitive::Minimum:
        case Primitive::Maximum:
          if (auto diff = tables_->combine(Primitive::Subtract, xs[0], xs[1]))
            if (auto k = diff->constant()) return (*k <= 0) == (p == Primitive::Minimum) ? xs[0] : xs[1];
          break;
        default:
          if (row_of(p).kind == PrimitiveKind::Comparison)
            if (auto diff = tables_->combine(Primitive::Subtract, xs[0], xs[1]))
              if (auto k = diff->constant()) return boolean(*compare(p, *k <=> 0));
          break;
      }
    }
  } else if (auto folded = Folder{*this}(p, xs, type)) {
    return *folded;
  }
  Term t{.kind = TermKind::Primitive, .type = result_type(p, type), .operation = static_cast<std::uint8_t>(p), .place = place_};
  return tables_->intern(t, xs);
}

}  // namespace ulpian::core
