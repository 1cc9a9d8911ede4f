// ulpian check: a model on a backend, or outputs made elsewhere, against the specification.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "diff/check/check_model.h"
#include "diff/check/design.h"
#include "interp/tensors/tensor_file.h"
#include "spec/core/file.h"
#include "spec/import/onnx/import_onnx.h"
#include "tools/ulpian/check_report.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/explanations.h"
#include "tools/ulpian/inputs.h"
#include "tools/ulpian/options.h"
#include "tools/ulpian/places.h"
#include "tools/ulpian/printable.h"
#include "tools/ulpian/profiles.h"

namespace ulpian::tools {
namespace {

struct Options {
  std::string model;
  std::string backend;
  std::vector<std::string> backend_files;
  ProfileChoice profile;
  std::string inputs;
  std::vector<std::string> named;
  std::string outputs;
  std::uint64_t seed = 0;
  int samples = 0;  // as many as the model is worth
  std::vector<std::string> shapes, ranges;
  double backend_seconds = 120;
  std::int64_t backend_memory_mib = 8 << 10;
  bool all = false;
  std::string explain;
  std::vector<std::string> drawing;  // the options given that say how inputs are drawn
};

// Control flow and what else is not defined here leaves its own node undecided; the rest of the model is checked all the same.
Result<std::shared_ptr<const Graph>> load_any(const std::string& file, const std::shared_ptr<const language::Specification>& specification, const Common& common) {
  OnnxImportOptions options;
  options.memory_limit = common.memory_mib << 20;
  // Of an old operator set what has a definition, as `run` takes it.
  options.is_defined = [&](std::string_view op, std::int64_t version) {
    constexpr std::int64_t FirstVersion = 7;
    if (!op.starts_with("onnx.") || version >= FirstVersion || specification->find(op, version)) return Definedness::Defined;
    return specification->has(op) ? Definedness::UnknownVersion : Definedness::UnknownOperator;
  };
  auto graph = import_onnx(file, options);
  if (!graph) return before_running(std::move(graph).error());
  return std::make_shared<const Graph>(std::move(*graph));
}

using Tensors = diff::Data;

std::string extents_text(const Datum& v) {
  if (v.tensor()) return to_string(v.tensor()->extents());
  std::string out = "(";
  for (std::size_t k = 0; k < v.count(); ++k) out += (k ? ", " : "") + to_string(v.part(k).extents());
  return out + ")";
}

struct Sample {
  std::string title;
  Tensors inputs;
};

// Once samples that nobody asked for have taken so long, no further one is begun.
constexpr double MostSecondsUnasked = 10;

// Without being asked: all samples are drawn, and held, before the first is tried.
int samples_worth_drawing(const Tensors& inputs) {
  constexpr std::int64_t MostElements = 1 << 23;
  std::int64_t elements = 1;
  for (const Datum& d : inputs)
    for (std::size_t k = 0; k < d.count(); ++k) elements += d.part(k).size();
  return static_cast<int>(std::clamp<std::int64_t>(MostElements / elements, 1, 1000));
}

Result<std::vector<Sample>> draw_samples(const Options& o, const Common& common, const std::shared_ptr<const language::Specification>& spec,
                                         const std::shared_ptr<const Graph>& graph, const interp::Limits& limits) {
  if (!o.outputs.empty()) return usage("--outputs needs the --inputs that they were made from");
  diff::DrawOptions draw;
  draw.seed = o.seed;
  draw.memory_limit = common.memory_mib << 20;
  for (const std::string& s : o.shapes)
    if (Status r = diff::parse_shape(s, *graph, draw); !r) return r.error();
  for (const std::string& s : o.ranges)
    if (Status r = diff::parse_range(s, *graph, draw); !r) return r.error();
  if (const auto chosen = diff::chosen_dimensions(*graph, draw); !chosen.empty() && !common.quiet)
    fmt::print(stderr, "note: the model leaves dimensions free, and these were chosen: {}; --shape gives others\n", one_line(fmt::format("{}", fmt::join(chosen, ", "))));
  auto first = diff::draw_valid_inputs(spec, graph, draw, limits);
  if (!first) return std::move(first).error();
  int count = o.samples ? o.samples : diff::is_single_call(*graph) ? samples_worth_drawing(*first) : 1;
  if (count > 1) {
    diff::Design design = diff::design_inputs(spec, graph, draw, *first, limits);
    draw.kinds = std::move(design.kinds);
    draw.edges = std::move(design.edges);
    if (o.samples == 0) count = std::min(design.battery, count);
  }
  std::vector<Sample> samples;
  for (int k = 0; k < count; ++k) {
    draw.sample = k;
    // The first is bell-shaped whatever the design.
    auto inputs = k == 0 ? std::move(first) : diff::draw_valid_inputs(spec, graph, draw, limits);
    if (!inputs) return std::move(inputs).error();
    std::string title = fmt::format("seed {}", o.seed) + (count > 1 ? fmt::format(" sample {} ({})", k, name_of(diff::kind_of(draw))) : "");
    for (std::size_t i = 0; i < inputs->size(); ++i)
      if ((*inputs)[i].is_present()) title += fmt::format(" {}{}", graph->values[static_cast<std::size_t>(graph->inputs[i])].name, extents_text((*inputs)[i]));
    samples.push_back({std::move(title), std::move(*inputs)});
  }
  return samples;
}

Result<std::vector<Sample>> samples_of(const Options& o, const Common& common, const std::shared_ptr<const language::Specification>& spec,
                                       const std::shared_ptr<const Graph>& graph, const interp::Limits& limits) {
  if (o.inputs.empty() && o.named.empty()) return draw_samples(o, common, spec, graph, limits);
  if (!o.drawing.empty()) return usage(fmt::format("{} says how inputs are drawn; with {} none are", o.drawing.front(), o.inputs.empty() ? "--input" : "--inputs"));
  auto inputs = read_inputs(*graph, o.inputs, o.named, common.memory_mib << 20);
  if (!inputs) return std::move(inputs).error();
  std::vector<Sample> samples;
  samples.push_back({o.inputs.empty() ? "given inputs" : o.inputs, std::move(*inputs)});
  return samples;
}

Result<Tensors> read_outputs(const Options& o, const Common& common, const Graph& graph) {
  Tensors outputs(graph.outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string file = find_value(o.outputs, fmt::format("output_{}", k));
    const GraphValue& declared = graph.values[static_cast<std::size_t>(graph.outputs[k])];
    if (file.empty() && declared.is_optional) continue;
    if (file.empty()) return usage(fmt::format("{} holds no output_{}.npy or .pb and no folder of that name; the model has {} outputs", o.outputs, k, outputs.size()));
    auto t = read_value(file, declared, common.memory_mib << 20);
    if (!t && t.error().kind == ErrorKind::Input) {
      // A file of another type is a wrong answer, and no wrong question.
      GraphValue as_it_is = declared;
      std::error_code ec;
      as_it_is.type.reset();
      as_it_is.is_sequence = std::filesystem::is_directory(file, ec);
      if (auto other = read_value(file, as_it_is, common.memory_mib << 20)) t = std::move(other);
    }
    if (!t) return before_running(std::move(t).error());
    outputs[k] = std::move(*t);
  }
  return outputs;
}

Result<diff::Backend> open_backend(const Options& o, const Common& common, BackendFacts& facts) {
  auto registry = load_registry(o.backend_files, common.spec_files);
  if (!registry) return std::move(registry).error();
  facts.name = o.backend;
  facts.known = registry->known();
  diff::OpenOptions open;
  open.run_seconds = o.backend_seconds;
  open.prepare_seconds = std::max(o.backend_seconds, 60.0);
  open.memory_bytes = static_cast<std::uint64_t>(o.backend_memory_mib) << 20;
  open.threads = common.threads;
  // All of a model's intermediate values come in one answer, and are held beside our own.
  open.answers.payload_bytes = std::min(open.answers.payload_bytes, static_cast<std::uint64_t>(common.memory_mib << 20) / 2);
  auto backend = diff::Backend::open(o.backend, *registry, open);
  if (backend) facts.details = backend->introduction().details;
  return backend;
}

// Prints each check as soon as it is made, or all of them together as JSON.
class Reports {
public:
  Reports(const Options& o, const Common& common, Progress& progress) : o_(o), common_(common), progress_(progress) {}

