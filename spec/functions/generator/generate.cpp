// ulpian_functions_generate PROGRAMS.h DIGESTS.json FILE.ulp...: each elementary function that spec/functions/*.ulp defines, as C++ on vectors of doubles
// (lanes.h). A definition elaborates to a core program like any operator's; what a straight-line program may consist of is printed, anything
// else is an error that names its line.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/language/elaborate.h"
#include "spec/numbers/host.h"

namespace ulpian {
namespace {

using core::None;
using core::Program;
using core::Term;
using core::TermId;
using core::TensorId;
using core::TermKind;

struct Unprintable {
  std::string message;
};

// The statements of one function, each term once, in the order of their use.
class Printer {
public:
  explicit Printer(const Program& p) : p_(p) {}

  std::string body(TermId result) {
    const std::string value = name_of_term(result);
    return fmt::format("{}  return {};\n", statements_, value);
  }

private:
  [[noreturn]] void refuse(TermId id, std::string_view why) const {
    const Place place = p_.places[p_.term(id).place];
    throw Unprintable{fmt::format("{}:{}: {} ({})", place.file, place.line, why, core::to_string(p_, id))};
  }

  std::string name_of_term(TermId id) {
    if (const auto known = names_.find(id); known != names_.end()) return known->second;
    std::string text = print(id);
    const Term& t = p_.term(id);
    if (text != "x" && text != "y" && t.kind != TermKind::Constant) {
      const std::string name = fmt::format("t{}", names_.size());
      statements_ += fmt::format("  const {} {} = {};\n", type_of(id), name, text);
      text = name;
    }
    return names_[id] = text;
  }

  std::string_view type_of(TermId id) const {
    switch (p_.term(id).type) {
      case ElementType::F64: return "D<L>";
      case ElementType::I64: case ElementType::Bool: return "I<L>";
      case ElementType::U64: return "U<L>";
      default: refuse(id, "a program computes on f64, i64 and u64");
    }
  }

  std::string argument(TermId id) const {
    const auto tensor = static_cast<TensorId>(p_.term(id).data);
    for (std::size_t k = 0; k < p_.inputs.size(); ++k)
      if (p_.inputs[k] == tensor) return k == 0 ? "x" : "y";
    refuse(id, "a program reads its arguments alone");
  }

  static std::string constant(double v) {
    if (v != v) return "all<L>(__builtin_nan(\"\"))";
    if (v == 0 && std::signbit(v)) return "(-D<L>{})";
    return std::isinf(v) ? fmt::format("all<L>({}__builtin_inf())", v < 0 ? "-" : "") : fmt::format("all<L>({:a})", v);
  }

  std::string constant(TermId id) const {
    const Term& t = p_.term(id);
    switch (t.type) {
      case ElementType::F64: return constant(host::from_bits<ElementType::F64>(t.data));
      case ElementType::I64: return fmt::format("(I<L>)(U<L>{{}} + UINT64_C({}))", t.data);
      case ElementType::U64: return fmt::format("(U<L>{{}} + UINT64_C({}))", t.data);
      case ElementType::Bool: return fmt::format("(I<L>{{}} - {})", t.data);
      default: refuse(id, "a program computes on f64, i64 and u64");
    }
  }

  std::string print(TermId id) {
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Constant: return constant(id);
      case TermKind::Read: return argument(id);
      case TermKind::Primitive: return primitive(id);
      case TermKind::Select: {
        const std::string c = name_of_term(a[0]), yes = name_of_term(a[1]), no = name_of_term(a[2]);
        return fmt::format("({} ? {} : {})", c, yes, no);
      }
      case TermKind::Cast: {
        // A number that f64 does not hold.
        if (t.type == ElementType::F64 && p_.is_constant(a[0]) && p_.term(a[0]).type == ElementType::R) return constant(p_.reals[p_.term(a[0]).data].to_double());
        // An argument of f32, in f64: what the vectors hold.
        if (t.type == ElementType::F64 && p_.term(a[0]).kind == TermKind::Read && p_.term(a[0]).type == ElementType::F32) return argument(a[0]);
        if (static_cast<CastMode>(t.operation) != CastMode::Reinterpret) refuse(id, "of the conversions only `bits` takes one instruction everywhere");
        return fmt::format("({}){}", type_of(id), name_of_term(a[0]));
      }
      case TermKind::Reduce: return fused(id);
      default: refuse(id, "no part of a straight-line program");
    }
  }

