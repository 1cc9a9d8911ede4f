#include "spec/language/elaborator.h"

#include <algorithm>

#include <fmt/format.h>

namespace ulpian::language {

Arena::~Arena() = default;

void Arena::charge(std::size_t bytes) {
  used_ += bytes;
  if (used_ > most_) throw LimitReached{"memory than is allowed"};
}

void* Arena::allocate(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  if (static_cast<std::size_t>(end_ - at_) < bytes) {
    const std::size_t chunk = std::max<std::size_t>(bytes, chunks_.empty() ? 16u << 10 : 256u << 10);
    charge(chunk);
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk));
    at_ = chunks_.back().get();
    end_ = at_ + chunk;
  }
  void* out = at_;
  at_ += bytes;
  return out;
}

const Exact* Arena::keep(Exact value, std::size_t bytes) {
  charge(bytes);
  exacts_.push_back(std::make_unique<const Exact>(std::move(value)));
  return exacts_.back().get();
}

const std::string* Arena::keep(std::string value) {
  charge(value.size() + sizeof(std::string));
  strings_.push_back(std::make_unique<const std::string>(std::move(value)));
  return strings_.back().get();
}

Elaborator::Elaborator(const Specification& specification, const ElaborationLimits& limits, std::vector<bool> decisions, Host* host)
    : spec_(specification),
      limits_(limits),
      b_({.memory_bytes = limits.memory_bytes, .depth = static_cast<std::uint32_t>(limits.term_depth)}),
      arena_(limits.memory_bytes),
      decisions_(std::move(decisions)),
      host_(host) {}

void Elaborator::fail(const Context& c, Position at, std::string message, ErrorKind kind, std::string hint) const {
  Diagnostic d = c.file ? diagnose(*c.file, at, kind, std::move(message)) : Diagnostic{kind, std::move(message), {}, {}, {}, {}, {}};
  d.hint = std::move(hint);
  throw ElaborationError{std::move(d)};
}

void Elaborator::fail_requirement(const Context& c, Position at, std::string message, ErrorKind kind) const {
  // The user's program is at fault, not the definition: its place is named, its text is not shown.
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  if (c.file) d.place = {c.file->path, at.line, 0};
  throw ElaborationError{std::move(d)};
}

void Elaborator::step(const Context& c, Position at) {
  if (++steps_ > limits_.steps) fail(c, at, fmt::format("elaboration takes more than {} steps", limits_.steps), ErrorKind::Limit);
  if (steps_ >= next_look_) look_at_time();
}

void Elaborator::spend(std::size_t steps) {
  steps_ += static_cast<std::int64_t>(steps);
  if (steps_ > limits_.steps) throw LimitReached{fmt::format("than {} steps", limits_.steps)};
  if (steps_ >= next_look_) look_at_time();
}

void Elaborator::look_at_time() {
  constexpr std::int64_t StepsBetween = 4096;
  next_look_ = steps_ + StepsBetween;
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed)) throw TimeIsUp{"was cancelled"};
  if (std::chrono::steady_clock::now() > limits_.deadline) throw TimeIsUp{"took longer than the time allowed"};
}

// Calls with much in them may take more steps than small ones; the bound on steps holds off hostile definitions.
void Elaborator::allow_for(const Call& call) {
  constexpr std::size_t FewItems = 100, MostItems = 100'000;
  std::size_t items = call.inputs.size() + call.outputs;
  for (const InputDescription& in : call.inputs)
    if (in.value) items += static_cast<std::size_t>(in.value->size());
  for (const auto& [name, value] : call.attributes)
    std::visit([&](const auto& x) { if constexpr (requires { x.begin(); }) items += x.size(); }, value);
  limits_.steps += limits_.steps_per_item * static_cast<std::int64_t>(std::clamp(items, FewItems, MostItems) - FewItems);
}

void Elaborator::mark(const Context& c, Position at) {
  if (!c.file) return;
  const std::uint64_t key = static_cast<std::uint64_t>(c.file->index) << 32 | at.line;
  auto [it, fresh] = places_.try_emplace(key, 0);
  if (fresh) it->second = b_.add_place({c.file->path, at.line, 0});
  b_.at(it->second);
}

Value Elaborator::list(std::span<const Value> items) {
  if (items.size() > MostListItems) throw LimitReached{fmt::format("than {} items in one list", MostListItems)};
  spend(items.size() / 8);
  std::uint32_t depth = 1;
  for (const Value& v : items)
    if (v.is(Tag::List)) depth = std::max(depth, v.list->depth + 1);
  if (depth > MostListDepth) throw LimitReached{fmt::format("than {} lists in each other", MostListDepth)};
  Value* copy = arena_.array<Value>(std::max<std::size_t>(items.size(), 1));
  std::copy(items.begin(), items.end(), copy);
  return Value::of_list(arena_.make<ListData>(items.size(), copy, depth));
}

