// Mutations of ONNX models that stay ONNX models: for libFuzzer, whose own would mostly break the protobuf, and for replay.cpp.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "spec/import/onnx/schema.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr std::int64_t Numbers[] = {0, 1, -1, 2, -2, 3, 4, 7, -7, 16, 100, 1000, 1 << 16, 1 << 20, std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{1} << 62, INT64_MAX, INT64_MIN};

class Mutator {
public:
  Mutator(ModelProto& model, unsigned seed) : model_(model), random_(seed) {}

  void change() {
    GraphProto& g = *model_.mutable_graph();
    switch (below(14)) {
      case 0: case 1: case 2: return change_attribute(g);
      case 3: case 4: return change_input(g);
      case 5: case 6: case 7: return change_constant(g);
      case 8: return change_declaration(g);
      case 9: return change_nodes(g);
      case 10: return add_attribute(g);
      case 11: return change_operator(g);
      case 12: if (model_.opset_import_size() > 0) model_.mutable_opset_import(0)->set_version(static_cast<std::int64_t>(below(28))); return;
      default: if (auto* n = some_node(g)) n->add_output("o" + std::to_string(below(100)));
    }
  }

  // A node of another model, with the constants that it reads under their names.
  void take_from(const ModelProto& other) {
    if (other.graph().node_size() == 0) return;
    GraphProto& g = *model_.mutable_graph();
    NodeProto& n = *g.add_node();
    n = other.graph().node(static_cast<int>(below(static_cast<std::size_t>(other.graph().node_size()))));
    for (const std::string& input : n.input())
      for (const TensorProto& t : other.graph().initializer())
        if (t.name() == input) {
          *g.add_initializer() = t;
          g.mutable_initializer()->rbegin()->set_name(input + "'");
        }
    for (std::string& input : *n.mutable_input()) {
      const bool taken = std::any_of(g.initializer().begin(), g.initializer().end(), [&](const TensorProto& t) { return t.name() == input + "'"; });
      if (taken) input += "'";
      else if (!input.empty()) input = some_value(g);
    }
    // It comes in between, or behind.
    if (n.output_size() > 0 && g.output_size() > 0 && below(2) == 0) {
      const std::string end = g.output(0).name();
      for (int k = 0; k + 1 < g.node_size(); ++k)
        for (std::string& o : *g.mutable_node(k)->mutable_output())
          if (o == end) o = "before";
      if (n.input_size() > 0) n.set_input(0, "before");
      n.set_output(0, end);
    } else {
      for (int k = 0; k < n.output_size(); ++k) n.set_output(k, "new" + std::to_string(below(1000)));
      if (n.output_size() > 0) g.add_output()->set_name(n.output(0));
    }
  }

private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  std::int64_t number() { return below(4) == 0 ? static_cast<std::int64_t>(below(10)) : Numbers[below(std::size(Numbers))]; }
  NodeProto* some_node(GraphProto& g) { return g.node_size() == 0 ? nullptr : g.mutable_node(static_cast<int>(below(static_cast<std::size_t>(g.node_size())))); }

  std::string some_value(const GraphProto& g) {
    std::vector<std::string> names{""};
    for (const auto& v : g.input()) names.push_back(v.name());
    for (const auto& t : g.initializer()) names.push_back(t.name());
    for (const auto& n : g.node()) names.insert(names.end(), n.output().begin(), n.output().end());
    return names[below(names.size())];
  }

  void change_attribute(GraphProto& g) {
    NodeProto* n = some_node(g);
    if (n == nullptr || n->attribute_size() == 0) return;
    const int at = static_cast<int>(below(static_cast<std::size_t>(n->attribute_size())));
    AttributeProto& a = *n->mutable_attribute(at);
    if (below(8) == 0) n->mutable_attribute()->DeleteSubrange(at, 1);
    else if (a.ints_size() > 0 && below(4) != 0) a.set_ints(static_cast<int>(below(static_cast<std::size_t>(a.ints_size()))), number());
    else if (a.ints_size() > 0 && below(2) == 0) a.mutable_ints()->RemoveLast();
    else if (a.type() == AttributeProto::INTS) a.add_ints(number());
    else if (a.type() == AttributeProto::FLOAT) a.set_f(static_cast<float>(number()) / (below(2) ? 1.0f : 0.0f));
    else if (a.type() == AttributeProto::STRING) a.set_s(mutated(a.s()));
    else if (a.has_t()) change_tensor(*a.mutable_t());
    else if (a.has_g()) Mutator(model_, static_cast<unsigned>(random_())).change_input(*a.mutable_g());
    else a.set_i(number());
  }

  void add_attribute(GraphProto& g) {
    static const char* const names[] = {"axis", "axes", "keepdims", "alpha", "mode", "to", "perm", "pads", "strides", "group", "dilations", "auto_pad", "ceil_mode", "batch_dims", "direction"};
    NodeProto* n = some_node(g);
    if (n == nullptr) return;
    AttributeProto& a = *n->add_attribute();
    a.set_name(names[below(std::size(names))]);
    a.set_type(below(3) == 0 ? AttributeProto::INTS : AttributeProto::INT);
    if (a.type() == AttributeProto::INT) return a.set_i(number());
    for (std::size_t k = below(5); k-- > 0;) a.add_ints(number());
  }

  void change_input(GraphProto& g) {
    NodeProto* n = some_node(g);
    if (n == nullptr) return;
    if (n->input_size() == 0 || below(8) == 0) n->add_input(some_value(g));
    else if (below(8) == 0) n->mutable_input()->RemoveLast();
    else n->set_input(static_cast<int>(below(static_cast<std::size_t>(n->input_size()))), some_value(g));
  }

