// The true value of single elements: a call's definition evaluated over the extended reals on the given input bits, nothing rounded on the
// way (numerics.md, section 1, "ideal"). Only what one element needs is evaluated. The evidence behind a reported violation; the verdict
// itself never asks here for more than a contradiction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include "interp/canonical/real.h"
#include "interp/limits.h"
#include "spec/core/program.h"

namespace ulpian::diff {

class RealElements {
public:
  // Integers and bools as bits, Z, and every float and R as a real number.
  using Value = std::variant<Bits, std::int64_t, interp::Real>;

  // `inputs` as Program::inputs. Both must outlive this.
  RealElements(const core::Program& program, std::span<const std::optional<Tensor>> inputs, const interp::Limits& limits);

  // Empty where the value has not been decided: too much work, a comparison that no precision decides, random numbers, text.
  std::optional<Value> element(std::size_t output, std::int64_t position);
  // Such a value as the output's type has it, rounded once.
  static std::optional<Bits> rounded(const core::Program& program, std::size_t output, const Value& value);

private:
  using Maybe = std::optional<Value>;
  struct Key {
    std::vector<std::int64_t> parts;  // what, then where
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const;
  };
  class Bound;  // gives variables values, and the former ones back

  bool spend();
  Maybe term(core::TermId id);
  Maybe compute(core::TermId id);
  Maybe constant(const core::Term& t) const;
  Maybe primitive(core::TermId id);
  Maybe cast(core::TermId id);
  // Outside: `outside` is set and the answer empty.
  Maybe read(core::TermId id, std::span<const core::TermId> index, bool& outside);
  Maybe tensor_element(core::TensorId id, std::span<const std::int64_t> index);
  Maybe scattered(core::TensorId id, std::span<const std::int64_t> index);
  const std::vector<std::int64_t>* coordinates(core::TensorId id);  // of a Where
  std::optional<Extents> extents_of(core::TensorId id);
  std::optional<std::int64_t> size(core::Size s);
  std::optional<std::int64_t> integer(core::TermId id);
  std::optional<bool> truth(core::TermId id);

  // Calls `visit` for each index tuple; false where an extent is unknown or `visit` says stop.
  template <typename Visit> bool each(std::span<const core::Variable> variables, std::span<const core::TermId> extents, Visit visit);
  Maybe reduce(core::TermId id);
  Maybe extreme_place(const core::ReduceView& r, const std::vector<std::pair<std::int64_t, Value>>& terms, ElementType type);
  Maybe fold(core::TermId id);
  Maybe nth(core::TermId id);
  Maybe combine(core::ReduceKind kind, ElementType type, const Value& a, const Value& b);
  Maybe tree(core::ReduceKind kind, ElementType type, std::vector<Value> terms);

  const core::Program& p_;
  std::span<const std::optional<Tensor>> inputs_;
  interp::Limits limits_;
  std::vector<std::optional<Value>> variables_;
  std::vector<std::optional<std::int64_t>> sizes_;
  std::unordered_map<Key, Value, KeyHash> memo_;
  std::unordered_map<core::TensorId, std::vector<std::int64_t>> coordinates_;
  std::int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace ulpian::diff
