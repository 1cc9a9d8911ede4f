#include "diff/check/conditioning.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "diff/check/programs.h"
#include "diff/check/unit.h"
#include "interp/session/graph_host.h"

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double Infinity = std::numeric_limits<double>::infinity();
// An operator is named where the relative distance grows so many times in it.
constexpr double WorthNaming = 64;
constexpr std::size_t MostNamed = 3;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// Of two floats of one type and extents: the greatest distance beside the greatest magnitude.
struct Distance {
  double absolute = 0, greatest = 0;
  double relative() const { return absolute == 0 ? 0 : greatest == 0 ? Infinity : absolute / greatest; }
};

template <class F> void for_each_pair(const Tensor& a, const Tensor& b, F f) {
  const ElementType t = a.type();
  if (!is_float(t) || b.type() != t || a.extents() != b.extents()) return;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const Bits x = a.at(i), y = b.at(i);
    if (is_nan(t, x) || is_nan(t, y)) continue;
    const double u = to_double(t, x), v = to_double(t, y);
    if (std::isfinite(u) && std::isfinite(v)) f(u, v);
  }
}

void add(Distance& d, const Datum& a, const Datum& b) {
  for (std::size_t j = 0; j < std::min(a.count(), b.count()); ++j)
    for_each_pair(a.part(j), b.part(j), [&](double u, double v) {
      d.absolute = std::max(d.absolute, std::abs(u - v));
      d.greatest = std::max(d.greatest, std::abs(u));
    });
}

class Runs {
public:
  Runs(const Judging& judging, const Graph& graph, const Data& inputs, double seconds)
      : judging_(judging), g_(graph), makers_(graph), end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))), left_(graph.values.size()) {
    for (Data& v : values_) v.resize(graph.values.size());
    for (const auto& [id, tensor] : graph.constants) set(id, tensor, tensor);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].is_present()) set(graph.inputs[k], inputs[k], inputs[k]);
    std::map<std::string, ValueId> names;
    for (const Node& n : graph.nodes) {
      reads_.push_back(interp::reads_with_bodies(graph, n, names));
      for (ValueId id : reads_.back()) ++left_[at(id)];
    }
    for (ValueId id : graph.outputs) ++left_[at(id)];
  }

  std::optional<Conditioning> run() {
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      if (Clock::now() > end_ || judging_.options->limits.stopped() || !node(n)) return std::nullopt;
      for (ValueId id : reads_[n])
        if (--left_[at(id)] == 0) values_[0][at(id)] = values_[1][at(id)] = Datum();
    }
    for (ValueId id : g_.outputs) {
      Distance d;
      add(d, values_[0][at(id)], values_[1][at(id)]);
      if (!found_.output.empty() && !(d.relative() > found_.relative)) continue;
      found_.output = g_.values[at(id)].name;
      found_.absolute = d.absolute;
      found_.relative = d.relative();
      found_.ill = mostly_apart(values_[0][at(id)], values_[1][at(id)]);
    }
    std::sort(found_.operators.begin(), found_.operators.end(), [](const auto& a, const auto& b) { return a.growth != b.growth ? a.growth > b.growth : a.node < b.node; });
    if (found_.operators.size() > MostNamed) found_.operators.resize(MostNamed);
    return std::move(found_);
  }

