#include "spec/language/names.h"

#include <unordered_set>

#include <fmt/format.h>

#include "spec/language/builtins.h"

namespace ulpian::language {
namespace {

class Names {
public:
  Names(const Specification& spec, const OperatorDefinition& definition) : spec_(spec), d_(definition) {}

  std::optional<Diagnostic> missing() {
    for (const Clause& c : d_.clauses) bind(c);
    for (const Clause& c : d_.clauses) {
      use(c);
      if (found_) return found_;
    }
    for (const Clause& c : d_.clauses)
      if (c.kind == ClauseKind::Out && !c.optional && !given_.contains(c.name))
        return diagnose(*d_.file, c.at, ErrorKind::Definition, fmt::format("the output {} is not defined", spec_.symbols().name(c.name)));
    return std::nullopt;
  }

private:
  void bind(Symbol s) {
    if (s != NoSymbol) bound_.insert(s);
  }
  void bind(const Parameter& p) { bind(p.name); }
  void bind(const Binder& b) {
    bind(b.name);
    bind(b.bound);
  }
  void bind(const Expr* e) {
    if (!e) return;
    // Of lists, sums and accumulations, the symbol is what they bind; of names, what they use.
    if (e->kind == ExprKind::ListFor || e->kind == ExprKind::Accumulate) bind(e->symbol);
    for (const Binder& b : e->binders) bind(b);
    for (const Parameter& p : e->parameters) bind(p);
    for (const GraphNode& n : e->nodes) {
      for (const Parameter& p : n.outputs) bind(p);
      bind(n.call);
    }
    for (const Expr* a : e->args) bind(a);
    for (const NamedArgument& n : e->named) bind(n.value);
  }
  // The extents of an input name what they are.
  void bind_names_in(const Expr* e) {
    if (!e) return;
    if (e->kind == ExprKind::Name) bind(e->symbol);
    for (const Expr* a : e->args) bind_names_in(a);
  }
  void bind(const Clause& c) {
    bind(c.name);
    bind(c.each);
    bind(c.counter);
    bind(c.collect);
    for (const Expr* e : c.extents) {
      if (c.kind == ClauseKind::In) bind_names_in(e);
      bind(e);
    }
    if (c.kind != ClauseKind::Out && c.kind != ClauseKind::In) given_.insert(c.name);
    for (const Parameter& p : c.pattern) {
      bind(p);
      given_.insert(p.name);
    }
    for (const auto& [p, start] : c.state) {
      bind(p);
      given_.insert(p.name);
      bind(start);
    }
    given_.insert(c.collect);
    for (const Binder& b : c.binders) bind(b);
    for (const Clause& i : c.inner) bind(i);
    for (const Expr* e : {c.value, c.when, c.each_count, c.list_length}) bind(e);
    for (const Expr* e : c.message.values) bind(e);
    if (c.function) {
      bind(c.function->name);
      for (const Parameter& p : c.function->parameters) bind(p);
      bind(c.function->body);
    }
  }

  void fail(Position at, std::string message, std::string hint) {
    if (found_) return;
    found_ = diagnose(*d_.file, at, ErrorKind::Definition, std::move(message));
    found_->hint = std::move(hint);
  }
  void use(Symbol s, Position at) {
    const std::string& name = spec_.symbols().name(s);
    // What every definition knows of its call (elaborate.cpp).
    if (name == "opset" || name == "version" || name == "outputs") return;
    if (bound_.contains(s) || d_.file->functions_by_name.contains(s) || spec_.prelude_function(s) || builtin_named(name)) return;
    fail(at, fmt::format("{} is not defined", name), "names are used after they are defined, or come from the prelude");
  }
  void use(const Expr* e) {
    if (!e || found_) return;
    if (e->kind == ExprKind::Name) use(e->symbol, e->at);
    if (e->kind == ExprKind::OperatorName && !spec_.has(e->text)) fail(e->at, fmt::format("the operator {} is not defined", e->text), "");
    for (const Binder& b : e->binders) use(b.bound);
    for (const GraphNode& n : e->nodes) use(n.call);
    for (const Expr* a : e->args) use(a);
    for (const NamedArgument& n : e->named) use(n.value);
    if (e->message)
      for (const Expr* v : e->message->values) use(v);
  }
  void use(const Clause& c) {
    if (c.kind == ClauseKind::Example) return;  // they are read when they are run
    for (const Expr* e : c.extents) use(e);
    for (const Binder& b : c.binders) use(b.bound);
    for (const auto& [p, start] : c.state) use(start);
    for (const Clause& i : c.inner) use(i);
    for (const Expr* e : {c.value, c.when, c.each_count, c.list_length}) use(e);
    for (const Expr* e : c.message.values) use(e);
    if (c.function) use(c.function->body);
  }

  const Specification& spec_;
  const OperatorDefinition& d_;
  std::unordered_set<Symbol> bound_, given_;
  std::optional<Diagnostic> found_;
};

}  // namespace

std::optional<Diagnostic> missing_name(const Specification& specification, const OperatorDefinition& definition) { return Names(specification, definition).missing(); }

}  // namespace ulpian::language
