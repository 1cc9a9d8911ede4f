#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "diff/compare/closeness.h"
#include "diff/compare/differing.h"
#include "diff/compare/examined.h"
#include "diff/compare/kinds.h"
#include "diff/compare/unordered.h"
#include "diff/compare/verdict.h"
#include "spec/core/counted.h"

namespace ulpian::diff {
namespace {

// Elements outside that are looked at again by other means: the worst, and the first few.
constexpr std::size_t SecondOpinions = 6;

Verdict of_class(Class c, std::string reason, std::string evidence = {}) {
  Verdict v;
  v.verdict = c;
  v.reason = std::move(reason);
  v.evidence = std::move(evidence);
  return v;
}

// What the definitions refuse, and the rule that says so.
std::string rule_of(const Diagnostic& d) {
  if (d.place.file.empty()) return d.message;
  return fmt::format("{} ({}{})", d.message, d.place.file, d.place.line ? fmt::format(":{}", d.place.line) : "");
}

Verdict refused_by_both(const Diagnostic& rule, const std::string& words_of_backend) {
  Verdict v = of_class(Class::Conforms, "refused by both, as it must be: " + rule_of(rule), words_of_backend);
  v.refused_by_both = true;
  return v;
}

class Judge {
public:
  Judge(const Expectation& expected, const MaybeTensors& got) : e_(expected), got_(&got) {}

  Verdict run() {
    Verdict v = compare();
    if (v.verdict != Class::Violation || e_.unordered_axes.empty()) return v;
    std::vector<std::optional<interp::AllowedTensor>> sets;
    for (const auto& s : allowed_) sets.emplace_back(s ? std::optional(s->sets) : std::nullopt);
    auto reordered = reorder(*got_, e_.canonical, sets, e_.unordered_axes);
    if (!reordered && v.witness) return of_class(Class::Undecided, "in the order given, " + v.reason + "; whether another order fits is too much to find out");
    if (!reordered) return v;
    got_ = &*reordered;
    Verdict again = compare();
    if (again.verdict == Class::Violation) again.reason += " (in any order along the axes where none is asked for)";
    return again;
  }

private:
  Verdict compare() {
    v_ = {};
    outside_.clear();
    let_through_ = refused_ = std::nullopt;
    open_extents_ = false;
    differ_.assign(e_.canonical.size(), {});
    for (std::size_t k = 0; k < e_.canonical.size(); ++k) {
      if (!e_.canonical[k]) continue;
      if (k >= got_->size() || !(*got_)[k]) return of_class(Class::Failed, fmt::format("the output {} is missing", name(k)));
      if (!output(k)) return std::move(v_);
    }
    for (std::size_t k = 0; k < e_.canonical.size(); ++k)
      if (!differ_[k].empty() && !elements(k)) return std::move(v_);
    show();
    lean();
    if (let_through_) {
      const SecondOpinion opinion = e_.second_opinion ? e_.second_opinion(let_through_->output, let_through_->position) : SecondOpinion{};
      const Examined x = examined(*let_through_, opinion);
      v_.let_through = witness(*let_through_, opinion, x);
      v_.own_fault = x.fault;
    }
    if (refused_) {
      violation_of_rule();
    } else if (v_.counts.outside > 0) {
      violation();
    } else if ((v_.counts.vacuous > 0 || open_extents_) && v_.counts.vacuous == v_.counts.elements) {
      v_.verdict = Class::Vacuous;
      v_.reason = e_.undefined_inside ? "the standard says nothing here: " + e_.undefined_inside->message : "every value is admitted on these inputs";
    } else if (v_.counts.random > 0) {
      v_.reason = fmt::format("random numbers: of {} elements only the range of their distribution was asked", v_.counts.random);
    }
    return std::move(v_);
  }

  std::string name(std::size_t k) const { return k < e_.names.size() && !e_.names[k].empty() ? "\"" + e_.names[k] + "\"" : std::to_string(k); }

  bool settled(Class c, std::string reason) {
    const Counts counts = v_.counts;
    v_ = of_class(c, std::move(reason));
    v_.counts = counts;
    return false;
  }

