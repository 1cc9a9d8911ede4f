#include "diff/check/check_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "diff/check/conditioning.h"
#include "diff/check/deviations.h"
#include "diff/check/inside.h"
#include "diff/check/regions.h"
#include "diff/check/unit.h"
#include "spec/core/cut.h"
#include "spec/import/onnx/export_onnx.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

Verdict undecided(std::string reason) {
  Verdict v;
  v.verdict = Class::Undecided;
  v.reason = std::move(reason);
  return v;
}

void add_distance(FromCanonical& d, ElementType t, Bits got, Bits canonical) {
  if (same_element(t, got, canonical)) {
    ++d.equal;
    return;
  }
  constexpr double Infinity = std::numeric_limits<double>::infinity();
  const auto number = [&](Bits x) { return to_double(ElementType::F64, convert(t, ElementType::F64, x, CastMode::Plain)); };
  const double a = number(got), b = number(canonical);
  const bool numbers = std::isfinite(a) && std::isfinite(b);
  if (is_float(t)) d.worst_ulps = std::max(d.worst_ulps, numbers ? distance_in_ulps(t, got, canonical) : Infinity);
  d.worst_absolute = std::max(d.worst_absolute, numbers ? std::abs(a - b) : Infinity);
}

std::optional<FromCanonical> distance_from_canonical(interp::Session& session, const Data& inputs, const Data& outputs, const interp::Limits& limits) {
  const auto canonical = session.run_values(inputs, {}, limits);
  if (!canonical) return std::nullopt;
  FromCanonical out;
  for (std::size_t k = 0; k < canonical->size() && k < outputs.size(); ++k)
    for (std::size_t j = 0; j < std::min((*canonical)[k].count(), outputs[k].count()); ++j) {
      const Tensor want = (*canonical)[k].part(j), got = outputs[k].part(j);
      const ElementType t = want.type();
      if (got.type() != t || got.extents() != want.extents() || t == ElementType::String || is_complex(t)) continue;
      out.elements += want.size();
      for (std::int64_t i = 0; i < want.size(); ++i) add_distance(out, t, got.at(i), want.at(i));
      if (is_float(t)) out.mostly_apart = out.mostly_apart || mostly_apart(Datum(want), Datum(got));
    }
  return out.elements ? std::optional(out) : std::nullopt;
}

// What there is to go by besides the verdict: how far the outputs are from the canonical ones, and, where that is far or the sets tell nothing,
// how far conforming implementations may be apart.
void add_diagnostics(const Judging& judging, const Graph& graph, interp::Session& session, const Data& inputs, const Data& outputs, ModelCheck& out) {
  const auto start = Clock::now();
  const double seconds = judging.options->whole_seconds;
  out.from_canonical = distance_from_canonical(session, inputs, outputs, judging.limits(seconds));
  const bool far = out.from_canonical && out.from_canonical->mostly_apart;
  if (far || out.whole.verdict == Class::IllConditioned) out.conditioning = conditioning_of(judging, graph, inputs, seconds - std::chrono::duration<double>(Clock::now() - start).count());
}

// Adds what passes until it is stopped or gone.
class Timer {
public:
  explicit Timer(double& seconds) : seconds_(&seconds) {}
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  void stop() {
    if (seconds_) *seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
    seconds_ = nullptr;
  }

private:
  double* seconds_;
  Clock::time_point start_ = Clock::now();
};

class Checker {
public:
  Checker(std::shared_ptr<const language::Specification> specification, std::shared_ptr<const Graph> graph, Backend& backend, const CheckOptions& options)
      : judging_(std::move(specification), options), graph_ptr_(std::move(graph)), graph_(*graph_ptr_), makers_(graph_), backend_(backend), values_(graph_.values.size()), uses_(graph_.values.size()), constant_(graph_.values.size()), discrete_(graph_.values.size()), refused_(graph_.values.size()), reads_(reads_of_nodes(graph_)), handed_on_(handed_on(graph_)), inside_left_(std::make_shared<double>(options.inside_seconds)) {
    for (const auto& [id, tensor] : graph_.constants) values_[at(id)] = tensor, constant_[at(id)] = true;
    for (const auto& reads : reads_)
      for (ValueId id : reads) ++uses_[at(id)];
  }

