#include "tools/mutants/mutations.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "spec/language/lexer.h"

namespace ulpian::tools {
namespace {

using namespace language;

struct Pair {
  std::string_view from, to;
};

// Words that stand for each other: a call, a reduction or a constant of the one is also one of the other.
constexpr Pair Words[] = {
    {"true", "false"}, {"false", "true"}, {"min", "max"}, {"max", "min"}, {"any", "all"}, {"all", "any"}, {"sum", "prod"}, {"prod", "sum"},
    {"argmax", "argmin"}, {"argmin", "argmax"}, {"lowest", "highest"}, {"highest", "lowest"}, {"floor", "ceil"}, {"ceil", "floor"},
    {"round_even", "trunc"}, {"trunc", "floor"}, {"abs", "neg"}, {"neg", "abs"}, {"sign", "abs"}, {"sqrt", "reciprocal"}, {"reciprocal", "sqrt"},
    {"ones", "zeros"}, {"zeros", "ones"}, {"exp", "expm1"}, {"expm1", "exp"}, {"exp2", "exp"}, {"log", "log1p"}, {"log1p", "log"}, {"log2", "log"},
    {"log10", "log2"}, {"sin", "cos"}, {"cos", "sin"}, {"tan", "sin"}, {"asin", "acos"}, {"acos", "asin"}, {"atan", "asin"}, {"sinh", "cosh"},
    {"cosh", "sinh"}, {"tanh", "sinh"}, {"asinh", "acosh"}, {"acosh", "asinh"}, {"atanh", "asinh"}, {"erf", "tanh"}, {"sigmoid", "tanh"},
    {"softplus", "softsign"}, {"softsign", "softplus"}, {"gelu", "gelu_tanh"}, {"gelu_tanh", "gelu"}, {"silu", "mish"}, {"mish", "silu"},
    {"cos_turn", "sin_turn"}, {"sin_turn", "cos_turn"}, {"is_nan", "is_inf"}, {"is_inf", "is_nan"}, {"bit_and", "bit_or"}, {"bit_or", "bit_xor"},
    {"bit_xor", "bit_and"}, {"shl", "shr"}, {"shr", "shl"}, {"atleast", "atmost"}, {"atmost", "atleast"}, {"larger", "smaller"}, {"smaller", "larger"},
    {"greatest", "least"}, {"least", "greatest"}, {"plus", "times"}, {"times", "plus"}, {"window_extent", "window_extent_ceil"},
    {"window_extent_ceil", "window_extent"}, {"is_float", "is_int"}, {"is_int", "is_float"}, {"reads_alpha", "reads_beta"}, {"reads_beta", "reads_alpha"}};

constexpr Pair Operators[] = {
    {"+", "-"}, {"-", "+"}, {"*", "/"}, {"*", "div"}, {"/", "*"}, {"div", "*"}, {"div", "mod"}, {"mod", "div"}, {"quot", "div"}, {"rem", "mod"},
    {"**", "*"}, {"==", "!="}, {"!=", "=="}, {"<", "<="}, {"<", ">="}, {"<=", "<"}, {"<=", ">"}, {">", ">="}, {">", "<="}, {">=", ">"}, {">=", "<"},
    {"and", "or"}, {"or", "and"}};

// What a name stands for, as far as the text tells: names are swapped within a kind.
enum class Kind : std::uint8_t { Index, IndexPack, Parameter, ParameterPack, Local, LocalPack, Input, Inputs, Extent, ExtentPack, Attribute, Tensor, Function };
struct Declared {
  Symbol name;
  Kind kind;
  std::string detail;  // swapped only for an equal one: an attribute's type, a tensor's rank
  bool operator==(const Declared&) const = default;
};

class Collector {
public:
  Collector(const SymbolTable& symbols, const SourceFile& file) : symbols_(symbols), file_(file) {
    auto tokens = tokenize(file);
    ensure(tokens.ok(), "a parsed file has tokens");
    tokens_ = std::move(*tokens);
    for (std::size_t k = 0; k < tokens_.size(); ++k) places_[{tokens_[k].at.line, tokens_[k].at.column}] = k;
  }

  std::vector<Mutation> of(const OperatorDefinition& op) {
    end_of_definition_ = closing_brace(op.at);
    declare(op);
    for (std::size_t k = 0; k < op.clauses.size(); ++k) {
      const Clause& c = op.clauses[k];
      contract_ = c.kind == ClauseKind::Undefined || c.kind == ClauseKind::Unordered;
      clause(c);
      if (c.kind == ClauseKind::Require) drop(c.at, k + 1 < op.clauses.size() ? token_at(op.clauses[k + 1].at) : end_of_definition_);
    }
    return finish();
  }

