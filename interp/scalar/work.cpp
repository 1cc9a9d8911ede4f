#include "interp/scalar/work.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "interp/canonical/canonical.h"

namespace ulpian::interp {
namespace {

using core::None;
using core::TermId;
using core::TermKind;
using core::Variable;

constexpr std::int64_t Most = std::numeric_limits<std::int64_t>::max();

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? Most : sum;
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? Most : product;
}

// The terms below the bodies of one equation, each once.
class Count {
public:
  Count(const core::Program& program, const core::Sizes& sizes) : p_(program), sizes_(sizes), seen_(program.terms.size()) {}

  std::int64_t of_tensor(const core::TensorNode& n) {
    if (n.kind == core::TensorKind::Input || n.kind == core::TensorKind::Literal) return 0;
    begin();
    bind(n.variables, n.kind == core::TensorKind::Where || n.kind == core::TensorKind::Scatter ? n.domain : n.extents);
    std::vector<TermId> roots(n.extents);
    roots.insert(roots.end(), n.domain.begin(), n.domain.end());
    if (n.body != None) roots.push_back(n.body);
    if (n.kind == core::TensorKind::Scatter) {
      roots.insert(roots.end(), n.scatter.index.begin(), n.scatter.index.end());
      if (n.scatter.filter != None) roots.push_back(n.scatter.filter);
    }
    // Every element is stored, whatever it depends on.
    elements_ = n.body == None ? 0 : 1;
    for (Variable v : n.variables) elements_ = times(elements_, extents_[v]);
    return plus(elements_, walk(std::move(roots)));
  }
  std::int64_t elements() const { return elements_; }  // of the last tensor

  std::int64_t of_condition(TermId id) {
    begin();
    return walk({id});
  }

private:
  void begin() {
    extents_.clear();
    ++round_;
  }

  void bind(std::span<const Variable> variables, std::span<const TermId> extents) {
    for (std::size_t k = 0; k < variables.size(); ++k) {
      // One that depends on earlier variables is greatest at one of their ends, if it is as simple as most.
      const std::int64_t n = k < extents.size() ? std::max(value(extents[k], false).value_or(1), value(extents[k], true).value_or(1)) : 1;
      std::int64_t& known = extents_.try_emplace(variables[k], 0).first->second;
      known = std::max({known, n, std::int64_t{0}});
    }
  }

  // A function of R is enclosed to more and more digits until what is made of it is decided: some 50 microseconds.
  static std::int64_t cost(const core::Term& t) {
    constexpr std::int64_t Enclosed = 10000;
    const auto primitive = static_cast<Primitive>(t.operation);
    const bool function = row_of(primitive).kind == PrimitiveKind::Elementary || primitive == Primitive::Power || primitive == Primitive::SquareRoot;
    return t.type == ElementType::R && function ? Enclosed : 1;
  }

  // How often a term has a value of its own.
  std::int64_t turns(TermId id) const {
    std::int64_t out = 1;
    for (Variable v : p_.free_of(id))
      if (const auto it = extents_.find(v); it != extents_.end()) out = times(out, it->second);
    return out;
  }

  // Binders are met before what they bind: their terms stand below them.
  std::int64_t walk(std::vector<TermId> open) {
    std::int64_t total = 0;
    while (!open.empty()) {
      const TermId id = open.back();
      open.pop_back();
      if (seen_[id] == round_) continue;
      seen_[id] = round_;
      const core::Term& t = p_.term(id);
      const auto a = p_.arguments_of(id);
      switch (t.kind) {
        case TermKind::Constant:
        case TermKind::Variable:
        case TermKind::Size:
        case TermKind::Unspecified: continue;
        case TermKind::Reduce: {
          const core::ReduceView r = p_.reduce(id);
          total = plus(total, binder(id, r.variables, r.extents));
          break;
        }
        case TermKind::Fold: {
          const core::FoldView f = p_.fold(id);
          total = plus(total, binder(id, f.variables, f.extents));
          break;
        }
        case TermKind::Nth: {
          const core::NthView n = p_.nth(id);
          total = plus(total, binder(id, std::span(&n.variable, 1), std::span(&n.extent, 1)));
          break;
        }
        case TermKind::Primitive: total = plus(total, times(turns(id), cost(t))); break;
        case TermKind::Cast:
        case TermKind::Select:
        case TermKind::Read:
        case TermKind::ReadElse:
        case TermKind::Choice:
        case TermKind::Random: total = plus(total, turns(id)); break;
      }
      open.insert(open.end(), a.begin(), a.end());
    }
    return total;
  }

