#include "tools/ulpian/check_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/core/counted.h"
#include "spec/numbers/format.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/printable.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;

const Explained* find(const Explanations& all, const std::shared_ptr<const diff::Exhibit>& exhibit) {
  const auto it = all.find(exhibit.get());
  return exhibit && it != all.end() ? &it->second : nullptr;
}

// JSON has no infinity.
json finite(double v) { return std::isfinite(v) ? json(v) : json(nullptr); }

json to_json(const diff::DeviationSet& s) {
  json j{{"admit", json::array()}};
  for (interp::Freedom f : s.freedoms) j["admit"].push_back(interp::name_of(f));
  if (s.function_ulps > 0) j["functions_within_ulps"] = s.function_ulps;
  if (s.function_error > 0) j["functions_within"] = s.function_error;
  if (!s.needed.empty()) j["needed"] = s.needed;
  return j;
}

json to_json(const diff::Grounds& g) {
  json j{{"elements_read", g.read_count}, {"inputs", json::array()}};
  for (const diff::Grounds::Read& r : g.reads) j["inputs"].push_back({{"input", r.input}, {"index", r.index}, {"type", name_of(r.type)}, {"bits", r.bits}, {"value", diff::show_element(r.type, r.bits)}});
  if (!g.ends_in.empty()) j["ends_in"] = g.ends_in;
  if (g.terms > 0) j["sum"] = {{"terms", g.terms}, {"magnitude", finite(g.magnitude)}, {"accumulator", name_of(g.accumulator)}, {"distance_in_u_s", finite(g.distance)}};
  return j;
}

json to_json(const diff::Witness& w) {
  json x{{"output", w.output_name}, {"index", w.index}, {"type", name_of(w.type)}, {"got_bits", w.got}, {"canonical_bits", w.canonical},
         {"got", diff::show_element(w.type, w.got)}, {"canonical", diff::show_element(w.type, w.canonical)}, {"allowed", w.allowed}};
  if (w.clause) x["clause"] = {{"file", w.clause->place.file}, {"line", w.clause->place.line}, {"text", w.clause->text}};
  if (std::isfinite(w.distance)) x["ulps_outside"] = w.distance;
  if (w.grounds) x["grounds"] = to_json(*w.grounds);
  if (!w.why_no_true_value.empty()) x["why_no_true_value"] = w.why_no_true_value;
  if (!w.true_value.empty()) {
    x["true_value"] = w.true_value;
    if (w.of_region) x["true_value_of_region"] = true;
    x["got_from_true_ulps"] = finite(w.got_from_true);
    x["allowed_from_true_ulps"] = finite(w.allowed_from_true);
  }
  return x;
}

json to_json(const diff::Shown& s) {
  json j{{"elements", s.elements()}, {"any_change", s.exact()}, {"vacuous", s.vacuous()}};
  if (s.has_others()) j["least"] = finite(s.least()), j["median"] = finite(s.median());
  return j;
}

