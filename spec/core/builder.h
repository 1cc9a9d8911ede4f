// Makes core programs: hash-consed terms (also up to the names of bound variables), with the arithmetic of Z and R normalised and folded,
// and nothing else simplified (floats keep every operation that the definition writes).
#pragma once

#include <memory>

#include "spec/core/program.h"

namespace ulpian::core {

// Thrown where a program (or the evaluation that makes it) grows beyond what is allowed: definitions are other people's texts.
struct LimitReached {
  std::string what;  // completes "needs more": "memory than is allowed"
};

struct BuilderLimits {
  std::size_t memory_bytes = std::size_t{1} << 30;
  std::uint32_t depth = None;  // of a term: those who walk terms may recurse
};

class Builder {
public:
  explicit Builder(const BuilderLimits& limits = {});
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // The place that new nodes are marked with; a place is interned once and then named by its index.
  std::uint32_t add_place(const Place& place);
  void at(std::uint32_t place) { place_ = place; }

  // --- leaves
  Variable fresh(std::string_view name, ElementType type = ElementType::Z);
  TermId variable(Variable v);
  Size fresh_size(std::string_view name, TensorId defined_by = None);
  TermId size(Size s);
  TermId integer(std::int64_t value);                 // Z
  TermId real(const Exact& value);                    // R
  TermId constant(ElementType type, Bits bits);       // machine types
  TermId text(std::string_view value);                // string
  TermId boolean(bool value);

  // --- terms. Arguments must already have the types asked for; the result type follows row_of(primitive).
  // On Z: + - * normalised as polynomials, div mod quot rem min max and comparisons folded where both are known or the normal form decides.
  TermId primitive(Primitive primitive, std::span<const TermId> arguments);
  TermId primitive(Primitive p, TermId a) { return primitive(p, std::span(&a, 1)); }
  TermId primitive(Primitive p, TermId a, TermId b) {
    const TermId both[2] = {a, b};
    return primitive(p, both);
  }
  TermId cast(ElementType type, TermId a, CastMode mode);
  TermId store(ElementType type, TermId a);               // a Z as an element of an integer type that must hold it (CastMode::Exact)
  TermId select(TermId condition, TermId a, TermId b);   // a constant condition chooses; equal branches are the branch
  TermId read(TensorId tensor, std::span<const TermId> index);
  TermId read_else(TensorId tensor, std::span<const TermId> index, TermId otherwise, bool optional);
  TermId reduce(ReduceKind kind, ElementType type, std::span<const Variable> variables, std::span<const TermId> extents, TermId filter,
                bool optional_filter, TermId initial, std::span<const TermId> bodies);
  TermId fold(std::span<const Variable> variables, std::span<const TermId> extents, Variable accumulator, TermId initial, TermId body);
  TermId nth(Variable variable, TermId extent, TermId place, std::span<const TermId> keys, bool descending);
  TermId choice(ChoiceKind kind, std::span<const TermId> alternatives);
  TermId unspecified(ElementType type);
  TermId random(TermId key, TermId position, TermId draw);

  // --- what is known
  ElementType type_of(TermId id) const { return program_.terms[id].type; }
  std::optional<std::int64_t> integer_constant(TermId id) const { return program_.integer_constant(id); }
  std::optional<bool> boolean_constant(TermId id) const;
  // Only size symbols and constants inside: a static, symbolic value.
  bool is_static(TermId id) const;

  // --- tensors
  TensorId add(TensorNode node);
  TensorNode& node(TensorId id) { return program_.tensors[id]; }
  std::uint32_t add_recurrence(Recurrence recurrence);
  Recurrence& recurrence(std::uint32_t group) { return program_.recurrences[group]; }

  Program& program() { return program_; }
  const Program& program() const { return program_; }
  Program finish();  // the builder is empty afterwards
  std::uint32_t place() const { return place_; }

private:
  struct Tables;
  // Folding (folding.cpp): the term that a primitive of known arguments is, or empty where it is a new one.
  std::optional<TermId> fold_integer(Primitive p, std::span<const TermId> xs);
  std::optional<TermId> fold_integer(Primitive p, TermId a);
  std::optional<TermId> fold_arithmetic(Primitive p, std::span<const TermId> xs);
  std::optional<TermId> fold_division(Primitive p, TermId a, TermId b);
  std::optional<TermId> divide_polynomial(Primitive p, TermId a, std::int64_t divisor);
  std::optional<TermId> fold_order(Primitive p, TermId a, TermId b);
  std::optional<TermId> fold_real(Primitive p, std::span<const TermId> xs);
  std::optional<TermId> fold_logic(Primitive p, std::span<const TermId> xs);
  std::optional<TermId> fold_conversion(Primitive p, TermId a);

  Program program_;
  std::unique_ptr<Tables> tables_;
  std::uint32_t place_ = 0;
};

}  // namespace ulpian::core
