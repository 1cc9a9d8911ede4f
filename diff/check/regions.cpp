#include "diff/check/regions.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "diff/check/deviations.h"
#include "diff/check/region_graph.h"
#include "diff/check/unit.h"
#include "spec/core/cut.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

// Each trial prepares and runs a program once.
constexpr int MostTrials = 60;
constexpr std::size_t SmallRegion = 6;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// Finds values of the uncut model that can be seen without changing its outputs' bits. First in the whole model; then all regions at once, as
// a program that is given the visible values and gives those that the regions make: a region whose outputs keep their bits although a value
// inside is looked at, may show it. Regions do not disturb each other there. In the end the whole model is asked again.
class Search {
public:
  explicit Search(const RegionQuestion& q)
      : q_(q), g_(*q.graph), view_(g_, constants_of(q)), end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(q.judging.options->region_seconds))) {
    for (std::size_t k = 0; k < q_.inputs.size(); ++k)
      if (q_.inputs[k].is_present()) view_.show(g_.inputs[k], q_.inputs[k]);
    for (const Node& n : g_.nodes)
      for (ValueId id : n.outputs)
        if (id != AbsentValue && !n.function.empty() && !q_.functions_inlined) nameless_.insert(id);
    show_outputs();
  }

  RegionView run() {
    const auto [harmless, shared] = view_.landmarks([&](ValueId id) { return at(id) < q_.discrete.size() && q_.discrete[at(id)]; });
    whole_model(open(harmless));
    whole_model(open(shared));
    const RegionView sure = view_;
    while (round()) {
    }
    if (view_.values().size() > sure.values().size()) confirm(sure);
    return std::move(view_);
  }

  int trials() const { return trials_; }
  bool out_of_time() const { return out_of_time_; }

