#include "diff/explain/python.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

using core::None;
using core::ReduceKind;
using core::Term;
using core::TermId;
using core::TermKind;
using core::TensorId;
using core::TensorKind;
using core::Variable;

constexpr int MostHeight = 24;  // of one expression: Python's parser ends at some depth

const std::set<std::string>& keywords() {
  static const std::set<std::string> all{"False", "None",  "True",    "and",    "as",     "assert", "async",  "await", "break", "class", "continue", "def",   "del",  "elif",  "else",  "except", "finally", "for",
                                         "from",  "global", "if",     "import", "in",     "is",     "lambda", "nonlocal", "not", "or",   "pass",     "raise", "return", "try", "while", "with",   "yield"};
  return all;
}

std::string method_of(Primitive p) {
  switch (p) {
    case Primitive::Add: return "add";
    case Primitive::Subtract: return "sub";
    case Primitive::Multiply: return "mul";
    case Primitive::Divide: return "over";
    case Primitive::Equal: return "eq";
    case Primitive::NotEqual: return "ne";
    case Primitive::Less: return "lt";
    case Primitive::LessEqual: return "le";
    case Primitive::Greater: return "gt";
    case Primitive::GreaterEqual: return "ge";
    default: return std::string(name_of(p));
  }
}

// Of numbers of Z, which are Python's own.
std::string operator_of(Primitive p) {
  switch (p) {
    case Primitive::Add: return "+";
    case Primitive::Subtract: return "-";
    case Primitive::Multiply: return "*";
    case Primitive::FloorDivide: return "//";
    case Primitive::Modulo: return "%";
    case Primitive::Equal: return "==";
    case Primitive::NotEqual: return "!=";
    case Primitive::Less: return "<";
    case Primitive::LessEqual: return "<=";
    case Primitive::Greater: return ">";
    case Primitive::GreaterEqual: return ">=";
    default: return {};
  }
}

std::string mode_of(CastMode mode) {
  switch (mode) {
    case CastMode::Plain: return "";
    case CastMode::Saturate: return "saturate";
    case CastMode::Up: return "up";
    case CastMode::Down: return "down";
    case CastMode::Nearest: return "nearest";
    case CastMode::SaturateUp: return "saturate up";
    case CastMode::SaturateDown: return "saturate down";
    case CastMode::SaturateNearest: return "saturate nearest";
    case CastMode::Exact: return "exact";
    case CastMode::Reinterpret: return "bits";
  }
  ensure(false);
}

class Emitter {
public:
  Emitter(const core::Program& p, const core::Sizes& sizes, const PythonOptions& options)
      : p_(p), sizes_(sizes), options_(options), taken_(*options.reserved), uses_(p.terms.size()), height_(p.terms.size()), pure_(p.terms.size()), seen_(p.terms.size()),
        needed_(p.tensors.size()) {}

  PythonProgram make() {
    collect();
    name_all();
    out_.text = fmt::format("def {}(", options_.function);
    for (std::size_t k = 0; k < p_.inputs.size(); ++k) {
      const std::string name = p_.inputs[k] != None ? tensor_names_[p_.inputs[k]] : python_name(fmt::format("unused_{}", k), "unused", taken_);
      out_.inputs.push_back(name);
      out_.text += (k ? ", " : "") + name;
    }
    out_.text += fmt::format("):  # {}\n", p_.op);
    for (std::size_t s = 0; s < p_.sizes.size(); ++s)
      if (sizes_[s] && size_names_.count(s)) out_.text += fmt::format("    {} = {}\n", size_names_[s], *sizes_[s]);
    for (TensorId t = 0; t < p_.tensors.size(); ++t)
      if (needed_[t]) tensor(t);
    std::string outputs;
    for (std::size_t k = 0; k < p_.outputs.size(); ++k) outputs += (k ? ", " : "") + (wanted(k) ? tensor_names_[p_.outputs[k]] : "None");
    out_.text += fmt::format("    return [{}]\n", outputs);
    return std::move(out_);
  }

private:
  bool wanted(std::size_t k) const { return p_.outputs[k] != None && k < options_.wanted.size() && options_.wanted[k]; }

  // --- what is needed, and what is used more than once
  std::vector<TermId> terms_of(TensorId id) const {
    const core::TensorNode& n = p_.tensor(id);
    std::vector<TermId> out(n.extents);
    out.insert(out.end(), n.domain.begin(), n.domain.end());
    out.insert(out.end(), n.scatter.index.begin(), n.scatter.index.end());
    for (TermId t : {n.body, n.scatter.filter})
      if (t != None) out.push_back(t);
    return out;
  }

