#include "diff/check/inside.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "interp/session/session.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t FirstTrips = 4, MostJudged = 16, MostTrips = 1000;

class Inside {
public:
  explicit Inside(const InsideQuestion& question) : q_(question) {}

  void run(const Data& got, NodeCheck& out) {
    interp::SessionOptions options;
    options.run_body = [this](const Graph& body, std::span<const Datum> inputs, const interp::Captured& captured) { return trip(body, inputs, captured); };
    interp::Limits limits = q_.judging.options->limits;
    limits.deadline = std::min(limits.deadline, q_.end);
    const auto made = interp::Session(q_.judging.specification, q_.part.graph, options).run_values(q_.part.inputs, {}, limits);
    bool same = made && made->size() == got.size();
    for (std::size_t k = 0; same && k < got.size(); ++k) same = same_value((*made)[k], got[k]);
    if (judged_ > 0) tell(same, out);
  }

private:
  // One that was judged.
  struct Trip {
    std::string where;
    std::shared_ptr<const Graph> body;
    ModelCheck check;
  };

  static Diagnostic ended(std::string why) { return diagnostic(ErrorKind::Limit, std::move(why)); }

  Result<Data> trip(const Graph& body, std::span<const Datum> inputs, const interp::Captured& captured) {
    if (++trips_ > MostTrips || Clock::now() > q_.end) return ended("too many trips to follow");
    const std::size_t number = ++trips_of_[&body];
    const Part part = alone(body, inputs, captured);
    auto exported = export_onnx(*part.graph);
    if (!exported) return std::move(exported).error();
    const auto bytes = std::make_shared<const std::string>(std::move(*exported));
    if (judged_ >= FirstTrips) {
      const Outcome o = run_program(*q_.backend, bytes, to_values(*part.graph, part.graph->inputs, part.inputs), outputs_of(*part.graph));
      if (!o.outputs()) return ended("the backend gives no answer");
      Data answer = in_order(*part.graph, o.outputs()->values);
      const bool good = canonical(part, answer);
      canonical_ += good;
      if (good || judged_ >= MostJudged) return answer;
    }
    return judge(part, bytes, fmt::format("its graph \"{}\"{}", body.name, body.inputs.empty() ? "" : fmt::format(", trip {}", number)));
  }

  Result<Data> judge(const Part& part, const Bytes& bytes, std::string where) {
    auto r = q_.check(part.graph, bytes, part.inputs);
    if (!r) return std::move(r).error();
    ++judged_;
    if (!worst_ || severity(r->check.whole.verdict) > severity(worst_->check.whole.verdict)) worst_ = Trip{std::move(where), part.graph, std::move(r->check)};
    if (r->outputs.empty() && !part.graph->outputs.empty()) return ended("the backend gives no answer");
    return std::move(r->outputs);
  }

  // The body with what it reads of the graph around as further inputs, or constants where those are some.
  Part alone(const Graph& body, std::span<const Datum> inputs, const interp::Captured& captured) const {
    Graph graph = body;
    graph.captured.clear();
    Part out;
    out.inputs.assign(inputs.begin(), inputs.end());
    for (std::size_t k = 0; k < inputs.size() && k < graph.inputs.size(); ++k) declare(graph.values[static_cast<std::size_t>(graph.inputs[k])], inputs[k], true);
    for (const auto& [id, name] : body.captured) {
      const Datum* value = captured(name);
      if (!value) continue;
      if (value->tensor() && q_.is_constant(name)) {
        graph.constants.emplace_back(id, *value->tensor());
        continue;
      }
      declare(graph.values[static_cast<std::size_t>(id)], *value, true);
      graph.inputs.push_back(id);
      out.inputs.push_back(*value);
    }
    out.graph = std::make_shared<const Graph>(std::move(graph));
    return out;
  }

  bool canonical(const Part& part, const Data& answer) const {
    interp::Limits limits = q_.judging.options->limits;
    limits.deadline = std::min(limits.deadline, q_.end);
    const auto ours = interp::Session(q_.judging.specification, part.graph).run_values(part.inputs, {}, limits);
    return ours && ours->size() == answer.size() && std::equal(answer.begin(), answer.end(), ours->begin(), same_value);
  }