private:
  static std::map<ValueId, Tensor> constants_of(const RegionQuestion& q) {
    std::map<ValueId, Tensor> out;
    for (const auto& [id, tensor] : q.graph->constants) out.emplace(id, tensor);
    for (std::size_t k = 0; k < q.inputs.size(); ++k)
      if (q.inputs[k].is_present()) out.erase(q.graph->inputs[k]);
    // What nodes without inputs give is in the file.
    const interp::Makers makers(*q.graph);
    for (const Node& n : q.graph->nodes) {
      if (!is_constant(n)) continue;
      const MaybeTensors none(n.inputs.size());
      auto call = interp::Call::make(*q.judging.specification, makers, n, none);
      if (!call || !(*call)->program().results.empty()) continue;  // an empty sequence is made each time
      auto values = (*call)->run(none, q.judging.limits(q.judging.options->node_seconds));
      if (!values) continue;
      for (std::size_t k = 0; k < n.outputs.size() && k < values->size(); ++k)
        if (n.outputs[k] != AbsentValue && (*values)[k]) out.emplace(n.outputs[k], std::move(*(*values)[k]));
    }
    return out;
  }

  void show_outputs() {
    for (const Value& v : q_.uncut->outputs()->values)
      for (ValueId id : g_.outputs)
        if (g_.values[at(id)].name == v.name) view_.show(id, datum_of(v));
  }

  bool may_try() {
    if (trials_ < MostTrials && Clock::now() < end_ && !q_.judging.options->limits.stopped()) return true;
    out_of_time_ = true;
    return false;
  }

  void count() {
    ++trials_;
    if (q_.judging.options->progress) q_.judging.options->progress(static_cast<std::size_t>(trials_), MostTrials, "finding what the backend fuses");
  }

  std::vector<ValueId> open(const std::vector<ValueId>& values) const {
    std::vector<ValueId> out;
    for (ValueId id : values)
      if (!view_.visible(id) && exposable(id)) out.push_back(id);
    return out;
  }

  bool exposable(ValueId id) const {
    return !nameless_.count(id);
  }

  // Shows as many of the values as leave the outputs of the whole model alone.
  void whole_model(const std::vector<ValueId>& values) {
    if (values.empty() || !may_try()) return;
    if (exposing_keeps(values)) return;
    if (values.size() == 1 || depth_ >= 3) return;
    ++depth_;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    whole_model({values.begin(), middle});
    whole_model({middle, values.end()});
    --depth_;
  }

  // Together with all that the regions made visible so far.
  bool exposing_keeps(const std::vector<ValueId>& values) {
    count();
    std::vector<ValueId> wanted = made_visible();
    wanted.insert(wanted.end(), values.begin(), values.end());
    const Outcome o = run_exposed(*q_.backend, *q_.model, g_, wanted, q_.given);
    if (!same_outputs(*q_.uncut, o)) return false;
    std::map<std::string, const Value*> seen;
    for (const Value& v : o.outputs()->values) seen.emplace(v.name, &v);
    for (ValueId id : wanted)
      if (const auto it = seen.find(g_.values[at(id)].name); it != seen.end()) view_.show(id, datum_of(*it->second));
    return true;
  }

  // Visible values that are neither given nor outputs.
  std::vector<ValueId> made_visible() const {
    std::set<ValueId> known(g_.inputs.begin(), g_.inputs.end());
    known.insert(g_.outputs.begin(), g_.outputs.end());
    std::vector<ValueId> out;
    for (const auto& [id, tensor] : view_.values())
      if (!known.count(id)) out.push_back(id);
    return out;
  }

  using Key = std::pair<int, std::size_t>;  // a region by its first node and its size
  static Key key_of(const Region& r) { return {r.nodes.front(), r.nodes.size()}; }

  std::vector<ValueId> open_values(const Region& r) const {
    std::vector<ValueId> out;
    for (int n : r.nodes)
      if (has_body(g_.nodes[static_cast<std::size_t>(n)])) return {};
    for (ValueId id : r.hidden)
      if (!stuck_.count(id) && exposable(id)) out.push_back(id);
    return out;
  }

  // What is looked at next in a region: in a large one the value that splits it best, of several the one nearest to its middle; in a small one
  // all, then halves of what is left.
  std::vector<ValueId> choose(const Region& r, std::vector<ValueId> open) {
    if (open.size() > SmallRegion) {
      std::pair<std::size_t, std::size_t> best{r.nodes.size() + 1, 0};
      ValueId value = open.front();
      for (std::size_t k = 0; k < open.size(); ++k) {
        const std::size_t middle = open.size() / 2;
        const std::pair<std::size_t, std::size_t> now{view_.largest_part(r, open[k]), k > middle ? k - middle : middle - k};
        if (now < best) best = now, value = open[k];
      }
      return {value};
    }
    const auto failures = failures_.find({r.nodes.front(), open.size()});
    open.resize(std::max<std::size_t>(1, open.size() >> (failures == failures_.end() ? 0 : failures->second)));
    return open;
  }

  // All regions at once; when none is left there, values of the other regions in the whole model. False: nothing is left to try.
  bool round() {
    if (!may_try()) return false;
    const std::vector<Region> all = view_.regions();
    std::vector<const Region*> regions;
    std::vector<std::vector<ValueId>> tried;
    std::vector<ValueId> further;
    const Region* largest = nullptr;
    for (const Region& r : all) {
      const auto open = open_values(r);
      if (open.empty()) continue;
      // A region that gives other bits as soon as it is on its own tells nothing about what is looked at in it.
      if (changes_alone_.count(key_of(r))) {
        if (!largest || r.nodes.size() > largest->nodes.size()) largest = &r;
        continue;
      }
      // Where that may be so, nothing is looked at for once: after a first failure, and in parts of such a region.
      const bool suspect = failed_.count(key_of(r)) || std::any_of(r.nodes.begin(), r.nodes.end(), [&](int n) { return suspects_.count(n) != 0; });
      tried.push_back(suspect && !steady_.count(key_of(r)) ? std::vector<ValueId>() : choose(r, open));
      regions.push_back(&r);
      further.insert(further.end(), tried.back().begin(), tried.back().end());
    }
    if (regions.empty()) return largest && in_whole_model(*largest);
    count();
    const RegionGraph part = view_.extract(regions, further);
    std::map<ValueId, Datum> seen;
    if (!run_part(part, seen)) return false;
    for (std::size_t k = 0; k < regions.size(); ++k) settle(*regions[k], tried[k], seen);
    return true;
  }

  bool in_whole_model(const Region& r) {
    const std::vector<ValueId> tried = choose(r, open_values(r));
    if (!exposing_keeps(tried)) failed(r, tried);
    return true;
  }

  bool run_part(const RegionGraph& part, std::map<ValueId, Datum>& seen) {
    const auto bytes = export_onnx(part.graph);
    if (!bytes) return false;
    Values inputs;
    for (std::size_t k = 0; k < part.inputs.size(); ++k)
      if (const Datum& v = view_.values().at(part.inputs[k]); v.is_present()) inputs.push_back(value_of(part.graph.values[at(part.graph.inputs[k])].name, v));
    const Outcome o = run_program(*q_.backend, std::make_shared<const std::string>(*bytes), inputs, outputs_of(part.graph));
    const Outputs* answer = o.outputs();
    if (!answer) return false;
    for (std::size_t k = 0; k < part.outputs.size() && k < answer->values.size(); ++k)
      seen.emplace(part.outputs[k], datum_of(answer->values[k]));
    return true;
  }

  void settle(const Region& r, const std::vector<ValueId>& tried, const std::map<ValueId, Datum>& seen) {
    bool same = true;
    for (int n : r.nodes)
      for (ValueId id : g_.nodes[static_cast<std::size_t>(n)].outputs) {
        if (id == AbsentValue || !view_.visible(id)) continue;
        const auto it = seen.find(id);
        same = same && it != seen.end() && same_value(it->second, view_.values().at(id));
      }
    for (ValueId id : tried) same = same && seen.count(id);
    if (same) {
      if (tried.empty()) {
        steady_.insert(key_of(r));
        for (int n : r.nodes) suspects_.erase(n);
      }
      for (ValueId id : tried) view_.show(id, seen.at(id));
    } else if (tried.empty()) {
      changes_alone_.insert(key_of(r));
      suspects_.insert(r.nodes.begin(), r.nodes.end());
    } else if (!failed_.insert(key_of(r)).second || steady_.count(key_of(r))) {
      failed(r, tried);  // else it may not be what was looked at
    }
  }

  void failed(const Region& r, const std::vector<ValueId>& tried) {
    if (tried.size() == 1) stuck_.insert(tried[0]);
    else ++failures_[{r.nodes.front(), open_values(r).size()}];
  }

  // That regions alone do not mind does not bind the whole model.
  void confirm(const RegionView& sure) {
    end_ += std::chrono::seconds(30);
    trials_ = std::min(trials_, MostTrials - 8);
    std::vector<ValueId> gained;
    for (ValueId id : made_visible())
      if (!sure.visible(id)) gained.push_back(id);
    view_ = sure;
    depth_ = 0;
    whole_model(gained);
  }

  const RegionQuestion& q_;
  const Graph& g_;
  RegionView view_;
  std::set<ValueId> nameless_;                               // inside functions that are not written out
  std::set<ValueId> stuck_;                                  // could not be shown even alone
  std::map<std::pair<int, std::size_t>, int> failures_;      // by a region's first node and how much is open in it
  std::set<Key> failed_, steady_, changes_alone_;            // regions on their own: once failed; the same bits with nothing looked at, or others
  std::set<int> suspects_;                                   // nodes of regions that give others
  Clock::time_point end_;
  int trials_ = 0, depth_ = 0;
  bool out_of_time_ = false;
};