  std::vector<Mutation> of_functions() {
    for (const auto& [name, f] : file_.functions_by_name) scope_.push_back({name, Kind::Function, std::to_string(f->parameters.size())});
    std::sort(scope_.begin(), scope_.end(), [](const Declared& a, const Declared& b) { return a.name < b.name; });
    for (const auto& [name, f] : file_.functions_by_name) function(*f);
    return finish();
  }

private:
  std::size_t token_at(Position p) const {
    auto it = places_.find({p.line, p.column});
    return it == places_.end() ? tokens_.size() : it->second;
  }
  std::size_t offset_of(std::size_t token) const { return static_cast<std::size_t>(tokens_[token].text.data() - file_.text.data()); }

  std::size_t closing_brace(Position op) const {
    int depth = 0;
    for (std::size_t k = token_at(op); k < tokens_.size(); ++k) {
      if (tokens_[k].text == "{") ++depth;
      if (tokens_[k].text == "}" && --depth == 0) return k;
    }
    return tokens_.size() - 1;
  }

  std::vector<Mutation> finish() {
    std::sort(out_.begin(), out_.end(), [](const Mutation& a, const Mutation& b) { return std::tie(a.offset, a.length, a.replacement) < std::tie(b.offset, b.length, b.replacement); });
    // An expression that the tree holds twice (the middle of a chain of comparisons) is one text.
    out_.erase(std::unique(out_.begin(), out_.end(), [](const Mutation& a, const Mutation& b) { return a.offset == b.offset && a.length == b.length && a.replacement == b.replacement; }), out_.end());
    return std::move(out_);
  }

  void replace(Position p, std::string replacement, std::string_view change = {}) {
    const std::size_t t = token_at(p);
    if (t >= tokens_.size()) return;
    const std::string_view text = tokens_[t].text;
    out_.push_back({offset_of(t), text.size(), replacement, p, change.empty() ? fmt::format("'{}' becomes '{}'", text, replacement) : std::string(change), contract_});
  }
  std::string_view text_at(Position p) const {
    const std::size_t t = token_at(p);
    return t < tokens_.size() ? tokens_[t].text : std::string_view();
  }

  void drop(Position from, std::size_t end_token) {
    const std::size_t first = token_at(from);
    if (first >= tokens_.size()) return;
    const std::size_t begin = offset_of(first), end = end_token < tokens_.size() ? offset_of(end_token) : file_.text.size();
    std::string blank;
    for (std::size_t k = begin; k < end; ++k) blank += file_.text[k] == '\n' ? '\n' : ' ';
    out_.push_back({begin, end - begin, blank, from, "the 'require' is dropped", contract_});
  }

