#include "diff/check/regions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "interp/session/allowed_session.h"
#include "spec/core/cut.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {
namespace {

// Each trial prepares and runs the model once.
constexpr int MostTrials = 48;

Expectation region_expectation(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                               const std::vector<std::optional<Tensor>>& inputs, const CheckOptions& options) {
  Expectation e;
  for (ValueId id : graph->outputs) e.names.push_back(graph->values[static_cast<std::size_t>(id)].name);
  interp::Session session(specification, graph, {});
  interp::RunNotes notes;
  auto canonical = session.run(inputs, options.limits, &notes);
  if (!canonical) {
    e.error = std::move(canonical).error();
    return e;
  }
  if (!notes.undefined.empty()) e.undefined = notes.undefined.front();
  for (Tensor& t : *canonical) e.canonical.emplace_back(std::move(t));
  e.allowed = [=]() -> Result<std::vector<std::optional<interp::AllowedTensor>>> {
    std::vector<std::optional<interp::AllowedTensor>> sets(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k]) sets[k] = interp::AllowedTensor::exactly(*inputs[k]);
    interp::AllowedSession allowed(specification, graph, options.profile);
    auto out = allowed.run(sets, options.limits);
    if (!out) return std::move(out).error();
    return std::vector<std::optional<interp::AllowedTensor>>(out->begin(), out->end());
  };
  return e;
}

// A set that admits more than a quarter of the number line around its value tells nothing.
bool tells_nothing(const Expectation& e) {
  if (!e.allowed) return false;
  auto sets = e.allowed();
  if (!sets) return false;
  std::int64_t wide = 0, total = 0;
  for (std::size_t k = 0; k < sets->size() && k < e.canonical.size(); ++k) {
    if (!(*sets)[k] || !e.canonical[k] || !is_float(e.canonical[k]->type())) continue;
    const interp::AllowedTensor& s = *(*sets)[k];
    for (std::int64_t i = 0; i < s.size(); ++i, ++total) {
      if (s.flags()[static_cast<std::size_t>(i)] & interp::Anything) {
        ++wide;
        continue;
      }
      const double low = to_double(s.type(), s.lower().at(i)), high = to_double(s.type(), s.upper().at(i)), c = to_double(s.type(), e.canonical[k]->at(i));
      if (!(high - low <= 0.25 * (c < 0 ? -c : c)) && high - low > 1e-3) ++wide;
    }
  }
  return total > 0 && wide * 2 > total;
}

class Regions {
public:
  Regions(const RegionQuestion& q, ModelCheck& out) : q_(q), g_(*q.graph), out_(out) {}

  void run(const Expectation& whole) {
    collect();
    choose(0, candidates_.size());
    finish(whole);
  }

private:
  void collect() {
    const std::set<ValueId> outputs(g_.outputs.begin(), g_.outputs.end());
    for (const Node& n : g_.nodes)
      for (ValueId v : n.outputs)
        if (v != AbsentValue && n.function.empty() && !outputs.count(v)) candidates_.push_back(v);
  }

  // Adds as many of the candidates in [from, to) as leave the outputs' bits alone.
  void choose(std::size_t from, std::size_t to) {
    if (from >= to || trials_ >= MostTrials) return;
    std::vector<ValueId> tried = kept_;
    tried.insert(tried.end(), candidates_.begin() + static_cast<std::ptrdiff_t>(from), candidates_.begin() + static_cast<std::ptrdiff_t>(to));
    // That everything at once changes the bits is known.
    if (tried.size() < candidates_.size() && same_bits(tried)) {
      kept_ = std::move(tried);
      return;
    }
    if (to - from == 1) return;
    const std::size_t middle = from + (to - from) / 2;
    choose(from, middle);
    choose(middle, to);
  }

