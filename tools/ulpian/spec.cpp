// ulpian spec: what is defined, what a definition says, and whether its examples hold.
#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interp/session/examples.h"
#include "spec/core/counted.h"
#include "spec/language/elaborate.h"
#include "spec/language/names.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/options.h"
#include "tools/ulpian/printable.h"
#include "tools/ulpian/spec_parts.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;

struct Options {
  std::string name;
  std::vector<std::string> names;
  std::int64_t version = 0;
  SpecCheckOptions check;
};

std::string doc_of(const language::OperatorDefinition& d) {
  for (const language::Clause& c : d.clauses)
    if (c.kind == language::ClauseKind::Doc) return c.text;
  return {};
}

std::string versions_of(const language::Specification& spec, const std::string& name) {
  std::string out;
  for (const language::OperatorDefinition* d : spec.definitions(name))
    for (std::int64_t v : d->since) out += (out.empty() ? "" : ", ") + std::to_string(v);
  return out;
}

int list(const Common& common) {
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  if (Status s = (*spec)->load_all(); !s) return report(s.error(), common);
  json out = json::array();
  for (const std::string& name : (*spec)->names()) {
    const auto definitions = (*spec)->definitions(name);
    const std::string doc = doc_of(*definitions.front());
    if (common.json) out.push_back({{"name", name}, {"versions", versions_of(**spec, name)}, {"doc", doc}, {"file", definitions.front()->file->path}});
    else fmt::print("{:<34} {:<30} {}\n", printable(name), versions_of(**spec, name), printable(doc));
  }
  if (common.json) fmt::print("{}\n", out.dump(2));
  return Success;
}

// A short name ("Conv") stands for the one operator that ends in it.
Result<std::string> full_name(const language::Specification& spec, const std::string& name) {
  if (spec.has(name)) return name;
  std::vector<std::string> found;
  for (const std::string& n : spec.names()) {
    const std::string tail = n.substr(n.rfind('.') + 1);
    if (tail == name) found.push_back(n);
  }
  if (found.size() == 1) return found[0];
  Diagnostic d;
  d.kind = ErrorKind::Usage;
  d.message = fmt::format("no operator is called {}", name.substr(0, 80));
  auto lower = [](std::string s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return s;
  };
  std::string near;
  for (const std::string& n : spec.names())
    if (lower(n).find(lower(name)) != std::string::npos && near.size() < 120) near += (near.empty() ? "" : ", ") + n;
  d.hint = near.empty() ? "`ulpian spec list` shows all" : "did you mean " + near + "?";
  return d;
}

int show(const Options& o, const Common& common) {
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  auto name = full_name(**spec, o.name);
  if (!name) return report(name.error(), common);
  bool shown = false;
  json out = json::array();
  for (const language::OperatorDefinition* d : (*spec)->definitions(*name)) {
    if (o.version && d != (*spec)->find(*name, o.version)) continue;
    // The text itself: from the line of `op` to the next operator or function of the file.
    std::uint32_t end = 0;
    for (const auto& other : d->file->operators)
      if (other.at.line > d->at.line && (end == 0 || other.at.line < end)) end = other.at.line;
    for (const auto& f : d->file->functions)
      if (f.at.line > d->at.line && f.at.column == 1 && (end == 0 || f.at.line < end)) end = f.at.line;
    std::string text;
    const auto lines = static_cast<std::uint32_t>(std::count(d->file->text.begin(), d->file->text.end(), '\n')) + 1;
    for (std::uint32_t k = d->at.line; k < (end ? end : lines + 1); ++k) text += d->file->line(k) + "\n";
    while (text.size() > 1 && text[text.size() - 2] == '\n') text.pop_back();
    if (common.json) out.push_back({{"name", *name}, {"since", d->since}, {"file", d->file->path}, {"line", d->at.line}, {"text", text}});
    else fmt::print("{}# {}:{}\n{}", shown ? "\n" : "", printable(d->file->path), d->at.line, printable(text));
    shown = true;
  }
  if (common.json) fmt::print("{}\n", out.dump(2));
  if (shown) return Success;
  Diagnostic d;
  d.kind = ErrorKind::Usage;
  d.message = fmt::format("{} has no definition at version {}", *name, o.version);
  d.hint = "its versions are " + versions_of(**spec, *name);
  return report(d, common);
}

// Those in force: a user's definition hides the shipped one of the same versions.
Definitions definitions_of(const language::Specification& spec, const std::vector<std::string>& names) {
  Definitions out;
  for (const std::string& name : names)
    for (const language::OperatorDefinition* d : spec.definitions(name))
      if (spec.find(name, d->since.front()) == d) out.push_back(d);
  return out;
}

