#include "tools/ulpian/explanations.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "diff/explain/explain.h"
#include "interp/tensors/npy.h"
#include "spec/core/file.h"
#include "spec/import/onnx/export_onnx.h"
#include "tools/ulpian/inputs.h"
#include "tools/ulpian/printable.h"

namespace ulpian::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MostExplained = 64;  // of one check

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=,@%") == std::string::npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// `onnx.Conv` as `Conv`, fit for a folder's name.
std::string short_name(const std::string& op) {
  std::string out = op.substr(op.rfind('.') == std::string::npos ? 0 : op.rfind('.') + 1).substr(0, 40);
  std::replace_if(out.begin(), out.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return out;
}

class Writing {
public:
  Writing(const std::shared_ptr<const language::Specification>& specification, const diff::CheckOptions& options, const ExplainOptions& how, Explanations& out)
      : specification_(specification), options_(options), how_(how), out_(out) {}

  Status one(const std::shared_ptr<const diff::Exhibit>& exhibit, const std::string& name, const std::string& what, const diff::Verdict& v) {
    if (!exhibit || out_.count(exhibit.get()) || written_ >= MostExplained) return success();
    ++written_;
    Explained e;
    e.folder = (fs::path(how_.folder) / (how_.prefix + name)).string();
    if (Status s = model(e, *exhibit); !s) return s;
    if (Status s = script(e, *exhibit, what, v); !s) return s;
    out_.emplace(exhibit.get(), std::move(e));
    return success();
  }

private:
  std::string in(const Explained& e, const std::string& file) const { return (fs::path(e.folder) / file).string(); }

  Status model(Explained& e, const diff::Exhibit& exhibit) {
    const std::string inputs = in(e, "inputs"), outputs = in(e, "outputs"), file = in(e, "model.onnx");
    for (const std::string& folder : {e.folder, inputs, outputs})
      if (Status s = make_folder(folder); !s) return s;
    auto bytes = export_onnx(*exhibit.graph);
    if (!bytes) {
      e.note = "it cannot be a model of its own: " + bytes.error().message;
      return success();
    }
    if (Status s = write_file(file, std::string_view(*bytes)); !s) return s;
    for (std::size_t k = 0; k < exhibit.inputs.size(); ++k)
      if (Status s = write_value(inputs, fmt::format("input_{}", k), exhibit.inputs[k]); !s) return s;
    for (std::size_t k = 0; k < exhibit.outputs.size(); ++k)
      if (Status s = write_value(outputs, fmt::format("output_{}", k), exhibit.outputs[k]); !s) return s;
    e.command = fmt::format("ulpian check {} --inputs {} --outputs {}", quoted(file), quoted(inputs), quoted(outputs));
    for (const std::string& word : how_.more) e.command += " " + quoted(word);
    return success();
  }

  Status script(Explained& e, const diff::Exhibit& exhibit, const std::string& what, const diff::Verdict& v) {
    const auto tell = [&](const std::string& note) { e.note += (e.note.empty() ? "" : "; ") + note; };
    if (!v.witness) {
      tell("no script: the fault is not that of one element");
      return success();
    }
    const diff::Witness& w = *v.witness;
    std::vector<std::string> title{one_line(fmt::format("{}: \"{}\"{}", what, w.output_name, w.index.empty() ? "" : to_string(w.index)))};
    if (w.clause) title.push_back(one_line(fmt::format("by {}:{}: {}", w.clause->place.file, w.clause->place.line, w.clause->text.substr(0, 200))));
    title.push_back(one_line("the profile: " + options_.profile.name()));
    if (!e.command.empty()) title.push_back(one_line("repeated by: " + e.command));
    auto made = diff::explain(specification_, exhibit, v, options_, title);
    if (!made) {
      tell("no script: " + made.error().message);
      return success();
    }
    for (const auto& [name, tensor] : made->files)
      if (Status s = write_npy(in(e, name), tensor); !s) return s;
    e.script = in(e, "show.py");
    if (!made->gaps.empty()) tell(made->gaps);
    return write_file(e.script, std::string_view(made->script));
  }

  const std::shared_ptr<const language::Specification>& specification_;
  const diff::CheckOptions& options_;
  const ExplainOptions& how_;
  Explanations& out_;
  std::size_t written_ = 0;
};

}  // namespace

Status write_explanations(const std::shared_ptr<const language::Specification>& specification, const diff::ModelCheck& check, const diff::CheckOptions& options, const ExplainOptions& how,
                          Explanations& out) {
  Writing writing(specification, options, how, out);
  const auto titled = [](const std::string& op, const std::string& name, const std::string& place) {
    return fmt::format("{}{} ({})", op, name.empty() ? "" : " \"" + name + "\"", place);
  };
  for (const diff::NodeCheck& n : check.nodes) {
    const std::string folder = fmt::format("node_{}_{}", n.node, short_name(n.op));
    // Where its operators inside are at fault, the witness is theirs.
    for (std::size_t k = 0; k < n.inside.size(); ++k) {
      const diff::InnerCheck& i = n.inside[k];
      if (Status s = writing.one(i.exhibit, fmt::format("{}_inside_{}_{}", folder, k, short_name(i.op)), titled(i.op, i.name, i.place) + ", " + i.where, i.verdict); !s) return s;
    }
    if (n.inside.empty())
      if (Status s = writing.one(n.exhibit, folder, titled(n.op, n.name, n.place), n.verdict); !s) return s;
  }
  for (const diff::RegionCheck& r : check.regions)
    if (Status s = writing.one(r.exhibit, fmt::format("region_{}", r.nodes.empty() ? 0 : r.nodes.front()), r.operators, r.verdict); !s) return s;
  return writing.one(check.exhibit, "model", check.exhibit && check.exhibit->graph->nodes.size() == 1 ? check.exhibit->graph->nodes[0].op : "the model", check.whole);
}

}  // namespace ulpian::tools
