#include "diff/check/programs.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "spec/core/cut.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {

Values to_values(const Graph& graph, const std::vector<ValueId>& ids, const Data& data) {
  Values out;
  for (std::size_t k = 0; k < ids.size() && k < data.size(); ++k)
    if (data[k].is_present()) out.push_back(value_of(graph.values[static_cast<std::size_t>(ids[k])].name, data[k]));
  return out;
}

void declare(GraphValue& value, const Datum& datum, bool with_extents) {
  if (!datum.is_present()) {
    value.is_optional = true;
    return;
  }
  const Tensor* t = datum.tensor();
  value.is_sequence = !t;
  value.type = t ? t->type() : datum.sequence()->type;
  value.extents.reset();
  if (!t || !with_extents) return;
  value.extents.emplace();
  for (std::int64_t e : t->extents()) value.extents->push_back({e, {}});
}

Part one_node(const Graph& graph, int node, const std::function<const Datum*(ValueId)>& value) {
  Cut part = cut(graph, std::span(&node, 1));
  Part out;
  for (std::size_t k = 0; k < part.inputs.size(); ++k) {
    const Datum* v = value(part.inputs[k]);
    out.inputs.push_back(v ? *v : Datum());
    declare(part.graph.values[static_cast<std::size_t>(part.graph.inputs[k])], out.inputs.back(), true);
  }
  out.graph = std::make_shared<const Graph>(std::move(part.graph));
  return out;
}

Data arguments_of(const Graph& graph, const Node& node, const Data& inputs) {
  Data out(node.inputs.size());
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId id = node.inputs[k];
    if (id == AbsentValue) continue;
    for (const auto& [constant, tensor] : graph.constants)
      if (constant == id) out[k] = tensor;
    for (std::size_t j = 0; j < graph.inputs.size(); ++j)
      if (graph.inputs[j] == id && inputs[j].is_present()) out[k] = inputs[j];
  }
  return out;
}

std::optional<Data> run_with_bodies(const Judging& judging, const Graph& graph, int node, const Data& values, const interp::Limits& limits) {
  const Part part = one_node(graph, node, [&](ValueId id) { return &values[static_cast<std::size_t>(id)]; });
  auto made = interp::Session(judging.specification, part.graph).run_values(part.inputs, {}, limits);
  if (!made) return std::nullopt;
  const std::vector<ValueId>& outputs = graph.nodes[static_cast<std::size_t>(node)].outputs;
  Data out(outputs.size());
  for (std::size_t k = 0, j = 0; k < out.size(); ++k)
    if (outputs[k] != AbsentValue && j < made->size()) out[k] = std::move((*made)[j++]);
  return out;
}

std::shared_ptr<const Exhibit> exhibited(const Judging& judging, const Verdict& verdict, const std::shared_ptr<const Graph>& graph, const Data& inputs, const Data& outputs) {
  if (!judging.options->keep_exhibits || verdict.by_rule || (verdict.verdict != Class::Violation && verdict.verdict != Class::Lenient)) return nullptr;
  Graph declared = *graph;
  for (std::size_t k = 0; k < declared.outputs.size() && k < outputs.size(); ++k)
    if (GraphValue& v = declared.values[static_cast<std::size_t>(declared.outputs[k])]; !v.type && outputs[k].is_present()) declare(v, outputs[k], false);
  return std::make_shared<const Exhibit>(Exhibit{std::make_shared<const Graph>(std::move(declared)), inputs, outputs});
}

bool same_value(const Datum& a, const Datum& b) {
  if (a.is_present() != b.is_present() || (a.tensor() == nullptr) != (b.tensor() == nullptr) || a.count() != b.count()) return false;
  for (std::size_t k = 0; k < a.count(); ++k)
    if (!same_elements(a.part(k), b.part(k))) return false;
  return true;
}

std::vector<GraphValue> outputs_of(const Graph& graph) {
  std::vector<GraphValue> out;
  for (ValueId id : graph.outputs) out.push_back(graph.values[static_cast<std::size_t>(id)]);
  return out;
}

