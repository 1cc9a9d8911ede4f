// The values of the static stage, their arena, and environments. Private to spec/language.
//
// Everything here lives in one `Arena` per elaboration and is freed with it; values are small and copied freely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spec/core/builder.h"
#include "spec/core/graph.h"
#include "spec/language/syntax.h"

namespace ulpian::language {

class Arena {
public:
  explicit Arena(std::size_t most_bytes) : most_(most_bytes) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Throws LimitReached beyond the allowance.
  void* allocate(std::size_t bytes);
  template <typename T, typename... A> T* make(A&&... a) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T))) T{std::forward<A>(a)...};
  }
  template <typename T> T* array(std::size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    return static_cast<T*>(allocate(n * sizeof(T)));
  }
  // Numbers and strings have destructors; the arena keeps them.
  const Exact* keep(Exact value, std::size_t bytes);
  const std::string* keep(std::string value);

private:
  void charge(std::size_t bytes);
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  std::size_t used_ = 0, most_;
  std::vector<std::unique_ptr<const Exact>> exacts_;
  std::vector<std::unique_ptr<const std::string>> strings_;
};

using core::LimitReached;

enum class Tag : std::uint8_t { Absent, Integer, Number, Bool, String, Type, List, Closure, Builtin, Operator, Graph, Tensor, Term };

struct Value;
struct Environment;
class Scope;

struct Closure {
  std::string_view name;
  std::span<const Parameter> parameters;
  const Expr* body = nullptr;
  const Environment* environment = nullptr;
  const Scope* scope = nullptr;   // of the definition it stands in, or null
  const SourceFile* file = nullptr;
};

struct ListData {
  std::size_t size = 0;
  const Value* items = nullptr;
  std::uint32_t depth = 1;  // of lists in lists: what walks a list recurses so deep
};

struct OperatorReference {
  std::string_view name;
  std::int64_t version = 0;
};

struct Value {
  Tag tag = Tag::Absent;
  bool plain = false;                 // an input of the call: InputDescription::plain
  ElementType type = ElementType::Z;  // Type; of a List that is a sequence: of its tensors (Z where it is no sequence)
  union {
    std::int64_t integer;
    const Exact* number;               // not an int64: a fraction, a large integer, -0, inf, nan
    bool boolean;
    const std::string* string;
    const ListData* list;
    const Closure* closure;
    std::uint32_t builtin;
    const OperatorReference* op;
    const Graph* graph;                // kept by the call's attributes, or by the Elaborator
    core::TensorId tensor;
    core::TermId term;
  };
  Value() : integer(0) {}
  static Value of(std::int64_t v) { Value x; x.tag = Tag::Integer; x.integer = v; return x; }
  static Value of_bool(bool v) { Value x; x.tag = Tag::Bool; x.boolean = v; return x; }
  static Value of_type(ElementType t) { Value x; x.tag = Tag::Type; x.type = t; return x; }
  static Value of_string(const std::string* s) { Value x; x.tag = Tag::String; x.string = s; return x; }
  static Value of_term(core::TermId t) { Value x; x.tag = Tag::Term; x.term = t; return x; }
  static Value of_tensor(core::TensorId t) { Value x; x.tag = Tag::Tensor; x.tensor = t; return x; }
  static Value of_builtin(std::uint32_t b) { Value x; x.tag = Tag::Builtin; x.builtin = b; return x; }
  static Value of_graph(const Graph* g) { Value x; x.tag = Tag::Graph; x.graph = g; return x; }
  static Value of_list(const ListData* l) { Value x; x.tag = Tag::List; x.list = l; return x; }
  bool is(Tag t) const { return tag == t; }
  bool is_number() const { return tag == Tag::Integer || tag == Tag::Number; }
  std::span<const Value> items() const { return {list->items, list->size}; }
};

// Local names, innermost first.
struct Environment {
  Symbol name;
  Value value;
  const Environment* up;
};

// The names of one definition, in the order they were made; a later one hides an earlier one.
class Scope {
public:
  const OperatorDefinition* definition = nullptr;
  std::int64_t version = 0;
  std::int64_t opset = 0;

  void define(Symbol name, Value v) {
    names_.emplace_back(name, v);
    if (names_.size() > Few) index();
  }
  // Null where there is none. Valid until the next `define`.
  const Value* find(Symbol s) const {
    if (names_.size() > Few) {
      auto it = latest_.find(s);
      return it == latest_.end() ? nullptr : &names_[it->second].second;
    }
    for (auto it = names_.rbegin(); it != names_.rend(); ++it)
      if (it->first == s) return &it->second;
    return nullptr;
  }
  std::size_t size() const { return names_.size(); }
  // Forgets all names after the first n.
  void forget(std::size_t n) {
    names_.resize(n);
    latest_.clear();
    indexed_ = 0;
    if (names_.size() > Few) index();
  }

private:
  static constexpr std::size_t Few = 64;  // up to here a search is quicker than a table
  void index() {
    for (; indexed_ < names_.size(); ++indexed_) latest_[names_[indexed_].first] = indexed_;
  }
  std::vector<std::pair<Symbol, Value>> names_;
  std::unordered_map<Symbol, std::size_t> latest_;
  std::size_t indexed_ = 0;
};

}  // namespace ulpian::language
