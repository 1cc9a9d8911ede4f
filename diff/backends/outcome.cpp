#include "diff/backends/outcome.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

// Messages of backends may hold several lines; a description is one.
std::string first_line(const std::string& text) {
  const auto end = text.find('\n');
  return end == std::string::npos ? text : text.substr(0, end) + " ...";
}

struct Describe {
  std::string operator()(const Outputs& o) const { return fmt::format("{} output{}", o.values.size(), o.values.size() == 1 ? "" : "s"); }
  std::string operator()(const Refused& r) const { return fmt::format("refused ({}): {}", name_of(r.reason), first_line(r.message)); }
  std::string operator()(const Failed& f) const {
    return fmt::format("failed{}: {}", f.cause == FailureCause::Protocol ? " (answer outside the protocol)" : "", first_line(f.message));
  }
  std::string operator()(const Crashed& c) const {
    if (c.signal) return fmt::format("crashed during {}: signal {} ({})", c.during, c.signal, signal_name(c.signal));
    return fmt::format("crashed during {}: exited with status {} before it answered", c.during, c.exit_status);
  }
  std::string operator()(const Hung& h) const { return fmt::format("hung during {}: no answer within {:g} s", h.during, h.seconds); }
  std::string operator()(const OutOfMemory& m) const {
    if (!m.message.empty()) return fmt::format("out of memory: {}", first_line(m.message));
    return fmt::format("out of memory: {} MiB used, {} MiB allowed", m.bytes >> 20, m.limit >> 20);
  }
};

}  // namespace

std::string_view name_of(const Outcome& outcome) {
  switch (outcome.what.index()) {
    case 0: return "outputs";
    case 1: return "refused";
    case 2: return "failed";
    case 3: return "crashed";
    case 4: return "hung";
    case 5: return "out of memory";
    default: ensure(false);
  }
}

std::string describe(const Outcome& outcome) { return std::visit(Describe{}, outcome.what); }

std::string_view name_of(Refusal reason) {
  switch (reason) {
    case Refusal::Unsupported: return "unsupported";
    case Refusal::Invalid: return "invalid";
  }
  ensure(false);
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

Datum datum_of(const Value& value) {
  if (const Tensor* t = value.tensor()) return *t;
  const auto* s = std::get_if<Sequence>(&value.value);
  return s ? Datum(Datum::Sequence{s->type, s->elements}) : Datum();
}

Value value_of(std::string name, const Datum& datum) {
  if (const Tensor* t = datum.tensor()) return {std::move(name), *t};
  const Datum::Sequence* s = datum.sequence();
  if (s) return {std::move(name), Sequence{s->type, s->items}};
  return {std::move(name), Absent{}};
}

}  // namespace ulpian::diff
