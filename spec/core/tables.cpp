#include "spec/core/tables.h"

#include <algorithm>

namespace ulpian::core {
namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

std::uint64_t head_hash(const Term& t) {
  std::uint64_t h = static_cast<std::uint64_t>(t.kind) | static_cast<std::uint64_t>(t.type) << 8 | static_cast<std::uint64_t>(t.operation) << 16 |
                    static_cast<std::uint64_t>(t.flags) << 24 | static_cast<std::uint64_t>(t.count) << 32;
  return mix(mix(0x1234567, h), t.data);
}

bool same_head(const Term& a, const Term& b) {
  return a.kind == b.kind && a.type == b.type && a.operation == b.operation && a.flags == b.flags && a.count == b.count && a.data == b.data;
}

bool meets(std::span<const Variable> a, std::span<const Variable> b) {
  for (Variable x : b)
    if (std::binary_search(a.begin(), a.end(), x)) return true;
  return false;
}

// Terms up to the names of bound variables: hashing and comparing only what lies below a binder and uses it.
class Alpha {
public:
  explicit Alpha(const Program& p) : p_(p) {}

  std::uint64_t hash(const Term& t, std::span<const TermId> arguments, std::span<const Variable> bound) {
    const std::size_t mark = left_.size();
    visits_ = 0;
    left_.insert(left_.end(), bound.begin(), bound.end());
    std::uint64_t h = mix(head_hash(t), bound.size());
    for (TermId a : arguments) h = mix(h, hash(a, 0));
    left_.resize(mark);
    return h;
  }

  bool equal(const Term& a, std::span<const TermId> xs, std::span<const Variable> bound_a, TermId b) {
    const Term& t = p_.terms[b];
    if (!same_head(a, t)) return false;
    const auto& bound_b = p_.binder_lists[t.binders];
    if (bound_a.size() != bound_b.size() || !same_types(bound_a, bound_b)) return false;
    const std::size_t mark = left_.size();
    visits_ = 0;
    left_.insert(left_.end(), bound_a.begin(), bound_a.end());
    right_.insert(right_.end(), bound_b.begin(), bound_b.end());
    bool same = true;
    auto ys = p_.arguments_of(b);
    for (std::size_t k = 0; k < xs.size() && same; ++k) same = equal(xs[k], ys[k], 0);
    left_.resize(mark);
    right_.resize(mark);
    return same;
  }

private:
  // Deep and large terms are simply not shared.
  static constexpr int MaxDepth = 64;
  static constexpr int MostVisits = 20'000;

  bool same_types(std::span<const Variable> a, std::span<const Variable> b) const {
    for (std::size_t k = 0; k < a.size(); ++k)
      if (p_.variables[a[k]].type != p_.variables[b[k]].type) return false;
    return true;
  }

  std::uint64_t hash(TermId id, int depth) {
    const Term& t = p_.terms[id];
    if (depth > MaxDepth || ++visits_ > MostVisits || !uses(p_.free_of(id), left_)) return mix(7, id);
    if (t.kind == TermKind::Variable) return mix(11, position(left_, static_cast<Variable>(t.data)));
    if (t.binders != None) return hash_binding(id, depth);
    std::uint64_t h = head_hash(t);
    for (TermId a : p_.arguments_of(id)) h = mix(h, hash(a, depth + 1));
    return h;
  }
  std::uint64_t hash_binding(TermId id, int depth) {
    const Term& t = p_.terms[id];
    const auto& bound = p_.binder_lists[t.binders];
    const std::size_t mark = left_.size();
    left_.insert(left_.end(), bound.begin(), bound.end());
    std::uint64_t h = mix(head_hash(t), bound.size());
    for (TermId a : p_.arguments_of(id)) h = mix(h, hash(a, depth + 1));
    left_.resize(mark);
    return h;
  }

  bool equal(TermId a, TermId b, int depth) {
    const bool left = uses(p_.free_of(a), left_), right = uses(p_.free_of(b), right_);
    if (!left && !right) return a == b;
    if (left != right || depth > MaxDepth || ++visits_ > MostVisits) return false;
    const Term &s = p_.terms[a], &t = p_.terms[b];
    if (s.kind == TermKind::Variable && t.kind == TermKind::Variable)
      return position(left_, static_cast<Variable>(s.data)) == position(right_, static_cast<Variable>(t.data)) &&
             (uses(p_.free_of(a), left_) || s.data == t.data);
    if (s.binders != None) return t.binders != None && equal_binding(a, b, depth);
    if (!same_head(s, t)) return false;
    return all_equal(a, b, depth);
  }
  bool equal_binding(TermId a, TermId b, int depth) {
    const Term &s = p_.terms[a], &t = p_.terms[b];
    if (!same_head(s, t)) return false;
    const auto &x = p_.binder_lists[s.binders], &y = p_.binder_lists[t.binders];
    if (x.size() != y.size() || !same_types(x, y)) return false;
    const std::size_t mark = left_.size();
    left_.insert(left_.end(), x.begin(), x.end());
    right_.insert(right_.end(), y.begin(), y.end());
    const bool same = all_equal(a, b, depth);
    left_.resize(mark);
    right_.resize(mark);
    return same;
  }
  bool all_equal(TermId a, TermId b, int depth) {
    auto xs = p_.arguments_of(a), ys = p_.arguments_of(b);
    for (std::size_t k = 0; k < xs.size(); ++k)
      if (!equal(xs[k], ys[k], depth + 1)) return false;
    return true;
  }