json to_json(const diff::Verdict& v, const Explained* explained) {
  json j{{"class", name_of(v.verdict)},
         {"elements", v.counts.elements},
         {"equal", v.counts.equal},
         {"allowed", v.counts.allowed},
         {"vacuous", v.counts.vacuous},
         {"outside", v.counts.outside},
         {"worst_ulps", finite(v.counts.worst_ulps)}};
  if (v.counts.random) j["random"] = v.counts.random;
  if (v.counts.let_through) j["let_through"] = v.counts.let_through;
  if (v.counts.refused_inside) j["refused_inside"] = v.counts.refused_inside;
  if (v.by_rule) j["by_rule"] = true;
  if (v.counts.shown.elements()) j["shown"] = to_json(v.counts.shown);
  if (!v.reason.empty()) j["reason"] = v.reason;
  if (v.unrounded) j["excess_precision"] = true;
  if (v.bias) j["bias"] = {{"elements", v.bias->elements}, {"toward", v.bias->toward_zero ? (v.bias->mean < 0 ? "zero" : "infinity") : v.bias->mean < 0 ? "negative" : "positive"}, {"mean", std::abs(v.bias->mean)}, {"root_mean_square", v.bias->root_mean_square}};
  if (v.refused_by_both) j["refused_by_both"] = true;
  if (v.refused_undefined) j["refused_undefined"] = true;
  if (!v.own_fault.empty()) j["own_fault"] = v.own_fault;
  if (!v.evidence.empty()) j["evidence"] = v.evidence;
  if (v.deviations) {
    j["deviations"] = json::array();
    for (const diff::DeviationSet& s : v.deviations->least) j["deviations"].push_back(to_json(s));
    if (!v.deviations->note.empty()) j["deviations_note"] = v.deviations->note;
  }
  if (explained) {
    json& x = j["explanation"] = {{"folder", explained->folder}};
    if (!explained->command.empty()) x["command"] = explained->command;
    if (!explained->script.empty()) x["script"] = explained->script;
    if (!explained->note.empty()) x["note"] = explained->note;
  }
  if (v.witness) j["witness"] = to_json(*v.witness);
  if (v.let_through) j["let_through_witness"] = to_json(*v.let_through);
  return j;
}

// One row per operator name.
struct Row {
  std::size_t calls = 0, refused = 0;
  diff::Counts counts;
  std::map<diff::Class, std::size_t> classes;
};

using diff::percent;

const char* paint(diff::Class c, bool colour) {
  if (!colour) return "";
  switch (diff::exit_status(c)) {
    case 0: return "\033[32m";
    case 1: return "\033[31m";
    default: return "\033[33m";
  }
}

void print_table(const diff::ModelCheck& m, bool colour) {
  std::map<std::string, Row> rows;
  for (const diff::NodeCheck& n : m.nodes) {
    Row& r = rows[n.op];
    ++r.calls;
    ++r.classes[n.verdict.verdict];
    r.refused += n.verdict.refused_by_both;
    r.counts.add(n.verdict.counts);
  }
  constexpr const char* Line = "{:<28} {:>6} {:>12} {:>9} {:>9} {:>9} {:>10} {:>17}  {}{}{}\n";
  fmt::print("{:<28} {:>6} {:>12} {:>9} {:>9} {:>9} {:>10} {:>17}  {}\n", "operator", "calls", "elements", "same bits", "allowed", "outside", "worst ULP", "shows above", "verdict");
  for (const auto& [op, r] : rows) {
    std::string verdict;
    diff::Class worst = diff::Class::Conforms;
    for (const auto& [c, count] : r.classes) {
      verdict += (verdict.empty() ? "" : ", ") + (r.classes.size() == 1 ? std::string(name_of(c)) : fmt::format("{} {}", count, name_of(c)));
      if (severity(c) > severity(worst)) worst = c;
    }
    if (r.refused) verdict += r.refused == r.calls ? " (refused by both)" : fmt::format(" ({} refused by both)", r.refused);
    if (r.counts.let_through) verdict += fmt::format(" ({} let through)", r.counts.let_through);
    if (r.counts.vacuous) verdict += fmt::format(" ({} vacuous)", r.counts.vacuous);
    if (r.counts.random) verdict += fmt::format(" ({} random: by range only)", r.counts.random);
    fmt::print(Line, one_line(op.size() > 28 ? op.substr(0, 25) + "..." : op), r.calls, r.counts.elements, percent(r.counts.equal, r.counts.elements), percent(r.counts.allowed, r.counts.elements),
               r.counts.outside, r.counts.worst_ulps > 0 ? fmt::format("{:.3g}", r.counts.worst_ulps) : "0", in_short(r.counts.shown), paint(worst, colour), verdict, colour ? "\033[0m" : "");
  }
}