  // --- scopes
  void declare_extents(const std::vector<const Expr*>& extents) {
    for (const Expr* e : extents) {
      const bool pack = e && e->kind == ExprKind::Splice;
      const Expr* inner = pack ? e->args[0] : e;
      if (inner && inner->kind == ExprKind::Name) add({inner->symbol, pack ? Kind::ExtentPack : Kind::Extent, {}});
    }
  }
  void add(Declared d) {
    if (std::find(scope_.begin(), scope_.end(), d) == scope_.end()) scope_.push_back(std::move(d));
  }
  void declare(const OperatorDefinition& op) {
    for (const Clause& c : op.clauses) {
      if (c.kind == ClauseKind::In) {
        add({c.name, c.variadic ? Kind::Inputs : Kind::Input, std::to_string(c.extents.size())});
        declare_extents(c.extents);
      } else if (c.kind == ClauseKind::Attribute) {
        add({c.name, Kind::Attribute, fmt::format("{}{}", static_cast<int>(c.attribute_kind), c.is_list ? "[]" : "")});
      } else if (c.kind == ClauseKind::Function) {
        add({c.function->name, Kind::Function, std::to_string(c.function->parameters.size())});
      } else if (c.kind == ClauseKind::Let) {
        for (const Parameter& p : c.pattern) add({p.name, p.pack ? Kind::LocalPack : Kind::Local, {}});
      } else if (c.kind == ClauseKind::Equation) {
        add({c.name, Kind::Tensor, std::to_string(c.binders.size())});
      } else {
        for (const Clause& inner : c.inner)
          if (inner.kind == ClauseKind::Equation) add({inner.name, Kind::Tensor, std::to_string(inner.binders.size())});
      }
    }
  }
  void parameters(const std::vector<Parameter>& ps) {
    for (const Parameter& p : ps) scope_.push_back({p.name, p.pack ? Kind::ParameterPack : Kind::Parameter, {}});
  }
  void binders(const std::vector<Binder>& bs) {
    for (const Binder& b : bs) {
      expr(b.bound);
      scope_.push_back({b.name, b.pack ? Kind::IndexPack : Kind::Index, {}});
    }
  }
  // The next of the same kind in the order of declaration, around; the innermost meaning of a name counts.
  void swap_name(const Expr& e) {
    auto mine = std::find_if(scope_.rbegin(), scope_.rend(), [&](const Declared& d) { return d.name == e.symbol; });
    if (mine == scope_.rend()) return;
    auto visible = [&](const Declared& d) {
      return std::find_if(scope_.rbegin(), scope_.rend(), [&](const Declared& x) { return x.name == d.name; })->kind == d.kind;
    };
    const std::size_t n = scope_.size(), here = static_cast<std::size_t>(scope_.rend() - mine) - 1;
    for (std::size_t k = 1; k < n; ++k) {
      const Declared& d = scope_[(here + k) % n];
      if (d.kind != mine->kind || d.detail != mine->detail || d.name == e.symbol || !visible(d)) continue;
      replace(e.at, symbols_.name(d.name));
      return;
    }
  }

  // --- clauses
  void clause(const Clause& c) {
    const std::size_t depth = scope_.size();
    switch (c.kind) {
      case ClauseKind::Doc:
      case ClauseKind::Type:
      case ClauseKind::Example: return;
      case ClauseKind::In:
      case ClauseKind::Out:
        for (const Expr* e : c.extents) expr(e);
        expr(c.each_count);
        break;
      case ClauseKind::Attribute: attribute(c); break;
      case ClauseKind::Function: function(*c.function); break;
      case ClauseKind::Recurrence:
        binders(c.binders);
        for (const Clause& inner : c.inner) clause(inner);
        break;
      case ClauseKind::Equation:
        if (c.each != NoSymbol) scope_.push_back({c.each, Kind::Index, {}});
        binders(c.binders);
        expr(c.value);
        break;
      case ClauseKind::Require:
      case ClauseKind::Undefined:
      case ClauseKind::Unordered:
      case ClauseKind::Let:
        expr(c.value);
        expr(c.when);
        break;
      case ClauseKind::Loop:
        for (const auto& [p, e] : c.state) expr(e);
        expr(c.when);
        expr(c.value);
        break;
    }
    scope_.resize(depth);
  }

  void attribute(const Clause& c) {
    expr(c.list_length);
    if (c.value && c.value->kind == ExprKind::String && c.choices.size() > 1) {
      auto it = std::find(c.choices.begin(), c.choices.end(), c.value->text);
      if (it != c.choices.end()) replace(c.value->at, fmt::format("\"{}\"", ++it == c.choices.end() ? c.choices.front() : *it));
      return;
    }
    expr(c.value);
  }

  void function(const Function& f) {
    const std::size_t depth = scope_.size();
    parameters(f.parameters);
    expr(f.body);
    scope_.resize(depth);
  }

  // --- expressions
  void number(const Expr& e) {
    const std::string_view text = text_at(e.at);
    if (text.empty()) return;
    if (e.decimal || text.find_first_of("xX") != std::string_view::npos) {
      replace(e.at, fmt::format("({} + 1)", text));
      replace(e.at, fmt::format("({} - 1)", text));
      return;
    }
    const Exact one(1);
    replace(e.at, (e.number + one).to_string());
    replace(e.at, (e.number - one).to_string());
  }
  bool word(Position at) {
    const std::string_view text = text_at(at);
    bool found = false;
    for (const Pair& p : Words)
      if (p.from == text) {
        replace(at, std::string(p.to));
        found = true;
      }
    return found;
  }
  // A bare condition is negated; others have operators to change.
  void condition(const Expr* e) {
    if (e && (e->kind == ExprKind::Name || e->kind == ExprKind::Call || e->kind == ExprKind::Index) && !text_at(e->at).empty())
      replace(name_of(*e), fmt::format("not {}", text_at(name_of(*e))));
  }
  // Where the text of a call or a read begins.
  static Position name_of(const Expr& e) {
    const Expr* first = &e;
    while ((first->kind == ExprKind::Call || first->kind == ExprKind::Index || first->kind == ExprKind::Slice) && !first->args.empty()) first = first->args[0];
    return first->at;
  }

