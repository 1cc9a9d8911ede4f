// ulpian spec check --prove: what holds of each definition for all extents.
#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/ulpian/printable.h"
#include "tools/ulpian/spec_parts.h"

#ifdef ULPIAN_HAS_Z3
#include "tools/prove/proof.h"
#endif

namespace ulpian::tools {

#ifdef ULPIAN_HAS_Z3
namespace {

using nlohmann::json;

std::size_t total(const std::map<ObligationKind, std::size_t>& counts) {
  std::size_t n = 0;
  for (const auto& [kind, count] : counts) n += count;
  return n;
}

json counts_of(const std::map<ObligationKind, std::size_t>& counts) {
  json out = json::object();
  for (const auto& [kind, count] : counts) out[std::string(name_of(kind))] = count;
  return out;
}

json to_json(const ProofReport& r) {
  json reasons = json::array(), faults = json::array();
  for (const auto& [text, count] : r.reasons) reasons.push_back({{"reason", text}, {"count", count}});
  for (const Fault& f : r.faults) faults.push_back({{"what", f.what}, {"file", f.place.file}, {"line", f.place.line}, {"column", f.place.column}, {"call", f.call}, {"message", f.message}});
  return {{"name", r.name}, {"file", r.file}, {"line", r.line}, {"standing", name_of(r.standing)}, {"calls", r.calls}, {"refused", r.refused}, {"programs", r.programs},
          {"proved", counts_of(r.proved)}, {"by_form", counts_of(r.by_form)}, {"unknown", counts_of(r.unknown)}, {"reasons", reasons}, {"faults", faults}};
}

void print(const ProofReport& r) {
  fmt::print("{}: {}; {} programs of {} calls, {} obligations proved, {} by their form{}\n", printable(r.name), name_of(r.standing), r.programs, r.calls - r.refused,
             total(r.proved), total(r.by_form), total(r.unknown) ? fmt::format(", {} not", total(r.unknown)) : "");
  for (const Fault& f : r.faults)
    fmt::print("  {}:{}:{}: {}\n    breaks with {}: {}\n", printable(f.place.file), f.place.line, f.place.column, printable(f.what), printable(f.call), printable(f.message));
  for (const auto& [text, count] : r.reasons) fmt::print("  {} x: {}\n", count, printable(text));
}

}  // namespace

int check_proofs(const std::shared_ptr<const language::Specification>& specification, const Definitions& definitions, const SpecCheckOptions& o, const Common& common) {
  ProofOptions options;
  if (o.seconds > 0) options.limits.milliseconds = static_cast<unsigned>(std::min(o.seconds * 1000, 4e9));
  const auto threads = static_cast<std::size_t>(o.threads > 0 ? o.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  std::vector<std::optional<Result<ProofReport>>> reports(definitions.size());
  std::atomic<std::size_t> next{0}, done{0};
  Progress progress(common, "definition", definitions.size());
  auto worker = [&](bool shows) {
    for (std::size_t k = next++; k < definitions.size(); k = next++) {
      if (shows) progress.at(done, definitions[k]->name);
      reports[k].emplace(prove(*specification, *definitions[k], options));
      ++done;
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < std::min(threads, definitions.size()); ++t) pool.emplace_back(worker, false);
  worker(true);
  for (std::thread& t : pool) t.join();
  progress.done();
  std::map<Standing, std::size_t> standings;
  json all = json::array();
  for (const auto& r : reports) {
    if (!*r) return report(r->error(), common);
    ++standings[r->value().standing];
    if (common.json) all.push_back(to_json(r->value()));
    else print(r->value());
  }
  if (common.json)
    fmt::print("{}\n", json{{"proved", standings[Standing::Proved]}, {"sampled", standings[Standing::Sampled]}, {"refuted", standings[Standing::Refuted]}, {"definitions", all}}.dump(2, ' ', false, json::error_handler_t::replace));
  else
    fmt::print("{} definitions: {} proved, {} sampled only, {} refuted\n", reports.size(), standings[Standing::Proved], standings[Standing::Sampled], standings[Standing::Refuted]);
  return standings[Standing::Refuted] ? Nonconforming : Success;
}

#else

int check_proofs(const std::shared_ptr<const language::Specification>&, const Definitions&, const SpecCheckOptions&, const Common& common) {
  Diagnostic d;
  d.kind = ErrorKind::Usage;
  d.message = "this program was built without Z3";
  d.hint = "run tools/setup, configure and build again";
  return report(d, common);
}

#endif

}  // namespace ulpian::tools
