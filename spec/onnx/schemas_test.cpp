// The definitions against the standard's own schemas (testdata/schemas.txt, printed from the onnx package): versions, names and order of
// inputs and outputs, element types, attributes and their defaults.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "spec/language/elaborator.h"
#include "spec/language/specification.h"

namespace ulpian::language {
namespace {

using Types = std::set<std::string>;

struct SchemaParameter {
  std::string name;
  bool optional = false;
  bool variadic = false;
  Types types;
};

struct SchemaAttribute {
  std::string name;
  std::string kind;
  bool required = false;
  std::optional<std::string> value;
};

struct Schema {
  std::string name;
  std::int64_t version = 0;
  bool deprecated = false;
  std::vector<SchemaParameter> inputs, outputs;
  std::vector<SchemaAttribute> attributes;
};

// Operators of other domains than ai.onnx carry it in their name.
std::string defined_name(const Schema& s) { return s.name.find('.') == std::string::npos ? "onnx." + s.name : s.name; }

bool drop_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

std::vector<Schema> read_schemas() {
  std::ifstream file(ULPIAN_SOURCE_DIR "/spec/onnx/testdata/schemas.txt");
  std::map<std::string, Types> sets;
  std::vector<Schema> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, word, set;
    words >> kind >> word;
    if (kind == "set") {
      Types& members = sets[word];
      for (std::string t; words >> t;) members.insert(t);
    } else if (kind == "op") {
      Schema s;
      s.name = word;
      words >> s.version;
      s.deprecated = static_cast<bool>(words >> word);
      out.push_back(std::move(s));
    } else if (kind == "in" || kind == "out") {
      SchemaParameter p;
      p.variadic = drop_suffix(word, "...");
      p.optional = drop_suffix(word, "?");
      p.name = word;
      words >> set;
      p.types = sets.at(set);
      (kind == "in" ? out.back().inputs : out.back().outputs).push_back(std::move(p));
    } else if (kind == "attr") {
      SchemaAttribute a;
      a.name = word;
      words >> a.kind;
      if (words >> word) {
        a.required = word == "required";
        if (word == "=") {
          std::getline(words >> std::ws, word);
          a.value = word;
        }
      }
      out.back().attributes.push_back(std::move(a));
    }
  }
  return out;
}

class Comparison {
public:
  Comparison(const Specification& spec, const OperatorDefinition& definition, const std::vector<Schema>& all, const Schema& schema)
      : spec_(spec), definition_(definition), all_(all), schema_(schema) {}

  void run() {
    parameters(ClauseKind::In, schema_.inputs, "input");
    parameters(ClauseKind::Out, schema_.outputs, "output");
    for (const SchemaAttribute& a : schema_.attributes) attribute(a);
  }

private:
  const std::string& name(Symbol s) const { return spec_.symbols().name(s); }
  std::string where() const { return schema_.name + " " + std::to_string(schema_.version) + ": "; }

  std::vector<const Clause*> clauses(ClauseKind kind) const {
    std::vector<const Clause*> out;
    for (const Clause& c : definition_.clauses)
      if (c.kind == kind) out.push_back(&c);
    return out;
  }

  void parameters(ClauseKind kind, const std::vector<SchemaParameter>& wanted, const char* what) {
    const auto got = clauses(kind);
    // A program that asks for outputs beyond the defined ones (those of training) is refused.
    for (std::size_t k = got.size(); k < wanted.size(); ++k)
      EXPECT_TRUE(kind == ClauseKind::Out && wanted[k].optional) << where() << wanted[k].name << " is lacking";
    for (std::size_t k = 0; k < got.size(); ++k) {
      const Clause& c = *got[k];
      if (k >= wanted.size()) {
        EXPECT_TRUE(c.optional) << where() << what << " " << name(c.name) << " is unknown to this version, and not optional";
        continue;
      }
      const bool variadic = c.variadic || c.each != NoSymbol;
      EXPECT_EQ(variadic, wanted[k].variadic) << where() << wanted[k].name;
      // `outputs` is a word of the language.
      if (wanted[k].name != "outputs") { EXPECT_EQ(name(c.name), wanted[k].name) << where() << what; }
      if (kind == ClauseKind::Out) continue;
      // Where versions share a definition, it is as liberal as the newest; a `require` then says what the older ones need.
      // (The list does not say how many a variadic input needs at least.)
      if (!variadic) { EXPECT_EQ(c.optional, wanted[k].optional || optional_later(k)) << where() << "whether " << wanted[k].name << " is optional"; }
      // Of optional values and sequences the list says nothing.
      if (!c.sequence && !(c.any_kind && wanted[k].types.empty())) { EXPECT_EQ(types_of(c.type), wanted[k].types) << where() << "types of " << wanted[k].name; }
    }
  }