void print_deviations(const diff::Deviations& d, const char* indent) {
  for (const diff::DeviationSet& s : d.least) {
    std::string meaning, needed;
    for (interp::Freedom f : s.freedoms) meaning += fmt::format("{}{}", meaning.empty() ? "" : "; ", interp::meaning_of(f));
    for (std::size_t k = 0; k < s.needed.size() && s.needed.size() > 1; ++k)
      if (!s.needed[k].empty()) needed += fmt::format("{}{} without {}", needed.empty() ? "; outside is " : ", ", one_line(s.needed[k]), k < s.freedoms.size() ? interp::name_of(s.freedoms[k]) : k == s.freedoms.size() && s.function_error > 0 ? "the absolute error" : "the ULP");
    fmt::print("{}{} with {}{}{}\n", indent, &s == d.least.data() ? "would conform" : "or", to_string(s), meaning.empty() ? "" : fmt::format(" ({})", meaning), needed);
  }
  if (!d.note.empty()) fmt::print("{}deviations: {}\n", indent, d.note);
}

std::string element_text(const diff::Grounds::Read& r) {
  return fmt::format("{}{} = {}", r.input, r.index.empty() ? "" : to_string(r.index), diff::show_element(r.type, r.bits));
}

void print_grounds(const diff::Witness& w, const char* indent) {
  constexpr std::size_t Shown = 8;
  const diff::Grounds& g = *w.grounds;
  std::string inputs;
  for (std::size_t k = 0; k < g.reads.size() && k < Shown; ++k) inputs += (k ? ", " : "") + element_text(g.reads[k]);
  if (g.read_count > static_cast<std::int64_t>(Shown)) inputs += fmt::format(", ... ({} elements)", g.read_count);
  if (!inputs.empty()) fmt::print("{}from {}\n", indent, one_line(inputs));
  if (g.terms > 0) {
    fmt::print("{}not allowed: it ends in a sum of {} terms, S = {:.3g} (their magnitudes): it is {:.3g} u S from the true value (u = 2^-{}, {}), and no order of adding them errs by more than {} u S{}\n", indent,
               g.terms, g.magnitude, g.distance, format_of(g.accumulator).precision(), name_of(g.accumulator), g.terms,
               g.accumulator == w.type ? "" : fmt::format(", with one rounding to {} after", name_of(w.type)));
  } else if (!g.ends_in.empty()) {
    fmt::print("{}not allowed: {}\n", indent, one_line(g.ends_in));
  }
}

void print_explained(const Explained& e, const char* indent) {
  if (!e.command.empty()) fmt::print("{}repeated by: {}\n", indent, one_line(e.command));
  if (!e.script.empty()) fmt::print("{}shown by: python3 {}\n", indent, one_line(e.script));
  if (!e.note.empty()) fmt::print("{}explanation: {}\n", indent, one_line(e.note));
}

void print_verdict(const diff::Verdict& v, const char* indent, const Explained* explained) {
  if (!v.reason.empty()) fmt::print("{}{}\n", indent, one_line(v.reason));
  if (v.witness && v.witness->clause) {
    const diff::Clause& c = *v.witness->clause;
    fmt::print("{}by {}:{}{}\n", indent, one_line(c.place.file), c.place.line, c.text.empty() ? "" : ": " + one_line(c.text.size() > 200 ? c.text.substr(0, 200) + "..." : c.text));
  }
  if (v.let_through) fmt::print("{}let through{}: {}\n", indent, v.counts.let_through > 1 ? fmt::format(", the worst of {} elements", v.counts.let_through) : "", one_line(to_string(*v.let_through)));
  if (v.witness && v.witness->grounds) print_grounds(*v.witness, indent);
  if (v.deviations) print_deviations(*v.deviations, indent);
  if (explained) print_explained(*explained, indent);
  // Of an internal error it is the reason.
  if (!v.own_fault.empty() && v.own_fault != v.reason) fmt::print("{}besides, {}\n", indent, printable(v.own_fault));
  if (!v.evidence.empty()) fmt::print("{}the backend says: {}\n", indent, indented(v.evidence.size() > 600 ? "..." + v.evidence.substr(v.evidence.size() - 600) : v.evidence, std::string(indent) + "  | "));
}

