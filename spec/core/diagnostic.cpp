#include "spec/core/diagnostic.h"

#include <fmt/format.h>

namespace ulpian {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage: return "usage";
    case ErrorKind::Input: return "input";
    case ErrorKind::Syntax: return "syntax";
    case ErrorKind::Definition: return "definition";
    case ErrorKind::Requirement: return "requirement";
    case ErrorKind::Undefined: return "undefined";
    case ErrorKind::Unsupported: return "unsupported";
    case ErrorKind::Limit: return "limit";
  }
  ensure(false);
}

std::string to_string(const Diagnostic& d) {
  std::string out = d.message;
  std::string where = d.program_place;
  if (!d.place.file.empty()) {
    if (!where.empty()) where += "; ";
    where += d.place.file;
    if (d.place.line) where += fmt::format(":{}", d.place.line);
    if (d.place.line && d.place.column) where += fmt::format(":{}", d.place.column);
  }
  if (!where.empty()) out += " (" + where + ")";
  if (!d.source_line.empty()) {
    out += "\n  " + d.source_line;
    const std::uint32_t caret = d.caret ? d.caret : d.place.column;
    if (caret) {
      out += "\n  ";
      // Tabs are kept and a character of several bytes counts once, so that the caret stands under its column.
      for (std::uint32_t k = 1; k < caret && k <= d.source_line.size(); ++k) {
        const char c = d.source_line[k - 1];
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) out += c == '\t' ? '\t' : ' ';
      }
      out += '^';
    }
  }
  for (const std::string& n : d.notes) out += "\n  note: " + n;
  if (!d.hint.empty()) out += "\n  help: " + d.hint;
  return out;
}

}  // namespace ulpian