  Result<ModelCheck> run(Bytes model, const Data& inputs) {
    interp::Session session(judging_.specification, graph_ptr_, {});
    if (Status s = session.check_inputs(inputs); !s) return s.error();
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].is_present() || graph_.values[at(graph_.inputs[k])].is_optional) values_[at(graph_.inputs[k])] = inputs[k];
    out_.backend = backend_.introduction().name;
    out_.backend_version = backend_.introduction().version;
    out_.profile = judging_.options->profile.name();
    out_.nodes.resize(graph_.nodes.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      NodeCheck& c = out_.nodes[n];
      c.node = n;
      c.op = graph_.nodes[n].op;
      c.name = graph_.nodes[n].name;
      c.place = place_of(graph_, graph_.nodes[n]);
    }
    given_ = to_values(graph_, graph_.inputs, inputs);
    step("the uncut model");
    const Outcome uncut = run_program(backend_, model, given_, outputs_of(graph_));
    if (const Outputs* answer = uncut.outputs()) uncut_ = in_order(graph_, answer->values);
    exposable(model);
    constants();
    transfers_ = uncut.outputs() != nullptr;
    nodes(0, graph_.nodes.size(), uncut);
    whole(uncut, inputs);
    if (depth_ == 0 && uncut.outputs()) {
      step("the outputs as a whole");
      add_diagnostics(judging_, graph_, session, inputs, uncut_, out_);
    }
    if (*judging_.wrong_definition) return **judging_.wrong_definition;
    out_.restarts = backend_.restarts();
    return std::move(out_);
  }

