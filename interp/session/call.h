// One operator call made ready: elaborated for the types, extents and static values of its inputs, and planned.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/evaluate/evaluate.h"
#include "interp/limits.h"
#include "spec/core/graph.h"
#include "spec/core/program.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {

using MaybeTensors = std::vector<std::optional<Tensor>>;

enum class Evaluator : std::uint8_t { Block, Scalar };

class Call {
public:
  // Errors carry the node's description and place. `inputs` as Node::inputs, empty where absent.
  static Result<std::shared_ptr<const Call>> make(const language::Specification& specification, const Graph& graph, const Node& node,
                                                  std::span<const std::optional<Tensor>> inputs, Evaluator evaluator = Evaluator::Block,
                                                  const std::vector<std::uint8_t>& alternatives = {}, const block::Options& block = {},
                                                  const Limits& limits = {});
  ~Call();

  const core::Program& program() const;
  // Whether this call serves these inputs, too: equal types and extents, and equal elements of static inputs.
  bool serves(std::span<const std::optional<Tensor>> inputs) const;
  // The canonical answer. `undefined` (if given) receives the condition under which the standard says nothing.
  Result<MaybeTensors> run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined = nullptr) const;

private:
  Call();
  struct State;
  std::unique_ptr<State> state_;
};

// The call as the language takes it: attributes and the descriptions of inputs, elements included for `static` ones.
language::Call describe_call(const language::Specification& specification, const Node& node, std::span<const std::optional<Tensor>> inputs);

// Names the node in a message: `Conv "conv1": ...` (model.onnx, node 3).
Diagnostic at_node(Diagnostic diagnostic, const Graph& graph, const Node& node);

}  // namespace ulpian::interp