  // A term of the reduction for every value of what it binds.
  std::int64_t binder(TermId id, std::span<const Variable> variables, std::span<const TermId> extents) {
    bind(variables, extents);
    std::int64_t out = turns(id);
    for (Variable v : variables) out = times(out, extents_[v]);
    return out;
  }

  // Of a Z term, with variables at their first or last values; nothing where it follows from values.
  std::optional<std::int64_t> value(TermId id, bool last, int depth = 0) const {
    const core::Term& t = p_.term(id);
    if (t.kind == TermKind::Constant && t.type == ElementType::Z) return static_cast<std::int64_t>(t.data);
    if (t.kind == TermKind::Size) return t.data < sizes_.size() ? sizes_[t.data] : std::nullopt;
    if (t.kind == TermKind::Variable) {
      const auto it = extents_.find(static_cast<Variable>(t.data));
      if (it == extents_.end()) return std::nullopt;
      return last ? std::max<std::int64_t>(it->second - 1, 0) : 0;
    }
    constexpr int MostDepth = 50;
    if (t.kind != TermKind::Primitive || t.type != ElementType::Z || depth > MostDepth) return std::nullopt;
    std::int64_t x[3] = {};
    const auto a = p_.arguments_of(id);
    if (a.size() > std::size(x)) return std::nullopt;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto v = value(a[k], last, depth + 1);
      if (!v) return std::nullopt;
      x[k] = *v;
    }
    return integer_primitive(static_cast<Primitive>(t.operation), std::span(x, a.size()));
  }

  const core::Program& p_;
  const core::Sizes& sizes_;
  std::map<Variable, std::int64_t> extents_;  // of those that are bound in the equation at hand
  std::vector<std::uint32_t> seen_;           // by term: the equation that met it last
  std::uint32_t round_ = 0;
  std::int64_t elements_ = 0;
};

// 12,000,000 as 1.2e+07.
std::string show(std::int64_t n) { return n < 1000000 ? fmt::format("{}", n) : fmt::format("{}{:.2g}", n == Most ? "more than " : "", static_cast<double>(n)); }

}  // namespace

std::int64_t work_of(const core::Program& program, const core::Sizes& sizes) {
  Count count(program, sizes);
  std::int64_t total = 0;
  for (const core::TensorNode& n : program.tensors) total = plus(total, count.of_tensor(n));
  for (const auto* list : {&program.path, &program.requirements, &program.undefined})
    for (const core::Condition& c : *list) total = plus(total, count.of_condition(c.term));
  return total;
}

std::int64_t work_of_sample(const core::Program& program, const core::Sizes& sizes, std::int64_t most, std::span<const core::TensorId> sampled, std::span<const core::TensorId> left_out) {
  Count count(program, sizes);
  std::int64_t total = 0;
  for (core::TensorId id = 0; id < program.tensors.size(); ++id) {
    if (std::find(left_out.begin(), left_out.end(), id) != left_out.end()) continue;
    const core::TensorNode& n = program.tensor(id);
    const std::int64_t work = count.of_tensor(n);
    const bool in_part = n.kind == core::TensorKind::Comprehension && std::find(sampled.begin(), sampled.end(), id) != sampled.end();
    const double share = in_part ? static_cast<double>(most) / static_cast<double>(std::max(count.elements(), most)) : 1;
    total = plus(total, share < 1 ? static_cast<std::int64_t>(static_cast<double>(work) * share) : work);
  }
  return total;
}

std::optional<Diagnostic> too_much_work(const core::Program& program, std::int64_t work, const Limits& limits) {
  if (work <= limits.work) return std::nullopt;
  Diagnostic d = core::error_of(program, ErrorKind::Limit, fmt::format("these extents ask for {} operations; {} are allowed for one call", show(work), show(limits.work)));
  d.help("give smaller extents, or raise --work-limit (0 is none) and set --time-limit");
  return d;
}

}  // namespace ulpian::interp
