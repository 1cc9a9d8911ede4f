// The interpreter as a backend with one fault, which the first argument names: `add-ulp`, `crash:onnx.Relu`, ... Without one it is right.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "diff/backends/server.h"
#include "interp/session/graph_host.h"
#include "interp/session/session.h"
#include "spec/core/cut.h"
#include "spec/import/onnx/import_onnx.h"

namespace {

using namespace ulpian;
using namespace ulpian::diff;
using interp::MaybeTensors;

Tensor changed(const Tensor& t, auto change) {
  Tensor out(t.type(), t.extents());
  for (std::int64_t k = 0; k < t.size(); ++k) out.set(k, change(k, t.at(k)));
  return out;
}

class Faulty : public Handler {
public:
  explicit Faulty(const std::string& fault) : fault_(fault.substr(0, fault.find(':'))), at_(fault.find(':') == std::string::npos ? "" : fault.substr(fault.find(':') + 1)) {}

  Introduction introduce(const HelloRequest&) override {
    Introduction i;
    i.name = "faulty";
    i.version = "1";
    i.formats = {"onnx"};
    return i;
  }

  std::variant<PreparedAnswer, Refused, Failed> prepare(const PrepareRequest& request) override {
    auto graph = import_onnx(std::as_bytes(std::span(request.bytes->data(), request.bytes->size())));
    if (!graph) return Refused{Refusal::Invalid, to_string(graph.error())};
    if (fault_ == "refuse-exposed" && graph->outputs.size() > 1) return Refused{Refusal::Invalid, "too many outputs"};
    if (fault_ == "constant-axes" && (graph->outputs.size() > 1 || has_given_axes(*graph))) return Refused{Refusal::Unsupported, "axes must be constant"};
    programs_.insert_or_assign(request.program, std::move(*graph));
    return PreparedAnswer{};
  }

  Outcome run(ProgramId program, const Values& inputs) override {
    const Graph& g = programs_.at(program);
    if (fault_ == "memory-exposed" && g.outputs.size() > static_cast<std::size_t>(std::atoi(at_.c_str()))) return {OutOfMemory{0, 0, "too many outputs"}, -1, {}};
    Data values(g.values.size());
    for (const auto& [id, t] : g.constants) values[static_cast<std::size_t>(id)] = t;
    for (const Value& v : inputs)
      for (ValueId id : g.inputs)
        if (g.values[static_cast<std::size_t>(id)].name == v.name) values[static_cast<std::size_t>(id)] = datum_of(v);
    if (auto trouble = steps(g, values)) return std::move(*trouble);
    Outputs out;
    for (ValueId id : g.outputs) out.values.push_back(value_of(g.values[static_cast<std::size_t>(id)].name, values[static_cast<std::size_t>(id)]));
    if (fault_ == "missing-output") out.values.pop_back();
    if (fault_ == "no-output") out.values.clear();
    if (fault_ == "further-output") out.values.push_back({"of its own", Tensor(ElementType::F32, {1})});
    if (fault_ == "output-twice") out.values.push_back(out.values.back());
    if (fault_ == "nothing") out.values.back().value = Absent{};
    return {std::move(out), -1, {}};
  }
  void release(ProgramId program) override { programs_.erase(program); }

private:
  using Data = std::vector<Datum>;

  std::optional<Outcome> steps(const Graph& g, Data& values) {
    for (const Node& n : g.nodes)
      if (auto trouble = holds_graphs(n) ? hosted(g, n, values) : step(g, n, values)) return trouble;
    return std::nullopt;
  }

  static bool holds_graphs(const Node& n) {
    bool some = false;
    interp::for_each_body(n, [&](const Graph&) { some = true; });
    return some;
  }