Value Elaborator::string(std::string s) {
  if (s.size() > MostStringBytes) throw LimitReached{fmt::format("than {} bytes in one string", MostStringBytes)};
  spend(s.size() / 64);
  return Value::of_string(arena_.keep(std::move(s)));
}

Value Elaborator::number(const Exact& e) {
  if (!e.is_negative_zero())
    if (auto n = e.to_int64()) return Value::of(*n);
  Value v;
  v.tag = Tag::Number;
  // Large numbers cost what their arithmetic takes.
  const std::size_t bits = e.bits();
  spend(bits / 64);
  v.number = arena_.keep(e, sizeof(Exact) + bits / 8);
  return v;
}

Exact Elaborator::exact_of(const Value& v) const { return v.is(Tag::Integer) ? Exact(v.integer) : *v.number; }

Value Elaborator::lookup(const Context& c, const Expr& e) {
  std::size_t hops = 0;
  for (const Environment* x = c.local; x; x = x->up, ++hops)
    if (x->name == e.symbol) {
      steps_ += static_cast<std::int64_t>(hops / 8);
      return x->value;
    }
  steps_ += static_cast<std::int64_t>(hops / 8);
  if (c.scope)
    if (const Value* v = c.scope->find(e.symbol)) return *v;
  if (auto v = lookup_global(c, e.symbol)) return *v;
  const std::string& name = spec_.symbols().name(e.symbol);
  const auto b = builtin_named(name);
  if (!b)
    fail(c, e.at, fmt::format("{} is not defined", name), ErrorKind::Definition, "names are used after they are defined, or come from the prelude");
  switch (b->builtin) {
    case Builtin::True: return Value::of_bool(true);
    case Builtin::False: return Value::of_bool(false);
    case Builtin::Infinity: return number(Exact::infinity(false));
    case Builtin::NotANumber: return number(Exact::nan());
    case Builtin::Pi: fail(c, e.at, "pi has no exact value", ErrorKind::Definition, "use cos_turn and sin_turn, which take turns");
    case Builtin::Absent: return Value();
    case Builtin::Type: return Value::of_type(b->type);
    default: return Value::of_builtin(static_cast<std::uint32_t>(b->builtin) | static_cast<std::uint32_t>(b->primitive) << 8);
  }
}

// The functions of the file, of the file of the operator around, and of the prelude.
std::optional<Value> Elaborator::lookup_global(const Context& c, Symbol name) {
  const Function* f = nullptr;
  const SourceFile* file = nullptr;
  auto search = [&](const SourceFile* in) {
    if (f || !in) return;
    auto it = in->functions_by_name.find(name);
    if (it == in->functions_by_name.end()) return;
    f = it->second;
    file = in;
  };
  search(c.file);
  if (c.scope && c.scope->definition) search(c.scope->definition->file);
  if (!f) {
    f = spec_.prelude_function(name);
    if (!f) return std::nullopt;
    file = spec_.file_of_prelude(f);
  }
  Closure* k = arena_.make<Closure>();
  k->name = spec_.symbols().name(f->name);
  k->parameters = f->parameters;
  k->body = f->body;
  k->file = file;
  Value v;
  v.tag = Tag::Closure;
  v.closure = k;
  return v;
}

const Environment* Elaborator::bind_pattern(const Context& c, Position at, std::span<const Parameter> names, bool is_list, const Value& v,
                                            const Environment* up) {
  if (!is_list) return bind(up, names[0].name, v);
  if (!v.is(Tag::List)) fail(c, at, fmt::format("a list is needed for this pattern, not {}", describe_kind(v)));
  const auto items = v.items();
  std::size_t singles = 0, packs = 0;
  for (const Parameter& p : names) ++(p.pack ? packs : singles);
  if (items.size() < singles || (packs == 0 && items.size() > singles) || packs > 1)
    fail(c, at, packs > 1 ? std::string("a pattern has at most one pack") : fmt::format("{} values for a pattern of {} names", items.size(), names.size()));
  std::size_t k = 0;
  for (const Parameter& p : names) {
    if (p.pack) {
      const std::size_t n = items.size() - singles;
      up = bind(up, p.name, list(items.subspan(k, n)));
      k += n;
    } else {
      up = bind(up, p.name, items[k++]);
    }
  }
  return up;
}

std::string Elaborator::message(const Context& c, const Message& m) {
  std::string out;
  for (std::size_t k = 0; k < m.literals.size(); ++k) {
    out += m.literals[k];
    if (k >= m.values.size()) continue;
    try {
      const Value v = eval(c, m.values[k]);
      spend(b_.program().terms.size() / 64);  // a term is printed by a walk over the program
      out += show(v);
    } catch (const ElaborationError& x) {
      if (x.diagnostic.kind == ErrorKind::Limit) throw;
      out += "?";  // a message never hides the fault that it reports
    }
    if (out.size() > 2 * MostShownBytes) break;
  }
  return out;
}