  // False when the verdict is final.
  bool output(std::size_t k) {
    const Tensor &want = *e_.canonical[k], &got = *(*got_)[k];
    v_.counts.elements += want.size();
    if (got.type() != want.type()) return settled(Class::Violation, fmt::format("the output {} holds {}; {} is right", name(k), name_of(got.type()), name_of(want.type())));
    if (got.extents() != want.extents() && k < e_.free_extents.size() && e_.free_extents[k]) {
      v_.counts.vacuous += want.size();
      open_extents_ = true;
      return true;
    }
    if (got.extents() != want.extents())
      return settled(Class::Violation, fmt::format("the output {} has extents {}; {} are right", name(k), ulpian::to_string(got.extents()), ulpian::to_string(want.extents())));
    const bool opaque = want.type() == ElementType::String || is_complex(want.type());
    // Where one of several operators is free, an element that agrees may be one that could be anything.
    if (e_.undefined_inside && !opaque) {
      differ_[k].resize(static_cast<std::size_t>(want.size()));
      std::iota(differ_[k].begin(), differ_[k].end(), 0);
      return true;
    }
    if (!opaque) differ_[k] = differing(want, got);
    if (opaque ? same_elements(want, got) : differ_[k].empty()) {
      v_.counts.equal += want.size();
      return true;
    }
    if (want.type() == ElementType::String) return other_string(k, want.strings(), got.strings());
    if (opaque) return other_complex(k, want, got);
    v_.counts.equal += want.size() - static_cast<std::int64_t>(differ_[k].size());
    return true;
  }

  bool other_string(std::size_t k, const std::vector<std::string>& want, const std::vector<std::string>& got) {
    const auto first = static_cast<std::size_t>(std::mismatch(want.begin(), want.end(), got.begin()).first - want.begin());
    const auto show = [](const std::string& s) { return s.size() <= 40 ? fmt::format("{:?}", s) : fmt::format("{:?}... ({} bytes)", s.substr(0, 40), s.size()); };
    for (std::size_t i = 0; i < want.size(); ++i) v_.counts.equal += want[i] == got[i] ? 1 : 0;
    return settled(Class::Violation, fmt::format("element {} of the output {} is {}; {} is right", first, name(k), show(got[first]), show(want[first])));
  }

  bool other_complex(std::size_t k, const Tensor& want, const Tensor& got) {
    const auto part = [](const Tensor& t, std::int64_t j) -> double { return t.type() == ElementType::C64 ? t.data<float>()[j] : t.data<double>()[j]; };
    const auto same = [](double a, double b) { return (a == b && std::signbit(a) == std::signbit(b)) || (a != a && b != b); };
    std::optional<std::int64_t> first;
    for (std::int64_t i = 0; i < want.size(); ++i) {
      if (same(part(want, 2 * i), part(got, 2 * i)) && same(part(want, 2 * i + 1), part(got, 2 * i + 1))) ++v_.counts.equal;
      else if (!first) first = i;
    }
    const auto show = [&](const Tensor& t) { return fmt::format("({}, {})", part(t, 2 * *first), part(t, 2 * *first + 1)); };
    return settled(Class::Violation, fmt::format("element {} of the output {} is {}; {} is right", *first, name(k), show(got), show(want)));
  }

  // Those of `differ_`.
  bool elements(std::size_t k) {
    const Tensor &want = *e_.canonical[k], &got = *(*got_)[k];
    const ElementType t = want.type();
    const auto rule = e_.closeness ? e_.closeness(t) : std::nullopt;
    fetch();
    const interp::AllowedSample* sets = k < allowed_.size() && allowed_[k] ? &*allowed_[k] : nullptr;  // a copy for each element would take quadratic time
    if (!rule) {
      if (!no_sets_.empty()) return settled(Class::Undecided, no_sets_);
      if (!sets) return settled(Class::Undecided, fmt::format("no allowed set of the output {}", name(k)));
      if (!fits(*sets, want)) return settled(Class::InternalError, fmt::format("the allowed set of the output {} is {}{}", name(k), name_of(sets->sets.type()), ulpian::to_string(sets->sets.extents())));
    } else if (sets && !fits(*sets, want)) {
      sets = nullptr;
    }
    if (t == ElementType::F32 && sets && !rule && !e_.undefined_inside) return plain_elements(k, want.data<float>(), got.data<float>(), *sets);
    std::int64_t slot = -1;
    for (const std::int64_t i : differ_[k]) {
      const Bits a = want.at(i), b = got.at(i);
      const bool same = e_.undefined_inside && same_element(t, a, b);
      if (sets) slot = next_slot(*sets, i, slot);
      if (!same && is_float(t) && !is_nan(t, a) && !is_nan(t, b)) v_.counts.worst_ulps = std::max(v_.counts.worst_ulps, distance_in_ulps(t, b, a));
      if (rule && !same) {
        by_rule(*rule, k, i, a, b, sets, slot);
        continue;
      }
      if (!sets) continue;
      const interp::AllowedTensor& set = sets->sets;
      if (set.flags()[static_cast<std::size_t>(slot)] & interp::Anything) ++v_.counts.vacuous;
      else if (same) ++v_.counts.equal;
      else if (set.contains(slot, b)) ++v_.counts.allowed, v_.counts.random += e_.draws_random;
      else outside(k, i, distance_to_set(set, slot, b));
    }
    return true;
  }

