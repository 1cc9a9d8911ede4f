// A core program: what elaborating one operator call yields, and all that evaluators, the compiler and the prover handle. A graph of
// hash-consed element terms and of tensor equations, without functions, lists, packs, absent values, versions or static conditions.
//
// Terms and tensors are named by 32-bit ids into the program's own arenas. A program is immutable once `Builder` (builder.h) has made it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "spec/core/tensor.h"
#include "spec/numbers/arithmetic.h"
#include "spec/numbers/element_type.h"
#include "spec/numbers/exact.h"
#include "spec/numbers/primitive.h"

namespace ulpian::core {

using TermId = std::uint32_t;
using TensorId = std::uint32_t;
using Variable = std::uint32_t;   // a bound index (Z), or the accumulator of a fold
using Size = std::uint32_t;       // a size symbol
inline constexpr std::uint32_t None = 0xffffffffu;

enum class TermKind : std::uint8_t {
  Constant,     // `data`: bits of a machine type; the int64 of a Z; an index into `reals` (R) or `texts` (string)
  Variable,     // `data`: the variable
  Size,         // `data`: the size symbol; type Z
  Primitive,    // `operation`: Primitive; arguments of one type (`argument_type`), rounded once; comparisons give bool. On Z and R exact.
  Cast,         // `operation`: CastMode; one argument. To and from strings as spec/strings/number_text.h says. From Z to an integer type: Plain wraps; Exact has no value where it does not fit
  Select,       // condition, then, else; lazy: what is not chosen has no effect, not even an index out of range
  Read,         // `data`: the tensor; one Z argument per axis; every index must be inside
  ReadElse,     // as Read, then the value where an index is outside (evaluated only there); flag OptionalTerm for `else e?`
  Reduce,       // `operation`: ReduceKind; see ReduceView
  Fold,         // accumulate; see FoldView
  Nth,          // argsort ... at; see NthView
  Choice,       // `operation`: ChoiceKind; the first argument is canonical
  Unspecified,  // any value of the type; canonical 0. `data`: its place, so that two that stand on different lines are not taken for one
  Random,       // arguments of Z: key, position, draw; type F64: `random_unit` (spec/numbers/philox.h), another implementation any number in [0, 1)
};

enum class ReduceKind : std::uint8_t { Sum, Dot, Product, Maximum, Minimum, Any, All, Count, ArgMax, ArgMin };
enum class ChoiceKind : std::uint8_t { OneOf, WithinBody };
enum class ScatterMode : std::uint8_t { Last, Any, Add, Multiply, Maximum, Minimum };

std::string_view name_of(ReduceKind kind);
std::string_view name_of(ScatterMode mode);

enum TermFlag : std::uint8_t {
  OptionalTerm = 1,    // ReadElse: an implementation may skip a term that is outside
  HasFilter = 2,       // Reduce
  OptionalFilter = 4,  // Reduce: `if c?`: an implementation may include what is filtered, as 0 * w
  HasInitial = 8,      // Reduce: `from c`
  Descending = 16,     // Nth
};

struct Term {
  TermKind kind = TermKind::Constant;
  ElementType type = ElementType::Z;
  std::uint8_t operation = 0;
  std::uint8_t flags = 0;
  std::uint32_t first = 0;      // arguments: [first, first + count) of Program::arguments
  std::uint32_t count = 0;
  std::uint32_t binders = None; // Reduce, Fold, Nth: index into Program::binder_lists
  std::uint32_t free = 0;       // index into Program::variable_sets
  std::uint32_t place = 0;      // index into Program::places
  std::uint64_t data = 0;
};

// reduce(kind; variables < extents; filter; initial; body...). The flattened order is lexicographic in the order of the variables. A later
// extent may use an earlier variable. Dot has two bodies, the factors of its last product (the fused one); Count has none; others one.
// The term's type is the accumulator's: each Sum/Product term rounds to it first. ArgMax, ArgMin, Count: Z, counted in flattened positions.
struct ReduceView {
  ReduceKind kind;
  std::span<const Variable> variables;
  std::span<const TermId> extents;
  TermId filter = None;
  TermId initial = None;
  std::span<const TermId> bodies;
  bool optional_filter = false;
};
// fold(variables < extents; accumulator = initial; body): in order, with any body over the accumulator variable.
struct FoldView {
  std::span<const Variable> variables;
  Variable accumulator;
  std::span<const TermId> extents;
  TermId initial;
  TermId body;
};
// nth(variable < extent, at place; keys): the index that stands at `place` in the stable order by the keys (lexicographic).
// Keys compare as values: -0 equals 0, NaN is greatest.
struct NthView {
  Variable variable;
  TermId extent;
  TermId place;
  std::span<const TermId> keys;
  bool descending;
};

enum class TensorKind : std::uint8_t {
  Input,          // an argument of the call: `Program::inputs` says which
  Literal,        // a tensor known statically (an attribute): `literal`
  Comprehension,  // for every index of `extents` the element `body` over `variables` (one per axis)
  Recurrence,     // a member of `recurrences[group]`; `variables` are the group's first, then its own
  Where,          // the coordinates at which `body` (bool) holds over `variables` < `domain`, row-major: Z[size, number of variables]
  Measured,       // a scalar Z (`body`) that defines a size symbol; extents []
  Scatter,        // `base` with writes in ascending order of `variables` < `domain`: see ScatterInfo
};

struct ScatterInfo {
  ScatterMode mode = ScatterMode::Last;
  TensorId base = None;
  TermId filter = None;
  std::vector<TermId> index;
};

struct TensorNode {
  std::string name;
  ElementType type = ElementType::F32;
  TensorKind kind = TensorKind::Input;
  std::vector<TermId> extents;      // Z terms over sizes and constants
  std::vector<Variable> variables;
  std::vector<TermId> domain;       // Where, Scatter: extents of the variables
  TermId body = None;
  std::uint32_t group = None;       // Recurrence
  ScatterInfo scatter;
  std::optional<Tensor> literal;
  bool rounded = false;             // Input: read as rounded to its type, even where excess precision is admitted
  std::uint32_t place = 0;
};

// rec (variables < extents) { members }: evaluated in lexicographic order of the variables, and within one index the members in order. A body
// may read any earlier index of any member, or the same index of a member before it.
struct Recurrence {
  std::vector<Variable> variables;
  std::vector<TermId> extents;
  std::vector<TensorId> members;
};

// One result of a call: nothing, a tensor, or a sequence of tensors of one element type. Its tensors are outputs [first, first + count).
enum class ResultKind : std::uint8_t { Nothing, Tensor, Sequence };
struct ResultInfo {
  ResultKind kind = ResultKind::Tensor;
  ElementType type = ElementType::F32;  // of a sequence
  std::uint32_t first = 0;
  std::uint32_t count = 1;
};

struct VariableInfo {
  std::string name;
  ElementType type = ElementType::Z;
};

// Where a size symbol comes from: an extent of an input, an element of a static input, or a tensor equation (Where, Measured).
struct SizeInfo {
  std::string name;
  TensorId defined_by = None;
};

struct Condition {
  TermId term = None;      // bool, without free variables
  std::string message;
  std::uint32_t place = 0;
};

class Program {
public:
  // --- terms
  const Term& term(TermId id) const { return terms[id]; }
  std::span<const TermId> arguments_of(TermId id) const {
    const Term& t = terms[id];
    return {arguments.data() + t.first, t.count};
  }
  // Sorted variables that occur free in the term.
  std::span<const Variable> free_of(TermId id) const { return variable_sets[terms[id].free]; }
  bool is_constant(TermId id) const { return terms[id].kind == TermKind::Constant; }
  std::optional<std::int64_t> integer_constant(TermId id) const;  // of a Z constant
  ReduceView reduce(TermId id) const;
  FoldView fold(TermId id) const;
  NthView nth(TermId id) const;

