// ulpian check: a model on a backend, or outputs made elsewhere, against the specification.
#include <filesystem>
#include <map>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diff/check/check_model.h"
#include "diff/check/draw.h"
#include "interp/tensors/tensor_file.h"
#include "spec/core/file.h"
#include "spec/import/onnx/export_onnx.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/inputs.h"
#include "tools/ulpian/places.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string backend;
  std::vector<std::string> backend_files;
  std::string profile = "standard";
  std::string inputs;
  std::vector<std::string> named;
  std::string outputs;
  std::uint64_t seed = 0;
  int samples = 1;
  std::vector<std::string> shapes, ranges;
  double backend_seconds = 120;
  std::int64_t backend_memory_mib = 8 << 10;
  bool all = false;
};

json to_json(const diff::Verdict& v) {
  json j{{"class", name_of(v.verdict)},
         {"elements", v.counts.elements},
         {"equal", v.counts.equal},
         {"allowed", v.counts.allowed},
         {"vacuous", v.counts.vacuous},
         {"outside", v.counts.outside},
         {"worst_ulps", v.counts.worst_ulps}};
  if (!v.reason.empty()) j["reason"] = v.reason;
  if (!v.evidence.empty()) j["evidence"] = v.evidence;
  if (v.witness) {
    const diff::Witness& w = *v.witness;
    j["witness"] = {{"output", w.output_name}, {"index", w.index}, {"type", name_of(w.type)}, {"got_bits", w.got}, {"canonical_bits", w.canonical},
                    {"got", diff::show_element(w.type, w.got)}, {"canonical", diff::show_element(w.type, w.canonical)}, {"allowed", w.allowed}};
    if (std::isfinite(w.distance)) j["witness"]["ulps_outside"] = w.distance;
  }
  return j;
}

json to_json(const diff::ModelCheck& m, const std::string& sample) {
  json j{{"backend", m.backend}, {"backend_version", m.backend_version}, {"profile", m.profile}, {"inputs", sample}, {"verdict", name_of(m.overall())},
         {"model", to_json(m.whole)}, {"transfers", m.transfers}, {"note", m.note}, {"restarts", m.restarts}, {"operators", json::array()}};
  for (const diff::NodeCheck& n : m.nodes) {
    json o = to_json(n.verdict);
    o["node"] = n.node;
    o["op"] = n.op;
    o["name"] = n.name;
    o["place"] = n.place;
    o["alone"] = n.exposure == diff::Exposure::Alone;
    j["operators"].push_back(std::move(o));
  }
  return j;
}

// One row per operator name.
struct Row {
  std::size_t calls = 0;
  diff::Counts counts;
  std::map<diff::Class, std::size_t> classes;
  std::size_t alone = 0;
};

std::string percent(std::int64_t part, std::int64_t all) { return all ? fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(all)) : "-"; }

void print_table(const diff::ModelCheck& m, bool colour) {
  std::map<std::string, Row> rows;
  for (const diff::NodeCheck& n : m.nodes) {
    Row& r = rows[n.op];
    ++r.calls;
    ++r.classes[n.verdict.verdict];
    if (n.exposure == diff::Exposure::Alone) ++r.alone;
    r.counts.elements += n.verdict.counts.elements;
    r.counts.equal += n.verdict.counts.equal;
    r.counts.allowed += n.verdict.counts.allowed;
    r.counts.vacuous += n.verdict.counts.vacuous;
    r.counts.outside += n.verdict.counts.outside;
    r.counts.worst_ulps = std::max(r.counts.worst_ulps, n.verdict.counts.worst_ulps);
  }
  fmt::print("{:<28} {:>6} {:>12} {:>9} {:>9} {:>9} {:>10}  {}\n", "operator", "calls", "elements", "same bits", "allowed", "outside", "worst ULP", "verdict");
  for (const auto& [op, r] : rows) {
    std::string verdict;
    bool bad = false, open = false;
    for (const auto& [c, count] : r.classes) {
      verdict += (verdict.empty() ? "" : ", ") + (r.classes.size() == 1 ? std::string(name_of(c)) : fmt::format("{} {}", count, name_of(c)));
      bad = bad || diff::exit_status(c) == 1;
      open = open || diff::exit_status(c) == 3;
    }
    if (r.counts.vacuous) verdict += fmt::format(" ({} vacuous)", r.counts.vacuous);
    const char* paint = !colour ? "" : bad ? "\033[31m" : open ? "\033[33m" : "\033[32m";
    fmt::print("{:<28} {:>6} {:>12} {:>9} {:>9} {:>9} {:>10}  {}{}{}\n", op.size() > 28 ? op.substr(0, 25) + "..." : op, r.calls, r.counts.elements, percent(r.counts.equal, r.counts.elements),
               percent(r.counts.allowed, r.counts.elements), r.counts.outside, r.counts.worst_ulps > 0 ? fmt::format("{:.3g}", r.counts.worst_ulps) : "0", paint, verdict, colour ? "\033[0m" : "");
  }
}

