// The true value of single elements: a call's definition evaluated over the extended reals on the given input bits, nothing rounded on the
// way (numerics.md, section 1, "ideal"). Only what one element needs is evaluated, each element of an equation once. Rational numbers are
// exact; others are bounds of growing precision. The evidence behind a reported violation; the verdict itself never asks here for more than
// a contradiction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include "interp/canonical/real.h"
#include "interp/limits.h"
#include "spec/core/program.h"

namespace ulpian::interp {

class RealElements {
public:
  // Integers and bools as bits, Z, and every float and R as a real number.
  using Value = std::variant<Bits, std::int64_t, Real>;

  enum class Missing : std::uint8_t {
    Nothing,
    Precision,  // a comparison or rounding that no precision tried decides
    Steps,      // more work than one question may take
    Depth,      // expressions nested too deeply
    Time,
    Meaning,    // random numbers, text: there is no such number, or none that is found here
  };
  // Shared by operators whose values flow into one another.
  struct Work {
    int bits = FirstBits;
    std::int64_t steps = 0;
    int depth = 0;
    Limits limits;
    Missing missing = Missing::Nothing;
  };
  static constexpr int FirstBits = 128, MostBits = 2048;
  // Beyond, an element is not decided: a sum of some ten million products, or a recurrence of a few thousand states.
  static constexpr std::int64_t MostSteps = 200'000'000;

  // `inputs` as Program::inputs. Both must outlive this.
  RealElements(const core::Program& program, std::span<const std::optional<Tensor>> inputs, std::shared_ptr<Work> work = std::make_shared<Work>());

  // Elements of this input are another definition's true values, not those of the tensor given (whose extents count). `of` shares the work.
  void draw_from(std::size_t input, RealElements& of, std::size_t output);

  // Empty where the value has not been decided: why_missing says why. A number may come back whose rounding is not decided.
  std::optional<Value> element(std::size_t output, std::int64_t position, const Limits& limits = {});
  // What becomes of an output's elements beyond the range of its type: as the cast says that ends the definition.
  static CastMode ending(const core::Program& program, std::size_t output);
  // Such a value as the output's type has it, rounded once.
  static std::optional<Bits> rounded(const core::Program& program, std::size_t output, const Value& value);
  // Of an output, as they follow over the reals; empty where they are not decided.
  std::optional<Extents> output_extents(std::size_t output, const Limits& limits = {});
  // The term whose value an element is, through copies, choices, selections and casts; of a sum or dot also how many terms it has and the sum of their
  // magnitudes (no terms: they were not found, or it is none). Empty where it is not found.
  struct Ending {
    core::TermId term = core::None;
    std::int64_t terms = 0;
    Real magnitude;
  };
  std::optional<Ending> ending_of(std::size_t output, std::int64_t position, const Limits& limits = {});
  // From now on, the elements of inputs that are read, by input and row-major position, in order, as often as they are read.
  using Reads = std::vector<std::pair<std::size_t, std::int64_t>>;
  void record(Reads* reads) { reads_ = reads; }
  // Of the last element asked for, with the precision that decided it.
  std::int64_t steps() const { return work_->steps; }
  // In words, of the last element asked for: `it takes more than 200000000 steps`.
  std::string why_missing() const;

private:
  using Maybe = std::optional<Value>;
  using Index = std::span<const std::int64_t>;
  struct Key {
    std::vector<std::int64_t> parts;  // a term, then the values of its variables
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const;
  };
  struct Source {
    RealElements* of = nullptr;
    std::size_t output = 0;
  };
  // Gives variables values, and the former ones back.
  class Bound {
  public:
    Bound(RealElements& owner, std::span<const core::Variable> variables);
    ~Bound();
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

  private:
    RealElements& owner_;
    std::span<const core::Variable> variables_;
    std::vector<Maybe> former_;
  };

