// Models that are wrong, damaged or meant to do harm: always an error that says where, never a crash.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "spec/core/file.h"
#include "spec/import/onnx/test_models.h"

namespace ulpian::onnx_file {
namespace {

struct Wrong {
  const char* why;
  std::function<void(onnx::ModelProto&)> damage;
  const char* message;  // its beginning
};

onnx::GraphProto& graph(onnx::ModelProto& m) { return *m.mutable_graph(); }

const Wrong Cases[] = {
    {"no graph", [](auto& m) { m.clear_graph(); }, "not an ONNX model: it has no graph (model.onnx)"},
    {"no IR version", [](auto& m) { m.clear_ir_version(); }, "not an ONNX model: it states no IR version (model.onnx)"},
    {"IR version of the future", [](auto& m) { m.set_ir_version(99); }, "IR version 99; versions 3 to "},
    {"no operator set", [](auto& m) { m.clear_opset_import(); }, "Relu \"r\": its domain ai.onnx is not among the operator sets that the model imports (model.onnx, node 0)"},
    {"two versions of a domain", [](auto& m) { add_set(m, "ai.onnx", 18); }, "the model imports the domain \"ai.onnx\" in versions 17 and 18"},
    {"unknown domain", [](auto& m) { graph(m).mutable_node(1)->set_domain("a.b"); }, "Add \"a\": its domain \"a.b\" is not among"},
    {"empty graph", [](auto& m) { m.mutable_graph()->Clear(); }, "the graph is empty: it has no nodes and no outputs"},
    {"no outputs", [](auto& m) { graph(m).clear_output(); }, "the graph has no outputs"},
    {"missing output", [](auto& m) { graph(m).mutable_output(0)->set_name("z"); }, "the list of outputs holds \"z\", which is no input, no initializer and no node's output (model.onnx)"},
    {"output without a name", [](auto& m) { graph(m).mutable_output(0)->clear_name(); }, "an output of the graph has an empty name"},
    {"unknown value", [](auto& m) { graph(m).mutable_node(1)->set_input(0, "nope"); }, "Add \"a\" reads \"nope\", which is no input, no initializer and no node's output (model.onnx, node 1)"},
    {"value defined twice", [](auto& m) { graph(m).mutable_node(1)->set_output(0, "h"); }, "Add \"a\": the value \"h\" is defined twice (model.onnx, node 1)"},
    {"input defined twice", [](auto& m) { set_type(*graph(m).add_input(), "x", {}); }, "the value \"x\" is defined twice (model.onnx)\n  note: it is an input"},
    {"initializer defined twice", [](auto& m) { *graph(m).add_initializer() = onnx::TensorProto(graph(m).initializer(0)); }, "the value \"w\" is defined twice (model.onnx)\n  note: it is an initializer"},
    {"nodes not sorted", [](auto& m) { graph(m).mutable_node()->SwapElements(0, 1); },
     "Add \"a\" reads \"h\" before node 1 Relu \"r\" produces it (model.onnx, node 0)\n  help: ONNX asks for nodes in topological order"},
    {"cycle", [](auto& m) { graph(m).mutable_node(0)->set_input(0, "y"); },
     "a cycle: Relu \"r\" reads \"y\", which depends on its own outputs (model.onnx, node 0)\n  note: node 0 Relu \"r\" reads from node 1 Add \"a\" reads from node 0 Relu \"r\""},
    {"node that reads itself", [](auto& m) { graph(m).mutable_node(0)->set_input(0, "h"); }, "a cycle: Relu \"r\" reads \"h\""},
    {"no operator", [](auto& m) { graph(m).mutable_node(0)->clear_op_type(); }, " \"r\": the node names no operator (model.onnx, node 0)"},
    {"name that is not UTF-8", [](auto& m) { graph(m).mutable_node(0)->set_op_type("Re\xff"); }, "\"Re\\xff\" \"r\": the name \"Re\\xff\" is not UTF-8 (model.onnx, node 0)"},
    {"value that is not UTF-8", [](auto& m) { graph(m).mutable_node(1)->set_output(0, "\xc0\x80"); }, "Add \"a\": the value \"\\xc0\\x80\" has a name that is not UTF-8"},
    {"too few bytes", [](auto& m) { auto& t = *graph(m).mutable_initializer(0); t.clear_float_data(); t.set_raw_data("1234567"); }, "initializer \"w\": raw_data has 7 bytes; [3] elements f32 take 12 (model.onnx)"},
    {"too many elements", [](auto& m) { graph(m).mutable_initializer(0)->add_float_data(1); }, "initializer \"w\": float_data has 4 entries; [3] elements f32 take 3"},
    {"negative extent", [](auto& m) { graph(m).mutable_initializer(0)->set_dims(0, -3); }, "initializer \"w\": extents [-3] hold a negative number"},
    {"extent of 2^40", [](auto& m) { graph(m).mutable_initializer(0)->set_dims(0, std::int64_t{1} << 40); }, "initializer \"w\": [1099511627776] elements f32 take more than the 17179869184 bytes"},
    {"extents that overflow", [](auto& m) { auto& t = *graph(m).mutable_initializer(0); t.set_dims(0, std::int64_t{1} << 40); t.add_dims(std::int64_t{1} << 40); }, "initializer \"w\": [1099511627776, 1099511627776] elements"},
    {"unknown element type", [](auto& m) { graph(m).mutable_initializer(0)->set_data_type(99); }, "initializer \"w\" has element type 99, which is none of ONNX's"},
    {"no element type", [](auto& m) { graph(m).mutable_initializer(0)->clear_data_type(); }, "initializer \"w\" has no element type"},
    {"unsupported element type", [](auto& m) { graph(m).mutable_initializer(0)->set_data_type(99); }, "initializer \"w\" has element type 99, which is none of ONNX's"},
    {"field of another type", [](auto& m) { graph(m).mutable_initializer(0)->set_data_type(7); }, "initializer \"w\": its elements stand in float_data; those of type i64 stand in int64_data or raw_data"},
    {"two payloads", [](auto& m) { graph(m).mutable_initializer(0)->set_raw_data("abcd"); }, "initializer \"w\": its elements stand both in raw_data and in float_data"},
    {"segment", [](auto& m) { graph(m).mutable_initializer(0)->mutable_segment()->set_begin(0); }, "initializer \"w\": tensors in segments are not supported"},
    {"initializer of another type than its input", [](auto& m) { set_type(*graph(m).add_input(), "w", {3}, 7); }, "the initializer \"w\" has type f32[3], which is not the type declared for it"},
    {"input of unknown type", [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77); }, "the value \"x\" has element type 77"},
    {"input that is a map", [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_map_type()->set_key_type(7); }, "the value \"x\" is a map"},
    {"input of 2^80 elements", [](auto& m) { for (int k = 0; k < 2; ++k) graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(k)->set_dim_value(std::int64_t{1} << 40); }, "the value \"x\" is declared with more than 2^62 elements"},
    {"initializer of 65 axes", [](auto& m) { for (int k = 0; k < 64; ++k) graph(m).mutable_initializer(0)->add_dims(1); }, "initializer \"w\": rank 65 is above the limit of 64"},
    {"initializer of a million axes", [](auto& m) { for (int k = 0; k < 1000000; ++k) graph(m).mutable_initializer(0)->add_dims(1); }, "initializer \"w\": rank 1000001 is above the limit of 64"},
    {"input of a million axes", [](auto& m) { for (int k = 0; k < 1000000; ++k) graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1); }, "the value \"x\" is declared with 1000002 axes; at most 64 are allowed"},
    {"negative declared extent", [](auto& m) { graph(m).mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(-7); }, "the value \"x\" has the extent -7"},
    {"attribute without a type", [](auto& m) { graph(m).mutable_node(0)->add_attribute()->set_name("k"); }, "Relu \"r\": attribute \"k\" has no type, or one that is unknown (model.onnx, node 0)"},
    {"attribute of two types", [](auto& m) { auto* a = graph(m).mutable_node(0)->add_attribute(); a->set_name("k"); a->set_i(1); a->set_f(1); }, "Relu \"r\": attribute \"k\" has no type"},
    {"attribute without its value", [](auto& m) { add_attribute(*graph(m).mutable_node(0), "k", onnx::AttributeProto::GRAPH); }, "Relu \"r\": attribute \"k\" lacks the value of its type"},
    {"attribute of a wrong tensor", [](auto& m) { add_attribute(*graph(m).mutable_node(0), "k", onnx::AttributeProto::TENSOR).mutable_t()->set_data_type(1); }, "Relu \"r\": attribute \"k\": float_data has 0 entries; [] elements f32 take 1 (model.onnx, node 0)"},
    {"attribute given twice", [](auto& m) { for (int k = 0; k < 2; ++k) add_attribute(*graph(m).mutable_node(0), "k", onnx::AttributeProto::INT); }, "Relu \"r\": the attribute \"k\" is given twice"},
    {"reference outside of a function", [](auto& m) { add_attribute(*graph(m).mutable_node(0), "k", onnx::AttributeProto::INT).set_ref_attr_name("z"); }, "Relu \"r\": the attribute \"k\" refers to a function's attribute outside of any function"},
    {"attribute that is a type", [](auto& m) { add_attribute(*graph(m).mutable_node(0), "k", onnx::AttributeProto::TYPE_PROTO).mutable_tp(); }, "Relu \"r\": attribute \"k\" is a type other than tensors"},
};