  // As above, of f32, which most outputs are.
  bool plain_elements(std::size_t k, const float* want, const float* got, const interp::AllowedSample& sets) {
    const interp::AllowedTensor& set = sets.sets;
    const float *lower = set.lower().data<float>(), *upper = set.upper().data<float>();
    const auto flags = set.flags();
    std::int64_t slot = -1;
    for (const std::int64_t i : differ_[k]) {
      const float a = want[i], b = got[i];
      slot = next_slot(sets, i, slot);
      const bool finite = std::isfinite(a) && std::isfinite(b);
      if (finite) v_.counts.worst_ulps = std::max(v_.counts.worst_ulps, distance_in_ulps(b, a));
      const std::uint8_t flag = flags[static_cast<std::size_t>(slot)];
      const float low = lower[slot], high = upper[slot];
      if (flag == 0 && finite && low < b && b < high) {
        ++v_.counts.allowed, v_.counts.random += e_.draws_random;
        continue;
      }
      if (flag == 0 && finite && std::isfinite(low) && std::isfinite(high) && (b < low || high < b)) {
        outside(k, i, std::min(distance_in_ulps(b, low), distance_in_ulps(b, high)));
        continue;
      }
      const Bits bits = std::bit_cast<std::uint32_t>(b);
      if (!finite && a == a && b == b) v_.counts.worst_ulps = std::max(v_.counts.worst_ulps, distance_in_ulps(ElementType::F32, bits, std::bit_cast<std::uint32_t>(a)));
      if (flag & interp::Anything) ++v_.counts.vacuous;
      else if (set.contains(slot, bits)) ++v_.counts.allowed, v_.counts.random += e_.draws_random;
      else outside(k, i, distance_to_set(set, slot, bits));
    }
    return true;
  }

  static bool fits(const interp::AllowedSample& sets, const Tensor& want) {
    if (sets.sets.type() != want.type()) return false;
    return sets.positions.empty() ? sets.sets.extents() == want.extents() : sets.sets.size() == static_cast<std::int64_t>(sets.positions.size());
  }

  // Positions are asked for in ascending order: usually the next one.
  static std::int64_t next_slot(const interp::AllowedSample& sets, std::int64_t position, std::int64_t last) {
    const auto next = static_cast<std::size_t>(last + 1);
    return next < sets.positions.size() && sets.positions[next] == position ? last + 1 : sets.slot(position);
  }

  // The rule decides; the sets, where they are known, say what it lets through and what it refuses.
  void by_rule(const interp::Closeness& rule, std::size_t k, std::int64_t i, Bits canonical, Bits got, const interp::AllowedSample* sets, std::int64_t slot) {
    if (sets && (sets->sets.flags()[static_cast<std::size_t>(slot)] & interp::Anything)) {
      ++v_.counts.vacuous;
      return;
    }
    const bool inside = sets && sets->sets.contains(slot, got);
    const double away = strain(rule, e_.canonical[k]->type(), got, canonical);
    if (away <= 1) {
      ++v_.counts.allowed;
      if (!sets || inside) return;
      ++v_.counts.let_through;
      const Outside o{k, i, distance_to_set(sets->sets, slot, got)};
      if (!let_through_ || o.distance > let_through_->distance) let_through_ = o;
      return;
    }
    ++v_.counts.outside;
    v_.counts.refused_inside += inside;
    if (!refused_ || away > refused_->distance) refused_ = Outside{k, i, away}, refused_by_ = rule, refused_is_inside_ = inside, refused_has_set_ = sets != nullptr;
  }