void judge_region(const RegionQuestion& q, const RegionView& view, const Region& r, RegionCheck& out) {
  RegionGraph part = view.extract({&r}, {});
  Data inputs, got;
  for (ValueId id : part.inputs) inputs.emplace_back(view.values().at(id));
  for (ValueId id : part.outputs) got.emplace_back(view.values().at(id));
  const auto graph = std::make_shared<const Graph>(std::move(part.graph));
  const auto names = handed_on(*q.graph);
  const auto narrow = [](const Datum& d) { return d.tensor() && interp::AllowedTensor::can_be_handed_on(d.tensor()->type()); };
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) any = any || perhaps_unrounded(*names, graph->values[at(graph->inputs[k])].name, inputs[k]);
  const auto judge_it = [&](const Judging& judging) {
    return or_unrounded(judging, names, any, judge_unit(judging, graph, inputs, got), [&](const Judging& wider) { return judge_unit(wider, graph, inputs, got); });
  };
  Verdict v = judge_it(q.judging);
  // Whether it conforms without that freedom between its operators.
  const interp::Profile& profile = q.judging.options->profile;
  if (v.verdict == Class::Conforms && !v.unrounded && v.counts.allowed > 0 && graph->nodes.size() > 1 && profile.admits(interp::Freedom::ExcessPrecision) &&
      (std::ranges::any_of(inputs, narrow) || std::ranges::any_of(got, narrow)))
    v.unrounded = judge_unit(q.judging.under(profile.without(interp::Freedom::ExcessPrecision), q.judging.options->limits.deadline), graph, inputs, got).verdict == Class::Violation;
  find_deviations(q.judging, v, judge_it);
  out.exhibit = exhibited(q.judging, v, graph, inputs, got);
  out.verdict = std::move(v);
}

}  // namespace

