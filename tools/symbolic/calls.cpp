#include "tools/symbolic/calls.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace ulpian::tools {
namespace {

using namespace language;

// How many axes each pack stands for, and which extent a static input's name has: what varies.
using Choices = std::map<std::string, std::int64_t>;

struct Pattern {
  const Clause* clause = nullptr;
  bool anything = false;                 // no extents are declared: one pack of its own
  std::vector<std::string> names;        // per item: the symbol; empty for a number
  std::vector<bool> packs;
  std::vector<std::int64_t> numbers;     // -1: neither a name nor a number
};

class Calls {
public:
  Calls(const Specification& specification, const OperatorDefinition& definition, const CallOptions& options) : spec_(specification), op_(definition), options_(options) {}

  Result<std::vector<SymbolicCall>> run() {
    auto examples = examples_of(spec_, op_);
    if (!examples) return std::move(examples).error();
    std::set<std::string> settings;
    std::size_t taken = 0;
    for (const Example& e : *examples) {
      const bool first_type = settings.insert(settings_of(e)).second;
      if (options_.beside && !first_type) {  // other types: the example's settings alone
        if (settings.insert(settings_of(e) + types_of(e)).second) variants(e);
        continue;
      }
      if (!first_type || (++taken > options_.most_settings && !options_.beside)) continue;
      variants(e);
      if (!options_.beside) continue;
      for (const Example& other : beside(e))
        if (settings.insert(settings_of(other)).second) variants(other);
      if (taken == 1)
        for (const Example& other : other_types(e))
          if (settings.insert(settings_of(other) + types_of(other)).second) variants(other);
    }
    return std::move(out_);
  }

private:
  static std::string show(const Attribute& a) {
    if (auto* n = std::get_if<std::int64_t>(&a)) return std::to_string(*n);
    if (auto* f = std::get_if<float>(&a)) return fmt::format("{}", *f);
    if (auto* s = std::get_if<std::string>(&a)) return '"' + *s + '"';
    if (auto* ns = std::get_if<std::vector<std::int64_t>>(&a)) return fmt::format("[{}]", fmt::join(*ns, ", "));
    if (auto* fs = std::get_if<std::vector<float>>(&a)) return fmt::format("[{}]", fmt::join(*fs, ", "));
    if (auto* ss = std::get_if<std::vector<std::string>>(&a)) return fmt::format("[{}]", fmt::join(*ss, ", "));
    if (auto* t = std::get_if<Tensor>(&a)) return fmt::format("a tensor {}{}", name_of(t->type()), to_string(t->extents()));
    return "...";
  }
  static std::string attributes_of(const Example& e) {
    std::string out;
    for (const auto& [name, value] : e.call.attributes) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, show(value));
    return out;
  }
  // Types and the values of inputs are left out: the first type stands for all.
  std::string settings_of(const Example& e) const {
    std::string out = fmt::format("{};{};{};", e.call.version, e.call.outputs, attributes_of(e));
    for (const InputDescription& d : e.call.inputs) out += d.present ? fmt::format("{},", d.extents.size()) : std::string("-,");
    return out;
  }