namespace {

// What is wrong with an answer as such: it must give every output that was asked for, once, and nothing else.
std::optional<std::string> incomplete(const Values& answer, std::span<const GraphValue> wanted) {
  struct Left {
    int count = 0;
    bool is_optional = true;
  };
  std::map<std::string_view, Left> left;
  for (const GraphValue& v : wanted) {
    Left& l = left[v.name];
    ++l.count;
    l.is_optional = l.is_optional && v.is_optional;
  }
  for (const Value& v : answer) {
    const auto it = left.find(v.name);
    if (it == left.end()) return fmt::format("its answer has an output \"{}\", which the program does not have", v.name);
    if (--it->second.count < 0) return fmt::format("its answer gives the output \"{}\" more than once", v.name);
  }
  for (const auto& [name, l] : left)
    if (l.count > 0) return fmt::format("its answer lacks the output \"{}\"", name);
  for (const Value& v : answer)
    if (std::holds_alternative<Absent>(v.value) && !left.at(v.name).is_optional) return fmt::format("its answer gives nothing for the output \"{}\"", v.name);
  return std::nullopt;
}

}  // namespace

Outcome run_program(Backend& backend, Bytes bytes, const Values& inputs, std::span<const GraphValue> outputs) {
  Program program;
  program.bytes = std::move(bytes);
  // Only tensors have extents that could be fixed beforehand.
  for (const Value& v : inputs)
    if (v.tensor()) program.inputs.push_back({v.name, v.tensor()->type(), v.tensor()->extents()});
  Prepared prepared = backend.prepare(program);
  if (!prepared.ok()) return std::move(*prepared.trouble);
  Outcome out = backend.run(prepared.program, inputs);
  backend.release(prepared.program);
  if (const Outputs* answer = out.outputs())
    if (auto wrong = incomplete(answer->values, outputs)) out.what = Failed{FailureCause::Protocol, std::move(*wrong)};
  return out;
}

Outcome run_exposed(Backend& backend, const std::string& model, const Graph& graph, std::span<const ValueId> wanted, const Values& inputs) {
  std::vector<GraphValue> values;
  for (ValueId id : wanted) {
    GraphValue v;
    v.name = graph.values[static_cast<std::size_t>(id)].name;
    values.push_back(std::move(v));
  }
  auto bytes = expose_values(std::as_bytes(std::span(model.data(), model.size())), values, graph.source);
  std::vector<GraphValue> outputs = outputs_of(graph);
  std::set<std::string> names;
  for (const GraphValue& v : outputs) names.insert(v.name);
  for (ValueId id : wanted)
    if (const GraphValue& v = graph.values[static_cast<std::size_t>(id)]; names.insert(v.name).second) {
      outputs.push_back(v);
      outputs.back().is_optional = true;  // of values inside, files do not say whether they may be nothing
    }
  if (bytes) return run_program(backend, std::make_shared<const std::string>(std::move(*bytes)), inputs, outputs);
  Outcome o;
  o.what = Failed{FailureCause::Internal, "the intermediate values cannot be made outputs: " + bytes.error().message};
  return o;
}

bool same_outputs(const Outcome& a, const Outcome& b) {
  if (!a.outputs() || !b.outputs()) return false;
  std::map<std::string, const Value*> other;
  for (const Value& v : b.outputs()->values) other[v.name] = &v;
  return std::all_of(a.outputs()->values.begin(), a.outputs()->values.end(), [&](const Value& v) {
    const auto it = other.find(v.name);
    return it != other.end() && same_value(datum_of(v), datum_of(*it->second));
  });
}

bool is_constant(const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [](ValueId id) { return id == AbsentValue; }) && !has_body(node);
}

bool has_body(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& a) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(a.second) || std::holds_alternative<std::vector<std::shared_ptr<const Graph>>>(a.second);
  });
}

std::shared_ptr<const std::set<std::string>> handed_on(const Graph& graph) {
  auto out = std::make_shared<std::set<std::string>>();
  const auto name = [&](ValueId id) { return graph.values[static_cast<std::size_t>(id)].name; };
  for (const Node& n : graph.nodes)
    for (ValueId id : n.outputs)
      if (id != AbsentValue && !is_constant(n)) out->insert(name(id));
  for (ValueId id : graph.outputs) out->erase(name(id));
  return out;
}

}  // namespace ulpian::diff
