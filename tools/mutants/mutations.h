// The one-token changes of a definition: what `ulpian spec check --mutants` tries on its examples. docs/cli.md lists them.
#pragma once

#include <string>
#include <vector>

#include "spec/language/specification.h"

namespace ulpian::tools {

struct Mutation {
  std::size_t offset = 0, length = 0;  // what is replaced in the file's text
  std::string replacement;
  language::Position at;
  std::string change;                  // "'<' becomes '<='"
  // It is in `undefined when`, `unordered`, `within body` or a later alternative of `one of`: the canonical answer, which examples state, does
  // not depend on it.
  bool contract = false;
};

// In the order of the text. Not changed: doc strings, messages, types, versions, examples.
std::vector<Mutation> mutations_of(const language::SymbolTable& symbols, const language::OperatorDefinition& definition);
// Of the functions that a file has outside of its operators.
std::vector<Mutation> mutations_of_functions(const language::SymbolTable& symbols, const language::SourceFile& file);

std::string mutated(const language::SourceFile& file, const Mutation& mutation);

}  // namespace ulpian::tools