  BackendFacts facts;
  std::shared_ptr<const language::Specification> specification;
  diff::CheckOptions options;

  void take(const diff::ModelCheck& m, const std::string& title) {
    progress_.done();
    explain(m);
    const int s = diff::exit_status(m.overall());
    // Of what the inputs were chosen for without being asked, one line is enough where nothing is wrong.
    const bool short_of_it = o_.samples == 0 && !checks_.empty() && s == Success && !o_.all;
    if (!common_.json) print_check(m, facts, title, o_.all, explained_, short_of_it);
    checks_.emplace_back(m, title);
    status_ = status_ == Nonconforming || s == Nonconforming ? Nonconforming : std::max(status_, s);
  }
  int finish() const {
    // What could not be written is told beside the verdicts, which stand.
    const int status = !not_written_.empty() && status_ == Success ? UsageError : status_;
    if (!not_written_.empty()) fmt::print(stderr, "error: --explain: {}\n", one_line(not_written_));
    if (common_.json) fmt::print("{}\n", json_report(o_.model, facts, checks_, status, explained_));
    else if (checks_.size() > 1) print_all_samples(checks_);
    return status;
  }

private:
  void explain(const diff::ModelCheck& m) {
    const int sample = sample_++;
    if (o_.explain.empty() || !not_written_.empty()) return;
    ExplainOptions how{o_.explain, o_.samples > 1 || sample > 0 ? fmt::format("sample_{}_", sample) : std::string(), {}};
    if (o_.profile.profile != ProfileChoice().profile) how.more.insert(how.more.end(), {"--profile", o_.profile.profile});
    for (const std::string& a : o_.profile.admit) how.more.insert(how.more.end(), {"--admit", a});
    for (const std::string& f : common_.spec_files) how.more.insert(how.more.end(), {"--spec", f});
    if (Status s = write_explanations(specification, m, options, how, explained_); !s) not_written_ = s.error().message;
  }