  void violation_of_rule() {
    const Outside& o = *refused_;
    const Tensor& want = *e_.canonical[o.output];
    const Extents index = index_of(want.extents(), o.position);
    v_.verdict = Class::Violation;
    v_.by_rule = true;
    v_.reason = fmt::format("output {}{} is {}, canonical {}: farther from it than {}", name(o.output), index.empty() ? "" : ulpian::to_string(index),
                            show_element(want.type(), (*got_)[o.output]->at(o.position)), show_element(want.type(), want.at(o.position)), in_words(refused_by_));
    if (std::isfinite(o.distance)) v_.reason += fmt::format(" ({:.3g} times)", o.distance);
    if (refused_has_set_) v_.reason += refused_is_inside_ ? "; the definition admits it" : "; the definition does not admit it either";
    if (v_.counts.outside > 1) v_.reason += fmt::format(" (the worst of {}, {} of which the definition admits)", counted(v_.counts.outside, "element"), v_.counts.refused_inside);
  }

  // Not of random numbers: their distribution is no error.
  void lean() {
    if (!allowed_ready_ || e_.draws_random) return;
    for (std::size_t k = 0; k < std::min(allowed_.size(), e_.canonical.size()) && !v_.bias; ++k)
      if (allowed_[k] && e_.canonical[k]) v_.bias = bias_of(*allowed_[k], *e_.canonical[k], *(*got_)[k], e_.alone);
  }

  // What would have been seen; not where a rule decides and no set.
  void show() {
    constexpr std::int64_t Cheap = 256;
    const bool cheaply = !allowed_ready_;
    std::vector<std::optional<interp::AllowedSample>> samples;
    if (cheaply && e_.some) {
      std::vector<std::vector<std::int64_t>> positions;
      for (const auto& canonical : e_.canonical) positions.push_back(canonical ? Shown::positions(canonical->size(), Cheap) : std::vector<std::int64_t>{});
      auto found = e_.some(positions, true);
      if (!found) return;
      if (found->single_valued) {
        for (const auto& canonical : e_.canonical)
          if (canonical && !has_rule(*canonical)) v_.counts.shown.take_exact(canonical->size());
        return;
      }
      samples = std::move(found->outputs);
    }
    const auto& sets = cheaply ? samples : allowed_;
    for (std::size_t k = 0; k < e_.canonical.size() && k < sets.size(); ++k) {
      const auto& canonical = e_.canonical[k];
      if (canonical && sets[k] && !has_rule(*canonical) && fits_size(*sets[k], *canonical)) v_.counts.shown.take(*sets[k], *canonical, cheaply ? Cheap : Shown::MostSampled);
    }
  }
  bool has_rule(const Tensor& output) const { return e_.closeness && e_.closeness(output.type()); }
  static bool fits_size(const interp::AllowedSample& sets, const Tensor& want) { return !sets.positions.empty() || sets.sets.size() == want.size(); }

  // The sets of what differs and of what shows what else would be seen, or of all; or why there are none.
  void fetch() {
    if (allowed_ready_) return;
    allowed_ready_ = true;
    if (e_.some && !e_.undefined_inside && e_.unordered_axes.empty()) return fetch_some();
    if (!e_.allowed) {
      no_sets_ = "no allowed set is known";
      return;
    }
    auto sets = e_.allowed();
    if (!sets) {
      no_sets_ = "the allowed set was not found: " + sets.error().message;
      return;
    }
    for (auto& s : *sets) allowed_.emplace_back(s ? std::optional(interp::AllowedSample{{}, std::move(*s)}) : std::nullopt);
  }

  void fetch_some() {
    std::vector<std::vector<std::int64_t>> positions(e_.canonical.size());
    for (std::size_t k = 0; k < e_.canonical.size(); ++k) {
      if (!e_.canonical[k] || (*got_)[k]->extents() != e_.canonical[k]->extents()) continue;
      const std::vector<std::int64_t> shown = Shown::positions(e_.canonical[k]->size());
      std::ranges::set_union(differ_[k], shown, std::back_inserter(positions[k]));
    }
    auto found = e_.some(positions, false);
    if (!found) {
      no_sets_ = "the allowed set was not found: " + found.error().message;
      return;
    }
    if (!found->single_valued) {
      allowed_ = std::move(found->outputs);
      return;
    }
    for (std::size_t k = 0; k < positions.size(); ++k) {
      allowed_.emplace_back();
      if (positions[k].empty()) continue;
      const Tensor& want = *e_.canonical[k];
      const Tensor values = elements_of(want, positions[k]);
      allowed_.back() = interp::AllowedSample{std::move(positions[k]), interp::AllowedTensor::exactly(values)};
    }
  }

