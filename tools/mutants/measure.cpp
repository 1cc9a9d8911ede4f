#include "tools/mutants/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "interp/allowed/allowed.h"
#include "interp/evaluate/evaluate.h"
#include "interp/session/examples.h"
#include "tools/mutants/allowance.h"
#include "tools/mutants/programs.h"

namespace ulpian::tools {
namespace {

using language::Example;
using language::OperatorDefinition;
using language::Specification;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t MemoryBytes = std::int64_t{1} << 30;

interp::Limits limits_until(Deadline deadline) {
  interp::Limits limits;
  limits.memory_bytes = MemoryBytes;
  limits.deadline = deadline;
  return limits;
}

void append(std::string& out, const Tensor& t) {
  out += fmt::format("{}{};", name_of(t.type()), to_string(t.extents()));
  if (t.type() == ElementType::String)
    for (const std::string& s : t.strings()) out += fmt::format("{}:{}", s.size(), s);
  else out.append(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size());
}

// Everything that a program answers on the example's inputs.
struct Answers {
  std::string canonical, allowed;
  bool operator==(const Answers&) const = default;
};

Answers answers_until(const Specification& specification, const Example& example, const interp::Limits& limits) {
  Answers out;
  // (Operators that hold graphs give no program without their values; what a mutant of them changes is not looked into.)
  language::ElaborationLimits elaboration;
  elaboration.deadline = limits.deadline;
  auto program = language::elaborate(specification, example.call, elaboration);
  if (!program) {
    out.canonical = out.allowed = name_of(program.error().kind);
    return out;
  }
  std::optional<Diagnostic> undefined;
  auto canonical = interp::evaluate(*program, example.inputs, limits, &undefined);
  if (undefined) out.allowed = "undefined";
  if (!canonical) out.canonical = name_of(canonical.error().kind);
  else
    for (const auto& t : *canonical)
      if (t) append(out.canonical, *t);
  std::vector<std::optional<interp::AllowedTensor>> inputs;
  for (const auto& t : example.inputs) {
    if (t && (t->type() == ElementType::String || is_complex(t->type()))) return out;
    inputs.push_back(t ? std::optional(interp::AllowedTensor::exactly(*t)) : std::nullopt);
  }
  auto allowed = interp::evaluate_allowed(*program, inputs, *interp::profile_named("standard"), limits);
  for (std::int64_t axis : program->unordered_axes) out.allowed += fmt::format("unordered {};", axis);
  if (!allowed) {
    out.allowed += name_of(allowed.error().kind);
    return out;
  }
  for (const auto& t : *allowed) {
    if (!t) continue;
    append(out.allowed, t->lower());
    append(out.allowed, t->upper());
    out.allowed.append(reinterpret_cast<const char*>(t->flags().data()), t->flags().size());
    for (const auto& [place, pieces] : t->pieces())
      for (const interp::Interval& i : pieces) out.allowed += fmt::format("{}:{},{};", place, i.lower, i.upper);
  }
  return out;
}

Answers answers_of(const Specification& specification, const Example& example, double seconds) {
  return with_processor_time(seconds, [&](Deadline deadline) { return answers_until(specification, example, limits_until(deadline)); });
}

// One definition, or the functions of one file with all the definitions in it.
struct Subject {
  MutationScore score;
  const language::SourceFile* file = nullptr;
  std::vector<Example> examples;
  interp::Evaluator evaluator = interp::Evaluator::Block;
  std::vector<std::optional<Answers>> answers;  // of the unchanged definition, when first asked for
  std::vector<language::Call> calls;            // for comparing programs
  std::vector<std::optional<ProgramText>> texts;
  std::mutex mutex;
};

std::uint64_t mix(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? std::string() : text.substr(begin, end + 1 - begin);
}

std::vector<Mutation> sampled(std::vector<Mutation> all, const MutationOptions& o) {
  if (o.sample == 0 || all.size() <= o.sample) return all;
  std::uint64_t state = o.seed;
  for (std::size_t k = 0; k < o.sample; ++k) std::swap(all[k], all[k + mix(state) % (all.size() - k)]);
  all.resize(o.sample);
  std::sort(all.begin(), all.end(), [](const Mutation& a, const Mutation& b) { return std::tie(a.offset, a.replacement) < std::tie(b.offset, b.replacement); });
  return all;
}

class Measurement {
public:
  Measurement(const std::shared_ptr<const Specification>& specification, const std::vector<language::SourceText>& user_files, const MutationOptions& options)
      : specification_(specification), user_files_(user_files), options_(options) {}