// The first registered fault that would explain it. Only names and types are compared, so it stays a hint.
const diff::KnownFault* known_fault(const BackendFacts& facts, const std::string& version, const std::string& op, const diff::Verdict& v) {
  diff::Finding finding{name_of(v.verdict), op, {}};
  if (v.witness) finding.type = v.witness->type;
  for (const diff::KnownFault& k : facts.known)
    if (explains(k, facts.name, version, finding)) return &k;
  return nullptr;
}

// Of a call: its own, else that of an operator in its graphs that its verdict is about.
const diff::KnownFault* known_fault(const BackendFacts& facts, const std::string& version, const diff::NodeCheck& n) {
  const diff::KnownFault* known = known_fault(facts, version, n.op, n.verdict);
  for (const diff::InnerCheck& i : n.inside)
    if (!known) known = known_fault(facts, version, i.op, i.verdict);
  return known;
}

bool worth_telling(const diff::Verdict& v, bool all) {
  if (v.refused_by_both || v.let_through) return true;
  return v.verdict != diff::Class::Conforms && (v.verdict != diff::Class::Vacuous || all);
}

// Of those that conform, too.
void print_biases(const diff::ModelCheck& m) {
  constexpr int Most = 8;
  int told = 0;
  const auto tell = [&](const std::string& what, const diff::Bias& b) {
    const char* where = b.toward_zero ? (b.mean < 0 ? "towards zero" : "away from zero") : b.mean < 0 ? "downwards" : "upwards";
    fmt::print("{}warning: {}: its errors lean {}, by {:.2g} of what is admitted on average, with a root mean square of {:.2g} over {} elements\n", told == 0 ? "\n" : "", what, where,
               std::abs(b.mean), b.root_mean_square, b.elements);
  };
  for (const diff::NodeCheck& n : m.nodes) {
    if (!n.verdict.bias) continue;
    if (told == Most) return fmt::print("warning: and more operators whose errors lean; --json has them all\n");
    tell(one_line(n.op) + (n.name.empty() ? fmt::format(" (node {})", n.node) : one_line(" \"" + n.name + "\"")), *n.verdict.bias);
    ++told;
  }
  if (m.nodes.empty() && m.whole.bias) tell("the model as a whole", *m.whole.bias);
}

void print_details(const diff::ModelCheck& m, const BackendFacts& facts, bool all, const Explanations& explained) {
  for (const diff::NodeCheck& n : m.nodes) {
    if (!worth_telling(n.verdict, all)) continue;
    fmt::print("\n{}: {}{} ({}){}\n", name_of(n.verdict.verdict), one_line(n.op), n.name.empty() ? "" : one_line(" \"" + n.name + "\""), one_line(n.place), n.exposure == diff::Exposure::Alone ? ", run alone" : "");
    print_verdict(n.verdict, "  ", find(explained, n.exhibit));
    for (const diff::InnerCheck& i : n.inside)
      if (const Explained* e = find(explained, i.exhibit)) print_explained(*e, "  ");
    if (const diff::KnownFault* k = known_fault(facts, m.backend_version, n)) fmt::print("  perhaps known: {} ({})\n", one_line(k->reason), one_line(k->link));
  }
}

std::string in_words(const diff::FromCanonical& d) {
  if (d.equal == d.elements) return fmt::format("all {} elements have the canonical bits", d.elements);
  return fmt::format("from canonical: at most {:.3g} ULP and {:.3g} absolute; {} of {} elements have its bits", d.worst_ulps, d.worst_absolute, d.equal, d.elements);
}

std::string operators_in_words(const diff::ModelCheck& m) {
  std::string text;
  for (const diff::Conditioning::Operator& o : m.conditioning->operators) text += fmt::format("{}{} (node {}, {:.2g}-fold)", text.empty() ? "" : ", ", one_line(o.name), o.node, o.growth);
  return text;
}