private:
  void step(const std::string& what) const {
    if (judging_.options->progress) judging_.options->progress(done_, graph_.nodes.size(), what);
  }

  // Values inside a function have names only once its calls are written out.
  void exposable(const Bytes& model) {
    model_ = model;
    if (std::none_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& n) { return !n.function.empty(); })) return;
    if (auto bytes = export_onnx(graph_)) {
      model_ = std::make_shared<const std::string>(std::move(*bytes));
      functions_inlined_ = true;
    }
  }

  bool can_expose(ValueId id, const Node& producer) const {
    if (id == AbsentValue || is_constant(producer)) return false;
    return producer.function.empty() || functions_inlined_;
  }

  // Nodes that read nothing, weights above all: in a program of their own, so that the model is not burdened with thousands of outputs.
  void constants() {
    std::vector<int> nodes;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      if (is_constant(graph_.nodes[n])) nodes.push_back(static_cast<int>(n));
    if (nodes.empty()) return;
    step("constants");
    // Of several nodes a cut shows only what is read outside; here that is to be everything.
    Graph part;
    part.source = graph_.source;
    for (int n : nodes) {
      Node copy = graph_.nodes[static_cast<std::size_t>(n)];
      for (ValueId& id : copy.outputs) {
        if (id == AbsentValue) continue;
        GraphValue v = graph_.values[at(id)];
        part.values.push_back(std::move(v));
        id = static_cast<ValueId>(part.values.size() - 1);
        part.outputs.push_back(id);
      }
      copy.inputs.clear();
      part.nodes.push_back(std::move(copy));
    }
    std::map<std::string, Datum> seen;
    if (auto bytes = export_onnx(part))
      if (const Outcome o = run_program(backend_, std::make_shared<const std::string>(std::move(*bytes)), {}, outputs_of(part)); const Outputs* answer = o.outputs())
        for (const Value& v : answer->values) seen.emplace(v.name, datum_of(v));
    for (int n : nodes) {
      for (ValueId id : graph_.nodes[static_cast<std::size_t>(n)].outputs)
        if (id != AbsentValue)
          if (const auto it = seen.find(graph_.values[at(id)].name); it != seen.end()) values_[at(id)] = std::move(it->second), constant_[at(id)] = true;
      check_node(static_cast<std::size_t>(n), Exposure::InPlace);
    }
  }

  // The nodes of a range, with their values exposed; in halves if that is too much at once; else each alone.
  void nodes(std::size_t from, std::size_t to, const Outcome& uncut) {
    if (from >= to) return;
    std::vector<ValueId> wanted;
    std::vector<bool> produced(graph_.values.size()), listed(graph_.values.size());
    const auto want = [&](ValueId id, const Node& producer) {
      if (!can_expose(id, producer) || listed[at(id)]) return;
      listed[at(id)] = true;
      wanted.push_back(id);
    };
    // What the range reads from before it is looked at again: a range's values are those of one run.
    for (std::size_t n = from; n < to; ++n)
      for (ValueId id : reads_[n]) produced[at(id)] = true;
    for (std::size_t n = 0; n < to; ++n)
      for (ValueId id : graph_.nodes[n].outputs)
        if (id != AbsentValue && (n >= from || produced[at(id)])) want(id, graph_.nodes[n]);
    step(to - from == graph_.nodes.size() ? "the model with its intermediate values" : "a part of the model's intermediate values");
    const Outcome exposed = run_exposed(backend_, *model_, graph_, wanted, given_);
    if (const Outputs* answer = exposed.outputs()) {
      transfers_ = transfers_ && same_outputs(uncut, exposed);
      take(*answer, wanted);
      for (std::size_t n = from; n < to; ++n) visit(n, Exposure::InPlace);
      return;
    }
    if (too_much(exposed) && to - from > 1) {
      nodes(from, from + (to - from) / 2, uncut);
      nodes(from + (to - from) / 2, to, uncut);
      return;
    }
    transfers_ = false;
    if (out_.exposing.empty()) out_.exposing = describe(exposed);
    for (std::size_t n = from; n < to; ++n) visit(n, Exposure::Alone);
  }

  static bool too_much(const Outcome& o) { return std::holds_alternative<OutOfMemory>(o.what); }

  void take(const Outputs& answer, const std::vector<ValueId>& wanted) {
    std::map<std::string, const Value*> by_name;
    for (const Value& v : answer.values) by_name[v.name] = &v;
    const auto keep = [&](ValueId id) {
      const auto it = by_name.find(graph_.values[at(id)].name);
      if (it == by_name.end()) return;
      values_[at(id)] = datum_of(*it->second);
      const Tensor* t = it->second->tensor();
      discrete_[at(id)] = t && (is_integer(t->type()) || t->type() == ElementType::Bool);
    };
    for (ValueId id : wanted) keep(id);
    for (ValueId id : graph_.outputs) keep(id);
  }

  // Judges a node and forgets what nobody reads any more.
  void visit(std::size_t n, Exposure exposure) {
    const Node& node = graph_.nodes[n];
    step(node.op);
    if (!is_constant(node)) check_node(n, exposure);
    for (ValueId id : reads_[n])
      if (--uses_[at(id)] == 0) values_[at(id)].reset();
    for (ValueId id : node.outputs)
      if (id != AbsentValue && uses_[at(id)] == 0) values_[at(id)].reset();
  }

  void check_node(std::size_t n, Exposure exposure) {
    ++done_;
    const Node& node = graph_.nodes[n];
    NodeCheck& out = out_.nodes[n];
    for (ValueId id : reads_[n])
      if (!values_[at(id)]) {
        out.exposure = exposure;
        out.verdict = not_seen(id);
        if (refused_[at(id)])
          for (ValueId made : node.outputs)
            if (made != AbsentValue) refused_[at(made)] = true;
        return;
      }
    std::vector<std::optional<Datum>> got(node.outputs.size());
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == AbsentValue) continue;
      if (exposure == Exposure::InPlace) got[k] = values_[at(node.outputs[k])];
      if (!got[k]) out.exposure = Exposure::Alone;
    }
    if (exposure == Exposure::Alone) out.exposure = Exposure::Alone;
    Timer canonical(out_.times.canonical);
    const Expectation expected = expect(n);
    canonical.stop();
    const bool in_place = out.exposure == Exposure::InPlace;
    Timer verdict(out_.times.verdicts);
    const double left = *judging_.seconds_left;
    out.verdict = in_place ? judge_in_place(judging_, n, expected, got) : alone(n, expected, got);
    verdict.stop();
    out_.times.opinions += left - *judging_.seconds_left;
    out_.times.verdicts -= left - *judging_.seconds_left;
    Timer deviations(out_.times.deviations);
    find_deviations(judging_, out.verdict, [&](const Judging& judging) {
      return in_place ? judge_in_place(judging, n, expect(n, judging), got) : judge_listed(node, expect(n, judging), got);
    });
    deviations.stop();
    if (has_body(node) && exit_status(out.verdict.verdict) != 0) look_inside(n, got, out);
    if (judging_.options->keep_exhibits && exit_status(out.verdict.verdict) == 1) {
      const Part part = one_node(graph_, static_cast<int>(n), [&](ValueId id) { return &*values_[at(id)]; });
      Data answer;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        if (node.outputs[k] != AbsentValue) answer.push_back(got[k].value_or(Datum()));
      out.exhibit = exhibited(judging_, out.verdict, part.graph, part.inputs, answer);
    }
    if (out.verdict.refused_by_both)
      for (ValueId id : node.outputs)
        if (id != AbsentValue) refused_[at(id)] = true;
    // The next operators go on with what the backend gave, or with ours.
    const Data ours = listed(node, data_of(expected));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == AbsentValue) continue;
      if (got[k]) values_[at(id)] = std::move(got[k]);
      else if (k < ours.size() && (ours[k].is_present() || !expected.results.empty())) values_[at(id)] = ours[k];
    }
  }

  // What comes after a refusal that the definitions ask for has no values, and no implementation owes any.
  Verdict not_seen(ValueId input) const {
    const std::string& name = graph_.values[at(input)].name;
    if (!refused_[at(input)]) return undecided(fmt::format("its input \"{}\" was not seen", name));
    Verdict v;
    v.verdict = Class::Vacuous;
    v.reason = fmt::format("its input \"{}\" is what both refuse to compute", name);
    return v;
  }

  // A node with bodies is a graph of its own: its outputs without those that it leaves out.
  Expectation expect(std::size_t n) const { return expect(n, judging_); }
  Expectation expect(std::size_t n, const Judging& judging) const {
    const Node& node = graph_.nodes[n];
    if (has_body(node)) {
      const Part part = one_node(graph_, static_cast<int>(n), [&](ValueId id) { return &*values_[at(id)]; });
      return expect_graph(judging, part.graph, part.inputs);
    }
    Data arguments(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) arguments[k] = *values_[at(node.inputs[k])];
    return expect_call(judging, makers_, node, arguments);
  }

  // By the node's outputs, from those of its expectation.
  static Data listed(const Node& node, Data values) {
    if (!has_body(node)) return values;
    Data out(node.outputs.size());
    for (std::size_t k = 0, j = 0; k < out.size(); ++k)
      if (node.outputs[k] != AbsentValue && j < values.size()) out[k] = std::move(values[j++]);
    return out;
  }

  static Verdict judge_listed(const Node& node, const Expectation& expected, const std::vector<std::optional<Datum>>& got) {
    Data data;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (!has_body(node) || node.outputs[k] != AbsentValue) data.push_back(got[k].value_or(Datum()));
    // What its graphs hold is several operators.
    return has_body(node) ? judge_as_unit(expected, data) : judge(expected, std::span<const Datum>(data));
  }

  // What an operator was handed may have been rounded only to be seen.
  Verdict judge_in_place(const Judging& judging, std::size_t n, const Expectation& expected, const std::vector<std::optional<Datum>>& got) const {
    const bool any = std::any_of(reads_[n].begin(), reads_[n].end(), [&](ValueId id) { return values_[at(id)] && perhaps_unrounded(*handed_on_, graph_.values[at(id)].name, *values_[at(id)]); });
    return or_unrounded(judging, handed_on_, any, judge_listed(graph_.nodes[n], expected, got),
                        [&](const Judging& wider) { return judge_listed(graph_.nodes[n], expect(n, wider), got); });
  }

  // What runs in a node's graphs, where that tells more than its own verdict.
  void look_inside(std::size_t n, const std::vector<std::optional<Datum>>& got, NodeCheck& out) {
    constexpr int MostDepth = 8;
    if (depth_ >= MostDepth || *inside_left_ <= 0 || judging_.options->limits.stopped()) return;
    const auto start = Clock::now();
    const auto end = depth_ > 0 ? judging_.options->limits.deadline : start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*inside_left_));
    const Part part = one_node(graph_, static_cast<int>(n), [&](ValueId id) { return &*values_[at(id)]; });
    Data listed;
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (graph_.nodes[n].outputs[k] == AbsentValue) continue;
      if (!got[k]) return;
      listed.push_back(*got[k]);
    }
    const auto is_constant = [&](const std::string& name) {
      return std::any_of(reads_[n].begin(), reads_[n].end(), [&](ValueId id) { return constant_[at(id)] && graph_.values[at(id)].name == name; });
    };
    const auto check = [&](const std::shared_ptr<const Graph>& body, Bytes bytes, const Data& inputs) -> Result<BodyCheck> {
      const double left = std::chrono::duration<double>(end - Clock::now()).count();
      CheckOptions options = *judging_.options;
      options.progress = nullptr;
      options.limits.deadline = std::min(options.limits.deadline, end);
      options.second_opinion_seconds = std::min(*judging_.seconds_left, left);
      options.deviation_seconds = std::min(*judging_.deviation_seconds_left, left);
      options.region_seconds = std::min(options.region_seconds, left);
      Checker inside(judging_.specification, body, backend_, options);
      inside.depth_ = depth_ + 1;
      inside.inside_left_ = inside_left_;
      inside.judging_.deviation_seconds_left = judging_.deviation_seconds_left;
      auto m = inside.run(std::move(bytes), inputs);
      if (!m) return std::move(m).error();
      return BodyCheck{std::move(*m), std::move(inside.uncut_)};
    };
    diff::look_inside({judging_, part, &backend_, end, is_constant, check}, listed, out);
    if (depth_ == 0) *inside_left_ -= std::chrono::duration<double>(Clock::now() - start).count();
  }

  Verdict alone(std::size_t n, const Expectation& expected, std::vector<std::optional<Datum>>& got) {
    const Node& node = graph_.nodes[n];
    // What is constant in the model stays so: backends may ask it of axes, shapes and weights. Given inputs replace initializers.
    std::map<ValueId, Tensor> frozen;
    for (ValueId id : reads_[n])
      if (constant_[at(id)] && values_[at(id)]->tensor()) frozen.emplace(id, *values_[at(id)]->tensor());
    const int index = static_cast<int>(n);
    Cut part = cut(graph_, std::span(&index, 1), frozen);
    Values inputs;
    for (std::size_t k = 0; k < part.inputs.size(); ++k) {
      GraphValue& v = part.graph.values[at(part.graph.inputs[k])];
      declare(v, *values_[at(part.inputs[k])], true);
      if (values_[at(part.inputs[k])]->is_present()) inputs.push_back(value_of(v.name, *values_[at(part.inputs[k])]));
    }
    const Data ours = listed(node, data_of(expected));
    for (std::size_t k = 0; k < part.outputs.size(); ++k) {
      GraphValue& v = part.graph.values[at(part.graph.outputs[k])];
      for (std::size_t j = 0; j < node.outputs.size(); ++j)
        if (!v.type && node.outputs[j] == part.outputs[k] && j < ours.size() && ours[j].is_present()) declare(v, ours[j], false);
    }
    auto bytes = export_onnx(part.graph);
    if (!bytes) return undecided("it cannot be cut out: " + bytes.error().message);
    const Outcome o = run_program(backend_, std::make_shared<const std::string>(std::move(*bytes)), inputs, outputs_of(part.graph));
    const Outputs* answer = o.outputs();
    if (!answer) return judge(expected, o);
    got.assign(node.outputs.size(), std::nullopt);
    for (std::size_t k = 0; k < part.outputs.size() && k < answer->values.size(); ++k)
      for (std::size_t j = 0; j < node.outputs.size(); ++j)
        if (node.outputs[j] == part.outputs[k]) got[j] = datum_of(answer->values[k]);
    return judge_listed(node, expected, got);
  }

  void whole(const Outcome& uncut, const Data& inputs) {
    const Outputs* answer = uncut.outputs();
    if (!answer) {
      // Whether it had to refuse is for the definitions to say.
      Expectation e = expect_graph(judging_, graph_ptr_, inputs);
      if (e.error && e.error->kind == ErrorKind::Unsupported) e.error.reset();
      out_.whole = judge(e, uncut);
      excuse(uncut);
      out_.note = out_.whole.refused_by_both ? "the specification and the backend both refuse it" : "the backend gives no outputs of the uncut model";
      return;
    }
    const bool all = std::all_of(out_.nodes.begin(), out_.nodes.end(), [](const NodeCheck& n) { return n.exposure == Exposure::InPlace; });
    out_.transfers = transfers_ && all;
    if (!out_.transfers) {
      done_ = 0;
      const Timer regions(out_.times.regions);
      judge_by_regions({judging_, graph_ptr_, &backend_, model_, functions_inlined_, given_, inputs, &uncut, discrete_}, out_);
      return;
    }
    // Each operator was judged on what it really got; the model's outputs are those operators' outputs.
    out_.whole = passed_through(*answer, inputs);
    // That one of them admits everything says nothing of the others: vacuous is only what is so in all.
    bool vacuous = false, told = out_.whole.counts.equal + out_.whole.counts.allowed > 0;
    for (const NodeCheck& n : out_.nodes) {
      if (n.verdict.verdict == Class::Vacuous) vacuous = true;
      else told = told || !is_constant(graph_.nodes[n.node]);
      if (n.verdict.verdict == Class::Vacuous || severity(n.verdict.verdict) <= severity(out_.whole.verdict)) continue;
      out_.whole.verdict = n.verdict.verdict;
      out_.whole.reason = fmt::format("by {}", describe(graph_.nodes[n.node]));
    }
    if (vacuous && !told && out_.whole.verdict == Class::Conforms) {
      out_.whole.verdict = Class::Vacuous;
      out_.whole.reason = "by all of its operators";
    }
    out_.note = "its outputs have the same bits as with every intermediate value exposed: the operators' verdicts are its own";
  }

  // Where an operator, run alone, is refused because of what the standard leaves undefined, and nothing else fails, so may be the model.
  void excuse(const Outcome& uncut) {
    const Failed* failed = std::get_if<Failed>(&uncut.what);
    if (!std::holds_alternative<Refused>(uncut.what) && !(failed && failed->cause == FailureCause::Internal)) return;
    if (exit_status(out_.whole.verdict) == 0) return;
    const NodeCheck* undefined = nullptr;
    for (const NodeCheck& n : out_.nodes) {
      if (exit_status(n.verdict.verdict) != 0) return;
      if (n.verdict.refused_undefined && !undefined) undefined = &n;
    }
    if (!undefined) return;
    out_.whole.verdict = Class::Vacuous;
    out_.whole.refused_undefined = true;
    out_.whole.evidence = out_.whole.reason;
    out_.whole.reason = fmt::format("by {}: {}", describe(graph_.nodes[undefined->node]), undefined->verdict.reason);
  }

  // Outputs that are inputs or constants of the graph.
  Verdict passed_through(const Outputs& answer, const Data& inputs) const {
    Data fixed(graph_.values.size());
    for (const auto& [id, tensor] : graph_.constants) fixed[at(id)] = tensor;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].is_present()) fixed[at(graph_.inputs[k])] = inputs[k];
    Expectation e;
    MaybeTensors got;
    std::int64_t elements = 0;
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      const GraphValue& v = graph_.values[at(graph_.outputs[k])];
      const Datum& want = fixed[at(graph_.outputs[k])];
      Datum has;
      for (const Value& x : answer.values)
        if (x.name == v.name) has = datum_of(x);
      for (std::size_t j = 0; j < std::max(want.count(), has.count()); ++j) {
        e.names.push_back(has.sequence() || want.sequence() ? fmt::format("{}[{}]", v.name, j) : v.name);
        e.canonical.push_back(j < want.count() ? std::optional(want.part(j)) : std::nullopt);
        got.push_back(j < has.count() ? std::optional(has.part(j)) : std::nullopt);
        if (got.back() && !want.is_present()) elements += got.back()->size();
      }
    }
    e.allowed = [canonical = e.canonical]() -> Result<std::vector<std::optional<interp::AllowedTensor>>> {
      std::vector<std::optional<interp::AllowedTensor>> sets(canonical.size());
      for (std::size_t k = 0; k < canonical.size(); ++k)
        if (canonical[k]) sets[k] = interp::AllowedTensor::exactly(*canonical[k]);
      return sets;
    };
    Verdict v = judge(e, got);
    v.counts.elements += elements;
    return v;
  }

  Judging judging_;
  std::shared_ptr<const Graph> graph_ptr_;
  const Graph& graph_;
  interp::Makers makers_;
  Backend& backend_;
  Bytes model_;                     // whose values can be exposed
  bool functions_inlined_ = false;
  Values given_;
  std::vector<std::optional<Datum>> values_;  // seen, or ours; by value
  std::vector<int> uses_;           // by nodes that are still to come
  std::vector<bool> constant_;      // initializers, and what nodes without inputs gave: constants of what is cut out, too
  std::vector<bool> discrete_;
  std::vector<bool> refused_;       // made by an operator that both refuse, or from such a value
  std::vector<std::vector<ValueId>> reads_;
  std::shared_ptr<const std::set<std::string>> handed_on_;  // what operators make, and only operators read
  std::size_t done_ = 0;
  int depth_ = 0;  // of graphs inside graphs
  std::shared_ptr<double> inside_left_;  // seconds for those
  Data uncut_;     // the uncut model's outputs
  bool transfers_ = false;
  ModelCheck out_;
};

}  // namespace

