#include "diff/check/deviations.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

using Clock = std::chrono::steady_clock;
using interp::Freedom;

// One that may be admitted: a freedom, or functions off by some absolute error, or by some ULP.
constexpr int Apart = interp::FreedomCount, Ulps = Apart + 1;
// Beyond these it is no approximation of the function: the error of OpenCL's half_ functions, and an absolute one of that kind.
constexpr double MostUlps = 8192, MostApart = 0x1p-10;
constexpr std::size_t MostTogether = 3;

struct Errors {
  double apart = MostApart, ulps = MostUlps;
};

class Search {
public:
  Search(const Judging& judging, const Verdict& violation, const JudgeUnder& again) : judging_(judging), violation_(violation), again_(again) {}

  Deviations run() {
    Deviations out;
    std::vector<int> open;
    for (int k = 0; k < interp::FreedomCount; ++k)
      if (!profile().admits(static_cast<Freedom>(k))) open.push_back(k);
    open.push_back(Apart);
    open.push_back(Ulps);
    // Sets grow with what is admitted: what all of them do not explain, none does.
    // (A set so wide that it tells nothing is no violation: then it is for the single ones to say.)
    if (judge(open, {}).verdict == Class::Violation) {
      out.note = late_ ? "the time to look for any was over" : "none of the deviations that are known explains it, nor all of them";
      return out;
    }
    for (std::size_t size = 1; size <= MostTogether && out.least.empty(); ++size) choose(open, size, 0, {}, out);
    if (late_) out.note = "the time to look for them was over before all were tried";
    else if (out.least.empty()) out.note = fmt::format("no {} of the deviations that are known explain it", MostTogether);
    return out;
  }

private:
  const interp::Profile& profile() const { return judging_.options->profile; }

  Verdict judge(const std::vector<int>& set, const Errors& errors) {
    std::vector<Freedom> freedoms;
    for (int k : set)
      if (k < interp::FreedomCount) freedoms.push_back(static_cast<Freedom>(k));
    interp::Profile p = profile().with(freedoms);
    if (has(set, Apart)) p = p.apart(errors.apart);
    if (has(set, Ulps)) p = p.within(errors.ulps);
    late_ = late_ || Clock::now() > end_ || judging_.options->limits.stopped();
    if (late_) return violation_;
    return again_(judging_.under(std::move(p), end_));
  }
  static bool has(const std::vector<int>& set, int k) { return std::find(set.begin(), set.end(), k) != set.end(); }
  bool conforms(const std::vector<int>& set, const Errors& errors = {}) { return judge(set, errors).verdict == Class::Conforms; }
  void choose(const std::vector<int>& from, std::size_t size, std::size_t start, std::vector<int> chosen, Deviations& out) {
    if (chosen.size() == size) {
      if (conforms(chosen)) out.least.push_back(described(chosen));
      return;
    }
    for (std::size_t k = start; k < from.size() && !late_; ++k) {
      chosen.push_back(from[k]);
      choose(from, size, k + 1, chosen, out);
      chosen.pop_back();
    }
  }

  DeviationSet described(const std::vector<int>& set) {
    DeviationSet out;
    for (int k : set)
      if (k < interp::FreedomCount) out.freedoms.push_back(static_cast<Freedom>(k));
    Errors errors;
    if (has(set, Apart)) out.function_error = errors.apart = least(MostApart, 0x1p-160, [&](double e) { return conforms(set, {e, errors.ulps}); });
    if (has(set, Ulps)) out.function_ulps = errors.ulps = least(MostUlps, 0.5, [&](double u) { return conforms(set, {errors.apart, u}); });
    // Why each is needed: an element that is outside without it.
    for (std::size_t k = 0; k < set.size(); ++k) {
      std::vector<int> others = set;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      const Verdict v = others.empty() ? violation_ : judge(others, errors);
      if (v.witness && !late_) out.needed.push_back(fmt::format("\"{}\"{}", v.witness->output_name, ulpian::to_string(v.witness->index)));
      else out.needed.emplace_back();
    }
    return out;
  }

  // To two digits, or so: the least that is enough.
  template <class F> double least(double enough, double little, F conforms_with) {
    while (enough > 1.05 * little && !late_) {
      const double middle = enough > 4 * little ? std::exp2(std::floor((std::log2(enough) + std::log2(little)) / 2 + 0.5)) : (enough + little) / 2;
      if (middle <= little || middle >= enough) break;
      (conforms_with(middle) ? enough : little) = middle;
    }
    return enough;
  }

  const Judging& judging_;
  const Verdict& violation_;
  const JudgeUnder& again_;
  Clock::time_point end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(0.0, *judging_.deviation_seconds_left)));
  bool late_ = false;
};

}  // namespace

void find_deviations(const Judging& judging, Verdict& v, const JudgeUnder& again) {
  if (v.verdict != Class::Violation || !v.witness || v.deviations || judging.options->profile.exactly_canonical() || *judging.deviation_seconds_left <= 0) return;
  const auto start = Clock::now();
  v.deviations = Search(judging, v, again).run();
  *judging.deviation_seconds_left -= std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace ulpian::diff
