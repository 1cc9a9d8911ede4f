// ulpian audit: is an elementary function what it should be, on all arguments of f32, on a sample of f64's and of pairs?
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/audit/sample.h"
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
  std::string type = "f32";
  std::uint64_t count = 1000000;
  std::uint64_t seed = 1;
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

struct AuditedSample {
  Primitive function{};
  ElementType type{};
  audit::Sample sample;
  double seconds = 0;
};

json to_json(const AuditedSample& a) {
  json wrong = json::array();
  for (const auto& e : a.sample.examples) {
    wrong.push_back({{"argument", fmt::format("{:a}", e.argument)}, {"got", fmt::format("{:a}", e.got)}, {"expected", fmt::format("{:a}", e.expected)}});
    if (row_of(a.function).arity == 2) wrong.back()["second"] = fmt::format("{:a}", e.second);
  }
  return {{"function", name_of(a.function)}, {"type", name_of(a.type)}, {"arguments", a.sample.arguments}, {"complete", a.sample.complete}, {"wrong", a.sample.wrong},
          {"not_nearest", a.sample.not_nearest}, {"most_ulp", audit::most_ulps(a.type)}, {"worst_ulp", std::isfinite(a.sample.worst) ? json(a.sample.worst) : json(nullptr)},
          {"seconds", a.seconds}, {"examples", wrong}};
}

void print(const AuditedSample& a) {
  const bool two = row_of(a.function).arity == 2;
  fmt::print("{} on {}: {} of {} {} wrong (more than {} ULP away); {} results are not the nearest number{}; {:.0f} s\n", name_of(a.function), name_of(a.type), a.sample.wrong,
             a.sample.arguments, two ? "pairs" : "arguments", audit::most_ulps(a.type), a.sample.not_nearest,
             a.sample.not_nearest == 0 || !std::isfinite(a.sample.worst) ? "" : fmt::format(", the worst is {:.7f} ULP away", a.sample.worst), a.seconds);
  for (const auto& e : a.sample.examples)
    fmt::print("  {}({:a}{}) is {:a}, but {:a} is the nearest\n", name_of(a.function), e.argument, two ? fmt::format(", {:a}", e.second) : "", e.got, e.expected);
}

Result<std::vector<Primitive>> functions_of(const std::vector<std::string>& names) {
  std::vector<Primitive> all, chosen;
  std::string known;
  for (int k = 0; k < PrimitiveCount; ++k) {
    const auto p = static_cast<Primitive>(k);
    if (!audit::can_sample(p)) continue;
    all.push_back(p);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(p));
  }
  for (const std::string& name : names) {
    if (name == "all") {
      chosen = all;
      continue;
    }
    auto p = primitive_named(name, 1);
    if (!p) p = primitive_named(name, 2);
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
    const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    if (common.seconds > 0) options.stop = [&] { return seconds() > common.seconds; };
    if (o.type == "f64" || row_of(p).arity == 2) {
      const ElementType type = o.type == "f64" ? ElementType::F64 : ElementType::F32;
      AuditedSample a{p, type, audit::sample(p, type, audit::own_sample(p, type), {o.count, o.seed, options.threads, options.examples, options.progress, options.stop}), 0};
      a.seconds = seconds();
      progress.done();
      wrong += a.sample.wrong;
      if (common.json) all.push_back(to_json(a));
      else print(a);
      std::fflush(stdout);
      continue;
    }
    Audited a{p, audit::sweep(p, audit::own(p), options), 0};
    a.seconds = seconds();
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
  CLI::App* c = app.add_subcommand("audit", "Elementary functions on all 2^32 arguments of f32, or a sample of f64's and of pairs, against proven bounds.\n");
  c->footer(
      "Each result is held to the real function rounded once: Arb encloses it on blocks of 4096 arguments by a polynomial with a proven error, MPFR\n"
      "settles what the bounds leave open. About a minute a function on two cores. The digest is of all results in the arguments' order.\n"
      "On f64, and of functions of two arguments, a sample: which number is the nearest says MPFR, how far another one is says Arb; no result is to be\n"
      "more than 0.5001 ULP away on f64, and each the nearest on f32.\n"
      "Examples:\n"
      "  ulpian audit --own exp --threads 2       all arguments\n"
      "  ulpian audit --own all --sample 64       every 64th block of them\n"
      "  ulpian audit --own sin --type f64 --count 10000000\n"
      "  ulpian audit --own pow --count 1000000   pairs of f32\n"
      "Exit status: 0 all as they should be, 1 some are not, 2 usage.\n");
  c->add_option("--own", options->own, "Our own function of this name, as the interpreter computes it; `all` for each")->type_name("FUNCTION")->allow_extra_args(false)->required()->check(not_empty());
  c->add_option("--sample", options->sample, "Only every N-th block of arguments")->type_name("N")->check(CLI::Range(1, 1 << 20));
  c->add_option("--type", options->type, "The type of the arguments: f32 (all, or pairs by a sample), or f64 by a sample")->check(CLI::IsMember({"f32", "f64"}))->capture_default_str();
  c->add_option("--count", options->count, "f64, or pairs: how many")->type_name("N")->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))->capture_default_str();
  c->add_option("--seed", options->seed, "f64, or pairs: of the arguments")->type_name("N")->capture_default_str();
  c->add_flag("--json", common.json, "Print the result as JSON on standard output");
  c->add_flag("--quiet,-q", common.quiet, "No progress");
  c->add_option("--time-limit", common.seconds, "Seconds for each function; what was judged until then is told")->type_name("SECONDS")->check(number_between(0, 1e9));
  c->add_option("--threads", common.threads, "Threads; the digest does not depend on their number")->type_name("N")->check(CLI::Range(1, 1024))->capture_default_str();
  c->callback([options, &common, &chosen] { chosen = [options, &common] { return run_audit(*options, common); }; });
}

}  // namespace ulpian::tools
