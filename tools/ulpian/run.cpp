// ulpian run: the canonical, ideal or allowed answer of a model on given inputs.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interp/session/allowed_session.h"
#include "interp/session/declared.h"
#include "interp/session/session.h"
#include "interp/tensors/npy.h"
#include "interp/tensors/tensor_file.h"
#include "spec/core/counted.h"
#include "spec/core/file.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/inputs.h"
#include "tools/ulpian/options.h"
#include "tools/ulpian/printable.h"
#include "tools/ulpian/profiles.h"

namespace ulpian::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string model;
  std::string inputs;
  std::vector<std::string> named;
  std::string out;
  std::string answer = "canonical";
  std::string evaluator = "block";
  std::string instructions = "best";
  ProfileChoice profile;
};

std::string summary(const Tensor& t) {
  std::string out = fmt::format("{}{}", name_of(t.type()), to_string(t.extents()));
  if (t.type() == ElementType::String || is_complex(t.type())) return out;
  constexpr std::int64_t Shown = 6;
  out += " =";
  for (std::int64_t k = 0; k < std::min(t.size(), Shown); ++k) {
    const Bits b = t.at(k);
    if (is_float(t.type())) out += fmt::format(" {}", is_float(t.type()) && bits_of(t.type()) < 64 ? fmt::format("{}", static_cast<float>(to_double(t.type(), b))) : fmt::format("{}", to_double(t.type(), b)));
    else if (t.type() == ElementType::Bool) out += b ? " true" : " false";
    else if (t.type() == ElementType::U64) out += fmt::format(" {}", b);
    else out += fmt::format(" {}", to_int64(t.type(), b));
  }
  if (t.size() > Shown) out += " ...";
  return out;
}

template <typename T> std::string sequence_text(const BasicDatum<T>& v) {
  return "a sequence of " + counted(v.count(), fmt::format("{} tensor", name_of(v.sequence()->type)));
}

std::string summary(const Datum& v) {
  if (const Tensor* t = v.tensor()) return summary(*t);
  if (!v.is_present()) return "nothing";
  constexpr std::size_t Shown = 6;
  std::string out = sequence_text(v);
  for (std::size_t j = 0; j < std::min(v.count(), Shown); ++j) out += fmt::format("\n  [{}] {}", j, summary(v.part(j)));
  return v.count() > Shown ? out + "\n  ..." : out;
}

// What outputs.json says of one: the element type of a tensor, where its file cannot, and the kind of all else.
json kind_in_files(const Datum& v) {
  if (!v.is_present()) return {{"kind", "nothing"}};
  if (v.sequence()) return {{"kind", "sequence"}, {"type", name_of(v.sequence()->type)}, {"length", v.count()}};
  const ElementType type = v.tensor()->type();
  return type != ElementType::String && !numpy_has(type) ? json(name_of(type)) : json();
}

template <typename T> json type_and_extents(const T& t) { return {{"type", name_of(t.type())}, {"extents", t.extents()}}; }

json to_json(const std::string& name, const Datum& v) {
  json j{{"name", name}, {"kind", "nothing"}};
  if (v.tensor()) j.update({{"kind", "tensor"}}), j.update(type_and_extents(*v.tensor()));
  if (!v.sequence()) return j;
  j.update({{"kind", "sequence"}, {"type", name_of(v.sequence()->type)}, {"items", json::array()}});
  for (const Tensor& t : v.sequence()->items) j["items"].push_back(type_and_extents(t));
  return j;
}

Status write_outputs(const std::string& folder, const std::vector<Datum>& outputs) {
  if (Status s = make_folder(folder); !s) return s;
  json kinds = json::object();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string stem = fmt::format("output_{}", k);
    if (Status s = write_value(folder, stem, outputs[k]); !s) return s;
    if (json kind = kind_in_files(outputs[k]); !kind.is_null()) kinds[stem] = std::move(kind);
  }
  return write_file((fs::path(folder) / "outputs.json").string(), kinds.dump(2) + "\n");
}

// Extents that differ from the declared ones: a warning, and in the JSON.
template <typename T>
json warn_of_extents(const Graph& graph, const std::vector<Datum>& inputs, const std::vector<BasicDatum<T>>& outputs) {
  json all = json::array();
  for (const std::string& w : interp::unlike_declared(graph, std::span<const Datum>(inputs), std::span<const BasicDatum<T>>(outputs))) {
    fmt::print(stderr, "warning: {}\n", one_line(w));
    all.push_back(w);
  }
  return all;
}

