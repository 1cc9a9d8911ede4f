// The cases of `cases/`: what each expects comes from the standard and exact arithmetic (its build.py), never from this code.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diff/check/check_model.h"
#include "interp/session/session.h"
#include "interp/tensors/tensor_file.h"
#include "spec/import/onnx/import_onnx.h"
#include "spec/language/specification.h"

namespace ulpian {
namespace {

namespace fs = std::filesystem;

const fs::path Folder = fs::path(ULPIAN_SOURCE_DIR) / "conformance/cases";

// Cases that do not run yet, and why. The top-level README lists them.
const std::map<std::string, std::string> NotYet = {
};

// Alternatives that a case allows and the profile "standard" does not, and why: a case says what some reading of the text bears, a definition
// settles one where it says enough.
const std::map<std::string, std::string> Sharper = {
    {"resize_nearest_keeps_batch", "an axis of scale 1 is not resized"},
};

// Right values of a whole model whose sets, composed over its operators, are too wide to tell anything: undecided (status 3).
const std::set<std::string> TooWide = {"clamped_division_amplifies"};

struct Case {
  std::string name;
  std::string tolerance;  // exact, abs, ulp, allowed_set, any, refuse
  double value = 0;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<std::vector<Tensor>> expected;  // per output the alternatives; none: the output is not looked at
};

const std::shared_ptr<const language::Specification>& specification() {
  static const auto spec = language::Specification::load({}).value();
  return spec;
}

Result<Graph> load(const std::string& name) {
  OnnxImportOptions options;
  options.is_defined = [](std::string_view op, std::int64_t version) {
    if (specification()->find(op, version)) return Definedness::Defined;
    return specification()->has(op) ? Definedness::UnknownVersion : Definedness::UnknownOperator;
  };
  return import_onnx((Folder / name / "model.onnx").string(), options);
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(Folder))
    if (fs::exists(entry.path() / "case.json")) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<ElementType> declared(const Graph& g, ValueId id) { return g.values[static_cast<std::size_t>(id)].type; }

Case read_case(const std::string& name, const Graph& g) {
  Case c;
  c.name = name;
  const auto j = nlohmann::json::parse(std::ifstream(Folder / name / "case.json"));
  c.tolerance = j.at("tolerance").at("class");
  c.value = j.at("tolerance").value("value", 0.0);
  for (std::size_t k = 0; k < g.inputs.size(); ++k) {
    const fs::path file = Folder / name / fmt::format("input_{}.npy", k);
    if (fs::exists(file)) c.inputs.push_back(read_tensor(file.string(), declared(g, g.inputs[k])).value());
    else c.inputs.push_back({});
  }
  for (std::size_t k = 0; k < g.outputs.size(); ++k) {
    c.expected.emplace_back();
    for (int alternative = 0;; ++alternative) {
      const fs::path file = Folder / name / (alternative ? fmt::format("expected_{}_alt{}.npy", k, alternative) : fmt::format("expected_{}.npy", k));
      if (!fs::exists(file)) break;
      c.expected[k].push_back(read_tensor(file.string(), declared(g, g.outputs[k])).value());
    }
  }
  return c;
}

// Steps between neighbouring floats, -0 and +0 being one.
std::uint64_t steps(ElementType t, Bits a, Bits b) {
  const Bits sign = Bits{1} << (bits_of(t) - 1);
  auto place = [&](Bits x) { return x & sign ? -static_cast<std::int64_t>(x & ~sign) : static_cast<std::int64_t>(x); };
  const std::int64_t d = place(a) - place(b);
  return static_cast<std::uint64_t>(d < 0 ? -d : d);
}

// What is wrong with `got` as this alternative, or nothing.
std::string difference(const Case& c, const Tensor& got, const Tensor& want) {
  if (got.type() != want.type()) return fmt::format("holds {}; {} is right", name_of(got.type()), name_of(want.type()));
  if (got.extents() != want.extents()) return fmt::format("has extents {}; {} are right", to_string(got.extents()), to_string(want.extents()));
  const ElementType t = want.type();
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const Bits a = got.at(i), b = want.at(i);
    if (is_float(t) && is_nan(t, a) && is_nan(t, b)) continue;
    bool same = a == b;
    if (!same && is_float(t) && !is_nan(t, a) && !is_nan(t, b)) {
      if (c.tolerance == "abs") same = std::abs(to_double(t, a) - to_double(t, b)) <= c.value;
      if (c.tolerance == "ulp") same = steps(t, a, b) <= static_cast<std::uint64_t>(c.value);
    }
    if (!same)
      return fmt::format("element {} is {} (0x{:x}); right is {} (0x{:x})", i, is_float(t) ? to_double(t, a) : static_cast<double>(to_int64(t, a)), a,
                         is_float(t) ? to_double(t, b) : static_cast<double>(to_int64(t, b)), b);
  }
  return {};
}

class Cases : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, Cases, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

TEST_P(Cases, HaveTheirValueFromBothEvaluators) {
  auto graph = load(GetParam());
  if (NotYet.count(GetParam()) && !graph) return;
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  const auto g = std::make_shared<const Graph>(std::move(*graph));
  const Case c = read_case(GetParam(), *g);
  for (auto [evaluator, title] : {std::pair{interp::Evaluator::Scalar, "scalar"}, std::pair{interp::Evaluator::Block, "block"}}) {
    SCOPED_TRACE(title);
    interp::SessionOptions options;
    options.evaluator = evaluator;
    auto outputs = interp::Session(specification(), g, options).run(c.inputs);
    if (NotYet.count(c.name)) {
      EXPECT_FALSE(outputs.ok()) << "it runs now: take it off the list, and off the README's";
      continue;
    }
    if (c.tolerance == "refuse") {
      ASSERT_FALSE(outputs.ok()) << "it must be refused";
      EXPECT_EQ(outputs.error().kind, ErrorKind::Requirement) << to_string(outputs.error());
      continue;
    }
    if (c.tolerance == "any" && !outputs.ok()) {
      EXPECT_EQ(outputs.error().kind, ErrorKind::Requirement) << to_string(outputs.error());
      continue;
    }
    ASSERT_TRUE(outputs.ok()) << to_string(outputs.error());
    ASSERT_EQ(outputs->size(), c.expected.size());
    if (c.tolerance == "any") continue;
    for (std::size_t k = 0; k < outputs->size(); ++k) {
      if (c.expected[k].empty()) continue;
      std::string wrong;
      for (const Tensor& want : c.expected[k]) {
        const std::string d = difference(c, (*outputs)[k], want);
        if (d.empty()) {
          wrong.clear();
          break;
        }
        wrong += "\n  " + d;
      }
      EXPECT_EQ(wrong, "") << "output " << k;
    }
  }
}

// A right value conforms, whichever of the alternatives it is. (For `any` and `refuse` there is no value to ask about.)
TEST_P(Cases, HaveExpectedValuesThatAreAllowed) {
  auto graph = load(GetParam());
  if (!graph || NotYet.count(GetParam())) return;
  const auto g = std::make_shared<const Graph>(std::move(*graph));
  const Case c = read_case(GetParam(), *g);
  if (c.tolerance == "any" || c.tolerance == "refuse") return;
  std::size_t most = 0;
  for (const auto& alternatives : c.expected) most = std::max(most, alternatives.size());
  diff::CheckOptions options;
  options.profile = *interp::profile_named("standard");
  for (std::size_t a = 0; a < most; ++a) {
    std::vector<std::optional<Tensor>> given;
    for (const auto& alternatives : c.expected) {
      ASSERT_FALSE(alternatives.empty());
      given.push_back(alternatives[std::min(a, alternatives.size() - 1)]);
    }
    auto m = diff::check_outputs(specification(), g, interp::as_data(c.inputs), interp::as_data(given), options);
    ASSERT_TRUE(m.ok()) << to_string(m.error());
    const bool sharper = a > 0 && Sharper.count(c.name);
    EXPECT_EQ(diff::exit_status(m->whole.verdict), sharper ? 1 : TooWide.count(c.name) ? 3 : 0) << "alternative " << a << ": " << m->whole.reason;
  }
}

TEST(CasesThatDoNotRunYet, AreAmongTheCases) {
  const auto all = names();
  EXPECT_GE(all.size(), 51u);
  for (const auto& [name, reason] : Sharper) EXPECT_TRUE(std::binary_search(all.begin(), all.end(), name)) << name;
  for (const auto& [name, reason] : NotYet) EXPECT_TRUE(std::binary_search(all.begin(), all.end(), name)) << name;
}

}  // namespace
}  // namespace ulpian
