#include "tools/mutants/programs.h"

#include <map>
#include <tuple>

#include "spec/core/program.h"
#include "tools/mutants/allowance.h"

namespace ulpian::tools {
namespace {

using core::Program;
using core::Term;
using core::TermId;
using core::TermKind;

// Every choice is its first alternative; what then is equal is one term.
void keep_canonical(Program& p) {
  std::vector<TermId> now(p.terms.size());
  using Key = std::tuple<TermKind, ElementType, std::uint8_t, std::uint8_t, std::uint32_t, std::uint64_t, std::vector<TermId>>;
  std::map<Key, TermId> made;
  for (TermId id = 0; id < p.terms.size(); ++id) {
    Term& t = p.terms[id];
    std::vector<TermId> arguments;
    for (std::uint32_t k = t.first; k < t.first + t.count; ++k) arguments.push_back(p.arguments[k] = now[p.arguments[k]]);
    if (t.kind == TermKind::ReadElse) t.flags &= static_cast<std::uint8_t>(~core::OptionalTerm);
    if (t.kind == TermKind::Reduce) t.flags &= static_cast<std::uint8_t>(~core::OptionalFilter);
    if (t.kind == TermKind::Choice) now[id] = arguments[0];
    else if (t.kind == TermKind::Select && arguments[1] == arguments[2]) now[id] = arguments[1];
    else now[id] = made.emplace(Key{t.kind, t.type, t.operation, t.flags, t.binders, t.data, std::move(arguments)}, id).first->second;
  }
  auto put = [&](TermId& id) {
    if (id != core::None) id = now[id];
  };
  for (core::TensorNode& n : p.tensors) {
    for (TermId& e : n.extents) put(e);
    for (TermId& e : n.domain) put(e);
    for (TermId& e : n.scatter.index) put(e);
    put(n.scatter.filter);
    put(n.body);
  }
  for (core::Recurrence& r : p.recurrences)
    for (TermId& e : r.extents) put(e);
  for (core::Condition& c : p.requirements) put(c.term);
  for (core::Condition& c : p.path) put(c.term);
  p.undefined.clear();
  p.unordered_axes.clear();
  p.static_choices.clear();
}

ProgramText text_until(const language::Specification& specification, const language::Call& call, Deadline deadline) {
  ProgramText out;
  language::ElaborationLimits limits;
  limits.deadline = deadline;
  auto programs = language::elaborate_all(specification, call, limits);
  if (!programs) {
    const ErrorKind kind = programs.error().kind;
    out.known = kind == ErrorKind::Requirement || kind == ErrorKind::Undefined;
    out.full = out.canonical = name_of(kind);
    return out;
  }
  out.known = true;
  for (Program& p : *programs) {
    out.full += core::to_string(p);
    for (std::uint8_t n : p.static_choices) out.full += std::to_string(n) + " choices\n";
    keep_canonical(p);
    out.canonical += core::to_string(p);
  }
  return out;
}

}  // namespace

ProgramText text_of(const language::Specification& specification, const language::Call& call) {
  return with_processor_time(2, [&](Deadline deadline) { return text_until(specification, call, deadline); });
}

}  // namespace ulpian::tools