  void expr(const Expr* e) {
    if (!e) return;
    const std::size_t depth = scope_.size();
    const bool contract = contract_;
    switch (e->kind) {
      case ExprKind::Number: number(*e); break;
      case ExprKind::String:
      case ExprKind::OperatorName: break;
      case ExprKind::Name:
        if (std::any_of(scope_.begin(), scope_.end(), [&](const Declared& d) { return d.name == e->symbol; }) || !word(e->at)) swap_name(*e);
        break;
      case ExprKind::Binary:
        expr(e->args[0]);
        for (const Pair& p : Operators)
          if (p.from == text_at(e->at)) replace(e->at, std::string(p.to));
        expr(e->args[1]);
        break;
      case ExprKind::Unary:
        replace(e->at, "", fmt::format("'{}' is dropped", text_at(e->at)));
        expr(e->args[0]);
        break;
      case ExprKind::If:
        condition(e->args[0]);
        all(*e);
        break;
      case ExprKind::OneOf:
        expr(e->args[0]);
        contract_ = true;
        for (std::size_t k = 1; k < e->args.size(); ++k) expr(e->args[k]);
        break;
      case ExprKind::Graph: break;  // stands in examples only
      case ExprKind::WithinBody:
        expr(e->args[0]);
        contract_ = true;
        expr(e->args[1]);
        break;
      case ExprKind::Let:
        expr(e->args[0]);
        for (const Parameter& p : e->parameters) scope_.push_back({p.name, p.pack ? Kind::LocalPack : Kind::Local, {}});
        expr(e->args[1]);
        break;
      case ExprKind::ListFor:
        expr(e->args[1]);
        scope_.push_back({e->symbol, e->counts ? Kind::Index : Kind::Parameter, {}});
        expr(e->args[0]);
        if (e->args.size() > 2) expr(e->args[2]);
        break;
      case ExprKind::Lambda:
        parameters(e->parameters);
        all(*e);
        break;
      case ExprKind::Accumulate:
        binders(e->binders);
        scope_.push_back({e->symbol, Kind::Local, {}});
        all(*e);
        break;
      case ExprKind::Reduce:
        word(e->at);
        binders(e->binders);
        all(*e);
        break;
      case ExprKind::ArgSort:
        if (e->descending && !(e->args.size() > 2 && e->args[2])) drop_descending(*e);
        if (e->args.size() > 2) condition(e->args[2]);
        binders(e->binders);
        all(*e);
        break;
      case ExprKind::Each:
      case ExprKind::Where:
      case ExprKind::Scatter:
        binders(e->binders);
        all(*e);
        break;
      case ExprKind::List:
      case ExprKind::Slice:
      case ExprKind::Index:
      case ExprKind::OrElse:
      case ExprKind::Call:
      case ExprKind::Splice: all(*e); break;
    }
    contract_ = contract;
    scope_.resize(depth);
  }
  void all(const Expr& e) {
    for (const Expr* a : e.args) expr(a);
    for (const NamedArgument& n : e.named) expr(n.value);
  }
  // The tree does not say where the word stands: the first one behind the key.
  void drop_descending(const Expr& e) {
    for (std::size_t k = token_at(e.at); k < end_of_definition_; ++k)
      if (tokens_[k].text == "descending") {
        replace(tokens_[k].at, "", "'descending' is dropped");
        return;
      }
  }

  const SymbolTable& symbols_;
  const SourceFile& file_;
  std::vector<Token> tokens_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places_;
  std::size_t end_of_definition_ = 0;
  std::vector<Declared> scope_;
  std::vector<Mutation> out_;
  bool contract_ = false;
};

}  // namespace

std::vector<Mutation> mutations_of(const SymbolTable& symbols, const OperatorDefinition& definition) { return Collector(symbols, *definition.file).of(definition); }

std::vector<Mutation> mutations_of_functions(const SymbolTable& symbols, const SourceFile& file) { return Collector(symbols, file).of_functions(); }

std::string mutated(const SourceFile& file, const Mutation& m) { return file.text.substr(0, m.offset) + m.replacement + file.text.substr(m.offset + m.length); }

}  // namespace ulpian::tools