void print_details(const diff::ModelCheck& m, bool all) {
  for (const diff::NodeCheck& n : m.nodes) {
    if (n.verdict.verdict == diff::Class::Conforms || (n.verdict.verdict == diff::Class::Vacuous && !all)) continue;
    fmt::print("\n{}: {} {} ({}){}\n  {}\n", name_of(n.verdict.verdict), n.op, n.name.empty() ? "" : "\"" + n.name + "\"", n.place, n.exposure == diff::Exposure::Alone ? ", run alone" : "",
               n.verdict.reason);
    if (!n.verdict.evidence.empty()) fmt::print("  the backend says: {}\n", n.verdict.evidence.substr(0, 600));
  }
}

std::string headline(const diff::ModelCheck& m) {
  const diff::Class c = m.overall();
  std::size_t conforming = 0;
  for (const diff::NodeCheck& n : m.nodes) conforming += diff::exit_status(n.verdict.verdict) == 0;
  std::string text;
  switch (diff::exit_status(c)) {
    case 0: text = fmt::format("conforms to {}", m.profile); break;
    case 1: text = fmt::format("does not conform to {}", m.profile); break;
    default: text = fmt::format("undecided ({})", name_of(c)); break;
  }
  if (!m.nodes.empty()) text += fmt::format(": {} of {} operator calls conform; the uncut model {}", conforming, m.nodes.size(), m.transfers ? "has the same bits" : name_of(m.whole.verdict));
  return text;
}

void print_check(const diff::ModelCheck& m, const Options& o, const std::string& sample) {
  const bool colour = is_terminal(STDOUT_FILENO);
  if (!m.nodes.empty()) {
    print_table(m, colour);
    print_details(m, o.all);
  }
  fmt::print("\nuncut model: {}\n", m.note);
  if (!m.whole.reason.empty()) fmt::print("  {}: {}\n", name_of(m.whole.verdict), m.whole.reason);
  if (!m.whole.evidence.empty()) fmt::print("  the backend says: {}\n", m.whole.evidence.substr(0, 600));
  const diff::Class c = m.overall();
  const char* paint = !colour ? "" : diff::exit_status(c) == 0 ? "\033[1;32m" : diff::exit_status(c) == 1 ? "\033[1;31m" : "\033[1;33m";
  fmt::print("{}{} {}{}, on {}: {}\n", paint, m.backend, m.backend_version, colour ? "\033[0m" : "", sample, headline(m));
}

// Small enough integers that the definitions' requirements (indices inside their axes) hold.
Result<std::vector<std::optional<Tensor>>> draw_valid(const std::shared_ptr<const language::Specification>& spec, const std::shared_ptr<const Graph>& graph, diff::DrawOptions draw,
                                                      const Common& common) {
  bool integers = false;
  for (ValueId id : graph->inputs) {
    const GraphValue& v = graph->values[static_cast<std::size_t>(id)];
    if (v.type && is_integer(*v.type) && !draw.ranges.count(v.name)) integers = true;
  }
  Result<std::vector<std::optional<Tensor>>> inputs = diff::draw_inputs(*graph, draw);
  for (std::int64_t high : {255, 31, 7, 1, 0}) {
    draw.integer_high = high;
    inputs = diff::draw_inputs(*graph, draw);
    if (!inputs || !integers) return inputs;
    interp::Session session(spec, graph, {});
    auto ran = session.run(*inputs, limits_of(common));
    if (ran || ran.error().kind != ErrorKind::Requirement) return inputs;
  }
  return inputs;
}

