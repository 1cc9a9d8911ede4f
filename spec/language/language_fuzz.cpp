// Any bytes as a user's specification: parsed, its examples elaborated, printed and run on the scalar evaluator, all under tight limits.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "interp/scalar/scalar.h"
#include "spec/core/program.h"
#include "spec/language/elaborate.h"

namespace {

using namespace ulpian;
using namespace ulpian::language;

constexpr ElaborationLimits Tight{16u << 20, 100'000, 100, 300, 16};

void run(const core::Program& program, std::span<const std::optional<Tensor>> inputs) {
  ensure(!core::verify(program), "a core program that breaks its rules");
  ensure(!core::to_string(program).empty());
  interp::Limits limits;
  limits.memory_bytes = 16 << 20;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  std::optional<Diagnostic> undefined;
  if (auto outputs = interp::evaluate_scalar(program, inputs, limits, &undefined); !outputs) ensure(!to_string(outputs.error()).empty());
}

// Where a definition has no example: a call with every input a small tensor, and one on size symbols.
void call_plainly(const Specification& spec, const OperatorDefinition& d) {
  Call call;
  call.op = d.name;
  call.version = d.since.empty() ? 1 : d.since.front();
  std::vector<std::optional<Tensor>> inputs;
  for (const Clause& c : d.clauses) {
    if (c.kind != ClauseKind::In || inputs.size() > 8) continue;
    inputs.emplace_back(Tensor(ElementType::F32, {2, 3}));
    InputDescription i;
    i.extents = {{2, {}}, {3, {}}};
    if (c.is_static) i.value = *inputs.back();
    call.inputs.push_back(std::move(i));
  }
  if (auto program = elaborate(spec, call, Tight)) run(*program, inputs);
  for (InputDescription& i : call.inputs) {
    i.extents = {{0, "n"}, {3, {}}};
    i.value.reset();
  }
  if (auto programs = elaborate_all(spec, call, Tight))
    for (const core::Program& p : *programs) ensure(!core::verify(p), "a core program that breaks its rules");
}

// `names` are the user's own: asking for others would parse all shipped files.
void exercise(const Specification& spec, const std::vector<std::string>& names) {
  int definitions = 0;
  for (const std::string& name : names)
    for (const OperatorDefinition* d : spec.definitions(name)) {
      if (!d->file->user || ++definitions > 4) continue;
      auto examples = examples_of(spec, *d);
      if (!examples || examples->empty()) {
        call_plainly(spec, *d);
        continue;
      }
      const std::size_t step = 1 + examples->size() / 6;
      for (std::size_t k = 0; k < examples->size(); k += step)
        if (auto program = elaborate(spec, (*examples)[k].call, Tight)) run(*program, (*examples)[k].inputs);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const SourceText source{"fuzz.ulp", std::string(reinterpret_cast<const char*>(data), size)};
  // Most mutants do not parse: that is seen without the prelude, which takes a hundred times as long.
  auto alone = Specification::of({}, std::span(&source, 1));
  if (!alone) {
    ensure(!to_string(alone.error()).empty());
    return 0;
  }
  auto spec = Specification::load(std::span(&source, 1));
  if (spec) exercise(**spec, (*alone)->names());
  else ensure(!to_string(spec.error()).empty());
  return 0;
}
