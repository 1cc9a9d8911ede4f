// ulpian backends: what can be checked; ulpian backend: our own interpreter as one.
#include <chrono>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diff/backends/backend.h"
#include "diff/backends/server.h"
#include "interp/session/session.h"
#include "spec/import/onnx/import_onnx.h"
#include "tools/ulpian/command.h"
#include "tools/ulpian/options.h"
#include "tools/ulpian/places.h"
#include "tools/ulpian/printable.h"

namespace ulpian::tools {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> files;
  std::string probe;
};

int list(const Options& o, const Common& common) {
  auto registry = load_registry(o.files, common.spec_files);
  if (!registry) return report(registry.error(), common);
  if (!o.probe.empty()) {
    auto backend = diff::Backend::open(o.probe, *registry, {});
    if (!backend) return report(backend.error(), common);
    const diff::Introduction& i = backend->introduction();
    json j{{"name", i.name}, {"version", i.version}, {"formats", i.formats}, {"element_types", json::array()}, {"static_shapes", i.static_shapes}};
    for (ElementType t : i.element_types) j["element_types"].push_back(name_of(t));
    for (const auto& [key, value] : i.details) j["details"][key] = json::parse(value, nullptr, false);
    fmt::print("{}\n", j.dump(2, ' ', false, json::error_handler_t::replace));
    return Success;
  }
  json out = json::array();
  for (const diff::RegisteredBackend& b : registry->backends()) {
    if (common.json) out.push_back({{"name", b.name}, {"description", b.description}, {"command", b.command}, {"file", b.file}});
    else fmt::print("{:<20} {}\n", one_line(b.name), one_line(b.description));
  }
  if (common.json) fmt::print("{}\n", out.dump(2));
  return Success;
}

// The interpreter's canonical answers over the protocol.
class Interpreter : public diff::Handler {
public:
  Interpreter(std::shared_ptr<const language::Specification> spec, interp::Limits limits) : spec_(std::move(spec)), limits_(limits) {}

  diff::Introduction introduce(const diff::HelloRequest& request) override {
    if (request.threads > 0) limits_.threads = static_cast<int>(request.threads);
    diff::Introduction i;
    i.name = "ulpian";
    i.version = ULPIAN_VERSION;
    i.formats = {"onnx"};
    i.details = {{"edition", "0"}, {"answer", "\"canonical\""}};
    return i;
  }

  std::variant<diff::PreparedAnswer, diff::Refused, diff::Failed> prepare(const diff::PrepareRequest& request) override {
    OnnxImportOptions options;
    options.is_defined = [&](std::string_view op, std::int64_t version) {
      if (spec_->find(op, version)) return Definedness::Defined;
      return spec_->has(op) ? Definedness::UnknownVersion : Definedness::UnknownOperator;
    };
    auto graph = import_onnx(std::as_bytes(std::span(request.bytes->data(), request.bytes->size())), options);
    if (!graph) return refusal(graph.error());
    sessions_.insert_or_assign(request.program, interp::Session(spec_, std::make_shared<const Graph>(std::move(*graph)), {}));
    return diff::PreparedAnswer{};
  }

  diff::Outcome run(diff::ProgramId program, const diff::Values& inputs) override {
    interp::Session& session = sessions_.at(program);
    const Graph& g = session.graph();
    std::map<std::string, const diff::Value*> by_name;
    for (const diff::Value& v : inputs) by_name[v.name] = &v;
    std::vector<std::optional<Tensor>> tensors(g.inputs.size());
    for (std::size_t k = 0; k < g.inputs.size(); ++k) {
      auto it = by_name.find(g.values[static_cast<std::size_t>(g.inputs[k])].name);
      if (it != by_name.end() && it->second->tensor()) tensors[k] = *it->second->tensor();
    }
    diff::Outcome out;
    const auto start = std::chrono::steady_clock::now();
    auto outputs = session.run(tensors, limits_);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!outputs) {
      if (outputs.error().kind == ErrorKind::Limit) out.what = diff::OutOfMemory{0, 0, to_string(outputs.error())};
      else out.what = refusal(outputs.error());
      return out;
    }
    diff::Outputs values;
    for (std::size_t k = 0; k < outputs->size(); ++k) values.values.push_back({g.values[static_cast<std::size_t>(g.outputs[k])].name, (*outputs)[k]});
    out.what = std::move(values);
    return out;
  }

  void release(diff::ProgramId program) override { sessions_.erase(program); }

private:
  static diff::Refused refusal(const Diagnostic& d) {
    return {d.kind == ErrorKind::Unsupported ? diff::Refusal::Unsupported : diff::Refusal::Invalid, to_string(d)};
  }

  std::shared_ptr<const language::Specification> spec_;
  interp::Limits limits_;
  std::map<diff::ProgramId, interp::Session> sessions_;
};

int serve(const Common& common) {
  auto spec = load_specification(common);
  if (!spec) return report(spec.error(), common);
  Interpreter interpreter(*spec, limits_of(common));
  return diff::serve(interpreter);
}

}  // namespace

void add_backends(CLI::App& app, Common& common, std::function<int()>& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App& c = *app.add_subcommand("backends", "The backends that can be checked");
  c.add_option("--backends", o->files, "A file that registers backends of your own")->type_name("FILE")->allow_extra_args(false)->check(not_empty());
  c.add_option("--probe", o->probe, "Start this one and show what it says of itself")->type_name("NAME|COMMAND")->check(not_empty());
  add_common(c, common, false);
  c.footer("Examples:\n  ulpian backends\n  ulpian backends --probe onnxruntime\n");
  c.callback([o, &common, &chosen] { chosen = [o, &common] { return list(*o, common); }; });
  CLI::App& b = *app.add_subcommand("backend", "Serve the interpreter as a backend, on standard input and output (docs/backends.md)");
  add_common(b, common, true);
  b.callback([&common, &chosen] { chosen = [&common] { return serve(common); }; });
}

}  // namespace ulpian::tools
