// The `example`s of definitions, made into calls with values and expectations.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "spec/language/elaborate.h"
#include "spec/language/elaborator.h"
#include "spec/language/graph_literal.h"

namespace ulpian::language {
namespace {

// A nested list of scalars as extents and a flat sequence.
struct Array {
  Extents extents;
  std::vector<Value> elements;
  std::vector<const Expr*> literals;  // where each was written, or null
};

bool is_literal_list(const Expr* e) { return e && e->kind == ExprKind::List; }

bool flatten(const Value& v, const Expr* e, std::size_t depth, Array& out) {
  if (out.elements.size() > MostListItems) return false;
  if (!v.is(Tag::List)) {
    if (out.extents.size() != depth && !(out.elements.empty() && out.extents.size() <= depth)) return false;
    out.elements.push_back(v);
    out.literals.push_back(e);
    return out.extents.size() == depth;
  }
  const auto n = static_cast<std::int64_t>(v.list->size);
  if (out.extents.size() <= depth) {
    if (!out.elements.empty()) return false;
    out.extents.push_back(n);
  } else if (out.extents[depth] != n) {
    return false;
  }
  const bool parallel = is_literal_list(e) && e->args.size() == v.list->size;
  for (std::size_t k = 0; k < v.list->size; ++k)
    if (!flatten(v.list->items[k], parallel ? e->args[k] : nullptr, depth + 1, out)) return false;
  return true;
}

// One unit of the last digit written: 0.0900 is 1e-4, 12 is 1, 1.5e3 is 100.
double unit_of_last_digit(const Expr* e) {
  while (e && e->kind == ExprKind::Unary && e->op == Operator::Negate) e = e->args[0];
  if (!e || e->kind != ExprKind::Number) return 0;
  const std::string_view text = e->text;
  if (text.starts_with("0x") || text.starts_with("0X")) return 1;
  const std::size_t mark = text.find_first_of("eE");
  const std::string_view digits = text.substr(0, mark);
  const std::size_t point = digits.find('.');
  // The literal's exponent, and the one of its last digit.
  std::string unit = "1e";
  const Exact shift = point == std::string_view::npos ? Exact(0) : Exact(-static_cast<std::int64_t>(digits.size() - point - 1));
  Exact power = shift;
  if (mark != std::string_view::npos) {
    std::string_view written = text.substr(mark + 1);
    const bool negative = written.starts_with('-');
    if (negative || written.starts_with('+')) written.remove_prefix(1);
    const auto magnitude = Exact::parse(written);
    if (!magnitude) return 0;
    power = negative ? shift - *magnitude : shift + *magnitude;
  }
  const auto exact = Exact::parse(unit + power.to_string());
  return exact ? exact->to_double() : 0;
}

}  // namespace

Value Elaborator::evaluate_static(const OperatorDefinition& definition, const Expr* e) {
  static const Scope Empty{};
  Context c;
  c.file = definition.file;
  c.scope = &Empty;
  return eval(c, e);
}

namespace {

// An element of a complex tensor whose imaginary part is and stays zero.
void set_real(Tensor& t, std::size_t k, const Exact& re) {
  const auto width = static_cast<std::size_t>(bytes_of(part_of(t.type())));
  const Bits bits = re.round_to(part_of(t.type()), CastMode::Plain);
  std::memcpy(t.writable_bytes().data() + 2 * width * k, &bits, width);
}

class ExampleBuilder {
public:
  ExampleBuilder(const Specification& spec, const OperatorDefinition& op) : spec_(spec), op_(op), eval_(spec, {}) {}

  std::vector<Example> run() {
    std::vector<Example> out;
    int number = 0;
    for (const Clause& c : op_.clauses)
      if (c.kind == ClauseKind::Example) example(c, ++number, out);
    return out;
  }

private:
  [[noreturn]] void fail(const Clause& c, std::string text) const {
    throw ElaborationError{diagnose(*op_.file, c.at, ErrorKind::Definition, std::move(text))};
  }
  const std::string& name(Symbol s) const { return spec_.symbols().name(s); }