  struct Outside {
    std::size_t output = 0;
    std::int64_t position = 0;
    double distance = 0;
  };

  // Keeps the worst, at the front, and the first few.
  void outside(std::size_t k, std::int64_t i, double distance) {
    ++v_.counts.outside;
    const Outside o{k, i, distance};
    if (outside_.size() < SecondOpinions) outside_.push_back(o);
    else if (!(distance > outside_.front().distance)) return;
    else outside_.front() = o;
    if (outside_.back().distance > outside_.front().distance) std::swap(outside_.front(), outside_.back());
  }

  Examined examined(const Outside& o, const SecondOpinion& opinion) const {
    const interp::AllowedSample& sets = *allowed_[o.output];
    return examine(opinion, sets.sets, sets.slot(o.position), e_.canonical[o.output]->at(o.position), (*got_)[o.output]->at(o.position), e_.holds_true_value);
  }

  Witness witness(const Outside& o, const SecondOpinion& opinion, const Examined& x) const {
    const Tensor& want = *e_.canonical[o.output];
    Witness w;
    w.output = o.output;
    w.output_name = o.output < e_.names.size() ? e_.names[o.output] : std::string();
    if (o.output < e_.clauses.size()) w.clause = e_.clauses[o.output];
    w.position = o.position;
    w.index = index_of(want.extents(), o.position);
    w.type = want.type();
    w.got = (*got_)[o.output]->at(o.position);
    w.canonical = want.at(o.position);
    const interp::AllowedTensor& set = allowed_[o.output]->sets;
    const std::int64_t slot = allowed_[o.output]->slot(o.position);
    w.allowed = set.describe(slot);
    std::vector<Bits> ends;
    each_end(set, slot, [&](Bits end) { ends.push_back(end); });
    for (std::size_t k = 0; k + 1 < ends.size(); k += 2) w.set.push_back({ends[k], ends[k + 1]});
    const std::uint8_t flags = set.flags()[static_cast<std::size_t>(slot)];
    w.set_nan = (flags & interp::HasNan) != 0;
    w.set_zeros = (flags & interp::EitherZero) != 0;
    w.distance = o.distance;
    w.of_region = opinion.of_region;
    if (!x.true_value.empty()) w.true_value = x.true_value, w.got_from_true = x.got, w.allowed_from_true = x.nearest;
    else if (!opinion.ideal) w.why_no_true_value = opinion.why_missing;
    return w;
  }

  // What has been looked at again: of each finding the element that is farthest outside.
  struct Findings {
    std::optional<Witness> holds, open, doubted;
    std::string fault;
    std::int64_t looked_at = 0, faults = 0;
  };

  void look_at(const Outside& o, Findings& f) const {
    const SecondOpinion opinion = e_.second_opinion ? e_.second_opinion(o.output, o.position) : SecondOpinion{};
    const Examined x = examined(o, opinion);
    ++f.looked_at;
    Witness w = witness(o, opinion, x);
    if (!x.fault.empty() && f.faults++ == 0) f.fault = x.fault + "; " + to_string(w);
    auto& place = x.finding == Examined::Finding::Holds ? f.holds : x.finding == Examined::Finding::Open ? f.open : f.doubted;
    if (!place || w.distance > place->distance) place = std::move(w);
  }

  // Where none of the first holds, others may.
  void look_further(Findings& f) const {
    constexpr std::int64_t Most = 64;
    const std::int64_t end = f.looked_at + Most;
    for (std::size_t k = 0; k < e_.canonical.size(); ++k) {
      if (!e_.canonical[k] || k >= allowed_.size() || !allowed_[k]) continue;
      const Tensor &want = *e_.canonical[k], &got = *(*got_)[k];
      for (const std::int64_t i : differ_[k]) {
        if (f.holds || f.looked_at >= end) return;
        const Bits b = got.at(i);
        const std::int64_t slot = allowed_[k]->slot(i);
        if (same_element(want.type(), want.at(i), b) || allowed_[k]->sets.contains(slot, b)) continue;
        if (std::any_of(outside_.begin(), outside_.end(), [&](const Outside& o) { return o.output == k && o.position == i; })) continue;
        look_at({k, i, distance_to_set(allowed_[k]->sets, slot, b)}, f);
      }
    }
  }