  // dot(k < 1 from c) a * b: one fused multiply-add.
  std::string fused(TermId id) {
    const core::ReduceView r = p_.reduce(id);
    if (r.kind != core::ReduceKind::Dot || r.extents.size() != 1 || p_.integer_constant(r.extents[0]) != 1 || r.filter != None || r.initial == None)
      refuse(id, "of the reductions only a dot of one term from a start is one operation");
    const std::string a = name_of_term(r.bodies[0]), b = name_of_term(r.bodies[1]), c = name_of_term(r.initial);
    return fmt::format("fused<L>({}, {}, {})", a, b, c);
  }

  std::string primitive(TermId id) {
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    const auto p = static_cast<Primitive>(t.operation);
    const ElementType of = p_.term(a[0]).type;
    const bool on_float = of == ElementType::F64;
    std::vector<std::string> x;
    for (const TermId argument : a) x.push_back(name_of_term(argument));
    switch (p) {
      case Primitive::Divide:
      case Primitive::Less:
      case Primitive::LessEqual:
      case Primitive::Greater:
      case Primitive::GreaterEqual:
      case Primitive::Equal:
      case Primitive::NotEqual: return fmt::format("({} {} {})", x[0], name_of(p), x[1]);
      case Primitive::Add:
      case Primitive::Subtract:
      case Primitive::Multiply:
        // integers wrap, which signed ones of C++ must not
        return of == ElementType::I64 ? fmt::format("(I<L>)((U<L>){} {} (U<L>){})", x[0], name_of(p), x[1]) : fmt::format("({} {} {})", x[0], name_of(p), x[1]);
      case Primitive::Negate:
        if (on_float) return fmt::format("(-{})", x[0]);
        break;
      case Primitive::Absolute:
        if (on_float) return fmt::format("absolute<L>({})", x[0]);
        break;
      case Primitive::SquareRoot: return fmt::format("square_root<L>({})", x[0]);
      case Primitive::BitAnd: return fmt::format("({} & {})", x[0], x[1]);
      case Primitive::BitOr: return fmt::format("({} | {})", x[0], x[1]);
      case Primitive::BitXor: return fmt::format("({} ^ {})", x[0], x[1]);
      case Primitive::And: return fmt::format("({} & {})", x[0], x[1]);
      case Primitive::Or: return fmt::format("({} | {})", x[0], x[1]);
      case Primitive::Not: return fmt::format("(~{})", x[0]);
      case Primitive::IsNan: return fmt::format("({0} != {0})", x[0]);
      case Primitive::ShiftLeft:
      case Primitive::ShiftRight: {
        if (!p_.is_constant(a[1]) || p_.term(a[1]).data >= 64) refuse(id, "shifts are by known numbers below 64");
        const std::uint64_t by = p_.term(a[1]).data;
        if (p == Primitive::ShiftLeft) return fmt::format("({})((U<L>){} << {})", type_of(id), x[0], by);
        return fmt::format("({} >> {})", x[0], by);
      }
      default: break;
    }
    refuse(id, fmt::format("{} on {} is no single instruction", name_of(p), name_of(of)));
  }

