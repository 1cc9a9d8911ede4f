// The way from a parsed model to a graph. Internal to this folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "spec/import/onnx/external_data.h"
#include "spec/import/onnx/import_onnx.h"
#include "spec/import/onnx/names.h"
#include "spec/import/onnx/schema.h"
#include "spec/import/onnx/tensor_codec.h"

namespace ulpian::onnx_file {

namespace proto = ::onnx;
using ProtoNodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;
using OperatorSets = std::map<std::string, std::int64_t>;  // by domain, ai.onnx as ""

struct Scope;

// An attribute that a function's caller gave, and where its graphs, if any, stand.
struct Argument {
  proto::AttributeProto* attribute;
  Scope* scope;
};

// Where names mean something: a graph, a body, or one call of a function. A call's nodes go into its caller's graph.
struct Scope {
  Graph* graph = nullptr;
  Scope* outer = nullptr;  // of a body: what it may read from
  const OperatorSets* sets = nullptr;
  const std::map<std::string, Argument>* arguments = nullptr;  // of a function call
  std::string prefix;      // of names made inside a function call
  std::string function;    // Node::function
  int depth = 0;
  std::unordered_map<std::string, ValueId> names;
  std::unordered_map<std::string, ValueId> promised;  // of a function call: its outputs, which exist already in the caller
  std::unordered_map<std::string, const proto::ValueInfoProto*> declared;
  std::unordered_set<ValueId> open_inputs;  // a graph's inputs that no initializer has given a default
  ProtoNodes* nodes = nullptr;
  int current = 0;  // the node that is being read
};

class Builder {
public:
  Builder(proto::ModelProto& model, const OnnxImportOptions& options, ExternalData& external);
  Result<Graph> build();

private:
  // build_graph.cpp
  Status read_operator_sets(const google::protobuf::RepeatedPtrField<proto::OperatorSetIdProto>& imports, const std::string& owner, OperatorSets& out);
  Status read_functions();
  Status fill_graph(Scope& scope, proto::GraphProto& graph, bool is_main);
  Status add_inputs(Scope& scope, proto::GraphProto& graph);
  Status add_initializers(Scope& scope, proto::GraphProto& graph, bool is_main);
  Status add_initializer(Scope& scope, const std::string& name, Tensor tensor);
  Status add_outputs(Scope& scope, proto::GraphProto& graph);
  Result<ValueId> define(Scope& scope, const std::string& name);
  Result<ValueId> new_value(Scope& scope, const std::string& name);
  Status declare_type(Graph& graph, ValueId id, const proto::ValueInfoProto& info, const std::string& place);
  void collect_names(const proto::GraphProto& graph);
  std::string unique_name(const std::string& wanted);
  Status unknown_operators() const;

  // build_node.cpp
  Status add_nodes(Scope& scope, ProtoNodes& nodes);
  Status add_node(Scope& scope, proto::NodeProto& node);
  Status add_call(Scope& scope, proto::NodeProto& node, proto::FunctionProto& function);
  Status finish_call(Scope& caller, Scope& callee, proto::FunctionProto& function, const std::vector<ValueId>& outputs);
  Result<std::map<std::string, Argument>> arguments_of(Scope& scope, proto::NodeProto& node, proto::FunctionProto& function);
  Result<std::vector<ValueId>> read_inputs(Scope& scope, const proto::NodeProto& node);
  Result<Attributes> read_attributes(Scope& scope, proto::NodeProto& node);
  Result<Attribute> read_attribute(Scope& scope, proto::AttributeProto& attribute, const std::string& owner);
  Result<Attribute> read_body(Scope& scope, proto::GraphProto& graph, const std::string& name);
  Result<Tensor> read_tensor(proto::TensorProto& tensor, const std::string& owner);
  bool is_known(const Scope& scope, const proto::NodeProto& node, const std::string& op, std::int64_t version);

  // names_in_scope.cpp
  // The value of a name, made a capture on the way if it is an outer graph's; empty if there is none (yet).
  std::optional<ValueId> find(Scope& scope, const std::string& name);
  Diagnostic not_found(const Scope& scope, const proto::NodeProto* reader, const std::string& name);

  std::string place(const Scope& scope) const;  // of the node that is being read
  Diagnostic wrong_node(const Scope& scope, const proto::NodeProto& node, std::string_view what, ErrorKind kind = ErrorKind::Input) const;
  Diagnostic wrong_graph(const Graph& graph, std::string_view what, ErrorKind kind = ErrorKind::Input) const;

  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload
  struct Unknown {
    std::string text;
    std::string place;
    Definedness why;
  };

  proto::ModelProto& model_;
  const OnnxImportOptions& options_;
  DecodeLimits limits_;
  OperatorSets sets_;
  std::map<FunctionKey, proto::FunctionProto*> functions_;
  std::map<const proto::FunctionProto*, OperatorSets> function_sets_;
  std::vector<const proto::FunctionProto*> active_;  // calls that are being inlined
  std::unordered_map<const proto::TensorProto*, Tensor> tensors_;  // a function's, which every call needs
  std::unordered_set<std::string> used_names_;
  std::unordered_map<std::string, int> name_counters_;
  std::int64_t node_count_ = 0;
  std::vector<Unknown> unknown_;
  std::set<std::pair<std::string, std::int64_t>> unknown_seen_;
};

std::string normal_domain(const std::string& domain);
std::string qualified(const std::string& domain, const std::string& op);   // "onnx.Conv"
std::string describe(const proto::NodeProto& node);                        // Conv "conv1", or Conv producing "y"

}  // namespace ulpian::onnx_file
