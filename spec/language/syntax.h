// The syntax tree of a specification file. Immutable once parsed; nodes live in the arena of their `SourceFile`.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/numbers/exact.h"

namespace ulpian::language {

// An interned name.
using Symbol = std::uint32_t;
inline constexpr Symbol NoSymbol = 0;

// Names to numbers and back. Safe to use from several threads: files are parsed when they are first needed.
class SymbolTable {
public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;
  Symbol intern(std::string_view name);
  Symbol find(std::string_view name) const;  // NoSymbol if it was never interned
  const std::string& name(Symbol s) const { return chunks_[s / ChunkSize].load(std::memory_order_acquire)[s % ChunkSize]; }

private:
  // Chunks never move, so that a name is read without a lock.
  static constexpr std::size_t ChunkSize = 1024, MostChunks = 1024;
  std::array<std::atomic<std::string*>, MostChunks> chunks_{};
  std::size_t size_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<std::string_view, Symbol> ids_;
};

struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

enum class Operator : std::uint8_t {
  Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Quotient, Remainder, Power, Append,
  Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, And, Or, Not, Negate,
};
std::string_view spelling(Operator op);

enum class ExprKind : std::uint8_t {
  Number,         // number; text is its spelling
  String,         // text
  Name,           // symbol
  List,           // [args] or (args) with several items
  ListFor,        // [args[0] for symbol in args[1] (or < args[1]: counts) if args[2]]
  Lambda,         // fn(parameters) = args[0]
  If,             // args: condition, then, else
  Let,            // let pattern = args[0] in args[1]
  Unary,          // op args[0]
  Binary,         // args[0] op args[1]
  OperatorName,   // dialect.Name@version: text is the qualified name
  Slice,          // args[0][args[1] : args[2]], either may be null
  Index,          // args[0][args[1...]]
  OrElse,         // args[0] (an Index) else args[1]; flag `optional` for `else e?`
  Call,           // args[0](args[1...]); named arguments in `named`
  Splice,         // args[0]...
  Reduce,         // symbol is the kind; type args[0] or null, filter args[1] or null, initial args[2] or null, body args[3] or null
  Accumulate,     // binders; symbol is the accumulator; args: initial, body
  Each,           // binders; args: body
  Where,          // binders; args: condition
  ArgSort,        // binders (one); args: place, key, descending-when or null; flag `descending`
  Scatter,        // binders; args: filter or null, value, index, base, mode or null
  OneOf,          // args: alternatives
  WithinBody,     // args: function, body
  Graph,          // parameters: the inputs; nodes; args: what it gives
};

struct Expr;

struct Parameter {
  Symbol name = NoSymbol;
  bool pack = false;
};

struct Binder {
  Symbol name = NoSymbol;
  bool pack = false;
  const Expr* bound = nullptr;  // null where the declared output gives it
  Position at;
};

struct NamedArgument {
  Symbol name = NoSymbol;
  const Expr* value = nullptr;
};

// Text with {expressions}; literals.size() == values.size() + 1.
struct Message {
  std::vector<std::string> literals;
  std::vector<const Expr*> values;
  bool empty() const { return literals.empty(); }
};

// One call inside a graph: the names of its results, and the call.
struct GraphNode {
  std::vector<Parameter> outputs;
  const Expr* call = nullptr;
};

struct Expr {
  ExprKind kind = ExprKind::Number;
  Operator op = Operator::Add;
  bool optional = false;          // OrElse, Reduce (its filter): `?`
  bool descending = false;        // ArgSort
  bool counts = false;            // ListFor: `for i < n`
  bool decimal = false;           // Number: written with a point or an exponent (then -0.0 is a negative zero; -0 is 0)
  bool pack_pattern = false;      // Let: the pattern is a list
  Position at;
  Symbol symbol = NoSymbol;
  std::int64_t version = 0;       // OperatorName: @version, or 0
  std::vector<const Expr*> args;
  std::vector<Binder> binders;
  std::vector<Parameter> parameters;  // Lambda, Let, Graph
  std::vector<NamedArgument> named;   // Call; Graph: per arg the declared type and its extents (a List, or null)
  std::vector<GraphNode> nodes;       // Graph
  std::string text;
  Exact number;
  std::unique_ptr<Message> message;   // String used as a message
};

// A function of a file or of a definition.
struct Function {
  Symbol name = NoSymbol;
  std::vector<Parameter> parameters;
  const Expr* body = nullptr;
  Position at;
};

enum class ClauseKind : std::uint8_t { Doc, Type, In, Attribute, Out, Require, Undefined, Unordered, Function, Equation, Let, Recurrence, Loop, Example };
enum class AttributeKind : std::uint8_t { Int, Float, Bool, String, Dtype, Tensor, Graph };

struct TypeSet {
  std::int64_t before = 0;  // 0: the set of all other versions
  std::vector<Symbol> names;
};

// What an example says of an output: it is this; within one unit of the last digit; the definition admits this; it admits none of this.
enum class ExampleRelation : std::uint8_t { Equals, About, Allows, Forbids };

struct ExampleValue {
  Symbol name = NoSymbol;
  ExampleRelation relation = ExampleRelation::Equals;
  const Expr* value = nullptr;
};

struct Clause {
  ClauseKind kind = ClauseKind::Doc;
  Position at;
  Symbol name = NoSymbol;           // Type, In, Attribute, Out, Function, Equation
  // In, Out
  bool variadic = false;
  bool optional = false;            // Attribute too
  bool sequence = false;
  bool any_kind = false;            // `value`: a tensor, a sequence, or nothing
  bool is_static = false;
  bool is_rounded = false;  // In: never read wider than its type
  bool has_extents = false;
  Symbol type = NoSymbol;           // Equation: its declared type or none
  std::vector<const Expr*> extents;
  Symbol each = NoSymbol;           // Out: `for q < n`; Equation: y[q][...]
  const Expr* each_count = nullptr;
  // Type
  std::vector<TypeSet> sets;
  // Attribute
  AttributeKind attribute_kind = AttributeKind::Int;
  bool is_list = false;
  const Expr* list_length = nullptr;
  std::vector<std::string> choices;
  // Attribute: default; Require, Undefined: condition; Unordered: axis; Equation, Let: right side; Loop: the state after a trip
  const Expr* value = nullptr;
  const Expr* when = nullptr;       // Unordered; Loop: while
  Message message;                  // Require, Undefined
  std::string text;                 // Doc
  const Function* function = nullptr;
  std::vector<Binder> binders;      // Equation, Recurrence
  std::vector<Parameter> pattern;   // Let, Loop
  bool pack_pattern = false;        // Let: the pattern is a list
  std::vector<Clause> inner;        // Recurrence: its equations
  Symbol counter = NoSymbol;        // Loop
  std::vector<std::pair<Parameter, const Expr*>> state;  // Loop
  Symbol collect = NoSymbol;        // Loop
  // Example
  std::vector<NamedArgument> settings;
  std::vector<ExampleValue> values;
  bool expects_error = false;
  bool expects_undefined = false;
  std::string reason;               // what the message of the refusal, or of the undefined condition, says
};

struct OperatorDefinition {
  std::string name;                 // "onnx.Conv"
  std::vector<std::int64_t> since;  // newest first; empty: one version, 1
  std::vector<Clause> clauses;
  Position at;
  const struct SourceFile* file = nullptr;
};

struct SourceFile {
  std::string path;                 // for messages
  std::string text;
  std::deque<Expr> exprs;
  std::deque<Function> functions;
  std::deque<OperatorDefinition> operators;
  std::unordered_map<Symbol, const Function*> functions_by_name;
  std::uint32_t index = 0;          // in its Specification
  bool user = false;                // given with --spec: its operators come before shipped ones
  std::string line(std::uint32_t number) const;
};

Diagnostic diagnose(const SourceFile& file, Position at, ErrorKind kind, std::string message);

// Parses a whole file. The syntax is docs/language.md's.
Result<std::unique_ptr<SourceFile>> parse(std::string path, std::string text, SymbolTable& symbols);

}  // namespace ulpian::language
