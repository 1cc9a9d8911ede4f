#include "spec/language/profiles.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/language/cursor.h"
#include "spec/numbers/exact.h"

namespace ulpian::language {
namespace {

class Reader : public Cursor {
public:
  Reader(const SourceFile& file, std::vector<Token> tokens) : Cursor(file, std::move(tokens)), path_(file.path) {}

  std::vector<ProfileDefinition> all() {
    std::vector<ProfileDefinition> out;
    while (!at_end()) out.push_back(profile());
    if (out.empty()) fail("'profile'", Hint);
    return out;
  }

private:
  static constexpr const char* Hint = "a file of profiles is a list of profile NAME { ... }";

  Place place() const { return {path_, peek().at.line, peek().at.column}; }
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
    if (!take("profile")) fail("'profile'", Hint);
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
        std::vector<ProfileDefinition::Name> types;
        if (take("on")) types = names("an element type, or narrower");
        for (auto& one : more) p.admitted.push_back({std::move(one), types});
      } else if (take("within")) {
        if (peek().kind == TokenKind::Number && at("absolute", 1)) absolute(p);
        else p.bounds.push_back(bound());
      } else if (take("close")) {
        p.rules.push_back(closeness());
      } else fail("'doc', 'exactly', 'admit', 'within', 'close' or '}'");
      take(";");
    }
    return p;
  }

  // Of all functions, or of some.
  void absolute(ProfileDefinition& p) {
    const auto error = Exact::parse(peek().text);
    const double e = error ? error->to_double() : 0;
    if (!(e > 0 && e <= 1)) fail("an error above 0, at most 1");
    next();
    next();
    if (!at("on") && !at(":")) {
      p.function_error = std::max(p.function_error, e);
      return;
    }
    ProfileDefinition::Bound b;
    b.absolute = e;
    functions(b);
    p.bounds.push_back(std::move(b));
  }

  double number(double least, double most, const char* what) {
    const auto x = peek().kind == TokenKind::Number ? Exact::parse(peek().text) : std::nullopt;
    const double value = x && x->is_finite() ? x->to_double() : -1;
    if (!(value >= least && value <= most)) fail(fmt::format("{}, from {:g} to {:g}", what, least, most));
    next();
    return value;
  }

  void functions(ProfileDefinition::Bound& b) {
    if (take("on")) b.types = names("an element type, or narrower");
    expect(":");
    b.functions = names("the name of a function");
  }

  ProfileDefinition::Closeness closeness() {
    ProfileDefinition::Closeness c;
    do {
      const double x = number(0, 0x1p52, "how far from the canonical value: a number");
      if (take("relative")) c.relative = x;
      else if (take("absolute")) c.absolute = x;
      else if (take("ulp")) c.ulps = x;
      else fail("'relative', 'absolute' or 'ulp'");
    } while (peek().kind == TokenKind::Number);
    if (take("on")) c.types = names("an element type, or narrower");
    if (take(":")) {
      do {
        auto op = name("the name of an operator");
        while (take(".")) op.text += "." + name("the operator's name").text;
        c.operators.push_back(std::move(op));
      } while (take(","));
    }
    return c;
  }

  ProfileDefinition::Bound bound() {
    ProfileDefinition::Bound b;
    const auto ulps = peek().kind == TokenKind::Number ? Exact::parse(peek().text) : std::nullopt;
    if (!ulps || !ulps->is_finite() || !(*ulps <= Exact(std::int64_t{1} << 52)) || *ulps < Exact::ratio(1, 2)) fail("a number of units in the last place, from 0.5 (correctly rounded) to 2^52");
    b.ulps = ulps->to_double();
    next();
    if (take("+")) {
      b.per_argument = number(0, 0x1p20, "so many ulp more for each unit of the argument's magnitude");
      expect("*");
      expect("argument");
    }
    expect("ulp");
    functions(b);
    return b;
  }

  const std::string& path_;
};

}  // namespace

Result<std::vector<ProfileDefinition>> parse_profiles(const SourceText& source) {
  SourceFile file;
  file.path = source.path;
  file.text = source.text;
  auto tokens = tokens_of(file, "a file of profiles");
  if (!tokens) return tokens.error();
  try {
    return Reader(file, std::move(*tokens)).all();
  } catch (ParseError& e) {
    return std::move(e.diagnostic);
  }
}

}  // namespace ulpian::language
