// The elaborator: evaluates what is static, and builds terms from the rest. Private to spec/language; one instance elaborates one call along
// one path of decisions. Split over elaborator_*.cpp by what is evaluated.
#pragma once

#include <functional>
#include <initializer_list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spec/core/builder.h"
#include "spec/language/builtins.h"
#include "spec/language/elaborate.h"
#include "spec/language/values.h"

namespace ulpian::language {

struct ElaborationError {
  Diagnostic diagnostic;
};
// A condition on size symbols that nothing decides.
struct UndecidedCondition {
  core::TermId condition;
  std::string text;
  Place place;
};

// The deadline has passed, or somebody has cancelled; completes "elaborating X".
struct TimeIsUp {
  std::string what;
};

// What a hostile specification is held to, besides ElaborationLimits.
inline constexpr std::size_t MostListItems = 1u << 20, MostStringBytes = 1u << 20, MostShownBytes = 2000;
inline constexpr std::uint32_t MostListDepth = 64;
inline constexpr int MostOperatorDepth = 24;  // of operators that call operators

// Counts how deep something nests, also where errors leave it.
class DepthGuard {
public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

private:
  int& depth_;
};

class Elaborator {
public:
  Elaborator(const Specification& specification, const ElaborationLimits& limits, std::vector<bool> decisions = {}, Host* host = nullptr);

  core::Program run(const Call& call);

  // Static evaluation for the examples: settings and literals, outside any operator.
  Value evaluate_static(const OperatorDefinition& definition, const Expr* e);
  std::string show(const Value& v) const;  // cut where it gets too long to read
  Exact exact_of(const Value& v) const;

private:
  struct Context {
    const Environment* local = nullptr;
    const Scope* scope = nullptr;
    const SourceFile* file = nullptr;
  };
  using Values = std::vector<Value>;

  // The functions that one expression has called in its place (elaborator_calls.cpp), for messages; together they are one level of depth.
  struct TracedCall {
    std::string_view function;
    const SourceFile* file = nullptr;
    std::uint32_t line = 0;
  };
  class CallTrace {
  public:
    explicit CallTrace(Elaborator& e) : e_(e), first_(e.trace_.size()) {}
    ~CallTrace();
    CallTrace(const CallTrace&) = delete;
    CallTrace& operator=(const CallTrace&) = delete;
    void enter(const Context& c, Position at, const Closure& f);
    void note(Diagnostic& d) const;

  private:
    static constexpr std::size_t MostNotes = 6;
    Elaborator& e_;
    std::size_t first_;
  };

  // --- names and errors (elaborator.cpp)
  [[noreturn]] void fail(const Context& c, Position at, std::string message, ErrorKind kind = ErrorKind::Definition, std::string hint = {}) const;
  [[noreturn]] void fail_requirement(const Context& c, Position at, std::string message, ErrorKind kind = ErrorKind::Requirement) const;
  void step(const Context& c, Position at);
  // Fuel for work that no expression stands for; throws LimitReached where it is used up.
  void spend(std::size_t steps);
  void look_at_time();
  void allow_for(const Call& call);
  void append_shown(std::string& out, const Value& v) const;
  std::optional<Value> lookup_global(const Context& c, Symbol name);
  void mark(const Context& c, Position at);
  Value lookup(const Context& c, const Expr& e);
  const Environment* bind(const Environment* up, Symbol name, Value v) { return arena_.make<Environment>(name, v, up); }
  const Environment* bind_pattern(const Context& c, Position at, std::span<const Parameter> names, bool is_list, const Value& v, const Environment* up);
  std::string message(const Context& c, const Message& m);
  std::string describe_kind(const Value& v) const;
  Value list(std::span<const Value> items);
  Value number(const Exact& e);
  Value string(std::string s);

