#include "spec/core/binding.h"

#include <fmt/format.h>

namespace ulpian::core {

Diagnostic error_of(const Program& program, ErrorKind kind, std::string message, std::uint32_t place) {
  Diagnostic d;
  d.kind = kind;
  d.message = program.op.empty() ? std::move(message) : program.op + ": " + message;
  if (place < program.places.size()) d.place = program.places[place];
  return d;
}

std::optional<Diagnostic> bind_inputs(const Program& p, std::span<const std::optional<InputShape>> shapes, Sizes& sizes) {
  const auto wrong = [&](std::string message, std::uint32_t place = None) { return error_of(p, ErrorKind::Input, std::move(message), place); };
  if (shapes.size() != p.inputs.size()) return wrong(fmt::format("takes {} inputs, not {}", p.inputs.size(), shapes.size()));
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (p.inputs[k] == None) continue;
    const TensorNode& n = p.tensor(p.inputs[k]);
    if (!shapes[k]) return wrong(fmt::format("input \"{}\" is missing", n.name), n.place);
    const auto& [type, extents] = *shapes[k];
    if (type != n.type) return wrong(fmt::format("input \"{}\" is of {}, not {}", n.name, name_of(type), name_of(n.type)), n.place);
    if (extents.size() != n.extents.size())
      return wrong(fmt::format("input \"{}\" has extents {}, not {} axes", n.name, ulpian::to_string(extents), n.extents.size()), n.place);
    for (std::size_t d = 0; d < n.extents.size(); ++d) {
      const Term& extent = p.term(n.extents[d]);
      if (extent.kind == TermKind::Size && !sizes[extent.data]) sizes[extent.data] = extents[d];
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> check_extents(const Program& p, std::span<const std::optional<InputShape>> shapes,
                                        const std::function<std::optional<std::int64_t>(TermId)>& value) {
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (p.inputs[k] == None) continue;
    const TensorNode& n = p.tensor(p.inputs[k]);
    for (std::size_t d = 0; d < n.extents.size(); ++d) {
      const auto expected = value(n.extents[d]);
      if (expected && *expected != shapes[k]->extents[d])
        return error_of(p, ErrorKind::Input,
                        fmt::format("input \"{}\" has extents {}; axis {} must be {}", n.name, ulpian::to_string(shapes[k]->extents), d, *expected), n.place);
    }
  }
  return std::nullopt;
}

}  // namespace ulpian::core
