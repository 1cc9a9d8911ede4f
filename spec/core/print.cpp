// Core programs as text, in the language's own notation. Iterative, and linear in the size of the program: where printing shared terms as a
// tree would be long, they get abbreviations (`#1 = ...`) on lines of their own before the equation that uses them.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "spec/core/program.h"

namespace ulpian::core {
namespace {

// Binding strength, loosest first, as in the grammar of docs/language.md.
enum Level : int { Anything = 0, Branch, Or, And, Not, Compare, Sum, Product, Unary, Power, Postfix };

constexpr std::uint64_t LongTree = 300;     // nodes of an equation from which on shared terms are abbreviated
constexpr std::uint64_t WorthAName = 4;     // nodes of a shared term that is abbreviated
constexpr std::int64_t ShownElements = 16;  // of a literal tensor

std::string constant_text(const Program& p, const Term& t) {
  if (t.type == ElementType::Z) return fmt::format("{}", static_cast<std::int64_t>(t.data));
  if (t.type == ElementType::R) return p.reals[t.data].to_string();
  if (t.type == ElementType::String) return fmt::format("{:?}", p.texts[t.data]);
  if (t.type == ElementType::Bool) return t.data ? "true" : "false";
  if (is_integer(t.type)) return is_signed(t.type) ? fmt::format("{}", to_int64(t.type, t.data)) : fmt::format("{}", t.data);
  if (!is_float(t.type)) return fmt::format("0x{:x}", t.data);
  if (is_nan(t.type, t.data)) return "nan";
  const double value = to_double(t.type, t.data);
  // Shortest text that reads back: for f32 among floats, for every other type among doubles.
  return t.type == ElementType::F32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

int infix_level(Primitive p) {
  switch (p) {
    case Primitive::Or: return Or;
    case Primitive::And: return And;
    case Primitive::Equal:
    case Primitive::NotEqual:
    case Primitive::Less:
    case Primitive::LessEqual:
    case Primitive::Greater:
    case Primitive::GreaterEqual: return Compare;
    case Primitive::Add:
    case Primitive::Subtract: return Sum;
    case Primitive::Multiply:
    case Primitive::Divide:
    case Primitive::FloorDivide:
    case Primitive::Modulo:
    case Primitive::Quotient:
    case Primitive::Remainder: return Product;
    default: return 0;  // written as a call
  }
}

std::string_view mode_text(CastMode mode) {
  switch (mode) {
    case CastMode::Plain:
    case CastMode::Exact:
    case CastMode::Reinterpret: return "";
    case CastMode::Saturate: return "saturate";
    case CastMode::Up: return "up";
    case CastMode::Down: return "down";
    case CastMode::Nearest: return "nearest";
    case CastMode::SaturateUp: return "saturate up";
    case CastMode::SaturateDown: return "saturate down";
    case CastMode::SaturateNearest: return "saturate nearest";
  }
  ensure(false);
}

// Names of the variables of one equation, each its own: apart from each other, the sizes and the tensors.
class Names {
public:
  explicit Names(const Program& p) : program_(p) {
    for (const SizeInfo& s : p.sizes) taken_.insert(s.name);
    for (const TensorNode& t : p.tensors) taken_.insert(t.name);
  }
  const std::string& of(Variable v) {
    auto [at, fresh] = names_.try_emplace(v);
    if (!fresh) return at->second;
    const bool known = v < program_.variables.size() && !program_.variables[v].name.empty();
    const std::string base = known ? program_.variables[v].name : "i";
    std::string name = base;
    for (int k = 2; !taken_.insert(name).second; ++k) name = fmt::format("{}_{}", base, k);
    at->second = name;
    return at->second;
  }

private:
  const Program& program_;
  std::unordered_map<Variable, std::string> names_;
  std::unordered_set<std::string> taken_;
};

class Printer {
public:
  Printer(const Program& p, Names& names) : p_(p), names_(names) {}

  // Must be called with all terms of one equation before they are printed; returns the lines that define the abbreviations.
  std::string abbreviate(std::span<const TermId> roots, std::string_view indent) {
    const std::vector<TermId> order = reachable(roots);
    std::unordered_map<TermId, std::uint64_t> size, uses;
    for (TermId r : roots)
      if (r != None) ++uses[r];
    std::uint64_t total = 0;
    for (TermId t : order) {
      std::uint64_t n = 1;
      for (TermId a : p_.arguments_of(t)) {
        ++uses[a];
        n = std::min<std::uint64_t>(n + size[a], 1u << 30);
      }
      size[t] = n;
    }
    for (TermId r : roots)
      if (r != None) total = std::min<std::uint64_t>(total + size[r], 1u << 30);
    std::string lines;
    if (total <= LongTree) return lines;
    for (TermId t : order) {
      if (uses[t] < 2 || size[t] < WorthAName) continue;
      const std::string name = fmt::format("#{}", short_.size() + 1);
      lines += fmt::format("{}{} = {}\n", indent, name, text(t, Anything));
      short_.emplace(t, name);
    }
    return lines;
  }

  std::string text(TermId id, int level) {
    std::string out;
    pieces_.assign(1, Piece{{}, id, level});
    while (!pieces_.empty()) {
      const Piece piece = std::move(pieces_.back());
      pieces_.pop_back();
      if (piece.term == None) {
        out += piece.text;
        continue;
      }
      const std::size_t before = pieces_.size();
      write(piece.term, piece.level);
      std::reverse(pieces_.begin() + static_cast<std::ptrdiff_t>(before), pieces_.end());
    }
    return out;
  }

  // "i < n, j < m"
  std::string binders(std::span<const Variable> variables, std::span<const TermId> extents) {
    std::string out;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (k) out += ", ";
      out += names_.of(variables[k]);
      if (k < extents.size()) out += " < " + text(extents[k], Sum);
    }
    return out;
  }

  std::string list(std::span<const TermId> terms) {
    std::string out;
    for (std::size_t k = 0; k < terms.size(); ++k) out += (k ? ", " : "") + text(terms[k], Anything);
    return out;
  }

private:
  struct Piece {
    std::string text;
    TermId term = None;
    int level = 0;
  };

  // Arguments before their users: the ids of a program already stand so.
  std::vector<TermId> reachable(std::span<const TermId> roots) const {
    std::vector<TermId> stack, found;
    std::unordered_set<TermId> seen;
    for (TermId r : roots)
      if (r != None && seen.insert(r).second) stack.push_back(r);
    while (!stack.empty()) {
      const TermId t = stack.back();
      stack.pop_back();
      found.push_back(t);
      for (TermId a : p_.arguments_of(t))
        if (seen.insert(a).second) stack.push_back(a);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void put(std::string text) { pieces_.push_back({std::move(text), None, 0}); }
  void put(TermId id, int level) { pieces_.push_back({{}, id, level}); }
  void put_list(std::span<const TermId> terms) {
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (k) put(", ");
      put(terms[k], Anything);
    }
  }
  void put_binders(std::span<const Variable> variables, std::span<const TermId> extents) {
    for (std::size_t k = 0; k < variables.size(); ++k) {
      put((k ? ", " : "") + names_.of(variables[k]) + " < ");
      put(extents[k], Sum);
    }
  }

  // Pushes the pieces of the term in reading order (`text` turns them round).
  void write(TermId id, int level) {
    if (auto s = short_.find(id); s != short_.end()) return put(s->second);
    const Term& t = p_.term(id);
    const auto a = p_.arguments_of(id);
    switch (t.kind) {
      case TermKind::Constant: return put_constant(t, level);
      case TermKind::Variable: return put(names_.of(static_cast<Variable>(t.data)));
      case TermKind::Size: return put(p_.sizes[t.data].name);
      case TermKind::Primitive: return put_primitive(static_cast<Primitive>(t.operation), a, level);
      case TermKind::Cast: return put_cast(t, a[0]);
      case TermKind::Select: return enclosed(level > Anything, [&] {
        put("if "), put(a[0], Branch), put(" then "), put(a[1], Branch), put(" else "), put(a[2], Anything);
      });
      case TermKind::Read:
        put(p_.tensors[t.data].name + "["), put_list(a), put("]");
        return;
      // Between `then` and its `else` it needs parentheses, so it gets them wherever it is a part of something.
      case TermKind::ReadElse: return enclosed(level > Anything, [&] {
        put(p_.tensors[t.data].name + "["), put_list(a.first(a.size() - 1)), put("] else ");
        put(a.back(), Unary);
        if (t.flags & OptionalTerm) put("?");
      });
      case TermKind::Reduce: return enclosed(level > Anything, [&] { put_reduce(id); });
      case TermKind::Fold: return enclosed(level > Anything, [&] {
        const FoldView v = p_.fold(id);
        put("accumulate("), put_binders(v.variables, v.extents);
        put((v.variables.empty() ? "" : ", ") + names_.of(v.accumulator) + " = "), put(v.initial, Anything), put(") "), put(v.body, Product);
      });
      case TermKind::Nth: return enclosed(level > Anything, [&] { put_nth(p_.nth(id)); });
      case TermKind::Choice:
        if (static_cast<ChoiceKind>(t.operation) == ChoiceKind::OneOf) return put("one of ("), put_list(a), put(")");
        return enclosed(level > Anything, [&] { put(a[0], Postfix), put(" within body ("), put_list(a.subspan(1)), put(")"); });
      case TermKind::Unspecified: return put(fmt::format("unspecified({})", ulpian::name_of(t.type)));
      case TermKind::Random:
        put("random("), put_list(a), put(")");
        return;
    }
    ensure(false);
  }

  template <typename F>
  void enclosed(bool parentheses, F inside) {
    if (parentheses) put("(");
    inside();
    if (parentheses) put(")");
  }

  void put_constant(const Term& t, int level) {
    const std::string text = constant_text(p_, t);
    const bool compound = text.front() == '-' || (t.type == ElementType::R && text.find('/') != std::string::npos);
    put(compound && level > Product ? "(" + text + ")" : text);
  }

  void put_primitive(Primitive p, std::span<const TermId> a, int level) {
    if (p == Primitive::Negate) return enclosed(level > Unary, [&] { put("-"), put(a[0], Unary); });
    if (p == Primitive::Not) return enclosed(level > Not, [&] { put("not "), put(a[0], Not); });
    if (p == Primitive::Power) return enclosed(level > Power, [&] { put(a[0], Postfix), put(" ** "), put(a[1], Power); });
    if (p == Primitive::Concatenate) return enclosed(level > Sum, [&] { put(a[0], Sum), put(" ++ "), put(a[1], Product); });
    const int own = infix_level(p);
    // Left to right: the right operand must bind tighter. Comparisons chain in the grammar, so both must.
    if (own) return enclosed(level > own, [&] {
      put(a[0], own == Compare ? own + 1 : own), put(fmt::format(" {} ", ulpian::name_of(p))), put(a[1], own + 1);
    });
    put(fmt::format("{}(", ulpian::name_of(p))), put_list(a), put(")");
  }

  void put_cast(const Term& t, TermId a) {
    const auto mode = static_cast<CastMode>(t.operation);
    put(fmt::format("{}({}, ", mode == CastMode::Exact ? "exactly" : mode == CastMode::Reinterpret ? "bits" : "cast", ulpian::name_of(t.type))), put(a, Anything);
    put(mode_text(mode).empty() ? ")" : fmt::format(", \"{}\")", mode_text(mode)));
  }

  void put_reduce(TermId id) {
    const ReduceView v = p_.reduce(id);
    const bool accumulates = v.kind == ReduceKind::Sum || v.kind == ReduceKind::Product || v.kind == ReduceKind::Dot;
    put(std::string(name_of(v.kind)) + (accumulates ? fmt::format("[{}](", ulpian::name_of(p_.term(id).type)) : "("));
    put_binders(v.variables, v.extents);
    if (v.filter != None) put(" if "), put(v.filter, Branch), put(v.optional_filter ? "?" : "");
    if (v.initial != None) put(" from "), put(v.initial, Branch);
    put(")");
    const bool logical = v.kind == ReduceKind::Any || v.kind == ReduceKind::All;
    for (std::size_t k = 0; k < v.bodies.size(); ++k) put(k ? " * " : " "), put(v.bodies[k], logical ? Not : k ? Unary : Product);
  }

  void put_nth(const NthView& v) {
    put("argsort("), put_binders(std::span(&v.variable, 1), std::span(&v.extent, 1)), put(", at "), put(v.place, Anything), put(") ");
    if (v.keys.size() == 1) put(v.keys[0], Product);
    else put("["), put_list(v.keys), put("]");
    if (v.descending) put(" descending");
  }

  const Program& p_;
  Names& names_;
  std::unordered_map<TermId, std::string> short_;
  std::vector<Piece> pieces_;
};

std::string literal_text(const TensorNode& node) {
  std::string out = "[";
  const Tensor& t = *node.literal;
  for (std::int64_t k = 0; k < std::min(t.size(), ShownElements); ++k) {
    if (k) out += ", ";
    if (t.type() == ElementType::String) {
      out += fmt::format("{:?}", t.strings()[static_cast<std::size_t>(k)]);
    } else if (is_complex(t.type())) {
      out += "...";
      break;
    } else {
      Term element;
      element.type = t.type();
      element.data = t.at(k);
      out += constant_text(Program{}, element);
    }
  }
  if (t.size() > ShownElements) out += ", ...";
  return out + "]";
}

// `name[binders]: type = ` of an equation; the axes of a recurrence's own variables are bound there, the group's are only named.
std::string equation(const Program& p, Printer& printer, Names& names, const TensorNode& t, std::size_t outer, std::string_view indent) {
  const std::string before = printer.abbreviate(std::span(&t.body, 1), std::string(indent) + "  ");
  std::string head;
  for (std::size_t k = 0; k < std::min(outer, t.variables.size()); ++k) head += (k ? ", " : "") + names.of(t.variables[k]);
  if (outer && outer < t.variables.size()) head += ", ";
  head += printer.binders(std::span(t.variables).subspan(std::min(outer, t.variables.size())), std::span(t.extents).subspan(std::min(outer, t.extents.size())));
  (void)p;
  return fmt::format("{}{}{}[{}]: {} = {}\n", before, indent, t.name, head, ulpian::name_of(t.type), printer.text(t.body, Anything));
}

std::string scatter_text(const Program& p, Printer& printer, const TensorNode& t) {
  std::string out = fmt::format("{} = scatter({}", t.name, printer.binders(t.variables, t.domain));
  if (t.scatter.filter != None) out += " if " + printer.text(t.scatter.filter, Branch);
  out += fmt::format(") {} at [{}] into {}", printer.text(t.body, Sum), printer.list(t.scatter.index), p.tensors[t.scatter.base].name);
  if (t.scatter.mode != ScatterMode::Last) out += fmt::format(" by \"{}\"", name_of(t.scatter.mode));
  return out + "\n";
}

std::string tensor_text(const Program& p, TensorId id) {
  const TensorNode& t = p.tensors[id];
  Names names(p);
  Printer printer(p, names);
  const std::string typed = fmt::format("{}: {}[{}]", t.name, ulpian::name_of(t.type), printer.list(t.extents));
  switch (t.kind) {
    case TensorKind::Input: return "in " + typed + (t.rounded ? " rounded" : "") + "\n";
    case TensorKind::Literal: return typed + " = " + literal_text(t) + "\n";
    case TensorKind::Comprehension: return equation(p, printer, names, t, 0, "");
    case TensorKind::Recurrence: {
      const Recurrence& r = p.recurrences[t.group];
      if (r.members.empty() || r.members.front() != id) return {};
      std::string out = fmt::format("rec ({}) {{\n", printer.binders(r.variables, r.extents));
      for (TensorId m : r.members) {
        Printer member(p, names);
        out += equation(p, member, names, p.tensors[m], r.variables.size(), "  ");
      }
      return out + "}\n";
    }
    case TensorKind::Where:
      return printer.abbreviate(std::span(&t.body, 1), "  ") +
             fmt::format("{} = where({}) {}\n", t.name, printer.binders(t.variables, t.domain), printer.text(t.body, Not));
    case TensorKind::Measured:
      return printer.abbreviate(std::span(&t.body, 1), "  ") + fmt::format("{} = measured({})\n", t.name, printer.text(t.body, Anything));
    case TensorKind::Scatter: {
      std::vector<TermId> roots(t.scatter.index);
      roots.push_back(t.body);
      if (t.scatter.filter != None) roots.push_back(t.scatter.filter);
      const std::string before = printer.abbreviate(roots, "  ");
      return before + scatter_text(p, printer, t);
    }
  }
  ensure(false);
}

std::string condition_text(const Program& p, std::string_view word, const Condition& c) {
  Names names(p);
  Printer printer(p, names);
  const std::string before = printer.abbreviate(std::span(&c.term, 1), "  ");
  std::string out = fmt::format("{}{} {}", before, word, printer.text(c.term, Anything));
  if (!c.message.empty()) out += fmt::format("  {:?}", c.message);
  return out + "\n";
}

}  // namespace

std::string to_string(const Program& p, TermId term) {
  Names names(p);
  Printer printer(p, names);
  const std::string before = printer.abbreviate(std::span(&term, 1), "");
  return before + printer.text(term, Anything);
}

std::string to_string(const Program& p) {
  std::string out = p.op.empty() ? "" : "# " + p.op + "\n";
  for (const Condition& c : p.path) out += condition_text(p, "given", c);
  for (TensorId t = 0; t < p.tensors.size(); ++t) out += tensor_text(p, t);
  for (const Condition& c : p.requirements) out += condition_text(p, "require", c);
  for (const Condition& c : p.undefined) out += condition_text(p, "undefined when", c);
  for (std::int64_t axis : p.unordered_axes) out += fmt::format("unordered along {}\n", axis);
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    const std::string name = k < p.output_names.size() ? p.output_names[k] : fmt::format("output {}", k);
    out += p.outputs[k] == None ? fmt::format("out {}: none\n", name) : fmt::format("out {} = {}\n", name, p.tensors[p.outputs[k]].name);
  }
  return out;
}

}  // namespace ulpian::core