void judge_by_regions(const RegionQuestion& q, ModelCheck& out) {
  Search search(q);
  const RegionView view = search.run();
  const std::vector<Region> regions = view.regions();
  std::size_t fused = 0, largest = 0, wide = 0, hidden = 0, done = 0;
  Verdict worst;
  Counts counts;
  for (const Region& r : regions) {
    if (q.judging.options->progress) q.judging.options->progress(done, regions.size(), "judging regions of the uncut model");
    ++done;
    hidden += r.hidden.size();
    if (r.nodes.size() > 1) ++fused, largest = std::max(largest, r.nodes.size());
    RegionCheck c;
    c.operators = names_of(*q.graph, r.nodes);
    for (int n : r.nodes) c.nodes.push_back(static_cast<std::size_t>(n));
    judge_region(q, view, r, c);
    counts.add(c.verdict.counts);
    wide += c.verdict.verdict == Class::IllConditioned;
    if (severity(c.verdict.verdict) > severity(worst.verdict)) {
      worst = c.verdict;
      if (r.nodes.size() > 1) worst.reason = fmt::format("the region {}: {}", c.operators, worst.reason);
    }
    if (r.nodes.size() > 1 || exit_status(c.verdict.verdict) != 0) out.regions.push_back(std::move(c));
  }
  worst.counts = counts;
  // What is vacuous in one region says nothing of the others.
  if (worst.verdict == Class::Vacuous && counts.vacuous < counts.elements) worst.verdict = Class::Conforms, worst.reason.clear();
  out.whole = std::move(worst);
  out.note = fmt::format("exposing every value changes the bits; with {} of them left inside the bits stay: {} of {} operators, judged as units{}{}", hidden, fused == 1 ? "1 region" : fmt::format("{} regions", fused),
                         largest <= 2 ? "2" : fmt::format("{}{}", fused == 1 ? "" : "2 to ", largest),
                         wide ? fmt::format(" ({} too wide to tell)", wide) : "", search.out_of_time() ? "; the search for smaller ones was stopped" : "");
}

}  // namespace ulpian::diff