  void need(TensorId id) {
    if (id == None || needed_[id]) return;
    needed_[id] = true;
    open_.push_back(id);
    const core::TensorNode& n = p_.tensor(id);
    if (n.kind == TensorKind::Scatter) need(n.scatter.base);
    if (n.kind == TensorKind::Recurrence)
      for (TensorId m : p_.recurrences[n.group].members) need(m);
  }

  void collect() {
    for (std::size_t k = 0; k < p_.outputs.size(); ++k)
      if (wanted(k)) need(p_.outputs[k]);
    std::vector<TermId> stack;
    while (!open_.empty()) {
      const TensorId id = open_.back();
      open_.pop_back();
      if (p_.tensor(id).kind == TensorKind::Input) continue;  // its extents are known
      for (TermId t : terms_of(id)) ++uses_[t], stack.push_back(t);
      while (!stack.empty()) {
        const TermId t = stack.back();
        stack.pop_back();
        if (seen_[t]) continue;
        seen_[t] = true;
        const Term& term = p_.term(t);
        if (term.kind == TermKind::Read || term.kind == TermKind::ReadElse) need(static_cast<TensorId>(term.data));
        if (term.kind == TermKind::Size && p_.sizes[term.data].defined_by != None && !sizes_[term.data]) need(p_.sizes[term.data].defined_by);
        for (TermId a : p_.arguments_of(t)) ++uses_[a], stack.push_back(a);
      }
    }
    // Arguments stand before what uses them.
    for (TermId t = 0; t < p_.terms.size(); ++t) {
      if (!seen_[t]) continue;
      int height = 0;
      bool pure = true;
      for (TermId a : p_.arguments_of(t)) {
        height = std::max(height, hoisted_.count(a) ? 0 : height_[a]);
        pure = pure && pure_[a];
      }
      const TermKind kind = p_.term(t).kind;
      pure_[t] = pure && (kind == TermKind::Constant || kind == TermKind::Variable || kind == TermKind::Size || kind == TermKind::Primitive || kind == TermKind::Select) &&
                 (p_.term(t).type == ElementType::Z || p_.term(t).type == ElementType::Bool) && (kind != TermKind::Primitive || p_.term(p_.arguments_of(t)[0]).type != ElementType::R) &&
                 (kind != TermKind::Variable || p_.variables[p_.term(t).data].type == ElementType::Z);
      height_[t] = height + 1;
      const bool trivial = height_[t] <= 2 && (pure_[t] || kind == TermKind::Read || kind == TermKind::Constant || kind == TermKind::Variable || kind == TermKind::Unspecified);
      if ((uses_[t] > 1 && !trivial) || height_[t] > MostHeight) hoisted_.emplace(t, std::string());
    }
  }

  // --- names
  void name_all() {
    for (std::size_t s = 0; s < p_.sizes.size(); ++s)
      if (sizes_[s]) size_names_[s] = python_name(p_.sizes[s].name, "n", taken_);
    for (TensorId t = 0; t < p_.tensors.size(); ++t)
      tensor_names_.push_back(needed_[t] || p_.tensor(t).kind == TensorKind::Input ? python_name(p_.tensor(t).name, "t", taken_) : std::string());
    for (auto& [t, name] : hoisted_) name = python_name(fmt::format("v{}", t), "v", taken_);
  }

  const std::string& name_of_variable(Variable v) {
    auto [at, fresh] = variable_names_.try_emplace(v);
    if (fresh) at->second = python_name(p_.variables[v].name, "i", taken_);
    return at->second;
  }

  std::string tuple_of(std::span<const Variable> all) { return all.empty() ? "()" : "(" + names(all) + ",)"; }
  std::string names(std::span<const Variable> all) {
    std::string out;
    for (Variable v : all) out += (out.empty() ? "" : ", ") + name_of_variable(v);
    return out;
  }

  // --- tensors
  std::string tuple(std::span<const TermId> terms) {
    std::string out = "(";
    for (TermId t : terms) out += expression(t) + ", ";
    if (!terms.empty()) out.pop_back();
    return out + ")";
  }

  // `for i in span(n) for j in span(m)`
  std::string loops(std::span<const Variable> variables, std::span<const TermId> extents) {
    std::string out;
    for (std::size_t k = 0; k < variables.size(); ++k) out += fmt::format(" for {} in span({})", name_of_variable(variables[k]), expression(extents[k]));
    return out.empty() ? " for _ in span(1)" : out;
  }

  void line(int depth, const std::string& text) { out_.text += std::string(static_cast<std::size_t>(4 * depth), ' ') + text + "\n"; }

