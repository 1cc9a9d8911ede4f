// ulpian run: the canonical (or allowed) answer of a model on given inputs.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interp/session/session.h"
#include "interp/tensors/npy.h"
#include "interp/tensors/tensor_file.h"
#include "spec/core/file.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/inputs.h"

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
};

Status make_folder(const std::string& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (!ec && fs::is_directory(folder)) return success();
  Diagnostic d;
  d.kind = ErrorKind::Input;
  d.message = fmt::format("the folder {} cannot be made: {}", folder, ec ? ec.message() : "something else has its name");
  return d;
}

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

int run_canonical(const Options& o, const Common& common, const std::shared_ptr<const language::Specification>& spec, const std::shared_ptr<const Graph>& graph,
                  const std::vector<std::optional<Tensor>>& inputs) {
  Progress progress(common, "operator", graph->nodes.size());
  interp::SessionOptions options;
  options.evaluator = o.evaluator == "scalar" ? interp::Evaluator::Scalar : interp::Evaluator::Block;
  options.progress = [&](std::size_t node, double) { progress.at(node + 1, graph->nodes[node].op); };
  interp::Session session(spec, graph, options);
  interp::RunNotes notes;
  auto outputs = session.run(inputs, limits_of(common), &notes);
  if (!outputs) return report(outputs.error(), common);
  if (!o.out.empty()) {
    if (Status s = make_folder(o.out); !s) return report(s.error(), common);
    json types = json::object();
    for (std::size_t k = 0; k < outputs->size(); ++k) {
      const Tensor& t = (*outputs)[k];
      const std::string file = (fs::path(o.out) / fmt::format("output_{}.npy", k)).string();
      if (Status s = write_npy(file, t); !s) return report(s.error(), common);
      if (t.type() != ElementType::String && !numpy_has(t.type())) types[fmt::format("output_{}", k)] = name_of(t.type());
    }
    if (Status s = write_file((fs::path(o.out) / "outputs.json").string(), types.dump(2) + "\n"); !s) return report(s.error(), common);
  }
  if (common.json) {
    json j{{"status", "ran"}, {"answer", "canonical"}, {"edition", 0}, {"outputs", json::array()}, {"undefined", json::array()}};
    for (std::size_t k = 0; k < outputs->size(); ++k)
      j["outputs"].push_back({{"name", graph->values[static_cast<std::size_t>(graph->outputs[k])].name}, {"type", name_of((*outputs)[k].type())}, {"extents", (*outputs)[k].extents()}});
    for (const Diagnostic& d : notes.undefined) j["undefined"].push_back(to_string(d));
    fmt::print("{}\n", j.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    for (std::size_t k = 0; k < outputs->size(); ++k)
      fmt::print("{}: {}\n", graph->values[static_cast<std::size_t>(graph->outputs[k])].name, summary((*outputs)[k]));
    for (const Diagnostic& d : notes.undefined) fmt::print(stderr, "note: undefined here, any result conforms: {}\n", to_string(d));
  }
  return Success;
}

int run(const Options& o, const Common& common) {
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  auto graph = load_model(o.model, *spec, common);
  if (!graph) return report(graph.error(), common);
  auto inputs = read_inputs(**graph, o.inputs, o.named, common.memory_mib << 20);
  if (!inputs) return report(inputs.error(), common);
  return run_canonical(o, common, *spec, *graph, *inputs);
}

}  // namespace

void add_run(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App& c = *app.add_subcommand("run", "Evaluate a model: the canonical answer, or the allowed one");
  c.add_option("model", o->model, "An ONNX model")->required()->type_name("MODEL");
  c.add_option("--inputs", o->inputs, "Folder with input_<k>.npy or input_<k>.pb, in the order of the model's inputs")->type_name("DIR");
  c.add_option("--input", o->named, "One input by name; may be given several times")->type_name("NAME=FILE")->allow_extra_args(false);
  c.add_option("--out", o->out, "Folder for output_<k>.npy; types that NumPy lacks are unsigned integers, named in outputs.json")->type_name("DIR");
  c.add_option("--answer", o->answer, "canonical: the defined order of operations, bit for bit; allowed: the set every conforming implementation falls in")
      ->check(CLI::IsMember({"canonical", "allowed"}))->capture_default_str();
  c.add_option("--evaluator", o->evaluator, "block: fast; scalar: the definition itself, slow (the bits are the same)")->check(CLI::IsMember({"block", "scalar"}))->capture_default_str();
  add_common(c, common, true);
  c.footer("Examples:\n  ulpian run model.onnx --inputs data --out answers\n  ulpian run model.onnx --input x=x.npy --json\n");
  c.callback([o, &common, &chosen] { chosen = [o, &common] { return run(*o, common); }; });
}

}  // namespace ulpian::tools