  void change_constant(GraphProto& g) {
    if (g.initializer_size() > 0) change_tensor(*g.mutable_initializer(static_cast<int>(below(static_cast<std::size_t>(g.initializer_size())))));
  }

  void change_tensor(TensorProto& t) {
    switch (below(6)) {
      case 0:
        if (t.dims_size() > 0) t.set_dims(static_cast<int>(below(static_cast<std::size_t>(t.dims_size()))), number());
        return;
      case 1: t.set_data_type(static_cast<int>(below(26))); return;
      case 2: fill(t); return;
      default: break;
    }
    if (t.data_type() == TensorProto::INT64 && t.raw_data().size() >= 8) {
      const std::int64_t n = number();
      t.mutable_raw_data()->replace(8 * below(t.raw_data().size() / 8), 8, reinterpret_cast<const char*>(&n), 8);
    } else if (!t.raw_data().empty()) {
      const std::size_t size = t.raw_data().size();
      t.set_raw_data(mutated(t.raw_data()));
      t.mutable_raw_data()->resize(size);  // mostly still a tensor
    } else if (t.int64_data_size() > 0) {
      t.set_int64_data(static_cast<int>(below(static_cast<std::size_t>(t.int64_data_size()))), number());
    }
  }

  // Other extents, and as many elements as they say.
  void fill(TensorProto& t) {
    t.clear_dims();
    std::size_t count = 1;
    for (std::size_t k = below(4); k-- > 0;) {
      t.add_dims(static_cast<std::int64_t>(below(4)));
      count *= static_cast<std::size_t>(t.dims().Get(t.dims_size() - 1));
    }
    const int type = t.data_type();
    const std::size_t width = type == TensorProto::INT64 || type == TensorProto::DOUBLE ? 8 : type == TensorProto::FLOAT || type == TensorProto::INT32 ? 4 : type == TensorProto::FLOAT16 ? 2 : 1;
    t.mutable_raw_data()->resize(count * width);
  }

  void change_declaration(GraphProto& g) {
    if (g.input_size() == 0) return;
    auto& type = *g.mutable_input(static_cast<int>(below(static_cast<std::size_t>(g.input_size()))))->mutable_type()->mutable_tensor_type();
    switch (below(4)) {
      case 0: type.set_elem_type(static_cast<int>(below(26))); return;
      case 1: type.mutable_shape()->add_dim()->set_dim_value(static_cast<std::int64_t>(below(5))); return;
      case 2: if (type.shape().dim_size() > 0) type.mutable_shape()->mutable_dim()->RemoveLast(); return;
      default:
        if (type.shape().dim_size() > 0) type.mutable_shape()->mutable_dim(static_cast<int>(below(static_cast<std::size_t>(type.shape().dim_size()))))->set_dim_value(below(4) ? static_cast<std::int64_t>(below(6)) : number());
    }
  }

  void change_nodes(GraphProto& g) {
    if (g.node_size() == 0) return;
    const int at = static_cast<int>(below(static_cast<std::size_t>(g.node_size())));
    if (below(2) == 0) {
      g.mutable_node()->SwapElements(at, static_cast<int>(below(static_cast<std::size_t>(g.node_size()))));
      return;
    }
    const std::string output = g.node(at).output_size() > 0 ? g.node(at).output(0) : "";
    const std::string input = g.node(at).input_size() > 0 ? g.node(at).input(0) : "";
    g.mutable_node()->DeleteSubrange(at, 1);
    // Who read its result reads what it read.
    for (NodeProto& n : *g.mutable_node())
      for (std::string& i : *n.mutable_input())
        if (i == output) i = input;
  }

  void change_operator(GraphProto& g) {
    static const char* const names[] = {"Relu", "Exp", "Neg", "Not", "Sqrt", "Softmax", "Add", "Mul", "Div", "Pow", "Mod", "Max", "Where", "Gather", "Concat", "ReduceSum", "ReduceMean",
                                        "ArgMin", "CumSum", "Transpose", "Squeeze", "Flatten", "Shape", "Size", "NonZero", "MatMul", "Cast", "Identity", "Tile", "Slice", "ScatterND"};
    if (NodeProto* n = some_node(g)) n->set_op_type(names[below(std::size(names))]);
  }

  std::string mutated(std::string bytes) {
    const std::size_t size = bytes.size();
    bytes.resize(size + 16);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
    return bytes;
  }

  ModelProto& model_;
  std::minstd_rand random_;
};

std::size_t written(const ModelProto& model, std::uint8_t* data, std::size_t most) {
  const std::size_t size = model.ByteSizeLong();
  return size <= most && model.SerializeToArray(data, static_cast<int>(size)) ? size : 0;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size))) return LLVMFuzzerMutate(data, size, most);
  Mutator mutator(model, seed);
  for (unsigned changes = 1 + seed / 8 % 3; changes-- > 0;) mutator.change();
  const std::size_t n = written(model, data, most);
  return n > 0 ? n : LLVMFuzzerMutate(data, size, most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b, std::size_t b_size, std::uint8_t* out, std::size_t most, unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b, std::size_t b_size, std::uint8_t* out, std::size_t most, unsigned seed) {
  ModelProto model, other;
  if (!model.ParseFromArray(a, static_cast<int>(a_size)) || !other.ParseFromArray(b, static_cast<int>(b_size))) return 0;
  Mutator(model, seed).take_from(other);
  return written(model, out, most);
}
