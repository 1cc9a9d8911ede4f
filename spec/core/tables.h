// The builder's hidden tables: hash-consing, sets of free variables, and the polynomial normal form of Z. Private to spec/core.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spec/core/builder.h"

namespace ulpian::core {

// A sum of integer multiples of products of atoms (terms that are not themselves sums or products), sorted by monomial.
struct Polynomial {
  using Monomial = std::vector<TermId>;  // sorted, with repetitions; empty: the constant
  std::vector<std::pair<Monomial, std::int64_t>> terms;

  std::optional<std::int64_t> constant() const;
  std::optional<TermId> single_atom() const;
};

struct Builder::Tables {
  Tables(Program& p, const BuilderLimits& l) : program(p), limits(l) {}

  // What the builder knows of a term besides the term itself.
  struct Facts {
    std::uint64_t hash = 0;
    std::uint32_t depth = 0;
    bool is_static = false;  // made of constants and size symbols only
  };

  Program& program;
  BuilderLimits limits;
  std::size_t bytes = 0;                            // roughly what the program and these tables take
  std::vector<std::uint32_t> slots;                 // open addressing; None is empty
  std::vector<Facts> facts;                         // per term
  std::unordered_multimap<std::uint64_t, std::uint32_t> sets;     // hash -> index into variable_sets
  std::unordered_map<TermId, Polynomial> polynomials;
  std::map<std::vector<std::pair<Polynomial::Monomial, std::int64_t>>, TermId> by_polynomial;
  std::unordered_multimap<std::uint64_t, TermId> binding_terms;   // alpha-invariant hash -> reduce, fold or nth
  std::unordered_map<std::string, std::uint32_t> places;
  std::unordered_multimap<std::size_t, std::uint32_t> reals;      // hash -> index into Program::reals
  std::unordered_map<std::string, std::uint32_t> texts;

  // Throws LimitReached beyond the allowance.
  void charge(std::size_t more);

  TermId intern(Term term, std::span<const TermId> arguments);
  std::uint32_t intern_set(std::vector<Variable> set);
  std::uint32_t union_of(std::span<const TermId> arguments);
  std::uint32_t without(std::uint32_t set, std::span<const Variable> bound);
  // A reduce, fold or nth that is equal up to the names of bound variables, or the new one.
  TermId intern_binding(Term term, std::span<const TermId> arguments, std::vector<Variable> bound);

  Polynomial polynomial_of(TermId id) const;
  // Empty where a coefficient overflows or the result grows too large to be worth normalising.
  std::optional<Polynomial> combine(Primitive primitive, TermId a, TermId b) const;

private:
  void grow();
  Facts facts_of(const Term& term, std::span<const TermId> arguments, std::uint64_t hash) const;
};

}  // namespace ulpian::core