  // What an example states before its braces.
  struct Settings {
    std::int64_t version = 0;
    std::map<Symbol, ElementType> types;    // of type variables
    std::map<Symbol, ElementType> dtypes;   // attributes that name a type
    Attributes attributes;
    std::vector<std::pair<const Clause*, const Expr*>> graphs;  // attributes too, made when the version is known
  };

  const Clause* clause_named(ClauseKind kind, Symbol symbol) const {
    auto it = std::find_if(op_.clauses.begin(), op_.clauses.end(), [&](const Clause& k) { return k.kind == kind && k.name == symbol; });
    return it == op_.clauses.end() ? nullptr : &*it;
  }

  Settings settings(const Clause& c) {
    Settings out;
    out.version = op_.since.front();
    for (const NamedArgument& s : c.settings) {
      if (const Clause* a = clause_named(ClauseKind::Attribute, s.name); a && a->attribute_kind == AttributeKind::Graph) {
        out.graphs.emplace_back(a, s.value);
        continue;
      }
      const Value v = eval_.evaluate_static(op_, s.value);
      if (name(s.name) == "version") {
        if (!v.is(Tag::Integer)) fail(c, "version = N names an opset version");
        out.version = v.integer;
      } else if (clause_named(ClauseKind::Type, s.name)) {
        if (!v.is(Tag::Type)) fail(c, fmt::format("{} is an element type", name(s.name)));
        out.types[s.name] = v.type;
      } else if (const Clause* a = clause_named(ClauseKind::Attribute, s.name)) {
        out.attributes.emplace(name(s.name), attribute(c, *a, v));
        if (a->attribute_kind == AttributeKind::Dtype && v.is(Tag::Type)) out.dtypes[s.name] = v.type;
      } else {
        fail(c, fmt::format("{} is no attribute, type or version of {}", name(s.name), op_.name));
      }
    }
    for (const auto& [a, value] : out.graphs) {
      GraphLiteral literal{spec_, *op_.file, out.version, [&](const Clause& of, const Expr* e) { return attribute(c, of, eval_.evaluate_static(op_, e)); }};
      out.attributes.emplace(name(a->name), literal.graph_of(value));
    }
    return out;
  }

  // Type variables that the example leaves open: the first runs over all types that hold its literals, the others take the same where they can.
  std::vector<std::map<Symbol, ElementType>> assignments(const Clause& c, const Settings& given) {
    std::vector<std::map<Symbol, ElementType>> out{given.types};
    Symbol first = NoSymbol;
    for (const Clause& k : op_.clauses) {
      if (k.kind != ClauseKind::Type || given.types.count(k.name) || is_loose(k.name)) continue;
      std::vector<ElementType> fitting;
      for (ElementType t : types_of(k, given.version))
        if (holds_all(k.name, t)) fitting.push_back(t);
      if (fitting.empty()) fail(c, fmt::format("no element type of {} holds the literals of this example", name(k.name)));
      if (first != NoSymbol) {
        for (auto& a : out) a[k.name] = prefer(fitting, a[first]);
        continue;
      }
      first = k.name;
      const auto base = out.front();
      out.assign(fitting.size(), base);
      for (std::size_t j = 0; j < fitting.size(); ++j) out[j][first] = fitting[j];
    }
    return out;
  }

  void example(const Clause& c, int number, std::vector<Example>& out) {
    const Settings given = settings(c);
    collect(c);
    for (const auto& types : assignments(c, given)) {
      Example e = build(c, number, given, types);
      if (!says_nothing(given, types, e)) out.push_back(std::move(e));
    }
  }