TEST(Hostile, EveryWrongModelGetsItsOwnMessage) {
  for (const Wrong& c : Cases) {
    auto m = small_model();
    c.damage(m);
    const std::string text = message_of(m);
    EXPECT_EQ(text.substr(0, std::string(c.message).size()), c.message) << c.why << ": " << text;
  }
}

TEST(Hostile, SparseTensorsAreChecked) {
  const auto message = [](auto damage) {
    auto m = rich_model(false);
    damage(*m.mutable_graph()->mutable_sparse_initializer(0));
    return message_of(m);
  };
  EXPECT_EQ(message([](auto& s) { s.mutable_indices()->set_int64_data(1, 4); }), "sparse initializer \"s\": index 1 is 4; the tensor has 4 elements (model.onnx)");
  EXPECT_NE(message([](auto& s) { s.mutable_indices()->set_int64_data(1, 1); }).find("indices must ascend"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.mutable_indices()->set_dims(0, 1); s.mutable_indices()->mutable_int64_data()->Truncate(1); }).find("indices have extents [1]; they must have [2] or [2, 1]"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.set_dims(0, std::int64_t{1} << 40); }).find("more than the"), std::string::npos);
  EXPECT_EQ(message([](auto& s) { s.mutable_indices()->add_dims(1); }), "");  // one row of one index each
}

