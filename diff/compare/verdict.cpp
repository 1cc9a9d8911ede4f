#include "diff/compare/verdict.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "spec/numbers/exact.h"

namespace ulpian::diff {
namespace {

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

// The distance to the nearest member of the set, in ULP.
double distance_to_set(const interp::AllowedTensor& set, std::int64_t position, Bits got) {
  const ElementType t = set.type();
  if (!is_float(t) || is_nan(t, got) || is_infinite(t, got)) return std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  auto consider = [&](Bits end) {
    if (is_nan(t, end) || is_infinite(t, end)) return;
    best = std::min(best, distance_in_ulps(t, got, end));
  };
  auto it = set.pieces().find(position);
  if (it != set.pieces().end()) {
    for (const interp::Interval& p : it->second) {
      consider(p.lower);
      consider(p.upper);
    }
  } else if (!(set.flags()[static_cast<std::size_t>(position)] & interp::Empty)) {
    consider(set.lower().at(position));
    consider(set.upper().at(position));
  }
  return best;
}

class Judge {
public:
  Judge(const Expectation& expected, const std::vector<std::optional<Tensor>>& got) : e_(expected), got_(got) {}

  Verdict run() {
    for (std::size_t k = 0; k < e_.canonical.size() && v_.verdict == Class::Conforms; ++k) {
      if (!e_.canonical[k]) continue;
      if (k >= got_.size() || !got_[k]) return of_class(Class::Failed, fmt::format("the output {} is missing", name(k)));
      if (!output(k)) return std::move(v_);
    }
    if (v_.counts.outside > 0) {
      v_.verdict = Class::Violation;
      v_.reason = to_string(*v_.witness);
    } else if (v_.counts.vacuous > 0 && v_.counts.vacuous == v_.counts.elements) {
      v_.verdict = Class::Vacuous;
      v_.reason = "every value is admitted on these inputs";
    }
    return std::move(v_);
  }

private:
  std::string name(std::size_t k) const { return k < e_.names.size() && !e_.names[k].empty() ? "\"" + e_.names[k] + "\"" : std::to_string(k); }

  // False when the verdict is final.
  bool output(std::size_t k) {
    const Tensor &want = *e_.canonical[k], &got = *got_[k];
    if (got.type() != want.type()) {
      v_ = of_class(Class::Violation, fmt::format("the output {} holds {}; {} is right", name(k), name_of(got.type()), name_of(want.type())));
      return false;
    }
    if (got.extents() != want.extents()) {
      v_ = of_class(Class::Violation, fmt::format("the output {} has extents {}; {} are right", name(k), ulpian::to_string(got.extents()), ulpian::to_string(want.extents())));
      return false;
    }
    v_.counts.elements += want.size();
    if (want.type() == ElementType::String || is_complex(want.type())) return opaque(k, want, got);
    const ElementType t = want.type();
    const bool by_bytes = want.size() == 0 || std::equal(want.bytes().begin(), want.bytes().end(), got.bytes().begin());
    if (by_bytes) {
      v_.counts.equal += want.size();
      return true;
    }
    for (std::int64_t i = 0; i < want.size(); ++i) {
      const Bits a = want.at(i), b = got.at(i);
      if (same_element(t, a, b)) {
        ++v_.counts.equal;
        continue;
      }
      if (is_float(t) && !is_nan(t, a) && !is_nan(t, b) && !is_infinite(t, a) && !is_infinite(t, b))
        v_.counts.worst_ulps = std::max(v_.counts.worst_ulps, distance_in_ulps(t, b, a));
      if (!allowed_ready_ && !fetch_allowed()) return false;
      const auto& set = k < allowed_.size() ? allowed_[k] : std::nullopt;
      if (!set) {
        v_ = of_class(Class::Undecided, fmt::format("no allowed set of the output {}", name(k)));
        return false;
      }
      if (set->flags()[static_cast<std::size_t>(i)] & interp::Anything) ++v_.counts.vacuous;
      else if (set->contains(i, b)) ++v_.counts.allowed;
      else outside(k, i, *set, a, b, want.extents());
    }
    return true;
  }

  bool opaque(std::size_t k, const Tensor& want, const Tensor& got) {
    if (same_elements(want, got)) {
      v_.counts.equal += want.size();
      return true;
    }
    v_ = of_class(Class::Violation, fmt::format("the output {} differs", name(k)));
    return false;
  }

  bool fetch_allowed() {
    allowed_ready_ = true;
    if (!e_.allowed) {
      v_ = of_class(Class::Undecided, "no allowed set is known");
      return false;
    }
    auto sets = e_.allowed();
    if (!sets) {
      v_ = of_class(Class::Undecided, "the allowed set was not found: " + sets.error().message);
      return false;
    }
    allowed_ = std::move(*sets);
    return true;
  }

  void outside(std::size_t k, std::int64_t i, const interp::AllowedTensor& set, Bits canonical, Bits got, const Extents& extents) {
    ++v_.counts.outside;
    const double distance = distance_to_set(set, i, got);
    if (v_.witness && !(distance > v_.witness->distance)) return;
    Witness w;
    w.output = k;
    w.output_name = k < e_.names.size() ? e_.names[k] : std::string();
    w.position = i;
    w.index = index_of(i, extents);
    w.type = set.type();
    w.got = got;
    w.canonical = canonical;
    w.allowed = set.describe(i);
    w.distance = distance;
    v_.witness = std::move(w);
  }

