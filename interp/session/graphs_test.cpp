// Operators that hold graphs, whole: captures over several levels, sequences, what is not used, limits. Expected values are worked out by hand.
#include <bit>
#include <chrono>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "interp/session/allowed_session.h"
#include "interp/session/session.h"

namespace ulpian::interp {
namespace {

using Clock = std::chrono::steady_clock;
using Data = std::vector<Datum>;

Tensor floats(const std::vector<float>& v) { return Tensor::from_bytes(ElementType::F32, {static_cast<std::int64_t>(v.size())}, std::as_bytes(std::span(v))); }
Tensor integer(std::int64_t v) {
  Tensor t(ElementType::I64, {});
  t.set(0, static_cast<Bits>(v));
  return t;
}
Tensor truth(bool v) {
  Tensor t(ElementType::Bool, {});
  t.set(0, v);
  return t;
}
std::vector<float> elements(const Datum& v) {
  const Tensor& t = *v.tensor();
  return {t.data<float>(), t.data<float>() + t.size()};
}

std::shared_ptr<const language::Specification> specification() {
  static const auto loaded = language::Specification::load();
  return loaded.value();
}

// A graph by the names of its values. What a body reads and does not make, it captures.
class Maker {
public:
  explicit Maker(const std::string& name) { g_.name = name, g_.source = "test"; }
  Maker& inputs(const std::vector<std::string>& names) {
    for (const auto& n : names) g_.inputs.push_back(made(n));
    return *this;
  }
  Maker& constant(const std::string& name, Tensor t) {
    g_.constants.emplace_back(made(name), std::move(t));
    return *this;
  }
  Maker& node(const char* op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, Attributes attributes = {}) {
    Node n;
    n.op = std::string("onnx.") + op;
    n.version = 18;
    for (const auto& i : inputs) n.inputs.push_back(i.empty() ? AbsentValue : read(i));
    for (const auto& [key, value] : attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value))
        for (const auto& [id, name] : (*body)->captured) read(name);
    for (const auto& o : outputs) n.outputs.push_back(o.empty() ? AbsentValue : made(o));
    n.attributes = std::move(attributes);
    g_.nodes.push_back(std::move(n));
    return *this;
  }
  Maker& declare(const std::string& name, const Extents& extents) {
    GraphValue& v = g_.values[static_cast<std::size_t>(ids_.at(name))];
    v.type = ElementType::F32;
    v.extents.emplace();
    for (std::int64_t e : extents) v.extents->push_back({e, {}});
    return *this;
  }
  std::shared_ptr<const Graph> outputs(const std::vector<std::string>& names) {
    for (const auto& n : names) g_.outputs.push_back(read(n));
    return std::make_shared<const Graph>(g_);
  }

private:
  ValueId made(const std::string& name) {
    g_.values.push_back({});
    g_.values.back().name = name;
    return ids_[name] = static_cast<ValueId>(g_.values.size() - 1);
  }
  ValueId read(const std::string& name) {
    if (auto it = ids_.find(name); it != ids_.end()) return it->second;
    const ValueId id = made(name);
    g_.captured.emplace_back(id, name);
    return id;
  }
  Graph g_;
  std::map<std::string, ValueId> ids_;
};

using Body = std::shared_ptr<const Graph>;

// What both evaluators give, and that the exact inputs' sets hold it.
Data ran(const Body& graph, const Data& inputs) {
  Data out;
  for (Evaluator evaluator : {Evaluator::Scalar, Evaluator::Block}) {
    SessionOptions options;
    options.evaluator = evaluator;
    Session session(specification(), graph, options);
    for (int again = 0; again < 2; ++again) {
      auto values = session.run_values(inputs);
      EXPECT_TRUE(values) << to_string(values.error());
      if (!values) return Data(graph->outputs.size(), Datum(floats({})));
      out = std::move(*values);
    }
  }
  std::vector<AllowedDatum> sets;
  for (const Datum& v : inputs) sets.push_back(exactly(v));
  auto allowed = AllowedSession(specification(), graph, *profile_named("standard")).run_values(sets);
  EXPECT_TRUE(allowed) << to_string(allowed.error());
  for (std::size_t k = 0; allowed && k < out.size(); ++k) {
    EXPECT_EQ((*allowed)[k].count(), out[k].count());
    for (std::size_t j = 0; j < out[k].count(); ++j)
      for (std::int64_t i = 0; i < out[k].part(j).size(); ++i) EXPECT_TRUE((*allowed)[k].part(j).contains(i, out[k].part(j).at(i))) << k << " " << j << " " << i;
  }
  return out;
}

// Loop over i < n: st = st * w if i is odd, else st + w, `w` being of the graph around the loop and `st` of the loop's body.
Body alternating_loop() {
  const Body odd = Maker("odd").node("Mul", {"st", "w"}, {"p"}).outputs({"p"});
  const Body even = Maker("even").node("Add", {"st", "w"}, {"q"}).outputs({"q"});
  const Body body = Maker("body").inputs({"i", "c", "st"}).constant("two", integer(2)).node("Mod", {"i", "two"}, {"r"}).node("Cast", {"r"}, {"b"}, {{"to", std::int64_t{9}}})
                        .node("If", {"b"}, {"next"}, {{"then_branch", odd}, {"else_branch", even}}).node("Neg", {"next"}, {"seen"}).outputs({"c", "next", "seen"});
  return Maker("main").inputs({"n", "x"}).node("Neg", {"x"}, {"w"}).node("Loop", {"n", "", "x"}, {"last", "all"}, {{"body", body}}).outputs({"last", "all"});
}

TEST(Graphs, BodiesCaptureOverTwoLevels) {
  // x = (1, 2), w = (-1, -2): + gives (0, 0), * gives (0, 0), + gives (-1, -2).
  const Data out = ran(alternating_loop(), {integer(3), floats({1, 2})});
  EXPECT_EQ(elements(out[0]), (std::vector<float>{-1, -2}));
  EXPECT_EQ(out[1].tensor()->extents(), (Extents{3, 2}));
  EXPECT_EQ(elements(out[1]), (std::vector<float>{-0.0f, -0.0f, -0.0f, -0.0f, 1, 2}));
}

TEST(Graphs, ALoopOfNoTripsGivesItsStateAndCollectsNothing) {
  const Body body = Maker("body").inputs({"i", "c", "st"}).node("Neg", {"st"}, {"seen"}).declare("seen", {2}).outputs({"c", "st", "seen"});
  const Body graph = Maker("main").inputs({"n", "x"}).node("Loop", {"n", "", "x"}, {"last", "all"}, {{"body", body}}).outputs({"last", "all"});
  const Data out = ran(graph, {integer(0), floats({1, 2})});
  EXPECT_EQ(elements(out[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(out[1].tensor()->extents(), (Extents{0, 2}));
}

// A body that collects, and declares of what it collects no more than a type, or its rank, or nothing.
TEST(Graphs, ExtentsThatNoTripShowsAreThoseThatTheBodyDeclaresAndElseOpen) {
  auto looped = [](auto declare, const std::string& open) {
    Maker maker("body");
    maker.inputs({"i", "c", "st"}).node("Neg", {"st"}, {"seen"});
    const Body plain = maker.outputs({"c", "st", "seen"});
    Graph body = *plain;
    declare(body.values[static_cast<std::size_t>(body.outputs[2])]);
    const Body graph = Maker("main").inputs({"n", "x"}).node("Loop", {"n", "", "x"}, {"last", "all"}, {{"body", std::make_shared<const Graph>(body)}}).outputs({"last", "all"});
    for (Evaluator evaluator : {Evaluator::Scalar, Evaluator::Block}) {
      SessionOptions options;
      options.evaluator = evaluator;
      RunNotes notes;
      auto out = Session(specification(), graph, options).run_values(Data{integer(0), floats({1, 2})}, {}, {}, &notes);
      if (!out) return to_string(out.error());
      EXPECT_EQ(elements((*out)[0]), (std::vector<float>{1, 2}));
      EXPECT_EQ((*out)[1].tensor()->type(), ElementType::F32);
      EXPECT_EQ(notes.undefined.size(), open.empty() ? 0u : 1u);
      for (const Diagnostic& d : notes.undefined) EXPECT_NE(to_string(d).find(open), std::string::npos) << to_string(d);
      // With a trip nothing is open.
      RunNotes none;
      auto one = Session(specification(), graph, options).run_values(Data{integer(1), floats({1, 2})}, {}, {}, &none);
      EXPECT_TRUE(one && none.undefined.empty());
      if (evaluator == Evaluator::Block) return to_string((*out)[1].tensor()->extents());
    }
    return std::string();
  };
  const std::string open = "no trip is made, and the graph does not declare the extents of its output \"seen\"";
  const auto of_rank = [](std::vector<Dimension> extents) { return [extents](GraphValue& v) { v.type = ElementType::F32, v.extents = extents; }; };
  EXPECT_EQ(looped(of_rank({{2, {}}}), ""), "[0, 2]");
  EXPECT_EQ(looped(of_rank({}), ""), "[0]");
  EXPECT_EQ(looped(of_rank({{{}, "N"}, {3, {}}, {{}, {}}}), open), "[0, 0, 3, 0]");
  EXPECT_EQ(looped([](GraphValue& v) { v.type = ElementType::F32; }, open), "[0]");
  EXPECT_NE(looped([](GraphValue&) {}, "").find("does not declare its output \"seen\" as a tensor of some element type"), std::string::npos);
  EXPECT_NE(looped([](GraphValue& v) { v.type = ElementType::F32, v.is_sequence = true; }, "").find("does not declare its output \"seen\""), std::string::npos);
}

TEST(Graphs, AnEmptySequenceIsMappedToEmptyOnesOfTheTypesThatTheBodyDeclares) {
  const Body plain = Maker("body").inputs({"e"}).node("Shape", {"e"}, {"g"}).outputs({"g", "e"});
  Graph body = *plain;
  for (int k = 0; k < 2; ++k) body.values[static_cast<std::size_t>(body.outputs[static_cast<std::size_t>(k)])].type = k ? ElementType::F32 : ElementType::I64;
  auto mapped = [](const Body& b) { return Maker("main").inputs({"s"}).node("SequenceMap", {"s"}, {"t", "u"}, {{"body", b}}).outputs({"t", "u"}); };
  const Datum none(Datum::Sequence{ElementType::F32, {}});
  const Data out = ran(mapped(std::make_shared<const Graph>(body)), {none});
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_TRUE(out[k].sequence());
    EXPECT_EQ(out[k].count(), 0u);
    EXPECT_EQ(out[k].sequence()->type, k ? ElementType::F32 : ElementType::I64);
  }
  auto refused = Session(specification(), mapped(plain)).run_values(Data{none});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);  // ONNX lets bodies leave types out: they are then inferred, which is not done here
}

// A program's declarations tell a tensor from a value of an optional type, and so do the definitions of what makes it.
TEST(Graphs, BeforeVersion18AnOptionalIsOfAnOptionalType) {
  auto asked = [](std::int64_t version, auto declare, const char* maker) {
    Graph g;
    g.values = {{"x", {}, {}}, {"o", {}, {}}, {"has", {}, {}}};
    declare(g.values[0]);
    Node make, ask;
    make.op = maker, make.version = version, make.inputs = {0}, make.outputs = {1};
    ask.op = "onnx.OptionalHasElement", ask.version = version, ask.inputs = {*maker ? 1 : 0}, ask.outputs = {2};
    if (*maker) g.nodes.push_back(make);
    g.nodes.push_back(ask);
    g.inputs = {0}, g.outputs = {2};
    auto out = Session(specification(), std::make_shared<const Graph>(g)).run_values(Data{floats({1})});
    const std::vector<AllowedDatum> sets{AllowedTensor::exactly(floats({1}))};
    auto allowed = AllowedSession(specification(), std::make_shared<const Graph>(g), *profile_named("standard")).run_values(sets);
    EXPECT_EQ(out.ok(), allowed.ok());
    return out ? std::string((*out)[0].tensor()->at(0) ? "yes" : "no") : to_string(out.error());
  };
  const auto undeclared = [](GraphValue&) {};
  const auto tensor = [](GraphValue& v) { v.type = ElementType::F32; };
  const auto optional = [](GraphValue& v) { v.type = ElementType::F32, v.is_optional = true; };
  EXPECT_EQ(asked(15, undeclared, ""), "yes");
  EXPECT_EQ(asked(15, optional, ""), "yes");
  EXPECT_EQ(asked(18, tensor, ""), "yes");
  EXPECT_NE(asked(15, tensor, "").find("came with version 18"), std::string::npos);
  EXPECT_EQ(asked(15, tensor, "onnx.Optional"), "yes");
  EXPECT_NE(asked(15, tensor, "onnx.Neg").find("came with version 18"), std::string::npos);
  EXPECT_NE(asked(15, tensor, "onnx.SequenceConstruct").find("came with version 18"), std::string::npos);
  EXPECT_EQ(asked(18, tensor, "onnx.Neg"), "yes");
}

// To look through the graph at each call took as long as the square of its nodes: of these some 20 s.
// One index for all of a graph's nodes: with one for each it would be quadratic.
TEST(Graphs, WhatMakesAValueIsToldForEachOfManyNodes) {
  constexpr ValueId Nodes = 60'000;
  Graph g;
  g.values.resize(Nodes + 1);
  for (ValueId k = 0; k < Nodes; ++k) {
    Node n;
    n.op = "onnx.Identity", n.version = 16, n.inputs = {k}, n.outputs = {k + 1};
    g.nodes.push_back(n);
  }
  g.nodes.back().op = "onnx.Neg";
  g.nodes.front().inputs = {Nodes};
  const Makers makers(g);
  std::size_t plain = 0;
  for (const Node& n : g.nodes) plain += describe_call(*specification(), makers, n, Data{floats({1})}).inputs[0].plain ? 1 : 0;
  EXPECT_EQ(plain, 1u);  // what Neg makes, and Identity's may be anything
}

TEST(Graphs, OutputsThatNobodyReadsMayBeLeftOut) {
  const Body body = Maker("body").inputs({"s", "v"}).node("Add", {"s", "v"}, {"t"}).node("Mul", {"t", "v"}, {"o"}).outputs({"t", "o"});
  Attributes scan{{"body", body}, {"num_scan_inputs", std::int64_t{1}}};
  const Body graph = Maker("main").inputs({"s", "xs"}).node("Scan", {"s", "xs"}, {"", "os"}, scan).outputs({"os"});
  // Sums 11, 13, 16 of 10 and 1, 2, 3, times 1, 2, 3.
  Tensor s(ElementType::F32, {});
  s.set(0, std::bit_cast<std::uint32_t>(10.0f));
  EXPECT_EQ(elements(ran(graph, {s, floats({1, 2, 3})})[0]), (std::vector<float>{11, 26, 48}));
}

TEST(Graphs, SequencesAreMappedAndReadTheGraphAround) {
  const Body body = Maker("body").inputs({"e"}).node("Mul", {"e", "f"}, {"g"}).outputs({"g"});
  const Body graph = Maker("main").inputs({"s", "f"}).node("SequenceMap", {"s"}, {"t"}, {{"body", body}}).node("SequenceLength", {"t"}, {"n"}).outputs({"t", "n"});
  const Data out = ran(graph, {Datum(Datum::Sequence{ElementType::F32, {floats({1, 2}), floats({3})}}), floats({4})});
  ASSERT_TRUE(out[0].sequence());
  ASSERT_EQ(out[0].count(), 2u);
  EXPECT_EQ(elements(out[0].part(0)), (std::vector<float>{4, 8}));
  EXPECT_EQ(elements(out[0].part(1)), (std::vector<float>{12}));
  EXPECT_EQ(out[1].tensor()->at(0), 2u);
}

TEST(Graphs, AChoiceThatIsNotCertainHasNoAllowedAnswer) {
  const Body yes = Maker("yes").node("Neg", {"x"}, {"a"}).outputs({"a"}), no = Maker("no").node("Abs", {"x"}, {"b"}).outputs({"b"});
  const Body graph = Maker("main").inputs({"c", "x"}).node("If", {"c"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}}).outputs({"y"});
  EXPECT_EQ(elements(ran(graph, {truth(true), floats({3})})[0]), (std::vector<float>{-3}));
  const AllowedTensor either(truth(false), truth(true), {0});
  const std::vector<AllowedDatum> sets{either, AllowedTensor::exactly(floats({3}))};
  auto out = AllowedSession(specification(), graph, *profile_named("standard")).run_values(sets);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Unsupported);
  EXPECT_NE(to_string(out.error()).find("not certain"), std::string::npos) << to_string(out.error());
}