json undecided_json(const interp::RunNotes::Undecided& u) {
  json j{{"call", u.call}, {"place", u.place}, {"output", u.output}, {"count", u.elements.count}, {"first", json::array()}};
  for (const auto& e : u.elements.first) j["first"].push_back({{"index", index_of(u.extents, e.position)}, {"reason", e.reason}});
  return j;
}

void tell_undecided(const interp::RunNotes& notes) {
  std::int64_t told = 0;
  for (const auto& u : notes.undecided) {
    const auto& first = u.elements.first.front();
    told += u.elements.count;
    fmt::print(stderr, "undecided: {}{}: {}{} ({}){}; the canonical value stands there\n", one_line(u.call), u.place.empty() ? "" : " (" + one_line(u.place) + ")", one_line(u.output),
               to_string(index_of(u.extents, first.position)), one_line(first.reason), u.elements.count == 1 ? "" : fmt::format(", and {}", counted(u.elements.count - 1, "more element")));
  }
  if (told < notes.undecided_elements) fmt::print(stderr, "undecided: {} of further calls\n", counted(notes.undecided_elements - told, "element"));
}

// Canonical, or ideal.
int run_points(const Options& o, const Common& common, const std::shared_ptr<const language::Specification>& spec, const std::shared_ptr<const Graph>& graph,
                  const std::vector<Datum>& inputs) {
  Progress progress(common, "operator", graph->nodes.size());
  interp::SessionOptions options;
  if (o.instructions == "portable") options.block.instructions = interp::block::Instructions::Portable;
  if (o.instructions == "avx2") options.block.instructions = std::min(options.block.instructions, interp::block::Instructions::Avx2);
  options.evaluator = o.evaluator == "scalar" ? interp::Evaluator::Scalar : interp::Evaluator::Block;
  const bool ideal = o.answer == "ideal";
  if (ideal) options.answer = interp::Answer::Ideal;
  options.progress = [&](std::size_t node, double) { progress.at(node + 1, graph->nodes[node].op); };
  interp::Session session(spec, graph, options);
  interp::RunNotes notes;
  notes.open_elements = true;
  auto outputs = session.run_values(inputs, {}, limits_of(common), &notes);
  if (!outputs) return report(outputs.error(), common);
  if (!o.out.empty())
    if (Status s = write_outputs(o.out, *outputs); !s) return report(s.error(), common);
  progress.done();
  json warnings = warn_of_extents(*graph, inputs, *outputs);
  const auto name = [&](std::size_t k) -> const std::string& { return graph->values[static_cast<std::size_t>(graph->outputs[k])].name; };
  if (common.json) {
    json j{{"status", notes.undecided_elements > 0 ? "undecided" : "ran"}, {"answer", o.answer}, {"edition", 0}, {"outputs", json::array()}, {"undefined", json::array()}, {"warnings", std::move(warnings)}};
    if (ideal) {
      j["undecided"] = json::array();
      for (const auto& u : notes.undecided) j["undecided"].push_back(undecided_json(u));
      j["undecided_elements"] = notes.undecided_elements;
    }
    for (std::size_t k = 0; k < outputs->size(); ++k) j["outputs"].push_back(to_json(name(k), (*outputs)[k]));
    for (const Diagnostic& d : notes.undefined) j["undefined"].push_back(to_string(d));
    fmt::print("{}\n", j.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    for (std::size_t k = 0; k < outputs->size(); ++k) fmt::print("{}: {}\n", one_line(name(k)), summary((*outputs)[k]));
    for (const Diagnostic& d : notes.undefined) fmt::print(stderr, "note: undefined here, any result conforms: {}\n", printable(to_string(d)));
    tell_undecided(notes);
  }
  return notes.undecided_elements > 0 ? Undecided : Success;
}

std::string text_of(ElementType t, Bits b) {
  if (t == ElementType::Bool) return b ? "true" : "false";
  if (is_float(t)) return bits_of(t) < 64 ? fmt::format("{}", static_cast<float>(to_double(t, b))) : fmt::format("{}", to_double(t, b));
  return t == ElementType::U64 ? std::to_string(b) : std::to_string(to_int64(t, b));
}

// The bits that the flags file has: 1 NaN, 2 either zero, 4 anything, 8 not one interval.
Tensor flags_of(const interp::AllowedTensor& set) {
  Tensor out(ElementType::U8, set.extents());
  auto* bytes = out.writable<std::uint8_t>();
  for (std::size_t k = 0; k < set.flags().size(); ++k) bytes[k] = set.flags()[k] & 15u;
  return out;
}

// What the arrays cannot say: the pieces of sets that are not one interval, hulls, sets of NaN alone. Ends are decimal texts, as the shortest
// that reads back (infinities and NaN have no JSON number).
json pieces_of(const interp::AllowedTensor& set) {
  json j = json::object();
  json pieces = json::object(), hulled = json::array(), only_nan = json::array();
  for (const auto& [position, list] : set.pieces()) {
    json one = json::array();
    for (const interp::Interval& p : list) one.push_back({text_of(set.type(), p.lower), text_of(set.type(), p.upper)});
    pieces[std::to_string(position)] = std::move(one);
  }
  for (std::size_t k = 0; k < set.flags().size(); ++k) {
    if (set.flags()[k] & interp::Hulled) hulled.push_back(k);
    if (set.flags()[k] & interp::Empty) only_nan.push_back(k);
  }
  j["pieces"] = std::move(pieces);
  j["hulls"] = std::move(hulled);
  j["only_nan"] = std::move(only_nan);
  return j;
}

struct Tally {
  std::int64_t exact = 0, sets = 0, anything = 0;
};
Tally tally(const interp::AllowedTensor& set) {
  Tally t;
  for (std::int64_t k = 0; k < set.size(); ++k) {
    if (set.flags()[static_cast<std::size_t>(k)] & interp::Anything) ++t.anything;
    else if (set.is_exact(k)) ++t.exact;
    else ++t.sets;
  }
  return t;
}

Result<json> write_set(const std::string& folder, const std::string& stem, const interp::AllowedTensor& set) {
  const auto file = [&](const char* end) { return (fs::path(folder) / (stem + end)).string(); };
  if (Status s = write_npy(file(".lower.npy"), set.lower()); !s) return s.error();
  if (Status s = write_npy(file(".upper.npy"), set.upper()); !s) return s.error();
  if (Status s = write_npy(file(".flags.npy"), flags_of(set)); !s) return s.error();
  json one = set.type() == ElementType::String ? json::object() : pieces_of(set);
  one.update(type_and_extents(set));
  return one;
}

Result<json> write_sets_of(const std::string& folder, const std::string& stem, const interp::AllowedDatum& value) {
  if (const auto* t = value.tensor()) {
    auto one = write_set(folder, stem, *t);
    if (one) one->update({{"kind", "tensor"}});
    return one;
  }
  if (!value.is_present()) return json{{"kind", "nothing"}};
  json out{{"kind", "sequence"}, {"type", name_of(value.sequence()->type)}, {"items", json::array()}};
  auto items = sequence_folder(folder, stem);
  if (!items) return std::move(items).error();
  for (std::size_t j = 0; j < value.count(); ++j) {
    auto one = write_set(*items, std::to_string(j), value.part(j));
    if (!one) return one;
    out["items"].push_back(std::move(*one));
  }
  return out;
}

Status write_sets(const Options& o, const std::string& profile, const Graph& graph, const std::vector<interp::AllowedDatum>& outputs) {
  if (Status s = make_folder(o.out); !s) return s;
  json all{{"profile", profile}, {"outputs", json::object()}};
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string stem = fmt::format("output_{}", k);
    auto one = write_sets_of(o.out, stem, outputs[k]);
    if (!one) return std::move(one).error();
    (*one)["name"] = graph.values[static_cast<std::size_t>(graph.outputs[k])].name;
    all["outputs"][stem] = std::move(*one);
  }
  return write_file((fs::path(o.out) / "allowed.json").string(), all.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

json tally_json(const interp::AllowedTensor& set) {
  const Tally t = tally(set);
  json j = type_and_extents(set);
  j.update({{"exact", t.exact}, {"sets", t.sets}, {"anything", t.anything}});
  return j;
}

json to_json(const std::string& name, const interp::AllowedDatum& v) {
  json j{{"name", name}, {"kind", "nothing"}};
  if (v.tensor()) j.update({{"kind", "tensor"}}), j.update(tally_json(*v.tensor()));
  if (!v.sequence()) return j;
  j.update({{"kind", "sequence"}, {"type", name_of(v.sequence()->type)}, {"items", json::array()}});
  for (const auto& t : v.sequence()->items) j["items"].push_back(tally_json(t));
  return j;
}

void print(const std::string& title, const interp::AllowedTensor& set) {
  const Tally t = tally(set);
  fmt::print("{}: {}{}: {} exact, {} sets, {} admit anything\n", title, name_of(set.type()), to_string(set.extents()), t.exact, t.sets, t.anything);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(set.size(), 4) && set.type() != ElementType::String; ++i) fmt::print("  {}\n", set.describe(i));
}

int run_allowed(const Options& o, const Common& common, const std::shared_ptr<const language::Specification>& spec, const std::shared_ptr<const Graph>& graph,
                const std::vector<Datum>& inputs) {
  auto profile = chosen_profile(o.profile);
  if (!profile) return report(profile.error(), common);
  // Types, extents and missing inputs are the session's to check.
  if (Status s = interp::Session(spec, graph).check_inputs(inputs); !s) return report(s.error(), common);
  std::vector<interp::AllowedDatum> sets;
  for (const Datum& v : inputs) sets.push_back(interp::exactly(v));
  Progress progress(common, "operator", graph->nodes.size());
  interp::AllowedSession session(spec, graph, *profile);
  session.progress = [&](std::size_t node) { progress.at(node + 1, graph->nodes[node].op); };
  auto outputs = session.run_values(sets, {}, limits_of(common));
  progress.done();
  if (!outputs) return report(outputs.error(), common);
  if (!o.out.empty())
    if (Status s = write_sets(o, profile->name(), *graph, *outputs); !s) return report(s.error(), common);
  json j{{"status", "ran"}, {"answer", "allowed"}, {"profile", profile->name()}, {"outputs", json::array()}, {"warnings", warn_of_extents(*graph, inputs, *outputs)}};
  for (std::size_t k = 0; k < outputs->size(); ++k) {
    const interp::AllowedDatum& v = (*outputs)[k];
    const std::string& name = graph->values[static_cast<std::size_t>(graph->outputs[k])].name;
    j["outputs"].push_back(to_json(name, v));
    if (common.json) continue;
    if (v.tensor()) print(one_line(name), *v.tensor());
    else if (!v.is_present()) fmt::print("{}: nothing\n", one_line(name));
    else fmt::print("{}: {}\n", one_line(name), sequence_text(v));
    for (std::size_t i = 0; v.sequence() && i < v.count(); ++i) print(fmt::format("{}[{}]", one_line(name), i), v.part(i));
  }
  if (common.json) fmt::print("{}\n", j.dump(2, ' ', false, json::error_handler_t::replace));
  return Success;
}

int run(const Options& o, const Common& common) {
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  auto graph = load_model(o.model, *spec, common);
  if (!graph) return report(graph.error(), common);
  auto inputs = read_inputs(**graph, o.inputs, o.named, common.memory_mib << 20);
  if (!inputs) return report(inputs.error(), common);
  return o.answer == "allowed" ? run_allowed(o, common, *spec, *graph, *inputs) : run_points(o, common, *spec, *graph, *inputs);
}

}  // namespace