  Status add(const OperatorDefinition& d) {
    auto s = std::make_unique<Subject>();
    s->file = d.file;
    std::string since;
    for (std::int64_t v : d.since) since += fmt::format("{}{}", since.empty() ? "" : ", ", v);
    s->score.name = fmt::format("{} since {}", d.name, since);
    s->score.file = d.file->path;
    s->score.line = d.at.line;
    if (Status r = take_examples(*s, d); !r) return r;
    take_mutations(*s, mutations_of(specification_->symbols(), d));
    const bool first_of_file = std::none_of(subjects_.begin(), subjects_.end(), [&](const auto& x) { return x->file == d.file; });
    subjects_.push_back(std::move(s));
    if (!first_of_file || d.file->functions_by_name.empty()) return success();
    return add_functions(*d.file);
  }

  std::vector<MutationScore> run(const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
    std::vector<std::pair<Subject*, Mutant*>> work;
    for (auto& s : subjects_)
      for (Mutant& m : s->score.mutants) work.emplace_back(s.get(), &m);
    std::atomic<std::size_t> next{0}, done{0};
    auto worker = [&](bool reports) {
      std::vector<std::size_t> order;
      const Subject* last = nullptr;
      for (std::size_t k = next++; k < work.size(); k = next++) {
        Subject& s = *work[k].first;
        if (last != &s) {
          order.resize(s.examples.size());
          for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
          last = &s;
        }
        work[k].second->fate = fate_of(s, work[k].second->mutation, order);
        ++done;
        if (reports) progress(done, work.size(), s.score.name);
      }
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < options_.threads; ++t) threads.emplace_back(worker, false);
    worker(true);
    for (std::thread& t : threads) t.join();
    std::vector<MutationScore> out;
    for (auto& s : subjects_) out.push_back(std::move(s->score));
    return out;
  }

private:
  Status take_examples(Subject& s, const OperatorDefinition& d) {
    auto examples = language::examples_of(*specification_, d);
    if (!examples) return std::move(examples).error();
    Clock::duration spent[2]{};
    for (Example& e : *examples) {
      for (interp::Evaluator evaluator : {interp::Evaluator::Block, interp::Evaluator::Scalar}) {
        const auto begin = Clock::now();
        if (auto wrong = interp::failure_of(specification_, e, evaluator)) {
          Diagnostic failure;
          failure.kind = ErrorKind::Definition;
          failure.message = fmt::format("{}: {}", e.title, *wrong);
          failure.place = e.place;
          failure.hint = "examples must hold before they can notice a change";
          return failure;
        }
        spent[static_cast<int>(evaluator)] += Clock::now() - begin;
      }
      s.examples.push_back(std::move(e));
    }
    s.answers.resize(s.examples.size());
    CallOptions beside;
    beside.most_ranks = 4;
    beside.beside = true;
    auto calls = symbolic_calls(*specification_, d, beside);
    if (!calls) return std::move(calls).error();
    for (SymbolicCall& c : *calls) s.calls.push_back(std::move(c.call));
    s.texts.resize(s.calls.size());
    s.evaluator = spent[0] <= spent[1] ? interp::Evaluator::Block : interp::Evaluator::Scalar;
    return success();
  }

  void take_mutations(Subject& s, std::vector<Mutation> all) {
    s.score.all = all.size();
    for (Mutation& m : sampled(std::move(all), options_)) {
      Mutant& mutant = s.score.mutants.emplace_back();
      mutant.mutation = std::move(m);
      mutant.line = trimmed(std::string(s.file->line(mutant.mutation.at.line)));
    }
  }

  Status add_functions(const language::SourceFile& file) {
    auto s = std::make_unique<Subject>();
    s->file = &file;
    s->score.name = "functions of " + file.path;
    s->score.file = file.path;
    for (const OperatorDefinition& d : file.operators)
      if (Status r = take_examples(*s, d); !r) return r;
    take_mutations(*s, mutations_of_functions(specification_->symbols(), file));
    subjects_.push_back(std::move(s));
    return success();
  }

  std::shared_ptr<const Specification> load(const Subject& s, const Mutation& m) const {
    std::vector<language::SourceText> files;
    for (const language::SourceText& f : user_files_)
      if (f.path != s.file->path) files.push_back(f);
    files.push_back({s.file->path, mutated(*s.file, m)});
    auto loaded = Specification::load(files);
    return loaded ? *loaded : nullptr;
  }

  Fate fate_of(Subject& s, const Mutation& m, std::vector<std::size_t>& order) {
    auto changed = load(s, m);
    if (!changed) return Fate::Invalid;
    const auto fate = with_processor_time(options_.seconds, [&](Deadline deadline) { return noticed(s, changed, order, limits_until(deadline)); });
    if (fate) return *fate;
    const Fate survivor = unnoticed(s, *changed);
    return m.contract && survivor == Fate::Contract ? Fate::AllowedDiffers : survivor;
  }