  std::nullopt_t missing(Missing why);
  bool spend();
  void fresh();  // forgets what was found with other bits
  // Asks with growing precision until `enough`.
  template <typename Ask, typename Enough> auto asked(const Limits& limits, Ask ask, Enough enough) -> decltype(ask());
  Maybe output_element(std::size_t output, std::int64_t position);

  // real_element.cpp
  Maybe term(core::TermId id);
  std::optional<Key> key_of(core::TermId id) const;
  Maybe compute(core::TermId id);
  Maybe constant(core::TermId id);
  Maybe primitive(core::TermId id);
  Maybe on_reals(Primitive primitive, ElementType result, std::span<const Real> arguments);
  Maybe cast(core::TermId id);
  Maybe cast_real(core::TermId id, const Real& value);
  std::optional<std::int64_t> integer(core::TermId id);
  std::optional<bool> truth(core::TermId id);

  // real_ending.cpp
  std::optional<Ending> ending_in(core::TensorId id, Index index, int depth);
  std::optional<Ending> ending_at(core::TermId id, int depth);
  std::optional<Ending> sized(core::TermId id);

  // real_tensors.cpp
  // Outside: `outside` is set and the answer empty.
  Maybe read(core::TermId id, std::span<const core::TermId> index, bool& outside);
  Maybe tensor_element(core::TensorId id, Index index);
  Maybe input_element(core::TensorId id, std::int64_t position);
  Maybe equation_element(core::TensorId id, Index index);
  void climb(core::TensorId id, Index index);
  // Of a scatter, by the position that they go to: each update's variables.
  using Updates = std::unordered_map<std::int64_t, std::vector<std::vector<std::int64_t>>>;
  Maybe scattered(core::TensorId id, Index index);
  const Updates* updates(core::TensorId id, const Extents& extents);
  const std::vector<std::int64_t>* coordinates(core::TensorId id);  // of a Where
  const Extents* extents_of(core::TensorId id);
  std::optional<std::int64_t> size(core::Size s);
  // Calls `visit` for each index tuple; false where an extent is unknown or `visit` says stop.
  bool each(std::span<const core::Variable> variables, std::span<const core::TermId> extents, const std::function<bool()>& visit);

  // real_reductions.cpp
  Maybe reduce(core::TermId id);
  bool each_kept(const core::ReduceView& r, const std::function<bool(std::int64_t)>& visit);
  Maybe added(core::TermId id);
  Maybe counted(const core::ReduceView& r);
  Maybe extreme_place(const core::ReduceView& r);
  Maybe combined(core::TermId id);
  Maybe fold(core::TermId id);
  Maybe nth(core::TermId id);
  Maybe combine(core::ReduceKind kind, ElementType type, const Value& a, const Value& b);
  Maybe tree(core::ReduceKind kind, ElementType type, std::vector<Value> terms);
  std::optional<int> compare_keys(ElementType type, const Value& a, const Value& b);

  const core::Program& p_;
  std::span<const std::optional<Tensor>> inputs_;
  std::shared_ptr<Work> work_;
  std::vector<Source> sources_;                  // by input
  std::vector<std::size_t> slot_;                // by tensor: which input
  std::vector<bool> kept_;                       // by term: worth remembering
  std::vector<Maybe> variables_, constants_;     // the latter by term
  std::vector<std::optional<std::int64_t>> sizes_;
  std::vector<std::optional<Extents>> extents_;  // by tensor
  int known_bits_ = 0;                           // with which the following were found
  std::unordered_map<Key, Value, KeyHash> terms_;
  std::vector<std::unordered_map<std::int64_t, Value>> elements_;         // by tensor, by row-major position
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> climbed_;   // by tensor, by position within a step: the next step to visit
  std::size_t remembered_ = 0;
  Reads* reads_ = nullptr;
  std::unordered_map<core::TensorId, std::vector<std::int64_t>> coordinates_;
  std::unordered_map<core::TensorId, Updates> updates_;
};

}  // namespace ulpian::interp
