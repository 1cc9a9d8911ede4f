#include "tools/mutants/explained.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ulpian::tools {

using nlohmann::json;

Result<std::vector<Explanation>> read_explanations(const std::string& text, const std::string& source) {
  std::vector<Explanation> out;
  try {
    const json all = json::parse(text);
    for (const json& entry : all.at("explained")) {
      Explanation e;
      e.definition = entry.at("definition").get<std::string>();
      e.line = entry.value("line", std::string());
      e.changes = entry.value("changes", std::vector<std::string>());
      e.same = entry.value("same", false);
      e.reason = entry.at("reason").get<std::string>();
      if (e.reason.empty() || (e.line.empty() && e.changes.empty())) throw std::invalid_argument("an entry needs a reason, and a line or changes");
      out.push_back(std::move(e));
    }
  } catch (const std::exception& x) {
    Diagnostic d;
    d.kind = ErrorKind::Input;
    d.message = fmt::format("this is no list of explained mutants: {}", x.what());
    d.hint = R"({"explained": [{"definition": "onnx.Sign since 13, 9", "line": "...", "changes": ["..."], "reason": "..."}]})";
    return d.in_program(source);
  }
  return out;
}

std::vector<Explanation> explain(std::vector<MutationScore>& scores, const std::vector<Explanation>& explanations) {
  std::vector<Explanation> stale;
  for (const Explanation& e : explanations)
    for (MutationScore& s : scores) {
      if (s.name != e.definition) continue;
      bool used = false;
      for (Mutant& m : s.mutants) {
        const bool named = e.changes.empty() || std::find(e.changes.begin(), e.changes.end(), m.mutation.change) != e.changes.end();
        if (!m.survives() || !named || (!e.line.empty() && e.line != m.line)) continue;
        m.explanation = e.reason;
        if (e.same) m.fate = Fate::Same;
        used = true;
      }
      if (!used && s.mutants.size() == s.all) stale.push_back(e);
    }
  return stale;
}

}  // namespace ulpian::tools