TEST(Graphs, ChoicesInsideABodyAreNoted) {
  const Body plain = Maker("plain").inputs({"i", "c", "s"}).node("Neg", {"s"}, {"t"}).outputs({"c", "t"});
  const Body free = Maker("free").inputs({"i", "c", "s"}).node("ReduceMax", {"s"}, {"t"}).outputs({"c", "t"});
  for (const auto& [body, notes] : {std::pair(plain, false), std::pair(free, true)}) {
    const Body graph = Maker("main").inputs({"n", "x"}).node("Loop", {"n", "", "x"}, {"y"}, {{"body", body}}).outputs({"y"});
    RunNotes seen;
    auto out = Session(specification(), graph).run_values(Data{integer(1), floats({1, 2})}, {}, {}, &seen);
    ASSERT_TRUE(out) << to_string(out.error());
    EXPECT_EQ(!seen.choices_inside.empty(), notes) << body->name;
  }
}

// --- limits

Body endless_loop() {
  const Body body = Maker("body").inputs({"i", "c", "s"}).node("Add", {"s", "s"}, {"t"}).outputs({"c", "t"});
  return Maker("main").inputs({"c", "x"}).node("Loop", {"", "c", "x"}, {"y"}, {{"body", body}}).outputs({"y"});
}

TEST(Graphs, AnEndlessLoopEndsAtItsDeadlineAndWhenItIsCancelled) {
  for (Evaluator evaluator : {Evaluator::Scalar, Evaluator::Block}) {
    SessionOptions options;
    options.evaluator = evaluator;
    Session session(specification(), endless_loop(), options);
    Limits limits;
    limits.deadline = Clock::now() + std::chrono::milliseconds(100);
    auto out = session.run_values(Data{truth(true), floats({1})}, {}, limits);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
    std::atomic<bool> cancelled = false;
    Limits watched;
    watched.cancelled = &cancelled;
    std::thread other([&] { std::this_thread::sleep_for(std::chrono::milliseconds(50)), cancelled = true; });
    out = session.run_values(Data{truth(true), floats({1})}, {}, watched);
    other.join();
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
  }
  Limits limits;
  limits.deadline = Clock::now() + std::chrono::milliseconds(100);
  const std::vector<AllowedDatum> sets{AllowedTensor::exactly(truth(true)), AllowedTensor::exactly(floats({1}))};
  auto out = AllowedSession(specification(), endless_loop(), *profile_named("standard")).run_values(sets, {}, limits);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
}