  // --- tensors, in an order in which each uses only those before it (members of one recurrence use each other)
  const TensorNode& tensor(TensorId id) const { return tensors[id]; }

  std::string op;                                 // the definition: "onnx.Conv"
  std::vector<Term> terms;
  std::vector<TermId> arguments;
  std::vector<std::vector<Variable>> binder_lists;
  std::vector<std::vector<Variable>> variable_sets;
  std::vector<VariableInfo> variables;
  std::vector<SizeInfo> sizes;
  std::vector<Exact> reals;
  std::vector<std::string> texts;
  std::vector<Place> places;                      // the .ulp line of each node
  std::vector<TensorNode> tensors;
  std::vector<Recurrence> recurrences;

  std::vector<TensorId> inputs;                   // per argument of the call (variadic ones and sequences flattened); None where absent or unused.
                                                  // Then what a host made while the call was elaborated (language/host.h)
  std::vector<TensorId> outputs;                  // per result; None where the definition yields none
  std::vector<std::string> output_names;
  std::vector<ResultInfo> results;                // how the outputs form the call's results; empty where each is one
  std::vector<Condition> requirements;            // checked on the values, before the outputs
  std::vector<Condition> undefined;               // where one holds, anything conforms
  std::vector<std::int64_t> unordered_axes;       // any order of the same slices along these axes of all outputs
  std::vector<Condition> path;                    // on sizes: what was assumed while elaborating
  // How many alternatives each static `one of` had (one choice for the whole operator); the program is one of them.
  std::vector<std::uint8_t> static_choices;
};

// The program as text: one equation a line, bound variables renamed apart. For people and for tests of the elaborator.
std::string to_string(const Program& program);
std::string to_string(const Program& program, TermId term);

// Checks every structural promise made above (types, arities, bound variables, order); the first broken one, as text.
std::optional<std::string> verify(const Program& program);

}  // namespace ulpian::core
