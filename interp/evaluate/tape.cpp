#include "interp/evaluate/tape.h"

#include <fmt/format.h>

namespace ulpian::interp::block {
namespace {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::Kernel: return "kernel";
    case Code::Broadcast: return "broadcast";
    case Code::FormValue: return "form";
    case Code::Read: return "read";
    case Code::Generic: return "generic";
    case Code::PoisonEither: return "poison-either";
    case Code::PoisonSelect: return "poison-select";
    case Code::PoisonMark: return "poison-mark";
    case Code::Loop: return "loop";
  }
  ensure(false);
}

std::string text(Register r) { return r == NoRegister ? "-" : fmt::format("r{}", r); }

std::string text(const Tape& t, const Form& f) {
  std::string s = fmt::format("{}", f.constant);
  const FormTerm* x = t.form_terms.data() + f.first;
  for (std::size_t k = 0; k < f.lanes; ++k, ++x) s += fmt::format(" + {} axis{}", x->coefficient, x->index);
  for (std::size_t k = 0; k < f.uniforms; ++k, ++x) s += fmt::format(" + {} u{}", x->coefficient, x->index);
  for (std::size_t k = 0; k < std::size_t{f.scalars} + f.vectors; ++k, ++x) s += fmt::format(" + {} r{}", x->coefficient, x->index);
  return s;
}

void list(std::string& out, const Tape& t, const std::vector<Instruction>& instructions, int indent) {
  for (const Instruction& i : instructions) {
    out += fmt::format("{:{}}{}{} {} <- {} {} {}", "", indent, i.uniform ? "one " : "", name_of(i.code), text(i.dst), text(i.a), text(i.b), text(i.c));
    if (i.code == Code::FormValue) out += " [" + text(t, t.forms[i.extra]) + "]";
    if (i.code == Code::Read) {
      const ReadPlan& p = t.reads[i.extra];
      out += fmt::format(" buffer {} [{}] checks {} else {} poison {}", p.buffer, text(t, p.position), p.checks, text(p.otherwise), text(p.poison));
    }
    out += "\n";
    if (i.code != Code::Loop) continue;
    const Loop& l = t.loops[i.extra];
    list(out, t, l.body, indent + 2);
    out += fmt::format("{:{}}{} value {} second {} filter {} poison {} {} initial {} {} accumulator {} {} out {} {}\n", "", indent, l.fold ? "fold" : core::name_of(l.kind),
                       text(l.value), text(l.second), text(l.filter), text(l.body_poison), text(l.filter_poison), text(l.initial), text(l.initial_poison),
                       text(l.accumulator), text(l.accumulator_poison), text(l.out), text(l.out_poison));
  }
}

}  // namespace

std::string describe(const Tape& tape, int indent) {
  std::string out;
  list(out, tape, tape.setup, indent);
  out += fmt::format("{:{}}--\n", "", indent);
  list(out, tape, tape.body, indent);
  for (const Root& r : tape.roots) out += fmt::format("{:{}}root {} poison {}\n", "", indent, text(r.value), text(r.poison));
  return out;
}

}  // namespace ulpian::interp::block
