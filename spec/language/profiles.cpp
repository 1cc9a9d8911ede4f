#include "spec/language/profiles.h"

#include <fmt/format.h>

#include "spec/language/lexer.h"
#include "spec/numbers/exact.h"

namespace ulpian::language {
namespace {

struct Wrong {
  Diagnostic diagnostic;
};

class Reader {
public:
  explicit Reader(const SourceFile& file, std::vector<Token> tokens) : file_(file), tokens_(std::move(tokens)) {}

  std::vector<ProfileDefinition> all() {
    std::vector<ProfileDefinition> out;
    while (peek().kind != TokenKind::End) out.push_back(profile());
    if (out.empty()) fail("'profile'", "a file of profiles is a list of profile NAME { ... }");
    return out;
  }

private:
  const Token& peek() const { return tokens_[at_]; }
  bool at(std::string_view text) const { return peek().kind != TokenKind::String && peek().text == text; }
  const Token& next() {
    const Token& t = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    next();
    return true;
  }
  [[noreturn]] void fail(const std::string& expected, std::string hint = {}) const {
    const Token& t = peek();
    const std::string found = t.kind == TokenKind::End ? "the end of the file" : fmt::format("'{}'", t.text.substr(0, 40));
    throw Wrong{diagnose(file_, t.at, ErrorKind::Syntax, fmt::format("expected {}, found {}", expected, found)).help(std::move(hint))};
  }
  void expect(std::string_view text) {
    if (!take(text)) fail(fmt::format("'{}'", text));
  }
  Place place() const { return {file_.path, peek().at.line, peek().at.column}; }
  std::string string(std::string_view what) {
    if (peek().kind != TokenKind::String) fail(std::string(what));
    auto value = string_value(file_, next());
    if (!value) throw Wrong{value.error()};
    return *value;
  }
  ProfileDefinition::Name name(std::string_view what) {
    const Place where = place();
    if (peek().kind == TokenKind::String) return {string(what), where};
    if (peek().kind != TokenKind::Name) fail(std::string(what));
    return {std::string(next().text), where};
  }
  std::vector<ProfileDefinition::Name> names(std::string_view what) {
    std::vector<ProfileDefinition::Name> out;
    do out.push_back(name(what));
    while (take(","));
    return out;
  }

  ProfileDefinition profile() {
    ProfileDefinition p;
    if (!take("profile")) fail("'profile'", "a file of profiles is a list of profile NAME { ... }");
    auto called = name("the profile's name");
    p.name = std::move(called.text);
    p.place = std::move(called.place);
    if (take("from")) {
      auto base = name("the name of the profile that it adds to");
      p.from = std::move(base.text);
      p.from_place = std::move(base.place);
    }
    expect("{");
    while (!take("}")) {
      if (take("doc")) p.doc = string("what the profile is, as a string");
      else if (take("exactly")) p.exactly = true;
      else if (take("admit")) {
        auto more = names("what is admitted");
        p.admitted.insert(p.admitted.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
      } else if (take("within")) {
        if (peek().kind == TokenKind::Number && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "absolute") p.function_error = absolute();
        else p.bounds.push_back(bound());
      }
      else fail("'doc', 'exactly', 'admit', 'within' or '}'");
      take(";");
    }
    return p;
  }

  double absolute() {
    const auto error = Exact::parse(peek().text);
    const double e = error ? error->to_double() : 0;
    if (!(e > 0 && e <= 1)) fail("an error above 0, at most 1");
    next();
    next();
    return e;
  }

  ProfileDefinition::Bound bound() {
    ProfileDefinition::Bound b;
    const auto ulps = peek().kind == TokenKind::Number ? Exact::parse(peek().text) : std::nullopt;
    if (!ulps || !ulps->is_finite() || !(*ulps <= Exact(std::int64_t{1} << 52)) || *ulps < Exact::ratio(1, 2)) fail("a number of units in the last place, from 0.5 (correctly rounded) to 2^52");
    b.ulps = ulps->to_double();
    next();
    expect("ulp");
    if (take("on")) b.types = names("an element type, or narrower");
    expect(":");
    b.functions = names("the name of a function");
    return b;
  }

  const SourceFile& file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<ProfileDefinition>> parse_profiles(const SourceText& source) {
  constexpr std::size_t MostBytes = 1u << 20;
  SourceFile file;
  file.path = source.path;
  file.text = source.text;
  if (file.text.size() > MostBytes) {
    Diagnostic d;
    d.kind = ErrorKind::Limit;
    d.message = fmt::format("a file of profiles of {} bytes; at most {} are read", file.text.size(), MostBytes);
    d.place.file = file.path;
    return d;
  }
  auto tokens = tokenize(file);
  if (!tokens) return tokens.error();
  try {
    return Reader(file, std::move(*tokens)).all();
  } catch (Wrong& w) {
    return std::move(w.diagnostic);
  }
}

}  // namespace ulpian::language