  static bool uses(std::span<const Variable> free, const std::vector<Variable>& bound) { return meets(free, bound); }
  // The innermost binder wins.
  static std::size_t position(const std::vector<Variable>& bound, Variable v) {
    for (std::size_t k = bound.size(); k-- > 0;)
      if (bound[k] == v) return k;
    return bound.size() + v;
  }

  const Program& p_;
  std::vector<Variable> left_, right_;
  int visits_ = 0;
};

}  // namespace

std::optional<std::int64_t> Polynomial::constant() const {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].first.empty()) return terms[0].second;
  return std::nullopt;
}

std::optional<TermId> Polynomial::single_atom() const {
  if (terms.size() == 1 && terms[0].first.size() == 1 && terms[0].second == 1) return terms[0].first[0];
  return std::nullopt;
}

void Builder::Tables::charge(std::size_t more) {
  bytes += more;
  if (bytes > limits.memory_bytes) throw LimitReached{"memory than is allowed"};
}

void Builder::Tables::grow() {
  std::vector<std::uint32_t> bigger(std::max<std::size_t>(256, slots.size() * 2), None);
  for (std::uint32_t id : slots)
    if (id != None) {
      std::size_t at = facts[id].hash & (bigger.size() - 1);
      while (bigger[at] != None) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = id;
    }
  slots = std::move(bigger);
}

Builder::Tables::Facts Builder::Tables::facts_of(const Term& term, std::span<const TermId> arguments, std::uint64_t hash) const {
  Facts f{hash, 1, false};
  bool all_static = true;
  for (TermId a : arguments) {
    f.depth = std::max(f.depth, facts[a].depth + 1);
    all_static = all_static && facts[a].is_static;
  }
  if (f.depth > limits.depth) throw LimitReached{"than " + std::to_string(limits.depth) + " levels in one expression"};
  switch (term.kind) {
    case TermKind::Constant:
    case TermKind::Size: f.is_static = true; break;
    case TermKind::Primitive:
    case TermKind::Select: f.is_static = all_static; break;
    case TermKind::Variable:
    case TermKind::Cast:
    case TermKind::Read:
    case TermKind::ReadElse:
    case TermKind::Reduce:
    case TermKind::Fold:
    case TermKind::Nth:
    case TermKind::Choice:
    case TermKind::Unspecified:
    case TermKind::Random: break;
  }
  return f;
}

TermId Builder::Tables::intern(Term term, std::span<const TermId> arguments) {
  term.count = static_cast<std::uint32_t>(arguments.size());
  std::uint64_t h = head_hash(term);
  for (TermId a : arguments) h = mix(h, a);
  if (term.binders != None) h = mix(h, term.binders);
  if ((facts.size() + 1) * 2 > slots.size()) grow();
  std::size_t at = h & (slots.size() - 1);
  for (; slots[at] != None; at = (at + 1) & (slots.size() - 1)) {
    const std::uint32_t id = slots[at];
    if (facts[id].hash != h) continue;
    const Term& t = program.terms[id];
    if (!same_head(t, term) || t.binders != term.binders) continue;
    auto xs = program.arguments_of(id);
    if (std::equal(xs.begin(), xs.end(), arguments.begin())) return id;
  }
  const Facts known = facts_of(term, arguments, h);
  charge(sizeof(Term) + sizeof(Facts) + 2 * sizeof(std::uint32_t) + arguments.size() * sizeof(TermId));
  term.first = static_cast<std::uint32_t>(program.arguments.size());
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  if (term.kind == TermKind::Variable) term.free = intern_set({static_cast<Variable>(term.data)});
  else if (term.binders == None) term.free = union_of(arguments);
  const auto id = static_cast<TermId>(program.terms.size());
  program.terms.push_back(term);
  facts.push_back(known);
  slots[at] = id;
  return id;
}

