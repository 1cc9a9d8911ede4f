#include "interp/session/ideal_call.h"

#include <fmt/format.h>

namespace ulpian::interp {
namespace {

// What an output of the program is called: a result of the node, an item of a sequence.
std::string name_in(const core::Program& program, std::size_t output, const Graph* graph, const Node* node) {
  std::size_t result = output;
  std::string item;
  for (std::size_t k = 0; k < program.results.size(); ++k) {
    const core::ResultInfo& r = program.results[k];
    if (r.kind == core::ResultKind::Nothing || output < r.first || output >= r.first + r.count) continue;
    result = k;
    if (r.kind == core::ResultKind::Sequence) item = fmt::format("[{}]", output - r.first);
  }
  if (node && result < node->outputs.size() && node->outputs[result] != AbsentValue) return graph->values[static_cast<std::size_t>(node->outputs[result])].name + item;
  return (output < program.output_names.size() ? program.output_names[output] : std::to_string(output)) + item;
}

}  // namespace

Result<MaybeTensors> as_asked(const core::Program& program, std::span<const std::optional<Tensor>> values, Result<MaybeTensors> canonical, const SessionOptions& options,
                              const Limits& limits, RunNotes* notes, const Graph* graph, const Node* node) {
  if (!canonical || options.answer == Answer::Canonical) return canonical;
  IdealOptions how;
  how.block = options.block;
  auto ideal = ideal_answer(program, values, std::move(*canonical), limits, how);
  if (!ideal) return std::move(ideal).error();
  for (UndecidedElements& u : ideal->undecided) {
    if (!notes) break;
    notes->undecided_elements += u.count;
    if (notes->undecided.size() >= RunNotes::MostUndecided) break;
    RunNotes::Undecided note;
    note.call = node ? describe(*node) : program.op;
    note.place = node ? place_of(*graph, *node) : std::string();
    note.output = name_in(program, u.output, graph, node);
    note.extents = ideal->outputs[u.output]->extents();
    note.elements = std::move(u);
    notes->undecided.push_back(std::move(note));
  }
  return std::move(ideal->outputs);
}

}  // namespace ulpian::interp