  // Whether a definition leaves open what it is at a complex type, which an example takes only because the literals fit.
  bool says_nothing(const Settings& given, const std::map<Symbol, ElementType>& types, const Example& e) const {
    const bool chosen = std::any_of(types.begin(), types.end(), [&](const auto& t) { return is_complex(t.second) && !given.types.count(t.first); });
    if (!chosen || e.expects_error || holds_graphs(op_)) return false;
    const auto program = elaborate(spec_, e.call);
    return !program && program.error().kind == ErrorKind::Undefined;
  }

  // Several type variables are mostly the same type.
  static ElementType prefer(const std::vector<ElementType>& fitting, ElementType like) {
    return std::find(fitting.begin(), fitting.end(), like) != fitting.end() ? like : fitting.front();
  }

  // A tensor, a sequence, or nothing.
  struct Piece {
    core::ResultKind kind = core::ResultKind::Tensor;
    std::vector<Array> arrays;  // one, or those of a sequence
    bool optional = false;      // written optional(...)
  };
  struct Item {
    const Clause* clause;
    const ExampleValue* written;
    std::vector<Piece> pieces;  // one, or several of a variadic one
  };

  Array array(const Clause& c, const ExampleValue& v, const Value& value, const Expr* e) const {
    Array a;
    if (!flatten(value, e, 0, a)) fail(c, fmt::format("the value of {} is not a rectangular array", name(v.name)));
    return a;
  }

  // A sequence is a list of arrays; where a tensor might stand as well it is written sequence(a, b, ...). Either may be of an optional type: optional(a); optional(absent) holds neither.
  Piece piece(const Clause& c, const Clause& of, const ExampleValue& v, const Expr* e) {
    Piece out;
    const auto said = [&](std::string_view word) {
      return e->kind == ExprKind::Call && e->args[0]->kind == ExprKind::Name && name(e->args[0]->symbol) == word && e->named.empty();
    };
    if (said("optional") && e->args.size() == 2) {
      out = piece(c, of, v, e->args[1]);
      out.optional = true;
      return out;
    }
    if (said("sequence")) {
      out.kind = core::ResultKind::Sequence;
      for (const Expr* x : std::span(e->args).subspan(1)) out.arrays.push_back(array(c, v, eval_.evaluate_static(op_, x), x));
      return out;
    }
    const Value value = eval_.evaluate_static(op_, e);
    if (value.is(Tag::Absent)) {
      out.kind = core::ResultKind::Nothing;
    } else if (of.sequence) {
      if (!value.is(Tag::List)) fail(c, fmt::format("{} is a list of arrays", name(v.name)));
      out.kind = core::ResultKind::Sequence;
      const bool parallel = is_literal_list(e) && e->args.size() == value.list->size;
      for (std::size_t k = 0; k < value.list->size; ++k) out.arrays.push_back(array(c, v, value.list->items[k], parallel ? e->args[k] : nullptr));
    } else {
      out.arrays.push_back(array(c, v, value, e));
    }
    return out;
  }

  void collect(const Clause& c) {
    items_.clear();
    for (const ExampleValue& v : c.values) {
      auto it = std::find_if(op_.clauses.begin(), op_.clauses.end(), [&](const Clause& k) {
        return (k.kind == ClauseKind::In || k.kind == ClauseKind::Out) && k.name == v.name;
      });
      if (it == op_.clauses.end()) fail(c, fmt::format("{} is no input or output of {}", name(v.name), op_.name));
      Item item{&*it, &v, {}};
      if (it->variadic || it->each != NoSymbol) {
        if (!is_literal_list(v.value)) {
          const Value all = eval_.evaluate_static(op_, v.value);
          if (!all.is(Tag::List)) fail(c, fmt::format("{} is a list of arrays", name(v.name)));
          for (const Value& x : all.items()) item.pieces.push_back({core::ResultKind::Tensor, {array(c, v, x, nullptr)}});
        } else {
          for (const Expr* e : v.value->args) item.pieces.push_back(piece(c, *it, v, e));
        }
      } else {
        item.pieces.push_back(piece(c, *it, v, v.value));
      }
      if (!gives_value(item)) require_tensor_output(c, item);
      items_.push_back(std::move(item));
    }
  }