  const Options& o_;
  const Common& common_;
  Progress& progress_;
  std::vector<std::pair<diff::ModelCheck, std::string>> checks_;
  Explanations explained_;
  std::string not_written_;
  int status_ = Success, sample_ = 0;
};

int check(const Options& o, const Common& common) {
  if (o.backend.empty() == o.outputs.empty()) return report(usage("either --backend or --outputs is needed", "ulpian check MODEL --backend onnxruntime"), common);
  auto profile = chosen_profile(o.profile);
  if (!profile) return report(profile.error(), common);
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  for (const std::string& op : profile->ruled_operators())
    if (!(*spec)->has(op)) return report(usage(fmt::format("--profile: {} has a rule of {}, which is no operator", printable(profile->name()), printable(op)), "operators are named as by ulpian spec list: onnx.Tanh"), common);
  auto graph = o.backend.empty() ? load_model(o.model, *spec, common) : load_any(o.model, *spec, common);
  if (!graph) return report(graph.error(), common);

  if (!o.explain.empty())
    if (Status s = make_folder(o.explain); !s) return report(s.error(), common);
  diff::CheckOptions options;
  options.profile = *profile;
  options.limits = limits_of(common);
  Progress progress(common, "step", 0);
  options.progress = [&](std::size_t done, std::size_t total, const std::string& what) { progress.at(done, fmt::format("of {} {}", total, what)); };
  const auto samples = samples_of(o, common, *spec, *graph, options.limits);
  if (!samples) return report(samples.error(), common);

  Reports reports(o, common, progress);
  reports.specification = *spec;
  options.keep_exhibits = !o.explain.empty();
  reports.options = options;
  if (!o.outputs.empty()) {
    auto outputs = read_outputs(o, common, **graph);
    if (!outputs) return report(outputs.error(), common);
    auto m = diff::check_outputs(*spec, *graph, samples->front().inputs, *outputs, options);
    if (!m) return report(m.error(), common);
    reports.take(*m, samples->front().title);
    return reports.finish();
  }
  auto bytes = self_contained_model(o.model, **graph);
  if (!bytes) return report(bytes.error(), common);
  auto backend = open_backend(o, common, reports.facts);
  if (!backend) return report(backend.error(), common);
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t k = 0; k < samples->size(); ++k) {
    const Sample& sample = (*samples)[k];
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (o.samples == 0 && seconds > MostSecondsUnasked) {
      if (!common.quiet) fmt::print(stderr, "note: {} of {} samples took {:.0f} s, and the others were left out; --samples {} takes all\n", k, samples->size(), seconds, samples->size());
      break;
    }
    auto m = diff::check_model(*spec, *graph, *bytes, *backend, sample.inputs, options);
    if (!m) return report(m.error(), common);
    const diff::Class whole = m->whole.verdict;
    reports.take(*m, sample.title);
    // Who gives no answer to the first is not asked for more unless that is wanted: each may take the whole time limit.
    if (o.samples == 0 && (whole == diff::Class::Hung || whole == diff::Class::Crashed || whole == diff::Class::Failed || whole == diff::Class::OutOfMemory || whole == diff::Class::Refused)) break;
  }
  return reports.finish();
}

}  // namespace