  // --- static numbers and element terms (elaborator_scalars.cpp)
  ElementType type_of(const Context& c, Position at, const Value& v);
  bool is_scalar_static(const Value& v) const { return v.is_number() || v.is(Tag::Bool) || v.is(Tag::String); }
  Value scalar(const Context& c, Position at, const Value& v);              // reads a rank-0 tensor; others pass
  core::TermId to(const Context& c, Position at, const Value& v, ElementType type);
  core::TermId to_term(const Context& c, Position at, const Value& v);      // at its own type
  ElementType join(const Context& c, Position at, std::span<const Value> xs);
  Value of_term(core::TermId t) const;                                      // constants of Z and bool become static values
  Value apply(const Context& c, Position at, Primitive p, std::span<const Value> arguments);
  Value apply_lists(const Context& c, Position at, Primitive p, std::span<const Value> arguments);
  Value apply_terms(const Context& c, Position at, Primitive p, std::span<const Value> arguments);
  Value equal(const Context& c, Position at, const Value& a, const Value& b);
  Value both(const Context& c, Position at, const Value& a, const Value& b, Primitive p);
  Value negation(const Context& c, Position at, const Value& a);
  Value select(const Context& c, Position at, core::TermId condition, const Value& a, const Value& b);
  std::optional<core::TermId> term_as(const Context& c, Position at, core::TermId t, ElementType type);
  std::optional<core::TermId> number_as(const Context& c, Position at, const Value& v, ElementType type);
  Value index(const Context& c, Position at, const Value& v);               // Integer or a Z term
  core::TermId index_term(const Context& c, Position at, const Value& v);
  Value read(const Context& c, Position at, core::TensorId t, std::span<const Value> index, const Value* otherwise, bool optional);
  std::optional<Value> read_known(const Context& c, Position at, core::TensorId t, std::span<const std::int64_t> place, const Value* otherwise);
  Value read_symbol(core::TensorId t, std::span<const std::int64_t> place);
  bool truth(const Context& c, Position at, const Value& v);
  bool is_symbolic(const Value& v) const;
  std::int64_t static_integer(const Context& c, Position at, const Value& v, std::string_view what);

  // --- static scalars (elaborator_static.cpp)
  Value apply_static(const Context& c, Position at, Primitive p, std::span<const Value> arguments);
  Value apply_to_conditions(const Context& c, Position at, Primitive p, std::span<const Value> xs);
  Value apply_text(const Context& c, Position at, Primitive p, std::span<const Value> arguments);
  void check_pattern(const Context& c, Position at, const Value& pattern);
  Value static_text(Primitive p, std::span<const Value> xs);
  Value apply_to_strings(const Context& c, Position at, Primitive p, std::span<const Value> xs);
  Value apply_to_number(const Context& c, Position at, Primitive p, const Value& x);
  Value apply_to_numbers(const Context& c, Position at, Primitive p, const Value& x, const Value& y);
  Value divide_static(const Context& c, Position at, Primitive p, const Value& x, const Value& y);

