// Recursive descent over tokens. Private to spec/language; errors inside are thrown as `ParseError` and leave as a Diagnostic.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "spec/language/cursor.h"
#include "spec/language/syntax.h"

namespace ulpian::language {

class Parser : public Cursor {
public:
  Parser(SourceFile& file, SymbolTable& symbols, std::vector<Token> tokens) : Cursor(file, std::move(tokens)), file_(file), symbols_(symbols) {}

  void parse_file();
  const Expr* expression();   // also of the text inside a message's braces

private:
  Symbol name(std::string_view what = "a name");
  std::int64_t integer(std::string_view what);

  // --- files and clauses (parser_clauses.cpp)
  void operator_definition();
  const Function* function();
  std::vector<Parameter> parameters();  // after "("
  Clause clause();
  void type_clause(Clause& c);
  void kind_of_value(Clause& c);
  void in_clause(Clause& c);
  void attribute_clause(Clause& c);
  void out_clause(Clause& c);
  void loop_clause(Clause& c);
  void example_clause(Clause& c);
  void recurrence_clause(Clause& c);
  Clause equation();
  void condition_clause(Clause& c);
  bool pattern(std::vector<Parameter>& out);  // whether it is a list pattern
  Message message(const std::string& text, Position at_position);

  // --- expressions (parser_expressions.cpp)
  Expr& make(ExprKind kind, Position at_position);
  const Expr* binary(Operator op, Position at_position, const Expr* a, const Expr* b);
  const Expr* or_();
  const Expr* and_();
  const Expr* not_();
  const Expr* comparison();
  const Expr* sum();
  const Expr* product();
  const Expr* unary();
  const Expr* postfix();
  const Expr* index(const Expr* of, Position at_position);
  const Expr* call(const Expr* callee, Position at_position);
  const Expr* primary();
  const Expr* named_form(Position at_position);
  bool reduction_follows(std::string_view word) const;
  const Expr* lambda(Position at_position);
  bool graph_follows() const;
  const Expr* graph(Position at_position);
  NamedArgument declared();
  const Expr* comprehension(ExprKind kind, Position at_position);
  const Expr* one_of(Position at_position);
  const Expr* list(Position at_position);
  const Expr* reduce(Position at_position, Symbol kind);
  const Expr* accumulate(Position at_position);
  const Expr* argsort(Position at_position);
  const Expr* scatter(Position at_position);
  const Expr* item();
  std::vector<const Expr*> items(std::string_view close);
  // Binders up to `close`, `if` or `from`.
  std::vector<Binder> binders(std::string_view close);
  Binder binder();
  bool binder_follows(std::size_t ahead) const;

  // An expression inside brackets: `else` belongs to reads again.
  template <typename F> auto inside(F f) {
    const bool old = no_else_;
    no_else_ = false;
    auto result = f();
    no_else_ = old;
    return result;
  }

  class Depth;
  SourceFile& file_;
  SymbolTable& symbols_;
  int depth_ = 0;
  bool no_else_ = false;  // between `then` and its `else`
};

}  // namespace ulpian::language