int check(const Options& o, const Common& common) {
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  if (Status s = (*spec)->load_all(); !s) return report(s.error(), common);
  std::vector<std::string> names;
  for (const std::string& n : o.names) {
    auto name = full_name(**spec, n);
    if (!name) return report(name.error(), common);
    names.push_back(*name);
  }
  if (names.empty()) names = (*spec)->names();
  if (o.check.mutants) return check_mutants(*spec, definitions_of(**spec, names), o.check, common);
  if (o.check.prove) return check_proofs(*spec, definitions_of(**spec, names), o.check, common);
  Progress progress(common, "operator", names.size());
  std::size_t done = 0, definitions = 0, examples = 0, failed = 0;
  json failures = json::array(), untried = json::array();  // those without examples
  auto fail = [&](const std::string& title, const std::string& where, const std::string& what) {
    ++failed;
    if (common.json) failures.push_back({{"example", title}, {"place", where}, {"message", what}});
    else fmt::print("{} ({}): {}\n", printable(title), printable(where), printable(what));
  };
  for (const std::string& name : names) {
    progress.at(++done, name);
    for (const language::OperatorDefinition* d : (*spec)->definitions(name)) {
      ++definitions;
      const std::string place = fmt::format("{}:{}", d->file->path, d->at.line);
      if (const auto missing = language::missing_name(**spec, *d)) {
        fail(name, place, to_string(*missing));
        continue;
      }
      auto all = language::examples_of(**spec, *d);
      if (!all) {
        fail(name, place, to_string(all.error()));
        continue;
      }
      if (all->empty()) untried.push_back(name);
      for (const language::Example& e : *all) {
        ++examples;
        const std::string where = fmt::format("{}:{}", e.place.file, e.place.line);
        for (auto [evaluator, label] : {std::pair{interp::Evaluator::Scalar, "scalar"}, std::pair{interp::Evaluator::Block, "block"}})
          if (auto wrong = interp::failure_of(*spec, e, evaluator)) {
            fail(fmt::format("{} [{} evaluator]", e.title, label), where, *wrong);
            break;
          }
      }
    }
  }
  if (common.json)
    fmt::print("{}\n", json{{"operators", names.size()}, {"definitions", definitions}, {"examples", examples}, {"failed", failed}, {"failures", failures}, {"without_examples", untried}}.dump(2, ' ', false, json::error_handler_t::replace));
  else {
    for (const json& name : untried) fmt::print("{} has no example: its text is read, and nothing of it was run\n", printable(name.get<std::string>()));
    fmt::print("{}, {}, {}: {}\n", counted(names.size(), "operator"), counted(definitions, "definition"), counted(examples, "example"),
               failed ? fmt::format("{} fail", failed) : untried.empty() ? "all hold" : fmt::format("{} without examples", untried.size()));
  }
  return failed ? UsageError : untried.empty() ? Success : Undecided;
}

}  // namespace

void add_spec(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App& c = *app.add_subcommand("spec", "The specification: list it, show a definition, check examples");
  c.require_subcommand(1);
  c.footer("Examples:\n  ulpian spec list\n  ulpian spec show Softmax\n  ulpian spec check --spec my_ops.ulp\n");
  CLI::App& l = *c.add_subcommand("list", "All operators, their versions and what they are for");
  add_common(l, common, false);
  l.callback([&common, &chosen] { chosen = [&common] { return list(common); }; });
  CLI::App& s = *c.add_subcommand("show", "An operator's definitions");
  s.add_option("name", o->name, "onnx.Conv, or Conv")->required()->type_name("NAME")->check(not_empty());
  s.add_option("--opset", o->version, "Only the definition in force at this version")->type_name("N");
  add_common(s, common, false);
  s.callback([o, &common, &chosen] { chosen = [o, &common] { return show(*o, common); }; });
  CLI::App& k = *c.add_subcommand("check", "Run the examples of all (or the named) operators on both evaluators");
  k.add_option("names", o->names, "Operators")->type_name("NAME")->check(not_empty());
  add_common(k, common, false);
  k.add_flag("--quiet,-q", common.quiet, "No progress");
  k.add_option("--threads", o->check.threads, "Of --mutants and --prove; by default one per processor")->type_name("N")->check(CLI::Range(1, 1024));
  k.add_option("--time-limit", o->check.seconds, "Seconds per mutant (by default 10), or per query of --prove (by default 2)")->type_name("SECONDS")->check(number_between(0.001, 1e6));
  CLI::Option* prove = k.add_flag("--prove", o->check.prove, "Instead: prove with Z3, for all extents, that reads are in range, extents not negative and recurrences well-founded");
  CLI::Option* mutants = k.add_flag("--mutants", o->check.mutants, "Instead: change each definition by one token at a time, and list the changes that no example notices")->excludes(prove);
  k.add_option("--sample", o->check.sample, "With --mutants: so many changes of each definition")->type_name("N")->needs(mutants)->check(whole_number());
  k.add_option("--seed", o->check.seed, "With --sample: which")->type_name("N")->needs(mutants)->check(whole_number());
  k.add_option("--least", o->check.least, "With --mutants: status 1 if a definition's examples notice less than this")->type_name("PERCENT")->check(number_between(0, 100))->needs(mutants);
  k.add_option("--explained", o->check.explained, "With --mutants: a file of survivors and their reasons, in place of tools/mutants/explained.json")->type_name("FILE")->needs(mutants)->check(not_empty());
  k.footer("Exit status: 0 all hold, 2 a definition or an example is wrong, 3 a definition has no examples; --prove: 1 if something is refuted; --mutants: 1 if --least is not reached.\n");
  k.callback([o, &common, &chosen] { chosen = [o, &common] { return check(*o, common); }; });
}

}  // namespace ulpian::tools