  // --- expressions (elaborator_expressions.cpp)
  Value eval(const Context& c, const Expr* e);
  Values items(const Context& c, std::span<const Expr* const> es);
  Value eval_ending(Context c, const Expr* e);
  Value eval_undecided_if(const Context& c, const Expr& e, const Value& condition);
  Value eval_symbolic_if(const Context& c, const Expr& e, core::TermId condition);
  std::optional<ElaborationError> eval_guarded(const Context& c, const Expr* e, core::TermId condition, bool holds, Value& out);
  void abandon_recurrences(std::size_t first_tensor);
  bool alike(const Value& a, const Value& b);
  core::TermId under_guards(core::TermId need);
  [[noreturn]] void too_deep(const Context& c, Position at) const;
  [[noreturn]] Value lone_splice(const Context& c, const Expr& e) const;
  [[noreturn]] void no_graph_here(const Context& c, const Expr& e) const;
  Value eval_lambda(const Context& c, const Expr& e);
  Value eval_unary(const Context& c, const Expr& e);
  Value eval_operator_name(const Context& c, const Expr& e);
  bool is_element(const Value& v) const { return is_scalar_static(v) || v.is(Tag::Term) || v.is(Tag::Tensor); }
  Value eval_append(const Context& c, const Expr& e, const Value& a, const Value& b);
  Value eval_binary(const Context& c, const Expr& e);
  Value eval_index(const Context& c, const Expr& e, const Value* otherwise, bool optional);
  Value index_value(const Context& c, Position at, const Value& v, std::span<const Value> index, const Value* otherwise, bool optional);
  Value index_string(const Context& c, Position at, const Value& v, const Value& index);
  Value index_list(const Context& c, Position at, const Value& v, std::span<const Value> index, const Value* otherwise, bool optional);
  // How a table of the program came about: static numbers or strings, and where they are read.
  struct Table {
    const ListData* items = nullptr;
    core::TermId index = core::None;
  };
  core::TermId table_as(const Context& c, Position at, const Table& table, ElementType type);
  std::optional<Value> choose_in_table(const Context& c, Position at, const Value& v, const Value& index);
  Value choose_between(const Context& c, Position at, const Value& v, std::size_t low, std::size_t high, const Value& index, std::span<const Value> rest,
                       const Value* otherwise, bool optional);
  Value choose_item(const Context& c, Position at, const Value& v, const Value& index, std::span<const Value> rest, const Value* otherwise, bool optional);
  Value eval_slice(const Context& c, const Expr& e);
  Value eval_list_for(const Context& c, const Expr& e);
  Value eval_or_else(const Context& c, const Expr& e);

  // --- binders, reductions and tensors (elaborator_binders.cpp)
  struct Bound {
    Context inner;
    std::vector<core::Variable> variables;
    std::vector<core::TermId> extents;
  };
  void need_few_axes(const Context& c, Position at, std::size_t n) const;
  Bound bind_indices(const Context& c, std::span<const Binder> binders);
  Value eval_reduce(const Context& c, const Expr& e);
  struct Reduction {
    core::ReduceKind kind;
    std::optional<ElementType> accumulator;
    ElementType type = ElementType::Z;
    std::vector<core::TermId> bodies;
  };
  void reduce_body(const Context& c, const Expr* body, Reduction& r);
  void dot_body(const Context& c, const Expr* body, Reduction& r);
  void sum_body(const Context& c, const Expr* body, Reduction& r);
  core::TermId condition_of(const Context& c, const Expr* e);              // None where it always holds
  std::optional<core::ScatterMode> scatter_mode(const Value& v) const;
  Value eval_accumulate(const Context& c, const Expr& e);
  Value eval_argsort(const Context& c, const Expr& e);
  Value eval_each(const Context& c, const Expr& e);
  Value eval_where(const Context& c, const Expr& e);
  Value eval_scatter(const Context& c, const Expr& e);
  Value eval_choice(const Context& c, const Expr& e);
  Value extent_value(core::TermId t) const;
  Value extents_of(core::TensorId t);

  // --- calls (elaborator_calls.cpp)
  Value call_other(const Context& c, const Expr& e, const Value& callee);
  Context called(const Context& c, Position at, const Closure& f, std::span<const Value> arguments);
  Value call_primitive(const Context& c, Position at, Primitive p, std::span<const Value> arguments);
  Value call_builtin(const Context& c, Position at, Builtin b, std::span<const Value> arguments);
  Value call_tensor_builtin(const Context& c, Position at, Builtin b, const Value& x);
  Value call_list_builtin(const Context& c, Position at, Builtin b, std::span<const Value> arguments);
  Value call_string_builtin(const Context& c, Position at, Builtin b, std::span<const Value> arguments);
  Value sorted(const Context& c, Position at, std::span<const Value> xs);
  Value values_of(const Context& c, Position at, core::TensorId t);
  Value cast_static(const Context& c, Position at, ElementType type, CastMode mode, const Value& x);
  Value exactly(const Context& c, Position at, std::span<const Value> arguments);
  Value reinterpreted(const Context& c, Position at, std::span<const Value> arguments);
  Value random(const Context& c, Position at, std::span<const Value> arguments);
  Value encoding(const Context& c, Position at, std::span<const Value> arguments);
  Value measured(const Context& c, Position at, const Value& x);
  Value to_integer(const Context& c, Position at, const Value& x);
  Value to_real(const Context& c, Position at, const Value& x);
  std::span<const Value> list_of(const Context& c, Position at, const Value& v);
  const std::string& string_of(const Context& c, Position at, const Value& v);
  Value call_type_builtin(const Context& c, Position at, Builtin b, std::span<const Value> arguments);
  Value call_element_builtin(const Context& c, Position at, Builtin b, std::span<const Value> arguments);
  Value eval_cast(const Context& c, Position at, std::span<const Value> arguments);
  Value call_operator(const Context& c, Position at, const OperatorReference& op, const Expr& e);
  void need(const Context& c, Position at, std::string_view name, std::span<const Value> arguments, std::size_t least, std::size_t most);
  ElementType type_argument(const Context& c, Position at, const Value& v);

