// The tensor equations of a program over sets. Private to this folder.
#pragma once

#include "interp/allowed/evaluator.h"
#include "interp/allowed/intermediates.h"
#include "interp/allowed/sample.h"

namespace ulpian::interp::allowed {

// What a condition may be.
struct Truth {
  bool can_be_false = false;
  bool can_be_true = false;
};

class Equations {
public:
  Equations(const core::Program& program, const Profile& profile, const Limits& limits)
      : p_(program), e_(program, profile, limits), intermediates_(intermediates_of(program)) {}

  void hand_on();  // outputs of narrow floats, unrounded; before anything is evaluated
  void bind(std::span<const std::optional<AllowedTensor>> inputs);
  Truth truth(const core::Condition& condition);
  AllowedTensor output(std::size_t k);
  // The sets of some elements of an output (row-major positions, ascending), in their order. An output whose parts are evaluated together costs less as a whole
  // where many are asked for.
  AllowedTensor at(std::size_t k, std::span<const std::int64_t> positions);
  Extents extents_asked_for(core::TensorId id);  // evaluates what they depend on
  Evaluator& evaluator() { return e_; }

private:
  void require_terms(std::vector<core::TermId> terms, std::vector<core::TensorId> tensors);
  std::vector<core::TermId> terms_of(core::TensorId id) const;
  bool prepare_points(core::TensorId id);
  bool sorts(core::TensorId id) const;
  AllowedTensor result_of(Stored s) const;
  void evaluate(core::TensorId id);
  Extents extents_of(core::TensorId id);
  void refuse_opaque(const core::TensorNode& n);
  Stored& make(core::TensorId id);
  template <typename T> void grow(std::vector<T>& v, std::int64_t count);
  void widen(Lanes& v);
  void comprehension(core::TensorId id);
  void recurrence(std::uint32_t group);
  void fill(core::TensorId id, std::span<const std::int64_t> prefix);
  void where(core::TensorId id);
  void measured(core::TensorId id);
  void scatter(core::TensorId id);
  Lanes sum_of(const Rules& rules, const Lanes& base, const std::vector<Lanes>& updates) const;
  Lanes product_of(const Rules& rules, const Lanes& base, const std::vector<Lanes>& updates) const;
  void store(Stored& s, std::int64_t position, const Lanes& v, std::int64_t lane);

  const core::Program& p_;
  Evaluator e_;
  bool points_ = true;  // all inputs are single values
  bool hands_on_ = false;
  Intermediates intermediates_;
};

// Strings and complex numbers, which have no sets.
bool is_opaque(ElementType t);

Stored stored_of(const AllowedTensor& tensor, bool unrounded = true);
AllowedTensor tensor_of(const Stored& stored);

}  // namespace ulpian::interp::allowed