  bool same_bits(const std::vector<ValueId>& exposed) {
    ++trials_;
    if (q_.options.progress) q_.options.progress(static_cast<std::size_t>(trials_), MostTrials, "looking for fused regions");
    std::vector<GraphValue> wanted;
    for (ValueId v : exposed) {
      GraphValue x;
      x.name = g_.values[static_cast<std::size_t>(v)].name;
      wanted.push_back(std::move(x));
    }
    auto bytes = expose_values(std::as_bytes(std::span(q_.model->data(), q_.model->size())), wanted, g_.source);
    if (!bytes) return false;
    Program program;
    program.bytes = std::make_shared<const std::string>(std::move(*bytes));
    for (const Value& v : q_.given) program.inputs.push_back({v.name, v.tensor()->type(), v.tensor()->extents()});
    const Prepared prepared = q_.backend->prepare(program);
    if (!prepared.ok()) return false;
    const Outcome o = q_.backend->run(prepared.program, q_.given);
    q_.backend->release(prepared.program);
    const Outputs* values = o.outputs();
    if (!values) return false;
    std::map<std::string, Tensor> seen;
    for (const Value& v : values->values)
      if (v.tensor()) seen.emplace(v.name, *v.tensor());
    for (const Value& v : q_.uncut->outputs()->values) {
      auto it = seen.find(v.name);
      if (it == seen.end() || !v.tensor() || !same_elements(*v.tensor(), it->second)) return false;
    }
    seen_ = std::move(seen);
    return true;
  }