void add_check(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App& c = *app.add_subcommand("check", "Hold a backend, or outputs made elsewhere, against the specification");
  c.add_option("model", o->model, "An ONNX model")->required()->type_name("MODEL")->check(not_empty());
  c.add_option("--backend,-b", o->backend, "A registered backend (`ulpian backends`) or a command that speaks the protocol")->type_name("NAME|COMMAND")->check(not_empty());
  c.add_option("--backends", o->backend_files, "A file that registers backends of your own")->type_name("FILE")->allow_extra_args(false)->check(not_empty());
  add_profile_options(c, o->profile);
  c.add_option("--inputs", o->inputs, "Folder with input_<k>.npy or .pb (of a sequence a folder input_<k> with 0.npy, 1.npy, ...); else inputs are drawn")->type_name("DIR")->check(not_empty());
  c.add_option("--input", o->named, "One input by name")->type_name("NAME=FILE")->allow_extra_args(false)->check(not_empty());
  c.add_option("--outputs", o->outputs, "Folder with output_<k>.npy or .pb (of a sequence a folder) that were made elsewhere from --inputs")->type_name("DIR")->check(not_empty());
  c.add_option("--seed", o->seed, "Of drawn inputs")->type_name("N")->capture_default_str()->check(whole_number());
  c.add_option("--samples", o->samples, "Kinds of drawn data to try, the most telling first (docs/checking.md lists them), then again; else one, and of a model of one operator up to eight")->type_name("N")->check(CLI::Range(1, 1000));
  c.add_option("--shape", o->shapes, "Extents of an input, of a sequence's tensors (NAME=2x3+4x3; none: without any, or an optional without a value), or of a symbolic dimension")->type_name("NAME=2x3|SYMBOL=4")->allow_extra_args(false)->check(not_empty());
  c.add_option("--range", o->ranges, "Values of an input")->type_name("NAME=LOW:HIGH")->allow_extra_args(false)->check(not_empty());
  c.add_option("--backend-time-limit", o->backend_seconds, "Seconds for one run of the backend")->type_name("SECONDS")->check(number_between(0.1, 1e6))->capture_default_str();
  c.add_option("--backend-memory-limit", o->backend_memory_mib, "MiB that the backend may take; 0 is no limit")->type_name("MIB")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))->capture_default_str();
  c.add_flag("--all", o->all, "Also list calls on which the standard says nothing");
  c.add_option("--explain", o->explain, "Of each violation a folder in this one: a model of its own with inputs and answer, and a Python script (NumPy, mpmath) that shows it")->type_name("DIR")->check(not_empty());
  add_common(c, common, true);
  c.footer(
      "Examples:\n"
      "  ulpian check model.onnx --backend onnxruntime --shape x=1x3x224x224\n"
      "  ulpian check model.onnx --backend 'python3 my_adapter.py' --inputs data --json\n"
      "  ulpian check model.onnx --inputs data --outputs from_the_chip --profile standard --admit ftz,bf16_inputs\n"
      "  ulpian check model.onnx --backend onnxruntime --explain why && python3 why/node_3_Softmax/show.py\n"
      "Exit status: 0 conforms, 1 does not, 2 usage or input error, 3 undecided (refused, ill-conditioned, a limit).\n");
  c.callback([o, &c, &common, &chosen] {
    for (const char* name : {"--shape", "--range", "--seed", "--samples"})
      if (c.count(name)) o->drawing.emplace_back(name);
    chosen = [o, &common] { return check(*o, common); };
  });
}

}  // namespace ulpian::tools
