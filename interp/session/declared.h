// What a model declares of its values, held against what they turn out to be. A wrong type is an error, as for every implementation; extents are
// a promise that many files break and that implementations only warn of.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spec/core/datum.h"
#include "spec/core/graph.h"

namespace ulpian::interp {

// `[2, n, ?]`
std::string show(const std::vector<Dimension>& extents);

// Why a value cannot be what is declared: its element type, or a sequence for a tensor.
std::optional<std::string> contradiction(const GraphValue& declared, ElementType type, bool is_sequence);
template <typename T>
std::optional<std::string> contradiction(const GraphValue& declared, const BasicDatum<T>& value) {
  if (value.tensor()) return contradiction(declared, value.tensor()->type(), false);
  return value.sequence() ? contradiction(declared, value.sequence()->type, true) : std::nullopt;
}

// One line for each output of other extents than the model declares: another rank, another number, or a symbol that is something else elsewhere.
std::vector<std::string> unlike_declared(const Graph& graph, const std::vector<const Extents*>& inputs, const std::vector<const Extents*>& outputs);
template <typename T>
std::vector<std::string> unlike_declared(const Graph& graph, std::span<const Datum> inputs, std::span<const BasicDatum<T>> outputs) {
  std::vector<const Extents*> in, out;
  for (const Datum& v : inputs) in.push_back(v.tensor() ? &v.tensor()->extents() : nullptr);
  for (const BasicDatum<T>& v : outputs) out.push_back(v.tensor() ? &v.tensor()->extents() : nullptr);
  return unlike_declared(graph, in, out);
}

}  // namespace ulpian::interp
