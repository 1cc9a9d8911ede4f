#include "diff/explain/explain.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "diff/check/expectation.h"
#include "diff/check/programs.h"
#include "diff/explain/python.h"
#include "diff/explain/runtime.h"
#include "interp/session/call.h"
#include "interp/session/graph_host.h"
#include "spec/core/cut.h"

namespace ulpian::diff {
namespace {

constexpr std::int64_t MostEmbedded = 64;  // elements of one tensor in the script's text
constexpr std::size_t MostReadings = 16;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

std::set<std::string> names_of_runtime() {
  std::set<std::string> out{"INF", "operator", "reading"};
  for (const std::string_view text : runtime())
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      std::string_view line = text.substr(from, end - from);
      from = end + 1;
      for (const std::string_view word : {"def ", "class ", "import "})
        if (line.starts_with(word)) line.remove_prefix(word.size());
      // Of `A, B = ...` each.
      std::string name;
      for (char c : line) {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
          name += c;
          continue;
        }
        if (!name.empty()) out.insert(name);
        name.clear();
        if (c != ',' && c != ' ') break;
      }
    }
  return out;
}

class Writer {
public:
  Writer(const std::shared_ptr<const language::Specification>& specification, const Exhibit& exhibit, const Verdict& verdict, const CheckOptions& options)
      : specification_(specification), exhibit_(exhibit), graph_(*exhibit.graph), witness_(*verdict.witness), options_(options), judging_(specification, options),
        reserved_(names_of_runtime()), values_(graph_.values.size()) {}

  Result<Explanation> write(const std::vector<std::string>& title) {
    if (Status s = graph_.nodes.size() == 1 && !has_body(graph_.nodes[0]) ? single() : region(); !s) return s.error();
    std::string text = "#!/usr/bin/env python3\n# Shows one element of an answer that Ulpian calls a violation. Needs NumPy and mpmath, and nothing of Ulpian's:\n"
                       "# `python3 show.py` says what the element is over the reals and all that it may be, and ends with status 0 if the\n"
                       "# answer is none of that, else with 1. `python3 show.py 0x3f800000` asks the same of another answer, by its bits.\n";
    for (const std::string& line : title) text += "# " + line + "\n";
    text += fmt::format("\nTITLE = {}\n", python_text(fmt::format("{}", fmt::join(title, "\n")), true));
    text = data_of(std::move(text));
    text += "\n\n# --- the definition\n\n" + definitions_;
    for (const std::string_view part : runtime()) text += "\n\n" + std::string(part);
    text += "\n\nif __name__ == \"__main__\":\n    run()\n";
    out_.script = std::move(text);
    if (!gaps_.empty()) out_.gaps = fmt::format("not translated: {}", fmt::join(gaps_, ", "));
    return std::move(out_);
  }

private:
  std::string data_of(std::string text) const {
    const auto bits = [&](Bits b) { return fmt::format("0x{:0{}x}", b, std::max(1, (bits_of(witness_.type) + 3) / 4)); };
    std::string set, ulps;
    for (const interp::Interval& p : witness_.set) set += fmt::format("{}({}, {})", set.empty() ? "" : ", ", bits(p.lower), bits(p.upper));
    for (const auto& [key, k] : ulps_) ulps += fmt::format("{}(\"{}\", \"{}\"): {}", ulps.empty() ? "" : ", ", key.first, key.second, k);
    text += fmt::format("TYPE = \"{}\"\n", python_type(witness_.type));
    text += fmt::format("INDEX = {}\n", python_extents(witness_.index));
    text += fmt::format("GOT = {}\n", bits(witness_.got));
    text += fmt::format("\n# What Ulpian says is allowed, to compare: intervals by the bits of their ends, whether NaN, whether a zero of either sign.\nSET, SET_NAN, SET_ZEROS = [{}], {}, {}\n", set,
                        witness_.set_nan ? "True" : "False", witness_.set_zeros ? "True" : "False");
    text += fmt::format("\n# The profile \"{}\": errors in ULP that are more than a correct rounding's, an absolute error of functions, formulas of activations.\n", options_.profile.name());
    text += fmt::format("ULPS = {{{}}}\nFUNCTION_ERROR = {}\nBODIES = {}\nNOT_BOUNDED = {}\nUNORDERED = {}\n", ulps, options_.profile.function_error(),
                        options_.profile.admits(interp::Freedom::Bodies) ? "True" : "False", python_text(not_bounded()), python_extents(Extents(unordered_.begin(), unordered_.end())));
    return text;
  }