  // A contradiction of ours on one element takes nothing from a violation that holds on another: both are reported.
  void violation() {
    Findings f;
    for (const Outside& o : outside_) look_at(o, f);
    if (!f.holds && f.doubted) look_further(f);
    if (f.faults) v_.own_fault = fmt::format("Ulpian contradicts itself (please report this): {} ({} of the {} looked at again)", f.fault, f.faults, counted(f.looked_at, "element"));
    if (!f.holds && f.doubted) {
      v_.verdict = Class::InternalError;
      v_.witness = std::move(f.doubted);
      v_.reason = v_.own_fault;
      return;
    }
    v_.verdict = Class::Violation;
    const bool worst = !f.doubted && !(f.holds && f.open);
    v_.witness = f.holds ? std::move(f.holds) : std::move(f.open);
    if (v_.witness && e_.grounds) v_.witness->grounds = e_.grounds(v_.witness->output, v_.witness->position, v_.witness->got);
    v_.reason = to_string(*v_.witness);
    if (v_.counts.outside > 1) v_.reason += fmt::format(" ({} {}{})", worst ? "the worst of" : "of", counted(v_.counts.outside, "element"), worst ? "" : " outside");
  }

  const Expectation& e_;
  const MaybeTensors* got_;
  Verdict v_;
  std::vector<Outside> outside_;
  // By a rule of closeness: the element that is farthest outside of its set, and the one that is farthest from canonical.
  std::optional<Outside> let_through_, refused_;
  interp::Closeness refused_by_;
  bool refused_is_inside_ = false, refused_has_set_ = false;
  std::vector<std::vector<std::int64_t>> differ_;  // by output: the elements that the sets decide on
  std::vector<std::optional<interp::AllowedSample>> allowed_;
  std::string no_sets_;  // why there are none
  bool allowed_ready_ = false;
  bool open_extents_ = false;
};

// Under the standard's other readings, where the first does not fit.
template <typename Answer> Verdict first_that_fits(const Expectation& expected, const Answer& answer, Verdict first) {
  const bool open = first.verdict == Class::Violation || first.verdict == Class::Lenient || first.verdict == Class::InternalError || first.verdict == Class::Refused;
  if (!open) return first;
  std::string open_reading;
  for (const auto& other : expected.others) {
    Expectation e = other();
    e.others.clear();
    // That a reading could not be evaluated does not excuse anything; that one admits everything does.
    Verdict v = judge(e, answer);
    // That its sets were not found is another matter: they may hold the answer.
    if (v.verdict == Class::Undecided && !e.error && open_reading.empty()) open_reading = v.reason;
    if (exit_status(v.verdict) != 0) continue;
    if (v.reason.empty()) v.reason = e.reading.empty() ? "under another reading that the standard leaves open" : e.reading;
    return v;
  }
  if (!open_reading.empty() && first.verdict != Class::Refused) {
    first.verdict = Class::Undecided;
    first.reason = fmt::format("under another reading that the standard leaves open, {}; under the first: {}", open_reading, first.reason);
    return first;
  }
  if (!expected.more_readings) return first;
  first.verdict = Class::Undecided;
  first.reason = fmt::format("definitions leave more readings open than the {} that were tried; under the first: {}", expected.others.size() + 1, first.reason);
  return first;
}

}  // namespace

Verdict judge(const Expectation& expected, std::span<const Datum> got) {
  MaybeTensors tensors;
  const bool looks = !expected.error && !expected.undefined;
  auto wrong = looks ? wrong_kind(expected, got, tensors) : std::nullopt;
  if (!wrong && expected.others.empty()) return judge(expected, tensors);
  Expectation alone = expected;
  alone.others.clear();
  alone.more_readings = false;
  return first_that_fits(expected, got, wrong ? of_class(Class::Violation, std::move(*wrong)) : judge(alone, tensors));
}

Verdict judge(const Expectation& expected, const MaybeTensors& got) {
  Verdict first = [&] {
    if (expected.error && expected.error->kind == ErrorKind::Requirement) return of_class(Class::Lenient, "it answered, but must refuse: " + rule_of(*expected.error));
    if (expected.error && expected.error->kind == ErrorKind::Undefined) return of_class(Class::Vacuous, "the standard says nothing here: " + expected.error->message);
    if (expected.error && expected.error->kind == ErrorKind::Unsupported) return of_class(Class::Undecided, "not defined here: " + expected.error->message);
    if (expected.error) return of_class(Class::Undecided, expected.error->message);
    if (!expected.undefined) return Judge(expected, got).run();
    Verdict v = of_class(Class::Vacuous, "the standard says nothing here: " + expected.undefined->message);
    for (const auto& t : expected.canonical)
      if (t) v.counts.elements += t->size(), v.counts.vacuous += t->size();
    return v;
  }();
  return first_that_fits(expected, got, std::move(first));
}

namespace {

Verdict refused_undefined(std::string reason, const std::string& words_of_backend) {
  Verdict v = of_class(Class::Vacuous, std::move(reason), words_of_backend);
  v.refused_undefined = true;
  return v;
}

// Where an element of the answer is left open (a division by an integer 0), a refusal is as good as any value. Not where a float may be
// anything because sums overflow in some order: the standard says what those are.
std::optional<std::string> left_undefined(const Expectation& e) {
  if (e.error || !e.allowed) return std::nullopt;
  const auto sets = e.allowed();
  if (!sets) return std::nullopt;
  for (std::size_t k = 0; k < sets->size() && k < e.canonical.size(); ++k) {
    const auto& set = (*sets)[k];
    if (!set || !e.canonical[k] || (is_float(set->type()) && !e.has_unspecified)) continue;
    const auto flags = set->flags();
    const auto open = std::find_if(flags.begin(), flags.end(), [](std::uint8_t f) { return (f & interp::Anything) != 0; });
    if (open == flags.end()) continue;
    const std::string name = k < e.names.size() && !e.names[k].empty() ? "\"" + e.names[k] + "\"" : std::to_string(k);
    return fmt::format("refuses what the standard leaves undefined: {}{} may be anything", name, ulpian::to_string(index_of(set->extents(), open - flags.begin())));
  }
  return std::nullopt;
}

}  // namespace

Verdict judge(const Expectation& expected, const Outcome& outcome) {
  const bool must_refuse = expected.error && expected.error->kind == ErrorKind::Requirement;
  const bool says_nothing = expected.undefined || expected.undefined_inside || (expected.error && expected.error->kind == ErrorKind::Undefined);
  if (const Outputs* o = outcome.outputs()) {
    std::vector<Datum> got;
    for (const Value& v : o->values) got.push_back(datum_of(v));
    return judge(expected, std::span<const Datum>(got));
  }
  if (const Refused* r = std::get_if<Refused>(&outcome.what)) {
    if (must_refuse) return refused_by_both(*expected.error, r->message);
    if (says_nothing) return refused_undefined("refused where the standard says nothing", r->message);
    if (const auto open = left_undefined(expected)) return refused_undefined(*open, r->message);
    return first_that_fits(expected, outcome, of_class(Class::Refused, r->reason == Refusal::Unsupported ? "the backend does not have it" : "the backend calls it invalid", r->message));
  }
  if (const Failed* f = std::get_if<Failed>(&outcome.what)) {
    // An error of the backend's own on what it must refuse is a refusal, if an unfriendly one.
    if (must_refuse && f->cause == FailureCause::Internal) return refused_by_both(*expected.error, f->message);
    if (says_nothing && f->cause == FailureCause::Internal) return refused_undefined("refused where the standard says nothing", f->message);
    if (f->cause == FailureCause::Internal)
      if (const auto open = left_undefined(expected)) return refused_undefined(*open, f->message);
    return of_class(Class::Failed, describe(outcome), outcome.error_output);
  }
  if (std::holds_alternative<Crashed>(outcome.what)) return of_class(Class::Crashed, describe(outcome), outcome.error_output);
  if (std::holds_alternative<Hung>(outcome.what)) return of_class(Class::Hung, describe(outcome), outcome.error_output);
  return of_class(Class::OutOfMemory, describe(outcome), outcome.error_output);
}

}  // namespace ulpian::diff
