#include "tools/ulpian/inputs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "interp/tensors/npy.h"
#include "interp/tensors/tensor_file.h"
#include "spec/core/file.h"
#include "spec/import/onnx/tensor_proto.h"
#include "tools/ulpian/command.h"

namespace ulpian::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* Endings[] = {".npy", ".pb"};

Diagnostic wrong(ErrorKind kind, std::string message, std::string hint = {}) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.hint = std::move(hint);
  return d;
}

// The number that a file of a sequence's folder is named by.
std::optional<std::size_t> item_number(const fs::path& file) {
  const std::string stem = file.stem().string(), ending = file.extension().string();
  std::size_t n = 0;
  const auto [end, ec] = std::from_chars(stem.data(), stem.data() + stem.size(), n);
  const bool canonical = ec == std::errc() && end == stem.data() + stem.size() && std::to_string(n) == stem;
  return canonical && (ending == Endings[0] || ending == Endings[1]) ? std::optional(n) : std::nullopt;
}

Result<Datum> read_folder(const std::string& path, const GraphValue& declared, std::int64_t memory_limit) {
  if (!declared.is_sequence) return wrong(ErrorKind::Input, fmt::format("{} is a folder, which stands for a sequence; the model declares a tensor for \"{}\"", path, declared.name));
  std::size_t count = 0;
  std::error_code ec;
  for (fs::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
    if (!item_number(it->path())) return wrong(ErrorKind::Input, fmt::format("{} is no tensor of a sequence", it->path().string()), "a sequence's folder holds 0.npy, 1.npy, ... (or .pb), and nothing else");
    ++count;
  }
  if (ec) return wrong(ErrorKind::Input, fmt::format("{} cannot be read: {}", path, ec.message()));
  Datum::Sequence out{declared.type.value_or(ElementType::F32), {}};
  for (std::size_t k = 0; k < count; ++k) {
    const std::string file = find_value(path, std::to_string(k));
    if (file.empty()) return wrong(ErrorKind::Input, fmt::format("{} holds {} files, but no {}.npy or .pb", path, count, k));
    auto t = read_tensor(file, out.items.empty() ? declared.type : out.type, memory_limit);
    if (!t) return std::move(t).error();
    memory_limit -= static_cast<std::int64_t>(t->bytes().size());
    out.type = t->type();
    out.items.push_back(std::move(*t));
  }
  return Datum(std::move(out));
}

// The '=' after the longest name that the model has: names and paths may hold others. Else the first.
std::size_t mark_after_name(const std::string& entry, const Graph& graph) {
  std::size_t mark = entry.find('='), longest = 0;
  for (ValueId id : graph.inputs)
    if (const std::string& name = graph.values[static_cast<std::size_t>(id)].name; name.size() >= longest && entry.starts_with(name + "=")) longest = mark = name.size();
  return mark;
}

}  // namespace

std::string find_value(const std::string& folder, const std::string& stem) {
  std::error_code ec;
  for (const char* ending : Endings)
    if (const fs::path p = fs::path(folder) / (stem + ending); fs::exists(p, ec)) return p.string();
  const fs::path p = fs::path(folder) / stem;
  return fs::is_directory(p, ec) ? p.string() : std::string();
}

Result<Datum> read_value(const std::string& path, const GraphValue& declared, std::int64_t memory_limit) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return read_folder(path, declared, memory_limit);
  const bool protobuf = path.ends_with(".pb") && (declared.is_sequence || declared.is_optional);
  if (!protobuf) {
    if (declared.is_sequence) return wrong(ErrorKind::Input, fmt::format("{} holds a tensor; the model declares a sequence for \"{}\"", path, declared.name), "give a folder with 0.npy, 1.npy, ..., or a .pb file");
    auto t = read_tensor(path, declared.type, memory_limit);
    if (!t) return std::move(t).error();
    return Datum(std::move(*t));
  }
  auto bytes = read_file(path, INT32_MAX);
  if (!bytes) return std::move(bytes).error();
  const ElementType type = declared.type.value_or(ElementType::F32);
  auto value = declared.is_optional ? parse_optional_proto(*bytes, path, type, declared.is_sequence, memory_limit) : parse_sequence_proto(*bytes, path, type, memory_limit);
  if (!value) return std::move(value).error();
  return std::move(value->value);
}

