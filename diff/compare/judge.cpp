#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "diff/compare/unordered.h"
#include "diff/compare/verdict.h"

namespace ulpian::diff {
namespace {

using MaybeTensors = std::vector<std::optional<Tensor>>;

// Elements outside that are looked at again by other means: the worst, and the first few.
constexpr std::size_t SecondOpinions = 6;

Extents index_of(std::int64_t position, const Extents& extents) {
  Extents out(extents.size());
  for (std::size_t k = extents.size(); k-- > 0;) {
    out[k] = extents[k] ? position % extents[k] : 0;
    position = extents[k] ? position / extents[k] : 0;
  }
  return out;
}

Verdict of_class(Class c, std::string reason, std::string evidence = {}) {
  Verdict v;
  v.verdict = c;
  v.reason = std::move(reason);
  v.evidence = std::move(evidence);
  return v;
}

std::string numbered(std::int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

// The ends of the intervals that are the set.
template <typename Visit> void each_end(const interp::AllowedTensor& set, std::int64_t position, Visit visit) {
  if (const auto it = set.pieces().find(position); it != set.pieces().end()) {
    for (const interp::Interval& p : it->second) visit(p.lower), visit(p.upper);
  } else if (!(set.flags()[static_cast<std::size_t>(position)] & interp::Empty)) {
    visit(set.lower().at(position));
    visit(set.upper().at(position));
  }
}

double distance_to_set(const interp::AllowedTensor& set, std::int64_t position, Bits got) {
  double best = std::numeric_limits<double>::infinity();
  each_end(set, position, [&](Bits end) { best = std::min(best, distance_in_ulps(set.type(), got, end)); });
  return best;
}

// What holds against the second opinion, if anything does.
struct Examined {
  std::string contradiction;
  std::string true_value;
  double got = 0, nearest = 0, farthest = 0;  // from the true value, in ULP
};

std::string show_real(const interp::Real& r) {
  if (const Exact* e = r.exact()) {
    const std::string text = e->to_string();
    if (!e->is_finite() || (text.size() <= 24 && text.find('*') == std::string::npos)) return text;
  }
  const auto near = interp::round_to(r, ElementType::F64, CastMode::Plain);
  return near ? fmt::format("{}", to_double(ElementType::F64, *near)) : std::string();
}

Examined examine(const SecondOpinion& o, const interp::AllowedTensor& set, std::int64_t i, Bits canonical, Bits got) {
  const ElementType t = set.type();
  Examined out;
  if (!set.contains(i, canonical)) {
    out.contradiction = fmt::format("the canonical value {} is not in the allowed set {}", show_element(t, canonical), set.describe(i));
    return out;
  }
  if (o.canonical && !same_element(t, *o.canonical, canonical)) {
    out.contradiction = fmt::format("the scalar evaluator gives {}, the block evaluator {}", show_element(t, *o.canonical), show_element(t, canonical));
    return out;
  }
  if (!o.ideal) return out;
  if (o.real) {
    out.true_value = show_real(*o.real);
    out.got = distance_in_ulps(t, got, *o.real);
    out.nearest = std::numeric_limits<double>::infinity();
    each_end(set, i, [&](Bits end) {
      const double d = distance_in_ulps(t, end, *o.real);
      out.nearest = std::min(out.nearest, d);
      if (std::isfinite(d)) out.farthest = std::max(out.farthest, d);
    });
    // The true value may lie between the ends.
    if (set.contains(i, *o.ideal)) out.nearest = std::min(out.nearest, distance_in_ulps(t, *o.ideal, *o.real));
  }
  if (same_element(t, *o.ideal, got))
    out.contradiction = fmt::format("{} is the true value, correctly rounded, but the allowed set is {}", show_element(t, got), set.describe(i));
  // An answer nearer to the truth than something admitted may be wrong only if the set holds the truth.
  else if (o.real && !set.contains(i, *o.ideal) && out.got <= out.farthest)
    out.contradiction = fmt::format("the true value {} is not in the allowed set {}, and {} is no farther from it than what is admitted", show_element(t, *o.ideal), set.describe(i), show_element(t, got));
  return out;
}

class Judge {
public:
  Judge(const Expectation& expected, const MaybeTensors& got) : e_(expected), got_(&got) {}

  Verdict run() {
    Verdict v = compare();
    if (v.verdict != Class::Violation || e_.unordered_axes.empty()) return v;
    auto reordered = reorder(*got_, e_.canonical, allowed_, e_.unordered_axes);
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
    for (std::size_t k = 0; k < e_.canonical.size(); ++k) {
      if (!e_.canonical[k]) continue;
      if (k >= got_->size() || !(*got_)[k]) return of_class(Class::Failed, fmt::format("the output {} is missing", name(k)));
      if (!output(k)) return std::move(v_);
    }
    if (v_.counts.outside > 0) {
      violation();
    } else if (v_.counts.vacuous > 0 && v_.counts.vacuous == v_.counts.elements) {
      v_.verdict = Class::Vacuous;
      v_.reason = "every value is admitted on these inputs";
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
    if (got.extents() != want.extents())
      return settled(Class::Violation, fmt::format("the output {} has extents {}; {} are right", name(k), ulpian::to_string(got.extents()), ulpian::to_string(want.extents())));
    const bool opaque = want.type() == ElementType::String || is_complex(want.type());
    if (opaque ? same_elements(want, got) : std::equal(want.bytes().begin(), want.bytes().end(), got.bytes().begin(), got.bytes().end())) {
      v_.counts.equal += want.size();
      return true;
    }
    if (opaque) return settled(Class::Violation, fmt::format("the output {} differs", name(k)));
    return elements(k, want, got);
  }

  bool elements(std::size_t k, const Tensor& want, const Tensor& got) {
    const ElementType t = want.type();
    for (std::int64_t i = 0; i < want.size(); ++i) {
      const Bits a = want.at(i), b = got.at(i);
      if (same_element(t, a, b)) {
        ++v_.counts.equal;
        continue;
      }
      if (is_float(t) && !is_nan(t, a) && !is_nan(t, b)) v_.counts.worst_ulps = std::max(v_.counts.worst_ulps, distance_in_ulps(t, b, a));
      if (!allowed_ready_ && !fetch_allowed()) return false;
      const auto& set = k < allowed_.size() ? allowed_[k] : std::nullopt;
      if (!set) return settled(Class::Undecided, fmt::format("no allowed set of the output {}", name(k)));
      if (set->type() != t || set->extents() != want.extents())
        return settled(Class::InternalError, fmt::format("the allowed set of the output {} is {}{}", name(k), name_of(set->type()), ulpian::to_string(set->extents())));
      if (set->flags()[static_cast<std::size_t>(i)] & interp::Anything) ++v_.counts.vacuous;
      else if (set->contains(i, b)) ++v_.counts.allowed;
      else outside(k, i, distance_to_set(*set, i, b));
    }
    return true;
  }

  bool fetch_allowed() {
    allowed_ready_ = true;
    if (!e_.allowed) return settled(Class::Undecided, "no allowed set is known");
    auto sets = e_.allowed();
    if (!sets) return settled(Class::Undecided, "the allowed set was not found: " + sets.error().message);
    allowed_ = std::move(*sets);
    return true;
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

  void violation() {
    std::int64_t contradicted = 0;
    std::string contradiction;
    for (const Outside& o : outside_) {
      const Tensor& want = *e_.canonical[o.output];
      const interp::AllowedTensor& set = *allowed_[o.output];
      const Bits canonical = want.at(o.position), got = (*got_)[o.output]->at(o.position);
      const Examined x = examine(e_.second_opinion ? e_.second_opinion(o.output, o.position) : SecondOpinion{}, set, o.position, canonical, got);
      Witness w;
      w.output = o.output;
      w.output_name = o.output < e_.names.size() ? e_.names[o.output] : std::string();
      w.position = o.position;
      w.index = index_of(o.position, want.extents());
      w.type = want.type();
      w.got = got;
      w.canonical = canonical;
      w.allowed = set.describe(o.position);
      w.distance = o.distance;
      if (!x.true_value.empty()) w.true_value = x.true_value, w.got_from_true = x.got, w.allowed_from_true = x.nearest;
      if (!x.contradiction.empty() && contradicted++ == 0) {
        contradiction = x.contradiction;
        v_.witness = std::move(w);
      } else if (!v_.witness) {
        v_.witness = std::move(w);
      }
    }
    v_.verdict = contradicted ? Class::InternalError : Class::Violation;
    v_.reason = to_string(*v_.witness);
    if (contradicted) v_.reason = "Ulpian contradicts itself (please report this): " + contradiction + "; " + v_.reason;
    else if (v_.counts.outside > 1) v_.reason += fmt::format(" (the worst of {})", numbered(v_.counts.outside, "element"));
  }

  const Expectation& e_;
  const MaybeTensors* got_;
  Verdict v_;
  std::vector<Outside> outside_;
  std::vector<std::optional<interp::AllowedTensor>> allowed_;
  bool allowed_ready_ = false;
};

// Under the standard's other readings, where the first does not fit.
template <typename Answer> Verdict first_that_fits(const Expectation& expected, const Answer& answer, Verdict first) {
  const bool open = first.verdict == Class::Violation || first.verdict == Class::Lenient || first.verdict == Class::InternalError || first.verdict == Class::Refused;
  if (!open) return first;
  for (const auto& other : expected.others) {
    Expectation e = other();
    e.others.clear();
    // That a reading could not be evaluated does not excuse anything; that one admits everything does.
    Verdict v = judge(e, answer);
    if (exit_status(v.verdict) != 0) continue;
    if (v.reason.empty()) v.reason = "under another reading that the standard leaves open";
    return v;
  }
  return first;
}

}  // namespace

Verdict judge(const Expectation& expected, const MaybeTensors& got) {
  Verdict first = [&] {
    if (expected.error && expected.error->kind == ErrorKind::Requirement) return of_class(Class::Lenient, "it answered, but must refuse: " + expected.error->message);
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

Verdict judge(const Expectation& expected, const Outcome& outcome) {
  const bool must_refuse = expected.error && expected.error->kind == ErrorKind::Requirement;
  if (const Outputs* o = outcome.outputs()) {
    MaybeTensors got;
    for (const Value& v : o->values) got.push_back(v.tensor() ? std::optional(*v.tensor()) : std::nullopt);
    return judge(expected, got);
  }
  if (const Refused* r = std::get_if<Refused>(&outcome.what)) {
    if (must_refuse) return of_class(Class::Conforms, "refused, as it must: " + expected.error->message, r->message);
    if (expected.undefined || (expected.error && expected.error->kind == ErrorKind::Undefined)) return of_class(Class::Vacuous, "refused where the standard says nothing", r->message);
    return first_that_fits(expected, outcome, of_class(Class::Refused, r->reason == Refusal::Unsupported ? "the backend does not have it" : "the backend calls it invalid", r->message));
  }
  if (const Failed* f = std::get_if<Failed>(&outcome.what)) {
    // An error of the backend's own on what it must refuse is a refusal, if an unfriendly one.
    if (must_refuse && f->cause == FailureCause::Internal) return of_class(Class::Conforms, "refused, as it must: " + expected.error->message, f->message);
    if (expected.undefined && f->cause == FailureCause::Internal) return of_class(Class::Vacuous, "refused where the standard says nothing", f->message);
    return of_class(Class::Failed, describe(outcome), outcome.error_output);
  }
  if (std::holds_alternative<Crashed>(outcome.what)) return of_class(Class::Crashed, describe(outcome), outcome.error_output);
  if (std::holds_alternative<Hung>(outcome.what)) return of_class(Class::Hung, describe(outcome), outcome.error_output);
  return of_class(Class::OutOfMemory, describe(outcome), outcome.error_output);
}

}  // namespace ulpian::diff
