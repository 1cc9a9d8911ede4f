// ulpian spec check --mutants: which one-token changes of a definition its examples notice.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/core/file.h"
#include "tools/mutants/measure.h"
#include "tools/ulpian/printable.h"
#include "tools/ulpian/spec_parts.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;

struct Totals {
  std::size_t noticed = 0, counted = 0, below = 0, definitions = 0;
};

json to_json(const MutationScore& s) {
  json unnoticed = json::array(), contract = json::array(), same = json::array();
  std::size_t invalid = 0;
  for (const Mutant& m : s.mutants) {
    if (m.fate == Fate::Invalid) ++invalid;
    else if (!m.noticed()) (m.fate == Fate::Same ? same : m.mutation.contract || m.fate == Fate::Contract ? contract : unnoticed).push_back({{"line", m.mutation.at.line}, {"column", m.mutation.at.column}, {"change", m.mutation.change}, {"answers", name_of(m.fate)}});
  }
  return {{"name", s.name}, {"file", s.file}, {"line", s.line}, {"changes", s.all}, {"tried", s.mutants.size()}, {"no_definition", invalid},
          {"mutants", s.counted()}, {"noticed", s.noticed()}, {"percent", std::floor(s.percent() * 10) / 10}, {"unnoticed", unnoticed}, {"same", same}, {"contract_unnoticed", contract}};
}

void print(const MutationScore& s) {
  const auto same = std::count_if(s.mutants.begin(), s.mutants.end(), [](const Mutant& m) { return m.fate == Fate::Same && !m.mutation.contract; });
  fmt::print("{}: {} of {} mutants noticed ({:.0f} %){}{}\n", printable(s.name), s.noticed(), s.counted(), std::floor(s.percent()), same ? fmt::format(", {} more mean the same", same) : "",
             s.all > s.mutants.size() ? fmt::format("; {} of {} changes tried", s.mutants.size(), s.all) : "");
  for (const Mutant& m : s.mutants)
    if (!m.noticed() && !m.mutation.contract && (m.fate == Fate::Equal || m.fate == Fate::AllowedDiffers || m.fate == Fate::Within))
      fmt::print("  {}:{}:{}: {}; {}\n", printable(s.file), m.mutation.at.line, m.mutation.at.column, printable(m.mutation.change), name_of(m.fate));
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
  Progress progress(common, "mutant", 0);
  auto scores = measure_mutants(specification, files, definitions, options, [&](std::size_t done, std::size_t total, const std::string& name) {
    progress.at(done, fmt::format("of {}: {}", total, name));
  });
  progress.done();
  if (!scores) return report(scores.error(), common);
  std::sort(scores->begin(), scores->end(), [](const MutationScore& a, const MutationScore& b) {
    return std::tuple(a.percent(), std::string_view(a.name)) < std::tuple(b.percent(), std::string_view(b.name));
  });
  Totals t;
  json all = json::array();
  for (const MutationScore& s : *scores) {
    t.noticed += s.noticed();
    t.counted += s.counted();
    t.below += s.percent() < o.least;
    if (common.json) all.push_back(to_json(s));
    else print(s);
  }
  if (common.json)
    fmt::print("{}\n", json{{"mutants", t.counted}, {"noticed", t.noticed}, {"least", o.least}, {"below", t.below}, {"definitions", all}}.dump(2, ' ', false, json::error_handler_t::replace));
  else
    fmt::print("{} of {} mutants of {} definitions noticed ({:.1f} %){}\n", t.noticed, t.counted, scores->size(),
               t.counted ? 100.0 * static_cast<double>(t.noticed) / static_cast<double>(t.counted) : 100.0,
               o.least > 0 ? fmt::format("; {} below {} %", t.below, o.least) : "");
  return t.below ? Nonconforming : Success;
}

}  // namespace ulpian::tools
