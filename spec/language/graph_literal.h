// A graph as an example writes it: graph(x, n) { y = onnx.Add(x, x) } gives (y: f32[2], n). Private to spec/language.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "spec/language/specification.h"
#include "spec/core/graph.h"

namespace ulpian::language {

// Makes the graph that an expression writes. Names that it doesn't bind are captured from the graph around.
class GraphLiteral {
public:
  using AttributeOf = std::function<Attribute(const Clause& attribute, const Expr* value)>;
  GraphLiteral(const Specification& specification, const SourceFile& file, std::int64_t version, AttributeOf attribute)
      : spec_(specification), file_(file), version_(version), attribute_(std::move(attribute)) {}

  std::shared_ptr<const Graph> graph_of(const Expr* e);  // throws ElaborationError

private:
  struct Names {
    Graph* graph = nullptr;
    Names* around = nullptr;
    std::unordered_map<Symbol, ValueId> known;
  };
  std::shared_ptr<const Graph> graph_of(const Expr* e, Names* around);
  ValueId make(Names& names, Symbol symbol, Position at);
  ValueId value(Names& names, const Expr* e);
  Node node(Names& names, const GraphNode& of);
  void declare(GraphValue& v, Position at, const NamedArgument& declared) const;
  [[noreturn]] void fail(Position at, std::string message) const;

  const Specification& spec_;
  const SourceFile& file_;
  std::int64_t version_;
  AttributeOf attribute_;
};

}  // namespace ulpian::language