  // What the examples say; nothing if all of them hold.
  static std::optional<Fate> noticed(const Subject& s, const std::shared_ptr<const Specification>& changed, std::vector<std::size_t>& order, const interp::Limits& limits) {
    bool malformed = false, elaborates = false;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Example& e = s.examples[order[k]];
      const bool no_answer = e.expects_error || e.expects_undefined;
      if (no_answer && malformed && !elaborates) continue;  // a refusal for another reason says nothing
      auto failure = interp::outcome_of(changed, e, s.evaluator, limits);
      if (!failure) {
        elaborates |= !no_answer;
        continue;
      }
      if (failure->elaboration == ErrorKind::Definition) {
        malformed = true;
        continue;
      }
      std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      return failure->elaboration == ErrorKind::Limit || failure->evaluation == ErrorKind::Limit ? Fate::OutOfTime : Fate::Noticed;
    }
    if (malformed) return elaborates ? Fate::Noticed : Fate::Invalid;
    return std::nullopt;
  }

  Fate unnoticed(Subject& s, const Specification& changed) {
    Fate fate = Fate::Equal;
    for (std::size_t k = 0; k < s.examples.size(); ++k) {
      const Answers now = answers_of(changed, s.examples[k], options_.seconds);
      const Answers& before = original(s, k);
      if (now.canonical != before.canonical) return Fate::Within;
      if (now.allowed != before.allowed) fate = Fate::AllowedDiffers;
    }
    return compared(s, changed, fate);
  }

  // Whether the programs differ in anything, for all extents and in settings beside the examples' too.
  Fate compared(Subject& s, const Specification& changed, Fate otherwise) {
    const double end = Clocks::processor() + options_.seconds;
    Fate fate = Fate::Same;
    std::size_t known = 0;
    for (std::size_t k = 0; k < s.calls.size(); ++k) {
      if (Clocks::processor() > end) return otherwise;
      const ProgramText& before = original_text(s, k);
      if (!before.known) continue;
      const ProgramText now = text_of(changed, s.calls[k]);
      if (!now.known || now.canonical != before.canonical) return otherwise;
      if (now.full != before.full) fate = Fate::Contract;
      ++known;
    }
    return known == 0 || 2 * known < s.calls.size() ? otherwise : fate;
  }

  const ProgramText& original_text(Subject& s, std::size_t k) {
    const std::lock_guard lock(s.mutex);
    if (!s.texts[k]) s.texts[k] = text_of(*specification_, s.calls[k]);
    return *s.texts[k];
  }

  const Answers& original(Subject& s, std::size_t k) {
    const std::lock_guard lock(s.mutex);
    if (!s.answers[k]) s.answers[k] = answers_of(*specification_, s.examples[k], 10 * options_.seconds);
    return *s.answers[k];
  }

  std::shared_ptr<const Specification> specification_;
  const std::vector<language::SourceText>& user_files_;
  const MutationOptions options_;
  std::vector<std::unique_ptr<Subject>> subjects_;
};

bool counts(const Mutant& m) { return !m.mutation.contract && m.fate != Fate::Invalid && m.fate != Fate::Same && m.fate != Fate::Contract; }

}  // namespace

std::string_view name_of(Fate fate) {
  switch (fate) {
    case Fate::Noticed: return "noticed";
    case Fate::OutOfTime: return "noticed: out of time";
    case Fate::Same: return "means the same";
    case Fate::Contract: return "changes only what is allowed besides";
    case Fate::Invalid: return "no definition";
    case Fate::Equal: return "all answers are equal";
    case Fate::AllowedDiffers: return "only allowed answers differ";
    case Fate::Within: return "canonical answers differ within the tolerance of '~'";
  }
  ensure(false);
}

std::size_t MutationScore::noticed() const {
  return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), [](const Mutant& m) { return counts(m) && m.noticed(); }));
}
std::size_t MutationScore::contract_counted() const {
  return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), [](const Mutant& m) { return m.of_contract() && (m.noticed() || m.survives()); }));
}
std::size_t MutationScore::contract_noticed() const {
  return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), [](const Mutant& m) { return m.of_contract() && m.noticed(); }));
}
std::size_t MutationScore::counted() const { return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), counts)); }

Result<std::vector<MutationScore>> measure_mutants(const std::shared_ptr<const Specification>& specification, const std::vector<language::SourceText>& user_files,
                                                   const std::vector<const OperatorDefinition*>& definitions, const MutationOptions& options,
                                                   const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  Measurement measurement(specification, user_files, options);
  for (const OperatorDefinition* d : definitions)
    if (Status r = measurement.add(*d); !r) return r.error();
  return measurement.run(progress);
}

}  // namespace ulpian::tools
