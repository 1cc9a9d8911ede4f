// One operator call made ready: elaborated for the types, extents and static values of its inputs, and planned.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interp/evaluate/evaluate.h"
#include "interp/limits.h"
#include "spec/core/datum.h"
#include "spec/core/graph.h"
#include "spec/core/program.h"
#include "spec/language/elaborate.h"

namespace ulpian::interp {

using MaybeTensors = std::vector<std::optional<Tensor>>;

std::vector<Datum> as_data(std::span<const std::optional<Tensor>> values);

// A graph, and what gives each of its values: found when first asked for, once for all copies, so that who makes many calls of a graph keeps
// one of these. A graph converts to one where a single call is made. The graph must outlive it.
class Makers {
public:
  Makers(const Graph& graph) : graph_(&graph), index_(std::make_shared<Index>()) {}
  const Graph& graph() const { return *graph_; }
  bool is_constant(ValueId id) const { return index().is_constant[static_cast<std::size_t>(id)]; }
  // The node and which of its outputs; a null pointer where no node makes it.
  std::pair<const Node*, std::size_t> maker(ValueId id) const { return index().makers[static_cast<std::size_t>(id)]; }

private:
  struct Index {
    std::once_flag once;
    std::vector<bool> is_constant;
    std::vector<std::pair<const Node*, std::size_t>> makers;
  };
  const Index& index() const;

  const Graph* graph_;
  std::shared_ptr<Index> index_;
};

enum class Evaluator : std::uint8_t { Block, Scalar };

// A call that holds no graphs.
class Call {
public:
  // Errors carry the node's description and place. `inputs` as Node::inputs, empty where absent.
  static Result<std::shared_ptr<const Call>> make(const language::Specification& specification, const Makers& makers, const Node& node,
                                                  std::span<const Datum> inputs, Evaluator evaluator = Evaluator::Block,
                                                  const std::vector<std::uint8_t>& alternatives = {}, const block::Options& block = {},
                                                  const Limits& limits = {});
  static Result<std::shared_ptr<const Call>> make(const language::Specification& specification, const Makers& makers, const Node& node,
                                                  std::span<const std::optional<Tensor>> inputs, Evaluator evaluator = Evaluator::Block,
                                                  const std::vector<std::uint8_t>& alternatives = {}, const block::Options& block = {},
                                                  const Limits& limits = {}) {
    return make(specification, makers, node, as_data(inputs), evaluator, alternatives, block, limits);
  }
  ~Call();

  const core::Program& program() const;
  // Whether this call serves these inputs, too: equal types and extents, and equal elements of static inputs.
  bool serves(std::span<const Datum> inputs) const;
  // The canonical answer, per output of the program. `undefined` (if given) receives the condition under which the standard says nothing.
  Result<MaybeTensors> run(std::span<const std::optional<Tensor>> inputs, const Limits& limits, std::optional<Diagnostic>* undefined = nullptr) const;
  // Which elements of that answer the standard leaves open one by one (`unspecified`): nothing where there are none. Runs a program that
  // leaves any open again, with other values there: what differs then hangs on them.
  std::optional<Diagnostic> open_elements(std::span<const std::optional<Tensor>> inputs, const MaybeTensors& answer, const Limits& limits) const;

private:
  Call();
  struct State;
  std::unique_ptr<State> state_;
};

// The call as the language takes it: attributes and the descriptions of inputs, elements included for `static` ones.
language::Call describe_call(const language::Specification& specification, const Makers& makers, const Node& node, std::span<const Datum> inputs);

// A node's inputs and what its bodies read of the graph around, each as often as it is read; absent ones left out. `names` is filled with the
// values of the graph by name when first needed.
std::vector<ValueId> reads_with_bodies(const Graph& graph, const Node& node, std::map<std::string, ValueId>& names);
// Whether the definition lets this result be nothing.
bool may_be_nothing(const language::Specification& specification, const Node& node, std::size_t output);

// Names the node in a message: `Conv "conv1": ...` (model.onnx, node 3).
Diagnostic at_node(Diagnostic diagnostic, const Graph& graph, const Node& node);

}  // namespace ulpian::interp