  // Nodes joined by values that are not exposed.
  std::vector<std::vector<int>> groups() const {
    std::vector<int> parent(g_.nodes.size());
    std::iota(parent.begin(), parent.end(), 0);
    auto root = [&](int x) {
      while (parent[static_cast<std::size_t>(x)] != x) x = parent[static_cast<std::size_t>(x)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(x)])];
      return x;
    };
    std::set<ValueId> visible(kept_.begin(), kept_.end());
    visible.insert(g_.outputs.begin(), g_.outputs.end());
    std::map<ValueId, int> maker;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      for (ValueId v : g_.nodes[n].outputs)
        if (v != AbsentValue) maker[v] = static_cast<int>(n);
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      for (ValueId v : reads_of(g_, g_.nodes[n]))
        if (auto it = maker.find(v); it != maker.end() && !visible.count(v)) parent[static_cast<std::size_t>(root(static_cast<int>(n)))] = root(it->second);
    std::map<int, std::vector<int>> by_root;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) by_root[root(static_cast<int>(n))].push_back(static_cast<int>(n));
    std::vector<std::vector<int>> out;
    for (auto& [r, nodes] : by_root) out.push_back(std::move(nodes));
    return out;
  }

  void finish(const Expectation& whole) {
    std::map<ValueId, Tensor> values;
    for (const auto& [id, t] : g_.constants) values.emplace(id, t);
    for (std::size_t k = 0; k < q_.inputs.size(); ++k)
      if (q_.inputs[k]) values.insert_or_assign(g_.inputs[k], *q_.inputs[k]);
    for (const Value& v : q_.uncut->outputs()->values) seen_.emplace(v.name, *v.tensor());
    std::vector<ValueId> visible = kept_;
    visible.insert(visible.end(), g_.outputs.begin(), g_.outputs.end());
    for (ValueId v : visible)
      if (auto it = seen_.find(g_.values[static_cast<std::size_t>(v)].name); it != seen_.end()) values.insert_or_assign(v, it->second);
    const auto all = groups();
    std::size_t fused = 0, largest = 0;
    for (const auto& nodes : all) {
      if (nodes.size() < 2) continue;
      ++fused;
      largest = std::max(largest, nodes.size());
    }
    if (q_.options.progress) q_.options.progress(0, all.size(), "judging regions");
    Counts counts;
    Verdict worst;
    std::size_t wide = 0, done = 0;
    for (const auto& nodes : all) {
      Verdict v = judge_region(nodes, values);
      if (q_.options.progress) q_.options.progress(++done, all.size(), "judging regions");
      counts.elements += v.counts.elements;
      counts.equal += v.counts.equal;
      counts.allowed += v.counts.allowed;
      counts.vacuous += v.counts.vacuous;
      counts.outside += v.counts.outside;
      counts.worst_ulps = std::max(counts.worst_ulps, v.counts.worst_ulps);
      if (v.verdict == Class::IllConditioned) ++wide;
      const bool worse = exit_status(v.verdict) == 1 ? exit_status(worst.verdict) != 1 : exit_status(v.verdict) == 3 && exit_status(worst.verdict) == 0;
      if (worse) worst = std::move(v);
    }
    worst.counts = counts;
    out_.whole = std::move(worst);
    out_.note = fmt::format("exposing values changes the bits, so {} values were left hidden: {} regions of 2 to {} operators, judged as units{}", candidates_.size() - kept_.size(), fused, largest,
                            wide ? fmt::format(" ({} too wide to tell)", wide) : "");
    (void)whole;
  }

  Verdict judge_region(const std::vector<int>& nodes, const std::map<ValueId, Tensor>& values) {
    CutOptions cut_options;
    cut_options.keep_constants = true;
    auto part = std::make_shared<Cut>(cut(g_, nodes, cut_options));
    std::vector<std::optional<Tensor>> inputs(part->inputs.size());
    for (std::size_t k = 0; k < part->inputs.size(); ++k) {
      auto it = values.find(part->inputs[k]);
      if (it == values.end()) return undecided("a value that it reads was not seen");
      inputs[k] = it->second;
      part->graph.values[static_cast<std::size_t>(part->graph.inputs[k])].type = it->second.type();
      part->graph.values[static_cast<std::size_t>(part->graph.inputs[k])].extents.reset();
    }
    std::vector<std::optional<Tensor>> got(part->outputs.size());
    std::vector<ValueId> kept_outputs, kept_sources;
    for (std::size_t k = 0; k < part->outputs.size(); ++k)
      if (auto it = values.find(part->outputs[k]); it != values.end()) {
        kept_outputs.push_back(part->graph.outputs[k]);
        got[kept_outputs.size() - 1] = it->second;
      }
    got.resize(kept_outputs.size());
    part->graph.outputs = kept_outputs;
    auto graph = std::make_shared<const Graph>(std::move(part->graph));
    const Expectation e = region_expectation(q_.specification, graph, inputs, q_.options);
    Verdict v = judge(e, got);
    if (v.verdict == Class::Conforms && v.counts.allowed > 0 && nodes.size() > 1 && tells_nothing(e)) {
      v.verdict = Class::IllConditioned;
      v.reason = fmt::format("a region of {} operators, from {} on, admits nearly everything", nodes.size(), describe(g_.nodes[static_cast<std::size_t>(nodes.front())]));
    } else if (v.verdict == Class::Violation) {
      v.reason = fmt::format("region of {} operators from {}: {}", nodes.size(), describe(g_.nodes[static_cast<std::size_t>(nodes.front())]), v.reason);
    }
    return v;
  }

  static Verdict undecided(std::string reason) {
    Verdict v;
    v.verdict = Class::Undecided;
    v.reason = std::move(reason);
    return v;
  }

  const RegionQuestion& q_;
  const Graph& g_;
  ModelCheck& out_;
  std::vector<ValueId> candidates_, kept_;
  std::map<std::string, Tensor> seen_;
  int trials_ = 0;
};

}  // namespace

void judge_by_regions(const RegionQuestion& question, const Expectation& whole, ModelCheck& out) { Regions(question, out).run(whole); }

Result<ModelCheck> check_outputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                                 const std::vector<std::optional<Tensor>>& inputs, const std::vector<std::optional<Tensor>>& outputs, const CheckOptions& options) {
  interp::Session session(specification, graph, {});
  if (Status s = session.check_inputs(inputs); !s) return s.error();
  ModelCheck out;
  out.backend = "outputs from files";
  out.profile = options.profile.name;
  const Expectation e = region_expectation(specification, graph, inputs, options);
  if (e.error && e.error->kind != ErrorKind::Requirement && e.error->kind != ErrorKind::Undefined && e.error->kind != ErrorKind::Limit) return *e.error;
  out.whole = judge(e, outputs);
  if (out.whole.verdict == Class::Conforms && out.whole.counts.allowed > 0 && graph->nodes.size() > 1 && tells_nothing(e)) {
    out.whole.verdict = Class::IllConditioned;
    out.whole.reason = "the whole model is one region, and its allowed sets admit nearly everything";
  }
  out.note = "the whole model is one region";
  return out;
}

}  // namespace ulpian::diff
