#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "spec/language/parser.h"

namespace ulpian::language {
namespace {

constexpr int MaxDepth = 200;
constexpr std::array<std::string_view, 10> ReduceNames{"sum", "dot", "prod", "max", "min", "any", "all", "count", "argmax", "argmin"};
// Words that never name a bound index.
constexpr std::array<std::string_view, 15> Reserved{"if", "then", "else", "let", "in", "and", "or", "not", "div", "mod", "quot", "rem", "for", "fn", "within"};

bool is_one_of(std::string_view text, const auto& list) { return std::find(list.begin(), list.end(), text) != list.end(); }

struct Spelled {
  std::string_view text;
  Operator op;
};
constexpr std::array<Spelled, 6> Comparisons{{{"==", Operator::Equal}, {"!=", Operator::NotEqual}, {"<", Operator::Less},
                                              {"<=", Operator::LessEqual}, {">", Operator::Greater}, {">=", Operator::GreaterEqual}}};
constexpr std::array<Spelled, 3> Sums{{{"+", Operator::Add}, {"-", Operator::Subtract}, {"++", Operator::Append}}};
constexpr std::array<Spelled, 6> Products{{{"*", Operator::Multiply}, {"/", Operator::Divide}, {"div", Operator::FloorDivide},
                                           {"mod", Operator::Modulo}, {"quot", Operator::Quotient}, {"rem", Operator::Remainder}}};

}  // namespace

class Parser::Depth {
public:
  explicit Depth(Parser& p) : p_(p) {
    if (++p_.depth_ > MaxDepth) p_.fail("a simpler expression", fmt::format("expressions nest at most {} levels deep (about 100 brackets): name a part of it", MaxDepth));
  }
  ~Depth() { --p_.depth_; }

private:
  Parser& p_;
};

Expr& Parser::make(ExprKind kind, Position at_position) {
  Expr& e = file_.exprs.emplace_back();
  e.kind = kind;
  e.at = at_position;
  return e;
}

const Expr* Parser::binary(Operator op, Position at_position, const Expr* a, const Expr* b) {
  Expr& e = make(ExprKind::Binary, at_position);
  e.op = op;
  e.args = {a, b};
  return &e;
}

const Expr* Parser::expression() {
  Depth depth(*this);
  const Position here = peek().at;
  const Expr* result = nullptr;
  if (take("if")) {
    const Expr* c = expression();
    expect("then");
    const bool old = no_else_;
    no_else_ = true;
    const Expr* a = expression();
    no_else_ = old;
    expect("else");
    const Expr* b = expression();
    Expr& e = make(ExprKind::If, here);
    e.args = {c, a, b};
    result = &e;
  } else if (take("let")) {
    std::vector<Parameter> names;
    const bool is_list = pattern(names);
    expect("=");
    const Expr* value = inside([&] { return expression(); });
    expect("in");
    const Expr* body = expression();
    Expr& e = make(ExprKind::Let, here);
    e.parameters = std::move(names);
    e.pack_pattern = is_list;
    e.args = {value, body};
    result = &e;
  } else {
    result = or_();
  }
  if (at("within") && at("body", 1)) {
    next();
    next();
    expect("(");
    const Expr* body = inside([&] { return expression(); });
    expect(")");
    Expr& e = make(ExprKind::WithinBody, here);
    e.args = {result, body};
    result = &e;
  }
  return result;
}

const Expr* Parser::or_() {
  const Expr* e = and_();
  while (at("or")) {
    const Position here = next().at;
    e = binary(Operator::Or, here, e, and_());
  }
  return e;
}

const Expr* Parser::and_() {
  const Expr* e = not_();
  while (at("and")) {
    const Position here = next().at;
    e = binary(Operator::And, here, e, not_());
  }
  return e;
}

const Expr* Parser::not_() {
  if (!at("not")) return comparison();
  Depth depth(*this);
  const Position here = next().at;
  const Expr* a = not_();
  Expr& e = make(ExprKind::Unary, here);
  e.op = Operator::Not;
  e.args = {a};
  return &e;
}

const Expr* Parser::comparison() {
  const Expr* left = sum();
  const Expr* chain = nullptr;
  while (true) {
    auto it = std::find_if(Comparisons.begin(), Comparisons.end(), [&](const Spelled& s) { return at(s.text); });
    if (it == Comparisons.end()) break;
    const Position here = next().at;
    const Expr* right = sum();
    const Expr* one = binary(it->op, here, left, right);
    chain = chain ? binary(Operator::And, here, chain, one) : one;
    left = right;
  }
  return chain ? chain : left;
}

const Expr* Parser::sum() {
  const Expr* e = product();
  while (true) {
    auto it = std::find_if(Sums.begin(), Sums.end(), [&](const Spelled& s) { return at(s.text); });
    if (it == Sums.end()) return e;
    const Position here = next().at;
    e = binary(it->op, here, e, product());
  }
}

const Expr* Parser::product() {
  const Expr* e = unary();
  while (true) {
    auto it = std::find_if(Products.begin(), Products.end(), [&](const Spelled& s) { return at(s.text); });
    if (it == Products.end()) return e;
    const Position here = next().at;
    e = binary(it->op, here, e, unary());
  }
}

const Expr* Parser::unary() {
  Depth depth(*this);
  if (at("-")) {
    const Position here = next().at;
    const Expr* a = unary();
    Expr& e = make(ExprKind::Unary, here);
    e.op = Operator::Negate;
    e.args = {a};
    return &e;
  }
  const Expr* e = postfix();
  if (at("**")) {
    const Position here = next().at;
    return binary(Operator::Power, here, e, unary());
  }
  return e;
}

const Expr* Parser::postfix() {
  const Expr* e = primary();
  while (true) {
    const Token& t = peek();
    if (t.first_on_line && (t.text == "(" || t.text == "[")) return e;
    if (at("(")) {
      next();
      e = call(e, t.at);
    } else if (at("[")) {
      const Position here = next().at;
      e = inside([&] { return index(e, here); });
    } else if (at(".") && e->kind == ExprKind::Name) {
      next();
      std::string qualified = symbols_.name(e->symbol);
      const Position here = e->at;
      qualified += "." + symbols_.name(name("an operator's name"));
      while (take(".")) qualified += "." + symbols_.name(name("an operator's name"));
      Expr& o = make(ExprKind::OperatorName, here);
      o.text = std::move(qualified);
      if (take("@")) o.version = integer("an opset version");
      e = &o;
    } else if (at("else") && !no_else_ && (e->kind == ExprKind::Index || e->kind == ExprKind::OrElse)) {
      const Position here = next().at;
      const Expr* other = unary();
      Expr& o = make(ExprKind::OrElse, here);
      o.optional = take("?");
      // `a else b else c` is a else (b else c).
      if (e->kind == ExprKind::OrElse) {
        Expr& inner = make(ExprKind::OrElse, here);
        inner.optional = o.optional;
        inner.args = {e->args[1], other};
        o.optional = e->optional;
        o.args = {e->args[0], &inner};
      } else {
        o.args = {e, other};
      }
      e = &o;
    } else {
      return e;
    }
  }
}

const Expr* Parser::index(const Expr* of, Position at_position) {
  auto slice = [&](const Expr* low) -> const Expr* {
    const Expr* high = at("]") ? nullptr : expression();
    expect("]");
    Expr& e = make(ExprKind::Slice, at_position);
    e.args = {of, low, high};
    return &e;
  };
  if (take(":")) return slice(nullptr);
  std::vector<const Expr*> all{of};
  while (!take("]")) {
    const Expr* x = item();
    if (all.size() == 1 && take(":")) return slice(x);
    all.push_back(x);
    if (!take(",") && !at("]")) fail("',' or ']'");
  }
  Expr& e = make(ExprKind::Index, at_position);
  e.args = std::move(all);
  return &e;
}

const Expr* Parser::call(const Expr* callee, Position at_position) {
  std::vector<const Expr*> args{callee};
  std::vector<NamedArgument> named;
  inside([&] {
    while (!take(")")) {
      if (peek().kind == TokenKind::Name && peek(1).kind == TokenKind::Punctuation && peek(1).text == "=") {
        NamedArgument n;
        n.name = name();
        next();
        n.value = expression();
        named.push_back(n);
      } else {
        args.push_back(item());
      }
      if (!take(",") && !at(")")) fail("',' or ')'");
    }
    return 0;
  });
  if (callee->kind == ExprKind::Name && symbols_.name(callee->symbol) == "refuse" && args.size() == 2 && args[1]->kind == ExprKind::String) {
    Expr& text = make(ExprKind::String, args[1]->at);
    text.text = args[1]->text;
    text.message = std::make_unique<Message>(message(text.text, text.at));
    args[1] = &text;
  }
  Expr& e = make(ExprKind::Call, at_position);
  e.args = std::move(args);
  e.named = std::move(named);
  return &e;
}

const Expr* Parser::item() {
  const Expr* e = expression();
  if (!at("...")) return e;
  const Position here = next().at;
  Expr& s = make(ExprKind::Splice, here);
  s.args = {e};
  return &s;
}

std::vector<const Expr*> Parser::items(std::string_view close) {
  std::vector<const Expr*> out;
  while (!take(close)) {
    out.push_back(item());
    if (!take(",") && !at(close)) fail(fmt::format("',' or '{}'", close));
  }
  return out;
}

const Expr* Parser::primary() {
  const Token& t = peek();
  switch (t.kind) {
    case TokenKind::Number: {
      Expr& e = make(ExprKind::Number, t.at);
      auto value = Exact::parse(t.text);
      if (!value) fail("a number of a sensible size");
      e.number = *value;
      e.decimal = t.text.find_first_of(".eE") != std::string_view::npos && t.text.substr(0, 2) != "0x";
      e.text = t.text;
      next();
      return &e;
    }
    case TokenKind::String: {
      Expr& e = make(ExprKind::String, t.at);
      e.text = string();
      return &e;
    }
    case TokenKind::Punctuation: {
      if (take("(")) {
        auto xs = inside([&] { return items(")"); });
        if (xs.size() == 1 && xs[0]->kind != ExprKind::Splice) return xs[0];
        Expr& e = make(ExprKind::List, t.at);
        e.args = std::move(xs);
        return &e;
      }
      if (take("[")) return inside([&] { return list(t.at); });
      fail("an expression");
    }
    case TokenKind::Name: return named_form(t.at);
    case TokenKind::End: fail("an expression");
  }
  ensure(false);
}

const Expr* Parser::list(Position at_position) {
  std::vector<const Expr*> out;
  while (!take("]")) {
    const Expr* x = item();
    if (out.empty() && take("for")) {
      Expr& e = make(ExprKind::ListFor, at_position);
      e.symbol = name();
      if (take("<")) {
        e.counts = true;
        e.args = {x, sum()};
      } else {
        expect("in");
        e.args = {x, or_()};
      }
      e.args.push_back(take("if") ? expression() : nullptr);
      expect("]");
      return &e;
    }
    out.push_back(x);
    if (!take(",") && !at("]")) fail("',' or ']'");
  }
  Expr& e = make(ExprKind::List, at_position);
  e.args = std::move(out);
  return &e;
}

bool Parser::binder_follows(std::size_t ahead) const {
  const Token& n = peek(ahead);
  if (n.kind != TokenKind::Name || is_one_of(n.text, Reserved)) return false;
  return at("...", ahead + 1) ? at("<", ahead + 2) : at("<", ahead + 1);
}

Binder Parser::binder() {
  Binder b;
  b.at = peek().at;
  b.name = name("an index");
  b.pack = take("...");
  if (take("<")) {
    b.bound = inside([&] { return sum(); });
    take("...");
  }
  return b;
}

std::vector<Binder> Parser::binders(std::string_view close) {
  std::vector<Binder> out;
  while (!take(close)) {
    if (at("if") || at("from")) return out;
    out.push_back(binder());
    if (!take(",") && !at(close) && !at("if") && !at("from")) fail(fmt::format("',' or '{}'", close));
  }
  return out;
}

const Expr* Parser::reduce(Position at_position, Symbol kind) {
  Expr& e = make(ExprKind::Reduce, at_position);
  e.symbol = kind;
  const Expr* type = nullptr;
  if (take("[")) {
    type = inside([&] { return expression(); });
    expect("]");
  }
  expect("(");
  const Expr *filter = nullptr, *initial = nullptr;
  inside([&] {
    e.binders = binders(")");
    bool open = at("if") || at("from");
    if (open && take("if")) {
      filter = expression();
      e.optional = take("?");
    }
    if (open && take("from")) initial = expression();
    if (open) expect(")");
    return 0;
  });
  const std::string& k = symbols_.name(kind);
  const Expr* body = k == "count" ? nullptr : k == "any" || k == "all" ? not_() : product();
  e.args = {type, filter, initial, body};
  return &e;
}

const Expr* Parser::accumulate(Position at_position) {
  expect("(");
  std::vector<Binder> bound;
  while (binder_follows(0)) {
    bound.push_back(binder());
    expect(",");
  }
  const Symbol accumulator = name("the accumulator's name");
  expect("=");
  const Expr* initial = inside([&] { return expression(); });
  expect(")");
  const Expr* body = product();
  Expr& e = make(ExprKind::Accumulate, at_position);
  e.binders = std::move(bound);
  e.symbol = accumulator;
  e.args = {initial, body};
  return &e;
}

const Expr* Parser::argsort(Position at_position) {
  expect("(");
  Binder b = binder();
  expect(",");
  expect("at");
  const Expr* place = inside([&] { return expression(); });
  expect(")");
  const Expr* key = product();
  Expr& e = make(ExprKind::ArgSort, at_position);
  e.binders = {b};
  const Expr* when = nullptr;
  if (take("descending")) {
    e.descending = true;
    if (take("when")) when = expression();
  }
  e.args = {place, key, when};
  return &e;
}

const Expr* Parser::scatter(Position at_position) {
  expect("(");
  const Expr* filter = nullptr;
  std::vector<Binder> bound = inside([&] {
    auto bs = binders(")");
    if (take("if")) {
      filter = expression();
      expect(")");
    }
    return bs;
  });
  const Expr* value = sum();
  expect("at");
  const Expr* where = postfix();
  expect("into");
  const Expr* base = postfix();
  const Expr* mode = take("by") ? expression() : nullptr;
  Expr& e = make(ExprKind::Scatter, at_position);
  e.binders = std::move(bound);
  e.args = {filter, value, where, base, mode};
  return &e;
}

// Whether a reduction stands here, behind its name: `(k < n` or, with its accumulator's type, `[A](k < n`.
bool Parser::reduction_follows(std::string_view word) const {
  if (at("(")) return binder_follows(1) || (at(")", 1) && word == "count");
  if (!at("[")) return false;
  std::size_t ahead = 1;
  for (std::size_t open = 1; open && peek(ahead).kind != TokenKind::End; ++ahead) {
    if (at("[", ahead)) ++open;
    else if (at("]", ahead)) --open;
  }
  return at("(", ahead) && binder_follows(ahead + 1);
}

const Expr* Parser::lambda(Position at_position) {
  expect("(");
  Expr& e = make(ExprKind::Lambda, at_position);
  e.parameters = parameters();
  expect("=");
  const Expr* body = expression();
  e.args = {body};
  return &e;
}

// Behind the word `graph`: `(names) {`.
bool Parser::graph_follows() const {
  if (!at("(")) return false;
  std::size_t ahead = 1;
  while (peek(ahead).kind == TokenKind::Name || at(",", ahead)) ++ahead;
  return at(")", ahead) && at("{", ahead + 1);
}

const Expr* Parser::graph(Position at_position) {
  constexpr std::size_t MostNodes = 1000;
  expect("(");
  Expr& e = make(ExprKind::Graph, at_position);
  e.parameters = parameters();
  expect("{");
  while (!take("}")) {
    if (e.nodes.size() >= MostNodes) fail(fmt::format("a graph of at most {} calls", MostNodes));
    GraphNode node;
    pattern(node.outputs);
    expect("=");
    node.call = inside([&] { return expression(); });
    if (node.call->kind != ExprKind::Call || node.call->args[0]->kind != ExprKind::OperatorName) fail("the call of an operator", "each line of a graph is y = dialect.Name(x, ...)");
    e.nodes.push_back(std::move(node));
    take(";");
  }
  expect("gives");
  expect("(");
  e.args = inside([&] {
    std::vector<const Expr*> given;
    while (!take(")")) {
      given.push_back(expression());
      e.named.push_back(take(":") ? declared() : NamedArgument{});
      if (!take(",") && !at(")")) fail("',' or ')'");
    }
    return given;
  });
  return &e;
}

// Of what a graph gives: its type, and extents if there are brackets.
NamedArgument Parser::declared() {
  NamedArgument out{name(), nullptr};
  const Position where = peek().at;
  if (!take("[")) return out;
  Expr& extents = make(ExprKind::List, where);
  extents.args = items("]");
  out.value = &extents;
  return out;
}

const Expr* Parser::comprehension(ExprKind kind, Position at_position) {
  expect("(");
  auto bound = inside([&] { return binders(")"); });
  const Expr* body = kind == ExprKind::Where ? not_() : expression();
  Expr& e = make(kind, at_position);
  e.binders = std::move(bound);
  e.args = {body};
  return &e;
}

const Expr* Parser::one_of(Position at_position) {
  expect("of");
  expect("(");
  auto xs = inside([&] { return items(")"); });
  if (xs.empty()) fail("an alternative");
  Expr& e = make(ExprKind::OneOf, at_position);
  e.args = std::move(xs);
  return &e;
}

// A name, or what begins with a word that is a name elsewhere.
const Expr* Parser::named_form(Position at_position) {
  const std::string_view word = peek().text;
  if (is_one_of(word, Reserved) && word != "fn") fail("an expression");
  const Symbol symbol = name();
  const bool binds = at("(") && binder_follows(1);
  if (word == "fn" && at("(")) return lambda(at_position);
  if (is_one_of(word, ReduceNames) && reduction_follows(word)) return reduce(at_position, symbol);
  if (word == "graph" && graph_follows()) return graph(at_position);
  if (word == "accumulate" && at("(")) return accumulate(at_position);
  if (word == "each" && (binds || (at("(") && at(")", 1)))) return comprehension(ExprKind::Each, at_position);
  if (word == "where" && binds) return comprehension(ExprKind::Where, at_position);
  if (word == "argsort" && binds) return argsort(at_position);
  if (word == "scatter" && binds) return scatter(at_position);
  if (word == "one" && at("of")) return one_of(at_position);
  Expr& e = make(ExprKind::Name, at_position);
  e.symbol = symbol;
  return &e;
}

}  // namespace ulpian::language
