#include "interp/session/declared.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace ulpian::interp {

std::string show(const std::vector<Dimension>& extents) {
  std::string out = "[";
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (k) out += ", ";
    out += extents[k].extent ? std::to_string(*extents[k].extent) : extents[k].symbol.empty() ? "?" : extents[k].symbol;
  }
  return out + "]";
}

std::optional<std::string> contradiction(const GraphValue& declared, ElementType type, bool is_sequence) {
  if (!declared.type) return std::nullopt;
  if (declared.is_sequence != is_sequence && !declared.is_optional)
    return fmt::format("\"{}\" is a {}; the model declares a {}", declared.name, is_sequence ? "sequence" : "tensor", is_sequence ? "tensor" : "sequence");
  if (*declared.type == type) return std::nullopt;
  return fmt::format("\"{}\" holds {}; the model declares {}", declared.name, name_of(type), name_of(*declared.type));
}

std::vector<std::string> unlike_declared(const Graph& graph, const std::vector<const Extents*>& inputs, const std::vector<const Extents*>& outputs) {
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  std::vector<std::string> out;
  const auto hold = [&](ValueId id, const Extents* has, const std::string& role, bool tell) {
    const GraphValue& v = graph.values[static_cast<std::size_t>(id)];
    if (!has || !v.extents) return;
    bool fits = v.extents->size() == has->size();
    for (std::size_t d = 0; fits && d < has->size(); ++d) fits = !(*v.extents)[d].extent || *(*v.extents)[d].extent == (*has)[d];
    if (!fits && tell) out.push_back(fmt::format("the {} \"{}\" has extents {}; the model declares {}", role, v.name, to_string(*has), show(*v.extents)));
    if (!fits) return;
    for (std::size_t d = 0; d < has->size(); ++d) {
      const Dimension& want = (*v.extents)[d];
      if (want.extent || want.symbol.empty()) continue;
      const auto [it, fresh] = symbols.try_emplace(want.symbol, (*has)[d], fmt::format("{} \"{}\"", role, v.name));
      if (!fresh && it->second.first != (*has)[d] && tell)
        out.push_back(fmt::format("the dimension {} is {} in the {} and {} in the {} \"{}\"", want.symbol, it->second.first, it->second.second, (*has)[d], role, v.name));
    }
  };
  for (std::size_t k = 0; k < inputs.size() && k < graph.inputs.size(); ++k) hold(graph.inputs[k], inputs[k], "input", false);
  for (std::size_t k = 0; k < outputs.size() && k < graph.outputs.size(); ++k) hold(graph.outputs[k], outputs[k], "output", true);
  return out;
}

}  // namespace ulpian::interp