  void tell(bool same, NodeCheck& out) const {
    Verdict& v = out.verdict;
    const Verdict& found = worst_->check.whole;
    if (exit_status(found.verdict) == 0) {
      if (same) tell_conforming(v);
      return;
    }
    std::string where;
    std::vector<InnerCheck> faults = faults_of(*worst_, where);
    const std::string reason = faults.empty() ? found.reason : faults[0].verdict.reason;
    if (!same) {
      // Whatever ran inside, it is no proof of this; but it may be the cause.
      if (exit_status(found.verdict) == 1) v.reason += fmt::format("; as a model of its own {} is a {}: {}", where, name_of(found.verdict), reason);
      return;
    }
    if (exit_status(v.verdict) == 1 && exit_status(found.verdict) != 1) return;
    v.verdict = found.verdict;
    v.reason = fmt::format("in {}: {}", where, reason);
    v.deviations.reset();
    if (!faults.empty()) {
      v.witness = faults[0].verdict.witness;
      std::vector<const Verdict*> all;
      for (const InnerCheck& c : faults) all.push_back(&c.verdict);
      if (auto together = least_together(all)) v.deviations = Deviations{{std::move(*together)}, {}};
    }
    out.inside = std::move(faults);
  }

  void tell_conforming(Verdict& v) const {
    const std::size_t seen = judged_ + canonical_;
    if (seen < trips_) {
      v.reason += fmt::format("; operator by operator {} of {} trips of its graphs conform, the others were not judged", seen, trips_);
      return;
    }
    const std::string what = trips_of_.size() == 1 ? fmt::format("its graph \"{}\"", trips_of_.begin()->first->name) : std::string("its graphs");
    // That the sets of all its operators together do not hold it stays to be told.
    if (exit_status(v.verdict) == 1) v.reason += fmt::format("; operator by operator {} conform{}", what, trips_of_.size() == 1 ? "s" : "");
    else v.verdict = Class::Conforms, v.reason = "operator by operator, in " + what;
  }

  // The operators that the trip's verdict is about; `where` names the first. Where one is about graphs that it holds itself, theirs.
  static std::vector<InnerCheck> faults_of(const Trip& t, std::string& where) {
    std::vector<InnerCheck> out;
    std::size_t more = 0;
    where = t.where;
    for (const NodeCheck& c : t.check.nodes) {
      if (c.verdict.verdict != t.check.whole.verdict) continue;
      if (t.check.transfers && ++more == 1) where += fmt::format(", {} ({})", describe(t.body->nodes[c.node]), c.place);
      out.push_back({t.where, c.op, c.name, c.place, c.verdict, c.exhibit});
      for (const InnerCheck& i : c.inside) out.push_back({t.where + ", " + i.where, i.op, i.name, i.place, i.verdict, i.exhibit});
    }
    if (more > 1) where += fmt::format(" and {} more", more - 1);
    // Values that are exposed tell nothing certain of an uncut body whose bits are others.
    if (!t.check.transfers) out.clear();
    return out;
  }

  const InsideQuestion& q_;
  std::map<const Graph*, std::size_t> trips_of_;
  std::size_t trips_ = 0, judged_ = 0, canonical_ = 0;
  std::optional<Trip> worst_;
};

}  // namespace

void look_inside(const InsideQuestion& question, const Data& got, NodeCheck& out) { Inside(question).run(got, out); }

Data in_order(const Graph& graph, const Values& values) {
  std::map<std::string, const Value*> by_name;
  for (const Value& v : values) by_name[v.name] = &v;
  Data out;
  for (ValueId id : graph.outputs) {
    const auto it = by_name.find(graph.values[static_cast<std::size_t>(id)].name);
    out.push_back(it == by_name.end() ? Datum() : datum_of(*it->second));
  }
  return out;
}

}  // namespace ulpian::diff
