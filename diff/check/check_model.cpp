#include "diff/check/check_model.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "diff/check/regions.h"
#include "spec/core/cut.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {
namespace {

using MaybeTensors = std::vector<std::optional<Tensor>>;

Values to_values(const Graph& graph, const std::vector<ValueId>& ids, const std::vector<std::optional<Tensor>>& tensors) {
  Values out;
  for (std::size_t k = 0; k < ids.size(); ++k)
    if (tensors[k]) out.push_back({graph.values[static_cast<std::size_t>(ids[k])].name, *tensors[k]});
  return out;
}

std::vector<Port> ports_of(const Values& values) {
  std::vector<Port> out;
  for (const Value& v : values) out.push_back({v.name, v.tensor()->type(), v.tensor()->extents()});
  return out;
}

Outcome run_model(Backend& backend, std::shared_ptr<const std::string> bytes, const Values& inputs) {
  Program program;
  program.bytes = std::move(bytes);
  program.inputs = ports_of(inputs);
  Prepared prepared = backend.prepare(program);
  if (!prepared.ok()) return std::move(*prepared.trouble);
  Outcome out = backend.run(prepared.program, inputs);
  backend.release(prepared.program);
  return out;
}

int severity(Class c) {
  switch (c) {
    case Class::Conforms: return 0;
    case Class::Vacuous: return 1;
    case Class::IllConditioned: return 2;
    case Class::Refused: return 3;
    case Class::Undecided: return 4;
    case Class::OutOfMemory: return 5;
    case Class::Hung: return 6;
    case Class::Failed: return 7;
    case Class::Crashed: return 8;
    case Class::Lenient: return 9;
    case Class::Violation: return 10;
  }
  ensure(false);
}

class Checker {
public:
  Checker(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, Backend& backend, const CheckOptions& options)
      : spec_(std::move(specification)), graph_ptr_(std::move(graph)), graph_(*graph_ptr_), backend_(backend), options_(options) {
    for (const auto& [id, tensor] : graph_.constants) constants_.emplace(id, tensor);
  }

  Result<ModelCheck> run(std::shared_ptr<const std::string> model, const MaybeTensors& inputs) {
    ModelCheck out;
    out.backend = backend_.introduction().name;
    out.backend_version = backend_.introduction().version;
    out.profile = options_.profile.name;
    const std::size_t total = graph_.nodes.size() + 3;
    step(0, total, "our own run");
    interp::Session session(spec_, graph_ptr_, {});
    if (Status s = session.check_inputs(inputs); !s) return s.error();
    auto canonical = session.run(inputs, options_.limits);
    if (!canonical && canonical.error().kind != ErrorKind::Requirement && canonical.error().kind != ErrorKind::Undefined && canonical.error().kind != ErrorKind::Limit)
      return std::move(canonical).error();

    const Values given = to_values(graph_, graph_.inputs, inputs);
    step(1, total, "the uncut model");
    const Outcome uncut = run_model(backend_, model, given);
    step(2, total, "the model with its intermediate values");
    std::map<ValueId, Tensor> seen;
    Outcome exposed = expose(*model, given, seen);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k]) seen.insert_or_assign(graph_.inputs[k], *inputs[k]);

    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      step(n + 3, total, graph_.nodes[n].op);
      out.nodes.push_back(check_node(n, seen, exposed.outputs() != nullptr));
    }
    judge_whole(out, canonical, uncut, exposed, model, given, inputs);
    out.restarts = backend_.restarts();
    return out;
  }

