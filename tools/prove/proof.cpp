#include "tools/prove/proof.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "interp/scalar/scalar.h"

namespace ulpian::tools {
namespace {

using Clock = std::chrono::steady_clock;
using language::Call;
using language::InputDescription;

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
    return language::elaborate_all(spec_, call, limits);
  }

  // With all extents and static elements unknown; else with the example's static elements; else the example's call alone.
  void one(const SymbolicCall& c) {
    ++report_.calls;
    std::string why;
    for (const Call* call : {&c.call, &c.known, &c.concrete}) {
      if (call != &c.call && !c.ranks_of_example) break;
      auto programs = elaborated(*call);
      if (programs) {
        for (const core::Program& p : *programs) program(p, *call, c);
        break;
      }
      const Diagnostic& d = programs.error();
      if (d.kind == ErrorKind::Requirement || d.kind == ErrorKind::Undefined) {
        if (why.empty()) ++report_.refused;
        break;
      }
      if (why.empty()) why = fmt::format("needs concrete extents: {}{}", d.message, d.place.line ? fmt::format(" ({}:{})", d.place.file, d.place.line) : "");
    }
    if (!why.empty()) reason(why);
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
      reason(fmt::format("{} ({}, {}:{})", o.answer == Answer::Unknown ? "no answer of the solver in time" : "holds only with what the solver does not know of the data", name_of(o.kind), o.place.file, o.place.line));
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
      const std::optional<std::string> wrong = error_of(p, given, inputs, o.kind);
      if (!wrong) continue;
      known_.insert({o.kind, o.place.line, o.place.column});
      std::string title = c.title.substr(0, c.title.find(": [") == std::string::npos ? c.title.size() : c.title.find("; "));
      if (call.attributes.empty()) title.clear();
      const std::string shapes = shapes_of(spec_, op_, given);
      report_.faults.push_back({fmt::format("{}: {}", name_of(o.kind), o.what), o.place, title.empty() ? shapes : title + "; " + shapes, *wrong});
      return true;
    }
    return false;
  }

  // The error of the definition that this call meets, elaborated for just these inputs, or as it was for all.
  std::optional<std::string> error_of(const core::Program& p, const Call& call, const std::vector<std::optional<Tensor>>& inputs, ObligationKind kind) const {
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
    }
    // A negative extent of an output is refused where it is known while elaborating: no `require` says so.
    if (kind != ObligationKind::Extent) return std::nullopt;
    auto answer = interp::evaluate_scalar(p, inputs, limits, &undefined);
    if (!answer && !undefined && answer.error().kind == ErrorKind::Definition) return answer.error().message;
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