std::string Elaborator::show(const Value& v) const {
  std::string out;
  append_shown(out, v);
  if (out.size() > MostShownBytes) out = out.substr(0, MostShownBytes) + "...";
  return out;
}

void Elaborator::append_shown(std::string& out, const Value& v) const {
  if (out.size() > MostShownBytes) return;
  switch (v.tag) {
    case Tag::Absent: out += "absent"; return;
    case Tag::Integer: out += std::to_string(v.integer); return;
    case Tag::Number: out += v.number->to_string(); return;
    case Tag::Bool: out += v.boolean ? "true" : "false"; return;
    case Tag::String: out += *v.string; return;
    case Tag::Type: out += name_of(v.type); return;
    case Tag::List:
      out += "[";
      for (std::size_t k = 0; k < v.list->size && out.size() <= MostShownBytes; ++k) {
        if (k) out += ", ";
        append_shown(out, v.list->items[k]);
      }
      out += "]";
      return;
    case Tag::Closure: out += fmt::format("function {}", v.closure->name); return;
    case Tag::Builtin: out += "a built-in function"; return;
    case Tag::Operator: out += v.op->name; return;
    case Tag::Graph: out += fmt::format("graph {}", v.graph->name); return;
    case Tag::Tensor: out += b_.program().tensors[v.tensor].name; return;
    case Tag::Term: out += core::to_string(b_.program(), v.term); return;
  }
  ensure(false);
}

std::string Elaborator::describe_kind(const Value& v) const {
  switch (v.tag) {
    case Tag::Absent: return "an absent value";
    case Tag::Integer:
    case Tag::Number: return "the number " + show(v);
    case Tag::Bool: return show(v);
    case Tag::String: return fmt::format("the string \"{}\"", show(v));
    case Tag::Type: return fmt::format("the element type {}", name_of(v.type));
    case Tag::List: return fmt::format("a list of {}", v.list->size);
    case Tag::Closure: return fmt::format("the function {}", v.closure->name);
    case Tag::Builtin: return "a built-in function";
    case Tag::Operator: return fmt::format("the operator {}", v.op->name);
    case Tag::Graph: return fmt::format("the graph {}", v.graph->name);
    case Tag::Tensor: return fmt::format("the tensor {}", b_.program().tensors[v.tensor].name);
    case Tag::Term: return fmt::format("an element of type {}", name_of(b_.type_of(v.term)));
  }
  ensure(false);
}

std::optional<std::vector<ElementType>> type_set(std::string_view name) {
  using T = ElementType;
  static const std::vector<T> Floats{T::F32, T::F64, T::F16, T::BF16}, Integers{T::I32, T::I64, T::I8, T::I16, T::U8, T::U16, T::U32, T::U64},
      Signed{T::I32, T::I64, T::I8, T::I16}, Unsigned{T::U8, T::U16, T::U32, T::U64}, Complex{T::C64, T::C128},
      Fp8{T::F8E4M3FN, T::F8E4M3FNUZ, T::F8E5M2, T::F8E5M2FNUZ, T::F8E8M0};
  auto join = [](std::initializer_list<std::vector<T>> parts) {
    std::vector<T> out;
    for (const auto& p : parts) out.insert(out.end(), p.begin(), p.end());
    return out;
  };
  if (name == "float") return Floats;
  if (name == "int") return Integers;
  if (name == "signed") return Signed;
  if (name == "unsigned") return Unsigned;
  if (name == "complex") return Complex;
  if (name == "fp8") return Fp8;
  if (name == "fp6") return std::vector<T>{T::F6E2M3, T::F6E3M2};
  if (name == "numeric") return join({Floats, Integers});
  if (name == "any") return join({Floats, Integers, {T::Bool, T::String}, Complex, Fp8, {T::F4E2M1, T::I4, T::U4, T::I2, T::U2}});
  if (auto t = element_type_named(name)) return std::vector<T>{*t};
  return std::nullopt;
}

std::optional<ElementType> element_type_numbered(std::string_view op, std::int64_t number) {
  using T = ElementType;
  (void)op;  // ONNX's numbering serves every dialect that stores element types as integers
  static constexpr T Onnx[] = {T::F32, T::F32, T::U8, T::I8, T::U16, T::I16, T::I32, T::I64, T::String, T::Bool, T::F16, T::F64, T::U32, T::U64, T::C64,
                               T::C128, T::BF16, T::F8E4M3FN, T::F8E4M3FNUZ, T::F8E5M2, T::F8E5M2FNUZ, T::U4, T::I4, T::F4E2M1, T::F8E8M0, T::U2, T::I2, T::F6E2M3, T::F6E3M2};
  if (number < 1 || number >= static_cast<std::int64_t>(std::size(Onnx))) return std::nullopt;
  return Onnx[number];
}

}  // namespace ulpian::language
