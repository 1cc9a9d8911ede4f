// A program as its dialect's file gives it: a graph of operator calls between named values. Importers make it, the session and the checks
// walk it. Nothing here knows what an operator means.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/core/tensor.h"

namespace ulpian {

struct Graph;

// An attribute as the file holds it. Whether an integer names an element type is for the operator's definition to say.
using Attribute = std::variant<std::int64_t, float, std::string, Tensor, std::shared_ptr<const Graph>, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<Tensor>,
                               std::vector<std::shared_ptr<const Graph>>>;
using Attributes = std::map<std::string, Attribute>;

// An extent: a number, a named symbol, or neither (unknown).
struct Dimension {
  std::optional<std::int64_t> extent;
  std::string symbol;
};

using ValueId = std::int32_t;
inline constexpr ValueId AbsentValue = -1;  // an optional input or output that a call leaves out

struct GraphValue {
  std::string name;
  std::optional<ElementType> type;              // declared, if it is
  std::optional<std::vector<Dimension>> extents;  // declared, if the rank is
  bool is_sequence = false;
  bool is_optional = false;
};

struct Node {
  std::string name;      // the file's; may be empty
  std::string op;        // qualified by its dialect's prefix: "onnx.Conv", "com.microsoft.Gelu"
  std::int64_t version = 0;  // the opset version of the domain in force where it stands
  std::int32_t position = 0; // its number in the file's graph, for messages
  std::string function;  // the model-local function call it was inlined from, or empty
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
};

struct Graph {
  std::string name;
  std::string source;    // the file, for messages
  std::vector<GraphValue> values;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::pair<ValueId, Tensor>> constants;   // initializers; an input may also have one (its default)
  std::vector<Node> nodes;                             // in topological order
  std::vector<std::pair<ValueId, std::string>> captured;  // of a body: values of the outer graph it reads, by name
};

// `Conv "conv1" (model.onnx, node 3)`'s two parts.
std::string describe(const Node& node);                       // Conv "conv1", or Conv producing "y" where it has no name
std::string place_of(const Graph& graph, const Node& node);   // model.onnx, node 3

}  // namespace ulpian