  void require_tensor_output(const Clause& c, const Item& i) const {
    const Clause& k = *i.clause;
    const bool plain = k.kind == ClauseKind::Out && !k.variadic && k.each == NoSymbol && !k.sequence && !k.any_kind;
    if (!plain || i.pieces.size() != 1 || i.pieces[0].kind != core::ResultKind::Tensor)
      fail(c, fmt::format("'allows' and 'forbids' are said of an output that is a tensor; {} is none", name(k.name)));
  }

  std::vector<ElementType> types_of(const Clause& k, std::int64_t version) const {
    const TypeSet* chosen = &k.sets[0];
    for (const TypeSet& s : k.sets)
      if (s.before && version_in_force(op_, version) < s.before) chosen = &s;
    std::vector<ElementType> out;
    for (Symbol s : chosen->names)
      if (auto set = type_set(name(s))) out.insert(out.end(), set->begin(), set->end());
    return out;
  }

  bool holds(ElementType t, const Value& v) const {
    if (v.is(Tag::Bool)) return t == ElementType::Bool;
    if (v.is(Tag::String)) return t == ElementType::String;
    if (is_complex(t)) return holds(part_of(t), v);
    if (!v.is_number() || (!is_float(t) && !is_integer(t))) return false;
    const Exact e = eval_.exact_of(v);
    if (is_integer(t)) return e.to_bits(t).has_value() && !e.is_negative_zero();
    if (e.is_nan()) return has_nan(t);
    if (e.is_infinite()) return has_infinity(t);
    if (e.is_negative_zero()) return Exact::of(t, e.round_to(t, CastMode::Plain)).is_negative_zero();
    const Exact back = Exact::of(t, e.round_to(t, CastMode::Plain));
    return back == e;
  }

  bool holds_all(Symbol variable, ElementType t) const {
    for (const Item& i : items_) {
      if (i.clause->type != variable || i.clause->any_kind) continue;
      for (const Piece& p : i.pieces)
        for (const Array& a : p.arrays)
          if (!holds_all(i, a, t)) return false;
    }
    return true;
  }

  bool holds_all(const Item& i, const Array& a, ElementType t) const {
    return std::all_of(a.elements.begin(), a.elements.end(), [&](const Value& v) {
      // Digits written to be nearly right need a type that can tell.
      return i.written->relation == ExampleRelation::About ? v.is_number() && is_float(t) && bits_of(t) >= 32 : holds(t, v);
    });
  }

  // Whether a type variable only bounds values of any kind, each of which has a type of its own.
  bool is_loose(Symbol variable) const {
    return std::all_of(op_.clauses.begin(), op_.clauses.end(), [&](const Clause& k) {
      return (k.kind != ClauseKind::In && k.kind != ClauseKind::Out) || k.type != variable || k.any_kind;
    });
  }