private:
  void set(ValueId id, Datum canonical, Datum other) {
    values_[0][at(id)] = std::move(canonical);
    values_[1][at(id)] = std::move(other);
  }

  bool node(std::size_t n) {
    const Node& node = g_.nodes[n];
    Data made[2];
    for (int which = 0; which < 2; ++which) {
      auto results = has_body(node) ? run_with_bodies(judging_, g_, static_cast<int>(n), values_[which], limits()) : plain(node, values_[which], which == 1);
      if (!results) return false;
      made[which] = std::move(*results);
    }
    Distance in, out;
    double unit = 0x1p-53;
    for (ValueId id : reads_[n]) add_relative(in, values_[0][at(id)], values_[1][at(id)]);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == AbsentValue) continue;
      Datum a = k < made[0].size() ? std::move(made[0][k]) : Datum(), b = k < made[1].size() ? std::move(made[1][k]) : Datum();
      add_relative(out, a, b);
      if (a.tensor() && is_float(a.tensor()->type())) unit = std::max(unit, std::ldexp(1.0, -format_of(a.tensor()->type()).precision()));
      if (left_[at(node.outputs[k])] > 0) set(node.outputs[k], std::move(a), std::move(b));
    }
    // What comes in is no better than rounded.
    const double growth = out.absolute / std::max(in.absolute, unit);
    if (growth >= WorthNaming && out.absolute > 0) found_.operators.push_back({n, describe(node), growth});
    return true;
  }

  // `absolute` of the greatest relative distance of one tensor.
  static void add_relative(Distance& d, const Datum& a, const Datum& b) {
    Distance one;
    add(one, a, b);
    d.absolute = std::max(d.absolute, one.relative());
  }

  std::optional<Data> plain(const Node& node, const Data& values, bool random) {
    Data arguments(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) arguments[k] = values[at(node.inputs[k])];
    const auto call = interp::Call::make(*judging_.specification, makers_, node, arguments);
    if (!call) return std::nullopt;
    const MaybeTensors given = interp::flattened(std::span<const Datum>(arguments));
    auto results = (*call)->run(given, limits());
    if (!results) return std::nullopt;
    if (random) choose((*call)->program(), given, *results);
    return interp::results_of((*call)->program(), std::move(*results));
  }

  // Puts members of the sets in the place of floats; where there are no sets, what is there stays.
  void choose(const core::Program& program, const MaybeTensors& given, MaybeTensors& results) {
    if (std::ranges::any_of(program.terms, [](const core::Term& t) { return t.kind == core::TermKind::Random; })) return;
    MaybeSets arguments(given.size());
    for (std::size_t k = 0; k < given.size(); ++k)
      if (given[k]) arguments[k] = interp::AllowedTensor::exactly(*given[k]);
    const auto sets = interp::evaluate_allowed(program, arguments, judging_.options->profile, limits());
    if (!sets) return;
    for (std::size_t k = 0; k < results.size() && k < sets->size(); ++k) {
      if (!results[k] || !(*sets)[k] || !is_float(results[k]->type())) continue;
      const interp::AllowedTensor& s = *(*sets)[k];
      Tensor& r = *results[k];
      const ElementType t = r.type();
      for (std::int64_t i = 0; i < r.size(); ++i) {
        const Bits low = s.lower().at(i), high = s.upper().at(i);
        if (low == high || (s.flags()[static_cast<std::size_t>(i)] & (interp::Anything | interp::Empty | interp::NotOneInterval)) || is_nan(t, r.at(i))) continue;
        const double u = to_double(t, low), v = to_double(t, high);
        if (!std::isfinite(u) || !std::isfinite(v)) continue;
        const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
        r.set(i, from_double(t, u + (v - u) * share));  // rounding is monotone: still a member
      }
    }
  }

  interp::Limits limits() const {
    interp::Limits l = judging_.limits(judging_.options->node_seconds);
    l.deadline = std::min(l.deadline, end_);
    return l;
  }

  const Judging& judging_;
  const Graph& g_;
  interp::Makers makers_;
  Clock::time_point end_;
  Data values_[2];  // canonical, and of the other implementation
  std::vector<std::vector<ValueId>> reads_;
  std::vector<int> left_;
  std::mt19937_64 random_{20261201};
  Conditioning found_;
};

}  // namespace

bool mostly_apart(const Datum& a, const Datum& b) {
  Distance d;
  add(d, a, b);
  std::int64_t wide = 0, all = 0;
  for (std::size_t j = 0; j < std::min(a.count(), b.count()); ++j)
    for_each_pair(a.part(j), b.part(j), [&](double u, double v) {
      ++all;
      wide += u != v && tells_nothing(std::abs(u - v), std::abs(u), d.greatest);
    });
  return wide * 2 > all;
}

std::optional<Conditioning> conditioning_of(const Judging& judging, const Graph& graph, const Data& inputs, double seconds) {
  if (judging.options->profile.exactly_canonical()) return std::nullopt;
  return Runs(judging, graph, inputs, seconds).run();
}

}  // namespace ulpian::diff
