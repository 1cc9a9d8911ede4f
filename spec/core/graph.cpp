#include "spec/core/graph.h"

#include <fmt/format.h>

namespace ulpian {

std::string describe(const Node& node) {
  if (!node.name.empty()) return fmt::format("{} \"{}\"", node.op, node.name);
  return node.op;
}

std::string place_of(const Graph& graph, const Node& node) {
  std::string where = fmt::format("{}, node {}", graph.source, node.position);
  if (!node.function.empty()) where += fmt::format(" of function {}", node.function);
  return where;
}

}  // namespace ulpian