  const Program& p_;
  std::map<TermId, std::string> names_;
  std::string statements_;
};

// On f32 what the definition rounds to f32 in the end; on f64 all of it. Empty where the definition has no such type.
std::optional<std::string> function(const language::Specification& specification, const std::string& op, int arity, ElementType type) {
  language::Call call;
  call.op = op;
  call.version = 1;
  for (int k = 0; k < arity; ++k) call.inputs.push_back({.type = type, .extents = {}, .value = std::nullopt, .items = {}});
  const auto program = language::elaborate(specification, call);
  if (!program && type == ElementType::F64 && (program.error().kind == ErrorKind::Unsupported || program.error().kind == ErrorKind::Requirement)) return std::nullopt;
  if (!program) throw Unprintable{to_string(program.error())};
  const core::TensorNode& y = program->tensor(program->outputs[0]);
  if (y.kind != core::TensorKind::Comprehension || y.type != type || !y.extents.empty()) throw Unprintable{op + ": one number of the arguments' type is to come out"};
  if (type == ElementType::F64) return Printer(*program).body(y.body);
  const Term& t = program->term(y.body);
  if (t.kind != TermKind::Cast || static_cast<CastMode>(t.operation) != CastMode::Plain) throw Unprintable{op + ": a number of f64, rounded once, is to come out on f32"};
  return Printer(*program).body(program->arguments_of(y.body)[0]);
}

// The functions of which every result has been judged: they need no rounding test.
nlohmann::json swept_functions(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const auto record = nlohmann::json::parse(in, nullptr, false);
  if (!record.is_object() || !record.contains("functions") || !record["functions"].is_object()) throw Unprintable{fmt::format("{}: no record of sweeps", path)};
  return record["functions"];
}

int generate(const std::string& to, const nlohmann::json& swept, int count, char** paths) {
  std::vector<language::SourceText> prelude, files;
  for (int i = 0; i < count; ++i) {
    std::ifstream in(paths[i], std::ios::binary);
    if (!in) throw Unprintable{fmt::format("{}: cannot be read", paths[i])};
    language::SourceText text{paths[i], {std::istreambuf_iterator<char>(in), {}}};
    (text.path.find("/prelude/") != std::string::npos ? prelude : files).push_back(std::move(text));
  }
  const auto specification = language::Specification::of(prelude, files);
  if (!specification) throw Unprintable{to_string(specification.error())};
  std::string out = "// Generated from spec/functions/*.ulp by spec/functions/generator.\n#pragma once\n\n#include \"spec/functions/lanes.h\"\n"
                    "#include \"spec/numbers/primitive.h\"\n\nnamespace ulpian::kernels {\nnamespace {\n\n";
  std::string judged;
  std::map<ElementType, std::string> choice, has;
  for (const std::string& op : (*specification)->names()) {
    const std::string name = op.substr(op.rfind('.') + 1);
    int arity = 1;
    auto primitive = primitive_named(name, arity);
    if (!primitive) primitive = primitive_named(name, arity = 2);
    if (!primitive || row_of(*primitive).kind != PrimitiveKind::Elementary) throw Unprintable{fmt::format("{}: no elementary function of one or two arguments", op)};
    for (const ElementType type : {ElementType::F32, ElementType::F64}) {
      const auto body = function(**specification, op, arity, type);
      if (!body) continue;
      out += fmt::format("template <class L> inline D<L> {}_of_{}(D<L> x{}) {{\n{}}}\n\n", name, name_of(type), arity == 2 ? ", D<L> y" : "", *body);
      const std::string which = fmt::format("P == static_cast<Primitive>({})", static_cast<int>(*primitive));
      choice[type] += fmt::format("  if constexpr ({}) return {}_of_{}<L>(x{});\n", which, name, name_of(type), arity == 2 ? ", y" : "");
      has[type] += fmt::format("{}{}", has[type].empty() ? "" : "\n         || ", fmt::format("p == static_cast<Primitive>({})", static_cast<int>(*primitive)));
    }
    if (swept.contains(name)) judged += fmt::format("    case static_cast<Primitive>({}): return true;\n", static_cast<int>(*primitive));
  }
  out += fmt::format("constexpr bool is_swept(Primitive p) {{\n  switch (p) {{\n{}    default: return false;\n  }}\n}}\n\n", judged);
  for (const ElementType type : {ElementType::F32, ElementType::F64}) {
    const std::string suffix = fmt::format("on_{}", name_of(type));
    out += fmt::format("constexpr bool has_program_{}(Primitive p) {{\n  return {};\n}}\n\n", suffix, has[type].empty() ? "false" : has[type]);
    out += fmt::format("template <Primitive P, class L> inline D<L> program_{}(D<L> x, [[maybe_unused]] D<L> y) {{\n{}}}\n\n", suffix, choice[type]);
  }
  out += "}  // namespace\n}  // namespace ulpian::kernels\n";
  std::ofstream file(to, std::ios::binary);
  file << out;
  file.close();
  if (!file) throw Unprintable{fmt::format("{}: cannot be written", to)};
  return 0;
}

}  // namespace
}  // namespace ulpian

int main(int argc, char** argv) {
  try {
    if (argc < 4) throw ulpian::Unprintable{"usage: ulpian_functions_generate PROGRAMS.h DIGESTS.json FILE.ulp..."};
    return ulpian::generate(argv[1], ulpian::swept_functions(argv[2]), argc - 3, argv + 3);
  } catch (const ulpian::Unprintable& e) {
    fmt::print(stderr, "{}\n", e.message);
    return 1;
  }
}
