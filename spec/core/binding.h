// The inputs of a call against a program's: types, ranks, extents, and the sizes that they define. What every evaluator does first.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/core/program.h"

namespace ulpian::core {

struct InputShape {
  ElementType type = ElementType::F32;
  Extents extents;
};

using Sizes = std::vector<std::optional<std::int64_t>>;  // per size symbol

// Sets the sizes that extents of inputs are, as far as `sizes` does not hold them; the first thing that does not fit, as an error.
// `shapes` as Program::inputs, empty where an argument is missing.
std::optional<Diagnostic> bind_inputs(const Program& program, std::span<const std::optional<InputShape>> shapes, Sizes& sizes);

// Then, with the sizes known: whether every extent is what the program says. `value` gives that of a Z term, or nothing where it does not
// follow from the inputs alone.
std::optional<Diagnostic> check_extents(const Program& program, std::span<const std::optional<InputShape>> shapes,
                                        const std::function<std::optional<std::int64_t>(TermId)>& value);

// What the program's own errors look like: its operator's name in front, its place.
Diagnostic error_of(const Program& program, ErrorKind kind, std::string message, std::uint32_t place = None);

}  // namespace ulpian::core
