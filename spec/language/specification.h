// A specification: the operators and functions of all files that were loaded. Immutable to its users, and shared by every elaboration; a
// shipped file is parsed when one of its operators is first asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "spec/core/diagnostic.h"
#include "spec/language/syntax.h"

namespace ulpian::language {

struct SourceText {
  std::string path;  // as messages name it: "spec/onnx/Conv.ulp"
  std::string text;
};

class Specification {
public:
  // The shipped specification (compiled into the program: prelude, then every dialect), then the users' files, which may define new
  // operators or replace shipped ones of the same name and versions.
  static Result<std::shared_ptr<const Specification>> load(std::span<const SourceText> user_files = {});
  // Only these; `prelude` files' functions are visible everywhere.
  static Result<std::shared_ptr<const Specification>> of(std::span<const SourceText> prelude, std::span<const SourceText> files);

  // The definition in force: the newest version not above `version`. Null if there is none.
  const OperatorDefinition* find(std::string_view name, std::int64_t version) const;
  bool has(std::string_view name) const;                               // at any version
  // All definitions of one operator, newest first.
  std::span<const OperatorDefinition* const> definitions(std::string_view name) const;
  std::vector<std::string> names() const;                              // sorted
  // Parses every shipped file; the first error in one.
  Status load_all() const;

  const SymbolTable& symbols() const { return symbols_; }
  const Function* prelude_function(Symbol name) const;
  const SourceFile* file_of_prelude(const Function* f) const;

private:
  Status add(const SourceText& text, bool prelude, bool user) const;
  Status load_operator(const std::string& name) const;

  mutable SymbolTable symbols_;
  mutable std::recursive_mutex mutex_;  // of what follows
  mutable std::vector<std::unique_ptr<SourceFile>> files_;
  mutable std::unordered_map<std::string, std::vector<const OperatorDefinition*>> operators_;
  mutable std::unordered_map<std::string, const struct EmbeddedFile*> pending_;  // by operator
  mutable std::unordered_map<Symbol, std::pair<const Function*, const SourceFile*>> prelude_;
};

// The newest version in `definition.since` not above `version`, or 0.
std::int64_t version_in_force(const OperatorDefinition& definition, std::int64_t version);

// The shipped files, prelude first (generated at build time from spec/**/*.ulp). Others are named for the one operator or profile that they define:
// spec/onnx/Conv.ulp is onnx.Conv.
struct EmbeddedFile {
  enum class Kind : unsigned char { Prelude, Operator, Profile };
  const char* path;
  const char* text;
  std::size_t size;
  Kind kind;
};
std::span<const EmbeddedFile> embedded_files();

}  // namespace ulpian::language