void print_conditioning(const diff::ModelCheck& m) {
  const diff::Conditioning& c = *m.conditioning;
  const std::string operators = operators_in_words(m);
  fmt::print("  {}: implementations of which every operator conforms may be {:.3g} apart in \"{}\", {:.2g} of its greatest value{}\n", c.ill ? "ill-conditioned on these inputs" : "conditioning", c.absolute, one_line(c.output),
             c.relative, operators.empty() ? "" : "; errors grow in " + operators);
}

void print_whole(const diff::ModelCheck& m, bool all, const Explanations& explained) {
  if (!m.exposing.empty()) fmt::print("\nwith intermediate values as outputs the backend {}: operators were run alone\n", one_line(m.exposing));
  fmt::print("\nuncut model: {}\n", one_line(m.note));
  for (const diff::RegionCheck& r : m.regions) {
    if (!worth_telling(r.verdict, all)) continue;
    fmt::print("  {}: {}\n", name_of(r.verdict.verdict), one_line(r.operators));
    print_verdict(r.verdict, "    ", find(explained, r.exhibit));
  }
  // What both refuse has been told with the operator, if it is one operator's.
  const bool told = std::any_of(m.nodes.begin(), m.nodes.end(), [](const diff::NodeCheck& n) { return n.verdict.refused_by_both; });
  if (m.regions.empty() && (m.whole.verdict != diff::Class::Conforms || m.whole.let_through || (m.whole.refused_by_both && !told))) {
    fmt::print("  {}\n", name_of(m.whole.verdict));
    print_verdict(m.whole, "    ", find(explained, m.exhibit));
  }
  if (m.from_canonical) fmt::print("  {}\n", in_words(*m.from_canonical));
  if (m.conditioning) print_conditioning(m);
}

std::string verdict_in_words(const diff::ModelCheck& m) {
  const diff::Class c = m.overall();
  if (m.whole.refused_by_both && diff::exit_status(c) == 0) return m.whole.reason;
  if (c == diff::Class::Vacuous) return "vacuous: the standard says nothing on these inputs";
  switch (diff::exit_status(c)) {
    case 0: return fmt::format("conforms to {}", m.profile);
    case 1: {
      const auto least = m.least_deviations();
      return fmt::format("does not conform to {} ({}{})", m.profile, name_of(c), least ? fmt::format("; conforms to {} + {}", m.profile, to_string(*least)) : "");
    }
    default: return c == diff::Class::Undecided ? std::string(name_of(c)) : fmt::format("undecided ({})", name_of(c));
  }
}

// Of a profile that judges by closeness: what its rule and the sets disagree on.
std::string rule_in_words(const diff::ModelCheck& m) {
  diff::Counts counts;
  for (const diff::NodeCheck& n : m.nodes) counts.add(n.verdict.counts);
  for (const diff::RegionCheck& r : m.regions) counts.add(r.verdict.counts);
  if (m.nodes.empty() && m.regions.empty()) counts = m.whole.counts;
  std::string text;
  if (counts.let_through) text += fmt::format("; its rule lets {} through that the definitions do not admit", counted(counts.let_through, "element"));
  if (counts.refused_inside) text += fmt::format("; its rule refuses {} that the definitions admit", counted(counts.refused_inside, "element"));
  return text;
}

// Of all calls; of a model that is one unit, its own.
diff::Counts counts_of(const diff::ModelCheck& m) {
  if (m.nodes.empty()) return m.whole.counts;
  diff::Counts all;
  for (const diff::NodeCheck& n : m.nodes) all.add(n.verdict.counts);
  return all;
}