TEST(Graphs, StateThatGrowsMeetsTheMemoryLimitAndStateOfEarlierTripsIsReleased) {
  const Body grow = Maker("grow").inputs({"i", "c", "s"}).node("Concat", {"s", "s"}, {"t"}, {{"axis", std::int64_t{0}}}).outputs({"c", "t"});
  const Body graph = Maker("main").inputs({"n", "x"}).node("Loop", {"n", "", "x"}, {"y"}, {{"body", grow}}).outputs({"y"});
  const Tensor x(ElementType::F32, {1024});
  Limits limits;
  limits.memory_bytes = std::int64_t{8} << 20;
  auto out = Session(specification(), graph).run_values(Data{integer(40), x}, {}, limits);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Limit) << to_string(out.error());
  // 1000 trips over 64 KiB of state take more than 8 MiB in all, and never much of it at once.
  const Body turn = Maker("turn").inputs({"i", "c", "s"}).node("Neg", {"s"}, {"t"}).outputs({"c", "t"});
  const Body steady = Maker("main").inputs({"n", "x"}).node("Loop", {"n", "", "x"}, {"y"}, {{"body", turn}}).outputs({"y"});
  limits.memory_bytes = std::int64_t{1} << 20;
  out = Session(specification(), steady).run_values(Data{integer(1000), Tensor(ElementType::F32, {16384})}, {}, limits);
  EXPECT_TRUE(out) << to_string(out.error());
}

}  // namespace
}  // namespace ulpian::interp
