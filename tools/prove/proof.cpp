#include "tools/prove/proof.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "interp/allowed/allowed.h"
#include "interp/scalar/scalar.h"

namespace ulpian::tools {
namespace {

using Clock = std::chrono::steady_clock;
using language::Call;
using language::InputDescription;

constexpr std::int64_t MostCombinations = 5000;   // of the elements of one static input
constexpr std::int64_t MostElements = 1 << 16;  // of a counterexample that is run

std::chrono::steady_clock::duration seconds(double s) { return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s)); }

std::string shapes_of(const language::Specification& spec, const language::OperatorDefinition& op, const Call& call) {
  std::string out;
  std::size_t k = 0;
  for (const language::Clause& c : op.clauses) {
    if (c.kind != language::ClauseKind::In) continue;
    for (; k < call.inputs.size(); ++k) {
      const InputDescription& d = call.inputs[k];
      if (d.present) {
        Extents e;
        for (const auto& x : d.extents) e.push_back(x.extent);
        out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", spec.symbols().name(c.name), to_string(e));
        if (c.is_static && d.value && is_integer(d.value->type()) && d.value->size() <= 16) {
          out += " = [";
          for (std::int64_t i = 0; i < d.value->size(); ++i) out += fmt::format("{}{}", i ? ", " : "", Exact::of(d.value->type(), d.value->at(i)).to_string());
          out += "]";
        }
      }
      if (!c.variadic) {
        ++k;
        break;
      }
    }
  }
  return out;
}

class Proof {
public:
  Proof(const language::Specification& specification, const language::OperatorDefinition& definition, const ProofOptions& options)
      : spec_(specification), op_(definition), options_(options), end_(Clock::now() + seconds(options.seconds)) {
    std::string since;
    for (std::int64_t v : op_.since) since += fmt::format("{}{}", since.empty() ? "" : ", ", v);
    report_.name = fmt::format("{} since {}", op_.name, since);
    report_.file = op_.file->path;
    report_.line = op_.at.line;
  }

  Result<ProofReport> run() {
    auto calls = symbolic_calls(spec_, op_, options_.calls);
    if (!calls) return std::move(calls).error();
    if (calls->empty()) reason("there is no example to take settings from");
    for (const SymbolicCall& c : *calls) {
      if (Clock::now() > end_) {
        reason(fmt::format("the time of {} s for one definition was used up", options_.seconds));
        break;
      }
      one(c);
    }
    if (report_.programs == 0 && report_.reasons.empty()) reason("no call elaborates");
    report_.standing = !report_.faults.empty() ? Standing::Refuted : report_.reasons.empty() ? Standing::Proved : Standing::Sampled;
    return std::move(report_);
  }

private:
  void reason(const std::string& text) { ++report_.reasons[text]; }

  Result<std::vector<core::Program>> elaborated(const Call& call) const {
    language::ElaborationLimits limits;
    limits.deadline = std::min(end_, Clock::now() + seconds(5));
    limits.splits = 512;
    return language::elaborate_all(spec_, call, limits);
  }

  static bool refuses(const Diagnostic& d) { return d.kind == ErrorKind::Requirement || d.kind == ErrorKind::Undefined; }

  // With all extents and static elements unknown. Where that does not elaborate: with one of them at every value that is not refused; else
  // with the example's static elements; else the example's call alone.
  void one(const SymbolicCall& c) {
    ++report_.calls;
    auto programs = elaborated(c.call);
    if (programs) {
      for (const core::Program& p : *programs) program(p, c.call, c);
      return;
    }
    if (refuses(programs.error())) {
      ++report_.refused;
      return;
    }
    const Diagnostic d = programs.error();
    if (d.kind == ErrorKind::Definition && breaks_at_once(c, d)) return;
    if (enumerate_static(c) || enumerate_extent(c)) return;
    reason(fmt::format("needs concrete extents: {}{}", d.message, d.place.line ? fmt::format(" ({}:{})", d.place.file, d.place.line) : ""));
    if (!c.ranks_of_example) return;
    for (const Call* call : {&c.known, &c.concrete}) {
      auto fewer = elaborated(*call);
      if (!fewer) continue;
      for (const core::Program& p : *fewer) program(p, *call, c);
      return;
    }
  }

