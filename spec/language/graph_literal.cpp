#include "spec/language/graph_literal.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/language/elaborator.h"

namespace ulpian::language {

void GraphLiteral::fail(Position at, std::string message) const {
  throw ElaborationError{diagnose(file_, at, ErrorKind::Definition, std::move(message))};
}

ValueId GraphLiteral::make(Names& names, Symbol symbol, Position at) {
  if (names.known.contains(symbol)) fail(at, fmt::format("{} is defined twice in this graph", spec_.symbols().name(symbol)));
  const auto id = static_cast<ValueId>(names.graph->values.size());
  names.graph->values.emplace_back().name = spec_.symbols().name(symbol);
  names.known[symbol] = id;
  return id;
}

ValueId GraphLiteral::value(Names& names, const Expr* e) {
  if (e->kind != ExprKind::Name) fail(e->at, "inside a graph values go by their names");
  if (auto it = names.known.find(e->symbol); it != names.known.end()) return it->second;
  const std::string& name = spec_.symbols().name(e->symbol);
  if (name == "absent") return AbsentValue;
  if (!names.around) fail(e->at, fmt::format("{} is no value of this graph", name));
  value(*names.around, e);
  const ValueId id = make(names, e->symbol, e->at);
  names.graph->captured.emplace_back(id, name);
  return id;
}

Node GraphLiteral::node(Names& names, const GraphNode& of) {
  const Expr& callee = *of.call->args[0];
  Node out;
  out.op = callee.text;
  out.version = callee.version ? callee.version : version_;
  out.position = static_cast<std::int32_t>(names.graph->nodes.size());
  const OperatorDefinition* definition = spec_.find(out.op, out.version);
  if (!definition) fail(callee.at, fmt::format("no definition of {} at version {}", out.op, out.version));
  for (const Expr* e : std::span(of.call->args).subspan(1)) out.inputs.push_back(value(names, e));
  for (const NamedArgument& n : of.call->named) {
    const auto it = std::find_if(definition->clauses.begin(), definition->clauses.end(), [&](const Clause& k) { return k.kind == ClauseKind::Attribute && k.name == n.name; });
    const std::string& name = spec_.symbols().name(n.name);
    if (it == definition->clauses.end()) fail(of.call->at, fmt::format("{} has no attribute {}", out.op, name));
    if (it->attribute_kind == AttributeKind::Graph) out.attributes.emplace(name, graph_of(n.value, &names));
    else out.attributes.emplace(name, attribute_(*it, n.value));
  }
  return out;
}

void GraphLiteral::declare(GraphValue& v, Position at, const NamedArgument& declared) const {
  const std::string& type = spec_.symbols().name(declared.name);
  if (v.type) fail(at, fmt::format("the type of {} is declared twice", v.name));
  v.type = element_type_named(type);
  if (!v.type) fail(at, fmt::format("{} is no element type", type));
  if (!declared.value) return;
  v.extents.emplace();
  for (const Expr* n : declared.value->args) {
    const auto extent = n->kind == ExprKind::Number ? n->number.to_int64() : std::nullopt;
    if (!extent || *extent < 0) fail(n->at, "an extent that a graph declares is a number");
    v.extents->push_back({*extent, {}});
  }
}

std::shared_ptr<const Graph> GraphLiteral::graph_of(const Expr* e) { return graph_of(e, nullptr); }

std::shared_ptr<const Graph> GraphLiteral::graph_of(const Expr* e, Names* around) {
  if (e->kind != ExprKind::Graph) fail(e->at, "a graph is needed: graph(x) { y = onnx.Add(x, x) } gives (y)");
  auto graph = std::make_shared<Graph>();
  graph->name = "example";
  graph->source = fmt::format("{}:{}", file_.path, e->at.line);
  Names names{graph.get(), around, {}};
  for (const Parameter& p : e->parameters) graph->inputs.push_back(make(names, p.name, e->at));
  for (const GraphNode& n : e->nodes) {
    Node made = node(names, n);
    for (const Parameter& p : n.outputs) made.outputs.push_back(make(names, p.name, n.call->at));
    graph->nodes.push_back(std::move(made));
  }
  for (std::size_t k = 0; k < e->args.size(); ++k) {
    const ValueId id = value(names, e->args[k]);
    if (id == AbsentValue) fail(e->args[k]->at, "a graph gives values, not what is absent");
    graph->outputs.push_back(id);
    if (e->named[k].name != NoSymbol) declare(graph->values[static_cast<std::size_t>(id)], e->args[k]->at, e->named[k]);
  }
  return graph;
}

}  // namespace ulpian::language