  Attribute attribute(const Clause& c, const Clause& a, const Value& v) {
    auto number_of = [&](const Value& x) { return eval_.exact_of(x); };
    auto integer_of = [&](const Value& x) -> std::int64_t {
      if (x.is(Tag::Bool)) return x.boolean ? 1 : 0;
      if (x.is(Tag::Integer)) return x.integer;
      fail(c, fmt::format("the attribute {} is an integer", name(a.name)));
    };
    auto float_of = [&](const Value& x) -> float {
      if (!x.is_number()) fail(c, fmt::format("the attribute {} is a float", name(a.name)));
      return static_cast<float>(to_double(ElementType::F32, number_of(x).round_to(ElementType::F32, CastMode::Plain)));
    };
    if (a.is_list) {
      if (!v.is(Tag::List)) fail(c, fmt::format("the attribute {} is a list", name(a.name)));
      if (a.attribute_kind == AttributeKind::Float) {
        std::vector<float> out;
        for (const Value& x : v.items()) out.push_back(float_of(x));
        return out;
      }
      if (a.attribute_kind == AttributeKind::String) {
        std::vector<std::string> out;
        for (const Value& x : v.items()) out.push_back(eval_.show(x));
        return out;
      }
      std::vector<std::int64_t> out;
      for (const Value& x : v.items()) out.push_back(integer_of(x));
      return out;
    }
    switch (a.attribute_kind) {
      case AttributeKind::Int:
      case AttributeKind::Bool: return integer_of(v);
      case AttributeKind::Float: return float_of(v);
      case AttributeKind::String:
        if (v.is(Tag::String)) return *v.string;
        break;
      case AttributeKind::Dtype:
        if (v.is(Tag::Type)) return std::string(name_of(v.type));
        if (v.is(Tag::Integer)) return v.integer;
        break;
      case AttributeKind::Tensor: {
        Array array;
        if (!flatten(v, nullptr, 0, array)) break;
        // A tensor's element type: i64 for integers, bool for conditions, else f32.
        ElementType t = ElementType::I64;
        for (const Value& x : array.elements) t = x.is(Tag::Bool) ? ElementType::Bool : x.is(Tag::String) ? ElementType::String : t;
        if (t == ElementType::I64)
          for (const Value& x : array.elements)
            if (!holds(ElementType::I64, x)) t = ElementType::F32;
        return tensor(c, array, t);
      }
      case AttributeKind::Graph: break;
    }
    fail(c, fmt::format("this value does not suit the attribute {}", name(a.name)));
  }

  Tensor tensor(const Clause& c, const Array& a, ElementType t) {
    if (t == ElementType::String) {
      std::vector<std::string> strings;
      for (const Value& v : a.elements) strings.push_back(eval_.show(v));
      return Tensor(a.extents, std::move(strings));
    }
    if (is_complex(t)) return complex_tensor(a, t);
    if (bytes_of(t) == 0) fail(c, fmt::format("no tensor holds elements of type {}", name_of(t)));
    Tensor out(t, a.extents);
    for (std::size_t k = 0; k < a.elements.size(); ++k) {
      const Value& v = a.elements[k];
      Bits bits = 0;
      if (v.is(Tag::Bool)) {
        if (t != ElementType::Bool) fail(c, fmt::format("a condition where elements are {}", name_of(t)));
        bits = v.boolean ? 1 : 0;
      } else if (v.is_number() && is_float(t)) {
        bits = eval_.exact_of(v).round_to(t, CastMode::Plain);
      } else {
        auto exact = v.is_number() ? eval_.exact_of(v).to_bits(t) : std::nullopt;
        if (t == ElementType::Bool && v.is(Tag::Integer) && (v.integer == 0 || v.integer == 1)) exact = static_cast<Bits>(v.integer);
        if (!exact) fail(c, fmt::format("{} does not fit {}", eval_.show(v), name_of(t)));
        bits = *exact;
      }
      out.set(static_cast<std::int64_t>(k), bits);
    }
    return out;
  }

  // Real parts; the imaginary parts are zero.
  Tensor complex_tensor(const Array& a, ElementType t) {
    Tensor out(t, a.extents);
    for (std::size_t k = 0; k < a.elements.size(); ++k) {
      const Exact re = a.elements[k].is_number() ? eval_.exact_of(a.elements[k]) : Exact(0);
      set_real(out, k, re);
    }
    return out;
  }

