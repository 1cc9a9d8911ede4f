// ulpian spec check --mutants: which one-token changes of a definition its examples notice.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/core/file.h"
#include "tools/mutants/explained.h"
#include "tools/ulpian/places.h"
#include "tools/ulpian/printable.h"
#include "tools/ulpian/spec_parts.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;

constexpr double UsualLeast = 90;

json to_json(const Mutant& m) {
  json out{{"line", m.mutation.at.line}, {"column", m.mutation.at.column}, {"change", m.mutation.change}, {"answers", name_of(m.fate)}};
  if (!m.explanation.empty()) out["explanation"] = m.explanation;
  return out;
}

json to_json(const MutationScore& s) {
  json unnoticed = json::array(), contract = json::array(), same = json::array();
  std::size_t invalid = 0;
  for (const Mutant& m : s.mutants) {
    if (m.fate == Fate::Invalid) ++invalid;
    else if (m.fate == Fate::Same) same.push_back(to_json(m));
    else if (m.survives()) (m.of_contract() ? contract : unnoticed).push_back(to_json(m));
  }
  return {{"name", s.name}, {"file", s.file}, {"line", s.line}, {"changes", s.all}, {"tried", s.mutants.size()}, {"no_definition", invalid},
          {"mutants", s.counted()}, {"noticed", s.noticed()}, {"percent", std::floor(s.percent() * 10) / 10}, {"unnoticed", unnoticed}, {"same", same},
          {"contract_mutants", s.contract_counted()}, {"contract_noticed", s.contract_noticed()}, {"contract_unnoticed", contract}};
}

bool listed(const Mutant& m) { return m.survives() && !m.of_contract(); }
std::size_t explained(const MutationScore& s) {
  return static_cast<std::size_t>(std::count_if(s.mutants.begin(), s.mutants.end(), [](const Mutant& m) { return listed(m) && !m.explanation.empty(); }));
}

void print(const MutationScore& s) {
  const auto same = std::count_if(s.mutants.begin(), s.mutants.end(), [](const Mutant& m) { return m.fate == Fate::Same && !m.mutation.contract; });
  std::string more;
  if (const std::size_t survivors = s.counted() - s.noticed()) more += fmt::format(", {} survive, {} of them explained", survivors, explained(s));
  if (s.contract_counted()) more += fmt::format("; of what is allowed besides, {} of {}", s.contract_noticed(), s.contract_counted());
  if (same) more += fmt::format("; {} more mean the same", same);
  if (s.all > s.mutants.size()) more += fmt::format("; {} of {} changes tried", s.mutants.size(), s.all);
  fmt::print("{}: {} of {} mutants noticed ({:.0f} %){}\n", printable(s.name), s.noticed(), s.counted(), std::floor(s.percent()), more);
  for (const Mutant& m : s.mutants)
    if (listed(m))
      fmt::print("  {}:{}:{}: {}; {}{}\n", printable(s.file), m.mutation.at.line, m.mutation.at.column, printable(m.mutation.change), name_of(m.fate),
                 m.explanation.empty() ? "" : ": " + printable(m.explanation));
}

struct Totals {
  std::size_t noticed = 0, counted = 0, explained = 0, contract_noticed = 0, contract_counted = 0;
  std::vector<std::string> below;
};

Totals totals_of(const std::vector<MutationScore>& scores, double least) {
  Totals t;
  for (const MutationScore& s : scores) {
    t.noticed += s.noticed();
    t.counted += s.counted();
    t.explained += explained(s);
    t.contract_noticed += s.contract_noticed();
    t.contract_counted += s.contract_counted();
    if (s.percent() < least) t.below.push_back(fmt::format("{} ({:.0f} %)", s.name, std::floor(s.percent())));
  }
  return t;
}

void print(const Totals& t, std::size_t definitions, double least) {
  auto percent = [](std::size_t part, std::size_t all) { return all ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 100.0; };
  fmt::print("{} of {} mutants of {} definitions noticed ({:.1f} %); {} survivors, {} explained\n", t.noticed, t.counted, definitions, percent(t.noticed, t.counted),
             t.counted - t.noticed, t.explained);
  fmt::print("of what is allowed besides the canonical answer: {} of {} ({:.1f} %)\n", t.contract_noticed, t.contract_counted, percent(t.contract_noticed, t.contract_counted));
  if (t.below.empty()) fmt::print("every definition >= {} %\n", least);
  else fmt::print("below {} %: {}\n", least, printable(fmt::format("{}", fmt::join(t.below, "; "))));
}

Result<std::vector<Explanation>> load_explanations(const std::string& file) {
  const std::string path = file.empty() ? own_file("tools/mutants/explained.json") : file;
  auto bytes = read_file(path, 4u << 20);
  if (!bytes) return std::move(bytes).error();
  return read_explanations(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), path);
}

}  // namespace

int check_mutants(const std::shared_ptr<const language::Specification>& specification, const Definitions& definitions, const SpecCheckOptions& o, const Common& common) {
  std::vector<language::SourceText> files;
  for (const std::string& file : common.spec_files) {
    auto bytes = read_file(file, 4u << 20);
    if (!bytes) return report(bytes.error(), common);
    files.push_back({file, std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())});
  }
  MutationOptions options;
  options.threads = o.threads > 0 ? o.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (o.seconds > 0) options.seconds = o.seconds;
  options.sample = o.sample;
  options.seed = o.seed;
  auto explanations = load_explanations(o.explained);
  if (!explanations) return report(explanations.error(), common);
  Progress progress(common, "mutant", 0);
  auto scores = measure_mutants(specification, files, definitions, options, [&](std::size_t done, std::size_t total, const std::string& name) {
    progress.at(done, fmt::format("of {}: {}", total, name));
  });
  progress.done();
  if (!scores) return report(scores.error(), common);
  std::sort(scores->begin(), scores->end(), [](const MutationScore& a, const MutationScore& b) {
    return std::tuple(a.percent(), std::string_view(a.name)) < std::tuple(b.percent(), std::string_view(b.name));
  });
  const auto stale = explain(*scores, *explanations);
  const double least = o.least > 0 ? o.least : UsualLeast;
  const Totals t = totals_of(*scores, least);
  if (common.json) {
    json all = json::array(), nothing_left = json::array();
    for (const MutationScore& s : *scores) all.push_back(to_json(s));
    for (const Explanation& e : stale) nothing_left.push_back({{"definition", e.definition}, {"line", e.line}, {"changes", e.changes}, {"reason", e.reason}});
    fmt::print("{}\n", json{{"mutants", t.counted}, {"noticed", t.noticed}, {"survivors", t.counted - t.noticed}, {"explained", t.explained}, {"contract_mutants", t.contract_counted},
                            {"contract_noticed", t.contract_noticed}, {"least", least}, {"below", t.below.size()}, {"nothing_to_explain", nothing_left}, {"definitions", all}}
                           .dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    for (const MutationScore& s : *scores) print(s);
    for (const Explanation& e : stale) fmt::print("nothing to explain in {}: {}: {}\n", printable(e.definition), printable(e.line), printable(e.reason));
    print(t, scores->size(), least);
  }
  return o.least > 0 && !t.below.empty() ? Nonconforming : Success;
}

}  // namespace ulpian::tools