std::string verdicts_in_words(const diff::ModelCheck& m) {
  std::string text = verdict_in_words(m) + rule_in_words(m);
  if (m.nodes.empty()) return m.whole.counts.vacuous && m.overall() != diff::Class::Vacuous ? text + fmt::format(" ({} of {} elements vacuous)", m.whole.counts.vacuous, m.whole.counts.elements) : text;
  std::size_t conforming = 0, refused = 0, vacuous = 0, unrounded = 0, own_faults = !m.whole.own_fault.empty();
  for (const diff::NodeCheck& n : m.nodes) {
    refused += n.verdict.refused_by_both;
    conforming += n.verdict.verdict == diff::Class::Conforms && !n.verdict.refused_by_both;
    vacuous += n.verdict.verdict == diff::Class::Vacuous;
    unrounded += n.verdict.unrounded;
    own_faults += !n.verdict.own_fault.empty();
  }
  text += fmt::format(": {} of {} operator calls conform", conforming, m.nodes.size());
  if (refused) text += fmt::format(", {} refused by both", refused);
  if (vacuous) text += fmt::format(", {} vacuous", vacuous);
  if (m.whole.refused_by_both) return text;
  if (unrounded) text += fmt::format(", {} by excess_precision", unrounded);
  text += "; the uncut model ";
  if (m.transfers) text += "has the same bits";
  else if (m.whole.verdict == diff::Class::Conforms) {
    text += fmt::format("conforms, {} as units", m.regions.size() == 1 ? "1 region judged" : fmt::format("{} regions judged", m.regions.size()));
    if (const auto by = std::ranges::count_if(m.regions, [](const diff::RegionCheck& r) { return r.verdict.unrounded; })) text += fmt::format(", {} by excess_precision", by);
  }
  else if (m.whole.verdict == diff::Class::Violation) text += "violates";
  else text += std::string(diff::exit_status(m.whole.verdict) == 3 || m.whole.verdict == diff::Class::Vacuous ? "is " : "") + std::string(name_of(m.whole.verdict));
  if (own_faults) text += fmt::format("; Ulpian contradicts itself in {}", own_faults == 1 ? "1 place" : fmt::format("{} places", own_faults));
  return text;
}

std::string headline(const diff::ModelCheck& m) {
  const diff::Counts all = counts_of(m);
  const std::string shown = in_words(all.shown, all.elements);
  return verdicts_in_words(m) + (shown.empty() ? "" : "; " + shown);
}

// `{"a": 1, "b": "x"}` as `a 1, b x`
std::string options_in_words(const BackendFacts& facts) {
  std::string text;
  for (const auto& [key, value] : facts.details) {
    if (key != "options") continue;
    const json options = json::parse(value, nullptr, false);
    if (!options.is_object()) return value;
    for (const auto& [name, set] : options.items())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, set.is_string() ? set.get<std::string>() : set.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  return text;
}

json to_json(const diff::ModelCheck& m, const BackendFacts& facts, const std::string& sample, const Explanations& explained) {
  json j{{"backend", m.backend}, {"backend_version", m.backend_version}, {"profile", m.profile}, {"inputs", sample}, {"verdict", name_of(m.overall())},
         {"model", to_json(m.whole, find(explained, m.exhibit))}, {"transfers", m.transfers}, {"note", m.note}, {"restarts", m.restarts}, {"operators", json::array()}, {"regions", json::array()}};
  if (!m.exposing.empty()) j["exposing"] = m.exposing;
  if (const auto least = m.least_deviations()) j["deviations"] = to_json(*least);
  if (m.conditioning) {
    json& c = j["conditioning"] = {{"ill_conditioned", m.conditioning->ill}, {"output", m.conditioning->output}, {"absolute", finite(m.conditioning->absolute)}, {"relative", finite(m.conditioning->relative)}, {"operators", json::array()}};
    for (const diff::Conditioning::Operator& o : m.conditioning->operators) c["operators"].push_back({{"node", o.node}, {"operator", o.name}, {"growth", finite(o.growth)}});
  }
  if (const diff::Counts all = counts_of(m); all.shown.elements()) j["shown"] = to_json(all.shown);
  if (m.from_canonical)
    j["from_canonical"] = {{"elements", m.from_canonical->elements}, {"equal", m.from_canonical->equal}, {"worst_ulps", finite(m.from_canonical->worst_ulps)}, {"worst_absolute", finite(m.from_canonical->worst_absolute)}};
  if (!m.nodes.empty()) j["seconds"] = {{"canonical", m.times.canonical}, {"verdicts", m.times.verdicts}, {"opinions", m.times.opinions}, {"deviations", m.times.deviations}, {"regions", m.times.regions}};
  for (const auto& [key, value] : facts.details) j["backend_details"][key] = json::parse(value, nullptr, false);
  for (const diff::NodeCheck& n : m.nodes) {
    json o = to_json(n.verdict, find(explained, n.exhibit));
    o["node"] = n.node;
    o["op"] = n.op;
    o["name"] = n.name;
    o["place"] = n.place;
    o["alone"] = n.exposure == diff::Exposure::Alone;
    for (const diff::InnerCheck& i : n.inside) {
      json inner = to_json(i.verdict, find(explained, i.exhibit));
      inner.update({{"where", i.where}, {"op", i.op}, {"name", i.name}, {"place", i.place}});
      if (const diff::KnownFault* k = known_fault(facts, m.backend_version, i.op, i.verdict)) inner["known"] = {{"reason", k->reason}, {"link", k->link}};
      o["inside"].push_back(std::move(inner));
    }
    if (const diff::KnownFault* k = known_fault(facts, m.backend_version, n)) o["known"] = {{"reason", k->reason}, {"link", k->link}};
    j["operators"].push_back(std::move(o));
  }
  for (const diff::RegionCheck& r : m.regions) {
    json o = to_json(r.verdict, find(explained, r.exhibit));
    o["nodes"] = r.nodes;
    o["operators"] = r.operators;
    j["regions"].push_back(std::move(o));
  }
  return j;
}

}  // namespace