  // --- settings beside an example's
  static std::vector<std::optional<Attribute>> values_beside(const Clause& c, const Attribute* now) {
    std::vector<std::optional<Attribute>> out;
    if (now) out.emplace_back();
    auto integers = [&](std::int64_t n) {
      for (std::int64_t v : {n - 1, n + 1, std::int64_t{-2}, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}}) out.emplace_back(v);
    };
    if (!c.choices.empty()) {
      for (const std::string& s : c.choices) out.emplace_back(s);
    } else if (c.is_list) {
      if (auto* list = now ? std::get_if<std::vector<std::int64_t>>(now) : nullptr) beside_list(*list, out);
    } else if (c.attribute_kind == AttributeKind::Bool) {
      out.emplace_back(std::int64_t{0});
      out.emplace_back(std::int64_t{1});
    } else if (c.attribute_kind == AttributeKind::Int) {
      auto* n = now ? std::get_if<std::int64_t>(now) : nullptr;
      integers(n ? *n : 0);
    } else if (c.attribute_kind == AttributeKind::Float) {
      auto* f = now ? std::get_if<float>(now) : nullptr;
      for (float v : {f ? *f + 1 : 0.5f, f ? *f - 1 : -0.5f, 0.0f, 1.0f, -1.0f}) out.emplace_back(v);
    }
    return out;
  }
  static void beside_list(const std::vector<std::int64_t>& list, std::vector<std::optional<Attribute>>& out) {
    for (std::size_t k = 0; k < list.size(); ++k)
      for (std::int64_t v : {list[k] - 1, list[k] + 1, std::int64_t{0}, std::int64_t{-1}}) {
        auto changed = list;
        changed[k] = v;
        out.emplace_back(changed);
      }
    auto longer = list;
    longer.push_back(list.empty() ? 0 : list.back());
    out.emplace_back(longer);
    if (!list.empty()) out.emplace_back(std::vector<std::int64_t>(list.begin(), list.end() - 1));
  }

  std::vector<Example> beside(const Example& e) const {
    std::vector<Example> out;
    for (const Clause& c : op_.clauses) {
      if (c.kind != ClauseKind::Attribute) continue;
      const std::string& name = spec_.symbols().name(c.name);
      auto now = e.call.attributes.find(name);
      for (const auto& value : values_beside(c, now == e.call.attributes.end() ? nullptr : &now->second)) {
        Example changed = e;
        if (value) changed.call.attributes[name] = *value;
        else changed.call.attributes.erase(name);
        out.push_back(std::move(changed));
      }
    }
    for (std::int64_t v : op_.since) {
      out.push_back(e);
      out.back().call.version = v;
    }
    std::size_t k = 0, outputs = 0;
    for (const Clause& c : op_.clauses) {
      if (c.kind == ClauseKind::Out) ++outputs;
      if (c.kind != ClauseKind::In) continue;
      const std::size_t input = k++;
      if (!c.optional || input >= e.call.inputs.size() || !e.call.inputs[input].present) continue;
      out.push_back(e);
      out.back().call.inputs[input] = language::InputDescription{};
      out.back().call.inputs[input].present = false;
    }
    for (std::size_t n = 1; n <= outputs; ++n) {
      out.push_back(e);
      out.back().call.outputs = n;
    }
    return out;
  }

  // One type of each kind for each type variable, at each version: those that are not in its set are refused.
  std::vector<Example> other_types(const Example& e) const {
    using enum ElementType;
    std::vector<Example> out;
    for (const Clause& type : op_.clauses) {
      if (type.kind != ClauseKind::Type) continue;
      for (std::int64_t version : op_.since)
        for (ElementType t : {Bool, I4, I8, I64, U8, U32, F8E4M3FN, F8E5M2FNUZ, F8E8M0, F4E2M1, F16, F32, F64, C64, String}) {
          Example changed = e;
          changed.call.version = version;
          for (std::size_t k = 0; k < changed.call.inputs.size(); ++k)
            if (const Pattern p = pattern_of(k); p.clause && p.clause->type == type.name) {
              changed.call.inputs[k].type = t;
              changed.call.inputs[k].value.reset();
            }
          out.push_back(std::move(changed));
        }
    }
    return out;
  }
  static std::string types_of(const Example& e) {
    std::string out;
    for (const InputDescription& d : e.call.inputs) out += fmt::format("{},", d.present ? name_of(d.type) : "-");
    return out;
  }

  Pattern pattern_of(std::size_t input) const {
    Pattern p;
    std::size_t k = 0;
    for (const Clause& c : op_.clauses) {
      if (c.kind != ClauseKind::In) continue;
      if (k == input || c.variadic) {
        p.clause = &c;
        break;
      }
      ++k;
    }
    // All inputs of a variadic one have extents of their own.
    const std::string own = p.clause && p.clause->variadic ? fmt::format("{}.", input - k) : "";
    if (!p.clause || !p.clause->has_extents) {
      p.anything = true;
      p.names.push_back(fmt::format("in{}.", input));
      p.packs.push_back(true);
      p.numbers.push_back(-1);
      return p;
    }
    for (const Expr* e : p.clause->extents) {
      const bool pack = e->kind == ExprKind::Splice;
      const Expr* inner = pack ? e->args[0] : e;
      const auto number = inner->kind == ExprKind::Number ? inner->number.to_int64() : std::nullopt;
      p.names.push_back(inner->kind == ExprKind::Name ? own + spec_.symbols().name(inner->symbol) : number ? "" : fmt::format("in{}.{}", input, p.names.size()));
      p.packs.push_back(pack);
      p.numbers.push_back(number.value_or(-1));
    }
    return p;
  }

  // The packs' ranks and the static extents of the example itself; empty where its inputs do not match their patterns.
  std::optional<Choices> choices_of(const Example& e, const std::vector<Pattern>& patterns) {
    Choices out;
    for (std::size_t k = 0; k < patterns.size(); ++k) {
      const InputDescription& d = e.call.inputs[k];
      if (!d.present) continue;
      const Pattern& p = patterns[k];
      const auto fixed = std::count(p.packs.begin(), p.packs.end(), false);
      const auto rest = static_cast<std::int64_t>(d.extents.size()) - fixed;
      const auto packs = std::count(p.packs.begin(), p.packs.end(), true);
      if (rest < 0 || packs > 1) return std::nullopt;
      std::size_t axis = 0;
      for (std::size_t i = 0; i < p.names.size(); ++i) {
        if (p.packs[i]) {
          out[p.names[i] + "..."] = rest;
          axis += static_cast<std::size_t>(rest);
          continue;
        }
        if (p.clause && p.clause->is_static && !p.names[i].empty() && axis < d.extents.size()) out[p.names[i]] = d.extents[axis].extent;
        ++axis;
      }
    }
    return out;
  }

  void variants(const Example& e) {
    std::vector<Pattern> patterns;
    for (std::size_t k = 0; k < e.call.inputs.size(); ++k) patterns.push_back(pattern_of(k));
    const auto base = choices_of(e, patterns);
    if (!base) return;
    std::vector<Choices> todo{*base};
    std::set<Choices> seen{*base};
    // One choice changed, then pairs, and so on, until there are enough.
    for (std::size_t k = 0; k < todo.size() && todo.size() < options_.most_ranks; ++k)
      for (const auto& [name, value] : Choices(todo[k]))
        for (std::int64_t other = 0; other <= options_.most_rank && todo.size() < options_.most_ranks; ++other) {
          Choices changed = todo[k];
          changed[name] = other;
          if (seen.insert(changed).second) todo.push_back(changed);
        }
    for (const Choices& c : todo) add(e, patterns, *base, c);
  }

  void add(const Example& e, const std::vector<Pattern>& patterns, const Choices& base, const Choices& chosen) {
    SymbolicCall out;
    out.concrete = e.call;
    out.ranks_of_example = chosen == base;
    out.call = e.call;
    out.title = attributes_of(e);
    for (std::size_t k = 0; k < patterns.size(); ++k) {
      InputDescription& d = out.call.inputs[k];
      if (!d.present) continue;
      const Pattern& p = patterns[k];
      const bool is_static = p.clause && p.clause->is_static;
      // Unknown integers are sizes; of other elements nothing can be unknown.
      if (is_static && d.value && !is_integer(d.type)) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < p.names.size(); ++i)
          if (!p.packs[i] && !p.names[i].empty() && n < d.extents.size()) {
            const auto it = chosen.find(p.names[i]);
            if (it != chosen.end() && it->second != d.extents[n].extent) return;
            ++n;
          }
        continue;
      }
      std::vector<ExtentDescription> extents;
      std::size_t axis = 0;
      for (std::size_t i = 0; i < p.names.size(); ++i) {
        if (!p.packs[i]) {
          if (p.names[i].empty()) extents.push_back({p.numbers[i], {}});
          else if (auto it = chosen.find(p.names[i]); it != chosen.end()) extents.push_back({it->second, {}});
          else if (is_static) extents.push_back({axis < d.extents.size() ? d.extents[axis].extent : 1, {}});
          else extents.push_back({0, p.names[i]});
          ++axis;
          continue;
        }
        const std::int64_t rank = chosen.at(p.names[i] + "...");
        for (std::int64_t r = 0; r < rank; ++r) {
          if (is_static) extents.push_back({1, {}});
          else extents.push_back({0, fmt::format("{}{}", p.names[i], r)});
          ++axis;
        }
      }
      if (static_cast<std::int64_t>(extents.size()) > options_.most_rank) return;
      out.title += fmt::format("{}{}", out.title.empty() ? "" : k == 0 ? "; " : ", ", describe(k, p, extents));
      d.extents = std::move(extents);
      d.value.reset();
    }
    adapt_attributes(out.call, base, chosen);
    out.known = out.call;
    for (std::size_t k = 0; k < patterns.size(); ++k)
      if (patterns[k].clause && patterns[k].clause->is_static && out.known.inputs[k].present) {
        out.known.inputs[k].extents = e.call.inputs[k].extents;
        out.known.inputs[k].value = e.call.inputs[k].value;
      }
    out_.push_back(std::move(out));
  }

  std::string describe(std::size_t input, const Pattern& p, const std::vector<ExtentDescription>& extents) const {
    std::string out = fmt::format("{}: [", p.clause ? spec_.symbols().name(p.clause->name) : fmt::format("input {}", input));
    for (std::size_t k = 0; k < extents.size(); ++k) out += (k ? ", " : "") + (extents[k].symbol.empty() ? std::to_string(extents[k].extent) : extents[k].symbol);
    return out + "]";
  }

  // Lists with one item, or one pair, per axis of a pack whose rank changed get as many as they now need: the same, repeated.
  void adapt_attributes(Call& call, const Choices& base, const Choices& chosen) const {
    for (auto& [name, value] : call.attributes) {
      const Symbol symbol = spec_.symbols().find(name);
      auto clause = std::find_if(op_.clauses.begin(), op_.clauses.end(), [&](const Clause& c) { return c.kind == ClauseKind::Attribute && c.name == symbol; });
      auto* list = std::get_if<std::vector<std::int64_t>>(&value);
      if (clause == op_.clauses.end() || !clause->list_length || !list || list->empty()) continue;
      for (const auto& [pack, rank] : base) {
        const std::int64_t now = chosen.at(pack), n = static_cast<std::int64_t>(list->size());
        if (!pack.ends_with("...") || rank == now || rank == 0 || n % rank != 0) continue;
        std::vector<std::int64_t> changed;
        for (std::int64_t group = 0; group < n / rank; ++group)
          for (std::int64_t k = 0; k < now; ++k) changed.push_back((*list)[static_cast<std::size_t>(group * rank + k % rank)]);
        *list = std::move(changed);
        break;
      }
    }
  }

  const Specification& spec_;
  const OperatorDefinition& op_;
  const CallOptions options_;
  std::vector<SymbolicCall> out_;
};

}  // namespace

Result<std::vector<SymbolicCall>> symbolic_calls(const Specification& specification, const OperatorDefinition& definition, const CallOptions& options) {
  return Calls(specification, definition, options).run();
}

}  // namespace ulpian::tools