  // An error of the definition that concrete extents meet, too.
  bool breaks_at_once(const SymbolicCall& c, const Diagnostic& met) {
    for (std::int64_t extent : {1, 2, 3}) {
      Call call = c.call;
      for (InputDescription& d : call.inputs) {
        for (auto& e : d.extents)
          if (!e.symbol.empty()) e = {extent, {}};
        if (!d.present || d.value) continue;
        Extents extents;
        for (const auto& e : d.extents) extents.push_back(e.extent);
        d.value = Tensor(d.type, extents);  // elements of zero: an axis, an extent
      }
      language::ElaborationLimits limits;
      limits.deadline = Clock::now() + seconds(5);
      auto program = language::elaborate(spec_, call, limits);
      if (program || program.error().kind != ErrorKind::Definition) continue;
      const Diagnostic& d = program.error();
      if (known_.insert({ObligationKind::Extent, d.place.line, met.place.line}).second)
        report_.faults.push_back({"elaborates", d.place, title_of(c, call), d.message});
      return true;
    }
    return false;
  }

  // Each list of axes that is not refused; true if there is such a static input, and all were tried.
  bool enumerate_static(const SymbolicCall& c) {
    std::size_t rank = 0, k = 0;
    for (const InputDescription& d : c.call.inputs) rank = std::max(rank, d.present ? d.extents.size() : 0);
    for (const language::Clause& clause : op_.clauses) {
      if (clause.kind != language::ClauseKind::In) continue;
      const std::size_t input = k++;
      if (!clause.is_static || clause.variadic || input >= c.call.inputs.size()) continue;
      const InputDescription& d = c.call.inputs[input];
      if (!d.present || d.value || !is_integer(d.type)) continue;
      Extents extents;
      for (const auto& e : d.extents) extents.push_back(e.extent);
      const auto count = element_count(extents);
      if (!count || *count > 4) continue;
      // Axes of the input, or of a result with as many more.
      for (std::int64_t more : {std::int64_t{0}, *count})
        if (try_all(c, input, extents, static_cast<std::int64_t>(rank) + more)) return true;
    }
    return false;
  }

  bool try_all(const SymbolicCall& c, std::size_t input, const Extents& extents, std::int64_t most) {
    std::int64_t combinations = 1;
    Tensor t(c.call.inputs[input].type, extents);
    for (std::int64_t k = 0; k < t.size(); ++k) combinations *= 2 * most;
    if (combinations > MostCombinations) return false;
    // All values beyond these must be refused, as axes are.
    for (std::int64_t beyond : {most, -most - 1}) {
      if (t.size() == 0) break;
      Tensor values(t.type(), extents);
      if (auto bits = Exact(beyond).to_bits(t.type())) values.set(0, *bits);
      Call call = c.call;
      call.inputs[input].value = values;
      if (auto programs = elaborated(call); programs || !refuses(programs.error())) return false;
    }
    std::vector<std::pair<Call, core::Program>> found;
    for (std::int64_t n = 0; n < combinations; ++n) {
      std::int64_t rest = n;
      Tensor values(t.type(), extents);
      for (std::int64_t k = 0; k < values.size(); ++k, rest /= 2 * most)
        if (auto bits = Exact(rest % (2 * most) - most).to_bits(t.type())) values.set(k, *bits);
      Call call = c.call;
      call.inputs[input].value = values;
      auto programs = elaborated(call);
      if (!programs) {
        if (refuses(programs.error())) continue;
        return false;
      }
      for (core::Program& p : *programs) found.emplace_back(call, std::move(p));
    }
    for (const auto& [call, p] : found) program(p, call, c);
    return true;
  }

  // One symbol at every value that is not refused, if the next one is.
  bool enumerate_extent(const SymbolicCall& c) {
    std::set<std::string> symbols;
    for (const InputDescription& d : c.call.inputs)
      for (const auto& e : d.extents)
        if (!e.symbol.empty()) symbols.insert(e.symbol);
    const std::int64_t most = options_.calls.most_rank + 1;
    for (const std::string& s : symbols) {
      std::vector<std::pair<Call, core::Program>> found;
      bool complete = true;
      for (std::int64_t n = 0; n <= most && complete; ++n) {
        Call call = c.call;
        for (InputDescription& d : call.inputs)
          for (auto& e : d.extents)
            if (e.symbol == s) e = {n, {}};
        auto programs = elaborated(call);
        if (!programs) complete = refuses(programs.error());
        else if (n == most) complete = false;
        else
          for (core::Program& p : *programs) found.emplace_back(call, std::move(p));
      }
      if (!complete) continue;
      for (const auto& [call, p] : found) program(p, call, c);
      return true;
    }
    return false;
  }