  // Why the script does not find what is admitted.
  std::string not_bounded() const {
    if (options_.profile.exactly_canonical()) return "the profile admits the canonical value alone";
    std::string deviations;
    for (int k = static_cast<int>(interp::FirstDeviation); k < interp::FreedomCount; ++k)
      if (const auto f = static_cast<interp::Freedom>(k); options_.profile.admits_somewhere(f)) deviations += fmt::format("{}{}", deviations.empty() ? "" : ", ", interp::name_of(f));
    if (!deviations.empty()) return "the profile admits " + deviations + " besides";
    return not_bounded_;
  }

  // --- values
  std::string elements(const Tensor& t, const std::string& name) {
    if (t.type() == ElementType::String) {
      std::string out;
      for (const std::string& s : t.strings()) out += (out.empty() ? "" : ", ") + python_text(s);
      return "[" + out + "]";
    }
    if (is_complex(t.type())) {
      gaps_.insert("complex numbers");
      return "[]";
    }
    if (t.size() > MostEmbedded) {
      const auto [known, fresh] = files_.try_emplace(t.bytes().data(), fmt::format("values_{}_{}.npy", out_.files.size(), name.substr(0, 40)));
      if (fresh) {
        std::string& file = known->second;
        std::replace_if(file.begin(), file.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_'; }, '_');
        out_.files.emplace_back(file, t);
      }
      return python_text(known->second);
    }
    std::string out;
    for (std::int64_t k = 0; k < t.size(); ++k) out += fmt::format("{}0x{:x}", k ? ", " : "", t.at(k));
    return "[" + out + "]";
  }

  void bind_values() {
    for (const auto& [id, tensor] : graph_.constants) values_[at(id)] = tensor;
    for (std::size_t k = 0; k < exhibit_.inputs.size(); ++k)
      if (exhibit_.inputs[k].is_present()) values_[at(graph_.inputs[k])] = exhibit_.inputs[k];
  }

  Data arguments_of(const Node& node) const {
    Data out(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != AbsentValue) out[k] = values_[at(node.inputs[k])];
    return out;
  }

  // --- programs
  PythonProgram translated(const core::Program& p, const MaybeTensors& arguments, const std::string& name, std::vector<bool> wanted) {
    std::vector<std::optional<core::InputShape>> shapes;
    for (const auto& t : arguments) shapes.push_back(t ? std::optional(core::InputShape{t->type(), t->extents()}) : std::nullopt);
    core::Sizes sizes(p.sizes.size());
    (void)core::bind_inputs(p, shapes, sizes);
    PythonOptions options;
    options.function = name;
    options.reserved = &reserved_;
    options.elements = [this](const Tensor& t, const std::string& n) { return elements(t, n); };
    options.wanted = std::move(wanted);
    PythonProgram out = to_python(p, sizes, options);
    gaps_.insert(out.gaps.begin(), out.gaps.end());
    note_errors(p);
    return out;
  }

  void note_errors(const core::Program& p) {
    for (const core::Term& t : p.terms) {
      if (t.kind != core::TermKind::Primitive || !(is_float(t.type) || t.type == ElementType::R)) continue;
      const auto primitive = static_cast<Primitive>(t.operation);
      const ElementType type = is_float(t.type) ? t.type : ElementType::F32;
      const interp::FunctionError error = options_.profile.error(primitive, type);
      if (error.ulps != 0.5) ulps_[{std::string(name_of(primitive)), std::string(name_of(type))}] = error.ulps;
      if (error.per_argument != 0 || error.absolute > options_.profile.function_error()) not_bounded_ = fmt::format("the profile's error of {} is more than a number of ULP", name_of(primitive));
    }
  }

  std::string given(const std::string& variable, const std::string& name, const Tensor& t) {
    return fmt::format("    {} = Given({}, {}, {}, {})\n", variable, python_text(name), python_type(t.type()), python_extents(t.extents()), elements(t, name));
  }

  Status single() {
    bind_values();
    const Node& node = graph_.nodes[0];
    const interp::Makers makers(graph_);
    const Data arguments = arguments_of(node);
    const MaybeTensors flat = interp::flattened(std::span<const Datum>(arguments));
    auto first = interp::Call::make(*specification_, makers, node, arguments);
    if (!first) return first.error();
    std::vector<std::vector<std::uint8_t>> readings{{}};
    auto [others, all] = other_readings((*first)->program().static_choices);
    if (!all || others.size() >= MostReadings) not_bounded_ = "the definition leaves too many readings open";
    else readings.insert(readings.end(), others.begin(), others.end());
    std::string list;
    for (std::size_t r = 0; r < readings.size(); ++r) {
      auto call = r == 0 ? first : interp::Call::make(*specification_, makers, node, arguments, interp::Evaluator::Block, readings[r]);
      if (!call) return call.error();
      const core::Program& p = (*call)->program();
      if (witness_.output >= p.outputs.size()) return no_element();
      std::vector<bool> wanted(p.outputs.size());
      wanted[witness_.output] = true;
      unordered_ = p.unordered_axes;
      const std::string number = readings.size() > 1 ? fmt::format("_{}", r) : std::string();
      const PythonProgram code = translated(p, flat, "operator" + number, std::move(wanted));
      std::string text = fmt::format("def reading{}():\n", number), names;
      for (std::size_t k = 0; k < code.inputs.size(); ++k) {
        const bool present = k < flat.size() && flat[k] && p.inputs[k] != core::None;
        if (present) text += given(code.inputs[k], p.tensor(p.inputs[k]).name, *flat[k]);
        names += (k ? ", " : "") + (present ? code.inputs[k] : "None");
      }
      text += fmt::format("    return operator{}({})[{}]\n", number, names, witness_.output);
      definitions_ += (r ? "\n\n" : "") + code.text + "\n\n" + text;
      list += (r ? ", reading" : "reading") + number;
    }
    definitions_ += fmt::format("\n\nREADINGS = lambda: [{}]\n", list);
    return success();
  }

  Diagnostic no_element() const {
    Diagnostic d;
    d.kind = ErrorKind::Unsupported;
    d.message = "the output is none of the definition's tensors";
    return d;
  }

  // Several operators, each on what those before it give.
  Status region() {
    bind_values();
    // Which nodes the output hangs on.
    std::size_t output = 0, part = witness_.output;
    for (; output < graph_.outputs.size() && output < exhibit_.outputs.size() && part >= exhibit_.outputs[output].count(); ++output) part -= exhibit_.outputs[output].count();
    if (output >= graph_.outputs.size()) return no_element();
    std::vector<bool> asked(graph_.values.size());
    asked[at(graph_.outputs[output])] = true;
    std::vector<bool> used(graph_.nodes.size());
    const auto reads = reads_of_nodes(graph_);
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      used[n] = std::ranges::any_of(graph_.nodes[n].outputs, [&](ValueId id) { return id != AbsentValue && asked[at(id)]; });
      for (ValueId id : reads[n]) asked[at(id)] = asked[at(id)] || used[n];
    }
    const interp::Makers makers(graph_);
    std::string text = "def reading():\n";
    std::map<std::pair<ValueId, std::size_t>, std::string> names;  // by value and place in a sequence
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!used[n]) continue;
      const Node& node = graph_.nodes[n];
      if (has_body(node)) {
        gaps_.insert("graphs that operators hold");
        text += "    cannot(\"graphs that operators hold\")\n";
        definitions_ += text + "\n\nREADINGS = lambda: [reading]\n";
        return success();
      }
      if (Status s = step(makers, node, n, asked, names, text); !s) return s;
    }
    const auto it = names.find({graph_.outputs[output], part});
    if (it == names.end()) return no_element();
    definitions_ += text + fmt::format("    return {}\n\n\nREADINGS = lambda: [reading]\n", it->second);
    return success();
  }

  Status step(const interp::Makers& makers, const Node& node, std::size_t n, const std::vector<bool>& asked, std::map<std::pair<ValueId, std::size_t>, std::string>& names, std::string& text) {
    const Data arguments = arguments_of(node);
    const MaybeTensors flat = interp::flattened(std::span<const Datum>(arguments));
    auto call = interp::Call::make(*specification_, makers, node, arguments);
    if (!call) return call.error();
    const core::Program& p = (*call)->program();
    if (!p.unordered_axes.empty()) not_bounded_ = "an operator among several leaves an order open";
    if (!other_readings(p.static_choices).choices.empty()) not_bounded_ = "operators among several leave readings open";
    auto results = (*call)->run(flat, judging_.limits(options_.node_seconds));
    if (!results) return results.error();
    Data made = interp::results_of(p, std::move(*results));
    std::vector<bool> wanted(p.outputs.size());
    const auto first_of = [&](std::size_t k) { return p.results.empty() ? k : static_cast<std::size_t>(p.results[k].first); };
    for (std::size_t k = 0; k < node.outputs.size() && k < made.size(); ++k)
      if (node.outputs[k] != AbsentValue && asked[at(node.outputs[k])])
        for (std::size_t j = 0; j < made[k].count(); ++j) wanted[first_of(k) + j] = true;
    const std::string function = fmt::format("operator_{}", n);
    const PythonProgram code = translated(p, flat, function, std::move(wanted));
    definitions_ += code.text + "\n\n";
    std::string list;
    std::size_t place = 0;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::size_t count = arguments[k].is_present() ? arguments[k].count() : 1;
      for (std::size_t j = 0; j < count; ++j, ++place) {
        std::string name = "None";
        if (node.inputs[k] != AbsentValue && arguments[k].is_present() && place < p.inputs.size() && p.inputs[place] != core::None) {
          auto [known, fresh] = names.try_emplace({node.inputs[k], j});
          if (fresh) {
            known->second = fmt::format("given_{}", names.size());
            text += given(known->second, graph_.values[at(node.inputs[k])].name, arguments[k].part(j));
          }
          name = known->second;
        }
        list += (list.empty() ? "" : ", ") + name;
      }
    }
    text += fmt::format("    made_{} = {}({})  # {}\n", n, function, list, node.op);
    for (std::size_t k = 0; k < node.outputs.size() && k < made.size(); ++k) {
      if (node.outputs[k] == AbsentValue || !made[k].is_present()) continue;
      for (std::size_t j = 0; j < made[k].count(); ++j) names[{node.outputs[k], j}] = fmt::format("made_{}[{}]", n, first_of(k) + j);
      values_[at(node.outputs[k])] = std::move(made[k]);
    }
    return success();
  }

  const std::shared_ptr<const language::Specification>& specification_;
  const Exhibit& exhibit_;
  const Graph& graph_;
  const Witness& witness_;
  const CheckOptions& options_;
  Judging judging_;
  std::set<std::string> reserved_;
  Data values_;
  std::map<const std::byte*, std::string> files_;
  std::map<std::pair<std::string, std::string>, double> ulps_;
  std::set<std::string> gaps_;
  std::vector<std::int64_t> unordered_;
  std::string not_bounded_, definitions_;
  Explanation out_;
};

}  // namespace

Result<Explanation> explain(const std::shared_ptr<const language::Specification>& specification, const Exhibit& exhibit, const Verdict& verdict, const CheckOptions& options,
                            const std::vector<std::string>& title) {
  ensure(verdict.witness.has_value());
  return Writer(specification, exhibit, verdict, options).write(title);
}

}  // namespace ulpian::diff