  // --- definitions (elaborator_clauses.cpp)
  struct OutputState {
    const Clause* clause = nullptr;
    bool has_shape = false;
    Values shape;
    bool defined = false;
    Values values;  // one, or several of a variadic output
  };
  struct Application {
    Scope scope;
    Context context;
    const std::map<std::string, Value>* attributes = nullptr;
    std::vector<Value> inputs;
    std::size_t next_input = 0;
    std::vector<OutputState> outputs;
    std::vector<std::pair<Symbol, std::vector<ElementType>>> sets;
  };
  Values apply_operator(const OperatorDefinition& op, std::int64_t opset, const std::map<std::string, Value>& attributes, Values inputs,
                        std::size_t outputs);
  void clause(Application& a, const Clause& c);
  void dispatch_clause(Application& a, const Clause& c);
  void require_clause(Application& a, const Clause& c);
  void undefined_clause(Application& a, const Clause& c);
  void function_clause(Application& a, const Clause& c);
  Values results_of(Application& a);
  void set_results(std::span<const Value> results);
  void type_clause(Application& a, const Clause& c);
  void in_clause(Application& a, const Clause& c);
  void variadic_input(Application& a, const Clause& c);
  void take_extents(core::TensorId t);
  void input_elements(const Clause& c, core::TensorId t);
  Value checked_attribute(Application& a, const Clause& c, const Value& v);
  void equation_per_output(Application& a, const Clause& c, OutputState* out);
  void attribute_clause(Application& a, const Clause& c);
  void out_clause(Application& a, const Clause& c);
  void equation(Application& a, const Clause& c);
  void let(Application& a, const Clause& c);
  void recurrence(Application& a, const Clause& c);
  void match_type(Application& a, const Clause& c, ElementType type);
  void bind_extents(Application& a, const Clause& c, const Values& extents);
  std::optional<ElementType> named_type(const Application& a, Symbol name) const;
  void demand(const Context& c, Position at, const Value& condition, std::string text);
  void need_closed(const Context& c, Position at, core::TermId t);
  void need_rectangular(const Context& c, Position at, const Bound& bound);
  core::TensorId comprehension(const Context& c, Position at, std::string_view name, std::span<const Binder> binders, const Values* shape,
                               std::optional<ElementType> type, const Expr* body);
  core::TermId body_term(const Context& c, Position at, const Value& v, std::optional<ElementType> type);
  OutputState* output_named(Application& a, Symbol name);
  std::optional<ElementType> equation_type(Application& a, const Clause& c, const OutputState* out);
  void set_output(Application& a, OutputState& out, Position at, const Value& v);
  void set_outputs(Application& a, OutputState& out, Position at, const Value& v);
  core::TensorId stored_as(core::TensorId t, ElementType type, std::string_view name);
  void check_extents(Application& a, const OutputState& out, Position at, core::TensorId t);
  Bound bind_declared(const Context& c, Position at, std::string_view name, std::span<const Binder> binders, const Values& shape);
  struct Member {
    core::TensorId tensor;
    const Clause* clause;
    Context inner;
    ElementType type;
  };
  Member recurrence_member(Application& a, const Clause& rec, const Clause& e, const Bound& bound, Context inner, std::uint32_t group);
  Value literal_attribute(const Clause& c, const Tensor& t);
  Value dtype_attribute(const OperatorDefinition& op, const Clause& c, std::int64_t number);
  Value list_attribute(const OperatorDefinition& op, const Clause& c, const Attribute& a);
  [[noreturn]] void wrong_attribute(const OperatorDefinition& op, const Clause& c);
  std::map<std::string, Value> attribute_values(const OperatorDefinition& op, const Call& call);
  Value attribute_value(const OperatorDefinition& op, const Clause& c, const Attribute& a);