  // What runs in its graphs has the fault, too.
  std::optional<Outcome> hosted(const Graph& g, const Node& n, Data& values) {
    const int index = static_cast<int>(&n - g.nodes.data());
    Cut part = cut(g, std::span(&index, 1));
    Data inputs;
    for (ValueId id : part.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
    interp::SessionOptions options;
    options.run_body = [&](const Graph& body, std::span<const Datum> given, const interp::Captured& captured) -> Result<Data> {
      Data inner(body.values.size());
      for (const auto& [id, t] : body.constants) inner[static_cast<std::size_t>(id)] = t;
      for (std::size_t k = 0; k < given.size(); ++k) inner[static_cast<std::size_t>(body.inputs[k])] = given[k];
      for (const auto& [id, name] : body.captured) inner[static_cast<std::size_t>(id)] = *captured(name);
      if (steps(body, inner)) return diagnostic(ErrorKind::Input, "a step of the body fails");
      Data out;
      for (ValueId id : body.outputs) out.push_back(inner[static_cast<std::size_t>(id)]);
      return out;
    };
    auto made = interp::Session(specification_, std::make_shared<const Graph>(std::move(part.graph)), options).run_values(inputs);
    if (!made) return Outcome{Refused{Refusal::Invalid, to_string(made.error())}, -1, {}};
    for (std::size_t k = 0; k < part.outputs.size(); ++k) values[static_cast<std::size_t>(part.outputs[k])] = std::move((*made)[k]);
    return std::nullopt;
  }

  std::optional<Outcome> step(const Graph& g, const Node& n, Data& values) {
    if (fault_ == "crash" && n.op == at_) std::abort();
    if (fault_ == "hang" && n.op == at_) ::sleep(60);
    if (fault_ == "refuse" && n.op == at_) return Outcome{Refused{Refusal::Unsupported, "no such operator"}, -1, {}};
    MaybeTensors arguments(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (n.inputs[k] != AbsentValue)
        if (const Tensor* t = values[static_cast<std::size_t>(n.inputs[k])].tensor()) arguments[k] = *t;
    // Two operators at once, where nobody looks at what is between them.
    if (fault_ == "fuse" && n.op == "onnx.Add")
      if (const Node* product = fusable(g, n.inputs[0])) {
        const Tensor &a = *values[static_cast<std::size_t>(product->inputs[0])].tensor(), &b = *values[static_cast<std::size_t>(product->inputs[1])].tensor(), &c = *arguments[1];
        values[static_cast<std::size_t>(n.outputs[0])] = changed(c, [&](std::int64_t k, Bits x) { return fused_multiply_add(c.type(), a.at(k), b.at(k), x); });
        return std::nullopt;
      }
    if (fault_ == "drop-term" && n.op == "onnx.ReduceSum") arguments[0] = changed(*arguments[0], [&](std::int64_t k, Bits x) { return k + 1 == arguments[0]->size() ? Bits{0} : x; });
    if (fault_ == "clamp" && n.op == "onnx.Gather")
      arguments[1] = changed(*arguments[1], [&](std::int64_t, Bits x) { return static_cast<Bits>(std::clamp<std::int64_t>(static_cast<std::int64_t>(x), 0, arguments[0]->extents()[0] - 1)); });
    auto call = interp::Call::make(*specification_, g, n, arguments);
    if (!call) return Outcome{Refused{Refusal::Invalid, to_string(call.error())}, -1, {}};
    std::optional<Diagnostic> undefined;
    auto out = (*call)->run(arguments, {}, &undefined);
    if (!out) return Outcome{Refused{Refusal::Invalid, to_string(out.error())}, -1, {}};
    for (std::size_t k = 0; k < n.outputs.size() && k < out->size(); ++k)
      if (n.outputs[k] != AbsentValue && (*out)[k]) values[static_cast<std::size_t>(n.outputs[k])] = spoilt(n, *(*out)[k]);
    return std::nullopt;
  }

  static bool has_given_axes(const Graph& g) {
    return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.op == "onnx.Unsqueeze" && std::find(g.inputs.begin(), g.inputs.end(), n.inputs[1]) != g.inputs.end(); });
  }

  static const Node* fusable(const Graph& g, ValueId id) {
    if (std::find(g.outputs.begin(), g.outputs.end(), id) != g.outputs.end()) return nullptr;
    for (const Node& n : g.nodes)
      if (n.op == "onnx.Mul" && n.outputs[0] == id) return &n;
    return nullptr;
  }

  Tensor spoilt(const Node& n, const Tensor& t) const {
    if (fault_ == "add-ulp" && n.op == "onnx.Add") return changed(t, [](std::int64_t k, Bits x) { return k == 1 ? x + 1 : x; });
    if (fault_ == "ulp" && n.op == at_) return changed(t, [](std::int64_t, Bits x) { return x + 1; });
    if (fault_ == "scale" && n.op == at_) return changed(t, [](std::int64_t, Bits x) { return from_double(ElementType::F32, to_double(ElementType::F32, x) * 1.01); });
    if (fault_ == "nan-swap" && n.op == "onnx.Max") return changed(t, [&](std::int64_t, Bits x) { return is_nan(t.type(), x) ? Bits{0} : x; });
    if (fault_ == "flush" && t.type() == ElementType::F32) return changed(t, [](std::int64_t, Bits x) { return (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; });
    if (fault_ == "wrong-tie" && n.op == "onnx.Round")
      return changed(t, [](std::int64_t, Bits x) { return to_double(ElementType::F32, x) == 2 ? from_double(ElementType::F32, 3) : x; });
    if (fault_ == "wrong-type" && n.op == "onnx.Relu") return Tensor(ElementType::F64, t.extents());
    if (fault_ == "wrong-extents" && n.op == "onnx.Relu") return Tensor(t.type(), {1, t.size()});
    if (fault_ == "reverse" && n.op == "onnx.TopK") return changed(t, [&](std::int64_t k, Bits) { return t.at(t.size() - 1 - k); });
    return t;
  }

  std::string fault_, at_;
  std::shared_ptr<const language::Specification> specification_ = *language::Specification::load();
  std::map<ProgramId, Graph> programs_;
};

}  // namespace

int main(int count, char** words) {
  Faulty faulty(count > 1 ? words[1] : "");
  return serve(faulty);
}
