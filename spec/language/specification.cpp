#include "spec/language/specification.h"

#include <algorithm>

#include <fmt/format.h>

namespace ulpian::language {

std::int64_t version_in_force(const OperatorDefinition& definition, std::int64_t version) {
  for (std::int64_t v : definition.since)
    if (v <= version) return v;
  return 0;
}

namespace {

// "spec/onnx/Conv.ulp" is "onnx.Conv".
std::string operator_of(std::string_view path) {
  std::string name(path.substr(path.find('/') + 1));
  name.resize(name.rfind('.'));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

Status Specification::add(const SourceText& source, bool prelude, bool user) const {
  auto parsed = parse(source.path, source.text, symbols_);
  if (!parsed) return std::move(parsed).error();
  std::unique_ptr<SourceFile> file = std::move(*parsed);
  file->index = static_cast<std::uint32_t>(files_.size());
  file->user = user;
  if (prelude)
    for (const auto& [name, f] : file->functions_by_name)
      if (!prelude_.emplace(name, std::pair(f, file.get())).second)
        return diagnose(*file, f->at, ErrorKind::Definition, fmt::format("function {} is defined in another file of the prelude, too", symbols_.name(name)));
  for (const OperatorDefinition& op : file->operators) {
    auto& all = operators_[op.name];
    for (const OperatorDefinition* other : all) {
      const bool overlaps = std::any_of(op.since.begin(), op.since.end(), [&](std::int64_t v) {
        return std::find(other->since.begin(), other->since.end(), v) != other->since.end();
      });
      if (!overlaps) continue;
      if (user == other->file->user)
        return diagnose(*file, op.at, ErrorKind::Definition, fmt::format("{} is defined twice for the same version", op.name))
            .note(fmt::format("the other definition is at {}:{}", other->file->path, other->at.line));
    }
    const auto before = [](const OperatorDefinition* a, const OperatorDefinition* b) {
      return a->since[0] != b->since[0] ? a->since[0] > b->since[0] : a->file->user > b->file->user;
    };
    all.insert(std::upper_bound(all.begin(), all.end(), &op, before), &op);
  }
  files_.push_back(std::move(file));
  return success();
}

Result<std::shared_ptr<const Specification>> Specification::of(std::span<const SourceText> prelude, std::span<const SourceText> files) {
  auto spec = std::make_shared<Specification>();
  for (const SourceText& s : prelude)
    if (Status r = spec->add(s, true, false); !r) return r.error();
  for (const SourceText& s : files)
    if (Status r = spec->add(s, false, false); !r) return r.error();
  return std::shared_ptr<const Specification>(std::move(spec));
}

Result<std::shared_ptr<const Specification>> Specification::load(std::span<const SourceText> user_files) {
  auto spec = std::make_shared<Specification>();
  for (const EmbeddedFile& f : embedded_files()) {
    if (f.kind == EmbeddedFile::Kind::Operator) spec->pending_.emplace(operator_of(f.path), &f);
    else if (f.kind == EmbeddedFile::Kind::Profile) continue;
    else if (Status r = spec->add({f.path, std::string(f.text, f.size)}, true, false); !r) return r.error();
  }
  for (const SourceText& s : user_files)
    if (Status r = spec->add(s, false, true); !r) return r.error();
  return std::shared_ptr<const Specification>(std::move(spec));
}

Status Specification::load_operator(const std::string& name) const {
  auto it = pending_.find(name);
  if (it == pending_.end()) return success();
  const EmbeddedFile& f = *it->second;
  pending_.erase(it);
  Status s = add({f.path, std::string(f.text, f.size)}, false, false);
  if (s && !operators_.count(name)) {
    Diagnostic d;
    d.kind = ErrorKind::Definition;
    d.message = fmt::format("{} does not define {}", f.path, name);
    return d;
  }
  return s;
}

Status Specification::load_all() const {
  const std::lock_guard lock(mutex_);
  while (!pending_.empty())
    if (Status s = load_operator(std::string(pending_.begin()->first)); !s) return s;
  return success();
}

const OperatorDefinition* Specification::find(std::string_view name, std::int64_t version) const {
  const OperatorDefinition* best = nullptr;
  std::int64_t newest = 0;
  for (const OperatorDefinition* op : definitions(name)) {
    const std::int64_t v = version_in_force(*op, version);
    if (v > newest) {  // a user's definition comes first among equals
      newest = v;
      best = op;
    }
  }
  return best;
}

bool Specification::has(std::string_view name) const { return !definitions(name).empty(); }

std::span<const OperatorDefinition* const> Specification::definitions(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const std::string key(name);
  Status loaded = load_operator(key);
  ensure(loaded.ok(), loaded.ok() ? std::string() : to_string(loaded.error()));  // shipped files are tested
  auto it = operators_.find(key);
  if (it == operators_.end()) return {};
  return it->second;
}

std::vector<std::string> Specification::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, all] : operators_) out.push_back(name);
  for (const auto& [name, file] : pending_)
    if (!operators_.count(name)) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

const Function* Specification::prelude_function(Symbol name) const {
  auto it = prelude_.find(name);
  return it == prelude_.end() ? nullptr : it->second.first;
}

const SourceFile* Specification::file_of_prelude(const Function* f) const {
  auto it = prelude_.find(f->name);
  return it == prelude_.end() || it->second.first != f ? nullptr : it->second.second;
}

}  // namespace ulpian::language
