#include "diff/backends/registry.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "diff/backends/frame.h"
#include "diff/backends/json.h"

namespace ulpian::diff {
namespace {

constexpr std::uintmax_t MostFileBytes = 1 << 20;

Diagnostic input_error(const std::string& file, std::string message) {
  return diagnostic(ErrorKind::Input, std::move(message)).in_program(file);
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
  return text;
}

RegisteredBackend decode_backend(const json& entry, const std::string& file, const CommandWords& words) {
  RegisteredBackend out;
  out.file = file;
  out.name = text_of(member(entry, "name"), "\"name\"");
  if (const json* d = optional_member(entry, "description")) out.description = text_of(*d, "\"description\"");
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  for (const json& w : array_of(member(entry, "command"), "\"command\"")) {
    std::string word = text_of(w, "a word of \"command\"");
    if (word == "{specs}") {
      for (const std::string& s : words.specs) out.command.insert(out.command.end(), {"--spec", s});
      continue;
    }
    word = replaced(std::move(word), "{folder}", folder);
    word = replaced(std::move(word), "{python}", words.python);
    out.command.push_back(replaced(std::move(word), "{ulpian}", words.ulpian));
  }
  if (out.name.empty()) throw Malformed{"a backend with an empty name"};
  if (out.command.empty() || out.command.front().empty()) throw Malformed{fmt::format("backend \"{}\" has an empty command", out.name)};
  return out;
}

std::vector<std::string> texts_of(const json* list, const char* what) {
  std::vector<std::string> out;
  if (list)
    for (const json& t : array_of(*list, what)) out.push_back(text_of(t, what));
  return out;
}

KnownFault decode_known(const json& entry) {
  KnownFault out;
  out.backends = texts_of(&member(entry, "backends"), "\"backends\" of a known fault");
  if (const json* v = optional_member(entry, "version")) out.version = text_of(*v, "\"version\"");
  out.verdicts = texts_of(&member(entry, "verdicts"), "\"verdicts\"");
  out.operators = texts_of(optional_member(entry, "operators"), "\"operators\"");
  for (const std::string& t : texts_of(optional_member(entry, "types"), "\"types\"")) {
    const auto type = element_type_named(t);
    if (!type) throw Malformed{fmt::format("a known fault of the unknown element type \"{}\"", t)};
    out.types.push_back(*type);
  }
  out.reason = text_of(member(entry, "reason"), "\"reason\"");
  out.link = text_of(member(entry, "link"), "\"link\"");
  return out;
}

template <class T, class U>
bool is_among(const std::vector<T>& list, const U& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

}  // namespace

bool explains(const KnownFault& fault, std::string_view backend, std::string_view version, const Finding& finding) {
  return is_among(fault.backends, backend) && version.substr(0, fault.version.size()) == fault.version && is_among(fault.verdicts, finding.verdict) &&
         (fault.operators.empty() || is_among(fault.operators, finding.op)) && (fault.types.empty() || (finding.type && is_among(fault.types, *finding.type)));
}

Result<Registry> Registry::load(const std::vector<std::string>& files, const CommandWords& words) {
  Registry registry;
  for (const std::string& file : files) {
    if (Status status = registry.add_file(file, words); !status.ok()) return std::move(status).error();
  }
  return registry;
}

Status Registry::add_file(const std::string& file, const CommandWords& words) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return input_error(file, "the list of backends cannot be read: no such file");
  if (std::filesystem::file_size(file, error) > MostFileBytes) return input_error(file, "the list of backends is longer than 1 MiB");
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream) return input_error(file, "the list of backends cannot be read");
  try {
    const json document = parse_json(text.str());
    for (const json& entry : array_of(member(document, "backends"), "\"backends\"")) {
      RegisteredBackend backend = decode_backend(entry, file, words);
      const auto same = std::find_if(backends_.begin(), backends_.end(), [&](const auto& b) { return b.name == backend.name; });
      if (same == backends_.end()) backends_.push_back(std::move(backend));
      else *same = std::move(backend);
    }
    if (const json* known = optional_member(document, "known"))
      for (const json& entry : array_of(*known, "\"known\"")) known_.push_back(decode_known(entry));
  } catch (const Malformed& e) {
    return input_error(file, e.message).help(R"(a list of backends is {"backends": [{"name": "mine", "command": ["{python}", "{folder}/mine.py"]}]})");
  }
  return success();
}

const RegisteredBackend* Registry::find(std::string_view name) const {
  for (const RegisteredBackend& b : backends_)
    if (b.name == name) return &b;
  return nullptr;
}

Result<std::vector<std::string>> Registry::command_of(std::string_view name_or_command) const {
  if (const RegisteredBackend* b = find(name_or_command)) return b->command;
  auto words = split_command(name_or_command);
  if (!words.ok()) return words;
  // One plain word is more likely a misspelt name than a program that speaks the protocol without arguments.
  if (words->size() == 1 && words->front().find('/') == std::string::npos) {
    std::string known;
    for (const RegisteredBackend& b : backends_) known += (known.empty() ? "" : ", ") + b.name;
    return diagnostic(ErrorKind::Usage, fmt::format("no backend is named \"{}\"", words->front())).help(
        fmt::format("the names are: {}; or give a command, such as 'python3 my_adapter.py' or ./my_adapter", known.empty() ? "none" : known));
  }
  return words;
}

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == '\\' && quote != '\'' && k + 1 < text.size()) {
      word += text[++k];
      in_word = true;
    } else if (quote) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) return diagnostic(ErrorKind::Usage, fmt::format("the backend's command has an open quote {}: {}", quote, text));
  if (in_word) words.push_back(std::move(word));
  if (words.empty() || words.front().empty()) return diagnostic(ErrorKind::Usage, "the backend's name or command is empty");
  return words;
}

}  // namespace ulpian::diff