  void tensor(TensorId id) {
    const core::TensorNode& n = p_.tensor(id);
    const std::string &name = tensor_names_[id], type = python_type(n.type), title = python_text(n.name);
    if (n.kind != TensorKind::Input) shared(terms_of(id));
    switch (n.kind) {
      case TensorKind::Input: return;
      case TensorKind::Literal: return line(1, fmt::format("{} = Given({}, {}, {}, {})", name, title, type, python_extents(n.literal->extents()), options_.elements(*n.literal, n.name)));
      case TensorKind::Comprehension:
      case TensorKind::Recurrence:
        line(1, fmt::format("@{}({}, {}, lambda: {})", n.kind == TensorKind::Recurrence ? "recurrence" : "tensor", title, type, tuple(n.extents)));
        line(1, fmt::format("def {}({}):{}", name, names(n.variables), place(n.place)));
        return line(2, "return " + expression(n.body));
      case TensorKind::Measured:
        line(1, fmt::format("@tensor({}, Z, ())", title));
        line(1, fmt::format("def {}():{}", name, place(n.place)));
        return line(2, "return " + expression(n.body));
      case TensorKind::Where:
        return line(1, fmt::format("{} = Where({}, lambda: (({}, {}){}))", name, title, expression(n.body), tuple_of(n.variables), loops(n.variables, n.domain)));
      case TensorKind::Scatter: {
        // What is asked for later must keep this turn's indices.
        std::string keep;
        for (Variable v : n.variables) keep += fmt::format("{}{}={}", keep.empty() ? " " : ", ", name_of_variable(v), name_of_variable(v));
        const std::string filter = n.scatter.filter == None ? "True" : expression(n.scatter.filter);
        return line(1, fmt::format("{} = Scatter({}, {}, lambda: {}, {}, \"{}\", lambda: (({}, {} if {} else (), lambda{}: {}){}))", name, title, type, tuple(n.extents), tensor_names_[n.scatter.base], name_of(n.scatter.mode),
                                   filter, tuple(n.scatter.index), n.scatter.filter == None || pure_[n.scatter.filter] ? filter : "True", keep, expression(n.body), loops(n.variables, n.domain)));
      }
    }
    ensure(false);
  }

  std::string place(std::uint32_t index) const {
    if (index >= p_.places.size() || p_.places[index].line == 0) return {};
    return fmt::format("  # {}:{}", p_.places[index].file, p_.places[index].line);
  }

  // The terms that are used more than once, before the first tensor that uses them.
  void shared(std::vector<TermId> stack) {
    std::vector<TermId> found;
    std::set<TermId> met;
    while (!stack.empty()) {
      const TermId t = stack.back();
      stack.pop_back();
      if (written_.count(t) || !met.insert(t).second) continue;
      if (hoisted_.count(t)) found.push_back(t);
      for (TermId a : p_.arguments_of(t)) stack.push_back(a);
    }
    std::sort(found.begin(), found.end());
    for (TermId t : found) {
      written_.insert(t);
      line(1, "@term");
      line(1, fmt::format("def {}({}):", hoisted_.at(t), names(p_.free_of(t))));
      line(2, "return " + written_out(t));
    }
  }

  // --- terms
  std::string expression(TermId id) {
    const auto it = hoisted_.find(id);
    return it != hoisted_.end() ? fmt::format("{}({})", it->second, names(p_.free_of(id))) : written_out(id);
  }

  std::string gap(const std::string& what) {
    out_.gaps.insert(what);
    return fmt::format("cannot({})", python_text(what));
  }