int check(const Options& o, const Common& common) {
  auto usage = [&](std::string message, std::string hint = {}) {
    Diagnostic d;
    d.kind = ErrorKind::Usage;
    d.message = std::move(message);
    d.hint = std::move(hint);
    return report(d, common);
  };
  if (o.backend.empty() == o.outputs.empty()) return usage("either --backend or --outputs is needed", "ulpian check MODEL --backend onnxruntime");
  const auto profile = interp::profile_named(o.profile);
  if (!profile) {
    std::string all;
    for (const std::string& n : interp::profile_names()) all += (all.empty() ? "" : ", ") + n;
    return usage(fmt::format("no profile is called {}", o.profile), "profiles: " + all);
  }
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  auto graph = load_model(o.model, *spec, common);
  if (!graph) return report(graph.error(), common);

  diff::CheckOptions options;
  options.profile = *profile;
  options.limits = limits_of(common);
  Progress progress(common, "step", 0);
  options.progress = [&](std::size_t done, std::size_t total, const std::string& what) { progress.at(done, fmt::format("of {} {}", total, what)); };

  const bool from_files = !o.inputs.empty() || !o.named.empty();
  std::vector<std::pair<std::string, std::vector<std::optional<Tensor>>>> samples;
  if (from_files) {
    auto inputs = read_inputs(**graph, o.inputs, o.named, common.memory_mib << 20);
    if (!inputs) return report(inputs.error(), common);
    samples.emplace_back(o.inputs.empty() ? "given inputs" : o.inputs, std::move(*inputs));
  } else {
    if (!o.outputs.empty()) return usage("--outputs needs the --inputs that they were made from");
    diff::DrawOptions draw;
    draw.seed = o.seed;
    draw.memory_limit = common.memory_mib << 20;
    for (const std::string& s : o.shapes)
      if (Status r = diff::parse_shape(s, **graph, draw); !r) return report(r.error(), common);
    for (const std::string& s : o.ranges)
      if (Status r = diff::parse_range(s, **graph, draw); !r) return report(r.error(), common);
    for (int k = 0; k < o.samples; ++k) {
      draw.sample = k;
      auto inputs = draw_valid(*spec, *graph, draw, common);
      if (!inputs) return report(inputs.error(), common);
      std::string title = fmt::format("seed {}", o.seed) + (o.samples > 1 ? fmt::format(" sample {}", k) : "");
      for (std::size_t i = 0; i < inputs->size(); ++i)
        if ((*inputs)[i]) title += fmt::format(" {}{}", (**graph).values[static_cast<std::size_t>((**graph).inputs[i])].name, to_string((*inputs)[i]->extents()));
      samples.emplace_back(title, std::move(*inputs));
    }
  }

  json all = json::array();
  int status = Success;
  auto take = [&](const diff::ModelCheck& m, const std::string& title) {
    progress.done();
    if (common.json) all.push_back(to_json(m, title));
    else print_check(m, o, title);
    const int s = diff::exit_status(m.overall());
    status = status == Nonconforming || s == Nonconforming ? Nonconforming : std::max(status, s);
  };

  if (!o.outputs.empty()) {
    std::vector<std::optional<Tensor>> outputs((*graph)->outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::string file = find_tensor_file(o.outputs, fmt::format("output_{}", k));
      if (file.empty()) return usage(fmt::format("{} holds no output_{}.npy or .pb; the model has {} outputs", o.outputs, k, outputs.size()));
      auto t = read_tensor(file, (**graph).values[static_cast<std::size_t>((**graph).outputs[k])].type, common.memory_mib << 20);
      if (!t) return report(before_running(t.error()), common);
      outputs[k] = std::move(*t);
    }
    auto m = diff::check_outputs(*spec, *graph, samples[0].second, outputs, options);
    if (!m) return report(m.error(), common);
    take(*m, samples[0].first);
  } else {
    auto registry = load_registry(o.backend_files);
    if (!registry) return report(registry.error(), common);
    auto bytes = self_contained_model(o.model, **graph);
    if (!bytes) return report(bytes.error(), common);
    diff::OpenOptions open;
    open.run_seconds = o.backend_seconds;
    open.prepare_seconds = std::max(o.backend_seconds, 60.0);
    open.memory_bytes = static_cast<std::uint64_t>(o.backend_memory_mib) << 20;
    open.threads = common.threads;
    auto backend = diff::Backend::open(o.backend, *registry, open);
    if (!backend) return report(backend.error(), common);
    for (const auto& [title, inputs] : samples) {
      auto m = diff::check_model(*spec, *graph, *bytes, *backend, inputs, options);
      if (!m) return report(m.error(), common);
      take(*m, title);
    }
  }
  if (common.json) fmt::print("{}\n", json{{"model", o.model}, {"checks", all}, {"exit_status", status}}.dump(2, ' ', false, json::error_handler_t::replace));
  return status;
}

}  // namespace