  const Expectation& e_;
  const std::vector<std::optional<Tensor>>& got_;
  Verdict v_;
  std::vector<std::optional<interp::AllowedTensor>> allowed_;
  bool allowed_ready_ = false;
};

}  // namespace

std::string_view name_of(Class c) {
  switch (c) {
    case Class::Conforms: return "conforms";
    case Class::Vacuous: return "vacuous";
    case Class::IllConditioned: return "ill-conditioned";
    case Class::Undecided: return "undecided";
    case Class::Refused: return "refused";
    case Class::Violation: return "violation";
    case Class::Lenient: return "lenient";
    case Class::Failed: return "failed";
    case Class::Crashed: return "crashed";
    case Class::Hung: return "hung";
    case Class::OutOfMemory: return "out of memory";
  }
  ensure(false);
}

int exit_status(Class c) {
  switch (c) {
    case Class::Conforms:
    case Class::Vacuous: return 0;
    case Class::Violation:
    case Class::Lenient:
    case Class::Failed:
    case Class::Crashed:
    case Class::Hung: return 1;
    case Class::IllConditioned:
    case Class::Undecided:
    case Class::Refused:
    case Class::OutOfMemory: return 3;
  }
  ensure(false);
}

double distance_in_ulps(ElementType type, Bits got, Bits reference) {
  const double a = to_double(type, got), b = to_double(type, reference);
  if (a == b) return 0;
  const FloatFormat& f = format_of(type);
  int exponent = f.min_exponent();
  if (b != 0) {
    int e = 0;
    (void)std::frexp(b, &e);
    exponent = std::max(e - 1, f.min_exponent());
  }
  // In f64 itself the difference may round; the figure is for people.
  return std::ldexp(std::abs(a - b), f.fraction_bits - exponent);
}

std::string show_element(ElementType type, Bits bits) {
  if (type == ElementType::Bool) return bits ? "true" : "false";
  if (is_integer(type)) return type == ElementType::U64 ? std::to_string(bits) : std::to_string(to_int64(type, bits));
  const int digits = (bits_of(type) + 3) / 4;
  std::string value = bits_of(type) == 64 ? fmt::format("{}", to_double(type, bits)) : fmt::format("{}", static_cast<float>(to_double(type, bits)));
  return fmt::format("{} (0x{:0{}x})", value, bits, digits);
}

std::string to_string(const Witness& w) {
  std::string index = "[";
  for (std::size_t k = 0; k < w.index.size(); ++k) index += (k ? ", " : "") + std::to_string(w.index[k]);
  index += "]";
  std::string out = fmt::format("output \"{}\"{} is {}; allowed is {}, canonical {}", w.output_name, w.index.empty() ? "" : index, show_element(w.type, w.got), w.allowed,
                                show_element(w.type, w.canonical));
  if (std::isfinite(w.distance)) out += fmt::format(": {:.3g} ULP outside", w.distance);
  return out;
}

Verdict judge(const Expectation& expected, const std::vector<std::optional<Tensor>>& got) {
  if (expected.error && expected.error->kind == ErrorKind::Requirement)
    return of_class(Class::Lenient, "it answered, but must refuse: " + expected.error->message);
  if (expected.error && expected.error->kind == ErrorKind::Undefined) return of_class(Class::Vacuous, expected.error->message);
  if (expected.error) return of_class(Class::Undecided, expected.error->message);
  if (expected.undefined) {
    Verdict v = of_class(Class::Vacuous, "the standard says nothing here: " + expected.undefined->message);
    for (const auto& t : expected.canonical)
      if (t) v.counts.elements += t->size(), v.counts.vacuous += t->size();
    return v;
  }
  Verdict first = Judge(expected, got).run();
  if (first.verdict != Class::Violation) return first;
  for (const auto& other : expected.others)
    if (Verdict v = judge(other(), got); exit_status(v.verdict) == 0) return v;
  return first;
}

Verdict judge(const Expectation& expected, const Outcome& outcome) {
  const bool must_refuse = expected.error && expected.error->kind == ErrorKind::Requirement;
  if (const Outputs* o = outcome.outputs()) {
    std::vector<std::optional<Tensor>> got;
    for (const Value& v : o->values) got.push_back(v.tensor() ? std::optional(*v.tensor()) : std::nullopt);
    return judge(expected, got);
  }
  if (const Refused* r = std::get_if<Refused>(&outcome.what)) {
    if (must_refuse) return of_class(Class::Conforms, "refused, as it must: " + expected.error->message, r->message);
    if (expected.undefined || (expected.error && expected.error->kind == ErrorKind::Undefined)) return of_class(Class::Vacuous, "refused where the standard says nothing", r->message);
    return of_class(Class::Refused, r->reason == Refusal::Unsupported ? "the backend does not have it" : "the backend calls it invalid", r->message);
  }
  if (const Failed* f = std::get_if<Failed>(&outcome.what)) {
    // An error of the backend's own on what it must refuse is a refusal, if an unfriendly one.
    if (must_refuse && f->cause == FailureCause::Internal) return of_class(Class::Conforms, "refused, as it must: " + expected.error->message, f->message);
    return of_class(Class::Failed, describe(outcome), outcome.error_output);
  }
  if (std::holds_alternative<Crashed>(outcome.what)) return of_class(Class::Crashed, describe(outcome), outcome.error_output);
  if (std::holds_alternative<Hung>(outcome.what)) return of_class(Class::Hung, describe(outcome), outcome.error_output);
  return of_class(Class::OutOfMemory, describe(outcome), outcome.error_output);
}

}  // namespace ulpian::diff