std::string json_report(const std::string& model, const BackendFacts& facts, const std::vector<std::pair<diff::ModelCheck, std::string>>& checks, int exit_status, const Explanations& explained) {
  json all = json::array();
  for (const auto& [check, sample] : checks) all.push_back(to_json(check, facts, sample, explained));
  return json{{"model", model}, {"checks", all}, {"exit_status", exit_status}}.dump(2, ' ', false, json::error_handler_t::replace);
}

void print_check(const diff::ModelCheck& m, const BackendFacts& facts, const std::string& sample, bool all, const Explanations& explained, bool short_of_it) {
  const bool colour = is_terminal(STDOUT_FILENO);
  if (!m.nodes.empty() && !short_of_it) {
    print_table(m, colour);
    print_details(m, facts, all, explained);
  }
  if (!short_of_it) print_biases(m);
  if (!short_of_it) print_whole(m, all, explained);
  if (const std::string options = options_in_words(facts); !options.empty() && !short_of_it) fmt::print("options: {}\n", one_line(options));
  fmt::print("{}{}{}{}, on {}: {}\n", paint(m.overall(), colour), one_line(m.backend), m.backend_version.empty() ? "" : one_line(" " + m.backend_version), colour ? "\033[0m" : "", one_line(sample), one_line(headline(m)));
}

void print_all_samples(const std::vector<std::pair<diff::ModelCheck, std::string>>& checks) {
  std::map<diff::Class, std::size_t> classes;
  std::vector<const diff::Verdict*> verdicts;
  diff::Counts counts;
  diff::Class worst = diff::Class::Conforms;
  for (const auto& [m, sample] : checks) {
    ++classes[m.overall()];
    if (severity(m.overall()) > severity(worst)) worst = m.overall();
    m.list_verdicts(verdicts);
    counts.add(counts_of(m));
  }
  std::string text;
  for (const auto& [c, count] : classes) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(c));
  const auto least = diff::exit_status(worst) == 1 ? diff::least_together(verdicts) : std::nullopt;
  if (least) text += fmt::format("; all conform to {} + {}", checks.front().first.profile, to_string(*least));
  if (const std::string shown = in_words(counts.shown, counts.elements); !shown.empty()) text += "; " + shown;
  const bool colour = is_terminal(STDOUT_FILENO);
  fmt::print("{}all {} samples{}: {}\n", paint(worst, colour), checks.size(), colour ? "\033[0m" : "", text);
}

}  // namespace ulpian::tools