private:
  void step(std::size_t done, std::size_t total, const std::string& what) const {
    if (options_.progress) options_.progress(done, total, what);
  }

  Outcome expose(const std::string& model, const Values& given, std::map<ValueId, Tensor>& seen) {
    std::vector<GraphValue> wanted;
    std::vector<ValueId> ids = graph_.outputs;
    for (const Node& n : graph_.nodes)
      for (ValueId v : n.outputs) {
        if (v == AbsentValue || !n.function.empty()) continue;  // values inside a function have no name in the file
        if (std::find(graph_.outputs.begin(), graph_.outputs.end(), v) != graph_.outputs.end()) continue;
        GraphValue g;
        g.name = graph_.values[static_cast<std::size_t>(v)].name;
        wanted.push_back(std::move(g));
        ids.push_back(v);
      }
    auto bytes = expose_values(std::as_bytes(std::span(model.data(), model.size())), wanted, graph_.source);
    if (!bytes) {
      Outcome o;
      o.what = Failed{FailureCause::Internal, "the intermediate values cannot be made outputs: " + bytes.error().message};
      return o;
    }
    Outcome o = run_model(backend_, std::make_shared<const std::string>(std::move(*bytes)), given);
    if (const Outputs* values = o.outputs()) {
      std::map<std::string, const Value*> by_name;
      for (const Value& v : values->values) by_name[v.name] = &v;
      for (ValueId id : ids) {
        auto it = by_name.find(graph_.values[static_cast<std::size_t>(id)].name);
        if (it != by_name.end() && it->second->tensor()) seen.insert_or_assign(id, *it->second->tensor());
      }
    }
    return o;
  }

  NodeCheck check_node(std::size_t n, std::map<ValueId, Tensor>& seen, bool exposed) {
    const Node& node = graph_.nodes[n];
    NodeCheck out;
    out.node = n;
    out.op = node.op;
    out.name = node.name;
    out.place = place_of(graph_, node);
    MaybeTensors arguments(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      if (id == AbsentValue) continue;
      if (auto it = constants_.find(id); it != constants_.end() && !seen.count(id)) arguments[k] = it->second;
      else if (auto jt = seen.find(id); jt != seen.end()) arguments[k] = jt->second;
      else {
        out.verdict.verdict = Class::Undecided;
        out.verdict.reason = fmt::format("its input \"{}\" was not seen, since an operator before gave nothing", graph_.values[static_cast<std::size_t>(id)].name);
        return out;
      }
    }
    Expectation expected = expect(node, arguments);
    bool all_seen = exposed;
    MaybeTensors got(node.outputs.size());
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == AbsentValue) continue;
      if (auto it = seen.find(node.outputs[k]); it != seen.end()) got[k] = it->second;
      else all_seen = false;
    }
    if (all_seen) {
      out.verdict = judge(expected, got);
    } else {
      out.exposure = Exposure::Alone;
      out.verdict = run_alone(n, arguments, expected, got);
    }
    // The next operators go on with what the backend gave, or with ours.
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == AbsentValue || seen.count(id)) continue;
      if (got[k]) seen.emplace(id, *got[k]);
      else if (k < expected.canonical.size() && expected.canonical[k]) seen.emplace(id, *expected.canonical[k]);
    }
    return out;
  }

  Expectation expect(const Node& node, const MaybeTensors& arguments, const std::vector<std::uint8_t>& alternatives = {}) {
    Expectation e;
    for (ValueId id : node.outputs) e.names.push_back(id == AbsentValue ? std::string() : graph_.values[static_cast<std::size_t>(id)].name);
    auto made = interp::Call::make(*spec_, graph_, node, arguments, interp::Evaluator::Block, alternatives);
    if (!made) {
      e.error = std::move(made).error();
      return e;
    }
    const std::shared_ptr<const interp::Call> call = *made;
    const interp::Limits limits = limits_of_node();
    auto canonical = call->run(arguments, limits, &e.undefined);
    if (!canonical) {
      e.error = interp::at_node(std::move(canonical).error(), graph_, node);
      return e;
    }
    e.canonical = std::move(*canonical);
    e.canonical.resize(node.outputs.size());
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k] == AbsentValue) e.canonical[k].reset();
    e.unordered_axes = call->program().unordered_axes;
    e.allowed = [call, arguments, limits, profile = options_.profile]() {
      std::vector<std::optional<interp::AllowedTensor>> sets(arguments.size());
      for (std::size_t k = 0; k < arguments.size(); ++k)
        if (arguments[k]) sets[k] = interp::AllowedTensor::exactly(*arguments[k]);
      return interp::evaluate_allowed(call->program(), sets, profile, limits);
    };
    if (alternatives.empty())
      for (auto& choice : other_choices(call->program().static_choices))
        e.others.push_back([this, &node, arguments, choice] { return expect(node, arguments, choice); });
    return e;
  }

  interp::Limits limits_of_node() const {
    interp::Limits limits = options_.limits;
    const auto span = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(options_.node_seconds));
    limits.deadline = std::min(limits.deadline, std::chrono::steady_clock::now() + span);
    return limits;
  }

  // Every way to choose but the first, a few at most.
  static std::vector<std::vector<std::uint8_t>> other_choices(const std::vector<std::uint8_t>& counts) {
    constexpr std::size_t Most = 16;
    std::vector<std::vector<std::uint8_t>> out;
    std::vector<std::uint8_t> choice(counts.size(), 0);
    while (out.size() < Most) {
      std::size_t k = 0;
      while (k < choice.size() && ++choice[k] >= counts[k]) choice[k++] = 0;
      if (k == choice.size()) break;
      out.push_back(choice);
    }
    return out;
  }

  Verdict run_alone(std::size_t n, const MaybeTensors& arguments, const Expectation& expected, MaybeTensors& got) {
    const Node& node = graph_.nodes[n];
    CutOptions options;
    options.keep_constants = true;
    const int index = static_cast<int>(n);
    Cut part = cut(graph_, std::span(&index, 1), options);
    std::map<ValueId, const Tensor*> by_id;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) by_id[node.inputs[k]] = &*arguments[k];
    Values inputs;
    for (std::size_t k = 0; k < part.inputs.size(); ++k) {
      const auto it = by_id.find(part.inputs[k]);
      if (it == by_id.end()) return failure("a body reads values that were not seen");
      GraphValue& v = part.graph.values[static_cast<std::size_t>(part.graph.inputs[k])];
      v.type = it->second->type();
      v.extents.emplace();
      for (std::int64_t e : it->second->extents()) v.extents->push_back({e, {}});
      inputs.push_back({v.name, *it->second});
    }
    for (std::size_t k = 0; k < part.graph.outputs.size(); ++k) {
      GraphValue& v = part.graph.values[static_cast<std::size_t>(part.graph.outputs[k])];
      if (v.type) continue;
      for (std::size_t j = 0; j < node.outputs.size(); ++j)
        if (node.outputs[j] == part.outputs[k] && j < expected.canonical.size() && expected.canonical[j]) v.type = expected.canonical[j]->type();
    }
    auto bytes = export_onnx(part.graph);
    if (!bytes) return failure("it cannot be cut out: " + bytes.error().message);
    const Outcome o = run_model(backend_, std::make_shared<const std::string>(std::move(*bytes)), inputs);
    if (const Outputs* values = o.outputs()) {
      for (std::size_t k = 0; k < part.outputs.size() && k < values->values.size(); ++k)
        for (std::size_t j = 0; j < node.outputs.size(); ++j)
          if (node.outputs[j] == part.outputs[k] && values->values[k].tensor()) got[j] = *values->values[k].tensor();
      return judge(expected, got);
    }
    return judge(expected, o);
  }

  static Verdict failure(std::string reason) {
    Verdict v;
    v.verdict = Class::Undecided;
    v.reason = std::move(reason);
    return v;
  }

  void judge_whole(ModelCheck& out, const Result<std::vector<Tensor>>& canonical, const Outcome& uncut, const Outcome& exposed,
                   const std::shared_ptr<const std::string>& model, const Values& given, const MaybeTensors& inputs) {
    Expectation e;
    for (ValueId id : graph_.outputs) e.names.push_back(graph_.values[static_cast<std::size_t>(id)].name);
    if (!canonical) e.error = canonical.error();
    else
      for (const Tensor& t : *canonical) e.canonical.emplace_back(t);
    if (!uncut.outputs() || e.error) {
      out.whole = judge(e, uncut);
      out.note = e.error ? "the definitions give no answer on these inputs" : "the model as it is";
      return;
    }
    out.transfers = exposed.outputs() != nullptr && same_outputs(uncut, exposed);
    if (out.transfers) {
      // Each operator was judged on what it really got; the model's outputs are those operators' outputs.
      for (const Value& v : uncut.outputs()->values) out.whole.counts.elements += v.tensor() ? v.tensor()->size() : 0;
      Class worst = Class::Conforms;
      for (const NodeCheck& n : out.nodes)
        if (severity(n.verdict.verdict) > severity(worst) && n.exposure == Exposure::InPlace) worst = n.verdict.verdict;
      out.whole.verdict = worst;
      out.note = "its outputs have the same bits as with every intermediate value exposed: the operators' verdicts are its own";
      return;
    }
    RegionQuestion q{spec_, graph_ptr_, &backend_, model, given, inputs, &uncut, options_};
    judge_by_regions(q, e, out);
  }

  bool same_outputs(const Outcome& a, const Outcome& b) const {
    std::map<std::string, const Value*> other;
    for (const Value& v : b.outputs()->values) other[v.name] = &v;
    for (const Value& v : a.outputs()->values) {
      auto it = other.find(v.name);
      if (it == other.end() || !v.tensor() || !it->second->tensor() || !same_elements(*v.tensor(), *it->second->tensor())) return false;
    }
    return true;
  }

  std::shared_ptr<const language::Specification> spec_;
  std::shared_ptr<const Graph> graph_ptr_;
  const Graph& graph_;
  Backend& backend_;
  const CheckOptions& options_;
  std::map<ValueId, Tensor> constants_;
};

}  // namespace

Class ModelCheck::overall() const {
  Class worst = whole.verdict;
  for (const NodeCheck& n : nodes)
    if (severity(n.verdict.verdict) > severity(worst)) worst = n.verdict.verdict;
  // A backend that lacks an operator, or a region that tells nothing, leaves the question open; it does not hide a fault.
  return worst;
}

Result<ModelCheck> check_model(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                               std::shared_ptr<const std::string> model, Backend& backend, const std::vector<std::optional<Tensor>>& inputs,
                               const CheckOptions& options) {
  return Checker(specification, graph, backend, options).run(std::move(model), inputs);
}

}  // namespace ulpian::diff