  std::string title_of(const SymbolicCall& c, const Call& call) const {
    std::string title = call.attributes.empty() ? "" : c.title.substr(0, c.title.find("; "));
    const std::string shapes = shapes_of(spec_, op_, call);
    return title.empty() ? shapes : shapes.empty() ? title : title + "; " + shapes;
  }

  void program(const core::Program& p, const Call& call, const SymbolicCall& c) {
    if (core::verify(p)) return reason("the core program is malformed");
    if (!texts_.insert(core::to_string(p)).second) return;
    ++report_.programs;
    ProofLimits limits = options_.limits;
    limits.seconds = std::min(limits.seconds, std::chrono::duration<double>(end_ - Clock::now()).count());
    for (const Obligation& o : prove(p, limits)) {
      if (o.answer == Answer::Proved) {
        ++(o.by_form ? report_.by_form : report_.proved)[o.kind];
        continue;
      }
      if (o.answer == Answer::Refuted && confirmed(p, call, c, o)) continue;
      ++report_.unknown[o.kind];
      reason(fmt::format("{}: {} ({}:{})", o.answer == Answer::Unknown ? "no answer of the solver in time" : "depends on more than the solver knows of the data", name_of(o.kind),
                         o.place.file, o.place.line));
    }
  }

  // Runs the shape that the solver gives, on its data and on others, and looks for an error of the definition.
  bool confirmed(const core::Program& p, const Call& symbolic, const SymbolicCall& c, const Obligation& o) {
    if (known_.count({o.kind, o.place.line, o.place.column})) return true;
    Call call = symbolic;
    std::int64_t elements = 0;
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      InputDescription& d = call.inputs[k];
      if (!d.present) continue;
      Extents extents;
      for (auto& e : d.extents) {
        if (!e.symbol.empty()) {
          auto it = o.counterexample.sizes.find(e.symbol);
          e = {it == o.counterexample.sizes.end() ? 1 : it->second, {}};
        }
        extents.push_back(e.extent);
      }
      const auto count = element_count(extents);
      if (!count || (elements += *count) > MostElements) return false;
      if (!d.value) static_elements(k, d, extents, o);
    }
    for (int fill = 0; fill < 4; ++fill) {
      std::vector<std::optional<Tensor>> inputs;
      for (std::size_t k = 0; k < call.inputs.size(); ++k) inputs.push_back(filled(p, call.inputs[k], k, o, fill));
      Call given = call;
      for (std::size_t k = 0; k < given.inputs.size(); ++k)
        if (given.inputs[k].present) given.inputs[k].value = inputs[k];
      const std::optional<std::string> wrong = error_of(p, given, inputs, o);
      if (!wrong) continue;
      known_.insert({o.kind, o.place.line, o.place.column});
      report_.faults.push_back({fmt::format("{}: {}", name_of(o.kind), o.what), o.place, title_of(c, given), *wrong});
      return true;
    }
    return false;
  }

  // The error of the definition that this call meets, elaborated for just these inputs, or as it was for all.
  std::optional<std::string> error_of(const core::Program& p, const Call& call, const std::vector<std::optional<Tensor>>& inputs, const Obligation& o) const {
    interp::Limits limits;
    limits.deadline = Clock::now() + seconds(5);
    limits.memory_bytes = std::int64_t{1} << 30;
    language::ElaborationLimits elaboration;
    elaboration.deadline = limits.deadline;
    auto program = language::elaborate(spec_, call, elaboration);
    if (!program && program.error().kind == ErrorKind::Definition) return program.error().message;
    std::optional<Diagnostic> undefined;
    if (program) {
      auto answer = interp::evaluate_scalar(*program, inputs, limits, &undefined);
      if (undefined) return std::nullopt;
      if (!answer && answer.error().kind == ErrorKind::Definition) return answer.error().message;
      if (answer && o.alternative) return vacuous(*program, inputs, *answer, limits);
    }
    // A negative extent of an output is refused where it is known while elaborating: no `require` says so.
    if (o.kind != ObligationKind::Extent) return std::nullopt;
    auto answer = interp::evaluate_scalar(p, inputs, limits, &undefined);
    if (!answer && !undefined && answer.error().kind == ErrorKind::Definition) return answer.error().message;
    return std::nullopt;
  }

  // An element that has a canonical answer, and whose allowed one is anything.
  static std::optional<std::string> vacuous(const core::Program& p, const std::vector<std::optional<Tensor>>& inputs, const interp::Outputs& canonical, const interp::Limits& limits) {
    std::vector<std::optional<interp::AllowedTensor>> sets;
    for (const auto& t : inputs) {
      if (t && (t->type() == ElementType::String || is_complex(t->type()))) return std::nullopt;
      sets.push_back(t ? std::optional(interp::AllowedTensor::exactly(*t)) : std::nullopt);
    }
    auto allowed = interp::evaluate_allowed(p, sets, *interp::profile_named("strict"), limits);
    if (!allowed) return std::nullopt;
    for (std::size_t k = 0; k < allowed->size(); ++k)
      if ((*allowed)[k] && canonical[k])
        for (std::uint8_t flags : (*allowed)[k]->flags())
          if (flags & interp::Anything) return fmt::format("the allowed answer of {} admits anything, for the alternative has no value", p.output_names[k]);
    return std::nullopt;
  }

  // Elements of static inputs are sizes of the program, named x[0].
  void static_elements(std::size_t input, InputDescription& d, const Extents& extents, const Obligation& o) const {
    std::size_t k = 0;
    for (const language::Clause& c : op_.clauses) {
      if (c.kind != language::ClauseKind::In) continue;
      if (k++ != input) continue;
      if (!c.is_static || !is_integer(d.type)) return;
      const std::string name = spec_.symbols().name(c.name);
      Tensor t(d.type, extents);
      for (std::int64_t i = 0; i < t.size(); ++i) {
        auto it = o.counterexample.sizes.find(extents.empty() ? name : fmt::format("{}[{}]", name, i));
        if (it == o.counterexample.sizes.end() && extents.empty()) it = o.counterexample.sizes.find(name + "[]");
        if (it == o.counterexample.sizes.end()) continue;
        if (auto bits = Exact(it->second).to_bits(d.type)) t.set(i, *bits);
      }
      d.value = std::move(t);
    }
  }

  std::optional<Tensor> filled(const core::Program& p, const InputDescription& d, std::size_t input, const Obligation& o, int fill) const {
    if (!d.present) return std::nullopt;
    if (d.value) return d.value;
    if (input < p.inputs.size() && p.inputs[input] != core::None)
      if (auto it = o.counterexample.data.find(p.inputs[input]); it != o.counterexample.data.end() && fill < 2) return it->second;
    Extents extents;
    for (const auto& e : d.extents) extents.push_back(e.extent);
    if (d.type == ElementType::String) return Tensor(extents, std::vector<std::string>(static_cast<std::size_t>(*element_count(extents))));
    Tensor t(d.type, extents);
    if (is_complex(d.type)) return t;
    // Zeros, then ones, then ascending, then descending numbers.
    for (std::int64_t k = 0; k < t.size(); ++k) {
      const std::int64_t v = fill == 0 ? 0 : fill == 1 ? 1 : fill == 2 ? k : t.size() - k;
      if (d.type == ElementType::Bool) t.set(k, static_cast<Bits>(v & 1));
      else t.set(k, Exact(v).round_to(d.type, CastMode::Saturate));
    }
    return t;
  }

  const language::Specification& spec_;
  const language::OperatorDefinition& op_;
  const ProofOptions options_;
  const Clock::time_point end_;
  ProofReport report_;
  std::unordered_set<std::string> texts_;
  std::set<std::tuple<ObligationKind, std::uint32_t, std::uint32_t>> known_;
};

}  // namespace

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::Proved: return "proved";
    case Standing::Sampled: return "sampled only";
    case Standing::Refuted: return "refuted";
  }
  ensure(false);
}

Result<ProofReport> prove(const language::Specification& specification, const language::OperatorDefinition& definition, const ProofOptions& options) {
  return Proof(specification, definition, options).run();
}

}  // namespace ulpian::tools
