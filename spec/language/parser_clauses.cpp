#include <fmt/format.h>

#include "spec/language/parser.h"

namespace ulpian::language {
namespace {

constexpr std::size_t MostClauses = 4000;  // of one operator, and values of one example: what looks among them may do so one by one

}  // namespace

std::string SourceFile::line(std::uint32_t number) const {
  std::size_t start = 0;
  for (std::uint32_t k = 1; k < number; ++k) {
    start = text.find('\n', start);
    if (start == std::string::npos) return {};
    ++start;
  }
  const std::size_t end = text.find('\n', start);
  return text.substr(start, end == std::string::npos ? end : end - start);
}

namespace {

// Part of a long line around the place, so that a message stays readable; control characters do not reach a terminal.
void quote_line(Diagnostic& d, const std::string& line) {
  constexpr std::size_t Most = 160;
  const std::size_t column = d.place.column ? d.place.column - 1 : 0;
  std::size_t start = line.size() > Most && column > Most / 2 ? std::min(column - Most / 2, line.size() - Most) : 0;
  auto inside_character = [&](std::size_t k) { return k < line.size() && (static_cast<unsigned char>(line[k]) & 0xc0) == 0x80; };
  while (start > 0 && inside_character(start)) --start;
  std::size_t end = std::min(line.size(), start + Most);
  while (end > start && inside_character(end)) --end;
  const std::string_view before = start > 0 ? "..." : "", after = end < line.size() ? "..." : "";
  d.source_line = fmt::format("{}{}{}", before, std::string_view(line).substr(start, end - start), after);
  for (char& c : d.source_line)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  if (start > 0) d.caret = static_cast<std::uint32_t>(column - start + before.size() + 1);
}

}  // namespace

Diagnostic diagnose(const SourceFile& file, Position at, ErrorKind kind, std::string message) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.place = {file.path, at.line, at.column};
  quote_line(d, file.line(at.line));
  return d;
}

Symbol Parser::name(std::string_view what) {
  if (peek().kind != TokenKind::Name) fail(std::string(what));
  return symbols_.intern(next().text);
}

std::int64_t Parser::integer(std::string_view what) {
  if (peek().kind != TokenKind::Number) fail(std::string(what));
  auto value = Exact::parse(peek().text);
  auto n = value ? value->to_int64() : std::nullopt;
  if (!n || *n > 1000000) fail(std::string(what));
  next();
  return *n;
}

void Parser::parse_file() {
  while (!at_end()) {
    if (at("op")) {
      operator_definition();
    } else if (at("fn")) {
      const Function* f = function();
      if (!file_.functions_by_name.emplace(f->name, f).second)
        throw ParseError{diagnose(file_, f->at, ErrorKind::Definition, fmt::format("function {} is defined twice in this file", symbols_.name(f->name)))};
    } else {
      fail("'op' or 'fn'", "a specification file is a list of operators (op ...) and functions (fn ...)");
    }
  }
}

void Parser::operator_definition() {
  OperatorDefinition& op = file_.operators.emplace_back();
  op.file = &file_;
  op.at = expect("op");
  op.name = symbols_.name(name("the operator's name"));
  while (take(".")) op.name += "." + symbols_.name(name("the operator's name"));
  if (take("since")) {
    do op.since.push_back(integer("a version"));
    while (take(","));
    for (std::size_t k = 1; k < op.since.size(); ++k)
      if (op.since[k] >= op.since[k - 1]) throw ParseError{diagnose(file_, op.at, ErrorKind::Definition, "versions are listed newest first, each once")};
  }
  if (op.since.empty()) op.since.push_back(1);
  expect("{");
  while (!take("}")) {
    if (at_end()) fail("'}'", fmt::format("the operator {} opened in line {} is not closed", op.name, op.at.line));
    if (op.clauses.size() >= MostClauses) fail(fmt::format("an operator of at most {} clauses", MostClauses));
    op.clauses.push_back(clause());
    take(";");
  }
}

std::vector<Parameter> Parser::parameters() {
  std::vector<Parameter> out;
  while (!take(")")) {
    Parameter p;
    p.name = name("a parameter");
    p.pack = take("...");
    out.push_back(p);
    if (!take(",") && !at(")")) fail("',' or ')'");
  }
  return out;
}

const Function* Parser::function() {
  Function& f = file_.functions.emplace_back();
  f.at = expect("fn");
  f.name = name("the function's name");
  expect("(");
  f.parameters = parameters();
  expect("=");
  f.body = expression();
  return &f;
}

bool Parser::pattern(std::vector<Parameter>& out) {
  if (take("(")) {
    out = parameters();
    return true;
  }
  Parameter p;
  p.name = name();
  p.pack = take("...");
  out.push_back(p);
  return p.pack;
}

