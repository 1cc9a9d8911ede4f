// ulpian audit: is an elementary function what it should be, on all arguments of f32?
#include <algorithm>
#include <bit>
#include <chrono>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/audit/sweep.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/options.h"
#include "tools/ulpian/printable.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> own;
  std::uint32_t sample = 1;
};

struct Audited {
  Primitive function{};
  audit::Sweep sweep;
  double seconds = 0;
};

std::string number_of(std::uint32_t bits) { return fmt::format("{:a}", std::bit_cast<float>(bits)); }

json to_json(const Audited& a) {
  json wrong = json::array();
  for (const audit::Wrong& w : a.sweep.examples)
    wrong.push_back({{"argument", number_of(w.argument)}, {"got", number_of(w.got)}, {"expected", number_of(w.expected)}});
  json out{{"function", name_of(a.function)}, {"type", "f32"}, {"arguments", a.sweep.arguments}, {"complete", a.sweep.complete}, {"wrong", a.sweep.wrong},
           {"judged_singly", a.sweep.singly}, {"seconds", a.seconds}, {"examples", wrong}};
  if (a.sweep.complete) out["digest"] = fmt::format("{:016x}", a.sweep.digest);
  return out;
}

void print(const Audited& a) {
  const std::string_view name = name_of(a.function);
  fmt::print("{}: {} of {} arguments{} not rounded correctly; {:.0f} s{}\n", name, a.sweep.wrong, a.sweep.arguments, a.sweep.complete ? "" : " (a sample)", a.seconds,
             a.sweep.complete ? fmt::format("; digest {:016x}", a.sweep.digest) : "");
  for (const audit::Wrong& w : a.sweep.examples)
    fmt::print("  {}({}) is {}, but must be {}\n", name, number_of(w.argument), number_of(w.got), number_of(w.expected));
}

Result<std::vector<Primitive>> functions_of(const std::vector<std::string>& names) {
  std::vector<Primitive> all, chosen;
  std::string known;
  for (int k = 0; k < PrimitiveCount; ++k) {
    const auto p = static_cast<Primitive>(k);
    if (row_of(p).kind != PrimitiveKind::Elementary || row_of(p).arity != 1 || !audit::can_sweep(p)) continue;
    all.push_back(p);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(p));
  }
  for (const std::string& name : names) {
    if (name == "all") {
      chosen = all;
      continue;
    }
    const auto p = primitive_named(name, 1);
    if (!p || std::find(all.begin(), all.end(), *p) == all.end()) {
      Diagnostic d;
      d.kind = ErrorKind::Usage;
      d.message = fmt::format("{} is no function that can be audited", printable(name));
      d.hint = fmt::format("there are {}, and all", known);
      return d;
    }
    chosen.push_back(*p);
  }
  return chosen;
}

int run_audit(const Options& o, const Common& common) {
  const auto functions = functions_of(o.own);
  if (!functions) return report(functions.error(), common);
  std::uint64_t wrong = 0;
  json all = json::array();
  for (const Primitive p : *functions) {
    Progress progress(common, std::string(name_of(p)), 100);
    audit::SweepOptions options;
    options.stride = o.sample;
    options.threads = static_cast<unsigned>(common.threads);
    options.progress = [&](double share) { progress.at(static_cast<std::size_t>(100 * share), "% of its arguments"); };
    const auto start = std::chrono::steady_clock::now();
    if (common.seconds > 0) options.stop = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > common.seconds; };
    Audited a{p, audit::sweep(p, audit::own(p), options), 0};
    a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.done();
    wrong += a.sweep.wrong;
    if (common.json) all.push_back(to_json(a));
    else print(a);
    std::fflush(stdout);
  }
  if (common.json) fmt::print("{}\n", json{{"functions", all}, {"wrong", wrong}}.dump(2));
  return wrong == 0 ? Success : Nonconforming;
}

}  // namespace

void add_audit(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("audit", "Elementary functions on all 2^32 arguments of f32, against proven bounds.\n");
  c->footer(
      "Each result is held to the real function rounded once: Arb encloses it on blocks of 4096 arguments by a polynomial with a proven error, MPFR\n"
      "settles what the bounds leave open. About a minute a function on two cores. The digest is of all results in the arguments' order.\n"
      "Examples:\n"
      "  ulpian audit --own exp --threads 2       all arguments\n"
      "  ulpian audit --own all --sample 64       every 64th block of them\n"
      "Exit status: 0 all correctly rounded, 1 some are not, 2 usage.\n");
  c->add_option("--own", options->own, "Our own function of this name, as the interpreter computes it; `all` for each")->type_name("FUNCTION")->allow_extra_args(false)->required()->check(not_empty());
  c->add_option("--sample", options->sample, "Only every N-th block of arguments")->type_name("N")->check(CLI::Range(1, 1 << 20));
  c->add_flag("--json", common.json, "Print the result as JSON on standard output");
  c->add_flag("--quiet,-q", common.quiet, "No progress");
  c->add_option("--time-limit", common.seconds, "Seconds for each function; what was judged until then is told")->type_name("SECONDS")->check(number_between(0, 1e9));
  c->add_option("--threads", common.threads, "Threads; the digest does not depend on their number")->type_name("N")->check(CLI::Range(1, 1024))->capture_default_str();
  c->callback([options, &common, &chosen] { chosen = [options, &common] { return run_audit(*options, common); }; });
}

}  // namespace ulpian::tools