void add_run(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App& c = *app.add_subcommand("run", "Evaluate a model: the canonical answer, the ideal one, or the allowed one");
  c.add_option("model", o->model, "An ONNX model")->required()->type_name("MODEL")->check(not_empty());
  c.add_option("--inputs", o->inputs, "Folder with input_<k>.npy or input_<k>.pb, in the order of the model's inputs; a sequence is a folder input_<k> with 0.npy, 1.npy, ...")->type_name("DIR")->check(not_empty());
  c.add_option("--input", o->named, "One input by name; may be given several times")->type_name("NAME=FILE")->allow_extra_args(false)->check(not_empty());
  c.add_option("--out", o->out, "Folder for output_<k>.npy (of a sequence a folder output_<k> with 0.npy, 1.npy, ...); kinds, and types that NumPy lacks (stored as unsigned integers), are in outputs.json. Allowed: output_<k>.lower.npy, .upper.npy, .flags.npy, allowed.json")->type_name("DIR")->check(not_empty());
  c.add_option("--answer", o->answer, "canonical: the defined order of operations, bit for bit; ideal: each operator over the real numbers, its outputs rounded once; allowed: the set every conforming implementation falls in")
      ->check(CLI::IsMember({"canonical", "ideal", "allowed"}))->capture_default_str();
  c.add_option("--evaluator", o->evaluator, "block: fast; scalar: the definition itself, slow (the bits are the same)")->check(CLI::IsMember({"block", "scalar"}))->capture_default_str();
  add_profile_options(c, o->profile);
  c.add_option("--instructions", o->instructions, "Vector instructions of the block evaluator, at most (the bits are the same)")->check(CLI::IsMember({"best", "avx2", "portable"}))->capture_default_str();
  add_common(c, common, true);
  c.footer("Examples:\n  ulpian run model.onnx --inputs data --out answers\n  ulpian run model.onnx --input x=x.npy --json\n  ulpian run model.onnx --inputs data --answer ideal --out ideal\n  ulpian run model.onnx --inputs data --answer allowed --out sets\n");
  c.callback([o, &common, &chosen] { chosen = [o, &common] { return run(*o, common); }; });
}

}  // namespace ulpian::tools