Clause Parser::clause() {
  Clause c;
  c.at = peek().at;
  const std::string_view word = peek().kind == TokenKind::Name ? peek().text : std::string_view();
  // A clause's word may also name a value (an input called `type`): then `[`, `=` or `...` follows.
  const bool names_value = at("=", 1) || at("[", 1) || at("...", 1);
  if (names_value || word.empty()) return equation();
  if (word == "doc") {
    next();
    c.kind = ClauseKind::Doc;
    c.text = string("the description");
  } else if (word == "type") {
    type_clause(c);
  } else if (word == "in") {
    in_clause(c);
  } else if (word == "attr") {
    attribute_clause(c);
  } else if (word == "out") {
    out_clause(c);
  } else if (word == "require" || word == "undefined" || word == "unordered") {
    condition_clause(c);
  } else if (word == "fn") {
    c.kind = ClauseKind::Function;
    c.function = function();
    c.name = c.function->name;
  } else if (word == "rec") {
    recurrence_clause(c);
  } else if (word == "loop") {
    loop_clause(c);
  } else if (word == "example") {
    example_clause(c);
  } else {
    return equation();
  }
  return c;
}

void Parser::type_clause(Clause& c) {
  next();
  c.kind = ClauseKind::Type;
  c.name = name("the type's name");
  expect(":");
  auto names = [&] {
    std::vector<Symbol> out;
    do out.push_back(name("an element type or a set of them"));
    while (take(","));
    return out;
  };
  c.sets.push_back({0, names()});
  while (take("before")) {
    TypeSet s;
    s.before = integer("a version");
    expect(":");
    s.names = names();
    c.sets.push_back(std::move(s));
  }
}

// `sequence T`, `value T`; both words may also name a type variable.
void Parser::kind_of_value(Clause& c) {
  if (peek(1).kind != TokenKind::Name || peek(1).first_on_line) return;
  c.sequence = take("sequence");
  c.any_kind = !c.sequence && take("value");
}

void Parser::in_clause(Clause& c) {
  next();
  c.kind = ClauseKind::In;
  c.name = name("the input's name");
  c.variadic = take("...");
  expect(":");
  c.optional = take("optional");
  kind_of_value(c);
  c.type = name("the element type");
  if (at("[") && !peek().first_on_line) {
    next();
    c.has_extents = true;
    c.extents = inside([&] { return items("]"); });
  }
  c.is_static = take("static");
  c.is_rounded = take("rounded");
}

void Parser::attribute_clause(Clause& c) {
  next();
  c.kind = ClauseKind::Attribute;
  c.name = name("the attribute's name");
  expect(":");
  c.optional = take("optional");
  if (at("one") && at("of", 1)) {
    next();
    next();
    c.attribute_kind = AttributeKind::String;
    do c.choices.push_back(string("a choice"));
    while (take(","));
  } else {
    const Token& t = peek();
    const std::string kind = symbols_.name(name("the attribute's kind"));
    if (kind == "int") c.attribute_kind = AttributeKind::Int;
    else if (kind == "float") c.attribute_kind = AttributeKind::Float;
    else if (kind == "bool") c.attribute_kind = AttributeKind::Bool;
    else if (kind == "string") c.attribute_kind = AttributeKind::String;
    else if (kind == "dtype") c.attribute_kind = AttributeKind::Dtype;
    else if (kind == "tensor") c.attribute_kind = AttributeKind::Tensor;
    else if (kind == "graph") c.attribute_kind = AttributeKind::Graph;
    else
      throw ParseError{diagnose(file_, t.at, ErrorKind::Syntax, fmt::format("'{}' is no kind of attribute", kind))
                           .help("int, float, bool, string, dtype, tensor, graph, a list such as int[n], or one of \"A\", \"B\"")};
    if (at("[") && !peek().first_on_line) {
      next();
      c.is_list = true;
      if (!at("]")) c.list_length = inside([&] { return expression(); });
      expect("]");
    }
  }
  if (take("=")) c.value = expression();
}

void Parser::out_clause(Clause& c) {
  next();
  c.kind = ClauseKind::Out;
  c.name = name("the output's name");
  c.variadic = take("...");
  expect(":");
  c.optional = take("optional");
  kind_of_value(c);
  c.type = name("the element type");
  if (at("[") && !peek().first_on_line) {
    next();
    c.has_extents = true;
    c.extents = inside([&] { return items("]"); });
  }
  if (take("for")) {
    c.each = name();
    expect("<");
    c.each_count = expression();
  }
}

void Parser::condition_clause(Clause& c) {
  const std::string_view word = next().text;
  if (word == "unordered") {
    c.kind = ClauseKind::Unordered;
    expect("along");
    c.value = expression();
    if (take("when")) c.when = expression();
    return;
  }
  c.kind = word == "require" ? ClauseKind::Require : ClauseKind::Undefined;
  if (c.kind == ClauseKind::Undefined) expect("when");
  c.value = expression();
  if (peek().kind == TokenKind::String) {
    const Position here = peek().at;
    c.message = message(string(), here);
  }
}

void Parser::recurrence_clause(Clause& c) {
  next();
  c.kind = ClauseKind::Recurrence;
  expect("(");
  c.binders = inside([&] { return binders(")"); });
  expect("{");
  while (!take("}")) {
    c.inner.push_back(equation());
    take(";");
  }
}