// An If within an If within ..., `depth` bodies deep.
onnx::ModelProto nested(int depth) {
  auto m = new_model();
  set_type(*m.mutable_graph()->add_input(), "c", {}, 9);
  onnx::GraphProto* g = m.mutable_graph();
  for (int k = 0; k < depth; ++k) {
    const std::string out = "v" + std::to_string(k);
    auto& node = add_node(*g, "If", {"c"}, {out});
    set_type(*g->add_output(), out, {}, 1);
    g = add_attribute(node, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  }
  add_node(*g, "Not", {"c"}, {"leaf"});
  g->add_output()->set_name("leaf");
  return m;
}

TEST(Hostile, DeepNestingMeetsALimit) {
  EXPECT_EQ(message_of(nested(95)), "");
  for (int depth : {101, 150, 2000}) {
    auto r = import_model(nested(depth));
    ASSERT_FALSE(r.ok());
    EXPECT_NE(r.error().message.find("nested more than 100 deep"), std::string::npos) << r.error().message;
  }
}

TEST(Hostile, CyclesThroughBodiesAreFound) {
  auto m = nested(1);
  auto& g = *m.mutable_graph();
  auto& body = *g.mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_node(0)->set_input(0, "later");
  add_node(g, "Not", {"v0"}, {"later"}, "n");
  EXPECT_NE(message_of(m).find("a cycle: Not producing \"leaf\" reads \"later\""), std::string::npos) << message_of(m);
  g.mutable_node(1)->set_input(0, "c");
  EXPECT_NE(message_of(m).find("reads \"later\" before node 1 Not \"n\" produces it (model.onnx, node 0, then_branch, node 0)"), std::string::npos) << message_of(m);
}

TEST(Hostile, HugeNamesAreCutInMessages) {
  auto m = small_model();
  m.mutable_graph()->mutable_node(0)->set_name(std::string(1 << 20, 'n'));
  m.mutable_graph()->mutable_node(0)->set_input(0, std::string(1 << 20, 'x'));
  EXPECT_LT(message_of(m).size(), 500u);
  EXPECT_NE(message_of(m).find("(1048576 bytes)"), std::string::npos);
}

TEST(Hostile, ManyUnknownOperatorsAreListedOnceEach) {
  auto m = small_model();
  for (int k = 0; k < 100; ++k) add_node(*m.mutable_graph(), "U" + std::to_string(k % 50), {"x"}, {"u" + std::to_string(k)});
  OnnxImportOptions options;
  options.is_defined = [](std::string_view op, std::int64_t) { return op.starts_with("onnx.U") ? Definedness::UnknownOperator : Definedness::Defined; };
  const auto r = import_model(m, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(r.error().message, "U0 producing \"u0\": the operator onnx.U0 (opset version 17) is not defined");
  EXPECT_EQ(r.error().notes.size(), 20u);
  EXPECT_EQ(r.error().notes.back(), "and 30 more");
}

TEST(Hostile, EveryTruncationGivesAResult) {
  const std::string whole = rich_model(true).SerializeAsString();
  ASSERT_TRUE(import_onnx(bytes_of_text(whole)).ok()) << to_string(import_onnx(bytes_of_text(whole)).error());
  int accepted = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) accepted += import_onnx(bytes_of_text(whole).first(n)).ok();
  EXPECT_LE(accepted, 1);  // the model's fields end in places, but without the functions it is another model
}

TEST(Hostile, BitFlipsGiveAResult) {
  constexpr int Seed = 20240612;
  std::mt19937_64 random(Seed);
  const std::string whole = rich_model(true).SerializeAsString();
  OnnxImportOptions options;
  options.node_limit = 10000;
  options.memory_limit = 1 << 24;
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    const int flips = 1 + round % 4;
    for (int k = 0; k < flips; ++k) damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    const auto r = import_onnx(bytes_of_text(damaged), options);
    accepted += r.ok();
    if (!r.ok()) {
      EXPECT_FALSE(r.error().message.empty());
    }
  }
  RecordProperty("seed", Seed);
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 2000);
}

TEST(Hostile, FilesThatAreNoModels) {
  EXPECT_EQ(to_string(import_onnx(std::string("no/such.onnx")).error()), "cannot open no/such.onnx: No such file or directory");
  EXPECT_EQ(to_string(import_onnx(std::string("/")).error()), "cannot read /: Is a directory");
  EXPECT_NE(to_string(import_onnx(std::string("/dev/zero")).error()).find("not a regular file"), std::string::npos);
  EXPECT_EQ(to_string(import_onnx(std::span<const std::byte>{}).error()), "the file is empty; an ONNX model is expected (model)");
  EXPECT_EQ(to_string(import_onnx(bytes_of_text("hello, world")).error()).find("not an ONNX model: "), 0u);
}

}  // namespace
}  // namespace ulpian::onnx_file