std::uint32_t Builder::Tables::intern_set(std::vector<Variable> set) {
  if (set.empty()) return 0;
  std::uint64_t h = 99;
  for (Variable v : set) h = mix(h, v);
  auto [first, last] = sets.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (program.variable_sets[it->second] == set) return it->second;
  charge(64 + set.size() * sizeof(Variable));
  const auto index = static_cast<std::uint32_t>(program.variable_sets.size());
  program.variable_sets.push_back(std::move(set));
  sets.emplace(h, index);
  return index;
}

std::uint32_t Builder::Tables::union_of(std::span<const TermId> arguments) {
  std::uint32_t only = 0;
  bool several = false;
  for (TermId a : arguments) {
    const std::uint32_t s = program.terms[a].free;
    if (s == 0 || s == only) continue;
    if (only == 0) only = s;
    else several = true;
  }
  if (!several) return only;
  std::vector<Variable> all;
  for (TermId a : arguments) {
    auto f = program.free_of(a);
    all.insert(all.end(), f.begin(), f.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return intern_set(std::move(all));
}

std::uint32_t Builder::Tables::without(std::uint32_t set, std::span<const Variable> bound) {
  std::vector<Variable> rest;
  for (Variable v : program.variable_sets[set])
    if (std::find(bound.begin(), bound.end(), v) == bound.end()) rest.push_back(v);
  return intern_set(std::move(rest));
}

TermId Builder::Tables::intern_binding(Term term, std::span<const TermId> arguments, std::vector<Variable> bound) {
  term.count = static_cast<std::uint32_t>(arguments.size());
  Alpha alpha(program);
  const std::uint64_t h = alpha.hash(term, arguments, bound);
  auto [first, last] = binding_terms.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (alpha.equal(term, arguments, bound, it->second)) return it->second;
  term.free = without(union_of(arguments), bound);
  charge(64 + bound.size() * sizeof(Variable));
  term.binders = static_cast<std::uint32_t>(program.binder_lists.size());
  program.binder_lists.push_back(std::move(bound));
  const TermId id = intern(term, arguments);
  binding_terms.emplace(h, id);
  return id;
}

Polynomial Builder::Tables::polynomial_of(TermId id) const {
  auto found = polynomials.find(id);
  if (found != polynomials.end()) return found->second;
  Polynomial p;
  const Term& t = program.terms[id];
  if (t.kind == TermKind::Constant) {
    if (t.data != 0) p.terms.push_back({{}, static_cast<std::int64_t>(t.data)});
  } else {
    p.terms.push_back({{id}, 1});
  }
  return p;
}

namespace {

constexpr std::size_t MostTerms = 64, MostFactors = 32;

std::optional<Polynomial> product_of(const Polynomial& p, const Polynomial& q) {
  if (p.terms.size() * q.terms.size() > MostTerms) return std::nullopt;
  std::map<Polynomial::Monomial, std::int64_t> sum;
  for (const auto& [m, c] : p.terms)
    for (const auto& [n, d] : q.terms) {
      if (m.size() + n.size() > MostFactors) return std::nullopt;
      Polynomial::Monomial both(m.size() + n.size());
      std::merge(m.begin(), m.end(), n.begin(), n.end(), both.begin());
      std::int64_t product = 0;
      std::int64_t& total = sum[std::move(both)];
      if (__builtin_mul_overflow(c, d, &product) || __builtin_add_overflow(total, product, &total)) return std::nullopt;
    }
  Polynomial out;
  for (auto& [m, c] : sum)
    if (c != 0) out.terms.emplace_back(m, c);
  return out;
}

// p + sign * q; both are sorted by monomial.
std::optional<Polynomial> sum_of(const Polynomial& p, const Polynomial& q, std::int64_t sign) {
  if (p.terms.size() + q.terms.size() > MostTerms) return std::nullopt;
  Polynomial out;
  out.terms.reserve(p.terms.size() + q.terms.size());
  auto a = p.terms.begin(), b = q.terms.begin();
  while (a != p.terms.end() || b != q.terms.end()) {
    if (b == q.terms.end() || (a != p.terms.end() && a->first < b->first)) {
      out.terms.push_back(*a++);
      continue;
    }
    std::int64_t c = 0;
    if (__builtin_mul_overflow(sign, b->second, &c)) return std::nullopt;
    if (a != p.terms.end() && a->first == b->first) {
      if (__builtin_add_overflow(c, a->second, &c)) return std::nullopt;
      ++a;
    }
    if (c != 0) out.terms.emplace_back(b->first, c);
    ++b;
  }
  return out;
}

}  // namespace

std::optional<Polynomial> Builder::Tables::combine(Primitive primitive, TermId a, TermId b) const {
  const Polynomial p = polynomial_of(a), q = polynomial_of(b);
  if (primitive == Primitive::Multiply) return product_of(p, q);
  return sum_of(p, q, primitive == Primitive::Subtract ? -1 : 1);
}

}  // namespace ulpian::core