Class ModelCheck::overall() const {
  Class worst = whole.verdict;
  for (const NodeCheck& n : nodes)
    if (n.verdict.verdict != Class::Vacuous && severity(n.verdict.verdict) > severity(worst)) worst = n.verdict.verdict;
  return worst;
}

void ModelCheck::list_verdicts(std::vector<const Verdict*>& all) const {
  for (const NodeCheck& n : nodes) all.push_back(&n.verdict);
  for (const RegionCheck& r : regions) all.push_back(&r.verdict);
  // The whole's verdict is theirs, where there are any.
  if (regions.empty() && (nodes.empty() || std::none_of(nodes.begin(), nodes.end(), [](const NodeCheck& n) { return exit_status(n.verdict.verdict) != 0; }))) all.push_back(&whole);
}

std::optional<DeviationSet> ModelCheck::least_deviations() const {
  std::vector<const Verdict*> all;
  list_verdicts(all);
  return least_together(all);
}

Result<ModelCheck> check_model(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                               std::shared_ptr<const std::string> model, Backend& backend, const Data& inputs,
                               const CheckOptions& options) {
  return Checker(specification, graph, backend, options).run(std::move(model), inputs);
}

Result<ModelCheck> check_outputs(const std::shared_ptr<const language::Specification>& specification, const std::shared_ptr<const Graph>& graph,
                                 const Data& inputs, const Data& outputs, const CheckOptions& options) {
  interp::Session session(specification, graph, {});
  if (Status s = session.check_inputs(inputs); !s) return s.error();
  ModelCheck out;
  out.backend = "outputs from files";
  out.profile = options.profile.name();
  const Judging judging(specification, options);
  out.whole = judge_unit(judging, graph, inputs, outputs);
  find_deviations(judging, out.whole, [&](const Judging& other) { return judge_unit(other, graph, inputs, outputs); });
  if (*judging.wrong_definition) return **judging.wrong_definition;
  out.exhibit = exhibited(judging, out.whole, graph, inputs, outputs);
  add_diagnostics(judging, *graph, session, inputs, outputs, out);
  out.note = "the whole model is one region";
  return out;
}

}  // namespace ulpian::diff
