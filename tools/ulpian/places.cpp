#include "tools/ulpian/places.h"

#include <cstdlib>
#include <filesystem>

#include "spec/core/file.h"
#include "spec/import/onnx/export_onnx.h"
#include "spec/import/onnx/import_onnx.h"

namespace ulpian::tools {
namespace {

namespace fs = std::filesystem;

std::string own_path() {
  std::error_code ec;
  const fs::path p = fs::read_symlink("/proc/self/exe", ec);
  return ec ? std::string("ulpian") : p.string();
}

// The repository that this program was built in; ULPIAN_HOME moves it.
fs::path home() {
  if (const char* h = std::getenv("ULPIAN_HOME")) return h;
  return ULPIAN_SOURCE_DIR;
}

}  // namespace

Result<diff::Registry> load_registry(const std::vector<std::string>& user_files, const std::vector<std::string>& spec_files) {
  std::vector<std::string> files{(home() / "diff/backends/backends.json").string()};
  files.insert(files.end(), user_files.begin(), user_files.end());
  diff::CommandWords words;
  words.ulpian = own_path();
  std::error_code ec;
  for (const std::string& file : spec_files) {
    const fs::path absolute = fs::absolute(file, ec);
    words.specs.push_back(ec ? file : absolute.string());
  }
  const fs::path python = home() / ".venv/bin/python";
  if (const char* p = std::getenv("ULPIAN_PYTHON")) words.python = p;
  else if (fs::exists(python, ec)) words.python = python.string();
  return diff::Registry::load(files, words);
}

std::string own_file(const std::string& path) { return (home() / path).string(); }

Result<std::shared_ptr<const std::string>> self_contained_model(const std::string& file, const Graph& graph) {
  auto bytes = read_file(file, std::uint64_t{2} << 30);
  if (!bytes) return std::move(bytes).error();
  // Without its folder a model that keeps data elsewhere does not import.
  OnnxImportOptions alone;
  alone.source = file;
  alone.is_defined = [](std::string_view, std::int64_t) { return Definedness::Defined; };  // that has been looked at
  if (import_onnx(*bytes, alone)) return std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  auto whole = export_onnx(graph);
  if (!whole) return std::move(whole).error();
  return std::make_shared<const std::string>(std::move(*whole));
}

}  // namespace ulpian::tools
