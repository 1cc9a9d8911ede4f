#include "tools/ulpian/inputs.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "interp/tensors/tensor_file.h"
#include "tools/ulpian/command.h"

namespace ulpian::tools {
namespace {

namespace fs = std::filesystem;

Diagnostic wrong(ErrorKind kind, std::string message, std::string hint = {}) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.hint = std::move(hint);
  return d;
}

}  // namespace

std::string find_tensor_file(const std::string& folder, const std::string& stem) {
  for (const char* ending : {".npy", ".pb"}) {
    const fs::path p = fs::path(folder) / (stem + ending);
    std::error_code ec;
    if (fs::exists(p, ec)) return p.string();
  }
  return {};
}

Result<std::vector<std::optional<Tensor>>> read_inputs(const Graph& graph, const std::string& folder, const std::vector<std::string>& named,
                                                       std::int64_t memory_limit) {
  std::vector<std::string> files(graph.inputs.size());
  if (!folder.empty()) {
    std::error_code ec;
    if (!fs::is_directory(folder, ec)) return wrong(ErrorKind::Input, fmt::format("{} is no folder", folder));
    for (std::size_t k = 0; k < files.size(); ++k) files[k] = find_tensor_file(folder, fmt::format("input_{}", k));
    const std::string extra = find_tensor_file(folder, fmt::format("input_{}", files.size()));
    if (!extra.empty()) return wrong(ErrorKind::Input, fmt::format("{} exists, but the model takes {} inputs", extra, files.size()));
  }
  for (const std::string& entry : named) {
    const std::size_t mark = entry.find('=');
    if (mark == std::string::npos) return wrong(ErrorKind::Usage, fmt::format("--input {}: NAME=FILE is needed", entry));
    const std::string name = entry.substr(0, mark);
    auto it = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) { return graph.values[static_cast<std::size_t>(id)].name == name; });
    if (it == graph.inputs.end()) {
      std::string all;
      for (ValueId id : graph.inputs) all += (all.empty() ? "" : ", ") + graph.values[static_cast<std::size_t>(id)].name;
      return wrong(ErrorKind::Usage, fmt::format("the model has no input \"{}\"", name), "its inputs are " + all);
    }
    files[static_cast<std::size_t>(it - graph.inputs.begin())] = entry.substr(mark + 1);
  }
  std::vector<std::optional<Tensor>> out(files.size());
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (files[k].empty()) continue;
    const GraphValue& v = graph.values[static_cast<std::size_t>(graph.inputs[k])];
    auto t = read_tensor(files[k], v.type, memory_limit);
    if (!t) return before_running(std::move(t).error());
    out[k] = std::move(*t);
  }
  return out;
}

}  // namespace ulpian::tools