  std::string written_out(TermId id) {
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    if (is_complex(t.type)) return gap("complex numbers");
    switch (t.kind) {
      case TermKind::Constant: return constant(t);
      case TermKind::Variable: return name_of_variable(static_cast<Variable>(t.data));
      case TermKind::Size: return size(t);
      case TermKind::Primitive: return primitive(static_cast<Primitive>(t.operation), a);
      case TermKind::Cast: return cast(t, a[0]);
      case TermKind::Select:
        if (pure_[a[0]]) return fmt::format("({} if {} else {})", expression(a[1]), expression(a[0]), expression(a[2]));
        return fmt::format("pick({}, lambda: {}, lambda: {})", expression(a[0]), expression(a[1]), expression(a[2]));
      case TermKind::Read: {
        const std::string index = list(a);
        return fmt::format("{}[{}]", tensor_names_[t.data], index.empty() ? "()" : index);
      }
      case TermKind::ReadElse:
        return fmt::format("{}.at({}, lambda: {}{})", tensor_names_[t.data], tuple(a.first(a.size() - 1)), expression(a.back()), t.flags & core::OptionalTerm ? ", optional=True" : "");
      case TermKind::Reduce: return reduce(id);
      case TermKind::Fold: {
        const core::FoldView f = p_.fold(id);
        const std::string index = names(f.variables);
        return fmt::format("accumulate(({}{}), {}, lambda {}{}: {})", tuple_of(f.variables), loops(f.variables, f.extents), expression(f.initial), name_of_variable(f.accumulator), index.empty() ? "" : ", " + index, expression(f.body));
      }
      case TermKind::Nth: return nth(p_.nth(id));
      case TermKind::Choice: {
        std::string all;
        for (TermId x : a) all += (all.empty() ? "lambda: " : ", lambda: ") + expression(x);
        return fmt::format("{}({})", static_cast<core::ChoiceKind>(t.operation) == core::ChoiceKind::OneOf ? "one_of" : "within_body", all);
      }
      case TermKind::Unspecified: return fmt::format("unspecified({})", python_type(t.type));
      case TermKind::Random: return gap("random numbers");
    }
    ensure(false);
  }

  std::string list(std::span<const TermId> terms) {
    std::string out;
    for (TermId t : terms) out += (out.empty() ? "" : ", ") + expression(t);
    return out;
  }

  std::string constant(const Term& t) {
    if (t.type == ElementType::Z) return static_cast<std::int64_t>(t.data) < 0 ? fmt::format("({})", static_cast<std::int64_t>(t.data)) : fmt::format("{}", t.data);
    if (t.type == ElementType::R) return fmt::format("R.number({})", python_text(p_.reals[t.data].to_string()));
    if (t.type == ElementType::String) return python_text(p_.texts[t.data]);
    if (t.type == ElementType::Bool) return t.data ? "True" : "False";
    if (is_integer(t.type)) return is_signed(t.type) ? fmt::format("({})", to_int64(t.type, t.data)) : fmt::format("{}", t.data);
    // Every float's value is a double's.
    const double value = to_double(t.type, t.data);
    const std::string text = value != value ? "INF - INF" : value - value != 0 ? (value < 0 ? "-INF" : "INF") : value == 0 ? (sign_bit(t.type, t.data) ? "-0.0" : "0.0") : fmt::format("{}", value);
    return fmt::format("{}.value({})", python_type(t.type), text);
  }

  std::string size(const Term& t) {
    if (sizes_[t.data]) return size_names_[t.data];
    const TensorId by = p_.sizes[t.data].defined_by;
    if (by == None) return gap("the extent " + p_.sizes[t.data].name);
    return fmt::format("{}{}", tensor_names_[by], p_.tensor(by).kind == TensorKind::Where ? ".size()" : "[()]");
  }

  std::string primitive(Primitive p, std::span<const TermId> a) {
    const ElementType type = p_.term(a[0]).type;
    if (is_complex(type)) return gap("complex numbers");
    if (row_of(p).kind == PrimitiveKind::Text || (type == ElementType::String && p != Primitive::Equal && p != Primitive::NotEqual)) return gap("operations on texts");
    if (p == Primitive::NextAfter) return gap("the number next to another");
    if (p == Primitive::ToReal) return fmt::format("R.of({})", expression(a[0]));
    if (p == Primitive::ToInteger) return expression(a[0]);
    if (p == Primitive::Not) return pure_[a[0]] ? fmt::format("(not {})", expression(a[0])) : fmt::format("no({})", expression(a[0]));
    if (p == Primitive::And || p == Primitive::Or) {
      if (pure_[a[0]] && pure_[a[1]]) return fmt::format("({} {} {})", expression(a[0]), name_of(p), expression(a[1]));
      return fmt::format("{}({}, {})", p == Primitive::And ? "both" : "either", expression(a[0]), expression(a[1]));
    }
    if (type == ElementType::Z) {
      if (p == Primitive::Negate) return fmt::format("(-{})", expression(a[0]));
      if (const std::string sign = operator_of(p); !sign.empty()) return fmt::format("({} {} {})", expression(a[0]), sign, expression(a[1]));
    }
    return fmt::format("{}.{}({})", python_type(type), method_of(p), list(a));
  }

  std::string cast(const Term& t, TermId a) {
    const ElementType from = p_.term(a).type;
    const auto mode = static_cast<CastMode>(t.operation);
    if (is_complex(from) || (from == ElementType::String) != (t.type == ElementType::String)) return gap(is_complex(from) ? "complex numbers" : "numbers as texts");
    if (mode == CastMode::Reinterpret) return fmt::format("{}.from_bits({}, {})", python_type(t.type), expression(a), python_type(from));
    if (from == t.type && mode == CastMode::Plain) return expression(a);
    const std::string how = mode_of(mode);
    return fmt::format("{}.of({}{})", python_type(t.type), expression(a), how.empty() ? "" : fmt::format(", \"{}\"", how));
  }