  // --- sequences, graphs and what a host decides (elaborator_graphs.cpp)
  Value sequence(std::span<const Value> tensors, ElementType type);
  std::uint32_t add_place(core::TensorId t);                                // a further input of the program
  core::TensorId add_input(const InputDescription& in);
  Value add_inputs(const InputDescription& in);                             // a tensor, a sequence, or absent
  Host& host_of(const Context& c, Position at);
  core::TensorId as_tensor(const Context& c, Position at, const Value& v);  // an element becomes a tensor of rank 0
  std::uint32_t place_of(const Context& c, Position at, core::TensorId t);  // of its value in the host's list
  HostArgument host_argument(const Context& c, Position at, const Value& v);
  Value call_graph(const Context& c, Position at, const Graph& graph, std::span<const Value> arguments);
  bool decides(core::TermId t) const;                                       // whether the host can tell this term's value
  Tensor decided(const Context& c, Position at, core::TermId t);
  Value result_type(const Context& c, Position at, std::span<const Value> arguments);  // what a graph declares of one of its results
  Value sequence_of(const Context& c, Position at, std::span<const Value> arguments);
  Value stacked(const Context& c, Position at, std::span<const Value> tensors);
  struct Trips;
  void sequence_input(Application& a, const Clause& c, const Value& v);
  void any_input(Application& a, const Clause& c, const Value& v);
  void loop(Application& a, const Clause& c);
  void abandon_input(std::uint32_t place);
  void loop_trip(Application& a, const Clause& c, Trips& trips);
  void loop_collect(Application& a, const Clause& c, const Trips& trips);
  void set_sequence(Application& a, OutputState& out, Position at, const Value& v);

  const Specification& spec_;
  ElaborationLimits limits_;
  core::Builder b_;
  Arena arena_;
  std::vector<bool> decisions_;
  std::vector<std::uint8_t> alternatives_;             // of static `one of`s
  std::size_t used_decisions_ = 0;
  std::vector<std::pair<core::TermId, bool>> path_;    // decided, or required
  std::vector<std::pair<core::TermId, bool>> guards_;  // of the symbolic `if`s around
  std::int64_t steps_ = 0, next_look_ = 0;
  int call_depth_ = 0;
  std::vector<TracedCall> trace_;
  int eval_depth_ = 0;
  int operator_depth_ = 0;
  std::vector<std::optional<Tensor>> known_;           // per tensor: the elements of a static input
  std::vector<bool> static_symbols_;                   // per tensor: an unknown static input, whose elements are size symbols
  std::map<std::string, core::Size> size_symbols_;
  std::unordered_map<core::TermId, Table> tables_;     // per term that reads one: what it may still become at another type
  std::unordered_map<std::uint64_t, std::uint32_t> places_;
  std::vector<std::string> result_names_;              // of the operator applied last
  Host* host_ = nullptr;
  std::unordered_map<core::TensorId, std::uint32_t> host_places_;  // of tensors whose value the host has
};

// The element types that a set's name stands for: "float", "numeric", "any", ..., or one type.
std::optional<std::vector<ElementType>> type_set(std::string_view name);
// The element type that a dialect's attribute numbers (ONNX: TensorProto.DataType).
std::optional<ElementType> element_type_numbered(std::string_view op, std::int64_t number);

}  // namespace ulpian::language