void Parser::loop_clause(Clause& c) {
  next();
  c.kind = ClauseKind::Loop;
  expect("(");
  c.counter = name("the trip's name");
  while (take(",")) {
    Parameter p;
    p.name = name("a state's name");
    p.pack = take("...");
    expect("=");
    const Expr* initial = item();
    c.state.emplace_back(p, initial);
  }
  expect(")");
  expect("while");
  c.when = expression();
  expect("{");
  c.pack_pattern = pattern(c.pattern);
  expect("=");
  c.value = expression();
  expect("}");
  expect("collect");
  c.collect = name();
  take("...");
}

void Parser::example_clause(Clause& c) {
  next();
  c.kind = ClauseKind::Example;
  while (!take("{")) {
    if (c.settings.size() >= MostClauses) fail(fmt::format("an example of at most {} settings", MostClauses));
    NamedArgument a;
    a.name = name("a setting or '{'");
    expect("=");
    a.value = expression();
    c.settings.push_back(a);
    if (!take(",") && !at("{")) fail("',' or '{'");
  }
  while (!take("}")) {
    const bool says_value = at("=", 1) || at("~", 1) || at("allows", 1) || at("forbids", 1);
    if (!says_value && (at("error") || at("undefined"))) {
      (at("error") ? c.expects_error : c.expects_undefined) = true;
      next();
      if (peek().kind == TokenKind::String) c.reason = string();
      continue;
    }
    if (c.values.size() >= MostClauses) fail(fmt::format("an example of at most {} values", MostClauses));
    ExampleValue v;
    v.name = name("an input or output");
    if (take("~")) v.relation = ExampleRelation::About;
    else if (take("allows")) v.relation = ExampleRelation::Allows;
    else if (take("forbids")) v.relation = ExampleRelation::Forbids;
    else expect("=");
    v.value = expression();
    c.values.push_back(v);
  }
}

Clause Parser::equation() {
  Clause c;
  c.at = peek().at;
  if (at("(")) {
    c.kind = ClauseKind::Let;
    c.pack_pattern = pattern(c.pattern);
    expect("=");
    c.value = expression();
    return c;
  }
  c.name = name("a clause or an equation");
  if (take("...")) {
    c.kind = ClauseKind::Let;
    c.pattern = {{c.name, true}};
    c.pack_pattern = true;
    expect("=");
    c.value = expression();
    return c;
  }
  if (take("[")) {
    c.kind = ClauseKind::Equation;
    c.binders = inside([&] { return binders("]"); });
    if (take("[")) {
      if (c.binders.size() != 1 || c.binders[0].pack || c.binders[0].bound) fail("one name between the first brackets of an equation for several outputs");
      c.each = c.binders[0].name;
      c.binders = inside([&] { return binders("]"); });
    }
    if (take(":")) {
      const Token& t = peek();
      c.type = name("the element type");
      // A type function applied: `wide(T)` keeps its argument in `extents`.
      if (at("(") && !peek().first_on_line) {
        next();
        c.extents = inside([&] { return items(")"); });
        if (c.extents.size() != 1) throw ParseError{diagnose(file_, t.at, ErrorKind::Syntax, "a type function takes one type")};
      }
    }
    expect("=");
    c.value = expression();
    return c;
  }
  c.kind = ClauseKind::Let;
  c.pattern = {{c.name, false}};
  expect("=");
  c.value = expression();
  return c;
}

Message Parser::message(const std::string& text, Position at_position) {
  Message m;
  m.literals.emplace_back();
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '{') {
      m.literals.back() += text[k];
      continue;
    }
    const std::size_t end = text.find('}', k);
    if (end == std::string::npos) throw ParseError{diagnose(file_, at_position, ErrorKind::Syntax, "a '{' in this message is not closed")};
    // The text between the braces is parsed as an expression of its own; its nodes live in this file.
    SourceFile part;
    part.path = file_.path;
    part.text = text.substr(k + 1, end - k - 1);
    auto tokens = tokenize(part);
    if (!tokens) throw ParseError{diagnose(file_, at_position, ErrorKind::Syntax, "in this message: " + tokens.error().message)};
    for (Token& t : *tokens) t.at = at_position;
    Parser inner(file_, symbols_, std::move(*tokens));
    inner.ends_at("the end of the braces");
    m.values.push_back(inner.expression());
    if (!inner.at_end()) inner.fail("the end of the braces");
    m.literals.emplace_back();
    k = end;
  }
  return m;
}

Result<std::unique_ptr<SourceFile>> parse(std::string path, std::string text, SymbolTable& symbols) {
  auto file = std::make_unique<SourceFile>();
  file->path = std::move(path);
  file->text = std::move(text);
  auto tokens = tokens_of(*file, "a specification file");
  if (!tokens) return tokens.error();
  try {
    Parser(*file, symbols, std::move(*tokens)).parse_file();
  } catch (ParseError& e) {
    return std::move(e.diagnostic);
  }
  return file;
}

}  // namespace ulpian::language