  static std::string method_of_reduction(ReduceKind kind) {
    switch (kind) {
      case ReduceKind::Sum: return "sum";
      case ReduceKind::Dot: return "dot";
      case ReduceKind::Product: return "prod";
      case ReduceKind::Maximum: return "greatest";
      case ReduceKind::Minimum: return "smallest";
      case ReduceKind::Any: return "any_of";
      case ReduceKind::All: return "all_of";
      case ReduceKind::Count: return "count";
      case ReduceKind::ArgMax: return "argmax";
      case ReduceKind::ArgMin: return "argmin";
    }
    ensure(false);
  }

  std::string reduce(TermId id) {
    const core::ReduceView r = p_.reduce(id);
    const std::string method = method_of_reduction(r.kind), filter = r.filter == None ? std::string() : expression(r.filter);
    std::string term = r.kind == ReduceKind::Dot ? fmt::format("({}, {})", expression(r.bodies[0]), expression(r.bodies[1])) : r.bodies.empty() ? (filter.empty() ? "True" : filter) : expression(r.bodies[0]);
    std::string turns = loops(r.variables, r.extents);
    const bool places = r.kind == ReduceKind::ArgMax || r.kind == ReduceKind::ArgMin;
    if (!filter.empty() && r.kind != ReduceKind::Count) {
      if (pure_[r.filter] && !places) turns += " if " + filter;
      else term = fmt::format("kept({}, lambda: {})", filter, term);
    }
    const std::string all = "(" + term + turns + ")";
    if (r.kind == ReduceKind::Any || r.kind == ReduceKind::All || r.kind == ReduceKind::Count) return method + all;
    if (places) return fmt::format("{}({}, {})", method, python_type(p_.term(r.bodies[0]).type), all);
    const std::string more = (r.optional_filter ? ", optional=True" : "") + (r.initial != None ? ", start=" + expression(r.initial) : std::string());
    return fmt::format("{}.{}({}{})", python_type(p_.term(id).type), method, more.empty() ? all.substr(1, all.size() - 2) : all, more);
  }

  std::string nth(const core::NthView& n) {
    std::string types, keys;
    for (TermId k : n.keys) types += python_type(p_.term(k).type) + ", ", keys += expression(k) + ", ";
    return fmt::format("nth({}, {}, ({}), lambda {}: ({}), {})", expression(n.place), expression(n.extent), types, name_of_variable(n.variable), keys, n.descending ? "True" : "False");
  }

  const core::Program& p_;
  const core::Sizes& sizes_;
  const PythonOptions& options_;
  std::set<std::string> taken_;
  std::vector<std::uint32_t> uses_;
  std::vector<int> height_;
  std::vector<bool> pure_, seen_, needed_;
  std::vector<TensorId> open_;
  std::unordered_map<TermId, std::string> hoisted_;
  std::set<TermId> written_;
  std::unordered_map<std::size_t, std::string> size_names_;
  std::unordered_map<Variable, std::string> variable_names_;
  std::vector<std::string> tensor_names_;
  PythonProgram out_;
};

}  // namespace

std::string python_name(const std::string& name, const std::string& otherwise, std::set<std::string>& taken) {
  std::string base;
  for (char c : name) base += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = otherwise + (base.empty() ? "" : "_" + base);
  if (base.size() > 40) base.resize(40);
  if (keywords().count(base)) base += "_";
  std::string out = base;
  for (int k = 2; !taken.insert(out).second; ++k) out = fmt::format("{}_{}", base, k);
  return out;
}

std::string python_type(ElementType type) {
  std::string out(name_of(type));
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string python_text(const std::string& text, bool is_utf8) {
  std::string out = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (u < 0x20 || u == 0x7f || (u >= 0x80 && !is_utf8)) out += fmt::format("\\x{:02x}", u);
    else out += c;
  }
  return out + "\"";
}

std::string python_extents(const Extents& extents) {
  std::string out = "(";
  for (std::int64_t e : extents) out += fmt::format("{}, ", e);
  if (!extents.empty()) out.pop_back();
  return out + ")";
}

PythonProgram to_python(const core::Program& program, const core::Sizes& sizes, const PythonOptions& options) { return Emitter(program, sizes, options).make(); }

}  // namespace ulpian::diff