Result<std::vector<Datum>> read_inputs(const Graph& graph, const std::string& folder, const std::vector<std::string>& named, std::int64_t memory_limit) {
  std::vector<std::string> files(graph.inputs.size());
  if (!folder.empty()) {
    std::error_code ec;
    if (!fs::is_directory(folder, ec)) return wrong(ErrorKind::Input, fmt::format("{} is no folder", folder));
    for (std::size_t k = 0; k < files.size(); ++k) files[k] = find_value(folder, fmt::format("input_{}", k));
    const std::string extra = find_value(folder, fmt::format("input_{}", files.size()));
    if (!extra.empty()) return wrong(ErrorKind::Input, fmt::format("{} exists, but the model takes {} inputs", extra, files.size()));
  }
  std::set<std::string> given;
  for (const std::string& entry : named) {
    const std::size_t mark = mark_after_name(entry, graph);
    if (mark == std::string::npos) return wrong(ErrorKind::Usage, fmt::format("--input {}: NAME=FILE is needed", entry));
    const std::string name = entry.substr(0, mark);
    auto it = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) { return graph.values[static_cast<std::size_t>(id)].name == name; });
    if (it == graph.inputs.end()) {
      std::string all;
      for (ValueId id : graph.inputs) all += (all.empty() ? "" : ", ") + graph.values[static_cast<std::size_t>(id)].name;
      return wrong(ErrorKind::Usage, fmt::format("the model has no input \"{}\"", name), "its inputs are " + all);
    }
    if (mark + 1 == entry.size()) return wrong(ErrorKind::Usage, fmt::format("--input {}: the file's name is empty", entry));
    if (!given.insert(name).second) return wrong(ErrorKind::Usage, fmt::format("--input is given twice for \"{}\"", name));
    files[static_cast<std::size_t>(it - graph.inputs.begin())] = entry.substr(mark + 1);
  }
  std::vector<Datum> out(files.size());
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (files[k].empty()) continue;
    auto v = read_value(files[k], graph.values[static_cast<std::size_t>(graph.inputs[k])], memory_limit);
    if (!v) return before_running(std::move(v).error());
    out[k] = std::move(*v);
  }
  return out;
}

Status make_folder(const std::string& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (!ec && fs::is_directory(folder)) return success();
  return wrong(ErrorKind::Input, fmt::format("the folder {} cannot be made: {}", folder, ec ? ec.message() : "something else has its name"));
}

Status remove_value(const std::string& folder, const std::string& stem) {
  std::error_code ec;
  if (const fs::path file = fs::path(folder) / (stem + ".npy"); fs::is_regular_file(file, ec)) fs::remove(file, ec);
  const fs::path items = fs::path(folder) / stem;
  if (!fs::is_directory(items, ec)) return success();
  // Only what such a folder holds: somebody's own files are no one else's to remove.
  std::vector<fs::path> files;
  for (fs::directory_iterator it(items, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (it->path().extension() != ".npy" || !item_number(name.substr(0, name.find('.')) + ".npy")) return wrong(ErrorKind::Input, fmt::format("{} is in the way of a sequence's tensors", it->path().string()));
    files.push_back(it->path());
  }
  for (const fs::path& file : files) fs::remove(file, ec);
  fs::remove(items, ec);
  return success();
}

Result<std::string> sequence_folder(const std::string& folder, const std::string& stem) {
  if (Status s = remove_value(folder, stem); !s) return s.error();
  const std::string items = (fs::path(folder) / stem).string();
  if (Status s = make_folder(items); !s) return s.error();
  return items;
}

Status write_value(const std::string& folder, const std::string& stem, const Datum& value) {
  if (!value.sequence()) {
    if (Status s = remove_value(folder, stem); !s) return s;
    return value.is_present() ? write_npy((fs::path(folder) / (stem + ".npy")).string(), *value.tensor()) : success();
  }
  auto items = sequence_folder(folder, stem);
  if (!items) return items.error();
  for (std::size_t j = 0; j < value.count(); ++j)
    if (Status s = write_npy((fs::path(*items) / fmt::format("{}.npy", j)).string(), value.part(j)); !s) return s;
  return success();
}

}  // namespace ulpian::tools