void add_check(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App& c = *app.add_subcommand("check", "Hold a backend, or outputs made elsewhere, against the specification");
  c.add_option("model", o->model, "An ONNX model")->required()->type_name("MODEL");
  c.add_option("--backend,-b", o->backend, "A registered backend (`ulpian backends`) or a command that speaks the protocol")->type_name("NAME|COMMAND");
  c.add_option("--backends", o->backend_files, "A file that registers backends of your own")->type_name("FILE")->allow_extra_args(false);
  c.add_option("--profile", o->profile, "What an implementation may deviate by")->type_name("P")->capture_default_str();
  c.add_option("--inputs", o->inputs, "Folder with input_<k>.npy or .pb; else inputs are drawn")->type_name("DIR");
  c.add_option("--input", o->named, "One input by name")->type_name("NAME=FILE")->allow_extra_args(false);
  c.add_option("--outputs", o->outputs, "Folder with output_<k>.npy or .pb that were made elsewhere from --inputs")->type_name("DIR");
  c.add_option("--seed", o->seed, "Of drawn inputs")->type_name("N")->capture_default_str();
  c.add_option("--samples", o->samples, "Kinds of drawn data to try: bell-shaped, powers of two, sparse, ties and cancellation, wide magnitudes")->type_name("N")->check(CLI::Range(1, 1000))->capture_default_str();
  c.add_option("--shape", o->shapes, "Extents of an input, or of a symbolic dimension")->type_name("NAME=2x3|SYMBOL=4")->allow_extra_args(false);
  c.add_option("--range", o->ranges, "Values of an input")->type_name("NAME=LOW:HIGH")->allow_extra_args(false);
  c.add_option("--backend-time-limit", o->backend_seconds, "Seconds for one run of the backend")->type_name("SECONDS")->check(CLI::Range(0.1, 1e6))->capture_default_str();
  c.add_option("--backend-memory-limit", o->backend_memory_mib, "MiB that the backend may take; 0 is no limit")->type_name("MIB")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))->capture_default_str();
  c.add_flag("--all", o->all, "Also list calls on which the standard says nothing");
  add_common(c, common, true);
  c.footer(
      "Examples:\n"
      "  ulpian check model.onnx --backend onnxruntime --shape x=1x3x224x224\n"
      "  ulpian check model.onnx --backend 'python3 my_adapter.py' --inputs data --json\n"
      "  ulpian check model.onnx --inputs data --outputs from_the_chip\n"
      "Exit status: 0 conforms, 1 does not, 2 usage or input error, 3 undecided (refused, ill-conditioned, a limit).\n");
  c.callback([o, &common, &chosen] { chosen = [o, &common] { return check(*o, common); }; });
}

}  // namespace ulpian::tools