  std::optional<ElementType> resolve(const Item& item, const Array* a, std::int64_t version, const std::map<Symbol, ElementType>& types,
                                     const std::map<Symbol, ElementType>& dtypes) {
    const bool is_input = item.clause->kind == ClauseKind::In;
    if (item.clause->any_kind && !types.count(item.clause->type)) {
      const Clause* set = clause_named(ClauseKind::Type, item.clause->type);
      if (!is_input || !set) return std::nullopt;
      for (ElementType t : types_of(*set, version))
        if (!a || holds_all(item, *a, t)) return t;
      return std::nullopt;
    }
    if (auto it = types.find(item.clause->type); it != types.end()) return it->second;
    if (auto it = dtypes.find(item.clause->type); it != dtypes.end()) return it->second;
    if (auto t = element_type_named(name(item.clause->type))) return *t;
    // The default of an attribute that names a type.
    for (const Clause& k : op_.clauses)
      if (k.kind == ClauseKind::Attribute && k.name == item.clause->type && k.value) {
        const Value v = eval_.evaluate_static(op_, k.value);
        if (v.is(Tag::Type)) return v.type;
      }
    return std::nullopt;
  }

  static bool gives_value(const Item& i) { return i.written->relation == ExampleRelation::Equals || i.written->relation == ExampleRelation::About; }
  const Item* item_of(const Clause& k) const {
    auto it = std::find_if(items_.begin(), items_.end(), [&](const Item& i) { return i.clause == &k && gives_value(i); });
    return it == items_.end() ? nullptr : &*it;
  }

  Example build(const Clause& c, int number, const Settings& given, const std::map<Symbol, ElementType>& types) {
    Example e;
    e.definition = &op_;
    e.place = {op_.file->path, c.at.line, 0};
    e.title = fmt::format("{} since {}, example {}", op_.name, op_.since.front(), number);
    for (const auto& [symbol, t] : types) e.title += fmt::format(", {} = {}", name(symbol), name_of(t));
    e.expects_error = c.expects_error;
    e.expects_undefined = c.expects_undefined;
    e.reason = c.reason;
    e.call.op = op_.name;
    e.call.version = given.version;
    e.call.attributes = given.attributes;
    for (const Clause& k : op_.clauses)
      if (k.kind == ClauseKind::In) add_input(c, k, types, given.dtypes, e);
    while (!e.call.inputs.empty() && !e.call.inputs.back().present && e.call.inputs.back().plain) {
      e.inputs.pop_back();
      e.call.inputs.pop_back();
    }
    add_expectations(c, types, given.dtypes, e);
    return e;
  }

  static void leave_out(Example& e, bool plain) {
    e.inputs.emplace_back();
    InputDescription& d = e.call.inputs.emplace_back();
    d.present = false;
    d.plain = plain;
  }

  void add_input(const Clause& c, const Clause& k, const std::map<Symbol, ElementType>& types, const std::map<Symbol, ElementType>& dtypes, Example& e) {
    const Item* item = item_of(k);
    if (!item) {
      if (k.variadic) return;
      leave_out(e, true);
      return;
    }
    for (const Piece& p : item->pieces) {
      if (p.kind == core::ResultKind::Nothing) {
        leave_out(e, !p.optional);
        continue;
      }
      std::vector<InputDescription> described;
      const auto type = resolve(*item, p.arrays.empty() ? nullptr : &p.arrays[0], e.call.version, types, dtypes);
      if (!type) fail(c, fmt::format("the element type of {} is not known", name(k.name)));
      for (const Array& a : p.arrays) {
        Tensor t = tensor(c, a, *type);
        InputDescription& d = described.emplace_back();
        d.type = t.type();
        for (std::int64_t n : t.extents()) d.extents.push_back({n, {}});
        d.value = t;
        e.inputs.push_back(std::move(t));
      }
      if (p.kind == core::ResultKind::Tensor) {
        e.call.inputs.push_back(std::move(described[0]));
      } else {
        InputDescription& d = e.call.inputs.emplace_back();
        d.type = *type;
        d.is_sequence = true;
        d.items = std::move(described);
      }
      e.call.inputs.back().plain = !p.optional;
    }
  }