  bool optional_later(std::size_t input) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Schema& s) {
      return s.name == schema_.name && s.version > schema_.version && version_in_force(definition_, s.version) == s.version &&
             input < s.inputs.size() && s.inputs[input].optional;
    });
  }

  Types types_of(Symbol type) const {
    for (const Clause* t : clauses(ClauseKind::Type)) {
      if (t->name != type) continue;
      const TypeSet* chosen = &t->sets[0];
      for (const TypeSet& s : t->sets)
        if (s.before && schema_.version < s.before) chosen = &s;
      Types out;
      for (Symbol s : chosen->names)
        for (ElementType e : type_set(name(s)).value_or(std::vector<ElementType>{})) out.insert(std::string(name_of(e)));
      return out;
    }
    return {name(type)};
  }

  void attribute(const SchemaAttribute& wanted) {
    for (const Clause* c : clauses(ClauseKind::Attribute)) {
      if (name(c->name) != wanted.name) continue;
      EXPECT_EQ(c->value == nullptr && !c->optional, wanted.required) << where() << "whether " << wanted.name << " is required";
      if (wanted.value && c->value) default_value(wanted, *c->value);
      return;
    }
    ADD_FAILURE() << where() << "attribute " << wanted.name << " is lacking";
  }

  // Defaults written as a literal; others (a list of ones, a word for an element type) are left to the examples.
  void default_value(const SchemaAttribute& wanted, const Expr& written) {
    if (written.kind == ExprKind::String) {
      EXPECT_EQ(written.text, *wanted.value) << where() << wanted.name;
    } else if (written.kind == ExprKind::Number) {
      const auto exact = Exact::parse(*wanted.value);
      ASSERT_TRUE(exact) << where() << *wanted.value;
      const Exact value = wanted.kind == "float" ? Exact::of(ElementType::F32, written.number.round_to(ElementType::F32)) : written.number;
      EXPECT_TRUE(value.to_double() == exact->to_double()) << where() << wanted.name << " = " << value.to_string();
    } else if (written.kind == ExprKind::Name && (name(written.symbol) == "true" || name(written.symbol) == "false")) {
      EXPECT_EQ(name(written.symbol) == "true" ? "1" : "0", *wanted.value) << where() << wanted.name;
    }
  }

  const Specification& spec_;
  const OperatorDefinition& definition_;
  const std::vector<Schema>& all_;
  const Schema& schema_;
};

class OnnxSchemas : public testing::Test {
protected:
  OnnxSchemas() : spec_(Specification::load().value()), schemas_(read_schemas()) {}
  std::shared_ptr<const Specification> spec_;
  std::vector<Schema> schemas_;
};

TEST_F(OnnxSchemas, every_version_of_a_defined_operator_is_defined_as_its_schema_says) {
  ASSERT_GT(schemas_.size(), 500u);
  for (const Schema& s : schemas_) {
    const std::string name = defined_name(s);
    if (!spec_->has(name) || s.deprecated) continue;
    const OperatorDefinition* d = spec_->find(name, s.version);
    ASSERT_NE(d, nullptr) << name << " " << s.version;
    EXPECT_EQ(version_in_force(*d, s.version), s.version) << name << " " << s.version << " is lacking";
    if (version_in_force(*d, s.version) == s.version) Comparison(*spec_, *d, schemas_, s).run();
  }
}

TEST_F(OnnxSchemas, no_definition_claims_a_version_or_an_attribute_that_the_standard_lacks) {
  std::map<std::string, std::map<std::int64_t, const Schema*>> known;
  for (const Schema& s : schemas_) known[defined_name(s)][s.version] = &s;
  for (const std::string& name : spec_->names()) {
    if (!name.starts_with("onnx.")) continue;
    for (const OperatorDefinition* d : spec_->definitions(name)) {
      EXPECT_TRUE(std::is_sorted(d->since.rbegin(), d->since.rend())) << name << ": newest first";
      std::set<std::string> attributes;
      for (std::int64_t v : d->since) {
        const auto it = known[name].find(v);
        // schemas.txt holds the versions that a model of opset 7 or later can use; a definition may know older ones.
        if (it == known[name].end() && v < 7) continue;
        ASSERT_TRUE(it != known[name].end()) << name << " has no version " << v;
        for (const SchemaAttribute& a : it->second->attributes) attributes.insert(a.name);
      }
      for (const Clause& c : d->clauses) {
        if (c.kind != ClauseKind::Attribute) continue;
        const std::string& attribute = spec_->symbols().name(c.name);
        EXPECT_TRUE(attributes.count(attribute)) << name << ": " << attribute;
      }
    }
  }
}

}  // namespace
}  // namespace ulpian::language