  // Outputs by position; of those that the example does not give, each takes one.
  void add_expectations(const Clause& c, const std::map<Symbol, ElementType>& types, const std::map<Symbol, ElementType>& dtypes, Example& e) {
    std::size_t position = 0, asked = 1;
    for (const Clause& k : op_.clauses) {
      if (k.kind != ClauseKind::Out) continue;
      for (const Item& i : items_)
        if (i.clause == &k && !gives_value(i)) {
          const Array& a = i.pieces[0].arrays[0];
          auto& of = i.written->relation == ExampleRelation::Allows ? e.allowed : e.forbidden;
          of.push_back(expected(c, i, a, position, 0, resolve(i, &a, e.call.version, types, dtypes)));
          asked = position + 1;
        }
      const Item* item = item_of(k);
      if (!item) {
        if (!k.variadic && k.each == NoSymbol) ++position;
        continue;
      }
      for (const Piece& p : item->pieces) {
        e.expected_results.push_back({name(k.name), position, p.kind, p.arrays.size()});
        for (std::size_t j = 0; j < p.arrays.size(); ++j)
          e.expected.push_back(expected(c, *item, p.arrays[j], position, j, resolve(*item, &p.arrays[j], e.call.version, types, dtypes)));
        ++position;
      }
      asked = std::max(asked, position);
    }
    e.call.outputs = std::max<std::size_t>(asked, 1);
  }

  Example::Expected expected(const Clause& c, const Item& item, const Array& a, std::size_t output, std::size_t part, std::optional<ElementType> type) const {
    Example::Expected x;
    x.name = name(item.clause->name);
    x.output = output;
    x.part = part;
    x.type = type;
    x.extents = a.extents;
    for (const Value& v : a.elements) {
      if (v.is(Tag::String)) x.strings.push_back(*v.string);
      else if (v.is(Tag::Bool)) x.numbers.emplace_back(v.boolean ? 1 : 0);
      else if (v.is_number()) x.numbers.push_back(eval_.exact_of(v));
      else fail(c, fmt::format("{} holds something that is no element", x.name));
    }
    if (item.written->relation == ExampleRelation::About)
      for (const Expr* literal : a.literals) x.tolerance.push_back(unit_of_last_digit(literal));
    return x;
  }

  const Specification& spec_;
  const OperatorDefinition& op_;
  Elaborator eval_;
  std::vector<Item> items_;
};

}  // namespace

std::optional<Tensor> Example::Expected::value(ElementType of) const {
  if (of == ElementType::String || !strings.empty()) {
    if (of != ElementType::String || !numbers.empty()) return std::nullopt;
    return Tensor(extents, strings);
  }
  if (bytes_of(of) == 0) return std::nullopt;
  Tensor out(of, extents);
  if (is_complex(of)) {
    for (std::size_t k = 0; k < numbers.size(); ++k) set_real(out, k, numbers[k]);
    return out;
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const Exact& e = numbers[k];
    std::optional<Bits> bits;
    if (of == ElementType::Bool) {
      if (e == Exact(0) || e == Exact(1)) bits = e == Exact(1) ? 1 : 0;
    } else if (is_float(of)) {
      bits = e.round_to(of, CastMode::Plain);
    } else {
      bits = e.to_bits(of);
    }
    if (!bits) return std::nullopt;
    out.set(static_cast<std::int64_t>(k), *bits);
  }
  return out;
}

Result<std::vector<Example>> examples_of(const Specification& specification, const OperatorDefinition& definition) {
  try {
    return ExampleBuilder(specification, definition).run();
  } catch (ElaborationError& x) {
    return std::move(x.diagnostic);
  } catch (const LimitReached& x) {
    return diagnose(*definition.file, definition.at, ErrorKind::Limit, fmt::format("the examples of {} need more {}", definition.name, x.what));
  } catch (const ExactTooLarge& x) {
    return diagnose(*definition.file, definition.at, ErrorKind::Limit, fmt::format("the examples of {} need {}", definition.name, x.what()));
  } catch (const UndecidedCondition& x) {
    return diagnose(*definition.file, definition.at, ErrorKind::Definition, fmt::format("an example of {} depends on {}", definition.name, x.text));
  }
}

}  // namespace ulpian::language
